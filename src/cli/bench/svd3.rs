//! `sinew bench svd3`: batched decompositions on one core and their errors. With the feature `opponents`, nalgebra's
//! beside them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_math::lanes::{F32_LANES, active_isa};
use sinew_math::svd3::{Mat3Block, Svd3Block, svd3_batch};
use sinew_math::{Mat3, Quaternion, Vec3};

use super::spread;

/// Blocks per pass: input and output (2 MB) stay in cache, as in an assembly loop.
const BLOCKS: usize = 1024;
/// Minimum time of a measurement; shorter ones measure the clock.
const MEASUREMENT: Duration = Duration::from_millis(300);
/// Number of matrices for nalgebra, which is ten times slower.
#[cfg(feature = "opponents")]
const OPPONENT: usize = 16 * 1024;

/// Singular value decompositions of 3×3 matrices, single precision, one core
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of measurements; reports the best
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Measures speed and errors.
pub fn measure(arguments: &Arguments) -> Value {
    let input = blocks(BLOCKS);
    let mut output = vec![Svd3Block::default(); input.len()];
    let count = (BLOCKS * F32_LANES) as f64;
    let mut ours = Vec::new();
    #[cfg(feature = "opponents")]
    let mut theirs = Vec::new();
    // Alternate, so that other programs affect both equally.
    for _ in 0..arguments.repeats {
        ours.push(count / seconds_per_call(|| svd3_batch(black_box(&input), black_box(&mut output))) / 1e6);
        #[cfg(feature = "opponents")]
        theirs.push(OPPONENT as f64 / seconds_per_call(|| decompose_with_nalgebra(&input)) / 1e6);
    }
    // Errors of the timed results.
    let errors = worst_errors(&input, &output);
    let best = |speeds: &[f64]| speeds.iter().copied().fold(0.0, f64::max);
    #[cfg_attr(not(feature = "opponents"), expect(unused_mut))]
    let mut figures = json!({
        "million_per_second_per_core": best(&ours),
        "million_per_second_per_core_spread": spread(&ours),
        "max_reconstruction_error": errors.0,
        "max_orthogonality_error": errors.1,
        "matrices": BLOCKS * F32_LANES,
        "repeats": arguments.repeats,
        "isa": isa_name(),
    });
    #[cfg(feature = "opponents")]
    {
        figures["speedup_over_nalgebra"] = (best(&ours) / best(&theirs)).into();
        figures["nalgebra_million_per_second_per_core"] = best(&theirs).into();
    }
    figures
}

/// The instruction-set level in use.
pub fn isa_name() -> &'static str {
    active_isa().name()
}

/// Reconstruction and orthogonality errors of a small batch.
pub fn quick_svd_check() -> (f64, f64) {
    let input = blocks(64);
    let mut output = vec![Svd3Block::default(); input.len()];
    svd3_batch(&input, &mut output);
    worst_errors(&input, &output)
}

/// Mean time of a call, over at least [`MEASUREMENT`].
fn seconds_per_call(mut call: impl FnMut()) -> f64 {
    call();
    let start = Instant::now();
    let mut calls = 0;
    while start.elapsed() < MEASUREMENT {
        call();
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

#[cfg(feature = "opponents")]
fn decompose_with_nalgebra(input: &[Mat3Block]) {
    for matrix in 0..OPPONENT {
        let rows = input[matrix / F32_LANES].get(matrix % F32_LANES).rows;
        let f = nalgebra::Matrix3::from_fn(|i, j| rows[i][j]);
        black_box(black_box(f).svd(true, true));
    }
}

/// Largest ‖UΣVᵀ − F‖/‖F‖, and largest of ‖UᵀU − I‖, ‖VᵀV − I‖, |det U − 1|, |det V − 1|; evaluated in double
/// precision.
fn worst_errors(input: &[Mat3Block], output: &[Svd3Block]) -> (f64, f64) {
    let (mut reconstruction, mut orthogonality) = (0.0f64, 0.0f64);
    // `max` would drop a NaN, which is the worst error.
    let worse = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { a.max(b) };
    for (block, svds) in input.iter().zip(output) {
        for lane in 0..F32_LANES {
            let f = block.get(lane).to_f64();
            let svd = svds.get(lane);
            let (u, v, sigma) = (svd.u.to_f64(), svd.v.to_f64(), svd.sigma);
            let sigma = Vec3::new(f64::from(sigma.x), f64::from(sigma.y), f64::from(sigma.z));
            let size = if f.norm() > 0.0 { f.norm() } else { 1.0 };
            reconstruction = worse(reconstruction, (u * Mat3::diagonal(sigma) * v.transpose() - f).norm() / size);
            for rotation in [u, v] {
                orthogonality = worse(orthogonality, (rotation.transpose() * rotation - Mat3::identity()).norm());
                orthogonality = worse(orthogonality, (rotation.determinant() - 1.0).abs());
            }
        }
    }
    (reconstruction, orthogonality)
}

/// Matrices of four difficult kinds, alternating: random, singular, inverted, nearly equal singular values.
fn blocks(count: usize) -> Vec<Mat3Block> {
    let mut random = Random(0x5EED);
    let mut blocks = vec![Mat3Block::default(); count];
    for index in 0..count * F32_LANES {
        let (u, v) = (random.rotation(), random.rotation());
        let scale = 10f64.powf(random.between(-2.0, 2.0));
        let from_values =
            |values: [f64; 3]| u * Mat3::diagonal(Vec3::new(values[0], values[1], values[2])) * v.transpose();
        let matrix = match index % 4 {
            0 => Mat3 { rows: std::array::from_fn(|_| std::array::from_fn(|_| random.between(-1.0, 1.0))) },
            1 => match index / 4 % 3 {
                0 => from_values([1.0, random.between(0.0, 1.0), 0.0]),
                1 => from_values([1.0, 0.0, 0.0]),
                _ => Mat3::zero(),
            },
            2 => from_values([1.0, random.between(0.1, 1.0), -random.between(0.0, 0.1)]),
            _ => from_values([1.0, 1.0 + random.between(-1e-6, 1e-6), 1.0 + random.between(-1e-7, 1e-7)]),
        };
        let matrix = (matrix * scale).map(|entry| entry as f32);
        blocks[index / F32_LANES].set(index % F32_LANES, &matrix);
    }
    blocks
}

/// SplitMix64: small, and the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn rotation(&mut self) -> Mat3 {
        let axis: [f64; 3] = std::array::from_fn(|_| self.between(-3.0, 3.0));
        Quaternion::exp_map(Vec3::new(axis[0], axis[1], axis[2])).to_matrix()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_batch_stay_below_what_we_promise() {
        let (reconstruction, orthogonality) = quick_svd_check();
        assert!(reconstruction <= 5e-6 && orthogonality <= 5e-6, "{reconstruction:e} {orthogonality:e}");
    }
}
