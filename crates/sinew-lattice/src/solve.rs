//! Linear solves on a lattice: V-cycles, and conjugate gradients preconditioned by a cycle or by the diagonal (MCA-46).
//! Residuals and solution are f64, corrections f32.

use sinew_math::Vec3;
use sinew_math::parallel::sum;

use crate::aligned::Aligned;
use crate::layout::{Layout, NodeSlot};
use crate::level::Level;
use crate::multigrid::Multigrid;
use crate::pass::{NodalTerms, Operator, Pass};
use crate::precise;

/// Residual reduction after which conjugate gradients restart from an f64 residual: beyond it f32 rounding dominates.
const RESTART: f64 = 1e-4;

/// Solution method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// V-cycles.
    Cycles,
    /// Conjugate gradients, with a V-cycle as preconditioner.
    MultigridCg,
    /// Conjugate gradients, with the diagonal as preconditioner.
    JacobiCg,
    /// Conjugate gradients without a preconditioner.
    Cg,
}

/// Result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveReport {
    /// Cycles, or iterations of conjugate gradients.
    pub iterations: usize,
    /// Products with the matrix of the finest level, including sweeps.
    pub operators: usize,
    /// Largest component of the residual, before the first iteration and after each. Between restarts of conjugate
    /// gradients it is their recursive residual.
    pub defects: Vec<f64>,
}

impl SolveReport {
    /// Last residual over the first.
    pub fn reduction(&self) -> f64 {
        match (self.defects.first(), self.defects.last()) {
            (Some(&first), Some(&last)) if first > 0.0 => last / first,
            _ => 0.0,
        }
    }
}

/// Vectors of a solve, in slots of the finest level.
#[derive(Clone, Debug, Default)]
struct Work {
    b: Vec<f64>,
    x: Vec<f64>,
    product: Vec<f64>,
    defect: Vec<f64>,
}

impl Multigrid {
    /// Solves K x = b for free components, starting from the given `x`, until the largest component of the residual is
    /// below `tolerance` times its value at x = 0, or after `most` iterations. K is the definite tangent, without added
    /// blocks.
    pub fn solve(&mut self, method: Method, b: &[Vec3], x: &mut [Vec3], tolerance: f64, most: usize) -> SolveReport {
        let fine = &self.levels[0];
        let [mut b_slots, mut x_slots, product, defect] = [(); 4].map(|()| vec![0.0; fine.layout.value_count()]);
        fine.layout.spread(&mut b_slots, |node| [b[node].x, b[node].y, b[node].z]);
        fine.layout.spread(&mut x_slots, |node| [x[node].x, x[node].y, x[node].z]);
        let mut work = Work { b: b_slots, x: x_slots, product, defect };
        let free = fine.free.iter().map(|&f| f64::from(f));
        let goal = tolerance * work.b.iter().zip(free).map(|(b, free)| (b * free).abs()).fold(0.0, f64::max);
        let mut report = SolveReport { iterations: 0, operators: 0, defects: vec![self.defect(&mut work)] };
        while report.iterations < most && report.defects.last().is_some_and(|&defect| defect > goal) {
            let fine = &mut self.levels[0];
            for (b, &defect) in fine.b.iter_mut().zip(&work.defect) {
                *b = defect as f32;
            }
            match method {
                Method::Cycles => {
                    self.cycle_from_zero();
                    report.iterations += 1;
                    report.operators += 2 * self.fine_sweeps() + 1;
                }
                _ => self.conjugate_gradients(method, goal, most, &mut report),
            }
            for (x, &correction) in work.x.iter_mut().zip(&*self.levels[0].x) {
                *x += f64::from(correction);
            }
            let defect = self.defect(&mut work);
            if method == Method::Cycles {
                report.defects.push(defect);
            } else if let Some(last) = report.defects.last_mut() {
                *last = defect;
            }
        }
        self.levels[0].layout.collect(&work.x, x, |x, value| *x = Vec3::from(value));
        report
    }

    /// b − K x in f64, and its largest component.
    fn defect(&self, work: &mut Work) -> f64 {
        let fine = &self.levels[0];
        precise::apply(
            &fine.layout,
            (&fine.state, &fine.pulls, &fine.bulk),
            self.params.modes,
            &work.x,
            &mut work.product,
        );
        let mut most = 0.0f64;
        let parts = work.defect.iter_mut().zip(&work.b).zip(&work.product).zip(&*fine.free);
        for (((defect, b), product), &free) in parts {
            *defect = (b - product) * f64::from(free);
            most = most.max(defect.abs());
        }
        most
    }

    /// Runs conjugate gradients for the current right-hand side; leaves the solution in x of the finest level.
    fn conjugate_gradients(&mut self, method: Method, goal: f64, most: usize, report: &mut SolveReport) {
        let modes = self.params.modes;
        let length = self.levels[0].b.len();
        let mut x = Aligned::zeros(length);
        let mut r = self.levels[0].b.clone();
        let mut p = Aligned::zeros(length);
        let mut q = Aligned::zeros(length);
        let start = largest(&r);
        let mut rz_before = 1.0;
        let mut is_first = true;
        while report.iterations < most {
            // z goes into x of the finest level.
            match method {
                Method::Cg => self.levels[0].x.copy_from_slice(&r),
                Method::JacobiCg => {
                    let Level { x, inverse, .. } = &mut self.levels[0];
                    for ((z, r), inverse) in x.iter_mut().zip(&*r).zip(&**inverse) {
                        *z = r * inverse;
                    }
                }
                _ => {
                    self.levels[0].b.copy_from_slice(&r);
                    self.cycle_from_zero();
                    report.operators += 2 * self.fine_sweeps();
                }
            }
            let fine = &mut self.levels[0];
            let rz = dot(&fine.layout, &r, &fine.x);
            let beta = if is_first { 0.0 } else { (rz / rz_before) as f32 };
            is_first = false;
            rz_before = rz;
            for (p, z) in p.iter_mut().zip(&*fine.x) {
                *p = *p * beta + z;
            }
            let Level { layout, slabs, state, moments, pulls, bulk, free, .. } = fine;
            let operator = Operator { layout, state, modes, moments, fibers: pulls, bulk, anchors: NodalTerms::None };
            slabs.run(operator, &mut p, Pass::Apply { out: &mut q });
            for (q, free) in q.iter_mut().zip(&**free) {
                *q *= free;
            }
            report.operators += 1;
            report.iterations += 1;
            let pq = dot(&self.levels[0].layout, &p, &q);
            if !(pq > 0.0 && rz > 0.0) {
                break;
            }
            let alpha = (rz / pq) as f32;
            for (x, p) in x.iter_mut().zip(&*p) {
                *x += alpha * p;
            }
            for (r, q) in r.iter_mut().zip(&*q) {
                *r -= alpha * q;
            }
            let defect = largest(&r);
            report.defects.push(defect);
            if defect <= goal || defect <= RESTART * start {
                break;
            }
        }
        self.levels[0].x.copy_from_slice(&x);
    }
}

fn largest(v: &[f32]) -> f64 {
    f64::from(v.iter().fold(0.0f32, |most, v| most.max(v.abs())))
}

/// a · b, counting seam nodes once.
pub(crate) fn dot(layout: &Layout, a: &[f32], b: &[f32]) -> f64 {
    sum_once(layout, a.len(), |k| f64::from(a[k]) * f64::from(b[k]))
}

/// a · (b − c), counting seam nodes once.
pub(crate) fn difference(layout: &Layout, a: &[f32], b: &[f32], c: &[f32]) -> f64 {
    sum_once(layout, a.len(), |k| f64::from(a[k]) * (f64::from(b[k]) - f64::from(c[k])))
}

/// Sum over slots, counting seam nodes once.
fn sum_once(layout: &Layout, count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let twice = |slots: &[NodeSlot]| -> f64 {
        slots[1..].iter().map(|slot| (0..3).map(|c| term(slot.component(c))).sum::<f64>()).sum()
    };
    sum(count, &term) - layout.seams().map(twice).sum::<f64>()
}
