//! Images of a recipe: what is in them, and their voxels only if a stage looks at them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sinew_anatomy::Labels;
use sinew_anatomy::phantom::{self, Flaws, Phantom};
use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};
use sinew_scene::recipe::image::{Image, PhantomImage, PhantomName};
use sinew_scene::recipe::tissue::{Label, Tissue};
use sinew_scene::{Diagnostic, Recipe, nearest};

use super::attached;
use super::cache::{Digest, KeyBuilder};
use super::stage::{Made, Trouble, Workshop};
use super::stored::{Reader, Stored, Writer};

/// Version of the stages of this file.
const VERSION: u32 = 3;

/// An image with names for its labels.
pub(super) struct LabelImage {
    /// Where its voxels are.
    pub grid: VoxelGrid,
    /// A label for each voxel, x fastest.
    pub voxels: Vec<u16>,
    /// Names of labels.
    pub names: BTreeMap<u16, String>,
    /// What a user should know.
    pub notes: Vec<String>,
}

impl LabelImage {
    pub fn labels(&self) -> Labels<'_> {
        Labels { grid: self.grid, voxels: &self.voxels }
    }
}

/// What is known of an image without its voxels.
pub(super) struct Contents {
    /// Where its voxels are.
    pub grid: VoxelGrid,
    /// Names of labels.
    pub names: BTreeMap<u16, String>,
    /// Labels that voxels have, with their number.
    pub counts: BTreeMap<u16, usize>,
    /// Labels with voxels at the border of the image, where tissue is cut.
    pub cut: Vec<u16>,
    /// What a user should know.
    pub notes: Vec<String>,
}

impl Stored for Contents {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.grid.size.iter().for_each(|side| out.count(*side));
        let axes = [0, 1, 2].map(|k| self.grid.axes.column(k));
        out.points(&[self.grid.origin, axes[0], axes[1], axes[2]]);
        out.count(self.names.len());
        for (label, name) in &self.names {
            out.count(usize::from(*label));
            out.text(name);
        }
        out.count(self.counts.len());
        for (label, count) in &self.counts {
            out.count(usize::from(*label));
            out.count(*count);
        }
        out.indices(&self.cut.iter().map(|label| u32::from(*label)).collect::<Vec<_>>());
        out.count(self.notes.len());
        self.notes.iter().for_each(|note| out.text(note));
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let size = [input.count()?, input.count()?, input.count()?];
        let &[origin, a, b, c] = input.points()?.as_slice() else { return None };
        let grid = VoxelGrid { size, origin, axes: Mat3::from_columns(a, b, c) };
        let label = |input: &mut Reader<'_>| u16::try_from(input.count()?).ok();
        let names = (0..input.count()?).map(|_| Some((label(&mut input)?, input.text()?))).collect::<Option<_>>()?;
        let counts = (0..input.count()?).map(|_| Some((label(&mut input)?, input.count()?))).collect::<Option<_>>()?;
        let cut = input.indices()?.into_iter().map(|label| u16::try_from(label).ok()).collect::<Option<_>>()?;
        let notes = (0..input.count()?).map(|_| input.text()).collect::<Option<_>>()?;
        Some(Self { grid, names, counts, cut, notes })
    }
}

/// An image of the recipe.
pub(super) struct Source<'a> {
    image: &'a Image,
    /// Its place in the recipe, for messages.
    path: String,
    /// Hash of its file, or of how the phantom is made.
    pub digest: Digest,
    loaded: OnceLock<Result<Arc<LabelImage>, Diagnostic>>,
    contents: OnceLock<Arc<Contents>>,
}

/// All images of a recipe; problems with them end the build, since all tissues need them.
pub(super) fn sources(recipe: &Recipe) -> Result<Vec<Source<'_>>, Vec<Diagnostic>> {
    let is_list = recipe.source.text().contains("[[image]]");
    let mut problems = Vec::new();
    let mut list = Vec::new();
    for (i, image) in recipe.image.iter().enumerate() {
        let path = if is_list { format!("image[{i}]") } else { "image".to_string() };
        match digest_of(image, recipe) {
            Ok(digest) => list.push(Source { image, path, digest, loaded: OnceLock::new(), contents: OnceLock::new() }),
            Err(message) => problems.push(recipe.problem(&format!("{path}.file"), message)),
        }
    }
    if problems.is_empty() { Ok(list) } else { Err(problems) }
}

fn digest_of(image: &Image, recipe: &Recipe) -> Result<Digest, String> {
    let mut key = KeyBuilder::new("image", VERSION);
    for (name, label) in &image.labels {
        key = key.text(name).number(*label as f64);
    }
    if let Some(PhantomImage { name, voxel, noise, wrong_labels, without_tendons, seed }) = &image.phantom {
        let flaws = [*voxel, *noise, *wrong_labels as f64, f64::from(*without_tendons), *seed as f64];
        return Ok(flaws.into_iter().fold(key.text("phantom").text(name.word()), KeyBuilder::number).finish());
    }
    let file = image.file.as_deref().unwrap_or_default();
    if let Some(volume) = attached::volume(recipe, file) {
        return Ok(attached::add_volume(key.text("attached"), volume).finish());
    }
    for file in files_of(&recipe.source.resolve(file))? {
        let bytes = std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        key = key.input(Digest::of(&bytes));
    }
    Ok(key.finish())
}

/// A file, or the files of a folder by name; names are no part of the key, their order is.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(std::iter::once(path.to_path_buf()).chain(beside(path)).collect());
    }
    let entries = std::fs::read_dir(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Endings of files that belong to an image: voxels of a detached header, and tables of labels.
const BESIDE: [&str; 12] =
    ["raw", "zraw", "raw.gz", "img", "img.gz", "txt", "csv", "tsv", "json", "ctbl", "label", "raw.txt"];
const TABLES: [&str; 5] = ["labels.txt", "labels.csv", "labels.json", "labels.ctbl", "dataset.json"];

/// Files that are read with an image, if they are there.
fn beside(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.trim_end_matches(".gz").rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let own = BESIDE.iter().map(|end| format!("{stem}.{end}"));
    let names = own.chain(TABLES.map(String::from)).filter(|other| *other != name);
    names.map(|other| path.with_file_name(other)).filter(|file| file.is_file()).collect()
}

/// The phantom with a name.
pub fn phantom_of(name: PhantomName) -> Phantom {
    match name {
        PhantomName::Arm => phantom::arm(),
        PhantomName::Head => phantom::head(),
        PhantomName::Calf => phantom::calf(),
    }
}

impl Source<'_> {
    /// Its name in the recipe.
    pub fn name(&self) -> Option<&str> {
        self.image.name.as_deref()
    }

    /// The voxels, read once.
    pub fn voxels(&self, recipe: &Recipe) -> Result<Arc<LabelImage>, Trouble> {
        let load = || self.load(recipe).map(Arc::new).map_err(|text| problem_of(recipe, &self.path, &text));
        self.loaded.get_or_init(load).clone().map_err(Trouble::Told)
    }

    fn load(&self, recipe: &Recipe) -> Result<LabelImage, String> {
        let mut image = match &self.image.phantom {
            Some(phantom) => of_phantom(phantom),
            None => self.read(recipe)?,
        };
        for (name, label) in &self.image.labels {
            image.names.insert(*label as u16, name.clone());
        }
        Ok(image)
    }

    fn read(&self, recipe: &Recipe) -> Result<LabelImage, String> {
        let file = self.image.file.as_deref().unwrap_or_default();
        let data = match attached::volume(recipe, file) {
            Some(volume) => volume.clone(),
            None => sinew_io::image::load(&recipe.source.resolve(file)).map_err(|error| error.to_string())?,
        };
        let data = data.right_handed().into_labels().map_err(|error| format!("`{file}`: {error}"))?;
        let names = data.table.iter().map(|(label, info)| (label, info.name.clone())).collect();
        let voxels = data.labels().map_err(|error| error.to_string())?.to_vec();
        Ok(LabelImage { grid: data.grid, voxels, names, notes: data.notes })
    }

    /// What is in it; from the cache if it was read before.
    pub fn contents(&self, shop: &Workshop<'_>, recipe: &Recipe) -> Result<Arc<Contents>, Trouble> {
        if let Some(contents) = self.contents.get() {
            return Ok(contents.clone());
        }
        let key = KeyBuilder::new("contents", VERSION).input(self.digest).finish();
        let made: Made<Contents> = shop.make("image", key, || {
            let image = self.voxels(recipe)?;
            let mut counts = vec![0usize; 1 << 16];
            image.voxels.iter().for_each(|label| counts[usize::from(*label)] += 1);
            let counts = (0..=u16::MAX).zip(counts).filter(|(_, count)| *count > 0).collect();
            let (grid, names) = (image.grid, image.names.clone());
            Ok(Contents { grid, names, counts, cut: at_border(&image), notes: image.notes.clone() })
        })?;
        let contents = shop.get(&made)?;
        Ok(self.contents.get_or_init(|| contents).clone())
    }
}

/// Labels of the outermost voxels, ascending.
fn at_border(image: &LabelImage) -> Vec<u16> {
    let [nx, ny, nz] = image.grid.size;
    let mut found = BTreeSet::new();
    for k in 0..nz {
        for j in 0..ny {
            let is_face = k == 0 || k + 1 == nz || j == 0 || j + 1 == ny;
            let step = if is_face { 1 } else { nx.saturating_sub(1).max(1) };
            found.extend((0..nx).step_by(step).map(|i| image.voxels[image.grid.index([i, j, k])]));
        }
    }
    found.into_iter().filter(|label| *label > 0).collect()
}

fn of_phantom(spec: &PhantomImage) -> LabelImage {
    let flaws = Flaws {
        noise: spec.noise,
        wrong_labels: spec.wrong_labels,
        missing_tendons: spec.without_tendons,
        seed: spec.seed as u64,
    };
    let image = phantom_of(spec.name).labels(spec.voxel, &flaws);
    LabelImage { grid: image.grid, voxels: image.voxels, names: image.names, notes: Vec::new() }
}

/// A problem at a key, with the hint that a message ends in.
pub(super) fn problem_of(recipe: &Recipe, path: &str, text: &str) -> Diagnostic {
    let (message, hint) = match text.split_once("; hint: ").or_else(|| text.split_once("\nhint: ")) {
        Some((message, hint)) => (message, Some(hint)),
        None => (text, None),
    };
    let problem = recipe.problem(path, message);
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// The image of a tissue.
pub(super) fn source_of<'a, 'b>(sources: &'b [Source<'a>], tissue: &Tissue) -> Option<&'b Source<'a>> {
    match &tissue.image {
        Some(name) => sources.iter().find(|source| source.name() == Some(name)),
        None => sources.first(),
    }
}

/// Numbers of the labels of a tissue: those that exist, or a problem for the first that does not.
pub(super) fn numbers(recipe: &Recipe, contents: &Contents, labels: &[Label], path: &str) -> Result<Vec<u16>, Trouble> {
    let mut numbers = Vec::new();
    for (i, label) in labels.iter().enumerate() {
        let path = if labels.len() == 1 { path.to_string() } else { format!("{path}[{i}]") };
        let told = |message: String, hint: String| Trouble::Told(recipe.problem(&path, message).hint(hint));
        let number = match label {
            Label::Number(number) => *number,
            Label::Name(name) => {
                let found = contents.names.iter().find(|(_, known)| *known == name).map(|(number, _)| *number);
                let known = || contents.names.values().map(String::as_str);
                found.ok_or_else(|| {
                    let hint = match nearest(name, known()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None if contents.names.is_empty() => {
                            "the image names no labels: use numbers, or name them under `labels` of the image".into()
                        }
                        None => format!("labels: {}", known().take(24).collect::<Vec<_>>().join(", ")),
                    };
                    told(format!("the image has no label `{name}`"), hint)
                })?
            }
        };
        numbers.push(number);
    }
    if !numbers.iter().any(|number| contents.counts.contains_key(number)) {
        let present: Vec<String> =
            contents.counts.keys().filter(|label| **label > 0).take(24).map(u16::to_string).collect();
        let problem = recipe.problem(path, "no voxel has this label");
        return Err(Trouble::Told(match present.is_empty() {
            true => problem.hint("all voxels are background"),
            false => problem.hint(format!("labels of the voxels: {}", present.join(", "))),
        }));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// The smallest distance between neighboring voxels \[m\].
pub(super) fn smallest_spacing(grid: &VoxelGrid) -> f64 {
    let along = |k: usize| -> Vec3 { grid.axes.column(k) };
    [0, 1, 2].map(|k| along(k).norm()).into_iter().fold(f64::INFINITY, f64::min)
}
