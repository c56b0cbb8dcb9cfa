//! The paint on a character, as pictures: one for each value that is painted.

use sinew_math::Vec3;
use sinew_raster::{Bounds, ColorMap, Finish, Paint, Renderer, Rgb, Surface};
use sinew_scene::SkinPaint;
use sinew_scene::spec::Scene;
use sinew_scene::spec::art::Look;

use super::facts::NamedPicture;
use super::pictures::{MAP_SIZE, near_camera, view};
use crate::record::shapes::points_f32;
use crate::record::{encode_indexed_pngs, up_axis};

/// A value of a look.
type Value = fn(&Look) -> f64;

/// The values by their keys.
const VALUES: [(&str, Value); 5] = [
    ("stiffness", |look| look.stiffness),
    ("fat", |look| look.fat),
    ("sliding", |look| look.sliding),
    ("answer", |look| look.answer),
    ("jiggle", |look| look.jiggle),
];

/// The skin at rest, colored by each value that is not as without paint, from the camera of the scene.
pub(super) fn paint(scene: &Scene, paint: &SkinPaint, rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<NamedPicture> {
    if !scene.record.pictures || paint.looks.len() != rest.len() {
        return Vec::new();
    }
    let positions = points_f32(rest);
    let up = up_axis(scene.up);
    let stage = Bounds::of(&positions);
    let [width, height] = MAP_SIZE;
    let renderer = Renderer::draft(width, height);
    let camera = near_camera(scene, &stage, renderer.aspect(), positions.iter().copied());
    let (mut names, mut images) = (Vec::new(), Vec::new());
    for (name, value) in VALUES {
        let values: Vec<f32> = paint.looks.iter().map(|look| value(look) as f32).collect();
        let plain = value(&Look::PLAIN) as f32;
        if values.iter().all(|value| *value == plain) {
            continue;
        }
        let [low, high] = values.iter().fold([plain; 2], |[low, high], &value| [low.min(value), high.max(value)]);
        let [min, max] = if name == "stiffness" { [low, high] } else { [0.0, 1.0] };
        let mut surface = Surface::solid(&positions, triangles, Rgb([0.9; 3]), Finish::CHART);
        surface.paint = Paint::VertexField { values: &values, min, max, map: ColorMap::Sequential };
        images.push(renderer.render(&view(camera, up, None, stage, vec![surface])));
        names.push(format!("{name}, {} to {}", short(min), short(max)));
    }
    names.into_iter().zip(encode_indexed_pngs(&images)).map(|(name, png)| NamedPicture { name, png }).collect()
}

fn short(value: f32) -> String {
    sinew_scene::format_number((f64::from(value) * 100.0).round() / 100.0)
}
