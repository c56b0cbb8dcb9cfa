"""Genesis: its implicit FEM solver on the CPU backend."""

import genesis
import numpy as np
from genesis.engine.entities.fem_entity import FEMEntity

import beam

NEWTON = 1  # the rotations are those of the step before, which makes a step linear: more change nothing

asked = beam.arguments()
block = beam.Beam(asked.size)
genesis.init(backend=genesis.cpu, precision="32", logging_level="error")

# It makes tetrahedra of its own from a shape; ours take their place, so that the problem is the same. Lifted off its floor.
LIFT = np.array([0.0, 0.0, 1.0])
instantiate = FEMEntity.instantiate
FEMEntity.instantiate = lambda entity, *_: instantiate(entity, block.nodes + LIFT, block.tets)

scene = genesis.Scene(
    sim_options=genesis.options.SimOptions(dt=beam.FRAME, substeps=1, gravity=(0.0, 0.0, -beam.GRAVITY)),
    fem_options=genesis.options.FEMOptions(
        use_implicit_solver=True,
        n_newton_iterations=NEWTON,
        n_pcg_iterations=500,
        pcg_threshold=1e-6,
        damping_alpha=0.0,
        damping_beta=0.0,
        enable_vertex_constraints=True,
        floor_height=-10.0,
    ),
    show_viewer=False,
)
body = scene.add_entity(
    morph=genesis.morphs.Box(pos=tuple(beam.LENGTHS / 2 + LIFT), size=tuple(beam.LENGTHS)),
    material=genesis.materials.FEM.Elastic(E=beam.YOUNG, nu=beam.POISSON, rho=beam.DENSITY, model="linear_corotated"),
)
scene.build()


def start():
    scene.reset()
    body.set_vertex_constraints(block.clamped.tolist(), None)


def heights():
    return body.get_state().pos.detach().cpu().numpy().reshape(-1, 3)[:, 2]


# The first step compiles the kernels; it is not the solver's doing.
start()
scene.step()
start()

beam.swing(
    block,
    asked,
    scene.step,
    heights,
    dict(
        engine="Genesis",
        version=genesis.__version__,
        solver=f"{NEWTON} Newton step, PCG 1e-6",
        law="linear_corotated",
        lagged=True,
        scheme="implicit_euler",
        substeps=1,
        precision="f32",
    ),
)
