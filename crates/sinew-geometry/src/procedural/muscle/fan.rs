//! Fans: thin sheets that gather a wide origin into a flat tendon.

use sinew_math::Vec3;

use super::MuscleParams;
use super::assembly::{Assembly, Tissue};
use super::profile::{smooth_step, stations_of_parts, swelling};
use super::section::Section;

/// Thickness at the origin as a fraction of the largest.
const ORIGIN_THICKNESS: f64 = 0.4;
/// The section is a lens with blunt edges: its thickness decreases by this fraction toward them, as 1 − 0.6 u².
const EDGE_FALL: f64 = 0.6;

/// Half width and half thickness \[m\] at x.
///
/// The width narrows as (1 − s^{3/2})² over the belly, with zero slope where it meets the tendons; the section has the
/// area 4 h_y h_z (1 − 0.6 / 3).
pub(super) fn half_sizes(params: &MuscleParams, x: f64) -> [f64; 2] {
    let s = ((x - params.tendon[0]) / params.belly()).clamp(0.0, 1.0);
    let tendon = 0.5 * params.tendon_width;
    let narrowing = (1.0 - s * s.sqrt()).powi(2);
    let full = 0.5 * params.thickness;
    // The tendon is flat too: at most half as thick as wide.
    let insertion = (0.5 * tendon).min(0.6 * full);
    let ends = ORIGIN_THICKNESS * full * (1.0 - smooth_step(s)) + insertion * smooth_step(s);
    [tendon + (0.5 * params.width - tendon) * narrowing, ends + (full - ends) * swelling(s)]
}

pub(super) fn assemble(params: &MuscleParams) -> Assembly {
    let [t0, t1] = params.tendon;
    // ∫ (1 − s^{3/2})² ds = 9/20: the mean width, which determines the number of cells.
    let mean_width = params.tendon_width + (params.width - params.tendon_width) * 0.45;
    let across = |size: f64, least: usize| ((size / params.cell).round() as usize).max(least);
    let section = grid([across(mean_width, 4), across(params.thickness, 2)]);
    let spacing = |x: f64| params.cell * (2.0 * half_sizes(params, x)[0] / mean_width).sqrt().clamp(0.6, 1.4);
    let (stations, belly) = stations_of_parts([0.0, t0, params.length - t1, params.length], spacing);
    let mut assembly = Assembly::default();
    let mut last: Vec<u32> = Vec::new();
    for (station, &x) in stations.iter().enumerate() {
        let [y, z] = half_sizes(params, x);
        let place = |[u, v]: &[f64; 2]| Vec3::new(x, y * u, z * v * (1.0 - EDGE_FALL * u * u));
        let nodes: Vec<u32> = section.points.iter().map(|p| assembly.node(place(p))).collect();
        if station > 0 {
            let is_belly = station > belly[0] && station <= belly[1];
            assembly.layer(&section, &last, &nodes, if is_belly { Tissue::Belly } else { Tissue::Tendon }, 0);
        }
        last = nodes;
    }
    assembly
}

/// The square \[−1, 1\]² as a grid.
fn grid([nu, nv]: [usize; 2]) -> Section {
    let node = |i: usize, j: usize| (j * (nu + 1) + i) as u32;
    let local = |i: usize, n: usize| (2.0 * i as f64 - n as f64) / n as f64;
    let points = (0..=nv).flat_map(|j| (0..=nu).map(move |i| [local(i, nu), local(j, nv)])).collect();
    let quads = (0..nv)
        .flat_map(|j| (0..nu).map(move |i| [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)]))
        .collect();
    Section { points, quads, left_side: Vec::new() }
}
