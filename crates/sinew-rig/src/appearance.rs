//! What surfaces look like.

use serde_json::Value;

/// Materials and pictures of a character.
#[derive(Clone, Debug, Default)]
pub struct Appearance {
    /// The materials, as far as programs agree on them.
    pub materials: Vec<Material>,
    /// Pictures.
    pub images: Vec<Image>,
    /// The lists `materials`, `textures` and `samplers` of the glTF file, word for word; `null` where there are none.
    pub gltf: GltfLists,
}

/// Lists of a glTF file that are written back as they are. Textures refer to [`Appearance::images`] by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GltfLists {
    /// `materials`.
    pub materials: Value,
    /// `textures`.
    pub textures: Value,
    /// `samplers`.
    pub samplers: Value,
}

/// A material of the metal and roughness kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name; empty where it has none.
    pub name: String,
    /// Colour with opacity, linear.
    pub base_color: [f32; 4],
    /// Picture that multiplies it, in [`Appearance::images`].
    pub base_color_image: Option<usize>,
    /// 0 for skin, 1 for metal.
    pub metallic: f32,
    /// 0 for mirrors, 1 for chalk.
    pub roughness: f32,
    /// Picture of normals.
    pub normal_image: Option<usize>,
    /// Whether both sides are seen.
    pub double_sided: bool,
}

impl Default for Material {
    /// That of a glTF file that says nothing.
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [1.0; 4],
            base_color_image: None,
            metallic: 1.0,
            roughness: 1.0,
            normal_image: None,
            double_sided: false,
        }
    }
}

/// A picture file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Name; empty where it has none.
    pub name: String,
    /// "image/png" or "image/jpeg", as the file says.
    pub mime: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}
