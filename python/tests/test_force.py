"""Custom forces: against forces of the scene and closed forms; and the errors that the check finds."""

from __future__ import annotations

import numpy as np
import pytest
from support import box

import sinew
from sinew.force import check

QUASISTATIC = {"type": "quasistatic", "tolerance": 1e-12}
TIGHT = {"tolerance": 1e-12}


class Springs(sinew.Force):
    """Springs from nodes to their rest positions: k/2 |x − X|²."""

    def __init__(self, X, stiffness, nodes=None):
        self.X, self.stiffness, self.nodes = np.array(X), stiffness, nodes

    def potential(self, x, time):
        return self.stiffness / 2 * np.sum((x - self.X) ** 2)

    def gradient(self, x, time):
        return self.stiffness * (x - self.X)

    def hessian_product(self, x, dx, time):
        return self.stiffness * dx


class Rope:
    """A spring between two nodes, k/2 (|d| − length)²; not derived from anything."""

    couplings = [[0, 1]]

    def __init__(self, nodes, stiffness, length):
        self.nodes, self.stiffness, self.length = list(nodes), stiffness, length

    def potential(self, x, time):
        return self.stiffness / 2 * (np.linalg.norm(x[1] - x[0]) - self.length) ** 2

    def gradient(self, x, time):
        d = x[1] - x[0]
        distance = np.linalg.norm(d)
        pull = self.stiffness * (distance - self.length) * d / distance
        return np.array([-pull, pull])

    def hessian_product(self, x, dx, time):
        d = x[1] - x[0]
        distance = np.linalg.norm(d)
        n, change = d / distance, dx[1] - dx[0]
        along = n * (n @ change)
        out = self.stiffness * (along + (1 - self.length / distance) * (change - along))
        return np.array([-out, out])


class Without:
    """The same force without some of its methods."""

    def __init__(self, force, *methods):
        self.force, self.methods = force, methods

    def __getattr__(self, name):
        if name in self.methods:
            raise AttributeError(name)
        return getattr(self.force, name)


class Drag:
    """Still air: a force without a potential, against the velocity at the start of the step."""

    def __init__(self, rate):
        self.rate, self.last = rate, None

    def gradient(self, x, time):
        if self.last is None:
            return np.zeros_like(x)
        return self.rate * (x - self.last)

    def hessian_product(self, x, dx, time):
        return np.zeros_like(dx) if self.last is None else self.rate * dx


def end_of(simulation):
    body = simulation.body()
    return np.flatnonzero(body.rest_positions[:, 0] > body.rest_positions[:, 0].max() - 1e-9)


def springs_of_scene(stiffness, **scene):
    return sinew.Simulation(
        sinew.Scene(box(body={"attach": [{"region": "x-max", "to": "world", "stiffness": stiffness}]}, **scene))
    )


@pytest.mark.parametrize("solver", [QUASISTATIC, TIGHT, {**TIGHT, "type": "bdf2"}, {**TIGHT, "type": "newmark"}])
@pytest.mark.parametrize(
    "left_out", [(), ("hessian_product",), ("potential",), ("potential", "hessian_product")], ids=str
)
def test_springs_do_what_those_of_the_scene_do(solver, left_out):
    theirs = springs_of_scene(20.0, solver=solver)
    nodes = end_of(theirs)
    X = theirs.body().rest_positions[nodes]
    # The scene shares the stiffness equally among the nodes.
    plain = sinew.Scene(box(solver=solver))
    free = sinew.Simulation(plain)
    force = Without(Springs(X, 20.0 / len(nodes), nodes), *left_out)
    ours = sinew.Simulation(plain, forces=[force])
    for simulation in (theirs, ours, free):
        simulation.step(3)
    moved = np.abs(free.positions - free.body().rest_positions).max()
    assert np.abs(ours.positions - theirs.positions).max() < 1e-6 * moved
    assert np.abs(ours.positions - free.positions).max() > 1e-2 * moved
    if "potential" not in left_out:
        assert ours.last_step.energies["other"] == pytest.approx(theirs.last_step.energies["other"], rel=1e-6)


def test_a_spring_carries_a_weight_by_hookes_law():
    """A stiff block hangs on springs at all its nodes: it sinks by m g / k."""
    scene = sinew.Scene(box(body={"pin": []}, solver=QUASISTATIC))
    X = sinew.Simulation(scene).positions
    stiffness = 3.0
    simulation = sinew.Simulation(scene, forces=[Springs(X, stiffness / len(X))])
    simulation.step()
    mass = 1000 * 0.04 * 0.01 * 0.01
    mean = (simulation.positions - simulation.body().rest_positions).mean(axis=0)
    assert mean[2] == pytest.approx(-mass * 9.81 / stiffness, rel=1e-6)


@pytest.mark.parametrize("left_out", [(), ("hessian_product",), ("potential",)], ids=str)
def test_a_rope_between_two_nodes_pulls_both(left_out):
    """A free block without weight whose ends are tied together: it shortens, and its momentum stays zero."""
    scene = box(body={"pin": [], "density": 1000}, gravity=0, solver=TIGHT, duration=10)
    simulation = sinew.Simulation(sinew.Scene(scene))
    nodes = [0, int(end_of(simulation)[0])]
    rest = np.linalg.norm(np.subtract(*simulation.body().rest_positions[nodes]))
    simulation = sinew.Simulation(sinew.Scene(scene), forces=[Without(Rope(nodes, 200.0, 0.5 * rest), *left_out)])
    simulation.step(10)
    distance = np.linalg.norm(np.subtract(*simulation.positions[nodes]))
    assert distance < 0.99 * rest
    assert abs(simulation.probe("momentum.x")) < 1e-9


def test_a_rope_in_quasistatics_balances_the_flesh():
    """Tension of the rope and reaction of the flesh at the free node are equal and opposite."""
    scene = sinew.Scene(box(gravity=0, solver=QUASISTATIC))
    simulation = sinew.Simulation(scene)
    nodes = [int(np.flatnonzero(simulation.body().rest_positions[:, 0] == 0)[0]), int(end_of(simulation)[-1])]
    rope = Rope(nodes, 5.0, 0.03)
    simulation = sinew.Simulation(scene, forces=[rope])
    simulation.step()
    pull = -rope.gradient(simulation.positions[nodes], 0.0)
    assert np.linalg.norm(pull[1]) > 1e-3
    assert simulation.forces[nodes[1]] == pytest.approx(-pull[1], rel=1e-6, abs=1e-9)
    # The pin holds the force that the rope exerts at the other end.
    assert simulation.reactions.sum(axis=0) == pytest.approx(-pull.sum(axis=0), abs=1e-8)


def test_drag_slows_as_exponentials_of_implicit_euler_do():
    """m dv/dt = −c v with backward Euler: v is divided by 1 + c h / m in each step."""
    speed, rate, frames = 2.0, 30.0, 5
    scene = sinew.Scene(box(body={"pin": [], "velocity": [speed, 0, 0]}, gravity=0, solver=TIGHT))
    free = sinew.Simulation(scene)
    # Each node gets a drag in proportion to its mass, so that the block keeps its shape.
    mass = node_masses(free)
    h = 1 / 60

    class Air:
        def __init__(self):
            self.last = free.body().rest_positions.copy()

        def gradient(self, x, time):
            return rate * mass[:, None] * (x - self.last) / h

        def hessian_product(self, x, dx, time):
            return rate * mass[:, None] * dx / h

    air = Air()
    simulation = sinew.Simulation(scene, forces=[air])
    for frame in range(1, frames + 1):
        simulation.step()
        air.last = simulation.positions.copy()
        assert simulation.velocities[:, 0] == pytest.approx(speed / (1 + rate * h) ** frame, rel=1e-6)


def node_masses(simulation):
    """A quarter of each tetrahedron at each of its nodes."""
    body = simulation.body()
    X, cells = body.rest_positions, body.cells["tetrahedron"]
    edges = X[cells[:, 1:]] - X[cells[:, :1]]
    volumes = np.abs(np.linalg.det(edges)) / 6
    mass = np.zeros(len(X))
    np.add.at(mass, cells.ravel(), np.repeat(1000 * volumes / 4, 4))
    return mass


def test_a_force_that_grows_with_time_is_told_the_time():
    times = []

    class Push:
        def potential(self, x, time):
            return -time * x[:, 0].sum()

        def gradient(self, x, time):
            times.append(time)
            out = np.zeros_like(x)
            out[:, 0] = -time
            return out

    simulation = sinew.Simulation(sinew.Scene(box(gravity=0, solver=QUASISTATIC)), forces=[Push()])
    simulation.step(2)
    assert max(times) == pytest.approx(2 / 60)
    assert simulation.reactions[:, 0].sum() == pytest.approx(-20 * 2 / 60, rel=1e-6)


def test_forces_act_on_the_body_and_nodes_that_they_name():
    scene = box(gravity=0, solver=QUASISTATIC)
    scene["body"].append({**scene["body"][0], "name": "other", "position": [0, 0.1, 0]})
    seen = []

    class Lift:
        body = "other"
        nodes = np.array([3, 1, 7], dtype=np.int32)

        def potential(self, x, time):
            return -x[:, 2].sum()

        def gradient(self, x, time):
            seen.append(x.copy())
            return np.tile([0.0, 0.0, -1.0], (len(x), 1))

    simulation = sinew.Simulation(sinew.Scene(scene), forces=[Lift()])
    simulation.step()
    assert np.abs(simulation.body("block").displacements).max() < 1e-15
    assert simulation.body("other").displacements[[3, 1, 7], 2].max() > 1e-5
    assert any(np.array_equal(x, simulation.body("other").rest_positions[[3, 1, 7]]) for x in seen)


def test_a_double_well_that_is_not_convex_is_solved():
    """ψ = a (z² − b²)²: negative curvature at the start, and two minima."""

    class Well:
        a, b = 1e6, 0.003

        def __init__(self, X, nodes):
            self.X, self.nodes = X[nodes], nodes

        def potential(self, x, time):
            z = x[:, 2] - self.X[:, 2]
            return self.a * np.sum((z**2 - self.b**2) ** 2)

        def gradient(self, x, time):
            z = x[:, 2] - self.X[:, 2]
            out = np.zeros_like(x)
            out[:, 2] = 4 * self.a * z * (z**2 - self.b**2)
            return out

    scene = sinew.Scene(box(body={"pin": []}, gravity=[0, 0, -1e-3], solver=QUASISTATIC))
    X = sinew.Simulation(scene).positions.copy()
    pins = Springs(X, 1e-3)
    simulation = sinew.Simulation(scene, forces=[Well(X, np.arange(len(X))), pins])
    simulation.step()
    assert (simulation.positions - X)[:, 2] == pytest.approx(-Well.b, rel=1e-2)


@pytest.mark.parametrize("method", ["potential", "gradient", "hessian_product"])
def test_an_exception_in_a_method_comes_out_of_step_and_changes_nothing(method):
    class Moody(Springs):
        is_moody = False

    def moody(self, *arguments):
        if self.is_moody:
            raise LookupError("not today")
        return getattr(Springs, method)(self, *arguments)

    setattr(Moody, method, moody)
    scene = sinew.Scene(box())
    X = sinew.Simulation(scene).positions.copy()
    force = Moody(X, 1.0)
    simulation, undisturbed = sinew.Simulation(scene, forces=[force]), sinew.Simulation(scene, forces=[Springs(X, 1.0)])
    simulation.step()
    undisturbed.step()
    before, view = simulation.state, simulation.positions
    force.is_moody = True
    for _ in range(2):
        with pytest.raises(LookupError, match="not today") as caught:
            simulation.step()
        assert any(entry.name == "moody" for entry in caught.traceback)
        assert simulation.state == before and simulation.frame == 1
        assert view.tobytes() == before.positions.tobytes()
    force.is_moody = False
    simulation.step()
    undisturbed.step()
    assert simulation.state == undisturbed.state


@pytest.mark.parametrize(
    "answer",
    [None, 3.0, "much", np.zeros((2, 3)), np.zeros((20, 2)), np.zeros(60), [[1, 2, 3]]],
    ids=["none", "number", "text", "few", "flat", "line", "list"],
)
def test_answers_of_the_wrong_shape_are_refused(answer):
    class Odd:
        def gradient(self, x, time):
            return answer

    scene = sinew.Scene(box())
    with pytest.raises((sinew.ForceError, ValueError, TypeError)):
        sinew.Simulation(scene, forces=[Odd()])
    simulation = sinew.Simulation(scene, forces=[Odd()], check=False)
    before = simulation.state
    with pytest.raises((ValueError, TypeError)):
        simulation.step()
    assert simulation.state == before


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_force_that_is_not_finite_fails_the_step(value):
    class Wild:
        def gradient(self, x, time):
            return np.full_like(x, value if time > 0.02 else 0.0)

    simulation = sinew.Simulation(sinew.Scene(box(solver={"max_halvings": 1})), forces=[Wild()])
    simulation.step()
    before = simulation.state
    with pytest.raises(sinew.SinewError):
        simulation.step()
    assert simulation.state == before


def test_ctrl_c_inside_of_a_force_ends_the_step():
    class Slow(Springs):
        def gradient(self, x, time):
            raise KeyboardInterrupt

    scene = sinew.Scene(box())
    simulation = sinew.Simulation(scene, forces=[Slow(sinew.Simulation(scene).positions, 1.0)], check=False)
    with pytest.raises(KeyboardInterrupt):
        simulation.step()
    assert simulation.frame == 0


def test_a_force_that_looks_at_its_simulation_is_refused_and_does_not_hang():
    class Curious(Springs):
        simulation = None

        def gradient(self, x, time):
            if self.simulation is not None:
                assert self.simulation.time >= 0
            return super().gradient(x, time)

    scene = sinew.Scene(box())
    force = Curious(sinew.Simulation(scene).positions, 1.0)
    force.simulation = simulation = sinew.Simulation(scene, forces=[force])
    with pytest.raises(sinew.SinewError, match="computing"):
        simulation.step()
    force.simulation = None
    simulation.step()


@pytest.mark.parametrize("cells", [(4, 1, 1), (12, 8, 8)], ids=["caller", "pool"])
def test_forces_work_in_small_and_large_bodies_alike(cells):
    """Small ones are computed on the thread that calls, large ones in the pool."""
    scene = sinew.Scene(box(cells, (0.04, 0.01, 0.01)))
    X = sinew.Simulation(scene).positions.copy()
    simulation = sinew.Simulation(scene, forces=[Springs(X, 1.0)])
    simulation.step(2)
    again = sinew.Simulation(scene, forces=[Springs(X, 1.0)])
    again.step(2)
    assert again.state == simulation.state


WRONG = {}


def wrong(match):
    def keep(kind):
        WRONG[kind.__name__] = (kind, match)
        return kind

    return keep


@wrong("gradient is not the derivative of its potential")
class WrongGradient(Springs):
    def gradient(self, x, time):
        return 1.01 * super().gradient(x, time)


@wrong("gradient is not the derivative of its potential.*worst at row 7")
class WrongInOneRow(Springs):
    def gradient(self, x, time):
        out = super().gradient(x, time)
        out[7] *= -1
        return out


@wrong("hessian_product is not the derivative of its gradient")
class WrongProduct(Springs):
    def hessian_product(self, x, dx, time):
        return 1.01 * super().hessian_product(x, dx, time)


@wrong("hessian_product is not the derivative of its gradient.*worst at row 3")
class WrongProductInOneRow(Springs):
    def hessian_product(self, x, dx, time):
        out = super().hessian_product(x, dx, time)
        out[3] = 0
        return out


@wrong("is not the derivative|not symmetric")
class Unsymmetric(Springs):
    """A swirl without a potential that claims to have one."""

    def gradient(self, x, time):
        return super().gradient(x, time) + 0.3 * np.cross([0, 0, 1.0], x)

    def hessian_product(self, x, dx, time):
        return super().hessian_product(x, dx, time) + 0.3 * np.cross([0, 0, 1.0], dx)


@wrong("feels row")
class MissingCoupling(Springs):
    """Pulls nodes to their common center."""

    def potential(self, x, time):
        return self.stiffness / 2 * np.sum((x - x.mean(axis=0)) ** 2)

    def gradient(self, x, time):
        return self.stiffness * (x - x.mean(axis=0))

    def hessian_product(self, x, dx, time):
        return self.stiffness * (dx - dx.mean(axis=0))


@wrong("shape")
class WrongShape(Springs):
    def hessian_product(self, x, dx, time):
        return dx[0]


@wrong("not finite")
class NotFinite(Springs):
    def gradient(self, x, time):
        return np.full_like(x, np.nan)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_derivatives_are_found_before_the_first_step(name):
    kind, match = WRONG[name]
    scene = sinew.Scene(box())
    X = sinew.Simulation(scene).positions.copy()
    with pytest.raises(sinew.ForceError, match=match) as caught:
        sinew.Simulation(scene, forces=[kind(X, 2.0)])
    assert name in str(caught.value)
    with pytest.raises(sinew.ForceError, match=match):
        check(kind(X, 2.0), X)
    sinew.Simulation(scene, forces=[kind(X, 2.0)], check=False)


def test_right_derivatives_pass():
    X = np.random.default_rng(1).random((20, 3))
    check(Springs(X, 3.0), X)
    check(Without(Springs(X, 3.0), "hessian_product"), X)
    check(Rope([0, 1], 2.0, 0.1), X[:2])
    check(Drag(1.0), X)
    check(Springs(X[:1], 3.0), X[:1])
    check(Springs(X * 1e-3, 1e6), X * 1e-3)
    check(Springs(X * 1e3, 1e-6), X * 1e3)


def test_a_missing_coupling_of_any_pair_is_found():
    """A ring of ropes with one of them missing in `couplings`, whichever it is."""
    count = 12
    X = np.random.default_rng(2).random((count, 3))
    pairs = [(k, (k + 1) % count) for k in range(count)]

    class Ring:
        def potential(self, x, time):
            return sum(np.sum((x[a] - x[b]) ** 2) for a, b in pairs)

        def gradient(self, x, time):
            out = np.zeros_like(x)
            for a, b in pairs:
                out[a] += 2 * (x[a] - x[b])
                out[b] += 2 * (x[b] - x[a])
            return out

    ring = Ring()
    ring.couplings = pairs
    check(ring, X)
    for left_out in pairs:
        ring.couplings = [pair for pair in pairs if pair != left_out]
        with pytest.raises(sinew.ForceError, match="feels row"):
            check(ring, X)


BAD_FORCES = {
    "no gradient": type("Bare", (), {}),
    "gradient is no method": type("Number", (), {"gradient": 3}),
    "unknown body": type("Stray", (Springs,), {"body": "blok"}),
    "node too large": type("Far", (Springs,), {"nodes": [0, 20]}),
    "negative node": type("Negative", (Springs,), {"nodes": [0, -1]}),
    "node twice": type("Twice", (Springs,), {"nodes": [1, 1]}),
    "nodes as text": type("Word", (Springs,), {"nodes": "all"}),
    "nodes with fractions": type("Half", (Springs,), {"nodes": [0.5, 1.5]}),
    "coupling too large": type("Loose", (Springs,), {"couplings": [[0, 20]]}),
    "odd couplings": type("Odd", (Springs,), {"couplings": [[0, 1, 2]]}),
    "body of another kind": type("Kind", (Springs,), {"body": 3}),
}


@pytest.mark.parametrize("name", BAD_FORCES)
def test_forces_that_do_not_fit_are_refused(name):
    scene = sinew.Scene(box())
    kind = BAD_FORCES[name]
    force = kind.__new__(kind)
    # Fits any number of nodes, so only the mistake can be the reason.
    force.X, force.stiffness = np.zeros(3), 1.0
    for is_checked in (True, False):
        with pytest.raises((sinew.ForceError, TypeError, ValueError)) as caught:
            sinew.Simulation(scene, forces=[force], check=is_checked)
        assert str(caught.value)


def test_which_body_must_be_said_where_there_are_two():
    scene = box()
    scene["body"].append({**scene["body"][0], "name": "other", "position": [0, 0.1, 0]})
    with pytest.raises(sinew.ForceError, match="block, other"):
        sinew.Simulation(sinew.Scene(scene), forces=[Springs(np.zeros((20, 3)), 1.0)])


def test_forces_are_no_list():
    scene = sinew.Scene(box())
    with pytest.raises(TypeError):
        sinew.Simulation(scene, forces=Springs(np.zeros((20, 3)), 1.0))
    with pytest.raises(TypeError):
        sinew.Simulation(scene, forces=[None])


def test_a_force_derived_from_the_base_class_alone_is_told_apart():
    """`Force` has a `gradient` that is not written yet."""
    with pytest.raises((sinew.ForceError, NotImplementedError)):
        sinew.Simulation(sinew.Scene(box()), forces=[sinew.Force()])
