//! Stage `mesh`: surfaces of bones, tetrahedra of everything else, and their facts.

use std::f64::consts::PI;
use std::sync::Arc;

use sinew_anatomy::Solid;
use sinew_anatomy::field::DistanceField;
use sinew_anatomy::mesher::compress::{CompressOptions, mesh_compressed};
use sinew_anatomy::mesher::{self, MeshError, MeshOptions, mesh_many};
use sinew_geometry::{Aabb, CellMesh, TriMesh};
use sinew_math::Vec3;
use sinew_scene::recipe::Method;
use sinew_scene::recipe::model::{ModelAttachment, ModelFile, ModelTissue};
use sinew_scene::recipe::tissue::Kind;
use sinew_scene::{Diagnostic, Dimension, format_quantity};

use super::build::Bench;
use super::cache::KeyBuilder;
use super::image::problem_of;
use super::stage::{Made, Trouble};
use super::stored::Stored;
use super::{parts, shape};

/// Version of the stages of this file.
const VERSION: u32 = 3;

/// Size of the cells of a tissue \[m\].
pub(super) fn cell_of(bench: &Bench<'_>, index: usize) -> f64 {
    bench.recipe.tissue[index].cell.unwrap_or(bench.recipe.mesh.cell)
}

/// The key that sets the size of the cells.
fn cell_path(bench: &Bench<'_>, index: usize) -> String {
    match bench.recipe.tissue[index].cell {
        Some(_) => format!("tissue[{index}].cell"),
        None => "mesh.cell".to_string(),
    }
}

fn problem(bench: &Bench<'_>, index: usize, error: &MeshError) -> Trouble {
    let name = &bench.recipe.tissue[index].name;
    let length = |value: f64| format_quantity(format!("{value:.2e}").parse().unwrap_or(value), Dimension::LENGTH);
    let path = match error {
        MeshError::CellSize { .. } | MeshError::TooCoarse { .. } | MeshError::TooManyCells { .. } => {
            cell_path(bench, index)
        }
        _ => format!("tissue[{index}]"),
    };
    let text = match error {
        MeshError::TooCoarse { cell, size } => format!(
            "no cell of {} fits, it is {} long; hint: give it a smaller `cell`, or leave it out",
            length(*cell),
            length(*size)
        ),
        MeshError::TooManyCells { cells, limit, fitting } => {
            format!(
                "about {cells:.1e} cells are needed, more than {limit}; hint: cells of {} would fit",
                length(*fitting)
            )
        }
        MeshError::Empty => {
            "nothing is left of it after smoothing; hint: do other tissues have the same voxels?".into()
        }
        other => other.to_string(),
    };
    told(bench, &path, &format!("{name}: {text}"))
}

/// The surface of a bone.
pub(super) fn surface(bench: &Bench<'_>, index: usize, shape: &Made<DistanceField>) -> Result<Made<TriMesh>, Trouble> {
    let cell = cell_of(bench, index);
    let key = KeyBuilder::new("surface", VERSION).input(shape.digest).number(cell).finish();
    bench.shop.make(&format!("surface {}", bench.recipe.tissue[index].name), key, || {
        let field = bench.shop.get(shape)?;
        let parts = parts_of(&field);
        halving(cell, |cell| mesher::isosurface(&*field, cell), |surface| surface.components().count <= parts)
            .map(|(_, surface)| surface)
            .map_err(|error| problem(bench, index, &error))
    })
}

/// The first of some cell sizes, each half of the last, whose result is good; else the last that there is.
fn halving<T>(
    wanted: f64,
    make: impl Fn(f64) -> Result<T, MeshError>,
    is_good: impl Fn(&T) -> bool,
) -> Result<(f64, T), MeshError> {
    let mut last = None;
    for halvings in 0..=HALVINGS {
        let cell = wanted * 0.5f64.powi(halvings);
        match make(cell) {
            Ok(made) if is_good(&made) => return Ok((cell, made)),
            Ok(made) => last = Some(Ok((cell, made))),
            Err(error @ MeshError::TooCoarse { .. }) => last = last.or(Some(Err(error))),
            // A result in parts is better than one that does not fit.
            Err(error) => return last.unwrap_or(Err(error)),
        }
    }
    last.unwrap_or(Err(MeshError::Empty))
}

/// A mesh with the size of its cells.
pub(super) struct SizedMesh {
    /// Size of the cells \[m\].
    pub cell: f64,
    /// The cells.
    pub mesh: CellMesh,
}

impl Stored for SizedMesh {
    fn to_bytes(&self) -> Vec<u8> {
        [self.cell.to_le_bytes().to_vec(), self.mesh.to_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (cell, rest) = bytes.split_first_chunk::<8>()?;
        Some(Self { cell: f64::from_le_bytes(*cell), mesh: CellMesh::from_bytes(rest)? })
    }
}

/// How often cells are halved where a tissue is too thin for them.
const HALVINGS: i32 = 2;

/// The tetrahedra of a tissue. Where they come out in more parts than the tissue has, it is too thin for its cells: they
/// are halved.
pub(super) fn mesh(
    bench: &Bench<'_>,
    index: usize,
    shape: &Made<DistanceField>,
    smooth: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Made<SizedMesh>, Trouble> {
    let (wanted, method) = (cell_of(bench, index), bench.recipe.mesh.method);
    let tissue = &bench.recipe.tissue[index];
    let mut key = KeyBuilder::new("mesh", VERSION).input(shape.digest).number(wanted).text(method.word());
    // The shape is the belly and its added tendons, unless more was done to it.
    let is_more = !tissue.csg.is_empty() || bench.recipe.morph.is_some();
    let belly = smooth[index].as_ref().ok().filter(|_| tissue.has_added_tendon() && !is_more);
    if let Some(belly) = belly {
        key = key.input(belly.digest);
    }
    bench.shop.make(&format!("mesh {}", tissue.name), key.finish(), || {
        let field = bench.shop.get(shape)?;
        let belly = match belly {
            Some(belly) => Some(Belly { field: bench.shop.get(belly)?, tendons: shape::added(bench, index, smooth)? }),
            None => None,
        };
        let parts = parts_of(&field);
        halving(wanted, |cell| tets(&field, belly.as_ref(), cell, method), |mesh| mesh.components().count <= parts)
            .map(|(cell, mesh)| SizedMesh { cell, mesh })
            .map_err(|error| problem(bench, index, &error))
    })
}

/// Size of the cells of a mesh, without reading the mesh where the size is known \[m\].
pub(super) fn size(bench: &Bench<'_>, mesh: &Made<SizedMesh>) -> Result<f64, Trouble> {
    let key = KeyBuilder::new("size", VERSION).input(mesh.digest).finish();
    let size = bench.shop.quiet(key, || Ok(Size(bench.shop.get(mesh)?.cell)))?;
    Ok(bench.shop.get(&size)?.0)
}

/// A length.
struct Size(f64);

impl Stored for Size {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(f64::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// Number of connected parts of a field, without specks.
fn parts_of(field: &DistanceField) -> usize {
    let speck = (2.0 * field.voxel()).powi(3);
    field.parts().iter().filter(|part| part.volume > speck).count().max(1)
}

/// A tissue before tendons were added.
struct Belly {
    field: Arc<DistanceField>,
    tendons: Vec<Box<dyn Solid>>,
}

/// The tetrahedra of a field, with the volume of its belly, or its own: thin tendons lose more to flat faces than bellies do.
fn tets(field: &DistanceField, belly: Option<&Belly>, cell: f64, method: Method) -> Result<CellMesh, MeshError> {
    let wanted = belly.map_or(field, |belly| &belly.field).volume();
    let limit = LARGEST_SHIFT * cell;
    let mut solid = Grown { field, by: 0.0 };
    // Volume per shift; the area to begin with, which sharp and thin parts make too small.
    let mut slope = f64::NAN;
    let mut last = None;
    // Flat faces cut what is round: how much, the first stage of stuffing tells at a fraction of the cost.
    for _ in 0..VOLUME_ROUNDS {
        let rough = MeshOptions { improve: false, sharpen: false, ..MeshOptions::new(cell) };
        let (volume, area) = volume_and_area(&mesher::mesh_solid(&solid, &rough)?.mesh, belly);
        let answered = last.map_or(area, |(by, before)| (volume - before) / (solid.by - by));
        slope = if answered > 0.5 * area && answered < 4.0 * area { answered } else { area };
        last = Some((solid.by, volume));
        let missing = wanted - volume;
        if missing.abs() < VOLUME_ERROR * wanted {
            break;
        }
        solid.by = (solid.by + missing / slope).clamp(-limit, limit);
    }
    let meshed = |solid: &Grown<'_>| {
        let meshed = match method {
            Method::Stuffed => mesher::mesh_solid(solid, &MeshOptions::new(cell)),
            Method::Compressed => mesh_compressed(solid, &CompressOptions::new(cell)),
        };
        let mesh = without_specks(meshed?.mesh)?;
        let missing = wanted - volume_and_area(&mesh, belly).0;
        Ok::<_, MeshError>((mesh, missing))
    };
    let (mesh, missing) = meshed(&solid)?;
    // The later stages change the volume of what is thin; once more is enough.
    let by = (solid.by + missing / slope).clamp(-limit, limit);
    if missing.abs() > FINAL_ERROR * wanted && by.is_finite() && by != solid.by {
        solid.by = by;
        let (again, still_missing) = meshed(&solid)?;
        if still_missing.abs() < missing.abs() && again.components().count <= mesh.components().count {
            return Ok(again);
        }
    }
    Ok(mesh)
}

/// Rounds in which the surface of a mesh is moved until it holds the volume of its tissue.
const VOLUME_ROUNDS: usize = 3;
/// Part of the volume that may be missing.
const VOLUME_ERROR: f64 = 1e-3;
/// Part of the volume that may be missing in the end.
const FINAL_ERROR: f64 = 5e-3;
/// Farthest that the surface moves for it \[cells\].
const LARGEST_SHIFT: f64 = 0.25;

/// A field whose surface is moved outward \[m\].
struct Grown<'a> {
    field: &'a DistanceField,
    by: f64,
}

impl Solid for Grown<'_> {
    fn distance(&self, p: Vec3) -> f64 {
        self.field.distance(p) - self.by
    }

    fn bounds(&self) -> Aabb {
        self.field.bounds().grown(self.by.max(0.0))
    }
}

/// Volume \[m³\] of the cells that no added tendon has, and area of their part of the boundary \[m²\].
fn volume_and_area(mesh: &CellMesh, belly: Option<&Belly>) -> (f64, f64) {
    let x = mesh.positions();
    let middle = |nodes: &[u32]| nodes.iter().map(|node| x[*node as usize]).sum::<Vec3>() / nodes.len() as f64;
    let is_own =
        |nodes: &[u32]| belly.is_none_or(|belly| !parts::is_added(&belly.field, &belly.tendons, middle(nodes)));
    let is_belly: Vec<bool> = mesh.cells().map(|(_, nodes)| is_own(nodes)).collect();
    let own = mesh.cell_volumes().into_iter().zip(&is_belly).filter(|(_, is_belly)| **is_belly);
    let volume = own.map(|(volume, _)| volume).sum();
    let (triangles, cells) = mesh.boundary_triangles_with_cells();
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|node| x[node as usize]);
        0.5 * (b - a).cross(c - a).norm()
    };
    let own = triangles.iter().zip(&cells).filter(|(_, cell)| is_belly[**cell as usize]);
    (volume, own.map(|(t, _)| area(t)).sum())
}

/// One mesh of all tissues that are not bones: cells share faces where tissues touch, each tissue is a set of cells.
pub(super) fn together(
    bench: &Bench<'_>,
    wanted: &[usize],
    shapes: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Option<Made<CellMesh>>, Trouble> {
    if !bench.recipe.mesh.together {
        return Ok(None);
    }
    let tissues = &bench.recipe.tissue;
    let soft = wanted.iter().filter(|&&i| tissues[i].kind != Kind::Bone);
    let found: Vec<(&str, &Made<DistanceField>)> =
        soft.filter_map(|&i| Some((tissues[i].name.as_str(), shapes[i].as_ref().ok()?))).collect();
    let cell = bench.recipe.mesh.cell;
    let key = KeyBuilder::new("together", VERSION).number(cell);
    let key = found.iter().fold(key, |key, (name, shape)| key.text(name).input(shape.digest)).finish();
    bench.shop.plan(1);
    let made = bench.shop.make("together", key, || {
        let fields = found.iter().map(|(_, shape)| bench.shop.get(shape)).collect::<Result<Vec<_>, _>>()?;
        let solids: Vec<&dyn Solid> = fields.iter().map(|field| &**field as &dyn Solid).collect();
        let failed = |error: MeshError| told(bench, "mesh.together", &error.to_string());
        let mut mesh = mesh_many(&solids, &MeshOptions::new(cell)).map_err(failed)?.mesh;
        let labels = mesh.cell_labels().to_vec();
        for (number, (name, _)) in found.iter().enumerate() {
            let own = (0..labels.len() as u32).filter(|cell| labels[*cell as usize] as usize == number);
            mesh = mesh.with_cell_set(*name, own.collect()).map_err(|error| failed(error.into()))?;
        }
        Ok(mesh)
    });
    made.map(Some)
}

/// Parts of a mesh below this fraction of the whole are specks: corners that a lattice cut off.
const SPECK: f64 = 0.01;

/// The mesh without specks.
fn without_specks(mesh: CellMesh) -> Result<CellMesh, MeshError> {
    let parts = mesh.components();
    if parts.count < 2 {
        return Ok(mesh);
    }
    let mut volumes = vec![0.0; parts.count];
    for (part, volume) in parts.component_of.iter().zip(mesh.cell_volumes()) {
        volumes[*part as usize] += volume;
    }
    let least = SPECK * volumes.iter().sum::<f64>();
    let remaining = mesh.with_cells(|cell| volumes[parts.component_of[cell] as usize] >= least)?;
    Ok(remaining.mesh)
}

/// Facts of a mesh, as they stand in the file of a model.
pub(super) struct Facts(pub ModelTissue);

impl Stored for Facts {
    fn to_bytes(&self) -> Vec<u8> {
        ModelFile { tissue: vec![self.0.clone()], ..ModelFile::default() }.to_toml().into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        ModelFile::from_text(text, "facts").ok()?.tissue.into_iter().next().map(Self)
    }
}

/// Facts of a mesh.
pub(super) fn facts(bench: &Bench<'_>, mesh: &Made<CellMesh>) -> Result<Made<Facts>, Trouble> {
    let key = KeyBuilder::new("facts", VERSION).input(mesh.digest).finish();
    bench.shop.quiet(key, || Ok(Facts(measured(&*bench.shop.get(mesh)?))))
}

fn measured(mesh: &CellMesh) -> ModelTissue {
    let quality = mesh.quality();
    let bounds = mesh.bounds();
    let sets = mesh.node_sets().iter();
    ModelTissue {
        name: "facts".into(),
        attach: sets
            .map(|(name, nodes)| ModelAttachment {
                name: name.clone(),
                bone: "bone".into(),
                nodes: nodes.len(),
                ..ModelAttachment::default()
            })
            .collect(),
        has_fibers: mesh.cell_fields().contains_key(super::annotate::FIBER),
        has_tendon: mesh.cell_sets().contains_key(super::parts::TENDON),
        has_aponeurosis: mesh.cell_sets().contains_key(super::parts::APONEUROSIS),
        volume: mesh.volume(),
        cells: mesh.cell_count(),
        components: mesh.components().count,
        min_dihedral: quality.min_dihedral.clamp(0.0, PI),
        max_dihedral: quality.max_dihedral,
        min_height: smallest_height(mesh),
        low: bounds.min.into(),
        high: bounds.max.into(),
        ..ModelTissue::default()
    }
}

/// The smallest height of a tetrahedron over one of its faces, 3 V / A \[m\].
fn smallest_height(mesh: &CellMesh) -> f64 {
    let x = mesh.positions();
    let height = |nodes: &[u32]| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| x[nodes[k] as usize]);
        let volume = (b - a).cross(c - a).dot(d - a).abs() / 6.0;
        let double = [(b - a).cross(c - a), (b - a).cross(d - a), (c - a).cross(d - a), (c - b).cross(d - b)];
        let largest = double.iter().map(|n| 0.5 * n.norm()).fold(0.0, f64::max);
        3.0 * volume / largest
    };
    mesh.cells().map(|(_, nodes)| height(nodes)).fold(f64::INFINITY, f64::min)
}

/// Facts of a bone.
pub(super) fn facts_of_surface(surface: &TriMesh) -> ModelTissue {
    let bounds = surface.bounds();
    ModelTissue {
        volume: surface.volume().max(0.0),
        components: surface.components().count,
        low: bounds.min.into(),
        high: bounds.max.into(),
        ..ModelTissue::default()
    }
}

/// A problem of a tissue.
pub(super) fn told(bench: &Bench<'_>, path: &str, text: &str) -> Trouble {
    Trouble::Told(problem_of(bench.recipe, path, text))
}
