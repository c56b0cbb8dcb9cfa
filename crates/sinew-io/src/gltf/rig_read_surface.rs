//! Surfaces of characters: triangles, attributes, weights of joints and morph targets.

use std::collections::BTreeMap;
use std::ops::Range;

use sinew_math::Vec3;
use sinew_rig::{MorphTarget, Part, Surface, Weights};

use crate::binary::NumberKind;
use crate::error::ReadError;
use crate::gltf::document::{DRACO, Object, Primitive, compressed};
use crate::gltf::read::cells_of_mode;
use crate::gltf::rig_read::{JointLimit, RigReader, target_count};

/// Primitives of modes below this one are points and lines.
const FIRST_TRIANGLE_MODE: usize = 4;

/// Sums of weights that differ from one by more than this get a note.
const SUM_TOLERANCE: f64 = 0.01;

/// Most vertices to list for one kind of problem.
const SHOWN: usize = 8;

/// Accessors of numbered attributes, such as `TEXCOORD_0`, by their number.
type Sets = BTreeMap<u32, usize>;

impl RigReader<'_, '_, '_> {
    pub(super) fn surfaces(&mut self, limits: &[Option<JointLimit>]) -> Result<Vec<Surface>, ReadError> {
        let document = self.document;
        let mut surfaces = Vec::with_capacity(document.meshes.len());
        for (i, mesh) in self.root.objects("meshes")?.iter().enumerate() {
            let limit = limits.get(i).copied().flatten();
            surfaces.push(self.surface(mesh, document.meshes[i].primitives.clone(), limit)?);
        }
        Ok(surfaces)
    }

    fn surface(
        &mut self,
        mesh: &Object,
        primitives: Range<usize>,
        limit: Option<JointLimit>,
    ) -> Result<Surface, ReadError> {
        let document = self.document;
        let names = mesh.value.get("extras").and_then(|extras| extras.get("targetNames"));
        let names: Vec<String> = names
            .into_iter()
            .flat_map(|names| names.items())
            .map(|name| name.text().unwrap_or_default().into_owned())
            .collect();
        let mut surface = Surface { name: mesh.name_or_empty(), ..Surface::default() };
        for (object, primitive) in mesh.objects("primitives")?.iter().zip(&document.primitives[primitives]) {
            if primitive.mode < FIRST_TRIANGLE_MODE {
                self.left_out.insert("primitives of points and lines".into());
                continue;
            }
            let read = self.part(object, primitive, &names, limit);
            let Some(part) = self.or_problem(read) else { continue };
            if part.triangles.is_empty() {
                self.left_out.insert("primitives without a triangle".into());
                continue;
            }
            let (targets, expected) = (part.morph_targets.len(), target_count(&surface));
            if !surface.parts.is_empty() && targets != expected {
                return Err(object.wrong(&format!("has {targets} morph targets where others have {expected}")));
            }
            surface.parts.push(part);
        }
        let targets = target_count(&surface);
        surface.morph_weights = match mesh.number_list("weights")? {
            Some(weights) if targets > 0 && weights.len() != targets => {
                let value = mesh.value.get("weights").unwrap_or(mesh.value);
                let reason = format!("holds {} weights for {targets} morph targets", weights.len());
                return Err(mesh.wrong_at(value, "weights", &reason));
            }
            Some(weights) if targets > 0 => weights,
            _ => vec![0.0; targets],
        };
        Ok(surface)
    }

    fn part(
        &mut self,
        object: &Object,
        primitive: &Primitive,
        target_names: &[String],
        limit: Option<JointLimit>,
    ) -> Result<Part, ReadError> {
        let attributes = object.object("attributes")?.ok_or_else(|| object.wrong("has no `attributes`"))?;
        let [position, normal, _, color] = primitive.attributes.map(|accessor| accessor.map(|index| index as usize));
        let position = position.ok_or_else(|| object.wrong("has no POSITION, and so no shape"))?;
        let vertex_count = self.document.accessors[position].count;
        let [texcoords, joints, weights] = self.numbered_attributes(object, &attributes)?;
        let mut part = Part { material: primitive.material, ..Part::default() };

        let positions = self.attribute(&attributes.path_of("POSITION"), position, vertex_count, &[3])?;
        part.positions = vectors(&positions);
        if let Some(normal) = normal {
            let normals = self.attribute(&attributes.path_of("NORMAL"), normal, vertex_count, &[3])?;
            part.normals = single(&normals);
        }
        for (expected, (set, accessor)) in (0..).zip(texcoords) {
            if set != expected {
                // Materials refer to sets by number.
                self.left_out.insert(format!("TEXCOORD_{set} without TEXCOORD_{expected}"));
                break;
            }
            let places =
                self.attribute(&attributes.path_of(&format!("TEXCOORD_{set}")), accessor, vertex_count, &[2])?;
            part.texcoords.push(single(&places));
        }
        if let Some(color) = color {
            let colors = self.attribute(&attributes.path_of("COLOR_0"), color, vertex_count, &[3, 4])?;
            part.colors = match self.document.accessors[color].width {
                3 => single::<3>(&colors).into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect(),
                _ => single(&colors),
            };
        }
        part.numbers = self.numbers(&attributes, vertex_count)?;
        part.triangles = self.triangles(object, primitive, vertex_count)?;
        part.weights = self.weights(&attributes, &joints, &weights, vertex_count, limit)?;
        for (k, target) in object.objects("targets")?.iter().enumerate() {
            let positions = self.displacements(target, vertex_count)?;
            let name = target_names.get(k).cloned().unwrap_or_default();
            part.morph_targets.push(MorphTarget { name, positions, normals: Vec::new() });
        }
        Ok(part)
    }

    /// The sets of `TEXCOORD`, `JOINTS` and `WEIGHTS`; notes other names as left out.
    fn numbered_attributes(&mut self, object: &Object, attributes: &Object) -> Result<[Sets; 3], ReadError> {
        let mut sets = [Sets::new(), Sets::new(), Sets::new()];
        let packed = object.value.get("extensions").and_then(|extensions| extensions.get(DRACO));
        for (name, _) in attributes.value.members() {
            let Some(accessor) = attributes.index(&name, "accessor", self.document.accessors.len())? else { continue };
            if let (Some(packed), true) = (packed, self.is_zero(accessor)) {
                return Err(compressed(self.document.container.place(packed.offset()), DRACO));
            }
            let number = |prefix: &str| name.strip_prefix(prefix).and_then(|number| number.parse::<u32>().ok());
            let prefixes = ["TEXCOORD_", "JOINTS_", "WEIGHTS_"];
            match prefixes.iter().zip(&mut sets).find_map(|(prefix, sets)| Some((sets, number(prefix)?))) {
                Some((sets, number)) => {
                    sets.entry(number).or_insert(accessor);
                }
                None if matches!(&*name, "POSITION" | "NORMAL" | "COLOR_0") => {}
                // Read by `numbers`.
                None if self.is_number(&name, accessor) => {}
                None => {
                    self.left_out.insert(name.into_owned());
                }
            }
        }
        Ok(sets)
    }

    /// Whether an attribute is a custom scalar per vertex.
    fn is_number(&self, name: &str, accessor: usize) -> bool {
        name.starts_with('_') && self.document.accessors[accessor].width == 1
    }

    fn numbers(&mut self, attributes: &Object, vertex_count: usize) -> Result<BTreeMap<String, Vec<f32>>, ReadError> {
        let mut numbers = BTreeMap::new();
        for (name, _) in attributes.value.members() {
            let Some(accessor) = attributes.index(&name, "accessor", self.document.accessors.len())? else { continue };
            if self.is_number(&name, accessor) {
                let values = self.attribute(&attributes.path_of(&name), accessor, vertex_count, &[1])?;
                numbers.insert(name.into_owned(), single::<1>(&values).into_iter().map(|[value]| value).collect());
            }
        }
        Ok(numbers)
    }

    /// Whether an accessor has neither bytes nor sparse values.
    fn is_zero(&self, accessor: usize) -> bool {
        let accessor = &self.document.accessors[accessor];
        accessor.numbers.view.is_none() && accessor.sparse.is_none()
    }

    fn check_vertex_count(&self, path: &str, index: usize, vertex_count: usize) -> Result<(), ReadError> {
        let count = self.document.accessors[index].count;
        if count != vertex_count {
            let reason = format!("holds {count} elements for {path}, which has {vertex_count} vertices");
            return Err(self.buffers.wrong(index, &reason));
        }
        Ok(())
    }

    /// The numbers of an attribute of all vertices.
    fn attribute(
        &mut self,
        path: &str,
        index: usize,
        vertex_count: usize,
        widths: &[usize],
    ) -> Result<Vec<f64>, ReadError> {
        self.check_vertex_count(path, index, vertex_count)?;
        self.floats(index, path, widths)
    }

    fn triangles(
        &mut self,
        object: &Object,
        primitive: &Primitive,
        vertex_count: usize,
    ) -> Result<Vec<[u32; 3]>, ReadError> {
        let corners: Vec<u32> = match primitive.indices {
            Some(indices) => {
                self.take(indices)?;
                let corners = self.buffers.indices(indices)?;
                if let Some(at) = corners.iter().position(|&vertex| vertex as usize >= vertex_count) {
                    let reason = format!(
                        "{}: vertex {} does not exist: there are {vertex_count}",
                        object.path_of("indices"),
                        corners[at]
                    );
                    return Err(ReadError::Syntax { place: self.buffers.place(indices, at), reason });
                }
                corners
            }
            None => {
                self.spend(vertex_count, primitive.offset)?;
                (0..vertex_count as u32).collect()
            }
        };
        match cells_of_mode(primitive.mode, corners) {
            Some((_, corners)) => Ok(corners.as_chunks::<3>().0.to_vec()),
            None if primitive.mode > 6 => Err(object.wrong(&format!("has the unknown mode {}", primitive.mode))),
            None => Err(object.wrong("ends in the middle of a triangle")),
        }
    }

    /// Vertex displacements of a morph target; empty if none moves.
    fn displacements(&mut self, target: &Object, vertex_count: usize) -> Result<Vec<Vec3>, ReadError> {
        if target.value.members().any(|(name, _)| name != "POSITION") {
            self.left_out.insert("all but the positions of morph targets".into());
        }
        match target.index("POSITION", "accessor", self.document.accessors.len())? {
            Some(accessor) if !self.is_zero(accessor) => {
                let numbers = self.attribute(&target.path_of("POSITION"), accessor, vertex_count, &[3])?;
                Ok(vectors(&numbers))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Joints and weights of all sets, side by side.
    fn weights(
        &mut self,
        attributes: &Object,
        joints: &Sets,
        weights: &Sets,
        vertex_count: usize,
        limit: Option<JointLimit>,
    ) -> Result<Weights, ReadError> {
        let alone =
            |has: &str, lacks: &str, set: &u32| attributes.wrong(&format!("has {has}_{set} without {lacks}_{set}"));
        if let Some(set) = joints.keys().find(|&set| !weights.contains_key(set)) {
            return Err(alone("JOINTS", "WEIGHTS", set));
        }
        if let Some(set) = weights.keys().find(|&set| !joints.contains_key(set)) {
            return Err(alone("WEIGHTS", "JOINTS", set));
        }
        let mut sets = Vec::with_capacity(joints.len());
        let mut has_stray = false;
        for ((set, &joints), &weights) in joints.iter().zip(weights.values()) {
            let weight_path = attributes.path_of(&format!("WEIGHTS_{set}"));
            let shares = self.shares(&weight_path, weights, vertex_count)?;
            let joint_path = attributes.path_of(&format!("JOINTS_{set}"));
            self.check_vertex_count(&joint_path, joints, vertex_count)?;
            self.take(joints)?;
            let mut names = self.buffers.joints(joints)?;
            for (k, (joint, share)) in names.iter_mut().zip(&shares).enumerate() {
                match limit {
                    Some(JointLimit { skin, joint_count }) if *joint as usize >= joint_count => {
                        if *share > 0.0 {
                            let place = self.buffers.place(joints, k / 4);
                            let reason = format!(
                                "{joint_path}: vertex {} names joint {joint} of skins[{skin}], which has {joint_count}",
                                k / 4
                            );
                            return Err(ReadError::Syntax { place, reason });
                        }
                        // It moves nothing.
                        (*joint, has_stray) = (0, true);
                    }
                    _ => {}
                }
            }
            sets.push((names, shares));
        }
        if has_stray {
            self.notes.push(format!("{}: joints that do not exist, with a weight of 0", attributes.path_of("JOINTS")));
        }
        let width = 4 * sets.len();
        let total = vertex_count * width;
        let mut all = Weights { width, joints: Vec::with_capacity(total), weights: Vec::with_capacity(total) };
        for vertex in 0..if width > 0 { vertex_count } else { 0 } {
            for (joints, shares) in &sets {
                all.joints.extend_from_slice(&joints[4 * vertex..][..4]);
                all.weights.extend_from_slice(&shares[4 * vertex..][..4]);
            }
        }
        self.note_sums(attributes, &all, vertex_count);
        Ok(all)
    }

    /// The weights of a set, which must not be negative.
    fn shares(&mut self, path: &str, index: usize, vertex_count: usize) -> Result<Vec<f32>, ReadError> {
        let accessor = &self.document.accessors[index];
        let is_share = match accessor.numbers.kind {
            NumberKind::F32 => true,
            NumberKind::U8 | NumberKind::U16 => accessor.normalized,
            _ => false,
        };
        if !is_share {
            let reason = format!("must hold single precision, or normalized unsigned bytes or shorts, for {path}");
            return Err(self.buffers.wrong(index, &reason));
        }
        let numbers = self.attribute(path, index, vertex_count, &[4])?;
        if let Some(at) = numbers.iter().position(|&weight| weight < 0.0) {
            let reason = format!("{path}: a weight of vertex {} is negative", at / 4);
            return Err(ReadError::Syntax { place: self.buffers.place(index, at / 4), reason });
        }
        Ok(numbers.iter().map(|&weight| weight as f32).collect())
    }

    fn note_sums(&mut self, attributes: &Object, weights: &Weights, vertex_count: usize) {
        let (mut off, mut worst) = (0, 1.0f64);
        let mut without = Vec::new();
        for (vertex, shares) in weights.weights.chunks_exact(weights.width.max(1)).enumerate() {
            let sum: f64 = shares.iter().map(|&share| f64::from(share)).sum();
            if sum == 0.0 {
                without.push(vertex);
            } else if (sum - 1.0).abs() > SUM_TOLERANCE {
                off += 1;
                // A factor of ten counts the same up or down.
                if sum.ln().abs() > worst.ln().abs() {
                    worst = sum;
                }
            }
        }
        let path = attributes.path_of("WEIGHTS");
        if off > 0 {
            let worst = if (1e-3..1e3).contains(&worst) { format!("{worst:.3}") } else { format!("{worst:.1e}") };
            self.notes.push(format!(
                "{path}: the weights of {off} of {vertex_count} vertices do not sum to one within 1 %, the worst to {worst}; they are divided by their sum"
            ));
        }
        if !without.is_empty() {
            let some: Vec<String> = without.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if without.len() > SHOWN { ", …" } else { "" };
            let count = without.len();
            self.notes
                .push(format!("{path}: {count} of {vertex_count} vertices have no weight ({}{more})", some.join(", ")));
        }
    }
}

fn vectors(numbers: &[f64]) -> Vec<Vec3> {
    numbers.as_chunks::<3>().0.iter().map(|&vector| Vec3::from(vector)).collect()
}

/// Vectors in single precision.
fn single<const N: usize>(numbers: &[f64]) -> Vec<[f32; N]> {
    numbers.as_chunks::<N>().0.iter().map(|vector| vector.map(|x| x as f32)).collect()
}
