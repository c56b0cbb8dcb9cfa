//! PLY sequences: one binary file per frame for each body and shape.
//!
//! PLY has neither groups nor names, so one file for everything would merge the bodies. A sequence per body has the
//! same vertices at every frame, as programs that load sequences expect.

use std::path::PathBuf;

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_raster::UpAxis;

use super::FileRecorder;
use super::atomic::AtomicFile;
use super::sequence::{Sequence, numbered};
use super::surface::{Cast, Part};

/// Writes `<stem>_<body>_00012.ply` beside its path for every frame; without the name if there is only one body.
pub struct PlyRecorder {
    path: PathBuf,
    up: UpAxis,
    cast: Option<Cast>,
    files: Sequence,
}

impl PlyRecorder {
    /// Starts a sequence; its folder must be writable.
    pub fn create(path: impl Into<PathBuf>, up: UpAxis) -> Result<PlyRecorder, RecordError> {
        let path = path.into();
        AtomicFile::create(&path)?;
        Ok(PlyRecorder { path, up, cast: None, files: Sequence::default() })
    }

    /// Bytes of all files of a frame.
    pub(super) fn frame_size(cast: &Cast, up: UpAxis) -> u64 {
        let size = |part: &Part| header(part, up).len() + 12 * part.vertex_count + 13 * part.triangles.len();
        cast.parts.iter().map(|part| size(part) as u64).sum()
    }
}

impl Recorder for PlyRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let cast = Cast::following(&mut self.cast, frame);
        cast.check(frame, "PLY")?;
        let is_single = cast.parts.len() == 1;
        for ((part, stem), positions) in cast.parts.iter().zip(cast.file_stems()).zip(cast.positions(frame)) {
            let name = (!is_single).then_some(stem.as_str());
            self.files.put(numbered(&self.path, name, frame.index), &encode(part, &positions, self.up))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.files.keep();
        Ok(())
    }
}

impl FileRecorder for PlyRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
    }
}

fn header(part: &Part, up: UpAxis) -> Vec<u8> {
    let name: String = part.name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    format!(
        "ply\nformat binary_little_endian 1.0\ncomment {name}: meters, +{up:?} is up\nelement vertex {}\n\
         property float x\nproperty float y\nproperty float z\nelement face {}\n\
         property list uchar int vertex_indices\nend_header\n",
        part.vertex_count,
        part.triangles.len()
    )
    .into_bytes()
}

fn encode(part: &Part, positions: &[[f32; 3]], up: UpAxis) -> Vec<u8> {
    let mut bytes = header(part, up);
    bytes.reserve(12 * positions.len() + 13 * part.triangles.len());
    bytes.extend(positions.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    for triangle in &part.triangles {
        bytes.push(3);
        bytes.extend(triangle.iter().flat_map(|vertex| vertex.to_le_bytes()));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at};

    #[test]
    fn each_shape_has_a_sequence_of_its_own() {
        let folder = TestFolder::new("ply");
        let mut recorder = PlyRecorder::create(folder.path("shot.ply"), UpAxis::Y).unwrap();
        let mut predicted = 0;
        for index in 0..2 {
            shapes_at(index, &mut |frame| {
                recorder.frame(frame).unwrap();
                predicted += PlyRecorder::frame_size(&Cast::of(frame), UpAxis::Y);
            });
        }
        recorder.finish().unwrap();
        let names = ["shot_ball_00000.ply", "shot_ball_00001.ply", "shot_floor_00000.ply", "shot_floor_00001.ply"];
        assert_eq!(folder.entries(), names);
        let bytes = std::fs::read(folder.path("shot_ball_00001.ply")).unwrap();
        let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
        let first = f32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
        assert!((first - 0.1).abs() < 0.21, "{first}");
        let written: u64 = recorder.files().iter().map(|file| std::fs::metadata(file).unwrap().len()).sum();
        assert_eq!(written, predicted);
    }
}
