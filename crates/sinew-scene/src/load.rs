//! From a file to a checked scene.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use crate::{
    anatomy,
    decode::{
        Codec, Context,
        table::table,
        tree::{self, Node},
    },
    diagnostic::{Diagnostic, SceneError, SourceText, Span},
    overrides::{self, Override},
    source::{Attachments, Source},
    spec::{Scene, mesh, tissue},
    validate,
};

/// Maximum size of a scene file in bytes. Meshes have their own files; a larger scene is a wrong file.
pub const LARGEST_SCENE: u64 = 16 << 20;

impl Scene {
    /// Reads a scene from a file. Files it refers to are relative to the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::load_with(path, &[])
    }

    /// Reads a scene from a file with some values changed.
    pub fn load_with(path: impl AsRef<Path>, overrides: &[Override]) -> Result<Self, SceneError> {
        let path = path.as_ref();
        let text = read_text(path)?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::from_text(&text, &path.display().to_string(), folder, overrides)
    }

    /// Reads a scene from a text; `name` appears in messages, and files are relative to `folder`.
    pub fn from_str(text: &str, name: &str, folder: impl Into<PathBuf>) -> Result<Self, SceneError> {
        Self::from_text(text, name, folder, &[])
    }

    /// Reads a scene from a text with some values changed.
    pub fn from_text(
        text: &str,
        name: &str,
        folder: impl Into<PathBuf>,
        overrides: &[Override],
    ) -> Result<Self, SceneError> {
        Self::from_parts(text, name, folder, overrides, Attachments::new())
    }

    /// Like [`Scene::from_text`], with meshes that the scene refers to as `@NAME` in place of files.
    pub fn from_parts(
        text: &str,
        name: &str,
        folder: impl Into<PathBuf>,
        overrides: &[Override],
        attachments: Attachments,
    ) -> Result<Self, SceneError> {
        let mut sources = vec![SourceText::new(name, text)];
        sources.extend(overrides.iter().map(|set| SourceText::new("<--set>", set.text())));

        let mut problems = Vec::new();
        let mut root = tree::parse_document(text, 0, &mut problems);
        let has_syntax_errors = !problems.is_empty();
        let folder = folder.into();
        // What an anatomy stands for depends on its keys, and other overrides change what it stands for.
        let (first, rest): (Vec<_>, Vec<_>) =
            overrides.iter().enumerate().partition(|(_, set)| set.text().trim_start().starts_with("anatomy"));
        for (i, set) in first {
            overrides::apply(&mut root, set, i + 1, &mut problems);
        }
        anatomy::write_out(&mut root, &folder, &mut problems);
        tissue::write_out_words(&mut root);
        for (i, set) in rest {
            overrides::apply(&mut root, set, i + 1, &mut problems);
        }

        mesh::write_out(&mut root);
        tissue::write_out_tissues(&mut root);
        let mut cx = Context::recovering(has_syntax_errors);
        let mut scene = table::<Self>().decode(&root, &mut cx);
        if has_syntax_errors {
            keep_certain(&sources[0], &problems, &mut cx.problems);
        }
        problems.append(&mut cx.problems);
        scene.source = Source::new(sources.clone(), root, folder, attachments);
        if !has_syntax_errors {
            // A value that could not be read has been replaced; problems of the replacement are not reported.
            let sound = problems.is_empty();
            validate::check(&scene, sound, &mut problems);
        }
        if problems.is_empty() { Ok(scene) } else { Err(SceneError::new(sources, problems)) }
    }

    /// The scene as text: SI units, without keys that have their defaults. Reading it gives the same data.
    pub fn to_toml(&self) -> String {
        table::<Self>().encode(self).to_document()
    }

    /// A problem at a value of this scene, such as `body[0].mesh.file`.
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.source.problem(path, message)
    }

    /// An error of this scene.
    pub fn error(&self, problems: Vec<Diagnostic>) -> SceneError {
        self.source.error(problems)
    }

    /// The same scene read again with some more values changed; for studies.
    pub fn with_overrides(&self, overrides: &[Override]) -> Result<Self, SceneError> {
        let mut all = self.source.overrides();
        all.extend_from_slice(overrides);
        let attachments = self.source.attachments().clone();
        Self::from_parts(self.source.text(), self.source.name(), self.source.folder(), &all, attachments)
    }
}

/// Decodes a tree and returns only the first problem, for values that a study sets.
pub(crate) fn first_problem(root: &Node) -> Option<Diagnostic> {
    let mut cx = Context::default();
    table::<Scene>().decode(root, &mut cx);
    cx.problems.into_iter().next()
}

/// Removes problems on lines with invalid TOML, because they follow from guesses of the parser.
pub(crate) fn keep_certain(source: &SourceText, syntax: &[Diagnostic], found: &mut Vec<Diagnostic>) {
    let line = |problem: &Diagnostic| problem.span.map(|span| (span.source, source.line_column(span.start).0));
    let broken: Vec<_> = syntax.iter().take(1000).map(line).collect();
    found.truncate(1000);
    found.retain(|problem| !broken.contains(&line(problem)));
}

/// Extensions of meshes, which are given in place of a scene now and then.
const MESHES: [&str; 17] = [
    "obj", "ply", "stl", "glb", "gltf", "vrm", "vtu", "vtk", "msh", "ele", "node", "inp", "feb", "mesh", "meshb",
    "osu", "outline",
];

/// The text of a file, or the reason why it cannot be a scene.
fn read_text(path: &Path) -> Result<String, SceneError> {
    read_text_of(path, "scene")
}

/// The text of a file, or the reason why it cannot be a `kind` of file.
pub(crate) fn read_text_of(path: &Path, kind: &str) -> Result<String, SceneError> {
    let unreadable = |reason: std::io::Error| SceneError::unreadable(path, &reason);
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?;
    if size.is_dir() {
        let problem = Diagnostic::nowhere(format!("`{}` is a folder, not a {kind} file", path.display()));
        return Err(SceneError::nowhere(problem.hint("name the .toml file inside it")));
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if MESHES.contains(&extension.as_str()) {
        let problem = Diagnostic::nowhere(format!("`{}` is a mesh, not a {kind} file", path.display()));
        let hint = "`sinew new FILE.toml --mesh` writes a scene for it; `sinew skin` gives a rigged character flesh";
        return Err(SceneError::nowhere(problem.hint(hint)));
    }
    // The size of a pipe or device is not known in advance, so the limit is checked while reading.
    let mut bytes = Vec::with_capacity(size.len().min(LARGEST_SCENE) as usize);
    file.take(LARGEST_SCENE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST_SCENE {
        let problem = Diagnostic::nowhere(format!("`{}` is larger than {} MiB", path.display(), LARGEST_SCENE >> 20));
        return Err(SceneError::nowhere(problem.hint("put meshes into separate files and name them in the scene")));
    }
    decode_utf8(bytes, &path.display().to_string())
}

fn decode_utf8(bytes: Vec<u8>, name: &str) -> Result<String, SceneError> {
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(start).copied().unwrap_or_default();
        // Lossy decoding keeps everything before the mistake, so the position is right.
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let problem = Diagnostic::at(Span { source: 0, start, end: start + 3 }, "the file is not valid UTF-8")
            .label(format!("byte 0x{byte:02x}"))
            .hint("save the file as UTF-8");
        SceneError::new(vec![SourceText::new(name, text)], vec![problem])
    })
}

#[cfg(test)]
mod tests;
