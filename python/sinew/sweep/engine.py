"""The few calls of a sweep into the engine, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Value = bool | int | float | str | list[Any]
"""What an override may be: a number, a text such as `"10 kPa"`, or a list of them."""


def load(path: Path, overrides: Sequence[str]) -> Any:
    """The scene of a file; overrides are texts `path=value` as for `sinew run --set`, so that both mean the same."""
    import sinew

    return sinew.Scene.load(str(path), set=list(overrides))


def read(text: str, folder: Path, overrides: Sequence[str]) -> Any:
    """The scene of a text whose relative file names begin at `folder`."""
    import sinew

    # A name that no file has: the scene would be taken for that file.
    return sinew.Scene(text, name="<scene>", folder=str(folder)).set(list(overrides))


def overrides(scene: Any) -> list[str]:
    """What was replaced in a scene, as texts `path=value`."""
    return [str(text) for text in scene.overrides]


def has_meshes(scene: Any) -> bool:
    """Whether parts of a scene exist in the memory of this process only."""
    return bool(getattr(scene, "meshes", None))


def run(scene: Any, output: Path, *, resume: bool) -> Any:
    """Runs a scene by one thread: a sweep has as many runs as there are cores."""
    import sinew

    return sinew.run(scene, str(output), resume=resume, threads=1)


def first_frame(scene: Any) -> dict[str, Any]:
    """Probes of the initial state: what there will be to measure."""
    import sinew

    return dict(sinew.run(scene, None, frames=0, threads=1).probes)


def version() -> str:
    """Version of the engine."""
    import sinew

    return str(getattr(sinew, "__version__", "unknown"))


def problems(error: Exception) -> list[str]:
    """What an error of a scene says, one text per problem: there are empty lines between them."""
    return [part.strip() for part in str(error).split("\n\n") if part.strip()] or [type(error).__name__]


def is_busy(error: BaseException) -> bool:
    """Whether a run was refused because another process is computing in its folder."""
    import sinew

    return isinstance(error, sinew.BusyError)


def is_not_resumable(error: BaseException) -> bool:
    """Whether a run was refused because what lies in its folder cannot be continued."""
    import sinew

    return isinstance(error, sinew.ResumeError)
