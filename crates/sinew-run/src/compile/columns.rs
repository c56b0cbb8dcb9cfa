//! Columns of points that follow the outline of a mesh.

use std::f64::consts::TAU;

use sinew_geometry::CellMesh;
use sinew_math::Vec3;

/// Layout of columns.
pub(super) struct ColumnLayout {
    /// Center of the region where they begin \[m\].
    pub from: Vec3,
    /// Center of the region where they end \[m\].
    pub to: Vec3,
    pub count: usize,
    pub segments: usize,
    /// Position between the center line (0) and the surface (1).
    pub spread: f64,
    /// Whether columns run straight from the first point to the last, instead of along the outline.
    pub straight: bool,
}

/// Fraction of the length by which the first and the last cut lie inside: a cut along a flat end is undefined.
const END_MARGIN: f64 = 1e-6;

/// Points of each column from end to end, or the reason why there are none.
///
/// Planes across the line from end to end cut the mesh. From the centroid c of each cut, rays at the angles of the
/// columns reach the outline at distance r; columns pass through c + `spread` r.
pub(super) fn lay_columns(mesh: &CellMesh, layout: &ColumnLayout) -> Result<Vec<Vec<Vec3>>, String> {
    let chord = layout.to - layout.from;
    if !(chord.norm() > 1e-9 * mesh.bounds().diagonal()) {
        return Err("the two regions have the same center, so no columns can run between them".into());
    }
    let frame = Frame::new(chord.normalized());
    let triangles = mesh.boundary_triangles();
    let mut columns = vec![Vec::new(); layout.count];
    for station in 0..=layout.segments {
        let share = (station as f64 / layout.segments as f64).clamp(END_MARGIN, 1.0 - END_MARGIN);
        let origin = layout.from + chord * share;
        let cut = Cut::new(mesh, &triangles, origin, &frame);
        let center = cut.centroid().ok_or_else(|| {
            format!("there is no flesh across the line between the two regions at {:.0} % of its length", 100.0 * share)
        })?;
        for (k, column) in columns.iter_mut().enumerate() {
            let (sin, cos) = (TAU * (k as f64 + 0.5) / layout.count as f64).sin_cos();
            let distance = cut.outline([cos, sin], center).ok_or_else(|| {
                format!(
                    "the flesh is too bent for columns: its center line at {:.0} % of the length lies outside",
                    100.0 * share
                )
            })?;
            // A single column is the center line.
            let reach = if layout.count == 1 { 0.0 } else { layout.spread * distance };
            column.push(origin + frame.u * (center[0] + reach * cos) + frame.v * (center[1] + reach * sin));
        }
    }
    if layout.straight {
        for column in &mut columns {
            let (first, last) = (column[0], column[layout.segments]);
            for (station, place) in column.iter_mut().enumerate() {
                *place = first + (last - first) * (station as f64 / layout.segments as f64);
            }
        }
    }
    Ok(columns)
}

/// The direction of the line and two axes across it.
struct Frame {
    normal: Vec3,
    u: Vec3,
    v: Vec3,
}

impl Frame {
    fn new(normal: Vec3) -> Self {
        // The axis that is least parallel to the line.
        let axis = (0..3).min_by(|&a, &b| normal[a].abs().total_cmp(&normal[b].abs())).unwrap_or(0);
        let axis = Vec3::unit(axis);
        let u = (axis - normal * normal.dot(axis)).normalized();
        Self { normal, u, v: normal.cross(u) }
    }
}

/// The outline of a mesh in a plane: segments around it, in coordinates of the plane.
struct Cut {
    segments: Vec<[[f64; 2]; 2]>,
}

impl Cut {
    fn new(mesh: &CellMesh, triangles: &[[u32; 3]], origin: Vec3, frame: &Frame) -> Self {
        let mut segments = Vec::new();
        for triangle in triangles {
            let corners = triangle.map(|node| mesh.positions()[node as usize] - origin);
            let heights = corners.map(|p| frame.normal.dot(p));
            let (mut enters, mut leaves) = (None, None);
            for i in 0..3 {
                let j = (i + 1) % 3;
                // Corners in the plane count as above it, so that each outline is closed.
                let (below, above) = (heights[i] < 0.0, heights[j] < 0.0);
                if below != above {
                    let share = heights[i] / (heights[i] - heights[j]);
                    let p = corners[i] + (corners[j] - corners[i]) * share;
                    let place = Some([frame.u.dot(p), frame.v.dot(p)]);
                    if below { enters = place } else { leaves = place }
                }
            }
            segments.extend(enters.zip(leaves).map(|(a, b)| [a, b]));
        }
        Self { segments }
    }

    /// Σ (a + b) (a × b) / 3 Σ a × b over the segments; `None` if they enclose no area.
    fn centroid(&self) -> Option<[f64; 2]> {
        // Relative to the mean of the ends, where rounding is smallest.
        let count = self.segments.len().max(1) as f64;
        let mean = [0, 1].map(|axis| self.segments.iter().map(|s| s[0][axis]).sum::<f64>() / count);
        let (mut area, mut moment, mut size) = (0.0, [0.0; 2], 0.0f64);
        for segment in &self.segments {
            let [a, b] = segment.map(|p| [p[0] - mean[0], p[1] - mean[1]]);
            let cross = a[0] * b[1] - a[1] * b[0];
            area += cross;
            moment = [0, 1].map(|axis| moment[axis] + (a[axis] + b[axis]) * cross);
            size = size.max(a[0].abs()).max(a[1].abs());
        }
        let is_flat = !(area.abs() > 1e-9 * size * size);
        (!is_flat).then(|| [0, 1].map(|axis| mean[axis] + moment[axis] / (3.0 * area)))
    }

    /// Distance from a point inside to the outline; `None` for a point outside.
    fn outline(&self, direction: [f64; 2], from: [f64; 2]) -> Option<f64> {
        let (mut nearest, mut crossings) = (f64::INFINITY, 0);
        for [a, b] in &self.segments {
            // Coordinates along the ray and across it.
            let [a, b] = [a, b].map(|p| {
                let d = [p[0] - from[0], p[1] - from[1]];
                [d[0] * direction[0] + d[1] * direction[1], d[1] * direction[0] - d[0] * direction[1]]
            });
            if (a[1] < 0.0) == (b[1] < 0.0) {
                continue;
            }
            let along = a[0] + (b[0] - a[0]) * a[1] / (a[1] - b[1]);
            if along > 0.0 {
                crossings += 1;
                nearest = nearest.min(along);
            }
        }
        (crossings % 2 == 1).then_some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{fusiform, fusiform_radius};

    use super::*;

    /// On a spindle, columns lie at their fraction of the radius, at equal angles; a single one is the axis.
    #[test]
    fn columns_follow_a_spindle() {
        let (length, radius, end) = (0.06, 3.2e-3, 1.3e-3);
        let mesh = fusiform(length, radius, end, 8e-4).unwrap();
        let layout = |count| ColumnLayout {
            from: Vec3::zero(),
            to: Vec3::new(length, 0.0, 0.0),
            count,
            segments: 8,
            spread: 0.7,
            straight: false,
        };
        for column in lay_columns(&mesh, &layout(4)).unwrap() {
            assert_eq!(column.len(), 9);
            for (k, place) in column.iter().enumerate() {
                let s = k as f64 / 8.0;
                // The first and the last point lie a little inside the flesh.
                assert!((place.x - length * s.clamp(END_MARGIN, 1.0 - END_MARGIN)).abs() < 1e-9 * length);
                let across = (place.y.powi(2) + place.z.powi(2)).sqrt();
                let expected = 0.7 * fusiform_radius(radius, end, s);
                // The outline of the mesh is a polygon.
                assert!((across / expected - 1.0).abs() < 0.06, "{k}: {across} instead of {expected}");
                assert!((place.y.abs() - place.z.abs()).abs() < 1e-9, "at 45 degrees: {place:?}");
            }
        }
        for column in lay_columns(&mesh, &ColumnLayout { straight: true, ..layout(4) }).unwrap() {
            let across = |place: &Vec3| (place.y.powi(2) + place.z.powi(2)).sqrt();
            assert!(column.iter().all(|place| (across(place) / (0.7 * end) - 1.0).abs() < 0.06), "{column:?}");
        }
        for place in &lay_columns(&mesh, &layout(1)).unwrap()[0] {
            assert!(place.y.abs().max(place.z.abs()) < 1e-6, "{place:?}");
        }
    }

    #[test]
    fn columns_without_length_are_refused() {
        let mesh = fusiform(0.06, 3e-3, 1e-3, 1e-3).unwrap();
        let middle = Vec3::new(0.03, 0.0, 0.0);
        let layout = ColumnLayout { from: middle, to: middle, count: 4, segments: 8, spread: 0.7, straight: false };
        assert!(lay_columns(&mesh, &layout).unwrap_err().contains("same center"));
        let outside = ColumnLayout { to: Vec3::new(0.09, 0.0, 0.0), ..layout };
        assert!(lay_columns(&mesh, &outside).unwrap_err().contains("no flesh"));
    }
}
