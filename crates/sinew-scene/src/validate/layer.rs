//! Checks of layers: the names that they refer to.

use super::Checker;
use crate::{spec::body::Body, suggest};

impl Checker<'_> {
    /// The bodies under this one.
    pub(super) fn check_layers(&mut self, body: &Body, path: &str) {
        let scene = self.scene;
        let own = scene.body.iter().position(|other| std::ptr::eq(other, body));
        for (i, layer) in body.over.iter().enumerate() {
            let at = format!("{path}.over[{i}].body");
            if layer.body == body.name {
                let problem = self.at(&at, format!("body `{}` cannot be layered on itself", body.name));
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
                self.report(problem.hint("a body must come after those that it is layered on: move it down"));
            }
            if !scene.body[below].over.is_empty() || !scene.body[below].bind.is_empty() {
                let message = format!("`{}` is itself layered on other bodies", layer.body);
                let problem = self.at(&at, message);
                self.report(problem.hint("layer this body on those as well, and remove the layer in between"));
            }
        }
    }
}
