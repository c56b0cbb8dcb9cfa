"""Arrays are views of memory: at a fixed address, read-only, and valid as long as they are held."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support import address, box

import sinew

STATE = ["positions", "velocities", "reactions"]


def two_bodies():
    scene = box()
    scene["body"].append({**scene["body"][0], "name": "other", "position": [0, 0.1, 0]})
    return sinew.Scene(scene)


def doomed():
    """Pulled apart a thousandfold in the second frame, with one Newton iteration: that frame fails."""
    motion = {"translation": [["0 s", [0, 0, 0]], ["16.7 ms", [0, 0, 0]], ["33.4 ms", [1000.0, 0, 0]]]}
    pins = [{"region": "x-min"}, {"region": "x-max", "motion": motion}]
    material = {"type": "neo_hookean", "young": 30e3, "poisson": 0.45}
    return box(body={"pin": pins}, material=material, solver={"max_newton": 3, "max_halvings": 0})


@pytest.mark.parametrize("name", STATE)
def test_a_view_lies_at_the_same_address_for_life(simulation, name):
    view = getattr(simulation, name)
    place = address(view)
    state = simulation.state
    for _ in range(3):
        simulation.step()
        assert address(getattr(simulation, name)) == place
    simulation.state = state
    assert address(getattr(simulation, name)) == place
    body = simulation.body()
    body.place(positions=body.rest_positions * 1.01)
    assert address(getattr(simulation, name)) == place
    assert address(view) == place
    assert np.array_equal(view, getattr(simulation, name))


@pytest.mark.parametrize("name", STATE)
def test_a_view_stays_where_it_is_when_a_step_is_rolled_back(name):
    simulation = sinew.Simulation(sinew.Scene(doomed()))
    view = getattr(simulation, name)
    place = address(view)
    simulation.step()
    before = view.copy()
    with pytest.raises(sinew.StepError):
        simulation.step()
    assert address(getattr(simulation, name)) == place
    assert np.array_equal(view, before)
    assert np.array_equal(getattr(simulation, name), before)


@pytest.mark.parametrize("name", STATE)
def test_views_of_bodies_lie_inside_that_of_the_simulation(name):
    simulation = sinew.Simulation(two_bodies())
    whole = getattr(simulation, name)
    ends = []
    for body in simulation.bodies.values():
        start, end = body.node_range
        part = getattr(body, name)
        assert address(part) == address(whole) + start * whole.strides[0]
        assert part.shape == (end - start, 3)
        assert part.shape == body.rest_positions.shape
        ends.append((start, end))
    simulation.step()
    for body in simulation.bodies.values():
        start, end = body.node_range
        assert address(getattr(body, name)) == address(whole) + start * whole.strides[0]
        assert np.array_equal(getattr(body, name), whole[start:end])
    assert ends[0][1] <= ends[1][0]


@pytest.mark.parametrize("name", STATE)
def test_views_show_the_new_frame(simulation, name):
    simulation.step()
    view = getattr(simulation, name)
    before = view.copy()
    simulation.step()
    assert not np.array_equal(view, before)


def test_views_cannot_be_written(simulation):
    mesh = simulation.body().mesh
    state = simulation.state
    arrays = [getattr(simulation, name) for name in STATE]
    arrays += [getattr(simulation.body(), name) for name in [*STATE, "rest_positions"]]
    arrays += [*simulation.body().cells.values(), mesh.points, *mesh.cells.values(), state.positions, state.velocities]
    for array in arrays:
        assert not array.flags.writeable
        assert not array.flags.owndata
        with pytest.raises(ValueError):
            array[0] = 0
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_copies_can_be_written_and_stay(simulation):
    body = simulation.body()
    for array in [simulation.forces, simulation.probe_values, body.displacements, body.surface_positions]:
        assert array.flags.writeable and array.flags.owndata
    before = body.displacements
    simulation.step()
    assert np.array_equal(before, np.zeros_like(before))
    assert np.array_equal(body.displacements, body.positions - body.rest_positions)


def test_views_are_valid_after_the_simulation_is_gone(scene):
    simulation = sinew.Simulation(scene)
    simulation.step(2)
    views = [getattr(simulation, name) for name in STATE]
    views += [getattr(simulation.body(), name) for name in STATE] + [*simulation.body().cells.values()]
    copies = [view.copy() for view in views]
    del simulation
    gc.collect()
    # Other objects reuse freed memory.
    others = [sinew.Simulation(scene) for _ in range(20)]
    for other in others:
        other.step(3)
    for view, copy in zip(views, copies):
        assert np.array_equal(view, copy)


def test_a_view_alone_keeps_a_simulation_that_can_go_on(scene):
    view = sinew.Simulation(scene).positions
    gc.collect()
    simulation = view.base
    assert isinstance(simulation, sinew.Simulation)
    before = view.copy()
    simulation.step()
    assert not np.array_equal(view, before)


def test_views_of_states_do_not_follow_the_simulation(simulation):
    state = simulation.state
    positions = state.positions
    before = positions.copy()
    assert address(positions) == address(state.positions)
    assert address(positions) != address(simulation.positions)
    simulation.step()
    assert np.array_equal(positions, before)
    del state
    gc.collect()
    assert np.array_equal(positions, before)


def test_views_of_meshes_share_memory_and_outlive_them():
    points = np.random.default_rng(1).random((4, 3))
    mesh = sinew.Mesh(
        points, {"tetrahedron": [[0, 1, 2, 3]]}, point_fields={"heat": [1, 2, 3, 4]}, cell_fields={"f": [[1, 2, 3]]}
    )
    assert address(mesh.points) == address(mesh.points)
    assert address(mesh.cells["tetrahedron"]) == address(mesh.cells["tetrahedron"])
    assert address(mesh.point_fields["heat"]) == address(mesh.point_fields["heat"])
    assert address(mesh.cell_fields["f"]) == address(mesh.cell_fields["f"])
    assert address(mesh.points) != address(points)
    views = [mesh.points, mesh.cells["tetrahedron"], mesh.point_fields["heat"], mesh.cell_fields["f"]]
    copies = [view.copy() for view in views]
    del mesh
    gc.collect()
    others = [sinew.Mesh(np.zeros((4, 3)), {}) for _ in range(100)]
    assert all(np.array_equal(view, copy) for view, copy in zip(views, copies))
    assert len(others) == 100
    points[:] = 7
    assert not np.array_equal(views[0], points)


def test_a_mesh_in_a_scene_is_not_copied():
    mesh = sinew.Simulation(two_bodies()).body("block").mesh
    scene = box()
    scene["body"][0]["mesh"] = {"from": "file", "file": mesh}
    kept = sinew.Scene(scene).meshes
    assert [address(other.points) for other in kept.values()] == [address(mesh.points)]


def test_shapes_and_types_are_what_they_say(simulation):
    count = len(simulation.positions)
    for name in STATE:
        array = getattr(simulation, name)
        assert array.shape == (count, 3) and array.dtype == np.float64 and array.flags.c_contiguous
    cells = simulation.body().cells["tetrahedron"]
    assert cells.shape == (24, 4) and cells.dtype == np.uint32
    assert simulation.body().surface_triangles.shape[1] == 3


def test_the_length_and_place_of_a_view_hold_in_frames_of_contact():
    scene = box(body={"pin": [], "position": [0, 0, 0.0005]}, collider=[{"name": "floor", "shape": {"type": "plane"}}])
    simulation = sinew.Simulation(sinew.Scene({**scene, "contact": {"mode": "barrier"}}))
    views = {name: getattr(simulation, name) for name in STATE}
    simulation.step(20)
    for name, view in views.items():
        assert address(getattr(simulation, name)) == address(view)
        assert getattr(simulation, name).shape == view.shape
