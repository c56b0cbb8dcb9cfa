//! Motion by mean curvature of all tissues at once, against the noise of labels \[Osher88, Teran05\].
//!
//! φₜ = κ |∇φ|, κ = div(∇φ/|∇φ|), by central differences and explicit steps. Alone the tissues would part: so after
//! each step φᵢ ← ½ (φᵢ − minⱼ φⱼ) over all others, near the surfaces. The space around all tissues is one of the
//! others. Of the new values at most one is negative, and at a contact they are opposite: no gap, no overlap. Then a
//! constant per connected part restores its volume. What is thinner than a few voxels does not take part in the flow; the
//! constant moves it, too, as the projection changes it like the rest.

use sinew_math::parallel::prelude::*;

use super::bits::BitVolume;
use super::distance_field::{Brick, DistanceField, INSIDE, OUTSIDE};
use super::extent::{Extent, VOLUME};
use super::options::{FieldError, FieldOptions};
use super::redistance::Trust;
use super::thin::{add_thin_parts, with_margin};

/// Largest stable step in squares of a voxel: 1/6 in three dimensions.
const STEP: f64 = 1.0 / 6.0;
/// Values are projected and moved up to this many voxels from a surface.
const NEAR: f32 = 1.6;
/// Distances are restored after a shift by more \[voxels\].
const SHIFT: f64 = 0.1;
/// Parts smaller than this many voxels have no volume to keep: they are noise or spared as thin.
const SMALLEST: f64 = 27.0;

/// How much is smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothOptions {
    /// Time of the flow in squares of a voxel: a ball's radius R becomes √(R² − 4t) before its volume is restored.
    /// Default 0.5, up to 10.
    pub time: f64,
    /// What is thinner than this many voxels is spared; 0 spares nothing. Default 3.
    pub spare_thickness: f64,
    /// Rounds of restoring volumes; 0 lets bodies shrink. Default 6, which leaves some 0.1 %.
    pub volume_rounds: usize,
}

impl Default for SmoothOptions {
    fn default() -> Self {
        Self { time: 0.5, spare_thickness: 3.0, volume_rounds: 6 }
    }
}

/// What smoothing did to a tissue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothReport {
    /// Volume before \[m³\].
    pub before: f64,
    /// Volume after \[m³\].
    pub after: f64,
}

/// Smooths tissues on one grid together.
///
/// # Errors
/// When the fields are on different grids, or an option is out of its range.
pub fn smooth_together(fields: &mut [DistanceField], options: &SmoothOptions) -> Result<Vec<SmoothReport>, FieldError> {
    check(fields, options)?;
    let before: Vec<f64> = fields.iter().map(DistanceField::volume).collect();
    // Each part keeps its own volume, so each is a body of its own.
    let mut bodies = Vec::new();
    let mut owners = Vec::new();
    for (owner, field) in fields.iter().enumerate().filter(|(_, field)| !field.is_empty()) {
        let parts = field.split();
        owners.extend(vec![owner; parts.len()]);
        bodies.extend(parts);
    }
    if !bodies.is_empty() {
        let mut space = Space::new(bodies, options);
        space.flow(options.time);
        // Constants are volumes over areas only where φ is a distance.
        space.bodies.par_iter_mut().for_each(DistanceField::redistance);
        space.union.redistance();
        space.project();
        (0..options.volume_rounds).for_each(|round| space.restore(round));
        merge(fields, &space.bodies, &owners);
    }
    let report = |(field, before): (&DistanceField, &f64)| SmoothReport { before: *before, after: field.volume() };
    Ok(fields.iter().zip(&before).map(report).collect())
}

fn check(fields: &[DistanceField], options: &SmoothOptions) -> Result<(), FieldError> {
    if let Some(field) = fields.iter().position(|field| field.grid != fields[0].grid) {
        return Err(FieldError::OtherGrid { field });
    }
    let range = "from 0 to 10";
    for (what, value) in [("the time", options.time), ("the spared thickness", options.spare_thickness)] {
        if !(0.0..=10.0).contains(&value) {
            return Err(FieldError::OutOfRange { what, range, value });
        }
    }
    Ok(())
}

/// The parts of each tissue become one field again. They are apart, so the least distance is that of all.
fn merge(fields: &mut [DistanceField], bodies: &[DistanceField], owners: &[usize]) {
    let settled: Vec<DistanceField> = bodies.par_iter().map(settled).collect();
    let mut parts = settled.into_iter().zip(owners).peekable();
    while let Some((first, &owner)) = parts.next() {
        let mut own = vec![first];
        own.extend(std::iter::from_fn(|| parts.next_if(|(_, next)| **next == owner)).map(|(part, _)| part));
        fields[owner] = match own.len() {
            1 => own.remove(0),
            _ => {
                let extent = own.iter().map(|part| part.extent).reduce(|a, b| a.union(&b));
                united(&own, extent.expect("there is a part"))
            }
        };
    }
}

/// Distances restored; the values at the surface stay, or volumes and contacts would change once more.
fn settled(body: &DistanceField) -> DistanceField {
    let options = FieldOptions { band: body.band, ..FieldOptions::default() };
    body.redistanced(&options, Trust::Values(1.0))
}

/// All bodies and what is around them.
struct Space {
    bodies: Vec<DistanceField>,
    /// All bodies together; the space around them is its negative.
    union: DistanceField,
    /// Voxels that the flow does not move.
    spared: BitVolume,
    /// Volume of each body at first \[m³\], and how it answered the last constant: constant and volume.
    volumes: Vec<f64>,
    last: Vec<(f64, f64)>,
}

impl Space {
    fn new(bodies: Vec<DistanceField>, options: &SmoothOptions) -> Self {
        let extent =
            bodies.iter().map(|body| body.extent).reduce(|a, b| a.union(&b)).expect("there is a body").grown(1);
        let mut union = united(&bodies, extent);
        union.redistance();
        let mut spared = BitVolume { extent, bricks: vec![[0; 8]; extent.len()] };
        if options.spare_thickness > 0.0 {
            bodies.iter().for_each(|body| add_thin_parts(body, options.spare_thickness, &mut spared));
            add_thin_parts(&inverted(&union, extent), options.spare_thickness, &mut spared);
        }
        let spared = with_margin(spared);
        let volumes: Vec<f64> = bodies.iter().map(DistanceField::volume).collect();
        Self { last: vec![(0.0, 0.0); bodies.len()], bodies, union, spared, volumes }
    }

    fn flow(&mut self, time: f64) {
        let steps = (time / STEP).ceil();
        for _ in 0..steps as usize {
            let step = (time / steps) as f32;
            let spared = &self.spared;
            self.bodies.par_iter_mut().for_each(|body| *body = flowed(body, step, spared));
            self.union = flowed(&self.union, step, spared);
            self.project();
        }
    }

    /// φᵢ ← ½ (φᵢ − minⱼ φⱼ) near surfaces, for all bodies and the space around, −union.
    fn project(&mut self) {
        let (bodies, union) = (&self.bodies, &self.union);
        let others = |i: usize| {
            let near = (0..bodies.len()).filter(move |&j| j != i && overlap(bodies[i].extent, bodies[j].extent));
            near.map(|j| (&bodies[j], 1.0)).chain([(union, -1.0)]).collect::<Vec<_>>()
        };
        let projected = (0..bodies.len()).into_par_iter().map(|i| projected(&bodies[i], 1.0, &others(i)));
        let all: Vec<(&DistanceField, f32)> = bodies.iter().map(|body| (body, 1.0)).collect();
        let (bodies, union) = rayon::join(|| projected.collect(), || projected_union(union, &all));
        (self.bodies, self.union) = (bodies, union);
    }

    /// Moves each body outward by a constant that should restore its volume, then projects. The constant comes from
    /// the area in the first round and from a secant later.
    fn restore(&mut self, round: usize) {
        let (volumes, last) = (&self.volumes, &self.last);
        let bodies: Vec<(DistanceField, (f64, f64))> = (0..self.bodies.len())
            .into_par_iter()
            .map(|i| {
                let (body, h) = (&self.bodies[i], self.bodies[i].grid.voxel);
                let volume = body.volume();
                if volumes[i] < SMALLEST * h.powi(3) {
                    return (body.clone(), (0.0, volume));
                }
                let missing = volumes[i] - volume;
                let area = (body.volume_within(0.25 * h) - body.volume_within(-0.25 * h)) / (0.5 * h);
                // The projection halves each constant, and neighbors that answer take more.
                let mut slope = 0.5 * area;
                let (constant, before) = last[i];
                let answered = (volume - before) / constant;
                if round > 0 && answered > 0.3 * slope && answered < 3.0 * slope {
                    slope = answered;
                }
                let constant = (missing / slope).clamp(-h, h);
                let constant = if constant.is_finite() { constant } else { 0.0 };
                (moved(body, constant as f32), (constant, volume))
            })
            .collect();
        (self.bodies, self.last) = bodies.into_iter().unzip();
        self.project();
        // After more than a small shift φ is no distance.
        let is_far = |(constant, _): &(f64, f64)| constant.abs() > SHIFT * self.union.grid.voxel;
        let far: Vec<bool> = self.last.iter().map(is_far).collect();
        if far.contains(&true) {
            self.union = settled(&self.union);
            let bodies = self.bodies.par_iter_mut().zip(&far).filter(|(_, far)| **far);
            bodies.for_each(|(body, _)| *body = settled(body));
        }
    }
}

/// φ less a constant; less half of it far from the surface, where no projection will halve it.
fn moved(body: &DistanceField, constant: f32) -> DistanceField {
    let (near, limit) = (NEAR * body.grid.voxel as f32, body.limit32());
    body.mapped(|_, value| match value.abs() {
        size if size < near => value - constant,
        size if size < limit => value - 0.5 * constant,
        _ => value,
    })
}

/// ½ (φ − sign · min ±φⱼ) near the surface, the minimum over all others with their signs.
fn projected(field: &DistanceField, sign: f32, others: &[(&DistanceField, f32)]) -> DistanceField {
    let (near, limit) = (NEAR * field.grid.voxel as f32, field.limit32());
    let bricks = field.slot_bricks();
    let mut out = field.clone();
    out.bricks.par_iter_mut().zip(&bricks).for_each(|(values, brick)| {
        if !values.iter().any(|value| value.abs() < near) {
            return;
        }
        let mut least = [limit; VOLUME];
        for (other, factor) in others {
            match other.entry(*brick) {
                OUTSIDE => least.iter_mut().for_each(|least| *least = least.min(factor * limit)),
                INSIDE => least.iter_mut().for_each(|least| *least = least.min(-factor * limit)),
                slot => {
                    let other = &other.bricks[slot as usize];
                    (0..VOLUME).for_each(|local| least[local] = least[local].min(factor * other[local]));
                }
            }
        }
        for local in 0..VOLUME {
            let value = values[local];
            values[local] = if value.abs() < near { 0.5 * (value - sign * least[local]) } else { value };
        }
    });
    out
}

/// The space around is −union and its others are the bodies: so union ← ½ (union + min φⱼ).
fn projected_union(union: &DistanceField, bodies: &[(&DistanceField, f32)]) -> DistanceField {
    projected(union, -1.0, bodies)
}

fn overlap(a: Extent, b: Extent) -> bool {
    (0..3).all(|x| a.low[x] < b.low[x] + b.size[x] as i32 && b.low[x] < a.low[x] + a.size[x] as i32)
}

/// min φᵢ on an extent that holds all bodies.
fn united(bodies: &[DistanceField], extent: Extent) -> DistanceField {
    let (grid, band) = (bodies[0].grid, bodies[0].band);
    let bricks: Vec<Result<Box<Brick>, u32>> = (0..extent.len())
        .into_par_iter()
        .map(|index| {
            let brick = extent.brick(index);
            let entries: Vec<(u32, &DistanceField)> = bodies.iter().map(|body| (body.entry(brick), body)).collect();
            if entries.iter().any(|(entry, _)| *entry == INSIDE) {
                return Err(INSIDE);
            }
            let stored = entries.iter().filter(|(entry, _)| *entry < INSIDE);
            let mut stored = stored.map(|(slot, body)| &body.bricks[*slot as usize]);
            let Some(first) = stored.next() else { return Err(OUTSIDE) };
            let least = stored.fold(*first, |least, next| std::array::from_fn(|i| least[i].min(next[i])));
            Ok(Box::new(least))
        })
        .collect();
    let (mut directory, mut values) = (Vec::with_capacity(bricks.len()), Vec::new());
    for brick in bricks {
        directory.push(match brick {
            Err(sign) => sign,
            Ok(brick) => {
                values.push(*brick);
                values.len() as u32 - 1
            }
        });
    }
    DistanceField { grid, band, extent, directory, bricks: values }
}

/// The space around a body, up to the end of an extent.
fn inverted(field: &DistanceField, extent: Extent) -> DistanceField {
    let mut bricks = Vec::new();
    let entry = |index| match field.entry(extent.brick(index)) {
        OUTSIDE => INSIDE,
        INSIDE => OUTSIDE,
        slot => {
            bricks.push(field.bricks[slot as usize].map(|value| -value));
            bricks.len() as u32 - 1
        }
    };
    let directory = (0..extent.len()).map(entry).collect();
    DistanceField { grid: field.grid, band: field.band, extent, directory, bricks }
}

/// One explicit step, φ + Δt κ |∇φ|, of `step` squares of a voxel.
fn flowed(field: &DistanceField, step: f32, spared: &BitVolume) -> DistanceField {
    let mut out = field.clone();
    let bricks = field.slot_bricks();
    let (h, near) = (field.grid.voxel as f32, (NEAR + 0.9) * field.grid.voxel as f32);
    out.bricks.par_iter_mut().zip(&bricks).for_each(|(values, brick)| {
        if !values.iter().any(|v| v.abs() < near) {
            return;
        }
        let around = field.neighborhood(*brick);
        for local in 0..VOLUME {
            if values[local].abs() < near && !spared.has(*brick, local) {
                let at = 111 + (local & 7) + 10 * (local >> 3 & 7) + 100 * (local >> 6);
                values[local] += step * bending(&around, at, h);
            }
        }
    });
    out
}

/// h² κ |∇φ| \[m\] by central differences: (|∇φ|² Δφ − ∇φᵀ H ∇φ)/|∇φ|².
fn bending(v: &[f32; 1000], at: usize, h: f32) -> f32 {
    let strides = [1, 10, 100];
    let g = strides.map(|s| 0.5 * (v[at + s] - v[at - s]));
    let second = strides.map(|s| v[at + s] - 2.0 * v[at] + v[at - s]);
    let mixed = |a: usize, b: usize| 0.25 * (v[at + a + b] + v[at - a - b] - v[at + a - b] - v[at - a + b]);
    let square = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
    let trace = second[0] + second[1] + second[2];
    // Where the gradient vanishes, on medial surfaces, κ has no meaning: the floor lets it fade.
    let floor = (0.1 * h).powi(2);
    let along = g[0] * g[0] * second[0]
        + g[1] * g[1] * second[1]
        + g[2] * g[2] * second[2]
        + 2.0 * (g[0] * g[1] * mixed(1, 10) + g[1] * g[2] * mixed(10, 100) + g[2] * g[0] * mixed(1, 100));
    (trace * square - along) / square.max(floor)
}

#[cfg(test)]
mod tests {
    use sinew_geometry::VoxelGrid;
    use sinew_math::{Mat3, Vec3};

    use super::super::csg::Operation;
    use super::super::extent::voxel_of;
    use super::*;
    use crate::field::{LabelOptions, fields_from_labels};
    use crate::primitives::{Capsule, Ellipsoid};
    use crate::{Labels, Solid};

    const H: f64 = 1e-3;

    fn ball(center: Vec3, radius: f64) -> Ellipsoid {
        Ellipsoid { center, axes: Mat3::identity(), radii: Vec3::splat(radius) }
    }

    /// R² = R₀² − 4t.
    #[test]
    fn a_ball_shrinks_as_mean_curvature_says_and_keeps_its_volume_when_restored() {
        for (time, radius) in [(2.0, 8.0), (4.0, 10.0f64)] {
            let body = DistanceField::from_solid(&ball(Vec3::zero(), radius * H), H).unwrap();
            let mut fields = [body.clone()];
            let options = SmoothOptions { time, volume_rounds: 0, ..SmoothOptions::default() };
            let report = smooth_together(&mut fields, &options).unwrap()[0];
            let measured = (report.after / report.before).cbrt() * radius;
            let expected = (radius * radius - 4.0 * time).sqrt();
            // Differences over a voxel lose an eighth of the motion at most at this radius.
            assert!((measured - expected).abs() < 0.13 * (radius - expected), "{measured} {expected}");
            let mut fields = [body];
            let kept = smooth_together(&mut fields, &SmoothOptions { time, ..SmoothOptions::default() }).unwrap()[0];
            assert!((kept.after / kept.before - 1.0).abs() < 2e-3, "{kept:?}");
        }
    }

    /// Two halves of a noisy ball: together they fill what they filled, and neither overlaps the other.
    fn noisy_halves() -> Vec<DistanceField> {
        let grid = VoxelGrid::cubic([32; 3], Vec3::zero(), H);
        let mut state = 3u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
        };
        let voxels: Vec<u16> = (0..grid.len())
            .map(|i| {
                let p = Vec3::from([i % 32, i / 32 % 32, i / 1024].map(|c| c as f64 - 15.5));
                let is_ball = p.norm() + noise() < 12.0;
                if !is_ball {
                    0
                } else if p.x + noise() < 0.0 {
                    1
                } else {
                    2
                }
            })
            .collect();
        let labels = Labels { grid, voxels: &voxels };
        let fields = fields_from_labels(&labels, &[&[1], &[2]], &LabelOptions::default()).unwrap();
        fields.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn neighbors_smoothed_together_have_no_gap_and_no_overlap() {
        let mut fields = noisy_halves();
        let total: f64 = fields.iter().map(DistanceField::volume).sum();
        let report = smooth_together(&mut fields, &SmoothOptions { time: 1.0, ..Default::default() }).unwrap();
        let after: f64 = report.iter().map(|r| r.after).sum();
        assert!((after / total - 1.0).abs() < 3e-3, "{report:?}");
        for i in 0..4000 {
            let t = f64::from(i);
            let u = Vec3::new((t * 0.618_034).fract(), (t * 0.754_877).fract(), (t * 0.569_840).fract());
            let p = Vec3::splat(5.5 * H) + u * (20.0 * H);
            let inside = (p - Vec3::splat(15.5 * H)).norm() < 10.5 * H;
            let [a, b] = [fields[0].distance(p), fields[1].distance(p)];
            // Redistancing moves each surface by a few hundredths of a voxel.
            assert!(a.max(b) > -0.08 * H, "overlap at {p:?}: {a} {b}");
            assert!(!inside || a.min(b) < 0.08 * H, "gap at {p:?}: {a} {b}");
        }
    }

    #[test]
    fn a_thin_tendon_is_spared() {
        let tendon = Capsule { ends: [Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.03, 0.0, 0.0)], radius: 1.2 * H };
        let mut body = DistanceField::from_solid(&ball(Vec3::zero(), 9.0 * H), H).unwrap();
        body.combine(Operation::Union, &tendon).unwrap();
        let tip = Vec3::new(0.029, 0.0, 0.0);
        let options = SmoothOptions { time: 2.0, ..SmoothOptions::default() };
        let (mut spared, mut eaten) = ([body.clone()], [body]);
        smooth_together(&mut spared, &options).unwrap();
        smooth_together(&mut eaten, &SmoothOptions { spare_thickness: 0.0, ..options }).unwrap();
        assert!(spared[0].distance(tip) < -0.5 * H && spared[0].parts().len() == 1);
        assert!(eaten[0].distance(tip) > 0.0);
    }

    #[test]
    fn bad_options_and_other_grids_are_errors() {
        let a = DistanceField::from_solid(&ball(Vec3::zero(), 5.0 * H), H).unwrap();
        let b = DistanceField::from_solid(&ball(Vec3::zero(), 5.0 * H), 0.9 * H).unwrap();
        let other = smooth_together(&mut [a.clone(), b], &SmoothOptions::default());
        assert!(matches!(other, Err(FieldError::OtherGrid { field: 1 })));
        let endless = SmoothOptions { time: f64::INFINITY, ..Default::default() };
        assert!(matches!(smooth_together(&mut [a], &endless), Err(FieldError::OutOfRange { .. })));
        assert!(smooth_together(&mut [], &SmoothOptions::default()).unwrap().is_empty());
    }

    /// What lies at the end of an extent is inside of the space around.
    #[test]
    fn the_space_around_is_the_negative_of_the_body() {
        let field = DistanceField::from_solid(&ball(Vec3::zero(), 5.0 * H), H).unwrap();
        let around = inverted(&field, field.extent.grown(1));
        for (voxel, value) in field.voxels() {
            assert_eq!(around.value(voxel), -value);
        }
        assert!(voxel_of(around.extent.low, 0).iter().all(|v| *v < 0));
    }
}
