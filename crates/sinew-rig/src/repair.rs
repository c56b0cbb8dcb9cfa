//! Repairs defects of skins: triangles without area, and vertices without weight.

use std::collections::HashMap;

use sinew_math::Vec3;

/// A flip may make the adjacent triangle thin; longer chains than this are left alone.
const PASSES: usize = 8;
/// Marks an edge with more than one triangle.
const MANY: usize = usize::MAX;

/// Flips the longest edge of triangles thinner than a length \[m\], so that no vertex lies on the opposite edge: the
/// surface moves by no more than that length. Returns their number.
pub(crate) fn flip_thin(positions: &[Vec3], triangles: &mut [[u32; 3]], thin: f64) -> usize {
    let mut at_edge: HashMap<[u32; 2], usize> = HashMap::new();
    let mut found = 0;
    for pass in 0..PASSES {
        let thin: Vec<usize> = (0..triangles.len()).filter(|&k| height(positions, triangles[k]) < thin).collect();
        if pass == 0 {
            found = thin.len();
        }
        if thin.is_empty() {
            break;
        }
        if pass == 0 {
            for (k, &[a, b, c]) in triangles.iter().enumerate() {
                for edge in [[a, b], [b, c], [c, a]] {
                    at_edge.entry(edge).and_modify(|triangle| *triangle = MANY).or_insert(k);
                }
            }
        }
        let mut has_flipped = false;
        for k in thin {
            let [a, b, c] = longest_first(positions, triangles[k]);
            let Some(&beside) = at_edge.get(&[b, a]) else { continue };
            if beside == MANY || at_edge.get(&[a, b]) == Some(&MANY) {
                continue;
            }
            let Some(d) = triangles[beside].into_iter().find(|vertex| ![a, b].contains(vertex)) else { continue };
            // An edge that already exists would get four triangles.
            if d == c || at_edge.contains_key(&[c, d]) || at_edge.contains_key(&[d, c]) {
                continue;
            }
            (triangles[k], triangles[beside]) = ([c, a, d], [d, b, c]);
            at_edge.remove(&[a, b]);
            at_edge.remove(&[b, a]);
            at_edge.extend([([a, d], k), ([d, c], k), ([b, c], beside), ([c, d], beside)]);
            has_flipped = true;
        }
        if !has_flipped {
            break;
        }
    }
    found
}

/// The vertices in order, with the longest edge from the first to the second.
fn longest_first(positions: &[Vec3], [a, b, c]: [u32; 3]) -> [u32; 3] {
    let length = |[a, b, _]: &[u32; 3]| positions[*a as usize].distance(positions[*b as usize]);
    let turns = [[a, b, c], [b, c, a], [c, a, b]];
    turns.into_iter().max_by(|x, y| length(x).total_cmp(&length(y))).unwrap_or([a, b, c])
}

/// Height over the longest edge \[m\].
fn height(positions: &[Vec3], triangle: [u32; 3]) -> f64 {
    let [a, b, c] = longest_first(positions, triangle).map(|vertex| positions[vertex as usize]);
    (b - a).cross(c - a).norm() / (b - a).norm().max(f64::MIN_POSITIVE)
}

/// Gives vertices without weight the mean weights of their neighbors, layer by layer. Vertices not connected to any
/// with weights are unchanged.
pub(crate) fn spread_weights(weights: &mut [Vec<(u32, f64)>], triangles: &[[u32; 3]]) {
    loop {
        let mut gathered: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
        for &[a, b, c] in triangles {
            for [from, to] in [[a, b], [b, c], [c, a], [b, a], [c, b], [a, c]] {
                let (from, to) = (&weights[from as usize], to as usize);
                if weights[to].is_empty() && !from.is_empty() {
                    gathered.entry(to as u32).or_default().extend(from);
                }
            }
        }
        if gathered.is_empty() {
            return;
        }
        for (vertex, mut shares) in gathered {
            merge(&mut shares);
            weights[vertex as usize] = shares;
        }
    }
}

/// Adds weights of the same joint, and normalizes them.
pub(crate) fn merge(shares: &mut Vec<(u32, f64)>) {
    shares.sort_by_key(|&(joint, _)| joint);
    shares.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    let total: f64 = shares.iter().map(|share| share.1).sum();
    shares.iter_mut().for_each(|share| share.1 /= total);
    shares.retain(|share| share.1 > 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tetrahedron with another vertex on its first edge and a triangle without area: the edge is flipped, and every
    /// edge still has two triangles.
    #[test]
    fn a_vertex_on_an_edge_is_taken_into_the_triangle_beside_it() {
        let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.0]].map(Vec3::from);
        // Vertex 4 lies on the edge from 0 to 1; the triangle 0 2 1 does not contain it, and 0 1 4 fills the gap of
        // zero width.
        let mut triangles = [[0, 2, 1], [0, 1, 4], [0, 4, 3], [4, 1, 3], [0, 3, 2], [1, 2, 3]];
        let volume = |triangles: &[[u32; 3]]| -> f64 {
            let corner = |vertex: u32| positions[vertex as usize];
            triangles.iter().map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0).sum()
        };
        let before = volume(&triangles);
        assert_eq!(flip_thin(&positions, &mut triangles, 1e-6), 1);
        assert_eq!(flip_thin(&positions, &mut triangles, 1e-6), 0);
        assert!((volume(&triangles) - before).abs() < 1e-15);
        let mut edges: Vec<[u32; 2]> = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).collect();
        edges.sort_unstable();
        for [a, b] in &edges {
            assert_eq!(edges.iter().filter(|edge| **edge == [*a, *b]).count(), 1);
            assert!(edges.binary_search(&[*b, *a]).is_ok(), "edge {a} {b} is open");
        }
    }

    #[test]
    fn weights_are_taken_over_from_the_nearest_that_have_some() {
        let triangles = [[0, 1, 2], [1, 3, 2], [4, 5, 6]];
        let mut weights = vec![vec![(7, 1.0)], vec![], vec![(8, 1.0)], vec![], vec![], vec![], vec![]];
        spread_weights(&mut weights, &triangles);
        assert_eq!(weights[1].iter().map(|share| share.0).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(weights[3], [(8, 1.0)]);
        assert!(weights.iter().take(4).all(|shares| (shares.iter().map(|s| s.1).sum::<f64>() - 1.0).abs() < 1e-15));
        assert!(weights[4..].iter().all(Vec::is_empty), "vertices without weighted neighbors must stay empty");
    }
}
