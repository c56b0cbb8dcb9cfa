//! Constitutive laws: stress as a function of the deformation gradient F.
//!
//! | law | ψ(F) | use |
//! |---|---|---|
//! | [`Linear`] | Hooke in the small strain | comparison with linear theory; not objective |
//! | [`Corotated`] | distance from a rotation | robust general purpose, finite under inversion |
//! | [`StVenantKirchhoff`] | Hooke in the Green strain | large rotations, moderate strains |
//! | [`NeoHookean`] | I₁ and ln J | rubber and flesh; barrier at J = 0 |
//! | [`StableNeoHookean`] | I₁ and J | flesh that may invert and recover |
//! | [`MooneyRivlin`] | isochoric I₁, I₂ and ln J | nearly incompressible tissue; barrier at J = 0 |
//! | [`Invertible`] | an isotropic law, extended below a stretch | cells that may invert |
//! | [`FiberReinforced`] | [`StableNeoHookean`] and the stretch of fibers | tissue stiffer along one direction |
//! | [`TransverselyIsotropic`] | shears along and across fibers, ln J | muscle; barrier at J = 0 |
//! | [`ByInvariants`] | any function of I₁ … I₅ | laws given by their derivatives; Rust only |
//!
//! Muscle is one of these with contractile fibers ([`StretchedFiber`]).
//!
//! A law is a zero-sized type with ψ, P and δP at one point ([`Material`]); parameters come in a [`MaterialPoint`] and
//! may vary from cell to cell. Its [`DeclaredLaw`] says which parameters it has and what they mean. A [`MaterialSpec`]
//! is a law with values, and loops over cells dispatch once per block by [`Law::visit`]. Every law of [`Law::ALL`] runs
//! through the tests of `battery.rs`.
//!
//! To add a law: write ψ and the declaration in a new file, and add it to the list at the end of this file; then
//! replace the complex step defaults by closed forms where speed matters.

mod blocks;
mod corotated;
mod declaration;
mod fiber_pull;
mod fiber_reinforced;
mod invariant;
mod invertible;
mod jacobi;
mod law;
mod linear;
mod mooney_rivlin;
mod neo_hookean;
mod polar;
mod principal;
mod rest_state;
mod spec;
mod st_venant_kirchhoff;
mod stable_neo_hookean;
mod strain;
mod tangent;
mod transversely_isotropic;
mod volume;

pub mod closed_form;

#[cfg(test)]
mod battery;

pub use blocks::{BlockSink, ElementBlocks, MAX_NODES, MAX_PAIRS, Shape, ShapeRoom, pair};
pub use corotated::Corotated;
pub use declaration::{
    DeclaredLaw, FiberRole, KeyDefault, MAX_KEYS, MaterialError, POISSON, Parameter, Range, Unit, Values, YOUNG,
};
pub use fiber_pull::{FiberStretch, PullBlocks, StretchedFiber};
pub use fiber_reinforced::{FiberCurve, FiberReinforced};
pub use invariant::{ByInvariants, InvariantDerivatives, InvariantLaw, InvariantTangent, Invariants};
pub use invertible::{Extension, Inversion, Invertible};
pub use law::{Material, MaterialPoint};
pub use linear::Linear;
pub use mooney_rivlin::MooneyRivlin;
pub use neo_hookean::NeoHookean;
pub use principal::{IsotropicLaw, PrincipalHessian, PrincipalTangent};
pub use rest_state::{RestDefect, check_rest_state};
pub use spec::{ElasticModuli, MaterialSpec, MaterialVisitor};
pub use st_venant_kirchhoff::StVenantKirchhoff;
pub use stable_neo_hookean::StableNeoHookean;
pub use tangent::{ProjectionExcess, Tangent, Tangent9, projection_excess};
pub use transversely_isotropic::TransverselyIsotropic;
pub use volume::{CellVolume, VolumeForm, VolumeTerm};

spec::laws! {
    /// [`Linear`]
    Linear = Linear,
    /// [`Corotated`]
    Corotated = Corotated,
    /// [`StVenantKirchhoff`]
    StVenantKirchhoff = StVenantKirchhoff,
    /// [`NeoHookean`]
    NeoHookean = NeoHookean,
    /// [`StableNeoHookean`]
    StableNeoHookean = StableNeoHookean,
    /// [`MooneyRivlin`]
    MooneyRivlin = MooneyRivlin,
    /// [`Invertible`] over [`StVenantKirchhoff`]
    InvertibleStVenantKirchhoff = Invertible(StVenantKirchhoff),
    /// [`Invertible`] over [`NeoHookean`]
    InvertibleNeoHookean = Invertible(NeoHookean),
    /// [`Invertible`] over [`MooneyRivlin`]
    InvertibleMooneyRivlin = Invertible(MooneyRivlin),
    /// [`FiberReinforced`]
    FiberReinforced = FiberReinforced,
    /// [`TransverselyIsotropic`]
    TransverselyIsotropic = ByInvariants(TransverselyIsotropic),
}
