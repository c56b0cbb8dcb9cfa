//! Command lines of the program, as its own help tells them: a new option is abused from its first day.

use std::path::Path;
use std::process::{Command, Stdio};

use super::dice::Dice;

/// A command with what may follow it.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    commands: Vec<CommandForm>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct CommandForm {
    /// `mesh info`.
    words: Vec<String>,
    /// `<SCENE>`, `[FILE.toml]`: the names without brackets.
    arguments: Vec<String>,
    /// `--frames` with `Some("N")`, `--json` with `None`.
    options: Vec<(String, Option<String>)>,
}

/// Commands that take minutes, ask questions, or are tested by chores of their own.
const LEFT_OUT: [&str; 3] = ["bench", "demo", "help"];

/// Options that wait for ever, or allow what must not happen here: `--force` and `--yes` replace and fill.
const LEFT_OUT_OPTIONS: [&str; 8] =
    ["--watch", "--loop", "--interactive", "--force", "--yes", "--help", "--version", "--threads"];

/// Values for options and arguments that name no file.
const VALUES: [&str; 36] = [
    "0",
    "1",
    "-1",
    "2",
    "3..1",
    "0..2",
    "..",
    "1e300",
    "nan",
    "1e-9",
    "",
    " ",
    "x",
    "é🦴",
    "18446744073709551616",
    "5 mm",
    "1 parsec",
    "640x480",
    "0x0",
    "99999x99999",
    "duration=0.02",
    "body.b.material.young=\"1 kPa\"",
    "a=b=c",
    "=",
    "[",
    "\"",
    "front",
    "0,1",
    "all",
    "none",
    "auto",
    "tip.displacement.z",
    "body.b.material.young=1e3,1e4",
    "body.b.material.young=1..2:999999999",
    "record.png=true",
    "--",
];

/// Files that are read, from the folder in which commands run.
const READ: [&str; 19] = [
    "scene.toml",
    "scene.toml",
    "mesh.bin",
    "../inputs/block.toml",
    "../inputs/t.obj",
    "../inputs/block.vtu",
    "../inputs/run",
    "../inputs/run/recording.sinew",
    "../inputs/run/probes.csv",
    "../inputs/arm.glb",
    "../thesis.txt",
    "..",
    ".",
    "../results",
    "../loop",
    "nowhere.toml",
    "",
    "../loop/loop",
    "../results/.probes.csv",
];

/// Folders for results: new ones and those of others.
const FOLDERS: [&str; 9] =
    ["out", "a/b/c", "../results", "..", ".", "../inputs", "../loop", "../thesis.txt", "/proc/nowhere"];

/// Names for new files; naming a file that stands elsewhere is the user's own wish to replace it.
const FILES: [&str; 18] = [
    "new.vtu",
    "new.obj",
    "new.toml",
    "new.glb",
    "new.usda",
    "new.usdc",
    "new.png",
    "new.csv",
    "new.html",
    "new.stl",
    "new.msh",
    "new.xyz",
    "new",
    "",
    "a/b/new.ply",
    "../results",
    ".",
    "/proc/nowhere.obj",
];

impl Grammar {
    /// Asks the program for the help of each command.
    pub fn of(program: &Path) -> Result<Self, String> {
        let mut commands = Vec::new();
        let mut open = vec![Vec::new()];
        while let Some(words) = open.pop() {
            let help = help(program, &words)?;
            let form = CommandForm::from_help(&words, &help);
            let below: Vec<String> = subcommands(&help);
            for name in &below {
                if !LEFT_OUT.contains(&name.as_str()) {
                    open.push([words.clone(), vec![name.clone()]].concat());
                }
            }
            if below.is_empty() {
                commands.push(form);
            }
        }
        match commands.len() {
            0 => Err("the program's help names no commands: has its form changed?".into()),
            _ => Ok(Self { commands }),
        }
    }

    /// A command line, mostly of the right form.
    pub fn line(&self, dice: &mut Dice) -> Vec<String> {
        let form = &self.commands[dice.roll(self.commands.len())];
        let mut line = form.words.clone();
        let mut inputs: Vec<String> = Vec::new();
        for name in &form.arguments {
            if dice.one_in(12) {
                continue;
            }
            let value = form.value(name, &inputs, dice);
            inputs.push(value.clone());
            line.push(value);
        }
        for _ in 0..dice.roll(4) {
            if form.options.is_empty() {
                break;
            }
            let (option, name) = &form.options[dice.roll(form.options.len())];
            line.push(option.clone());
            if let Some(name) = name {
                line.push(form.value(name, &inputs, dice));
            }
        }
        if dice.one_in(20) {
            line.push(dice.pick(&["--nonsense", "-", "extra", "--set", "-o"]).into());
        }
        line
    }
}

impl CommandForm {
    fn from_help(words: &[String], help: &str) -> Self {
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
        let bracketed = |word: &str| {
            let inner = word.trim_end_matches("...").strip_prefix(['<', '['])?.strip_suffix(['>', ']'])?;
            (inner != "OPTIONS" && inner != "COMMAND").then(|| inner.to_string())
        };
        let options = help.lines().filter_map(option).filter(|(name, _)| !LEFT_OUT_OPTIONS.contains(&name.as_str()));
        Self {
            words: words.to_vec(),
            arguments: usage.split_whitespace().filter_map(bracketed).collect(),
            options: options.collect(),
        }
    }

    /// A value for a placeholder; `inputs` are the arguments before it.
    fn value(&self, name: &str, inputs: &[String], dice: &mut Dice) -> String {
        // Files that exist elsewhere may be named as outputs only where the program must refuse: as its own inputs.
        let own_input = inputs.first().cloned().filter(|_| dice.one_in(4));
        let is_output = matches!(
            (self.words.first().map(String::as_str), name),
            (Some("new"), "FILE.toml")
                | (Some("character"), _)
                | (_, "OUT" | "FILE.png" | "FILE.html")
                | (Some("skin"), "FILE" | "FILE.toml")
                | (Some("convert"), "FILE")
                | (Some("manual"), "DIR")
        );
        match name {
            _ if dice.one_in(15) => dice.pick(&VALUES).into(),
            "CHARACTER" if self.words[0] == "character" => dice.pick(&["arm", "hand", "torso", "leg"]).into(),
            "PROTOCOL" => dice.pick(&["tension-length", "isotonic", "twitch", "walk"]).into(),
            _ if is_output => own_input.unwrap_or_else(|| dice.pick(&FILES).into()),
            "DIR" if !["status", "resume"].contains(&self.words[0].as_str()) => dice.pick(&FOLDERS).into(),
            // A run that is continued is changed: only those of the work folder.
            "DIR" if self.words[0] == "resume" => dice.pick(&["run", "out", ".", "nowhere", "scene.toml"]).into(),
            "DIR" | "CHARACTER" | "A" | "B" | "IN" | "SURFACE" => dice.pick(&READ).into(),
            _ if ["SCENE", "FILE", "RECORDING", "RUNFOLDER", "DATA"].iter().any(|part| name.contains(part)) => {
                dice.pick(&READ).into()
            }
            _ => dice.pick(&VALUES).into(),
        }
    }
}

fn help(program: &Path, words: &[String]) -> Result<String, String> {
    let said = Command::new(program).args(words).arg("-h").stdin(Stdio::null()).output();
    let said = said.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// Names in the list of commands.
fn subcommands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.trim().is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

/// `  -o, --output <DIR>  …` as `("--output", Some("DIR"))`.
fn option(line: &str) -> Option<(String, Option<String>)> {
    let line = line.trim_start();
    let words = line.split("  ").next()?.trim_start_matches(|c: char| c != ' ' || c == ',');
    let form = if line.starts_with("--") { line.split("  ").next()? } else { words.trim() };
    let mut words = form.split(' ');
    let name = words.next().filter(|name| name.starts_with("--"))?;
    let value = words.next().and_then(|value| Some(value.strip_prefix('<')?.trim_end_matches('>').to_string()));
    Some((name.into(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_from_the_help() {
        let help = "Runs\n\nUsage: sinew run [OPTIONS] <SCENE> [B]...\n\nArguments:\n  <SCENE>  Scene\n\nOptions:\n  \
                    -o, --output <DIR>  Folder\n  -q, --quiet         Errors only\n      --set <KEY=VALUE>   A value\n  -h, --help  Help\n";
        let form = CommandForm::from_help(&["run".into()], help);
        assert_eq!(form.arguments, ["SCENE", "B"]);
        let options: Vec<(&str, Option<&str>)> = form.options.iter().map(|(a, b)| (a.as_str(), b.as_deref())).collect();
        assert_eq!(options, [("--output", Some("DIR")), ("--quiet", None), ("--set", Some("KEY=VALUE"))]);
        let list = "Usage: sinew\n\nCommands:\n  run   Runs\n  mesh  Meshes\n\nOptions:\n";
        assert_eq!(subcommands(list), ["run", "mesh"]);
    }
}
