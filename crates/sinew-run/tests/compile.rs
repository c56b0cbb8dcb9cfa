//! Scenes that must compile: those of templates, and some that no other test covers.

use sinew_geometry::procedural::{TetPattern, box_tets, icosphere};
use sinew_io::{MeshData, WriteOptions, save};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::Scene;
use sinew_scene::template::{MeshFacts, Template, TemplateParams, Tissue, scene_text};

/// Every template, in every tissue, at sizes from a tongue to an elephant, is a valid scene with a body of that size.
#[test]
fn every_template_compiles() {
    // The others need a file beside the scene: `tests/cli_new.rs` runs them.
    let is_alone = |template: &Template| !matches!(template, Template::Mesh | Template::Character);
    for template in Template::all().filter(is_alone) {
        for (tissue, size) in Tissue::names().zip([0.02, 0.1, 0.2, 0.333, 1.0, 0.05, 0.2, 3.0]) {
            let usual = TemplateParams::usual(template);
            let params = TemplateParams { size, tissue: Tissue::parse(tissue).unwrap(), ..usual };
            let text = scene_text(template, &params, "new.toml");
            let scene = Scene::from_str(&text, "new.toml", ".").unwrap_or_else(|error| panic!("{text}\n{error}"));
            if tissue == "flesh" || tissue == "rubber" {
                let simulation = compile(&scene).unwrap_or_else(|error| panic!("{text}\n{error}"));
                let body = &simulation.model().bodies[0].mesh;
                assert!((body.bounds().size().max_component() / size - 1.0).abs() < 0.02, "{}", template.name());
                assert!(body.cell_count() < 20_000, "{}: {} cells", template.name(), body.cell_count());
            }
        }
    }
}

/// A scene for a mesh in a folder compiles at a plausible size for flesh, for any unit of the file.
#[test]
fn scenes_for_meshes_compile_at_a_plausible_size() {
    let folder = std::env::temp_dir().join(format!("sinew-test-template-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let volume = box_tets(Vec3::new(0.2, 0.1, 0.1), [4, 2, 2], TetPattern::Kuhn).unwrap();
    let volume = volume.with_node_set("left \"end\"", vec![0, 1]).unwrap();
    let volume = volume.clone().with_cell_labels((0..volume.cell_count() as u32).map(|c| c % 2 + 1).collect()).unwrap();
    let surface = icosphere(0.1, 4).unwrap();
    for (file, data) in [("my mesh.vtu", MeshData::from(&volume)), ("ball.obj", MeshData::from(&surface))] {
        for scale in [1.0, 1000.0] {
            let mut data = data.clone();
            data.points.iter_mut().for_each(|p| *p *= scale);
            for (path, bytes) in save(&data, &folder.join(file), &WriteOptions::default()).unwrap() {
                std::fs::write(path, bytes).unwrap();
            }
            let read = sinew_io::load(&folder.join(file)).unwrap();
            let facts = MeshFacts::look(read, file, file, None).unwrap();
            assert_eq!(facts.scale, 1.0 / scale);
            let params = TemplateParams { mesh: Some(facts), ..TemplateParams::usual(Template::Mesh) };
            let text = scene_text(Template::Mesh, &params, "new.toml");
            let scene = Scene::from_str(&text, "new.toml", &folder).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let simulation = compile(&scene).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let size = simulation.model().bodies[0].mesh.bounds().size().max_component();
            assert!((0.19..0.3).contains(&size), "{size}\n{text}");
            if file.ends_with("vtu") {
                assert!(text.contains("label = 2"), "{text}");
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn fibers_in_circles_compile() {
    let scene = r#"duration = "1 s"
[[body]]
name = "flesh"
mesh = { from = "box", size = ["40 cm", "10 cm", "10 cm"], cell = "2 cm" }
material = { type = "fiber_reinforced", young = "30 kPa", poisson = 0.45, fiber_stiffness = "1 kPa" }
fibers = { around = { direction = [0, 0, 1] } }
"#;
    let scene = Scene::from_str(scene, "a.toml", ".").unwrap();
    assert!(compile(&scene).is_ok());
}
