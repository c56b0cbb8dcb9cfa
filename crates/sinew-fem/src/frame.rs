//! Output of a simulation at one time, and where it goes.
//!
//! A [`Frame`] borrows everything from the simulation; a [`Recorder`] is a sink: a file, a picture, a page, a test.

#![allow(non_snake_case)]

use std::borrow::Cow;
use std::path::PathBuf;

use sinew_geometry::CellMesh;
use sinew_geometry::embedding::Embedding;
use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::{Mat3, Vec3};
use thiserror::Error;

use crate::contact::ContactPoint;
use crate::report::StepReport;

/// All output at one time.
pub struct Frame<'a> {
    /// Number of the frame; 0 is the initial state.
    pub index: usize,
    /// Simulated time \[s\].
    pub time: f64,
    /// Changes when the cells of a body change (cutting, remeshing); recorders support this or return a clear error.
    pub topology_revision: u64,
    /// Deformable bodies, in scene order.
    pub bodies: Vec<BodyFrame<'a>>,
    /// Rigid bodies and colliders, in scene order.
    pub shapes: Vec<ShapeFrame<'a>>,
    /// Contact points of bodies with each other, themselves and colliders; empty in recordings without them.
    pub contacts: &'a [ContactPoint],
    /// Names of the probes, the same in every frame.
    pub probe_names: &'a [String],
    /// Values of the probes, one per name.
    pub probe_values: &'a [f64],
    /// How the frame was computed.
    pub report: &'a StepReport,
}

impl Frame<'_> {
    /// Value of a probe by name.
    pub fn probe(&self, name: &str) -> Option<f64> {
        self.probe_names.iter().position(|n| n == name).map(|i| self.probe_values[i])
    }
}

/// One deformable body.
pub struct BodyFrame<'a> {
    /// Name from the scene.
    pub name: &'a str,
    /// Mesh at rest.
    pub mesh: &'a CellMesh,
    /// Positions of the nodes \[m\].
    pub positions: &'a [Vec3],
    /// Velocities of the nodes \[m/s\].
    pub velocities: &'a [Vec3],
    /// Triangles of the visible surface (the mesh boundary, or an embedded surface), indices into `surface_positions`.
    pub surface_triangles: &'a [[u32; 3]],
    /// Deformed positions of the visible surface \[m\].
    pub surface_positions: Cow<'a, [Vec3]>,
    /// Whether they are where the nodes carry the surface. Art direction may show less of what the flesh does.
    pub is_surface_carried: bool,
    /// For each surface vertex the node nearest to it at rest; maps nodal fields to the surface.
    pub surface_nodes: &'a [u32],
    /// Embedding of the surface vertices; `None` when they are the nodes in `surface_nodes`.
    pub surface_embedding: Option<&'a Embedding>,
    /// Deformation and stress for [`BodyFrame::cell_fields`].
    pub cells: Box<dyn CellSource + 'a>,
}

/// Moves the visible surface of a body after its nodes have carried it: art direction. Forces and contact do not see it.
///
/// What it remembers from frame to frame is part of the state ([`crate::state::History::surfaces`]).
pub trait SurfaceFinish: Send + Sync {
    /// Number of vectors that it remembers.
    fn memory_size(&self) -> usize {
        0
    }

    /// Fills the memory for a start at rest with the surface where its nodes carry it.
    fn start(&self, _carried: &[Vec3], _memory: &mut [Vec3]) {}

    /// Takes the memory over a frame of `dt` \[s\], at whose end the nodes carry the surface to `carried`.
    fn advance(&self, _dt: f64, _carried: &[Vec3], _memory: &mut [Vec3]) {}

    /// Moves the vertices at a time \[s\] from where the nodes carry them.
    fn finish(&self, time: f64, memory: &[Vec3], surface: &mut [Vec3]);
}

/// Source of deformation and stress of a body's cells: its constitutive laws, or a recording.
pub trait CellSource {
    /// Deformation gradient F of each cell, averaged over the cell, and Cauchy stress σ = P Fᵀ / J \[Pa\], or `None`
    /// where the stress is unknown.
    fn evaluate(&self) -> (Vec<Mat3>, Option<Vec<Mat3>>);
}

/// Fields per cell, computed on demand because they take a pass over the mesh.
#[derive(Clone, Debug, Default)]
pub struct CellFields {
    /// Deformation gradient F, averaged over the cell.
    pub deformation_gradient: Vec<Mat3>,
    /// Volume ratio J = det F.
    pub volume_ratio: Vec<f64>,
    /// Cauchy stress σ = P Fᵀ / J \[Pa\]; empty where the stress is unknown.
    pub cauchy_stress: Vec<Mat3>,
    /// Von Mises stress √(3/2 s:s), s the deviator of σ \[Pa\]; empty where the stress is unknown.
    pub von_mises: Vec<f64>,
    /// Principal stretches, largest first; the smallest carries the sign of J.
    pub principal_stretches: Vec<Vec3>,
}

impl BodyFrame<'_> {
    /// Deformation and stress of every cell.
    pub fn cell_fields(&self) -> CellFields {
        let (deformation_gradient, stress) = self.cells.evaluate();
        let cauchy_stress = stress.unwrap_or_default();
        CellFields {
            volume_ratio: deformation_gradient.iter().map(Mat3::determinant).collect(),
            von_mises: cauchy_stress.iter().map(crate::elastic::von_mises).collect(),
            principal_stretches: deformation_gradient.iter().map(|F| sinew_math::svd3::svd3_plain(F).sigma).collect(),
            deformation_gradient,
            cauchy_stress,
        }
    }
}

/// σ = P Fᵀ / J \[Pa\]. A flat cell has no Cauchy stress; it gets the Kirchhoff value instead of infinity.
pub(crate) fn cauchy(F: &Mat3, P: &Mat3) -> Mat3 {
    let J = F.determinant();
    *P * F.transpose() * (1.0 / if J.abs() > 1e-9 { J } else { 1.0 })
}

/// A rigid body or a collider.
pub struct ShapeFrame<'a> {
    /// Name from the scene.
    pub name: &'a str,
    /// Geometry in its own frame.
    pub shape: &'a AnyShape,
    /// World from shape.
    pub pose: Pose,
    /// Whether forces move the shape (a rigid body), or the scene does (a collider).
    pub is_dynamic: bool,
}

/// Why a frame could not be written.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file system returned an error.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The format cannot represent the frame.
    #[error("{format} cannot hold this frame: {reason}")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// The part that does not fit.
        reason: String,
    },
    /// An [`Interrupt`](crate::Interrupt) came before the output was complete; no part of it remains.
    #[error("interrupted")]
    Interrupted,
}

/// Numbers about an output, for the report of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputFigures {
    /// The file that they are about.
    pub file: String,
    /// What they are, in a few words.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, row by row.
    pub rows: Vec<Vec<f64>>,
}

/// A destination of frames.
pub trait Recorder {
    /// Records one frame.
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError>;
    /// Completes the output; a recorder stopped early still leaves a valid file.
    fn finish(&mut self) -> Result<(), RecordError>;
    /// Like `finish`; an output that takes long calls `watch` with the number of parts done and of all parts.
    fn finish_watched(&mut self, _watch: &mut dyn FnMut(usize, usize)) -> Result<(), RecordError> {
        self.finish()
    }
    /// Notes for the user about the output, such as an error that the format introduces; complete after `finish`.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Numbers about the output; complete after `finish`.
    fn figures(&self) -> Vec<OutputFigures> {
        Vec::new()
    }
}
