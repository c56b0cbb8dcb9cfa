//! Writer for legacy files, in the layout of version 4.2, which every reader supports.

use std::collections::BTreeMap;

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::error::WriteError;
use crate::format::WriteOptions;
use crate::mesh_data::{CellGroup, Field, MeshData};
use crate::text::push_u64;
use crate::vtu::sets::{PREFIX, mask};
use crate::vtu::text_array::push_rows;
use crate::vtu::typed::encode;
use crate::vtu::write::{check_fields, push_nodes, push_point, push_values};

/// Encodes a legacy VTK file with the mesh as an unstructured grid; binary files are big endian.
///
/// Sets become arrays `set:…` with a 1 for each member.
pub fn write(mesh: &MeshData, options: &WriteOptions) -> Result<Vec<u8>, WriteError> {
    if let Some(asked) = options.version.as_ref().filter(|version| *version != "4.2") {
        return Err(WriteError::Variant { format: "VTK", known: "4.2", asked: asked.clone() });
    }
    let (point_count, cell_count) = (mesh.points.len(), mesh.cell_count());
    check_fields(&mesh.point_fields, point_count, "VTK")?;
    check_fields(&mesh.cell_fields, cell_count, "VTK")?;
    let size = cell_count + mesh.groups.iter().map(|group| group.nodes.len()).sum::<usize>();
    if size > i32::MAX as usize || point_count > i32::MAX as usize {
        return Err(WriteError::Unsupported {
            format: "VTK",
            what: format!("{point_count} points and {cell_count} cells: its indices have 32 bits"),
            hint: "write a .vtu file",
        });
    }
    let numbers = |fields: &[Field]| fields.iter().map(|field| field.values.len()).sum::<usize>();
    let numbers = 3 * point_count + numbers(&mesh.point_fields) + numbers(&mesh.cell_fields);
    let mut out =
        Out { bytes: Vec::with_capacity(1024 + 8 * numbers + 4 * (size + cell_count)), is_binary: options.binary };
    let encoding = if options.binary { "BINARY" } else { "ASCII" };
    out.line(&format!("# vtk DataFile Version 4.2\nwritten by sinew\n{encoding}\nDATASET UNSTRUCTURED_GRID"));
    out.line(&format!("POINTS {point_count} double"));
    out.points(&mesh.points);
    out.line(&format!("CELLS {cell_count} {size}"));
    mesh.groups.iter().for_each(|group| out.cells(group));
    out.end();
    out.line(&format!("CELL_TYPES {cell_count}"));
    mesh.groups.iter().for_each(|group| out.types(group));
    out.end();
    out.data("POINT_DATA", point_count, &mesh.point_fields, &mesh.node_sets);
    out.data("CELL_DATA", cell_count, &mesh.cell_fields, &mesh.cell_sets);
    Ok(out.bytes)
}

struct Out {
    bytes: Vec<u8>,
    is_binary: bool,
}

impl Out {
    fn line(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'\n');
    }

    /// Ends a binary array; text already ends with its last line.
    fn end(&mut self) {
        if self.is_binary {
            self.bytes.push(b'\n');
        }
    }

    /// Appends room for binary numbers.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        &mut self.bytes[start..]
    }

    fn points(&mut self, points: &[Vec3]) {
        if !self.is_binary {
            push_rows(&mut self.bytes, points.len(), |out, row| push_point(out, points[row]));
            return;
        }
        encode(self.room(24 * points.len()), points, |point| {
            let mut bytes = [0; 24];
            let (numbers, _) = bytes.as_chunks_mut::<8>();
            for (number, value) in numbers.iter_mut().zip([point.x, point.y, point.z]) {
                *number = value.to_be_bytes();
            }
            bytes
        });
        self.end();
    }

    /// Each cell after its node count.
    fn cells(&mut self, group: &CellGroup) {
        if !self.is_binary {
            push_rows(&mut self.bytes, group.len(), |out, cell| {
                let nodes = group.cell(cell);
                push_u64(out, nodes.len() as u64);
                out.push(b' ');
                push_nodes(out, nodes);
            });
            return;
        }
        let Some(per_cell) = group.shape.nodes() else {
            for nodes in group.cells() {
                let room = self.room(4 * (nodes.len() + 1));
                fill_cell(room, nodes);
            }
            return;
        };
        /// Cells written by one task.
        const SPAN: usize = 32 << 10;
        let row = 4 * (per_cell + 1);
        let room = self.room(row * group.len());
        room.par_chunks_mut(row * SPAN).zip(group.nodes.par_chunks(per_cell * SPAN)).for_each(|(room, nodes)| {
            for (room, nodes) in room.chunks_exact_mut(row).zip(nodes.chunks_exact(per_cell)) {
                fill_cell(room, nodes);
            }
        });
    }

    fn types(&mut self, group: &CellGroup) {
        let vtk = group.shape.vtk();
        if self.is_binary {
            let (numbers, _) = self.room(4 * group.len()).as_chunks_mut::<4>();
            numbers.fill(i32::from(vtk).to_be_bytes());
        } else {
            let line = format!("{vtk}\n");
            push_rows(&mut self.bytes, group.len(), |out, _| out.extend_from_slice(line.as_bytes()));
        }
    }

    fn data(&mut self, keyword: &str, count: usize, fields: &[Field], sets: &BTreeMap<String, Vec<u32>>) {
        // An array without components looks like a missing one.
        let fields = fields.iter().filter(|field| field.components > 0);
        let array_count = fields.clone().count() + sets.len();
        if array_count == 0 {
            return;
        }
        self.line(&format!("{keyword} {count}\nFIELD FieldData {array_count}"));
        for Field { name, components, values } in fields {
            self.line(&format!("{} {components} {count} double", escaped(name)));
            if self.is_binary {
                encode(self.room(8 * values.len()), values, f64::to_be_bytes);
                self.end();
            } else {
                push_values(&mut self.bytes, values, *components);
            }
        }
        for (name, members) in sets {
            self.line(&format!("{} 1 {count} unsigned_char", escaped(&format!("{PREFIX}{name}"))));
            let mask = mask(members, count);
            if self.is_binary {
                self.bytes.extend_from_slice(&mask);
                self.end();
            } else {
                push_rows(&mut self.bytes, count, |out, row| out.extend_from_slice(&[b'0' + mask[row], b'\n']));
            }
        }
    }
}

fn fill_cell(room: &mut [u8], nodes: &[u32]) {
    let (numbers, _) = room.as_chunks_mut::<4>();
    for (number, value) in numbers.iter_mut().zip(std::iter::once(nodes.len() as u32).chain(nodes.iter().copied())) {
        *number = value.to_be_bytes();
    }
}

/// A name as one word, in VTK's encoding. It must not be empty.
fn escaped(name: &str) -> String {
    if name.is_empty() {
        return "unnamed".into();
    }
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if (33..=126).contains(&byte) && !matches!(byte, b'%' | b'"') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
