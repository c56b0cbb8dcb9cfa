//! Every reader against mutated real files: no panic, no hang, memory bounded by the input size, and every mesh that is
//! read survives a round trip. Ten thousand cases per reader, a million with `SINEW_FULL=1`; `fuzz/` has the same
//! targets for libFuzzer.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use sinew_io::format::{Format, NoCompanions, decode};

/// Counts memory in use, to find files that make a reader allocate gigabytes.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes unchanged to the system's allocator, which upholds the trait's contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        // SAFETY: the caller's guarantees hold for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above; `pointer` came from `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: the counter cannot distinguish them.
static TURN: Mutex<()> = Mutex::new(());

/// A case that takes longer counts as a hang.
const PATIENCE: Duration = Duration::from_secs(60);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `limit`, or 0 if that is 0.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

/// Words with wrong, overflowing or meaningless values.
const WORDS: [&[u8]; 14] = [
    b"0",
    b"-1",
    b"1",
    b"2147483648",
    b"4294967295",
    b"18446744073709551615",
    b"99999999999999999999",
    b"nan",
    b"inf",
    b"1e999",
    b"1e-999",
    b"",
    b"\n",
    b"\xff\xfe",
];

/// Changes a file in one to four places.
fn mutate(random: &mut Random, file: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(10) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (random.next() % 8)),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len());
                let piece = &other[from..(from + random.below(64)).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            6 => {
                let extreme = [0, 1, u64::MAX, i64::MAX as u64, 1 << 31, u64::from(u32::MAX), 1 << 40][random.below(7)];
                let width = [2, 4, 8][random.below(3)];
                let number = if random.below(2) == 0 { extreme.to_le_bytes() } else { extreme.to_be_bytes() };
                let source = if random.below(2) == 0 { &number[..width] } else { &number[8 - width..] };
                bytes.iter_mut().skip(at).zip(source).for_each(|(byte, new)| *byte = *new);
            }
            7 | 8 => {
                // Replaces one word by another.
                let start = bytes[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
                let length = bytes[at..].iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len() - at);
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(start..at + length, word.iter().copied());
            }
            _ => {
                // Replaces one line by another.
                let lines: Vec<usize> =
                    bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect();
                if lines.len() > 2 {
                    let from = random.below(lines.len() - 1);
                    let line = bytes[lines[from]..lines[from + 1]].to_vec();
                    let to = lines[random.below(lines.len())];
                    bytes.splice(to..to, line);
                }
            }
        }
    }
    bytes
}

/// Real files of a format, also those in folders below.
fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut folders = vec![path.clone()];
    let mut names: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { folders.push(entry) } else { names.push(entry) }
        }
    }
    names.sort();
    assert!(!names.is_empty(), "{} is empty", path.display());
    names.iter().map(|name| std::fs::read(name).unwrap()).collect()
}

/// Runs the cases with a mesh format.
fn fuzz(folder: &str, format: Format, fuzz_one: fn(&[u8]), per_byte: usize, at_once: usize) {
    let read = move |bytes: &[u8]| drop(decode(bytes, format, format.extensions()[0], &NoCompanions));
    fuzz_reader(folder, read, fuzz_one, per_byte, at_once);
}

/// Runs the cases. `per_byte` and `at_once` bound the memory of `read`: bytes per byte of input, plus a constant.
fn fuzz_reader(
    folder: &str,
    read: impl Fn(&[u8]) + Send + 'static,
    fuzz_one: fn(&[u8]),
    per_byte: usize,
    at_once: usize,
) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let files = corpus(folder);
    let cases = if std::env::var_os("SINEW_FULL").is_some() { 1_000_000 } else { 10_000 };
    let current: Arc<Mutex<Vec<u8>>> = Arc::default();
    let shared = Arc::clone(&current);
    let (done, progress) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for case in 0..files.len() + cases {
            // First the real files, unchanged.
            let bytes = match files.get(case) {
                Some(file) => file.clone(),
                None => mutate(&mut random, &files[case % files.len()], &files),
            };
            shared.lock().unwrap().clone_from(&bytes);
            let before = USED.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            read(&bytes);
            let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
            let allowed = per_byte * bytes.len() + at_once;
            assert!(peak <= allowed, "{peak} bytes of memory for a file of {} bytes", bytes.len());
            fuzz_one(&bytes);
            if case % 64 == 0 {
                let _ = done.send(());
            }
        }
    });
    let keep = |reason: &str| {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", folder.replace('/', "-")));
        let bytes = current.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        std::fs::write(&path, bytes).unwrap();
        panic!("{reason}; the file is {}", path.display());
    };
    loop {
        match progress.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => keep("a case takes longer than a minute"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if worker.join().is_err() {
        keep("a case failed");
    }
}

/// Small fixed tables and the buffers of inflate.
const TABLES: usize = 4 << 20;

#[test]
fn obj_survives_mutated_files() {
    fuzz("obj", Format::Obj, sinew_io::obj::fuzz_one, 256, TABLES);
}

#[test]
fn bvh_survives_mutated_files() {
    fuzz_reader("bvh", |bytes| drop(sinew_io::bvh::read(bytes)), sinew_io::bvh::fuzz_one, 512, TABLES);
}

#[test]
fn ply_survives_mutated_files() {
    fuzz("ply", Format::Ply, sinew_io::ply::fuzz_one, 256, TABLES);
}

#[test]
fn stl_survives_mutated_files() {
    fuzz("stl", Format::Stl, sinew_io::stl::fuzz_one, 256, TABLES);
}

/// Instances of a mesh multiply it, up to a million vertices.
#[test]
fn gltf_survives_mutated_files() {
    fuzz("gltf", Format::Gltf, sinew_io::gltf::fuzz_one, 1024, 256 << 20);
}

/// Deflate packs up to 1032 zeros into a byte, and a byte may encode a whole number.
#[test]
fn vtu_survives_mutated_files() {
    fuzz("vtu", Format::Vtu, sinew_io::vtu::fuzz_one, 1032 * 32, TABLES);
}

#[test]
fn vtk_survives_mutated_files() {
    fuzz("vtk", Format::Vtk, sinew_io::vtk::fuzz_one, 256, TABLES);
}

#[test]
fn gmsh_survives_mutated_files() {
    fuzz("gmsh", Format::Gmsh, sinew_io::gmsh::fuzz_one, 256, TABLES);
}

#[test]
fn medit_survives_mutated_files() {
    fuzz("medit", Format::Medit, sinew_io::medit::fuzz_one, 256, TABLES);
}

#[test]
fn tetgen_survives_mutated_files() {
    fuzz("tetgen", Format::Tetgen, sinew_io::tetgen::fuzz_one, 256, TABLES);
}

#[test]
fn abaqus_survives_mutated_files() {
    fuzz("abaqus", Format::Abaqus, sinew_io::abaqus::fuzz_one, 256, TABLES);
}

#[test]
fn febio_survives_mutated_files() {
    fuzz("febio", Format::Febio, sinew_io::febio::fuzz_one, 256, TABLES);
}

/// Gzip packs up to 1032 zeros into a byte; a voxel of a byte becomes a label of two or a float of four.
const IMAGE: usize = 1032 * 16;

#[test]
fn nifti_survives_mutated_files() {
    let read = |bytes: &[u8]| drop(sinew_io::image::nifti::read(bytes, &NoCompanions));
    fuzz_reader("image/nifti", read, sinew_io::image::nifti::fuzz_one, IMAGE, TABLES);
}

#[test]
fn nrrd_survives_mutated_files() {
    let read = |bytes: &[u8]| drop(sinew_io::image::nrrd::read(bytes, &NoCompanions));
    fuzz_reader("image/nrrd", read, sinew_io::image::nrrd::fuzz_one, IMAGE, TABLES);
}

#[test]
fn meta_image_survives_mutated_files() {
    let read = |bytes: &[u8]| drop(sinew_io::image::meta::read(bytes, &NoCompanions));
    fuzz_reader("image/meta", read, sinew_io::image::meta::fuzz_one, IMAGE, TABLES);
}

/// Slices of a segmentation that are empty are not in the file, up to 4096 of them.
#[test]
fn dicom_survives_mutated_files() {
    let read = |bytes: &[u8]| drop(sinew_io::image::dicom::read(bytes));
    fuzz_reader("image/dicom", read, sinew_io::image::dicom::fuzz_one, IMAGE, 128 * TABLES);
}

#[test]
fn contours_survive_mutated_files() {
    let read = |bytes: &[u8]| drop(sinew_io::image::contours::read(bytes));
    fuzz_reader("image/contours", read, sinew_io::image::contours::fuzz_one, IMAGE, ROOM);
}

/// Shapes with a number of corners around and few rows may swell, up to what memory holds.
#[test]
fn outlines_and_polygons_survive_mutated_files() {
    fuzz("osu", Format::Osu, sinew_io::osu::fuzz_one, 256, TABLES);
    fuzz("outline", Format::Outline, sinew_io::outline::fuzz_one, 256, ROOM);
}

#[test]
fn png_slices_survive_mutated_files() {
    fuzz_reader("image/png", sinew_io::image::stack::fuzz_one, |_| (), IMAGE, TABLES);
}

/// A number in a text says how fine polygons are filled, up to 4096 pixels along an axis.
const ROOM: usize = 1 << 29;
