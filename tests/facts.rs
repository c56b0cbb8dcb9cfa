//! What pages say of the code is what the code says: figures, floors of crates, files with `unsafe`, versions; and the changelog keeps its form.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use support::{files, read, root};

/// Phrases of pages with the constants they print. `{NAME}` is the value of `const NAME`, wherever below `crates/` it is defined.
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
];

/// Text with every run of white space as one space: phrases may be wrapped.
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

/// A number as pages write it: plain, or with commas between thousands.
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

/// Backquoted paths in the part of a page that begins with `from` and ends at a heading or at the next paragraph in bold.
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

/// Rows of "Where do I add …" in `ARCHITECTURE.md` that print how many files a thing stands in, with an existing example and
/// the names by which code knows it.
const STANDS_IN: &[(&str, &[&str])] =
    &[("a material", &["StVenantKirchhoff", "stvk"]), ("a source of meshes", &["TorusMesh"])];

/// Whether a file is part of the library and the program: not a test, not a benchmark.
fn is_product(path: &str) -> bool {
    let is_inside = path.starts_with("src/") || path.starts_with("python/s") || path.contains("/src/");
    let is_test =
        ["/tests/", "/tests.rs", "/battery.rs", "cli/bench/", "examples/"].iter().any(|part| path.contains(part));
    is_inside && !is_test && !path.starts_with("xtask/")
}

/// Whether the code of a file, without comments and its own tests, has one of the names as a word.
fn names_one(text: &str, names: &[&str]) -> bool {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let words = code.lines().flat_map(|line| {
        let line = line.split("//").next().unwrap_or(line);
        line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
    });
    words.into_iter().any(|word| names.contains(&word))
}

/// `ARCHITECTURE.md` says in how many files a material or a mesh source stands; an existing one stands in as many.
#[test]
fn things_stand_in_as_many_files_as_the_architecture_says() {
    let page = read("ARCHITECTURE.md");
    let product: Vec<(String, String)> = files()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs" || extension == "py"))
        .map(|path| (path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/"), path))
        .filter(|(name, _)| is_product(name))
        .map(|(name, path)| (name, std::fs::read_to_string(path).expect("sources are text")))
        .collect();
    for (row, names) in STANDS_IN {
        let line = page.lines().find(|line| line.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row \"{row}\""));
        let printed = line.split('|').nth_back(1).map(str::trim).and_then(|cell| cell.parse::<usize>().ok());
        let found: Vec<&str> =
            product.iter().filter(|(_, text)| names_one(text, names)).map(|(name, _)| name.as_str()).collect();
        assert_eq!(Some(found.len()), printed, "{row}: {names:?} stand in {found:?}");
    }
}

/// Our crates with those of ours that they depend on, tests aside, by their manifests.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let manifests = files().into_iter().filter(|path| path.file_name().is_some_and(|name| name == "Cargo.toml"));
    let tables = manifests.map(|path| {
        let text = std::fs::read_to_string(&path).expect("manifests are text");
        text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let mut all = BTreeMap::new();
    for table in tables {
        let Some(name) = table.get("package").and_then(|package| package["name"].as_str()) else { continue };
        // A list of features, the chores and the fuzz targets are no rooms of the house.
        if !name.starts_with("sinew") || ["sinew-unify", "sinew-fuzz"].contains(&name) {
            continue;
        }
        let needed = table.get("dependencies").and_then(|needed| needed.as_table()).cloned().unwrap_or_default();
        let ours = needed.keys().filter(|name| name.starts_with("sinew") && *name != "sinew-unify");
        all.insert(name.to_string(), ours.cloned().collect());
    }
    all
}

/// Height of a crate: one above the highest that it depends on.
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

/// The checks above find what they are for.
#[test]
fn a_wrong_figure_and_a_hidden_unsafe_are_noticed() {
    let sources = [("crates/a.rs".to_string(), "const MOST: usize = 1_500;\nconst SHARE: f64 = 0.02;\n".to_string())];
    let constants = constants(&sources);
    assert_eq!(filled("{MOST} nodes", &constants), Ok(["1500 nodes".into(), "1,500 nodes".into()]));
    assert_eq!(filled("{SHARE} of it", &constants).map(|[text, _]| text), Ok("0.02 of it".into()));
    assert!(filled("{LEAST}", &constants).is_err());
    assert!(has_unsafe("    unsafe { go() }") && has_unsafe("unsafe fn go() {}"));
    assert!(!has_unsafe("// unsafe") && !has_unsafe("\"unsafe\"") && !has_unsafe("#[allow(unused_unsafe)]"));
}
