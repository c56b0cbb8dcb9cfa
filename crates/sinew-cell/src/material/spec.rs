//! Materials as plain data: which law, with which parameters.

use sinew_math::Vec3;
use thiserror::Error;

use super::law::{Material, MaterialPoint};
use super::rest_state::RestDefect;
use super::volume::VolumeTerm;
use super::{
    ByInvariants, Corotated, Extension, FiberReinforced, Inversion, Invertible, Linear, MooneyRivlin, NeoHookean,
    StVenantKirchhoff, StableNeoHookean, TransverselyIsotropic,
};

/// Two moduli of isotropic elasticity in the small-strain limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElasticModuli {
    /// What a tension test measures.
    YoungPoisson {
        /// Young's modulus E \[Pa\], positive.
        young: f64,
        /// Poisson's ratio ν, between −1 and 0.5 exclusive.
        poisson: f64,
    },
    /// What the formulas use.
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
            Self::YoungPoisson { young, poisson } => {
                (young / (2.0 * (1.0 + poisson)), young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)))
            }
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

    /// Checks that both moduli are finite and the energy is positive definite.
    pub fn validate(&self) -> Result<(), MaterialError> {
        match *self {
            Self::YoungPoisson { young, poisson } => {
                positive("young", young)?;
                // Written so that NaN fails too.
                if poisson > -1.0 && poisson < 0.5 { Ok(()) } else { Err(MaterialError::Poisson { value: poisson }) }
            }
            Self::Lame { mu, lambda } => {
                positive("mu", mu)?;
                finite("lambda", lambda)?;
                positive("bulk modulus lambda + 2 mu / 3", lambda + 2.0 / 3.0 * mu)
            }
        }
    }
}

/// The laws by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Law {
    /// [`Linear`]
    Linear,
    /// [`Corotated`]
    Corotated,
    /// [`StVenantKirchhoff`]
    StVenantKirchhoff,
    /// [`NeoHookean`]
    NeoHookean,
    /// [`StableNeoHookean`]
    StableNeoHookean,
    /// [`MooneyRivlin`]
    MooneyRivlin,
    /// [`Invertible`] over [`NeoHookean`]
    InvertibleNeoHookean,
    /// [`Invertible`] over [`MooneyRivlin`]
    InvertibleMooneyRivlin,
    /// [`FiberReinforced`]
    FiberReinforced,
    /// [`TransverselyIsotropic`]
    TransverselyIsotropic,
}

/// Something to be done with a law whose type is known only at run time; generic inside, so that loops are compiled for
/// each law and dispatched once.
pub trait MaterialVisitor {
    /// What comes out.
    type Output;
    /// Called with the law.
    fn visit<M: Material>(self, material: M) -> Self::Output;
}

impl Law {
    /// All laws.
    pub const ALL: [Self; 10] = [
        Self::Linear,
        Self::Corotated,
        Self::StVenantKirchhoff,
        Self::NeoHookean,
        Self::StableNeoHookean,
        Self::MooneyRivlin,
        Self::InvertibleNeoHookean,
        Self::InvertibleMooneyRivlin,
        Self::FiberReinforced,
        Self::TransverselyIsotropic,
    ];

    /// Calls the visitor with the type of this law.
    #[inline(always)]
    pub fn visit<V: MaterialVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::Linear => visitor.visit(Linear),
            Self::Corotated => visitor.visit(Corotated),
            Self::StVenantKirchhoff => visitor.visit(StVenantKirchhoff),
            Self::NeoHookean => visitor.visit(NeoHookean),
            Self::StableNeoHookean => visitor.visit(StableNeoHookean),
            Self::MooneyRivlin => visitor.visit(MooneyRivlin),
            Self::InvertibleNeoHookean => visitor.visit(Invertible(NeoHookean)),
            Self::InvertibleMooneyRivlin => visitor.visit(Invertible(MooneyRivlin)),
            Self::FiberReinforced => visitor.visit(FiberReinforced),
            Self::TransverselyIsotropic => visitor.visit(ByInvariants(TransverselyIsotropic)),
        }
    }

    /// Name in scene files and reports.
    pub fn name(self) -> &'static str {
        struct Name;
        impl MaterialVisitor for Name {
            type Output = &'static str;
            fn visit<M: Material>(self, _: M) -> &'static str {
                M::NAME
            }
        }
        self.visit(Name)
    }

    /// Whether ψ(QF) = ψ(F) for rotations Q.
    pub fn is_objective(self) -> bool {
        struct Objective;
        impl MaterialVisitor for Objective {
            type Output = bool;
            fn visit<M: Material>(self, _: M) -> bool {
                M::OBJECTIVE
            }
        }
        self.visit(Objective)
    }

    /// Whether ψ(FQ) = ψ(F) for rotations Q.
    pub fn is_isotropic(self) -> bool {
        struct Isotropic;
        impl MaterialVisitor for Isotropic {
            type Output = bool;
            fn visit<M: Material>(self, _: M) -> bool {
                M::ISOTROPIC
            }
        }
        self.visit(Isotropic)
    }

    /// How many numbers of [`MaterialPoint::into_array`] the law reads.
    pub fn parameter_count(self) -> usize {
        struct Count;
        impl MaterialVisitor for Count {
            type Output = usize;
            fn visit<M: Material>(self, _: M) -> usize {
                M::PARAMETERS
            }
        }
        self.visit(Count)
    }

    /// Whether the law has a volume term that may be evaluated with the mean over a cell.
    pub fn has_volume_term(self) -> bool {
        struct Volume;
        impl MaterialVisitor for Volume {
            type Output = bool;
            fn visit<M: Material>(self, _: M) -> bool {
                M::VOLUME_TERM != VolumeTerm::Inseparable
            }
        }
        self.visit(Volume)
    }

    /// Whether cells of this law may have fibers that pull.
    pub fn takes_fibers(self) -> bool {
        struct Takes;
        impl MaterialVisitor for Takes {
            type Output = bool;
            fn visit<M: Material>(self, _: M) -> bool {
                M::TAKES_FIBERS
            }
        }
        self.visit(Takes)
    }

    /// Whether ψ = +∞ where det F ≤ 0.
    pub fn has_barrier(self) -> bool {
        struct Barrier;
        impl MaterialVisitor for Barrier {
            type Output = bool;
            fn visit<M: Material>(self, _: M) -> bool {
                M::BARRIER
            }
        }
        self.visit(Barrier)
    }
}

/// A material as a user describes it: a law and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaterialSpec {
    /// [`Linear`]
    Linear(ElasticModuli),
    /// [`Corotated`]
    Corotated(ElasticModuli),
    /// [`StVenantKirchhoff`]
    StVenantKirchhoff(ElasticModuli),
    /// [`NeoHookean`]
    NeoHookean(ElasticModuli),
    /// [`StableNeoHookean`]
    StableNeoHookean(ElasticModuli),
    /// [`MooneyRivlin`]
    MooneyRivlin {
        /// Coefficient c₁₀ of the first invariant \[Pa\], not negative.
        c10: f64,
        /// Coefficient c₀₁ of the second invariant \[Pa\], not negative; c₁₀ + c₀₁ positive.
        c01: f64,
        /// Bulk modulus κ \[Pa\], positive.
        bulk: f64,
    },
    /// [`Invertible`] over [`NeoHookean`]
    InvertibleNeoHookean {
        /// Moduli of the small-strain limit.
        moduli: ElasticModuli,
        /// From where on the law is extended.
        inversion: Inversion,
    },
    /// [`Invertible`] over [`MooneyRivlin`]
    InvertibleMooneyRivlin {
        /// Coefficient c₁₀ of the first invariant \[Pa\], not negative.
        c10: f64,
        /// Coefficient c₀₁ of the second invariant \[Pa\], not negative; c₁₀ + c₀₁ positive.
        c01: f64,
        /// Bulk modulus κ \[Pa\], positive.
        bulk: f64,
        /// From where on the law is extended.
        inversion: Inversion,
    },
    /// [`FiberReinforced`]
    FiberReinforced {
        /// Moduli of the matrix in the small-strain limit.
        moduli: ElasticModuli,
        /// Modulus k of the fibers when they become taut \[Pa\], not negative.
        fiber_stiffness: f64,
        /// Exponent c of their stiffening, not negative.
        fiber_stiffening: f64,
        /// Unit vector along the fibers at rest.
        fiber: Vec3,
    },
    /// [`TransverselyIsotropic`]
    TransverselyIsotropic {
        /// Modulus G₁ of shear along the fibers \[Pa\], positive.
        along_shear: f64,
        /// Modulus G₂ of shear across the fibers \[Pa\], positive.
        cross_shear: f64,
        /// Modulus μ₃ of stretch along the fibers at constant volume \[Pa\], positive.
        stretch: f64,
        /// Bulk modulus κ \[Pa\], positive.
        bulk: f64,
        /// Unit vector along the fibers at rest.
        fiber: Vec3,
    },
}

/// Exponent of the stiffening of passive fibers: that of the passive curve of skeletal muscle \[Weiss96\].
pub const DEFAULT_FIBER_STIFFENING: f64 = 6.6;

impl MaterialSpec {
    /// A material of this law with the small-strain limit (E, ν). For Mooney–Rivlin half of the shear modulus comes from
    /// each invariant: c₁₀ = c₀₁ = μ/4, and κ = E/(3(1 − 2ν)); the transversely isotropic law has G₁ = G₂ = μ/2 and μ₃ = μ. Fibers run along x and have the
    /// modulus E.
    pub fn with_young(law: Law, young: f64, poisson: f64) -> Self {
        let moduli = ElasticModuli::YoungPoisson { young, poisson };
        match law {
            Law::Linear => Self::Linear(moduli),
            Law::Corotated => Self::Corotated(moduli),
            Law::StVenantKirchhoff => Self::StVenantKirchhoff(moduli),
            Law::NeoHookean => Self::NeoHookean(moduli),
            Law::StableNeoHookean => Self::StableNeoHookean(moduli),
            Law::MooneyRivlin => {
                let quarter = moduli.lame().0 / 4.0;
                Self::MooneyRivlin { c10: quarter, c01: quarter, bulk: young / (3.0 * (1.0 - 2.0 * poisson)) }
            }
            Law::InvertibleNeoHookean => Self::NeoHookean(moduli).extended(Inversion::default()),
            Law::InvertibleMooneyRivlin => {
                Self::with_young(Law::MooneyRivlin, young, poisson).extended(Inversion::default())
            }
            Law::FiberReinforced => Self::FiberReinforced {
                moduli,
                fiber_stiffness: young,
                fiber_stiffening: DEFAULT_FIBER_STIFFENING,
                fiber: Vec3::unit(0),
            },
            Law::TransverselyIsotropic => {
                let half = moduli.lame().0 / 2.0;
                Self::TransverselyIsotropic {
                    along_shear: half,
                    cross_shear: half,
                    stretch: 2.0 * half,
                    bulk: young / (3.0 * (1.0 - 2.0 * poisson)),
                    fiber: Vec3::unit(0),
                }
            }
        }
    }

    /// The same material, extended to flat and inverted cells. Laws that bear them by themselves stay as they are.
    pub fn extended(self, inversion: Inversion) -> Self {
        match self {
            Self::NeoHookean(moduli) | Self::InvertibleNeoHookean { moduli, .. } => {
                Self::InvertibleNeoHookean { moduli, inversion }
            }
            Self::MooneyRivlin { c10, c01, bulk } | Self::InvertibleMooneyRivlin { c10, c01, bulk, .. } => {
                Self::InvertibleMooneyRivlin { c10, c01, bulk, inversion }
            }
            other => other,
        }
    }

    /// How the law is extended to flat and inverted cells, where it is.
    pub fn inversion(&self) -> Option<Inversion> {
        match *self {
            Self::InvertibleNeoHookean { inversion, .. } | Self::InvertibleMooneyRivlin { inversion, .. } => {
                Some(inversion)
            }
            _ => None,
        }
    }

    /// Whether the stress is the derivative of the energy; see [`Extension::Constant`].
    pub fn has_potential(&self) -> bool {
        self.inversion().is_none_or(|inversion| inversion.extension == Extension::Energy)
    }

    /// The same material with other moduli, for laws that have Young's modulus and Poisson's ratio.
    pub fn with_moduli(self, new: ElasticModuli) -> Self {
        match self {
            Self::Linear(_) => Self::Linear(new),
            Self::Corotated(_) => Self::Corotated(new),
            Self::StVenantKirchhoff(_) => Self::StVenantKirchhoff(new),
            Self::NeoHookean(_) => Self::NeoHookean(new),
            Self::StableNeoHookean(_) => Self::StableNeoHookean(new),
            Self::InvertibleNeoHookean { inversion, .. } => Self::InvertibleNeoHookean { moduli: new, inversion },
            Self::FiberReinforced { fiber_stiffness, fiber_stiffening, fiber, .. } => {
                Self::FiberReinforced { moduli: new, fiber_stiffness, fiber_stiffening, fiber }
            }
            Self::MooneyRivlin { .. } | Self::InvertibleMooneyRivlin { .. } | Self::TransverselyIsotropic { .. } => {
                self
            }
        }
    }

    /// The law.
    pub fn law(&self) -> Law {
        match self {
            Self::Linear(_) => Law::Linear,
            Self::Corotated(_) => Law::Corotated,
            Self::StVenantKirchhoff(_) => Law::StVenantKirchhoff,
            Self::NeoHookean(_) => Law::NeoHookean,
            Self::StableNeoHookean(_) => Law::StableNeoHookean,
            Self::MooneyRivlin { .. } => Law::MooneyRivlin,
            Self::InvertibleNeoHookean { .. } => Law::InvertibleNeoHookean,
            Self::InvertibleMooneyRivlin { .. } => Law::InvertibleMooneyRivlin,
            Self::FiberReinforced { .. } => Law::FiberReinforced,
            Self::TransverselyIsotropic { .. } => Law::TransverselyIsotropic,
        }
    }

    /// Moduli of the small-strain limit.
    pub fn moduli(&self) -> ElasticModuli {
        match *self {
            Self::Linear(moduli)
            | Self::Corotated(moduli)
            | Self::StVenantKirchhoff(moduli)
            | Self::NeoHookean(moduli)
            | Self::StableNeoHookean(moduli)
            | Self::InvertibleNeoHookean { moduli, .. }
            | Self::FiberReinforced { moduli, .. } => moduli,
            Self::MooneyRivlin { c10, c01, bulk } | Self::InvertibleMooneyRivlin { c10, c01, bulk, .. } => {
                ElasticModuli::Lame { mu: 2.0 * (c10 + c01), lambda: bulk - 4.0 / 3.0 * (c10 + c01) }
            }
            Self::TransverselyIsotropic { along_shear, cross_shear, bulk, .. } => {
                let mu = along_shear + cross_shear;
                ElasticModuli::Lame { mu, lambda: bulk - 2.0 / 3.0 * mu }
            }
        }
    }

    /// Lamé parameters (μ, λ) of the small-strain limit \[Pa\].
    pub fn lame(&self) -> (f64, f64) {
        self.moduli().lame()
    }

    /// The parameters as the law reads them.
    pub fn point(&self) -> MaterialPoint<f64> {
        let (mu, lambda) = self.lame();
        let mut point = MaterialPoint { mu, lambda, ..MaterialPoint::default() };
        match *self {
            Self::MooneyRivlin { c01, bulk, .. } | Self::InvertibleMooneyRivlin { c01, bulk, .. } => {
                (point.extra[0], point.extra[1]) = (c01, bulk);
            }
            Self::FiberReinforced { fiber_stiffness, fiber_stiffening, fiber, .. } => {
                (point.extra[0], point.extra[1]) = (fiber_stiffness, fiber_stiffening);
                point.fiber = fiber;
            }
            Self::TransverselyIsotropic { along_shear, cross_shear, stretch, bulk, fiber } => {
                point.extra = [along_shear, cross_shear, bulk, stretch];
                point.fiber = fiber;
            }
            _ => {}
        }
        if let Some(inversion) = self.inversion() {
            [point.extra[2], point.extra[3]] = inversion.parameters();
        }
        point
    }

    /// The same material with all stiffnesses multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let scale = |moduli| match moduli {
            ElasticModuli::YoungPoisson { young, poisson } => {
                ElasticModuli::YoungPoisson { young: young * factor, poisson }
            }
            ElasticModuli::Lame { mu, lambda } => ElasticModuli::Lame { mu: mu * factor, lambda: lambda * factor },
        };
        match *self {
            Self::MooneyRivlin { c10, c01, bulk } => {
                Self::MooneyRivlin { c10: c10 * factor, c01: c01 * factor, bulk: bulk * factor }
            }
            Self::InvertibleMooneyRivlin { c10, c01, bulk, inversion } => {
                Self::MooneyRivlin { c10: c10 * factor, c01: c01 * factor, bulk: bulk * factor }.extended(inversion)
            }
            Self::FiberReinforced { moduli, fiber_stiffness, fiber_stiffening, fiber } => Self::FiberReinforced {
                moduli: scale(moduli),
                fiber_stiffness: fiber_stiffness * factor,
                fiber_stiffening,
                fiber,
            },
            Self::TransverselyIsotropic { along_shear, cross_shear, stretch, bulk, fiber } => {
                Self::TransverselyIsotropic {
                    along_shear: along_shear * factor,
                    cross_shear: cross_shear * factor,
                    stretch: stretch * factor,
                    bulk: bulk * factor,
                    fiber,
                }
            }
            other => other.with_moduli(scale(other.moduli())),
        }
    }

    /// Checks that the parameters are finite and describe a stable rest state.
    pub fn validate(&self) -> Result<(), MaterialError> {
        if let Some(Inversion { threshold, .. }) = self.inversion()
            && !(threshold > 0.0 && threshold < 1.0)
        {
            return Err(MaterialError::Threshold { value: threshold });
        }
        match *self {
            Self::MooneyRivlin { c10, c01, bulk } | Self::InvertibleMooneyRivlin { c10, c01, bulk, .. } => {
                not_negative("c10", c10)?;
                not_negative("c01", c01)?;
                positive("c10 + c01", c10 + c01)?;
                positive("bulk", bulk)
            }
            Self::FiberReinforced { moduli, fiber_stiffness, fiber_stiffening, fiber } => {
                moduli.validate()?;
                not_negative("fiber_stiffness", fiber_stiffness)?;
                if !(0.0..MAX_FIBER_STIFFENING).contains(&fiber_stiffening) {
                    return Err(MaterialError::Stiffening { value: fiber_stiffening });
                }
                unit_fiber(fiber)
            }
            Self::TransverselyIsotropic { along_shear, cross_shear, stretch, bulk, fiber } => {
                positive("along_shear", along_shear)?;
                positive("cross_shear", cross_shear)?;
                positive("stretch", stretch)?;
                positive("bulk", bulk)?;
                unit_fiber(fiber)
            }
            _ => self.moduli().validate(),
        }
    }

    /// Calls the visitor with the type of the law.
    #[inline(always)]
    pub fn visit<V: MaterialVisitor>(&self, visitor: V) -> V::Output {
        self.law().visit(visitor)
    }
}

/// Bound of the exponent of the stiffening of fibers: e^(100 · 0.4) is still a number to compute with.
const MAX_FIBER_STIFFENING: f64 = 100.0;

/// A parameter or a rest state that no material can have.
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
    /// A stiffness that must be positive.
    #[error("{parameter} must be positive, got {value} Pa")]
    NotPositive {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
    },
    /// A stiffness that may be zero but not negative.
    #[error("{parameter} must not be negative, got {value} Pa")]
    Negative {
        /// Which parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
    },
    /// Poisson's ratio outside (−1, 0.5).
    #[error("Poisson's ratio must be above -1 and below 0.5, got {value}")]
    Poisson {
        /// Its value.
        value: f64,
    },
    /// The threshold of [`Inversion`] outside (0, 1): at 1 and above the extension would change the rest state.
    #[error("the threshold of inversion must be above 0 and below 1, the stretch at rest, got {value}")]
    Threshold {
        /// Its value.
        value: f64,
    },
    /// The exponent of fibers outside [0, 100).
    #[error("fiber_stiffening must be at least 0 and below 100, got {value}")]
    Stiffening {
        /// Its value.
        value: f64,
    },
    /// A fiber direction that is no unit vector.
    #[error("the direction of the fibers must have length 1, got {length}; give every cell of the body a direction")]
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

fn unit_fiber(fiber: Vec3) -> Result<(), MaterialError> {
    // Written so that NaN fails too.
    if (fiber.norm() - 1.0).abs() <= 1e-9 { Ok(()) } else { Err(MaterialError::Fiber { length: fiber.norm() }) }
}

fn finite(parameter: &'static str, value: f64) -> Result<(), MaterialError> {
    if value.is_finite() { Ok(()) } else { Err(MaterialError::NotFinite { parameter, value }) }
}

fn positive(parameter: &'static str, value: f64) -> Result<(), MaterialError> {
    finite(parameter, value)?;
    if value > 0.0 { Ok(()) } else { Err(MaterialError::NotPositive { parameter, value }) }
}

fn not_negative(parameter: &'static str, value: f64) -> Result<(), MaterialError> {
    finite(parameter, value)?;
    if value >= 0.0 { Ok(()) } else { Err(MaterialError::Negative { parameter, value }) }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(spec(1e4, 0.3), Ok(()));
        assert_eq!(spec(1e4, 0.5), Err(MaterialError::Poisson { value: 0.5 }));
        assert_eq!(spec(1e4, -1.0), Err(MaterialError::Poisson { value: -1.0 }));
        assert!(matches!(spec(1e4, f64::NAN), Err(MaterialError::Poisson { .. })));
        assert_eq!(spec(0.0, 0.3), Err(MaterialError::NotPositive { parameter: "young", value: 0.0 }));
        assert!(matches!(spec(f64::INFINITY, 0.3), Err(MaterialError::NotFinite { .. })));
        let rubber = |c10, c01, bulk| MaterialSpec::MooneyRivlin { c10, c01, bulk }.validate();
        assert_eq!(rubber(1e3, 0.0, 1e5), Ok(()));
        assert_eq!(rubber(-1.0, 2.0, 1e5), Err(MaterialError::Negative { parameter: "c10", value: -1.0 }));
        assert_eq!(rubber(0.0, 0.0, 1e5), Err(MaterialError::NotPositive { parameter: "c10 + c01", value: 0.0 }));
        let lame = MaterialSpec::Linear(ElasticModuli::Lame { mu: 1.0, lambda: -0.7 });
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
}
