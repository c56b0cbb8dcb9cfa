//! `sinew muscle`: the curves that muscles are made of.

use std::fmt::Write as _;
use std::path::PathBuf;

use sinew_muscle::{Curve, CurveKind};
use sinew_scene::record::write_file;
use sinew_scene::report::{Line, Plot, Scale, figures};

use super::talk::{Talk, print};
use super::{Failure, Status};

/// Tells what muscles are made of
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints the curves of force over length, speed and strain as CSV, and draws them
    Curves(Curves),
}

#[derive(Debug, clap::Args)]
struct Curves {
    /// Draws them into DIR/curves.html and writes DIR/curves.csv instead of printing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Points per curve
    #[arg(long, value_name = "N", default_value_t = 201, value_parser = clap::value_parser!(u16).range(2..))]
    points: u16,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, talk: Talk) -> Result<Status, Failure> {
    match &arguments.command {
        Command::Curves(arguments) => curves(arguments, talk),
    }
}

/// All curves that have a name.
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

/// What a kind of curve shows: a word, a headline, the abscissa and its ends.
fn sheet(kind: CurveKind) -> (&'static str, &'static str, &'static str, [f64; 2]) {
    match kind {
        CurveKind::Active => ("active", "Active force over length", "fibre length [optimal lengths]", [0.2, 1.8]),
        CurveKind::Passive => ("passive", "Passive force over length", "fibre length [optimal lengths]", [0.8, 1.7]),
        CurveKind::Velocity => {
            ("velocity", "Force over speed; shortening is negative", "speed [greatest shortening speeds]", [-1.2, 1.2])
        }
        CurveKind::Tendon => ("tendon", "Force of tendon over strain", "strain", [-0.01, 0.06]),
    }
}

const KINDS: [CurveKind; 4] = [CurveKind::Active, CurveKind::Passive, CurveKind::Velocity, CurveKind::Tendon];

fn curves(arguments: &Curves, talk: Talk) -> Result<Status, Failure> {
    let count = usize::from(arguments.points);
    let known = known();
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
        plots.push(Plot { title: title.into(), x_label: x_label.into(), x, lines, scale: Scale::Linear });
    }
    let Some(folder) = &arguments.output else {
        print(&csv)?;
        return Ok(Status::Done);
    };
    let other = |error: sinew_fem::RecordError| Failure::Other(error.to_string());
    let (table, page) = (folder.join("curves.csv"), folder.join("curves.html"));
    std::fs::create_dir_all(folder).map_err(|source| Failure::Write { what: folder.display().to_string(), source })?;
    write_file(&table, csv.as_bytes()).map_err(other)?;
    write_file(&page, figures("Curves of muscle and tendon", &plots).as_bytes()).map_err(other)?;
    talk.note(&format!("wrote {} and {}", table.display(), page.display()));
    Ok(Status::Done)
}
