//! Shapes by their outlines (`.outline`) \[Chen92\]: a few lines of text that become a closed surface.
//!
//! ```text
//! lathe 24              # corners around
//! 0.00 0.010 0.012      # height, half width seen from above, half width seen from the side
//! 0.05 0.020 0.016
//! 0.10 0.008 0.008
//! ```
//!
//! `extrude 0.02` is followed by the corners `x y` of a polygon. `skin` is followed by sections, each a line `section` and
//! corners `x y z`, all with the same number of them. `scan range.png colors.png 1.0 2` makes a cylindrical range image a
//! mesh, with the gamma of its colors and the number of pixels that become one; colors and what follows may be left out.
//! Lengths are meters.

pub mod scan;
pub mod sweep;

use sinew_math::Vec3;

use crate::error::{Place, ReadError};
use crate::format::Companions;
use crate::mesh_data::MeshData;
use crate::text::{Words, shown};

/// Most corners around: more is a slip of the pen.
const MOST_AROUND: i64 = 10_000;

/// Reads an outline; images of a scan are opened by `beside`.
pub fn read(bytes: &[u8], beside: &dyn Companions) -> Result<MeshData, ReadError> {
    let mut words = Words::new(bytes, 0, 1, Some(b'#'));
    match words.word("the outline")? {
        b"lathe" => lathe(&mut words),
        b"extrude" => extrude(&mut words),
        b"skin" => skin(&mut words),
        b"scan" => scan_of(&mut words, beside),
        other => {
            let reason = format!("`{}` is none of lathe, extrude, skin, scan", shown(other));
            Err(ReadError::line(words.line(), reason))
        }
    }
}

fn lathe(words: &mut Words<'_>) -> Result<MeshData, ReadError> {
    let around = words.integer("corners around")?;
    if !(3..=MOST_AROUND).contains(&around) {
        return Err(ReadError::line(words.line(), format!("{around} corners around; 3 to {MOST_AROUND} make a body")));
    }
    let rows = rows(words, "a height and two half widths")?;
    if let Some((line, _)) = rows.iter().find(|(_, row)| !(row.y > 0.0 && row.z > 0.0)) {
        return Err(ReadError::line(*line, "half widths are positive"));
    }
    if let Some(pair) = rows.windows(2).find(|pair| !(pair[0].1.x < pair[1].1.x)) {
        return Err(ReadError::line(pair[1].0, "heights rise from line to line"));
    }
    let profile: Vec<[f64; 3]> = rows.iter().map(|(_, row)| row.to_array()).collect();
    if profile.len() < 2 {
        return Err(ReadError::Missing { what: "second height of the lathe" });
    }
    // Each row becomes as many points as there are corners around.
    let points = profile.len() as u64 * around as u64;
    crate::memory::require(points.saturating_mul(200)).map_err(|short| ReadError::Memory {
        place: Place::Line(1),
        what: format!("a lathe of {points} points"),
        short,
    })?;
    Ok(sweep::lathe(&profile, around as usize))
}

/// Rows of three numbers with their lines.
fn rows(words: &mut Words<'_>, what: &str) -> Result<Vec<(usize, Vec3)>, ReadError> {
    let mut rows = Vec::new();
    let mut ahead = words.clone();
    while ahead.next_word().is_some() {
        let row = words.point(what)?;
        rows.push((words.line(), row));
        ahead = words.clone();
    }
    Ok(rows)
}

fn extrude(words: &mut Words<'_>) -> Result<MeshData, ReadError> {
    let height = words.finite("the height")?;
    if !(height > 0.0) {
        return Err(ReadError::line(words.line(), format!("a height of {height} m")));
    }
    let mut polygon = Vec::new();
    let mut ahead = words.clone();
    while ahead.next_word().is_some() {
        polygon.push([words.finite("a corner")?, words.finite("a corner")?]);
        ahead = words.clone();
    }
    if polygon.len() < 3 {
        return Err(ReadError::Missing { what: "third corner of the polygon" });
    }
    Ok(sweep::extrude(&polygon, height))
}

fn skin(words: &mut Words<'_>) -> Result<MeshData, ReadError> {
    let mut sections: Vec<Vec<Vec3>> = Vec::new();
    let mut ahead = words.clone();
    while let Some(word) = ahead.next_word() {
        if word == b"section" {
            *words = ahead.clone();
            sections.push(Vec::new());
        } else {
            let point = words.point("a corner of a section")?;
            let Some(section) = sections.last_mut() else {
                return Err(ReadError::line(words.line(), "a line `section` stands in front of corners"));
            };
            section.push(point);
            ahead = words.clone();
        }
    }
    let corners = sections.first().map_or(0, Vec::len);
    if sections.len() < 2 || corners < 3 {
        return Err(ReadError::Missing { what: "second section, or third corner of the first" });
    }
    if let Some(at) = sections.iter().position(|section| section.len() != corners) {
        let (promised, found) = (corners as u64, sections[at].len() as u64);
        let what = format!("corners of section {}", at + 1);
        return Err(ReadError::Count { place: words.place(), what, promised, found });
    }
    Ok(sweep::skin(&sections))
}

fn scan_of(words: &mut Words<'_>, beside: &dyn Companions) -> Result<MeshData, ReadError> {
    let place = words.place();
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let range = beside.open(&text(words.word("the name of the range image")?), place)?;
    let colors = match words.next_word() {
        Some(name) => Some(beside.open(&text(name), place)?),
        None => None,
    };
    let mut options = scan::ScanOptions::default();
    if words.clone().next_word().is_some() {
        options.gamma = words.finite("gamma")?;
    }
    if words.clone().next_word().is_some() {
        let pixels = words.integer("pixels that become one")?;
        options.downsample = usize::try_from(pixels)
            .ok()
            .filter(|pixels| (1..=4096).contains(pixels))
            .ok_or_else(|| ReadError::line(words.line(), format!("{pixels} pixels cannot become one")))?;
    }
    if !(options.gamma > 0.0) {
        return Err(ReadError::line(words.line(), format!("gamma of {}", options.gamma)));
    }
    scan::read(&range, colors.as_deref(), &options)
}

/// For fuzzing: reads.
pub fn fuzz_one(bytes: &[u8]) {
    let _ = read(bytes, &crate::format::NoCompanions);
}
