//! Meshes at sharp edges: the boundary near the surface, the surface near the boundary.

use sinew_geometry::TriMesh;
use sinew_geometry::mesh::NearestPlaces;
use sinew_math::Vec3;

use super::compress::{CompressOptions, mesh_compressed};
use super::*;

/// Largest distance of points from a surface, in cells.
fn farthest(points: impl Iterator<Item = Vec3>, surface: &TriMesh, cell: f64) -> f64 {
    let places = NearestPlaces::new(surface);
    points.map(|p| places.to(p).unwrap().position.distance(p) / cell).fold(0.0, f64::max)
}

/// The sheets of a gyroid end at a ball in edges down to 50°. Faces across them were 0.53 cells off, and the rims 1.27 cells
/// beyond the boundary.
#[test]
fn faces_do_not_cut_off_sharp_edges() {
    let solid = shapes::trial(3);
    let cell = solid.bounds.size().max_component() / 24.0;
    let surface = isosurface(&solid, 0.25 * cell).unwrap();
    let plain = MeshOptions { improve: false, ..MeshOptions::new(cell) };
    let made = [
        (11.82, mesh_solid(&solid, &plain).unwrap()),
        (20.0, mesh_solid(&solid, &MeshOptions::new(cell)).unwrap()),
        (20.0, mesh_compressed(&solid, &CompressOptions::new(cell)).unwrap()),
    ];
    for (least, made) in made {
        assert!(made.report.sharpened_nodes > 0);
        assert!(made.report.min_dihedral.to_degrees() >= least && made.report.max_dihedral.to_degrees() <= 161.2);
        let (boundary, _) = made.mesh.boundary_surface().unwrap();
        assert!(boundary.topology().is_closed());
        let off = farthest(boundary.samples(0.4 * cell).into_iter().map(|(p, _)| p), &surface, cell);
        let missed = farthest(surface.positions().iter().copied(), &boundary, cell);
        assert!(off < 0.5 && missed < 0.8, "{off} {missed}");
    }
}

/// Where nothing is far, no node moves.
#[test]
fn smooth_surfaces_are_left_alone() {
    let ball = shapes::ball(Vec3::splat(0.013), 0.4);
    assert_eq!(mesh_solid(&ball, &MeshOptions::new(0.05)).unwrap().report.sharpened_nodes, 0);
    assert_eq!(mesh_compressed(&ball, &CompressOptions::new(0.05)).unwrap().report.sharpened_nodes, 0);
}
