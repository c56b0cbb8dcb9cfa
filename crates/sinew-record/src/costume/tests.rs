use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_rig::characters::{Character as Kind, CharacterParams, generate};
use sinew_rig::{Material, Rig};

use super::*;
use crate::record::tests::TestFolder;

const SCENE: &str = "[[body]]\nname = \"arm\"\nmesh = { from = \"fill\", surface = \"arm.glb\", element = \"lattice\", cell = \"3 cm\" }\n\
                     material = { type = \"corotated\", young = \"20 kPa\", poisson = 0.45 }\nrig = { still = true }\n";

fn arm() -> Rig {
    generate(&CharacterParams { edge: 0.015, seconds: 0.25, ..CharacterParams::of(Kind::Arm) }).unwrap()
}

/// The wardrobe of a character that was written and read.
fn wardrobe(rig: &Rig, record: &str) -> Wardrobe {
    wardrobe_of(rig, &format!("{SCENE}[record]\n{record}"))
}

fn wardrobe_of(rig: &Rig, scene: &str) -> Wardrobe {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let folder = TestFolder::new(&format!("costume-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(folder.path("arm.glb"), sinew_io::gltf::write_rig(rig, true).unwrap()).unwrap();
    let text = format!("up = \"y\"\nduration = \"1 s\"\n{scene}");
    let scene = Scene::from_str(&text, "arm.toml", folder.path("")).unwrap_or_else(|error| panic!("{error}"));
    Wardrobe::of_scene(&scene)
}

/// Our own characters have the color of flesh, and so have those without materials.
#[test]
fn plain_characters_wear_nothing() {
    let mut rig = arm();
    assert!(wardrobe(&rig, "").costumes.is_empty());
    rig.appearance.materials.clear();
    rig.surfaces[0].parts[0].material = None;
    assert!(wardrobe(&rig, "").costumes.is_empty());
    // Vertex colors alone are colors.
    let part = &mut rig.surfaces[0].parts[0];
    part.colors = vec![[0.25, 0.5, 1.0, 1.0]; part.positions.len()];
    let worn = wardrobe(&rig, "");
    let coat = &worn.costumes[&0].coat;
    assert_eq!(coat.corner_colors[0], [[0.25, 0.5, 1.0]; 3]);
    assert_eq!(coat.pigments, [Pigment::plain([1.0; 3])]);
    // Unless they are numbers.
    let (text, maps) =
        (SCENE.trim_end(), "material_maps = [{ attribute = \"COLOR_0\", young = [\"10 kPa\", \"60 kPa\"] }]\n");
    assert!(wardrobe_of(&rig, &format!("{text}\n{maps}")).costumes.is_empty());
}

/// One color of its own is a color, and `textures` switches it off.
#[test]
fn colored_characters_wear_their_color() {
    let mut rig = arm();
    rig.appearance.materials = vec![Material { base_color: [0.0, 0.5, 0.25, 1.0], ..Material::default() }];
    let worn = wardrobe(&rig, "");
    let costume = &worn.costumes[&0];
    assert_eq!(costume.coat.pigments, [Pigment::plain([0.0, 0.5, 0.25])]);
    assert_eq!(costume.coat.triangles.len(), costume.character.flesh.surface.triangles().len());
    assert!(costume.coat.corner_colors.is_empty() && costume.followers.triangles.is_empty());
    assert!(wardrobe(&rig, "textures = false").costumes.is_empty());
}
