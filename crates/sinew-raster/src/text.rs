//! A small stroke font with round pens.
//!
//! Glyphs live on a grid: baseline 0, x-height 4, capitals 6, descenders −2. A glyph is a list of strokes separated by
//! `;`, each a list of `x,y` points. Three kinds: plain strokes are polygons, `~` strokes run along the quadratic
//! B-spline of their points (from the first to the last), `@` strokes along the closed one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::image::Image;

/// Character, width of the strokes, strokes.
type Glyph = (char, f32, &'static str);

#[rustfmt::skip]
const GLYPHS: &[Glyph] = &[
    (' ', 1.4, ""),
    ('0', 4.0, "@0,0 4,0 4,6 0,6"),
    ('1', 2.0, "0.2,4.7 1.8,6 1.8,0"),
    ('2', 4.0, "~0.1,4.4 0.1,6 4,6 4,3.6 0,0;0,0 4,0"),
    ('3', 4.0, "~0.2,5.1 0.4,6 3.8,6 3.8,3.1 1.5,3.1;~1.5,3.1 4,3.1 4,0 0.4,0 0,1"),
    ('4', 4.0, "3,0 3,6 0,1.6 4,1.6"),
    ('5', 4.0, "3.6,6 0.6,6 0.35,3.2;~0.35,3.2 1,3.9 4,4.1 4,0 0.4,0 0,0.9"),
    ('6', 4.0, "@0,0 4,0 4,3.8 0,3.8;~0,1.9 0,6 3,6 3.6,5.3"),
    ('7', 4.0, "0,6 4,6 1.4,0"),
    ('8', 4.0, "@0.25,3.2 3.75,3.2 3.75,6 0.25,6;@0,0 4,0 4,3.2 0,3.2"),
    ('9', 4.0, "@0,2.2 4,2.2 4,6 0,6;~4,4.1 4,0 1,0 0.4,0.7"),
    ('A', 4.2, "0,0 2.1,6 4.2,0;0.7,1.9 3.5,1.9"),
    ('B', 4.0, "0,0 0,6;~0,6 3.7,6 3.7,3.1 0,3.1;~0,3.1 4,3.1 4,0 0,0"),
    ('C', 4.0, "~4,4.9 3.6,6 0,6 0,0 3.6,0 4,1.1"),
    ('D', 4.2, "0,0 0,6;~0,6 4.2,6 4.2,0 0,0"),
    ('E', 3.4, "3.4,6 0,6 0,0 3.4,0;0,3.1 2.9,3.1"),
    ('F', 3.3, "3.3,6 0,6 0,0;0,3.1 2.8,3.1"),
    ('G', 4.2, "~4.1,4.9 3.6,6 0,6 0,0 3.8,0 4.2,1;2.5,2.8 4.2,2.8 4.2,1"),
    ('H', 4.0, "0,0 0,6;4,0 4,6;0,3.1 4,3.1"),
    ('I', 0.0, "0,0 0,6"),
    ('J', 3.0, "~3,6 3,2 3,0 0,0 0,1.5"),
    ('K', 4.0, "0,0 0,6;3.9,6 0,2.2;1.4,3.5 4,0"),
    ('L', 3.2, "0,6 0,0 3.2,0"),
    ('M', 4.8, "0,0 0,6 2.4,1.8 4.8,6 4.8,0"),
    ('N', 4.0, "0,0 0,6 4,0 4,6"),
    ('O', 4.4, "@0,0 4.4,0 4.4,6 0,6"),
    ('P', 3.9, "0,0 0,6;~0,6 3.9,6 3.9,2.7 0,2.7"),
    ('Q', 4.4, "@0,0 4.4,0 4.4,6 0,6;2.8,1.4 4.4,-0.4"),
    ('R', 4.0, "0,0 0,6;~0,6 3.9,6 3.9,2.7 0,2.7;2,2.7 4,0"),
    ('S', 4.0, "~3.8,5 3.5,6 0.1,6 0.1,3.2 4,3 4,0 0.3,0 0,1.1"),
    ('T', 4.0, "0,6 4,6;2,6 2,0"),
    ('U', 4.0, "~0,6 0,3 0,0 4,0 4,3 4,6"),
    ('V', 4.0, "0,6 2,0 4,6"),
    ('W', 5.4, "0,6 1.4,0 2.7,4.6 4,0 5.4,6"),
    ('X', 4.0, "0,0 4,6;0,6 4,0"),
    ('Y', 4.0, "0,6 2,3 4,6;2,3 2,0"),
    ('Z', 4.0, "0,6 4,6 0,0 4,0"),
    ('a', 3.2, "@0,0 3.2,0 3.2,4 0,4;3.2,4 3.2,0"),
    ('b', 3.2, "@0,0 3.2,0 3.2,4 0,4;0,6.2 0,0"),
    ('c', 3.0, "~3,3.3 2.7,4 0,4 0,0 2.7,0 3,0.7"),
    ('d', 3.2, "@0,0 3.2,0 3.2,4 0,4;3.2,6.2 3.2,0"),
    ('e', 3.2, "0,2.05 3.2,2.05;~3.2,2.05 3.2,4 0,4 0,0 2.7,0 3.1,0.8"),
    ('f', 2.2, "~2.3,6 0.9,6.4 0.9,4.6 0.9,0;0,4 2.1,4"),
    ('g', 3.2, "@0,0 3.2,0 3.2,4 0,4;~3.2,4 3.2,0 3.2,-2 0.3,-2 0.1,-1.4"),
    ('h', 3.1, "0,0 0,6.2;~0,2 0,4 3.1,4 3.1,2 3.1,0"),
    ('i', 0.0, "0,0 0,4;0,5.7 0,5.8"),
    ('j', 0.8, "~0.8,4 0.8,0 0.8,-2 -0.4,-2;0.8,5.7 0.8,5.8"),
    ('k', 3.0, "0,0 0,6.2;2.8,4 0,1.5;1,2.4 3,0"),
    ('l', 0.0, "0,6.2 0,0"),
    ('m', 4.8, "0,0 0,4;~0,2 0,4 2.4,4 2.4,2 2.4,0;~2.4,2 2.4,4 4.8,4 4.8,2 4.8,0"),
    ('n', 3.1, "0,0 0,4;~0,2 0,4 3.1,4 3.1,2 3.1,0"),
    ('o', 3.4, "@0,0 3.4,0 3.4,4 0,4"),
    ('p', 3.2, "@0,0 3.2,0 3.2,4 0,4;0,4 0,-2"),
    ('q', 3.2, "@0,0 3.2,0 3.2,4 0,4;3.2,4 3.2,-2"),
    ('r', 2.0, "0,0 0,4;~0,2 0,4 2,4"),
    ('s', 3.0, "~2.8,3.4 2.6,4 0.1,4 0.1,2.2 3,1.9 3,0 0.3,0 0,0.7"),
    ('t', 2.2, "~0.9,5.4 0.9,2 0.9,0 2.3,0;0,4 2.1,4"),
    ('u', 3.1, "~0,4 0,2 0,0 3.1,0 3.1,2;3.1,4 3.1,0"),
    ('v', 3.2, "0,4 1.6,0 3.2,4"),
    ('w', 4.4, "0,4 1.1,0 2.2,3.4 3.3,0 4.4,4"),
    ('x', 3.1, "0,0 3.1,4;0,4 3.1,0"),
    ('y', 3.2, "0,4 1.6,0;3.2,4 0.8,-2"),
    ('z', 3.0, "0,4 3,4 0,0 3,0"),
    ('.', 0.0, "0,0 0,0.1"),
    (',', 0.3, "0.3,0.1 -0.1,-1"),
    (':', 0.0, "0,0.3 0,0.4;0,3.4 0,3.5"),
    (';', 0.3, "0.3,0.3 -0.1,-0.8;0.3,3.4 0.3,3.5"),
    ('!', 0.0, "0,6 0,1.9;0,0 0,0.1"),
    ('?', 3.4, "~0,4.7 0,6 3.4,6 3.4,3.4 1.6,3 1.6,1.8;1.6,0 1.6,0.1"),
    ('\'', 0.0, "0,6 0,4.7"),
    ('"', 1.3, "0,6 0,4.7;1.3,6 1.3,4.7"),
    ('(', 1.4, "~1.4,6.8 0,4.8 0,0.8 1.4,-1.2"),
    (')', 1.4, "~0,6.8 1.4,4.8 1.4,0.8 0,-1.2"),
    ('[', 1.3, "1.3,6.7 0,6.7 0,-1 1.3,-1"),
    (']', 1.3, "0,6.7 1.3,6.7 1.3,-1 0,-1"),
    ('{', 1.7, "~1.7,6.7 0.8,6.7 0.8,3 0,2.9;~0,2.9 0.8,2.8 0.8,-1 1.7,-1"),
    ('}', 1.7, "~0,6.7 0.9,6.7 0.9,3 1.7,2.9;~1.7,2.9 0.9,2.8 0.9,-1 0,-1"),
    ('<', 3.2, "3.2,5 0,2.7 3.2,0.4"),
    ('>', 3.2, "0,5 3.2,2.7 0,0.4"),
    ('/', 2.4, "0,-0.8 2.4,6.6"),
    ('\\', 2.4, "0,6.6 2.4,-0.8"),
    ('|', 0.0, "0,6.8 0,-1.2"),
    ('-', 2.2, "0,2.6 2.2,2.6"),
    ('_', 3.6, "0,-1 3.6,-1"),
    ('+', 3.2, "0,2.6 3.2,2.6;1.6,4.2 1.6,1"),
    ('=', 3.2, "0,3.5 3.2,3.5;0,1.7 3.2,1.7"),
    ('*', 2.8, "1.4,6 1.4,3.2;0.2,5.3 2.6,3.9;0.2,3.9 2.6,5.3"),
    ('#', 4.2, "1.2,0 1.8,6;2.8,0 3.4,6;0.2,4 4.2,4;0,2 4,2"),
    ('%', 4.6, "@0,3.6 1.8,3.6 1.8,6 0,6;@2.8,0 4.6,0 4.6,2.4 2.8,2.4;0.6,0 4,6"),
    ('&', 4.4, "~4.4,2.6 3.6,0 0,-0.4 0,2.8 2.8,3.6 2.9,6 0.6,6 0.6,4.3 1.6,3 4.4,0"),
    ('@', 5.6, "@1.7,1.2 3.8,1.2 3.8,4.2 1.7,4.2;~3.8,4.2 3.6,1 5.6,1 5.6,6 0,6 0,-1.2 4.4,-0.9"),
    ('$', 3.8, "~3.6,4.9 3.4,5.7 0.1,5.7 0.1,3.2 3.8,3 3.8,0.3 0.3,0.3 0,1.2;1.9,6.6 1.9,-0.7"),
    ('^', 2.8, "0,4.4 1.4,6 2.8,4.4"),
    ('`', 0.9, "0,6.2 0.9,5"),
    ('~', 3.2, "~0,2.2 0.6,3.4 1.6,2.6 2.6,1.8 3.2,3"),
    ('°', 1.6, "@0,4.4 1.6,4.4 1.6,6.2 0,6.2"),
    ('²', 1.9, "~0,5.7 0,6.5 1.9,6.5 1.9,5.3 0,3.8;0,3.8 1.9,3.8"),
    ('³', 1.9, "~0,6 0.2,6.5 1.8,6.5 1.8,5.2 0.7,5.2;~0.7,5.2 1.9,5.2 1.9,3.7 0.2,3.7 0,4.2"),
    ('µ', 3.1, "~0,4 0,2 0,0 3.1,0 3.1,2;3.1,4 3.1,0;0,2 0,-2"),
    ('·', 0.0, "0,2.6 0,2.7"),
    ('×', 2.4, "0,1.4 2.4,3.8;0,3.8 2.4,1.4"),
    ('–', 3.2, "0,2.6 3.2,2.6"),
    ('−', 3.2, "0,2.6 3.2,2.6"),
    ('σ', 3.6, "@0,0 3.2,0 3.2,4 0,4;1.6,4 3.8,4"),
    ('Δ', 4.2, "0,0 2.1,6 4.2,0 0,0"),
];

/// A box replaces a character that the font lacks.
const MISSING: Glyph = ('\u{fffd}', 3.2, "0,0 3.2,0 3.2,6 0,6 0,0");

/// Free space between glyphs, in grid units.
const GAP: f32 = 1.75;

/// Color around the strokes.
const HALO: [u8; 3] = [246, 247, 249];

/// Grid units from the baseline to the top of a capital.
const CAPITAL: f32 = 6.0;

type Segment = [f32; 4];

struct Outline {
    width: f32,
    segments: Vec<Segment>,
}

/// Alignment of a line of text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Left,
    Right,
}

/// Width of a line of text whose capitals are `size` pixels high.
pub(crate) fn text_width(text: &str, size: f32) -> f32 {
    let units: f32 = text.chars().map(|c| outline(c).width + GAP).sum();
    (units - GAP).max(0.0) * size / CAPITAL
}

/// Draws one line with its baseline at `y`.
pub(crate) fn draw_text(image: &mut Image, text: &str, x: f32, y: f32, size: f32, anchor: Anchor, color: [u8; 3]) {
    let scale = size / CAPITAL;
    let mut pen = x - match anchor {
        Anchor::Left => 0.0,
        Anchor::Right => text_width(text, size),
    };
    // Thin enough for counters to stay open, and never thinner than a pixel can show.
    let radius = (0.068 * size).max(0.55);
    let start = pen;
    // A halo first, so that text is readable on dark bodies too.
    for (radius, color, opacity) in [(radius + 0.14 * size, HALO, 0.55), (radius, color, 1.0)] {
        pen = start;
        for c in text.chars() {
            let glyph = outline(c);
            draw_segments(image, &glyph.segments, [pen, y], scale, (radius, opacity), color);
            pen += (glyph.width + GAP) * scale;
        }
    }
}

fn draw_segments(
    image: &mut Image,
    segments: &[Segment],
    [x, y]: [f32; 2],
    scale: f32,
    (radius, opacity): (f32, f32),
    color: [u8; 3],
) {
    let placed: Vec<Segment> =
        segments.iter().map(|s| [x + s[0] * scale, y - s[1] * scale, x + s[2] * scale, y - s[3] * scale]).collect();
    if placed.is_empty() {
        return;
    }
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for s in &placed {
        for i in 0..2 {
            low[i] = low[i].min(s[i]).min(s[i + 2]);
            high[i] = high[i].max(s[i]).max(s[i + 2]);
        }
    }
    let reach = radius + 1.0;
    let squares = placed.iter().map(|s| (s[2] - s[0]) * (s[2] - s[0]) + (s[3] - s[1]) * (s[3] - s[1]));
    let inverses: Vec<f32> = squares.map(|square| if square > 0.0 { 1.0 / square } else { 0.0 }).collect();
    for py in (low[1] - reach).floor() as i64..=(high[1] + reach).ceil() as i64 {
        for px in (low[0] - reach).floor() as i64..=(high[0] + reach).ceil() as i64 {
            let p = [px as f32 + 0.5, py as f32 + 0.5];
            let mut squared = f32::INFINITY;
            for (s, &inverse) in placed.iter().zip(&inverses) {
                squared = squared.min(distance_squared(p, s, inverse));
            }
            let distance = squared.sqrt();
            image.blend(px, py, color, opacity * (radius + 0.5 - distance).clamp(0.0, 1.0));
        }
    }
}

/// Squared distance to a segment; `inverse` is that of its squared length, zero for a point.
fn distance_squared(p: [f32; 2], s: &Segment, inverse: f32) -> f32 {
    let (dx, dy) = (s[2] - s[0], s[3] - s[1]);
    let (px, py) = (p[0] - s[0], p[1] - s[1]);
    let t = ((px * dx + py * dy) * inverse).clamp(0.0, 1.0);
    let (ex, ey) = (px - t * dx, py - t * dy);
    ex * ex + ey * ey
}

fn outline(c: char) -> &'static Outline {
    static FONT: OnceLock<BTreeMap<char, Outline>> = OnceLock::new();
    let font = FONT.get_or_init(|| {
        GLYPHS
            .iter()
            .chain([&MISSING])
            .map(|&(c, width, strokes)| {
                (c, Outline { width, segments: strokes.split(';').flat_map(flatten).collect() })
            })
            .collect()
    });
    font.get(&c).unwrap_or_else(|| &font[&MISSING.0])
}

/// Line segments of one stroke.
fn flatten(stroke: &str) -> Vec<Segment> {
    let (kind, points) = match stroke.chars().next() {
        Some(kind @ ('~' | '@')) => (kind, &stroke[1..]),
        _ => ('-', stroke),
    };
    let points: Vec<[f32; 2]> = points
        .split_whitespace()
        .filter_map(|p| {
            let (x, y) = p.split_once(',')?;
            Some([x.parse().ok()?, y.parse().ok()?])
        })
        .collect();
    let path = match kind {
        '@' => spline(&points, Ends::Closed),
        '~' => spline(&points, Ends::Open),
        _ => points,
    };
    path.windows(2).map(|w| [w[0][0], w[0][1], w[1][0], w[1][1]]).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Open,
    Closed,
}

/// Quadratic B-spline: from midpoint to midpoint of the control polygon, bent by the corner between them.
fn spline(points: &[[f32; 2]], ends: Ends) -> Vec<[f32; 2]> {
    const STEPS: usize = 8;
    let n = points.len();
    let middle = |a: [f32; 2], b: [f32; 2]| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
    let corners = if ends == Ends::Closed { 0..n } else { 1..n.saturating_sub(1) };
    let mut path = Vec::new();
    if let (Ends::Open, Some(&first)) = (ends, points.first()) {
        path.push(first);
    }
    for i in corners {
        let (p, q, r) = (points[(i + n - 1) % n], points[i], points[(i + 1) % n]);
        let (a, b) = (middle(p, q), middle(q, r));
        for k in 0..=STEPS {
            let t = k as f32 / STEPS as f32;
            path.push(std::array::from_fn(|c| {
                (1.0 - t) * (1.0 - t) * a[c] + 2.0 * t * (1.0 - t) * q[c] + t * t * b[c]
            }));
        }
    }
    if let (Ends::Open, Some(&last)) = (ends, points.last()) {
        path.push(last);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_ascii_character_has_a_glyph() {
        for c in ' '..='~' {
            assert!(GLYPHS.iter().any(|g| g.0 == c), "no glyph for {c:?}");
            assert!(c == ' ' || !outline(c).segments.is_empty(), "{c:?} is blank");
        }
        assert!(!outline('語').segments.is_empty(), "missing characters show a box");
    }

    #[test]
    fn text_outside_the_picture_is_cut_not_fatal() {
        let mut image = Image::filled(20, 10, [255; 3]);
        draw_text(&mut image, "far away", -500.0, 400.0, 12.0, Anchor::Left, [0; 3]);
        assert_eq!(image, Image::filled(20, 10, [255; 3]));
        draw_text(&mut image, "HHHHHH", 0.0, 8.0, 8.0, Anchor::Left, [0; 3]);
        assert_ne!(image, Image::filled(20, 10, [255; 3]));
    }

    #[test]
    fn width_grows_with_the_text() {
        assert_eq!(text_width("", 12.0), 0.0);
        assert!(text_width("kPa", 12.0) < text_width("12 kPa", 12.0));
    }
}
