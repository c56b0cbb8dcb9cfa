//! The source of a scene: its texts, its tree of values and its folder. Later steps use it to point into the file.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use sinew_io::{FileError, MeshData};

use crate::{
    decode::tree::{Node, Value},
    diagnostic::{Diagnostic, SceneError, SourceText, Span},
    overrides::{Override, split_path},
};

/// Meshes that a scene refers to as `@NAME`, without files.
pub type Attachments = BTreeMap<String, Arc<MeshData>>;

/// The origin of a scene. Empty for scenes made in Rust.
#[derive(Clone, Default)]
pub struct Source {
    inner: Arc<Inner>,
}

struct Inner {
    texts: Vec<SourceText>,
    root: Node,
    folder: PathBuf,
    attachments: Attachments,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            root: Node::empty_table(Span::default()),
            folder: PathBuf::new(),
            attachments: Attachments::new(),
        }
    }
}

impl Source {
    pub(crate) fn new(texts: Vec<SourceText>, root: Node, folder: PathBuf, attachments: Attachments) -> Self {
        Self { inner: Arc::new(Inner { texts, root, folder, attachments }) }
    }

    /// The name of the scene file, empty for scenes made in Rust.
    pub fn name(&self) -> &str {
        self.inner.texts.first().map_or("", |text| &text.name)
    }

    /// The text of the scene file.
    pub fn text(&self) -> &str {
        self.inner.texts.first().map_or("", |text| &text.text)
    }

    /// The overrides with which the scene was read.
    pub fn overrides(&self) -> Vec<Override> {
        self.inner.texts.iter().skip(1).map(|text| Override::from(&*text.text)).collect()
    }

    /// The folder to which references are relative.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Meshes attached to the scene.
    pub fn attachments(&self) -> &Attachments {
        &self.inner.attachments
    }

    /// The mesh attached to the scene under this reference, `@NAME`.
    pub fn attached(&self, reference: &str) -> Option<&MeshData> {
        self.inner.attachments.get(reference.strip_prefix('@')?).map(|mesh| &**mesh)
    }

    /// Loads the mesh that a reference names: an attached one, or a file.
    pub fn load_mesh(&self, reference: &str) -> Result<MeshData, FileError> {
        match self.attached(reference) {
            Some(mesh) => Ok(mesh.clone()),
            None => sinew_io::load(&self.resolve(reference)),
        }
    }

    /// The path of a file that the scene refers to.
    pub fn resolve(&self, reference: &str) -> PathBuf {
        self.inner.folder.join(reference)
    }

    pub(crate) fn root(&self) -> &Node {
        &self.inner.root
    }

    /// The span of a value, such as `body[0].mesh.file`, `body.flesh.pin[1].region` or `control."arm.activation"`. For
    /// a default, which is not in the file, it is the span of the innermost table that contains it.
    pub fn span(&self, path: &str) -> Span {
        self.descend(path).node.span
    }

    /// The text at a path, such as `5 mm`; `None` for other values, and if it is not in the file.
    pub fn text_at(&self, path: &str) -> Option<&str> {
        self.node(path)?.as_text()
    }

    /// The value at a path; `None` if it is not in the file.
    pub(crate) fn node(&self, path: &str) -> Option<&Node> {
        let found = self.descend(path);
        found.is_whole.then_some(found.node)
    }

    fn descend(&self, path: &str) -> Found<'_> {
        let mut found = Found { node: &self.inner.root, key: None, is_whole: true };
        for segment in split_path(path).unwrap_or_default() {
            let (next, key) = match &found.node.value {
                Value::Table(entries) => {
                    let entry = entries.iter().find(|entry| entry.key == segment.key);
                    (entry.map(|entry| &entry.node), entry.map(|entry| entry.key_span))
                }
                Value::List(items) => {
                    let index = segment.key.parse::<usize>();
                    (index.map_or_else(|_| find_named(items, &segment.key), |index| items.get(index)), None)
                }
                _ => (None, None),
            };
            let Some(next) = next else { return Found { key: None, is_whole: false, ..found } };
            found = Found { node: next, key, is_whole: true };
        }
        found
    }

    /// A problem at the value with this path (see [`Source::span`]).
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        match self.inner.texts.is_empty() {
            true => Diagnostic::nowhere(message).label(format!("at `{path}`")),
            false => Diagnostic::at(self.span(path), message),
        }
    }

    /// A problem of the last key of a path itself, for keys that are names.
    pub fn key_problem(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        match self.descend(path).key {
            Some(span) => Diagnostic::at(span, message),
            None => self.problem(path, message),
        }
    }

    /// An error with the texts its problems point into.
    pub fn error(&self, problems: Vec<Diagnostic>) -> SceneError {
        SceneError::new(self.inner.texts.clone(), problems)
    }
}

/// Result of following a path.
struct Found<'a> {
    /// The innermost value on the path.
    node: &'a Node,
    /// Span of the key before it, if it has one.
    key: Option<Span>,
    /// Whether the value is the end of the path.
    is_whole: bool,
}

/// The table in a list whose key `name` has this value.
pub(crate) fn find_named<'a>(items: &'a [Node], name: &str) -> Option<&'a Node> {
    items.iter().find(|item| item.get("name").and_then(Node::as_text) == Some(name))
}

/// Two scenes are equal if their data are equal, regardless of their sources.
impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?})", self.name())
    }
}
