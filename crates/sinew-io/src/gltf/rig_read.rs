//! Characters: nodes and skins. The modules beside this one read surfaces, animations and materials.

use std::collections::BTreeSet;

use sinew_math::{Mat3, Vec3};
use sinew_rig::{Affine, Node, Rig, Skin, Surface};

use crate::binary::NumberKind;
use crate::error::ReadError;
use crate::format::Companions;
use crate::gltf::accessor::Buffers;
use crate::gltf::container::Container;
use crate::gltf::document::{Document, Object};
use crate::gltf::json::Json;
use crate::gltf::tree::{check_tree, roots, transform};

/// Limit on repeated accessors, each use of which reads the numbers again: elements per byte of the file and its
/// companions, or [`ELEMENTS_ALWAYS`] if that is more. A vertex with all its attributes takes 56 bytes and five
/// elements, so 80 parts may share all of them.
const ELEMENTS_PER_BYTE: usize = 8;
const ELEMENTS_ALWAYS: usize = 1 << 20;

/// Most numbers per element; larger ones, such as matrices, count as several.
const ELEMENT_WIDTH: usize = 4;

/// Rounding error of single precision in a product of matrices with entries in the thousands.
const LAST_ROW_TOLERANCE: f64 = 1e-4;

pub(super) fn read_rig(bytes: &[u8], companions: &dyn Companions) -> Result<Rig, ReadError> {
    let container = Container::open(bytes)?;
    let json =
        Json::parse(container.json).map_err(|(at, reason)| ReadError::Syntax { place: container.place(at), reason })?;
    let document = Document::new(&container, &json)?;
    let mut reader = RigReader {
        document: &document,
        root: Object::new(&container, document.root, String::new())?,
        buffers: Buffers::new(&document, companions),
        spent: 0,
        problems: Vec::new(),
        notes: Vec::new(),
        left_out: BTreeSet::new(),
    };
    let read = reader.rig();
    let rig = reader.or_problem(read);
    match (rig, reader.problems.len()) {
        (Some(rig), 0) => Ok(Rig { notes: reader.into_notes(), ..rig }),
        (_, 1) => Err(reader.problems.swap_remove(0)),
        _ => Err(ReadError::Several(reader.problems)),
    }
}

/// Reads a document; counts its elements, and collects notes.
pub(super) struct RigReader<'d, 't, 'a> {
    pub document: &'d Document<'t, 'a>,
    /// The whole file.
    pub root: Object<'t, 'a>,
    pub buffers: Buffers<'d, 't, 'a>,
    /// Elements read so far.
    spent: usize,
    /// What is wrong with skins, parts of surfaces and channels of animations, each of which is read by itself.
    pub problems: Vec<ReadError>,
    pub notes: Vec<String>,
    /// Content of the file that a rig cannot hold.
    pub left_out: BTreeSet<String>,
}

/// Number of joints that the vertices of a surface can refer to.
#[derive(Clone, Copy)]
pub(super) struct JointLimit {
    pub skin: usize,
    pub joint_count: usize,
}

/// For each surface, the skin with the fewest joints among those that move it.
fn joint_limits(rig: &Rig) -> Vec<Option<JointLimit>> {
    let last = rig.nodes.iter().filter_map(|node| node.surface).max();
    let mut limits: Vec<Option<JointLimit>> = vec![None; last.map_or(0, |last| last + 1)];
    for node in &rig.nodes {
        if let (Some(surface), Some(skin)) = (node.surface, node.skin) {
            let new = JointLimit { skin, joint_count: rig.skins[skin].joints.len() };
            if new.joint_count == 0 {
                // It could not be read, which is told.
                continue;
            }
            let limit = limits[surface].get_or_insert(new);
            if new.joint_count < limit.joint_count {
                *limit = new;
            }
        }
    }
    limits
}

/// Morph targets of a surface; the same number for all its parts.
pub(super) fn target_count(surface: &Surface) -> usize {
    surface.parts.first().map_or(0, |part| part.morph_targets.len())
}

impl RigReader<'_, '_, '_> {
    /// Counts elements before memory is allocated for them.
    pub(super) fn spend(&mut self, count: usize, offset: usize) -> Result<(), ReadError> {
        self.spent = self.spent.saturating_add(count).saturating_add(1);
        let limit = self.buffers.known_bytes().saturating_mul(ELEMENTS_PER_BYTE).saturating_add(ELEMENTS_ALWAYS);
        if self.spent > limit {
            return Err(ReadError::Unsupported {
                place: self.document.container.place(offset),
                what: format!("a character that repeats its numbers to more than {limit} elements"),
                hint: "keep the parts that are needed, or let parts have their own vertices",
            });
        }
        Ok(())
    }

    /// Checks that an accessor's data exists, and counts it.
    pub(super) fn take(&mut self, index: usize) -> Result<(), ReadError> {
        let accessor = &self.document.accessors[index];
        self.buffers.check(index)?;
        self.spend(accessor.count.saturating_mul(accessor.width.div_ceil(ELEMENT_WIDTH)), accessor.offset)
    }

    /// The finite numbers of an accessor whose elements have one of these widths; `path` refers to it.
    pub(super) fn floats(&mut self, index: usize, path: &str, widths: &[usize]) -> Result<Vec<f64>, ReadError> {
        let accessor = &self.document.accessors[index];
        if !widths.contains(&accessor.width) {
            return Err(self.buffers.wrong(index, &format!("has the wrong `type` for {path}")));
        }
        self.take(index)?;
        let numbers = self.buffers.floats(index)?;
        if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
            let element = at / accessor.width;
            let what = format!("{path}: element {element} of accessors[{index}]");
            return Err(ReadError::NotFinite { place: self.buffers.place(index, element), what });
        }
        Ok(numbers)
    }

    /// Everything but the notes. What is wrong with single parts is among the problems.
    fn rig(&mut self) -> Result<Rig, ReadError> {
        let mut rig = Rig { skins: self.skins()?, ..Rig::default() };
        self.add_nodes(&mut rig)?;
        rig.surfaces = self.surfaces(&joint_limits(&rig))?;
        self.check_node_weights(&mut rig)?;
        rig.animations = self.animations(&rig)?;
        rig.appearance = self.appearance()?;
        rig.humanoid = self.humanoid()?;
        Ok(rig)
    }

    fn skins(&mut self) -> Result<Vec<Skin>, ReadError> {
        let mut skins = Vec::new();
        for skin in self.root.objects("skins")? {
            let read = self.skin(&skin);
            skins.push(self.or_problem(read).unwrap_or_default());
        }
        Ok(skins)
    }

    /// Keeps an error for later.
    pub(super) fn or_problem<T>(&mut self, result: Result<T, ReadError>) -> Option<T> {
        result.map_err(|error| self.problems.push(error)).ok()
    }

    fn skin(&mut self, skin: &Object) -> Result<Skin, ReadError> {
        let node_count = self.document.nodes.len();
        let mut joints = Vec::new();
        for (k, value) in skin.list("joints")?.into_iter().enumerate() {
            let wrong = |reason: &str| skin.wrong_at(value, &format!("joints[{k}]"), reason);
            match value.whole() {
                Some(node) if node < node_count => joints.push(node),
                Some(node) => {
                    return Err(wrong(&format!("is node {node}, which does not exist: there are {node_count}")));
                }
                None => return Err(wrong("must be a whole number")),
            }
        }
        if joints.is_empty() {
            return Err(skin.wrong("has no joints"));
        }
        let inverse_binds = match skin.index("inverseBindMatrices", "accessor", self.document.accessors.len())? {
            Some(accessor) => self.inverse_binds(skin, accessor, joints.len())?,
            None => vec![Affine::identity(); joints.len()],
        };
        Ok(Skin { name: skin.name_or_empty(), joints, inverse_binds })
    }

    fn inverse_binds(&mut self, skin: &Object, index: usize, joint_count: usize) -> Result<Vec<Affine>, ReadError> {
        let path = skin.path_of("inverseBindMatrices");
        let accessor = &self.document.accessors[index];
        if accessor.numbers.kind != NumberKind::F32 {
            return Err(self.buffers.wrong(index, &format!("must hold single precision for {path}")));
        }
        if accessor.count < joint_count {
            return Err(ReadError::Count {
                place: self.document.container.place(accessor.offset),
                what: format!("{path}: matrices in accessors[{index}]"),
                promised: joint_count as u64,
                found: accessor.count as u64,
            });
        }
        let numbers = self.floats(index, &path, &[16])?;
        let mut inverse_binds = Vec::with_capacity(joint_count);
        for (k, m) in numbers.as_chunks::<16>().0.iter().take(joint_count).enumerate() {
            let off = [m[3], m[7], m[11], m[15] - 1.0];
            if off.iter().any(|x| x.abs() > LAST_ROW_TOLERANCE) {
                let reason = format!("{path}: matrix {k} must end its columns with 0, 0, 0, 1");
                return Err(ReadError::Syntax { place: self.buffers.place(index, k), reason });
            }
            let column = |k: usize| Vec3::new(m[4 * k], m[4 * k + 1], m[4 * k + 2]);
            let linear = Mat3::from_columns(column(0), column(1), column(2));
            inverse_binds.push(Affine { linear, translation: column(3) });
        }
        Ok(inverse_binds)
    }

    fn node(&self, i: usize) -> Result<Object<'_, '_>, ReadError> {
        Object::new(self.document.container, self.document.nodes[i], format!("nodes[{i}]"))
    }

    fn add_nodes(&mut self, rig: &mut Rig) -> Result<(), ReadError> {
        let document = self.document;
        let parents = check_tree(document)?;
        for (i, parent) in parents.iter().enumerate() {
            let node = self.node(i)?;
            rig.nodes.push(Node {
                name: node.name_or_empty(),
                parent: parent.map(|parent| parent as usize),
                transform: transform(&node)?,
                surface: node.index("mesh", "mesh", document.meshes.len())?,
                skin: node.index("skin", "skin", rig.skins.len())?,
                morph_weights: node.number_list("weights")?,
                is_shown: false,
            });
        }
        for root in roots(document, &parents)? {
            rig.nodes[root].is_shown = true;
        }
        for i in rig.order() {
            if let Some(parent) = rig.nodes[i].parent {
                rig.nodes[i].is_shown = rig.nodes[parent].is_shown;
            }
        }
        if let Some(i) = rig.pose(None, 0.0).iter().position(|world_from_node| !world_from_node.is_finite()) {
            return Err(self.node(i)?.wrong("has a transform that overflows"));
        }
        Ok(())
    }

    /// Nodes have one weight per morph target of their surface, or none.
    fn check_node_weights(&self, rig: &mut Rig) -> Result<(), ReadError> {
        for i in 0..rig.nodes.len() {
            let Some(weight_count) = rig.nodes[i].morph_weights.as_ref().map(Vec::len) else { continue };
            match rig.nodes[i].surface.map_or(0, |surface| target_count(&rig.surfaces[surface])) {
                0 => rig.nodes[i].morph_weights = None,
                targets if targets != weight_count => {
                    let node = self.node(i)?;
                    let value = node.value.get("weights").unwrap_or(node.value);
                    let reason = format!("holds {weight_count} weights for {targets} morph targets");
                    return Err(node.wrong_at(value, "weights", &reason));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn into_notes(self) -> Vec<String> {
        let RigReader { mut notes, mut left_out, document, .. } = self;
        if document.root.get("cameras").is_some_and(|list| list.items().next().is_some()) {
            left_out.insert("cameras".into());
        }
        if document.scenes.len() > 1 {
            notes.push("the file has several scenes: only the default one is shown".into());
        }
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.into_iter().collect();
            notes.push(format!("left out: {}", names.join(", ")));
        }
        notes
    }
}
