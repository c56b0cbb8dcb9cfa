//! Files that no command may change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder with files of a user: around the folder in which commands run, and named by some of them.
#[derive(Debug)]
pub struct Precious {
    home: PathBuf,
    /// What each path below `home` holds.
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Folder,
    Link(PathBuf),
    File { content: Vec<u8>, modified: Option<SystemTime> },
}

/// Name of the folder in which commands run; it is made anew for each case.
pub const WORK: &str = "work";

impl Precious {
    /// Takes everything below `home` but the work folder as it is now.
    pub fn of(home: &Path) -> std::io::Result<Self> {
        let mut precious = Self { home: home.into(), entries: BTreeMap::new() };
        for path in precious.paths()? {
            precious.entries.insert(path.clone(), read(&path, None)?);
        }
        Ok(precious)
    }

    /// All paths below home, without those in the work folder; links are not followed.
    fn paths(&self) -> std::io::Result<Vec<PathBuf>> {
        let (mut found, mut folders) = (Vec::new(), vec![self.home.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if folder == self.home && entry.file_name() == WORK {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    /// What was lost or changed, in words; then everything is as before, and what is new is gone.
    pub fn losses(&mut self) -> std::io::Result<Vec<String>> {
        let mut losses = Vec::new();
        for (path, entry) in &mut self.entries {
            let now = read(path, Some(entry));
            if now.as_ref().is_ok_and(|now| now.is_same(entry)) {
                continue;
            }
            let what = if now.is_ok() { "changed" } else { "gone" };
            losses.push(format!("{} is {what}", path.strip_prefix(&self.home).unwrap_or(path).display()));
        }
        for path in self.paths()? {
            if !self.entries.contains_key(&path) {
                remove(&path);
            }
        }
        if !losses.is_empty() {
            self.restore()?;
        }
        Ok(losses)
    }

    fn restore(&mut self) -> std::io::Result<()> {
        for (path, entry) in &mut self.entries {
            if read(path, None).is_ok_and(|now| now.is_same(entry)) {
                continue;
            }
            remove(path);
            match entry {
                Entry::Folder => std::fs::create_dir_all(path)?,
                Entry::Link(target) => link(target, path)?,
                Entry::File { content, modified } => {
                    std::fs::write(path, content)?;
                    *modified = std::fs::metadata(path)?.modified().ok();
                }
            }
        }
        Ok(())
    }
}

impl Entry {
    /// The same but for the time of the last change.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { content: a, .. }, Self::File { content: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

/// What a path holds; a file whose size and time are as `known` counts as unchanged.
fn read(path: &Path, known: Option<&Entry>) -> std::io::Result<Entry> {
    let about = std::fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Ok(Entry::Link(std::fs::read_link(path)?));
    }
    if about.is_dir() {
        return Ok(Entry::Folder);
    }
    let time = about.modified().ok();
    match known {
        Some(Entry::File { content, modified }) if *modified == time && content.len() as u64 == about.len() => {
            Ok(Entry::File { content: content.clone(), modified: time })
        }
        _ => Ok(Entry::File { content: std::fs::read(path)?, modified: time }),
    }
}

fn remove(path: &Path) {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    let _ = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

#[cfg(unix)]
pub fn link(target: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
pub fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_told_and_mended() {
        let home = crate::step::target().join("abuse-precious-test");
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(home.join("a")).expect("a folder");
        std::fs::create_dir_all(home.join(WORK)).expect("a folder");
        for name in ["a/.notes.tmp", "b.txt", "c.txt"] {
            std::fs::write(home.join(name), "precious").expect("a file");
        }
        let mut precious = Precious::of(&home).expect("readable");
        assert_eq!(precious.losses().expect("readable"), Vec::<String>::new());
        std::fs::remove_file(home.join("a/.notes.tmp")).expect("removed");
        std::fs::write(home.join("b.txt"), "precioux").expect("written");
        std::fs::write(home.join("new.txt"), "new").expect("written");
        std::fs::write(home.join(WORK).join("x"), "ours").expect("written");
        let mut losses = precious.losses().expect("readable");
        losses.sort();
        assert_eq!(losses, ["a/.notes.tmp is gone", "b.txt is changed"]);
        assert_eq!(precious.losses().expect("readable"), Vec::<String>::new());
        assert!(!home.join("new.txt").exists() && home.join(WORK).join("x").exists());
        assert_eq!(std::fs::read_to_string(home.join("b.txt")).expect("there"), "precious");
    }
}
