//! Checks of skeletons and bones: combinations of keys.

use std::path::Path;

use super::Checker;
use crate::motion::is_built_in;
use crate::spec::SolverKind;
use crate::spec::art::Paint;
use crate::spec::rig::{AttachmentStiffnessMap, Bone, Hold, MotionRest, Rig};

impl Checker<'_> {
    pub(super) fn check_rig(&mut self, rig: &Rig, path: &str) {
        if rig.hold == Hold::Slide {
            let problem =
                self.at(&format!("{path}.hold"), "flesh would slide over all bones, and nothing would hold it");
            self.report(problem.hint("set it for single bones: `bones = [{ joint = …, hold = \"slide\" }]`"));
            return;
        }
        if rig.still && rig.animation.is_some() {
            let problem = self.at(&format!("{path}.animation"), "a character that is `still` has no animation");
            self.report(problem.hint("remove `still` or `animation`"));
        }
        self.check_motion(rig, path);
        if let Some(map) = &rig.attachment_stiffness_map {
            self.check_softness_map(map, &format!("{path}.attachment_stiffness_map"));
        }
        for (k, paint) in rig.paint.iter().enumerate() {
            self.check_paint(paint, &format!("{path}.paint[{k}]"));
        }
        if rig.jiggle.is_some() && self.scene.solver.kind != SolverKind::Quasistatic {
            let problem = self.at(&format!("{path}.jiggle"), "flesh with inertia jiggles by itself");
            self.report(problem.hint("leave `jiggle` out, or set `type = \"quasistatic\"` of `[solver]`"));
        }
        for (k, bone) in rig.bones.iter().enumerate() {
            self.check_bone(bone, bone.hold.unwrap_or(rig.hold), &format!("{path}.bones[{k}]"));
        }
    }

    fn check_motion(&mut self, rig: &Rig, path: &str) {
        if rig.still && rig.motion.is_some() {
            let problem = self.at(&format!("{path}.motion"), "a character that is `still` has no motion");
            self.report(problem.hint("remove `still` or `motion`"));
        }
        let has_one = |motion: &str| {
            let end = Path::new(motion).extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
            is_built_in(motion) || matches!(end.as_deref(), Some("bvh" | "toml"))
        };
        if let (Some(motion), Some(_)) = (rig.motion.as_deref().filter(|motion| has_one(motion)), &rig.animation) {
            let message = format!("`{motion}` is a single motion: there is nothing to choose");
            let problem = self.at(&format!("{path}.animation"), message);
            self.report(problem.hint("remove `animation`"));
        }
        if rig.motion.is_none() {
            let given = [
                ("motion_map", !rig.motion_map.is_empty()),
                ("in_place", rig.in_place),
                ("keep", !rig.keep.is_empty()),
                ("motion_rest", rig.motion_rest != MotionRest::File),
            ];
            for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                let problem = self.at(&format!("{path}.{key}"), format!("`{key}` needs a `motion`"));
                self.report(
                    problem
                        .hint("for example `motion = \"walk.bvh\"`; animations of the character are used as they are"),
                );
            }
        }
    }

    fn check_softness_map(&mut self, map: &AttachmentStiffnessMap, path: &str) {
        if map.attribute.is_some() == map.texture.is_some() {
            let problem = self.at(path, "an `attachment_stiffness_map` needs either `attribute` or `texture`");
            self.report(problem.hint("for example `attribute = \"_ATTACHMENT\"`"));
        }
        if map.range[0] == map.range[1] {
            let problem = self.at(&format!("{path}.range"), "both ends of the range are the same");
            self.report(problem.hint("leave it out to use 0 to 1"));
        }
    }

    fn check_paint(&mut self, paint: &Paint, path: &str) {
        let sources = paint.sources();
        if let [first, .., last] = sources[..] {
            let problem = self
                .at(&format!("{path}.{last}"), format!("a layer of paint has one mask, not `{first}` and `{last}`"));
            self.report(problem.hint("make two layers of it; later ones go over earlier ones"));
        }
        if paint.channel.is_some() && paint.attribute.is_none() && paint.texture.is_none() {
            let problem = self.at(&format!("{path}.channel"), "`channel` needs an `attribute` or a `texture`");
            self.report(problem.hint("for example `attribute = \"COLOR_0\"`"));
        }
        if paint.range[0] == paint.range[1] {
            let problem = self.at(&format!("{path}.range"), "both ends of the range are the same");
            self.report(problem.hint("leave it out to use 0 to 1"));
        }
        if paint.values().next().is_none() {
            let problem = self.at(path, "a layer of paint that sets nothing");
            self.report(problem.hint("give it `stiffness`, `fat`, `sliding`, `answer` or `jiggle`"));
        }
    }

    fn check_bone(&mut self, bone: &Bone, hold: Hold, path: &str) {
        let forms = [bone.ends.is_some(), bone.mesh.is_some(), bone.surface.is_some()];
        if forms.into_iter().filter(|is_given| *is_given).count() != 1 {
            let problem =
                self.at(path, "a bone is a capsule or a surface: it needs exactly one of `ends`, `mesh` and `surface`");
            self.report(problem.hint("for example `ends = [[0, 0, 0], [0, \"20 cm\", 0]], radius = \"8 mm\"`"));
        } else if bone.ends.is_some() != bone.radius.is_some() {
            let problem = self.at(path, "`ends` and `radius` belong together");
            self.report(problem.hint("they define a capsule, for example `radius = \"8 mm\"`"));
        }
        if hold == Hold::Soft && bone.ends.is_none() {
            let problem = self.at(path, "springs act along the axis of a bone, but a surface has no axis");
            self.report(problem.hint("use `hold = \"hard\"` or `hold = \"slide\"`, or give it `ends` and `radius`"));
        }
        if !matches!(hold, Hold::Soft | Hold::Auto) && bone.attachment_stiffness.is_some() {
            let problem =
                self.at(&format!("{path}.attachment_stiffness"), "`attachment_stiffness` needs `hold = \"soft\"`");
            self.report(problem.hint("use `hold = \"soft\"`, or leave it out"));
        }
        if hold != Hold::Slide && bone.cover > 0.0 {
            let problem = self.at(&format!("{path}.cover"), "`cover` needs `hold = \"slide\"`");
            self.report(problem.hint("other bones hold their flesh, so its thickness is kept"));
        }
    }
}
