//! `[expect]`: claims of a scene about its probes, checked against the results of the run.
//!
//! Probes are sampled at frames. A claim *at* a time uses the nearest frame, without interpolation. A claim *over* a
//! span uses every frame in it and reports the worst. NaN fails every claim. A claim about a time that a shortened run
//! does not reach is neither met nor failed, but not reached.

use sinew_scene::format_number;
use sinew_scene::spec::expect::{Compare, Expectation, Instant, Monotone, TimeSpan};

use crate::history::ProbeHistory;

/// Agreement to nine digits, for a value without a tolerance.
const NINE_DIGITS: Tolerance = Tolerance { absolute: 0.0, relative: 1e-9 };

/// A claim about one probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the probe.
    pub probe: String,
    /// What is claimed.
    pub claim: Claim,
    /// When it must hold.
    pub window: Window,
}

/// What a rule claims.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// The value is near a number.
    Near {
        /// The number, SI.
        value: f64,
        /// The tolerance.
        tolerance: Tolerance,
    },
    /// The value is at least a number.
    AtLeast(f64),
    /// The value is at most a number.
    AtMost(f64),
    /// The value is monotone.
    Monotone(Monotone),
    /// The value is near that of a probe of another run at the same time.
    NearRun {
        /// Name of the other run in the scene.
        name: String,
        /// Its probes.
        history: ProbeHistory,
        /// The name of the probe.
        probe: String,
        /// The tolerance; its relative part refers to the other run's value.
        tolerance: Tolerance,
    },
}

/// Allowed distance from a value v: absolute + relative·|v|.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// In the unit of the probe.
    pub absolute: f64,
    /// As a fraction of the expected value.
    pub relative: f64,
}

impl Tolerance {
    fn new(absolute: Option<f64>, relative: Option<f64>) -> Self {
        match (absolute, relative) {
            (None, None) => NINE_DIGITS,
            _ => Self { absolute: absolute.unwrap_or(0.0), relative: relative.unwrap_or(0.0) },
        }
    }

    fn of(self, value: f64) -> f64 {
        self.absolute + self.relative * value.abs()
    }
}

/// When a claim must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// At the last frame.
    End,
    /// At the frame nearest to a time \[s\].
    At(f64),
    /// At every frame.
    All,
    /// At every frame from one time to another, inclusive \[s\].
    Span(f64, f64),
}

/// A rule and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Name of the probe; in a study, of the fitted quantity.
    pub name: String,
    /// The claim in words.
    pub expected: String,
    /// The decisive value: the one at the given time, or the worst; NaN if there is none.
    pub got: f64,
    /// Time of that value \[s\]; `None` for values without a time, such as an order.
    pub time: Option<f64>,
    /// Whether the claim holds.
    pub passed: bool,
    /// Whether the run reached the time of the claim; a shortened one may not.
    pub reached: bool,
}

impl Checked {
    /// Whether the claim was checked and does not hold.
    pub fn failed(&self) -> bool {
        self.reached && !self.passed
    }

    /// The result in a word or two.
    pub fn word(&self) -> &'static str {
        match (self.reached, self.passed) {
            (false, _) => "not reached",
            (true, true) => "ok",
            (true, false) => "FAILED",
        }
    }

    /// The decisive value as text.
    pub fn got_text(&self) -> String {
        if self.got.is_nan() { "none".into() } else { format_number(self.got) }
    }
}

/// A rule refers to a probe that the run does not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("[expect] names the probe `{probe}`, which {run} does not have{}", .hint.as_ref().map(|h| format!("\nhint: {h}")).unwrap_or_default())]
pub struct UnknownProbe {
    /// The name in the rule.
    pub probe: String,
    /// The run that was searched.
    pub run: String,
    /// Similar names.
    pub hint: Option<String>,
}

impl UnknownProbe {
    pub(crate) fn new(probe: &str, run: &str, known: &[String]) -> Self {
        let hint = sinew_scene::suggest::value_hint(probe, known);
        Self { probe: probe.into(), run: run.into(), hint }
    }
}

impl Rule {
    /// The rules of one entry of `[expect]`: one per claim. `other` returns the probes of a scene to compare with.
    pub fn from_expectation<E>(
        probe: &str,
        expectation: &Expectation,
        mut other: impl FnMut(&Compare) -> Result<ProbeHistory, E>,
    ) -> Result<Vec<Rule>, E> {
        let window = match (expectation.at, expectation.over) {
            (_, Some(TimeSpan::All)) => Window::All,
            (_, Some(TimeSpan::Between(from, to))) => Window::Span(from, to),
            (Some(Instant::Time(time)), None) => Window::At(time),
            (Some(Instant::End) | None, None) => Window::End,
        };
        let mut rules = Vec::new();
        let mut add = |claim, window| rules.push(Rule { probe: probe.into(), claim, window });
        if let Some(value) = expectation.value {
            add(Claim::Near { value, tolerance: Tolerance::new(expectation.absolute, expectation.relative) }, window);
        }
        if let Some(least) = expectation.min {
            add(Claim::AtLeast(least), window);
        }
        if let Some(most) = expectation.max {
            add(Claim::AtMost(most), window);
        }
        if let Some(trend) = expectation.monotone {
            // Monotonicity concerns the whole run unless a part is named.
            add(Claim::Monotone(trend), if expectation.over.is_some() { window } else { Window::All });
        }
        if let Some(compare) = &expectation.compare {
            let claim = Claim::NearRun {
                name: compare.scene.clone(),
                history: other(compare)?,
                probe: compare.probe.clone().unwrap_or_else(|| probe.into()),
                tolerance: Tolerance::new(compare.absolute, compare.relative),
            };
            add(claim, window);
        }
        Ok(rules)
    }

    /// Checks that every probe of the rule exists; before a long run, where `names` are all names that the run will
    /// have.
    pub fn check_names(&self, names: &[String]) -> Result<(), UnknownProbe> {
        if !names.contains(&self.probe) {
            return Err(UnknownProbe::new(&self.probe, "this scene", names));
        }
        match &self.claim {
            Claim::NearRun { name, history, probe, .. } if !history.names().contains(probe) => {
                Err(UnknownProbe::new(probe, &format!("`{name}`"), history.names()))
            }
            _ => Ok(()),
        }
    }

    /// Evaluates the rule on a run; `is_whole` says whether that has gone to its end.
    pub fn evaluate(&self, history: &ProbeHistory, is_whole: bool) -> Result<Checked, UnknownProbe> {
        self.check_names(history.names())?;
        let column = history.column(&self.probe).unwrap_or_default();
        let is_reached = is_whole || self.window != Window::End;
        let frames = if is_reached { self.window.frames(history) } else { Vec::new() };
        let (got, time, passed) = match &self.claim {
            // Monotonicity compares neighbors; the decisive value is the worst step backward.
            Claim::Monotone(trend) => {
                let largest = frames.iter().map(|&frame| column[frame].abs()).fold(0.0, f64::max);
                let steps = frames.windows(2).map(|pair| {
                    let step = column[pair[1]] - column[pair[0]];
                    (pair[1], step, backward(*trend, step, largest))
                });
                worst(steps, history)
            }
            claim => {
                let excesses = frames.iter().map(|&frame| {
                    let value = column[frame];
                    (frame, value, claim.excess(value, history.times()[frame]))
                });
                worst(excesses, history)
            }
        };
        // One frame is trivially monotone; no frame at all satisfies no claim.
        let trivial = matches!(self.claim, Claim::Monotone(_)) && frames.len() == 1;
        Ok(Checked {
            name: self.probe.clone(),
            expected: self.to_string(),
            got: if trivial { 0.0 } else { got },
            time,
            passed: passed || trivial,
            reached: !frames.is_empty(),
        })
    }
}

/// Rounding error allowed in "no value less than the one before", as a fraction of the largest value: the energy of a
/// body at rest varies in its last bits.
const ROUNDING: f64 = 1e-12;

/// How far a step goes the wrong way; zero or negative if it does not. A strict trend does not allow equal values.
fn backward(trend: Monotone, step: f64, largest: f64) -> f64 {
    let strict = |step: f64| if step > 0.0 { -step } else { f64::MIN_POSITIVE - step };
    match trend {
        Monotone::Increasing => strict(step),
        Monotone::Decreasing => strict(-step),
        Monotone::Nondecreasing => -step - ROUNDING * largest,
        Monotone::Nonincreasing => step - ROUNDING * largest,
    }
}

/// The entry with the largest excess over the allowed value: value, time, and whether it passes.
fn worst(entries: impl Iterator<Item = (usize, f64, f64)>, history: &ProbeHistory) -> (f64, Option<f64>, bool) {
    // A NaN excess counts as infinitely bad: `total_cmp` would place negative NaN first.
    let badness = |excess: f64| if excess.is_nan() { f64::INFINITY } else { excess };
    let found = entries.max_by(|a, b| badness(a.2).total_cmp(&badness(b.2)));
    match found {
        Some((frame, value, excess)) => (value, history.times().get(frame).copied(), excess <= 0.0),
        None => (f64::NAN, None, false),
    }
}

impl Claim {
    /// How far a value is outside the claim: zero or negative if it holds, NaN if undefined.
    fn excess(&self, value: f64, time: f64) -> f64 {
        match self {
            Claim::Near { value: expected, tolerance } => (value - expected).abs() - tolerance.of(*expected),
            Claim::AtLeast(least) => least - value,
            Claim::AtMost(most) => value - most,
            Claim::Monotone(_) => f64::NAN,
            Claim::NearRun { history, probe, tolerance, .. } => {
                let frame = history.nearest_frame(time).filter(|&f| is_near(history, f, time));
                let expected = frame.and_then(|frame| history.column(probe).map(|column| column[frame]));
                expected.map_or(f64::NAN, |expected| (value - expected).abs() - tolerance.of(expected))
            }
        }
    }
}

impl Window {
    /// Frames in the window; none if the run ended before it.
    fn frames(self, history: &ProbeHistory) -> Vec<usize> {
        let count = history.frame_count();
        // Frame times are multiples of 1/frame_rate in floating point: allow a thousandth of a frame at the ends of a
        // span.
        let slack = 1e-3 * history.spacing();
        match self {
            Window::End => count.checked_sub(1).into_iter().collect(),
            Window::At(time) => {
                history.nearest_frame(time).filter(|&f| is_near(history, f, time)).into_iter().collect()
            }
            Window::All => (0..count).collect(),
            Window::Span(from, to) => {
                let inside = |time: f64| from - slack <= time && time <= to + slack;
                (0..count).filter(|&frame| inside(history.times()[frame])).collect()
            }
        }
    }
}

/// A frame represents a time that is at most half a frame away.
fn is_near(history: &ProbeHistory, frame: usize, time: f64) -> bool {
    let distance = (history.times()[frame] - time).abs();
    distance <= 0.5001 * history.spacing() || distance <= 1e-12 * time.abs().max(1.0)
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.absolute > 0.0, self.relative > 0.0) {
            _ if *self == NINE_DIGITS => write!(f, "to nine digits"),
            (false, false) => write!(f, "exactly"),
            (true, false) => write!(f, "± {}", format_number(self.absolute)),
            (false, true) => write!(f, "± {} %", format_number(100.0 * self.relative)),
            (true, true) => {
                write!(f, "± ({} + {} %)", format_number(self.absolute), format_number(100.0 * self.relative))
            }
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.claim {
            Claim::Near { value, tolerance } if *value == 0.0 && *tolerance == NINE_DIGITS => write!(f, "0 exactly")?,
            Claim::Near { value, tolerance } => write!(f, "{} {tolerance}", format_number(*value))?,
            Claim::AtLeast(least) => write!(f, "≥ {}", format_number(*least))?,
            Claim::AtMost(most) => write!(f, "≤ {}", format_number(*most))?,
            Claim::Monotone(Monotone::Increasing) => write!(f, "always rises")?,
            Claim::Monotone(Monotone::Decreasing) => write!(f, "always falls")?,
            Claim::Monotone(Monotone::Nondecreasing) => write!(f, "never falls")?,
            Claim::Monotone(Monotone::Nonincreasing) => write!(f, "never rises")?,
            Claim::NearRun { name, probe, tolerance, .. } => {
                write!(f, "as in {name}")?;
                if *probe != self.probe {
                    write!(f, " ({probe})")?;
                }
                write!(f, " {tolerance}")?;
            }
        }
        match self.window {
            Window::End => write!(f, ", at the end"),
            Window::At(time) => write!(f, ", at {} s", format_number(time)),
            Window::All => write!(f, ", always"),
            Window::Span(from, to) => write!(f, ", from {} s to {} s", format_number(from), format_number(to)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames at 0, 0.1, …, with the given values of a probe `p`.
    fn history(values: &[f64]) -> ProbeHistory {
        let mut history = ProbeHistory::new(&["p".into()]);
        for (i, value) in values.iter().enumerate() {
            history.push(i as f64 / 10.0, &[*value]);
        }
        history
    }

    fn check(claim: Claim, window: Window, values: &[f64]) -> Checked {
        Rule { probe: "p".into(), claim, window }.evaluate(&history(values), true).unwrap()
    }

    fn near(value: f64, absolute: f64, relative: f64) -> Claim {
        Claim::Near { value, tolerance: Tolerance { absolute, relative } }
    }

    #[test]
    fn a_value_is_compared_at_the_end_or_at_the_nearest_frame() {
        assert!(check(near(3.0, 0.0, 0.0), Window::End, &[1.0, 2.0, 3.0]).passed);
        let at = check(near(2.0, 0.0, 0.0), Window::At(0.12), &[1.0, 2.0, 3.0]);
        assert!(at.passed && at.time == Some(0.1));
        assert!(!check(near(2.0, 0.0, 0.4), Window::End, &[1.0, 2.0, 3.0]).passed);
        assert!(check(near(2.0, 0.5, 0.25), Window::End, &[1.0, 2.0, 3.0]).passed, "tolerances add up");
    }

    #[test]
    fn a_time_beyond_the_run_is_not_reached_instead_of_using_the_last_frame() {
        let late = check(near(3.0, 0.0, 0.0), Window::At(1.0), &[1.0, 2.0, 3.0]);
        assert!(!late.passed && !late.failed() && late.got.is_nan());
        assert_eq!((late.word(), late.got_text().as_str()), ("not reached", "none"));
        let span = check(Claim::AtMost(9.0), Window::Span(5.0, 6.0), &[1.0, 2.0]);
        assert!(!span.passed && !span.failed());
        let reached = check(Claim::AtMost(0.0), Window::Span(0.0, 6.0), &[1.0, 2.0]);
        assert!(reached.failed() && reached.word() == "FAILED");
        let end = Rule { probe: "p".into(), claim: Claim::AtMost(0.0), window: Window::End };
        assert_eq!(end.evaluate(&history(&[1.0, 2.0]), false).unwrap().word(), "not reached");
        assert_eq!(end.evaluate(&history(&[1.0, 2.0]), true).unwrap().word(), "FAILED");
        let always = Rule { window: Window::All, ..end };
        assert_eq!(always.evaluate(&history(&[1.0, 2.0]), false).unwrap().word(), "FAILED");
    }

    #[test]
    fn over_a_span_the_worst_frame_decides() {
        let all = check(near(2.0, 0.5, 0.0), Window::All, &[2.0, 5.0, 2.0]);
        assert_eq!((all.passed, all.got, all.time), (false, 5.0, Some(0.1)));
        assert!(check(near(2.0, 0.5, 0.0), Window::Span(0.2, 0.3), &[2.0, 5.0, 2.0, 2.1]).passed);
        assert!(check(Claim::AtLeast(1.0), Window::All, &[2.0, 1.0]).passed);
        assert!(!check(Claim::AtMost(1.0), Window::All, &[2.0, 1.0]).passed);
    }

    #[test]
    fn not_a_number_never_passes() {
        let claims = [
            near(0.0, f64::INFINITY, 0.0),
            near(f64::NAN, 1.0, 0.0),
            Claim::AtLeast(0.0),
            Claim::AtMost(0.0),
            Claim::Monotone(Monotone::Nondecreasing),
            Claim::Monotone(Monotone::Increasing),
        ];
        for claim in claims {
            for window in [Window::End, Window::All, Window::Span(0.0, 0.2)] {
                let values = [f64::NAN, f64::NAN, f64::NAN];
                let is_one_frame = window == Window::End && matches!(claim, Claim::Monotone(_));
                assert!(is_one_frame || !check(claim.clone(), window, &values).passed, "{claim:?} {window:?}");
            }
        }
        assert!(!check(Claim::AtLeast(0.0), Window::All, &[1.0, -f64::NAN, 2.0]).passed, "nor does NaN with a sign");
    }

    #[test]
    fn monotone_allows_no_step_backward() {
        use Monotone::*;
        let check = |trend, values: &[f64]| check(Claim::Monotone(trend), Window::All, values);
        assert!(check(Nonincreasing, &[3.0, 3.0, 1.0]).passed);
        assert!(!check(Decreasing, &[3.0, 3.0, 1.0]).passed, "standing still is not falling");
        assert!(check(Decreasing, &[3.0, 2.0, 1.0]).passed);
        let rises = check(Nonincreasing, &[3.0, 1.0, 1.5]);
        assert_eq!((rises.passed, rises.got, rises.time), (false, 0.5, Some(0.2)));
        assert!(check(Nonincreasing, &[3.0, 1.0, 1.0 + 1e-13]).passed, "rounding is forgiven");
        assert!(check(Increasing, &[1.0, 2.0]).passed && !check(Increasing, &[1.0, 1.0]).passed);
        assert!(check(Nondecreasing, &[1.0]).passed && check(Nondecreasing, &[1.0, 1.0]).passed);
        assert!(!check(Nondecreasing, &[1.0, f64::NAN, 1.0]).passed);
    }

    #[test]
    fn another_run_is_compared_at_the_same_times() {
        let other = history(&[1.0, 2.0, 4.0]);
        let claim = |relative| Claim::NearRun {
            name: "other.toml".into(),
            history: other.clone(),
            probe: "p".into(),
            tolerance: Tolerance { absolute: 0.0, relative },
        };
        assert!(check(claim(0.1), Window::All, &[1.05, 2.1, 4.2]).passed);
        let far = check(claim(0.01), Window::All, &[1.0, 2.0, 4.2]);
        assert_eq!((far.passed, far.got), (false, 4.2));
        assert!(!check(claim(1.0), Window::All, &[1.0, 2.0, 4.0, 8.0]).passed, "the other run is shorter");
    }

    #[test]
    fn an_unknown_probe_names_its_neighbor() {
        let rule = Rule { probe: "beam.tipp".into(), claim: Claim::AtLeast(0.0), window: Window::End };
        let error = rule.check_names(&["beam.tip".into(), "time".into()]).unwrap_err();
        assert!(error.to_string().contains("did you mean `beam.tip`?"), "{error}");
    }
}
