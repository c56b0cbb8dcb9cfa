//! Checks of `docs/papers/coverage.toml`: it is complete and in order, and every proof exists.

use std::fmt::Write;

use crate::support::{assert_generated, read, root};

const FILE: &str = "docs/papers/coverage.toml";

/// The five documents: prefix, key in `references.bib`, title, rows, experiments.
const DOCUMENTS: [(&str, &str, &str, usize, usize); 5] = [
    ("SIF", "Sifakis07", "Simulation and control of human anatomy models", 104, 46),
    ("TER", "Teran05", "Skeletal muscle from the Visible Human", 59, 11),
    ("MCA", "McAdams11", "Elasticity for character skinning", 52, 13),
    ("LUO", "Luo20", "Elastic solid dynamics in computer graphics", 89, 42),
    ("CHE", "Chen92", "Muscle animation with finite elements", 69, 22),
];

/// Experiments of \[Luo20\] are counted per chapter.
const LUO_CHAPTERS: [(usize, usize); 5] = [(2, 4), (3, 12), (4, 13), (5, 8), (6, 5)];

struct Row {
    id: String,
    name: String,
    status: String,
    module: Option<String>,
    proof: Vec<String>,
    missing: Option<String>,
}

/// All identifiers in the order in which they must appear.
fn identifiers() -> Vec<String> {
    let mut all = Vec::new();
    for (prefix, _, _, rows, experiments) in DOCUMENTS {
        let width = if rows > 99 { 3 } else { 2 };
        all.extend((1..=rows).map(|i| format!("{prefix}-{i:0width$}")));
        match prefix {
            "SIF" | "TER" => all.extend((1..=experiments).map(|i| format!("{prefix}-E{i}"))),
            "MCA" => all.extend((1..=experiments).map(|i| format!("{prefix}-X{i}"))),
            "LUO" => {
                let numbers = LUO_CHAPTERS.iter().flat_map(|&(chapter, count)| (1..=count).map(move |i| (chapter, i)));
                all.extend(numbers.map(|(chapter, i)| format!("LUO-X{chapter}.{i}")));
            }
            _ => all.extend((1..=experiments).map(|i| format!("{prefix}-X-{i:02}"))),
        }
    }
    all
}

fn rows() -> Vec<Row> {
    let text = read(FILE);
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{FILE}: {error}"));
    let order = text.lines().filter_map(|line| line.strip_prefix('"')?.split_once('"').map(|(id, _)| id.to_string()));
    order
        .map(|id| {
            let fields = table[&id].as_table().unwrap_or_else(|| panic!("{id}: not a table"));
            let text = |key: &str| fields.get(key).and_then(|value| value.as_str()).map(String::from);
            for key in fields.keys() {
                let known = ["name", "status", "module", "proof", "missing"].contains(&key.as_str());
                assert!(known, "{id}: unknown field \"{key}\"");
            }
            let proof = match fields.get("proof") {
                None => Vec::new(),
                Some(value) => {
                    let list = value.as_array().unwrap_or_else(|| panic!("{id}: proof is a list"));
                    list.iter().map(|item| item.as_str().expect("a proof is text").to_string()).collect()
                }
            };
            Row {
                name: text("name").unwrap_or_else(|| panic!("{id}: no name")),
                status: text("status").unwrap_or_else(|| panic!("{id}: no status")),
                module: text("module"),
                proof,
                missing: text("missing"),
                id,
            }
        })
        .collect()
}

#[test]
fn every_row_and_experiment_is_listed_once_and_in_order() {
    let expected = identifiers();
    assert_eq!(DOCUMENTS.iter().map(|document| document.3).sum::<usize>(), 373);
    assert_eq!(DOCUMENTS.iter().map(|document| document.4).sum::<usize>(), 134);
    let found: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "identifiers are out of order");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn every_status_has_the_fields_it_needs() {
    for Row { id, name, status, module, proof, missing } in rows() {
        assert!(!name.trim().is_empty(), "{id}: empty name");
        let has = (module.is_some(), !proof.is_empty(), missing.as_ref().is_some_and(|text| !text.trim().is_empty()));
        match status.as_str() {
            "open" => assert_eq!(has, (false, false, false), "{id}: an open row has neither module nor proof"),
            "part" => assert_eq!(has, (true, true, true), "{id}: part needs module, proof and missing"),
            "works" => assert_eq!(has, (true, true, false), "{id}: works needs module and proof, and misses nothing"),
            other => panic!("{id}: status \"{other}\" is none of open, part, works"),
        }
    }
}

#[test]
fn every_module_and_every_proof_exists() {
    let mut wrong = Vec::new();
    for row in rows() {
        if let Some(module) = row.module.as_ref().filter(|module| !root().join(module).is_file()) {
            wrong.push(format!("{}: module {module} does not exist", row.id));
        }
        for proof in &row.proof {
            let (path, test) = match proof.split_once("::") {
                Some((path, test)) => (path, test.rsplit("::").next()),
                None => (proof.as_str(), None),
            };
            let Ok(text) = std::fs::read_to_string(root().join(path)) else {
                wrong.push(format!("{}: proof {path} does not exist", row.id));
                continue;
            };
            match test {
                Some(test) if !["(", "<"].iter().any(|next| text.contains(&format!("fn {test}{next}"))) => {
                    wrong.push(format!("{}: {path} has no test {test}", row.id));
                }
                None if !text.contains("[expect") && !text.contains("[study") => {
                    wrong.push(format!("{}: scene {path} expects nothing", row.id));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generated_coverage_page_is_fresh() {
    assert_generated("docs/papers/coverage.md", &page(&rows()));
}

fn page(rows: &[Row]) -> String {
    let mut out = String::from(
        "<!-- Written by `cargo xtask docs` from coverage.toml; edit that file instead. -->\n\n\
         # Coverage of the papers\n\n\
         What runs and is tested, row by row. The words are explained in [README.md](README.md); the source is\n\
         [coverage.toml](coverage.toml).\n\n\
         | document | rows | works | part | experiments | works | part |\n|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let is_experiment = |row: &Row| !row.id[4..].starts_with(|c: char| c.is_ascii_digit());
    let mut total = [0; 6];
    for (prefix, key, title, _, _) in DOCUMENTS {
        let count = |experiments: bool, status: &str| {
            let chosen = rows.iter().filter(|row| row.id.starts_with(prefix) && is_experiment(row) == experiments);
            chosen.filter(|row| status.is_empty() || row.status == status).count()
        };
        let counts = [(false, ""), (false, "works"), (false, "part"), (true, ""), (true, "works"), (true, "part")]
            .map(|(experiments, status)| count(experiments, status));
        writeln!(out, "| {title} [{key}] | {} |", counts.map(|count| count.to_string()).join(" | ")).unwrap();
        total = std::array::from_fn(|i| total[i] + counts[i]);
    }
    writeln!(out, "| all | {} |", total.map(|count| count.to_string()).join(" | ")).unwrap();
    for (prefix, key, title, _, _) in DOCUMENTS {
        writeln!(out, "\n## {title} [{key}]").unwrap();
        let (open, done): (Vec<_>, Vec<_>) =
            rows.iter().filter(|row| row.id.starts_with(prefix)).partition(|row| row.status == "open");
        if !done.is_empty() {
            out.push_str("\n| id | what | status | code | proof |\n|---|---|---|---|---|\n");
        }
        for row in done {
            let module = row.module.as_deref().unwrap_or_default();
            let proofs: Vec<String> = row
                .proof
                .iter()
                .map(|proof| {
                    let path = proof.split("::").next().unwrap_or(proof);
                    let label = proof.rsplit(['/', ':']).next().unwrap_or(proof);
                    format!("[{label}](../../{path})")
                })
                .collect();
            let missing = row.missing.as_ref().map(|text| format!(" Missing: {text}.")).unwrap_or_default();
            let file = module.rsplit('/').next().unwrap_or(module);
            let status = &row.status;
            let code = format!("[{file}](../../{module})");
            writeln!(out, "| {} | {}.{missing} | {status} | {code} | {} |", row.id, row.name, proofs.join(", "))
                .unwrap();
        }
        if !open.is_empty() {
            let list: Vec<String> = open.iter().map(|row| format!("- {}: {}", row.id, row.name)).collect();
            write!(out, "\n<details><summary>{} open</summary>\n\n{}\n\n</details>\n", open.len(), list.join("\n"))
                .unwrap();
        }
    }
    out
}
