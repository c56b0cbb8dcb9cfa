"""Converts meshes from and to meshio, trimesh and pyvista, each imported on demand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._sinew import Mesh
from .errors import MeshError

# Our names and those of meshio; both use VTK's node order. meshio has names for quadratic pyramids and wedges, but
# rejects them.
MESHIO = {
    "vertex": "vertex",
    "line": "line",
    "quadratic line": "line3",
    "triangle": "triangle",
    "quadratic triangle": "triangle6",
    "quad": "quad",
    "quadratic quad": "quad8",
    "biquadratic quad": "quad9",
    "polygon": "polygon",
    "tetrahedron": "tetra",
    "quadratic tetrahedron": "tetra10",
    "pyramid": "pyramid",
    "wedge": "wedge",
    "hexahedron": "hexahedron",
    "quadratic hexahedron": "hexahedron20",
    "triquadratic hexahedron": "hexahedron27",
}

# VTK's cell type numbers.
VTK = {
    "vertex": 1,
    "line": 3,
    "triangle": 5,
    "polygon": 7,
    "quad": 9,
    "tetrahedron": 10,
    "hexahedron": 12,
    "wedge": 13,
    "pyramid": 14,
    "quadratic line": 21,
    "quadratic triangle": 22,
    "quadratic quad": 23,
    "quadratic tetrahedron": 24,
    "quadratic hexahedron": 25,
    "quadratic wedge": 26,
    "quadratic pyramid": 27,
    "biquadratic quad": 28,
    "triquadratic hexahedron": 29,
}


def to_meshio(mesh: Mesh) -> Any:
    """A ``meshio.Mesh`` with the same points, cells, fields and sets."""
    import meshio

    unknown = [name for name in mesh.cells if name not in MESHIO]
    if unknown:
        raise MeshError(f"meshio has no cells of the shape {', '.join(unknown)}")
    cells: list = []
    for name, nodes in mesh.cells.items():
        cells += [(MESHIO[name], part) for part in (_runs(nodes) if name == "polygon" else [np.asarray(nodes)])]
    ends = np.cumsum([len(nodes) for _, nodes in cells])
    return meshio.Mesh(
        np.array(mesh.points),
        cells,
        point_data={name: np.array(values) for name, values in mesh.point_fields.items()},
        cell_data={
            name: [np.array(part) for part in np.split(values, ends[:-1])] for name, values in mesh.cell_fields.items()
        },
        point_sets={name: np.array(members) for name, members in mesh.node_sets.items()},
        cell_sets={
            name: [
                np.array([k - end + len(nodes) for k in members if end - len(nodes) <= k < end], dtype=int)
                for (_, nodes), end in zip(cells, ends)
            ]
            for name, members in mesh.cell_sets.items()
        },
    )


def from_meshio(mesh: Any) -> Mesh:
    """The mesh of a ``meshio.Mesh``; two-dimensional meshes get a third coordinate of zero."""
    names = {theirs: ours for ours, theirs in MESHIO.items()}
    unknown = sorted({block.type for block in mesh.cells if block.type not in names})
    if unknown:
        raise MeshError(f"there is no cell shape for {', '.join(unknown)} of meshio")
    # Groups blocks of one shape; fields and sets follow their cells.
    order: dict = {}
    for number, block in enumerate(mesh.cells):
        order.setdefault(names[block.type], []).append(number)
    sequence = [number for numbers in order.values() for number in numbers]
    starts = dict(zip(sequence, np.cumsum([0, *(len(mesh.cells[number].data) for number in sequence)])))
    cells = {
        name: [[int(k) for k in cell] for number in numbers for cell in mesh.cells[number].data]
        if name == "polygon"
        else np.concatenate([np.asarray(mesh.cells[number].data) for number in numbers])
        for name, numbers in order.items()
    }
    fields = {
        name: np.concatenate([np.asarray(parts[number], dtype=float) for number in sequence])
        for name, parts in mesh.cell_data.items()
        if sequence and all(np.issubdtype(np.asarray(parts[number]).dtype, np.number) for number in sequence)
    }
    sets = {
        name: [int(starts[number] + k) for number in sequence if parts[number] is not None for k in parts[number]]
        for name, parts in (mesh.cell_sets or {}).items()
    }
    return Mesh(
        _three(mesh.points),
        cells,
        point_fields=_numbers(mesh.point_data),
        cell_fields=fields,
        node_sets={name: [int(k) for k in members] for name, members in (mesh.point_sets or {}).items()},
        cell_sets=sets,
    )


def to_trimesh(mesh: Mesh) -> Any:
    """A ``trimesh.Trimesh`` of the triangles, or of the surface of the cells if there are no triangles."""
    import trimesh

    surface = mesh if "triangle" in mesh.cells else mesh.surface()
    return trimesh.Trimesh(vertices=np.array(surface.points), faces=np.array(surface.cells["triangle"]), process=False)


def from_trimesh(mesh: Any) -> Mesh:
    """The mesh of a ``trimesh.Trimesh``."""
    return Mesh(np.asarray(mesh.vertices), {"triangle": np.asarray(mesh.faces)})


def to_pyvista(mesh: Mesh) -> Any:
    """A ``pyvista.UnstructuredGrid`` with the same points, cells and fields."""
    import pyvista

    parts: list[np.ndarray] = []
    kinds: list[np.ndarray] = []
    for name, nodes in mesh.cells.items():
        if name == "polygon":
            parts.extend(np.concatenate([[len(polygon)], polygon]) for polygon in nodes)
            kinds.append(np.full(len(nodes), 7))
            continue
        nodes = np.asarray(nodes)
        parts.append(np.hstack([np.full((len(nodes), 1), nodes.shape[1]), nodes]).ravel())
        kinds.append(np.full(len(nodes), VTK[name]))
    cells = np.concatenate(parts) if parts else np.zeros(0, dtype=int)
    grid = pyvista.UnstructuredGrid(
        cells, np.concatenate(kinds) if kinds else np.zeros(0, dtype=int), np.array(mesh.points)
    )
    for name, values in mesh.point_fields.items():
        grid.point_data[name] = np.array(values)
    for name, values in mesh.cell_fields.items():
        grid.cell_data[name] = np.array(values)
    return grid


def from_pyvista(mesh: Any) -> Mesh:
    """The mesh of a ``pyvista.UnstructuredGrid`` or ``pyvista.PolyData``."""
    grid = mesh if hasattr(mesh, "celltypes") else mesh.cast_to_unstructured_grid()
    names = {number: name for name, number in VTK.items()}
    kinds, first = np.unique(grid.celltypes, return_index=True)
    kinds = kinds[np.argsort(first)]
    unknown = sorted(int(kind) for kind in kinds if kind not in names)
    if unknown:
        raise MeshError(f"there is no cell shape for the numbers {unknown} of VTK")
    # Named `offset` in older versions.
    starts = np.asarray(grid.cell_offsets if hasattr(grid, "cell_offsets") else grid.offset)
    nodes = np.asarray(grid.cell_connectivity)
    cells: dict = {}
    places = [np.flatnonzero(grid.celltypes == kind) for kind in kinds]
    for kind, place in zip(kinds, places):
        if names[int(kind)] == "polygon":
            cells["polygon"] = [nodes[starts[k] : starts[k + 1]].tolist() for k in place]
            continue
        count = starts[place[0] + 1] - starts[place[0]]
        cells[names[int(kind)]] = nodes[starts[place][:, None] + np.arange(count)]
    order = np.concatenate(places) if places else np.zeros(0, dtype=int)
    return Mesh(
        _three(grid.points),
        cells,
        point_fields=_numbers(dict(grid.point_data)),
        cell_fields={name: values[order] for name, values in _numbers(dict(grid.cell_data)).items()},
    )


def _runs(polygons: list) -> list:
    """Polygons as arrays: a new array wherever the number of corners changes."""
    ends = [k for k in range(1, len(polygons)) if len(polygons[k]) != len(polygons[k - 1])]
    return [np.array(polygons[start:end]) for start, end in zip([0, *ends], [*ends, len(polygons)])]


def _three(points: Any) -> np.ndarray:
    points = np.asarray(points, dtype=float)
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1]))) if points.shape[1] < 3 else points


def _numbers(fields: dict[str, Any]) -> dict[str, np.ndarray]:
    """Numeric fields; our meshes cannot store others."""
    arrays = {name: np.asarray(values) for name, values in fields.items()}
    return {name: values.astype(float) for name, values in arrays.items() if np.issubdtype(values.dtype, np.number)}
