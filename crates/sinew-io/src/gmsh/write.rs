//! Writes `.msh` files.

use sinew_math::parallel::prelude::*;

use sinew_math::Vec3;

use super::classify::{Entity, Layout};
use super::shape;
use crate::error::WriteError;
use crate::mesh_data::{CellShape, Field, MeshData};
use crate::text::{push_f64, push_u64};

/// Number encoding. Binary is little endian.
trait Numbers {
    const IS_BINARY: bool;
    fn int(out: &mut Vec<u8>, value: i32);
    fn size(out: &mut Vec<u8>, value: u64);
    fn double(out: &mut Vec<u8>, value: f64);
    /// Ends a line of text.
    fn end(out: &mut Vec<u8>);

    /// Writes rows of `columns` integers of type `int`, each filled by `row`.
    fn ints(out: &mut Vec<u8>, rows: usize, columns: usize, row: impl Fn(usize, &mut [i32]) + Sync) {
        fill_rows(out, rows, columns, row, |out, numbers| {
            numbers.iter().for_each(|&number| Self::int(out, number));
            Self::end(out);
        });
    }

    /// The same for type `size_t`.
    fn sizes(out: &mut Vec<u8>, rows: usize, columns: usize, row: impl Fn(usize, &mut [u64]) + Sync) {
        fill_rows(out, rows, columns, row, |out, numbers| {
            numbers.iter().for_each(|&number| Self::size(out, number));
            Self::end(out);
        });
    }
}

/// Fills and writes one row after another.
fn fill_rows<T: Copy + Default>(
    out: &mut Vec<u8>,
    rows: usize,
    columns: usize,
    row: impl Fn(usize, &mut [T]),
    mut write: impl FnMut(&mut Vec<u8>, &[T]),
) {
    let mut numbers = [T::default(); shape::MAX_NODES + 5];
    let Some(numbers) = numbers.get_mut(..columns) else { return };
    for index in 0..rows {
        row(index, numbers);
        write(out, numbers);
    }
}

struct Text;
struct Binary;

impl Numbers for Text {
    const IS_BINARY: bool = false;
    fn int(out: &mut Vec<u8>, value: i32) {
        if value < 0 {
            out.push(b'-');
        }
        push_u64(out, u64::from(value.unsigned_abs()));
        out.push(b' ');
    }
    fn size(out: &mut Vec<u8>, value: u64) {
        push_u64(out, value);
        out.push(b' ');
    }
    fn double(out: &mut Vec<u8>, value: f64) {
        push_f64(out, value);
        out.push(b' ');
    }
    fn end(out: &mut Vec<u8>) {
        if let Some(last) = out.last_mut() {
            *last = b'\n';
        }
    }
}

impl Numbers for Binary {
    const IS_BINARY: bool = true;
    fn int(out: &mut Vec<u8>, value: i32) {
        out.extend_from_slice(&value.to_le_bytes());
    }
    fn size(out: &mut Vec<u8>, value: u64) {
        out.extend_from_slice(&value.to_le_bytes());
    }
    fn double(out: &mut Vec<u8>, value: f64) {
        out.extend_from_slice(&value.to_le_bytes());
    }
    fn end(_: &mut Vec<u8>) {}

    fn ints(out: &mut Vec<u8>, rows: usize, columns: usize, row: impl Fn(usize, &mut [i32]) + Sync) {
        byte_rows(out, rows, columns, row, i32::to_le_bytes);
    }

    fn sizes(out: &mut Vec<u8>, rows: usize, columns: usize, row: impl Fn(usize, &mut [u64]) + Sync) {
        byte_rows(out, rows, columns, row, u64::to_le_bytes);
    }
}

/// Writes rows as bytes, many at a time on all threads: appending number by number is three times slower.
fn byte_rows<T: Copy + Default, const N: usize>(
    out: &mut Vec<u8>,
    rows: usize,
    columns: usize,
    row: impl Fn(usize, &mut [T]) + Sync,
    bytes_of: impl Fn(T) -> [u8; N] + Sync,
) {
    /// Few enough to stay in the cache.
    const AT_ONCE: usize = 512;
    let start = out.len();
    out.resize(start + rows * columns * N, 0);
    let pieces = out[start..].par_chunks_mut((AT_ONCE * columns * N).max(1)).enumerate().with_min_len(8);
    pieces.for_each_init(Vec::new, |numbers: &mut Vec<T>, (piece, bytes)| {
        numbers.resize(bytes.len() / N, T::default());
        for (k, values) in numbers.chunks_exact_mut(columns).enumerate() {
            row(piece * AT_ONCE + k, values);
        }
        let (slots, _) = bytes.as_chunks_mut::<N>();
        for (slot, &number) in slots.iter_mut().zip(&*numbers) {
            *slot = bytes_of(number);
        }
    });
}

/// Version 4.1.
pub(super) fn version4(mesh: &MeshData, is_binary: bool) -> Result<Vec<u8>, WriteError> {
    if is_binary { write::<Binary>(mesh, "4.1") } else { write::<Text>(mesh, "4.1") }
}

/// Version 2.2.
pub(super) fn version2(mesh: &MeshData, is_binary: bool) -> Result<Vec<u8>, WriteError> {
    if is_binary { write::<Binary>(mesh, "2.2") } else { write::<Text>(mesh, "2.2") }
}

fn write<N: Numbers>(mesh: &MeshData, version: &str) -> Result<Vec<u8>, WriteError> {
    check(mesh)?;
    let layout = Layout::new(mesh);
    let mut out = Vec::with_capacity(capacity::<N>(mesh));
    section(&mut out, "$MeshFormat");
    section(&mut out, &format!("{version} {} 8", i32::from(N::IS_BINARY)));
    if N::IS_BINARY {
        out.extend_from_slice(&1i32.to_le_bytes());
        out.push(b'\n');
    }
    section(&mut out, "$EndMeshFormat");
    if version == "2.2" {
        names(&mut out, &layout, |whole| whole);
        nodes2::<N>(&mut out, mesh);
        elements2::<N>(&mut out, mesh, &layout);
    } else {
        names(&mut out, &layout, |_| true);
        let home = entities4::<N>(&mut out, mesh, &layout);
        nodes4::<N>(&mut out, mesh, home);
        elements4::<N>(&mut out, mesh, &layout);
    }
    for field in mesh.point_fields.iter().filter(|field| field.components > 0) {
        data::<N>(&mut out, "NodeData", field, mesh.points.len());
    }
    for field in mesh.cell_fields.iter().filter(|field| field.components > 0 && !layout.is_structure(field)) {
        data::<N>(&mut out, "ElementData", field, mesh.cell_count() + layout.points.len());
    }
    Ok(out)
}

/// Gmsh has neither polygons nor fields of more than nine components.
fn check(mesh: &MeshData) -> Result<(), WriteError> {
    let format = "Gmsh";
    if mesh.groups.iter().any(|group| group.shape == CellShape::Polygon) {
        let hint = "split polygons into triangles, or write VTU or PLY";
        return Err(WriteError::Unsupported { format, what: "polygons".into(), hint });
    }
    let mut fields = mesh.point_fields.iter().chain(&mesh.cell_fields);
    if let Some(field) = fields.find(|field| field.components > 9) {
        let what = format!("the field \"{}\" of {} components", field.name, field.components);
        return Err(WriteError::Unsupported { format, what, hint: "write VTU, or leave the field out" });
    }
    Ok(())
}

/// Slightly more than the file size, to avoid reallocation.
fn capacity<N: Numbers>(mesh: &MeshData) -> usize {
    let numbers: usize = mesh.groups.iter().map(|group| group.nodes.len() + 4 * group.len()).sum();
    let fields = mesh.point_fields.iter().chain(&mesh.cell_fields).map(|field| 2 * field.values.len()).sum::<usize>();
    let digits = 2 + (mesh.points.len().max(mesh.cell_count()).max(1)).ilog10() as usize;
    let (integer, double) = if N::IS_BINARY { (8, 8) } else { (digits, 20) };
    numbers * integer + mesh.points.len() * (3 * double + integer) + fields * double + 4096
}

fn section(out: &mut Vec<u8>, line: &str) {
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// The end marker of a binary section is on its own line.
fn end_section<N: Numbers>(out: &mut Vec<u8>, name: &str) {
    if N::IS_BINARY {
        out.push(b'\n');
    }
    section(out, &format!("$End{name}"));
}

/// A quoted name; the format cannot escape quotes or line breaks.
fn quoted(name: &str) -> String {
    let clean = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    format!("\"{}\"", name.chars().map(clean).collect::<String>())
}

fn names(out: &mut Vec<u8>, layout: &Layout, is_written: impl Fn(bool) -> bool) {
    let written: Vec<_> = layout.names.iter().filter(|name| is_written(name.3)).collect();
    if written.is_empty() {
        return;
    }
    section(out, "$PhysicalNames");
    section(out, &written.len().to_string());
    for (dimension, id, name, _) in written {
        section(out, &format!("{dimension} {id} {}", quoted(name)));
    }
    section(out, "$EndPhysicalNames");
}

/// Writes `$Entities`; returns the entity of all nodes.
fn entities4<N: Numbers>(out: &mut Vec<u8>, mesh: &MeshData, layout: &Layout) -> (usize, i32) {
    // Nodes need an entity even without cells.
    let lone = [Entity { dimension: 3, tag: 1, physicals: Vec::new() }];
    let is_lonely = layout.entities.is_empty() && !mesh.points.is_empty();
    let entities = if is_lonely { lone.as_slice() } else { layout.entities.as_slice() };
    // A box that contains each entity; finding the smallest one would take longer than writing all cells.
    let first = mesh.points.first().copied().unwrap_or_else(Vec3::zero);
    let (low, high) = mesh.points.iter().fold((first, first), |(low, high), &x| (low.min(x), high.max(x)));
    section(out, "$Entities");
    for dimension in 0..4 {
        N::size(out, entities.iter().filter(|entity| entity.dimension == dimension).count() as u64);
    }
    N::end(out);
    for entity in entities {
        N::int(out, entity.tag);
        low.to_array().into_iter().for_each(|x| N::double(out, x));
        if entity.dimension > 0 {
            high.to_array().into_iter().for_each(|x| N::double(out, x));
        }
        N::size(out, entity.physicals.len() as u64);
        entity.physicals.iter().for_each(|&id| N::int(out, id));
        if entity.dimension > 0 {
            N::size(out, 0);
        }
        N::end(out);
    }
    end_section::<N>(out, "Entities");
    let highest = entities.last().map_or(0, |entity| entity.dimension);
    entities.iter().find(|entity| entity.dimension == highest).map_or((0, 0), |entity| (highest, entity.tag))
}

fn nodes4<N: Numbers>(out: &mut Vec<u8>, mesh: &MeshData, (dimension, tag): (usize, i32)) {
    let count = mesh.points.len() as u64;
    section(out, "$Nodes");
    for number in [count.min(1), count, count.min(1), count] {
        N::size(out, number);
    }
    N::end(out);
    if count > 0 {
        N::int(out, dimension as i32);
        N::int(out, tag);
        N::int(out, 0);
        N::size(out, count);
        N::end(out);
        N::sizes(out, mesh.points.len(), 1, |index, row| row[0] = index as u64 + 1);
        for point in &mesh.points {
            point.to_array().into_iter().for_each(|x| N::double(out, x));
            N::end(out);
        }
    }
    end_section::<N>(out, "Nodes");
}

fn nodes2<N: Numbers>(out: &mut Vec<u8>, mesh: &MeshData) {
    section(out, "$Nodes");
    section(out, &mesh.points.len().to_string());
    for (index, point) in mesh.points.iter().enumerate() {
        N::int(out, (index + 1) as i32);
        point.to_array().into_iter().for_each(|x| N::double(out, x));
        N::end(out);
    }
    end_section::<N>(out, "Nodes");
}

/// Consecutive cells of one shape on one entity.
struct Block<'a> {
    shape: CellShape,
    entity: &'a Entity,
    nodes: &'a [u32],
    count: usize,
}

/// All cells, then the points for node sets.
fn blocks<'a>(mesh: &'a MeshData, layout: &'a Layout) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut runs = layout.runs.iter();
    let mut left = (0, 0);
    let groups = mesh.groups.iter().map(|group| (group.shape, group.nodes.as_slice()));
    for (shape, mut nodes) in groups.chain([(CellShape::Vertex, layout.points.as_slice())]) {
        let each = shape.nodes().unwrap_or(1);
        while !nodes.is_empty() {
            if left.0 == 0 {
                let Some(run) = runs.next() else { break };
                left = *run;
            }
            let count = left.0.min(nodes.len() / each);
            left.0 -= count;
            let (now, later) = nodes.split_at(count * each);
            if let (Some(entity), true) = (layout.entities.get(left.1), count > 0) {
                blocks.push(Block { shape, entity, nodes: now, count });
            }
            if count == 0 {
                break;
            }
            nodes = later;
        }
    }
    blocks
}

/// VTK's node number for each of Gmsh's nodes.
fn gmsh_order(vtk_order: &[u8]) -> [usize; shape::MAX_NODES] {
    let mut order = [0; shape::MAX_NODES];
    for (vtk, &gmsh) in vtk_order.iter().enumerate() {
        order[usize::from(gmsh)] = vtk;
    }
    order
}

fn elements4<N: Numbers>(out: &mut Vec<u8>, mesh: &MeshData, layout: &Layout) {
    let blocks = blocks(mesh, layout);
    let total = blocks.iter().map(|block| block.count as u64).sum::<u64>();
    section(out, "$Elements");
    for number in [blocks.len() as u64, total, total.min(1), total] {
        N::size(out, number);
    }
    N::end(out);
    let mut before = 0;
    for block in &blocks {
        let Some((number, vtk_order)) = shape::to_type(block.shape) else { continue };
        let order = gmsh_order(vtk_order);
        N::int(out, block.entity.dimension as i32);
        N::int(out, block.entity.tag);
        N::int(out, number);
        N::size(out, block.count as u64);
        N::end(out);
        let each = vtk_order.len();
        N::sizes(out, block.count, 1 + each, |index, row| {
            row[0] = (before + index + 1) as u64;
            let nodes = &block.nodes[index * each..(index + 1) * each];
            for (number, &at) in row[1..].iter_mut().zip(&order) {
                *number = u64::from(nodes[at]) + 1;
            }
        });
        before += block.count;
    }
    end_section::<N>(out, "Elements");
}

fn elements2<N: Numbers>(out: &mut Vec<u8>, mesh: &MeshData, layout: &Layout) {
    let blocks = blocks(mesh, layout);
    section(out, "$Elements");
    section(out, &blocks.iter().map(|block| block.count).sum::<usize>().to_string());
    let mut earlier = 0;
    for block in &blocks {
        let Some((number, vtk_order)) = shape::to_type(block.shape) else { continue };
        let order = gmsh_order(vtk_order);
        let physical = block.entity.physicals.first().copied().unwrap_or(0);
        let each = vtk_order.len();
        // In binary files a header gives the type and the number of tags for the whole block.
        let before: &[i32] = if N::IS_BINARY { &[] } else { &[number, 2] };
        if N::IS_BINARY {
            [number, block.count as i32, 2].into_iter().for_each(|value| N::int(out, value));
        }
        N::ints(out, block.count, 1 + before.len() + 2 + each, |index, row| {
            row[0] = (earlier + index + 1) as i32;
            let (header, rest) = row[1..].split_at_mut(before.len());
            header.copy_from_slice(before);
            let (tags, numbers) = rest.split_at_mut(2);
            tags.copy_from_slice(&[physical, block.entity.tag]);
            let nodes = &block.nodes[index * each..(index + 1) * each];
            for (number, &at) in numbers.iter_mut().zip(&order) {
                *number = (nodes[at] + 1) as i32;
            }
        });
        earlier += block.count;
    }
    end_section::<N>(out, "Elements");
}

/// Writes a field, padded with zeros to 1, 3 or 9 components and with NaN to `count` entries.
fn data<N: Numbers>(out: &mut Vec<u8>, name: &str, field: &Field, count: usize) {
    let components = match field.components {
        1 => 1,
        2 | 3 => 3,
        _ => 9,
    };
    section(out, &format!("${name}"));
    section(out, &format!("1\n{}\n1\n0\n3\n0\n{components}\n{count}", quoted(&field.name)));
    let mut rows = field.values.chunks_exact(field.components);
    for tag in 1..=count {
        N::int(out, tag as i32);
        match rows.next() {
            Some(row) => row.iter().for_each(|&value| N::double(out, value)),
            None => (0..field.components).for_each(|_| N::double(out, f64::NAN)),
        }
        (field.components..components).for_each(|_| N::double(out, 0.0));
        N::end(out);
    }
    end_section::<N>(out, name);
}
