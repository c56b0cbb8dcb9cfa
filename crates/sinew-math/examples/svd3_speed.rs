//! Measures how many 3×3 decompositions per second one core does at each instruction-set level.

use std::time::Instant;

use sinew_math::lanes::{F32_LANES, IsaLevel, active_isa};
use sinew_math::svd3::{Mat3Block, Svd3, Svd3Block, svd3, svd3_batch_at, svd3_plain};
use sinew_math::{Mat3, Vec3};

/// 256 blocks: 0.5 MB of input and output, which stays in the second-level cache.
const BLOCKS: usize = 256;

fn main() {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let random = blocks(|| Mat3::zero().map(|_: f32| uniform()));
    let near_rest = blocks(|| Mat3::identity() + Mat3::zero().map(|_: f32| 1e-3 * uniform()));
    let flat =
        blocks(|| Mat3::outer(Vec3::splat(0.0_f32).map(|_: f32| uniform()), Vec3::new(uniform(), 1.0, uniform())));

    println!("million decompositions per second on one core; active level {}", active_isa());
    println!("{:>7} {:>9} {:>9} {:>9}", "", "random", "near rest", "rank one");
    for level in IsaLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let [a, b, c] = [&random, &near_rest, &flat].map(|input| batch_rate(level, input));
        println!("{level:>7} {a:9.2} {b:9.2} {c:9.2}");
    }
    println!(
        "one f64 matrix: {:.0} ns by svd3, {:.0} ns by svd3_plain",
        time_one(&random, svd3),
        time_one(&random, svd3_plain)
    );
}

fn blocks(mut matrix: impl FnMut() -> Mat3<f32>) -> Vec<Mat3Block> {
    let mut blocks = vec![Mat3Block::default(); BLOCKS];
    for block in &mut blocks {
        for lane in 0..F32_LANES {
            block.set(lane, &matrix());
        }
    }
    blocks
}

/// Best of many runs: other work on the machine only makes a run slower.
fn batch_rate(level: IsaLevel, input: &[Mat3Block]) -> f64 {
    let mut output = vec![Svd3Block::default(); input.len()];
    let runs = if level == IsaLevel::Scalar { 10 } else { 1000 };
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        svd3_batch_at(level, input, &mut output);
        best = best.min(start.elapsed().as_secs_f64());
    }
    (input.len() * F32_LANES) as f64 / best * 1e-6
}

/// Nanoseconds per decomposition of one plain matrix after the other.
fn time_one(input: &[Mat3Block], decompose: impl Fn(&Mat3) -> Svd3) -> f64 {
    let matrices: Vec<Mat3> = input[..16].iter().map(|block| block.get(0).to_f64()).collect();
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        for matrix in &matrices {
            std::hint::black_box(decompose(std::hint::black_box(matrix)));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    best / matrices.len() as f64 * 1e9
}
