"""Fixtures of all tests."""

from __future__ import annotations

import pytest
from support import box

import sinew


@pytest.fixture
def scene():
    """A small block that is held at one end and falls at the other."""
    return sinew.Scene(box(probe=[{"name": "tip", "region": "x-max"}]))


@pytest.fixture
def simulation(scene):
    return sinew.Simulation(scene)
