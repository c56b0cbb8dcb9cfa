//! Rigid shapes as triangles, and f64 geometry as f32.

use sinew_geometry::shape::{AnyShape, Pose};
use sinew_math::Vec3;
use sinew_raster::ShapeMesh;

/// Default half edge of the patch that represents an infinite plane \[m\].
pub(crate) const PLANE_HALF: f32 = 2.0;

/// Triangles of a shape in its own coordinates; planes are patches with half edges of `plane_half`.
pub(crate) fn shape_mesh(shape: &AnyShape, plane_half: f32, rings: usize) -> ShapeMesh {
    match shape {
        AnyShape::Plane(plane) => ShapeMesh::patch(f32s(plane.point), f32s(plane.normal), plane_half, rings),
        AnyShape::Sphere(sphere) => ShapeMesh::sphere([0.0; 3], sphere.radius as f32, rings),
        AnyShape::Capsule(capsule) => {
            let half = capsule.half_length as f32;
            ShapeMesh::capsule([0.0, 0.0, -half], [0.0, 0.0, half], capsule.radius as f32, rings)
        }
        AnyShape::Cuboid(cuboid) => ShapeMesh::cuboid(f32s(cuboid.half_size * 2.0), (rings / 2).max(1)),
        AnyShape::LevelSet(set) => ShapeMesh::from(set.surface()),
    }
}

/// Height of a plane along the up axis, if it lies flat and its solid side is below.
pub(crate) fn ground_level(shape: &AnyShape, pose: &Pose, up: usize) -> Option<f32> {
    let AnyShape::Plane(plane) = shape else { return None };
    let normal = f32s(pose.rotation.rotate(plane.normal));
    // Within half a degree, which looks level.
    (normal[up] > 0.99996).then(|| f32s(pose.to_world(plane.point))[up])
}

/// The pose as four rows in USD's convention: a point is a row vector on the left.
pub(crate) fn transform_rows(pose: &Pose) -> [Vec3; 4] {
    let axis = |i| pose.rotation.rotate(Vec3::unit(i));
    [axis(0), axis(1), axis(2), pose.translation]
}

pub(crate) fn f32s(v: Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

pub(crate) fn points_f32(points: &[Vec3]) -> Vec<[f32; 3]> {
    points.iter().map(|&p| f32s(p)).collect()
}
