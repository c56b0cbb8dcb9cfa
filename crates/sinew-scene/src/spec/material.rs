//! Materials and fibers of a body.

use sinew_cell::material::{Law, MaterialSpec, POISSON, YOUNG};

use super::law::{Inversion, LawTable, ParameterOverrides, codec};
use super::tissue::{self, TISSUES};
use crate::{
    decode::{
        codec::{Context, Quantity, length, number, quantity, text, whole, word},
        compound::{direction, fixed, list, vector},
        shape::{self, Definitions, Variant},
        table::{Alternatives, Table as _, one_of, read_tag, table, variant},
        tree::{Node, Value},
    },
    value::Dimension,
};

const fn pressure() -> Quantity {
    quantity(Dimension::PRESSURE)
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
    /// The material with the given constants, else these.
    fn spec(&self, [c10, c01, bulk]: [f64; 3]) -> MaterialSpec {
        let spec =
            MaterialSpec::mooney_rivlin(self.c10.unwrap_or(c10), self.c01.unwrap_or(c01), self.bulk.unwrap_or(bulk));
        self.inversion.as_ref().map_or(spec, |inversion| inversion.extend(spec))
    }
}

/// The elastic law of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Material {
    /// A law with its parameters.
    Law(LawTable),
    /// Muscle flesh.
    Muscle(MuscleFlesh),
    /// Tendon.
    Tendon(MuscleFlesh),
}

/// The key that names the law.
pub(super) const TYPE: &str = "type";
pub(super) const MUSCLE: &str = "muscle";
pub(super) const TENDON: &str = "tendon";

impl Material {
    /// A law with parameters by their keys.
    pub fn new(law: Law, values: &[(&str, f64)]) -> Self {
        Self::Law(LawTable::new(law, values))
    }

    /// The words for all laws in a scene; tissues have words of their own.
    pub fn words() -> Vec<&'static str> {
        Law::plain().map(Law::name).chain([MUSCLE, TENDON]).collect()
    }

    /// The word for this material in a scene.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Law(table) => table.law.name(),
            Self::Muscle(_) => MUSCLE,
            Self::Tendon(_) => TENDON,
        }
    }

    /// The law, with the extension to inverted cells where the scene has it.
    pub fn law(&self) -> Law {
        material_spec(self).law()
    }
}

impl Alternatives for Material {
    const NAME: &'static str = "material";

    fn doc() -> String {
        "The elastic law of a body, or a [tissue](tissues.md) with its values. A word alone, `material = \"fat\"`, is short for \
         `material = { type = \"fat\" }`."
            .into()
    }

    fn body(defs: &mut Definitions) -> shape::Body {
        let mut variants: Vec<Variant> = Vec::new();
        for law in Law::plain() {
            let fields = LawTable::fields(law, defs);
            variants.push(Variant { word: law.name(), doc: law.doc().into(), fields });
        }
        let muscle = "Muscle flesh: Mooney–Rivlin with constants from the literature; its fibers come from `muscle` of the body.";
        let tendon = "Tendon: the same law as muscle flesh, with constants of tendon.";
        variants.push(variant::<MuscleFlesh>(MUSCLE, &[muscle], defs));
        variants.push(variant::<MuscleFlesh>(TENDON, &[tendon], defs));
        variants.extend(TISSUES.iter().map(|tissue| tissue.variant(defs)));
        shape::Body::Tagged { tag: TYPE, variants }
    }

    fn decode_alternative(node: &Node, cx: &mut Context) -> Self {
        let written_out = tissue::written_out(node);
        let node = written_out.as_ref().unwrap_or(node);
        let words: Vec<&'static str> =
            Self::words().into_iter().chain(TISSUES.iter().map(|tissue| tissue.name)).collect();
        match read_tag(node, cx, TYPE, &words) {
            Some(MUSCLE) => Self::Muscle(MuscleFlesh::decode_fields(node, cx, Some(TYPE))),
            Some(TENDON) => Self::Tendon(MuscleFlesh::decode_fields(node, cx, Some(TYPE))),
            Some(word) => {
                Law::named(word).map_or_else(Self::first, |law| Self::Law(LawTable::decode(law, node, cx, TYPE)))
            }
            None => Self::first(),
        }
    }

    fn encode_alternative(&self) -> Node {
        let fields = match self {
            Self::Law(table) => table.encode(),
            Self::Muscle(flesh) | Self::Tendon(flesh) => flesh.encode_fields(),
        };
        Node::table(std::iter::once((TYPE.to_string(), Node::new(Value::Text(self.word().into())))).chain(fields))
    }

    fn first() -> Self {
        Self::Law(LawTable::fallback(Law::ALL[0]))
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
        young: Option<[f64; 2]> = fixed(codec(&YOUNG)), optional, example(["10 kPa", "100 kPa"]);
        /// Poisson's ratio at both ends of the range.
        poisson: Option<[f64; 2]> = fixed(codec(&POISSON)), optional, example([0.3, 0.45]);
    }
}

table! {
    /// Other material parameters for the cells of a region; later entries override earlier ones.
    pub struct MaterialRegion as "material region" {
        /// The region: cells whose center lies in it, or whose nodes all belong to it.
        region: String = text("name of a region"), required, example("stiff");
        /// Another law; the parameters below then belong to it.
        material: Option<Material> = one_of(), optional, example({ type = "tendon" });
        /// A factor on the stiffness that varies in space.
        gradient: Option<Gradient> = table(), optional;
    }
    with {
        /// Parameters of the law.
        parameters: ParameterOverrides
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
    match material {
        Material::Law(table) => table.spec(),
        Material::Muscle(flesh) => flesh.spec(flesh.preset.muscle()),
        Material::Tendon(flesh) => flesh.spec(flesh.preset.tendon()),
    }
}
