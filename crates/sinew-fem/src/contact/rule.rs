//! Who may touch whom, and how.

/// How two bodies are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMode {
    /// Points that are inside the other body are pushed out by springs: undoes tangles, and lets surfaces sink in a little.
    #[default]
    Penalty,
    /// Surfaces repel each other before they touch, and no step takes them through each other.
    Barrier,
}

/// Contact of two bodies, or of a body with itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRule {
    /// How they are kept apart.
    pub mode: ContactMode,
    /// Coulomb's coefficient of friction μ.
    pub friction: f64,
    /// Coefficient of restitution e in \[0, 1\]: what is left of the speed of two bodies that meet; 1 takes nothing.
    pub restitution: f64,
    /// Penalty: pressure per depth \[Pa/m\]; `None` derives it from stiffness and cell size of the softer body.
    pub stiffness: Option<f64>,
    /// Penalty: stiffness across the normal over that along it, α in \[0, 1\] (MCA-28).
    pub tangential: f64,
    /// Barrier: distance at which surfaces begin to repel \[m\]; `None` takes a tenth of the mean edge of the finer surface.
    pub gap: Option<f64>,
}

impl Default for ContactRule {
    fn default() -> Self {
        let mode = ContactMode::Penalty;
        Self { mode, friction: 0.0, restitution: 1.0, stiffness: None, tangential: 0.0, gap: None }
    }
}

/// Time over which bodies that start inside colliders are pushed out \[s\].
const EASE_TIME: f64 = 0.5;
/// Depth that needs no easing, in cells: what pressure may cause.
pub(crate) const ORDINARY_DEPTH: f64 = 0.05;
/// Time in which what is left of any other allowed depth falls to a third \[s\].
pub(crate) const FADE_TIME: f64 = 0.1;

/// What is left at `time` of a depth that the start allows.
pub(crate) fn allowed_depth(at_start: f64, time: f64) -> f64 {
    at_start * (1.0 - time / EASE_TIME).max(0.0)
}

/// Somebody who can touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A deformable body, by index.
    Body(usize),
    /// A rigid body, by index.
    Rigid(usize),
    /// A collider, by index.
    Collider(usize),
}
