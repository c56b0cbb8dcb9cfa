//! Distances between the same body in two runs, and their picture.

use sinew_fem::Frame;
use sinew_raster::{
    Background, Bounds, Camera, ColorMap, Finish, FitParams, Image, Legend, Paint, Renderer, Rgb, Surface, UpAxis, View,
};
use sinew_scene::Scene;
use sinew_scene::spec::Up;
use sinew_store::{Recording, StoreError, StoredFrame};

use super::side::Side;
use crate::record::shapes::f32s;

/// How far the nodes of a body are from their places in the other run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyDifference {
    /// Name of the body.
    pub name: String,
    /// Largest distance of a node \[m\].
    pub largest: f64,
    /// Its time \[s\].
    pub time: f64,
    /// Root of the mean square of the distances at that time \[m\].
    pub mean: f64,
    /// Largest distance as a part of the size of the body.
    pub relative: f64,
}

/// Frames examined for the largest distance; more would only make it a little larger.
const LOOKED_AT: usize = 120;

const SIZE: [usize; 2] = [640, 480];

/// Distances of all shared bodies, and a picture at the time of the largest one and at the end.
pub(super) struct Bodies {
    pub differences: Vec<BodyDifference>,
    pub pictures: Vec<(String, Image)>,
    pub notes: Vec<String>,
}

/// Compares bodies with equal cells, frame by frame at equal times.
pub(super) fn compare(sides: &[Side; 2]) -> Result<Bodies, StoreError> {
    let mut found = Bodies { differences: Vec::new(), pictures: Vec::new(), notes: Vec::new() };
    let [Some(first), Some(second)] = [&sides[0].recording, &sides[1].recording] else {
        found.notes.push("one run has no recording: only values are compared, not shapes".into());
        return Ok(found);
    };
    let names = same_bodies(first, second, &mut found.notes);
    let pairs = equal_times(first, second)?;
    if names.is_empty() || pairs.is_empty() {
        if !names.is_empty() {
            found.notes.push("no two frames have the same time: only values are compared, not shapes".into());
        }
        return Ok(found);
    }
    found.differences = names.iter().map(|name| BodyDifference { name: name.clone(), ..Default::default() }).collect();
    let step = pairs.len().div_ceil(LOOKED_AT);
    let mut worst = (0.0, pairs.len() - 1);
    for number in (0..pairs.len()).step_by(step).chain([pairs.len() - 1]) {
        let stored = [first.frame(pairs[number][0])?, second.frame(pairs[number][1])?];
        let [a, b] = [stored[0].view(first.header()), stored[1].view(second.header())];
        for difference in &mut found.differences {
            look(difference, &a, &b);
            if difference.largest > worst.0 {
                worst = (difference.largest, number);
            }
        }
    }
    let mut shown = vec![worst.1];
    if worst.1 + 1 < pairs.len() {
        shown.push(pairs.len() - 1);
    }
    for number in shown {
        let stored = [first.frame(pairs[number][0])?, second.frame(pairs[number][1])?];
        let label = if number == worst.1 { "largest difference" } else { "at the end" };
        found.pictures.push((format!("{label}, t = {:.3} s", stored[0].time), draw(first, second, &stored, worst.0)));
    }
    Ok(found)
}

/// Bodies of both runs with the same cells.
fn same_bodies(first: &Recording, second: &Recording, notes: &mut Vec<String>) -> Vec<String> {
    let mut names = Vec::new();
    for body in &first.header().bodies {
        let Some(other) = second.header().bodies.iter().find(|other| other.name == body.name) else { continue };
        let counts = |body: &sinew_store::RecordedBody| {
            (body.mesh.positions().len(), body.mesh.cell_count(), body.nearest_nodes.len())
        };
        if counts(body) == counts(other) {
            names.push(body.name.clone());
        } else {
            notes.push(format!(
                "body `{}` has {} cells in one run and {} in the other: its shape is not compared",
                body.name,
                body.mesh.cell_count(),
                other.mesh.cell_count()
            ));
        }
    }
    names
}

/// Numbers of the frames with shapes whose times agree.
fn equal_times(first: &Recording, second: &Recording) -> Result<Vec<[usize; 2]>, StoreError> {
    let times = |recording: &Recording| -> Result<Vec<(usize, f64)>, StoreError> {
        recording.shown_frames().into_iter().map(|number| Ok((number, recording.frame(number)?.time))).collect()
    };
    let (first, second) = (times(first)?, times(second)?);
    let slack = 1e-9 * first.last().map_or(0.0, |last| last.1.abs());
    let mut others = second.iter().peekable();
    let mut pairs = Vec::new();
    for (number, time) in first {
        while others.next_if(|other| other.1 < time - slack).is_some() {}
        if let Some(other) = others.peek().filter(|other| (other.1 - time).abs() <= slack) {
            pairs.push([number, other.0]);
        }
    }
    Ok(pairs)
}

fn look(difference: &mut BodyDifference, a: &Frame<'_>, b: &Frame<'_>) {
    let body = |frame: &Frame<'_>| frame.bodies.iter().position(|body| body.name == difference.name);
    let (Some(a_body), Some(b_body)) = (body(a), body(b)) else { return };
    let (x, y) = (a.bodies[a_body].positions, b.bodies[b_body].positions);
    // Cells may have been taken away in one run only.
    if x.len() != y.len() || x.is_empty() {
        return;
    }
    let squares = x.iter().zip(y).map(|(x, y)| (*x - *y).norm().powi(2));
    let (largest, sum) = squares.fold((0.0f64, 0.0), |(most, sum), square| (most.max(square), sum + square));
    if largest.sqrt() >= difference.largest {
        difference.largest = largest.sqrt();
        difference.mean = (sum / x.len() as f64).sqrt();
        difference.time = a.time;
        let size = sinew_geometry::Aabb::from_points(a.bodies[a_body].mesh.positions()).size().max_component();
        difference.relative = if size > 0.0 { difference.largest / size } else { 0.0 };
    }
}

/// The first run in colors of the distance, the second as mesh lines.
fn draw(first: &Recording, second: &Recording, stored: &[StoredFrame; 2], largest: f64) -> Image {
    let [a, b] = [stored[0].view(first.header()), stored[1].view(second.header())];
    let points = |frame: &Frame<'_>| -> Vec<Vec<[f32; 3]>> {
        frame.bodies.iter().map(|body| body.surface_positions.iter().map(|&p| f32s(p)).collect()).collect()
    };
    let (own, others) = (points(&a), points(&b));
    let mut bounds = Bounds::default();
    own.iter().chain(&others).flatten().for_each(|&p| bounds.add(p));
    // Millimeters suit bodies of centimeters.
    let (factor, unit) = if largest < 1e-5 {
        (1e6, "µm")
    } else if largest < 1.0 {
        (1e3, "mm")
    } else {
        (1.0, "m")
    };
    let values: Vec<Vec<f32>> = a
        .bodies
        .iter()
        .map(|body| {
            let other = b.bodies.iter().find(|other| other.name == body.name);
            let other = other.filter(|other| other.surface_positions.len() == body.surface_positions.len());
            let distance = |k: usize| {
                other.map_or(f32::NAN, |other| (body.surface_positions[k] - other.surface_positions[k]).norm() as f32)
            };
            (0..body.surface_positions.len()).map(distance).collect()
        })
        .collect();
    let max = if largest > 0.0 { largest } else { 1.0 };
    let map = ColorMap::default();
    let surfaces = a.bodies.iter().zip(&own).zip(&values).enumerate().map(|(number, ((body, positions), values))| {
        let mut surface = Surface::solid(positions, body.surface_triangles, Rgb::of_body(number), Finish::CHART);
        if values.iter().all(|value| value.is_finite()) {
            surface.paint = Paint::VertexField { values, min: 0.0, max: max as f32, map };
        }
        surface
    });
    let scene = Scene::from_str(&first.header().scene_text, &first.header().scene_name, ".").ok();
    let up = match scene.map(|scene| scene.up) {
        Some(Up::X) => UpAxis::X,
        Some(Up::Y) => UpAxis::Y,
        _ => UpAxis::Z,
    };
    let renderer = Renderer::new(SIZE[0], SIZE[1]);
    let camera = Camera::fit(&bounds, up, renderer.aspect(), &FitParams::default());
    let caption = format!("t = {:.3} s", stored[0].time);
    let label = format!("distance [{unit}]");
    let mut image = renderer.render(&View {
        camera,
        up,
        ground: None,
        stage: bounds,
        surfaces: surfaces.collect(),
        title: None,
        caption: Some(&caption),
        background: Background::Studio,
        legend: Some(Legend { label: &label, min: 0.0, max: max * factor, map }),
    });
    let mut lines = crate::still::Lines::new(&camera, image.width, image.height);
    for (body, positions) in b.bodies.iter().zip(&others) {
        lines.cover(positions, body.surface_triangles);
        let mut edges: Vec<[u32; 2]> = body
            .surface_triangles
            .iter()
            .flat_map(|&[i, j, k]| [[i, j], [j, k], [k, i]].map(|[a, b]| [a.min(b), a.max(b)]))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        crate::still::draw_edges(&mut image, &lines, positions, &edges);
    }
    image
}
