//! Segments of 3D Slicer.

use std::collections::BTreeMap;

use super::super::data::{LabelInfo, LabelTable, Voxels};
use super::super::samples::{LongTable, Samples};
use super::header::Header;
use crate::error::ReadError;

/// A segment: a value in a layer.
pub(super) struct Segment {
    layer: u64,
    value: u64,
    info: LabelInfo,
}

/// Segments by their number in the header.
pub(super) fn of(header: &Header<'_>) -> Vec<Segment> {
    let mut numbers: Vec<u32> =
        header.keys.keys().filter_map(|key| key.strip_prefix("Segment")?.split_once('_')?.0.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().map(|number| segment(header, number)).collect()
}

fn segment(header: &Header<'_>, number: u32) -> Segment {
    let key = |name: &str| header.keys.get(format!("Segment{number}_{name}").as_str()).copied();
    let integer = |name: &str| key(name).and_then(|value| value.trim().parse::<u64>().ok());
    let color = key("Color").and_then(|value| {
        let parts: Vec<f32> = value.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let is_color = parts.len() == 3 && parts.iter().all(|part| (0.0..=1.0).contains(part));
        is_color.then(|| [parts[0], parts[1], parts[2]])
    });
    let name = key("Name").or_else(|| key("ID")).unwrap_or_default().trim().to_string();
    Segment {
        layer: integer("Layer").unwrap_or(0),
        // Before layers there were binary volumes, one for each segment.
        value: integer("LabelValue").unwrap_or(1),
        info: LabelInfo { name, color },
    }
}

/// Names of labels of a single layer.
pub(super) fn names(segments: &[Segment]) -> LongTable {
    segments.iter().map(|segment| (segment.value, segment.info.clone())).collect()
}

/// One label for each voxel from several layers, whose values change fastest in the file.
pub(super) fn flatten(
    samples: &Samples<'_>,
    layers: usize,
    count: usize,
    segments: &[Segment],
    header: &Header<'_>,
    notes: &mut Vec<String>,
) -> Result<(Voxels, LabelTable), ReadError> {
    let (numbers, table) = numbered(segments, notes);
    let mut labels = vec![0u16; count];
    let (mut unknown, mut overlaps, mut at) = (0usize, 0usize, 0usize);
    let mut bad = None;
    samples.each(|value| {
        let (voxel, layer) = (at / layers, at % layers);
        at += 1;
        if value == 0.0 || voxel >= count {
            return;
        }
        if !(value > 0.0 && value.fract() == 0.0) {
            bad = bad.or(Some(value));
        }
        match numbers.get(&(layer as u64, value as u64)) {
            Some(&label) => {
                overlaps += usize::from(labels[voxel] != 0);
                labels[voxel] = label;
            }
            None => unknown += 1,
        }
    });
    if let Some(value) = bad {
        return Err(header.refuse("type", format!("{value} is not a label of a segment")));
    }
    if overlaps > 0 {
        notes.push(format!("segments overlap in {overlaps} voxels: that of the last layer counts there"));
    }
    if unknown > 0 {
        notes.push(format!("{unknown} values belong to no segment: taken as background"));
    }
    Ok((Voxels::Labels(labels), table))
}

/// A label for each segment: its value where no other layer has it too.
fn numbered(segments: &[Segment], notes: &mut Vec<String>) -> (BTreeMap<(u64, u64), u16>, LabelTable) {
    let (mut numbers, mut table) = (BTreeMap::new(), LabelTable::default());
    let mut renamed = 0usize;
    for segment in segments {
        let wanted = u16::try_from(segment.value).ok().filter(|label| *label > 0 && table.get(*label).is_none());
        let free = || (1..=u16::MAX).find(|label| table.get(*label).is_none() && !is_value(segments, *label));
        renamed += usize::from(wanted.is_none());
        if let Some(label) = wanted.or_else(free) {
            numbers.insert((segment.layer, segment.value), label);
            table.0.insert(label, segment.info.clone());
        }
    }
    if renamed > 0 {
        notes.push(format!("{renamed} segments have the same value in several layers: they got new labels"));
    }
    (numbers, table)
}

fn is_value(segments: &[Segment], label: u16) -> bool {
    segments.iter().any(|segment| segment.value == u64::from(label))
}
