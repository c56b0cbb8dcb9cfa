"""Custom forces, and the check of their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from .errors import ForceError

__all__ = ["Force", "check"]


class Force:
    """A force that joins a simulation: ``Simulation(scene, forces=[MyForce()])``.

    Write a class with these methods (deriving from this one is optional). All arrays have one row per node, in meters,
    newtons and joules:

    - ``potential(x, time)`` returns the energy, a number;
    - ``gradient(x, time)`` returns its derivative, the negative force, shape (n, 3);
    - ``hessian_product(x, dx, time)`` returns the change of the gradient when the nodes move by ``dx``. Optional: by
      default, Sinew uses finite differences of the gradient.

    A force without a potential (friction, wind) omits ``potential``; the solver then judges its steps by the work of the
    forces.

    ``body`` names the body it acts on (optional if there is only one), and ``nodes`` lists the nodes of that body in
    ``x`` (default: all). ``couplings`` lists the pairs of rows of ``x`` that affect each other, shape (m, 2): a spring
    between rows 0 and 1 is ``[[0, 1]]``. Without it, nodes are independent.
    """

    name: Optional[str] = None
    body: Optional[str] = None
    nodes: Optional[Sequence[int]] = None
    couplings: Optional[Any] = None

    def gradient(self, x: np.ndarray, time: float) -> np.ndarray:
        """The derivative of the potential."""
        raise NotImplementedError


def check(force: Any, x: Any, time: float = 0.0, *, tolerance: float = 1e-5, seed: int = 0) -> None:
    """Compares the derivatives of a force with central differences near ``x``; raises ``ForceError`` if they are wrong.

    Also finds unsymmetric second derivatives and missing couplings. Simulations check each of their forces by default.
    """
    x = np.array(x, dtype=float)
    name = getattr(force, "name", None) or type(force).__name__
    random = np.random.default_rng(seed)
    size = float(np.ptp(x, axis=0).max()) if len(x) > 1 else 1.0
    size = size if size > 0.0 else 1.0
    # Away from the rest state, where many derivatives vanish.
    x = x + 0.02 * size * random.standard_normal(x.shape)
    step = 1e-6 * size
    gradient = _vectors(force.gradient(x, time), x.shape, f"{name}.gradient")
    if hasattr(force, "potential"):
        _check_gradient(force, name, x, time, step, tolerance, gradient, random)
    _check_product(force, name, x, time, step, tolerance, random)
    _check_couplings(force, name, x, time, step, random)


def _vectors(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array: np.ndarray = np.asarray(value, dtype=float)
    if array.shape != shape:
        raise ForceError(f"{what} returned the shape {array.shape}, not {shape}")
    if not np.isfinite(array).all():
        raise ForceError(f"{what} is not finite at row {int(np.argwhere(~np.isfinite(array))[0][0])}")
    return array


def _check_gradient(
    force: Any, name: str, x: np.ndarray, time: float, step: float, tolerance: float, gradient: np.ndarray, random: Any
) -> None:
    energy = float(force.potential(x, time))
    if not np.isfinite(energy):
        raise ForceError(f"{name}.potential is {energy}")
    # Rounding errors of the energy enter its differences.
    rounding = 1e-15 * abs(energy) / step
    for _ in range(3):
        direction = random.standard_normal(x.shape)
        slope = (
            float(force.potential(x + step * direction, time)) - float(force.potential(x - step * direction, time))
        ) / (2 * step)
        expected = float(np.sum(gradient * direction))
        scale = float(np.linalg.norm(gradient) * np.linalg.norm(direction))
        if abs(slope - expected) > tolerance * scale + 100 * rounding:
            row = _worst_row(force, x, time, step, gradient)
            raise ForceError(
                f"{name}.gradient is not the derivative of its potential: the energy changes by {slope:.6g} J/m where the gradient says "
                f"{expected:.6g} J/m; worst at row {row}"
            )


def _worst_row(force: Any, x: np.ndarray, time: float, step: float, gradient: np.ndarray) -> int:
    """The row whose gradient differs most from finite differences, among a few hundred rows: each takes six energies."""
    worst, row = -1.0, 0
    for k in range(min(len(x), 300)):
        for axis in range(3):
            moved = x.copy()
            moved[k, axis] += step
            above = float(force.potential(moved, time))
            moved[k, axis] -= 2 * step
            off = abs((above - float(force.potential(moved, time))) / (2 * step) - gradient[k, axis])
            if off > worst:
                worst, row = off, k
    return row


def _change(force: Any, name: str, x: np.ndarray, dx: np.ndarray, time: float, step: float) -> np.ndarray:
    above = _vectors(force.gradient(x + step * dx, time), x.shape, f"{name}.gradient")
    below = _vectors(force.gradient(x - step * dx, time), x.shape, f"{name}.gradient")
    change: np.ndarray = (above - below) / (2 * step)
    return change


def _check_product(
    force: Any, name: str, x: np.ndarray, time: float, step: float, tolerance: float, random: Any
) -> None:
    directions = [random.standard_normal(x.shape) for _ in range(2)]
    changes = [_change(force, name, x, direction, time, step) for direction in directions]
    scale = max(float(np.linalg.norm(change)) for change in changes)
    if hasattr(force, "hessian_product"):
        for direction, change in zip(directions, changes):
            product = _vectors(force.hessian_product(x, direction, time), x.shape, f"{name}.hessian_product")
            off = np.linalg.norm(product - change, axis=1)
            if np.linalg.norm(off) > 10 * tolerance * scale + 1e-30:
                raise ForceError(
                    f"{name}.hessian_product is not the derivative of its gradient: off by {np.linalg.norm(off) / scale:.2g} of its size, "
                    f"worst at row {int(off.argmax())}"
                )
    if not hasattr(force, "potential"):
        return
    one, other = (float(np.sum(directions[1 - k] * changes[k])) for k in range(2))
    if abs(one - other) > 100 * tolerance * scale * max(np.linalg.norm(direction) for direction in directions):
        raise ForceError(
            f"{name}.gradient has no potential: its derivative is not symmetric ({one:.6g} and {other:.6g})"
        )


def _check_couplings(force: Any, name: str, x: np.ndarray, time: float, step: float, random: Any) -> None:
    """Sums the effects of coupled rows on each row: a missing part comes from a row that is not coupled."""
    near = _neighbors(force, name, len(x))
    direction = random.standard_normal(x.shape)
    predicted = np.zeros_like(x)
    for color in _colors(near):
        rows = np.array([row for node in color for row in near[node]])
        nodes = np.array([node for node in color for _ in near[node]])
        for axis in range(3):
            dx = np.zeros_like(x)
            dx[color, axis] = 1.0
            felt = _change(force, name, x, dx, time, step)
            np.add.at(predicted, rows, felt[rows] * direction[nodes, axis][:, None])
    change = _change(force, name, x, direction, time, step)
    off = np.linalg.norm(change - predicted, axis=1)
    # Rounding errors of the gradient enter its differences.
    rounding = 1e-14 * float(np.abs(force.gradient(x, time)).max()) / step
    least = 1e-4 * float(np.linalg.norm(change, axis=1).max()) + rounding + 1e-30
    if off.max() <= least:
        return
    row = int(off.argmax())
    strangers = [k for k in range(len(x)) if k not in near[row]]
    while len(strangers) > 1:
        half = strangers[: len(strangers) // 2]
        dx = np.zeros_like(x)
        dx[half] = direction[half]
        size = float(np.linalg.norm(_change(force, name, x, dx, time, step)[row]))
        strangers = half if size > 0.5 * off[row] / len(x) else strangers[len(half) :]
    raise ForceError(f"{name}: row {row} feels row {strangers[0]}, but `couplings` does not say so")


def _neighbors(force: Any, name: str, count: int) -> list[set[int]]:
    """The coupled rows of each row, including itself."""
    pairs = getattr(force, "couplings", None)
    pairs = np.zeros((0, 2), dtype=int) if pairs is None or len(pairs) == 0 else np.asarray(pairs, dtype=int)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ForceError(f"{name}: `couplings` are pairs of rows, of the shape (m, 2), not {pairs.shape}")
    if pairs.size > 0 and not 0 <= pairs.min() <= pairs.max() < count:
        raise ForceError(f"{name}: `couplings` names a row that is not one of {count}")
    near = [{row} for row in range(count)]
    for one, other in pairs.tolist():
        near[one].add(other)
        near[other].add(one)
    return near


def _colors(near: list[set[int]]) -> list[list[int]]:
    """Groups of rows that can move at once: no row is coupled with two of a group."""
    color_of: dict[int, int] = {}
    groups: list[list[int]] = []
    for row, neighbors in enumerate(near):
        taken = {color_of[other] for neighbor in neighbors for other in near[neighbor] if other in color_of}
        color = next(color for color in range(len(groups) + 1) if color not in taken)
        if color == len(groups):
            groups.append([])
        groups[color].append(row)
        color_of[row] = color
    return groups
