//! Sixels: pictures as text, in bands of six rows of pixels.
//!
//! Each band is drawn once per color; a character selects the pixels of a column with that color. Median cut over a
//! histogram selects the colors of each picture. Reference: DEC, "VT330/VT340 Programmer Reference Manual",
//! chapter 14 (1988).

use sinew_raster::Image;

/// Number of colors that every sixel terminal supports.
const COLORS: usize = 255;

/// Bits per channel of the histogram.
const BITS: usize = 5;

/// Bayer's 4 × 4 matrix, in sixteenths.
const BAYER: [[i32; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// Bin of a pixel. A fixed dither of one bin hides the steps in smooth shades.
fn bin_of(color: [u8; 3], x: usize, y: usize) -> usize {
    let shift = (BAYER[y % 4][x % 4] - 8) / 2;
    let level = |c: u8| ((i32::from(c) + shift).clamp(0, 255) as usize) >> (8 - BITS);
    (level(color[0]) << (2 * BITS)) | (level(color[1]) << BITS) | level(color[2])
}

/// A used bin: its number, pixel count and mean color.
#[derive(Clone, Copy)]
struct Bin {
    number: usize,
    weight: f64,
    color: [f64; 3],
}

/// Weighted mean of some bins.
fn mean(bins: &[Bin]) -> [f64; 3] {
    let weight: f64 = bins.iter().map(|bin| bin.weight).sum();
    std::array::from_fn(|c| bins.iter().map(|bin| bin.color[c] * bin.weight).sum::<f64>() / weight.max(1.0))
}

/// The axis of the maximum extent of some bins, and the extent.
fn spread(bins: &[Bin]) -> (usize, f64) {
    let middle = mean(bins);
    let along = |axis: usize| bins.iter().map(|bin| (bin.color[axis] - middle[axis]).powi(2) * bin.weight).sum::<f64>();
    (0..3).map(|axis| (axis, along(axis))).fold((0, -1.0), |best, next| if next.1 > best.1 { next } else { best })
}

/// Colors in percent, and the color number of each pixel.
fn quantized(image: &Image) -> (Vec<[u8; 3]>, Vec<u8>) {
    let width = image.width.max(1);
    let pixels = image.pixels.as_chunks::<3>().0;
    let numbers: Vec<usize> =
        pixels.iter().enumerate().map(|(i, &pixel)| bin_of(pixel, i % width, i / width)).collect();
    let mut sums = vec![[0u64; 4]; 1 << (3 * BITS)];
    for (&number, pixel) in numbers.iter().zip(pixels) {
        sums[number][3] += 1;
        (0..3).for_each(|c| sums[number][c] += u64::from(pixel[c]));
    }
    let used = sums.iter().enumerate().filter(|(_, sum)| sum[3] > 0);
    let bins: Vec<Bin> = used
        .map(|(number, sum)| {
            let weight = sum[3] as f64;
            // The square root keeps a large background from taking all colors.
            Bin { number, weight: weight.sqrt(), color: std::array::from_fn(|c| sum[c] as f64 / weight) }
        })
        .collect();
    let mut boxes = vec![(spread(&bins), bins)];
    while boxes.len() < COLORS {
        let most =
            (0..boxes.len()).filter(|&b| boxes[b].1.len() > 1).max_by(|&a, &b| boxes[a].0.1.total_cmp(&boxes[b].0.1));
        let Some(at) = most else { break };
        let ((axis, _), mut low) = boxes.swap_remove(at);
        low.sort_by(|a, b| a.color[axis].total_cmp(&b.color[axis]));
        let half = 0.5 * low.iter().map(|bin| bin.weight).sum::<f64>();
        let mut sum = 0.0;
        let cut = low.iter().position(|bin| {
            sum += bin.weight;
            sum > half
        });
        let high = low.split_off(cut.unwrap_or(1).clamp(1, low.len() - 1));
        boxes.push((spread(&low), low));
        boxes.push((spread(&high), high));
    }
    let mut color_of = vec![0u8; sums.len()];
    for (color, (_, bins)) in boxes.iter().enumerate() {
        bins.iter().for_each(|bin| color_of[bin.number] = color as u8);
    }
    let palette = boxes.iter().map(|(_, bins)| mean(bins).map(|c| (c / 2.55).round() as u8)).collect();
    (palette, numbers.iter().map(|&number| color_of[number]).collect())
}

/// The picture as a sixel sequence.
pub fn encode(image: &Image) -> String {
    let (width, height) = (image.width, image.height);
    let (palette, numbers) = quantized(image);
    let mut text = format!("\x1bP0;1q\"1;1;{width};{height}");
    for (color, [r, g, b]) in palette.iter().enumerate() {
        text += &format!("#{color};2;{r};{g};{b}");
    }
    let mut masks = vec![0u8; width * palette.len()];
    for top in (0..height).step_by(6) {
        let mut in_band = vec![false; palette.len()];
        for y in top..height.min(top + 6) {
            for x in 0..width {
                let color = usize::from(numbers[y * width + x]);
                masks[color * width + x] |= 1 << (y - top);
                in_band[color] = true;
            }
        }
        let mut is_first = true;
        for color in (0..palette.len()).filter(|&color| in_band[color]) {
            if !is_first {
                text.push('$');
            }
            is_first = false;
            text += &format!("#{color}");
            let row = &mut masks[color * width..(color + 1) * width];
            add_runs(&mut text, row);
            row.fill(0);
        }
        text.push('-');
    }
    text + "\x1b\\"
}

/// Characters of a row, without the empty ones at its end.
fn add_runs(text: &mut String, row: &[u8]) {
    let end = row.iter().rposition(|&mask| mask != 0).map_or(0, |last| last + 1);
    for run in row[..end].chunk_by(|a, b| a == b) {
        let character = char::from(63 + run[0]);
        match run.len() {
            // A repeat takes three characters itself.
            count if count > 3 => *text += &format!("!{count}{character}"),
            count => text.extend(std::iter::repeat_n(character, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Colors and the color number of each pixel of a sixel sequence, as a terminal would draw it.
    fn decode(text: &str) -> (usize, usize, Vec<[u8; 3]>, Vec<u8>) {
        let body = text.strip_prefix("\x1bP0;1q\"").unwrap().strip_suffix("\x1b\\").unwrap();
        let bytes = body.as_bytes();
        let mut at = 0;
        let number = |at: &mut usize| {
            let start = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            body[start..*at].parse::<usize>().unwrap()
        };
        let mut header = Vec::new();
        for _ in 0..4 {
            header.push(number(&mut at));
            at += usize::from(bytes[at] == b';');
        }
        let (width, height) = (header[2], header[3]);
        let mut palette = Vec::new();
        let mut pixels = vec![None; width * height];
        let (mut x, mut y, mut color) = (0, 0, 0);
        while at < bytes.len() {
            let mut repeat = 1;
            match bytes[at] {
                b'#' => {
                    at += 1;
                    color = number(&mut at);
                    let mut parts = Vec::new();
                    while bytes.get(at) == Some(&b';') {
                        at += 1;
                        parts.push(number(&mut at) as u8);
                    }
                    if let [2, r, g, b] = parts[..] {
                        assert!(palette.len() == color && r.max(g).max(b) <= 100);
                        palette.push([r, g, b]);
                    }
                    continue;
                }
                b'$' => x = 0,
                b'-' => (x, y) = (0, y + 6),
                mut sixel => {
                    if sixel == b'!' {
                        at += 1;
                        repeat = number(&mut at);
                        sixel = bytes[at];
                    }
                    assert!((63..=126).contains(&sixel), "{sixel} is not a sixel");
                    for _ in 0..repeat {
                        for row in (0..6).filter(|row| (sixel - 63) >> row & 1 == 1) {
                            let pixel = &mut pixels[(y + row) * width + x];
                            assert!(pixel.replace(color as u8).is_none(), "a pixel is drawn once");
                        }
                        x += 1;
                    }
                }
            }
            at += 1;
        }
        (width, height, palette, pixels.into_iter().map(|color| color.expect("every pixel is drawn")).collect())
    }

    fn colorful(width: usize, height: usize) -> Image {
        let pixels =
            (0..width * height).flat_map(|i| [(i * 7 % 256) as u8, (i % width * 3) as u8, (i / width * 11) as u8]);
        Image::new(width, height, pixels.collect())
    }

    /// Decoding gives the same picture, also if its sides are not multiples of six.
    #[test]
    fn encoding_and_decoding_gives_the_quantized_picture() {
        for (width, height) in [(37, 23), (1, 1), (12, 6), (5, 13)] {
            let image = colorful(width, height);
            let (w, h, palette, pixels) = decode(&encode(&image));
            assert_eq!(((w, h), (palette, pixels)), ((width, height), quantized(&image)));
        }
    }

    /// The colors of a smooth picture change by a few steps of 255: the dither and part of a bin.
    #[test]
    fn smooth_shades_are_kept() {
        let (width, height) = (160, 120);
        let pixels = (0..width * height).flat_map(|i| {
            let (x, y) = ((i % width) as f64 / width as f64, (i / width) as f64 / height as f64);
            [200.0 + 30.0 * x, 120.0 + 80.0 * y, 90.0 + 40.0 * x * y].map(|c| c as u8)
        });
        let image = Image::new(width, height, pixels.collect());
        let (palette, numbers) = quantized(&image);
        let colors = numbers.iter().map(|&number| palette[usize::from(number)].map(|c| f64::from(c) * 2.55));
        let errors = colors
            .zip(image.pixels.as_chunks::<3>().0)
            .map(|(found, exact)| (0..3).map(|c| (found[c] - f64::from(exact[c])).abs()).fold(0.0, f64::max));
        let mean = errors.sum::<f64>() / (width * height) as f64;
        assert!(mean < 4.0, "{mean}");
    }

    #[test]
    fn even_rows_are_short() {
        assert!(encode(&Image::filled(600, 6, [255; 3])).len() < 80);
    }
}
