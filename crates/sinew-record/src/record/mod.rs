//! Recorders, which write frames to files. A file appears complete or not at all.
//!
//! | recorder | file | for |
//! |---|---|---|
//! | [`VtuRecorder`] | `.vtu` per body and frame, `.pvd` | ParaView: cells with stress and strain |
//! | [`UsdRecorder`] | `.usda`, `.usdc`, `.usdz` | Blender, Houdini: moving surfaces |
//! | [`GlbRecorder`] | `.glb` | web pages and engines: moving surfaces, nearly exact |
//! | [`ObjRecorder`], [`PlyRecorder`] | `.obj`, `.ply` per frame | everything that reads meshes |
//! | [`PointCacheRecorder`] | `.pc2`, `.mdd` per body | Blender, Maya, 3ds Max: motion of an existing mesh |
//! | [`CsvRecorder`] | `.csv` | tables: probes over time |
//! | [`PlotRecorder`] | `.svg` and `.csv` per plot | print |
//! | [`NpzRecorder`] | `.npz` | NumPy: everything as arrays |
//! | [`PictureRecorder`] | `.png`, animated `.png`, `.gif`, `.mp4`, `.webm` | the eye |
//!
//! To add a format: a file here with a [`Recorder`], a key in `[record]`, a line in [`open`], and a row in
//! [`crate::convert::OutputFormat`].

mod atomic;
mod csv;
mod digits;
mod every;
mod field;
mod gif;
mod glb;
mod interleaved;
pub(crate) mod names;
mod npz;
mod obj;
mod painter;
mod palette;
mod picture;
mod plots;
mod ply;
mod png;
mod point_cache;
pub(crate) mod sequence;
pub(crate) mod shapes;
pub(crate) mod size;
pub(crate) mod skin;
mod studio;
mod surface;
mod usd;
mod video;
mod vtu;
mod zip;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_raster::{FitParams, UpAxis};
use sinew_scene::output::{SkinFormat, animation_path, skin_files};
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::record::{Camera, Record};
use sinew_scene::spec::{Scene, Up};
use sinew_scene::{Character, SceneCharacter};

pub use self::atomic::{AtomicFile, give_up_unfinished, write_file};
pub use self::csv::CsvRecorder;
pub use self::every::Every;
pub use self::field::ColorField;
pub use self::glb::{GlbParams, GlbRecorder, MAX_MORPH_TARGETS};
pub(crate) use self::names::escaped;
pub use self::npz::NpzRecorder;
pub use self::obj::ObjRecorder;
pub use self::picture::{GroundStyle, PictureParams, PictureRecorder};
pub use self::plots::PlotRecorder;
pub use self::ply::PlyRecorder;
pub use self::png::{Animation, encode_png, write_png};
pub(crate) use self::png::{encode_indexed_pngs, split_animation};
pub use self::point_cache::{PointCache, PointCacheRecorder};
pub use self::size::Estimate;
use self::skin::{Shutter, SkinRecorder, Stand};
pub use self::usd::UsdRecorder;
pub use self::vtu::{CELL_FIELDS, VtuRecorder};
use crate::costume::Wardrobe;

/// A recorder that lists its files.
pub(crate) trait FileRecorder: Recorder {
    /// Files written so far; complete after `finish`.
    fn files(&self) -> Vec<PathBuf>;
    /// Takes a frame into account that is not written.
    fn look(&mut self, _frame: &Frame<'_>) {}
}

/// The recorders of `[record]`, writing to `folder`.
pub fn open(scene: &Scene, folder: &Path) -> Result<Vec<Box<dyn Recorder>>, RecordError> {
    let record = &scene.record;
    let has_use = !record.skin.is_empty() || record.pictures && record.textures;
    let characters = if has_use { load_characters(scene)? } else { Vec::new() };
    let wardrobe = if record.pictures { Wardrobe::of(scene, &characters) } else { Wardrobe::default() };
    open_with(scene, folder, &characters, &Arc::new(wardrobe))
}

/// Like [`open`], with the characters of the scene, which have already been read, and their materials.
pub fn open_with(
    scene: &Scene,
    folder: &Path,
    characters: &[SceneCharacter],
    wardrobe: &Arc<Wardrobe>,
) -> Result<Vec<Box<dyn Recorder>>, RecordError> {
    let record = &scene.record;
    let (up, every) = (up_axis(scene.up), record.every);
    let mut recorders: Vec<Box<dyn Recorder>> = Vec::new();
    if let Some(name) = record.csv.file_name("probes.csv") {
        recorders.push(due(every, CsvRecorder::create(folder.join(name))?));
    }
    if let Some(name) = record.vtu.file_name("cells.pvd") {
        let path = folder.join(name).with_extension("pvd");
        recorders.push(due(every, VtuRecorder::create(path, record.fields.clone())?));
    }
    if let Some(name) = record.usd.file_name("surface.usda") {
        let recorder = UsdRecorder::create(folder.join(name), up, scene.frame_rate)?;
        recorders.push(due(every, recorder.with_clips(record.clips)));
    }
    if let Some(name) = record.glb.file_name("surface.glb") {
        let params = GlbParams { up, morph_targets: record.morph_targets, title: scene.title.clone() };
        recorders.push(due(every, GlbRecorder::create(folder.join(name).with_extension("glb"), params)?));
    }
    // Files of a sequence have their own folder.
    if let Some(name) = record.obj.file_name("surface.obj") {
        recorders.push(due(every, ObjRecorder::create(folder.join("obj").join(name).with_extension("obj"), up)?));
    }
    if let Some(name) = record.ply.file_name("surface.ply") {
        recorders.push(due(every, PlyRecorder::create(folder.join("ply").join(name).with_extension("ply"), up)?));
    }
    let caches = [(&record.pc2, PointCache::Pc2, "pc2"), (&record.mdd, PointCache::Mdd, "mdd")];
    for (output, kind, extension) in caches {
        if let Some(name) = output.file_name("points") {
            let path = folder.join(name).with_extension(extension);
            recorders.push(due(every, PointCacheRecorder::create(path, kind, up)?));
        }
    }
    for name in &record.skin {
        open_skins(scene, folder, name, characters, &mut recorders)?;
    }
    if let Some(name) = record.npz.file_name("arrays.npz") {
        recorders.push(due(every, NpzRecorder::create(folder.join(name).with_extension("npz"))?));
    }
    if record.plots {
        recorders.push(due(every, PlotRecorder::create(folder.join("plots").join(".svg"))));
    }
    if !record.pictures {
        return Ok(recorders);
    }
    let params = PictureParams {
        expected: Some(scene.frame_count() / every + 1),
        stills: record.png.file_name("frame.png").map(|name| folder.join("frames").join(name).with_extension("png")),
        films: animation_path(record, folder)
            .into_iter()
            .chain(record.films.iter().map(|name| folder.join(name)))
            .collect(),
        wardrobe: wardrobe.clone(),
        ..picture_params(record, scene.up, scene.title.as_deref())?
    };
    if params.stills.is_some() || !params.films.is_empty() {
        recorders.push(due(every, PictureRecorder::create(params)?));
    }
    Ok(recorders)
}

/// Reads the characters of a scene.
fn load_characters(scene: &Scene) -> Result<Vec<SceneCharacter>, RecordError> {
    let mut characters = Vec::new();
    for (body, data) in scene.body.iter().enumerate() {
        let (Some(settings), Mesh::Fill(mesh)) = (&data.rig, &data.mesh) else { continue };
        let character = Character::load(scene.source.folder(), &mesh.surface, settings, mesh.repair)
            .map_err(|mut problems| problems.pop().map_or_else(String::new, |(_, reason)| reason))
            .map_err(|reason| RecordError::Unsupported { format: "skin", reason })?;
        characters.push(SceneCharacter {
            body,
            character: Arc::new(character),
            bones: Vec::new(),
            paint: Arc::default(),
        });
    }
    Ok(characters)
}

/// Opens the files of [`skin_files`].
fn open_skins(
    scene: &Scene,
    folder: &Path,
    name: &str,
    characters: &[SceneCharacter],
    recorders: &mut Vec<Box<dyn Recorder>>,
) -> Result<(), RecordError> {
    let Some(format) = SkinFormat::of(name) else { return Ok(()) };
    let mut files = skin_files(scene, name).into_iter();
    for (body, data) in scene.body.iter().enumerate() {
        let (Some(settings), Mesh::Fill(_)) = (&data.rig, &data.mesh) else { continue };
        let Some(read) = characters.iter().find(|read| read.body == body) else { continue };
        let character = read.character.clone();
        let Some(path) = files.next().map(|file| folder.join(file)) else { break };
        let stand = Stand {
            body,
            scale: data.scale,
            place: pose(data.position, data.rotation.as_ref()),
            up: up_axis(scene.up),
            morph_targets: scene.record.morph_targets,
            correctives: scene.record.correctives,
        };
        let shutter = Shutter {
            frame_rate: scene.frame_rate,
            every: scene.record.every,
            frames: scene.record.skin_frames,
            open: scene.record.skin_shutter,
        };
        let recorder = SkinRecorder::create(path, format, character, settings.clone(), stand, shutter)?;
        // Images stand beside the first file.
        let has_images = scene.record.skin.first().is_some_and(|first| first == name);
        recorders.push(match &scene.record.skin_maps {
            Some(maps) => Box::new(recorder.with_maps(maps.clone(), has_images)),
            None => Box::new(recorder),
        });
    }
    Ok(())
}

/// A recorder of every `every`-th frame.
fn due(every: usize, recorder: impl Recorder + 'static) -> Box<dyn Recorder> {
    Box::new(Every::new(every, recorder))
}

/// Parameters of pictures, without their paths.
pub(crate) fn picture_params(record: &Record, up: Up, title: Option<&str>) -> Result<PictureParams, RecordError> {
    let f32s = |v: [f64; 3]| v.map(|c| c as f32);
    let color = record.color.as_deref().map(ColorField::from_name).transpose()?;
    let usual = PictureParams::default().with_size(record.size);
    Ok(PictureParams {
        animation_frames: record.apng_frames,
        animation_rate: record.apng_rate,
        speed: record.speed,
        up: up_axis(up),
        eye: record.camera.eye.map(f32s),
        target: record.camera.target.map(f32s),
        camera_up: record.camera.up.map(f32s),
        fit: fit_params(&record.camera),
        color,
        range: record.range,
        ground: if record.ground { GroundStyle::Checker } else { GroundStyle::None },
        background: record.background,
        title: title.map(String::from),
        captions: record.captions,
        edges: record.edges,
        scale_bar: record.scale_bar,
        show: record.show.clone(),
        ..usual
    })
}

/// Direction and lens of the automatic camera.
pub(crate) fn fit_params(camera: &Camera) -> FitParams {
    let usual = FitParams::default();
    let [azimuth, elevation] = match camera.view {
        Some(view) => view.angles().map(|angle| angle as f32),
        None => [usual.azimuth, usual.elevation],
    };
    FitParams {
        azimuth: camera.azimuth.map_or(azimuth, |angle| angle as f32),
        elevation: camera.elevation.map_or(elevation, |angle| angle as f32),
        field_of_view: camera.fov as f32,
        ..usual
    }
}

pub(crate) fn up_axis(up: Up) -> UpAxis {
    match up {
        Up::X => UpAxis::X,
        Up::Y => UpAxis::Y,
        Up::Z => UpAxis::Z,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use sinew_fem::{BodyFrame, CellSource, Frame, ShapeFrame, StepReport};
    use sinew_geometry::CellMesh;
    use sinew_geometry::shape::{AnyShape, Plane, Pose, Sphere};
    use sinew_math::{Mat3, Vec3};

    /// Shows a frame with a level floor at z = −0.5 m and a ball that moves along x by a decimeter per frame.
    pub(crate) fn shapes_at(index: usize, show: &mut dyn FnMut(&Frame<'_>)) {
        let floor = AnyShape::from(Plane::new(Vec3::new(0.0, 0.0, -0.5), Vec3::new(0.0, 0.0, 1.0)).unwrap());
        let ball = AnyShape::from(Sphere::new(0.2).unwrap());
        let report = StepReport::default();
        let place = Pose::from_translation(Vec3::new(0.1 * index as f64, 0.0, 0.0));
        let shape = |name, shape, pose| ShapeFrame { name, shape, pose, is_dynamic: false };
        show(&Frame {
            index,
            time: index as f64 / 60.0,
            topology_revision: 0,
            bodies: Vec::new(),
            shapes: vec![shape("floor", &floor, Pose::identity()), shape("ball", &ball, place)],
            probe_names: &["energy.total".to_string()],
            contacts: &[],
            probe_values: &[index as f64],
            report: &report,
        });
    }

    /// Cells without deformation.
    struct NoCells;

    impl CellSource for NoCells {
        fn evaluate(&self) -> (Vec<Mat3>, Option<Vec<Mat3>>) {
            (Vec::new(), None)
        }
    }

    /// Shows a frame with `count` tetrahedra, `tet0`, `tet1` …, that move along x by a decimeter per frame, 60 times a
    /// second.
    pub(crate) fn tets_at(index: usize, count: usize, show: &mut dyn FnMut(&Frame<'_>)) {
        let rest = vec![Vec3::zero(), Vec3::unit(0), Vec3::unit(1), Vec3::unit(2)];
        let (mesh, _) = CellMesh::from_tets(rest, &[[0, 1, 2, 3]]).unwrap();
        let (surface, nodes) = mesh.boundary_surface().unwrap();
        let moved: Vec<Vec3> = mesh.positions().iter().map(|&x| x + Vec3::unit(0) * (0.1 * index as f64)).collect();
        let velocities = vec![Vec3::unit(0) * 6.0; 4];
        let names: Vec<String> = (0..count).map(|number| format!("tet{number}")).collect();
        let body = |name| BodyFrame {
            name,
            mesh: &mesh,
            positions: &moved,
            velocities: &velocities,
            surface_triangles: surface.triangles(),
            surface_positions: nodes.iter().map(|&node| moved[node as usize]).collect(),
            is_surface_carried: true,
            surface_nodes: &nodes,
            surface_embedding: None,
            cells: Box::new(NoCells),
        };
        show(&Frame {
            index,
            time: index as f64 / 60.0,
            topology_revision: 0,
            bodies: names.iter().map(|name| body(name)).collect(),
            shapes: Vec::new(),
            probe_names: &["energy.total".to_string()],
            contacts: &[],
            probe_values: &[index as f64],
            report: &StepReport::default(),
        });
    }

    /// An empty folder that is removed with its contents at the end.
    pub(crate) struct TestFolder(PathBuf);

    impl TestFolder {
        pub fn new(name: &str) -> TestFolder {
            let path = std::env::temp_dir().join(format!("sinew-test-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            TestFolder(path)
        }

        pub fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        /// Names of its direct entries, sorted.
        pub fn entries(&self) -> Vec<String> {
            let mut names: Vec<String> = std::fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
