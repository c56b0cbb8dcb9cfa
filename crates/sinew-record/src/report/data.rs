//! The content of a report, as plain data.

use sinew_fem::{Frame, StepReport};
use sinew_geometry::CellKind;

use crate::artist::ArtistFacts;

/// The verdict of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All expectations are met.
    Passed,
    /// Some expectation is not met.
    Failed,
    /// There are no expectations.
    Unchecked,
    /// The run ended early.
    Interrupted,
}

/// One line of the `[expect]` table.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectRow {
    /// Name of the value.
    pub name: String,
    /// The claim in words.
    pub expected: String,
    /// The decisive value.
    pub got: f64,
    /// Its time \[s\], if it has one.
    pub time: Option<f64>,
    /// Whether the claim holds; `None` if the run did not reach its time.
    pub passed: Option<bool>,
}

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSeries {
    /// Name of the probe, parts separated by dots.
    pub name: String,
    /// One value per time.
    pub values: Vec<f64>,
}

/// Size and quality of one body's mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyStatistics {
    /// Name of the body.
    pub name: String,
    /// Nodes.
    pub nodes: usize,
    /// Tetrahedra.
    pub tets: usize,
    /// Hexahedra.
    pub hexes: usize,
    /// Triangles of the visible surface.
    pub surface_triangles: usize,
    /// Volume at rest \[m³\].
    pub volume: f64,
    /// Mean length of the edges \[m\].
    pub mean_edge: f64,
    /// Smallest angle between two faces of a cell \[rad\].
    pub min_dihedral: f64,
    /// Largest angle between two faces of a cell \[rad\].
    pub max_dihedral: f64,
    /// Largest aspect ratio of a cell; one is ideal.
    pub max_aspect: f64,
}

/// Statistics of all bodies of a frame.
pub fn statistics(frame: &Frame<'_>) -> Vec<BodyStatistics> {
    frame
        .bodies
        .iter()
        .map(|body| {
            let quality = body.mesh.quality();
            let count = |kind: CellKind| -> usize {
                body.mesh.blocks().iter().filter(|block| block.kind == kind).map(|block| block.cell_count()).sum()
            };
            BodyStatistics {
                name: body.name.into(),
                nodes: body.mesh.node_count(),
                tets: count(CellKind::Tet4) + count(CellKind::Tet10),
                hexes: count(CellKind::Hex8),
                surface_triangles: body.surface_triangles.len(),
                volume: body.mesh.volume(),
                mean_edge: quality.mean_edge,
                min_dihedral: quality.min_dihedral,
                max_dihedral: quality.max_dihedral,
                max_aspect: quality.max_aspect,
            }
        })
        .collect()
}

/// A part of a run, with its own parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingRow {
    /// Name of the activity.
    pub name: String,
    /// Wall-clock time \[s\].
    pub seconds: f64,
    /// Its parts.
    pub children: Vec<TimingRow>,
}

/// A small table, for example of a parameter study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// The content of the page.
#[derive(Clone, Debug)]
pub struct ReportData {
    /// Headline.
    pub title: String,
    /// Name of the scene file.
    pub scene: String,
    /// The verdict.
    pub verdict: Verdict,
    /// An animated PNG file.
    pub animation: Option<Vec<u8>>,
    /// The artist's report on characters.
    pub artist: Option<ArtistFacts>,
    /// A few facts under the headline: name and value.
    pub facts: Vec<(String, String)>,
    /// The `[expect]` table.
    pub expectations: Vec<ExpectRow>,
    /// Further tables.
    pub tables: Vec<Table>,
    /// Times of the frames \[s\].
    pub times: Vec<f64>,
    /// Probes over these times.
    pub probes: Vec<ProbeSeries>,
    /// Meshes.
    pub bodies: Vec<BodyStatistics>,
    /// The solver's report on each frame after the first.
    pub steps: Vec<StepReport>,
    /// Timing.
    pub timing: TimingRow,
    /// Notes on repairs and other things that deserve attention.
    pub notes: Vec<String>,
    /// Where results leave the range of their models.
    pub warnings: Vec<String>,
    /// Files written beside the report.
    pub files: Vec<String>,
    /// Version, instruction set, threads: name and value.
    pub environment: Vec<(String, String)>,
    /// Text of the scene file.
    pub source: String,
}
