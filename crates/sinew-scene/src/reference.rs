//! The reference page of scenes, written from the same declarations as the decoder.

use std::fmt::Write as _;

use crate::{
    decode::shape::{Body, Definition, FieldShape, Shape},
    schema::definitions,
    value::{Dimension, format_quantity},
    value_table,
};

const INTRODUCTION: &str = "\
# Scene reference

<!-- Generated from the declarations in crates/sinew-scene/src/spec; `cargo xtask docs` writes it again. -->

A scene is a [TOML](https://toml.io) file. A key that is not on this page is an error, and all errors of a file are reported
at once.

**Units.** A quantity is a number in SI units (`0.004`) or a text with a unit (`\"4 mm\"`). Units combine with `/`, `*`, `^` and SI
prefixes: `\"1 g/cm^3\"`, `\"9.81 m/s^2\"`, `\"30 kPa\"`, `\"45 deg\"`, `\"2 %\"`. A unit of the wrong kind is an error.

**Values over time.** Where the type says *over time*, write one value, a list of `[time, value]` pairs, or a
[track](#track): `[[\"0 s\", 0.0], [\"0.2 s\", 1.0]]`. Values are interpolated linearly between the points
and are constant outside.

**Names.** Bodies, rigids, colliders and probes have names. Regions, pins, probes and `--set` refer to them:
`--set body.flesh.material.young=\"10 kPa\"`.

**Positions.** Points of a body (regions, probes, gradients) are in body coordinates: those of its mesh times `scale`, before `rotation`
and `position`. Files are relative to the scene.
";

/// The reference page as Markdown.
pub fn markdown() -> String {
    let defs = definitions();
    let mut page = INTRODUCTION.to_string();
    for definition in &defs.list {
        write_definition(&mut page, definition);
    }
    page + &value_table::markdown()
}

const RECIPES: &str = "\
# Recipe reference

<!-- Generated from the declarations in crates/sinew-scene/src/recipe; `cargo xtask docs` writes it again. -->

A recipe of `sinew anatomy build` is a [TOML](https://toml.io) file, with units as in [scenes](scene.md). A key that is not on this page
is an error, and all errors of a file are reported at once. Files are relative to the recipe.
";

/// The reference page of recipes as Markdown.
pub fn recipe_markdown() -> String {
    let mut page = RECIPES.to_string();
    for definition in &crate::recipe::definitions().list {
        write_definition(&mut page, definition);
    }
    page
}

fn write_definition(page: &mut String, definition: &Definition) {
    let _ = write!(page, "\n## {}\n\n{}\n", definition.name, definition.doc);
    match &definition.body {
        Body::Fields(fields) => write_fields(page, fields),
        Body::Keyed(fields) => {
            page.push_str("\nExactly one of:\n");
            write_fields(page, fields);
        }
        Body::Tagged { tag, variants } => {
            for variant in variants {
                let _ = write!(page, "\n### `{tag} = \"{}\"`\n\n{}\n", variant.word, variant.doc);
                if !variant.fields.is_empty() {
                    write_fields(page, &variant.fields);
                }
            }
        }
    }
}

fn write_fields(page: &mut String, fields: &[FieldShape]) {
    page.push_str("\n| key | type | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let default = match (field.required, field.default) {
            (true, _) => "required".to_string(),
            (false, Some("{}" | "[]")) | (false, None) => String::new(),
            (false, Some(default)) => format!("`{default}`"),
        };
        let mut meaning = field.doc.clone();
        if let Shape::Words(words) = &field.shape {
            for (word, doc) in words {
                let _ = write!(meaning, "<br>`\"{word}\"`: {}", decapitalised(doc.trim().trim_end_matches('.')));
            }
        }
        if let Some(example) = field.example {
            let _ = write!(meaning, "<br>Example: `{} = {example}`", field.key);
        }
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            field.key,
            cell(&describe(&field.shape)),
            cell(&default),
            cell(&meaning)
        );
    }
}

/// The text with a lowercase first letter, unless the word is a name or an abbreviation.
fn decapitalised(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_string(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The type column.
fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Quantity { dimension, interval } => {
            let what = match dimension {
                None => "number with any unit".to_string(),
                Some(Dimension::NUMBER) => "number".to_string(),
                Some(dimension) => dimension.describe().trim_start_matches("an ").trim_start_matches("a ").to_string(),
            };
            let range = interval.describe(|value| format_quantity(value, dimension.unwrap_or_default()));
            if range.is_empty() { what } else { format!("{what} {range}") }
        }
        Shape::Whole { least, most } if *most > 100_000_000 => format!("whole number ≥ {least}"),
        Shape::Whole { least, most } => format!("whole number from {least} to {most}"),
        Shape::Text(what) => format!("text: {what}"),
        Shape::Flag => "`true` or `false`".to_string(),
        Shape::Words(words) => words.iter().map(|word| format!("`\"{}\"`", word.0)).collect::<Vec<_>>().join(" or "),
        Shape::Tuple(item, length) => match **item {
            Shape::Tuple(..) => format!("{length} × ({})", describe(item)),
            _ => format!("{length} × {}", describe(item)),
        },
        Shape::TimedValue(value) => format!("[time, {}]", describe(value)),
        Shape::List(item) => format!("list of {}", describe(item)),
        Shape::Map(item) => format!("table: name = {}", describe(item)),
        Shape::Named(name) => format!("[{name}](#{})", name.replace(' ', "-")),
        Shape::Either(shapes) => match shapes.as_slice() {
            [value, .., Shape::Named("track")] => format!("{}, over time", describe(value)),
            // A value or a list of such values: describe the value once.
            [value, Shape::List(item)] if **item == *value => format!("{}, or a list of these", describe(value)),
            _ => shapes.iter().map(describe).collect::<Vec<_>>().join(" or "),
        },
        Shape::Anything => "any value".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The page in the repository matches the declarations. `SINEW_UPDATE=1` writes it.
    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scene.md");
        if std::env::var_os("SINEW_UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, markdown()).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(page == markdown(), "docs/reference/scene.md is out of date: run this test with SINEW_UPDATE=1");
    }

    #[test]
    fn every_key_is_explained() {
        let fields_of = |body: &Body| match body {
            Body::Fields(fields) | Body::Keyed(fields) => fields.clone(),
            Body::Tagged { variants, .. } => variants.iter().flat_map(|variant| variant.fields.clone()).collect(),
        };
        for definition in definitions().list {
            assert!(!definition.doc.is_empty(), "{}", definition.name);
            for field in fields_of(&definition.body) {
                assert!(field.doc.ends_with('.'), "{}.{}: {:?}", definition.name, field.key, field.doc);
                let shown = field.required && !matches!(field.shape, Shape::Named(_));
                assert!(
                    !shown || field.example.is_some() || field.key == "points",
                    "{}.{}",
                    definition.name,
                    field.key
                );
            }
        }
    }
}
