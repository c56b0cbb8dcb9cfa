//! The text of a USD layer, without the samples.

use std::fmt::Write as _;

use sinew_math::Vec3;
use sinew_raster::{Rgb, UpAxis};

use super::extent;
use crate::record::digits::{tuples, write_all};

/// Common data of all layers of an animation.
pub(super) struct Stage {
    pub up: UpAxis,
    pub frame_rate: f64,
}

impl Stage {
    /// Everything above the first prim.
    pub fn head(&self, codes: &[f64]) -> Vec<u8> {
        let (start, end) = (codes.first().copied().unwrap_or(0.0), codes.last().copied().unwrap_or(0.0));
        let rate = self.frame_rate;
        // USD supports two up axes.
        let axis = if self.up == UpAxis::Y { "Y" } else { "Z" };
        format!(
            "#usda 1.0\n(\n    defaultPrim = \"World\"\n    endTimeCode = {end}\n    framesPerSecond = {rate}\n    \
             metersPerUnit = 1\n    startTimeCode = {start}\n    timeCodesPerSecond = {rate}\n    upAxis = \"{axis}\"\n)\n\n"
        )
        .into_bytes()
    }

    /// The beginning of the root prim, with its `metadata`.
    pub fn world(&self, metadata: &str) -> String {
        // A world with x up is rotated so that it looks the same as in GLB.
        let turn = match self.up {
            UpAxis::X => {
                "    matrix4d xformOp:transform = ( (0, 0, 1, 0), (-1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 1) )\n    \
                 uniform token[] xformOpOrder = [\"xformOp:transform\"]\n"
            }
            _ => "",
        };
        format!("def Xform \"World\" (\n{metadata}    kind = \"component\"\n)\n{{\n{turn}")
    }
}

/// The clip metadata: the clip of each time. Times in clips are those of the stage.
pub(super) fn clips(folder: &str, names: &[String], codes: &[f64], frames_per_clip: usize) -> String {
    let assets: Vec<String> = names.iter().map(|name| format!("@./{folder}/{name}@")).collect();
    let starts = codes.iter().step_by(frames_per_clip).enumerate();
    let active: Vec<String> = starts.map(|(clip, code)| format!("({code}, {clip})")).collect();
    let ends = [codes.first(), codes.last()].into_iter().flatten();
    let mut times: Vec<String> = ends.map(|code| format!("({code}, {code})")).collect();
    times.dedup();
    format!(
        "    clips = {{\n        dictionary default = {{\n            double2[] active = [{}]\n            \
         asset[] assetPaths = [{}]\n            asset manifestAssetPath = @./{folder}/manifest.usda@\n            \
         string primPath = \"/World\"\n            double2[] times = [{}]\n        }}\n    }}\n",
        active.join(", "),
        assets.join(", "),
        times.join(", ")
    )
}

/// Points and transform of a shape; sampled only if it moves.
pub(super) fn rigid(points: &[[f32; 3]], rows: &[[Vec3; 4]], codes: &[f64]) -> Vec<u8> {
    let mut text = b"        float3[] extent = ".to_vec();
    text.append(&mut tuples(&extent(points)));
    text.extend_from_slice(b"\n        point3f[] points = ");
    text.append(&mut tuples(points));
    let mut transforms = String::from("\n        matrix4d xformOp:transform");
    match rows {
        [first, rest @ ..] if rest.iter().all(|rows| rows == first) => {
            let _ = writeln!(transforms, " = {}", matrix(first));
        }
        _ => {
            transforms.push_str(".timeSamples = {\n");
            for (rows, code) in rows.iter().zip(codes) {
                // Writing to a String cannot fail.
                let _ = writeln!(transforms, "            {code}: {},", matrix(rows));
            }
            transforms.push_str("        }\n");
        }
    }
    text.extend_from_slice(transforms.as_bytes());
    text.extend_from_slice(b"        uniform token[] xformOpOrder = [\"xformOp:transform\"]\n");
    text
}

fn matrix(rows: &[Vec3; 4]) -> String {
    let row = |i: usize, w: i32| format!("({}, {}, {}, {w})", rows[i].x, rows[i].y, rows[i].z);
    format!("( {}, {}, {}, {} )", row(0, 0), row(1, 0), row(2, 0), row(3, 1))
}

/// The triangles of a mesh, each list from its time code on, its color, and the end of its prim.
pub(super) fn topology(triangles: &[(f64, Vec<[u32; 3]>)], color: Rgb) -> Vec<u8> {
    let mut text = Vec::new();
    let attributes: [(&str, fn(&[[u32; 3]]) -> Vec<u8>); 2] =
        [("faceVertexCounts", vertex_counts), ("faceVertexIndices", vertex_indices)];
    for (name, list) in attributes {
        text.extend_from_slice(format!("        int[] {name}").as_bytes());
        match triangles {
            [(_, triangles)] => {
                text.extend_from_slice(b" = ");
                text.append(&mut list(triangles));
            }
            changes => {
                text.extend_from_slice(b".timeSamples = {\n");
                for (code, triangles) in changes {
                    text.extend_from_slice(format!("            {code}: ").as_bytes());
                    text.append(&mut list(triangles));
                    text.extend_from_slice(b",\n");
                }
                text.extend_from_slice(b"        }");
            }
        }
        text.push(b'\n');
    }
    let [r, g, b] = color.to_linear();
    let rest = format!(
        "        color3f[] primvars:displayColor = [({r}, {g}, {b})] (\n            interpolation = \"constant\"\n        )\n        \
         uniform token subdivisionScheme = \"none\"\n    }}\n"
    );
    text.extend_from_slice(rest.as_bytes());
    text
}

fn vertex_counts(triangles: &[[u32; 3]]) -> Vec<u8> {
    format!("[{}]", vec!["3"; triangles.len()].join(", ")).into_bytes()
}

fn vertex_indices(triangles: &[[u32; 3]]) -> Vec<u8> {
    let mut indices = write_all(triangles.as_flattened(), |out, vertex| {
        sinew_io::text::push_u64(out, u64::from(*vertex));
        out.extend_from_slice(b", ");
    });
    indices.truncate(indices.len().saturating_sub(2));
    [b"[", &indices[..], b"]"].concat()
}
