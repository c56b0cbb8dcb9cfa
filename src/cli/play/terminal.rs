//! Capabilities of the terminal, and a screen that restores the cursor.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{Failure, console};

/// Kinds of graphics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphics {
    /// The kitty protocol.
    Kitty,
    /// Sixels.
    Sixel,
    /// Colored half blocks.
    Blocks,
    /// No pictures.
    Plain,
}

/// Graphics of standard output, from the environment.
pub fn detect() -> Graphics {
    detect_from(std::io::stdout().is_terminal(), |name| std::env::var(name).unwrap_or_default())
}

fn detect_from(is_terminal: bool, variable: impl Fn(&str) -> String) -> Graphics {
    let (term, program) = (variable("TERM").to_lowercase(), variable("TERM_PROGRAM").to_lowercase());
    if !is_terminal || term == "dumb" {
        return Graphics::Plain;
    }
    // tmux and screen do not pass pictures on to the terminal.
    let is_multiplexed = !variable("TMUX").is_empty() || term.starts_with("screen") || term.starts_with("tmux");
    if !is_multiplexed {
        let names_kitty = |text: &str| ["kitty", "wezterm", "ghostty"].iter().any(|name| text.contains(name));
        if names_kitty(&term) || names_kitty(&program) || !variable("KITTY_WINDOW_ID").is_empty() {
            return Graphics::Kitty;
        }
        let names_sixel =
            |text: &str| ["sixel", "foot", "mlterm", "contour", "yaft"].iter().any(|name| text.contains(name));
        if names_sixel(&term) || program == "iterm.app" || program == "mintty" {
            return Graphics::Sixel;
        }
    }
    let colors = variable("COLORTERM").to_lowercase();
    let has_colors = colors.contains("truecolor")
        || colors.contains("24bit")
        || term.contains("direct")
        || term.contains("truecolor");
    if has_colors && variable("NO_COLOR").is_empty() { Graphics::Blocks } else { Graphics::Plain }
}

/// Columns and rows of the terminal; 80 × 24 if unknown.
pub fn size() -> [usize; 2] {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let given = number("COLUMNS").zip(number("LINES")).map(|(columns, rows)| [columns, rows]);
    given.or_else(ask_stty).filter(|[columns, rows]| *columns > 0 && *rows > 0).unwrap_or([80, 24])
}

/// The size from `stty`; the standard library cannot read it.
#[cfg(unix)]
fn ask_stty() -> Option<[usize; 2]> {
    let terminal = std::fs::File::open("/dev/tty").ok()?;
    let output = std::process::Command::new("stty")
        .arg("size")
        .stdin(terminal)
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
    let (rows, columns) = (numbers.next()?, numbers.next()?);
    Some([columns, rows])
}

#[cfg(not(unix))]
fn ask_stty() -> Option<[usize; 2]> {
    None
}

/// A part of the terminal that is redrawn. Dropping it shows the cursor again, below the picture.
pub struct Screen {
    rows: usize,
}

impl Screen {
    /// Reserves rows for a picture and its caption, and hides the cursor.
    pub fn open(rows: usize) -> Result<Screen, Failure> {
        // Scroll first: the saved cursor position must not move.
        console::print(&format!("{}\x1b[{}A\x1b7\x1b[?25l", "\n".repeat(rows + 1), rows + 1))?;
        IS_OPEN.store(true, Ordering::SeqCst);
        Ok(Screen { rows })
    }

    /// Shows a picture and its caption.
    pub fn picture(&self, picture: &str, caption: &str) -> Result<(), Failure> {
        console::print(&format!("\x1b8{picture}\x1b8\x1b[{}B\r\x1b[2K{caption}", self.rows))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the cursor is hidden.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Shows a hidden cursor again, on a new line.
pub fn restore() {
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(b"\x1b[?25h\x1b[0m\n").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_environment() {
        let detect = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> = pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            detect_from(true, |name| {
                pairs.iter().find(|(known, _)| known == name).map_or(String::new(), |(_, value)| value.clone())
            })
        };
        assert_eq!(detect(&[("TERM", "xterm-kitty")]), Graphics::Kitty);
        assert_eq!(detect(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")]), Graphics::Kitty);
        assert_eq!(detect(&[("TERM", "xterm-ghostty")]), Graphics::Kitty);
        assert_eq!(detect(&[("TERM", "foot")]), Graphics::Sixel);
        assert_eq!(detect(&[("TERM", "yaft-256color")]), Graphics::Sixel);
        assert_eq!(detect(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Graphics::Blocks);
        assert_eq!(
            detect(&[("TERM", "screen"), ("KITTY_WINDOW_ID", "1"), ("COLORTERM", "truecolor")]),
            Graphics::Blocks
        );
        assert_eq!(detect(&[("TERM", "xterm"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Graphics::Plain);
        assert_eq!(detect(&[("TERM", "vt100")]), Graphics::Plain);
        assert_eq!(detect(&[("TERM", "dumb"), ("COLORTERM", "truecolor")]), Graphics::Plain);
        assert_eq!(detect_from(false, |_| "xterm-kitty".into()), Graphics::Plain);
    }
}
