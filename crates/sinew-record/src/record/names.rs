//! Valid names for files and formats, made from user-given names.

/// Text for an XML attribute or element.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML 1.0 has no way to write other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// An identifier valid in USD (a letter or `_`, then letters, digits and `_`), different from all in `taken`.
pub(crate) fn identifier(name: &str, taken: &[String]) -> String {
    let mut base: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if base.is_empty() || base.starts_with(|c: char| c.is_ascii_digit()) {
        base.insert(0, '_');
    }
    let mut candidate = base.clone();
    let mut number = 1;
    while taken.contains(&candidate) {
        number += 1;
        candidate = format!("{base}_{number}");
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_valid_and_different() {
        let mut taken = Vec::new();
        for name in ["flesh", "flesh", "2nd body", "", "übermuskel", "flesh_2"] {
            let id = identifier(name, &taken);
            assert!(
                id.chars()
                    .enumerate()
                    .all(|(i, c)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit()))
            );
            assert!(!taken.contains(&id));
            taken.push(id);
        }
        assert_eq!(taken[1], "flesh_2");
    }

    #[test]
    fn escaping_removes_markup_and_control_characters() {
        assert_eq!(escaped("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot;\u{fffd}");
    }
}
