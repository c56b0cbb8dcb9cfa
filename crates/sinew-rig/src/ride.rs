//! What rides on flesh: clothes, hair, plates.
//!
//! A vertex X with joints of its own goes where blend skinning B takes it, and where flesh differs from blend skinning
//! at the nearest point of its surface, it goes along:
//! ```math
//! x = B(X) + s \sum_i b_i \bigl(x_i - B_i(X_i)\bigr)
//! ```
//! with the barycentric weights b of that point at rest, and a share s that fades out with the distance. So a sleeve with
//! the weights of the skin under it keeps its distance from the skin, an eye keeps turning, and nothing jumps where the
//! nearest point changes from one side of a fold to the other far away.

use sinew_geometry::TriMesh;
use sinew_geometry::proximity::RestSurface;
use sinew_math::Vec3;

use crate::roles::NEAR;

/// A vertex that follows joints and the surface of the flesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Ride {
    /// Its rest position \[m\].
    pub rest: Vec3,
    /// Its joints with weights.
    pub weights: Vec<(u32, f64)>,
    /// The point of the flesh that it goes along with.
    pub anchor: Anchor,
}

/// A point of the surface of the flesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Vertices of the flesh with barycentric weights.
    pub vertices: [(u32, f64); 3],
    /// Share of its motion that counts.
    pub share: f64,
}

/// Finds anchors.
pub(crate) struct Anchors<'a> {
    flesh: &'a TriMesh,
    surface: RestSurface,
    size: f64,
}

impl<'a> Anchors<'a> {
    pub fn new(flesh: &'a TriMesh) -> Self {
        let surface = RestSurface::new(flesh.positions().to_vec(), flesh.triangles().to_vec());
        Self { flesh, surface, size: flesh.bounds().diagonal() }
    }

    /// The anchor of a point; `None` beyond reach.
    pub fn at(&self, x: Vec3) -> Option<Anchor> {
        let (triangle, weights, distance) = self.surface.nearest(x)?;
        let [from, to] = NEAR.map(|near| near * self.size);
        let t = ((distance - from) / (to - from)).clamp(0.0, 1.0);
        let share = 1.0 - t * t * (3.0 - 2.0 * t);
        let corners = self.flesh.triangles()[triangle as usize];
        (share > 0.0).then(|| Anchor { vertices: [0, 1, 2].map(|k| (corners[k], weights[k])), share })
    }
}
