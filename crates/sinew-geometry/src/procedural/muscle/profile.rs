//! Swelling profile of muscles and positions of their cell layers.

use std::f64::consts::PI;

/// Samples of the density of layers; it varies over lengths of a tenth of a muscle, so its integral is accurate to
/// about 1e-6.
const SAMPLES: usize = 512;

/// Swelling of a belly at the fraction s of its length: 1 − cos⁴ πs. Zero with zero slope at both ends, where it meets
/// the tendons; fuller than sin² πs, with a mean of 5/8.
pub(super) fn swelling(s: f64) -> f64 {
    1.0 - (PI * s).cos().powi(4)
}

/// 3t² − 2t³, from 0 at t ≤ 0 to 1 at t ≥ 1 with zero slope at both.
pub(super) fn smooth_step(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Ends of layers from `start` to `end` whose thickness is about `spacing(x)`: ∫ dx / spacing grows by the same amount
/// over each.
pub(super) fn stations([start, end]: [f64; 2], spacing: impl Fn(f64) -> f64, least: usize) -> Vec<f64> {
    let step = (end - start) / SAMPLES as f64;
    let mut passed = Vec::with_capacity(SAMPLES + 1);
    passed.push(0.0);
    let mut sum = 0.0;
    for sample in 0..SAMPLES {
        sum += step / spacing(start + (sample as f64 + 0.5) * step);
        passed.push(sum);
    }
    let layers = (sum.round() as usize).max(least);
    let mut stations = Vec::with_capacity(layers + 1);
    stations.push(start);
    for layer in 1..layers {
        let wanted = sum * layer as f64 / layers as f64;
        let sample = passed.partition_point(|value| *value < wanted).clamp(1, SAMPLES);
        let (low, high) = (passed[sample - 1], passed[sample]);
        stations.push(start + step * ((sample - 1) as f64 + (wanted - low) / (high - low)));
    }
    stations.push(end);
    stations
}

/// Stations of tendon, belly and tendon in one list, and the indices where the belly begins and ends.
pub(super) fn stations_of_parts(ends: [f64; 4], spacing: impl Fn(f64) -> f64) -> (Vec<f64>, [usize; 2]) {
    let mut all = stations([ends[0], ends[1]], &spacing, 1);
    let first = all.len() - 1;
    all.extend(stations([ends[1], ends[2]], &spacing, 4).into_iter().skip(1));
    let last = all.len() - 1;
    all.extend(stations([ends[2], ends[3]], &spacing, 1).into_iter().skip(1));
    (all, [first, last])
}
