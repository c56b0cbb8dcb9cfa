//! Checks of strands and tendons: combinations of keys.

use super::Checker;
use crate::{
    spec::{
        body::Body,
        strand::{MAX_GENERATORS, Strand, Tendon},
    },
    suggest,
};

impl Checker<'_> {
    pub(super) fn check_strands(&mut self, body: &Body, path: &str) {
        for (i, strand) in body.strand.iter().enumerate() {
            let at = format!("{path}.strand[{i}]");
            let is_taken = body.strand[..i].iter().any(|other| other.name == strand.name)
                || body.muscle.iter().any(|muscle| muscle.region == strand.name);
            if is_taken && !strand.name.is_empty() {
                let message = format!("body `{}` has another muscle named `{}`", body.name, strand.name);
                let problem = self.at(&format!("{at}.name"), message);
                self.report(problem.hint("give each strand its own `name`"));
            }
            self.check_columns(body, strand, &at);
        }
        for (i, tendon) in body.tendon.iter().enumerate() {
            let at = format!("{path}.tendon[{i}]");
            let name = tendon.full_name();
            if body.tendon[..i].iter().any(|other| other.full_name() == name) && !name.is_empty() {
                let problem = self.at(&at, format!("body `{}` has other tendons named `{name}`", body.name));
                self.report(problem.hint("give each group of tendons its own `name`"));
            }
            self.check_tendon(body, tendon, &at);
        }
    }

    fn check_columns(&mut self, body: &Body, strand: &Strand, at: &str) {
        if strand.columns.is_some() != strand.points.is_empty() {
            let message = match strand.points.is_empty() {
                true => "a strand needs `columns` or `points`",
                false => "a strand has either `columns` or `points`, not both",
            };
            let problem = self.at(at, message);
            self.report(problem.hint("for example `columns = { from = \"x-min\", to = \"x-max\" }`"));
        }
        if let Some(columns) = &strand.columns {
            self.check_region(body, &columns.from, &format!("{at}.columns.from"));
            self.check_region(body, &columns.to, &format!("{at}.columns.to"));
            if columns.from == columns.to && !columns.from.is_empty() {
                let problem = self.at(&format!("{at}.columns.to"), "columns must begin and end in different regions");
                self.report(problem.label("is where they begin"));
            }
            self.check_generator_count(columns.count * columns.segments, &format!("{at}.columns.segments"));
        }
        self.check_generator_count(strand.points.iter().map(Vec::len).sum(), &format!("{at}.points"));
        for (column, points) in strand.points.iter().enumerate() {
            if points.len() < 2 {
                let problem = self.at(&format!("{at}.points[{column}]"), "a column needs at least two points");
                self.report(problem.label(format!("has {}", points.len())));
            }
            if let Some(k) = points.windows(2).position(|pair| pair[0] == pair[1]) {
                let problem = self.at(&format!("{at}.points[{column}][{}]", k + 1), "this generator has no length");
                self.report(problem.label("is the same as the point before it"));
            }
        }
    }

    fn check_generator_count(&mut self, count: usize, at: &str) {
        if count > MAX_GENERATORS {
            let problem = self.at(at, format!("a strand has at most {MAX_GENERATORS} generators"));
            self.report(problem.label(format!("has {count}")));
        }
    }

    fn check_tendon(&mut self, body: &Body, tendon: &Tendon, at: &str) {
        let begins = [tendon.region.is_some(), !tendon.points.is_empty(), tendon.strand.is_some()];
        if begins.into_iter().filter(|is_given| *is_given).count() != 1 {
            let problem = self.at(at, "tendons begin at one of `region`, `points` and `strand`");
            self.report(problem.hint("for example `region = \"x-max\"`"));
        }
        if let Some(region) = &tendon.region {
            self.check_region(body, region, &format!("{at}.region"));
        }
        if let Some(name) = tendon.strand.as_ref().filter(|name| !name.is_empty())
            && body.strand.iter().all(|strand| strand.name != *name)
        {
            let problem = self.at(&format!("{at}.strand"), format!("body `{}` has no strand `{name}`", body.name));
            let names = body.strand.iter().map(|strand| strand.name.as_str()).filter(|name| !name.is_empty());
            self.report(match suggest::hint(name, names, "its strands") {
                Some(hint) => problem.hint(hint),
                None => problem,
            });
        }
        self.check_partner(body, &tendon.to, &format!("{at}.to"), true);
        match (&tendon.anchor, &tendon.offset) {
            (None, None) => {
                let problem = self.at(at, "tendons end at an `anchor`, or by an `offset` from where they begin");
                self.report(problem.hint("for example `offset = [\"2 cm\", 0, 0]`"));
            }
            (Some(_), Some(_)) => {
                let problem = self.at(&format!("{at}.offset"), "tendons have either `anchor` or `offset`, not both");
                self.report(problem);
            }
            (None, Some([0.0, 0.0, 0.0])) => {
                let problem = self.at(&format!("{at}.offset"), "these tendons have no length");
                self.report(problem.hint("to hold the flesh in place use `pin` or `attach`"));
            }
            _ => {}
        }
        if tendon.slack.is_some() && tendon.slack_factor.is_some() {
            let message = "tendons have either `slack` or `slack_factor`, not both";
            let problem = self.at(&format!("{at}.slack_factor"), message);
            self.report(problem);
        }
        if tendon.motion.is_some() && tendon.to != "world" {
            let problem = self.at(&format!("{at}.motion"), "only anchors in the world can have `motion`");
            self.report(problem.label(format!("these end at `{}`", tendon.to)));
        }
    }
}
