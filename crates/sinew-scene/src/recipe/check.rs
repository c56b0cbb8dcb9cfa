//! Checks of several values of a recipe together.

use std::collections::BTreeSet;

use super::shape::{Csg, Part};
use super::tissue::{Kind, Tissue, TissueFibers};
use super::{Recipe, image::Image};
use crate::decode::codec::MAX_PROBLEMS;
use crate::diagnostic::Diagnostic;
use crate::suggest;

/// Checks a decoded recipe; `is_sound` is true if decoding found no problem.
pub(super) fn check(recipe: &Recipe, is_sound: bool, problems: &mut Vec<Diagnostic>) {
    let mut checker = Checker { recipe, problems };
    checker.check_images();
    checker.check_names();
    for (i, tissue) in recipe.tissue.iter().enumerate() {
        checker.check_tissue(tissue, &format!("tissue[{i}]"));
    }
    if is_sound && recipe.tissue.is_empty() {
        let problem = Diagnostic::nowhere("the recipe has no tissue");
        checker.report(problem.hint("add a `[[tissue]]`; `sinew new recipe.toml --image FILE` drafts them all"));
    }
    checker.check_morph();
}

struct Checker<'a> {
    recipe: &'a Recipe,
    problems: &'a mut Vec<Diagnostic>,
}

impl Checker<'_> {
    fn report(&mut self, problem: Diagnostic) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.recipe.source.problem(path, message)
    }

    fn check_images(&mut self) {
        let recipe = self.recipe;
        let many = recipe.image.len() > 1;
        let is_list = recipe.source.node("image").is_some_and(|node| !node.items().is_empty());
        for (i, image) in recipe.image.iter().enumerate() {
            let path = if is_list { format!("image[{i}]") } else { "image".to_string() };
            self.check_image(image, &path);
            if many && image.name.is_none() {
                let problem = self.at(&path, "each of several images needs a `name`");
                self.report(problem.hint("tissues refer to it by `image = \"NAME\"`"));
            }
        }
    }

    fn check_image(&mut self, image: &Image, path: &str) {
        match (&image.file, &image.phantom) {
            (None, None) => {
                let problem = self.at(path, "an image needs `file` or `phantom`");
                self.report(problem.hint("for example `file = \"arm.nii.gz\"`"));
            }
            (Some(_), Some(_)) => {
                let problem = self.at(&format!("{path}.phantom"), "an image has either `file` or `phantom`, not both");
                self.report(problem);
            }
            (Some(file), None) => self.check_file(file, &format!("{path}.file"), true),
            (None, Some(_)) => {}
        }
    }

    fn check_file(&mut self, reference: &str, path: &str, may_be_folder: bool) {
        if let Some(name) = reference.strip_prefix('@') {
            let source = &self.recipe.source;
            if !self.recipe.volumes.contains_key(name) && source.attached(reference).is_none() {
                let problem = self.at(path, format!("nothing is attached to the recipe as `{reference}`"));
                self.report(problem.hint("from Python give the Volume or the Mesh itself"));
            }
            return;
        }
        let file = self.recipe.source.resolve(reference);
        if reference.is_empty() || file.is_file() || (may_be_folder && file.is_dir()) {
            return;
        }
        let problem = self
            .at(path, format!("cannot find the file `{reference}`"))
            .label(format!("looked for `{}`", file.display()));
        self.report(match suggest::near_file(&file) {
            Some(near) => problem.hint(format!("did you mean `{}`?", near.display())),
            None => problem.hint("files are relative to the folder of the recipe"),
        });
    }

    fn check_names(&mut self) {
        let mut seen = BTreeSet::new();
        for (i, tissue) in self.recipe.tissue.iter().enumerate() {
            if !tissue.name.is_empty() && !seen.insert(tissue.name.as_str()) {
                let problem = self.at(&format!("tissue[{i}].name"), format!("the name `{}` is taken", tissue.name));
                self.report(problem);
            }
            if tissue.name == "world" {
                let problem =
                    self.at(&format!("tissue[{i}].name"), "`world` is reserved for everything that does not move");
                self.report(problem.hint("choose another name"));
            }
        }
    }

    fn check_tissue(&mut self, tissue: &Tissue, path: &str) {
        self.check_source(tissue, path);
        for (i, attach) in tissue.attach.iter().enumerate() {
            self.check_reference(&attach.bone, &format!("{path}.attach[{i}].bone"), true);
            let earlier = &tissue.attach[..i];
            if earlier.iter().any(|other| other.name == attach.name) {
                let problem =
                    self.at(&format!("{path}.attach[{i}].name"), format!("the name `{}` is taken", attach.name));
                self.report(problem.hint("each attachment is a set of nodes with its own name"));
            }
            for (k, curve) in attach.outline.iter().enumerate().filter(|(_, curve)| curve.len() < 3) {
                let path = format!("{path}.attach[{i}].outline[{k}]");
                let problem = self.at(&path, "a closed curve needs at least three points");
                self.report(problem.label(format!("has {}", curve.len())));
            }
            if attach.pad > 0.0 && attach.outline.is_empty() {
                let problem = self.at(&format!("{path}.attach[{i}].pad"), "there is no outline that a pad could fill");
                self.report(problem.hint("draw the attachment on the bone: `outline = [[[x, y, z], …]]`"));
            }
        }
        for (i, tendon) in tissue.tendon.iter().enumerate() {
            self.check_reference(&tendon.to, &format!("{path}.tendon[{i}].to"), true);
        }
        for (i, step) in tissue.csg.iter().enumerate() {
            self.check_csg(step, &tissue.name, &format!("{path}.csg[{i}]"));
        }
        for (i, edit) in tissue.edit.iter().enumerate() {
            let path = format!("{path}.edit[{i}]");
            if edit.polygon.is_empty() == edit.brush.is_none() {
                let problem = self.at(&path, "an edit has either `polygon` or `brush`");
                self.report(problem);
            }
            if !edit.polygon.is_empty() && edit.polygon.len() < 3 {
                let problem = self.at(&format!("{path}.polygon"), "a polygon needs at least three corners");
                self.report(problem);
            }
        }
        for (i, part) in tissue.aponeurosis.iter().enumerate() {
            self.check_part(part, &tissue.name, &format!("{path}.aponeurosis[{i}]"));
        }
        match &tissue.fibers {
            Some(TissueFibers::Laplace(fibers)) => {
                self.check_ends(tissue, [&fibers.from, &fibers.to], &format!("{path}.fibers"), "laplace");
            }
            Some(TissueFibers::Template(fibers)) => {
                let path = format!("{path}.fibers");
                self.check_file(&fibers.file, &format!("{path}.file"), false);
                if fibers.landmarks.is_empty() {
                    self.check_ends(tissue, [&fibers.from, &fibers.to], &path, "template");
                    if fibers.across.is_some() != fibers.template_across.is_some() {
                        let problem = self.at(&path, "`across` and `template_across` are given together");
                        self.report(problem.hint("each is a direction across its muscle, such as to the front"));
                    }
                } else if fibers.landmarks.len() < 4 {
                    let problem = self.at(&format!("{path}.landmarks"), "fibers by landmarks need at least four");
                    self.report(problem.label(format!("has {}", fibers.landmarks.len())));
                }
            }
            Some(TissueFibers::Lines(fibers)) => self.check_lines(&fibers.lines, &format!("{path}.fibers.lines")),
            Some(TissueFibers::Direction(_)) | None => {}
        }
    }

    /// Lines along which fibers run.
    fn check_lines(&mut self, lines: &[Vec<[f64; 3]>], path: &str) {
        if lines.is_empty() && self.recipe.source.node(path).is_some() {
            let problem = self.at(path, "there is no line for fibers to follow");
            self.report(problem.hint("give each head a list of points from origin to insertion"));
        }
        for (k, line) in lines.iter().enumerate() {
            if line.iter().all(|p| *p == line[0]) {
                let problem = self.at(&format!("{path}[{k}]"), "a line needs at least two points that differ");
                self.report(problem.label(format!("has {}", line.len())));
            }
        }
    }

    /// Names of attachments where fibers start and end.
    fn check_ends(&mut self, tissue: &Tissue, ends: [&Vec<String>; 2], path: &str, by: &str) {
        let known: Vec<&str> = tissue.attach.iter().map(|attach| attach.name.as_str()).collect();
        for (key, names) in ["from", "to"].into_iter().zip(ends) {
            for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
                let problem = self.at(&format!("{path}.{key}"), format!("there is no attachment `{name}`"));
                self.report(with_hint(problem, name, &known, "attachments of this tissue"));
            }
        }
        if tissue.attach.len() < 2 {
            let problem = self.at(path, format!("fibers by `{by}` need two attachments"));
            self.report(
                problem.hint("add `attach = [{ name = \"origin\", bone = … }, { name = \"insertion\", bone = … }]`"),
            );
        }
    }

    fn check_source(&mut self, tissue: &Tissue, path: &str) {
        let count = usize::from(!tissue.labels.is_empty()) + usize::from(tissue.surface.is_some());
        // A tissue may also be nothing but primitives.
        if count == 0 && tissue.csg.is_empty() {
            let problem = self.at(path, format!("the tissue `{}` has neither `labels` nor `surface`", tissue.name));
            self.report(problem.hint("for example `labels = [\"biceps\"]`"));
        }
        if count == 2 {
            let problem = self.at(&format!("{path}.surface"), "a tissue has either `labels` or `surface`, not both");
            self.report(problem);
        }
        if let Some(surface) = &tissue.surface {
            self.check_file(surface, &format!("{path}.surface"), false);
        }
        if !tissue.labels.is_empty() && self.recipe.image.is_empty() {
            let problem = self.at(&format!("{path}.labels"), "there is no image with labels");
            self.report(problem.hint("add `[image]` with `file = \"…\"`"));
        }
        if let Some(name) = &tissue.image {
            let known: Vec<&str> = self.recipe.image.iter().filter_map(|image| image.name.as_deref()).collect();
            if !known.contains(&name.as_str()) {
                let problem = self.at(&format!("{path}.image"), format!("there is no image `{name}`"));
                self.report(with_hint(problem, name, &known, "images"));
            }
        }
        for (key, noun, labels) in [
            ("tendon_labels", "tendon", &tissue.tendon_labels),
            ("aponeurosis_labels", "aponeurosis", &tissue.aponeurosis_labels),
        ] {
            for i in (0..labels.len()).filter(|i| !tissue.labels.contains(&labels[*i])) {
                let problem = self.at(&format!("{path}.{key}[{i}]"), "this label is not among `labels`");
                self.report(problem.hint(format!("`{key}` are those of `labels` that are {noun}")));
            }
        }
    }

    fn check_csg(&mut self, step: &Csg, owner: &str, path: &str) {
        let (key, part) = match step {
            Csg::Add(part) => ("add", part),
            Csg::Subtract(part) => ("subtract", part),
            Csg::Intersect(part) => ("intersect", part),
        };
        self.check_part(part, owner, &format!("{path}.{key}"));
    }

    fn check_part(&mut self, part: &Part, owner: &str, path: &str) {
        match part {
            Part::Tissue(part) => {
                self.check_reference(&part.name, &format!("{path}.name"), false);
                if part.name == owner {
                    let problem = self.at(&format!("{path}.name"), "a tissue cannot be part of itself");
                    self.report(problem);
                }
            }
            Part::Tube(tube) => {
                if tube.through.len() < 2 {
                    let problem = self.at(&format!("{path}.through"), "a tube needs at least two points");
                    self.report(problem);
                }
                if tube.radius.len() > 1 && tube.radius.len() != tube.through.len() {
                    let problem = self.at(&format!("{path}.radius"), "a tube has one radius, or one for each point");
                    self.report(problem.label(format!(
                        "{} radii for {} points",
                        tube.radius.len(),
                        tube.through.len()
                    )));
                }
            }
            _ => {}
        }
    }

    /// Checks the name of another tissue, which may have to be a bone.
    fn check_reference(&mut self, name: &str, path: &str, is_bone: bool) {
        if name.is_empty() {
            return;
        }
        let recipe = self.recipe;
        let fits = |tissue: &&Tissue| !is_bone || tissue.kind == Kind::Bone;
        let known: Vec<&str> = recipe.tissue.iter().filter(fits).map(|tissue| tissue.name.as_str()).collect();
        if known.contains(&name) {
            return;
        }
        let noun = if is_bone { "bone" } else { "tissue" };
        let problem = match recipe.tissue(name) {
            Some(_) => self.at(path, format!("`{name}` is not a bone")),
            None => self.at(path, format!("there is no {noun} `{name}`")),
        };
        self.report(with_hint(problem, name, &known, if is_bone { "bones" } else { "tissues" }));
    }

    fn check_morph(&mut self) {
        let Some(morph) = &self.recipe.morph else { return };
        if morph.landmarks.len() < 4 {
            let problem = self.at("morph.landmarks", "a morph needs at least four landmarks");
            self.report(problem.label(format!("has {}", morph.landmarks.len())));
        }
    }
}

fn with_hint(problem: Diagnostic, word: &str, known: &[&str], kind: &str) -> Diagnostic {
    match suggest::hint(word, known.iter().copied(), kind) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}
