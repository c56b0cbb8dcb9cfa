"""Closed, broken and rough surfaces for meshers, from numpy alone: each a name, its vertices and its triangles."""

from pathlib import Path

import numpy as np


def icosphere(level, radius=0.4, center=(0.0, 0.0, 0.0)):
    """A ball of 20 · 4^level triangles."""
    golden = (1 + 5**0.5) / 2
    vertices = [(0, 1, golden), (0, -1, golden), (0, 1, -golden), (0, -1, -golden)]
    vertices = [tuple(np.roll(v, k)) for k in range(3) for v in vertices]
    points = np.array(vertices) / np.linalg.norm(vertices[0])
    edge = min(np.linalg.norm(points[0] - p) for p in points[1:]) * 1.01
    near = np.linalg.norm(points[:, None] - points[None], axis=2) < edge
    faces = [(i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]]
    faces = np.array([f if np.linalg.det(points[list(f)]) > 0 else f[::-1] for f in faces])
    for _ in range(level):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, inverse = np.unique(edges, axis=0, return_inverse=True)
        middles = points[unique].mean(axis=1)
        ab, bc, ca = (inverse.reshape(3, -1) + len(points))
        a, b, c = faces.T
        faces = np.concatenate([np.stack(f, axis=1) for f in [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]])
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1)[:, None]])
    return points * radius + center, faces


def torus(count, ring=0.3, tube=0.12):
    u, v = np.meshgrid(np.arange(2 * count), np.arange(count), indexing="ij")
    s, t = np.pi * u / count, 2 * np.pi * v / count
    points = np.stack([(ring + tube * np.cos(t)) * np.cos(s), (ring + tube * np.cos(t)) * np.sin(s), tube * np.sin(t)], axis=2)
    place = lambda i, j: (i % (2 * count)) * count + j % count
    a, b, c, d = place(u, v), place(u + 1, v), place(u + 1, v + 1), place(u, v + 1)
    faces = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3)
    return points.reshape(-1, 3), faces


def noisy(level, size=0.004):
    """A ball whose vertices are moved at random, by about half an edge of its triangles."""
    points, faces = icosphere(level)
    return points + np.random.default_rng(7).normal(size=points.shape) * size, faces


def crossing(level):
    """Two balls that cut each other."""
    a, faces = icosphere(level, 0.28, (-0.15, 0.0, 0.0))
    b, _ = icosphere(level, 0.28, (0.15, 0.02, 0.01))
    return np.concatenate([a, b]), np.concatenate([faces, faces + len(a)])


def opened(level):
    """A ball without the triangles around its pole."""
    points, faces = icosphere(level)
    return points, faces[points[faces][:, :, 2].max(axis=1) < 0.39]


SURFACES = {
    "ball": lambda: icosphere(5),
    "torus": lambda: torus(72),
    "noisy": lambda: noisy(5),
    "crossing": lambda: crossing(4),
    "open": lambda: opened(5),
}


def read(path):
    """The vertices and triangles of a file of :func:`write`."""
    words = [line.split() for line in Path(path).read_text().splitlines()]
    points = np.array([w[1:] for w in words if w[0] == "v"], dtype=float)
    return points, np.array([w[1:] for w in words if w[0] == "f"], dtype=np.int32) - 1


def write(path, points, faces):
    """A Wavefront file."""
    lines = ["v %.9g %.9g %.9g" % tuple(p) for p in points] + ["f %d %d %d" % tuple(f + 1) for f in faces]
    Path(path).write_text("\n".join(lines) + "\n")


def dihedral_range(points, tets):
    """Smallest and largest angle [°] between two faces of a cell, and how many cells are flat or inverted."""
    x = np.asarray(points, dtype=float)[np.asarray(tets)]
    volume = np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])
    if np.median(volume) < 0:
        volume = -volume
    normals = []
    for i, j, k in [(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)]:
        n = np.cross(x[:, j] - x[:, i], x[:, k] - x[:, i])
        normals.append(n / np.maximum(np.linalg.norm(n, axis=1), 1e-300)[:, None])
    cosines = [-np.einsum("ij,ij->i", normals[i], normals[j]) for i in range(4) for j in range(i)]
    angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
    return float(angles.min()), float(angles.max()), int((volume <= 0).sum())


if __name__ == "__main__":
    import argparse
    import json

    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True, help="folder for the files")
    parser.add_argument("--cap", help="asked of every script; this one is short")
    asked = parser.parse_args()
    made = {}
    for name, make in SURFACES.items():
        points, faces = make()
        path = asked.work / f"surface_{name}.obj"
        write(path, points, faces)
        size = points.max(axis=0) - points.min(axis=0)
        made[name] = {"path": str(path), "triangles": len(faces), "longest_side": float(size.max())}
    print(json.dumps(made))
