//! What a body is made of.

use crate::{
    decode::{
        codec::{Quantity, length, number, quantity, text},
        compound::{fixed, vector},
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

table! {
    /// Stiffness of the Mooney–Rivlin law ψ = c10 (Ī₁ − 3) + c01 (Ī₂ − 3) + bulk/2 (ln J)².
    pub struct MooneyRivlin as "mooney-rivlin" {
        /// Coefficient of the first invariant [Pa].
        c10: f64 = pressure().positive(), required, example("20 kPa");
        /// Coefficient of the second invariant [Pa].
        c01: f64 = pressure().at_least(0.0), default(0), example("10 kPa");
        /// Bulk modulus [Pa].
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
        /// Neo-Hookean with ln J: large strains, no inversion.
        "neo_hookean" => NeoHookean(Elastic),
        /// Stable neo-Hookean: large strains, finite under inversion.
        "stable_neo_hookean" => StableNeoHookean(Elastic),
        /// Mooney–Rivlin with a bulk modulus: nearly incompressible tissue.
        "mooney_rivlin" => MooneyRivlin(MooneyRivlin),
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
