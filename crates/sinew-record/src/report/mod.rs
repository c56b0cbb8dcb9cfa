//! `report.html`: one file that shows a run to anyone with a browser.
//!
//! [`ReportData`] is plain data, [`page`] turns it into HTML, [`write`] fills it from a run.

mod artist;
mod data;
mod html;
mod plot;
mod probes;

pub use self::data::{BodyStatistics, ExpectRow, ProbeSeries, ReportData, Table, TimingRow, Verdict, statistics};
pub(crate) use self::html::convergence_plots;
pub use self::html::{Headline, ShotCard, Tone, comparison, figures, judged_sheet, page, sheet, shots_page};
pub use self::plot::{Line, Plot, Scale, Stroke, plot_files, short as short_number, write_plots};
pub(crate) use self::probes::probe_plots;
pub use self::probes::{unit_of, y_label};

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::Animation;
    use sinew_fem::StepReport;
    use sinew_raster::Image;

    /// A small report with something in every section.
    pub(crate) fn example() -> ReportData {
        let times: Vec<f64> = (0..=120).map(|i| i as f64 / 60.0).collect();
        let series = |name: &str, f: &dyn Fn(f64) -> f64| ProbeSeries {
            name: name.into(),
            values: times.iter().map(|&t| f(t)).collect(),
        };
        let mut animation = Animation::new(&[Image::filled(32, 18, [220, 225, 230])]);
        for _ in 0..3 {
            animation.push(&Image::filled(32, 18, [220, 225, 230])).unwrap();
        }
        let steps = times[1..]
            .iter()
            .map(|&time| StepReport {
                time,
                substeps: 1,
                newton_iterations: 2 + (time * 9.0) as usize % 3,
                linear_iterations: 20 + (time * 31.0) as usize % 17,
                residual: 1e-9,
                relative_residual: 1e-7 * (2.0 + (9.0 * time).sin()),
                ..StepReport::default()
            })
            .collect();
        let leaf = |name: &str, seconds: f64| TimingRow { name: name.into(), seconds, children: Vec::new() };
        ReportData {
            title: "A soft block falls on the floor".into(),
            scene: "scenes/basics/fall.toml".into(),
            verdict: Verdict::Failed,
            animation: animation.encode(1.0 / 60.0).ok(),
            artist: None,
            facts: [("Frames", "120"), ("Simulated", "2 s"), ("Computed in", "8.42 s"), ("Per frame", "70.1 ms")]
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .to_vec(),
            expectations: vec![
                ExpectRow {
                    name: "block.volume".into(),
                    expected: "1.000 ± 0.5 % at every frame".into(),
                    got: 0.998_312,
                    time: Some(0.85),
                    passed: Some(true),
                },
                ExpectRow {
                    name: "block.center.z".into(),
                    expected: "at most 0.25 m at the end".into(),
                    got: 0.253_1,
                    time: Some(2.0),
                    passed: Some(false),
                },
            ],
            tables: vec![Table {
                title: "Study over cell size".into(),
                columns: ["cell", "L2 error", "order"].map(String::from).to_vec(),
                rows: vec![
                    vec!["50 mm".into(), "1.2e-3".into(), "–".into()],
                    vec!["25 mm".into(), "3.1e-4".into(), "1.95".into()],
                ],
            }],
            probes: vec![
                series("energy.total", &|t| 3.0 - 0.4 * t),
                series("energy.elastic", &|t| (1.0 - (6.0 * t).cos()) * (-t).exp()),
                series("energy.kinetic", &|t| (6.0 * t).sin().powi(2) * (-t).exp()),
                series("energy.gravity", &|t| 2.0 - t),
                series("inverted_cells", &|_| 0.0),
                series("block.volume", &|t| 1.0 - 0.01 * (8.0 * t).sin() * (-t).exp()),
                series("tip.position.x", &|t| 0.1 * (3.0 * t).sin()),
                series("tip.position.y", &|t| 0.05 * t),
                series("tip.position.z", &|t| 0.5 - 0.1 * t * t),
                series("block.force.base.z", &|t| 40.0 * (1.0 - (-3.0 * t).exp())),
                series("contacts", &|t| (60.0 * t).floor() % 14.0),
            ],
            times,
            bodies: vec![BodyStatistics {
                name: "block".into(),
                nodes: 3240,
                tets: 14_580,
                hexes: 0,
                surface_triangles: 3888,
                volume: 0.008,
                mean_edge: 0.0124,
                min_dihedral: 48.2f64.to_radians(),
                max_dihedral: 90f64.to_radians(),
                max_aspect: 1.34,
            }],
            steps,
            timing: TimingRow {
                name: "run".into(),
                seconds: 8.42,
                children: vec![
                    leaf("compile", 0.31),
                    TimingRow {
                        name: "steps".into(),
                        seconds: 6.2,
                        children: vec![
                            leaf("energy and forces", 1.1),
                            leaf("assembly", 1.7),
                            leaf("linear solve", 3.0),
                        ],
                    },
                    leaf("record", 1.9),
                ],
            },
            notes: vec!["2 cells of block had mirrored nodes and were reordered".into()],
            warnings: Vec::new(),
            files: vec!["probes.csv".into(), "animation.png".into()],
            environment: [("Sinew", "0.1.0"), ("instruction set", "AVX2"), ("threads", "2")]
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .to_vec(),
            source: "duration = \"2 s\"\n\n[[body]]\nname = \"block\"\n".into(),
        }
    }
}
