//! Colors and color maps.
//!
//! Maps are curves in OKLCH, where equal steps of L look like equal steps of lightness, converted once into a table.
//! The lightness of the sequential map rises from violet over teal to yellow. The diverging map has a pale center and
//! two opposite hues. Both stay readable in gray print and with the common color deficiencies.

use std::sync::OnceLock;

use super::vector::{V3, lerp};

/// An sRGB color with components in 0..1, as in `displayColor` or a style sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rgb(pub [f32; 3]);

impl Rgb {
    /// Linear light of the color.
    pub fn to_linear(self) -> [f32; 3] {
        self.0.map(linear_from_srgb)
    }

    /// Bytes 0..255.
    pub fn to_bytes(self) -> [u8; 3] {
        self.0.map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8)
    }

    /// Colors that distinguish bodies, the first like flesh; repeats after eight.
    pub fn of_body(body: usize) -> Rgb {
        const BODIES: [[f32; 3]; 8] = [
            [0.86, 0.47, 0.41],
            [0.36, 0.62, 0.70],
            [0.93, 0.74, 0.44],
            [0.56, 0.53, 0.76],
            [0.55, 0.70, 0.44],
            [0.83, 0.55, 0.67],
            [0.46, 0.53, 0.60],
            [0.76, 0.62, 0.50],
        ];
        Rgb(BODIES[body % BODIES.len()])
    }
}

/// A map from numbers to colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColorMap {
    /// Dark violet – teal – yellow, for magnitudes.
    #[default]
    Sequential,
    /// Blue – pale – orange, for quantities with a meaningful center.
    Diverging,
    /// Blue – light gray – red, the same for skin: its center stands out from a bright background.
    Stretch,
}

const TABLE: usize = 256;

impl ColorMap {
    /// Color at `t` in 0..1 (clamped; a NaN is shown as mid gray).
    pub fn color(self, t: f64) -> Rgb {
        if t.is_nan() {
            return Rgb([0.5; 3]);
        }
        Rgb(look_up(self.table(), t))
    }

    /// Linear light of [`ColorMap::color`] at `t`, from a separate table: three powers per pixel would be too slow.
    pub(crate) fn linear(self, t: f64) -> V3 {
        static SEQUENTIAL: OnceLock<[V3; TABLE]> = OnceLock::new();
        static DIVERGING: OnceLock<[V3; TABLE]> = OnceLock::new();
        static STRETCH: OnceLock<[V3; TABLE]> = OnceLock::new();
        if t.is_nan() {
            return Rgb([0.5; 3]).to_linear();
        }
        let cache = match self {
            ColorMap::Sequential => &SEQUENTIAL,
            ColorMap::Diverging => &DIVERGING,
            ColorMap::Stretch => &STRETCH,
        };
        look_up(cache.get_or_init(|| self.table().map(|c| Rgb(c).to_linear())), t)
    }

    fn table(self) -> &'static [V3; TABLE] {
        static SEQUENTIAL: OnceLock<[V3; TABLE]> = OnceLock::new();
        static DIVERGING: OnceLock<[V3; TABLE]> = OnceLock::new();
        static STRETCH: OnceLock<[V3; TABLE]> = OnceLock::new();
        // Control points (L, C, hue in degrees), evenly spaced in t. L is linear in t by construction.
        match self {
            ColorMap::Sequential => SEQUENTIAL.get_or_init(|| {
                tabulate(&[
                    [0.270, 0.120, 300.0],
                    [0.380, 0.125, 276.0],
                    [0.490, 0.110, 244.0],
                    [0.600, 0.108, 200.0],
                    [0.710, 0.135, 160.0],
                    [0.820, 0.170, 128.0],
                    [0.930, 0.180, 105.0],
                ])
            }),
            ColorMap::Diverging => DIVERGING.get_or_init(|| {
                tabulate(&[
                    [0.420, 0.150, 262.0],
                    [0.590, 0.125, 252.0],
                    [0.780, 0.070, 240.0],
                    [0.950, 0.004, 240.0],
                    [0.780, 0.080, 58.0],
                    [0.600, 0.150, 42.0],
                    [0.430, 0.150, 30.0],
                ])
            }),
            ColorMap::Stretch => STRETCH.get_or_init(|| {
                tabulate(&[
                    [0.400, 0.160, 262.0],
                    [0.530, 0.140, 256.0],
                    [0.670, 0.080, 248.0],
                    [0.800, 0.004, 250.0],
                    [0.690, 0.100, 40.0],
                    [0.570, 0.170, 30.0],
                    [0.450, 0.180, 27.0],
                ])
            }),
        }
    }
}

fn look_up(table: &[V3; TABLE], t: f64) -> V3 {
    let at = t.clamp(0.0, 1.0) as f32 * (TABLE - 1) as f32;
    let i = (at as usize).min(TABLE - 2);
    lerp(table[i], table[i + 1], at - i as f32)
}

fn tabulate(controls: &[[f32; 3]]) -> [V3; TABLE] {
    // Interpolate in OKLab rather than in hue: the pale center of the diverging map has no hue.
    let lab: Vec<V3> = controls
        .iter()
        .map(|&[l, c, h]| {
            let (sin, cos) = h.to_radians().sin_cos();
            [l, c * cos, c * sin]
        })
        .collect();
    std::array::from_fn(|i| {
        let at = i as f32 / (TABLE - 1) as f32 * (lab.len() - 1) as f32;
        let k = (at as usize).min(lab.len() - 2);
        srgb_from_oklab(catmull_rom(&lab, k, at - k as f32))
    })
}

/// Smooth curve through the control points, so that no kink shows as a false contour line.
fn catmull_rom(p: &[V3], k: usize, t: f32) -> V3 {
    let (a, b, c, d) = (p[k.saturating_sub(1)], p[k], p[k + 1], p[(k + 2).min(p.len() - 1)]);
    std::array::from_fn(|i| {
        let (m0, m1) = (0.5 * (c[i] - a[i]), 0.5 * (d[i] - b[i]));
        let (t2, t3) = (t * t, t * t * t);
        (2.0 * t3 - 3.0 * t2 + 1.0) * b[i] + (t3 - 2.0 * t2 + t) * m0 + (3.0 * t2 - 2.0 * t3) * c[i] + (t3 - t2) * m1
    })
}

/// OKLab → gamma-encoded sRGB, clipped to the gamut. Reference: B. Ottosson, "A perceptual color space for image
/// processing" (2020).
fn srgb_from_oklab([l, a, b]: V3) -> V3 {
    let cube = |x: f32| x * x * x;
    let (l, m, s) = (
        cube(l + 0.396_337_78 * a + 0.215_803_76 * b),
        cube(l - 0.105_561_346 * a - 0.063_854_17 * b),
        cube(l - 0.089_484_18 * a - 1.291_485_5 * b),
    );
    [
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_4 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    ]
    .map(|c| srgb_from_linear(c.clamp(0.0, 1.0)))
}

/// sRGB transfer function, decoding.
pub(crate) fn linear_from_srgb(c: f32) -> f32 {
    if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

/// sRGB transfer function, encoding.
pub(crate) fn srgb_from_linear(c: f32) -> f32 {
    if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_inverts_decoding() {
        for byte in 0..=255u8 {
            let linear = linear_from_srgb(f32::from(byte) / 255.0);
            assert_eq!((srgb_from_linear(linear) * 255.0).round() as u8, byte);
        }
    }

    /// Relative luminance Y = 0.2126 R + 0.7152 G + 0.0722 B must rise, or the map is misleading in gray print.
    #[test]
    fn sequential_map_climbs_in_luminance() {
        let luminance = |t: f64| {
            let [r, g, b] = ColorMap::Sequential.color(t).to_linear();
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        for i in 0..200 {
            assert!(luminance((i + 1) as f64 / 200.0) > luminance(i as f64 / 200.0));
        }
    }

    #[test]
    fn maps_clamp_and_survive_nan() {
        for map in [ColorMap::Sequential, ColorMap::Diverging, ColorMap::Stretch] {
            assert_eq!(map.color(-3.0), map.color(0.0));
            assert_eq!(map.color(7.0), map.color(1.0));
            assert_eq!(map.color(f64::INFINITY), map.color(1.0));
            assert_eq!(map.color(f64::NAN), Rgb([0.5; 3]));
        }
    }
}
