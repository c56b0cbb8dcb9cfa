//! Sweeps over the boundary band.

use sinew_geometry::lattice::HexLattice;
use sinew_math::Vec3;

use super::*;
use crate::pass::{Pass, Slabs};
use crate::{Method, Multigrid, MultigridParams, TangentKind};

fn with_band(band_sweeps: usize) -> MultigridParams {
    MultigridParams { band_sweeps, ..MultigridParams::default() }
}

/// A block with a hole, two blocks wide, and a lattice with seams.
fn bodies() -> [HexLattice; 2] {
    [carved([40, 13, 14], |[x, y, z]| !((30..36).contains(&x) && y == 6 && z == 6)), fingers()]
}

/// A sweep over the band's blocks equals a sweep over all blocks with the band's D⁻¹, bit for bit, on any number of
/// threads.
#[test]
fn a_band_is_swept_as_a_part_of_the_whole() {
    for (cells, threads) in bodies().iter().flat_map(|cells| [(cells, 1), (cells, 3)]) {
        let mut noise = Noise(4);
        let (lame, u, b) = random_problem(cells, &mut noise);
        let fixed = fixed_end(cells, 0);
        let mut system =
            Multigrid::new(cells, &lame, &fixed, MultigridParams { threads, volume: VolumeLaw::Trace, ..with_band(1) })
                .unwrap();
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        system.set_right_side(&b);
        system.cycle();
        let params = system.params;
        let level = &mut system.levels[0];
        // Far enough from the solution that no step vanishes in rounding.
        level.x.iter_mut().for_each(|x| *x *= 0.5);
        let before = level.x.clone();
        level.smooth_band(&params);
        let swept = level.x.clone();
        // The same with the kernel of the whole level.
        level.x.copy_from_slice(&before);
        let moved: Vec<bool> = swept.iter().zip(&*before).map(|(a, b)| a != b).collect();
        let around = |place: &[u32; 3]| {
            let far = |node: &&[u32; 3]| (0..3).all(|axis| node[axis].abs_diff(place[axis]) <= 1);
            cells.node_places.iter().filter(far).count()
        };
        // Nodes two cells from every boundary do not move; boundary nodes do.
        let mut values = vec![[false; 3]; fixed.len()];
        level.layout.collect(&moved, &mut values, |out, moved| *out = moved);
        for (node, place) in cells.node_places.iter().enumerate().step_by(5) {
            if around(place) < 27 && !fixed[node][0] {
                assert_eq!(values[node], [true; 3], "{place:?}");
            }
        }
        let count = values.iter().filter(|moved| moved[0]).count();
        assert!(count > 0 && (level.layout.seams().count() > 0 || count < 3 * values.len() / 4), "{count}");
        level.inverse.iter_mut().zip(&moved).for_each(|(inverse, &moved)| *inverse *= f32::from(u8::from(moved)));
        level.slabs = Slabs::new(&level.layout, 1);
        let c = 4.0 / (3.0 * level.largest());
        level.pass(params.modes, |b, inverse, out| Pass::Smooth { b, inverse, out, a: 0.0, c });
        assert!(*level.x == *swept, "{threads} threads");
    }
}

#[test]
fn cycles_with_bands_are_symmetric_and_positive() {
    for cells in bodies() {
        let mut noise = Noise(5);
        let (lame, u, _) = random_problem(&cells, &mut noise);
        let fixed = fixed_end(&cells, 0);
        let mut system = Multigrid::new(&cells, &lame, &fixed, with_band(3)).unwrap();
        system.linearize(&u, TangentKind::Definite, 1.0).unwrap();
        let mut vector =
            || -> Vec<Vec3> { fixed.iter().map(|f| if f[0] { Vec3::zero() } else { noise.vector() }).collect() };
        let r = [vector(), vector()];
        let z = [0, 1].map(|k: usize| {
            let mut z = narrow(&vec![Vec3::zero(); fixed.len()]);
            system.precondition(&narrow(&r[k]), &mut z);
            widen(&z)
        });
        let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let (a, b, size) = (dot(&r[0], &z[1]), dot(&r[1], &z[0]), dot(&r[0], &z[0]));
        assert!(size > 0.0 && (a - b).abs() < 1e-5 * size, "{a} {b} of {size}");
    }
}

/// Bands help thin flesh: a flap one cell thick takes a quarter fewer iterations.
#[test]
fn bands_help_thin_flesh() {
    let flap = carved([24, 16, 16], |[x, y, z]| x < 16 || (z == 8 && (3..13).contains(&y)));
    let fixed = fixed_end(&flap, 0);
    let iterations = |params: MultigridParams| {
        let mut system = Multigrid::new(&flap, &material(&flap), &fixed, params).unwrap();
        let mut noise = Noise(3);
        let b: Vec<Vec3> = fixed.iter().map(|f| if f[0] { Vec3::zero() } else { noise.vector() }).collect();
        system.solve(Method::MultigridCg, &b, &mut vec![Vec3::zero(); b.len()], 1e-6, 100).iterations
    };
    let (without, with) = (iterations(with_band(0)), iterations(with_band(8)));
    assert!(4 * with <= 3 * without, "{with} and {without}");
    let printed = |band_sweeps| iterations(MultigridParams { band_sweeps, ..MultigridParams::paper() });
    assert!(printed(8) <= printed(0));
}
