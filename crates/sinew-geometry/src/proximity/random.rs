//! Repeatable random numbers for the tests.

use sinew_math::Vec3;

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point of the cube \[−1, 1\]³.
    pub fn point(&mut self) -> Vec3 {
        Vec3::new(self.unit(), self.unit(), self.unit()) * 2.0 - Vec3::splat(1.0)
    }

    /// A vector of length one.
    pub fn direction(&mut self) -> Vec3 {
        loop {
            let p = self.point();
            if (0.01..1.0).contains(&p.norm_squared()) {
                return p.normalized();
            }
        }
    }
}
