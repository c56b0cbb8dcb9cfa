//! The snippets of the pages against the decoder.

use std::path::Path;

use super::*;

/// Blocks of TOML of a page.
fn snippets(page: &str) -> impl Iterator<Item = &str> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("toml\n"))
}

/// A snippet as a document: keys before the first table that only a body has belong to one, and so do tables such as
/// `[body.rig]`.
fn completed(snippet: &str) -> String {
    // Numbers that a page leaves out.
    let snippet = snippet.replace('…', "0, 0, 0");
    // What a model gives, which a page does not have.
    let given = [
        ("[[body]]", "mesh = { from = \"sphere\", radius = 1, cell = 1 }\nmaterial = \"flesh\""),
        ("[[rigid]]", "shape = { type = \"sphere\", radius = 1 }"),
    ];
    let has_anatomy = snippet.contains("[[anatomy]]");
    let snippet = given.iter().filter(|_| has_anatomy).fold(snippet, |snippet, (table, keys)| {
        snippet
            .split_inclusive('\n')
            .map(|line| if line.starts_with(table) { format!("{line}{keys}\n") } else { line.into() })
            .collect()
    });
    let first = snippet.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let of_body = ["position", "rotation", "remove", "muscle", "sheath", "mesh", "scale", "material_", "rig", "over"];
    let is_of_body = of_body.iter().any(|key| first.starts_with(key)) || first.starts_with("[body.");
    let mut head = String::from(if snippet.contains("duration") { "" } else { "duration = 1\n" });
    if is_of_body {
        head.push_str("[[body]]\nname = \"snippet\"\nmaterial = \"flesh\"\n");
        if !snippet.contains("mesh = ") || first.starts_with("rig") || first.starts_with('[') {
            head.push_str("mesh = { from = \"box\", size = [1, 1, 1], cell = 1 }\n");
        }
    }
    head + &snippet
}

/// Every snippet of every guide and concept is read by the decoder: a key that was renamed is found here.
#[test]
fn snippets_of_the_pages_are_scenes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for folder in ["guide", "concepts"] {
        for entry in std::fs::read_dir(docs.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let page = std::fs::read_to_string(&path).unwrap();
            for snippet in snippets(&page) {
                count += 1;
                if snippet.contains("[image]") {
                    // The image of the page is the reader's.
                    let text =
                        snippet.replace("file = \"arm.nii.gz\"", "phantom = { name = \"arm\", voxel = \"4 mm\" }");
                    let recipe = crate::recipe::Recipe::from_text(&text, "recipe", ".");
                    assert!(recipe.is_ok(), "{}:\n{snippet}\n{:?}", path.display(), recipe.err());
                    continue;
                }
                let text = completed(snippet);
                let mut problems = Vec::new();
                let mut root = tree::parse_document(&text, 0, &mut problems);
                tissue::write_out_words(&mut root);
                mesh::write_out(&mut root);
                tissue::write_out_tissues(&mut root);
                problems.extend(first_problem(&root));
                assert!(problems.is_empty(), "{}:\n{snippet}\n{problems:?}", path.display());
            }
        }
    }
    assert!(count > 25, "{count} snippets: has their form changed?");
}
