//! Fills a closed surface with a lattice of tetrahedra and binds the surface to it.
//!
//! The lattice covers the whole interior; its outer cells extend beyond the surface, which moves with them through its
//! [`Embedding`]. So the shape of the cells never depends on the quality of the surface mesh. Two parts of a surface
//! closer than a cell share cells and stick together: choose cells smaller than the gaps that matter.

mod cubes;
mod lattice;

use std::fmt;

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;
use thiserror::Error;

use crate::embedding::{Embedding, EmbeddingError};
use crate::mesh::{CellMesh, MeshError, SurfaceTopology, TriMesh};
use crate::procedural::{MAX_CELLS, TetPattern};
use lattice::{Filling, Lattice, tet_samples};

pub(crate) use cubes::{CubeGrid, Enclosure};

/// Largest number of self-intersections counted: one is enough to reject, more help to locate the problem.
const COUNTED_INTERSECTIONS: usize = 1000;

/// Smallest volume fraction of cells that the surface barely cuts: with less, their outer nodes would have no mass.
const MIN_FRACTION: f64 = 0.05;

/// Treatment of a surface that does not bound a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Return an error that describes and locates the defect.
    #[default]
    Reject,
    /// Count points with a generalized winding number of at least one half as inside \[Jacobson13\], and report the
    /// defects.
    Winding,
}

/// Labels of the cells of a filling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellLabels {
    /// All zero.
    #[default]
    Zero,
    /// The connected component of the lattice, counted from one.
    Component,
}

/// Options for filling a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillOptions {
    /// Pattern of tetrahedra; body-centered by default, since it prefers no direction.
    pub pattern: TetPattern,
    /// Treatment of a surface that does not bound a volume.
    pub repair: Repair,
    /// Labels of the cells.
    pub labels: CellLabels,
    /// Largest number of tetrahedra over the whole bounding box; checked before any allocation.
    pub max_cells: usize,
}

impl Default for FillOptions {
    fn default() -> Self {
        Self {
            pattern: TetPattern::Bcc,
            repair: Repair::default(),
            labels: CellLabels::default(),
            max_cells: MAX_CELLS,
        }
    }
}

/// Why a surface cannot be filled. Edges and triangles are numbered as in the input surface.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FillError {
    /// The cell size is not a positive length.
    #[error("the cell size is {cell}, but must be a positive length")]
    CellSize {
        /// The size \[m\].
        cell: f64,
    },
    /// The cells are too small for the surface.
    #[error("the lattice would have {cells:.3e} cells, more than the limit of {limit}; hint: choose larger cells")]
    TooManyCells {
        /// Number of cells over the bounding box.
        cells: f64,
        /// Largest number allowed.
        limit: usize,
    },
    /// The surface has holes.
    #[error(
        "the surface is open: {count} boundary edges, the first near {}; hint: close it, or fill with repair = \"winding\"",
        place(at)
    )]
    Open {
        /// Number of edges with only one triangle.
        count: usize,
        /// Vertices of the first.
        edge: [u32; 2],
        /// Its midpoint \[m\].
        at: Vec3,
    },
    /// More than two triangles meet at an edge.
    #[error(
        "{count} edges have more than two triangles, the first near {}; hint: separate the sheets, or fill with repair = \"winding\"",
        place(at)
    )]
    Branching {
        /// Number of such edges.
        count: usize,
        /// Vertices of the first.
        edge: [u32; 2],
        /// Its midpoint \[m\].
        at: Vec3,
    },
    /// Neighboring triangles have inconsistent orientations.
    #[error(
        "the surface is wound inconsistently at {count} edges, the first near {}; hint: orient it, or fill with repair = \"winding\"",
        place(at)
    )]
    InconsistentWinding {
        /// Number of such edges.
        count: usize,
        /// Vertices of the first.
        edge: [u32; 2],
        /// Its midpoint \[m\].
        at: Vec3,
    },
    /// Triangles intersect each other.
    #[error("the surface intersects itself: {count} pairs of triangles, first {} and {} near {}; hint: repair it, or fill with repair = \"winding\"", triangles[0], triangles[1], place(at))]
    SelfIntersecting {
        /// Number of pairs, counted up to a thousand.
        count: usize,
        /// The first pair.
        triangles: [u32; 2],
        /// Centroid of the first triangle \[m\].
        at: Vec3,
    },
    /// All triangles lie in one plane.
    #[error("the surface is flat, so it encloses nothing; hint: give it a thickness")]
    Flat,
    /// No cell is inside the surface or touches it.
    #[error("nothing is inside the surface")]
    NothingInside,
    /// The lattice is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The surface could not be bound to the lattice.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
}

fn place(p: &Vec3) -> String {
    format!("({:.4}, {:.4}, {:.4})", p.x, p.y, p.z)
}

/// Defects of the surface, and the size of the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FillReport {
    /// Vertices at equal positions that were merged to check whether the surface is closed.
    pub welded_vertices: usize,
    /// Edges with only one triangle.
    pub boundary_edges: usize,
    /// Edges with more than two triangles.
    pub branching_edges: usize,
    /// Edges whose triangles have inconsistent orientations.
    pub inconsistent_edges: usize,
    /// Pairs of intersecting triangles, counted up to a thousand.
    pub self_intersections: usize,
    /// Whether the whole surface was inside out; it is filled nevertheless.
    pub is_inside_out: bool,
    /// Volume enclosed by the surface \[m³\].
    pub surface_volume: f64,
    /// Volume of the lattice \[m³\], which includes the outside parts of the outer cells.
    pub lattice_volume: f64,
    /// Connected components of the lattice.
    pub component_count: usize,
}

impl FillReport {
    /// Whether the surface bounds a volume as it is.
    pub fn is_clean(&self) -> bool {
        self.boundary_edges + self.branching_edges + self.inconsistent_edges + self.self_intersections == 0
            && !self.is_inside_out
    }

    pub(crate) fn enclosure(&self) -> Enclosure {
        match self.boundary_edges + self.branching_edges + self.inconsistent_edges {
            0 => Enclosure::Watertight,
            _ => Enclosure::Leaky,
        }
    }
}

impl fmt::Display for FillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.welded_vertices, "vertices welded"),
            (self.boundary_edges, "open edges"),
            (self.branching_edges, "branching edges"),
            (self.inconsistent_edges, "inconsistently wound edges"),
            (self.self_intersections, "intersecting pairs of triangles"),
        ];
        for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
            write!(f, "{count} {what}, ")?;
        }
        if self.is_inside_out {
            f.write_str("surface was inside out, ")?;
        }
        write!(f, "lattice volume {:.3e} m³", self.lattice_volume)?;
        let ratio = self.lattice_volume / self.surface_volume;
        // An open sheet may enclose as good as nothing.
        if ratio < 1e3 {
            write!(f, " = {ratio:.2} × surface volume")?;
        } else {
            write!(f, ", of which the surface encloses next to nothing")?;
        }
        if self.component_count > 1 {
            write!(f, ", {} separate parts", self.component_count)?;
        }
        Ok(())
    }
}

/// A filled surface.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The lattice.
    pub mesh: CellMesh,
    /// The vertices of the surface, bound to the lattice.
    pub embedding: Embedding,
    /// Defects of the surface, and the size of the result.
    pub report: FillReport,
    /// For each cell, whether the surface cuts it.
    is_cut: Vec<bool>,
}

impl Filled {
    /// For each cell, the fraction of its volume inside the surface: density times this gives the body its true mass,
    /// stiffness times this its true stiffness. Exactly one where the surface does not cut the cell, otherwise counted
    /// over eight samples and at least 0.05, since outer nodes without mass would break solvers.
    pub fn inside_fractions(&self, surface: &TriMesh) -> Vec<f64> {
        let winding = surface.winding_numbers();
        let samples = tet_samples();
        let fraction = |cell: usize| {
            if !self.is_cut[cell] {
                return 1.0;
            }
            let x = self.mesh.corners(self.mesh.cell_nodes(cell));
            let at = |w: &[f64; 4]| x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
            let inside = samples.iter().filter(|w| winding.is_inside(at(w))).count();
            (inside as f64 / samples.len() as f64).max(MIN_FRACTION)
        };
        (0..self.mesh.cell_count()).into_par_iter().map(fraction).collect()
    }
}

/// Fills a closed surface with cells of about `cell` \[m\]: the cubes of the lattice have this size.
pub fn fill_surface(surface: &TriMesh, cell: f64, options: &FillOptions) -> Result<Filled, FillError> {
    if !(cell > 0.0 && cell.is_finite()) {
        return Err(FillError::CellSize { cell });
    }
    let bounds = surface.bounds();
    // Cells may be absurdly small or large until this check.
    let lattice = Lattice::new(&bounds, cell, options)?;

    let (welded, welded_vertices) = surface.welded()?;
    let report = FillReport { welded_vertices, ..inspect(surface, &welded, options.repair)? };
    let enclosure = report.enclosure();
    let Filling { positions, tets, is_cut } = lattice.fill(&welded, enclosure);
    if tets.is_empty() {
        return Err(FillError::NothingInside);
    }
    let (mut mesh, mesh_report) = CellMesh::from_tets(positions, &tets)?;
    if options.labels == CellLabels::Component {
        let labels = mesh.components().component_of.iter().map(|component| component + 1).collect();
        mesh = mesh.with_cell_labels(labels)?;
    }
    let embedding = Embedding::bind(&mesh, surface.positions())?;
    let report = FillReport { lattice_volume: mesh.volume(), component_count: mesh_report.component_count, ..report };
    Ok(Filled { mesh, embedding, report, is_cut })
}

/// Finds everything that keeps a surface from bounding a volume; an error unless `repair` accepts it.
pub(crate) fn inspect(surface: &TriMesh, welded: &TriMesh, repair: Repair) -> Result<FillReport, FillError> {
    if welded.is_flat() {
        return Err(FillError::Flat);
    }
    let topology = welded.topology();
    if repair == Repair::Reject {
        check_topology(surface, welded, &topology)?;
    }
    let intersections = welded.self_intersections(COUNTED_INTERSECTIONS);
    if let Some(pair) = intersections.first().filter(|_| repair == Repair::Reject) {
        let [a, b, c] = welded.corners(pair[0] as usize);
        return Err(FillError::SelfIntersecting {
            count: intersections.len(),
            triangles: pair.map(|triangle| original_triangle(surface, triangle)),
            at: (a + b + c) / 3.0,
        });
    }
    // That of an open surface depends on the origin: least where it is in the middle.
    let volume = match topology.boundary_edges.is_empty() {
        true => welded.volume(),
        false => welded.mapped(|x| x - welded.bounds().center())?.volume(),
    };
    Ok(FillReport {
        boundary_edges: topology.boundary_edges.len(),
        branching_edges: topology.branching_edges.len(),
        inconsistent_edges: topology.inconsistent_edges.len(),
        self_intersections: intersections.len(),
        is_inside_out: volume < 0.0,
        surface_volume: volume.abs(),
        ..FillReport::default()
    })
}

fn check_topology(surface: &TriMesh, welded: &TriMesh, topology: &SurfaceTopology) -> Result<(), FillError> {
    // Welding keeps the first vertex at each position, so the position leads back to its number in the input surface.
    let original = |edge: [u32; 2]| {
        edge.map(|v| {
            let x = welded.positions()[v as usize];
            surface.positions().iter().position(|y| *y == x).unwrap_or(0) as u32
        })
    };
    let middle = |edge: [u32; 2]| welded.positions()[edge[0] as usize].lerp(welded.positions()[edge[1] as usize], 0.5);
    if let Some(edge) = topology.boundary_edges.first() {
        let count = topology.boundary_edges.len();
        return Err(FillError::Open { count, edge: original(*edge), at: middle(*edge) });
    }
    if let Some(edge) = topology.branching_edges.first() {
        let count = topology.branching_edges.len();
        return Err(FillError::Branching { count, edge: original(*edge), at: middle(*edge) });
    }
    if let Some(edge) = topology.inconsistent_edges.first() {
        let count = topology.inconsistent_edges.len();
        return Err(FillError::InconsistentWinding { count, edge: original(*edge), at: middle(*edge) });
    }
    Ok(())
}

/// Number in the input surface of a triangle of the welded one, which lacks collapsed triangles.
fn original_triangle(surface: &TriMesh, welded_triangle: u32) -> u32 {
    let is_kept = |t: usize| {
        let [a, b, c] = surface.corners(t);
        a != b && b != c && c != a
    };
    let mut kept = (0..surface.triangle_count()).filter(|t| is_kept(*t));
    kept.nth(welded_triangle as usize).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests;
