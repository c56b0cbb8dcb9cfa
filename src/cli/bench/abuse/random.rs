//! Random choices, the same on every machine.

/// SplitMix64 \[Steele14\].
pub struct Random(u64);

impl Random {
    /// The choices of a seed. Consecutive seeds are unrelated.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0xD134_2543_DE82_EF95));
        random.bits();
        random
    }

    /// The choices from a state of the generator, for scenes that must not change.
    pub fn from_state(state: u64) -> Self {
        Self(state)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in \[0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number between two others.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number between two positive ones, uniform in its logarithm.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// An integer in a closed range.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.unit() * (high - low + 1) as f64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A random choice by weights.
    pub fn pick<T: Copy>(&mut self, choices: &[(f64, T)]) -> T {
        let total: f64 = choices.iter().map(|choice| choice.0).sum();
        let mut left = self.unit() * total;
        for &(weight, choice) in choices {
            left -= weight;
            if left < 0.0 {
                return choice;
            }
        }
        choices[choices.len() - 1].1
    }

    /// A unit vector.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let v = [self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0)];
            let square: f64 = v.iter().map(|c| c * c).sum();
            if square > 0.01 && square <= 1.0 {
                return v.map(|c| rounded(c / square.sqrt()));
            }
        }
    }
}

/// The number rounded to four digits: short in a file, and exact when read again.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_their_weights_and_limits() {
        let mut random = Random::new(3);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[random.pick(&[(1.0, 0), (2.0, 1), (7.0, 2)])] += 1;
            assert!((2..=4).contains(&random.whole(2, 4)));
            assert!((1e-3..1e3).contains(&random.magnitude(1e-3, 1e3)));
            let length: f64 = random.direction().iter().map(|c| c * c).sum::<f64>().sqrt();
            assert!((length - 1.0).abs() < 1e-3);
        }
        // Standard deviations are below 50.
        for (count, expected) in counts.iter().zip([1000i32, 2000, 7000]) {
            assert!((count - expected).abs() < 250, "{counts:?}");
        }
    }

    #[test]
    fn one_seed_is_one_sequence() {
        let sequence = |seed| {
            let mut random = Random::new(seed);
            [random.unit(), random.unit(), random.unit()]
        };
        assert_eq!(sequence(5), sequence(5));
        assert_ne!(sequence(5), sequence(6));
    }

    #[test]
    fn rounded_numbers_have_four_digits() {
        assert_eq!(rounded(0.123456), 0.1235);
        assert_eq!(rounded(-98764.0), -98760.0);
        assert_eq!(rounded(0.0), 0.0);
    }
}
