//! "Did you mean …?": the nearest valid word.

use std::path::{Path, PathBuf};

/// Words from papers and other programs, and our word for the same thing.
const ALIASES: &[(&str, &str)] = &[
    ("e", "young"),
    ("youngs_modulus", "young"),
    ("young_modulus", "young"),
    ("nu", "poisson"),
    ("poisson_ratio", "poisson"),
    ("poissons_ratio", "poisson"),
    ("rho", "density"),
    ("kappa", "bulk"),
    ("bulk_modulus", "bulk"),
    ("mu", "friction"),
    ("fps", "frame_rate"),
    ("end_time", "duration"),
    ("translation", "position"),
    ("translate", "position"),
    ("center", "position"),
    ("rotate", "rotation"),
    ("resolution", "cells"),
    ("resolution", "size"),
    ("surface", "usd"),
    ("bodies", "body"),
    ("colliders", "collider"),
    ("probes", "probe"),
    ("fixed", "pin"),
    ("shape", "type"),
    ("from", "eye"),
    ("rayleigh", "damping"),
    ("path", "file"),
    ("type", "from"),
    // Former names of our own keys.
    ("firm_corners", "inversion_barrier"),
    ("softness", "attachment_stiffness"),
    ("softness_map", "attachment_stiffness_map"),
];

/// The candidate nearest to `word`, if it is near enough to be the intended one.
///
/// Near means a Damerau–Levenshtein distance (optimal string alignment) of at most a third of the word, ignoring case
/// and `-` against `_`, or a known other name of the same thing.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain_spelling(word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let known_alias = ALIASES.iter().any(|&(other, ours)| other == plain && ours == candidate);
        let distance = if known_alias { 0 } else { strsim::osa_distance(&plain, &plain_spelling(candidate)) };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    let allowed = match plain.chars().count() {
        0 => 0,
        1..=3 => 1,
        n => (n / 3).max(2),
    };
    best.filter(|&(distance, candidate)| distance <= allowed && distance < candidate.chars().count()).map(|(_, c)| c)
}

/// The hint for a wrong word: the nearest candidate, or all of them when none is near.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone, kind: &str) -> Option<String> {
    if let Some(near) = nearest(word, candidates.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let all: Vec<&str> = candidates.into_iter().collect();
    if all.is_empty() {
        return None;
    }
    let shown: Vec<String> = all.iter().take(24).map(|word| format!("`{word}`")).collect();
    let rest = if all.len() > 24 { format!(" and {} more", all.len() - 24) } else { String::new() };
    Some(format!("{kind}: {}{rest}", shown.join(", ")))
}

/// Number of values shown when none is near enough.
const SHOWN_VALUES: usize = 6;

/// The hint for an unknown value name: the intended one, or else the nearest ones. Names have parts, such as
/// `tip.displacement.z`. In the intended name every part is similar, or the whole differs by at most two letters. Other
/// names are sorted by the number of common parts, then by spelling.
pub fn value_hint(word: &str, known: &[String]) -> Option<String> {
    let is_alike = |name: &&str| {
        let same_count = name.split('.').count() == word.split('.').count();
        let alike = |(a, b): (&str, &str)| a == b || nearest(a, [b]).is_some();
        (same_count && word.split('.').zip(name.split('.')).all(alike))
            || strsim::osa_distance(&plain_spelling(word), &plain_spelling(name)) <= 2
    };
    if let Some(near) = nearest(word, known.iter().map(String::as_str).filter(is_alike)) {
        return Some(format!("did you mean `{near}`?"));
    }
    let parts: Vec<&str> = word.split('.').collect();
    let missing = |name: &str| parts.iter().filter(|part| !name.split('.').any(|own| own == **part)).count();
    let plain = plain_spelling(word);
    let mut ranked: Vec<(usize, usize, &str)> = known
        .iter()
        .map(|name| (missing(name), strsim::osa_distance(&plain, &plain_spelling(name)), name.as_str()))
        .collect();
    ranked.sort_unstable();
    let shown: Vec<String> = ranked.iter().take(SHOWN_VALUES).map(|(_, _, name)| format!("`{name}`")).collect();
    match known.len() {
        0 => None,
        all if all <= SHOWN_VALUES => Some(format!("values are: {}", shown.join(", "))),
        all => Some(format!("the nearest of {all} values: {}", shown.join(", "))),
    }
}

/// The file in the same folder with the most similar name, for a file that does not exist.
pub fn near_file(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names: Vec<String> = std::fs::read_dir(listed)
        .ok()?
        .take(10_000)
        .flatten()
        .filter_map(|f| f.file_name().into_string().ok())
        .collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    let near = nearest(wanted, names.iter().map(String::as_str))?;
    (near != wanted).then(|| folder.join(near))
}

fn plain_spelling(word: &str) -> String {
    // Words longer than any of ours cannot be near; cutting them keeps the quadratic distance cheap.
    word.chars().take(64).flat_map(char::to_lowercase).map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_words_are_not() {
        let keys = ["young", "poisson", "type"];
        assert_eq!(nearest("yuong", keys), Some("young"));
        assert_eq!(nearest("Poison", keys), Some("poisson"));
        assert_eq!(nearest("nu", keys), Some("poisson"));
        assert_eq!(nearest("viscosity", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn names_of_values_are_found_by_their_parts() {
        let known: Vec<String> = [
            "energy.total",
            "block.volume",
            "tip.position.z",
            "tip.displacement.x",
            "tip.displacement.z",
            "newton",
            "time",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(value_hint("tip.displacment.z", &known).as_deref(), Some("did you mean `tip.displacement.z`?"));
        assert_eq!(value_hint("tip_displacement_z", &known).as_deref(), Some("did you mean `tip.displacement.z`?"));
        // Similar, but none is likely to be the intended one.
        assert!(value_hint("toe.displacement.y", &known).is_some_and(|hint| hint.starts_with("the nearest of 7")));
        let hint = value_hint("tip.z", &known).expect("a hint");
        assert!(hint.starts_with("the nearest of 7 values: `tip.position.z`, `tip.displacement.z`, "), "{hint}");
        assert_eq!(value_hint("anything", &[]), None);
    }
}
