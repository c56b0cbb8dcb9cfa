//! Checks of several values together: names and references, sizes, files, times, alternatives.

mod body;
mod lab;
mod layer;
mod mesh;
mod muscle;
mod probe;
mod record;
mod region;
mod removal;
mod rig;
mod rigid;
mod solver;
mod strand;
mod study;

use std::collections::BTreeMap;

use crate::decode::codec::MAX_PROBLEMS;
use crate::diagnostic::Diagnostic;
use crate::spec::expect::path_of;
use crate::spec::{MAX_FRAMES, Scene};
use crate::value::{Dimension, format_number, format_quantity};

/// Checks a decoded scene; `is_sound` is true if decoding found no problem.
pub(crate) fn check(scene: &Scene, is_sound: bool, problems: &mut Vec<Diagnostic>) {
    let mut checker = Checker { scene, problems };
    checker.check_times();
    checker.check_solver();
    checker.check_names();
    for (i, body) in scene.body.iter().enumerate() {
        checker.check_body(body, &format!("body[{i}]"));
        checker.check_removals(i, body, is_sound);
    }
    checker.check_rigids();
    checker.check_contact();
    checker.check_probes();
    checker.check_record();
    // A name that could not be read has been replaced by an empty one.
    if is_sound {
        checker.check_file_names();
    }
    for (name, expectations) in &scene.expect {
        for (i, expectation) in expectations.iter().enumerate() {
            checker.check_expectation(expectation, &path_of(name, expectations, i));
        }
    }
    if let Some(study) = &scene.study {
        checker.check_study(study, is_sound);
    }
    checker.check_lab();
}

struct Checker<'a> {
    scene: &'a Scene,
    problems: &'a mut Vec<Diagnostic>,
}

impl Checker<'_> {
    fn at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.scene.source.problem(path, message)
    }

    fn report(&mut self, problem: Diagnostic) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn check_times(&mut self) {
        let frames = self.scene.duration * self.scene.frame_rate;
        if frames > MAX_FRAMES {
            let problem = self.at("duration", "the scene has too many frames").label(format!(
                "{} at {} are {} frames",
                format_quantity(self.scene.duration, Dimension::TIME),
                format_quantity(self.scene.frame_rate, Dimension::FREQUENCY),
                format_number(frames.round())
            ));
            self.report(problem);
        }
    }

    /// Bodies, rigids and colliders share one namespace, because bindings, probes and controls refer to any of them.
    fn check_names(&mut self) {
        let scene = self.scene;
        let things = (scene.body.iter().enumerate().map(|(i, body)| (&body.name, format!("body[{i}].name"))))
            .chain(scene.rigid.iter().enumerate().map(|(i, rigid)| (&rigid.name, format!("rigid[{i}].name"))))
            .chain(
                scene.collider.iter().enumerate().map(|(i, collider)| (&collider.name, format!("collider[{i}].name"))),
            );
        self.check_unique(things.collect());
        let probes = scene.probe.iter().enumerate().map(|(i, probe)| (&probe.name, format!("probe[{i}].name")));
        self.check_unique(probes.collect());
    }

    fn check_unique(&mut self, names: Vec<(&String, String)>) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, path) in &names {
            if name.is_empty() || self.problems.len() >= MAX_PROBLEMS {
                continue;
            }
            match seen.get(name.as_str()) {
                None if name.as_str() == "world" => {
                    let problem = self.at(path, "`world` is reserved for everything that does not move");
                    self.report(problem.hint("choose another name"));
                }
                None => drop(seen.insert(name, path)),
                Some(first) => {
                    let span = self.scene.source.span(first);
                    let line =
                        self.scene.source.text().get(..span.start).map_or(0, |text| text.matches('\n').count() + 1);
                    let problem = self.at(path, format!("the name `{name}` is taken"));
                    self.report(problem.label(format!("first used on line {line}")));
                }
            }
        }
    }
}
