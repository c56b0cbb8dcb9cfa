//! An animated shot as GLB: deforming bodies as morph targets, rigid bodies as moving nodes, one animation for all.

use std::f32::consts::FRAC_1_SQRT_2;

use serde_json::{Value, json};

use crate::error::WriteError;
use crate::gltf::encode::{Encoder, Use};
use crate::gltf::shading::rigid_normals;

pub use crate::gltf::morph::{MorphFit, fit_morph_targets};
pub use crate::gltf::shading::{MorphNormals, shaded_frames};

/// The axis that points up in the positions of a shot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpAxis {
    /// First axis.
    X,
    /// Second axis, as in glTF.
    Y,
    /// Third axis.
    Z,
}

impl UpAxis {
    /// The rotation that makes this axis glTF's +Y, as x, y, z, w.
    fn rotation(self) -> Option<[f32; 4]> {
        match self {
            UpAxis::X => Some([0.0, 0.0, FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
            UpAxis::Y => None,
            UpAxis::Z => Some([-FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2]),
        }
    }
}

/// Bodies in motion.
#[derive(Clone, Debug)]
pub struct Shot<'a> {
    /// Name of the scene and of its animation.
    pub title: &'a str,
    /// Time of each frame \[s\], ascending from 0 or later.
    pub frame_times: &'a [f64],
    /// The axis that points up; a root node rotates it to glTF's +Y.
    pub up: UpAxis,
    /// The bodies.
    pub parts: Vec<Part<'a>>,
}

/// A body in motion.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Name of its node and mesh.
    pub name: &'a str,
    /// Linear red, green and blue in \[0, 1\].
    pub color: [f32; 3],
    /// Its surface, seen from outside counterclockwise.
    pub triangles: &'a [[u32; 3]],
    /// How it moves.
    pub motion: PartMotion<'a>,
}

/// How a body moves.
#[derive(Clone, Debug)]
pub enum PartMotion<'a> {
    /// By morph targets with animated weights.
    Deforming(&'a MorphFit),
    /// As a rigid body.
    Rigid {
        /// Positions \[m\] in the body's own frame.
        positions: &'a [[f32; 3]],
        /// Translation \[m\] and rotation (quaternion x, y, z, w) at each frame.
        poses: &'a [([f32; 3], [f32; 4])],
    },
}

/// Encodes a GLB with one animation.
///
/// Viewers interpolate linearly between frames. Normals are fitted to those of the frames. Skips bodies without
/// triangles. Rejects frame times that do not ascend in single precision, inconsistent frame counts, invalid vertex
/// indices, and non-finite positions.
pub fn encode_shot(shot: &Shot) -> Result<Vec<u8>, WriteError> {
    let mut encoder = Encoder::default();
    let times = frame_times(shot)?;
    let mut track = Track { times: &times, input: None, samplers: Vec::new(), channels: Vec::new() };
    let mut root_node = json!({"name": shot.title});
    if let Some(rotation) = shot.up.rotation() {
        root_node["rotation"] = json!(rotation);
    }
    let (mut nodes, mut meshes, mut materials) = (vec![root_node], Vec::new(), Vec::new());
    for part in &shot.parts {
        let positions = match &part.motion {
            PartMotion::Deforming(fit) => fit.base.as_slice(),
            PartMotion::Rigid { positions, .. } => positions,
        };
        check_part(part, positions, times.len())?;
        if part.triangles.is_empty() {
            continue;
        }
        let (mut mesh, mut node) = (json!({"name": part.name}), json!({"name": part.name, "mesh": meshes.len()}));
        let normals = match &part.motion {
            PartMotion::Deforming(fit) => MorphNormals::of(fit, part.triangles),
            PartMotion::Rigid { .. } => {
                MorphNormals { base: rigid_normals(positions, part.triangles), changes: Vec::new() }
            }
        };
        let mut primitive = json!({
            "attributes": {
                "POSITION": encoder.vectors(positions, Use::Vertices),
                "NORMAL": encoder.vectors(&normals.base, Use::Vertices),
            },
            "indices": encoder.indices(part.triangles.as_flattened()),
            "material": materials.len(),
        });
        match &part.motion {
            PartMotion::Deforming(fit) if !fit.targets.is_empty() => {
                let target = |(target, turned): (&Vec<[f32; 3]>, &Vec<[f32; 3]>)| {
                    json!({
                        "POSITION": encoder.vectors(target, Use::Vertices),
                        "NORMAL": encoder.vectors(turned, Use::Vertices),
                    })
                };
                primitive["targets"] = fit.targets.iter().zip(&normals.changes).map(target).collect();
                let names: Vec<String> = (1..=fit.targets.len()).map(|k| format!("motion {k}")).collect();
                mesh["extras"] = json!({"targetNames": names});
                if let Some(first) = fit.weights.get(..fit.targets.len()) {
                    mesh["weights"] = json!(first);
                    track.add(&mut encoder, nodes.len(), "weights", fit.weights.as_chunks::<1>().0, fit.targets.len());
                }
            }
            PartMotion::Deforming(_) => {}
            PartMotion::Rigid { poses, .. } => {
                let translations: Vec<[f32; 3]> = poses.iter().map(|pose| pose.0).collect();
                let rotations = continuous(part.name, poses)?;
                if let (Some(translation), Some(rotation)) = (translations.first(), rotations.first()) {
                    node["translation"] = json!(translation);
                    node["rotation"] = json!(rotation);
                }
                track.add(&mut encoder, nodes.len(), "translation", &translations, 1);
                track.add(&mut encoder, nodes.len(), "rotation", &rotations, 1);
            }
        }
        let [r, g, b] = part.color.map(|color| color.clamp(0.0, 1.0));
        materials.push(json!({
            "name": part.name,
            "doubleSided": false,
            "pbrMetallicRoughness": {"baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6},
        }));
        mesh["primitives"] = json!([primitive]);
        nodes.push(node);
        meshes.push(mesh);
    }
    if nodes.len() > 1 {
        nodes[0]["children"] = (1..nodes.len()).collect();
    }
    let mut root = json!({"scene": 0, "scenes": [{"name": shot.title, "nodes": [0]}], "nodes": nodes});
    if !track.channels.is_empty() {
        root["animations"] = json!([{"name": shot.title, "channels": track.channels, "samplers": track.samplers}]);
    }
    if !meshes.is_empty() {
        (root["meshes"], root["materials"]) = (meshes.into(), materials.into());
    }
    encoder.finish(root, true)
}

/// The animation under construction.
struct Track<'a> {
    times: &'a [[f32; 1]],
    /// The accessor of the times, created on first use.
    input: Option<usize>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Track<'_> {
    /// Animates a property of a node, unless its `per_frame` vectors are the same in all frames.
    fn add<const N: usize>(
        &mut self,
        encoder: &mut Encoder,
        node: usize,
        path: &str,
        keys: &[[f32; N]],
        per_frame: usize,
    ) {
        let (first, rest) = keys.split_at(per_frame.min(keys.len()));
        if rest.chunks(per_frame).all(|frame| frame == first) {
            return;
        }
        let input = *self.input.get_or_insert_with(|| encoder.vectors(self.times, Use::Keys));
        let output = encoder.vectors(keys, Use::Keys);
        self.channels.push(json!({"sampler": self.samplers.len(), "target": {"node": node, "path": path}}));
        self.samplers.push(json!({"input": input, "output": output, "interpolation": "LINEAR"}));
    }
}

fn refused(what: String, hint: &'static str) -> WriteError {
    WriteError::Unsupported { format: "glTF", what, hint }
}

fn frame_times(shot: &Shot) -> Result<Vec<[f32; 1]>, WriteError> {
    let times: Vec<[f32; 1]> = shot.frame_times.iter().map(|time| [*time as f32]).collect();
    let mut before = -f32::MIN_POSITIVE;
    for (frame, [time]) in times.iter().enumerate() {
        if !(*time > before && *time >= 0.0 && time.is_finite()) {
            let what = format!("the time {} s of frame {frame}", shot.frame_times[frame]);
            return Err(refused(what, "times must ascend, from 0 or later, in single precision"));
        }
        before = *time;
    }
    Ok(times)
}

fn check_part(part: &Part, positions: &[[f32; 3]], frame_count: usize) -> Result<(), WriteError> {
    let Part { name, .. } = part;
    let beyond = |vertex: &u32| *vertex as usize >= positions.len();
    if let Some(triangle) = part.triangles.iter().position(|triangle| triangle.iter().any(beyond)) {
        let what = format!("triangle {triangle} of \"{name}\", whose vertices do not exist");
        return Err(refused(what, "triangles count vertices from 0"));
    }
    let is_finite = |shape: &[[f32; 3]]| shape.as_flattened().iter().all(|x| x.is_finite());
    let (are_finite, is_complete) = match &part.motion {
        PartMotion::Deforming(fit) => (
            is_finite(&fit.base)
                && fit.targets.iter().all(|target| is_finite(target))
                && fit.weights.iter().all(|w| w.is_finite()),
            fit.weights.len() == frame_count * fit.targets.len()
                && fit.targets.iter().all(|t| t.len() == positions.len()),
        ),
        PartMotion::Rigid { poses, .. } => {
            let are_finite = poses.iter().all(|(x, q)| x.iter().chain(q).all(|x| x.is_finite()));
            (is_finite(positions) && are_finite, poses.len() == frame_count)
        }
    };
    if !are_finite {
        return Err(refused(
            format!("positions of \"{name}\" that are not finite"),
            "the simulation must have failed earlier",
        ));
    }
    if !is_complete {
        let what = format!("a motion of \"{name}\" whose number of entries is not {frame_count}, the number of frames");
        return Err(refused(what, "give as many frames as times"));
    }
    Ok(())
}

/// Unit quaternions, each in the hemisphere of the previous one: q and −q are the same rotation, but interpolating
/// between them makes a full turn.
fn continuous(name: &str, poses: &[([f32; 3], [f32; 4])]) -> Result<Vec<[f32; 4]>, WriteError> {
    let mut rotations: Vec<[f32; 4]> = Vec::with_capacity(poses.len());
    for (frame, (_, rotation)) in poses.iter().enumerate() {
        let rotation = rotation.map(f64::from);
        let norm = rotation.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm < 1e-6 {
            let what = format!("the rotation of \"{name}\" at frame {frame}");
            return Err(refused(what, "rotations are quaternions of length 1"));
        }
        let cosine: f64 =
            rotations.last().map_or(1.0, |q| q.iter().zip(&rotation).map(|(a, b)| f64::from(*a) * b).sum());
        let factor = if cosine < 0.0 { -norm.recip() } else { norm.recip() };
        rotations.push(rotation.map(|x| (x * factor) as f32));
    }
    Ok(rotations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoCompanions;
    use crate::gltf;

    /// A tetrahedron.
    const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const FACES: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

    fn shot<'a>(times: &'a [f64], fit: &'a MorphFit, poses: &'a [([f32; 3], [f32; 4])]) -> Shot<'a> {
        let part = |name, motion| Part { name, color: [0.8, 0.2, 0.1], triangles: &FACES, motion };
        let soft = part("soft", PartMotion::Deforming(fit));
        let hard = part("hard", PartMotion::Rigid { positions: &CORNERS, poses });
        Shot { title: "test", frame_times: times, up: UpAxis::Z, parts: vec![soft, hard] }
    }

    fn stretched() -> MorphFit {
        let frame = |t: f32| CORNERS.iter().map(|[x, y, z]| [*x, *y, z * (1.0 + t)]).collect();
        fit_morph_targets(&[frame(0.0), frame(1.0), frame(0.5)], 4)
    }

    const POSES: [([f32; 3], [f32; 4]); 3] = [
        ([2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        ([2.0, 1.0, 0.0], [0.0, 0.0, -0.6, -0.8]),
        ([2.0, 2.0, 0.0], [0.0, 0.0, 2.0, 0.0]),
    ];

    /// The JSON of a GLB and its buffer.
    fn opened(glb: &[u8]) -> (Value, &[u8]) {
        let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
        (serde_json::from_slice(&glb[20..20 + length]).unwrap(), &glb[28 + length..])
    }

    fn floats(file: &(Value, &[u8]), accessor: &Value) -> Vec<f32> {
        let view = &file.0["bufferViews"]
            [file.0["accessors"][accessor.as_u64().unwrap() as usize]["bufferView"].as_u64().unwrap() as usize];
        let (start, length) =
            (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
        file.1[start..start + length].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    #[test]
    fn the_rest_pose_is_the_first_place_of_rigid_bodies_turned_up() {
        let fit = stretched();
        let glb = encode_shot(&shot(&[0.0, 0.5, 1.0], &fit, &POSES)).unwrap();
        let mesh = gltf::read(&glb, &NoCompanions).unwrap();
        assert_eq!((mesh.points.len(), mesh.cell_sets["soft"].len(), mesh.cell_sets["hard"].len()), (8, 4, 4));
        // Z up becomes Y up: (x, y, z) maps to (x, z, −y).
        for (corner, point) in CORNERS.iter().zip(&mesh.points[4..]) {
            let [x, y, z] = corner.map(f64::from);
            let wanted = sinew_math::Vec3::new(x + 2.0, z, -y);
            assert!((*point - wanted).norm() < 1e-6, "{point:?}");
        }
    }

    #[test]
    fn up_axes_are_turned_to_the_second() {
        for (up, axis) in [(UpAxis::X, 0), (UpAxis::Y, 1), (UpAxis::Z, 2)] {
            let [x, y, z, w] = up.rotation().unwrap_or([0.0, 0.0, 0.0, 1.0]).map(f64::from);
            let rotation = sinew_math::Quaternion::from_parts(w, sinew_math::Vec3::new(x, y, z));
            let turned = rotation.rotate(sinew_math::Vec3::unit(axis));
            assert!((turned - sinew_math::Vec3::unit(1)).norm() < 1e-6);
        }
    }

    #[test]
    fn keys_are_unit_quaternions_on_one_side_and_weights_of_all_targets() {
        let fit = stretched();
        assert_eq!(fit.targets.len(), 1);
        let glb = encode_shot(&shot(&[0.0, 0.5, 1.0], &fit, &POSES)).unwrap();
        let file = opened(&glb);
        let animation = &file.0["animations"][0];
        let paths: Vec<_> = animation["channels"].as_array().unwrap().iter().map(|c| &c["target"]["path"]).collect();
        assert_eq!(paths, ["weights", "translation", "rotation"]);
        let output = |k: usize| floats(&file, &animation["samplers"][k]["output"]);
        assert_eq!(floats(&file, &animation["samplers"][0]["input"]), [0.0, 0.5, 1.0]);
        assert_eq!(output(0), fit.weights);
        assert_eq!(output(1), POSES.iter().flat_map(|pose| pose.0).collect::<Vec<_>>());
        assert_eq!(output(2), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.6, 0.8, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(file.0["meshes"][0]["weights"], json!([fit.weights[0]]));
    }

    #[test]
    fn bodies_at_rest_need_no_animation() {
        let fit = fit_morph_targets(&[CORNERS.to_vec(), CORNERS.to_vec()], 4);
        let still = [POSES[0], POSES[0]];
        let glb = encode_shot(&shot(&[0.0, 1.0], &fit, &still)).unwrap();
        let (document, _) = opened(&glb);
        assert!(document.get("animations").is_none() && document["meshes"].as_array().unwrap().len() == 2);
        let empty = Shot { title: "nothing", frame_times: &[], up: UpAxis::Y, parts: Vec::new() };
        assert!(encode_shot(&empty).unwrap().starts_with(b"glTF"));
    }

    #[test]
    fn shots_that_do_not_fit_together_are_refused() {
        let fit = stretched();
        let refusal = |shot: &Shot| encode_shot(shot).unwrap_err().to_string();
        assert!(refusal(&shot(&[0.0, 0.5], &fit, &POSES[..2])).contains("\"soft\""));
        assert!(refusal(&shot(&[0.0, 0.5, 1.0], &fit, &POSES[..2])).contains("\"hard\" whose number of entries"));
        assert!(refusal(&shot(&[0.0, 0.5, 0.5], &fit, &POSES)).contains("frame 2"));
        assert!(refusal(&shot(&[-1.0, 0.5, 1.0], &fit, &POSES)).contains("-1 s of frame 0"));
        let mut poses = POSES;
        poses[1].1 = [0.0; 4];
        assert!(refusal(&shot(&[0.0, 0.5, 1.0], &fit, &poses)).contains("rotation of \"hard\" at frame 1"));
        let mut bad = fit.clone();
        bad.base[0][0] = f32::NAN;
        assert!(refusal(&shot(&[0.0, 0.5, 1.0], &bad, &POSES)).contains("not finite"));
        let mut bad = shot(&[0.0, 0.5, 1.0], &fit, &POSES);
        bad.parts[1].triangles = &[[0, 1, 4]];
        assert!(refusal(&bad).contains("triangle 0 of \"hard\""));
    }
}
