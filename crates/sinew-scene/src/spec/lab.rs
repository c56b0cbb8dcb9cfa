//! The muscle laboratory: which muscle of a scene is examined, and how.

use std::collections::BTreeMap;

use super::expect::{Expectation, expectation};
use crate::{
    decode::{
        codec::{Words, length, number, quantity, text, time, whole},
        compound::{direction, fixed, list, map, one_or_many},
        table::table,
    },
    value::Dimension,
};

words! {
    /// What is done to a muscle.
    pub enum Protocol {
        /// Force at many lengths: passive, total, and their difference, which fibers develop.
        "tension-length" => TensionLength,
        /// Speed of shortening under several loads, read where fibers pass their optimal length.
        "force-velocity" => ForceVelocity,
        /// Shortening over time under one load.
        "isotonic" => Isotonic,
        /// Force over time after an active muscle is shortened in an instant.
        "quick-release" => QuickRelease,
        /// Force over time after one pulse of excitation, at constant length.
        "twitch" => Twitch,
        /// Force over time under many pulses of excitation, at constant length.
        "tetanus" => Tetanus,
        /// Shortening without load, over activation.
        "free" => Free,
    }
}

impl Protocol {
    /// Words of all protocols, with what they mean.
    pub fn words() -> impl Iterator<Item = (&'static str, Self, &'static str)> {
        Self::WORDS.iter().copied()
    }
}

table! {
    /// What must come out of each protocol, by the name of a figure that `sinew lab --json` tells.
    pub struct LabExpect as "lab expect" {
        /// Of `sinew lab tension-length`.
        tension_length as "tension-length": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ peak_length = { value = 1, absolute = 0.05 } });
        /// Of `sinew lab force-velocity`.
        force_velocity as "force-velocity": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ largest_error = { max = 0.03 } });
        /// Of `sinew lab isotonic`.
        isotonic: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Of `sinew lab quick-release`.
        quick_release as "quick-release": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ drop = { max = 0.5 } });
        /// Of `sinew lab twitch`.
        twitch: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Of `sinew lab tetanus`.
        tetanus: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Of `sinew lab free`.
        free: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
    }
}

impl LabExpect {
    /// What is expected of one protocol.
    pub fn of(&self, protocol: Protocol) -> &BTreeMap<String, Vec<Expectation>> {
        match protocol {
            Protocol::TensionLength => &self.tension_length,
            Protocol::ForceVelocity => &self.force_velocity,
            Protocol::Isotonic => &self.isotonic,
            Protocol::QuickRelease => &self.quick_release,
            Protocol::Twitch => &self.twitch,
            Protocol::Tetanus => &self.tetanus,
            Protocol::Free => &self.free,
        }
    }
}

table! {
    /// How `sinew lab` examines a muscle. One end is held by its pins, the other by the apparatus, which moves it along an axis and reads its force. Gravity is off, inertia is left
    /// out, and other muscles of the body rest.
    pub struct Lab as "lab" {
        /// The body; the first one with a muscle when left out.
        body: Option<String> = text("name of a body"), optional, example("calf");
        /// Its muscle; the first one when left out.
        muscle: Option<String> = text("name of a muscle"), optional, example("belly");
        /// The pin that the apparatus moves, by its region; when left out the one on `insertion`, else the last one.
        clamp: Option<String> = text("region of a pin"), optional, example("insertion");
        /// Along which the apparatus pulls; any length. From the mean place of the other pins to that of the clamp when left out.
        axis: Option<[f64; 3]> = direction(), optional, example([1, 0, 0]);
        /// Mean length of the fibers at rest \[m\]; when left out that of a procedural muscle, else the extent of the muscle along the axis.
        fiber_length: Option<f64> = length().positive(), optional, example("6 cm");
        /// Length at which isometric protocols begin, in optimal lengths of the fibers.
        length: f64 = number().positive(), default(1);
        /// Shortest and longest length of `tension-length`, in optimal lengths.
        lengths: [f64; 2] = fixed(number().positive()), default([0.7, 1.4]);
        /// How many lengths between them, and how many steps of activation of `free`.
        count: usize = whole(3, 10_000), default(15);
        /// Loads of `force-velocity`, as fractions of the isometric force; `isotonic` takes the first.
        loads: Vec<f64> = list(number().at_least(0.0).below(1.0)), default([0.2, 0.4, 0.6, 0.8]);
        /// Length of the fibers at which loads are released, in optimal lengths: above 1, where speeds are read.
        release_length: f64 = number().above(1.0).below(1.6), default(1.05);
        /// By how much `quick-release` shortens the muscle \[m\]; a fifth of the fibers when left out.
        release: Option<f64> = length().positive(), optional, example("1.3 cm");
        /// How long that takes \[s\].
        release_time: f64 = time().positive(), default("20 ms");
        /// Pulses per second of `tetanus` \[1/s\].
        frequency: f64 = quantity(Dimension::FREQUENCY).positive(), default("50 Hz");
        /// How many pulses `tetanus` has.
        pulses: usize = whole(1, 100_000), default(15);
        /// How long a pulse of `twitch` and `tetanus` lasts \[s\].
        pulse_width: f64 = time().positive(), default("5 ms");
        /// Steps of time until fibers pass their optimal length in `force-velocity`, and of the whole of `isotonic`.
        steps: usize = whole(4, 100_000), default(24);
        /// Time step of `quick-release`, `twitch` and `tetanus` \[s\].
        step: f64 = time().positive(), default("2 ms");
        /// How long `quick-release`, `twitch` and `isotonic` are watched, and `tetanus` after its last pulse \[s\]; as long as something is likely to happen when left out.
        duration: Option<f64> = time().positive(), optional, example("0.3 s");
        /// What must come out.
        expect: LabExpect = table(), default({});
    }
}
