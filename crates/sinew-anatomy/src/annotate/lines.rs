//! Fibers along lines of action, as drawn from an atlas or taken from a model of the skeleton.
//!
//! A line c(s) from origin to insertion tells where fibers go; that they spread and close with the muscle, its own shape
//! tells. With o = x − c(s) across the line and M(s) = ∫ o oᵀ over the section,
//!
//! ```math
//! f \propto c' + G o, \qquad G M + M G = M', \quad G = G^T:
//! ```
//!
//! lines x = c + o with o′ = G o carry the second moments of one section into those of the next, so in an ellipse they
//! keep their shares of its radii.

use sinew_geometry::CellMesh;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::error::AnnotateError;
use super::select::centers;

/// Stations along a line.
const STATIONS: usize = 64;
/// Deviation of the normal distribution over which moments are averaged, as sections of single cells are rough: at least so
/// many stations, and this part of the radius of the muscle.
const BLUR: [f64; 2] = [3.0, 0.5];
/// Fibers spread by at most this much per length: 35°.
const SPREAD: f64 = 0.7;

/// A point of a line.
#[derive(Clone, Copy, Debug)]
struct Station {
    center: Vec3,
    along: Vec3,
    u: Vec3,
    v: Vec3,
    /// G in the directions u and v: its entries uu, uv, vv \[1/m\].
    spread: [f64; 3],
}

/// Unit directions of the fibers in the cells of a mesh, from the first point of the nearest line to its last.
///
/// # Errors
/// There is no line, or one has no length.
pub fn fibers_along(mesh: &CellMesh, lines: &[Vec<Vec3>]) -> Result<Vec<Vec3>, AnnotateError> {
    let mut stations: Vec<Vec<Station>> = lines.iter().map(|line| stations(line)).collect::<Result<_, _>>()?;
    if stations.is_empty() {
        return Err(AnnotateError::EmptySet { set: "list of lines" });
    }
    let centers = centers(mesh);
    let places: Vec<(usize, usize, f64)> = centers.par_iter().map(|p| nearest(&stations, *p)).collect();
    let mut moments = vec![[[0.0; 4]; STATIONS]; lines.len()];
    for ((p, volume), (line, k, t)) in centers.iter().zip(mesh.cell_volumes()).zip(&places) {
        // Beyond its ends a line has no sections.
        if (*k == 0 && *t == 0.0) || (*k + 2 == STATIONS && *t == 1.0) {
            continue;
        }
        let at = between(&stations[*line], *k, *t);
        let offset = *p - at.center;
        let (a, b) = (offset.dot(at.u), offset.dot(at.v));
        let own = &mut moments[*line][k + usize::from(*t > 0.5)];
        for (sum, value) in own.iter_mut().zip([1.0, a * a, a * b, b * b]) {
            *sum += volume * value;
        }
    }
    for (line, moments) in stations.iter_mut().zip(&moments) {
        let step = line[1].center.distance(line[0].center);
        for (station, spread) in line.iter_mut().zip(spreads(moments, step)) {
            station.spread = spread;
        }
    }
    let direction = |(p, (line, k, t)): (&Vec3, &(usize, usize, f64))| {
        let at = between(&stations[*line], *k, *t);
        let offset = *p - at.center;
        let (a, b) = (offset.dot(at.u), offset.dot(at.v));
        let [uu, uv, vv] = at.spread;
        let aside = at.u * (uu * a + uv * b) + at.v * (uv * a + vv * b);
        (at.along + aside * (SPREAD / aside.norm().max(SPREAD))).normalized()
    };
    Ok(centers.par_iter().zip(&places).map(direction).collect())
}

/// Points at equal steps along the Catmull–Rom spline through a line, with directions across that turn as little as
/// possible.
fn stations(line: &[Vec3]) -> Result<Vec<Station>, AnnotateError> {
    let mut points: Vec<Vec3> = Vec::new();
    let at = |i: usize| line[i.min(line.len() - 1)];
    for i in 0..line.len().saturating_sub(1) {
        let [b, c] = [at(i), at(i + 1)];
        let a = if i == 0 { b * 2.0 - c } else { at(i - 1) };
        let d = if i + 2 < line.len() { at(i + 2) } else { c * 2.0 - b };
        for k in 0..16 {
            let t = f64::from(k) / 16.0;
            let curve = b * 2.0
                + (c - a) * t
                + (a * 2.0 - b * 5.0 + c * 4.0 - d) * (t * t)
                + (b * 3.0 - a - c * 3.0 + d) * (t * t * t);
            points.push(curve * 0.5);
        }
    }
    points.extend(line.last());
    let mut lengths = vec![0.0];
    for pair in points.windows(2) {
        lengths.push(lengths[lengths.len() - 1] + pair[0].distance(pair[1]));
    }
    let total = lengths[lengths.len() - 1];
    if !(total > 0.0 && total.is_finite()) {
        return Err(AnnotateError::Parameter { what: "the length of a line of action", value: total });
    }
    let place = |k: usize| {
        let s = total * k as f64 / (STATIONS - 1) as f64;
        let i = lengths.partition_point(|length| *length <= s).clamp(1, lengths.len() - 1);
        let t = (s - lengths[i - 1]) / (lengths[i] - lengths[i - 1]).max(1e-300);
        points[i - 1].lerp(points[i], t.min(1.0))
    };
    let centers: Vec<Vec3> = (0..STATIONS).map(place).collect();
    let along = |k: usize| (centers[(k + 1).min(STATIONS - 1)] - centers[k.saturating_sub(1)]).normalized();
    let first = along(0);
    let axis = (0..3).min_by(|a, b| first[*a].abs().total_cmp(&first[*b].abs())).unwrap_or(0);
    let mut u = Vec3::unit(axis);
    let station = |k: usize| {
        let along = along(k);
        u = (u - along * u.dot(along)).normalized();
        Station { center: centers[k], along, u, v: along.cross(u), spread: [0.0; 3] }
    };
    Ok((0..STATIONS).map(station).collect())
}

/// Line, segment and share of it nearest to a point.
fn nearest(lines: &[Vec<Station>], p: Vec3) -> (usize, usize, f64) {
    let mut best = (f64::INFINITY, (0, 0, 0.0));
    for (i, line) in lines.iter().enumerate() {
        for (k, pair) in line.windows(2).enumerate() {
            let (from, axis) = (pair[0].center, pair[1].center - pair[0].center);
            let t = ((p - from).dot(axis) / axis.norm_squared()).clamp(0.0, 1.0);
            let squared = (p - from - axis * t).norm_squared();
            if squared < best.0 {
                best = (squared, (i, k, t));
            }
        }
    }
    best.1
}

fn between(line: &[Station], k: usize, t: f64) -> Station {
    let (a, b) = (&line[k], &line[k + 1]);
    Station {
        center: a.center.lerp(b.center, t),
        along: a.along.lerp(b.along, t).normalized(),
        u: a.u.lerp(b.u, t).normalized(),
        v: a.v.lerp(b.v, t).normalized(),
        spread: [0, 1, 2].map(|i| a.spread[i] + (b.spread[i] - a.spread[i]) * t),
    }
}

/// G at every station from the volume and the second moments of the cells there; `step` \[m\] is between stations.
fn spreads(moments: &[[f64; 4]; STATIONS], step: f64) -> Vec<[f64; 3]> {
    let sum = moments.iter().fold([0.0; 2], |[volume, second], m| [volume + m[0], second + m[1] + m[3]]);
    // The second moments of a disk are a quarter of its squared radius each.
    let radius = (2.0 * sum[1] / sum[0].max(1e-300)).sqrt();
    let blur = BLUR[0].max(BLUR[1] * radius / step);
    // A line through the moments of the stations around: its value and its slope have no bias at the ends.
    let at = |k: usize| -> Option<[f64; 3]> {
        let (mut weights, mut values, mut slopes) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for (j, [volume, seconds @ ..]) in moments.iter().enumerate() {
            let x = j as f64 - k as f64;
            let near = (-0.5 * (x / blur).powi(2)).exp();
            weights.iter_mut().zip([1.0, x, x * x]).for_each(|(sum, power)| *sum += near * volume * power);
            values.iter_mut().zip(seconds).for_each(|(sum, second)| *sum += near * second);
            slopes.iter_mut().zip(seconds).for_each(|(sum, second)| *sum += near * second * x);
        }
        let [w, wx, wxx] = weights;
        let determinant = w * wxx - wx * wx;
        if !(determinant > 1e-9 * w * wxx) {
            return None;
        }
        let line = |i: usize| {
            let value = (wxx * values[i] - wx * slopes[i]) / determinant;
            (value, (w * slopes[i] - wx * values[i]) / (determinant * step))
        };
        let lines = [line(0), line(1), line(2)];
        carried(lines.map(|(value, _)| value), lines.map(|(_, slope)| slope))
    };
    (0..STATIONS).map(|k| at(k).unwrap_or([0.0; 3])).collect()
}

/// The symmetric G with G M + M G = D, of symmetric matrices by their entries uu, uv, vv.
fn carried([a, b, c]: [f64; 3], [p, q, r]: [f64; 3]) -> Option<[f64; 3]> {
    // In the directions in which M is diagonal, entries are D / (sum of its two eigenvalues).
    let (sin, cos) = (0.5 * (2.0 * b).atan2(a - c)).sin_cos();
    let turned = |[x, y, z]: [f64; 3], sin: f64| {
        [
            x * cos * cos + 2.0 * y * sin * cos + z * sin * sin,
            (z - x) * sin * cos + y * (cos * cos - sin * sin),
            x * sin * sin - 2.0 * y * sin * cos + z * cos * cos,
        ]
    };
    let (m, d) = (turned([a, b, c], sin), turned([p, q, r], sin));
    (m[0] > 0.0 && m[2] > 0.0).then(|| turned([d[0] / (2.0 * m[0]), d[1] / (m[0] + m[2]), d[2] / (2.0 * m[2])], -sin))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use sinew_geometry::procedural::{TetPattern, box_tets, cylinder};

    use super::*;

    fn angles(mesh: &CellMesh, fibers: &[Vec3], truth: impl Fn(Vec3) -> Vec3) -> (f64, f64) {
        let angle = |(f, x): (&Vec3, Vec3)| f.dot(truth(x).normalized()).clamp(-1.0, 1.0).acos().to_degrees();
        let all: Vec<f64> = fibers.iter().zip(centers(mesh)).map(angle).collect();
        (all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(0.0, f64::max))
    }

    /// A quarter of a ring: its tangents, whose sign tells where the line begins.
    #[test]
    fn fibers_of_a_bent_tube_are_its_tangents() {
        let straight = cylinder(0.2, 1.5, 0.06).unwrap();
        let bend = |x: Vec3| {
            let (sin, cos) = (FRAC_PI_2 * x.x / 1.5).sin_cos();
            Vec3::new((1.0 + x.y) * sin, (1.0 + x.y) * cos, x.z)
        };
        let mesh = straight.mapped(bend).unwrap().0;
        let line: Vec<Vec3> = (0..7).map(|k| bend(Vec3::unit(0) * (0.25 * f64::from(k)))).collect();
        let fibers = fibers_along(&mesh, &[line]).unwrap();
        let (mean, worst) = angles(&mesh, &fibers, |x| Vec3::new(x.y, -x.x, 0.0));
        // Worst at the rim of the ends, where few cells tell how the section grows.
        assert!(mean < 1.0 && worst < 8.0, "{mean}° {worst}°");
    }

    /// A block that widens along x by 0.6 of x in y only: lines keep their shares, f ∝ (1, y · 0.6 / (1 + 0.6 x), 0). The
    /// line is turned about x, so that G has all entries.
    #[test]
    fn fibers_spread_with_the_section() {
        let block = box_tets(Vec3::new(1.0, 0.4, 0.2), [32, 12, 6], TetPattern::Bcc).unwrap();
        let turn = |x: Vec3| Vec3::new(x.x, 0.8 * x.y - 0.6 * x.z, 0.6 * x.y + 0.8 * x.z);
        let back = |x: Vec3| Vec3::new(x.x, 0.8 * x.y + 0.6 * x.z, 0.8 * x.z - 0.6 * x.y);
        let widen = |x: Vec3| turn(Vec3::new(x.x, (x.y - 0.2) * (1.0 + 0.6 * x.x), x.z - 0.1));
        let mesh = block.mapped(widen).unwrap().0;
        let line = vec![Vec3::zero(), Vec3::unit(0) * 0.3, Vec3::unit(0)];
        let fibers = fibers_along(&mesh, std::slice::from_ref(&line)).unwrap();
        let truth = |x: Vec3| turn(Vec3::new(1.0, back(x).y * 0.6 / (1.0 + 0.6 * x.x), 0.0));
        let (mean, worst) = angles(&mesh, &fibers, truth);
        // Without spread they are 4.2° off in the mean and 11° at the rim.
        assert!(mean < 0.6 && worst < 4.0, "{mean}° {worst}°");
        let reversed: Vec<Vec3> = line.into_iter().rev().collect();
        let (mean, _) = angles(&mesh, &fibers_along(&mesh, &[reversed]).unwrap(), |x| -truth(x));
        assert!(mean < 0.6, "{mean}°");
    }

    #[test]
    fn cells_follow_the_nearest_line() {
        let mesh = box_tets(Vec3::new(1.0, 1.0, 0.1), [16, 16, 2], TetPattern::Bcc).unwrap();
        let line = |y: f64, ends: [f64; 2]| ends.map(|x| Vec3::new(x, y, 0.05)).to_vec();
        let fibers = fibers_along(&mesh, &[line(0.2, [0.0, 1.0]), line(0.7, [1.0, 0.0])]).unwrap();
        for (f, x) in fibers.iter().zip(centers(&mesh)) {
            assert!((f.x > 0.9) == (x.y < 0.45) && (f.x < -0.9) == (x.y > 0.45), "{f:?} at {x:?}");
        }
        assert!(fibers_along(&mesh, &[]).is_err());
        assert!(fibers_along(&mesh, &[vec![Vec3::zero(); 3]]).is_err());
    }
}
