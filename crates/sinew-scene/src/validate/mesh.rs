//! Checks of meshes: possible sizes and counts, and existing files.

use super::Checker;
use crate::spec::mesh::{Element, MAX_CELLS, Mesh, MeshProblem};
use crate::suggest;
use crate::value::format_number;

impl Checker<'_> {
    pub(super) fn check_mesh(&mut self, mesh: &Mesh, path: &str) {
        // A mesh that could not be read has been replaced by another.
        let word = self.scene.source.node(&format!("{path}.from")).and_then(|from| from.as_text());
        if word != Some(mesh.word()) {
            return;
        }
        let source = mesh.source();
        let problems = source.check();
        let is_possible = problems.is_empty();
        for MeshProblem { key, message, label, hint } in problems {
            // A key that is left out has no place in the text: the table is marked.
            let at = format!("{path}.{key}");
            let at = if self.scene.source.node(&at).is_some() { &at } else { path };
            let problem = self.at(at, message);
            let problem = if let Some(label) = label { problem.label(label) } else { problem };
            self.report(if let Some(hint) = hint { problem.hint(hint) } else { problem });
        }
        if source.element() != Element::Tet4 {
            self.check_order(source.order(), path);
        }
        if let Some((key, file)) = source.file() {
            self.check_file(file, &format!("{path}.{key}"));
        }
        if let Some(count) = source.cell_count().filter(|_| is_possible) {
            self.check_cell_count(count, &format!("{path}.{}", source.size_key()));
        }
    }

    fn check_order(&mut self, order: usize, path: &str) {
        if order != 1 {
            let problem = self.at(&format!("{path}.order"), "only tetrahedra can be quadratic");
            self.report(problem.hint(
                "leave `order` out (with `volume = \"mean\"` hexahedra do not lock), or use `element = \"tet4\"`",
            ));
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
