//! From the header's matrix or quaternion to the axes of the image.

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::super::layout;
use super::header::Header;
use crate::error::{Place, ReadError};

/// The grid: from the matrix, else from the quaternion, else from spacing alone.
pub(super) fn grid(header: &Header, size: [usize; 3], notes: &mut Vec<String>) -> Result<VoxelGrid, ReadError> {
    let unit = header.unit().unwrap_or_else(|| {
        notes.push("the file does not name its unit of length: taken as mm".into());
        layout::MILLIMETER
    });
    let (axes, origin, place) = axes(header, notes);
    layout::grid(size, origin * unit, axes * unit, Place::Byte(place), notes)
}

/// Axes and origin in the unit of the file, and the byte that tells them.
fn axes(header: &Header, notes: &mut Vec<String>) -> (Mat3, Vec3, usize) {
    let is_second = header.version == 2;
    let (spacing_at, quaternion_at, rows_at) = if is_second { (104, 352, 400) } else { (76, 256, 280) };
    let spacing = Vec3::from([1, 2, 3].map(|axis| header.pixdim[axis].abs()));
    let rows = header.rows.map(|[x, y, z, _]| Vec3::new(x, y, z));
    let matrix = Mat3::from_rows(rows[0], rows[1], rows[2]);
    let origin = Vec3::from(header.rows.map(|row| row[3]));
    let is_volume = matrix.is_finite() && matrix.determinant().is_normal();
    if header.sform > 0 && (is_volume || header.qform <= 0) {
        tell_contradictions(header, &matrix, spacing, notes);
        return (matrix, origin, rows_at);
    }
    if header.sform > 0 {
        notes.push("the matrix of the file (sform) spans no volume: its quaternion (qform) counts".into());
    }
    if header.qform > 0 {
        return (from_quaternion(header, spacing), Vec3::from(header.shift), quaternion_at);
    }
    notes.push("the file does not say how the patient lies: its axes are taken as right, front, up".into());
    (Mat3::diagonal(spacing), Vec3::zero(), spacing_at)
}

/// Notes where the spacing of the header is not that of its matrix.
fn tell_contradictions(header: &Header, matrix: &Mat3, spacing: Vec3, notes: &mut Vec<String>) {
    let lengths = [0, 1, 2].map(|axis| matrix.column(axis).norm());
    let differs = (0..3).any(|axis| spacing[axis] > 0.0 && !layout::agree(lengths[axis], spacing[axis]));
    if differs {
        let ([a, b, c], [x, y, z]) = (lengths, spacing.to_array());
        notes.push(format!(
            "spacings contradict: {x} x {y} x {z} in the header, {a:.6} x {b:.6} x {c:.6} in its matrix (sform), which counts"
        ));
    }
    if header.qform > 0 {
        let other = from_quaternion(header, spacing);
        let apart = (0..3).any(|axis| {
            let (a, b) = (matrix.column(axis), other.column(axis));
            let cosine = a.dot(b) / (a.norm() * b.norm());
            cosine.is_finite() && cosine < 0.999
        });
        if apart {
            notes.push("the axes of its matrix (sform) and of its quaternion (qform) differ: the matrix counts".into());
        }
    }
}

/// Rotation by a unit quaternion, whose real part is what the other three leave, times spacing.
fn from_quaternion(header: &Header, spacing: Vec3) -> Mat3 {
    let [mut b, mut c, mut d] = header.quaternion;
    let squares = b * b + c * c + d * d;
    // Rounding of single precision may leave a little less than nothing for the real part.
    let a = (1.0 - squares).max(0.0).sqrt();
    if squares > 1.0 {
        let length = squares.sqrt();
        (b, c, d) = (b / length, c / length, d / length);
    }
    let rotation = Mat3::from_rows(
        Vec3::new(a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)),
        Vec3::new(2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)),
        Vec3::new(2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - b * b - c * c),
    );
    let hand = if header.pixdim[0] < 0.0 { -1.0 } else { 1.0 };
    rotation * Mat3::diagonal(spacing.component_mul(Vec3::new(1.0, 1.0, hand)))
}
