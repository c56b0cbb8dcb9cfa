//! Doubts about single measurements: what was measured is not what a muscle of these curves would do.

use std::collections::BTreeMap;

use sinew_scene::spec::lab::Protocol;

use super::apparatus::Reading;
use super::specimen::Specimen;
use super::{count_of, four_digits};
use crate::ranges::{FASTEST, curve_range};

/// Why a measurement is not what it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The lengths of active fibers spread by more than [`MAX_SPREAD`].
    Unstable,
    /// Fibers are faster than `max_velocity`.
    Fast,
    /// Fibers are outside the range of the force curves.
    Range,
    /// The clamp pushes: flesh is in compression, where a real muscle hangs loose.
    Pushes,
}

impl Doubt {
    /// The word in the column `doubts` of the CSV file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unstable => "unstable",
            Self::Fast => "fast",
            Self::Range => "range",
            Self::Pushes => "pushes",
        }
    }

    /// Whether the measurement is not to be trusted. Where the clamp pushes, forces are right for the flesh of the
    /// scene.
    pub fn is_serious(self) -> bool {
        self != Self::Pushes
    }

    /// The reason in a verdict.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Unstable => "fibers are unstable",
            Self::Fast => "fibers are faster than `max_velocity`",
            Self::Range => "fibers leave the range of the force curves",
            Self::Pushes => "the clamp pushes",
        }
    }
}

/// Largest difference between the longest and the shortest active fiber \[optimal lengths\]. The usual active curves fall
/// by a tenth at half of it from the optimum: with a larger spread, fibers of one muscle pull very differently.
pub const MAX_SPREAD: f64 = 0.3;

/// Part of the largest force with which a clamp may push: what a solver leaves.
const PUSH: f64 = 1e-3;

/// Limits of a muscle.
pub(super) struct Limits {
    range: [f64; 2],
    max_velocity: Option<f64>,
    push: f64,
}

impl Limits {
    pub fn of(specimen: &Specimen) -> Self {
        let has_speed = specimen.group.curves.velocity.is_some();
        Self {
            range: curve_range(&specimen.group.curves),
            max_velocity: has_speed.then_some(specimen.group.max_velocity),
            push: PUSH * specimen.max_force(),
        }
    }

    /// The fastest fibers between two states, in maximum shortening speeds; 0 where force does not depend on speed.
    /// Mean and extremes of a set change by no more than its fastest member does.
    pub fn speed(&self, before: &Reading, after: &Reading, secs: f64) -> f64 {
        let lengths = |reading: &Reading| [reading.length, reading.shortest, reading.longest];
        let moved = lengths(before).iter().zip(lengths(after)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        self.max_velocity.map_or(0.0, |most| moved / secs / most)
    }
}

/// A measurement before it is judged.
pub(super) struct Sample<'a> {
    /// Where it was taken, as in `at 0.02 s`.
    pub place: String,
    pub active: &'a Reading,
    /// The relaxed muscle at the same position of the clamp.
    pub relaxed: Option<&'a Reading>,
    /// The fastest fibers, in maximum shortening speeds.
    pub speed: f64,
}

/// The worst measurement of a doubt.
#[derive(Clone, Debug)]
struct Worst {
    amount: f64,
    lengths: [f64; 2],
    place: String,
    count: usize,
}

/// Doubts about the measurements of a protocol.
pub(super) struct Doubts {
    limits: Limits,
    seen: BTreeMap<Doubt, Worst>,
    points: usize,
}

impl Doubts {
    pub fn new(limits: Limits) -> Self {
        Self { limits, seen: BTreeMap::new(), points: 0 }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The doubts about a measurement.
    pub fn judge(&mut self, sample: &Sample<'_>) -> Vec<Doubt> {
        let Reading { shortest, longest, force, .. } = *sample.active;
        let [low, high] = self.limits.range;
        let least = sample.relaxed.map_or(force, |relaxed| force.min(relaxed.force));
        let found = [
            (Doubt::Unstable, longest - shortest, MAX_SPREAD),
            (Doubt::Fast, sample.speed, FASTEST),
            (Doubt::Range, (low - shortest).max(longest - high), 0.0),
            (Doubt::Pushes, -least, self.limits.push),
        ];
        self.points += 1;
        let mut doubts = Vec::new();
        for (doubt, amount, limit) in found {
            if !(amount > limit) {
                continue;
            }
            doubts.push(doubt);
            let now = Worst { amount, lengths: [shortest, longest], place: sample.place.clone(), count: 0 };
            let worst = self.seen.entry(doubt).or_insert_with(|| now.clone());
            let count = worst.count + 1;
            if amount > worst.amount {
                *worst = now;
            }
            worst.count = count;
        }
        doubts
    }

    /// One sentence for each doubt: how large, where, and what to do.
    pub fn warnings(&self, protocol: Protocol) -> Vec<String> {
        self.seen.iter().map(|(&doubt, worst)| self.tell(doubt, worst, protocol)).collect()
    }

    fn tell(&self, doubt: Doubt, worst: &Worst, protocol: Protocol) -> String {
        let Worst { amount, lengths: [shortest, longest], place, count } = worst;
        let of = format!("{} of {}", count, count_of(self.points, "point"));
        let number = |value: f64| four_digits(value);
        match doubt {
            Doubt::Unstable => format!(
                "fibers are unstable at {of}: their lengths spread by {} optimal lengths (from {} to {}) {place}, more than {MAX_SPREAD}; \
                 weak sections stretch while others shorten. Stiffen the flesh (`c10`, `c01` of its material) or thicken the tendons",
                number(*amount),
                number(*shortest),
                number(*longest)
            ),
            Doubt::Fast => {
                let advice = match protocol {
                    Protocol::QuickRelease => "Lengthen `release_time`, or leave out the release itself",
                    Protocol::ForceVelocity | Protocol::Isotonic => {
                        "The recoil of the tendons moves them: raise `release_length`, stiffen the tendons, or leave out the first steps"
                    }
                    _ => "Stiffen the tendons, or raise `max_velocity`",
                };
                format!(
                    "fibers are faster than `max_velocity` at {of}: {} times as fast {place}; \
                     the force–velocity curve says nothing of such speeds. {advice}",
                    number(*amount)
                )
            }
            Doubt::Range => format!(
                "fibers leave the range of the force curves at {of}: they have {} to {} optimal lengths {place}, and the curves cover {} to {}. \
                 Stiffen the flesh, or move the clamp less",
                number(*shortest),
                number(*longest),
                number(self.limits.range[0]),
                number(self.limits.range[1])
            ),
            Doubt::Pushes => format!(
                "the clamp pushes at {of}: with {} N {place}, because flesh is in compression, where a real muscle hangs loose. \
                 Read such forces as zero",
                number(*amount)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubts() -> Doubts {
        Doubts::new(Limits { range: [0.4, 1.6], max_velocity: Some(5.0), push: 0.1 })
    }

    fn reading(shortest: f64, longest: f64, force: f64) -> Reading {
        Reading { length: 0.5 * (shortest + longest), shortest, longest, force, ..Reading::default() }
    }

    fn sample(active: &Reading, speed: f64) -> Sample<'_> {
        Sample { place: format!("at {}", active.length), active, relaxed: None, speed }
    }

    /// Each limit is judged from both sides.
    #[test]
    fn limits_divide_good_from_doubtful() {
        let mut doubts = doubts();
        let good = reading(0.86, 1.14, -0.05);
        assert_eq!(doubts.judge(&sample(&good, 1.0)), []);
        for (active, speed, expected) in [
            (reading(0.8, 1.2, 1.0), 0.0, Doubt::Unstable),
            (good, 1.1, Doubt::Fast),
            (reading(1.45, 1.65, 1.0), 0.0, Doubt::Range),
            (reading(0.35, 0.5, 1.0), 0.0, Doubt::Range),
            (reading(1.0, 1.0, -0.2), 0.0, Doubt::Pushes),
        ] {
            assert_eq!(doubts.judge(&sample(&active, speed)), [expected]);
        }
        let relaxed = reading(1.0, 1.0, -0.2);
        let pressed = Sample { relaxed: Some(&relaxed), ..sample(&good, 0.0) };
        assert_eq!(doubts.judge(&pressed), [Doubt::Pushes]);
        assert!(!Doubt::Pushes.is_serious() && Doubt::Range.is_serious());
    }

    #[test]
    fn warnings_name_the_worst_point() {
        let mut doubts = doubts();
        for spread in [0.4, 0.7123456, 0.1, 0.5] {
            doubts.judge(&sample(&reading(1.0 - 0.5 * spread, 1.0 + 0.5 * spread, 1.0), 0.0));
        }
        let told = doubts.warnings(Protocol::TensionLength);
        assert_eq!(told.len(), 1);
        for part in
            ["3 of 4 points", "spread by 0.7123", "from 0.6438 to 1.356", "Stiffen the flesh", "thicken the tendons"]
        {
            assert!(told[0].contains(part), "{part}: {}", told[0]);
        }
    }

    /// 0.1 lengths in 10 ms are 10 lengths per second, twice as fast as 5.
    #[test]
    fn the_fastest_fibers_count() {
        let limits = doubts().limits;
        assert!((limits.speed(&reading(0.9, 1.0, 0.0), &reading(0.9, 1.1, 0.0), 0.01) - 2.0).abs() < 1e-12);
        let still = Limits { max_velocity: None, ..limits };
        assert_eq!(still.speed(&reading(0.9, 1.0, 0.0), &reading(0.9, 1.1, 0.0), 0.01), 0.0);
    }
}
