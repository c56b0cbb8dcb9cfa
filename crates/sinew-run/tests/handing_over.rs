//! Inputs from programs besides files: meshes in memory, forces, states, and interrupts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_fem::force::Linearized;
use sinew_fem::material::Tangent;
use sinew_fem::{Command, Force, Interrupt, Simulation, StepContext, StepError};
use sinew_geometry::procedural::{TetPattern, box_tets};
use sinew_io::MeshData;
use sinew_math::{Mat3, Vec3};
use sinew_run::compile::{compile, compile_with};
use sinew_run::run::{Observer, RunOptions, run};
use sinew_run::snapshot::Snapshot;
use sinew_scene::{Attachments, Scene};

fn scene_text(mesh: &str) -> String {
    format!(
        "duration = \"0.5 s\"\n[[body]]\nname = \"block\"\nmesh = {mesh}\npin = [{{ region = \"x-min\" }}]\n\
         material = {{ type = \"stable_neo_hookean\", young = \"30 kPa\", poisson = 0.45 }}\n"
    )
}

const BOX: &str = "{ from = \"box\", size = [\"8 cm\", \"2 cm\", \"2 cm\"], cell = \"1 cm\" }";

fn scene() -> Scene {
    Scene::from_str(&scene_text(BOX), "block.toml", ".").unwrap()
}

fn step(simulation: &mut Simulation, frames: usize) {
    for _ in 0..frames {
        simulation.step_frame().unwrap();
    }
}

#[test]
fn a_mesh_in_memory_is_as_good_as_a_generated_one() {
    let mesh = box_tets(Vec3::new(0.08, 0.02, 0.02), [8, 2, 2], TetPattern::default()).unwrap();
    let meshes: Attachments = [("flesh".to_string(), Arc::new(MeshData::from(&mesh)))].into_iter().collect();
    let text = scene_text("{ from = \"file\", file = \"@flesh\" }");
    let handed = Scene::from_parts(&text, "handed.toml", ".", &[], meshes).unwrap();
    let mut simulation = compile(&handed).unwrap();
    assert_eq!(simulation.model().bodies[0].mesh.cell_count(), mesh.cell_count());
    simulation.step_frame().unwrap();
    // Overrides keep the meshes.
    assert!(compile(&handed.with_overrides(&["duration=1".into()]).unwrap()).is_ok());
    let complaint = Scene::from_str(&text, "handed.toml", ".").unwrap_err().to_string();
    assert!(
        complaint.contains("cannot find the file `@flesh`") && complaint.contains("attached to the scene"),
        "{complaint}"
    );
}

#[test]
fn a_snapshot_brings_back_the_same_bits() {
    let mut simulation = compile(&scene()).unwrap();
    simulation.command(&Command::SetChannel { channel: "gravity.z".into(), value: -3.0 }).unwrap();
    simulation.step_frame().unwrap();
    let kept = Snapshot::from_bytes(&Snapshot::of(&simulation).to_bytes()).unwrap();
    simulation.step_frame().unwrap();
    let expected = simulation.state().clone();
    let address = simulation.state().positions.as_ptr();
    simulation.command(&Command::SetChannel { channel: "gravity.x".into(), value: 5.0 }).unwrap();
    kept.restore(&mut simulation).unwrap();
    assert_eq!(simulation.held().collect::<Vec<_>>(), [("gravity.z", -3.0)]);
    simulation.step_frame().unwrap();
    assert!(*simulation.state() == expected, "another state");
    assert_eq!(
        simulation.state().positions.as_ptr(),
        address,
        "whoever looks at the positions looks at the same place"
    );
    let other = scene_text(&BOX.replace("8 cm", "9 cm"));
    let mut other = compile(&Scene::from_str(&other, "other.toml", ".").unwrap()).unwrap();
    assert!(kept.restore(&mut other).is_err());
}

#[test]
fn beginning_anew_forgets_the_past() {
    let mut simulation = compile(&scene()).unwrap();
    step(&mut simulation, 3);
    let mut state = simulation.state().clone();
    // At rest in the initial position, except for the time.
    state.positions.clone_from(&simulation.model().initial_state().positions);
    state.velocities.fill(Vec3::zero());
    simulation.start_from(&state);
    simulation.step_frame().unwrap();
    let mut fresh = compile(&scene()).unwrap();
    fresh.step_frame().unwrap();
    let off = simulation.state().positions.iter().zip(&fresh.state().positions).map(|(a, b)| (*a - *b).norm());
    assert!(off.fold(0.0, f64::max) < 1e-9);
}

/// In equilibrium, the force of flesh on its nodes balances weight and pins.
#[test]
fn elastic_forces_balance_weight_and_pins() {
    let text = scene_text(BOX) + "[solver]\ntype = \"quasistatic\"\ntolerance = 1e-9\n";
    let mut simulation = compile(&Scene::from_str(&text, "block.toml", ".").unwrap()).unwrap();
    simulation.step_frame().unwrap();
    let model = simulation.model();
    let mut forces = vec![Vec3::zero(); simulation.state().positions.len()];
    model.add_elastic_forces(simulation.state(), simulation.control(), &mut forces);
    let weight: f64 = 9.81 * model.masses.iter().sum::<f64>();
    for (node, force) in forces.iter().enumerate() {
        let rest = *force + simulation.state().reactions[node] + Vec3::new(0.0, 0.0, -9.81 * model.masses[node]);
        assert!(rest.norm() < 1e-6 * weight, "node {node}: {rest:?}");
    }
}

/// A spring that pulls every point of a model toward a plane.
struct TowardsPlane(f64);

impl Force for TowardsPlane {
    fn name(&self) -> &str {
        "towards plane"
    }
    fn potential(&self, x: &[Vec3], _: &StepContext<'_>) -> Option<f64> {
        Some(x.iter().map(|x| 0.5 * self.0 * x.z * x.z).sum())
    }
    fn add_gradient(&self, x: &[Vec3], _: &StepContext<'_>, gradient: &mut [Vec3]) {
        x.iter().zip(gradient).for_each(|(x, gradient)| gradient.z += self.0 * x.z);
    }
    fn linearize(&self, x: &[Vec3], _: &StepContext<'_>, _: Tangent, out: &mut Linearized) {
        let block = Mat3::diagonal(Vec3::new(0.0, 0.0, self.0));
        (0..x.len() as u32).for_each(|point| out.add(point, point, block));
    }
}

#[test]
fn forces_of_ones_own_join_a_scene() {
    let mut plain = compile(&scene()).unwrap();
    let mut pulled = compile_with(&scene(), |_| vec![Box::new(TowardsPlane(200.0)) as Box<dyn Force>]).unwrap();
    for simulation in [&mut plain, &mut pulled] {
        step(simulation, 10);
    }
    assert!(pulled.report().energies.other > 0.0);
    assert!(pulled.probe("block.min.z").unwrap() > 0.5 * plain.probe("block.min.z").unwrap());
}

#[test]
fn an_interrupted_frame_is_as_if_it_had_not_begun() {
    let mut simulation = compile(&scene()).unwrap();
    simulation.step_frame().unwrap();
    let before = simulation.state().clone();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // After some iterations of the first step.
    simulation.set_interrupt(Interrupt::new(move || count.fetch_add(1, Ordering::SeqCst) >= 3));
    assert!(matches!(simulation.step_frame(), Err(StepError::Interrupted { .. })));
    assert!(*simulation.state() == before, "something of the frame is left");
    simulation.set_interrupt(Interrupt::default());
    simulation.step_frame().unwrap();
    let mut undisturbed = compile(&scene()).unwrap();
    step(&mut undisturbed, 2);
    assert!(simulation.state() == undisturbed.state(), "another way");
}

#[test]
fn a_run_that_is_interrupted_within_a_frame_keeps_the_frames_before() {
    struct Impatient(Arc<AtomicUsize>);
    impl Observer for Impatient {
        fn interrupt(&self) -> Interrupt {
            let asked = Arc::clone(&self.0);
            Interrupt::new(move || asked.fetch_add(1, Ordering::SeqCst) >= 20)
        }
    }
    let outcome = run(&scene(), &RunOptions::default(), &mut Impatient(Arc::default())).unwrap();
    assert!(outcome.interrupted && !outcome.passed());
    assert!((1..29).contains(&outcome.frames), "{}", outcome.frames);
    assert_eq!(outcome.history.times().len(), outcome.frames + 1);
}
