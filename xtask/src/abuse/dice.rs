//! Repeatable random choices.

/// A linear congruential generator; each case has its own.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The choices of a case.
    pub fn new(case: u64) -> Self {
        let mut dice = Self(case.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The first numbers of neighboring seeds resemble one another.
        for _ in 0..4 {
            dice.roll(2);
        }
        dice
    }

    /// A number below `sides`; 0 for 0.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.roll(count) == 0
    }

    /// One of some items.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.roll(items.len())]
    }
}
