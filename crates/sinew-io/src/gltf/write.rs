//! Writer for static surfaces.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::WriteError;
use crate::gltf::MATERIAL;
use crate::gltf::encode::{Encoder, Use};
use crate::mesh_data::{CellShape, MeshData, triangles_of};

/// No set.
const NONE: u32 = u32::MAX;

pub(super) fn write(mesh: &MeshData, glb: bool) -> Result<Vec<u8>, WriteError> {
    if mesh.points.is_empty() {
        let hint = "glTF has no empty lists";
        return Err(WriteError::Unsupported { format: "glTF", what: "a mesh without points".into(), hint });
    }
    let (is_material, is_mesh): (Vec<_>, Vec<_>) =
        mesh.cell_sets.iter().partition(|(name, _)| name.starts_with(MATERIAL));
    let materials = Partition::new(&is_material, mesh.cell_count());
    let meshes = Partition::new(&is_mesh, mesh.cell_count());

    let mut encoder = Encoder::with_capacity(12 * mesh.points.len() + 16 * mesh.cell_count());
    let attributes = write_vertices(mesh, &mut encoder)?;
    let mut primitives: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for ((in_mesh, in_material, mode), indices) in gather(mesh, &meshes, &materials)? {
        let mut primitive = json!({"attributes": attributes, "mode": mode, "indices": encoder.indices(&indices)});
        if in_material != NONE {
            primitive["material"] = in_material.into();
        }
        primitives.entry(in_mesh).or_default().push(primitive);
    }
    if primitives.is_empty() {
        primitives.insert(NONE, vec![json!({"attributes": attributes, "mode": 0})]);
    }

    let mut root = json!({"scene": 0, "scenes": [{"nodes": (0..primitives.len()).collect::<Vec<_>>()}]});
    let (mut list, mut nodes) = (Vec::new(), Vec::new());
    for (part, primitives) in primitives {
        let (mut mesh, mut node) = (json!({"primitives": primitives}), json!({"mesh": list.len()}));
        if let Some(names) = meshes.names.get(part as usize) {
            mesh["name"] = names[0].into();
            // Two names for the same cells: those of a mesh and of its node.
            node["name"] = names[names.len().min(2) - 1].into();
        }
        list.push(mesh);
        nodes.push(node);
    }
    (root["meshes"], root["nodes"]) = (list.into(), nodes.into());
    if !materials.names.is_empty() {
        let material = |names: &Vec<&str>| {
            let name = names[0].strip_prefix(MATERIAL);
            json!({"name": name, "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.6}})
        };
        root["materials"] = materials.names.iter().map(material).collect();
    }
    encoder.finish(root, glb)
}

/// Disjoint sets of cells, ordered by their first cell.
struct Partition<'a> {
    /// Names of each set; equal sets are merged.
    names: Vec<Vec<&'a str>>,
    /// The set of each cell; empty without sets.
    of_cell: Vec<u32>,
}

impl<'a> Partition<'a> {
    fn new(sets: &[(&'a String, &'a Vec<u32>)], cell_count: usize) -> Partition<'a> {
        let mut distinct: BTreeMap<&[u32], Vec<&str>> = BTreeMap::new();
        for (name, cells) in sets.iter().filter(|(_, cells)| !cells.is_empty()) {
            distinct.entry(cells.as_slice()).or_default().push(name.as_str());
        }
        let mut partition = Partition { names: Vec::new(), of_cell: Vec::new() };
        if !distinct.is_empty() {
            partition.of_cell.resize(cell_count, NONE);
        }
        // Sets are ordered by their cells, hence by their first.
        for (set, (cells, names)) in distinct.into_iter().enumerate() {
            for &cell in cells {
                match partition.of_cell.get_mut(cell as usize) {
                    Some(slot) if *slot == NONE || *slot == set as u32 => *slot = set as u32,
                    // A cell in two sets cannot be in two primitives.
                    _ => return Partition { names: Vec::new(), of_cell: Vec::new() },
                }
            }
            partition.names.push(names);
        }
        partition
    }

    fn set(&self, cell: usize) -> u32 {
        self.of_cell.get(cell).copied().unwrap_or(NONE)
    }
}

/// Mesh, material and mode.
type Part = (u32, u32, u32);

/// The indices of each primitive, ordered by first cell.
fn gather(mesh: &MeshData, meshes: &Partition, materials: &Partition) -> Result<Vec<(Part, Vec<u32>)>, WriteError> {
    let mut number_of: BTreeMap<Part, usize> = BTreeMap::new();
    let mut parts: Vec<(Part, Vec<u32>)> = Vec::new();
    let mut current = 0;
    for (number, (shape, nodes)) in mesh.cells().enumerate() {
        let mode = match shape {
            CellShape::Vertex => 0,
            CellShape::Line2 => 1,
            CellShape::Tri3 | CellShape::Quad4 | CellShape::Polygon => 4,
            _ => {
                let what = format!("cells of the kind {} (first: cell {number})", shape.name());
                let hint = "`sinew mesh convert --boundary` writes the surface of a volume";
                return Err(WriteError::Unsupported { format: "glTF", what, hint });
            }
        };
        let part = (meshes.set(number), materials.set(number), mode);
        if parts.get(current).is_none_or(|last| last.0 != part) {
            current = *number_of.entry(part).or_insert(parts.len());
            if current == parts.len() {
                parts.push((part, Vec::new()));
            }
        }
        let indices = &mut parts[current].1;
        if mode == 4 {
            indices.extend(triangles_of(nodes).flatten());
        } else {
            indices.extend_from_slice(nodes);
        }
    }
    // Polygons with fewer than three corners produce no triangles.
    parts.retain(|(_, indices)| !indices.is_empty());
    Ok(parts)
}

/// Positions, and the point fields that glTF supports.
fn write_vertices(mesh: &MeshData, encoder: &mut Encoder) -> Result<Value, WriteError> {
    let positions: Vec<[f32; 3]> = mesh.points.iter().map(|x| x.to_array().map(|x| x as f32)).collect();
    if let Some(point) = positions.iter().position(|x| x.iter().any(|x| !x.is_finite())) {
        let what = format!("the position of point {point} in single precision");
        let hint = "coordinates must not exceed 3.4e38; scale the mesh";
        return Err(WriteError::Unsupported { format: "glTF", what, hint });
    }
    let mut attributes = json!({"POSITION": encoder.vectors(&positions, Use::Vertices)});
    // Skips a field entirely if it has a value that glTF forbids.
    if let Some(mut normals) = vectors::<3>(mesh, "NORMAL") {
        for normal in &mut normals {
            let norm = normal.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            *normal = normal.map(|x| (f64::from(x) / norm) as f32);
        }
        if normals.as_flattened().iter().all(|x| x.is_finite()) {
            attributes["NORMAL"] = encoder.vectors(&normals, Use::Vertices).into();
        }
    }
    if let Some(places) = vectors::<2>(mesh, "TEXCOORD_0") {
        attributes["TEXCOORD_0"] = encoder.vectors(&places, Use::Vertices).into();
    }
    let clamped = |color: f32| color.clamp(0.0, 1.0);
    if let Some(colors) = vectors::<3>(mesh, "COLOR_0") {
        let colors: Vec<_> = colors.into_iter().map(|color| color.map(clamped)).collect();
        attributes["COLOR_0"] = encoder.vectors(&colors, Use::Vertices).into();
    } else if let Some(colors) = vectors::<4>(mesh, "COLOR_0") {
        let colors: Vec<_> = colors.into_iter().map(|color| color.map(clamped)).collect();
        attributes["COLOR_0"] = encoder.vectors(&colors, Use::Vertices).into();
    }
    Ok(attributes)
}

/// A point field of `N` components in single precision, if there is one and it is finite.
fn vectors<const N: usize>(mesh: &MeshData, name: &str) -> Option<Vec<[f32; N]>> {
    let field = mesh.point_field(name).filter(|field| field.components == N && field.len() == mesh.points.len())?;
    let vectors: Vec<[f32; N]> = field.values.as_chunks::<N>().0.iter().map(|v| v.map(|x| x as f32)).collect();
    vectors.as_flattened().iter().all(|x| x.is_finite()).then_some(vectors)
}
