//! Slices through an image: its labels, and over them the contours of the final shapes.

use sinew_anatomy::Solid as _;
use sinew_geometry::VoxelGrid;
use sinew_math::Vec3;
use sinew_raster::{Image, Rgb};
use sinew_scene::Diagnostic;

use super::super::Model;
use super::super::build::{Bench, Parts};
use super::super::image::LabelImage;
use super::super::stage::Trouble;

/// Longest side of a picture \[pixels\].
const SIDE: usize = 380;
/// Slices across each axis.
const PLACES: [f64; 2] = [0.35, 0.65];

/// Pictures of slices of the first image, each with a line about it.
pub(super) fn pictures(
    bench: &Bench<'_>,
    model: &Model,
    parts: &[Result<Parts, Diagnostic>],
) -> Result<Vec<(String, Image)>, Trouble> {
    let Some(source) = bench.images.first() else { return Ok(Vec::new()) };
    let image = source.voxels(bench.recipe)?;
    let mut pictures = Vec::new();
    for axis in [2, 1, 0] {
        for share in PLACES {
            let slice = (image.grid.size[axis] as f64 * share) as usize;
            let picture = labels(&image, axis, slice);
            let picture = contours(bench, model, parts, &image, axis, slice, picture)?;
            let [right, up] = layout(&image, axis).0.map(|k| sides(&image.grid, k));
            let place = ["i", "j", "k"][axis];
            let text =
                format!("slice {slice} across {place}: {} → {}, below {}, above {}", right[0], right[1], up[0], up[1]);
            pictures.push((text, picture));
        }
    }
    Ok(pictures)
}

/// The sides of a person from which an axis of an image comes and to which it leads, nearest.
fn sides(grid: &VoxelGrid, axis: usize) -> [&'static str; 2] {
    let way = grid.axes.column(axis);
    let main = (0..3).max_by(|a, b| way[*a].abs().total_cmp(&way[*b].abs())).unwrap_or(0);
    let [from, to] = [["left", "right"], ["back", "front"], ["feet", "head"]][main];
    if way[main] < 0.0 { [to, from] } else { [from, to] }
}

/// The two axes of a slice, and pixels per voxel along them.
fn layout(image: &LabelImage, axis: usize) -> ([usize; 2], [f64; 2], [usize; 2]) {
    let along = [[1, 2], [0, 2], [0, 1]][axis];
    let lengths = along.map(|k| image.grid.axes.column(k).norm() * image.grid.size[k] as f64);
    let longest = lengths[0].max(lengths[1]);
    let pixels = lengths.map(|length| ((SIDE as f64 * length / longest) as usize).max(16));
    let scale = [0, 1].map(|k| image.grid.size[along[k]] as f64 / pixels[k] as f64);
    (along, scale, pixels)
}

/// Place in voxels of a pixel: the second axis goes up.
fn voxel_at(
    along: [usize; 2],
    scale: [f64; 2],
    pixels: [usize; 2],
    axis: usize,
    slice: usize,
    [x, y]: [usize; 2],
) -> Vec3 {
    let mut at = [0.0; 3];
    at[axis] = slice as f64;
    at[along[0]] = (x as f64 + 0.5) * scale[0] - 0.5;
    at[along[1]] = ((pixels[1] - 1 - y) as f64 + 0.5) * scale[1] - 0.5;
    Vec3::from(at)
}

fn labels(image: &LabelImage, axis: usize, slice: usize) -> Image {
    let (along, scale, pixels) = layout(image, axis);
    let mut bytes = Vec::with_capacity(3 * pixels[0] * pixels[1]);
    for y in 0..pixels[1] {
        for x in 0..pixels[0] {
            let at = voxel_at(along, scale, pixels, axis, slice, [x, y]);
            let voxel = [0, 1, 2].map(|k| (at[k].round().max(0.0) as usize).min(image.grid.size[k] - 1));
            bytes.extend(color_of(image.voxels[image.grid.index(voxel)]));
        }
    }
    Image::new(pixels[0], pixels[1], bytes)
}

/// Pale colors that differ between neighbors in number.
fn color_of(label: u16) -> [u8; 3] {
    if label == 0 {
        return [24, 26, 30];
    }
    let Rgb(color) = Rgb::of_body(usize::from(label));
    color.map(|c| (c * 150.0 + 60.0).clamp(0.0, 255.0) as u8)
}

/// Draws a light line where the sign of a shape changes.
fn contours(
    bench: &Bench<'_>,
    model: &Model,
    parts: &[Result<Parts, Diagnostic>],
    image: &LabelImage,
    axis: usize,
    slice: usize,
    mut picture: Image,
) -> Result<Image, Trouble> {
    let (along, scale, pixels) = layout(image, axis);
    let world = |x: usize, y: usize| image.grid.to_world(voxel_at(along, scale, pixels, axis, slice, [x, y]));
    for (_, parts) in model.file.tissue.iter().zip(parts) {
        let Ok(Parts { shape: Some(shape), .. }) = parts else { continue };
        let field = bench.shop.get(shape)?;
        let bounds = field.bounds();
        let signs: Vec<bool> = (0..pixels[0] * pixels[1])
            .map(|at| {
                let p = world(at % pixels[0], at / pixels[0]);
                bounds.contains(p) && field.distance(p) < 0.0
            })
            .collect();
        for y in 0..pixels[1] - 1 {
            for x in 0..pixels[0] - 1 {
                let here = signs[x + pixels[0] * y];
                if here != signs[x + 1 + pixels[0] * y] || here != signs[x + pixels[0] * (y + 1)] {
                    picture.blend(x as i64, y as i64, [255, 255, 255], 0.85);
                }
            }
        }
    }
    Ok(picture)
}
