//! Surfaces of a scene.

use std::collections::HashMap;

use sinew_math::Vec3;
use sinew_rig::Affine;

use crate::error::{Place, ReadError};
use crate::format::Companions;
use crate::gltf::MATERIAL;
use crate::gltf::accessor::Buffers;
use crate::gltf::container::Container;
use crate::gltf::document::{ATTRIBUTES, Document, Primitive};
use crate::gltf::json::Json;
use crate::gltf::tree::{Placed, place_meshes};
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};

/// Limit on repeated placements, each of which reads the vertices again: vertices and indices per byte of the file and
/// its companions, or [`PLACED_ALWAYS`] if that is more. A vertex takes 12 bytes, so everything may be placed 48 times.
const PLACED_PER_BYTE: usize = 4;
const PLACED_ALWAYS: usize = 1 << 20;

pub(super) fn read(bytes: &[u8], companions: &dyn Companions) -> Result<MeshData, ReadError> {
    let container = Container::open(bytes)?;
    let json =
        Json::parse(container.json).map_err(|(at, reason)| ReadError::Syntax { place: container.place(at), reason })?;
    let document = Document::new(&container, &json)?;
    let placed = place_meshes(&document)?;
    let mut assembly = Assembly {
        document: &document,
        buffers: Buffers::new(&document, companions),
        data: MeshData::default(),
        cell_count: 0,
        spent: 0,
        first_point: HashMap::new(),
        fields: [const { Some(Vec::new()) }; 3],
        widths: [3, 2, 0],
        cells_of_mesh: vec![Vec::new(); document.meshes.len()],
        cells_of_material: vec![Vec::new(); document.materials.len()],
    };
    for placed in &placed {
        assembly.add_mesh(placed)?;
    }
    if assembly.data.points.is_empty() {
        return Err(ReadError::Missing { what: "mesh in its default scene" });
    }
    assembly.add_notes(&placed);
    Ok(assembly.finish())
}

/// Accessors of the attributes, and the bits of the transform.
type PointKey = ([Option<u32>; 4], [u64; 12]);

struct Assembly<'d, 't, 'a> {
    document: &'d Document<'t, 'a>,
    buffers: Buffers<'d, 't, 'a>,
    data: MeshData,
    cell_count: u32,
    /// Vertices and indices read so far.
    spent: usize,
    /// First point of vertices that were read before: primitives of a mesh often share theirs, which connects them.
    first_point: HashMap<PointKey, u32>,
    /// NORMAL, TEXCOORD_0 and COLOR_0, as long as all vertices have them.
    fields: [Option<Vec<f64>>; 3],
    widths: [usize; 3],
    cells_of_mesh: Vec<Vec<u32>>,
    cells_of_material: Vec<Vec<u32>>,
}

impl Assembly<'_, '_, '_> {
    fn place(&self, primitive: &Primitive) -> Place {
        self.document.container.place(primitive.offset)
    }

    /// Counts vertices or indices before memory is allocated for them.
    fn spend(&mut self, count: usize, primitive: &Primitive) -> Result<(), ReadError> {
        self.spent = self.spent.saturating_add(count).saturating_add(1);
        let limit = self
            .buffers
            .known_bytes()
            .saturating_mul(PLACED_PER_BYTE)
            .saturating_add(PLACED_ALWAYS)
            .min(u32::MAX as usize);
        if self.spent > limit {
            return Err(ReadError::Unsupported {
                place: self.place(primitive),
                what: format!("a scene that repeats its meshes to more than {limit} vertices and indices"),
                hint: "keep the parts that are needed, or place them where they are used",
            });
        }
        Ok(())
    }

    fn add_mesh(&mut self, placed: &Placed) -> Result<(), ReadError> {
        let document = self.document;
        let first_cell = self.cell_count;
        for primitive in &document.primitives[document.meshes[placed.mesh].primitives.clone()] {
            let (shape, nodes) = self.cells(primitive, &placed.scene_from_mesh)?;
            let before = self.cell_count;
            self.cell_count += (nodes.len() / shape.nodes().unwrap_or(1)) as u32;
            if let Some(material) = primitive.material {
                self.cells_of_material[material].extend(before..self.cell_count);
            }
            match self.data.groups.last_mut() {
                _ if nodes.is_empty() => {}
                Some(last) if last.shape == shape => last.nodes.extend_from_slice(&nodes),
                _ => self.data.groups.push(CellGroup::with_nodes(shape, nodes)),
            }
        }
        self.cells_of_mesh[placed.mesh].extend(first_cell..self.cell_count);
        if let Some(name) = &placed.node_name {
            self.data.cell_sets.entry(name.to_string()).or_default().extend(first_cell..self.cell_count);
        }
        Ok(())
    }

    /// The cells of a primitive; its points are added if they are new.
    fn cells(&mut self, primitive: &Primitive, scene_from_mesh: &Affine) -> Result<(CellShape, Vec<u32>), ReadError> {
        let accessors = &self.document.accessors;
        let Some(position) = primitive.attributes[0].map(|accessor| accessor as usize) else {
            let reason = "a primitive without POSITION has no shape".into();
            return Err(ReadError::Syntax { place: self.place(primitive), reason });
        };
        let first = self.points(primitive, position, scene_from_mesh)?;
        let vertex_count = accessors[position].count;
        if let Some(indices) = primitive.indices {
            self.buffers.check(indices)?;
        }
        self.spend(primitive.indices.map_or(vertex_count, |indices| accessors[indices].count), primitive)?;
        let mut nodes: Vec<u32> = match primitive.indices {
            Some(indices) => {
                let nodes = self.buffers.indices(indices)?;
                if let Some(at) = nodes.iter().position(|&node| node as usize >= vertex_count) {
                    let place = self.buffers.place(indices, at);
                    return Err(ReadError::Index { place, what: "vertex", index: nodes[at].into() });
                }
                nodes
            }
            None => (0..vertex_count as u32).collect(),
        };
        // The points of all primitives together fit in 32 bits (see `spend`), so the sums do.
        nodes.iter_mut().for_each(|node| *node += first);
        let Some((shape, mut nodes)) = cells_of_mode(primitive.mode, nodes) else {
            let reason = match primitive.mode {
                0..=6 => "a primitive ends in the middle of a line or triangle".into(),
                mode => format!("a primitive has the unknown mode {mode}"),
            };
            return Err(ReadError::Syntax { place: self.place(primitive), reason });
        };
        // A mirrored surface would be inside out.
        if shape == CellShape::Tri3 && scene_from_mesh.linear.determinant() < 0.0 {
            nodes.as_chunks_mut::<3>().0.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        }
        Ok((shape, nodes))
    }

    /// The first point of a primitive's vertices.
    fn points(&mut self, primitive: &Primitive, position: usize, scene_from_mesh: &Affine) -> Result<u32, ReadError> {
        let mut bits = [0; 12];
        let Affine { linear, translation } = scene_from_mesh;
        let columns = [linear.column(0), linear.column(1), linear.column(2), *translation];
        for (bits, x) in bits.iter_mut().zip(columns.iter().flat_map(|column| column.to_array())) {
            *bits = x.to_bits();
        }
        let key = (primitive.attributes, bits);
        if let Some(&first) = self.first_point.get(&key) {
            return Ok(first);
        }
        let count = self.document.accessors[position].count;
        self.buffers.check(position)?;
        self.spend(count, primitive)?;
        let first = self.data.points.len();
        let positions = self.attribute(0, position, count)?;
        self.data.points.reserve_exact(count);
        let is_identity = *scene_from_mesh == Affine::identity();
        for (vertex, &[x, y, z]) in positions.as_chunks::<3>().0.iter().enumerate() {
            let mut point = Vec3::new(x, y, z);
            if !is_identity {
                point = scene_from_mesh.apply(point);
            }
            if !(point.x.is_finite() && point.y.is_finite() && point.z.is_finite()) {
                let what = format!("the position of vertex {vertex} in accessors[{position}]");
                return Err(ReadError::NotFinite { place: self.buffers.place(position, vertex), what });
            }
            self.data.points.push(point);
        }
        for k in 0..3 {
            let Some(mut values) = self.fields[k].take() else { continue };
            let Some(accessor) = primitive.attributes[k + 1] else { continue };
            let mut new = self.attribute(k + 1, accessor as usize, count)?;
            let width = self.document.accessors[accessor as usize].width;
            if k == 0 && !is_identity {
                transform_normals(&mut new, scene_from_mesh);
            }
            // Colors with and without alpha in one file: all get alpha.
            if self.widths[k] != width && first > 0 {
                let shorter = if width == 3 { &mut new } else { &mut values };
                *shorter = shorter.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, 1.0]).collect();
            }
            self.widths[k] = self.widths[k].max(width);
            values.append(&mut new);
            self.fields[k] = Some(values);
        }
        self.first_point.insert(key, first as u32);
        Ok(first as u32)
    }

    /// The numbers of one of [`ATTRIBUTES`] for `count` vertices.
    fn attribute(&self, attribute: usize, index: usize, count: usize) -> Result<Vec<f64>, ReadError> {
        let accessor = &self.document.accessors[index];
        let (name, is_right) = match (attribute, accessor.width) {
            (0 | 1 | 3, 3) | (2, 2) | (3, 4) => (ATTRIBUTES[attribute], true),
            _ => (ATTRIBUTES[attribute], false),
        };
        if !is_right {
            return Err(self.buffers.wrong(index, &format!("has the wrong `type` for {name}")));
        }
        if accessor.count != count {
            let reason = format!("holds {} times {name} for {count} vertices", accessor.count);
            return Err(self.buffers.wrong(index, &reason));
        }
        self.buffers.floats(index)
    }

    fn add_notes(&mut self, placed: &[Placed]) {
        let document = self.document;
        let mut note = |is_true: bool, text: &str| {
            if is_true {
                self.data.notes.push(text.into());
            }
        };
        let is_there = |key: &str| document.root.get(key).is_some_and(|list| list.items().next().is_some());
        let has_targets = document.primitives.iter().any(|primitive| primitive.has_targets);
        note(
            placed.iter().any(|placed| placed.has_skin),
            "skins are left out: the rest pose is read, where its node is",
        );
        note(is_there("animations"), "animations are left out: the rest pose is read");
        note(has_targets, "morph targets are left out: the base shape is read");
        note(document.scenes.len() > 1, "the file has several scenes: only the default one is read");
        note(document.nodes.is_empty(), "the file has no scene: every mesh is read as it is stored");
        for (field, name) in self.fields.iter().zip(&ATTRIBUTES[1..]) {
            let slot = ATTRIBUTES.iter().position(|attribute| attribute == name).unwrap_or(0);
            if field.is_none() && document.primitives.iter().any(|primitive| primitive.attributes[slot].is_some()) {
                self.data.notes.push(format!("{name} is left out: not all primitives have it"));
            }
        }
    }

    fn finish(self) -> MeshData {
        let Assembly { document, mut data, fields, widths, .. } = self;
        for ((name, components), values) in ATTRIBUTES[1..].iter().zip(widths).zip(fields) {
            data.point_fields.extend(values.map(|values| Field { name: name.to_string(), components, values }));
        }
        let meshes = document.meshes.iter().zip(self.cells_of_mesh);
        let meshes = meshes.filter_map(|(mesh, cells)| Some((mesh.name.as_deref()?.to_string(), cells)));
        let materials = document.materials.iter().zip(self.cells_of_material);
        let materials = materials.filter_map(|(name, cells)| Some((format!("{MATERIAL}{}", name.as_deref()?), cells)));
        for (name, mut cells) in meshes.chain(materials) {
            data.cell_sets.entry(name).or_default().append(&mut cells);
        }
        // A node and its mesh often share a name.
        for cells in data.cell_sets.values_mut() {
            cells.sort_unstable();
            cells.dedup();
        }
        data.cell_sets.retain(|_, cells| !cells.is_empty());
        data
    }
}

/// Normals transform by the inverse transpose, which is the cofactor matrix over the determinant.
fn transform_normals(normals: &mut [f64], scene_from_mesh: &Affine) {
    let cofactor = scene_from_mesh.linear.cofactor() * scene_from_mesh.linear.determinant().signum();
    for normal in normals.as_chunks_mut::<3>().0 {
        let turned = cofactor * Vec3::new(normal[0], normal[1], normal[2]);
        let norm = turned.norm();
        if norm > 0.0 {
            *normal = (turned * norm.recip()).to_array();
        }
    }
}

/// Shape and nodes of the cells of a primitive mode; `None` for unknown modes and incomplete cells.
pub(super) fn cells_of_mode(mode: usize, nodes: Vec<u32>) -> Option<(CellShape, Vec<u32>)> {
    let count = nodes.len();
    // Strips join their parts by degenerate triangles.
    let is_real = |[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
    match mode {
        0 => Some((CellShape::Vertex, nodes)),
        1 if count.is_multiple_of(2) => Some((CellShape::Line2, nodes)),
        2 if count > 1 => {
            let ends = nodes.iter().copied().cycle().skip(1);
            Some((CellShape::Line2, nodes.iter().copied().zip(ends).flat_map(|(a, b)| [a, b]).collect()))
        }
        3 if count > 1 => Some((CellShape::Line2, nodes.windows(2).flatten().copied().collect())),
        4 if count.is_multiple_of(3) => Some((CellShape::Tri3, nodes)),
        5 if count > 2 => {
            let triangles = nodes.windows(3).enumerate().map(|(i, window)| {
                // Every second triangle has the opposite orientation.
                if i % 2 == 0 { [window[0], window[1], window[2]] } else { [window[0], window[2], window[1]] }
            });
            Some((CellShape::Tri3, triangles.filter(is_real).flatten().collect()))
        }
        6 if count > 2 => {
            let triangles = nodes.windows(2).skip(1).map(|edge| [edge[0], edge[1], nodes[0]]);
            Some((CellShape::Tri3, triangles.filter(is_real).flatten().collect()))
        }
        _ => None,
    }
}
