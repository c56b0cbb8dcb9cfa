//! GIF animations: one palette, patches of what changed, compressed by Lempel, Ziv and Welch.
//!
//! Reference: CompuServe, "Graphics Interchange Format, Version 89a" (1990).

use super::palette::TRANSPARENT;
use super::png::{Animation, Patch};

/// Least time of a frame \[s\]: viewers show shorter ones five times longer.
pub(super) const MIN_DELAY: f64 = 0.02;

/// Bits of a pixel: the palette has 256 entries.
const PIXEL_BITS: u32 = 8;

/// Codes have at most so many bits; then the table starts anew.
const MAX_BITS: u32 = 12;

impl Animation {
    /// Bytes of the GIF file, which loops forever at `seconds_per_frame`, at least 0.02 s.
    pub fn encode_gif(&self, seconds_per_frame: f64) -> Vec<u8> {
        let mut out = b"GIF89a".to_vec();
        let size = |out: &mut Vec<u8>, sides: [usize; 2]| {
            sides.iter().for_each(|&side| out.extend((side.min(usize::from(u16::MAX)) as u16).to_le_bytes()));
        };
        size(&mut out, [self.width, self.height]);
        // A global palette of 2^(7 + 1) colors.
        out.extend([0xf7, TRANSPARENT, 0]);
        out.extend(self.palette.bytes());
        if self.frames.len() > 1 {
            out.extend(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00");
        }
        // Whole hundredths of a second, whose sum stays close to the time.
        let seconds = if seconds_per_frame.is_finite() { seconds_per_frame.max(MIN_DELAY) } else { MIN_DELAY };
        let at = |frame: usize| (100.0 * seconds * frame as f64).round();
        // Patches stay, and the next ones are drawn over them. Clear pictures are removed first.
        let disposal = if self.is_clear { 2 } else { 1 };
        for (number, Patch { x, y, width, height, indices }) in self.frames.iter().enumerate() {
            let delay = (at(number + 1) - at(number)).clamp(0.0, f64::from(u16::MAX)) as u16;
            let [low, high] = delay.to_le_bytes();
            out.extend([0x21, 0xf9, 4, disposal << 2 | 1, low, high, TRANSPARENT, 0, 0x2c]);
            size(&mut out, [*x, *y]);
            size(&mut out, [*width, *height]);
            out.extend([0, PIXEL_BITS as u8]);
            for block in compressed(indices).chunks(255) {
                out.push(block.len() as u8);
                out.extend(block);
            }
            out.push(0);
        }
        out.push(0x3b);
        out
    }
}

/// Pixels as codes of growing length, the lowest bits first.
fn compressed(pixels: &[u8]) -> Vec<u8> {
    const CLEAR: u32 = 1 << PIXEL_BITS;
    const END: u32 = CLEAR + 1;
    let (mut out, mut held, mut held_bits) = (Vec::new(), 0u64, 0);
    let mut put = |code: u32, bits: u32| {
        held |= u64::from(code) << held_bits;
        held_bits += bits;
        while held_bits >= 8 {
            out.push(held as u8);
            (held, held_bits) = (held >> 8, held_bits - 8);
        }
    };
    // The code of a known string and one more pixel; 0 is none, as no string has this code.
    let mut table = vec![[0u16; 1 << PIXEL_BITS]; 1 << MAX_BITS];
    let (mut next, mut bits) = (END + 1, PIXEL_BITS + 1);
    put(CLEAR, bits);
    let mut rest = pixels.iter();
    let Some(&first) = rest.next() else {
        put(END, bits);
        put(0, 7);
        return out;
    };
    let mut code = u32::from(first);
    for &pixel in rest {
        let longer = table[code as usize][usize::from(pixel)];
        if longer > 0 {
            code = u32::from(longer);
            continue;
        }
        put(code, bits);
        if next < 1 << MAX_BITS {
            table[code as usize][usize::from(pixel)] = next as u16;
            // A reader learns each code one step later, so the length grows when the code is used.
            bits += u32::from(next == 1 << bits);
            next += 1;
        } else {
            put(CLEAR, bits);
            table.iter_mut().for_each(|row| row.fill(0));
            (next, bits) = (END + 1, PIXEL_BITS + 1);
        }
        code = u32::from(pixel);
    }
    put(code, bits);
    // The reader has learned one more code by now.
    bits += u32::from(next == 1 << bits && bits < MAX_BITS);
    put(END, bits);
    put(0, 7);
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sinew_raster::Image;

    /// A frame as a viewer shows it, and its time in hundredths of a second.
    pub(crate) struct Shown {
        pub rgba: Vec<u8>,
        pub delay: u16,
    }

    /// A small reader by the words of the specification: width, height, frames.
    pub(crate) fn decode(bytes: &[u8]) -> (usize, usize, Vec<Shown>) {
        let short = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        assert_eq!(&bytes[..6], b"GIF89a");
        let (width, height) = (short(6), short(8));
        assert_eq!(bytes[10] & 0x87, 0x87, "a global palette of 256 colors");
        let palette = &bytes[13..13 + 768];
        let (mut at, mut canvas, mut frames) = (13 + 768, vec![0u8; 4 * width * height], Vec::new());
        let (mut flags, mut delay, mut clear) = (0u8, 0, 0);
        loop {
            match bytes[at] {
                0x21 => {
                    if bytes[at + 1] == 0xf9 {
                        (flags, delay, clear) = (bytes[at + 3], short(at + 4) as u16, bytes[at + 6]);
                    }
                    at += 2;
                    while bytes[at] > 0 {
                        at += 1 + usize::from(bytes[at]);
                    }
                    at += 1;
                }
                0x2c => {
                    let [x, y, w, h] = [1, 3, 5, 7].map(|offset| short(at + offset));
                    assert_eq!((bytes[at + 9], bytes[at + 10]), (0, 8));
                    at += 11;
                    let mut data = Vec::new();
                    while bytes[at] > 0 {
                        data.extend(&bytes[at + 1..at + 1 + usize::from(bytes[at])]);
                        at += 1 + usize::from(bytes[at]);
                    }
                    at += 1;
                    let pixels = expanded(&data);
                    assert_eq!(pixels.len(), w * h);
                    for (i, &index) in pixels.iter().enumerate().filter(|(_, index)| **index != clear) {
                        let to = 4 * ((y + i / w) * width + x + i % w);
                        canvas[to..to + 3].copy_from_slice(&palette[3 * usize::from(index)..][..3]);
                        canvas[to + 3] = 255;
                    }
                    frames.push(Shown { rgba: canvas.clone(), delay });
                    if flags >> 2 & 7 == 2 {
                        canvas.fill(0);
                    }
                }
                0x3b => break,
                other => panic!("unknown block {other:#x}"),
            }
        }
        assert_eq!(at + 1, bytes.len());
        (width, height, frames)
    }

    fn expanded(data: &[u8]) -> Vec<u8> {
        let (mut bit, mut size, mut out) = (0, 9, Vec::new());
        let mut table: Vec<Vec<u8>> = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        loop {
            let code: usize = (0..size).map(|k| usize::from(data[(bit + k) / 8] >> ((bit + k) % 8) & 1) << k).sum();
            bit += size;
            match code {
                256 => {
                    table = (0..258).map(|value| if value < 256 { vec![value as u8] } else { Vec::new() }).collect();
                    (size, last) = (9, None);
                }
                257 => return out,
                _ => {
                    let entry = match (table.get(code), &last) {
                        (Some(entry), _) => entry.clone(),
                        (None, Some(last)) if code == table.len() => [&last[..], &last[..1]].concat(),
                        _ => panic!("code {code} of {}", table.len()),
                    };
                    if let Some(last) = last.filter(|_| table.len() < 4096) {
                        table.push([&last[..], &entry[..1]].concat());
                    }
                    out.extend(&entry);
                    if table.len() == 1 << size && size < 12 {
                        size += 1;
                    }
                    last = Some(entry);
                }
            }
        }
    }

    /// Long and short strings, full tables, and no pixels at all.
    #[test]
    fn compressed_pixels_come_back() {
        let noise = |count: usize, colors: u32| {
            let mut state = 12345u32;
            let next = move |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) % colors
            };
            (0..count).map(next).map(|value| value as u8).collect::<Vec<u8>>()
        };
        for colors in [1, 2, 17, 256] {
            for count in [0, 1, 2, 3, 254, 255, 256, 257, 511, 512, 3837, 3838, 3839, 3840, 5000, 60_000] {
                let pixels = noise(count, colors);
                assert!(expanded(&compressed(&pixels)) == pixels, "{count} pixels of {colors} colors");
            }
        }
    }

    /// Few colors are in the palette exactly, so every frame comes back to the byte.
    #[test]
    fn animation_comes_back_frame_by_frame() {
        let frame = |step: usize| {
            let mut image = Image::filled(40, 30, [230, 230, 235]);
            for at in (10..20).flat_map(|y| (0..8).map(move |x| 3 * (y * 40 + x + step))) {
                image.pixels[at..at + 3].copy_from_slice(&[200, 40, 30]);
            }
            image
        };
        let frames: Vec<Image> = [0, 4, 8, 8, 20].map(frame).to_vec();
        let mut animation = Animation::new(&frames[..2]);
        frames.iter().for_each(|image| animation.push(image).unwrap());
        let (width, height, shown) = decode(&animation.encode_gif(1.0 / 30.0));
        assert_eq!((width, height, shown.len()), (40, 30, 5));
        for (shown, image) in shown.iter().zip(&frames) {
            assert_eq!(shown.rgba, image.rgba());
        }
        assert_eq!(
            shown.iter().map(|frame| frame.delay).collect::<Vec<_>>(),
            [3, 4, 3, 3, 4],
            "17 hundredths for 5 / 30 s"
        );
    }

    #[test]
    fn clear_frames_replace_each_other() {
        let frame = |step: usize| {
            let mut image = Image { alpha: vec![0; 64], ..Image::filled(8, 8, [0; 3]) };
            for y in 0..8 {
                image.blend(step as i64, y, [200, 40, 30], 1.0);
            }
            image
        };
        let frames: Vec<Image> = (0..3).map(frame).collect();
        let mut animation = Animation::new(&frames);
        frames.iter().for_each(|image| animation.push(image).unwrap());
        let (_, _, shown) = decode(&animation.encode_gif(0.1));
        for (shown, image) in shown.iter().zip(&frames) {
            assert_eq!(shown.rgba, image.rgba());
        }
    }
}
