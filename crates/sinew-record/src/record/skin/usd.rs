//! A character as USD: time-sampled points and normals, texture coordinates, and materials with their images beside the
//! file.

use std::fmt::Write as _;

use sinew_fem::RecordError;
use sinew_raster::{Bounds, UpAxis};
use sinew_rig::{Appearance, Material};
use sinew_scene::output::file_stem;

use super::SkinRecorder;
use crate::record::atomic::{AtomicFile, write_file};
use crate::record::digits::{push_f32, tuples, write_all};
use crate::record::names::identifier;

/// The sampled attributes with their types.
pub(super) const SAMPLED: [(&str, &str); 3] =
    [("extent", "float3[]"), ("points", "point3f[]"), ("normals", "normal3f[]")];

/// Values of [`SAMPLED`].
pub(super) fn sample_texts(points: &[[f32; 3]], normals: &[[f32; 3]]) -> [Vec<u8>; 3] {
    let bounds = Bounds::of(points);
    let extent = if bounds.is_empty() { [[0.0; 3]; 2] } else { [bounds.min, bounds.max] };
    [tuples(&extent), tuples(points), tuples(normals)]
}

impl SkinRecorder {
    pub(super) fn write_usd(&mut self) -> Result<(), RecordError> {
        let appearance = &self.character.rig.appearance;
        let mut materials: Vec<String> = Vec::new();
        for material in &appearance.materials {
            materials.push(identifier(if material.name.is_empty() { "material" } else { &material.name }, &materials));
        }
        let pictures = self.write_pictures(appearance)?;
        let rate = self.shutter.rate();
        let [start, end] = self.whole.unwrap_or_default();
        // USD supports two up axes.
        let axis = if self.stand.up == UpAxis::Y { "Y" } else { "Z" };
        let mut out = AtomicFile::create(&self.path)?;
        let head = format!(
            "#usda 1.0\n(\n    defaultPrim = \"Character\"\n    endTimeCode = {end}\n    framesPerSecond = {rate}\n    metersPerUnit = 1\n    \
             startTimeCode = {start}\n    timeCodesPerSecond = {rate}\n    upAxis = \"{axis}\"\n)\n\ndef Xform \"Character\" (\n    kind = \"component\"\n)\n{{\n"
        );
        out.put(head.as_bytes())?;
        for (k, piece) in self.character.flesh.pieces.iter().enumerate() {
            let part = self.part(piece);
            let binding = if part.material.is_some() { "prepend apiSchemas = [\"MaterialBindingAPI\"]" } else { "" };
            out.put(format!("    def Mesh \"{}\" (\n        {binding}\n    )\n    {{\n", self.names[k]).as_bytes())?;
            for (j, (name, kind)) in SAMPLED.iter().enumerate() {
                out.put(format!("        {kind} {name}").as_bytes())?;
                if *name == "normals" {
                    out.put(b" (\n            interpolation = \"vertex\"\n        )\n        ")?;
                    out.put(format!("{kind} {name}").as_bytes())?;
                }
                out.put(b".timeSamples = {\n")?;
                if let Some(samples) = &mut self.samples {
                    samples.copy_all(SAMPLED.len() * k + j, &mut out)?;
                }
                out.put(b"        }\n")?;
            }
            let part = &self.character.rig.surfaces[piece.surface].parts[piece.part];
            let triangles = self.triangles(piece);
            out.put(b"        int[] faceVertexCounts = [")?;
            out.put(vec!["3"; triangles.len()].join(", ").as_bytes())?;
            out.put(b"]\n        int[] faceVertexIndices = [")?;
            out.put(&separated(triangles.as_flattened(), |out, vertex| {
                sinew_io::text::push_u64(out, u64::from(*vertex))
            }))?;
            out.put(b"]\n")?;
            for (set, coordinates) in part.texcoords.iter().enumerate() {
                let name = if set == 0 { "st".to_string() } else { format!("st{set}") };
                out.put(format!("        texCoord2f[] primvars:{name} = [").as_bytes())?;
                // v points up in USD and down in glTF.
                out.put(&separated(coordinates, |out, [u, v]| {
                    out.push(b'(');
                    push_f32(out, *u);
                    out.extend_from_slice(b", ");
                    push_f32(out, 1.0 - *v);
                    out.push(b')');
                }))?;
                out.put(b"] (\n            interpolation = \"vertex\"\n        )\n")?;
            }
            if !part.colors.is_empty() {
                let colors: Vec<[f32; 3]> = part.colors.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect();
                out.put(b"        color3f[] primvars:displayColor = ")?;
                out.put(&tuples(&colors))?;
                out.put(b" (\n            interpolation = \"vertex\"\n        )\n")?;
            }
            if let Some(name) = part.material.and_then(|material| materials.get(material)) {
                out.put(format!("        rel material:binding = </Character/Materials/{name}>\n").as_bytes())?;
            }
            out.put(b"        uniform token subdivisionScheme = \"none\"\n    }\n\n")?;
        }
        if !materials.is_empty() {
            out.put(b"    def Scope \"Materials\"\n    {\n")?;
            for (material, name) in self.character.rig.appearance.materials.iter().zip(&materials) {
                out.put(material_text(material, name, &pictures).as_bytes())?;
            }
            out.put(b"    }\n")?;
        }
        out.put(b"}\n")?;
        out.commit()?;
        self.files.push(self.path.clone());
        Ok(())
    }

    /// Writes the images into a folder beside the file; returns their relative paths.
    fn write_pictures(&self, appearance: &Appearance) -> Result<Vec<Option<String>>, RecordError> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = format!("{}_textures", file_stem(&stem, 0));
        let mut paths = Vec::new();
        for (k, image) in appearance.images.iter().enumerate() {
            if image.bytes.is_empty() {
                paths.push(None);
                continue;
            }
            let end = if image.mime == "image/jpeg" { "jpg" } else { "png" };
            let name = format!("{k}_{}.{end}", file_stem(&image.name, k));
            write_file(self.path.with_file_name(&folder).join(&name), &image.bytes)?;
            paths.push(Some(format!("./{folder}/{name}")));
        }
        Ok(paths)
    }
}

/// Items with commas between them.
fn separated<T: Sync>(items: &[T], write: impl Fn(&mut Vec<u8>, &T) + Sync) -> Vec<u8> {
    let mut text = write_all(items, |out, item| {
        write(out, item);
        out.extend_from_slice(b", ");
    });
    text.truncate(text.len().saturating_sub(2));
    text
}

/// A `UsdPreviewSurface`.
fn material_text(material: &Material, name: &str, pictures: &[Option<String>]) -> String {
    let path = format!("/Character/Materials/{name}");
    let [r, g, b, opacity] = material.base_color;
    let mut text = format!(
        "        def Material \"{name}\"\n        {{\n            token outputs:surface.connect = <{path}/Surface.outputs:surface>\n\n            \
         def Shader \"Surface\"\n            {{\n                uniform token info:id = \"UsdPreviewSurface\"\n"
    );
    let picture = |image: Option<usize>| image.and_then(|image| pictures.get(image)?.as_ref());
    // Writing to a String cannot fail.
    let _ = match picture(material.base_color_image) {
        Some(_) => {
            writeln!(text, "                color3f inputs:diffuseColor.connect = <{path}/BaseColor.outputs:rgb>")
        }
        None => writeln!(text, "                color3f inputs:diffuseColor = ({r}, {g}, {b})"),
    };
    if picture(material.normal_image).is_some() {
        let _ = writeln!(text, "                normal3f inputs:normal.connect = <{path}/Normal.outputs:rgb>");
    }
    let _ = writeln!(
        text,
        "                float inputs:metallic = {}\n                float inputs:opacity = {opacity}\n                float inputs:roughness = {}\n                \
         token outputs:surface\n            }}",
        material.metallic, material.roughness
    );
    let textures = [
        (
            "BaseColor",
            picture(material.base_color_image),
            "sRGB",
            format!("({r}, {g}, {b}, {opacity})"),
            "(0, 0, 0, 0)",
        ),
        ("Normal", picture(material.normal_image), "raw", "(2, 2, 2, 1)".to_string(), "(-1, -1, -1, 0)"),
    ];
    let mut has_reader = false;
    for (shader, file, space, scale, bias) in textures {
        let Some(file) = file else { continue };
        has_reader = true;
        let _ = writeln!(
            text,
            "\n            def Shader \"{shader}\"\n            {{\n                uniform token info:id = \"UsdUVTexture\"\n                \
             asset inputs:file = @{file}@\n                float4 inputs:bias = {bias}\n                float4 inputs:scale = {scale}\n                \
             token inputs:sourceColorSpace = \"{space}\"\n                float2 inputs:st.connect = <{path}/Coordinates.outputs:result>\n                \
             token inputs:wrapS = \"repeat\"\n                token inputs:wrapT = \"repeat\"\n                float3 outputs:rgb\n            }}"
        );
    }
    if has_reader {
        text.push_str(
            "\n            def Shader \"Coordinates\"\n            {\n                uniform token info:id = \"UsdPrimvarReader_float2\"\n                \
             string inputs:varname = \"st\"\n                float2 outputs:result\n            }\n",
        );
    }
    text.push_str("        }\n");
    text
}
