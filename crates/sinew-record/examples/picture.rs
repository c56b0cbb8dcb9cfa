//! Draws a still life with the software rasterizer:
//! `cargo run --release -p sinew-record --example picture -- still_life.png`.

use std::path::PathBuf;

use sinew_raster::{
    Background, Bounds, Camera, ColorMap, Finish, FitParams, Legend, Paint, Renderer, Rgb, ShapeMesh, Surface, UpAxis,
    View,
};
use sinew_record::record::write_png;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).map_or_else(|| PathBuf::from("still_life.png"), PathBuf::from);
    // A ring leans on the floor, a ball shows a field, a bar is an obstacle.
    let (sin, cos) = 0.66f32.sin_cos();
    let ring =
        ShapeMesh::torus(0.35, 0.14, 96, 48).mapped(|[x, y, z]| [x, cos * y - sin * z, sin * y + cos * z + 0.42]);
    let ball = ShapeMesh::sphere([0.75, -0.25, 0.25], 0.25, 32);
    let bar = ShapeMesh::capsule([-0.5, -0.65, 0.08], [0.1, -0.75, 0.08], 0.08, 20);
    let height_cm: Vec<f32> = ball.positions.iter().map(|p| 100.0 * p[2]).collect();
    let field = Paint::VertexField { values: &height_cm, min: 0.0, max: 50.0, map: ColorMap::Sequential };
    let surfaces = vec![
        Surface::solid(&ring.positions, &ring.triangles, Rgb::of_body(0), Finish::FLESH),
        Surface {
            paint: field,
            finish: Finish::CHART,
            ..Surface::solid(&ball.positions, &ball.triangles, Rgb::of_body(1), Finish::CHART)
        },
        Surface::solid(&bar.positions, &bar.triangles, Rgb([0.62, 0.64, 0.67]), Finish::MATTE),
    ];
    let mut stage = Bounds::default();
    surfaces.iter().for_each(|surface| stage.union(&Bounds::of(surface.positions)));
    let renderer = Renderer::new(960, 540);
    let image = renderer.render(&View {
        camera: Camera::fit(&stage, UpAxis::Z, renderer.aspect(), &FitParams::default()),
        up: UpAxis::Z,
        ground: Some(0.0),
        stage,
        surfaces,
        title: Some("Still life"),
        caption: None,
        background: Background::Studio,
        legend: Some(Legend { label: "height [cm]", min: 0.0, max: 50.0, map: ColorMap::Sequential }),
    });
    write_png(&path, &image)?;
    println!("{}", path.display());
    Ok(())
}
