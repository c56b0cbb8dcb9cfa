//! `sinew muscle`: force curves of muscle and tendon.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sinew_muscle::{Curve, CurveKind};
use sinew_record::record::write_file;
use sinew_record::report::{Line, Plot, Scale, figures};
use sinew_scene::output::check_outputs;

use super::console::{Console, print};
use super::{Failure, Status};

/// Prints and plots muscle curves
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints the curves of force over length, speed and strain as CSV, or plots them
    Curves(Curves),
}

#[derive(Debug, clap::Args)]
struct Curves {
    /// Writes DIR/curves.html with plots and DIR/curves.csv instead of printing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Points per curve
    #[arg(long, value_name = "N", default_value_t = 201, value_parser = clap::value_parser!(u16).range(2..))]
    points: u16,

    /// Plots the curves of a CSV file (columns kind, curve, x, force) dashed beside ours, with the differences
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    match &arguments.command {
        Command::Curves(arguments) => curves(arguments, console),
    }
}

/// All named curves.
fn known() -> [Curve; 8] {
    [
        Curve::active_teran(),
        Curve::active_blemker(),
        Curve::active_delp(),
        Curve::passive_teran(),
        Curve::passive_blemker(),
        Curve::passive_chen(),
        Curve::velocity_chen(),
        Curve::tendon_zajac(),
    ]
}

/// Keyword, title, label of the abscissa and its range, for a kind of curve.
fn sheet(kind: CurveKind) -> (&'static str, &'static str, &'static str, [f64; 2]) {
    match kind {
        CurveKind::Active => ("active", "Active force over length", "fiber length [optimal lengths]", [0.2, 1.8]),
        CurveKind::Passive => ("passive", "Passive force over length", "fiber length [optimal lengths]", [0.8, 1.7]),
        CurveKind::Velocity => {
            ("velocity", "Force over speed; shortening is negative", "speed [maximum shortening speeds]", [-1.2, 1.2])
        }
        CurveKind::Tendon => ("tendon", "Tendon force over strain", "strain [–]", [-0.01, 0.06]),
    }
}

/// Curves by points, from a table with columns kind, curve, x and force.
fn read_curves(path: &Path) -> Result<Vec<Curve>, Failure> {
    let wrong = |line: usize, what: String| Failure::Other(format!("{}, line {line}: {what}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Other(format!("{} cannot be read: {error}", path.display())))?;
    let mut found: Vec<(CurveKind, String, usize, Vec<[f64; 2]>)> = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
        let &[word, name, x, force, ..] = cells.as_slice() else {
            return Err(wrong(number + 1, "a line has four columns: kind, curve, x and force".into()));
        };
        let Some(kind) = KINDS.into_iter().find(|&kind| sheet(kind).0 == word) else {
            let words = KINDS.map(|kind| sheet(kind).0).join(", ");
            return Err(wrong(number + 1, format!("`{word}` is not a kind of curve; the kinds are {words}")));
        };
        let read = |cell: &str| cell.parse::<f64>().map_err(|_| wrong(number + 1, format!("`{cell}` is not a number")));
        let point = [read(x)?, read(force)?];
        match found.iter_mut().find(|curve| (curve.0, curve.1.as_str()) == (kind, name)) {
            Some(curve) => curve.3.push(point),
            None => found.push((kind, name.to_string(), number + 1, vec![point])),
        }
    }
    let curve = |(kind, name, line, points): (CurveKind, String, usize, Vec<[f64; 2]>)| {
        let curve = Curve::through(&points, kind).map_err(|error| wrong(line, format!("curve `{name}`: {error}")))?;
        Ok(curve.named(&name))
    };
    found.into_iter().map(curve).collect()
}

const KINDS: [CurveKind; 4] = [CurveKind::Active, CurveKind::Passive, CurveKind::Velocity, CurveKind::Tendon];

fn curves(arguments: &Curves, console: Console) -> Result<Status, Failure> {
    let count = usize::from(arguments.points);
    let known = known();
    let foreign = arguments.beside.as_deref().map(read_curves).transpose()?.unwrap_or_default();
    let mut csv = String::from("kind,curve,x,force,slope\n");
    let mut plots = Vec::new();
    for kind in KINDS {
        let (word, title, x_label, [low, high]) = sheet(kind);
        let x: Vec<f64> = (0..count).map(|k| low + (high - low) * k as f64 / (count - 1) as f64).collect();
        let mut lines = Vec::new();
        for curve in known.iter().filter(|curve| curve.kind() == kind) {
            for &x in &x {
                let sample = curve.at(x);
                // Writing to a String cannot fail.
                let _ = writeln!(csv, "{word},\"{}\",{x},{},{}", curve.name(), sample.value, sample.slope);
            }
            let values = x.iter().map(|&x| curve.value(x)).collect();
            lines.push(Line::new(curve.name(), values));
        }
        let mut differences = Vec::new();
        for other in foreign.iter().filter(|curve| curve.kind() == kind) {
            lines.push(Line::new(other.name(), x.iter().map(|&x| other.value(x)).collect()).dashed());
            // Curves extrapolate beyond their points, each in its own way.
            let [first, last] = other.range();
            let difference = |curve: &Curve, x: f64| {
                if x < first || x > last { f64::NAN } else { curve.value(x) - other.value(x) }
            };
            for curve in known.iter().filter(|curve| curve.kind() == kind) {
                let values = x.iter().map(|&x| difference(curve, x)).collect();
                differences.push(Line::new(format!("{} − {}", curve.name(), other.name()), values));
            }
        }
        let y_label = "force [maximum isometric forces]";
        let plot = |title: String, lines| Plot {
            title,
            x_label: x_label.into(),
            y_label: y_label.into(),
            x: x.clone(),
            lines,
            scale: Scale::Linear,
        };
        plots.push(plot(title.into(), lines));
        if !differences.is_empty() {
            plots.push(plot(format!("{title}: differences"), differences));
        }
    }
    let Some(folder) = &arguments.output else {
        print(&csv)?;
        return Ok(Status::Done);
    };
    let other = |error: sinew_fem::RecordError| Failure::Other(error.to_string());
    let (table, page) = (folder.join("curves.csv"), folder.join("curves.html"));
    check_outputs(arguments.beside.iter(), [&table, &page]).map_err(|error| Failure::Other(error.to_string()))?;
    std::fs::create_dir_all(folder).map_err(|source| Failure::Write { what: folder.display().to_string(), source })?;
    write_file(&table, csv.as_bytes()).map_err(other)?;
    write_file(&page, figures("Curves of muscle and tendon", &plots).as_bytes()).map_err(other)?;
    console.note(&format!("wrote {} and {}", table.display(), page.display()));
    Ok(Status::Done)
}
