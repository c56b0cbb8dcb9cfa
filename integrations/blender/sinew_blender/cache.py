"""Point caches: from the world of a scene to the coordinates of an object."""

from __future__ import annotations

import os
import pathlib
import struct
from typing import BinaryIO, Sequence

import numpy

from .errors import Problem

# Magic word, version, points, first frame, frames per sample, samples; then x y z of every point of every sample.
HEAD = struct.Struct("<12siiffi")
MAGIC = b"POINTCACHE2\0"


def sample_count(path: pathlib.Path) -> int:
    """The number of poses in a cache."""
    with path.open("rb") as file:
        return _head(file, path)[1]


def convert(source: pathlib.Path, target: pathlib.Path, order: numpy.ndarray, local: Sequence[numpy.ndarray]) -> int:
    """Writes a cache in local coordinates and returns its number of poses.

    `order[i]` is the vertex of the object that point i of the source moves. `local[k]` takes the points of pose k from
    the scene to the object; poses beyond the list are left out.
    """
    partial = target.with_name(target.name + ".part")
    with source.open("rb") as file, partial.open("wb") as out:
        points, samples = _head(file, source)
        if points != len(order) or len(numpy.unique(order)) != points:
            raise Problem(
                f"The cache moves {points} points, but the object has {len(order)} vertices: {source}\n"
                "Vertices at equal positions were merged (Mesh › Clean Up › Merge by Distance does so for good), or the "
                "object has changed since."
            )
        samples = min(samples, len(local))
        out.write(HEAD.pack(MAGIC, 1, points, 0.0, 1.0, samples))
        for matrix in local[:samples]:
            world = numpy.frombuffer(_read(file, 12 * points, source), "<f4").reshape(points, 3).astype(float)
            placed = numpy.empty_like(world)
            placed[order] = world @ matrix[:3, :3].T + matrix[:3, 3]
            out.write(placed.astype("<f4").tobytes())
    os.replace(partial, target)
    return samples


def _head(file: BinaryIO, path: pathlib.Path) -> tuple[int, int]:
    """Numbers of points and samples."""
    magic, _, points, _, _, samples = HEAD.unpack(_read(file, HEAD.size, path))
    if magic != MAGIC:
        raise Problem(f"This is not a point cache: {path}")
    return points, samples


def _read(file: BinaryIO, size: int, path: pathlib.Path) -> bytes:
    content = file.read(size)
    if len(content) < size:
        raise Problem(f"The point cache ends early: {path}")
    return content
