"""Drake: deformable body of a MultibodyPlant, with the discrete solver that also does its contact."""

import pathlib
from importlib.metadata import version

import numpy as np
from pydrake.geometry import AddContactMaterial, GeometryInstance, Mesh, ProximityProperties
from pydrake.math import RigidTransform
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, DiscreteContactApproximation
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

import beam

MODELS = {"linear_corotated": MaterialModel.kLinearCorotated, "corotated": MaterialModel.kCorotated}

asked = beam.arguments(*MODELS)
block = beam.Beam(asked.size)
path = pathlib.Path(asked.work) / f"beam_{asked.size}.vtk"
block.write_vtk(path)

builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, beam.FRAME)
plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
plant.mutable_gravity_field().set_gravity_vector([0, 0, -beam.GRAVITY])
bodies = plant.mutable_deformable_model()

matter = DeformableBodyConfig()
matter.set_youngs_modulus(beam.YOUNG)
matter.set_poissons_ratio(beam.POISSON)
matter.set_mass_density(beam.DENSITY)
matter.set_mass_damping_coefficient(0.0)
matter.set_stiffness_damping_coefficient(0.0)
matter.set_material_model(MODELS[asked.setting])

shape = GeometryInstance(RigidTransform(), Mesh(str(path)), "beam")
contact = ProximityProperties()
AddContactMaterial(properties=contact)
shape.set_proximity_properties(contact)
body = bodies.RegisterDeformableBody(shape, matter, 1.0)
# What lies behind this wall does not move: a hair inside, so that only the nodes at x = 0 do.
bodies.SetWallBoundaryCondition(body, np.array([1e-6, 0, 0]), np.array([1.0, 0, 0]))
plant.Finalize()

simulator = Simulator(builder.Build())
simulator.Initialize()
context = simulator.get_context()
state = bodies.GetDiscreteStateIndex(body)
frame = 0


def step():
    # Times as products: with sums, rounding now and then leaves a step out.
    global frame
    frame += 1
    simulator.AdvanceTo(frame * beam.FRAME)


def heights():
    values = plant.GetMyContextFromRoot(context).get_discrete_state(state).value()
    return values[: 3 * len(block.nodes)].reshape(-1, 3)[:, 2]


beam.swing(
    block,
    asked,
    step,
    heights,
    dict(
        engine="Drake",
        version=version("drake"),
        solver="its default",
        law=asked.setting,
        lagged=asked.setting == "linear_corotated",
        # Its rule is x' = x + h (v + v') / 2 with forces at x': Newmark's method with gamma = 1, beta = 1/2.
        scheme="newmark 0.5 1.0",
        substeps=1,
        precision="f64",
    ),
)
