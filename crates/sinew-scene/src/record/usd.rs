//! USDA: moving surfaces for Blender, Houdini, Maya and usdview.
//!
//! One text file with a `Mesh` per body whose points are sampled over time, and one per rigid shape whose transform is.
//! USD groups samples by attribute, not by time, so samples are spooled beside the file until the end.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_math::Vec3;

use super::atomic::{AtomicFile, Spool};
use super::names::identifier;
use super::shapes::{points_f32, shape_mesh, transform_rows};
use crate::raster::{Bounds, Rgb, ShapeMesh, UpAxis};

/// Writes time-sampled meshes. Lengths are metres; time codes are frames.
pub struct UsdRecorder {
    path: PathBuf,
    up: UpAxis,
    frame_rate: f64,
    /// `None` until the first frame shows what there is.
    meshes: Option<Vec<MeshSamples>>,
    topology_revision: u64,
    /// First and last time code.
    range: Option<[f64; 2]>,
    is_finished: bool,
}

struct MeshSamples {
    name: String,
    triangles: Vec<[u32; 3]>,
    vertex_count: usize,
    color: Rgb,
    /// Points of a shape that only moves rigidly; its samples are transforms.
    rigid_points: Option<Vec<[f32; 3]>>,
    samples: Spool,
    extents: Spool,
}

impl UsdRecorder {
    /// Starts a file; it appears when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>, up: UpAxis, frame_rate: f64) -> Result<UsdRecorder, RecordError> {
        let path = path.into();
        // Fails now rather than at the end of a long run when the folder cannot be written.
        AtomicFile::create(&path)?;
        Ok(UsdRecorder { path, up, frame_rate, meshes: None, topology_revision: 0, range: None, is_finished: false })
    }

    fn begin(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let mut meshes: Vec<MeshSamples> = Vec::new();
        let mut names = Vec::new();
        for (number, body) in frame.bodies.iter().enumerate() {
            names.push(identifier(body.name, &names));
            meshes.push(MeshSamples {
                name: names[names.len() - 1].clone(),
                triangles: body.surface_triangles.to_vec(),
                vertex_count: body.surface_positions.len(),
                color: Rgb::of_body(number),
                rigid_points: None,
                samples: Spool::create(&self.path)?,
                extents: Spool::create(&self.path)?,
            });
        }
        for shape in &frame.shapes {
            let ShapeMesh { positions, triangles } = shape_mesh(shape.shape, 24);
            names.push(identifier(shape.name, &names));
            meshes.push(MeshSamples {
                name: names[names.len() - 1].clone(),
                triangles,
                vertex_count: positions.len(),
                color: Rgb([0.6, 0.62, 0.65]),
                rigid_points: Some(positions),
                samples: Spool::create(&self.path)?,
                extents: Spool::create(&self.path)?,
            });
        }
        self.topology_revision = frame.topology_revision;
        self.meshes = Some(meshes);
        Ok(())
    }

    /// Time code of a time, free of the last digits of floating point: 0.1 s at 60 Hz is frame 6.
    fn time_code(&self, time: f64) -> f64 {
        (time * self.frame_rate * 1e6).round() / 1e6
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let mut out = AtomicFile::create(&self.path)?;
        let [start, end] = self.range.unwrap_or([0.0, 0.0]);
        // USD knows two up axes; a world with x up is turned about y.
        let (axis, turn) = match self.up {
            UpAxis::Y => ("Y", ""),
            UpAxis::Z => ("Z", ""),
            UpAxis::X => (
                "Z",
                "    matrix4d xformOp:transform = ( (0, 0, 1, 0), (0, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 1) )\n    uniform token[] xformOpOrder = [\"xformOp:transform\"]\n",
            ),
        };
        let rate = self.frame_rate;
        out.put(
            format!(
                "#usda 1.0\n(\n    defaultPrim = \"World\"\n    endTimeCode = {end}\n    framesPerSecond = {rate}\n    metersPerUnit = 1\n    startTimeCode = {start}\n    timeCodesPerSecond = {rate}\n    upAxis = \"{axis}\"\n)\n\ndef Xform \"World\" (\n    kind = \"component\"\n)\n{{\n{turn}"
            )
            .as_bytes(),
        )?;
        for mesh in self.meshes.iter_mut().flatten() {
            mesh.write(&mut out)?;
        }
        out.put(b"}\n")?;
        out.commit()
    }
}

impl Recorder for UsdRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.meshes.is_none() {
            self.begin(frame)?;
        }
        let code = self.time_code(frame.time);
        let path = self.path.clone();
        let meshes = self.meshes.as_deref_mut().unwrap_or_default();
        let count = frame.bodies.len() + frame.shapes.len();
        let is_same = frame.topology_revision == self.topology_revision
            && meshes.len() == count
            && frame
                .bodies
                .iter()
                .zip(meshes.iter())
                .all(|(body, mesh)| body.surface_positions.len() == mesh.vertex_count);
        if !is_same {
            return Err(RecordError::Unsupported {
                format: "USD",
                reason: format!("the surfaces at frame {} are not those of the first frame", frame.index),
            });
        }
        let io = |source| RecordError::Io { path: path.clone(), source };
        for (body, mesh) in frame.bodies.iter().zip(meshes.iter_mut()) {
            mesh.sample_points(code, &points_f32(&body.surface_positions)).map_err(io)?;
        }
        for (shape, mesh) in frame.shapes.iter().zip(&mut meshes[frame.bodies.len()..]) {
            mesh.sample_transform(code, transform_rows(&shape.pose)).map_err(io)?;
        }
        let [start, _] = self.range.unwrap_or([code, code]);
        self.range = Some([start, code]);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if !self.is_finished {
            self.is_finished = true;
            self.write()?;
            // Gives the disk space of the spools back.
            self.meshes = None;
        }
        Ok(())
    }
}

impl MeshSamples {
    fn sample_points(&mut self, code: f64, points: &[[f32; 3]]) -> std::io::Result<()> {
        writeln!(self.samples, "            {code}: {},", tuples(points))?;
        let bounds = extent(points);
        writeln!(self.extents, "            {code}: {},", tuples(&bounds))
    }

    fn sample_transform(&mut self, code: f64, rows: [Vec3; 4]) -> std::io::Result<()> {
        let row = |i: usize, w: i32| format!("({}, {}, {}, {w})", rows[i].x, rows[i].y, rows[i].z);
        writeln!(self.samples, "            {code}: ( {}, {}, {}, {} ),", row(0, 0), row(1, 0), row(2, 0), row(3, 1))
    }

    fn write(&mut self, out: &mut AtomicFile) -> Result<(), RecordError> {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(text, "\n    def Mesh \"{}\"\n    {{\n", self.name);
        out.put(text.as_bytes())?;
        match &self.rigid_points {
            None => {
                out.put(b"        float3[] extent.timeSamples = {\n")?;
                self.extents.copy_to(out)?;
                out.put(b"        }\n        point3f[] points.timeSamples = {\n")?;
                self.samples.copy_to(out)?;
                out.put(b"        }\n")?;
            }
            Some(points) => {
                out.put(format!("        float3[] extent = {}\n", tuples(&extent(points))).as_bytes())?;
                out.put(format!("        point3f[] points = {}\n", tuples(points)).as_bytes())?;
                out.put(b"        matrix4d xformOp:transform.timeSamples = {\n")?;
                self.samples.copy_to(out)?;
                out.put(b"        }\n        uniform token[] xformOpOrder = [\"xformOp:transform\"]\n")?;
            }
        }
        let counts = vec!["3"; self.triangles.len()].join(", ");
        let indices: Vec<String> = self.triangles.iter().flatten().map(u32::to_string).collect();
        let [r, g, b] = self.color.to_linear();
        let rest = format!(
            "        int[] faceVertexCounts = [{counts}]\n        int[] faceVertexIndices = [{}]\n        color3f[] primvars:displayColor = [({r}, {g}, {b})]\n        uniform token subdivisionScheme = \"none\"\n    }}\n",
            indices.join(", ")
        );
        out.put(rest.as_bytes())
    }
}

/// `[(x, y, z), …]` with as many digits as an f32 holds.
fn tuples(points: &[[f32; 3]]) -> String {
    let mut text = String::with_capacity(34 * points.len() + 2);
    text.push('[');
    for (i, [x, y, z]) in points.iter().enumerate() {
        let _ = write!(text, "{}({x}, {y}, {z})", if i > 0 { ", " } else { "" });
    }
    text.push(']');
    text
}

fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let bounds = Bounds::of(points);
    if bounds.is_empty() { [[0.0; 3]; 2] } else { [bounds.min, bounds.max] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    fn recorder(folder: &TestFolder, up: UpAxis) -> UsdRecorder {
        let mut recorder = UsdRecorder::create(folder.path("a.usda"), up, 24.0).unwrap();
        let spool = || Spool::create(&folder.path("a.usda")).unwrap();
        let mesh = |name: &str, rigid_points| MeshSamples {
            name: name.into(),
            triangles: vec![[0, 1, 2]],
            vertex_count: 3,
            color: Rgb::of_body(0),
            rigid_points,
            samples: spool(),
            extents: spool(),
        };
        recorder.meshes = Some(vec![mesh("flesh", None), mesh("bone", Some(vec![[0.0; 3]; 3]))]);
        recorder
    }

    #[test]
    fn samples_are_grouped_under_their_attributes() {
        let folder = TestFolder::new("usd");
        let mut recorder = recorder(&folder, UpAxis::Z);
        for frame in 0..3 {
            let code = recorder.time_code(frame as f64 / 24.0);
            let meshes = recorder.meshes.as_mut().unwrap();
            meshes[0].sample_points(code, &[[0.0, 0.5, frame as f32], [1.0; 3], [2.0, 0.0, 0.0]]).unwrap();
            let rows =
                [Vec3::new(1., 0., 0.), Vec3::new(0., 1., 0.), Vec3::new(0., 0., 1.), Vec3::new(frame as f64, 0., 0.)];
            meshes[1].sample_transform(code, rows).unwrap();
            recorder.range = Some([0.0, code]);
        }
        recorder.finish().unwrap();
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        for needle in [
            "#usda 1.0",
            "upAxis = \"Z\"",
            "metersPerUnit = 1",
            "timeCodesPerSecond = 24",
            "startTimeCode = 0",
            "endTimeCode = 2",
            "defaultPrim = \"World\"",
            "            2: [(0, 0.5, 2), (1, 1, 1), (2, 0, 0)],",
            "            1: [(0, 0, 0), (2, 1, 1)],",
            "            2: ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (2, 0, 0, 1) ),",
            "int[] faceVertexIndices = [0, 1, 2]",
            "subdivisionScheme = \"none\"",
        ] {
            assert!(text.contains(needle), "{needle} is missing in\n{text}");
        }
        for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
            assert_eq!(text.matches(open).count(), text.matches(close).count(), "{open} {close} balance");
        }
        assert_eq!(folder.entries(), ["a.usda"], "no spool is left");
    }

    #[test]
    fn rigid_shapes_are_sampled_as_transforms() {
        let folder = TestFolder::new("usd-rigid");
        let mut recorder = UsdRecorder::create(folder.path("a.usda"), UpAxis::Z, 60.0).unwrap();
        for index in 0..3 {
            crate::record::tests::shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        assert!(text.contains("def Mesh \"ball\"") && text.contains("endTimeCode = 2"), "{text}");
        assert!(text.contains("2: ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.2, 0, 0, 1) ),"), "{text}");
    }

    #[test]
    fn x_up_is_turned_to_z_up() {
        let folder = TestFolder::new("usd-x");
        let mut recorder = recorder(&folder, UpAxis::X);
        recorder.finish().unwrap();
        let text = std::fs::read_to_string(folder.path("a.usda")).unwrap();
        assert!(text.contains("upAxis = \"Z\"") && text.contains("(0, 0, 1, 0), (0, 1, 0, 0), (-1, 0, 0, 0)"));
    }
}
