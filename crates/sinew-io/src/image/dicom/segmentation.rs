//! Segmentations: a frame for each segment and slice that is not empty, in single bits, fractions or labels.

use std::collections::BTreeMap;

use sinew_math::{Mat3, Vec3};

use super::super::data::{ImageData, LabelInfo, LabelTable, Voxels, turned};
use super::super::layout::{self, MILLIMETER};
use super::elements::{DataSet, DicomFile, View, tag};
use super::pixels::{Format, push_frame};
use super::series::{Plane, plane};
use crate::error::{Place, ReadError};

/// Slices that are off the raster by more than this part of their distance are refused.
const OFF: f64 = 0.1;

/// Most slices: an empty segmentation must not swell.
const TALLEST: f64 = 4096.0;

/// Whether a file is a segmentation.
pub(super) fn is_one(data: &DataSet<'_>) -> bool {
    let class = data.text(tag::CLASS);
    class == "1.2.840.10008.5.1.4.1.1.66.4" || class == "1.2.840.10008.5.1.4.1.1.66.7"
}

/// Reads a segmentation.
pub(super) fn read(file: &DicomFile<'_>) -> Result<ImageData, ReadError> {
    let format = Format::of(file)?;
    let planes: Vec<Plane> = (0..format.frames).map(|frame| plane(file, frame)).collect();
    let mut notes = Vec::new();
    let (slices, height, origin, axes) = raster(&planes, &mut notes)?;
    let size = [format.columns, format.rows, height];
    let voxels = layout::voxel_count(size, Place::Slice(0))?;
    // The frames and the empty slices between them: most of a sparse one is not in the file.
    let grid = layout::grid(size, origin, axes, Place::Slice(0), &mut notes)?;
    let table = segments(file.data.view());
    let mut labels = vec![0u16; voxels];
    fill(file, &format, &slices, &table, &mut labels, &mut notes)?;
    Ok(ImageData { grid, voxels: Voxels::Labels(labels), table, notes })
}

/// Names and colors of segments.
fn segments(top: View<'_>) -> LabelTable {
    let mut table = LabelTable::default();
    for segment in top.items(tag::SEGMENTS) {
        let Some(number) = segment.number(tag::SEGMENT_NUMBER) else { continue };
        let color = segment.shorts(tag::SEGMENT_COLOR).filter(|lab| lab.len() == 3);
        let info = LabelInfo {
            name: segment.text(tag::SEGMENT_LABEL),
            color: color.map(|lab| from_lab([lab[0], lab[1], lab[2]])),
        };
        table.0.insert(number as u16, info);
    }
    table
}

/// Red, green and blue of a color that DICOM gives as CIE L*a*b* (white D50) in 16 bits.
fn from_lab([l, a, b]: [u16; 3]) -> [f32; 3] {
    let l = f64::from(l) * 100.0 / 65_535.0;
    let [a, b] = [a, b].map(|part| f64::from(part) * 255.0 / 65_535.0 - 128.0);
    let y = (l + 16.0) / 116.0;
    let part = |t: f64| if t > 6.0 / 29.0 { t * t * t } else { 3.0 * (6.0f64 / 29.0).powi(2) * (t - 4.0 / 29.0) };
    let white = Vec3::new(0.9642, 1.0, 0.8251);
    let xyz = Vec3::new(part(y + a / 500.0), part(y), part(y - b / 200.0)).component_mul(white);
    // From XYZ at D50 to linear sRGB at D65 (Bradford).
    let linear = Mat3::from_rows(
        Vec3::new(3.133_856, -1.616_867, -0.490_615),
        Vec3::new(-0.978_768, 1.916_142, 0.033_454),
        Vec3::new(0.071_945, -0.228_991, 1.405_243),
    ) * xyz;
    linear.to_array().map(|v| {
        let v = v.clamp(0.0, 1.0);
        let srgb = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        srgb.clamp(0.0, 1.0) as f32
    })
}

/// Slice of each frame, number of slices, origin and axes [m, RAS].
fn raster(planes: &[Plane], notes: &mut Vec<String>) -> Result<(Vec<usize>, usize, Vec3, Mat3), ReadError> {
    let fault = |slice: usize, reason: String| ReadError::Syntax { place: Place::Slice(slice), reason };
    let first = planes.first().ok_or(ReadError::Missing { what: "frame" })?;
    let spacing =
        first.spacing.ok_or_else(|| fault(0, "no spacing: the file has no pixel spacing (0028,0030)".into()))?;
    let [x, y] =
        first.directions.ok_or_else(|| fault(0, "the file does not say where its axes lead (0020,0037)".into()))?;
    let normal = x.cross(y).normalized();
    let mut heights = Vec::with_capacity(planes.len());
    for (frame, plane) in planes.iter().enumerate() {
        let position = plane.position.ok_or_else(|| fault(frame, "the frame has no position (0020,0032)".into()))?;
        if plane.directions.is_some_and(|[a, b]| a.distance(x).max(b.distance(y)) > 1e-2) {
            return Err(fault(frame, "the frame has other axes than the first".into()));
        }
        heights.push(position.dot(normal));
    }
    let step = step(&heights, first, notes).ok_or_else(|| {
        fault(0, "no spacing: all frames are in one slice, and the file has no distance of slices (0018,0088)".into())
    })?;
    let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let mut slices = Vec::with_capacity(planes.len());
    for (frame, height) in heights.iter().enumerate() {
        let slice = (height - low) / step;
        if !((slice - slice.round()).abs() <= OFF && slice < TALLEST) {
            let reason =
                format!("the frame lies {slice:.3} slices of {step:.4} mm above the first: no raster of slices");
            return Err(fault(frame, reason));
        }
        slices.push(slice.round() as usize);
    }
    let height = slices.iter().max().map_or(1, |slice| slice + 1);
    let lowest = heights.iter().position(|height| *height == low).unwrap_or(0);
    let origin = planes[lowest].position.unwrap_or_else(Vec3::zero);
    let axes = turned(&Mat3::from_columns(x.normalized() * spacing[1], y.normalized() * spacing[0], normal * step));
    Ok((slices, height, Vec3::new(-origin.x, -origin.y, origin.z) * MILLIMETER, axes * MILLIMETER))
}

/// Distance of slices [mm]: the smallest between positions, or what the file says where that fits into it.
fn step(heights: &[f64], plane: &Plane, notes: &mut Vec<String>) -> Option<f64> {
    let mut sorted = heights.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-3).fold(f64::INFINITY, f64::min);
    let says = plane.between.filter(|between| *between > 0.0);
    if !least.is_finite() {
        return says.or_else(|| {
            let thickness = plane.thickness.filter(|thickness| *thickness > 0.0)?;
            notes.push(format!("a single slice: it is taken as {thickness} mm thick"));
            Some(thickness)
        });
    }
    match says {
        // Empty slices are not in the file: what the file says divides what positions say.
        Some(says) if (least / says).round() >= 1.0 && layout::agree(least, says * (least / says).round()) => {
            Some(says)
        }
        Some(says) => {
            notes.push(format!("spacings contradict: {says} mm between slices in the file, {least:.4} mm by their positions, which count"));
            Some(least)
        }
        None => Some(least),
    }
}

/// What the pixels of frames mean.
enum Coding {
    /// 0 or 1.
    Bits,
    /// Up to the largest fraction.
    Fractions(f32),
    /// Numbers of segments.
    Labels,
}

/// Puts frames into the volume; later ones win where they overlap.
fn fill(
    file: &DicomFile<'_>,
    format: &Format,
    slices: &[usize],
    table: &LabelTable,
    labels: &mut [u16],
    notes: &mut Vec<String>,
) -> Result<(), ReadError> {
    let view = file.data.view();
    let coding = match view.text(tag::SEGMENTATION_TYPE).as_str() {
        "FRACTIONAL" => Coding::Fractions(view.number(tag::LARGEST_FRACTION).unwrap_or(255.0).max(1.0) as f32),
        "LABELMAP" => Coding::Labels,
        _ => Coding::Bits,
    };
    let own: Vec<Option<u16>> = view.items(tag::PER_FRAME).map(segment_of).collect();
    let all = view.item(tag::SHARED).and_then(segment_of);
    let (mut values, mut overlaps, mut unnamed) = (Vec::new(), 0usize, BTreeMap::new());
    for (frame, &slice) in slices.iter().enumerate() {
        values.clear();
        push_frame(file, format, frame, &mut values)?;
        let segment = own.get(frame).copied().flatten().or(all);
        let Some(segment) = segment.or(matches!(coding, Coding::Labels).then_some(0)) else {
            let reason = "the frame does not say its segment (0062,000b)".into();
            return Err(ReadError::Syntax { place: Place::Slice(frame), reason });
        };
        let start = slice * format.len();
        for (label, &value) in labels[start..start + format.len()].iter_mut().zip(&values) {
            let new = match coding {
                Coding::Bits => segment * u16::from(value != 0.0),
                Coding::Fractions(largest) => segment * u16::from(2.0 * value >= largest),
                Coding::Labels => value as u16,
            };
            if new != 0 {
                overlaps += usize::from(*label != 0 && *label != new);
                *label = new;
                if table.get(new).is_none() {
                    *unnamed.entry(new).or_insert(0usize) += 1;
                }
            }
        }
    }
    if matches!(coding, Coding::Fractions(_)) {
        notes.push("fractions of segments: from one half on a voxel belongs to it".into());
    }
    if overlaps > 0 {
        notes.push(format!("segments overlap in {overlaps} voxels: the later frame counts there"));
    }
    if let Some((label, count)) = unnamed.first_key_value() {
        notes.push(format!("segment {label} has {count} voxels and no description"));
    }
    Ok(())
}

/// Number of the segment of a frame.
fn segment_of(group: View<'_>) -> Option<u16> {
    group.item(tag::SEGMENT_OF_FRAME)?.shorts(tag::REFERENCED_SEGMENT)?.first().copied()
}
