//! The files of a model. What is there already and made of the same results is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use sinew_geometry::{CellMesh, TriMesh};
use sinew_io::{Format, MeshData, WriteOptions};
use sinew_math::parallel::prelude::*;
use sinew_record::record::write_file;
use sinew_scene::Diagnostic;
use sinew_scene::recipe::model::{MODEL_FILE, ModelTissue};

use super::build::{Bench, Parts};
use super::cache::{Digest, KeyBuilder};
use super::stage::{Made, Trouble};
use super::{Model, report};
use crate::output::{is_running, temporary_of};

/// Version of the files.
const VERSION: u32 = 1;
/// Lists the files of the last build: path, digest, size.
const WRITTEN: &str = "cache/written";

/// What the last build wrote, and what this one has.
struct Ledger<'a> {
    folder: &'a Path,
    old: BTreeMap<String, (String, u64)>,
    new: BTreeMap<String, (String, u64)>,
}

impl Ledger<'_> {
    /// Writes a file unless it is there, as made of the same results.
    fn put(
        &mut self,
        path: &str,
        made_of: Digest,
        bytes: impl FnOnce() -> Result<Vec<u8>, Trouble>,
    ) -> Result<(), Trouble> {
        let entry = self.written(path, made_of, bytes)?;
        self.new.insert(path.to_string(), entry);
        Ok(())
    }

    /// Digest and size of a file that is there already or written now.
    fn written(
        &self,
        path: &str,
        made_of: Digest,
        bytes: impl FnOnce() -> Result<Vec<u8>, Trouble>,
    ) -> Result<(String, u64), Trouble> {
        let (file, digest) = (self.folder.join(path), made_of.to_string());
        let size = std::fs::metadata(&file).map(|data| data.len()).ok();
        if let Some(old) = self.old.get(path).filter(|old| old.0 == digest && Some(old.1) == size) {
            return Ok(old.clone());
        }
        let bytes = bytes()?;
        write_file(&file, &bytes).map_err(|error| Trouble::Told(Diagnostic::nowhere(error.to_string())))?;
        Ok((digest, bytes.len() as u64))
    }

    /// Removes what a killed build left beside the files of the model: temporary files of theirs, from processes that have
    /// ended.
    fn remove_leftovers(&self) {
        let files: Vec<&Path> =
            self.old.keys().chain(self.new.keys()).map(Path::new).chain([Path::new(WRITTEN)]).collect();
        let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
        for folder in folders {
            for entry in std::fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_ours = |(of, process)| files.contains(&folder.join(of).as_path()) && !is_running(process);
                let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
                if is_file && name.to_str().and_then(temporary_of).is_some_and(is_ours) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Removes files of tissues that are gone, and remembers what there is.
    fn close(&self) -> Result<(), Trouble> {
        self.remove_leftovers();
        for path in self.old.keys().filter(|path| !self.new.contains_key(*path)) {
            let _ = std::fs::remove_file(self.folder.join(path));
        }
        let mut text = String::new();
        for (path, (digest, size)) in &self.new {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{digest} {size} {path}");
        }
        let file = self.folder.join(WRITTEN);
        if std::fs::read_to_string(&file).is_ok_and(|old| old == text) {
            return Ok(());
        }
        write_file(file, text.as_bytes()).map_err(|error| Trouble::Told(Diagnostic::nowhere(error.to_string())))
    }
}

fn read_ledger(folder: &Path) -> BTreeMap<String, (String, u64)> {
    let text = std::fs::read_to_string(folder.join(WRITTEN)).unwrap_or_default();
    let entry = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (digest, size, path) = (words.next()?, words.next()?, words.next()?);
        Some((path.to_string(), (digest.to_string(), size.parse().ok()?)))
    };
    text.lines().filter_map(entry).collect()
}

/// Writes the files of a model.
pub(super) fn write(
    bench: &Bench<'_>,
    folder: &Path,
    model: &Model,
    parts: &[Result<Parts, Diagnostic>],
    together: Option<&Made<CellMesh>>,
) -> Result<(), Trouble> {
    let mut ledger = Ledger { folder, old: read_ledger(folder), new: BTreeMap::new() };
    let files_of = |(facts, parts): (&ModelTissue, &Result<Parts, Diagnostic>)| -> Result<_, Trouble> {
        let mut files: Vec<(String, (String, u64))> = Vec::new();
        let Ok(parts) = parts else { return Ok(files) };
        for (path, made) in [(&facts.mesh, &parts.mesh), (&facts.cover, &parts.cover)] {
            if let (Some(path), Some(made)) = (path, made) {
                let bytes = || cells_as_bytes(&*bench.shop.get(made)?);
                files.push((path.clone(), ledger.written(path, file_key(made), bytes)?));
                bench.shop.release(made);
            }
        }
        for (k, path) in facts.attach.iter().enumerate().filter_map(|(k, at)| Some((k, at.surface.as_ref()?))) {
            let Some(made) = &parts.attached else { continue };
            let key = KeyBuilder::new("attachment", VERSION).input(made.digest).number(k as f64).finish();
            let bytes = || match bench.shop.get(made)?.surface(k) {
                Some(surface) => surface_as_bytes(&surface),
                None => Err(Trouble::Torn),
            };
            files.push((path.clone(), ledger.written(path, key, bytes)?));
        }
        if let (Some(path), Some(made)) = (&facts.surface, &parts.surface) {
            let bytes = || surface_as_bytes(&*bench.shop.get(made)?);
            files.push((path.clone(), ledger.written(path, file_key(made), bytes)?));
        }
        Ok(files)
    };
    let tissues: Vec<_> = model.file.tissue.iter().zip(parts).collect();
    let files: Vec<_> = tissues.into_par_iter().map(files_of).collect::<Result<_, Trouble>>()?;
    ledger.new.extend(files.into_iter().flatten());
    if let Some(made) = together {
        ledger.put("together.vtu", file_key(made), || cells_as_bytes(&*bench.shop.get(made)?))?;
        bench.shop.release(made);
    }
    let text = model.file.to_toml();
    ledger.put(MODEL_FILE, Digest::of(text.as_bytes()), || Ok(text.clone().into_bytes()))?;
    let key = report::key(bench, model, parts);
    ledger.put("report.html", key, || bench.shop.run("report", || report::page(bench, model, parts)))?;
    ledger.close()
}

fn file_key<T>(made: &Made<T>) -> Digest {
    KeyBuilder::new("file", VERSION).input(made.digest).finish()
}

fn encoded(data: &MeshData, format: Format, extension: &str) -> Result<Vec<u8>, Trouble> {
    let files = sinew_io::encode(data, format, extension, &WriteOptions::default())
        .map_err(|error| Trouble::Told(Diagnostic::nowhere(error.to_string())))?;
    Ok(files.into_iter().next().map(|file| file.bytes).unwrap_or_default())
}

fn cells_as_bytes(mesh: &CellMesh) -> Result<Vec<u8>, Trouble> {
    encoded(&MeshData::from(mesh), Format::Vtu, "vtu")
}

fn surface_as_bytes(surface: &TriMesh) -> Result<Vec<u8>, Trouble> {
    encoded(&MeshData::from(surface), Format::Ply, "ply")
}
