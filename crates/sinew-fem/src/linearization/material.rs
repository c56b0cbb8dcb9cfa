//! ∂g/∂θ by the parameters θ of the material of a body.
//!
//! Stress is evaluated again with parameters that carry a complex step along ∂(μ, λ, …)/∂θ, so the derivative is exact
//! to rounding for every law, linear in θ or not. The energy of a lattice is linear in its Lamé parameters, so the
//! derivatives of these replace the parameters.

#![allow(non_snake_case)]

use sinew_lattice::{LatticeElastic, ModeStiffness};
use sinew_math::{ComplexStep, Mat3, Vec3};

use super::derivative::Source;
use crate::control::Control;
use crate::elastic::ElasticBlock;
use crate::force::Gravity;
use crate::lattice::VOLUME_LAW;
use crate::material::{CellVolume, Law, Material, MaterialPoint, MaterialSpec, MaterialVisitor, VolumeForm};
use crate::model::Model;
use crate::state::State;

/// Most quadrature points of a cell.
const MAX_POINTS: usize = 8;

/// A parameter of the material of a body; a derivative keeps the others constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A parameter of the law by its key in scenes.
    Law(&'static str),
    /// Shear modulus μ at constant λ \[Pa\], of laws with Young's modulus.
    Mu,
    /// Second Lamé parameter λ at constant μ \[Pa\], of laws with Young's modulus.
    Lambda,
    /// Density \[kg/m³\].
    Density,
}

impl Parameter {
    /// Name, as in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Law(key) => key,
            Self::Mu => "mu",
            Self::Lambda => "lambda",
            Self::Density => "density",
        }
    }

    /// All parameters of a law, and density.
    pub fn of_law(law: Law) -> Vec<Self> {
        let lame = if law.has_young() { &[Self::Mu, Self::Lambda][..] } else { &[] };
        let keys = law.keys().iter().map(|parameter| Self::Law(parameter.key));
        keys.chain(lame.iter().copied()).chain([Self::Density]).collect()
    }

    /// Those of the material of a body: density, and the parameters of its law where all of its cells have one
    /// material.
    pub fn of(model: &Model, body: usize) -> Vec<Self> {
        let materials = &model.bodies[body].materials;
        match materials.first().filter(|first| materials.iter().all(|other| is_same(first, other))) {
            Some(spec) => Self::of_law(spec.law()),
            None => vec![Self::Density],
        }
    }

    /// ∂(μ, λ, …)/∂θ; `None` where the law has no such parameter.
    fn slope(self, spec: &MaterialSpec) -> Option<MaterialPoint<f64>> {
        let zero = MaterialPoint::<f64>::default();
        match self {
            Self::Law(key) => spec.point_slope(key),
            Self::Mu => spec.law().has_young().then_some(MaterialPoint { mu: 1.0, ..zero }),
            Self::Lambda => spec.law().has_young().then_some(MaterialPoint { lambda: 1.0, ..zero }),
            Self::Density => None,
        }
    }
}

/// Whether two cells have the same law and moduli; fiber directions may differ.
fn is_same(a: &MaterialSpec, b: &MaterialSpec) -> bool {
    let plain = |spec: &MaterialSpec| MaterialPoint { fiber: Vec3::zero(), ..spec.point() };
    a.law() == b.law() && plain(a) == plain(b)
}

/// forces += ∂g/∂θ over the points; returns how it was computed.
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
            add_stress_slope(block, cell, &state.positions, slope, scale, forces);
        }
    }
    let Some(lattice) = model.lattice_of(body) else { return Source::ComplexStep };
    let lame: Vec<[f64; 2]> =
        materials.iter().map(|spec| parameter.slope(spec).map_or([0.0; 2], |slope| [slope.mu, slope.lambda])).collect();
    let elastic = LatticeElastic::new(lattice.lattice(), &lame, ModeStiffness::EXACT, VOLUME_LAW);
    let elastic = if lattice.resists() { elastic.with_inversion_barrier(lattice.lattice()) } else { elastic };
    elastic.add_gradient(&state.positions[lattice.points()], &[], scale, &mut forces[lattice.points()]);
    Source::ClosedForm
}

/// Adds the weight of a body per unit of its density.
fn add_weight(model: &Model, body: usize, control: &Control, forces: &mut [Vec3]) {
    let body = &model.bodies[body];
    let density = body.mass / body.rest_volume;
    for gravity in model.forces_of::<Gravity>() {
        let g = control.vector(gravity.acceleration);
        for point in body.points.clone() {
            forces[point] -= g * (gravity.masses[point] / density);
        }
    }
}

/// Adds the derivative of the stress of one cell by a parameter, with `slope` = ∂(μ, λ, …)/∂θ.
fn add_stress_slope(
    block: &ElasticBlock,
    cell: usize,
    x: &[Vec3],
    slope: MaterialPoint<f64>,
    scale: f64,
    forces: &mut [Vec3],
) {
    let count = block.points_per_cell();
    let mut F = [Mat3::<ComplexStep>::zero(); MAX_POINTS];
    let mut w = [ComplexStep::constant(0.0); MAX_POINTS];
    block.evaluate_deformation(cell, x, |k, weight, deformation| {
        F[k] = Mat3 { rows: deformation.rows.map(|row| row.map(ComplexStep::constant)) };
        w[k] = ComplexStep::constant(weight);
    });
    let (value, slope) = (block.parameters_of(cell).into_array(), slope.into_array());
    let point = MaterialPoint::from_array(std::array::from_fn(|k| ComplexStep::moving(value[k], slope[k])));
    let is_mean = count > 1 && block.volume == VolumeForm::Mean;
    let mut P = F;
    block.law().visit(Stresses { F: &mut P[..count], w: &w[..count], point, is_mean });
    for k in 0..count {
        let P = Mat3 { rows: P[k].rows.map(|row| row.map(ComplexStep::derivative)) } * (w[k].re * scale);
        for a in 0..block.kind().nodes_per_cell() {
            forces[block.point(cell, a) as usize] += P * block.gradient_of(cell, k, a);
        }
    }
}

/// Stresses at the points of a cell, in place of their deformation gradients: all that is compiled for each law.
struct Stresses<'a> {
    F: &'a mut [Mat3<ComplexStep>],
    w: &'a [ComplexStep],
    point: MaterialPoint<ComplexStep>,
    is_mean: bool,
}

impl MaterialVisitor for Stresses<'_> {
    type Output = ();

    fn visit<M: Material>(self, law: M) {
        let Self { F, w, point, is_mean } = self;
        let volume = if is_mean { CellVolume::mean(&law, &point, F, w) } else { CellVolume::pointwise(&point) };
        for F in F {
            *F = law.stress(F, &volume.point) + volume.stress::<M>(F);
        }
    }
}
