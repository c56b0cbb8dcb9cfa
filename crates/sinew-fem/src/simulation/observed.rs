//! What can be seen of a simulation: probes, contacts, and the frame that recorders get.

use std::borrow::Cow;
use std::ops::Range;

use sinew_geometry::shape::Pose;
use sinew_math::{Mat3, Vec3};

use super::Simulation;
use crate::contact::ContactPoint;
use crate::control::Control;
use crate::diagnostics::{BodySummary, summarize};
use crate::elastic::{Actuation, ElasticBlock};
use crate::frame::{BodyFrame, CellSource, Frame, ShapeFrame, cauchy};
use crate::lattice::LatticeBlock;
use crate::model::{ContactFinder, Model};
use crate::probe::{Probe, ProbeContext};
use crate::report::StepReport;
use crate::state::State;

impl Simulation {
    /// What can be read off the current frame.
    pub(super) fn observed(&self) -> &Observed {
        self.observed.get_or_init(|| {
            let mut observed = self.spare.take().unwrap_or_default();
            let Self { model, state, control, report, probes, .. } = self;
            observed.look(model, state, control, report, probes, self.renumbered());
            debug_assert_eq!(observed.values.len(), self.probe_names.len(), "one value per name");
            observed
        })
    }

    pub(super) fn forget_observed(&mut self) {
        if let Some(observed) = self.observed.take() {
            self.spare.set(Some(observed));
        }
    }

    /// What can be seen now.
    pub fn frame(&self) -> Frame<'_> {
        let (model, observed) = (&self.model, self.observed());
        let x = &self.state.positions;
        let bodies = model
            .bodies
            .iter()
            .enumerate()
            .map(|(index, body)| {
                let positions = &x[body.points.clone()];
                BodyFrame {
                    name: &body.name,
                    mesh: &body.mesh,
                    positions,
                    velocities: &self.state.velocities[body.points.clone()],
                    surface_triangles: &body.surface.triangles,
                    surface_positions: Cow::Owned(self.surface_positions(index)),
                    is_surface_carried: self.is_carried(index),
                    surface_nodes: &body.surface.nearest_nodes,
                    surface_embedding: body.surface.embedding.as_ref(),
                    cells: Box::new(BodyCells {
                        model,
                        control: &self.control,
                        blocks: body.elastic.clone(),
                        motion: self.state.history.last_motion(),
                        lattice: model.lattice_of(index),
                        x,
                        cells: body.mesh.cell_count(),
                    }),
                }
            })
            .collect();
        let rigid = model.rigid_bodies.iter().map(|rigid| {
            let block = model.kinematics.rigid_blocks()[rigid.block as usize];
            let pose = Pose {
                translation: self.state.unknowns.vectors[block.translation as usize],
                rotation: self.state.unknowns.rotations[rigid.block as usize],
            };
            ShapeFrame { name: &rigid.name, shape: &rigid.shape, pose, is_dynamic: true }
        });
        let colliders = model.colliders.iter().zip(&self.state.history.collider_poses).map(|(collider, pose)| {
            ShapeFrame { name: &collider.name, shape: &collider.shape, pose: *pose, is_dynamic: false }
        });
        Frame {
            index: self.frame_index,
            time: self.state.time,
            topology_revision: self.topology_revision(),
            bodies,
            shapes: rigid.chain(colliders).collect(),
            contacts: &observed.contacts,
            probe_names: &self.probe_names,
            probe_values: &observed.values,
            report: &self.report,
        }
    }
}

/// What is read off a frame: probes, and where bodies touch. Computed on first use, since it takes as long as an
/// evaluation of all forces.
#[derive(Default)]
pub(super) struct Observed {
    pub values: Vec<f64>,
    pub contacts: Vec<ContactPoint>,
    pub summaries: Vec<BodySummary>,
    finder: ContactFinder,
}

impl Observed {
    pub fn look(
        &mut self,
        model: &Model,
        state: &State,
        control: &Control,
        report: &StepReport,
        probes: &[Box<dyn Probe>],
        renumbered: Option<&[Option<u32>]>,
    ) {
        let Self { values, contacts, summaries, finder } = self;
        values.clear();
        summaries.clear();
        summaries.extend((0..model.bodies.len()).map(|body| summarize(model, body, state, control)));
        finder.find(model, state, control, contacts);
        let ctx = ProbeContext { model, state, control, report, summaries, contacts, renumbered };
        for probe in probes {
            probe.evaluate(&ctx, values);
        }
    }
}

/// Evaluates F and P per cell for [`BodyFrame::cell_fields`].
struct BodyCells<'a> {
    model: &'a Model,
    control: &'a Control,
    blocks: Range<usize>,
    /// Where points were before, where that matters to fibers.
    motion: Option<(&'a [Vec3], f64)>,
    lattice: Option<&'a LatticeBlock>,
    x: &'a [Vec3],
    cells: usize,
}

impl CellSource for BodyCells<'_> {
    fn evaluate(&self) -> (Vec<Mat3>, Option<Vec<Mat3>>) {
        let mut deformation = vec![Mat3::zero(); self.cells];
        let mut stress = vec![Mat3::zero(); self.cells];
        let blocks: &[ElasticBlock] = &self.model.elastic[self.blocks.clone()];
        for block in blocks {
            let activations = self.model.activations(block.body, self.control);
            let actuation = Actuation { activations: &activations, motion: self.motion };
            for (k, &cell) in block.cells().iter().enumerate() {
                let (mut f, mut p) = (Mat3::zero(), Mat3::zero());
                block.evaluate_cell(k, self.x, &actuation, |weight, deformation, stress| {
                    f += deformation * weight;
                    p += stress * weight;
                });
                let volume = block.rest_volume(k);
                let (f, p) = (f / volume, p * (self.model.stiffness_of(block, self.control) / volume));
                deformation[cell as usize] = f;
                stress[cell as usize] = cauchy(&f, &p);
            }
        }
        if let Some(block) = self.lattice {
            let scale = self.model.body_stiffness(block.body, self.control);
            let activations = block.activations(self.control, scale);
            for (cell, (deformation, stress)) in deformation.iter_mut().zip(&mut stress).enumerate() {
                *deformation = block.deformation(cell, self.x);
                *stress = cauchy(deformation, &(block.stress(cell, deformation, &activations) * scale));
            }
        }
        (deformation, Some(stress))
    }
}
