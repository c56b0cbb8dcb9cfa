//! Stage `shape`: solids added to smoothed tissues or taken away, and tendons that images do not show.
//!
//! This comes after smoothing, which would eat thin tendons. Parts that are other tissues are taken as smoothed, so the
//! order of tissues does not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sinew_anatomy::Solid;
use sinew_anatomy::annotate::Pad;
use sinew_anatomy::field::csg::Operation;
use sinew_anatomy::field::{DistanceField, Keep};
use sinew_anatomy::mesher;
use sinew_anatomy::primitives::{Capsule, Cone, Cuboid, Ellipsoid, SplineTube};
use sinew_geometry::mesh::NearestPlaces;
use sinew_geometry::{Aabb, TriMesh};
use sinew_math::{Mat3, Vec3};
use sinew_scene::recipe::shape::{Csg, Part};
use sinew_scene::recipe::tissue::{AttachedTo, MissingTendon, Tissue};
use sinew_scene::{Diagnostic, Recipe};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{self, told};
use super::stage::{Made, Trouble};
use super::stored::{Reader, Stored, Writer};
use super::{attach, field};

/// Version of the stage.
const VERSION: u32 = 2;

/// Parts below this fraction of the largest are specks.
const SPECK: f64 = 0.01;

type Fields = [Result<Made<DistanceField>, Diagnostic>];

/// The final shape of a tissue; `smooth` are all tissues before this stage.
pub(super) fn make(bench: &Bench<'_>, index: usize, smooth: &Fields) -> Result<Made<DistanceField>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let own = field::result(smooth, index)?;
    if tissue.csg.is_empty() && !tissue.has_added_tendon() {
        bench.shop.tick(1, &tissue.name);
        return Ok(own.clone());
    }
    let mut key = KeyBuilder::new("shape", VERSION).input(own.digest).text(&own_words(tissue));
    if tissue.has_added_tendon() {
        key = key.number(cells::cell_of(bench, index));
    }
    // Looked for in every build, so that it stays in the cache.
    let _ = lines(bench, index, smooth)?;
    for name in others(tissue) {
        key = key.input(named(bench, index, name, smooth)?.digest);
    }
    bench.shop.make(&format!("shape {}", tissue.name), key.finish(), || {
        let start = bench.shop.get(own)?;
        let added = added(bench, index, smooth)?;
        let mut steps: Vec<(Operation, Box<dyn Solid>)> = Vec::new();
        for (k, step) in tissue.csg.iter().enumerate() {
            steps.push(step_of(bench, index, k, step, smooth)?);
        }
        if !added.is_empty() {
            // The ends within bones only make sure that they meet.
            let bones: BTreeSet<&str> = bones_of_added(tissue).collect();
            // What is grown into the bone is half a cell deep: a tendon that is flat on it would be too thin for cells.
            let depth = -0.5 * cells::cell_of(bench, index);
            let bones = bones.into_iter().map(|bone| {
                let bone = bench.shop.get(named(bench, index, bone, smooth)?)?;
                Ok(Box::new(Grown(bone, depth)) as Box<dyn Solid>)
            });
            steps.push((Operation::Union, Box::new(AnyOf(added))));
            steps.push((Operation::Difference, Box::new(AnyOf(bones.collect::<Result<Vec<_>, Trouble>>()?))));
        }
        let mut shape = DistanceField::clone(&start);
        for (operation, solid) in steps {
            let combined = shape.combine(operation, &*solid);
            combined.map_err(|error| told(bench, &format!("tissue[{index}].csg"), &error.to_string()))?;
        }
        // Ends of tubes that come out of the other side of a thin bone, and slivers between tissues.
        let largest = shape.parts().first().map_or(0.0, |part| part.volume);
        shape.keep_parts(&Keep::Above(SPECK * largest));
        match shape.is_empty() {
            true => Err(told(bench, &format!("tissue[{index}].csg"), &format!("nothing is left of `{}`", tissue.name))),
            false => Ok(shape),
        }
    })
}

/// The part of the recipe that this stage reads.
fn own_words(tissue: &Tissue) -> String {
    let part = Tissue {
        name: "tissue".into(),
        csg: tissue.csg.clone(),
        tendon: tissue.tendon.clone(),
        attach: padded(tissue).cloned().collect(),
        ..Tissue::default()
    };
    Recipe::words_of_tissue(&part)
}

/// Attachments that are filled with tendon.
pub(super) fn padded(tissue: &Tissue) -> impl Iterator<Item = &AttachedTo> {
    tissue.attach.iter().filter(|attach| attach.has_pad())
}

/// Bones on which tendon is added.
fn bones_of_added(tissue: &Tissue) -> impl Iterator<Item = &str> {
    let tubes = tissue.tendon.iter().map(|tendon| tendon.to.as_str());
    tubes.chain(padded(tissue).map(|attach| attach.bone.as_str()))
}

/// Tissues whose shapes this one depends on.
fn others(tissue: &Tissue) -> impl Iterator<Item = &str> {
    let parts = tissue.csg.iter().map(|step| match step {
        Csg::Add(part) | Csg::Subtract(part) | Csg::Intersect(part) => part,
    });
    parts.filter_map(name_of).chain(bones_of_added(tissue))
}

/// The tissue that a part is.
pub(super) fn name_of(part: &Part) -> Option<&str> {
    match part {
        Part::Tissue(other) => Some(&other.name),
        _ => None,
    }
}

/// Another tissue; names were checked when the recipe was read.
pub(super) fn named<'a>(
    bench: &Bench<'_>,
    index: usize,
    name: &str,
    smooth: &'a Fields,
) -> Result<&'a Made<DistanceField>, Trouble> {
    let at = bench.recipe.tissue.iter().position(|tissue| tissue.name == name);
    match at.and_then(|at| smooth.get(at)?.as_ref().ok()) {
        Some(made) => Ok(made),
        None => Err(told(bench, &format!("tissue[{index}]"), &format!("`{name}`, which it needs, could not be made"))),
    }
}

/// Several solids as one.
struct AnyOf(Vec<Box<dyn Solid>>);

impl Solid for AnyOf {
    fn distance(&self, p: Vec3) -> f64 {
        self.0.iter().map(|solid| solid.distance(p)).fold(f64::INFINITY, f64::min)
    }

    fn bounds(&self) -> Aabb {
        self.0.iter().fold(Aabb::EMPTY, |all, solid| all.union(&solid.bounds()))
    }
}

/// A field whose surface is moved outward.
struct Grown(Arc<DistanceField>, f64);

impl Solid for Grown {
    fn distance(&self, p: Vec3) -> f64 {
        self.0.distance(p) - self.1
    }

    fn bounds(&self) -> Aabb {
        self.0.bounds().grown(self.1.max(0.0))
    }
}

/// The first solid of a tissue that is made of primitives only.
pub(super) fn first_part(bench: &Bench<'_>, index: usize) -> Result<Box<dyn Solid>, Trouble> {
    let first = bench.recipe.tissue[index].csg.first();
    match first {
        Some(step @ Csg::Add(_)) => step_of(bench, index, 0, step, &[]).map(|(_, solid)| solid),
        _ => Err(told(bench, &format!("tissue[{index}].csg"), "a tissue of primitives begins with `add`")),
    }
}

fn step_of(
    bench: &Bench<'_>,
    index: usize,
    k: usize,
    step: &Csg,
    smooth: &Fields,
) -> Result<(Operation, Box<dyn Solid>), Trouble> {
    let (operation, key, part) = match step {
        Csg::Add(part) => (Operation::Union, "add", part),
        Csg::Subtract(part) => (Operation::Difference, "subtract", part),
        Csg::Intersect(part) => (Operation::Intersection, "intersect", part),
    };
    let solid = solid_of(bench, index, &format!("tissue[{index}].csg[{k}].{key}"), part, smooth)?;
    Ok((operation, solid))
}

/// The solid of a part of a tissue; `path` is its place in the recipe.
pub(super) fn solid_of(
    bench: &Bench<'_>,
    index: usize,
    path: &str,
    part: &Part,
    smooth: &Fields,
) -> Result<Box<dyn Solid>, Trouble> {
    Ok(match part {
        Part::Capsule(part) => Box::new(Capsule { ends: part.ends.map(Vec3::from), radius: part.radius }),
        Part::Cone(part) => Box::new(Cone { ends: part.ends.map(Vec3::from), radii: part.radii }),
        Part::Ellipsoid(part) => Box::new(Ellipsoid {
            center: Vec3::from(part.center),
            axes: Mat3::identity(),
            radii: Vec3::from(part.radii),
        }),
        Part::Box(part) => {
            let [a, b] = part.corners.map(Vec3::from);
            let half = ((b - a) * 0.5).map(f64::abs);
            Box::new(Cuboid { center: (a + b) * 0.5, axes: Mat3::identity(), half })
        }
        Part::Tube(part) => {
            let radius = |i: usize| part.radius.get(i).or(part.radius.last()).copied().unwrap_or_default();
            let points: Vec<(Vec3, f64)> =
                part.through.iter().enumerate().map(|(i, p)| (Vec3::from(*p), radius(i))).collect();
            Box::new(SplineTube::new(&points).ok_or_else(|| told(bench, path, "a tube needs points and a radius"))?)
        }
        Part::Tissue(part) => Box::new(Grown(bench.shop.get(named(bench, index, &part.name, smooth)?)?, part.grown)),
    })
}

/// Tendon that the image of a tissue does not show: tubes, and pads on bones.
pub(super) fn added(bench: &Bench<'_>, index: usize, smooth: &Fields) -> Result<Vec<Box<dyn Solid>>, Trouble> {
    let tubes = tubes(bench, index, smooth)?.into_iter().map(|tube| Ok(Box::new(tube) as Box<dyn Solid>));
    let pads = padded(&bench.recipe.tissue[index]).map(|attach| {
        let bone = bench.shop.get(named(bench, index, &attach.bone, smooth)?)?;
        let [margin, depth] = [PAD_MARGIN, PAD_DEPTH].map(|part| part * cells::cell_of(bench, index));
        let near = 2.0 * bone.voxel();
        let points = |curve: &Vec<[f64; 3]>| curve.iter().map(|p| Vec3::from(*p)).collect();
        let curves: Vec<Vec<Vec3>> = attach.outline.iter().map(points).collect();
        let outline = attach::outline(attach, &curves, &bone);
        Ok(Box::new(Pad { bone, outline, height: attach.pad, depth, margin, near }) as Box<dyn Solid>)
    });
    tubes.chain(pads).collect()
}

/// How far pads reach past what is drawn \[cells\]: cells round their rims by about as much.
const PAD_MARGIN: f64 = 0.25;
/// How deep pads are grown into the bone \[cells\].
const PAD_DEPTH: f64 = 0.25;

/// Tubes of the tendons that the image of a tissue does not show.
fn tubes(bench: &Bench<'_>, index: usize, smooth: &Fields) -> Result<Vec<SplineTube>, Trouble> {
    let specs = &bench.recipe.tissue[index].tendon;
    let lines = bench.shop.get(&lines(bench, index, smooth)?)?;
    let tube = |(k, (line, spec)): (usize, (&Vec<Vec3>, &MissingTendon))| {
        let points: Vec<(Vec3, f64)> = line.iter().map(|p| (*p, spec.radius)).collect();
        let path = format!("tissue[{index}].tendon[{k}]");
        SplineTube::new(&points).ok_or_else(|| told(bench, &path, "the line of the tendon is not finite"))
    };
    lines.0.iter().zip(specs).enumerate().map(tube).collect()
}

/// Points of the lines of tendons.
struct Lines(Vec<Vec<Vec3>>);

impl Stored for Lines {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.count(self.0.len());
        self.0.iter().for_each(|line| out.points(line));
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let count = input.count()?;
        (0..count).map(|_| input.points()).collect::<Option<_>>().map(Self)
    }
}

/// The lines of the tendons of a tissue, which several stages need: surfaces are looked at once.
fn lines(bench: &Bench<'_>, index: usize, smooth: &Fields) -> Result<Made<Lines>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let own = field::result(smooth, index)?;
    let mut key = KeyBuilder::new("tendons", VERSION).input(own.digest).text(&own_words(tissue));
    for spec in &tissue.tendon {
        key = key.input(named(bench, index, &spec.to, smooth)?.digest);
    }
    bench.shop.quiet(key.finish(), || {
        if tissue.tendon.is_empty() {
            return Ok(Lines(Vec::new()));
        }
        let own = bench.shop.get(own)?;
        let surface = rough_surface(&own).map_err(|error| told(bench, &format!("tissue[{index}]"), &error))?;
        let mut bones: BTreeMap<String, TriMesh> = BTreeMap::new();
        let found = tissue.tendon.iter().enumerate().map(|(k, spec)| {
            let path = format!("tissue[{index}].tendon[{k}]");
            if !bones.contains_key(&spec.to) {
                let bone = bench.shop.get(named(bench, index, &spec.to, smooth)?)?;
                let bone_surface = rough_surface(&bone).map_err(|error| told(bench, &path, &error))?;
                bones.insert(spec.to.clone(), bone_surface);
            }
            let line = line(spec, &own, &surface, &bones[&spec.to]);
            line.ok_or_else(|| told(bench, &path, "there is nothing to join"))
        });
        found.collect::<Result<_, _>>().map(Lines)
    })
}

/// A surface good enough to find places on it; finer where a tissue is too small.
fn rough_surface(field: &DistanceField) -> Result<TriMesh, String> {
    let sizes = [2.0, 1.0, 0.5].map(|factor| factor * field.voxel());
    let mut found = sizes.into_iter().map(|size| mesher::rough_isosurface(field, size));
    let first = found.next().unwrap_or(Err(mesher::MeshError::Empty));
    first.or_else(|error| found.find_map(Result::ok).ok_or(error)).map_err(|error| error.to_string())
}

/// The line of a tendon: from within the tissue over the points on the way into the bone.
fn line(spec: &MissingTendon, own: &DistanceField, surface: &TriMesh, bone: &TriMesh) -> Option<Vec<Vec3>> {
    let places = NearestPlaces::new(bone);
    let vertices = || surface.positions().iter().copied();
    let nearest_vertex =
        |to: Vec3| vertices().min_by(|a, b| (*a - to).norm_squared().total_cmp(&(*b - to).norm_squared()));
    let via: Vec<Vec3> = spec.via.iter().map(|p| Vec3::from(*p)).collect();
    let (start, end) = match spec.at {
        Some(at) => {
            let end = places.to(Vec3::from(at))?.position;
            (nearest_vertex(via.first().copied().unwrap_or(end))?, end)
        }
        None => {
            let from = |p: Vec3| places.to(via.last().copied().unwrap_or(p)).map(|place| (p, place.position));
            let gap = |p: Vec3, place: Vec3| (via.first().copied().unwrap_or(place) - p).norm_squared();
            vertices().filter_map(from).min_by(|a, b| gap(a.0, a.1).total_cmp(&gap(b.0, b.1)))?
        }
    };
    let inward = own.gradient(start, own.voxel()).normalized() * (-2.0 * spec.radius);
    let anchor = start + if inward.is_finite() { inward } else { Vec3::zero() };
    let before = via.last().copied().unwrap_or(start);
    let into = (end - before).normalized() * spec.radius;
    let into = if into.is_finite() { into } else { Vec3::zero() };
    let mut line = vec![anchor];
    line.extend(via);
    line.extend([end, end + into]);
    Some(line)
}
