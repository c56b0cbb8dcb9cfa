//! Title, caption, color legend and scale bar.

use super::camera::Camera;
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

/// One line with its baseline at `(x, y)` and capitals of `size` pixels, cut where it would be wider than `width`.
pub fn draw_label(image: &mut Image, text: &str, [x, y]: [f32; 2], size: f32, width: f32, color: [u8; 3]) {
    let mut shown = text.to_string();
    while text_width(&shown, size) > width && shown.chars().count() > 3 {
        let kept = shown.trim_end_matches("...").chars().count().saturating_sub(1);
        shown = shown.chars().take(kept).collect::<String>() + "...";
    }
    draw_text(image, &shown, x, y, size, Anchor::Left, color);
}

/// Vertical color bar on the right side.
pub(crate) fn draw_legend(image: &mut Image, legend: &Legend<'_>) {
    let size = text_size(image);
    let ticks = legend_ticks(legend.min, legend.max);
    let labels: Vec<String> = ticks.iter().map(|&t| format_tick(t, &ticks)).collect();
    let label_width = labels.iter().map(|l| text_width(l, 0.85 * size)).fold(0.0, f32::max);
    let (width, height) = (1.3 * size, 0.42 * image.height as f32);
    let right = image.width as f32 - 2.4 * size;
    let x0 = right - label_width - 1.2 * size - width;
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
        draw_bar(image, [x0 + width, y, x0 + width + 0.5 * size, y], 0.12 * size, FAINT);
        draw_text(image, label, x0 + width + 1.2 * size, y + 0.42 * size, 0.85 * size, Anchor::Left, FAINT);
    }
}

/// Round numbers inside the range, and both of its ends.
fn legend_ticks(min: f64, max: f64) -> Vec<f64> {
    let round = ticks(min, max, 5);
    let [Some(first), Some(second)] = [round.first(), round.get(1)] else { return round };
    // Half a step is room enough for a number.
    let gap = 0.5 * (second - first);
    let inner = round.iter().copied().filter(|t| t - min > gap && max - t > gap);
    std::iter::once(min).chain(inner).chain([max]).collect()
}

/// The smallest range with round ends that holds \[min, max\]: it changes rarely as values come in.
pub fn rounded_range(min: f64, max: f64) -> [f64; 2] {
    let round = ticks(min, max, 5);
    let [Some(first), Some(second)] = [round.first(), round.get(1)] else { return [min, max] };
    // Half steps, so that the colors are used.
    let step = 0.5 * (second - first);
    [(min / step + 1e-9).floor() * step, (max / step - 1e-9).ceil() * step]
}

/// A scale bar in the lower right corner: a round length at the distance of the camera's target, nearly a fifth of the
/// width of the picture at most. Returns the length \[m\].
pub fn draw_scale_bar(image: &mut Image, camera: &Camera) -> f64 {
    let distance: f32 = (0..3).map(|i| (camera.target[i] - camera.eye[i]).powi(2)).sum::<f32>().sqrt();
    let per_meter = 0.5 * image.height as f32 / ((0.5 * camera.field_of_view).tan() * distance);
    let longest = 0.18 * f64::from(image.width as f32 / per_meter);
    if !(longest.is_finite() && longest > 0.0) {
        return 0.0;
    }
    let power = 10f64.powf(longest.log10().floor());
    let length = [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|&l| l <= longest).unwrap_or(power);
    let size = text_size(image);
    let margin = 2.4 * size;
    let (right, y) = (image.width as f32 - margin, image.height as f32 - margin);
    let left = right - length as f32 * per_meter;
    let thickness = (0.16 * size).max(1.0);
    draw_bar(image, [left, y, right, y], thickness, INK);
    for x in [left, right] {
        draw_bar(image, [x, y - 0.35 * size, x, y + 0.35 * size], thickness, INK);
    }
    let label = length_text(length);
    let middle = 0.5 * (left + right - text_width(&label, 0.85 * size));
    draw_text(image, &label, middle, y - 0.8 * size, 0.85 * size, Anchor::Left, INK);
    length
}

/// A round length with its unit \[m\].
fn length_text(length: f64) -> String {
    let units = [("km", 1e3), ("m", 1.0), ("cm", 1e-2), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9)];
    // A thousandth of allowance: 0.01 m may be a little less than 1 cm.
    let (unit, size) = units.into_iter().find(|(_, size)| length >= 0.999 * size).unwrap_or(("nm", 1e-9));
    format!("{} {unit}", (1e3 * length / size).round() / 1e3)
}

/// A straight line from (x, y) to (x, y) with round ends \[pixels\].
fn draw_bar(image: &mut Image, [x0, y0, x1, y1]: [f32; 4], thickness: f32, color: [u8; 3]) {
    let reach = 0.5 * thickness + 1.0;
    let (dx, dy) = (x1 - x0, y1 - y0);
    for py in (y0.min(y1) - reach).floor() as i64..=(y0.max(y1) + reach).ceil() as i64 {
        for px in (x0.min(x1) - reach).floor() as i64..=(x0.max(x1) + reach).ceil() as i64 {
            let (x, y) = (px as f32 + 0.5 - x0, py as f32 + 0.5 - y0);
            let along = ((x * dx + y * dy) / (dx * dx + dy * dy).max(1e-6)).clamp(0.0, 1.0);
            let distance = (x - along * dx).hypot(y - along * dy);
            image.blend(px, py, color, (0.5 * thickness + 0.5 - distance).clamp(0.0, 1.0));
        }
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
    fn color_bars_show_both_ends() {
        assert_eq!(legend_ticks(0.0, 17.0), [0.0, 5.0, 10.0, 17.0]);
        assert_eq!(legend_ticks(3.0, 3.0), [3.0]);
        assert_eq!(rounded_range(0.0, 378.3), [0.0, 400.0]);
        assert_eq!(rounded_range(-0.2, 1.46), [-0.25, 1.5]);
        assert_eq!(rounded_range(2.0, 2.0), [2.0, 2.0]);
        let [low, high] = rounded_range(0.0, 400.0);
        assert_eq!([low, high], rounded_range(low, high), "round ends stay");
    }

    /// At distance d a picture of height h shows 2 d tan(φ/2): 2 m here, so 1 px is 1 cm.
    #[test]
    fn scale_bars_have_their_length() {
        let camera =
            Camera { eye: [0.0, -5.0, 0.0], target: [0.0; 3], up: [0.0, 0.0, 1.0], field_of_view: 2.0 * 0.2f32.atan() };
        let mut image = Image::filled(300, 200, [255; 3]);
        assert_eq!(draw_scale_bar(&mut image, &camera), 0.5);
        let row = (0..200).map(|y| (0..300).filter(|&x| image.pixel(x, y)[0] < 128).count()).max().unwrap();
        assert!((50..=53).contains(&row), "50 px and the round ends: {row}");
        for (length, text) in
            [(0.5, "50 cm"), (1e-2, "1 cm"), (2e-3, "2 mm"), (5e-5, "50 µm"), (20.0, "20 m"), (5e3, "5 km")]
        {
            assert_eq!(length_text(length), text);
        }
        let blind = Camera { eye: camera.target, ..camera };
        assert_eq!(draw_scale_bar(&mut image, &blind), 0.0);
    }

    #[test]
    fn legend_fits_tiny_pictures() {
        let mut image = Image::filled(3, 2, [255; 3]);
        draw_legend(&mut image, &Legend { label: "x", min: 0.0, max: 1.0, map: ColorMap::Sequential });
        draw_title(&mut image, "t", Some("c"));
    }
}
