//! Red–green refinement: cells split 1:8 where detail is, and closed by halves and quarters \[Teran05\].
//!
//! Green cells are made from the leaves at the end, never split themselves: whatever asks for more splits their parent.

use super::tree::{EDGES, FACES, Tree, TreeCell};

/// What [`balance`] asks of touching cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closure {
    /// Sizes differ by one level at most.
    Grading,
    /// Moreover, the split edges of each cell are one of the patterns that green cells close.
    Green,
}

/// Splits cells until every leaf meets the closure. Ends: cells are split only down to the level of what asks for it.
pub(super) fn balance(tree: &mut Tree, closure: Closure) {
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        // Cells that come from this pass are seen in it, too.
        let mut cell = 0;
        while cell < tree.cells.len() {
            let TreeCell { nodes, is_split, .. } = tree.cells[cell];
            if !is_split {
                is_changed |= relax(tree, cell, nodes, closure);
            }
            cell += 1;
        }
    }
}

/// Splits a cell, or one of its edges, if the closure asks for it.
fn relax(tree: &mut Tree, cell: usize, nodes: [u32; 4], closure: Closure) -> bool {
    let middles = middles_of(tree, nodes);
    if middles.iter().all(Option::is_none) {
        return false;
    }
    if is_two_levels_apart(tree, nodes, &middles) {
        tree.split(cell);
        return true;
    }
    if closure == Closure::Grading {
        return false;
    }
    match Pattern::of(&middles) {
        Some(Pattern::Corner(third)) => {
            let [i, j] = EDGES[third];
            tree.split_edge(nodes[i], nodes[j]);
            true
        }
        Some(_) => false,
        None => {
            tree.split(cell);
            true
        }
    }
}

fn middles_of(tree: &Tree, nodes: [u32; 4]) -> [Option<u32>; 6] {
    EDGES.map(|[i, j]| tree.middle(nodes[i], nodes[j]))
}

/// Whether half an edge is split, or an edge between two middles of one face.
fn is_two_levels_apart(tree: &Tree, nodes: [u32; 4], middles: &[Option<u32>; 6]) -> bool {
    let half_is_split = EDGES.iter().zip(middles).any(|([i, j], middle)| {
        middle.is_some_and(|m| tree.middle(nodes[*i], m).is_some() || tree.middle(m, nodes[*j]).is_some())
    });
    half_is_split
        || FACES.iter().any(|face| {
            let around = edges_of_face(*face).map(|edge| middles[edge]);
            (0..3).any(|k| match (around[k], around[(k + 1) % 3]) {
                (Some(p), Some(q)) => tree.middle(p, q).is_some(),
                _ => false,
            })
        })
}

/// The edges of a face, by their place in [`EDGES`].
fn edges_of_face([a, b, c]: [usize; 3]) -> [usize; 3] {
    let edge = |p: usize, q: usize| match (p.min(q), p.max(q)) {
        (0, q) => q - 1,
        (p, q) => p + q,
    };
    [edge(a, b), edge(b, c), edge(c, a)]
}

/// Which edges of a cell are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Whole,
    /// One edge: two cells.
    Edge(usize),
    /// Two opposite edges: four cells.
    Opposite(usize),
    /// Two edges of one face; if the third is split as well, the diagonal of their quadrilateral needs no choice.
    Corner(usize),
    /// The three edges of a face: four cells.
    Face(usize),
}

impl Pattern {
    /// The pattern of split edges; `None` if only eight cells can close it.
    fn of(middles: &[Option<u32>; 6]) -> Option<Self> {
        let split: Vec<usize> = (0..6).filter(|edge| middles[*edge].is_some()).collect();
        match split[..] {
            [] => Some(Self::Whole),
            [edge] => Some(Self::Edge(edge)),
            [e, f] if e + f == 5 => Some(Self::Opposite(e)),
            [e, f] => FACES.iter().map(|face| edges_of_face(*face)).find_map(|edges| {
                let third = edges.iter().find(|edge| **edge != e && **edge != f)?;
                (edges.contains(&e) && edges.contains(&f)).then_some(Self::Corner(*third))
            }),
            [e, f, g] => (0..4)
                .find(|face| [e, f, g].iter().all(|edge| edges_of_face(FACES[*face]).contains(edge)))
                .map(Self::Face),
            _ => None,
        }
    }
}

/// The leaves of a balanced tree as a mesh without hanging nodes: whole where no edge is split, green elsewhere.
pub(super) fn closed_cells(tree: &Tree) -> Vec<[u32; 4]> {
    let mut cells = Vec::new();
    for leaf in tree.leaves() {
        add_closed(tree, leaf.nodes, &mut cells);
    }
    cells
}

fn add_closed(tree: &Tree, nodes: [u32; 4], cells: &mut Vec<[u32; 4]>) {
    let middles = middles_of(tree, nodes);
    let pattern = Pattern::of(&middles);
    debug_assert!(!matches!(pattern, None | Some(Pattern::Corner(_))), "the tree is not balanced");
    let middle = |edge: usize| middles[edge].expect("the pattern has this edge");
    let mut add = |cell: [u32; 4]| cells.push(tree.oriented(cell));
    match pattern {
        None | Some(Pattern::Whole | Pattern::Corner(_)) => add(nodes),
        Some(Pattern::Edge(edge)) => {
            let ([i, j], [k, l]) = (EDGES[edge], EDGES[5 - edge]);
            let m = middle(edge);
            add([nodes[i], m, nodes[k], nodes[l]]);
            add([m, nodes[j], nodes[k], nodes[l]]);
        }
        Some(Pattern::Opposite(edge)) => {
            let ([i, j], [k, l]) = (EDGES[edge], EDGES[5 - edge]);
            let (m, n) = (middle(edge), middle(5 - edge));
            for p in [nodes[i], nodes[j]] {
                add([p, m, nodes[k], n]);
                add([p, m, n, nodes[l]]);
            }
        }
        Some(Pattern::Face(face)) => {
            let ([a, b, c], top) = (FACES[face].map(|i| nodes[i]), nodes[face]);
            let [ab, bc, ca] = edges_of_face(FACES[face]).map(middle);
            for [p, q, r] in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]] {
                add([p, q, r, top]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sinew_math::Vec3;

    use super::*;
    use crate::mesher::quality::dihedral_range_of;
    use crate::mesher::shapes::ball;

    /// A ball that is split where a few small balls are, so that all patterns come.
    fn uneven(depth: u8, closure: Closure) -> Tree {
        let solid = ball(Vec3::zero(), 1.0);
        let mut tree = Tree::cover(&solid, 0.5, depth, 1_000_000).unwrap();
        let places = [Vec3::new(0.3, 0.2, 0.1), Vec3::new(-0.5, 0.1, 0.3), Vec3::new(0.1, -0.6, -0.2)];
        let wants = |tree: &Tree, cell: &TreeCell| places.iter().any(|p| p.distance(tree.center(cell)) < 0.13);
        tree.split_where(depth, 1_000_000, wants).unwrap();
        balance(&mut tree, closure);
        tree
    }

    /// TER-10: the shortest inner diagonal gives eight cells of half the size and the same shape.
    #[test]
    fn a_split_cell_is_eight_of_its_shape_and_half_its_size() {
        let mut tree = Tree::cover(&ball(Vec3::zero(), 1.0), 0.5, 1, 100_000).unwrap();
        let lengths = |tree: &Tree, nodes: [u32; 4]| {
            let x = nodes.map(|node| tree.position(node));
            let mut lengths = EDGES.map(|[i, j]| (x[i] - x[j]).norm_squared());
            lengths.sort_by(f64::total_cmp);
            lengths
        };
        let parents = tree.cells.clone();
        for (cell, parent) in parents.iter().enumerate().take(200) {
            let first = tree.cells.len();
            tree.split(cell);
            let halves = lengths(&tree, parent.nodes).map(|length| length / 4.0);
            for child in &tree.cells[first..] {
                // Coordinates are whole multiples of a power of two: exact.
                assert_eq!(lengths(&tree, child.nodes), halves);
                assert_eq!(8 * tree.volume(child.nodes), tree.volume(parent.nodes));
                let [a, b, c, d] = child.nodes.map(|node| tree.position(node));
                assert!((b - a).dot(d - c) == 0.0, "the long edges come first");
            }
        }
    }

    /// TER-10: the closed mesh fills the same volume, no edge of it has a node in its middle, and all four patterns
    /// keep the angles of green cells, 30° and 116.6° for the lattice.
    #[test]
    fn green_cells_leave_no_hanging_nodes_and_keep_their_angles() {
        let mut tree = uneven(3, Closure::Green);
        // Two opposite edges alone come seldom: this cell has its long ones split.
        let far = |leaf: &&TreeCell| tree.center(leaf).distance(Vec3::new(0.4, -0.4, 0.5)) < 0.2;
        let [a, b, c, d] = tree.leaves().find(far).unwrap().nodes;
        tree.split_edge(a, b);
        tree.split_edge(c, d);
        balance(&mut tree, Closure::Green);
        let cells = closed_cells(&tree);
        assert!(cells.iter().all(|nodes| tree.volume(*nodes) > 0));
        let total = |cells: &mut dyn Iterator<Item = [u32; 4]>| cells.map(|nodes| tree.volume(nodes)).sum::<i64>();
        assert_eq!(total(&mut cells.iter().copied()), total(&mut tree.leaves().map(|leaf| leaf.nodes)));
        for nodes in &cells {
            assert!(middles_of(&tree, *nodes).iter().all(Option::is_none));
        }
        let (least, most) = dihedral_range_of(&tree.positions(), &cells);
        let (least, most) = (least.to_degrees(), most.to_degrees());
        assert!(least > 29.99 && most < 116.6, "{least}° to {most}°");
        let kinds: Vec<usize> = tree.leaves().map(|leaf| middles_of(&tree, leaf.nodes).iter().flatten().count()).fold(
            vec![0; 4],
            |mut kinds, count| {
                kinds[count] += 1;
                kinds
            },
        );
        assert!(kinds.iter().all(|count| *count > 0), "each pattern comes: {kinds:?}");
    }

    /// Leaves of a graded tree have at most one node on each edge, in the middle.
    #[test]
    fn graded_leaves_touch_cells_of_half_their_size_at_most() {
        let tree = uneven(3, Closure::Grading);
        let free = uneven(0, Closure::Grading);
        assert!(free.leaves().count() < tree.leaves().count());
        for leaf in tree.leaves() {
            let middles = middles_of(&tree, leaf.nodes);
            assert!(!is_two_levels_apart(&tree, leaf.nodes, &middles));
        }
        // Brute force over pairs of leaves that share a node: sizes differ by a factor of four at most across a node,
        // two across an edge.
        let mut levels: Vec<Vec<u8>> = vec![Vec::new(); tree.keys.len()];
        tree.leaves().for_each(|leaf| leaf.nodes.iter().for_each(|node| levels[*node as usize].push(leaf.level)));
        let spread = |levels: &Vec<u8>| levels.iter().max().zip(levels.iter().min()).map_or(0, |(a, b)| a - b);
        assert!(levels.iter().map(spread).max() <= Some(2));
    }
}
