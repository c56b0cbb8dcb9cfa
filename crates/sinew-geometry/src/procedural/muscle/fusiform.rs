//! Spindles: elliptic sections that widen from one round tendon and taper into the other.

use sinew_math::Vec3;

use super::MuscleParams;
use super::assembly::{Assembly, Tissue};
use super::profile::{stations_of_parts, swelling};
use super::section::Section;

/// Half width and half thickness \[m\] at x: r_t + (R − r_t)(1 − cos⁴ πs) over the belly, r_t in the tendons.
///
/// The cross-section is an ellipse, so the belly of length L has the volume
/// π L (r_t² + ⅝ r_t (d_y + d_z) + 67/128 d_y d_z) with d = R − r_t.
pub(super) fn radii(params: &MuscleParams, x: f64) -> [f64; 2] {
    let swelling = swelling(((x - params.tendon[0]) / params.belly()).clamp(0.0, 1.0));
    let tendon = 0.5 * params.tendon_width;
    [params.width, params.thickness].map(|size| tendon + (0.5 * size - tendon) * swelling)
}

pub(super) fn assemble(params: &MuscleParams) -> Assembly {
    let [t0, t1] = params.tendon;
    let section = Section::disc([params.width, params.thickness].map(|size| (size / params.cell).round() as usize));
    let full = (0.25 * params.width * params.thickness).sqrt();
    // Cells shrink with the section; layers that thin with its square root keep them from becoming flat or long.
    let spacing = |x: f64| {
        let [a, b] = radii(params, x);
        params.cell * ((a * b).sqrt() / full).sqrt()
    };
    let (stations, belly) = stations_of_parts([0.0, t0, params.length - t1, params.length], spacing);
    let mut assembly = Assembly::default();
    let mut last: Vec<u32> = Vec::new();
    for (station, &x) in stations.iter().enumerate() {
        let [a, b] = radii(params, x);
        let nodes: Vec<u32> = section.points.iter().map(|[u, v]| assembly.node(Vec3::new(x, a * u, b * v))).collect();
        if station > 0 {
            let is_belly = station > belly[0] && station <= belly[1];
            assembly.layer(&section, &last, &nodes, if is_belly { Tissue::Belly } else { Tissue::Tendon }, 0);
        }
        last = nodes;
    }
    assembly
}
