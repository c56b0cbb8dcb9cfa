//! Timing of a run, as a tree.

use std::time::Duration;

use sinew_fem::report::StepTiming;

/// A part of a run, with its own parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingNode {
    /// Name of the activity.
    pub name: String,
    /// Wall-clock time \[s\].
    pub seconds: f64,
    /// Its parts; the rest of `seconds` was spent elsewhere.
    pub children: Vec<TimingNode>,
}

impl TimingNode {
    /// A part without subparts.
    pub fn leaf(name: &str, time: Duration) -> Self {
        Self { name: name.into(), seconds: time.as_secs_f64(), children: Vec::new() }
    }

    /// A part with subparts.
    pub fn branch(name: &str, time: Duration, children: Vec<TimingNode>) -> Self {
        Self { children, ..Self::leaf(name, time) }
    }

    /// The steps of a simulation, divided as the solver reports them.
    pub fn steps(timing: &StepTiming) -> Self {
        let parts = [
            ("contact", timing.contact),
            ("energy and forces", timing.gradient),
            ("assembly", timing.assembly),
            ("linear solve", timing.linear_solve),
        ];
        let mut children: Vec<TimingNode> = parts.iter().map(|(name, time)| Self::leaf(name, *time)).collect();
        if let (Some(solve), true) = (children.last_mut(), timing.cell_sweeps > 0.0) {
            let nanoseconds = timing.cycles.as_nanos() as f64 / timing.cell_sweeps;
            let name = format!("V-cycles, {nanoseconds:.1} ns per cell and sweep");
            solve.children.push(Self::leaf(&name, timing.cycles));
        }
        Self::branch("steps", timing.total, children)
    }
}
