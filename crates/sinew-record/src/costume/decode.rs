//! Images of character files, from PNG or JPEG bytes.

use std::io::Cursor;
use std::panic::catch_unwind;

use sinew_raster::{Image, Texture};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// Largest side of an image: its 64 megapixels take 256 MB while it is read.
const MAX_SIDE: usize = 8192;

/// Memory of a PNG decoder beside the image \[bytes\].
const DECODER_BYTES: usize = 64 << 20;

/// Reads an image of at most `most` texels; a larger one is halved. The error says what is wrong with it.
pub(super) fn texture(bytes: &[u8], most: usize) -> Result<Texture, String> {
    let (width, height, rgba) = pixels(bytes)?;
    Texture::new(width, height, rgba, most).ok_or_else(|| "it is incomplete".into())
}

/// An opaque picture from the bytes of a PNG file; `None` if they are damaged.
pub(crate) fn decode_png(bytes: &[u8]) -> Option<Image> {
    let (width, height, rgba) = from_png(bytes).ok()?;
    let colors = rgba.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]);
    Some(Image::new(width, height, colors.collect()))
}

/// Width, height and four bytes per pixel.
pub type Rgba = (usize, usize, Vec<u8>);

/// Reads an image, PNG or JPEG. The error says what is wrong with it.
pub fn pixels(bytes: &[u8]) -> Result<Rgba, String> {
    match bytes {
        [] => Err("it has no bytes".into()),
        [0x89, b'P', b'N', b'G', ..] => from_png(bytes),
        [0xff, 0xd8, 0xff, ..] => from_jpeg(bytes),
        _ => Err("it is neither PNG nor JPEG".into()),
    }
}

fn from_png(bytes: &[u8]) -> Result<Rgba, String> {
    let text = |error: ::png::DecodingError| error.to_string();
    let limits = ::png::Limits { bytes: DECODER_BYTES };
    let mut decoder = ::png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(::png::Transformations::normalize_to_color8() | ::png::Transformations::ALPHA);
    let info = decoder.read_header_info().map_err(text)?;
    let [width, height] = check_size([info.width as usize, info.height as usize])?;
    let mut reader = decoder.read_info().map_err(text)?;
    let size = reader.output_buffer_size().filter(|&size| size <= 4 * width * height);
    let mut pixels = vec![0; size.ok_or("it is too large")?];
    let frame = reader.next_frame(&mut pixels).map_err(text)?;
    let rgba = match frame.color_type {
        ::png::ColorType::Rgba => pixels,
        ::png::ColorType::GrayscaleAlpha => {
            pixels.as_chunks::<2>().0.iter().flat_map(|&[gray, alpha]| [gray, gray, gray, alpha]).collect()
        }
        other => return Err(format!("its colors are {other:?}")),
    };
    Ok((width, height, rgba))
}

fn from_jpeg(bytes: &[u8]) -> Result<Rgba, String> {
    // No vector instructions: the same bits on every machine.
    let options = DecoderOptions::new_safe()
        .jpeg_set_out_colorspace(ColorSpace::RGBA)
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE)
        .set_strict_mode(false);
    // The library promises no memory error, but not to be free of panics.
    let decode = || {
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers().map_err(|error| format!("{error:?}"))?;
        let size = decoder.info().map(|info| [usize::from(info.width), usize::from(info.height)]);
        let [width, height] = check_size(size.unwrap_or_default())?;
        let pixels = decoder.decode().map_err(|error| format!("{error:?}"))?;
        Ok((width, height, pixels))
    };
    catch_unwind(decode).unwrap_or_else(|_| Err("it is damaged".into()))
}

fn check_size(size: [usize; 2]) -> Result<[usize; 2], String> {
    let [width, height] = size;
    match width.min(height) > 0 && width.max(height) <= MAX_SIDE {
        true => Ok(size),
        false => Err(format!("{width} x {height} pixels are more than {MAX_SIDE} x {MAX_SIDE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::encode_png;
    use sinew_raster::{Image, Wrap};

    fn png(width: usize, height: usize) -> Vec<u8> {
        encode_png(&Image::filled(width, height, [200, 100, 50]))
    }

    #[test]
    fn images_are_read_and_halved() {
        let read = texture(&png(40, 20), 300).unwrap();
        assert_eq!(read.size(), [20, 10]);
        let color = read.sample([0.5; 2], [[0.0; 2]; 2], [Wrap::Clamp; 2]);
        assert!((color[0] - 0.578).abs() < 0.01 && (color[2] - 0.032).abs() < 0.01, "{color:?}");
    }

    /// Gray, palettes and 16 bits become colors too.
    #[test]
    fn every_kind_of_png_is_read() {
        use ::png::{BitDepth, ColorType};
        let kinds = [
            (ColorType::Grayscale, BitDepth::Eight, 1),
            (ColorType::GrayscaleAlpha, BitDepth::Eight, 2),
            (ColorType::Rgb, BitDepth::Sixteen, 6),
            (ColorType::Rgba, BitDepth::Eight, 4),
            (ColorType::Indexed, BitDepth::Eight, 1),
        ];
        for (color, depth, bytes) in kinds {
            let mut file = Vec::new();
            let mut encoder = ::png::Encoder::new(&mut file, 3, 2);
            encoder.set_color(color);
            encoder.set_depth(depth);
            if color == ColorType::Indexed {
                encoder.set_palette([9; 3].repeat(256));
            }
            encoder.write_header().unwrap().write_image_data(&vec![7; 6 * bytes]).unwrap();
            assert_eq!(texture(&file, 99).unwrap().size(), [3, 2], "{color:?}");
        }
    }

    /// Every prefix and many changed bytes: an image or a reason, and no panic.
    #[test]
    fn damaged_images_have_reasons() {
        let whole = png(30, 30);
        assert!((0..whole.len() - 20).all(|end| texture(&whole[..end], 1 << 20).is_err()));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x5a;
            let _ = texture(&changed, 1 << 20);
        }
        assert_eq!(texture(b"GIF89a", 9).unwrap_err(), "it is neither PNG nor JPEG");
        assert!(texture(b"\xff\xd8\xff\xe0", 9).is_err());
    }

    /// 16 × 16 pixels, red on the left and blue on the right. Losses of compression.
    const TWO_COLORS: &[u8] = include_bytes!("two_colors.jpg");

    #[test]
    fn jpeg_images_are_read_and_damaged_ones_have_reasons() {
        let read = texture(TWO_COLORS, 1 << 20).unwrap();
        assert_eq!(read.size(), [16, 16]);
        let at = |u: f32| read.sample([u, 0.5], [[0.0; 2]; 2], [Wrap::Clamp; 2]);
        let (red, blue) = (at(0.2), at(0.8));
        assert!((red[0] - 0.578).abs() < 0.05 && red[2] < 0.06 && (red[3] - 1.0).abs() < 1e-6, "{red:?}");
        assert!((blue[2] - 0.578).abs() < 0.05 && blue[0] < 0.06, "{blue:?}");
        for at in 0..TWO_COLORS.len() {
            let mut changed = TWO_COLORS.to_vec();
            changed[at] ^= 0x5a;
            let _ = texture(&changed, 1 << 20);
            let _ = texture(&TWO_COLORS[..at], 1 << 20);
        }
    }

    /// A header of 60 000 × 60 000 pixels is refused before memory is taken.
    #[test]
    fn absurd_sizes_are_refused() {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, 60_000, 60_000);
        encoder.set_color(::png::ColorType::Rgba);
        drop(encoder.write_header().unwrap());
        assert!(texture(&file, 1 << 20).unwrap_err().contains("60000 x 60000"));
    }
}
