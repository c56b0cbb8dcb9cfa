//! Valid scenes and their plain data.

use sinew_scene::{
    Interpolation, Override, Scene,
    spec::{
        Gravity, SolverKind, Up,
        expect::{Instant, TimeSpan},
        material::Material,
        mesh::{Element, Mesh},
        record::Output,
        region::Region,
    },
};

fn read(text: &str) -> Scene {
    Scene::from_str(text, "a.toml", ".").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_minimal_scene_has_sensible_defaults() {
    let scene = read("duration = 2");
    assert_eq!((scene.duration, scene.frame_rate, scene.up, scene.frame_count()), (2.0, 60.0, Up::Z, 120));
    assert_eq!((scene.gravity, scene.gravity_vector()), (Gravity::Down(9.81), [0.0, 0.0, -9.81]));
    assert_eq!(scene.solver.kind, SolverKind::ImplicitEuler);
    assert_eq!((scene.solver.tolerance, scene.solver.max_newton, scene.solver.substeps), (1e-6, 100, None));
    assert_eq!((&scene.record.csv, &scene.record.vtu), (&Output::On, &Output::Off));
    assert!((scene.record.camera.fov.to_degrees() - 35.0).abs() < 1e-12);
}

#[test]
fn quantities_arrive_in_si_units() {
    let scene = read(
        r#"
up = "y"
duration = "500 ms"
frame_rate = "50 Hz"
gravity = "981 cm/s^2"

[solver]
type = "quasistatic"

[[body]]
name = "strip"
mesh = { from = "box", size = ["0.20 m", "3 cm", "30 mm"], cell = "5 mm", element = "hex8" }
density = "1.06 g/cm^3"
material = { type = "mooney_rivlin", c10 = "20 kPa", c01 = "10 kPa", bulk = "60 MPa" }
damping = { mass = "0.5 1/s", stiffness = "2 ms" }
position = ["1 m", 0, "-2 cm"]
rotation = { axis = [0, 3, 0], angle = "90 deg" }
regions = { tip = { sphere = { center = [0, 0, 0], radius = "1 cm" } }, ends = { union = ["x-min", "x-max"] } }
pin = [{ region = "ends", axes = "xz", motion = { translation = [["0 s", [0, 0, 0]], ["1 s", ["5 cm", 0, 0]]] } }]
pressure = [{ region = "tip", value = { points = [["0 s", 0], ["100 ms", "2 kPa"]], interpolation = "smooth" } }]
"#,
    );
    assert_eq!((scene.duration, scene.frame_rate, scene.gravity_vector()), (0.5, 50.0, [0.0, -9.81, 0.0]));
    let body = &scene.body[0];
    let Mesh::Box(mesh) = &body.mesh else { panic!("{:?}", body.mesh) };
    assert_eq!((mesh.size, mesh.cell_counts(), mesh.element), ([0.2, 0.03, 0.03], [40, 6, 6], Element::Hex8));
    let Material::Law(table) = &body.material else { panic!("{:?}", body.material) };
    assert_eq!((table.law.name(), table.values), ("mooney_rivlin", [Some(20e3), Some(10e3), Some(60e6), None]));
    assert_eq!((body.density, body.damping.mass, body.damping.stiffness), (1060.0, 0.5, 2e-3));
    assert_eq!(body.position, [1.0, 0.0, -0.02]);
    let rotation = body.rotation.as_ref().unwrap();
    assert_eq!((rotation.axis, rotation.angle), ([0.0, 1.0, 0.0], std::f64::consts::FRAC_PI_2));
    assert_eq!(body.regions["ends"], Region::Union(vec!["x-min".into(), "x-max".into()]));
    assert_eq!(body.pin[0].axes.xyz, [true, false, true]);
    assert_eq!(body.pin[0].motion.as_ref().unwrap().translation.at(0.5), [0.025, 0.0, 0.0]);
    let pressure = &body.pressure[0].value;
    assert_eq!((pressure.interpolation(), pressure.at(0.05), pressure.at(9.0)), (Interpolation::Smooth, 1e3, 2e3));
}

#[test]
fn motions_take_constant_vectors_and_matrices() {
    let scene = read(
        r#"
duration = 1
[[body]]
name = "cube"
mesh = { from = "box", size = [1, 1, 1], cells = [2, 2, 2] }
material = { type = "linear", young = 1, poisson = 0 }
pin = [{ region = "surface", motion = { deformation = [[0, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]], [1, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]]] } },
       { region = "x-min", motion = { deformation = [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], translation = ["1 cm", 0, 0] } }]
"#,
    );
    let shear = |pin: usize, time: f64| {
        let motion = scene.body[0].pin[pin].motion.as_ref().unwrap();
        motion.deformation.as_ref().unwrap().at(time)[0][1]
    };
    assert_eq!((shear(0, 0.25), shear(1, 0.25)), (0.5, 0.5));
    assert_eq!(scene.body[0].pin[1].motion.as_ref().unwrap().translation.at(7.0), [0.01, 0.0, 0.0]);
}

#[test]
fn expectations_may_be_a_number_a_table_or_a_list() {
    let scene = read(
        r#"
duration = 1
[expect]
inverted_cells = 0
"strip.force.x-max" = { value = "270 N", relative = "2 %", at = "1 s" }
"strip.volume" = [{ value = 1.0, relative = 0.01, over = "all" }, { min = "1 mL", over = ["0 s", "0.5 s"] }, { max = 1, at = "end" }]
"#,
    );
    assert_eq!(scene.expect["inverted_cells"][0].value, Some(0.0));
    let force = &scene.expect["strip.force.x-max"][0];
    assert_eq!((force.value, force.relative, force.at), (Some(270.0), Some(0.02), Some(Instant::Time(1.0))));
    let volume = &scene.expect["strip.volume"];
    assert_eq!((volume[0].over, volume[1].over), (Some(TimeSpan::All), Some(TimeSpan::Between(0.0, 0.5))));
    assert_eq!((volume[1].min, volume[2].at), (Some(1e-6), Some(Instant::End)));
}

#[test]
fn each_run_of_a_study_is_the_scene_with_other_values() {
    let scene = read(
        r#"
duration = 1
[[body]]
name = "beam"
mesh = { from = "box", size = [4, 1, 1], cell = "50 cm" }
material = { type = "linear", young = 1, poisson = 0 }
[study]
vary = "body.beam.mesh.cell"
values = ["50 cm", "25 cm", 0.125]
order = { "beam.error.l2" = { min = 1.9 } }
"#,
    );
    let study = scene.study.as_ref().unwrap();
    assert_eq!(study.order["beam.error.l2"].min, Some(1.9));
    let counts: Vec<[usize; 3]> = study
        .runs()
        .iter()
        .map(|run| match &scene.with_overrides(run).unwrap().body[0].mesh {
            Mesh::Box(mesh) => mesh.cell_counts(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [[8, 2, 2], [16, 4, 4], [32, 8, 8]]);
}

/// A study of a scene that was loaded with overrides keeps them.
#[test]
fn overrides_add_up() {
    let text = "duration = 1\nframe_rate = 10\n";
    let scene = Scene::from_text(text, "a.toml", ".", &[Override::from("duration=3 s")]).unwrap();
    let again = scene.with_overrides(&[Override::from("frame_rate=20")]).unwrap();
    assert_eq!((again.duration, again.frame_rate), (3.0, 20.0));
}
