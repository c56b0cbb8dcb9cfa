"""Finds all mistakes of a sweep before anything runs."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import engine
from .plan import RESERVED, Plan, absolute

Measures = Sequence[str] | Mapping[str, str | Callable[[dict[str, Any]], float]]
"""Names of probes; or column -> name of a probe, or column -> function of the probes over time."""

MOST_SHOWN = 12
"""Most problems to show: the thirteenth rarely adds information."""


def check_scene(plan: Plan, folder: Path, problems: list[str]) -> None:
    """Loads the scene with the overrides of every point."""
    plain = _problems(plan, folder, plan.overrides)
    if plain:
        problems.extend(f"the scene itself: {text}" for text in plain)
        return
    found: dict[str, tuple[str, list[int]]] = {}
    for number, point in enumerate(plan.points):
        for text in _problems(plan, folder, plan.all_overrides(point)):
            # A mistake in the path of an override is the same for all its values.
            found.setdefault(text.splitlines()[0], (text, []))[1].append(number)
    shown = [f"{_points(numbers)}: {text}" for text, numbers in found.values()]
    problems.extend(shown[:MOST_SHOWN])
    if len(shown) > MOST_SHOWN:
        problems.append(f"and {len(shown) - MOST_SHOWN} more problems")


def check_measures(plan: Plan, folder: Path, measures: Measures | None, problems: list[str]) -> None:
    """Looks up the measures among the probes of the first point, at its first frame."""
    if measures is None:
        return
    probes = engine.first_frame(_load(plan, folder, plan.all_overrides(plan.points[0])))
    for column, what in columns(measures).items():
        if column in RESERVED or column in plan.parameters:
            problems.append(f"measure {column!r}: the table has a column of this name")
        if callable(what):
            try:
                float(what(probes))
            except Exception as error:
                problems.append(f"measure {column!r}: {type(error).__name__}: {error}")
        elif what not in probes:
            problems.append(f"measure {what!r}: there is no such probe{suggestion(what, probes)}")


def check_backend(backend: str, known: Mapping[str, str | None], problems: list[str]) -> None:
    """Checks that the backend exists and its package is installed."""
    if backend not in known:
        problems.append(f"unknown backend {backend!r}; there are {', '.join(known)}")
        return
    needed = known[backend]
    if needed and importlib.util.find_spec(needed.split("[")[0]) is None:
        problems.append(f'backend {backend!r} needs a package that is not installed: pip install "{needed}"')


def columns(measures: Measures) -> dict[str, str | Callable[[dict[str, Any]], float]]:
    """Column -> probe or function."""
    return dict(measures) if isinstance(measures, Mapping) else {name: name for name in measures}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Similar names, as the end of a sentence."""
    near = difflib.get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _load(plan: Plan, folder: Path, overrides: Sequence[str]) -> Any:
    if plan.scene is None:
        return engine.read(plan.text, Path(absolute(plan.base, folder)), overrides)
    return engine.load(Path(absolute(plan.scene, folder)), overrides)


def _problems(plan: Plan, folder: Path, overrides: Sequence[str]) -> list[str]:
    try:
        _load(plan, folder, overrides)
    except Exception as error:
        return engine.problems(error)
    return []


def _points(numbers: list[int]) -> str:
    """`point 3`, or `12 points (3, 7, 8, …)`."""
    if len(numbers) == 1:
        return f"point {numbers[0]}"
    return f"{len(numbers)} points ({', '.join(map(str, numbers[:3]))}{', …' if len(numbers) > 3 else ''})"
