//! Point caches: the visible surface of a body at every frame, exactly, for programs that animate a mesh with them.
//!
//! PC2 (3ds Max, Blender): `"POINTCACHE2\0"`, version 1, number of points, start frame, frames per sample, number of
//! samples, then x y z of every point at every sample; little-endian. MDD (LightWave, Maya, Blender): number of
//! samples, number of points, times \[s\], then the same; big-endian. Neither knows triangles, so the surface at rest
//! lies beside each cache as an OBJ file with the vertices in the same order.

use std::path::{Path, PathBuf};

use sinew_fem::{Frame, RecordError, Recorder};
use sinew_raster::UpAxis;
use sinew_scene::output::with_part;

use super::FileRecorder;
use super::atomic::{AtomicFile, write_file};
use super::interleaved::Interleaved;
use super::obj::encode_object;
use super::shapes::points_f32;
use super::surface::{Cast, rest_surface};

/// Kind of point cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCache {
    /// `.pc2`
    Pc2,
    /// `.mdd`
    Mdd,
}

impl PointCache {
    fn name(self) -> &'static str {
        match self {
            PointCache::Pc2 => "PC2",
            PointCache::Mdd => "MDD",
        }
    }

    /// Bytes of a cache.
    pub(super) fn size(self, points: usize, samples: usize) -> u64 {
        let head = match self {
            PointCache::Pc2 => 32,
            PointCache::Mdd => 8 + 4 * samples as u64,
        };
        head + 12 * points as u64 * samples as u64
    }

    pub(super) fn encode_points(self, points: &[[f32; 3]]) -> Vec<u8> {
        let flat = points.as_flattened().iter();
        match self {
            PointCache::Pc2 => flat.flat_map(|x| x.to_le_bytes()).collect(),
            PointCache::Mdd => flat.flat_map(|x| x.to_be_bytes()).collect(),
        }
    }

    /// `times` \[s\] and `frames` are those of the samples.
    pub(super) fn encode_head(self, points: i32, samples: i32, times: &[f64], frames: &[f64]) -> Vec<u8> {
        let mut head = Vec::new();
        match self {
            PointCache::Pc2 => {
                head.extend_from_slice(b"POINTCACHE2\0");
                head.extend(1i32.to_le_bytes());
                head.extend(points.to_le_bytes());
                head.extend((frames.first().copied().unwrap_or(0.0) as f32).to_le_bytes());
                head.extend(frames_per_sample(frames).to_le_bytes());
                head.extend(samples.to_le_bytes());
            }
            PointCache::Mdd => {
                head.extend(samples.to_be_bytes());
                head.extend(points.to_be_bytes());
                head.extend(times.iter().flat_map(|&time| (time as f32).to_be_bytes()));
            }
        }
        head
    }
}

/// Frames from one sample to the next.
fn frames_per_sample(frames: &[f64]) -> f32 {
    match frames {
        [first, .., last] => ((last - first) / (frames.len() - 1) as f64) as f32,
        _ => 1.0,
    }
}

/// Writes a cache per body, and the body at rest as `<stem>_rest.obj` beside it.
///
/// A single body has the given file name; for several bodies, their names are appended.
pub struct PointCacheRecorder {
    path: PathBuf,
    kind: PointCache,
    up: UpAxis,
    cast: Option<Cast>,
    bodies: Vec<Body>,
    /// Points of all bodies at all frames so far; the header with their number comes first in the files.
    points: Option<Interleaved>,
    times: Vec<f64>,
    frames: Vec<f64>,
    files: Vec<PathBuf>,
    is_finished: bool,
}

struct Body {
    path: PathBuf,
    rest: Vec<[f32; 3]>,
}

impl PointCacheRecorder {
    /// Starts the caches; they appear when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>, kind: PointCache, up: UpAxis) -> Result<PointCacheRecorder, RecordError> {
        let path = path.into();
        AtomicFile::create(&path)?;
        Ok(PointCacheRecorder {
            path,
            kind,
            up,
            cast: None,
            bodies: Vec::new(),
            points: None,
            times: Vec::new(),
            frames: Vec::new(),
            files: Vec::new(),
            is_finished: false,
        })
    }

    fn begin(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let cast = Cast::of(frame);
        let is_single = cast.body_count == 1;
        for (body, stem) in frame.bodies.iter().zip(cast.file_stems()) {
            let path = with_part(&self.path, (!is_single).then_some(&stem));
            self.bodies.push(Body { path, rest: points_f32(&rest_surface(body)) });
        }
        self.points = Some(Interleaved::create(&self.path, self.bodies.len())?);
        self.cast = Some(cast);
        Ok(())
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let (kind, up) = (self.kind, self.up);
        let parts = self.cast.as_ref().map(Cast::bodies).unwrap_or_default();
        for (number, (body, part)) in self.bodies.iter().zip(parts).enumerate() {
            let counts = (i32::try_from(part.vertex_count), i32::try_from(self.times.len()));
            let (Ok(points), Ok(samples)) = counts else {
                let reason = "there are more than 2 147 483 647 points or samples".into();
                return Err(RecordError::Unsupported { format: kind.name(), reason });
            };
            let rest_path = rest_path(&body.path);
            write_file(&rest_path, &encode_object(&part.name, &body.rest, &part.triangles, up))?;
            let mut out = AtomicFile::create(&body.path)?;
            out.put(&kind.encode_head(points, samples, &self.times, &self.frames))?;
            self.points.as_mut().map_or(Ok(()), |points| points.copy_all(number, &mut out))?;
            out.commit()?;
            self.files.extend([body.path.clone(), rest_path]);
        }
        Ok(())
    }
}

/// The file of the surface at rest.
fn rest_path(cache: &Path) -> PathBuf {
    with_part(&cache.with_extension("obj"), Some("rest"))
}

impl Recorder for PointCacheRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.cast.is_none() {
            self.begin(frame)?;
        }
        if let Some(cast) = &self.cast {
            cast.check(frame, self.kind.name())?;
        }
        for (number, body) in frame.bodies.iter().enumerate() {
            let bytes = self.kind.encode_points(&points_f32(&body.surface_positions));
            let pushed = self.points.as_mut().map_or(Ok(()), |points| points.push(number, &[&bytes]));
            pushed.map_err(|source| RecordError::Io { path: self.path.clone(), source })?;
        }
        self.times.push(frame.time);
        self.frames.push(frame.index as f64);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if !self.is_finished {
            self.is_finished = true;
            let result = self.write();
            // Frees the disk space of the points.
            self.points = None;
            return result;
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let shapes = self.cast.as_ref().map_or(0, |cast| cast.parts.len() - cast.body_count);
        let mut notes = Vec::new();
        if shapes > 0 {
            let name = self.kind.name();
            notes.push(format!(
                "{name}: only bodies have point caches; {shapes} rigid shapes are in USD, GLB, OBJ and PLY"
            ));
        }
        notes
    }
}

impl FileRecorder for PointCacheRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, tets_at};

    #[test]
    fn caches_hold_the_same_points_in_either_order_of_bytes() {
        let folder = TestFolder::new("point-cache");
        let path = |name: &str| folder.path(name);
        let mut pc2 = PointCacheRecorder::create(path("shot.pc2"), PointCache::Pc2, UpAxis::Z).unwrap();
        let mut mdd = PointCacheRecorder::create(path("shot.mdd"), PointCache::Mdd, UpAxis::Z).unwrap();
        for index in [2, 4, 6] {
            tets_at(index, 1, &mut |frame| {
                pc2.frame(frame).unwrap();
                mdd.frame(frame).unwrap();
            });
        }
        pc2.finish().unwrap();
        mdd.finish().unwrap();
        assert_eq!(folder.entries(), ["shot.mdd", "shot.pc2", "shot_rest.obj"]);
        let little = std::fs::read(path("shot.pc2")).unwrap();
        let big = std::fs::read(path("shot.mdd")).unwrap();
        assert_eq!(little.len() as u64, PointCache::Pc2.size(4, 3));
        assert_eq!(big.len() as u64, PointCache::Mdd.size(4, 3));
        assert_eq!(&little[..12], b"POINTCACHE2\0");
        let word = |at: usize| i32::from_le_bytes(little[at..at + 4].try_into().unwrap());
        let real = |at: usize| f32::from_le_bytes(little[at..at + 4].try_into().unwrap());
        assert_eq!((word(12), word(16), real(20), real(24), word(28)), (1, 4, 2.0, 2.0, 3));
        let from_little: Vec<u32> = little[32..].as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let from_big: Vec<u32> = big[8 + 12..].as_chunks().0.iter().map(|b| u32::from_be_bytes(*b)).collect();
        assert_eq!(from_little, from_big);
        // The tetrahedron moves along x by a tenth per frame.
        let mut x = Vec::new();
        tets_at(6, 1, &mut |frame| x = points_f32(&frame.bodies[0].surface_positions));
        let last: Vec<u32> = x.as_flattened().iter().map(|x| x.to_bits()).collect();
        assert_eq!(&from_little[24..], last);
    }

    #[test]
    fn several_bodies_have_caches_of_their_own() {
        let folder = TestFolder::new("point-caches");
        let mut recorder = PointCacheRecorder::create(folder.path("shot.pc2"), PointCache::Pc2, UpAxis::Z).unwrap();
        tets_at(0, 2, &mut |frame| recorder.frame(frame).unwrap());
        recorder.finish().unwrap();
        let names = ["shot_tet0.pc2", "shot_tet0_rest.obj", "shot_tet1.pc2", "shot_tet1_rest.obj"];
        assert_eq!(folder.entries(), names);
        // The surface at rest is independent of the motion.
        let text = std::fs::read_to_string(folder.path("shot_tet0_rest.obj")).unwrap();
        assert!(text.contains("o tet0\nv 0 0 0\nv 1 0 0\n"), "{text}");
    }
}
