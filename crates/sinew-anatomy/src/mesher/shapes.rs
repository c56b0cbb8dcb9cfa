//! Trial shapes for tests and benchmarks of meshers: formulas with known volumes, and random ones.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use crate::Solid;

/// A solid by a formula.
pub struct Formula {
    /// What it is called in reports.
    pub name: String,
    /// A box that holds everything inside.
    pub bounds: Aabb,
    /// Volume \[m³\], if there is a formula.
    pub volume: Option<f64>,
    /// Whether it is smooth at the scale of a fiftieth of its size, so that angles of 20° can be asked for.
    pub is_smooth: bool,
    distance: Box<dyn Fn(Vec3) -> f64 + Sync + Send>,
}

impl Formula {
    /// A solid by its signed distance, or a lower bound of it.
    pub fn new(name: &str, bounds: Aabb, distance: impl Fn(Vec3) -> f64 + Sync + Send + 'static) -> Self {
        Self { name: name.into(), bounds, volume: None, is_smooth: true, distance: Box::new(distance) }
    }

    fn with_volume(mut self, volume: f64) -> Self {
        self.volume = Some(volume);
        self
    }

    fn rough(mut self) -> Self {
        self.is_smooth = false;
        self
    }
}

impl Solid for Formula {
    fn distance(&self, p: Vec3) -> f64 {
        (self.distance)(p)
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }
}

fn cube(center: Vec3, half: f64) -> Aabb {
    Aabb { min: center - Vec3::splat(half), max: center + Vec3::splat(half) }
}

/// A ball.
pub fn ball(center: Vec3, radius: f64) -> Formula {
    let volume = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    Formula::new("ball", cube(center, radius), move |p| p.distance(center) - radius).with_volume(volume)
}

/// A torus around the z axis through `center`.
pub fn torus(center: Vec3, ring: f64, tube: f64) -> Formula {
    let half = Vec3::new(ring + tube, ring + tube, tube);
    let bounds = Aabb { min: center - half, max: center + half };
    let distance = move |p: Vec3| {
        let q = p - center;
        (q.x.hypot(q.y) - ring).hypot(q.z) - tube
    };
    let volume = 2.0 * std::f64::consts::PI.powi(2) * ring * tube * tube;
    Formula::new("torus", bounds, distance).with_volume(volume)
}

/// A capsule between two points.
pub fn capsule(a: Vec3, b: Vec3, radius: f64) -> Formula {
    let bounds = Aabb { min: a.min(b), max: a.max(b) }.grown(radius);
    let axis = b - a;
    let distance = move |p: Vec3| {
        let t = ((p - a).dot(axis) / axis.norm_squared()).clamp(0.0, 1.0);
        p.distance(a + axis * t) - radius
    };
    let volume = std::f64::consts::PI * radius * radius * (axis.norm() + 4.0 / 3.0 * radius);
    Formula::new("capsule", bounds, distance).with_volume(volume)
}

/// The part of a gyroid sheet of relative thickness ⅔ within a ball, with `waves` periods across its diameter.
pub fn gyroid(center: Vec3, radius: f64, waves: f64) -> Formula {
    let k = std::f64::consts::PI * waves / radius;
    let distance = move |p: Vec3| {
        let q = (p - center) * k;
        let g = q.x.sin() * q.y.cos() + q.y.sin() * q.z.cos() + q.z.sin() * q.x.cos();
        // The gradient of g is at most √3 k... 2: the quotient is a lower bound of the distance.
        smooth_max((g.abs() - 0.6) / (1.8 * k), p.distance(center) - radius, 0.1 / k)
    };
    Formula::new("gyroid", cube(center, radius), distance)
}

/// Some balls that melt into each other, at random places.
pub fn blobs(seed: u64, count: usize) -> Formula {
    let mut random = Random::new(seed);
    let balls: Vec<(Vec3, f64)> = (0..count).map(|_| (random.point(0.3), 0.12 + 0.12 * random.unit())).collect();
    let distance = move |p: Vec3| {
        let sharpness = 12.0;
        let sum: f64 = balls.iter().map(|(c, r)| (-sharpness * (p.distance(*c) - r)).exp()).sum();
        if sum > 1e-250 {
            -sum.ln() / sharpness
        } else {
            balls.iter().map(|(c, r)| p.distance(*c) - r).fold(9.0, f64::min) - 0.3
        }
    };
    Formula::new("blobs", cube(Vec3::zero(), 0.8), distance)
}

/// A ball whose surface is disturbed by waves with a tenth of its diameter and less, as labels with noise are.
pub fn noisy(seed: u64, amplitude: f64) -> Formula {
    let field = Waves::new(seed, 24, 25.0, 60.0);
    let slope = 1.0 + amplitude * field.slope;
    Formula::new("noisy", cube(Vec3::zero(), 0.48), move |p| {
        let d = p.norm() - 0.4 + amplitude * field.at(p);
        let outer = p.norm() - 0.47;
        (d / slope).max(outer)
    })
    .rough()
}

/// The part of a ball where a random field of waves is negative.
pub fn random_field(seed: u64, waves: f64) -> Formula {
    let field = Waves::new(seed, 16, 0.3 * waves, waves);
    Formula::new("field", cube(Vec3::zero(), 0.5), move |p| (field.at(p) / field.slope).max(p.norm() - 0.5)).rough()
}

/// A ball of radius 0.4 in slices around an axis, and its core as the last: labels meet along lines and in points.
pub fn wedges(count: usize) -> Vec<Formula> {
    let bounds = Aabb { min: Vec3::splat(-0.41), max: Vec3::splat(0.41) };
    let mut solids: Vec<Formula> = (0..count)
        .map(|k| {
            let turn = std::f64::consts::TAU / count as f64;
            // Around an axis that no plane of the lattice contains.
            let (u, v) = (Vec3::new(0.96, -0.28, 0.0), Vec3::new(0.168, 0.576, -0.8));
            let side = |angle: f64| u * -angle.sin() + v * angle.cos();
            let (from, to) = (side(turn * k as f64 + 0.3), side(turn * (k + 1) as f64 + 0.3));
            let c = Vec3::new(0.011, 0.017, 0.013);
            Formula::new("wedge", bounds, move |p| {
                let q = p - c;
                (p.norm() - 0.4).max(-q.dot(from)).max(q.dot(to)).max(0.15 - q.norm())
            })
        })
        .collect();
    solids.push(ball(Vec3::new(0.011, 0.017, 0.013), 0.15));
    solids
}

/// A sum of plane waves.
struct Waves {
    waves: Vec<(Vec3, f64, f64)>,
    /// Upper bound of its gradient.
    slope: f64,
}

impl Waves {
    fn new(seed: u64, count: usize, low: f64, high: f64) -> Self {
        let mut random = Random::new(seed);
        let amplitude = (2.0 / count as f64).sqrt();
        let waves: Vec<(Vec3, f64, f64)> = (0..count)
            .map(|_| {
                let direction = random.point(1.0);
                let number = low + (high - low) * random.unit();
                let vector = direction * (number / direction.norm().max(1e-3));
                (vector, std::f64::consts::TAU * random.unit(), amplitude)
            })
            .collect();
        let slope = waves.iter().map(|(k, _, a)| k.norm() * a).sum();
        Self { waves, slope }
    }

    fn at(&self, p: Vec3) -> f64 {
        self.waves.iter().map(|(k, phase, a)| a * (k.dot(p) + phase).sin()).sum()
    }
}

/// The smooth solids, and random ones by number: shape `k` of any list is the same on every machine.
pub fn trial(k: usize) -> Formula {
    let seed = k as u64;
    let shift = Random::new(seed + 1000).point(0.02);
    match k % 10 {
        0 => ball(shift, 0.4 + 0.003 * (k / 10) as f64),
        1 => torus(shift, 0.3, 0.1 + 0.002 * (k / 10) as f64),
        2 => capsule(shift - Vec3::new(0.2, 0.1, 0.05), shift + Vec3::new(0.2, 0.15, 0.1), 0.15),
        3 => gyroid(shift, 0.45, 2.0),
        4 | 5 => blobs(seed, 5 + k % 7),
        6 => noisy(seed, 0.01 + 0.01 * (k / 10 % 5) as f64),
        7 => random_field(seed, 15.0),
        8 => random_field(seed, 40.0),
        _ => random_field(seed, 120.0),
    }
}

/// The smallest k with a smooth maximum: |smooth − max| ≤ k / 4.
fn smooth_max(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0) / k;
    a.max(b) + 0.25 * h * h * k
}

/// Random numbers that are the same everywhere.
pub struct Random(u64);

impl Random {
    /// A sequence by its number.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1));
        for _ in 0..4 {
            random.unit();
        }
        random
    }

    /// A number between zero and one.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A point in a cube around the origin with half an edge of `half`.
    pub fn point(&mut self, half: f64) -> Vec3 {
        let mut x = || (2.0 * self.unit() - 1.0) * half;
        Vec3::new(x(), x(), x())
    }
}
