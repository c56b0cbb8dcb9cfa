//! Sparse signed distances.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::extent::{EDGE, Extent, VOLUME, brick_of, local_of, voxel_of};
use crate::Solid;

/// Where the voxels of a field are: number (i, j, k), of either sign, is at `origin` + `voxel` (i, j, k) \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldGrid {
    /// Edge of the voxels \[m\].
    pub voxel: f64,
    /// Center of voxel (0, 0, 0) \[m\].
    pub origin: Vec3,
}

impl From<f64> for FieldGrid {
    /// Voxels of this edge \[m\], one at the origin of the world.
    fn from(voxel: f64) -> Self {
        Self { voxel, origin: Vec3::zero() }
    }
}

impl FieldGrid {
    /// Center of a voxel \[m\].
    pub fn position(&self, voxel: [i32; 3]) -> Vec3 {
        self.origin + Vec3::from(voxel.map(f64::from)) * self.voxel
    }

    /// A point in units of voxels.
    pub fn local(&self, p: Vec3) -> Vec3 {
        (p - self.origin) / self.voxel
    }

    /// The voxel nearest to a point.
    pub fn nearest(&self, p: Vec3) -> [i32; 3] {
        let local = self.local(p);
        [0, 1, 2].map(|axis| local[axis].round() as i32)
    }
}

/// A directory entry: no brick, all outside.
pub(super) const OUTSIDE: u32 = u32::MAX;
/// A directory entry: no brick, all inside.
pub(super) const INSIDE: u32 = u32::MAX - 1;

/// Values of a brick, x fastest \[m\].
pub(super) type Brick = [f32; VOLUME];

/// Signed distance φ \[m\] to the surface of a tissue, negative inside, in single precision.
///
/// Bricks of 8³ voxels near the surface have values, limited to ± `band`; all other bricks are of one sign. Between
/// voxels φ is trilinear.
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceField {
    pub(super) grid: FieldGrid,
    /// Limit of |φ| in voxels.
    pub(super) band: f64,
    pub(super) extent: Extent,
    /// Per brick of the extent: its slot, or [`OUTSIDE`] or [`INSIDE`].
    pub(super) directory: Vec<u32>,
    /// Values by slot. Slots are in the order of the directory.
    pub(super) bricks: Vec<Brick>,
}

impl DistanceField {
    /// Where the voxels are.
    pub fn grid(&self) -> FieldGrid {
        self.grid
    }

    /// Edge of the voxels \[m\].
    pub fn voxel(&self) -> f64 {
        self.grid.voxel
    }

    /// Limit of |φ| in voxels.
    pub fn band(&self) -> f64 {
        self.band
    }

    /// Limit of |φ| \[m\].
    pub fn limit(&self) -> f64 {
        f64::from(self.limit32())
    }

    pub(super) fn limit32(&self) -> f32 {
        (self.band * self.grid.voxel) as f32
    }

    /// Number of bricks with values.
    pub fn brick_count(&self) -> usize {
        self.bricks.len()
    }

    /// Memory of the values and the directory \[bytes\].
    pub fn bytes(&self) -> usize {
        self.bricks.len() * VOLUME * 4 + self.directory.len() * 4
    }

    /// Value at a voxel \[m\]; ± the limit where there is none.
    pub fn value(&self, voxel: [i32; 3]) -> f64 {
        f64::from(self.value32(voxel))
    }

    pub(super) fn value32(&self, voxel: [i32; 3]) -> f32 {
        match self.entry(brick_of(voxel)) {
            OUTSIDE => self.limit32(),
            INSIDE => -self.limit32(),
            slot => self.bricks[slot as usize][local_of(voxel)],
        }
    }

    /// Directory entry of a brick.
    pub(super) fn entry(&self, brick: [i32; 3]) -> u32 {
        self.extent.index(brick).map_or(OUTSIDE, |index| self.directory[index])
    }

    /// The bricks of the slots, in their order.
    pub(super) fn slot_bricks(&self) -> Vec<[i32; 3]> {
        let stored = self.directory.iter().enumerate().filter(|(_, entry)| **entry < INSIDE);
        stored.map(|(index, _)| self.extent.brick(index)).collect()
    }

    /// All voxels with values, brick by brick: number and φ \[m\].
    pub fn voxels(&self) -> impl Iterator<Item = ([i32; 3], f64)> + '_ {
        self.slot_bricks().into_iter().enumerate().flat_map(move |(slot, brick)| {
            (0..VOLUME).map(move |local| (voxel_of(brick, local), f64::from(self.bricks[slot][local])))
        })
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        !self.directory.contains(&INSIDE) && !self.bricks.iter().flatten().any(|v| *v < 0.0)
    }

    /// Trilinear interpolation at a point in units of voxels.
    fn interpolate(&self, local: Vec3) -> f64 {
        let low = [0, 1, 2].map(|axis| local[axis].floor() as i32);
        let t = [0, 1, 2].map(|axis| local[axis] - f64::from(low[axis]));
        let corners = self.cell(low).map(f64::from);
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let edge = |i: usize| mix(corners[i], corners[i + 1], t[0]);
        mix(mix(edge(0), edge(2), t[1]), mix(edge(4), edge(6), t[1]), t[2])
    }

    /// Values at the corners of a cell, x fastest.
    fn cell(&self, low: [i32; 3]) -> [f32; 8] {
        let corner = |i: usize| [low[0] + (i & 1) as i32, low[1] + (i >> 1 & 1) as i32, low[2] + (i >> 2) as i32];
        if low.iter().any(|v| v & 7 == 7) {
            return std::array::from_fn(|i| self.value32(corner(i)));
        }
        match self.entry(brick_of(low)) {
            OUTSIDE => [self.limit32(); 8],
            INSIDE => [-self.limit32(); 8],
            slot => {
                let (brick, first) = (&self.bricks[slot as usize], local_of(low));
                [0, 1, 8, 9, 64, 65, 72, 73].map(|offset| brick[first + offset])
            }
        }
    }

    /// The box of all bricks \[m\]; nothing is inside beyond it.
    fn brick_bounds(&self) -> Aabb {
        let first = self.extent.low.map(|low| low * EDGE as i32);
        let last = [0, 1, 2].map(|a| first[a] + (self.extent.size[a] * EDGE) as i32 - 1);
        Aabb { min: self.grid.position(first), max: self.grid.position(last) }
    }
}

impl Solid for DistanceField {
    /// Trilinear near the surface; elsewhere ± the limit, and outside the bricks at least the distance to them.
    fn distance(&self, p: Vec3) -> f64 {
        let beyond = self.brick_bounds().distance_squared(p);
        if beyond > 0.0 {
            return beyond.sqrt().max(self.limit());
        }
        self.interpolate(self.grid.local(p))
    }

    /// The voxels inside, and one voxel around them.
    fn bounds(&self) -> Aabb {
        let mut bounds = Aabb::EMPTY;
        for (index, entry) in self.directory.iter().enumerate() {
            let brick = self.extent.brick(index);
            let mut add = |local: usize| bounds.include(self.grid.position(voxel_of(brick, local)));
            match *entry {
                OUTSIDE => {}
                INSIDE => [0, VOLUME - 1].map(&mut add).into_iter().for_each(drop),
                slot => (0..VOLUME).filter(|&l| self.bricks[slot as usize][l] < 0.0).for_each(add),
            }
        }
        if bounds.is_empty() { bounds } else { bounds.grown(self.grid.voxel) }
    }
}
