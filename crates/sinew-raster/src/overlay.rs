//! Title, caption and color legend.

use super::color::ColorMap;
use super::image::Image;
use super::text::{Anchor, draw_text, text_width};

/// A color bar with the numbers of its colors.
#[derive(Clone, Copy, Debug)]
pub struct Legend<'a> {
    /// Name of the field with its unit, such as `von Mises stress [kPa]`.
    pub label: &'a str,
    /// Number at the lower end.
    pub min: f64,
    /// Number at the upper end.
    pub max: f64,
    /// The map.
    pub map: ColorMap,
}

const INK: [u8; 3] = [38, 44, 54];
const FAINT: [u8; 3] = [84, 94, 108];

/// Height of capitals for a picture of this size \[pixels\].
fn text_size(image: &Image) -> f32 {
    (image.height as f32 * 0.021).max(6.0)
}

/// Title on the left and caption on the right of the upper edge.
pub(crate) fn draw_title(image: &mut Image, title: &str, caption: Option<&str>) {
    let size = text_size(image);
    let margin = 2.4 * size;
    draw_text(image, title, margin, margin + size, 1.15 * size, Anchor::Left, INK);
    if let Some(caption) = caption {
        let x = image.width as f32 - margin;
        draw_text(image, caption, x, margin + size, size, Anchor::Right, FAINT);
    }
}

/// A line in the lower left corner.
pub fn draw_footnote(image: &mut Image, text: &str) {
    let size = text_size(image);
    let margin = 2.4 * size;
    draw_text(image, text, margin, image.height as f32 - margin, size, Anchor::Left, FAINT);
}

/// Vertical color bar on the right side.
pub(crate) fn draw_legend(image: &mut Image, legend: &Legend<'_>) {
    let size = text_size(image);
    let ticks = ticks(legend.min, legend.max, 5);
    let labels: Vec<String> = ticks.iter().map(|&t| format_tick(t, &ticks)).collect();
    let label_width = labels.iter().map(|l| text_width(l, 0.85 * size)).fold(0.0, f32::max);
    let (width, height) = (1.3 * size, 0.42 * image.height as f32);
    let right = image.width as f32 - 2.4 * size;
    let x0 = right - label_width - 0.8 * size - width;
    let y0 = 0.5 * (image.height as f32 - height);
    draw_text(image, legend.label, right, y0 - 1.6 * size, 0.85 * size, Anchor::Right, INK);
    for py in (y0 - 1.0) as i64..=(y0 + height + 1.0) as i64 {
        for px in (x0 - 1.0) as i64..=(x0 + width + 1.0) as i64 {
            let (x, y) = (px as f32 + 0.5, py as f32 + 0.5);
            // Rounded rectangle: distance to the core, which is the bar shrunk by the radius.
            let r = 0.35 * width;
            let beyond = |at: f32, low: f32, high: f32| (low - at).max(at - high).max(0.0);
            let dx = beyond(x, x0 + r, x0 + width - r);
            let dy = beyond(y, y0 + r, y0 + height - r);
            let coverage = (r + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
            let t = f64::from(1.0 - (y - y0) / height);
            image.blend(px, py, legend.map.color(t).to_bytes(), coverage);
        }
    }
    for (&tick, label) in ticks.iter().zip(&labels) {
        let t = if legend.max > legend.min { (tick - legend.min) / (legend.max - legend.min) } else { 0.5 };
        let y = y0 + height * (1.0 - t as f32);
        draw_text(image, label, x0 + width + 0.8 * size, y + 0.42 * size, 0.85 * size, Anchor::Left, FAINT);
    }
}

/// Round numbers (1, 2 or 5 times a power of ten) inside \[min, max\], about `count` of them.
pub fn ticks(min: f64, max: f64, count: usize) -> Vec<f64> {
    let span = max - min;
    if !span.is_finite() {
        return Vec::new();
    }
    // A span below rounding error has no distinct ticks.
    if span <= 1e-12 * min.abs().max(max.abs()) || span <= 0.0 {
        return vec![min];
    }
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&s| s >= rough * 0.999).unwrap_or(10.0 * power);
    let first = (min / step - 1e-9).ceil() as i64;
    let last = (max / step + 1e-9).floor() as i64;
    // Rounding to the step avoids labels like 0.30000000000000004.
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A tick with as many decimals as the step between ticks needs.
pub fn format_tick(value: f64, ticks: &[f64]) -> String {
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let largest = ticks.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    if value == 0.0 {
        return "0".into();
    }
    if !step.is_finite() {
        return format!("{value:.3e}");
    }
    if !(1e-3..1e5).contains(&largest) {
        let decimals = (largest.log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        let text = format!("{value:.decimals$e}");
        return text.replace(".0e", "e");
    }
    let decimals = (-(step * 1.0001).log10().floor()).clamp(0.0, 8.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.0, 5), vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(-3.0, 12.0, 4), vec![0.0, 5.0, 10.0]);
        assert_eq!(ticks(7.0, 7.0, 5), vec![7.0]);
        assert!(ticks(f64::NAN, 1.0, 5).is_empty());
        assert!(ticks(0.0, f64::INFINITY, 5).is_empty());
        for (min, max) in [(1e-9, 3e-9), (1e12, 1.5e12), (-1e300, 1e300)] {
            let t = ticks(min, max, 6);
            assert!(t.len() >= 3 && t.len() <= 13, "{t:?}");
            assert!(t.iter().all(|&v| v >= min * 1.001f64.copysign(-min) - 1e-12 && v <= max * 1.001));
        }
    }

    #[test]
    fn tick_labels_show_the_step() {
        let t = ticks(0.0, 1.0, 5);
        let labels: Vec<String> = t.iter().map(|&v| format_tick(v, &t)).collect();
        assert_eq!(labels, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let t = ticks(0.0, 2.5e6, 5);
        assert_eq!(format_tick(t[1], &t), "5e5");
    }

    #[test]
    fn legend_fits_tiny_pictures() {
        let mut image = Image::filled(3, 2, [255; 3]);
        draw_legend(&mut image, &Legend { label: "x", min: 0.0, max: 1.0, map: ColorMap::Sequential });
        draw_title(&mut image, "t", Some("c"));
    }
}
