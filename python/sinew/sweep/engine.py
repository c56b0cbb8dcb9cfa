"""The few calls of a sweep into the engine, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Value = bool | int | float | str | list[Any]
"""Value of an override: a number, a string such as `"10 kPa"`, or a list of them."""


def load(path: Path, overrides: Sequence[str]) -> Any:
    """Loads the scene of a file; overrides are strings `path=value`, as for `sinew run --set`."""
    import sinew

    return sinew.Scene.load(str(path), set=list(overrides))


def read(text: str, folder: Path, overrides: Sequence[str]) -> Any:
    """Reads the scene of a text whose file names are relative to `folder`."""
    import sinew

    # Not the name of a file: the scene would pass for that file.
    return sinew.Scene(text, name="<scene>", folder=str(folder)).set(list(overrides))


def overrides(scene: Any) -> list[str]:
    """The replaced values of a scene, as strings `path=value`."""
    return [str(text) for text in scene.overrides]


def has_meshes(scene: Any) -> bool:
    """Whether parts of a scene exist only in the memory of this process."""
    return bool(getattr(scene, "meshes", None))


def run(scene: Any, output: Path, *, resume: bool) -> Any:
    """Runs a scene on one thread: a sweep runs one point per core."""
    import sinew

    return sinew.run(scene, str(output), resume=resume, threads=1)


def first_frame(scene: Any) -> dict[str, Any]:
    """Probes of the initial state, which are available as measures."""
    import sinew

    return dict(sinew.run(scene, None, frames=0, threads=1).probes)


def version() -> str:
    """Version of the engine."""
    import sinew

    return str(getattr(sinew, "__version__", "unknown"))


def problems(error: Exception) -> list[str]:
    """The text of a scene error, split into problems at empty lines."""
    return [part.strip() for part in str(error).split("\n\n") if part.strip()] or [type(error).__name__]


def is_busy(error: BaseException) -> bool:
    """Whether a run was refused because another process is computing in its folder."""
    import sinew

    return isinstance(error, sinew.BusyError)


def is_not_resumable(error: BaseException) -> bool:
    """Whether a run was refused because the contents of its folder cannot be resumed."""
    import sinew

    return isinstance(error, sinew.ResumeError)
