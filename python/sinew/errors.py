"""Exceptions, with the parts of an error as attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional


class SinewError(Exception):
    """Base class of all errors of Sinew."""


class SceneError(SinewError):
    """A scene that cannot be read or compiled.

    ``problems`` lists all mistakes, a dict each: ``message``, ``label`` and ``hint``, and its position: ``source`` (the
    name of the text), ``line`` and ``column`` from 1, ``start`` and ``end`` as indices into the text.
    """

    problems: list[dict[str, Any]]


class StepError(SinewError):
    """A frame that could not be computed; the simulation is at the frame before.

    ``kind`` is the cause in one word, such as "NotConverged" or "Singular". The other attributes locate the cause in a
    body; they are None if there is no location.
    """

    kind: str
    body: Optional[str]
    node: Optional[int]
    cell: Optional[int]
    rest_position: Optional[list[float]]
    volume_ratio: Optional[float]


class RunError(SinewError):
    """A run that stopped. ``frames`` is the number of frames kept, and ``output`` their folder; None if unknown.

    If a frame could not be computed, ``__cause__`` is the `StepError`.
    """

    frames: Optional[int]
    output: Optional[Path]


class BusyError(RunError):
    """Another process is computing in the output folder."""


class ResumeError(RunError):
    """The run in the output folder cannot be resumed: it belongs to another scene, or is damaged. Start a new one."""


class MeshError(SinewError):
    """A mesh that cannot be read, written or used."""


class VolumeError(SinewError):
    """A volume that cannot be read, written or used."""


class ForceError(SinewError):
    """A force in Python whose derivatives are wrong, or that does not fit the simulation."""
