//! The artist's report as JSON. Pictures are left out; numbers that are not finite become `null`.

use serde_json::{Map, Value, json};
use sinew_rig::Decision;
use sinew_rig::retarget::RetargetReport;

use super::facts::{ArtistFacts, BodyFacts, RegionFacts, Worst};

impl ArtistFacts {
    /// One JSON object. Lengths in meters, times in seconds; only `time`, and advice about it, depends on the machine.
    pub fn to_json(&self) -> Value {
        let picture = |picture: &super::StripPicture| json!({ "frame": picture.frame, "time": picture.time, "animation_frame": picture.animation_frame });
        let slow = |slow: &super::SlowFrame| {
            json!({
                "frame": slow.frame,
                "seconds": slow.seconds,
                "newton_iterations": slow.newton,
                "linear_iterations": slow.linear,
                "contacts": slow.contacts,
            })
        };
        let advice = |advice: &super::Advice| {
            let remedies = advice
                .remedies
                .iter()
                .map(|remedy| json!({ "change": remedy.change, "set": remedy.set, "option": remedy.option }));
            json!({ "finding": advice.finding, "remedies": remedies.collect::<Vec<_>>() })
        };
        let parts: Map<String, Value> =
            self.time.parts.iter().map(|(name, seconds)| (name.clone(), json!(seconds))).collect();
        json!({
            "strip": self.strip.iter().map(picture).collect::<Vec<_>>(),
            "crossing": {
                "frames_checked": self.crossing.frames,
                "triangle_pairs": worst(&self.crossing.crossings),
                "triangle_pairs_since_rest": worst(&self.crossing.at_rest),
                "depth": self.crossing.depth.as_ref().map(worst),
            },
            "bodies": self.bodies.iter().map(body).collect::<Vec<_>>(),
            "time": {
                "seconds": self.time.total,
                "parts": parts,
                "slowest_frames": self.time.slowest.iter().map(slow).collect::<Vec<_>>(),
            },
            "newton_iterations": { "median": self.time.usual_newton, "most": worst(&self.time.most_newton) },
            "advice": self.advice.iter().map(advice).collect::<Vec<_>>(),
        })
    }
}

fn worst<T: Copy + Into<Number>>(worst: &Worst<T>) -> Value {
    let Number(value) = worst.value.into();
    json!({ "value": value, "frame": worst.frame })
}

/// A number of either kind.
struct Number(Value);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(json!(value))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self(json!(value))
    }
}

fn body(body: &BodyFacts) -> Value {
    json!({
        "name": body.name,
        "cells": body.cells,
        "cell": body.cell,
        "parts": body.parts.decisions.iter().map(part).collect::<Vec<_>>(),
        "preset": body.paint.preset,
        "paint": body.paint.layers.iter().map(|(layer, share)| json!({ "layer": layer, "covers": share })).collect::<Vec<_>>(),
        "bones": body.layers.bones,
        "skin_triangles": body.layers.triangles,
        "inverted_cells": worst(&body.inverted),
        "inverted_cells_at_gauss_points": worst(&body.folded),
        "comparison": body.comparison.as_ref().map(|comparison| json!({
            "frame": comparison.frame,
            "distance": comparison.distance,
            "farthest": comparison.farthest,
            "contacts": comparison.contacts,
        })),
        "regions": body.regions.iter().map(region).collect::<Vec<_>>(),
        "stretch": {
            "frame": body.stretch.frame,
            "most": body.stretch.most,
            "largest": body.stretch.largest,
            "smallest": body.stretch.smallest,
        },
        "blend_skinning": body.blend.map(|blend| json!({
            "triangle_pairs": worst(&blend.crossings),
            "depth": blend.depth,
        })),
        "motion": body.motion.as_ref().map(RetargetReport::to_json),
    })
}

fn part(part: &Decision) -> Value {
    json!({
        "name": part.name,
        "triangles": part.triangles,
        "open_edges": part.open_edges,
        "volume": part.volume,
        "role": part.role.name(),
        "why": part.why,
    })
}

fn region(region: &RegionFacts) -> Value {
    json!({
        "name": region.name,
        "cells": region.cells,
        "volume_change": worst(&region.volume_change),
        "inverted_cells": worst(&region.inverted),
        "inverted_cells_at_gauss_points": worst(&region.folded),
    })
}
