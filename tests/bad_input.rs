//! For any bad input, the program reports the cause, exits with status 2, leaves no files, and never panics.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{fresh_folder, root};

/// A scene around a mesh; everything else is valid.
fn scene_with_mesh(mesh: &str) -> String {
    format!(
        "duration = \"0.05 s\"\nrecord = {{ report = false }}\n[[body]]\nname = \"flesh\"\nmesh = {mesh}\n\
         material = {{ type = \"neo_hookean\", young = \"30 kPa\", poisson = 0.45 }}\n"
    )
}

fn scene_with(key: &str, value: &str) -> String {
    let mesh = r#"{ from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm" }"#;
    let material = r#"{ type = "neo_hookean", young = "30 kPa", poisson = 0.45 }"#;
    let material = if key == "material" { value } else { material };
    let extra = if key == "material" { String::new() } else { format!("{key} = {value}\n") };
    format!("duration = \"0.05 s\"\n[[body]]\nname = \"flesh\"\nmesh = {mesh}\nmaterial = {material}\n{extra}")
}

/// A cube as an OBJ surface.
fn cube(skip_faces: usize) -> String {
    let mut text = String::new();
    for corner in 0..8 {
        let c = [corner & 1, corner >> 1 & 1, corner >> 2].map(|bit| 0.1 * f64::from(bit));
        text += &format!("v {} {} {}\n", c[0], c[1], c[2]);
    }
    let faces = ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"];
    for face in &faces[skip_faces..] {
        text += &format!("f {face}\n");
    }
    text
}

/// Two cubes pushed into each other, as one surface.
fn crossing_cubes() -> String {
    let mut text = cube(0);
    for line in cube(0).lines() {
        let numbers: Vec<f64> = line.split_whitespace().skip(1).map(|word| word.parse().expect("number")).collect();
        text += &match line.as_bytes()[0] {
            b'v' => format!("v {} {} {}\n", numbers[0] + 0.05, numbers[1] + 0.03, numbers[2] + 0.04),
            _ => format!("f {}\n", numbers.iter().map(|n| (n + 8.0).to_string()).collect::<Vec<_>>().join(" ")),
        };
    }
    text
}

/// A VTU file of tetrahedra in text form.
fn vtu(points: &str, cells: &[[usize; 4]]) -> String {
    let count = points.split_whitespace().count() / 3;
    let connectivity: Vec<String> = cells.iter().flatten().map(|node| node.to_string()).collect();
    let offsets: Vec<String> = (1..=cells.len()).map(|cell| (4 * cell).to_string()).collect();
    let types = vec!["10"; cells.len()];
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\">\n\
         <UnstructuredGrid><Piece NumberOfPoints=\"{count}\" NumberOfCells=\"{}\">\n\
         <Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">{points}</DataArray></Points>\n\
         <Cells><DataArray type=\"Int64\" Name=\"connectivity\" format=\"ascii\">{}</DataArray>\n\
         <DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">{}</DataArray>\n\
         <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">{}</DataArray></Cells>\n\
         </Piece></UnstructuredGrid></VTKFile>\n",
        cells.len(),
        connectivity.join(" "),
        offsets.join(" "),
        types.join(" ")
    )
}

const TET: &str = "0 0 0  0.1 0 0  0 0.1 0  0 0 0.1";

fn run_scene(folder: &Path, extra: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.current_dir(root()).stdin(Stdio::null()).arg("run").arg(folder.join("scene.toml"));
    command.arg("-o").arg(folder.join("out")).args(extra).output().expect("the program starts")
}

/// Runs a bad scene and checks everything that holds for all of them; returns the messages.
fn complaint(name: &str, scene: &str, files: &[(&str, String)], causes: &[&str]) -> String {
    let folder = fresh_folder(&format!("bad_{name}"));
    std::fs::write(folder.join("scene.toml"), scene).expect("scene is written");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("file is written");
    }
    let start = Instant::now();
    let output = run_scene(&folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{name}: {text}");
    assert!(start.elapsed() < Duration::from_secs(20), "{name}: refusing took {:?}", start.elapsed());
    assert!(!folder.join("out").exists(), "{name}: something was left in the output folder");
    assert!(output.stdout.is_empty(), "{name}: an error is a message, not data");
    for word in ["panicked", "this is a bug"] {
        assert!(!text.contains(word), "{name}: {text}");
    }
    assert!(text.starts_with("error: "), "{name}: {text}");
    for cause in causes {
        assert!(text.to_lowercase().contains(&cause.to_lowercase()), "{name}: \"{cause}\" is not named:\n{text}");
    }
    text
}

#[test]
fn a_missing_scene_is_named_with_its_neighbor() {
    let folder = fresh_folder("bad_missing");
    std::fs::write(folder.join("scene2.toml"), "").expect("neighbor");
    let output = run_scene(&folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("scene.toml") && text.contains("did you mean") && text.contains("scene2.toml"), "{text}");
    assert!(!folder.join("out").exists());
}

#[test]
fn wrong_values_are_reported_at_their_place() {
    let cases = [
        (
            "unit",
            "material",
            r#"{ type = "neo_hookean", young = "30 kg", poisson = 0.45 }"#,
            &["young", "pressure", "scene.toml:5"][..],
        ),
        ("key", "densty", r#""1000 kg/m^3""#, &["densty", "did you mean `density`"]),
        (
            "incompressible",
            "material",
            r#"{ type = "neo_hookean", young = "30 kPa", poisson = 0.5 }"#,
            &["Poisson", "0.5", "hint"],
        ),
        ("density", "density", r#""-1 kg/m^3""#, &["density", "-1"]),
        ("massless", "density", "0", &["density", "positive", "scene.toml:6"]),
        ("region", "pin", r#"[{ region = "x-mim" }]"#, &["x-mim", "did you mean `x-min`"]),
        ("kind", "position", "3", &["position"]),
        ("infinite", "density", "inf", &["density"]),
    ];
    for (name, key, value, causes) in cases {
        complaint(name, &scene_with(key, value), &[], causes);
    }
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let scene = scene_with("densty", "1").replace("0.45", "0.7").replace("0.05 s", "0.05 kg");
    let text = complaint("several", &scene, &[], &["densty", "poisson", "duration"]);
    assert_eq!(text.matches("error: ").count(), 3, "{text}");
}

#[test]
fn surfaces_that_enclose_nothing_are_refused() {
    let fill = r#"{ from = "fill", surface = "skin.obj", cell = "2 cm" }"#;
    complaint("open", &scene_with_mesh(fill), &[("skin.obj", cube(1))], &["skin.obj", "open"]);
    complaint("crossing", &scene_with_mesh(fill), &[("skin.obj", crossing_cubes())], &["skin.obj", "intersect"]);
    complaint("no_surface", &scene_with_mesh(fill), &[], &["skin.obj"]);
    complaint("empty_surface", &scene_with_mesh(fill), &[("skin.obj", String::new())], &["skin.obj"]);
    let nan = cube(0).replacen("v 0 0 0", "v nan 0 0", 1);
    complaint("nan_surface", &scene_with_mesh(fill), &[("skin.obj", nan)], &["skin.obj"]);
}

#[test]
fn surfaces_are_accepted_with_repair_and_the_repair_is_reported() {
    let fill = r#"{ from = "fill", surface = "skin.obj", cell = "2 cm", repair = "winding" }"#;
    for (name, surface, fault) in
        [("repaired_open", cube(1), "open"), ("repaired_crossing", crossing_cubes(), "intersect")]
    {
        let folder = fresh_folder(name);
        std::fs::write(folder.join("scene.toml"), scene_with_mesh(fill)).expect("scene is written");
        std::fs::write(folder.join("skin.obj"), surface).expect("surface is written");
        let output = run_scene(&folder, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {text}");
        let is_reported = text.lines().any(|line| line.starts_with("note: skin.obj") && line.contains(fault));
        assert!(is_reported, "{name}: the repair is not reported:\n{text}");
    }
}

#[test]
fn meshes_that_are_no_bodies_are_refused() {
    let file = r#"{ from = "file", file = "body.vtu" }"#;
    let double = [[0, 1, 2, 3], [0, 1, 2, 3]];
    let cases = [
        ("duplicate_cell", vtu(TET, &double), &["body.vtu", "cell"][..]),
        ("flat_cell", vtu("0 0 0 1 0 0 0 1 0 1 1 0", &[[0, 1, 2, 3]]), &["body.vtu", "cell 0", "volume", "hint"]),
        ("repeated_node", vtu(TET, &[[0, 1, 2, 2]]), &["body.vtu", "node"]),
        ("node_out_of_range", vtu(TET, &[[0, 1, 2, 9]]), &["body.vtu", "9"]),
        ("nan_coordinate", vtu(&TET.replacen("0.1", "nan", 1), &[[0, 1, 2, 3]]), &["body.vtu", "point 1"]),
        ("no_cells", vtu(TET, &[]), &["body.vtu"]),
        ("no_points", vtu("", &[]), &["body.vtu"]),
        ("not_vtu", "hello".into(), &["body.vtu"]),
        ("empty_file", String::new(), &["body.vtu"]),
    ];
    for (name, text, causes) in cases {
        complaint(name, &scene_with_mesh(file), &[("body.vtu", text)], causes);
    }
    complaint("no_file", &scene_with_mesh(file), &[], &["body.vtu"]);
}

#[test]
fn a_wrongly_wound_cell_is_repaired_and_reported() {
    let folder = fresh_folder("bad_wound");
    let scene = scene_with_mesh(r#"{ from = "file", file = "body.vtu" }"#);
    std::fs::write(folder.join("scene.toml"), scene).expect("scene is written");
    std::fs::write(folder.join("body.vtu"), vtu(TET, &[[0, 2, 1, 3]])).expect("mesh is written");
    let output = run_scene(&folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("note: "), "the change of winding is not reported:\n{text}");
}

/// One node, two positions.
#[test]
fn pins_that_contradict_each_other_are_both_named() {
    let edge = "regions = { edge = { box = [[0, 0, 0], [\"4 cm\", 0, 0]] } }\n";
    let still = r#"{ region = "x-min" }"#;
    let moving = r#"{ region = "edge", axes = "x", motion = { translation = [["0 s", [0, 0, 0]], ["0.02 s", ["1 cm", 0, 0]]] } }"#;
    let text = complaint(
        "contradictory_pins",
        &(scene_with("pin", &format!("[{still}, {moving}]")) + edge),
        &[],
        &["`x-min`", "`edge`", "node 0 of `flesh`", "different positions", "hint", "scene.toml:6"],
    );
    assert!(text.contains("along x"), "{text}");
    // The same motion twice, or along an axis that only one of them holds, is not a contradiction.
    let along = moving.replace("axes = \"x\"", "axes = \"z\"").replace("[\"1 cm\", 0, 0]", "[0, 0, 0]");
    for (name, pins) in [("same_pins", format!("[{still}, {still}]")), ("agreeing_pins", format!("[{still}, {along}]"))]
    {
        let folder = fresh_folder(name);
        std::fs::write(folder.join("scene.toml"), scene_with("pin", &pins) + edge).expect("scene is written");
        let output = run_scene(&folder, &[]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A body of twelve numbers has no node with a place of its own.
#[test]
fn affine_bodies_refuse_what_needs_nodes_of_their_own() {
    let with = |more: &str| scene_with("deformation", &format!("\"affine\"\n{more}"));
    let bone = "[[rigid]]\nname = \"bone\"\nshape = { type = \"sphere\", radius = \"1 cm\" }\nmass = \"1 kg\"\n";
    let cases = [
        ("affine_pin", with("pin = [{ region = \"x-min\" }]"), &["flesh", "pinned", "springs"][..]),
        ("affine_bind", with("bind = [{ region = \"x-min\", to = \"bone\" }]") + bone, &["flesh", "bound", "springs"]),
        ("affine_start", with("start = { shape = \"random\" }"), &["flesh", "where they start"]),
        ("affine_explicit", with("") + "[solver]\ntype = \"explicit\"\n", &["flesh", "deforms as a whole"]),
        ("affine_misspelt", scene_with("deformation", "\"afine\""), &["deformation", "did you mean", "affine"]),
    ];
    for (name, scene, causes) in cases {
        complaint(name, &scene, &[], causes);
    }
}

#[test]
fn schemes_refuse_what_they_cannot_compute() {
    let with = |solver: &str, more: &str| format!("{}[solver]\n{solver}\n{more}", scene_with("density", "1000"));
    let bone = "[[rigid]]\nname = \"bone\"\nshape = { type = \"sphere\", radius = \"1 cm\" }\nmass = \"1 kg\"\n";
    let cases = [
        ("explicit_rigid", with("type = \"explicit\"", bone), &["explicit", "rigid", "bdf2"][..]),
        ("newmark_rigid", with("type = \"newmark\"", bone), &["newmark", "`bone`", "bdf2"]),
        (
            "explicit_bound",
            with("type = \"explicit\"", bone)
                .replace("density = 1000", "bind = [{ region = \"x-min\", to = \"bone\" }]"),
            &["bound", "`flesh`"],
        ),
        ("explicit_long", with("type = \"explicit\"\nsubsteps = 2", ""), &["too long to be stable", "at least"]),
        ("explicit_adaptive", with("type = \"explicit\"\nsubsteps = \"adaptive\"", ""), &["substeps", "leave"]),
        ("explicit_live", with("type = \"explicit\"\nlive = {}", ""), &["live", "iterations"]),
        ("newmark_unstable", with("type = \"newmark\"\nnewmark = { beta = 0.1 }", ""), &["not stable", "2 beta"]),
        ("newmark_elsewhere", with("type = \"bdf2\"\nnewmark = {}", ""), &["newmark", "need"]),
        ("accuracy_elsewhere", with("accuracy = 0.01", ""), &["accuracy", "adaptive"]),
        ("safety_elsewhere", with("safety = 0.5", ""), &["safety", "explicit"]),
        ("substeps_word", with("substeps = \"many\"", ""), &["substeps", "adaptive", "many"]),
        ("substeps_none", with("substeps = 0", ""), &["substeps", "positive"]),
        ("scheme_misspelt", with("type = \"bdf3\"", ""), &["bdf2", "did you mean"]),
    ];
    for (name, scene, causes) in cases {
        complaint(name, &scene, &[], causes);
    }
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_taken() {
    let meshes = [
        ("many_cells", r#"{ from = "box", size = ["1 m", "1 m", "1 m"], cells = [4000, 4000, 4000] }"#),
        ("tiny_cells", r#"{ from = "box", size = ["1 m", "1 m", "1 m"], cell = "1 um" }"#),
        ("tiny_ball", r#"{ from = "sphere", radius = "1 m", cell = "1 um" }"#),
        ("tiny_ring", r#"{ from = "torus", radius = "1 km", tube = "0.5 km", cell = "1 mm" }"#),
        ("huge_ball", r#"{ from = "sphere", radius = 1e300, cell = "1 m" }"#),
    ];
    for (name, mesh) in meshes {
        complaint(name, &scene_with_mesh(mesh), &[], &["cell"]);
    }
    let fill = r#"{ from = "fill", surface = "skin.obj", cell = "1 um" }"#;
    complaint("tiny_fill", &scene_with_mesh(fill), &[("skin.obj", cube(0))], &["cell"]);
    complaint("long", &scene_with("density", "1000").replace("0.05 s", "1e300 s"), &[], &["duration"]);
}

#[test]
fn deep_nesting_is_refused() {
    for (name, text) in [
        ("deep_lists", format!("duration = {}{}", "[".repeat(200_000), "]".repeat(200_000))),
        ("deep_tables", format!("duration = {}1{}", "{ a = ".repeat(50_000), " }".repeat(50_000))),
        ("deep_keys", format!("{} = 1", vec!["a"; 50_000].join("."))),
        ("deep_header", format!("[{}]", vec!["a"; 50_000].join("."))),
    ] {
        complaint(name, &text, &[], &[]);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    complaint("control", "duration = \"\u{0}\"", &[], &[]);
    let folder = fresh_folder("bad_bytes");
    std::fs::write(folder.join("scene.toml"), [0xff, 0xfe, 0x00, 0x41]).expect("file is written");
    let output = run_scene(&folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("UTF-8"), "{text}");
}

#[test]
fn an_output_folder_that_cannot_be_written_is_refused_at_once() {
    let folder = fresh_folder("bad_output");
    let scene = scene_with("density", "1000").replace("0.05 s", "1000 s");
    std::fs::write(folder.join("scene.toml"), scene).expect("scene is written");
    std::fs::write(folder.join("out"), "a file").expect("file is written");
    let start = Instant::now();
    let output = run_scene(&folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot write to the output folder") && text.contains("out"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(5), "it was computed first");
}

/// A limit on file sizes stands for a full disk: writing fails in the same way, and a test may set it.
#[cfg(unix)]
fn run_with_room(folder: &Path, blocks: usize) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_sinew"), "run"]).arg(folder.join("scene.toml"));
    command.arg("-o").arg(folder.join("out")).current_dir(root()).stdin(Stdio::null());
    command.output().expect("the program starts")
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_noticed_before_anything_is_computed() {
    let folder = fresh_folder("bad_full");
    let scene = scene_with("density", "1000").replace("0.05 s", "1000 s");
    std::fs::write(folder.join("scene.toml"), scene).expect("scene is written");
    let start = Instant::now();
    let output = run_with_room(&folder, 8);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot write to the output folder"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(5), "it was computed first");
    assert!(!folder.join("out").exists(), "the folder is removed again");
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_during_the_run_leaves_no_half_files() {
    let folder = fresh_folder("bad_filling");
    let scene = scene_with("density", "1000").replace("0.05 s", "10 s") + "\n[record]\nusd = true\n";
    std::fs::write(folder.join("scene.toml"), scene.replace("1 cm\", \"1 cm", "4 cm\", \"4 cm"))
        .expect("scene is written");
    // Space for the probe at the start (256 KiB in blocks of 512 bytes, or of 1024 in other shells), but not for the
    // USD file.
    let output = run_with_room(&folder, 640);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot write") && !text.contains("panicked"), "{text}");
    for file in files_below(&folder.join("out")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(!name.ends_with(".tmp") && !name.ends_with(".usda"), "{name} was left behind");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Contact that cannot start, or that names unknown bodies.
#[test]
fn contact_that_cannot_be_is_refused() {
    let blocks = |offset: &str, contact: &str| {
        let block = |name: &str, place: &str| {
            format!(
                "[[body]]\nname = \"{name}\"\nmesh = {{ from = \"box\", size = [0.1, 0.1, 0.1], cell = 0.05 }}\n\
                 position = [{place}, 0, 0]\nmaterial = {{ type = \"linear\", young = 1e4, poisson = 0.3 }}\n"
            )
        };
        format!("duration = 0.1\n{}{}[contact]\n{contact}\n", block("left", "0"), block("right", offset))
    };
    let overlapping = blocks("0.06", "mode = \"barrier\"");
    complaint("overlap", &overlapping, &[], &["left and right start inside each other", "deep at", "penalty"]);
    // A gap wider than the distance between parts of a body is ignored between them: nothing repels at rest.
    let crowd = "mode = \"barrier\"\ngap = 0.08\n[expect]\n\"left.volume\" = { min = 0.999999, max = 1.000001, over = \"all\" }\ncontacts = { value = 0, over = \"all\" }";
    let folder = fresh_folder("wide_gap");
    std::fs::write(folder.join("scene.toml"), blocks("0.3", crowd)).expect("scene is written");
    let output = run_scene(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    complaint("friction", &blocks("0.3", "friction = -0.1"), &[], &["friction"]);
    complaint("tangential", &blocks("0.3", "tangential = 2"), &[], &["at most"]);
    complaint("restitution", &blocks("0.3", "restitution = 1.5"), &[], &["restitution", "at most"]);
    let stranger = "pair = [{ between = [\"left\", \"rihgt\"], mode = \"none\" }]";
    complaint("stranger", &blocks("0.3", stranger), &[], &["rihgt", "right"]);
    let explicit = format!("{}[solver]\ntype = \"explicit\"\n", blocks("0.3", "mode = \"penalty\""));
    complaint("explicit", &explicit, &[], &["explicit steps support contact with colliders only"]);
}

/// Impossible lattices, each with its cause; and everything that flesh on a lattice does not support, all at once.
#[test]
fn lattices_that_cannot_be_are_refused() {
    let scene = |mesh: &str, extra: &str| scene_with_mesh(mesh).replace("neo_hookean", "corotated") + extra;
    let fill =
        |cell: &str| format!("{{ from = \"fill\", surface = \"skin.obj\", cell = \"{cell}\", element = \"lattice\" }}");
    let skin = |text: String| [("skin.obj", text)];
    complaint("lattice_open", &scene(&fill("2 cm"), ""), &skin(cube(1)), &["skin.obj", "open"]);
    let short = r#"{ from = "skin.xyz", cell = "1 cm", element = "lattice" }"#;
    complaint("lattice_short", &scene(short, ""), &[], &["from = \"fill\", surface = \"skin.xyz\""]);
    complaint("lattice_tiny", &scene(&fill("10 um"), ""), &skin(cube(0)), &["hint", "fits"]);
    complaint("lattice_large", &scene(&fill("1 m"), ""), &skin(cube(0)), &["whole body", "25 mm or less"]);
    let block = r#"{ from = "box", size = ["4 cm", "4 cm", "4 cm"], cell = "1 cm", element = "lattice" }"#;
    let outside = "attach = [{ points = [[\"1 cm\", 0, \"9 cm\"]], to = \"world\", stiffness = 1 }]\n";
    complaint("lattice_outside", &scene(block, outside), &[], &["attach", "outside the mesh"]);
    let nothing = "attach = [{ to = \"world\", stiffness = 1 }]\n";
    complaint("lattice_nothing", &scene(block, nothing), &[], &["`region` or `points`"]);
    let uneven = block.replace("[\"4 cm\"", "[\"4.4 cm\"");
    let wrong = scene_with_mesh(&uneven)
        + "damping = { tissue = \"0.1 s\" }\nvolume = \"mean\"\n[solver]\nlinear = \"cholesky\"\n";
    let causes = ["cubes", "corotated", "mass-proportional damping", "center of its cells", "needs multigrid"];
    complaint("lattice_wrong", &wrong, &[], &causes);
    let fas = scene_with_mesh(r#"{ from = "box", size = ["4 cm", "4 cm", "4 cm"], cell = "1 cm" }"#);
    complaint(
        "fas",
        &(fas + "[solver]\nnonlinear = \"fas\"\nband_sweeps = 2\n"),
        &[],
        &["nonlinear multigrid needs a body on a lattice", "sweeps over boundaries need a body on a lattice"],
    );
    let nobody = scene_with_mesh(block).replace("report = false", "skin = [\"hand.obj\"]");
    let nobody = nobody.replace("neo_hookean", "corotated");
    complaint("skin", &nobody, &[], &["must be .usda, .usdc, .usdz, .pc2 or .glb", "no body has a skeleton"]);
    let rig = scene_with_mesh(block).replace("neo_hookean", "corotated") + "rig = {}\n";
    complaint("rig", &rig, &[], &["a skeleton moves bodies on lattices whose surface is a glTF file"]);
    let muscle =
        |text: &str| scene_with_mesh(block).replace("neo_hookean", "corotated") + &format!("muscle = [{text}]\n");
    let fibers = "fibers = { along = [1, 0, 0] }";
    complaint(
        "muscle_active",
        &muscle(&format!("{{ {fibers}, activation = 1.5 }}")),
        &[],
        &["activation", "at most 1"],
    );
    complaint("muscle_bare", &muscle("{ activation = 1 }"), &[], &["fibers"]);
    complaint("muscle_where", &muscle(&format!("{{ {fibers}, region = \"bizeps\" }}")), &[], &["bizeps"]);
    let center = "{ fibers = { around = { point = [\"5 mm\", \"5 mm\", 0], direction = [0, 0, 1] } } }";
    complaint("muscle_center", &muscle(center), &[], &["fibers", "lies on the line"]);
    let tets = block.replace(", element = \"lattice\"", "");
    let on_tets = scene_with_mesh(&tets) + &format!("muscle = [{{ {fibers} }}]\n");
    complaint("muscle_tets", &on_tets, &[], &["neo_hookean", "does not support muscle fibers", "lattice"]);
    complaint("lattice_affine", &scene(block, "deformation = \"affine\""), &[], &["deforms as a whole", "lattice"]);
    complaint("lattice_explicit", &(scene(block, "") + "[solver]\ntype = \"explicit\"\n"), &[], &["on a lattice"]);
}
