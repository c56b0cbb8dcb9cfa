//! Bodies as the zero set of a field: lumps along bones that blend where they are connected.
//!
//! Lumps of a branch are joined by the quadratic smooth minimum, with $`h = \tfrac12 + \tfrac{a-b}{2k}`$ within 0 and
//! 1:
//!
//! ```math
//! \min_k(a, b) = (1-h)\,a + h\,b - k\,h(1-h)
//! ```
//!
//! Its derivatives with respect to a and b are just 1−h and h, so gradients of the field are means of the gradients of
//! lumps, and the shares of lumps at a point are the same means. Gradients of lumps are at most 1, and so are those of
//! the field. Branches blend into the trunk, and into each other only near the trunk: fingers stay apart.

use sinew_math::{Mat3, Vec3};

use crate::affine::Affine;

/// A round cone (the hull of two balls), stretched along three axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lump {
    /// Center of the first ball.
    center: Vec3,
    /// Unit axes, orthogonal; the first one points to the second ball.
    axes: [Vec3; 3],
    /// Stretch along each axis.
    stretch: Vec3,
    /// Distance of the balls, before stretching.
    length: f64,
    /// Radii of the balls, before stretching.
    radii: [f64; 2],
    /// Field value over which it blends into the previous lumps \[m\].
    blend: f64,
    /// Chain that moves it, and chain that moves its mirror image.
    chains: [usize; 2],
    /// Whether its mirror image at x = 0 is also part of the body.
    is_paired: bool,
}

impl Lump {
    /// A round cone between two centers.
    pub fn cone(from: Vec3, to: Vec3, radii: [f64; 2]) -> Self {
        let along = to - from;
        let length = along.norm();
        let axis = if length > 0.0 { along / length } else { Vec3::unit(0) };
        let axes = complete(axis, Vec3::unit(2));
        let stretch = Vec3::splat(1.0);
        Self { center: from, axes, stretch, length, radii, blend: 0.01, chains: [0; 2], is_paired: false }
    }

    /// An ellipsoid; the first radius is along `along`, the second toward `wide`.
    pub fn ellipsoid(center: Vec3, along: Vec3, wide: Vec3, radii: [f64; 3]) -> Self {
        let axes = complete(along.normalized(), wide);
        Self { axes, stretch: Vec3::from(radii), length: 0.0, radii: [1.0; 2], ..Self::cone(center, center, [1.0; 2]) }
    }

    /// An ellipsoid along x, y and z.
    pub fn upright(center: Vec3, radii: [f64; 3]) -> Self {
        Self::ellipsoid(center, Vec3::unit(0), Vec3::unit(1), radii)
    }

    /// Stretched across its length: by the first factor toward `wide`, by the second across that.
    pub fn flattened(mut self, wide: Vec3, factors: [f64; 2]) -> Self {
        self.axes = complete(self.axes[0], wide);
        self.stretch = Vec3::new(1.0, factors[0], factors[1]);
        self
    }

    /// Sets the blend width \[m\].
    pub fn blend(self, blend: f64) -> Self {
        Self { blend, ..self }
    }

    /// Sets the chain of joints that moves it.
    pub fn moved_by(self, chain: usize) -> Self {
        Self { chains: [chain; 2], ..self }
    }

    /// Adds its mirror image, which another chain moves.
    pub fn paired(self, mirrored_chain: usize) -> Self {
        Self { chains: [self.chains[0], mirrored_chain], is_paired: true, ..self }
    }

    /// The same lump transformed; the map must be a rotation, a reflection and a uniform scale.
    pub fn placed(self, map: &Affine) -> Self {
        let scale = (map.linear * Vec3::unit(0)).norm();
        let axes = self.axes.map(|axis| (map.linear * axis).normalized());
        // Stretching before or after scaling is the same.
        let stretch = self.stretch * scale;
        Self { center: map.apply(self.center), axes, stretch, blend: self.blend * scale, ..self }
    }

    /// Vector from the closest ball to a point, before stretching, and the position of that ball along the axis, from 0
    /// to 1.
    ///
    /// With ρ the distance from the axis, y the position along it, and sin β = (r₀ − r₁)/L, the surface normal is (cos
    /// β, sin β), through the center at y − ρ tan β.
    fn away(&self, p: Vec3) -> (Vec3, f64) {
        let d = p - self.center;
        let q = Vec3::new(d.dot(self.axes[0]), d.dot(self.axes[1]), d.dot(self.axes[2])).component_div(self.stretch);
        let growth = self.radii[0] - self.radii[1];
        let part = if self.length > growth.abs() {
            let sine = growth / self.length;
            let radial = (q.y * q.y + q.z * q.z).sqrt();
            ((q.x - radial * sine / (1.0 - sine * sine).sqrt()) / self.length).clamp(0.0, 1.0)
        } else {
            // One ball contains the other.
            f64::from(growth < 0.0)
        };
        (Vec3::new(q.x - part * self.length, q.y, q.z), part)
    }

    /// Negative inside; scaled so that no gradient exceeds 1.
    fn value(&self, p: Vec3) -> f64 {
        let (away, part) = self.away(p);
        let radius = self.radii[0] + part * (self.radii[1] - self.radii[0]);
        (away.norm() - radius) * self.stretch.min_component()
    }

    /// Value of the field and its gradient.
    fn slope(&self, p: Vec3) -> Slope {
        let (away, part) = self.away(p);
        let distance = away.norm();
        let radius = self.radii[0] + part * (self.radii[1] - self.radii[0]);
        let scale = self.stretch.min_component();
        let unit = (away * (scale / distance.max(1e-30))).component_div(self.stretch);
        let gradient = self.axes[0] * unit.x + self.axes[1] * unit.y + self.axes[2] * unit.z;
        Slope { value: (distance - radius) * scale, gradient }
    }

    /// The smaller value of the lump and its mirror image.
    fn least_value(&self, p: Vec3) -> f64 {
        let value = self.value(p);
        if self.is_paired { value.min(self.value(mirrored(p))) } else { value }
    }

    /// Half the side of a bounding box about the center of the first ball.
    fn half_size(&self) -> f64 {
        let radius = self.radii[0].max(self.radii[1]);
        (self.length + radius) * self.stretch.max_component()
    }
}

/// Unit axes; the first is given and the second points toward `wide`.
fn complete(axis: Vec3, wide: Vec3) -> [Vec3; 3] {
    let across = wide - axis * axis.dot(wide);
    let second = if across.norm() > 1e-9 {
        across.normalized()
    } else {
        let other = Vec3::unit(if axis.x.abs() < 0.9 { 0 } else { 1 });
        (other - axis * axis.dot(other)).normalized()
    };
    [axis, second, axis.cross(second)]
}

/// The mirror image of a point at x = 0.
pub(super) fn mirrored(p: Vec3) -> Vec3 {
    Vec3::new(-p.x, p.y, p.z)
}

/// Value of a field and its gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    /// Negative inside.
    pub value: f64,
    /// Points outward.
    pub gradient: Vec3,
}

/// Value of a field and the shares of chains in it.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    value: f64,
    /// Shares by chain; they sum to 1.
    pub of_chains: Vec<f64>,
}

/// A quantity that can be blended.
trait Level {
    fn value(&self) -> f64;
    /// (1−h) of this one and h of the other, minus `fillet`.
    fn mixed(self, other: &Self, h: f64, fillet: f64) -> Self;
}

impl Level for f64 {
    fn value(&self) -> f64 {
        *self
    }
    fn mixed(self, other: &Self, h: f64, fillet: f64) -> Self {
        (1.0 - h) * self + h * other - fillet
    }
}

impl Level for Slope {
    fn value(&self) -> f64 {
        self.value
    }
    fn mixed(self, other: &Self, h: f64, fillet: f64) -> Self {
        let gradient = self.gradient * (1.0 - h) + other.gradient * h;
        Self { value: self.value.mixed(&other.value, h, fillet), gradient }
    }
}

impl Level for Shares {
    fn value(&self) -> f64 {
        self.value
    }
    fn mixed(mut self, other: &Self, h: f64, fillet: f64) -> Self {
        self.value = self.value.mixed(&other.value, h, fillet);
        self.of_chains.iter_mut().zip(&other.of_chains).for_each(|(a, b)| *a = *a * (1.0 - h) + b * h);
        self
    }
}

/// The smooth minimum.
fn blended<T: Level>(a: T, b: &T, width: f64) -> T {
    let difference = a.value() - b.value();
    let h = if width > 0.0 { (0.5 + 0.5 * difference / width).clamp(0.0, 1.0) } else { f64::from(difference > 0.0) };
    a.mixed(b, h, width * h * (1.0 - h))
}

/// A body.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    /// Lumps that all branches blend into.
    pub trunk: Vec<Lump>,
    /// Limbs, which do not blend into each other.
    pub branches: Vec<Vec<Lump>>,
    /// Blend width of branches into the trunk \[m\].
    pub branch_blend: f64,
    /// Blend width of neighboring branches at the trunk, and the distance from the trunk at which it vanishes \[m\].
    pub web: [f64; 2],
    /// Number of chains that move lumps.
    pub chain_count: usize,
}

/// Largest gradient of a field with webs: the blend width changes in space by at most web width/web reach, and
/// contributes a quarter of that.
pub(super) const STEEPEST: f64 = 1.2;

impl Field {
    fn fold_lumps<T: Level + Clone>(lumps: &[Lump], leaf: &impl Fn(&Lump, usize) -> T) -> Option<T> {
        lumps.iter().fold(None, |before: Option<T>, lump| {
            // Blend mirror images with each other first, so that the sum does not depend on their order.
            let mut level = leaf(lump, 0);
            if lump.is_paired {
                level = blended(level, &leaf(lump, 1), lump.blend);
            }
            Some(match before {
                Some(before) => blended(before, &level, lump.blend),
                None => level,
            })
        })
    }

    fn fold<T: Level + Clone>(&self, far: T, leaf: impl Fn(&Lump, usize) -> T) -> T {
        let trunk = Self::fold_lumps(&self.trunk, &leaf);
        let height = trunk.as_ref().map_or(f64::INFINITY, T::value);
        let web = self.web[0] * (1.0 - height / self.web[1]).clamp(0.0, 1.0);
        let branches = self.branches.iter().filter_map(|lumps| Self::fold_lumps(lumps, &leaf));
        let branches = branches.reduce(|a, b| blended(a, &b, web));
        match (trunk, branches) {
            (Some(trunk), Some(branches)) => blended(trunk, &branches, self.branch_blend),
            (trunk, branches) => trunk.or(branches).unwrap_or(far),
        }
    }

    fn lumps(&self) -> impl Iterator<Item = &Lump> {
        self.trunk.iter().chain(self.branches.iter().flatten())
    }

    /// The field within a ball near the surface, without the lumps that have no share there.
    pub fn near(&self, center: Vec3, radius: f64) -> Self {
        let least = self.lumps().map(|lump| lump.least_value(center)).fold(f64::INFINITY, f64::min);
        let widest = self.lumps().map(|lump| lump.blend).fold(self.branch_blend.max(self.web[1]), f64::max);
        // Gradients are at most 1; a lump counts if it is within the blend width above the others, which blending
        // lowers in turn.
        let limit = least + 2.0 * radius + 2.0 * widest;
        let keep = |lumps: &[Lump]| lumps.iter().copied().filter(|lump| lump.least_value(center) <= limit).collect();
        let branches = self.branches.iter().map(|lumps| keep(lumps)).collect();
        Self { trunk: keep(&self.trunk), branches, ..*self }
    }

    /// Negative inside \[m\].
    pub fn value(&self, p: Vec3) -> f64 {
        let q = mirrored(p);
        self.fold(f64::INFINITY, |lump, side| lump.value(if side == 0 { p } else { q }))
    }

    /// Value and gradient.
    pub fn slope(&self, p: Vec3) -> Slope {
        let q = mirrored(p);
        self.fold(Slope { value: f64::INFINITY, gradient: Vec3::zero() }, |lump, side| {
            if side == 0 {
                return lump.slope(p);
            }
            let Slope { value, gradient } = lump.slope(q);
            Slope { value, gradient: mirrored(gradient) }
        })
    }

    /// Shares of the chains.
    pub fn shares(&self, p: Vec3) -> Shares {
        let q = mirrored(p);
        let none = vec![0.0; self.chain_count];
        self.fold(Shares { value: f64::INFINITY, of_chains: none.clone() }, |lump, side| {
            let mut of_chains = none.clone();
            of_chains[lump.chains[side]] = 1.0;
            Shares { value: lump.value(if side == 0 { p } else { q }), of_chains }
        })
    }

    /// A bounding box of the body.
    pub fn bounds(&self) -> [Vec3; 2] {
        let mut bounds = [Vec3::splat(f64::INFINITY), Vec3::splat(f64::NEG_INFINITY)];
        for lump in self.lumps() {
            let half = Vec3::splat(lump.half_size() + lump.blend);
            let centers = [lump.center, if lump.is_paired { mirrored(lump.center) } else { lump.center }];
            for center in centers {
                bounds = [bounds[0].min(center - half), bounds[1].max(center + half)];
            }
        }
        bounds
    }
}

/// A rotation or reflection with the given columns, and a translation.
pub(super) fn frame(origin: Vec3, columns: [Vec3; 3]) -> Affine {
    Affine { linear: Mat3::from_columns(columns[0], columns[1], columns[2]), translation: origin }
}
