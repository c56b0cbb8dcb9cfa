"""The points of a sweep: `sweep.json` and `scene.toml` in its folder."""

from __future__ import annotations

import itertools
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SinewError
from . import engine
from .engine import Value

PLAN = "sweep.json"
SCENE = "scene.toml"

Parameters = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
"""Override path -> values, for all combinations; or a list of points, each override path -> value."""

RESERVED = ("point", "status", "passed", "frames", "seconds", "hash", "error", "attempts")
"""Columns of the table that are neither parameters nor measures."""

PICTURES = ("vtu", "usd", "glb", "obj", "ply", "pc2", "mdd", "npz", "png", "apng", "report")

ONLY_NUMBERS = [*(f"record.{kind}=false" for kind in PICTURES), "record.skin=[]", "record.every=1"]
"""Disables output for viewing. A report alone takes longer than a small scene."""

ALWAYS = ["record.csv=true", "record.recording=true"]
"""A sweep measures probes, and resuming needs a recording."""


class SweepError(SinewError, ValueError):
    """A sweep that cannot begin; `problems` lists all mistakes."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Task:
    """The data of a point for a worker."""

    number: int
    sweep: str
    folder: str
    scene: str | None
    base: str
    overrides: list[str]
    files: bool


@dataclass
class Plan:
    """A scene and its points. Paths are relative to the folder of the sweep, so that both can move together."""

    scene: str | None
    base: str
    overrides: list[str]
    parameters: list[str]
    points: list[list[Value]]
    files: bool
    text: str = field(repr=False)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, scene: Any, folder: Path, *, files: bool) -> Plan:
        """The plan of a scene, given as a path or a `sinew.Scene`, without points."""
        is_path = isinstance(scene, str | os.PathLike)
        if not is_path and engine.has_meshes(scene):
            raise ValueError("it has meshes in memory, where other processes cannot find them")
        path = os.fspath(scene) if is_path else scene.path
        base = os.path.dirname(path) if path else scene.folder or "."
        return cls(
            scene=relative(path, folder) if path else None,
            base=relative(base, folder),
            overrides=[] if is_path else engine.overrides(scene),
            parameters=[],
            points=[],
            files=files,
            text=Path(path).read_text(encoding="utf-8") if path else scene.text,
            versions={"sinew": engine.version(), "python": platform.python_version()},
        )

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan in a folder."""
        try:
            content = json.loads((folder / PLAN).read_text(encoding="utf-8"))
            return cls(**content, text=(folder / SCENE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SweepError([f"{folder} has no {PLAN}: it is not the folder of a sweep"]) from None
        except (TypeError, ValueError) as error:
            raise SweepError([f"{folder / PLAN} cannot be read: {error}"]) from None

    def write(self, folder: Path) -> None:
        """Writes the plan to a folder; writes `sweep.json` last and atomically."""
        content = asdict(self)
        replace(folder / SCENE, content.pop("text"))
        replace(folder / PLAN, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def differences(self, other: Plan) -> list[str]:
        """The differences from another plan."""
        names = {
            "scene": "the scene is another file",
            "base": "the files of the scene are elsewhere",
            "overrides": "the scene has other overrides",
            "parameters": "the parameters have other names or another order",
            "points": "the points have other values",
            "files": "`files` is another",
            "text": "the text of the scene has changed",
        }
        return [text for name, text in names.items() if getattr(self, name) != getattr(other, name)]

    def all_overrides(self, point: Sequence[Value]) -> list[str]:
        """All overrides of a point; those of the user come last, and take precedence."""
        fixed = ALWAYS if self.files else ALWAYS + ONLY_NUMBERS
        values = zip(self.parameters, point, strict=True)
        return [*fixed, *self.overrides, *(f"{name}={as_text(value)}" for name, value in values)]

    def tasks(self, folder: Path) -> list[Task]:
        """All points, for workers."""
        scene = absolute(self.scene, folder) if self.scene else None
        base = absolute(self.base, folder)
        place = os.path.abspath(folder)
        return [
            Task(number, place, str(point_folder(place, number)), scene, base, self.all_overrides(point), self.files)
            for number, point in enumerate(self.points)
        ]


def point_folder(folder: str | Path, number: int) -> Path:
    """The folder of a point."""
    return Path(folder) / "points" / f"{number:04d}"


def relative(path: str | Path, folder: Path) -> str:
    """A path relative to the folder; absolute if it is on another drive."""
    try:
        return Path(os.path.relpath(os.path.abspath(path), os.path.abspath(folder))).as_posix()
    except ValueError:
        return Path(os.path.abspath(path)).as_posix()


def absolute(path: str, folder: Path) -> str:
    """The reverse. Works on names alone: `..` after a symbolic link would lead elsewhere."""
    return os.path.normpath(os.path.join(os.path.abspath(folder), path))


def replace(path: Path, text: str) -> None:
    """Writes a file atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    os.replace(temporary, path)


def plain(value: Any) -> Value:
    """A value without NumPy: arrays become lists, scalars become numbers."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        if isinstance(value, str) and ("\n" in value or "\0" in value):
            raise ValueError(f"{value!r} has more than one line")
        return value
    raise ValueError(f"{value!r} is neither a number nor a string nor a list of them")


def as_text(value: Value) -> str:
    """A value as `sinew run --set` reads it."""
    return value if isinstance(value, str) else as_toml(value)


def as_toml(value: Value) -> str:
    """A value in the syntax of a scene."""
    if isinstance(value, list):
        return f"[{', '.join(as_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def expand(parameters: Any, problems: list[str]) -> tuple[list[str], list[list[Value]]]:
    """Names and points; adds mistakes to the problems."""
    found: list[str] = []
    points: list[dict[str, Value]] = []
    if isinstance(parameters, Mapping):
        points = _grid(parameters, found)
    elif isinstance(parameters, Sequence) and not isinstance(parameters, str):
        points = _listed(parameters, found)
    else:
        found.append(f"parameters must be a dict of lists or a list of dicts, got {type(parameters).__name__}")
    problems.extend(found)
    names = list(points[0]) if points else []
    for name in names:
        if not isinstance(name, str) or not name or "\n" in name or "=" in name:
            problems.append(f"{name!r} cannot be the path of an override")
        elif name in RESERVED:
            problems.append(f"{name!r} cannot be a parameter: the table has a column of this name")
    return names, [list(point.values()) for point in points]


def _grid(parameters: Mapping[str, Any], problems: list[str]) -> list[dict[str, Value]]:
    """All combinations; the last parameter changes fastest."""
    if not parameters:
        problems.append("there are no parameters")
        return []
    columns: list[list[Value]] = []
    for name, values in parameters.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            problems.append(f"{name}: give a list of values, for example [{values!r}]")
            continue
        columns.append(_values(name, list(values), problems))
        if not columns[-1]:
            problems.append(f"{name}: the list of values is empty")
    if problems:
        return []
    return [dict(zip(parameters, point, strict=True)) for point in itertools.product(*columns)]


def _listed(parameters: Sequence[Any], problems: list[str]) -> list[dict[str, Value]]:
    """Points one by one, all with the same keys, in the order of the first."""
    if not parameters:
        problems.append("there are no points")
        return []
    points: list[dict[str, Value]] = []
    for number, point in enumerate(parameters):
        if not isinstance(point, Mapping) or not point:
            problems.append(f"point {number}: must be a dict of override path -> value, got {point!r}")
            continue
        if points and set(point) != set(points[0]):
            odd = sorted(map(str, set(point) ^ set(points[0])))
            problems.append(f"point {number}: does not have the same keys as the first; only one has {', '.join(odd)}")
            continue
        values = {name: _values(f"point {number}, {name}", [value], problems) for name, value in point.items()}
        names = points[0] if points else values
        points.append({name: values[name][0] if values[name] else 0 for name in names})
    return [] if problems else points


def _values(name: str, values: list[Any], problems: list[str]) -> list[Value]:
    """The valid values; the others become problems."""
    found: list[Value] = []
    for value in values:
        try:
            found.append(plain(value))
        except ValueError as error:
            problems.append(f"{name}: {error}")
    return found
