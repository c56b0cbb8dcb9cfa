//! Fits material parameters to a measured curve.
//!
//! The residual of a measurement is its distance from the simulated curve, divided by the largest measured value of its
//! column. The scene is quasistatic, so every frame is an equilibrium that depends on the parameters alone, and its exact
//! derivatives come from the stiffness ([`Simulation::gradients`]). Between frames the curve y(x) is linear; with the share
//! s = (x − x₀)/(x₁ − x₀) its derivative at a fixed x is
//!
//! ```math
//! \frac{dy}{dp} = (1 - s)\, y_0' + s\, y_1' - \frac{y_1 - y_0}{x_1 - x_0} \bigl((1 - s)\, x_0' + s\, x_1'\bigr)
//! ```
//!
//! Stiffnesses are fitted by their logarithms, so they stay positive.

mod data;
mod least_squares;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sinew_fem::linearization::{Input, Parameter};
use sinew_fem::material::Unit;
use sinew_fem::{Interrupt, RecordError, Simulation};
use sinew_record::record::write_file;
use sinew_record::report::{Line, Plot, Scale, Table, sheet, unit_of};
use sinew_scene::spec::Scene;
use sinew_scene::spec::material::material_spec;
use sinew_scene::{Override, SceneError, format_number, nearest};
use thiserror::Error;

pub use self::data::Measurements;
use self::data::TIME;
pub(crate) use self::data::Vocabulary;
use self::least_squares::{Degenerate, Evaluation, Minimum, minimize, student};
use crate::compile::compile;
use crate::run::Observer;

/// Probability of the reported intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A fitted parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Its name, as in `sinew gradient`: `bar.young`.
    pub name: String,
    /// Its path in the scene, as in `--set`.
    pub path: String,
    /// Value in the scene.
    pub start: f64,
    /// Fitted value.
    pub value: f64,
    /// Ends of the interval that contains the truth with the probability [`CONFIDENCE`], if the law is right and the errors
    /// of the measurements are independent.
    pub interval: [f64; 2],
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct FitOutcome {
    /// The parameters.
    pub parameters: Vec<Fitted>,
    /// Correlation of each pair of parameters.
    pub correlation: Vec<Vec<f64>>,
    /// The measurements.
    pub data: Measurements,
    /// The fitted curve: abscissae, and the values of each column.
    pub curve: (Vec<f64>, Vec<Vec<f64>>),
    /// Root of the mean square of the residuals before and after, as parts of the largest measured value.
    pub deviation: [f64; 2],
    /// Accepted steps, and runs of the scene.
    pub iterations: [usize; 2],
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Why there is no fit.
#[derive(Debug, Error)]
pub enum FitError {
    /// The scene cannot be compiled.
    #[error("{0}")]
    Scene(#[from] SceneError),
    /// Data, names or the scene do not allow a fit.
    #[error("error: {}", .0.join("\nerror: "))]
    Problems(Vec<String>),
    /// The observer ended it.
    #[error("error: interrupted")]
    Interrupted,
    /// A file cannot be written.
    #[error("error: {0}")]
    Record(#[from] RecordError),
}

impl FitError {
    fn one(text: impl Into<String>) -> Self {
        Self::Problems(vec![text.into()])
    }
}

/// Fits the parameters `names` (`bar.young`) of a quasistatic scene to a table; without names, the only stiffness there is.
///
/// # Errors
/// All wrong names, columns and numbers at once, before anything runs.
pub fn fit(scene: &Scene, table: &str, names: &[String], observer: &mut dyn Observer) -> Result<FitOutcome, FitError> {
    let simulation = compile(scene)?;
    let mut problems = Vec::new();
    let data = Measurements::read(table, simulation.probe_names()).map_err(|found| problems.extend(found)).ok();
    let unknowns = Unknown::find(scene, &simulation, names, &mut problems);
    let Some(data) = data.filter(|_| problems.is_empty()) else { return Err(FitError::Problems(problems)) };
    let fitting = Fitting::new(scene, &simulation, data, unknowns)?;
    fitting.run(observer)
}

/// A parameter to fit.
struct Unknown {
    name: String,
    path: String,
    input: Input,
    start: f64,
    /// Whether its logarithm is fitted.
    is_stiffness: bool,
}

impl Unknown {
    fn find(scene: &Scene, simulation: &Simulation, names: &[String], problems: &mut Vec<String>) -> Vec<Self> {
        let all = Self::all(scene, simulation);
        let listed = || all.iter().map(|unknown| unknown.name.as_str()).collect::<Vec<_>>().join(", ");
        if names.is_empty() {
            let stiff: Vec<Self> = all.into_iter().filter(|unknown| unknown.is_stiffness).collect();
            if stiff.len() != 1 {
                let known: Vec<&str> = stiff.iter().map(|unknown| unknown.name.as_str()).collect();
                let known = if known.is_empty() {
                    "no body has one law for all its cells".into()
                } else {
                    format!("there are {}", known.join(", "))
                };
                problems.push(format!("which parameters?\nhint: --by NAME,NAME; {known}"));
            }
            return stiff;
        }
        let mut found = Vec::new();
        for name in names {
            if found.iter().any(|unknown: &&Self| unknown.name == *name) {
                problems.push(format!("the parameter \"{name}\" is there twice"));
            } else if let Some(unknown) = all.iter().find(|unknown| unknown.name == *name) {
                found.push(unknown);
            } else {
                let near = nearest(name, all.iter().map(|unknown| unknown.name.as_str()));
                let hint =
                    near.map_or_else(|| format!("there are {}", listed()), |near| format!("did you mean \"{near}\"?"));
                problems.push(format!("there is no material parameter \"{name}\"\nhint: {hint}"));
            }
        }
        let wanted: Vec<String> = found.iter().map(|unknown| unknown.name.clone()).collect();
        all.into_iter().filter(|unknown| wanted.contains(&unknown.name)).collect()
    }

    /// Everything that can be fitted: the parameters of bodies with one law.
    fn all(scene: &Scene, simulation: &Simulation) -> Vec<Self> {
        let mut all = Vec::new();
        for (name, input) in simulation.inputs() {
            let Input::Parameter { body, parameter } = input else { continue };
            let Some(spec) = scene.body.get(body) else { continue };
            let own = material_spec(&spec.material);
            let (path, start, unit) = match parameter {
                Parameter::Law(key) => {
                    let unit = own.law().keys().iter().find(|known| known.key == key).map(|known| known.unit);
                    (format!("body.{}.material.{key}", spec.name), own.value(key), unit)
                }
                Parameter::Density => (format!("body.{}.density", spec.name), Some(spec.density), None),
                // Scenes give these by Young's modulus and Poisson's ratio.
                Parameter::Mu | Parameter::Lambda => continue,
            };
            let Some(start) = start else { continue };
            all.push(Self { name, path, input, start, is_stiffness: unit == Some(Unit::Pascal) && start > 0.0 });
        }
        all
    }

    /// The variable of the search.
    fn to_search(&self, value: f64) -> f64 {
        if self.is_stiffness { value.ln() } else { value }
    }

    fn value_at(&self, variable: f64) -> f64 {
        if self.is_stiffness { variable.exp() } else { variable }
    }

    /// d value / d variable.
    fn slope(&self, variable: f64) -> f64 {
        if self.is_stiffness { variable.exp() } else { 1.0 }
    }
}

struct Fitting<'a> {
    scene: &'a Scene,
    data: Measurements,
    unknowns: Vec<Unknown>,
    /// Probes to record: that of the abscissa, if it is one, then the measured ones.
    probes: Vec<usize>,
    /// Largest measured value of each column.
    scales: Vec<f64>,
    notes: Vec<String>,
}

/// Values of one run: x and columns of each frame, each with its derivatives.
struct Curve {
    x: Vec<Sample>,
    columns: Vec<Vec<Sample>>,
}

/// A value and its derivatives by the variables.
#[derive(Clone, Debug)]
struct Sample {
    value: f64,
    slopes: Vec<f64>,
}

impl<'a> Fitting<'a> {
    fn new(
        scene: &'a Scene,
        simulation: &Simulation,
        data: Measurements,
        unknowns: Vec<Unknown>,
    ) -> Result<Self, FitError> {
        let (values, count) = (data.count(), unknowns.len());
        if values <= count {
            let points = if values == 1 { "value" } else { "values" };
            let parameters = if count == 1 { "parameter" } else { "parameters" };
            return Err(FitError::one(format!(
                "the table has {values} measured {points}, too few for {count} {parameters}: a fit with an uncertainty needs {} at least",
                count + 1
            )));
        }
        let index = |name: &String| simulation.probe_names().iter().position(|known| known == name);
        let x = (data.x_name != TIME).then(|| index(&data.x_name)).flatten();
        let probes: Vec<usize> = x.into_iter().chain(data.names.iter().filter_map(index)).collect();
        let inputs: Vec<Input> = unknowns.iter().map(|unknown| unknown.input).collect();
        let refusals = simulation.gradient_refusals(&probes, &inputs);
        if !refusals.is_empty() {
            return Err(FitError::Problems(refusals.iter().map(ToString::to_string).collect()));
        }
        let largest =
            |column: &Vec<f64>| column.iter().filter(|v| v.is_finite()).fold(0.0, |most: f64, v| most.max(v.abs()));
        let scales: Vec<f64> = data.columns.iter().map(largest).collect();
        if let Some(flat) = scales.iter().position(|scale| *scale == 0.0) {
            return Err(FitError::one(format!("all values of the column `{}` are zero or missing", data.names[flat])));
        }
        Ok(Self { scene, data, unknowns, probes, scales, notes: simulation.notes.clone() })
    }

    fn run(mut self, observer: &mut dyn Observer) -> Result<FitOutcome, FitError> {
        let interrupt = observer.interrupt();
        let start: Vec<f64> = self.unknowns.iter().map(|unknown| unknown.to_search(unknown.start)).collect();
        observer.stage("run 1, with the values of the scene");
        // The first run must succeed; later ones may leave the range of the model, and such steps are shortened.
        let first = self.evaluate(&start, &interrupt)?.map_err(FitError::one)?;
        let before = self.deviation(&first);
        let mut runs = 1;
        let mut told: Vec<(usize, String)> = Vec::new();
        let found = {
            let this = &self;
            let told = &mut told;
            minimize(
                start,
                first,
                |variables| {
                    runs += 1;
                    Ok::<_, FitError>(this.evaluate(variables, &interrupt)?.ok())
                },
                |iteration, variables, evaluation| {
                    let text = format!("iteration {iteration}: {}", this.describe(variables, evaluation));
                    observer.stage(&text);
                    told.push((iteration, text));
                },
            )?
        };
        let minimum = found.map_err(|degenerate| FitError::one(self.explain(degenerate)))?;
        let curve = self.curve(&minimum.parameters, &interrupt)?.map_err(FitError::one)?;
        self.note_on(&curve, &minimum);
        let values = |samples: &[Sample]| samples.iter().map(|sample| sample.value).collect::<Vec<f64>>();
        let after = self.deviation(&minimum.evaluation);
        Ok(FitOutcome {
            parameters: self.fitted(&minimum),
            correlation: minimum.correlation,
            curve: (values(&curve.x), curve.columns.iter().map(|column| values(column)).collect()),
            deviation: [before, after],
            iterations: [minimum.iterations, runs + 1],
            data: self.data,
            notes: self.notes,
        })
    }

    fn fitted(&self, minimum: &Minimum) -> Vec<Fitted> {
        let freedom = minimum.evaluation.residuals.len() - self.unknowns.len();
        let quantile = student(CONFIDENCE, freedom);
        let rows = self.unknowns.iter().zip(&minimum.parameters).zip(&minimum.deviations);
        rows.map(|((unknown, &variable), &deviation)| Fitted {
            name: unknown.name.clone(),
            path: unknown.path.clone(),
            start: unknown.start,
            value: unknown.value_at(variable),
            interval: [-1.0, 1.0].map(|side| unknown.value_at(variable + side * quantile * deviation)),
        })
        .collect()
    }

    /// Root of the mean square of the residuals.
    fn deviation(&self, evaluation: &Evaluation) -> f64 {
        (evaluation.squares() / evaluation.residuals.len() as f64).sqrt()
    }

    fn describe(&self, variables: &[f64], evaluation: &Evaluation) -> String {
        let values = self.unknowns.iter().zip(variables);
        let values: Vec<String> =
            values.map(|(unknown, v)| format!("{} {}", unknown.name, short(unknown.value_at(*v)))).collect();
        format!("{}; deviation {:.2e}", values.join(", "), self.deviation(evaluation))
    }

    fn explain(&self, degenerate: Degenerate) -> String {
        let name = |k: usize| self.unknowns[k].name.as_str();
        match degenerate {
            Degenerate::Insensitive(k) => {
                format!(
                    "the measured values do not depend on {}\nhint: measure something else, or leave it out of --by",
                    name(k)
                )
            }
            Degenerate::Dependent(k) => {
                let others: Vec<&str> = (0..k).map(name).collect();
                format!(
                    "the measured values cannot tell {} from {}\nhint: measure something else, or leave one out of --by",
                    name(k),
                    others.join(", ")
                )
            }
        }
    }

    /// Notes on what a reader of the result must know.
    fn note_on(&mut self, curve: &Curve, minimum: &Minimum) {
        let is_frame = |x: f64| {
            let size = curve.x.iter().fold(0.0, |most: f64, sample| most.max(sample.value.abs()));
            curve.x.iter().any(|sample| (sample.value - x).abs() <= 1e-9 * size)
        };
        let between = self.data.x.iter().filter(|x| !is_frame(**x)).count();
        if between > 0 {
            self.notes.push(format!(
                "{between} of {} points lie between frames, where the curve is linear; a larger frame_rate makes it smoother",
                self.data.x.len()
            ));
        }
        for i in 0..self.unknowns.len() {
            for j in 0..i {
                let correlation = minimum.correlation[i][j];
                if correlation.abs() > 0.98 {
                    self.notes.push(format!(
                        "{} and {} are hard to tell apart: their correlation is {correlation:.4}",
                        self.unknowns[j].name, self.unknowns[i].name
                    ));
                }
            }
        }
    }

    /// Residuals and their derivatives; the inner error says why these values have none.
    fn evaluate(&self, variables: &[f64], interrupt: &Interrupt) -> Result<Result<Evaluation, String>, FitError> {
        Ok(self.curve(variables, interrupt)?.and_then(|curve| self.compare(&curve)))
    }

    fn compare(&self, curve: &Curve) -> Result<Evaluation, String> {
        let count = self.unknowns.len();
        let mut evaluation = Evaluation { residuals: Vec::new(), columns: vec![Vec::new(); count] };
        for (point, (&x, line)) in self.data.x.iter().zip(&self.data.lines).enumerate() {
            let (before, share) = curve.find(x, &self.data.x_name, *line)?;
            for (column, (measured, scale)) in curve.columns.iter().zip(self.data.columns.iter().zip(&self.scales)) {
                let value = measured[point];
                if !value.is_finite() {
                    continue;
                }
                let simulated = curve.at(column, before, share);
                evaluation.residuals.push((simulated.value - value) / scale);
                for (k, slope) in simulated.slopes.iter().enumerate() {
                    evaluation.columns[k].push(slope / scale);
                }
            }
        }
        Ok(evaluation)
    }

    /// Runs the scene with some values of the parameters.
    fn curve(&self, variables: &[f64], interrupt: &Interrupt) -> Result<Result<Curve, String>, FitError> {
        let rows = self.unknowns.iter().zip(variables);
        let overrides: Vec<Override> = rows
            .map(|(unknown, &variable)| Override::new(&unknown.path, &format!("{:?}", unknown.value_at(variable))))
            .collect();
        let compiled =
            self.scene.with_overrides(&overrides).and_then(|scene| Ok((compile(&scene)?, scene.frame_count())));
        let (mut simulation, frames) = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return Ok(Err(error.to_string())),
        };
        simulation.set_interrupt(interrupt.clone());
        let inputs: Vec<Input> = self.unknowns.iter().map(|unknown| unknown.input).collect();
        let flat = vec![0.0; inputs.len()];
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); self.probes.len()];
        let mut times = vec![simulation.time()];
        // The initial shape does not depend on the parameters.
        self.record(&simulation, &mut samples, |_, _| 0.0);
        for _ in 0..frames {
            let stepped = simulation.step_frame();
            if interrupt.is_wanted() {
                return Err(FitError::Interrupted);
            }
            if let Err(error) = stepped {
                return Ok(Err(error.to_string()));
            }
            let gradients = match simulation.gradients(&self.probes, &inputs) {
                Ok(gradients) => gradients,
                Err(errors) => {
                    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    return Ok(Err(texts.join("\nerror: ")));
                }
            };
            let slope = |probe: usize, input: usize| {
                let found = gradients.values.iter().find(|value| (value.probe, value.input) == (probe, input));
                found.map_or(0.0, |value| value.forward) * self.unknowns[input].slope(variables[input])
            };
            self.record(&simulation, &mut samples, slope);
            times.push(simulation.time());
        }
        let time = times.into_iter().map(|value| Sample { value, slopes: flat.clone() }).collect();
        let x = if self.data.x_name == TIME { time } else { samples.remove(0) };
        let curve = Curve { x, columns: samples };
        Ok(curve.check(&self.data.x_name).map(|()| curve))
    }

    fn record(&self, simulation: &Simulation, samples: &mut [Vec<Sample>], slope: impl Fn(usize, usize) -> f64) {
        for (k, (&probe, samples)) in self.probes.iter().zip(samples).enumerate() {
            let value = simulation.probe(&simulation.probe_names()[probe]).unwrap_or(f64::NAN);
            samples.push(Sample { value, slopes: (0..self.unknowns.len()).map(|input| slope(k, input)).collect() });
        }
    }
}

impl Curve {
    /// Whether x only grows, or only falls.
    fn check(&self, name: &str) -> Result<(), String> {
        let steps: Vec<f64> = self.x.windows(2).map(|pair| pair[1].value - pair[0].value).collect();
        if steps.iter().all(|step| *step > 0.0) || steps.iter().all(|step| *step < 0.0) {
            return Ok(());
        }
        Err(format!(
            "`{name}` goes back and forth during the run, so points on it are not unique\nhint: measure over `{TIME}`"
        ))
    }

    /// The frame before x, and the share of the way to the next.
    fn find(&self, x: f64, name: &str, line: usize) -> Result<(usize, f64), String> {
        let value = |k: usize| self.x[k].value;
        let (first, last) = (value(0), value(self.x.len() - 1));
        let (low, high) = (first.min(last), first.max(last));
        let slack = 1e-9 * (high - low);
        if !(x >= low - slack && x <= high + slack) || self.x.len() < 2 {
            return Err(format!(
                "line {line}: {} is outside of the run, where `{name}` is from {} to {}",
                short(x),
                short(low),
                short(high)
            ));
        }
        let after = self.x.partition_point(|sample| if last > first { sample.value < x } else { sample.value > x });
        let before = after.clamp(1, self.x.len() - 1) - 1;
        Ok((before, (x - value(before)) / (value(before + 1) - value(before))))
    }

    /// A column at a fixed x.
    fn at(&self, column: &[Sample], before: usize, share: f64) -> Sample {
        let [x, y] = [&self.x, column].map(|samples| [&samples[before], &samples[before + 1]]);
        let mix = |a: f64, b: f64| (1.0 - share) * a + share * b;
        let rise = (y[1].value - y[0].value) / (x[1].value - x[0].value);
        let slope = |k: usize| mix(y[0].slopes[k], y[1].slopes[k]) - rise * mix(x[0].slopes[k], x[1].slopes[k]);
        Sample { value: mix(y[0].value, y[1].value), slopes: (0..y[0].slopes.len()).map(slope).collect() }
    }
}

/// Six digits.
fn short(value: f64) -> String {
    format_number(format!("{value:.5e}").parse().unwrap_or(value))
}

impl FitOutcome {
    /// The `--set` options that make the scene use the fitted values.
    pub fn overrides(&self) -> Vec<String> {
        self.parameters.iter().map(|fitted| format!("{}={}", fitted.path, short(fitted.value))).collect()
    }

    /// The parameters as a table: name, start, value, interval, unit.
    pub fn table(&self) -> Table {
        let row = |fitted: &Fitted| {
            let [low, high] = fitted.interval.map(short);
            vec![fitted.name.clone(), short(fitted.start), short(fitted.value), low, high]
        };
        let columns = ["parameter", "start", "fitted", "95 % from", "to"].map(String::from).to_vec();
        Table { title: "Parameters".into(), columns, rows: self.parameters.iter().map(row).collect() }
    }

    /// One JSON object.
    pub fn to_json(&self) -> Value {
        let parameters: Map<String, Value> = self
            .parameters
            .iter()
            .map(|fitted| {
                let value = json!({
                    "path": fitted.path,
                    "start": fitted.start,
                    "value": fitted.value,
                    "low": fitted.interval[0],
                    "high": fitted.interval[1],
                });
                (fitted.name.clone(), value)
            })
            .collect();
        json!({
            "parameters": parameters,
            "confidence": CONFIDENCE,
            "correlation": self.correlation,
            "deviation_before": self.deviation[0],
            "deviation": self.deviation[1],
            "points": self.data.count(),
            "iterations": self.iterations[0],
            "runs": self.iterations[1],
            "set": self.overrides(),
            "notes": self.notes,
        })
    }

    /// Writes `fit.csv`, the fitted curve, and `fit.html`; returns their paths.
    pub fn write(&self, folder: &Path, title: &str) -> Result<Vec<PathBuf>, RecordError> {
        let files = FILES.map(|name| folder.join(name));
        let mut csv =
            std::iter::once(&self.data.x_name).chain(&self.data.names).cloned().collect::<Vec<_>>().join(",") + "\n";
        for (k, x) in self.curve.0.iter().enumerate() {
            let row = std::iter::once(*x).chain(self.curve.1.iter().map(|column| column[k]));
            csv += &(row.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(",") + "\n");
        }
        write_file(&files[0], csv.as_bytes())?;
        write_file(&files[1], sheet(title, &[self.table()], &self.plots()).as_bytes())?;
        Ok(files.to_vec())
    }

    /// Measured points over the fitted curve.
    pub fn plots(&self) -> Vec<Plot> {
        let label = |name: &str| match if name == TIME { Some("s") } else { unit_of(name) } {
            Some(unit) if !unit.is_empty() => format!("{name} [{unit}]"),
            _ => name.to_string(),
        };
        // The legend reads points by the abscissae of the plot, which increase.
        let mut order: Vec<usize> = (0..self.data.x.len()).collect();
        order.sort_by(|&a, &b| self.data.x[a].total_cmp(&self.data.x[b]));
        let sorted = |values: &[f64]| order.iter().map(|&k| values[k]).collect::<Vec<f64>>();
        let is_rising = self.curve.0.last() > self.curve.0.first();
        let along = |values: &[f64]| {
            let mut values = values.to_vec();
            if !is_rising {
                values.reverse();
            }
            values
        };
        let columns = self.data.names.iter().zip(&self.data.columns).zip(&self.curve.1);
        columns
            .map(|((name, measured), fitted)| Plot {
                title: name.clone(),
                x_label: label(&self.data.x_name),
                y_label: label(name),
                x: along(&self.curve.0),
                lines: vec![
                    Line::new("fitted", along(fitted)),
                    Line::new("measured", sorted(measured)).over(sorted(&self.data.x)).dotted(),
                ],
                scale: Scale::Linear,
            })
            .collect()
    }
}

/// The files of a fit.
pub const FILES: [&str; 2] = ["fit.csv", "fit.html"];
