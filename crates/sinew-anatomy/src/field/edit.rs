//! Edits of slices as data: polygons and brushes in planes across an axis of the world, added or taken away in order
//! \[Teran05\].
//!
//! An edit is a prism as thick as the slices it is meant for. It is combined with the tissue as any other body.

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use super::csg::Operation;
use super::distance_field::DistanceField;
use super::options::FieldError;
use crate::Solid;
use crate::primitives::planar_distance;

/// What an edit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditAction {
    /// Adds the shape to the tissue.
    Add,
    /// Takes the shape away from the tissue.
    TakeAway,
}

/// A shape in the plane of a slice, in the two other coordinates of the world in their order: (y, z) across x, (x, z)
/// across y, (x, y) across z \[m\].
#[derive(Clone, Debug, PartialEq)]
pub enum EditShape {
    /// A polygon, closed from the last corner to the first; inside by the even–odd rule.
    Polygon(Vec<[f64; 2]>),
    /// A disk along a path: every point within a radius of it \[m\].
    Brush {
        /// Corners of the path; one for a single dab.
        path: Vec<[f64; 2]>,
        /// Radius \[m\].
        radius: f64,
    },
}

/// One edit of the slices around a plane.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceEdit {
    /// Axis of the world across the slice: 0, 1 or 2.
    pub axis: usize,
    /// Coordinate of the plane along the axis \[m\].
    pub position: f64,
    /// Thickness of the edit \[m\]; by default one voxel of the field.
    pub thickness: Option<f64>,
    /// The shape.
    pub shape: EditShape,
    /// What to do with it.
    pub action: EditAction,
}

/// What an edit changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditEffect {
    /// Change of volume \[m³\].
    pub volume: f64,
}

/// The body of an edit.
struct Prism<'a> {
    edit: &'a SliceEdit,
    half: f64,
}

impl SliceEdit {
    fn check(&self) -> Result<(), FieldError> {
        let error = |what, range, value| Err(FieldError::OutOfRange { what, range, value });
        if self.axis > 2 {
            return error("the axis of an edit", "0, 1 or 2", self.axis as f64);
        }
        if !self.position.is_finite() {
            return error("the position of an edit", "a number", self.position);
        }
        if let Some(thickness) = self.thickness.filter(|t| !(*t > 0.0 && t.is_finite())) {
            return error("the thickness of an edit", "positive", thickness);
        }
        let (points, least) = match &self.shape {
            EditShape::Polygon(corners) => (corners, 3),
            EditShape::Brush { path, radius } if *radius > 0.0 && radius.is_finite() => (path, 1),
            EditShape::Brush { radius, .. } => return error("the radius of a brush", "positive", *radius),
        };
        if points.len() < least {
            return error(
                "the number of points of an edit",
                "three for a polygon, one for a brush",
                points.len() as f64,
            );
        }
        match points.iter().flatten().find(|x| !x.is_finite()) {
            Some(x) => error("a coordinate of an edit", "a number", *x),
            None => Ok(()),
        }
    }

    /// The two axes of the plane.
    fn plane(&self) -> [usize; 2] {
        [[1, 2], [0, 2], [0, 1]][self.axis]
    }
}

impl EditShape {
    fn distance(&self, q: [f64; 2]) -> f64 {
        match self {
            Self::Polygon(corners) => polygon_distance(q, corners),
            Self::Brush { path, radius } => {
                let alone = planar_distance(q, path[0], path[0]);
                path.windows(2).map(|pair| planar_distance(q, pair[0], pair[1])).fold(alone, f64::min) - radius
            }
        }
    }

    fn points(&self) -> (&[[f64; 2]], f64) {
        match self {
            Self::Polygon(corners) => (corners, 0.0),
            Self::Brush { path, radius } => (path, *radius),
        }
    }
}

/// Signed distance of a point of the plane to a polygon.
fn polygon_distance(q: [f64; 2], corners: &[[f64; 2]]) -> f64 {
    let (mut distance, mut inside) = (f64::INFINITY, false);
    for (i, b) in corners.iter().enumerate() {
        let a = corners[(i + corners.len() - 1) % corners.len()];
        distance = distance.min(planar_distance(q, a, *b));
        if (a[1] > q[1]) != (b[1] > q[1]) && q[0] < a[0] + (b[0] - a[0]) * (q[1] - a[1]) / (b[1] - a[1]) {
            inside = !inside;
        }
    }
    if inside { -distance } else { distance }
}

impl Solid for Prism<'_> {
    fn distance(&self, p: Vec3) -> f64 {
        let [u, v] = self.edit.plane();
        let across = (p[self.edit.axis] - self.edit.position).abs() - self.half;
        let within = self.edit.shape.distance([p[u], p[v]]);
        across.max(0.0).hypot(within.max(0.0)) + across.max(within).min(0.0)
    }

    fn bounds(&self) -> Aabb {
        let ([u, v], (points, radius)) = (self.edit.plane(), self.edit.shape.points());
        let mut bounds = Aabb::EMPTY;
        for point in points {
            for side in [-1.0, 1.0] {
                let mut corner = Vec3::zero();
                corner[self.edit.axis] = self.edit.position + side * self.half;
                corner[u] = point[0] + side * radius;
                corner[v] = point[1] + side * radius;
                bounds.include(corner);
            }
        }
        bounds
    }
}

/// Applies edits in their order, and says what each changed.
///
/// # Errors
/// When an edit is no shape, all before it are applied.
pub fn apply_edits(field: &mut DistanceField, edits: &[SliceEdit]) -> Result<Vec<EditEffect>, FieldError> {
    let mut effects = Vec::with_capacity(edits.len());
    for edit in edits {
        edit.check()?;
        let prism = Prism { edit, half: 0.5 * edit.thickness.unwrap_or(field.voxel()) };
        let operation = match edit.action {
            EditAction::Add => Operation::Union,
            EditAction::TakeAway => Operation::Difference,
        };
        let before = field.volume();
        field.combine(operation, &prism)?;
        effects.push(EditEffect { volume: field.volume() - before });
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Cuboid;
    use sinew_math::Mat3;

    const H: f64 = 1e-3;

    fn block() -> DistanceField {
        let cube = Cuboid { center: Vec3::zero(), axes: Mat3::identity(), half: Vec3::splat(0.0105) };
        DistanceField::from_solid(&cube, H).unwrap()
    }

    fn square(a: f64, b: f64) -> EditShape {
        EditShape::Polygon(vec![[a, a], [b, a], [b, b], [a, b]])
    }

    /// Brute force: after an edit each voxel is in or out as the polygon says, in the slices of the edit alone.
    #[test]
    fn an_edit_changes_the_voxels_of_its_prism_alone() {
        for axis in 0..3 {
            let (before, mut field) = (block(), block());
            let shape = EditShape::Polygon(vec![[-0.0203, 0.0004], [0.0052, -0.0061], [0.0047, 0.0083]]);
            let edit =
                |action| SliceEdit { axis, position: 0.002, thickness: Some(3.0 * H), shape: shape.clone(), action };
            let effects = apply_edits(&mut field, &[edit(EditAction::TakeAway)]).unwrap();
            assert!(effects[0].volume < 0.0);
            let plane = [[1, 2], [0, 2], [0, 1]][axis];
            for (z, y, x) in (0..30i32.pow(3)).map(|i| (i / 900 - 15, i / 30 % 30 - 15, i % 30 - 15)) {
                let v = [x, y, z];
                let q = plane.map(|a| f64::from(v[a]) * H);
                let within = (v[axis] - 2).abs() <= 1 && polygon_distance(q, shape.points().0) < 0.0;
                assert_eq!(field.value(v) < 0.0, before.value(v) < 0.0 && !within, "{v:?}");
            }
            apply_edits(&mut field, &[edit(EditAction::Add)]).unwrap();
            assert!(field.value([0, 0, 0]) < 0.0);
        }
    }

    #[test]
    fn edits_apply_in_their_order() {
        let edit = |shape, action| SliceEdit { axis: 2, position: 0.0, thickness: Some(0.05), shape, action };
        let hole = edit(square(-0.004, 0.004), EditAction::TakeAway);
        let plug = edit(square(-0.002, 0.002), EditAction::Add);
        let (mut a, mut b) = (block(), block());
        apply_edits(&mut a, &[hole.clone(), plug.clone()]).unwrap();
        apply_edits(&mut b, &[plug, hole]).unwrap();
        assert!(a.value([0, 0, 0]) < 0.0 && b.value([0, 0, 0]) > 0.0);
    }

    /// A brush along a path of length l removes π r² + 2 r l of the area of a slice.
    #[test]
    fn a_brush_takes_away_its_area() {
        let mut field = block();
        let shape = EditShape::Brush { path: vec![[-0.004, 0.0], [0.004, 0.0]], radius: 0.003 };
        let edit = SliceEdit { axis: 0, position: 0.0, thickness: Some(0.1), shape, action: EditAction::TakeAway };
        let effect = apply_edits(&mut field, &[edit]).unwrap()[0];
        let exact = 0.021 * (std::f64::consts::PI * 9e-6 + 2.0 * 0.003 * 0.008);
        assert!((effect.volume / -exact - 1.0).abs() < 0.02, "{} {exact}", effect.volume);
    }

    #[test]
    fn bad_edits_are_errors() {
        let good = SliceEdit {
            axis: 2,
            position: 0.0,
            thickness: None,
            shape: square(-0.004, 0.004),
            action: EditAction::Add,
        };
        let polygon = |points: Vec<[f64; 2]>| EditShape::Polygon(points);
        let bad = [
            SliceEdit { axis: 3, ..good.clone() },
            SliceEdit { position: f64::NAN, ..good.clone() },
            SliceEdit { thickness: Some(0.0), ..good.clone() },
            SliceEdit { shape: polygon(vec![[0.0; 2]; 2]), ..good.clone() },
            SliceEdit { shape: polygon(vec![[f64::INFINITY; 2]; 3]), ..good.clone() },
            SliceEdit { shape: EditShape::Brush { path: vec![], radius: 1.0 }, ..good.clone() },
            SliceEdit { shape: EditShape::Brush { path: vec![[0.0; 2]], radius: -1.0 }, ..good.clone() },
        ];
        for edit in bad {
            assert!(matches!(apply_edits(&mut block(), &[edit]), Err(FieldError::OutOfRange { .. })));
        }
    }
}
