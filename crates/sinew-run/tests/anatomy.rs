//! From a recipe to a model: what is made again and what is not, and what is told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sinew_run::anatomy::{BuildOptions, Model, build};
use sinew_scene::Recipe;

/// A bone and a muscle of primitives with a tendon that has to be added: small, and every stage has something to do.
const RECIPE: &str = r#"
title = "A bone and a muscle"
voxel = "2 mm"

[mesh]
cell = "6 mm"

[cover]
cell = "12 mm"

[[tissue]]
name = "shaft"
kind = "bone"
csg = [{ add = { type = "capsule", ends = [[0, 0, 0], [0, 0, "12 cm"]], radius = "1 cm" } }]

[[tissue]]
name = "foot"
kind = "bone"
csg = [{ add = { type = "box", corners = [["1 cm", "-1 cm", "-4 cm"], ["6 cm", "1 cm", "-2 cm"]] } }]

[[tissue]]
name = "belly"
kind = "muscle"
csg = [
    { add = { type = "ellipsoid", center = ["22 mm", 0, "6 cm"], radii = ["13 mm", "13 mm", "4 cm"] } },
    { subtract = { type = "tissue", name = "shaft" } },
]
tendon = [{ to = "foot", radius = "5 mm" }]
attach = [{ name = "origin", bone = "shaft", within = "3 mm" }, { name = "insertion", bone = "foot", within = "3 mm" }]
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sinew-anatomy-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn built(text: &str, folder: Option<&Path>) -> Model {
    let recipe = Recipe::from_text(text, "a.toml", ".").unwrap_or_else(|error| panic!("{error}"));
    build(&recipe, &BuildOptions { folder, ..BuildOptions::default() }).unwrap_or_else(|error| panic!("{error}"))
}

/// Files of a model with their bytes, without the cache.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["", "fine", "cover", "bones"] {
        for entry in std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            if entry.path().is_file() {
                let name = format!("{part}/{}", entry.file_name().to_string_lossy());
                found.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

fn stages(model: &Model) -> Vec<&str> {
    model.stages.iter().map(|stage| stage.name.as_str()).collect()
}

#[test]
fn a_model_has_bones_muscles_attachments_fibers_and_covers() {
    let model = built(RECIPE, None);
    assert_eq!(model.problems, []);
    let facts = model.file.tissue.iter().find(|tissue| tissue.name == "belly").expect("the muscle");
    assert_eq!(facts.components, 1, "{facts:?}");
    assert!(facts.has_fibers && facts.has_tendon && facts.attach.iter().all(|at| at.nodes >= 3), "{facts:?}");
    assert!(facts.min_dihedral.to_degrees() > 11.8 && facts.max_dihedral.to_degrees() < 161.2, "{facts:?}");
    let belly = model.tissue("belly").unwrap();
    let (fine, cover) = (belly.mesh.as_ref().expect("cells"), belly.cover.as_ref().expect("a cover"));
    assert!(cover.cell_count() < fine.cell_count());
    // Fibers run down, from the shaft to the foot, on the whole.
    let fibers = &fine.cell_fields()["fiber"].values;
    let down = fibers.chunks_exact(3).filter(|fiber| fiber[2] < 0.0).count();
    assert!(down as f64 > 0.9 * fine.cell_count() as f64, "{down} of {}", fine.cell_count());
    // Nodes and weights of the cover put every fine node where it is.
    let (nodes, weights) = (&fine.node_fields()["cover_nodes"].values, &fine.node_fields()["cover_weights"].values);
    for (k, x) in fine.positions().iter().enumerate() {
        let sum =
            (4 * k..4 * k + 4).map(|i| cover.positions()[nodes[i] as usize] * weights[i]).sum::<sinew_math::Vec3>();
        assert!((sum - *x).norm() < 1e-12, "node {k}");
    }
    let shaft = model.tissue("shaft").unwrap().surface.clone().expect("a surface");
    assert!(shaft.is_closed());
    // π r² l + 4/3 π r³; cells of 0.6 radii cut 8 % off a capsule at most.
    let volume = std::f64::consts::PI * (1e-4 * 0.12 + 4.0 / 3.0 * 1e-6);
    assert!((shaft.volume() / volume - 1.0).abs() < 0.08, "{}", shaft.volume() / volume);
}

/// Mean of a component of the fibers of the belly.
fn mean_of_fibers(model: &Model, axis: usize) -> f64 {
    let mesh = model.tissue("belly").and_then(|tissue| tissue.mesh.clone()).expect("cells");
    let values = &mesh.cell_fields()["fiber"].values;
    values.iter().skip(axis).step_by(3).sum::<f64>() / mesh.cell_count() as f64
}

#[test]
fn attachments_end_where_they_are_told_and_fibers_lean_by_place() {
    let plain = built(RECIPE, None);
    let origin = r#"{ name = "origin", bone = "shaft", within = "3 mm""#;
    let bounds = r#", near = [["1 cm", 0, "9 cm"]], radius = "10 cm", away = [["1 cm", 0, "5 cm"]]"#;
    let fibers = r#"fibers = { by = "laplace", lengthwise = true, leaning = [
        { at = ["22 mm", 0, "6 cm"], pennation = "20 deg", lean = [0, 1, 0] },
        { at = [0, 0, "5 m"], pennation = "40 deg", lean = [0, -1, 0] },
    ] }"#;
    let told = built(&(RECIPE.replace(origin, &format!("{origin}{bounds}")) + fibers), None);
    assert_eq!(told.problems, []);
    let heights = |model: &Model| -> Vec<f64> {
        let mesh = model.tissue("belly").and_then(|tissue| tissue.mesh.clone()).expect("cells");
        mesh.node_sets()["origin"].iter().map(|node| mesh.positions()[*node as usize].z).collect()
    };
    // The plane between both points is at 7 cm.
    assert!(heights(&plain).iter().any(|z| *z < 0.06));
    assert!(!heights(&told).is_empty() && heights(&told).iter().all(|z| *z >= 0.07));
    // All cells are nearer to the first place; the muscle is symmetric in y.
    assert!(mean_of_fibers(&plain, 1).abs() < 0.03, "{}", mean_of_fibers(&plain, 1));
    let leaning = mean_of_fibers(&told, 1);
    assert!((leaning - 20f64.to_radians().sin()).abs() < 0.03, "{leaning}");
}

/// Flat faces of cells of half the radius would cut 4 % off the belly.
#[test]
fn coarse_cells_hold_the_volume_of_their_tissue() {
    let volume = |text: &str| {
        let model = built(text, None);
        model.file.tissue.iter().find(|tissue| tissue.name == "belly").expect("the muscle").volume
    };
    let (coarse, fine) = (volume(RECIPE), volume(&RECIPE.replace("cell = \"6 mm\"", "cell = \"3 mm\"")));
    assert!((coarse / fine - 1.0).abs() < 0.015, "{coarse} {fine}");
}

#[test]
fn a_second_build_runs_no_stage_and_a_changed_line_what_depends_on_it() {
    let folder = Folder::new("again");
    let first = built(RECIPE, Some(&folder.0));
    assert!(first.stages.len() > 10, "{:?}", stages(&first));
    let before = files(&folder.0);
    assert!(before.contains_key("fine/belly.vtu") && before.contains_key("bones/foot.ply"));
    let second = built(RECIPE, Some(&folder.0));
    assert_eq!(stages(&second), [""; 0]);
    assert_eq!(before, files(&folder.0));
    let changed = built(&RECIPE.replace("radius = \"5 mm\"", "radius = \"6 mm\""), Some(&folder.0));
    let ran = stages(&changed);
    assert!(ran.contains(&"shape belly") && ran.contains(&"mesh belly") && ran.contains(&"report"), "{ran:?}");
    assert!(
        !ran.iter().any(|stage| stage.contains("field") || stage.contains("foot") || *stage == "smooth"),
        "{ran:?}"
    );
}

#[test]
fn entries_that_are_missing_or_torn_are_made_again_with_the_same_bits() {
    let folder = Folder::new("torn");
    built(RECIPE, Some(&folder.0));
    let before = files(&folder.0);
    let entries: Vec<PathBuf> =
        std::fs::read_dir(folder.0.join("cache")).unwrap().flatten().map(|e| e.path()).collect();
    for (i, entry) in entries.iter().filter(|entry| entry.is_dir()).enumerate() {
        match i % 3 {
            // As after a kill: the entry never appeared.
            0 => std::fs::remove_dir_all(entry).unwrap(),
            // As after a crash of the disk: another byte, at equal length.
            1 => {
                let mut bytes = std::fs::read(entry.join("value")).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0xff;
                std::fs::write(entry.join("value"), bytes).unwrap();
            }
            _ => {}
        }
    }
    for name in ["fine/belly.vtu", "model.toml"] {
        std::fs::remove_file(folder.0.join(name)).unwrap();
    }
    built(RECIPE, Some(&folder.0));
    assert_eq!(before, files(&folder.0));
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let fingerprints = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let model = pool.install(|| built(RECIPE, None));
        model.tissues.into_iter().map(|tissue| tissue.fingerprint).collect::<Vec<_>>()
    };
    assert_eq!(fingerprints(1), fingerprints(2));
}

#[test]
fn a_tissue_that_cannot_be_made_is_told_at_its_key_and_the_others_are_made() {
    let text = RECIPE.replace("bone = \"foot\", within = \"3 mm\"", "bone = \"foot\", within = \"1 um\"");
    let text = text.replace("tendon = [{ to = \"foot\", radius = \"5 mm\" }]\n", "");
    let model = built(&text, None);
    let recipe = Recipe::from_text(&text, "a.toml", ".").unwrap();
    let told = recipe.source.error(model.problems.clone()).to_string();
    assert!(told.contains("comes no nearer to \"foot\"") && told.contains("add the missing tendon"), "{told}");
    assert!(told.contains("attach = [{ name = \"origin\""), "{told}");
    assert!(model.tissue("shaft").is_ok() && model.tissue("foot").is_ok());
    assert!(model.tissue("belly").unwrap_err().contains("could not be made"));
}

#[test]
fn labels_that_an_image_does_not_have_are_told_with_the_nearest_name() {
    let text = "[image]\nphantom = { name = \"calf\", voxel = \"8 mm\" }\n[mesh]\ncell = \"16 mm\"\n[[tissue]]\nname = \"a\"\nkind = \"bone\"\nlabels = [\"tibbia\"]\n";
    let model = built(text, None);
    let recipe = Recipe::from_text(text, "a.toml", ".").unwrap();
    let told = recipe.source.error(model.problems).to_string();
    assert!(told.contains("the image has no label `tibbia`") && told.contains("did you mean `tibia`?"), "{told}");
}
