"""Weights of corrective shapes for any motion of a character that ``sinew skin --correctives`` wrote.

The page ``docs/guide/correctives.md`` has the formula; this is the reference that programs can compare with::

    shapes = sinew.correctives.load("arm_flesh.glb")
    weights = shapes.weights({"elbow": [0, 0, 0.5, 0.866]})
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["Correctives", "load", "rotation_vector"]


def load(path: str | Path) -> Correctives:
    """Reads what drives the corrective shapes of a ``.glb`` file."""
    content = Path(path).read_bytes()
    if content[:4] != b"glTF":
        raise ValueError(f"{path} is no .glb file")
    (length,) = struct.unpack_from("<I", content, 12)
    document = json.loads(content[20 : 20 + length])
    data = document.get("extras", {}).get("correctives")
    if data is None:
        raise ValueError(f"{path} has no corrective shapes; hint: `sinew skin CHARACTER --correctives 24 -o FILE.glb` writes some")
    return Correctives(data)


class Correctives:
    """Drivers of corrective shapes: smooth functions of joint rotations."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        if data.get("version") != 1:
            raise ValueError(f"version {data.get('version')} of corrective shapes is unknown; this program knows 1")
        self.target_count: int = data["target_count"]
        self.drivers: Sequence[Mapping[str, Any]] = data["drivers"]

    @property
    def joints(self) -> list[str]:
        """Names of the joints whose rotations matter."""
        return sorted({name for driver in self.drivers for name in driver["names"]})

    def weights(self, rotations: Mapping[str | int, Sequence[float]]) -> NDArray[numpy.float64]:
        """Weights of all targets.

        ``rotations`` are those of nodes relative to their parents, as quaternions x, y, z, w, by the name or number of the
        node. Joints that are not given are at rest.
        """
        weights = numpy.zeros(self.target_count)
        for driver in self.drivers:
            turns = numpy.concatenate(
                [
                    rotation_vector(rest, rotations.get(node, rotations.get(name, rest)))
                    for node, name, rest in zip(driver["joints"], driver["names"], driver["rest"])
                ]
            )
            centers = numpy.array(driver["centers"], dtype=float).reshape(-1, turns.size)
            scale = -0.5 / driver["width"] ** 2
            functions = numpy.exp(scale * ((turns - centers) ** 2).sum(1)) - numpy.exp(scale * (centers**2).sum(1))
            if len(driver["joints"]) == 1:
                functions = numpy.concatenate([functions, turns / driver["width"]])
            for weight in driver["weights"]:
                weights[weight["target"]] = max(0.0, numpy.dot(weight["coefficients"], functions))
        return weights


def rotation_vector(rest: Sequence[float], rotation: Sequence[float]) -> NDArray[numpy.float64]:
    """Axis times angle of the rotation from ``rest``, at most half a turn; quaternions are x, y, z, w."""
    a, b = (numpy.asarray(q, dtype=float) / numpy.linalg.norm(q) for q in (rest, rotation))
    scalar = a @ b
    vector = a[3] * b[:3] - b[3] * a[:3] - numpy.cross(a[:3], b[:3])
    if scalar < 0:
        scalar, vector = -scalar, -vector
    sine = numpy.linalg.norm(vector)
    angle = 2 * numpy.arctan2(sine, scalar)
    return vector * (angle / sine) if sine > 1e-12 else 2 * vector
