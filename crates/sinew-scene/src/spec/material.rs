//! What a body is made of.

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
    /// Stiffness of an isotropic law by Young's modulus and Poisson's ratio at small strains.
    pub struct Elastic as "elastic" {
        /// Young's modulus \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio.
        poisson: f64 = poisson(), required, example(0.45);
    }
}

words! {
    /// How a law goes on where a principal stretch is below the threshold.
    pub enum Extension {
        /// By an energy of its own, twice differentiable: the solver keeps its line search.
        "energy" => Energy,
        /// By the stress at the threshold, as Sifakis 2007 does it: bounded, but without an energy, so steps are judged by the work of the forces along them.
        "constant" => Constant,
    }
}

table! {
    /// What a law with ln J, which has no value there, does in flat and inverted cells.
    pub struct Inversion as "inversion" {
        /// Principal stretch below which the law is extended; above it nothing changes.
        threshold: f64 = number().above(0.0).below(1.0).titled("the threshold of inversion").hinted("1 is the stretch at rest, which must not change; 0.25 to 0.4 suit flesh"), default(0.3);
        /// How it goes on below.
        extension: Extension = word(), default("energy");
    }
}

table! {
    /// Stiffness of a law with ln J by Young's modulus and Poisson's ratio at small strains.
    pub struct NeoHookean as "neo-hookean" {
        /// Young's modulus \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio.
        poisson: f64 = poisson(), required, example(0.45);
        /// Lets cells become flat and inverted, and recover; without it they are held back by an infinite energy.
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
        /// Lets cells become flat and inverted, and recover; without it they are held back by an infinite energy.
        inversion: Option<Inversion> = table(), optional, example({ threshold = 0.3 });
    }
}

table! {
    /// Flesh with fibers that resist only when pulled: T(l) = fiber_stiffness (exp(c (l − 1)) − 1)/c for fibers of stretch l > 1, linear
    /// beyond 1.4. The body says by `fibers` where they run.
    pub struct FiberReinforced as "fiber-reinforced" {
        /// Young's modulus of the matrix between the fibers \[Pa\].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio of the matrix.
        poisson: f64 = poisson(), required, example(0.45);
        /// Modulus of the fibers when they become taut \[Pa\].
        fiber_stiffness: f64 = pressure().at_least(0.0), required, example("100 kPa");
        /// Exponent c of their stiffening; 0 keeps the modulus.
        fiber_stiffening: f64 = number().at_least(0.0).below(100.0), default(6.6);
    }
}

words! {
    /// Constants of muscle and tendon by their source.
    pub enum Preset {
        /// Those of Teran 2005 with a bulk modulus of 20 MPa, which keeps the volume; tendon ten times as stiff as muscle.
        "quasi_incompressible" => QuasiIncompressible,
        /// Those of Teran 2005, whose bulk modulus of 60 kPa lets loaded flesh swell.
        "paper" => Paper,
        /// The same constants as Sifakis 2007 reads them: half the stiffness against shear.
        "paper_sifakis" => PaperSifakis,
    }
}

table! {
    /// Flesh of muscle between its fibers: Mooney–Rivlin with constants from the literature. The fibers come from `muscle` of the body.
    pub struct MuscleFlesh as "muscle flesh" {
        /// Where the constants come from.
        preset: Preset = word(), default("quasi_incompressible"), example("paper");
        /// Coefficient of the first invariant, in place of that of the preset \[Pa\].
        c10: Option<f64> = pressure().positive(), optional, example("20 kPa");
        /// Coefficient of the second invariant, in place of that of the preset \[Pa\].
        c01: Option<f64> = pressure().at_least(0.0), optional, example("10 kPa");
        /// Bulk modulus, in place of that of the preset \[Pa\].
        bulk: Option<f64> = pressure().positive(), optional, example("5 MPa");
        /// Lets cells become flat and inverted, and recover; without it they are held back by an infinite energy.
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
    /// The constants given, else these.
    pub fn constants(&self, [c10, c01, bulk]: [f64; 3]) -> [f64; 3] {
        [self.c10.unwrap_or(c10), self.c01.unwrap_or(c01), self.bulk.unwrap_or(bulk)]
    }
}

table! {
    /// Flesh that shears along its fibers and across them with moduli of their own. The body says by `fibers` where they run, and by `muscle` how they pull.
    pub struct TransverselyIsotropic as "transversely isotropic" {
        /// Modulus of shear along the fibers \[Pa\]; small shears have twice that.
        along_shear: f64 = pressure().positive(), required, example("500 Pa");
        /// Modulus of shear across the fibers \[Pa\]; small shears have twice that.
        cross_shear: f64 = pressure().positive(), required, example("500 Pa");
        /// Modulus of stretch along the fibers at constant volume, besides what they pull \[Pa\]; the sum of the other two when left out.
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
        /// St. Venant–Kirchhoff: large rotations, weak in compression.
        "stvk" => StVenantKirchhoff(Elastic),
        /// Neo-Hookean with ln J: large strains; no inversion unless `inversion` is given.
        "neo_hookean" => NeoHookean(NeoHookean),
        /// Stable neo-Hookean: large strains, finite under inversion.
        "stable_neo_hookean" => StableNeoHookean(Elastic),
        /// Mooney–Rivlin with a bulk modulus: nearly incompressible tissue.
        "mooney_rivlin" => MooneyRivlin(MooneyRivlin),
        /// Stable neo-Hookean with fibers that resist only when pulled; needs `fibers` of the body.
        "fiber_reinforced" => FiberReinforced(FiberReinforced),
        /// Shears along and across fibers with moduli of their own; needs `fibers` of the body.
        "transversely_isotropic" => TransverselyIsotropic(TransverselyIsotropic),
        /// Flesh of muscle: Mooney–Rivlin with constants from the literature; its fibers come from `muscle` of the body.
        "muscle" => Muscle(MuscleFlesh),
        /// Tendon: as flesh of muscle, with constants of its own.
        "tendon" => Tendon(MuscleFlesh),
    }
}

table! {
    /// A line.
    pub struct Axis as "axis" {
        /// A point of the line, in body coordinates \[m\].
        point: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Its direction; any length.
        direction: [f64; 3] = direction(), required, example([0, 0, 1]);
    }
}

keyed! {
    /// Where the fibers of a body run at rest, in body coordinates.
    pub enum Fibers as "fibers" {
        /// Everywhere along one direction; any length.
        "along" => Along([f64; 3]) = direction(), example([1, 0, 0]);
        /// In circles around a line, as in a sphincter.
        "around" => Around(Axis) = table(), example({ direction = [0, 0, 1] });
        /// From the nodes of one region to those of another, along the gradient of a potential that runs smoothly between them.
        "between" => Between(Between) = table(), example({ from = "x-min", to = "x-max" });
        /// Along a direction of a B-spline solid that covers the body.
        "spline" => Spline(Spline) = table(), example({ points = [[0, 0, 0], [0, 0, "1 cm"], [0, "1 cm", 0], [0, "1 cm", "1 cm"], ["5 cm", 0, 0], ["5 cm", 0, "1 cm"], ["5 cm", "1 cm", 0], ["5 cm", "1 cm", "1 cm"]], counts = [2, 2, 2], degree = [1, 1, 1] });
        /// As a field of the cells of the mesh says that has three numbers per cell; procedural muscles have `fiber`.
        "field" => Field(String) = text("name of a field"), example("fiber");
    }
}

table! {
    /// Fibers from one region to another.
    pub struct Between as "between" {
        /// Where they start.
        from: String = text("name of a region"), required, example("x-min");
        /// Where they end.
        to: String = text("name of a region"), required, example("x-max");
        /// How far they lean from that line towards `lean` \[rad\]; away from it when negative.
        pennation: f64 = quantity(Dimension::ANGLE).above(-std::f64::consts::FRAC_PI_2).below(std::f64::consts::FRAC_PI_2).hinted("fibres at 90° stand across the line of action and pull nothing along it"), default(0), example("20 deg");
        /// The direction towards which they lean; any length.
        lean: [f64; 3] = direction(), default([0, 1, 0]);
        /// A point of a plane across `lean`, in body coordinates \[m\]: given, fibers lean towards the plane from both sides, as in a feather.
        plane: Option<[f64; 3]> = vector(length()), optional, example([0, 0, 0]);
    }
}

words! {
    /// A direction of a B-spline solid.
    pub enum SplineAxis {
        /// The first, whose control points are furthest apart in the list.
        "u" => U,
        /// The second.
        "v" => V,
        /// The third, whose control points follow each other in the list.
        "w" => W,
    }
}

table! {
    /// A B-spline solid with clamped uniform knots.
    pub struct Spline as "spline" {
        /// Control points in body coordinates \[m\]: those of the last direction follow each other.
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
    /// A factor on stiffness that runs linearly from one point to another and holds beyond them.
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
    /// Material parameters painted on a body: each cell has those of the nearest place of its surface, or of its own nodes where the mesh is a file of cells. Later entries win, and
    /// `material_regions` over all of them.
    pub struct MaterialMap as "material map" {
        /// An attribute of the vertices of the surface, or a field of the mesh: its first component. Either this or `texture`.
        attribute: Option<String> = text("name of an attribute"), optional, example("stiffness");
        /// A picture (.png) on the surface, which must be a glTF file with TEXCOORD_0: its brightness, from 0 to 1. Either this or `attribute`.
        texture: Option<String> = text("path of a file"), optional, example("meshes/paint.png");
        /// The values that stand for the first and the second value of the parameters below; what is beyond is taken to the nearer one.
        range: [f64; 2] = fixed(number()), default([0, 1]);
        /// Young's modulus at both ends of the range \[Pa\].
        young: Option<[f64; 2]> = fixed(young()), optional, example(["10 kPa", "100 kPa"]);
        /// Poisson's ratio at both ends of the range.
        poisson: Option<[f64; 2]> = fixed(poisson()), optional, example([0.3, 0.45]);
    }
}

table! {
    /// Other material parameters for the cells of a region; later entries win.
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
        /// Modulus of the fibers when they become taut \[Pa\].
        fiber_stiffness: Option<f64> = pressure().at_least(0.0), optional, example("200 kPa");
        /// Another law altogether, to which the parameters above then belong.
        material: Option<Material> = one_of(), optional, example({ type = "tendon" });
        /// A factor on the stiffness that varies in space.
        gradient: Option<Gradient> = table(), optional;
    }
}

table! {
    /// Damping: forces −(mass · M + stiffness · K + tissue · D) v, with K the stiffness at the start of a step and D that of the rest
    /// state, turned with the flesh.
    pub struct Damping as "damping" {
        /// Mass-proportional rate \[1/s\]: slows everything, also free flight.
        mass: f64 = quantity(Dimension::FREQUENCY).at_least(0.0), default(0), example("0.5 1/s");
        /// Stiffness-proportional time \[s\]: slows deformation, the faster the more.
        stiffness: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("2 ms");
        /// Rest-state time \[s\]: as `stiffness`, but never brakes a rotation and does not grow with the deformation.
        tissue: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("20 ms");
    }
}

/// The field of cells that says where fibers run: procedural muscles bring it, and bodies with muscles get it.
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
            // The compiler turns it to where it belongs.
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
