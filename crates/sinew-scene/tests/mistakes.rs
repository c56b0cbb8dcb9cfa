//! Mistakes in scenes and their messages.

use std::path::{Path, PathBuf};

use sinew_scene::{Override, Scene};

const BODY: &str = r#"duration = "1 s"
[[body]]
name = "flesh"
mesh = { from = "box", size = ["40 cm", "10 cm", "10 cm"], cell = "2 cm" }
material = { type = "corotated", young = "30 kPa", poisson = 0.45 }
"#;

/// The message for a text.
fn complaint(text: &str) -> String {
    match Scene::from_str(text, "a.toml", ".") {
        Ok(_) => panic!("no mistake found in\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The message for a body with more lines.
fn body_complaint(more: &str) -> String {
    complaint(&format!("{BODY}{more}\n"))
}

/// A separate folder for a test that needs files.
fn test_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn poisson_ratio_of_one_half_is_explained() {
    assert_eq!(
        complaint(&BODY.replace("0.45", "0.5")),
        r#"error: Poisson's ratio must be below 0.5
 ┌─ a.toml:5:62
5│ material = { type = "corotated", young = "30 kPa", poisson = 0.5 }
 │                                                              ^^^ got 0.5
hint: for incompressible tissue use `type = "mooney_rivlin"` with `bulk`, or `poisson = 0.49`"#
    );
}

/// Bodies with a wrong law: the problem, its position, and a hint.
#[test]
fn impossible_laws_and_fibers_are_named() {
    let with = |material: &str, more: &str| {
        complaint(&format!("{}{more}\n", BODY.replace("\"corotated\", young = \"30 kPa\", poisson = 0.45", material)))
    };
    let fibers = "\"fiber_reinforced\", young = \"30 kPa\", poisson = 0.45, fiber_stiffness = \"1 kPa\"";
    assert_eq!(
        with(fibers, ""),
        r#"error: body `flesh` needs `fibers`: its law has fibers
 ┌─ a.toml:5:12
5│ material = { type = "fiber_reinforced", young = "30 kPa", poisson = 0.45, fiber_stiffness = "1 kPa" }
 │            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: for example `fibers = { along = [1, 0, 0] }`"#
    );
    let rubber = "\"mooney_rivlin\", c10 = \"1 kPa\", bulk = \"1 MPa\"";
    let neo = "\"neo_hookean\", young = \"30 kPa\", poisson = 0.4";
    for (material, more, message) in [
        (fibers.to_string(), "fibers = { along = [0, 0, 0] }", "`along` must not be zero: it is a direction"),
        (fibers.to_string(), "fibers = { allong = [0, 0, 1] }", "unknown key `allong` in `fibers`"),
        (
            fibers.replace("\"1 kPa\"", "\"-1 kPa\""),
            "fibers = { along = [1, 0, 0] }",
            "`fiber_stiffness` must not be negative",
        ),
        (format!("{neo}, inversion = {{ threshold = 1 }}"), "", "the inversion threshold must be below 1"),
        (format!("{neo}, inversion = {{ threshold = 0 }}"), "", "the inversion threshold must be positive"),
        (
            format!("{neo}, inversion = {{ extension = \"linear\" }}"),
            "",
            "`extension` must be one of \"energy\", \"constant\"",
        ),
        (rubber.replace("1 MPa", "0 MPa"), "", "`bulk` must be positive"),
        (rubber.replace("1 kPa", "-1 kPa"), "", "`c10` must not be negative"),
        (rubber.replace("1 kPa", "0 kPa"), "", "c10 + c01 must be positive, got 0"),
        (neo.replace("0.4", "0.5"), "", "Poisson's ratio must be below 0.5"),
        (neo.replace("30 kPa", "0 kPa"), "", "Young's modulus must be positive"),
    ] {
        let complaint = with(&material, more);
        assert_eq!(complaint.lines().next(), Some(format!("error: {message}").as_str()), "{complaint}");
        assert!(complaint.contains("a.toml:5:") || complaint.contains("a.toml:6:"), "{complaint}");
    }
}

#[test]
fn quadratic_hexahedra_and_laws_without_volume_term_are_explained() {
    assert_eq!(
        complaint(&BODY.replace("cell = \"2 cm\"", "cell = \"2 cm\", element = \"hex8\", order = 2")),
        r#"error: only tetrahedra can be quadratic
 ┌─ a.toml:4:101
4│ mesh = { from = "box", size = ["40 cm", "10 cm", "10 cm"], cell = "2 cm", element = "hex8", order = 2 }
 │                                                                                                     ^
hint: leave `order` out (with `volume = "mean"` hexahedra do not lock), or use `element = "tet4"`"#
    );
    assert_eq!(
        complaint(&(BODY.replace("corotated", "stvk") + "volume = \"mean\"\n")),
        r#"error: the law `stvk` has no volume term to take the mean of
 ┌─ a.toml:6:10
6│ volume = "mean"
 │          ^^^^^^
hint: leave `volume` out, or use a law with one, for example `stable_neo_hookean`"#
    );
}

#[test]
fn all_mistakes_are_reported_at_once_and_in_order() {
    let text =
        BODY.replace("young = \"30 kPa\"", "yuong = \"30 mm\"") + "density = -3\npin = [{ region = \"x-mn\" }]\n";
    assert_eq!(
        complaint(&text),
        r#"error: unknown key `yuong` in `material`
 ┌─ a.toml:5:34
5│ material = { type = "corotated", yuong = "30 mm", poisson = 0.45 }
 │                                  ^^^^^
hint: did you mean `young`?

error: Young's modulus must be a pressure
 ┌─ a.toml:5:42
5│ material = { type = "corotated", yuong = "30 mm", poisson = 0.45 }
 │                                          ^^^^^^^ "30 mm" is a length
hint: accepted units: Pa, kPa, MPa, GPa, mmHg, bar, N/mm^2, dyn/cm^2; a plain number is in Pa

error: `density` must be positive
 ┌─ a.toml:6:11
6│ density = -3
 │           ^^ got -3

error: body `flesh` has no region `x-mn`
 ┌─ a.toml:7:19
7│ pin = [{ region = "x-mn" }]
 │                   ^^^^^^
hint: did you mean `x-min`?"#
    );
}

#[test]
fn syntax_errors_do_not_hide_other_mistakes() {
    let text = BODY.replace("\"30 kPa\"", "30 kPa") + "density = \"3 m\"\n";
    assert_eq!(
        complaint(&text),
        r#"error: not valid TOML: string values must be quoted, expected literal string
 ┌─ a.toml:5:42
5│ material = { type = "corotated", young = 30 kPa, poisson = 0.45 }
 │                                          ^^^^^^
hint: a value with a unit needs quotes: "30 kPa"

error: `density` must be a density
 ┌─ a.toml:6:11
6│ density = "3 m"
 │           ^^^^^ "3 m" is a length
hint: accepted units: kg/m^3, g/cm^3, t/m^3; a plain number is in kg/m^3"#
    );
}

#[test]
fn an_empty_file_says_what_a_scene_needs() {
    assert_eq!(
        complaint(""),
        "error: the scene needs `duration`\n ┌─ a.toml:1:1\n1│\n │ ^\nhint: for example `duration = \"2 s\"`"
    );
}

/// Each text has one mistake; the first line of its message and its hint.
#[test]
fn single_mistakes_are_named() {
    for (more, message, hint) in [
        ("materials = 3", "unknown key `materials` in `body`", "did you mean `material`?"),
        ("rho = 3", "unknown key `rho` in `body`", "did you mean `density`?"),
        ("velocity = [1, 2]", "`velocity` must be a list of 3 values", ""),
        (
            "position = [0, 0, \"1 s\"]",
            "`position` must be a length",
            "accepted units: m, km, cm, mm, um; a plain number is in m",
        ),
        (
            "density = \"1 kg/m^2\"",
            "`density` must be a density",
            "accepted units: kg/m^3, g/cm^3, t/m^3; a plain number is in kg/m^3",
        ),
        (
            "density = \"heavy\"",
            "`density` must be a density: a number in kg/m^3 or a text with a unit",
            "accepted units: kg/m^3, g/cm^3, t/m^3; a plain number is in kg/m^3",
        ),
        ("density = inf", "`density` must be a finite number", ""),
        (
            "density = 1e999",
            "this number is too large",
            "write large quantities with a unit or an exponent, for example \"3 GPa\" or 3e9",
        ),
        ("rotation = { axis = [0, 0, 0], angle = \"1 deg\" }", "`axis` must not be zero: it is a direction", ""),
        (
            "rotation = { axis = [0, 0, 1], angle = \"1 m\" }",
            "`angle` must be an angle",
            "accepted units: rad, deg, turn; a plain number is in rad",
        ),
        (
            "pin = [{ region = \"all\", axes = \"xx\" }]",
            "`axes` must name axes, for instance \"x\", \"yz\" or \"xyz\"",
            "",
        ),
        ("bind = [{ region = \"all\", to = \"flesh\" }]", "body `flesh` cannot be bound to itself", ""),
        (
            "bind = [{ region = \"all\", to = \"world\" }]",
            "`pin` holds nodes in the world, not `bind`",
            "move this entry to `pin`",
        ),
        (
            "attach = [{ region = \"all\", to = \"bone\", stiffness = 1 }]",
            "there is no body or rigid `bone`",
            "bodies and rigids: `flesh`",
        ),
        ("regions.a = { union = [\"b\"] }\nregions.b = { outside = \"b\" }", "the region `b` refers to itself", ""),
        ("regions.all = { label = 3 }", "the region `all` is built in", "choose another name"),
        ("regions.a = { box = [[0, 0, 0], [1, -1, 1]] }", "the first corner of a box must be the lower one", ""),
        (
            "regions.a = { box = [[0, 0, 0], [1, 1, 1]], label = 3 }",
            "`a` must have exactly one of `box`, `sphere`, `distance`, `label`, `field`, `union`, `intersection`, `outside`",
            "",
        ),
        (
            "regions.a = { distance = { at_most = 1 } }",
            "a distance is measured from exactly one of `point`, `segment`, `plane`",
            "",
        ),
        (
            "fibers = { along = [1, 0, 0] }",
            "the law `corotated` has no fibers",
            "use `type = \"fiber_reinforced\"`, give the body a `muscle`, or leave `fibers` out",
        ),
        ("material_regions = [{ region = \"all\", c10 = 3 }]", "`c10` is not a parameter of the law `corotated`", ""),
        (
            "pressure = [{ region = \"all\", value = [[\"1 s\", 0], [\"1 s\", 1]] }]",
            "the times of `value` must increase",
            "",
        ),
        ("pressure = [{ region = \"all\", value = [] }]", "`value` needs at least one [time, value] pair", ""),
        (
            "[[body]]\nname = \"flesh\"\nmesh = { from = \"sphere\", radius = 1, cell = 0.1 }\nmaterial = { type = \"linear\", young = 1, poisson = 0 }",
            "the name `flesh` is taken",
            "",
        ),
        (
            "[[body]]\nname = \"a b\"\nmesh = { from = \"sphere\", radius = 1, cell = 0.1 }\nmaterial = { type = \"linear\", young = 1, poisson = 0 }",
            "`name` may only use letters, digits, `_` and `-`",
            "",
        ),
        (
            "[[rigid]]\nname = \"bone\"\nshape = { type = \"plane\" }",
            "`type` of `shape` must be one of \"sphere\", \"capsule\", \"box\", \"surface\", \"anatomy\"",
            "",
        ),
        (
            "[[probe]]\nname = \"tip\"",
            "probe `tip` needs one of `at`, `region`, `section` and `lever`",
            "for example `region = \"x-max\"`",
        ),
        (
            "[solver]\ntype = \"quasi_static\"",
            "`type` must be one of \"implicit_euler\", \"bdf2\", \"newmark\", \"explicit\", \"quasistatic\"",
            "did you mean \"quasistatic\"?",
        ),
        (
            "[record]\ncorrectives = 8",
            "no .glb file of a character takes corrective shapes",
            "add one to `skin`, such as `skin = [\"hero.glb\"]`",
        ),
        (
            "[record]\nusd = \"x.usdc\"\nclips = 8",
            "`x.usdc` is not split into clips",
            "leave out `clips`, or write .usda: readers of .usdc load single frames by themselves",
        ),
        ("[record]\nusd = \"../../x.usda\"", "`usd` must be a file name inside the output folder", ""),
        ("[expect]\nx = { relative = 0.1, min = 0 }", "`absolute` and `relative` are tolerances of `value`", ""),
        ("[expect]\nx = { value = 1, at = \"2 s\" }", "this time is after the end", ""),
        (
            "[expect]\nx = { compare = { scene = \"nowhere.toml\" } }",
            "cannot find the file `nowhere.toml`",
            "files are relative to the folder of the scene",
        ),
        (
            "[study]\nvary = \"body.flsh.mesh.cell\"\nvalues = [1, 2]",
            "the study cannot set this: there is no `flsh` in this list",
            "did you mean `flesh`?",
        ),
        (
            "[study]\nvary = \"body.flesh.mesh.cel\"\nvalues = [1, 2]",
            "unknown key `cel` in `mesh`",
            "did you mean `cell`?",
        ),
        (
            "[study]\nvary = \"body.flesh.mesh.cell\"\nvalues = [1, \"2 kg\"]",
            "`cell` must be a length",
            "accepted units: m, km, cm, mm, um; a plain number is in m",
        ),
        (
            "[study]\nvary = \"body.flesh.mesh.cell\"\nvalues = [1]\norder = { \"flesh.volume\" = { min = 1 } }",
            "an order needs at least two runs",
            "",
        ),
    ] {
        let complaint = body_complaint(more);
        let first = complaint.lines().next().unwrap_or_default();
        let given = complaint.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_default();
        assert_eq!((first, given), (format!("error: {message}").as_str(), hint), "{more}\n{complaint}");
        assert_eq!(complaint.matches("error: ").count(), 1, "{more}\n{complaint}");
    }
}

#[test]
fn absurd_sizes_are_refused_before_anything_is_allocated() {
    for (from, to, message) in [
        ("\"2 cm\"", "\"2 nm\"", "the cells of this box are too small"),
        ("cell = \"2 cm\"", "cells = [4000, 4000, 4000]", "this mesh would have too many cells"),
        ("cell = \"2 cm\"", "cells = [99999, 1, 1]", "`cells` must be at most 4096"),
        ("duration = \"1 s\"", "duration = 1e30", "the scene has too many frames"),
        (
            "box\", size = [\"40 cm\", \"10 cm\", \"10 cm\"], cell = \"2 cm\"",
            "sphere\", radius = 1e9, cell = 1",
            "this mesh would have too many cells",
        ),
    ] {
        let complaint = complaint(&BODY.replace(from, to));
        assert!(complaint.starts_with(&format!("error: {message}\n")), "{complaint}");
    }
}

#[test]
fn mistakes_in_overrides_point_at_the_override() {
    let set = |text: &str| Scene::from_text(BODY, "a.toml", ".", &[Override::from(text)]);
    assert_eq!(
        set("body.flsh.density=1").unwrap_err().to_string(),
        "error: there is no `flsh` in this list\n ┌─ <--set>:1:6\n1│ body.flsh.density=1\n │      ^^^^\nhint: did you mean `flesh`?"
    );
    assert_eq!(
        set("body.flesh.density=0 kg/m^3").unwrap_err().to_string(),
        "error: `density` must be positive\n ┌─ <--set>:1:20\n1│ body.flesh.density=0 kg/m^3\n │                    ^^^^^^^^ got 0 kg/m^3"
    );
    assert_eq!(set("body.flesh.density=\"2 g/cm^3\"").unwrap().body[0].density, 2000.0);
}

#[test]
fn files_that_cannot_be_scenes_are_refused() {
    let folder = test_folder("unreadable");
    let path = folder.join("scene.toml");
    std::fs::write(&path, "duration = 1\n").unwrap();
    assert!(Scene::load(&path).is_ok());
    let read = |path: &Path| Scene::load(path).unwrap_err().to_string().replace(folder.to_str().unwrap(), "DIR");

    assert_eq!(
        read(&folder.join("scenes.toml")),
        "error: cannot read `DIR/scenes.toml`: no such file or directory\nhint: did you mean `DIR/scene.toml`?"
    );
    assert_eq!(read(&folder), "error: `DIR` is a folder, not a scene file\nhint: name the .toml file inside it");

    std::fs::write(folder.join("latin1.toml"), b"duration = 1\ntitle = \"M\xfcller\"\n").unwrap();
    assert_eq!(
        read(&folder.join("latin1.toml")),
        "error: the file is not valid UTF-8\n ┌─ DIR/latin1.toml:2:11\n2│ title = \"M\u{fffd}ller\"\n │           ^ byte 0xfc\nhint: save the file as UTF-8"
    );

    let large = std::fs::File::create(folder.join("large.toml")).unwrap();
    large.set_len(sinew_scene::LARGEST_SCENE + 1).unwrap();
    assert!(read(&folder.join("large.toml")).starts_with("error: `DIR/large.toml` is larger than 16 MiB"));
}

#[test]
fn missing_meshes_are_found_when_the_scene_is_read() {
    let folder = test_folder("meshes");
    std::fs::write(folder.join("hand.obj"), "").unwrap();
    let text = BODY
        .replace("from = \"box\", size = [\"40 cm\", \"10 cm\", \"10 cm\"]", "from = \"fill\", surface = \"hnad.obj\"");
    let complaint = Scene::from_str(&text, "a.toml", &folder).unwrap_err().to_string();
    assert!(complaint.starts_with("error: cannot find the file `hnad.obj`\n ┌─ a.toml:4:35\n"), "{complaint}");
    assert!(complaint.ends_with("hint: did you mean `hand.obj`?"), "{complaint}");
}

#[test]
fn later_steps_can_point_into_the_file() {
    let scene = Scene::from_str(BODY, "a.toml", ".").unwrap();
    let shown = |path: &str| scene.error(vec![scene.problem(path, "wrong").label("here")]).to_string();
    assert!(shown("body[0].mesh.cell").ends_with("^^^^^^ here"), "{}", shown("body[0].mesh.cell"));
    assert!(shown("body.flesh.material.poisson").contains("a.toml:5:62"));
    // A value that is not in the file leads to the table that would contain it.
    assert!(shown("body[0].mesh.pattern").contains("a.toml:4:8"));
    assert!(shown("solver.tolerance").contains("a.toml:1:1"));
}

/// Files of maximum size with a mistake in every line, every byte or every key: bounded time and memory, a short
/// answer.
#[test]
fn large_wrong_files_are_answered_briefly() {
    let repeat = |piece: &str| piece.repeat((2 << 20) / piece.len());
    let unknown_keys: String = (0..100_000).map(|i| format!("key{i} = {i}\n")).collect();
    for text in [
        repeat("a\n"),
        repeat(","),
        repeat("\0"),
        repeat("[[a]]\n"),
        unknown_keys,
        format!("duration = [{}1]", repeat("1,")),
    ] {
        let complaint = complaint(&text);
        assert!(complaint.lines().count() < 250 && complaint.len() < 60_000, "{} bytes", complaint.len());
    }
}

/// No text, however broken, makes the reader panic or hang. The texts are a good scene with random bytes changed, cut
/// and repeated; the generator is a fixed linear congruence, so that failures are reproducible.
#[test]
fn broken_texts_never_panic() {
    let good = format!(
        "{BODY}regions.a = {{ box = [[0, 0, 0], [1, 1, 1]] }}\npin = [{{ region = \"a\", motion = {{ translation = [[0, [0, 0, 0]], [1, [0, 0, 1]]] }} }}]\n\
         [control]\n\"a.b\" = {{ points = [[0, 1]], interpolation = \"step\" }}\n[expect]\nx = [1, {{ min = 1, over = [0, 1] }}]\n\
         [study]\ncases = [{{ \"body.flesh.density\" = 1 }}]\n"
    );
    assert!(Scene::from_str(&good, "a.toml", ".").is_ok());
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let spice = [
        "[", "]", "{", "}", "\"", "'", "=", ".", ",", "\n", "#", "\\", "[[", "\"\"\"", "é", "1e999", "nan", "-", "\0",
        "\t",
    ];
    for _ in 0..3000 {
        let mut text: Vec<char> = good.chars().collect();
        for _ in 0..1 + random(4) {
            if text.len() < 2 {
                break;
            }
            let at = random(text.len());
            match random(4) {
                0 => drop(text.remove(at)),
                1 => drop(text.splice(at..at, spice[random(spice.len())].chars())),
                2 => text.truncate(at.max(1)),
                _ => {
                    let piece: Vec<char> = text[at..(at + random(40)).min(text.len())].to_vec();
                    let to = random(text.len());
                    drop(text.splice(to..to, piece));
                }
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = Scene::from_str(&text, "a.toml", ".") {
            assert!(error.to_string().starts_with("error: "));
        }
    }
}
