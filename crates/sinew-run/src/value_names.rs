//! Names of values: checks that `[expect]` and `[study]` name values that exist.
//!
//! A value exists if the simulation has a probe for it. `sinew check` and a run use the same check, so that they agree.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use sinew_record::record::ColorField;
use sinew_scene::spec::Scene;
use sinew_scene::spec::expect::path_of;
use sinew_scene::spec::lab::Protocol;
use sinew_scene::value_table::ValueKind;
use sinew_scene::{Diagnostic, Dimension, Quantity, SceneError, suggest};

use crate::compile::compile;
use crate::lab::{figure_names, unknown_specimen};

/// The name of the mean edge length of the cells in `study.x`, instead of a value.
pub(crate) const MESH_SIZE: &str = "h";

/// A problem for every name in `[expect]` and `[study]` that is not in `known`, the values of the scene, and for those
/// in `[lab]`; also for every number in `[expect]` with a unit that does not fit its value, and for an unknown field of
/// pictures.
pub(crate) fn unknown(scene: &Scene, known: &[String]) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let key = |path: String| move |message| scene.source.key_problem(&path, message);
    for name in scene.expect.keys() {
        problems.extend(check(name, known, "this scene", key(format!("expect.\"{name}\""))));
    }
    problems.extend(wrong_units(scene));
    let fields = ColorField::NAMES.map(|(name, _)| name.to_string());
    if let Some(name) = scene.record.color.as_ref().filter(|&name| !fields.contains(name)) {
        let problem = scene.problem("record.color", format!("there is no field `{name}` to color by"));
        problems.push(problem.hint(match suggest::value_hint(name, &fields) {
            Some(hint) => hint,
            None => format!("fields are {}", fields.join(", ")),
        }));
    }
    if let Some(study) = &scene.study {
        if study.x != MESH_SIZE {
            problems.extend(check(&study.x, known, "this scene", |message| scene.problem("study.x", message)));
        }
        for name in study.order.keys() {
            problems.extend(check(name, known, "this scene", key(format!("study.order.\"{name}\""))));
        }
    }
    problems.extend(unknown_specimen(scene));
    for (word, protocol, _) in Protocol::words() {
        let (known, whose) = (figure_names(protocol), format!("the protocol `{word}`"));
        for name in scene.lab.expect.of(protocol).keys() {
            problems.extend(check(name, &known, &whose, key(format!("lab.expect.{word}.\"{name}\""))));
        }
    }
    problems
}

/// A problem for every expected number whose unit does not fit its value.
fn wrong_units(scene: &Scene) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, expectations) in &scene.expect {
        let Some(own) = ValueKind::of(name).and_then(|kind| dimension(kind.unit)) else { continue };
        for number in 0..expectations.len() {
            let place = path_of(name, expectations, number);
            let keys = ["value", "min", "max", "absolute"].map(|key| format!("{place}.{key}"));
            for path in std::iter::once(place).chain(keys) {
                let Some(text) = scene.source.text_at(&path) else { continue };
                // The decoder has reported text that is no quantity.
                let Ok(quantity) = Quantity::parse(text) else { continue };
                if quantity.dimension != own && quantity.dimension != Dimension::NUMBER {
                    let problem = scene.problem(&path, format!("`{name}` is {}", own.describe()));
                    problems.push(problem.label(format!("{text:?} is {}", quantity.dimension.describe())));
                }
            }
        }
    }
    problems
}

/// The dimension of a unit as the table of values writes it, such as `kg m²/s`.
fn dimension(unit: &str) -> Option<Dimension> {
    let text = unit.replace(' ', "*").replace('²', "^2");
    Quantity::parse(&format!("1 {text}")).ok().map(|quantity| quantity.dimension)
}

/// Checks the value names of other scenes in `compare`. Compiles those scenes, which takes less time than a useless
/// run.
pub fn check_compared(scene: &Scene) -> Result<(), SceneError> {
    let mut values: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, expectations) in &scene.expect {
        for (i, expectation) in expectations.iter().enumerate() {
            let Some(compare) = &expectation.compare else { continue };
            let file = scene.source.resolve(&compare.scene);
            let known = match values.entry(file) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => {
                    let names = compile(&compared(vacant.key())?)?.probe_names().to_vec();
                    vacant.insert(names)
                }
            };
            let path = format!("{}.compare.probe", path_of(name, expectations, i));
            let asked = compare.probe.as_ref().unwrap_or(name);
            let whose = format!("`{}`", compare.scene);
            problems.extend(check(asked, known, &whose, |message| scene.problem(&path, message)));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(scene.error(problems)) }
}

/// A scene to compare with; its own expectations have no effect.
pub(crate) fn compared(file: &Path) -> Result<Scene, SceneError> {
    let mut other = Scene::load(file)?;
    other.expect.clear();
    other.study = None;
    Ok(other)
}

/// The problem that a name is not among the values of `whose`, if so; `problem` locates the name.
pub(crate) fn check(
    name: &str,
    known: &[String],
    whose: &str,
    problem: impl FnOnce(String) -> Diagnostic,
) -> Option<Diagnostic> {
    if known.iter().any(|value| value == name) {
        return None;
    }
    let problem = problem(format!("{whose} has no value `{name}`"));
    Some(match suggest::value_hint(name, known) {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}
