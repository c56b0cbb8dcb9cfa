//! The verdict on a protocol: how close the muscle is to an ideal one, and which measurements are in doubt.

use super::apparatus::Reading;
use super::doubts::{Doubt, MAX_SPREAD};
use super::session::Sheet;
use super::specimen::Specimen;
use super::{count_of, four_digits};

/// Largest difference from an ideal muscle that needs no explanation: the flesh between fibers costs less.
pub const CLOSE: f64 = 0.1;

/// Difference between relaxed and active fibers at one position of the clamp from which on tendons count as soft
/// \[optimal lengths\].
const GIVE: f64 = 0.02;
/// Speed from which on fibers do not count as at rest, in maximum shortening speeds.
const STILL: f64 = 0.02;
/// Thinnest section of a muscle of nearly constant thickness, as a part of its mean section.
const THIN: f64 = 0.85;
/// Change of volume from which on the flesh counts as compressible.
const SWELLS: f64 = 0.02;

/// How a verdict turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// No measurement is in doubt, and the muscle is close to an ideal one or has no ideal to compare with.
    Sound,
    /// No measurement is in doubt, but the muscle is far from an ideal one.
    Unlike,
    /// Some measurements are not to be trusted.
    Doubtful,
}

impl Grade {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Unlike => "unlike",
            Self::Doubtful => "doubtful",
        }
    }
}

/// What to think of a protocol, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How it turned out.
    pub grade: Grade,
    /// The line.
    pub text: String,
}

/// Differences from an ideal muscle, as parts of its force or speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// Differences of the measurements, in their order; empty if the protocol as a whole has one only.
    pub of_points: Vec<f64>,
    /// Differences of the protocol as a whole.
    pub of_all: Vec<f64>,
    /// What was compared.
    pub what: &'static str,
}

impl Comparison {
    /// The largest difference; NaN if nothing was compared.
    pub fn largest(&self) -> f64 {
        largest(self.of_points.iter().chain(&self.of_all))
    }
}

fn largest<'a>(differences: impl Iterator<Item = &'a f64>) -> f64 {
    differences.copied().filter(|difference| difference.is_finite()).fold(f64::NAN, f64::max)
}

/// A developed force, and what an ideal muscle would develop.
pub(super) struct ForceTrial<'a> {
    /// Developed force \[N\].
    pub developed: f64,
    /// Force of an ideal muscle \[N\].
    pub ideal: f64,
    /// What the ideal is made of, as in `stress × PCSA × cos α`.
    pub made_of: &'static str,
    pub active: &'a Reading,
    /// The relaxed muscle at the same position of the clamp.
    pub relaxed: &'a Reading,
    /// Speed of the fastest fibers there, in maximum shortening speeds.
    pub speed: f64,
}

/// A force that is far from that of an ideal muscle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FarForce {
    /// By how much.
    pub short: String,
    /// By how much, why, and what to do.
    pub long: String,
}

impl ForceTrial<'_> {
    /// Difference from the ideal, as a part of it.
    pub fn difference(&self) -> f64 {
        (self.developed / self.ideal - 1.0).abs()
    }

    /// What to say if the force is far from the ideal.
    pub fn far(&self, specimen: &Specimen) -> Option<FarForce> {
        let difference = self.difference();
        let side = if self.developed < self.ideal { "below" } else { "above" };
        (difference > CLOSE).then(|| FarForce {
            short: format!("the force is {} {side} {}", percent(difference), self.made_of),
            long: format!(
                "the developed force, {} N, is {} {side} {} = {} N: {}",
                four_digits(self.developed),
                percent(difference),
                self.made_of,
                four_digits(self.ideal),
                self.causes(specimen.thinnest_section).join("; ")
            ),
        })
    }

    /// Why the force is far from the ideal.
    fn causes(&self, thinnest: Option<f64>) -> Vec<String> {
        let Self { active, relaxed, .. } = self;
        let mut causes = Vec::new();
        let spread = active.longest - active.shortest;
        let is_thin = thinnest.filter(|&part| part < THIN);
        if let Some(part) = is_thin.filter(|_| self.developed < self.ideal) {
            causes.push(format!(
                "its thinnest section has {} of the mean cross-section, and fibers in series pull no more than the weakest of them. \
                 Thicken the tendons (`tendon_width`)",
                percent(part)
            ));
        } else if spread > MAX_SPREAD {
            causes.push(format!(
                "its fibers have {} to {} optimal lengths at once, and few of them are near their optimum. \
                 Stiffen the flesh (`c10`, `c01` of its material)",
                four_digits(active.shortest),
                four_digits(active.longest)
            ));
        }
        let give = relaxed.length - active.length;
        if give > GIVE {
            causes.push(format!(
                "tendons or sheets give way, so that active fibers are {} optimal lengths shorter than relaxed ones at the same position of the clamp: \
                 the flesh between them no longer carries the passive force that is subtracted. Stiffen tendons and sheets",
                four_digits(give)
            ));
        }
        if self.speed > STILL {
            causes.push(format!(
                "some fibers still move at {} of `max_velocity`. Stiffen tendons and sheets, or stimulate for longer",
                percent(self.speed)
            ));
        }
        if (active.volume - 1.0).abs() > SWELLS {
            causes.push(format!(
                "its volume changes by {}. Raise the `bulk` modulus of the flesh",
                percent((active.volume - 1.0).abs())
            ));
        }
        if causes.is_empty() {
            causes.push(
                "lengths, sections and volume do not say why. Refine the cells, and look at the deformed muscle with `sinew run`"
                    .into(),
            );
        }
        causes
    }
}

/// The verdict on measurements.
pub(super) fn verdict(sheet: &Sheet, comparison: &Comparison, far: Option<&FarForce>) -> Verdict {
    let points = sheet.rows.len();
    let is_trusted = |doubts: &Vec<Doubt>| !doubts.iter().any(|doubt| doubt.is_serious());
    let doubtful = sheet.doubts.iter().filter(|doubts| !is_trusted(doubts)).count();
    let pushes = sheet.doubts.iter().filter(|doubts| doubts.contains(&Doubt::Pushes)).count();
    if doubtful > 0 {
        let mut reasons: Vec<Doubt> =
            sheet.doubts.iter().flatten().copied().filter(|doubt| doubt.is_serious()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let reasons: Vec<&str> = reasons.into_iter().map(Doubt::reason).collect();
        let verb = if doubtful == 1 { "is" } else { "are" };
        let mut text =
            format!("{doubtful} of {} {verb} not to be trusted: {}", count_of(points, "point"), reasons.join(", "));
        let trusted = comparison.of_points.iter().zip(&sheet.doubts).filter(|(_, doubts)| is_trusted(doubts));
        let rest = largest(trusted.map(|(difference, _)| difference));
        if rest.is_finite() {
            text += &format!("; the others are within {} of an ideal muscle", percent_up(rest));
        }
        if let Some(far) = far {
            text += &format!("; {}", far.short);
        }
        return Verdict { grade: Grade::Doubtful, text };
    }
    let difference = comparison.largest();
    let (grade, mut text) = if difference.is_nan() {
        (Grade::Sound, "no measurement is in doubt".to_string())
    } else if difference <= CLOSE {
        let text =
            format!("the muscle behaves as an ideal one within {} ({})", percent_up(difference), comparison.what);
        (Grade::Sound, text)
    } else {
        let text = format!(
            "no measurement is in doubt, but the muscle is {} off an ideal one ({})",
            percent(difference),
            comparison.what
        );
        (Grade::Unlike, text)
    };
    if pushes > 0 {
        text += &format!("; the clamp pushes at {pushes} of {}", count_of(points, "point"));
    }
    Verdict { grade, text }
}

/// A part as percents with two digits.
fn percent(part: f64) -> String {
    let rounded: f64 = format!("{:.1e}", 100.0 * part).parse().unwrap_or(f64::NAN);
    format!("{rounded} %")
}

/// The same, rounded up: "within 2 %" must hold.
fn percent_up(part: f64) -> String {
    let percents = 100.0 * part;
    let unit = 10f64.powf(percents.max(1e-6).log10().floor() - 1.0);
    percent((percents / unit - 1e-9).ceil() * unit / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(doubts: Vec<Vec<Doubt>>) -> Sheet {
        Sheet { columns: vec!["length"], rows: vec![vec![1.0]; doubts.len()], doubts }
    }

    fn comparison(of_points: &[f64]) -> Comparison {
        Comparison { of_points: of_points.to_vec(), of_all: Vec::new(), what: "force" }
    }

    #[test]
    fn a_verdict_has_one_line_for_each_case() {
        let (none, fast, pushes) = (Vec::new, || vec![Doubt::Fast], || vec![Doubt::Pushes]);
        let far = FarForce { short: "the force is 21 % below".into(), long: String::new() };
        for (doubts, of_points, is_far, grade, text) in [
            (
                vec![none(), none()],
                vec![0.0141, 0.002],
                false,
                Grade::Sound,
                "the muscle behaves as an ideal one within 1.5 % (force)",
            ),
            (
                vec![none(), pushes()],
                vec![0.01, 0.002],
                false,
                Grade::Sound,
                "the muscle behaves as an ideal one within 1 % (force); the clamp pushes at 1 of 2 points",
            ),
            (
                vec![none(), none()],
                vec![0.284, 0.002],
                true,
                Grade::Unlike,
                "no measurement is in doubt, but the muscle is 28 % off an ideal one (force)",
            ),
            (vec![none(), none()], vec![], false, Grade::Sound, "no measurement is in doubt"),
            (
                vec![fast(), none()],
                vec![0.9, 0.02],
                false,
                Grade::Doubtful,
                "1 of 2 points is not to be trusted: fibers are faster than `max_velocity`; the others are within 2 % of an ideal muscle",
            ),
            (
                vec![fast(), vec![Doubt::Unstable, Doubt::Fast]],
                vec![0.9, 0.8],
                true,
                Grade::Doubtful,
                "2 of 2 points are not to be trusted: fibers are unstable, fibers are faster than `max_velocity`; the force is 21 % below",
            ),
        ] {
            let found = verdict(&sheet(doubts), &comparison(&of_points), is_far.then_some(&far));
            assert_eq!(found, Verdict { grade, text: text.into() });
        }
    }

    #[test]
    fn what_is_claimed_holds() {
        assert_eq!(["0.5 %", "1 %", "12 %"].map(String::from), [0.00495, 0.01, 0.1149].map(percent_up));
        assert_eq!(percent(0.204), "20 %");
    }

    #[test]
    fn causes_follow_from_what_was_measured() {
        let relaxed = Reading { length: 1.0, shortest: 1.0, longest: 1.0, volume: 1.0, ..Reading::default() };
        let trial = |active: &Reading, thinnest: Option<f64>| {
            let trial =
                ForceTrial { developed: 70.0, ideal: 100.0, made_of: "", active, relaxed: &relaxed, speed: 0.0 };
            trial.causes(thinnest).join("\n")
        };
        let uneven = Reading { shortest: 0.7, longest: 1.4, ..relaxed };
        assert!(trial(&uneven, Some(0.41)).contains("thinnest section has 41 %"));
        assert!(trial(&uneven, Some(0.99)).contains("0.7 to 1.4 optimal lengths"));
        let moving =
            ForceTrial { developed: 7.0, ideal: 10.0, made_of: "", active: &relaxed, relaxed: &relaxed, speed: 0.1 };
        assert!(moving.causes(None)[0].contains("still move at 10 %"));
        let soft = Reading { length: 0.9, ..relaxed };
        assert!(trial(&soft, None).contains("active fibers are 0.1 optimal lengths shorter"));
        let swollen = Reading { volume: 1.07, ..relaxed };
        assert!(trial(&swollen, None).contains("volume changes by 7 %"));
        assert!(trial(&relaxed, None).contains("Refine the cells"));
    }
}
