//! Checks of probes: each must watch something that exists.

use super::Checker;
use crate::spec::Probe;

impl Checker<'_> {
    pub(super) fn check_probes(&mut self) {
        let scene = self.scene;
        for (i, probe) in scene.probe.iter().enumerate() {
            let path = format!("probe[{i}]");
            let places = [probe.at.is_some(), probe.region.is_some(), probe.section.is_some(), probe.lever.is_some()];
            match places.into_iter().filter(|&given| given).count() {
                0 => {
                    let message = format!("probe `{}` needs one of `at`, `region`, `section` and `lever`", probe.name);
                    let problem = self.at(&path, message);
                    self.report(problem.hint("for example `region = \"x-max\"`"));
                }
                1 => {}
                _ => {
                    let problem = self.at(&path, "a probe has one of `at`, `region`, `section` and `lever`");
                    self.report(problem.hint("use several probes"));
                }
            }
            if let Some(lever) = &probe.lever
                && lever.pin.is_some() == lever.tendon.is_some()
            {
                let problem = self.at(&format!("{path}.lever"), "a lever has either `pin` or `tendon`");
                self.report(problem.hint("for example `pin = \"insertion\"`"));
            }
            if scene.rigid.iter().any(|rigid| rigid.name == probe.name) {
                let message = format!("`{}` is the name of a rigid, whose values have the same names", probe.name);
                let problem = self.at(&format!("{path}.name"), message);
                self.report(problem.hint("choose another name"));
            }
            self.check_probe_body(probe, &path);
        }
    }

    fn check_probe_body(&mut self, probe: &Probe, path: &str) {
        let scene = self.scene;
        let body = match &probe.body {
            Some(name) if name.is_empty() => return,
            Some(name) => {
                self.check_thing(name, &format!("{path}.body"));
                scene.body.iter().find(|body| body.name == *name)
            }
            None if scene.body.len() + scene.rigid.len() == 1 => scene.body.first(),
            None => {
                let problem = self.at(path, format!("probe `{}` needs `body`", probe.name));
                self.report(problem.label("there is more than one body, or none"));
                return;
            }
        };
        let is_rigid = |name: &String| scene.rigid.iter().any(|rigid| rigid.name == *name);
        match (body, &probe.region) {
            (Some(body), Some(region)) => self.check_region(body, region, &format!("{path}.region")),
            (None, _) if probe.body.as_ref().is_none_or(is_rigid) => self.check_rigid_probe(probe, path),
            _ => {}
        }
    }

    /// Rigids have points, but no regions, sections or levers.
    fn check_rigid_probe(&mut self, probe: &Probe, path: &str) {
        let given = [
            ("region", probe.region.is_some()),
            ("section", probe.section.is_some()),
            ("lever", probe.lever.is_some()),
        ];
        for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            let problem = self.at(&format!("{path}.{key}"), format!("a rigid has no {key} to watch"));
            self.report(problem.hint("watch one of its points, for example `at = [0, 0, \"5 cm\"]`"));
        }
    }
}
