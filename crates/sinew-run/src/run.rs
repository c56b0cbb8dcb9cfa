//! Runs of scenes: compile, step, record, check, report.
//!
//! `sinew run`, `sinew demo` and the scene tests are the same loop with different observers and recorders.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_fem::model::Model;
use sinew_fem::report::StepTiming;
use sinew_fem::{Frame, Hold, Interrupt, OutputFigures, RecordError, Recorder, Simulation, StepError, StepReport};
use sinew_record::artist::{ArtistFacts, Spent, Watch};
use sinew_record::costume::Wardrobe;
use sinew_record::report::{self, BodyStatistics};
use sinew_record::{Stopwatch, record};
use sinew_scene::output::{OutputClash, OutputPlan};
use sinew_scene::spec::Scene;
use sinew_scene::spec::expect::Compare;
use sinew_scene::{Override, SceneError};
use sinew_store::Recording;
use thiserror::Error;

use crate::compile::{Compiled, compile_all};
use crate::expect::{Checked, Rule, UnknownProbe};
use crate::history::ProbeHistory;
use crate::journal::{Beginning, Journal};
use crate::manifest::{Origin, Status};
use crate::output::OutputFolder;
use crate::ranges::RangeWatch;
use crate::study::{self, StudyOutcome};
use crate::timing::TimingNode;
use crate::value_names;

/// Options of a run besides the scene.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Folder for the files; nothing is written without one.
    pub output: Option<PathBuf>,
    /// Stops after this many frames; `None` runs the whole scene. Expectations at later times, or at the end, are then not reached.
    pub frames: Option<usize>,
    /// The overrides with which the scene was loaded; a study adds those of its cases.
    pub overrides: Vec<Override>,
    /// Continues the run in the output folder instead of starting anew.
    pub resume: bool,
    /// Seconds of computing between checkpoints, instead of the value in the scene.
    pub checkpoint: Option<f64>,
    /// Whether to replace files in the output folder that no run wrote.
    pub replace: bool,
    /// The command of the run, for `sinew resume`.
    pub origin: Origin,
}

/// An observer of a run.
pub trait Observer {
    /// A stage begins that may take a while.
    fn stage(&mut self, _text: &str) {}

    /// A note for the user; it is also in [`RunOutcome::notes`], but that may be hours later.
    fn note(&mut self, _text: &str) {}

    /// The interrupt of the run, checked continuously. A requested interrupt ends the run after the last complete
    /// frame, like a `Break`, and skips slow files that can be made later: pictures.
    fn interrupt(&self) -> Interrupt {
        Interrupt::ambient()
    }

    /// Frames are about to be computed; `done` of `all` already exist.
    fn begin(&mut self, _done: usize, _all: usize) {}

    /// `done` of `all` frames exist. `Break` ends the run there, with valid files.
    fn frame(&mut self, _done: usize, _all: usize, _report: &StepReport) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// All frames exist, and `done` of `all` pictures.
    fn pictures(&mut self, _done: usize, _all: usize) {}
}

/// No observer.
impl Observer for () {}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// The claims of `[expect]` and `[study]` and their results; empty after an interrupt.
    pub expectations: Vec<Checked>,
    /// The sweep of `[study]`, if the scene has one.
    pub study: Option<StudyOutcome>,
    /// Number of computed frames, without the initial one.
    pub frames: usize,
    /// Whether the observer ended the run before all its frames and files were complete.
    pub interrupted: bool,
    /// Probes of all frames.
    pub history: ProbeHistory,
    /// Solver reports of all frames.
    pub reports: Vec<StepReport>,
    /// Timing of the run.
    pub timing: TimingNode,
    /// Files written.
    pub outputs: Vec<PathBuf>,
    /// Notes on repairs and other things that deserve attention.
    pub notes: Vec<String>,
    /// Where results leave the range of their models.
    pub warnings: Vec<String>,
    /// Size and quality of the meshes.
    pub bodies: Vec<BodyStatistics>,
    /// The artist's report; `None` without characters, or without a report.
    pub artist: Option<ArtistFacts>,
    /// Numbers about single files, such as distances of corrective shapes from the flesh.
    pub figures: Vec<OutputFigures>,
    /// Hash of the final positions and velocities: equal bits give equal hashes.
    pub hash: u64,
    /// Number of frames that were recomputed because the run was resumed.
    pub recomputed: usize,
    /// How many times the run was resumed.
    pub resumed: usize,
}

impl RunOutcome {
    /// Whether the run is complete and all expectations are met; those that a shortened run did not reach are not.
    pub fn passed(&self) -> bool {
        !self.interrupted && self.expectations.iter().all(|check| check.passed)
    }
}

/// Errors of a run.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scene, or a scene it compares with, cannot be compiled.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// `[expect]` or `[study]` names a probe that does not exist.
    #[error("error: {0}")]
    Probe(#[from] UnknownProbe),
    /// The observer interrupted the run before there was a result to keep.
    #[error("error: interrupted")]
    Interrupted,
    /// The output folder cannot be used.
    #[error("error: cannot write to the output folder {}: {source}", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Another process is computing in the output folder.
    #[error("error: another run is writing to {}\nhint: wait for it (`sinew status {}`), or choose another folder with -o", path.display(), path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// An output is an input.
    #[error("error: {0}")]
    Clash(OutputClash),
    /// The output folder has files that no run wrote, and this one would replace them.
    #[error("{}", strangers(path, files))]
    Strangers {
        /// The folder.
        path: PathBuf,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// The run in the output folder cannot be continued.
    #[error("error: the run in {} cannot be continued: {reason}\nhint: start anew without --resume; the old recording is kept beside the new one", path.display())]
    Resume {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file cannot be written.
    #[error("error: {0}")]
    Record(#[from] RecordError),
    /// Frames can no longer be written.
    #[error("error: {source}\n{frames} frames are in {}\nhint: `sinew resume {}` continues after them", output.display(), output.display())]
    RecordFrame {
        /// The error.
        source: RecordError,
        /// Number of frames recorded before.
        frames: usize,
        /// Their location.
        output: PathBuf,
    },
    /// The solver failed.
    #[error("error: {source}\n{frames} frames were kept{}", .output.as_ref().map(|path| format!(" in {}", path.display())).unwrap_or_default())]
    Step {
        /// The cause, with node and cell.
        source: Box<StepError>,
        /// Number of frames computed before.
        frames: usize,
        /// Their location.
        output: Option<PathBuf>,
    },
}

/// Runs a scene.
///
/// With a `[study]` every case is run and checked, and the files show the last one; otherwise the scene itself is run.
pub fn run(scene: &Scene, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, RunError> {
    let start = Instant::now();
    let interrupt = observer.interrupt();
    let _entered = interrupt.clone().enter();
    // Before any computation, so that a full disk does not show up after an hour.
    let Some(path) = &options.output else {
        let mut outcome = run_cases(scene, options, None, observer)?;
        outcome.timing.seconds = start.elapsed().as_secs_f64();
        return Ok(outcome);
    };
    let folder = OutputFolder::prepare(path, OutputPlan::of(scene), &scene.inputs(), options.replace)?;
    let mut journal = Journal::open(&folder, scene, options)?;
    let result = run_cases(scene, options, Some((&folder, &mut journal)), observer).and_then(|mut outcome| {
        (outcome.recomputed, outcome.resumed) = journal.recomputed();
        outcome.notes.splice(0..0, journal.take_notes());
        outcome.timing.seconds = start.elapsed().as_secs_f64();
        let watch = Instant::now();
        crate::summary::write(scene, &mut outcome, folder.path())?;
        outcome.timing.children.push(TimingNode::leaf("report", watch.elapsed()));
        outcome.timing.seconds = start.elapsed().as_secs_f64();
        Ok(outcome)
    });
    match &result {
        Ok(outcome) => {
            let status = if outcome.interrupted { Status::Interrupted } else { Status::Done };
            let below = |file: &PathBuf| file.strip_prefix(path).unwrap_or(file).to_string_lossy().into_owned();
            journal.close(status, |manifest| {
                manifest.frames = outcome.frames;
                manifest.passed = (!outcome.interrupted).then(|| outcome.passed());
                manifest.hash = Some(outcome.hash);
                manifest.warnings.clone_from(&outcome.warnings);
                manifest.outputs = outcome.outputs.iter().map(below).collect();
            });
            folder.keep();
        }
        Err(_) if interrupt.is_wanted() => journal.close(Status::Interrupted, |_| ()),
        Err(error) => journal.close(Status::Failed, |manifest| manifest.error = Some(error.to_string())),
    }
    result
}

/// Folder and journal of a run that writes files.
pub(crate) type Durable<'a, 'b> = (&'a OutputFolder, &'a mut Journal<'b>);

fn run_cases(
    scene: &Scene,
    options: &RunOptions,
    mut durable: Option<Durable<'_, '_>>,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    value_names::check_compared(scene)?;
    let mut others = OtherRuns::default();
    let durable = durable.as_mut().map(|(folder, journal)| (*folder, &mut **journal));
    let mut outcome = match &scene.study {
        Some(study) => study::sweep(scene, study, options, durable, &mut others, observer)?,
        None => run_once(&Case { scene, number: 0, exports: true }, options, durable, &mut others, observer)?,
    };
    outcome.timing.name = "run".into();
    Ok(outcome)
}

/// One scene to compute.
pub(crate) struct Case<'a> {
    /// The scene, with the overrides of a study.
    pub scene: &'a Scene,
    /// Its index in a study.
    pub number: usize,
    /// Whether the files of `[record]` are written.
    pub exports: bool,
}

/// Compiles one scene, steps through it, and checks its `[expect]`.
pub(crate) fn run_once(
    case: &Case<'_>,
    options: &RunOptions,
    mut durable: Option<Durable<'_, '_>>,
    others: &mut OtherRuns,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    let scene = case.scene;
    let start = Instant::now();
    let Compiled { mut simulation, characters, .. } = compile_all(scene)?;
    let compile_time = start.elapsed();
    if case.exports {
        simulation.notes.iter().for_each(|note| observer.note(note));
    }
    let journal = durable.as_mut().map(|(_, journal)| &mut **journal);
    let rules = rules(scene, options, others, journal, observer)?;
    let count = scene.frame_count().min(options.frames.unwrap_or(usize::MAX));
    let wardrobe = match durable.is_some() && case.exports && scene.record.pictures {
        true => Arc::new(Wardrobe::of(scene, &characters)),
        false => Arc::default(),
    };
    let mut recorders: Vec<Box<dyn Recorder>> = match &durable {
        Some((folder, _)) if case.exports => record::open_with(scene, folder.path(), &characters, &wardrobe)?,
        _ => Vec::new(),
    };
    let beginning = match &mut durable {
        Some((_, journal)) => journal.begin_case(case.number, scene, &mut simulation, count)?,
        None => Beginning::Fresh,
    };
    let mut stepped = Stepped::new(&simulation);
    if durable.is_some() && case.exports {
        stepped.watch = Watch::new(scene, simulation.model(), &characters, &wardrobe, count);
    }
    let journal = durable.as_mut().map(|(_, journal)| &mut **journal);
    // From the first frame to the checkpoint, work can be lost.
    let hold = Hold::new();
    let result = stepped.advance(&mut simulation, count, beginning, &mut recorders, journal, observer);
    // In any case, the frames recorded so far become a checkpoint and valid files; the first error is returned.
    let watch = Stopwatch::start();
    let kept = durable.as_mut().map_or(Ok(()), |(_, journal)| journal.checkpoint(&simulation));
    drop(hold);
    let mut finish =
        |recorder: &mut Box<dyn Recorder>| recorder.finish_watched(&mut |done, all| observer.pictures(done, all));
    let finished = recorders.iter_mut().map(&mut finish).fold(Ok(()), Result::and);
    let finished = match finished {
        Err(RecordError::Interrupted) => {
            stepped.interrupted = true;
            Ok(())
        }
        other => other,
    };
    watch.add_to(&mut stepped.record_time);
    let folder = durable.as_ref().map(|(folder, _)| *folder);
    if let Err(error) = result {
        let output = folder.and_then(OutputFolder::keep_if_used);
        return Err(match (error, output) {
            (Stopped::Step(error), output) => {
                RunError::Step { source: Box::new(error), frames: stepped.frames, output }
            }
            (Stopped::Record(source), Some(output)) => RunError::RecordFrame { source, frames: stepped.frames, output },
            (Stopped::Record(source), None) => RunError::Record(source),
            (Stopped::Replay(reason), _) => {
                RunError::Resume { path: folder.map(|f| f.path().into()).unwrap_or_default(), reason }
            }
        });
    }
    finished.and(kept)?;
    let mut outcome = stepped.into_outcome(scene, &simulation, compile_time);
    outcome.notes.extend(recorders.iter().flat_map(|recorder| recorder.notes()));
    outcome.figures = recorders.iter().flat_map(|recorder| recorder.figures()).collect();
    if !outcome.interrupted {
        let is_whole = count == scene.frame_count();
        for rule in &rules {
            outcome.expectations.push(rule.evaluate(&outcome.history, is_whole)?);
        }
    }
    outcome.outputs = folder.map(|folder| folder.files()).unwrap_or_default();
    Ok(outcome)
}

enum Stopped {
    Step(StepError),
    Record(RecordError),
    Replay(String),
}

/// Results gathered during the steps.
struct Stepped {
    history: ProbeHistory,
    reports: Vec<StepReport>,
    frames: usize,
    interrupted: bool,
    /// Watches characters.
    watch: Option<Watch>,
    /// Watches whether results leave the range of their models.
    ranges: RangeWatch,
    embedding_time: Duration,
    record_time: Duration,
}

impl Stepped {
    fn new(simulation: &Simulation) -> Self {
        Self {
            history: ProbeHistory::new(simulation.probe_names()),
            reports: Vec::new(),
            frames: 0,
            interrupted: false,
            watch: None,
            ranges: RangeWatch::new(simulation.model(), simulation.probe_names()),
            embedding_time: Duration::ZERO,
            record_time: Duration::ZERO,
        }
    }

    /// Shows frame 0 or the recorded frames; then steps up to frame `count`.
    fn advance(
        &mut self,
        simulation: &mut Simulation,
        count: usize,
        beginning: Beginning,
        recorders: &mut [Box<dyn Recorder>],
        mut journal: Option<&mut Journal<'_>>,
        observer: &mut dyn Observer,
    ) -> Result<(), Stopped> {
        match beginning {
            Beginning::Fresh => {
                self.record(simulation, recorders, journal.as_deref_mut()).map_err(Stopped::Record)?;
            }
            Beginning::After(recording, kept) => {
                observer.stage(&format!("continuing after frame {}", kept - 1));
                let timings = journal.as_deref().map_or(&[][..], |journal| journal.timings());
                self.replay(simulation.model(), &recording, kept, timings, recorders)?;
            }
        }
        if self.interrupted {
            return Ok(());
        }
        simulation.set_interrupt(observer.interrupt());
        observer.begin(simulation.frame_index(), count);
        for frame in simulation.frame_index() + 1..=count {
            let report = match simulation.step_frame() {
                Ok(report) => report,
                Err(StepError::Interrupted { .. }) => {
                    self.interrupted = true;
                    break;
                }
                Err(error) => return Err(Stopped::Step(error)),
            };
            self.record(simulation, recorders, journal.as_deref_mut()).map_err(Stopped::Record)?;
            self.frames = frame;
            self.reports.push(report);
            if let Some(journal) = journal.as_deref_mut() {
                journal.after_frame(simulation).map_err(Stopped::Record)?;
            }
            if observer.frame(frame, count, &report).is_break() && frame < count {
                self.interrupted = true;
                break;
            }
        }
        Ok(())
    }

    /// Shows the first frames of a recording once more.
    fn replay(
        &mut self,
        model: &Model,
        recording: &Recording,
        kept: usize,
        timings: &[StepTiming],
        recorders: &mut [Box<dyn Recorder>],
    ) -> Result<(), Stopped> {
        let interrupt = Interrupt::ambient();
        for number in 0..kept {
            if interrupt.is_wanted() {
                (self.interrupted, self.frames) = (true, kept - 1);
                break;
            }
            let stored = recording.frame(number).map_err(|error| Stopped::Replay(error.to_string()))?;
            self.show(model, &stored.view(recording.header()), recorders).map_err(Stopped::Record)?;
            if number > 0 {
                self.frames = stored.index;
                let timing = timings.get(number - 1).copied().unwrap_or_default();
                self.reports.push(StepReport { timing, ..stored.report });
            }
        }
        Ok(())
    }

    /// Adds a frame to the recording, and shows the recorded frame to all others.
    fn record(
        &mut self,
        simulation: &Simulation,
        recorders: &mut [Box<dyn Recorder>],
        journal: Option<&mut Journal<'_>>,
    ) -> Result<(), RecordError> {
        let watch = Stopwatch::start();
        let frame = simulation.frame();
        watch.add_to(&mut self.embedding_time);
        let watch = Stopwatch::start();
        let recorded = journal.map_or(Ok(None), |journal| journal.record(&frame))?;
        watch.add_to(&mut self.record_time);
        match recorded {
            Some((stored, header)) => self.show(simulation.model(), &stored.view(header), recorders),
            None => self.show(simulation.model(), &frame, recorders),
        }
    }

    fn show(
        &mut self,
        model: &Model,
        frame: &Frame<'_>,
        recorders: &mut [Box<dyn Recorder>],
    ) -> Result<(), RecordError> {
        if let Some(watch) = &mut self.watch {
            watch.look(model, frame);
        }
        self.ranges.look(model, frame);
        self.history.push(frame.time, frame.probe_values);
        let watch = Stopwatch::start();
        let result = recorders.iter_mut().try_for_each(|recorder| recorder.frame(frame));
        watch.add_to(&mut self.record_time);
        result
    }

    fn into_outcome(mut self, scene: &Scene, simulation: &Simulation, compile_time: Duration) -> RunOutcome {
        let start = Instant::now();
        let looking = self.watch.as_ref().map_or(Duration::ZERO, |watch| watch.time);
        let spent = Spent { embedding: self.embedding_time, recording: self.record_time };
        let last = simulation.frame();
        let finish = |watch: Watch| watch.finish(scene, simulation.model(), &last, &self.reports, &spent);
        let is_watched = self.watch.is_some();
        let artist = self.watch.take().and_then(finish);
        self.interrupted |= is_watched && artist.is_none();
        let mut steps = StepTiming::default();
        for report in &self.reports {
            steps += report.timing;
        }
        let mut children = vec![
            TimingNode::leaf("compile", compile_time),
            TimingNode::steps(&steps),
            TimingNode::leaf("record", self.embedding_time + self.record_time),
        ];
        if artist.is_some() {
            children.push(TimingNode::leaf("artist's page", looking + start.elapsed()));
        }
        RunOutcome {
            frames: self.frames,
            interrupted: self.interrupted,
            hash: state_fingerprint(&simulation.frame()),
            bodies: report::statistics(&simulation.frame()),
            history: self.history,
            reports: self.reports,
            timing: TimingNode { name: "run".into(), seconds: 0.0, children },
            notes: simulation.notes.clone(),
            warnings: self.ranges.warnings(simulation.model()),
            artist,
            ..RunOutcome::default()
        }
    }
}

/// The rules of `[expect]`; runs the scenes to compare with.
fn rules(
    scene: &Scene,
    options: &RunOptions,
    others: &mut OtherRuns,
    mut journal: Option<&mut Journal<'_>>,
    observer: &mut dyn Observer,
) -> Result<Vec<Rule>, RunError> {
    let mut rules = Vec::new();
    for (probe, expectations) in &scene.expect {
        for expectation in expectations {
            rules.extend(Rule::from_expectation(probe, expectation, |compare| {
                others.history(scene, compare, options, journal.as_deref_mut(), observer)
            })?);
        }
    }
    Ok(rules)
}

/// Scenes of `compare`, each run once.
#[derive(Default)]
pub(crate) struct OtherRuns(BTreeMap<PathBuf, ProbeHistory>);

impl OtherRuns {
    /// Probes of another scene; its own `[expect]` and `[record]` have no effect here.
    fn history(
        &mut self,
        scene: &Scene,
        compare: &Compare,
        options: &RunOptions,
        journal: Option<&mut Journal<'_>>,
        observer: &mut dyn Observer,
    ) -> Result<ProbeHistory, RunError> {
        let path = scene.source.resolve(&compare.scene);
        let known = self.0.get(&path).or_else(|| journal.as_ref().and_then(|journal| journal.other(&path)));
        if let Some(known) = known {
            return Ok(known.clone());
        }
        observer.stage(&format!("comparing with {}", compare.scene));
        let other = value_names::compared(&path)?;
        let options = RunOptions { frames: options.frames, ..RunOptions::default() };
        let case = Case { scene: &other, number: 0, exports: false };
        let outcome = run_once(&case, &options, None, self, observer)?;
        if outcome.interrupted {
            // An incomplete run cannot be compared with.
            return Err(RunError::Interrupted);
        }
        if let Some(journal) = journal {
            journal.remember_other(&path, &outcome.history);
        }
        self.0.insert(path, outcome.history.clone());
        Ok(outcome.history)
    }
}

/// Names only a few files, so that the hint stays visible.
fn strangers(path: &Path, files: &[PathBuf]) -> String {
    const SHOWN: usize = 8;
    let mut text =
        format!("error: {} has files that no run there wrote, and this run would replace them", path.display());
    files.iter().take(SHOWN).for_each(|file| text.push_str(&format!("\n  {}", file.display())));
    if files.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", files.len() - SHOWN));
    }
    text + "\nhint: choose another folder with -o, move the files away, or replace them with --force"
}

/// Hash of all positions and velocities.
fn state_fingerprint(frame: &Frame<'_>) -> u64 {
    let vectors = frame.bodies.iter().flat_map(|body| body.positions.iter().chain(body.velocities));
    fingerprint(vectors.flat_map(|v| v.to_array()).flat_map(|component| component.to_bits().to_le_bytes()))
}

/// FNV-1a hash.
pub(crate) fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}
