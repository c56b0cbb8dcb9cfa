//! Options of both comparisons, as `--name value` or `--name=value`.

/// Calls `set(name, value)` for every option and returns whether `--json` is among them; `names` lists the options with
/// a value.
pub fn read(
    arguments: &[String],
    names: &[&str],
    mut set: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<bool, String> {
    let mut is_json = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--json" {
            is_json = true;
            continue;
        }
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (argument.as_str(), None),
        };
        if !names.contains(&name) {
            return Err(format!("unknown argument \"{argument}\"; there are: {}, --json", names.join(", ")));
        }
        let value = value.or_else(|| rest.next().cloned()).ok_or(format!("{name} needs a value"))?;
        set(name, &value)?;
    }
    Ok(is_json)
}

/// A positive number of seconds.
pub fn seconds(name: &str, value: &str) -> Result<f64, String> {
    let seconds = value.parse().ok().filter(|seconds: &f64| *seconds > 0.0 && *seconds <= 86400.0);
    seconds.ok_or(format!("{name} is a number of seconds above 0, not \"{value}\""))
}

/// Comma-separated names from `known`.
pub fn listed(what: &str, value: &str, known: &[&str]) -> Result<Vec<String>, String> {
    let parts = value.split(',').map(str::trim);
    let check = |part: &str| match known.contains(&part) {
        true => Ok(part.to_string()),
        false => Err(format!("no {what} is called \"{part}\"; there are: {}", known.join(", "))),
    };
    parts.map(check).collect()
}
