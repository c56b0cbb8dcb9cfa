//! Regions: from names to nodes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sinew_geometry::region::{BoxSide, Region as Shape, Target};
use sinew_geometry::{CellMesh, MeshField};
use sinew_math::Vec3;
use sinew_scene::nearest;
use sinew_scene::spec::region::{BUILTIN_REGIONS, FieldRegion, Region};

use crate::overview::RegionSize;

/// Maximum depth of references between regions: more is a cycle.
const MAX_DEPTH: usize = 32;

/// The regions of one body, resolved on demand.
pub(super) struct Regions {
    mesh: CellMesh,
    named: BTreeMap<String, Region>,
    resolved: RefCell<BTreeMap<String, Vec<bool>>>,
}

impl Regions {
    /// `mesh` in body coordinates.
    pub fn new(mesh: CellMesh, named: BTreeMap<String, Region>) -> Self {
        Self { mesh, named, resolved: RefCell::default() }
    }

    /// The mesh in body coordinates.
    pub fn mesh(&self) -> &CellMesh {
        &self.mesh
    }

    /// Nodes of a region; a region without nodes is an error.
    pub fn nodes(&self, name: &str) -> Result<Vec<u32>, String> {
        let mask = self.mask(name, 0)?;
        let nodes: Vec<u32> = (0..mask.len() as u32).filter(|&n| mask[n as usize]).collect();
        if nodes.is_empty() {
            let bounds = self.mesh.bounds();
            let (a, b) = (bounds.min, bounds.max);
            return Err(format!(
                "region \"{name}\" contains no node; the body reaches from ({:.4}, {:.4}, {:.4}) to ({:.4}, {:.4}, {:.4}) m",
                a.x, a.y, a.z, b.x, b.y, b.z
            ));
        }
        Ok(nodes)
    }

    /// The named regions of the body with their sizes; regions of points and faces have no cells.
    pub fn sizes(&self) -> Vec<RegionSize> {
        let size = |name: &String| RegionSize {
            name: name.clone(),
            cells: self.cells(name).map_or(0, |cells| cells.len()),
            nodes: self.nodes(name).map_or(0, |nodes| nodes.len()),
        };
        self.named.keys().map(size).collect()
    }

    /// Boundary triangles whose nodes all belong to a region.
    pub fn triangles(&self, name: &str) -> Result<Vec<[u32; 3]>, String> {
        let mask = self.mask(name, 0)?;
        let triangles: Vec<[u32; 3]> =
            self.mesh.boundary_triangles().into_iter().filter(|t| t.iter().all(|&n| mask[n as usize])).collect();
        if triangles.is_empty() {
            return Err(format!("region \"{name}\" contains no face of the surface"));
        }
        Ok(triangles)
    }

    /// Cells whose center lies in a region of space, or whose nodes all belong to it.
    pub fn cells(&self, name: &str) -> Result<Vec<u32>, String> {
        if let Some(Region::Label(label)) = self.named.get(name) {
            let cells = Shape::Label(*label as u32).cells(&self.mesh).map_err(|error| error.to_string())?;
            return if cells.is_empty() { Err(format!("no cell has the label {label}")) } else { Ok(cells) };
        }
        if let Some(cells) = self.cell_set(name) {
            return Ok(cells.to_vec());
        }
        let mask = self.mask(name, 0)?;
        let x = self.mesh.positions();
        let contains = self.named.get(name).and_then(spatial_test);
        let cells: Vec<u32> = self
            .mesh
            .cells()
            .enumerate()
            .filter(|(_, (_, nodes))| match &contains {
                Some(test) => {
                    let center = nodes.iter().map(|&n| x[n as usize]).sum::<Vec3>() / nodes.len() as f64;
                    test(center)
                }
                None => nodes.iter().all(|&n| mask[n as usize]),
            })
            .map(|(cell, _)| cell as u32)
            .collect();
        if cells.is_empty() { Err(format!("region \"{name}\" contains no cell")) } else { Ok(cells) }
    }

    fn mask(&self, name: &str, depth: usize) -> Result<Vec<bool>, String> {
        if let Some(mask) = self.resolved.borrow().get(name) {
            return Ok(mask.clone());
        }
        if depth > MAX_DEPTH {
            return Err(format!("region \"{name}\" refers to itself"));
        }
        let mask = match self.named.get(name) {
            Some(Region::Union(parts)) => self.combine(parts, depth, |a, b| a || b)?,
            Some(Region::Intersection(parts)) => self.combine(parts, depth, |a, b| a && b)?,
            Some(Region::Outside(part)) => self.mask(part, depth + 1)?.into_iter().map(|inside| !inside).collect(),
            Some(Region::Field(region)) => self.field_mask(region)?,
            Some(Region::Box([a, b])) => self.shape_mask(&self.box_with_borders(Vec3::from(*a), Vec3::from(*b)))?,
            Some(region) => self.shape_mask(&shape_of(region))?,
            None => self.builtin_mask(name)?,
        };
        self.resolved.borrow_mut().insert(name.into(), mask.clone());
        Ok(mask)
    }

    fn combine(&self, parts: &[String], depth: usize, join: impl Fn(bool, bool) -> bool) -> Result<Vec<bool>, String> {
        let mut masks = parts.iter().map(|part| self.mask(part, depth + 1));
        let mut result = masks.next().unwrap_or_else(|| Ok(vec![false; self.mesh.node_count()]))?;
        for mask in masks {
            for (a, b) in result.iter_mut().zip(mask?) {
                *a = join(*a, b);
            }
        }
        Ok(result)
    }

    /// A box that includes its border despite rounding: 8 cells of 2.5 cm do not reach 20 cm to the last bit.
    fn box_with_borders(&self, a: Vec3, b: Vec3) -> Shape {
        let margin = Vec3::splat(1e-9 * self.mesh.bounds().size().norm());
        Shape::Box { min: a.min(b) - margin, max: a.max(b) + margin }
    }

    fn builtin_mask(&self, name: &str) -> Result<Vec<bool>, String> {
        if name == "all" {
            return Ok(vec![true; self.mesh.node_count()]);
        }
        if name == "surface" {
            let mut mask = vec![false; self.mesh.node_count()];
            for node in self.mesh.boundary_nodes() {
                mask[node as usize] = true;
            }
            return Ok(mask);
        }
        if let Ok(side) = name.parse::<BoxSide>() {
            return self.shape_mask(&Shape::Side(side));
        }
        if self.mesh.node_sets().contains_key(name) {
            return self.shape_mask(&Shape::NodeSet(name.into()));
        }
        if let Some(cells) = self.cell_set(name) {
            let mut mask = vec![false; self.mesh.node_count()];
            for node in cells.iter().flat_map(|&cell| self.mesh.cell_nodes(cell as usize)) {
                mask[*node as usize] = true;
            }
            return Ok(mask);
        }
        let known = BUILTIN_REGIONS
            .iter()
            .copied()
            .chain(self.named.keys().map(String::as_str))
            .chain(self.mesh.node_sets().keys().map(String::as_str))
            .chain(self.mesh.cell_sets().keys().map(String::as_str));
        let hint = nearest(name, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
        Err(format!("there is no region \"{name}\"{hint}"))
    }

    /// Cells of a set of the mesh, unless the scene or the mesh has another region with that name.
    fn cell_set(&self, name: &str) -> Option<&[u32]> {
        let is_other = self.named.contains_key(name)
            || BUILTIN_REGIONS.contains(&name)
            || self.mesh.node_sets().contains_key(name);
        if is_other { None } else { self.mesh.cell_sets().get(name).map(Vec::as_slice) }
    }

    /// Nodes where a field of the mesh lies between two values.
    fn field_mask(&self, region: &FieldRegion) -> Result<Vec<bool>, String> {
        let inside = |value: f64| {
            region.at_least.is_none_or(|least| value >= least) && region.at_most.is_none_or(|most| value <= most)
        };
        let (nodes, cells) = (self.mesh.node_fields(), self.mesh.cell_fields());
        let scalar = |field: &MeshField| match field.components {
            1 => Ok(()),
            count => Err(format!("field \"{}\" has {count} components; a region needs one", region.name)),
        };
        if let Some(field) = nodes.get(&region.name) {
            scalar(field)?;
            return Ok(field.values.iter().map(|&value| inside(value)).collect());
        }
        if let Some(field) = cells.get(&region.name) {
            scalar(field)?;
            let mut mask = vec![false; self.mesh.node_count()];
            for ((_, nodes), &value) in self.mesh.cells().zip(&field.values) {
                if inside(value) {
                    nodes.iter().for_each(|&node| mask[node as usize] = true);
                }
            }
            return Ok(mask);
        }
        let known: Vec<&str> = nodes.keys().chain(cells.keys()).map(String::as_str).collect();
        match known.as_slice() {
            [] => Err(format!("there is no field \"{}\"; the mesh has none", region.name)),
            known => Err(format!("there is no field \"{}\"; the mesh has {}", region.name, known.join(", "))),
        }
    }

    fn shape_mask(&self, shape: &Shape) -> Result<Vec<bool>, String> {
        shape.node_mask(&self.mesh).map_err(|error| error.to_string())
    }
}

/// Membership test of a point, for regions that are shapes in space.
fn spatial_test(region: &Region) -> Option<Box<dyn Fn(Vec3) -> bool>> {
    match shape_of(region) {
        Shape::Box { min, max } => {
            Some(Box::new(move |p| (0..3).all(|axis| p[axis] >= min[axis] && p[axis] <= max[axis])))
        }
        Shape::Sphere { center, radius } => Some(Box::new(move |p| (p - center).norm() <= radius)),
        Shape::Distance { to, within } => Some(Box::new(move |p| to.distance(p) <= within)),
        _ => None,
    }
}

/// The geometric shape of a region of the scene; set operations are resolved by name before.
fn shape_of(region: &Region) -> Shape {
    match region {
        Region::Box([a, b]) => {
            let (a, b) = (Vec3::from(*a), Vec3::from(*b));
            Shape::Box { min: a.min(b), max: a.max(b) }
        }
        Region::Sphere(sphere) => Shape::Sphere { center: Vec3::from(sphere.center), radius: sphere.radius },
        Region::Distance(distance) => {
            let target = match (&distance.point, &distance.segment, &distance.plane) {
                (_, Some([a, b]), _) => Target::Segment(Vec3::from(*a), Vec3::from(*b)),
                (_, _, Some(plane)) => {
                    Target::Plane { point: Vec3::from(plane.point), normal: Vec3::from(plane.normal) }
                }
                (point, ..) => Target::Point(Vec3::from(point.unwrap_or([0.0; 3]))),
            };
            Shape::Distance { to: target, within: distance.at_most }
        }
        Region::Label(label) => Shape::Label(*label as u32),
        Region::Field(_) | Region::Union(_) | Region::Intersection(_) | Region::Outside(_) => Shape::All,
    }
}
