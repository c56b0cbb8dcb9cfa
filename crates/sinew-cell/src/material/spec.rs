//! Materials as plain data: a law and the values of its parameters.

use sinew_math::{ComplexStep, Scalar, Vec3};

use super::declaration::{
    DeclaredLaw, FiberRole, KeyDefault, MAX_KEYS, MaterialError, Parameter, Range, Unit, Values, check_range, lame,
};
use super::invertible::{Extension, Inversion};
use super::law::MaterialPoint;
use super::volume::VolumeTerm;

pub use super::Law;

/// Two moduli of isotropic elasticity in the small-strain limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElasticModuli {
    /// Measured in a tension test.
    YoungPoisson {
        /// Young's modulus E \[Pa\], positive.
        young: f64,
        /// Poisson's ratio ν, between −1 and 0.5 exclusive.
        poisson: f64,
    },
    /// Used in the formulas.
    Lame {
        /// Shear modulus μ \[Pa\], positive.
        mu: f64,
        /// Second Lamé parameter λ \[Pa\]; bulk modulus λ + 2μ/3 positive.
        lambda: f64,
    },
}

impl ElasticModuli {
    /// Lamé parameters (μ, λ) \[Pa\]: μ = E/(2(1 + ν)), λ = Eν/((1 + ν)(1 − 2ν)).
    pub fn lame(&self) -> (f64, f64) {
        match *self {
            Self::YoungPoisson { young, poisson } => lame(young, poisson),
            Self::Lame { mu, lambda } => (mu, lambda),
        }
    }

    /// Young's modulus \[Pa\] and Poisson's ratio: E = μ(3λ + 2μ)/(λ + μ), ν = λ/(2(λ + μ)).
    pub fn young_poisson(&self) -> (f64, f64) {
        match *self {
            Self::YoungPoisson { young, poisson } => (young, poisson),
            Self::Lame { mu, lambda } => {
                (mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu), lambda / (2.0 * (lambda + mu)))
            }
        }
    }
}

/// A computation with a law whose type is known only at run time; generic inside, so that loops are compiled for each
/// law and dispatched once.
pub trait MaterialVisitor {
    /// Result of the computation.
    type Output;
    /// Called with the law.
    fn visit<M: DeclaredLaw>(self, material: M) -> Self::Output;
}

/// Makes [`Law`] of a list of laws: one variant for each, and the expression of its type.
macro_rules! laws {
    ($( $(#[$doc:meta])* $Variant:ident = $law:expr, )*) => {
        /// The laws by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Law { $( $(#[$doc])* $Variant, )* }

        impl Law {
            /// All laws.
            pub const ALL: [Self; [$(stringify!($Variant)),*].len()] = [$(Self::$Variant),*];

            /// Calls the visitor with the type of this law.
            #[inline(always)]
            pub fn visit<V: MaterialVisitor>(self, visitor: V) -> V::Output {
                match self { $( Self::$Variant => visitor.visit($law), )* }
            }
        }
    };
}
pub(super) use laws;

/// The constants of a law.
struct Facts {
    name: &'static str,
    doc: &'static str,
    keys: &'static [Parameter],
    parameter_count: usize,
    is_objective: bool,
    is_isotropic: bool,
    is_extended: bool,
    has_barrier: bool,
    has_volume_term: bool,
    takes_fibers: bool,
    fiber_role: FiberRole,
}

struct FactsOf;

impl MaterialVisitor for FactsOf {
    type Output = &'static Facts;
    fn visit<M: DeclaredLaw>(self, _: M) -> &'static Facts {
        const {
            &Facts {
                name: M::NAME,
                doc: M::DOC,
                keys: M::KEYS,
                parameter_count: M::PARAMETERS,
                is_objective: M::OBJECTIVE,
                is_isotropic: M::ISOTROPIC,
                is_extended: M::EXTENDED,
                has_barrier: M::BARRIER,
                has_volume_term: !matches!(M::VOLUME_TERM, VolumeTerm::Inseparable),
                takes_fibers: M::TAKES_FIBERS,
                fiber_role: M::FIBERS,
            }
        }
    }
}

impl Law {
    fn facts(self) -> &'static Facts {
        self.visit(FactsOf)
    }

    /// The laws that scenes name: all but the extensions to inverted cells, which are an option of a law.
    pub fn plain() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.into_iter().filter(|law| !law.is_extended())
    }

    /// The law that scenes know by this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::plain().find(|law| law.name() == name)
    }

    /// Name in scene files and reports.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// One sentence for the reference page.
    pub fn doc(self) -> &'static str {
        self.facts().doc
    }

    /// Parameters of the law.
    pub fn keys(self) -> &'static [Parameter] {
        self.facts().keys
    }

    /// Index of a parameter among [`keys`](Self::keys).
    pub fn key_index(self, key: &str) -> Option<usize> {
        self.keys().iter().position(|parameter| parameter.key == key)
    }

    /// Whether Young's modulus and Poisson's ratio are parameters of the law.
    pub fn has_young(self) -> bool {
        self.key_index("young") == Some(0)
    }

    /// Whether ψ(QF) = ψ(F) for rotations Q.
    pub fn is_objective(self) -> bool {
        self.facts().is_objective
    }

    /// Whether ψ(FQ) = ψ(F) for rotations Q.
    pub fn is_isotropic(self) -> bool {
        self.facts().is_isotropic
    }

    /// Whether this is the extension of a law to inverted cells ([`Invertible`](super::Invertible)).
    pub fn is_extended(self) -> bool {
        self.facts().is_extended
    }

    /// Extension of the law to inverted cells, where there is one.
    pub fn extended(self) -> Option<Self> {
        Self::ALL.into_iter().find(|law| law.is_extended() && law.name() == self.name())
    }

    /// How many numbers of [`MaterialPoint::into_array`] the law reads.
    pub fn parameter_count(self) -> usize {
        self.facts().parameter_count
    }

    /// Whether the law has a volume term that may be evaluated with the mean over a cell.
    pub fn has_volume_term(self) -> bool {
        self.facts().has_volume_term
    }

    /// Whether cells of this law may have fibers that pull.
    pub fn takes_fibers(self) -> bool {
        self.facts().takes_fibers
    }

    /// Role of the fiber direction in the law.
    pub fn fiber_role(self) -> FiberRole {
        self.facts().fiber_role
    }

    /// Whether the law needs a fiber direction.
    pub fn needs_fibers(self) -> bool {
        self.fiber_role() != FiberRole::None
    }

    /// Whether ψ = +∞ where det F ≤ 0.
    pub fn has_barrier(self) -> bool {
        self.facts().has_barrier
    }

    /// Values of all parameters from those that are given; `None` where one is missing that has no default.
    pub fn complete(self, given: [Option<f64>; MAX_KEYS]) -> Option<Values> {
        let keys = self.keys();
        let mut values = [0.0; MAX_KEYS];
        for (k, parameter) in keys.iter().enumerate() {
            values[k] = match (given[k], parameter.default) {
                (Some(value), _) => value,
                (None, KeyDefault::Text(text)) => text.parse().ok()?,
                (None, KeyDefault::Derived(_)) => 0.0,
                (None, KeyDefault::Required) => return None,
            };
        }
        for (k, parameter) in keys.iter().enumerate() {
            if let (None, KeyDefault::Derived(from)) = (given[k], parameter.default) {
                values[k] = from(values);
            }
        }
        Some(values)
    }
}

/// A material as a user describes it: a law and the values of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialSpec {
    law: Law,
    values: Values,
    /// Unit vector along the fibers at rest, for laws that need one.
    fiber: Vec3,
    inversion: Option<Inversion>,
}

impl MaterialSpec {
    /// A material of a law with these values in the order of [`Law::keys`]. Fibers run along x; a law that is extended
    /// to inverted cells has the default [`Inversion`].
    pub fn new(law: Law, values: Values) -> Self {
        let inversion = law.is_extended().then(Inversion::default);
        Self { law, values, fiber: Vec3::unit(0), inversion }
    }

    /// A material of this law with typical parameters and the small-strain limit (E, ν).
    pub fn with_young(law: Law, young: f64, poisson: f64) -> Self {
        struct Typical(f64, f64);
        impl MaterialVisitor for Typical {
            type Output = Values;
            fn visit<M: DeclaredLaw>(self, _: M) -> Values {
                M::typical(self.0, self.1)
            }
        }
        Self::new(law, law.visit(Typical(young, poisson)))
    }

    /// The same material, extended to flat and inverted cells. Laws without such an extension stay as they are.
    pub fn extended(self, inversion: Inversion) -> Self {
        match self.law.extended() {
            Some(law) => Self { law, inversion: Some(inversion), ..self },
            None => self,
        }
    }

    /// The same material with fibers along a unit vector.
    pub fn with_fiber(self, fiber: Vec3) -> Self {
        Self { fiber, ..self }
    }

    /// The same material with another value of one parameter; unchanged where the law has no such parameter.
    pub fn with(mut self, key: &str, value: f64) -> Self {
        if let Some(k) = self.law.key_index(key) {
            self.values[k] = value;
        }
        self
    }

    /// The same material with other moduli, for laws that have Young's modulus and Poisson's ratio.
    pub fn with_moduli(self, new: ElasticModuli) -> Self {
        let (young, poisson) = new.young_poisson();
        if self.law.has_young() { self.with("young", young).with("poisson", poisson) } else { self }
    }

    /// The law.
    pub fn law(&self) -> Law {
        self.law
    }

    /// Values of the parameters in the order of [`Law::keys`].
    pub fn values(&self) -> &[f64] {
        &self.values[..self.law.keys().len()]
    }

    /// Value of a parameter, where the law has it.
    pub fn value(&self, key: &str) -> Option<f64> {
        self.law.key_index(key).map(|k| self.values[k])
    }

    /// Unit vector along the fibers at rest; without meaning for laws that need none.
    pub fn fiber(&self) -> Vec3 {
        self.fiber
    }

    /// Extension to flat and inverted cells, where there is one.
    pub fn inversion(&self) -> Option<Inversion> {
        self.inversion
    }

    /// Whether the stress is the derivative of the energy; see [`Extension::Constant`].
    pub fn has_potential(&self) -> bool {
        self.inversion.is_none_or(|inversion| inversion.extension == Extension::Energy)
    }

    /// Moduli of the small-strain limit.
    pub fn moduli(&self) -> ElasticModuli {
        if self.law.has_young() {
            return ElasticModuli::YoungPoisson { young: self.values[0], poisson: self.values[1] };
        }
        let MaterialPoint { mu, lambda, .. } = self.law.visit(PointOf(self.values));
        ElasticModuli::Lame { mu, lambda }
    }

    /// Lamé parameters (μ, λ) of the small-strain limit \[Pa\].
    pub fn lame(&self) -> (f64, f64) {
        self.moduli().lame()
    }

    /// The parameters as the law reads them.
    pub fn point(&self) -> MaterialPoint<f64> {
        let mut point = self.law.visit(PointOf(self.values));
        if self.law.needs_fibers() {
            point.fiber = self.fiber;
        }
        if let Some(inversion) = self.inversion {
            [point.extra[2], point.extra[3]] = inversion.parameters();
        }
        point
    }

    /// Derivative of [`point`](Self::point) with respect to a parameter; `None` where the law has no such parameter.
    pub fn point_slope(&self, key: &str) -> Option<MaterialPoint<f64>> {
        let index = self.law.key_index(key)?;
        let mut values = self.values.map(ComplexStep::constant);
        values[index] = ComplexStep::moving(self.values[index], 1.0);
        Some(self.law.visit(PointOf(values)).map(ComplexStep::derivative))
    }

    /// The same material with all stiffnesses multiplied by `factor`.
    pub fn scaled(mut self, factor: f64) -> Self {
        for (value, parameter) in self.values.iter_mut().zip(self.law.keys()) {
            if parameter.unit == Unit::Pascal {
                *value *= factor;
            }
        }
        self
    }

    /// Checks that the parameters are finite and describe a stable rest state.
    pub fn validate(&self) -> Result<(), MaterialError> {
        if let Some(Inversion { threshold, .. }) = self.inversion {
            check_range("the threshold of inversion", THRESHOLD, threshold)?;
        }
        for (parameter, &value) in self.law.keys().iter().zip(&self.values) {
            parameter.check(value)?;
        }
        self.law.visit(CheckOf(self.values))?;
        // Written so that NaN fails too.
        let length = self.fiber.norm();
        match self.law.needs_fibers() && !((length - 1.0).abs() <= 1e-9) {
            true => Err(MaterialError::Fiber { length }),
            false => Ok(()),
        }
    }

    /// Calls the visitor with the type of the law.
    #[inline(always)]
    pub fn visit<V: MaterialVisitor>(&self, visitor: V) -> V::Output {
        self.law.visit(visitor)
    }
}

/// Thresholds of [`Inversion`]: from 1 on the extension would change the rest state.
const THRESHOLD: Range = Range { low: 0.0, includes_low: false, high: 1.0 };

struct PointOf<S>(Values<S>);

impl<S: Scalar> MaterialVisitor for PointOf<S> {
    type Output = MaterialPoint<S>;
    fn visit<M: DeclaredLaw>(self, _: M) -> MaterialPoint<S> {
        M::point(self.0)
    }
}

struct CheckOf(Values);

impl MaterialVisitor for CheckOf {
    type Output = Result<(), MaterialError>;
    fn visit<M: DeclaredLaw>(self, _: M) -> Self::Output {
        M::check(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::declaration::{POISSON, YOUNG};
    use super::*;

    #[test]
    fn moduli_convert_there_and_back() {
        for poisson in [-0.5, 0.0, 0.3, 0.49] {
            let given = ElasticModuli::YoungPoisson { young: 30e3, poisson };
            let (mu, lambda) = given.lame();
            let (young, back) = ElasticModuli::Lame { mu, lambda }.young_poisson();
            // (1 − 2ν) amplifies rounding fifty times at ν = 0.49.
            assert!((young - 30e3).abs() < 30e3 * 1e-13 && (back - poisson).abs() < 1e-13);
            for law in Law::ALL {
                let (m, l) = MaterialSpec::with_young(law, 30e3, poisson).lame();
                assert!(
                    (m - mu).abs() < 1e-12 * mu && (l - lambda).abs() < 1e-11 * mu.max(lambda.abs()),
                    "{}",
                    law.name()
                );
            }
        }
    }

    #[test]
    fn impossible_parameters_are_named() {
        let spec = |young, poisson| MaterialSpec::with_young(Law::NeoHookean, young, poisson).validate();
        let out_of = |parameter: Parameter, value| {
            Err(MaterialError::Range { parameter: parameter.title(), range: parameter.range, value })
        };
        assert_eq!(spec(1e4, 0.3), Ok(()));
        assert_eq!(spec(1e4, 0.5), out_of(POISSON, 0.5));
        assert_eq!(spec(1e4, -1.0), out_of(POISSON, -1.0));
        assert!(matches!(spec(1e4, f64::NAN), Err(MaterialError::NotFinite { .. })));
        assert_eq!(spec(0.0, 0.3), out_of(YOUNG, 0.0));
        assert_eq!(spec(0.0, 0.3).unwrap_err().to_string(), "Young's modulus must be positive, got 0");
        assert!(matches!(spec(f64::INFINITY, 0.3), Err(MaterialError::NotFinite { .. })));
        let rubber = |c10, c01, bulk| MaterialSpec::mooney_rivlin(c10, c01, bulk).validate().map_err(|e| e.to_string());
        assert_eq!(rubber(1e3, 0.0, 1e5), Ok(()));
        assert_eq!(rubber(-1.0, 2.0, 1e5), Err("c10 must be at least 0, got -1".into()));
        assert_eq!(rubber(0.0, 0.0, 1e5), Err("c10 + c01 must be positive, got 0".into()));
        let lame = MaterialSpec::with_young(Law::Linear, 1.0, 0.0);
        let lame = lame.with_moduli(ElasticModuli::Lame { mu: 1.0, lambda: -0.7 });
        assert!(lame.validate().is_err(), "negative bulk modulus");
    }

    #[test]
    fn scaling_a_material_scales_both_moduli() {
        for law in Law::ALL {
            let spec = MaterialSpec::with_young(law, 1e4, 0.3);
            let (a, b) = (spec.point(), spec.scaled(1.1).point());
            assert!((b.mu - 1.1 * a.mu).abs() < 1e-10 && (b.lambda - 1.1 * a.lambda).abs() < 1e-10);
            assert_eq!(spec.scaled(1.1).law(), law);
        }
    }

    /// Declarations are whole: few enough keys, sentences, names of their own, defaults that are numbers.
    #[test]
    fn declarations_are_complete() {
        for law in Law::ALL {
            assert!(law.keys().len() <= MAX_KEYS && law.doc().ends_with('.'), "{}", law.name());
            assert_eq!(Law::ALL.into_iter().filter(|l| l.name() == law.name() && !l.is_extended()).count(), 1);
            assert!(law.parameter_count() <= if law.is_extended() { 6 } else { MaterialPoint::<f64>::LEN });
            let spec = MaterialSpec::with_young(law, 1e4, 0.3);
            assert_eq!(spec.validate(), Ok(()), "{}", law.name());
            let given: [Option<f64>; MAX_KEYS] = std::array::from_fn(|k| {
                let required = law.keys().get(k).is_some_and(|key| matches!(key.default, KeyDefault::Required));
                required.then(|| spec.values[k])
            });
            let values = law.complete(given).expect("every other key has a default");
            assert!(MaterialSpec::new(law, values).validate().is_ok(), "{}: {values:?}", law.name());
        }
    }

    /// ∂(μ, λ, …)/∂θ against differences.
    #[test]
    fn slopes_of_points_are_their_derivatives() {
        for law in Law::ALL {
            let spec = MaterialSpec::with_young(law, 1.3, 0.3);
            for key in law.keys() {
                let h = 1e-6;
                let at = |s: f64| spec.with(key.key, spec.value(key.key).unwrap() + s).point().into_array();
                let (plus, minus, slope) = (at(h), at(-h), spec.point_slope(key.key).unwrap().into_array());
                for k in 0..MaterialPoint::<f64>::LEN {
                    let difference = (plus[k] - minus[k]) / (2.0 * h);
                    assert!(
                        (difference - slope[k]).abs() < 1e-8 * (1.0 + slope[k].abs()),
                        "{} {}",
                        law.name(),
                        key.key
                    );
                }
            }
        }
        assert!(MaterialSpec::with_young(Law::Linear, 1.0, 0.3).point_slope("c10").is_none());
    }
}
