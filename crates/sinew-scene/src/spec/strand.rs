//! Muscle and tendon of one dimension between points of a body.

use crate::{
    decode::{
        codec::{flag, length, name, number, quantity, text, whole, word},
        compound::{list, track, vector},
        table::table,
    },
    track::Track,
    value::Dimension,
};

/// Most generators of a strand: more are a mistyped number.
pub(crate) const MAX_GENERATORS: usize = 100_000;

words! {
    /// How the force of a muscle is shared by its generators.
    pub enum Scaling {
        /// By its columns, which pull side by side: the muscle pulls with `force`.
        "physical" => Physical,
        /// By all generators, and halved, as Chen 1992 does it: four columns of eight pull with a sixteenth of `force`.
        "author" => Author,
    }
}

words! {
    /// Force over length, by source.
    pub enum StrandCurves {
        /// A spline through the points of Delp 1990 and a passive parabola, as Chen 1992 has them.
        "chen" => Chen,
        /// Two parabolas and an exponential with continuous slopes, as Teran 2005 has them.
        "teran" => Teran,
        /// Parabolas and an exponential, as Blemker 2005 has them.
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
    /// Columns of generators from one region to another, side by side around the middle line of the flesh between them.
    ///
    /// The flesh is cut across the straight line between the centers of the two regions; columns pass from cut to cut at the same angles about the middle of each, so
    /// that they follow its outline.
    pub struct Columns as "columns" {
        /// Where they begin.
        from: String = text("name of a region"), required, example("x-min");
        /// Where they end.
        to: String = text("name of a region"), required, example("x-max");
        /// Number of columns; a single one runs through the middle.
        count: usize = whole(1, 1000), default(4);
        /// Generators of each.
        segments: usize = whole(1, 1000), default(8);
        /// Where they run between the middle of the flesh (0) and its surface (1).
        spread: f64 = number().at_least(0.0).below(1.0), default(0.7);
        /// Whether they run straight from their first place to their last. Columns that follow a bulging outline press where they bend; straight ones pull along themselves alone.
        straight: bool = flag(), default(false);
    }
}

table! {
    /// A muscle of force generators between points of the flesh: each pulls its two ends together with passive_force · fp(l) + force · activation · fa(l) · f(v), shared as
    /// `scaling` says, at length l over its length at rest and speed v over `max_velocity`.
    pub struct Strand as "strand" {
        /// Name of its channel `BODY.activation.NAME` and of its probes `BODY.strand.NAME.…`.
        name: String = name("letters, digits, `_` and `-`"), default("strand"), example("belly");
        /// Columns of places in the flesh at rest, in coordinates of the body \[m\]; neighbors are joined by a generator. Either this or `columns`.
        points: Vec<Vec<[f64; 3]>> = list(list(vector(length()))), default([]), example([[["1 cm", 0, 0], ["2 cm", 0, 0], ["3 cm", 0, 0]]]);
        /// Columns that follow the shape of the flesh. Either this or `points`.
        columns: Option<Columns> = table(), optional, example({ from = "x-min", to = "x-max" });
        /// Greatest isometric force of the whole muscle \[N\].
        force: f64 = quantity(Dimension::FORCE).positive(), required, example("2.77 N");
        /// Passive force of the whole muscle where its curve is 1, at about 1.5 times its length \[N\]; `force` when left out.
        passive_force: Option<f64> = quantity(Dimension::FORCE).at_least(0.0), optional, example("1 N");
        /// How the forces are shared by the generators.
        scaling: Scaling = word(), default("physical");
        /// Whether generators are stronger where there is more flesh around them, in proportion to its volume; as strong as the others on average.
        by_volume: bool = flag(), default(false);
        /// Greatest shortening speed, in lengths at rest per second; with it the active force depends on the speed.
        max_velocity: Option<f64> = quantity(Dimension::FREQUENCY).positive(), optional, example(10);
        /// Force over length.
        curves: StrandCurves = word(), default("chen");
        /// How active it is over time, from 0 to 1.
        activation: Track<f64> = track(number().at_least(0.0).at_most(1.0)), default(0), example([["0 s", 0], ["1 s", 1]]);
    }
}

table! {
    /// Tendons: strings from points of the flesh to an anchor, slack below their length at rest; beyond, force and strain follow the curve of Zajac 1989, with `force` at a strain
    /// of 3.3 %.
    pub struct Tendon as "tendon" {
        /// Name of its channels `BODY.tendon.NAME.x` … and probes `BODY.tendon.NAME.force` …; when left out that of the region, or `points`, or that of the strand with its
        /// end.
        name: Option<String> = name("letters, digits, `_` and `-`"), optional, example("achilles");
        /// Nodes where they begin. One of this, `points` and `strand`.
        region: Option<String> = text("name of a region"), optional, example("x-max");
        /// Places in the flesh at rest where they begin, in coordinates of the body \[m\]. One of this, `region` and `strand`.
        points: Vec<[f64; 3]> = list(vector(length())), default([]), example([["6 cm", 0, 0]]);
        /// A strand of the body at whose columns they begin, so that its force goes on in them. One of this, `region` and `points`.
        strand: Option<String> = text("name of a strand"), optional, example("belly");
        /// Which end of that strand.
        end: StrandEnd = word(), default("last");
        /// What they end at: another body or rigid, or "world".
        to: String = text("name of a body or rigid, or \"world\""), default("world"), example("bone");
        /// Where all of them end in the initial pose, in the world \[m\]. Either this or `offset`.
        anchor: Option<[f64; 3]> = vector(length()), optional, example(["8 cm", 0, 0]);
        /// From where each begins to where it ends in the initial pose, in the world \[m\]. Either this or `anchor`.
        offset: Option<[f64; 3]> = vector(length()), optional, example(["2 cm", 0, 0]);
        /// Force of all of them together where the curve is 1 \[N\].
        force: f64 = quantity(Dimension::FORCE).positive(), required, example("2.77 N");
        /// Length of each at rest \[m\]. When neither this nor `slack_factor` is given they are just taut in the initial pose.
        slack: Option<f64> = length().positive(), optional, example("2 cm");
        /// Length of each at rest over the distance that it spans in the initial pose.
        slack_factor: Option<f64> = number().positive(), optional, example(1.05);
        /// How anchors in the world move \[m\].
        motion: Option<Track<[f64; 3]>> = track(vector(length())), optional, example([["0 s", [0, 0, 0]], ["1 s", ["-1 cm", 0, 0]]]);
    }
}

impl Tendon {
    /// Its name, given or by where it begins.
    pub fn full_name(&self) -> String {
        match (&self.name, &self.region, &self.strand) {
            (Some(name), _, _) => name.clone(),
            (None, Some(region), _) => region.clone(),
            (None, None, Some(strand)) => format!("{strand}-{}", self.end.word()),
            (None, None, None) => "points".into(),
        }
    }
}
