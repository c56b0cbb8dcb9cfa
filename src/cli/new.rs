//! `sinew new`: writes a scene from a template.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use sinew_io::gltf::write_rig;
use sinew_record::record::write_file;
use sinew_rig::characters::{Character, CharacterParams, generate};
use sinew_run::compile::compile;
use sinew_scene::output::check_outputs;
use sinew_scene::recipe::image::{PhantomImage, PhantomName};
use sinew_scene::template::{
    MeshFacts, SCHEMA_FILE, Template, TemplateParams, Tissue, plausible_scale, scene_text, scene_title,
};
use sinew_scene::{Dimension, Quantity, Scene, format_number, format_quantity, format_size, nearest};

use super::console::{self, Console};
use super::{Failure, Status, mesh, schema, table};

/// Writes a commented scene, ready to run
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Output scene
    #[arg(value_name = "FILE.toml", required_unless_present = "list")]
    pub file: Option<PathBuf>,

    /// Template; --list shows all
    #[arg(short, long, value_name = "NAME", value_parser = template)]
    pub template: Option<Template>,

    /// Mesh file of the body, volume or surface
    #[arg(short, long, value_name = "FILE")]
    pub mesh: Option<PathBuf>,

    /// Labeled image; drafts a recipe of `sinew anatomy build` from the names of its labels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["template", "mesh", "size", "material", "duration"])]
    pub image: Option<PathBuf>,

    /// Phantom (arm, head or calf); writes its recipe, with every attachment
    #[arg(long, value_name = "NAME", value_parser = phantom, conflicts_with_all = ["image", "template", "mesh", "size", "material", "duration"])]
    pub phantom: Option<PhantomName>,

    /// Edge of the voxels of the phantom
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, requires = "phantom", default_value = "2 mm")]
    pub voxel: f64,

    /// Size of the cells of the recipe of a phantom [default: twice the voxels]
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, requires = "phantom")]
    pub cell: Option<f64>,

    /// Size of the cells of its cover
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, requires = "phantom")]
    pub cover: Option<f64>,

    /// Jitter of its boundaries, as a standard deviation in voxels
    #[arg(long, value_name = "VOXELS", requires = "phantom", default_value_t = 0.0)]
    pub noise: f64,

    /// Its image shows no tendons: the recipe adds them
    #[arg(long, requires = "phantom")]
    pub without_tendons: bool,

    /// Factor on the coordinates of the mesh, or their unit, for example mm [default: a plausible unit]
    #[arg(long, value_name = "F", value_parser = mesh::scale, requires = "mesh")]
    pub scale: Option<f64>,

    /// Largest extent of the body, for example "12 cm"
    #[arg(long, value_name = "LENGTH", value_parser = mesh::length, conflicts_with = "mesh")]
    pub size: Option<f64>,

    /// Tissue: flesh, fat, skin, cartilage, tongue, gel, rubber, or a Young's modulus such as "12 kPa"
    #[arg(long, value_name = "TISSUE", value_parser = Tissue::parse)]
    pub material: Option<Tissue>,

    /// Duration, for example "2 s"
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<f64>,

    /// Asks for missing options, also if stdin is a pipe
    #[arg(short, long)]
    pub interactive: bool,

    /// Replaces an existing scene
    #[arg(long)]
    pub force: bool,

    /// Lists the templates
    #[arg(long)]
    pub list: bool,
}

fn template(text: &str) -> Result<Template, String> {
    Template::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Template::all().map(Template::name).collect();
        match nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there are {}", names.join(", ")),
        }
    })
}

fn time(text: &str) -> Result<f64, String> {
    match Quantity::parse(text) {
        Ok(Quantity { value, dimension: Dimension::TIME | Dimension::NUMBER }) if value > 0.0 => Ok(value),
        _ => Err("must be a positive time such as \"2 s\"".into()),
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    if arguments.list {
        let rows: Vec<Vec<String>> =
            Template::all().map(|template| vec![template.name().into(), template.summary().into()]).collect();
        console::print(&table::layout(&rows, &[]))?;
        return Ok(Status::Done);
    }
    let Some(file) = &arguments.file else { return Err(Failure::Other("the name of the scene is missing".into())) };
    let file = if file.extension().is_none() { file.with_extension("toml") } else { file.clone() };
    if file.exists() && !arguments.force {
        return Err(Failure::Other(format!("{} exists\nhint: --force replaces it", file.display())));
    }
    if let Some(image) = &arguments.image {
        return recipe(image, &file, console);
    }
    if let Some(name) = arguments.phantom {
        return phantom_recipe(arguments, name, &file, console);
    }
    let is_undecided = arguments.template.is_none() && arguments.mesh.is_none();
    let asks = arguments.interactive || (is_undecided && std::io::stdin().is_terminal());
    if is_undecided && !asks {
        let names: Vec<&str> = Template::all().map(Template::name).collect();
        return Err(Failure::Other(format!(
            "which template?\nhint: --template NAME with {}, --mesh FILE, or --interactive",
            names.join(", ")
        )));
    }
    let mut options = Options {
        template: arguments.template,
        mesh: arguments.mesh.clone(),
        scale: arguments.scale,
        size: arguments.size,
        tissue: arguments.material.clone(),
        duration: arguments.duration,
    };
    if asks {
        options.ask(&mut std::io::stdin().lock())?;
    }
    let template = options.template.unwrap_or(if options.mesh.is_some() { Template::Mesh } else { Template::Hanging });
    options.check(template)?;
    let mut params = TemplateParams::usual(template);
    params.size = options.size.unwrap_or(params.size);
    params.duration = options.duration.unwrap_or(params.duration);
    params.tissue = options.tissue.unwrap_or(params.tissue);
    match (template, &options.mesh) {
        (Template::Mesh, Some(mesh)) => params.mesh = Some(look(mesh, &file, options.scale, console)?),
        (Template::Mesh, None) => return Err(Failure::Other("this template needs a mesh\nhint: --mesh FILE".into())),
        (other, Some(_)) => {
            let name = other.name();
            return Err(Failure::Other(format!(
                "the template \"{name}\" has its own body\nhint: --mesh goes with --template mesh, or with none"
            )));
        }
        (_, None) => {}
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    check_outputs(options.mesh.iter(), [&file]).map_err(|error| Failure::Other(error.to_string()))?;
    if template == Template::Character {
        params.character = character(&file, arguments.force, console)?;
    }
    let text = scene_text(template, &params, &name);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Check the scene before writing it: a template must not contain errors.
    let scene = Scene::from_str(&text, &name, folder)?;
    let simulation = compile(&scene)?;
    write_file(&file, text.as_bytes()).map_err(|error| Failure::Other(error.to_string()))?;
    write_schema(&folder.join(SCHEMA_FILE))?;
    let cells: usize = simulation.model().bodies.iter().map(|body| body.mesh.cell_count()).sum();
    let (title, frames) = (scene_title(template, &params), scene.frame_count());
    console.note(&format!("wrote {}: {title} ({cells} cells, {frames} frames)", file.display()));
    console.note(&format!("next: sinew run {}", file.display()));
    Ok(Status::Done)
}

/// Writes a sample character beside the scene; returns its file name and the animation to play.
fn character(scene: &Path, replaces: bool, console: Console) -> Result<[String; 2], Failure> {
    let file = scene.with_extension("glb");
    if file.exists() && !replaces {
        return Err(Failure::Other(format!("{} exists\nhint: --force replaces it", file.display())));
    }
    let other = |error: String| Failure::Other(format!("{}: {error}", file.display()));
    let params = CharacterParams { motion: Some("curl"), ..CharacterParams::of(Character::Arm) };
    let rig = generate(&params).map_err(|error| other(error.to_string()))?;
    let bytes = write_rig(&rig, true).map_err(|error| other(error.to_string()))?;
    write_file(&file, &bytes).map_err(|error| Failure::Other(error.to_string()))?;
    console.note(&format!("wrote {}", file.display()));
    let animation = rig.animations.first().map(|animation| animation.name.clone()).unwrap_or_default();
    Ok([file.file_name().unwrap_or_default().to_string_lossy().into_owned(), animation])
}

/// Writes the schema that the first line of the scene names; keeps a file that is not a schema of scenes.
fn write_schema(path: &Path) -> Result<(), Failure> {
    write_schema_of(path, &schema::text()?, "Sinew scene")
}

/// Drafts a recipe from a labeled image.
fn recipe(image: &Path, file: &Path, console: Console) -> Result<Status, Failure> {
    check_outputs([image], [file]).map_err(|error| Failure::Other(error.to_string()))?;
    let (text, notes) = sinew_run::anatomy::draft(image, &relative(image, file)).map_err(Failure::Other)?;
    notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    write_recipe(&text, file, console)
}

/// Checks a recipe and writes it with its schema.
fn write_recipe(text: &str, file: &Path, console: Console) -> Result<Status, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let recipe = sinew_scene::Recipe::from_text(text, &name, folder)?;
    write_file(file, text.as_bytes()).map_err(|error| Failure::Other(error.to_string()))?;
    write_schema_of(&folder.join(RECIPE_SCHEMA), &schema::recipe_text()?, "Sinew recipe")?;
    console.note(&format!("wrote {}: {} tissues", file.display(), recipe.tissue.len()));
    console.note(&format!("next: sinew anatomy build {}", file.display()));
    Ok(Status::Done)
}

/// Writes the recipe of a phantom.
fn phantom_recipe(arguments: &Arguments, name: PhantomName, file: &Path, console: Console) -> Result<Status, Failure> {
    let voxel = arguments.voxel;
    let image = PhantomImage {
        name,
        voxel,
        noise: arguments.noise.clamp(0.0, 2.0),
        without_tendons: arguments.without_tendons,
        ..PhantomImage::default()
    };
    let text = sinew_run::anatomy::phantom_recipe(&image, arguments.cell.unwrap_or(2.0 * voxel), arguments.cover, None);
    write_recipe(&text, file, console)
}

fn phantom(text: &str) -> Result<PhantomName, String> {
    let known = [PhantomName::Arm, PhantomName::Head, PhantomName::Calf];
    let found = known.into_iter().find(|name| name.word() == text);
    found.ok_or_else(|| format!("there are {}", known.map(PhantomName::word).join(", ")))
}

/// The schema that the first line of a recipe names.
const RECIPE_SCHEMA: &str = "sinew-recipe.schema.json";

fn write_schema_of(path: &Path, schema: &str, title: &str) -> Result<(), Failure> {
    let is_own = |text: String| text.contains(&format!("\"title\": \"{title}\"")) && text != schema;
    if path.exists() && !std::fs::read_to_string(path).is_ok_and(is_own) {
        return Ok(());
    }
    write_file(path, schema.as_bytes()).map_err(|error| Failure::Other(error.to_string()))
}

/// Reads a mesh and reports the assumptions about it.
fn look(mesh: &Path, scene: &Path, scale: Option<f64>, console: Console) -> Result<MeshFacts, Failure> {
    let data = sinew_io::load(mesh).map_err(|error| Failure::Other(error.to_string()))?;
    for note in &data.notes {
        console.note(&format!("note: {note}"));
    }
    let stem = mesh.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let facts = MeshFacts::look(data, &stem, &relative(mesh, scene), scale).map_err(|error| {
        Failure::Other(format!(
            "{}: {error}\nhint: `sinew mesh check {}` lists all problems",
            mesh.display(),
            mesh.display()
        ))
    })?;
    let sides = format_size(facts.size().to_array(), 3);
    match scale {
        None => {
            let (factor, unit) = plausible_scale(facts.bounds.size().max_component());
            console.note(&format!(
                "assumed that {} is in {unit} (scale = {}): {sides}; --scale overrides this",
                mesh.display(),
                format_number(factor)
            ));
        }
        Some(_) => console.note(&format!("{} is {sides}", mesh.display())),
    }
    if facts.needs_repair {
        console.note("the surface is open or intersects itself; the scene fills it with repair = \"winding\"");
    }
    if !facts.regions.is_empty() {
        let names: Vec<&str> = facts.regions.iter().map(|(name, _)| name.as_str()).take(8).collect();
        console.note(&format!("regions: {}{}", names.join(", "), if facts.regions.len() > 8 { " …" } else { "" }));
    }
    Ok(facts)
}

/// A path relative to the folder of the scene, if possible.
fn relative(mesh: &Path, scene: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (mesh, scene) = (absolute(mesh), absolute(scene));
    let folder = scene.parent().unwrap_or(Path::new("/"));
    let shared = mesh.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return mesh.to_string_lossy().into_owned();
    }
    let up = folder.components().skip(shared).map(|_| "..".to_string());
    let down = mesh.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Options given so far.
struct Options {
    template: Option<Template>,
    mesh: Option<PathBuf>,
    scale: Option<f64>,
    size: Option<f64>,
    tissue: Option<Tissue>,
    duration: Option<f64>,
}

impl Options {
    /// Options that the template does not have.
    fn check(&self, template: Template) -> Result<(), Failure> {
        let name = template.name();
        let wrong = |text: String| Err(Failure::Other(text));
        if self.mesh.is_some() && template == Template::Character {
            return wrong(format!(
                "the template \"{name}\" has its own character\nhint: `sinew skin CHARACTER.glb --scene FILE.toml` writes a scene with yours"
            ));
        }
        if self.tissue.is_some() && !template.takes_material() {
            return wrong(format!("the template \"{name}\" is about muscle: leave --material out"));
        }
        if self.size.is_some() && !template.takes_size() {
            return wrong(format!("the template \"{name}\" has its own size: leave --size out"));
        }
        Ok(())
    }

    /// Asks for missing options; an empty answer means the default.
    fn ask(&mut self, input: &mut dyn BufRead) -> Result<(), Failure> {
        if self.template.is_none() && self.mesh.is_none() {
            for template in Template::all() {
                console::message(&format!("  {:<10} {}", template.name(), template.summary()));
            }
            self.template = Some(question(input, "template", "hanging", template)?);
        }
        if self.template == Some(Template::Mesh) && self.mesh.is_none() {
            let file = |text: &str| match Path::new(text).is_file() {
                true => Ok(PathBuf::from(text)),
                false => Err("there is no such file".to_string()),
            };
            self.mesh = Some(question(input, "mesh file", "", file)?);
        }
        let template = self.template.unwrap_or(Template::Mesh);
        if self.size.is_none() && self.mesh.is_none() && template.takes_size() {
            let usual = format_quantity(template.usual_size(), Dimension::LENGTH);
            self.size = Some(question(input, "size", &usual, mesh::length)?);
        }
        if self.mesh.is_some() && self.scale.is_none() {
            let answer = |text: &str| if text == "guess" { Ok(None) } else { mesh::scale(text).map(Some) };
            self.scale = question(input, "unit of the mesh (m, cm, mm, or a factor)", "guess", answer)?;
        }
        if self.tissue.is_none() && template.takes_material() {
            let names: Vec<&str> = Tissue::names().collect();
            let prompt = format!("material ({}, or a Young's modulus)", names.join(", "));
            self.tissue = Some(question(input, &prompt, names[0], Tissue::parse)?);
        }
        if self.duration.is_none() {
            let usual = format!("{} s", format_number(template.usual_duration()));
            self.duration = Some(question(input, "duration", &usual, time)?);
        }
        Ok(())
    }
}

/// Asks until the answer is valid; the end of the input means the default.
fn question<T>(
    input: &mut dyn BufRead,
    what: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    loop {
        let default = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "{what}{default}: ").and_then(|()| out.flush());
        drop(out);
        let mut line = String::new();
        let count =
            input.read_line(&mut line).map_err(|error| Failure::Other(format!("cannot read the answer: {error}")))?;
        let answer = line.trim();
        let answer = if answer.is_empty() { usual } else { answer };
        match parse(answer) {
            Ok(value) => return Ok(value),
            // End of input: asking again is useless.
            Err(problem) if count == 0 => return Err(Failure::Other(format!("no answer for \"{what}\": {problem}"))),
            Err(problem) => console::message(&format!("  \"{answer}\": {problem}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_scene() {
        assert_eq!(relative(Path::new("/a/meshes/x.vtu"), Path::new("/a/scenes/s.toml")), "../meshes/x.vtu");
        assert_eq!(relative(Path::new("/a/x.vtu"), Path::new("/a/s.toml")), "x.vtu");
    }

    #[test]
    fn a_wrong_answer_is_asked_again_and_an_empty_one_is_the_usual() {
        let mut input = std::io::Cursor::new("butter\n\n");
        let tissue = question(&mut input, "material", "fat", Tissue::parse).unwrap();
        assert_eq!(tissue.name, Some("fat"));
        let mut nothing = std::io::Cursor::new("");
        assert!(question(&mut nothing, "mesh", "", |_| Err::<(), _>("none".into())).is_err());
    }
}
