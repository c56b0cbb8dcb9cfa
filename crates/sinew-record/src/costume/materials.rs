//! Materials of a glTF file as the renderer paints them: base colors, their images, and how images lie on the surface.

use std::collections::BTreeMap;

use serde_json::Value;
use sinew_raster::{Pigment, Texture, Wrap};
use sinew_rig::Appearance;

use super::decode;

/// Most texels of all images of a character: with their smaller copies 340 MB.
const MAX_TEXELS: usize = 64 << 20;

/// What is less opaque than this is not drawn, unless the material says otherwise.
const USUAL_CUTOFF: f32 = 0.5;

/// How a material looks.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub pigment: Pigment,
    /// Opacity of the base color.
    pub opacity: f32,
    /// Least opacity of what is drawn; `None` if the material is opaque.
    pub cutoff: Option<f32>,
    /// Number of the set of texture coordinates.
    pub set: usize,
    placement: Placement,
}

/// `KHR_texture_transform`: where an image lies.
#[derive(Clone, Copy, Debug)]
struct Placement {
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

impl Look {
    /// Image coordinates of texture coordinates of the file.
    pub fn place(&self, [u, v]: [f32; 2]) -> [f32; 2] {
        let Placement { offset, rotation, scale } = self.placement;
        let ([u, v], (sin, cos)) = ([u * scale[0], v * scale[1]], rotation.sin_cos());
        [offset[0] + cos * u + sin * v, offset[1] - sin * u + cos * v]
    }
}

/// The materials of a file; images are read when they are first asked for.
pub(super) struct Materials<'a> {
    appearance: &'a Appearance,
    looks: BTreeMap<usize, Look>,
    textures: BTreeMap<usize, Option<Texture>>,
    /// Why images are not drawn.
    pub notes: Vec<String>,
}

impl<'a> Materials<'a> {
    pub fn new(appearance: &'a Appearance) -> Self {
        Self { appearance, looks: BTreeMap::new(), textures: BTreeMap::new(), notes: Vec::new() }
    }

    /// How a material of the file looks.
    pub fn look(&mut self, material: usize) -> Look {
        if let Some(look) = self.looks.get(&material) {
            return look.clone();
        }
        let look = self.read(material);
        self.looks.insert(material, look.clone());
        look
    }

    fn read(&mut self, material: usize) -> Look {
        let appearance = self.appearance;
        let known = appearance.materials.get(material).cloned().unwrap_or_default();
        let json = &appearance.gltf.materials[material];
        // An older extension has its own base color.
        let glossy = &json["extensions"]["KHR_materials_pbrSpecularGlossiness"];
        let (color, reference) = match glossy.is_object() {
            true => (numbers(&glossy["diffuseFactor"]).unwrap_or([1.0; 4]), &glossy["diffuseTexture"]),
            false => (known.base_color, &json["pbrMetallicRoughness"]["baseColorTexture"]),
        };
        let texture = whole(&reference["index"]).map(|index| &appearance.gltf.textures[index]);
        let image = texture.and_then(|texture| image_of(texture, appearance.images.len()));
        let image = image.or(known.base_color_image);
        let transform = &reference["extensions"]["KHR_texture_transform"];
        let sampler = texture.and_then(|texture| whole(&texture["sampler"]));
        let sampler = sampler.map_or(&Value::Null, |index| &appearance.gltf.samplers[index]);
        let wrap = ["wrapS", "wrapT"].map(|key| match whole(&sampler[key]) {
            Some(33_071) => Wrap::Clamp,
            Some(33_648) => Wrap::Mirror,
            _ => Wrap::Repeat,
        });
        let number = |value: &Value, usual: f32| value.as_f64().map_or(usual, |x| x as f32);
        let is_clear_glass = number(&json["extensions"]["KHR_materials_transmission"]["transmissionFactor"], 0.0) > 0.5;
        let cutoff = match json["alphaMode"].as_str() {
            _ if is_clear_glass => Some(f32::INFINITY),
            Some("MASK") => Some(number(&json["alphaCutoff"], USUAL_CUTOFF)),
            Some("BLEND") => Some(USUAL_CUTOFF),
            _ => None,
        };
        let [r, g, b, opacity] = color.map(|c| if c.is_finite() { c.clamp(0.0, 1.0) } else { 1.0 });
        Look {
            pigment: Pigment {
                color: [r, g, b],
                texture: image.and_then(|image| self.texture(image, &known.name)),
                wrap,
            },
            opacity,
            cutoff,
            set: whole(&transform["texCoord"]).or(whole(&reference["texCoord"])).unwrap_or(0),
            placement: Placement {
                offset: numbers(&transform["offset"]).unwrap_or([0.0; 2]),
                rotation: number(&transform["rotation"], 0.0),
                scale: numbers(&transform["scale"]).unwrap_or([1.0; 2]),
            },
        }
    }

    fn texture(&mut self, image: usize, material: &str) -> Option<Texture> {
        if let Some(texture) = self.textures.get(&image) {
            return texture.clone();
        }
        let data = self.appearance.images.get(image)?;
        let result = decode::texture(&data.bytes, MAX_TEXELS / self.appearance.images.len());
        if let Err(reason) = &result {
            let image = if data.name.is_empty() { format!("image {image}") } else { format!("image {}", data.name) };
            self.notes.push(format!(
                "{image} is not drawn, since {reason}; material \"{material}\" has its base color in pictures"
            ));
        }
        self.textures.insert(image, result.clone().ok());
        result.ok()
    }
}

/// The image of a texture; extensions are for other formats.
fn image_of(texture: &Value, count: usize) -> Option<usize> {
    whole(&texture["source"]).filter(|&image| image < count)
}

fn whole(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

/// A list of numbers of this length.
fn numbers<const N: usize>(value: &Value) -> Option<[f32; N]> {
    let list = value.as_array()?;
    let numbers: Vec<f32> = list.iter().map(|number| number.as_f64().map(|x| x as f32)).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::encode_png;
    use serde_json::json;
    use sinew_raster::Image;
    use sinew_rig::{GltfLists, Image as File, Material};

    fn appearance(material: Value, bytes: Vec<u8>) -> Appearance {
        Appearance {
            materials: vec![Material { base_color: [0.5, 0.25, 2.0, 1.0], ..Material::default() }],
            images: vec![File { name: "coat".into(), bytes, ..File::default() }],
            gltf: GltfLists {
                materials: json!([material]),
                textures: json!([{ "source": 0, "sampler": 0 }]),
                samplers: json!([{ "wrapS": 33071, "wrapT": 33648 }]),
            },
        }
    }

    #[test]
    fn materials_say_how_images_lie() {
        let transform =
            json!({ "offset": [0.25, 0.5], "rotation": std::f64::consts::FRAC_PI_2, "scale": [2, 3], "texCoord": 1 });
        let material = json!({
            "alphaMode": "MASK",
            "alphaCutoff": 0.25,
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0, "extensions": { "KHR_texture_transform": transform } },
            },
        });
        let appearance = appearance(material, encode_png(&Image::filled(4, 2, [9; 3])));
        let mut materials = Materials::new(&appearance);
        let look = materials.look(0);
        assert_eq!((look.pigment.color, look.pigment.wrap), ([0.5, 0.25, 1.0], [Wrap::Clamp, Wrap::Mirror]));
        assert_eq!(look.pigment.texture.as_ref().map(Texture::size), Some([4, 2]));
        assert_eq!((look.set, look.cutoff), (1, Some(0.25)));
        // A quarter turn counterclockwise, seen with v downward: u goes up.
        let placed = look.place([0.1, 0.0]);
        assert!((placed[0] - 0.25).abs() < 1e-6 && (placed[1] - 0.3).abs() < 1e-6, "{placed:?}");
        assert!(materials.notes.is_empty());
    }

    #[test]
    fn unreadable_images_and_nonsense_leave_the_base_color() {
        let material = json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
        let appearance = appearance(material, b"RIFF".to_vec());
        let mut materials = Materials::new(&appearance);
        assert!(materials.look(0).pigment.texture.is_none() && materials.look(0).pigment.color[0] == 0.5);
        assert_eq!(materials.notes.len(), 1, "{:?}", materials.notes);
        assert!(materials.notes[0].contains("image coat is not drawn, since it is neither PNG nor JPEG"));
        let strange = json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": -7, "texCoord": "x" } } });
        let strange =
            Appearance { gltf: GltfLists { materials: json!([strange]), ..GltfLists::default() }, ..appearance };
        assert!(Materials::new(&strange).look(0).pigment.texture.is_none());
        assert_eq!(Materials::new(&strange).look(99).pigment.color, [1.0; 3]);
    }
}
