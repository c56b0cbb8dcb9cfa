"""Memory stays constant over ten thousand simulations."""

from __future__ import annotations

import gc
import os
import sys
import weakref

import numpy as np
import pytest
from support import one_cell

import sinew

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

# What the allocator may keep or not, over all cycles. One leak of an array of eight nodes per cycle would be 2 MB.
BOUND = 1 << 20


def resident():
    """Memory of this process [bytes]."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(cycle, count, warm_up):
    for _ in range(warm_up):
        cycle()
    before = resident()
    for _ in range(count):
        cycle()
    return resident() - before


def test_ten_thousand_simulations_leak_nothing():
    scene = sinew.Scene(one_cell())

    def cycle():
        simulation = sinew.Simulation(scene)
        simulation.step()

    assert growth(cycle, 10_000, 1_000) < BOUND


def test_views_states_and_bodies_that_are_held_and_dropped_leak_nothing():
    scene = sinew.Scene(one_cell())
    held = []

    def cycle():
        simulation = sinew.Simulation(scene)
        simulation.step()
        body = simulation.body()
        held.append(
            (simulation.positions, body.velocities, body.cells, simulation.state, body, body.fields, simulation.probes)
        )
        simulation.state = simulation.state
        if len(held) > 100:
            held.clear()

    assert growth(cycle, 3_000, 1_000) < BOUND


def test_meshes_scenes_and_materials_leak_nothing():
    points = np.random.default_rng(1).random((1000, 3))
    cells = {"tetrahedron": np.arange(1000).reshape(-1, 4)}
    field = {"heat": np.ones(1000)}
    deformations = np.tile(np.eye(3), (1000, 1, 1))

    def cycle():
        mesh = sinew.Mesh(points, cells, point_fields=field)
        assert mesh.points.shape == mesh.point_fields["heat"].shape + (3,)
        material = sinew.Material("neo_hookean", young=1.0, poisson=0.3)
        assert len(material.stress(deformations)) == len(mesh.cells["tetrahedron"]) * 4
        sinew.Scene(one_cell()).set({"duration": 2.0})

    # 1,000 of them pass 100 MB through.
    assert growth(cycle, 1_000, 300) < 2 * BOUND


def test_steps_of_one_simulation_leak_nothing():
    simulation = sinew.Simulation(sinew.Scene(one_cell()))

    def cycle():
        simulation.step(10)
        assert simulation.positions.size + simulation.reactions.size + simulation.forces.size == 72

    assert growth(cycle, 2_000, 500) < BOUND


def test_exceptions_leak_nothing():
    scene = sinew.Scene(one_cell())
    simulation = sinew.Simulation(scene)

    class Wrong:
        def gradient(self, x, time):
            raise RuntimeError("no")

    failing = sinew.Simulation(scene, forces=[Wrong()], check=False)

    def cycle():
        for call, error in [
            (lambda: sinew.Scene("duration = 1 kg\nx = 3"), sinew.SceneError),
            (lambda: simulation.probe("nothing"), KeyError),
            (lambda: simulation.body().place(positions=np.zeros((3, 3))), ValueError),
            (lambda: sinew.Mesh(np.zeros((2, 3)), {"line": [[0, 7]]}), ValueError),
            (failing.step, RuntimeError),
        ]:
            with pytest.raises(error):
                call()

    assert growth(cycle, 1_500, 500) < BOUND


def test_a_force_that_knows_its_simulation_is_collected_with_it():
    class Wind:
        def gradient(self, x, time):
            return np.zeros_like(x)

    wind = Wind()
    wind.simulation = sinew.Simulation(sinew.Scene(one_cell()), forces=[wind])
    kept = weakref.ref(wind)
    del wind
    gc.collect()
    assert kept() is None
