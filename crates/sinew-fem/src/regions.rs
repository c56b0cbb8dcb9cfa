//! Deformation of flesh by region: change of volume, and inverted cells.
//!
//! The volume of a cell is $`\int \det F`$; for a hexahedron it is exactly the mean of $`J = \det F`$ over its
//! 2 × 2 × 2 Gauss points. This check is independent of the solver: a cell with a valid center may be folded at a
//! corner.

#![allow(non_snake_case)]

use std::ops::Range;

use sinew_geometry::{CellKind, CellMesh};
use sinew_math::Vec3;
use sinew_math::parallel::reduce_blocks;

/// Cells per parallel piece.
const PIECE: usize = 512;

/// A named group of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Its cells, at least one.
    pub cells: Vec<u32>,
}

/// Deformation of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellState {
    /// Ratio of volume to rest volume.
    pub volume_ratio: f64,
    /// Whether it is inverted at its center.
    pub is_inverted: bool,
    /// Whether it is inverted at a Gauss point.
    pub is_folded: bool,
}

/// Deformation of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegionState {
    /// Ratio of volume to rest volume, minus one.
    pub volume_change: f64,
    /// Number of cells inverted at their center.
    pub inverted: usize,
    /// Number of cells inverted at a Gauss point.
    pub folded: usize,
}

impl Region {
    /// Sums over its cells.
    pub fn state(&self, cells: &[CellState]) -> RegionState {
        let own = || self.cells.iter().filter_map(|&cell| cells.get(cell as usize));
        let volume: f64 = own().map(|cell| cell.volume_ratio).sum();
        RegionState {
            volume_change: volume / own().count().max(1) as f64 - 1.0,
            inverted: own().filter(|cell| cell.is_inverted).count(),
            folded: own().filter(|cell| cell.is_folded).count(),
        }
    }
}

/// Groups cells by the node set that most of their nodes belong to, out of the sets that `is_region` accepts, in the
/// order of names. For flesh of characters these are the joints. Cells without a node in any of these sets are in no
/// region.
pub fn regions_of(mesh: &CellMesh, is_region: impl Fn(&str) -> bool) -> Vec<Region> {
    let sets: Vec<_> = mesh.node_sets().iter().filter(|(name, _)| is_region(name)).collect();
    let mut set_of = vec![usize::MAX; mesh.node_count()];
    for (k, (_, nodes)) in sets.iter().enumerate() {
        nodes.iter().for_each(|&node| set_of[node as usize] = k);
    }
    let mut regions: Vec<Region> =
        sets.iter().map(|(name, _)| Region { name: (*name).clone(), cells: Vec::new() }).collect();
    for (index, (_, nodes)) in mesh.cells().enumerate() {
        let mut votes = vec![0; regions.len()];
        for &node in nodes {
            if let Some(vote) = votes.get_mut(set_of[node as usize]) {
                *vote += 1;
            }
        }
        if let Some(best) = (0..votes.len()).filter(|&k| votes[k] > 0).max_by_key(|&k| votes[k]) {
            regions[best].cells.push(index as u32);
        }
    }
    regions.retain(|region| !region.cells.is_empty());
    regions
}

/// Deformation of each cell with its nodes at `positions` \[m\]. Quadratic tetrahedra count by their corners.
pub fn cell_states(mesh: &CellMesh, positions: &[Vec3]) -> Vec<CellState> {
    RestCells::of(mesh).states(mesh, positions)
}

/// The cells of a mesh at rest, to compare with many states.
#[derive(Clone, Debug, Default)]
pub struct RestCells(Vec<HexJacobians>);

impl RestCells {
    /// The cells of a mesh.
    pub fn of(mesh: &CellMesh) -> Self {
        let at_rest = |cell: usize| match mesh.cell_kind(cell) {
            CellKind::Hex8 => HexJacobians::of(&corners(mesh, cell, mesh.positions())),
            // What tetrahedra need of it is one product.
            CellKind::Tet4 | CellKind::Tet10 => HexJacobians::default(),
        };
        Self((0..mesh.cell_count()).map(at_rest).collect())
    }

    /// Like [`cell_states`], for the mesh that it was made of.
    pub fn states(&self, mesh: &CellMesh, positions: &[Vec3]) -> Vec<CellState> {
        let state = |cell: usize| match mesh.cell_kind(cell) {
            CellKind::Hex8 => hex_state(&self.0[cell], &HexJacobians::of(&corners(mesh, cell, positions))),
            CellKind::Tet4 | CellKind::Tet10 => {
                let volume = |places: &[Vec3]| {
                    let [o, a, b, c] = corners(mesh, cell, places);
                    (a - o).dot((b - o).cross(c - o))
                };
                let ratio = ratio(volume(positions), volume(mesh.positions()));
                CellState { volume_ratio: ratio, is_inverted: ratio <= 0.0, is_folded: ratio <= 0.0 }
            }
        };
        let piece = |cells: Range<usize>| -> Vec<CellState> { cells.map(state).collect() };
        let join = |mut first: Vec<CellState>, second: Vec<CellState>| {
            first.extend(second);
            first
        };
        reduce_blocks(mesh.cell_count(), PIECE, piece, join).unwrap_or_default()
    }
}

/// The first nodes of a cell.
#[inline(always)]
fn corners<const N: usize>(mesh: &CellMesh, cell: usize, places: &[Vec3]) -> [Vec3; N] {
    let nodes = mesh.cell_nodes(cell);
    std::array::from_fn(|k| places[nodes[k] as usize])
}

/// Ratio of volumes; 1 for a cell without rest volume.
fn ratio(now: f64, rest: f64) -> f64 {
    if rest == 0.0 { 1.0 } else { now / rest }
}

/// Edges of a hexahedron along its three axes; those of an axis in the order of the other two coordinates.
const HEX_EDGES: [[[usize; 2]; 4]; 3] =
    [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [3, 7], [2, 6]]];

/// det ∂x/∂ξ of a hexahedron in coordinates ξ of its edges: at its center, and at its Gauss points, coordinate by
/// coordinate from the last.
///
/// ∂x/∂ξᵢ does not depend on ξᵢ: it is a bilinear mean of the four edges along i.
#[derive(Clone, Copy, Debug, Default)]
struct HexJacobians {
    center: f64,
    gauss: [f64; 8],
}

impl HexJacobians {
    #[inline(always)]
    fn of(x: &[Vec3; 8]) -> Self {
        let offset = 0.5 / 3f64.sqrt();
        let between = |from: Vec3, to: Vec3| [0.5 - offset, 0.5 + offset].map(|share| from + (to - from) * share);
        let (mut middles, mut slopes) = ([Vec3::zero(); 3], [[Vec3::zero(); 4]; 3]);
        for axis in 0..3 {
            let [e, f, g, h] = HEX_EDGES[axis].map(|[from, to]| x[to] - x[from]);
            middles[axis] = (e + f + g + h) * 0.25;
            let (low, high) = (between(e, f), between(g, h));
            for u in 0..2 {
                // By the two other coordinates.
                [slopes[axis][u], slopes[axis][u + 2]] = between(low[u], high[u]);
            }
        }
        let mut gauss = [0.0; 8];
        for (k, value) in gauss.iter_mut().enumerate() {
            let [i, j, k] = [k & 1, (k >> 1) & 1, k >> 2];
            *value = determinant(slopes[0][j + 2 * k], slopes[1][i + 2 * k], slopes[2][i + 2 * j]);
        }
        Self { center: determinant(middles[0], middles[1], middles[2]), gauss }
    }
}

#[inline(always)]
fn determinant(a: Vec3, b: Vec3, c: Vec3) -> f64 {
    a.dot(b.cross(c))
}

fn hex_state(rest: &HexJacobians, now: &HexJacobians) -> CellState {
    CellState {
        volume_ratio: ratio(now.gauss.iter().sum(), rest.gauss.iter().sum()),
        is_inverted: now.center * rest.center <= 0.0,
        is_folded: now.gauss.iter().zip(&rest.gauss).any(|(J, rest_J)| J * rest_J <= 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::box_hexes;

    /// Corners of a hexahedron in coordinates of its edges, in the order of [`CellKind::Hex8`].
    const HEX_CORNERS: [[f64; 3]; 8] = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0],
        [1.0, 1.0, 1.0],
        [0.0, 1.0, 1.0],
    ];

    fn state_of(rest: &[Vec3; 8], now: &[Vec3; 8]) -> CellState {
        hex_state(&HexJacobians::of(rest), &HexJacobians::of(now))
    }

    fn cube() -> [Vec3; 8] {
        HEX_CORNERS.map(|corner| Vec3::from(corner) * 0.1)
    }

    #[test]
    fn jacobians_of_stretched_and_folded_cells() {
        let stretched = cube().map(|x| Vec3::new(2.0 * x.x, 0.5 * x.y, 3.0 * x.z));
        for k in 0..8 {
            assert!((HexJacobians::of(&cube()).gauss[k] - 1e-3).abs() < 1e-15);
            assert!((HexJacobians::of(&stretched).gauss[k] - 3e-3).abs() < 1e-15);
        }
        let state = state_of(&cube(), &stretched);
        assert!((state.volume_ratio - 3.0).abs() < 1e-12 && !state.is_inverted && !state.is_folded);
        // A corner pushed through the opposite one: its Gauss point is inverted, the center is not.
        let mut folded = cube();
        folded[6] = Vec3::splat(-0.02);
        assert!(HexJacobians::of(&folded).gauss[7] < 0.0);
        let state = state_of(&cube(), &folded);
        assert!(state.is_folded && !state.is_inverted, "{state:?}");
        let mirrored = cube().map(|x| Vec3::new(-x.x, x.y, x.z));
        let state = state_of(&cube(), &mirrored);
        assert!(state.is_folded && state.is_inverted && (state.volume_ratio + 1.0).abs() < 1e-12, "{state:?}");
    }

    /// By finite differences of the trilinear map of a crooked cell.
    #[test]
    fn jacobians_are_derivatives_of_the_trilinear_map() {
        let mut x = cube();
        for (k, x) in x.iter_mut().enumerate() {
            let k = k as f64;
            *x += Vec3::new((3.0 * k).sin(), (5.0 * k + 1.0).cos(), (7.0 * k).sin()) * 0.02;
        }
        let place = |p: [f64; 3]| {
            HEX_CORNERS.iter().zip(&x).fold(Vec3::zero(), |sum, (corner, x)| {
                sum + *x * (0..3).map(|i| if corner[i] > 0.5 { p[i] } else { 1.0 - p[i] }).product::<f64>()
            })
        };
        let jacobian = |p: [f64; 3]| {
            let [a, b, c] = [0, 1, 2].map(|i| {
                let by = |h: f64| std::array::from_fn(|k| p[k] + if k == i { h } else { 0.0 });
                place(by(0.5)) - place(by(-0.5))
            });
            determinant(a, b, c)
        };
        let found = HexJacobians::of(&x);
        assert!((found.center - jacobian([0.5; 3])).abs() < 1e-15);
        let offset = 0.5 / 3f64.sqrt();
        for (k, J) in found.gauss.iter().enumerate() {
            let p = [k & 1, (k >> 1) & 1, k >> 2].map(|side| 0.5 + offset * (2.0 * side as f64 - 1.0));
            assert!((J - jacobian(p)).abs() < 1e-15, "{k}");
        }
    }

    /// A bar of four cells whose left half is "a" and whose right half is "b"; the middle nodes belong to "b".
    fn bar() -> CellMesh {
        let mesh = box_hexes(Vec3::new(4.0, 1.0, 1.0), [4, 1, 1]).unwrap();
        let side = |mesh: &CellMesh, is_left: bool| {
            let x = |node: &u32| mesh.positions()[*node as usize].x;
            let middle = mesh.bounds().center().x;
            let nodes = 0..mesh.node_count() as u32;
            nodes.filter(|node| (x(node) < middle - 0.5) == is_left).collect::<Vec<u32>>()
        };
        let (left, right, all) = (side(&mesh, true), side(&mesh, false), (0..mesh.node_count() as u32).collect());
        mesh.with_node_set("z", all).unwrap().with_node_set("a", left).unwrap().with_node_set("b", right).unwrap()
    }

    #[test]
    fn cells_belong_where_most_of_their_nodes_do() {
        let mesh = bar();
        let regions = regions_of(&mesh, |name| name != "z");
        assert_eq!(regions.iter().map(|region| region.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let mut cells: Vec<u32> = regions.iter().flat_map(|region| region.cells.clone()).collect();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2, 3], "each cell is in one region");
        for region in &regions {
            for &cell in &region.cells {
                let own = &mesh.node_sets()[&region.name];
                let count = mesh.cell_nodes(cell as usize).iter().filter(|node| own.contains(node)).count();
                assert!(count >= 4, "cell {cell} of {}", region.name);
            }
        }
        assert!(regions_of(&mesh, |_| false).is_empty());
    }

    /// x ↦ x + a for x > 2 stretches only the cells of the right half, which starts at the middle; volumes of regions
    /// show this.
    #[test]
    fn volume_is_counted_by_region() {
        let mesh = bar();
        let regions = regions_of(&mesh, |name| name != "z");
        let low = mesh.bounds().min.x;
        let moved: Vec<Vec3> = mesh
            .positions()
            .iter()
            .map(|x| Vec3::new(if x.x - low > 3.5 { x.x + 0.4 } else { x.x }, x.y, x.z))
            .collect();
        let states = cell_states(&mesh, &moved);
        let change = |name: &str| {
            let region = regions.iter().find(|region| region.name == name).unwrap();
            (region.state(&states).volume_change, region.cells.len())
        };
        assert!(change("a").0.abs() < 1e-12);
        let (change, cells) = change("b");
        assert!((change * cells as f64 - 0.4).abs() < 1e-12, "{change} in {cells} cells");
        let total: usize = regions.iter().map(|region| region.state(&states).folded).sum();
        assert_eq!(total, 0);
    }

    #[test]
    fn tetrahedra_count_too() {
        let rest = vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let (mesh, _) = CellMesh::from_tets(rest.clone(), &[[0, 1, 2, 3]]).unwrap();
        let half: Vec<Vec3> = rest.iter().map(|x| Vec3::new(x.x, x.y, -0.5 * x.z)).collect();
        let state = cell_states(&mesh, &half)[0];
        assert!((state.volume_ratio + 0.5).abs() < 1e-12 && state.is_inverted && state.is_folded);
    }
}
