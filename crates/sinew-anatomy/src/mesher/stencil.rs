//! How a cell of the lattice is cut: isosurface stuffing \[Labelle07\] with our rules for diagonals.
//!
//! A node inside has sign −1, one outside +1, and one that was moved to the surface 0. Cuts near a node moved that node,
//! so each cut keeps a distance from both ends: [`ALPHA_LONG`] and [`ALPHA_SHORT`] of its edge. A cut cell is one
//! tetrahedron, a pyramid or a prism; quads in faces of the lattice are split by a rule that sees only their own edges,
//! so both cells beside a face agree. The quad on the surface is free and takes the better diagonal.
//!
//! Over all positions of cuts and moved nodes, dihedral angles stay within 11.82° and 161.17° (a test enumerates them).

use sinew_math::Vec3;

use super::quality::worst_sine_squared;

/// A node moves to a cut of a long edge that is nearer than this fraction of the edge.
pub const ALPHA_LONG: f64 = 0.2675;
/// A node moves to a cut of a short edge that is nearer than this fraction of the edge.
pub const ALPHA_SHORT: f64 = 0.38969;
/// A quad with a cut long edge takes the diagonal at that cut if it is nearer than this to the end inside.
pub const TAU: f64 = 0.4;

/// A corner of a piece: node i of the cell is i, the cut between node i inside and node j outside is 4 + 4 i + j.
pub type Corner = u8;

/// The tetrahedra inside of a cut cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pieces {
    corners: [[Corner; 4]; 3],
    count: usize,
}

impl Pieces {
    /// Corners of the tetrahedra, right-handed.
    pub fn as_slice(&self) -> &[[Corner; 4]] {
        &self.corners[..self.count]
    }

    fn push(&mut self, corners: [Corner; 4]) {
        self.corners[self.count] = corners;
        self.count += 1;
    }

    /// The same pieces of a mirrored cell.
    pub(crate) fn mirrored(mut self) -> Self {
        self.corners.iter_mut().for_each(|piece| piece.swap(2, 3));
        self
    }
}

/// A cell that the surface passes through. Its nodes 0, 1 and 2, 3 are the ends of its long edges.
pub trait CutCell {
    /// Where the edge between node `inside` and node `outside` is cut: 0 at the inside, 1 at the outside.
    fn cut(&self, inside: usize, outside: usize) -> f64;

    /// Position of a node on the lattice.
    fn position(&self, node: usize) -> Vec3;

    /// A strict order of nodes that does not depend on the cell, for ties.
    fn is_before(&self, a: usize, b: usize) -> bool;
}

/// The corner of a cut.
#[inline]
pub fn cut_corner(inside: usize, outside: usize) -> Corner {
    (4 + 4 * inside + outside) as Corner
}

/// The two nodes of a cut, inside first; `None` for a node.
#[inline]
pub fn cut_nodes(corner: Corner) -> Option<(usize, usize)> {
    let cut = usize::from(corner).checked_sub(4)?;
    Some((cut / 4, cut % 4))
}

/// Whether two nodes of a cell are the ends of a long edge.
#[inline]
pub fn is_long(i: usize, j: usize) -> bool {
    i / 2 == j / 2
}

/// The tetrahedra inside of a cell with these signs.
pub fn pieces(signs: [i8; 4], cell: &impl CutCell) -> Pieces {
    let (v, is_odd) = ordered(signs);
    let count = |sign| signs.iter().filter(|s| **s == sign).count();
    let pieces = match (count(-1), count(0), count(1)) {
        (0, _, _) => return Pieces::default(),
        (1, _, _) => one_inside(v, signs),
        (2, 1, 1) => pyramid(v, cell),
        (2, 0, 2) => wedge(v, is_odd, cell),
        (3, 0, 1) => truncated(v, cell),
        _ => Pieces { corners: [v.map(|node| node as Corner); 3], count: 1 },
    };
    if is_odd { pieces.mirrored() } else { pieces }
}

/// The nodes ordered by sign, and whether that is an odd permutation.
pub(crate) fn ordered(signs: [i8; 4]) -> ([usize; 4], bool) {
    let mut v = [0, 1, 2, 3];
    let mut is_odd = false;
    for end in (1..4).rev() {
        for k in 0..end {
            if signs[v[k]] > signs[v[k + 1]] {
                v.swap(k, k + 1);
                is_odd = !is_odd;
            }
        }
    }
    (v, is_odd)
}

fn one_inside(v: [usize; 4], signs: [i8; 4]) -> Pieces {
    let corner = |node: usize| if signs[node] > 0 { cut_corner(v[0], node) } else { node as Corner };
    let mut pieces = Pieces::default();
    pieces.push(v.map(corner));
    pieces
}

/// Two nodes inside, one on the surface, one outside.
fn pyramid([a, b, c, p]: [usize; 4], cell: &impl CutCell) -> Pieces {
    let (near, far) = (cut_corner(a, p), cut_corner(b, p));
    let [a8, b8, c8] = [a, b, c].map(|node| node as Corner);
    let mut pieces = Pieces::default();
    if is_from_first(a, b, p, cell) {
        pieces.push([a8, b8, c8, far]);
        pieces.push([a8, far, c8, near]);
    } else {
        pieces.push([a8, b8, c8, near]);
        pieces.push([near, b8, c8, far]);
    }
    pieces
}

/// Three nodes inside, one outside.
fn truncated([a, b, c, p]: [usize; 4], cell: &impl CutCell) -> Pieces {
    let bottom = [a, b, c];
    let diagonals = [0, 1, 2].map(|i| is_from_first(bottom[i], bottom[(i + 1) % 3], p, cell));
    prism(bottom.map(|node| node as Corner), bottom.map(|node| cut_corner(node, p)), diagonals)
}

/// Two nodes inside, two outside: a prism with a free quad.
fn wedge([a, b, p, q]: [usize; 4], is_odd: bool, cell: &impl CutCell) -> Pieces {
    let bottom = [a as Corner, cut_corner(a, p), cut_corner(a, q)];
    let top = [b as Corner, cut_corner(b, p), cut_corner(b, q)];
    let (first, last) = (is_from_first(a, b, p, cell), !is_from_first(a, b, q, cell));
    let options = [true, false].map(|free| (is_acyclic([first, free, last]), [first, free, last]));
    match options {
        [(true, one), (true, two)] => {
            let (one, two) = (prism(bottom, top, one), prism(bottom, top, two));
            if worst(&two, is_odd, cell) > worst(&one, is_odd, cell) { two } else { one }
        }
        [(true, one), _] => prism(bottom, top, one),
        [_, (_, two)] => prism(bottom, top, two),
    }
}

/// Both sides of a cell with nodes a, b on one side and p, q on the other; `None` if no diagonal of the quad between
/// them suits both.
pub(crate) fn wedge_pair(signs: [i8; 4], cell: &impl CutCell) -> Option<[Pieces; 2]> {
    let ([a, b, p, q], is_odd) = ordered(signs);
    let side = |[a, b, p, q]: [usize; 4], free: bool| {
        let bottom = [a as Corner, cut_corner(a, p), cut_corner(a, q)];
        let top = [b as Corner, cut_corner(b, p), cut_corner(b, q)];
        let diagonals = [is_from_first(a, b, p, cell), free, !is_from_first(a, b, q, cell)];
        is_acyclic(diagonals).then(|| prism(bottom, top, diagonals))
    };
    let options = [true, false].map(|free| Some([side([a, b, p, q], free)?, side([p, q, a, b], free)?]));
    let quality = |pair: &[Pieces; 2]| worst(&pair[0], is_odd, cell).min(worst(&pair[1], is_odd, cell));
    let mut best: Option<[Pieces; 2]> = None;
    for pair in options.into_iter().flatten() {
        if best.as_ref().is_none_or(|best| quality(&pair) > quality(best)) {
            best = Some(pair);
        }
    }
    best.map(|pair| if is_odd { pair.map(Pieces::mirrored) } else { pair })
}

/// The worst sine among pieces, squared.
fn worst(pieces: &Pieces, is_odd: bool, cell: &impl CutCell) -> f64 {
    let sign = if is_odd { -1.0 } else { 1.0 };
    let sines = pieces.as_slice().iter().map(|piece| sign * worst_sine_squared(piece.map(|c| position(c, cell))));
    sines.fold(f64::INFINITY, f64::min)
}

/// Position of a corner whose node was not moved.
fn position(corner: Corner, cell: &impl CutCell) -> Vec3 {
    match cut_nodes(corner) {
        None => cell.position(usize::from(corner)),
        Some((i, j)) => cell.position(i).lerp(cell.position(j), cell.cut(i, j)),
    }
}

/// In the face of a, b inside and p outside: whether the diagonal runs from a to the cut of bp, not from b to that of
/// ap. Both cells at the face find the same.
pub(crate) fn is_from_first(a: usize, b: usize, p: usize, cell: &impl CutCell) -> bool {
    let (ta, tb) = (cell.cut(a, p), cell.cut(b, p));
    if is_long(a, p) {
        ta >= TAU
    } else if is_long(b, p) {
        tb < TAU
    } else if ta == tb {
        cell.is_before(a, b)
    } else {
        // The longer diagonal: its square is h² (1 − t + 3/4 t²), which falls up to t = 2/3 > 1 − ALPHA_SHORT.
        tb < ta
    }
}

/// Whether the diagonals of a prism leave a vertex with none: otherwise no tetrahedra fit.
fn is_acyclic(diagonals: [bool; 3]) -> bool {
    diagonals[0] != diagonals[1] || diagonals[1] != diagonals[2]
}

/// The three tetrahedra of a prism. Diagonal i runs from bottom i to top i + 1, or else from bottom i + 1 to top i.
fn prism(bottom: [Corner; 3], top: [Corner; 3], diagonals: [bool; 3]) -> Pieces {
    debug_assert!(is_acyclic(diagonals), "a long edge gives its cut two diagonals or none");
    // The top vertex with diagonals to both other bottom vertices, and the same for the bottom.
    let at = |before: bool| (0..3).find(|k| diagonals[(k + 2) % 3] == before && diagonals[*k] != before).unwrap_or(0);
    let (k, m) = (at(true), at(false));
    let r = 3 - k - m;
    let mut pieces = Pieces::default();
    pieces.push([bottom[0], bottom[1], bottom[2], top[k]]);
    pieces.push([bottom[m], top[0], top[1], top[2]]);
    let is_right_handed = m == (r + 2) % 3;
    let (third, fourth) = if is_right_handed { (top[r], top[k]) } else { (top[k], top[r]) };
    pieces.push([bottom[r], bottom[m], third, fourth]);
    pieces
}
