//! Checks the vectorized elastic blocks against single cells and against differences.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sinew_fem::elastic::{Actuation, ElasticBlock, PACK};
use sinew_fem::material::{Law, Material, MaterialPoint, MaterialSpec, MaterialVisitor, Tangent, VolumeForm};
use sinew_fem::{Model, ModelBuilder};
use sinew_geometry::CellMesh;
use sinew_math::parallel::ScatterPlan;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Quaternion, Vec3};

use crate::models::{Noise, body, hexes, tets};

/// A body whose cells alternate between two stiffnesses of `law`, plus one cell of another law, on 4·6 − 1 … cells.
fn model(mesh: CellMesh, law: Law, volume: VolumeForm) -> Model {
    let mut params = body("flesh", mesh, MaterialSpec::with_young(law, 1e4, 0.3));
    for (cell, material) in params.materials.iter_mut().enumerate() {
        if cell % 2 == 1 {
            *material = MaterialSpec::with_young(law, 3e4, 0.1);
        }
    }
    params.volume = volume;
    let last = params.materials.len() - 1;
    let other = if law == Law::Corotated { Law::NeoHookean } else { Law::Corotated };
    params.materials[last] = MaterialSpec::with_young(other, 2e4, 0.2);
    let mut builder = ModelBuilder::new();
    builder.add_body(params);
    builder.build().unwrap()
}

/// Every law on 12 tetrahedra, linear and quadratic, and 3 hexahedra, with the volume term at points and in the mean.
/// No count fills the packs of eight.
fn models() -> impl Iterator<Item = (String, Model)> {
    Law::ALL.into_iter().flat_map(|law| {
        let (tets, hexes) = (tets([0.4, 0.2, 0.2], [2, 1, 1]), hexes([0.6, 0.2, 0.2], [3, 1, 1]));
        let quadratic = tets.to_quadratic().unwrap();
        [
            ("tet4", tets, VolumeForm::Pointwise),
            ("tet10", quadratic.clone(), VolumeForm::Pointwise),
            ("tet10 with mean volume", quadratic, VolumeForm::Mean),
            ("hex8", hexes.clone(), VolumeForm::Pointwise),
            ("hex8 with mean volume", hexes, VolumeForm::Mean),
        ]
        .map(|(kind, mesh, volume)| (format!("{} on {kind}", law.name()), model(mesh, law, volume)))
    })
}

/// The energy of one cell by definition: Σ w ψ(F), or Σ w ψ₀(F) + V λ U(θ̄) with θ̄ = Σ w θ(F)/V.
fn cell_energy(block: &ElasticBlock, k: usize, x: &[Vec3], material: MaterialSpec) -> f64 {
    let mut points = Vec::new();
    block.evaluate_cell(k, x, &Actuation::PASSIVE, |w, f, _| points.push((w, f)));
    let mut point = material.point();
    let mut mean_part = 0.0;
    if block.volume == VolumeForm::Mean {
        let rest: f64 = points.iter().map(|(w, _)| w).sum();
        let mean = |theta: fn(&Mat3) -> f64| points.iter().map(|(w, f)| w * theta(f)).sum::<f64>() / rest;
        let measure = match material.law() {
            Law::Linear => mean(|f| f.trace() - 3.0),
            Law::NeoHookean | Law::MooneyRivlin | Law::TransverselyIsotropic => mean(|f| f.determinant()).ln(),
            _ => mean(|f| f.determinant()) - 1.0,
        };
        mean_part = rest * 0.5 * point.lambda * measure * measure;
        if material.law() == Law::MooneyRivlin {
            point.extra[1] -= point.lambda;
        }
        if material.law() == Law::TransverselyIsotropic {
            point.extra[2] -= point.lambda;
        }
        point.lambda = 0.0;
    }
    mean_part + points.iter().map(|(w, f)| w * material.visit(Psi(*f, point))).sum::<f64>()
}

/// Positions valid for every law: strains of some ten percent and a large rotation.
fn deformed(model: &Model, law_is_linear: bool, noise: &mut Noise) -> Vec<Vec3> {
    let turn = if law_is_linear { Quaternion::identity() } else { Quaternion::exp_map(Vec3::new(0.5, -0.8, 0.3)) };
    model.initial_state().positions.iter().map(|x| turn.rotate(*x + noise.vector() * 0.02)).collect()
}

struct Psi(Mat3, MaterialPoint<f64>);
impl MaterialVisitor for Psi {
    type Output = f64;
    fn visit<M: Material>(self, law: M) -> f64 {
        law.energy_density(&self.0, &self.1)
    }
}

fn vectorized_gradient(model: &Model, x: &[Vec3]) -> (f64, Vec<Vec3>) {
    let mut gradient = vec![Vec3::zero(); x.len()];
    let mut energy = 0.0;
    for block in &model.elastic {
        let packs: Vec<AtomicU64> = (0..block.pack_count()).map(|_| AtomicU64::new(0)).collect();
        energy += block.add_gradient(x, &Actuation::PASSIVE, 1.0, &mut gradient, &packs);
    }
    (energy, gradient)
}

fn matrix_plan(block: &ElasticBlock, pattern: &BlockPattern) -> ScatterPlan {
    let slots = block.matrix_slots(|a, b| pattern.slot(a as usize, b as usize).unwrap() as u32);
    ScatterPlan::new(pattern.block_count(), slots).unwrap()
}

fn pattern(model: &Model) -> Arc<BlockPattern> {
    let cells: Vec<Vec<u32>> = model.bodies[0].mesh.cells().map(|(_, nodes)| nodes.to_vec()).collect();
    Arc::new(BlockPattern::from_elements(model.kinematics.point_count(), &cells).unwrap())
}

fn vectorized_tangent(model: &Model, x: &[Vec3], tangent: Tangent) -> BlockCsr {
    let pattern = pattern(model);
    let mut matrix = BlockCsr::zeros(pattern.clone());
    for block in &model.elastic {
        block.add_tangent(x, &Actuation::PASSIVE, tangent, 1.0, &matrix_plan(block, &pattern), matrix.values_mut());
    }
    matrix.mirror_lower();
    matrix
}

/// E = Σ w ψ(F) or its mean form, and dE = Σ w P : F(dx) because F is linear in the positions.
#[test]
fn vectorized_energy_and_gradient_equal_those_of_single_cells() {
    let mut noise = Noise(11);
    for (name, model) in models() {
        let x = deformed(&model, name.starts_with("linear"), &mut noise);
        let (energy, gradient) = vectorized_gradient(&model, &x);
        let direct: f64 = model.elastic.iter().map(|block| block.energy(&x, &Actuation::PASSIVE)).sum();
        let mut scalar = 0.0;
        for block in &model.elastic {
            for (k, &cell) in block.cells().iter().enumerate() {
                let material = model.bodies[0].materials[cell as usize];
                scalar += cell_energy(block, k, &x, material);
            }
        }
        // Sums of some dozens of positive terms in another order.
        assert!((energy - scalar).abs() < 1e-13 * scalar, "{name}: {energy} {scalar}");
        assert!((direct - scalar).abs() < 1e-13 * scalar, "{name}: {direct} {scalar}");
        let scale = gradient.iter().map(|g| g.norm()).fold(0.0, f64::max);
        for point in 0..x.len() {
            for axis in 0..3 {
                let mut dx = vec![Vec3::zero(); x.len()];
                dx[point][axis] = 1.0;
                let mut slope = 0.0;
                for block in &model.elastic {
                    for k in 0..block.cell_count() {
                        let mut steps = Vec::new();
                        block.evaluate_cell(k, &dx, &Actuation::PASSIVE, |_, df, _| steps.push(df));
                        let mut steps = steps.into_iter();
                        block.evaluate_cell(k, &x, &Actuation::PASSIVE, |w, _, p| {
                            slope += w * p.double_dot(&steps.next().unwrap())
                        });
                    }
                }
                assert!((slope - gradient[point][axis]).abs() < 1e-12 * scale, "{name} at {point}, {axis}");
            }
        }
    }
}

#[test]
fn matrix_is_the_sum_of_the_tangents_of_its_cells() {
    let mut noise = Noise(12);
    for (name, model) in models() {
        let x = deformed(&model, name.starts_with("linear"), &mut noise);
        for tangent in [Tangent::Exact, Tangent::Definite] {
            let matrix = vectorized_tangent(&model, &x, tangent);
            let mut scalar = BlockCsr::zeros(matrix.pattern().clone());
            for block in &model.elastic {
                block.visit_tangents(0..block.pack_count(), &x, &Actuation::PASSIVE, tangent, &mut |k, a, b, value| {
                    scalar.add_block(block.point(k, a) as usize, block.point(k, b) as usize, &value).unwrap();
                });
            }
            let scale = scalar.values().iter().map(|b| b.norm()).fold(0.0, f64::max);
            for (a, b) in matrix.values().iter().zip(scalar.values()) {
                assert!((*a - *b).norm() < 1e-12 * scale, "{name}, {tangent:?}");
            }
        }
    }
}

struct Differential {
    f: Mat3,
    df: Mat3,
    point: MaterialPoint<f64>,
    kind: Tangent,
}

impl MaterialVisitor for Differential {
    type Output = Mat3;
    fn visit<M: Material>(self, law: M) -> Mat3 {
        match self.kind {
            Tangent::Exact => law.stress_differential(&self.f, &self.df, &self.point),
            Tangent::Definite => law.definite_tangent(&self.f, &self.point).apply(&self.df),
        }
    }
}

/// The product that \[Sifakis07\] iterates with never forms a matrix: δF → δP → forces of each cell (SIF-028). Its
/// bilinear form uᵀ K dx = Σ w F(u) : δP(F; F(dx)) is the reference for the assembled matrix.
#[test]
fn assembled_products_equal_matrix_free_ones() {
    let mut noise = Noise(21);
    for (name, model) in models().filter(|(name, _)| !name.contains("mean")) {
        let x = deformed(&model, name.starts_with("linear"), &mut noise);
        // The anisotropic law builds its definite element matrix in another way than its definite 9×9 tangent.
        let kinds =
            if name.starts_with("fiber") { &[Tangent::Exact][..] } else { &[Tangent::Exact, Tangent::Definite] };
        for &kind in kinds {
            let matrix = vectorized_tangent(&model, &x, kind);
            let (u, dx) = (noise.vectors(x.len()), noise.vectors(x.len()));
            let mut product = dx.clone();
            matrix.multiply(&dx, &mut product);
            let assembled: f64 = product.iter().zip(&u).map(|(p, u)| p.dot(*u)).sum();
            let (mut free, mut size) = (0.0, 0.0);
            for block in &model.elastic {
                for (k, &cell) in block.cells().iter().enumerate() {
                    let material = model.bodies[0].materials[cell as usize];
                    let gradients = |v: &[Vec3]| {
                        let mut list = Vec::new();
                        block.evaluate_cell(k, v, &Actuation::PASSIVE, |_, f, _| list.push(f));
                        list.into_iter()
                    };
                    let (mut fu, mut fdx) = (gradients(&u), gradients(&dx));
                    block.evaluate_cell(k, &x, &Actuation::PASSIVE, |w, f, _| {
                        let (u, df) = (fu.next().unwrap(), fdx.next().unwrap());
                        let dp = material.visit(Differential { f, df, point: material.point(), kind });
                        free += w * u.double_dot(&dp);
                        size += w * u.norm() * dp.norm();
                    });
                }
            }
            assert!((assembled - free).abs() < 1e-10 * size, "{name}, {kind:?}: {assembled} {free}");
        }
    }
}

/// Central differences with a step of 1e-6 of 0.2 m are accurate to about 1e-8 relative.
#[test]
fn gradient_and_tangent_are_derivatives() {
    let mut noise = Noise(13);
    for (name, model) in models() {
        let x = deformed(&model, name.starts_with("linear"), &mut noise);
        let h = 2e-7;
        let direction = noise.vectors(x.len());
        let moved = |s: f64| -> Vec<Vec3> { x.iter().zip(&direction).map(|(x, d)| *x + *d * s).collect() };
        let ((plus, plus_gradient), (minus, minus_gradient)) =
            (vectorized_gradient(&model, &moved(h)), vectorized_gradient(&model, &moved(-h)));
        let (_, gradient) = vectorized_gradient(&model, &x);
        let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g.dot(*d)).sum();
        let size: f64 = gradient.iter().map(|g| g.norm()).sum();
        assert!(((plus - minus) / (2.0 * h) - slope).abs() < 1e-6 * size, "{name}");
        let mut product = vec![Vec3::zero(); x.len()];
        let matrix = vectorized_tangent(&model, &x, Tangent::Exact);
        assert!(matrix.asymmetry() < 1e-9 * matrix.values().iter().map(|b| b.norm()).fold(0.0, f64::max));
        matrix.multiply(&direction, &mut product);
        let scale = product.iter().map(|p| p.norm()).fold(0.0, f64::max);
        for point in 0..x.len() {
            let numeric = (plus_gradient[point] - minus_gradient[point]) / (2.0 * h);
            assert!((numeric - product[point]).norm() < 1e-6 * scale, "{name} at {point}");
        }
    }
}

/// |∂E/∂x| of a rigidly moved body is rounding: 1e-12 of Young's modulus times the area of a cell.
#[test]
fn rigid_motions_need_no_force() {
    for (name, model) in models() {
        let is_linear = name.starts_with("linear");
        let turn = if is_linear { Quaternion::identity() } else { Quaternion::exp_map(Vec3::new(1.0, -2.0, 0.5)) };
        let shift = Vec3::new(0.3, -0.1, 0.2);
        let x: Vec<Vec3> = model.initial_state().positions.iter().map(|x| turn.rotate(*x) + shift).collect();
        let (_, gradient) = vectorized_gradient(&model, &x);
        let worst = gradient.iter().map(|g| g.norm()).fold(0.0, f64::max);
        assert!(worst < 1e-12 * 3e4 * 0.04, "{name}: {worst}");
    }
}

#[test]
fn an_inverted_cell_has_infinite_energy_where_the_law_has_a_barrier() {
    for (name, model) in models() {
        let law = model.bodies[0].materials[0].law();
        let x: Vec<Vec3> = model.initial_state().positions.iter().map(|x| Vec3::new(-x.x, x.y, x.z)).collect();
        let energy = model.elastic.iter().map(|block| block.energy(&x, &Actuation::PASSIVE)).sum::<f64>();
        let expected = law.has_barrier() || law == Law::Corotated;
        assert_eq!(energy.is_infinite(), expected && !energy.is_finite(), "{name}: {energy}");
        assert!(!energy.is_nan(), "{name}");
        let of_law = |block: &&ElasticBlock| block.cells().contains(&0);
        assert_eq!(
            law.has_barrier(),
            model.elastic.iter().filter(of_law).any(|b| b.energy(&x, &Actuation::PASSIVE).is_infinite())
        );
    }
}

#[test]
fn threads_change_no_bit() {
    let mesh = tets([1.0, 0.5, 0.5], [8, 4, 4]);
    let model = model(mesh.to_quadratic().unwrap(), Law::NeoHookean, VolumeForm::Mean);
    let mut noise = Noise(14);
    let x: Vec<Vec3> = model.initial_state().positions.iter().map(|x| *x + noise.vector() * 0.005).collect();
    let evaluate = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let energy: f64 = model.elastic.iter().map(|b| b.energy(&x, &Actuation::PASSIVE)).sum();
            let tangent = vectorized_tangent(&model, &x, Tangent::Exact);
            (energy.to_bits(), vectorized_gradient(&model, &x), tangent.values().to_vec())
        })
    };
    assert!(evaluate(1) == evaluate(2));
}

/// The element matrix of a cell as numbers.
fn dense_tangent(block: &ElasticBlock, k: usize, x: &[Vec3], tangent: Tangent) -> Vec<Vec<f64>> {
    let n = 3 * block.kind().nodes_per_cell();
    let mut dense = vec![vec![0.0; n]; n];
    let pack = k / PACK;
    block.visit_tangents(pack..pack + 1, x, &Actuation::PASSIVE, tangent, &mut |cell, a, b, value| {
        if cell == k {
            for i in 0..3 {
                for j in 0..3 {
                    dense[3 * a + i][3 * b + j] = value[(i, j)];
                }
            }
        }
    });
    dense
}

/// Whether K + shift I has a Cholesky factor.
fn is_definite(mut k: Vec<Vec<f64>>, shift: f64) -> bool {
    for i in 0..k.len() {
        k[i][i] += shift;
    }
    for i in 0..k.len() {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|m| k[i][m] * k[j][m]).sum();
            let rest = k[i][j] - dot;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return false;
                }
                k[i][i] = rest.sqrt();
            } else {
                k[i][j] = rest / k[j][j];
            }
        }
    }
    true
}

/// The definite tangent has no negative eigenvalue at any node positions. It equals the exact tangent where every point
/// has a definite tangent: under uniform expansion with the mean volume ratio.
#[test]
fn the_definite_tangent_is_definite_and_exact_where_it_can_be() {
    let mut noise = Noise(15);
    for (name, model) in models() {
        let rest = model.initial_state().positions;
        let is_barrier = model.bodies[0].materials[0].law().has_barrier();
        // Noise of up to a cell size inverts cells; laws with a barrier stay in their valid range.
        let strong = if is_barrier { 0.03 } else { 0.2 };
        let wild: Vec<Vec3> = rest.iter().map(|x| *x + noise.vector() * strong).collect();
        let mild: Vec<Vec3> = rest.iter().map(|x| *x * 1.02).collect();
        for block in &model.elastic {
            for k in 0..block.cell_count() {
                let definite = dense_tangent(block, k, &wild, Tangent::Definite);
                let scale = definite.iter().flatten().fold(0.0f64, |most, v| most.max(v.abs()));
                assert!(is_definite(definite, 1e-10 * scale), "{name}, cell {k}");
                let exact = dense_tangent(block, k, &mild, Tangent::Exact);
                let definite = dense_tangent(block, k, &mild, Tangent::Definite);
                let scale = exact.iter().flatten().fold(0.0f64, |most, v| most.max(v.abs()));
                let law = model.bodies[0].materials[block.cells()[k] as usize].law();
                // Laws that are indefinite even under such a small tension are compared only where they are not.
                if !is_definite(exact.clone(), 1e-10 * scale) || law == Law::Corotated {
                    continue;
                }
                for (a, b) in exact.iter().flatten().zip(definite.iter().flatten()) {
                    assert!((a - b).abs() < 1e-9 * scale, "{name}, cell {k}: {a} {b}");
                }
            }
        }
    }
}

/// Cells collapsed to a point, a plane or their mirror image give finite numbers.
#[test]
fn collapsed_and_mirrored_cells_stay_finite() {
    for (name, model) in models() {
        let rest = model.initial_state().positions;
        let maps: [fn(Vec3) -> Vec3; 3] =
            [|_| Vec3::splat(0.1), |x| Vec3::new(x.x, 0.05, x.z), |x| Vec3::new(-x.x, x.y, x.z)];
        for map in maps {
            let x: Vec<Vec3> = rest.iter().map(|x| map(*x)).collect();
            let (energy, gradient) = vectorized_gradient(&model, &x);
            assert!(!energy.is_nan(), "{name}");
            assert!(gradient.iter().all(|g| g.is_finite()), "{name}");
            for tangent in [Tangent::Exact, Tangent::Definite] {
                let matrix = vectorized_tangent(&model, &x, tangent);
                assert!(matrix.values().iter().all(|block| block.is_finite()), "{name}, {tangent:?}");
            }
        }
    }
}

/// Under an affine motion every point has the mean volume ratio, and both forms agree.
#[test]
fn forms_agree_for_affine_motions() {
    for law in Law::ALL.into_iter().filter(|law| law.has_volume_term()) {
        for mesh in [tets([0.4, 0.2, 0.2], [2, 1, 1]).to_quadratic().unwrap(), hexes([0.6, 0.2, 0.2], [3, 1, 1])] {
            let [pointwise, mean] =
                [VolumeForm::Pointwise, VolumeForm::Mean].map(|volume| model(mesh.clone(), law, volume));
            let map = Mat3::new([[1.2, 0.1, 0.0], [-0.1, 0.9, 0.2], [0.0, 0.1, 1.1]]);
            let x: Vec<Vec3> = mesh.positions().iter().map(|x| map * *x).collect();
            let ((a, ga), (b, gb)) = (vectorized_gradient(&pointwise, &x), vectorized_gradient(&mean, &x));
            assert!((a - b).abs() < 1e-13 * a, "{law:?}: {a} {b}");
            let scale = ga.iter().map(|g| g.norm()).fold(0.0, f64::max);
            assert!(ga.iter().zip(&gb).all(|(a, b)| (*a - *b).norm() < 1e-12 * scale), "{law:?}");
        }
    }
}
