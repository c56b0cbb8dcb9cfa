//! Every plot of a report as files: an image for print, and a table with all values.

use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder, StepReport};

use super::FileRecorder;
use super::sequence::Sequence;
use crate::report::{Plot, ProbeSeries, convergence_plots, plot_files, probe_plots};

/// Writes `NAME.svg` and `NAME.csv` for each plot beside a path; names begin with its stem.
pub struct PlotRecorder {
    pattern: PathBuf,
    times: Vec<f64>,
    probes: Vec<ProbeSeries>,
    steps: Vec<StepReport>,
    has_convergence: bool,
    files: Sequence,
}

impl PlotRecorder {
    /// Plots beside `pattern`: `folder/run_NAME.svg` for `folder/run.svg`, `folder/NAME.svg` for `folder/.svg`.
    pub fn create(pattern: impl Into<PathBuf>) -> PlotRecorder {
        let (times, probes, steps) = (Vec::new(), Vec::new(), Vec::new());
        PlotRecorder {
            pattern: pattern.into(),
            times,
            probes,
            steps,
            has_convergence: true,
            files: Sequence::default(),
        }
    }

    /// Whether it also plots how the steps converged, the default.
    pub fn with_convergence(self, has_convergence: bool) -> PlotRecorder {
        PlotRecorder { has_convergence, ..self }
    }

    fn plots(&self) -> Vec<Plot> {
        let mut plots = probe_plots(&self.times, &self.probes);
        if !self.steps.is_empty() {
            plots.extend(convergence_plots(&self.steps));
        }
        plots
    }
}

impl Recorder for PlotRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.times.is_empty() {
            let series = |name: &String| ProbeSeries { name: name.clone(), values: Vec::new() };
            self.probes = frame.probe_names.iter().map(series).collect();
        }
        self.times.push(frame.time);
        for (probe, &value) in self.probes.iter_mut().zip(frame.probe_values) {
            probe.values.push(value);
        }
        // The first frame is not computed.
        if self.has_convergence && frame.index > 0 {
            self.steps.push(StepReport { time: frame.time, ..*frame.report });
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        let plots = self.plots();
        for (plot, pair) in plots.iter().zip(plot_files(&plots, &self.pattern).chunks_exact(2)) {
            self.files.put(pair[0].clone(), plot.to_svg().as_bytes())?;
            self.files.put(pair[1].clone(), plot.to_csv().as_bytes())?;
        }
        self.files.keep();
        (self.times, self.probes, self.steps) = Default::default();
        Ok(())
    }
}

impl FileRecorder for PlotRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at};

    #[test]
    fn plots_become_images_and_tables() {
        let folder = TestFolder::new("plots");
        let mut recorder = PlotRecorder::create(folder.path("run.svg"));
        (0..4).for_each(|index| shapes_at(index, &mut |frame| recorder.frame(frame).unwrap()));
        recorder.finish().unwrap();
        let names = folder.entries();
        assert_eq!(recorder.files().len(), names.len());
        let csv = std::fs::read_to_string(folder.path("run_energy_total.csv")).unwrap();
        assert!(csv.starts_with("time [s],total [J]\n0,0\n") && csv.lines().count() == 5, "{csv}");
        let svg = std::fs::read_to_string(folder.path("run_energy_total.svg")).unwrap();
        assert!(svg.contains(">energy [J]</text>") && svg.contains(">time [s]</text>"), "{svg}");
        assert!(names.contains(&"run_Relative_residual.svg".to_string()), "{names:?}");
    }
}
