//! Lighting: a warm key light with a soft shadow, a cool fill light, a rim light from behind and the sky.
//!
//! All colors here are linear; [`display`] maps them to bytes.

use std::sync::OnceLock;

use super::camera::UpAxis;
use super::color::srgb_from_linear;
use super::coverage::{Projection, TILE};
use super::scene::Finish;
use super::shadow::SoftShadow;
use super::vector::{V3, add, dot, lerp, mad, mul, norm, scale, smoothstep, sub, unit_or};

const KEY: V3 = [1.22, 1.14, 1.02];
const FILL: V3 = [0.15, 0.18, 0.22];
const RIM: V3 = [0.70, 0.76, 0.86];
const SKY: V3 = [0.34, 0.375, 0.42];
/// Light reflected by the ground.
const BOUNCE: V3 = [0.17, 0.155, 0.14];

const GROUND_LIGHT: V3 = [0.605, 0.60, 0.595];
const GROUND_DARK: V3 = [0.545, 0.545, 0.55];
const BACK_LOW: V3 = [0.96, 0.965, 0.975];
const BACK_HIGH: V3 = [0.52, 0.60, 0.70];

/// Directions of the lights for one view: they move with the camera, so that every picture is lit from over the
/// shoulder.
pub(crate) struct Lights {
    pub key: V3,
    fill: V3,
    rim: V3,
    pub up: V3,
}

impl Lights {
    pub fn new(projection: &Projection, up: UpAxis) -> Lights {
        let vertical = up.direction();
        let flat = |v: V3, fallback: V3| unit_or(mad(v, vertical, -dot(v, vertical)), fallback);
        let mut any = [0.0; 3];
        any[(up.index() + 1) % 3] = 1.0;
        let right = flat(projection.basis.right, any);
        let forward = flat(projection.basis.forward, super::vector::cross(vertical, right));
        let toward = |r: f32, u: f32, b: f32| {
            unit_or(add(add(scale(right, r), scale(vertical, u)), scale(forward, -b)), vertical)
        };
        Lights {
            key: toward(-0.62, 1.0, 0.42),
            fill: toward(0.9, 0.35, 0.6),
            rim: toward(0.45, 0.75, -1.0),
            up: vertical,
        }
    }

    /// Light on the ground under `lit` of the key light and `sky` of the sky, both 0..1.
    #[inline(always)]
    pub fn on_ground(&self, lit: f32, sky: f32) -> V3 {
        let key = scale(KEY, lit * dot(self.up, self.key));
        // Plain ambient light is too faint to ground a body in bright key light; sky^1.5 is nearer to a photograph of a
        // matte floor. Even a closed gap gets a little light, or it would look like a hole in the floor.
        add(scale(key, 0.4 + 0.6 * sky), scale(SKY, 0.1 + 0.9 * sky * sky.sqrt()))
    }

    /// Share of the key light that reaches a point of a body, 0..1.
    #[inline(always)]
    pub fn key_light(&self, at: &ShadePoint, shadow: &SoftShadow) -> f32 {
        // Farther from the light, none of it creeps around.
        if dot(at.normal, self.key) > -0.35 { shadow.lit(at.position, at.normal) } else { 0.0 }
    }

    /// Light from a point of a body toward the eye, under `lit` of the key light.
    #[inline(always)]
    pub fn body(&self, at: &ShadePoint, finish: &Finish, lit: f32) -> V3 {
        let n = at.normal;
        let facing = dot(n, self.key);
        // Wrapped diffuse: light enters skin and leaves beyond the terminator, red farthest.
        let creep = scale([0.34, 0.16, 0.10], finish.translucency);
        let wrapped = |w: f32| ((facing + w) / (1.0 + w)).max(0.0);
        let diffuse = [wrapped(creep[0]), wrapped(creep[1]), wrapped(creep[2])];
        // Inside tissue the edge of a shadow bleeds red as well.
        let soft = 0.25 * finish.translucency;
        let shade = [lit + (lit.sqrt() - lit) * soft, lit, lit];
        let mut light = mul(KEY, mul(diffuse, shade));

        let fill = (0.5 + 0.5 * dot(n, self.fill)) * (0.4 + 0.6 * at.sky);
        light = mad(light, FILL, fill);
        let upward = 0.5 + 0.5 * dot(n, self.up);
        light = mad(light, SKY, at.sky * (0.35 + 0.65 * upward));
        light = mad(light, BOUNCE, (1.0 - upward) * (0.25 + 0.75 * at.openness));
        let mut color = mul(at.albedo, light);

        // Highlight: Blinn's half vector with a broad and a narrow lobe, both fading under the key's shadow.
        let fresnel = {
            let grazing = 1.0 - dot(n, at.to_eye).clamp(0.0, 1.0);
            grazing * grazing * grazing * grazing * grazing
        };
        if finish.gloss > 0.0 {
            let half = unit_or(add(self.key, at.to_eye), n);
            let h = dot(n, half).max(0.0);
            let (h8, h64) = (h.powi(14), h.powi(70));
            let key_spec = lit * facing.clamp(0.0, 1.0) * (0.10 * h8 + 0.22 * h64) * (1.0 + 4.0 * fresnel);
            color = mad(color, KEY, finish.gloss * key_spec);
            let mirror = 0.5 + 0.5 * (2.0 * dot(n, at.to_eye) * dot(n, self.up) - dot(at.to_eye, self.up));
            color = mad(color, SKY, finish.gloss * at.sky * (0.03 + 0.5 * fresnel) * mirror);
        }
        let rim = (0.3 + dot(n, self.rim)).max(0.0) * fresnel.sqrt() * at.sky;
        mad(color, RIM, rim * (0.10 + 0.28 * finish.gloss))
    }
}

/// Lighting inputs at a point.
#[derive(Clone, Copy)]
pub(crate) struct ShadePoint {
    pub position: V3,
    /// Unit normal on the side of the eye.
    pub normal: V3,
    pub to_eye: V3,
    pub albedo: V3,
    /// Visible fraction of the sky, 0..1.
    pub sky: f32,
    /// Fraction of the light that the ground below can reflect, 0..1.
    pub openness: f32,
}

/// Ground and background behind the bodies.
pub(crate) struct Backdrop {
    up: UpAxis,
    ground: Option<f32>,
    center: V3,
    /// The ground is clear within this distance of the center and has faded into the background at twice that \[m\].
    clear: f32,
    /// Edge of a checker square \[m\].
    checker: f32,
}

impl Backdrop {
    pub fn new(up: UpAxis, ground: Option<f32>, center: V3, radius: f32) -> Backdrop {
        // Squares of 1, 2 or 5 times a power of ten, so that they can serve as a scale.
        let wanted = 0.35 * radius;
        let power = 10.0f32.powf(wanted.log10().floor());
        let checker = [1.0, 2.0, 5.0].into_iter().map(|m| m * power).rfind(|&c| c <= wanted * 1.0001).unwrap_or(power);
        Backdrop { up, ground, center, clear: 2.2 * radius, checker }
    }

    /// Distance along `ray` (in units of its length) to the ground, if the ray meets it from above.
    #[inline(always)]
    pub fn ground_hit(&self, eye: V3, ray: V3) -> Option<f32> {
        let (level, axis) = (self.ground?, self.up.index());
        let distance = (level - eye[axis]) / ray[axis];
        (eye[axis] > level && distance > 0.0 && distance.is_finite()).then_some(distance)
    }

    /// 1/depth of the ground on the screen as (constant, per column, per row): affine like that of any plane, zero or
    /// negative where the ground is not visible.
    pub fn ground_inverse_depth(&self, projection: &Projection) -> V3 {
        let (axis, eye) = (self.up.index(), projection.basis.eye);
        match self.ground {
            Some(level) if eye[axis] > level => {
                let value = |x: f32, y: f32| projection.ray(x, y)[axis] / (level - eye[axis]);
                let origin = value(0.0, 0.0);
                [origin, value(1.0, 0.0) - origin, value(0.0, 1.0) - origin]
            }
            _ => [0.0; 3],
        }
    }

    /// Color behind everything, by the height in the picture (0 at the bottom, 1 at the top).
    #[inline(always)]
    pub fn background(&self, height: f32) -> V3 {
        lerp(BACK_LOW, BACK_HIGH, smoothstep(0.25, 1.35, height))
    }

    /// Albedo of the ground at a point that a pixel sees in a window of width `footprint`, and how much of it the distance
    /// leaves visible.
    #[inline(always)]
    pub fn ground_albedo(&self, position: V3, footprint: f32) -> (V3, f32) {
        let axes = [(self.up.index() + 1) % 3, (self.up.index() + 2) % 3];
        let (dx, dy) = (position[axes[0]] - self.center[axes[0]], position[axes[1]] - self.center[axes[1]]);
        let distance = (dx * dx + dy * dy).sqrt();
        let visible = 1.0 - smoothstep(self.clear, 2.6 * self.clear, distance);
        let tile = [position[axes[0]] / self.checker, position[axes[1]] / self.checker];
        // Box-filtered checker; squares fade out when they are no larger than a pixel.
        let width = footprint / self.checker;
        let pattern = filtered_square_wave(tile[0], width) * filtered_square_wave(tile[1], width);
        (lerp(GROUND_DARK, GROUND_LIGHT, 0.5 + 0.5 * pattern), visible)
    }
}

/// Floor by truncation: without SSE 4.1, which is not assumed, `f32::floor` is a library call.
#[inline(always)]
fn floor(x: f32) -> f32 {
    let truncated = x as i32 as f32;
    if truncated > x { truncated - 1.0 } else { truncated }
}

/// Mean of the ±1 square wave of period 2 over a window of the given width around `x`.
#[inline(always)]
fn filtered_square_wave(x: f32, width: f32) -> f32 {
    let width = width.max(1e-4);
    // Integral of the square wave: a triangle wave.
    let integral = |x: f32| {
        let t = x - 2.0 * floor(0.5 * x);
        if t < 1.0 { t } else { 2.0 - t }
    };
    ((integral(x + 0.5 * width) - integral(x - 0.5 * width)) / width).clamp(-1.0, 1.0)
}

/// Linear colors of a row of a tile, component by component: so that a loop over pixels is one over lanes.
pub(crate) type RowColors = [[f32; TILE]; 3];

/// Bytes of a row of a tile: three per pixel.
pub(crate) type RowBytes = [u8; 3 * TILE];

/// Filmic curve: straight in the shadows and middle tones, a soft shoulder from 0.7 so that highlights keep their hue.
#[inline(always)]
pub(crate) fn display(color: V3) -> [u8; 3] {
    let codes = codes();
    let byte = |c: f32| codes[entry_of(c) as usize % ENTRIES];
    [byte(color[0]), byte(color[1]), byte(color[2])]
}

/// [`display`] of eight pixels.
#[inline(always)]
pub(crate) fn display_row(colors: &RowColors) -> RowBytes {
    let codes = codes();
    let mut entries = [[0; TILE]; 3];
    for (entries, colors) in entries.iter_mut().zip(colors) {
        for (entry, &color) in entries.iter_mut().zip(colors) {
            *entry = entry_of(color);
        }
    }
    let mut bytes = [0; 3 * TILE];
    for i in 0..TILE {
        for c in 0..3 {
            bytes[3 * i + c] = codes[entries[c][i] as usize % ENTRIES];
        }
    }
    bytes
}

/// Bytes of codes, after that of what is too dark for a code.
#[inline(always)]
fn codes() -> &'static [u8; ENTRIES] {
    static CODES: OnceLock<[u8; ENTRIES]> = OnceLock::new();
    let byte_of = |entry: u32| if entry == 0 { 0 } else { display_byte(light_of(entry - 1)) };
    CODES.get_or_init(|| std::array::from_fn(|entry| byte_of((entry as u32).min(entry_of(BRIGHTEST)))))
}

/// A power of two above the number of entries, so that a remainder tells the compiler that all of them exist.
const ENTRIES: usize = 1 << 14;

/// Entry of a value in the table of bytes; NaN is black.
#[inline(always)]
fn entry_of(c: f32) -> u32 {
    let light = if c < BRIGHTEST { c } else { BRIGHTEST };
    if c > DARKEST { ((light.to_bits() - DARKEST.to_bits()) >> DROPPED) + 1 } else { 0 }
}

/// Light below this is black, light above [`BRIGHTEST`] is white.
const DARKEST: f32 = 1.0 / 8192.0;
const BRIGHTEST: f32 = 64.0;

/// Bits of the mantissa that a code drops: codes lie 0.2 % apart, a fifth of a byte step. The bits of positive floats are
/// ordered like the values.
const DROPPED: u32 = 14;

/// The value in the middle of a code.
fn light_of(code: u32) -> f32 {
    f32::from_bits(DARKEST.to_bits() + (code << DROPPED) + (1 << (DROPPED - 1)))
}

fn display_byte(c: f32) -> u8 {
    const KNEE: f32 = 0.62;
    let over = (c - KNEE).max(0.0) / (1.0 - KNEE);
    let mapped = if c < KNEE { c } else { KNEE + (1.0 - KNEE) * over / (1.0 + over) };
    // The shoulder ends below white; 1.12 brings studio white to paper white.
    (srgb_from_linear((mapped * 1.12).min(1.0)) * 255.0).round() as u8
}

/// Size of a pixel on a plane at `position` seen at a slant \[m\].
#[inline(always)]
pub(crate) fn footprint(projection: &Projection, position: V3, normal: V3) -> f32 {
    let sight = sub(position, projection.basis.eye);
    let distance = norm(sight);
    let slant = (dot(sight, normal) / distance.max(1e-20)).abs().max(0.02);
    distance / (projection.focal * slant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_wave_filter_keeps_the_mean() {
        // A window of one whole period has as much light as dark, at any position.
        for i in 0..20 {
            assert!(filtered_square_wave(0.37 * i as f32, 2.0).abs() < 1e-5);
        }
        assert!((filtered_square_wave(0.5, 0.01) - 1.0).abs() < 1e-4);
        assert!((filtered_square_wave(1.5, 0.01) + 1.0).abs() < 1e-4);
    }

    #[test]
    fn display_is_monotone_and_survives_anything() {
        let values: Vec<u8> = (0..400).map(|i| display([i as f32 * 0.02; 3])[0]).collect();
        assert!(values.windows(2).all(|w| w[1] >= w[0]));
        assert_eq!(display([f32::NAN, -1.0, f32::NEG_INFINITY]), [0, 0, 0]);
    }
}
