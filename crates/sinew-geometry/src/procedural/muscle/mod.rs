//! Parametric muscles with tendons: meshes with attachments, tissues and fibers.
//!
//! The line of action is the x axis: the origin is the plane x = 0, the insertion the plane x = length. Width is along
//! y, thickness along z. Physiological cross-section, fiber length and pennation follow \[Chen92\], section 2.2: a
//! muscle of belly volume V and mean fiber length ℓ has the cross-section V / ℓ, and pulls along its line of action
//! with cos α times the force of its fibers.
//!
//! - [`MuscleShape::Fusiform`]: a spindle between two round tendons
//! - [`MuscleShape::Unipennate`], [`MuscleShape::Bipennate`]: straight fibers between flat, parallel aponeuroses
//! - [`MuscleShape::Fan`]: a thin sheet that gathers a wide origin into one tendon
//! - [`MuscleShape::TwoHeaded`]: two spindles side by side that merge into one tendon

mod assembly;
mod fan;
mod fusiform;
mod pennate;
mod profile;
mod section;
mod two_headed;

#[cfg(test)]
mod tests;

use sinew_math::Vec3;
use thiserror::Error;

use super::{ProceduralError, check_count, check_length};
use crate::mesh::{CellMesh, MeshError};

/// Arrangement of the fibers of a muscle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuscleShape {
    /// Spindle of elliptic section; its fibers run from tendon to tendon and follow the taper (one head of the biceps
    /// brachii).
    Fusiform,
    /// Fibers run at one angle from a sheet of tendon on one side to a sheet on the other (extensor digitorum longus).
    Unipennate,
    /// Fibers run like the barbs of a feather from two outer sheets to a central one (dorsal interossei, rectus
    /// femoris).
    Bipennate,
    /// A thin sheet whose fibers converge from a wide origin to a flat tendon (pectoralis major).
    Fan,
    /// Two spindles with separate origins and a common tendon of insertion (biceps brachii).
    TwoHeaded,
}

/// Kind of the cells of a muscle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MuscleCells {
    /// Hexahedra aligned with the fibers.
    #[default]
    Hexes,
    /// Each of those hexahedra split into six tetrahedra, consistent with its neighbors \[Dompierre99\].
    Tets,
}

/// Parameters of a muscle; lengths in m, the angle in rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleParams {
    /// Arrangement of the fibers.
    pub shape: MuscleShape,
    /// Length from origin to insertion, including both tendons \[m\].
    pub length: f64,
    /// Largest width of the belly, along y \[m\]: of both heads together; at the origin of a fan; including the
    /// aponeuroses of a pennate muscle.
    pub width: f64,
    /// Largest thickness of the belly, along z \[m\]; equal to the width for a round spindle.
    pub thickness: f64,
    /// Lengths of the tendons at origin and insertion \[m\].
    pub tendon: [f64; 2],
    /// Diameter of a round tendon, or width of the flat tendon of a fan \[m\]; aponeuroses are a quarter of it thick.
    pub tendon_width: f64,
    /// Angle between fibers and line of action of the pennate shapes \[rad\], from 0 up to but not including π/2;
    /// unused by other shapes.
    pub pennation: f64,
    /// Cell size in the belly \[m\]; tendons have smaller cells.
    pub cell: f64,
    /// Kind of the cells.
    pub cells: MuscleCells,
}

impl MuscleParams {
    /// A muscle of this shape with adult proportions and a few thousand hexahedra.
    pub fn typical(shape: MuscleShape) -> Self {
        let round = Self {
            shape,
            length: 0.28,
            width: 0.045,
            thickness: 0.045,
            tendon: [0.04, 0.06],
            tendon_width: 0.012,
            pennation: 20_f64.to_radians(),
            cell: 0.005,
            cells: MuscleCells::Hexes,
        };
        match shape {
            MuscleShape::Fusiform => round,
            MuscleShape::Unipennate => Self { width: 0.03, thickness: 0.024, cell: 0.003, ..round },
            MuscleShape::Bipennate => {
                let pennation = 30_f64.to_radians();
                Self { width: 0.05, thickness: 0.028, tendon: [0.06, 0.06], pennation, cell: 0.004, ..round }
            }
            MuscleShape::Fan => Self {
                length: 0.2,
                width: 0.14,
                thickness: 0.016,
                tendon: [0.01, 0.03],
                tendon_width: 0.03,
                cell: 0.004,
                ..round
            },
            MuscleShape::TwoHeaded => {
                Self { length: 0.3, width: 0.06, thickness: 0.034, tendon: [0.06, 0.06], ..round }
            }
        }
    }

    /// Length of the belly \[m\].
    fn belly(&self) -> f64 {
        self.length - self.tendon[0] - self.tendon[1]
    }

    /// Checks the parameters, as far as possible without building the muscle.
    pub fn check(&self) -> Result<(), MuscleError> {
        for (name, value) in [
            ("length", self.length),
            ("width", self.width),
            ("thickness", self.thickness),
            ("tendon at the origin", self.tendon[0]),
            ("tendon at the insertion", self.tendon[1]),
            ("tendon_width", self.tendon_width),
            ("cell", self.cell),
        ] {
            check_length(name, value)?;
        }
        let tendons = self.tendon[0] + self.tendon[1];
        if !(tendons < self.length) {
            return Err(MuscleError::TendonsTooLong { tendons, length: self.length });
        }
        if !(0.0..std::f64::consts::FRAC_PI_2).contains(&self.pennation) {
            return Err(MuscleError::Pennation { degrees: self.pennation.to_degrees() });
        }
        // The tendon of a fan may be wider than the sheet is thick, because it is flat itself.
        let widest = if self.shape == MuscleShape::Fan { self.width } else { self.width.min(self.thickness) };
        if self.tendon_width > widest {
            return Err(MuscleError::TendonTooWide { tendon_width: self.tendon_width, widest });
        }
        for (part, largest) in [
            ("the thickness of the belly, which needs two cells", 0.5 * self.thickness),
            ("the width of the belly, which needs two cells per part", 0.25 * self.width),
            ("the width of the tendon", self.tendon_width),
            ("the length of the tendons", self.tendon[0].min(self.tendon[1])),
            ("the length of the belly, which needs four cells", 0.25 * self.belly()),
        ] {
            if self.cell > largest {
                return Err(MuscleError::CellTooCoarse { cell: self.cell, part, largest });
            }
        }
        // Bounding box of the belly, before any allocation; cells of tendons are a fraction of those of the belly.
        let tets = if self.cells == MuscleCells::Tets { 6.0 } else { 1.0 };
        check_count(tets * self.length / self.cell * (self.width / self.cell) * (self.thickness / self.cell))?;
        Ok(())
    }
}

/// A muscle at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct ProceduralMuscle {
    /// Mesh of belly and tendons.
    ///
    /// Node sets: `"origin"` (x = 0) and `"insertion"` (x = length), and with two heads `"origin-1"` (y > 0) and
    /// `"origin-2"`. Cell sets: `"belly"`, `"tendon"`, in pennate muscles `"aponeurosis"` and in bipennate ones
    /// `"filling"`; each cell is in exactly one of these. With two heads the belly is also `"head-1"` and `"head-2"`.
    /// The cell field `"fiber"` is `fibers`.
    pub mesh: CellMesh,
    /// Unit fiber direction of each cell, from origin to insertion; in tendons and aponeuroses along them. A filling
    /// has no fibers; its direction is the line of action.
    pub fibers: Vec<Vec3>,
    /// Mean length of the fibers of the belly \[m\], each fiber counted once.
    pub fiber_length: f64,
    /// Physiological cross-section \[m²\]: volume of the belly over the mean length of its fibers.
    pub pcsa: f64,
}

/// Why a muscle cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MuscleError {
    /// The tendons leave no room for a belly.
    #[error("the tendons are {tendons} m long together, the whole muscle only {length} m; hint: shorten the tendons")]
    TendonsTooLong {
        /// Length of both tendons \[m\].
        tendons: f64,
        /// Length of the muscle \[m\].
        length: f64,
    },
    /// At this pennation fibers do not pull along the line of action.
    #[error(
        "the pennation is {degrees}°, but must be at least 0° and less than 90°: fibers at 90° are perpendicular to the line of action and, with cos 90° = 0, do not pull along it"
    )]
    Pennation {
        /// The angle \[°\].
        degrees: f64,
    },
    /// The tendon is wider than the belly.
    #[error("the tendon is {tendon_width} m wide, more than the belly with {widest} m")]
    TendonTooWide {
        /// Width of the tendon \[m\].
        tendon_width: f64,
        /// Largest allowed width \[m\].
        widest: f64,
    },
    /// The aponeuroses leave no room for fibers between them.
    #[error(
        "the belly is too thin: aponeuroses with a total thickness of {sheets} m leave less than half of its width of {width} m to the fibers; hint: a narrower tendon has thinner aponeuroses"
    )]
    BellyTooThin {
        /// Thickness of all aponeuroses \[m\].
        sheets: f64,
        /// Width of the belly \[m\].
        width: f64,
    },
    /// The fibers are too oblique to reach from one sheet to the other within the belly.
    #[error(
        "fibers at {degrees}° run {run} m along the line of action from sheet to sheet, more than three quarters of the belly of {belly} m; hint: a larger pennation, a narrower or a longer belly"
    )]
    FibersDoNotFit {
        /// Pennation \[°\].
        degrees: f64,
        /// Length of a fiber along the line of action \[m\].
        run: f64,
        /// Length of the belly \[m\].
        belly: f64,
    },
    /// The origin tendon of a bipennate muscle is too short to gather both outer sheets.
    #[error("the tendon at the origin is {length} m long, but needs {least} m to gather the two outer sheets")]
    OriginTendonTooShort {
        /// Its length \[m\].
        length: f64,
        /// Smallest allowed length \[m\].
        least: f64,
    },
    /// The cells are larger than the part they fill.
    #[error("cells of {cell} m are too coarse for {part}; hint: choose at most {largest} m")]
    CellTooCoarse {
        /// Size of the cells \[m\].
        cell: f64,
        /// The part that is too small.
        part: &'static str,
        /// Largest size that fits \[m\].
        largest: f64,
    },
    /// These proportions fold a cell.
    #[error("cell {cell} near x = {x} m would be folded; hint: longer tendons, smaller cells or a less abrupt taper")]
    FoldedCell {
        /// The cell.
        cell: usize,
        /// Its position along the muscle \[m\].
        x: f64,
    },
    /// These proportions flatten a cell too much for simulation.
    #[error(
        "cell {cell} near x = {x} m would have faces that meet at {degrees:.2}°; hint: a longer belly for its width, a wider tendon or smaller cells"
    )]
    FlatCell {
        /// The cell.
        cell: usize,
        /// Its position along the muscle \[m\].
        x: f64,
        /// Smallest angle between two of its faces \[°\].
        degrees: f64,
    },
    /// A parameter is out of its range, or there would be too many cells.
    #[error(transparent)]
    Procedural(#[from] ProceduralError),
    /// The result is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// A muscle with tendons, built of cells whose edges follow its fibers.
///
/// The line of action is the x axis, from the origin in the plane x = 0 to the insertion at x = length; width is along
/// y, thickness along z. Bellies swell as 1 − cos⁴ πs between their ends, with zero slope where they meet the tendons.
/// Pennate muscles are straight where mechanics matter: flat, parallel sheets at the distance w, fibers of length w /
/// sin α at exactly the pennation α. So their cross-section is the area of a sheet times sin α, and they pull along the
/// line of action with cos α times the force of their fibers \[Chen92\]. Their tendons continue the sheets, offset from
/// the x axis in a unipennate muscle. In a bipennate one the outer sheets join into one tendon; the notch between them,
/// the belly and the edge of the central sheet is filled with soft flesh without fibers.
pub fn muscle(params: &MuscleParams) -> Result<ProceduralMuscle, MuscleError> {
    params.check()?;
    let assembly = match params.shape {
        MuscleShape::Fusiform => fusiform::assemble(params),
        MuscleShape::Unipennate => pennate::assemble_unipennate(params)?,
        MuscleShape::Bipennate => pennate::assemble_bipennate(params)?,
        MuscleShape::Fan => fan::assemble(params),
        MuscleShape::TwoHeaded => two_headed::assemble(params),
    };
    assembly.finish(params)
}
