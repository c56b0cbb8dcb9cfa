//! What recorders say in their USD layers, in whatever encoding.

use sinew_io::usd::{Content, Prim, Property, Value};
use sinew_math::Vec3;
use sinew_raster::{Bounds, Rgb, UpAxis};

/// Common data of all layers of an animation.
pub(in crate::record) struct Stage {
    pub root: &'static str,
    pub up: UpAxis,
    pub frame_rate: f64,
}

impl Stage {
    /// The metadata of a layer with these time codes.
    pub fn metadata(&self, [start, end]: [f64; 2]) -> Vec<(&'static str, Value)> {
        // USD supports two up axes.
        let axis = if self.up == UpAxis::Y { "Y" } else { "Z" };
        vec![
            ("defaultPrim", Value::Token(self.root.into())),
            ("endTimeCode", Value::Double(end)),
            ("framesPerSecond", Value::Double(self.frame_rate)),
            ("metersPerUnit", Value::Double(1.0)),
            ("startTimeCode", Value::Double(start)),
            ("timeCodesPerSecond", Value::Double(self.frame_rate)),
            ("upAxis", Value::Token(axis.into())),
        ]
    }

    /// The root prim.
    pub fn component(&self) -> Prim {
        let mut root = Prim::def("Xform", self.root);
        root.metadata.push(("kind", Value::Token("component".into())));
        root
    }

    /// The root prim of a scene: a world with x up is rotated so that it looks the same as in GLB.
    pub fn world(&self) -> Prim {
        let mut world = self.component();
        if self.up == UpAxis::X {
            let rows = [[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
            world.properties = transform(Content::Default(Value::Matrix(rows))).into();
        }
        world
    }
}

/// A transform and the list that says it is all.
fn transform(content: Content) -> [Property; 2] {
    let order = Value::Tokens(vec!["xformOp:transform".into()]);
    [Property::new("matrix4d", "xformOp:transform", content), Property::uniform("token[]", "xformOpOrder", order)]
}

/// The clip metadata: the clip of each time. Times in clips are those of the stage.
pub(super) fn clips(folder: &str, names: &[String], codes: &[f64], frames_per_clip: usize) -> Value {
    let asset = |name: &str| format!("./{folder}/{name}");
    let starts = codes.iter().step_by(frames_per_clip).enumerate();
    let mut times: Vec<[f64; 2]> = [codes.first(), codes.last()].into_iter().flatten().map(|code| [*code; 2]).collect();
    times.dedup();
    let entries = [
        ("active", Value::Double2s(starts.map(|(clip, code)| [*code, clip as f64]).collect())),
        ("assetPaths", Value::Assets(names.iter().map(|name| asset(name)).collect())),
        ("manifestAssetPath", Value::Asset(asset("manifest.usda"))),
        ("primPath", Value::Text("/World".into())),
        ("times", Value::Double2s(times)),
    ];
    let entries = entries.map(|(name, value)| (name.to_string(), value));
    Value::Dictionary(vec![("default".into(), Value::Dictionary(entries.into()))])
}

/// Points and transform of a shape; sampled only if it moves.
pub(super) fn rigid(points: &[[f32; 3]], rows: &[[Vec3; 4]], codes: &[f64]) -> Vec<Property> {
    let matrix = |rows: &[Vec3; 4]| {
        Value::Matrix(std::array::from_fn(|i| [rows[i].x, rows[i].y, rows[i].z, if i == 3 { 1.0 } else { 0.0 }]))
    };
    let content = match rows {
        [first, rest @ ..] if rest.iter().all(|rows| rows == first) => Content::Default(matrix(first)),
        _ => Content::Samples(codes.iter().zip(rows).map(|(code, rows)| (*code, matrix(rows))).collect()),
    };
    let mut properties = vec![
        Property::constant("float3[]", "extent", extent(points)),
        Property::constant("point3f[]", "points", Value::Float3s(points.into())),
    ];
    properties.extend(transform(content));
    properties
}

/// The corners of the box around some points.
pub(in crate::record) fn extent(points: &[[f32; 3]]) -> Value {
    let bounds = Bounds::of(points);
    Value::Float3s(if bounds.is_empty() { vec![[0.0; 3]; 2] } else { vec![bounds.min, bounds.max] })
}

/// The triangles of a mesh, each list from its time code on.
pub(in crate::record) fn triangles(triangles: &[(f64, Vec<[u32; 3]>)]) -> [Property; 2] {
    let counts = |triangles: &[[u32; 3]]| Value::Ints(vec![3; triangles.len()]);
    let indices = |triangles: &[[u32; 3]]| Value::Ints(triangles.as_flattened().iter().map(|v| *v as i32).collect());
    let content = |list: &dyn Fn(&[[u32; 3]]) -> Value| match triangles {
        [(_, triangles)] => Content::Default(list(triangles)),
        changes => Content::Samples(changes.iter().map(|(code, triangles)| (*code, list(triangles))).collect()),
    };
    [
        Property::new("int[]", "faceVertexCounts", content(&counts)),
        Property::new("int[]", "faceVertexIndices", content(&indices)),
    ]
}

/// The color of a mesh, and that its surface is as simulated.
pub(super) fn look(color: Rgb) -> [Property; 2] {
    let [r, g, b] = color.to_linear();
    [
        Property::constant("color3f[]", "primvars:displayColor", Value::Float3s(vec![[r, g, b]])).per("constant"),
        as_simulated(),
    ]
}

/// That a surface is not subdivided.
pub(in crate::record) fn as_simulated() -> Property {
    Property::uniform("token", "subdivisionScheme", Value::Token("none".into()))
}
