"""Lattices of cubes around surfaces."""

from __future__ import annotations

import numpy as np
import pytest
from support import need

import sinew

SIZE = np.array([0.04, 0.02, 0.02])


@pytest.fixture(scope="module")
def surface():
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]) * SIZE
    return sinew.Mesh(corners, {"hexahedron": [[0, 1, 3, 2, 4, 5, 7, 6]]}).surface()


@pytest.fixture(scope="module")
def lattice(surface):
    return sinew.Lattice(surface, cell=0.004)


def test_a_lattice_covers_the_surface_and_has_its_volume(lattice, surface):
    assert lattice.volume == pytest.approx(np.prod(SIZE), rel=1e-2)
    assert lattice.volume == pytest.approx(lattice.fractions.sum() * lattice.cell**3, rel=1e-6)
    low, high = lattice.positions.min(axis=0), lattice.positions.max(axis=0)
    assert (low <= surface.points.min(axis=0) + 1e-12).all() and (high >= surface.points.max(axis=0) - 1e-12).all()
    assert (lattice.fractions > 0).all() and (lattice.fractions <= 1).all()


def test_the_surface_is_embedded_where_it_is(lattice, surface):
    assert np.abs(lattice.embed(lattice.positions) - surface.points).max() < 1e-12


def test_the_surface_follows_affine_motions_exactly(lattice, surface):
    A = np.array([[1.1, 0.2, 0.0], [0.0, 0.9, 0.1], [0.3, 0.0, 1.2]])
    shift = np.array([1.0, 2.0, 3.0])
    assert lattice.embed(lattice.positions @ A.T + shift) == pytest.approx(surface.points @ A.T + shift, abs=1e-12)


def test_cells_are_cubes_in_the_stated_order(lattice):
    corners = lattice.positions[lattice.cells]
    offsets = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)]) * lattice.cell
    assert corners == pytest.approx(corners[:, :1] + offsets, abs=1e-12)
    assert corners[:, 0] == pytest.approx(lattice.origin + lattice.places * lattice.cell, abs=1e-12)
    assert (lattice.places < lattice.cubes).all()
    assert lattice.cell == 0.004


def test_its_mesh_is_made_of_its_cells(lattice):
    mesh = lattice.to_mesh()
    assert mesh.cells["hexahedron"].shape == lattice.cells.shape
    assert mesh.volume == pytest.approx(len(lattice.cells) * lattice.cell**3, rel=1e-9)
    assert np.sort(mesh.points, axis=0) == pytest.approx(np.sort(lattice.positions, axis=0))


def test_arrays_have_the_shapes_they_should(lattice):
    count = len(lattice.cells)
    assert (
        lattice.cells.shape == (count, 8) and lattice.places.shape == (count, 3) and lattice.fractions.shape == (count,)
    )
    assert lattice.positions.shape == (lattice.cells.max() + 1, 3)
    assert repr(lattice) == f"<Lattice: {count} cells of 0.004 m, {len(lattice.positions)} nodes>"


@pytest.mark.parametrize("positions", [np.zeros((3, 3)), np.zeros(3), np.zeros((4, 2)), "rest", None], ids=str)
def test_positions_of_other_nodes_are_refused(lattice, positions):
    with pytest.raises((ValueError, TypeError)):
        lattice.embed(positions)


def test_a_volume_mesh_is_no_surface(lattice):
    with pytest.raises(sinew.MeshError):
        sinew.Lattice(lattice.to_mesh(), cell=0.004)


@pytest.mark.parametrize("cell", [0.0, -1.0, float("nan"), float("inf"), 1e-9, 1e9])
def test_impossible_cells_are_refused(surface, cell):
    with pytest.raises((sinew.MeshError, ValueError)):
        sinew.Lattice(surface, cell=cell)


def test_two_fingers_in_one_cube_get_a_cell_each():
    """Two balls that nearly touch, each with its own cells in the cubes between them."""
    trimesh = need("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.01)
    other = ball.copy()
    other.apply_translation([0.0205, 0, 0])
    both = sinew.Mesh.from_trimesh(trimesh.util.concatenate([ball, other]))
    lattice = sinew.Lattice(both, cell=0.004)
    places, counts = np.unique(lattice.places, axis=0, return_counts=True)
    assert counts.max() == 2 and len(places) < len(lattice.cells)
    assert lattice.volume == pytest.approx(2 * 4 / 3 * np.pi * 0.01**3, rel=0.05)
