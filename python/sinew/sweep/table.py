"""The result of a sweep: one row per point."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy

from .check import Measures, columns, suggestion
from .engine import Value
from .plan import Plan, SweepError, as_text, point_folder
from .point import Fate, fate, history

STATUSES = ("done", "failed", "running", "interrupted", "killed", "waiting")
"""In the order of the summary."""

MOST_SHOWN = 10
"""Most failed points to list in a summary."""


class FailedPoint(NamedTuple):
    """A point that failed for good."""

    point: int
    parameters: dict[str, Value]
    attempts: int
    error: str


@dataclass(repr=False)
class Sweep:
    """The table of a sweep.

    table: column -> array with one value per point: `point`; each parameter, as numbers or strings; `status` (waiting,
        running, interrupted, killed, failed, done), `passed` (all expectations of the scene hold; False unless done),
        `frames`, `seconds` of computing, `hash` of the final state, `error`, `attempts`; and one column per
        measure, NaN unless done.
    parameters, measures: names of the columns that are parameters and measures.
    scene: name of the scene.
    folder: the folder of the points, or `None` if it was temporary.
    """

    table: dict[str, numpy.ndarray]
    parameters: list[str]
    measures: list[str]
    scene: str
    folder: Path | None
    points: list[list[Value]]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def failed(self) -> list[FailedPoint]:
        """Points that failed, with reasons."""
        rows = numpy.flatnonzero(self.table["status"] == "failed")
        return [
            FailedPoint(
                int(row),
                dict(zip(self.parameters, self.points[row], strict=True)),
                int(self.table["attempts"][row]),
                str(self.table["error"][row]),
            )
            for row in rows
        ]

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as one array per column, for `numpy.load`."""
        with open(path, "wb") as file:
            columns: dict[str, Any] = dict(self.table)
            numpy.savez_compressed(file, **columns)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as a Parquet file; needs pyarrow."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ImportError("Parquet files need a package that is not installed: pip install pyarrow") from None
        pyarrow.parquet.write_table(pyarrow.table(self.table), os.fspath(path))

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`; needs pandas."""
        try:
            import pandas
        except ImportError:
            raise ImportError("data frames need a package that is not installed: pip install pandas") from None
        return pandas.DataFrame(self.table)

    def __repr__(self) -> str:
        counts = Counter(self.table["status"].tolist())
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        seconds = float(numpy.nansum(self.table["seconds"]))
        refuted = counts["done"] - int(self.table["passed"].sum())
        lines = [f"Sweep of {self.scene}: {len(self)} points, {told}; {seconds:.3g} s of computing"]
        if refuted:
            lines.append(f"  in {refuted} points an expectation of the scene failed")
        lines.append(f"  parameters: {', '.join(self.parameters)}")
        lines.append(f"  measures: {_some(self.measures)}")
        failed = self.failed
        for point in failed[:MOST_SHOWN]:
            values = ", ".join(f"{name}={as_text(value)}" for name, value in point.parameters.items())
            lines.append(f"  failed: point {point.point} ({values}) after {point.attempts} attempts")
            lines.extend(f"    {line}" for line in point.error.splitlines()[:2])
        if len(failed) > MOST_SHOWN:
            lines.append(f"  and {len(failed) - MOST_SHOWN} more failed points")
        return "\n".join(lines)


def collect(folder: str | os.PathLike[str], *, measures: Measures | None = None) -> Sweep:
    """The table of the sweep in a folder, at any time, even while it runs.

    folder: the folder with `sweep.json`.
    measures: as in `sinew.sweep`.
    """
    return tabulate(Path(folder), measures, {})


def tabulate(place: Path, measures: Measures | None, reasons: dict[int, str]) -> Sweep:
    """The table of a sweep; `reasons` are failures that could not be written to the folders of their points."""
    plan = Plan.read(place)
    fates = [fate(point_folder(place, number)) for number in range(len(plan.points))]
    for number, reason in reasons.items():
        if fates[number].status != "done":
            fates[number].status, fates[number].error = "failed", reason
    table: dict[str, numpy.ndarray] = {"point": numpy.arange(len(plan.points))}
    for index, name in enumerate(plan.parameters):
        table[name] = _column([point[index] for point in plan.points])
    table["status"] = numpy.array([one.status for one in fates])
    table["passed"] = numpy.array([one.passed for one in fates], dtype=bool)
    table["frames"] = numpy.array([one.frames for one in fates], dtype=numpy.int64)
    table["seconds"] = numpy.array([one.seconds for one in fates], dtype=float)
    table["hash"] = numpy.array([one.hash for one in fates])
    table["error"] = numpy.array([one.error for one in fates])
    table["attempts"] = numpy.array([one.attempts for one in fates], dtype=numpy.int64)
    measured = _all_probes(fates, table) if measures is None else _chosen(place, fates, measures)
    taken = sorted(set(measured) & set(table))
    if taken:
        raise SweepError([f"measure {name!r}: the table has a column of this name" for name in taken])
    scene = Path(plan.scene).name if plan.scene else "a scene"
    return Sweep({**table, **measured}, plan.parameters, list(measured), scene, place, plan.points)


def _column(values: list[Value]) -> numpy.ndarray:
    """Values as numbers, or all as strings if one of them is a string."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return numpy.array(values, dtype=float)
    return numpy.array([as_text(value) for value in values])


def _all_probes(fates: list[Fate], taken: dict[str, Any]) -> dict[str, numpy.ndarray]:
    """Final values of all probes; points may have different ones."""
    names = dict.fromkeys(name for one in fates for name in one.probes if name not in taken)
    return {name: numpy.array([one.probes.get(name, numpy.nan) for one in fates]) for name in names}


def _chosen(folder: Path, fates: list[Fate], measures: Measures) -> dict[str, numpy.ndarray]:
    found: dict[str, numpy.ndarray] = {}
    for column, what in columns(measures).items():
        if callable(what):
            found[column] = numpy.array([_measure(folder, number, one, what) for number, one in enumerate(fates)])
            continue
        found[column] = numpy.array([one.probes.get(what, numpy.nan) for one in fates])
        known = dict.fromkeys(name for one in fates for name in one.probes)
        if known and what not in known:
            warnings.warn(f"no point has the probe {what!r}{suggestion(what, known)}", stacklevel=3)
    return found


def _measure(folder: Path, number: int, one: Fate, what: Callable[[dict[str, Any]], float]) -> float:
    """The result of a user function for a point. Its mistakes must not lose the table of a long run."""
    if one.status != "done":
        return float("nan")
    try:
        return float(what(history(point_folder(folder, number))))
    except Exception as error:
        warnings.warn(f"measure of point {number}: {type(error).__name__}: {error}", stacklevel=4)
        return float("nan")


def _some(names: list[str]) -> str:
    """The first of many names."""
    if len(names) <= 6:
        return ", ".join(names) or "none yet"
    return f"{', '.join(names[:4])} and {len(names) - 4} more"
