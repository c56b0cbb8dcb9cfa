//! Contact rules: which bodies may touch, and how.

/// How contact keeps two bodies apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMode {
    /// Springs push points out of the other body: resolves overlaps, and lets surfaces penetrate a little.
    #[default]
    Penalty,
    /// Surfaces repel each other before they touch, and no step moves them through each other.
    Barrier,
}

/// Contact of two bodies, or of a body with itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRule {
    /// How contact keeps them apart.
    pub mode: ContactMode,
    /// Coulomb's coefficient of friction μ.
    pub friction: f64,
    /// Coefficient of restitution e in \[0, 1\]: ratio of speeds after and before an impact; 1 loses nothing.
    pub restitution: f64,
    /// Penalty: pressure per depth \[Pa/m\]; `None` derives it from the stiffness and cell size of the softer body.
    pub stiffness: Option<f64>,
    /// Penalty: ratio α of the stiffness across the normal to that along it, in \[0, 1\] (MCA-28).
    pub tangential: f64,
    /// Barrier: distance at which surfaces start to repel \[m\]; `None` takes a tenth of the mean edge of the finer
    /// surface, at most a hundredth of the thickness of a rigid body.
    pub gap: Option<f64>,
    /// Barrier: what becomes of places that cross or touch at rest.
    pub rest: RestContact,
}

/// What becomes of places that cross or touch at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestContact {
    /// They count, and no barrier can begin with them.
    #[default]
    Guarded,
    /// They are left alone until they have parted, and are guarded from then on.
    LeftAlone,
}

impl Default for ContactRule {
    fn default() -> Self {
        let mode = ContactMode::Penalty;
        Self {
            mode,
            friction: 0.0,
            restitution: 1.0,
            stiffness: None,
            tangential: 0.0,
            gap: None,
            rest: RestContact::Guarded,
        }
    }
}

/// Time over which contact pushes out bodies that start inside colliders \[s\].
const EASE_TIME: f64 = 0.5;
/// Depth that needs no easing, in cells: what pressure may cause.
pub(crate) const ORDINARY_DEPTH: f64 = 0.05;
/// Time in which any other allowed depth decays to a third \[s\].
pub(crate) const FADE_TIME: f64 = 0.1;

/// Remaining part at `time` of a depth allowed at the start.
pub(crate) fn allowed_depth(at_start: f64, time: f64) -> f64 {
    at_start * (1.0 - time / EASE_TIME).max(0.0)
}

/// A participant of contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A deformable body, by index.
    Body(usize),
    /// A rigid body, by index.
    Rigid(usize),
    /// A collider, by index.
    Collider(usize),
}
