"""Shared test helpers."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENES = ROOT / "scenes"


def need(package):
    """An optional package; required where everything must be tested (CI=true)."""
    if os.environ.get("CI") == "true":
        return importlib.import_module(package)
    return pytest.importorskip(package)


def sinew_program():
    """The program of the command line: what SINEW names, else the release build."""
    program = Path(os.environ.get("SINEW", ROOT / "target" / "release" / "sinew"))
    if not program.is_file():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{program} is not there: build it, or name it in SINEW")
        pytest.skip(f"{program} is not there")
    return str(program)


def box(cells=(4, 1, 1), size=(0.04, 0.01, 0.01), *, element="tet4", material=None, body=None, **scene):
    """A scene with one block, held at x-min, under its weight."""
    return {
        "duration": 1.0,
        "body": [
            {
                "name": "block",
                "mesh": {"from": "box", "size": list(size), "cells": list(cells), "element": element},
                "material": material or {"type": "stable_neo_hookean", "young": 30e3, "poisson": 0.45},
                "pin": [{"region": "x-min"}],
                **(body or {}),
            }
        ],
        **scene,
    }


def one_cell(**more):
    """The smallest scene."""
    return box((1, 1, 1), (0.01, 0.01, 0.01), element="hex8", **more)


def address(array):
    """The address of an array."""
    return array.__array_interface__["data"][0]


@contextmanager
def interrupt_after(seconds, number=signal.SIGINT):
    """Sends a signal to this process after a delay, unless the block has ended."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
