//! Progress of a run: frames done and time left. One line on a terminal, sparse lines elsewhere.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sinew_fem::activity::newton_iterations;

use super::call;
use super::console::{Console, message};

/// Time between lines in a file or pipe.
const QUIET_INTERVAL: Duration = Duration::from_secs(10);
/// Time between redraws on a terminal.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time without output.
const SILENCE: Duration = Duration::from_millis(1500);
/// Time between checks for [`SILENCE`].
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
const BAR: usize = 24;
/// What is counted.
const FRAMES: &str = "frame";
const PICTURES: &str = "picture";

/// Progress of one run. During a long frame, a thread shows how long it has taken so far.
#[derive(Debug)]
pub struct Progress(Arc<Mutex<Line>>);

#[derive(Debug)]
struct Line {
    console: Console,
    start: Instant,
    shown: Option<Instant>,
    dirty: bool,
    /// What is counted, and how many there were at the start.
    what: &'static str,
    before: usize,
    /// Frames done and planned, once known.
    frames: Option<(usize, usize)>,
    /// Start of the current frame, and Newton iterations until then.
    since: Instant,
    iterations: usize,
    /// Time without output before the next message.
    patience: Duration,
}

impl Progress {
    /// Starts the clock.
    pub fn new(console: Console) -> Self {
        let now = Instant::now();
        let line = Line {
            console,
            start: now,
            shown: None,
            dirty: false,
            what: FRAMES,
            before: 0,
            frames: None,
            since: now,
            iterations: 0,
            patience: SILENCE,
        };
        let line = Arc::new(Mutex::new(line));
        // Only the calling thread captures output.
        if console.notes && !call::is_called() {
            let watched = Arc::downgrade(&line);
            // Without the thread, only this display is missing.
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || watch(&watched));
        }
        Self(line)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first frame starts; `done` of `all` frames exist already.
    pub fn begin(&mut self, done: usize, all: usize) {
        let mut line = self.line();
        (line.start, line.since, line.frames) = (Instant::now(), Instant::now(), Some((done, all)));
        (line.before, line.patience, line.iterations) = (done, SILENCE, newton_iterations());
    }

    /// Shows that all frames and `done` of `all` pictures are done.
    pub fn pictures(&mut self, done: usize, all: usize) {
        let mut line = self.line();
        if line.what != PICTURES {
            (line.what, line.start, line.before, line.shown) = (PICTURES, Instant::now(), done, None);
        }
        line.update(done, all, "");
    }

    /// Shows that `done` of `all` frames are done; `detail` is the solver's line about the last one.
    pub fn update(&mut self, done: usize, all: usize, detail: &str) {
        self.line().update(done, all, detail);
    }

    /// Clears the line before other output.
    pub fn clear(&mut self) {
        self.line().clear();
    }
}

/// Shows a message if a run is silent for long; ends with the run.
fn watch(line: &Weak<Mutex<Line>>) {
    loop {
        std::thread::sleep(CHECK_INTERVAL);
        let Some(line) = line.upgrade() else { return };
        line.lock().unwrap_or_else(PoisonError::into_inner).break_silence();
    }
}

impl Line {
    /// Shows how long the current frame has taken, after a long silence.
    fn break_silence(&mut self) {
        let last = self.shown.map_or(self.since, |shown| shown.max(self.since));
        if last.elapsed() < self.patience {
            return;
        }
        let time = duration(self.since.elapsed());
        let text = match self.frames {
            Some((done, all)) if done < all => {
                let iterations = match newton_iterations().saturating_sub(self.iterations) {
                    0 => String::new(),
                    1 => ", 1 iteration".to_string(),
                    count => format!(", {count} iterations"),
                };
                format!("{} {}/{all} has taken {time} so far{iterations}", self.what, done + 1)
            }
            Some(_) if self.what == FRAMES => format!("writing files has taken {time} so far"),
            // The run writes its report.
            Some(_) => return,
            None => format!("preparing has taken {time} so far"),
        };
        self.shown = Some(Instant::now());
        if self.console.terminal {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
            let _ = std::io::stderr().flush();
            self.dirty = true;
        } else {
            message(&text);
            self.patience = QUIET_INTERVAL;
        }
    }

    fn update(&mut self, done: usize, all: usize, detail: &str) {
        (self.frames, self.since, self.iterations) = (Some((done, all)), Instant::now(), newton_iterations());
        if !self.console.notes {
            return;
        }
        if self.console.details {
            message(&format!("{} {done}/{all}  {detail}", self.what));
            return;
        }
        let interval = if self.console.terminal { REDRAW_INTERVAL } else { QUIET_INTERVAL };
        let since = self.shown.unwrap_or(self.start);
        if done < all && since.elapsed() < interval {
            return;
        }
        self.shown = Some(Instant::now());
        let left = time_left(self.start.elapsed(), done.saturating_sub(self.before), all.saturating_sub(self.before));
        if self.console.terminal {
            let filled = BAR * done / all.max(1);
            let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled));
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{bar} {} {done}/{all}{left}  {detail}", self.what);
            let _ = std::io::stderr().flush();
            self.dirty = true;
        } else if done < all {
            message(format!("{} {done}/{all}{left}  {detail}", self.what).trim_end());
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// `, 12 s left`, from the mean time of a frame so far; empty before the first frame and after the last.
fn time_left(elapsed: Duration, done: usize, all: usize) -> String {
    if done == 0 || done >= all {
        return String::new();
    }
    format!(", {} left", duration(elapsed.mul_f64((all - done) as f64 / done as f64)))
}

/// A duration in readable units.
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
