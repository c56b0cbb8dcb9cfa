//! Muscles with their tendons from a few numbers: meshes that know where they are fixed, what they are made of and where their fibres run.
//!
//! The line of action is the x axis: the origin is the plane x = 0, the insertion the plane x = length. Width is along y, thickness along z.
//! Physiological cross-section, fibre length and pennation are those of [Chen92], section 2.2: a muscle of belly volume V and mean fibre
//! length ℓ has the cross-section V / ℓ, and pulls along its line of action with cos α of what its fibres pull.
//!
//! - [`MuscleShape::Fusiform`]: a spindle between two round tendons
//! - [`MuscleShape::Unipennate`], [`MuscleShape::Bipennate`]: straight fibres between flat, parallel aponeuroses
//! - [`MuscleShape::Fan`]: a thin sheet that gathers a wide origin into one tendon
//! - [`MuscleShape::TwoHeaded`]: two spindles side by side that grow together into one tendon

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

/// How the fibres of a muscle are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuscleShape {
    /// Spindle of elliptic section; its fibres run from tendon to tendon and follow the taper (biceps brachii, one head of it).
    Fusiform,
    /// Fibres cross at one angle from a sheet of tendon on one side to a sheet on the other (extensor digitorum longus).
    Unipennate,
    /// Fibres run like the barbs of a feather from two outer sheets to a central one (dorsal interossei, rectus femoris).
    Bipennate,
    /// A thin sheet whose fibres converge from a wide origin on a flat tendon (pectoralis major).
    Fan,
    /// Two spindles with an origin each and a common tendon of insertion (biceps brachii).
    TwoHeaded,
}

/// Kind of the cells of a muscle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MuscleCells {
    /// Hexahedra that follow the fibres.
    #[default]
    Hexes,
    /// Each of those hexahedra cut into six tetrahedra, so that neighbours agree [Dompierre99].
    Tets,
}

/// What a muscle is made from; lengths in m, the angle in rad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuscleParams {
    /// Arrangement of the fibres.
    pub shape: MuscleShape,
    /// From origin to insertion, both tendons included [m].
    pub length: f64,
    /// Largest width of the belly, along y [m]: of both heads together, at the origin of a fan, with the aponeuroses of a pennate muscle.
    pub width: f64,
    /// Largest thickness of the belly, along z [m]; equal to the width for a round spindle.
    pub thickness: f64,
    /// Lengths of the tendons at origin and insertion [m].
    pub tendon: [f64; 2],
    /// Diameter of a round tendon, width of the flat tendon of a fan [m]; aponeuroses are a quarter of it thick.
    pub tendon_width: f64,
    /// Angle between fibres and line of action of the pennate shapes [rad], from 0 up to but not including π/2; others do not look at it.
    pub pennation: f64,
    /// Size of the cells in the belly [m]; those of the tendons are smaller.
    pub cell: f64,
    /// Kind of the cells.
    pub cells: MuscleCells,
}

impl MuscleParams {
    /// A muscle of the shape with the proportions of an adult's, of some thousand hexahedra.
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

    /// Length of the belly [m].
    fn belly(&self) -> f64 {
        self.length - self.tendon[0] - self.tendon[1]
    }

    /// Whether there can be such a muscle, as far as the numbers alone tell.
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
        // The tendon of a fan may be wider than the sheet is thick, being flat itself.
        let widest = if self.shape == MuscleShape::Fan { self.width } else { self.width.min(self.thickness) };
        if self.tendon_width > widest {
            return Err(MuscleError::TendonTooWide { tendon_width: self.tendon_width, widest });
        }
        for (part, largest) in [
            ("the thickness of the belly, which needs two", 0.5 * self.thickness),
            ("the width of the belly, which needs two for each part", 0.25 * self.width),
            ("the width of the tendon", self.tendon_width),
            ("the length of the tendons", self.tendon[0].min(self.tendon[1])),
            ("the length of the belly, which needs four", 0.25 * self.belly()),
        ] {
            if self.cell > largest {
                return Err(MuscleError::CellTooCoarse { cell: self.cell, part, largest });
            }
        }
        // A box round the belly, before anything is allocated; cells of tendons are a fraction of those of the belly.
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
    /// Node sets: `"origin"` (x = 0) and `"insertion"` (x = length), and with two heads `"origin-1"` (y > 0) and `"origin-2"`. Cell sets:
    /// `"belly"`, `"tendon"`, in pennate muscles `"aponeurosis"` and in bipennate ones `"filling"`, which together hold each cell once; with
    /// two heads the belly is also `"head-1"` and `"head-2"`. The cell field `"fiber"` is `fibers`.
    pub mesh: CellMesh,
    /// Unit direction of the fibres in each cell, from origin to insertion; in tendons and aponeuroses along them. A filling has no fibres,
    /// the direction there is the line of action.
    pub fibers: Vec<Vec3>,
    /// Mean length of the fibres of the belly [m], each fibre counted once.
    pub fiber_length: f64,
    /// Physiological cross-section [m²]: volume of the belly over the mean length of its fibres.
    pub pcsa: f64,
}

/// Why there is no such muscle.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MuscleError {
    /// The tendons leave no room for a belly.
    #[error("the tendons are {tendons} m long together, the whole muscle only {length} m; hint: shorten the tendons")]
    TendonsTooLong {
        /// Length of both tendons [m].
        tendons: f64,
        /// Length of the muscle [m].
        length: f64,
    },
    /// The pennation is no angle between fibres and a line they can pull along.
    #[error(
        "the pennation is {degrees}°, but must be at least 0° and less than 90°: fibres at 90° stand across the line of action and, with cos 90° = 0, pull nothing along it"
    )]
    Pennation {
        /// The angle [°].
        degrees: f64,
    },
    /// The tendon is wider than the belly.
    #[error("the tendon is {tendon_width} m wide, more than the belly with {widest} m")]
    TendonTooWide {
        /// Width of the tendon [m].
        tendon_width: f64,
        /// Most it can be [m].
        widest: f64,
    },
    /// The aponeuroses leave no room for fibres between them.
    #[error(
        "the belly is too thin: aponeuroses of {sheets} m together leave no half of its width of {width} m to the fibres; hint: a narrower tendon has thinner aponeuroses"
    )]
    BellyTooThin {
        /// Thickness of all aponeuroses [m].
        sheets: f64,
        /// Width of the belly [m].
        width: f64,
    },
    /// The fibres are too oblique to reach from one sheet to the other within the belly.
    #[error(
        "fibres at {degrees}° run {run} m along the line of action from sheet to sheet, more than three quarters of the belly of {belly} m; hint: a larger pennation, a narrower or a longer belly"
    )]
    FibersDoNotFit {
        /// Pennation [°].
        degrees: f64,
        /// Length of a fibre along the line of action [m].
        run: f64,
        /// Length of the belly [m].
        belly: f64,
    },
    /// The origin tendon of a bipennate muscle is too short to gather both outer sheets.
    #[error("the tendon at the origin is {length} m long, but needs {least} m to gather the two outer sheets")]
    OriginTendonTooShort {
        /// Its length [m].
        length: f64,
        /// Least length [m].
        least: f64,
    },
    /// The cells are larger than what they are to fill.
    #[error("cells of {cell} m are too coarse for {part}; hint: choose at most {largest} m")]
    CellTooCoarse {
        /// Size of the cells [m].
        cell: f64,
        /// What they do not fit.
        part: &'static str,
        /// Largest size that fits [m].
        largest: f64,
    },
    /// These proportions fold a cell over.
    #[error("cell {cell} near x = {x} m would be folded; hint: longer tendons, smaller cells or a less abrupt taper")]
    FoldedCell {
        /// The cell.
        cell: usize,
        /// Where it is along the muscle [m].
        x: f64,
    },
    /// These proportions flatten a cell so much that no simulation could use it.
    #[error(
        "cell {cell} near x = {x} m would have faces that meet at {degrees:.2}°; hint: a longer belly for its width, a wider tendon or smaller cells"
    )]
    FlatCell {
        /// The cell.
        cell: usize,
        /// Where it is along the muscle [m].
        x: f64,
        /// Smallest angle between two of its faces [°].
        degrees: f64,
    },
    /// A parameter is out of its range, or there would be too many cells.
    #[error(transparent)]
    Procedural(#[from] ProceduralError),
    /// The result is not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// A muscle with tendons, made of cells whose edges follow its fibres.
///
/// The line of action is the x axis, from the origin in the plane x = 0 to the insertion at x = length; width is along y, thickness along
/// z. Bellies swell as 1 − cos⁴ πs between their ends, with zero slope where they meet the tendons. Pennate muscles are straight where
/// their mechanics is: flat, parallel sheets at the distance w, fibres of length w / sin α at exactly the pennation α. So their
/// cross-section is the area of a sheet times sin α, and they pull cos α of what their fibres pull along the line of action
/// [Chen92]. Their tendons continue the sheets, beside the x axis in a unipennate muscle; in a bipennate one the outer sheets join into one
/// tendon, and the notch they leave between each other, the belly and the edge of the central sheet is filled with soft flesh that has no
/// fibres.
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
