//! Cuboids: with q = |p| − h, d(p) = |max(q, 0)| outside and max(q) inside.

use sinew_math::{Mat3, Vec3};

use super::{Shape, ShapeError, check_length, round_curvature};

/// A box about the origin, edges along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// Half of the edge lengths \[m\].
    pub half_size: Vec3,
}

impl Cuboid {
    /// A box from −`half_size` to `half_size` \[m\].
    pub fn new(half_size: Vec3) -> Result<Self, ShapeError> {
        for (axis, name) in ["half size along x", "half size along y", "half size along z"].into_iter().enumerate() {
            check_length(name, half_size[axis])?;
        }
        Ok(Self { half_size })
    }

    /// Distance of p beyond the faces of each axis; negative inside.
    fn beyond(&self, p: Vec3) -> Vec3 {
        p.abs() - self.half_size
    }
}

impl Shape for Cuboid {
    fn distance(&self, p: Vec3) -> f64 {
        let q = self.beyond(p);
        q.max(Vec3::zero()).norm() + q.max_component().min(0.0)
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        let q = self.beyond(p);
        let outside = q.max(Vec3::zero());
        let length = outside.norm();
        let mut normal = Vec3::zero();
        if length > 0.0 {
            for axis in 0..3 {
                normal[axis] = (outside[axis] / length).copysign(p[axis]);
            }
        } else {
            // Inside: the nearest face; ties go to the first axis.
            let nearest = (0..3).fold(0, |best, axis| if q[axis] > q[best] { axis } else { best });
            normal[nearest] = 1.0_f64.copysign(p[nearest]);
        }
        normal
    }

    fn curvature(&self, p: Vec3) -> Mat3 {
        let outside = self.beyond(p).max(Vec3::zero());
        let mut curvature = round_curvature(self.normal(p), outside.norm());
        // Curved only around edges and corners, and only across them.
        for axis in 0..3 {
            if outside[axis] == 0.0 {
                for i in 0..3 {
                    curvature.rows[axis][i] = 0.0;
                    curvature.rows[i][axis] = 0.0;
                }
            }
        }
        curvature
    }
}
