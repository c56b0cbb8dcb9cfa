"""felupe: implicit Euler around its assembly; Newton's method with conjugate gradients of scipy."""

import felupe
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import cg

import beam

TOLERANCE = 1e-4  # of Newton's method, relative to the first residual of the frame: as in our scene
LINEAR_TOLERANCE = 1e-5
NEWTON_LIMIT = 20

asked = beam.arguments()
block = beam.Beam(asked.size)
mesh = felupe.Mesh(block.nodes, block.tets, "tetra")
field = felupe.FieldContainer([felupe.Field(felupe.RegionTetra(mesh), dim=3)])
solid = felupe.SolidBody(felupe.NeoHooke(mu=beam.SHEAR, bulk=beam.BULK), field)

masses = np.repeat(block.masses, 3)
inertia = masses / beam.FRAME**2
weight = masses * np.tile([0.0, 0.0, -beam.GRAVITY], len(block.nodes))
is_free = np.ones((len(block.nodes), 3), dtype=bool)
is_free[block.clamped] = False
free = np.flatnonzero(is_free)

displacements = np.zeros(masses.size)
velocities = np.zeros(masses.size)
unconverged = 0


def residual(u, guess):
    field[0].values[:] = u.reshape(-1, 3)
    internal = solid.assemble.vector(field).toarray().ravel()
    return (inertia * (u - guess) + internal - weight)[free]


def step():
    global displacements, velocities, unconverged
    guess = displacements + beam.FRAME * velocities
    u = displacements.copy()
    r = residual(u, guess)
    goal = TOLERANCE * np.linalg.norm(r)
    for _ in range(NEWTON_LIMIT):
        tangent = (solid.assemble.matrix(field) + sparse.diags(inertia)).tocsr()[free][:, free]
        jacobi = sparse.diags(1 / tangent.diagonal())
        u[free] -= cg(tangent, r, rtol=LINEAR_TOLERANCE, M=jacobi, maxiter=5000)[0]
        r = residual(u, guess)
        if np.linalg.norm(r) <= goal:
            break
    else:
        unconverged += 1
    velocities = (u - displacements) / beam.FRAME
    displacements = u


beam.swing(
    block,
    asked,
    step,
    lambda: block.nodes[:, 2] + displacements[2::3],
    dict(
        engine="felupe",
        version=felupe.__version__,
        solver="Newton 1e-4, CG of scipy",
        law="isochoric_neo_hookean",
        scheme="implicit_euler",
        substeps=1,
        precision="f64",
        notes=lambda: [f"{unconverged} frames not converged"] if unconverged else [],
    ),
)
