//! ∂g/∂θ of the parameters θ of the material of a body.
//!
//! Stress is evaluated once more with parameters that carry a complex step along ∂(μ, λ, …)/∂θ, so the derivative is exact to rounding for every law,
//! linear in θ or not. The energy of a lattice is linear in its Lamé parameters: there their derivatives simply take their place.

#![allow(non_snake_case)]

use sinew_lattice::{LatticeElastic, ModeStiffness};
use sinew_math::{ComplexStep, Mat3, Vec3};

use super::derivative::Source;
use crate::control::Control;
use crate::elastic::ElasticBlock;
use crate::lattice::VOLUME_LAW;
use crate::material::{CellVolume, ElasticModuli, Material, MaterialPoint, MaterialSpec, MaterialVisitor, VolumeForm};
use crate::model::Model;
use crate::state::State;

/// A parameter of the material of a body, the others staying as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Young's modulus at constant Poisson's ratio \[Pa\].
    Young,
    /// Poisson's ratio at constant Young's modulus.
    Poisson,
    /// Shear modulus μ at constant λ \[Pa\].
    Mu,
    /// Second Lamé parameter λ at constant μ \[Pa\].
    Lambda,
    /// c₁₀ of Mooney–Rivlin \[Pa\].
    C10,
    /// c₀₁ of Mooney–Rivlin \[Pa\].
    C01,
    /// Bulk modulus of laws that have one \[Pa\].
    Bulk,
    /// Density \[kg/m³\].
    Density,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 8] =
        [Self::Young, Self::Poisson, Self::Mu, Self::Lambda, Self::C10, Self::C01, Self::Bulk, Self::Density];

    /// Name, as in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::Poisson => "poisson",
            Self::Mu => "mu",
            Self::Lambda => "lambda",
            Self::C10 => "c10",
            Self::C01 => "c01",
            Self::Bulk => "bulk",
            Self::Density => "density",
        }
    }

    /// Those that the material of a body has: density, and where all of its cells have one material those of its law.
    pub fn of(model: &Model, body: usize) -> Vec<Self> {
        let body = &model.bodies[body];
        let one = body.materials.first().filter(|first| body.materials.iter().all(|other| is_same(first, other)));
        Self::ALL
            .into_iter()
            .filter(|&parameter| match one {
                _ if parameter == Self::Density => true,
                Some(spec) => parameter.slope(spec).is_some(),
                None => false,
            })
            .collect()
    }

    /// ∂(μ, λ, …)/∂θ; `None` where the law has no such parameter.
    fn slope(self, spec: &MaterialSpec) -> Option<MaterialPoint<f64>> {
        let zero = MaterialPoint::<f64>::default();
        match *spec {
            MaterialSpec::MooneyRivlin { c10, c01, bulk }
            | MaterialSpec::InvertibleMooneyRivlin { c10, c01, bulk, .. } => {
                // All numbers of the law are affine in its parameters: a difference is exact.
                let with = |c10: f64, c01: f64, bulk: f64| match spec.inversion() {
                    Some(inversion) => MaterialSpec::MooneyRivlin { c10, c01, bulk }.extended(inversion).point(),
                    None => MaterialSpec::MooneyRivlin { c10, c01, bulk }.point(),
                };
                let (step, moved) = match self {
                    Self::C10 => (bulk, with(c10 + bulk, c01, bulk)),
                    Self::C01 => (bulk, with(c10, c01 + bulk, bulk)),
                    Self::Bulk => (bulk, with(c10, c01, 2.0 * bulk)),
                    _ => return None,
                };
                let (from, to) = (spec.point().into_array(), moved.into_array());
                Some(MaterialPoint::from_array(std::array::from_fn(|k| (to[k] - from[k]) / step)))
            }
            MaterialSpec::TransverselyIsotropic { .. } => None,
            _ => {
                let [mu, lambda] = self.lame_slope(spec.moduli())?;
                Some(MaterialPoint { mu, lambda, ..zero })
            }
        }
    }

    /// ∂(μ, λ)/∂θ of laws with two moduli.
    fn lame_slope(self, moduli: ElasticModuli) -> Option<[f64; 2]> {
        let ((mu, lambda), (young, poisson)) = (moduli.lame(), moduli.young_poisson());
        match self {
            Self::Young => Some([mu / young, lambda / young]),
            Self::Poisson => {
                let (sum, difference) = (1.0 + poisson, 1.0 - 2.0 * poisson);
                Some([-mu / sum, young * (1.0 + 2.0 * poisson * poisson) / (sum * difference).powi(2)])
            }
            Self::Mu => Some([1.0, 0.0]),
            Self::Lambda => Some([0.0, 1.0]),
            Self::C10 | Self::C01 | Self::Bulk | Self::Density => None,
        }
    }
}

/// Whether two cells have the same law and moduli; the directions of fibers may differ.
fn is_same(a: &MaterialSpec, b: &MaterialSpec) -> bool {
    let plain = |spec: &MaterialSpec| MaterialPoint { fiber: Vec3::zero(), ..spec.point() };
    a.law() == b.law() && plain(a) == plain(b)
}

/// forces += ∂g/∂θ over the points; how it was computed.
pub(super) fn add_parameter_gradient(
    model: &Model,
    body: usize,
    parameter: Parameter,
    state: &State,
    control: &Control,
    forces: &mut [Vec3],
) -> Source {
    if parameter == Parameter::Density {
        add_weight(model, body, control, forces);
        return Source::ClosedForm;
    }
    let scale = model.body_stiffness(body, control);
    let materials = &model.bodies[body].materials;
    for block in &model.elastic[model.bodies[body].elastic.clone()] {
        for cell in 0..block.cell_count() {
            let Some(slope) = parameter.slope(&materials[block.cells()[cell] as usize]) else { continue };
            let visitor = StressSlope { block, cell, x: &state.positions, slope, scale, forces: &mut *forces };
            block.law().visit(visitor);
        }
    }
    let Some(lattice) = model.lattice_of(body) else { return Source::ComplexStep };
    let lame: Vec<[f64; 2]> =
        materials.iter().map(|spec| parameter.lame_slope(spec.moduli()).unwrap_or([0.0; 2])).collect();
    let elastic = LatticeElastic::new(lattice.lattice(), &lame, ModeStiffness::EXACT, VOLUME_LAW);
    let elastic = if lattice.resists() { elastic.with_inversion_barrier(lattice.lattice()) } else { elastic };
    elastic.add_gradient(&state.positions[lattice.points()], &[], scale, &mut forces[lattice.points()]);
    Source::ClosedForm
}

/// The weight of a body per unit of its density.
fn add_weight(model: &Model, body: usize, control: &Control, forces: &mut [Vec3]) {
    let body = &model.bodies[body];
    let density = body.mass / body.rest_volume;
    let g = control.vector(model.gravity.acceleration);
    for point in body.points.clone() {
        forces[point] -= g * (model.gravity.masses[point] / density);
    }
}

/// Adds what the stress of one cell changes by.
struct StressSlope<'a> {
    block: &'a ElasticBlock,
    cell: usize,
    x: &'a [Vec3],
    /// ∂(μ, λ, …)/∂θ.
    slope: MaterialPoint<f64>,
    scale: f64,
    forces: &'a mut [Vec3],
}

impl MaterialVisitor for StressSlope<'_> {
    type Output = ();

    fn visit<M: Material>(self, law: M) {
        match self.block.points_per_cell() {
            1 => self.run::<M, 1>(law),
            4 => self.run::<M, 4>(law),
            _ => self.run::<M, 8>(law),
        }
    }
}

impl StressSlope<'_> {
    fn run<M: Material, const Q: usize>(self, law: M) {
        let Self { block, cell, x, slope, scale, forces } = self;
        let mut F = [Mat3::<ComplexStep>::zero(); Q];
        let mut w = [ComplexStep::constant(0.0); Q];
        block.evaluate_deformation(cell, x, |k, weight, deformation| {
            F[k] = Mat3 { rows: deformation.rows.map(|row| row.map(ComplexStep::constant)) };
            w[k] = ComplexStep::constant(weight);
        });
        let (value, slope) = (block.parameters_of(cell).into_array(), slope.into_array());
        let point = MaterialPoint::from_array(std::array::from_fn(|k| ComplexStep::moving(value[k], slope[k])));
        let volume = if Q > 1 && block.volume == VolumeForm::Mean {
            CellVolume::mean(&law, &point, &F, &w)
        } else {
            CellVolume::pointwise(&point)
        };
        for k in 0..Q {
            let P = law.stress(&F[k], &volume.point) + volume.stress::<M>(&F[k]);
            let P = Mat3 { rows: P.rows.map(|row| row.map(ComplexStep::derivative)) } * (w[k].re * scale);
            for a in 0..block.kind().nodes_per_cell() {
                forces[block.point(cell, a) as usize] += P * block.gradient_of(cell, k, a);
            }
        }
    }
}
