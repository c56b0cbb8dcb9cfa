//! Materials and fibers of a body.

use sinew_cell::material::{self, ElasticModuli, MaterialSpec};
use sinew_math::Vec3;

use crate::{
    decode::{
        codec::{Quantity, length, number, quantity, text, whole, word},
        compound::{direction, fixed, list, vector},
        table::{one_of, table},
    },
    value::Dimension,
};

const fn pressure() -> Quantity {
    quantity(Dimension::PRESSURE)
}

const fn young() -> Quantity {
    pressure().positive().titled("Young's modulus")
}

const fn poisson() -> Quantity {
    number()
        .above(-1.0)
        .below(0.5)
        .titled("Poisson's ratio")
        .hinted("for incompressible tissue use `type = \"mooney_rivlin\"` with `bulk`, or `poisson = 0.49`")
}

table! {
    /// Stiffness of an isotropic law, as Young's modulus and Poisson's ratio at small strains.
    pub struct Elastic as "elastic" {
        /// Young's modulus \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio.
        poisson: f64 = poisson(), required, example(0.45);
    }
}

words! {
    /// How a law continues where a principal stretch is below the threshold.
    pub enum Extension {
        /// By a twice differentiable energy: the solver keeps its line search.
        "energy" => Energy,
        /// By the stress at the threshold, as in Sifakis 2007. It is bounded but has no energy, so the solver judges
        /// steps by the work of the forces along them.
        "constant" => Constant,
    }
}

table! {
    /// How a law with ln J, which is undefined for J ≤ 0, treats flat and inverted cells.
    pub struct Inversion as "inversion" {
        /// Principal stretch below which the law is extended; above it the law is unchanged.
        threshold: f64 = number().above(0.0).below(1.0).titled("the inversion threshold").hinted("the law must stay unchanged at rest, where the stretch is 1; 0.25 to 0.4 suit flesh"), default(0.3);
        /// How the law continues below the threshold.
        extension: Extension = word(), default("energy");
    }
}

table! {
    /// Stiffness of a law with ln J, as Young's modulus and Poisson's ratio at small strains.
    pub struct NeoHookean as "neo-hookean" {
        /// Young's modulus \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio.
        poisson: f64 = poisson(), required, example(0.45);
        /// Lets cells become flat or inverted, and recover. Without it, an infinite energy prevents that.
        inversion: Option<Inversion> = table(), optional, example({ threshold = 0.3 });
    }
}

table! {
    /// Stiffness of the Mooney–Rivlin law ψ = c10 (Ī₁ − 3) + c01 (Ī₂ − 3) + bulk/2 (ln J)².
    pub struct MooneyRivlin as "mooney-rivlin" {
        /// Coefficient of the first invariant \[Pa\].
        c10: f64 = pressure().positive(), required, example("20 kPa");
        /// Coefficient of the second invariant \[Pa\].
        c01: f64 = pressure().at_least(0.0), default(0), example("10 kPa");
        /// Bulk modulus \[Pa\].
        bulk: f64 = pressure().positive(), required, example("1 MPa");
        /// Lets cells become flat or inverted, and recover. Without it, an infinite energy prevents that.
        inversion: Option<Inversion> = table(), optional, example({ threshold = 0.3 });
    }
}

table! {
    /// Flesh with fibers that resist only tension: T(l) = fiber_stiffness (exp(c (l − 1)) − 1)/c for fibers of stretch
    /// l > 1, linear beyond 1.4. The key `fibers` of the body sets their directions.
    pub struct FiberReinforced as "fiber-reinforced" {
        /// Young's modulus of the matrix between the fibers \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio of the matrix.
        poisson: f64 = poisson(), required, example(0.45);
        /// Modulus of the fibers at the onset of tension \[Pa\].
        fiber_stiffness: f64 = pressure().at_least(0.0), required, example("100 kPa");
        /// Exponent c of the stiffening; 0 keeps the modulus constant.
        fiber_stiffening: f64 = number().at_least(0.0).below(100.0), default(6.6);
    }
}

words! {
    /// Constants of muscle and tendon, by their source.
    pub enum Preset {
        /// Constants of Teran 2005 with a bulk modulus of 20 MPa, which preserves volume; tendon is ten times as stiff
        /// as muscle.
        "quasi_incompressible" => QuasiIncompressible,
        /// Constants of Teran 2005, with a bulk modulus of 60 kPa: loaded flesh swells.
        "paper" => Paper,
        /// The same constants as interpreted by Sifakis 2007: half the shear stiffness.
        "paper_sifakis" => PaperSifakis,
    }
}

table! {
    /// Muscle flesh between the fibers: Mooney–Rivlin with constants from the literature. The fibers come from `muscle`
    /// of the body.
    pub struct MuscleFlesh as "muscle flesh" {
        /// Where the constants come from.
        preset: Preset = word(), default("quasi_incompressible"), example("paper");
        /// Coefficient of the first invariant \[Pa\]. Default: that of the preset.
        c10: Option<f64> = pressure().positive(), optional, example("20 kPa");
        /// Coefficient of the second invariant \[Pa\]. Default: that of the preset.
        c01: Option<f64> = pressure().at_least(0.0), optional, example("10 kPa");
        /// Bulk modulus \[Pa\]. Default: that of the preset.
        bulk: Option<f64> = pressure().positive(), optional, example("5 MPa");
        /// Lets cells become flat or inverted, and recover. Without it, an infinite energy prevents that.
        inversion: Option<Inversion> = table(), optional, example({ threshold = 0.3 });
    }
}

impl Preset {
    /// c₁₀, c₀₁ and bulk modulus \[Pa\] of muscle (TER-36, SIF-018).
    pub fn muscle(self) -> [f64; 3] {
        match self {
            Self::QuasiIncompressible => [60e3, 20e3, 20e6],
            Self::Paper => [60e3, 20e3, 60e3],
            Self::PaperSifakis => [30e3, 10e3, 60e3],
        }
    }

    /// c₁₀, c₀₁ and bulk modulus \[Pa\] of tendon.
    pub fn tendon(self) -> [f64; 3] {
        match self {
            Self::QuasiIncompressible => [600e3, 200e3, 200e6],
            Self::Paper => [120e3, 20e3, 80e3],
            Self::PaperSifakis => [60e3, 10e3, 80e3],
        }
    }
}

impl MuscleFlesh {
    /// The constants of the scene; the given ones where the scene has none.
    pub fn constants(&self, [c10, c01, bulk]: [f64; 3]) -> [f64; 3] {
        [self.c10.unwrap_or(c10), self.c01.unwrap_or(c01), self.bulk.unwrap_or(bulk)]
    }
}

table! {
    /// Flesh with different shear moduli along its fibers and across them. The key `fibers` of the body sets their
    /// directions, and `muscle` their active force.
    pub struct TransverselyIsotropic as "transversely isotropic" {
        /// Shear modulus along the fibers \[Pa\]; twice as large for small shears.
        along_shear: f64 = pressure().positive(), required, example("500 Pa");
        /// Shear modulus across the fibers \[Pa\]; twice as large for small shears.
        cross_shear: f64 = pressure().positive(), required, example("500 Pa");
        /// Modulus of stretch along the fibers at constant volume, without the tension of the fibers themselves \[Pa\].
        /// Default: the sum of the shear moduli.
        stretch: Option<f64> = pressure().positive(), optional, example("1 kPa");
        /// Bulk modulus \[Pa\].
        bulk: f64 = pressure().positive(), required, example("1 MPa");
    }
}

tagged! {
    /// The elastic law of a body.
    pub enum Material as "material" by "type" {
        /// Linear elasticity: small rotations and strains only.
        "linear" => Linear(Elastic),
        /// Fixed corotated elasticity: large rotations, finite under inversion.
        "corotated" => Corotated(Elastic),
        /// St. Venant–Kirchhoff: large rotations, but weak in compression.
        "stvk" => StVenantKirchhoff(Elastic),
        /// Neo-Hookean with ln J: large strains; cells cannot invert unless `inversion` is given.
        "neo_hookean" => NeoHookean(NeoHookean),
        /// Stable neo-Hookean: large strains, finite under inversion.
        "stable_neo_hookean" => StableNeoHookean(Elastic),
        /// Mooney–Rivlin with a bulk modulus: nearly incompressible tissue.
        "mooney_rivlin" => MooneyRivlin(MooneyRivlin),
        /// Stable neo-Hookean with fibers that resist only tension; needs `fibers` of the body.
        "fiber_reinforced" => FiberReinforced(FiberReinforced),
        /// Different shear moduli along and across the fibers; needs `fibers` of the body.
        "transversely_isotropic" => TransverselyIsotropic(TransverselyIsotropic),
        /// Muscle flesh: Mooney–Rivlin with constants from the literature; its fibers come from `muscle` of the body.
        "muscle" => Muscle(MuscleFlesh),
        /// Tendon: the same law as muscle flesh, with constants of tendon.
        "tendon" => Tendon(MuscleFlesh),
    }
}

table! {
    /// A line.
    pub struct Axis as "axis" {
        /// A point on the line, in body coordinates \[m\].
        point: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Direction of the line; any length.
        direction: [f64; 3] = direction(), required, example([0, 0, 1]);
    }
}

keyed! {
    /// Where the fibers of a body run at rest, in body coordinates.
    pub enum Fibers as "fibers" {
        /// Along one direction everywhere; any length.
        "along" => Along([f64; 3]) = direction(), example([1, 0, 0]);
        /// In circles around a line, as in a sphincter.
        "around" => Around(Axis) = table(), example({ direction = [0, 0, 1] });
        /// From the nodes of one region to those of another, along the gradient of a harmonic potential.
        "between" => Between(Between) = table(), example({ from = "x-min", to = "x-max" });
        /// Along a direction of a B-spline solid that covers the body.
        "spline" => Spline(Spline) = table(), example({ points = [[0, 0, 0], [0, 0, "1 cm"], [0, "1 cm", 0], [0, "1 cm", "1 cm"], ["5 cm", 0, 0], ["5 cm", 0, "1 cm"], ["5 cm", "1 cm", 0], ["5 cm", "1 cm", "1 cm"]], counts = [2, 2, 2], degree = [1, 1, 1] });
        /// Given by a field of the mesh with three numbers per cell; procedural muscles have the field `fiber`.
        "field" => Field(String) = text("name of a field"), example("fiber");
    }
}

table! {
    /// Fibers from one region to another.
    pub struct Between as "between" {
        /// Where the fibers start.
        from: String = text("name of a region"), required, example("x-min");
        /// Where the fibers end.
        to: String = text("name of a region"), required, example("x-max");
        /// Angle by which the fibers lean from the line between the regions toward `lean` \[rad\]; away from it when
        /// negative.
        pennation: f64 = quantity(Dimension::ANGLE).above(-std::f64::consts::FRAC_PI_2).below(std::f64::consts::FRAC_PI_2).hinted("fibers at 90° are perpendicular to the line of action and exert no force along it"), default(0), example("20 deg");
        /// The direction toward which the fibers lean; any length.
        lean: [f64; 3] = direction(), default([0, 1, 0]);
        /// A point on a plane perpendicular to `lean`, in body coordinates \[m\]. If given, fibers lean toward the
        /// plane from both sides, as in a feather.
        plane: Option<[f64; 3]> = vector(length()), optional, example([0, 0, 0]);
    }
}

words! {
    /// A direction of a B-spline solid.
    pub enum SplineAxis {
        /// The first, which varies slowest in the list of control points.
        "u" => U,
        /// The second.
        "v" => V,
        /// The third, which varies fastest in the list of control points.
        "w" => W,
    }
}

table! {
    /// A B-spline solid with clamped uniform knots.
    pub struct Spline as "spline" {
        /// Control points in body coordinates \[m\]; the last direction varies fastest.
        points: Vec<[f64; 3]> = list(vector(length())), required, example([[0, 0, 0]]);
        /// Number of control points along the three directions.
        counts: [usize; 3] = fixed(whole(2, 1000)), required, example([4, 4, 6]);
        /// Degree along the three directions.
        degree: [usize; 3] = fixed(whole(1, 3)), default([3, 3, 3]);
        /// The direction along which fibers run.
        axis: SplineAxis = word(), default("u");
    }
}

table! {
    /// A stiffness factor that varies linearly between two points and is constant beyond them.
    pub struct Gradient as "gradient" {
        /// The point of the first factor, in body coordinates \[m\].
        from: [f64; 3] = vector(length()), required, example([0, 0, 0]);
        /// The point of the second factor, in body coordinates \[m\].
        to: [f64; 3] = vector(length()), required, example(["10 cm", 0, 0]);
        /// The two factors.
        scale: [f64; 2] = fixed(number().positive()), required, example([1, 5]);
    }
}

table! {
    /// Material parameters painted on a body. Each cell takes the value at the nearest point of the surface, or at its
    /// own nodes if the mesh is a file of cells. Later entries override earlier ones, and `material_regions` overrides
    /// all of them.
    pub struct MaterialMap as "material map" {
        /// A vertex attribute of the surface, or a field of the mesh; the first component counts. Either this or
        /// `texture`.
        attribute: Option<String> = text("name of an attribute"), optional, example("stiffness");
        /// An image (.png) on the surface, which must be a glTF file with TEXCOORD_0. Its brightness counts, from 0 to
        /// 1. Either this or `attribute`.
        texture: Option<String> = text("path of a file"), optional, example("meshes/paint.png");
        /// The painted values that map to the first and the second value of the parameters below; values beyond are
        /// clamped.
        range: [f64; 2] = fixed(number()), default([0, 1]);
        /// Young's modulus at both ends of the range \[Pa\].
        young: Option<[f64; 2]> = fixed(young()), optional, example(["10 kPa", "100 kPa"]);
        /// Poisson's ratio at both ends of the range.
        poisson: Option<[f64; 2]> = fixed(poisson()), optional, example([0.3, 0.45]);
    }
}

table! {
    /// Other material parameters for the cells of a region; later entries override earlier ones.
    pub struct MaterialRegion as "material region" {
        /// The region: cells whose center lies in it, or whose nodes all belong to it.
        region: String = text("name of a region"), required, example("stiff");
        /// Young's modulus \[Pa\].
        young: Option<f64> = young(), optional, example("300 kPa");
        /// Poisson's ratio.
        poisson: Option<f64> = poisson(), optional, example(0.3);
        /// Coefficient of the first invariant \[Pa\].
        c10: Option<f64> = pressure().positive(), optional, example("20 kPa");
        /// Coefficient of the second invariant \[Pa\].
        c01: Option<f64> = pressure().at_least(0.0), optional, example("10 kPa");
        /// Bulk modulus \[Pa\].
        bulk: Option<f64> = pressure().positive(), optional, example("1 MPa");
        /// Modulus of the fibers at the onset of tension \[Pa\].
        fiber_stiffness: Option<f64> = pressure().at_least(0.0), optional, example("200 kPa");
        /// Another law; the parameters above then belong to it.
        material: Option<Material> = one_of(), optional, example({ type = "tendon" });
        /// A factor on the stiffness that varies in space.
        gradient: Option<Gradient> = table(), optional;
    }
}

table! {
    /// Damping: forces −(mass · M + stiffness · K + tissue · D) v, where K is the stiffness at the start of a step, and
    /// D is that of the rest state, rotated with the flesh.
    pub struct Damping as "damping" {
        /// Mass-proportional rate \[1/s\]: slows all motion, including free flight.
        mass: f64 = quantity(Dimension::FREQUENCY).at_least(0.0), default(0), example("0.5 1/s");
        /// Stiffness-proportional time \[s\]: slows deformation, fast deformation most.
        stiffness: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("2 ms");
        /// Rest-state time \[s\]: as `stiffness`, but does not slow rotations and does not grow with the deformation.
        tissue: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("20 ms");
    }
}

/// The cell field of fiber directions. Procedural muscles have it, and bodies with muscles get it.
pub const FIBER_FIELD: &str = "fiber";

/// The law of a material, with its parameters.
pub fn material_spec(material: &Material) -> MaterialSpec {
    let moduli = |young, poisson| ElasticModuli::YoungPoisson { young, poisson };
    let elastic = |e: &Elastic| moduli(e.young, e.poisson);
    match material {
        Material::Linear(e) => MaterialSpec::Linear(elastic(e)),
        Material::Corotated(e) => MaterialSpec::Corotated(elastic(e)),
        Material::StVenantKirchhoff(e) => MaterialSpec::StVenantKirchhoff(elastic(e)),
        Material::NeoHookean(m) => extended(MaterialSpec::NeoHookean(moduli(m.young, m.poisson)), m.inversion.as_ref()),
        Material::StableNeoHookean(e) => MaterialSpec::StableNeoHookean(elastic(e)),
        Material::MooneyRivlin(m) => {
            extended(MaterialSpec::MooneyRivlin { c10: m.c10, c01: m.c01, bulk: m.bulk }, m.inversion.as_ref())
        }
        Material::FiberReinforced(m) => MaterialSpec::FiberReinforced {
            moduli: moduli(m.young, m.poisson),
            fiber_stiffness: m.fiber_stiffness,
            fiber_stiffening: m.fiber_stiffening,
            // The compiler sets the direction of each cell.
            fiber: Vec3::unit(0),
        },
        Material::TransverselyIsotropic(m) => MaterialSpec::TransverselyIsotropic {
            along_shear: m.along_shear,
            cross_shear: m.cross_shear,
            stretch: m.stretch.unwrap_or(m.along_shear + m.cross_shear),
            bulk: m.bulk,
            fiber: Vec3::unit(0),
        },
        Material::Muscle(m) => rubber(m.constants(m.preset.muscle()), m.inversion.as_ref()),
        Material::Tendon(m) => rubber(m.constants(m.preset.tendon()), m.inversion.as_ref()),
    }
}

fn rubber([c10, c01, bulk]: [f64; 3], inversion: Option<&Inversion>) -> MaterialSpec {
    extended(MaterialSpec::MooneyRivlin { c10, c01, bulk }, inversion)
}

fn extended(spec: MaterialSpec, inversion: Option<&Inversion>) -> MaterialSpec {
    let Some(inversion) = inversion else { return spec };
    let extension = match inversion.extension {
        Extension::Energy => material::Extension::Energy,
        Extension::Constant => material::Extension::Constant,
    };
    spec.extended(material::Inversion { threshold: inversion.threshold, extension })
}
