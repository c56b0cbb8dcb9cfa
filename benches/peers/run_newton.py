"""Newton: vertex block descent on the CPU device of Warp, a fixed number of iterations."""

import newton
import warp

import beam

SUBSTEPS = 10

warp.config.quiet = True
warp.init()
warp.set_device("cpu")

asked = beam.arguments("10", "20")
ITERATIONS = int(asked.setting)
block = beam.Beam(asked.size)
builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, -beam.GRAVITY))
builder.add_soft_mesh(
    pos=warp.vec3(0.0, 0.0, 0.0),
    rot=warp.quat_identity(),
    scale=1.0,
    vel=warp.vec3(0.0, 0.0, 0.0),
    vertices=[warp.vec3(*node) for node in block.nodes.tolist()],
    indices=block.tets.ravel().tolist(),
    density=beam.DENSITY,
    k_mu=beam.SHEAR,
    k_lambda=beam.LAME,
    k_damp=0.0,
)
# A node without mass is not moved.
for node in block.clamped:
    builder.particle_mass[node] = 0.0
builder.color()
model = builder.finalize()
solver = newton.solvers.SolverVBD(model, iterations=ITERATIONS)
control = model.control()
state, next_state = model.state(), model.state()


def step():
    global state, next_state
    for _ in range(SUBSTEPS):
        state.clear_forces()
        solver.step(state, next_state, control, None, beam.FRAME / SUBSTEPS)
        state, next_state = next_state, state


# The first step compiles the kernels; it is not the solver's doing.
solver.step(state, next_state, control, None, 1e-9)
state, next_state = model.state(), model.state()

beam.swing(
    block,
    asked,
    step,
    lambda: state.particle_q.numpy()[:, 2],
    dict(
        engine="Newton",
        version=newton.__version__,
        solver=f"VBD, {ITERATIONS} iterations × {SUBSTEPS} substeps",
        law="stable_neo_hookean",
        scheme="implicit_euler",
        substeps=SUBSTEPS,
        precision="f32",
    ),
)
