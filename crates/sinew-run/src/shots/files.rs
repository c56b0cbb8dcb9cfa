//! The files of all shots together: table, page, sheet of pictures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sinew_fem::RecordError;
use sinew_record::contact_sheet::{self, Cell};
use sinew_record::record::write_file;
use sinew_record::report::{ShotCard, Table, shots_page};

use super::row::{COLUMNS, Row};
use crate::manifest::{Kind, MANIFEST, Manifest};

/// The table, with commas.
pub const TABLE: &str = "table.csv";
/// The page.
pub const PAGE: &str = "index.html";
/// The sheet of pictures.
pub const CONTACT_SHEET: &str = "contact_sheet.png";
/// The folder of single pictures.
pub const PICTURES: &str = "pictures";

/// Shots whose files would share a name, with what they are; names that differ in case alone are one name on some disks.
pub fn check_names<'a>(shots: impl IntoIterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut named: BTreeMap<String, (&str, Vec<String>)> = BTreeMap::new();
    for (name, what) in shots {
        named.entry(name.to_lowercase()).or_insert((name, Vec::new())).1.push(what);
    }
    let taken = [PICTURES, "table", "index", "contact_sheet", "manifest"];
    let mut problems = Vec::new();
    for (lower, (name, all)) in named {
        if all.len() > 1 {
            let all = all.join(" and ");
            problems.push(format!("{all} would both be written as `{name}`\nhint: rename one of the files, or compute them one after the other with other names of -o"));
        } else if taken.contains(&lower.as_str()) {
            problems.push(format!("{} would be written as `{name}`, which is the name of a file of all shots", all[0]));
        }
    }
    problems
}

/// Files in the folder that shots would replace and none wrote.
pub fn strangers<'a>(root: &Path, outputs: impl IntoIterator<Item = &'a Path>) -> Result<Vec<PathBuf>, String> {
    let manifest = Manifest::read(root);
    if let Ok(manifest) = &manifest
        && manifest.kind != Kind::Shots
    {
        return Err(format!("{} is the folder of a run\nhint: choose another folder with -o", root.display()));
    }
    let known = manifest.map(|manifest| manifest.outputs).unwrap_or_default();
    let mut files: Vec<PathBuf> = [TABLE, PAGE, CONTACT_SHEET].iter().map(|name| root.join(name)).collect();
    if known.is_empty() {
        files.push(root.join(MANIFEST));
    }
    files.extend(outputs.into_iter().map(Path::to_path_buf));
    let is_known = |file: &PathBuf| {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        known.contains(&name)
    };
    Ok(files.into_iter().filter(|file| file.exists() && !is_known(file)).collect())
}

/// Writes all three; returns their paths.
pub(super) fn write(rows: &[Row], root: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut written = vec![root.join(TABLE), root.join(PAGE)];
    write_file(&written[0], csv(rows).as_bytes())?;
    let pictures: Vec<Option<Vec<u8>>> =
        rows.iter().map(|row| row.picture.as_ref().and_then(|path| std::fs::read(path).ok())).collect();
    let below = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let cards: Vec<ShotCard<'_>> = rows
        .iter()
        .zip(&pictures)
        .map(|(row, picture)| ShotCard {
            title: &row.name,
            caption: row.caption(),
            is_wrong: row.is_wrong(),
            png: picture.as_deref(),
            link: row.report.as_ref().map(below),
        })
        .collect();
    let table = Table {
        title: "All shots".into(),
        columns: COLUMNS.map(String::from).to_vec(),
        rows: rows.iter().map(|row| row.cells(true).to_vec()).collect(),
    };
    write_file(&written[1], shots_page(&cards, &table).as_bytes())?;
    if pictures.iter().any(Option::is_some) {
        let cells: Vec<Cell<'_>> = cards
            .iter()
            .map(|card| Cell { title: card.title, caption: &card.caption, is_wrong: card.is_wrong, png: card.png })
            .collect();
        let path = root.join(CONTACT_SHEET);
        write_file(&path, &contact_sheet::draw(&cells))?;
        written.push(path);
    }
    Ok(written)
}

fn csv(rows: &[Row]) -> String {
    let quoted = |text: &str| match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"").replace('\n', " ")),
        false => text.to_string(),
    };
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let mut csv = String::from(
        "shot,character,motion,status,frames,seconds_per_frame,crossings,crossings_since_rest,worst_volume_change,joint,flesh,on_flesh,on_bone,faults,exit\n",
    );
    for row in rows {
        let parts = row.decided.map_or_else(Default::default, |counts| counts.map(|count| count.to_string()));
        let [flesh, on_flesh, on_bone] = parts;
        let cells = [
            row.name.clone(),
            row.character.clone(),
            row.motion.clone(),
            row.status.into(),
            row.frames.to_string(),
            number(row.seconds_per_frame),
            count(row.crossings),
            count(row.crossings_since_rest),
            number(row.volume.as_ref().map(|(_, change)| *change)),
            row.volume.as_ref().map(|(joint, _)| joint.clone()).unwrap_or_default(),
            flesh,
            on_flesh,
            on_bone,
            row.faults.join("; "),
            count(row.exit.map(u64::from)),
        ];
        csv += &(cells.map(|cell| quoted(&cell)).join(",") + "\n");
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shots_with_one_name_are_told_together() {
        let shots = [("a_walk", "a/a.glb"), ("A_walk", "b/A.glb"), ("b_walk", "b.glb"), ("pictures", "pictures.glb")];
        let problems = check_names(shots.map(|(name, what)| (name, what.to_string())));
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("a/a.glb and b/A.glb would both"), "{problems:?}");
    }

    #[test]
    fn cells_of_the_table_are_quoted_and_empty_where_nothing_is_known() {
        let row = Row {
            name: "a_walk".into(),
            motion: "walk".into(),
            character: "a,b.glb".into(),
            status: "refused",
            faults: vec!["no \"weights\"".into(), "no mesh".into()],
            exit: Some(2),
            ..Row::default()
        };
        let text = csv(&[row]);
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "a_walk,\"a,b.glb\",walk,refused,0,,,,,,,,,\"no \"\"weights\"\"; no mesh\",2"
        );
    }
}
