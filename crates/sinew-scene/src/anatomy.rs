//! `[[anatomy]]` of a scene: written out as bodies, rigids and colliders before the scene is decoded.
//!
//! A `[[body]]`, `[[rigid]]` or `[[collider]]` of the scene with the name of a tissue overrides the generated table key by
//! key, so nothing else has to know anatomies.

use std::path::Path;

use crate::{
    decode::{
        Codec, Context,
        table::table,
        tree::{Entry, Node, Value},
    },
    diagnostic::{Diagnostic, SceneError, Span},
    recipe::{
        Recipe,
        model::{ModelFile, ModelTissue},
        tissue::Kind,
    },
    source::find_named,
    spec::anatomy::{Anatomy, BoneRole, Detail},
    suggest,
};

/// The key of the list.
const KEY: &str = "anatomy";

/// Replaces `[[anatomy]]` by what it stands for.
pub(crate) fn write_out(root: &mut Node, folder: &Path, problems: &mut Vec<Diagnostic>) {
    let Some(Value::List(items)) = root.entry_mut(KEY).map(|entry| std::mem::replace(&mut entry.node.value, empty()))
    else {
        return;
    };
    for (i, item) in items.iter().enumerate() {
        let mut cx = Context::default();
        let anatomy = cx.within(&format!("{KEY}[{i}]"), |cx| table::<Anatomy>().decode(item, cx));
        let is_sound = cx.problems.is_empty();
        problems.append(&mut cx.problems);
        if is_sound {
            match promised(&anatomy, item, folder) {
                Ok(model) => add(root, &anatomy, item, &model, problems),
                Err(problem) => problems.push(problem),
            }
        }
    }
}

fn empty() -> Value {
    Value::List(Vec::new())
}

/// What the model or the recipe has.
fn promised(anatomy: &Anatomy, item: &Node, folder: &Path) -> Result<ModelFile, Diagnostic> {
    let span = |key: &str| item.get(key).map_or(item.span, |node| node.span);
    match (&anatomy.model, &anatomy.recipe) {
        (Some(model), None) => ModelFile::load(&folder.join(model)).map_err(|error| {
            first_of(&error, span("model"), model).hint("`sinew anatomy build RECIPE -o MODEL` writes a model")
        }),
        (None, Some(recipe)) => Recipe::load(folder.join(recipe))
            .map(|recipe| ModelFile::promised(&recipe))
            .map_err(|error| first_of(&error, span("recipe"), recipe)),
        _ => Err(Diagnostic::at(item.span, "an anatomy has either `model` or `recipe`")
            .hint("`model` is a folder that `sinew anatomy build` wrote")),
    }
}

/// The first problem of another file, at the place that names the file.
fn first_of(error: &SceneError, span: Span, file: &str) -> Diagnostic {
    let message = error.diagnostics.first().map_or_else(String::new, |problem| problem.message.clone());
    let more = error.diagnostics.len().saturating_sub(1);
    let more = if more > 0 { format!(", and {more} more problems") } else { String::new() };
    Diagnostic::at(span, format!("`{file}`: {message}{more}"))
}

fn add(root: &mut Node, anatomy: &Anatomy, item: &Node, model: &ModelFile, problems: &mut Vec<Diagnostic>) {
    let known: Vec<&str> = model.tissue.iter().map(|tissue| tissue.name.as_str()).collect();
    let listed = item.get("tissues").map(Node::items).unwrap_or_default();
    for (name, node) in anatomy.tissues.iter().zip(listed).filter(|(name, _)| !known.contains(&name.as_str())) {
        let problem = Diagnostic::at(node.span, format!("the anatomy has no tissue `{name}`"));
        problems.push(match suggest::hint(name, known.iter().copied(), "tissues") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
    let is_taken =
        |name: &str| anatomy.tissues.is_empty() || anatomy.tissues.iter().any(|taken| taken.as_str() == name);
    let tissues = model.tissue.iter().filter(|tissue| is_taken(&tissue.name) && tissue.problem.is_none());
    let taken: Vec<&ModelTissue> = tissues.collect();
    for tissue in &taken {
        let (list, text) = match (tissue.kind, anatomy.bones) {
            (Kind::Bone, BoneRole::None) => continue,
            (Kind::Bone, BoneRole::Rigid) => ("rigid", rigid(anatomy, tissue)),
            (Kind::Bone, BoneRole::Collider) => ("collider", collider(anatomy, tissue)),
            _ => ("body", body(root, anatomy, tissue, &taken)),
        };
        merge(root, list, text, item.span);
    }
}

fn pair(key: &str, value: Value) -> (String, Node) {
    (key.to_string(), Node::new(value))
}

fn text(key: &str, value: &str) -> (String, Node) {
    pair(key, Value::Text(value.to_string()))
}

fn tables(key: &str, items: Vec<Node>) -> (String, Node) {
    pair(key, Value::List(items))
}

/// `model = …` or `recipe = …`.
fn origin(anatomy: &Anatomy) -> (String, Node) {
    match (&anatomy.model, &anatomy.recipe) {
        (Some(model), _) => text("model", model),
        (_, recipe) => text("recipe", recipe.as_deref().unwrap_or_default()),
    }
}

fn shape(anatomy: &Anatomy, tissue: &ModelTissue) -> (String, Node) {
    ("shape".into(), Node::table([text("type", "anatomy"), origin(anatomy), text("tissue", &tissue.name)]))
}

fn rigid(anatomy: &Anatomy, tissue: &ModelTissue) -> Node {
    Node::table([
        text("name", &tissue.name),
        shape(anatomy, tissue),
        text("density", "1.9 g/cm^3"),
        pair("fixed", Value::Flag(true)),
    ])
}

fn collider(anatomy: &Anatomy, tissue: &ModelTissue) -> Node {
    Node::table([text("name", &tissue.name), shape(anatomy, tissue)])
}

/// A body. Where its bones are held or follow a motion, it is pinned to them, so that forces can be seen; to bones that move
/// freely it is bound.
fn body(root: &Node, anatomy: &Anatomy, tissue: &ModelTissue, taken: &[&ModelTissue]) -> Node {
    let mut mesh = vec![text("from", "anatomy"), origin(anatomy), text("tissue", &tissue.name)];
    if anatomy.detail == Detail::Cover {
        mesh.push(text("detail", "cover"));
    }
    let mut keys =
        vec![text("name", &tissue.name), ("mesh".to_string(), Node::table(mesh)), text("material", &tissue.material)];
    if tissue.has_fibers {
        keys.push(("fibers".into(), Node::table([text("field", "fiber")])));
        keys.push(tables("muscle", vec![muscle(tissue)]));
    }
    let stiff = [("tendon", tissue.has_tendon), ("aponeurosis", tissue.has_aponeurosis)];
    let stiff = stiff.into_iter().filter(|(_, is_there)| *is_there);
    let parts: Vec<Node> =
        stiff.map(|(region, _)| Node::table([text("region", region), text("material", "tendon")])).collect();
    if !parts.is_empty() {
        keys.push(tables("material_regions", parts));
    }
    let (mut pins, mut binds) = (Vec::new(), Vec::new());
    for at in tissue.attach.iter().filter(|at| taken.iter().any(|bone| bone.name == at.bone)) {
        let bone = ["rigid", "collider"].into_iter().find_map(|list| find_named(root.get(list)?.items(), &at.bone));
        let region = text("region", &at.name);
        match bone.and_then(|bone| Some((bone.get("motion"), bone.get("fixed")?.value == Value::Flag(false)))) {
            Some((None, true)) => binds.push(Node::table([region, text("to", &at.bone)])),
            _ => {
                let motion = bone.and_then(|bone| bone.get("motion")).map(|motion| ("motion".into(), motion.clone()));
                pins.push(Node::table(std::iter::once(region).chain(motion)));
            }
        }
    }
    keys.extend([tables("pin", pins), tables("bind", binds)]);
    Node::table(keys)
}

/// The muscle has the name of its tissue: `BODY.activation.BODY`.
fn muscle(tissue: &ModelTissue) -> Node {
    let mut keys = vec![text("name", &tissue.name)];
    if tissue.has_tendon || tissue.has_aponeurosis {
        keys.push(text("region", "belly"));
    }
    Node::table(keys)
}

/// Adds a generated table to a list of the scene; keys that the scene gives itself win.
fn merge(root: &mut Node, list: &str, generated: Node, span: Span) {
    let generated = placed(generated, span);
    let Value::Table(entries) = &mut root.value else { return };
    if !entries.iter().any(|entry| entry.key == list) {
        let node = Node { span, value: empty() };
        entries.push(Entry { key: list.into(), key_span: span, node });
    }
    let Some(Value::List(items)) = root.entry_mut(list).map(|entry| &mut entry.node.value) else { return };
    let name = generated.get("name").and_then(Node::as_text).unwrap_or_default().to_string();
    let own = items.iter_mut().find(|item| item.get("name").and_then(Node::as_text) == Some(&name));
    let Some(own) = own else {
        items.push(generated);
        return;
    };
    let moves = own.get("motion").is_some() || own.get("fixed").is_some();
    let Value::Table(kept) = &mut own.value else { return };
    let Value::Table(more) = generated.value else { return };
    let is_new = |kept: &[Entry], key: &str| !kept.iter().any(|entry| entry.key == key);
    for entry in more {
        let replaced =
            (entry.key == "fixed" && moves) || (entry.key == "density" && kept.iter().any(|other| other.key == "mass"));
        if is_new(kept, &entry.key) && !replaced {
            kept.push(entry);
        }
    }
}

/// The node with this place in the text, everywhere.
fn placed(mut node: Node, span: Span) -> Node {
    node.span = span;
    node.value = match node.value {
        Value::List(items) => Value::List(items.into_iter().map(|item| placed(item, span)).collect()),
        Value::Table(entries) => Value::Table(
            (entries.into_iter())
                .map(|entry| Entry { key: entry.key, key_span: span, node: placed(entry.node, span) })
                .collect(),
        ),
        other => other,
    };
    node
}
