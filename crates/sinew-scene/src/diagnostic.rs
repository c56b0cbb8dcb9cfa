//! Problems of a scene: messages with a position in the text, an excerpt and a hint.
//!
//! A [`Diagnostic`] is one problem. A [`SceneError`] carries all problems of a scene and the texts they point into, so
//! that its `Display` can show excerpts without reading a file again.

use std::{fmt, path::Path, sync::Arc};

/// Maximum number of printed problems: a file with more is broken in one place, not in fifty.
const SHOWN: usize = 40;

/// Maximum length of an excerpt in characters; longer lines are cut around the marked position, so that generated files
/// stay readable.
const EXCERPT: usize = 140;

/// A range of bytes in one of the texts of a scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Index of the text: 0 is the scene file, the overrides follow in order.
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A text that a diagnostic can point into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    /// The name shown before line and column: a path, or `<--set>` for an override.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
}

impl SourceText {
    /// A named text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte, both counted from one; columns count characters.
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let byte = floor_boundary(&self.text, byte);
        let before = &self.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
    }
}

/// One problem of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// The position; `None` if no text is the cause (such as a file that cannot be read).
    pub span: Option<Span>,
    /// A remark on the marked text, shown behind the marks.
    pub label: String,
    /// What to change.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem at a position.
    pub fn at(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: Some(span), label: String::new(), hint: None }
    }

    /// A problem without a position.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, label: String::new(), hint: None }
    }

    /// Adds a remark behind the marks.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the problem with its excerpt from `sources`, ending in a newline.
    pub fn write(&self, sources: &[SourceText], out: &mut impl fmt::Write) -> fmt::Result {
        writeln!(out, "error: {}", printable(&self.message))?;
        if let Some((span, source)) = self.span.and_then(|span| Some((span, sources.get(span.source)?))) {
            write_excerpt(source, span, &printable(&self.label), out)?;
        } else if !self.label.is_empty() {
            writeln!(out, "  {}", printable(&self.label))?;
        }
        match &self.hint {
            Some(hint) => writeln!(out, "hint: {}", printable(hint)),
            None => Ok(()),
        }
    }
}

/// All problems of a scene, with the texts they point into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SceneError {
    /// The scene file and the overrides.
    pub sources: Vec<SourceText>,
    /// The problems, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl SceneError {
    /// Problems pointing into `sources`; sorts them by position and removes repetitions.
    pub fn new(sources: Vec<SourceText>, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by_key(|problem| problem.span);
        diagnostics.dedup();
        Self { sources, diagnostics }
    }

    /// A single problem without a text, for example a file that cannot be opened.
    pub fn nowhere(diagnostic: Diagnostic) -> Self {
        Self { sources: Vec::new(), diagnostics: vec![diagnostic] }
    }

    /// The problem that a file cannot be read, with a similar file name as a hint.
    pub fn unreadable(path: &Path, reason: &std::io::Error) -> Self {
        let problem = Diagnostic::nowhere(format!("cannot read `{}`: {}", path.display(), plain_reason(reason)));
        Self::nowhere(match crate::suggest::near_file(path) {
            Some(near) => problem.hint(format!("did you mean `{}`?", near.display())),
            None => problem,
        })
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (i, problem) in self.diagnostics.iter().take(SHOWN).enumerate() {
            if i > 0 {
                text.push('\n');
            }
            problem.write(&self.sources, &mut text)?;
        }
        if self.diagnostics.len() > SHOWN {
            text.push_str(&format!("\nand {} more problems\n", self.diagnostics.len() - SHOWN));
        }
        f.write_str(text.trim_end_matches('\n'))
    }
}

impl std::error::Error for SceneError {}

/// The message of the operating system without the error number.
pub(crate) fn plain_reason(reason: &std::io::Error) -> String {
    let text = reason.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Writes position, line and marks.
fn write_excerpt(source: &SourceText, span: Span, label: &str, out: &mut impl fmt::Write) -> fmt::Result {
    let text = &source.text;
    let start = floor_boundary(text, span.start);
    let end = floor_boundary(text, span.end.max(start));
    let (line, column) = source.line_column(start);
    let line_start = start - text[..start].rfind('\n').map_or(start, |newline| start - newline - 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let before: Vec<char> = text[line_start..start].chars().collect();
    let marked: Vec<char> = text[start..end.min(line_end)].trim_end_matches('\r').chars().collect();
    let after: Vec<char> = text[end.min(line_end)..line_end].trim_end_matches('\r').chars().collect();

    // Cuts a long line so that the marked text stays in view.
    let marked = clip_end(&marked, EXCERPT);
    let room = EXCERPT.saturating_sub(marked.len());
    let keep_before = before.len().min((room / 2).max(room.saturating_sub(after.len())));
    let skipped = before.len() - keep_before;
    let shown_before: String = (if skipped > 0 { "…" } else { "" }).to_string() + &visible(&before[skipped..]);
    let shown_marked = visible(&marked);
    let shown_after = visible(&clip_end(&after, room - keep_before));

    let gutter = line.to_string();
    let pad = " ".repeat(gutter.len());
    let marks = "^".repeat(width(&shown_marked).max(1));
    writeln!(out, "{pad}┌─ {}:{line}:{column}", printable(&source.name))?;
    writeln!(out, "{}", format!("{gutter}│ {shown_before}{shown_marked}{shown_after}").trim_end())?;
    writeln!(out, "{}", format!("{pad}│ {}{marks} {label}", " ".repeat(width(&shown_before))).trim_end())
}

fn clip_end(chars: &[char], limit: usize) -> Vec<char> {
    if chars.len() <= limit {
        return chars.to_vec();
    }
    chars[..limit].iter().copied().chain(['…']).collect()
}

/// Characters as a terminal can show them: tabs as four columns, control characters as a placeholder.
fn visible(chars: &[char]) -> String {
    let mut out = String::with_capacity(chars.len());
    for &c in chars {
        match c {
            '\t' => out.push_str("    "),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A message without control characters: names come from the file and must not move the cursor of a terminal.
fn printable(text: &str) -> String {
    visible(&text.chars().collect::<Vec<_>>())
}

/// Columns on a terminal: none for combining marks, two for the wide East Asian and emoji blocks.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
            0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
            0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

fn floor_boundary(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: usize, end: usize, label: &str) -> String {
        let problem = Diagnostic::at(Span { source: 0, start, end }, "wrong").label(label);
        SceneError::new(vec![SourceText::new("a.toml", text)], vec![problem]).to_string()
    }

    #[test]
    fn excerpt_marks_the_span() {
        assert_eq!(
            shown("a = 1\nbb = 0.5\n", 11, 14, "got 0.5"),
            "error: wrong\n ┌─ a.toml:2:6\n2│ bb = 0.5\n │      ^^^ got 0.5"
        );
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_marks_aligned() {
        assert_eq!(shown("\té = 5", 6, 7, "here"), "error: wrong\n ┌─ a.toml:1:6\n1│     é = 5\n │         ^ here");
        assert_eq!(shown("骨 = 5", 6, 7, "here"), "error: wrong\n ┌─ a.toml:1:5\n1│ 骨 = 5\n │      ^ here");
    }

    #[test]
    fn empty_spans_ends_of_text_and_spans_inside_characters_are_marked_once() {
        assert_eq!(shown("", 0, 0, ""), "error: wrong\n ┌─ a.toml:1:1\n1│\n │ ^");
        assert_eq!(shown("a", 99, 120, ""), "error: wrong\n ┌─ a.toml:1:2\n1│ a\n │  ^");
        assert_eq!(shown("é", 1, 1, ""), "error: wrong\n ┌─ a.toml:1:1\n1│ é\n │ ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let shown = shown(&text, 5000, 5001, "here");
        assert!(shown.lines().all(|line| line.chars().count() < EXCERPT + 10), "{shown}");
        assert!(shown.contains("aXb") && shown.contains(":1:5001"), "{shown}");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let shown = shown("a = \"\u{1b}[2J\"", 4, 10, "got \u{1b}[2J");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
