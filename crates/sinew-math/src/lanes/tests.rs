//! Every level gives the bits of plain numbers, and dispatch follows the requested level.

use super::*;
use crate::scalar::{Real, Scalar};

/// The operations of [`Scalar`], each as one output.
#[inline(always)]
fn operations<S: Scalar>(x: S, y: S) -> [S; 21] {
    let z = S::splat(0.1);
    [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        x.mul_add(y, z),
        x.sqrt(),
        x.rsqrt(),
        x.rsqrt_estimate(),
        x.recip(),
        x.ln(),
        x.exp(),
        x.abs(),
        S::min(x, y),
        S::max(x, y),
        S::select(x.lt(y), x, z),
        S::select(x.le(y) & !y.gt(z), y, z),
        S::select(x.ge(y) | z.gt(y), y, z),
        x.powi(-3),
        y.abs().powf(0.37),
        x.binary_magnitude(),
    ]
}

/// Numbers of all kinds: ordinary, equal pairs, zeros of both signs, subnormal, huge, infinite, NaN.
fn samples<T: Real>() -> Vec<(T, T)> {
    let specials =
        [0.0, -0.0, 1.0, -1.0, 1e-40, 1e-310, -3e38, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 88.7, 709.7];
    let mut values: Vec<f64> = specials.to_vec();
    let mut state = 1_u64;
    while values.len() < 400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        values.push(if values.len().is_multiple_of(2) { 8.0 * uniform - 4.0 } else { (90.0 * uniform - 45.0).exp() });
    }
    let n = values.len();
    (0..n * 16).map(|k| (T::from_f64(values[k % n]), T::from_f64(values[(k * 7 + k / n) % n]))).collect()
}

struct Operations<'a, T> {
    samples: &'a [(T, T)],
}

#[inline(always)]
fn run_blocks<S: LaneScalar>(samples: &[(S::Element, S::Element)]) -> Vec<[S::Element; 21]> {
    let mut out = Vec::new();
    for block in samples.chunks_exact(S::LANES) {
        let (x, y): (Vec<_>, Vec<_>) = block.iter().copied().unzip();
        let results = operations(S::load(&x), S::load(&y));
        let mut stored = vec![[S::Element::default(); 21]; S::LANES];
        let mut lane_values = vec![S::Element::default(); S::LANES];
        for (k, result) in results.into_iter().enumerate() {
            result.store(&mut lane_values);
            for lane in 0..S::LANES {
                stored[lane][k] = lane_values[lane];
            }
        }
        out.extend(stored);
    }
    out
}

impl LaneKernel for Operations<'_, f32> {
    type Output = Vec<[f32; 21]>;
    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        run_blocks::<I::F32>(self.samples)
    }
}

impl LaneKernel for Operations<'_, f64> {
    type Output = Vec<[f64; 21]>;
    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        run_blocks::<I::F64>(self.samples)
    }
}

fn assert_levels_equal_plain<T: Real>(bits: impl Fn(T) -> u64)
where
    for<'a> Operations<'a, T>: LaneKernel<Output = Vec<[T; 21]>>,
{
    let samples = samples::<T>();
    for level in IsaLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let lanes = dispatch_at(level, Operations { samples: &samples }).expect("the level was checked");
        assert_eq!(lanes.len(), samples.len());
        for (&(x, y), results) in samples.iter().zip(&lanes) {
            for (k, (&lane, plain)) in results.iter().zip(operations(x, y)).enumerate() {
                let both_nan = lane.to_f64().is_nan() && plain.to_f64().is_nan();
                assert!(
                    both_nan || bits(lane) == bits(plain),
                    "{level}, operation {k} of {x}, {y}: {lane:?} {plain:?}"
                );
            }
        }
    }
}

#[test]
fn lanes_of_f32_have_the_bits_of_plain_f32_at_every_level() {
    assert_levels_equal_plain::<f32>(|value| u64::from(value.to_bits()));
}

#[test]
fn lanes_of_f64_have_the_bits_of_plain_f64_at_every_level() {
    assert_levels_equal_plain::<f64>(|value| value.to_bits());
}

struct Reductions;

impl LaneKernel for Reductions {
    type Output = [bool; 8];
    #[inline(always)]
    fn run<I: Isa>(self) -> [bool; 8] {
        let mut values = [1.0_f64; F64_LANES];
        values[5] = -1.0;
        let mixed = I::F64::load(&values).lt(I::F64::zero());
        let ones = I::F32::one().gt(I::F32::zero());
        [
            <I::F64 as Scalar>::any(mixed),
            !<I::F64 as Scalar>::all(mixed),
            <I::F64 as Scalar>::any(!mixed),
            <I::F32 as Scalar>::all(ones),
            !<I::F32 as Scalar>::any(!ones),
            I::F32::LANES == F32_LANES,
            I::F64::LANES == F64_LANES,
            !<I::F64 as Scalar>::all(!mixed),
        ]
    }
}

#[test]
fn masks_reduce_over_all_lanes_and_block_sizes_do_not_depend_on_the_level() {
    for level in IsaLevel::ALL {
        if let Some(results) = dispatch_at(level, Reductions) {
            assert_eq!(results, [true; 8], "{level}");
        }
    }
    assert_eq!(dispatch(Reductions), [true; 8]);
}

#[test]
fn requests_for_unknown_or_missing_levels_fall_back_to_the_best() {
    let best = IsaLevel::best_available();
    assert_eq!(resolve(None), best);
    assert_eq!(resolve(Some("sse9")), best);
    assert_eq!(resolve(Some(" Scalar ")), IsaLevel::Scalar);
    let missing = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
    assert_eq!(resolve(Some(missing)), best);
    assert!(IsaLevel::ALL.iter().all(|level| level.to_string().parse() == Ok(*level)));
    assert_eq!("mmx".parse::<IsaLevel>(), Err(UnknownIsaLevel { name: "mmx".into() }));
}

struct Shift;

impl LaneKernel for Shift {
    type Output = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let singles: Vec<f32> = (0..2 * F32_LANES).map(|k| k as f32).collect();
        let doubles: Vec<f64> = (0..2 * F64_LANES).map(|k| k as f64).collect();
        let (mut single, mut double) = ([0.0; F32_LANES], [0.0; F64_LANES]);
        I::F32::load(&singles[F32_LANES..]).shift_in(I::F32::load(&singles)).store(&mut single);
        I::F64::load(&doubles[F64_LANES..]).shift_in(I::F64::load(&doubles)).store(&mut double);
        single == singles[F32_LANES - 1..2 * F32_LANES - 1] && double == doubles[F64_LANES - 1..2 * F64_LANES - 1]
    }
}

#[test]
fn shifted_lanes_follow_the_last_lane_of_the_previous_ones() {
    for level in IsaLevel::ALL.into_iter().filter(|level| level.is_available()) {
        assert_eq!(dispatch_at(level, Shift), Some(true), "{level}");
    }
}
