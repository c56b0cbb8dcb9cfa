//! Diagnostics of a state: worst node and cell, volumes, inverted cells, mean stress, momentum.

#![allow(non_snake_case)]

use sinew_math::{Mat3, Vec3};

use crate::control::Control;
pub use crate::elastic::FLATTENED;

use crate::elastic::{Actuation, BlockSummary};
use crate::model::Model;
use crate::report::Blame;
use crate::state::State;

/// Summary of a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodySummary {
    /// Strain energy \[J\].
    pub energy: f64,
    /// Volume over rest volume.
    pub volume: f64,
    /// Cells with a quadrature point of non-positive volume.
    pub inverted_cells: usize,
    /// Cells with a quadrature point of at most [`FLATTENED`] of its rest volume, inverted ones included.
    pub flattened_cells: usize,
    /// Smallest volume ratio over all quadrature points.
    pub min_volume_ratio: f64,
    /// Largest volume ratio over all quadrature points.
    pub max_volume_ratio: f64,
    /// Mean Cauchy stress over the deformed volume \[Pa\].
    pub cauchy: Mat3,
    /// Mean first Piola–Kirchhoff stress over the rest volume \[Pa\].
    pub piola: Mat3,
    /// Largest von Mises stress of a quadrature point \[Pa\].
    pub max_von_mises: f64,
    /// Mean deformation gradient over the rest volume.
    pub deformation: Mat3,
}

/// Summarizes all quadrature points of a body in one pass; `control` has its stiffness.
pub fn summarize(model: &Model, body: usize, state: &State, control: &Control) -> BodySummary {
    let blocks = &model.elastic[model.bodies[body].elastic.clone()];
    let x = &state.positions;
    let activations = model.activations(body, control);
    let actuation = Actuation { activations: &activations, motion: state.history.last_motion() };
    let cells = blocks.iter().map(|block| block.summarize(x, &actuation));
    let stiffness = model.body_stiffness(body, control);
    let lattice = model.lattice_of(body).map(|block| block.summarize(x, &block.activations(control, stiffness)));
    let s = cells.chain(lattice).fold(BlockSummary::default(), BlockSummary::join);
    let s = s.stiffened(stiffness);
    BodySummary {
        energy: s.energy,
        volume: s.volume / s.rest_volume,
        inverted_cells: s.inverted_cells,
        flattened_cells: s.flattened_cells,
        min_volume_ratio: s.min_volume_ratio,
        max_volume_ratio: s.max_volume_ratio,
        // A flat body has no Cauchy stress; it gets the Kirchhoff value instead of infinity.
        cauchy: s.kirchhoff / if s.volume.abs() > 1e-9 * s.rest_volume { s.volume } else { s.rest_volume },
        piola: s.piola / s.rest_volume,
        max_von_mises: s.max_von_mises,
        deformation: s.deformation / s.rest_volume,
    }
}

/// Kinetic energy ½ Σ m |v|² of a range of points \[J\].
pub fn kinetic_energy(model: &Model, state: &State, points: std::ops::Range<usize>) -> f64 {
    points.map(|p| 0.5 * model.masses[p] * state.velocities[p].norm_squared()).sum()
}

/// Root mean square distance of the nodes of a body from its rest shape, weighted by mass, after removing the best-fit
/// rigid motion \[m\].
///
/// The rotation that minimizes Σ m |x − c − R (X − C)|² comes from the polar decomposition of Σ m (x − c)(X − C)ᵀ
/// \[Kabsch76\].
pub fn shape_error(model: &Model, body: usize, x: &[Vec3]) -> f64 {
    let body = &model.bodies[body];
    let (rest, points) = (body.mesh.positions(), body.points.clone());
    let mass: f64 = points.clone().map(|p| model.masses[p]).sum();
    let rest_center = points.clone().zip(rest).map(|(p, &X)| X * model.masses[p]).sum::<Vec3>() / mass;
    let center = center_of_mass(model, x, points.clone());
    let mut correlation = Mat3::zero();
    for (p, &X) in points.clone().zip(rest) {
        correlation += Mat3::outer((x[p] - center) * model.masses[p], X - rest_center);
    }
    let rotation = sinew_math::svd3::svd3_plain(&correlation).rotation();
    let squares: f64 = points
        .zip(rest)
        .map(|(p, &X)| model.masses[p] * (x[p] - center - rotation * (X - rest_center)).norm_squared())
        .sum();
    (squares / mass).sqrt()
}

/// Maximum displacement of a node of a body from rest \[m\].
pub fn largest_displacement(model: &Model, body: usize, x: &[Vec3]) -> f64 {
    let body = &model.bodies[body];
    body.points.clone().zip(body.mesh.positions()).map(|(p, &rest)| x[p].distance(rest)).fold(0.0, f64::max)
}

/// Linear momentum Σ m v of a range of points \[kg m/s\].
pub fn momentum(model: &Model, state: &State, points: std::ops::Range<usize>) -> Vec3 {
    points.map(|p| state.velocities[p] * model.masses[p]).sum()
}

/// Angular momentum Σ m x × v about the origin \[kg m²/s\].
pub fn angular_momentum(model: &Model, state: &State, points: std::ops::Range<usize>) -> Vec3 {
    points.map(|p| state.positions[p].cross(state.velocities[p]) * model.masses[p]).sum()
}

/// Center of mass of a range of points \[m\].
pub fn center_of_mass(model: &Model, x: &[Vec3], points: std::ops::Range<usize>) -> Vec3 {
    let mass: f64 = points.clone().map(|p| model.masses[p]).sum();
    points.map(|p| x[p] * model.masses[p]).sum::<Vec3>() / mass
}

/// The node with the largest residual (or with a position that is not finite), and its most compressed cell.
pub(crate) fn find_blame(model: &Model, x: &[Vec3], gradient: &[Vec3]) -> Blame {
    let badness = |point: usize| {
        if !x[point].is_finite() {
            return f64::INFINITY;
        }
        let residual = model.kinematics.own_unknown(point).map_or(0.0, |unknown| gradient[unknown as usize].norm());
        if residual.is_nan() { f64::INFINITY } else { residual }
    };
    let mut worst = (0, 0, -1.0);
    for (index, body) in model.bodies.iter().enumerate() {
        for point in body.points.clone() {
            let value = badness(point);
            if value > worst.2 {
                worst = (index, point, value);
            }
        }
    }
    let (index, point, _) = worst;
    let Some(body) = model.bodies.get(index) else {
        return Blame { body: String::new(), node: 0, rest_position: [0.0; 3], cell: 0, volume_ratio: 1.0 };
    };
    let node = point - body.points.start;
    let mut cell = (0, f64::INFINITY);
    for block in &model.elastic[body.elastic.clone()] {
        for k in 0..block.cell_count() {
            let touches = (0..block.kind().nodes_per_cell()).any(|a| block.point(k, a) as usize == point);
            if touches {
                block.evaluate_deformation(k, x, |_, _, F| {
                    let J = F.determinant();
                    if J < cell.1 || J.is_nan() {
                        cell = (block.cells()[k] as usize, J);
                    }
                });
            }
        }
    }
    if let Some(block) = model.lattice_of(index) {
        for k in (0..block.cell_count()).filter(|&k| block.touches(k, point)) {
            let J = block.deformation(k, x).determinant();
            if J < cell.1 || J.is_nan() {
                cell = (k, J);
            }
        }
    }
    Blame {
        body: body.name.clone(),
        node,
        rest_position: body.mesh.positions()[node].to_array(),
        cell: cell.0,
        volume_ratio: cell.1,
    }
}
