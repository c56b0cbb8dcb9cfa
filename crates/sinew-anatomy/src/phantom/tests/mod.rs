//! Tests of phantoms. The arm is made once, and its image at 2 mm once.

mod image;
mod shape;
mod truth;

use std::collections::HashSet;
use std::sync::LazyLock;

use sinew_math::Vec3;

use super::{Flaws, LabelVolume, Phantom, TissueKind, arm, calf, head};

static ARM: LazyLock<Phantom> = LazyLock::new(arm);
static CALF: LazyLock<Phantom> = LazyLock::new(calf);
static HEAD: LazyLock<Phantom> = LazyLock::new(head);
static ARM_IMAGE: LazyLock<LabelVolume> = LazyLock::new(|| ARM.labels(2e-3, &Flaws::default()));
static CALF_IMAGE: LazyLock<LabelVolume> = LazyLock::new(|| CALF.labels(2e-3, &Flaws::default()));

static ARM_MEMBERS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| members(&ARM_IMAGE, ARM.tissues.len()));
static CALF_MEMBERS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| members(&CALF_IMAGE, CALF.tissues.len()));

fn all() -> [&'static Phantom; 3] {
    [&ARM, &HEAD, &CALF]
}

fn images() -> [(&'static Phantom, &'static LabelVolume, &'static [Vec<usize>]); 2] {
    [(&ARM, &ARM_IMAGE, &ARM_MEMBERS), (&CALF, &CALF_IMAGE, &CALF_MEMBERS)]
}

/// Indices of the 26 neighbors of a voxel.
fn neighbors(image: &LabelVolume, index: usize) -> impl Iterator<Item = usize> {
    let [nx, ny, nz] = image.grid.size;
    let at = [index % nx, index / nx % ny, index / (nx * ny)];
    let range = |axis: usize, n: usize| at[axis].saturating_sub(1)..(at[axis] + 2).min(n);
    let (x, y, z) = (range(0, nx), range(1, ny), range(2, nz));
    z.flat_map(move |k| {
        let x = x.clone();
        y.clone().flat_map(move |j| x.clone().map(move |i| i + nx * (j + ny * k)))
    })
    .filter(move |&other| other != index)
}

/// Indices of the voxels of every tissue, in order.
fn members(image: &LabelVolume, tissue_count: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); tissue_count];
    for (i, &label) in image.voxels.iter().enumerate().filter(|(_, label)| **label > 0) {
        members[usize::from(label) - 1].push(i);
    }
    members
}

/// Sizes of the connected pieces of some voxels, largest first.
fn pieces(image: &LabelVolume, voxels: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut free: HashSet<usize> = voxels.into_iter().collect();
    let mut sizes = Vec::new();
    while let Some(&start) = free.iter().next() {
        let mut stack = vec![start];
        let mut size = 0;
        while let Some(index) = stack.pop() {
            if free.remove(&index) {
                size += 1;
                stack.extend(neighbors(image, index).filter(|other| free.contains(other)));
            }
        }
        sizes.push(size);
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// Center of a voxel.
fn center(image: &LabelVolume, index: usize) -> Vec3 {
    let [nx, ny, _] = image.grid.size;
    image.grid.to_world(Vec3::new((index % nx) as f64, (index / nx % ny) as f64, (index / (nx * ny)) as f64))
}

fn bellies(phantom: &Phantom) -> impl Iterator<Item = usize> {
    (0..phantom.tissues.len()).filter(|&i| phantom.tissues[i].kind == TissueKind::Muscle)
}
