//! Energy of volume change.
//!
//! The printed law (MCA-03) uses λ/2 tr²(RᵀF − I), which a flattened cell does not feel if it expands sideways by as
//! much: a fold of an elbow loses a twentieth of its volume, and cells invert. With the determinant the energy is λ/2
//! (J − 1)², J = det F, as in other kinds of cells.
//!
//! **Tangent.** With stretches σ, p = λ (J − 1) and c = cof F, the exact stiffness is: A = 2μ I + λ c cᵀ + p S against
//! stretches, with off-diagonal Sᵢⱼ = σₖ; 2μ − p σᵢ against shear in the plane across axis i; and 2μ − 4μ/(σⱼ+σₖ) + p
//! σᵢ against rotation in it. The kernels support one modulus for stretches and shear, one stiffer stretch direction,
//! and rotation. The direction is the eigenvector of the largest eigenvalue of A, the modulus is the mean of the other
//! five numbers, at least μ. So the tangent is definite, and exact where the volume has its rest value.

use sinew_math::{Mat3, Scalar, Vec3};

/// Volume measure of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeLaw {
    /// tr(RᵀF) − 3, as printed in the paper.
    Trace,
    /// det F − 1.
    #[default]
    Determinant,
}

impl VolumeLaw {
    /// Stress of a volume change over λ, at a deformation gradient with this rotation.
    pub fn push(self, f: &Mat3, rotation: &Mat3) -> Mat3 {
        match self {
            Self::Trace => *rotation * ((rotation.transpose() * *f).trace() - 3.0),
            Self::Determinant => {
                let columns = cofactor_columns(&[0, 1, 2].map(|j| [f.rows[0][j], f.rows[1][j], f.rows[2][j]]));
                let [x, y, z] = columns.map(Vec3::from);
                Mat3::from_columns(x, y, z) * (f.determinant() - 1.0)
            }
        }
    }
}

/// Columns of the cofactor matrix from those of F: dJ is the sum of their dot products with the columns of dF.
#[inline(always)]
pub(crate) fn cofactor_columns<F: Scalar>(f: &[[F; 3]; 3]) -> [[F; 3]; 3] {
    let mut out = [[F::zero(); 3]; 3];
    for j in 0..3 {
        let (a, b) = (f[(j + 1) % 3], f[(j + 2) % 3]);
        for c in 0..3 {
            let (p, q) = ((c + 1) % 3, (c + 2) % 3);
            out[j][c] = a[p] * b[q] - a[q] * b[p];
        }
    }
    out
}
