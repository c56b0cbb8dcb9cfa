//! Properties of the fine mesh on the coarse one \[Teran05, Sifakis07\].

use sinew_geometry::CellMesh;
use sinew_math::Vec3;
use sinew_math::eigen::symmetric_eigen;
use sinew_math::parallel::prelude::*;

use super::build::{Cover, lattice_cell_volume};
use super::error::CoverError;
use super::lattice_cell::{CLASS_COUNT, rotation_of_class};

/// Fewest nodes that hold an attachment: a body turns about two.
pub const LEAST_HELD: usize = 3;

/// When a coarse cell belongs to a set of fine ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// At least one of its fine cells does.
    Any,
    /// More than half of its material does.
    #[default]
    Majority,
}

impl Cover {
    /// Material in each coarse cell \[m³\]; the sum is the volume of the fine mesh.
    pub fn material_volumes(&self) -> Vec<f64> {
        (0..self.cells.len()).map(|cell| self.fine_cells(cell).1.iter().sum()).collect()
    }

    /// Material in each coarse cell, as a fraction of its volume, above 0 and up to 1.
    pub fn volume_fractions(&self) -> Vec<f64> {
        let unit = lattice_cell_volume(&self.lattice);
        self.material_volumes().into_iter().map(|volume| (volume / unit).min(1.0)).collect()
    }

    /// Mean of a value per fine cell over the material of each coarse cell, ∑ V v / ∑ V; for instance of a density.
    pub fn project_values(&self, values: &[f64]) -> Result<Vec<f64>, CoverError> {
        self.check_count("values of fine cells", values.len())?;
        let mean = |cell| {
            let (fine, volumes) = self.fine_cells(cell);
            let sum: f64 = fine.iter().zip(volumes).map(|(fine, volume)| volume * values[*fine as usize]).sum();
            sum / volumes.iter().sum::<f64>()
        };
        Ok((0..self.cells.len()).into_par_iter().map(mean).collect())
    }

    /// Main direction of the fibers in each coarse cell: the eigenvector of ∑ V f fᵀ with the largest eigenvalue, which
    /// does not depend on the signs of f, then pointed along ∑ V f. Zero where no fine cell has a fiber.
    pub fn project_fibers(&self, fibers: &[Vec3]) -> Result<Vec<Vec3>, CoverError> {
        self.check_count("fibers of fine cells", fibers.len())?;
        let direction = |cell| {
            let (fine, volumes) = self.fine_cells(cell);
            main_direction(fine.iter().zip(volumes).map(|(fine, volume)| (fibers[*fine as usize], *volume)))
        };
        Ok((0..self.cells.len()).into_par_iter().map(direction).collect())
    }

    /// Fibers of the coarse cells in the frame of their common rest shape, Rᵀ f: what a solver that stores one inverse
    /// rest matrix needs \[Teran05\].
    pub fn reference_fibers(&self, fibers: &[Vec3]) -> Result<Vec<Vec3>, CoverError> {
        if fibers.len() != self.cells.len() {
            let (what, expected, found) = ("fibers of coarse cells", self.cells.len(), fibers.len());
            return Err(CoverError::WrongCount { what, expected, found });
        }
        let rotations: Vec<_> = (0..CLASS_COUNT as u8).map(rotation_of_class).collect();
        let turned =
            |(cell, fiber): (usize, &Vec3)| rotations[usize::from(self.cells[cell].class)].transpose_mul_vec(*fiber);
        Ok(fibers.iter().enumerate().map(turned).collect())
    }

    /// The label with the most material in each coarse cell, the lowest of equals.
    pub fn project_labels(&self, labels: &[u32]) -> Result<Vec<u32>, CoverError> {
        self.check_count("labels of fine cells", labels.len())?;
        let largest = |cell| {
            let (fine, volumes) = self.fine_cells(cell);
            let mut parts: Vec<(u32, f64)> = fine.iter().zip(volumes).map(|(f, v)| (labels[*f as usize], *v)).collect();
            // Stable, so sums do not depend on anything but the order of the fine cells.
            parts.sort_by_key(|(label, _)| *label);
            let sums = parts.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, v)| v).sum()));
            let first = (u32::MAX, f64::NEG_INFINITY);
            sums.fold(first, |best, (label, volume): (u32, f64)| if volume > best.1 { (label, volume) } else { best }).0
        };
        Ok((0..self.cells.len()).into_par_iter().map(largest).collect())
    }

    /// The fraction of the material of each coarse cell that is in a set of fine cells: of tendon, for instance.
    pub fn project_fraction(&self, fine_cells: &[u32]) -> Result<Vec<f64>, CoverError> {
        let count = self.cells_of_fine.count();
        let mut values = vec![0.0; count];
        for index in fine_cells.iter().map(|cell| *cell as usize) {
            *values.get_mut(index).ok_or(CoverError::OutOfRange { what: "fine cell", index, count })? = 1.0;
        }
        self.project_values(&values)
    }

    /// Coarse cells of a set of fine cells, ascending.
    pub fn project_cells(&self, fine_cells: &[u32], membership: Membership) -> Result<Vec<u32>, CoverError> {
        let limit = match membership {
            Membership::Any => 0.0,
            Membership::Majority => 0.5,
        };
        let fractions = self.project_fraction(fine_cells)?;
        Ok((0..fractions.len() as u32).filter(|cell| fractions[*cell as usize] > limit).collect())
    }

    /// Coarse nodes that carry a set of fine nodes, ascending: those with a weight in one of them.
    pub fn project_nodes(&self, fine_nodes: &[u32]) -> Result<Vec<u32>, CoverError> {
        let count = self.embedding.len();
        let mut nodes = Vec::new();
        for index in fine_nodes.iter().map(|node| *node as usize) {
            if index >= count {
                return Err(CoverError::OutOfRange { what: "fine node", index, count });
            }
            nodes.extend_from_slice(self.embedding.entries(index).0);
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Coarse nodes that hold what is attached at a set of nodes on the boundary of the fine mesh, ascending: those of
    /// whose boundary more than half is attached, ∑ w A over the set > ½ ∑ w A, with the weights w of fine nodes in the
    /// coarse node and their areas A. So what is held ends with the last nodes before the attachment ends; all nodes with a
    /// weight would hold a cell more on every side, and shorten a muscle by that. Fewer than
    /// [`LEAST_HELD`] nodes would let it turn: then those with the largest parts are taken.
    pub fn holding_nodes(&self, fine: &CellMesh, fine_nodes: &[u32]) -> Result<Vec<u32>, CoverError> {
        let carriers = self.project_nodes(fine_nodes)?;
        self.check_count("cells of the fine mesh", fine.cell_count())?;
        let mut areas = vec![0.0; self.embedding.len()];
        let (surface, numbers) = fine.boundary_surface()?;
        for triangle in surface.triangles() {
            let [a, b, c] = triangle.map(|vertex| surface.positions()[vertex as usize]);
            let third = (b - a).cross(c - a).norm() / 6.0;
            triangle.iter().for_each(|vertex| areas[numbers[*vertex as usize] as usize] += third);
        }
        let mut carried = vec![[0.0; 2]; self.mesh.node_count()];
        let mut add = |point: usize, kind: usize| {
            let (nodes, weights) = self.embedding.entries(point);
            for (node, weight) in nodes.iter().zip(weights) {
                carried[*node as usize][kind] += weight.max(0.0) * areas[point];
            }
        };
        (0..self.embedding.len()).for_each(|point| add(point, 1));
        fine_nodes.iter().for_each(|point| add(*point as usize, 0));
        let part = |node: &u32| {
            let [attached, all] = carried[*node as usize];
            if all > 0.0 { attached / all } else { 0.0 }
        };
        let mut held: Vec<u32> = carriers.iter().copied().filter(|node| part(node) > 0.5).collect();
        if held.len() < LEAST_HELD {
            held = carriers;
            held.sort_by(|a, b| part(b).total_cmp(&part(a)).then(a.cmp(b)));
            held.truncate(LEAST_HELD);
            held.sort_unstable();
        }
        Ok(held)
    }

    fn check_count(&self, what: &'static str, found: usize) -> Result<(), CoverError> {
        let expected = self.cells_of_fine.count();
        if expected == found { Ok(()) } else { Err(CoverError::WrongCount { what, expected, found }) }
    }
}

/// Unit eigenvector of ∑ w f fᵀ with the largest eigenvalue, along ∑ w f; zero if all f are.
pub(crate) fn main_direction(fibers: impl Iterator<Item = (Vec3, f64)>) -> Vec3 {
    let mut matrix = [0.0; 9];
    let mut sum = Vec3::zero();
    for (f, weight) in fibers {
        for i in 0..3 {
            for j in 0..3 {
                matrix[3 * i + j] += weight * f[i] * f[j];
            }
        }
        sum += f * weight;
    }
    let eigen = symmetric_eigen(&matrix, 3);
    if !(eigen.values[2] > 0.0) {
        return Vec3::zero();
    }
    let axis = Vec3::new(eigen.vectors[6], eigen.vectors[7], eigen.vectors[8]);
    if axis.dot(sum) < 0.0 { -axis } else { axis }
}
