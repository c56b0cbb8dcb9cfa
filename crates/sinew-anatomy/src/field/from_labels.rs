//! Fields from the voxels of an image.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::bits::{ALL, BitVolume, NONE};
use super::blur::{Blur, half_cells};
use super::distance_field::{DistanceField, FieldGrid, INSIDE, OUTSIDE};
use super::extent::{EDGE, Extent, brick_of};
use super::fresh::{Fresh, SeedBrick};
use super::options::{FieldError, LabelOptions, Seeds, check_band};
use super::resample;
use crate::Labels;

/// Axes that deviate from those of the world by less than this part of a voxel over the image count as aligned.
const ALIGNED: f64 = 1e-3;

impl DistanceField {
    /// The signed distance of the voxels that have one of `tissue`'s labels.
    ///
    /// Where the image has cubic voxels along the axes of the world, in any order and direction, the field has the same
    /// voxels; otherwise its voxels are a grid anchored at the origin of the world. Tissue at the border of the image
    /// ends there. Every voxel keeps its sign, so that a sheet of one voxel does not vanish.
    ///
    /// # Errors
    /// When no voxel has any of the labels, or the grid or the options make no sense.
    pub fn from_labels(labels: &Labels, tissue: &[u16], options: &LabelOptions) -> Result<Self, FieldError> {
        fields_from_labels(labels, &[tissue], options)?.pop().expect("one tissue makes one result")
    }
}

/// Fields of several tissues, each with one or more labels; the image is searched once.
///
/// # Errors
/// When the grid or the options make no sense; for each tissue, when none of its voxels exist.
pub fn fields_from_labels(
    labels: &Labels,
    tissues: &[&[u16]],
    options: &LabelOptions,
) -> Result<Vec<Result<DistanceField, FieldError>>, FieldError> {
    check(labels, options)?;
    let boxes = label_boxes(labels);
    let one = |tissue: &&[u16]| {
        let found = tissue.iter().filter(|label| **label != 0);
        let found = found.filter_map(|label| boxes.get(*label as usize).copied().flatten());
        let Some(bounds) = found.reduce(union) else { return Err(FieldError::NoVoxels { labels: tissue.to_vec() }) };
        match Alignment::of(labels, options) {
            Some(alignment) => Ok(aligned_field(labels, tissue, bounds, &alignment, options)),
            None => resample::field(labels, tissue, bounds, options),
        }
    };
    Ok(tissues.par_iter().map(one).collect())
}

fn check(labels: &Labels, options: &LabelOptions) -> Result<(), FieldError> {
    check_band(options.field.band)?;
    if labels.voxels.len() != labels.grid.len() {
        return Err(FieldError::WrongCount { found: labels.voxels.len(), expected: labels.grid.len() });
    }
    if let Some(voxel) = options.voxel.filter(|voxel| !(*voxel > 0.0 && voxel.is_finite())) {
        return Err(FieldError::BadVoxel { voxel });
    }
    let determinant = labels.grid.axes.determinant();
    let scale = (0..3).map(|a| labels.grid.axes.column(a).norm()).product::<f64>();
    if !(determinant.abs() > 1e-6 * scale && scale.is_finite() && labels.grid.origin.is_finite()) {
        return Err(FieldError::FlatAxes { determinant });
    }
    Ok(())
}

/// Voxels of an image: first and last along each axis.
pub(super) type VoxelBox = [[usize; 2]; 3];

fn union(a: VoxelBox, b: VoxelBox) -> VoxelBox {
    [0, 1, 2].map(|axis| [a[axis][0].min(b[axis][0]), a[axis][1].max(b[axis][1])])
}

/// The box of each label, by its number.
fn label_boxes(labels: &Labels) -> Vec<Option<VoxelBox>> {
    let [nx, ny, nz] = labels.grid.size;
    let layers = nz.div_ceil(8).max(1);
    let parts: Vec<Vec<Option<VoxelBox>>> = (0..nz.div_ceil(layers))
        .into_par_iter()
        .map(|part| {
            let mut boxes = Vec::new();
            for z in part * layers..((part + 1) * layers).min(nz) {
                for y in 0..ny {
                    let first = nx * (y + ny * z);
                    add_runs(&labels.voxels[first..first + nx], y, z, &mut boxes);
                }
            }
            boxes
        })
        .collect();
    let mut all: Vec<Option<VoxelBox>> = Vec::new();
    for part in parts {
        all.resize(all.len().max(part.len()), None);
        for (all, part) in all.iter_mut().zip(part) {
            *all = all.map_or(part, |a| Some(part.map_or(a, |b| union(a, b))));
        }
    }
    all
}

/// Adds the runs of equal labels of a row.
fn add_runs(row: &[u16], y: usize, z: usize, boxes: &mut Vec<Option<VoxelBox>>) {
    let mut begin = 0;
    for run in row.chunk_by(|a, b| a == b) {
        let (label, end) = (run[0] as usize, begin + run.len());
        boxes.resize(boxes.len().max(label + 1), None);
        let here = [[begin, end - 1], [y, y], [z, z]];
        boxes[label] = Some(boxes[label].map_or(here, |all| union(all, here)));
        begin = end;
    }
}

/// How the axes of an image lie along those of the world.
struct Alignment {
    grid: FieldGrid,
    /// Image axis of each axis of the world, and whether it runs backward.
    axes: [(usize, bool); 3],
}

impl Alignment {
    /// `None` where voxels are no cubes, are rotated, or others are asked for.
    fn of(labels: &Labels, options: &LabelOptions) -> Option<Self> {
        let columns = [0, 1, 2].map(|axis| labels.grid.axes.column(axis));
        let voxel = columns[0].norm();
        let tolerance = ALIGNED * voxel / labels.grid.size.into_iter().max().unwrap_or(1).max(1) as f64;
        if options.voxel.is_some_and(|asked| (asked - voxel).abs() > tolerance) {
            return None;
        }
        let mut axes = [(usize::MAX, false); 3];
        for (image, column) in columns.into_iter().enumerate() {
            let world = (0..3).max_by(|a, b| column[*a].abs().total_cmp(&column[*b].abs()))?;
            let exact = Vec3::unit(world) * voxel.copysign(column[world]);
            if axes[world].0 != usize::MAX || (column - exact).norm() > tolerance {
                return None;
            }
            axes[world] = (image, column[world] < 0.0);
        }
        let last = labels.grid.to_world(Vec3::from(labels.grid.size.map(|n| n.max(1) as f64 - 1.0)));
        Some(Self { grid: FieldGrid { voxel, origin: labels.grid.origin.min(last) }, axes })
    }

    /// Index along an image axis of an index along a world axis, and the same back.
    fn along(&self, world: usize, size: [usize; 3], at: usize) -> usize {
        let (image, backward) = self.axes[world];
        if backward { size[image] - 1 - at } else { at }
    }
}

fn aligned_field(
    labels: &Labels,
    tissue: &[u16],
    bounds: VoxelBox,
    alignment: &Alignment,
    options: &LabelOptions,
) -> DistanceField {
    let size = labels.grid.size;
    let range = [0, 1, 2].map(|world| {
        let [a, b] = bounds[alignment.axes[world].0].map(|at| alignment.along(world, size, at) as i32);
        [a.min(b), a.max(b)]
    });
    let (low, high) = (brick_of(range.map(|r| r[0])), brick_of(range.map(|r| r[1])));
    // One brick for the seeds outside of the tissue and one for the ring around them.
    let extent = Extent { low, size: [0, 1, 2].map(|a| (high[a] - low[a] + 1) as usize) }.grown(2);
    let volume = read_bits(labels, tissue, alignment, extent);
    let (directory, seeds) = seed(&volume, options.seeds);
    drop(volume);
    let fresh = Fresh::new(alignment.grid, extent, directory, &seeds, options.field.band);
    fresh.finish(&options.field)
}

/// The voxels of a tissue.
fn read_bits(labels: &Labels, tissue: &[u16], alignment: &Alignment, extent: Extent) -> BitVolume {
    let layer = extent.size[0] * extent.size[1];
    let mut bricks = vec![NONE; extent.len()];
    let is_tissue = IsTissue::new(tissue);
    bricks.par_chunks_mut(layer).enumerate().for_each(|(layer, bricks)| {
        let mut row = Vec::new();
        for (z, y) in (0..EDGE * EDGE * extent.size[1]).map(|i| (i % EDGE, i / EDGE)) {
            let at = [0, extent.low[1] * 8 + y as i32, (extent.low[2] + layer as i32) * 8 + z as i32];
            if !read_row(labels, alignment, extent, at, &mut row) {
                continue;
            }
            let first = y / EDGE * extent.size[0];
            for (brick, voxels) in bricks[first..].iter_mut().zip(row.chunks_exact(EDGE)) {
                brick[z] |= u64::from(is_tissue.byte(voxels)) << (8 * (y % EDGE));
            }
        }
    });
    BitVolume { extent, bricks }
}

/// The labels of a row of the field, 0 outside of the image; `false` where the row is outside.
fn read_row(labels: &Labels, alignment: &Alignment, extent: Extent, at: [i32; 3], row: &mut Vec<u16>) -> bool {
    let size = labels.grid.size;
    let strides = [1, size[0], size[0] * size[1]];
    let mut first = 0;
    for world in [1, 2] {
        let image = alignment.axes[world].0;
        if at[world] < 0 || at[world] as usize >= size[image] {
            return false;
        }
        first += strides[image] * alignment.along(world, size, at[world] as usize);
    }
    let (image, _) = alignment.axes[0];
    row.clear();
    let begin = extent.low[0] * 8;
    let end = begin + (extent.size[0] * EDGE) as i32;
    let (from, to) = (begin.max(0), end.min(size[image] as i32));
    row.resize((from - begin) as usize, 0);
    if strides[image] == 1 && !alignment.axes[0].1 {
        row.extend_from_slice(&labels.voxels[first + from as usize..first + to as usize]);
    } else {
        row.extend((from..to).map(|x| labels.voxels[first + strides[image] * alignment.along(0, size, x as usize)]));
    }
    row.resize(extent.size[0] * EDGE, 0);
    true
}

/// Whether labels belong to a tissue. Label 0 is background outside of the image, hence never tissue.
pub(super) struct IsTissue {
    single: Option<u16>,
    table: Vec<bool>,
}

impl IsTissue {
    pub fn new(tissue: &[u16]) -> Self {
        let mut table = vec![false; tissue.iter().max().map_or(1, |label| *label as usize + 1)];
        tissue.iter().filter(|label| **label != 0).for_each(|label| table[*label as usize] = true);
        let single = table.iter().position(|is| *is).map(|label| label as u16);
        Self { single: single.filter(|_| table.iter().filter(|is| **is).count() == 1), table }
    }

    pub fn has(&self, label: u16) -> bool {
        self.table.get(label as usize).copied().unwrap_or(false)
    }

    /// Bit x for voxel x of eight.
    fn byte(&self, voxels: &[u16]) -> u8 {
        match self.single {
            Some(label) => (0..8).fold(0, |byte, x| byte | u8::from(voxels[x] == label) << x),
            None => (0..8).fold(0, |byte, x| byte | u8::from(self.has(voxels[x])) << x),
        }
    }
}

/// Signs of the bricks without seeds, and the bricks at the surface.
pub(super) fn seed(volume: &BitVolume, seeds: Seeds) -> (Vec<u32>, Vec<SeedBrick>) {
    let blur = Blur::new();
    let signs = volume.bricks.par_iter().map(|bits| if *bits == ALL { INSIDE } else { OUTSIDE });
    let is_seed = |index: &usize| {
        let bits = volume.bricks[*index];
        bits != NONE && bits != ALL || volume.border(volume.extent.brick(*index)) != NONE
    };
    let indices: Vec<usize> = (0..volume.bricks.len()).into_par_iter().with_min_len(64).filter(is_seed).collect();
    let brick = |&index: &usize| {
        let brick = volume.extent.brick(index);
        let values = match seeds {
            Seeds::Blurred => blur.distances(volume, brick),
            Seeds::HalfCell => half_cells(volume, brick),
        };
        SeedBrick { index, inside: volume.bricks[index], values }
    };
    (signs.collect(), indices.par_iter().map(brick).collect())
}
