//! Signed distances on a narrow band of voxels.
