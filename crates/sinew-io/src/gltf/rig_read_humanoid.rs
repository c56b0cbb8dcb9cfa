//! Which nodes are which bones of a human: the maps of VRM 0 and 1 and of VRM animations.

use std::collections::BTreeMap;

use crate::error::ReadError;
use crate::gltf::document::Object;
use crate::gltf::rig_read::RigReader;

/// Bones of the thumb that VRM 0 names otherwise, with their names in VRM 1.
const THUMB: [(&str, &str); 2] = [("ThumbProximal", "ThumbMetacarpal"), ("ThumbIntermediate", "ThumbProximal")];

impl RigReader<'_, '_, '_> {
    /// Nodes by the name of their bone in VRM 1, such as `leftUpperArm`; empty if the file has no map.
    pub(super) fn humanoid(&self) -> Result<BTreeMap<String, usize>, ReadError> {
        let mut bones = BTreeMap::new();
        let Some(extensions) = self.root.object("extensions")? else { return Ok(bones) };
        let map_of = |name: &str| -> Result<Option<Object<'_, '_>>, ReadError> {
            let Some(extension) = extensions.object(name)? else { return Ok(None) };
            extension.object("humanoid")
        };
        let mut add = |name: String, bone: &Object| -> Result<(), ReadError> {
            // Some programs write -1 for bones that are missing.
            let is_missing = bone.value.get("node").and_then(|node| node.number()).is_none_or(|node| node < 0.0);
            if is_missing {
                return Ok(());
            }
            let node = bone.needed_index("node", "node", self.document.nodes.len())?;
            bones.entry(name).or_insert(node);
            Ok(())
        };
        for name in ["VRMC_vrm", "VRMC_vrm_animation"] {
            let Some(humanoid) = map_of(name)? else { continue };
            let Some(map) = humanoid.object("humanBones")? else { continue };
            for (name, _) in map.value.members() {
                if let Some(bone) = map.object(&name)? {
                    add(name.into_owned(), &bone)?;
                }
            }
        }
        if let Some(humanoid) = map_of("VRM")? {
            for bone in humanoid.objects("humanBones")? {
                let Some(name) = bone.value.get("bone").and_then(|name| name.text()) else { continue };
                let of_thumb = THUMB.iter().find_map(|(old, new)| Some(format!("{}{new}", name.strip_suffix(old)?)));
                add(of_thumb.unwrap_or_else(|| name.into_owned()), &bone)?;
            }
        }
        Ok(bones)
    }
}
