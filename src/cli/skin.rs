//! `sinew skin`: adds simulated flesh to a rigged, animated character.

mod art;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sinew_geometry::TriMesh;
use sinew_io::load_rig;
use sinew_record::record::write_file;
use sinew_rig::{Animation, Flesh, FleshChoice, FleshParams, Rig, RigError, Role};
use sinew_run::manifest::{Manifest, Origin};
use sinew_run::run::RunOptions;
use sinew_scene::motion;
use sinew_scene::output::{check_outputs, maps_folder};
use sinew_scene::spec::rig::{self, Keep, MotionRest};
use sinew_scene::{Dimension, Scene, format_quantity};

use self::art::Art;
use super::console::{self, Console};
use super::{Failure, Status, mesh, run, shots};

/// Default number of lattice cells: fingers are a few cells wide, and a frame takes a fraction of a second.
const USUAL_CELLS: f64 = 20_000.0;

/// Cells of a preview.
const PREVIEW_CELLS: f64 = 1_500.0;

/// Barrier gap relative to the edges of cells and of skin triangles: wide enough to stay about as soft as flesh, too
/// narrow to be visible.
pub const GAP_SHARE: f64 = 0.2;

/// Default gap of the barrier \[m\]. Every pair of skin points within it is a contact, so a gap as wide as skin triangles
/// makes coarse cells slower than fine ones.
fn usual_gap(cell: f64, scale: f64, skin: &TriMesh) -> f64 {
    // Equilateral triangles of the mean area.
    let edge = scale * (skin.area() / skin.triangle_count().max(1) as f64 * 4.0 / 3f64.sqrt()).sqrt();
    GAP_SHARE * cell.min(edge)
}

/// Adds simulated flesh to a rigged, animated character
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Character file (.glb, .gltf, .vrm); several with --sweep
    #[arg(id = "character", value_name = "CHARACTER", required = true)]
    pub characters: Vec<PathBuf>,

    /// The character of this run.
    #[arg(skip)]
    pub character: PathBuf,

    /// Output files (.usda, .usdc, .usdz, .pc2, .glb); report and recording go to a folder with the name of the first [default:
    /// out/CHARACTER.usda]. With --sweep a folder, or names in which {} is the name of the shot [default: out/shots/{}.usda]
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Name of the animation [default: the first animation]
    #[arg(long, value_name = "NAME")]
    pub animation: Option<String>,

    /// Another motion than those of the character: a file (.bvh, .glb, .gltf, .vrm), poses as text (.toml), or walk,
    /// wave, squat, fist, range-of-motion; --animation chooses in the file. Joints are matched by their names. Several
    /// with --sweep
    #[arg(long = "motion", id = "motion", value_name = "FILE|NAME")]
    pub motions: Vec<String>,

    /// The motion of this run.
    #[arg(skip)]
    pub motion: Option<String>,

    /// A joint of the motion and the joint of the character that follows it; before all names, any number of times
    #[arg(long, value_name = "SOURCE=TARGET", value_parser = joint_pair, requires = "motion")]
    pub map: Vec<(String, String)>,

    /// The character performs the motion on the spot
    #[arg(long, requires = "motion")]
    pub in_place: bool,

    /// Feet, hands or both stay where the motion has them, although limbs have other lengths
    #[arg(long, value_name = "feet|hands|feet,hands", value_delimiter = ',', value_parser = ["feet", "hands"], requires = "motion")]
    pub keep: Vec<String>,

    /// The pose of the motion that corresponds to the rest pose of the character: that of the file, or the first frame
    #[arg(long, value_name = "POSE", default_value = "file", value_parser = ["file", "first-frame"])]
    pub motion_rest: String,

    /// Edge of a lattice cell, for example "5 mm" [default: about 20000 cells]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    pub cell: Option<f64>,

    /// Number of lattice cells, instead of their size
    #[arg(long, value_name = "N", conflicts_with_all = ["cell", "preview"], value_parser = clap::value_parser!(u32).range(1..))]
    pub cells: Option<u32>,

    /// Shows the motion within seconds: about 1500 cells, no self-contact, a loose tolerance [default output:
    /// out/CHARACTER_preview.usda]
    #[arg(long, conflicts_with_all = ["cell", "contact", "gap"])]
    pub preview: bool,

    /// Bones: auto, or a file (TOML) with a list `bones` as in `rig` of a scene
    #[arg(long, value_name = "auto|FILE", default_value = "auto")]
    pub bones: String,

    /// Attaches flesh to all bones by springs [default: only where the flesh is thinner than two cells, else rigidly]
    #[arg(long)]
    pub soft: bool,

    /// Share of their stiffness that soft bones keep, for motions that leave the flesh between bones no room, for example
    /// 0.07 [default: 1]
    #[arg(long, value_name = "SHARE", value_parser = give_way, allow_hyphen_values = true)]
    pub give_way: Option<f64>,

    /// Simulates inertia: flesh jiggles
    #[arg(long)]
    pub dynamic: bool,

    #[command(flatten)]
    pub art: Art,

    /// Young's modulus, for example "30 kPa"
    #[arg(long, value_name = "PRESSURE", default_value = "20 kPa")]
    pub young: String,

    /// Poisson's ratio; 0.45 nearly preserves volume
    #[arg(long, value_name = "NU", default_value_t = 0.45, value_parser = poisson, allow_hyphen_values = true)]
    pub poisson: f64,

    /// Factor on all lengths of the file, for example 0.01 for a file in centimeters [default: 1, but a human of 170 m is
    /// asked about]
    #[arg(long, value_name = "FACTOR", value_parser = rate, allow_hyphen_values = true)]
    pub scale: Option<f64>,

    /// The axis that points up in the file
    #[arg(long, value_name = "AXIS", default_value = "y", value_parser = ["x", "y", "z"])]
    pub up: String,

    /// Names of the surfaces to fill with flesh [default: closed skinned surfaces]
    #[arg(long, value_name = "NAME")]
    pub surface: Vec<String>,

    /// What is flesh, and how surfaces that are open or intersect themselves are filled: auto decides part by part,
    /// winding fills closed pieces by winding numbers, none refuses
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = ["auto", "none", "winding"])]
    pub repair: String,

    /// Corrective shapes: .glb files keep skeleton, weights and all animations, with at most N morph targets driven by
    /// joint angles, for game engines [default: morph targets that follow the motion exactly, without skeleton]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub correctives: Option<u32>,

    /// Refuses surfaces that are open, or intersect or touch themselves: --repair none
    #[arg(long, conflicts_with = "repair")]
    pub strict: bool,

    /// Decides about a part of the character: flesh, on_flesh (rides on the flesh under it) or on_bone (rides on its
    /// bones). Parts have the name of their surface or node, with a number if there are several: "shirt=on_bone",
    /// "eyes:2=on_flesh"
    #[arg(long = "part", value_name = "NAME=ROLE", value_parser = part)]
    pub parts: Vec<(String, Role)>,

    /// Frames per second
    #[arg(long, value_name = "N", default_value_t = 24.0, value_parser = rate, allow_hyphen_values = true)]
    pub frame_rate: f64,

    /// Start time in the animation, for example "1.5 s" [default: the first keyframe]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    pub start: Option<f64>,

    /// Duration from the start [default: to the last keyframe]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<f64>,

    /// First and last frame to write, counted from time 0 of the animation [default: all]. Without --start, the
    /// simulation starts at the first of them; with --dynamic, at the first keyframe
    #[arg(long, value_name = "A..B", value_parser = frames, conflicts_with = "duration")]
    pub frames: Option<[usize; 2]>,

    /// For motion blur: times at which the shutter opens and closes around each frame, in frames. Subframes go to USD
    /// files while the shutter is open, and to .pc2 files always [default: 0..0.5 with --sub-frames]
    #[arg(long, value_name = "OPEN..CLOSE", value_parser = shutter, allow_hyphen_values = true)]
    pub shutter: Option<[f64; 2]>,

    /// For motion blur: simulated poses per frame [default: 4 with --shutter, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub sub_frames: Option<u32>,

    /// Self-contact: barrier (no penetration; places that cross at rest are left alone until they part), penalty (pulls
    /// them apart, slight penetration) or none
    #[arg(long, value_name = "MODE", default_value = "barrier", value_parser = ["barrier", "penalty", "none"])]
    pub contact: String,

    /// Distance at which the barrier starts to act, for example "0.2 mm" [default: a fifth of the edge of a cell or of
    /// a skin triangle, whichever is shorter]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    pub gap: Option<f64>,

    /// Runs all characters through all motions, or through all of their own animations: one table, one sheet of pictures.
    /// The same command again computes only what is missing or has changed
    #[arg(long, conflicts_with = "scene")]
    pub sweep: bool,

    /// Shots at a time, which share the cores [default: one per core]
    #[arg(long, value_name = "N", requires = "sweep", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Draws no pictures, also none in the report
    #[arg(long)]
    pub no_pictures: bool,

    /// Writes the scene to this file instead of running it
    #[arg(long, value_name = "FILE.toml")]
    pub scene: Option<PathBuf>,

    /// Continues an interrupted run
    #[arg(long, conflicts_with = "scene")]
    pub resume: bool,

    /// Also replaces files in the report folder that no run wrote
    #[arg(long, conflicts_with = "scene")]
    pub force: bool,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0).ok_or_else(|| "must be positive".into())
}

fn joint_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(source, target)| (source.trim().to_string(), target.trim().to_string()));
    pair.filter(|(source, target)| !source.is_empty() && !target.is_empty())
        .ok_or_else(|| "a joint of the motion and one of the character, for example LeftArm=upper_arm.L".into())
}

fn frames(text: &str) -> Result<[usize; 2], String> {
    let ends = text.split_once("..").map(|(first, last)| [first, last].map(|end| end.trim().parse().ok()));
    match ends {
        Some([Some(first), Some(last)]) if first <= last => Ok([first, last]),
        Some([Some(_), Some(_)]) => Err("the last frame comes before the first".into()),
        _ => Err("two frames, for example 101..148".into()),
    }
}

fn shutter(text: &str) -> Result<[f64; 2], String> {
    let ends = text.split_once("..").map(|(open, close)| [open, close].map(|end| end.trim().parse::<f64>().ok()));
    match ends {
        Some([Some(open), Some(close)]) if (-1.0..=0.0).contains(&open) && (0.0..=1.0).contains(&close) => {
            if open < close { Ok([open, close]) } else { Err("it never opens".into()) }
        }
        _ => Err("two parts of a frame, from -1..0 to 0..1, for example 0..0.5 or -0.25..0.25".into()),
    }
}

fn part(text: &str) -> Result<(String, Role), String> {
    let roles = [Role::Flesh, Role::OnFlesh, Role::OnBone];
    let (name, role) = text.rsplit_once('=').ok_or("a name and a role, for example shirt=on_bone")?;
    let role = roles.into_iter().find(|known| known.name() == role.trim());
    role.map(|role| (name.trim().into(), role)).ok_or_else(|| "the roles are flesh, on_flesh and on_bone".into())
}

fn poisson(text: &str) -> Result<f64, String> {
    let is_ratio = |ratio: &f64| *ratio > -1.0 && *ratio < 0.5;
    text.parse().ok().filter(is_ratio).ok_or_else(|| "must be above -1 and below 0.5".into())
}

fn give_way(text: &str) -> Result<f64, String> {
    let is_share = |share: &f64| (0.001..=1.0).contains(share);
    text.parse().ok().filter(is_share).ok_or_else(|| "must be from 0.001 to 1".into())
}

fn duration(text: &str) -> Result<f64, String> {
    let value = seconds(text)?;
    if value >= 0.0 { Ok(value) } else { Err("must not be negative".into()) }
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim();
    number.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| "a time, for example \"1.5 s\"".into())
}

/// Runs the command.
pub fn execute(arguments: &Arguments, origin: Origin, console: Console) -> Result<Status, Failure> {
    if arguments.sweep {
        return shots::execute(arguments, origin, console);
    }
    let arguments = &arguments.alone()?;
    let outputs = arguments.outputs();
    let text = prepared(arguments, &outputs)?;
    if let Some(path) = &arguments.scene {
        write_file(path, text.as_bytes()).map_err(|error| Failure::Other(error.to_string()))?;
        console.note(&format!("wrote {}", path.display()));
        if arguments.json {
            console::print(&format!("{}\n", serde_json::json!({ "scene": path.to_string_lossy() })))?;
        }
        return Ok(Status::Done);
    }
    let scene = arguments.scene_of(&text)?;
    let folder = outputs[0].with_extension("");
    let options = RunOptions {
        output: Some(folder.clone()),
        resume: arguments.resume,
        replace: arguments.force,
        origin,
        ..RunOptions::default()
    };
    let status = run::simulate_and(&scene, &options, console, arguments.json, |outcome| {
        outputs.iter().try_for_each(|path| bring_up(&folder, path, &mut outcome.outputs))
    })?;
    console.note(&format!("open {} in a browser", folder.join("report.html").display()));
    Ok(status)
}

/// Reads a character file.
pub(super) fn read_rig(path: &Path) -> Result<Rig, Failure> {
    load_rig(path).map_err(|error| {
        let extension = path.extension().unwrap_or_default();
        let is_told = ["glb", "gltf", "vrm"].iter().any(|known| extension.eq_ignore_ascii_case(known))
            || error.to_string().contains("hint: ");
        let hint = if is_told {
            ""
        } else {
            "\nhint: characters are .glb, .gltf and .vrm files; Blender makes them of others"
        };
        Failure::Other(format!("{error}{hint}"))
    })
}

/// The scene of one character and one motion, as text.
pub(super) fn prepared(arguments: &Arguments, outputs: &[PathBuf]) -> Result<String, Failure> {
    let mut rig = read_rig(&arguments.character)?;
    let moved = motion::perform(&mut rig, Path::new(""), &arguments.motion_settings());
    let faults = moved.err().unwrap_or_default().into_iter().map(|(_, fault)| fault).collect();
    check(arguments, &rig, outputs, faults)?;
    let names = outputs.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let character = std::path::absolute(&arguments.character)
        .map_err(|source| Failure::Write { what: arguments.character.display().to_string(), source })?;
    scene_text(arguments, &rig, &character, &names.collect::<Vec<_>>())
}

impl Arguments {
    /// The same for the only character and motion.
    fn alone(&self) -> Result<Self, Failure> {
        let count = self.characters.len().max(self.motions.len());
        if count > 1 {
            let what = if self.characters.len() > 1 { "characters" } else { "motions" };
            return Err(Failure::Other(format!("{count} {what} are given\nhint: --sweep runs all of them")));
        }
        Ok(self.of(&self.characters[0], self.motions.first().map(String::as_str)))
    }

    /// The same for one character and one motion.
    pub(super) fn of(&self, character: &Path, motion: Option<&str>) -> Self {
        let (character, motion) = (character.to_path_buf(), motion.map(String::from));
        Self {
            characters: vec![character.clone()],
            motions: motion.iter().cloned().collect(),
            character,
            motion,
            ..self.clone()
        }
    }

    /// The scene of a text that [`prepared`] made.
    pub(super) fn scene_of(&self, text: &str) -> Result<Scene, Failure> {
        let mut scene = Scene::from_str(text, &format!("scene of {}", self.character.display()), ".")?;
        scene.record.pictures &= !self.no_pictures;
        Ok(scene)
    }

    /// The keys of the rig that say how the character moves.
    fn motion_settings(&self) -> rig::Rig {
        rig::Rig {
            motion: self.motion.clone(),
            animation: self.animation.clone(),
            motion_map: self.map.iter().cloned().collect(),
            in_place: self.in_place,
            keep: [("feet", Keep::Feet), ("hands", Keep::Hands)]
                .into_iter()
                .filter(|(word, _)| self.keep.iter().any(|kept| kept == word))
                .map(|(_, keep)| keep)
                .collect(),
            motion_rest: if self.motion_rest == "file" { MotionRest::File } else { MotionRest::FirstFrame },
            ..rig::Rig::default()
        }
    }

    /// The motion from elsewhere, which was added last, or an animation of the character.
    fn chosen<'a>(&self, rig: &'a Rig) -> Result<Option<&'a Animation>, RigError> {
        match self.motion {
            Some(_) => Ok(rig.animations.last()),
            None => rig.animation(self.animation.as_deref()),
        }
    }

    /// How surfaces are repaired.
    fn repair(&self) -> &str {
        if self.strict { "none" } else { &self.repair }
    }

    /// How flesh is chosen.
    fn flesh(&self) -> FleshParams {
        FleshParams {
            surfaces: self.surface.clone(),
            bones: Vec::new(),
            choice: if self.repair() == "auto" { FleshChoice::Auto } else { FleshChoice::Closed },
            roles: self.parts.clone(),
        }
    }

    /// The output files, at least one.
    pub(super) fn outputs(&self) -> Vec<PathBuf> {
        let mut outputs = self.output.clone();
        if outputs.is_empty() && self.sweep {
            outputs.push(Path::new("out/shots").join(shots::PLACE.to_string() + ".usda"));
        } else if outputs.is_empty() {
            let stem = self.characters.first().and_then(|path| path.file_stem()).unwrap_or("character".as_ref());
            let stem = stem.to_string_lossy();
            // A preview does not replace the character itself.
            let ending = if self.preview { "_preview" } else { "" };
            outputs.push(Path::new("out").join(format!("{stem}{ending}.usda")));
        }
        outputs
    }
}

/// Finds all errors that do not need the scene; `faults` are those of a motion from elsewhere.
fn check(arguments: &Arguments, rig: &Rig, outputs: &[PathBuf], faults: Vec<String>) -> Result<(), Failure> {
    let is_moved = faults.is_empty();
    let mut problems = faults;
    for path in outputs {
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        if !matches!(end.as_deref(), Some("usda" | "usdc" | "usdz" | "pc2" | "glb")) {
            problems.push(format!("{}: characters are written as .usda, .usdc, .usdz, .pc2 or .glb", path.display()));
        }
        if path.parent() != outputs[0].parent() {
            problems.push(format!("{}: all outputs must be in one folder", path.display()));
        }
    }
    let is_glb = |path: &PathBuf| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("glb"));
    if arguments.correctives.is_some() && !outputs.iter().any(is_glb) {
        problems.push("--correctives: no output is a .glb file; hint: add -o CHARACTER_flesh.glb".into());
    }
    let bones = (arguments.bones != "auto").then(|| Path::new(&arguments.bones));
    let motion = arguments.motion.as_deref().filter(|motion| !motion::is_built_in(motion)).map(Path::new);
    let read = [arguments.character.as_path()].into_iter().chain(bones).chain(motion);
    let written = if arguments.scene.is_some() { arguments.scene.as_slice() } else { outputs };
    problems.extend(check_outputs(read, written).err().map(|clash| clash.to_string()));
    if arguments.scene.is_none() && !arguments.force {
        let strangers = strangers(arguments, outputs);
        let shown = strangers
            .iter()
            .map(|path| format!("{} exists, and no run wrote it; hint: --force replaces it", path.display()));
        problems.extend(shown);
    }
    if arguments.motion.is_none() && arguments.motion_rest != "file" {
        problems.push("--motion-rest needs a --motion".into());
    }
    let mut of_character = |message: String| problems.push(format!("{}: {message}", arguments.character.display()));
    let animation = arguments.chosen(rig);
    match animation.as_ref().map(|animation| animation.and_then(|animation| animation.span())) {
        _ if !is_moved => {}
        Err(error) => of_character(error.to_string()),
        Ok(None) => {
            let hint = "export it with its animation, or try `--motion range-of-motion`, or take `--motion FILE`; in a scene, `rig = { still = true }` takes it as it is";
            of_character(format!("the character has no animation; hint: {hint}"));
        }
        Ok(Some([first, last])) => {
            let span = Span::new(arguments, [first, last]);
            if span.start > last {
                let frame = (last * arguments.frame_rate + 1e-6).floor();
                let hint = arguments.frames.map_or_else(String::new, |_| format!("; hint: its last frame is {frame}"));
                let last = format_quantity(last, Dimension::TIME);
                of_character(format!("the animation ends at {last}, before the start of the simulation{hint}"));
            }
            if span.duration < 0.0 {
                of_character("the last frame comes before --start".into());
            }
        }
    }
    match Flesh::new(rig, &arguments.flesh()) {
        Err(error) => of_character(error.to_string()),
        Ok(flesh) if arguments.scale.is_none() => {
            let posture = flesh.posture(rig, 1.0);
            if let Some(units) = posture.scales() {
                let size = |scale: f64| format_quantity(rounded(posture.size * scale), Dimension::LENGTH);
                let ways = units
                    .iter()
                    .map(|(unit, scale)| format!("--scale {scale} if its file is in {unit} ({} then), ", size(*scale)));
                of_character(format!(
                    "the character is {} large, so its file is probably not in meters; hint: {}--scale 1 if it is that large",
                    size(1.0),
                    ways.collect::<String>()
                ));
            }
        }
        Ok(_) => {}
    }
    problems.extend(arguments.art.rig_text().err().into_iter().flatten());
    if arguments.bones != "auto"
        && let Err(error) = bones_text(Path::new(&arguments.bones))
    {
        problems.push(format!("{}: {error}", arguments.bones));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Other(problems.join("\nerror: ").replace("; hint: ", "\nhint: "))),
    }
}

/// Existing files that the outputs would replace, although the user did not name them and no earlier run wrote them.
fn strangers(arguments: &Arguments, outputs: &[PathBuf]) -> Vec<PathBuf> {
    let known = Manifest::read(&outputs[0].with_extension("")).map(|manifest| manifest.outputs).unwrap_or_default();
    let mut candidates = if arguments.output.is_empty() { outputs.to_vec() } else { Vec::new() };
    for path in outputs {
        let target = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let below = match path.extension().and_then(|end| end.to_str()) {
            Some("usda" | "usdc") => target.join(format!("{stem}_textures")),
            Some("pc2") => target.to_path_buf(),
            _ => continue,
        };
        let entries = std::fs::read_dir(&below).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_part = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            below != target || (name.starts_with(&format!("{stem}_")) && name.ends_with(".pc2"))
        };
        candidates.extend(entries.filter(is_part));
    }
    if arguments.art.has_images() {
        let maps = outputs[0].with_file_name(maps_folder(&outputs[0]));
        candidates.extend(std::fs::read_dir(maps).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    let is_known = |file: &PathBuf| {
        let target = outputs[0].parent().unwrap_or(Path::new(""));
        let relative = file.strip_prefix(target).or_else(|_| file.strip_prefix("."));
        relative.is_ok_and(|name| known.iter().any(|known| Path::new(known) == name))
    };
    candidates.retain(|file| file.exists() && !is_known(file));
    candidates
}

/// Moves an output file and its companions from the run folder to the requested path, and updates `written`.
pub(super) fn bring_up(folder: &Path, path: &Path, written: &mut [PathBuf]) -> Result<(), Failure> {
    let (Some(stem), Some(end)) = (path.file_stem(), path.extension()) else { return Ok(()) };
    let (stem, end) = (stem.to_string_lossy(), end.to_string_lossy());
    let failed = |source| Failure::Write { what: path.display().to_string(), source };
    let target = path.parent().unwrap_or(Path::new(""));
    for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let belongs = name.strip_prefix(&*stem).is_some_and(|rest| {
            rest == format!(".{end}")
                || (end == "pc2" && rest.starts_with('_') && rest.ends_with(".pc2"))
                || (matches!(&*end, "usda" | "usdc") && rest == "_textures")
                || rest == "_maps"
        });
        if belongs {
            let to = target.join(&name);
            move_into(&entry.path(), &to).map_err(failed)?;
            for file in written.iter_mut() {
                if let Ok(rest) = file.strip_prefix(entry.path()) {
                    *file = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
                }
            }
        }
    }
    Ok(())
}

/// Moves a file, or the files of a folder into a folder that may exist; keeps other files there.
fn move_into(from: &Path, to: &Path) -> std::io::Result<()> {
    if !(from.is_dir() && to.is_dir()) {
        return std::fs::rename(from, to);
    }
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    std::fs::remove_dir(from)
}

/// The scene of a character.
fn scene_text(arguments: &Arguments, rig: &Rig, character: &Path, names: &[String]) -> Result<String, Failure> {
    let problem = |message: String| Failure::Other(format!("{}: {message}", arguments.character.display()));
    let animation = arguments.chosen(rig).map_err(|error| problem(error.to_string()))?;
    let Some([first, last]) = animation.and_then(|animation| animation.span()) else {
        return Err(problem("the character has no animation".into()));
    };
    let flesh = Flesh::new(rig, &arguments.flesh()).map_err(|error| problem(error.to_string()))?;
    let Span { start, duration, shutter, sub_frames } = Span::new(arguments, [first, last]);
    let usual = if arguments.preview { PREVIEW_CELLS } else { USUAL_CELLS };
    let cells = arguments.cells.map_or(usual, f64::from);
    let scale = arguments.scale.unwrap_or(1.0);
    let cell = arguments.cell.unwrap_or_else(|| rounded(scale * (flesh.volume / cells).cbrt()));
    let contact = if arguments.preview { "none" } else { arguments.contact.as_str() };
    // From rest to the first pose in whole frames, about half a second.
    let preroll = (0.5 * arguments.frame_rate).round().max(1.0) / arguments.frame_rate;
    let bones = match arguments.bones.as_str() {
        "auto" => String::new(),
        file => bones_text(Path::new(file)).map_err(|error| Failure::Other(format!("{file}: {error}")))?,
    };
    // TOML reads strings quoted for JSON.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let list = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    let title = arguments.character.file_stem().unwrap_or_default().to_string_lossy();
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "title = {}\nduration = \"{} s\"\nframe_rate = {}\nup = \"{}\"\ngravity = 0\n\n[solver]\ntype = \"{}\"\ntolerance = {}\n\n\
         [[body]]\nname = \"flesh\"\nmesh = {{ from = \"fill\", surface = {}, element = \"lattice\", cell = \"{}\"{} }}\n\
         material = {{ type = \"corotated\", young = {}, poisson = {} }}\n{}\n[body.rig]\nstart = \"{start} s\"\npreroll = \"{preroll} s\"\n",
        quoted(&title),
        preroll + duration,
        arguments.frame_rate * f64::from(sub_frames),
        arguments.up,
        if arguments.dynamic { "implicit_euler" } else { "quasistatic" },
        if arguments.preview { "1e-2" } else { "1e-4" },
        quoted(&character.to_string_lossy()),
        format_quantity(cell, Dimension::LENGTH),
        match arguments.repair() {
            "auto" => String::new(),
            other => format!(", repair = \"{other}\""),
        },
        quoted(&arguments.young),
        arguments.poisson,
        if scale == 1.0 { String::new() } else { format!("scale = {scale}\n") },
    );
    if let Some(motion) = &arguments.motion {
        text.push_str(&motion_text(arguments, motion).map_err(Failure::Other)?);
    }
    if let Some(name) = &arguments.animation {
        let _ = writeln!(text, "animation = {}", quoted(name));
    }
    if !arguments.surface.is_empty() {
        let _ = writeln!(text, "surfaces = [{}]", list(&arguments.surface));
    }
    if !arguments.parts.is_empty() {
        let table =
            |(name, role): &(String, Role)| format!("{{ name = {}, role = \"{}\" }}", quoted(name), role.name());
        let _ = writeln!(text, "parts = [{}]", arguments.parts.iter().map(table).collect::<Vec<_>>().join(", "));
    }
    text.push_str(&arguments.art.rig_text().map_err(|problems| Failure::Other(problems.join("\nerror: ")))?);
    // The file with the bones may say how they hold flesh.
    let says_hold = bones.parse::<toml::Table>().is_ok_and(|table| table.contains_key("hold"));
    if arguments.soft && says_hold {
        return Err(Failure::Other(format!("--soft: {} has a `hold` of its own; choose one", arguments.bones)));
    }
    if !says_hold {
        let _ = writeln!(text, "hold = \"{}\"", if arguments.soft { "soft" } else { "auto" });
    }
    if let Some(share) = arguments.give_way {
        let _ = writeln!(text, "give_way = {share}");
    }
    text.push_str(bones.trim_end());
    if contact != "none" {
        let _ = write!(text, "\n\n[contact]\nmode = \"{contact}\"\n");
        if contact == "barrier" {
            let gap = arguments.gap.unwrap_or_else(|| usual_gap(cell, scale, &flesh.surface));
            let _ = writeln!(text, "gap = \"{}\"", format_quantity(gap, Dimension::LENGTH));
        }
    }
    let _ = write!(text, "\n[record]\nskin = [{}]\napng = true\n", list(names));
    if arguments.preview {
        text.push_str("apng_frames = 24\nsize = [360, 270]\n");
    }
    text.push_str(&arguments.art.record_text());
    if let Some(count) = arguments.correctives {
        let _ = writeln!(text, "correctives = {count}");
    }
    if let Some([first, last]) = arguments.frames {
        let _ = writeln!(text, "skin_frames = [{first}, {last}]");
    }
    if let Some([open, close]) = shutter {
        let _ = writeln!(text, "every = {sub_frames}\nskin_shutter = [{open}, {close}]");
    }
    Ok(text)
}

/// The keys of a motion from elsewhere, with an absolute path: the scene lies in another folder.
fn motion_text(arguments: &Arguments, motion: &str) -> Result<String, String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let path = match motion::is_built_in(motion) {
        true => motion.to_string(),
        false => std::path::absolute(motion).map_err(|error| format!("{motion}: {error}"))?.to_string_lossy().into(),
    };
    let mut text = format!("motion = {}\n", quoted(&path));
    if !arguments.map.is_empty() {
        let pairs = arguments.map.iter().map(|(source, target)| format!("{} = {}", quoted(source), quoted(target)));
        text += &format!("motion_map = {{ {} }}\n", pairs.collect::<Vec<_>>().join(", "));
    }
    if arguments.in_place {
        text += "in_place = true\n";
    }
    if !arguments.keep.is_empty() {
        let list = arguments.keep.iter().map(|kept| quoted(kept)).collect::<Vec<_>>();
        text += &format!("keep = [{}]\n", list.join(", "));
    }
    if arguments.motion_rest != "file" {
        text += &format!("motion_rest = {}\n", quoted(&arguments.motion_rest));
    }
    Ok(text)
}

/// The simulated part of an animation.
struct Span {
    /// Start time in the animation \[s\].
    start: f64,
    /// Duration \[s\].
    duration: f64,
    shutter: Option<[f64; 2]>,
    /// Poses per frame.
    sub_frames: u32,
}

impl Span {
    /// `first` and `last` are the times of the first and last keyframe.
    fn new(arguments: &Arguments, span: [f64; 2]) -> Self {
        let rate = arguments.frame_rate;
        let [first, last] = span.map(|time| near_frame(time, rate));
        let default = if arguments.shutter.is_some() { 4 } else { 1 };
        let sub_frames = arguments.sub_frames.unwrap_or(default);
        let shutter = (sub_frames > 1).then(|| arguments.shutter.unwrap_or([0.0, 0.5]));
        // Frames selected by number have whole numbers.
        let whole = |time: f64| (time * rate + 1e-6).floor() / rate;
        let (start, duration) = match arguments.frames {
            Some(frames) => {
                let [from, to] = frames.map(|frame| frame as f64 / rate);
                // A shutter that opens before the first frame shows earlier poses.
                let open = shutter.is_some_and(|[open, _]| open < 0.0);
                let earliest = if open { whole(from - 1.0 / rate) } else { from };
                let usual = if arguments.dynamic { earliest.min(whole(first)) } else { earliest };
                let start = arguments.start.map_or(usual, whole);
                (start, to - start)
            }
            None => {
                let start = arguments.start.unwrap_or(first);
                (start, arguments.duration.unwrap_or((last - start).max(0.0)))
            }
        };
        // The shutter of the last frame closes after it.
        let steps = f64::from(sub_frames);
        let open = shutter.map_or(0.0, |[_, close]| (close * steps - 1e-6).ceil().max(0.0) / steps / rate);
        Self { start, duration: if duration < 0.0 { duration } else { duration + open }, shutter, sub_frames }
    }
}

/// The bones of a file, with absolute mesh paths: the scene lies in another folder.
fn bones_text(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let folder = std::path::absolute(path).map_err(|error| error.to_string())?;
    let folder = folder.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_string())?;
    let Some(bones) = table.get_mut("bones").and_then(toml::Value::as_array_mut) else {
        return Err("the list `bones` is missing; hint: `sinew character arm --bones FILE` writes an example".into());
    };
    let mut is_changed = false;
    for mesh in bones.iter_mut().filter_map(|bone| bone.get_mut("mesh")) {
        if let Some(file) = mesh.as_str() {
            *mesh = folder.join(file).to_string_lossy().into_owned().into();
            is_changed = true;
        }
    }
    let lines = table.iter().map(|(key, value)| format!("{key} = {value}\n"));
    Ok(if is_changed { lines.collect() } else { text })
}

/// The time of the nearest frame if it is within a thousandth of one: keys in files have single precision.
fn near_frame(time: f64, rate: f64) -> f64 {
    let frame = (time * rate).round();
    if (time * rate - frame).abs() < 1e-3 { frame / rate } else { time }
}

/// A length rounded to two digits.
fn rounded(length: f64) -> f64 {
    let unit = 10f64.powf(length.log10().floor() - 1.0);
    (length / unit).round() * unit
}
