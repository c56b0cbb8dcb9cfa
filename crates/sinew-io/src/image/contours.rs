//! Stacks of contours (`.contours`): tissues drawn slice by slice as polygons, filled into labels \[Chen92\].
//!
//! ```text
//! contours mm          # unit of all lengths
//! voxel 0.5            # pixels of the filled slices
//! contour humerus 12   # name, height of the slice
//! 10.5 20.25           # corners x y, to the right and to the front
//! 11 23
//! 8 22
//! ```
//!
//! A contour inside another one of the same tissue is a hole. Slices are equally far apart.

use std::collections::BTreeMap;

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::data::{ImageData, LabelTable};
use super::layout;
use crate::error::{Place, ReadError};
use crate::text::{Words, parse_f64, shown};

/// Most pixels along an axis: more is a slip of the unit.
const MOST: usize = 4096;

/// A polygon of a tissue in a slice.
struct Contour {
    label: u16,
    height: f64,
    line: usize,
    corners: Vec<[f64; 2]>,
}

/// Reads a stack and fills it.
pub fn read(bytes: &[u8]) -> Result<ImageData, ReadError> {
    let mut words = Words::new(bytes, 0, 1, Some(b'#'));
    if words.next_word() != Some(b"contours".as_slice()) {
        return Err(ReadError::Magic { format: "contours", reason: "its first word is not \"contours\"".into() });
    }
    let name = words.word("the unit")?;
    let unit = std::str::from_utf8(name).ok().and_then(layout::unit);
    let unit = unit.ok_or_else(|| ReadError::line(words.line(), format!("unit `{}` is not known", shown(name))))?;
    if words.next_word() != Some(b"voxel".as_slice()) {
        return Err(ReadError::line(words.line(), "no spacing: a line such as `voxel 0.5` is needed here"));
    }
    let voxel = words.finite("the edge of a pixel")? * unit;
    if !voxel.is_normal() || voxel < 0.0 {
        return Err(ReadError::line(words.line(), "no spacing: pixels have no size"));
    }
    let mut table = LabelTable::default();
    let contours = contours(&mut words, unit, &mut table)?;
    let mut notes = Vec::new();
    let heights = heights(&contours)?;
    let grid = grid(&contours, &heights, voxel, &mut notes)?;
    let mut labels = vec![0; grid.len()];
    for (slice, height) in heights.iter().enumerate() {
        fill_slice(&contours, *height, slice, &grid, &mut labels);
    }
    Ok(ImageData { table, notes, ..ImageData::of_labels(grid, labels) })
}

fn contours(words: &mut Words<'_>, unit: f64, table: &mut LabelTable) -> Result<Vec<Contour>, ReadError> {
    let mut contours: Vec<Contour> = Vec::new();
    while let Some(word) = words.next_word() {
        if word == b"contour" {
            let name = String::from_utf8_lossy(words.word("the name of a tissue")?).into_owned();
            let height = words.finite("the height of a slice")? * unit;
            let next = u16::try_from(table.0.len() + 1);
            let label = match (table.find(&name), next) {
                (Some(label), _) => label,
                (None, Ok(label)) => {
                    table.insert(label, name, None);
                    label
                }
                (None, Err(_)) => return Err(ReadError::line(words.line(), "more than 65535 tissues")),
            };
            contours.push(Contour { label, height, line: words.line(), corners: Vec::new() });
            continue;
        }
        let Some(contour) = contours.last_mut() else {
            return Err(ReadError::line(words.line(), "a line `contour NAME HEIGHT` stands in front of corners"));
        };
        let x = parse_f64(word).filter(|x| x.is_finite());
        let x = x.ok_or_else(|| crate::text::not_a(words.line(), word, "a number", "corner"))?;
        contour.corners.push([x * unit, words.finite("corner")? * unit]);
    }
    if contours.is_empty() {
        return Err(ReadError::Missing { what: "contours" });
    }
    match contours.iter().find(|contour| contour.corners.len() < 3) {
        Some(contour) => Err(ReadError::line(contour.line, format!("a contour of {} corners", contour.corners.len()))),
        None => Ok(contours),
    }
}

/// Heights of slices, from below, equally far apart.
fn heights(contours: &[Contour]) -> Result<Vec<f64>, ReadError> {
    let mut heights: Vec<f64> = contours.iter().map(|contour| contour.height).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    let gap = |pair: &[f64]| pair[1] - pair[0];
    let least = heights.windows(2).map(gap).fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Err(ReadError::Syntax {
            place: Place::Slice(0),
            reason: "no spacing: all contours are in one slice".into(),
        });
    }
    match heights.windows(2).position(|pair| !layout::agree(gap(pair), least)) {
        Some(at) => {
            let reason = format!(
                "a gap: {:.3} mm to the slice below, {:.3} mm elsewhere",
                gap(&heights[at..]) * 1e3,
                least * 1e3
            );
            Err(ReadError::Syntax { place: Place::Slice(at + 1), reason })
        }
        None => Ok(heights),
    }
}

/// Pixels around all contours, with one more at each side. Their centers lie half a pixel beside the lowest corner.
fn grid(contours: &[Contour], heights: &[f64], voxel: f64, notes: &mut Vec<String>) -> Result<VoxelGrid, ReadError> {
    let all = || contours.iter().flat_map(|contour| &contour.corners);
    let low = [0, 1].map(|axis| all().map(|corner| corner[axis]).fold(f64::INFINITY, f64::min) - 1.5 * voxel);
    let high = [0, 1].map(|axis| all().map(|corner| corner[axis]).fold(f64::NEG_INFINITY, f64::max) + voxel);
    let [nx, ny] = [0, 1].map(|axis| ((high[axis] - low[axis]) / voxel).ceil().min(1e9) as usize + 1);
    let size = [nx, ny, heights.len()];
    if nx.max(ny) > MOST {
        let reason = format!("slices of {nx} x {ny} pixels; at most {MOST} along an axis: choose larger ones");
        return Err(ReadError::line(2, reason));
    }
    layout::voxel_count(size, Place::Line(1))?;
    let step = (heights[heights.len() - 1] - heights[0]) / (heights.len() - 1) as f64;
    let axes = Mat3::diagonal(Vec3::new(voxel, voxel, step));
    layout::grid(size, Vec3::new(low[0], low[1], heights[0]), axes, Place::Line(1), notes)
}

/// Fills a slice by the even–odd rule, tissue by tissue: later ones win.
fn fill_slice(contours: &[Contour], height: f64, slice: usize, grid: &VoxelGrid, labels: &mut [u16]) {
    let mut tissues: BTreeMap<u16, Vec<&[[f64; 2]]>> = BTreeMap::new();
    for contour in contours.iter().filter(|contour| contour.height == height) {
        tissues.entry(contour.label).or_default().push(&contour.corners);
    }
    let [nx, ny, _] = grid.size;
    let voxel = grid.axes.column(0).x;
    let mut crossings = Vec::new();
    for (label, polygons) in tissues {
        for j in 0..ny {
            crossings.clear();
            polygons
                .iter()
                .for_each(|polygon| add_crossings(polygon, grid.origin.y + voxel * j as f64, &mut crossings));
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.chunks_exact(2) {
                let pixel = |x: f64| ((x - grid.origin.x) / voxel).ceil().clamp(0.0, nx as f64) as usize;
                let row = grid.index([0, j, slice]);
                let (from, to) = (pixel(pair[0]), pixel(pair[1]));
                labels[row + from..row + to.max(from)].fill(label);
            }
        }
    }
}

/// Where a polygon crosses a row: each edge owns its lower end.
fn add_crossings(polygon: &[[f64; 2]], y: f64, crossings: &mut Vec<f64>) {
    for (i, a) in polygon.iter().enumerate() {
        let b = polygon[(i + 1) % polygon.len()];
        if (a[1] <= y) != (b[1] <= y) {
            crossings.push(a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]));
        }
    }
}

/// For fuzzing: reads.
pub fn fuzz_one(bytes: &[u8]) {
    let _ = read(bytes);
}
