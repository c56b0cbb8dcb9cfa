//! Where a muscle ends, though it lies lengthwise on its bone; and fibers that lean differently from place to place.
//!
//! A potential that is constant on a whole attachment sends fibers out of the bone at right angles. Where the attachment
//! lies at the side of a muscle, its fibers pass along it instead: only nodes beyond which the muscle does not go on are
//! ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use sinew_geometry::CellMesh;
use sinew_geometry::fibers::Pennation;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::select::centers;

/// The muscle goes on beyond a node if its way from the other end grows by this share of the reach within the reach: on
/// a plane that is cut at less than 37° to the axis.
const GOES_ON: f64 = 0.8;

/// The nodes of an attachment beyond which the muscle does not go on, seen from the other attachment. In each part of
/// the mesh at least those beyond which it goes on least.
///
/// `reach` \[m\] is how far around a node is searched: a few cells.
pub fn end_nodes(mesh: &CellMesh, attachment: &[u32], other: &[u32], reach: f64) -> Vec<u32> {
    let way = ways_from(mesh, other);
    let bin_of = |x: Vec3| [x.x, x.y, x.z].map(|v| (v / reach).floor() as i64);
    let mut bins: BTreeMap<[i64; 3], Vec<u32>> = BTreeMap::new();
    for (node, x) in mesh.positions().iter().enumerate().filter(|(node, _)| way[*node].is_finite()) {
        bins.entry(bin_of(*x)).or_default().push(node as u32);
    }
    let part = part_of_nodes(mesh);
    let beyond = |node: &u32| {
        let (x, own) = (mesh.positions()[*node as usize], part[*node as usize]);
        let [i, j, k] = bin_of(x);
        let mut farthest = way[*node as usize];
        for offset in 0..27 {
            let bin = [i + offset % 3 - 1, j + offset / 3 % 3 - 1, k + offset / 9 - 1];
            for other in bins.get(&bin).into_iter().flatten().map(|other| *other as usize) {
                if part[other] == own && way[other] > farthest && mesh.positions()[other].distance(x) <= reach {
                    farthest = way[other];
                }
            }
        }
        farthest - way[*node as usize]
    };
    let reached: Vec<u32> =
        attachment.iter().copied().filter(|node| way.get(*node as usize).is_some_and(|way| way.is_finite())).collect();
    let beyond: Vec<f64> = reached.par_iter().map(beyond).collect();
    let mut least: BTreeMap<u32, f64> = BTreeMap::new();
    for (node, beyond) in reached.iter().zip(&beyond) {
        let entry = least.entry(part[*node as usize]).or_insert(f64::INFINITY);
        *entry = entry.min(*beyond);
    }
    let is_end = |(node, beyond): &(&u32, &f64)| **beyond <= (GOES_ON * reach).max(least[&part[**node as usize]]);
    reached.iter().zip(&beyond).filter(is_end).map(|(node, _)| *node).collect()
}

/// Length of the shortest way along edges from some nodes to each \[m\]; infinite where there is none.
fn ways_from(mesh: &CellMesh, start: &[u32]) -> Vec<f64> {
    let cells = mesh.node_cells();
    let mut way = vec![f64::INFINITY; mesh.node_count()];
    // Bits of the length, which are in its order as it is not negative.
    let mut queue: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    for node in start {
        // Nodes that do not exist are reported with the potential.
        if let Some(way) = way.get_mut(*node as usize) {
            *way = 0.0;
            queue.push(Reverse((0, *node)));
        }
    }
    while let Some(Reverse((bits, node))) = queue.pop() {
        let (length, x) = (f64::from_bits(bits), mesh.positions()[node as usize]);
        if length > way[node as usize] {
            continue;
        }
        for next in cells.cells(node as usize).iter().flat_map(|cell| mesh.cell_nodes(*cell as usize)) {
            let longer = length + x.distance(mesh.positions()[*next as usize]);
            if longer < way[*next as usize] {
                way[*next as usize] = longer;
                queue.push(Reverse((longer.to_bits(), *next)));
            }
        }
    }
    way
}

/// The connected part of each node.
fn part_of_nodes(mesh: &CellMesh) -> Vec<u32> {
    let mut part = vec![0; mesh.node_count()];
    for ((_, nodes), component) in mesh.cells().zip(&mesh.components().component_of) {
        nodes.iter().for_each(|node| part[*node as usize] = *component);
    }
    part
}

/// How fibers lean around a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaning {
    /// The place \[m\].
    pub at: Vec3,
    /// Direction toward which they lean, of any length.
    pub toward: Vec3,
    /// Angle \[rad\], of magnitude less than π/2.
    pub angle: f64,
}

/// Fibers that lean as the nearest place says. Fibers along its direction stay as they are.
pub fn lean_by_place(mesh: &CellMesh, fibers: &[Vec3], places: &[Leaning]) -> Vec<Vec3> {
    let lean = |(cell, (fiber, x)): (usize, (&Vec3, Vec3))| {
        let nearest = places.iter().min_by(|a, b| a.at.distance(x).total_cmp(&b.at.distance(x)));
        let Some(place) = nearest else { return *fiber };
        let pennation = Pennation::Towards { normal: place.toward, angle: place.angle };
        pennation.rotated(cell, *fiber, x).unwrap_or(*fiber)
    };
    fibers.par_iter().zip(centers(mesh)).enumerate().map(lean).collect()
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{TetPattern, box_tets};

    use super::super::fibers::{FiberOptions, fibers_between};
    use super::*;

    fn brick() -> CellMesh {
        box_tets(Vec3::new(0.4, 0.1, 0.1), [32, 8, 8], TetPattern::Bcc).unwrap()
    }

    fn nodes_where(mesh: &CellMesh, holds: impl Fn(Vec3) -> bool) -> Vec<u32> {
        (0..mesh.node_count() as u32).filter(|node| holds(mesh.positions()[*node as usize])).collect()
    }

    fn worst_angle(fibers: &[Vec3]) -> f64 {
        fibers.iter().map(|f| f.x.clamp(-1.0, 1.0).acos().to_degrees()).fold(0.0, f64::max)
    }

    /// A muscle that lies on its bone with half of its underside: fibers run along it, to the ends of both.
    #[test]
    fn fibers_pass_along_an_attachment_at_the_side() {
        let mesh = brick();
        let origin = nodes_where(&mesh, |x| x.z < 1e-9 && x.x < 0.2 || x.x < 1e-9);
        let insertion = nodes_where(&mesh, |x| x.x > 0.4 - 1e-9);
        let reach = 0.05;
        let from = end_nodes(&mesh, &origin, &insertion, reach);
        assert!(from.iter().all(|node| mesh.positions()[*node as usize].x < reach));
        assert!(nodes_where(&mesh, |x| x.x < 1e-9).iter().all(|node| from.contains(node)));
        let options = FiberOptions::default();
        let whole = fibers_between(&mesh, &origin, &insertion, &options).unwrap();
        let along = fibers_between(&mesh, &from, &insertion, &options).unwrap();
        let beyond = |field: &[Vec3]| -> Vec<Vec3> {
            let middles = centers(&mesh);
            // What is left of the turn at the ends fades as exp(−π x/width): half a width from them to a fifth.
            (0..field.len()).filter(|cell| middles[*cell].x > 2.0 * reach).map(|cell| field[cell]).collect()
        };
        assert!(worst_angle(&beyond(&whole.directions)) > 60.0);
        let worst = worst_angle(&beyond(&along.directions));
        assert!(worst < 12.0, "{worst}°");
    }

    /// An attachment with nothing but sides keeps the nodes that are nearest to an end.
    #[test]
    fn something_is_left_of_every_attachment() {
        let mesh = brick();
        let origin = nodes_where(&mesh, |x| x.z < 1e-9 && x.x > 0.1 && x.x < 0.2);
        let insertion = nodes_where(&mesh, |x| x.x > 0.4 - 1e-9);
        assert!(!end_nodes(&mesh, &origin, &insertion, 0.05).is_empty());
        assert!(end_nodes(&mesh, &origin, &[], 0.05).is_empty());
    }

    /// On one side of x = 0.2 fibers lean upward by 0.2, on the other backward by 0.3.
    #[test]
    fn fibers_lean_as_the_nearest_place_says() {
        let mesh = brick();
        let fibers = vec![Vec3::unit(0); mesh.cell_count()];
        let place = |x: f64, toward: Vec3, angle: f64| Leaning { at: Vec3::new(x, 0.05, 0.05), toward, angle };
        let places = [place(0.1, Vec3::unit(2) * 3.0, 0.2), place(0.3, -Vec3::unit(1), 0.3)];
        for (f, x) in lean_by_place(&mesh, &fibers, &places).iter().zip(centers(&mesh)) {
            let expected = if x.x < 0.2 {
                Vec3::new(0.2_f64.cos(), 0.0, 0.2_f64.sin())
            } else {
                Vec3::new(0.3_f64.cos(), -0.3_f64.sin(), 0.0)
            };
            assert!(f.distance(expected) < 1e-12 || (x.x - 0.2).abs() < 1e-9);
        }
        assert_eq!(lean_by_place(&mesh, &fibers, &[]), fibers);
        assert_eq!(lean_by_place(&mesh, &fibers, &[place(0.1, Vec3::unit(0), 0.2)]), fibers);
    }
}
