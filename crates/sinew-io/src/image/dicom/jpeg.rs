//! Lossless JPEG (process 14) of one component, as DICOM uses it: each pixel is what its neighbors predict plus a
//! difference in a Huffman code.

use crate::error::{Place, ReadError};

/// A Huffman code: for each length the first code, the first place among the values, and how many there are.
#[derive(Clone, Debug, Default)]
struct Code {
    first: [u32; 17],
    start: [usize; 17],
    count: [u32; 17],
    values: Vec<u8>,
}

/// What stands in front of the packed pixels.
#[derive(Default)]
struct Setup {
    codes: [Option<Code>; 4],
    precision: u32,
    size: Option<(usize, usize)>,
    restart: usize,
}

/// Pixels of a file of `width` × `height`; `at` is the byte at which it begins.
pub(super) fn unpack(bytes: &[u8], at: usize, width: usize, height: usize) -> Result<Vec<u16>, ReadError> {
    let mut setup = Setup::default();
    let mut position = 0;
    let fault = |position: usize, reason: &str| ReadError::byte(at + position, reason);
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return Err(fault(0, "the frame is no JPEG file"));
    }
    position += 2;
    loop {
        let Some(&[0xff, marker]) = bytes.get(position..position + 2) else {
            return Err(fault(position.min(bytes.len()), "a marker of JPEG is expected here"));
        };
        if marker == 0xff {
            position += 1;
            continue;
        }
        let length = match bytes.get(position + 2..position + 4) {
            Some(pair) if pair[0] > 0 || pair[1] > 1 => usize::from(u16::from_be_bytes([pair[0], pair[1]])),
            _ => return Err(fault(position, "a part of the JPEG file has no length")),
        };
        let Some(part) = bytes.get(position + 4..position + 2 + length) else {
            let place = Place::Byte(at + bytes.len());
            return Err(ReadError::Truncated { place, what: "the header of the JPEG file".into() });
        };
        let here = position + 4;
        position += 2 + length;
        match marker {
            0xc3 => setup.frame(part).map_err(|reason| fault(here, &reason))?,
            0xc4 => setup.codes(part).map_err(|reason| fault(here, &reason))?,
            0xda => {
                if setup.size != Some((width, height)) {
                    return Err(fault(here, "the JPEG file has another size than the DICOM file says, or none"));
                }
                return setup.scan(part, &bytes[position..], width).map_err(|reason| fault(here, &reason));
            }
            0xdd if part.len() >= 2 => setup.restart = usize::from(u16::from_be_bytes([part[0], part[1]])),
            0xc0..=0xcf if marker != 0xc8 && marker != 0xcc => {
                return Err(fault(here, "the JPEG file is not lossless"));
            }
            _ => {}
        }
    }
}

impl Setup {
    fn frame(&mut self, part: &[u8]) -> Result<(), String> {
        let &[precision, h1, h0, w1, w0, components, ..] = part else { return Err("the frame has no size".into()) };
        if components != 1 {
            return Err(format!("{components} components; one is read"));
        }
        if !(2..=16).contains(&precision) {
            return Err(format!("{precision} bits in a pixel; lossless JPEG has 2 to 16"));
        }
        self.precision = precision.into();
        self.size = Some((usize::from(u16::from_be_bytes([w1, w0])), usize::from(u16::from_be_bytes([h1, h0]))));
        Ok(())
    }

    fn codes(&mut self, mut part: &[u8]) -> Result<(), String> {
        while let [head, rest @ ..] = part {
            let slot = usize::from(head & 0x0f);
            let (Some(counts), true) = (rest.get(..16), head >> 4 == 0 && slot < 4) else {
                return Err("a table of codes is not for lossless JPEG".into());
            };
            let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
            let Some(values) = rest.get(16..16 + total) else { return Err("a table of codes is cut off".into()) };
            self.codes[slot] = Some(Code::new(counts, values)?);
            part = &rest[16 + total..];
        }
        Ok(())
    }

    fn scan(&self, part: &[u8], packed: &[u8], width: usize) -> Result<Vec<u16>, String> {
        let &[1, _, tables, predictor, _, shift, ..] = part else {
            return Err("the scan is not of one component".into());
        };
        let code = self.codes.get(usize::from(tables >> 4)).and_then(Option::as_ref).ok_or("the scan has no code")?;
        if !(1..=7).contains(&predictor) {
            return Err(format!("predictor {predictor}; there are 1 to 7"));
        }
        let shift = u32::from(shift & 0x0f);
        if shift >= self.precision {
            return Err("the scan drops all bits".into());
        }
        let height = self.size.map_or(0, |(_, height)| height);
        let count = width * height;
        // A pixel takes at least a bit.
        if count > packed.len().saturating_mul(8) {
            return Err("the packed pixels are cut off".into());
        }
        let mut bits = Bits { bytes: packed, at: 0, held: 0, count: 0 };
        let mut out: Vec<u16> = Vec::with_capacity(count);
        let middle = 1i32 << (self.precision - shift - 1);
        // The row at which prediction began anew: the first of the image or behind a restart.
        let mut begun = 0;
        for i in 0..count {
            let (x, y) = (i % width, i / width);
            let is_new = self.restart > 0 && i > 0 && i % self.restart == 0;
            if is_new {
                bits.restart();
                begun = i;
            }
            let difference = code.difference(&mut bits)?;
            let left = || i32::from(out[i - 1]);
            let above = || i32::from(out[i - width]);
            let corner = || i32::from(out[i - width - 1]);
            let predicted = if i == begun {
                middle
            } else if y == begun / width.max(1) {
                left()
            } else if x == 0 {
                above()
            } else {
                predict(predictor, left(), above(), corner())
            };
            out.push((predicted.wrapping_add(difference) & 0xffff) as u16);
        }
        if shift > 0 {
            out.iter_mut().for_each(|value| *value <<= shift);
        }
        Ok(out)
    }
}

fn predict(predictor: u8, left: i32, above: i32, corner: i32) -> i32 {
    match predictor {
        1 => left,
        2 => above,
        3 => corner,
        4 => left + above - corner,
        5 => left + ((above - corner) >> 1),
        6 => above + ((left - corner) >> 1),
        _ => (left + above) >> 1,
    }
}

impl Code {
    fn new(counts: &[u8], values: &[u8]) -> Result<Code, String> {
        let mut code = Code { values: values.to_vec(), ..Code::default() };
        let (mut next, mut start) = (0u32, 0usize);
        for (length, &count) in (1..=16).zip(counts) {
            (code.first[length], code.start[length], code.count[length]) = (next, start, count.into());
            next += u32::from(count);
            start += usize::from(count);
            if next > 1 << length {
                return Err("a table of codes has more codes than bits allow".into());
            }
            next <<= 1;
        }
        Ok(code)
    }

    fn difference(&self, bits: &mut Bits<'_>) -> Result<i32, String> {
        let mut word = 0u32;
        for length in 1..=16 {
            word = word << 1 | bits.take(1)?;
            let place = word.wrapping_sub(self.first[length]);
            if place < self.count[length] {
                let size = u32::from(self.values[self.start[length] + place as usize]);
                return match size {
                    0 => Ok(0),
                    16 => Ok(32_768),
                    1..=15 => {
                        let extra = bits.take(size)? as i32;
                        let half = 1i32 << (size - 1);
                        Ok(if extra < half { extra - (1i32 << size) + 1 } else { extra })
                    }
                    _ => Err(format!("a difference of {size} bits")),
                };
            }
        }
        Err("a code is in no table".into())
    }
}

/// Bits of the packed pixels, the highest of a byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    fn take(&mut self, wanted: u32) -> Result<u32, String> {
        while self.count < wanted {
            let byte = match self.bytes.get(self.at..) {
                // Behind 255 stands a zero that is not part of the data.
                Some([0xff, 0, ..]) => {
                    self.at += 2;
                    0xff
                }
                Some([0xff, ..] | []) | None => return Err("the packed pixels are cut off".into()),
                Some([byte, ..]) => {
                    self.at += 1;
                    *byte
                }
            };
            self.held = self.held << 8 | u32::from(byte);
            self.count += 8;
        }
        self.count -= wanted;
        Ok(self.held >> self.count & ((1 << wanted) - 1))
    }

    /// Goes behind the next marker of a restart.
    fn restart(&mut self) {
        (self.held, self.count) = (0, 0);
        if let Some([0xff, 0xd0..=0xd7]) = self.bytes.get(self.at..self.at + 2) {
            self.at += 2;
        }
    }
}
