//! Characters in their original form: every vertex, normal, texture coordinate and material of the source file, with
//! new positions in every frame.
//!
//! Simulated parts move as simulated; others follow by skinning. Frames before the animation begins are left out, and
//! times are those of the animation.

mod correctives;
mod maps;
mod shading;
mod shutter;
mod usd;

use std::path::PathBuf;
use std::sync::Arc;

use sinew_fem::{Frame, OutputFigures, RecordError, Recorder};
use sinew_geometry::shape::Pose;
use sinew_io::gltf::animated::{MorphNormals, fit_morph_targets, shaded_frames};
use sinew_math::Vec3;
use sinew_raster::UpAxis;
use sinew_rig::{Animation, Channel, Interpolation, Keys, MorphTarget, Node, Piece, Rig, Surface, Transform, Weights};
use sinew_scene::output::{SkinFormat, file_stem, with_part};
use sinew_scene::spec::rig::Rig as Settings;
use sinew_scene::{Character, Dimension, format_number, format_quantity};

use self::maps::{SkinMaps, VertexStrain};
use self::shading::Shading;
pub(crate) use self::shutter::Shutter;
use super::FileRecorder;
use super::atomic::{AtomicFile, write_file};
use super::interleaved::Interleaved;
use super::names::identifier;
use super::point_cache::PointCache;
use super::shapes::points_f32;
use super::usd::UsdFile;

/// Placement of the character in the scene.
pub(crate) struct Stand {
    /// Index of its body.
    pub body: usize,
    pub scale: f64,
    pub place: Pose,
    pub up: UpAxis,
    pub morph_targets: usize,
    /// Corrective shapes beside the skeleton; `None` for morph targets without one.
    pub correctives: Option<usize>,
}

impl Stand {
    /// From the character in its file to the scene.
    fn to_scene(&self, x: Vec3) -> Vec3 {
        self.place.to_world(x * self.scale)
    }
}

/// Writes an animated character.
pub(crate) struct SkinRecorder {
    path: PathBuf,
    format: SkinFormat,
    character: Arc<Character>,
    settings: Settings,
    stand: Stand,
    shutter: Shutter,
    /// Unique names of the pieces.
    names: Vec<String>,
    shading: Shading,
    /// Wrinkle and stretch maps.
    maps: Option<SkinMaps>,
    /// USD: extents, points and normals of each piece.
    usd: Option<UsdFile>,
    /// PC2: points of each piece.
    samples: Option<Interleaved>,
    /// GLB: points of each piece in each frame.
    frames: Vec<Vec<Vec<[f32; 3]>>>,
    /// Times of the animation \[s\].
    times: Vec<f64>,
    /// The same in units of frames.
    codes: Vec<f64>,
    /// First and last whole frame.
    whole: Option<[f64; 2]>,
    files: Vec<PathBuf>,
    notes: Vec<String>,
    figures: Vec<OutputFigures>,
    is_finished: bool,
}

impl SkinRecorder {
    /// Starts the files; they appear when the recorder is finished.
    pub fn create(
        path: PathBuf,
        format: SkinFormat,
        character: Arc<Character>,
        settings: Settings,
        stand: Stand,
        shutter: Shutter,
    ) -> Result<Self, RecordError> {
        AtomicFile::create(&path)?;
        let mut names: Vec<String> = Vec::new();
        for piece in &character.flesh.pieces {
            let (node, surface) = (&character.rig.nodes[piece.node].name, &character.rig.surfaces[piece.surface].name);
            names.push(identifier(if node.is_empty() { surface } else { node }, &names));
        }
        let shading = Shading::of(&character.rig, &character.flesh, |piece| triangles(&character.rig, piece));
        Ok(Self {
            path,
            format,
            shading,
            character,
            settings,
            stand,
            shutter,
            names,
            maps: None,
            usd: None,
            samples: None,
            frames: Vec::new(),
            times: Vec::new(),
            codes: Vec::new(),
            whole: None,
            files: Vec::new(),
            notes: Vec::new(),
            figures: Vec::new(),
            is_finished: false,
        })
    }

    /// The peaks of wrinkle and stretch at the vertices of a piece; empty without maps.
    fn peaks(&self, piece: usize) -> Vec<[f32; 2]> {
        self.maps.as_ref().map_or_else(Vec::new, |maps| maps.peaks(piece))
    }

    /// Puts the peaks of wrinkle and stretch on a part of a .glb file.
    fn add_peaks(&self, piece: usize, part: &mut sinew_rig::Part) {
        let peaks = self.peaks(piece);
        for (k, name) in ["_WRINKLE", "_STRETCH"].into_iter().enumerate().filter(|_| !peaks.is_empty()) {
            part.numbers.insert(name.into(), peaks.iter().map(|peak| peak[k]).collect());
        }
    }

    fn part(&self, piece: &Piece) -> &sinew_rig::Part {
        &self.character.rig.surfaces[piece.surface].parts[piece.part]
    }

    fn triangles(&self, piece: &Piece) -> Vec<[u32; 3]> {
        triangles(&self.character.rig, piece)
    }

    fn keep(&mut self, frame: &Frame<'_>, code: f64) -> Result<(), RecordError> {
        let flesh = &frame.bodies[self.stand.body].surface_positions;
        let motions = self.character.performance(&self.settings).motions(frame.time);
        let pieces = &self.character.flesh.pieces;
        let to_scene = |x: Vec3| self.stand.to_scene(x);
        let placed: Vec<Vec<Vec3>> =
            pieces.iter().map(|piece| self.character.flesh.place_piece(piece, flesh, &motions, to_scene)).collect();
        let (strains, full) = match &mut self.maps {
            Some(maps) => (maps.strains(&placed), maps.full()),
            None => (Vec::new(), 0.0),
        };
        if self.shutter.is_whole(frame.index) && self.maps.as_ref().is_some_and(SkinMaps::has_frames) {
            let levels = |piece: &Vec<VertexStrain>| piece.iter().map(|strain| strain.levels(full)).collect();
            self.write_images(&strains.iter().map(levels).collect::<Vec<_>>(), Some(code))?;
        }
        let pieces = &self.character.flesh.pieces;
        let time = self.settings.start + (frame.time - self.settings.preroll).max(0.0);
        match self.format {
            SkinFormat::Usd => {
                let normals = self.shading.normals(&placed);
                let sampled = self.sampled().len();
                let usd = match &mut self.usd {
                    Some(file) => file,
                    none => none.insert(UsdFile::create(&self.path, sampled * pieces.len())?),
                };
                for (k, (points, normals)) in placed.iter().zip(normals).enumerate() {
                    let shape = usd::sample_values(points_f32(points), normals);
                    let strains = strains.get(k).map(|strains| usd::strain_values(strains, full));
                    for (j, value) in shape.iter().chain(strains.iter().flatten()).enumerate() {
                        usd.push(sampled * k + j, code, value)?;
                    }
                }
            }
            SkinFormat::Pc2 => {
                if self.samples.is_none() {
                    self.samples = Some(Interleaved::create(&self.path, pieces.len())?);
                }
                for (k, points) in placed.iter().enumerate() {
                    push(&mut self.samples, &self.path, k, &[&PointCache::Pc2.encode_points(&points_f32(points))])?;
                }
            }
            SkinFormat::Glb => self.frames.push(placed.iter().map(|points| points_f32(points)).collect()),
        }
        self.times.push(time);
        self.codes.push(code);
        if self.shutter.is_whole(frame.index) {
            self.whole = Some([self.whole.map_or(code, |[first, _]| first), code]);
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), RecordError> {
        if self.times.is_empty() {
            // Formats cannot express an empty animation, and such a file would confuse programs.
            let file = self.path.file_name().unwrap_or_default().to_string_lossy();
            let begin = match self.settings.preroll {
                0.0 => String::new(),
                preroll => format!(
                    ": the animation begins {} after the start, when the preroll is over",
                    format_quantity(preroll, Dimension::TIME)
                ),
            };
            self.notes.push(format!("{file} is not written: the run has no frame of the animation{begin}"));
            return Ok(());
        }
        if self.maps.as_ref().is_some_and(SkinMaps::has_peaks) {
            let peaks = (0..self.character.flesh.pieces.len()).map(|piece| self.peaks(piece)).collect::<Vec<_>>();
            self.write_images(&peaks, None)?;
        }
        self.files.extend(self.maps.iter().flat_map(SkinMaps::files).cloned());
        match self.format {
            SkinFormat::Usd => match self.usd.take() {
                Some(file) => self.write_usd(file),
                None => Ok(()),
            },
            SkinFormat::Pc2 => self.write_caches(),
            SkinFormat::Glb => match self.stand.correctives {
                Some(count) => self.write_correctives(count),
                None => self.write_glb(),
            },
        }
    }

    fn write_caches(&mut self) -> Result<(), RecordError> {
        let pieces = &self.character.flesh.pieces;
        for (k, piece) in pieces.iter().enumerate() {
            let counts = (i32::try_from(piece.vertices.len()), i32::try_from(self.times.len()));
            let (Ok(points), Ok(samples)) = counts else {
                let reason = "there are more than 2 147 483 647 points or samples".into();
                return Err(RecordError::Unsupported { format: "PC2", reason });
            };
            let stem = file_stem(&self.names[k], k);
            let path = with_part(&self.path, (pieces.len() > 1).then_some(&stem));
            let mut out = AtomicFile::create(&path)?;
            out.put(&PointCache::Pc2.encode_head(points, samples, &self.times, &self.codes))?;
            if let Some(arrays) = &mut self.samples {
                arrays.copy_all(k, &mut out)?;
            }
            out.commit()?;
            self.files.push(path);
        }
        Ok(())
    }

    /// The character without its skeleton, moved by morph targets.
    fn write_glb(&mut self) -> Result<(), RecordError> {
        let mut rig = Rig { appearance: self.character.rig.appearance.clone(), ..Rig::default() };
        let mut animation = Animation { name: "skin".into(), channels: Vec::new() };
        let mut largest = 0.0f32;
        // Computed for the whole character before it is split, because pieces meet along seams.
        let shaded = shaded_frames(self.frames.len());
        let normals: Vec<Vec<Vec<[f32; 3]>>> = shaded
            .iter()
            .map(|&frame| self.shading.normals(&self.frames[frame].iter().map(|p| widen(p)).collect::<Vec<_>>()))
            .collect();
        for (k, piece) in self.character.flesh.pieces.iter().enumerate() {
            let frames: Vec<Vec<[f32; 3]>> =
                self.frames.iter_mut().map(|frame| std::mem::take(&mut frame[k])).collect();
            let fit = fit_morph_targets(&frames, self.stand.morph_targets);
            largest = largest.max(fit.largest_error);
            let at_rest = normals.first().map_or_else(Vec::new, |pieces| pieces[k].clone());
            let turned = MorphNormals::fitted(&fit, at_rest, |frame| {
                // Sorted, and the fit uses these frames only.
                let sample = shaded.partition_point(|&shaded| shaded < frame);
                normals[sample][k].iter().map(|normal| normal.map(f64::from)).collect()
            });
            let mut part = self.part(piece).clone();
            part.triangles = self.triangles(piece);
            self.add_peaks(k, &mut part);
            let positions = widen(&fit.base);
            (part.positions, part.normals, part.weights) = (positions, turned.base, Weights::default());
            let target = |(points, normals): (&Vec<[f32; 3]>, Vec<[f32; 3]>)| MorphTarget {
                name: String::new(),
                positions: widen(points),
                normals,
            };
            part.morph_targets = fit.targets.iter().zip(turned.changes).map(target).collect();
            let width = part.morph_targets.len();
            if width > 0 {
                animation.channels.push(Channel {
                    node: k,
                    times: self.times.clone(),
                    interpolation: Interpolation::Linear,
                    keys: Keys::Morph(width, fit.weights.iter().map(|&weight| f64::from(weight)).collect()),
                });
            }
            let (name, morph_weights) = (self.names[k].clone(), vec![0.0; width]);
            rig.surfaces.push(Surface { name: name.clone(), parts: vec![part], morph_weights });
            rig.nodes.push(Node {
                name,
                parent: None,
                transform: Transform::identity(),
                surface: Some(k),
                skin: None,
                morph_weights: None,
                is_shown: true,
            });
        }
        rig.animations.push(animation);
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let millimeters = format_number(1e3 * f64::from(largest));
        self.notes.push(format!("{file}: morph targets have an error of at most {millimeters} mm"));
        let bytes = sinew_io::gltf::write_rig(&rig, true)
            .map_err(|error| RecordError::Unsupported { format: "glTF", reason: error.to_string() })?;
        write_file(&self.path, &bytes)?;
        self.files.push(self.path.clone());
        Ok(())
    }
}

/// Triangles of a piece with outward orientation in the output, which has no mirroring nodes.
fn triangles(rig: &Rig, piece: &Piece) -> Vec<[u32; 3]> {
    let turned = |&[a, b, c]: &[u32; 3]| if piece.is_mirrored { [a, c, b] } else { [a, b, c] };
    rig.surfaces[piece.surface].parts[piece.part].triangles.iter().map(turned).collect()
}

fn widen(points: &[[f32; 3]]) -> Vec<Vec3> {
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

fn push(
    samples: &mut Option<Interleaved>,
    path: &std::path::Path,
    array: usize,
    pieces: &[&[u8]],
) -> Result<(), RecordError> {
    let pushed = samples.as_mut().map_or(Ok(()), |arrays| arrays.push(array, pieces));
    pushed.map_err(|source| RecordError::Io { path: path.into(), source })
}

impl Recorder for SkinRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let time = self.settings.start + frame.time - self.settings.preroll;
        let Some(code) = self.shutter.code(frame.index, time, self.settings.start, self.format) else {
            return Ok(());
        };
        self.keep(frame, code)
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        let result = self.write();
        (self.usd, self.samples) = (None, None);
        result
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn figures(&self) -> Vec<OutputFigures> {
        self.figures.clone()
    }
}

impl FileRecorder for SkinRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}
