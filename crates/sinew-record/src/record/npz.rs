//! NPZ: all data as arrays for `numpy.load`.
//!
//! | array | shape | content |
//! |---|---|---|
//! | `times`, `frames` | frames | time \[s\] and index of each frame |
//! | `probe_names`, `probes` | probes; frames × probes | |
//! | `rest/BODY` | nodes × 3 | positions at rest \[m\] |
//! | `tets/BODY`, `quadratic_tets/BODY`, `hexes/BODY` | cells × 4, × 10, × 8 | nodes of the cells, if any |
//! | `labels/BODY` | cells | label of each cell, tetrahedra and hexahedra in mesh order; if there are labels |
//! | `triangles/BODY` | triangles × 3 | visible surface, as indices of surface vertices |
//! | `surface_nodes/BODY` | vertices | the node of each surface vertex, or the nearest to it |
//! | `positions/BODY`, `velocities/BODY` | frames × nodes × 3 | \[m\], \[m/s\] |
//! | `surface/BODY` | frames × vertices × 3 | visible surface \[m\], if its vertices are not nodes |
//! | `poses/SHAPE` | frames × 7 | x, y, z \[m\] and rotation as a quaternion x, y, z, w |
//! | `contact_counts` | frames | contact points, if recorded; the arrays below have their rows in frame order |
//! | `contact_between`, `contact_names` | contacts × 2; names | pushed and pushing body, as indices of names |
//! | `contact_places`, `contact_normals` | contacts × 3 | \[m\]; unit vector toward the pushed body |
//! | `contact_forces` | contacts × 3 | force on the pushed body, including friction \[N\] |
//! | `contact_gaps`, `contact_areas` | contacts | distance, negative for penetration \[m\]; area at rest \[m²\] |
//!
//! The archive is not compressed, so members can be memory-mapped. Arrays over time stay on the disk until the end.

use std::path::PathBuf;

use sinew_fem::contact::Party;
use sinew_fem::{BodyFrame, Frame, RecordError, Recorder};
use sinew_geometry::CellKind;
use sinew_math::Vec3;

use super::FileRecorder;
use super::atomic::AtomicFile;
use super::interleaved::Interleaved;
use super::surface::Cast;
use super::zip::{ZipWriter, archive_size};

/// Writes one archive when it is finished.
pub struct NpzRecorder {
    path: PathBuf,
    cast: Option<Cast>,
    /// Constant arrays.
    still: Vec<(Layout, Vec<u8>)>,
    /// Arrays with a row per frame.
    moving: Vec<Moving>,
    rows: Option<Interleaved>,
    contacts: ContactArrays,
    frame_count: usize,
    is_finished: bool,
}

/// Name and shape of an array.
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    name: String,
    /// Kind and size of a number in NumPy's notation.
    kind: String,
    number_bytes: usize,
    /// Shape without the first dimension.
    row: Vec<usize>,
}

impl Layout {
    fn new(name: impl Into<String>, kind: &str, number_bytes: usize, row: &[usize]) -> Layout {
        Layout { name: name.into(), kind: kind.into(), number_bytes, row: row.to_vec() }
    }

    fn row_bytes(&self) -> usize {
        self.number_bytes * self.row.iter().product::<usize>()
    }

    /// The header of a `.npy` file; its length is a multiple of 64, so that the numbers are aligned.
    fn head(&self, rows: usize) -> Vec<u8> {
        let sizes: String = std::iter::once(&rows).chain(&self.row).map(|size| format!("{size}, ")).collect();
        let mut text =
            format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", self.kind, sizes.trim_end());
        let start = 10;
        let length = (start + text.len() + 1).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', length - start - text.len() - 1));
        text.push('\n');
        let mut head = b"\x93NUMPY\x01\x00".to_vec();
        head.extend((text.len() as u16).to_le_bytes());
        head.extend(text.as_bytes());
        head
    }

    fn file_name(&self) -> String {
        format!("{}.npy", self.name)
    }

    fn size(&self, rows: usize) -> u64 {
        self.head(rows).len() as u64 + rows as u64 * self.row_bytes() as u64
    }
}

/// An array that grows by a row per frame.
struct Moving {
    layout: Layout,
    checksum: crc32fast::Hasher,
}

impl NpzRecorder {
    /// Starts a file; it appears when the recorder is finished.
    pub fn create(path: impl Into<PathBuf>) -> Result<NpzRecorder, RecordError> {
        let path = path.into();
        AtomicFile::create(&path)?;
        Ok(NpzRecorder {
            path,
            cast: None,
            still: Vec::new(),
            moving: Vec::new(),
            rows: None,
            contacts: ContactArrays::default(),
            frame_count: 0,
            is_finished: false,
        })
    }

    /// Bytes of the archive of `frames` frames like this one.
    pub(super) fn size(frame: &Frame<'_>, frames: usize) -> u64 {
        let still = still_arrays(frame);
        let still = still.iter().map(|(layout, bytes)| (layout, bytes.len() / layout.row_bytes().max(1)));
        let moving = moving_layouts(frame);
        let all: Vec<(String, u64)> = still
            .chain(moving.iter().map(|layout| (layout, frames)))
            .map(|(layout, rows)| (layout.file_name(), layout.size(rows)))
            .collect();
        archive_size(all.iter().map(|(name, size)| (name.as_str(), *size)))
    }

    fn begin(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        self.still = still_arrays(frame);
        let moving = moving_layouts(frame).into_iter();
        self.moving = moving.map(|layout| Moving { layout, checksum: crc32fast::Hasher::new() }).collect();
        self.rows = Some(Interleaved::create(&self.path, self.moving.len())?);
        self.cast = Some(Cast::of(frame));
        Ok(())
    }

    fn write(&mut self) -> Result<(), RecordError> {
        let mut zip = ZipWriter::new(AtomicFile::create(&self.path)?);
        for (layout, bytes) in self.still.iter().chain(&self.contacts.arrays()) {
            let mut content = layout.head(bytes.len() / layout.row_bytes().max(1));
            content.extend_from_slice(bytes);
            let size_and_crc = (content.len() as u64, crc32fast::hash(&content));
            zip.add(&layout.file_name(), &content, size_and_crc, |_| Ok(()))?;
        }
        for (array, Moving { layout, checksum }) in self.moving.iter().enumerate() {
            let head = layout.head(self.frame_count);
            // Combines the checksums of header and rows, so that the rows need not be read.
            let mut whole = crc32fast::Hasher::new();
            whole.update(&head);
            whole.combine(checksum);
            let size_and_crc = (layout.size(self.frame_count), whole.finalize());
            let rows = self.rows.as_mut();
            zip.add(&layout.file_name(), &head, size_and_crc, |out| {
                rows.map_or(Ok(()), |rows| rows.copy_all(array, out))
            })?;
        }
        zip.finish()
    }
}

impl Recorder for NpzRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        if self.cast.is_none() {
            self.begin(frame)?;
        }
        if let Some(cast) = &self.cast {
            cast.check(frame, "NPZ")?;
        }
        let rows = moving_rows(frame);
        if self.moving.iter().zip(&rows).any(|(array, row)| array.layout.row_bytes() != row.len()) {
            let reason = format!("the arrays at frame {} differ from those of the first frame", frame.index);
            return Err(RecordError::Unsupported { format: "NPZ", reason });
        }
        let failed = |source| RecordError::Io { path: self.path.clone(), source };
        for (number, (array, row)) in self.moving.iter_mut().zip(&rows).enumerate() {
            array.checksum.update(row);
            self.rows.as_mut().map_or(Ok(()), |rows| rows.push(number, &[row])).map_err(failed)?;
        }
        self.contacts.push(frame);
        self.frame_count += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        let result = self.write();
        // Frees the disk space of the rows.
        self.rows = None;
        result
    }
}

impl FileRecorder for NpzRecorder {
    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

/// Contact points, one row each, because their number differs between frames.
#[derive(Default)]
struct ContactArrays {
    names: Vec<String>,
    counts: Vec<u8>,
    between: Vec<u8>,
    places: Vec<u8>,
    normals: Vec<u8>,
    forces: Vec<u8>,
    gaps: Vec<u8>,
    areas: Vec<u8>,
}

impl ContactArrays {
    fn push(&mut self, frame: &Frame<'_>) {
        let bodies = frame.bodies.iter().map(|body| body.name.to_string());
        self.names = bodies.chain(frame.shapes.iter().map(|shape| shape.name.to_string())).collect();
        let rigids = frame.shapes.iter().filter(|shape| shape.is_dynamic).count();
        self.counts.extend((frame.contacts.len() as u64).to_le_bytes());
        for contact in frame.contacts {
            let number = |party| match party {
                Party::Body(index) => index,
                Party::Rigid(index) => frame.bodies.len() + index,
                Party::Collider(index) => frame.bodies.len() + rigids + index,
            };
            self.between.extend(contact.between.iter().flat_map(|&party| (number(party) as u32).to_le_bytes()));
            self.places.extend(doubles(&[contact.place]));
            self.normals.extend(doubles(&[contact.normal]));
            self.forces.extend(doubles(&[contact.force]));
            self.gaps.extend(contact.gap.to_le_bytes());
            self.areas.extend(contact.area.to_le_bytes());
        }
    }

    /// The arrays; empty if no frame had contacts.
    fn arrays(&self) -> Vec<(Layout, Vec<u8>)> {
        if self.between.is_empty() {
            return Vec::new();
        }
        let vectors = |name, bytes: &Vec<u8>| (Layout::new(name, "<f8", 8, &[3]), bytes.clone());
        let numbers = |name, bytes: &Vec<u8>| (Layout::new(name, "<f8", 8, &[]), bytes.clone());
        vec![
            (Layout::new("contact_counts", "<u8", 8, &[]), self.counts.clone()),
            texts("contact_names", &self.names),
            (Layout::new("contact_between", "<u4", 4, &[2]), self.between.clone()),
            vectors("contact_places", &self.places),
            vectors("contact_normals", &self.normals),
            vectors("contact_forces", &self.forces),
            numbers("contact_gaps", &self.gaps),
            numbers("contact_areas", &self.areas),
        ]
    }
}

/// A name inside the archive.
fn member(array: &str, name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() || c == '/' || c == '\\' { '_' } else { c }).collect();
    format!("{array}/{name}")
}

fn still_arrays(frame: &Frame<'_>) -> Vec<(Layout, Vec<u8>)> {
    let mut arrays = vec![texts("probe_names", frame.probe_names)];
    for body in &frame.bodies {
        arrays.push((Layout::new(member("rest", body.name), "<f8", 8, &[3]), doubles(body.mesh.positions())));
        for (array, kind) in [("tets", CellKind::Tet4), ("quadratic_tets", CellKind::Tet10), ("hexes", CellKind::Hex8)]
        {
            let blocks = body.mesh.blocks().iter().filter(|block| block.kind == kind);
            let nodes: Vec<u8> = blocks.flat_map(|block| integers(&block.nodes)).collect();
            if !nodes.is_empty() {
                arrays.push((Layout::new(member(array, body.name), "<u4", 4, &[kind.nodes_per_cell()]), nodes));
            }
        }
        if body.mesh.cell_labels().iter().any(|&label| label != 0) {
            let labels = integers(body.mesh.cell_labels());
            arrays.push((Layout::new(member("labels", body.name), "<u4", 4, &[]), labels));
        }
        let triangles = integers(body.surface_triangles.as_flattened());
        arrays.push((Layout::new(member("triangles", body.name), "<u4", 4, &[3]), triangles));
        let nodes = integers(body.surface_nodes);
        arrays.push((Layout::new(member("surface_nodes", body.name), "<u4", 4, &[]), nodes));
    }
    arrays
}

fn moving_layouts(frame: &Frame<'_>) -> Vec<Layout> {
    let mut layouts = vec![
        Layout::new("times", "<f8", 8, &[]),
        Layout::new("frames", "<i8", 8, &[]),
        Layout::new("probes", "<f8", 8, &[frame.probe_names.len()]),
    ];
    for body in &frame.bodies {
        let nodes = [body.positions.len(), 3];
        layouts.push(Layout::new(member("positions", body.name), "<f8", 8, &nodes));
        layouts.push(Layout::new(member("velocities", body.name), "<f8", 8, &nodes));
        if has_own_surface(body) {
            let vertices = [body.surface_positions.len(), 3];
            layouts.push(Layout::new(member("surface", body.name), "<f8", 8, &vertices));
        }
    }
    for shape in &frame.shapes {
        layouts.push(Layout::new(member("poses", shape.name), "<f8", 8, &[7]));
    }
    layouts
}

/// One row of each array of [`moving_layouts`].
fn moving_rows(frame: &Frame<'_>) -> Vec<Vec<u8>> {
    let mut rows = vec![
        frame.time.to_le_bytes().to_vec(),
        (frame.index as i64).to_le_bytes().to_vec(),
        frame.probe_values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    ];
    for body in &frame.bodies {
        rows.push(doubles(body.positions));
        rows.push(doubles(body.velocities));
        if has_own_surface(body) {
            rows.push(doubles(&body.surface_positions));
        }
    }
    for shape in &frame.shapes {
        let (x, q) = (shape.pose.translation, shape.pose.rotation);
        rows.push([x.x, x.y, x.z, q.x, q.y, q.z, q.w].iter().flat_map(|value| value.to_le_bytes()).collect());
    }
    rows
}

fn has_own_surface(body: &BodyFrame<'_>) -> bool {
    body.surface_embedding.is_some()
}

fn doubles(vectors: &[Vec3]) -> Vec<u8> {
    vectors.iter().flat_map(|v| v.to_array()).flat_map(f64::to_le_bytes).collect()
}

fn integers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Texts in NumPy's format: all as long as the longest, four bytes per character, padded with zeros.
fn texts(array: &str, names: &[String]) -> (Layout, Vec<u8>) {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(4 * longest * names.len());
    for name in names {
        let codes = name.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
        bytes.extend(codes.flat_map(u32::to_le_bytes));
    }
    (Layout::new(array, &format!("<U{longest}"), 4 * longest, &[]), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{TestFolder, shapes_at, tets_at};

    /// The content of a member of an archive of stored members.
    fn find(archive: &[u8], name: &str) -> (String, Vec<u8>) {
        let name = format!("{name}.npy");
        let mut at = 0;
        while archive[at..].starts_with(b"PK\x03\x04") {
            let number = |from: usize, bytes: usize| {
                archive[at + from..at + from + bytes].iter().rev().fold(0usize, |sum, &b| sum << 8 | usize::from(b))
            };
            let (size, name_length, extra) = (number(18, 4), number(26, 2), number(28, 2));
            let start = at + 30 + name_length + extra;
            if archive[at + 30..at + 30 + name_length] == *name.as_bytes() {
                let content = &archive[start..start + size];
                assert_eq!(number(14, 4) as u32, crc32fast::hash(content), "checksum of {name}");
                let head = 10 + usize::from(u16::from_le_bytes([content[8], content[9]]));
                assert!(head.is_multiple_of(64));
                return (String::from_utf8_lossy(&content[10..head]).into_owned(), content[head..].to_vec());
            }
            at = start + size;
        }
        panic!("{name} is missing");
    }

    #[test]
    fn arrays_hold_the_frames() {
        let folder = TestFolder::new("npz");
        let mut recorder = NpzRecorder::create(folder.path("shot.npz")).unwrap();
        let (mut expected, mut size) = (Vec::new(), 0);
        for index in 0..3 {
            tets_at(index, 2, &mut |frame| {
                recorder.frame(frame).unwrap();
                expected.extend(doubles(frame.bodies[1].positions));
                size = NpzRecorder::size(frame, 3);
            });
        }
        recorder.finish().unwrap();
        assert_eq!(folder.entries(), ["shot.npz"]);
        let archive = std::fs::read(folder.path("shot.npz")).unwrap();
        assert_eq!(archive.len() as u64, size);
        let (head, rows) = find(&archive, "positions/tet1");
        assert!(head.contains("'descr': '<f8', 'fortran_order': False, 'shape': (3, 4, 3,)"), "{head}");
        assert_eq!(rows, expected);
        assert!(find(&archive, "tets/tet0").0.contains("(1, 4,)"));
        assert!(find(&archive, "times").0.contains("(3,)"));
        let (head, rows) = find(&archive, "probe_names");
        assert!(head.contains("'<U12'") && rows.len() == 48 && rows[..4] == [b'e', 0, 0, 0], "{head}");
    }

    #[test]
    fn poses_are_rows_of_seven() {
        let folder = TestFolder::new("npz-poses");
        let mut recorder = NpzRecorder::create(folder.path("shot.npz")).unwrap();
        for index in 0..2 {
            shapes_at(index, &mut |frame| recorder.frame(frame).unwrap());
        }
        recorder.finish().unwrap();
        let (head, rows) = find(&std::fs::read(folder.path("shot.npz")).unwrap(), "poses/ball");
        assert!(head.contains("(2, 7,)"), "{head}");
        let values: Vec<f64> = rows.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        assert_eq!(values[7..], [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn archive_without_frames_is_valid() {
        let folder = TestFolder::new("npz-empty");
        NpzRecorder::create(folder.path("shot.npz")).unwrap().finish().unwrap();
        assert_eq!(std::fs::read(folder.path("shot.npz")).unwrap().len(), 22);
    }
}
