//! Shapes through the whole of the mesher.

use std::time::Instant;

use sinew_math::Vec3;

use super::*;
use crate::mesher::shapes::{Formula, ball, blobs, capsule, gyroid, noisy, random_field, torus};

#[test]
fn measure() {
    let c = Vec3::new(0.013, 0.021, -0.017);
    let shapes: Vec<Formula> = vec![
        ball(c, 0.4),
        torus(c, 0.3, 0.12),
        capsule(c - Vec3::new(0.2, 0.1, 0.05), c + Vec3::new(0.2, 0.15, 0.1), 0.15),
        gyroid(c, 0.45, 2.0),
        blobs(4, 8),
        noisy(6, 0.02),
        random_field(7, 15.0),
        random_field(8, 40.0),
        random_field(9, 120.0),
    ];
    let n: f64 = std::env::var("N").map_or(20.0, |n| n.parse().unwrap());
    for solid in &shapes {
        let cell = 1.0 / n;
        let start = Instant::now();
        let made = match mesh_compressed(solid, &CompressOptions::new(cell)) {
            Ok(made) => made,
            Err(error) => {
                println!("{} {error}", solid.name);
                continue;
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let boundary = made.mesh.boundary_nodes();
        let off: Vec<f64> = boundary
            .iter()
            .map(|n| {
                let x = made.mesh.positions()[*n as usize];
                solid.distance(x).abs() / cell / solid.gradient(x, 0.01 * cell).norm()
            })
            .filter(|d| *d > 0.01)
            .collect();
        println!(
            "{} {n}: {} tets {seconds:.3} s {:.2} M/s, {:.2}-{:.2} deg, off {} of {} worst {:.3}, sep {} dropped {} closed {} moved {}",
            solid.name,
            made.mesh.cell_count(),
            made.mesh.cell_count() as f64 / seconds * 1e-6,
            made.report.min_dihedral.to_degrees(),
            made.report.max_dihedral.to_degrees(),
            off.len(),
            boundary.len(),
            off.iter().copied().fold(0.0, f64::max),
            made.report.separated_nodes,
            made.report.dropped_cells,
            made.mesh.boundary_surface().unwrap().0.is_closed(),
            made.report.moved_nodes,
        );
    }
}
