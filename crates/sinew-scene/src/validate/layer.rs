//! Whether layers name what exists.

use super::Checker;
use crate::{spec::body::Body, suggest};

impl Checker<'_> {
    /// The bodies that this one lies over.
    pub(super) fn check_layers(&mut self, body: &Body, path: &str) {
        let scene = self.scene;
        let own = scene.body.iter().position(|other| std::ptr::eq(other, body));
        for (i, layer) in body.over.iter().enumerate() {
            let at = format!("{path}.over[{i}].body");
            if layer.body == body.name {
                let problem = self.at(&at, format!("body `{}` cannot lie over itself", body.name));
                self.report(problem);
                continue;
            }
            let Some(below) = scene.body.iter().position(|other| other.name == layer.body) else {
                let problem = self.at(&at, format!("there is no body `{}`", layer.body));
                let names: Vec<&str> = scene.body.iter().map(|body| body.name.as_str()).collect();
                self.report(match suggest::hint(&layer.body, names, "bodies") {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                });
                continue;
            };
            if own.is_some_and(|own| below > own) {
                let problem = self.at(&at, format!("body `{}` comes after `{}`", layer.body, body.name));
                self.report(problem.hint("a body comes after those that it lies over: move it down"));
            }
            if !scene.body[below].over.is_empty() || !scene.body[below].bind.is_empty() {
                let message = format!("`{}` follows other bodies itself", layer.body);
                let problem = self.at(&at, message);
                self.report(problem.hint("let this body lie over those as well, and do without the layer between"));
            }
        }
    }
}
