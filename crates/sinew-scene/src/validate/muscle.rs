//! Checks of muscles and fibers.

use sinew_cell::material::Law;

use super::Checker;
use crate::decode::tree::Value;
use crate::spec::body::Body;
use crate::spec::material::{Between, Fibers, Material};
use crate::spec::muscle::{CurveSet, StretchMeasure};

/// Whether cells of a law may have contractile fibers.
fn takes_fibers(material: &Material) -> bool {
    material.law().takes_fibers()
}

impl Checker<'_> {
    /// A law with fibers, and a muscle, need fiber directions; nothing else uses them.
    pub(super) fn check_fibers(&mut self, body: &Body, path: &str) {
        // A law that could not be read has been replaced by another.
        let word = self.scene.source.node(&format!("{path}.material.type")).and_then(|word| word.as_text());
        if word != Some(body.material.word()) {
            return;
        }
        let needs_fibers = body.material.law().needs_fibers();
        let has_fibers = body.fibers.is_some() || body.mesh.source().has_fibers();
        if needs_fibers && !has_fibers {
            let message = format!("body `{}` needs `fibers`: its law has fibers", body.name);
            let problem = self.at(&format!("{path}.material"), message);
            self.report(problem.hint("for example `fibers = { along = [1, 0, 0] }`"));
        } else if body.fibers.is_some() && !needs_fibers && body.muscle.is_empty() {
            let message = format!("the law `{}` has no fibers", body.material.word());
            let problem = self.at(&format!("{path}.fibers"), message);
            self.report(
                problem.hint("use `type = \"fiber_reinforced\"`, give the body a `muscle`, or leave `fibers` out"),
            );
        }
        if let Some(Fibers::Between(between)) = &body.fibers {
            self.check_between(body, between, &format!("{path}.fibers"));
        }
    }

    pub(super) fn check_muscles(&mut self, body: &Body, path: &str) {
        let word = self.scene.source.node(&format!("{path}.material.type")).and_then(|word| word.as_text());
        let is_read = word == Some(body.material.word());
        let others = body.material_regions.iter().filter_map(|part| part.material.as_ref());
        let is_taken = takes_fibers(&body.material) || others.into_iter().any(takes_fibers);
        if !body.muscle.is_empty() && !body.mesh.is_lattice() && is_read && !is_taken {
            let message = format!("the law `{}` does not support muscle fibers", body.material.word());
            let problem = self.at(&format!("{path}.material.type"), message);
            let laws: Vec<&str> = Law::plain().filter(|law| law.takes_fibers()).map(Law::name).collect();
            let laws = laws.join("`, `");
            self.report(
                problem.hint(format!(
                    "use `type = \"muscle\"` or one of `{laws}`, or a mesh with `element = \"lattice\"`"
                )),
            );
        }
        for (i, muscle) in body.muscle.iter().enumerate() {
            let at = format!("{path}.muscle[{i}]");
            self.check_region(body, &muscle.region, &format!("{at}.region"));
            if let Some(Fibers::Between(between)) = &muscle.fibers {
                self.check_between(body, between, &format!("{at}.fibers"));
            }
            if muscle.excitation.is_some() && self.scene.source.node(&format!("{at}.activation")).is_some() {
                let message = "a muscle has either `activation` or `excitation`, not both";
                let problem = self.at(&format!("{at}.excitation"), message);
                self.report(problem);
            }
            for key in ["active_curve", "passive_curve", "velocity_curve"] {
                // An omitted curve is empty too; the curve of `curves` then replaces it.
                let is_empty = self
                    .scene
                    .source
                    .node(&format!("{at}.{key}"))
                    .is_some_and(|node| matches!(node.value, Value::List(_)) && node.items().is_empty());
                if is_empty {
                    let problem = self.at(&format!("{at}.{key}"), "a curve needs at least one point");
                    self.report(problem.hint("leave it out to use that of `curves`"));
                }
            }
            if !muscle.velocity_curve.is_empty() && muscle.max_velocity.is_none() {
                let message = "a force–velocity curve needs `max_velocity`, the unit of its speeds";
                let problem = self.at(&format!("{at}.velocity_curve"), message);
                self.report(problem.hint("for example `max_velocity = \"10 1/s\"`"));
            }
            if body.mesh.is_lattice() {
                let is_plain = muscle.curves == CurveSet::Teran
                    && muscle.active_curve.is_empty()
                    && muscle.passive_curve.is_empty()
                    && muscle.max_velocity.is_none()
                    && muscle.optimal_stretch == 1.0
                    && muscle.stretch != Some(StretchMeasure::Isochoric);
                if !is_plain {
                    let message = "muscles of bodies on lattices support only the curves `teran` and the full stretch";
                    let problem = self.at(&at, message);
                    self.report(problem.hint("leave out curves, speed and stretch, or use a mesh of other cells"));
                }
            }
        }
    }

    pub(super) fn check_between(&mut self, body: &Body, between: &Between, fibers: &str) {
        self.check_region(body, &between.from, &format!("{fibers}.between.from"));
        self.check_region(body, &between.to, &format!("{fibers}.between.to"));
        if between.from == between.to && !between.from.is_empty() {
            let problem =
                self.at(&format!("{fibers}.between.to"), "fibers must not end in the region where they start");
            self.report(problem);
        }
    }
}
