//! Bent spindles and fans: an elliptic section along a spline.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

/// A section of a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Station {
    /// Center \[m\].
    pub p: Vec3,
    /// Unit tangent of the line of centers, from origin to insertion.
    pub t: Vec3,
    /// Unit direction of the width.
    pub u: Vec3,
    /// Unit direction of the thickness.
    pub v: Vec3,
    /// Half width \[m\].
    pub a: f64,
    /// Half thickness \[m\].
    pub b: f64,
    /// Length of the line from the origin \[m\].
    pub s: f64,
}

/// Sections along a line.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub stations: Vec<Station>,
    /// A box around it.
    pub bounds: Aabb,
}

/// A point seen from a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// 0 on the line of centers, 1 on the surface.
    pub q: f64,
    /// Signed distance \[m\] to first order; never from another part of the line.
    pub distance: f64,
    /// Length of the line from the origin to the nearest center \[m\].
    pub s: f64,
    /// Half thickness there \[m\].
    pub b: f64,
    /// √(1 + r′²) ≥ 1, by which a taper makes distances shorter than across the line.
    pub steep: f64,
    /// Segment of the line, and how far along it.
    pub at: (usize, f64),
}

impl Sweep {
    pub fn new(stations: Vec<Station>) -> Self {
        let bounds = stations.iter().fold(Aabb::EMPTY, |bounds, station| {
            bounds.union(&Aabb::from_points([&station.p]).grown(station.a.max(station.b)))
        });
        Self { stations, bounds }
    }

    /// Number of segments between stations.
    pub fn segment_count(&self) -> usize {
        self.stations.len() - 1
    }

    /// Length of the line \[m\].
    pub fn length(&self) -> f64 {
        self.stations.last().map_or(0.0, |station| station.s)
    }

    /// Squared distance \[m²\] of a point to a segment of the line, and how far along it the nearest point is.
    pub fn to_segment(&self, p: Vec3, segment: usize) -> (f64, f64) {
        let (from, to) = (self.stations[segment].p, self.stations[segment + 1].p);
        let axis = to - from;
        let t = ((p - from).dot(axis) / axis.norm_squared()).clamp(0.0, 1.0);
        ((p - from - axis * t).norm_squared(), t)
    }

    /// The point as seen from the nearest of some segments.
    pub fn see(&self, p: Vec3, segments: impl IntoIterator<Item = usize>) -> Seen {
        let mut best = (f64::INFINITY, 0, 0.0);
        for segment in segments {
            let (squared, t) = self.to_segment(p, segment);
            if squared < best.0 {
                best = (squared, segment, t);
            }
        }
        self.seen_at(p, best.1, best.2)
    }

    /// The point as seen from the whole line.
    pub fn see_all(&self, p: Vec3) -> Seen {
        self.see(p, 0..self.segment_count())
    }

    fn seen_at(&self, p: Vec3, segment: usize, t: f64) -> Seen {
        let station = self.between(segment, t);
        let offset = p - station.p;
        let local = Vec3::new(offset.dot(station.u), offset.dot(station.v), offset.dot(station.t));
        // Beyond the ends, and beside kinks, the section closes like a ball of its thickness.
        let radii = Vec3::new(station.a, station.b, station.b);
        let q = local.component_div(radii).norm();
        let (from, to) = (&self.stations[segment], &self.stations[segment + 1]);
        let slope = (to.a - from.a).abs().max((to.b - from.b).abs()) / (to.s - from.s);
        let steep = (1.0 + slope * slope).sqrt();
        let distance = super::form::ellipsoid(local, radii) / steep;
        Seen { q, distance, s: station.s, b: station.b, steep, at: (segment, t) }
    }

    fn between(&self, segment: usize, t: f64) -> Station {
        let (from, to) = (&self.stations[segment], &self.stations[segment + 1]);
        let mix = |a: f64, b: f64| a + (b - a) * t;
        Station {
            p: from.p.lerp(to.p, t),
            t: from.t.lerp(to.t, t).normalized(),
            u: from.u.lerp(to.u, t).normalized(),
            v: from.v.lerp(to.v, t).normalized(),
            a: mix(from.a, to.a),
            b: mix(from.b, to.b),
            s: mix(from.s, to.s),
        }
    }

    /// Unit direction of the line of action through a point: the lines keep their shares of the half width and the half
    /// thickness, so they spread and close with the section. They are at `pennation` \[rad\] to the fibers, which turn
    /// from them towards the direction of the thickness.
    pub fn fiber(&self, p: Vec3, at: (usize, f64), pennation: f64) -> Vec3 {
        let (segment, t) = at;
        let station = self.between(segment, t);
        let (from, to) = (&self.stations[segment], &self.stations[segment + 1]);
        let length = to.s - from.s;
        let offset = p - station.p;
        let spread = offset.dot(station.u) * (to.a - from.a) / (length * station.a);
        let swell = offset.dot(station.v) * (to.b - from.b) / (length * station.b);
        let line = (station.t + station.u * spread + station.v * swell).normalized();
        let aside = (station.v - line * station.v.dot(line)).normalized();
        line * pennation.cos() + aside * pennation.sin()
    }
}
