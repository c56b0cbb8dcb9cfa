//! The muscle laboratory: which muscle of a scene to examine, and how.

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
    /// A protocol: an experiment on a muscle.
    pub enum Protocol {
        /// Force at many lengths: passive, total, and their difference, the active force.
        "tension-length" => TensionLength,
        /// Shortening speed under several loads, measured where fibers pass their optimal length.
        "force-velocity" => ForceVelocity,
        /// Shortening over time under one load.
        "isotonic" => Isotonic,
        /// Force over time after an active muscle is shortened at once.
        "quick-release" => QuickRelease,
        /// Force over time after one pulse of excitation, at constant length.
        "twitch" => Twitch,
        /// Force over time under a series of pulses of excitation, at constant length.
        "tetanus" => Tetanus,
        /// Shortening without load, as a function of activation.
        "free" => Free,
    }
}

impl Protocol {
    /// The names of all protocols, with their descriptions.
    pub fn words() -> impl Iterator<Item = (&'static str, Self, &'static str)> {
        Self::WORDS.iter().copied()
    }
}

table! {
    /// Expected results of each protocol, by the names of the values that `sinew lab --json` prints.
    pub struct LabExpect as "lab expect" {
        /// Expected results of `sinew lab tension-length`.
        tension_length as "tension-length": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ peak_length = { value = 1, absolute = 0.05 } });
        /// Expected results of `sinew lab force-velocity`.
        force_velocity as "force-velocity": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ largest_error = { max = 0.03 } });
        /// Expected results of `sinew lab isotonic`.
        isotonic: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Expected results of `sinew lab quick-release`.
        quick_release as "quick-release": BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({}), example({ drop = { max = 0.5 } });
        /// Expected results of `sinew lab twitch`.
        twitch: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Expected results of `sinew lab tetanus`.
        tetanus: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
        /// Expected results of `sinew lab free`.
        free: BTreeMap<String, Vec<Expectation>> = map(one_or_many(expectation())), default({});
    }
}

impl LabExpect {
    /// The expected results of one protocol.
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
    /// Measured data to draw beside the curves of each protocol: tables in CSV format whose columns have the names of
    /// those of the protocol, each with its unit: `length, developed_force [N]`. The first column is the abscissa.
    pub struct LabBeside as "lab beside" {
        /// Data of `sinew lab tension-length`.
        tension_length as "tension-length": Option<String> = text("path of a table"), optional, example("tension_length.csv");
        /// Data of `sinew lab force-velocity`.
        force_velocity as "force-velocity": Option<String> = text("path of a table"), optional;
        /// Data of `sinew lab isotonic`.
        isotonic: Option<String> = text("path of a table"), optional;
        /// Data of `sinew lab quick-release`.
        quick_release as "quick-release": Option<String> = text("path of a table"), optional;
        /// Data of `sinew lab twitch`.
        twitch: Option<String> = text("path of a table"), optional;
        /// Data of `sinew lab tetanus`.
        tetanus: Option<String> = text("path of a table"), optional;
        /// Data of `sinew lab free`.
        free: Option<String> = text("path of a table"), optional;
    }
}

impl LabBeside {
    /// The file of one protocol.
    pub fn of(&self, protocol: Protocol) -> Option<&str> {
        match protocol {
            Protocol::TensionLength => &self.tension_length,
            Protocol::ForceVelocity => &self.force_velocity,
            Protocol::Isotonic => &self.isotonic,
            Protocol::QuickRelease => &self.quick_release,
            Protocol::Twitch => &self.twitch,
            Protocol::Tetanus => &self.tetanus,
            Protocol::Free => &self.free,
        }
        .as_deref()
    }

    /// Sets the file of one protocol.
    pub fn set(&mut self, protocol: Protocol, file: String) {
        let own = match protocol {
            Protocol::TensionLength => &mut self.tension_length,
            Protocol::ForceVelocity => &mut self.force_velocity,
            Protocol::Isotonic => &mut self.isotonic,
            Protocol::QuickRelease => &mut self.quick_release,
            Protocol::Twitch => &mut self.twitch,
            Protocol::Tetanus => &mut self.tetanus,
            Protocol::Free => &mut self.free,
        };
        *own = Some(file);
    }
}

table! {
    /// How `sinew lab` examines a muscle. Pins hold one end. The apparatus holds the other: it moves that end along an
    /// axis and measures the force. There is no gravity and no inertia, and other muscles of the body are inactive.
    pub struct Lab as "lab" {
        /// The body. Default: the first one with a muscle.
        body: Option<String> = text("name of a body"), optional, example("calf");
        /// The muscle of the body. Default: the first one.
        muscle: Option<String> = text("name of a muscle"), optional, example("belly");
        /// The region of the pin that the apparatus moves. Default: `insertion`, else the region of the last pin.
        clamp: Option<String> = text("region of a pin"), optional, example("insertion");
        /// The direction in which the apparatus pulls; any length. Default: from the mean position of the other pins to
        /// that of the clamp.
        axis: Option<[f64; 3]> = direction(), optional, example([1, 0, 0]);
        /// Mean length of the fibers at rest \[m\]. Default: that of a procedural muscle, else the extent of the muscle
        /// along the axis.
        fiber_length: Option<f64> = length().positive(), optional, example("6 cm");
        /// Length at which isometric protocols begin, in optimal fiber lengths.
        length: f64 = number().positive(), default(1);
        /// Shortest and longest length of `tension-length`, in optimal fiber lengths.
        lengths: [f64; 2] = fixed(number().positive()), default([0.7, 1.4]);
        /// Number of lengths between them, and number of activation steps of `free`.
        count: usize = whole(3, 10_000), default(15);
        /// Loads of `force-velocity`, as fractions of the isometric force; `isotonic` uses the first one.
        loads: Vec<f64> = list(number().at_least(0.0).below(1.0)), default([0.2, 0.4, 0.6, 0.8]);
        /// Fiber length at which loads are released, in optimal lengths. It exceeds 1, where speeds are measured.
        release_length: f64 = number().above(1.0).below(1.6), default(1.05);
        /// Distance by which `quick-release` shortens the muscle \[m\]. Default: a fifth of the fiber length.
        release: Option<f64> = length().positive(), optional, example("1.3 cm");
        /// Duration of that shortening \[s\].
        release_time: f64 = time().positive(), default("20 ms");
        /// Pulses per second in `tetanus` \[1/s\].
        frequency: f64 = quantity(Dimension::FREQUENCY).positive(), default("50 Hz");
        /// Number of pulses in `tetanus`.
        pulses: usize = whole(1, 100_000), default(15);
        /// Duration of a pulse in `twitch` and `tetanus` \[s\].
        pulse_width: f64 = time().positive(), default("5 ms");
        /// Number of time steps until fibers pass their optimal length in `force-velocity`, and of the whole of
        /// `isotonic`.
        steps: usize = whole(4, 100_000), default(24);
        /// Time step of `quick-release`, `twitch` and `tetanus` \[s\].
        step: f64 = time().positive(), default("2 ms");
        /// Duration of `quick-release`, `twitch` and `isotonic`, and of `tetanus` after its last pulse \[s\]. Default:
        /// 0.2 s for `quick-release`, five time constants of decay for `twitch` and `tetanus`, and twice the expected
        /// time of shortening by a quarter for `isotonic`.
        duration: Option<f64> = time().positive(), optional, example("0.3 s");
        /// Measured data to draw beside the curves; `--beside` takes precedence.
        beside: LabBeside = table(), default({});
        /// Expected results.
        expect: LabExpect = table(), default({});
    }
}
