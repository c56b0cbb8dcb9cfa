"""MuJoCo: a flex of tetrahedra whose nodes are free point masses; its `discrete` integrator, or explicit steps."""

import mujoco
import numpy as np

import beam

asked = beam.arguments("discrete", "explicit")
is_explicit = asked.setting == "explicit"
# Explicit steps: as few as are stable, in powers of two.
SUBSTEPS = {"S": 64, "L": 128}[asked.size] if is_explicit else 4
INTEGRATOR = "Euler" if is_explicit else "discrete"

block = beam.Beam(asked.size)


def words(values):
    return " ".join(map(str, np.asarray(values).ravel().tolist()))


MODEL = f"""
<mujoco>
  <option timestep="{beam.FRAME / SUBSTEPS}" integrator="{INTEGRATOR}" solver="CG" tolerance="1e-6" gravity="0 0 {-beam.GRAVITY}"/>
  <size memory="4G"/>
  <worldbody>
    <flexcomp name="beam" type="direct" dim="3" mass="{block.masses.sum()}" radius="0.0005"
              point="{words(block.nodes)}" element="{words(block.tets)}">
      <contact selfcollide="none" contype="0" conaffinity="0"/>
      <edge equality="false"/>
      <elasticity young="{beam.YOUNG}" poisson="{beam.POISSON}" damping="0"/>
      <pin id="{words(block.clamped)}"/>
    </flexcomp>
  </worldbody>
</mujoco>"""

model = mujoco.MjModel.from_xml_string(MODEL)
# A flexcomp gives every node the same mass, which makes the ends and sides of a block too heavy: lump by volume instead.
# Clamped nodes belong to the world, body 0.
is_moving = model.flex_vertbodyid != 0
model.body_mass[model.flex_vertbodyid[is_moving]] = block.masses[is_moving]
state = mujoco.MjData(model)
mujoco.mj_setConst(model, state)
mujoco.mj_forward(model, state)


def step():
    mujoco.mj_step(model, state, nstep=SUBSTEPS)


beam.swing(
    block,
    asked,
    step,
    lambda: state.flexvert_xpos[:, 2],
    dict(
        engine="MuJoCo",
        version=mujoco.__version__,
        solver=f"explicit × {SUBSTEPS}" if is_explicit else f"discrete × {SUBSTEPS}, CG 1e-6",
        law="stvk",
        scheme="explicit" if is_explicit else "implicit_euler",
        substeps=SUBSTEPS,
        precision="f64",
        notes=lambda: [f"{warning.number} solver warnings" for warning in state.warning if warning.number],
    ),
)
