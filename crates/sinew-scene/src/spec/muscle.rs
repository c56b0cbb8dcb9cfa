//! Muscles: fibers that pull.

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
    /// Force–length curves by name, over length in optimal lengths.
    pub enum CurveSet {
        /// The curves of variant A: smooth everywhere; active force from 0.4 to 1.6, most at 1.
        "teran" => Teran,
        /// The curves of Blemker: active force as above, passive force that starts with a kink at 1.
        "blemker" => Blemker,
        /// The curves of Chen: Delp's active force, the passive force 4 (l − 1)².
        "chen" => Chen,
    }
}

words! {
    /// Which stretch the tension of fibers answers to.
    pub enum StretchMeasure {
        /// What is left of the stretch when the change of volume is taken out: active flesh keeps its volume.
        "isochoric" => Isochoric,
        /// The stretch that one would measure: active flesh with a small bulk modulus loses volume.
        "full" => Full,
    }
}

table! {
    /// Fibers that pull, in the cells of a region: with stress · (activation · f(l) · h(v) + g(l)) along their direction at length l and speed v, where f and g are the active
    /// and the passive curve and h, the force–velocity curve, is 1 unless `max_velocity` is given. Where muscles share cells the last one has them.
    pub struct Muscle as "muscle" {
        /// Its name, in the channel `BODY.activation.NAME` and in probes; that of its region when left out.
        name: Option<String> = text("a name"), optional, example("biceps");
        /// The cells: those whose center lies in the region, or whose nodes all belong to it.
        region: String = text("name of a region"), default("all"), example("biceps");
        /// Where its fibers run; as the mesh or the body says when left out.
        fibers: Option<Fibers> = one_of(), optional, example({ along = [1, 0, 0] });
        /// Pull per rest area at optimal length and full activation \[Pa\].
        stress: f64 = quantity(Dimension::PRESSURE).positive(), default("300 kPa");
        /// How active it is over time, from 0 to 1.
        activation: Track<f64> = track(number().at_least(0.0).at_most(1.0)), default(0), example([["0 s", 0], ["1 s", 1]]);
        /// How excited it is over time, from 0 to 1, in place of `activation`: that then follows from 0 with the time constants `rise` and `decay`.
        excitation: Option<Track<f64>> = track(number().at_least(0.0).at_most(1.0)), optional, example([["0 s", 1], ["5 ms", 0]]);
        /// Time constant with which activation follows a larger excitation \[s\].
        rise: f64 = quantity(Dimension::TIME).positive(), default("10 ms");
        /// Time constant with which activation follows a smaller excitation \[s\].
        decay: f64 = quantity(Dimension::TIME).positive(), default("40 ms");
        /// The curves of tension over length.
        curves: CurveSet = word(), default("teran"), example("chen");
        /// Active force over length by points (length in optimal lengths, force over the largest), in place of that of `curves`.
        active_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[0.5, 0], [1, 1], [1.5, 0]]);
        /// Passive force over length by points, in place of that of `curves`.
        passive_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[1, 0], [1.2, 0.1], [1.5, 1]]);
        /// Greatest shortening speed \[optimal lengths per second\]. With it force depends on speed; without, fibers pull the same at every speed.
        max_velocity: Option<f64> = quantity(Dimension::FREQUENCY).positive(), optional, example("10 1/s");
        /// Force over speed by points (speed in greatest shortening speeds, negative for shortening; 1 at rest), in place of the arctangents of Chen.
        velocity_curve: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[-1, 0], [0, 1], [1, 1.4]]);
        /// Stretch at which the fibers have their optimal length.
        optimal_stretch: f64 = number().positive().hinted("it is the stretch of the fibres at which they pull most; 1 when the mesh is drawn at optimal length"), default(1);
        /// Which stretch they answer to: isochoric when left out. Bodies on lattices know the full one only.
        stretch: Option<StretchMeasure> = word(), optional, example("full");
    }
}
