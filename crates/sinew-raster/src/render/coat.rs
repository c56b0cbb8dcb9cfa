//! Colors of coats at points of the screen.

use super::super::coverage::{OFFSETS, SAMPLES};
use super::super::scene::Paint;
use super::super::texture::Coat;
use super::super::vector::{V3, add, mad, scale, sub};
use super::pass::{Pass, barycentric, clamped};

impl Pass<'_> {
    /// Color of the coat under samples that share one shading, each at its own triangle: edges between colors stay smooth.
    /// `None` without a coat.
    pub(super) fn mixed_coat(
        &self,
        source: u32,
        sources: &[u32; SAMPLES],
        [px, py]: [f32; 2],
        is_member: impl Fn(usize) -> bool,
    ) -> Option<V3> {
        let Paint::Coat(coat) = self.view.surfaces[self.prepared.triangles[source as usize].surface as usize].paint
        else {
            return None;
        };
        let (mut color, mut total) = ([0.0; 3], 0.0);
        for first in (0..SAMPLES).filter(|&s| is_member(s)) {
            let of_triangle = |s: &usize| is_member(*s) && sources[*s] == sources[first];
            if (0..first).any(|s| of_triangle(&s)) {
                continue;
            }
            let (mut at, mut count) = ([0.0; 2], 0.0);
            for s in (first..SAMPLES).filter(of_triangle) {
                (at, count) = ([at[0] + OFFSETS[s][0], at[1] + OFFSETS[s][1]], count + 1.0);
            }
            let own = self.coat_color(coat, sources[first], px + at[0] / count, py + at[1] / count);
            (color, total) = (mad(color, own, count), total + count);
        }
        Some(scale(color, 1.0 / total))
    }

    /// Color of the coat of a pixel that shows several triangles of one piece; `None` if one color fits all.
    #[inline(always)]
    pub(super) fn coat_of(&self, source: u32, sources: &[u32; SAMPLES], at: [usize; 2]) -> Option<V3> {
        let is_mixed = sources.iter().any(|&other| other != source);
        if is_mixed { self.mixed_coat(source, sources, at.map(|at| at as f32), |_| true) } else { None }
    }

    /// Color of a coat at a point of the screen.
    pub(super) fn coat_color(&self, coat: &Coat, source: u32, x: f32, y: f32) -> V3 {
        let triangle = &self.prepared.triangles[source as usize];
        let corners = triangle.corners.map(|v| self.prepared.positions[v as usize]);
        let at = |x: f32, y: f32| barycentric(self.projection.basis.eye, self.projection.ray(x, y), corners);
        let here = at(x, y);
        let weights = clamped(here);
        coat.color(triangle.local as usize, weights, || {
            // The change from pixel to pixel is that of the plane of the triangle, also beside it.
            [at(x + 1.0, y), at(x, y + 1.0)].map(|next| add(weights, sub(next, here)))
        })
    }
}
