//! `cargo xtask addon`: the add-on for Blender as an archive that Blender installs, as an extension or as a plain
//! add-on.
//!
//! Members are stored without compression. Reference: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", version
//! 6.3.10 (2022).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::step::{root, target};

/// Folder of the add-on; its name is that of the module in Blender.
const FOLDER: &str = "integrations/blender/sinew_blender";

/// Endings of the files that belong to it.
const ENDINGS: [&str; 2] = ["py", "toml"];

/// Texts of the license, from the root of the repository.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Midnight of the first day that ZIP supports, so that the same content gives the same bytes.
const TIME_AND_DATE: [u8; 4] = [0, 0, 0x21, 0];

/// Version of ZIP that readers need: 1.0 for stored members.
const VERSION: u16 = 10;

/// Writes the archive and prints its path.
pub fn run() -> ExitCode {
    match built(&target().join("addon")) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The archive, written into a folder.
pub fn built(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(file_name(env!("CARGO_PKG_VERSION")));
    let bytes = archive(&members()?)?;
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    std::fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

fn file_name(version: &str) -> String {
    format!("sinew_blender-{version}.zip")
}

/// Names and content, in one folder: Blender takes its name for that of a plain add-on.
fn members() -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = root().join(FOLDER);
    let failed = |error: std::io::Error| format!("cannot read {FOLDER}: {error}");
    let mut files: Vec<PathBuf> = LICENSES.iter().map(|name| root().join(name)).collect();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    files.sort();
    let module = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let member = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let content = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok((format!("{module}/{name}"), content))
    };
    files.iter().map(member).collect()
}

/// A ZIP archive of files that are far below 4 GiB.
fn archive(members: &[(String, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let small = |size: usize| u32::try_from(size).map_err(|_| "the add-on is too large for its archive".to_string());
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let (offset, size, length) = (small(bytes.len())?, small(content.len())?, small(name.len())? as u16);
        // Version, flags and method; time; checksum, sizes and length of the name; no extra field.
        let mut common = [VERSION, 0, 0].map(u16::to_le_bytes).concat();
        common.extend(TIME_AND_DATE);
        common.extend([crc32(content), size, size].map(u32::to_le_bytes).as_flattened());
        common.extend([length, 0].map(u16::to_le_bytes).as_flattened());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(content);
        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&common);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length) = (small(bytes.len())?, small(directory.len())?);
    let count = small(members.len())? as u16;
    bytes.append(&mut directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0, 0, count, count].map(u16::to_le_bytes).as_flattened());
    bytes.extend([length, start].map(u32::to_le_bytes).as_flattened());
    bytes.extend([0; 2]);
    Ok(bytes)
}

/// CRC-32 of ISO 3309, as ZIP has it.
fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| shifted(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC catalogs.
    #[test]
    fn checksum_is_the_one_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn archive_holds_the_whole_addon_and_its_version() {
        let members = members().expect("the files of the add-on");
        let text = |name: &str| {
            let content = members.iter().find(|(member, _)| *member == format!("sinew_blender/{name}"));
            content.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
        };
        let version = env!("CARGO_PKG_VERSION");
        assert!(text("blender_manifest.toml").contains(&format!("\nversion = \"{version}\"\n")));
        assert!(text("__init__.py").contains(&format!("\"version\": ({})", version.replace('.', ", "))));
        assert!(text("LICENSE-MIT").contains("Permission is hereby granted"));
        let bytes = archive(&members).expect("an archive");
        let names = bytes.windows(4).filter(|window| *window == b"PK\x01\x02").count();
        assert_eq!(names, members.len());
    }
}
