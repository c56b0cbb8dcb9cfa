//! Results of stages on disk, by the hash of everything they depend on.
//!
//! A result is a folder `HASH/` with the file `value` and the file `done`, which holds its size and the hash of its bytes.
//! The folder appears with one rename, so a build that was killed leaves a whole entry or none. A torn entry (a disk that
//! was full, a file that somebody cut) differs from `done`: it is taken away and made again.

use std::fmt;
use std::path::{Path, PathBuf};

/// The hash of some bytes: BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(16).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Everything that a result depends on, piece by piece: the stage with its version, its part of the recipe, its inputs.
/// No times, threads or paths.
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A key of a stage; a new `version` makes all older results void.
    pub fn new(stage: &str, version: u32) -> Self {
        let mut key = Self(blake3::Hasher::new());
        key.0.update(&version.to_le_bytes());
        key.text(stage)
    }

    /// Adds a text. Its length comes first, so that pieces cannot run together.
    pub fn text(mut self, text: &str) -> Self {
        self.0.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        self
    }

    /// Adds a number, bit by bit.
    pub fn number(mut self, value: f64) -> Self {
        self.0.update(&value.to_bits().to_le_bytes());
        self
    }

    /// Adds the hash of an input.
    pub fn input(mut self, input: Digest) -> Self {
        self.0.update(&input.0);
        self
    }

    /// The key.
    pub fn finish(self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// A folder of results; without a folder nothing is kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

const VALUE: &str = "value";
const DONE: &str = "done";

impl Cache {
    /// Results in a folder, which is made when the first is kept.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    fn entry(&self, key: Digest) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(key.to_string()))
    }

    /// The hash of a result that is there, without reading it; `None` if it is missing or was cut.
    pub fn digest(&self, key: Digest) -> Option<Digest> {
        let entry = self.entry(key)?;
        let (size, digest) = read_done(&entry)?;
        let is_whole = std::fs::metadata(entry.join(VALUE)).is_ok_and(|file| file.len() == size);
        is_whole.then_some(digest)
    }

    /// A result; `None` if it is missing or torn. What is torn is taken away.
    pub fn load(&self, key: Digest) -> Option<Vec<u8>> {
        let entry = self.entry(key)?;
        let (_, digest) = read_done(&entry)?;
        let bytes = std::fs::read(entry.join(VALUE)).ok();
        let whole = bytes.filter(|bytes| Digest::of(bytes) == digest);
        if whole.is_none() {
            let _ = std::fs::remove_dir_all(&entry);
        }
        whole
    }

    /// Keeps a result. A disk that is full costs the next build time, not this one its result.
    pub fn keep(&self, key: Digest, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        if let (Some(entry), Some(folder)) = (self.entry(key), &self.folder) {
            let temporary = folder.join(format!("{key}.{}.part", std::process::id()));
            if write_entry(&temporary, &entry, bytes, digest).is_err() {
                let _ = std::fs::remove_dir_all(&temporary);
            }
        }
        digest
    }

    /// Takes away what killed builds left, and results that no stage of this build used.
    pub fn sweep(&self, used: &[Digest]) {
        let Some(entries) = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok()) else { return };
        let names: Vec<String> = used.iter().map(Digest::to_string).collect();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !names.contains(&name) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Writes the two files into a temporary folder and gives it its name in one step.
fn write_entry(temporary: &Path, entry: &Path, bytes: &[u8], digest: Digest) -> std::io::Result<()> {
    std::fs::create_dir_all(temporary)?;
    let file = std::fs::File::create(temporary.join(VALUE))?;
    std::io::Write::write_all(&mut &file, bytes)?;
    std::fs::write(temporary.join(DONE), format!("{} {}\n", bytes.len(), hex(digest)))?;
    let _ = std::fs::remove_dir_all(entry);
    std::fs::rename(temporary, entry)
}

fn hex(digest: Digest) -> String {
    digest.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Size and hash that `done` promises.
fn read_done(entry: &Path) -> Option<(u64, Digest)> {
    let text = std::fs::read_to_string(entry.join(DONE)).ok()?;
    let (size, hash) = text.trim_end().split_once(' ')?;
    let mut digest = [0; 32];
    if hash.len() != 64 || !hash.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(hash.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((size.parse().ok()?, Digest(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sinew-cache-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_is_kept_is_loaded_and_what_is_torn_is_gone() {
        let folder = folder("torn");
        let cache = Cache::new(Some(folder.clone()));
        let key = KeyBuilder::new("stage", 1).text("a").number(0.5).finish();
        assert_eq!((cache.digest(key), cache.load(key)), (None, None));
        let digest = cache.keep(key, b"whole");
        assert_eq!((cache.digest(key), cache.load(key)), (Some(digest), Some(b"whole".to_vec())));
        // Cut: seen without reading. Changed at equal size: seen when read.
        std::fs::write(folder.join(key.to_string()).join(VALUE), b"who").unwrap();
        assert_eq!(cache.digest(key), None);
        std::fs::write(folder.join(key.to_string()).join(VALUE), b"whale").unwrap();
        assert_eq!((cache.digest(key), cache.load(key)), (Some(digest), None));
        assert_eq!(cache.digest(key), None, "a torn entry is taken away");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn keys_differ_by_every_piece_and_by_where_pieces_end() {
        let key = |stage, version, a: &str, b: &str| KeyBuilder::new(stage, version).text(a).text(b).finish();
        let keys = [key("s", 1, "ab", "c"), key("s", 1, "a", "bc"), key("s", 2, "ab", "c"), key("t", 1, "ab", "c")];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn remains_of_killed_builds_are_swept() {
        let folder = folder("sweep");
        let cache = Cache::new(Some(folder.clone()));
        let [used, old] = ["used", "old"].map(|name| KeyBuilder::new(name, 1).finish());
        cache.keep(used, b"1");
        cache.keep(old, b"2");
        std::fs::create_dir_all(folder.join("half.123.part")).unwrap();
        cache.sweep(&[used]);
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, [std::ffi::OsString::from(used.to_string())]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
