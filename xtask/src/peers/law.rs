//! The correct motion of the tip: a converged solve of the law, scheme and steps that an engine claims to use.
//!
//! Backward Euler damps, and more so in longer steps, so a tip can only be compared with a solve with the same steps
//! and scheme.

use std::path::Path;

use serde_json::Value;

use super::engine::{Run, Tip, environment, run_ours, run_script};

/// Tolerance of the tip for lumping, rounding to f32 and solver tolerances: 1 % of the first swing \[m\].
pub const TOLERANCE: f64 = 0.004;

/// Time limit for the reference of a law that we do not have \[s\].
const REFERENCE_SECONDS: f64 = 900.0;

/// Comparison of an engine with its own law.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The tip agrees with the law, up to `miss` \[m\].
    OnLaw { miss: f64 },
    /// The same for a run that the time limit ended early: the first frames hardly distinguish laws and solvers.
    SoFar { miss: f64 },
    /// It solved the law with the rotations of the previous step, which at this step length is `miss` \[m\] away from
    /// the law.
    Lags { miss: f64 },
    /// It did not solve the problem.
    Misses { miss: f64 },
    /// The tip became non-finite.
    Diverged,
    /// There is no reference, for this reason.
    Unjudged(String),
}

impl Verdict {
    /// Whether the problem was solved, so that its time may be compared.
    pub fn is_on_law(&self) -> bool {
        matches!(self, Verdict::OnLaw { .. })
    }

    /// The verdict on an incomplete run.
    fn of_part(self) -> Self {
        if let Verdict::OnLaw { miss } = self { Verdict::SoFar { miss } } else { self }
    }

    /// Compares a tip with that of the converged law, and with that of the lagged one.
    pub fn of(tip: Option<Tip>, converged: Tip, lagged: Option<Tip>) -> Self {
        let Some(tip) = tip else { return Verdict::Diverged };
        let miss = tip.distance(&converged);
        if miss <= TOLERANCE {
            Verdict::OnLaw { miss }
        } else if lagged.is_some_and(|lagged| tip.distance(&lagged) <= TOLERANCE) {
            Verdict::Lags { miss }
        } else {
            Verdict::Misses { miss }
        }
    }
}

/// Computes the reference for the frames that the engine completed, and compares.
pub fn judge(program: &Path, size: &str, run: &Run, frames: usize) -> (Option<Tip>, Verdict) {
    let (reference, verdict) = judge_frames(program, size, run);
    (reference, if run.frames < frames { verdict.of_part() } else { verdict })
}

fn judge_frames(program: &Path, size: &str, run: &Run) -> (Option<Tip>, Verdict) {
    let converged = match reference(program, size, run, Rotation::Converged) {
        Ok(tip) => tip,
        Err(reason) => return (None, Verdict::Unjudged(reason)),
    };
    let verdict = Verdict::of(run.tip, converged, None);
    if !(run.is_lagged && matches!(verdict, Verdict::Misses { .. })) {
        return (Some(converged), verdict);
    }
    match reference(program, size, run, Rotation::Lagged) {
        Ok(lagged) => (Some(converged), Verdict::of(run.tip, converged, Some(lagged))),
        Err(_) => (Some(converged), verdict),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rotation {
    Converged,
    Lagged,
}

fn reference(program: &Path, size: &str, run: &Run, rotation: Rotation) -> Result<Tip, String> {
    let json = match overrides(&run.law, &run.scheme, run.substeps, run.frames) {
        Some(overrides) => run_ours(program, size, 1, None, &overrides)?,
        None if run.law == "linear_corotated" && run.substeps == 1 => {
            let rotation = if rotation == Rotation::Lagged { "lagged" } else { "converged" };
            let frames = run.frames.to_string();
            let arguments = ["--size", size, "--frames", &frames, "--scheme", &run.scheme, "--rotation", rotation]
                .map(String::from);
            run_script(&environment("reference")?, "reference.py", &arguments, REFERENCE_SECONDS)?
        }
        None => return Err(format!("no reference for {} by {}", run.law, run.scheme)),
    };
    if json["frames"].as_f64() != Some(run.frames as f64) || has_notes(&json) {
        return Err("the reference was not finished".into());
    }
    Tip::from_json(&json).ok_or_else(|| "the reference has no tip".into())
}

fn has_notes(json: &Value) -> bool {
    json["notes"].as_array().is_some_and(|notes| !notes.is_empty())
}

/// Overrides of `scenes/bench/beam.toml` for a law, a scheme, steps per frame and frames; none if we do not have them.
fn overrides(law: &str, scheme: &str, substeps: usize, frames: usize) -> Option<Vec<String>> {
    let material = match law {
        "neo_hookean" | "stable_neo_hookean" | "corotated" | "stvk" | "linear" => {
            format!("body.beam.material.type=\"{law}\"")
        }
        // c10 = μ/2 and κ of E = 100 kPa, ν = 0.4. Our volume term has ln J where felupe has J − 1.
        "isochoric_neo_hookean" => "body.beam.material={ type = \"mooney_rivlin\", c10 = \"17857.142857 Pa\", \
             c01 = \"0 Pa\", bulk = \"166666.666667 Pa\" }"
            .into(),
        _ => return None,
    };
    let mut words = scheme.split(' ');
    let solver = match (words.next()?, words.next(), words.next()) {
        ("implicit_euler", None, None) => "type = \"implicit_euler\", tolerance = 1e-5".into(),
        ("explicit", None, None) => "type = \"explicit\"".into(),
        ("newmark", Some(beta), Some(gamma)) => {
            format!("type = \"newmark\", tolerance = 1e-5, newmark = {{ beta = {beta}, gamma = {gamma} }}")
        }
        _ => return None,
    };
    Some(vec![
        material,
        format!("solver={{ {solver}, substeps = {substeps} }}"),
        format!("duration=\"{:.9} s\"", frames as f64 / 60.0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Tip = Tip { min: -0.356, end: -0.230 };

    fn tip(min: f64, end: f64) -> Option<Tip> {
        Some(Tip { min, end })
    }

    #[test]
    fn the_worse_of_both_differences_decides() {
        assert!(Verdict::of(tip(-0.357, -0.227), LAW, None).is_on_law());
        assert!(!Verdict::of(tip(-0.356, -0.2255), LAW, None).is_on_law());
        let Verdict::Misses { miss } = Verdict::of(tip(-0.373, -0.160), LAW, None) else { panic!("on its law") };
        assert!((miss - 0.07).abs() < 1e-12);
    }

    #[test]
    fn lagging_is_told_from_not_solving() {
        let lagged = tip(-0.360, -0.203);
        assert!(matches!(Verdict::of(tip(-0.3596, -0.2020), LAW, lagged), Verdict::Lags { .. }));
        assert!(matches!(Verdict::of(tip(-0.340, -0.203), LAW, lagged), Verdict::Misses { .. }));
        assert!(Verdict::of(tip(-0.356, -0.230), LAW, lagged).is_on_law());
    }

    #[test]
    fn a_part_of_the_frames_proves_nothing_but_a_miss() {
        let so_far = Verdict::of(tip(-0.356, -0.230), LAW, None).of_part();
        assert!(matches!(so_far, Verdict::SoFar { .. }) && !so_far.is_on_law());
        assert!(matches!(Verdict::of(tip(-0.4, -0.230), LAW, None).of_part(), Verdict::Misses { .. }));
    }

    #[test]
    fn a_tip_that_is_no_number_diverged() {
        assert_eq!(Verdict::of(None, LAW, None), Verdict::Diverged);
        assert!(matches!(Verdict::of(tip(f64::NAN, -0.23), LAW, None), Verdict::Misses { .. }));
    }

    #[test]
    fn references_have_the_steps_and_frames_of_the_engine() {
        let changes = overrides("stvk", "explicit", 64, 60).expect("we have it");
        assert_eq!(changes[0], "body.beam.material.type=\"stvk\"");
        assert_eq!(changes[1], "solver={ type = \"explicit\", substeps = 64 }");
        assert_eq!(changes[2], "duration=\"1.000000000 s\"");
        let newmark = overrides("corotated", "newmark 0.5 1.0", 1, 13).expect("we have it");
        assert!(newmark[1].contains("newmark = { beta = 0.5, gamma = 1.0 }"), "{}", newmark[1]);
        assert_eq!(newmark[2], "duration=\"0.216666667 s\"");
        assert_eq!(overrides("linear_corotated", "implicit_euler", 1, 60), None);
        assert_eq!(overrides("stvk", "newmark 0.5", 1, 60), None);
    }
}
