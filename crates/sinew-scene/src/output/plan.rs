//! The files that a run may write, known before it starts.
//!
//! The plan answers three questions: do two keys of `[record]` name the same file, would a run replace a file that it
//! must not replace, and which temporary files did an earlier run leave behind.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::names::{
    CHECKPOINT, MANIFEST, PREVIOUS, RECORDING, SkinFormat, UsdEncoding, animation_path, file_stem, maps_folder,
    skin_files, stem,
};
use crate::spec::Scene;
use crate::spec::record::SkinTextures;

/// One file, or a family of files, below the output folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Key of the scene that requests it, such as `record.csv`; empty for files that every run writes.
    pub key: String,
    /// Folder below the output folder; empty for the output folder itself.
    pub folder: String,
    name: Name,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    One(String),
    /// Every name with this prefix and suffix: one file per frame, body or texture.
    Many(String, String),
}

/// `probes.csv` or `frames/frame_*.png`.
impl fmt::Display for PlannedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.folder.is_empty() {
            write!(f, "{}/", self.folder)?;
        }
        match &self.name {
            Name::One(name) => f.write_str(name),
            Name::Many(start, end) => write!(f, "{start}*{end}"),
        }
    }
}

impl PlannedFile {
    fn one(key: &str, path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { key: key.into(), folder: parent(path), name: Name::One(name) }
    }

    fn many(key: &str, folder: &str, start: impl Into<String>, end: &str) -> Self {
        Self { key: key.into(), folder: folder.into(), name: Name::Many(start.into(), end.into()) }
    }

    /// The inverse of `to_string`; file names of scenes have neither `/` nor `*`.
    pub fn parse(text: &str) -> Self {
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
        let name = match name.split_once('*') {
            Some((start, end)) => Name::Many(start.into(), end.into()),
            None => Name::One(name.into()),
        };
        Self { key: String::new(), folder: folder.into(), name }
    }

    /// Whether a file name in [`folder`](Self::folder) is one of these. Case is ignored, as some file systems do.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        match &self.name {
            Name::One(own) => own.to_lowercase() == name,
            Name::Many(start, end) => {
                let (start, end) = (start.to_lowercase(), end.to_lowercase());
                name.len() >= start.len() + end.len() && name.starts_with(&start) && name.ends_with(&end)
            }
        }
    }

    /// Whether some file could be both.
    fn overlaps(&self, other: &Self) -> bool {
        let is_folder_of = |file: &Self, other: &Self| file.folder.is_empty() && file.matches(&other.folder);
        if is_folder_of(self, other) || is_folder_of(other, self) {
            return true;
        }
        if self.folder.to_lowercase() != other.folder.to_lowercase() {
            return false;
        }
        match (&self.name, &other.name) {
            (Name::One(name), _) => other.matches(name),
            (_, Name::One(name)) => self.matches(name),
            (Name::Many(start, end), Name::Many(other_start, other_end)) => {
                (start.starts_with(other_start.as_str()) || other_start.starts_with(start.as_str()))
                    && (end.ends_with(other_end.as_str()) || other_end.ends_with(end.as_str()))
            }
        }
    }

    /// Existing files of this kind in the output folder `root`. Links are listed, but not followed.
    pub fn existing(&self, root: &Path) -> Vec<PathBuf> {
        entries(root, &self.folder).into_iter().filter(|(_, name)| self.matches(name)).map(|(path, _)| path).collect()
    }
}

/// Paths and names of everything except folders in `root/folder`; nothing if `folder` is a link.
pub fn entries(root: &Path, folder: &str) -> Vec<(PathBuf, String)> {
    let path = root.join(folder);
    let is_link = !folder.is_empty() && path.symlink_metadata().is_ok_and(|data| data.is_symlink());
    if is_link {
        return Vec::new();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
    files.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Two keys of a scene that would write the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The key to change.
    pub key: String,
    /// The other key; `None` for a file that every run writes.
    pub other: Option<String>,
    /// The file.
    pub file: String,
}

/// All files that a run of a scene may write, and their conflicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPlan {
    files: Vec<PlannedFile>,
}

impl OutputPlan {
    /// The plan of a scene.
    pub fn of(scene: &Scene) -> Self {
        let mut plan = Self { files: vec![PlannedFile::many("", "", PREVIOUS, "")] };
        for name in [MANIFEST, CHECKPOINT] {
            plan.files.push(PlannedFile::one("", Path::new(name)));
        }
        plan.add_tables_and_pages(scene);
        plan.add_surfaces(scene);
        plan.add_caches(scene);
        plan.add_characters(scene);
        plan
    }

    /// The files.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// Folders of the files; the empty name is the output folder.
    pub fn folders(&self) -> BTreeSet<&str> {
        self.files.iter().map(|file| file.folder.as_str()).collect()
    }

    fn one(&mut self, key: &str, path: impl AsRef<Path>) {
        self.files.push(PlannedFile::one(key, path.as_ref()));
    }

    fn add_tables_and_pages(&mut self, scene: &Scene) {
        let record = &scene.record;
        let singles = [
            ("record.recording", &record.recording, RECORDING),
            ("record.csv", &record.csv, "probes.csv"),
            ("record.report", &record.report, "report.html"),
        ];
        for (key, output, usual) in singles {
            if let Some(name) = output.file_name(usual) {
                self.one(key, name);
            }
        }
        if let Some(name) = record.report.file_name("report.html")
            && scene.body.iter().any(|body| body.rig.is_some())
        {
            self.one("record.report", Path::new(name).with_extension("json"));
        }
        if let Some(path) = animation_path(record, Path::new("")) {
            self.one(if record.apng.file_name("").is_some() { "record.apng" } else { "record.report" }, path);
        }
        for (k, name) in record.films.iter().enumerate().filter(|_| record.pictures) {
            self.one(&format!("record.films[{k}]"), name);
        }
        if record.plots {
            self.files.push(PlannedFile::many("record.plots", "plots", "", ".svg"));
            self.files.push(PlannedFile::many("record.plots", "plots", "", ".csv"));
        }
        if let Some(name) = record.npz.file_name("arrays.npz") {
            self.one("record.npz", Path::new(name).with_extension("npz"));
        }
    }

    fn add_surfaces(&mut self, scene: &Scene) {
        let record = &scene.record;
        if let Some(name) = record.vtu.file_name("cells.pvd") {
            let path = Path::new(name).with_extension("pvd");
            self.files.push(PlannedFile::many("record.vtu", &stem(&path), "", ".vtu"));
            self.one("record.vtu", path);
        }
        if let Some(name) = record.usd.file_name("surface.usda") {
            self.one("record.usd", name);
            if UsdEncoding::of(Path::new(name)) == UsdEncoding::Text {
                let clips = format!("{}_clips", file_stem(&stem(Path::new(name)), 0));
                self.one("record.usd", Path::new(&clips).join("manifest.usda"));
                self.files.push(PlannedFile::many("record.usd", &clips, "clip_", ".usda"));
            }
        }
        if let Some(name) = record.glb.file_name("surface.glb") {
            self.one("record.glb", Path::new(name).with_extension("glb"));
        }
        let sequences = [
            ("record.obj", &record.obj, "obj", "surface", "obj"),
            ("record.ply", &record.ply, "ply", "surface", "ply"),
            ("record.png", &record.png, "frames", "frame", "png"),
        ];
        for (key, output, folder, usual, end) in sequences {
            if let Some(name) = output.file_name(usual) {
                let start = format!("{}_", stem(&Path::new(name).with_extension(end)));
                self.files.push(PlannedFile::many(key, folder, start, &format!(".{end}")));
            }
        }
    }

    /// Point caches and the surface at rest beside them. Both formats share the surface if they have the same name.
    fn add_caches(&mut self, scene: &Scene) {
        let record = &scene.record;
        let mut stems: Vec<String> = Vec::new();
        for (key, output, end) in [("record.pc2", &record.pc2, "pc2"), ("record.mdd", &record.mdd, "mdd")] {
            let Some(name) = output.file_name("points") else { continue };
            let path = Path::new(name).with_extension(end);
            let stem = stem(&path);
            self.files.push(PlannedFile::many(key, "", format!("{stem}_"), &format!(".{end}")));
            self.one(key, path);
            if !stems.contains(&stem) {
                self.one(key, format!("{stem}_rest.obj"));
                self.files.push(PlannedFile::many(key, "", format!("{stem}_"), "_rest.obj"));
                stems.push(stem);
            }
        }
    }

    /// Characters and the images beside them, which a .usda and a .usdc of the same name share.
    fn add_characters(&mut self, scene: &Scene) {
        let mut folders: BTreeSet<String> = BTreeSet::new();
        for (k, name) in scene.record.skin.iter().enumerate() {
            let key = format!("record.skin[{k}]");
            for path in skin_files(scene, name) {
                let stem = stem(&path);
                match SkinFormat::of(name) {
                    Some(SkinFormat::Usd) if UsdEncoding::of(&path) != UsdEncoding::Package => {
                        let textures = format!("{}_textures", file_stem(&stem, 0));
                        if folders.insert(textures.clone()) {
                            self.files.push(PlannedFile::many(&key, &textures, "", ""));
                        }
                    }
                    Some(SkinFormat::Pc2) => {
                        self.files.push(PlannedFile::many(&key, "", format!("{stem}_"), ".pc2"));
                    }
                    _ => {}
                }
                if k == 0 && scene.record.skin_maps.as_ref().is_some_and(|maps| maps.textures != SkinTextures::None) {
                    self.files.push(PlannedFile::many("record.skin_maps", &maps_folder(&path), "", ".png"));
                }
                self.one(&key, path);
            }
        }
    }

    /// Keys that name the same file, each pair once.
    pub fn clashes(&self) -> Vec<Clash> {
        let mut clashes: Vec<Clash> = Vec::new();
        for (k, file) in self.files.iter().enumerate() {
            for other in &self.files[..k] {
                let is_known =
                    |clash: &Clash| clash.key == file.key && clash.other.as_ref().is_none_or(|o| *o == other.key);
                if file.key != other.key && file.overlaps(other) && !clashes.iter().any(is_known) {
                    let named = (!other.key.is_empty()).then(|| other.key.clone());
                    clashes.push(Clash { key: file.key.clone(), other: named, file: file.to_string() });
                }
            }
        }
        clashes
    }

    /// Whether the plan has the file `name` of `folder`.
    pub fn has(&self, folder: &str, name: &str) -> bool {
        self.files.iter().any(|file| file.folder == folder && file.matches(name))
    }
}

/// The folder of a relative path, with `/`.
fn parent(path: &Path) -> String {
    path.parent().map(|folder| folder.to_string_lossy().replace('\\', "/")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::record::{Output, Record};

    fn plan(change: impl FnOnce(&mut Record)) -> OutputPlan {
        let mut scene = Scene::from_str("duration = 1", "tiny.toml", ".").unwrap();
        change(&mut scene.record);
        OutputPlan::of(&scene)
    }

    fn named(name: &str) -> Output {
        Output::Named(name.into())
    }

    fn clash(change: impl FnOnce(&mut Record)) -> Vec<(String, Option<String>)> {
        plan(change).clashes().into_iter().map(|clash| (clash.key, clash.other)).collect()
    }

    #[test]
    fn everything_at_once_under_usual_names_does_not_clash() {
        let clashes = clash(|record| {
            for output in [
                &mut record.vtu,
                &mut record.usd,
                &mut record.glb,
                &mut record.obj,
                &mut record.ply,
                &mut record.pc2,
                &mut record.mdd,
                &mut record.npz,
                &mut record.csv,
                &mut record.png,
                &mut record.apng,
                &mut record.report,
                &mut record.recording,
            ] {
                *output = Output::On;
            }
        });
        assert_eq!(clashes, []);
    }

    #[test]
    fn two_outputs_of_one_name_clash() {
        let pair = |key: &str, other: &str| vec![(key.to_string(), Some(other.to_string()))];
        assert_eq!(clash(|r| r.csv = named("recording.sinew")), pair("record.csv", "record.recording"));
        assert_eq!(clash(|r| (r.csv, r.usd) = (named("x.usda"), named("X.usda"))), pair("record.usd", "record.csv"));
        assert_eq!(clash(|r| r.csv = named("animation.png")), pair("record.report", "record.csv"));
        assert_eq!(
            clash(|r| (r.csv, r.pc2) = (named("points_rest.obj"), Output::On)),
            pair("record.pc2", "record.csv")
        );
    }

    #[test]
    fn a_file_with_the_name_of_a_folder_clashes() {
        let clashes = clash(|record| (record.csv, record.png) = (named("frames"), Output::On));
        assert_eq!(clashes, [("record.png".into(), Some("record.csv".into()))]);
    }

    #[test]
    fn no_output_takes_the_name_of_a_file_that_every_run_keeps() {
        for name in ["manifest.json", "checkpoint.bin", "Manifest.JSON", "previous-recording.sinew"] {
            assert_eq!(clash(|record| record.csv = named(name)), [("record.csv".to_string(), None)], "{name}");
        }
    }

    #[test]
    fn what_is_printed_is_parsed_again() {
        let plan = plan(|record| (record.vtu, record.png, record.pc2) = (Output::On, Output::On, Output::On));
        for file in plan.files() {
            let again = PlannedFile::parse(&file.to_string());
            assert_eq!((&again.folder, &again.name), (&file.folder, &file.name));
        }
    }
}
