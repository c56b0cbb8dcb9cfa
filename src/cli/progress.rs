//! Where a run is and how long it will still take: one line redrawn on a terminal, sparse lines elsewhere.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::call;
use super::talk::{Talk, complain};

/// Lines into a file or pipe: seldom enough to read, often enough to see that it lives.
const QUIET_INTERVAL: Duration = Duration::from_secs(10);
/// Redraws on a terminal: ten a second look continuous and cost nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
/// After so long without a word people wonder whether anything happens.
const SILENCE: Duration = Duration::from_millis(1500);
/// How often a silent run is looked at.
const LOOK: Duration = Duration::from_millis(250);
const BAR: usize = 24;

/// Progress of one run. While nothing is finished, a thread says what is being computed and for how long.
#[derive(Debug)]
pub struct Progress(Arc<Mutex<Line>>);

#[derive(Debug)]
struct Line {
    talk: Talk,
    start: Instant,
    shown: Option<Instant>,
    dirty: bool,
    /// Frames done and planned, once that is known, and since when the next one is computed.
    frames: Option<(usize, usize)>,
    since: Instant,
    /// Silence before the next word without news.
    patience: Duration,
}

impl Progress {
    /// Starts the clock.
    pub fn new(talk: Talk) -> Self {
        let now = Instant::now();
        let line = Line { talk, start: now, shown: None, dirty: false, frames: None, since: now, patience: SILENCE };
        let line = Arc::new(Mutex::new(line));
        // Words of commands that are called are kept by the thread that calls them.
        if talk.notes && !call::is_called() {
            let watched = Arc::downgrade(&line);
            // Without a thread there is less to see, and nothing is lost.
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || watch(&watched));
        }
        Self(line)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames are about to be computed, with `done` of `all` there already.
    pub fn begin(&mut self, done: usize, all: usize) {
        let mut line = self.line();
        (line.start, line.since, line.frames) = (Instant::now(), Instant::now(), Some((done, all)));
        line.patience = SILENCE;
    }

    /// Shows that `done` of `all` frames exist; `detail` is the solver's line about the last one.
    pub fn update(&mut self, done: usize, all: usize, detail: &str) {
        self.line().update(done, all, detail);
    }

    /// Clears the line, so that what follows stands alone.
    pub fn clear(&mut self) {
        self.line().clear();
    }
}

/// Speaks up where a run is silent for long; ends with the run.
fn watch(line: &Weak<Mutex<Line>>) {
    loop {
        std::thread::sleep(LOOK);
        let Some(line) = line.upgrade() else { return };
        line.lock().unwrap_or_else(PoisonError::into_inner).break_silence();
    }
}

impl Line {
    /// Says what is being computed, and for how long, if nothing was said for long.
    fn break_silence(&mut self) {
        let last = self.shown.map_or(self.since, |shown| shown.max(self.since));
        if last.elapsed() < self.patience {
            return;
        }
        let time = duration(self.since.elapsed());
        let text = match self.frames {
            Some((done, all)) if done < all => format!("frame {}/{all} has taken {time} so far", done + 1),
            // The report, which tells for itself.
            Some(_) => return,
            None => format!("preparing has taken {time} so far"),
        };
        self.shown = Some(Instant::now());
        if self.talk.terminal {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
            let _ = std::io::stderr().flush();
            self.dirty = true;
        } else {
            complain(&text);
            self.patience = QUIET_INTERVAL;
        }
    }

    fn update(&mut self, done: usize, all: usize, detail: &str) {
        (self.frames, self.since) = (Some((done, all)), Instant::now());
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

    fn clear(&mut self) {
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
