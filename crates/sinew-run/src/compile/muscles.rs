//! Muscles of bodies: fiber directions, force curves and activation.

use sinew_fem::elastic::FiberGroup;
use sinew_fem::material::{FiberStretch, MaterialSpec};
use sinew_fem::model::MuscleParams;
use sinew_geometry::fibers::{BsplineSolid, LaplaceParams, ParameterAxis, Pennation, laplace_fibers};
use sinew_geometry::shape::Pose;
use sinew_geometry::{CellMesh, MeshField};
use sinew_math::Vec3;
use sinew_muscle::{ActivationDynamics, Curve, CurveKind, FiberCurves, Switch};
use sinew_scene::spec::body::Body;
use sinew_scene::spec::material::{Between, FIBER_FIELD, Fibers, Spline, SplineAxis};
use sinew_scene::spec::muscle::{CurveSet, Muscle, StretchMeasure};
use sinew_scene::{Diagnostic, Interpolation, Track};

use super::Compiler;
use super::body::{UniqueNames, center_of};
use super::regions::Regions;

/// Maximum length of a linear segment of activation, relative to the shorter time constant: the error is below a
/// thousandth.
const ACTIVATION_STEP: f64 = 0.05;
/// Maximum number of points of an activation track.
const MAX_ACTIVATION_POINTS: f64 = 200_000.0;

impl Compiler<'_> {
    /// Sets the fiber direction of each cell whose law has one, rotated with the body.
    pub(super) fn lay_fibers(
        &self,
        index: usize,
        body: &Body,
        mesh: &CellMesh,
        regions: &Regions,
        place: &Pose,
        materials: &mut [MaterialSpec],
    ) -> Result<(), Diagnostic> {
        let needs = |cell: &u32| materials[*cell as usize].law().needs_fibers();
        let cells: Vec<u32> = (0..materials.len() as u32).filter(needs).collect();
        if cells.is_empty() {
            return Ok(());
        }
        let path = format!("body[{index}].fibers");
        let directions = match (&body.fibers, has_fiber_field(mesh)) {
            (Some(fibers), _) => directions(fibers, mesh, regions, &cells),
            (None, true) => directions(&Fibers::Field(FIBER_FIELD.into()), mesh, regions, &cells),
            (None, false) => return Ok(()),
        };
        let directions = directions.map_err(|problem| self.scene.problem(&problem.path(&path), problem.message))?;
        for (&cell, direction) in cells.iter().zip(directions) {
            let spec = &mut materials[cell as usize];
            *spec = spec.with_fiber(place.rotation.rotate(direction));
        }
        Ok(())
    }

    /// The muscles of a body, weaker in cells that the surface of a lattice cuts. Returns the fiber directions for
    /// pictures.
    pub(super) fn add_muscles(
        &mut self,
        index: usize,
        body: &Body,
        mesh: &CellMesh,
        regions: &Regions,
        place: &Pose,
        inside: &[f64],
    ) -> Result<Option<MeshField>, Vec<Diagnostic>> {
        let mut values = vec![0.0; 3 * mesh.cell_count()];
        let mut names = UniqueNames::default();
        let mut problems = Vec::new();
        for (k, muscle) in body.muscle.iter().enumerate() {
            let path = format!("body[{index}].muscle[{k}]");
            let name = names.unique("muscle", muscle.name.as_ref().unwrap_or(&muscle.region));
            match self.muscle(&path, body, muscle, mesh, regions) {
                Ok((cells, mut directions, group)) => {
                    let part = |cell: u32| inside.get(cell as usize).copied().unwrap_or(1.0);
                    let stress = cells.iter().map(|&cell| muscle.stress * part(cell)).collect();
                    // Fiber directions on lattices are in lattice coordinates.
                    if !body.mesh.is_lattice() {
                        directions.iter_mut().for_each(|direction| *direction = place.rotation.rotate(*direction));
                    }
                    for (&cell, direction) in cells.iter().zip(&directions) {
                        let first = 3 * cell as usize;
                        values[first..first + 3].copy_from_slice(&direction.to_array());
                    }
                    let activation = self.activation_track(muscle);
                    self.driver.scalars.push((format!("{}.activation.{name}", body.name), activation));
                    self.builder.muscle(MuscleParams { body: index, name, cells, directions, stress, group });
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok((!body.muscle.is_empty()).then_some(MeshField { components: 3, values }))
    }

    /// Cells, directions and curves of a muscle.
    fn muscle(
        &self,
        path: &str,
        body: &Body,
        muscle: &Muscle,
        mesh: &CellMesh,
        regions: &Regions,
    ) -> Result<(Vec<u32>, Vec<Vec3>, FiberGroup), Diagnostic> {
        let problem = |key: &str, message: String| self.scene.problem(&format!("{path}.{key}"), message);
        let cells = regions.cells(&muscle.region).map_err(|message| problem("region", message))?;
        let of_mesh = Fibers::Field(FIBER_FIELD.into());
        let fibers = match (&muscle.fibers, &body.fibers) {
            (Some(own), _) => own,
            (None, Some(of_body)) => of_body,
            (None, None) if has_fiber_field(mesh) => &of_mesh,
            (None, None) => {
                let problem = self.scene.problem(path, "this muscle has no fiber directions");
                return Err(problem.hint("for example `fibers = { along = [1, 0, 0] }`"));
            }
        };
        let directions = directions(fibers, mesh, regions, &cells)
            .map_err(|error| self.scene.problem(&error.path(&format!("{path}.fibers")), error.message))?;
        Ok((cells, directions, self.fiber_group(path, body, muscle)?))
    }

    pub(super) fn fiber_group(&self, path: &str, body: &Body, muscle: &Muscle) -> Result<FiberGroup, Diagnostic> {
        let named = match muscle.curves {
            CurveSet::Teran => FiberCurves::default(),
            CurveSet::Blemker => FiberCurves::blemker(),
            CurveSet::Chen => FiberCurves::chen(),
        };
        let own = |key: &str, points: &[[f64; 2]], kind: CurveKind| match points.is_empty() {
            true => Ok(None),
            false => Curve::through(points, kind)
                .map(Some)
                .map_err(|error| self.scene.problem(&format!("{path}.{key}"), error.to_string())),
        };
        let velocity = own("velocity_curve", &muscle.velocity_curve, CurveKind::Velocity)?;
        let curves = FiberCurves {
            active: own("active_curve", &muscle.active_curve, CurveKind::Active)?.unwrap_or(named.active),
            passive: own("passive_curve", &muscle.passive_curve, CurveKind::Passive)?.unwrap_or(named.passive),
            velocity: muscle.max_velocity.map(|_| velocity.unwrap_or_else(Curve::velocity_chen)),
        };
        let usual = if body.mesh.is_lattice() { FiberStretch::Full } else { FiberStretch::Isochoric };
        let usual_group = FiberGroup::default();
        Ok(FiberGroup {
            curves,
            optimal_stretch: muscle.optimal_stretch,
            max_velocity: muscle.max_velocity.unwrap_or(usual_group.max_velocity),
            measure: match muscle.stretch {
                None => usual,
                Some(StretchMeasure::Isochoric) => FiberStretch::Isochoric,
                Some(StretchMeasure::Full) => FiberStretch::Full,
            },
        })
    }

    /// Activation as given, or as it follows excitation.
    fn activation_track(&self, muscle: &Muscle) -> Track<f64> {
        let Some(excitation) = &muscle.excitation else { return muscle.activation.clone() };
        let dynamics = ActivationDynamics { rise_secs: muscle.rise, decay_secs: muscle.decay, switch: Switch::Plain };
        let end = self.scene.duration;
        let wanted = ACTIVATION_STEP * muscle.rise.min(muscle.decay);
        // Steps end at the corners of the excitation, so that a pulse is neither missed nor widened.
        let mut times: Vec<f64> = vec![0.0];
        times.extend(excitation.points().iter().map(|point| point.0).filter(|&time| time > 0.0 && time < end));
        times.push(end);
        let step = wanted.max(end / MAX_ACTIVATION_POINTS);
        // The muscle is relaxed at the start; an initial excitation takes effect from then on.
        let mut activation = 0.0;
        let mut points = vec![(0.0, activation)];
        for pair in times.windows(2) {
            let count = ((pair[1] - pair[0]) / step).ceil().max(1.0);
            let dt = (pair[1] - pair[0]) / count;
            for k in 0..count as usize {
                let middle = pair[0] + (k as f64 + 0.5) * dt;
                activation = dynamics.advance(activation, excitation.at(middle), dt).clamp(0.0, 1.0);
                let time = if k + 1 == count as usize { pair[1] } else { pair[0] + (k + 1) as f64 * dt };
                if time > points[points.len() - 1].0 {
                    points.push((time, activation));
                }
            }
        }
        Track::new(points, Interpolation::Linear)
    }
}

fn has_fiber_field(mesh: &CellMesh) -> bool {
    mesh.cell_fields().get(FIBER_FIELD).is_some_and(|field| field.components == 3)
}

/// Why directions cannot be computed, and the key of `fibers` that causes it.
struct FiberProblem {
    key: &'static str,
    message: String,
}

impl FiberProblem {
    fn path(&self, fibers: &str) -> String {
        format!("{fibers}.{}", self.key)
    }
}

/// Unit directions in these cells, in body coordinates.
fn directions(fibers: &Fibers, mesh: &CellMesh, regions: &Regions, cells: &[u32]) -> Result<Vec<Vec3>, FiberProblem> {
    match fibers {
        Fibers::Along(direction) => Ok(vec![Vec3::from(*direction).normalized(); cells.len()]),
        Fibers::Around(axis) => {
            let turning = |&cell: &u32| {
                let arm = center_of(mesh, cell as usize) - Vec3::from(axis.point);
                let around = Vec3::from(axis.direction).cross(arm);
                // A cell on the line, to the precision of its center.
                if around.norm() <= 1e-9 * arm.norm() {
                    let message =
                        format!("the center of cell {cell} lies on the line, where circles have no direction");
                    return Err(FiberProblem { key: "around", message });
                }
                Ok(around.normalized())
            };
            cells.iter().map(turning).collect()
        }
        Fibers::Between(between) => flowing(between, mesh, regions, cells),
        Fibers::Spline(spline) => splined(spline, mesh, cells),
        Fibers::Field(name) => of_field(name, mesh, cells),
    }
}

/// Along the gradient of a potential between two regions.
fn flowing(between: &Between, mesh: &CellMesh, regions: &Regions, cells: &[u32]) -> Result<Vec<Vec3>, FiberProblem> {
    let wrong = |message: String| FiberProblem { key: "between", message };
    let (from, to) = (regions.nodes(&between.from).map_err(wrong)?, regions.nodes(&between.to).map_err(wrong)?);
    let (normal, angle) = (Vec3::from(between.lean), between.pennation);
    let pennation = match between.plane {
        _ if angle == 0.0 => Pennation::None,
        None => Pennation::Towards { normal, angle },
        Some(point) => Pennation::TowardsPlane { point: point.into(), normal, angle },
    };
    let params = LaplaceParams { pennation, ..LaplaceParams::default() };
    let all = laplace_fibers(mesh, &from, &to, &params).map_err(|error| wrong(error.to_string()))?.directions;
    Ok(cells.iter().map(|&cell| all[cell as usize]).collect())
}

fn splined(spline: &Spline, mesh: &CellMesh, cells: &[u32]) -> Result<Vec<Vec3>, FiberProblem> {
    let wrong = |message: String| FiberProblem { key: "spline", message };
    let axis = match spline.axis {
        SplineAxis::U => ParameterAxis::U,
        SplineAxis::V => ParameterAxis::V,
        SplineAxis::W => ParameterAxis::W,
    };
    let points = spline.points.iter().map(|&point| Vec3::from(point)).collect();
    let solid =
        BsplineSolid::new(points, spline.counts, spline.degree, axis).map_err(|error| wrong(error.to_string()))?;
    let at = |&cell: &u32| {
        solid.direction_at(center_of(mesh, cell as usize)).map_err(|error| wrong(format!("cell {cell}: {error}")))
    };
    cells.iter().map(at).collect()
}

fn of_field(name: &str, mesh: &CellMesh, cells: &[u32]) -> Result<Vec<Vec3>, FiberProblem> {
    let wrong = |message: String| FiberProblem { key: "field", message };
    let Some(field) = mesh.cell_fields().get(name) else {
        let known: Vec<&str> = mesh.cell_fields().keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        return Err(wrong(format!("the cells of the mesh have no field \"{name}\"; they have {known}")));
    };
    if field.components != 3 {
        return Err(wrong(format!("the field \"{name}\" has {} numbers per cell, not three", field.components)));
    }
    let at = |&cell: &u32| {
        let first = 3 * cell as usize;
        let v = Vec3::new(field.values[first], field.values[first + 1], field.values[first + 2]);
        if v.is_finite() && v.norm() > 1e-12 {
            return Ok(v.normalized());
        }
        let place = center_of(mesh, cell as usize);
        let message = format!(
            "the field \"{name}\" has no direction in cell {cell}, near ({:.4}, {:.4}, {:.4}) m: it is {}",
            place.x,
            place.y,
            place.z,
            if v.is_finite() { "zero" } else { "not a number" }
        );
        Err(wrong(message))
    };
    cells.iter().map(at).collect()
}
