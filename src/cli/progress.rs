//! Where a run is and how long it will still take: one line redrawn on a terminal, sparse lines elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use super::talk::{Talk, complain};

/// Lines into a file or pipe: seldom enough to read, often enough to see that it lives.
const QUIET_INTERVAL: Duration = Duration::from_secs(10);
/// Redraws on a terminal: ten a second look continuous and cost nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const BAR: usize = 24;

/// Progress of one run.
#[derive(Debug)]
pub struct Progress {
    talk: Talk,
    start: Instant,
    shown: Option<Instant>,
    dirty: bool,
}

impl Progress {
    /// Starts the clock.
    pub fn new(talk: Talk) -> Self {
        Self { talk, start: Instant::now(), shown: None, dirty: false }
    }

    /// Shows that `done` of `all` frames exist; `detail` is the solver's line about the last one.
    pub fn update(&mut self, done: usize, all: usize, detail: &str) {
        if !self.talk.notes {
            return;
        }
        if self.talk.details {
            complain(&format!("frame {done}/{all}  {detail}"));
            return;
        }
        let interval = if self.talk.terminal { REDRAW_INTERVAL } else { QUIET_INTERVAL };
        let since = self.shown.unwrap_or(self.start);
        if done < all && since.elapsed() < interval {
            return;
        }
        self.shown = Some(Instant::now());
        let left = time_left(self.start.elapsed(), done, all);
        if self.talk.terminal {
            let filled = BAR * done / all.max(1);
            let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled));
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{bar} frame {done}/{all}{left}  {detail}");
            let _ = std::io::stderr().flush();
            self.dirty = true;
        } else if done < all {
            complain(&format!("frame {done}/{all}{left}  {detail}"));
        }
    }

    /// Clears the line, so that what follows stands alone.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// `, 12 s left`, from the mean time of a frame so far; nothing before the first and after the last.
fn time_left(elapsed: Duration, done: usize, all: usize) -> String {
    if done == 0 || done >= all {
        return String::new();
    }
    format!(", {} left", duration(elapsed.mul_f64((all - done) as f64 / done as f64)))
}

/// A duration as a person says it.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_the_mean_time_of_a_frame() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(time_left(elapsed, 10, 40), ", 30 s left");
        assert_eq!(time_left(elapsed, 0, 40), "");
        assert_eq!(time_left(elapsed, 40, 40), "");
    }

    #[test]
    fn durations_are_rounded_for_people() {
        let cases = [
            (2.5e-5, "25 µs"),
            (0.0124, "12 ms"),
            (3.21, "3.2 s"),
            (61.0, "61 s"),
            (600.0, "10 min"),
            (9000.0, "2.5 h"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), text);
        }
    }
}
