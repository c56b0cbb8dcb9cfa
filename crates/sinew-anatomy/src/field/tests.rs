//! Fields against closed forms: balls, planes, orders of accuracy, threads.

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use super::*;
use crate::primitives::{Cuboid, Ellipsoid};
use crate::{Labels, Solid};

/// Labels of a ball, radius and center in voxels.
fn ball_labels(size: usize, radius: f64, center: Vec3) -> Vec<u16> {
    let at = |i: usize| Vec3::from([i % size, i / size % size, i / size / size].map(|c| c as f64));
    (0..size.pow(3)).map(|i| u16::from((at(i) - center).norm_squared() < radius * radius)).collect()
}

fn cubic(size: usize) -> VoxelGrid {
    VoxelGrid::cubic([size; 3], Vec3::zero(), 1.0)
}

fn ball_field(radius: f64, options: &LabelOptions) -> (DistanceField, Vec3) {
    let size = (2.0 * radius) as usize + 14;
    // No symmetry between the center and the voxels.
    let center = Vec3::splat(0.5 * size as f64) + Vec3::new(0.13, -0.27, 0.41);
    let voxels = ball_labels(size, radius, center);
    (DistanceField::from_labels(&Labels { grid: cubic(size), voxels: &voxels }, &[1], options).unwrap(), center)
}

/// Root mean square and largest error \[voxels\] within three voxels of a ball's surface.
fn ball_errors(field: &DistanceField, radius: f64, center: Vec3) -> (f64, f64) {
    let (mut sum, mut count, mut worst) = (0.0, 0.0, 0.0f64);
    for (voxel, value) in field.voxels() {
        let exact = (field.grid().position(voxel) - center).norm() - radius * field.voxel();
        if exact.abs() < 3.0 * field.voxel() {
            let error = (value - exact) / field.voxel();
            sum += error * error;
            count += 1.0;
            worst = worst.max(error.abs());
        }
    }
    ((sum / count).sqrt(), worst)
}

#[test]
fn labelled_balls_have_their_distances() {
    // What the requirement says; here it is 0.07 and 0.36.
    for (radius, limit) in [(6.0, 0.14), (12.0, 0.10), (20.0, 0.10)] {
        let (field, center) = ball_field(radius, &LabelOptions::default());
        let (rms, max) = ball_errors(&field, radius, center);
        assert!(rms < limit && max < 0.5, "{radius}: {rms} {max}");
    }
    let options = LabelOptions { seeds: Seeds::HalfCell, ..LabelOptions::default() };
    let (field, center) = ball_field(12.0, &options);
    let (rms, _) = ball_errors(&field, 12.0, center);
    // Half a voxel, evenly distributed, is 0.29; several axes and the march average it.
    assert!((0.1..0.2).contains(&rms), "{rms}");
}

fn ball(radius: f64) -> Ellipsoid {
    Ellipsoid { center: Vec3::new(0.13, -0.27, 0.41), axes: Mat3::identity(), radii: Vec3::splat(radius) }
}

/// |∇φ| = 1, by central differences, in the whole band.
#[test]
fn gradients_are_units_around_a_box() {
    let a = Vec3::new(1.0, 2.0, 2.0) / 3.0;
    let b = Vec3::new(2.0, 1.0, -2.0) / 3.0;
    let axes = Mat3::from_columns(a, b, a.cross(b));
    let body = Cuboid { center: Vec3::zero(), axes, half: Vec3::new(11.0, 14.0, 12.0) };
    let field = DistanceField::from_solid(&body, 1.0).unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    for (voxel, value) in field.voxels().filter(|(_, v)| v.abs() < 2.5) {
        let p = field.grid().position(voxel);
        let q = axes.transpose_mul_vec(p).abs();
        // Away from edges, where the gradient jumps.
        if (0..3).filter(|i| q[*i] > body.half[*i] - 7.0).count() == 1 {
            let g = Solid::gradient(&field, p, 1.0).norm();
            assert!((g - 1.0).abs() < 0.02, "{voxel:?} {value}: {g}");
            assert!((value - body.distance(p)).abs() < 0.01);
            (sum, count) = (sum + g, count + 1.0f64);
        }
    }
    assert!(count > 1000.0 && (sum / count - 1.0f64).abs() < 1e-3);
}

/// Largest error of redistancing (r² − R²)/2R around a ball of R voxels, over R.
fn redistancing_error(radius: f64, order: Order) -> f64 {
    let body = ball(radius);
    let field = DistanceField::from_solid(&body, 1.0).unwrap();
    let level = |v: [i32; 3]| (field.grid().position(v) - body.center).norm_squared() / (2.0 * radius) - 0.5 * radius;
    let mut warped = field.mapped(|v, _| level(v) as f32);
    warped.redistance_with(&FieldOptions { order, ..FieldOptions::default() });
    let error = |(v, value): ([i32; 3], f64)| (value - body.distance(field.grid().position(v))).abs() / radius;
    warped.voxels().filter(|(_, value)| value.abs() < 3.0).map(error).fold(0.0, f64::max)
}

#[test]
fn redistancing_converges_at_least_at_first_order() {
    for (order, least) in [(Order::First, 1.0), (Order::Second, 1.5)] {
        let (coarse, fine) = (redistancing_error(8.0, order), redistancing_error(32.0, order));
        let measured = (coarse / fine).ln() / 4f64.ln();
        assert!(measured > least, "{order:?}: {measured}, {coarse} {fine}");
    }
}

/// Both solve the same differences of first order; single precision tells them apart.
#[test]
fn marching_and_sweeping_agree() {
    let first = FieldOptions { order: Order::First, ..FieldOptions::default() };
    let sweep = FieldOptions { solver: Solver::Sweep, ..first };
    let axes = Mat3::identity();
    let rod = Cuboid { center: Vec3::zero(), axes, half: Vec3::new(30.0, 3.0, 1.0) };
    for body in [
        &ball(11.0) as &dyn Solid,
        &rod,
        &csg::Combined { first: &ball(9.0), second: &rod, operation: csg::Operation::Union },
    ] {
        let a = DistanceField::from_solid_with(body, 1.0, &first).unwrap();
        let b = DistanceField::from_solid_with(body, 1.0, &sweep).unwrap();
        assert_eq!(a.directory, b.directory);
        for ((voxel, a), (_, b)) in a.voxels().zip(b.voxels()) {
            assert!((a - b).abs() < 1e-5, "{voxel:?}: {a} {b}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let all = || {
        let (field, _) = ball_field(9.3, &LabelOptions::default());
        let surface = sinew_geometry::procedural::icosphere(7.0, 6).unwrap();
        let surface = DistanceField::from_surface(&surface, 1.0, &FieldOptions::default()).unwrap();
        let sweep = FieldOptions { solver: Solver::Sweep, ..FieldOptions::default() };
        let swept = DistanceField::from_solid_with(&ball(8.0), 1.0, &sweep).unwrap();
        let mut smooth = [field.clone()];
        smooth_together(&mut smooth, &SmoothOptions::default()).unwrap();
        let [smooth] = smooth;
        [field, surface, swept, smooth]
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, many) = (pool(1).install(all), pool(5).install(all));
    for (one, many) in one.iter().zip(&many) {
        let bits = |field: &DistanceField| field.bricks.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(one), bits(many));
        assert_eq!(one, many);
    }
}

#[test]
fn combined_bodies_obey_the_laws_of_sets() {
    use csg::Operation::{Difference, Intersection, Union};
    let (a, b) = (ball(8.0), Cuboid { center: Vec3::splat(5.0), axes: Mat3::identity(), half: Vec3::splat(6.3) });
    let field = |body: &dyn Solid| DistanceField::from_solid(body, 1.0).unwrap();
    let combined = |operation, other: &dyn Solid| {
        let mut out = field(&a);
        out.combine(operation, other).unwrap();
        out
    };
    let [union, both, only] = [Union, Intersection, Difference].map(|operation| combined(operation, &b));
    // |A ∪ B| + |A ∩ B| = |A| + |B| and |A \ B| + |A ∩ B| = |A|, to the rounding of edges by voxels.
    let (va, vb) = (field(&a).volume(), field(&b).volume());
    assert!(((union.volume() + both.volume()) / (va + vb) - 1.0).abs() < 5e-3);
    assert!(((only.volume() + both.volume()) / va - 1.0).abs() < 5e-3);
    // Signs are those of the formulas at every voxel.
    for (voxel, value) in union.voxels().chain(both.voxels()) {
        let p = union.grid().position(voxel);
        let (a, b) = (a.distance(p), b.distance(p));
        // Rounding to single precision may move a zero.
        if a.abs() > 1e-4 && b.abs() > 1e-4 {
            assert_eq!(union.value(voxel) < 0.0, a < 0.0 || b < 0.0);
            assert_eq!(both.value(voxel) < 0.0, a < 0.0 && b < 0.0);
            assert_eq!(only.value(voxel) < 0.0, a < 0.0 && b >= 0.0, "{voxel:?} {value}");
        }
    }
    // A field as the other body, itself included.
    let own = field(&a);
    assert!((combined(Union, &own).volume() / va - 1.0).abs() < 1e-3);
    assert!(combined(Difference, &own).volume() < 1e-3 * va);
    let apart = Cuboid { center: Vec3::splat(50.0), ..b };
    assert!(combined(Intersection, &apart).is_empty());
    assert!((combined(Union, &apart).volume() / (va + vb) - 1.0).abs() < 5e-3);
}

/// The same ball in images with mirrored, permuted, rotated and flat voxels.
#[test]
fn images_of_all_orientations_give_the_same_ball() {
    let h = 1e-3;
    let center = Vec3::new(0.0102, 0.0117, 0.0096);
    let (a, b) = (Vec3::new(0.8, 0.6, 0.0), Vec3::new(-0.6, 0.8, 0.0));
    let unit = |axis: usize| Vec3::unit(axis);
    let cases = [
        (Mat3::from_columns(unit(0) * -h, unit(1) * -h, unit(2) * h), true, 0.012),
        (Mat3::from_columns(unit(2) * h, unit(0) * h, unit(1) * -h), true, 0.012),
        (Mat3::from_columns(a * h, b * h, unit(2) * -h), false, 0.02),
        (Mat3::from_columns(unit(0) * h, unit(1) * h, unit(2) * 3.0 * h), false, 0.03),
    ];
    for (axes, is_exact, tolerance) in cases {
        let size = [26, 28, 30];
        let middle = axes * Vec3::from(size.map(|n| 0.5 * n as f64));
        let grid = VoxelGrid { size, origin: center - middle, axes };
        let voxels: Vec<u16> = (0..grid.len())
            .map(|i| Vec3::from([i % 26, i / 26 % 28, i / 728].map(|c| c as f64)))
            .map(|v| 7 * u16::from((grid.to_world(v) - center).norm() < 9.3 * h))
            .collect();
        let field =
            DistanceField::from_labels(&Labels { grid, voxels: &voxels }, &[7], &LabelOptions::default()).unwrap();
        let exact = 4.0 / 3.0 * std::f64::consts::PI * (9.3 * h).powi(3);
        assert!((field.volume() / exact - 1.0).abs() < tolerance, "{axes:?}: {}", field.volume() / exact);
        let (rms, max) = ball_errors(&field, 9.3, center);
        // Signs are those of the nearest voxel, whose slices are up to three voxels thick.
        let slice = axes.column(2).norm() / h + 0.3;
        let limits = if is_exact { (0.1, 0.5) } else { (0.15 * slice, 1.0 * slice) };
        assert!(rms < limits.0 && max < limits.1, "{axes:?}: {rms} {max}");
        for i in 0..if is_exact { voxels.len() } else { 0 } {
            let p = grid.to_world(Vec3::from([i % 26, i / 26 % 28, i / 728].map(|c| c as f64)));
            assert_eq!(field.value(field.grid().nearest(p)) < 0.0, voxels[i] == 7);
        }
    }
}

#[test]
fn tissues_at_the_border_of_the_image_are_closed() {
    let voxels = vec![3; 12 * 12 * 12];
    let field = DistanceField::from_labels(&Labels { grid: cubic(12), voxels: &voxels }, &[3], &Default::default());
    let field = field.unwrap();
    assert!((field.volume() / 1728.0 - 1.0).abs() < 0.05, "{}", field.volume());
    assert!(field.distance(Vec3::new(-1.0, 6.0, 6.0)) > 0.3 && field.distance(Vec3::new(0.0, 6.0, 6.0)) < -0.3);
    assert!(field.distance(Vec3::splat(40.0)) > 4.0 && field.bounds().min.x < -0.5);
}

/// Sheets, lines and single voxels of random labels: every voxel keeps its sign.
#[test]
fn every_voxel_keeps_its_sign() {
    let mut state = 9u64;
    let voxels: Vec<u16> = (0..20usize.pow(3))
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 61) as u16 % 4
        })
        .collect();
    let labels = Labels { grid: cubic(20), voxels: &voxels };
    for seeds in [Seeds::Blurred, Seeds::HalfCell] {
        let options = LabelOptions { seeds, ..LabelOptions::default() };
        let fields = fields_from_labels(&labels, &[&[1], &[2, 3], &[99]], &options).unwrap();
        for (i, label) in voxels.iter().enumerate() {
            let voxel = [i % 20, i / 20 % 20, i / 400].map(|c| c as i32);
            assert_eq!(fields[0].as_ref().unwrap().value(voxel) < 0.0, *label == 1);
            assert_eq!(fields[1].as_ref().unwrap().value(voxel) < 0.0, *label >= 2);
        }
        assert_eq!(fields[2], Err(FieldError::NoVoxels { labels: vec![99] }));
    }
}

#[test]
fn contradictory_images_are_errors() {
    let voxels = vec![1; 8];
    let field =
        |grid, options: &LabelOptions| DistanceField::from_labels(&Labels { grid, voxels: &voxels }, &[1], options);
    let good = LabelOptions::default();
    assert!(matches!(field(cubic(3), &good), Err(FieldError::WrongCount { found: 8, expected: 27 })));
    let flat = VoxelGrid { axes: Mat3::from_columns(Vec3::unit(0), Vec3::unit(0), Vec3::unit(1)), ..cubic(2) };
    assert!(matches!(field(flat, &good), Err(FieldError::FlatAxes { .. })));
    let nan = VoxelGrid { axes: Mat3::identity() * f64::NAN, ..cubic(2) };
    assert!(matches!(field(nan, &good), Err(FieldError::FlatAxes { .. })));
    let none = DistanceField::from_labels(&Labels { grid: cubic(2), voxels: &voxels }, &[], &good);
    assert!(matches!(none, Err(FieldError::NoVoxels { .. })));
    let background = DistanceField::from_labels(&Labels { grid: cubic(2), voxels: &[0; 8] }, &[0], &good);
    assert!(matches!(background, Err(FieldError::NoVoxels { .. })));
    assert!(matches!(field(cubic(2), &LabelOptions { voxel: Some(-1.0), ..good }), Err(FieldError::BadVoxel { .. })));
    let tiny = LabelOptions { voxel: Some(1e-7), ..good };
    assert!(matches!(field(cubic(2), &tiny), Err(FieldError::TooLarge { .. })));
    let empty = Labels { grid: cubic(0), voxels: &[] };
    assert!(matches!(DistanceField::from_labels(&empty, &[1], &good), Err(FieldError::NoVoxels { .. })));
}
