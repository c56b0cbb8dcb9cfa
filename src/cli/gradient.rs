//! `sinew gradient`: derivatives of the final state of a quasistatic scene by channels and material parameters.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_fem::linearization::{Gradient, Gradients, Input, Parameter};
use sinew_fem::material::Law;
use sinew_fem::{Interrupt, Simulation};
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene, format_number, nearest};

use super::console::Console;
use super::progress::Progress;
use super::{Failure, Status, console, table, use_threads_of};

/// Maximum relative difference between forward and adjoint. Both are exact up to rounding and solver accuracy.
const AGREEMENT: f64 = 1e-8;

/// Runs a quasistatic scene and differentiates its final state
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scene file (TOML)
    scene: PathBuf,

    /// Probes to differentiate, for example tip.displacement.z
    #[arg(long, value_name = "PROBE", value_delimiter = ',', required = true)]
    of: Vec<String>,

    /// Channels and parameters to differentiate by, for example gravity.z,muscle.activation.belly,muscle.young
    #[arg(long, value_name = "CHANNEL,PARAMETER", value_delimiter = ',', required = true)]
    by: Vec<String>,

    /// Replaces a value of the scene, for example body.flesh.material.young="10 kPa"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// Stops after this many frames
    #[arg(long, value_name = "N")]
    frames: Option<usize>,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let overrides: Vec<Override> = arguments.overrides.iter().cloned().map(Override::from).collect();
    let scene = Scene::load_with(&arguments.scene, &overrides)?;
    use_threads_of(&scene);
    let mut simulation = compile(&scene)?;
    // Report wrong names before the run, not after it.
    let request = Request::find(&simulation, arguments)?;
    let start = Instant::now();
    run(&mut simulation, scene.frame_count().min(arguments.frames.unwrap_or(usize::MAX)), console)?;
    let run_time = start.elapsed();
    let start = Instant::now();
    let gradients = simulation.gradients(&request.probes, &request.inputs).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        all(&lines)
    })?;
    let times = [run_time, start.elapsed()];
    if arguments.json {
        let name = arguments.scene.display().to_string();
        console::print(&format!("{}\n", to_json(&name, &simulation, &request, &gradients, times)))?;
    } else {
        console::print(&to_table(&simulation, &request, &gradients))?;
    }
    for (input, name) in request.input_names.iter().enumerate() {
        if let Some(note) = note(&gradients, input) {
            console.note(&format!("note: {name}: {note}"));
        }
    }
    let disagreement = gradients.disagreement();
    console.note(&format!("{}; forward and adjoint differ by {disagreement:.1e}", gradients.method));
    if disagreement > AGREEMENT {
        return Err(Failure::Other(format!(
            "forward and adjoint gradients differ by {disagreement:.1e}, more than {AGREEMENT:.0e}: the stiffness is too close to singular"
        )));
    }
    Ok(Status::Done)
}

/// Probes and inputs of the command line.
struct Request {
    probes: Vec<usize>,
    inputs: Vec<Input>,
    input_names: Vec<String>,
}

impl Request {
    /// Finds probes and inputs by name. Reports all wrong names together.
    fn find(simulation: &Simulation, arguments: &Arguments) -> Result<Self, Failure> {
        let mut problems: Vec<String> = Vec::new();
        let known = simulation.probe_names();
        let mut probes = Vec::new();
        for name in &arguments.of {
            match known.iter().position(|probe| probe == name) {
                Some(probe) => probes.push(probe),
                None => problems.push(unknown("probe", name, known.iter().map(String::as_str))),
            }
        }
        let all_inputs = simulation.inputs();
        let mut inputs = Vec::new();
        for name in &arguments.by {
            match all_inputs.iter().find(|(input, _)| input == name) {
                Some(&(_, input)) => inputs.push(input),
                None => problems.push(missing_parameter(simulation, name).unwrap_or_else(|| {
                    unknown("channel or parameter", name, all_inputs.iter().map(|(input, _)| input.as_str()))
                })),
            }
        }
        let refusals = simulation.gradient_refusals(&probes, &inputs);
        problems.extend(refusals.iter().map(ToString::to_string));
        if problems.is_empty() {
            Ok(Self { probes, inputs, input_names: arguments.by.clone() })
        } else {
            Err(all(&problems))
        }
    }
}

/// All problems in one failure.
fn all(problems: &[String]) -> Failure {
    Failure::Other(problems.join("\nerror: "))
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    // Overrides write `body.NAME.material.young`, gradients `NAME.young`.
    let short = name.strip_prefix("body.").map(|rest| rest.replacen(".material.", ".", 1));
    let short = short.as_deref().and_then(|short| known.clone().find(|other| *other == short));
    let hint = match short.or_else(|| nearest(name, known.clone())) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => {
            let mut few: Vec<&str> =
                known.clone().filter(|other| other.split('.').next() == name.split('.').next()).take(8).collect();
            if few.is_empty() {
                few = known.take(8).collect();
            }
            format!("there are {}", few.join(", "))
        }
    };
    format!("there is no {kind} \"{name}\"\nhint: {hint}")
}

/// Why a body lacks a parameter, if both names are valid.
fn missing_parameter(simulation: &Simulation, name: &str) -> Option<String> {
    let (body, parameter) = name.rsplit_once('.')?;
    let model = simulation.model();
    let index = model.find_body(body)?;
    Law::plain().flat_map(Parameter::of_law).find(|known| known.name() == parameter)?;
    let own: Vec<&str> = Parameter::of(model, index).into_iter().map(Parameter::name).collect();
    let reason = if own == ["density"] {
        "its cells have several materials, or none".to_string()
    } else {
        format!("its law has {}", own.join(", "))
    };
    Some(format!("the body \"{body}\" has no parameter \"{parameter}\": {reason}"))
}

fn run(simulation: &mut Simulation, frames: usize, console: Console) -> Result<(), Failure> {
    let interrupt = Interrupt::ambient();
    simulation.set_interrupt(interrupt.clone());
    let mut progress = Progress::new(console);
    for frame in 0..frames {
        let report = simulation.step_frame().map_err(|error| {
            progress.clear();
            Failure::Other(format!("{error}\n{frame} frames were computed"))
        })?;
        progress.update(frame + 1, frames, &report.to_string());
    }
    progress.clear();
    if interrupt.is_wanted() { Err(Failure::Other("interrupted".into())) } else { Ok(()) }
}

/// A warning about the derivative by an input.
fn note(gradients: &Gradients, input: usize) -> Option<String> {
    let derivative = &gradients.derivatives[input];
    match &derivative.kink {
        Some(kink) => Some(kink.describe()),
        None if derivative.is_zero() => {
            Some("no force and no pin depends on it at this state: all derivatives are zero".into())
        }
        None => None,
    }
}

/// Names of probe and input.
fn names<'a>(simulation: &'a Simulation, request: &'a Request, gradient: &Gradient) -> (&'a str, &'a str) {
    (&simulation.probe_names()[request.probes[gradient.probe]], &request.input_names[gradient.input])
}

fn to_table(simulation: &Simulation, request: &Request, gradients: &Gradients) -> String {
    let mut rows = vec![["probe", "by", "forward", "adjoint"].map(String::from).to_vec()];
    for gradient in &gradients.values {
        let (probe, input) = names(simulation, request, gradient);
        let adjoint = gradient.adjoint.map_or("–".to_string(), format_number);
        rows.push(vec![probe.into(), input.into(), format_number(gradient.forward), adjoint]);
    }
    table::layout(&rows, &[false, false, true, true])
}

fn to_json(
    scene: &str,
    simulation: &Simulation,
    request: &Request,
    gradients: &Gradients,
    [run, differentiate]: [Duration; 2],
) -> Value {
    let values = gradients.values.iter().map(|gradient| {
        let (probe, input) = names(simulation, request, gradient);
        json!({
            "of": probe,
            "by": input,
            "value": gradient.forward,
            "forward": gradient.forward,
            "adjoint": gradient.adjoint,
            "difference": gradient.difference,
            "source": gradients.source(gradient.input).describe(),
            "note": note(gradients, gradient.input),
        })
    });
    let probes: serde_json::Map<String, Value> = request
        .probes
        .iter()
        .map(|&probe| simulation.probe_names()[probe].clone())
        .map(|name| (name.clone(), json!(simulation.probe(&name))))
        .collect();
    json!({
        "scene": scene,
        "time": simulation.time(),
        "probes": probes,
        "gradients": values.collect::<Vec<Value>>(),
        "disagreement": gradients.disagreement(),
        "residual": gradients.residual,
        "tangent_error": gradients.tangent_error,
        "method": gradients.method,
        "seconds_run": run.as_secs_f64(),
        "seconds_gradients": differentiate.as_secs_f64(),
    })
}
