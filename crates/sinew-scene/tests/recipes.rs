//! Recipes and `[[anatomy]]`: what they stand for, and how mistakes are told.

use sinew_scene::spec::mesh::Mesh;
use sinew_scene::spec::rigid::RigidShape;
use sinew_scene::{Recipe, Scene};

const RECIPE: &str = r#"
[image]
phantom = { name = "arm", voxel = "4 mm" }

[mesh]
cell = "8 mm"

[[tissue]]
name = "humerus"
kind = "bone"
labels = ["humerus"]

[[tissue]]
name = "radius"
kind = "bone"
labels = ["radius"]

[[tissue]]
name = "biceps"
kind = "muscle"
labels = ["biceps_long", 7]
tendon = [{ to = "radius", radius = "3 mm" }]
attach = [{ name = "origin", bone = "humerus" }, { name = "insertion", bone = "radius", within = "3 mm" }]
"#;

fn mistakes(text: &str) -> String {
    Recipe::from_text(text, "arm.toml", ".").expect_err("this recipe has mistakes").to_string()
}

#[test]
fn a_recipe_survives_as_text() {
    let recipe = Recipe::from_text(RECIPE, "arm.toml", ".").unwrap_or_else(|error| panic!("{error}"));
    let again = Recipe::from_text(&recipe.to_toml(), "arm.toml", ".").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(recipe, again);
    assert_eq!(recipe.mesh.cell, 8e-3);
    assert!(recipe.tissue("biceps").is_some_and(|biceps| biceps.has_tendon() && biceps.has_fibers()));
}

#[test]
fn all_mistakes_are_told_at_once_with_what_was_meant() {
    let text = RECIPE
        .replace("bone = \"humerus\"", "bone = \"humeru\"")
        .replace("kind = \"muscle\"", "kind = \"musle\"")
        .replace("cell = \"8 mm\"", "cell = \"-8 mm\"\nmethodd = \"stuffed\"");
    let told = mistakes(&text);
    for part in
        ["did you mean `humerus`?", "did you mean \"muscle\"?", "`cell` must be positive", "did you mean `method`?"]
    {
        assert!(told.contains(part), "{part}\n{told}");
    }
}

#[test]
fn references_within_a_recipe_are_checked() {
    for (from, to, message) in [
        ("to = \"radius\"", "to = \"biceps\"", "`biceps` is not a bone"),
        ("name = \"radius\"\nkind", "name = \"humerus\"\nkind", "the name `humerus` is taken"),
        ("phantom = { name = \"arm\", voxel = \"4 mm\" }", "file = \"no.nii\"", "cannot find the file `no.nii`"),
        ("labels = [\"humerus\"]", "", "has neither `labels` nor `surface`"),
        ("name = \"insertion\"", "name = \"origin\"", "the name `origin` is taken"),
    ] {
        let told = mistakes(&RECIPE.replace(from, to));
        assert!(told.contains(message), "{message}\n{told}");
    }
}

/// A folder with the recipe, for scenes that name it.
fn folder() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sinew-recipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("arm.toml"), RECIPE).unwrap();
    folder
}

#[test]
fn an_anatomy_stands_for_bodies_rigids_binds_and_muscles() {
    let text = "duration = 1\n[[anatomy]]\nrecipe = \"arm.toml\"\n[[body]]\nname = \"biceps\"\ndensity = 1060\n[[rigid]]\nname = \"radius\"\nmotion = { translation = [0, 0, \"1 cm\"] }\n";
    let scene = Scene::from_str(text, "a.toml", folder()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scene.body.len(), scene.rigid.len(), scene.anatomy.len()), (1, 2, 0));
    let biceps = &scene.body[0];
    assert!(matches!(&biceps.mesh, Mesh::Anatomy(mesh) if mesh.tissue == "biceps"));
    assert_eq!((biceps.density, biceps.muscle.len(), biceps.pin.len(), biceps.bind.len()), (1060.0, 1, 2, 0));
    assert!(biceps.pin[0].motion.is_none() && biceps.pin[1].motion.is_some(), "the insertion follows the radius");
    let rigid = |name: &str| scene.rigid.iter().find(|rigid| rigid.name == name).expect("a rigid");
    assert!(rigid("humerus").fixed && matches!(rigid("humerus").shape, RigidShape::Anatomy(_)));
    assert!(!rigid("radius").fixed, "a rigid that moves is not fixed");
    let free = text.replace("motion = { translation = [0, 0, \"1 cm\"] }", "fixed = false");
    let free = Scene::from_str(&free, "a.toml", folder()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((free.body[0].pin.len(), free.body[0].bind.len()), (1, 1));
    assert_eq!(free.body[0].bind[0].to, "radius");
    let again = Scene::from_str(&scene.to_toml(), "a.toml", folder()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scene, again);
}

#[test]
fn mistakes_in_an_anatomy_are_told_where_it_stands() {
    for (keys, message) in [
        ("", "an anatomy has either `model` or `recipe`"),
        ("recipe = \"arm.toml\"\ntissues = [\"bizeps\"]", "did you mean `biceps`?"),
        ("model = \"nothing\"", "`sinew anatomy build RECIPE -o MODEL` writes a model"),
        ("recipe = \"arm.toml\"\nbone = \"none\"", "did you mean `bones`?"),
    ] {
        let text = format!("duration = 1\n[[anatomy]]\n{keys}\n");
        let told = Scene::from_str(&text, "a.toml", folder()).expect_err("a mistake").to_string();
        assert!(told.contains(message) && told.contains("a.toml:"), "{message}\n{told}");
    }
}

#[test]
fn names_of_muscles_that_hold_the_name_of_a_bone_are_muscles() {
    use sinew_scene::recipe::{draft::kind_of, tissue::Kind};
    for name in
        ["tibialis_posterior", "Extensor carpi ulnaris", "subscapularis", "quadriceps femoris", "levator scapulae"]
    {
        assert_eq!(kind_of(name), Some(Kind::Muscle), "{name}");
    }
    for name in ["tibia", "Ulna", "scapula_right", "costa 4", "os_femoris"] {
        assert_eq!(kind_of(name), Some(Kind::Bone), "{name}");
    }
    assert_eq!(kind_of("tibialis_anterior_tendon"), Some(Kind::Tendon));
    assert_eq!(kind_of("Background"), None);
}

#[test]
fn an_aponeurosis_becomes_a_region_of_tendon_beside_the_belly() {
    let folder = folder();
    let sheet = "aponeurosis = [{ type = \"box\", corners = [[0, 0, 0], [1, 1, 1]] }]\n";
    std::fs::write(folder.join("sheet.toml"), RECIPE.to_string() + sheet).unwrap();
    let text = "duration = 1\n[[anatomy]]\nrecipe = \"sheet.toml\"\n";
    let scene = Scene::from_str(text, "a.toml", &folder).unwrap_or_else(|error| panic!("{error}"));
    let biceps = scene.body.iter().find(|body| body.name == "biceps").expect("the muscle");
    let regions: Vec<&str> = biceps.material_regions.iter().map(|part| part.region.as_str()).collect();
    assert_eq!(regions, ["tendon", "aponeurosis"]);
    assert_eq!(biceps.muscle[0].region, "belly");
}

#[test]
fn mistakes_in_aponeuroses_and_templates_are_told() {
    for (extra, message) in [
        ("aponeurosis_labels = [\"sheet\"]", "this label is not among `labels`"),
        ("aponeurosis = [{ type = \"tube\", through = [[0, 0, 0]], radius = 1 }]", "a tube needs at least two points"),
        ("fibers = { by = \"template\", file = \"no.vtu\" }", "cannot find the file `no.vtu`"),
        ("fibers = { by = \"template\", file = \"Cargo.toml\", from = \"orgin\" }", "did you mean `origin`?"),
        ("fibers = { by = \"template\", file = \"Cargo.toml\", across = [1, 0, 0] }", "are given together"),
        ("fibers = { by = \"template\", file = \"@other\" }", "nothing is attached to the recipe as `@other`"),
    ] {
        let told = mistakes(&format!("{RECIPE}{extra}\n"));
        assert!(told.contains(message), "{message}\n{told}");
    }
}
