//! Checks of what a header says about places: sizes, spacing, axes.

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use crate::error::{Place, ReadError};
use crate::memory::{self, MemoryShort};

/// Bytes of a voxel while an image is read: as it is in the file, as a number, and as a label.
const BYTES_PER_VOXEL: u64 = 12;

/// Axes whose angle differs from a right one by less count as orthogonal: headers in single precision reach 1e-6 to
/// 1e-4 [rad].
const SHEAR: f64 = 2e-3;

/// Spacings that differ by less than this part agree.
pub(crate) const SPACING_SLACK: f64 = 1e-2;

/// Millimeters in meters.
pub(crate) const MILLIMETER: f64 = 1e-3;

/// Number of voxels of an image of a size, where it fits into memory.
pub(crate) fn voxel_count(size: [usize; 3], place: Place) -> Result<usize, ReadError> {
    if size.contains(&0) {
        let [x, y, z] = size;
        return Err(ReadError::Syntax { place, reason: format!("an image of {x} x {y} x {z} voxels holds nothing") });
    }
    let count = size.iter().try_fold(1u64, |count, &n| count.checked_mul(n as u64));
    let needed = count.and_then(|count| count.checked_mul(BYTES_PER_VOXEL)).unwrap_or(u64::MAX);
    match memory::require(needed) {
        Ok(()) => Ok((needed / BYTES_PER_VOXEL) as usize),
        Err(short) => Err(ReadError::Memory { place, what: fitting(size, short), short }),
    }
}

/// The size of an image that does not fit, and what would.
fn fitting(size: [usize; 3], short: MemoryShort) -> String {
    let part = (short.free as f64 / short.needed as f64).cbrt();
    let [x, y, z] = size;
    let [a, b, c] = size.map(|n| ((n as f64 * part) as usize).max(1));
    format!("an image of {x} x {y} x {z} voxels (one of {a} x {b} x {c} fits)")
}

/// The grid of an image with these axes and this origin \[m, RAS\]; an error where no volume is left.
pub(crate) fn grid(
    size: [usize; 3],
    origin: Vec3,
    axes: Mat3,
    place: Place,
    notes: &mut Vec<String>,
) -> Result<VoxelGrid, ReadError> {
    if !axes.is_finite() || !origin.is_finite() {
        return Err(ReadError::NotFinite { place, what: "spacing, axes or origin of the voxels".into() });
    }
    let lengths: [f64; 3] = std::array::from_fn(|axis| axes.column(axis).norm());
    if let Some(axis) = lengths.iter().position(|length| !length.is_normal()) {
        let name = ["x", "y", "z"][axis];
        let reason = format!("no spacing: voxels have no size along {name} of the image");
        return Err(ReadError::Syntax { place, reason });
    }
    // Also what does not fit into the single precision of other programs.
    let (low, high) = (lengths.into_iter().fold(f64::INFINITY, f64::min), lengths.into_iter().fold(0.0, f64::max));
    if low < 1e-12 || high > 1e4 || origin.norm() > 1e7 {
        let reason = format!("voxels of {low:e} to {high:e} m, the first at {:e} m: no image of a body", origin.norm());
        return Err(ReadError::Syntax { place, reason });
    }
    let volume = axes.determinant() / lengths.iter().product::<f64>();
    // Less than a degree between two axes is no image: angles come from a broken header.
    if !(volume.abs() > 1e-2) {
        return Err(ReadError::Syntax { place, reason: "two axes of the image have the same direction".into() });
    }
    tell_axes(&axes, lengths, volume < 0.0, notes);
    Ok(VoxelGrid { size, origin, axes })
}

/// Notes on axes that are sheared or mirrored, and on voxels of an unlikely size.
fn tell_axes(axes: &Mat3, lengths: [f64; 3], is_mirrored: bool, notes: &mut Vec<String>) {
    let mut shear = 0.0f64;
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let sine = axes.column(a).dot(axes.column(b)) / (lengths[a] * lengths[b]);
        shear = shear.max(sine.abs().min(1.0).asin());
    }
    if shear > SHEAR {
        notes.push(format!("the axes are sheared by {:.1}°; voxels stay where the file puts them", shear.to_degrees()));
    }
    if is_mirrored {
        notes.push("the axes are mirrored (left-handed); voxels stay where the file puts them".into());
    }
    let [low, high] = [lengths.into_iter().fold(f64::INFINITY, f64::min), lengths.into_iter().fold(0.0, f64::max)];
    if high > 0.1 || low < 1e-7 {
        let [x, y, z] = lengths.map(|length| length * 1e3);
        notes.push(format!("voxels of {x:.4} x {y:.4} x {z:.4} mm: is the unit of the file right?"));
    }
}

/// Whether two spacings agree.
pub(crate) fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= SPACING_SLACK * a.abs().max(b.abs())
}

/// Meters of a unit's name.
pub(crate) fn unit(name: &str) -> Option<f64> {
    match name.trim().trim_matches('"').to_ascii_lowercase().as_str() {
        "m" | "meter" | "meters" | "metre" => Some(1.0),
        "cm" | "centimeter" | "centimeters" => Some(1e-2),
        "mm" | "millimeter" | "millimeters" | "millimetre" => Some(MILLIMETER),
        "um" | "µm" | "micron" | "microns" | "micrometer" | "micrometers" => Some(1e-6),
        "nm" | "nanometer" | "nanometers" => Some(1e-9),
        "in" | "inch" | "inches" => Some(0.0254),
        _ => None,
    }
}
