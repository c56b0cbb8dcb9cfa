//! Writer for the materials and pictures of characters.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sinew_rig::{Appearance, GltfLists, Image, Material};

use crate::gltf::encode::Encoder;
use crate::gltf::rig_read_appearance::mime_of;
use crate::gltf::rig_write::named;

/// A white picture of one pixel as PNG. It replaces missing pictures, so that the indices of the others stay valid.
const WHITE_DOT: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49,
    0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0xff, 0xff, 0x3f, 0x00, 0x05, 0xfe, 0x02, 0xfe, 0x33, 0x12, 0x95, 0x14,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// Adds materials, textures, samplers and pictures to a file.
pub(super) fn add_appearance(appearance: &Appearance, root: &mut Value, encoder: &mut Encoder) {
    let made;
    let lists = if is_verbatim(appearance) {
        &appearance.gltf
    } else {
        made = lists_of(appearance);
        &made
    };
    let mut extensions = BTreeSet::new();
    for (key, list) in [("materials", &lists.materials), ("textures", &lists.textures), ("samplers", &lists.samplers)] {
        // glTF forbids empty lists.
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            add_extensions(list, &mut extensions);
            root[key] = list.clone();
        }
    }
    if !extensions.is_empty() {
        root["extensionsUsed"] = extensions.into_iter().collect();
    }
    if !appearance.images.is_empty() {
        root["images"] = appearance.images.iter().map(|image| write_image(image, encoder)).collect();
    }
}

/// Whether the lists of the file match the materials, and can be written verbatim.
pub(super) fn is_verbatim(appearance: &Appearance) -> bool {
    let Appearance { materials, gltf, .. } = appearance;
    let count = gltf.materials.as_array().map_or(0, Vec::len);
    *gltf != GltfLists::default() && count == materials.len()
}

/// Names of the extensions inside a value, which a file must declare.
fn add_extensions<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_extensions(item, names)),
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member.as_object()) {
                    ("extensions", Some(extensions)) => names.extend(extensions.keys().map(String::as_str)),
                    // May contain anything.
                    ("extras", _) => continue,
                    _ => {}
                }
                add_extensions(member, names);
            }
        }
        _ => {}
    }
}

/// Lists for a file that had none: one texture per picture.
fn lists_of(appearance: &Appearance) -> GltfLists {
    let mut lists =
        GltfLists { materials: appearance.materials.iter().map(write_material).collect(), ..GltfLists::default() };
    let mut used = appearance.materials.iter().flat_map(|material| [material.base_color_image, material.normal_image]);
    if used.any(|image| image.is_some()) {
        lists.textures = (0..appearance.images.len()).map(|image| json!({"source": image, "sampler": 0})).collect();
        // Repeated in both directions, with smooth filtering.
        lists.samplers = json!([{"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}]);
    }
    lists
}

fn write_material(material: &Material) -> Value {
    let mut metallic = json!({
        "baseColorFactor": material.base_color,
        "metallicFactor": material.metallic,
        "roughnessFactor": material.roughness,
    });
    if let Some(image) = material.base_color_image {
        metallic["baseColorTexture"] = json!({"index": image});
    }
    let mut object = named(&material.name);
    object["pbrMetallicRoughness"] = metallic;
    if let Some(image) = material.normal_image {
        object["normalTexture"] = json!({"index": image});
    }
    if material.double_sided {
        object["doubleSided"] = true.into();
    }
    object
}

fn write_image(image: &Image, encoder: &mut Encoder) -> Value {
    let mut object = named(&image.name);
    let bytes = if image.bytes.is_empty() { &WHITE_DOT[..] } else { &image.bytes };
    let mime = match (image.bytes.is_empty(), image.mime.as_str()) {
        (false, "") if !mime_of(bytes).is_empty() => mime_of(bytes),
        (true, _) | (false, "") => "image/png",
        (false, mime) => mime,
    };
    object["mimeType"] = mime.into();
    object["bufferView"] = encoder.file(bytes).into();
    object
}
