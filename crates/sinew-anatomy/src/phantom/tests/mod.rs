//! Tests of phantoms. The arm is made once, and its image at 2 mm once.

mod image;
mod shape;
mod truth;

use std::sync::LazyLock;

use sinew_math::Vec3;

use super::{Flaws, LabelVolume, Phantom, TissueKind, arm, calf, head};

static ARM: LazyLock<Phantom> = LazyLock::new(arm);
static CALF: LazyLock<Phantom> = LazyLock::new(calf);
static HEAD: LazyLock<Phantom> = LazyLock::new(head);
static ARM_IMAGE: LazyLock<LabelVolume> = LazyLock::new(|| ARM.labels(2e-3, &Flaws::default()));
static CALF_IMAGE: LazyLock<LabelVolume> = LazyLock::new(|| CALF.labels(2e-3, &Flaws::default()));

fn all() -> [&'static Phantom; 3] {
    [&ARM, &HEAD, &CALF]
}

fn images() -> [(&'static Phantom, &'static LabelVolume); 2] {
    [(&ARM, &ARM_IMAGE), (&CALF, &CALF_IMAGE)]
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

/// Sizes of the connected pieces of some labels, largest first.
fn pieces(image: &LabelVolume, is_in: impl Fn(u16) -> bool) -> Vec<usize> {
    let mut is_free: Vec<bool> = image.voxels.iter().map(|&label| is_in(label)).collect();
    let mut sizes = Vec::new();
    for start in 0..is_free.len() {
        let mut stack = vec![start];
        let mut size = 0;
        while let Some(index) = stack.pop() {
            if std::mem::take(&mut is_free[index]) {
                size += 1;
                stack.extend(neighbors(image, index).filter(|&other| is_free[other]));
            }
        }
        if size > 0 {
            sizes.push(size);
        }
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// Centers of the voxels of a tissue, every `every`-th.
fn centers(image: &LabelVolume, tissue: usize, every: usize) -> Vec<Vec3> {
    let [nx, ny, _] = image.grid.size;
    let voxels = image.voxels.iter().enumerate().filter(|(_, label)| usize::from(**label) == tissue + 1);
    let center = |i: usize| Vec3::new((i % nx) as f64, (i / nx % ny) as f64, (i / (nx * ny)) as f64);
    voxels.step_by(every).map(|(i, _)| image.grid.to_world(center(i))).collect()
}

fn bellies(phantom: &Phantom) -> impl Iterator<Item = usize> {
    (0..phantom.tissues.len()).filter(|&i| phantom.tissues[i].kind == TissueKind::Muscle)
}
