//! All stencils over grids of cuts and moved nodes: the bound on angles.

use sinew_math::Vec3;

use super::lattice::{CUBE_CELLS, Node};
use super::quality::dihedral_range;
use super::shapes::Random;
use super::stencil::*;

/// A cell of the lattice with spacing 2 and given cuts.
struct Cell {
    nodes: [Node; 4],
    /// Fractions from the inside.
    cuts: [[f64; 4]; 4],
    first: usize,
}

impl CutCell for Cell {
    fn cut(&self, inside: usize, outside: usize) -> f64 {
        self.cuts[inside][outside]
    }

    fn position(&self, node: usize) -> Vec3 {
        Vec3::from(self.nodes[node].map(f64::from))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        (a == self.first) || (b != self.first && a < b)
    }
}

/// The smallest and the largest angle of the pieces, with moved nodes at `moved`.
fn angles(signs: [i8; 4], cell: &Cell, moved: [Vec3; 4]) -> (f64, f64) {
    let mut range = (f64::INFINITY, 0.0_f64);
    for piece in pieces(signs, cell).as_slice() {
        let x = piece.map(|corner| match cut_nodes(corner) {
            None => moved[usize::from(corner)],
            Some((i, j)) => cell.position(i).lerp(cell.position(j), cell.cut(i, j)),
        });
        let volume = (x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0]));
        assert!(volume > 0.0, "{signs:?} {piece:?}");
        let (low, high) = dihedral_range(x);
        range = (range.0.min(low), range.1.max(high));
    }
    range
}

/// Offsets of a node that moved along one of its edges, in half cubes, by `k` steps of `count`.
fn moves(count: usize) -> Vec<Vec3> {
    let mut moves = vec![Vec3::zero()];
    for code in 0..27 {
        let d = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
        let (length, alpha) = match d.iter().filter(|x| **x != 0).count() {
            1 => (2.0, ALPHA_LONG),
            3 => (1.0, ALPHA_SHORT),
            _ => continue,
        };
        let direction = Vec3::from(d.map(f64::from)) * length;
        moves.extend((1..=count).map(|k| direction * (alpha * k as f64 / count as f64)));
    }
    moves
}

fn alpha(i: usize, j: usize) -> f64 {
    if is_long(i, j) { ALPHA_LONG } else { ALPHA_SHORT }
}

/// All signs of the nodes of a cell.
fn all_signs() -> impl Iterator<Item = [i8; 4]> {
    (0..81_i32).map(|code| [0, 1, 2, 3].map(|k| (code / 3_i32.pow(k) % 3 - 1) as i8))
}

/// Calls `f` with the cuts on a grid of `count` intervals between their limits, both orders of ties.
fn for_each_cut(signs: [i8; 4], count: usize, mut f: impl FnMut(&Cell)) {
    let pairs: Vec<(usize, usize)> =
        (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).filter(|(i, j)| signs[*i] < 0 && signs[*j] > 0).collect();
    for code in 0..(count + 1).pow(pairs.len() as u32) {
        let mut cell = Cell { nodes: CUBE_CELLS[0], cuts: [[0.5; 4]; 4], first: 0 };
        for (k, (i, j)) in pairs.iter().enumerate() {
            let s = (code / (count + 1).pow(k as u32) % (count + 1)) as f64 / count as f64;
            cell.cuts[*i][*j] = alpha(*i, *j) + s * (1.0 - 2.0 * alpha(*i, *j));
        }
        for first in 0..4 {
            cell.first = first;
            f(&cell);
        }
    }
}

/// The angles over all stencils on a grid, of cuts with `cuts` intervals and of moves with `steps`.
fn enumerated(cuts: usize, steps: usize) -> (f64, f64) {
    let mut range = (f64::INFINITY, 0.0_f64);
    let moves = moves(steps);
    for signs in all_signs().filter(|signs| signs.contains(&-1)) {
        let free: Vec<usize> = (0..4).filter(|k| signs[*k] == 0).collect();
        // Three moved nodes on a coarser grid: 14 edges each.
        let used = if free.len() == 3 { self::moves(1) } else { moves.clone() };
        for_each_cut(signs, cuts, |cell| {
            for code in 0..used.len().pow(free.len() as u32) {
                let mut moved = [0, 1, 2, 3].map(|k| cell.position(k));
                for (n, k) in free.iter().enumerate() {
                    moved[*k] += used[code / used.len().pow(n as u32) % used.len()];
                }
                if are_possible(cell, &moved, &free) {
                    let (low, high) = angles(signs, cell, moved);
                    range = (range.0.min(low), range.1.max(high));
                }
            }
        });
    }
    (range.0.to_degrees(), range.1.to_degrees())
}

/// Two nodes do not move along their common edge towards each other: the first takes the cut away.
fn are_possible(cell: &Cell, moved: &[Vec3; 4], free: &[usize]) -> bool {
    let towards = |i: usize, j: usize| {
        let (step, edge) = (moved[i] - cell.position(i), cell.position(j) - cell.position(i));
        step.norm() > 0.0 && step.dot(edge) > (1.0 - 1e-9) * step.norm() * edge.norm()
    };
    !free.iter().any(|i| free.iter().any(|j| i < j && towards(*i, *j) && towards(*j, *i)))
}

/// The enumeration of the design: 11.82° and 161.17° at the corners of the ranges, where the extremes lie; finer grids
/// find the same digits.
#[test]
fn every_stencil_on_a_grid_keeps_the_bound() {
    let (low, high) = enumerated(4, 2);
    assert!((low - 11.82).abs() < 1e-3, "{low}");
    assert!((high - 161.17).abs() < 5e-3, "{high}");
}

/// A long edge is cut anywhere, the threshold τ included: the diagonals beside it change there.
#[test]
fn random_stencils_keep_the_bound() {
    let mut random = Random::new(5);
    let moves = moves(64);
    let all: Vec<[i8; 4]> = all_signs().filter(|signs| signs.contains(&-1)).collect();
    let mut range = (f64::INFINITY, 0.0_f64);
    for trial in 0..400_000 {
        let signs = all[trial % all.len()];
        let mut cell = Cell { nodes: CUBE_CELLS[trial % 12], cuts: [[0.5; 4]; 4], first: trial % 4 };
        let mut moved = [0, 1, 2, 3].map(|k| cell.position(k));
        let mut free = Vec::new();
        for i in 0..4 {
            for j in 0..4 {
                let s = (2.0 * random.unit() - 0.5).clamp(0.0, 1.0);
                if i != j {
                    cell.cuts[i][j] = alpha(i, j) + s * (1.0 - 2.0 * alpha(i, j));
                }
            }
            if signs[i] == 0 {
                moved[i] += moves[(random.unit() * moves.len() as f64) as usize];
                free.push(i);
            }
        }
        if are_possible(&cell, &moved, &free) {
            let (low, high) = angles(signs, &cell, moved);
            range = (range.0.min(low.to_degrees()), range.1.max(high.to_degrees()));
        }
    }
    assert!(range.0 >= 11.819 && range.1 <= 161.175, "{range:?}");
    // The bound is nearly reached: the test would not notice wider limits of the cuts otherwise.
    assert!(range.0 < 14.0 && range.1 > 150.0, "{range:?}");
}

/// Both cells beside a face split its quad alike, for all cuts and signs: the faces of the pieces match.
#[test]
fn cells_beside_a_face_agree_on_its_triangles() {
    let mut random = Random::new(9);
    for trial in 0..20_000 {
        let signs = [0; 3].map(|_| (random.unit() * 3.0) as i8 - 1);
        let fractions = [0; 6].map(|_| random.unit());
        // A face with a long edge 0, 1 and the node 2, as faces 0 1 2 and 0 1 3 of a cell, or as 2 3 0 of another.
        let places = [[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]];
        let found: Vec<Vec<Vec<(usize, usize)>>> =
            places.iter().map(|place| face_triangles(*place, signs, fractions, trial % 3)).collect();
        assert!(found.iter().all(|triangles| *triangles == found[0]), "{signs:?} {fractions:?}");
    }
}

/// Triangles in a face of a cell, by nodes of the face: (i, i) is a node, (i, j) the cut of an edge.
fn face_triangles(place: [usize; 3], signs: [i8; 3], fractions: [f64; 6], first: usize) -> Vec<Vec<(usize, usize)>> {
    let mut cell = Cell { nodes: CUBE_CELLS[0], cuts: [[0.5; 4]; 4], first: place[first] };
    let fourth = 6 - place.iter().sum::<usize>();
    let mut all = [1_i8; 4];
    for i in 0..3 {
        all[place[i]] = signs[i];
        for j in (0..3).filter(|j| *j != i) {
            let (a, b) = (place[i], place[j]);
            let edge = fractions[if signs[i] < signs[j] { 3 - i - j } else { 0 }];
            cell.cuts[a][b] = alpha(a, b) + edge * (1.0 - 2.0 * alpha(a, b));
        }
        cell.cuts[place[i]][fourth] = 0.5;
    }
    let of_face = |corner: u8| match cut_nodes(corner) {
        None => place.iter().position(|k| *k == usize::from(corner)).map(|i| (i, i)),
        Some((a, b)) => {
            let at = |node: usize| place.iter().position(|k| *k == node);
            at(a).zip(at(b))
        }
    };
    let mut triangles = Vec::new();
    for piece in pieces(all, &cell).as_slice() {
        let mut corners: Vec<(usize, usize)> = piece.iter().filter_map(|corner| of_face(*corner)).collect();
        if corners.len() == 3 {
            corners.sort_unstable();
            triangles.push(corners);
        }
    }
    triangles.sort_unstable();
    triangles
}
