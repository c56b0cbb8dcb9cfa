//! glTF 2.0, as JSON text (`.gltf`) and as GLB (`.glb`).
//!
//! Reads the surfaces of the default scene, placed by its node tree, in glTF's axes: meters, +Y up. Writes static
//! surfaces ([`write()`]) and animated shots ([`animated`]). Reads and writes whole characters with joints, weights and
//! key frames ([`read_rig`], [`write_rig`]). Every error gives the byte or line, and the path of the invalid JSON
//! value.

pub mod animated;

mod accessor;
mod container;
mod document;
mod encode;
mod json;
mod meshopt;
mod morph;
mod read;
mod rig_read;
mod rig_read_animation;
mod rig_read_appearance;
mod rig_read_humanoid;
mod rig_read_surface;
mod rig_write;
mod rig_write_appearance;
mod rig_write_check;
mod shading;
mod tree;
mod write;

use crate::format::{Companions, NoCompanions};
use crate::{CellShape, MeshData, ReadError, WriteError};

/// Prefix of cell sets that come from materials.
pub(crate) const MATERIAL: &str = "material:";

/// Reads the surfaces of the default scene.
///
/// Names of meshes, nodes and materials become cell sets, those of materials with the prefix `material:`. `NORMAL`,
/// `TEXCOORD_0` and `COLOR_0` become point fields if all vertices have them. Positions keep glTF's axes.
pub fn read(bytes: &[u8], companions: &dyn Companions) -> Result<MeshData, ReadError> {
    read::read(bytes, companions)
}

/// Writes a surface, as GLB or as JSON text with an embedded buffer.
///
/// Quads and polygons become triangle fans, positions single precision. Disjoint cell sets become meshes, those with
/// the prefix `material:` materials. Keeps the point fields `NORMAL`, `TEXCOORD_0` and `COLOR_0`.
pub fn write(mesh: &MeshData, glb: bool) -> Result<Vec<u8>, WriteError> {
    write::write(mesh, glb)
}

/// Reads a character: all nodes, surfaces with weights and morph targets, skins, animations, materials and pictures.
///
/// Everything stays as in the file, in meters, seconds and +Y up. Weights that do not sum to one stay so, with a note.
/// Notes also list content that a [`sinew_rig::Rig`] cannot hold: tangents, cameras, points and lines. Missing pictures
/// have no bytes.
///
/// # Errors
/// Gives the byte or line, and the path of the invalid JSON value.
pub fn read_rig(bytes: &[u8], companions: &dyn Companions) -> Result<sinew_rig::Rig, ReadError> {
    rig_read::read_rig(bytes, companions)
}

/// Writes a character, as GLB or as JSON text with an embedded buffer; pictures are embedded too.
///
/// Numbers become single precision, weights stay unchanged. Writes the materials of [`sinew_rig::Appearance::gltf`] if
/// their number matches [`sinew_rig::Appearance::materials`], otherwise materials made from the latter. Skips content
/// that glTF cannot hold: surfaces without triangles, animations without channels. The scene contains the visible nodes
/// without a parent.
///
/// # Errors
/// If the parts of the character are inconsistent, or numbers exceed single precision.
pub fn write_rig(rig: &sinew_rig::Rig, glb: bool) -> Result<Vec<u8>, WriteError> {
    rig_write::write_rig(rig, None, glb)
}

/// Writes a character with `extras` of the document: data that the format leaves to programs.
///
/// # Errors
/// Like [`write_rig`].
pub fn write_rig_with_extras(
    rig: &sinew_rig::Rig,
    glb: bool,
    extras: &serde_json::Value,
) -> Result<Vec<u8>, WriteError> {
    rig_write::write_rig(rig, Some(extras), glb)
}

/// Reads arbitrary bytes; a mesh or character among them must survive a round trip.
pub fn fuzz_one(bytes: &[u8]) {
    fuzz_mesh(bytes);
    fuzz_rig(bytes);
}

fn fuzz_mesh(bytes: &[u8]) {
    let Ok(mesh) = read(bytes, &NoCompanions) else { return };
    for glb in [true, false] {
        let Ok(written) = write(&mesh, glb) else { continue };
        let again = match read(&written, &NoCompanions) {
            Ok(again) => again,
            Err(error) => panic!("round trip: {error}"),
        };
        let single =
            |mesh: &MeshData| -> Vec<[f32; 3]> { mesh.points.iter().map(|x| x.to_array().map(|x| x as f32)).collect() };
        assert_eq!(single(&mesh), single(&again), "points");
        if mesh.cell_count() > 0 {
            // Writing gathers sets that are scattered over the file.
            let sorted = |mesh: &MeshData| {
                let mut cells: Vec<(CellShape, Vec<u32>)> = mesh.cells().map(|(s, n)| (s, n.to_vec())).collect();
                cells.sort_unstable();
                cells
            };
            assert_eq!(sorted(&mesh), sorted(&again), "cells");
        }
    }
}

fn fuzz_rig(bytes: &[u8]) {
    let Ok(rig) = read_rig(bytes, &NoCompanions) else { return };
    for glb in [true, false] {
        let Ok(written) = write_rig(&rig, glb) else { continue };
        let again = match read_rig(&written, &NoCompanions) {
            Ok(again) => again,
            Err(error) => panic!("round trip: {error}"),
        };
        assert_eq!(rig_counts(&rig), rig_counts(&again), "counts");
    }
}

/// Sizes of everything in a character that a file can hold.
fn rig_counts(rig: &sinew_rig::Rig) -> Vec<usize> {
    let appearance = &rig.appearance;
    let shown_count = rig.nodes.iter().filter(|node| node.is_shown).count();
    let mut counts = vec![rig.nodes.len(), shown_count, appearance.materials.len(), appearance.images.len()];
    counts.extend(rig.skins.iter().map(|skin| skin.joints.len()));
    for part in rig.surfaces.iter().flat_map(|surface| &surface.parts) {
        counts.extend([part.positions.len(), part.normals.len(), part.texcoords.len(), part.colors.len()]);
        counts.extend([part.triangles.len(), part.weights.width, part.weights.joints.len(), part.morph_targets.len()]);
    }
    for animation in &rig.animations {
        counts.extend(animation.channels.iter().map(|channel| channel.times.len()));
    }
    counts
}

#[cfg(test)]
mod rig_tests;
#[cfg(test)]
mod tests;
