//! Art direction of a character: presets, paint, and jiggle.

use crate::{
    decode::{
        codec::{length, number, quantity, text, word},
        compound::{fixed, one_or_many},
    },
    value::Dimension,
};

words! {
    /// A kind of flesh, as a starting point: [`Preset::look`] has its values, and paint goes over them.
    pub enum Preset {
        /// Firm muscle with a thin layer of fat: little wobble, quick to settle. Stiffness 2, fat 0.1, jiggle 9 Hz, 5 %.
        "lean" => Lean,
        /// Fat over half of the depth, which slides a little: soft folds, a heavy wobble. Stiffness 0.8, fat 0.5, sliding
        /// 0.3, jiggle 4 Hz, 30 %.
        "stocky" => Stocky,
        /// Clean shapes near blend skinning, with a bouncy follow-through: half of the answer, jiggle 3 Hz, 40 %.
        "toon" => Toon,
        /// Soft all the way to the bones, which slide in it: wobbles long and widely. Stiffness 0.5, fat 0.9, sliding 0.6,
        /// jiggle 2 Hz, 60 %.
        "jelly" => Jelly,
    }
}

/// What paint sets, at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Factor on the stiffness of the flesh.
    pub stiffness: f64,
    /// Share of the depth between skin and bone that is fat, from the skin inward.
    pub fat: f64,
    /// How freely flesh slides over bones, from 0 to 1.
    pub sliding: f64,
    /// Share of the flesh's answer that the skin shows; the rest is blend skinning.
    pub answer: f64,
    /// Share of the jiggle.
    pub jiggle: f64,
}

impl Look {
    /// Flesh as it is without paint.
    pub const PLAIN: Self = Self { stiffness: 1.0, fat: 0.0, sliding: 0.0, answer: 1.0, jiggle: 1.0 };
}

/// Presets with their flesh and their jiggle.
const PRESETS: [(Preset, Look, Jiggle); 4] = [
    (Preset::Lean, Look { stiffness: 2.0, fat: 0.1, ..Look::PLAIN }, jiggle(9.0, 0.05)),
    (Preset::Stocky, Look { stiffness: 0.8, fat: 0.5, sliding: 0.3, ..Look::PLAIN }, jiggle(4.0, 0.3)),
    (Preset::Toon, Look { answer: 0.5, ..Look::PLAIN }, jiggle(3.0, 0.4)),
    (Preset::Jelly, Look { stiffness: 0.5, fat: 0.9, sliding: 0.6, ..Look::PLAIN }, jiggle(2.0, 0.6)),
];

const fn jiggle(frequency: f64, overshoot: f64) -> Jiggle {
    Jiggle { frequency, overshoot }
}

impl Preset {
    fn row(self) -> &'static (Preset, Look, Jiggle) {
        &PRESETS[PRESETS.iter().position(|row| row.0 == self).unwrap_or_default()]
    }

    /// The flesh under all paint.
    pub fn look(self) -> Look {
        self.row().1
    }

    /// How it jiggles.
    pub fn jiggle(self) -> Jiggle {
        self.row().2.clone()
    }
}

words! {
    /// A component of a painted attribute, or a channel of a picture.
    pub enum Channel {
        /// The first: red.
        "r" => R,
        /// The second: green.
        "g" => G,
        /// The third: blue.
        "b" => B,
        /// The fourth: alpha.
        "a" => A,
    }
}

table! {
    /// A layer of paint on a character. Its mask is 1 where it covers and 0 where it does not: the whole skin, or what names
    /// or a map say. It brings each value that it has closer to that value, as far as the mask says; later layers go over
    /// earlier ones, and all over the `preset`. Cells take the paint of the nearest point of the skin.
    pub struct Paint as "paint" {
        /// Joints: the mask is the sum of their weights, as in a vertex group.
        joint: Vec<String> = one_or_many(text("name of a joint")), default([]), example("thigh");
        /// Materials: the mask is 1 on triangles that have one of them.
        material: Vec<String> = one_or_many(text("name of a material")), default([]), example(["belly", "chest"]);
        /// Surfaces or nodes of the file: the mask is 1 on them.
        part: Vec<String> = one_or_many(text("name of a surface")), default([]), example("body");
        /// A vertex attribute: `COLOR_0`, or a scalar such as `_FAT`.
        attribute: Option<String> = text("name of an attribute"), optional, example("COLOR_0");
        /// A picture (.png or .jpg) on the skin with TEXCOORD_0; its brightness counts, unless there is a `channel`.
        texture: Option<String> = text("path of a file"), optional, example("fat.png");
        /// The component of the attribute or the channel of the picture. Default: the first, and brightness.
        channel: Option<Channel> = word(), optional, example("g");
        /// The painted values at which the mask is 0 and 1; values beyond are cut.
        range: [f64; 2] = fixed(number()), default([0, 1]);
        /// The width over which the mask fades in and out along the skin \[m\].
        border: f64 = length().at_least(0.0), default(0), example("2 cm");
        /// Factor on the stiffness of the flesh.
        stiffness: Option<f64> = number().at_least(0.01).at_most(100.0), optional, example(2);
        /// Share of the depth between skin and bone that is [fat](tissues.md), from the skin inward: 0 to 1.
        fat: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.5);
        /// How freely flesh slides over its bones, 0 to 1: cells around a bone lose so much of their resistance to shear (up
        /// to 95 %), and keep that to pressure.
        sliding: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.8);
        /// Share of the flesh's answer that the skin shows, 0 to 1: 0 is blend skinning.
        answer: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.5);
        /// Share of the jiggle, 0 to 1: 0 is without.
        jiggle: Option<f64> = number().at_least(0.0).at_most(1.0), optional, example(0.5);
    }
}

impl Paint {
    /// Its source of a mask, by key; `None` for the whole skin.
    pub fn sources(&self) -> Vec<&'static str> {
        let given = [
            ("joint", !self.joint.is_empty()),
            ("material", !self.material.is_empty()),
            ("part", !self.part.is_empty()),
            ("attribute", self.attribute.is_some()),
            ("texture", self.texture.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect()
    }

    /// What it covers and what it sets, for people.
    pub fn describe(&self) -> String {
        let names = [("joint", &self.joint), ("material", &self.material), ("part", &self.part)];
        let mut covers: Vec<String> = Vec::new();
        for (key, names) in names.into_iter().filter(|(_, names)| !names.is_empty()) {
            covers.push(format!("{key} {}", names.join(", ")));
        }
        covers.extend(self.attribute.clone());
        covers.extend(self.texture.clone());
        let covers = if covers.is_empty() { "the whole skin".into() } else { covers.join(", ") };
        let values = self.values().map(|(key, value)| format!("{key} {value}"));
        format!("{covers}: {}", values.collect::<Vec<_>>().join(", "))
    }

    /// The values that it sets.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let values = [
            ("stiffness", self.stiffness),
            ("fat", self.fat),
            ("sliding", self.sliding),
            ("answer", self.answer),
            ("jiggle", self.jiggle),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }
}

table! {
    /// How flesh jiggles, on top of quasistatics: skin swings about where flesh is in equilibrium, at this frequency, and
    /// after a jump it goes beyond its rest by this share of the way. The softest flesh swings fully, flesh at bones not at
    /// all, in proportion to how far it would sag.
    pub struct Jiggle as "jiggle" {
        /// How often it swings, as one sees it \[Hz\].
        frequency: f64 = quantity(Dimension::FREQUENCY).positive().at_most(1000.0), required, example("4 Hz");
        /// How far it swings beyond its rest, as a share of the way there: 0 to 0.95. Below 0.2 all of the swing is
        /// smaller.
        overshoot: f64 = number().positive().at_most(0.95), default(0.2), example(0.4);
    }
}

/// The overshoot below which the swing itself is smaller. Flesh that nothing brakes but its bones overshoots a jump by
/// e⁻² = 13.5 % at least, however it is damped: it must not lag behind in even motion, so that its error has no mean.
const LEAST_OVERSHOOT: f64 = 0.2;

impl Jiggle {
    /// Decay rate σ and angular frequency ω of the swing e^(−σt) cos(ωt) \[1/s\].
    ///
    /// Damped against its moving place, flesh answers to a jump of it by r = −e^(−σt) cos(ωt + θ)/cos θ with tan θ = σ/ω,
    /// whose first extreme is the overshoot o = exp(−(π − 2θ) tan θ).
    pub fn rates(&self) -> [f64; 2] {
        let wanted = -self.overshoot.max(LEAST_OVERSHOOT).ln();
        // The exponent rises with θ, from 0 to 2.
        let [mut low, mut high] = [0.0, std::f64::consts::FRAC_PI_2];
        for _ in 0..60 {
            let angle = 0.5 * (low + high);
            let is_less = (std::f64::consts::PI - 2.0 * angle) * angle.tan() < wanted;
            *(if is_less { &mut low } else { &mut high }) = angle;
        }
        let frequency = std::f64::consts::TAU * self.frequency;
        [frequency * low.tan(), frequency]
    }

    /// Share of the inertia that swings.
    pub fn share(&self) -> f64 {
        (self.overshoot / LEAST_OVERSHOOT).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_row_and_says_its_values() {
        for (preset, look, jiggle) in PRESETS {
            assert_eq!((preset.look(), preset.jiggle()), (look, jiggle));
        }
        assert_eq!(Preset::Toon.look().answer, 0.5);
    }

    #[test]
    fn overshoot_gives_damping() {
        for (overshoot, share) in [(0.9, 1.0), (0.4, 1.0), (0.2, 1.0), (0.05, 0.25)] {
            let jiggle = jiggle(4.0, overshoot);
            let [decay, frequency] = jiggle.rates();
            let angle = (decay / frequency).atan();
            let first = (-(std::f64::consts::PI - 2.0 * angle) * angle.tan()).exp();
            assert!((first * share - overshoot).abs() < 1e-9 && (jiggle.share() - share).abs() < 1e-12, "{overshoot}");
        }
    }
}
