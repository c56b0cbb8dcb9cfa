//! A block of hexahedra, of tetrahedra or of the cubes of a lattice.

use sinew_geometry::procedural::{TetPattern, box_hexes, box_tets};
use sinew_math::Vec3;

use super::{Element, GeneratedMesh, MAX_CELLS_PER_AXIS, MeshProblem, MeshSource};
use crate::decode::{
    codec::{length, number, whole, word},
    compound::{fixed, vector},
};
use crate::value::{Dimension, format_number, format_quantity};

words! {
    /// How a block is divided into tetrahedra.
    pub enum Pattern {
        /// Six tetrahedra per cube around a diagonal: conforming and simple.
        "kuhn" => Kuhn,
        /// The body-centered cubic lattice: better angles and no preferred diagonal.
        "bcc" => Bcc,
    }
}

table! {
    /// A block with its lowest corner at the origin.
    pub struct BoxMesh as "box mesh" {
        /// Edge lengths along x, y and z \[m\].
        size: [f64; 3] = vector(length().positive()), required, example(["40 cm", "10 cm", "10 cm"]);
        /// Edge length of a cell \[m\], rounded so that the cells fill the block. Either this or `cells`.
        cell: Option<f64> = length().positive(), optional, example("2 cm");
        /// Number of cells along x, y and z. Either this or `cell`.
        cells: Option<[usize; 3]> = fixed(whole(1, MAX_CELLS_PER_AXIS)), optional, example([24, 6, 6]);
        /// Length of the last cell divided by that of the first, along x, y and z. Lengths in between grow
        /// geometrically: fine cells near a contact, coarse cells far away.
        grading: [f64; 3] = vector(number().positive()), default([1, 1, 1]), example([20, 20, 0.05]);
        /// The kind of cells.
        element: Element = word(), default("tet4");
        /// How cubes are divided into tetrahedra.
        pattern: Pattern = word(), default("kuhn");
        /// Order of the shape functions. 1: linear cells. 2: quadratic tetrahedra with a node at the midpoint of each
        /// edge. They bend well, and with `volume = "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl BoxMesh {
    /// Number of cells along each axis, from `cells` or from `cell`.
    pub fn cell_counts(&self) -> [usize; 3] {
        match (self.cells, self.cell) {
            (Some(cells), _) => cells,
            (None, Some(cell)) => self.size.map(|edge| (edge / cell).round().clamp(1.0, 1e6) as usize),
            (None, None) => [1; 3],
        }
    }

    /// Edge lengths of the cells \[m\].
    pub fn cell_edges(&self) -> [f64; 3] {
        let cells = self.cell_counts();
        std::array::from_fn(|axis| self.size[axis] / cells[axis] as f64)
    }

    /// The cells of a lattice are cubes.
    fn check_cubes(&self) -> Vec<MeshProblem> {
        let mut problems = Vec::new();
        let edges = self.cell_edges();
        let (least, most) =
            (edges.iter().copied().fold(f64::INFINITY, f64::min), edges.iter().copied().fold(0.0, f64::max));
        if most > least * (1.0 + 1e-6) {
            let [x, y, z] = edges.map(|edge| format_quantity(edge, Dimension::LENGTH));
            problems.push(
                MeshProblem::new("size", "the cells of a lattice must be cubes")
                    .label(format!("cells of {x} by {y} by {z}"))
                    .hint("make the edges of the box multiples of `cell`"),
            );
        }
        if self.grading != [1.0; 3] {
            let problem = MeshProblem::new("grading", "the cells of a lattice all have the same size");
            problems.push(problem.hint("leave `grading` out, or use `element = \"hex8\"`"));
        }
        problems
    }
}

impl MeshSource for BoxMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn element(&self) -> Element {
        self.element
    }

    fn cell_count(&self) -> Option<f64> {
        let per_cube = match (self.element, self.pattern) {
            (Element::Hex8 | Element::Lattice, _) => 1.0,
            (Element::Tet4, Pattern::Kuhn) => 6.0,
            (Element::Tet4, Pattern::Bcc) => 12.0,
        };
        Some(per_cube * self.cell_counts().iter().map(|&count| count as f64).product::<f64>())
    }

    fn size_key(&self) -> &'static str {
        if self.cells.is_some() { "cells" } else { "cell" }
    }

    fn check(&self) -> Vec<MeshProblem> {
        let mut problems = Vec::new();
        let longest = self.size.iter().copied().fold(0.0, f64::max);
        match (self.cell, self.cells) {
            (None, None) => {
                let problem = MeshProblem::new("", "a box needs `cell` or `cells`");
                problems.push(problem.hint("for example `cell = \"2 cm\"`"));
            }
            (Some(_), Some(_)) => {
                problems.push(MeshProblem::new("cells", "a box has either `cell` or `cells`, not both"));
            }
            (Some(cell), None) if longest / cell > MAX_CELLS_PER_AXIS as f64 => {
                let count = format_number((longest / cell).round());
                let problem = MeshProblem::new("cell", "the cells of this box are too small");
                let label = format!("gives {count} cells along one edge, at most {MAX_CELLS_PER_AXIS}");
                return vec![problem.label(label)];
            }
            _ => {}
        }
        if self.element != Element::Tet4 && self.pattern != Pattern::Kuhn {
            let problem = MeshProblem::new("pattern", "`pattern` divides cubes into tetrahedra; hexahedra have none");
            problems.push(problem.hint("leave `pattern` out, or use `element = \"tet4\"`"));
        }
        if self.element == Element::Lattice {
            problems.extend(self.check_cubes());
        }
        problems
    }

    fn generate(&self, _scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        let (size, cells) = (Vec3::from(self.size), self.cell_counts());
        let even = match (self.element, self.pattern) {
            (Element::Hex8 | Element::Lattice, _) => box_hexes(size, cells)?,
            (Element::Tet4, Pattern::Kuhn) => box_tets(size, cells, TetPattern::Kuhn)?,
            (Element::Tet4, Pattern::Bcc) => box_tets(size, cells, TetPattern::Bcc)?,
        };
        if self.grading == [1.0; 3] {
            return Ok(even.into());
        }
        let graded = even.mapped(|p| graded(p, size, cells, self.grading));
        graded.map(|(mesh, _)| mesh.into()).map_err(|error| MeshProblem::new("grading", error.to_string()))
    }
}

/// A point of an even block where the cells of each axis grow by equal ratios, the last to `grading` times the first.
fn graded(p: Vec3, size: Vec3, cells: [usize; 3], grading: [f64; 3]) -> Vec3 {
    Vec3::from(std::array::from_fn(|axis| {
        let (count, length) = (cells[axis] as f64, size[axis]);
        if count < 2.0 || grading[axis] == 1.0 {
            return p[axis];
        }
        let ln_ratio = grading[axis].ln() / (count - 1.0);
        length * (ln_ratio * count * p[axis] / length).exp_m1() / (ln_ratio * count).exp_m1()
    }))
}
