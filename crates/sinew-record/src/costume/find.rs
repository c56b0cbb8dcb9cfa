//! Characters of recordings, whose files may have moved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_scene::output::MANIFEST;
use sinew_scene::spec::Scene;
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::{Character, Override, SceneCharacter};
use sinew_store::Recording;

use super::Wardrobe;

impl Wardrobe {
    /// The costumes of the characters of a recording, if the files of its scene can still be found; notes say which cannot.
    /// Whether the scene switches textures off is for the caller to ask.
    pub fn of_recording(recording: &Recording) -> Wardrobe {
        let header = recording.header();
        let characters = characters(&header.scene_text);
        if characters.is_empty() {
            return Wardrobe::default();
        }
        let overrides: Vec<Override> = header.overrides.iter().cloned().map(Override::from).collect();
        // A scene is read only with all of its files.
        let read = |folder: PathBuf| Scene::from_text(&header.scene_text, &header.scene_name, folder, &overrides).ok();
        match folders(recording.path(), &header.scene_name).into_iter().find_map(read) {
            Some(mut scene) => {
                // Pictures may be asked for later that the run did without.
                scene.record.textures = true;
                Wardrobe::of_scene(&scene)
            }
            None => {
                let note = |(name, file): &(String, String)| {
                    format!(
                        "{name} has the color of flesh in pictures: {file}, or another file of the scene, cannot be found"
                    )
                };
                Wardrobe { notes: characters.iter().map(note).collect(), ..Wardrobe::default() }
            }
        }
    }

    /// The costumes of the characters of a scene, which are read from their files.
    pub fn of_scene(scene: &Scene) -> Wardrobe {
        if !scene.record.textures {
            return Wardrobe::default();
        }
        let (mut characters, mut notes) = (Vec::new(), Vec::new());
        for (body, data) in scene.body.iter().enumerate() {
            let (Some(settings), Mesh::Fill(mesh)) = (&data.rig, &data.mesh) else { continue };
            match Character::load(scene.source.folder(), &mesh.surface, settings, mesh.repair) {
                Ok(character) => {
                    characters.push(SceneCharacter {
                        body,
                        character: Arc::new(character),
                        bones: Vec::new(),
                        paint: Arc::default(),
                    });
                }
                // Why is told by `sinew check`.
                Err(_) => notes.push(format!(
                    "{} has the color of flesh in pictures: {} is not what it was",
                    data.name, mesh.surface
                )),
            }
        }
        let mut wardrobe = Wardrobe::of(scene, &characters);
        wardrobe.notes.splice(..0, notes);
        wardrobe
    }
}

/// Names and files of the characters in the text of a scene.
fn characters(text: &str) -> Vec<(String, String)> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let bodies = table.get("body").and_then(toml::Value::as_array).into_iter().flatten().enumerate();
    let of_body = |(number, body): (usize, &toml::Value)| {
        body.get("rig")?;
        let word = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(String::from);
        let mesh = body.get("mesh")?;
        let file = word(mesh.get("surface")).or(word(mesh.get("from"))).or(word(Some(mesh)))?;
        Some((word(body.get("name")).unwrap_or_else(|| format!("body {number}")), file))
    };
    bodies.filter_map(of_body).collect()
}

/// Folders in which the scene of a recording may have been, the likeliest first.
fn folders(recording: &Path, scene_name: &str) -> Vec<PathBuf> {
    let of_run = recording.parent().unwrap_or(Path::new("."));
    // Empty for a scene in the folder where the command was given.
    let of_scene = Path::new(scene_name).parent().unwrap_or(Path::new(""));
    let origin = std::fs::read(of_run.join(MANIFEST)).ok().and_then(|bytes| {
        let manifest: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        manifest["directory"].as_str().map(PathBuf::from)
    });
    let here = PathBuf::new();
    origin
        .iter()
        .chain([&here])
        .flat_map(|folder| [folder.join(of_scene), folder.clone()])
        .chain([of_run.into()])
        .collect()
}
