//! A standing figure with spread arms: a trunk and four limbs that stay four cells thick at any resolution.

use std::collections::HashMap;

use sinew_math::Vec3;

use super::boxes::kuhn_tets;
use super::{ProceduralError, check_count, check_length};
use crate::mesh::CellMesh;

/// Node sets of a figure: the last two layers of nodes of each limb; left is +x.
pub const FIGURE_ENDS: [&str; 4] = ["left-hand", "right-hand", "left-foot", "right-foot"];

/// Cells across a limb.
const LIMB: i64 = 4;
/// Smallest number of cells over the height with room for trunk, limbs and head.
const MIN_CELLS: usize = 24;

/// A figure `height` meters high with `cells` cubes over its height, each split into six tetrahedra \[Kuhn60\].
///
/// It stands on z = 0 with the trunk over the origin, arms along ±x. Trunk and head scale with `cells`; limbs are four
/// cubes thick, so a finer mesh has more slender limbs. Slender parts are hard to recover from scrambled meshes.
/// [`FIGURE_ENDS`] are its node sets.
pub fn figure(height: f64, cells: usize) -> Result<CellMesh, ProceduralError> {
    check_length("height", height)?;
    if cells < MIN_CELLS {
        return Err(ProceduralError::Parameter { name: "cells", value: cells as f64, expected: "at least 24" });
    }
    check_count((cells as f64).powi(3) * 0.11)?;
    let part = |share: f64| (share * cells as f64).round() as i64;
    let leg = part(0.48);
    let (width, depth, torso) = (part(0.26).max(2 * LIMB + 2), part(0.16).max(LIMB), part(0.36));
    let (head, arm) = (part(0.14).max(LIMB), part(0.40));
    let (left, front) = (-width / 2, -depth / 2);
    let limb_front = front + (depth - LIMB) / 2;
    let shoulder = leg + torso - LIMB - 1;
    let hip = |side: i64| if side < 0 { left } else { left + width - LIMB };
    let boxes = [
        ([left, front, leg], [left + width, front + depth, leg + torso]),
        ([-head / 2, -head / 2, leg + torso], [-head / 2 + head, -head / 2 + head, leg + torso + head]),
        ([left - arm, limb_front, shoulder], [left, limb_front + LIMB, shoulder + LIMB]),
        ([left + width, limb_front, shoulder], [left + width + arm, limb_front + LIMB, shoulder + LIMB]),
        ([hip(-1), limb_front, 0], [hip(-1) + LIMB, limb_front + LIMB, leg]),
        ([hip(1), limb_front, 0], [hip(1) + LIMB, limb_front + LIMB, leg]),
    ];
    let scale = height / (leg + torso + head) as f64;
    let mut number: HashMap<[i64; 3], u32> = HashMap::new();
    let mut places: Vec<[i64; 3]> = Vec::new();
    let mut tets = Vec::new();
    let patterns = kuhn_tets();
    for (low, high) in boxes {
        for z in low[2]..high[2] {
            for y in low[1]..high[1] {
                for x in low[0]..high[0] {
                    for corners in &patterns {
                        tets.push(corners.map(|[a, b, c]| {
                            let place = [x + a as i64, y + b as i64, z + c as i64];
                            *number.entry(place).or_insert_with(|| {
                                places.push(place);
                                (places.len() - 1) as u32
                            })
                        }));
                    }
                }
            }
        }
    }
    let positions = places.iter().map(|place| Vec3::from(place.map(|k| k as f64)) * scale).collect();
    let (mut mesh, _) = CellMesh::from_tets(positions, &tets)?;
    let (hand, foot) = (left + width + arm - 1, 1);
    let ends: [&dyn Fn([i64; 3]) -> bool; 4] =
        [&|[x, ..]| x >= hand, &|[x, ..]| x <= left - arm + 1, &|[x, _, z]| z <= foot && x > 0, &|[x, _, z]| {
            z <= foot && x < 0
        }];
    for (name, holds) in FIGURE_ENDS.into_iter().zip(ends) {
        let nodes = (0..places.len() as u32).filter(|&node| holds(places[node as usize])).collect();
        mesh = mesh.with_node_set(name, nodes)?;
    }
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_is_one_body_of_the_asked_height_with_four_ends() {
        for cells in [24, 48] {
            let mesh = figure(1.8, cells).unwrap();
            let heights = mesh.positions().iter().map(|x| x.z);
            assert!((heights.clone().fold(f64::NEG_INFINITY, f64::max) - 1.8).abs() < 1e-12);
            assert_eq!(heights.fold(f64::INFINITY, f64::min), 0.0);
            for name in FIGURE_ENDS {
                // Two layers of 5 × 5 nodes.
                assert_eq!(mesh.node_sets()[name].len(), 50, "{name}");
            }
            // Connected: every node is reached from the first.
            let mut neighbors = vec![Vec::new(); mesh.node_count()];
            for (_, nodes) in mesh.cells() {
                for &a in nodes {
                    neighbors[a as usize].extend_from_slice(nodes);
                }
            }
            let mut seen = vec![false; mesh.node_count()];
            let mut stack = vec![0u32];
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut seen[node as usize], true) {
                    stack.extend(&neighbors[node as usize]);
                }
            }
            assert!(seen.iter().all(|&seen| seen));
        }
        assert!((18_000..22_000).contains(&figure(1.8, 48).unwrap().cell_count()));
        assert!(matches!(figure(1.8, 10), Err(ProceduralError::Parameter { .. })));
    }
}
