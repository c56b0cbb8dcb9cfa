//! The strip of frames, the layers of a character, blend skinning beside flesh, and the stretch map.

use sinew_fem::Frame;
use sinew_geometry::{CellMesh, TriMesh};
use sinew_io::MeshData;
use sinew_math::Vec3;
use sinew_raster::{
    Background, Bounds, Camera, ColorMap, Finish, Paint, Renderer, Rgb, ShapeMesh, Surface, UpAxis, View,
};
use sinew_scene::spec::Scene;

use super::facts::NamedPicture;
use super::stretch::Skin;
use crate::costume::{Dressed, Wardrobe, body_surfaces};
use crate::record::shapes::{ground_level, points_f32};
use crate::record::{encode_indexed_pngs, up_axis};
use crate::still::{Lines, camera_of, draw_edges, placed_mesh};

/// Width and height of a picture of the strip \[pixels\].
const STRIP_SIZE: [usize; 2] = [280, 210];
/// Width and height of a view of the stretch map \[pixels\].
pub(super) const MAP_SIZE: [usize; 2] = [560, 420];
/// Margin around the subject, as a fraction of its size.
const MARGIN: f32 = 0.18;
/// Half the edge of the patch that represents a plane other than the ground, relative to the view.
const PATCH: f32 = 2.0;
/// Minimum span of the color map on either side of one, so that a body that hardly stretches is not painted red.
const MIN_SPAN: f64 = 0.1;
/// The colors end at zero.
const MAX_SPAN: f64 = 1.0;

/// Colors of bones, of the lattice, of intersecting triangles, and of obstacles.
const BONE: Rgb = Rgb([0.89, 0.86, 0.78]);
const CELLS: Rgb = Rgb([0.80, 0.78, 0.73]);
const CROSSING: Rgb = Rgb([0.80, 0.06, 0.10]);
const PROP: Rgb = Rgb([0.62, 0.64, 0.67]);
/// Skin differs where its displacement is at least this fraction of the largest difference.
const DIFFERENT: f32 = 0.1;
/// Maximum number of pairs of triangles that are painted as intersecting.
const MAX_MARKS: usize = 20_000;

/// Data of a frame that is drawn later.
pub(super) struct Snapshot {
    pub frame: usize,
    pub time: f64,
    bodies: Vec<Vec<[f32; 3]>>,
    dressed: Vec<Option<Dressed>>,
    shapes: Vec<ShapeMesh>,
    /// Height of a level plane.
    level: Option<f32>,
}

impl Snapshot {
    pub fn of(frame: &Frame<'_>, up: UpAxis, wardrobe: &Wardrobe) -> Self {
        let bodies: Vec<Vec<[f32; 3]>> = frame.bodies.iter().map(|body| points_f32(&body.surface_positions)).collect();
        let patch = PATCH * bounds_of(&bodies).radius();
        let (mut shapes, mut level) = (Vec::new(), None);
        for shape in &frame.shapes {
            match ground_level(shape.shape, &shape.pose, up.index()) {
                Some(height) => level = Some(level.map_or(height, |known: f32| known.max(height))),
                None => shapes.push(placed_mesh(shape.shape, &shape.pose, patch)),
            }
        }
        let dressed = wardrobe.dress(frame);
        Self { frame: frame.index, time: frame.time, bodies, dressed, shapes, level }
    }
}

fn bounds_of(bodies: &[Vec<[f32; 3]>]) -> Bounds {
    let mut bounds = Bounds::default();
    bodies.iter().for_each(|positions| bounds.union(&Bounds::of(positions)));
    bounds
}

/// A small picture of each snapshot, all with the same camera, as PNG files.
pub(super) fn strip(scene: &Scene, triangles: &[Vec<[u32; 3]>], snapshots: &[Snapshot]) -> Vec<Vec<u8>> {
    if !scene.record.pictures {
        return Vec::new();
    }
    let up = up_axis(scene.up);
    let mut stage = Bounds::default();
    snapshots.iter().for_each(|snapshot| stage.union(&bounds_of(&snapshot.bodies)));
    let level = snapshots.iter().filter_map(|snapshot| snapshot.level).reduce(f32::max);
    let lowest = (!stage.is_empty()).then(|| stage.min[up.index()]);
    let ground = level.or(lowest).filter(|_| scene.record.ground);
    let [width, height] = STRIP_SIZE;
    let renderer = Renderer::draft(width, height);
    let points = snapshots.iter().flat_map(|snapshot| {
        let followers = snapshot.dressed.iter().flatten().flat_map(|dressed| &dressed.followers);
        snapshot.bodies.iter().flatten().chain(followers).copied()
    });
    let camera = near_camera(scene, &stage, renderer.aspect(), points);
    let draw = |snapshot: &Snapshot| {
        let bodies = snapshot.bodies.iter().zip(triangles).enumerate();
        let mut surfaces: Vec<Surface<'_>> = bodies
            .flat_map(|(number, (positions, triangles))| {
                body_surfaces(number, positions, triangles, snapshot.dressed[number].as_ref())
            })
            .collect();
        for shape in &snapshot.shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, PROP, Finish::MATTE));
        }
        renderer.render(&view(camera, up, ground, stage, surfaces))
    };
    encode_indexed_pngs(&snapshots.iter().map(draw).collect::<Vec<_>>())
}

/// Stretches at the ends of the color map, for a skin that is mostly stretched by at most `most`.
pub(super) fn color_range(most: f64) -> [f64; 2] {
    // In round steps for legends.
    let span = ((most - 1.0).abs() * 10.0).ceil() / 10.0;
    let span = if span.is_finite() { span.clamp(MIN_SPAN, MAX_SPAN) } else { MAX_SPAN };
    [1.0 - span, 1.0 + span]
}

/// The skin colored by its stretch, from the camera of the scene and from behind.
pub(super) fn stretch_map(
    scene: &Scene,
    skin: &Skin,
    positions: &[Vec3],
    stretches: &[f64],
    range: [f64; 2],
) -> Vec<NamedPicture> {
    if !scene.record.pictures {
        return Vec::new();
    }
    let up = up_axis(scene.up);
    let positions = points_f32(positions);
    let values = skin.at_vertices(stretches);
    let stage = Bounds::of(&positions);
    let [width, height] = MAP_SIZE;
    let renderer = Renderer::draft(width, height);
    let front = camera_of(&scene.record.camera, &stage, up, renderer.aspect());
    let draw = |camera: Camera| {
        let camera = match scene.record.camera.eye {
            None => closer(camera, renderer.aspect(), positions.iter().copied()),
            Some(_) => camera,
        };
        let mut surface = Surface::solid(&positions, skin.triangles(), Rgb([0.9; 3]), Finish::CHART);
        let [min, max] = range.map(|end| end as f32);
        surface.paint = Paint::VertexField { values: &values, min, max, map: ColorMap::Stretch };
        renderer.render(&view(camera, up, None, stage, vec![surface]))
    };
    let pictures = encode_indexed_pngs(&[front, from_behind(front, up)].map(draw));
    named(["from the camera", "from behind"], pictures)
}

pub(super) fn named<const N: usize>(names: [&str; N], pictures: Vec<Vec<u8>>) -> Vec<NamedPicture> {
    names.into_iter().zip(pictures).map(|(name, png)| NamedPicture { name: name.into(), png }).collect()
}

/// The layers of a character at rest, all with the same camera: its bones, the outer faces of its cells, its skin.
pub(super) fn layers(
    scene: &Scene,
    number: usize,
    bones: &[ShapeMesh],
    mesh: &CellMesh,
    skin: &Skin,
    dressed: Option<&Dressed>,
) -> Vec<NamedPicture> {
    if !scene.record.pictures {
        return Vec::new();
    }
    let up = up_axis(scene.up);
    let lattice = sinew_scene::inspect::Skin::of(&MeshData::from(mesh));
    let (nodes, skin_places) = (points_f32(mesh.positions()), points_f32(skin.rest()));
    let mut stage = Bounds::of(&nodes);
    stage.union(&Bounds::of(&skin_places));
    let [width, height] = MAP_SIZE;
    let renderer = Renderer::draft(width, height);
    let camera = near_camera(scene, &stage, renderer.aspect(), nodes.iter().chain(&skin_places).copied());
    let ground = scene.record.ground.then(|| stage.min[up.index()]);
    let draw = |surfaces: Vec<Surface<'_>>| renderer.render(&view(camera, up, ground, stage, surfaces));
    let skeleton = bones.iter().map(|bone| Surface::solid(&bone.positions, &bone.triangles, BONE, Finish::MATTE));
    let skeleton = draw(skeleton.collect());
    let mut cells = draw(vec![Surface::solid(&nodes, &lattice.triangles, CELLS, Finish::MATTE)]);
    let mut lines = Lines::new(&camera, width, height);
    lines.cover(&nodes, &lattice.triangles);
    draw_edges(&mut cells, &lines, &nodes, &lattice.edges);
    let skin = draw(body_surfaces(number, &skin_places, skin.triangles(), dressed));
    named(["bones", "cells", "skin"], encode_indexed_pngs(&[skeleton, cells, skin]))
}

/// A moment by blend skinning and by simulation, with the same camera. Intersecting triangles of the skin are red.
pub(super) fn comparison(
    scene: &Scene,
    triangles: &[Vec<[u32; 3]>],
    moment: &Snapshot,
    body: usize,
    blended: &[Vec3],
) -> Vec<NamedPicture> {
    if !scene.record.pictures {
        return Vec::new();
    }
    let up = up_axis(scene.up);
    let mut by_blending = moment.bodies.clone();
    by_blending[body] = points_f32(blended);
    let mut stage = bounds_of(&moment.bodies);
    stage.union(&bounds_of(&by_blending));
    let [width, height] = MAP_SIZE;
    let renderer = Renderer::draft(width, height);
    // Near the region where they differ, regardless of the camera of the scene.
    let pairs = || moment.bodies[body].iter().copied().zip(by_blending[body].iter().copied());
    let distance = |[a, b]: [[f32; 3]; 2]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f32>().sqrt();
    let least = DIFFERENT * pairs().map(|(a, b)| distance([a, b])).fold(0.0, f32::max);
    let different = pairs().filter(|&(a, b)| distance([a, b]) >= least).flat_map(|(a, b)| [a, b]);
    let camera = camera_of(&scene.record.camera, &stage, up, renderer.aspect());
    let camera = closer(camera, renderer.aspect(), different);
    let ground = moment.level.or(Some(stage.min[up.index()])).filter(|_| scene.record.ground);
    let draw = |bodies: &[Vec<[f32; 3]>]| {
        let split: Vec<[Vec<[u32; 3]>; 2]> = bodies
            .iter()
            .zip(triangles)
            .map(|(positions, triangles)| apart_and_crossing(positions, triangles))
            .collect();
        let mut surfaces = Vec::new();
        for (number, (positions, [apart, crossing])) in bodies.iter().zip(&split).enumerate() {
            surfaces.push(Surface::solid(positions, apart, Rgb::of_body(number), Finish::FLESH));
            surfaces.push(Surface::solid(positions, crossing, CROSSING, Finish::MATTE));
        }
        for shape in &moment.shapes {
            surfaces.push(Surface::solid(&shape.positions, &shape.triangles, PROP, Finish::MATTE));
        }
        renderer.render(&view(camera, up, ground, stage, surfaces))
    };
    let pictures = encode_indexed_pngs(&[draw(&by_blending), draw(&moment.bodies)]);
    named(["blend skinning", "flesh"], pictures)
}

/// Triangles that do not intersect others of their surface, and those that do.
fn apart_and_crossing(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> [Vec<[u32; 3]>; 2] {
    let places = positions.iter().map(|&x| Vec3::from(x.map(f64::from))).collect();
    let pairs = TriMesh::new(places, triangles.to_vec()).map_or(Vec::new(), |skin| skin.self_intersections(MAX_MARKS));
    let mut is_crossing = vec![false; triangles.len()];
    pairs.iter().flatten().for_each(|&triangle| is_crossing[triangle as usize] = true);
    [false, true].map(|wanted| {
        let all = triangles.iter().zip(&is_crossing);
        all.filter(|(_, is)| **is == wanted).map(|(triangle, _)| *triangle).collect()
    })
}

/// The camera of the scene, moved closer unless the scene places it.
pub(super) fn near_camera(
    scene: &Scene,
    stage: &Bounds,
    aspect: f32,
    points: impl Iterator<Item = [f32; 3]>,
) -> Camera {
    let camera = camera_of(&scene.record.camera, stage, up_axis(scene.up), aspect);
    match scene.record.camera.eye {
        None => closer(camera, aspect, points),
        Some(_) => camera,
    }
}

pub(super) fn view<'a>(
    camera: Camera,
    up: UpAxis,
    ground: Option<f32>,
    stage: Bounds,
    surfaces: Vec<Surface<'a>>,
) -> View<'a> {
    View {
        camera,
        up,
        ground,
        stage,
        surfaces,
        title: None,
        caption: None,
        legend: None,
        background: Background::Studio,
    }
}

/// The same camera on the opposite side of its target, at the same height.
fn from_behind(camera: Camera, up: UpAxis) -> Camera {
    let Camera { eye, target, .. } = camera;
    let turned = |axis: usize| if axis == up.index() { eye[axis] } else { 2.0 * target[axis] - eye[axis] };
    Camera { eye: std::array::from_fn(turned), ..camera }
}

/// Zooms a camera until the subject fills the picture: boxes around rotating things are mostly empty.
fn closer(mut camera: Camera, aspect: f32, points: impl Iterator<Item = [f32; 3]>) -> Camera {
    let basis = camera.basis();
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for point in points {
        let [x, y, depth] = basis.to_camera(point);
        if depth > 0.0 {
            for (axis, value) in [x / depth, y / depth].into_iter().enumerate() {
                (low[axis], high[axis]) = (low[axis].min(value), high[axis].max(value));
            }
        }
    }
    let half: [f32; 2] = std::array::from_fn(|axis| 0.5 * (high[axis] - low[axis]));
    let reach = (1.0 + MARGIN) * (half[0] / aspect).max(half[1]);
    if !(reach.is_finite() && reach > 1e-4) {
        return camera;
    }
    let distance = basis.to_camera(camera.target)[2];
    let [right, up] = [0, 1].map(|axis| 0.5 * (low[axis] + high[axis]) * distance);
    camera.target = std::array::from_fn(|i| camera.target[i] + right * basis.right[i] + up * basis.up[i]);
    camera.field_of_view = (2.0 * reach.atan()).min(camera.field_of_view);
    camera
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_even_around_one_and_never_beyond_zero() {
        for most in [0.0, 0.4, 1.0, 1.003, 1.34, 2.0, 57.0, f64::INFINITY, f64::NAN] {
            let [low, high] = color_range(most);
            assert!((low + high - 2.0).abs() < 1e-12 && low >= 0.0 && high >= 1.1 - 1e-12, "{most}: {low} {high}");
        }
        assert!((color_range(1.34)[1] - 1.4).abs() < 1e-12);
    }

    /// Two of three triangles intersect.
    #[test]
    fn triangles_that_cross_are_told_from_those_that_do_not() {
        let flat = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
        let through = [[1.0, 1.0, -1.0], [1.0, 1.0, 1.0], [2.0, 3.0, 1.0]];
        let above = flat.map(|[x, y, _]| [x, y, 5.0]);
        let positions = [flat, above, through].concat();
        let [apart, crossing] = apart_and_crossing(&positions, &[[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
        assert_eq!(
            (apart.as_slice(), crossing.as_slice()),
            ([[3, 4, 5]].as_slice(), [[0, 1, 2], [6, 7, 8]].as_slice())
        );
    }

    #[test]
    fn the_camera_goes_around_what_it_looks_at() {
        let camera = Camera { eye: [1.0, 2.0, 3.0], target: [0.5, 0.0, 0.5], up: [0.0, 1.0, 0.0], field_of_view: 0.5 };
        assert_eq!(from_behind(camera, UpAxis::Y).eye, [0.0, 2.0, -2.0]);
    }

    /// A point off the axis moves to the center; an empty view changes nothing.
    #[test]
    fn the_camera_comes_closer_to_what_it_sees() {
        let camera = Camera { eye: [0.0, 0.0, 10.0], target: [0.0; 3], up: [0.0, 1.0, 0.0], field_of_view: 0.6 };
        let near = closer(camera, 1.0, [[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 2.0, 0.0]].into_iter());
        assert!((near.target[0] - 1.5).abs() < 1e-5 && (near.target[1] - 1.5).abs() < 1e-5, "{near:?}");
        assert!(near.field_of_view < 0.2 && near.field_of_view > 0.05, "{near:?}");
        assert_eq!(closer(camera, 1.0, std::iter::empty()), camera);
        assert_eq!(closer(camera, 1.0, std::iter::once([f32::NAN; 3])), camera);
    }
}
