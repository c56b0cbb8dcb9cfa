//! One-dimensional muscles and tendons between points of a body.

use crate::{
    decode::{
        codec::{flag, length, name, number, quantity, text, whole, word},
        compound::{list, track, vector},
        table::table,
    },
    track::Track,
    value::Dimension,
};

/// Maximum number of generators of a strand; a larger number is a typing error.
pub(crate) const MAX_GENERATORS: usize = 100_000;

words! {
    /// How the generators of a muscle share its force.
    pub enum Scaling {
        /// The columns, which pull side by side, share it: the muscle pulls with `force`.
        "physical" => Physical,
        /// All generators share half of it, as in Chen 1992: four columns of eight generators pull with a sixteenth of
        /// `force`.
        "author" => Author,
    }
}

words! {
    /// Force over length, by source.
    pub enum StrandCurves {
        /// A spline through the points of Delp 1990 and a passive parabola, as in Chen 1992.
        "chen" => Chen,
        /// Two parabolas and an exponential with continuous slopes, as in Teran 2005.
        "teran" => Teran,
        /// Parabolas and an exponential, as in Blemker 2005.
        "blemker" => Blemker,
    }
}

words! {
    /// An end of the columns of a strand.
    pub enum StrandEnd {
        /// Where the columns begin.
        "first" => First,
        /// Where they end.
        "last" => Last,
    }
}

table! {
    /// Columns of generators from one region to another, side by side around the center line of the flesh between them.
    ///
    /// Cross sections are perpendicular to the straight line between the centers of the two regions. A column passes
    /// each section at the same angle about the center of the section, so that it follows the outline of the flesh.
    pub struct Columns as "columns" {
        /// Region where the columns begin.
        from: String = text("name of a region"), required, example("x-min");
        /// Region where the columns end.
        to: String = text("name of a region"), required, example("x-max");
        /// Number of columns; a single one runs along the center line.
        count: usize = whole(1, 1000), default(4);
        /// Number of generators of each column.
        segments: usize = whole(1, 1000), default(8);
        /// Position of the columns between the center line (0) and the surface (1).
        spread: f64 = number().at_least(0.0).below(1.0), default(0.7);
        /// Whether columns run straight from their first point to their last. Columns that follow a bulging outline
        /// press sideways where they bend; straight ones only pull along their direction.
        straight: bool = flag(), default(false);
    }
}

table! {
    /// A muscle made of force generators between points of the flesh. Each pulls its two ends together with
    /// passive_force · fp(l) + force · activation · fa(l) · f(v), shared according to `scaling`; l is length divided by
    /// rest length, and v is speed divided by `max_velocity`.
    pub struct Strand as "strand" {
        /// Name of its channel `BODY.activation.NAME` and of its probes `BODY.strand.NAME.…`.
        name: String = name("letters, digits, `_` and `-`"), default("strand"), example("belly");
        /// Columns of points in the flesh at rest, in body coordinates \[m\]; a generator joins each pair of
        /// consecutive points. Either this or `columns`.
        points: Vec<Vec<[f64; 3]>> = list(list(vector(length()))), default([]), example([[["1 cm", 0, 0], ["2 cm", 0, 0], ["3 cm", 0, 0]]]);
        /// Columns that follow the shape of the flesh. Either this or `points`.
        columns: Option<Columns> = table(), optional, example({ from = "x-min", to = "x-max" });
        /// Maximum isometric force of the whole muscle \[N\].
        force: f64 = quantity(Dimension::FORCE).positive(), required, example("2.77 N");
        /// Passive force of the whole muscle where its curve is 1, at about 1.5 times its rest length \[N\]. Default:
        /// `force`.
        passive_force: Option<f64> = quantity(Dimension::FORCE).at_least(0.0), optional, example("1 N");
        /// How the generators share the forces.
        scaling: Scaling = word(), default("physical");
        /// Whether the force of a generator is proportional to the volume of flesh around it; the mean force stays the
        /// same.
        by_volume: bool = flag(), default(false);
        /// Maximum shortening speed, in rest lengths per second. If given, the active force depends on speed.
        max_velocity: Option<f64> = quantity(Dimension::FREQUENCY).positive(), optional, example(10);
        /// Curves of force over length.
        curves: StrandCurves = word(), default("chen");
        /// Activation over time, from 0 to 1.
        activation: Track<f64> = track(number().at_least(0.0).at_most(1.0)), default(0), example([["0 s", 0], ["1 s", 1]]);
    }
}

table! {
    /// Tendons: strings from points in the flesh to an anchor. They are slack below their rest length; beyond it the
    /// force follows the curve of Zajac 1989, with `force` at a strain of 3.3 %.
    pub struct Tendon as "tendon" {
        /// Name of the channels `BODY.tendon.NAME.x` … and probes `BODY.tendon.NAME.force` …. Default: the name of the
        /// region, or `points`, or the name of the strand with its end.
        name: Option<String> = name("letters, digits, `_` and `-`"), optional, example("achilles");
        /// Nodes where the tendons begin. One of `region`, `points` and `strand`.
        region: Option<String> = text("name of a region"), optional, example("x-max");
        /// Points in the flesh at rest where the tendons begin, in body coordinates \[m\]. One of `region`, `points`
        /// and `strand`.
        points: Vec<[f64; 3]> = list(vector(length())), default([]), example([["6 cm", 0, 0]]);
        /// A strand of the body; the tendons begin at the ends of its columns and pass on its force. One of `region`,
        /// `points` and `strand`.
        strand: Option<String> = text("name of a strand"), optional, example("belly");
        /// The end of that strand at which the tendons begin.
        end: StrandEnd = word(), default("last");
        /// The body or rigid at which the tendons end, or "world".
        to: String = text("name of a body or rigid, or \"world\""), default("world"), example("bone");
        /// The common end of all tendons in the initial pose, in world coordinates \[m\]. Either this or `offset`.
        anchor: Option<[f64; 3]> = vector(length()), optional, example(["8 cm", 0, 0]);
        /// Vector from the beginning of each tendon to its end in the initial pose, in world coordinates \[m\]. Either
        /// this or `anchor`.
        offset: Option<[f64; 3]> = vector(length()), optional, example(["2 cm", 0, 0]);
        /// Total force of all tendons where the curve is 1 \[N\].
        force: f64 = quantity(Dimension::FORCE).positive(), required, example("2.77 N");
        /// Rest length of each tendon \[m\]. Without this and `slack_factor`, tendons are just taut in the initial
        /// pose.
        slack: Option<f64> = length().positive(), optional, example("2 cm");
        /// Rest length of each tendon divided by the distance that it spans in the initial pose.
        slack_factor: Option<f64> = number().positive(), optional, example(1.05);
        /// Displacement over time of anchors in the world \[m\].
        motion: Option<Track<[f64; 3]>> = track(vector(length())), optional, example([["0 s", [0, 0, 0]], ["1 s", ["-1 cm", 0, 0]]]);
    }
}

impl Tendon {
    /// Its name: the given one, or one derived from where the tendons begin.
    pub fn full_name(&self) -> String {
        match (&self.name, &self.region, &self.strand) {
            (Some(name), _, _) => name.clone(),
            (None, Some(region), _) => region.clone(),
            (None, None, Some(strand)) => format!("{strand}-{}", self.end.word()),
            (None, None, None) => "points".into(),
        }
    }
}
