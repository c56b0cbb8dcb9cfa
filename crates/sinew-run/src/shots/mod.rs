//! Many shots: characters times motions, one table, one sheet of pictures.
//!
//! Every shot is an ordinary run in a folder of its own, which can be inspected, resumed and repeated like any other. All
//! state is on disk: a shot whose manifest says that it is complete, and whose scene and files have not changed since, is
//! not computed again. A shot that cannot be computed does not stop the others; the table says why.

mod files;
mod row;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_fem::{Interrupt, RecordError, StepReport};
use sinew_record::artist::ArtistFacts;
use sinew_record::record::write_file;
use sinew_scene::Scene;

pub use self::files::{CONTACT_SHEET, PAGE, PICTURES, TABLE, check_names, strangers};
pub use self::row::Row;
use crate::journal::scene_fingerprint;
use crate::manifest::{Kind, Machine, Manifest, Origin, Status, now};
use crate::run::{Observer, RunOptions, RunOutcome};
use crate::sweep::{complete, workers};

/// A character and its motion.
#[derive(Debug)]
pub struct Shot {
    /// Name of its folder and files.
    pub name: String,
    /// The character, as given.
    pub character: String,
    /// The motion, as given, or the name of an animation of the character.
    pub motion: String,
    /// The scene, or why there is none.
    pub scene: Result<Scene, String>,
    /// Its files, in the folder of the shots.
    pub outputs: Vec<PathBuf>,
    /// The command that computes this shot alone.
    pub origin: Origin,
}

/// How to compute shots.
#[derive(Clone, Debug, Default)]
pub struct ShotsOptions {
    /// Folder of all files.
    pub folder: PathBuf,
    /// Shots at a time; they share the cores.
    pub jobs: usize,
    /// Whether files that no run wrote may be replaced.
    pub replace: bool,
    /// The command that computes all of them.
    pub origin: Origin,
}

/// What came of all shots.
#[derive(Clone, Debug, Default)]
pub struct ShotsOutcome {
    /// One row per shot.
    pub rows: Vec<Row>,
    /// Number of shots that were complete already.
    pub known: usize,
    /// Whether an interrupt ended it.
    pub interrupted: bool,
    /// The files of all shots together.
    pub files: Vec<PathBuf>,
}

impl ShotsOutcome {
    /// Number of shots with a status.
    pub fn count(&self, status: &str) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }
}

/// What happens while shots are computed.
pub enum Heard<'a> {
    /// Frames of all shots that are done, their number, and how many shots are computed now.
    Frames(usize, usize, usize),
    /// A shot has ended: how many have, of how many, and its row.
    Ended(usize, usize, &'a Row),
}

/// What a worker tells.
enum Event {
    Frame,
    Ended(usize, Result<(), String>),
}

/// Takes the finished files of a run to their places.
pub type Finish<'a> = dyn Fn(&Shot, &mut RunOutcome) -> Result<(), String> + Sync + 'a;

/// Computes all shots that are not complete yet, and writes the table, the page and the sheet of pictures.
///
/// # Errors
/// Files that cannot be written; faults of single shots are in their rows.
pub fn compute(
    shots: &[Shot],
    options: &ShotsOptions,
    finish: &Finish<'_>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<ShotsOutcome, RecordError> {
    let interrupt = Interrupt::ambient();
    let root = options.folder.as_path();
    let failed = |source| RecordError::Io { path: root.join(PICTURES), source };
    std::fs::create_dir_all(root.join(PICTURES)).map_err(failed)?;
    let missing: Vec<usize> =
        (0..shots.len()).filter(|&k| shots[k].scene.is_ok() && !is_complete(&shots[k], root)).collect();
    let refused = shots.iter().filter(|shot| shot.scene.is_err()).count();
    let known = shots.len() - refused - missing.len();
    let mut manifest = begin(shots, options, known);
    manifest.write(root)?;
    let frames = |k: usize| shots[k].scene.as_ref().map_or(0, Scene::frame_count);
    let all_frames: usize = missing.iter().map(|&k| frames(k)).sum();
    let mut errors: Vec<Option<String>> = vec![None; shots.len()];
    let (mut done_frames, mut ended) = (0, known + refused);
    let at_work = AtomicUsize::new(0);
    let job = |index: usize, tell: &(dyn Fn(Event) + Sync)| {
        let number = missing[index];
        at_work.fetch_add(1, Ordering::Relaxed);
        let one = || run_shot(&shots[number], options, &interrupt, finish, tell);
        // The program has told the cause.
        let result = catch_unwind(AssertUnwindSafe(one)).unwrap_or_else(|_| Err("a bug in sinew stopped it".into()));
        at_work.fetch_sub(1, Ordering::Relaxed);
        tell(Event::Ended(number, result));
    };
    let cores = rayon::current_num_threads();
    workers::share(missing.len(), options.jobs, cores, &interrupt, job, &mut |event| match event {
        Event::Frame => {
            done_frames = (done_frames + 1).min(all_frames);
            heard(Heard::Frames(done_frames, all_frames, at_work.load(Ordering::Relaxed)));
        }
        Event::Ended(number, result) => {
            errors[number] = result.err();
            // After an interrupt, shots end without being complete.
            if !interrupt.is_wanted() {
                ended += 1;
                manifest.frames = ended;
                // A full disk stops the runs, which say so.
                let _ = manifest.write(root);
                heard(Heard::Ended(ended, shots.len(), &Row::of(&shots[number], root, errors[number].as_deref())));
            }
        }
    });
    let rows: Vec<Row> = shots.iter().zip(&errors).map(|(shot, error)| Row::of(shot, root, error.as_deref())).collect();
    let mut outcome = ShotsOutcome { rows, known, ..ShotsOutcome::default() };
    outcome.interrupted = interrupt.is_wanted() && outcome.count("done") + outcome.count("refused") < shots.len();
    outcome.files = files::write(&outcome.rows, root)?;
    manifest.status = if outcome.interrupted { Status::Interrupted } else { Status::Done };
    let wrong = outcome.count("refused") + outcome.count("failed");
    manifest.frames = outcome.count("done") + wrong;
    manifest.passed = (!outcome.interrupted).then_some(wrong == 0);
    manifest.write(root)?;
    Ok(outcome)
}

/// The manifest of the folder of all shots.
fn begin(shots: &[Shot], options: &ShotsOptions, ended: usize) -> Manifest {
    let mut outputs: Vec<String> = [TABLE, PAGE, CONTACT_SHEET].map(String::from).to_vec();
    outputs.extend(shots.iter().map(|shot| format!("{PICTURES}/{}.png", shot.name)));
    let names = shots.iter().flat_map(|shot| &shot.outputs).filter_map(|path| path.file_name());
    outputs.extend(names.map(|name| name.to_string_lossy().into_owned()));
    // What earlier shots wrote stays ours.
    let earlier = Manifest::read(&options.folder).map(|earlier| earlier.outputs).unwrap_or_default();
    outputs.extend(earlier);
    outputs.sort();
    outputs.dedup();
    Manifest {
        kind: Kind::Shots,
        origin: options.origin.clone(),
        scene: format!("{} shots", shots.len()),
        version: env!("CARGO_PKG_VERSION").into(),
        machine: Machine::here(),
        process: std::process::id(),
        started: now(),
        frames: ended,
        frames_planned: shots.len(),
        outputs,
        ..Manifest::default()
    }
}

/// Whether a shot has been computed from the same scene and files.
fn is_complete(shot: &Shot, root: &Path) -> bool {
    let Ok(scene) = &shot.scene else { return false };
    let manifest = Manifest::read(&root.join(&shot.name));
    manifest.is_ok_and(|manifest| {
        manifest.status == Status::Done
            && manifest.fingerprint == scene_fingerprint(scene)
            && shot.outputs.iter().all(|output| output.is_file())
    })
}

/// Tells the frames of a shot, and ends it at an interrupt.
struct Quiet<'a> {
    interrupt: &'a Interrupt,
    tell: &'a (dyn Fn(Event) + Sync),
}

impl Observer for Quiet<'_> {
    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn begin(&mut self, done: usize, _all: usize) {
        (0..done).for_each(|_| (self.tell)(Event::Frame));
    }

    fn frame(&mut self, _done: usize, _all: usize, _report: &StepReport) -> ControlFlow<()> {
        (self.tell)(Event::Frame);
        if self.interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn run_shot(
    shot: &Shot,
    options: &ShotsOptions,
    interrupt: &Interrupt,
    finish: &Finish<'_>,
    tell: &(dyn Fn(Event) + Sync),
) -> Result<(), String> {
    let scene = shot.scene.as_ref().map_err(String::clone)?;
    let root = &options.folder;
    let run = RunOptions {
        output: Some(root.join(&shot.name)),
        replace: options.replace,
        origin: shot.origin.clone(),
        ..RunOptions::default()
    };
    let outcome = complete(scene, run, &mut Quiet { interrupt, tell }, || is_complete(shot, root))?;
    let Some(mut outcome) = outcome else { return Ok(()) };
    if outcome.interrupted {
        return Err(format!("interrupted after {} frames", outcome.frames));
    }
    finish(shot, &mut outcome)?;
    let Some(picture) = outcome.artist.as_ref().and_then(telling_picture) else { return Ok(()) };
    let path = root.join(PICTURES).join(format!("{}.png", shot.name));
    write_file(&path, picture).map_err(|error| error.to_string())
}

/// The picture of the strip nearest to the frame in which flesh differs most from blend skinning.
fn telling_picture(facts: &ArtistFacts) -> Option<&[u8]> {
    let frame = facts.bodies.iter().find_map(|body| body.comparison.as_ref()).map_or(0, |moment| moment.frame);
    let nearest = facts.strip.iter().min_by_key(|picture| picture.frame.abs_diff(frame))?;
    Some(&nearest.png)
}
