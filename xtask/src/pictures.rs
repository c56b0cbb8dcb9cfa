//! The pictures in `docs/images/`, all from a run of the demo.

use std::path::Path;
use std::process::Command;

use crate::step;

/// Width and height of the pictures in the README \[pixels\].
const SIZE: &str = "360x432";
/// Every second frame keeps the animation below half a megabyte.
const EVERY: &str = "2";
/// Frame of the closed fist.
const FIST: usize = 28;
/// Start and end of a picture's alt text in the report, and the file name.
const FROM_REPORT: [(&str, &str, &str); 5] = [
    ("bones of ", " at rest", "bones.png"),
    ("cells of ", " at rest", "cells.png"),
    ("skin of ", " at rest", "skin.png"),
    ("", ": blend skinning", "blend.png"),
    ("", ": flesh", "flesh.png"),
];

/// Writes the pictures of a run: the animation, the closed fist, and those of the artist's page.
pub fn keep(run: &Path, images: &Path) -> Result<(), String> {
    let page = std::fs::read_to_string(run.join("report.html")).map_err(|error| format!("no report: {error}"))?;
    for (begin, end, file) in FROM_REPORT {
        let text = picture(&page, begin, end).ok_or(format!("the report has no picture for {file}"))?;
        write(&images.join(file), &decoded(text))?;
    }
    let shots = run.join("images");
    convert(run, &shots.join("demo.apng"), &["--every", EVERY])?;
    convert(run, &shots.join("fist.png"), &["--frames", &format!("{FIST}..{FIST}")])?;
    for (from, to) in [("demo.apng".into(), "demo.png"), (format!("fist_{FIST:05}.png"), "fist.png")] {
        let bytes = std::fs::read(shots.join(&from)).map_err(|error| format!("no {from}: {error}"))?;
        write(&images.join(to), &bytes)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    eprintln!("wrote {}, {} kB", path.display(), bytes.len() / 1000);
    Ok(())
}

fn convert(run: &Path, output: &Path, options: &[&str]) -> Result<(), String> {
    let mut command = Command::new(step::binary("sinew"));
    command.args(["convert", "--quiet", "--size", SIZE]).args(options).arg(run).arg("-o").arg(output);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("sinew convert: {status}")),
        Err(error) => Err(format!("cannot start sinew: {error}")),
    }
}

/// The first picture of a page whose alt text has this start and end, in base 64.
fn picture<'a>(page: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    page.split("<img alt=\"").skip(1).find_map(|rest| {
        let (alt, rest) = rest.split_once("\" src=\"data:image/png;base64,")?;
        let bytes = rest.split('"').next()?;
        (alt.starts_with(begin) && alt.ends_with(end)).then_some(bytes)
    })
}

/// Decodes base 64; stops at the first other character.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().map_while(digit).collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().enumerate().fold(0u32, |bits, (k, &digit)| bits | u32::from(digit) << (18 - 6 * k));
        let [_, bytes @ ..] = bits.to_be_bytes();
        bytes.into_iter().take((6 * four.len()) / 8)
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_by_what_is_said_of_them() {
        let page = "<img alt=\"a in frame 3: flesh\" src=\"data:image/png;base64,c2luZXc=\"><img alt=\"cells of a at rest\" src=\"data:image/png;base64,Zmxlc2g\">";
        assert_eq!(picture(page, "", ": flesh").map(decoded).as_deref(), Some(b"sinew".as_slice()));
        assert_eq!(picture(page, "cells of ", " at rest").map(decoded).as_deref(), Some(b"flesh".as_slice()));
        assert_eq!(picture(page, "bones of ", " at rest"), None);
    }
}
