//! Pages agree with the code: figures, floors of crates, files with `unsafe`, versions; and the changelog has the right
//! form.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{files, read, root};

/// Phrases of pages with the constants they print. `{NAME}` is the value of `const NAME`, defined anywhere below
/// `crates/`.
const PRINTED: &[(&str, &str)] = &[
    (
        "docs/concepts/how-a-step-works.md",
        "up to {DIRECT_DYNAMIC_NODES} nodes in dynamics and {DIRECT_STATIC_NODES} in quasistatics",
    ),
    ("docs/concepts/how-a-step-works.md", "cut below {DISTRUST}"),
    ("docs/concepts/how-a-step-works.md", "further than {MAX_STRIDE} times the size of the model"),
    ("docs/concepts/quasistatics.md", "cut its step below {DISTRUST}"),
    ("docs/concepts/contact.md", "the first {ONSET_IN_CELLS} cells"),
    ("docs/concepts/contact.md", "a time constant of {FADE_TIME} s"),
    ("docs/concepts/time.md", "every {STEPS_PER_ESTIMATE} steps"),
    (
        "docs/design/linear-systems.md",
        "every tangent up to {DIRECT_DYNAMIC_NODES} nodes ({DIRECT_STATIC_NODES} in quasistatics",
    ),
    ("docs/design/linear-systems.md", "the rest state up to {REST_FACTOR_NODES} nodes ({REST_FACTOR_STIFF_NODES} from"),
    ("docs/design/linear-systems.md", "the V-cycle above {V_CYCLE_NODES}"),
    ("docs/design/linear-systems.md", "bodies up to {FACTOR_NODES} nodes"),
    ("docs/design/linear-systems.md", "Bodies up to {SMALL_NODES} nodes"),
    ("docs/design/linear-systems.md", "a step that has taken {MAX_STEP_ITERATIONS} iterations"),
    ("docs/design/linear-systems.md", "a cap of {DYNAMIC_FORCING} in dynamics"),
    ("docs/design/linear-systems.md", "and {STATIC_FORCING} in quasistatics"),
    ("docs/guide/muscle-laboratory.md", "differ by more than {MAX_SPREAD} optimal lengths"),
];

/// Text with every run of white space as one space, because phrases may be wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sources of the repository with their paths from its root.
fn sources() -> Vec<(String, String)> {
    let rust = files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| {
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
        (name, std::fs::read_to_string(path).expect("sources are text"))
    })
    .collect()
}

/// Numbers of `const NAME: … = number;` by name, with the files that define them.
fn constants(sources: &[(String, String)]) -> BTreeMap<String, Vec<(f64, String)>> {
    let mut found: BTreeMap<String, Vec<(f64, String)>> = BTreeMap::new();
    for (path, text) in sources.iter().filter(|(path, _)| path.starts_with("crates/")) {
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("const ") else { continue };
            let Some((name, rest)) = rest.split_once(':') else { continue };
            let value = rest.split_once('=').and_then(|(_, value)| value.split_once(';'));
            if let Some(Ok(value)) = value.map(|(value, _)| value.trim().replace('_', "").parse()) {
                found.entry(name.trim().into()).or_default().push((value, path.clone()));
            }
        }
    }
    found
}

/// A number as written on pages: plain, or with commas between thousands.
fn spellings(value: f64) -> [String; 2] {
    let plain = value.to_string();
    let (whole, part) = plain.split_once('.').map_or((plain.as_str(), None), |(whole, part)| (whole, Some(part)));
    let mut commas = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            commas.push(',');
        }
        commas.push(digit);
    }
    let commas = part.map_or(commas.clone(), |part| format!("{commas}.{part}"));
    [plain, commas]
}

/// The phrase with its constants filled in, in both spellings of numbers.
fn filled(phrase: &str, constants: &BTreeMap<String, Vec<(f64, String)>>) -> Result<[String; 2], String> {
    let mut texts = [String::new(), String::new()];
    for (k, piece) in phrase.split(['{', '}']).enumerate() {
        let shown = if k % 2 == 0 {
            [piece.to_string(), piece.to_string()]
        } else {
            let values = constants.get(piece).ok_or(format!("no number is called {piece}"))?;
            let (first, _) = values[0];
            if values.iter().any(|(value, _)| *value != first) {
                return Err(format!("{piece} has several values: {values:?}"));
            }
            spellings(first)
        };
        texts.iter_mut().zip(shown).for_each(|(text, shown)| text.push_str(&shown));
    }
    Ok(texts)
}

#[test]
fn figures_printed_in_pages_are_those_of_the_code() {
    let constants = constants(&sources());
    let mut wrong = Vec::new();
    for (page, phrase) in PRINTED {
        let text = unwrapped(&read(page));
        match filled(phrase, &constants) {
            Ok(shown) if shown.iter().any(|shown| text.contains(shown.as_str())) => {}
            Ok([shown, _]) => wrong.push(format!("{page} does not say \"{shown}\"")),
            Err(cause) => wrong.push(format!("{page}, \"{phrase}\": {cause}")),
        }
    }
    assert!(wrong.is_empty(), "pages and constants differ:\n{}", wrong.join("\n"));
}

/// Whether a line of code (not a comment, not a text) has the keyword.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let outside_texts: String = code.split('"').step_by(2).collect();
    let words = outside_texts.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.into_iter().any(|word| word == "unsafe")
}

/// Backquoted paths in the part of a page between `from` and a heading or the next paragraph in bold.
fn paths_of_part(page: &str, from: &str) -> BTreeSet<String> {
    let text = read(page);
    let (_, part) = text.split_once(from).unwrap_or_else(|| panic!("{page} has no part \"{from}\""));
    let end = ["\n#", "\n**"].iter().filter_map(|mark| part.find(mark)).min().unwrap_or(part.len());
    let pieces = part[..end].split('`').skip(1).step_by(2);
    pieces.filter(|piece| piece.contains('/') && root().join(piece).exists()).map(String::from).collect()
}

#[test]
fn unsafe_code_is_where_the_architecture_says() {
    let listed = paths_of_part("ARCHITECTURE.md", "**`unsafe`**");
    let used: Vec<String> = sources()
        .into_iter()
        .filter(|(path, text)| path != "tests/facts.rs" && text.lines().any(has_unsafe))
        .map(|(path, _)| path)
        .collect();
    assert!(used.len() > 10, "the search for `unsafe` finds {used:?} only");
    let covers = |place: &String, path: &String| path == place || (place.ends_with('/') && path.starts_with(place));
    let unlisted: Vec<&String> = used.iter().filter(|path| !listed.iter().any(|place| covers(place, path))).collect();
    assert!(unlisted.is_empty(), "ARCHITECTURE.md does not list these files with `unsafe`: {unlisted:?}");
    let safe: Vec<&String> = listed.iter().filter(|place| !used.iter().any(|path| covers(place, path))).collect();
    assert!(safe.is_empty(), "ARCHITECTURE.md lists places without `unsafe`: {safe:?}");
}

/// Our crates with their dependencies on each other, without tests, from their manifests.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let manifests = files().into_iter().filter(|path| path.file_name().is_some_and(|name| name == "Cargo.toml"));
    let tables = manifests.map(|path| {
        let text = std::fs::read_to_string(&path).expect("manifests are text");
        text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let mut all = BTreeMap::new();
    for table in tables {
        let Some(name) = table.get("package").and_then(|package| package["name"].as_str()) else { continue };
        // The list of features (sinew-unify), xtask and the fuzz targets are on no floor.
        if !name.starts_with("sinew") || ["sinew-unify", "sinew-fuzz"].contains(&name) {
            continue;
        }
        let needed = table.get("dependencies").and_then(|needed| needed.as_table()).cloned().unwrap_or_default();
        let ours = needed.keys().filter(|name| name.starts_with("sinew") && *name != "sinew-unify");
        all.insert(name.to_string(), ours.cloned().collect());
    }
    all
}

/// Height of a crate: one more than its highest dependency.
fn floor(name: &str, crates: &BTreeMap<String, BTreeSet<String>>) -> usize {
    crates[name].iter().map(|below| 1 + floor(below, crates)).max().unwrap_or(0)
}

#[test]
fn crates_stand_on_the_floors_of_the_architecture() {
    let text = read("ARCHITECTURE.md");
    let (_, part) = text.split_once("## Crates").expect("a part about crates");
    let drawing = part.split("```").nth(1).expect("a drawing");
    let rows: Vec<Vec<&str>> = drawing
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect())
        .filter(|row: &Vec<_>| !row.is_empty())
        .collect();
    let crates = crates();
    let drawn: BTreeMap<String, usize> = rows
        .iter()
        .rev()
        .enumerate()
        .flat_map(|(height, row)| row.iter().map(move |name| (name.to_string(), height)))
        .collect();
    let built: BTreeMap<String, usize> = crates.keys().map(|name| (name.clone(), floor(name, &crates))).collect();
    assert!(built.len() > 10, "{built:?}");
    assert_eq!(drawn, built, "the drawing in ARCHITECTURE.md and the manifests differ");
}

/// Top-level modules of a crate with the others that each uses, by the `crate::` paths in its files; tests aside. What
/// `lib.rs` re-exports counts as its module.
fn modules(folder: &str, sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let own = |path: &str| -> Option<String> { Some(path.strip_prefix(folder)?.strip_prefix('/')?.to_string()) };
    let files: BTreeMap<String, &String> = sources.iter().filter_map(|(path, text)| Some((own(path)?, text))).collect();
    let module_of = |file: &str| file.split('/').next().unwrap_or(file).trim_end_matches(".rs").to_string();
    let all: BTreeSet<String> = files.keys().map(|file| module_of(file)).collect();
    let mut door: BTreeMap<String, String> = BTreeMap::new();
    for line in files.get("lib.rs").map_or("", |text| text.as_str()).lines() {
        let Some((module, names)) = line.strip_prefix("pub use ").and_then(|rest| rest.split_once("::")) else {
            continue;
        };
        door.extend(words(names).map(|name| (name.to_string(), module.to_string())));
    }
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in
        files.iter().filter(|(file, _)| !["lib.rs", "tests.rs", "battery.rs"].iter().any(|t| file.ends_with(t)))
    {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let module = module_of(file);
        for path in code.join("\n").split("crate::").skip(1) {
            let names: Vec<&str> = match path.strip_prefix('{') {
                Some(list) => words(list.split(';').next().unwrap_or_default()).collect(),
                None => words(path).take(1).collect(),
            };
            let found = names.into_iter().map(|name| door.get(name).map_or(name, String::as_str));
            let others = found.filter(|name| all.contains(*name) && *name != module).map(String::from);
            uses.entry(module.clone()).or_default().extend(others);
        }
    }
    uses
}

/// Names in a piece of code.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Modules from which a way leads back to themselves.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let is_in_circle = |module: &&String| {
        let mut seen = BTreeSet::new();
        let mut next = vec![*module];
        while let Some(at) = next.pop() {
            next.extend(uses.get(at).into_iter().flatten().filter(|other| seen.insert(other.to_string())));
        }
        seen.contains(*module)
    };
    uses.keys().filter(is_in_circle).cloned().collect()
}

#[test]
fn modules_of_fem_form_no_circle() {
    let uses = modules("crates/sinew-fem/src", &sources());
    assert!(uses.len() > 15 && uses["model"].contains("force") && uses["force"].contains("contact"), "{uses:?}");
    assert_eq!(circles(&uses), Vec::<String>::new(), "{uses:#?}");
}

/// A force stands where the table says, and nowhere else: counted for fascia, which has everything that a force can
/// have.
#[test]
fn a_force_touches_the_files_that_the_architecture_lists() {
    let page = read("ARCHITECTURE.md");
    let row = page.lines().find(|line| line.starts_with("| a force on a body |")).expect("a row about forces");
    let listed: BTreeSet<String> =
        row.split('`').skip(1).step_by(2).map(|path| path.replace("<name>", "sheath")).collect();
    let has_word = |text: &str| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.into_iter().any(|line| line.to_lowercase().contains("sheath"))
    };
    let is_source = |path: &str| path.contains("src/") && path.starts_with("crates/") && !path.ends_with("tests.rs");
    let sources = sources();
    let found = sources.iter().filter(|(path, text)| is_source(path) && has_word(text)).map(|(path, _)| path.clone());
    assert_eq!(found.collect::<BTreeSet<_>>(), listed);
}

/// Rows of "Where do I add …" in `ARCHITECTURE.md` that count files, with an existing example and the names by which code
/// knows it.
const COUNTED: &[(&str, &[&str])] = &[
    ("a material", &["StVenantKirchhoff", "stvk"]),
    ("a source of meshes", &["TorusMesh"]),
    ("an output of runs", &["NpzRecorder", "npz"]),
];

/// Whether a file is part of the library or the program: not a test, not a benchmark.
fn is_product(path: &str) -> bool {
    let is_inside = path.starts_with("src/") || path.starts_with("python/s") || path.contains("/src/");
    let is_test =
        ["/tests/", "/tests.rs", "/battery.rs", "cli/bench/", "examples/"].iter().any(|part| path.contains(part));
    is_inside && !is_test && !path.starts_with("xtask/")
}

/// Whether the code of a file, without comments and its own tests, has one of the names as a word.
fn names_one(text: &str, names: &[&str]) -> bool {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    code.lines().any(|line| words(line.split("//").next().unwrap_or(line)).any(|word| names.contains(&word)))
}

/// An existing law, mesh source and output stand in as many files as `ARCHITECTURE.md` says.
#[test]
fn laws_mesh_sources_and_outputs_stand_in_as_many_files_as_the_architecture_says() {
    let page = read("ARCHITECTURE.md");
    let sources = sources();
    for (row, names) in COUNTED {
        let line = page.lines().find(|line| line.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row \"{row}\""));
        let printed = line.split('|').nth_back(1).and_then(|cell| cell.trim().parse::<usize>().ok());
        let found: Vec<&str> = sources
            .iter()
            .filter(|(path, text)| is_product(path) && names_one(text, names))
            .map(|(path, _)| path.as_str())
            .collect();
        assert_eq!(Some(found.len()), printed, "{row}: {names:?} stand in {found:?}");
    }
}

#[test]
fn every_line_of_the_changelog_is_short_and_names_its_surface() {
    let text = read("CHANGELOG.md");
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("## ")) {
        let is_tagged =
            ["Lib:", "CLI:", "Scene:", "Python:"].iter().any(|tag| line[2.min(line.len())..].starts_with(tag));
        if line.chars().count() > 160 {
            wrong.push(format!("line {} has more than 160 characters", number + 1));
        } else if line.starts_with("- ") && !is_tagged {
            wrong.push(format!("line {} begins with none of Lib:, CLI:, Scene:, Python:", number + 1));
        }
    }
    assert!(wrong.is_empty(), "CHANGELOG.md:\n{}", wrong.join("\n"));
}

#[test]
fn citation_and_changelog_name_the_version_of_the_workspace() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("a manifest");
    let version = manifest["workspace"]["package"]["version"].as_str().expect("a version");
    assert!(read("CITATION.cff").lines().any(|line| line == format!("version: {version}")));
    assert!(read("CHANGELOG.md").lines().any(|line| line == format!("## {version}")));
}

/// The checks above detect the errors that they are for.
#[test]
fn a_wrong_figure_and_a_hidden_unsafe_are_noticed() {
    let sources = [("crates/a.rs".to_string(), "const MOST: usize = 1_500;\nconst SHARE: f64 = 0.02;\n".to_string())];
    let constants = constants(&sources);
    assert_eq!(filled("{MOST} nodes", &constants), Ok(["1500 nodes".into(), "1,500 nodes".into()]));
    assert_eq!(filled("{SHARE} of it", &constants).map(|[text, _]| text), Ok("0.02 of it".into()));
    assert!(filled("{LEAST}", &constants).is_err());
    assert!(has_unsafe("    unsafe { go() }") && has_unsafe("unsafe fn go() {}"));
    let file = |path: &str, text: &str| (path.to_string(), text.to_string());
    let knot = [
        file("c/src/lib.rs", "pub use b::{Thing};"),
        file("c/src/a.rs", "use crate::{Thing, c};"),
        file("c/src/b.rs", "// use crate::c;\nuse crate::d;"),
        file("c/src/c.rs", ""),
        file("c/src/d/e.rs", "fn f() -> crate::a::A {}"),
    ];
    assert_eq!(circles(&modules("c/src", &knot)), ["a", "b", "d"]);
    assert!(!has_unsafe("// unsafe") && !has_unsafe("\"unsafe\"") && !has_unsafe("#[allow(unused_unsafe)]"));
}

/// Cargo does not look for tests where one program has them all: a file that it does not name would never run.
#[test]
fn programs_of_tests_name_all_their_files() {
    for folder in ["tests", "crates/sinew-io/tests", "crates/sinew-run/tests", "crates/sinew-scene/tests"] {
        let named = read(root().join(folder).join("all.rs"));
        let manifest = read(root().join(folder).with_file_name("Cargo.toml"));
        for entry in std::fs::read_dir(root().join(folder)).unwrap().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = file.strip_suffix(".rs").filter(|stem| *stem != "all") else { continue };
            let is_program = manifest.contains(&format!("name = \"{stem}\""));
            assert!(is_program || named.contains(&format!("mod {stem};")), "{folder}/{file} is not in all.rs");
        }
    }
}
