//! `report.html` of a model: slices with labels and contours, a turntable, every tissue with its attachments and fibers,
//! and a table of volumes and angles. One file, which any browser shows.

mod picture;
mod slice;

use std::fmt::Write as _;

use sinew_io::base64;
use sinew_math::parallel::prelude::*;
use sinew_raster::Image;
use sinew_record::record::encode_png;
use sinew_scene::Diagnostic;
use sinew_scene::recipe::model::ModelTissue;
use sinew_scene::recipe::tissue::Kind;

use super::Model;
use super::build::{Bench, Parts};
use super::cache::{Digest, KeyBuilder};
use super::stage::Trouble;

/// Version of the page.
const VERSION: u32 = 3;
const STYLE: &str = include_str!("page.css");

/// What the page depends on.
pub(super) fn key(bench: &Bench<'_>, model: &Model, parts: &[Result<Parts, Diagnostic>]) -> Digest {
    let mut key = KeyBuilder::new("report", VERSION).text(&model.file.to_toml()).text(bench.recipe.source.text());
    for source in &bench.images {
        key = key.input(source.digest);
    }
    for part in parts.iter().flatten() {
        let made = [
            part.mesh.as_ref().map(|made| made.digest),
            part.surface.as_ref().map(|made| made.digest),
            part.attached.as_ref().map(|made| made.digest),
        ];
        key = made.into_iter().flatten().fold(key, KeyBuilder::input);
    }
    key.finish()
}

/// The page.
pub(super) fn page(bench: &Bench<'_>, model: &Model, parts: &[Result<Parts, Diagnostic>]) -> Result<Vec<u8>, Trouble> {
    let title = model.file.title.clone().unwrap_or_else(|| "Anatomy".to_string());
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
        escaped(&title)
    );
    let cast = picture::Cast::new(bench, model, parts)?;
    section(&mut html, "All tissues", &turntable(&cast));
    let slices = slice::pictures(bench, model, parts)?;
    let figures: Vec<String> = slices.iter().map(|(text, image)| figure(image, text)).collect();
    section(&mut html, "Slices", &format!("<div class=\"grid\">{}</div>", figures.join("\n")));
    section(&mut html, "Tissues", &cards(&cast, model));
    section(&mut html, "Figures", &rows(model));
    if !model.problems.is_empty() {
        let items: Vec<String> =
            model.problems.iter().map(|problem| format!("<li>{}</li>", escaped(&problem.message))).collect();
        section(&mut html, "Missing", &format!("<ul>{}</ul>", items.join("\n")));
    }
    section(&mut html, "Recipe", &format!("<pre>{}</pre>", escaped(bench.recipe.source.text())));
    html.push_str("</main>\n</body>\n</html>\n");
    Ok(html.into_bytes())
}

fn section(html: &mut String, title: &str, body: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(html, "<section>\n<h2>{title}</h2>\n{body}\n</section>");
}

fn figure(image: &Image, text: &str) -> String {
    let data = base64::encode(&encode_png(image));
    format!(
        "<figure><img alt=\"{0}\" src=\"data:image/png;base64,{data}\"><figcaption>{0}</figcaption></figure>",
        escaped(text)
    )
}

fn turntable(cast: &picture::Cast) -> String {
    let views = [("front", 0.0), ("left", 0.5), ("back", 1.0), ("right", 1.5)];
    let still = |(name, half_turns): (&str, f32)| figure(&cast.whole(half_turns, 420), name);
    let stills: Vec<String> = views.into_par_iter().map(still).collect();
    let legend = "<p>Bones are light, muscles red, tendons and flesh pale. Attachments are <b class=\"origin\">blue</b> (the first of a tissue) and <b class=\"insertion\">orange</b> (the others).</p>";
    match cast.turning(24, 360) {
        Some(bytes) => {
            let data = base64::encode(&bytes);
            format!(
                "<figure><img alt=\"turntable\" src=\"data:image/png;base64,{data}\"></figure>\n<div class=\"grid\">{}</div>\n{legend}",
                stills.join("\n")
            )
        }
        None => format!("<div class=\"grid\">{}</div>\n{legend}", stills.join("\n")),
    }
}

/// A picture of each muscle: attachments, and sticks along fibers, colored by their direction.
fn cards(cast: &picture::Cast, model: &Model) -> String {
    let is_soft = |tissue: &&ModelTissue| tissue.kind != Kind::Bone && tissue.problem.is_none();
    let cards: Vec<String> = (model.file.tissue.par_iter().filter(is_soft))
        .filter_map(|tissue| {
            let image = cast.one(&tissue.name, 280)?;
            Some(figure(&image, &format!("{}: {:.1} mL, {} cells", tissue.name, tissue.volume * 1e6, tissue.cells)))
        })
        .collect();
    format!(
        "<p>Sticks run along fibers; red, green and blue are the shares of x, y and z in their direction.</p>\n<div class=\"grid\">{}</div>",
        cards.join("\n")
    )
}

fn rows(model: &Model) -> String {
    let mut table = String::from(
        "<table>\n<tr><th>tissue<th>kind<th>volume / mL<th>parts<th>cells<th>cover<th>angles<th>attached to</tr>\n",
    );
    for tissue in &model.file.tissue {
        table.push_str(&row(tissue));
    }
    table + "</table>"
}

fn row(tissue: &ModelTissue) -> String {
    if let Some(problem) = &tissue.problem {
        let name = escaped(&tissue.name);
        return format!(
            "<tr class=\"missing\"><td>{name}<td>{}<td colspan=\"6\">{}</tr>\n",
            tissue.kind.word(),
            escaped(problem)
        );
    }
    let attached: Vec<String> = tissue
        .attach
        .iter()
        .map(|at| format!("{} to {} ({:.2} cm², {} nodes)", at.name, at.bone, at.area * 1e4, at.nodes))
        .collect();
    let angles = match tissue.cells {
        0 => String::new(),
        _ => format!("{:.1}°–{:.1}°", tissue.min_dihedral.to_degrees(), tissue.max_dihedral.to_degrees()),
    };
    let count = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    format!(
        "<tr><td>{}<td>{}<td>{:.2}<td>{}<td>{}<td>{}<td>{angles}<td>{}</tr>\n",
        escaped(&tissue.name),
        tissue.kind.word(),
        tissue.volume * 1e6,
        tissue.components,
        count(tissue.cells),
        count(tissue.cover_cells),
        escaped(&attached.join(", "))
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
