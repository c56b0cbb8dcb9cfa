//! The document's own mesher: a lattice refined where detail is, cut to the solid, and pushed onto its surface
//! \[Teran05\].
//!
//! 1. Cover the solid with the body-centered lattice and split cells near the surface and where it bends ([`super::red`]
//!    explains the cells, `refine` the closure).
//! 2. Take the cells of enveloped nodes and condition their boundary (`condition`).
//! 3. Push the nodes of the boundary to φ = 0 while the layers below give way (`push`), and on to sharp edges. Only gains and moves above a
//!    floor are kept, so no cell is ever worse than the floor or than it was.

mod push;
mod star;

use sinew_geometry::CellMesh;
use sinew_math::Vec3;

use self::push::Press;
use super::condition::condition;
use super::red::renumber;
use super::refine::{Closure, balance, closed_cells};
use super::sharpen::{Floor, sharpen};
use super::soup::Soup;
use super::stuff::RawMesh;
use super::tree::{MAX_DEPTH, Tree, TreeCell};
use super::{MeshError, Meshed, MeshingReport};
use crate::solid::Solid;

/// Cells whose center is within this many of their long edges of the surface are split down to the size there, so that
/// the layers that move are of one size.
const BAND: f64 = 1.2;

/// Cells are split where their long edge is more than this part of the radius of curvature.
const BEND: f64 = 0.5;

/// How to fill a solid by compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressOptions {
    /// Long edge h of the cells at the surface \[m\].
    pub cell: f64,
    /// How often cells may double in size inside, away from the surface; 0 keeps one size.
    pub coarser: u8,
    /// How often cells at the surface may halve where its radius of curvature is below 2 h.
    pub finer: u8,
    /// Dihedral angle below which no cell is pushed \[rad\].
    pub floor: f64,
    /// Dihedral angle above which no cell is pushed \[rad\].
    pub ceiling: f64,
    /// Dihedral angle that cells at the surface are improved to \[rad\]; the larger ones to as much below the ceiling,
    /// measured by squared sines.
    pub goal: f64,
    /// Largest number of cells that is tried.
    pub max_cells: usize,
}

impl CompressOptions {
    /// Cells of one size \[m\] with angles of 20° to 155°, and a goal of 25°.
    pub fn new(cell: f64) -> Self {
        let [floor, ceiling, goal] = [20.3, 154.7, 25.0].map(f64::to_radians);
        Self { cell, coarser: 0, finer: 0, floor, ceiling, goal, max_cells: 100_000_000 }
    }
}

/// Fills a solid with tetrahedra whose boundary nodes were pushed onto its surface.
///
/// The boundary is a closed manifold. Parts thinner than about half a cell have no enveloped node and are left out.
pub fn mesh_compressed(solid: &dyn Solid, options: &CompressOptions) -> Result<Meshed, MeshError> {
    let lattice = refined_lattice(solid, options)?;
    let conditioned = condition(solid, lattice).map_err(|error| match error {
        MeshError::Empty => too_coarse(solid, options.cell),
        other => other,
    })?;
    let separated_nodes = conditioned.separated_nodes;
    let dropped_cells = conditioned.dropped_cells;
    let is_boundary = conditioned.is_boundary.clone();
    let mut press = Press::new(solid, conditioned, options);
    let moved_nodes = press.run();
    let on_surface: Vec<bool> = press.is_on_surface.iter().zip(&is_boundary).map(|(on, is)| *on && *is).collect();
    let sharpened_nodes = sharpened(&mut press, solid, options, &on_surface, &is_boundary);
    let Soup { positions, mut tets } = press.soup;
    let (positions, number) = renumber(&positions, &mut tets);
    let (mesh, _) = CellMesh::from_tets(positions, &tets)?;
    let surface_nodes = (0..number.len())
        .filter(|node| on_surface[*node])
        .map(|node| number[node])
        .filter(|n| *n != u32::MAX)
        .collect();
    let quality = mesh.quality();
    let report = MeshingReport {
        min_dihedral: quality.min_dihedral,
        max_dihedral: quality.max_dihedral,
        separated_nodes,
        dropped_cells,
        moved_nodes,
        sharpened_nodes,
        ..MeshingReport::default()
    };
    Ok(Meshed { mesh, surface_nodes, report })
}

/// Moves nodes of the boundary to sharp edges; no angle leaves the bounds that way. Returns how many moved.
fn sharpened(
    press: &mut Press<'_>,
    solid: &dyn Solid,
    options: &CompressOptions,
    on_surface: &[bool],
    is_boundary: &[bool],
) -> usize {
    let mut raw = RawMesh {
        positions: std::mem::take(&mut press.soup.positions),
        tets: std::mem::take(&mut press.soup.tets),
        on_surface: on_surface.to_vec(),
        changed: Vec::new(),
    };
    let touches = |cell: &u32| raw.tets[*cell as usize].iter().any(|node| is_boundary[*node as usize]);
    raw.changed = (0..raw.tets.len() as u32).filter(touches).collect();
    let sine = |angle: f64| angle.sin().powi(2);
    let count = sharpen(&mut raw, solid, options.cell, Floor::Strict(sine(options.floor).max(sine(options.ceiling))));
    (press.soup.positions, press.soup.tets) = (raw.positions, raw.tets);
    count
}

/// The refusal of a solid in which no node is enveloped.
fn too_coarse(solid: &dyn Solid, cell: f64) -> MeshError {
    MeshError::TooCoarse { cell, size: solid.bounds().size().max_component() }
}

/// The conforming lattice over the solid, refined by nearness of the surface and by its curvature.
fn refined_lattice(solid: &dyn Solid, options: &CompressOptions) -> Result<Soup, MeshError> {
    let coarser = options.coarser.min(MAX_DEPTH);
    let depth = (coarser + options.finer).min(MAX_DEPTH);
    let spacing = options.cell * f64::from(1_u32 << coarser);
    let mut tree = Tree::cover(solid, spacing, depth, options.max_cells)?;
    tree.split_where(depth, options.max_cells, |tree, cell| wants_split(solid, tree, cell, coarser))?;
    balance(&mut tree, Closure::Green);
    Ok(Soup { positions: tree.positions(), tets: closed_cells(&tree) })
}

/// Cells near the surface are split down to the size at the surface, and further where a cell that
/// the surface may cut is large for its curvature.
fn wants_split(solid: &dyn Solid, tree: &Tree, cell: &TreeCell, coarser: u8) -> bool {
    let (center, spacing) = (tree.center(cell), tree.spacing_at(cell.level));
    let distance = solid.distance(center).abs();
    if cell.level < coarser {
        return distance < BAND * spacing;
    }
    distance < spacing && curvature(solid, center, 0.25 * spacing) * spacing > BEND
}

/// Largest change of the unit normal per length along the axes \[1/m\].
fn curvature(solid: &dyn Solid, x: Vec3, step: f64) -> f64 {
    let normal = |p: Vec3| {
        let gradient = solid.gradient(p, step);
        gradient / gradient.norm().max(1e-12)
    };
    (0..3)
        .map(|axis| {
            let way = Vec3::unit(axis) * step;
            (normal(x + way) - normal(x - way)).norm() / (2.0 * step)
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
