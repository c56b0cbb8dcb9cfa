//! Which keys of a skeleton and its bones go together.

use super::Checker;
use crate::spec::rig::{AttachmentStiffnessMap, Bone, Hold, Rig};

impl Checker<'_> {
    pub(super) fn check_rig(&mut self, rig: &Rig, path: &str) {
        if rig.hold == Hold::Slide {
            let problem =
                self.at(&format!("{path}.hold"), "flesh would slide over all bones, and nothing would hold it");
            self.report(problem.hint("say it of single bones: `bones = [{ joint = …, hold = \"slide\" }]`"));
            return;
        }
        if rig.still && rig.animation.is_some() {
            let problem = self.at(&format!("{path}.animation"), "a character that is `still` has no animation");
            self.report(problem.hint("remove `still` or `animation`"));
        }
        if let Some(map) = &rig.attachment_stiffness_map {
            self.check_softness_map(map, &format!("{path}.attachment_stiffness_map"));
        }
        for (k, bone) in rig.bones.iter().enumerate() {
            self.check_bone(bone, bone.hold.unwrap_or(rig.hold), &format!("{path}.bones[{k}]"));
        }
    }

    fn check_softness_map(&mut self, map: &AttachmentStiffnessMap, path: &str) {
        if map.attribute.is_some() == map.texture.is_some() {
            let problem = self.at(path, "an attachment stiffness map needs either `attribute` or `texture`");
            self.report(problem.hint("for instance `attribute = \"_ATTACHMENT\"`"));
        }
        if map.range[0] == map.range[1] {
            let problem = self.at(&format!("{path}.range"), "both ends of the range are the same");
            self.report(problem.hint("leave it out for 0 to 1"));
        }
    }

    fn check_bone(&mut self, bone: &Bone, hold: Hold, path: &str) {
        let forms = [bone.ends.is_some(), bone.mesh.is_some(), bone.surface.is_some()];
        if forms.into_iter().filter(|is_given| *is_given).count() != 1 {
            let problem =
                self.at(path, "a bone is a capsule or a surface: it needs `ends`, `mesh` or `surface`, one of them");
            self.report(problem.hint("for instance `ends = [[0, 0, 0], [0, \"20 cm\", 0]], radius = \"8 mm\"`"));
        } else if bone.ends.is_some() != bone.radius.is_some() {
            let problem = self.at(path, "`ends` and `radius` belong together");
            self.report(problem.hint("they make a capsule, for instance `radius = \"8 mm\"`"));
        }
        if hold == Hold::Soft && bone.ends.is_none() {
            let problem = self.at(path, "springs pull along the axis of a bone, and a surface has none");
            self.report(problem.hint("say `hold = \"hard\"` or `hold = \"slide\"`, or give it `ends` and `radius`"));
        }
        if hold != Hold::Soft && bone.attachment_stiffness.is_some() {
            let problem =
                self.at(&format!("{path}.attachment_stiffness"), "`attachment_stiffness` belongs to `hold = \"soft\"`");
            self.report(problem.hint("say `hold = \"soft\"`, or leave it out"));
        }
        if hold != Hold::Slide && bone.cover > 0.0 {
            let problem = self.at(&format!("{path}.cover"), "`cover` belongs to `hold = \"slide\"`");
            self.report(problem.hint("flesh that a bone holds stays on it anyway"));
        }
    }
}
