//! Logarithm, exponential and rough reciprocal square root with the same bits in plain numbers and in lanes.

/// Natural logarithm.
#[inline(always)]
pub fn ln_f32(x: f32) -> f32 {
    x.ln()
}
/// Natural logarithm.
#[inline(always)]
pub fn ln_f64(x: f64) -> f64 {
    x.ln()
}
/// Exponential function.
#[inline(always)]
pub fn exp_f32(x: f32) -> f32 {
    x.exp()
}
/// Exponential function.
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    x.exp()
}
/// Rough reciprocal square root.
#[inline(always)]
pub fn rsqrt_estimate_f32(x: f32) -> f32 {
    1.0 / x.sqrt()
}
/// Rough reciprocal square root.
#[inline(always)]
pub fn rsqrt_estimate_f64(x: f64) -> f64 {
    1.0 / x.sqrt()
}
