//! `sinew character`: characters to try.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sinew_io::gltf::write_rig;
use sinew_record::record::write_file;
use sinew_rig::Rig;
use sinew_rig::characters::{Character, CharacterParams, bone_hints, generate, motion_names};
use sinew_scene::output::check_outputs;

use super::talk::Talk;
use super::{Failure, Status, mesh};

/// Writes a rigged, animated character to try
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// arm, hand or torso
    #[arg(value_parser = character)]
    pub character: Character,

    /// The file to write (.glb or .gltf) [default: <name>.glb]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Mean edge of the triangles of its skin, for example "4 mm" [default: as fine as the character needs]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length)]
    pub edge: Option<f64>,

    /// Frames per second of its animations
    #[arg(long, value_name = "N", default_value_t = 24.0)]
    pub frame_rate: f64,

    /// Length of each animation in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.5)]
    pub seconds: f64,

    /// Its only animation; left out, the usual ones. Some are made only on request, such as `fast` and `poses` of the hand
    #[arg(long, value_name = "NAME")]
    pub motion: Option<String>,

    /// Writes its bones too, for `sinew skin --bones` and `rig` of a scene
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
pub fn execute(arguments: &Arguments, talk: Talk) -> Result<Status, Failure> {
    let usual = CharacterParams::of(arguments.character);
    let motion = arguments.motion.as_deref().map(|name| motion(arguments.character, name)).transpose()?;
    let params = CharacterParams {
        edge: arguments.edge.unwrap_or(usual.edge),
        frame_rate: arguments.frame_rate,
        seconds: arguments.seconds,
        motion,
        ..usual
    };
    let other = |error: String| Failure::Other(error);
    // The library speaks of its fields, the user gave options.
    let named = |text: String| text.replace("`frame_rate`", "`--frame-rate`").replace("`seconds`", "`--seconds`");
    let rig = generate(&params).map_err(|error| other(named(error.to_string())))?;
    let output = arguments.output.clone().unwrap_or_else(|| format!("{}.glb", arguments.character.name()).into());
    let is_text = match output.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).as_deref() {
        Some("glb") => false,
        Some("gltf") => true,
        _ => return Err(other(format!("{}: characters are written as .glb or .gltf", output.display()))),
    };
    check_outputs([] as [&Path; 0], [&output].into_iter().chain(&arguments.bones))
        .map_err(|error| other(error.to_string()))?;
    let bytes = write_rig(&rig, !is_text).map_err(|error| other(error.to_string()))?;
    write_file(&output, &bytes).map_err(|error| other(error.to_string()))?;
    let vertices: usize = rig.surfaces.iter().flat_map(|surface| &surface.parts).map(|part| part.positions.len()).sum();
    let animations: Vec<&str> = rig.animations.iter().map(|animation| animation.name.as_str()).collect();
    talk.note(&format!("wrote {}: {vertices} vertices; animations {}", output.display(), animations.join(", ")));
    if let Some(path) = &arguments.bones {
        write_file(path, bones_text(&rig, arguments.character).as_bytes()).map_err(|error| other(error.to_string()))?;
        talk.note(&format!("wrote {}", path.display()));
    }
    Ok(Status::Done)
}

/// A motion that the character has.
fn motion(character: Character, name: &str) -> Result<&'static str, Failure> {
    let known = motion_names(character);
    known.iter().copied().find(|known| *known == name).ok_or_else(|| {
        let known = known.join(", ");
        Failure::Other(format!("the {} has no motion `{name}`\nhint: it has {known}", character.name()))
    })
}

/// The bones as a scene has them.
fn bones_text(rig: &Rig, character: Character) -> String {
    let mut text = String::from("bones = [\n");
    for bone in bone_hints(character) {
        let place = |x: sinew_math::Vec3| format!("[{:.5}, {:.5}, {:.5}]", x.x, x.y, x.z);
        let name = &rig.nodes[bone.joint].name;
        let (own, slides) = match bone.sliding {
            Some(own) => (format!("name = \"{own}\", "), ", hold = \"slide\""),
            None => (String::new(), ""),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    {{ {own}joint = \"{name}\", ends = [{}, {}], radius = {:.5}{slides} }},",
            place(bone.from),
            place(bone.to),
            bone.radius
        );
    }
    text.push_str("]\n");
    text
}
