//! Slices of a series, sorted by their positions along the normal.

use sinew_math::{Mat3, Vec3};

use super::super::data::{ImageData, turned};
use super::super::layout::{self, MILLIMETER};
use super::super::samples::{LongTable, Meaning, Samples};
use super::elements::{DicomFile, View, tag};
use super::pixels::{Format, push_frame};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};

/// Distances between slices that differ by less than this part are equal.
const EVEN: f64 = 0.02;

/// Where a frame lies, in the space of the patient (LPS) and millimeters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plane {
    /// Center of the first pixel.
    pub position: Option<Vec3>,
    /// Directions of rising columns and of rising rows.
    pub directions: Option<[Vec3; 2]>,
    /// Way to the next row, and to the next column.
    pub spacing: Option<[f64; 2]>,
    /// Distance of slices, as the file says it.
    pub between: Option<f64>,
    pub thickness: Option<f64>,
    pub slope: f64,
    pub intercept: f64,
}

/// A frame of a file.
struct Frame {
    file: usize,
    frame: usize,
    plane: Plane,
}

/// Where a frame of a file lies: from its own group, else from that of all frames, else from the file.
pub(super) fn plane(file: &DicomFile<'_>, frame: usize) -> Plane {
    let top = file.data.view();
    let own = top.items(tag::PER_FRAME).nth(frame);
    let all = top.item(tag::SHARED);
    plane_of(top, own, all)
}

fn plane_of(top: View<'_>, own: Option<View<'_>>, all: Option<View<'_>>) -> Plane {
    let group = |sequence: u32| {
        own.and_then(|group| group.item(sequence)).or_else(|| all.and_then(|group| group.item(sequence)))
    };
    let below = |sequence: u32| group(sequence).unwrap_or(top);
    let six = below(tag::PLANE_ORIENTATION).decimals::<6>(tag::ORIENTATION);
    let measures = below(tag::MEASURES);
    let values = below(tag::TRANSFORMATION);
    let first = |view: View<'_>, tag: u32| view.decimals::<1>(tag).map(|[number]| number);
    Plane {
        position: below(tag::PLANE_POSITION).decimals::<3>(tag::POSITION).map(Vec3::from),
        directions: six.map(|[a, b, c, d, e, f]| [Vec3::new(a, b, c), Vec3::new(d, e, f)]),
        // Scans of paper and films say it elsewhere.
        spacing: [(measures, tag::SPACING), (top, tag::SCANNED_SPACING), (top, tag::DETECTOR_SPACING)]
            .into_iter()
            .find_map(|(view, tag)| view.decimals::<2>(tag)),
        between: first(measures, tag::BETWEEN_SLICES).map(f64::abs),
        thickness: first(measures, tag::THICKNESS).map(f64::abs),
        slope: first(values, tag::SLOPE).filter(|slope| *slope != 0.0).unwrap_or(1.0),
        intercept: first(values, tag::INTERCEPT).unwrap_or(0.0),
    }
}

/// Reads the slices of files that belong together.
pub(super) fn read(files: &[(String, DicomFile<'_>)]) -> Result<ImageData, ReadError> {
    let Some((_, first)) = files.first() else { return Err(ReadError::Missing { what: "DICOM image" }) };
    let format = Format::of(first)?;
    let mut frames = Vec::new();
    for (number, (name, file)) in files.iter().enumerate() {
        let own = Format::of(file).map_err(|error| super::in_file(error, number, name))?;
        if (own.rows, own.columns) != (format.rows, format.columns) {
            let reason = format!(
                "\"{name}\" has {} x {} pixels, the first slice {} x {}",
                own.columns, own.rows, format.columns, format.rows
            );
            return Err(ReadError::Syntax { place: Place::Slice(number), reason });
        }
        frames.extend((0..own.frames).map(|frame| Frame { file: number, frame, plane: plane(file, frame) }));
    }
    let size = [format.columns, format.rows, frames.len()];
    layout::voxel_count(size, Place::Slice(0))?;
    let mut notes = Vec::new();
    let (origin, axes) = placed(&mut frames, files, &mut notes)?;
    let grid = layout::grid(size, origin, axes, Place::Slice(0), &mut notes)?;
    let values = values(&frames, files)?;
    let image =
        Samples::new(&values, NumberKind::F32, Endian::Little).decode(Meaning::Unknown, &LongTable::new(), &mut notes);
    Ok(ImageData { grid, voxels: image.voxels, table: image.table, notes })
}

/// The values of all frames in their order, as bytes of floats.
fn values(frames: &[Frame], files: &[(String, DicomFile<'_>)]) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let mut values = Vec::new();
    for frame in frames {
        let (name, file) = &files[frame.file];
        values.clear();
        let told = |error| if files.len() == 1 { error } else { super::in_file(error, frame.file, name) };
        let format = Format::of(file).map_err(told)?;
        push_frame(file, &format, frame.frame, &mut values).map_err(told)?;
        let Plane { slope, intercept, .. } = frame.plane;
        bytes.extend(values.iter().flat_map(|value| ((slope * f64::from(*value) + intercept) as f32).to_le_bytes()));
    }
    Ok(bytes)
}

/// Sorts frames along the normal; origin and axes [m, RAS].
fn placed(
    frames: &mut [Frame],
    files: &[(String, DicomFile<'_>)],
    notes: &mut Vec<String>,
) -> Result<(Vec3, Mat3), ReadError> {
    let first = frames.first().map(|frame| frame.plane).ok_or(ReadError::Missing { what: "frame" })?;
    let [row, column] = first.spacing.ok_or_else(|| ReadError::Syntax {
        place: Place::Slice(0),
        reason: "no spacing: the file has no pixel spacing (0028,0030)".into(),
    })?;
    let [x, y] = first.directions.unwrap_or_else(|| {
        notes.push("the file does not say how the patient lies: rows lead to the left, columns to the back".into());
        [Vec3::unit(0), Vec3::unit(1)]
    });
    let normal = x.cross(y).normalized();
    if !normal.is_finite() {
        let reason = "the directions of rows and columns (0020,0037) span no plane".into();
        return Err(ReadError::Syntax { place: Place::Slice(0), reason });
    }
    same_geometry(frames, files, &first)?;
    let (origin, step) = if frames.len() > 1 && frames.iter().all(|frame| frame.plane.position.is_some()) {
        along_normal(frames, files, normal, notes)?
    } else {
        let step = single_step(&first, frames.len(), notes)?;
        (first.position.unwrap_or_else(Vec3::zero), normal * step)
    };
    let axes = turned(&Mat3::from_columns(x.normalized() * column, y.normalized() * row, step)) * MILLIMETER;
    Ok((Vec3::new(-origin.x, -origin.y, origin.z) * MILLIMETER, axes))
}

/// Refuses slices with other axes or another spacing than the first.
fn same_geometry(frames: &[Frame], files: &[(String, DicomFile<'_>)], first: &Plane) -> Result<(), ReadError> {
    for (number, frame) in frames.iter().enumerate() {
        let apart = match (frame.plane.directions, first.directions) {
            (Some([a, b]), Some([c, d])) => a.distance(c).max(b.distance(d)),
            (None, None) => 0.0,
            _ => 1.0,
        };
        let is_same_spacing = match (frame.plane.spacing, first.spacing) {
            (Some([a, b]), Some([c, d])) => layout::agree(a, c) && layout::agree(b, d),
            _ => false,
        };
        let what = if apart > 1e-2 { "other axes" } else { "another spacing" };
        if apart > 1e-2 || !is_same_spacing {
            let reason = format!("\"{}\" has {what} than the first slice", files[frame.file].0);
            return Err(ReadError::Syntax { place: Place::Slice(number), reason });
        }
    }
    Ok(())
}

/// Sorts frames by their positions; the first position, and the way from a slice to the next [mm].
fn along_normal(
    frames: &mut [Frame],
    files: &[(String, DicomFile<'_>)],
    normal: Vec3,
    notes: &mut Vec<String>,
) -> Result<(Vec3, Vec3), ReadError> {
    let height = |frame: &Frame| frame.plane.position.unwrap_or_else(Vec3::zero).dot(normal);
    frames.sort_by(|a, b| height(a).total_cmp(&height(b)));
    let heights: Vec<f64> = frames.iter().map(height).collect();
    let mut gaps: Vec<f64> = heights.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let told = gaps.clone();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps[gaps.len() / 2];
    for (number, gap) in told.iter().enumerate() {
        let (a, b) = (&files[frames[number].file].0, &files[frames[number + 1].file].0);
        if !(*gap > 1e-3 * usual.abs().max(1e-3)) {
            return Err(ReadError::Unsupported {
                place: Place::Slice(number + 1),
                what: format!("an image in time: \"{a}\" and \"{b}\" lie at the same place, and such series"),
                hint: "keep the files of one time, echo or acquisition in the folder",
            });
        }
        if (gap - usual).abs() > EVEN * usual {
            let missing = (gap / usual).round() - 1.0;
            let lost = if missing >= 1.0 { format!("; {missing} slices are missing") } else { String::new() };
            let reason = format!("a gap: {gap:.3} mm between \"{a}\" and \"{b}\", {usual:.3} mm elsewhere{lost}");
            return Err(ReadError::Syntax { place: Place::Slice(number + 1), reason });
        }
    }
    let position = |frame: &Frame| frame.plane.position.unwrap_or_else(Vec3::zero);
    let (front, back) = (position(&frames[0]), position(&frames[frames.len() - 1]));
    let step = (back - front) * (1.0 / (frames.len() - 1) as f64);
    if let Some(says) = frames[0].plane.between.filter(|between| *between > 0.0 && !layout::agree(*between, usual)) {
        notes.push(format!(
            "spacings contradict: {says} mm between slices in the file, {usual:.4} mm by their positions, which count"
        ));
    }
    Ok((front, step))
}

/// Distance of slices without positions.
fn single_step(plane: &Plane, count: usize, notes: &mut Vec<String>) -> Result<f64, ReadError> {
    if let Some(between) = plane.between.filter(|between| *between > 0.0) {
        return Ok(between);
    }
    let thickness = plane.thickness.filter(|thickness| *thickness > 0.0);
    match thickness.or_else(|| plane.spacing.map(|[row, _]| row)).filter(|_| count == 1) {
        Some(thickness) => {
            notes.push(format!("a single slice: it is taken as {thickness} mm thick"));
            Ok(thickness)
        }
        None => Err(ReadError::Syntax {
            place: Place::Slice(0),
            reason: "no spacing: slices have neither positions (0020,0032) nor a distance (0018,0088)".into(),
        }),
    }
}
