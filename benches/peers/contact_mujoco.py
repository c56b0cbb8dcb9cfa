"""MuJoCo: the two mats of scenes/bench/mats.toml as flexes of tetrahedra that touch each other, by both of its kinds of contact.

The lower mat is held at its bottom; the upper one falls on it by 2 mm and comes to rest. Elastic nodes, masses and time as in run_mujoco.py.
"""

import argparse
import json
import time
from pathlib import Path

import mujoco
import numpy as np

import beam

parser = argparse.ArgumentParser()
parser.add_argument("--cells", type=int, default=78)
parser.add_argument("--frames", type=int, default=10)
# One step per frame comes to rest, though MuJoCo warns of its matrix in each; from 8 steps on it does not, at 8 times the cost.
parser.add_argument("--steps", type=int, default=1, help="per frame")
parser.add_argument("--cap", type=float, default=120.0, help="seconds of stepping after which the run ends early")
parser.add_argument("--work", type=Path, default=Path("."), help="folder for the compiled model")
asked = parser.parse_args()

LENGTHS = np.array([0.4, 0.4, 0.01])  # [m]
YOUNG, POISSON, FRICTION = 5e4, 0.4, 0.3  # [Pa]
TURN = 0.1  # of the upper mat about z [rad]
# Flesh is thicker than its tetrahedra by this much; it cannot be zero [m].
RADIUS = 1e-4
# Of the solver, relative; 1e-6 takes a third longer and leads to the same heights to 0.01 mm.
TOLERANCE = 1e-4

mat = beam.Block(LENGTHS, [asked.cells, asked.cells, 2])
centered = mat.nodes - [0.2, 0.2, 0.0]
turn = np.array([[np.cos(TURN), -np.sin(TURN), 0], [np.sin(TURN), np.cos(TURN), 0], [0, 0, 1]])
lower = centered - [0, 0, 0.01]
upper = centered @ turn.T + [0.01, -0.01, 0.002]
held = np.flatnonzero(mat.grid[:, 2] == 0)


def words(values):
    return " ".join(map(str, np.asarray(values).ravel().tolist()))


def flex(name, nodes, pin):
    return f"""
    <flexcomp name="{name}" type="direct" dim="3" mass="{mat.masses.sum()}" radius="{RADIUS}"
              point="{words(nodes)}" element="{words(mat.tets)}">
      <contact selfcollide="none" contype="1" conaffinity="1" condim="3" friction="{FRICTION}" activelayers="1"/>
      <edge equality="false"/>
      <elasticity young="{YOUNG}" poisson="{POISSON}" damping="0"/>
      {pin}
    </flexcomp>"""


def compiled():
    """The model, from a file where it was compiled before: 146,000 tetrahedra take MuJoCo two to four minutes."""
    path = asked.work / f"mats_{asked.cells}_{mujoco.__version__}.mjb"
    if path.exists():
        return mujoco.MjModel.from_binary_path(str(path))
    text = f"""
<mujoco>
  <option integrator="discrete" solver="CG" jacobian="sparse" gravity="0 0 {-beam.GRAVITY}"/>
  <size memory="8G"/>
  <worldbody>
    {flex("lower", lower, f'<pin id="{words(held)}"/>')}
    {flex("upper", upper, "")}
  </worldbody>
</mujoco>"""
    fresh = mujoco.MjModel.from_xml_string(text)
    mujoco.mj_saveModel(fresh, str(path))
    return fresh


model = compiled()
model.opt.timestep = beam.FRAME / asked.steps
model.opt.tolerance = TOLERANCE
# A flexcomp gives every node the same mass, which makes the sides of a block too heavy: lump by volume instead.
# Held nodes belong to the world, body 0.
is_moving = model.flex_vertbodyid != 0
model.body_mass[model.flex_vertbodyid[is_moving]] = np.tile(mat.masses, 2)[is_moving]
is_upper = np.arange(len(is_moving)) >= len(mat.nodes)
upward = model.body_dofadr[model.flex_vertbodyid[is_upper]] + 2


def height(state):
    """Mean height of the nodes of the upper mat [m]."""
    return float(state.flexvert_xpos[is_upper, 2].mean())


def momentum(state):
    """Of the upper mat, upwards [N s]."""
    return float(mat.masses @ state.qvel[upward])


def fall(contact):
    """Steps frame by frame, with contact by constraints that a solver fulfils, or passive, by forces of penalty without friction."""
    model.flex_passive[:] = contact == "passive"
    state = mujoco.MjData(model)
    mujoco.mj_setConst(model, state)
    mujoco.mj_forward(model, state)
    seconds, processor, heights, contacts = [], 0.0, [], 0
    for _ in range(asked.frames):
        before = momentum(state)
        begin, begin_processor = time.perf_counter(), time.process_time()
        mujoco.mj_step(model, state, nstep=asked.steps)
        seconds.append(time.perf_counter() - begin)
        processor += time.process_time() - begin_processor
        heights.append(height(state))
        contacts = max(contacts, state.ncon)
        if sum(seconds) > asked.cap or not np.isfinite(heights[-1]):
            break
    notes = [f"{warning.number} solver warnings" for warning in state.warning if warning.number]
    return dict(
        setting=f"{contact}, discrete × {asked.steps}" + (", CG 1e-4" if contact == "constraints" else ""),
        frames=len(seconds),
        seconds_per_frame=sum(seconds) / len(seconds),
        slowest_frame_seconds=max(seconds),
        cores=processor / sum(seconds),
        contacts=contacts,
        upper_height=heights[-1],
        lowest_height=min(heights),
        # What the lower mat carries: forces of penalty can be seen in the motion only.
        load=mat.masses.sum() * beam.GRAVITY + (momentum(state) - before) / beam.FRAME,
        friction=contact == "constraints",
        notes=notes + (["no friction"] if contact == "passive" else []),
    )


runs = [fall(contact) for contact in ("constraints", "passive")]
print("\n" + json.dumps(dict(engine="MuJoCo", version=mujoco.__version__, tets=2 * len(mat.tets), runs=runs)), flush=True)
