//! Checks of regions, and of references to bodies and rigids.

use std::collections::BTreeSet;

use super::Checker;
use crate::spec::body::Body;
use crate::spec::region::{BUILTIN_REGIONS, Region};
use crate::suggest;
use crate::value::{Dimension, format_quantity};

/// Maximum number of regions of a body: a file with more is wrong, and the search for cycles compares all pairs.
const MAX_REGIONS: usize = 1000;

impl Checker<'_> {
    pub(super) fn check_regions(&mut self, body: &Body, path: &str) {
        if body.regions.len() > MAX_REGIONS {
            let problem = self.at(&format!("{path}.regions"), format!("a body has at most {MAX_REGIONS} regions"));
            return self.report(problem.label(format!("has {}", body.regions.len())));
        }
        for (name, region) in &body.regions {
            let at = format!("{path}.regions.\"{name}\"");
            if BUILTIN_REGIONS.contains(&name.as_str()) {
                let problem = self.at(&at, format!("the region `{name}` is built in")).hint("choose another name");
                self.report(problem);
            }
            match region {
                Region::Box([low, high]) => {
                    if let Some(axis) = (0..3).find(|&axis| low[axis] > high[axis]) {
                        let message = "the first corner of a box must be the lower one";
                        let problem = self.at(&format!("{at}.box"), message);
                        self.report(problem.label(format!(
                            "{} is above {} along {}",
                            format_quantity(low[axis], Dimension::LENGTH),
                            format_quantity(high[axis], Dimension::LENGTH),
                            ["x", "y", "z"][axis]
                        )));
                    }
                }
                Region::Distance(distance) => {
                    let given = [distance.point.is_some(), distance.segment.is_some(), distance.plane.is_some()];
                    if given.iter().filter(|&&given| given).count() != 1 {
                        let message = "a distance is measured from exactly one of `point`, `segment`, `plane`";
                        let problem = self.at(&format!("{at}.distance"), message);
                        self.report(problem);
                    }
                }
                Region::Union(names) | Region::Intersection(names) => {
                    let key = if matches!(region, Region::Union(_)) { "union" } else { "intersection" };
                    for (i, other) in names.iter().enumerate() {
                        self.check_region(body, other, &format!("{at}.{key}[{i}]"));
                    }
                }
                Region::Outside(other) => self.check_region(body, other, &format!("{at}.outside")),
                Region::Field(field) => {
                    if let (Some(least), Some(most)) = (field.at_least, field.at_most)
                        && least > most
                    {
                        let message = "`at_least` is above `at_most`: no value is between them";
                        let problem = self.at(&format!("{at}.field"), message);
                        self.report(problem);
                    }
                }
                Region::Sphere(_) | Region::Label(_) => {}
            }
            if leads_to_itself(body, name) {
                let problem = self.at(&at, format!("the region `{name}` refers to itself"));
                self.report(problem);
            }
        }
    }

    /// Regions of a mesh file are only known after it is read.
    pub(super) fn check_region(&mut self, body: &Body, name: &str, path: &str) {
        let own = body.mesh.source().regions();
        let is_open = own.is_none();
        let own = own.unwrap_or_default();
        let known = BUILTIN_REGIONS.contains(&name) || own.contains(&name) || body.regions.contains_key(name);
        // What a file brings is known only when it is read.
        if known || name.is_empty() || is_open {
            return;
        }
        let problem = self.at(path, format!("body `{}` has no region `{name}`", body.name));
        let names = body.regions.keys().map(String::as_str).chain(BUILTIN_REGIONS).chain(own.iter().copied());
        self.report(match suggest::hint(name, names, "its regions") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    pub(super) fn check_partner(&mut self, body: &Body, to: &str, path: &str, world_allowed: bool) {
        if to.is_empty() || (world_allowed && to == "world") {
            return;
        }
        if to == "world" {
            let problem = self.at(path, "`pin` holds nodes in the world, not `bind`");
            self.report(problem.hint("move this entry to `pin`"));
            return;
        }
        if to == body.name {
            let problem = self.at(path, format!("body `{to}` cannot be bound to itself"));
            self.report(problem);
            return;
        }
        self.check_thing(to, path);
    }

    /// A reference to a body or a rigid.
    pub(super) fn check_thing(&mut self, name: &str, path: &str) {
        let scene = self.scene;
        let names =
            scene.body.iter().map(|body| body.name.as_str()).chain(scene.rigid.iter().map(|rigid| rigid.name.as_str()));
        if names.clone().any(|known| known == name) {
            return;
        }
        let problem = self.at(path, format!("there is no body or rigid `{name}`"));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        self.report(match suggest::hint(name, names, "bodies and rigids") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
}

/// Whether a region refers to itself through others.
fn leads_to_itself(body: &Body, start: &str) -> bool {
    let mut open = vec![start];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let next: Vec<&str> = match body.regions.get(name) {
            Some(Region::Union(names) | Region::Intersection(names)) => names.iter().map(String::as_str).collect(),
            Some(Region::Outside(name)) => vec![name],
            _ => continue,
        };
        if next.contains(&start) {
            return true;
        }
        for name in next {
            if seen.insert(name) {
                open.push(name);
            }
        }
    }
    false
}
