//! Cells that are taken away: when, and by whom they are seen.

use super::Checker;
use crate::spec::body::Body;
use crate::spec::removal::Removal;
use crate::value::{Dimension, format_quantity};

impl Checker<'_> {
    /// `is_sound`: times that could not be read have been replaced by others.
    pub(super) fn check_removals(&mut self, index: usize, body: &Body, is_sound: bool) {
        let scene = self.scene;
        for (k, removal) in body.remove.iter().enumerate() {
            let path = Removal::path(scene, index, k);
            self.check_region(body, &removal.region, &format!("{path}.region"));
            // A millionth of a frame is rounding.
            if is_sound && removal.at * scene.frame_rate > scene.frame_count() as f64 + 1e-6 {
                let problem = self.at(&format!("{path}.at"), "these cells go after the end of the scene");
                let end = format_quantity(scene.duration, Dimension::TIME);
                self.report(problem.label(format!("it lasts {end}")));
            }
        }
        if body.remove.is_empty() {
            return;
        }
        let path = Removal::path(scene, index, 0);
        if body.manufactured.is_some() {
            let problem = self.at(&path, "a body that is compared with a known solution keeps its cells");
            self.report(problem.hint("leave out `remove` or `manufactured`"));
        }
        if scene.body.iter().any(|body| body.rig.is_some()) {
            let problem = self.at(&path, "cells cannot go in a scene with a character");
            self.report(problem.hint("skins and the page of the run compare every frame with the first"));
        }
        let record = &scene.record;
        let outputs = [("glb", &record.glb), ("pc2", &record.pc2), ("mdd", &record.mdd), ("npz", &record.npz)];
        for (key, _) in outputs.into_iter().filter(|(key, output)| output.file_name(key).is_some()) {
            let message = format!("`{key}` files have the same surface at all times, and `{}` loses cells", body.name);
            let problem = self.at(&format!("record.{key}"), message);
            self.report(problem.hint("use `vtu`, `usd`, `obj` or `ply`, which follow"));
        }
    }
}
