//! One case: a fresh folder, one or two commands in it, and what must hold afterwards.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::grammar::Grammar;
use super::mutation;
use super::precious::{Precious, WORK, link};

/// What all cases share.
#[derive(Debug)]
pub struct Bench {
    pub program: PathBuf,
    pub grammar: Grammar,
    /// Scenes to damage.
    pub scenes: Vec<String>,
}

/// A worker's home: a work folder and precious files around it.
#[derive(Debug)]
pub struct Home {
    pub folder: PathBuf,
    precious: Precious,
    /// Extension and content of a mesh in every format that has been written.
    meshes: Vec<(&'static str, Vec<u8>)>,
}

/// A command that takes longer gets one Ctrl-C and counts as slow: large input is no fault.
const SLOW: Duration = Duration::from_secs(20);

/// A command that takes longer than this to hear it hangs.
const HEARING: Duration = Duration::from_secs(10);

/// Address space of a command \[kB\]: absurd sizes must be refused before memory is taken.
const MEMORY: u64 = 6_000_000;

/// The block that runs, is recorded, and is damaged.
pub const BLOCK: &str = r#"duration = "0.2 s"
frame_rate = "20 Hz"
[[body]]
name = "b"
mesh = { from = "box", size = ["4 cm", "2 cm", "2 cm"], cell = "2 cm" }
material = { type = "stable_neo_hookean", young = "40 kPa", poisson = 0.4 }
pin = [{ region = "x-min" }]
[[probe]]
name = "tip"
region = "x-max"
[record]
report = false
csv = true
"#;

/// What is wrong after a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Ended by a signal, or with a status other than 0, 1 and 2, or with the message of a panic.
    Crash(String),
    /// A number that is none in the output.
    NotANumber(String),
    /// A file of the user is gone or changed.
    Lost(String),
    /// Temporary files are left behind, though nobody killed the program.
    Litter(String),
    /// Not done in time, and deaf to Ctrl-C.
    Hang(String),
    /// Not done in time, but ended by Ctrl-C; not a failure.
    Slow(String),
}

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseOutcome {
    pub faults: Vec<Fault>,
    /// Command lines, each with its exit status; none for one that was killed.
    pub lines: Vec<(String, Option<i32>)>,
}

impl Fault {
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Slow(_))
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Crash(_) => "crash",
            Self::NotANumber(_) => "not a number",
            Self::Lost(_) => "lost file",
            Self::Litter(_) => "litter",
            Self::Hang(_) => "hang",
            Self::Slow(_) => "slow",
        }
    }

    pub fn text(&self) -> &str {
        let (Self::Crash(text)
        | Self::NotANumber(text)
        | Self::Lost(text)
        | Self::Litter(text)
        | Self::Hang(text)
        | Self::Slow(text)) = self;
        text
    }
}

impl Home {
    /// Makes the folder with its precious files, some of them by the program itself.
    pub fn new(folder: &Path, bench: &Bench) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("cannot make {}: {error}", folder.display());
        let _ = std::fs::remove_dir_all(folder);
        for name in ["inputs", "results/frames", "elsewhere", "data", WORK] {
            std::fs::create_dir_all(folder.join(name)).map_err(told)?;
        }
        for name in [
            "thesis.txt",
            "notes.md",
            ".notes.tmp",
            "data/measured.csv",
            "data/.draft.tmp",
            "elsewhere/.data.tmp",
            "results/probes.csv",
            "results/report.html",
            "results/new.obj",
            "results/.probes.csv.tmp",
            "results/frames/frame_0000.png",
            "results/manifest.txt",
        ] {
            std::fs::write(folder.join(name), format!("precious {name}\n")).map_err(told)?;
        }
        link(Path::new("../elsewhere"), &folder.join("results/cells")).map_err(told)?;
        link(Path::new("."), &folder.join("loop")).map_err(told)?;
        let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
        std::fs::write(folder.join("inputs/t.obj"), tetrahedron).map_err(told)?;
        std::fs::write(folder.join("inputs/block.toml"), BLOCK).map_err(told)?;
        let inputs = folder.join("inputs");
        for words in [
            &["run", "block.toml", "-q", "-o", "run"][..],
            &["character", "arm", "-q", "--seconds", "0.1", "--edge", "3 cm", "-o", "arm.glb"],
            &["convert", "run", "-q", "-o", "block.vtu", "--frames", "0..0"],
        ] {
            let said = Command::new(&bench.program).args(words).current_dir(&inputs).output().map_err(told)?;
            if !said.status.success() {
                return Err(format!("`sinew {}`: {}", words.join(" "), String::from_utf8_lossy(&said.stderr)));
            }
        }
        let mut meshes = vec![("obj", tetrahedron.into())];
        for ending in ["ply", "stl", "vtu", "msh", "vtk", "mesh", "inp", "glb"] {
            let name = format!("t.{ending}");
            let words = ["mesh", "convert", "t.obj", &name, "-q"];
            let said = Command::new(&bench.program).args(words).current_dir(&inputs).output().map_err(told)?;
            if said.status.success() {
                meshes.push((ending, std::fs::read(inputs.join(&name)).map_err(told)?));
            }
        }
        let precious = Precious::of(folder).map_err(told)?;
        Ok(Self { folder: folder.into(), precious, meshes })
    }

    /// Prepares the work folder of a case and returns its commands.
    fn prepare(&self, bench: &Bench, dice: &mut Dice) -> std::io::Result<Vec<Step>> {
        let work = self.folder.join(WORK);
        let _ = std::fs::remove_dir_all(&work);
        std::fs::create_dir_all(&work)?;
        let write = |name: &str, content: &[u8]| std::fs::write(work.join(name), content);
        let step = |line: &str| Step::plain(line.split(' ').map(String::from).collect());
        Ok(match dice.roll(20) {
            // Scenes, mostly only checked.
            0..=10 => {
                let pick = |dice: &mut Dice| bench.scenes[dice.roll(bench.scenes.len())].clone();
                let (text, other) = (pick(dice), pick(dice));
                write("scene.toml", mutation::scene(&text, &other, dice).as_bytes())?;
                vec![match dice.roll(12) {
                    0 => step("run scene.toml --frames 1 --no-pictures -q -o out"),
                    1 => step("run scene.toml --frames 1 --no-pictures -q -o ../results"),
                    2 => step("check scene.toml --values"),
                    _ => step("check scene.toml"),
                }]
            }
            11..=15 => {
                write("scene.toml", mutation::scene(BLOCK, BLOCK, dice).as_bytes())?;
                write("mesh.bin", &mutation::bytes(&self.meshes[dice.roll(self.meshes.len())].1, dice))?;
                vec![Step::plain(bench.grammar.line(dice))]
            }
            16 | 17 => {
                let (ending, mesh) = &self.meshes[dice.roll(self.meshes.len())];
                let name = format!("m.{ending}");
                write(&name, &mutation::bytes(mesh, dice))?;
                let line =
                    ["mesh info {}", "mesh check {}", "mesh convert {} new.vtu", "mesh fill {} new.vtu --cell 0.2"];
                vec![step(&dice.pick(&line).replace("{}", &name))]
            }
            // A run whose files are damaged.
            18 => {
                copy(&self.folder.join("inputs/run"), &work.join("run"))?;
                let name = dice.pick(&["recording.sinew", "checkpoint.bin", "manifest.json"]);
                let content = std::fs::read(work.join("run").join(name))?;
                std::fs::write(work.join("run").join(name), mutation::bytes(&content, dice))?;
                let line = [
                    "status run",
                    "play --plain run",
                    "convert run -o x.csv",
                    "convert run -o x.vtu",
                    "resume run",
                    "compare run ../inputs/run",
                ];
                vec![step(dice.pick(&line)), step("status run")]
            }
            // A run that is ended by a signal, and goes on.
            _ => {
                write("block.toml", BLOCK.replace("0.2 s", "3 s").as_bytes())?;
                let signal = dice.pick(&["KILL", "INT", "TERM", "HUP"]).to_string();
                let after = Duration::from_millis(dice.roll(300) as u64);
                let mut run = step("run block.toml -q --no-pictures --checkpoint 0 -o out");
                run.signal = Some((signal, after));
                vec![
                    run,
                    step("status out"),
                    step("run block.toml -q --no-pictures --resume -o out"),
                    step("play --plain out"),
                ]
            }
        })
    }

    /// Runs the case.
    pub fn run(&mut self, bench: &Bench, case: u64) -> Result<CaseOutcome, String> {
        let mut dice = Dice::new(case);
        let told = |error: std::io::Error| format!("case {case}: {error}");
        let steps = self.prepare(bench, &mut dice).map_err(told)?;
        let (mut outcome, mut is_killed) = (CaseOutcome::default(), false);
        for step in &steps {
            is_killed |= step.signal.as_ref().is_some_and(|(signal, _)| signal == "KILL");
            let (status, faults) = step.run(&bench.program, &self.folder.join(WORK)).map_err(told)?;
            outcome.lines.push((step.line(), status));
            outcome.faults.extend(faults);
        }
        if !is_killed && let Some(name) = litter(&self.folder.join(WORK)) {
            outcome.faults.push(Fault::Litter(format!("{name} is left behind")));
        }
        outcome.faults.extend(self.precious.losses().map_err(told)?.into_iter().map(Fault::Lost));
        Ok(outcome)
    }
}

impl Home {
    /// Copies the work folder of the last case to a place where it stays.
    pub fn keep(&self, to: &Path) {
        // A fault is told in any case.
        let _ = copy(&self.folder.join(WORK), to);
    }
}

/// A command line, perhaps with a signal after some time.
#[derive(Clone, Debug)]
struct Step {
    words: Vec<String>,
    signal: Option<(String, Duration)>,
}

impl Step {
    fn plain(words: Vec<String>) -> Self {
        Self { words, signal: None }
    }

    /// As a shell reads it.
    fn line(&self) -> String {
        let quoted = self.words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        let line = format!("sinew {}", quoted.collect::<Vec<_>>().join(" "));
        match &self.signal {
            Some((signal, after)) => format!("{line}   # SIG{signal} after {} ms", after.as_millis()),
            None => line,
        }
    }

    fn run(&self, program: &Path, folder: &Path) -> std::io::Result<(Option<i32>, Vec<Fault>)> {
        let start = Instant::now();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY} -c 0; exec \"$@\""), "sh"]).arg(program).args(&self.words);
        shell.current_dir(folder).env("RAYON_NUM_THREADS", "1");
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipes = (child.stdout.take(), child.stderr.take());
        let output = std::thread::spawn(move || drain(pipes.0));
        let errors = std::thread::spawn(move || drain(pipes.1));
        let (status, is_ended) = self.wait(&mut child, start)?;
        let said = output.join().unwrap_or_default() + &errors.join().unwrap_or_default();
        let line = self.line();
        if is_ended {
            return Ok((None, vec![Fault::Hang(format!("`{line}` goes on {} s after Ctrl-C", HEARING.as_secs()))]));
        }
        let mut faults = Vec::new();
        let code = status.code();
        let killed = code.is_none() && self.signal.is_some();
        let is_panic = ["panicked at", "a bug in sinew", "memory allocation of"].iter().any(|part| said.contains(part));
        if is_panic || !(killed || code.is_some_and(|code| (0..=2).contains(&code))) {
            faults.push(Fault::Crash(format!("`{line}`: {status}\n{}", beginning(&said))));
        }
        // Messages quote the scene: `nan` there is the user's.
        let is_asked = |text: &str| text.contains("nan") || text.contains("inf");
        let scene = std::fs::read_to_string(folder.join("scene.toml")).unwrap_or_default();
        if !is_asked(&scene) && !is_asked(&line) && said.split(|c: char| !c.is_alphanumeric()).any(|word| word == "NaN")
        {
            faults.push(Fault::NotANumber(format!("`{line}`\n{}", beginning(&said))));
        }
        if start.elapsed() > SLOW {
            faults.push(Fault::Slow(format!("`{line}` was not done after {} s", SLOW.as_secs())));
        }
        Ok((code, faults))
    }

    /// Waits for the end, sends signals on the way; `true` if the command had to be killed.
    fn wait(&self, child: &mut Child, start: Instant) -> std::io::Result<(std::process::ExitStatus, bool)> {
        let mut signals = vec![("INT", SLOW)];
        signals.extend(self.signal.as_ref().map(|(name, after)| (name.as_str(), *after)));
        let mut pause = Duration::from_micros(500);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((status, false));
            }
            if let Some(&(name, after)) = signals.last()
                && start.elapsed() >= after
            {
                let _ = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
                signals.pop();
            }
            if start.elapsed() > SLOW + HEARING {
                child.kill()?;
                return Ok((child.wait()?, true));
            }
            std::thread::sleep(pause);
            pause = (pause * 5 / 4).min(Duration::from_millis(10));
        }
    }
}

/// What a pipe says, at most a megabyte of it.
fn drain(pipe: Option<impl Read>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut kept = Vec::new();
    let mut block = [0; 1 << 14];
    while let Ok(count) = pipe.read(&mut block) {
        if count == 0 {
            break;
        }
        if kept.len() < 1 << 20 {
            kept.extend_from_slice(&block[..count]);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn beginning(text: &str) -> String {
    text.chars().take(1500).collect()
}

/// A temporary file below a folder; links are not followed.
fn litter(folder: &Path) -> Option<String> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') && name.ends_with(".tmp") {
            return Some(name);
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = litter(&entry.path())
        {
            return Some(format!("{name}/{found}"));
        }
    }
    None
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(std::fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
