//! The triangles of all skinned surfaces at rest, welded into one mesh, and the ones of them that become flesh.

use std::collections::BTreeMap;

use sinew_geometry::TriMesh;
use sinew_math::Vec3;

use crate::flesh::FleshError;
use crate::repair::{flip_thin, merge};

/// Vertices closer than this fraction of the character's size are merged: the two sides of a seam, after rounding to 16
/// bits.
const WELD: f64 = 2e-5;
/// Closed pieces of at least this fraction of the volume of the largest are flesh, unless the user names the flesh.
const MIN_SHARE: f64 = 0.2;

/// Triangles of several pieces with separate vertices.
#[derive(Default)]
pub(crate) struct Soup {
    pub positions: Vec<Vec3>,
    pub weights: Vec<Vec<(u32, f64)>>,
    pub triangles: Vec<[u32; 3]>,
    /// Piece of each triangle.
    pub triangle_pieces: Vec<u32>,
    /// Pieces with their first vertex.
    pub pieces: Vec<(usize, usize)>,
}

/// The soup with closed seams.
pub(crate) struct Welded {
    pub positions: Vec<Vec3>,
    pub weights: Vec<Vec<(u32, f64)>>,
    pub triangles: Vec<[u32; 3]>,
    /// Piece of each triangle.
    pub pieces: Vec<u32>,
    /// Vertices of the soup, piece by piece, as vertices of this mesh.
    pub vertices_of: Vec<(usize, Vec<u32>)>,
    /// Vertices closer than this are merged \[m\].
    pub tolerance: f64,
    /// Triangles that had no area.
    pub flat: usize,
}

/// The part that is simulated.
pub(crate) struct Kept {
    pub surface: TriMesh,
    pub weights: Vec<Vec<(u32, f64)>>,
    /// Vertices of the pieces as vertices of the surface; `u32::MAX` for those that are no flesh.
    pub vertices_of: Vec<(usize, Vec<u32>)>,
}

impl Soup {
    pub fn add(&mut self, piece: usize, positions: impl Iterator<Item = Vec3>, triangles: &[[u32; 3]]) {
        let first = self.positions.len();
        self.pieces.push((piece, first));
        self.positions.extend(positions);
        self.triangle_pieces.resize(self.triangles.len() + triangles.len(), piece as u32);
        self.triangles.extend(triangles.iter().map(|triangle| triangle.map(|vertex| vertex + first as u32)));
    }

    /// Flips the last triangles.
    pub fn flip_last(&mut self, count: usize) {
        let first = self.triangles.len() - count;
        self.triangles[first..].iter_mut().for_each(|triangle| triangle.swap(1, 2));
    }

    /// Merges coincident vertices.
    pub fn weld(self) -> Welded {
        let (low, high) =
            self.positions.iter().fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(mut low, mut high), x| {
                for c in 0..3 {
                    (low[c], high[c]) = (low[c].min(x[c]), high[c].max(x[c]));
                }
                (low, high)
            });
        let size = (Vec3::from(high) - Vec3::from(low)).norm();
        let tolerance = (WELD * size).max(f64::MIN_POSITIVE);
        // Boxes twice as wide as the tolerance: close vertices lie in the same box or in a neighbor.
        let key = |x: Vec3, c: usize| ((x[c] - low[c]) / (2.0 * tolerance)).floor() as i64;
        let mut boxes: std::collections::HashMap<[i64; 3], Vec<u32>> = std::collections::HashMap::new();
        let mut new_of = Vec::with_capacity(self.positions.len());
        let (mut positions, mut weights): (Vec<Vec3>, Vec<Vec<(u32, f64)>>) = (Vec::new(), Vec::new());
        for (x, own) in self.positions.iter().zip(&self.weights) {
            let home = [0, 1, 2].map(|c| key(*x, c));
            // In each direction only the closer neighbor can hold something within the tolerance.
            let side =
                [0, 1, 2].map(|c| if (x[c] - low[c]) / (2.0 * tolerance) - home[c] as f64 >= 0.5 { 1 } else { -1 });
            let near = (0..8).find_map(|k: usize| {
                let place = std::array::from_fn(|c| home[c] + if k >> c & 1 == 1 { side[c] } else { 0 });
                boxes.get(&place)?.iter().copied().find(|&other| positions[other as usize].distance(*x) <= tolerance)
            });
            new_of.push(match near {
                Some(other) => {
                    // Both sides of a seam contribute.
                    weights[other as usize].extend_from_slice(own);
                    other
                }
                None => {
                    let new = positions.len() as u32;
                    boxes.entry(home).or_default().push(new);
                    positions.push(*x);
                    weights.push(own.clone());
                    new
                }
            });
        }
        weights.iter_mut().for_each(merge);
        let renumbered = self.triangles.iter().map(|triangle| triangle.map(|vertex| new_of[vertex as usize]));
        let is_whole = |([a, b, c], _): &([u32; 3], u32)| a != b && b != c && c != a;
        let (mut triangles, pieces): (Vec<[u32; 3]>, Vec<u32>) =
            renumbered.zip(self.triangle_pieces.iter().copied()).filter(is_whole).unzip();
        let collapsed = self.triangles.len() - triangles.len();
        let flat = collapsed + flip_thin(&positions, &mut triangles, tolerance);
        let ends = self.pieces.iter().skip(1).map(|piece| piece.1).chain([new_of.len()]);
        let vertices_of =
            self.pieces.iter().zip(ends).map(|(&(piece, first), end)| (piece, new_of[first..end].to_vec()));
        Welded { vertices_of: vertices_of.collect(), positions, weights, triangles, pieces, tolerance, flat }
    }
}

impl Welded {
    /// Triangles of flesh where nothing is repaired: all, or those of closed pieces that are large enough. If no piece is
    /// closed, all: the filling reports the defects.
    pub fn closed_pieces(&self, chooses: bool) -> Vec<bool> {
        let everything = vec![true; self.triangles.len()];
        if !chooses {
            return everything;
        }
        let mut roots: Vec<u32> = (0..self.positions.len() as u32).collect();
        fn root(roots: &mut [u32], mut vertex: u32) -> u32 {
            while roots[vertex as usize] != vertex {
                roots[vertex as usize] = roots[roots[vertex as usize] as usize];
                vertex = roots[vertex as usize];
            }
            vertex
        }
        for &[a, b, c] in &self.triangles {
            for other in [b, c] {
                let (a, other) = (root(&mut roots, a), root(&mut roots, other));
                roots[a as usize] = other;
            }
        }
        // Volume of each piece, and its unpaired edges.
        let mut volumes: BTreeMap<u32, f64> = BTreeMap::new();
        let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        let component: Vec<u32> = self.triangles.iter().map(|triangle| root(&mut roots, triangle[0])).collect();
        for (triangle, &component) in self.triangles.iter().zip(&component) {
            let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize]);
            *volumes.entry(component).or_default() += a.dot(b.cross(c)) / 6.0;
            for (from, to) in [(0, 1), (1, 2), (2, 0)].map(|(i, k)| (triangle[i], triangle[k])) {
                *edges.entry((from.min(to), from.max(to))).or_default() += if from < to { 1 } else { -1 };
            }
        }
        for ((from, _), balance) in edges {
            if balance != 0 {
                volumes.remove(&root(&mut roots, from));
            }
        }
        let largest = volumes.values().fold(0.0f64, |most, volume| most.max(volume.abs()));
        if volumes.is_empty() || largest == 0.0 {
            return everything;
        }
        let is_flesh =
            |component: &u32| volumes.get(component).is_some_and(|volume| volume.abs() >= MIN_SHARE * largest);
        component.iter().map(is_flesh).collect()
    }

    pub fn keep(&self, is_kept: &[bool]) -> Result<Kept, FleshError> {
        let mut new_of = vec![u32::MAX; self.positions.len()];
        let (mut positions, mut weights, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
        for (triangle, _) in self.triangles.iter().zip(is_kept).filter(|&(_, &kept)| kept) {
            triangles.push(triangle.map(|vertex| {
                let new = &mut new_of[vertex as usize];
                if *new == u32::MAX {
                    *new = positions.len() as u32;
                    positions.push(self.positions[vertex as usize]);
                    weights.push(self.weights[vertex as usize].clone());
                }
                *new
            }));
        }
        let numbers = |vertices: &[u32]| vertices.iter().map(|&vertex| new_of[vertex as usize]).collect();
        let vertices_of = self.vertices_of.iter().map(|(piece, vertices)| (*piece, numbers(vertices))).collect();
        let surface = TriMesh::new(positions, triangles).map_err(|error| FleshError::Mesh(error.to_string()))?;
        let surface = if surface.volume() < 0.0 { surface.flipped() } else { surface };
        Ok(Kept { surface, weights, vertices_of })
    }
}
