//! Licenses, banned crates and sources of all dependencies, by the policy of `deny.toml`.
//!
//! `cargo deny` reads the same file and more of it, but takes six minutes to build; this reads what `cargo metadata`
//! says, in a second.

use std::time::Instant;

use serde_json::Value;

use crate::step::{Outcome, Verdict, cargo, root};
use crate::test::Options;

const NAME: &str = "licenses";

/// What `deny.toml` says.
#[derive(Debug, Default)]
struct Policy {
    licenses: Vec<String>,
    banned: Vec<String>,
}

impl Policy {
    fn read(text: &str) -> Self {
        let list = |key: &str| text.split_once(key).and_then(|(_, rest)| rest.split_once("\n]")).map(|(list, _)| list);
        // The first quoted string of a line; a comment may hold others.
        let quoted = |line: &str| line.split('#').next()?.split('"').nth(1).map(String::from);
        let strings = |key: &str| list(key).unwrap_or_default().lines().filter_map(quoted).collect();
        Self { licenses: strings("\nallow = ["), banned: strings("\ndeny = [") }
    }

    /// Whether an SPDX expression can be met by allowed licenses alone. Old manifests write `/` for OR.
    fn allows(&self, expression: &str) -> bool {
        let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
        let is_allowed = |license: &str| self.licenses.iter().any(|allowed| allowed == license.trim());
        // AND binds before OR; dependencies write nothing deeper, and what is read wrongly is refused, not allowed.
        match expression.contains(" AND ") && expression.contains(" OR ") {
            true => expression.split(" AND ").all(|part| part.split(" OR ").any(is_allowed)),
            false => expression.split(" OR ").any(|part| part.split(" AND ").all(is_allowed)),
        }
    }

    /// What is wrong with a package.
    fn faults(&self, package: &Value) -> Vec<String> {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} {}", word("name"), word("version"));
        let mut faults = Vec::new();
        match package["license"].as_str() {
            None => faults.push(format!("{name} names no license")),
            Some(license) if self.allows(license) => {}
            Some(license) => faults.push(format!("{name} has the license {license}, which deny.toml does not allow")),
        }
        if self.banned.iter().any(|banned| banned == word("name")) {
            faults.push(format!("{name} is banned by deny.toml"));
        }
        match package["source"].as_str() {
            Some(source) if source.starts_with("registry+") && source.ends_with("/crates.io-index") => {}
            Some(other) => faults.push(format!("{name} comes from {other}")),
            // A package of ours: a requirement of `*` would make builds depend on the day.
            None => {
                for dependency in package["dependencies"].as_array().into_iter().flatten() {
                    if dependency["req"] == "*" && dependency["path"].is_null() {
                        faults.push(format!("{name} takes any version of {}", dependency["name"]));
                    }
                }
            }
        }
        faults
    }
}

/// Checks all packages of the workspace and what they depend on, with all features and for all systems.
pub fn run(_: &Options) -> Outcome {
    let start = Instant::now();
    let verdict = match faults() {
        Err(reason) => Verdict::Failed(reason),
        Ok(faults) if faults.is_empty() => Verdict::Passed,
        Ok(faults) => {
            faults.iter().for_each(|fault| eprintln!("error: {fault}"));
            Verdict::Failed(format!("{} faults", faults.len()))
        }
    };
    Outcome::single(NAME, verdict, start.elapsed().as_secs_f64())
}

fn faults() -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let policy = Policy::read(&text);
    let said = cargo(["metadata", "--format-version", "1", "--all-features", "--locked"]).output();
    let said = said.map_err(|error| format!("cannot start cargo: {error}"))?;
    if !said.status.success() {
        return Err(String::from_utf8_lossy(&said.stderr).trim().into());
    }
    let metadata: Value = serde_json::from_slice(&said.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    Ok(packages.iter().flat_map(|package| policy.faults(package)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy::read(
            "[licenses]\nallow = [\n    \"MIT\",\n    \"ISC\", # \"quoted\"\n    \"Apache-2.0 WITH LLVM-exception\",\n]\n\n[bans]\n\
             deny = [\n    { crate = \"bincode\", reason = \"x\" },\n]\n",
        )
    }

    #[test]
    fn expressions_are_met_by_allowed_licenses_alone() {
        let policy = policy();
        assert_eq!(policy.banned, ["bincode"]);
        for good in ["MIT", "GPL-3.0 OR MIT", "MIT AND ISC", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC"] {
            assert!(policy.allows(good), "{good}");
        }
        assert!(policy.allows("GPL-2.0 OR Apache-2.0 WITH LLVM-exception"));
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "MIT-0", ""] {
            assert!(!policy.allows(bad), "{bad}");
        }
    }

    #[test]
    fn packages_are_told_with_all_their_faults() {
        let package = serde_json::json!({
            "name": "bincode", "version": "1.0.0", "license": "GPL-3.0", "source": "git+somewhere"
        });
        assert_eq!(policy().faults(&package).len(), 3);
        let own = serde_json::json!({
            "name": "ours", "version": "1.0.0", "license": "MIT", "source": null,
            "dependencies": [{ "name": "a", "req": "*", "path": null }, { "name": "b", "req": "*", "path": "/b" }]
        });
        assert_eq!(policy().faults(&own), ["ours 1.0.0 takes any version of \"a\""]);
    }
}
