//! Cells that are taken away during a run: what is left, in numbers and in files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sinew_fem::{Simulation, StepReport};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_run::run::{Observer, RunOptions, RunOutcome, run};
use sinew_run::snapshot::Snapshot;
use sinew_scene::Scene;
use sinew_store::Recording;

/// A bar that hangs from its upper end; `[solver]` and what goes are to be filled in.
fn hanging(solver: &str, element: &str, remove: &str) -> String {
    format!(
        r#"
duration = "0.5 s"
frame_rate = "20 Hz"
solver = {{ {solver} }}
[[body]]
name = "bar"
mesh = {{ from = "box", size = ["10 cm", "10 cm", "80 cm"], cell = "5 cm", element = "{element}" }}
material = {{ type = "corotated", young = "400 kPa", poisson = 0 }}
pin = [{{ region = "z-max" }}]
regions = {{ lower = {{ box = [[-1, -1, -1], [1, 1, 0.4]] }}, middle = {{ box = [[-1, -1, 0.4], [1, 1, 0.5]] }} }}
{remove}
"#
    )
}

fn scene(text: &str) -> Scene {
    Scene::from_str(text, "removal.toml", ".").unwrap_or_else(|error| panic!("{error}"))
}

fn simulation(text: &str) -> Simulation {
    compile(&scene(text)).unwrap_or_else(|error| panic!("{error}"))
}

const STATIC: &str = "type = \"quasistatic\", tolerance = 1e-10";
const DYNAMIC: &str = "tolerance = 1e-10";
const LOWER: &str = "remove = { region = \"lower\", at = \"0.2 s\" }";
const MIDDLE: &str = "remove = { region = \"middle\", at = \"0.2 s\" }";

/// A bar of length L hangs by ρgL²/2E, one of half the length by a quarter of it: with lumped loads linear cells are
/// exact at their nodes. Strains of 1 % add as much again as their square to a law that is not linear.
#[test]
fn half_a_bar_hangs_by_a_quarter() {
    for element in ["hex8", "lattice"] {
        let mut simulation = simulation(&hanging(STATIC, element, LOWER));
        let sag = |length: f64| 1000.0 * 9.81 * length * length / (2.0 * 4e5);
        let mut cells = Vec::new();
        for frame in 1..=6 {
            simulation.step_frame().unwrap();
            let (end, length) = if frame < 4 { (0.0, 0.8) } else { (0.4, 0.4) };
            // The frame at which the cells go shows what is left, still stretched by what hung from it.
            if frame != 4 {
                let found = end - simulation.probe("bar.min.z").unwrap();
                let expected = sag(length);
                assert!((found - expected).abs() < 0.03 * expected, "{element} {frame}: {found} {expected}");
            }
            cells.push(simulation.frame().bodies[0].mesh.cell_count());
            assert_eq!(simulation.frame().topology_revision, u64::from(frame >= 4));
        }
        assert_eq!(cells, [64, 64, 64, 32, 32, 32], "{element}");
    }
}

/// Mass and momentum of the nodes below a height at rest.
fn lower_piece(simulation: &Simulation) -> (f64, Vec3) {
    let (model, state) = (simulation.model(), simulation.state());
    let (mut mass, mut momentum) = (0.0, Vec3::zero());
    for (node, x) in model.bodies[0].mesh.positions().iter().enumerate().filter(|(_, x)| x.z < 0.41) {
        assert!(x.z < 0.401);
        mass += model.masses[node];
        momentum += state.velocities[node] * model.masses[node];
    }
    (mass, momentum)
}

/// Without its middle the lower half falls: its momentum grows by its weight, whatever its cells do.
#[test]
fn two_halves_part() {
    let mut simulation = simulation(&hanging(DYNAMIC, "hex8", MIDDLE));
    let whole = simulation.model().masses.iter().sum::<f64>();
    for _ in 0..4 {
        simulation.step_frame().unwrap();
    }
    let rest = simulation.model().masses.iter().sum::<f64>();
    assert!((rest - whole * 14.0 / 16.0).abs() < 1e-12 * whole);
    assert_eq!(simulation.model().bodies[0].mesh.components().count, 2);
    let (mass, mut before) = lower_piece(&simulation);
    assert!((mass - 0.5 * whole).abs() < 1e-12 * whole);
    let start = simulation.probe("bar.min.z").unwrap();
    for frame in 1..=5 {
        simulation.step_frame().unwrap();
        let (_, now) = lower_piece(&simulation);
        let gained = (now - before) + Vec3::unit(2) * (mass * 9.81 / 20.0);
        assert!(gained.norm() < 1e-6 * mass, "{frame}: {gained:?}");
        before = now;
    }
    assert!(simulation.probe("bar.min.z").unwrap() < start - 0.2);
    // What was taken away took its energy along.
    let lost = simulation.probe("work.lost").unwrap();
    assert!(lost >= 0.0 && lost < simulation.probe("energy.kinetic").unwrap(), "{lost}");
}

/// A block on a rough slope that loses its upper layer, with more points than are computed on one thread.
const SLOPE: &str = r#"
duration = "0.4 s"
frame_rate = "40 Hz"
[[body]]
name = "block"
mesh = { from = "box", size = ["10 cm", "10 cm", "10 cm"], cells = [9, 9, 9] }
position = ["-5 cm", "-5 cm", "1 mm"]
material = { type = "stable_neo_hookean", young = "60 kPa", poisson = 0.4 }
muscle = [{ fibers = { along = [1, 0, 0] }, activation = 0.1, stress = "10 kPa", max_velocity = "10 1/s" }]
regions = { upper = { box = [[-1, -1, 0.06], [1, 1, 1]] }, corner = { box = [[0.06, 0.06, -1], [1, 1, 0.06]] } }
remove = [{ region = "corner", at = "0.3 s" }, { region = "upper", at = "0.2 s" }]
[[collider]]
name = "slope"
shape = { type = "plane", normal = [0.1, 0, 1] }
friction = 0.6
"#;

fn bits(simulation: &Simulation) -> Vec<u64> {
    let state = simulation.state();
    let vectors = state.positions.iter().chain(&state.velocities);
    let probes = simulation.frame().probe_values.to_vec();
    vectors.flat_map(|v| v.to_array()).chain(probes).map(f64::to_bits).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = simulation(SLOPE);
            for _ in 0..14 {
                simulation.step_frame().unwrap();
            }
            assert_eq!(simulation.topology_revision(), 2);
            bits(&simulation)
        })
    };
    assert!(with(1) == with(2));
}

/// States of any frame can be taken up again, before and after removals, by the same simulation and by a fresh one.
#[test]
fn states_of_all_frames_go_on_alike() {
    let mut first = simulation(SLOPE);
    let touching = |simulation: &Simulation| simulation.state().history.contact_memory.len();
    let mut states = vec![(Snapshot::of(&first), bits(&first))];
    for frame in 1..=14 {
        let before = touching(&first);
        first.step_frame().unwrap();
        if frame == 8 {
            assert!(before > 50 && touching(&first) > before / 2, "contacts below remember");
        }
        states.push((Snapshot::of(&first), bits(&first)));
    }
    let sizes: Vec<usize> = states.iter().map(|(snapshot, _)| snapshot.state.positions.len()).collect();
    assert!(sizes[7] > sizes[8] && sizes[8] == sizes[11] && sizes[11] > sizes[12], "{sizes:?}");
    let mut second = simulation(SLOPE);
    for from in [13, 8, 0, 7, 11] {
        let (snapshot, expected) = &states[from];
        for simulation in [&mut first, &mut second] {
            snapshot.restore(simulation).unwrap();
            assert!(bits(simulation)[..6] == expected[..6]);
            simulation.step_frame().unwrap();
            assert!(bits(simulation) == states[from + 1].1, "from frame {from}");
        }
    }
}

/// A folder that is removed with everything in it, unless the test fails.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn folder(name: &str) -> Folder {
    let folder = std::env::temp_dir().join(format!("sinew-removal-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    Folder(folder)
}

/// Stops after a frame.
struct Until(usize);

impl Observer for Until {
    fn frame(&mut self, done: usize, _all: usize, _report: &StepReport) -> ControlFlow<()> {
        if done == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn into(path: &Path, resume: bool) -> RunOptions {
    RunOptions { output: Some(path.into()), resume, ..RunOptions::default() }
}

fn done(outcome: &RunOutcome) {
    assert!(outcome.passed(), "{:?}", outcome.expectations);
}

const RECORD: &str = "[record]\nvtu = true\nusd = true\nobj = true\napng = true\nreport = false\n";

/// A run that stops before, at or after a removal and is taken up again leaves the files of the unbroken run.
#[test]
fn broken_runs_leave_the_files_of_whole_ones() {
    let home = folder("resume");
    let scene = scene(&format!("{}{RECORD}", hanging(DYNAMIC, "hex8", MIDDLE)));
    let whole = home.0.join("whole");
    done(&run(&scene, &into(&whole, false), &mut ()).unwrap());
    let files = ["recording.sinew", "surface.usda", "probes.csv", "cells/bar_00003.vtu", "cells/bar_00007.vtu"];
    for stop in [3, 4, 6] {
        let broken = home.0.join(format!("until-{stop}"));
        assert!(run(&scene, &into(&broken, false), &mut Until(stop)).unwrap().interrupted);
        done(&run(&scene, &into(&broken, true), &mut ()).unwrap());
        for file in files {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(file == "recording.sinew" || read(&broken) == read(&whole), "{file} after frame {stop}");
        }
        let content = |folder: &Path| {
            let recording = Recording::open(&folder.join("recording.sinew")).unwrap();
            assert_eq!(recording.header().changes.len(), 1);
            let frames = recording.frames().map(|frame| {
                let stored = frame.unwrap();
                let view = stored.view(recording.header());
                let body = &view.bodies[0];
                let numbers = body.positions.iter().chain(body.velocities).flat_map(|v| v.to_array());
                let bits: Vec<u64> = numbers.chain(view.probe_values.iter().copied()).map(f64::to_bits).collect();
                (view.topology_revision, body.mesh.cell_count(), body.surface_triangles.to_vec(), bits)
            });
            frames.collect::<Vec<_>>()
        };
        assert!(content(&broken) == content(&whole), "after frame {stop}");
    }
    for (file, cells) in [("cells/bar_00003.vtu", 64), ("cells/bar_00004.vtu", 56), ("cells/bar_00010.vtu", 56)] {
        let data = sinew_io::vtu::read(&std::fs::read(whole.join(file)).unwrap()).unwrap();
        assert_eq!(data.cell_count(), cells, "{file}");
    }
    check_usd(&std::fs::read_to_string(whole.join("surface.usda")).unwrap());
    let triangles = |frame: usize| {
        let text = std::fs::read_to_string(whole.join(format!("obj/surface_{frame:05}.obj"))).unwrap();
        text.lines().filter(|line| line.starts_with("f ")).count()
    };
    // A tower of 2 × 2 × 16 cubes, and two of 2 × 2 × 8 and 2 × 2 × 6.
    assert_eq!((triangles(3), triangles(4)), (2 * (4 * 2 * 16 + 8), 2 * (4 * 2 * 14 + 16)));
}

/// Triangles have a sample where they change, points at every frame, and each list of points suits its triangles.
fn check_usd(text: &str) {
    let samples = |attribute: &str| -> Vec<(f64, usize)> {
        let list = text.split(&format!("{attribute}.timeSamples = {{\n")).nth(1).unwrap_or_else(|| panic!("{text}"));
        let lines = list.lines().take_while(|line| line.trim() != "}");
        let sample = |line: &str| {
            let (code, values) = line.trim().split_once(": ").unwrap();
            let separator = if values.contains('(') { "), (" } else { ", " };
            (code.parse().unwrap(), values.matches(separator).count() + 1)
        };
        lines.map(sample).collect()
    };
    let (counts, indices) = (samples("faceVertexCounts"), samples("faceVertexIndices"));
    assert_eq!(counts, [(0.0, 272), (4.0, 256)]);
    assert_eq!(indices, [(0.0, 3 * 272), (4.0, 3 * 256)]);
    let points = samples("points");
    assert_eq!(points.len(), 11);
    for (code, count) in points {
        // Layers of 3 × 3 nodes; those within the bar are not seen.
        assert_eq!(count, if code < 4.0 { 8 * 17 + 2 } else { 8 * 16 + 4 }, "{code}");
    }
    assert_eq!(samples("velocities").len(), 11);
    assert!(!text.contains("faceVertexCounts = ["), "no other triangles");
}

/// What the program answers to mistakes, before anything is computed.
#[test]
fn mistakes_are_refused_with_their_cause() {
    let refused = |text: &str| {
        let read = Scene::from_str(text, "removal.toml", ".");
        read.and_then(|scene| compile(&scene).map(drop))
            .err()
            .unwrap_or_else(|| panic!("accepted:\n{text}"))
            .to_string()
    };
    let bar = |remove: &str| hanging(STATIC, "hex8", remove);
    let tip = "\n[[probe]]\nname = \"tip\"\nregion = \"z-min\"\n";
    for (text, cause) in [
        (bar("remove = { region = \"all\", at = \"0.2 s\" }"), "all 64 cells of body \"bar\" would be gone"),
        (bar("remove = { region = \"lowr\", at = \"0.2 s\" }"), "did you mean"),
        (bar("remove = { region = \"z-min\", at = \"0.2 s\" }"), "contains no cell"),
        (bar("remove = { region = \"lower\", at = \"0.6 s\" }"), "go after the end of the scene"),
        (bar("remove = { region = \"lower\", at = \"-1 s\" }"), "must not be negative"),
        (bar("remove = { region = \"lower\" }"), "`at`"),
        (
            bar("remove = [{ region = \"lower\", at = \"0.1 s\" }, { region = \"lower\", at = \"0.2 s\" }]"),
            "32 of 32 cells of body \"bar\" were removed before",
        ),
        (
            bar("remove = { region = \"upper\", at = \"0.2 s\" }")
                .replace("lower = {", "upper = { outside = \"low\" }, low = {"),
            "pin \"z-max\" of body \"bar\" would lose all 9 of its nodes",
        ),
        (bar(LOWER) + tip, "probe \"tip.position.x\" watches flesh that would be gone"),
        (bar(LOWER) + "[record]\nglb = true\n", "`glb` files have the same surface at all times"),
        (bar(LOWER) + "[record]\nnpz = true\n", "use `vtu`, `usd`, `obj` or `ply`"),
    ] {
        let answer = refused(&text);
        assert!(answer.contains(cause), "{cause}:\n{answer}");
    }
}

/// Half a muscle goes on with the other half; one that is gone exerts no force. Notes say both before the run.
#[test]
fn muscles_that_lose_cells_are_told() {
    let muscle = |region: &str| {
        format!(
            "muscle = [{{ region = \"{region}\", fibers = {{ along = [0, 0, 1] }}, activation = 0.5, stress = \"5 kPa\" }}]\n\
             {LOWER}"
        )
    };
    for (region, lost) in [("all", "32 of 64"), ("lower", "32 of 32")] {
        let text = hanging(STATIC, "hex8", &muscle(region)).replace("corotated", "stable_neo_hookean");
        let mut simulation = simulation(&text);
        let told = format!("at 0.2 s muscle \"{region}\" of body \"bar\" loses {lost} cells");
        assert!(simulation.notes.contains(&told), "{:?}", simulation.notes);
        for _ in 0..6 {
            simulation.step_frame().unwrap();
        }
        assert!(simulation.frame().probe_values.iter().all(|value| value.is_finite()), "{region}");
        let tension = simulation.probe(&format!("bar.fiber_tension.active.{region}")).unwrap();
        assert!(if region == "all" { tension > 1e3 } else { tension == 0.0 }, "{region}: {tension}");
    }
}
