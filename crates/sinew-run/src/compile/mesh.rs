//! Cells of a body in body coordinates: generated, read, or filled into a surface.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinew_geometry::embedding::Embedding;
use sinew_geometry::fill::{FillOptions, Repair, fill_surface};
use sinew_geometry::lattice::{HexLattice, LatticeCell, LatticeOptions};
use sinew_geometry::{CellMesh, TriMesh};
use sinew_io::memory::{self, gibibytes};
use sinew_io::{Field, SurfaceParts, VolumeParts};
use sinew_math::Vec3;
use sinew_scene::import::{load_surface, load_volume};
use sinew_scene::spec::Scene;
use sinew_scene::spec::body::Body;
use sinew_scene::spec::mesh::{self, Element, GeneratedMesh, Mesh, MeshProblem};
use sinew_scene::{Diagnostic, Dimension, format_number, format_quantity};

use super::Compiler;
use super::rig::{RiggedBody, joints_of_nodes, weights_of_nodes};
use crate::anatomy::{AnatomyBody, body_of};

/// A mesh and the data attached to it.
pub(super) struct MeshParts {
    pub mesh: CellMesh,
    /// The filled surface with its embedding.
    pub surface: Option<(TriMesh, Embedding)>,
    /// Fields at the corners of its triangles.
    pub corner_fields: Vec<Field>,
    /// Fraction of each cell that is inside the filled surface; empty if all cells are inside.
    pub inside: Vec<f64>,
    /// The lattice of the mesh, if it is solved as a lattice.
    pub lattice: Option<HexLattice>,
    /// The character whose skin is the surface, if it has a skeleton.
    pub rigged: Option<Box<RiggedBody>>,
}

/// Minimum fraction of flesh in a cube, so that none is without mass.
const MIN_INSIDE: f64 = 1e-6;
/// Bytes per cell of other meshes, as `sinew check` estimates them: gradients, a share of the nodes, and their rows of
/// the matrix.
const BYTES_PER_TET: f64 = 1600.0;
const BYTES_PER_HEX: f64 = 3900.0;
/// Bytes per cell of a simulated lattice, with its coarser levels and all vectors of the solver.
const BYTES_PER_CELL: f64 = 3000.0;

impl From<CellMesh> for MeshParts {
    fn from(mesh: CellMesh) -> Self {
        Self { mesh, surface: None, corner_fields: Vec::new(), inside: Vec::new(), lattice: None, rigged: None }
    }
}

impl Compiler<'_> {
    /// Makes the mesh of `body`, scaled and of the requested order; adds a note on each repair.
    pub(super) fn mesh(&mut self, index: usize, body: &Body) -> Result<MeshParts, Diagnostic> {
        self.check_fits(index, body)?;
        let parts = self.mesh_as_given(index, body)?;
        if body.mesh.source().order() < 2 {
            return Ok(parts);
        }
        let scene = self.scene;
        let problem = |message: String| located(scene, &format!("body[{index}].mesh.order"), &message);
        let mesh = parts.mesh.to_quadratic().map_err(|error| problem(error.to_string()))?;
        let surface = match &parts.surface {
            Some((surface, _)) => {
                let embedding =
                    Embedding::bind(&mesh, surface.positions()).map_err(|error| problem(error.to_string()))?;
                Some((surface.clone(), embedding))
            }
            None => None,
        };
        Ok(MeshParts { mesh, surface, lattice: None, ..parts })
    }

    /// Reports a generated mesh that does not fit into memory before it is generated, because that alone may take
    /// minutes.
    fn check_fits(&self, index: usize, body: &Body) -> Result<(), Diagnostic> {
        // Lattices take less, and tell which one fits.
        let source = body.mesh.source();
        let Some(cells) = source.cell_count().filter(|_| !source.is_lattice()) else { return Ok(()) };
        let has_tets = source.element() == Element::Tet4;
        let needed = cells * if has_tets { BYTES_PER_TET } else { BYTES_PER_HEX };
        memory::require(needed as u64).map_err(|short| {
            let message = format!("{cells:.3e} cells: simulating them {short}; hint: choose larger cells");
            located(self.scene, &format!("body[{index}].mesh"), &message)
        })
    }

    /// The mesh with the cells of its source.
    fn mesh_as_given(&mut self, index: usize, body: &Body) -> Result<MeshParts, Diagnostic> {
        let scene = self.scene;
        let problem = |key: &str, message: String| located(scene, &format!("body[{index}].mesh{key}"), &message);
        let GeneratedMesh { mesh, note } = match &body.mesh {
            Mesh::Box(mesh) if mesh.element == Element::Lattice => return self.cubes(index, body, mesh),
            Mesh::File(mesh) => {
                let loaded = load_volume(&self.scene.source, &mesh.file, &mesh::cell_shapes(&mesh.skip));
                let VolumeParts { mesh: cells, report, notes } =
                    loaded.map_err(|error| problem(".file", error.to_string()))?;
                self.notes.extend(notes.iter().map(|note| format!("{}: {note}", mesh.file)));
                if !report.is_clean() {
                    self.notes.push(format!("{}: {report}", mesh.file));
                }
                return scaled(cells, body.scale).map(MeshParts::from).map_err(|error| problem(".file", error));
            }
            Mesh::Anatomy(mesh) => return self.anatomy(index, body, mesh),
            Mesh::Fill(mesh) => return self.filled(index, body, mesh),
            generated => generated.source().generate(body.scale).map_err(|MeshProblem { key, message, .. }| {
                problem(&if key.is_empty() { String::new() } else { format!(".{key}") }, message)
            })?,
        };
        self.notes.extend(note.map(|note| format!("body \"{}\": {note}", body.name)));
        scaled(mesh, body.scale).map(MeshParts::from).map_err(|error| problem("", error))
    }

    /// A tissue of a model.
    fn anatomy(&mut self, index: usize, body: &Body, mesh: &mesh::AnatomyMesh) -> Result<MeshParts, Diagnostic> {
        let scene = self.scene;
        let problem = |message: String| located(scene, &format!("body[{index}].mesh.tissue"), &message);
        let AnatomyBody { mesh: cells, surface, inside, notes } = body_of(scene, mesh).map_err(problem)?;
        self.notes.extend(notes.iter().map(|note| format!("body \"{}\": {note}", body.name)));
        let cells = scaled(cells, body.scale).map_err(problem)?;
        let surface = match surface {
            Some((surface, embedding)) => {
                let surface = surface.mapped(|p| p * body.scale).map_err(|error| problem(error.to_string()))?;
                Some((surface, embedding))
            }
            None => None,
        };
        Ok(MeshParts { surface, inside, ..MeshParts::from(cells) })
    }

    /// A box of cubes.
    fn cubes(&mut self, index: usize, body: &Body, mesh: &mesh::BoxMesh) -> Result<MeshParts, Diagnostic> {
        let scene = self.scene;
        let problem = |message: String| located(scene, &format!("body[{index}].mesh"), &message);
        let cells = mesh.cell_counts();
        let cell = mesh.cell_edges()[0] * body.scale;
        let count: f64 = cells.iter().map(|&count| count as f64).product();
        check_memory(|size| count * (cell / size).powi(3), cell, memory::free()).map_err(problem)?;
        let lattice = HexLattice::dense(Vec3::zero(), cell, cells).map_err(|error| problem(error.to_string()))?;
        let cells = lattice.to_mesh().map_err(|error| problem(error.to_string()))?;
        Ok(MeshParts { lattice: Some(lattice), ..MeshParts::from(cells) })
    }

    fn filled(&mut self, index: usize, body: &Body, mesh: &mesh::FillMesh) -> Result<MeshParts, Diagnostic> {
        let scene = self.scene;
        let problem = |message: String| located(scene, &format!("body[{index}].mesh.surface"), &message);
        let character = match &body.rig {
            Some(rig) => Some(self.read_character(index, rig, mesh)?),
            None => None,
        };
        let loaded = match &character {
            Some(character) => SurfaceParts {
                mesh: character.flesh.surface.clone(),
                groups: BTreeMap::new(),
                corner_fields: character.corner_fields(),
                notes: Vec::new(),
            },
            None => load_surface(&self.scene.source, &mesh.surface, &mesh::cell_shapes(&mesh.skip))
                .map_err(|error| problem(error.to_string()))?,
        };
        let SurfaceParts { mesh: surface, groups, corner_fields, notes } = loaded;
        self.notes.extend(notes.iter().map(|note| format!("{}: {note}", mesh.surface)));
        let surface = surface.mapped(|p| p * body.scale).map_err(|error| problem(error.to_string()))?;
        let repair = match mesh.repair {
            mesh::Repair::Auto if character.is_some() => Repair::Winding,
            mesh::Repair::Auto | mesh::Repair::None => Repair::Reject,
            mesh::Repair::Winding => Repair::Winding,
        };
        let (mut cells, embedding, inside, lattice) = match mesh.element {
            Element::Tet4 => {
                let options = FillOptions { repair, ..FillOptions::default() };
                let filled = fill_surface(&surface, mesh.cell, &options).map_err(|error| problem(error.to_string()))?;
                self.notes.push(format!("{}: {}", mesh.surface, filled.report));
                let inside = filled.inside_fractions(&surface);
                (filled.mesh, filled.embedding, inside, None)
            }
            Element::Hex8 | Element::Lattice => {
                // Half of the cubes that the surface cuts are outside; there are about one and a half per lattice
                // square.
                let volume = match &character {
                    Some(character) => character.flesh.volume * body.scale.powi(3),
                    None => surface.volume().abs(),
                };
                let area = surface.area();
                let cells = |cell: f64| volume / cell.powi(3) + 0.75 * area / cell.powi(2);
                check_memory(cells, mesh.cell, memory::free()).map_err(problem)?;
                let options = LatticeOptions { repair, max_bytes: memory::free(), ..LatticeOptions::default() };
                let filling = HexLattice::from_surface(&surface, mesh.cell, &options)
                    .map_err(|error| problem(error.to_string()))?;
                if filling.lattice.cubes == [1; 3] {
                    let size = |length: f64| format_quantity(length, Dimension::LENGTH);
                    let longest = surface.bounds().size().max_component();
                    let message = format!("a cell of {} contains the whole body, whose shape is lost", size(mesh.cell));
                    let problem = scene.problem(&format!("body[{index}].mesh.cell"), message);
                    return Err(problem.hint(format!(
                        "its longest side is {}: use {} or less",
                        size(rounded_up(longest)),
                        size(rounded_up(longest / 4.0))
                    )));
                }
                self.notes.push(format!("{}: {}", mesh.surface, filling.report));
                let cells = filling.lattice.to_mesh().map_err(|error| problem(error.to_string()))?;
                let part = |cell: &LatticeCell| f64::from(cell.fraction).max(MIN_INSIDE);
                let inside = filling.lattice.cells.iter().map(part).collect();
                let embedding = filling.bind();
                if let Some(character) = &character {
                    self.note_glue(body, &character.flesh, &surface, mesh.cell, &options, embedding.cells());
                }
                (cells, embedding, inside, (mesh.element == Element::Lattice).then_some(filling.lattice))
            }
        };
        // A group of the surface becomes a region of the lattice: the nodes that carry its vertices.
        for (name, triangles) in groups {
            let vertices = triangles.iter().flat_map(|&triangle| surface.triangles()[triangle as usize]);
            let carriers = vertices.flat_map(|vertex| embedding.entries(vertex as usize).0.iter().copied());
            let nodes = carriers.collect();
            cells = cells.with_node_set(name, nodes).map_err(|error| problem(error.to_string()))?;
        }
        let mut rigged = None;
        if let (Some(character), Some(lattice)) = (character, &lattice) {
            let weights = weights_of_nodes(lattice, &embedding, &character.flesh);
            let joint_of = joints_of_nodes(&weights);
            for (joint, data) in character.flesh.joints.iter().enumerate() {
                let nodes: Vec<u32> =
                    (0..joint_of.len() as u32).filter(|&node| joint_of[node as usize] == joint as u32).collect();
                if !nodes.is_empty() {
                    cells =
                        cells.with_node_set(data.name.clone(), nodes).map_err(|error| problem(error.to_string()))?;
                }
            }
            rigged = Some(Box::new(RiggedBody {
                character: Arc::new(character),
                joint_of,
                weights,
                carriers: embedding.clone(),
            }));
        }
        Ok(MeshParts { mesh: cells, surface: Some((surface, embedding)), corner_fields, inside, lattice, rigged })
    }
}

/// Reports a lattice that does not fit into memory, and suggests one that does. `cells` is the number of cells for a
/// cell size.
fn check_memory(cells: impl Fn(f64) -> f64, cell: f64, free: Option<u64>) -> Result<(), String> {
    let free = free.map_or(f64::INFINITY, |bytes| bytes as f64);
    let needed = |cell: f64| cells(cell) * BYTES_PER_CELL;
    if needed(cell) <= free {
        return Ok(());
    }
    let mut fitting = cell;
    while needed(fitting) > free {
        // Errs on the safe side: the surface grows more slowly than the volume.
        fitting *= (needed(fitting) / free).cbrt().clamp(1.001, 1e30);
    }
    Err(format!(
        "{:.3e} cells would need {} GiB, but {:.1} are free; hint: a cell size of {} fits",
        cells(cell),
        format_number((10.0 * gibibytes(needed(cell))).round() / 10.0),
        gibibytes(free),
        format_quantity(rounded_up(fitting), Dimension::LENGTH)
    ))
}

/// The length rounded down to two digits.
pub(super) fn rounded_down(length: f64) -> f64 {
    let unit = 10f64.powf(length.log10().floor() - 1.0);
    (length / unit).floor() * unit
}

/// The length rounded up to two digits.
pub(super) fn rounded_up(length: f64) -> f64 {
    let unit = 10f64.powf(length.log10().floor() - 1.0);
    (length / unit).ceil() * unit
}

/// A problem at `path`; mesh errors carry their hint at the end.
pub(super) fn located(scene: &Scene, path: &str, message: &str) -> Diagnostic {
    match message.split_once("; hint: ").or_else(|| message.split_once("\nhint: ")) {
        Some((message, hint)) => scene.problem(path, message).hint(hint),
        None => scene.problem(path, message),
    }
}

fn scaled(mesh: CellMesh, scale: f64) -> Result<CellMesh, String> {
    if scale == 1.0 {
        return Ok(mesh);
    }
    mesh.mapped(|p| p * scale).map(|(mesh, _)| mesh).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattices_beyond_the_memory_are_refused_with_one_that_fits() {
        let gigabyte = 1u64 << 30;
        let of_volume = |volume: f64| move |cell: f64| volume / cell.powi(3);
        let message = check_memory(of_volume(1e-2), 1e-3, Some(3 * gigabyte)).unwrap_err();
        assert!(message.contains("27.9 GiB") && message.contains("3.0 are free"), "{message}");
        // 1 mm · ∛(27.9 / 3) = 2.103 mm.
        assert!(message.contains("a cell size of 2.2 mm fits"), "{message}");
        assert!(check_memory(of_volume(1e-3), 1e-3, Some(3 * gigabyte)).is_ok());
        assert!(check_memory(of_volume(1.0), 1e-3, None).is_ok());
        // Thin sheets have more cells than their volume suggests: 1 m² needs 3 · 10⁶ cells of 0.5 mm.
        let sheet = |cell: f64| 1e-9 / cell.powi(3) + 0.75 / cell.powi(2);
        let message = check_memory(sheet, 1e-6, Some(3 * gigabyte)).unwrap_err();
        assert!(message.contains("a cell size of 840 um fits"), "{message}");
        assert!(check_memory(sheet, 0.84e-3, Some(3 * gigabyte)).is_ok());
    }
}
