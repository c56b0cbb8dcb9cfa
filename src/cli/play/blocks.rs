//! Pictures of half blocks: each character shows two pixels, one above the other, in 24-bit color.

use std::fmt::Write;

use sinew_raster::Image;

/// The picture as lines of text.
pub fn encode(image: &Image) -> String {
    let mut text = String::new();
    for y in (0..image.height).step_by(2) {
        let mut last: Option<([u8; 3], [u8; 3])> = None;
        for x in 0..image.width {
            let upper = image.pixel(x, y);
            let lower = if y + 1 < image.height { image.pixel(x, y + 1) } else { upper };
            // Set a color only when it changes: a flat background costs one sequence per line.
            if last.is_none_or(|(known, _)| known != upper) {
                let [r, g, b] = upper;
                let _ = write!(text, "\x1b[38;2;{r};{g};{b}m");
            }
            if last.is_none_or(|(_, known)| known != lower) {
                let [r, g, b] = lower;
                let _ = write!(text, "\x1b[48;2;{r};{g};{b}m");
            }
            last = Some((upper, lower));
            text.push('▀');
        }
        text += "\x1b[0m\r\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_share_a_line_and_equal_colors_appear_once() {
        let mut image = Image::filled(3, 3, [1, 2, 3]);
        image.pixels[3 * 3..3 * 6].copy_from_slice(&[9, 8, 7].repeat(3));
        let text = encode(&image);
        let first = "\x1b[38;2;1;2;3m\x1b[48;2;9;8;7m▀▀▀\x1b[0m\r\n";
        assert_eq!(text, format!("{first}\x1b[38;2;1;2;3m\x1b[48;2;1;2;3m▀▀▀\x1b[0m\r\n"));
    }
}
