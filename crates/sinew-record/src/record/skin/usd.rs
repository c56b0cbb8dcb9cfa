//! A character as USD: time-sampled points and normals, texture coordinates, and materials with their images beside the
//! file, or within a package.

use sinew_fem::RecordError;
use sinew_io::usd::{Content, Layer, Prim, Property, Value};
use sinew_rig::{Appearance, Material, Piece};
use sinew_scene::output::{UsdEncoding, file_stem};

use super::SkinRecorder;
use super::maps::VertexStrain;
use crate::record::atomic::write_file;
use crate::record::names::identifier;
use crate::record::usd::{Companion, Stage, UsdFile, as_simulated, extent, triangles};

/// The sampled attributes with their types; the last three are those of wrinkle and stretch maps.
const SAMPLED: [(&str, &str); 6] = [
    ("extent", "float3[]"),
    ("points", "point3f[]"),
    ("normals", "normal3f[]"),
    ("primvars:tension", "color3f[]"),
    ("primvars:strain", "float3[]"),
    ("primvars:wrinkleDirection", "vector3f[]"),
];

/// Values of the first three of [`SAMPLED`].
pub(super) fn sample_values(points: Vec<[f32; 3]>, normals: Vec<[f32; 3]>) -> [Value; 3] {
    [extent(&points), Value::Float3s(points), Value::Float3s(normals)]
}

/// Values of the others: wrinkle and stretch as red and green; the largest stretch, the smallest, and the ratio of areas; and
/// the direction in which the skin is compressed.
pub(super) fn strain_values(strains: &[VertexStrain], full: f64) -> [Value; 3] {
    let tension = |strain: &VertexStrain| {
        let [wrinkle, stretch] = strain.levels(full);
        [wrinkle, stretch, 0.0]
    };
    let numbers = |strain: &VertexStrain| [strain.stretches[0], strain.stretches[1], strain.area].map(|x| x as f32);
    let direction = |strain: &VertexStrain| strain.direction.to_array().map(|x| x as f32);
    [
        Value::Float3s(strains.iter().map(tension).collect()),
        Value::Float3s(strains.iter().map(numbers).collect()),
        Value::Float3s(strains.iter().map(direction).collect()),
    ]
}

/// Where its materials are.
const MATERIALS: &str = "/Character/Materials";

impl SkinRecorder {
    /// The sampled attributes with their types.
    pub(super) fn sampled(&self) -> &'static [(&'static str, &'static str)] {
        if self.maps.is_some() { &SAMPLED } else { &SAMPLED[..3] }
    }

    pub(super) fn write_usd(&mut self, file: UsdFile) -> Result<(), RecordError> {
        let appearance = &self.character.rig.appearance;
        let mut names: Vec<String> = Vec::new();
        for material in &appearance.materials {
            names.push(identifier(if material.name.is_empty() { "material" } else { &material.name }, &names));
        }
        let pictures = self.pictures(appearance);
        let is_package = UsdEncoding::of(&self.path) == UsdEncoding::Package;
        if !is_package {
            for picture in pictures.iter().flatten() {
                write_file(self.path.with_file_name(picture.path.trim_start_matches("./")), picture.bytes)?;
            }
        }
        let stage = Stage { root: "Character", up: self.stand.up, frame_rate: self.shutter.rate() };
        let mut character = stage.component();
        for (k, piece) in self.character.flesh.pieces.iter().enumerate() {
            character.children.push(self.mesh(k, piece, &names));
        }
        if !names.is_empty() {
            let mut scope = Prim::def("Scope", "Materials");
            let materials = appearance.materials.iter().zip(&names);
            scope.children = materials.map(|(material, name)| material_prim(material, name, &pictures)).collect();
            character.children.push(scope);
        }
        let metadata = stage.metadata(self.whole.unwrap_or_default());
        let companions = if is_package { pictures.into_iter().flatten().collect() } else { Vec::new() };
        file.finish(&Layer { metadata, prims: vec![character] }, &companions)?;
        self.files.push(self.path.clone());
        Ok(())
    }

    fn mesh(&self, k: usize, piece: &Piece, materials: &[String]) -> Prim {
        let part = self.part(piece);
        let mut mesh = Prim::def("Mesh", &self.names[k]);
        let sampled = self.sampled();
        for (j, (name, kind)) in sampled.iter().enumerate() {
            let property = Property::new(kind, *name, Content::Recorded(sampled.len() * k + j));
            let is_shape = ["extent", "points"].contains(name);
            mesh.properties.push(if is_shape { property } else { property.per("vertex") });
        }
        mesh.properties.extend(triangles(&[(0.0, self.triangles(piece))]));
        for (set, coordinates) in part.texcoords.iter().enumerate() {
            let name = if set == 0 { "primvars:st".to_string() } else { format!("primvars:st{set}") };
            // v points up in USD and down in glTF.
            let places = coordinates.iter().map(|[u, v]| [*u, 1.0 - *v]).collect();
            mesh.properties.push(Property::constant("texCoord2f[]", name, Value::Float2s(places)).per("vertex"));
        }
        if !part.colors.is_empty() {
            let colors = Value::Float3s(part.colors.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect());
            mesh.properties.push(Property::constant("color3f[]", "primvars:displayColor", colors).per("vertex"));
        }
        if let Some(name) = part.material.and_then(|material| materials.get(material)) {
            mesh.metadata.push(("apiSchemas", Value::Prepended(vec!["MaterialBindingAPI".into()])));
            mesh.properties.push(Property::relationship("material:binding", format!("{MATERIALS}/{name}")));
        }
        mesh.properties.push(as_simulated());
        mesh
    }

    /// The images, with paths in a folder beside the file.
    fn pictures<'a>(&self, appearance: &'a Appearance) -> Vec<Option<Companion<'a>>> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = format!("{}_textures", file_stem(&stem, 0));
        let picture = |(k, image): (usize, &'a sinew_rig::Image)| {
            let end = if image.mime == "image/jpeg" { "jpg" } else { "png" };
            let path = format!("./{folder}/{k}_{}.{end}", file_stem(&image.name, k));
            (!image.bytes.is_empty()).then_some(Companion { path, bytes: &image.bytes })
        };
        appearance.images.iter().enumerate().map(picture).collect()
    }
}

/// A `UsdPreviewSurface`.
fn material_prim(material: &Material, name: &str, pictures: &[Option<Companion<'_>>]) -> Prim {
    let path = format!("{MATERIALS}/{name}");
    let connected =
        |kind, name: &str, source: &str| Property::new(kind, name, Content::Connection(format!("{path}/{source}")));
    let output = |kind, name: &str| Property::new(kind, name, Content::Declared);
    let shader = |name: &str, id: &str| {
        let mut prim = Prim::def("Shader", name);
        prim.properties.push(Property::uniform("token", "info:id", Value::Token(id.into())));
        prim
    };
    let [r, g, b, opacity] = material.base_color;
    let picture =
        |image: Option<usize>| image.and_then(|image| pictures.get(image)?.as_ref()).map(|picture| &picture.path);
    let mut surface = shader("Surface", "UsdPreviewSurface");
    surface.properties.push(match picture(material.base_color_image) {
        Some(_) => connected("color3f", "inputs:diffuseColor", "BaseColor.outputs:rgb"),
        None => Property::constant("color3f", "inputs:diffuseColor", Value::Float3([r, g, b])),
    });
    if picture(material.normal_image).is_some() {
        surface.properties.push(connected("normal3f", "inputs:normal", "Normal.outputs:rgb"));
    }
    for (name, number) in
        [("inputs:metallic", material.metallic), ("inputs:opacity", opacity), ("inputs:roughness", material.roughness)]
    {
        surface.properties.push(Property::constant("float", name, Value::Float(number)));
    }
    surface.properties.push(output("token", "outputs:surface"));
    let mut prim = Prim::def("Material", name);
    prim.properties.push(connected("token", "outputs:surface", "Surface.outputs:surface"));
    prim.children.push(surface);
    let textures = [
        ("BaseColor", picture(material.base_color_image), "sRGB", [r, g, b, opacity], [0.0; 4]),
        ("Normal", picture(material.normal_image), "raw", [2.0, 2.0, 2.0, 1.0], [-1.0, -1.0, -1.0, 0.0]),
    ];
    for (name, file, space, scale, bias) in textures {
        let Some(file) = file else { continue };
        let mut texture = shader(name, "UsdUVTexture");
        texture.properties.extend([
            Property::constant("asset", "inputs:file", Value::Asset(file.clone())),
            Property::constant("float4", "inputs:bias", Value::Float4(bias)),
            Property::constant("float4", "inputs:scale", Value::Float4(scale)),
            Property::constant("token", "inputs:sourceColorSpace", Value::Token(space.into())),
            connected("float2", "inputs:st", "Coordinates.outputs:result"),
            Property::constant("token", "inputs:wrapS", Value::Token("repeat".into())),
            Property::constant("token", "inputs:wrapT", Value::Token("repeat".into())),
            output("float3", "outputs:rgb"),
        ]);
        prim.children.push(texture);
    }
    if prim.children.len() > 1 {
        let mut coordinates = shader("Coordinates", "UsdPrimvarReader_float2");
        coordinates.properties.push(Property::constant("string", "inputs:varname", Value::Text("st".into())));
        coordinates.properties.push(output("float2", "outputs:result"));
        prim.children.push(coordinates);
    }
    prim
}
