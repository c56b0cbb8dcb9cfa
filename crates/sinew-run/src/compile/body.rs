//! Deformable bodies: mesh, materials, pins and bindings.

use std::collections::BTreeMap;

use sinew_anatomy::mesher::red::HANGING_ENDS;
use sinew_fem::force::NodalForceParams;
use sinew_fem::manufactured::ManufacturedField;
use sinew_fem::material::{ElasticModuli, MaterialSpec, VolumeForm};
use sinew_fem::model::PinParams;
use sinew_fem::start::{Start, scrambled};
use sinew_fem::{BodyParams, Deformation, Interrupt};
use sinew_geometry::mesh::MeshField;
use sinew_geometry::shape::Pose;
use sinew_geometry::{CellMesh, HexLattice};
use sinew_math::Vec3;
use sinew_scene::spec::art::Preset;
use sinew_scene::spec::body::{self, Body, StartShape, VolumeTerm};
use sinew_scene::spec::material::{FIBER_FIELD, Gradient, MaterialMap, MaterialRegion, material_spec};
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::record::{LOAD_SET, PIN_SET};
use sinew_scene::spec::rig::Hold;
use sinew_scene::spec::{NonlinearSolver, SolverKind};
use sinew_scene::{Diagnostic, Dimension, format_number, format_quantity};

use super::jiggle::JiggleParams;
use super::material_map::{Canvas, Painting};
use super::mesh::MeshParts;
use super::paint::CellPaint;
use super::regions::Regions;
use super::rig::{RiggedBody, RiggedBones};
use super::{Compiler, pivot};

/// Data of a body for later steps.
pub(super) struct CompiledBody {
    pub regions: Regions,
    /// Nodes in the initial pose \[m\].
    pub rest: Vec<Vec3>,
    /// World from body coordinates.
    pub pose: Pose,
    pub manufactured: Option<ManufacturedField>,
}

/// Distance of a node that hangs from the middle of its edge, over the length of the edge, that is rounding of files.
const OFF_MIDDLE: f64 = 1e-4;

/// Nodes of a mesh that hang, each with the ends of its edge.
fn hanging(mesh: &CellMesh, field: &MeshField) -> Result<BTreeMap<u32, [u32; 2]>, String> {
    let wrong = |what: String| {
        format!("the node field `{HANGING_ENDS}` {what}; hint: write the mesh again, or leave the field out")
    };
    if field.components != 2 {
        return Err(wrong(format!("has {} numbers per node, not 2", field.components)));
    }
    let (x, mut found) = (mesh.positions(), BTreeMap::new());
    for (node, ends) in
        field.values.chunks_exact(2).enumerate().filter(|(node, ends)| ends.iter().any(|end| *end != *node as f64))
    {
        if !ends.iter().all(|end| *end >= 0.0 && end.fract() == 0.0 && *end < x.len() as f64) {
            return Err(wrong(format!("names nodes {} and {} of {}", ends[0], ends[1], x.len())));
        }
        let [a, b] = [ends[0] as u32, ends[1] as u32];
        let (p, q) = (x[a as usize], x[b as usize]);
        if !(x[node].distance((p + q) * 0.5) <= OFF_MIDDLE * p.distance(q)) {
            return Err(wrong(format!("puts node {node} between {a} and {b}, and it is not in their middle")));
        }
        found.insert(node as u32, [a, b]);
    }
    Ok(found)
}

impl Compiler<'_> {
    pub(super) fn add_bodies(&mut self) -> Vec<CompiledBody> {
        let scene = self.scene;
        let mut bodies = Vec::new();
        for (index, body) in scene.body.iter().enumerate() {
            if Interrupt::ambient().is_wanted() {
                break;
            }
            match self.add_body(index, body, &bodies) {
                Ok(compiled) => bodies.push(compiled),
                Err(problems) => self.problems.extend(problems),
            }
        }
        // Connections may name any body, so all must exist; otherwise their indices would be wrong.
        if bodies.len() == scene.body.len() {
            for (index, (body, compiled)) in scene.body.iter().zip(&bodies).enumerate() {
                self.connect(index, body, compiled);
                self.lay_over(index, body, compiled, &bodies);
            }
        }
        bodies
    }

    /// Adds a body. `bodies` are those before it, unless some could not be compiled.
    fn add_body(
        &mut self,
        index: usize,
        body: &Body,
        bodies: &[CompiledBody],
    ) -> Result<CompiledBody, Vec<Diagnostic>> {
        let place = pose(body.position, body.rotation.as_ref());
        let parts = self.mesh(index, body).map_err(|problem| vec![problem])?;
        let parts = match bodies.len() == index && !body.over.is_empty() {
            true => self.carve(index, body, parts, &place, bodies).map_err(|problem| vec![problem])?,
            false => parts,
        };
        let MeshParts { mesh, surface, corner_fields, inside, lattice, rigged } = parts;
        let regions = Regions::new(mesh.clone(), body.regions.clone());
        let painting = surface.as_ref().map(|(surface, _)| Painting { surface, fields: &corner_fields });
        let canvas = Canvas { mesh: &mesh, surface: painting };
        let skeleton = self.bones_and_paint(index, body, rigged.as_deref(), lattice.as_ref())?;
        let cell_paint = surface.as_ref().zip(lattice.as_ref()).and_then(|((surface, _), lattice)| {
            CellPaint::of(&skeleton.paint, surface, &mesh, lattice.cell, &skeleton.bones)
        });
        let mut materials = self.materials(index, body, &canvas, &regions, &inside, cell_paint.as_ref())?;
        if materials.iter().any(|spec| spec.law().is_objective() && spec.lame().1 < 0.0) {
            self.notes.push(format!(
                "body \"{}\" widens when stretched (Poisson's ratio below zero): the energy of such a law falls without bound at large strains",
                body.name
            ));
        }
        self.lay_fibers(index, body, &mesh, &regions, &place, &mut materials).map_err(|problem| vec![problem])?;
        let running = self.add_muscles(index, body, &mesh, &regions, &place, &inside)?;
        let densities = match inside.is_empty() {
            true => vec![body.density; mesh.cell_count()],
            false => inside.iter().map(|fraction| fraction * body.density).collect(),
        };
        let densities = match &cell_paint {
            Some(paint) => {
                let mix = |(density, fat): (f64, &f64)| density * (1.0 + fat * (paint.density / body.density - 1.0));
                densities.into_iter().zip(&paint.fat).map(mix).collect()
            }
            None => densities,
        };
        let is_moved = body.rotation.is_some() || body.position != [0.0; 3];
        let mesh = match is_moved {
            true => mesh
                .mapped(|p| place.to_world(p))
                .map(|(mesh, _)| mesh)
                .map_err(|error| vec![self.scene.problem(&format!("body[{index}].position"), error.to_string())])?,
            false => mesh,
        };
        let mesh = match running {
            Some(field) => mesh
                .with_cell_field(FIBER_FIELD, field)
                .map_err(|error| vec![self.scene.problem(&format!("body[{index}].muscle"), error.to_string())])?,
            None => mesh,
        };
        let mesh = self.mark(index, body, mesh, &regions).map_err(|problem| vec![problem])?;
        let manufactured = body.manufactured.as_ref().map(|m| ManufacturedField {
            amplitude: m.amplitude,
            origin: mesh.bounds().center(),
            length: 0.5 * mesh.bounds().size().max_component(),
        });
        let rest = mesh.positions().to_vec();
        let velocities = initial_velocities(body, &mesh);
        let cubes = rigged.as_ref().and(lattice.clone());
        self.builder.add_body(BodyParams {
            name: body.name.clone(),
            materials: materials.clone(),
            densities,
            volume: volume_form(body, &materials),
            mass_damping: body.damping.mass,
            stiffness_damping: body.damping.stiffness,
            tissue_damping: body.damping.tissue,
            start: start(body, &mesh),
            velocities,
            surface: surface.map(|(surface, embedding)| (surface.triangles().to_vec(), embedding)),
            mesh: mesh.clone(),
            lattice,
            deformation: deformation(body),
        });
        if let Some(ends) = mesh.node_fields().get(HANGING_ENDS) {
            let hanging =
                hanging(&mesh, ends).map_err(|text| vec![self.scene.problem(&format!("body[{index}].mesh"), text)])?;
            self.builder.hang(index, hanging);
        }
        if let Some(field) = manufactured {
            self.add_manufactured(index, &mesh, &materials, &field);
        }
        // Nonlinear multigrid does not include barriers, and takes more iterations where there are any.
        let knows_corners = self.scene.solver.nonlinear == NonlinearSolver::Newton;
        if knows_corners && body.rig.as_ref().is_some_and(|rig| rig.inversion_barrier) {
            self.builder.inversion_barrier(index);
        }
        if let (Some(rigged), Some(lattice)) = (&rigged, &cubes) {
            self.follow_bones(index, body, &place, lattice, rigged, skeleton)?;
        }
        Ok(CompiledBody { regions, rest, pose: place, manufactured })
    }

    /// How bones hold the flesh of a character, and the paint on its skin.
    fn bones_and_paint(
        &mut self,
        index: usize,
        body: &Body,
        rigged: Option<&RiggedBody>,
        lattice: Option<&HexLattice>,
    ) -> Result<RiggedBones, Vec<Diagnostic>> {
        let (Some(rig), Some(rigged), Some(lattice)) = (&body.rig, rigged, lattice) else {
            return Ok(Default::default());
        };
        let paint = self.paint_skin(index, rig, body.scale, &rigged.character);
        let bones = self.bones(index, body, rig, &rigged.character);
        // What is wrong with either is told.
        let (paint, mut bones) = match (paint, bones) {
            (Ok(paint), Ok(bones)) => (paint, bones),
            (paint, bones) => return Err([paint.err(), bones.err()].into_iter().flatten().flatten().collect()),
        };
        let yielding = self.yielding(body, rig, &rigged.character, &bones);
        self.choose_holds(body, &mut bones, &yielding, &rigged.character.flesh, lattice.cell);
        for (layer, share) in &paint.layers {
            self.notes.push(format!("{}: paint on {:.0} % of the skin, {layer}", body.name, 100.0 * share));
        }
        let is_static = self.scene.solver.kind == SolverKind::Quasistatic;
        let jiggle = rig.jiggle.clone().or_else(|| rig.preset.map(Preset::jiggle));
        if let Some(jiggle) = jiggle.filter(|_| is_static) {
            let depth = |x: &Vec3| {
                let holding = bones.iter().filter(|bone| bone.hold != Hold::Slide);
                holding.map(|bone| bone.distance(*x * body.scale, 0.0)).fold(f64::INFINITY, f64::min).max(0.0)
            };
            let depths = rigged.character.flesh.surface.positions().iter().map(depth).collect();
            self.notes.push(format!(
                "{}: the skin swings at {} and {} % beyond its rest, after contact",
                body.name,
                format_quantity(jiggle.frequency, Dimension::FREQUENCY),
                format_number(100.0 * jiggle.overshoot)
            ));
            let shares = paint.looks.iter().map(|look| look.jiggle).collect();
            self.jiggles.push(JiggleParams { body: index, jiggle, depths, shares });
        }
        Ok(RiggedBones { bones, paint, kept_stiffness: yielding.share })
    }

    /// The mesh with the nodes of pins and loads as sets, for pictures and other programs.
    fn mark(&self, index: usize, body: &Body, mesh: CellMesh, regions: &Regions) -> Result<CellMesh, Diagnostic> {
        let pins = body.pin.iter().map(|pin| (PIN_SET, &pin.region));
        let loads = body.pressure.iter().map(|load| &load.region).chain(body.traction.iter().map(|load| &load.region));
        let loads = loads.chain(body.force.iter().map(|load| &load.region)).map(|region| (LOAD_SET, region));
        let mut mesh = mesh;
        for (prefix, region) in pins.chain(loads) {
            // Regions that do not exist are reported where they are used.
            let Ok(nodes) = regions.nodes(region) else { continue };
            let marked = mesh.with_node_set(format!("{prefix}{region}"), nodes);
            mesh = marked.map_err(|error| self.scene.problem(&format!("body[{index}]"), error.to_string()))?;
        }
        Ok(mesh)
    }

    /// The boundary follows the exact solution; its body force loads the interior.
    fn add_manufactured(
        &mut self,
        body: usize,
        mesh: &CellMesh,
        materials: &[MaterialSpec],
        field: &ManufacturedField,
    ) {
        let nodes = mesh.boundary_nodes();
        let offsets = nodes.iter().map(|&n| field.displacement(mesh.positions()[n as usize])).collect();
        let name = "manufactured".to_string();
        self.builder.pin(PinParams { body, name: name.clone(), nodes, axes: [true; 3], pivot: Vec3::zero(), offsets });
        let forces = field.nodal_forces(mesh, materials);
        let forces = (0..mesh.node_count() as u32).zip(forces).collect();
        self.builder.force(NodalForceParams { body, name, forces });
    }

    fn materials(
        &self,
        index: usize,
        body: &Body,
        canvas: &Canvas<'_>,
        regions: &Regions,
        inside: &[f64],
        paint: Option<&CellPaint>,
    ) -> Result<Vec<MaterialSpec>, Vec<Diagnostic>> {
        let mesh = canvas.mesh;
        let mut materials = vec![material_spec(&body.material); mesh.cell_count()];
        let mut problems = Vec::new();
        for (k, map) in body.material_maps.iter().enumerate() {
            if let Err(problem) = self.paint(&format!("body[{index}].material_maps[{k}]"), map, canvas, &mut materials)
            {
                problems.push(problem);
            }
        }
        for (k, part) in body.material_regions.iter().enumerate() {
            let path = format!("body[{index}].material_regions[{k}].region");
            match regions.cells(&part.region) {
                Ok(cells) => {
                    for cell in cells {
                        let center = center_of(mesh, cell as usize);
                        let spec = &mut materials[cell as usize];
                        *spec =
                            overridden(spec, part).scaled(part.gradient.as_ref().map_or(1.0, |g| factor_at(g, center)));
                    }
                }
                Err(message) => problems.push(self.scene.problem(&path, message)),
            }
        }
        if let Some(paint) = paint {
            materials.iter_mut().enumerate().for_each(|(cell, spec)| *spec = paint.apply(cell, spec));
        }
        // The stiffness of a cell that the surface cuts is proportional to the fraction of flesh in it.
        let least = if body.rig.is_some() { MIN_IN_FOLDS } else { MIN_STIFFNESS };
        for (spec, &fraction) in materials.iter_mut().zip(inside) {
            *spec = spec.scaled(fraction.max(least));
        }
        if problems.is_empty() { Ok(materials) } else { Err(problems) }
    }

    /// Gives each cell the parameters of a map.
    fn paint(
        &self,
        path: &str,
        map: &MaterialMap,
        canvas: &Canvas<'_>,
        materials: &mut [MaterialSpec],
    ) -> Result<(), Diagnostic> {
        let (key, values) = match (&map.attribute, &map.texture) {
            (Some(name), _) => ("attribute", canvas.attribute(name)),
            (None, Some(file)) => ("texture", canvas.texture(&self.scene.source.resolve(file))),
            (None, None) => return Ok(()),
        };
        let path = format!("{path}.{key}");
        let values = values.map_err(|message| self.scene.problem(&path, message))?;
        let is_missing = |value: &f64| !value.is_finite();
        if let Some(cell) = values.iter().position(is_missing) {
            let count = values.iter().filter(|value| is_missing(value)).count();
            let place =
                center_of(canvas.mesh, cell).to_array().map(|x| format_quantity(x, Dimension::LENGTH)).join(", ");
            let message = format!("{count} of {} cells have no material", values.len());
            let problem = self.scene.problem(&path, message).label(format!("the first is cell {cell} at ({place})"));
            return Err(problem.hint("give every vertex a finite value, and make every used pixel opaque"));
        }
        let [low, high] = map.range;
        for (spec, value) in materials.iter_mut().zip(values) {
            let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
            let between = |ends: Option<[f64; 2]>| ends.map(|[a, b]| a + share * (b - a));
            let (young, poisson) = spec.moduli().young_poisson();
            *spec = spec.with_moduli(ElasticModuli::YoungPoisson {
                young: between(map.young).unwrap_or(young),
                poisson: between(map.poisson).unwrap_or(poisson),
            });
        }
        Ok(())
    }

    /// Pins, bindings and forces.
    fn connect(&mut self, index: usize, body: &Body, compiled: &CompiledBody) {
        let mut names = UniqueNames::default();
        let mut pinned = Vec::new();
        for (k, pin) in body.pin.iter().enumerate() {
            let Some(nodes) = self.nodes(compiled, &format!("body[{index}].pin[{k}].region"), &pin.region) else {
                continue;
            };
            pinned.push((k, nodes.clone()));
            let name = names.unique("pin", &pin.region);
            self.drive(format!("{}.pin.{name}", body.name), pin.motion.as_ref());
            let pivot = pivot(pin.motion.as_ref());
            self.builder.pin(PinParams { body: index, name, nodes, axes: pin.axes.xyz, pivot, offsets: Vec::new() });
        }
        self.check_pins(index, body, &compiled.rest, &pinned);
        for (k, binding) in body.bind.iter().enumerate() {
            let path = format!("body[{index}].bind[{k}].region");
            if let Some(nodes) = self.nodes(compiled, &path, &binding.region) {
                let target = self.target(&binding.to);
                self.builder.bind(index, nodes, target);
            }
        }
        self.add_forces(index, body, compiled, &mut names);
    }

    pub(super) fn nodes(&mut self, body: &CompiledBody, path: &str, region: &str) -> Option<Vec<u32>> {
        body.regions.nodes(region).map_err(|message| self.problems.push(self.scene.problem(path, message))).ok()
    }

    pub(super) fn triangles(&mut self, body: &CompiledBody, path: &str, region: &str) -> Option<Vec<[u32; 3]>> {
        body.regions.triangles(region).map_err(|message| self.problems.push(self.scene.problem(path, message))).ok()
    }
}

/// Unique names for channels: a second pin on one region becomes `REGION-2`.
#[derive(Default)]
pub(super) struct UniqueNames {
    uses: BTreeMap<(&'static str, String), usize>,
}

impl UniqueNames {
    pub(super) fn unique(&mut self, family: &'static str, region: &str) -> String {
        let count = self.uses.entry((family, region.to_string())).or_default();
        *count += 1;
        if *count == 1 { region.to_string() } else { format!("{region}-{count}") }
    }
}

/// A material with the parameters of a region replaced.
fn overridden(spec: &MaterialSpec, part: &MaterialRegion) -> MaterialSpec {
    let spec = part.material.as_ref().map_or(*spec, material_spec);
    part.parameters.0.iter().fold(spec, |spec, (key, &value)| spec.with(key, value))
}

/// Minimum fraction of its stiffness that a cell keeps: softer cells would slow the solver without visible effect.
const MIN_STIFFNESS: f64 = 0.05;
/// The same for characters, whose skin is squeezed in the folds of joints: softer cells would invert there.
const MIN_IN_FOLDS: f64 = 0.4;

/// Poisson's ratio from which on the mean volume term is the default. Below it, quadratic cells keep their order of
/// convergence; above it, cells with several quadrature points lock (`docs/design/locking.md`).
const NEARLY_INCOMPRESSIBLE: f64 = 0.45;

fn deformation(body: &Body) -> Deformation {
    match body.deformation {
        body::Deformation::Free => Deformation::Free,
        body::Deformation::Affine => Deformation::Affine,
    }
}

/// Where the volume term is evaluated: as the scene says, else in the mean if some cell is nearly incompressible.
fn volume_form(body: &Body, materials: &[MaterialSpec]) -> VolumeForm {
    // Rounding: the moduli came from numbers with few digits.
    let locks = |spec: &MaterialSpec| spec.moduli().young_poisson().1 >= NEARLY_INCOMPRESSIBLE - 1e-9;
    match body.volume {
        Some(VolumeTerm::Mean) => VolumeForm::Mean,
        Some(VolumeTerm::Pointwise) => VolumeForm::Pointwise,
        None if materials.iter().any(locks) => VolumeForm::Mean,
        None => VolumeForm::Pointwise,
    }
}

fn factor_at(gradient: &Gradient, p: Vec3) -> f64 {
    let (from, to) = (Vec3::from(gradient.from), Vec3::from(gradient.to));
    let along = to - from;
    let s = ((p - from).dot(along) / along.norm_squared()).clamp(0.0, 1.0);
    gradient.scale[0] * (1.0 - s) + gradient.scale[1] * s
}

pub(super) fn center_of(mesh: &CellMesh, cell: usize) -> Vec3 {
    let nodes = mesh.cell_nodes(cell);
    nodes.iter().map(|&n| mesh.positions()[n as usize]).sum::<Vec3>() / nodes.len() as f64
}

/// Positions of the nodes before the first step; empty if the body starts at rest.
fn start(body: &Body, mesh: &CellMesh) -> Vec<Vec3> {
    let Some(given) = &body.start else { return Vec::new() };
    let shape = match given.shape {
        StartShape::Random => Start::Random { scale: given.scale },
        StartShape::Point => Start::Point,
        StartShape::Plane => Start::Plane,
        StartShape::Mirror => Start::Mirror,
    };
    scrambled(mesh, shape, given.noise, given.seed as u64)
}

/// v + ω × (x − c) about the center of volume; empty when at rest.
fn initial_velocities(body: &Body, mesh: &CellMesh) -> Vec<Vec3> {
    if body.velocity == [0.0; 3] && body.angular_velocity == [0.0; 3] {
        return Vec::new();
    }
    let (velocity, spin) = (Vec3::from(body.velocity), Vec3::from(body.angular_velocity));
    let (mut center, mut total) = (Vec3::zero(), 0.0);
    for (cell, volume) in mesh.cell_volumes().into_iter().enumerate() {
        center += center_of(mesh, cell) * volume;
        total += volume;
    }
    let center = center / total;
    mesh.positions().iter().map(|&x| velocity + spin.cross(x - center)).collect()
}
