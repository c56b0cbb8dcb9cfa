//! A recipe from an image: names of labels, and which of them touch.

use std::collections::BTreeMap;
use std::path::Path;

use sinew_geometry::VoxelGrid;
use sinew_math::Vec3;
use sinew_scene::recipe::draft::{DraftLabel, DraftParams, kind_of, recipe_text};
use sinew_scene::recipe::tissue::Kind;

use super::image::smallest_spacing;

/// Tissues this many voxels apart touch: between a tendon and its bone there is often a gap of one.
const GAP: i64 = 2;

/// The text of a recipe for an image, and notes for the user. `reference` is how the recipe names the image.
///
/// # Errors
/// The image cannot be read, or holds gray values.
pub fn draft(image: &Path, reference: &str) -> Result<(String, Vec<String>), String> {
    let data = sinew_io::image::load(image).map_err(|error| error.to_string())?.right_handed();
    let data = data.into_labels().map_err(|error| error.to_string())?;
    let voxels = data.labels().map_err(|error| error.to_string())?;
    let counts = data.label_counts();
    let name = |label: u16| data.table.name(label);
    let touches = contacts(&data.grid, voxels, |label| {
        label > 0 && counts.contains_key(&label) && kind_of(&name(label)) == Some(Kind::Bone)
    });
    let cell = data.grid.axes.determinant().abs();
    let labels = counts.iter().filter(|(label, _)| **label > 0).map(|(label, count)| {
        let mut touched: Vec<(&u16, &(usize, Vec3))> =
            touches.get(label).into_iter().flat_map(BTreeMap::iter).collect();
        touched.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let center = |(count, sum): &(usize, Vec3)| (*sum / *count as f64).into();
        let touches = touched.into_iter().map(|(bone, contact)| (name(*bone), center(contact))).collect();
        DraftLabel { name: name(*label), volume: *count as f64 * cell, touches }
    });
    let labels: Vec<DraftLabel> = labels.collect();
    if labels.is_empty() {
        return Err(format!("{}: all voxels are background", image.display()));
    }
    let params = DraftParams { image: reference.to_string(), voxel: smallest_spacing(&data.grid), labels };
    Ok((recipe_text(&params), data.notes.clone()))
}

type Contacts = BTreeMap<u16, BTreeMap<u16, (usize, Vec3)>>;

/// For every label that is no bone: the bones near it, with the number of their voxels there and the sum of their places.
fn contacts(grid: &VoxelGrid, voxels: &[u16], is_bone: impl Fn(u16) -> bool) -> Contacts {
    let bones: Vec<bool> = (0..=u16::MAX).map(is_bone).collect();
    let size = grid.size.map(|side| side as i64);
    let inside = |at: [i64; 3]| (0..3).all(|k| (0..size[k]).contains(&at[k]));
    let index = |at: [i64; 3]| grid.index(at.map(|i| i as usize));
    let mut found = Contacts::new();
    for (number, label) in voxels.iter().enumerate().filter(|(_, label)| bones[usize::from(**label)]) {
        let at = [number % grid.size[0], number / grid.size[0] % grid.size[1], number / (grid.size[0] * grid.size[1])];
        let at = at.map(|i| i as i64);
        for axis in 0..3 {
            for step in [-1, 1] {
                for distance in 1..=GAP {
                    let mut next = at;
                    next[axis] += step * distance;
                    if !inside(next) {
                        break;
                    }
                    let other = voxels[index(next)];
                    if other == *label {
                        break;
                    }
                    if other > 0 && !bones[usize::from(other)] {
                        let place = grid.to_world(Vec3::new(at[0] as f64, at[1] as f64, at[2] as f64));
                        let contact = found.entry(other).or_default().entry(*label).or_insert((0, Vec3::zero()));
                        *contact = (contact.0 + 1, contact.1 + place);
                        break;
                    }
                }
            }
        }
    }
    found
}
