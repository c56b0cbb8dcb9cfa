"""Meshes: from and to arrays, files, meshio, trimesh and pyvista; pickles; errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support import ROOT, box, need

import sinew
from sinew.bridges import MESHIO, VTK

# Nodes of each cell.
CORNERS = {
    "vertex": 1,
    "line": 2,
    "quadratic line": 3,
    "triangle": 3,
    "quadratic triangle": 6,
    "quad": 4,
    "quadratic quad": 8,
    "biquadratic quad": 9,
    "tetrahedron": 4,
    "quadratic tetrahedron": 10,
    "pyramid": 5,
    "quadratic pyramid": 13,
    "wedge": 6,
    "quadratic wedge": 15,
    "hexahedron": 8,
    "quadratic hexahedron": 20,
    "triquadratic hexahedron": 27,
}

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
HEXAHEDRON = [[0, 1, 3, 2, 4, 5, 7, 6]]
TETRAHEDRA = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]


@pytest.fixture
def mesh():
    """Tetrahedra and triangles with fields and sets."""
    return sinew.Mesh(
        CUBE,
        {"tetrahedron": TETRAHEDRA, "triangle": [[0, 1, 3], [0, 3, 2]]},
        point_fields={"heat": np.arange(8.0), "push": CUBE * 2},
        cell_fields={"stiffness": np.arange(8.0), "fiber": np.tile([1.0, 0, 0], (8, 1))},
        node_sets={"left": [0, 2, 4, 6]},
        cell_sets={"core": [0, 1]},
    )


def test_a_mesh_holds_what_it_was_given(mesh):
    assert np.array_equal(mesh.points, CUBE)
    assert {name: cells.tolist() for name, cells in mesh.cells.items()} == {
        "tetrahedron": TETRAHEDRA,
        "triangle": [[0, 1, 3], [0, 3, 2]],
    }
    assert np.array_equal(mesh.point_fields["push"], CUBE * 2) and mesh.point_fields["heat"].shape == (8,)
    assert mesh.cell_fields["fiber"].shape == (8, 3)
    assert mesh.node_sets == {"left": [0, 2, 4, 6]} and mesh.cell_sets == {"core": [0, 1]}
    assert repr(mesh) == "<Mesh: 8 points, 6 of tetrahedron, 2 of triangle>"


def test_volume_and_surface():
    for cells in [{"tetrahedron": TETRAHEDRA}, {"hexahedron": HEXAHEDRON}]:
        mesh = sinew.Mesh(CUBE * 2, cells)
        assert mesh.volume == pytest.approx(8.0, rel=1e-14)
        surface = mesh.surface()
        assert set(surface.cells) == {"triangle"}
        a, b, c = np.moveaxis(surface.points[surface.cells["triangle"]], 1, 0)
        assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2 == pytest.approx(24.0)
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(8.0)


@pytest.mark.parametrize("ending", ["vtu", "vtk", "msh", "inp", "feb", "mesh"])
def test_volume_meshes_come_back_from_files(tmp_path, ending):
    mesh = sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA})
    path = tmp_path / f"cube.{ending}"
    mesh.save(path)
    again = sinew.Mesh.load(path)
    assert np.array_equal(again.points, mesh.points)
    assert np.array_equal(again.cells["tetrahedron"], mesh.cells["tetrahedron"])


@pytest.mark.parametrize("ending", ["obj", "ply", "stl", "glb"])
def test_surfaces_come_back_from_files(tmp_path, ending):
    surface = sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA}).surface()
    surface.save(tmp_path / f"cube.{ending}")
    again = sinew.Mesh.load(str(tmp_path / f"cube.{ending}"))
    assert len(again.cells["triangle"]) == 12
    corners = lambda mesh: sorted(mesh.points[mesh.cells["triangle"]].reshape(-1, 9).round(6).tolist())  # noqa: E731
    assert corners(again) == corners(surface)


def test_files_can_be_text_or_small(tmp_path, mesh):
    mesh.save(tmp_path / "a.vtu", binary=False)
    mesh.save(tmp_path / "b.vtu", compress=True)
    assert b"ascii" in (tmp_path / "a.vtu").read_bytes()
    for name in ["a.vtu", "b.vtu"]:
        again = sinew.Mesh.load(tmp_path / name)
        assert np.array_equal(again.points, mesh.points)
        assert np.array_equal(again.point_fields["heat"], mesh.point_fields["heat"])


def test_a_mesh_of_the_repository_is_read():
    path = next((ROOT / "scenes").rglob("*.msh"))
    mesh = sinew.Mesh.load(path)
    assert mesh.volume > 0 and "tetrahedron" in mesh.cells


def test_meshes_survive_pickling(mesh):
    for again in [pickle.loads(pickle.dumps(mesh)), copy.deepcopy(mesh), copy.copy(mesh)]:
        assert again == mesh
        assert np.array_equal(again.points, mesh.points) and not again.points.flags.writeable
        assert (again.node_sets, again.cell_sets) == (mesh.node_sets, mesh.cell_sets)
    polygons = sinew.Mesh(CUBE, {"polygon": [[0, 1, 3, 2], [0, 1, 5, 4]]})
    assert pickle.loads(pickle.dumps(polygons)) == polygons
    path = next((ROOT / "scenes").rglob("*.msh"))
    loaded = sinew.Mesh.load(path)
    again = pickle.loads(pickle.dumps(loaded))
    assert again == loaded and again.notes == loaded.notes


def test_meshes_are_equal_when_all_of_them_is(mesh):
    assert mesh == pickle.loads(pickle.dumps(mesh))
    assert mesh != sinew.Mesh(CUBE, dict(mesh.cells))
    assert sinew.Mesh(CUBE, {}) != sinew.Mesh(CUBE + 1, {})
    assert mesh != "mesh"


def test_polygons_are_lists():
    mesh = sinew.Mesh(CUBE, {"polygon": [[0, 1, 3], [0, 1, 5, 4]]})
    assert mesh.cells == {"polygon": [[0, 1, 3], [0, 1, 5, 4]]}


def test_numbers_of_any_kind_are_taken():
    for kind in [np.uint8, np.int32, np.int64, np.uint32]:
        assert sinew.Mesh(
            CUBE.astype(np.float32), {"tetrahedron": np.array(TETRAHEDRA, dtype=kind)}
        ).volume == pytest.approx(1)
    assert sinew.Mesh(CUBE.tolist(), {"hexahedron": HEXAHEDRON}).volume == pytest.approx(1)
    assert sinew.Mesh(np.asfortranarray(CUBE), {"tetrahedron": np.asfortranarray(TETRAHEDRA)}).volume == pytest.approx(
        1
    )
    assert sinew.Mesh(CUBE[::-1][::-1], {"tetrahedron": np.array(TETRAHEDRA)[::2]}).volume == pytest.approx(0.5)


BAD = {
    "flat points": lambda: sinew.Mesh(np.zeros((4, 2)), {}),
    "a list of numbers": lambda: sinew.Mesh(np.zeros(12), {}),
    "three axes": lambda: sinew.Mesh(np.zeros((2, 2, 3)), {}),
    "nan": lambda: sinew.Mesh([[0, 0, np.nan]], {}),
    "infinite": lambda: sinew.Mesh([[0, 0, np.inf]], {}),
    "text": lambda: sinew.Mesh("points", {}),
    "no cells": lambda: sinew.Mesh(CUBE, None),
    "cells as a list": lambda: sinew.Mesh(CUBE, TETRAHEDRA),
    "too many corners": lambda: sinew.Mesh(CUBE, {"tetrahedron": HEXAHEDRON}),
    "cells in a row": lambda: sinew.Mesh(CUBE, {"tetrahedron": [0, 1, 2]}),
    "node too large": lambda: sinew.Mesh(CUBE, {"tetrahedron": [[0, 1, 2, 8]]}),
    "negative node": lambda: sinew.Mesh(CUBE, {"tetrahedron": [[0, 1, 2, -1]]}),
    "fractions": lambda: sinew.Mesh(CUBE, {"tetrahedron": [[0.5, 1.5, 2.5, 3.5]]}),
    "polygon node too large": lambda: sinew.Mesh(CUBE, {"polygon": [[0, 1, 99]]}),
    "polygon negative": lambda: sinew.Mesh(CUBE, {"polygon": [[0, 1, -1]]}),
    "short field": lambda: sinew.Mesh(CUBE, {}, point_fields={"heat": [1.0, 2.0]}),
    "field without rows": lambda: sinew.Mesh(CUBE, {}, point_fields={"heat": 3.0}),
    "field of words": lambda: sinew.Mesh(CUBE, {}, point_fields={"heat": ["a"] * 8}),
    "cell field": lambda: sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA}, cell_fields={"f": [1.0] * 8}),
    "node set": lambda: sinew.Mesh(CUBE, {}, node_sets={"a": [8]}),
    "negative set": lambda: sinew.Mesh(CUBE, {}, node_sets={"a": [-1]}),
    "cell set": lambda: sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA}, cell_sets={"a": [6]}),
    "volume of nothing": lambda: sinew.Mesh(CUBE, {}).volume,
    "volume of a surface": lambda: sinew.Mesh(CUBE, {"triangle": [[0, 1, 2]]}).volume,
    "surface of nothing": lambda: sinew.Mesh(CUBE, {}).surface(),
    "volume of flat cells": lambda: sinew.Mesh(CUBE, {"tetrahedron": [[0, 1, 2, 3]]}).volume,
    "unknown ending": lambda: sinew.Mesh(CUBE, {}).save("mesh.xyz"),
    "volume as a surface file": lambda: sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA}).save("/nonexistent/mesh.stl"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_mesh_is_refused(name):
    with pytest.raises((ValueError, TypeError, KeyError, OverflowError, sinew.MeshError)) as caught:
        BAD[name]()
    assert str(caught.value)


@pytest.mark.parametrize("kind", [name for name in MESHIO if name != "polygon"])
def test_every_shape_of_meshio_comes_back(kind):
    meshio = need("meshio")
    count = CORNERS[kind]
    points = np.random.default_rng(1).random((count, 3))
    mesh = sinew.Mesh(
        points, {kind: [list(range(count))]}, point_fields={"a": points[:, 0]}, cell_fields={"b": [[1, 2, 3]]}
    )
    theirs = mesh.to_meshio()
    assert isinstance(theirs, meshio.Mesh) and theirs.cells[0].type == MESHIO[kind]
    assert sinew.Mesh.from_meshio(theirs) == mesh


def test_meshio_in_and_out(mesh, tmp_path):
    meshio = need("meshio")
    theirs = mesh.to_meshio()
    again = sinew.Mesh.from_meshio(theirs)
    assert np.array_equal(again.points, mesh.points)
    assert {name: cells.tolist() for name, cells in again.cells.items()} == {
        name: cells.tolist() for name, cells in mesh.cells.items()
    }
    for name in mesh.cell_fields:
        assert np.array_equal(again.cell_fields[name], mesh.cell_fields[name])
    assert again.node_sets == mesh.node_sets
    # Our files, read by other libraries, and vice versa.
    mesh.save(tmp_path / "ours.vtu")
    read = meshio.read(tmp_path / "ours.vtu")
    assert np.array_equal(read.points, mesh.points) and np.array_equal(
        read.point_data["heat"].ravel(), mesh.point_fields["heat"]
    )
    meshio.write(tmp_path / "theirs.vtu", theirs)
    assert np.array_equal(sinew.Mesh.load(tmp_path / "theirs.vtu").cells["tetrahedron"], mesh.cells["tetrahedron"])
    # Sets of cells are part of a mesh.
    assert again == mesh


def test_what_meshio_cannot_hold_is_told():
    need("meshio")
    mesh = sinew.Mesh(np.random.default_rng(1).random((13, 3)), {"quadratic pyramid": [list(range(13))]})
    with pytest.raises(sinew.MeshError, match="quadratic pyramid"):
        mesh.to_meshio()


def test_meshio_blocks_of_one_kind_are_joined_with_their_fields():
    meshio = need("meshio")
    blocks = [("tetra", TETRAHEDRA[:2]), ("triangle", [[0, 1, 3]]), ("tetra", TETRAHEDRA[2:])]
    theirs = meshio.Mesh(CUBE, blocks, cell_data={"f": [[0.0, 1.0], [9.0], [2.0, 3.0, 4.0, 5.0]]})
    mesh = sinew.Mesh.from_meshio(theirs)
    assert mesh.cells["tetrahedron"].tolist() == TETRAHEDRA
    assert mesh.cell_fields["f"].tolist() == [0, 1, 2, 3, 4, 5, 9]
    again = mesh.to_meshio()
    assert [values.tolist() for values in again.cell_data["f"]] == [[0, 1, 2, 3, 4, 5], [9]]


def test_flat_meshes_of_meshio_get_a_third_coordinate():
    meshio = need("meshio")
    mesh = sinew.Mesh.from_meshio(meshio.Mesh([[0, 0], [1, 0], [0, 1]], [("triangle", [[0, 1, 2]])]))
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    with pytest.raises(sinew.MeshError, match="hexahedron125|no cell shape"):
        sinew.Mesh.from_meshio(meshio.Mesh(np.zeros((125, 3)), [("hexahedron125", [list(range(125))])]))


def test_trimesh_in_and_out():
    trimesh = need("trimesh")
    mesh = sinew.Mesh(CUBE, {"tetrahedron": TETRAHEDRA})
    theirs = mesh.to_trimesh()
    assert isinstance(theirs, trimesh.Trimesh) and theirs.is_watertight
    assert theirs.volume == pytest.approx(mesh.volume)
    again = sinew.Mesh.from_trimesh(theirs)
    assert again.surface is not None and len(again.cells["triangle"]) == 12
    ball = sinew.Mesh.from_trimesh(trimesh.creation.icosphere(subdivisions=2, radius=0.05))
    assert sinew.Lattice(ball, cell=0.01).volume == pytest.approx(4 / 3 * np.pi * 0.05**3, rel=0.1)


@pytest.mark.parametrize("kind", CORNERS)
def test_every_shape_of_vtk_comes_back(kind):
    need("pyvista")
    count = CORNERS[kind]
    points = np.random.default_rng(1).random((count, 3))
    mesh = sinew.Mesh(points, {kind: [list(range(count))]})
    grid = mesh.to_pyvista()
    assert grid.celltypes.tolist() == [VTK[kind]]
    assert sinew.Mesh.from_pyvista(grid) == mesh


def test_pyvista_in_and_out(mesh):
    pyvista = need("pyvista")
    grid = mesh.to_pyvista()
    assert isinstance(grid, pyvista.UnstructuredGrid)
    assert np.array_equal(grid.points, mesh.points) and np.array_equal(
        grid.point_data["heat"], mesh.point_fields["heat"]
    )
    again = sinew.Mesh.from_pyvista(grid)
    assert np.array_equal(again.points, mesh.points)
    for name in mesh.cell_fields:
        assert sorted(again.cell_fields[name].ravel()) == sorted(mesh.cell_fields[name].ravel())
    assert again.cells["tetrahedron"].tolist() == TETRAHEDRA
    surface = sinew.Mesh.from_pyvista(pyvista.Sphere(radius=0.1))
    assert set(surface.cells) == {"triangle"}


def test_fields_of_pyvista_follow_their_cells():
    """Triangles come before tetrahedra in VTK's numbers, after them here."""
    need("pyvista")
    mesh = sinew.Mesh(
        CUBE, {"tetrahedron": TETRAHEDRA, "triangle": [[0, 1, 3]]}, cell_fields={"f": [0, 1, 2, 3, 4, 5, 9]}
    )
    again = sinew.Mesh.from_pyvista(mesh.to_pyvista())
    places = {"triangle": 1, "tetrahedron": 6}
    start = 0
    for name, cells in again.cells.items():
        values = again.cell_fields["f"][start : start + len(cells)].tolist()
        assert len(cells) == places[name]
        assert values == ([9] if name == "triangle" else [0, 1, 2, 3, 4, 5])
        start += len(cells)


def test_polygons_go_through_pyvista_and_back():
    """`to_pyvista` writes polygons, so `from_pyvista` reads them."""
    pyvista = need("pyvista")
    mesh = sinew.Mesh(CUBE, {"polygon": [[0, 1, 3, 2], [0, 1, 5]]})
    assert sinew.Mesh.from_pyvista(mesh.to_pyvista()) == mesh
    assert sum(len(cells) for cells in sinew.Mesh.from_pyvista(pyvista.Cube()).cells.values()) == 6


def test_polygons_go_through_meshio_and_back():
    need("meshio")
    for polygons in [[[0, 1, 3, 2, 6], [0, 1, 5, 4, 6]], [[0, 1, 3, 2, 6], [0, 1, 5]]]:
        mesh = sinew.Mesh(CUBE, {"polygon": polygons})
        assert sinew.Mesh.from_meshio(mesh.to_meshio()) == mesh


def test_fields_of_the_mesh_reach_the_simulation():
    mesh = sinew.Mesh(CUBE * 0.01, {"tetrahedron": TETRAHEDRA}, node_sets={"bottom": [0, 1, 2, 3]})
    scene = box(body={"pin": [{"region": "bottom"}]})
    scene["body"][0]["mesh"] = {"from": "file", "file": mesh}
    simulation = sinew.Simulation(sinew.Scene(scene))
    simulation.step()
    assert np.array_equal(simulation.positions[:4], CUBE[:4] * 0.01)
    assert not np.array_equal(simulation.positions[4:], CUBE[4:] * 0.01)
