//! Options, memory estimate and errors of lattices.

use std::fmt;

use sinew_math::Vec3;
use thiserror::Error;

use crate::fill::{CubeGrid, FillError, FillReport, Repair};
use crate::mesh::MeshError;
use crate::procedural::MAX_CELLS;

/// Largest number of cubes of any lattice: line and corner indices still fit 32 bits.
pub const MAX_CUBES: usize = 1 << 28;

/// Options for covering a surface with cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatticeOptions {
    /// Treatment of a surface that does not bound a volume.
    pub repair: Repair,
    /// Largest number of cubes over the whole bounding box; checked before any allocation. Never more than
    /// [`MAX_CUBES`].
    pub max_cells: usize,
    /// Largest estimated peak memory \[bytes\] while the lattice is built; unlimited by default.
    pub max_bytes: Option<u64>,
    /// Whether parts of the body that share a cube but no flesh get separate cells. On by default; otherwise each cube
    /// is one cell and each corner one node.
    pub separate: bool,
}

impl Default for LatticeOptions {
    fn default() -> Self {
        Self { repair: Repair::default(), max_cells: MAX_CELLS, max_bytes: None, separate: true }
    }
}

/// Why a lattice cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LatticeError {
    /// The cell size is not a positive length, or the lattice would not be finite.
    #[error("the cell size is {cell}, but must be a positive length")]
    CellSize {
        /// The size \[m\].
        cell: f64,
    },
    /// The cells are too small for the body.
    #[error(
        "the lattice would have {cells:.3e} cells, more than the limit of {limit}; hint: a cell size of {fitting:.3e} m fits"
    )]
    TooManyCells {
        /// Number of cubes over the bounding box.
        cells: f64,
        /// Largest number allowed.
        limit: usize,
        /// A cell size that fits \[m\].
        fitting: f64,
    },
    /// The lattice needs more memory than allowed.
    #[error("the lattice would need {bytes:.3e} bytes, more than the limit of {limit}{}", hint(fitting))]
    TooMuchMemory {
        /// Estimated memory \[bytes\].
        bytes: f64,
        /// Largest number allowed.
        limit: u64,
        /// A cell size that fits \[m\]; `None` when even a single cell does not.
        fitting: Option<f64>,
    },
    /// The surface encloses nothing, or there are no cubes.
    #[error("nothing is inside the surface")]
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

/// Defects of the surface, and statistics of the lattice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatticeReport {
    /// Defects of the surface, volumes, and number of connected components.
    pub surface: FillReport,
    /// Cubes that the surface cuts.
    pub cut_cubes: usize,
    /// Cubes with more than one cell.
    pub split_cubes: usize,
    /// Vertices that no triangle uses; they are bound to an arbitrary cell.
    pub unused_vertices: usize,
}

impl fmt::Display for LatticeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cubes cut by the surface", self.surface, self.cut_cubes)?;
        if self.split_cubes > 0 {
            write!(f, ", {} of them shared by separate parts", self.split_cubes)?;
        }
        if self.unused_vertices > 0 {
            write!(f, ", {} vertices without a triangle", self.unused_vertices)?;
        }
        Ok(())
    }
}

/// Measures of a body that determine the memory of its lattice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Size of the bounding box \[m\].
    pub size: Vec3,
    /// Area of the surface \[m²\].
    pub area: f64,
    /// Volume inside \[m³\].
    pub volume: f64,
}

impl Demand {
    fn cubes(&self, cell: f64) -> f64 {
        CubeGrid::counts(self.size, cell, 0.0).iter().product()
    }

    /// Estimated peak memory in bytes, within a factor of about two.
    fn bytes(&self, cell: f64) -> f64 {
        let cubes = self.cubes(cell);
        // A plane cuts |n_x| + |n_y| + |n_z| ≤ √3 cubes per square of the lattice.
        let cut = (1.75 * self.area / (cell * cell) + 1.0).min(cubes);
        let cells = (self.volume / cell.powi(3) + cut).min(cubes);
        // Flags and indices over the box; cells, nodes and the forest over their corners; lines through cut cubes.
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

    /// The smallest larger cell that fits, to within a percent.
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
        // Rounded up as printed, so that the printed number fits too.
        let unit = 10_f64.powf((high / std::f64::consts::LN_10).floor() - 3.0);
        Some((high.exp() / unit).ceil() * unit)
    }
}
