//! Pictures of tissues: all together, turning, and each with its attachments and fibers.

use std::collections::BTreeSet;

use sinew_geometry::{CellMesh, TriMesh};
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use sinew_raster::{
    Background, Bounds, Camera, Finish, FitParams, Image, Renderer, Rgb, ShapeMesh, Surface, UpAxis, View,
};
use sinew_record::record::Animation;
use sinew_scene::Diagnostic;
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::recipe::tissue::Kind;

use super::super::Model;
use super::super::annotate::FIBER;
use super::super::build::{Bench, Parts};
use super::super::parts::{APONEUROSIS, TENDON};
use super::super::stage::Trouble;

/// Number of sticks in the picture of a muscle.
const STICKS: usize = 700;
/// Height of drawn attachments over their surface, as a part of their size.
const LIFT: f64 = 0.005;
const IVORY: Rgb = Rgb([0.90, 0.86, 0.76]);
const TENDON_COLOR: Rgb = Rgb([0.93, 0.90, 0.86]);
const FLESH: Rgb = Rgb([0.93, 0.76, 0.66]);
const ORIGIN: Rgb = Rgb([0.14, 0.38, 0.78]);
const INSERTION: Rgb = Rgb([0.88, 0.45, 0.08]);

/// Triangles of one color.
struct Patch {
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
    color: Rgb,
}

impl Patch {
    fn surface(&self) -> Surface<'_> {
        Surface::solid(&self.positions, &self.triangles, self.color, Finish::MATTE)
    }
}

/// A tissue as it is drawn.
struct Actor {
    name: String,
    kind: Kind,
    patches: Vec<Patch>,
    sticks: Vec<Patch>,
}

/// All tissues.
pub(super) struct Cast {
    actors: Vec<Actor>,
    bounds: Bounds,
}

fn small(p: Vec3) -> [f32; 3] {
    [p.x as f32, p.y as f32, p.z as f32]
}

/// Reds that differ a little, so that neighbors can be told apart.
fn muscle_color(number: usize) -> Rgb {
    let shade = (number * 7 % 10) as f32 / 10.0;
    Rgb([0.62 + 0.22 * shade, 0.16 + 0.20 * (1.0 - shade), 0.15 + 0.12 * shade])
}

impl Cast {
    /// The tissues that were made.
    pub fn new(bench: &Bench<'_>, model: &Model, parts: &[Result<Parts, Diagnostic>]) -> Result<Self, Trouble> {
        let actor =
            |(number, (facts, parts)): (usize, (&ModelTissue, &Result<Parts, Diagnostic>))| -> Result<_, Trouble> {
                let Ok(parts) = parts else { return Ok(None) };
                let mut actor =
                    Actor { name: facts.name.clone(), kind: facts.kind, patches: Vec::new(), sticks: Vec::new() };
                if let Some(surface) = &parts.surface {
                    actor.patches.push(whole_surface(&*bench.shop.get(surface)?, IVORY));
                }
                if let Some(mesh) = &parts.mesh {
                    let color = match facts.kind {
                        Kind::Muscle => muscle_color(number),
                        Kind::Tendon => TENDON_COLOR,
                        _ => FLESH,
                    };
                    let cells = bench.shop.get(mesh)?;
                    actor.patches = painted(&cells, color);
                    let attached = parts.attached.as_ref().map(|made| bench.shop.get(made)).transpose()?;
                    for (k, _) in facts.attach.iter().enumerate() {
                        let surface = attached.as_ref().and_then(|attached| attached.surface(k));
                        let color = if k == 0 { ORIGIN } else { INSERTION };
                        actor.patches.extend(surface.map(|surface| lifted(&surface, color)));
                    }
                    actor.sticks = sticks(&cells);
                    bench.shop.release(mesh);
                }
                Ok(Some(actor))
            };
        let tissues: Vec<_> = model.file.tissue.iter().zip(parts).enumerate().collect();
        let actors: Vec<Option<Actor>> = tissues.into_par_iter().map(actor).collect::<Result<_, Trouble>>()?;
        let actors: Vec<Actor> = actors.into_iter().flatten().collect();
        let mut bounds = Bounds::default();
        let all = actors.iter().flat_map(|actor| &actor.patches).flat_map(|patch| &patch.positions);
        all.for_each(|p| bounds.add(*p));
        Ok(Self { actors, bounds })
    }

    /// All tissues from a side: 0 from the front, 1 from the back.
    pub fn whole(&self, half_turns: f32, side: usize) -> Image {
        // Flesh around everything would hide it.
        let has_muscles = self.actors.iter().any(|actor| actor.kind == Kind::Muscle);
        let shown = self.actors.iter().filter(|actor| !has_muscles || actor.kind != Kind::Flesh);
        let surfaces = shown.flat_map(|actor| &actor.patches).map(Patch::surface).collect();
        draw(surfaces, &self.bounds, half_turns, side)
    }

    /// All tissues, turning once; `None` if the animation cannot be made.
    pub fn turning(&self, frames: usize, side: usize) -> Option<Vec<u8>> {
        let views: Vec<Image> =
            (0..frames).into_par_iter().map(|k| self.whole(2.0 * k as f32 / frames as f32, side)).collect();
        let mut animation = Animation::new(views.iter().take(3));
        views.iter().try_for_each(|image| animation.push(image)).ok()?;
        animation.encode(0.12).ok()
    }

    /// A tissue with its fibers and the bones near it.
    pub fn one(&self, name: &str, side: usize) -> Option<Image> {
        let actor = self.actors.iter().find(|actor| actor.name == name)?;
        let mut bounds = Bounds::default();
        actor.patches.iter().flat_map(|patch| &patch.positions).for_each(|p| bounds.add(*p));
        if bounds.is_empty() {
            return None;
        }
        // Attachments stay; where there are fibers, they stand for the rest.
        let own: Vec<&Patch> = match actor.sticks.is_empty() {
            true => actor.patches.iter().collect(),
            false => actor.patches.iter().skip(1).chain(&actor.sticks).collect(),
        };
        let surfaces = own.into_iter().map(Patch::surface).collect();
        Some(draw(surfaces, &bounds, 0.15, side))
    }
}

fn draw(surfaces: Vec<Surface<'_>>, bounds: &Bounds, half_turns: f32, side: usize) -> Image {
    let renderer = Renderer::draft(side, side);
    // Azimuth 0 looks along +y, which is from behind in RAS.
    let azimuth = std::f32::consts::PI * (1.0 + half_turns);
    let params = FitParams { azimuth, elevation: 0.12, ..FitParams::default() };
    let camera = Camera::fit(bounds, UpAxis::Z, renderer.aspect(), &params);
    let view = View {
        camera,
        up: UpAxis::Z,
        ground: None,
        stage: *bounds,
        surfaces,
        title: None,
        caption: None,
        legend: None,
        background: Background::Studio,
    };
    renderer.render(&view)
}

fn whole_surface(surface: &TriMesh, color: Rgb) -> Patch {
    let positions = surface.positions().iter().map(|p| small(*p)).collect();
    Patch { positions, triangles: surface.triangles().to_vec(), color }
}

/// An attachment, a little above the surface that it was cut out of.
fn lifted(surface: &TriMesh, color: Rgb) -> Patch {
    let size = surface.bounds().diagonal();
    let corners = (0..surface.triangle_count()).flat_map(|i| {
        let [a, b, c] = surface.corners(i);
        let up = (b - a).cross(c - a).normalized() * (LIFT * size);
        [a, b, c].map(|p| small(if up.is_finite() { p + up } else { p }))
    });
    let triangles = (0..surface.triangle_count() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    Patch { positions: corners.collect(), triangles, color }
}

/// The boundary of a mesh by color: itself, tendon.
fn painted(mesh: &CellMesh, color: Rgb) -> Vec<Patch> {
    let positions: Vec<[f32; 3]> = mesh.positions().iter().map(|p| small(*p)).collect();
    let (triangles, cells) = mesh.boundary_triangles_with_cells();
    let stiff = [TENDON, APONEUROSIS].into_iter().filter_map(|name| mesh.cell_sets().get(name));
    let tendon: BTreeSet<u32> = stiff.flatten().copied().collect();
    let mut groups = [Vec::new(), Vec::new()];
    for (triangle, cell) in triangles.into_iter().zip(cells) {
        groups[usize::from(tendon.contains(&cell))].push(triangle);
    }
    groups
        .into_iter()
        .zip([color, TENDON_COLOR])
        .map(|(triangles, color)| {
            let (positions, triangles) = compact(&positions, &triangles);
            Patch { positions, triangles, color }
        })
        .collect()
}

/// Only the vertices that triangles use.
fn compact(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let mut new = vec![u32::MAX; positions.len()];
    let mut kept = Vec::new();
    let triangles = triangles.iter().map(|triangle| {
        triangle.map(|node| {
            let entry = &mut new[node as usize];
            if *entry == u32::MAX {
                *entry = kept.len() as u32;
                kept.push(positions[node as usize]);
            }
            *entry
        })
    });
    let triangles = triangles.collect();
    (kept, triangles)
}

/// Sticks along the fibers of evenly chosen cells, by the largest share of their direction.
fn sticks(mesh: &CellMesh) -> Vec<Patch> {
    let Some(field) = mesh.cell_fields().get(FIBER) else { return Vec::new() };
    let step = (mesh.cell_count() / STICKS).max(1);
    let size = mesh.bounds().size().max_component();
    let colors = [Rgb([0.80, 0.18, 0.16]), Rgb([0.20, 0.62, 0.24]), Rgb([0.22, 0.32, 0.80])];
    let mut patches = colors.map(|color| Patch { positions: Vec::new(), triangles: Vec::new(), color });
    for cell in (0..mesh.cell_count()).step_by(step) {
        let f = Vec3::new(field.values[3 * cell], field.values[3 * cell + 1], field.values[3 * cell + 2]);
        if !(f.norm() > 0.5) {
            continue;
        }
        let nodes = mesh.cell_nodes(cell);
        let center = nodes.iter().map(|&n| mesh.positions()[n as usize]).sum::<Vec3>() / nodes.len() as f64;
        let half = f * (0.02 * size);
        let stick = ShapeMesh::capsule(small(center - half), small(center + half), (0.0025 * size) as f32, 2);
        let axis = (0..3).max_by(|a, b| f[*a].abs().total_cmp(&f[*b].abs())).unwrap_or(0);
        let patch = &mut patches[axis];
        let base = patch.positions.len() as u32;
        patch.positions.extend_from_slice(&stick.positions);
        patch.triangles.extend(stick.triangles.iter().map(|triangle| triangle.map(|k| k + base)));
    }
    patches.into()
}
