"""Converged solve of the beam for a law that our own program does not have: linear corotated elasticity.

ψ = μ |F − R|² + λ/2 tr²(Rᵀ F − I),  P = 2 μ (F − R) + λ tr(Rᵀ F − I) R,  F = R S. With the rotation of the end of the step and the exact
tangent, Newton's method reaches the law itself. Engines take the rotation of the step before, which makes a step linear:
with ε = sym(Rᵀ F) − I, P = R (2 μ ε + λ tr(ε) I). `--rotation lagged` solves that instead; both meet for short steps.
"""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import cg

import beam

TOLERANCE = 1e-6
NEWTON_LIMIT = 30

# ε[i, j, k], so that cross(a, b) = ε a b.
EPSILON = np.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    EPSILON[i, j, k], EPSILON[i, k, j] = 1.0, -1.0


def rotation(F):
    """R of F = R S, a proper rotation for inverted cells too."""
    U, _, Vt = np.linalg.svd(F)
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]
    return U @ Vt


def stress(F):
    """P and ∂P/∂F[i, j, k, l] of every cell."""
    R = rotation(F)
    S = R.transpose(0, 2, 1) @ F
    trace = np.trace(S, axis1=1, axis2=2)
    P = 2 * beam.SHEAR * (F - R) + beam.LAME * (trace - 3)[:, None, None] * R
    # δR = R [w]× with (tr(S) I − S) w = the axial vector of Rᵀ δF − δFᵀ R; for δF = e_k e_lᵀ that vector is −ε[:, :, l] R[k, :].
    inverse = np.linalg.inv(trace[:, None, None] * np.eye(3) - S)
    axial = np.einsum("aml,ckm->cakl", -EPSILON, R)
    w = np.einsum("cba,cakl->cbkl", inverse, axial)
    dR = np.einsum("cim,mjb,cbkl->cijkl", R, -EPSILON, w)
    dP = 2 * beam.SHEAR * np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3))
    dP = dP + beam.LAME * np.einsum("cij,ckl->cijkl", R, R)
    dP = dP + (beam.LAME * (trace - 3) - 2 * beam.SHEAR)[:, None, None, None, None] * dR
    return P, dP


def lagged_stress(F, R):
    """P and ∂P/∂F[i, j, k, l] of every cell, with a rotation that does not depend on F."""
    strain = R.transpose(0, 2, 1) @ F
    strain = (strain + strain.transpose(0, 2, 1)) / 2 - np.eye(3)
    trace = np.trace(strain, axis1=1, axis2=2)
    P = R @ (2 * beam.SHEAR * strain + beam.LAME * trace[:, None, None] * np.eye(3))
    dP = beam.SHEAR * np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3))
    dP = dP + beam.SHEAR * np.einsum("cil,ckj->cijkl", R, R)
    return P, dP + beam.LAME * np.einsum("cij,ckl->cijkl", R, R)


class Solve:
    """Frame after frame of implicit Euler, or of Newmark's method with `beta` and `gamma`."""

    def __init__(self, block, scheme, is_lagged):
        self.block = block
        self.is_lagged = is_lagged
        self.newmark = [float(word) for word in scheme.split()[1:]]
        rest_inverse = np.linalg.inv(block.edges)
        # Gradients of the four shape functions: rows of the inverse, and minus their sum.
        self.gradients = np.concatenate([-rest_inverse.sum(axis=1, keepdims=True), rest_inverse], axis=1)
        unknowns = (3 * block.tets[:, :, None] + np.arange(3)).reshape(-1, 12)
        self.rows = np.repeat(unknowns, 12, axis=1).ravel()
        self.columns = np.tile(unknowns, (1, 12)).ravel()
        self.unknowns = unknowns
        is_free = np.ones(block.nodes.shape, dtype=bool)
        is_free[block.clamped] = False
        self.free = np.flatnonzero(is_free)
        self.masses = np.repeat(block.masses, 3)
        self.weight = self.masses * np.tile([0.0, 0.0, -beam.GRAVITY], len(block.nodes))
        self.x = block.nodes.ravel().copy()
        self.v = np.zeros_like(self.x)
        self.a = np.zeros_like(self.x)
        self.unconverged = 0

    def deformations(self, x):
        return np.einsum("cai,caj->cij", x.reshape(-1, 3)[self.block.tets], self.gradients)

    def elasticity(self, x):
        F = self.deformations(x)
        P, dP = lagged_stress(F, rotation(self.deformations(self.x))) if self.is_lagged else stress(F)
        volumes = self.block.volumes
        forces = np.einsum("c,cij,caj->cai", volumes, P, self.gradients)
        gradient = np.bincount(self.unknowns.ravel(), forces.ravel(), minlength=x.size)
        cells = np.einsum("c,cijkl,caj,cbl->caibk", volumes, dP, self.gradients, self.gradients, optimize=True)
        matrix = sparse.csr_matrix((cells.ravel(), (self.rows, self.columns)), shape=(x.size, x.size))
        return gradient, matrix

    def step(self):
        h = beam.FRAME
        if self.newmark:
            beta, gamma = self.newmark
            guess = self.x + h * self.v + h**2 * (0.5 - beta) * self.a
        else:
            beta, gamma = 1.0, 1.0
            guess = self.x + h * self.v
        inertia = self.masses / (beta * h**2)
        x, free, goal = self.x.copy(), self.free, None
        for _ in range(NEWTON_LIMIT):
            gradient, matrix = self.elasticity(x)
            residual = (inertia * (x - guess) + gradient - self.weight)[free]
            norm = np.linalg.norm(residual)
            goal = goal or TOLERANCE * norm
            if norm <= goal:
                break
            tangent = (matrix + sparse.diags(inertia)).tocsr()[free][:, free]
            jacobi = sparse.diags(1 / tangent.diagonal())
            x[free] -= cg(tangent, residual, rtol=1e-5, M=jacobi, maxiter=5000)[0]
        else:
            self.unconverged += 1
        a = (x - guess) / (beta * h**2)
        self.v = self.v + h * ((1 - gamma) * self.a + gamma * a) if self.newmark else (x - self.x) / h
        self.x, self.a = x, a


def check_tangent():
    """∂P/∂F against central differences, at one random deformation: a wrong tangent would only show as slow convergence."""
    random = np.random.default_rng(1)
    F = np.eye(3)[None] + 0.3 * random.standard_normal((1, 3, 3))
    dF = random.standard_normal((1, 3, 3))
    h = 1e-6
    difference = (stress(F + h * dF)[0] - stress(F - h * dF)[0]) / (2 * h)
    error = np.abs(difference - np.einsum("cijkl,ckl->cij", stress(F)[1], dF)).max() / np.abs(difference).max()
    assert error < 1e-7, f"the tangent of the reference is wrong by {error}"


if __name__ == "__main__":
    check_tangent()
    parser = beam.parser()
    parser.add_argument("--scheme", default="implicit_euler")
    parser.add_argument("--rotation", choices=["converged", "lagged"], default="converged")
    asked = parser.parse_args()
    block = beam.Beam(asked.size)
    solve = Solve(block, asked.scheme, asked.rotation == "lagged")
    beam.swing(
        block,
        asked,
        solve.step,
        lambda: solve.x[2::3],
        dict(
            engine="reference",
            version="",
            solver=f"Newton {TOLERANCE}",
            law="linear_corotated",
            scheme=asked.scheme,
            substeps=1,
            precision="f64",
            notes=lambda: [f"{solve.unconverged} frames not converged"] if solve.unconverged else [],
        ),
    )
