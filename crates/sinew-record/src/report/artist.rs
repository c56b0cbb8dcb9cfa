//! The artist's part of the report: pictures first, then findings, timing and advice. It works without JavaScript.

use std::fmt::Write;

use sinew_io::base64;
use sinew_raster::ColorMap;
use sinew_rig::Role;
use sinew_rig::retarget::{MatchKind, RetargetReport};

use super::html::{section, timing_row};
use super::plot::short;
use crate::artist::{
    Advice, ArtistFacts, BodyFacts, ComparisonFacts, CrossingFacts, NamedPicture, Remedy, StretchFacts, StripPicture,
    TimeFacts, Worst, length, part_color,
};
use crate::record::escaped;
use crate::report::TimingRow;

/// Change of volume that fills the bar of a region; larger ones are clipped \[fraction of the volume\].
const FULL_BAR: f64 = 0.1;
/// Changes of volume are marked from this value on.
const SEEN: f64 = 0.02;
/// Number of colors of a legend.
const STOPS: usize = 9;
/// Parts that a page lists.
const LISTED_PARTS: usize = 100;

/// All sections, and the same facts for programs.
pub(super) fn sections(html: &mut String, facts: &ArtistFacts) {
    if !facts.strip.is_empty() {
        section(html, "Frames", &strip(&facts.strip));
    }
    let of = |body: &BodyFacts| if facts.bodies.len() > 1 { format!(" of {}", body.name) } else { String::new() };
    for body in &facts.bodies {
        if body.parts.is_told() {
            section(html, &format!("Parts{}", of(body)), &parts(body));
        }
        if body.paint.is_told() {
            section(html, &format!("Paint{}", of(body)), &paint(body));
        }
        section(html, &format!("Layers{}", of(body)), &layers(body));
        if let Some(facts) = &body.comparison {
            section(html, &format!("Blend skinning and flesh{}", of(body)), &comparison(facts, &body.name));
        }
    }
    section(html, "What to change", &advice(&facts.advice));
    section(html, "Self-intersections", &crossing(&facts.crossing, &facts.bodies));
    for body in &facts.bodies {
        let of = of(body);
        section(html, &format!("Stretch of the skin{of}"), &stretch(&body.stretch));
        section(html, &format!("Volume by joint{of}"), &regions(body));
        if let Some(report) = &body.motion {
            section(html, &format!("Motion{of}"), &motion(report));
        }
    }
    section(html, "Timing", &time(&facts.time));
    // Names cannot end the element, because JSON may write any character as a number.
    let json = facts.to_json().to_string().replace('<', "\\u003c");
    let _ = writeln!(html, "<script type=\"application/json\" id=\"characters\">{json}</script>");
}

fn picture(png: &[u8], alt: &str) -> String {
    format!("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", escaped(alt), base64::encode(png))
}

fn strip(pictures: &[StripPicture]) -> String {
    let mut html = String::from("<div class=\"strip\">");
    for shot in pictures {
        let animation = match shot.animation_frame {
            Some(frame) => format!("animation {}", short(frame)),
            None => "before the animation".into(),
        };
        let _ = write!(
            html,
            "<figure class=\"card\">{}<figcaption><b>{}</b><span>{animation}</span><span>{} s</span></figcaption></figure>",
            picture(&shot.png, &format!("The character in frame {}", shot.frame)),
            shot.frame,
            short((shot.time * 1e3).round() / 1e3),
        );
    }
    html.push_str("</div>");
    html
}

fn advice(advice: &[Advice]) -> String {
    if advice.is_empty() {
        return "<div class=\"card advice\"><p><span class=\"tag passed\">all is well</span> No problems were found.</p></div>".into();
    }
    let items: String = advice
        .iter()
        .map(|advice| {
            let remedies: String = advice.remedies.iter().map(remedy).collect();
            format!("<li><b>{}.</b><ul>{remedies}</ul></li>", escaped(&capital(&advice.finding)))
        })
        .collect();
    format!("<div class=\"card advice\"><ul>{items}</ul></div>")
}

fn remedy(remedy: &Remedy) -> String {
    let mut html = format!("<li>{}", prose(&capital(&remedy.change)));
    if let Some(set) = &remedy.set {
        let _ = write!(html, ": <code>{}</code>", escaped(set));
    }
    if let Some(option) = &remedy.option {
        let _ = write!(html, ", or <code>sinew skin {}</code>", escaped(option));
    }
    html.push_str("</li>");
    html
}

/// Text with the parts between backquotes as code.
fn prose(text: &str) -> String {
    let part = |(k, part): (usize, &str)| {
        if k % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    };
    text.split('`').enumerate().map(part).collect()
}

fn capital(text: &str) -> String {
    // Names keep their case.
    let is_name = text.split_once(' ').is_some_and(|(first, _)| first.ends_with(':'));
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !is_name => first.to_uppercase().chain(letters).collect(),
        _ => text.into(),
    }
}

fn crossing(crossing: &CrossingFacts, bodies: &[BodyFacts]) -> String {
    let is_clean = crossing.crossings.value == 0 && crossing.depth.is_none_or(|depth| depth.value == 0.0);
    let (class, word) = if is_clean { ("passed", "no") } else { ("failed", "yes") };
    let mut facts =
        vec![("Intersecting triangles", count(crossing.crossings.value, crossing.crossings.frame, "pairs"))];
    if crossing.at_rest.value > 0 {
        let Worst { value, frame } = crossing.at_rest;
        facts.push(("Since rest, left alone until they part", format!("at most {value} pairs, in frame {frame}")));
    }
    let cell = bodies.iter().map(|body| body.cell).fold(f64::INFINITY, f64::min);
    facts.push((
        "Deepest point",
        match crossing.depth {
            None => "not measured: the skin has no self-contact".into(),
            Some(depth) if depth.value > 0.0 => {
                let cells = depth.value / cell;
                let cells = if cells.is_finite() { format!(" ({cells:.2} cells)") } else { String::new() };
                format!("{} mm{cells} in frame {}", short(rounded(1e3 * depth.value)), depth.frame)
            }
            Some(_) => "none".into(),
        },
    ));
    for body in bodies {
        let Some(blend) = body.blend else { continue };
        let text = match blend.crossings.value {
            0 => "none".into(),
            pairs => format!(
                "{pairs} pairs, {} mm deep in frame {}",
                short(rounded(1e3 * blend.depth)),
                blend.crossings.frame
            ),
        };
        facts.push(("By blend skinning alone", text));
    }
    facts.push(("Frames checked", crossing.frames.to_string()));
    let mut html = format!(
        "<dl class=\"facts card\"><div><dt>Verdict</dt><dd><span class=\"tag {class}\">{word}</span></dd></div>"
    );
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    html.push_str("</dl>");
    html
}

/// Rounded to three digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    (value / unit).round() * unit
}

fn count(value: usize, frame: usize, of: &str) -> String {
    if value == 0 { "none".into() } else { format!("{value} {of} in frame {frame}") }
}

/// What was decided about each loose part.
fn parts(body: &BodyFacts) -> String {
    let pictures = body.parts.pictures.iter();
    let pictures: String =
        pictures.map(|view| figure(view, &format!("{} of {} at rest", view.name, body.name), &view.name)).collect();
    let mut html = format!("<div class=\"card stretch\"><div class=\"views\">{pictures}</div><p class=\"note\">");
    for (k, role) in [Role::Flesh, Role::OnFlesh, Role::OnBone].into_iter().enumerate() {
        let [r, g, b] = part_color(role).0.map(|c| (255.0 * c).round() as u8);
        let comma = if k > 0 { " · " } else { "" };
        let _ = write!(html, "{comma}<b style=\"color:rgb({r},{g},{b})\">■</b> {role}");
    }
    html += "</p><table><tr><th>Part</th><th>Triangles</th><th>Decided</th><th>Why</th></tr>";
    for part in body.parts.decisions.iter().take(LISTED_PARTS) {
        let (name, role) = (escaped(&part.name), part.role);
        let open = match part.open_edges {
            0 => String::new(),
            edges => format!(" ({} open)", counted(edges, "edge")),
        };
        let (triangles, why) = (part.triangles, escaped(part.why));
        let _ = write!(html, "<tr><td>{name}</td><td>{triangles}{open}</td><td>{role}</td><td>{why}</td></tr>");
    }
    html += "</table>";
    if let Some(more) = body.parts.decisions.len().checked_sub(LISTED_PARTS).filter(|more| *more > 0) {
        let _ = write!(html, "<p class=\"note\">And {more} more: report.json has all of them.</p>");
    }
    html += "<p class=\"note\">To decide otherwise: <code>parts = [{ name = \"…\", role = \"on_bone\" }]</code> in the rig of              the scene, or <code>sinew skin --part NAME=on_bone</code>.</p></div>";
    html
}

/// What was painted, with pictures.
fn paint(body: &BodyFacts) -> String {
    let pictures = body.paint.pictures.iter();
    let pictures: String = pictures
        .map(|view| figure(view, &format!("paint of {} at rest: {}", body.name, view.name), &view.name))
        .collect();
    let mut html = format!("<div class=\"card stretch\"><div class=\"views\">{pictures}</div>");
    if let Some(preset) = &body.paint.preset {
        let _ = write!(html, "<p class=\"note\">Preset <b>{}</b>.</p>", escaped(preset));
    }
    if body.paint.layers.is_empty() {
        return html + "</div>";
    }
    html += "<table><tr><th>Layer</th><th>Covers</th></tr>";
    for (layer, share) in &body.paint.layers {
        let _ = write!(html, "<tr><td>{}</td><td>{:.0} % of the skin</td></tr>", escaped(layer), 100.0 * share);
    }
    html + "</table></div>"
}

fn layers(body: &BodyFacts) -> String {
    let cell = length(body.cell);
    let parts = [
        counted(body.layers.bones, "bone"),
        format!("{} of {cell}", counted(body.cells, "cell")),
        format!("skin of {}", counted(body.layers.triangles, "triangle")),
    ];
    let pictures: String = body
        .layers
        .pictures
        .iter()
        .zip(&parts)
        .map(|(view, part)| figure(view, &format!("{} of {} at rest", view.name, body.name), part))
        .collect();
    format!(
        "<div class=\"card stretch\"><div class=\"views thirds\">{pictures}</div>\
         <p class=\"note\">At rest. Bones move the cells around them, the other cells settle into equilibrium, and the skin moves with the cells.</p></div>"
    )
}

fn comparison(facts: &ComparisonFacts, name: &str) -> String {
    let pictures: String = facts
        .pictures
        .iter()
        .map(|view| figure(view, &format!("{name} in frame {}: {}", facts.frame, view.name), &view.name))
        .collect();
    format!(
        "<div class=\"card stretch\"><div class=\"views\">{pictures}</div>\
         <p class=\"note\">Frame {}, in which they differ most: by up to {}, with {}. Skin that passes through itself is red.</p></div>",
        facts.frame,
        length(facts.farthest),
        counted(facts.contacts, "contact"),
    )
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn figure(view: &NamedPicture, alt: &str, caption: &str) -> String {
    format!("<figure>{}<figcaption>{}</figcaption></figure>", picture(&view.png, alt), escaped(caption))
}

fn stretch(stretch: &StretchFacts) -> String {
    let alt = |view: &NamedPicture| format!("Skin in frame {} colored by its stretch, {}", stretch.frame, view.name);
    let pictures: String = stretch.pictures.iter().map(|view| figure(view, &alt(view), &view.name)).collect();
    let [low, high] = stretch.range;
    let colors: Vec<String> = (0..STOPS)
        .map(|k| {
            let [r, g, b] = ColorMap::Stretch.color(k as f64 / (STOPS - 1) as f64).to_bytes();
            format!("rgb({r} {g} {b})")
        })
        .collect();
    let ticks: String =
        (0..5).map(|k| format!("<span>{}</span>", short(rounded(low + (high - low) * 0.25 * f64::from(k))))).collect();
    format!(
        "<div class=\"card stretch\"><div class=\"views\">{pictures}</div>\
         <div class=\"scale\"><span>compressed</span><div><i style=\"background:linear-gradient(90deg,{})\"></i><p>{ticks}</p></div><span>stretched</span></div>\
         <p class=\"note\">Frame {}, in which the skin is stretched most: 99 % of it by no more than {:.2}, single triangles from {:.2} to {:.2}. \
         A stretch is the largest factor on a length in a triangle; 1 is rest.</p></div>",
        colors.join(","),
        stretch.frame,
        stretch.most,
        stretch.smallest,
        stretch.largest,
    )
}

/// A motion from elsewhere, joint by joint.
fn motion(report: &RetargetReport) -> String {
    let mut html = String::from("<div class=\"card scroll\">");
    // Writing to a String cannot fail.
    for line in report.summary() {
        let _ = write!(html, "<p>{}</p>", escaped(&line));
    }
    html.push_str("<table class=\"regions\"><thead><tr><th>Joint</th><th>Of a human</th><th>Follows</th><th>By</th></tr></thead><tbody>");
    for joint in &report.joints {
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&joint.target),
            joint.role.clone().unwrap_or_default(),
            escaped(&joint.sources.join(" and ")),
            joint.kind.map_or("", MatchKind::name),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

fn regions(body: &BodyFacts) -> String {
    let mut html = String::from(
        "<div class=\"card scroll\"><table class=\"regions\"><thead><tr><th>Joint</th><th>Worst change of volume</th><th></th><th class=\"number\">Frame</th>\
         <th class=\"number\">Cells</th><th class=\"number\">Inverted</th><th class=\"number\">At a corner</th></tr></thead><tbody>",
    );
    let mut regions: Vec<_> = body.regions.iter().collect();
    regions.sort_by(|a, b| b.volume_change.value.abs().total_cmp(&a.volume_change.value.abs()));
    let at = |value: usize, frame: usize| if value == 0 { "0".into() } else { format!("{value} in {frame}") };
    for region in regions {
        let change = region.volume_change.value;
        let width = 50.0 * (change.abs() / FULL_BAR).min(1.0);
        let width = if width.is_finite() { width } else { 50.0 };
        let left = if change < 0.0 { 50.0 - width } else { 50.0 };
        let class = if change.abs() > SEEN { " loud" } else { "" };
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"number\">{:+.2} %</td><td><span class=\"change{class}\"><i style=\"left:{left:.1}%;width:{width:.1}%\"></i></span></td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            escaped(&region.name),
            // No minus sign before a zero.
            100.0 * change + 0.0,
            region.volume_change.frame,
            region.cells,
            at(region.inverted.value, region.inverted.frame),
            at(region.folded.value, region.folded.frame),
        );
    }
    let _ = write!(
        html,
        "</tbody></table></div><p class=\"note\">Flesh belongs to the joint with the largest weight. Of all {} cells {} inverted at the center, {} at one of eight points. A full bar is {:.0} %.</p>",
        body.cells,
        at_most(body.inverted.value, body.inverted.frame),
        at_most(body.folded.value, body.folded.frame),
        100.0 * FULL_BAR,
    );
    html
}

fn at_most(value: usize, frame: usize) -> String {
    match value {
        0 => "none is".into(),
        1 => format!("one is (frame {frame})"),
        _ => format!("at most {value} are (frame {frame})"),
    }
}

fn time(time: &TimeFacts) -> String {
    let mut rows = String::new();
    if time.total > 0.0 {
        for (name, seconds) in &time.parts {
            rows += &timing_row(&TimingRow { name: name.clone(), seconds: *seconds, children: Vec::new() }, time.total);
        }
    }
    let mut html = format!("<div class=\"card\"><ul class=\"timing\">{rows}</ul></div>");
    if time.slowest.is_empty() {
        return html;
    }
    html.push_str(
        "<div class=\"card scroll\" style=\"margin-top:14px\"><table><thead><tr><th>Slowest frames</th><th class=\"number\">Seconds</th>\
         <th class=\"number\">Newton</th><th class=\"number\">Linear</th><th class=\"number\">Contacts</th></tr></thead><tbody>",
    );
    for slow in &time.slowest {
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"number\">{:.3}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            slow.frame, slow.seconds, slow.newton, slow.linear, slow.contacts
        );
    }
    let usual: String = match time.usual_newton {
        0 => "no Newton iteration".into(),
        1 => "at most one Newton iteration".into(),
        count => format!("{count} Newton iterations or fewer"),
    };
    let _ = write!(html, "</tbody></table></div><p class=\"note\">Half of the frames took {usual}.</p>");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artist::{BlendFacts, LayerFacts, RegionFacts, SlowFrame, Worst};
    use crate::report::page;
    use crate::report::tests::example;

    fn facts() -> ArtistFacts {
        let region = |name: &str, change: f64| RegionFacts {
            name: name.into(),
            cells: 40,
            volume_change: Worst { value: change, frame: 7 },
            ..RegionFacts::default()
        };
        let shot = |name: &str| NamedPicture { name: name.into(), png: vec![4] };
        ArtistFacts {
            strip: (0..3)
                .map(|k| StripPicture {
                    frame: 4 * k,
                    time: 0.25 * k as f64,
                    animation_frame: k.checked_sub(1).map(|k| 4.0 * k as f64),
                    png: vec![1, 2, 3],
                })
                .collect(),
            crossing: CrossingFacts {
                frames: 9,
                crossings: Worst { value: 12, frame: 8 },
                at_rest: Worst::default(),
                depth: Some(Worst { value: 1.234e-3, frame: 6 }),
            },
            bodies: vec![BodyFacts {
                name: "arm".into(),
                cells: 80,
                cell: 0.01,
                layers: LayerFacts {
                    bones: 1,
                    triangles: 120,
                    pictures: ["bones", "cells", "skin"].map(shot).to_vec(),
                },
                comparison: Some(ComparisonFacts {
                    frame: 8,
                    distance: 0.002,
                    farthest: 0.0123,
                    contacts: 55,
                    pictures: ["blend skinning", "flesh"].map(shot).to_vec(),
                }),
                regions: vec![region("elbow", -0.034), region("wrist", 0.001)],
                stretch: StretchFacts {
                    frame: 5,
                    most: 1.3,
                    largest: 2.0,
                    smallest: 0.4,
                    range: [0.7, 1.3],
                    pictures: vec![shot("front")],
                },
                blend: Some(BlendFacts { crossings: Worst { value: 3, frame: 8 }, depth: 0.004 }),
                ..BodyFacts::default()
            }],
            time: TimeFacts {
                parts: vec![("contact".into(), 1.0), ("files".into(), 3.0)],
                total: 4.0,
                slowest: vec![SlowFrame { frame: 8, seconds: 0.5, newton: 30, linear: 90, contacts: 55 }],
                ..TimeFacts::default()
            },
            advice: vec![Advice {
                finding: "arm: \"elbow\" loses volume".into(),
                remedies: vec![Remedy {
                    change: "a higher `x` helps".into(),
                    set: Some("body.arm.material.poisson = 0.48".into()),
                    option: Some("--poisson 0.48".into()),
                }],
            }],
        }
    }

    #[test]
    fn the_page_shows_every_fact_and_nothing_from_outside() {
        let html = page(&super::super::ReportData { artist: Some(facts()), ..example() });
        for part in [
            "12 pairs in frame 8",
            "1.23 mm (0.12 cells) in frame 6",
            "3 pairs, 4 mm deep in frame 8",
            "elbow</td><td class=\"number\">-3.40 %",
            "<code>body.arm.material.poisson = 0.48</code>",
            "<code>sinew skin --poisson 0.48</code>",
            "A higher <code>x</code> helps",
            "before the animation",
            "no more than 1.30",
            "<figcaption>1 bone</figcaption>",
            "<figcaption>80 cells of 1 cm</figcaption>",
            "<figcaption>skin of 120 triangles</figcaption>",
            "<figcaption>blend skinning</figcaption>",
            "Frame 8, in which they differ most: by up to 12 mm, with 55 contacts",
        ] {
            assert!(html.contains(part), "{part} is missing");
        }
        assert_eq!(html.matches("<img ").count(), 9);
        assert_eq!(html.matches(" src=\"").count(), html.matches(" src=\"data:image/png;base64,").count());
        for tag in
            ["section", "div", "figure", "figcaption", "table", "ul", "li", "dl", "p", "span", "b", "i", "script"]
        {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "<{tag}>");
        }
    }

    #[test]
    fn numbers_that_are_none_and_names_with_markup_do_no_harm() {
        let mut facts = facts();
        let evil = "</script><img onerror=x>".to_string();
        facts.bodies[0].name.clone_from(&evil);
        facts.bodies[0].regions[0].name.clone_from(&evil);
        facts.advice[0].finding.clone_from(&evil);
        facts.advice[0].remedies[0].change.clone_from(&evil);
        let html = page(&super::super::ReportData { artist: Some(facts), ..example() });
        assert!(!html.contains("<img onerror"));
        let empty = page(&super::super::ReportData { artist: Some(ArtistFacts::default()), ..example() });
        for html in [html, empty] {
            for word in ["NaN", ">inf", "Infinity"] {
                assert!(!html.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn all_is_well_when_there_is_no_advice() {
        assert!(advice(&[]).contains("all is well"));
    }
}
