//! How a lattice is made, what it needs, and why it may be refused.

use std::fmt;

use sinew_math::Vec3;
use thiserror::Error;

use crate::fill::{CubeGrid, FillError, FillReport, Repair};
use crate::mesh::MeshError;
use crate::procedural::MAX_CELLS;

/// Most cubes of any lattice: the lines through their faces, and the corners of their cells, still have numbers of 32 bits.
pub const MAX_CUBES: usize = 1 << 28;

/// How to cover a surface with cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatticeOptions {
    /// What to do with a surface that does not bound a volume.
    pub repair: Repair,
    /// Most cubes over the whole bounding box; refused before anything is allocated. Never more than [`MAX_CUBES`].
    pub max_cells: usize,
    /// Most memory [bytes] at any time while the lattice is made, as estimated before; no limit by default.
    pub max_bytes: Option<u64>,
    /// Whether parts of the body that share a cube but no flesh get cells of their own. On by default; without it, each cube
    /// is one cell and each corner one node.
    pub separate: bool,
}

impl Default for LatticeOptions {
    fn default() -> Self {
        Self { repair: Repair::default(), max_cells: MAX_CELLS, max_bytes: None, separate: true }
    }
}

/// Why there is no lattice.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LatticeError {
    /// The cell size is not a positive length, or the lattice would not be finite.
    #[error("the cell size is {cell}, but must be a positive length")]
    CellSize {
        /// The size [m].
        cell: f64,
    },
    /// The cells are too small for the body.
    #[error(
        "the lattice would have {cells:.3e} cells, more than the limit of {limit}; hint: a cell size of {fitting:.3e} m fits"
    )]
    TooManyCells {
        /// Number of cubes over the bounding box.
        cells: f64,
        /// How many there may be.
        limit: usize,
        /// A cell size that fits [m].
        fitting: f64,
    },
    /// The lattice needs more memory than allowed.
    #[error("the lattice would need {bytes:.3e} bytes, more than the limit of {limit}{}", hint(fitting))]
    TooMuchMemory {
        /// Estimated need [bytes].
        bytes: f64,
        /// How many there may be.
        limit: u64,
        /// A cell size that fits [m]; none when even a single cell does not.
        fitting: Option<f64>,
    },
    /// The surface encloses nothing, or there are no cubes.
    #[error("nothing is inside of the surface")]
    NothingInside,
    /// The surface does not bound a volume.
    #[error(transparent)]
    Surface(#[from] FillError),
    /// The surface cannot be welded.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

fn hint(fitting: &Option<f64>) -> String {
    fitting.map_or_else(String::new, |cell| format!("; hint: a cell size of {cell:.3e} m fits"))
}

/// What was wrong with the surface, and what became of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatticeReport {
    /// Faults of the surface, volumes, and number of connected parts.
    pub surface: FillReport,
    /// Cubes that the surface cuts.
    pub cut_cubes: usize,
    /// Cubes with more than one cell.
    pub split_cubes: usize,
    /// Vertices that no triangle uses; they are bound to any cell.
    pub unused_vertices: usize,
}

impl fmt::Display for LatticeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cubes cut by the surface", self.surface, self.cut_cubes)?;
        if self.split_cubes > 0 {
            write!(f, ", {} of them shared by separate parts", self.split_cubes)?;
        }
        if self.unused_vertices > 0 {
            write!(f, ", {} vertices without triangle", self.unused_vertices)?;
        }
        Ok(())
    }
}

/// Measures of a body from which the need of its lattice is estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Size of the bounding box [m].
    pub size: Vec3,
    /// Area of the surface [m²].
    pub area: f64,
    /// Volume inside [m³].
    pub volume: f64,
}

impl Demand {
    fn cubes(&self, cell: f64) -> f64 {
        CubeGrid::counts(self.size, cell, 0.0).iter().product()
    }

    /// Bytes at the peak, within a factor of about two.
    fn bytes(&self, cell: f64) -> f64 {
        let cubes = self.cubes(cell);
        // A plane cuts |n_x| + |n_y| + |n_z| cubes per square of the lattice, at most √3.
        let cut = (1.75 * self.area / (cell * cell) + 1.0).min(cubes);
        let cells = (self.volume / cell.powi(3) + cut).min(cubes);
        // Flags and numbers over the box; cells, nodes and the forest over their corners; lines through cut cubes.
        16.0 * cubes + 200.0 * cells + 2000.0 * cut
    }

    /// An error when the lattice would be too large.
    pub fn check(&self, cell: f64, options: &LatticeOptions) -> Result<(), LatticeError> {
        let limit = options.max_cells.min(MAX_CUBES);
        let byte_limit = options.max_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let fits = |cell: f64| self.cubes(cell) <= limit as f64 && self.bytes(cell) <= byte_limit;
        if fits(cell) {
            return Ok(());
        }
        let (cells, bytes) = (self.cubes(cell), self.bytes(cell));
        let fitting = self.fitting(cell, fits);
        if !(cells <= limit as f64) {
            return Err(LatticeError::TooManyCells {
                cells,
                limit,
                fitting: fitting.unwrap_or(self.size.max_component()),
            });
        }
        Err(LatticeError::TooMuchMemory { bytes, limit: options.max_bytes.unwrap_or(u64::MAX), fitting })
    }

    /// The smallest larger cell that fits, to a percent.
    fn fitting(&self, cell: f64, fits: impl Fn(f64) -> bool) -> Option<f64> {
        let (mut low, mut high) = (cell.ln(), self.size.max_component().max(cell).ln());
        if !fits(high.exp()) {
            return None;
        }
        while high - low > 0.005 {
            let middle = 0.5 * (low + high);
            if fits(middle.exp()) {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Rounded up as it is printed, so that the printed number fits as well.
        let unit = 10_f64.powf((high / std::f64::consts::LN_10).floor() - 3.0);
        Some((high.exp() / unit).ceil() * unit)
    }
}
