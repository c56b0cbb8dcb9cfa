//! Where the voxels of an image are.

use sinew_math::{Mat3, Vec3};

/// Where voxels are: the center of voxel (i, j, k) is `origin + axes · (i, j, k)` \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxelGrid {
    /// Number of voxels along each axis of the image.
    pub size: [usize; 3],
    /// Center of the first voxel \[m\].
    pub origin: Vec3,
    /// Columns: the way from a voxel to the next along each axis of the image \[m\].
    pub axes: Mat3,
}

impl VoxelGrid {
    /// Cubes of edge `voxel` \[m\], along the axes of the world.
    pub fn cubic(size: [usize; 3], origin: Vec3, voxel: f64) -> Self {
        Self { size, origin, axes: Mat3::identity() * voxel }
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.size.iter().product()
    }

    /// Whether there are no voxels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index of a voxel in an array: x changes fastest.
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// Place in the world \[m\] of a point given in voxels.
    pub fn to_world(&self, voxel: Vec3) -> Vec3 {
        self.origin + self.axes * voxel
    }
}
