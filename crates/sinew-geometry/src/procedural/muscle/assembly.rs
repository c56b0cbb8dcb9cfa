//! Hexahedra with tissue and fiber axis, assembled block by block into a muscle.

use std::collections::BTreeMap;

use sinew_math::Vec3;

use super::section::Section;
use super::{MuscleCells, MuscleError, MuscleParams, MuscleShape, ProceduralMuscle};
use crate::mesh::{CellBlock, CellKind, CellMesh, MeshField};
use crate::shape_functions::{HEX_SIGNS, hex8_map_gradient};

/// Smallest angle between faces \[rad\], one degree. Muscles of usual proportions have at least five; a belly wider
/// than long has less.
const SMALLEST_ANGLE: f64 = std::f64::consts::PI / 180.0;

/// Tissue of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tissue {
    Belly,
    Tendon,
    Aponeurosis,
    /// Soft flesh without fibers, between the parts of a muscle.
    Filling,
}

impl Tissue {
    fn set_name(self) -> &'static str {
        match self {
            Self::Belly => "belly",
            Self::Tendon => "tendon",
            Self::Aponeurosis => "aponeurosis",
            Self::Filling => "filling",
        }
    }
}

/// Properties of a hexahedron besides its nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub tissue: Tissue,
    /// Local axis along which the fibers run; unused in a filling.
    pub fiber_axis: usize,
    /// Cells with the same number follow each other along the same fibers.
    pub line: u32,
    /// Head of a two-headed muscle, from 1; 0 for other muscles.
    pub head: u8,
}

/// Nodes and hexahedra of a muscle under construction.
#[derive(Default)]
pub(super) struct Assembly {
    pub positions: Vec<Vec3>,
    hexes: Vec<([u32; 8], Traits)>,
}

impl Assembly {
    /// Adds a node.
    pub fn node(&mut self, x: Vec3) -> u32 {
        self.positions.push(x);
        (self.positions.len() - 1) as u32
    }

    /// Adds the hexahedron whose corner (a, b, c) ∈ {0, 1}³ is `node(a, b, c)`. Left-handed ones are flipped along
    /// their third axis, so the first two, along which fibers run, are unchanged.
    pub fn hex(&mut self, node: impl Fn(usize, usize, usize) -> u32, traits: Traits) {
        let corner = |s: [f64; 3]| node((s[0] > 0.0) as usize, (s[1] > 0.0) as usize, (s[2] > 0.0) as usize);
        let mut nodes = HEX_SIGNS.map(corner);
        if CellKind::Hex8.volume(&self.corners(&nodes)) < 0.0 {
            CellKind::Hex8.mirror(&mut nodes);
        }
        self.hexes.push((nodes, traits));
    }

    /// Adds the cells between two copies of a section, given by their nodes; fibers run from one copy to the other.
    pub fn layer(&mut self, section: &Section, from: &[u32], to: &[u32], tissue: Tissue, head: u8) {
        let first_line = u32::from(head) * section.quads.len() as u32;
        for (line, [a, b, c, d]) in section.quads.iter().enumerate() {
            let corner = [[*a as usize, *d as usize], [*b as usize, *c as usize]];
            let traits = Traits { tissue, fiber_axis: 0, line: first_line + line as u32, head };
            self.hex(|i, j, k| if i == 0 { from[corner[j][k]] } else { to[corner[j][k]] }, traits);
        }
    }

    fn corners(&self, nodes: &[u32; 8]) -> [Vec3; 8] {
        nodes.map(|node| self.positions[node as usize])
    }

    /// Mean length of the belly's fibers, each weighted by its cross-section A = V / ℓ: ℓ̄ = Σ A ℓ / Σ A = Σ V / Σ (V /
    /// ℓ).
    fn fiber_length(&self) -> f64 {
        let mut lines: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (nodes, traits) in self.hexes.iter().filter(|(_, traits)| traits.tissue == Tissue::Belly) {
            let corners = self.corners(nodes);
            let (volume, length) = lines.entry(traits.line).or_default();
            *volume += CellKind::Hex8.volume(&corners);
            // Local coordinates range from −1 to 1.
            *length += 2.0 * hex8_map_gradient(&corners, Vec3::zero())[traits.fiber_axis].norm();
        }
        let volume: f64 = lines.values().map(|(volume, _)| volume).sum();
        volume / lines.values().map(|(volume, length)| volume / length).sum::<f64>()
    }

    /// Checks that no Jacobian is negative where a simulation evaluates it: at the corners and at the 2×2×2 quadrature
    /// points.
    fn check_folds(&self) -> Result<(), MuscleError> {
        let gauss = 1.0 / 3_f64.sqrt();
        for (cell, (nodes, _)) in self.hexes.iter().enumerate() {
            let corners = self.corners(nodes);
            for at in HEX_SIGNS.iter().flat_map(|s| [Vec3::from(*s), Vec3::from(*s) * gauss]) {
                let [u, v, w] = hex8_map_gradient(&corners, at);
                if !(u.dot(v.cross(w)) > 0.0) {
                    return Err(MuscleError::FoldedCell { cell, x: corners[0].x });
                }
            }
        }
        Ok(())
    }

    /// Checks the cells, splits them into tetrahedra if requested, and adds sets and fields.
    pub fn finish(self, params: &MuscleParams) -> Result<ProceduralMuscle, MuscleError> {
        self.check_folds()?;
        let fiber_length = self.fiber_length();
        let mut fibers = Vec::new();
        let mut traits_of_cell = Vec::new();
        let mut tets: Vec<[u32; 4]> = Vec::new();
        for (nodes, traits) in &self.hexes {
            let corners = self.corners(nodes);
            let mut add_fiber = |at: Vec3| {
                let along = match traits.tissue {
                    // Its cell edges have no meaning, so use the line of action.
                    Tissue::Filling => Vec3::new(1.0, 0.0, 0.0),
                    _ => hex8_map_gradient(&corners, at)[traits.fiber_axis].normalized(),
                };
                fibers.push(if along.x < 0.0 { -along } else { along });
                traits_of_cell.push(*traits);
            };
            match params.cells {
                MuscleCells::Hexes => add_fiber(Vec3::zero()),
                MuscleCells::Tets => {
                    for local in tets_of_hex(nodes) {
                        add_fiber(local.iter().map(|corner| Vec3::from(HEX_SIGNS[*corner])).sum::<Vec3>() * 0.25);
                        tets.push(local.map(|corner| nodes[corner]));
                    }
                }
            }
        }
        let block = match params.cells {
            MuscleCells::Hexes => CellBlock::hexes(&self.hexes.iter().map(|(nodes, _)| *nodes).collect::<Vec<_>>()),
            MuscleCells::Tets => CellBlock::tets(&tets),
        };
        let (mut mesh, report) = CellMesh::new(self.positions, vec![block])?;
        if let Some(cell) = report.flipped_cells.first().map(|cell| *cell as usize) {
            let x = mesh.positions()[mesh.cell_nodes(cell)[0] as usize].x;
            return Err(MuscleError::FoldedCell { cell, x });
        }
        let quality = mesh.quality();
        if quality.min_dihedral < SMALLEST_ANGLE {
            let cell = quality.worst_cell as usize;
            let x = mesh.positions()[mesh.cell_nodes(cell)[0] as usize].x;
            return Err(MuscleError::FlatCell { cell, x, degrees: quality.min_dihedral.to_degrees() });
        }
        debug_assert!(
            report.unused_nodes == 0 && report.component_count == 1,
            "a muscle must be one connected piece: {report}"
        );

        let cells_with = |holds: &dyn Fn(&Traits) -> bool| -> Vec<u32> {
            (0..traits_of_cell.len() as u32).filter(|cell| holds(&traits_of_cell[*cell as usize])).collect()
        };
        for tissue in [Tissue::Belly, Tissue::Tendon, Tissue::Aponeurosis, Tissue::Filling] {
            let cells = cells_with(&|traits| traits.tissue == tissue);
            if !cells.is_empty() {
                mesh = mesh.with_cell_set(tissue.set_name(), cells)?;
            }
        }
        let (origin, insertion) = (nodes_at(&mesh, 0.0), nodes_at(&mesh, params.length));
        if params.shape == MuscleShape::TwoHeaded {
            for (head, name) in [(1, "head-1"), (2, "head-2")] {
                mesh = mesh.with_cell_set(name, cells_with(&|t| t.head == head && t.tissue == Tissue::Belly))?;
            }
            let (first, second) = origin.iter().partition(|node| mesh.positions()[**node as usize].y > 0.0);
            mesh = mesh.with_node_set("origin-1", first)?.with_node_set("origin-2", second)?;
        }
        let values = fibers.iter().flat_map(|fiber: &Vec3| fiber.to_array()).collect();
        let mesh = mesh
            .with_node_set("origin", origin)?
            .with_node_set("insertion", insertion)?
            .with_cell_field("fiber", MeshField { components: 3, values })?;
        let volumes = mesh.cell_volumes();
        let belly: f64 = mesh.cell_sets()["belly"].iter().map(|cell| volumes[*cell as usize]).sum();
        Ok(ProceduralMuscle { mesh, fibers, fiber_length, pcsa: belly / fiber_length })
    }
}

/// Ends are placed exactly, so they are found exactly.
fn nodes_at(mesh: &CellMesh, x: f64) -> Vec<u32> {
    (0..mesh.node_count() as u32).filter(|node| mesh.positions()[*node as usize].x == x).collect()
}

/// The six tetrahedra from the smallest node of a hexahedron to the three opposite faces, each split from its smallest
/// node. So every face is split from its smallest node, and neighbors agree \[Dompierre99\].
fn tets_of_hex(nodes: &[u32; 8]) -> [[usize; 4]; 6] {
    let apex = (0..8).min_by_key(|corner| nodes[*corner]).unwrap_or(0);
    let mut tets = [[apex; 4]; 6];
    let faces = CellKind::Hex8.faces().iter().filter(|face| !face.contains(&apex));
    for (pair, face) in tets.chunks_exact_mut(2).zip(faces) {
        let first = (0..4).min_by_key(|corner| nodes[face[*corner]]).unwrap_or(0);
        let [a, b, c, d] = [0, 1, 2, 3].map(|step| face[(first + step) % 4]);
        // Faces run counterclockwise seen from outside, so the apex lies on the other side.
        pair[0] = [a, c, b, apex];
        pair[1] = [a, d, c, apex];
    }
    tets
}
