//! Attachments, fibers and fields of meshes.
