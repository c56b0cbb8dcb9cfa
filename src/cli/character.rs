//! `sinew character`: sample characters.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use sinew_io::bvh;
use sinew_io::gltf::{write_rig, write_rig_with_extras};
use sinew_record::record::write_file;
use sinew_rig::Rig;
use sinew_rig::characters::{
    Character, CharacterParams, DifficultCharacter, bone_hints, difficult, generate, motion_names,
};
use sinew_scene::output::check_outputs;

use super::console::{self, Console};
use super::{Failure, Status, mesh};

/// Writes a sample character with rig and animation
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// arm, hand, torso or leg
    #[arg(value_parser = character, required_unless_present = "difficult")]
    pub character: Option<Character>,

    /// Writes a difficult character instead, chosen by this number: crossings at rest, open borders, shells, cloth,
    /// loose parts, odd units. The file and stdout say what it is
    #[arg(long, value_name = "SEED", conflicts_with_all = ["character", "edge", "motion", "bones", "seconds", "frame_rate"])]
    pub difficult: Option<u64>,

    /// Output file (.glb, .gltf, or .bvh for the joints with one animation) [default: CHARACTER.glb]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Mean edge length of the skin triangles, for example "4 mm" [default: depends on the character]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    pub edge: Option<f64>,

    /// Frames per second of the animations
    #[arg(long, value_name = "N", default_value_t = 24.0)]
    pub frame_rate: f64,

    /// Length of each animation in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.5)]
    pub seconds: f64,

    /// Writes only this animation. Some are written only with this option, such as `fast` and `poses` of arm and hand
    #[arg(long, value_name = "NAME")]
    pub motion: Option<String>,

    /// Also writes the bones, for `sinew skin --bones` and `rig` of a scene
    #[arg(long, value_name = "FILE.toml")]
    pub bones: Option<PathBuf>,
}

fn character(text: &str) -> Result<Character, String> {
    Character::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Character::ALL.into_iter().map(Character::name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    if let Some(seed) = arguments.difficult {
        return write_difficult(seed, arguments, console);
    }
    let character = arguments.character.unwrap_or_default();
    let usual = CharacterParams::of(character);
    let motion = arguments.motion.as_deref().map(|name| motion(character, name)).transpose()?;
    let params = CharacterParams {
        edge: arguments.edge.unwrap_or(usual.edge),
        frame_rate: arguments.frame_rate,
        seconds: arguments.seconds,
        motion,
        ..usual
    };
    let other = |error: String| Failure::Other(error);
    // The library names its fields; the user knows the options.
    let named = |text: String| text.replace("`frame_rate`", "`--frame-rate`").replace("`seconds`", "`--seconds`");
    let rig = generate(&params).map_err(|error| other(named(error.to_string())))?;
    let output = arguments.output.clone().unwrap_or_else(|| format!("{}.glb", character.name()).into());
    let end = ending(&output);
    if !["glb", "gltf", "bvh"].contains(&end.as_str()) {
        return Err(other(format!(
            "{}: characters are written as .glb or .gltf, their motions as .bvh",
            output.display()
        )));
    }
    check_outputs([] as [&Path; 0], [&output].into_iter().chain(&arguments.bones))
        .map_err(|error| other(error.to_string()))?;
    let animation = rig.animation(params.motion).map_err(|error| other(error.to_string()))?;
    let bytes = match (end.as_str(), animation) {
        ("bvh", Some(animation)) => bvh::write(&rig, animation, params.frame_rate),
        _ => write_rig(&rig, end == "glb"),
    };
    let bytes = bytes.map_err(|error| other(error.to_string()))?;
    write_file(&output, &bytes).map_err(|error| other(error.to_string()))?;
    let vertices: usize = rig.surfaces.iter().flat_map(|surface| &surface.parts).map(|part| part.positions.len()).sum();
    let animations: Vec<&str> = rig.animations.iter().map(|animation| animation.name.as_str()).collect();
    console.note(&format!("wrote {}: {vertices} vertices; animations {}", output.display(), animations.join(", ")));
    if let Some(path) = &arguments.bones {
        write_file(path, bones_text(&rig, character).as_bytes()).map_err(|error| other(error.to_string()))?;
        console.note(&format!("wrote {}", path.display()));
    }
    Ok(Status::Done)
}

/// Extension of a file, in small letters.
fn ending(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Writes the difficult character of a seed, and prints what it is.
fn write_difficult(seed: u64, arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let other = |error: String| Failure::Other(error);
    let DifficultCharacter { base, rig, difficulties } = difficult(seed).map_err(|error| other(error.to_string()))?;
    let output = arguments.output.clone().unwrap_or_else(|| format!("difficult_{seed}.glb").into());
    let end = ending(&output);
    if !["glb", "gltf"].contains(&end.as_str()) {
        return Err(other(format!("{}: difficult characters are written as .glb or .gltf", output.display())));
    }
    let names: Vec<&str> = difficulties.iter().map(|difficulty| difficulty.name()).collect();
    let extras = json!({ "difficult": seed, "character": base.name(), "difficulties": names });
    let bytes = write_rig_with_extras(&rig, end == "glb", &extras).map_err(|error| other(error.to_string()))?;
    write_file(&output, &bytes).map_err(|error| other(error.to_string()))?;
    console::print(&format!("{seed}: {}, {}\n", base.name(), names.join(", ")))?;
    console.note(&format!("wrote {}", output.display()));
    Ok(Status::Done)
}

/// A motion of the character by its name.
fn motion(character: Character, name: &str) -> Result<&'static str, Failure> {
    let known = motion_names(character);
    known.iter().copied().find(|known| *known == name).ok_or_else(|| {
        let known = known.join(", ");
        Failure::Other(format!("the {} has no motion `{name}`\nhint: it has {known}", character.name()))
    })
}

/// The bones in the syntax of a scene.
fn bones_text(rig: &Rig, character: Character) -> String {
    let mut text = String::from("bones = [\n");
    for bone in bone_hints(character) {
        let position = |x: sinew_math::Vec3| format!("[{:.5}, {:.5}, {:.5}]", x.x, x.y, x.z);
        let name = &rig.nodes[bone.joint].name;
        let (own, slides) = match bone.sliding {
            Some(own) => (format!("name = \"{own}\", "), ", hold = \"slide\""),
            None => (String::new(), ""),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    {{ {own}joint = \"{name}\", ends = [{}, {}], radius = {:.5}{slides} }},",
            position(bone.from),
            position(bone.to),
            bone.radius
        );
    }
    text.push_str("]\n");
    text
}
