//! OBJ sequences: one file per frame with everything visible, one object per body and shape.
//!
//! Positions are those of the scene in meters. OBJ has no up axis; the first line of each file states it.

use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_io::text::push_u64;
use sinew_raster::UpAxis;

use super::FileRecorder;
use super::atomic::AtomicFile;
use super::digits::{push_f32, write_all};
use super::sequence::{Sequence, numbered};
use super::surface::Cast;

/// Writes `<stem>_00012.obj` beside its path for every frame.
pub struct ObjRecorder {
    path: PathBuf,
    up: UpAxis,
    cast: Option<Cast>,
    files: Sequence,
}

impl ObjRecorder {
    /// Starts a sequence; its folder must be writable.
    pub fn create(path: impl Into<PathBuf>, up: UpAxis) -> Result<ObjRecorder, RecordError> {
        let path = path.into();
        AtomicFile::create(&path)?;
        Ok(ObjRecorder { path, up, cast: None, files: Sequence::default() })
    }

    /// Bytes of the file of a frame.
    pub(super) fn encode(cast: &Cast, frame: &Frame<'_>, up: UpAxis) -> Vec<u8> {
        let mut text = comment(up);
        let mut first = 1;
        for (part, positions) in cast.parts.iter().zip(cast.positions(frame)) {
            append_object(&mut text, &part.name, &positions, &part.triangles, first);
            first += positions.len() as u64;
        }
        text
    }
}

impl Recorder for ObjRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let cast = Cast::following(&mut self.cast, frame);
        cast.check(frame, "OBJ")?;
        let bytes = Self::encode(cast, frame, self.up);
        self.files.put(numbered(&self.path, None, frame.index), &bytes)
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.files.keep();
        Ok(())
    }
}

impl FileRecorder for ObjRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }
}

/// The first line: what the numbers mean.
fn comment(up: UpAxis) -> Vec<u8> {
    format!("# Sinew: meters, +{up:?} is up\n").into_bytes()
}

/// A file with one object.
pub(super) fn encode_object(name: &str, positions: &[[f32; 3]], triangles: &[[u32; 3]], up: UpAxis) -> Vec<u8> {
    let mut text = comment(up);
    append_object(&mut text, name, positions, triangles, 1);
    text
}

/// `first` is the index of the object's first vertex; OBJ counts through the whole file, from 1.
fn append_object(text: &mut Vec<u8>, name: &str, positions: &[[f32; 3]], triangles: &[[u32; 3]], first: u64) {
    // A space would end the name for some readers.
    let name: String = name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    text.extend_from_slice(format!("o {name}\n").as_bytes());
    text.append(&mut write_all(positions, |out, position| {
        out.push(b'v');
        for &coordinate in position {
            out.push(b' ');
            push_f32(out, coordinate);
        }
        out.push(b'\n');
    }));
    text.append(&mut write_all(triangles, |out, triangle| {
        out.push(b'f');
        for &vertex in triangle {
            out.push(b' ');
            push_u64(out, u64::from(vertex) + first);
        }
        out.push(b'\n');
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at};

    #[test]
    fn each_shape_is_an_object_in_its_place() {
        let folder = TestFolder::new("obj");
        let mut recorder = ObjRecorder::create(folder.path("shot.obj"), UpAxis::Z).unwrap();
        for index in [0, 5] {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        drop(recorder);
        assert_eq!(folder.entries(), ["shot_00000.obj", "shot_00005.obj"]);
        let text = std::fs::read_to_string(folder.path("shot_00005.obj")).unwrap();
        assert!(text.starts_with("# Sinew: meters, +Z is up\no floor\n"), "{text}");
        let ball = text.split("o ball\n").nth(1).unwrap();
        // The ball of radius 0.2 m is half a meter along x.
        let xs: Vec<f32> = ball
            .lines()
            .filter_map(|line| line.strip_prefix("v "))
            .map(|line| line.split(' ').next().unwrap().parse().unwrap())
            .collect();
        let (low, high) = xs.iter().fold((f32::MAX, f32::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        assert!((low - 0.3).abs() < 2e-3 && (high - 0.7).abs() < 2e-3, "{low} {high}");
        let vertices = text.lines().filter(|line| line.starts_with("v ")).count();
        let largest = text.lines().filter_map(|line| line.strip_prefix("f ")).flat_map(|line| line.split(' '));
        assert_eq!(largest.map(|v| v.parse::<usize>().unwrap()).max(), Some(vertices));
    }

    #[test]
    fn dropped_recorder_leaves_nothing() {
        let folder = TestFolder::new("obj-drop");
        let mut recorder = ObjRecorder::create(folder.path("shot.obj"), UpAxis::Z).unwrap();
        shapes_at(0, &mut |frame| recorder.frame(frame).unwrap());
        assert_eq!(folder.entries().len(), 1);
        drop(recorder);
        assert!(folder.entries().is_empty());
    }
}
