//! PNG stills and APNG animations.
//!
//! An animation shares one palette. Each frame stores only the rectangle that changed since the frame before, and
//! within it only the changed pixels. Frames with a clear background are stored whole, in true color. Reference: W3C,
//! "Portable Network Graphics (PNG) Specification, Third Edition" (2025).

use std::path::Path;

use sinew_fem::RecordError;
use sinew_math::parallel::prelude::*;
use sinew_raster::Image;

use super::atomic::write_file;
use super::palette::{Histogram, Palette, TRANSPARENT};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Bytes of a true-color PNG file, with opacity if the picture has it.
pub fn encode_png(image: &Image) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
    let is_clear = !image.alpha.is_empty();
    encoder.set_color(if is_clear { ::png::ColorType::Rgba } else { ::png::ColorType::Rgb });
    encoder.set_depth(::png::BitDepth::Eight);
    encoder.set_source_srgb(::png::SrgbRenderingIntent::Perceptual);
    let result = encoder.write_header().and_then(|mut writer| {
        match is_clear {
            true => writer.write_image_data(&image.rgba())?,
            false => writer.write_image_data(&image.pixels)?,
        }
        writer.finish()
    });
    debug_assert!(result.is_ok(), "an image in memory has a size and the right number of bytes");
    bytes
}

/// Bytes of PNG files with a palette that all pictures share, each a third of a true-color one.
pub(crate) fn encode_indexed_pngs(images: &[Image]) -> Vec<Vec<u8>> {
    let palette = Histogram::of(&images.iter().collect::<Vec<_>>()).palette();
    let encode = |image: &Image| {
        let color = |i: usize| [image.pixels[3 * i], image.pixels[3 * i + 1], image.pixels[3 * i + 2]];
        let index = |i: usize| palette.index(color(i), i % image.width, i / image.width);
        let indices: Vec<u8> = (0..image.width * image.height).map(index).collect();
        let mut bytes = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut bytes, image.width as u32, image.height as u32);
        encoder.set_color(::png::ColorType::Indexed);
        encoder.set_depth(::png::BitDepth::Eight);
        encoder.set_palette(palette.bytes());
        let result = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&indices)?;
            writer.finish()
        });
        debug_assert!(result.is_ok(), "an image in memory has a size and the right number of bytes");
        bytes
    };
    images.iter().map(encode).collect()
}

/// Writes a PNG file.
pub fn write_png(path: &Path, image: &Image) -> Result<(), RecordError> {
    write_file(path, &encode_png(image))
}

/// Largest byte difference at which a pixel counts as unchanged: below what the eye sees in motion.
const STILL: u8 = 3;

#[inline(always)]
fn is_changed(new: [u8; 3], shown: [u8; 3]) -> bool {
    let [red, green, blue] = [0, 1, 2].map(|c| new[c].abs_diff(shown[c]));
    red.max(green).max(blue) > STILL
}

/// Effort of compression of palette indices: dithered, they repeat over short distances only, and longer searches take
/// twice the time.
const LEVEL: u8 = 4;

/// An animation during encoding, frame by frame.
pub struct Animation {
    pub(super) palette: Palette,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether the pictures have a clear background.
    pub(super) is_clear: bool,
    /// Last color of each pixel.
    shown: Vec<u8>,
    pub(super) frames: Vec<Patch>,
    /// The frames in true color, if they have a clear background.
    colors: Vec<Vec<u8>>,
}

/// The changed rectangle of a frame.
pub(super) struct Patch {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
    pub indices: Vec<u8>,
}

impl Animation {
    /// An animation of pictures like `examples`, which determine the palette; all frames must have the size of the
    /// first.
    pub fn new<'a>(examples: impl IntoIterator<Item = &'a Image>) -> Animation {
        let examples: Vec<&Image> = examples.into_iter().collect();
        let histogram = Histogram::of(&examples);
        let size = examples.first().map(|image| (image.width, image.height, !image.alpha.is_empty()));
        let (width, height, is_clear) = size.unwrap_or((1, 1, false));
        let (shown, frames, colors) = (Vec::new(), Vec::new(), Vec::new());
        Animation { palette: histogram.palette(), width, height, is_clear, shown, frames, colors }
    }

    /// Adds a frame; a picture of another size is an error.
    pub fn push(&mut self, image: &Image) -> Result<(), RecordError> {
        if (image.width, image.height) != (self.width, self.height) {
            return Err(RecordError::Unsupported {
                format: "APNG",
                reason: format!(
                    "frame of {} x {} pixels in an animation of {} x {}",
                    image.width, image.height, self.width, self.height
                ),
            });
        }
        if self.is_clear {
            let is_seen = |i: usize| image.alpha.get(i).is_none_or(|&alpha| alpha >= 128);
            let index = |i: usize| if is_seen(i) { self.index(image, i) } else { TRANSPARENT };
            let indices = (0..self.width * self.height).map(index).collect();
            self.frames.push(Patch { x: 0, y: 0, width: self.width, height: self.height, indices });
            self.colors.push(image.rgba());
            return Ok(());
        }
        if self.frames.is_empty() {
            self.shown = image.pixels.clone();
            let indices = (0..self.width * self.height).map(|i| self.index(image, i)).collect();
            self.frames.push(Patch { x: 0, y: 0, width: self.width, height: self.height, indices });
            return Ok(());
        }
        let indices = self.changes(image);
        let width = self.width;
        let is_drawn = |index: &u8| *index != TRANSPARENT;
        let rows = || indices.chunks_exact(width).enumerate().filter(|(_, row)| row.iter().any(is_drawn));
        let (Some((y0, _)), Some((y1, _))) = (rows().next(), rows().next_back()) else {
            // Nothing moved, but a frame still needs a pixel.
            self.frames.push(Patch { x: 0, y: 0, width: 1, height: 1, indices: vec![TRANSPARENT] });
            return Ok(());
        };
        let x0 = rows().filter_map(|(_, row)| row.iter().position(is_drawn)).min().unwrap_or(0);
        let right = rows().filter_map(|(_, row)| row.iter().rev().position(is_drawn)).min().unwrap_or(0);
        let columns = x0..width - right;
        let patch: Vec<&[u8]> = indices.chunks_exact(width).map(|row| &row[columns.clone()]).collect();
        let (indices, width) = (patch[y0..=y1].concat(), columns.len());
        self.frames.push(Patch { x: x0, y: y0, width, height: y1 - y0 + 1, indices });
        Ok(())
    }

    /// Indices of the pixels that differ from what is shown, which is then shown; the others are transparent.
    fn changes(&mut self, image: &Image) -> Vec<u8> {
        let (palette, width) = (&self.palette, self.width);
        let mut indices = vec![TRANSPARENT; width * self.height];
        let shown = self.shown.par_chunks_exact_mut(3 * width);
        let rows = indices.par_chunks_exact_mut(width).zip(shown).zip(image.pixels.par_chunks_exact(3 * width));
        // Most rows of most pictures are equal, and equality is found fast.
        let rows = rows.enumerate().filter(|(_, ((_, shown), new))| *shown != *new);
        rows.for_each(|(y, ((indices, shown), new))| {
            let pixels = shown.as_chunks_mut::<3>().0.iter_mut().zip(new.as_chunks::<3>().0);
            for (x, (index, (shown, &new))) in indices.iter_mut().zip(pixels).enumerate() {
                if is_changed(new, *shown) {
                    *shown = new;
                    *index = palette.index(new, x, y);
                }
            }
        });
        indices
    }

    fn index(&self, image: &Image, i: usize) -> u8 {
        let color = [image.pixels[3 * i], image.pixels[3 * i + 1], image.pixels[3 * i + 2]];
        self.palette.index(color, i % self.width, i / self.width)
    }

    /// Bytes of the APNG file, which loops forever at `seconds_per_frame`.
    pub fn encode(&self, seconds_per_frame: f64) -> Result<Vec<u8>, RecordError> {
        // Compression takes longest, and each frame is compressed for itself.
        let pngs: Result<Vec<Vec<u8>>, ::png::EncodingError> =
            (0..self.frames.len()).into_par_iter().map(|number| self.encode_frame(number)).collect();
        let pngs = pngs.map_err(|error| RecordError::Unsupported { format: "APNG", reason: error.to_string() })?;
        let milliseconds = (seconds_per_frame * 1000.0).round().clamp(1.0, 60_000.0) as u16;
        // Disposal "none", then blending "over" or "source".
        let operations = [0, u8::from(!self.is_clear)];
        let mut bytes = SIGNATURE.to_vec();
        let mut sequence = 0u32..;
        let mut next = || sequence.next().unwrap_or_default().to_be_bytes();
        for (number, (png, patch)) in pngs.iter().zip(&self.frames).enumerate() {
            let is_animated = pngs.len() > 1;
            let mut is_begun = false;
            for (kind, data) in chunks(png) {
                let is_data = kind == *b"IDAT";
                if is_data && is_animated && !std::mem::replace(&mut is_begun, true) {
                    let place = [patch.width, patch.height, patch.x, patch.y].map(|n| (n as u32).to_be_bytes());
                    let delay = [milliseconds, 1000].map(u16::to_be_bytes);
                    let control = [&next()[..], place.as_flattened(), delay.as_flattened(), &operations].concat();
                    append_chunk(&mut bytes, b"fcTL", &control);
                }
                match (number, is_data) {
                    (0, _) if kind != *b"IEND" => append_chunk(&mut bytes, &kind, data),
                    (1.., true) => append_chunk(&mut bytes, b"fdAT", &[&next()[..], data].concat()),
                    _ => {}
                }
                if number == 0 && kind == *b"IHDR" && is_animated {
                    let plays_forever = 0u32;
                    let control = [pngs.len() as u32, plays_forever].map(u32::to_be_bytes);
                    append_chunk(&mut bytes, b"acTL", control.as_flattened());
                }
            }
        }
        append_chunk(&mut bytes, b"IEND", &[]);
        Ok(bytes)
    }

    /// A frame as a PNG file of its own.
    fn encode_frame(&self, number: usize) -> Result<Vec<u8>, ::png::EncodingError> {
        let (patch, mut bytes) = (&self.frames[number], Vec::new());
        let mut encoder = ::png::Encoder::new(&mut bytes, patch.width as u32, patch.height as u32);
        encoder.set_depth(::png::BitDepth::Eight);
        if self.is_clear {
            encoder.set_color(::png::ColorType::Rgba);
        } else {
            encoder.set_color(::png::ColorType::Indexed);
            encoder.set_palette(self.palette.bytes());
            let mut alpha = vec![255; 256];
            alpha[usize::from(TRANSPARENT)] = 0;
            encoder.set_trns(alpha);
        }
        encoder.set_compression(::png::Compression::Balanced);
        if !self.is_clear {
            // Filters predict numbers; palette indices are names. After the compression, which sets a filter too.
            encoder.set_filter(::png::Filter::NoFilter);
            encoder.set_deflate_compression(::png::DeflateCompression::Level(LEVEL));
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.colors.get(number).unwrap_or(&patch.indices))?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// One frame of an animation as a separate PNG file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnimationFrame {
    pub x: u32,
    pub y: u32,
    pub png: Vec<u8>,
}

/// The frames of an APNG file, for a page that shows them in any order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AnimationParts {
    pub width: u32,
    pub height: u32,
    pub seconds_per_frame: f64,
    pub frames: Vec<AnimationFrame>,
}

/// Splits an APNG file into frames; `None` for any other file.
pub(crate) fn split_animation(bytes: &[u8]) -> Option<AnimationParts> {
    let number = |data: &[u8], at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
    if !bytes.starts_with(SIGNATURE) {
        return None;
    }
    let (mut header, mut common) = (Vec::new(), Vec::new());
    let mut parts = AnimationParts { width: 0, height: 0, seconds_per_frame: 0.04, frames: Vec::new() };
    // Position, size and compressed data of the frame being collected.
    let mut open: Option<([u32; 4], Vec<u8>)> = None;
    let close = |open: Option<([u32; 4], Vec<u8>)>, header: &[u8], common: &[u8], parts: &mut AnimationParts| {
        if let Some(([x, y, width, height], data)) = open.filter(|(_, data)| !data.is_empty()) {
            let mut ihdr = header.to_vec();
            ihdr[..4].copy_from_slice(&width.to_be_bytes());
            ihdr[4..8].copy_from_slice(&height.to_be_bytes());
            let mut png = SIGNATURE.to_vec();
            append_chunk(&mut png, b"IHDR", &ihdr);
            png.extend_from_slice(common);
            append_chunk(&mut png, b"IDAT", &data);
            append_chunk(&mut png, b"IEND", &[]);
            parts.frames.push(AnimationFrame { x, y, png });
        }
    };
    for (kind, data) in chunks(bytes) {
        match &kind {
            b"IHDR" if data.len() == 13 => {
                header = data.to_vec();
                (parts.width, parts.height) = (number(data, 0)?, number(data, 4)?);
                // A file without frame controls is an animation of one frame.
                open = Some(([0, 0, parts.width, parts.height], Vec::new()));
            }
            b"PLTE" | b"tRNS" | b"sRGB" => append_chunk(&mut common, &kind, data),
            b"fcTL" if data.len() == 26 && header.len() == 13 => {
                close(open.take(), &header, &common, &mut parts);
                open = Some(([number(data, 12)?, number(data, 16)?, number(data, 4)?, number(data, 8)?], Vec::new()));
                let (numerator, denominator) =
                    (u16::from_be_bytes([data[20], data[21]]), u16::from_be_bytes([data[22], data[23]]));
                parts.seconds_per_frame = f64::from(numerator) / f64::from(denominator.max(1));
            }
            b"IDAT" => open.as_mut()?.1.extend_from_slice(data),
            b"fdAT" => open.as_mut()?.1.extend_from_slice(data.get(4..)?),
            _ => {}
        }
    }
    if header.len() == 13 {
        close(open.take(), &header, &common, &mut parts);
    }
    (!parts.frames.is_empty()).then_some(parts)
}

/// Kinds and data of the chunks of a PNG file, up to one that is cut off.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = bytes.strip_prefix(SIGNATURE).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let kind = rest.get(4..8)?.try_into().ok()?;
        let data = rest.get(8..8usize.checked_add(length)?)?;
        rest = rest.get(12 + length..)?;
        Some((kind, data))
    })
}

fn append_chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(kind);
    out.extend_from_slice(data);
    let crc = crc32fast::hash(&out[start..]);
    out.extend(crc.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(step: usize) -> Image {
        let mut image = Image::filled(40, 30, [230, 230, 235]);
        for y in 10..20 {
            for x in 0..8 {
                let at = 3 * (y * 40 + x + step);
                image.pixels[at..at + 3].copy_from_slice(&[200, 40, 30]);
            }
        }
        image
    }

    fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut decoder = ::png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(::png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        pixels.truncate(info.buffer_size());
        (info.width, info.height, pixels)
    }

    #[test]
    fn still_comes_back_bit_for_bit() {
        let image = frame(3);
        let (width, height, pixels) = decode(&encode_png(&image));
        assert_eq!((width, height, pixels), (40, 30, image.pixels));
    }

    /// Drawing the patches over each other restores every frame; the palette has both colors exactly.
    #[test]
    fn animation_comes_back_frame_by_frame() {
        let frames: Vec<Image> = (0..6).map(|i| frame(4 * i)).collect();
        let mut animation = Animation::new(&frames[..2]);
        frames.iter().for_each(|image| animation.push(image).unwrap());
        let bytes = animation.encode(0.04).unwrap();
        let parts = split_animation(&bytes).unwrap();
        assert_eq!((parts.width, parts.height, parts.frames.len()), (40, 30, 6));
        assert!((parts.seconds_per_frame - 0.04).abs() < 1e-9);
        let mut canvas = vec![0u8; 3 * 40 * 30];
        for (part, image) in parts.frames.iter().zip(&frames) {
            let (width, _, pixels) = decode(&part.png);
            for (i, p) in pixels.chunks_exact(4).enumerate().filter(|(_, p)| p[3] > 0) {
                let (x, y) = (part.x as usize + i % width as usize, part.y as usize + i / width as usize);
                canvas[3 * (40 * y + x)..3 * (40 * y + x) + 3].copy_from_slice(&p[..3]);
            }
            assert_eq!(canvas, image.pixels);
        }
        assert!(parts.frames[1].png.len() < parts.frames[0].png.len() + 200, "only the change is stored");
    }

    /// A clear background keeps its opacity, in stills and in animations.
    #[test]
    fn clear_pictures_come_back_with_their_opacity() {
        let mut image = Image { alpha: vec![0; 40 * 30], ..Image::filled(40, 30, [0; 3]) };
        image.blend(5, 6, [200, 40, 30], 0.5);
        assert_eq!(decode(&encode_png(&image)).2, image.rgba());
        let mut animation = Animation::new([&image]);
        (0..2).for_each(|_| animation.push(&image).unwrap());
        let parts = split_animation(&animation.encode(0.04).unwrap()).unwrap();
        assert_eq!(parts.frames.len(), 2);
        assert!(parts.frames.iter().all(|frame| decode(&frame.png).2 == image.rgba()));
    }

    #[test]
    fn lone_frame_and_standing_still_are_valid() {
        let mut animation = Animation::new(&[frame(0)]);
        animation.push(&frame(0)).unwrap();
        assert_eq!(split_animation(&animation.encode(0.04).unwrap()).unwrap().frames.len(), 1);
        animation.push(&frame(0)).unwrap();
        assert_eq!(split_animation(&animation.encode(0.04).unwrap()).unwrap().frames.len(), 2);
        assert!(animation.push(&Image::filled(2, 2, [0; 3])).is_err());
    }

    #[test]
    fn anything_else_is_no_animation() {
        assert!(split_animation(b"").is_none());
        assert!(split_animation(b"\x89PNG\r\n\x1a\n").is_none());
        let bytes = encode_png(&frame(0));
        for cut in 0..bytes.len() {
            let _ = split_animation(&bytes[..cut]);
        }
    }

    #[test]
    fn checksum_matches_the_standard_example() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
    }
}
