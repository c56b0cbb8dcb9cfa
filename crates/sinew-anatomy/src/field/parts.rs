//! Connected parts of a field: holes filled, islands removed.
//!
//! Voxels are connected across faces, inside as outside.

use sinew_math::Vec3;

use super::distance_field::{DistanceField, INSIDE, OUTSIDE};
use super::extent::{VOLUME, brick_of, local_of, voxel_of};

/// Which parts of a tissue to keep.
#[derive(Clone, Debug, PartialEq)]
pub enum Keep {
    /// As many of the largest.
    Largest(usize),
    /// Those that contain one of the points \[m\].
    Containing(Vec<Vec3>),
    /// Those of at least this volume \[m³\]; smaller ones are islands.
    Above(f64),
}

/// A connected part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Volume of its voxels \[m³\].
    pub volume: f64,
    /// Centroid of its voxels \[m\].
    pub center: Vec3,
    root: u32,
}

/// What a repair removed or filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Removed {
    /// Number of connected parts.
    pub parts: usize,
    /// Their volume \[m³\].
    pub volume: f64,
}

/// Voxels and bricks without values, joined where they touch and have one sign.
struct Joined<'a> {
    field: &'a DistanceField,
    /// Entries: voxels by slot and index, then bricks of the extent, then everything beyond. The root of a part is its
    /// least entry.
    parents: Vec<u32>,
}

impl<'a> Joined<'a> {
    fn new(field: &'a DistanceField) -> Self {
        let count = field.bricks.len() * VOLUME + field.directory.len() + 1;
        let mut joined = Self { field, parents: (0..count as u32).collect() };
        for index in 0..field.directory.len() {
            let brick = field.extent.brick(index);
            for way in 0..6 {
                joined.join_face(index, brick, way);
            }
            if field.directory[index] < INSIDE {
                joined.join_within(field.directory[index] as usize);
            }
        }
        joined
    }

    fn beyond(&self) -> u32 {
        self.parents.len() as u32 - 1
    }

    fn brick_entry(&self, index: usize) -> u32 {
        (self.field.bricks.len() * VOLUME + index) as u32
    }

    fn root(&mut self, entry: u32) -> u32 {
        let mut at = entry;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = parent;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    fn join_within(&mut self, slot: usize) {
        let field = self.field;
        let values = &field.bricks[slot];
        for local in 0..VOLUME {
            for (shift, stride) in [(0, 1), (3, 8), (6, 64)] {
                if local >> shift & 7 != 7 && (values[local] < 0.0) == (values[local + stride] < 0.0) {
                    let entry = (slot * VOLUME + local) as u32;
                    self.join(entry, entry + stride as u32);
                }
            }
        }
    }

    /// Joins across a face of a brick, where the other side is later in the order or beyond the extent.
    fn join_face(&mut self, index: usize, brick: [i32; 3], way: usize) {
        let mut beside = brick;
        beside[way / 2] += if way % 2 == 1 { 1 } else { -1 };
        let other = self.field.extent.index(beside);
        if other.is_some() && way.is_multiple_of(2) {
            return;
        }
        let axis = way / 2;
        for local in (0..VOLUME).filter(|local| local >> (3 * axis) & 7 == 7 * (way % 2)) {
            let (a, own) = self.entry(index, local);
            let across = local ^ 7 << (3 * axis);
            let (b, sign) = other.map_or((self.beyond(), false), |other| self.entry(other, across));
            if own == sign {
                self.join(a, b);
            }
        }
    }

    /// Entry and sign of a voxel of a brick.
    fn entry(&self, index: usize, local: usize) -> (u32, bool) {
        match self.field.directory[index] {
            OUTSIDE => (self.brick_entry(index), false),
            INSIDE => (self.brick_entry(index), true),
            slot => (slot * VOLUME as u32 + local as u32, self.field.bricks[slot as usize][local] < 0.0),
        }
    }

    /// Parts of one sign, the largest first; without what is beyond.
    fn parts(&mut self, inside: bool) -> Vec<Part> {
        let mut sums: Vec<(f64, Vec3)> = vec![(0.0, Vec3::zero()); self.parents.len()];
        for index in 0..self.field.directory.len() {
            let brick = self.field.extent.brick(index);
            let whole = self.field.directory[index] >= INSIDE;
            for local in 0..if whole { 1 } else { VOLUME } {
                let (entry, sign) = self.entry(index, local);
                if sign != inside {
                    continue;
                }
                let root = self.root(entry) as usize;
                let (weight, shift) = if whole { (VOLUME as f64, 3.5) } else { (1.0, 0.0) };
                let center = Vec3::from(voxel_of(brick, local).map(f64::from)) + Vec3::splat(shift);
                sums[root].0 += weight;
                sums[root].1 += center * weight;
            }
        }
        let beyond = self.beyond();
        let beyond = self.root(beyond);
        let grid = self.field.grid;
        let part = |(root, (count, sum)): (usize, (f64, Vec3))| Part {
            volume: count * grid.voxel.powi(3),
            center: grid.origin + sum * (grid.voxel / count),
            root: root as u32,
        };
        let found = sums.into_iter().enumerate().filter(|(root, (count, _))| *count > 0.0 && *root as u32 != beyond);
        let mut parts: Vec<Part> = found.map(part).collect();
        parts.sort_by(|a, b| b.volume.total_cmp(&a.volume).then(a.root.cmp(&b.root)));
        parts
    }

    /// Root of the voxel nearest to a point, if it is inside.
    fn root_at(&mut self, p: Vec3) -> Option<u32> {
        let voxel = self.field.grid.nearest(p);
        let index = self.field.extent.index(brick_of(voxel))?;
        let (entry, inside) = self.entry(index, local_of(voxel));
        inside.then(|| self.root(entry))
    }

    /// The field with the sign of some parts changed; distances are not restored.
    fn flipped(&mut self, parts: &[Part]) -> DistanceField {
        let mut is_flipped = vec![false; self.parents.len()];
        parts.iter().for_each(|part| is_flipped[part.root as usize] = true);
        let mut out = self.field.clone();
        for index in 0..out.directory.len() {
            match out.directory[index] {
                entry @ (OUTSIDE | INSIDE) => {
                    if is_flipped[self.root(self.brick_entry(index)) as usize] {
                        out.directory[index] = if entry == INSIDE { OUTSIDE } else { INSIDE };
                    }
                }
                slot => {
                    for local in 0..VOLUME {
                        if is_flipped[self.root(slot * VOLUME as u32 + local as u32) as usize] {
                            let value = &mut out.bricks[slot as usize][local];
                            // A zero is outside; so must its flipped value be inside.
                            *value = if *value == 0.0 { -f32::MIN_POSITIVE } else { -*value };
                        }
                    }
                }
            }
        }
        out
    }
}

impl DistanceField {
    /// The connected parts, the largest first.
    pub fn parts(&self) -> Vec<Part> {
        Joined::new(self).parts(true)
    }

    /// The hollows that are connected with nothing outside, the largest first.
    pub fn holes(&self) -> Vec<Part> {
        Joined::new(self).parts(false)
    }

    /// Removes all parts but those asked for.
    pub fn keep_parts(&mut self, keep: &Keep) -> Removed {
        let mut joined = Joined::new(self);
        let parts = joined.parts(true);
        let removed: Vec<Part> = match keep {
            Keep::Largest(count) => parts.into_iter().skip(*count).collect(),
            Keep::Above(volume) => parts.into_iter().filter(|part| part.volume < *volume).collect(),
            Keep::Containing(points) => {
                let roots: Vec<u32> = points.iter().filter_map(|p| joined.root_at(*p)).collect();
                parts.into_iter().filter(|part| !roots.contains(&part.root)).collect()
            }
        };
        let changed = (!removed.is_empty()).then(|| joined.flipped(&removed));
        self.replace(changed, &removed)
    }

    /// Fills hollows of up to a volume \[m³\]; all without it.
    pub fn fill_holes(&mut self, max_volume: Option<f64>) -> Removed {
        let mut joined = Joined::new(self);
        let mut holes = joined.parts(false);
        holes.retain(|hole| max_volume.is_none_or(|max| hole.volume <= max));
        let changed = (!holes.is_empty()).then(|| joined.flipped(&holes));
        self.replace(changed, &holes)
    }

    fn replace(&mut self, changed: Option<Self>, parts: &[Part]) -> Removed {
        if let Some(mut changed) = changed {
            changed.redistance();
            *self = changed;
        }
        Removed { parts: parts.len(), volume: parts.iter().map(|part| part.volume).sum() }
    }

    /// One field for each connected part, the largest first.
    pub(super) fn split(&self) -> Vec<Self> {
        let mut joined = Joined::new(self);
        let parts = joined.parts(true);
        if parts.len() == 1 {
            return vec![self.clone()];
        }
        let others = |kept: usize| (0..parts.len()).filter(move |i| *i != kept);
        (0..parts.len())
            .map(|kept| {
                let rest: Vec<Part> = others(kept).map(|i| parts[i]).collect();
                let mut field = joined.flipped(&rest);
                field.redistance();
                field
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{LabelOptions, Seeds};
    use crate::{Labels, Solid};
    use sinew_geometry::VoxelGrid;

    const SIZE: [usize; 3] = [24, 20, 19];

    /// Pseudorandom blobs: a third of the voxels.
    fn blobs() -> Vec<u16> {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..SIZE.iter().product()).map(|_| u16::from(random() < 0.35)).collect()
    }

    /// Parts of one value by flood fill with a stack; background joins beyond the border.
    fn brute_force(voxels: &[u16], value: u16) -> Vec<usize> {
        let grid = VoxelGrid::cubic(SIZE, Vec3::zero(), 1.0);
        let mut seen: Vec<bool> = voxels.iter().map(|v| *v != value).collect();
        let mut sizes = Vec::new();
        for start in 0..voxels.len() {
            let (mut stack, mut count, mut touches) = (vec![start], 0, false);
            while let Some(at) = stack.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                count += 1;
                let p = [at % SIZE[0], at / SIZE[0] % SIZE[1], at / SIZE[0] / SIZE[1]];
                for axis in 0..3 {
                    touches |= p[axis] == 0 || p[axis] + 1 == SIZE[axis];
                    let (mut a, mut b) = (p, p);
                    a[axis] = a[axis].wrapping_sub(1);
                    b[axis] += 1;
                    for q in [a, b].into_iter().filter(|q| q[axis] < SIZE[axis]) {
                        stack.push(grid.index(q));
                    }
                }
            }
            if count > 0 && !(value == 0 && touches) {
                sizes.push(count);
            }
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    fn field(voxels: &[u16]) -> DistanceField {
        let grid = VoxelGrid::cubic(SIZE, Vec3::new(0.5, -0.25, 1.0), 0.5);
        let options = LabelOptions { seeds: Seeds::HalfCell, ..LabelOptions::default() };
        DistanceField::from_labels(&Labels { grid, voxels }, &[1], &options).unwrap()
    }

    #[test]
    fn parts_and_holes_of_random_voxels_equal_brute_force() {
        let voxels = blobs();
        let field = field(&voxels);
        let sizes = |parts: Vec<Part>| parts.iter().map(|p| (p.volume / 0.125).round() as usize).collect::<Vec<_>>();
        assert_eq!(sizes(field.parts()), brute_force(&voxels, 1));
        assert_eq!(sizes(field.holes()), brute_force(&voxels, 0));
    }

    #[test]
    fn kept_parts_and_filled_holes_are_those_of_brute_force() {
        let voxels = blobs();
        let original = field(&voxels);
        let (sizes, holes) = (brute_force(&voxels, 1), brute_force(&voxels, 0));
        let mut one = original.clone();
        assert_eq!(one.keep_parts(&Keep::Largest(1)).parts, sizes.len() - 1);
        assert_eq!((one.parts()[0].volume / 0.125).round() as usize, sizes[0]);
        let mut above = original.clone();
        above.keep_parts(&Keep::Above(4.5 * 0.125));
        assert_eq!(above.parts().len(), sizes.iter().filter(|s| **s >= 5).count());
        let mut filled = original.clone();
        let report = filled.fill_holes(None);
        assert_eq!((report.parts, filled.holes().len()), (holes.len(), 0));
        let first = voxels.iter().position(|v| *v == 1).unwrap();
        let p = original.grid().position([first % 24, first / 24 % 20, first / 480].map(|i| i as i32));
        let mut containing = original.clone();
        containing.keep_parts(&Keep::Containing(vec![p]));
        assert_eq!(containing.parts().len(), 1);
        assert!(containing.distance(p) < 0.0);
    }

    /// A closed box of walls five voxels off: its hollow is one hole, and what is in it survives the filling.
    #[test]
    fn a_hollow_box_is_filled_and_small_holes_alone_when_asked() {
        let grid = VoxelGrid::cubic([40; 3], Vec3::zero(), 1e-3);
        let at = |i: usize| [i % 40, i / 40 % 40, i / 1600];
        let voxels: Vec<u16> = (0..grid.len())
            .map(|i| {
                let p = at(i);
                let wall = p.iter().all(|c| (5..35).contains(c)) && !p.iter().all(|c| (8..32).contains(c));
                u16::from(wall)
            })
            .collect();
        let mut field =
            DistanceField::from_labels(&Labels { grid, voxels: &voxels }, &[1], &Default::default()).unwrap();
        assert_eq!(field.holes().len(), 1);
        assert_eq!(field.fill_holes(Some(1e-9)).parts, 0);
        let filled = field.fill_holes(None);
        assert!((filled.volume / (24f64.powi(3) * 1e-9) - 1.0).abs() < 1e-9, "{filled:?}");
        assert!((field.volume() / (30f64.powi(3) * 1e-9) - 1.0).abs() < 0.02);
        assert!(field.distance(Vec3::splat(0.02)) < -3.9e-3);
    }
}
