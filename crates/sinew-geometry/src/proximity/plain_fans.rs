//! Vertices whose triangles cannot cross each other.

use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

/// Vertices per block of parallel work: about ten microseconds.
const BLOCK: usize = 512;

/// Least sine by which a triangle must turn, seen along the fan: rounding changes it by a millionth of this.
const CLEAR: f64 = 1e-9;

/// The neighbors of each vertex in order, where its triangles form one closed fan.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainFans {
    /// The rim of vertex v is `rims[begin[v]..begin[v + 1]]`; empty if there is no closed fan.
    begin: Vec<u32>,
    rims: Vec<u32>,
    is_plain: Vec<bool>,
}

impl PlainFans {
    pub fn new(vertex_count: usize, triangles: &[[u32; 3]]) -> Self {
        // The two other corners of each triangle at a vertex, by counting sort.
        let mut first = vec![0u32; vertex_count + 1];
        triangles.iter().flatten().for_each(|&v| first[v as usize + 1] += 1);
        for v in 0..vertex_count {
            first[v + 1] += first[v];
        }
        let mut cursor = first.clone();
        let mut sides = vec![[0u32; 2]; 3 * triangles.len()];
        for triangle in triangles {
            for corner in 0..3 {
                let at = &mut cursor[triangle[corner] as usize];
                sides[*at as usize] = [triangle[(corner + 1) % 3], triangle[(corner + 2) % 3]];
                *at += 1;
            }
        }
        let mut fans =
            Self { begin: vec![0], rims: Vec::with_capacity(sides.len()), is_plain: vec![false; vertex_count] };
        for v in 0..vertex_count {
            let own = &mut sides[first[v] as usize..first[v + 1] as usize];
            if close(own) {
                fans.rims.extend(own.iter().map(|side| side[0]));
            }
            fans.begin.push(fans.rims.len() as u32);
        }
        fans
    }

    /// Finds the vertices whose triangles meet only in the vertices and edges that they share.
    ///
    /// Seen along a direction n, the triangles of such a fan all turn the same way around the vertex, and together they
    /// turn once. So the fan is a graph over the plane across n, and a graph does not cross itself. The sum of the area
    /// vectors serves as n.
    pub fn look(&mut self, vertices: &[Vec3]) {
        let Self { begin, rims, is_plain } = self;
        let (begin, rims) = (&*begin, &*rims);
        for_each_block_mut(&mut is_plain[..], BLOCK, |first, block| {
            for (k, is_plain) in block.iter_mut().enumerate() {
                let v = first + k;
                let rim = &rims[begin[v] as usize..begin[v + 1] as usize];
                *is_plain = rim.len() >= 3 && turns_once(vertices, vertices[v], rim);
            }
        });
    }

    /// Whether two triangles share a vertex that is plain, so that they cannot cross.
    #[inline(always)]
    pub fn are_plain_neighbors(&self, s: [u32; 3], t: [u32; 3]) -> bool {
        s.iter().any(|v| t.contains(v) && self.is_plain[*v as usize])
    }
}

/// Sorts the sides opposite to a vertex, so that each begins where the last one ends; returns whether they close.
fn close(sides: &mut [[u32; 2]]) -> bool {
    for k in 1..sides.len() {
        let end = sides[k - 1][1];
        let Some(next) = (k..sides.len()).find(|&j| sides[j][0] == end) else { return false };
        sides.swap(k, next);
        // A rim that closes early belongs to two fans that meet in a point.
        if sides[k][0] == sides[0][0] {
            return false;
        }
    }
    !sides.is_empty() && sides[sides.len() - 1][1] == sides[0][0]
}

fn turns_once(vertices: &[Vec3], center: Vec3, rim: &[u32]) -> bool {
    let edge = |k: usize| vertices[rim[if k == rim.len() { 0 } else { k }] as usize] - center;
    let (mut normal, mut last) = (Vec3::zero(), edge(0));
    for k in 1..=rim.len() {
        let next = edge(k);
        normal += last.cross(next);
        last = next;
    }
    // Exactly across the normal, whatever rounding did to that: products with it have signs that are seen along the
    // normal.
    let across = if normal.z.abs() >= normal.x.abs() {
        Vec3::new(0.0, normal.z, -normal.y)
    } else {
        Vec3::new(-normal.y, normal.x, 0.0)
    };
    let squared = normal.norm_squared();
    let mut last = edge(0);
    let (mut was_ahead, mut turns) = (last.dot(across) >= 0.0, 0);
    for k in 1..=rim.len() {
        let next = edge(k);
        let turn = last.cross(next).dot(normal);
        let least = CLEAR * CLEAR * last.norm_squared() * next.norm_squared() * squared;
        // Too small to be sure, or to have a square.
        if !(turn > 0.0 && turn * turn > least && least > f64::MIN_POSITIVE) {
            return false;
        }
        let is_ahead = next.dot(across) >= 0.0;
        turns += usize::from(is_ahead && !was_ahead);
        (last, was_ahead) = (next, is_ahead);
    }
    turns == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fan of `count` triangles around the origin that turns by `turns` full turns, each rim vertex at its height.
    fn fan(count: usize, turns: f64, height: impl Fn(usize) -> f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let angle = |k: usize| std::f64::consts::TAU * turns * (k as f64 + 0.3) / count as f64;
        let rim = (0..count).map(|k| Vec3::new(angle(k).cos(), angle(k).sin(), height(k)));
        let vertices = std::iter::once(Vec3::zero()).chain(rim).collect();
        let next = |k: usize| ((k + 1) % count) as u32 + 1;
        (vertices, (0..count).map(|k| [0, k as u32 + 1, next(k)]).collect())
    }

    fn is_plain((vertices, triangles): &(Vec<Vec3>, Vec<[u32; 3]>)) -> bool {
        let mut fans = PlainFans::new(vertices.len(), triangles);
        fans.look(vertices);
        assert!(!fans.is_plain[1..].iter().any(|is| *is), "the rim is open");
        fans.are_plain_neighbors(triangles[0], triangles[1])
    }

    #[test]
    fn fans_that_turn_once_are_plain() {
        assert!(is_plain(&fan(6, 1.0, |_| 0.0)));
        assert!(is_plain(&fan(3, 1.0, |_| -0.4)), "a cone");
        assert!(is_plain(&fan(8, 1.0, |k| if k % 2 == 0 { 0.5 } else { -0.5 })), "a saddle");
        let (mut vertices, triangles) = fan(7, 1.0, |k| 0.1 * k as f64);
        // Any place and any size.
        vertices.iter_mut().for_each(|x| *x = *x * 1e-3 + Vec3::new(3.0, -7.0, 11.0));
        assert!(is_plain(&(vertices, triangles)));
    }

    #[test]
    fn folds_and_open_fans_are_not_plain() {
        assert!(!is_plain(&fan(9, 2.0, |k| 0.1 * k as f64)), "it turns twice");
        let (vertices, mut triangles) = fan(6, 1.0, |_| 0.0);
        triangles.pop();
        assert!(!is_plain(&(vertices.clone(), triangles.clone())), "it is open");
        triangles.extend([[0, 6, 1], [0, 1, 2]]);
        assert!(!is_plain(&(vertices, triangles)), "a triangle is there twice");
        let (mut vertices, triangles) = fan(6, 1.0, |_| 0.0);
        vertices[1] = -vertices[1];
        assert!(!is_plain(&(vertices.clone(), triangles.clone())), "it is folded");
        vertices[1] = vertices[2];
        assert!(!is_plain(&(vertices, triangles)), "a triangle has no area");
    }
}
