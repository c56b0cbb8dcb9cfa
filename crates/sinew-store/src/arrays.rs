//! Compact storage of arrays of numbers over time.
//!
//! Numbers become integers: multiples of a step for a given error, or the bits of the doubles themselves. Integers
//! become differences from a prediction (from earlier frames and from the neighbor in the array). Differences become
//! bytes sorted by significance, which are deflated. Smooth motion leaves small differences, so most bytes are zero.

use std::cell::RefCell;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use sinew_math::parallel::prelude::*;

use super::StoreError;
use super::bytes::{ByteReader, ByteWriter};

/// An array as integers, kept from frame to frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels {
    /// Numbers per node or cell.
    pub components: usize,
    /// One integer per number, flat.
    pub values: Vec<i64>,
}

/// Conversion of numbers to integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantizer {
    /// The bits of the doubles, ordered by value.
    Exact,
    /// Multiples of a step; the error is at most half a step.
    Step(f64),
}

/// Beyond this an integer would lose bits of a double; such arrays are kept exactly.
const LARGEST_LEVEL: f64 = (1u64 << 52) as f64;

impl Quantizer {
    /// Multiples with an error below `error`, or exact for `error` = 0.
    pub fn for_error(error: f64) -> Quantizer {
        // A little less than twice the error, because the multiplication on decoding rounds too.
        if error > 0.0 { Quantizer::Step(2.0 * error * (1.0 - 1e-6)) } else { Quantizer::Exact }
    }

    /// This quantizer, or the exact one if some value is out of range.
    pub fn fitting(self, values: &[f64]) -> Quantizer {
        match self {
            Quantizer::Step(step) if !values.iter().all(|v| (v / step).abs() < LARGEST_LEVEL) => Quantizer::Exact,
            fits => fits,
        }
    }

    pub fn levels(self, components: usize, values: &[f64]) -> Levels {
        let values = match self {
            Quantizer::Exact => values.iter().map(|v| ordered(*v)).collect(),
            Quantizer::Step(step) => values.iter().map(|v| (v / step).round() as i64).collect(),
        };
        Levels { components, values }
    }

    pub fn values(self, levels: &Levels) -> Vec<f64> {
        match self {
            Quantizer::Exact => levels.values.iter().map(|v| from_ordered(*v)).collect(),
            Quantizer::Step(step) => levels.values.iter().map(|v| *v as f64 * step).collect(),
        }
    }
}

/// Bits of a double such that larger numbers have larger integers.
fn ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn from_ordered(level: i64) -> f64 {
    f64::from_bits((level ^ (((level >> 63) as u64) >> 1) as i64) as u64)
}

/// Prediction of a value; all arithmetic wraps, so that any bits can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prediction {
    /// Number of earlier frames: 0, 1 (no change) or 2 (steady change).
    order: u8,
    /// Whether the difference of the previous entry is subtracted: neighbors in a mesh move alike.
    is_spatial: bool,
}

impl Prediction {
    /// The prediction from the earlier frames.
    fn expected(self, past: &[&Levels], i: usize) -> i64 {
        match self.order {
            0 => 0,
            1 => past[0].values[i],
            _ => past[0].values[i].wrapping_mul(2).wrapping_sub(past[1].values[i]),
        }
    }

    fn differences(self, levels: &Levels, past: &[&Levels], component: usize) -> Vec<u64> {
        let entries = (component..levels.values.len()).step_by(levels.components);
        let mut before = 0i64;
        entries
            .map(|i| {
                let difference = levels.values[i].wrapping_sub(self.expected(past, i));
                let coded = if self.is_spatial { difference.wrapping_sub(before) } else { difference };
                before = difference;
                zigzag(coded)
            })
            .collect()
    }

    fn restore(self, coded: &[u64], past: &[&Levels], component: usize, levels: &mut Levels) {
        let mut before = 0i64;
        for (k, &code) in coded.iter().enumerate() {
            let i = component + k * levels.components;
            let coded = unzigzag(code);
            let difference = if self.is_spatial { coded.wrapping_add(before) } else { coded };
            before = difference;
            levels.values[i] = difference.wrapping_add(self.expected(past, i));
        }
    }
}

/// Maps small numbers of either sign to small unsigned numbers.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// Appends `levels`, predicted from `past` (latest first, at most two are used).
pub(super) fn write(out: &mut ByteWriter, levels: &Levels, past: &[&Levels]) {
    let components = levels.components.max(1);
    let parts: Vec<Vec<u8>> = (0..components)
        .into_par_iter()
        .map(|component| {
            let prediction = best_prediction(levels, past, component);
            let coded = prediction.differences(levels, past, component);
            let mut part = ByteWriter::default();
            part.u8(prediction.order | u8::from(prediction.is_spatial) << 4);
            let widest = coded.iter().fold(0, |all, code| all | code);
            let planes = (64 - widest.leading_zeros()).div_ceil(8) as u8;
            part.u8(planes);
            for plane in 0..u32::from(planes) {
                let bytes: Vec<u8> = coded.iter().map(|code| (code >> (8 * plane)) as u8).collect();
                write_plane(&mut part, &bytes);
            }
            part.0
        })
        .collect();
    for part in parts {
        out.bytes(&part);
    }
}

/// Reads `count` entries of `components` numbers.
pub(super) fn read(
    input: &mut ByteReader<'_>,
    components: usize,
    count: usize,
    past: &[&Levels],
) -> Result<Levels, StoreError> {
    let parts: Vec<&[u8]> = (0..components).map(|_| input.bytes("a component")).collect::<Result<_, _>>()?;
    let mut levels = Levels { components, values: vec![0; components * count] };
    let decoded: Vec<(Prediction, Vec<u64>)> =
        parts.into_par_iter().map(|part| read_component(part, count, past.len())).collect::<Result<_, _>>()?;
    for (component, (prediction, coded)) in decoded.iter().enumerate() {
        prediction.restore(coded, past, component, &mut levels);
    }
    Ok(levels)
}

fn read_component(part: &[u8], count: usize, known: usize) -> Result<(Prediction, Vec<u64>), StoreError> {
    let mut input = ByteReader::new(part);
    let mode = input.u8("a prediction")?;
    let prediction = Prediction { order: mode & 15, is_spatial: mode >> 4 == 1 };
    if usize::from(prediction.order) > known.min(2) || mode >> 4 > 1 {
        return Err(input.broken("a prediction"));
    }
    let planes = input.u8("a number of planes")?;
    if planes > 8 {
        return Err(input.broken("a number of planes"));
    }
    let mut coded = vec![0u64; count];
    for plane in 0..planes {
        let bytes = read_plane(&mut input, count)?;
        for (code, byte) in coded.iter_mut().zip(bytes) {
            *code |= u64::from(byte) << (8 * plane);
        }
    }
    Ok((prediction, coded))
}

/// The prediction with the fewest bits in its differences, estimated from a sample.
fn best_prediction(levels: &Levels, past: &[&Levels], component: usize) -> Prediction {
    let entries = levels.values.len() / levels.components.max(1);
    // A thousand consecutive pairs spread over the array suffice to compare the candidates.
    let stride = (entries / 1024).max(1);
    let mut best = (u64::MAX, Prediction { order: 0, is_spatial: false });
    for order in 0..=past.len().min(2) as u8 {
        for is_spatial in [false, true] {
            let prediction = Prediction { order, is_spatial };
            let difference = |k: usize| {
                let i = component + k * levels.components;
                levels.values[i].wrapping_sub(prediction.expected(past, i))
            };
            let mut bits = 0u64;
            for k in (1..entries).step_by(stride) {
                let before = if is_spatial { difference(k - 1) } else { 0 };
                bits += u64::from(64 - zigzag(difference(k).wrapping_sub(before)).leading_zeros());
            }
            if bits < best.0 {
                best = (bits, prediction);
            }
        }
    }
    best.1
}

/// Encodings of a plane of bytes.
const RAW: u8 = 0;
const DEFLATED: u8 = 1;

/// Planes with more bits per byte than this stay raw: deflate would save only a few percent.
const NOISE: f64 = 7.5;

thread_local! {
    /// Kept from plane to plane with its output: a new one takes half a megabyte, which is more than most planes have.
    static DEFLATE: RefCell<(Compress, Vec<u8>)> = RefCell::new((Compress::new(Compression::new(1), false), Vec::new()));
}

fn write_plane(out: &mut ByteWriter, bytes: &[u8]) {
    let is_deflated = entropy(bytes) < NOISE
        && DEFLATE.with_borrow_mut(|(deflate, deflated)| {
            deflate.reset();
            // What does not become shorter stays raw.
            deflated.resize(bytes.len().saturating_sub(1).max(deflated.len()), 0);
            let room = &mut deflated[..bytes.len().saturating_sub(1)];
            let is_shorter = matches!(deflate.compress(bytes, room, FlushCompress::Finish), Ok(Status::StreamEnd));
            if is_shorter {
                out.u8(DEFLATED);
                out.bytes(&room[..deflate.total_out() as usize]);
            }
            is_shorter
        });
    if !is_deflated {
        out.u8(RAW);
        out.bytes(bytes);
    }
}

fn read_plane(input: &mut ByteReader<'_>, count: usize) -> Result<Vec<u8>, StoreError> {
    let mode = input.u8("a plane")?;
    let bytes = input.bytes("a plane")?;
    let plane = match mode {
        RAW => bytes.to_vec(),
        DEFLATED => {
            let mut plane = Vec::new();
            // Reading one byte beyond the limit detects a plane that is too long without unpacking all of it.
            let limit = count as u64 + 1;
            DeflateDecoder::new(bytes).take(limit).read_to_end(&mut plane).map_err(|_| input.broken("a plane"))?;
            plane
        }
        _ => return Err(input.broken("a plane")),
    };
    if plane.len() == count { Ok(plane) } else { Err(input.broken("the length of a plane")) }
}

/// Bits per byte of a memoryless source with the same frequencies: noise is not worth deflating.
///
/// H = log₂ n − Σ c log₂ c / n over the counts c of n bytes.
fn entropy(bytes: &[u8]) -> f64 {
    /// c log₂ c of small counts, as most are: a logarithm of each took more time than deflating.
    static TABLE: LazyLock<[f64; 256]> = LazyLock::new(|| std::array::from_fn(weighted));
    fn weighted(count: usize) -> f64 {
        count as f64 * (count.max(1) as f64).log2()
    }
    let mut counts = [0usize; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let all = bytes.len().max(1) as f64;
    let table = &*TABLE;
    let sum: f64 = counts.iter().map(|&count| table.get(count).copied().unwrap_or_else(|| weighted(count))).sum();
    all.log2() - sum / all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(frame: usize, count: usize) -> Vec<f64> {
        (0..3 * count).map(|i| (0.01 * i as f64 + 0.05 * frame as f64).sin()).collect()
    }

    fn round_trip(quantizer: Quantizer, frames: &[Vec<f64>]) -> (usize, f64) {
        let (mut past, mut size, mut worst): (Vec<Levels>, usize, f64) = (Vec::new(), 0, 0.0);
        for frame in frames {
            let levels = quantizer.levels(3, frame);
            let known: Vec<&Levels> = past.iter().rev().take(2).collect();
            let mut out = ByteWriter::default();
            write(&mut out, &levels, &known);
            size += out.0.len();
            let back = read(&mut ByteReader::new(&out.0), 3, frame.len() / 3, &known).unwrap();
            assert_eq!(back, levels);
            for (a, b) in quantizer.values(&back).iter().zip(frame) {
                worst = worst.max((a - b).abs());
            }
            past.push(levels);
        }
        (size, worst)
    }

    #[test]
    fn errors_stay_below_what_is_stated_and_smooth_motion_is_small() {
        let frames: Vec<Vec<f64>> = (0..20).map(|frame| wave(frame, 2000)).collect();
        let (size, worst) = round_trip(Quantizer::for_error(1e-4), &frames);
        assert!(worst <= 1e-4, "{worst}");
        let raw = 20 * 2000 * 3 * 4;
        assert!(size < raw / 6, "{size} of {raw}");
    }

    /// Every bit is restored, also of values that are not numbers.
    #[test]
    fn exact_arrays_keep_every_bit() {
        let odd = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN, 5e-324, -5e-324, 1.0, -1.0];
        for value in &odd {
            assert_eq!(from_ordered(ordered(*value)).to_bits(), value.to_bits());
        }
        let frames = vec![odd.clone(), odd.iter().map(|v| v * 1.1).collect(), odd.iter().rev().copied().collect(), odd];
        let (mut past, quantizer): (Vec<Levels>, _) = (Vec::new(), Quantizer::Exact);
        for frame in frames {
            let levels = quantizer.levels(3, &frame);
            let known: Vec<&Levels> = past.iter().rev().take(2).collect();
            let mut out = ByteWriter::default();
            write(&mut out, &levels, &known);
            let back = quantizer.values(&read(&mut ByteReader::new(&out.0), 3, 3, &known).unwrap());
            assert!(back.iter().zip(&frame).all(|(a, b)| a.to_bits() == b.to_bits()), "{back:?}");
            past.push(levels);
        }
    }

    /// What a thread has compressed before leaves no trace.
    #[test]
    fn bytes_do_not_depend_on_what_came_before() {
        let bytes = |frame: usize, count: usize| {
            let mut out = ByteWriter::default();
            write(&mut out, &Quantizer::for_error(1e-6).levels(3, &wave(frame, count)), &[]);
            out.0
        };
        let anew = |frame: usize, count: usize| std::thread::scope(|s| s.spawn(|| bytes(frame, count)).join().unwrap());
        for (frame, count) in [(0, 5000), (3, 40), (7, 2), (2, 900), (0, 5000), (1, 0)] {
            let here: Vec<Vec<u8>> = (0..2).map(|_| bytes(frame, count)).collect();
            assert!(here[0] == here[1] && here[0] == anew(frame, count), "{count} numbers");
        }
    }

    #[test]
    fn values_out_of_range_are_kept_exactly() {
        assert_eq!(Quantizer::Step(1e-6).fitting(&[1e12]), Quantizer::Exact);
        assert_eq!(Quantizer::Step(1e-6).fitting(&[f64::NAN]), Quantizer::Exact);
        assert_eq!(Quantizer::Step(1e-6).fitting(&[1.0]), Quantizer::Step(1e-6));
    }

    #[test]
    fn broken_bytes_are_refused() {
        let levels = Quantizer::Exact.levels(3, &wave(0, 50));
        let mut out = ByteWriter::default();
        write(&mut out, &levels, &[]);
        for cut in 0..out.0.len() {
            assert!(read(&mut ByteReader::new(&out.0[..cut]), 3, 50, &[]).is_err(), "cut at {cut}");
        }
        assert!(read(&mut ByteReader::new(&out.0), 3, 49, &[]).is_err());
    }
}
