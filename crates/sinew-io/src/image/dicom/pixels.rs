//! The numbers of a frame.

use super::elements::{DicomFile, Value, tag};
use super::syntax::Packing;
use super::{jpeg, rle};
use crate::binary::Endian;
use crate::error::{Place, ReadError};

/// How the pixels of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub rows: usize,
    pub columns: usize,
    pub frames: usize,
    /// Bits of a pixel: 1, 8, 16 or 32.
    pub bits: u32,
    /// Bits that hold the value, and the highest of them.
    stored: u32,
    high: u32,
    is_signed: bool,
}

impl Format {
    /// What a file says; color is refused.
    pub(super) fn of(file: &DicomFile<'_>) -> Result<Format, ReadError> {
        let data = &file.data;
        let place = Place::Byte(match data.find(tag::PIXELS).map(|element| &element.value) {
            Some(Value::Bytes(at, _)) => *at,
            Some(Value::Fragments(all)) => all.first().map_or(0, |(at, _)| *at),
            _ => return Err(ReadError::Missing { what: "pixels (7fe0,0010)" }),
        });
        let samples = data.number(tag::SAMPLES).unwrap_or(1.0);
        if samples != 1.0 {
            let what = format!("a color image ({}, {samples} numbers in each pixel)", data.text(tag::PHOTOMETRIC));
            let hint = "an image with one number in each voxel, labels or gray values";
            return Err(ReadError::Unsupported { place, what, hint });
        }
        let needed = |tag: u32, what: &'static str| data.number(tag).ok_or(ReadError::Missing { what });
        let bits = needed(tag::BITS_ALLOCATED, "number of bits (0028,0100)")? as u32;
        let stored = data.number(tag::BITS_STORED).map_or(bits, |stored| stored as u32);
        let high = data.number(tag::HIGH_BIT).map_or(stored.wrapping_sub(1), |high| high as u32);
        if !matches!(bits, 1 | 8 | 16 | 32) || stored == 0 || stored > bits || high >= bits || high + 1 < stored {
            let reason = format!("pixels of {bits} bits, {stored} in use, the highest {high}, are no pixels");
            return Err(ReadError::Syntax { place, reason });
        }
        let frames = data.number(tag::FRAMES).unwrap_or(1.0).clamp(1.0, 1e7) as usize;
        let rows = needed(tag::ROWS, "number of rows (0028,0010)")? as usize;
        let columns = needed(tag::COLUMNS, "number of columns (0028,0011)")? as usize;
        let is_signed = data.number(tag::IS_SIGNED) == Some(1.0);
        let format = Format { rows, columns, frames, bits, stored, high, is_signed };
        format.check(file, place)?;
        Ok(format)
    }

    /// Refuses more frames than the bytes of the pixels can hold, before anybody makes room for them.
    fn check(&self, file: &DicomFile<'_>, place: Place) -> Result<(), ReadError> {
        /// Runs of two bytes make 128 pixels.
        const TIGHTEST: usize = 64;
        let pixels = self.len().max(1);
        let found = match file.data.find(tag::PIXELS).map(|element| &element.value) {
            Some(Value::Bytes(_, length)) => length.saturating_mul(8) / pixels.saturating_mul(self.bits as usize),
            Some(Value::Fragments(all)) => {
                all.iter().map(|(_, length)| *length).sum::<usize>().saturating_mul(TIGHTEST) / pixels
            }
            _ => 0,
        };
        if found >= self.frames {
            return Ok(());
        }
        let what = format!("frames of {} x {} pixels", self.columns, self.rows);
        Err(ReadError::Count { place, what, promised: self.frames as u64, found: found as u64 })
    }

    /// Pixels of a frame.
    pub(super) fn len(&self) -> usize {
        self.rows * self.columns
    }

    fn frame_bytes(&self) -> usize {
        self.len() * (self.bits as usize / 8)
    }

    /// The value of a stored pixel.
    fn value(&self, raw: u32) -> f32 {
        let shifted = raw >> (self.high + 1 - self.stored);
        let unused = 32 - self.stored;
        if self.is_signed {
            ((shifted << unused) as i32 >> unused) as f32
        } else {
            ((shifted << unused) >> unused) as f32
        }
    }
}

/// The values of a frame, appended to `out`.
pub(super) fn push_frame(
    file: &DicomFile<'_>,
    format: &Format,
    frame: usize,
    out: &mut Vec<f32>,
) -> Result<(), ReadError> {
    let Some(element) = file.data.find(tag::PIXELS) else {
        return Err(ReadError::Missing { what: "pixels (7fe0,0010)" });
    };
    let bytes: &[u8] = &file.data.bytes;
    match (&element.value, file.syntax.packing) {
        (Value::Bytes(at, length), Packing::None) => {
            let pixels = &bytes[*at..at + length];
            if format.bits == 1 {
                return push_bits(pixels, *at, format, frame, out);
            }
            let size = format.frame_bytes();
            let start = frame.saturating_mul(size);
            let Some(pixels) = start.checked_add(size).and_then(|end| pixels.get(start..end)) else {
                let (promised, found) = (format.frames as u64, (length / size.max(1)) as u64);
                return Err(ReadError::Count { place: Place::Byte(*at), what: "frames".into(), promised, found });
            };
            // Bytes in words are turned around in pairs by the highest byte first.
            let is_turned = format.bits == 8 && element.is_words && file.data.endian == Endian::Big;
            push_native(pixels, format, file.data.endian, is_turned, out);
            Ok(())
        }
        (Value::Fragments(fragments), packing) if packing != Packing::None => {
            let (at, joined) = joined(bytes, fragments, format, frame)?;
            match packing {
                Packing::Runs => push_runs(&joined, at, format, out),
                _ => push_jpeg(&joined, at, format, out),
            }
        }
        (Value::Bytes(at, _), _) => Err(ReadError::byte(*at, "the pixels are not packed as the transfer syntax says")),
        _ => Err(ReadError::byte(0, "the pixels are packed, but the transfer syntax says that they are not")),
    }
}

fn push_native(pixels: &[u8], format: &Format, endian: Endian, is_turned: bool, out: &mut Vec<f32>) {
    let little = endian == Endian::Little;
    match format.bits {
        8 if is_turned => {
            let turned = pixels.chunks(2).flat_map(|pair| pair.iter().rev());
            out.extend(turned.map(|byte| format.value(u32::from(*byte))));
        }
        8 => out.extend(pixels.iter().map(|byte| format.value(u32::from(*byte)))),
        16 => out.extend(pixels.as_chunks::<2>().0.iter().map(|pair| {
            let raw = if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
            format.value(raw.into())
        })),
        _ => {
            out.extend(
                pixels.as_chunks::<4>().0.iter().map(|four| {
                    format.value(if little { u32::from_le_bytes(*four) } else { u32::from_be_bytes(*four) })
                }),
            )
        }
    }
}

/// Single bits, the lowest first; frames follow each other without a gap.
fn push_bits(pixels: &[u8], at: usize, format: &Format, frame: usize, out: &mut Vec<f32>) -> Result<(), ReadError> {
    let first = frame.saturating_mul(format.len());
    let end = first.saturating_add(format.len());
    if end > pixels.len().saturating_mul(8) {
        let found = (pixels.len() * 8 / format.len().max(1)) as u64;
        let promised = format.frames as u64;
        return Err(ReadError::Count { place: Place::Byte(at), what: "frames".into(), promised, found });
    }
    out.extend((first..end).map(|bit| f32::from(pixels[bit / 8] >> (bit % 8) & 1)));
    Ok(())
}

/// The packed bytes of a frame, and where they begin. A frame is one fragment, or several of which the first begins as a
/// JPEG file does.
fn joined(
    bytes: &[u8],
    fragments: &[(usize, usize)],
    format: &Format,
    frame: usize,
) -> Result<(usize, Vec<u8>), ReadError> {
    let place = Place::Byte(fragments.first().map_or(0, |(at, _)| *at));
    let of = |(at, length): (usize, usize)| &bytes[at..at + length];
    let promised = format.frames as u64;
    if fragments.len() == format.frames {
        return Ok((fragments[frame].0, of(fragments[frame]).to_vec()));
    }
    let starts: Vec<usize> = match format.frames {
        1 => vec![0],
        _ => (0..fragments.len()).filter(|&i| of(fragments[i]).starts_with(&[0xff, 0xd8])).collect(),
    };
    if starts.len() != format.frames || fragments.is_empty() {
        return Err(ReadError::Count { place, what: "frames".into(), promised, found: starts.len() as u64 });
    }
    let end = starts.get(frame + 1).copied().unwrap_or(fragments.len());
    let own = &fragments[starts[frame]..end];
    Ok((own.first().map_or(0, |(at, _)| *at), own.iter().flat_map(|&fragment| of(fragment)).copied().collect()))
}

fn push_runs(packed: &[u8], at: usize, format: &Format, out: &mut Vec<f32>) -> Result<(), ReadError> {
    let count = (format.bits as usize / 8).max(1);
    let planes = rle::unpack(packed, at, format.len(), count)?;
    // Planes of bytes, the highest first.
    let raw = |i: usize| planes.iter().fold(0u32, |value, plane| value << 8 | u32::from(plane[i]));
    out.extend((0..format.len()).map(|i| format.value(raw(i))));
    Ok(())
}

fn push_jpeg(packed: &[u8], at: usize, format: &Format, out: &mut Vec<f32>) -> Result<(), ReadError> {
    let values = jpeg::unpack(packed, at, format.columns, format.rows)?;
    out.extend(values.into_iter().map(|value| format.value(value.into())));
    Ok(())
}
