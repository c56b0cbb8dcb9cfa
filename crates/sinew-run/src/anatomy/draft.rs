//! A recipe from an image: names of labels, and which of them touch.

use std::collections::BTreeMap;
use std::path::Path;

use sinew_geometry::VoxelGrid;
use sinew_io::image::ImageData;
use sinew_math::Vec3;
use sinew_scene::recipe::draft::{DraftLabel, DraftParams, kind_of, recipe_text};
use sinew_scene::recipe::tissue::Kind;

use super::image::smallest_spacing;

/// Tissues this many voxels apart touch: between a tendon and its bone there is often a gap of one.
const GAP: i64 = 2;

/// The text of a recipe for an image in a file, and notes for the user. `reference` is how the recipe names the image.
///
/// # Errors
/// The image cannot be read, or holds gray values.
pub fn draft(image: &Path, reference: &str) -> Result<(String, Vec<String>), String> {
    let data = sinew_io::image::load(image).map_err(|error| error.to_string())?;
    draft_of(data, reference).map_err(|error| format!("{}: {error}", image.display()))
}

/// The text of a recipe for an image, and notes for the user. `reference` is how the recipe names the image.
///
/// # Errors
/// The image holds gray values, or nothing.
pub fn draft_of(image: ImageData, reference: &str) -> Result<(String, Vec<String>), String> {
    // Whole numbers may still be a scan: a tissue for each would be no use.
    image.labels().map_err(|error| error.to_string())?;
    let data = image.right_handed();
    let voxels = data.labels().map_err(|error| error.to_string())?;
    let counts = data.label_counts();
    let name = |label: u16| data.table.name(label);
    let touches = contacts(&data.grid, voxels, |label| {
        label > 0 && counts.contains_key(&label) && kind_of(&name(label)) == Some(Kind::Bone)
    });
    let parts = part_counts(&data.grid, voxels);
    let cell = data.grid.axes.determinant().abs();
    let labels = counts.iter().filter(|(label, _)| **label > 0).map(|(label, count)| {
        let mut touched: Vec<(&u16, &(usize, Vec3))> =
            touches.get(label).into_iter().flat_map(BTreeMap::iter).collect();
        touched.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let center = |(count, sum): &(usize, Vec3)| (*sum / *count as f64).into();
        let touches = touched.into_iter().map(|(bone, contact)| (name(*bone), center(contact))).collect();
        let parts = parts.get(label).copied().unwrap_or(1);
        DraftLabel { name: name(*label), volume: *count as f64 * cell, parts, touches }
    });
    let labels: Vec<DraftLabel> = labels.collect();
    if labels.is_empty() {
        return Err("all voxels are background".to_string());
    }
    let params = DraftParams { image: reference.to_string(), voxel: smallest_spacing(&data.grid), labels };
    Ok((recipe_text(&params), data.notes.clone()))
}

/// The voxel with an index into the array.
fn place(grid: &VoxelGrid, index: usize) -> [usize; 3] {
    let [nx, ny, _] = grid.size;
    [index % nx, index / nx % ny, index / nx / ny]
}

/// Parts with less than this share of the voxels of their label are specks.
const SPECK: f64 = 0.03;

/// Number of connected parts of each label, across faces of voxels, without specks.
fn part_counts(grid: &VoxelGrid, voxels: &[u16]) -> BTreeMap<u16, usize> {
    let steps = [1, grid.size[0], grid.size[0] * grid.size[1]];
    let mut part: Vec<u32> = (0..voxels.len() as u32).collect();
    for number in (0..voxels.len()).filter(|&number| voxels[number] > 0) {
        let at = place(grid, number);
        for axis in (0..3).filter(|&axis| at[axis] > 0) {
            let before = number - steps[axis];
            if voxels[before] == voxels[number] {
                let (a, b) = (root(&mut part, before as u32), root(&mut part, number as u32));
                part[a.max(b) as usize] = a.min(b);
            }
        }
    }
    let mut sizes: BTreeMap<u16, BTreeMap<u32, usize>> = BTreeMap::new();
    for number in (0..voxels.len()).filter(|&number| voxels[number] > 0) {
        let own = root(&mut part, number as u32);
        *sizes.entry(voxels[number]).or_default().entry(own).or_default() += 1;
    }
    let large = |parts: &BTreeMap<u32, usize>| {
        let least = SPECK * parts.values().sum::<usize>() as f64;
        parts.values().filter(|size| **size as f64 >= least).count()
    };
    sizes.iter().map(|(label, parts)| (*label, large(parts).max(1))).collect()
}

/// The first voxel of a part; ways there are shortened.
fn root(part: &mut [u32], mut at: u32) -> u32 {
    while part[at as usize] != at {
        part[at as usize] = part[part[at as usize] as usize];
        at = part[at as usize];
    }
    at
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
        let at = place(grid, number).map(|i| i as i64);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_labels_are_counted_without_specks() {
        // Two blocks of label 1 that touch in an edge only, a block of label 2 with a speck.
        let grid = VoxelGrid::cubic([12, 8, 4], Vec3::zero(), 1e-3);
        let mut voxels = vec![0; grid.len()];
        let mut fill = |label: u16, low: [usize; 3], high: [usize; 3]| {
            for k in low[2]..high[2] {
                for j in low[1]..high[1] {
                    (low[0]..high[0]).for_each(|i| voxels[grid.index([i, j, k])] = label);
                }
            }
        };
        fill(1, [0, 0, 0], [3, 3, 4]);
        fill(1, [3, 3, 0], [6, 6, 4]);
        fill(2, [7, 0, 0], [11, 4, 4]);
        fill(2, [9, 6, 1], [10, 7, 2]);
        assert_eq!(part_counts(&grid, &voxels), BTreeMap::from([(1, 2), (2, 1)]));
    }
}
