//! Checks of the written pages: paths exist, links lead somewhere, and nothing names the machine of an author.

use std::path::Path;

use crate::support;
use crate::support::{files, read, root};

/// Backquoted pieces of Markdown text outside of code blocks.
fn backquoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(String::from));
        }
    }
    found
}

/// Whether a backquoted piece is a path of the repository.
fn is_path(piece: &str) -> bool {
    let top = [
        "benches/",
        "crates/",
        "docs/",
        "scenes/",
        "tests/",
        "src/",
        "examples/",
        "python/",
        "xtask/",
        "integrations/",
        ".ci/",
        ".cargo/",
    ];
    let is_file = !piece.contains('/')
        && [".md", ".toml", ".bib"].iter().any(|extension| piece.ends_with(extension))
        && !piece.starts_with('.')
        && piece.chars().next().is_some_and(|first| first.is_ascii_uppercase());
    let is_plain = !piece.contains([' ', '*', '{', '"', '=', '(']);
    is_plain && (is_file || top.iter().any(|folder| piece.starts_with(folder)))
}

/// Whether a path exists; `<name>` stands for a file to be created, so its folder must exist.
fn exists(path: &str) -> bool {
    let path = path.split("::").next().unwrap_or(path);
    match path.split_once('<') {
        Some((before, _)) => {
            root().join(Path::new(before).parent().unwrap_or(Path::new(""))).is_dir() || before.ends_with('/')
        }
        None => root().join(path).exists(),
    }
}

fn markdown() -> Vec<String> {
    let all = files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    all.map(|path| path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/")).collect()
}

#[test]
fn every_path_named_in_the_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let paths: Vec<String> = backquoted(&text).into_iter().filter(|piece| is_path(piece)).collect();
    assert!(paths.len() > 30, "ARCHITECTURE.md names only {} paths: is it still a map?", paths.len());
    let wrong: Vec<&String> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(wrong.is_empty(), "ARCHITECTURE.md names paths that do not exist: {wrong:?}");
}

#[test]
fn every_path_named_in_other_pages_exists() {
    let mut wrong = Vec::new();
    // The changelog describes the past; the papers' README shows made-up examples.
    for page in markdown().into_iter().filter(|page| page != "CHANGELOG.md" && page != "docs/papers/README.md") {
        for path in backquoted(&read(&page)).into_iter().filter(|piece| is_path(piece) && !exists(piece)) {
            wrong.push(format!("{page}: {path}"));
        }
    }
    assert!(wrong.is_empty(), "paths that do not exist:\n{}", wrong.join("\n"));
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in markdown() {
        let text = read(&page);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let folder = Path::new(&page).parent().expect("pages have a folder");
            let target = if file.is_empty() { Path::new(&page).to_path_buf() } else { folder.join(file) };
            if !root().join(&target).exists() {
                wrong.push(format!("{page}: {link}"));
            } else if !anchor.is_empty() && !anchors(&read(&target)).contains(&anchor.to_string()) {
                wrong.push(format!("{page}: {link} (no such heading)"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

/// Targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let mut rest = prose.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            found.push(target.to_string());
            rest = tail;
        }
    }
    found
}

/// Anchors of the headings of a page, in the usual form: lower case, dashes for spaces, no punctuation.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Citations in brackets, such as `Teran05` and `Bonet08` in `\[Teran05; Bonet08, §6.4\]`.
fn citations(text: &str) -> Vec<&str> {
    let bracketed = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside);
    let words = bracketed.flat_map(|inside| inside.split([',', ';'])).map(|word| word.trim().trim_end_matches('\\'));
    words.filter(|word| is_citation(word)).collect()
}

/// A name in capitals and small letters, a year of two digits, at most three small letters.
fn is_citation(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| c.is_ascii_lowercase()).trim_end_matches(|c: char| c.is_ascii_digit());
    let year = &word[name.len()..];
    let digits = year.chars().take_while(char::is_ascii_digit).count();
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.ends_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphabetic())
        && digits == 2
        && year.len() <= digits + 3
}

#[test]
fn every_citation_is_in_the_references() {
    let references = read("references.bib");
    let known: Vec<&str> =
        references.lines().filter_map(|line| line.strip_prefix('@')?.split_once('{')?.1.strip_suffix(',')).collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files() {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let prose = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => text,
            Some("rs") => {
                text.lines().filter(|line| line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
            }
            _ => continue,
        };
        for key in citations(&prose) {
            count += 1;
            if !known.contains(&key) {
                wrong.push(format!("{}: {key}", file.display()));
            }
        }
    }
    assert!(count > 150, "only {count} citations found: has their form changed?");
    assert!(wrong.is_empty(), "citations that references.bib does not have:\n{}", wrong.join("\n"));
}

/// Markdown changes backslashes and underscores in a bare `$…$`. Formulas are code: blocks of `math`, or a code span
/// between dollar signs.
#[test]
fn formulas_in_doc_comments_are_code() {
    let is_doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    let mut wrong = Vec::new();
    // Help texts of the command line are not Markdown.
    for file in files().into_iter().filter(|file| !file.starts_with(root().join("src/cli"))) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let mut in_block = false;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_doc(line)) {
            in_block ^= line.contains("```");
            let formulas = line.replace("$`", "`").replace("`$", "`");
            if !in_block && formulas.split('`').step_by(2).any(|prose| prose.contains('$')) {
                wrong.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "write formulas as ```math or $`…`$:\n{}", wrong.join("\n"));
}

#[test]
fn generated_scene_reference_is_fresh() {
    support::assert_generated("docs/reference/scene.md", &sinew::scene::reference::markdown());
}

#[test]
fn generated_recipe_reference_is_fresh() {
    support::assert_generated("docs/reference/recipe.md", &sinew::scene::reference::recipe_markdown());
}

#[test]
fn generated_page_of_tissues_is_fresh() {
    support::assert_generated("docs/reference/tissues.md", &sinew::scene::spec::tissue::markdown());
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    // Written in two pieces, so that this file does not match itself.
    let forbidden =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"], ["/tm", "p/"], ["../sha", "red"], ["../.lib", "rary"]];
    let forbidden = forbidden.map(|parts| parts.concat());
    let mut wrong = Vec::new();
    for file in files() {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(path) = forbidden.iter().find(|path| line.contains(path.as_str())) {
                wrong.push(format!("{}:{}: {path}", file.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "machine paths in the repository:\n{}", wrong.join("\n"));
}

/// The functions of Python have the options of the command line.
#[test]
fn generated_python_commands_are_current() {
    support::assert_generated("python/sinew/commands.py", &sinew::cli::python_module());
}
