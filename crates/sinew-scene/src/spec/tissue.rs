//! Tissues by name: `material = "fat"` stands for a law with measured values, and for a density.
//!
//! One table ([`TISSUES`]) has them all; the decoder, the schema, the reference and the page of tissues read it. The tree
//! of a scene is rewritten before it is decoded, so nothing else has to know tissues.

use std::fmt::Write as _;

use sinew_cell::material::Law;

use super::law::LawTable;
use super::material::{MUSCLE, Preset, TENDON, TYPE};
use crate::decode::shape::{Definitions, Variant};
use crate::decode::tree::{self, Entry, Node, Value};
use crate::value::{Dimension, Quantity, format_quantity};

/// A tissue: a law with values to start from.
#[derive(Debug)]
pub struct Tissue {
    /// Its word in scenes.
    pub name: &'static str,
    /// One sentence for the reference.
    pub doc: &'static str,
    /// The law.
    pub law: Law,
    /// Values of the law by their keys, in the syntax of scenes.
    pub values: &'static [(&'static str, &'static str)],
    /// Density \[kg/m³\].
    pub density: f64,
    /// Source of the density.
    pub density_source: Option<&'static str>,
    /// What was measured, by whom.
    pub measured: &'static [Measured],
}

/// A measurement of a tissue.
#[derive(Debug)]
pub struct Measured {
    /// Key in `references.bib`.
    pub source: &'static str,
    /// What was measured, and how.
    pub what: &'static str,
    /// Smallest and largest value \[Pa\].
    pub range: [f64; 2],
}

const fn measured(source: &'static str, what: &'static str, range: [f64; 2]) -> Measured {
    Measured { source, what, range }
}

/// Density of soft tissue where nobody has measured it \[kg/m³\].
const SOFT: f64 = 1050.0;

/// All tissues; the first is the default of `sinew new`.
pub const TISSUES: [Tissue; 8] = [
    Tissue {
        name: "flesh",
        doc: "Muscle, fat and vessels as one: a round number to start from.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""30 kPa""#), ("poisson", "0.45")],
        density: SOFT,
        density_source: None,
        measured: &[],
    },
    Tissue {
        name: "fat",
        doc: "Adipose tissue.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""3 kPa""#), ("poisson", "0.47")],
        density: 950.0,
        density_source: Some("ICRU44"),
        measured: &[
            measured(
                "Alkhouli13",
                "abdominal fat, excised, in tension: below the skin 1.6, omental 2.9",
                [1.6e3, 2.9e3],
            ),
            measured("Samani07", "fat of the breast, excised, by indentation: 3.25 ± 0.91", [2.34e3, 4.16e3]),
        ],
    },
    Tissue {
        name: "skin",
        doc: "Epidermis and dermis, for deformations of some percent. The modulus depends on the method by two orders of \
              magnitude, because collagen straightens as it is stretched.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""130 kPa""#), ("poisson", "0.47")],
        density: 1090.0,
        density_source: Some("ICRU44"),
        measured: &[
            measured("Pailler08", "forearm in vivo, by indentation", [4.5e3, 8e3]),
            measured("Diridollou00", "forearm in vivo, by suction: 129 ± 88", [41e3, 217e3]),
            measured(
                "Agache80",
                "138 people in vivo, by torsion: 420 below 30 years of age, 850 above",
                [420e3, 850e3],
            ),
        ],
    },
    Tissue {
        name: "cartilage",
        doc: "Articular cartilage in equilibrium, after the fluid has flowed. For sudden loads raise `poisson` toward 0.49.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""600 kPa""#), ("poisson", "0.1")],
        density: 1100.0,
        density_source: Some("ICRU44"),
        measured: &[measured(
            "Athanasiou91",
            "human femur, by indentation: aggregate modulus 530 to 700 with Poisson's ratio 0 to 0.1",
            [530e3, 684e3],
        )],
    },
    Tissue {
        name: "ligament",
        doc: "Ligament: stiff fibers in a softer matrix. Needs `fibers` of the body. The fibers here are stretched from the \
              start; those of a slack ligament are wavy and softer at first.",
        law: Law::FiberReinforced,
        values: &[
            ("young", r#""11 MPa""#),
            ("poisson", "0.45"),
            ("fiber_stiffness", r#""320 MPa""#),
            ("fiber_stiffening", "0"),
        ],
        density: 1100.0,
        density_source: None,
        measured: &[
            measured(
                "Quapp98",
                "human medial collateral ligament, tension along the fibers: 332 ± 58 MPa",
                [274e6, 390e6],
            ),
            measured("Quapp98", "the same across the fibers: 11.0 ± 3.6 MPa", [7.4e6, 14.6e6]),
        ],
    },
    Tissue {
        name: "tongue",
        doc: "The tongue, relaxed.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""1.2 kPa""#), ("poisson", "0.47")],
        density: 1040.0,
        density_source: None,
        measured: &[measured(
            "Gerard05",
            "tongue of a cadaver, by indentation: the limit of small strains, 6 c₁₀ with c₁₀ = 0.192 kPa",
            [1.15e3, 1.15e3],
        )],
    },
    Tissue {
        name: "gel",
        doc: "A soft gel, to try things: a round number.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""5 kPa""#), ("poisson", "0.45")],
        density: 1000.0,
        density_source: None,
        measured: &[],
    },
    Tissue {
        name: "rubber",
        doc: "Soft rubber, to try things: a round number.",
        law: Law::StableNeoHookean,
        values: &[("young", r#""1 MPa""#), ("poisson", "0.47")],
        density: 1100.0,
        density_source: None,
        measured: &[],
    },
];

impl Tissue {
    /// The tissue with a name.
    pub fn named(name: &str) -> Option<&'static Tissue> {
        TISSUES.iter().find(|tissue| tissue.name == name)
    }

    /// The value of a key of its law, in the syntax of scenes.
    pub fn text(&self, key: &str) -> Option<&'static str> {
        self.values.iter().find(|value| value.0 == key).map(|value| value.1)
    }

    /// The value of a key of its law in SI units.
    pub fn value(&self, key: &str) -> Option<f64> {
        let text = self.text(key)?.trim_matches('"');
        Quantity::parse(text).ok().map(|quantity| quantity.value)
    }

    /// The tissue as a form of the table `material`, with its values as defaults.
    pub(super) fn variant(&self, defs: &mut Definitions) -> Variant {
        let mut fields = LawTable::fields(self.law, defs);
        for field in &mut fields {
            if let Some(text) = self.text(field.key) {
                (field.required, field.default, field.example) = (false, Some(text), None);
            }
        }
        let density = format_quantity(self.density, Dimension::DENSITY);
        let sources: Vec<&str> = self.sources().collect();
        let sources = if sources.is_empty() { String::new() } else { format!(" [{}]", sources.join(", ")) };
        let doc = format!(
            "{} The law is `{}`, the density {density} unless the body has another.{sources}",
            self.doc,
            self.law.name()
        );
        Variant { word: self.name, doc, fields }
    }

    /// Keys of its sources, each once.
    fn sources(&self) -> impl Iterator<Item = &'static str> {
        let all: Vec<&str> = self.measured.iter().map(|measured| measured.source).chain(self.density_source).collect();
        let is_first = {
            let all = all.clone();
            move |(k, source): &(usize, &str)| !all[..*k].contains(source)
        };
        all.into_iter().enumerate().filter(is_first).map(|(_, source)| source)
    }

    /// The table of a material with the law of this tissue and its values, where the table has none of its own.
    fn written_out(&self, table: &Node) -> Node {
        let mut node = table.clone();
        let Value::Table(entries) = &mut node.value else { return node };
        let Some(word) = entries.iter().find(|entry| entry.key == TYPE).cloned() else { return node };
        for entry in entries.iter_mut().filter(|entry| entry.key == TYPE) {
            entry.node.value = Value::Text(self.law.name().into());
        }
        for (key, text) in self.values.iter().filter(|(key, _)| table.entry(key).is_none()) {
            if let Some(mut value) = tree::parse_value(text, 0, &mut Vec::new()) {
                value.span = word.node.span;
                entries.push(Entry { key: (*key).into(), key_span: word.key_span, node: value });
            }
        }
        node
    }
}

/// The table that a material written as a word, or by a tissue, stands for; `None` if it is a law already.
pub(super) fn written_out(material: &Node) -> Option<Node> {
    let table = match &material.value {
        Value::Text(_) => Some(of_word(material)),
        _ => None,
    };
    let word = table.as_ref().unwrap_or(material).get(TYPE).and_then(Node::as_text);
    match word.and_then(Tissue::named) {
        Some(tissue) => Some(tissue.written_out(table.as_ref().unwrap_or(material))),
        None => table,
    }
}

/// `{ type = "fat" }` for `"fat"`, at the same place in the text.
fn of_word(word: &Node) -> Node {
    let entry = Entry { key: TYPE.into(), key_span: word.span, node: word.clone() };
    Node { span: word.span, value: Value::Table(vec![entry]) }
}

/// The bodies of a scene.
fn bodies(root: &mut Node) -> &mut [Node] {
    match root.entry_mut("body").map(|entry| &mut entry.node.value) {
        Some(Value::List(bodies)) => bodies,
        _ => &mut [],
    }
}

/// Calls `change` for the material of a body, and for those of its regions.
fn for_each_material(body: &mut Node, change: &mut dyn FnMut(&mut Node)) {
    if let Some(entry) = body.entry_mut("material") {
        change(&mut entry.node);
    }
    if let Some(Value::List(parts)) = body.entry_mut("material_regions").map(|entry| &mut entry.node.value) {
        parts.iter_mut().filter_map(|part| part.entry_mut("material")).for_each(|entry| change(&mut entry.node));
    }
}

/// Writes materials that are a word as tables, so that overrides can set their keys.
pub(crate) fn write_out_words(root: &mut Node) {
    for body in bodies(root) {
        for_each_material(body, &mut |material| {
            if matches!(material.value, Value::Text(_)) {
                *material = of_word(material);
            }
        });
    }
}

/// Writes tissues as laws with values, and gives bodies their density.
pub(crate) fn write_out_tissues(root: &mut Node) {
    for body in bodies(root) {
        let word =
            body.get("material").and_then(|material| material.as_text().or_else(|| material.get(TYPE)?.as_text()));
        let density = word.and_then(Tissue::named).map(|tissue| tissue.density);
        for_each_material(body, &mut |material| {
            if let Some(table) = written_out(material) {
                *material = table;
            }
        });
        let (Some(density), None) = (density, body.entry("density")) else { continue };
        let span = body.get("material").map(|material| material.span).unwrap_or_default();
        if let Value::Table(entries) = &mut body.value {
            let node = Node { span, value: Value::Float(density) };
            entries.push(Entry { key: "density".into(), key_span: span, node });
        }
    }
}

const INTRODUCTION: &str = "\
# Tissues

<!-- Generated from the table in crates/sinew-scene/src/spec/tissue.rs; `cargo xtask docs` writes it again. -->

A body may name its tissue in place of a law:

```toml
[[body]]
name = \"pad\"
mesh = { from = \"box\", size = [\"4 cm\", \"4 cm\", \"1 cm\"], cell = \"5 mm\" }
material = \"fat\"
```

That stands for the law, the values and the density below. A table overrides single values, and so does `--set`:
`material = { type = \"fat\", young = \"2 kPa\" }`, `sinew run pad.toml --set body.pad.material.young=\"2 kPa\"`. The density is that of the
tissue unless the body has a `density` of its own. A tissue in `material_regions` changes the law and its values there, not the density.

These are values to start from. Measurements of one tissue differ by the method, the direction, the speed, the person and the age, often
by a factor of ten; the table says what was measured. `sinew fit` finds values for your own measurements. Soft tissue is
nearly incompressible: Poisson's ratios above 0.47 are closer to the truth, and need hexahedra or `order = 2` to bend freely.
";

/// The page of tissues as Markdown.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_string();
    page.push_str("\n| name | law | values | density | meaning |\n|---|---|---|---|---|\n");
    for tissue in &TISSUES {
        let values: Vec<String> =
            tissue.values.iter().map(|(key, text)| format!("`{key}` {}", text.trim_matches('"'))).collect();
        let density = format_quantity(tissue.density, Dimension::DENSITY);
        let source = tissue.density_source.map_or_else(String::new, |source| format!(" [{source}]"));
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} | {density}{source} | {} |",
            tissue.name,
            tissue.law.name(),
            values.join(", "),
            tissue.doc
        );
    }
    for (word, meaning, preset) in [
        (
            MUSCLE,
            "Muscle flesh between the fibers [Teran05]; `muscle` of the body adds the fibers.",
            Preset::muscle as fn(Preset) -> [f64; 3],
        ),
        (
            TENDON,
            "Tendon as in the simulations of [Teran05], ten times as stiff as muscle; far softer than a real one.",
            Preset::tendon,
        ),
    ] {
        let [c10, c01, bulk] =
            preset(Preset::QuasiIncompressible).map(|value| format_quantity(value, Dimension::PRESSURE));
        let _ = writeln!(
            page,
            "| `{word}` | `mooney_rivlin` | `c10` {c10}, `c01` {c01}, `bulk` {bulk} | that of the body | {meaning} |"
        );
    }
    page.push_str("\n## Measurements\n\n| tissue | Young's modulus | what was measured (kPa unless noted) | source |\n|---|---|---|---|\n");
    for (tissue, measured) in TISSUES.iter().flat_map(|tissue| tissue.measured.iter().map(move |m| (tissue, m))) {
        let [low, high] = measured.range.map(|value| format_quantity(value, Dimension::PRESSURE));
        let range = if low == high { low } else { format!("{low} – {high}") };
        let _ = writeln!(page, "| `{}` | {range} | {} | [{}] |", tissue.name, measured.what, measured.source);
    }
    page.push_str(
        "\nA real tendon is stiffer than any flesh: 1.2 GPa along the fibers of the human tibialis anterior at the largest \
         voluntary force [Maganaris99]. Muscle and tendon of [Teran05] keep the stiffness within what solvers like; \
         `{ type = \"tendon\", c10 = … }` changes that.\n",
    );
    page.push_str("\nTissues without a measurement are round numbers. Full references are in `references.bib`.\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;
    use crate::spec::material::{Material, material_spec};
    use sinew_cell::material::MAX_KEYS;

    fn scene(material: &str, rest: &str) -> Result<Scene, String> {
        let text = format!(
            "duration = 1\n[[body]]\nname = \"pad\"\nmesh = {{ from = \"box\", size = [1, 1, 1], cell = 1 }}\n\
             material = {material}\n{rest}"
        );
        Scene::from_str(&text, "a.toml", ".").map_err(|error| error.to_string())
    }

    #[test]
    fn tissues_are_valid_and_lie_in_what_was_measured() {
        for tissue in &TISSUES {
            assert!(tissue.values.len() <= MAX_KEYS);
            let fibers = if tissue.law.needs_fibers() { "fibers = { along = [1, 0, 0] }" } else { "" };
            let scene = scene(&format!("{:?}", tissue.name), fibers).unwrap_or_else(|error| panic!("{error}"));
            let body = &scene.body[0];
            assert_eq!((body.density, body.material.law()), (tissue.density, tissue.law), "{}", tissue.name);
            for (key, _) in tissue.values {
                assert_eq!(material_spec(&body.material).value(key), tissue.value(key), "{}.{key}", tissue.name);
            }
            let low = tissue.measured.iter().map(|m| m.range[0]).fold(f64::INFINITY, f64::min);
            let high = tissue.measured.iter().map(|m| m.range[1]).fold(0.0, f64::max);
            let young = tissue.value("young").expect("a modulus");
            // To two digits, as the values are given.
            assert!(tissue.measured.is_empty() || (0.95 * low..=1.05 * high).contains(&young), "{}", tissue.name);
        }
    }

    #[test]
    fn values_of_a_tissue_can_be_replaced() {
        let young = |scene: &Scene| material_spec(&scene.body[0].material).value("young");
        let own = scene("{ type = \"fat\", young = \"2 kPa\" }", "density = 1").unwrap();
        assert_eq!((young(&own), own.body[0].density), (Some(2e3), 1.0));
        let plain = scene("\"fat\"", "").unwrap();
        for (set, expected) in [("young=7 kPa", 7e3), ("type=rubber", 1e6)] {
            let changed = plain.with_overrides(&[format!("body.pad.material.{set}").into()]).unwrap();
            assert_eq!(young(&changed), Some(expected), "{set}");
        }
        let changed = plain.with_overrides(&["body.pad.material=skin".into()]).unwrap();
        assert_eq!((young(&changed), changed.body[0].density), (Some(130e3), 1090.0));
    }

    #[test]
    fn a_tissue_is_the_law_it_stands_for_also_in_regions_and_as_text() {
        let parts = "material_regions = [{ region = \"x-min\", material = \"rubber\" }, { region = \"x-max\", material = \"tendon\" }]";
        let scene = scene("\"gel\"", parts).unwrap();
        let [rubber, tendon] = [0, 1].map(|k| scene.body[0].material_regions[k].material.as_ref().expect("a material"));
        assert_eq!(material_spec(rubber).value("young"), Some(1e6));
        assert!(matches!(tendon, Material::Tendon(_)));
        let again = Scene::from_str(&scene.to_toml(), "a.toml", ".").unwrap();
        assert_eq!((&again.body[0].material, again.body[0].density), (&scene.body[0].material, 1000.0));
    }

    #[test]
    fn mistakes_are_found_at_the_word() {
        let unknown = scene("\"fatt\"", "").unwrap_err();
        assert!(unknown.contains("did you mean \"fat\"?") && unknown.contains("a.toml:5:12"), "{unknown}");
        let missing = scene("\"neo_hookean\"", "").unwrap_err();
        assert!(missing.contains("needs `young`"), "{missing}");
        let wrong = scene("{ type = \"fat\", c10 = 3 }", "").unwrap_err();
        assert!(wrong.contains("unknown key `c10`"), "{wrong}");
        let fibers = scene("\"ligament\"", "").unwrap_err();
        assert!(fibers.contains("needs `fibers`"), "{fibers}");
        assert!(scene("3", "").is_err());
    }
}
