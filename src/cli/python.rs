//! Generates the Python module of the commands from the command line, so that both have the same options.

use clap::{Arg, ArgAction, Command, CommandFactory};

/// Commands that Python has in another form, and those for a terminal only.
const LEFT_OUT: [&str; 6] = ["run", "lab", "play", "completions", "manual", "help"];

/// Keywords of Python.
const KEYWORDS: [&str; 8] = ["from", "in", "is", "as", "with", "import", "class", "def"];

/// Options that every command has.
const COMMON: [&str; 5] = ["help", "version", "quiet", "verbose", "threads"];

/// Text of `python/sinew/commands.py`.
pub fn module() -> String {
    let mut command = super::Arguments::command();
    command.build();
    let mut functions = Vec::new();
    collect(&[], &command, &mut functions);
    let names: Vec<String> = functions.iter().map(|(name, _)| format!("    \"{name}\",\n")).collect();
    let bodies: Vec<&str> = functions.iter().map(|(_, body)| body.as_str()).collect();
    format!(
        "\"\"\"The command line as functions, one for each command, with the same options.\n\n\
         Generated from the command line by `cargo xtask docs`. Omitted options have the defaults of the command line.\n\
         Commands with JSON output return dicts and lists; other commands return their text. Errors raise `SinewError`.\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Any\n\n\
         from .calling import Many, Word, call_json, call_text\n\n\
         __all__ = [\n{}]\n{}",
        names.concat(),
        bodies.concat()
    )
}

fn collect(path: &[&str], command: &Command, functions: &mut Vec<(String, String)>) {
    for below in command.get_subcommands().filter(|below| !LEFT_OUT.contains(&below.get_name())) {
        let path: Vec<&str> = path.iter().copied().chain([below.get_name()]).collect();
        if below.has_subcommands() {
            collect(&path, below, functions);
        } else {
            functions.push(function(&path, below));
        }
    }
}

fn function(path: &[&str], command: &Command) -> (String, String) {
    let name = path.join("_").replace('-', "_");
    let is_own = |arg: &&Arg| !COMMON.contains(&arg.get_id().as_str()) && arg.get_id() != "json";
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_own).collect();
    let has_json = command.get_arguments().any(|arg| arg.get_id() == "json");
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = arguments.iter().partition(|arg| arg.is_positional());
    let mut signature: Vec<String> = positional.iter().map(|arg| parameter(arg)).collect();
    if !options.is_empty() {
        signature.push("*".into());
        signature.extend(options.iter().map(|arg| parameter(arg)));
    }
    let returns = if has_json { "Any" } else { "str" };
    let words: Vec<String> = path.iter().map(|word| format!("\"{word}\"")).collect();
    let values: Vec<String> = positional.iter().map(|arg| word(arg)).collect();
    let pairs: Vec<String> = options.iter().map(|arg| format!("\"--{}\": {}", long(arg), word(arg))).collect();
    let about = command.get_about().map(|about| about.to_string()).unwrap_or_default();
    let described: Vec<String> =
        arguments.iter().map(|arg| format!("    - ``{}``: {}\n", word(arg), help(arg))).collect();
    let list = if described.is_empty() { String::new() } else { format!("\n\n{}    ", described.concat()) };
    let body = format!(
        "\n\ndef {name}(\n{}) -> {returns}:\n    \"\"\"{about}.{list}\"\"\"\n    return {}([{}], [{}], {{{}}})\n",
        signature.iter().map(|part| format!("    {part},\n")).collect::<String>(),
        if has_json { "call_json" } else { "call_text" },
        words.join(", "),
        values.join(", "),
        pairs.join(", "),
    );
    // A function without parameters has empty parentheses.
    (name, if signature.is_empty() { body.replacen("(\n)", "()", 1) } else { body })
}

fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

/// Name of the parameter.
fn word(arg: &Arg) -> String {
    let word = if arg.is_positional() { arg.get_id().as_str() } else { long(arg) }.replace('-', "_");
    if KEYWORDS.contains(&word.as_str()) { format!("{word}_") } else { word }
}

fn parameter(arg: &Arg) -> String {
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let is_list =
        matches!(arg.get_action(), ArgAction::Append) || arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    match (is_flag, is_list, arg.is_required_set()) {
        (true, ..) => format!("{}: bool = False", word(arg)),
        (false, true, true) => format!("{}: Many", word(arg)),
        (false, true, false) => format!("{}: Many | None = None", word(arg)),
        (false, false, true) => format!("{}: Word", word(arg)),
        (false, false, false) => format!("{}: Word | None = None", word(arg)),
    }
}

fn help(arg: &Arg) -> String {
    let mut text = arg.get_help().map(|help| help.to_string()).unwrap_or_default().replace('\\', "\\\\");
    let known: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    if !known.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
        text.push_str(&format!(" [one of: {}]", known.join(", ")));
    }
    let usual: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !usual.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
        text.push_str(&format!(" [default: {}]", usual.join(", ")));
    }
    text
}
