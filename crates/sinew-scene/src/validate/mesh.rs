//! Checks of meshes: possible sizes and counts, and existing files.

use super::Checker;
use crate::spec::mesh::{BoxMesh, Element, MAX_CELLS, MAX_CELLS_PER_AXIS, Mesh, Pattern};
use crate::suggest;
use crate::value::{Dimension, format_number, format_quantity};

impl Checker<'_> {
    pub(super) fn check_mesh(&mut self, mesh: &Mesh, path: &str) {
        // A mesh that could not be read has been replaced by another.
        let word = self.scene.source.node(&format!("{path}.from")).and_then(|from| from.as_text());
        if word != Some(mesh.word()) {
            return;
        }
        match mesh {
            Mesh::Box(mesh) => return self.check_box(mesh, path),
            Mesh::Figure(_) | Mesh::Sphere(_) | Mesh::Cylinder(_) => {}
            Mesh::File(mesh) => return self.check_file(&mesh.file, &format!("{path}.file")),
            Mesh::Fill(mesh) => {
                if mesh.element != Element::Tet4 {
                    self.check_order(mesh.order, path);
                }
                return self.check_file(&mesh.surface, &format!("{path}.surface"));
            }
            Mesh::Torus(mesh) => {
                if mesh.tube >= mesh.radius {
                    let problem =
                        self.at(&format!("{path}.tube"), "the tube of a torus must be thinner than its radius");
                    self.report(
                        problem.label(format!("`radius` is {}", format_quantity(mesh.radius, Dimension::LENGTH))),
                    );
                }
            }
            Mesh::Muscle(mesh) => return self.check_muscle_mesh(mesh, path),
            Mesh::Fusiform(mesh) => {
                if !(0.1 * mesh.radius..=mesh.radius).contains(&mesh.end_radius) {
                    let message = "`end_radius` must lie between a tenth of `radius` and `radius`";
                    let problem = self.at(&format!("{path}.end_radius"), message);
                    self.report(
                        problem.label(format!("`radius` is {}", format_quantity(mesh.radius, Dimension::LENGTH))),
                    );
                }
            }
        }
        if let Some(count) = mesh.generated_cells() {
            let key = if matches!(mesh, Mesh::Figure(_)) { "cells" } else { "cell" };
            self.check_cell_count(count, &format!("{path}.{key}"));
        }
    }

    fn check_box(&mut self, mesh: &BoxMesh, path: &str) {
        match (mesh.cell, mesh.cells) {
            (None, None) => {
                let problem = self.at(path, "a box needs `cell` or `cells`").hint("for example `cell = \"2 cm\"`");
                self.report(problem);
            }
            (Some(_), Some(_)) => {
                let problem = self.at(&format!("{path}.cells"), "a box has either `cell` or `cells`, not both");
                self.report(problem);
            }
            (Some(cell), None) => {
                if let Some(longest) =
                    mesh.size.iter().copied().reduce(f64::max).filter(|edge| edge / cell > MAX_CELLS_PER_AXIS as f64)
                {
                    let count = format_number((longest / cell).round());
                    let problem = self.at(&format!("{path}.cell"), "the cells of this box are too small");
                    self.report(
                        problem.label(format!("gives {count} cells along one edge, at most {MAX_CELLS_PER_AXIS}")),
                    );
                    return;
                }
            }
            (None, Some(_)) => {}
        }
        let key = if mesh.cells.is_some() { "cells" } else { "cell" };
        self.check_cell_count(mesh.cell_count(), &format!("{path}.{key}"));
        if mesh.element != Element::Tet4 && mesh.pattern != Pattern::Kuhn {
            let problem =
                self.at(&format!("{path}.pattern"), "`pattern` divides cubes into tetrahedra; hexahedra have none");
            self.report(problem.hint("leave `pattern` out, or use `element = \"tet4\"`"));
        }
        if mesh.element != Element::Tet4 {
            self.check_order(mesh.order, path);
        }
        if mesh.element == Element::Lattice {
            self.check_cubes(mesh, path);
        }
    }

    pub(super) fn check_order(&mut self, order: usize, path: &str) {
        if order != 1 {
            let problem = self.at(&format!("{path}.order"), "only tetrahedra can be quadratic");
            self.report(problem.hint(
                "leave `order` out (with `volume = \"mean\"` hexahedra do not lock), or use `element = \"tet4\"`",
            ));
        }
    }

    /// The cells of a lattice are cubes.
    fn check_cubes(&mut self, mesh: &BoxMesh, path: &str) {
        let cells = mesh.cell_counts();
        let edges: [f64; 3] = std::array::from_fn(|axis| mesh.size[axis] / cells[axis] as f64);
        let (least, most) =
            (edges.iter().copied().fold(f64::INFINITY, f64::min), edges.iter().copied().fold(0.0, f64::max));
        if most > least * (1.0 + 1e-6) {
            let edges = edges.map(|edge| format_quantity(edge, Dimension::LENGTH));
            let problem = self.at(&format!("{path}.size"), "the cells of a lattice must be cubes");
            self.report(
                problem
                    .label(format!("cells of {} by {} by {}", edges[0], edges[1], edges[2]))
                    .hint("make the edges of the box multiples of `cell`"),
            );
        }
        if mesh.grading != [1.0; 3] {
            let problem = self.at(&format!("{path}.grading"), "the cells of a lattice all have the same size");
            self.report(problem.hint("leave `grading` out, or use `element = \"hex8\"`"));
        }
    }

    fn check_cell_count(&mut self, count: f64, path: &str) {
        if count > MAX_CELLS {
            let problem = self.at(path, "this mesh would have too many cells").label(format!(
                "about {} cells, at most {}",
                format_number((count / 1e6).round() * 1e6),
                format_number(MAX_CELLS)
            ));
            self.report(problem);
        }
    }

    pub(super) fn check_file(&mut self, reference: &str, path: &str) {
        if reference.is_empty() {
            return;
        }
        if self.scene.source.attached(reference).is_some() {
            return;
        }
        let file = self.scene.source.resolve(reference);
        if file.is_file() {
            return;
        }
        let problem = self.at(path, format!("cannot find the file `{reference}`")).label(match file.is_dir() {
            true => "is a folder".to_string(),
            false => format!("looked for `{}`", file.display()),
        });
        self.report(match suggest::near_file(&file) {
            Some(near) => problem.hint(format!(
                "did you mean `{}`?",
                near.strip_prefix(self.scene.source.folder()).unwrap_or(&near).display()
            )),
            None if reference.starts_with('@') => {
                problem.hint("`@` names a mesh attached to the scene from Rust or Python")
            }
            None => problem.hint("files are relative to the folder of the scene"),
        });
    }
}
