//! What a change of volume costs.
//!
//! The printed law (MCA-03) has λ/2 tr²(RᵀF − I), which a cell pressed flat does not feel as long as it grows as much sideways: a fold of an elbow loses a twentieth of its volume, and cells turn
//! inside out. With the determinant it is λ/2 (J − 1)², J = det F, as cells of other kinds have it.
//!
//! **Tangent.** With stretches σ, p = λ (J − 1) and c = cof F, exactly: A = 2μ I + λ c cᵀ + p S against stretches, with Sᵢⱼ = σₖ beside the diagonal; 2μ − p σᵢ against shear in the plane across
//! axis i; and 2μ − 4μ/(σⱼ+σₖ) + p σᵢ against turning in it. Kernels know one modulus for stretches and shear, one way to stretch that is stiffer, and turning: the way is the eigenvector of the largest
//! eigenvalue of A, the modulus the mean of the other five numbers, at least μ. So the tangent is definite, and exact where volume is that at rest.

use sinew_math::{Mat3, Scalar, Vec3};

/// How a cell's volume is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeLaw {
    /// tr(RᵀF) − 3, as printed.
    Trace,
    /// det F − 1.
    #[default]
    Determinant,
}

impl VolumeLaw {
    /// Stress of a swelling over λ, at a deformation gradient with this rotation.
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

/// Columns of the cofactor matrix from those of F: J changes by their products with those of dF.
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
