//! Where fibers of a tissue run: between attachments, along a direction, or as in another muscle.

use sinew_anatomy::Solid;
use sinew_anatomy::annotate::{
    FiberOptions, FiberTemplate, Leaning, MuscleAxes, end_nodes, fibers_along, fibers_between, lean_by_place,
    lean_toward,
};
use sinew_anatomy::field::DistanceField;
use sinew_anatomy::morph::Morph;
use sinew_geometry::fibers::Pennation;
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::{Aabb, CellMesh};
use sinew_math::Vec3;
use sinew_scene::Diagnostic;
use sinew_scene::recipe::tissue::{self, Kind, LaplaceFibers, TemplateFibers, Tissue, TissueFibers};

use super::annotate::FIBER;
use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::told;
use super::scene::cells_of;
use super::stage::{Made, Trouble};
use super::{attached, morph, parts};

/// The direction toward which fibers lean where nothing else is said: to the front.
const FRONT: Vec3 = Vec3::new(0.0, 1.0, 0.0);

type Fields = [Result<Made<DistanceField>, Diagnostic>];

/// What fibers depend on besides the mesh and its attachments.
pub(super) fn add_inputs(bench: &Bench<'_>, index: usize, key: KeyBuilder) -> Result<KeyBuilder, Trouble> {
    let Some(TissueFibers::Template(template)) = &bench.recipe.tissue[index].fibers else { return Ok(key) };
    let digest = attached::digest_of_mesh(bench.recipe, &template.file);
    Ok(key.input(digest.map_err(|error| told(bench, &format!("tissue[{index}].fibers.file"), &error))?))
}

/// Fiber directions of the cells; `None` for tissues without fibers. `sets` are the nodes of the attachments, `cell` is the
/// size of the cells \[m\].
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    mesh: &CellMesh,
    cell: f64,
    sets: &[Vec<u32>],
    smooth: &Fields,
) -> Result<Option<Vec<Vec3>>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    if !tissue.has_fibers() || tissue.kind != Kind::Muscle {
        return Ok(None);
    }
    match &tissue.fibers {
        Some(TissueFibers::Direction(fibers)) => Ok(Some(vec![Vec3::from(fibers.direction); mesh.cell_count()])),
        Some(TissueFibers::Lines(fibers)) => {
            let (lean, pennation) = (fibers.lean, fibers.pennation);
            let leans = Leans { pennation, lean, places: &fibers.leaning };
            let morph = morph::of(bench)?;
            let line = |line: &Vec<[f64; 3]>| line.iter().map(|p| morph::place(&morph, Vec3::from(*p))).collect();
            let lines: Vec<Vec<Vec3>> = fibers.lines.iter().map(line).collect();
            let along = fibers_along(mesh, &lines);
            let along = along.map_err(|error| told(bench, &format!("tissue[{index}].fibers"), &error.to_string()))?;
            leaned(bench, index, mesh, cell, along, smooth, &leans).map(Some)
        }
        Some(TissueFibers::Laplace(fibers)) => between(bench, index, mesh, cell, sets, smooth, fibers).map(Some),
        Some(TissueFibers::Template(template)) => as_in(bench, index, mesh, sets, template).map(Some),
        None => between(bench, index, mesh, cell, sets, smooth, &LaplaceFibers::default()).map(Some),
    }
}

/// Fibers from attachment to attachment.
fn between(
    bench: &Bench<'_>,
    index: usize,
    mesh: &CellMesh,
    cell: f64,
    sets: &[Vec<u32>],
    smooth: &Fields,
    spec: &LaplaceFibers,
) -> Result<Vec<Vec3>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let path = if tissue.fibers.is_some() { "fibers" } else { "attach" };
    let failed = |error: &dyn std::fmt::Display| {
        told(bench, &format!("tissue[{index}].{path}"), &format!("{}: {error}", tissue.name))
    };
    let [mut from, mut to] = ends(tissue, [&spec.from, &spec.to], sets);
    if spec.lengthwise {
        let reach = REACH * mean_edge(mesh);
        [from, to] = [end_nodes(mesh, &from, &to, reach), end_nodes(mesh, &to, &from, reach)];
    }
    let options = FiberOptions { tolerance: TOLERANCE, ..FiberOptions::default() };
    let fibers = fibers_between(mesh, &from, &to, &options).map_err(|error| failed(&error))?.directions;
    let leans = Leans { pennation: spec.pennation, lean: spec.lean, places: &spec.leaning };
    leaned(bench, index, mesh, cell, fibers, smooth, &leans)
}

/// How fibers lean, as a recipe says.
struct Leans<'a> {
    pennation: f64,
    lean: Option<[f64; 3]>,
    places: &'a [tissue::Leaning],
}

/// Fibers that lean: toward the aponeurosis or in one direction, or as the nearest place says.
fn leaned(
    bench: &Bench<'_>,
    index: usize,
    mesh: &CellMesh,
    cell: f64,
    mut fibers: Vec<Vec3>,
    smooth: &Fields,
    leans: &Leans<'_>,
) -> Result<Vec<Vec3>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let failed = |error: &dyn std::fmt::Display| {
        told(bench, &format!("tissue[{index}].fibers"), &format!("{}: {error}", tissue.name))
    };
    let leans_toward_sheet = leans.pennation != 0.0 && leans.lean.is_none() && tissue.has_aponeurosis();
    let surfaces = if leans_toward_sheet { parts::aponeurosis_surfaces(bench, index, smooth)? } else { Vec::new() };
    if !surfaces.is_empty() {
        let sheet = Sheet(surfaces.iter().map(NearestPlaces::new).collect());
        fibers = lean_toward(mesh, &fibers, &sheet, leans.pennation, 0.1 * cell).map_err(|error| failed(&error))?;
    } else if leans.pennation != 0.0 && !leans_toward_sheet {
        let pennation = Pennation::Towards { normal: leans.lean.map_or(FRONT, Vec3::from), angle: leans.pennation };
        let lean = |(cell, fiber): (usize, &Vec3)| pennation.rotated(cell, *fiber, Vec3::zero());
        let leaned: Result<Vec<Vec3>, _> = fibers.iter().enumerate().map(lean).collect();
        fibers = leaned.map_err(|error| failed(&error))?;
    }
    let morph = morph::of(bench)?;
    let places = leans.places.iter().map(|leaning| Leaning {
        at: morph::place(&morph, Vec3::from(leaning.at)),
        toward: Vec3::from(leaning.lean),
        angle: leaning.pennation,
    });
    Ok(lean_by_place(mesh, &fibers, &places.collect::<Vec<_>>()))
}

/// Relative residual of potentials: directions are right to far less than a degree.
const TOLERANCE: f64 = 1e-7;

/// Around a node of an attachment the muscle is searched this far for what goes on beyond it \[mean edges\].
const REACH: f64 = 4.0;

/// Mean length of the edges of cells \[m\].
fn mean_edge(mesh: &CellMesh) -> f64 {
    // Six tetrahedra with edges of mean length l fill about 0.7 l³.
    (mesh.volume() / mesh.cell_count() as f64 * 8.5).cbrt()
}

/// The distance to surfaces, without a sign and without a limit: fibers far from a sheet know where it is.
struct Sheet<'a>(Vec<NearestPlaces<'a>>);

impl Solid for Sheet<'_> {
    fn distance(&self, p: Vec3) -> f64 {
        let places = self.0.iter().filter_map(|surface| surface.to(p));
        places.map(|place| (place.position - p).norm()).fold(f64::INFINITY, f64::min)
    }

    /// Nothing is inside.
    fn bounds(&self) -> Aabb {
        Aabb::EMPTY
    }
}

/// Nodes where fibers start and end: of the attachments with these names, else of the first and the last.
fn ends(tissue: &Tissue, names: [&[String]; 2], sets: &[Vec<u32>]) -> [Vec<u32>; 2] {
    let nodes = |end: usize| -> Vec<u32> {
        let meant = names_of(tissue, names[end], end);
        let own = tissue.attach.iter().zip(sets).filter(|(attach, _)| meant.contains(&attach.name.as_str()));
        own.flat_map(|(_, nodes)| nodes.iter().copied()).collect()
    };
    [nodes(0), nodes(1)]
}

/// Names of the attachments at an end: 0 where fibers start, 1 where they end.
fn names_of<'a>(tissue: &'a Tissue, names: &'a [String], end: usize) -> Vec<&'a str> {
    if !names.is_empty() {
        return names.iter().map(String::as_str).collect();
    }
    let default = if end == 0 { tissue.attach.first() } else { tissue.attach.last() };
    default.map(|attach| attach.name.as_str()).into_iter().collect()
}

/// Fibers as another muscle has them.
fn as_in(
    bench: &Bench<'_>,
    index: usize,
    mesh: &CellMesh,
    sets: &[Vec<u32>],
    spec: &TemplateFibers,
) -> Result<Vec<Vec3>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let path = format!("tissue[{index}].fibers");
    let failed = |error: &dyn std::fmt::Display| told(bench, &path, &format!("{}: {error}", tissue.name));
    let wrong = |text: String| told(bench, &format!("{path}.file"), &format!("`{}`: {text}", spec.file));
    let data = attached::mesh(bench.recipe, &spec.file).map_err(wrong)?;
    let other = cells_of(data).map_err(|error| wrong(error.to_string()))?;
    let fibers = fibers_of(&other).map_err(wrong)?;
    let template = FiberTemplate::new(&other, &fibers).map_err(|error| failed(&error))?;
    if !spec.landmarks.is_empty() {
        let recipe_morph = morph::of(bench)?;
        let [from, to] = [0, 1].map(|side| -> Vec<Vec3> {
            let marks = spec.landmarks.iter();
            marks
                .map(|mark| if side == 0 { mark.from.into() } else { morph::place(&recipe_morph, mark.to.into()) })
                .collect()
        });
        let back = Morph::new(&to, &from);
        let back = back.map_err(|error| told(bench, &format!("{path}.landmarks"), &error.to_string()))?;
        return template.by_morph(mesh, &back).map_err(|error| failed(&error));
    }
    let names = [0, 1].map(|end| names_of(tissue, if end == 0 { &spec.from } else { &spec.to }, end));
    let mut others = [Vec::new(), Vec::new()];
    for (nodes, names) in others.iter_mut().zip(&names) {
        for name in names {
            let known: Vec<&str> = other.node_sets().keys().map(String::as_str).collect();
            let set = other.node_sets().get(*name).ok_or_else(|| {
                wrong(format!("it has no set of nodes `{name}`; hint: its sets are {}", known.join(", ")))
            })?;
            nodes.extend_from_slice(set);
        }
    }
    let [from, to] = ends(tissue, [&spec.from, &spec.to], sets);
    let axes = |mesh: &CellMesh, from: &[u32], to: &[u32], across: Option<[f64; 3]>| {
        MuscleAxes::new(mesh, from, to, across.map(Vec3::from)).map_err(|error| failed(&error))
    };
    let theirs = axes(&other, &others[0], &others[1], spec.template_across)?;
    let own = axes(mesh, &from, &to, spec.across)?;
    template.by_axes(&theirs, mesh, &own).map_err(|error| failed(&error))
}

/// The fibers of a template: a unit direction in each cell.
fn fibers_of(mesh: &CellMesh) -> Result<Vec<Vec3>, String> {
    let field = mesh.cell_fields().get(FIBER).filter(|field| field.components == 3);
    let field = field.ok_or("it has no fibers; hint: they are a cell field `fiber` with three numbers a cell")?;
    let fibers: Vec<Vec3> = field.values.chunks_exact(3).map(|f| Vec3::new(f[0], f[1], f[2]).normalized()).collect();
    match fibers.iter().position(|fiber| !fiber.is_finite()) {
        Some(cell) => Err(format!("cell {cell} has no fiber")),
        None => Ok(fibers),
    }
}
