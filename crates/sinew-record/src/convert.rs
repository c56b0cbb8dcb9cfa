//! Conversion of a recording to other file formats, several at once in one pass.
//!
//! It uses the recorders of a run, which see the same frames: a later conversion writes the same files as the run
//! itself.

mod choice;
mod format;
mod settings;

use std::collections::BTreeSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};

use sinew_fem::RecordError;
use sinew_raster::UpAxis;
use sinew_scene::SceneError;
use sinew_scene::output::{OutputClash, PREVIOUS, RECORDING, check_outputs};
use sinew_store::{Recording, StoreError, StoredFrame};
use thiserror::Error;

use self::choice::Choice;
pub use self::choice::matching_probes;
pub use self::format::OutputFormat;
use self::settings::Settings;
use crate::costume::Wardrobe;
use crate::record::{Estimate, FileRecorder};

/// Which frames are converted, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertOptions {
    /// Indices of the first and the last frame.
    pub frames: RangeInclusive<usize>,
    /// Interval between converted frames, in recorded frames.
    pub every: usize,
    /// Cell fields of VTU files, from [`crate::record::CELL_FIELDS`]; `None` uses those of the scene.
    pub fields: Option<Vec<String>>,
    /// Probes of tables and plots: those whose names contain one of these texts; all if there is none.
    pub probes: Vec<String>,
    /// Field that colors pictures, from [`crate::record::ColorField::NAMES`]; `None` uses that of the scene.
    pub color: Option<String>,
    /// Width and height of pictures and films \[pixels\]; `None` uses those of the scene.
    pub size: Option<[usize; 2]>,
    /// Values of the scene to replace, such as `record.camera.view="front"`: keys of `[record]` that say how files look,
    /// `title` and `up`.
    pub overrides: Vec<String>,
    /// Frames per value clip of USD files; `None` uses the value of the scene.
    pub clips: Option<usize>,
    /// Maximum number of morph targets of a body in GLB files; `None` uses the value of the scene.
    pub morph_targets: Option<usize>,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        ConvertOptions {
            frames: 0..=usize::MAX,
            every: 1,
            fields: None,
            probes: Vec::new(),
            color: None,
            size: None,
            overrides: Vec::new(),
            clips: None,
            morph_targets: None,
        }
    }
}

/// The planned outputs and their sizes.
pub struct Plan<'a> {
    /// One entry per output, in the given order.
    pub outputs: Vec<PlannedOutput>,
    /// Notes for the user.
    pub notes: Vec<String>,
    recording: &'a Recording,
    /// Frames with all data.
    shown: BTreeSet<usize>,
    /// Frames that pictures take into account, but do not show.
    seen: BTreeSet<usize>,
    /// Frames for tables of probes, which are recorded at every frame.
    probed: BTreeSet<usize>,
    /// Probes of tables and plots; `None` takes all.
    choice: Option<Choice>,
    settings: Settings,
}

/// One output.
#[derive(Clone, Debug)]
pub struct PlannedOutput {
    /// The given file; sequences and caches of several bodies lie beside it.
    pub path: PathBuf,
    /// Its format.
    pub format: OutputFormat,
    /// Its size.
    pub estimate: Estimate,
}

/// The result of a conversion.
#[derive(Clone, Debug, Default)]
pub struct ConvertReport {
    /// One entry per output, in the given order.
    pub outputs: Vec<WrittenOutput>,
    /// Number of converted frames.
    pub frames: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// One written output.
#[derive(Clone, Debug, Default)]
pub struct WrittenOutput {
    /// The given file.
    pub path: PathBuf,
    /// All its files.
    pub files: Vec<PathBuf>,
    /// Their size.
    pub bytes: u64,
}

/// Why a recording cannot be converted.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// There is no recording.
    #[error("there is no recording in {}{}", path.display(), if path.is_dir() { "; a run writes recording.sinew there" } else { "" })]
    NoRecording {
        /// File or folder.
        path: PathBuf,
    },
    /// The recording cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: StoreError,
    },
    /// The extension of an output is unknown.
    #[error("unknown format of {}\n{}", path.display(), format::known_formats(extension))]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its extension, in lower case.
        extension: String,
    },
    /// Clips of a file that is not split.
    #[error("{} is not split into clips\nhint: leave out --clips, or write .usda: readers of .usdc load single frames by themselves", path.display())]
    NoClips {
        /// The file.
        path: PathBuf,
    },
    /// Nothing to write.
    #[error("no output is given")]
    NoOutput,
    /// Two outputs are the same.
    #[error("{} is given twice", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// An output is the recording, or the same file as another.
    #[error("{0}")]
    Clash(#[from] OutputClash),
    /// No frame is selected.
    #[error("no frame is selected: the recording has frames 0 to {last}")]
    NoFrames {
        /// Index of the last frame.
        last: usize,
    },
    /// An output needs the stress of the cells.
    #[error(
        "the recording has no stress, which {what} needs\nhint: record it with `stress = true` in [record], and run the scene again"
    )]
    NoStress {
        /// The output that needs it.
        what: String,
    },
    /// A probe that is not there.
    #[error("the recording has no probe `{name}`\nhint: {hint}")]
    NoProbe {
        /// Its name.
        name: String,
        /// Names that are there.
        hint: String,
    },
    /// Probes are chosen, but no file shows any.
    #[error("--probe chooses what .csv and .svg files show, and none is written")]
    NoTable,
    /// A value of the scene cannot be replaced.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// A key of the scene has no effect on a recording.
    #[error("`{text}` changes nothing: {reason}")]
    NoEffect {
        /// The replacement.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// Videos of this format have no transparency.
    #[error("{} cannot have a transparent background\nhint: write .webm, .apng or .gif, or set record.background=\"white\"", path.display())]
    Opaque {
        /// The file.
        path: PathBuf,
    },
    /// Several mistakes.
    #[error("{}", .0.iter().map(ConvertError::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<ConvertError>),
    /// A file cannot be written.
    #[error("{0}")]
    Record(#[from] RecordError),
    /// The user interrupted the conversion.
    #[error("interrupted; no unfinished file is left")]
    Interrupted,
}

impl ConvertError {
    /// The text for a person: each mistake with `error:` in front of it.
    pub fn report(&self) -> String {
        match self {
            Self::Scene(error) => error.to_string().trim_end().to_string(),
            Self::Several(errors) => errors.iter().map(Self::report).collect::<Vec<_>>().join("\n\n"),
            error => format!("error: {error}"),
        }
    }
}

/// The recording at a path: the file itself, or the one in the folder of a run.
pub fn find_recording(path: &Path) -> Result<PathBuf, ConvertError> {
    if !path.is_dir() {
        let missing = || ConvertError::NoRecording { path: path.into() };
        return path.exists().then(|| path.to_path_buf()).ok_or_else(missing);
    }
    let usual = path.join(RECORDING);
    if usual.is_file() {
        return Ok(usual);
    }
    // A scene may give its recording another name.
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_recording = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".sinew") && !name.starts_with(PREVIOUS) && file.is_file()
    };
    let mut found: Vec<PathBuf> = entries.filter(is_recording).collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(ConvertError::NoRecording { path: path.into() }),
    }
}

/// Opens a recording, given as a file or as the folder of a run.
pub fn open_recording(path: &Path) -> Result<Recording, ConvertError> {
    let path = find_recording(path)?;
    Recording::open(&path).map_err(|source| ConvertError::Recording { path, source })
}

/// Writes all outputs; calls `progress` with the number of frames done and the total, and stops if it returns `Break`.
pub fn convert(
    recording: &Recording,
    outputs: &[PathBuf],
    options: &ConvertOptions,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<ConvertReport, ConvertError> {
    plan(recording, outputs, options)?.execute(progress)
}

/// Plans the outputs and estimates their sizes.
pub fn plan<'a>(
    recording: &'a Recording,
    outputs: &[PathBuf],
    options: &ConvertOptions,
) -> Result<Plan<'a>, ConvertError> {
    if outputs.is_empty() {
        return Err(ConvertError::NoOutput);
    }
    let header = recording.header();
    let mut notes = Vec::new();
    if recording.lost_bytes() > 0 {
        let lost = recording.lost_bytes();
        notes.push(format!("the recording was cut off: its last {lost} bytes are not a whole frame and are ignored"));
    }
    // All mistakes of the command at once.
    let mut problems = Vec::new();
    let formats: Vec<OutputFormat> =
        outputs.iter().filter_map(|path| OutputFormat::from_path(path).map_err(|e| problems.push(e)).ok()).collect();
    let settings = Settings::new(header, options, &mut notes).map_err(|error| problems.extend(error)).ok();
    if formats.len() == outputs.len() {
        problems.extend(check_twice(outputs, &formats).err());
    }
    problems.extend(check_outputs([recording.path()], outputs).err().map(ConvertError::from));
    let mut choice = None;
    if !options.probes.is_empty() {
        choice = Choice::new(&header.probe_names, &options.probes).map_err(|error| problems.push(error)).ok();
        if formats.len() == outputs.len() && !formats.iter().any(|format| format.is_of_probes()) {
            problems.push(ConvertError::NoTable);
        }
    }
    if let Some(settings) = &settings {
        problems.extend(settings.check_stress(header, &formats).err());
        problems.extend(settings.check_opacity(outputs));
        problems.extend(settings.check_clips(outputs, &formats));
    }
    let mut settings = match (settings, problems.len()) {
        (Some(settings), 0) => settings,
        (_, 1) => return Err(problems.remove(0)),
        _ => return Err(ConvertError::Several(problems)),
    };

    let every = options.every.max(1);
    let last = recording.frame_count() - 1;
    let shown: BTreeSet<usize> =
        recording.shown_frames().into_iter().filter(|frame| options.frames.contains(frame)).step_by(every).collect();
    let probed: BTreeSet<usize> = (0..=last).filter(|frame| options.frames.contains(frame)).step_by(every).collect();
    let needs_shapes = formats.iter().any(|&format| !format.is_of_probes());
    let sample = if needs_shapes { shown.last() } else { probed.last() };
    let Some(&sample) = sample else { return Err(ConvertError::NoFrames { last }) };
    let sample = read(recording, sample)?;

    let mut planned = Vec::new();
    for (path, &format) in outputs.iter().zip(&formats) {
        let frames = if format.is_of_probes() { probed.len() } else { shown.len() };
        let view = sample.view(header);
        let view = match &mut choice {
            Some(choice) if format.is_of_probes() => choice.of(&view),
            _ => view,
        };
        let estimate = settings.estimate(path, format, &view, frames)?;
        planned.push(PlannedOutput { path: path.clone(), format, estimate });
    }
    let has_obj = formats.iter().any(|f| matches!(f, OutputFormat::Obj | OutputFormat::Pc2 | OutputFormat::Mdd));
    if has_obj && settings.up != UpAxis::Y {
        let axis = settings.up;
        notes.push(format!("OBJ files do not store the up axis: choose {axis:?} when importing them"));
    }
    let has_pictures = formats.iter().any(|format| *format == OutputFormat::Png || format.is_film());
    if has_pictures && settings.has_materials() {
        settings.wear(Wardrobe::of_recording(recording));
    }
    let all = recording.shown_frames();
    let step = all.len().div_ceil(LOOKED_AT).max(1);
    let others = all.into_iter().step_by(step).filter(|frame| has_pictures && !shown.contains(frame));
    let seen = others.collect();
    Ok(Plan { outputs: planned, notes, recording, shown, seen, probed, choice, settings })
}

/// Frames beside the selected ones that determine view and colors of pictures.
const LOOKED_AT: usize = 240;

/// Outputs that would write the same files.
fn check_twice(outputs: &[PathBuf], formats: &[OutputFormat]) -> Result<(), ConvertError> {
    let mut seen = BTreeSet::new();
    for (path, format) in outputs.iter().zip(formats) {
        // Text and binary USD of one name are different files.
        let name = if *format == OutputFormat::Usd { path.clone() } else { path.with_extension("") };
        if !seen.insert((name, format)) {
            return Err(ConvertError::Twice { path: path.clone() });
        }
    }
    Ok(())
}

fn read(recording: &Recording, frame: usize) -> Result<StoredFrame, ConvertError> {
    recording.frame(frame).map_err(|source| ConvertError::Recording { path: recording.path().into(), source })
}

/// A recorder and its outputs.
struct Open {
    outputs: Vec<usize>,
    recorder: Box<dyn FileRecorder>,
    /// Whether it also takes frames that only have probes.
    takes_probes: bool,
}

impl Plan<'_> {
    /// Bytes of all outputs together.
    pub fn total_bytes(&self) -> u64 {
        self.outputs.iter().map(|output| output.estimate.bytes).sum()
    }

    /// Number of frames to convert.
    pub fn frame_count(&self) -> usize {
        self.frames().len()
    }

    /// All frames that some output needs.
    fn frames(&self) -> BTreeSet<usize> {
        let takes = |is_csv: bool| self.outputs.iter().any(|output| output.format.is_of_probes() == is_csv);
        let mut frames = BTreeSet::new();
        if takes(false) {
            frames.extend(&self.shown);
        }
        if takes(true) {
            frames.extend(&self.probed);
        }
        frames
    }

    /// Writes all outputs; see [`convert`].
    pub fn execute(
        mut self,
        progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<ConvertReport, ConvertError> {
        let header = self.recording.header();
        let mut open = self.open()?;
        let count = self.frame_count();
        let frames: BTreeSet<usize> = self.frames().union(&self.seen).copied().collect();
        for (done, &number) in frames.iter().enumerate() {
            let stored = read(self.recording, number)?;
            let view = stored.view(header);
            if self.seen.contains(&number) {
                open.iter_mut().for_each(|output| output.recorder.look(&view));
            }
            let (is_shown, is_probed) = (self.shown.contains(&number), self.probed.contains(&number));
            for output in &mut open {
                match (&mut self.choice, output.takes_probes) {
                    (Some(choice), true) if is_probed => output.recorder.frame(&choice.of(&view))?,
                    (None, true) if is_probed => output.recorder.frame(&view)?,
                    (_, false) if is_shown => output.recorder.frame(&view)?,
                    _ => {}
                }
            }
            if progress(done + 1, frames.len()).is_break() {
                // Unfinished recorders remove their files.
                return Err(ConvertError::Interrupted);
            }
        }
        let mut report = ConvertReport { frames: count, ..ConvertReport::default() };
        report.outputs = self
            .outputs
            .iter()
            .map(|output| WrittenOutput { path: output.path.clone(), ..Default::default() })
            .collect();
        for Open { outputs, recorder, .. } in &mut open {
            // Pictures may take longer than all frames.
            let mut watch = |done: usize, all: usize| {
                // The pictures look at the interrupt themselves.
                let _ = progress(done, all);
            };
            recorder.finish_watched(&mut watch).map_err(|error| match error {
                RecordError::Interrupted => ConvertError::Interrupted,
                other => other.into(),
            })?;
            self.notes.extend(recorder.notes());
            let files = recorder.files();
            for &output in &*outputs {
                // Stills and films come from one recorder.
                let films = || outputs.iter().map(|&film| &self.outputs[film]).filter(|film| film.format.is_film());
                let own = &self.outputs[output];
                let is_ours = |file: &&PathBuf| match own.format.is_film() {
                    true => **file == own.path,
                    false => films().all(|film| film.path != **file),
                };
                let written = &mut report.outputs[output];
                written.files = files.iter().filter(is_ours).cloned().collect();
                written.bytes =
                    written.files.iter().filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum();
            }
        }
        report.notes = self.notes;
        Ok(report)
    }

    fn open(&self) -> Result<Vec<Open>, ConvertError> {
        // Each picture is drawn once: for the first stills, and for all films.
        let stills = self.outputs.iter().position(|output| output.format == OutputFormat::Png);
        let films = self.outputs.iter().enumerate().filter(|(_, output)| output.format.is_film()).map(|(k, _)| k);
        let drawn: Vec<usize> = stills.into_iter().chain(films).collect();
        let mut open = Vec::new();
        for (number, output) in self.outputs.iter().enumerate().filter(|(k, _)| !drawn.contains(k)) {
            let recorder = self.settings.recorder(output, self.recording.header())?;
            open.push(Open { outputs: vec![number], recorder, takes_probes: output.format.is_of_probes() });
        }
        if !drawn.is_empty() {
            let path = |k: usize| self.outputs[k].path.clone();
            let films = drawn.iter().copied().filter(|&k| Some(k) != stills).map(path).collect();
            let recorder = self.settings.pictures(stills.map(path), films)?;
            open.push(Open { outputs: drawn, recorder, takes_probes: false });
        }
        Ok(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_share_their_files_are_refused() {
        let plan = |names: [&str; 2]| {
            let paths = names.map(PathBuf::from);
            let formats: Vec<_> = paths.iter().map(|path| OutputFormat::from_path(path).unwrap()).collect();
            check_twice(&paths, &formats)
        };
        assert!(plan(["a.pvd", "a.vtu"]).is_err() && plan(["a.obj", "a.obj"]).is_err());
        assert!(plan(["a.pc2", "a.mdd"]).is_ok() && plan(["a.obj", "b.obj"]).is_ok());
    }
}
