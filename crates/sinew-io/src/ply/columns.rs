//! Output of both encodings: one column per scalar property, and the wanted lists.

use super::header::Element;
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, MeshData};

/// Cells from lists of vertices.
pub(super) struct Faces {
    /// Index of the list property.
    pub(super) property: usize,
    pub(super) vertex_count: usize,
    pub(super) groups: Vec<CellGroup>,
}

impl Faces {
    /// The group for faces with that many corners.
    pub(super) fn group(&mut self, corners: usize, place: impl Fn() -> Place) -> Result<&mut CellGroup, ReadError> {
        let shape = match corners {
            0 => return Err(ReadError::Syntax { place: place(), reason: "a face with 0 corners".into() }),
            // meshio writes points and lines as faces too.
            1 => CellShape::Vertex,
            2 => CellShape::Line2,
            3 => CellShape::Tri3,
            4 => CellShape::Quad4,
            _ => CellShape::Polygon,
        };
        if self.groups.last().is_none_or(|group| group.shape != shape) {
            self.groups.push(CellGroup::new(shape));
        }
        let last = self.groups.len() - 1;
        Ok(&mut self.groups[last])
    }
}

/// Requirement on the values of a scalar property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// Any value, including NaN.
    Nothing,
    /// A coordinate.
    Finite,
    /// An index below this number of vertices.
    Vertex(usize),
}

impl Demand {
    /// The error for a value that violates the requirement.
    #[inline]
    pub(super) fn check(self, value: f64, name: &str, place: impl Fn() -> Place) -> Result<(), ReadError> {
        match self {
            Demand::Nothing => Ok(()),
            Demand::Finite if value.is_finite() => Ok(()),
            Demand::Finite => Err(ReadError::NotFinite { place: place(), what: name.into() }),
            Demand::Vertex(count) => checked(value as i64, count, place).map(|_| ()),
        }
    }
}

/// The data of one element.
pub(super) struct Columns {
    /// Requirement on each property.
    pub(super) demands: Vec<Demand>,
    /// Values of each property; empty for lists.
    pub(super) values: Vec<Vec<f64>>,
    /// Output for faces, if these are faces.
    pub(super) faces: Option<Faces>,
}

impl Columns {
    pub(super) fn new(element: &Element, faces: Option<Faces>) -> Columns {
        let count = element.properties.len();
        Columns { demands: vec![Demand::Nothing; count], values: vec![Vec::new(); count], faces }
    }

    /// Sets a requirement on some scalar properties, which must exist; returns their indices.
    pub(super) fn demand<const N: usize>(
        &mut self,
        element: &Element,
        names: [&str; N],
        demand: Demand,
    ) -> Result<[usize; N], ReadError> {
        let mut places = [0; N];
        for (place, name) in places.iter_mut().zip(names) {
            let missing = || ReadError::line(element.line, format!("the element {} has no {name}", element.name));
            *place = element.scalar(name).ok_or_else(missing)?;
            self.demands[*place] = demand;
        }
        Ok(places)
    }
}

/// A vertex of a face or edge.
#[inline]
pub(super) fn checked(index: i64, vertex_count: usize, place: impl Fn() -> Place) -> Result<u32, ReadError> {
    match u32::try_from(index) {
        Ok(vertex) if (vertex as usize) < vertex_count => Ok(vertex),
        _ => Err(ReadError::Index { place: place(), what: "vertex", index }),
    }
}

/// Adds groups to a mesh; merges the first with the last existing one if the shapes agree.
pub(super) fn append(mesh: &mut MeshData, groups: Vec<CellGroup>) {
    for group in groups {
        match mesh.groups.last_mut() {
            Some(last) if last.shape == group.shape => {
                let before = last.nodes.len() as u32;
                last.nodes.extend(group.nodes);
                last.ends.extend(group.ends.into_iter().map(|end| end + before));
            }
            _ => mesh.groups.push(group),
        }
    }
}
