//! A muscle with its tendons and fibers.

use sinew_geometry::procedural::{self, MuscleCells, MuscleError, MuscleParams};

use super::{Element, GeneratedMesh, MAX_CELLS_PER_AXIS, MeshProblem, MeshSource};
use crate::decode::{
    codec::{length, quantity, whole, word},
    compound::fixed,
};
use crate::value::{Dimension, format_number, format_quantity};

/// Regions of a procedural muscle; not every shape has all of them.
const REGIONS: [&str; 10] =
    ["origin", "insertion", "belly", "tendon", "aponeurosis", "filling", "origin-1", "origin-2", "head-1", "head-2"];

words! {
    /// How the fibers of a muscle are arranged.
    pub enum MuscleShape {
        /// A spindle whose fibers run from tendon to tendon.
        "fusiform" => Fusiform,
        /// Fibers run at one angle from an aponeurosis on one side to another on the opposite side.
        "unipennate" => Unipennate,
        /// Fibers run like the barbs of a feather from two outer aponeuroses to a central one.
        "bipennate" => Bipennate,
        /// A thin sheet whose fibers converge from a wide origin on a flat tendon.
        "fan" => Fan,
        /// Two spindles, each with its own origin, and a common tendon.
        "two_headed" => TwoHeaded,
    }
}

table! {
    /// A muscle with its tendons along x, from its origin at x = 0. Its parts are the regions `origin`, `insertion`,
    /// `belly`, `tendon` and, in pennate muscles, `aponeurosis`. In bipennate muscles, `filling` is the flesh without
    /// fibers that closes the notch between the outer aponeuroses and the tendon at the origin. Two-headed muscles also
    /// have `origin-1`, `origin-2`, `head-1` and `head-2`. The cell field `fiber` has the directions of the fibers.
    /// Default sizes are those of an adult.
    pub struct MuscleMesh as "muscle mesh" {
        /// How the fibers are arranged.
        shape: MuscleShape = word(), required, example("fusiform");
        /// Length from origin to insertion, including both tendons \[m\].
        length: Option<f64> = length().positive(), optional, example("28 cm");
        /// Largest width of the belly, along y \[m\].
        width: Option<f64> = length().positive(), optional, example("45 mm");
        /// Largest thickness of the belly, along z \[m\].
        thickness: Option<f64> = length().positive(), optional, example("45 mm");
        /// Lengths of the tendons at origin and insertion \[m\].
        tendon: Option<[f64; 2]> = fixed(length().positive()), optional, example(["4 cm", "6 cm"]);
        /// Width of the tendons \[m\]; aponeuroses are a quarter as thick.
        tendon_width: Option<f64> = length().positive(), optional, example("12 mm");
        /// Angle between the fibers and the line of action, for pennate shapes \[rad\].
        pennation: Option<f64> = quantity(Dimension::ANGLE).at_least(0.0).below(std::f64::consts::FRAC_PI_2).hinted("fibers at 90° are perpendicular to the line of action and exert no force along it"), optional, example("20 deg");
        /// Size of the cells in the belly \[m\].
        cell: f64 = length().positive(), required, example("4 mm");
        /// The kind of cells: hexahedra that follow the fibers, or six tetrahedra in place of each hexahedron.
        element: Element = word(), default("hex8"), example("tet4");
        /// Order of the shape functions of tetrahedra. 1: linear. 2: quadratic; they bend well, and with `volume =
        /// "mean"` they do not lock.
        order: usize = whole(1, 2), default(1), example(2);
    }
}

impl MuscleMesh {
    /// Upper bound on the number of cells along each side of the bounding box.
    fn cells_along(&self) -> [f64; 3] {
        let params = self.params();
        [params.length, params.width, params.thickness].map(|side| side / params.cell)
    }

    /// Parameters for the mesh generator, with defaults filled in.
    pub fn params(&self) -> MuscleParams {
        let shape = match self.shape {
            MuscleShape::Fusiform => procedural::MuscleShape::Fusiform,
            MuscleShape::Unipennate => procedural::MuscleShape::Unipennate,
            MuscleShape::Bipennate => procedural::MuscleShape::Bipennate,
            MuscleShape::Fan => procedural::MuscleShape::Fan,
            MuscleShape::TwoHeaded => procedural::MuscleShape::TwoHeaded,
        };
        let typical = MuscleParams::typical(shape);
        let cells = if self.element == Element::Tet4 { MuscleCells::Tets } else { MuscleCells::Hexes };
        MuscleParams {
            shape,
            length: self.length.unwrap_or(typical.length),
            width: self.width.unwrap_or(typical.width),
            thickness: self.thickness.unwrap_or(typical.thickness),
            tendon: self.tendon.unwrap_or(typical.tendon),
            tendon_width: self.tendon_width.unwrap_or(typical.tendon_width),
            pennation: self.pennation.unwrap_or(typical.pennation),
            cell: self.cell,
            cells,
        }
    }
}

impl MeshSource for MuscleMesh {
    fn order(&self) -> usize {
        self.order
    }

    fn element(&self) -> Element {
        self.element
    }

    fn is_lattice(&self) -> bool {
        false
    }

    fn cell_count(&self) -> Option<f64> {
        let per_cube = if self.element == Element::Tet4 { 6.0 } else { 1.0 };
        Some(per_cube * self.cells_along().iter().product::<f64>())
    }

    fn regions(&self) -> Option<&'static [&'static str]> {
        Some(&REGIONS)
    }

    fn has_fibers(&self) -> bool {
        true
    }

    /// Checks of the numbers alone; other problems appear when the mesh is generated.
    fn check(&self) -> Vec<MeshProblem> {
        let mut problems = Vec::new();
        if self.element == Element::Lattice {
            let problem = MeshProblem::new("element", "a procedural muscle has hexahedra or tetrahedra");
            problems.push(problem.hint("use `element = \"hex8\"` or `element = \"tet4\"`"));
        }
        let sides = ["length", "width", "thickness"].into_iter().zip(self.cells_along());
        if let Some((side, cells)) = sides.into_iter().find(|(_, cells)| *cells > MAX_CELLS_PER_AXIS as f64) {
            let problem = MeshProblem::new("cell", "the cells of this muscle are too small");
            let count = format_number(cells.round());
            problems.push(problem.label(format!("gives {count} cells along its {side}, at most {MAX_CELLS_PER_AXIS}")));
        } else if let Err(error) = self.params().check() {
            let key = match &error {
                MuscleError::TendonsTooLong { .. } | MuscleError::OriginTendonTooShort { .. } => "tendon",
                MuscleError::Pennation { .. } | MuscleError::FibersDoNotFit { .. } => "pennation",
                MuscleError::TendonTooWide { .. } => "tendon_width",
                MuscleError::BellyTooThin { .. } => "width",
                MuscleError::CellTooCoarse { .. } => "cell",
                _ => "",
            };
            problems.push(MeshProblem::new(key, error.to_string()));
        }
        problems
    }

    fn generate(&self, scale: f64) -> Result<GeneratedMesh, MeshProblem> {
        let made = procedural::muscle(&self.params()).map_err(|error| MeshProblem::new("", error.to_string()))?;
        let note = format!(
            "fibers {} long on average, physiological cross-section {}",
            format_quantity(made.fiber_length * scale, Dimension::LENGTH),
            format_quantity(made.pcsa * scale * scale, Dimension::AREA)
        );
        Ok(GeneratedMesh { mesh: made.mesh, note: Some(note) })
    }
}
