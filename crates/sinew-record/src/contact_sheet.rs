//! A contact sheet: one picture of many pictures, each with its name and a line about it.

use sinew_raster::{Image, draw_label};

use crate::costume::decode_png;
use crate::record::encode_png;

/// A picture of the sheet.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Its name.
    pub title: &'a str,
    /// A line about it.
    pub caption: &'a str,
    /// Whether something is wrong with it.
    pub is_wrong: bool,
    /// A PNG file; a blank stands for none.
    pub png: Option<&'a [u8]>,
}

/// Width and height of a picture on the sheet \[pixels\]; larger ones are shrunk, smaller ones stay as they are.
const PICTURE: [usize; 2] = [280, 210];
/// Space between pictures, and height of the two lines below each \[pixels\].
const GAP: usize = 8;
const LINES: usize = 34;
/// Most pictures in a row.
const COLUMNS: usize = 10;

const PAPER: [u8; 3] = [246, 247, 249];
const BLANK: [u8; 3] = [222, 225, 230];
const INK: [u8; 3] = [38, 44, 54];
const FAINT: [u8; 3] = [84, 94, 108];
const ALARM: [u8; 3] = [190, 30, 40];

/// The sheet as a PNG file, in rows that make it about as wide as high.
pub fn draw(cells: &[Cell<'_>]) -> Vec<u8> {
    let [width, height] = PICTURE;
    let columns = ((cells.len() as f64).sqrt().ceil() as usize).clamp(1, COLUMNS);
    let rows = cells.len().div_ceil(columns).max(1);
    let (across, down) = (width + GAP, height + LINES + GAP);
    let mut sheet = Image::filled(columns * across + GAP, rows * down + GAP, PAPER);
    for (number, cell) in cells.iter().enumerate() {
        let (left, top) = (GAP + number % columns * across, GAP + number / columns * down);
        let image = cell.png.and_then(decode_png).map(fitting);
        let image = image.unwrap_or_else(|| Image::filled(width, height, BLANK));
        paste(&mut sheet, &image, left + (width - image.width) / 2, top + (height - image.height) / 2);
        let at = |below: usize| [left as f32 + 2.0, (top + height + below) as f32];
        let room = width as f32 - 4.0;
        draw_label(&mut sheet, cell.title, at(14), 9.0, room, INK);
        draw_label(&mut sheet, cell.caption, at(29), 8.0, room, if cell.is_wrong { ALARM } else { FAINT });
    }
    encode_png(&sheet)
}

/// The picture, shrunk until it fits.
fn fitting(image: Image) -> Image {
    let [width, height] = PICTURE;
    let scale = (width as f64 / image.width as f64).min(height as f64 / image.height as f64).min(1.0);
    let size = [image.width, image.height].map(|side| ((side as f64 * scale).round() as usize).max(1));
    image.into_shrunk(size)
}

fn paste(sheet: &mut Image, image: &Image, left: usize, top: usize) {
    for row in 0..image.height {
        let (from, to) = (3 * row * image.width, 3 * ((top + row) * sheet.width + left));
        sheet.pixels[to..to + 3 * image.width].copy_from_slice(&image.pixels[from..from + 3 * image.width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of any size stand where they belong; a broken one is a blank, and nothing is too long.
    #[test]
    fn pictures_stand_in_rows() {
        let colors = [[200, 10, 10], [10, 200, 10], [10, 10, 200]];
        let sizes = [[280, 210], [560, 420], [30, 20]];
        let pictures: Vec<Vec<u8>> =
            colors.iter().zip(sizes).map(|(color, [w, h])| encode_png(&Image::filled(w, h, *color))).collect();
        let mut cells: Vec<Cell<'_>> = pictures
            .iter()
            .map(|png| Cell { title: "a", caption: "b", is_wrong: false, png: Some(png.as_slice()) })
            .collect();
        let long = "a very long name of a character and its motion ".repeat(9);
        cells.push(Cell { title: &long, caption: &long, is_wrong: true, png: Some(b"no picture") });
        let sheet = decode_png(&draw(&cells)).unwrap();
        let [width, height] = [GAP + 2 * (PICTURE[0] + GAP), GAP + 2 * (PICTURE[1] + LINES + GAP)];
        assert_eq!((sheet.width, sheet.height), (width, height));
        let middle = |column: usize, row: usize| {
            sheet.pixel(
                GAP + column * (PICTURE[0] + GAP) + PICTURE[0] / 2,
                GAP + row * (PICTURE[1] + LINES + GAP) + PICTURE[1] / 2,
            )
        };
        assert_eq!([middle(0, 0), middle(1, 0), middle(0, 1)], colors);
        assert_eq!(middle(1, 1), BLANK);
        assert!(!draw(&[]).is_empty());
    }
}
