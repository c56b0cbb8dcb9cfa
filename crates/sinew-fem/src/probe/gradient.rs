//! Derivatives ∂p/∂x of probes by the state.

#![allow(non_snake_case)]

use sinew_math::Vec3;

use super::ProbeContext;
use super::activation::add_activation_gradients;
use crate::control::ChannelId;
use crate::elastic::Actuation;
use crate::material::Tangent;
use crate::model::Pin;

/// Derivatives of a probe by everything it reads.
///
/// ```math
/// dp = \frac{\partial p}{\partial x} \cdot dx + \frac{\partial p}{\partial q} \cdot dq +
///    \frac{\partial p}{\partial r} \cdot dr + \frac{\partial p}{\partial c} \cdot dc
/// ```
///
/// with points x, unknowns q, the gradient r over the unknowns (the force of the pin in pinned ones), and channels c.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeGradient {
    /// By the positions of all points.
    pub points: Vec<Vec3>,
    /// By the unknowns, where the probe reads these instead of points.
    pub unknowns: Vec<Vec3>,
    /// By the reactions of nodes, point by point as in [`crate::State::reactions`].
    pub reactions: Vec<Vec3>,
    /// By channels.
    pub channels: Vec<(ChannelId, f64)>,
    /// Whether the probe reads material parameters directly, so that its derivatives by them are unknown.
    pub reads_materials: bool,
}

impl ProbeGradient {
    /// Zero derivatives for a number of points and unknowns.
    pub fn zero(points: usize, unknowns: usize) -> Self {
        Self {
            points: vec![Vec3::zero(); points],
            unknowns: vec![Vec3::zero(); unknowns],
            reactions: vec![Vec3::zero(); points],
            ..Self::default()
        }
    }

    /// Adds the derivatives of the quantity `name` of a body; returns false where it has no closed form.
    pub(crate) fn add_body(&mut self, ctx: &ProbeContext<'_>, body: usize, name: &str) -> bool {
        let model = ctx.model;
        let axis = |letter: &str| ["x", "y", "z"].iter().position(|axis| *axis == letter);
        let of_muscle = |muscle: &str| model.muscles_of(body).iter().position(|own| own.name == muscle);
        match name.split_once('.') {
            None if name == "volume" => self.add_volume(ctx, body),
            Some(("energy", "elastic")) => return self.add_energy(ctx, body),
            Some(("center", letter)) => match axis(letter) {
                Some(axis) => self.add_center(ctx, body, axis),
                None => return false,
            },
            Some(("deformation", letters)) => match (axis(&letters[..1]), axis(&letters[1..])) {
                (Some(i), Some(j)) => self.add_deformation(ctx, body, i, j),
                _ => return false,
            },
            Some(("piola", letters)) => match (axis(&letters[..1]), axis(&letters[1..])) {
                (Some(i), Some(j)) => return self.add_piola(ctx, body, i, j),
                _ => return false,
            },
            Some(("activation", muscle)) => match of_muscle(muscle) {
                Some(muscle) => self.channels.push((model.muscles_of(body)[muscle].activation, 1.0)),
                None => return false,
            },
            Some(("fiber_stretch", muscle)) => match of_muscle(muscle) {
                Some(muscle) => self.add_fiber_stretch(ctx, body, muscle),
                None => return false,
            },
            Some((what @ ("force" | "torque"), rest)) => {
                let pins = || model.pins.iter().filter(|pin| pin.body == body);
                let whole = pins().find(|pin| pin.name == rest);
                let part = rest
                    .rsplit_once('.')
                    .and_then(|(pin, letter)| Some((pins().find(|own| own.name == pin)?, axis(letter)?)));
                match (whole, part, what) {
                    (Some(pin), _, "force") => self.add_size_of_force(ctx, pin),
                    (_, Some((pin, axis)), "force") => self.add_force(pin, Vec3::unit(axis)),
                    (_, Some((pin, axis)), "torque") => self.add_torque(ctx, pin, axis),
                    _ => return false,
                }
            }
            _ => return false,
        }
        true
    }

    /// ∂/∂x of Σ w det F over the rest volume: Σ w cof F ∇N.
    fn add_volume(&mut self, ctx: &ProbeContext<'_>, body: usize) {
        let (model, x) = (ctx.model, &ctx.state.positions);
        let share = 1.0 / model.bodies[body].rest_volume;
        for block in &model.elastic[model.bodies[body].elastic.clone()] {
            for cell in 0..block.cell_count() {
                block.evaluate_deformation(cell, x, |k, weight, F| {
                    let slope = F.cofactor() * (weight * share);
                    for a in 0..block.kind().nodes_per_cell() {
                        self.points[block.point(cell, a) as usize] += slope * block.gradient_of(cell, k, a);
                    }
                });
            }
        }
        if let Some(block) = model.lattice_of(body) {
            for cell in 0..block.cell_count() {
                let slope = block.deformation(cell, x).cofactor() * (block.rest_volume() * share);
                block.for_each_gradient(cell, |point, gradient| self.points[point] += slope * gradient);
            }
        }
    }

    /// Adds elastic forces with relaxed fibers; returns false for lattices with muscles, whose stored energy has
    /// another form.
    fn add_energy(&mut self, ctx: &ProbeContext<'_>, body: usize) -> bool {
        let (model, x) = (ctx.model, &ctx.state.positions);
        if model.lattice_of(body).is_some_and(|block| block.fibers().is_some()) {
            return false;
        }
        let stiffness = model.body_stiffness(body, ctx.control);
        let mut gradient = vec![Vec3::zero(); x.len()];
        model.add_passive_gradient(body, x, &mut gradient);
        for (sum, &g) in self.points.iter_mut().zip(&gradient) {
            *sum += g * stiffness;
        }
        self.channels.push((model.stiffness[body], ctx.summaries[body].energy / stiffness));
        self.reads_materials = true;
        true
    }

    fn add_center(&mut self, ctx: &ProbeContext<'_>, body: usize, axis: usize) {
        let points = ctx.model.bodies[body].points.clone();
        let mass: f64 = points.clone().map(|point| ctx.model.masses[point]).sum();
        for point in points {
            self.points[point][axis] += ctx.model.masses[point] / mass;
        }
    }

    fn add_deformation(&mut self, ctx: &ProbeContext<'_>, body: usize, i: usize, j: usize) {
        let (model, x) = (ctx.model, &ctx.state.positions);
        let share = 1.0 / model.bodies[body].rest_volume;
        for block in &model.elastic[model.bodies[body].elastic.clone()] {
            for cell in 0..block.cell_count() {
                block.evaluate_deformation(cell, x, |k, weight, _| {
                    for a in 0..block.kind().nodes_per_cell() {
                        let slope = weight * share * block.gradient_of(cell, k, a)[j];
                        self.points[block.point(cell, a) as usize][i] += slope;
                    }
                });
            }
        }
        if let Some(block) = model.lattice_of(body) {
            for cell in 0..block.cell_count() {
                let weight = block.rest_volume() * share;
                block.for_each_gradient(cell, |point, gradient| self.points[point][i] += weight * gradient[j]);
            }
        }
    }

    /// The mean of P over the rest volume V is Σₐ fₐ ⊗ Xₐ / V, with the elastic gradient f of the nodes and their rest
    /// positions X, so its derivative is a product with the stiffness of the body.
    fn add_piola(&mut self, ctx: &ProbeContext<'_>, body: usize, i: usize, j: usize) -> bool {
        let (model, x) = (ctx.model, &ctx.state.positions);
        if model.lattice_of(body).is_some() {
            return false;
        }
        let own = &model.bodies[body];
        let arm = |point: u32| own.mesh.positions()[point as usize - own.points.start][j] / own.rest_volume;
        let activations = model.activations(body, ctx.control);
        let actuation = Actuation { activations: &activations, motion: ctx.state.history.last_motion() };
        let scale = model.body_stiffness(body, ctx.control);
        let muscles = model.muscles_of(body);
        let wanted: Vec<(usize, usize)> = (0..muscles.len()).map(|muscle| (muscle, muscle)).collect();
        let mut by_activation = vec![0.0; muscles.len()];
        for block in &model.elastic[own.elastic.clone()] {
            block.visit_tangents(0..block.pack_count(), x, &actuation, Tangent::Exact, &mut |cell, a, b, K| {
                let row = K.row(i) * (scale * arm(block.point(cell, a)));
                self.points[block.point(cell, b) as usize] += row;
            });
            add_activation_gradients(block, x, &wanted, |muscle, point, force| {
                by_activation[muscle] += force[i] * arm(point);
            });
        }
        self.channels.extend(muscles.iter().zip(&by_activation).map(|(muscle, &slope)| (muscle.activation, slope)));
        let mut passive = vec![Vec3::zero(); x.len()];
        model.add_passive_gradient(body, x, &mut passive);
        let slope = own.points.clone().map(|point| passive[point][i] * arm(point as u32)).sum();
        self.channels.push((model.stiffness[body], slope));
        self.reads_materials = true;
        true
    }

    /// Mean of |F a| over the fibers of a muscle, weighted like the probe: by volume in cells, by number on lattices.
    fn add_fiber_stretch(&mut self, ctx: &ProbeContext<'_>, body: usize, muscle: usize) {
        let (model, x) = (ctx.model, &ctx.state.positions);
        let blocks = || model.elastic[model.bodies[body].elastic.clone()].iter();
        let volume = model.fiber_summary(body, muscle, ctx.state, ctx.control).rest_volume;
        for block in blocks() {
            for cell in 0..block.cell_count() {
                let fiber = block.fiber_of(cell);
                if usize::from(fiber.group) != muscle || fiber.stress == 0.0 {
                    continue;
                }
                block.evaluate_deformation(cell, x, |k, weight, F| {
                    let moved = F * fiber.direction;
                    let slope = moved * (weight / (volume * moved.norm().max(f64::MIN_POSITIVE)));
                    for a in 0..block.kind().nodes_per_cell() {
                        let share = fiber.direction.dot(block.gradient_of(cell, k, a));
                        self.points[block.point(cell, a) as usize] += slope * share;
                    }
                });
            }
        }
        let Some((block, fibers)) = model.lattice_of(body).and_then(|block| Some((block, block.fibers()?))) else {
            return;
        };
        let is_own = |cell: &usize| usize::from(fibers.groups[*cell]) == muscle && fibers.stress[*cell] > 0.0;
        let cells: Vec<usize> = (0..block.cell_count()).filter(is_own).collect();
        for &cell in &cells {
            let direction = fibers.directions[cell];
            let moved = block.deformation(cell, x) * direction;
            let slope = moved / (cells.len() as f64 * moved.norm().max(f64::MIN_POSITIVE));
            block.for_each_gradient(cell, |point, gradient| self.points[point] += slope * direction.dot(gradient));
        }
    }

    /// The force of a pin along a direction.
    fn add_force(&mut self, pin: &Pin, direction: Vec3) {
        for &point in &pin.points {
            for axis in (0..3).filter(|&axis| pin.axes[axis]) {
                self.reactions[point as usize][axis] += direction[axis];
            }
        }
    }

    fn add_size_of_force(&mut self, ctx: &ProbeContext<'_>, pin: &Pin) {
        let mut force = Vec3::zero();
        for &point in &pin.points {
            for axis in (0..3).filter(|&axis| pin.axes[axis]) {
                force[axis] += ctx.state.reactions[point as usize][axis];
            }
        }
        let size = force.norm();
        if size > 0.0 {
            self.add_force(pin, force / size);
        }
    }

    /// e · Σ (x − c) × r with the mean position c of the nodes.
    fn add_torque(&mut self, ctx: &ProbeContext<'_>, pin: &Pin, axis: usize) {
        let (x, e) = (&ctx.state.positions, Vec3::unit(axis));
        let count = pin.points.len().max(1) as f64;
        let center = pin.points.iter().map(|&point| x[point as usize]).sum::<Vec3>() / count;
        let mut together = Vec3::zero();
        for &point in &pin.points {
            let p = point as usize;
            let across = e.cross(x[p] - center);
            let mut held = Vec3::zero();
            for axis in (0..3).filter(|&axis| pin.axes[axis]) {
                self.reactions[p][axis] += across[axis];
                held[axis] = ctx.state.reactions[p][axis];
            }
            let by_place = held.cross(e);
            self.points[p] += by_place;
            together += by_place;
        }
        for &point in &pin.points {
            self.points[point as usize] -= together / count;
        }
    }
}
