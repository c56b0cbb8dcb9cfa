//! "Did you mean …?": the nearest of the words that would have been right.

use std::path::{Path, PathBuf};

/// Words people bring from papers and other programs, and our word for the same thing.
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
];

/// The candidate nearest to `word`, if one is near enough to be what was meant.
///
/// Near means a Damerau–Levenshtein distance (optimal string alignment) of at most a third of the word, ignoring case and
/// `-` against `_`, or a known other name of the same thing.
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

/// The file of the same folder whose name is nearest, for a file that does not exist.
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
    // Words longer than any of ours cannot be near one; cutting them keeps the quadratic distance cheap.
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
}
