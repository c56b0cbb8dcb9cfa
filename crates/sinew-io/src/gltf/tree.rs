//! The node tree, which places the meshes.

use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_rig::{Affine, Transform};

use crate::error::ReadError;
use crate::gltf::document::{Document, Object};
use crate::gltf::json::Value;

/// No exporter nests deeper; a deeper tree is an attack or a cycle.
const DEEPEST: usize = 256;

/// A mesh in the scene.
pub(super) struct Placed<'a> {
    pub mesh: usize,
    pub node_name: Option<std::borrow::Cow<'a, str>>,
    pub scene_from_mesh: Affine,
    /// Whether a skin moves it.
    pub has_skin: bool,
}

/// The parent of each node. Visits the children of each node once: parents are unique, and there are no cycles.
pub(super) fn check_tree(document: &Document) -> Result<Vec<Option<u32>>, ReadError> {
    let container = document.container;
    let mut parents: Vec<Option<u32>> = vec![None; document.nodes.len()];
    for (i, &value) in document.nodes.iter().enumerate() {
        let node = Object::new(container, value, format!("nodes[{i}]"))?;
        for child in value.get("children").into_iter().flat_map(Value::items) {
            match child.whole().and_then(|index| parents.get_mut(index)) {
                Some(parent @ None) => *parent = Some(i as u32),
                Some(Some(other)) => {
                    let reason = format!(
                        "names node {}, which is a child of nodes[{other}] already",
                        child.whole().unwrap_or_default()
                    );
                    return Err(node.wrong_at(child, "children", &reason));
                }
                None => return Err(node.wrong_at(child, "children", "names a node that does not exist")),
            }
        }
    }
    // Walk up from each node to one seen before: if the same walk saw it, there is a cycle.
    let mut seen_by = vec![u32::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut node = start;
        while seen_by[node] == u32::MAX {
            seen_by[node] = start as u32;
            match parents[node] {
                Some(parent) if seen_by[parent as usize] == start as u32 => {
                    let value = document.nodes[parent as usize];
                    let node = Object::new(container, value, format!("nodes[{parent}]"))?;
                    return Err(node.wrong("is its own descendant: the node tree has a cycle"));
                }
                Some(parent) => node = parent as usize,
                None => break,
            }
        }
    }
    Ok(parents)
}

/// The root nodes of the default scene, with the JSON values that refer to them.
pub(super) fn roots<'t>(document: &Document<'t, '_>, parents: &[Option<u32>]) -> Result<Vec<usize>, ReadError> {
    let file = Object::new(document.container, document.root, String::new())?;
    let default = file.index("scene", "scene", document.scenes.len())?;
    let Some(&scene) = document.scenes.get(default.unwrap_or(0)) else {
        return Ok((0..parents.len()).filter(|&node| parents[node].is_none()).collect());
    };
    let scene = Object::new(document.container, scene, format!("scenes[{}]", default.unwrap_or(0)))?;
    let mut is_root = vec![false; parents.len()];
    let mut roots = Vec::new();
    for value in scene.value.get("nodes").into_iter().flat_map(Value::items) {
        let Some((node, parent)) = value.whole().and_then(|node| Some((node, parents.get(node)?))) else {
            return Err(scene.wrong_at(value, "nodes", "names a node that does not exist"));
        };
        if let Some(parent) = parent {
            let reason = format!("names node {node}, which is a child of nodes[{parent}] already");
            return Err(scene.wrong_at(value, "nodes", &reason));
        }
        if std::mem::replace(&mut is_root[node], true) {
            return Err(scene.wrong_at(value, "nodes", &format!("names node {node} twice")));
        }
        roots.push(node);
    }
    Ok(roots)
}

/// The transform of a node relative to its parent.
pub(super) fn transform(node: &Object) -> Result<Transform, ReadError> {
    if let Some(m) = node.numbers::<16>("matrix")? {
        let value = node.value.get("matrix").unwrap_or(node.value);
        if m[3] != 0.0 || m[7] != 0.0 || m[11] != 0.0 || m[15] != 1.0 {
            return Err(node.wrong_at(value, "matrix", "must end its columns with 0, 0, 0, 1"));
        }
        let column = |k: usize| Vec3::new(m[4 * k], m[4 * k + 1], m[4 * k + 2]);
        let linear = Mat3::from_columns(column(0), column(1), column(2));
        return Ok(Transform::Matrix(Affine { linear, translation: column(3) }));
    }
    let translation = node.numbers::<3>("translation")?.unwrap_or([0.0; 3]);
    let scale = node.numbers::<3>("scale")?.unwrap_or([1.0; 3]);
    let rotation = match node.numbers::<4>("rotation")? {
        // Files hold single precision: unit length to seven digits.
        Some([x, y, z, w]) => {
            let quaternion = Quaternion::from_parts(w, Vec3::new(x, y, z));
            let norm = quaternion.norm();
            if !(norm > 0.1 && norm < 10.0) {
                let value = node.value.get("rotation").unwrap_or(node.value);
                return Err(node.wrong_at(value, "rotation", "must be a quaternion of length 1"));
            }
            quaternion.normalized()
        }
        None => Quaternion::identity(),
    };
    Ok(Transform::Parts { translation: Vec3::from(translation), rotation, scale: Vec3::from(scale) })
}

/// All meshes of the default scene, in the order of the tree.
pub(super) fn place_meshes<'a>(document: &Document<'_, 'a>) -> Result<Vec<Placed<'a>>, ReadError> {
    let parents = check_tree(document)?;
    let mut placed = Vec::new();
    if document.nodes.is_empty() {
        // A library of meshes: each as stored.
        let scene_from_mesh = Affine::identity();
        let library =
            (0..document.meshes.len()).map(|mesh| Placed { mesh, node_name: None, scene_from_mesh, has_skin: false });
        return Ok(library.collect());
    }
    for root in roots(document, &parents)? {
        // One entry per level: the remaining children, and the transform of their parent.
        let mut levels: Vec<(Box<dyn Iterator<Item = usize> + '_>, Affine)> =
            vec![(Box::new(std::iter::once(root)), Affine::identity())];
        while let Some((pending, scene_from_parent)) = levels.last_mut() {
            let Some(index) = pending.next() else {
                levels.pop();
                continue;
            };
            let scene_from_parent = *scene_from_parent;
            let node = Object::new(document.container, document.nodes[index], format!("nodes[{index}]"))?;
            if levels.len() > DEEPEST {
                return Err(node.wrong(&format!("lies more than {DEEPEST} levels deep")));
            }
            let scene_from_mesh = scene_from_parent.after(&transform(&node)?.to_affine());
            if !scene_from_mesh.is_finite() {
                return Err(node.wrong("has a transform that overflows"));
            }
            if let Some(mesh) = node.index("mesh", "mesh", document.meshes.len())? {
                let has_skin = node.value.get("skin").is_some();
                placed.push(Placed { mesh, node_name: node.name(), scene_from_mesh, has_skin });
            }
            if let Some(children) = node.value.get("children") {
                levels.push((Box::new(children.items().filter_map(Value::whole)), scene_from_mesh));
            }
        }
    }
    Ok(placed)
}
