//! One recorded frame: integers for coding, numbers for everything else.

use std::borrow::Cow;

use sinew_fem::contact::{ContactPoint, Party};
use sinew_fem::element::mean_deformation_gradients;
use sinew_fem::report::{Energies, StepTiming};
use sinew_fem::{BodyFrame, CellSource, Frame, ShapeFrame, StepReport};
use sinew_geometry::CellMesh;
use sinew_geometry::shape::Pose;
use sinew_math::{Mat3, Vec3};

use super::StoreError;
use super::arrays::{self, Levels, Quantizer};
use super::bytes::{ByteReader, ByteWriter};
use super::header::Header;

/// A recorded frame.
#[derive(Clone, Debug, Default)]
pub struct StoredFrame {
    /// Index of the frame in the run.
    pub index: usize,
    /// Simulated time \[s\].
    pub time: f64,
    /// Changes when the cells of a body change.
    pub topology_revision: u64,
    /// Values of the probes.
    pub probes: Vec<f64>,
    /// The solver's report, without timing, so that two runs of a scene have equal recordings.
    pub report: StepReport,
    /// Deformable bodies; empty if only probes were recorded.
    pub(super) bodies: Vec<StoredBody>,
    /// Poses of rigid bodies and colliders.
    pub(super) poses: Vec<Pose>,
    /// Contact points; empty if not recorded.
    pub(super) contacts: Vec<ContactPoint>,
    /// Whether shapes and bodies were recorded, not only probes.
    pub has_geometry: bool,
}

/// Nodes and cells of a body.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredBody {
    pub positions: Vec<Vec3>,
    pub velocities: Vec<Vec3>,
    /// σ₁₁, σ₂₂, σ₃₃, σ₂₃, σ₁₃, σ₁₂ of each cell \[Pa\]; empty if not recorded.
    pub stress: Vec<[f64; 6]>,
    /// The visible surface, where the nodes do not carry it there; else empty.
    pub surface: Vec<Vec3>,
}

impl StoredFrame {
    /// The frame in the form that recorders take.
    pub fn view<'a>(&'a self, header: &'a Header) -> Frame<'a> {
        let bodies = header.bodies_at(self.topology_revision).iter().zip(&self.bodies);
        let bodies = bodies.map(|(body, stored)| BodyFrame {
            name: &body.name,
            mesh: &body.mesh,
            positions: &stored.positions,
            velocities: &stored.velocities,
            surface_triangles: &body.triangles,
            surface_positions: match stored.surface.is_empty() {
                true => Cow::Owned(body.surface_positions(&stored.positions)),
                false => Cow::Borrowed(&stored.surface),
            },
            is_surface_carried: stored.surface.is_empty(),
            surface_nodes: &body.nearest_nodes,
            surface_embedding: body.embedding.as_ref(),
            cells: Box::new(StoredCells { mesh: &body.mesh, stored }),
        });
        let shapes = header.shapes.iter().zip(&self.poses).map(|(shape, pose)| ShapeFrame {
            name: &shape.name,
            shape: &shape.shape,
            pose: *pose,
            is_dynamic: shape.is_dynamic,
        });
        Frame {
            index: self.index,
            time: self.time,
            topology_revision: self.topology_revision,
            bodies: bodies.collect(),
            shapes: shapes.collect(),
            probe_names: &header.probe_names,
            contacts: &self.contacts,
            probe_values: &self.probes,
            report: &self.report,
        }
    }
}

struct StoredCells<'a> {
    mesh: &'a CellMesh,
    stored: &'a StoredBody,
}

impl CellSource for StoredCells<'_> {
    fn evaluate(&self) -> (Vec<Mat3>, Option<Vec<Mat3>>) {
        // The mesh was simulated, so its cells have a volume.
        let deformation = mean_deformation_gradients(self.mesh, &self.stored.positions).unwrap_or_default();
        let full = |&[xx, yy, zz, yz, xz, xy]: &[f64; 6]| Mat3::new([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
        let stress = (!self.stored.stress.is_empty()).then(|| self.stored.stress.iter().map(full).collect());
        (deformation, stress)
    }
}

/// Integers of all arrays of a frame, from which later frames are predicted.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameLevels {
    arrays: Vec<(Quantizer, Levels)>,
}

/// Flags of the contents of a frame.
const IS_KEY: u8 = 1;
const HAS_GEOMETRY: u8 = 2;
/// Some body has a surface that its nodes do not carry.
const HAS_SURFACES: u8 = 4;

/// Bytes of a frame; `past` holds the recorded frames before it, latest first. Also returns the frame as it will be
/// read, and its integers.
pub(super) fn encode(
    frame: &Frame<'_>,
    header: &Header,
    past: &[&FrameLevels],
    with_geometry: bool,
) -> (Vec<u8>, StoredFrame, FrameLevels) {
    let mut out = ByteWriter::default();
    let has_surfaces = with_geometry && frame.bodies.iter().any(|body| !body.is_surface_carried);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.u8(flag(past.is_empty(), IS_KEY) | flag(with_geometry, HAS_GEOMETRY) | flag(has_surfaces, HAS_SURFACES));
    out.u64(frame.index as u64);
    out.f64(frame.time);
    out.u64(frame.topology_revision);
    out.f64s(frame.probe_values);
    let report = without_durations(frame.report);
    write_report(&mut out, &report);
    let mut stored = StoredFrame {
        index: frame.index,
        time: frame.time,
        topology_revision: frame.topology_revision,
        probes: frame.probe_values.to_vec(),
        report,
        has_geometry: with_geometry,
        ..StoredFrame::default()
    };
    let mut levels = FrameLevels::default();
    if with_geometry {
        stored.poses = frame.shapes.iter().map(|shape| shape.pose).collect();
        out.list(frame.shapes.iter(), |out, shape| {
            out.vector(shape.pose.translation);
            out.quaternion(shape.pose.rotation);
        });
        for (body, recorded) in frame.bodies.iter().zip(&header.bodies) {
            let error = header.error * recorded.mesh.bounds().size().norm();
            let positions: Vec<f64> = flat(body.positions);
            let velocities: Vec<f64> = flat(body.velocities);
            // An error of the velocity that moves a node within a frame by at most the error of its position.
            let quantizers = [error, error * header.frame_rate].map(Quantizer::for_error);
            let positions = vectors(&levels.put(&mut out, quantizers[0], 3, &positions, past));
            let velocities = vectors(&levels.put(&mut out, quantizers[1], 3, &velocities, past));
            let mut stress_rows = Vec::new();
            if header.has_stress {
                let stress = body.cell_fields().cauchy_stress;
                let rows = stress.iter().flat_map(|s| {
                    let s = s.rows;
                    [s[0][0], s[1][1], s[2][2], s[1][2], s[0][2], s[0][1]]
                });
                let values: Vec<f64> = rows.collect();
                // Relative to the largest stress of the frame, in powers of two, so that the next frame has the same
                // step.
                let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
                let scale = if largest > 0.0 && largest.is_finite() { largest.log2().floor().exp2() } else { 0.0 };
                let quantizer = Quantizer::for_error(header.error * scale);
                stress_rows = levels.put(&mut out, quantizer, 6, &values, past).as_chunks().0.to_vec();
            }
            let mut surface = Vec::new();
            if has_surfaces {
                let shown = if body.is_surface_carried { &[][..] } else { &body.surface_positions };
                out.u64(shown.len() as u64);
                surface = vectors(&levels.put(&mut out, quantizers[0], 3, &flat(shown), past));
            }
            stored.bodies.push(StoredBody { positions, velocities, stress: stress_rows, surface });
        }
        if header.has_contacts {
            stored.contacts = frame.contacts.to_vec();
            out.list(frame.contacts.iter(), write_contact);
        }
    }
    (out.0, stored, levels)
}

impl FrameLevels {
    /// Appends an array and returns it as it will be read.
    fn put(
        &mut self,
        out: &mut ByteWriter,
        wanted: Quantizer,
        components: usize,
        values: &[f64],
        past: &[&Self],
    ) -> Vec<f64> {
        let quantizer = wanted.fitting(values);
        match quantizer {
            Quantizer::Exact => out.f64(0.0),
            Quantizer::Step(step) => out.f64(step),
        }
        let levels = quantizer.levels(components, values);
        arrays::write(out, &levels, &self.comparable(quantizer, past));
        let recorded = quantizer.values(&levels);
        self.arrays.push((quantizer, levels));
        recorded
    }

    fn take(
        &mut self,
        input: &mut ByteReader<'_>,
        components: usize,
        count: usize,
        past: &[&Self],
    ) -> Result<Vec<f64>, StoreError> {
        let step = input.f64("a step")?;
        let quantizer = match step {
            0.0 => Quantizer::Exact,
            step if step > 0.0 && step.is_finite() => Quantizer::Step(step),
            _ => return Err(input.broken("a step")),
        };
        let levels = arrays::read(input, components, count, &self.comparable(quantizer, past))?;
        let values = quantizer.values(&levels);
        self.arrays.push((quantizer, levels));
        Ok(values)
    }

    /// The same array in earlier frames, as long as it has the same quantizer.
    fn comparable<'a>(&self, quantizer: Quantizer, past: &[&'a Self]) -> Vec<&'a Levels> {
        let same = past.iter().map_while(|frame| {
            let (other, levels) = frame.arrays.get(self.arrays.len())?;
            (*other == quantizer).then_some(levels)
        });
        same.take(2).collect()
    }
}

/// Whether a frame can be decoded without others.
pub(super) fn is_key(payload: &[u8]) -> bool {
    payload.first().is_some_and(|flags| flags & IS_KEY != 0)
}

/// Whether a frame has more than probes.
pub(super) fn has_geometry(payload: &[u8]) -> bool {
    payload.first().is_some_and(|flags| flags & HAS_GEOMETRY != 0)
}

/// The inverse of [`encode`].
pub(super) fn decode(
    bytes: &[u8],
    header: &Header,
    past: &[&FrameLevels],
) -> Result<(StoredFrame, FrameLevels), StoreError> {
    let mut input = ByteReader::new(bytes);
    let flags = input.u8("flags")?;
    let past = if flags & IS_KEY != 0 { &[] } else { past };
    let mut frame = StoredFrame {
        index: input.u64("a frame number")? as usize,
        time: input.f64("a time")?,
        topology_revision: input.u64("a revision")?,
        probes: input.f64s("probes")?,
        report: read_report(&mut input)?,
        has_geometry: flags & HAS_GEOMETRY != 0,
        ..StoredFrame::default()
    };
    if frame.probes.len() != header.probe_names.len() {
        return Err(input.broken("the number of probes"));
    }
    let mut levels = FrameLevels::default();
    if frame.has_geometry {
        frame.poses = input.list(56, "poses", |input| {
            Ok(Pose { translation: input.vector("a pose")?, rotation: input.quaternion("a pose")? })
        })?;
        if frame.poses.len() != header.shapes.len() {
            return Err(input.broken("the number of poses"));
        }
        for body in header.bodies_at(frame.topology_revision) {
            let (nodes, cells) = (body.mesh.node_count(), body.mesh.cell_count());
            let positions = vectors(&levels.take(&mut input, 3, nodes, past)?);
            let velocities = vectors(&levels.take(&mut input, 3, nodes, past)?);
            let stress = if header.has_stress {
                levels.take(&mut input, 6, cells, past)?.as_chunks().0.to_vec()
            } else {
                Vec::new()
            };
            let mut surface = Vec::new();
            if flags & HAS_SURFACES != 0 {
                let count = input.u64("a surface")? as usize;
                if count != 0 && count != body.nearest_nodes.len() {
                    return Err(input.broken("a surface"));
                }
                surface = vectors(&levels.take(&mut input, 3, count, past)?);
            }
            frame.bodies.push(StoredBody { positions, velocities, stress, surface });
        }
        if header.has_contacts {
            frame.contacts = input.list(98, "contacts", |input| read_contact(input, header))?;
        }
    }
    Ok((frame, levels))
}

fn flat(vectors: &[Vec3]) -> Vec<f64> {
    vectors.iter().flat_map(|v| v.to_array()).collect()
}

fn vectors(values: &[f64]) -> Vec<Vec3> {
    values.as_chunks().0.iter().map(|v: &[f64; 3]| Vec3::from(*v)).collect()
}

fn write_contact(out: &mut ByteWriter, contact: &ContactPoint) {
    let ContactPoint { between, place, normal, force, gap, area } = *contact;
    for party in between {
        let (kind, index) = match party {
            Party::Body(index) => (0, index),
            Party::Rigid(index) => (1, index),
            Party::Collider(index) => (2, index),
        };
        out.u8(kind);
        out.u32(index as u32);
    }
    for vector in [place, normal, force] {
        out.vector(vector);
    }
    out.f64(gap);
    out.f64(area);
}

fn read_contact(input: &mut ByteReader<'_>, header: &Header) -> Result<ContactPoint, StoreError> {
    let what = "a contact";
    let rigids = header.shapes.iter().filter(|shape| shape.is_dynamic).count();
    let mut party = || {
        let (kind, index) = (input.u8(what)?, input.u32(what)? as usize);
        match kind {
            0 if index < header.bodies.len() => Ok(Party::Body(index)),
            1 if index < rigids => Ok(Party::Rigid(index)),
            2 if index < header.shapes.len() - rigids => Ok(Party::Collider(index)),
            _ => Err(input.broken(what)),
        }
    };
    Ok(ContactPoint {
        between: [party()?, party()?],
        place: input.vector(what)?,
        normal: input.vector(what)?,
        force: input.vector(what)?,
        gap: input.f64(what)?,
        area: input.f64(what)?,
    })
}

fn write_report(out: &mut ByteWriter, report: &StepReport) {
    let StepReport {
        time,
        substeps,
        rollbacks,
        newton_iterations,
        local_solves,
        nonlinear_cycles,
        linear_iterations,
        projections,
        cuts,
        residual,
        relative_residual,
        largest_residual,
        unconverged,
        local_error,
        contacts,
        energies: Energies { elastic, kinetic, gravity, contact, other },
        timing,
    } = *report;
    let residuals = [residual, relative_residual, largest_residual];
    let energies = [elastic, kinetic, gravity, contact, other];
    for value in [time].into_iter().chain(residuals).chain([local_error]).chain(energies) {
        out.f64(value);
    }
    let effort = [substeps, rollbacks, newton_iterations, linear_iterations, projections, cuts];
    for count in effort.into_iter().chain([unconverged, contacts, nonlinear_cycles, local_solves]) {
        out.u64(count as u64);
    }
    out.f64(timing.cell_sweeps);
}

/// A report without timing, which is the same for every run of a scene.
fn without_durations(report: &StepReport) -> StepReport {
    let timing = StepTiming { cell_sweeps: report.timing.cell_sweeps, ..StepTiming::default() };
    StepReport { timing, ..*report }
}

fn read_report(input: &mut ByteReader<'_>) -> Result<StepReport, StoreError> {
    let what = "a report";
    let mut number = || input.f64(what);
    let [time, residual, relative_residual] = [number()?, number()?, number()?];
    let [largest_residual, local_error] = [number()?, number()?];
    let energies =
        Energies { elastic: number()?, kinetic: number()?, gravity: number()?, contact: number()?, other: number()? };
    let mut count = || input.u64(what).map(|count| count as usize);
    let [substeps, rollbacks, newton_iterations, linear_iterations, projections, cuts] =
        [count()?, count()?, count()?, count()?, count()?, count()?];
    let [unconverged, contacts, nonlinear_cycles, local_solves] = [count()?, count()?, count()?, count()?];
    let timing = StepTiming { cell_sweeps: input.f64(what)?, ..StepTiming::default() };
    Ok(StepReport {
        time,
        substeps,
        rollbacks,
        newton_iterations,
        local_solves,
        nonlinear_cycles,
        linear_iterations,
        projections,
        cuts,
        residual,
        relative_residual,
        largest_residual,
        unconverged,
        local_error,
        contacts,
        energies,
        timing,
    })
}
