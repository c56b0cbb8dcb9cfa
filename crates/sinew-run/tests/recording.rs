//! Recordings are correct, also when they are cut off.

use std::path::{Path, PathBuf};

use sinew_fem::Simulation;
use sinew_run::compile::compile;
use sinew_scene::Scene;
use sinew_store::{Header, Recording, RecordingParams, RecordingWriter, StoreError};

/// A bar that swings over a floor, and a rigid ball that falls: bodies, moving shapes and fixed ones.
const SCENE: &str = r#"
duration = "1 s"
frame_rate = "60 Hz"
[[body]]
name = "bar"
mesh = { from = "box", size = ["20 cm", "4 cm", "4 cm"], cells = [8, 2, 2] }
material = { type = "stable_neo_hookean", young = "50 kPa", poisson = 0.4 }
pin = [{ region = "x-min" }]
[[body]]
name = "block"
mesh = { from = "box", size = ["4 cm", "4 cm", "4 cm"], cells = [2, 2, 2], element = "hex8" }
position = [0, "30 cm", 0]
material = { type = "linear", young = "50 kPa", poisson = 0.4 }
[[collider]]
name = "floor"
shape = { type = "plane", normal = [0.1, 0, 1] }
position = [0, 0, "-20 cm"]
"#;

/// A folder that is removed with its contents, unless the test fails.
struct Folder(PathBuf);

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn folder(name: &str) -> Folder {
    let folder = std::env::temp_dir().join(format!("sinew-recording-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    Folder(folder)
}

fn simulation() -> Simulation {
    compile(&Scene::from_str(SCENE, "bar.toml", ".").unwrap()).unwrap()
}

/// Records `frames` frames and returns positions, velocities and probes of each, as computed.
fn record(path: &Path, params: &RecordingParams, frames: usize) -> Vec<(Vec<Vec<f64>>, Vec<f64>)> {
    let mut simulation = simulation();
    let header = Header { frame_rate: 60.0, scene_text: SCENE.into(), ..Header::default() };
    let mut writer = RecordingWriter::create(path, header, params).unwrap();
    let mut truth = Vec::new();
    for frame in 0..=frames {
        if frame > 0 {
            simulation.step_frame().unwrap();
        }
        let view = simulation.frame();
        let flat = |v: &[sinew_math::Vec3]| v.iter().flat_map(|v| v.to_array()).collect::<Vec<f64>>();
        let arrays = view.bodies.iter().flat_map(|body| [flat(body.positions), flat(body.velocities)]).collect();
        truth.push((arrays, view.probe_values.to_vec()));
        writer.append(&view).unwrap();
    }
    truth
}

fn arrays(recording: &Recording, frame: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let stored = recording.frame(frame).unwrap();
    let view = stored.view(recording.header());
    let flat = |v: &[sinew_math::Vec3]| v.iter().flat_map(|v| v.to_array()).collect::<Vec<f64>>();
    let arrays = view.bodies.iter().flat_map(|body| [flat(body.positions), flat(body.velocities)]).collect();
    (arrays, view.probe_values.to_vec())
}

#[test]
fn an_exact_recording_gives_back_every_bit_in_any_order() {
    let folder = folder("exact");
    let path = folder.join("a.sinew");
    let truth = record(&path, &RecordingParams::default(), 70);
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.frame_count(), recording.lost_bytes()), (71, 0));
    // Forward, backward, and with jumps over key frames.
    for frame in (0..71).chain((0..71).rev()).chain([3, 64, 65, 1, 33, 32, 31, 70, 0]) {
        let bits = |(arrays, probes): (Vec<Vec<f64>>, Vec<f64>)| {
            arrays.into_iter().chain([probes]).flatten().map(f64::to_bits).collect::<Vec<u64>>()
        };
        assert_eq!(bits(arrays(&recording, frame)), bits(truth[frame].clone()), "frame {frame}");
    }
    let view = recording.frame(5).unwrap();
    let frame = view.view(recording.header());
    assert_eq!(frame.shapes[0].name, "floor");
    assert_eq!((frame.index, frame.report.time), (5, 5.0 / 60.0));
    assert!(matches!(recording.frame(71), Err(StoreError::NoFrame { frame: 71, count: 71 })));
}

#[test]
fn a_rounded_recording_keeps_its_error_and_is_small() {
    let folder = folder("rounded");
    let (error, frames) = (1e-4, 60);
    let path = folder.join("a.sinew");
    let truth = record(&path, &RecordingParams { error, ..RecordingParams::default() }, frames);
    let recording = Recording::open(&path).unwrap();
    let mut raw = 0;
    for (frame, (expected, probes)) in truth.iter().enumerate() {
        let (found, found_probes) = arrays(&recording, frame);
        assert_eq!(&found_probes, probes, "probes are exact");
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            let size = recording.header().bodies[number / 2].mesh.bounds().size().norm();
            // Velocities come second; their error may be that of a position per frame.
            let allowed = error * size * if number % 2 == 1 { 60.0 } else { 1.0 };
            let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst <= allowed, "frame {frame}: {worst} > {allowed}");
            raw += 4 * found.len() as u64;
        }
    }
    let (headers, _) = (std::fs::metadata(&path).unwrap().len(), ());
    assert!(headers < raw, "{headers} of {raw} bytes, reports and probes included");
}

/// Any remainder of the file opens with all whole frames and reports the loss.
#[test]
fn a_recording_cut_off_anywhere_plays_up_to_its_last_whole_frame() {
    let folder = folder("cut");
    let path = folder.join("a.sinew");
    let truth = record(&path, &RecordingParams { error: 1e-3, ..RecordingParams::default() }, 6);
    let bytes = std::fs::read(&path).unwrap();
    let whole = Recording::open(&path).unwrap();
    let mut ends = Vec::new();
    for frame in 0..whole.frame_count() {
        ends.push((0..bytes.len() as u64 + 1).find(|&length| whole.frames_within(length) == Some(frame + 1)).unwrap());
    }
    let cut_path = folder.join("cut.sinew");
    // Every byte around the ends of frames, and a sample of the rest.
    let near = |cut: usize| ends.iter().any(|&end| end.abs_diff(cut as u64) < 20);
    for cut in (0..bytes.len()).filter(|&cut| near(cut) || cut % 97 == 0) {
        std::fs::write(&cut_path, &bytes[..cut]).unwrap();
        let expected = ends.iter().filter(|&&end| end <= cut as u64).count();
        match Recording::open(&cut_path) {
            Ok(recording) => {
                assert_eq!(recording.frame_count(), expected, "cut at {cut}");
                assert_eq!(recording.lost_bytes(), cut as u64 - ends[expected - 1]);
                assert_eq!(arrays(&recording, expected - 1).1, truth[expected - 1].1);
            }
            Err(StoreError::Empty | StoreError::NotARecording) => assert_eq!(expected, 0, "cut at {cut}"),
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
    // After a power failure the file may have its length, but zeros at its end.
    let mut zeroed = bytes.clone();
    let last = ends[ends.len() - 2] as usize + 100;
    zeroed[last..].fill(0);
    std::fs::write(&cut_path, &zeroed).unwrap();
    assert_eq!(Recording::open(&cut_path).unwrap().frame_count(), truth.len() - 1);
}

/// Damage in the middle is reported by frame; nothing panics for any bytes.
#[test]
fn damage_is_told_and_never_believed() {
    let folder = folder("damage");
    let path = folder.join("a.sinew");
    record(&path, &RecordingParams { error: 1e-3, stress: true, contacts: true, every: 2 }, 5);
    let bytes = std::fs::read(&path).unwrap();
    let damaged_path = folder.join("damaged.sinew");
    let mut seed = 7u64;
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let at = (seed >> 33) as usize % damaged.len();
        damaged[at] ^= 1 << ((seed >> 20) % 8);
        std::fs::write(&damaged_path, &damaged).unwrap();
        // The checksum of a frame detects every single flipped bit, so a frame is either an error or unchanged.
        if let Ok(recording) = Recording::open(&damaged_path) {
            let original = Recording::open(&path).unwrap();
            for frame in 0..recording.frame_count() {
                if let Ok(stored) = recording.frame(frame) {
                    assert_eq!(stored.probes, original.frame(frame).unwrap().probes);
                }
            }
        }
    }
}

#[test]
fn frames_between_shown_ones_have_probes_and_stress_is_kept_when_asked() {
    let folder = folder("every");
    let path = folder.join("a.sinew");
    let truth = record(&path, &RecordingParams { stress: true, every: 3, ..RecordingParams::default() }, 10);
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.frame_count(), recording.shown_frames()), (11, vec![0, 3, 6, 9]));
    for (frame, (_, probes)) in truth.iter().enumerate() {
        assert_eq!(&recording.frame(frame).unwrap().probes, probes);
    }
    // The recorded stress is that of the running simulation.
    let mut live = simulation();
    for _ in 0..9 {
        live.step_frame().unwrap();
    }
    let stored = recording.frame(9).unwrap();
    let shown = stored.view(recording.header());
    for (a, b) in live.frame().bodies.iter().zip(&shown.bodies) {
        let (live, stored) = (a.cell_fields(), b.cell_fields());
        assert_eq!(live.cauchy_stress.len(), stored.cauchy_stress.len());
        for (x, y) in live.von_mises.iter().zip(&stored.von_mises) {
            // Only the upper triangle is stored, so the asymmetry of rounding is lost.
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{x} {y}");
        }
        for (x, y) in live.volume_ratio.iter().zip(&stored.volume_ratio) {
            assert!((x - y).abs() < 1e-12, "{x} {y}");
        }
    }
}

/// The block has reached the floor by then.
#[test]
fn places_of_contact_are_kept_when_asked() {
    let folder = folder("contacts");
    let path = folder.join("a.sinew");
    let mut live = simulation();
    for kept in [true, false] {
        record(&path, &RecordingParams { contacts: kept, ..RecordingParams::default() }, 20);
        let recording = Recording::open(&path).unwrap();
        let stored = recording.frame(20).unwrap();
        let found = stored.view(recording.header()).contacts.to_vec();
        if kept {
            for _ in 0..20 {
                live.step_frame().unwrap();
            }
            assert!(found.len() >= 4 && found == live.frame().contacts);
        } else {
            assert!(found.is_empty());
        }
    }
}
