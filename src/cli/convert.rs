//! `sinew convert`: converts a recording to the formats of other programs.

use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use sinew_fem::Interrupt;
use sinew_record::convert::{ConvertOptions, ConvertReport, Plan, open_recording, plan};

use super::console::{self, Console};
use super::progress::{Progress, duration};
use super::{Failure, Status, table};

/// Outputs larger than this need `--yes` \[bytes\].
const LARGE: u64 = 1 << 30;

/// Converts a recording to the formats of other programs
#[derive(Debug, clap::Args)]
#[command(after_help = formats())]
pub struct Arguments {
    /// Recording (.sinew), or the folder of a run
    pub recording: PathBuf,

    /// Output file; its extension selects the format. Repeat for several files
    #[arg(short, long = "output", value_name = "FILE", required = true)]
    pub outputs: Vec<PathBuf>,

    /// Frames from A to B, inclusive; A or B may be omitted
    #[arg(long, value_name = "A..B", value_parser = frame_range)]
    pub frames: Option<RangeInclusive<usize>>,

    /// Takes every N-th recorded frame
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    pub every: usize,

    /// Cell fields of .vtu files, separated by commas [default: as in the scene, else all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fields: Option<Vec<String>>,

    /// Values of .csv and .svg files: all whose names contain this text. Repeat for several [default: all]
    #[arg(long = "probe", value_name = "NAME")]
    pub probes: Vec<String>,

    /// Field that colors pictures [default: as in the scene]
    #[arg(long, value_name = "FIELD")]
    pub color: Option<String>,

    /// Values at both ends of the color bar, for example 0,"20 kPa" [default: as in the scene, else those of all frames]
    #[arg(long, value_name = "MIN,MAX", allow_hyphen_values = true)]
    pub range: Option<String>,

    /// Where pictures are taken from: front, back, left, right, top, bottom, or angles in degrees: from the front to the
    /// right, and above the horizon, for example 30,20 [default: as in the scene]
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    pub camera: Option<String>,

    /// Width and height of pictures and films in pixels [default: as in the scene]
    #[arg(long, value_name = "WxH")]
    pub size: Option<String>,

    /// Leaves out sky and ground: pictures are clear behind the bodies
    #[arg(long)]
    pub transparent: bool,

    /// Speed of films; 1 is real time, 0.1 ten times slower [default: as in the scene]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    pub speed: Option<String>,

    /// Replaces a value of [record], for example record.edges=true
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// Frames per value clip of .usda files [default: clips only for long shots]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub clips: Option<usize>,

    /// Maximum number of morph targets of a body in .glb files, up to 32
    #[arg(long, value_name = "N", value_parser = morph_targets)]
    pub morph_targets: Option<usize>,

    /// Also writes more than a gigabyte
    #[arg(long)]
    pub yes: bool,

    /// Prints the list of files as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// The formats, for the help text.
fn formats() -> String {
    let rows: Vec<Vec<String>> = sinew_record::convert::OutputFormat::all()
        .map(|format| {
            let extensions: Vec<String> = format.extensions().iter().map(|name| format!(".{name}")).collect();
            vec![format!("  {}", extensions.join(", ")), format.purpose().into()]
        })
        .collect();
    format!("Files:\n{}", table::layout(&rows, &[]).trim_end())
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let failed = |error: sinew_record::convert::ConvertError| Failure::Told(error.report());
    let start = Instant::now();
    let recording = open_recording(&arguments.recording).map_err(failed)?;
    let mut problems = Vec::new();
    let overrides = overrides(arguments, &mut problems);
    let options = ConvertOptions {
        frames: arguments.frames.clone().unwrap_or(0..=usize::MAX),
        every: arguments.every,
        fields: arguments.fields.clone(),
        probes: arguments.probes.clone(),
        color: arguments.color.clone(),
        size: None,
        overrides,
        clips: arguments.clips,
        morph_targets: arguments.morph_targets,
    };
    let plan = plan(&recording, &arguments.outputs, &options);
    if !problems.is_empty() {
        // All mistakes at once.
        let others = plan.err().map(|error| error.report());
        let all: Vec<String> = problems.iter().map(|problem| format!("error: {problem}")).chain(others).collect();
        return Err(Failure::Told(all.join("\n\n")));
    }
    let plan = plan.map_err(failed)?;
    console.note(&sizes(&plan));
    if plan.total_bytes() > LARGE && !arguments.yes {
        return Err(Failure::Other(format!(
            "the files take about {}\nhint: --yes writes them anyway; --frames and --every select fewer frames",
            bytes(plan.total_bytes())
        )));
    }
    let interrupt = Interrupt::ambient();
    let mut progress = Progress::new(console);
    let result = plan.execute(&mut |done, all| {
        progress.update(done, all, "");
        if interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.clear();
    let report = result.map_err(failed)?;
    for note in &report.notes {
        console.note(&format!("note: {note}"));
    }
    for output in &report.outputs {
        let count = output.files.len();
        let more = if count > 1 { format!(" in {count} files") } else { String::new() };
        let name = output.files.first().filter(|_| count == 1).unwrap_or(&output.path);
        console.note(&format!("wrote {}: {}{more}", name.display(), bytes(output.bytes)));
    }
    let frames = if report.frames == 1 { "frame" } else { "frames" };
    console.note(&format!("{} {frames} in {}", report.frames, duration(start.elapsed())));
    if arguments.json {
        console::print(&format!("{}\n", to_json(&report)))?;
    }
    Ok(Status::Done)
}

/// The planned files with their sizes.
fn sizes(plan: &Plan<'_>) -> String {
    let rows: Vec<Vec<String>> = plan
        .outputs
        .iter()
        .map(|output| {
            let word = if output.estimate.is_exact { "" } else { "about " };
            vec![output.path.display().to_string(), format!("{word}{}", bytes(output.estimate.bytes))]
        })
        .collect();
    let count = plan.frame_count();
    let verb = if count == 1 { "frame becomes" } else { "frames become" };
    format!("{count} {verb}\n{}", table::layout(&rows, &[false, true]).trim_end())
}

fn to_json(report: &ConvertReport) -> serde_json::Value {
    let outputs = report.outputs.iter().map(|output| {
        json!({
            "path": output.path.to_string_lossy(),
            "bytes": output.bytes,
            "files": output.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
        })
    });
    json!({ "frames": report.frames, "outputs": outputs.collect::<Vec<_>>(), "notes": report.notes })
}

/// A size in readable units.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

/// `A..B`, `A..`, `..B` or a single frame.
fn frame_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str, otherwise: usize| match text {
        "" => Ok(otherwise),
        text => text.parse().map_err(|_| format!("`{text}` is not the number of a frame")),
    };
    let range = match text.split_once("..") {
        Some((first, last)) => number(first, 0)?..=number(last.trim_start_matches('='), usize::MAX)?,
        None => number(text, 0)?..=number(text, 0)?,
    };
    if text.is_empty() || range.is_empty() {
        Err("a range has the form A..B, with A at most B".into())
    } else {
        Ok(range)
    }
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "must be a whole number of at least 1".into())
}

fn morph_targets(text: &str) -> Result<usize, String> {
    positive(text).ok().filter(|&number| number <= 32).ok_or_else(|| "must be a whole number from 1 to 32".into())
}

/// The options that say how pictures look, as values of the scene: the scene knows what is right.
fn overrides(arguments: &Arguments, problems: &mut Vec<String>) -> Vec<String> {
    let mut sets = Vec::new();
    let mut add = |result: Result<Vec<String>, String>| match result {
        Ok(values) => sets.extend(values),
        Err(problem) => problems.push(problem),
    };
    add(Ok(arguments.overrides.clone()));
    arguments.size.iter().for_each(|text| add(size(text)));
    arguments.camera.iter().for_each(|text| add(camera(text)));
    arguments.range.iter().for_each(|text| add(range(text)));
    add(Ok(arguments.speed.iter().map(|text| format!("record.speed={text}")).collect()));
    if arguments.transparent {
        add(Ok(vec!["record.background=\"transparent\"".into()]));
    }
    sets
}

/// `WIDTHxHEIGHT`.
fn size(text: &str) -> Result<Vec<String>, String> {
    let side = |text: &str| text.parse::<i64>().ok();
    let sides = text.split_once(['x', 'X', '×']).and_then(|(width, height)| Some((side(width)?, side(height)?)));
    let (width, height) = sides.ok_or_else(|| format!("--size {text}: a size has the form 960x720"))?;
    Ok(vec![format!("record.size=[{width}, {height}]")])
}

/// A side, or azimuth and elevation in degrees.
fn camera(text: &str) -> Result<Vec<String>, String> {
    let Some((azimuth, elevation)) = text.split_once(',') else {
        return Ok(vec![format!("record.camera.view={text:?}")]);
    };
    let degrees = |text: &str| text.trim().parse::<f64>().ok().filter(|angle| angle.is_finite());
    match (degrees(azimuth), degrees(elevation)) {
        (Some(azimuth), Some(elevation)) => Ok(vec![
            format!("record.camera.azimuth=\"{azimuth} deg\""),
            format!("record.camera.elevation=\"{elevation} deg\""),
        ]),
        _ => Err(format!("--camera {text}: angles are two numbers in degrees, such as 30,20")),
    }
}

/// Two numbers, with or without unit.
fn range(text: &str) -> Result<Vec<String>, String> {
    let Some((low, high)) = text.split_once(',').filter(|(_, high)| !high.contains(',')) else {
        return Err(format!("--range {text}: a range has the form MIN,MAX"));
    };
    let value = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("{:?}", text.trim()),
    };
    Ok(vec![format!("record.range=[{}, {}]", value(low), value(high))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(frame_range("3..7"), Ok(3..=7));
        assert_eq!(frame_range("3..=7"), Ok(3..=7));
        assert_eq!(frame_range("3.."), Ok(3..=usize::MAX));
        assert_eq!(frame_range("..7"), Ok(0..=7));
        assert_eq!(frame_range("5"), Ok(5..=5));
        for wrong in ["", "a", "7..3", "1..b", "-1..2"] {
            assert!(frame_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(size("640x480"), Ok(vec!["record.size=[640, 480]".into()]));
        assert!(size("640").is_err() && size("axb").is_err());
    }

    #[test]
    fn options_become_values_of_the_scene() {
        assert_eq!(camera("top"), Ok(vec!["record.camera.view=\"top\"".into()]));
        let angles = ["record.camera.azimuth=\"-30 deg\"", "record.camera.elevation=\"20.5 deg\""].map(String::from);
        assert_eq!(camera("-30, 20.5"), Ok(angles.to_vec()));
        assert!(camera("30,up").is_err() && camera("1,2,3").is_err());
        assert_eq!(range("-1,2.5"), Ok(vec!["record.range=[-1, 2.5]".into()]));
        assert_eq!(range("0, 20 kPa"), Ok(vec!["record.range=[0, \"20 kPa\"]".into()]));
        assert!(range("3").is_err() && range("1,2,3").is_err());
    }
}
