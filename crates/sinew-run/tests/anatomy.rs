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
    for part in ["", "fine", "cover", "bones", "attach"] {
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
    let mesh = model.tissue("belly").expect("a tissue").mesh.clone().expect("cells");
    let values = &mesh.cell_fields()["fiber"].values;
    values.iter().skip(axis).step_by(3).sum::<f64>() / mesh.cell_count() as f64
}

/// A curve on the shaft, half a radian to both sides and 2 cm high, is an attachment of 1 cm · 1 · 2 cm, to fractions of
/// cells that are 6 mm large; its nodes have that area, too, as far as whole nodes can.
#[test]
fn an_outline_on_a_bone_bounds_an_attachment_within_cells() {
    let folder = Folder::new("outline");
    let corner = |angle: f64, z: f64| format!("[{}, {}, {z}]", 0.01 * angle.cos(), 0.01 * angle.sin());
    let steps = || (0..=10).map(|k| 0.1 * f64::from(k) - 0.5);
    let curve: Vec<String> = steps().map(|a| corner(a, 0.05)).chain(steps().rev().map(|a| corner(a, 0.07))).collect();
    let origin = r#"{ name = "origin", bone = "shaft", within = "3 mm""#;
    let drawn = RECIPE.replace(origin, &format!("{origin}, outline = [[{}]]", curve.join(", ")));
    let model = built(&drawn, Some(&folder.0));
    assert_eq!(model.problems, []);
    let facts = model.file.tissue.iter().find(|tissue| tissue.name == "belly").expect("the muscle");
    // The muscle is up to half a voxel, a tenth of the radius, off the bone.
    assert!((facts.attach[0].area / 2e-4 - 1.0).abs() < 0.1, "{}", facts.attach[0].area);
    let file = folder.0.join(facts.attach[0].surface.as_ref().expect("a file"));
    let surface = sinew_io::load(&file).unwrap().into_surface(&Default::default()).unwrap().mesh;
    // Coordinates of the file have seven digits.
    assert!((surface.area() / facts.attach[0].area - 1.0).abs() < 1e-4);
    let room = surface.bounds();
    assert!((room.min.z - 0.05).abs() < 1e-3 && (room.max.z - 0.07).abs() < 1e-3, "{room:?}");
    // Six nodes or so of 6 mm squared.
    assert!((4..=9).contains(&facts.attach[0].nodes), "{}", facts.attach[0].nodes);
    let small = drawn.replace(&curve.join(", "), &curve[..2].join(", "));
    let error = Recipe::from_text(&small, "a.toml", ".").unwrap_err().to_string();
    assert!(error.contains("at least three points"), "{error}");
}

/// A tendon of radius 5 mm ends on a rectangle of 20 by 12 mm: its foot is attached; with a pad the whole rectangle is.
#[test]
fn a_pad_spreads_a_tendon_over_its_outline() {
    let insertion = r#"{ name = "insertion", bone = "foot", within = "3 mm""#;
    let curve = "[0.015, -0.006, -0.02], [0.035, -0.006, -0.02], [0.035, 0.006, -0.02], [0.015, 0.006, -0.02]";
    let drawn = RECIPE.replace(insertion, &format!("{insertion}, outline = [[{curve}]]"));
    let padded = RECIPE.replace(insertion, &format!("{insertion}, pad = \"6 mm\", outline = [[{curve}]]"));
    let area = |text: &str| {
        let model = built(text, None);
        assert_eq!(model.problems, []);
        let facts = model.file.tissue.iter().find(|tissue| tissue.name == "belly").expect("the muscle");
        assert!(facts.components == 1 && facts.has_tendon, "{facts:?}");
        facts.attach[1].area
    };
    let (alone, whole) = (area(&drawn), area(&padded));
    // π r², and what is within a cell of the bone around it.
    assert!(alone < 1.6e-4, "{alone}");
    // Two percent: the rim of the pad is a quarter of a cell past the curve, which cuts it.
    assert!((whole / 2.4e-4 - 1.0).abs() < 0.02, "{whole}");
    let without = RECIPE.replace(insertion, &format!("{insertion}, pad = \"6 mm\""));
    let error = Recipe::from_text(&without, "a.toml", ".").unwrap_err().to_string();
    assert!(error.contains("there is no outline that a pad could fill"), "{error}");
}

/// Fibers along a drawn line, upward and downward, and leaning from it.
#[test]
fn fibers_follow_lines_of_action() {
    let line = |ends: [&str; 2]| format!(r#"[["22 mm", 0, "{}"], ["22 mm", 0, "{}"]]"#, ends[0], ends[1]);
    let fibers = |line: &str, more: &str| {
        let model = built(&format!("{RECIPE}\nfibers = {{ by = \"lines\", lines = [{line}]{more} }}\n"), None);
        assert_eq!(model.problems, []);
        [0, 1, 2].map(|axis| mean_of_fibers(&model, axis))
    };
    let [down, up] = [["10 cm", "2 cm"], ["2 cm", "10 cm"]].map(|ends| fibers(&line(ends), ""));
    // Fibers close toward the ends of the ellipsoid, by up to 13 mm in 4 cm.
    assert!(down[2] < -0.93 && up[2] > 0.93 && down[1].abs() < 0.02, "{down:?} {up:?}");
    let leaning = fibers(&line(["10 cm", "2 cm"]), r#", pennation = "20 deg", lean = [0, 1, 0]"#);
    let sine = 20f64.to_radians().sin();
    assert!((leaning[1] - sine).abs() < 0.05 * sine && leaning[2] < -0.85, "{leaning:?}");
    let text = format!("{RECIPE}\nfibers = {{ by = \"lines\", lines = [[[0, 0, 0], [0, 0, 0]]] }}\n");
    let error = Recipe::from_text(&text, "a.toml", ".").unwrap_err().to_string();
    assert!(error.contains("two points that differ"), "{error}");
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
        let mesh = model.tissue("belly").expect("a tissue").mesh.clone().expect("cells");
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

/// Flesh against the belly, for meshes of several tissues.
const PAD: &str = r#"
[[tissue]]
name = "pad"
kind = "flesh"
csg = [
    { add = { type = "ellipsoid", center = ["38 mm", 0, "6 cm"], radii = ["14 mm", "14 mm", "3 cm"] } },
    { subtract = { type = "tissue", name = "belly" } },
]
"#;

/// Tissues that touch become one mesh: the cells of each are a set, and neighbors share faces.
#[test]
fn tissues_that_touch_become_one_mesh_with_a_set_for_each() {
    let folder = Folder::new("together");
    let text = RECIPE.replace("cell = \"6 mm\"", "cell = \"6 mm\"\ntogether = true") + PAD;
    let model = built(&text, Some(&folder.0));
    assert_eq!(model.problems, []);
    let mesh = sinew_io::load(&folder.0.join("together.vtu")).unwrap();
    let mesh = mesh.into_volume(&sinew_io::VolumeOptions::default()).unwrap().mesh;
    let sets = mesh.cell_sets();
    assert_eq!(sets.keys().collect::<Vec<_>>(), ["belly", "pad"]);
    assert_eq!(sets.values().map(Vec::len).sum::<usize>(), mesh.cell_count());
    assert_eq!(mesh.components().count, 1, "they hang together");
    let volumes = mesh.cell_volumes();
    for tissue in ["belly", "pad"] {
        let together: f64 = sets[tissue].iter().map(|cell| volumes[*cell as usize]).sum();
        let alone = model.file.tissue.iter().find(|found| found.name == tissue).unwrap().volume;
        // Half a cell of 6 mm on a surface of a radius of 13 mm, where it differs.
        assert!((together / alone - 1.0).abs() < 0.1, "{tissue}: {together} of {alone}");
    }
    assert!(mesh.quality().min_dihedral.to_degrees() >= 8.0);
    // Without it the file goes.
    built(&(RECIPE.to_string() + PAD), Some(&folder.0));
    assert!(!folder.0.join("together.vtu").exists());
}

/// Compressed cells keep the shape of the tissue, with attachments and fibers as stuffed ones have them.
#[test]
fn compressed_cells_go_the_whole_way() {
    let stuffed = built(RECIPE, None);
    let compressed = built(&RECIPE.replace("cell = \"6 mm\"", "cell = \"6 mm\"\nmethod = \"compressed\""), None);
    assert_eq!(compressed.problems, []);
    let [a, b] = [&stuffed, &compressed].map(|model| model.file.tissue.iter().find(|t| t.name == "belly").unwrap());
    assert!(b.has_fibers && b.has_tendon && b.components == 1 && b.attach.iter().all(|at| at.nodes >= 3), "{b:?}");
    assert!(b.min_dihedral.to_degrees() >= 12.0 && b.max_dihedral.to_degrees() <= 168.0, "{b:?}");
    // Two meshes of one solid by cells of half its thickness.
    assert!((b.volume / a.volume - 1.0).abs() < 0.1 && b.cells != a.cells, "{} of {}", b.volume, a.volume);
}

/// Five landmarks of a similarity: everything is 1.2 times as large and 5 cm farther, attachments included.
#[test]
fn landmarks_of_another_person_move_the_whole_model() {
    let place = |p: [f64; 3]| format!("[{}, {}, {}]", p[0], p[1], p[2]);
    let corners = [[0.0, 0.0, 0.0], [0.06, 0.0, 0.0], [0.0, 0.03, 0.0], [0.0, 0.0, 0.12], [0.04, -0.02, 0.08]];
    let marks: Vec<String> = (corners.iter())
        .map(|p| {
            let to = [1.2 * p[0] + 0.05, 1.2 * p[1], 1.2 * p[2]];
            format!("{{ from = {}, to = {} }}", place(*p), place(to))
        })
        .collect();
    let text = format!("{RECIPE}\n[morph]\nlandmarks = [{}]\n", marks.join(", "));
    let near = "within = \"3 mm\", near = [[\"1 cm\", 0, \"6 cm\"]], radius = \"4 cm\"";
    let text = text.replacen("within = \"3 mm\"", near, 1);
    let [before, after] = [RECIPE, &text].map(|text| built(text, None));
    assert_eq!(after.problems, []);
    for (a, b) in before.file.tissue.iter().zip(&after.file.tissue) {
        // Cells of one size see less of the smaller one: a tenth of its volume, as without a morph.
        assert!((b.volume / a.volume / 1.728 - 1.0).abs() < 0.1, "{}: {} → {}", a.name, a.volume, b.volume);
        for k in 0..3 {
            let shift = if k == 0 { 0.05 } else { 0.0 };
            // The voxels of 2 mm, and those of the morphed surface.
            assert!((b.low[k] - 1.2 * a.low[k] - shift).abs() < 4e-3, "{}: {:?} → {:?}", a.name, a.low, b.low);
            assert!((b.high[k] - 1.2 * a.high[k] - shift).abs() < 4e-3, "{}: {:?} → {:?}", a.name, a.high, b.high);
        }
        assert!(b.attach.iter().all(|at| at.nodes >= 3), "{b:?}");
    }
    let folding = format!("{RECIPE}\n[morph]\nlandmarks = [{}]\n", vec![marks[0].clone(); 4].join(", "));
    let model = built(&folding, None);
    assert!(model.tissues.is_empty() && model.problems[0].message.contains("apart"), "{:?}", model.problems);
}

fn belly_of(model: &Model) -> std::sync::Arc<sinew_geometry::CellMesh> {
    assert_eq!(model.problems, []);
    model.tissue("belly").unwrap().mesh.clone().expect("cells")
}

fn fibers_of(mesh: &sinew_geometry::CellMesh) -> Vec<sinew_math::Vec3> {
    let values = &mesh.cell_fields()["fiber"].values;
    values.chunks_exact(3).map(|f| sinew_math::Vec3::new(f[0], f[1], f[2])).collect()
}

/// Angles between two fields of fibers \[°\], ascending.
fn angles(a: &[sinew_math::Vec3], b: &[sinew_math::Vec3]) -> Vec<f64> {
    let mut angles: Vec<f64> = a.iter().zip(b).map(|(a, b)| a.dot(*b).clamp(-1.0, 1.0).acos().to_degrees()).collect();
    angles.sort_by(f64::total_cmp);
    angles
}

/// The model of the recipe serves as template for itself, and for a muscle with coarser cells.
#[test]
fn fibers_follow_a_template_by_axes_and_by_landmarks() {
    let folder = Folder::new("template");
    built(RECIPE, Some(&folder.0));
    let own = belly_of(&built(RECIPE, None));
    let with = |fibers: &str, text: &str| {
        let file = folder.0.join("fine/belly.vtu");
        let fibers = format!("fibers = {{ by = \"template\", file = {:?}{fibers} }}\n", file.display().to_string());
        belly_of(&built(&(text.to_string() + &fibers), None))
    };
    let same = with("", RECIPE);
    assert_eq!(same.positions(), own.positions());
    // Middles of cells are found in their own cell.
    assert!(angles(&fibers_of(&own), &fibers_of(&same)).last().is_some_and(|worst| *worst < 1e-3));
    let coarse = RECIPE.replace("cell = \"6 mm\"", "cell = \"5 mm\"");
    let marks = "[{ from = [0,0,0], to = [0,0,0] }, { from = [1,0,0], to = [1,0,0] }, { from = [0,1,0], to = [0,1,0] }, { from = [0,0,1], to = [0,0,1] }]";
    let laplace = fibers_of(&belly_of(&built(&coarse, None)));
    for fibers in [String::new(), format!(", landmarks = {marks}")] {
        let found = angles(&laplace, &fibers_of(&with(&fibers, &coarse)));
        // Fibers are constant in cells a quarter as thick as the belly, and the middles of attachments of some ten nodes
        // tilt the axes; a wrong frame is off by 40 degrees and more.
        assert!(found[found.len() / 2] < 12.0, "{} degrees, {fibers}", found[found.len() / 2]);
    }
    // What is no template is told at the key; bones are made.
    let model = built(&format!("{RECIPE}fibers = {{ by = \"template\", file = \"Cargo.toml\" }}\n"), None);
    assert!(model.tissue("belly").is_err() && model.tissue("shaft").is_ok());
    let bone = folder.0.join("bones/shaft.ply");
    let model =
        built(&format!("{RECIPE}fibers = {{ by = \"template\", file = {:?} }}\n", bone.display().to_string()), None);
    assert!(model.tissue("belly").unwrap_err().contains("bones/shaft.ply"), "{:?}", model.problems);
}

/// A sheet on the far side of the belly: its cells are a region, and fibers lean toward it by the pennation.
#[test]
fn an_aponeurosis_is_a_region_toward_which_fibers_lean() {
    let sheet = "aponeurosis = [{ type = \"box\", corners = [[\"29 mm\", \"-15 mm\", \"2 cm\"], [\"40 mm\", \"15 mm\", \"10 cm\"]] }]\n";
    let text = format!("{RECIPE}{sheet}fibers = {{ by = \"laplace\", pennation = \"20 deg\" }}\n");
    let model = built(&text, None);
    let (leaning, straight) = (belly_of(&model), belly_of(&built(RECIPE, None)));
    let sets = leaning.cell_sets();
    assert!(["aponeurosis", "belly", "tendon"].iter().all(|name| !sets[*name].is_empty()), "{:?}", sets.keys());
    assert_eq!(sets.values().map(Vec::len).sum::<usize>(), leaning.cell_count(), "every cell is in one of them");
    assert!(model.file.tissue.iter().any(|tissue| tissue.has_aponeurosis));
    let (a, b) = (fibers_of(&straight), fibers_of(&leaning));
    let found = angles(&a, &b);
    // But where fibers run straight at the sheet, the angle is that of the pennation.
    let leans = found.iter().filter(|angle| (**angle - 20.0).abs() < 0.5).count();
    assert!(leans as f64 > 0.95 * found.len() as f64, "{leans} of {}", found.len());
    // The sheet is on the side of +x; its own cells lie on both sides of its surface.
    let outward = sets["belly"].iter().filter(|cell| b[**cell as usize].x > a[**cell as usize].x).count();
    assert!(outward as f64 > 0.9 * sets["belly"].len() as f64, "{outward} of {}", sets["belly"].len());
    // The cover keeps the region, thinner than its cells as it is.
    let cover = model.tissue("belly").unwrap().cover.clone().expect("a cover");
    assert!(!cover.cell_sets()["aponeurosis"].is_empty());
    let outside = text.replace("\"29 mm\", \"-15 mm\"", "\"39 mm\", \"-15 mm\"");
    let model = built(&outside, None);
    assert!(model.problems[0].message.contains("no cell has its middle"), "{:?}", model.problems);
}

/// Two landmarks that change places turn the tissue between them inside out; labels belong to one tissue.
#[test]
fn folds_and_overlaps_are_told_at_their_keys_and_other_tissues_are_made() {
    let told = |text: &str| {
        let model = built(text, None);
        let recipe = Recipe::from_text(text, "a.toml", ".").unwrap();
        (recipe.source.error(model.problems.clone()).to_string(), model)
    };
    let fixed: Vec<String> = (0..8)
        .map(|k| {
            let p = [0, 1, 2].map(|axis| if k >> axis & 1 == 1 { 0.2 } else { -0.1 });
            format!("{{ from = {p:?}, to = {p:?} }}")
        })
        .collect();
    let swapped =
        "{ from = [0.022, 0, 0.045], to = [0.022, 0, 0.075] }, { from = [0.022, 0, 0.075], to = [0.022, 0, 0.045] }";
    let (message, model) = told(&format!("{RECIPE}\n[morph]\nlandmarks = [{}, {swapped}]\n", fixed.join(", ")));
    assert!(message.contains("belly: the landmarks fold space at (") && message.contains("change places"), "{message}");
    assert!(model.tissue("foot").is_ok() && model.tissue("belly").is_err(), "{message}");

    let image = "[image]\nphantom = { name = \"calf\", voxel = \"8 mm\" }\n[mesh]\ncell = \"16 mm\"\n";
    let tissue =
        |name: &str, labels: &str| format!("[[tissue]]\nname = {name:?}\nkind = \"bone\"\nlabels = {labels}\n");
    let (message, model) =
        told(&format!("{image}{}{}", tissue("femur", "[\"femur\"]"), tissue("leg", "[\"tibia\", \"femur\"]")));
    assert!(message.contains("leg: the label `femur` is already part of `femur`"), "{message}");
    assert!(model.tissue("femur").is_ok());
}

/// A spindle between two blocks, for a muscle that bulges as one block comes nearer.
const SPINDLE: &str = r#"
voxel = "1.5 mm"
[mesh]
cell = "3 mm"
[cover]
cell = "12 mm"
[[tissue]]
name = "shaft"
kind = "bone"
csg = [{ add = { type = "box", corners = [["-3 cm", "-3 cm", "-2 cm"], ["3 cm", "3 cm", 0]] } }]
[[tissue]]
name = "foot"
kind = "bone"
csg = [{ add = { type = "box", corners = [["-3 cm", "-3 cm", "8 cm"], ["3 cm", "3 cm", "10 cm"]] } }]
[[tissue]]
name = "belly"
kind = "muscle"
csg = [
    { add = { type = "ellipsoid", center = [0, 0, "4 cm"], radii = ["14 mm", "14 mm", "5 cm"] } },
    { subtract = { type = "tissue", name = "shaft" } },
    { subtract = { type = "tissue", name = "foot" } },
]
attach = [{ name = "origin", bone = "shaft", within = "2 mm" }, { name = "insertion", bone = "foot", within = "2 mm" }]
"#;

/// TER-E10: at half activation, shortened by an eighth, the surface that a cover carries is within 2 % of the largest
/// displacement (root mean square, 1.1 %) of that of the fine mesh, with a tenth of its cells and fewer. With all nodes
/// held that carry some of an attachment it was 3.4 %.
#[test]
fn embedded_surfaces_follow_fine_ones() {
    let folder = Folder::new("embedded");
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("spindle.recipe"), SPINDLE).unwrap();
    let surfaces = |detail: &str| {
        let text = format!(
            r#"
duration = "1 s"
frame_rate = 1
gravity = 0
solver = {{ type = "quasistatic", tolerance = 1e-4 }}
[[anatomy]]
recipe = "spindle.recipe"
detail = "{detail}"
[[rigid]]
name = "foot"
motion = {{ translation = [["0 s", [0, 0, 0]], ["1 s", [0, 0, "-1 cm"]]] }}
[[body]]
name = "belly"
material = {{ type = "muscle", bulk = "1 MPa" }}
muscle = [{{ name = "belly", activation = [["0 s", 0], ["1 s", 0.5]] }}]
"#
        );
        let scene = sinew_scene::Scene::from_str(&text, "a.toml", &folder.0).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = sinew_run::compile::compile(&scene).unwrap_or_else(|error| panic!("{error}"));
        let belly = simulation.model().bodies.iter().position(|body| body.name == "belly").expect("the muscle");
        let positions = |simulation: &sinew_fem::Simulation| simulation.surface_positions(belly);
        let rest = positions(&simulation);
        simulation.step_frame().unwrap();
        let cells = simulation.model().bodies[belly].mesh.cell_count();
        (rest, positions(&simulation), cells)
    };
    let [(rest, fine, cells), (own_rest, carried, coarse)] = ["fine", "cover"].map(surfaces);
    assert!(coarse * 10 <= cells, "{coarse} of {cells}");
    let key = |p: &sinew_math::Vec3| [p.x, p.y, p.z].map(|x| (x * 1e9).round() as i64);
    let places: BTreeMap<_, usize> = own_rest.iter().enumerate().map(|(i, p)| (key(p), i)).collect();
    let (mut peak, mut squares) = (0.0f64, 0.0);
    for (rest, fine) in rest.iter().zip(&fine) {
        let own = *places.get(&key(rest)).expect("the same surface");
        peak = peak.max((*fine - *rest).norm());
        squares += ((carried[own] - own_rest[own]) - (*fine - *rest)).norm_squared();
    }
    let rms = (squares / rest.len() as f64).sqrt() / peak;
    assert!(rms <= 0.02 && peak > 9e-3, "{rms} of {peak}");
}
