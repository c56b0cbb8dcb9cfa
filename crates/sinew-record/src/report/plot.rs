//! Line plots as SVG, so that a report is self-contained.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sinew_fem::RecordError;
use sinew_raster::{format_tick, ticks};
use sinew_scene::output::file_stem;

use crate::record::{escaped, write_file};

/// Scale of the ordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; values that are not positive are left out.
    Logarithmic,
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stroke {
    /// Solid.
    #[default]
    Solid,
    /// Dashed: a reference for comparison.
    Dashed,
    /// A dot at each value: single measurements.
    Dots,
    /// A red cross at each value: measurements in doubt.
    Crosses,
}

/// One line of a plot.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// One value per abscissa; NaN makes a gap.
    pub values: Vec<f64>,
    /// Its own abscissae, increasing; `None` uses those of the plot.
    pub x: Option<Vec<f64>>,
    /// Style of the line.
    pub stroke: Stroke,
}

impl Line {
    /// A solid line over the abscissae of its plot.
    pub fn new(label: impl Into<String>, values: Vec<f64>) -> Self {
        Self { label: label.into(), values, ..Self::default() }
    }

    /// The line with its own abscissae.
    pub fn over(self, x: Vec<f64>) -> Self {
        Self { x: Some(x), ..self }
    }

    /// The line with dashes.
    pub fn dashed(self) -> Self {
        Self { stroke: Stroke::Dashed, ..self }
    }

    /// The values as dots.
    pub fn dotted(self) -> Self {
        Self { stroke: Stroke::Dots, ..self }
    }

    /// The values as red crosses.
    pub fn crossed(self) -> Self {
        Self { stroke: Stroke::Crosses, ..self }
    }

    /// The value at an abscissa, by linear interpolation; NaN outside.
    fn at(&self, own: &[f64], x: f64) -> f64 {
        let after = own.partition_point(|&place| place < x);
        let value = |i: usize| self.values.get(i).copied().unwrap_or(f64::NAN);
        match (after.checked_sub(1), own.get(after)) {
            (_, Some(&place)) if place == x => value(after),
            (Some(before), Some(&place)) => {
                let share = (x - own[before]) / (place - own[before]);
                value(before) + share * (value(after) - value(before))
            }
            _ => f64::NAN,
        }
    }
}

/// Lines over a common abscissa.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Headline.
    pub title: String,
    /// Name of the abscissa, with unit.
    pub x_label: String,
    /// Name of the ordinate, with unit.
    pub y_label: String,
    /// Abscissae.
    pub x: Vec<f64>,
    /// The lines; at most eight have distinct colors.
    pub lines: Vec<Line>,
    /// Scale of the ordinate.
    pub scale: Scale,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;

/// Maximum number of points of a drawn line: more than its pixels.
const MAX_POINTS: usize = 600;

impl Plot {
    /// The plot as a `<figure>`, with its data attached for the pointer and for files.
    pub fn to_html(&self) -> String {
        let (content, [x0, x1], rows) = self.content();
        let (top, height) = (TOP + rows, HEIGHT + rows);
        let mut html = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            html,
            "<figure class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">{content}",
            escaped(&self.description())
        );
        let _ =
            write!(html, "<line class=\"cursor\" y1=\"{top}\" y2=\"{}\" x1=\"0\" x2=\"0\"/></svg>", height - BOTTOM);
        let _ = write!(
            html,
            "<script type=\"application/json\">{}</script><output class=\"readout\" aria-hidden=\"true\"></output>\
             <div class=\"files\"><button type=\"button\" data-file=\"svg\">SVG</button>\
             <button type=\"button\" data-file=\"csv\">CSV</button></div></figure>",
            self.data(&self.kept_samples(), [x0, x1])
        );
        html
    }

    /// The plot as an SVG file for print: dark on white, without style sheets from elsewhere.
    pub fn to_svg(&self) -> String {
        let (content, _, rows) = self.content();
        let height = HEIGHT + rows;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n\
             <title>{}</title>\n<style>\n{}</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{content}\n</svg>\n",
            escaped(&self.description()),
            print_style(),
        )
    }

    /// All values as a table. Lines with abscissae of their own have two columns.
    pub fn to_csv(&self) -> String {
        let unit = self.y_label.rfind('[').map_or("", |at| &self.y_label[at..]);
        let own = |line: &Line| line.x.is_some();
        let mut columns: Vec<(String, &[f64])> = Vec::new();
        if self.lines.iter().any(|line| !own(line)) {
            columns.push((self.x_label.clone(), &self.x));
        }
        for line in &self.lines {
            if let Some(x) = &line.x {
                columns.push((format!("{} of {}", self.x_label, line.label), x));
            }
            columns.push((format!("{} {unit}", line.label).trim_end().into(), &line.values));
        }
        let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let mut csv = columns.iter().map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(",") + "\n";
        for row in 0..rows {
            let cell = |values: &[f64]| values.get(row).filter(|v| v.is_finite()).map_or(String::new(), f64::to_string);
            csv += &(columns.iter().map(|(_, values)| cell(values)).collect::<Vec<_>>().join(",") + "\n");
        }
        csv
    }

    /// Title, axes, lines and legend as elements of an SVG image; the ends of the abscissa, and the height of the rows of
    /// the legend that need room.
    fn content(&self) -> (String, [f64; 2], f64) {
        let kept = self.kept_samples();
        let value = |line: &Line, i: usize| self.project(line.values.get(i).copied().unwrap_or(f64::NAN));
        let abscissae = |line: &'_ Line| line.x.as_ref().unwrap_or(&self.x).clone();
        let own = self.lines.iter().filter_map(|line| line.x.as_ref()).flatten();
        let (x0, x1) = extent(self.x.iter().chain(own).copied());
        let (y0, y1) = extent(self.lines.iter().flat_map(|line| (0..abscissae(line).len()).map(|i| value(line, i))));
        let (y0, y1) = padded(y0, y1, self.scale);
        let mut svg = String::new();
        let rows = if self.lines.len() > 1 { self.legend(&mut svg) } else { 0.0 };
        let (top, bottom) = (TOP + rows, HEIGHT + rows - BOTTOM);
        let px = |x: f64| LEFT + (x - x0) / (x1 - x0).max(f64::MIN_POSITIVE) * (WIDTH - LEFT - RIGHT);
        let py = |y: f64| bottom - (y - y0) / (y1 - y0).max(f64::MIN_POSITIVE) * (bottom - top);
        // Writing to a String cannot fail.
        let _ = write!(svg, "<text class=\"plot-title\" x=\"{LEFT}\" y=\"16\">{}</text>", escaped(&self.title));
        self.axes(&mut svg, [x0, x1], [y0, y1], [top, bottom], (&px, &py));
        for (number, line) in self.lines.iter().enumerate() {
            let x = abscissae(line);
            let own: Vec<usize>;
            let drawn = match &line.x {
                None => &kept,
                Some(x) => {
                    own = (0..x.len()).step_by(x.len() / MAX_POINTS + 1).collect();
                    &own
                }
            };
            let points = drawn.iter().map(|&i| (px(x[i]), py(value(line, i))));
            let path = match line.stroke {
                Stroke::Dots => dots(points),
                Stroke::Crosses => crosses(points),
                Stroke::Solid | Stroke::Dashed => path(points),
            };
            let _ = write!(svg, "<path class=\"line s{}{}\" d=\"{path}\"/>", number % 8, line.stroke.class());
        }
        (svg, [x0, x1], rows)
    }

    fn axes(
        &self,
        svg: &mut String,
        [x0, x1]: [f64; 2],
        [y0, y1]: [f64; 2],
        [top, bottom]: [f64; 2],
        (px, py): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> f64),
    ) {
        let right = WIDTH - RIGHT;
        let x_ticks = ticks(x0, x1, 6);
        for &tick in &x_ticks {
            let x = px(tick);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/><text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 15.0,
                format_tick(tick, &x_ticks)
            );
        }
        let y_ticks = if self.scale == Scale::Logarithmic { decades(y0, y1) } else { ticks(y0, y1, 5) };
        for &tick in &y_ticks {
            let y = py(tick);
            let label = match self.scale {
                Scale::Linear => format_tick(tick, &y_ticks),
                Scale::Logarithmic => format!("1e{tick:.0}"),
            };
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                LEFT - 7.0,
                y + 3.5
            );
        }
        let _ = write!(
            svg,
            "<text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            0.5 * (LEFT + right),
            bottom + BOTTOM - 6.0,
            escaped(&self.x_label)
        );
        let _ = write!(
            svg,
            "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(13 {:.1}) rotate(-90)\">{}</text>",
            0.5 * (top + bottom),
            escaped(&self.y_label)
        );
    }

    /// Draws the names of the lines, in the line of the title if there is room, else below it; returns the height of
    /// further rows.
    fn legend(&self, svg: &mut String) -> f64 {
        const ROW: f64 = 15.0;
        // Widths are estimated from the number of letters.
        let widths: Vec<f64> = self.lines.iter().map(|line| 24.0 + 6.4 * line.label.chars().count() as f64).collect();
        let total: f64 = widths.iter().sum();
        let is_beside = total + 7.2 * self.title.chars().count() as f64 + LEFT < WIDTH - RIGHT;
        let (mut x, mut y) = ((WIDTH - RIGHT - total).max(LEFT), if is_beside { 16.0 } else { 32.0 });
        let first = y;
        for (number, (line, width)) in self.lines.iter().zip(&widths).enumerate() {
            if x + width > WIDTH && x > LEFT {
                (x, y) = (LEFT, y + ROW);
            }
            let sample = match line.stroke {
                Stroke::Dots => format!("M{x:.1} {:.1}h0", y - 4.0),
                Stroke::Crosses => crosses([(x + 6.0, y - 4.0)].into_iter()),
                Stroke::Solid | Stroke::Dashed => format!("M{x:.1} {:.1}h12", y - 4.0),
            };
            let _ = write!(
                svg,
                "<path class=\"line s{}{}\" d=\"{sample}\"/><text class=\"legend\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                number % 8,
                line.stroke.class(),
                x + 16.0,
                escaped(&line.label)
            );
            x += width;
        }
        y - first
    }

    /// The description for a screen reader.
    fn description(&self) -> String {
        let mut text = format!("{}: {} over {}", self.title, self.y_label, self.x_label);
        for line in self.lines.iter().take(8) {
            let (min, max) = extent(line.values.iter().copied());
            let last = line.values.iter().rev().find(|v| v.is_finite()).copied().unwrap_or(f64::NAN);
            let _ = write!(text, "; {}: from {} to {}, at the end {}", line.label, short(min), short(max), short(last));
        }
        text
    }

    /// Abscissae, values and frame of the plot, for the script that follows the pointer.
    fn data(&self, kept: &[usize], [x0, x1]: [f64; 2]) -> String {
        let list = |values: &mut dyn Iterator<Item = f64>| {
            let numbers: Vec<String> = values.map(|v| if v.is_finite() { short(v) } else { "null".into() }).collect();
            format!("[{}]", numbers.join(","))
        };
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|line| {
                let values = list(&mut kept.iter().map(|&i| match &line.x {
                    Some(own) => line.at(own, self.x[i]),
                    None => line.values.get(i).copied().unwrap_or(f64::NAN),
                }));
                let own = line.x.as_ref().map_or(String::new(), |own| {
                    let (x, values) = (list(&mut own.iter().copied()), list(&mut line.values.iter().copied()));
                    format!(",\"own\":{{\"x\":{x},\"values\":{values}}}")
                });
                format!("{{\"label\":{},\"values\":{values}{own}}}", json_text(&line.label))
            })
            .collect();
        format!(
            "{{\"file\":{},\"left\":{LEFT},\"right\":{},\"width\":{WIDTH},\"min\":{},\"max\":{},\"xLabel\":{},\"yLabel\":{},\"x\":{},\"lines\":[{}]}}",
            json_text(&file_stem(&self.title, 0)),
            WIDTH - RIGHT,
            if x0.is_finite() { x0 } else { 0.0 },
            if x1.is_finite() { x1 } else { 1.0 },
            json_text(&self.x_label),
            json_text(&self.y_label),
            list(&mut kept.iter().map(|&i| self.x[i])),
            lines.join(",")
        )
    }

    fn project(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic if value > 0.0 => value.log10(),
            Scale::Logarithmic => f64::NAN,
        }
    }

    /// Samples that are drawn: all, or in every section those with the extremes of any line, so that no peak is lost.
    fn kept_samples(&self) -> Vec<usize> {
        let count = self.x.len();
        if count <= MAX_POINTS {
            return (0..count).collect();
        }
        let stretches = MAX_POINTS / (2 * self.lines.len().clamp(1, 8)).max(1);
        let mut kept = vec![0, count - 1];
        for s in 0..stretches {
            let range = s * count / stretches..(s + 1) * count / stretches;
            for line in self.lines.iter().filter(|line| line.x.is_none()).take(8) {
                let at = |i: &usize| line.values.get(*i).copied().unwrap_or(f64::NAN);
                kept.extend(range.clone().min_by(|a, b| at(a).total_cmp(&at(b))));
                kept.extend(range.clone().max_by(|a, b| at(a).total_cmp(&at(b))));
            }
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }
}

/// Writes every plot as .svg and .csv beside `pattern`: `folder/stem_TITLE.svg` for `folder/stem.html`. Returns the files.
pub fn write_plots(plots: &[Plot], pattern: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let files = plot_files(plots, pattern);
    for (plot, pair) in plots.iter().zip(files.chunks_exact(2)) {
        write_file(&pair[0], plot.to_svg().as_bytes())?;
        write_file(&pair[1], plot.to_csv().as_bytes())?;
    }
    Ok(files)
}

/// The files of [`write_plots`], two for each plot.
pub fn plot_files(plots: &[Plot], pattern: &Path) -> Vec<PathBuf> {
    // The name `.svg` has no stem but itself.
    let stem = pattern.file_stem().map(|stem| stem.to_string_lossy()).filter(|stem| !stem.starts_with('.'));
    let start = stem.map_or_else(String::new, |stem| format!("{stem}_"));
    let mut names: Vec<String> = Vec::new();
    for (number, plot) in plots.iter().enumerate() {
        let stem = file_stem(&plot.title, number);
        // Case is ignored, as some file systems do.
        let is_taken = names.iter().any(|name| name.eq_ignore_ascii_case(&stem));
        names.push(if is_taken { format!("{stem}_{number}") } else { stem });
    }
    let file = |name: &String, end: &str| pattern.with_file_name(format!("{start}{name}.{end}"));
    names.iter().flat_map(|name| [file(name, "svg"), file(name, "csv")]).collect()
}

/// Rules of a plot with the colors of the bright page in place of their names: programs for print know no variables.
pub(super) fn print_style() -> String {
    let colors = include_str!("page.css").split("@media").next().unwrap_or_default();
    let mut style = format!("svg {{ font-family: Helvetica, Arial, sans-serif; }}\n{}", include_str!("plot.css"));
    for (name, color) in colors.split(';').filter_map(|rule| rule.split_once(": ")) {
        let name = name.rsplit(char::is_whitespace).next().unwrap_or_default();
        style = style.replace(&format!("var({name})"), color);
    }
    style
}

/// A cell of a table.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

impl Stroke {
    /// CSS class of the style, to be appended.
    fn class(self) -> &'static str {
        match self {
            Self::Solid => "",
            Self::Dashed => " dashed",
            Self::Dots => " dots",
            Self::Crosses => " crosses",
        }
    }
}

/// `M x y h0 …`: strokes without length, whose round ends are dots.
fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
        // Writing to a String cannot fail.
        let _ = write!(path, "M{x:.1} {y:.1}h0");
    }
    path
}

/// Two strokes across each point.
fn crosses(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
        let _ = write!(path, "M{:.1} {:.1}l9 9m-9 0l9 -9", x - 4.5, y - 4.5);
    }
    path
}

/// `M x y L x y …`, interrupted at points that are not finite.
fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut is_down = false;
    for (x, y) in points {
        if x.is_finite() && y.is_finite() {
            path.push(if is_down { 'L' } else { 'M' });
            push_tenths(&mut path, x);
            path.push(' ');
            push_tenths(&mut path, y);
            is_down = true;
        } else {
            is_down = false;
        }
    }
    path
}

/// A coordinate with one decimal: pages have tens of thousands of them, and the usual way takes ten times as long.
fn push_tenths(text: &mut String, value: f64) {
    let tenths = (10.0 * value).round() as i64;
    let _ = write!(text, "{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
}

/// Smallest and largest finite value; (∞, −∞) if there is none.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
}

/// The range with a small margin; a constant gets a nonzero height.
fn padded(y0: f64, y1: f64, scale: Scale) -> (f64, f64) {
    if y0 > y1 {
        return (0.0, 1.0);
    }
    if scale == Scale::Logarithmic {
        // Whole decades: a logarithmic axis needs at least two of them to be readable.
        let (low, high) = (y0.floor(), y1.ceil());
        return if high > low { (low, high) } else { (low - 1.0, high + 1.0) };
    }
    if y0 == 0.0 && y1 == 0.0 {
        return (0.0, 1.0);
    }
    let span = y1 - y0;
    let flat = 1e-9 * y0.abs().max(y1.abs());
    let air = if span > flat { 0.06 * span } else { 0.05 * y0.abs() };
    // Lines that start at zero start on the axis.
    let low = if y0 == 0.0 { y0 } else { y0 - air };
    (low, y1 + air)
}

fn decades(y0: f64, y1: f64) -> Vec<f64> {
    let (first, last) = (y0.ceil() as i64, y1.floor() as i64);
    let step = ((last - first) / 6 + 1).max(1);
    (first..=last).filter(|k| k.rem_euclid(step) == 0).map(|k| k as f64).collect()
}

/// Six significant digits without trailing zeros.
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "–".into() };
    }
    let magnitude = value.abs();
    if !(1e-4..1e7).contains(&magnitude) {
        let text = format!("{value:.4e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (5 - magnitude.log10().floor() as i64).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A JSON string that cannot end its script element.
pub(crate) fn json_text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".into()).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: Vec<f64>) -> Plot {
        let x = (0..values.len()).map(|i| i as f64 * 0.1).collect();
        let lines = vec![Line::new("a", values)];
        Plot {
            title: "t".into(),
            x_label: "time [s]".into(),
            y_label: "force [N]".into(),
            x,
            lines,
            scale: Scale::Linear,
        }
    }

    #[test]
    fn peaks_survive_thinning() {
        let mut values = vec![0.0; 100_000];
        values[54_321] = 7.0;
        values[77_777] = -3.0;
        let plot = plot(values);
        let kept = plot.kept_samples();
        assert!(kept.len() <= 2 * MAX_POINTS && kept.contains(&54_321) && kept.contains(&77_777));
        assert!(kept.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn gaps_and_empty_plots_are_drawn_without_nan() {
        for values in
            [vec![], vec![f64::NAN; 5], vec![1.0, f64::NAN, 2.0], vec![3.0], vec![5.0; 4], vec![-1e300, 1e300]]
        {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let html = Plot { scale, ..plot(values.clone()) }.to_html();
                assert!(!html.contains("NaN") && !html.contains("inf"), "{values:?}: {html}");
            }
        }
    }

    #[test]
    fn lines_with_abscissae_of_their_own_widen_the_plot_and_are_read_between_their_points() {
        let mut plot = plot(vec![1.0, 2.0, 3.0]);
        plot.lines.push(Line::new("b", vec![0.0, 10.0]).over(vec![-1.0, 1.0]).dashed());
        plot.lines.push(Line::new("c", vec![4.0]).over(vec![0.1]).dotted());
        let html = plot.to_html();
        assert!(html.contains("s1 dashed") && html.contains("s2 dots"), "{html}");
        assert!(html.contains("\"min\":-1,\"max\":1,"), "{html}");
        assert!(html.contains("[5,5.5,6]") && html.contains("[null,4,null]"), "{html}");
    }

    /// Each element is closed in order: a reader of XML would accept it.
    fn is_well_formed(text: &str) -> bool {
        let mut open: Vec<&str> = Vec::new();
        for tag in text.split('<').skip(1) {
            let Some((tag, rest)) = tag.split_once('>') else { return false };
            if rest.contains('>') {
                return false;
            }
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            if tag.starts_with('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        open.is_empty()
            && text.split('&').skip(1).all(|entity| entity.split_once(';').is_some_and(|(e, _)| e.len() < 6))
    }

    #[test]
    fn files_for_print_have_labels_ticks_and_every_value() {
        let mut plot = plot((0..2000).map(|i| f64::from(i) / 3.0).collect());
        plot.title = "a < b & c".into();
        plot.lines.push(Line::new("meas, ured", vec![4.0, f64::NAN]).over(vec![0.1, 0.2]).dotted());
        let svg = plot.to_svg();
        assert!(is_well_formed(&svg), "{svg}");
        for part in
            ["xmlns=", ">time [s]</text>", ">force [N]</text>", ">200</text>", ">meas, ured</text>", "stroke: #c2563f"]
        {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        assert!(!svg.contains("var(") && !svg.contains("NaN"));
        let csv = plot.to_csv();
        assert_eq!(csv.lines().count(), 2001);
        assert!(csv.starts_with("time [s],a [N],\"time [s] of meas, ured\",\"meas, ured [N]\"\n0,0,0.1,4\n"), "{csv}");
        assert_eq!(csv.lines().nth(2), Some("0.1,0.3333333333333333,0.2,"));
        let files = plot_files(&[plot.clone(), plot], Path::new("out/x.html"));
        let names: Vec<&str> = files.iter().filter_map(|file| file.to_str()).collect();
        assert_eq!(names[..3], ["out/x_a___b___c.svg", "out/x_a___b___c.csv", "out/x_a___b___c_1.svg"]);
    }

    #[test]
    fn long_legends_take_more_rows() {
        let mut plot = plot(vec![1.0, 2.0]);
        plot.lines = (0..8).map(|k| Line::new(format!("a rather long name {k}"), vec![0.0, 1.0])).collect();
        let svg = plot.to_svg();
        assert!((0..8).all(|k| svg.contains(&format!("long name {k}</text>"))), "{svg}");
        assert!(is_well_formed(&svg) && plot.to_html().contains("viewBox=\"0 0 560 "));
    }

    #[test]
    fn labels_cannot_break_the_page() {
        let mut plot = plot(vec![1.0, 2.0]);
        plot.title = "<script>".into();
        plot.lines[0].label = "</script>\"".into();
        plot.lines.push(plot.lines[0].clone());
        let html = plot.to_html();
        assert_eq!(html.matches("</script>").count(), 1, "only our own");
        assert!(!html.contains("<script>"), "{html}");
    }

    #[test]
    fn numbers_are_short_and_right() {
        let cases =
            [(0.0, "0"), (1.0, "1"), (0.1 + 0.2, "0.3"), (1234.5678, "1234.57"), (1e-7, "1e-7"), (-2.5e12, "-2.5e12")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!(short(f64::NAN), "–");
    }
}
