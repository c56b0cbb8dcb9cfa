"""Prints results of OpenSim's Millard2012EquilibriumMuscle: its curves as points,
and forces and velocities over paths and activations.

Lines for `main.rs`: `curve NAME X Y` is a point to interpolate, `between NAME X Y` a point to compare with;
`muscle DEGREES` begins a muscle with that pennation at optimal length; `static PATH ACTIVATION FORCE LENGTH` is one of
its equilibria; `velocity PATH ACTIVATION LENGTH VELOCITY` is a fiber in motion; `release PATH LENGTH` with its
`at TIME FORCE LENGTH` is a force that redevelops at full activation. Fiber lengths and velocities are normalized;
forces are in N, paths in m, times in s.
"""

import os
import sys
import tempfile

# OpenSim opens a log file where it is imported.
os.chdir(tempfile.mkdtemp())

import numpy  # noqa: E402
import opensim  # noqa: E402

FORCE, FIBER, TENDON, SPEED, DAMPING = 1000.0, 0.1, 0.2, 10.0, 0.1


class Muscle:
    """A muscle between the ground and a slider, whose position is the length of the path."""

    def __init__(self, degrees):
        self.model = opensim.Model()
        body = opensim.Body("body", 1.0, opensim.Vec3(0), opensim.Inertia(1, 1, 1))
        self.model.addBody(body)
        joint = opensim.SliderJoint("slider", self.model.getGround(), body)
        self.model.addJoint(joint)
        muscle = opensim.Millard2012EquilibriumMuscle("muscle", FORCE, FIBER, TENDON, numpy.radians(degrees))
        muscle.addNewPathPoint("origin", self.model.getGround(), opensim.Vec3(0))
        muscle.addNewPathPoint("insertion", body, opensim.Vec3(0))
        muscle.set_max_contraction_velocity(SPEED)
        muscle.set_fiber_damping(DAMPING)
        # Without damping OpenSim keeps activation above 0.01 and the active curve above 0.1; with damping both may be
        # zero, as in ours.
        muscle.setMinimumActivation(0.0)
        self.model.addForce(muscle)
        # Full excitation keeps an activation of one, in the release.
        controller = opensim.PrescribedController()
        controller.addActuator(muscle)
        controller.prescribeControlForActuator("muscle", opensim.Constant(1.0))
        self.model.addController(controller)
        self.coordinate = joint.updCoordinate()
        self.coordinate.setRangeMin(0.0)
        self.coordinate.setRangeMax(10.0)
        self.state = self.model.initSystem()
        self.muscle = opensim.Millard2012EquilibriumMuscle.safeDownCast(self.model.getMuscles().get(0))

    def place(self, path, activation):
        self.coordinate.setLocked(self.state, False)
        self.coordinate.setValue(self.state, path)
        self.coordinate.setLocked(self.state, True)
        self.muscle.setActivation(self.state, activation)
        self.model.realizeVelocity(self.state)

    def settle(self, path, activation):
        """Force and normalized fiber length at rest; None where OpenSim stops the fiber at its minimum length."""
        self.place(path, activation)
        self.muscle.computeFiberEquilibrium(self.state)
        self.model.realizeDynamics(self.state)
        length = self.muscle.getFiberLength(self.state)
        if length < 1.001 * self.muscle.getMinimumFiberLength():
            return None
        return self.muscle.getTendonForce(self.state), length / FIBER

    def velocity(self, path, activation, length):
        self.place(path, activation)
        self.muscle.setFiberLength(self.state, length * FIBER)
        self.model.realizeDynamics(self.state)
        return self.muscle.getNormalizedFiberVelocity(self.state)


def say(*words):
    print(*(word if isinstance(word, str) else repr(float(word)) for word in words))


def curves(muscle):
    shapes = {
        "active": (muscle.getActiveForceLengthCurve(), 0.0, [0.3, 2.0]),
        "passive": (muscle.getFiberForceLengthCurve(), 0.0, [0.8, 2.0]),
        "velocity": (muscle.getForceVelocityCurve(), 0.0, [-1.2, 1.2]),
        # Our curve is over strain, theirs over length in slack lengths.
        "tendon": (muscle.getTendonForceLengthCurve(), 1.0, [-0.01, 0.15]),
    }
    for name, (curve, shift, ends) in shapes.items():
        points = numpy.linspace(*ends, 601)
        for x in points:
            say("curve", name, x, curve.calcValue(x + shift))
        for x in 0.5 * (points[1:] + points[:-1]):
            say("between", name, x, curve.calcValue(x + shift))


def release(muscle, path, shorter):
    """Holds at full activation, shortens the path at once and integrates the fiber."""
    _, length = muscle.settle(path, 1.0)
    muscle.place(path - shorter, 1.0)
    muscle.muscle.setFiberLength(muscle.state, length * FIBER)
    say("release", path - shorter, length)
    manager = opensim.Manager(muscle.model)
    manager.setIntegratorAccuracy(1e-9)
    manager.initialize(muscle.state)
    for time in numpy.linspace(0.002, 0.1, 50):
        state = manager.integrate(float(time))
        muscle.model.realizeDynamics(state)
        say("at", time, muscle.muscle.getTendonForce(state), muscle.muscle.getFiberLength(state) / FIBER)


def main():
    opensim.Logger.setLevelString("Error")
    print(f"# OpenSim {opensim.GetVersion()}", file=sys.stderr)
    # Named, because the parts of a model do not keep it alive.
    straight = Muscle(0.0)
    curves(straight.muscle)
    for degrees in [0.0, 20.0]:
        muscle = Muscle(degrees)
        say("muscle", degrees, FORCE, FIBER, TENDON, SPEED, DAMPING)
        for path in TENDON + FIBER * numpy.linspace(0.5, 1.75, 51):
            for activation in [0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0]:
                found = muscle.settle(path, activation)
                if found:
                    say("static", path, activation, *found)
        for stretch in [0.99, 1.0, 1.01, 1.02, 1.03, 1.04, 1.05]:
            for length in [0.6, 0.8, 1.0, 1.2, 1.4]:
                along = numpy.sqrt(max((length * FIBER) ** 2 - (FIBER * numpy.sin(numpy.radians(degrees))) ** 2, 0.0))
                for activation in [0.05, 0.4, 1.0]:
                    path = TENDON * stretch + along
                    say("velocity", path, activation, length, muscle.velocity(path, activation, length))
        release(muscle, TENDON * 1.04 + FIBER, 0.01)


if __name__ == "__main__":
    main()
