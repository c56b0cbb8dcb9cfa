//! Motions from elsewhere: files of other programs, poses as text, and built-in motions, moved onto a character.

mod poses;

use std::path::Path;

use sinew_rig::humanoid::Humanoid;
use sinew_rig::motions::{BuiltIn, perform as perform_script, sweep_joints};
use sinew_rig::retarget::{JointMatch, RetargetError, RetargetParams, RetargetReport, SourceRest, retarget};
use sinew_rig::{Animation, Rig};

use crate::nearest;
use crate::spec::rig::{self as spec, Keep, MotionRest};

/// Units of length with their names \[m\]; a leg tells which one a file has.
const UNITS: [(&str, f64); 7] = [
    ("meters", 1.0),
    ("centimeters", 0.01),
    ("inches", 0.0254),
    ("millimeters", 0.001),
    ("feet", 0.3048),
    ("decimeters", 0.1),
    ("units of 5.64 cm, as in the library of CMU", 0.0564),
];
/// Length of a human leg from hip to ankle \[m\], from a child to a giant.
const LEG: std::ops::RangeInclusive<f64> = 0.55..=1.1;

/// Whether a motion is one of ours instead of a file.
pub fn is_built_in(motion: &str) -> bool {
    BuiltIn::from_name(motion).is_some()
}

/// Adds the motion of the settings to the animations of a rig, as the last one; `None` without a motion. Files are
/// relative to `folder`. Errors name the wrong keys of the body, with reasons.
pub fn perform(
    rig: &mut Rig,
    folder: &Path,
    settings: &spec::Rig,
) -> Result<Option<RetargetReport>, Vec<(&'static str, String)>> {
    let Some(motion) = &settings.motion else { return Ok(None) };
    let params = RetargetParams {
        map: settings.motion_map.iter().map(|(source, target)| (source.clone(), target.clone())).collect(),
        in_place: settings.in_place,
        keep_feet: settings.keep.contains(&Keep::Feet),
        keep_hands: settings.keep.contains(&Keep::Hands),
        source_rest: match settings.motion_rest {
            MotionRest::File => SourceRest::File,
            MotionRest::FirstFrame => SourceRest::FirstFrame,
        },
    };
    let (animation, report) = match BuiltIn::from_name(motion) {
        Some(built_in) => built_in_motion(rig, built_in, &params),
        None if is_toml(motion) => poses::read(&folder.join(motion), rig, &params),
        None => from_file(rig, &folder.join(motion), motion, settings, &params),
    }?;
    rig.animations.push(animation);
    Ok(Some(report))
}

type Outcome = Result<(Animation, RetargetReport), Vec<(&'static str, String)>>;

/// A fault of the motion itself.
fn of_motion(message: String) -> Vec<(&'static str, String)> {
    vec![("rig.motion", message)]
}

fn is_toml(motion: &str) -> bool {
    Path::new(motion).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
}

/// Problems of a motion, with the key that can mend them.
fn told(error: RetargetError) -> Vec<(&'static str, String)> {
    let key = |problem: &String| if problem.starts_with("the map") { "rig.motion_map" } else { "rig.motion" };
    error.problems.into_iter().map(|problem| (key(&problem), problem)).collect()
}

fn built_in_motion(rig: &Rig, motion: BuiltIn, params: &RetargetParams) -> Outcome {
    let humanoid = Humanoid::of(rig);
    let is_sweep = motion == BuiltIn::RangeOfMotion;
    if is_sweep && humanoid.nodes.is_empty() && params.map.is_empty() {
        // Nobody knows these joints: each turns a little.
        let animation = sweep_joints(rig, motion.name())
            .ok_or_else(|| of_motion("the character has no joint below another that could turn".into()))?;
        return Ok((animation.clone(), sweep_report(rig, &animation)));
    }
    let script = motion.script(&humanoid);
    let mannequin = perform_script(&script).map_err(|error| of_motion(error.to_string()))?;
    let performed = mannequin.animations.first().ok_or_else(|| of_motion("the motion is empty".into()))?;
    let (animation, mut report) = retarget(rig, &mannequin, performed, params).map_err(told)?;
    // Nobody misses the legs of the mannequin on a hand.
    report.unused.clear();
    Ok((animation, report))
}

/// What a sweep of unknown joints does.
fn sweep_report(rig: &Rig, animation: &Animation) -> RetargetReport {
    let joints = animation.channels.iter().map(|channel| JointMatch {
        target: rig.nodes[channel.node].name.clone(),
        role: None,
        sources: Vec::new(),
        kind: None,
    });
    let note = "no joint has the name of one of a human: each turns by 25 degrees to either side about its own x and z";
    RetargetReport { joints: joints.collect(), scale: 1.0, notes: vec![note.into()], ..RetargetReport::default() }
}

fn from_file(rig: &Rig, path: &Path, motion: &str, settings: &spec::Rig, params: &RetargetParams) -> Outcome {
    if path.extension().is_none() && !path.exists() {
        let names = BuiltIn::ALL.map(BuiltIn::name);
        let like = nearest(motion, names).map_or_else(String::new, |name| format!("; hint: did you mean \"{name}\"?"));
        return Err(of_motion(format!(
            "there is no motion \"{motion}\": it is a file (.bvh, .glb, .gltf, .vrm, .toml) or one of {}{like}",
            names.join(", ")
        )));
    }
    let source = sinew_io::load_motion(path).map_err(|error| of_motion(error.to_string()))?;
    let is_bvh = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("bvh"));
    let named = source.animation(settings.animation.as_deref().filter(|_| !is_bvh));
    let animation = named.map_err(|error| vec![("rig.animation", format!("{motion}: {error}"))])?;
    let Some(animation) = animation else {
        return Err(of_motion(format!("{motion} has no animation; hint: export it with its animation")));
    };
    let (animation, mut report) = retarget(rig, &source, animation, params).map_err(|error| {
        told(error).into_iter().map(|(key, problem)| (key, format!("{motion}: {problem}"))).collect::<Vec<_>>()
    })?;
    if is_bvh {
        report.notes.extend(report.source_leg.map(units));
    }
    Ok((animation, report))
}

/// The unit of a file, by the length of a leg.
fn units(leg: f64) -> String {
    let shown = crate::format_number(format!("{leg:.3e}").parse().unwrap_or(leg));
    match UNITS.iter().find(|unit| LEG.contains(&(leg * unit.1))) {
        Some((name, _)) => {
            format!("its legs are {shown} long, so these are {name}; lengths are scaled to the character")
        }
        None => format!("its legs are {shown} long in a unit of its own; lengths are scaled to the character"),
    }
}
