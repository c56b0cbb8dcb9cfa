//! Declaration of a law: its parameters with their ranges, its small-strain limit and its closed form.
//!
//! Scene keys, messages, schema, reference page and gradients are all made from it, so a law stands in one file.

use std::fmt;

use sinew_math::{Scalar, Vec3};
use thiserror::Error;

use super::law::{Material, MaterialPoint};
use super::rest_state::RestDefect;

/// Values of the parameters of a law in the order of [`DeclaredLaw::KEYS`]; the rest is zero.
pub type Values<S = f64> = [S; MAX_KEYS];

/// Maximum number of parameters of a law.
pub const MAX_KEYS: usize = 4;

/// Unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A stiffness \[Pa\]; grows with [`MaterialSpec::scaled`](super::MaterialSpec::scaled).
    Pascal,
    /// A plain number.
    Number,
}

/// An interval of numbers; its upper end is excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Whether the lower end itself is allowed.
    pub includes_low: bool,
    /// Upper end; +∞ where there is none.
    pub high: f64,
}

impl Range {
    /// Numbers above zero.
    pub const POSITIVE: Self = Self { low: 0.0, includes_low: false, high: f64::INFINITY };

    /// Whether a value lies in the interval; NaN never does.
    pub fn contains(&self, value: f64) -> bool {
        (value > self.low || (self.includes_low && value == self.low)) && value < self.high
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low == 0.0, self.includes_low) {
            (true, false) => write!(f, "positive")?,
            (_, true) => write!(f, "at least {}", self.low)?,
            (false, false) => write!(f, "above {}", self.low)?,
        }
        if self.high.is_finite() { write!(f, " and below {}", self.high) } else { Ok(()) }
    }
}

/// A parameter of a law: a key of its table in scenes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in scenes, gradients and messages.
    pub key: &'static str,
    /// One sentence for the reference page.
    pub doc: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Allowed values.
    pub range: Range,
    /// Name in messages, where the key is not one.
    pub title: Option<&'static str>,
    /// What to do about a value out of range.
    pub hint: Option<&'static str>,
    /// Value where a scene leaves the key out.
    pub default: KeyDefault,
    /// Example in the syntax of scenes.
    pub example: &'static str,
}

/// Value of a parameter that a scene leaves out.
#[derive(Clone, Copy, Debug)]
pub enum KeyDefault {
    /// There is none: the scene must give the value.
    Required,
    /// This number, in the syntax of scenes.
    Text(&'static str),
    /// A function of the other parameters.
    Derived(fn(Values) -> f64),
}

impl Parameter {
    /// A positive stiffness \[Pa\] that a scene must give.
    pub const fn stiffness(key: &'static str, doc: &'static str, example: &'static str) -> Self {
        let default = KeyDefault::Required;
        Self { key, doc, unit: Unit::Pascal, range: Range::POSITIVE, title: None, hint: None, default, example }
    }

    /// A number that a scene must give.
    pub const fn number(key: &'static str, doc: &'static str, range: Range, example: &'static str) -> Self {
        Self { range, unit: Unit::Number, ..Self::stiffness(key, doc, example) }
    }

    /// The same parameter with another sentence for the reference page.
    pub const fn documented(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    /// The same parameter, which may also be zero.
    pub const fn or_zero(self) -> Self {
        Self { range: Range { includes_low: true, ..self.range }, ..self }
    }

    /// The same parameter with this default, in the syntax of scenes.
    pub const fn default(self, text: &'static str) -> Self {
        Self { default: KeyDefault::Text(text), ..self }
    }

    /// The same parameter, by default a function of the others.
    pub const fn derived(self, from: fn(Values) -> f64) -> Self {
        Self { default: KeyDefault::Derived(from), ..self }
    }

    /// Name in messages.
    pub fn title(&self) -> &'static str {
        self.title.unwrap_or(self.key)
    }

    /// Checks that a value is finite and in range.
    pub fn check(&self, value: f64) -> Result<(), MaterialError> {
        let parameter = self.title();
        if !value.is_finite() {
            return Err(MaterialError::NotFinite { parameter, value });
        }
        check_range(parameter, self.range, value)
    }
}

/// Checks that a value is in range.
pub(super) fn check_range(parameter: &'static str, range: Range, value: f64) -> Result<(), MaterialError> {
    if range.contains(value) { Ok(()) } else { Err(MaterialError::Range { parameter, range, value }) }
}

/// Young's modulus of the small-strain limit.
pub const YOUNG: Parameter = Parameter {
    title: Some("Young's modulus"),
    ..Parameter::stiffness("young", "Young's modulus [Pa].", r#""30 kPa""#)
};

/// Poisson's ratio of the small-strain limit.
pub const POISSON: Parameter = Parameter {
    title: Some("Poisson's ratio"),
    hint: Some(r#"for incompressible tissue use `type = "mooney_rivlin"` with `bulk`, or `poisson = 0.49`"#),
    ..Parameter::number("poisson", "Poisson's ratio.", Range { low: -1.0, includes_low: false, high: 0.5 }, "0.45")
};

/// Role of the fiber direction in a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiberRole {
    /// The law is isotropic.
    None,
    /// Fibers add a tension to an isotropic matrix: P = P_matrix + T(l)/l Fa ⊗ a.
    AddedTension,
    /// The direction enters in other ways.
    Inseparable,
}

/// A law that scenes can name.
///
/// The defaults are those of an isotropic law whose parameters are Young's modulus and Poisson's ratio.
pub trait DeclaredLaw: Material {
    /// One sentence for the reference page.
    const DOC: &'static str;

    /// Parameters. Laws whose parameters include those of the small-strain limit begin with [`YOUNG`] and [`POISSON`].
    const KEYS: &'static [Parameter] = &[YOUNG, POISSON];

    /// Role of the fiber direction.
    const FIBERS: FiberRole = FiberRole::None;

    /// Whether the law is an extension of another one to inverted cells.
    const EXTENDED: bool = false;

    /// The numbers that the law reads at a point, but for the fiber direction.
    fn point<S: Scalar>(values: Values<S>) -> MaterialPoint<S> {
        let [young, poisson, ..] = values;
        let (mu, lambda) = lame(young, poisson);
        MaterialPoint { mu, lambda, ..zero_point() }
    }

    /// Typical values with the small-strain limit (E, ν).
    fn typical(young: f64, poisson: f64) -> Values {
        [young, poisson, 0.0, 0.0]
    }

    /// Checks conditions that involve several parameters; each one is in its range already.
    fn check(_values: Values) -> Result<(), MaterialError> {
        Ok(())
    }

    /// Closed form: nominal principal stresses ψᵢ(λ₁, λ₂, λ₃) \[Pa\] as textbooks print them. They share no code with
    /// the tensor formulas, and tests compare the two.
    ///
    /// With [`FiberRole::AddedTension`] this is the matrix alone; `fiber` is a coordinate axis.
    fn principal_stresses<S: Scalar>(values: Values, fiber: Vec3, stretches: [S; 3]) -> [S; 3];

    /// Closed form: tension T \[Pa\] of fibers at the stretch l, of [`FiberRole::AddedTension`].
    fn fiber_tension<S: Scalar>(_values: Values, _length: S) -> S {
        S::zero()
    }
}

/// Lamé parameters μ = E/(2(1 + ν)), λ = Eν/((1 + ν)(1 − 2ν)).
pub(super) fn lame<S: Scalar>(young: S, poisson: S) -> (S, S) {
    let (one, two) = (S::one(), S::splat(2.0));
    (young / (two * (one + poisson)), young * poisson / ((one + poisson) * (one - two * poisson)))
}

/// Lamé parameters of Young's modulus and Poisson's ratio in closed forms.
pub(super) fn lame_of<S: Scalar>(values: Values) -> (S, S) {
    let (mu, lambda) = lame(values[0], values[1]);
    (S::splat(mu), S::splat(lambda))
}

/// A point with all numbers zero.
pub(super) fn zero_point<S: Scalar>() -> MaterialPoint<S> {
    MaterialPoint::from_array([S::zero(); 9])
}

/// Young's modulus and Poisson's ratio as bulk modulus: κ = E/(3(1 − 2ν)).
pub(super) fn bulk_modulus(young: f64, poisson: f64) -> f64 {
    young / (3.0 * (1.0 - 2.0 * poisson))
}

/// An impossible parameter or rest state.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum MaterialError {
    /// NaN or infinite.
    #[error("{parameter} must be finite, got {value}")]
    NotFinite {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
    },
    /// Outside the range of the parameter.
    #[error("{parameter} must be {range}, got {value}")]
    Range {
        /// Which parameter.
        parameter: &'static str,
        /// Allowed values.
        range: Range,
        /// Its value.
        value: f64,
    },
    /// A fiber direction that is not a unit vector.
    #[error("the fiber direction must have length 1, got {length}; give every cell of the body a direction")]
    Fiber {
        /// Its length.
        length: f64,
    },
    /// A law whose rest shape is not at rest.
    #[error("the law `{law}` is not at rest in its rest shape: {defect}")]
    Rest {
        /// The law.
        law: &'static str,
        /// What is wrong, and what to do.
        defect: RestDefect,
    },
}
