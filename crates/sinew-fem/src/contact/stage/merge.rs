//! Contacts of all pairs, each feature once, and their whole second derivative.

use sinew_math::{Mat3, Vec3};

use super::curvature::{Hessian, Parallelogram, of_distance};
use super::{Active, Chunk, ContactStage, NO_VERTEX};

/// Part of the stiffness of shared features that counts as rounding.
const ROUNDING: f64 = 1e-9;

/// Two edges whose repulsion fades out as they become parallel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fading {
    pub vertices: [u32; 4],
    /// Energy without fading, and its derivative by each vertex.
    pub energy: f64,
    pub slopes: [Vec3; 4],
    /// First and second derivative of the factor.
    pub rate: f64,
    pub bend: f64,
}

impl Fading {
    pub fn sides(&self, y: &[Vec3]) -> Parallelogram {
        let [a, b, c, d] = self.vertices.map(|v| y[v as usize]);
        Parallelogram::new(b - a, d - c)
    }
}

/// What the definite tangent of one contact lacks: a symmetric matrix over four vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bend {
    pub vertices: [u32; 4],
    pub blocks: [[Mat3<f32>; 4]; 4],
}

impl Bend {
    fn new(vertices: [u32; 4], hessian: &Hessian) -> Self {
        Self { vertices, blocks: hessian.map(|row| row.map(Mat3::from_f64)) }
    }
}

/// The contacts that act, each once, in a fixed order.
#[derive(Default)]
pub(super) struct Merged {
    pub active: Vec<Active>,
    order: Vec<([u32; 4], [u32; 2])>,
}

impl Merged {
    pub fn gather(&mut self, chunks: &[Chunk]) {
        let Self { active, order } = self;
        active.clear();
        order.clear();
        for (at, chunk) in chunks.iter().enumerate() {
            order.extend(chunk.features.iter().enumerate().map(|(k, part)| (part.name(), [at as u32, k as u32])));
        }
        order.sort_unstable();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            let parts = same.iter().map(|(_, [at, k])| &chunks[*at as usize].features[*k as usize]);
            let (mut slope, mut curvature, mut sizes) = (0.0, 0.0, [0.0; 2]);
            for part in parts.clone() {
                slope += part.slope;
                curvature += part.curvature;
                sizes = [sizes[0] + part.slope.abs(), sizes[1] + part.curvature.abs()];
            }
            if slope.abs() <= ROUNDING * sizes[0] && curvature.abs() <= ROUNDING * sizes[1] {
                continue;
            }
            // A pair of one feature may stand the other way around.
            let first = parts.clone().next().expect("not empty").named();
            active.push(Active { slope, curvature, force: first.normal * slope, ..first });
        }
        for chunk in chunks {
            active.extend_from_slice(&chunk.active);
        }
    }
}

impl Active {
    /// Whether its tangent is positive semi-definite.
    pub(super) fn is_stiff(&self) -> bool {
        self.curvature > 0.0
    }

    /// Vertices of either side, with weights.
    fn sides(&self) -> [(usize, [usize; 3]); 2] {
        let mut sides = [(0, [0; 3]); 2];
        for (i, w) in self.weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0) {
            let side = &mut sides[usize::from(w < 0.0)];
            side.1[side.0] = i;
            side.0 += 1;
        }
        sides
    }

    /// The same contact with vertices and sides in an order that depends on the feature alone: points first, then by
    /// number.
    fn named(&self) -> Self {
        let [(p, first), (q, second)] = self.sides();
        let at = |i: usize| self.vertices[i];
        match (p, q) {
            (1, 1) if at(second[0]) < at(first[0]) => self.turned().named(),
            (1, 1) => self.picked([first[0], second[0], second[0], second[0]], 2),
            (2, 1) => self.turned().named(),
            (1, 2) if at(second[1]) < at(second[0]) => self.picked([first[0], second[1], second[0], second[0]], 3),
            (1, 2) => self.picked([first[0], second[0], second[1], second[1]], 3),
            _ => *self,
        }
    }

    fn name(&self) -> [u32; 4] {
        self.named().vertices
    }

    fn turned(&self) -> Self {
        let [g, h] = self.groups;
        Self { weights: self.weights.map(|w| -w), normal: -self.normal, force: -self.force, groups: [h, g], ..*self }
    }

    /// The chosen vertices; those from `count` on have no weight.
    fn picked(&self, chosen: [usize; 4], count: usize) -> Self {
        let weights = std::array::from_fn(|k| if k < count { self.weights[chosen[k]] } else { 0.0 });
        Self { vertices: chosen.map(|i| self.vertices[i]), weights, ..*self }
    }
}

impl ContactStage {
    /// Adds what the definite tangent of barriers lacks at the last evaluated positions.
    pub fn bend(&self, bends: &mut Vec<Bend>) {
        for active in &self.merged.active {
            // Half-spaces do not turn, and penalties have fixed normals.
            if active.vertices[1] == NO_VERTEX || active.gap <= 0.0 || self.tree.is_none() {
                continue;
            }
            let y = active.vertices.map(|v| self.y[v as usize]);
            let stiff = if active.is_stiff() { 0.0 } else { active.curvature };
            let hessian = of_distance(y, active.weights, active.normal, active.gap, active.slope, stiff);
            bends.push(Bend::new(active.vertices, &hessian));
        }
        for fading in self.chunks.iter().flat_map(|chunk| &chunk.fading) {
            let mut hessian = [[Mat3::zero(); 4]; 4];
            fading.sides(&self.y).add_fading(fading.energy, &fading.slopes, [fading.rate, fading.bend], &mut hessian);
            bends.push(Bend::new(fading.vertices, &hessian));
        }
    }
}
