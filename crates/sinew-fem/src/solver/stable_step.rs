//! The longest stable step of central differences.
//!
//! With lumped masses M, stiffness K and damping C (lagging by half a step), the scheme is stable while 4M − 2hC − h²K
//! is positive definite \[Belytschko14\]. With bounds λ_K of M⁻¹K and λ_C of M⁻¹C this means
//! ```math
//! h \le \frac{-\lambda_C + \sqrt{\lambda_C^2 + 4\lambda_K}}{\lambda_K}, \qquad
//!    h \le \frac{2}{\omega_{max}} \text{ without damping (TER-38)}.
//! ```
//!
//! # Bounds from cells
//! Let every cell e own a share M_e of the masses of its nodes, Σ M_e = M. Then xᵀKx = Σ xᵀK_e x ≤ max λ(M_e⁻¹K_e) ·
//! xᵀMx: the largest eigenvalue of any cell bounds that of the mesh. Any shares are valid. Ours are proportional to the
//! diagonals of the K_e, so that a sliver may borrow mass from its large neighbors. ‖A⁸‖^{1/8} (Frobenius) bounds the
//! largest eigenvalue of a cell; for a tetrahedron it overestimates the frequency by at most 6 %. Springs and contact
//! penalties add their largest stiffness per mass.

use std::ops::Range;

use sinew_math::parallel::reduce_blocks;
use sinew_math::{Mat3, Vec3};

use super::damping::visit_damping;
use crate::control::Control;
use crate::elastic::{Actuation, ElasticBlock, PACK};
use crate::force::RowBounds;
use crate::material::Tangent;
use crate::model::Model;

/// Maximum number of rows of the matrix of a cell: ten nodes.
const MAX_ROWS: usize = 30;
/// Packs per parallel task.
const PACKS: usize = 8;

/// Rows of the matrix of one cell.
type CellMatrix = [[f64; MAX_ROWS]; MAX_ROWS];

/// Scratch memory of the estimate.
#[derive(Default)]
pub(crate) struct StableStep {
    /// Sum over the cells of the mean diagonal at each point \[N/m\].
    diagonal: Vec<f64>,
    /// Stiffness of forces at each point \[N/m\].
    springs: Vec<f64>,
    /// Viscosity of forces at each point \[N s/m\].
    dampers: Vec<f64>,
}

impl StableStep {
    /// The longest stable step at positions `x` \[s\]; infinite where nothing has stiffness.
    pub fn estimate(&mut self, model: &Model, control: &Control, x: &[Vec3]) -> f64 {
        let stiffness = self.largest_eigenvalue(model, |index, packs, visit| {
            let block = &model.elastic[index];
            let scale = model.stiffness_of(block, control);
            let activations = model.activations(block.body, control);
            let actuation = Actuation { activations: &activations, motion: None };
            block.visit_tangents(packs, x, &actuation, Tangent::Definite, &mut |cell, a, b, k| {
                visit(cell, a, b, k * scale)
            });
        }) + self.spring_bound(model, control, x);
        let mut damping = model.mass_damping.iter().copied().fold(0.0, f64::max) + per_mass(model, &self.dampers);
        if model.stiffness_damping.iter().chain(&model.tissue_damping).any(|&time| time != 0.0) {
            damping += self.largest_eigenvalue(model, |index, packs, visit| {
                visit_damping(model, index, packs, control, x, visit);
            });
        }
        if stiffness > 0.0 {
            ((damping * damping + 4.0 * stiffness).sqrt() - damping) / stiffness
        } else if damping > 0.0 {
            2.0 / damping
        } else {
            f64::INFINITY
        }
    }

    /// Bound of the largest eigenvalue of M⁻¹ Σ A_e, where `matrices(block, packs, visit)` calls
    /// `visit(cell, a, b, A_ab)` for the cells of some packs.
    fn largest_eigenvalue(
        &mut self,
        model: &Model,
        matrices: impl Fn(usize, Range<usize>, &mut dyn FnMut(usize, usize, usize, Mat3)) + Sync,
    ) -> f64 {
        self.diagonal.clear();
        self.diagonal.resize(model.kinematics.point_count(), 0.0);
        for (index, block) in model.elastic.iter().enumerate() {
            matrices(index, 0..block.pack_count(), &mut |cell, a, b, k| {
                if a == b {
                    self.diagonal[block.point(cell, a) as usize] += k.trace().max(0.0);
                }
            });
        }
        let diagonal = &self.diagonal;
        let mut largest = 0.0f64;
        for (index, block) in model.elastic.iter().enumerate() {
            let bound = reduce_blocks(
                block.pack_count(),
                PACKS,
                |packs| {
                    let mut largest = 0.0f64;
                    for pack in packs {
                        let mut pack_matrices = [[[0.0; MAX_ROWS]; MAX_ROWS]; PACK];
                        matrices(index, pack..pack + 1, &mut |cell, a, b, k| {
                            for i in 0..3 {
                                for j in 0..3 {
                                    pack_matrices[cell % PACK][3 * a + i][3 * b + j] += k.rows[i][j];
                                }
                            }
                        });
                        for cell in pack * PACK..block.cell_count().min((pack + 1) * PACK) {
                            let matrix = pack_matrices[cell % PACK];
                            largest = largest.max(cell_bound(model, block, cell, diagonal, matrix));
                        }
                    }
                    largest
                },
                f64::max,
            );
            largest = largest.max(bound.unwrap_or(0.0));
        }
        largest
    }

    /// Largest stiffness per mass of all forces; leaves their viscosity in `dampers`.
    fn spring_bound(&mut self, model: &Model, control: &Control, x: &[Vec3]) -> f64 {
        for list in [&mut self.springs, &mut self.dampers] {
            list.clear();
            list.resize(model.kinematics.point_count(), 0.0);
        }
        let mut bounds = RowBounds { stiffness: &mut self.springs, viscosity: &mut self.dampers };
        model.forces().for_each(|force| force.add_row_bounds(x, control, &mut bounds));
        per_mass(model, &self.springs)
    }
}

/// Largest value per mass over the points that can move.
fn per_mass(model: &Model, values: &[f64]) -> f64 {
    let mut largest = 0.0f64;
    for (point, &value) in values.iter().enumerate() {
        let is_free = model.kinematics.fixed_axes(point) != [true; 3];
        if is_free && value > 0.0 {
            largest = largest.max(value / model.masses[point]);
        }
    }
    largest
}

/// ‖A⁸‖^{1/8} of A = M_e^{−½} K_e M_e^{−½}, without prescribed components.
fn cell_bound(model: &Model, block: &ElasticBlock, cell: usize, diagonal: &[f64], mut a: CellMatrix) -> f64 {
    let rows = 3 * block.kind().nodes_per_cell();
    // 1/√m of each row; 0 excludes the row.
    let mut scale = [0.0; MAX_ROWS];
    for p in 0..rows / 3 {
        let point = block.point(cell, p) as usize;
        let own: f64 = (0..3).map(|i| a[3 * p + i][3 * p + i]).sum();
        if own <= 0.0 {
            continue;
        }
        let mass = model.masses[point] * own / diagonal[point];
        let fixed = model.kinematics.fixed_axes(point);
        for i in 0..3 {
            scale[3 * p + i] = if fixed[i] { 0.0 } else { 1.0 / mass.sqrt() };
        }
    }
    for i in 0..rows {
        for j in 0..rows {
            a[i][j] *= scale[i] * scale[j];
        }
    }
    let norm =
        |a: &CellMatrix| a[..rows].iter().map(|row| row[..rows].iter().map(|v| v * v).sum::<f64>()).sum::<f64>().sqrt();
    let mut bound = 1.0;
    let mut power = 1.0;
    for squaring in 0..4 {
        let size = norm(&a);
        if !(size > 0.0 && size.is_finite()) {
            return if size == 0.0 { 0.0 } else { f64::INFINITY };
        }
        bound *= size.powf(1.0 / power);
        if squaring == 3 {
            break;
        }
        // Scaled to norm one, so that no power overflows.
        let mut square = [[0.0; MAX_ROWS]; MAX_ROWS];
        for i in 0..rows {
            for k in 0..rows {
                let v = a[i][k] / (size * size);
                if v != 0.0 {
                    for j in 0..rows {
                        square[i][j] += v * a[k][j];
                    }
                }
            }
        }
        a = square;
        power *= 2.0;
    }
    bound
}
