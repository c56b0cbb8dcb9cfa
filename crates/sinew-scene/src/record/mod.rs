//! Where frames go: files that appear whole or not at all.
//!
//! | recorder | file | for |
//! |---|---|---|
//! | [`VtuRecorder`] | `.vtu` per body and frame, `.pvd` | ParaView: cells with stress and strain |
//! | [`UsdRecorder`] | `.usda` | Blender, Houdini: moving surfaces |
//! | [`CsvRecorder`] | `.csv` | tables: probes over time |
//! | [`PictureRecorder`] | `.png`, animated `.png` | the eye |
//!
//! To add a format: a file here with a [`Recorder`], a key in `[record]`, and a line in [`open`].

mod atomic;
mod csv;
mod every;
mod field;
mod names;
mod palette;
mod picture;
mod png;
mod shapes;
mod usd;
mod vtu;

use std::path::{Path, PathBuf};

use sinew_fem::{RecordError, Recorder};

pub use self::atomic::{AtomicFile, write_file};
pub use self::csv::CsvRecorder;
pub use self::every::Every;
pub use self::field::ColorField;
pub(crate) use self::names::escaped;
pub use self::picture::{GroundStyle, PictureParams, PictureRecorder};
pub(crate) use self::png::split_animation;
pub use self::png::{Animation, encode_png, write_png};
pub use self::usd::UsdRecorder;
pub use self::vtu::{CELL_FIELDS, VtuRecorder};
use crate::raster::{FitParams, UpAxis};
use crate::spec::record::Record;
use crate::spec::{Scene, Up};

/// The recorders that `[record]` asks for, writing to `folder`.
pub fn open(scene: &Scene, folder: &Path) -> Result<Vec<Box<dyn Recorder>>, RecordError> {
    let record = &scene.record;
    let mut recorders: Vec<Box<dyn Recorder>> = Vec::new();
    let every = record.every;
    if let Some(name) = record.csv.file_name("probes.csv") {
        recorders.push(Box::new(Every::new(every, CsvRecorder::create(folder.join(name))?)));
    }
    if let Some(name) = record.vtu.file_name("cells.pvd") {
        let path = folder.join(name).with_extension("pvd");
        recorders.push(Box::new(Every::new(every, VtuRecorder::create(path, record.fields.clone())?)));
    }
    if let Some(name) = record.usd.file_name("surface.usda") {
        let recorder = UsdRecorder::create(folder.join(name), up_axis(scene.up), scene.frame_rate)?;
        recorders.push(Box::new(Every::new(every, recorder)));
    }
    let params = picture_params(scene, folder)?;
    if params.stills.is_some() || params.animation.is_some() {
        recorders.push(Box::new(Every::new(every, PictureRecorder::create(params)?)));
    }
    Ok(recorders)
}

/// The file of the animation, which a report shows too; `None` when nothing asks for one.
pub(crate) fn animation_path(record: &Record, folder: &Path) -> Option<PathBuf> {
    let usual = "animation.png";
    let asked = record.apng.file_name(usual);
    asked.or_else(|| record.report.file_name(usual).map(|_| usual)).map(|name| folder.join(name))
}

fn picture_params(scene: &Scene, folder: &Path) -> Result<PictureParams, RecordError> {
    let record = &scene.record;
    let f32s = |v: [f64; 3]| v.map(|c| c as f32);
    let color = record.color.as_deref().map(ColorField::from_name).transpose()?;
    Ok(PictureParams {
        stills: record.png.file_name("frame.png").map(|name| folder.join("frames").join(name)),
        animation: animation_path(record, folder),
        size: record.size,
        up: up_axis(scene.up),
        eye: record.camera.eye.map(f32s),
        target: record.camera.target.map(f32s),
        camera_up: record.camera.up.map(f32s),
        fit: FitParams { field_of_view: record.camera.fov as f32, ..FitParams::default() },
        color,
        range: record.range,
        ground: if record.ground { GroundStyle::Checker } else { GroundStyle::None },
        title: scene.title.clone(),
    })
}

fn up_axis(up: Up) -> UpAxis {
    match up {
        Up::X => UpAxis::X,
        Up::Y => UpAxis::Y,
        Up::Z => UpAxis::Z,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use sinew_fem::{Frame, ShapeFrame, StepReport};
    use sinew_geometry::shape::{AnyShape, Plane, Pose, Sphere};
    use sinew_math::Vec3;

    /// Shows a frame with a level floor at z = −0.5 m and a ball that moves along x by a decimetre per frame.
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
            probe_values: &[index as f64],
            report: &report,
        });
    }

    /// An empty folder that is removed with everything in it.
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

        /// Names of what is directly inside, sorted.
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
