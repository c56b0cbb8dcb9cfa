//! Writing a scene as text and reading it again gives the same scene.

use std::path::{Path, PathBuf};

use sinew_scene::Scene;

fn scenes(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            scenes(&entry, found);
        } else if entry.extension().is_some_and(|end| end == "toml") {
            found.push(entry);
        }
    }
}

#[test]
fn every_scene_of_the_repository_reads_back_as_itself() {
    let mut files = Vec::new();
    scenes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes"), &mut files);
    let mut count = 0;
    for file in files {
        // Lists of bones and other fragments are not scenes.
        let Ok(scene) = Scene::load(&file) else { continue };
        let text = scene.to_toml();
        let again = Scene::from_str(&text, "again.toml", file.parent().unwrap());
        let again = again.unwrap_or_else(|error| panic!("{}: {error}\n{text}", file.display()));
        assert_eq!(again, scene, "{}\n{text}", file.display());
        count += 1;
    }
    assert!(count > 100, "{count} scenes");
}
