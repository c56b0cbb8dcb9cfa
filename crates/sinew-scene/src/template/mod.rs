//! Templates: scenes to start from. `sinew new` writes one of them with comments, ready to run and to change.

mod mesh;
mod ready;

use std::fmt::Write;

pub use mesh::{MeshFacts, plausible_scale};

use crate::spec::tissue;
use crate::value::{Dimension, format_number, format_quantity};

/// A template of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// A block hangs from a wall and swings.
    Hanging,
    /// A ball falls on the floor.
    Drop,
    /// A bar is stretched slowly, in equilibrium.
    Bar,
    /// The belly of a muscle between two tendons is stretched and let go.
    Muscle,
    /// A ring is pressed by a moving plate.
    Press,
    /// A muscle lifts a weight.
    Lift,
    /// A finger presses on a slab.
    Finger,
    /// A strip of muscle for the laboratory.
    Laboratory,
    /// A block whose sag depends on its parameters.
    Sweep,
    /// A rigged character with flesh.
    Character,
    /// A mesh from a file falls on the floor.
    Mesh,
}

/// One row per template: template, name, default size \[m\], default duration \[s\], summary.
const TEMPLATES: [(Template, &str, f64, f64, &str); 11] = [
    (Template::Hanging, "hanging", 0.2, 1.0, "a block hangs from a wall and swings"),
    (Template::Drop, "drop", 0.1, 1.0, "a soft ball falls on the floor"),
    (Template::Bar, "bar", 0.2, 1.0, "a bar is stretched slowly; the force is measured"),
    (Template::Muscle, "muscle", 0.2, 1.5, "the belly of a muscle is stretched between its ends and let go"),
    (Template::Press, "press", 0.2, 1.0, "a ring is pressed by a moving plate"),
    (Template::Lift, "lift", 0.25, 1.0, "a muscle lifts a weight"),
    (Template::Finger, "finger", 0.08, 1.0, "a finger presses on skin and flesh; the force is measured"),
    (Template::Laboratory, "laboratory", 0.06, 1.0, "a strip of muscle; `sinew lab` measures it"),
    (Template::Sweep, "sweep", 0.2, 0.1, "a block sags; `sinew sweep` varies its parameters"),
    (Template::Character, "character", 0.6, 1.5, "an arm with bones bends its elbow; writes the arm too"),
    (Template::Mesh, "mesh", 0.0, 1.0, "your mesh (--mesh FILE) falls on the floor"),
];

impl Template {
    /// All templates.
    pub fn all() -> impl Iterator<Item = Template> {
        TEMPLATES.iter().map(|row| row.0)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TEMPLATES[self as usize].1
    }

    /// The template with a name.
    pub fn from_name(name: &str) -> Option<Template> {
        TEMPLATES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Default of the largest extent of the body \[m\]; 0 for meshes, which have their own size.
    pub fn usual_size(self) -> f64 {
        TEMPLATES[self as usize].2
    }

    /// Default duration \[s\].
    pub fn usual_duration(self) -> f64 {
        TEMPLATES[self as usize].3
    }

    /// Summary of the scene in a few words.
    pub fn summary(self) -> &'static str {
        TEMPLATES[self as usize].4
    }

    /// Whether the material of the body can be chosen.
    pub fn takes_material(self) -> bool {
        !matches!(self, Self::Lift | Self::Laboratory)
    }

    /// Whether the size of the body can be chosen.
    pub fn takes_size(self) -> bool {
        !matches!(self, Self::Mesh | Self::Character)
    }
}

/// A tissue of [`tissue::TISSUES`], or a Young's modulus.
#[derive(Clone, Debug, PartialEq)]
pub struct Tissue {
    /// Name, or `None` with a modulus.
    pub name: Option<&'static str>,
    /// Young's modulus \[Pa\].
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Density \[kg/m³\].
    pub density: f64,
}

impl From<&'static tissue::Tissue> for Tissue {
    fn from(tissue: &'static tissue::Tissue) -> Self {
        let value = |key| tissue.value(key).unwrap_or(f64::NAN);
        Self { name: Some(tissue.name), young: value("young"), poisson: value("poisson"), density: tissue.density }
    }
}

impl Default for Tissue {
    fn default() -> Self {
        (&tissue::TISSUES[0]).into()
    }
}

impl Tissue {
    /// Tissues for templates; the first is the default. Templates have no fibers.
    fn all() -> impl Iterator<Item = &'static tissue::Tissue> + Clone {
        tissue::TISSUES.iter().filter(|tissue| !tissue.law.needs_fibers())
    }

    /// Names of all tissues; the first is the default.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::all().map(|tissue| tissue.name)
    }

    /// The tissue with a name, or one with the given Young's modulus.
    pub fn parse(text: &str) -> Result<Tissue, String> {
        if let Some(tissue) = Self::all().find(|tissue| tissue.name == text.trim()) {
            return Ok(tissue.into());
        }
        match crate::Quantity::parse(text) {
            Ok(quantity) if quantity.dimension == Dimension::PRESSURE && quantity.value > 0.0 => {
                Ok(Tissue { name: None, young: quantity.value, ..Tissue::default() })
            }
            _ => {
                let names: Vec<&str> = Self::names().collect();
                Err(format!("neither one of {} nor a Young's modulus such as \"30 kPa\"", names.join(", ")))
            }
        }
    }
}

/// Parameters of a template.
#[derive(Clone, Debug)]
pub struct TemplateParams {
    /// Largest extent of the body \[m\].
    pub size: f64,
    /// The tissue of the body.
    pub tissue: Tissue,
    /// Duration of the scene \[s\].
    pub duration: f64,
    /// The mesh of [`Template::Mesh`].
    pub mesh: Option<MeshFacts>,
    /// File and animation of [`Template::Character`].
    pub character: [String; 2],
}

impl TemplateParams {
    /// Defaults of a template.
    pub fn usual(template: Template) -> TemplateParams {
        TemplateParams {
            size: template.usual_size(),
            tissue: Tissue::default(),
            duration: template.usual_duration(),
            mesh: None,
            character: Default::default(),
        }
    }
}

/// A length for a scene, rounded to three digits.
fn length(value: f64) -> String {
    format_quantity(rounded(value, 3), Dimension::LENGTH)
}

/// A number rounded to this many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// Text as a TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => drop(write!(out, "\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The title of a scene.
pub fn scene_title(template: Template, params: &TemplateParams) -> String {
    match (template, &params.mesh) {
        (Template::Mesh, Some(facts)) => format!("{} falls on the floor", facts.name),
        _ => {
            let summary = template.summary().split(';').next().unwrap_or_default();
            let mut letters = summary.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// The file with the schema of scenes, beside a new scene.
pub const SCHEMA_FILE: &str = "sinew.schema.json";

/// The text of a scene; `name` is its file name, for the comments.
pub fn scene_text(template: Template, params: &TemplateParams, name: &str) -> String {
    // Editors with taplo read the first line.
    let mut text = format!("#:schema {SCHEMA_FILE}\n");
    let title = scene_title(template, params);
    text += &format!("# {title}.\n#\n{}", commands(template, name));
    text += &format!(
        "# Numbers carry units. `sinew run {name} --set KEY=VALUE` tries another value without editing.\n\n\
         title = {}\nduration = \"{} s\"\n",
        quoted(&title),
        format_number(rounded(params.duration, 4))
    );
    text += match template {
        Template::Sweep => "frame_rate = 10                  # recorded values per second\n",
        Template::Laboratory => "frame_rate = 4                   # recorded values per second\n",
        Template::Character => "frame_rate = 24                  # pictures and recorded values per second\n",
        Template::Bar | Template::Finger => {
            "frame_rate = 20                  # pictures and recorded values per second\n"
        }
        _ => "frame_rate = 60                  # pictures and recorded values per second\n",
    };
    text += match template {
        Template::Bar => "gravity = 0                      # only the grips act\n",
        Template::Finger => "gravity = 0                      # only the finger acts\n",
        Template::Laboratory => "gravity = 0\n",
        Template::Character => "up = \"y\"                         # as in glTF\ngravity = 0\n",
        _ => "",
    };
    text += "\n";
    text += &match template {
        Template::Hanging => hanging(params),
        Template::Drop => falling(params),
        Template::Bar => bar(params),
        Template::Muscle => muscle(params),
        Template::Press => press(params),
        Template::Lift => ready::lift(params),
        Template::Finger => ready::finger(params),
        Template::Laboratory => ready::laboratory(params),
        Template::Sweep => ready::sweep(params),
        Template::Character => ready::character(params, &params.character[0], &params.character[1]),
        Template::Mesh => params.mesh.as_ref().map_or_else(String::new, |facts| mesh::body(facts, params)),
    };
    text += "\n[record]\n";
    text += match template {
        Template::Character => {
            "skin = [\"skin.usda\"]              # the character with moving flesh, for Blender, Houdini, usdview\n"
        }
        _ => {
            "apng = true                      # an animated picture\n\
              # usd = true                     # moving surfaces for Blender, Houdini, usdview\n\
              # vtu = true                     # cells with stress and strain for ParaView\n"
        }
    };
    text += "# color = \"von_mises\"            # color pictures by a field\n\n\
             [expect]                         # expected results; `sinew run` exits with status 1 if they are not met\n\
             inverted_cells = { value = 0, over = \"all\" }\n";
    text
}

/// The commands for a scene as comments, each with its meaning.
fn commands(template: Template, name: &str) -> String {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let mut commands = vec![
        (format!("sinew check {name}"), "checks the scene and shows its size".to_string()),
        (format!("sinew run {name}"), format!("computes it; results are in out/{stem}")),
    ];
    commands.push(match template {
        Template::Laboratory => (format!("sinew lab tension-length {name}"), "measures force over length".into()),
        Template::Sweep => (
            format!("sinew sweep {name} --over body.block.material.young=10kPa..80kPa:5"),
            format!("five runs, one table in out/sweep/{stem}"),
        ),
        _ => (format!("sinew play out/{stem}"), "shows it in the terminal".into()),
    });
    let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    commands.iter().map(|(command, meaning)| format!("#   {command:width$}  {meaning}\n")).collect::<String>() + "#\n"
}

fn material(params: &TemplateParams) -> String {
    let Tissue { name, young, poisson, density } = &params.tissue;
    let (modulus, poisson) = (format_quantity(*young, Dimension::PRESSURE), format_number(*poisson));
    let density = format_quantity(*density, Dimension::DENSITY);
    match name {
        Some(name) => format!(
            "material = \"{name}\"               # young {modulus}, poisson {poisson}, density {density}; also {{ type = \"{name}\", young = … }}\n"
        ),
        None => format!(
            "material = {{ type = \"stable_neo_hookean\", young = \"{modulus}\", poisson = {poisson} }}\ndensity = \"{density}\"\n"
        ),
    }
}

fn hanging(params: &TemplateParams) -> String {
    let (long, thick, cell) = (length(params.size), length(params.size / 4.0), length(params.size / 20.0));
    format!(
        "[[body]]\nname = \"block\"\n\
         mesh = {{ from = \"box\", size = [\"{long}\", \"{thick}\", \"{thick}\"], cell = \"{cell}\" }}\n{}\
         pin = [{{ region = \"x-min\" }}]   # the side that is held; also x-max, y-min …, all, surface\n\
         # damping = {{ stiffness = \"5 ms\" }}   # makes it come to rest\n\n\
         [[probe]]                        # a region to watch: tip.displacement.z and more in probes.csv\n\
         name = \"tip\"\nregion = \"x-max\"\n",
        material(params)
    )
}

/// A floor to fall on.
const FLOOR: &str = "\n[[collider]]\nname = \"floor\"\nshape = { type = \"plane\" }        # at height 0; `position` moves it\nfriction = 0.5\n";

fn falling(params: &TemplateParams) -> String {
    let (radius, cell, height) = (length(params.size / 2.0), length(params.size / 8.0), length(params.size * 1.5));
    format!(
        "[solver]\nsubsteps = 2                     # impacts need shorter steps\n\n\
         [[body]]\nname = \"ball\"\n\
         mesh = {{ from = \"sphere\", radius = \"{radius}\", cell = \"{cell}\" }}\n\
         position = [0, 0, \"{height}\"]\n{}{FLOOR}",
        material(params)
    )
}

fn bar(params: &TemplateParams) -> String {
    let (long, thick, cell) = (length(params.size), length(params.size / 8.0), length(params.size / 32.0));
    let (time, way) = (format_number(rounded(params.duration, 4)), length(params.size * 0.3));
    format!(
        "[solver]\ntype = \"quasistatic\"             # equilibrium in each frame: time only moves the grip\n\n\
         [[body]]\nname = \"bar\"\n\
         mesh = {{ from = \"box\", size = [\"{long}\", \"{thick}\", \"{thick}\"], cell = \"{cell}\", element = \"hex8\" }}\n{}\
         pin = [\n    {{ region = \"x-min\" }},\n    \
         {{ region = \"x-max\", motion = {{ translation = [[\"0 s\", [0, 0, 0]], [\"{time} s\", [\"{way}\", 0, 0]]] }} }},   # a grip that moves\n]\n",
        material(params)
    )
}

fn muscle(params: &TemplateParams) -> String {
    let (long, radius) = (length(params.size), length(params.size * 0.14));
    let (end, cell) = (length(params.size * 0.04), length(params.size * 0.06));
    let time = |part: f64| format_number(rounded(params.duration * part, 3));
    let way = length(params.size * 0.15);
    format!(
        "[[body]]\nname = \"belly\"\n\
         mesh = {{ from = \"fusiform\", length = \"{long}\", radius = \"{radius}\", end_radius = \"{end}\", cell = \"{cell}\" }}\n{}\
         damping = {{ stiffness = \"5 ms\" }}\n\
         pin = [\n    {{ region = \"x-min\" }},          # one tendon is held\n    \
         # the other is pulled out, held, and moved back\n    \
         {{ region = \"x-max\", motion = {{ translation = [[\"0 s\", [0, 0, 0]], [\"{} s\", [\"{way}\", 0, 0]], [\"{} s\", [\"{way}\", 0, 0]], [\"{} s\", [0, 0, 0]]] }} }},\n]\n\n\
         [[probe]]                        # a point to watch: middle.displacement.z and more in probes.csv\n\
         name = \"middle\"\nbody = \"belly\"\nat = [\"{}\", 0, 0]\n",
        material(params),
        time(0.3),
        time(0.5),
        time(0.6),
        length(params.size * 0.5)
    )
}

fn press(params: &TemplateParams) -> String {
    let tube = params.size / 7.0;
    let radius = params.size / 2.0 - tube;
    let height = params.size;
    let time = |part: f64| format_number(rounded(params.duration * part, 3));
    let (long, wide) = (length(params.size * 1.2), length(params.size * 0.6));
    format!(
        "[solver]\nsubsteps = 2                     # impacts need shorter steps\n\n\
         [[body]]\nname = \"ring\"\n\
         mesh = {{ from = \"torus\", radius = \"{}\", tube = \"{}\", cell = \"{}\" }}\n\
         rotation = {{ axis = [1, 0, 0], angle = \"90 deg\" }}   # stands on its edge\n\
         position = [0, 0, \"{}\"]\n{}\
         damping = {{ stiffness = \"2 ms\" }}\n{FLOOR}\n\
         [[collider]]\nname = \"plate\"\nshape = {{ type = \"box\", size = [\"{long}\", \"{wide}\", \"{}\"] }}\n\
         position = [0, 0, \"{}\"]\n\
         motion = {{ translation = [[\"0 s\", [0, 0, 0]], [\"{} s\", [0, 0, \"-{}\"]], [\"{} s\", [0, 0, 0]]] }}   # down and up\n\
         friction = 0.5\n",
        length(radius),
        length(tube),
        length(params.size / 15.0),
        length(height / 2.0),
        material(params),
        length(params.size / 12.0),
        length(height * 1.07),
        time(0.6),
        length(height * 0.35),
        time(1.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tissues_are_names_or_numbers() {
        assert_eq!(Tissue::parse("fat").unwrap().young, 3e3);
        assert_eq!(Tissue::parse("12 kPa").unwrap(), Tissue { name: None, young: 12e3, ..Tissue::default() });
        for wrong in ["", "butter", "12 kg", "-3 kPa", "ligament"] {
            assert!(Tissue::parse(wrong).unwrap_err().contains("flesh"), "{wrong}");
        }
    }

    #[test]
    fn names_with_quotes_stay_names() {
        assert_eq!(quoted("a \"b\\c\n"), "\"a \\\"b\\\\c\\u000A\"");
    }
}
