//! Which tissue each voxel belongs to.

use sinew_geometry::VoxelGrid;

/// An image whose voxels are numbers of tissues; 0 is background.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Where the voxels are.
    pub grid: VoxelGrid,
    /// A label for each voxel, x fastest.
    pub voxels: &'a [u16],
}
