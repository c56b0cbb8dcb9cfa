//! How a cell of the lattice is cut where its nodes belong to several parts.
//!
//! With two labels both sides take the pieces of [`super::stencil`]. With more, every edge between labels has a cut and
//! every face with three labels a point in which they meet; the triangles of the faces depend on the faces alone, and a
//! point inside (or a node on an interface) is joined to all of them.

use super::stencil::{Corner, CutCell, Pieces, cut_nodes, is_from_first, pieces, wedge_pair};

/// A part, or [`BACKGROUND`], or [`INTERFACE`].
pub(crate) type Label = u16;
/// Outside of all parts.
pub(crate) const BACKGROUND: Label = 0;
/// A node that was moved to an interface has no label of its own.
pub(crate) const INTERFACE: Label = u16::MAX;

/// Corner of the point where three labels meet in the face opposite to node 0; 21 to 23 for the others.
pub(crate) const MEETING: Corner = 20;
/// Corner of the point inside.
pub(crate) const CENTER: Corner = 24;

/// A tetrahedron of a cut cell and its label.
pub(crate) type LabeledPiece = ([Corner; 4], Label);

/// Faces of a cell, outward, opposite to nodes 0 to 3.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// The tetrahedra of a cell; `whole` is the label of a cell whose nodes all lie on interfaces.
pub(crate) fn labeled_pieces(labels: [Label; 4], whole: Label, cell: &impl CutCell) -> Vec<LabeledPiece> {
    let mut found: Vec<Label> = labels.iter().copied().filter(|label| *label != INTERFACE).collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [] => vec![([0, 1, 2, 3], whole)],
        [only] => vec![([0, 1, 2, 3], only)],
        [a, b] => two_labels(labels, [a, b], cell),
        _ => match labels.iter().position(|label| *label == INTERFACE) {
            Some(node) => cone(node as Corner, &[node], labels, cell),
            None => cone(CENTER, &[0, 1, 2, 3], labels, cell),
        },
    }
}

/// A cut by its nodes in ascending order, so that both sides name it alike.
fn normalized(corner: Corner) -> Corner {
    match cut_nodes(corner) {
        Some((i, j)) if i > j => super::stencil::cut_corner(j, i),
        _ => corner,
    }
}

fn two_labels(labels: [Label; 4], [a, b]: [Label; 2], cell: &impl CutCell) -> Vec<LabeledPiece> {
    let signs = labels.map(|label| if label == a { -1 } else { i8::from(label == b) });
    let count = |sign: i8| signs.iter().filter(|s| **s == sign).count();
    let sides = if count(-1) == 2 && count(1) == 2 {
        match wedge_pair(signs, cell) {
            // The sides are in the order of signs: a first.
            Some(sides) => sides,
            None => return cone(CENTER, &[0, 1, 2, 3], labels, cell),
        }
    } else {
        [pieces(signs, cell), pieces(signs.map(|sign| -sign), cell)]
    };
    let labeled = |(side, label): (&Pieces, Label)| -> Vec<LabeledPiece> {
        side.as_slice().iter().map(|piece| (piece.map(normalized), label)).collect()
    };
    sides.iter().zip([a, b]).flat_map(labeled).collect()
}

/// Tetrahedra between a point and the triangles of some faces.
fn cone(apex: Corner, faces: &[usize], labels: [Label; 4], cell: &impl CutCell) -> Vec<LabeledPiece> {
    let mut found = Vec::with_capacity(24);
    for face in faces {
        for ([p, q, r], label) in face_triangles(*face, labels, cell) {
            found.push(([apex, p, q, r], label));
        }
    }
    found
}

/// Triangles of a face without nodes on interfaces, outward.
fn face_triangles(face: usize, labels: [Label; 4], cell: &impl CutCell) -> Vec<([Corner; 3], Label)> {
    let [i, j, k] = FACES[face];
    let cut = |i: usize, j: usize| super::stencil::cut_corner(i.min(j), i.max(j));
    let corner = |node: usize| node as Corner;
    if labels[i] == labels[j] && labels[j] == labels[k] {
        return vec![([i, j, k].map(corner), labels[i])];
    }
    // Two nodes of one label first.
    let rotations = [[i, j, k], [j, k, i], [k, i, j]];
    if let Some([a, b, p]) = rotations.into_iter().find(|[a, b, _]| labels[*a] == labels[*b]) {
        let (near, far) = (cut(a, p), cut(b, p));
        let quad = if is_from_first(a, b, p, cell) {
            [[corner(a), corner(b), far], [corner(a), far, near]]
        } else {
            [[corner(a), corner(b), near], [corner(b), far, near]]
        };
        return vec![([near, far, corner(p)], labels[p]), (quad[0], labels[a]), (quad[1], labels[a])];
    }
    let middle = MEETING + face as Corner;
    let ring = [corner(i), cut(i, j), corner(j), cut(j, k), corner(k), cut(k, i)];
    let owners = [i, j, j, k, k, i];
    (0..6).map(|n| ([middle, ring[n], ring[(n + 1) % 6]], labels[owners[n]])).collect()
}

/// The nodes of the face opposite to a node, outward.
pub(crate) fn face_nodes(face: usize) -> [usize; 3] {
    FACES[face]
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::super::lattice::{CUBE_CELLS, Node};
    use super::super::quality::dihedral_range;
    use super::super::stencil::cut_nodes;
    use super::*;

    struct Halved {
        nodes: [Node; 4],
    }

    impl CutCell for Halved {
        fn cut(&self, _: usize, _: usize) -> f64 {
            0.5
        }

        fn position(&self, node: usize) -> Vec3 {
            Vec3::from(self.nodes[node].map(f64::from))
        }

        fn is_before(&self, a: usize, b: usize) -> bool {
            a < b
        }
    }

    /// What the fallback relies on: with all edges cut in the middle every pattern of labels has good angles and fills
    /// the cell.
    #[test]
    fn cells_cut_in_the_middle_of_their_edges_keep_eight_degrees() {
        let cell = Halved { nodes: CUBE_CELLS[0] };
        let mut smallest = f64::INFINITY;
        for code in 0..256_u16 {
            let labels = [0, 1, 2, 3].map(|k| code >> (2 * k) & 3);
            let middle = |nodes: &[usize]| nodes.iter().map(|n| cell.position(*n)).sum::<Vec3>() / nodes.len() as f64;
            let at = |corner: Corner| match corner {
                CENTER => middle(&[0, 1, 2, 3]),
                c if c >= MEETING => middle(&face_nodes(usize::from(c - MEETING))),
                c => cut_nodes(c).map_or_else(|| cell.position(usize::from(c)), |(i, j)| middle(&[i, j])),
            };
            let mut volume = 0.0;
            for (piece, _) in labeled_pieces(labels, 0, &cell) {
                let x = piece.map(at);
                let part = (x[1] - x[0]).dot((x[2] - x[0]).cross(x[3] - x[0])) / 6.0;
                assert!(part > 0.0, "{labels:?}");
                volume += part;
                let (low, high) = dihedral_range(x);
                smallest = f64::min(smallest, low.min(std::f64::consts::PI - high));
            }
            assert!((volume - 8.0 / 12.0).abs() < 1e-12, "{labels:?} {volume}");
        }
        assert!(smallest.to_degrees() >= 10.0, "{}", smallest.to_degrees());
    }
}
