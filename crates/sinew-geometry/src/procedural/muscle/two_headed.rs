//! Two spindles side by side, separate from their origins to the lower belly, where they merge into one tendon.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, FRAC_PI_6, PI};

use sinew_math::Vec3;

use super::MuscleParams;
use super::assembly::{Assembly, Tissue};
use super::profile::{smooth_step, stations, swelling};
use super::section::Section;

/// Gap between the bellies where they are widest, as a fraction of the width of both.
const GAP: f64 = 0.04;
/// The fractions of the belly at which the heads begin to flatten against each other and at which they are merged.
const MERGING: [f64; 2] = [0.5, 0.85];
/// Start of the rays to the rim of a half disc, as a fraction of its width. Farther from the flat side than the
/// centroid at 4 / 3π, so that the rays to its corners leave room on both sides.
const HALF_DISC_CENTER: f64 = 0.55;
/// Size of the ellipse that the cells near the middle of a half disc follow, as a fraction of the ellipse of equal
/// area.
const INNER: f64 = 0.9;

/// Section of one head at some x: a blend between a separate ellipse and half of an ellipse that both heads share.
struct HeadSection {
    /// Half width and half thickness \[m\] of the ellipse; the shared ellipse is twice as wide, so its half has the
    /// same area.
    half: [f64; 2],
    /// Center of the ellipse along y \[m\].
    center: f64,
    /// 0 for the ellipse, 1 for the half.
    merged: f64,
}

impl HeadSection {
    fn at(params: &MuscleParams, x: f64) -> Self {
        let s = ((x - params.tendon[0]) / params.belly()).clamp(0.0, 1.0);
        let gap = GAP * params.width;
        let center = 0.25 * (params.width + gap);
        let full = [0.25 * (params.width - gap), 0.5 * params.thickness];
        // Each head contributes half of the common tendon's area, as a round tendon at its origin and as half a disc at
        // the insertion.
        let radius = 0.5 * params.tendon_width;
        let (origin, insertion) = ([radius * 0.5_f64.sqrt(); 2], [0.5 * radius, radius]);
        let (shift, swelling) = (smooth_step(s), swelling(s));
        let half = [0, 1].map(|axis| {
            let tendon = origin[axis] + (insertion[axis] - origin[axis]) * shift;
            tendon + (full[axis] - tendon) * swelling
        });
        let merged = smooth_step((s - MERGING[0]) / (MERGING[1] - MERGING[0]));
        Self { half, center, merged }
    }

    /// Maps the unit disc to the section, its left side to the side that faces the other head.
    fn place(&self, [u, v]: [f64; 2]) -> [f64; 2] {
        let [a, b] = self.half;
        let apart = [self.center + a * u, b * v];
        let radius = u.hypot(v);
        let middle = HALF_DISC_CENTER * 2.0 * a;
        let mut shared = [middle + INNER * a * u, INNER * b * v];
        if radius > 0.0 {
            // The corners of the half disc would crease the cells within, so its outline fades with the square of the
            // radius.
            let [y, z] = half_disc_rim([u / radius, v / radius]);
            shared[0] += radius * radius * (radius * (2.0 * a * y - middle) - INNER * a * u);
            shared[1] += radius * radius * (radius * b * z - INNER * b * v);
        }
        let m = self.merged;
        [(1.0 - m) * apart[0] + m * shared[0], (1.0 - m) * apart[1] + m * shared[1]]
    }
}

/// Maps the unit circle to the rim of the right half of the unit disc: angles beyond ±135° to its flat side, the others
/// to the arc.
fn half_disc_rim([cos, sin]: [f64; 2]) -> [f64; 2] {
    let angle = sin.abs().atan2(cos);
    let [y, z] = if angle >= 3.0 * FRAC_PI_4 {
        // Within rounding of the corner and of the middle both forms agree.
        [0.0, (PI - angle) / FRAC_PI_4]
    } else {
        let (sin, cos) = (angle * (FRAC_PI_6 / FRAC_PI_4)).min(FRAC_PI_2).sin_cos();
        [cos, sin]
    };
    [y, z.copysign(sin)]
}

/// Half width and half thickness \[m\] of one head at x.
#[cfg(test)]
pub(super) fn half_sizes(params: &MuscleParams, x: f64) -> [f64; 2] {
    HeadSection::at(params, x).half
}

pub(super) fn assemble(params: &MuscleParams) -> Assembly {
    let [t0, t1] = params.tendon;
    let belly = params.belly();
    let across = [0.5 * params.width, params.thickness].map(|size| ((size / params.cell).round() as usize).max(2));
    let section = Section::disc(across);
    let full = (0.125 * params.width * params.thickness).sqrt();
    let spacing = |x: f64| {
        let [a, b] = HeadSection::at(params, x).half;
        params.cell * ((a * b).sqrt() / full).sqrt()
    };
    let ends = [0.0, t0, t0 + MERGING[1] * belly, params.length - t1, params.length];
    let mut all = vec![0.0];
    let mut part_ends = [0; 4];
    for (part, least) in [1, 4, 1, 1].into_iter().enumerate() {
        all.extend(stations([ends[part], ends[part + 1]], spacing, least).into_iter().skip(1));
        part_ends[part] = all.len() - 1;
    }
    let mut assembly = Assembly::default();
    let mut last: [Vec<u32>; 2] = Default::default();
    for (station, &x) in all.iter().enumerate() {
        let place = HeadSection::at(params, x);
        let is_one = station >= part_ends[1];
        let at = |p: &[f64; 2], side: f64| {
            let [y, z] = place.place(*p);
            Vec3::new(x, side * y, z)
        };
        let first: Vec<u32> = section.points.iter().map(|p| assembly.node(at(p, 1.0))).collect();
        let mut second = first.clone();
        for (point, p) in section.points.iter().enumerate() {
            if !(is_one && section.left_side.contains(&point)) {
                second[point] = assembly.node(at(p, -1.0));
            }
        }
        if is_one {
            for point in &section.left_side {
                // Exactly on the plane of symmetry, despite rounding.
                assembly.positions[first[*point] as usize].y = 0.0;
            }
        }
        let heads = [first, second];
        if station > 0 {
            let is_belly = station > part_ends[0] && station <= part_ends[2];
            let tissue = if is_belly { Tissue::Belly } else { Tissue::Tendon };
            for (head, (from, to)) in last.iter().zip(&heads).enumerate() {
                assembly.layer(&section, from, to, tissue, head as u8 + 1);
            }
        }
        last = heads;
    }
    assembly
}
