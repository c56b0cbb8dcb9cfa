//! Consistency checks of a character before it is written.

use sinew_math::Vec3;
use sinew_rig::{Channel, Interpolation, Keys, Part, Rig, Transform};

use crate::error::WriteError;
use crate::gltf::rig_write::target_count;
use crate::gltf::rig_write_appearance::is_verbatim;

/// What is inconsistent, and a hint.
type Misfit = (String, &'static str);

const INDEX: &str = "numbers count from 0 in the lists of the character";
const LENGTH: &str = "lists of a part are as long as its positions, or empty";
const FINITE: &str = "numbers must be finite and at most 3.4e38; scale the character";

/// Rejects characters that would give an unreadable file.
pub(super) fn check_rig(rig: &Rig) -> Result<(), WriteError> {
    misfit(rig).map_or(Ok(()), |(what, hint)| Err(WriteError::Unsupported { format: "glTF", what, hint }))
}

fn misfit(rig: &Rig) -> Option<Misfit> {
    misfit_of_nodes(rig)
        .or_else(|| misfit_of_skins(rig))
        .or_else(|| misfit_of_surfaces(rig))
        .or_else(|| misfit_of_animations(rig))
        .or_else(|| misfit_of_appearance(rig))
}

fn is_beyond(index: Option<usize>, count: usize) -> bool {
    index.is_some_and(|index| index >= count)
}

fn is_single(x: f64) -> bool {
    (x as f32).is_finite()
}

fn are_single(vectors: &[Vec3]) -> bool {
    vectors.iter().all(|vector| vector.to_array().into_iter().all(is_single))
}

fn misfit_of_nodes(rig: &Rig) -> Option<Misfit> {
    for (i, node) in rig.nodes.iter().enumerate() {
        let indices = [
            ("parent", node.parent, rig.nodes.len()),
            ("surface", node.surface, rig.surfaces.len()),
            ("skin", node.skin, rig.skins.len()),
        ];
        for (what, index, count) in indices {
            if is_beyond(index, count) {
                return Some((format!("node {i}, whose {what} does not exist"), INDEX));
            }
        }
        let is_finite = node.transform.to_affine().is_finite()
            && match node.transform {
                Transform::Parts { rotation, .. } => rotation.norm_squared() > 0.0,
                Transform::Matrix(_) => true,
            }
            && node.morph_weights.iter().flatten().all(|weight| weight.is_finite());
        if !is_finite {
            return Some((format!("the transform or weights of node {i}"), FINITE));
        }
    }
    // On a cycle no order puts all parents first.
    let mut rank = vec![0; rig.nodes.len()];
    for (position, node) in rig.order().into_iter().enumerate() {
        rank[node] = position;
    }
    let late = (0..rig.nodes.len()).find(|&i| rig.nodes[i].parent.is_some_and(|parent| rank[parent] >= rank[i]));
    late.map(|i| (format!("node {i}, which is its own descendant"), "parents make a tree"))
}

fn misfit_of_skins(rig: &Rig) -> Option<Misfit> {
    for (i, skin) in rig.skins.iter().enumerate() {
        if skin.joints.is_empty() || skin.joints.len() != skin.inverse_binds.len() {
            return Some((
                format!("skin {i} of {} joints with {} binds", skin.joints.len(), skin.inverse_binds.len()),
                "a skin has at least one joint, and one bind for each",
            ));
        }
        if skin.joints.iter().any(|&joint| joint >= rig.nodes.len()) {
            return Some((format!("skin {i} with a joint that does not exist"), INDEX));
        }
        let columns = |k: usize| skin.inverse_binds.iter().map(move |bind| bind.linear.column(k));
        let vectors: Vec<Vec3> =
            (0..3).flat_map(columns).chain(skin.inverse_binds.iter().map(|bind| bind.translation)).collect();
        if !are_single(&vectors) {
            return Some((format!("the binds of skin {i}"), FINITE));
        }
    }
    None
}

fn misfit_of_surfaces(rig: &Rig) -> Option<Misfit> {
    for (i, surface) in rig.surfaces.iter().enumerate() {
        if surface.morph_weights.iter().any(|weight| !weight.is_finite()) {
            return Some((format!("the morph weights of surface {i}"), FINITE));
        }
        for (k, part) in surface.parts.iter().enumerate() {
            if let Some((what, hint)) = misfit_of_part(part, rig.appearance.materials.len()) {
                return Some((format!("part {k} of surface {i}: {what}"), hint));
            }
        }
    }
    None
}

fn misfit_of_part(part: &Part, material_count: usize) -> Option<Misfit> {
    let count = part.positions.len();
    let is_wrong = |length: usize| length != 0 && length != count;
    if is_wrong(part.normals.len())
        || is_wrong(part.colors.len())
        || part.texcoords.iter().any(|places| places.len() != count)
        || part.numbers.values().any(|values| values.len() != count)
        || part.morph_targets.iter().any(|target| is_wrong(target.positions.len()) || is_wrong(target.normals.len()))
    {
        return Some(("attributes of another number of vertices".into(), LENGTH));
    }
    let weights = &part.weights;
    if weights.joints.len() != count * weights.width || weights.weights.len() != count * weights.width {
        return Some(("weights of another number of vertices".into(), "every vertex has `width` joints and weights"));
    }
    if weights.joints.iter().any(|&joint| joint > u32::from(u16::MAX)) {
        return Some(("a joint beyond 65535".into(), "skins of glTF have no more joints"));
    }
    if part.triangles.as_flattened().iter().any(|&vertex| vertex as usize >= count) {
        return Some(("a triangle whose vertex does not exist".into(), INDEX));
    }
    if is_beyond(part.material, material_count) {
        return Some(("its material does not exist".into(), INDEX));
    }
    let single = [part.normals.as_flattened(), part.colors.as_flattened(), &weights.weights];
    let is_finite = are_single(&part.positions)
        && part.morph_targets.iter().all(|target| are_single(&target.positions))
        && part.morph_targets.iter().all(|target| target.normals.as_flattened().iter().all(|x| x.is_finite()))
        && single.iter().all(|numbers| numbers.iter().all(|x| x.is_finite()))
        && part.numbers.values().flatten().all(|x| x.is_finite())
        && part.texcoords.iter().all(|places| places.as_flattened().iter().all(|x| x.is_finite()));
    if !is_finite {
        return Some(("a number that is not finite".into(), FINITE));
    }
    let is_negative = weights.weights.iter().any(|&weight| weight < 0.0);
    is_negative.then(|| ("a negative weight".into(), "weights are shares of a vertex"))
}

fn misfit_of_animations(rig: &Rig) -> Option<Misfit> {
    for (i, animation) in rig.animations.iter().enumerate() {
        for (k, channel) in animation.channels.iter().enumerate() {
            if let Some((what, hint)) = misfit_of_channel(rig, channel) {
                return Some((format!("channel {k} of animation {i}: {what}"), hint));
            }
        }
    }
    None
}

fn misfit_of_channel(rig: &Rig, channel: &Channel) -> Option<Misfit> {
    let Some(node) = rig.nodes.get(channel.node) else {
        return Some((format!("node {} does not exist", channel.node), INDEX));
    };
    let values_per_key = if channel.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    let expected = channel.times.len() * values_per_key;
    let (found, is_finite) = match &channel.keys {
        Keys::Translation(keys) | Keys::Scale(keys) => (keys.len(), are_single(keys)),
        Keys::Rotation(keys) => (keys.len(), keys.iter().flatten().copied().all(is_single)),
        Keys::Morph(width, keys) => {
            let targets = node.surface.map_or(0, |surface| target_count(&rig.surfaces[surface]));
            if *width != targets {
                let what = format!("weights of {width} morph targets for a node that has {targets}");
                return Some((what, "a channel has one weight for each morph target of the surface"));
            }
            let is_whole = keys.len().is_multiple_of((*width).max(1));
            (if is_whole { keys.len() / (*width).max(1) } else { usize::MAX }, keys.iter().copied().all(is_single))
        }
    };
    // These are not written.
    if matches!(channel.keys, Keys::Morph(0, _)) || channel.times.is_empty() {
        return None;
    }
    if found != expected {
        let what = format!("another number of values than its {} keys need", channel.times.len());
        return Some((what, "one value for each key, three for those of splines"));
    }
    if let Keys::Rotation(keys) = &channel.keys {
        let mut rotations = keys.iter().skip(values_per_key / 2).step_by(values_per_key);
        if rotations.any(|key| key.iter().all(|x| *x == 0.0)) {
            return Some(("a rotation of length 0".into(), "rotations are quaternions of length 1"));
        }
    }
    if !is_finite || !channel.times.iter().copied().all(is_single) {
        return Some(("a number that is not finite".into(), FINITE));
    }
    let is_increasing = channel.times.windows(2).all(|pair| (pair[0] as f32) < (pair[1] as f32));
    if !is_increasing || channel.times[0] < 0.0 {
        let hint = "times of keys begin at 0 or later, and increase in single precision";
        return Some(("times that do not increase from 0".into(), hint));
    }
    None
}

fn misfit_of_appearance(rig: &Rig) -> Option<Misfit> {
    let image_count = rig.appearance.images.len();
    let mut images =
        rig.appearance.materials.iter().flat_map(|material| [material.base_color_image, material.normal_image]);
    if images.any(|image| is_beyond(image, image_count)) {
        return Some(("a material whose picture does not exist".into(), INDEX));
    }
    let textures = rig.appearance.gltf.textures.as_array().filter(|_| is_verbatim(&rig.appearance));
    let mut sources = textures.into_iter().flatten().filter_map(|texture| texture.get("source")?.as_u64());
    let is_missing = sources.any(|source| source >= image_count as u64);
    is_missing.then(|| ("a texture whose picture does not exist".into(), INDEX))
}
