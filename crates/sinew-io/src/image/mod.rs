//! Volumes of other programs: where their voxels are and what they hold.
