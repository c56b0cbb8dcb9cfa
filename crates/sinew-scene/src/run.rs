//! The straight line: compile, step, record, check, report.
//!
//! `sinew run`, `sinew demo` and the scene tests are this one loop with another observer and other recorders.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sinew_fem::report::StepTiming;
use sinew_fem::{Frame, RecordError, Recorder, Simulation, StepError, StepReport};
use thiserror::Error;

use crate::compile::compile;
use crate::diagnostic::SceneError;
use crate::expect::{Checked, Rule, UnknownProbe};
use crate::history::ProbeHistory;
use crate::output::OutputFolder;
use crate::overrides::Override;
use crate::report::{self, BodyStatistics};
use crate::spec::Scene;
use crate::spec::expect::Compare;
use crate::study::{self, StudyOutcome};
use crate::timing::{Stopwatch, TimingNode};

/// What a run is asked to do besides what the scene says.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Folder for the files; nothing is written without one.
    pub output: Option<PathBuf>,
    /// Stops after this many frames; the whole scene when `None`.
    pub frames: Option<usize>,
    /// What the scene was loaded with; a study sets its cases on top of it.
    pub overrides: Vec<Override>,
}

/// Who watches a run.
pub trait Observer {
    /// Something begins that may take a while.
    fn stage(&mut self, _text: &str) {}

    /// `done` of `all` frames exist. `Break` ends the run there, with valid files.
    fn frame(&mut self, _done: usize, _all: usize, _report: &StepReport) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody watches.
impl Observer for () {}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// Everything `[expect]` and `[study]` claim, and how it came out; empty after an interruption.
    pub expectations: Vec<Checked>,
    /// The sweep of `[study]`, if the scene has one.
    pub study: Option<StudyOutcome>,
    /// Frames computed, the initial one not counted.
    pub frames: usize,
    /// Whether the observer ended the run early.
    pub interrupted: bool,
    /// Probes of all frames.
    pub history: ProbeHistory,
    /// Solver reports of all frames.
    pub reports: Vec<StepReport>,
    /// Where the time went.
    pub timing: TimingNode,
    /// Files written.
    pub outputs: Vec<PathBuf>,
    /// What was mended or deserves attention.
    pub notes: Vec<String>,
    /// Size and quality of the meshes.
    pub bodies: Vec<BodyStatistics>,
    /// Fingerprint of the final positions and velocities: equal bits, equal number.
    pub hash: u64,
}

impl RunOutcome {
    /// Whether the run is complete and everything expected came true.
    pub fn passed(&self) -> bool {
        !self.interrupted && self.expectations.iter().all(|check| check.passed)
    }
}

/// Why a run stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scene, or a scene it compares with, cannot be compiled.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// `[expect]` or `[study]` speaks of a probe that does not exist.
    #[error("error: {0}")]
    Probe(#[from] UnknownProbe),
    /// The output folder cannot be used.
    #[error("error: cannot write to the output folder {}: {source}", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("error: {0}")]
    Record(#[from] RecordError),
    /// The solver gave up.
    #[error("error: {source}\n{frames} frames were kept{}", .output.as_ref().map(|path| format!(" in {}", path.display())).unwrap_or_default())]
    Step {
        /// Why, with the node and cell to blame.
        source: Box<StepError>,
        /// Frames computed before.
        frames: usize,
        /// Where they are.
        output: Option<PathBuf>,
    },
}

/// Runs a scene.
///
/// With a `[study]` every case is run and checked, and the files show the last one; otherwise the scene itself is.
pub fn run(scene: &Scene, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, RunError> {
    let start = Instant::now();
    // Before anything is computed: nobody wants to hear of a full disk after an hour.
    let folder = options.output.as_deref().map(OutputFolder::prepare).transpose()?;
    let mut others = OtherRuns::default();
    let mut outcome = match &scene.study {
        Some(study) => study::sweep(scene, study, options, folder.as_ref(), &mut others, observer)?,
        None => run_once(scene, options, folder.as_ref(), &mut others, observer)?,
    };
    outcome.timing.name = "run".into();
    outcome.timing.seconds = start.elapsed().as_secs_f64();
    if let Some(folder) = folder {
        let watch = Instant::now();
        crate::summary::write(scene, &mut outcome, folder.path())?;
        outcome.timing.children.push(TimingNode::leaf("report", watch.elapsed()));
        folder.keep();
    }
    outcome.timing.seconds = start.elapsed().as_secs_f64();
    Ok(outcome)
}

/// Compiles one scene, steps through it, and checks its `[expect]`.
pub(crate) fn run_once(
    scene: &Scene,
    options: &RunOptions,
    folder: Option<&OutputFolder>,
    others: &mut OtherRuns,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    let start = Instant::now();
    let mut simulation = compile(scene)?;
    let compile_time = start.elapsed();
    let rules = rules(scene, options, others, observer)?;
    for rule in &rules {
        rule.check_names(simulation.probe_names())?;
    }
    let mut recorders: Vec<Box<dyn Recorder>> = match folder {
        Some(folder) => crate::record::open(scene, &simulation, folder.path())?,
        None => Vec::new(),
    };
    let mut stepped = Stepped::new(&simulation);
    let count = scene.frame_count().min(options.frames.unwrap_or(usize::MAX));
    let result = stepped.advance(&mut simulation, count, &mut recorders, observer);
    // Whatever happened, what was recorded so far becomes valid files; the first error is the one that is told.
    let watch = Stopwatch::start();
    let finished = recorders.iter_mut().map(|recorder| recorder.finish()).fold(Ok(()), Result::and);
    watch.add_to(&mut stepped.record_time);
    if let Err(error) = result {
        let output = folder.map(|folder| folder.keep_if_used());
        return Err(match error {
            Stopped::Step(error) => {
                RunError::Step { source: Box::new(error), frames: stepped.frames, output: output.flatten() }
            }
            Stopped::Record(error) => RunError::Record(error),
        });
    }
    finished?;
    let mut outcome = stepped.into_outcome(&simulation, compile_time);
    if !outcome.interrupted {
        for rule in &rules {
            outcome.expectations.push(rule.evaluate(&outcome.history)?);
        }
    }
    outcome.outputs = folder.map(|folder| folder.files()).unwrap_or_default();
    Ok(outcome)
}

enum Stopped {
    Step(StepError),
    Record(RecordError),
}

/// What is gathered while stepping.
struct Stepped {
    history: ProbeHistory,
    reports: Vec<StepReport>,
    frames: usize,
    interrupted: bool,
    record_time: Duration,
}

impl Stepped {
    fn new(simulation: &Simulation) -> Self {
        Self {
            history: ProbeHistory::new(simulation.probe_names()),
            reports: Vec::new(),
            frames: 0,
            interrupted: false,
            record_time: Duration::ZERO,
        }
    }

    /// Frame 0, then `count` steps.
    fn advance(
        &mut self,
        simulation: &mut Simulation,
        count: usize,
        recorders: &mut [Box<dyn Recorder>],
        observer: &mut dyn Observer,
    ) -> Result<(), Stopped> {
        self.show(&simulation.frame(), recorders).map_err(Stopped::Record)?;
        for frame in 1..=count {
            let report = simulation.step_frame().map_err(Stopped::Step)?;
            self.show(&simulation.frame(), recorders).map_err(Stopped::Record)?;
            self.frames = frame;
            self.reports.push(report);
            if observer.frame(frame, count, &report).is_break() && frame < count {
                self.interrupted = true;
                break;
            }
        }
        Ok(())
    }

    fn show(&mut self, frame: &Frame<'_>, recorders: &mut [Box<dyn Recorder>]) -> Result<(), RecordError> {
        self.history.push(frame.time, frame.probe_values);
        let watch = Stopwatch::start();
        let result = recorders.iter_mut().try_for_each(|recorder| recorder.frame(frame));
        watch.add_to(&mut self.record_time);
        result
    }

    fn into_outcome(self, simulation: &Simulation, compile_time: Duration) -> RunOutcome {
        let mut steps = StepTiming::default();
        for report in &self.reports {
            steps += report.timing;
        }
        let children = vec![
            TimingNode::leaf("compile", compile_time),
            TimingNode::steps(&steps),
            TimingNode::leaf("record", self.record_time),
        ];
        RunOutcome {
            frames: self.frames,
            interrupted: self.interrupted,
            hash: fingerprint(&simulation.frame()),
            bodies: report::statistics(&simulation.frame()),
            history: self.history,
            reports: self.reports,
            timing: TimingNode { name: "run".into(), seconds: 0.0, children },
            notes: simulation.notes.clone(),
            ..RunOutcome::default()
        }
    }
}

/// The rules of `[expect]`; runs the scenes to compare with.
fn rules(
    scene: &Scene,
    options: &RunOptions,
    others: &mut OtherRuns,
    observer: &mut dyn Observer,
) -> Result<Vec<Rule>, RunError> {
    let mut rules = Vec::new();
    for (probe, expectations) in &scene.expect {
        for expectation in expectations {
            rules.extend(Rule::from_expectation(probe, expectation, |compare| {
                others.history(scene, compare, options, observer)
            })?);
        }
    }
    Ok(rules)
}

/// Scenes that `compare` names, each run once.
#[derive(Default)]
pub(crate) struct OtherRuns(BTreeMap<PathBuf, ProbeHistory>);

impl OtherRuns {
    /// Probes of another scene; its own `[expect]` and `[record]` do not count here.
    fn history(
        &mut self,
        scene: &Scene,
        compare: &Compare,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<ProbeHistory, RunError> {
        let path = scene.source.resolve(&compare.scene);
        if let Some(known) = self.0.get(&path) {
            return Ok(known.clone());
        }
        observer.stage(&format!("comparing with {}", compare.scene));
        let mut other = Scene::load(&path)?;
        other.expect.clear();
        other.study = None;
        let options = RunOptions { frames: options.frames, ..RunOptions::default() };
        let outcome = run_once(&other, &options, None, self, observer)?;
        self.0.insert(path, outcome.history.clone());
        Ok(outcome.history)
    }
}

/// FNV-1a over the bits of all positions and velocities.
fn fingerprint(frame: &Frame<'_>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for body in &frame.bodies {
        for vector in body.positions.iter().chain(body.velocities) {
            for byte in [vector.x, vector.y, vector.z].iter().flat_map(|component| component.to_bits().to_le_bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    hash
}
