//! Finite volumes: tractions on the faces around a node give the forces of linear finite elements \[Teran05\], §4.
//!
//! A node of a tetrahedron carries a third of the traction of each of its faces, with the Cauchy stress σ in the
//! deformed shape or the Piola stress P in the rest shape. Both equal −∂E/∂x.

use std::cell::Cell;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::atomic::AtomicU64;

use sinew_fem::elastic::Actuation;
use sinew_fem::material::Law;
use sinew_fem::{Model, ModelBuilder};
use sinew_math::{Mat3, Vec3};

use crate::models::{Noise, body, spec, tets};

/// Faces of a tetrahedron, face k opposite to node k; the order of its nodes gives the outward normal.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// For each node, minus a third of the sum of area times outward normal over its three faces. The order of the nodes
/// orients the faces, so the normals of an inverted cell point inward, as they must.
fn thirds_of_faces(x: [Vec3; 4]) -> [Vec3; 4] {
    let mut sums = [Vec3::zero(); 4];
    for face in FACES {
        let [a, b, c] = face.map(|n| x[n]);
        for node in face {
            sums[node] -= (b - a).cross(c - a) / 6.0;
        }
    }
    sums
}

/// Columns x₁ − x₀, x₂ − x₀, x₃ − x₀.
fn edges(x: [Vec3; 4]) -> Mat3 {
    Mat3::from_columns(x[1] - x[0], x[2] - x[0], x[3] - x[0])
}

/// Deformed and, for laws that allow it, inverted states of some tetrahedra.
fn states() -> Vec<(Model, Vec<Vec3>)> {
    let mut noise = Noise(51);
    let mut states = Vec::new();
    for (law, size) in [(Law::NeoHookean, 0.02), (Law::StableNeoHookean, 0.3), (Law::FiberReinforced, 0.3)] {
        let mut builder = ModelBuilder::new();
        builder.add_body(body("flesh", tets([0.4, 0.2, 0.2], [2, 1, 1]), spec(law)));
        let model = builder.build().unwrap();
        let x = model.initial_state().positions.iter().map(|&x| x + noise.vector() * size).collect();
        states.push((model, x));
    }
    states
}

/// Calls `visit(rest corners, deformed corners, points, F, P)` for every tetrahedron.
fn for_each_tet(model: &Model, x: &[Vec3], mut visit: impl FnMut([Vec3; 4], [Vec3; 4], [usize; 4], Mat3, Mat3)) {
    let rest = model.initial_state().positions;
    for block in &model.elastic {
        for cell in 0..block.cell_count() {
            let mut points = [0, 1, 2, 3].map(|a| block.point(cell, a) as usize);
            // Blocks sort the nodes of a cell; faces need a positive rest volume.
            if edges(points.map(|n| rest[n])).determinant() < 0.0 {
                points.swap(2, 3);
            }
            block.evaluate_cell(cell, x, &Actuation::PASSIVE, |_, f, p| {
                visit(points.map(|n| rest[n]), points.map(|n| x[n]), points, f, p)
            });
        }
    }
}

fn gradient(model: &Model, x: &[Vec3]) -> Vec<Vec3> {
    let mut gradient = vec![Vec3::zero(); x.len()];
    for block in &model.elastic {
        let packs: Vec<AtomicU64> = (0..block.pack_count()).map(|_| AtomicU64::new(0)).collect();
        block.add_gradient(x, &Actuation::PASSIVE, 1.0, &mut gradient, &packs);
    }
    gradient
}

/// TER-26, TER-27, TER-29: f = −σ Σ a n/3 = −P Σ A N/3 = −∂E/∂x in every cell, including inverted ones.
#[test]
fn face_tractions_give_the_forces_of_finite_elements() {
    let mut inverted = 0;
    for (model, x) in states() {
        let (mut cauchy, mut piola) = (vec![Vec3::zero(); x.len()], vec![Vec3::zero(); x.len()]);
        for_each_tet(&model, &x, |rest, now, points, f, p| {
            let volume = edges(now).determinant() / edges(rest).determinant();
            inverted += usize::from(volume < 0.0);
            let sigma = p.mul_transpose(&f) / volume;
            for (node, (a, b)) in thirds_of_faces(now).into_iter().zip(thirds_of_faces(rest)).enumerate() {
                cauchy[points[node]] += sigma * a;
                piola[points[node]] += p * b;
            }
        });
        let exact = gradient(&model, &x);
        let scale = exact.iter().map(|g| g.norm()).fold(0.0, f64::max);
        for n in 0..x.len() {
            assert!((cauchy[n] + exact[n]).norm() < 1e-11 * scale, "{:?} {:?}", cauchy[n], exact[n]);
            assert!((piola[n] + exact[n]).norm() < 1e-12 * scale, "{:?} {:?}", piola[n], exact[n]);
        }
    }
    assert!(inverted > 3);
}

/// The pitfall of TER-26: geometrically outward normals reverse the forces of an inverted cell.
#[test]
fn geometric_normals_have_the_wrong_sign_in_inverted_cells() {
    for (model, x) in states() {
        for_each_tet(&model, &x, |rest, now, _, f, p| {
            let volume = edges(now).determinant() / edges(rest).determinant();
            let sigma = p.mul_transpose(&f) / volume;
            let center = (now[0] + now[1] + now[2] + now[3]) / 4.0;
            let mut force = Vec3::zero();
            for face in FACES.iter().filter(|face| face.contains(&1)) {
                let [a, b, c] = face.map(|n| now[n]);
                let normal = (b - a).cross(c - a) / 6.0;
                force -= sigma * (if normal.dot(a - center) > 0.0 { normal } else { -normal });
            }
            let right = p * thirds_of_faces(rest)[1] * volume.signum();
            assert!((force - right).norm() < 1e-9 * (right.norm() + 1e-6), "{volume}");
        });
    }
}

/// TER-27, TER-28: D_mᵀ B_m = −V I, and B_s = −cof(D_s)/6 without a division, so that flat cells need no special case.
#[test]
fn precomputed_areas_are_cofactors_of_the_edges() {
    let mut noise = Noise(52);
    for k in 0..50 {
        let mut x = [0; 4].map(|_| noise.vector());
        if k % 5 == 0 {
            // Flat.
            x[3] = x[1] * 0.3 + x[2] * 0.9 - x[0] * 0.2;
        }
        let thirds = thirds_of_faces(x);
        let areas = Mat3::from_columns(thirds[1], thirds[2], thirds[3]);
        let d = edges(x);
        assert!((d.transpose_mul(&areas) + Mat3::identity() * (d.determinant() / 6.0)).norm() < 1e-14);
        assert!((areas + d.cofactor() / 6.0).norm() < 1e-14);
        assert!((thirds[0] + thirds[1] + thirds[2] + thirds[3]).norm() < 1e-14);
    }
}

thread_local! {
    static PRODUCTS: Cell<usize> = const { Cell::new(0) };
    static SUMS: Cell<usize> = const { Cell::new(0) };
}

/// A number that counts its operations.
#[derive(Clone, Copy, Default)]
struct Counted(f64);

impl Mul for Counted {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        PRODUCTS.set(PRODUCTS.get() + 1);
        Self(self.0 * other.0)
    }
}

impl Add for Counted {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        SUMS.set(SUMS.get() + 1);
        Self(self.0 + other.0)
    }
}

impl Sub for Counted {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        SUMS.set(SUMS.get() + 1);
        Self(self.0 - other.0)
    }
}

impl Neg for Counted {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

type Counted3 = [[Counted; 3]; 3];

fn counted(matrix: &Mat3) -> Counted3 {
    matrix.rows.map(|row| row.map(Counted))
}

fn product(a: &Counted3, b: &Counted3) -> Counted3 {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j]))
}

/// Forces on nodes 1, 2, 3 in columns, and on node 0.
fn with_rest(g: Counted3) -> (Counted3, [Counted; 3]) {
    (g, std::array::from_fn(|i| -(g[i][0] + g[i][1] + g[i][2])))
}

fn count<T>(compute: impl FnOnce() -> T) -> (T, usize, usize) {
    PRODUCTS.set(0);
    SUMS.set(0);
    let result = compute();
    (result, PRODUCTS.get(), SUMS.get())
}

/// TER-28: 54 multiplications and 42 additions per tetrahedron, from S and F with nine stored numbers, or from σ and
/// the positions with none.
#[test]
fn forces_of_a_tetrahedron_take_54_multiplications_and_42_additions() {
    let mut noise = Noise(53);
    let mut matrix = || Mat3::from_columns(noise.vector(), noise.vector(), noise.vector());
    let (rest, f) = (Mat3::identity() + matrix() * 0.2, Mat3::identity() + matrix() * 0.3);
    let second_piola = (matrix() + matrix()).symmetric_part();
    let now = f * rest;
    let sigma = (f * second_piola).mul_transpose(&f) / f.determinant();
    let areas = -rest.cofactor() / 6.0;

    let (f, second_piola, areas) = (counted(&f), counted(&second_piola), counted(&areas));
    let (by_piola, products, sums) = count(|| with_rest(product(&product(&f, &second_piola), &areas)));
    assert_eq!((products, sums), (54, 42));

    // Node 0 is not at the origin, so that edges must be formed.
    let origin = Vec3::new(0.3, -0.2, 0.7);
    let nodes: [[Counted; 3]; 4] = [origin, origin + now.column(0), origin + now.column(1), origin + now.column(2)]
        .map(|x| x.to_array().map(Counted));
    let sigma = counted(&sigma);
    let (by_cauchy, products, sums) = count(|| {
        let d: [[Counted; 3]; 3] = std::array::from_fn(|k| std::array::from_fn(|i| nodes[k + 1][i] - nodes[0][i]));
        let mut areas = Counted3::default();
        for k in 0..3 {
            let (a, b) = (d[(k + 1) % 3], d[(k + 2) % 3]);
            for i in 0..3 {
                let (j, l) = ((i + 1) % 3, (i + 2) % 3);
                areas[i][k] = (a[j] * b[l] - a[l] * b[j]) * Counted(-1.0 / 6.0);
            }
        }
        with_rest(product(&sigma, &areas))
    });
    assert_eq!((products, sums), (54, 42));
    for i in 0..3 {
        assert!((by_piola.1[i].0 - by_cauchy.1[i].0).abs() < 1e-13);
        for j in 0..3 {
            assert!((by_piola.0[i][j].0 - by_cauchy.0[i][j].0).abs() < 1e-13);
        }
    }
}

type Point = [f64; 2];

fn edge(a: Point, b: Point) -> Point {
    [b[0] - a[0], b[1] - a[1]]
}

/// Length times outward normal of the edge from a to b of a triangle in counterclockwise order.
fn normal(a: Point, b: Point) -> Point {
    let [x, y] = edge(a, b);
    [y, -x]
}

/// F of a triangle, its rest area, P of St. Venant–Kirchhoff in the plane with μ = 3, λ = 5, and its energy.
fn plane_stress(rest: [Point; 3], now: [Point; 3]) -> ([[f64; 2]; 2], f64, [[f64; 2]; 2], f64) {
    let (a, b) = (edge(rest[0], rest[1]), edge(rest[0], rest[2]));
    let (p, q) = (edge(now[0], now[1]), edge(now[0], now[2]));
    let det = a[0] * b[1] - a[1] * b[0];
    // F = D_s D_m⁻¹ with edges in columns.
    let inverse = [[b[1] / det, -b[0] / det], [-a[1] / det, a[0] / det]];
    let f: [[f64; 2]; 2] =
        std::array::from_fn(|i| std::array::from_fn(|j| p[i] * inverse[0][j] + q[i] * inverse[1][j]));
    let e: [[f64; 2]; 2] = std::array::from_fn(|i| {
        std::array::from_fn(|j| 0.5 * (f[0][i] * f[0][j] + f[1][i] * f[1][j] - f64::from(u8::from(i == j))))
    });
    let trace = e[0][0] + e[1][1];
    let s: [[f64; 2]; 2] =
        std::array::from_fn(|i| std::array::from_fn(|j| 6.0 * e[i][j] + if i == j { 5.0 * trace } else { 0.0 }));
    let piola = std::array::from_fn(|i| std::array::from_fn(|j| f[i][0] * s[0][j] + f[i][1] * s[1][j]));
    let energy: f64 = e.iter().flatten().map(|e| 3.0 * e * e).sum::<f64>() + 2.5 * trace * trace;
    (f, 0.5 * det, piola, 0.5 * det * energy)
}

/// TER-30: in the plane, half of the tractions of the two edges at a node, with σ or P, equals −∂E/∂x.
#[test]
fn edge_tractions_of_triangles_give_the_forces_of_finite_elements() {
    let mut noise = Noise(54);
    for _ in 0..50 {
        let rest: [Point; 3] =
            [[0.0, 0.0], [1.0, 0.1], [0.2, 0.9]].map(|p| [p[0] + 0.1 * noise.next(), p[1] + 0.1 * noise.next()]);
        let now = rest.map(|p| [p[0] + 0.6 * noise.next(), p[1] + 0.6 * noise.next()]);
        let (f, _, piola, _) = plane_stress(rest, now);
        let volume = f[0][0] * f[1][1] - f[0][1] * f[1][0];
        let sigma: [[f64; 2]; 2] =
            std::array::from_fn(|i| std::array::from_fn(|j| (piola[i][0] * f[j][0] + piola[i][1] * f[j][1]) / volume));
        for node in 0..3 {
            let (next, before) = ((node + 1) % 3, (node + 2) % 3);
            let half = |x: &[Point; 3], stress: &[[f64; 2]; 2]| -> Point {
                let (a, b) = (normal(x[node], x[next]), normal(x[before], x[node]));
                std::array::from_fn(|i| -0.5 * (stress[i][0] * (a[0] + b[0]) + stress[i][1] * (a[1] + b[1])))
            };
            let (cauchy, nominal) = (half(&now, &sigma), half(&rest, &piola));
            for axis in 0..2 {
                let h = 1e-6;
                let energy_at = |step: f64| {
                    let mut moved = now;
                    moved[node][axis] += step;
                    plane_stress(rest, moved).3
                };
                let force = -(energy_at(h) - energy_at(-h)) / (2.0 * h);
                // h² times the third derivative, and rounding of the energy over h.
                assert!((nominal[axis] - force).abs() < 1e-7, "{} {force}", nominal[axis]);
                assert!((cauchy[axis] - nominal[axis]).abs() < 1e-11 * (1.0 + 1.0 / volume.abs()));
            }
        }
    }
}
