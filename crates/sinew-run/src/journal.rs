//! The durable files of a run: recording, checkpoints, manifest. They are written during the run, so that nothing is
//! lost however it ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sinew_fem::report::StepTiming;
use sinew_fem::{Command, Frame, RecordError, Simulation};
use sinew_scene::output::{CHECKPOINT, MANIFEST, PREVIOUS, RECORDING};
use sinew_scene::spec::Scene;
use sinew_store::{Header, Recording, RecordingParams, RecordingWriter, StoreError, StoredFrame};

use crate::checkpoint::{Checkpoint, FinishedCase};
use crate::history::ProbeHistory;
use crate::manifest::{Manifest, Status};
use crate::output::OutputFolder;
use crate::run::{RunError, RunOptions, fingerprint};

/// Minimum time between two writes of the manifest, for programs that poll it.
const MANIFEST_INTERVAL: Duration = Duration::from_secs(1);

/// Where a case of a run begins.
pub(crate) enum Beginning {
    /// At its first frame.
    Fresh,
    /// After the frames of a recording, which observers see once more.
    After(Box<Recording>, usize),
}

/// Keeps the durable files of a run up to date.
pub(crate) struct Journal<'a> {
    folder: &'a OutputFolder,
    manifest: Manifest,
    manifest_written: Instant,
    interval: Duration,
    checkpoint_written: Instant,
    /// The next checkpoint, without the state.
    progress: Checkpoint,
    /// The last checkpoint, until its case has begun.
    resume: Option<Checkpoint>,
    writer: Option<RecordingWriter>,
    /// Index of the last frame in the recording.
    recorded: Option<usize>,
    notes: Vec<String>,
    /// Whether something was written: a scene that cannot be compiled leaves no files.
    has_begun: bool,
}

impl<'a> Journal<'a> {
    /// Starts a run, or finds where to continue if `options` say so.
    pub fn open(folder: &'a OutputFolder, scene: &Scene, options: &RunOptions) -> Result<Self, RunError> {
        let identity = scene_fingerprint(scene);
        let interval = options.checkpoint.unwrap_or(scene.record.checkpoint);
        let mut journal = Self {
            folder,
            manifest: Manifest {
                fingerprint: identity,
                writes: folder.plan().files().iter().map(ToString::to_string).collect(),
                ..Manifest::of(scene, options.origin.clone())
            },
            manifest_written: Instant::now(),
            interval: Duration::try_from_secs_f64(interval).unwrap_or(Duration::MAX),
            checkpoint_written: Instant::now(),
            progress: Checkpoint { fingerprint: identity, ..Checkpoint::default() },
            resume: None,
            writer: None,
            recorded: None,
            notes: Vec::new(),
            has_begun: false,
        };
        if options.resume {
            journal.find_checkpoint()?;
        }
        Ok(journal)
    }

    /// Notes for the user.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Completed cases of a study.
    pub fn finished_cases(&self) -> &[FinishedCase] {
        &self.progress.finished
    }

    /// Adds a completed case of a study.
    pub fn finish_case(&mut self, case: FinishedCase) {
        self.progress.finished.push(case);
    }

    /// Probes of a scene that was already run for comparison.
    pub fn other(&self, path: &Path) -> Option<&ProbeHistory> {
        let name = path.to_string_lossy();
        self.progress.others.iter().find(|(known, _)| *known == name).map(|(_, history)| history)
    }

    /// Stores the probes of a scene that was run for comparison.
    pub fn remember_other(&mut self, path: &Path, history: &ProbeHistory) {
        self.progress.others.push((path.to_string_lossy().into_owned(), history.clone()));
    }

    /// Timings of the frames recorded so far, except the first.
    pub fn timings(&self) -> &[StepTiming] {
        &self.progress.timings
    }

    /// Number of recomputed frames, and number of resumptions.
    pub fn recomputed(&self) -> (usize, usize) {
        (self.progress.recomputed, self.progress.resumed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Keeps the files of an earlier run unless its manifest says that it is complete: forgetting `--resume` must not
    /// cost six hours of computing.
    fn put_unfinished_aside(&mut self, recording: Option<&str>) -> Result<(), RecordError> {
        let manifest = Manifest::read(self.folder.path());
        if manifest.as_ref().is_ok_and(|old| old.status == Status::Done) {
            // A later `--resume` must not find the checkpoint of another run.
            return remove_if_there(&self.path(CHECKPOINT));
        }
        // A recording that cannot be read, such as one of another version, may still be valuable.
        let is_precious = |name: &&str| match Recording::open(&self.path(name)) {
            Ok(old) => old.frame_count() > 0,
            Err(StoreError::Empty) => false,
            Err(_) => self.path(name).exists(),
        };
        let recording = recording.filter(is_precious);
        let Some(name) = recording else { return remove_if_there(&self.path(CHECKPOINT)) };
        let kept = self.put_aside(name)?;
        self.put_aside(CHECKPOINT)?;
        if manifest.is_err() {
            self.put_aside(MANIFEST)?;
        }
        self.notes.push(format!(
            "an unfinished run was in {}; its recording is now {kept} (`sinew resume` would have continued it)",
            self.folder.path().display()
        ));
        Ok(())
    }

    /// Renames a file, if it exists, to a free name; returns that name.
    fn put_aside(&self, name: &str) -> Result<String, RecordError> {
        let from = self.path(name);
        let numbers = std::iter::once(String::new()).chain((2..).map(|number| format!("{number}-")));
        let free = numbers.map(|number| format!("{PREVIOUS}{number}{name}")).find(|free| !self.path(free).exists());
        let free = free.unwrap_or_default();
        match std::fs::rename(&from, self.path(&free)) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(RecordError::Io { path: from, source }),
            _ => Ok(free),
        }
    }

    fn find_checkpoint(&mut self) -> Result<(), RunError> {
        let path = self.path(CHECKPOINT);
        if !path.exists() {
            self.notes.push("there is no checkpoint to continue from; the run starts from the beginning".into());
            return Ok(());
        }
        let refused = |reason: String| RunError::Resume { path: self.folder.path().into(), reason };
        let checkpoint = Checkpoint::read(&path).map_err(|error| refused(format!("{CHECKPOINT}: {error}")))?;
        if checkpoint.fingerprint != self.progress.fingerprint {
            return Err(refused(
                "the scene, its overrides or one of its files has changed since the run was started".into(),
            ));
        }
        if let Ok(old) = Manifest::read(self.folder.path()) {
            self.manifest.started = old.started;
            if old.version != self.manifest.version {
                self.notes.push(format!("this run was started with Sinew {}", old.version));
            }
        }
        self.progress = Checkpoint { state: sinew_fem::State::default(), ..checkpoint.clone() };
        self.progress.resumed += 1;
        self.resume = Some(checkpoint);
        Ok(())
    }

    /// Opens the recording of a case and restores the simulation, if the case had begun.
    pub fn begin_case(
        &mut self,
        case: usize,
        scene: &Scene,
        simulation: &mut Simulation,
        frames_planned: usize,
    ) -> Result<Beginning, RunError> {
        if !self.has_begun {
            if self.resume.is_none() {
                self.put_unfinished_aside(scene.record.recording.file_name(RECORDING))?;
            }
            self.has_begun = true;
        }
        self.progress.case = case;
        self.manifest.frames_planned = frames_planned;
        self.write_manifest()?;
        let Some(name) = scene.record.recording.file_name(RECORDING) else { return Ok(Beginning::Fresh) };
        let path = self.path(name);
        let params = recording_params(scene);
        if let Some(checkpoint) = self.resume.take_if(|checkpoint| checkpoint.case == case) {
            if checkpoint.recording > 0 {
                return self.continue_case(&path, &params, checkpoint, simulation);
            }
            self.progress.recomputed += Recording::open(&path).map_or(0, |recording| recording.frame_count() - 1);
        }
        self.progress.timings.clear();
        // From here on the old recording is gone; the checkpoint records that first.
        self.write_checkpoint(Checkpoint::default())?;
        let header = Header {
            program: env!("CARGO_PKG_VERSION").into(),
            scene_name: scene.source.name().into(),
            scene_text: scene.source.text().into(),
            overrides: scene.source.overrides().iter().map(|set| set.text().to_string()).collect(),
            frame_rate: scene.frame_rate,
            ..Header::default()
        };
        self.writer = Some(RecordingWriter::create(&path, header, &params)?);
        Ok(Beginning::Fresh)
    }

    fn continue_case(
        &mut self,
        path: &Path,
        params: &RecordingParams,
        checkpoint: Checkpoint,
        simulation: &mut Simulation,
    ) -> Result<Beginning, RunError> {
        let refused = |reason: String| RunError::Resume { path: self.folder.path().into(), reason };
        let recording = Recording::open(path).map_err(|error| refused(format!("{}: {error}", path.display())))?;
        let kept = recording.frames_within(checkpoint.recording);
        let kept = kept.filter(|&kept| kept == checkpoint.frame + 1);
        let kept = kept.ok_or_else(|| refused("the recording does not belong to the checkpoint".into()))?;
        if !simulation.accepts(&checkpoint.state) {
            return Err(refused("the checkpoint belongs to another mesh".into()));
        }
        self.progress.recomputed += recording.frame_count() - kept;
        self.writer = Some(RecordingWriter::resume(&recording, checkpoint.recording, params)?);
        simulation.set_state(&checkpoint.state);
        for (channel, value) in checkpoint.held {
            simulation
                .command(&Command::SetChannel { channel, value })
                .map_err(|error| RunError::Resume { path: self.folder.path().into(), reason: error.to_string() })?;
        }
        self.manifest.frames = kept - 1;
        self.recorded = Some(kept - 1);
        Ok(Beginning::After(Box::new(recording), kept))
    }

    /// Records a frame and returns the recorded version; `None` if the scene has no recording.
    pub fn record(&mut self, frame: &Frame<'_>) -> Result<Option<(StoredFrame, &Header)>, RecordError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        let stored = writer.append(frame)?;
        self.recorded = Some(frame.index);
        if frame.index > 0 {
            self.progress.timings.push(frame.report.timing);
        }
        Ok(Some((stored, writer.header())))
    }

    /// Called after every frame: writes a checkpoint and a manifest when they are due.
    pub fn after_frame(&mut self, simulation: &Simulation) -> Result<(), RecordError> {
        self.manifest.frames = simulation.frame_index();
        if self.checkpoint_written.elapsed() >= self.interval {
            self.checkpoint(simulation)?;
        }
        // The first frame is what whoever polls has waited for longest.
        if self.manifest.frames == 1 || self.manifest_written.elapsed() >= MANIFEST_INTERVAL {
            self.write_manifest()?;
        }
        Ok(())
    }

    /// Makes the current frame one from which the run can continue.
    pub fn checkpoint(&mut self, simulation: &Simulation) -> Result<(), RecordError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        // A run cannot continue from a frame that was not recorded; the last checkpoint stays.
        if self.recorded != Some(simulation.frame_index()) {
            return Ok(());
        }
        // In this order: a checkpoint must never refer to frames that a power failure could lose.
        writer.sync()?;
        let checkpoint = Checkpoint {
            frame: simulation.frame_index(),
            recording: writer.length(),
            state: simulation.state().clone(),
            held: simulation.held().map(|(name, value)| (name.to_string(), value)).collect(),
            ..Checkpoint::default()
        };
        (self.manifest.frames, self.manifest.checkpoint) = (checkpoint.frame, Some(checkpoint.frame));
        self.write_checkpoint(checkpoint)?;
        // The manifest of a run that is killed later shows where it can continue.
        self.write_manifest()
    }

    /// Writes a checkpoint, completed with the common values.
    fn write_checkpoint(&mut self, checkpoint: Checkpoint) -> Result<(), RecordError> {
        let Checkpoint { frame, recording, state, held, .. } = checkpoint;
        let progress = self.progress.clone();
        Checkpoint { frame, recording, state, held, ..progress }.write(&self.path(CHECKPOINT))?;
        self.checkpoint_written = Instant::now();
        Ok(())
    }

    fn write_manifest(&mut self) -> Result<(), RecordError> {
        (self.manifest.recomputed, self.manifest.resumed) = self.recomputed();
        self.manifest_written = Instant::now();
        self.manifest.write(self.folder.path())
    }

    /// Writes the final manifest. Failing to write it must not hide the original error.
    pub fn close(&mut self, status: Status, change: impl FnOnce(&mut Manifest)) {
        self.manifest.status = status;
        change(&mut self.manifest);
        if self.has_begun {
            let _ = self.write_manifest();
        }
    }
}

fn remove_if_there(path: &Path) -> Result<(), RecordError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(RecordError::Io { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

/// Recording parameters from the scene.
fn recording_params(scene: &Scene) -> RecordingParams {
    let record = &scene.record;
    let shows = |name: &str| record.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name));
    let stress_in_cells = record.vtu.file_name("cells").is_some() && (shows("cauchy_stress") || shows("von_mises"));
    let stress_in_color = record.color.as_deref() == Some("von_mises");
    RecordingParams {
        error: record.error,
        stress: record.stress || stress_in_cells || stress_in_color,
        contacts: record.contacts,
        // A shutter shows the frames in between.
        every: if record.skin_shutter.is_some() { 1 } else { record.every },
    }
}

/// FNV-1a hash of everything that determines the results of a run: the scene, its overrides and its files.
pub(crate) fn scene_fingerprint(scene: &Scene) -> u64 {
    let mut bytes = scene.source.text().as_bytes().to_vec();
    for set in scene.source.overrides() {
        bytes.push(0);
        bytes.extend_from_slice(set.text().as_bytes());
    }
    for file in scene.files() {
        bytes.push(0);
        bytes.extend(crc32fast::hash(&std::fs::read(file).unwrap_or_default()).to_le_bytes());
    }
    for (name, mesh) in scene.source.attachments() {
        bytes.push(0);
        bytes.extend_from_slice(name.as_bytes());
        mesh.points.iter().flat_map(|p| p.to_array()).for_each(|x| bytes.extend(x.to_le_bytes()));
        mesh.cells().flat_map(|(_, nodes)| nodes).for_each(|node| bytes.extend(node.to_le_bytes()));
    }
    fingerprint(bytes)
}
