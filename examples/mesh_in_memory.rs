//! A mesh that exists in memory only: made here, attached to a scene, simulated.

use sinew::geometry::CellMesh;
use sinew::io::MeshData;
use sinew::prelude::*;
use sinew::scene::build::{Axis, SceneBuilder, at_most};
use sinew::scene::spec::{material::Material, mesh::Mesh};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A tower of tetrahedra on a triangle.
    let levels = 6;
    let corner = |level: usize, k: usize| {
        let (angle, height) = (f64::from(k as u32) * 2.0 * std::f64::consts::PI / 3.0, 0.03 * level as f64);
        Vec3::new(0.04 * angle.cos(), 0.04 * angle.sin(), height)
    };
    let points: Vec<Vec3> = (0..=levels).flat_map(|level| (0..3).map(move |k| corner(level, k))).collect();
    let cells: Vec<[u32; 4]> = (0..levels as u32)
        .flat_map(|level| {
            let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|k| 3 * level + k);
            [[a, b, c, d], [b, c, d, e], [c, d, e, f]]
        })
        .collect();
    let (mesh, _) = CellMesh::from_tets(points, &cells)?;
    let mut scene = SceneBuilder::new("A tower leans", 0.3);
    let file = scene.attach_mesh("tower", MeshData::from(&mesh));
    let tower = scene.body("tower", Mesh::file(file), Material::stable_neo_hookean(100e3, 0.4));
    scene[tower].velocity = [0.2, 0.0, 0.0];
    scene.pin(tower, "z-min");
    let top = scene.probe("top", tower, "z-max");
    scene.expect(top.displacement(Axis::Z), at_most(0.0));
    let outcome = run(&scene.build()?, &RunOptions::default(), &mut ())?;
    println!("{} cells, {} frames", mesh.cell_count(), outcome.frames);
    if outcome.passed() { Ok(()) } else { Err("an expectation failed".into()) }
}
