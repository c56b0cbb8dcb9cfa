//! What a body is made of.

use crate::{
    decode::{
        codec::{Quantity, length, number, quantity, text, word},
        compound::{direction, fixed, vector},
        table::{Table, table},
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
        /// Young's modulus [Pa].
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
        /// Young's modulus [Pa].
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
        /// Coefficient of the first invariant [Pa].
        c10: f64 = pressure().positive(), required, example("20 kPa");
        /// Coefficient of the second invariant [Pa].
        c01: f64 = pressure().at_least(0.0), default(0), example("10 kPa");
        /// Bulk modulus [Pa].
        bulk: f64 = pressure().positive(), required, example("1 MPa");
        /// Lets cells become flat and inverted, and recover; without it they are held back by an infinite energy.
        inversion: Option<Inversion> = table(), optional, example({ threshold = 0.3 });
    }
}

table! {
    /// Flesh with fibres that resist only when pulled: T(l) = fiber_stiffness (exp(c (l − 1)) − 1)/c for fibres of stretch l > 1, linear
    /// beyond 1.4. The body says by `fibers` where they run.
    pub struct FiberReinforced as "fiber-reinforced" {
        /// Young's modulus of the matrix between the fibres [Pa].
        young: f64 = young(), required, example("30 kPa");
        /// Poisson's ratio of the matrix.
        poisson: f64 = poisson(), required, example(0.45);
        /// Modulus of the fibres when they become taut [Pa].
        fiber_stiffness: f64 = pressure().at_least(0.0), required, example("100 kPa");
        /// Exponent c of their stiffening; 0 keeps the modulus.
        fiber_stiffening: f64 = number().at_least(0.0).below(100.0), default(6.6);
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
        /// Stable neo-Hookean with fibres that resist only when pulled; needs `fibers` of the body.
        "fiber_reinforced" => FiberReinforced(FiberReinforced),
    }
}

table! {
    /// A line.
    pub struct Axis as "axis" {
        /// A point of the line, in body coordinates [m].
        point: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Its direction; any length.
        direction: [f64; 3] = direction(), required, example([0, 0, 1]);
    }
}

keyed! {
    /// Where the fibres of a body run at rest, in body coordinates.
    pub enum Fibers as "fibers" {
        /// Everywhere along one direction; any length.
        "along" => Along([f64; 3]) = direction(), example([1, 0, 0]);
        /// In circles around a line, as in a sphincter.
        "around" => Around(Axis) = table(), example({ direction = [0, 0, 1] });
    }
}

table! {
    /// A factor on stiffness that runs linearly from one point to another and holds beyond them.
    pub struct Gradient as "gradient" {
        /// The point of the first factor, in body coordinates [m].
        from: [f64; 3] = vector(length()), required, example([0, 0, 0]);
        /// The point of the second factor, in body coordinates [m].
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
        /// Young's modulus at both ends of the range [Pa].
        young: Option<[f64; 2]> = fixed(young()), optional, example(["10 kPa", "100 kPa"]);
        /// Poisson's ratio at both ends of the range.
        poisson: Option<[f64; 2]> = fixed(poisson()), optional, example([0.3, 0.45]);
    }
}

table! {
    /// Other material parameters for the cells of a region; later entries win.
    pub struct MaterialRegion as "material region" {
        /// The region: cells whose centre lies in it, or whose nodes all belong to it.
        region: String = text("name of a region"), required, example("stiff");
        /// Young's modulus [Pa].
        young: Option<f64> = young(), optional, example("300 kPa");
        /// Poisson's ratio.
        poisson: Option<f64> = poisson(), optional, example(0.3);
        /// Coefficient of the first invariant [Pa].
        c10: Option<f64> = pressure().positive(), optional, example("20 kPa");
        /// Coefficient of the second invariant [Pa].
        c01: Option<f64> = pressure().at_least(0.0), optional, example("10 kPa");
        /// Bulk modulus [Pa].
        bulk: Option<f64> = pressure().positive(), optional, example("1 MPa");
        /// Modulus of the fibres when they become taut [Pa].
        fiber_stiffness: Option<f64> = pressure().at_least(0.0), optional, example("200 kPa");
        /// A factor on the stiffness that varies in space.
        gradient: Option<Gradient> = table(), optional;
    }
}

table! {
    /// Damping: forces −(mass · M + stiffness · K + tissue · D) v, with K the stiffness at the start of a step and D that of the rest
    /// state, turned with the flesh.
    pub struct Damping as "damping" {
        /// Mass-proportional rate [1/s]: slows everything, also free flight.
        mass: f64 = quantity(Dimension::FREQUENCY).at_least(0.0), default(0), example("0.5 1/s");
        /// Stiffness-proportional time [s]: slows deformation, the faster the more.
        stiffness: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("2 ms");
        /// Rest-state time [s]: as `stiffness`, but never brakes a rotation and does not grow with the deformation.
        tissue: f64 = quantity(Dimension::TIME).at_least(0.0), default(0), example("20 ms");
    }
}

impl Default for Damping {
    fn default() -> Self {
        Self::empty()
    }
}
