//! Jiggle of the skin of a character, asked for in hertz and overshoot.
//!
//! The skin x̄(t) is where quasistatic flesh has it. Each vertex swings about it, with the share a of the inertia that the
//! flesh under it lets it have (`docs/design/art-direction.md`):
//! ```math
//! x = \bar x + r, \qquad \ddot r + 2\sigma \dot r + (\sigma^2 + \omega^2)\, r = -a\,\ddot{\bar x}.
//! ```
//! Its free motion is e^(−σt) cos(ωt), so ω = 2πf is the frequency that one sees, and σ is such that the answer to a jump has
//! the overshoot (`Jiggle::rates`). Between frames x̄ moves along straight lines. Its acceleration is then a jump of the velocity at each frame,
//! and r is propagated exactly: no frame rate changes frequency or damping, and none makes it unstable.
//!
//! Inertia comes from the flesh: a is how far it sags at rest under its own weight, K⁻¹M, averaged over the three directions
//! and divided by that of the softest part. So it is zero at bones, grows with the thickness of the flesh, with fat and with
//! softness, and is one where flesh jiggles most.

use sinew_fem::linearization::{Linearization, LinearizationPlan};
use sinew_fem::material::Tangent;
use sinew_fem::model::Model;
use sinew_fem::{Simulation, SurfaceFinish};
use sinew_math::Vec3;
use sinew_scene::spec::art::Jiggle;
use sinew_scene::{Diagnostic, SceneCharacter};

use super::Compiler;

/// The share of the skin, by vertices, that is at most as soft as the softest part: single vertices, such as the tip of an ear,
/// do not count.
const SOFTEST: f64 = 0.99;

/// The jiggle of a character.
pub(super) struct JiggleParams {
    pub body: usize,
    pub jiggle: Jiggle,
    /// The depth of the flesh below each vertex \[m\].
    pub depths: Vec<f64>,
    /// Share of the swing at each vertex, as painted; empty where nothing is.
    pub shares: Vec<f64>,
}

/// A swinging skin. It remembers for each vertex r, ṙ, x̄ and the velocity of x̄.
struct Swing {
    /// Shares of inertia.
    shares: Vec<f64>,
    depths: Vec<f64>,
    /// σ and ω.
    rates: [f64; 2],
}

/// How far skin goes from its place, over the depth of the flesh below it.
const FARTHEST: f64 = 0.5;
/// Vectors to remember.
const PER_VERTEX: usize = 4;

impl SurfaceFinish for Swing {
    fn memory_size(&self) -> usize {
        PER_VERTEX * self.shares.len()
    }

    fn start(&self, carried: &[Vec3], memory: &mut [Vec3]) {
        for (row, x) in memory.as_chunks_mut::<PER_VERTEX>().0.iter_mut().zip(carried) {
            *row = [Vec3::zero(), Vec3::zero(), *x, Vec3::zero()];
        }
    }

    fn advance(&self, dt: f64, carried: &[Vec3], memory: &mut [Vec3]) {
        // e^(−σt) times the rotation by ωt, of (r, (ṙ + σr)/ω).
        let [decay, frequency] = self.rates;
        let left = (-decay * dt).exp();
        let (sin, cos) = (frequency * dt).sin_cos();
        let rows = memory.as_chunks_mut::<PER_VERTEX>().0;
        for ((row, &x), &share) in rows.iter_mut().zip(carried).zip(&self.shares) {
            let [r, rate, before, velocity] = *row;
            let now = (x - before) / dt;
            let rate = rate - (now - velocity) * share;
            let other = (rate + r * decay) / frequency;
            let new = (r * cos + other * sin) * left;
            let new_other = (other * cos - r * sin) * left;
            *row = [new, new_other * frequency - new * decay, x, now];
        }
    }

    fn finish(&self, _time: f64, memory: &[Vec3], surface: &mut [Vec3]) {
        let rows = memory.as_chunks::<PER_VERTEX>().0;
        for ((x, [r, ..]), &depth) in surface.iter_mut().zip(rows).zip(&self.depths) {
            // r for small ones, and never as far as to the bone.
            let reach = if depth > 0.0 { r.norm() / (FARTHEST * depth) } else { continue };
            *x += *r / (1.0 + reach * reach).sqrt();
        }
    }
}

impl Compiler<'_> {
    /// Lets the skins of a simulation swing.
    pub(super) fn jiggle(
        &mut self,
        characters: &[SceneCharacter],
        simulation: &mut Simulation,
    ) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Vec::new();
        for JiggleParams { body, jiggle, depths, shares: painted } in std::mem::take(&mut self.jiggles) {
            let path = format!("body[{body}].rig");
            debug_assert!(characters.iter().any(|character| character.body == body));
            match softness(simulation.model(), body) {
                Ok(mut shares) => {
                    shares.iter_mut().zip(&painted).for_each(|(share, painted)| *share *= painted);
                    shares.iter_mut().for_each(|share| *share *= jiggle.share());
                    let swing = Swing { shares, depths, rates: jiggle.rates() };
                    simulation.finish_surface(body, Box::new(swing));
                }
                Err(reason) => problems.push(self.scene.problem(
                    &path,
                    format!("the flesh has no answer to its weight, so that nothing says where it jiggles: {reason}"),
                )),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// How far each vertex of a surface sags under the weight of its body at rest, over that of the softest part, at most one.
fn softness(model: &Model, body: usize) -> Result<Vec<f64>, String> {
    let (state, control) = (model.initial_state(), model.initial_control());
    let plan = LinearizationPlan::new(model);
    let mut linearization =
        Linearization::new(&plan, model, &state, &control, Tangent::Exact).map_err(|error| error.to_string())?;
    let data = &model.bodies[body];
    let mut columns = [0, 1, 2].map(|axis| {
        let mut column = vec![Vec3::zero(); model.kinematics.unknown_count()];
        for point in data.points.clone() {
            if let Some(unknown) = model.kinematics.own_unknown(point) {
                column[unknown as usize] = Vec3::unit(axis) * model.masses[point];
            }
        }
        column
    });
    linearization.solve_many(&mut columns).map_err(|error| error.to_string())?;
    // How far a node goes along each axis if the weight acts along it.
    let along = |point: usize| match model.kinematics.own_unknown(point) {
        Some(unknown) => {
            let unknown = unknown as usize;
            Vec3::new(columns[0][unknown].x, columns[1][unknown].y, columns[2][unknown].z)
        }
        None => Vec3::zero(),
    };
    let nodes: Vec<Vec3> = data.points.clone().map(along).collect();
    let sags: Vec<f64> = data.surface.positions(&nodes).iter().map(|s| (s.x + s.y + s.z).max(0.0)).collect();
    let mut sorted = sags.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let softest = sorted[((sorted.len() as f64 * SOFTEST) as usize).min(sorted.len() - 1)];
    match softest > 0.0 && softest.is_finite() {
        true => Ok(sags.into_iter().map(|sag| (sag / softest).min(1.0)).collect()),
        false => Err("bones hold all of it".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The skin of one vertex whose place jumps by one within a frame; where it is from then on.
    fn response(jiggle: &Jiggle, share: f64, rate: f64, seconds: f64) -> Vec<f64> {
        let swing = Swing { shares: vec![share * jiggle.share()], depths: vec![1e9], rates: jiggle.rates() };
        let mut memory = vec![Vec3::zero(); swing.memory_size()];
        swing.start(&[Vec3::zero()], &mut memory);
        let frames = (seconds * rate) as usize;
        let at = |_| {
            let target = [Vec3::unit(0)];
            swing.advance(1.0 / rate, &target, &mut memory);
            let mut surface = target;
            swing.finish(0.0, &memory, &mut surface);
            surface[0].x
        };
        (0..frames).map(at).collect()
    }

    /// Where a path passes one, by interpolation \[s\].
    fn crossings(path: &[f64], rate: f64) -> Vec<f64> {
        let pairs = path.windows(2).enumerate().filter(|(_, pair)| (pair[0] - 1.0) * (pair[1] - 1.0) < 0.0);
        pairs.map(|(k, pair)| (k as f64 + (1.0 - pair[0]) / (pair[1] - pair[0])) / rate).collect()
    }

    /// Crossings are half a period apart, and the first extreme is the overshoot.
    #[test]
    fn a_step_swings_as_asked() {
        for (frequency, overshoot) in [(4.0, 0.2), (2.0, 0.6), (9.0, 0.05), (3.0, 0.9)] {
            let jiggle = Jiggle { frequency, overshoot };
            let path = response(&jiggle, 1.0, 960.0, 2.0 / frequency);
            let times = crossings(&path, 960.0);
            let measured = 0.5 / (times[1] - times[0]);
            assert!((measured / frequency - 1.0).abs() < 0.01, "{measured} Hz of {frequency}");
            let most = path.iter().copied().fold(0.0, f64::max) - 1.0;
            assert!((most / overshoot - 1.0).abs() < 0.03, "{most} of {overshoot}");
        }
    }

    /// The free motion is exact at any frame rate: samples of a coarse one are those of a fine one.
    #[test]
    fn frame_rates_change_nothing_in_free_motion() {
        let jiggle = Jiggle { frequency: 4.0, overshoot: 0.3 };
        let [decay, frequency] = jiggle.rates();
        for rate in [10.0, 24.0, 240.0] {
            let path = response(&jiggle, 1.0, rate, 1.0);
            // r and its rate after the jump, from the first two samples.
            let free = |t: f64| (-decay * t).exp() * (frequency * t).cos();
            let other = |t: f64| (-decay * t).exp() * (frequency * t).sin();
            let dt = 1.0 / rate;
            let [r0, r1] = [path[0] - 1.0, path[1] - 1.0];
            let b = (r1 - r0 * free(dt)) / other(dt);
            for (k, x) in path.iter().enumerate() {
                let t = k as f64 * dt;
                assert!((x - 1.0 - r0 * free(t) - b * other(t)).abs() < 1e-9, "{rate} {k}");
            }
        }
    }

    #[test]
    fn flesh_at_bones_stays_and_nothing_goes_as_far_as_to_the_bone() {
        let jiggle = Jiggle { frequency: 3.0, overshoot: 0.5 };
        assert!(response(&jiggle, 0.0, 24.0, 1.0).iter().all(|x| (x - 1.0).abs() < 1e-12));
        let swing = Swing { shares: vec![1.0], depths: vec![0.02], rates: jiggle.rates() };
        let memory = [Vec3::unit(1) * 5.0, Vec3::zero(), Vec3::zero(), Vec3::zero()];
        let mut surface = [Vec3::zero()];
        swing.finish(0.0, &memory, &mut surface);
        assert!(surface[0].norm() < 0.01 && surface[0].norm() > 0.0099);
    }
}
