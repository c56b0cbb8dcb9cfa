"""Simulations: steps, states, control, bodies, probes, saving and restoring."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support import SCENES, box

import sinew

CONTACT = {
    **box(body={"pin": [], "position": [0, 0, 0.002]}),
    "collider": [{"name": "floor", "shape": {"type": "plane"}, "friction": 0.5}],
    "contact": {"mode": "barrier", "friction": 0.3},
}
MUSCLE = box(
    material={"type": "muscle"},
    body={
        "fibers": {"along": [1, 0, 0]},
        "muscle": [{"name": "biceps", "stress": 3e4, "excitation": [["0 s", 1], ["0.1 s", 0]], "max_velocity": 10}],
    },
)
STATES = {
    "implicit Euler": box(),
    "bdf2": box(solver={"type": "bdf2"}),
    "newmark": box(solver={"type": "newmark"}),
    "explicit": box(solver={"type": "explicit"}),
    "adaptive": box(solver={"substeps": "adaptive"}),
    "quasistatic": box(solver={"type": "quasistatic"}, gravity=9.81),
    "contact": CONTACT,
    "muscle": MUSCLE,
    "damped": box(body={"damping": {"stiffness": 0.002, "tissue": 0.001}}),
}


def test_a_simulation_begins_at_rest_and_counts_frames(simulation):
    assert (simulation.frame, simulation.time) == (0, 0.0)
    assert np.array_equal(simulation.positions, simulation.body().rest_positions)
    step = simulation.step()
    assert (simulation.frame, simulation.time) == (1, pytest.approx(1 / 60))
    assert step.time == simulation.time and step.substeps == 1 and step.newton_iterations > 0
    assert simulation.last_step.residual == step.residual
    simulation.step(4)
    assert simulation.frame == 5
    assert set(step.energies) == {"elastic", "kinetic", "gravity", "contact", "other", "total"}
    assert step.energies["total"] == pytest.approx(
        sum(value for name, value in step.energies.items() if name != "total")
    )
    assert set(step.timing) == {"gradient", "assembly", "linear_solve", "contact", "total"} and step.seconds > 0


def test_many_steps_at_once_are_single_steps(scene):
    one, other = sinew.Simulation(scene), sinew.Simulation(scene)
    one.step(7)
    for _ in range(7):
        other.step()
    assert one.state == other.state


def test_run_goes_to_the_end_of_the_scene(scene):
    simulation = sinew.Simulation(scene)
    calls = []
    simulation.step(10)
    last = simulation.run(progress=lambda done, total: calls.append((done, total)))
    assert simulation.frame == scene.frame_count == 60 and last.time == pytest.approx(1.0)
    assert calls == [(k, 50) for k in range(1, 51)]
    assert simulation.run() is None and simulation.frame == 60
    simulation.run(3)
    assert simulation.frame == 63


def test_progress_writes_a_line(scene, capfd):
    sinew.Simulation(scene).run(5, progress=True)
    assert "frame 5/5" in capfd.readouterr().err


@pytest.mark.parametrize("name", STATES)
def test_a_state_brings_back_the_same_bits(name):
    """All that can be seen in the following frames, also in another simulation and through bytes."""
    scene = sinew.Scene(STATES[name])
    simulation = sinew.Simulation(scene)
    simulation.step(5)
    state = simulation.state

    def following():
        out = []
        for _ in range(5):
            simulation.step()
            out += [simulation.positions.tobytes(), simulation.velocities.tobytes(), simulation.reactions.tobytes()]
            out += [simulation.probe_values.tobytes()]
        return out

    expected = following()
    simulation.state = state
    assert simulation.state == state and simulation.frame == 5
    assert following() == expected
    simulation = sinew.Simulation(scene)
    simulation.step(2)
    simulation.state = pickle.loads(pickle.dumps(state))
    assert following() == expected


def test_states_can_be_compared_copied_and_pickled(simulation):
    start = simulation.state
    simulation.step()
    state = simulation.state
    assert state != start and state == simulation.state and state != "state"
    for again in [
        state.copy(),
        copy.copy(state),
        copy.deepcopy(state),
        pickle.loads(pickle.dumps(state)),
        sinew.State.from_bytes(state.to_bytes()),
    ]:
        assert again == state and again.to_bytes() == state.to_bytes()
    assert state.time == simulation.time
    assert np.array_equal(state.positions, simulation.positions) and np.array_equal(
        state.velocities, simulation.velocities
    )
    assert repr(state) == "<State at 0.0166666667 s: 20 nodes>"


def test_saving_and_loading_goes_on_with_the_same_bits(simulation, scene, tmp_path):
    simulation.step(3)
    simulation.save(tmp_path / "state.bin")
    simulation.step(3)
    other = sinew.Simulation(scene)
    other.load(str(tmp_path / "state.bin"))
    assert other.frame == 3 and sinew.State.load(tmp_path / "state.bin") == other.state
    other.step(3)
    assert other.state == simulation.state
    other.state.save(tmp_path / "again.bin")
    assert sinew.State.load(tmp_path / "again.bin") == simulation.state


def test_control_reads_holds_and_releases(scene):
    simulation = sinew.Simulation(scene)
    control = simulation.control
    assert control["gravity.z"] == -9.81 and "gravity.z" in control and "gravity.w" not in control
    assert len(control) == len(list(control)) == len(control.keys()) == len(control.values()) == len(control.items())
    assert dict(control) == dict(control.items())
    control["gravity.z"] = 0.0
    assert control.held == [("gravity.z", 0.0)] and "gravity.z" in repr(control)
    simulation.step(3)
    assert np.abs(simulation.velocities).max() < 1e-9
    state = simulation.state
    assert state.held == [("gravity.z", 0.0)]
    del control["gravity.z"]
    assert control.held == []
    simulation.step()
    assert simulation.velocities[:, 2].min() < -0.01
    simulation.state = state
    assert simulation.control.held == [("gravity.z", 0.0)]


def test_commands_are_control_in_words(scene):
    one, other = sinew.Simulation(scene), sinew.Simulation(scene)
    one.control["gravity.x"] = 2.0
    other.command({"type": "set_channel", "channel": "gravity.x", "value": 2.0})
    one.step(2)
    other.step(2)
    assert one.state == other.state
    other.command({"type": "release_channel", "channel": "gravity.x"})
    assert other.control.held == []


def test_a_held_pin_moves_what_it_holds():
    simulation = sinew.Simulation(sinew.Scene(box(solver={"type": "quasistatic"})))
    simulation.control["block.pin.x-min.translation.x"] = 0.005
    simulation.step()
    pinned = simulation.body().rest_positions[:, 0] == 0
    assert simulation.body().displacements[pinned] == pytest.approx(
        np.tile([0.005, 0, 0], (pinned.sum(), 1)), abs=1e-12
    )


def test_activation_by_hand_shortens_a_muscle():
    scene = box(
        material={"type": "muscle"},
        gravity=0,
        body={"fibers": {"along": [1, 0, 0]}, "muscle": [{"name": "biceps", "stress": 3e4}]},
        solver={"type": "quasistatic"},
    )
    simulation = sinew.Simulation(sinew.Scene(scene))
    simulation.control["block.activation.biceps"] = 1.0
    simulation.step()
    tip = simulation.body().displacements[simulation.body().rest_positions[:, 0] == 0.04, 0]
    assert tip.max() < -1e-4


def test_reactions_carry_the_weight():
    simulation = sinew.Simulation(sinew.Scene(box(solver={"type": "quasistatic", "tolerance": 1e-10})))
    simulation.step()
    weight = 1000 * 0.04 * 0.01 * 0.01 * 9.81
    pinned = simulation.body().rest_positions[:, 0] == 0
    assert simulation.reactions[pinned].sum(axis=0) == pytest.approx([0, 0, weight], abs=1e-6 * weight)
    assert np.abs(simulation.reactions[~pinned]).max() < 1e-6 * weight
    assert simulation.forces.sum(axis=0) == pytest.approx([0, 0, 0], abs=1e-9)


def test_probes_by_name_and_in_order(simulation):
    simulation.step(3)
    assert simulation.probe_names == list(simulation.probes)
    assert np.array_equal(simulation.probe_values, list(simulation.probes.values()))
    assert simulation.probe("tip.displacement.z") == simulation.probes["tip.displacement.z"]
    tip = simulation.body().rest_positions[:, 0] == 0.04
    assert simulation.probe("tip.displacement.z") == pytest.approx(simulation.body().displacements[tip, 2].mean())


def test_place_puts_nodes_elsewhere_and_forgets(scene):
    simulation = sinew.Simulation(scene)
    simulation.step(5)
    body = simulation.body()
    positions = body.rest_positions * 1.02
    velocities = np.tile([0, 0.1, 0], (20, 1))
    body.place(positions=positions, velocities=velocities)
    free = body.rest_positions[:, 0] > 0
    assert np.array_equal(body.positions[free], positions[free]) and np.array_equal(
        body.velocities[free], velocities[free]
    )
    simulation.step()
    pinned = ~free
    assert np.array_equal(body.positions[pinned], body.rest_positions[pinned])
    body.place(velocities=np.zeros((20, 3)))
    assert not body.velocities[free].any()


def test_fields_agree_with_closed_forms():
    """A block that is stretched evenly: F, J and stress are the same in each cell, and the law gives them."""
    stretch = np.diag([1.2, 0.9, 1.1])
    law = {"type": "neo_hookean", "young": 30e3, "poisson": 0.3}
    simulation = sinew.Simulation(sinew.Scene(box(material=law, body={"pin": []})))
    body = simulation.body()
    body.place(positions=body.rest_positions @ stretch)
    fields = body.fields
    assert fields["deformation_gradient"] == pytest.approx(np.tile(stretch, (24, 1, 1)))
    assert fields["volume_ratio"] == pytest.approx(np.full(24, np.linalg.det(stretch)))
    assert np.sort(fields["principal_stretches"], axis=1) == pytest.approx(np.tile([0.9, 1.1, 1.2], (24, 1)))
    P = sinew.materials.neo_hookean(young=30e3, poisson=0.3).stress(stretch)
    cauchy = P @ stretch.T / np.linalg.det(stretch)
    assert fields["cauchy_stress"] == pytest.approx(np.tile(cauchy, (24, 1, 1)), abs=1e-8)
    deviator = cauchy - np.trace(cauchy) / 3 * np.eye(3)
    assert fields["von_mises"] == pytest.approx(np.full(24, np.sqrt(1.5 * np.sum(deviator**2))))


def test_forces_are_minus_the_derivative_of_the_elastic_energy(simulation):
    """Nodal forces from the stress of each cell, put together here."""
    body = simulation.body()
    body.place(positions=body.rest_positions * 1.05 + 0.0003 * np.random.default_rng(1).standard_normal((20, 3)))
    X, x, cells = body.rest_positions, body.positions, body.cells["tetrahedron"]
    rest = np.swapaxes(X[cells[:, 1:]] - X[cells[:, :1]], 1, 2)
    moved = np.swapaxes(x[cells[:, 1:]] - x[cells[:, :1]], 1, 2)
    inverse = np.linalg.inv(rest)
    P = sinew.materials.stable_neo_hookean(young=30e3, poisson=0.45).stress(moved @ inverse)
    pulls = -P @ np.swapaxes(inverse, 1, 2) * (np.linalg.det(rest) / 6)[:, None, None]
    forces = np.zeros_like(x)
    for corner in range(3):
        np.add.at(forces, cells[:, corner + 1], pulls[:, :, corner])
        np.add.at(forces, cells[:, 0], -pulls[:, :, corner])
    assert simulation.forces == pytest.approx(forces, abs=1e-10 * np.abs(forces).max())


def test_bodies_by_name():
    scene = box()
    scene["body"].append({**scene["body"][0], "name": "other", "position": [0, 0.1, 0]})
    simulation = sinew.Simulation(sinew.Scene(scene))
    assert list(simulation.bodies) == ["block", "other"]
    assert simulation.body("other").name == "other" and simulation.body("other").node_range == (20, 40)
    with pytest.raises(KeyError, match="which body"):
        simulation.body()


def test_the_surface_of_a_body_is_closed_and_follows_it(simulation):
    body = simulation.body()
    simulation.step(5)

    def volume():
        a, b, c = np.moveaxis(body.surface_positions[body.surface_triangles], 1, 0)
        return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6

    assert volume() == pytest.approx(body.mesh.volume * simulation.probe("block.volume"), rel=1e-9)


def test_notes_tell_what_deserves_attention(simulation):
    assert simulation.notes == simulation.scene.validate()


def test_simulations_come_from_paths_too():
    path = SCENES / "validation" / "uniaxial.toml"
    one, other = sinew.Simulation(path), sinew.Simulation(sinew.Scene.load(path))
    one.step()
    other.step()
    assert one.state == other.state and one.scene.path == path


def test_pictures_are_png(simulation):
    picture = simulation.picture((64, 48))
    assert picture.png.startswith(b"\x89PNG\r\n\x1a\n") and picture.size == (64, 48) and picture.frames == 1
    assert simulation._repr_png_().startswith(b"\x89PNG")
    assert repr(picture) == "<Picture 64 x 48>"
    before = simulation.picture((64, 48)).png
    simulation.step(20)
    assert simulation.picture((64, 48)).png != before


def test_reprs_are_short_and_useful(simulation):
    simulation.step()
    assert repr(simulation) == "<Simulation of block: frame 1 at 0.0166666667 s, 24 cells, 20 nodes>"
    assert repr(simulation.body()) == '<Body "block": 24 cells, 20 nodes>'
    assert repr(simulation.control).startswith("<Control: ")
    assert repr(simulation.last_step).startswith("<Step t=0.0167 newton")
    assert all(
        len(repr(thing)) < 120 for thing in [simulation, simulation.last_step, simulation.control, simulation.state]
    )
    nothing = sinew.Simulation(sinew.Scene("duration = 1"))
    assert "nothing" in repr(nothing) and nothing.positions.shape == (0, 3)
    nothing.step(2)
