//! Muscles: active fibers in flesh.

use super::material::Fibers;
use crate::{
    decode::{
        codec::{number, quantity, text, word},
        compound::{fixed, list, track},
        table::one_of,
    },
    track::Track,
    value::Dimension,
};

words! {
    /// Force–length curves by name; lengths are in optimal fiber lengths.
    pub enum CurveSet {
        /// Curves of Teran 2005: smooth everywhere; active force from 0.4 to 1.6 with its maximum at 1.
        "teran" => Teran,
        /// Curves of Blemker 2005: the same active force; the passive force starts with a kink at 1.
        "blemker" => Blemker,
        /// Curves of Chen 1992: Delp's active force and the passive force 4 (l − 1)².
        "chen" => Chen,
    }
}

words! {
    /// The stretch on which fiber tension depends.
    pub enum StretchMeasure {
        /// The stretch without the change of volume: active flesh keeps its volume.
        "isochoric" => Isochoric,
        /// The measured stretch: active flesh with a small bulk modulus loses volume.
        "full" => Full,
    }
}

table! {
    /// Contractile fibers in the cells of a region. Their stress is stress · (activation · f(l) · h(v) + g(l)) along
    /// the fiber at length l and speed v. Here f and g are the active and the passive curve; h, the force–velocity
    /// curve, is 1 unless `max_velocity` is given. Where muscles share cells, the last one counts.
    pub struct Muscle as "muscle" {
        /// The name in the channel `BODY.activation.NAME` and in probes. Default: the name of the region.
        name: Option<String> = text("a name"), optional, example("biceps");
        /// The region: cells whose center lies in it, or whose nodes all belong to it.
        region: String = text("name of a region"), default("all"), example("biceps");
        /// Directions of the fibers. Default: those of the mesh or the body.
        fibers: Option<Fibers> = one_of(), optional, example({ along = [1, 0, 0] });
        /// Active stress per rest area at optimal length and full activation \[Pa\].
        stress: f64 = quantity(Dimension::PRESSURE).positive(), default("300 kPa");
        /// Activation over time, from 0 to 1.
        activation: Track<f64> = track(number().at_least(0.0).at_most(1.0)), default(0), example([["0 s", 0], ["1 s", 1]]);
        /// Excitation over time, from 0 to 1, in place of `activation`. Activation then starts at 0 and follows with
        /// the time constants `rise` and `decay`.
        excitation: Option<Track<f64>> = track(number().at_least(0.0).at_most(1.0)), optional, example([["0 s", 1], ["5 ms", 0]]);
        /// Time constant with which activation follows a larger excitation \[s\].
        rise: f64 = quantity(Dimension::TIME).positive(), default("10 ms");
        /// Time constant with which activation follows a smaller excitation \[s\].
        decay: f64 = quantity(Dimension::TIME).positive(), default("40 ms");
        /// Curves of tension over length.
        curves: CurveSet = word(), default("teran"), example("chen");
        /// Points of the active force–length curve (length in optimal lengths, force divided by its maximum), in place
        /// of that of `curves`.
        active_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[0.5, 0], [1, 1], [1.5, 0]]);
        /// Points of the passive force–length curve, in place of that of `curves`.
        passive_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[1, 0], [1.2, 0.1], [1.5, 1]]);
        /// Maximum shortening speed \[optimal lengths per second\]. If given, force depends on speed.
        max_velocity: Option<f64> = quantity(Dimension::FREQUENCY).positive(), optional, example("10 1/s");
        /// Points of the force–velocity curve (speed in maximum shortening speeds, negative for shortening; force 1 at
        /// rest), in place of the arctangents of Chen.
        velocity_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[-1, 0], [0, 1], [1, 1.4]]);
        /// Stretch at which the fibers have their optimal length.
        optimal_stretch: f64 = number().positive().hinted("this is the stretch at which the fibers pull most; 1 if the mesh shows them at optimal length"), default(1);
        /// The stretch on which tension depends. Default: isochoric. Bodies on lattices support `full` only.
        stretch: Option<StretchMeasure> = word(), optional, example("full");
    }
}
