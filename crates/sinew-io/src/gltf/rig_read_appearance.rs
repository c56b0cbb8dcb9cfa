//! Appearance of characters: materials and pictures.

use std::collections::BTreeMap;

use serde_json::Value as SerdeValue;
use sinew_rig::{Appearance, GltfLists, Image, Material};

use crate::error::ReadError;
use crate::gltf::accessor::decode_data_uri;
use crate::gltf::document::Object;
use crate::gltf::rig_read::RigReader;

/// Bytes that count as one element; a vertex takes about as many.
const PICTURE_BYTES_PER_ELEMENT: usize = 32;

impl RigReader<'_, '_, '_> {
    pub(super) fn appearance(&mut self) -> Result<Appearance, ReadError> {
        let mut images: Vec<Image> = Vec::new();
        let mut first_of = BTreeMap::new();
        for object in self.root.objects("images")? {
            let image = self.image(&object, &images, &mut first_of)?;
            images.push(image);
        }
        let sampler_count = self.root.objects("samplers")?.len();
        let mut sources = Vec::new();
        for texture in self.root.objects("textures")? {
            texture.index("sampler", "sampler", sampler_count)?;
            sources.push(source(&texture, images.len())?);
        }
        let materials = self.root.objects("materials")?;
        let materials = materials.iter().map(|object| material(object, &sources)).collect::<Result<_, _>>()?;
        let gltf = GltfLists {
            materials: self.verbatim("materials")?,
            textures: self.verbatim("textures")?,
            samplers: self.verbatim("samplers")?,
        };
        Ok(Appearance { materials, images, gltf })
    }

    /// A list of the file, unchanged.
    fn verbatim(&self, key: &str) -> Result<SerdeValue, ReadError> {
        let wrong = |offset| ReadError::Syntax {
            place: self.document.container.place(offset),
            reason: format!("{key} holds a number that overflows"),
        };
        self.document.root.get(key).map_or(Ok(SerdeValue::Null), |value| value.to_serde().map_err(wrong))
    }

    /// A picture; without bytes and with a note if they are missing. `first_of` has the first picture of each file.
    fn image(
        &mut self,
        object: &Object,
        before: &[Image],
        first_of: &mut BTreeMap<String, usize>,
    ) -> Result<Image, ReadError> {
        let mime = object.value.get("mimeType").and_then(|mime| mime.text()).unwrap_or_default().into_owned();
        let mut image = Image { name: object.name_or_empty(), mime, bytes: Vec::new() };
        let offset = object.value.offset();
        if let Some(view) = object.index("bufferView", "buffer view", self.document.views.len())? {
            let length = self.buffers.view_bytes(view)?.len();
            self.spend(length.div_ceil(PICTURE_BYTES_PER_ELEMENT), offset)?;
            image.bytes = self.buffers.view_bytes(view)?.to_vec();
        } else if let Some((value, uri)) = object.value.get("uri").and_then(|value| Some((value, value.text()?))) {
            if let Some(data) = uri.strip_prefix("data:") {
                image.bytes = decode_data_uri(&uri).map_err(|reason| object.wrong_at(value, "uri", &reason))?;
                if image.mime.is_empty() {
                    image.mime = data.split([';', ',']).next().unwrap_or_default().to_string();
                }
            } else {
                if image.name.is_empty() {
                    image.name = uri.rsplit('/').next().unwrap_or_default().to_string();
                }
                image.bytes = match first_of.get(&*uri) {
                    Some(&first) => {
                        self.spend(before[first].bytes.len().div_ceil(PICTURE_BYTES_PER_ELEMENT), offset)?;
                        before[first].bytes.clone()
                    }
                    None => {
                        first_of.insert(uri.clone().into_owned(), before.len());
                        let place = self.document.container.place(value.offset());
                        self.buffers.open_companion(&uri, place).unwrap_or_else(|error| {
                            self.notes.push(format!("{}: {error}", object.path_of("uri")));
                            Vec::new()
                        })
                    }
                };
            }
        } else {
            self.notes.push(format!("{} names no picture", object.path_of("uri")));
        }
        if image.mime.is_empty() {
            image.mime = mime_of(&image.bytes).to_string();
        }
        Ok(image)
    }
}

/// MIME type of a picture by its first bytes; empty if unknown.
pub(super) fn mime_of(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"\x89PNG") {
        "image/png"
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        "image/jpeg"
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        "image/webp"
    } else {
        ""
    }
}

/// The picture of a texture; extensions use other formats than PNG and JPEG.
fn source(texture: &Object, image_count: usize) -> Result<Option<usize>, ReadError> {
    if let Some(source) = texture.index("source", "image", image_count)? {
        return Ok(Some(source));
    }
    let Some(extensions) = texture.object("extensions")? else { return Ok(None) };
    for (name, value) in extensions.value.members() {
        if value.get("source").is_some()
            && let Some(extension) = extensions.object(&name)?
        {
            return extension.index("source", "image", image_count);
        }
    }
    Ok(None)
}

fn material(object: &Object, sources: &[Option<usize>]) -> Result<Material, ReadError> {
    let image = |parent: &Object, key: &str| -> Result<Option<usize>, ReadError> {
        let Some(reference) = parent.object(key)? else { return Ok(None) };
        Ok(sources[reference.needed_index("index", "texture", sources.len())?])
    };
    let mut material = Material { name: object.name_or_empty(), ..Material::default() };
    if let Some(metallic) = object.object("pbrMetallicRoughness")? {
        if let Some(color) = metallic.numbers::<4>("baseColorFactor")? {
            material.base_color = color.map(|x| x as f32);
        }
        material.metallic = metallic.number("metallicFactor")?.map_or(material.metallic, |x| x as f32);
        material.roughness = metallic.number("roughnessFactor")?.map_or(material.roughness, |x| x as f32);
        material.base_color_image = image(&metallic, "baseColorTexture")?;
    }
    material.normal_image = image(object, "normalTexture")?;
    material.double_sided = object.value.get("doubleSided").and_then(|value| value.boolean()).unwrap_or(false);
    Ok(material)
}
