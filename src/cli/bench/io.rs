//! `sinew bench io`: speed of reading and writing meshes, compared with meshio, and size of recordings.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value, json};
use sinew_geometry::procedural::{self, TetPattern};
use sinew_io::{MeshData, WriteOptions};
use sinew_math::Vec3;
use sinew_run::compile::compile;
use sinew_scene::{Override, Scene};
use sinew_store::{Header, Recording, RecordingParams, RecordingWriter};

use super::super::console::Console;
use super::{Failure, spread};

/// Reading and writing of meshes, compared with meshio if installed, and the size of recordings
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Approximate number of cells
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(48..100_000_000))]
    cells: u32,

    /// Number of runs; reports the best
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Python with meshio, for the comparison
    #[arg(long, value_name = "PROGRAM", env = "SINEW_PYTHON", default_value = "python3")]
    python: String,

    /// Measures only formats whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Prints the result as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// A variant of a format: name, extension, options, and its name and options in meshio.
struct Variant {
    name: &'static str,
    extension: &'static str,
    is_surface: bool,
    binary: bool,
    compress: bool,
    version: Option<&'static str>,
    /// Format and keyword arguments of `meshio.write`; empty if meshio lacks the format.
    meshio: &'static str,
}

const fn volume(name: &'static str, extension: &'static str, binary: bool, meshio: &'static str) -> Variant {
    Variant { name, extension, is_surface: false, binary, compress: false, version: None, meshio }
}

const fn surface(name: &'static str, extension: &'static str, binary: bool, meshio: &'static str) -> Variant {
    Variant { is_surface: true, ..volume(name, extension, binary, meshio) }
}

const VARIANTS: [Variant; 20] = [
    volume("vtu_ascii", "vtu", false, "'vtu', binary=False"),
    volume("vtu_binary", "vtu", true, "'vtu', binary=True, compression=None"),
    Variant { compress: true, ..volume("vtu_zlib", "vtu", true, "'vtu', binary=True, compression='zlib'") },
    volume("vtk_ascii", "vtk", false, "'vtk42', binary=False"),
    volume("vtk_binary", "vtk", true, "'vtk42', binary=True"),
    volume("gmsh_4_1_ascii", "msh", false, "'gmsh', binary=False"),
    volume("gmsh_4_1_binary", "msh", true, "'gmsh', binary=True"),
    Variant { version: Some("2.2"), ..volume("gmsh_2_2_ascii", "msh", false, "'gmsh22', binary=False") },
    Variant { version: Some("2.2"), ..volume("gmsh_2_2_binary", "msh", true, "'gmsh22', binary=True") },
    volume("medit_ascii", "mesh", false, "'medit'"),
    volume("medit_binary", "meshb", true, "'medit'"),
    volume("tetgen_ascii", "ele", false, "'tetgen'"),
    volume("abaqus_ascii", "inp", false, "'abaqus'"),
    volume("febio_ascii", "feb", false, ""),
    surface("obj_ascii", "obj", false, "'obj'"),
    surface("ply_ascii", "ply", false, "'ply', binary=False"),
    surface("ply_binary", "ply", true, "'ply', binary=True"),
    surface("stl_ascii", "stl", false, "'stl', binary=False"),
    surface("stl_binary", "stl", true, "'stl', binary=True"),
    surface("glb_binary", "glb", true, ""),
];

/// Measures every variant in a temporary folder, in the page cache.
pub fn measure(arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let folder = std::env::temp_dir().join(format!("sinew-bench-io-{}", std::process::id()));
    let failed = |source| Failure::Write { what: folder.display().to_string(), source };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let result = measure_in(&folder, arguments, console);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn measure_in(folder: &Path, arguments: &Arguments, console: Console) -> Result<Value, Failure> {
    let meshes = meshes(arguments.cells)?;
    let has_meshio = Command::new(&arguments.python)
        .args(["-c", "import meshio"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_meshio {
        console.note(&format!(
            "`{}` has no meshio for the comparison (--python selects another Python)",
            arguments.python
        ));
    }
    let mut figures = Map::new();
    figures.insert("cells".into(), json!(meshes[0].cell_count()));
    figures.insert("triangles".into(), json!(meshes[1].cell_count()));
    let (mut text, mut binary) = (f64::INFINITY, f64::INFINITY);
    for variant in VARIANTS.iter().filter(|variant| variant.name.contains(&arguments.only)) {
        let mesh = &meshes[usize::from(variant.is_surface)];
        let ours = time_ours(folder, variant, mesh, arguments.repeats)?;
        let mut entry = json!({
            "megabytes": ours.bytes / 1e6,
            "read_mb_per_s": ours.bytes / 1e6 / ours.best_read(),
            "write_mb_per_s": ours.bytes / 1e6 / ours.best_write(),
            "read_spread": spread(&ours.read),
            "write_spread": spread(&ours.write),
        });
        if has_meshio && !variant.meshio.is_empty() {
            // Fewer repeats: meshio takes minutes for some text formats, and its best of two is stable.
            if let Some([read, write]) = time_meshio(folder, variant, &arguments.python, arguments.repeats.min(2)) {
                let ratios = [read / ours.best_read(), write / ours.best_write()];
                entry["read_ratio_to_meshio"] = json!(ratios[0]);
                entry["write_ratio_to_meshio"] = json!(ratios[1]);
                let worst = if variant.binary { &mut binary } else { &mut text };
                *worst = worst.min(ratios[0]).min(ratios[1]);
            }
        }
        console.note(&format!("{}: {entry}", variant.name));
        figures.insert(variant.name.into(), entry);
    }
    figures.insert("least_text_ratio".into(), json!(Some(text).filter(|ratio| ratio.is_finite())));
    figures.insert("least_binary_ratio".into(), json!(Some(binary).filter(|ratio| ratio.is_finite())));
    figures.insert("recording".into(), measure_recording(folder)?);
    figures.insert("threads".into(), json!(rayon::current_num_threads()));
    Ok(Value::Object(figures))
}

/// A block of tetrahedra, and a surface with about as many triangles.
fn meshes(cells: u32) -> Result<[MeshData; 2], Failure> {
    let impossible =
        |error: &dyn std::fmt::Display| Failure::Other(format!("cannot build a mesh of {cells} cells: {error}"));
    let edge = (f64::from(cells) / 6.0).cbrt().round().max(1.0) as usize;
    let block = procedural::box_tets(Vec3::splat(0.1), [edge; 3], TetPattern::Kuhn).map_err(|e| impossible(&e))?;
    // A block one cell thick has four triangles per column, two on top and two below.
    let side = (f64::from(cells) / 4.0).sqrt().round().max(1.0) as usize;
    let sheet = procedural::box_tets(Vec3::new(0.1, 0.1, 0.001), [side, side, 1], TetPattern::Kuhn);
    let sheet = sheet.map_err(|e| impossible(&e))?;
    let surface = MeshData::boundary_of(&sheet).map_err(|e| impossible(&e))?;
    // Coordinates with all digits, like measured ones.
    let crooked = |mut mesh: MeshData| {
        for (i, point) in mesh.points.iter_mut().enumerate() {
            let wave = 1e-5 * (i as f64 * 0.7).sin();
            *point += Vec3::new(wave, 0.3 * wave, -0.7 * wave);
        }
        mesh
    };
    Ok([crooked(MeshData::from(&block)), crooked(surface)])
}

/// Seconds of all repeats.
struct Times {
    bytes: f64,
    read: Vec<f64>,
    write: Vec<f64>,
}

impl Times {
    fn best_read(&self) -> f64 {
        self.read.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn best_write(&self) -> f64 {
        self.write.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

fn path_of(folder: &Path, variant: &Variant) -> PathBuf {
    folder.join(variant.name).with_extension(variant.extension)
}

fn time_ours(folder: &Path, variant: &Variant, mesh: &MeshData, repeats: u16) -> Result<Times, Failure> {
    let path = path_of(folder, variant);
    let options =
        WriteOptions { binary: variant.binary, compress: variant.compress, version: variant.version.map(String::from) };
    let mut times = Times { bytes: 0.0, read: Vec::new(), write: Vec::new() };
    for _ in 0..repeats {
        let start = Instant::now();
        let files = sinew_io::save(mesh, &path, &options).map_err(|error| Failure::Other(error.to_string()))?;
        for (path, bytes) in &files {
            std::fs::write(path, bytes)
                .map_err(|source| Failure::Write { what: path.display().to_string(), source })?;
        }
        times.write.push(start.elapsed().as_secs_f64());
        times.bytes = files.iter().map(|(_, bytes)| bytes.len() as f64).sum();
        drop(files);
        let start = Instant::now();
        let back = sinew_io::load(&path).map_err(|error| Failure::Other(error.to_string()))?;
        times.read.push(start.elapsed().as_secs_f64());
        if back.cell_count() != mesh.cell_count() {
            return Err(Failure::Other(format!(
                "{}: {} cells became {}",
                variant.name,
                mesh.cell_count(),
                back.cell_count()
            )));
        }
    }
    Ok(times)
}

/// Seconds of meshio to read our file and to write it in the same variant; the best of some runs.
fn time_meshio(folder: &Path, variant: &Variant, python: &str, repeats: u16) -> Option<[f64; 2]> {
    let script = format!(
        "import meshio, sys, time, contextlib, io\n\
         source, target = sys.argv[1:]\n\
         read, write = [], []\n\
         with contextlib.redirect_stdout(io.StringIO()):\n\
         \x20   for _ in range({repeats}):\n\
         \x20       start = time.perf_counter(); mesh = meshio.read(source); read.append(time.perf_counter() - start)\n\
         \x20       mesh = meshio.Mesh(mesh.points, mesh.cells)\n\
         \x20       start = time.perf_counter(); meshio.write(target, mesh, {}); write.append(time.perf_counter() - start)\n\
         print(min(read), min(write))",
        variant.meshio
    );
    let target = folder.join(format!("meshio-{}", variant.name)).with_extension(variant.extension);
    let output = Command::new(python).arg("-c").arg(script).arg(path_of(folder, variant)).arg(&target).output().ok()?;
    let _ = std::fs::remove_file(&target);
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.lines().last()?.split(' ').filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// Size of a recording of the swinging beam with an error of 1e-4 of its size, relative to single precision.
fn measure_recording(folder: &Path) -> Result<Value, Failure> {
    const ERROR: f64 = 1e-4;
    let overrides = [Override::new("body.beam.mesh.cells", "[24, 6, 6]")];
    let scene = Scene::from_text(super::beam::SCENE, "beam.toml", "", &overrides)?;
    let mut simulation = compile(&scene)?;
    let other = |error: &dyn std::fmt::Display| Failure::Other(error.to_string());
    let mut figures = json!({ "error": ERROR });
    let kinds = [("rounded", ERROR), ("exact", 0.0)];
    let mut writers = Vec::new();
    for (name, error) in kinds {
        let header = Header { frame_rate: scene.frame_rate, ..Header::default() };
        let params = RecordingParams { error, ..RecordingParams::default() };
        let path = folder.join(format!("{name}.sinew"));
        let writer = RecordingWriter::create(&path, header, &params).map_err(|error| other(&error))?;
        writers.push((name, path, writer, 0.0, 0));
    }
    let mut raw = 0;
    for frame in 0..=scene.frame_count() {
        if frame > 0 {
            simulation.step_frame().map_err(|error| other(&error))?;
        }
        let view = simulation.frame();
        raw += view.bodies.iter().map(|body| 24 * body.positions.len()).sum::<usize>();
        for (_, _, writer, seconds, first) in &mut writers {
            let start = Instant::now();
            writer.append(&view).map_err(|error| other(&error))?;
            *seconds += start.elapsed().as_secs_f64();
            if frame == 0 {
                // Header and first frame contain the mesh.
                *first = writer.length();
            }
        }
    }
    for (name, path, writer, seconds, first) in writers {
        let recording = Recording::open(&path).map_err(|error| other(&error))?;
        let start = Instant::now();
        for frame in recording.frames() {
            frame.map_err(|error| other(&error))?;
        }
        let read = start.elapsed().as_secs_f64();
        figures[name] = json!({
            "part_of_raw_f32": (writer.length() - first) as f64 / raw as f64,
            "write_mb_per_s_of_raw_f32": raw as f64 / 1e6 / seconds,
            "read_mb_per_s_of_raw_f32": raw as f64 / 1e6 / read,
        });
    }
    Ok(figures)
}
