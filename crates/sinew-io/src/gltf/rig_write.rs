//! Writer for characters.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sinew_math::{Quaternion, Vec3};
use sinew_rig::{
    Affine, Animation, Channel, Interpolation, Keys, MorphTarget, Node, Part, Rig, Skin, Surface, Transform,
};

use crate::error::WriteError;
use crate::gltf::encode::{Encoder, Use};
use crate::gltf::rig_write_appearance::add_appearance;
use crate::gltf::rig_write_check::check_rig;

/// Joints per vertex in one attribute.
const SET_WIDTH: usize = 4;

pub(super) fn write_rig(rig: &Rig, extras: Option<&Value>, glb: bool) -> Result<Vec<u8>, WriteError> {
    check_rig(rig)?;
    let mut encoder = Encoder::default();
    let mut root = json!({});
    // A mesh needs at least one primitive, so surfaces without triangles get no mesh.
    let (mut meshes, mut mesh_of) = (Vec::new(), Vec::with_capacity(rig.surfaces.len()));
    for surface in &rig.surfaces {
        let mesh = write_surface(surface, &mut encoder);
        mesh_of.push(mesh.is_some().then_some(meshes.len()));
        meshes.extend(mesh);
    }
    let nodes: Vec<Value> = write_nodes(rig, &mesh_of);
    if !nodes.is_empty() {
        let roots = rig.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_none() && node.is_shown);
        let roots: Vec<usize> = roots.map(|(node, _)| node).collect();
        root["scenes"] = if roots.is_empty() { json!([{}]) } else { json!([{"nodes": roots}]) };
        root["scene"] = 0.into();
    }
    let skins: Vec<Value> = rig.skins.iter().map(|skin| write_skin(skin, &mut encoder)).collect();
    let mut inputs = BTreeMap::new();
    let animations: Vec<Value> = rig
        .animations
        .iter()
        .filter_map(|animation| write_animation(animation, rig, &mesh_of, &mut inputs, &mut encoder))
        .collect();
    for (key, list) in [("nodes", nodes), ("meshes", meshes), ("skins", skins), ("animations", animations)] {
        if !list.is_empty() {
            root[key] = list.into();
        }
    }
    add_appearance(&rig.appearance, &mut root, &mut encoder);
    if let Some(extras) = extras {
        root["extras"] = extras.clone();
    }
    encoder.finish(root, glb)
}

/// An object with a name, if there is one.
pub(super) fn named(name: &str) -> Value {
    if name.is_empty() { json!({}) } else { json!({"name": name}) }
}

/// Morph targets of a surface; parts with fewer get empty ones.
pub(super) fn target_count(surface: &Surface) -> usize {
    surface.parts.iter().map(|part| part.morph_targets.len()).max().unwrap_or(0)
}

fn write_nodes(rig: &Rig, mesh_of: &[Option<usize>]) -> Vec<Value> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rig.nodes.len()];
    for (i, node) in rig.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children[parent].push(i);
        }
    }
    rig.nodes.iter().zip(children).map(|(node, children)| write_node(rig, node, &children, mesh_of)).collect()
}

fn write_node(rig: &Rig, node: &Node, children: &[usize], mesh_of: &[Option<usize>]) -> Value {
    let mut object = named(&node.name);
    if !children.is_empty() {
        object["children"] = children.into();
    }
    match node.transform {
        Transform::Matrix(affine) => object["matrix"] = json!(columns(&affine)),
        Transform::Parts { translation, rotation, scale } => {
            if translation != Vec3::zero() {
                object["translation"] = json!(translation.to_array());
            }
            if rotation != Quaternion::identity() {
                let [x, y, z] = rotation.vector().to_array();
                object["rotation"] = json!([x, y, z, rotation.w]);
            }
            if scale != Vec3::new(1.0, 1.0, 1.0) {
                object["scale"] = json!(scale.to_array());
            }
        }
    }
    // Skins and weights need a mesh.
    if let Some((surface, mesh)) = node.surface.and_then(|surface| Some((surface, mesh_of[surface]?))) {
        object["mesh"] = mesh.into();
        if let Some(skin) = node.skin {
            object["skin"] = skin.into();
        }
        let targets = target_count(&rig.surfaces[surface]);
        if let (Some(weights), true) = (&node.morph_weights, targets > 0) {
            object["weights"] = resized(weights, targets);
        }
    }
    object
}

/// As many weights as there are targets.
fn resized(weights: &[f64], count: usize) -> Value {
    weights.iter().copied().chain(std::iter::repeat(0.0)).take(count).collect()
}

/// Columns of the matrix of an affine map.
fn columns(affine: &Affine) -> [f64; 16] {
    let Affine { linear, translation } = affine;
    let mut numbers = [0.0; 16];
    for (k, column) in [linear.column(0), linear.column(1), linear.column(2), *translation].iter().enumerate() {
        numbers[4 * k..4 * k + 3].copy_from_slice(&column.to_array());
    }
    numbers[15] = 1.0;
    numbers
}

fn write_skin(skin: &Skin, encoder: &mut Encoder) -> Value {
    let matrices: Vec<[f32; 16]> = skin.inverse_binds.iter().map(|bind| columns(bind).map(|x| x as f32)).collect();
    let mut object = named(&skin.name);
    object["joints"] = skin.joints.as_slice().into();
    object["inverseBindMatrices"] = encoder.matrices(&matrices).into();
    object
}

/// The mesh of a surface, or `None` if it has no triangles.
fn write_surface(surface: &Surface, encoder: &mut Encoder) -> Option<Value> {
    let targets = target_count(surface);
    let parts = surface.parts.iter().filter(|part| !part.triangles.is_empty());
    let primitives: Vec<Value> = parts.map(|part| write_part(part, targets, encoder)).collect();
    if primitives.is_empty() {
        return None;
    }
    let mut object = named(&surface.name);
    object["primitives"] = primitives.into();
    if targets > 0 {
        object["weights"] = resized(&surface.morph_weights, targets);
        let most = surface.parts.iter().max_by_key(|part| part.morph_targets.len());
        let names: Vec<&str> =
            most.iter().flat_map(|part| &part.morph_targets).map(|target| target.name.as_str()).collect();
        if names.iter().any(|name| !name.is_empty()) {
            object["extras"] = json!({"targetNames": names});
        }
    }
    Some(object)
}

fn write_part(part: &Part, target_count: usize, encoder: &mut Encoder) -> Value {
    let mut attributes = json!({"POSITION": encoder.vectors(&single(&part.positions), Use::Vertices)});
    if !part.normals.is_empty() {
        let normals: Vec<[f32; 3]> = part.normals.iter().map(|normal| unit(*normal)).collect();
        attributes["NORMAL"] = encoder.vectors(&normals, Use::Vertices).into();
    }
    for (set, places) in part.texcoords.iter().enumerate() {
        attributes[format!("TEXCOORD_{set}")] = encoder.vectors(places, Use::Vertices).into();
    }
    if !part.colors.is_empty() {
        let colors: Vec<[f32; 4]> = part.colors.iter().map(|color| color.map(|x| x.clamp(0.0, 1.0))).collect();
        attributes["COLOR_0"] = encoder.vectors(&colors, Use::Vertices).into();
    }
    for (name, values) in &part.numbers {
        let values: Vec<[f32; 1]> = values.iter().map(|value| [*value]).collect();
        attributes[name] = encoder.vectors(&values, Use::Vertices).into();
    }
    for set in 0..part.weights.width.div_ceil(SET_WIDTH) {
        let (joints, weights) = weight_set(part, set);
        attributes[format!("JOINTS_{set}")] = encoder.joints(&joints).into();
        attributes[format!("WEIGHTS_{set}")] = encoder.vectors(&weights, Use::Vertices).into();
    }
    let mut primitive = json!({"attributes": attributes, "indices": encoder.indices(part.triangles.as_flattened())});
    if let Some(material) = part.material {
        primitive["material"] = material.into();
    }
    if target_count > 0 {
        let nothing = MorphTarget::default();
        let targets = part.morph_targets.iter().chain(std::iter::repeat(&nothing)).take(target_count);
        // All targets of a primitive have the same attributes; normals change only if there are normals.
        let has_normals = !part.normals.is_empty() && part.morph_targets.iter().any(|t| !t.normals.is_empty());
        let write = |target: &MorphTarget| {
            let mut object = json!({"POSITION": match target.positions.is_empty() {
                true => encoder.zeros(part.positions.len()),
                false => encoder.displacements(&single(&target.positions)),
            }});
            if has_normals {
                object["NORMAL"] = match target.normals.is_empty() {
                    true => encoder.zeros(part.positions.len()).into(),
                    false => encoder.displacements(&target.normals).into(),
                };
            }
            object
        };
        primitive["targets"] = targets.map(write).collect();
    }
    primitive
}

/// Joints and weights of one attribute; joints beyond the width of the part have no weight.
fn weight_set(part: &Part, set: usize) -> (Vec<[u16; SET_WIDTH]>, Vec<[f32; SET_WIDTH]>) {
    let width = part.weights.width;
    let used = SET_WIDTH.min(width - SET_WIDTH * set);
    let (mut joints, mut weights) =
        (vec![[0; SET_WIDTH]; part.positions.len()], vec![[0.0; SET_WIDTH]; part.positions.len()]);
    for vertex in 0..part.positions.len() {
        let start = vertex * width + SET_WIDTH * set;
        for k in 0..used {
            joints[vertex][k] = part.weights.joints[start + k] as u16;
            weights[vertex][k] = part.weights.weights[start + k];
        }
    }
    (joints, weights)
}

fn single(vectors: &[Vec3]) -> Vec<[f32; 3]> {
    vectors.iter().map(|vector| vector.to_array().map(|x| x as f32)).collect()
}

/// Normalizes a normal, which the format requires; a zero vector becomes up.
fn unit(normal: [f32; 3]) -> [f32; 3] {
    let length = normal.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    // Normals of unit length in single precision stay unchanged.
    if (length - 1.0).abs() < 1e-6 {
        normal
    } else if length > 0.0 {
        normal.map(|x| (f64::from(x) / length) as f32)
    } else {
        [0.0, 1.0, 0.0]
    }
}

/// An animation, or `None` if nothing moves. `inputs` has the accessors of times written before, which most channels
/// share.
fn write_animation(
    animation: &Animation,
    rig: &Rig,
    mesh_of: &[Option<usize>],
    inputs: &mut BTreeMap<Vec<u32>, usize>,
    encoder: &mut Encoder,
) -> Option<Value> {
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    for channel in animation.channels.iter().filter(|channel| !channel.times.is_empty()) {
        let path = match &channel.keys {
            Keys::Translation(_) => "translation",
            Keys::Rotation(_) => "rotation",
            Keys::Scale(_) => "scale",
            // Weights need a mesh with morph targets.
            Keys::Morph(width, _) => match rig.nodes[channel.node].surface.and_then(|surface| mesh_of[surface]) {
                Some(_) if *width > 0 => "weights",
                _ => continue,
            },
        };
        let times: Vec<[f32; 1]> = channel.times.iter().map(|&time| [time as f32]).collect();
        let bits = times.iter().map(|[time]| time.to_bits()).collect();
        let input = *inputs.entry(bits).or_insert_with(|| encoder.vectors(&times, Use::Keys));
        let (interpolation, output) = write_keys(channel, encoder);
        channels.push(json!({"sampler": samplers.len(), "target": {"node": channel.node, "path": path}}));
        samplers.push(json!({"input": input, "output": output, "interpolation": interpolation}));
    }
    if channels.is_empty() {
        return None;
    }
    let mut object = named(&animation.name);
    (object["channels"], object["samplers"]) = (channels.into(), samplers.into());
    Some(object)
}

/// Name of the interpolation and accessor of the values.
fn write_keys(channel: &Channel, encoder: &mut Encoder) -> (&'static str, usize) {
    // glTF splines need at least two keys. With one key there is nothing to interpolate, so its slopes do not matter.
    let is_constant = channel.interpolation == Interpolation::CubicSpline && channel.times.len() == 1;
    let interpolation = match channel.interpolation {
        Interpolation::Linear => "LINEAR",
        Interpolation::CubicSpline if !is_constant => "CUBICSPLINE",
        Interpolation::Step | Interpolation::CubicSpline => "STEP",
    };
    let is_spline = interpolation == "CUBICSPLINE";
    let output = match &channel.keys {
        Keys::Translation(keys) | Keys::Scale(keys) => {
            let keys = if is_constant { &keys[1..2] } else { &keys[..] };
            encoder.vectors(&single(keys), Use::Keys)
        }
        Keys::Rotation(keys) => {
            let keys = if is_constant { &keys[1..2] } else { &keys[..] };
            let rotation = |(k, key): (usize, &[f64; 4])| {
                let length = key.iter().map(|x| x * x).sum::<f64>().sqrt();
                // The format requires unit length, but not of slopes.
                let is_slope = is_spline && k % 3 != 1;
                let [w, x, y, z] = if is_slope { *key } else { key.map(|x| x / length) };
                [x, y, z, w].map(|x| x as f32)
            };
            let rotations: Vec<[f32; 4]> = keys.iter().enumerate().map(rotation).collect();
            encoder.vectors(&rotations, Use::Keys)
        }
        Keys::Morph(width, keys) => {
            let keys = if is_constant { &keys[*width..2 * width] } else { &keys[..] };
            let keys: Vec<[f32; 1]> = keys.iter().map(|&key| [key as f32]).collect();
            encoder.vectors(&keys, Use::Keys)
        }
    };
    (interpolation, output)
}
