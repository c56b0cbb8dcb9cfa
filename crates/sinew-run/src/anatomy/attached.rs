//! Files of a recipe, or what is attached to it in their place: meshes and images of programs, as `@NAME`.

use sinew_io::image::{ImageData, Voxels};
use sinew_io::{Format, MeshData, WriteOptions};
use sinew_scene::Recipe;

use super::cache::{Digest, KeyBuilder};

/// The hash of the mesh with this reference.
pub(super) fn digest_of_mesh(recipe: &Recipe, reference: &str) -> Result<Digest, String> {
    if let Some(mesh) = recipe.source.attached(reference) {
        let files = sinew_io::encode(mesh, Format::Vtu, "vtu", &WriteOptions::default());
        let files = files.map_err(|error| format!("`{reference}`: {error}"))?;
        return Ok(Digest::of(files.first().map(|file| file.bytes.as_slice()).unwrap_or_default()));
    }
    let file = recipe.source.resolve(reference);
    let bytes = std::fs::read(&file).map_err(|error| format!("cannot read `{reference}`: {error}"))?;
    Ok(Digest::of(&bytes))
}

/// The mesh with this reference.
pub(super) fn mesh(recipe: &Recipe, reference: &str) -> Result<MeshData, String> {
    recipe.source.load_mesh(reference).map_err(|error| error.to_string())
}

/// The image that is attached under this reference.
pub(super) fn volume<'a>(recipe: &'a Recipe, reference: &str) -> Option<&'a ImageData> {
    recipe.volumes.get(reference.strip_prefix('@')?).map(|image| &**image)
}

/// The hash of an image: where its voxels are, what they hold, their names.
pub(super) fn add_volume(key: KeyBuilder, image: &ImageData) -> KeyBuilder {
    let grid = &image.grid;
    let axes = [0, 1, 2].map(|k| grid.axes.column(k));
    let places = [grid.origin, axes[0], axes[1], axes[2]];
    let key = grid.size.iter().fold(key, |key, side| key.number(*side as f64));
    let key = places.iter().flat_map(|p| [p.x, p.y, p.z]).fold(key, KeyBuilder::number);
    let key = match &image.voxels {
        Voxels::Labels(labels) => key
            .text("labels")
            .input(Digest::of(&labels.iter().flat_map(|label| label.to_le_bytes()).collect::<Vec<_>>())),
        Voxels::Grey(values) => {
            key.text("gray").input(Digest::of(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>()))
        }
    };
    image.table.iter().fold(key, |key, (label, info)| key.number(f64::from(label)).text(&info.name))
}
