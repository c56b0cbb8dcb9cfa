//! Shapes by polygons, outlines, scans and contours \[Chen92\].

use std::f64::consts::PI;
use std::path::Path;

use sinew_io::outline::scan::{self, Raster, ScanOptions};
use sinew_io::{MeshData, NoCompanions, image, load, osu, outline};
use sinew_math::Vec3;

fn corpus(name: &str) -> MeshData {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus").join(name)).unwrap()
}

/// Volume by the divergence theorem; an error unless the surface is closed.
fn volume(mesh: MeshData) -> f64 {
    let surface = mesh.into_surface(&Default::default()).unwrap().mesh;
    assert!(surface.is_closed());
    surface.volume()
}

#[track_caller]
fn told(text: &str, part: &str) {
    let found = outline::read(text.as_bytes(), &NoCompanions).unwrap_err().to_string();
    assert!(found.contains(part), "{found}");
}

#[test]
fn polygons_and_their_colors_are_read_and_written() {
    let cube = corpus("osu/hand-cube.osu");
    assert_eq!((cube.points.len(), cube.cell_count()), (8, 6));
    assert_eq!(cube.point_field("color").unwrap().values[..6], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert!((volume(cube.clone()) - 1.0).abs() < 1e-12);
    let files = osu::write(&cube).unwrap();
    assert_eq!(files.iter().map(|file| file.extension).collect::<Vec<_>>(), ["osu", "colors"]);
    for (text, part) in [
        ("3 1\n0 0 0\n1 0 0\n0 1 0\n3 1 2 4\n", "line 5: point 4"),
        ("3 1\n0 0 0\n1 0 0\n0 1 0\n2 1 2\n", "2 corners"),
        ("3 1\n0 0 nan\n", "line 2"),
        ("99 1\n", "99 promised"),
        ("0 0\n", "no polygons"),
    ] {
        let found = osu::read(text.as_bytes(), &NoCompanions).unwrap_err().to_string();
        assert!(found.contains(part), "{found}");
    }
}

/// ∫ π a b dz with half widths that are linear in z, times the area of a regular polygon over that of its circle.
#[test]
fn a_lathe_has_the_volume_of_its_profile() {
    let text = "lathe 24\n0 0.01 0.02\n0.05 0.02 0.03\n0.1 0.01 0.01\n";
    let mesh = outline::read(text.as_bytes(), &NoCompanions).unwrap();
    assert_eq!((mesh.points.len(), mesh.cell_count()), (72, 2 * 24 + 2));
    let part =
        |a: [f64; 2], b: [f64; 2]| 0.05 * (a[0] * b[0] / 3.0 + a[1] * b[1] / 3.0 + (a[0] * b[1] + a[1] * b[0]) / 6.0);
    let smooth = PI * (part([0.01, 0.02], [0.02, 0.03]) + part([0.02, 0.01], [0.03, 0.01]));
    let polygon = 24.0 / (2.0 * PI) * (2.0 * PI / 24.0).sin();
    // Quads are cut into triangles: where both widths change alike they are flat, else they bulge a little.
    assert!((volume(mesh) / (smooth * polygon) - 1.0).abs() < 0.01);
}

#[test]
fn prisms_and_skins_are_closed_and_point_outward() {
    // An L of 4 m² in both directions, 2 m high.
    for corners in ["0 0 2 0 2 1 1 1 1 3 0 3", "0 3 1 3 1 1 2 1 2 0 0 0"] {
        let mesh = outline::read(format!("extrude 2\n{corners}").as_bytes(), &NoCompanions).unwrap();
        assert!((volume(mesh) - 8.0).abs() < 1e-12);
    }
    assert!((volume(corpus("outline/hand-skin.outline")) - 1.0).abs() < 1e-12);
    told("lathe 2\n0 1 1\n1 1 1\n", "2 corners around");
    told("lathe 8\n0 1 1\n0 1 1\n", "heights rise");
    told("lathe 8\n0 1 0\n1 1 1\n", "line 2: half widths");
    told("extrude 0\n", "height");
    told("extrude 1\n0 0\n1 1\n", "third corner");
    told("skin\nsection\n0 0 0\n1 0 0\n0 1 0\nsection\n0 0 1\n1 0 1\n", "3 promised, 2 found");
    told("skin\n0 0 0\n", "`section`");
    told("twist 3\n", "none of lathe");
    told("scan a.png\n", "a.png");
}

/// The counts of the document: 64 × 32 pixels give 1984 quads, 128 × 64 give 8064. A constant distance is a cylinder.
#[test]
fn a_scan_becomes_quads_without_a_seam() {
    for (width, height, quads) in [(64, 32, 1984), (128, 64, 8064)] {
        let range = Raster { width, height, channels: 1, values: vec![255.0; width * height] };
        let mesh = scan::mesh(&range, None, 1.0);
        assert_eq!((mesh.points.len(), mesh.cell_count()), (width * height, quads));
        assert!(mesh.points[0].distance(Vec3::new(0.0, 1.0, 1.0)) < 1e-12);
        let surface = mesh.into_surface(&Default::default()).unwrap().mesh;
        // Two circles of edges are open, and nothing else.
        assert_eq!(surface.boundary_edges().len(), 2 * width);
        let side = width as f64 * 2.0 * (PI / width as f64).sin() * 2.0;
        assert!((surface.area() - side).abs() < 1e-9);
        let outward = surface.normals(surface.positions());
        assert!(surface.positions().iter().zip(outward).all(|(p, n)| Vec3::new(p.x, p.y, 0.0).dot(n) > 0.9));
    }
}

/// Pixels are brought together before polygons are made: (byte / 255)^(1/γ) of the colors.
#[test]
fn scans_are_made_coarser_in_the_image() {
    let png = |color, pixels: &[u8]| {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 8, 4);
        encoder.set_color(color);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
        out
    };
    let range: Vec<u8> = (0..32).map(|n| if n % 2 == 0 { 100 } else { 200 }).collect();
    let colors: Vec<u8> = (0..96).map(|n| if n % 3 == 0 { 64 } else { 0 }).collect();
    let (range, colors) = (png(png::ColorType::Grayscale, &range), png(png::ColorType::Rgb, &colors));
    let mesh = scan::read(&range, Some(&colors), &ScanOptions { gamma: 2.0, downsample: 2 }).unwrap();
    assert_eq!((mesh.points.len(), mesh.cell_count()), (8, 4));
    assert!(mesh.points.iter().all(|p| (Vec3::new(p.x, p.y, 0.0).norm() - 150.0 / 255.0).abs() < 1e-12));
    let red = mesh.point_field("color").unwrap().values[0];
    assert!((red - (64.0f64 / 255.0).sqrt()).abs() < 1e-12);
    assert!(scan::read(&colors, None, &ScanOptions::default()).unwrap_err().to_string().contains("gray"));
}

/// A tube of 10 × 10 mm around a hole of 6 × 6 mm with a rod of 2 × 2 mm: areas by counting pixels of 0.25 mm².
#[test]
fn contours_are_filled_with_their_holes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-io/tests/corpus/image/contours/hand-tube.contours");
    let image = image::load(&path).unwrap();
    assert!(image.spacing().distance(Vec3::new(0.5e-3, 0.5e-3, 2e-3)) < 1e-12);
    let counts = image.label_counts();
    let area = |name: &str| counts[&image.table.find(name).unwrap()] as f64 / 3.0 * 0.25;
    // Edges lie between centers of pixels: areas are exact.
    assert!((area("wall") - 64.0).abs() < 1e-9 && (area("rod") - 4.0).abs() < 1e-9, "{} {}", area("wall"), area("rod"));
    for (text, part) in [
        ("contours furlong\n", "furlong"),
        ("contours mm\ncontour a 0\n", "no spacing"),
        ("contours mm\nvoxel 1\ncontour a 0\n0 0\n1 1\n", "2 corners"),
        ("contours mm\nvoxel 1\ncontour a 0\n0 0\n1 0\n0 1\n", "one slice"),
        ("contours mm\nvoxel 1\n0 0\n", "in front of corners"),
        ("contours mm\nvoxel 1e-6\ncontour a 0 0 0 9e9 0 0 9e9 contour a 1 0 0 1 0 0 1", "at most 4096"),
    ] {
        let found = image::contours::read(text.as_bytes()).unwrap_err().to_string();
        assert!(found.contains(part), "{found}");
    }
    let gap = "contours mm voxel 1 contour a 0 0 0 1 0 0 1 contour a 1 0 0 1 0 0 1 contour a 3 0 0 1 0 0 1";
    let found = image::contours::read(gap.as_bytes()).unwrap_err().to_string();
    assert!(found.contains("slice 2") && found.contains("gap"), "{found}");
}
