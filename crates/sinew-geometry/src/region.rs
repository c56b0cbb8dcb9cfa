//! Selection of nodes of a mesh at rest by place, label or name.

use std::str::FromStr;

use sinew_math::Vec3;
use thiserror::Error;

use crate::mesh::{CellMesh, MAX_COORDINATE};

/// Nodes closer to a face of the bounding box than this fraction of its diagonal belong to the face. A hundred times
/// the rounding of positions stored in single precision.
const FACE_TOLERANCE: f64 = 1e-5;

/// Largest nesting depth of set operations; far more than anyone writes, and safe for the stack.
const MAX_DEPTH: usize = 64;

/// Why a region cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RegionError {
    /// The mesh has no node set of this name.
    #[error("there is no node set {name:?}; known sets: {}", known.join(", "))]
    UnknownNodeSet {
        /// The name.
        name: String,
        /// Existing names.
        known: Vec<String>,
    },
    /// A size or coordinate is NaN, negative or absurdly large.
    #[error("{name} is {value}, which is not a usable length")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The lower corner of a box is above the upper one.
    #[error("the box is empty: its minimum {min} is above its maximum {max} along axis {axis}")]
    EmptyBox {
        /// The axis, 0 to 2.
        axis: usize,
        /// Lower corner along the axis \[m\].
        min: f64,
        /// Upper corner along the axis \[m\].
        max: f64,
    },
    /// Set operations are nested too deeply.
    #[error("regions are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The text is not a side of the bounding box.
    #[error("{text:?} is not a side of a box; expected x-min, x-max, y-min, y-max, z-min or z-max")]
    UnknownSide {
        /// The text.
        text: String,
    },
}

/// One side of the bounding box of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoxSide {
    /// Smallest x.
    XMin,
    /// Largest x.
    XMax,
    /// Smallest y.
    YMin,
    /// Largest y.
    YMax,
    /// Smallest z.
    ZMin,
    /// Largest z.
    ZMax,
}

impl BoxSide {
    /// All sides with their names in scenes.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::XMin, "x-min"),
        (Self::XMax, "x-max"),
        (Self::YMin, "y-min"),
        (Self::YMax, "y-max"),
        (Self::ZMin, "z-min"),
        (Self::ZMax, "z-max"),
    ];

    fn axis(self) -> usize {
        match self {
            Self::XMin | Self::XMax => 0,
            Self::YMin | Self::YMax => 1,
            Self::ZMin | Self::ZMax => 2,
        }
    }

    fn is_max(self) -> bool {
        matches!(self, Self::XMax | Self::YMax | Self::ZMax)
    }
}

impl FromStr for BoxSide {
    type Err = RegionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(side, _)| *side)
            .ok_or_else(|| RegionError::UnknownSide { text: text.to_owned() })
    }
}

/// Reference of a distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A point \[m\].
    Point(Vec3),
    /// The straight line from one point to another \[m\].
    Segment(Vec3, Vec3),
    /// The plane through a point \[m\] with a nonzero normal of any length.
    Plane {
        /// A point of the plane \[m\].
        point: Vec3,
        /// Its normal.
        normal: Vec3,
    },
}

impl Target {
    /// Distance from the target to p \[m\].
    pub fn distance(&self, p: Vec3) -> f64 {
        match *self {
            Self::Point(q) => p.distance(q),
            Self::Segment(a, b) => {
                let along = b - a;
                let length_squared = along.norm_squared();
                let t = if length_squared > 0.0 { ((p - a).dot(along) / length_squared).clamp(0.0, 1.0) } else { 0.0 };
                p.distance(a + along * t)
            }
            Self::Plane { point, normal } => (p - point).dot(normal).abs() / normal.norm(),
        }
    }
}

/// A selection of nodes of a mesh at rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// Every node.
    All,
    /// Nodes in an axis-aligned box, border included.
    Box {
        /// Lower corner \[m\].
        min: Vec3,
        /// Upper corner \[m\].
        max: Vec3,
    },
    /// Nodes in a ball, border included.
    Sphere {
        /// Center \[m\].
        center: Vec3,
        /// Radius \[m\].
        radius: f64,
    },
    /// Nodes at most this far from a point, segment or plane.
    Distance {
        /// The reference.
        to: Target,
        /// Largest distance \[m\].
        within: f64,
    },
    /// Nodes of cells with this label.
    Label(u32),
    /// Nodes of the set of this name.
    NodeSet(String),
    /// Nodes on a side of the bounding box of the mesh.
    Side(BoxSide),
    /// Nodes in any of the regions.
    Union(Vec<Region>),
    /// Nodes in all of the regions.
    Intersection(Vec<Region>),
    /// Nodes not in the region.
    Not(Box<Region>),
}

impl Region {
    /// The selected nodes, sorted. An empty selection is not an error here; the caller decides.
    pub fn nodes(&self, mesh: &CellMesh) -> Result<Vec<u32>, RegionError> {
        let mask = self.node_mask(mesh)?;
        Ok((0..mesh.node_count() as u32).filter(|node| mask[*node as usize]).collect())
    }

    /// Number of selected nodes.
    pub fn count(&self, mesh: &CellMesh) -> Result<usize, RegionError> {
        Ok(self.node_mask(mesh)?.iter().filter(|selected| **selected).count())
    }

    /// For each node, whether it is selected.
    pub fn node_mask(&self, mesh: &CellMesh) -> Result<Vec<bool>, RegionError> {
        self.mask(mesh, 0)
    }

    /// Boundary triangles of the mesh whose three nodes are all selected, as indices into
    /// [`CellMesh::boundary_triangles`].
    pub fn boundary_triangles(&self, mesh: &CellMesh) -> Result<Vec<u32>, RegionError> {
        let mask = self.node_mask(mesh)?;
        let triangles = mesh.boundary_triangles();
        let is_selected = |t: &[u32; 3]| t.iter().all(|node| mask[*node as usize]);
        Ok((0..triangles.len() as u32).filter(|t| is_selected(&triangles[*t as usize])).collect())
    }

    /// Cells whose nodes are all selected; a [`Region::Label`] selects exactly the cells with this label.
    pub fn cells(&self, mesh: &CellMesh) -> Result<Vec<u32>, RegionError> {
        if let Self::Label(label) = self {
            let labels = mesh.cell_labels();
            return Ok((0..labels.len() as u32).filter(|cell| labels[*cell as usize] == *label).collect());
        }
        let mask = self.node_mask(mesh)?;
        let is_selected = |nodes: &[u32]| nodes.iter().all(|node| mask[*node as usize]);
        Ok(mesh.cells().enumerate().filter(|(_, (_, nodes))| is_selected(nodes)).map(|(cell, _)| cell as u32).collect())
    }

    fn mask(&self, mesh: &CellMesh, depth: usize) -> Result<Vec<bool>, RegionError> {
        if depth > MAX_DEPTH {
            return Err(RegionError::TooDeep);
        }
        let by_position =
            |is_selected: &dyn Fn(Vec3) -> bool| mesh.positions().iter().map(|x| is_selected(*x)).collect::<Vec<_>>();
        Ok(match self {
            Self::All => vec![true; mesh.node_count()],
            Self::Box { min, max } => {
                for axis in 0..3 {
                    check_coordinate("box corner", min[axis])?;
                    check_coordinate("box corner", max[axis])?;
                    if min[axis] > max[axis] {
                        return Err(RegionError::EmptyBox { axis, min: min[axis], max: max[axis] });
                    }
                }
                let bounds = crate::mesh::Aabb { min: *min, max: *max };
                by_position(&|x| bounds.contains(x))
            }
            Self::Sphere { center, radius } => {
                check_vector("sphere center", *center)?;
                check_extent("sphere radius", *radius)?;
                by_position(&|x| x.distance(*center) <= *radius)
            }
            Self::Distance { to, within } => {
                check_extent("distance", *within)?;
                check_target(to)?;
                by_position(&|x| to.distance(x) <= *within)
            }
            Self::Label(label) => {
                let mut mask = vec![false; mesh.node_count()];
                for (cell, (_, nodes)) in mesh.cells().enumerate() {
                    if mesh.cell_labels()[cell] == *label {
                        nodes.iter().for_each(|node| mask[*node as usize] = true);
                    }
                }
                mask
            }
            Self::NodeSet(name) => {
                let nodes = mesh.node_sets().get(name).ok_or_else(|| RegionError::UnknownNodeSet {
                    name: name.clone(),
                    known: mesh.node_sets().keys().cloned().collect(),
                })?;
                let mut mask = vec![false; mesh.node_count()];
                nodes.iter().for_each(|node| mask[*node as usize] = true);
                mask
            }
            Self::Side(side) => {
                let bounds = mesh.bounds();
                let tolerance = FACE_TOLERANCE * bounds.diagonal();
                let axis = side.axis();
                if side.is_max() {
                    by_position(&|x| x[axis] >= bounds.max[axis] - tolerance)
                } else {
                    by_position(&|x| x[axis] <= bounds.min[axis] + tolerance)
                }
            }
            Self::Union(regions) => {
                let mut mask = vec![false; mesh.node_count()];
                for region in regions {
                    mask.iter_mut().zip(region.mask(mesh, depth + 1)?).for_each(|(a, b)| *a |= b);
                }
                mask
            }
            Self::Intersection(regions) => {
                let mut mask = vec![true; mesh.node_count()];
                for region in regions {
                    mask.iter_mut().zip(region.mask(mesh, depth + 1)?).for_each(|(a, b)| *a &= b);
                }
                mask
            }
            Self::Not(region) => region.mask(mesh, depth + 1)?.iter().map(|selected| !selected).collect(),
        })
    }
}

/// Coordinates may be infinite to leave a box open on one side, but not NaN.
fn check_coordinate(name: &'static str, value: f64) -> Result<(), RegionError> {
    if value.is_nan() { Err(RegionError::Parameter { name, value }) } else { Ok(()) }
}

fn check_extent(name: &'static str, value: f64) -> Result<(), RegionError> {
    if (0.0..=MAX_COORDINATE).contains(&value) { Ok(()) } else { Err(RegionError::Parameter { name, value }) }
}

fn check_vector(name: &'static str, v: Vec3) -> Result<(), RegionError> {
    for value in v.to_array() {
        if value.is_nan() || value.abs() > MAX_COORDINATE {
            return Err(RegionError::Parameter { name, value });
        }
    }
    Ok(())
}

fn check_target(target: &Target) -> Result<(), RegionError> {
    match *target {
        Target::Point(p) => check_vector("point", p),
        Target::Segment(a, b) => check_vector("end of the segment", a).and(check_vector("end of the segment", b)),
        Target::Plane { point, normal } => {
            check_vector("point of the plane", point)?;
            check_vector("normal of the plane", normal)?;
            let length = normal.norm();
            if length > 0.0 {
                Ok(())
            } else {
                Err(RegionError::Parameter { name: "length of the normal", value: length })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedural::{TetPattern, box_hexes, box_tets};

    fn brick() -> CellMesh {
        box_hexes(Vec3::new(4.0, 2.0, 2.0), [4, 2, 2]).unwrap()
    }

    #[test]
    fn sides_of_a_box_have_as_many_nodes_as_the_grid() {
        let mesh = brick();
        for (side, name) in BoxSide::ALL {
            let expected = if side.axis() == 0 { 9 } else { 15 };
            assert_eq!(Region::Side(side).count(&mesh).unwrap(), expected);
            assert_eq!(name.parse::<BoxSide>().unwrap(), side);
        }
        assert!("top".parse::<BoxSide>().is_err());
        assert_eq!(Region::Side(BoxSide::XMin).boundary_triangles(&mesh).unwrap().len(), 8);
        assert_eq!(Region::All.count(&mesh).unwrap(), 45);
    }

    #[test]
    fn places_select_the_nodes_inside() {
        let mesh = brick();
        let corner = Region::Box { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        assert_eq!(corner.count(&mesh).unwrap(), 8);
        let ball = Region::Sphere { center: Vec3::new(2.0, 1.0, 1.0), radius: 1.0 };
        assert_eq!(ball.count(&mesh).unwrap(), 7);
        let axis = Target::Segment(Vec3::new(0.0, 1.0, 1.0), Vec3::new(4.0, 1.0, 1.0));
        assert_eq!(Region::Distance { to: axis, within: 0.1 }.count(&mesh).unwrap(), 5);
        assert_eq!(Region::Distance { to: axis, within: 1.0 }.count(&mesh).unwrap(), 25);
        let plane = Target::Plane { point: Vec3::splat(2.0), normal: Vec3::new(7.0, 0.0, 0.0) };
        assert_eq!(Region::Distance { to: plane, within: 1.0 }.count(&mesh).unwrap(), 27);
        let point = Region::Distance { to: Target::Point(Vec3::zero()), within: 0.5 };
        assert_eq!(point.nodes(&mesh).unwrap(), [0]);
        let nowhere = Region::Sphere { center: Vec3::splat(100.0), radius: 1.0 };
        assert_eq!(nowhere.count(&mesh).unwrap(), 0);
    }

    #[test]
    fn labels_and_sets_select_by_name() {
        let mesh = brick().with_cell_labels((0..16).map(|cell| u32::from(cell == 5)).collect()).unwrap();
        let mesh = mesh.with_node_set("tip", vec![44, 43]).unwrap();
        assert_eq!(Region::Label(1).count(&mesh).unwrap(), 8);
        assert_eq!(Region::Label(1).cells(&mesh).unwrap(), [5]);
        assert_eq!(Region::NodeSet("tip".into()).nodes(&mesh).unwrap(), [43, 44]);
        let error = Region::NodeSet("tap".into()).nodes(&mesh).unwrap_err();
        assert_eq!(error.to_string(), "there is no node set \"tap\"; known sets: tip");
    }

    #[test]
    fn set_operations_obey_de_morgan() {
        let mesh = box_tets(Vec3::splat(1.0), [3, 3, 3], TetPattern::Bcc).unwrap();
        let a = Region::Side(BoxSide::XMin);
        let b = Region::Sphere { center: Vec3::zero(), radius: 0.7 };
        let not = |r: &Region| Region::Not(Box::new(r.clone()));
        let left = not(&Region::Union(vec![a.clone(), b.clone()]));
        let right = Region::Intersection(vec![not(&a), not(&b)]);
        assert_eq!(left.nodes(&mesh).unwrap(), right.nodes(&mesh).unwrap());
        assert!(left.count(&mesh).unwrap() > 0);
    }

    #[test]
    fn bad_regions_are_errors() {
        let mesh = brick();
        let bad = [
            Region::Box { min: Vec3::splat(1.0), max: Vec3::zero() },
            Region::Box { min: Vec3::splat(f64::NAN), max: Vec3::zero() },
            Region::Sphere { center: Vec3::zero(), radius: -1.0 },
            Region::Distance { to: Target::Plane { point: Vec3::zero(), normal: Vec3::zero() }, within: 1.0 },
            Region::Distance { to: Target::Point(Vec3::splat(f64::INFINITY)), within: 1.0 },
        ];
        for region in bad {
            assert!(region.nodes(&mesh).is_err(), "{region:?}");
        }
        let mut deep = Region::All;
        for _ in 0..100 {
            deep = Region::Not(Box::new(deep));
        }
        assert_eq!(deep.nodes(&mesh).unwrap_err(), RegionError::TooDeep);
    }
}
