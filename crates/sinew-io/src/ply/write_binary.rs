//! Binary PLY writer. All record sizes are known in advance, so all cores fill the records in place.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::write::{Element, Property};
use crate::mesh_data::{CellGroup, CellShape};

/// Records per task: enough to pay for one.
const RECORDS_PER_TASK: usize = 4096;

/// The header, the points and the elements.
pub(super) fn data(header: &[u8], points: &[Vec3], properties: &[Property<'_>], elements: &[Element<'_>]) -> Vec<u8> {
    let point_size = 24 + size_of(properties);
    let group_size = |element: &Element<'_>, group: &CellGroup| {
        group.len() * (element.count_size + size_of(&element.properties)) + 4 * group.nodes.len()
    };
    let sizes = elements.iter().flat_map(|element| element.groups.iter().map(|(group, _)| group_size(element, group)));
    let mut out = vec![0u8; header.len() + point_size * points.len() + sizes.sum::<usize>()];
    let (head, rest) = out.split_at_mut(header.len());
    head.copy_from_slice(header);
    let (records, mut rest) = rest.split_at_mut(point_size * points.len());
    fill(records, point_size, |entry, record| {
        let (place, values) = record.split_at_mut(24);
        let point = points[entry];
        for (slot, value) in place.as_chunks_mut::<8>().0.iter_mut().zip([point.x, point.y, point.z]) {
            *slot = value.to_le_bytes();
        }
        fill_properties(values, properties, entry);
    });
    for element in elements {
        for (group, first) in &element.groups {
            let (records, behind) = rest.split_at_mut(group_size(element, group));
            rest = behind;
            fill_group(records, element, group, *first);
        }
    }
    out
}

fn size_of(properties: &[Property<'_>]) -> usize {
    properties.iter().map(Property::size).sum()
}

/// Fills records of one size; passes their indices.
fn fill(records: &mut [u8], size: usize, record: impl Fn(usize, &mut [u8]) + Sync) {
    records.par_chunks_exact_mut(size).with_min_len(RECORDS_PER_TASK).enumerate().for_each(|(i, r)| record(i, r));
}

fn fill_properties(mut values: &mut [u8], properties: &[Property<'_>], entry: usize) {
    for property in properties {
        let (slot, rest) = values.split_at_mut(property.size());
        let value = property.value(entry);
        if property.is_byte {
            slot[0] = value as u8;
        } else {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        values = rest;
    }
}

fn fill_group(records: &mut [u8], element: &Element<'_>, group: &CellGroup, first: usize) {
    let properties = &element.properties;
    if group.shape == CellShape::Tri3 && element.count_size == 1 && properties.is_empty() {
        // The usual case, with sizes known at compile time.
        let (records, _) = records.as_chunks_mut::<13>();
        let (triangles, _) = group.nodes.as_chunks::<3>();
        records.par_iter_mut().zip(triangles).with_min_len(RECORDS_PER_TASK).for_each(|(record, [a, b, c])| {
            let [[a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]] = [a, b, c].map(|node| node.to_le_bytes());
            *record = [3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3];
        });
        return;
    }
    let fill_cell = |cell: usize, record: &mut [u8]| {
        let nodes = group.cell(cell);
        let (count, rest) = record.split_at_mut(element.count_size);
        count.copy_from_slice(&(nodes.len() as u32).to_le_bytes()[..element.count_size]);
        let (corners, values) = rest.split_at_mut(4 * nodes.len());
        for (slot, node) in corners.as_chunks_mut::<4>().0.iter_mut().zip(nodes) {
            *slot = node.to_le_bytes();
        }
        fill_properties(values, properties, first + cell);
    };
    match group.shape.nodes() {
        Some(nodes) => fill(records, element.count_size + 4 * nodes + size_of(properties), fill_cell),
        None => {
            let mut rest = records;
            for cell in 0..group.len() {
                let size = element.count_size + 4 * group.cell(cell).len() + size_of(properties);
                let (record, behind) = rest.split_at_mut(size);
                rest = behind;
                fill_cell(cell, record);
            }
        }
    }
}
