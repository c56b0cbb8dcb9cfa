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
    return Correctives(data, document.get("nodes", []))


class Correctives:
    """Drivers of corrective shapes: smooth functions of joint rotations and of the places of flesh that can touch."""

    def __init__(self, data: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]] = ()) -> None:
        if data.get("version") != 2:
            raise ValueError(f"version {data.get('version')} of corrective shapes is unknown; this program knows 2")
        self.target_count: int = data["target_count"]
        self.drivers: Sequence[Mapping[str, Any]] = data["drivers"]
        self.nodes = nodes
        self.parents = {child: node for node, value in enumerate(nodes) for child in value.get("children", [])}

    @property
    def joints(self) -> list[str]:
        """Names of the joints whose rotations matter."""
        return sorted({name for driver in self.drivers for name in driver["names"]})

    def weights(self, rotations: Mapping[str | int, Sequence[float]]) -> NDArray[numpy.float64]:
        """Weights of all targets; those that the character had before come after them in the file.

        ``rotations`` are those of nodes relative to their parents, as quaternions x, y, z, w, by the name or number of the
        node. Joints that are not given are at rest.
        """
        weights = numpy.zeros(self.target_count)
        placed: dict[int, NDArray[numpy.float64]] = {}
        for driver in self.drivers:
            parts = [
                rotation_vector(rest, rotations.get(node, rotations.get(name, rest)))
                for node, name, rest in zip(driver["joints"], driver["names"], driver["rest"])
            ]
            for place in driver["places"]:
                point = self._world(place["of"], rotations, placed) @ [*place["point"], 1.0]
                seen = numpy.linalg.solve(self._world(place["from"], rotations, placed), point)[:3]
                parts.append((seen - place["rest"]) * place["scale"])
            inputs = numpy.concatenate(parts)
            centers = numpy.array(driver["centers"], dtype=float).reshape(-1, inputs.size)
            scale = -0.5 / driver["width"] ** 2
            functions = numpy.exp(scale * ((inputs - centers) ** 2).sum(1)) - numpy.exp(scale * (centers**2).sum(1))
            functions = numpy.concatenate([functions, inputs / driver["width"]])
            for weight in driver["weights"]:
                weights[weight["target"]] = max(0.0, numpy.dot(weight["coefficients"], functions))
        return weights

    def _world(
        self, number: int, rotations: Mapping[str | int, Sequence[float]], placed: dict[int, NDArray[numpy.float64]]
    ) -> NDArray[numpy.float64]:
        """The transform of a node, a 4 x 4 matrix."""
        if number not in placed:
            node = self.nodes[number]
            own = numpy.array(node.get("matrix", numpy.eye(4).ravel()), dtype=float).reshape(4, 4).T
            if "matrix" not in node:
                rest = node.get("rotation", [0.0, 0.0, 0.0, 1.0])
                turn = rotation_matrix(rotations.get(number, rotations.get(node.get("name", ""), rest)))
                own[:3, :3] = turn * numpy.array(node.get("scale", [1.0, 1.0, 1.0]))
                own[:3, 3] = node.get("translation", [0.0, 0.0, 0.0])
            parent = self.parents.get(number)
            placed[number] = own if parent is None else self._world(parent, rotations, placed) @ own
        return placed[number]


def rotation_matrix(rotation: Sequence[float]) -> NDArray[numpy.float64]:
    """The matrix of a quaternion x, y, z, w."""
    x, y, z, w = numpy.asarray(rotation, dtype=float) / numpy.linalg.norm(rotation)
    cross = numpy.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return numpy.eye(3) + 2.0 * (w * cross + cross @ cross)


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
