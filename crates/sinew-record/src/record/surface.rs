//! Visible surfaces of a recording: bodies and shapes, the same ones at every frame.

use sinew_fem::{BodyFrame, Frame, RecordError};
use sinew_geometry::shape::Pose;
use sinew_math::Vec3;
use sinew_raster::{Rgb, ShapeMesh};
use sinew_scene::output::file_stem;

use super::shapes::{PLANE_HALF, f32s, points_f32, shape_mesh};

/// One body or shape.
pub(crate) struct Part {
    /// Name from the scene.
    pub name: String,
    pub triangles: Vec<[u32; 3]>,
    pub vertex_count: usize,
    pub color: Rgb,
    /// Points of a shape in its own coordinates; `None` for a body, which deforms.
    pub rigid_points: Option<Vec<[f32; 3]>>,
}

/// All visible parts in the order of the scene, bodies first.
pub(crate) struct Cast {
    pub parts: Vec<Part>,
    pub body_count: usize,
    topology_revision: u64,
}

/// Number of rings of a round shape: smooth enough to look at, few enough to write.
const RINGS: usize = 24;

impl Cast {
    /// The parts of the first frame.
    pub fn of(frame: &Frame<'_>) -> Cast {
        let bodies = frame.bodies.iter().enumerate().map(|(number, body)| Part {
            name: body.name.into(),
            triangles: body.surface_triangles.to_vec(),
            vertex_count: body.surface_positions.len(),
            color: Rgb::of_body(number),
            rigid_points: None,
        });
        let shapes = frame.shapes.iter().map(|shape| {
            let ShapeMesh { positions, triangles } = shape_mesh(shape.shape, PLANE_HALF, RINGS);
            Part {
                name: shape.name.into(),
                triangles,
                vertex_count: positions.len(),
                color: Rgb([0.6, 0.62, 0.65]),
                rigid_points: Some(positions),
            }
        });
        Cast {
            parts: bodies.chain(shapes).collect(),
            body_count: frame.bodies.len(),
            topology_revision: frame.topology_revision,
        }
    }

    /// The cast of a frame, made anew where cells have changed: for files of single frames.
    pub fn following<'a>(cast: &'a mut Option<Cast>, frame: &Frame<'_>) -> &'a Cast {
        cast.take_if(|cast| cast.topology_revision != frame.topology_revision);
        cast.get_or_insert_with(|| Cast::of(frame))
    }

    /// Takes over the surfaces of bodies whose cells have changed; whether they have.
    pub fn follow(&mut self, frame: &Frame<'_>) -> bool {
        if frame.topology_revision == self.topology_revision {
            return false;
        }
        self.topology_revision = frame.topology_revision;
        for (part, body) in self.parts.iter_mut().zip(&frame.bodies) {
            part.triangles = body.surface_triangles.to_vec();
            part.vertex_count = body.surface_positions.len();
        }
        true
    }

    /// An error if a frame has other parts.
    pub fn check(&self, frame: &Frame<'_>, format: &'static str) -> Result<(), RecordError> {
        let is_same = frame.topology_revision == self.topology_revision
            && frame.bodies.len() == self.body_count
            && frame.bodies.len() + frame.shapes.len() == self.parts.len()
            && frame
                .bodies
                .iter()
                .zip(&self.parts)
                .all(|(body, part)| body.surface_positions.len() == part.vertex_count);
        if is_same {
            return Ok(());
        }
        let reason = match frame.topology_revision == self.topology_revision {
            true => format!("the surfaces at frame {} differ from those of the first frame", frame.index),
            false => format!("cells are gone at frame {}, and the file has one surface for all frames", frame.index),
        };
        Err(RecordError::Unsupported { format, reason })
    }

    /// Bodies.
    pub fn bodies(&self) -> &[Part] {
        &self.parts[..self.body_count]
    }

    /// Unique names for files.
    pub fn file_stems(&self) -> Vec<String> {
        let mut stems: Vec<String> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let stem = file_stem(&part.name, number);
            let is_taken = stems.contains(&stem);
            stems.push(if is_taken { format!("{stem}-{number}") } else { stem });
        }
        stems
    }

    /// Positions of all parts in the world \[m\], in the order of `parts`.
    pub fn positions(&self, frame: &Frame<'_>) -> Vec<Vec<[f32; 3]>> {
        let bodies = frame.bodies.iter().map(|body| points_f32(&body.surface_positions));
        let shapes = frame.shapes.iter().zip(&self.parts[self.body_count..]).map(|(shape, part)| {
            let points = part.rigid_points.as_deref().unwrap_or_default();
            points.iter().map(|point| placed(*point, &shape.pose)).collect()
        });
        bodies.chain(shapes).collect()
    }
}

/// A point of a shape in the world.
fn placed(point: [f32; 3], pose: &Pose) -> [f32; 3] {
    f32s(pose.to_world(Vec3::from(point.map(f64::from))))
}

/// The visible surface of a body at rest.
pub(crate) fn rest_surface(body: &BodyFrame<'_>) -> Vec<Vec3> {
    carried(body, body.mesh.positions())
}

/// Velocities of the visible surface \[m/s\].
pub(crate) fn surface_velocities(body: &BodyFrame<'_>) -> Vec<Vec3> {
    carried(body, body.velocities)
}

/// Vectors of the nodes, interpolated to the vertices of the visible surface.
fn carried(body: &BodyFrame<'_>, nodal: &[Vec3]) -> Vec<Vec3> {
    match body.surface_embedding {
        None => body.surface_nodes.iter().map(|&node| nodal.get(node as usize).copied().unwrap_or_default()).collect(),
        Some(embedding) => {
            let mut values = vec![Vec3::zero(); embedding.len()];
            embedding.positions(nodal, &mut values);
            values
        }
    }
}
