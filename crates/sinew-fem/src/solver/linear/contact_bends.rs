//! What the definite tangent of contact lacks: how normals turn as surfaces slide, and places that count back. Products
//! have it, cycles do not.

use std::sync::{Mutex, PoisonError};

use sinew_math::Vec3;
use sinew_math::krylov::{LinearOperator, dot};

use crate::contact::{Bend, ContactModel};
use crate::kinematics::{Jacobian, Kinematics, Unknowns};

/// Marks vertices and unknowns that take no part.
const NONE: u32 = u32::MAX;

/// Symmetric matrices over four vertices each, of vertices that unknowns carry.
#[derive(Default)]
pub(crate) struct ContactBends {
    bends: Vec<Bend>,
    vertices: CarriedVertices,
    /// Index of each vertex of the surface among those that take part.
    places: Vec<u32>,
}

/// Vertices with the unknowns that carry them.
#[derive(Default)]
struct CarriedVertices {
    offsets: Vec<u32>,
    /// Unknowns, weights, and one for each component that may move, else zero.
    entries: Vec<(u32, f32, Vec3<f32>)>,
    /// Motions of vertices, and forces on them.
    scratch: Mutex<[Vec<Vec3<f32>>; 2]>,
}

impl CarriedVertices {
    fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.entries.clear();
    }

    fn of(&self, vertex: usize) -> &[(u32, f32, Vec3<f32>)] {
        &self.entries[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    /// y += Wᵀ B W x.
    fn add_product(&self, bends: &[Bend], x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        let count = self.offsets.len().saturating_sub(1);
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let [motions, forces] = &mut *scratch;
        motions.clear();
        motions.extend((0..count).map(|vertex| {
            self.of(vertex).iter().fold(Vec3::zero(), |sum, &(unknown, w, _)| sum + x[unknown as usize] * w)
        }));
        forces.clear();
        forces.resize(count, Vec3::zero());
        for bend in bends {
            let moved = bend.vertices.map(|v| if v == NONE { Vec3::zero() } else { motions[v as usize] });
            for (row, &v) in bend.blocks.iter().zip(&bend.vertices).filter(|(_, v)| **v != NONE) {
                forces[v as usize] += row[0] * moved[0] + row[1] * moved[1] + row[2] * moved[2] + row[3] * moved[3];
            }
        }
        for (vertex, &force) in forces.iter().enumerate() {
            for &(unknown, w, free) in self.of(vertex) {
                y[unknown as usize] += (force * w).component_mul(free);
            }
        }
    }
}

impl ContactBends {
    /// Takes over the bends of a surface at the unknowns `q`. Vertices on bodies that rotate as a whole stay out.
    pub fn fill(&mut self, bends: &[Bend], contact: &ContactModel, kinematics: &Kinematics, q: &Unknowns) {
        let Self { bends: own, vertices, places } = self;
        own.clear();
        vertices.clear();
        places.clear();
        places.resize(contact.vertex_count(), NONE);
        for bend in bends {
            let placed = bend.vertices.map(|v| {
                if places[v as usize] == NONE {
                    for &(point, share) in contact.carriers(v as usize) {
                        kinematics.for_each_jacobian(q, point as usize, |unknown, jacobian| {
                            if let Jacobian::Scalar(factor) = jacobian {
                                let free = kinematics.fixed(unknown as usize).map(|f| if f { 0.0 } else { 1.0 });
                                vertices.entries.push((unknown, (share * factor) as f32, Vec3::from(free)));
                            }
                        });
                    }
                    places[v as usize] = vertices.offsets.len() as u32 - 1;
                    vertices.offsets.push(vertices.entries.len() as u32);
                }
                places[v as usize]
            });
            own.push(Bend { vertices: placed, ..*bend });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bends.is_empty()
    }

    /// Those that act on the unknowns with an index in `local`, over these.
    pub fn gather_local(&self, local: &[u32], out: &mut Self) {
        let Self { bends, vertices, places } = out;
        bends.clear();
        vertices.clear();
        places.clear();
        for vertex in 0..self.vertices.offsets.len().saturating_sub(1) {
            let known = vertices.entries.len();
            for &(unknown, w, free) in self.vertices.of(vertex) {
                if local[unknown as usize] != NONE {
                    vertices.entries.push((local[unknown as usize], w, free));
                }
            }
            if vertices.entries.len() > known {
                places.push(vertices.offsets.len() as u32 - 1);
                vertices.offsets.push(vertices.entries.len() as u32);
            } else {
                places.push(NONE);
            }
        }
        for bend in &self.bends {
            let placed = bend.vertices.map(|v| places[v as usize]);
            if placed.iter().any(|&v| v != NONE) {
                bends.push(Bend { vertices: placed, ..*bend });
            }
        }
    }

    pub fn add_product(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        if !self.is_empty() {
            self.vertices.add_product(&self.bends, x, y);
        }
    }
}

/// Whether no vector is longer than a limit. This form rejects NaN.
pub(super) fn is_within(vectors: &[Vec3<f32>], limit: f64) -> bool {
    vectors.iter().map(|v| f64::from(v.norm_squared())).fold(0.0, f64::max) <= limit * limit
}

/// A matrix together with bends.
pub(super) struct Bent<'a, O> {
    pub matrix: &'a O,
    pub bends: &'a ContactBends,
}

impl<O: LinearOperator<f32>> LinearOperator<f32> for Bent<'_, O> {
    fn node_count(&self) -> usize {
        self.matrix.node_count()
    }

    fn apply(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) {
        self.matrix.apply(x, y);
        self.bends.add_product(x, y);
    }

    fn apply_dot(&self, x: &[Vec3<f32>], y: &mut [Vec3<f32>]) -> f64 {
        if self.bends.is_empty() {
            return self.matrix.apply_dot(x, y);
        }
        self.apply(x, y);
        dot(x, y)
    }
}
