//! Stretch of the triangles of skin.

use sinew_math::Vec3;

use crate::strain::RestTriangle;

/// Fraction of the skin, by area at rest, that stays below the reported stretch.
const MOST: f64 = 0.99;

/// The skin of a body at rest.
pub(super) struct Skin {
    rest: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// Each triangle at rest, unless it has no area there.
    at_rest: Vec<Option<RestTriangle>>,
    areas: Vec<f64>,
    area: f64,
}

/// Stretches of all triangles of a skin; NaN where a triangle has no area at rest.
pub(super) struct Stretches {
    pub of_triangles: Vec<f64>,
    /// The stretch below which 99 % of the skin stays.
    pub most: f64,
    pub largest: f64,
    pub smallest: f64,
}

impl Skin {
    pub fn new(rest: Vec<Vec3>, triangles: &[[u32; 3]]) -> Self {
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| rest[v as usize]);
            0.5 * (b - a).cross(c - a).norm()
        };
        let areas: Vec<f64> = triangles.iter().map(area).collect();
        let area = areas.iter().sum();
        let at_rest = triangles.iter().map(|t| RestTriangle::of(t.map(|v| rest[v as usize]))).collect();
        Self { rest, triangles: triangles.to_vec(), at_rest, areas, area }
    }

    /// Vertices at rest \[m\].
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Stretches for the vertices at `now` \[m\].
    pub fn stretches(&self, now: &[Vec3]) -> Stretches {
        let stretch = |(t, at_rest): (&[u32; 3], &Option<RestTriangle>)| {
            let stretch = at_rest.map_or(f64::NAN, |rest| rest.largest_stretch(t.map(|v| now[v as usize])));
            if stretch.is_finite() { stretch } else { f64::NAN }
        };
        let of_triangles: Vec<f64> = self.triangles.iter().zip(&self.at_rest).map(stretch).collect();
        let known = || of_triangles.iter().copied().filter(|stretch| !stretch.is_nan());
        let (largest, smallest) = (known().fold(0.0, f64::max), known().fold(f64::INFINITY, f64::min));
        let most = self.quantile(&of_triangles);
        Stretches { of_triangles, most, largest, smallest: if smallest.is_finite() { smallest } else { 0.0 } }
    }

    /// The stretch below which this fraction of the area stays. Few triangles are above it: only those are sorted.
    fn quantile(&self, stretches: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..stretches.len()).filter(|&t| !stretches[t].is_nan()).collect();
        let descending = |a: &usize, b: &usize| stretches[*b].total_cmp(&stretches[*a]);
        let mut above = (1.0 - MOST) * self.area;
        let (mut rest, mut size) = (order.as_mut_slice(), stretches.len() / 32 + 1);
        while !rest.is_empty() {
            let (top, below) = if size < rest.len() {
                rest.select_nth_unstable_by(size, descending);
                rest.split_at_mut(size)
            } else {
                (rest, [].as_mut_slice())
            };
            top.sort_unstable_by(descending);
            for &mut triangle in top {
                above -= self.areas[triangle];
                if above < 0.0 {
                    return stretches[triangle];
                }
            }
            (rest, size) = (below, 2 * size);
        }
        1.0
    }

    /// Area-weighted means over the triangles around each vertex: colors without facets. One where undefined.
    pub fn at_vertices(&self, stretches: &[f64]) -> Vec<f32> {
        let mut sums = vec![[0.0; 2]; self.rest.len()];
        for ((triangle, &area), &stretch) in self.triangles.iter().zip(&self.areas).zip(stretches) {
            if !stretch.is_nan() {
                for &vertex in triangle {
                    let [sum, weight] = &mut sums[vertex as usize];
                    *sum += area * stretch;
                    *weight += area;
                }
            }
        }
        sums.iter().map(|[sum, weight]| if *weight > 0.0 { (sum / weight) as f32 } else { 1.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of 200 equal triangles with one pulled out: less than 1 % of the area.
    #[test]
    fn slivers_do_not_decide_what_is_stretched_most() {
        let mut rest = Vec::new();
        let mut triangles = Vec::new();
        for k in 0..200u32 {
            let x = Vec3::unit(0) * (2.0 * f64::from(k));
            rest.extend([x, x + Vec3::unit(0), x + Vec3::unit(1)]);
            triangles.push([3 * k, 3 * k + 1, 3 * k + 2]);
        }
        let skin = Skin::new(rest.clone(), &triangles);
        let mut now: Vec<Vec3> = rest.iter().map(|x| Vec3::new(x.x, 1.25 * x.y, x.z)).collect();
        now[1] = now[0] + Vec3::unit(0) * 9.0;
        let stretches = skin.stretches(&now);
        assert!((stretches.largest - 9.0).abs() < 1e-12 && (stretches.most - 1.25).abs() < 1e-12);
        assert!((stretches.smallest - 1.25).abs() < 1e-12);
        let vertices = skin.at_vertices(&stretches.of_triangles);
        assert!((vertices[0] - 9.0).abs() < 1e-5 && (vertices[3] - 1.25).abs() < 1e-6);
        let nothing = Skin::new(Vec::new(), &[]).stretches(&[]);
        assert_eq!((nothing.most, nothing.largest, nothing.smallest), (1.0, 0.0, 0.0));
    }
}
