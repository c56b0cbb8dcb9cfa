//! Runs of bytes, as DICOM packs them: a plane for each byte of a pixel, each by the rule of PackBits.

use crate::error::{Place, ReadError};

/// The planes of a frame of `length` pixels; `at` is the byte of the file at which `packed` begins.
pub(super) fn unpack(packed: &[u8], at: usize, length: usize, planes: usize) -> Result<Vec<Vec<u8>>, ReadError> {
    let word = |i: usize| packed.get(4 * i..4 * i + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let Some(count) = word(0).filter(|_| packed.len() >= 64) else {
        return Err(ReadError::Truncated { place: Place::Byte(at + packed.len()), what: "the table of runs".into() });
    };
    if count != planes {
        let (promised, found) = (count as u64, planes as u64);
        return Err(ReadError::Count { place: Place::Byte(at), what: "planes of bytes".into(), promised, found });
    }
    let plane = |i: usize| {
        let start = word(1 + i).unwrap_or(0);
        let end = if i + 1 < count { word(2 + i).unwrap_or(0) } else { packed.len() };
        match packed.get(start..end.min(packed.len())) {
            Some(runs) => unpack_plane(runs, at + start, length),
            None => Err(ReadError::byte(at + 4 * (1 + i), "the runs of a plane are outside of the frame")),
        }
    };
    (0..count).map(plane).collect()
}

/// One plane: a count n below 128 is followed by n + 1 bytes; one above by a byte that is repeated 257 − n times.
fn unpack_plane(runs: &[u8], at: usize, length: usize) -> Result<Vec<u8>, ReadError> {
    // Two bytes make at most 128.
    let mut out = Vec::with_capacity(length.min(64 * runs.len()));
    let mut i = 0;
    while out.len() < length {
        let Some(&count) = runs.get(i) else { break };
        i += 1;
        match count {
            0..=127 => {
                let end = (i + usize::from(count) + 1).min(runs.len());
                out.extend_from_slice(&runs[i..end]);
                i = end;
            }
            128 => {}
            129..=255 => {
                let Some(&byte) = runs.get(i) else { break };
                out.resize(out.len() + 257 - usize::from(count), byte);
                i += 1;
            }
        }
    }
    if out.len() < length {
        let (promised, found) = (length as u64, out.len() as u64);
        return Err(ReadError::Count { place: Place::Byte(at), what: "pixels".into(), promised, found });
    }
    out.truncate(length);
    Ok(out)
}
