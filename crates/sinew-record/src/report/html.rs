//! The page: one self-contained file.

use std::fmt::Write;

use super::data::{ReportData, Table, TimingRow, Verdict};
use super::plot::{Line, Plot, Scale, print_style, short};
use super::probes::{constants, probe_plots};
use crate::record::{escaped, split_animation};
use sinew_fem::StepReport;
use sinew_io::base64;
use sinew_math::parallel::prelude::*;

/// Rules of a page.
const STYLE: &str = concat!(include_str!("page.css"), include_str!("plot.css"));

/// Number of plots shown at once; the others are folded.
const PLOTS_IN_VIEW: usize = 8;

/// The page as text.
pub fn page(data: &ReportData) -> String {
    let mut html = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>",
        escaped(&data.title),
        STYLE
    );
    header(&mut html, data);
    animation(&mut html, data);
    if let Some(facts) = &data.artist {
        super::artist::sections(&mut html, facts);
    }
    expectations(&mut html, data);
    put_tables(&mut html, &data.tables);
    plots(&mut html, data);
    convergence(&mut html, data);
    meshes(&mut html, data);
    if data.timing.seconds > 0.0 {
        let tree = format!(
            "<div class=\"card\"><ul class=\"timing\">{}</ul></div>",
            timing_row(&data.timing, data.timing.seconds)
        );
        section(&mut html, "Time", &tree);
    }
    list(&mut html, "Warnings", &data.warnings);
    list(&mut html, "Notes", &data.notes);
    list(&mut html, "Files", &data.files);
    if !data.source.is_empty() {
        let text = format!("<div class=\"card\"><pre><code>{}</code></pre></div>", escaped(&data.source));
        section(&mut html, "Scene", &text);
    }
    let environment: Vec<String> =
        data.environment.iter().map(|(name, value)| format!("{} {}", escaped(name), escaped(value))).collect();
    let _ = writeln!(
        html,
        "<footer>{}</footer>\n</main>\n{}\n<script>\n{}</script>\n</body>\n</html>",
        environment.join(" · "),
        print_template(),
        include_str!("page.js")
    );
    html
}

/// A page of plots alone.
pub fn figures(title: &str, plots: &[Plot]) -> String {
    sheet(title, &[], plots)
}

/// The color of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All is well.
    Good,
    /// Something to know.
    Calm,
    /// Something is wrong.
    Bad,
}

/// What a page says before it shows anything.
#[derive(Clone, Copy, Debug)]
pub struct Headline<'a> {
    /// Its color.
    pub tone: Tone,
    /// One line.
    pub text: &'a str,
    /// Sentences below the line.
    pub warnings: &'a [String],
    /// Sentences at the end of the page.
    pub notes: &'a [String],
}

/// A page of plots, and of tables below them, each with its title.
pub fn sheet(title: &str, tables: &[Table], plots: &[Plot]) -> String {
    laid_out(title, "", tables, plots, "")
}

/// The same, with a headline.
pub fn judged_sheet(title: &str, headline: &Headline<'_>, tables: &[Table], plots: &[Plot]) -> String {
    let class = match headline.tone {
        Tone::Good => "passed",
        Tone::Calm => "unchecked",
        Tone::Bad => "failed",
    };
    let mut head = format!("<p class=\"verdict sentence {class}\">{}</p>\n", escaped(headline.text));
    list(&mut head, "Warnings", headline.warnings);
    let mut notes = String::new();
    list(&mut notes, "Notes", headline.notes);
    laid_out(title, &head, tables, plots, &notes)
}

/// Tables of more rows are folded up.
const LONG_TABLE: usize = 40;

fn put_tables<'a>(html: &mut String, tables: impl IntoIterator<Item = &'a Table>) {
    for table in tables {
        let count = table.rows.len();
        if count > LONG_TABLE {
            let title = escaped(&table.title);
            let _ = writeln!(html, "<details><summary>{title} ({count})</summary>{}</details>", table_html(table));
        } else {
            section(html, &table.title, &table_html(table));
        }
    }
}

fn laid_out(title: &str, head: &str, tables: &[Table], plots: &[Plot], end: &str) -> String {
    let mut sections = String::new();
    for table in tables {
        section(&mut sections, &table.title, &table_html(table));
    }
    let drawn: String = plots.iter().map(Plot::to_html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<header><h1>{title}</h1></header>\n{head}<section class=\"drawn\">\n<div class=\"plots\">{drawn}</div>\n</section>\n{sections}{end}</main>\n{}\n<script>\n{}</script>\n</body>\n</html>\n",
        STYLE,
        print_template(),
        include_str!("page.js"),
        title = escaped(title),
    )
}

/// The page of two runs: pictures, tables and plots; in plots A is solid and B dashed.
pub fn comparison(
    [a, b]: [&str; 2],
    pictures: &[(&str, &[u8])],
    plots: &[Plot],
    tables: &[Table],
    notes: &[String],
) -> String {
    let mut sections = String::new();
    if !pictures.is_empty() {
        let figure = |(label, png): &(&str, &[u8])| {
            let label = escaped(label);
            let data = base64::encode(png);
            format!(
                "<figure><img alt=\"{label}\" src=\"data:image/png;base64,{data}\"><figcaption>{label}</figcaption></figure>"
            )
        };
        let figures: String = pictures.iter().map(figure).collect();
        section(
            &mut sections,
            "Bodies of A in colors of the distance to B, whose mesh lines are drawn",
            &format!("<div class=\"views\">{figures}</div>"),
        );
    }
    let (long, short): (Vec<&Table>, Vec<&Table>) = tables.iter().partition(|table| table.rows.len() > LONG_TABLE);
    put_tables(&mut sections, short);
    let drawn: String = plots.iter().map(Plot::to_html).collect();
    section(&mut sections, "A (solid) and B (dashed)", &format!("<div class=\"plots\">{drawn}</div>"));
    put_tables(&mut sections, long);
    list(&mut sections, "Notes", notes);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{a} and {b}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<header><h1>Two runs</h1><p>A is <code>{a}</code>, B is <code>{b}</code>.</p></header>\n{sections}</main>\n{}\n<script>\n{}</script>\n</body>\n</html>\n",
        STYLE,
        print_template(),
        include_str!("page.js"),
        a = escaped(a),
        b = escaped(b),
    )
}

/// A shot on the page of all shots.
#[derive(Clone, Debug)]
pub struct ShotCard<'a> {
    /// Its name.
    pub title: &'a str,
    /// A line about it.
    pub caption: String,
    /// Whether something is wrong with it.
    pub is_wrong: bool,
    /// A PNG file.
    pub png: Option<&'a [u8]>,
    /// The page of the shot, seen from this one.
    pub link: Option<String>,
}

/// The page of many shots: a picture of each, which leads to its own page, and the table.
pub fn shots_page(cards: &[ShotCard<'_>], table: &Table) -> String {
    let card = |card: &ShotCard<'_>| {
        let title = escaped(card.title);
        let image = card.png.map_or_else(String::new, |png| {
            format!("<img alt=\"{title}\" src=\"data:image/png;base64,{}\">", base64::encode(png))
        });
        let picture = match &card.link {
            Some(link) => format!("<a href=\"{}\">{image}</a>", escaped(&path_in_link(link))),
            None => image,
        };
        let tag = if card.is_wrong { "<span class=\"tag failed\">look</span>" } else { "" };
        format!(
            "<figure class=\"card\">{picture}<figcaption><b>{title}</b>{tag}<span>{}</span></figcaption></figure>",
            escaped(&card.caption)
        )
    };
    let mut sections = String::new();
    section(
        &mut sections,
        "Pictures",
        &format!("<div class=\"strip\">{}</div>", cards.iter().map(card).collect::<String>()),
    );
    section(&mut sections, &table.title, &table_html(table));
    let wrong = cards.iter().filter(|card| card.is_wrong).count();
    let (class, verdict) = match wrong {
        0 => ("passed", "all is well".into()),
        wrong => ("failed", format!("{wrong} of {} need a look", cards.len())),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{count} shots</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header><h1>{count} shots</h1><span class=\"verdict {class}\">{verdict}</span></header>\n{sections}</main>\n</body>\n</html>\n",
        count = cards.len(),
    )
}

/// A relative path as a link: names may hold characters that mean something there.
fn path_in_link(path: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || "/._-~".contains(c);
    let mut bytes = [0; 4];
    path.chars().fold(String::new(), |mut link, c| {
        match keep(c) {
            true => link.push(c),
            false => c.encode_utf8(&mut bytes).bytes().for_each(|byte| {
                let _ = write!(link, "%{byte:02X}");
            }),
        }
        link
    })
}

/// The style of plots in files, for the script that writes them.
fn print_template() -> String {
    format!("<template id=\"print-style\"><style>\n{}</style></template>", print_style())
}

pub(super) fn section(html: &mut String, title: &str, content: &str) {
    let _ = writeln!(html, "<section>\n<h2>{}</h2>\n{content}\n</section>", escaped(title));
}

fn header(html: &mut String, data: &ReportData) {
    let failed = data.expectations.iter().filter(|row| row.passed == Some(false)).count();
    let missed = data.expectations.iter().filter(|row| row.passed.is_none()).count();
    let (class, text) = match data.verdict {
        Verdict::Passed => ("passed", format!("all {} expectations met", data.expectations.len())),
        Verdict::Failed if failed == 0 => {
            ("unchecked", format!("{missed} of {} expectations not reached", data.expectations.len()))
        }
        Verdict::Failed => ("failed", format!("{failed} of {} expectations failed", data.expectations.len())),
        Verdict::Unchecked => ("unchecked", "nothing expected".into()),
        Verdict::Interrupted => ("interrupted", "ended early".into()),
    };
    let _ = writeln!(
        html,
        "<header><h1>{}</h1><span class=\"verdict {class}\">{text}</span><span class=\"scene\"><code>{}</code></span></header>",
        escaped(&data.title),
        escaped(&data.scene)
    );
    if !data.facts.is_empty() {
        html.push_str("<dl class=\"facts card\">");
        for (name, value) in &data.facts {
            let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
        }
        html.push_str("</dl>\n");
    }
}

fn animation(html: &mut String, data: &ReportData) {
    let Some(parts) = data.animation.as_deref().and_then(split_animation) else { return };
    let frames: Vec<String> = parts
        .frames
        .iter()
        .map(|frame| format!("{{\"x\":{},\"y\":{},\"png\":\"{}\"}}", frame.x, frame.y, base64::encode(&frame.png)))
        .collect();
    let start = data.times.first().copied().unwrap_or(0.0);
    // The file keeps whole milliseconds per frame; the times of the run are exact.
    let span = data.times.last().copied().unwrap_or(0.0) - start;
    let step = if frames.len() > 1 && span > 0.0 { span / (frames.len() - 1) as f64 } else { parts.seconds_per_frame };
    let _ = writeln!(
        html,
        "<section class=\"player card\" aria-label=\"Animation\"><canvas width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"Animation of {}\"></canvas>\
         <div class=\"controls\"><button type=\"button\">Play</button><input type=\"range\" min=\"0\" max=\"{}\" value=\"0\" aria-label=\"Frame\">\
         <select aria-label=\"Speed\"><option value=\"0.1\">0.1×</option><option value=\"0.25\">0.25×</option><option value=\"0.5\">0.5×</option><option value=\"1\" selected>1×</option><option value=\"2\">2×</option></select>\
         <output>0.00 s</output></div><noscript>The animation needs JavaScript.</noscript>\
         <script type=\"application/json\">{{\"start\":{start},\"step\":{},\"frames\":[{}]}}</script></section>",
        parts.width,
        parts.height,
        escaped(&data.title),
        frames.len() - 1,
        if step.is_finite() && step > 0.0 { step } else { 0.04 },
        frames.join(",")
    );
}

fn expectations(html: &mut String, data: &ReportData) {
    if data.expectations.is_empty() {
        return;
    }
    let mut rows = String::new();
    for row in &data.expectations {
        let (class, word) = match row.passed {
            Some(true) => ("passed", "pass"),
            Some(false) => ("failed", "fail"),
            None => ("unchecked", "not reached"),
        };
        let time = row.time.map_or_else(|| "–".into(), |t| format!("{} s", short(t)));
        let _ = write!(
            rows,
            "<tr><td><span class=\"tag {class}\">{word}</span></td><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{time}</td></tr>",
            escaped(&row.name),
            escaped(&row.expected),
            precise(row.got),
        );
    }
    let table = format!(
        "<div class=\"card scroll\"><table><thead><tr><th></th><th>Value</th><th>Expected</th><th class=\"number\">Got</th><th class=\"number\">At</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    section(html, "Expectations", &table);
}

/// Enough digits to judge a tolerance.
fn precise(value: f64) -> String {
    if value.is_nan() {
        "–".into()
    } else if value == 0.0 || (1e-4..1e7).contains(&value.abs()) {
        format!("{}", (value * 1e10).round() / 1e10)
    } else {
        format!("{value:.9e}")
    }
}

fn plots(html: &mut String, data: &ReportData) {
    let plots = probe_plots(&data.times, &data.probes);
    if !plots.is_empty() {
        let drawn: Vec<String> = plots.par_iter().map(Plot::to_html).collect();
        let (first, rest) = drawn.split_at(drawn.len().min(PLOTS_IN_VIEW));
        let mut content = format!("<div class=\"plots\">{}</div>", first.concat());
        if !rest.is_empty() {
            let _ = write!(
                content,
                "<details><summary>More plots ({})</summary><div class=\"plots\">{}</div></details>",
                rest.len(),
                rest.concat()
            );
        }
        section(html, "Probes", &content);
    }
    let still = constants(&data.probes);
    if !still.is_empty() {
        let rows: Vec<Vec<String>> = still.into_iter().map(|(name, value)| vec![name, short(value)]).collect();
        let table = Table { title: String::new(), columns: vec!["Probe".into(), "Value".into()], rows };
        let _ = writeln!(
            html,
            "<details><summary>Probes that never change ({})</summary>{}</details>",
            table.rows.len(),
            table_html(&table)
        );
    }
}

/// How frames were computed, over time.
pub(crate) fn convergence_plots(steps: &[StepReport]) -> Vec<Plot> {
    let x: Vec<f64> = steps.iter().map(|step| step.time).collect();
    let column = |label: &str, value: &dyn Fn(usize) -> f64| Line::new(label, (0..steps.len()).map(value).collect());
    let plot = |title: &str, y_label: &str, lines: Vec<Line>, scale| Plot {
        title: title.into(),
        x_label: "time [s]".into(),
        y_label: y_label.into(),
        x: x.clone(),
        lines,
        scale,
    };
    let iterations = vec![
        column("Newton", &|i| steps[i].newton_iterations as f64),
        column("linear", &|i| steps[i].linear_iterations as f64),
    ];
    let residual = vec![column("residual", &|i| steps[i].relative_residual)];
    let total = vec![column("total", &|i| steps[i].timing.total.as_secs_f64() * 1e3)];
    let mut plots = vec![
        plot("Iterations per frame", "iterations [–]", iterations, Scale::Linear),
        plot("Relative residual", "residual [–]", residual, Scale::Logarithmic),
    ];
    // A recording does not say how long its frames took.
    if steps.iter().any(|step| !step.timing.total.is_zero()) {
        plots.push(plot("Time per frame", "computing time [ms]", total, Scale::Linear));
    }
    plots
}

fn convergence(html: &mut String, data: &ReportData) {
    if data.steps.is_empty() {
        return;
    }
    let steps = &data.steps;
    let plots = convergence_plots(steps);
    let sum = |value: &dyn Fn(usize) -> usize| (0..steps.len()).map(value).sum::<usize>().to_string();
    let worst = StepReport::worst_residual(steps);
    let table = Table {
        title: String::new(),
        columns: ["Substeps", "Newton", "Linear", "Projected", "Line-search cuts", "Roll-backs", "Worst residual"]
            .map(String::from)
            .to_vec(),
        rows: vec![vec![
            sum(&|i| steps[i].substeps),
            sum(&|i| steps[i].newton_iterations),
            sum(&|i| steps[i].linear_iterations),
            sum(&|i| steps[i].projections),
            sum(&|i| steps[i].cuts),
            sum(&|i| steps[i].rollbacks),
            short(worst),
        ]],
    };
    let drawn: Vec<String> = plots.par_iter().map(Plot::to_html).collect();
    section(
        html,
        "Convergence",
        &format!("{}<div class=\"plots\" style=\"margin-top:14px\">{}</div>", table_html(&table), drawn.concat()),
    );
}

fn meshes(html: &mut String, data: &ReportData) {
    if data.bodies.is_empty() {
        return;
    }
    let degrees = |angle: f64| format!("{:.1}°", angle.to_degrees());
    let rows = data
        .bodies
        .iter()
        .map(|body| {
            vec![
                body.name.clone(),
                body.nodes.to_string(),
                body.tets.to_string(),
                body.hexes.to_string(),
                body.surface_triangles.to_string(),
                format!("{} cm³", short(body.volume * 1e6)),
                format!("{} mm", short(body.mean_edge * 1e3)),
                format!("{} – {}", degrees(body.min_dihedral), degrees(body.max_dihedral)),
                format!("{:.2}", body.max_aspect),
            ]
        })
        .collect();
    let columns = [
        "Body",
        "Nodes",
        "Tets",
        "Hexes",
        "Surface triangles",
        "Volume",
        "Mean edge",
        "Dihedral angles",
        "Worst aspect",
    ];
    section(
        html,
        "Meshes",
        &table_html(&Table { title: String::new(), columns: columns.map(String::from).to_vec(), rows }),
    );
}

fn table_html(table: &Table) -> String {
    let mut html = String::from("<div class=\"card scroll\"><table><thead><tr>");
    let class = |i: usize| if i == 0 { "" } else { " class=\"number\"" };
    for (i, column) in table.columns.iter().enumerate() {
        let _ = write!(html, "<th{}>{}</th>", class(i), escaped(column));
    }
    html.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        html.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class(i), escaped(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

pub(super) fn timing_row(row: &TimingRow, total: f64) -> String {
    let share = (row.seconds / total).clamp(0.0, 1.0) * 100.0;
    let seconds =
        if row.seconds >= 1.0 { format!("{:.2} s", row.seconds) } else { format!("{:.1} ms", row.seconds * 1e3) };
    let children: String = row.children.iter().map(|child| timing_row(child, total)).collect();
    let nested = if children.is_empty() { String::new() } else { format!("<ul class=\"timing\">{children}</ul>") };
    format!(
        "<li><div class=\"row\"><span class=\"name\">{}</span><span class=\"track\"><span class=\"bar\" style=\"width:{share:.1}%\"></span></span><span class=\"seconds\">{seconds} · {share:.0} %</span></div>{nested}</li>",
        escaped(&row.name)
    )
}

fn list(html: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let lines: String = items.iter().map(|item| format!("<li>{}</li>", escaped(item))).collect();
        section(html, title, &format!("<div class=\"card\"><ul class=\"plain\">{lines}</ul></div>"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    #[test]
    fn page_is_self_contained_and_shows_everything() {
        let html = page(&example());
        for part in [
            "A soft block falls",
            "fall.toml",
            "1 of 2 expectations failed",
            "block.volume",
            "Iterations per frame",
            "linear solve",
            "48.2°",
        ] {
            assert!(html.contains(part), "{part} is missing");
        }
        for outside in ["http://", "https://", " src=\"", "<link", "@import", "url("] {
            assert!(!html.contains(outside), "the page refers to {outside}");
        }
    }

    #[test]
    fn names_from_scenes_cannot_inject_markup() {
        let mut data = example();
        let evil = "</script><img onerror=x>".to_string();
        data.title.clone_from(&evil);
        data.scene.clone_from(&evil);
        data.source.clone_from(&evil);
        data.notes.push(evil.clone());
        data.probes[0].name.clone_from(&evil);
        data.expectations[0].name.clone_from(&evil);
        data.timing.name.clone_from(&evil);
        assert!(!page(&data).contains("<img"));
    }

    #[test]
    fn tags_balance() {
        let html = page(&example());
        for tag in
            ["section", "table", "div", "ul", "li", "svg", "figure", "script", "details", "tr", "td", "main", "header"]
        {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "<{tag}>");
        }
    }
}
