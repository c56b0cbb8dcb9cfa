//! Materials and images of surfaces.

use serde_json::Value;

/// Materials and images of a character.
#[derive(Clone, Debug, Default)]
pub struct Appearance {
    /// The materials, in the subset that most programs support.
    pub materials: Vec<Material>,
    /// Images.
    pub images: Vec<Image>,
    /// The lists `materials`, `textures` and `samplers` of the glTF file, verbatim; `null` if absent.
    pub gltf: GltfLists,
}

/// Lists of a glTF file that are written back unchanged. Textures refer to [`Appearance::images`] by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GltfLists {
    /// `materials`.
    pub materials: Value,
    /// `textures`.
    pub textures: Value,
    /// `samplers`.
    pub samplers: Value,
}

/// A metallic-roughness material.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name, possibly empty.
    pub name: String,
    /// Linear color with opacity.
    pub base_color: [f32; 4],
    /// Image that multiplies it, in [`Appearance::images`].
    pub base_color_image: Option<usize>,
    /// 0 for dielectrics such as skin, 1 for metal.
    pub metallic: f32,
    /// 0 for mirrors, 1 for chalk.
    pub roughness: f32,
    /// Normal map.
    pub normal_image: Option<usize>,
    /// Whether both sides are visible.
    pub double_sided: bool,
}

impl Default for Material {
    /// The glTF default.
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

/// An image file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Name, possibly empty.
    pub name: String,
    /// "image/png" or "image/jpeg", as declared in the file.
    pub mime: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}
