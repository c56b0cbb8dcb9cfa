//! Cells that a morph turns inside out.

use sinew_geometry::{CellKind, CellMesh};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::Morph;

/// Landmarks around a folded cell that may have folded it.
const NEAREST: usize = 8;

/// A cell that a morph flattens or turns inside out.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The cell.
    pub cell: u32,
    /// Volume after the morph divided by that before, zero or negative.
    pub ratio: f64,
    /// Where the cell was \[m\].
    pub center: Vec3,
    /// The pair of landmarks nearby that moves against each other the most: |Δt − Δs| / |Δs| is largest.
    pub landmarks: [usize; 2],
}

impl Morph {
    /// Cells that fold: those to mesh anew. The worst come first; none if the morph can be used as it is.
    pub fn folds(&self, mesh: &CellMesh) -> Vec<Fold> {
        let moved = self.apply_all(mesh.positions());
        let mut folds: Vec<Fold> = (0..mesh.cell_count() as u32)
            .into_par_iter()
            .filter_map(|cell| {
                let nodes = mesh.cell_nodes(cell as usize);
                let kind = mesh.cell_kind(cell as usize);
                let at = |positions: &[Vec3]| nodes.iter().map(|n| positions[*n as usize]).collect::<Vec<_>>();
                let (before, after) = (at(mesh.positions()), at(&moved));
                let ratio = smallest_volume(kind, &after) / smallest_volume(kind, &before);
                if ratio > 0.0 {
                    return None;
                }
                let center = before.iter().copied().sum::<Vec3>() / before.len() as f64;
                Some(Fold { cell, ratio, center, landmarks: self.worst_pair(center) })
            })
            .collect();
        folds.sort_by(|a, b| a.ratio.total_cmp(&b.ratio).then(a.cell.cmp(&b.cell)));
        folds
    }

    /// Among the landmarks nearest to a point, the pair whose connection changes the most.
    fn worst_pair(&self, p: Vec3) -> [usize; 2] {
        let mut near: Vec<usize> = (0..self.from.len()).collect();
        near.sort_by(|a, b| self.from[*a].distance(p).total_cmp(&self.from[*b].distance(p)).then(a.cmp(b)));
        near.truncate(NEAREST);
        near.sort_unstable();
        let mut worst = ([near[0], near[1]], f64::NEG_INFINITY);
        for (i, b) in near.iter().enumerate() {
            for a in &near[..i] {
                let (before, after) = (self.from[*b] - self.from[*a], self.to[*b] - self.to[*a]);
                let change = (after - before).norm() / before.norm();
                if change > worst.1 {
                    worst = ([*a, *b], change);
                }
            }
        }
        worst.0
    }
}

/// Volume of a tetrahedron, or of the smallest corner of a hexahedron \[m³\].
fn smallest_volume(kind: CellKind, x: &[Vec3]) -> f64 {
    let tet = |[a, b, c, d]: [usize; 4]| sinew_geometry::mesh::tet_volume(x[a], x[b], x[c], x[d]);
    match kind {
        CellKind::Tet4 | CellKind::Tet10 => tet([0, 1, 2, 3]),
        CellKind::Hex8 => sinew_geometry::mesh::HEX_CORNERS.into_iter().map(tet).fold(f64::INFINITY, f64::min),
    }
}

/// What to tell about folds: how many, where the worst is, and which landmarks to correct.
pub(super) fn message(folds: &[Fold]) -> String {
    let Some(worst) = folds.first() else { return "no cell folds".to_owned() };
    format!(
        "the morph folds {} cells, the worst at ({:.4}, {:.4}, {:.4}) m: landmarks {} and {} move against each other; hint: correct them, or mesh these cells anew",
        folds.len(),
        worst.center.x,
        worst.center.y,
        worst.center.z,
        worst.landmarks[0],
        worst.landmarks[1],
    )
}
