//! Checks of rigids, colliders and contact.

use super::Checker;
use crate::spec::motion::Motion;
use crate::spec::rigid::{ColliderShape, Side};
use crate::suggest;

impl Checker<'_> {
    pub(super) fn check_rigids(&mut self) {
        let scene = self.scene;
        for (i, rigid) in scene.rigid.iter().enumerate() {
            let path = format!("rigid[{i}]");
            if rigid.density.is_some() && rigid.mass.is_some() {
                let problem = self.at(&format!("{path}.mass"), "a rigid has either `density` or `mass`, not both");
                self.report(problem);
            }
            if rigid.fixed && rigid.motion.is_some() {
                let problem = self.at(&format!("{path}.motion"), "a rigid that is `fixed` has no motion");
                self.report(problem.hint("remove `fixed` or `motion`"));
            }
            self.check_rigid_motion(rigid.motion.as_ref(), &path);
        }
        for (i, collider) in scene.collider.iter().enumerate() {
            let path = format!("collider[{i}]");
            self.check_rigid_motion(collider.motion.as_ref(), &path);
            if let (ColliderShape::Plane(_), Side::Inside) = (&collider.shape, collider.side) {
                let problem = self.at(&format!("{path}.side"), "a half-space cannot lie inside flesh");
                self.report(problem.hint("give it another shape, or leave `side` out"));
            }
            if let ColliderShape::Capsule(capsule) = &collider.shape
                && capsule.ends[0] == capsule.ends[1]
            {
                let problem = self.at(&format!("{path}.shape.ends"), "the two ends of a capsule must differ");
                self.report(problem.hint("a capsule without length is `type = \"sphere\"`"));
            }
        }
    }

    pub(super) fn check_contact(&mut self) {
        let scene = self.scene;
        let Some(contact) = &scene.contact else { return };
        let limit = |path: String| {
            scene
                .source
                .problem(&path, "the tangential stiffness must not exceed the normal stiffness")
                .hint("give at most 1")
        };
        let mut problems = Vec::new();
        if contact.tangential > 1.0 {
            problems.push(limit("contact.tangential".into()));
        }
        let known: Vec<&str> = (scene.body.iter().map(|body| body.name.as_str()))
            .chain(scene.rigid.iter().map(|rigid| rigid.name.as_str()))
            .chain(scene.collider.iter().map(|collider| collider.name.as_str()))
            .collect();
        for (i, pair) in contact.pair.iter().enumerate() {
            if pair.tangential.is_some_and(|share| share > 1.0) {
                problems.push(limit(format!("contact.pair[{i}].tangential")));
            }
            for (k, name) in pair.between.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                if !known.contains(&name.as_str()) {
                    let path = format!("contact.pair[{i}].between[{k}]");
                    let problem = scene.source.problem(&path, format!("there is no body, rigid or collider `{name}`"));
                    problems.push(match suggest::hint(name, known.clone(), "bodies, rigids and colliders") {
                        Some(hint) => problem.hint(hint),
                        None => problem,
                    });
                }
            }
        }
        problems.into_iter().for_each(|problem| self.report(problem));
    }

    fn check_rigid_motion(&mut self, motion: Option<&Motion>, path: &str) {
        if motion.is_some_and(|motion| motion.deformation.is_some()) {
            let problem = self.at(&format!("{path}.motion.deformation"), "rigids and colliders cannot deform");
            self.report(problem.hint("`deformation` is for the pins of a body"));
        }
    }
}
