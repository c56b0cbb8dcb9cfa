//! Checks whether cells are fine enough to keep parts of a body apart.
//!
//! Parts that share a cube but no flesh within it get separate cells. If flesh joins them within the cube, as between
//! two fingers near the palm, they share one cell, and the gap between them cannot open. That web is up to a cell high,
//! which is too much if it covers a good part of a finger.

use std::collections::BTreeMap;

use sinew_geometry::mesh::vertex_normals;

use crate::flesh::Flesh;

/// Largest tolerated fraction of a joint's skin in the web. A quarter of the skin of a finger faces the next one, and a
/// quarter of that may be web.
const MOST: f64 = 0.06;

/// Skin of two joints across a gap that cells do not resolve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glue {
    /// The joint and the one across the gap, as indices into [`Flesh::joints`].
    pub joints: [usize; 2],
    /// Fraction of the first joint's skin that shares a cell with the second.
    pub share: f64,
}

impl Flesh {
    /// Pairs of joints, neither an ancestor of the other, between which cells close a gap over a good part of the skin
    /// of the first. `cells` holds the cell of each surface vertex.
    pub fn glued(&self, cells: &[u32]) -> Vec<Glue> {
        let own = self.own_vertices();
        let mut in_cell: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
        for (joint, vertices) in own.iter().enumerate() {
            for &vertex in vertices {
                in_cell.entry(cells[vertex as usize]).or_default().push((joint, vertex));
            }
        }
        let positions = self.surface.positions();
        let normals = vertex_normals(positions, self.surface.triangles());
        let is_before = |u: u32, v: u32| (positions[v as usize] - positions[u as usize]).dot(normals[u as usize]) > 0.0;
        // Each lies in front of the other: there is no flesh between them.
        let is_across =
            |u: u32, v: u32| normals[u as usize].dot(normals[v as usize]) < 0.0 && is_before(u, v) && is_before(v, u);
        let is_beside =
            |a: usize, b: usize| a == b || self.joints[a].parent == Some(b) || self.joints[b].parent == Some(a);
        let mut count: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for members in in_cell.values() {
            for &(joint, vertex) in members {
                let mut others: Vec<usize> = members
                    .iter()
                    .filter(|&&(other, across)| !is_beside(joint, other) && is_across(vertex, across))
                    .map(|&(other, _)| other)
                    .collect();
                others.sort_unstable();
                others.dedup();
                for other in others {
                    *count.entry([joint, other]).or_default() += 1;
                }
            }
        }
        let glue =
            count.into_iter().map(|(joints, count)| Glue { joints, share: count as f64 / own[joints[0]].len() as f64 });
        glue.filter(|glue| glue.share > MOST).collect()
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::lattice::{HexLattice, LatticeOptions};

    use super::*;
    use crate::characters::{Character, CharacterParams, generate};
    use crate::flesh::FleshParams;

    /// Fingers are 16 mm thick: cells of that size join them, cells of half that size do not; an arm has no gaps.
    #[test]
    fn coarse_cells_glue_fingers_together() {
        let glued = |character: Character, cell: f64| {
            let rig = generate(&CharacterParams::of(character)).unwrap();
            let flesh = Flesh::new(&rig, &FleshParams::default()).unwrap();
            let filling = HexLattice::from_surface(&flesh.surface, cell, &LatticeOptions::default()).unwrap();
            let name = |joint: usize| flesh.joints[joint].name.clone();
            flesh.glued(filling.bind().cells()).iter().map(|glue| glue.joints.map(name)).collect::<Vec<_>>()
        };
        let coarse = glued(Character::Hand, 0.02);
        let is_of_two_fingers = |pair: &[String; 2]| pair.iter().all(|name| name.ends_with(".proximal"));
        assert!(coarse.iter().any(is_of_two_fingers), "{coarse:?}");
        assert_eq!(glued(Character::Hand, 0.008), Vec::<[String; 2]>::new());
        assert_eq!(glued(Character::Arm, 0.05), Vec::<[String; 2]>::new());
    }
}
