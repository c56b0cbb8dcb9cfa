//! Three-component `f32` arithmetic on plain arrays.
//!
//! Pictures need seven digits and streams of vertices, not a generic scalar: arrays keep vertex buffers flat and
//! convert freely to the contents of files.

/// A point, direction or linear color.
pub(crate) type V3 = [f32; 3];

#[inline(always)]
pub(crate) fn add(a: V3, b: V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn sub(a: V3, b: V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Componentwise product: light times albedo.
#[inline(always)]
pub(crate) fn mul(a: V3, b: V3) -> V3 {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

#[inline(always)]
pub(crate) fn scale(a: V3, s: f32) -> V3 {
    [a[0] * s, a[1] * s, a[2] * s]
}

/// a + s b.
#[inline(always)]
pub(crate) fn mad(a: V3, b: V3, s: f32) -> V3 {
    [a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s]
}

#[inline(always)]
pub(crate) fn lerp(a: V3, b: V3, t: f32) -> V3 {
    [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}

/// Applies `f` to each component. It is inlined; `<[f32; 3]>::map` remained a call per pixel.
#[inline(always)]
pub(crate) fn each(a: V3, f: impl Fn(f32) -> f32) -> V3 {
    [f(a[0]), f(a[1]), f(a[2])]
}

#[inline(always)]
pub(crate) fn dot(a: V3, b: V3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross(a: V3, b: V3) -> V3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(crate) fn norm(a: V3) -> f32 {
    dot(a, a).sqrt()
}

/// Unit vector along `a`, or `fallback` if `a` has no usable length.
#[inline(always)]
pub(crate) fn unit_or(a: V3, fallback: V3) -> V3 {
    let n = norm(a);
    if n > 1e-20 && n.is_finite() { scale(a, 1.0 / n) } else { fallback }
}

#[inline(always)]
pub(crate) fn is_finite(a: V3) -> bool {
    a[0].is_finite() && a[1].is_finite() && a[2].is_finite()
}

/// Hermite step from 0 at `a` to 1 at `b`; `a > b` gives the falling step.
#[inline(always)]
pub(crate) fn smoothstep(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Two unit vectors that complete the unit vector `n` to a right-handed frame (t, b, n).
pub(crate) fn frame_about(n: V3) -> (V3, V3) {
    let helper = if n[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let t = unit_or(cross(helper, n), [1.0, 0.0, 0.0]);
    (t, cross(n, t))
}
