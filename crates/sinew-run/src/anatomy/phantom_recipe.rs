//! The recipe of a phantom: every muscle with its heads and tendons, attached where the phantom says.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sinew_anatomy::phantom::{Attachment, AttachmentKind, Phantom, Section, Tissue, TissueKind};
use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_scene::recipe::image::PhantomImage;
use sinew_scene::{Dimension, format_number, format_quantity};

use super::image::phantom_of;

/// Distance of points on the way of a missing tendon \[m\].
const VIA: f64 = 14e-3;
/// Points around an attachment are this part of its size apart as it is looked for, but no less and no more than this \[m\].
const SPACING: f64 = 1.0 / 40.0;
const SPACINGS: [f64; 2] = [0.6e-3, 2e-3];
/// Outlines are drawn to this part of their size, but not finer than the second \[m\].
const OUTLINE_ERROR: [f64; 2] = [0.008, 0.08e-3];
/// Distance from a bone within which a muscle is attached \[voxels\]: surfaces of both are up to half a voxel off.
const WITHIN: f64 = 1.5;
/// Thickness of tendon that fills an outline, in cells, but no less than a voxel.
const PAD: f64 = 0.75;
/// Stations of a line of action from point to point.
const LINE_STEP: usize = 2;
/// Places of a belly that tell how fibers lean.
const LEANINGS: usize = 8;
/// Thinnest tendon that stays in one piece, in cells and in voxels.
const THINNEST: [f64; 2] = [0.75, 1.0];

/// The recipe for an image of a phantom, with cells of a size \[m\] and a cover, if one is wanted \[m\]. Where `only` names
/// muscles, no others get attachments, fibers and tendons.
pub fn phantom_recipe(image: &PhantomImage, cell: f64, cover: Option<f64>, only: Option<&BTreeSet<String>>) -> String {
    let phantom = phantom_of(image.name);
    let mut text = format!(
        "#:schema ./sinew-recipe.schema.json\ntitle = \"The {} of the phantom\"\n\n[image]\n{}\n\n[mesh]\ncell = \"{}\"\n",
        phantom.name,
        image_line(image),
        length(cell)
    );
    if let Some(cover) = cover {
        let _ = write!(text, "\n[cover]\ncell = \"{}\"\n", length(cover));
    }
    for tissue in &phantom.tissues {
        let kind = match tissue.kind {
            TissueKind::Bone | TissueKind::Tooth => "bone",
            TissueKind::Eye | TissueKind::Flesh => "flesh",
            TissueKind::Muscle | TissueKind::Tendon => continue,
        };
        let _ = write!(text, "\n[[tissue]]\nname = \"{0}\"\nkind = \"{kind}\"\nlabels = [\"{0}\"]\n", tissue.name);
        if kind == "bone" && has_specks(image) {
            text.push_str("repair = [{ keep_parts = 1 }]\n");
        }
    }
    for muscle in phantom.muscles() {
        let is_whole = only.is_none_or(|only| only.contains(muscle));
        write_muscle(&mut text, &phantom, muscle, image, cell, is_whole);
    }
    text
}

/// Whether flaws tear specks off.
fn has_specks(image: &PhantomImage) -> bool {
    image.noise > 0.0 || image.wrong_labels > 0
}

fn image_line(image: &PhantomImage) -> String {
    let mut keys = vec![format!("name = \"{}\"", image.name.word()), format!("voxel = \"{}\"", length(image.voxel))];
    if image.noise > 0.0 {
        keys.push(format!("noise = {}", format_number(image.noise)));
    }
    if image.wrong_labels > 0 {
        keys.push(format!("wrong_labels = {}", image.wrong_labels));
    }
    if image.without_tendons {
        keys.push("without_tendons = true".into());
    }
    if image.seed != 1 {
        keys.push(format!("seed = {}", image.seed));
    }
    format!("phantom = {{ {} }}", keys.join(", "))
}

fn length(value: f64) -> String {
    format_quantity(format!("{value:.4e}").parse().unwrap_or(value), Dimension::LENGTH)
}

fn point(p: Vec3) -> String {
    let [x, y, z] = [p.x, p.y, p.z].map(|value| format!("\"{} mm\"", format_number((value * 1e4).round() / 10.0)));
    format!("[{x}, {y}, {z}]")
}

/// Bellies of a muscle.
fn bellies(phantom: &Phantom, muscle: &str) -> Vec<usize> {
    let is_of = |tissue: &Tissue| {
        tissue.kind == TissueKind::Muscle && tissue.belongs_to.as_deref().unwrap_or(&tissue.name) == muscle
    };
    (0..phantom.tissues.len()).filter(|&i| is_of(&phantom.tissues[i])).collect()
}

/// Tendons of bellies.
fn tendons(phantom: &Phantom, bellies: &[usize]) -> Vec<usize> {
    let names: Vec<&str> = bellies.iter().map(|&i| phantom.tissues[i].name.as_str()).collect();
    let is_of = |tissue: &Tissue| {
        tissue.kind == TissueKind::Tendon && tissue.belongs_to.as_deref().is_some_and(|owner| names.contains(&owner))
    };
    (0..phantom.tissues.len()).filter(|&i| is_of(&phantom.tissues[i])).collect()
}

fn write_muscle(text: &mut String, phantom: &Phantom, muscle: &str, image: &PhantomImage, cell: f64, is_whole: bool) {
    let without_tendons = image.without_tendons;
    let bellies = bellies(phantom, muscle);
    let tendons = tendons(phantom, &bellies);
    let names = |tissues: &[usize]| {
        tissues.iter().map(|&i| format!("\"{}\"", phantom.tissues[i].name)).collect::<Vec<_>>().join(", ")
    };
    let labels = if without_tendons { bellies.clone() } else { [bellies.clone(), tendons.clone()].concat() };
    let _ = write!(text, "\n[[tissue]]\nname = \"{muscle}\"\nkind = \"muscle\"\nlabels = [{}]\n", names(&labels));
    if !without_tendons && !tendons.is_empty() {
        let _ = writeln!(text, "tendon_labels = [{}]", names(&tendons));
    }
    if has_specks(image) {
        let _ = writeln!(text, "repair = [{{ keep_parts = {} }}]", bellies.len());
    }
    if !is_whole {
        return;
    }
    let attachments: Vec<&Attachment> =
        phantom.attachments.iter().filter(|attachment| bellies.contains(&attachment.belly)).collect();
    let groups = groups(&attachments);
    let items: Vec<String> = groups.iter().map(|group| attachment(phantom, group, image.voxel, cell)).collect();
    let _ = writeln!(text, "attach = [\n    {},\n]", items.join(",\n    "));
    let leaning: Vec<String> = bellies.iter().flat_map(|belly| leanings(phantom, *belly)).collect();
    let leaning = match leaning.as_slice() {
        [] => String::new(),
        places => format!(", leaning = [\n    {},\n]", places.join(",\n    ")),
    };
    let lines: Vec<String> = bellies.iter().map(|belly| line_of_action(phantom, *belly)).collect();
    let _ = writeln!(text, "fibers = {{ by = \"lines\", lines = [\n    {},\n]{leaning} }}", lines.join(",\n    "));
    if without_tendons {
        let missing = attachments.iter().filter(|at| tendons.contains(&at.tissue));
        let least = (THINNEST[0] * cell).max(THINNEST[1] * image.voxel);
        let items: Vec<String> = missing.flat_map(|at| missing_tendon(phantom, at, least)).collect();
        if !items.is_empty() {
            let _ = writeln!(text, "tendon = [\n    {},\n]", items.join(",\n    "));
        }
    }
}

/// Attachments of heads of a muscle at one end to one bone.
struct Group<'a> {
    name: String,
    places: Vec<&'a Attachment>,
}

/// Attachments by end and bone, with names that differ: `origin`, `origin2`, `insertion`.
fn groups<'a>(attachments: &[&'a Attachment]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for at in attachments {
        let same = |group: &&mut Group<'a>| group.places[0].kind == at.kind && group.places[0].bone == at.bone;
        if let Some(group) = groups.iter_mut().find(same) {
            group.places.push(at);
            continue;
        }
        let word = if at.kind == AttachmentKind::Origin { "origin" } else { "insertion" };
        let before = groups.iter().filter(|group| group.places[0].kind == at.kind).count();
        let name = if before == 0 { word.to_string() } else { format!("{word}{}", before + 1) };
        groups.push(Group { name, places: vec![at] });
    }
    groups
}

fn attachment(phantom: &Phantom, group: &Group<'_>, voxel: f64, cell: f64) -> String {
    let bone = &phantom.tissues[group.places[0].bone].name;
    let curves = group.places.iter().flat_map(|at| outlines(phantom, at));
    let curves: Vec<String> = curves.map(|curve| points(&curve)).collect();
    let where_it_is = match curves.as_slice() {
        // Too small to be seen: around the end of its line.
        [] => format!("near = {}, radius = \"{}\"", points(&[group.places[0].point]), length(2.0 * voxel)),
        curves => format!("pad = \"{}\", outline = [{}]", length((PAD * cell).max(voxel)), curves.join(", ")),
    };
    format!(
        "{{ name = \"{}\", bone = \"{bone}\", within = \"{}\", {where_it_is} }}",
        group.name,
        length(WITHIN * voxel)
    )
}

fn points(points: &[Vec3]) -> String {
    format!("[{}]", points.iter().map(|p| point(*p)).collect::<Vec<_>>().join(", "))
}

/// Curves around an attachment, as an atlas would show it on the bone.
fn outlines(phantom: &Phantom, at: &Attachment) -> Vec<Vec<Vec3>> {
    let spacing = (SPACING * phantom.end_bounds(at).diagonal()).clamp(SPACINGS[0], SPACINGS[1]);
    let simple = |curve: Vec<Vec3>| {
        let size = Aabb::from_points(&curve).diagonal();
        simplified(&curve, (OUTLINE_ERROR[0] * size).max(OUTLINE_ERROR[1]))
    };
    phantom.touched_outlines(at, spacing).into_iter().map(simple).filter(|curve| curve.len() >= 3).collect()
}

/// A closed curve with only the points that it needs to pass within `error` \[m\] of all (Douglas and Peucker).
fn simplified(curve: &[Vec3], error: f64) -> Vec<Vec3> {
    let farthest_from = |from: Vec3| {
        let farther = |a: &usize, b: &usize| curve[*a].distance(from).total_cmp(&curve[*b].distance(from));
        (0..curve.len()).max_by(farther).unwrap_or_default()
    };
    let mut points = curve.to_vec();
    points.rotate_left(farthest_from(curve[0]));
    points.push(points[0]);
    let half =
        (0..points.len()).max_by(|a, b| points[*a].distance(points[0]).total_cmp(&points[*b].distance(points[0])));
    let half = half.unwrap_or_default();
    let mut is_kept = vec![false; points.len()];
    let mut open = vec![[0, half], [half, points.len() - 1]];
    while let Some([from, to]) = open.pop() {
        is_kept[from] = true;
        let (a, axis) = (points[from], points[to] - points[from]);
        let off = |k: &usize| {
            let t = ((points[*k] - a).dot(axis) / axis.norm_squared().max(1e-300)).clamp(0.0, 1.0);
            points[*k].distance(a + axis * t)
        };
        let worst = (from + 1..to).max_by(|a, b| off(a).total_cmp(&off(b)));
        if let Some(worst) = worst.filter(|worst| off(worst) > error) {
            open.extend([[from, worst], [worst, to]]);
        }
    }
    points.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(p, _)| p).collect()
}

/// Points of the line of a head.
fn line_of_action(phantom: &Phantom, belly: usize) -> String {
    let line = phantom.line(belly).unwrap_or_default();
    let is_kept = |k: &usize| k.is_multiple_of(LINE_STEP) || *k + 1 == line.len();
    let kept: Vec<Vec3> = (0..line.len()).filter(is_kept).map(|k| line[k]).collect();
    points(&kept)
}

/// How the fibers of a belly lean, at some places of it.
fn leanings(phantom: &Phantom, belly: usize) -> Vec<String> {
    let angle = phantom.tissues[belly].pennation;
    if angle == 0.0 {
        return Vec::new();
    }
    let sections = phantom.sections(belly).unwrap_or_default();
    let own: Vec<_> = sections.iter().filter(|section| phantom.tissue_at(section.center) == Some(belly)).collect();
    let step = own.len().div_ceil(LEANINGS).max(1);
    let place = |section: &&Section| {
        let [x, y, z] = section.thickness.to_array().map(|value| format_number((value * 1e3).round() / 1e3));
        let degrees = format_number((angle.to_degrees() * 10.0).round() / 10.0);
        format!("{{ at = {}, pennation = \"{degrees} deg\", lean = [{x}, {y}, {z}] }}", point(section.center))
    };
    own.into_iter().skip(step / 2).step_by(step).map(|section| place(&section)).collect()
}

/// Half width of a tendon over its half thickness, or over the least radius, from which on it is made of several tubes.
const FLAT: f64 = 1.4;
/// Distance of the tubes that make a flat tendon \[radii\].
const LANES: f64 = 1.6;
/// Most tubes on each side of the line of a tendon.
const MOST_LANES: usize = 12;

/// A tube along the line of the muscle from the end of the belly to the bone, with the area of the tendon, but at least
/// of some radius \[m\]; for a flat tendon several side by side, with its thickness.
fn missing_tendon(phantom: &Phantom, at: &Attachment, least: f64) -> Vec<String> {
    let Some(mut sections) = phantom.sections(at.tissue) else { return Vec::new() };
    if at.kind == AttachmentKind::Origin {
        sections.reverse();
    }
    let is_belly = |section: &Section| phantom.tissue_at(section.center) == Some(at.belly);
    let Some(last) = sections.iter().rposition(is_belly) else { return Vec::new() };
    let free = &sections[last..];
    let [a, b] = free[free.len() / 2].half;
    let is_flat = a > FLAT * least.max(b);
    let radius = if is_flat { b } else { (a * b).sqrt() }.max(least);
    let widest = free.iter().map(|section| section.half[0]).fold(0.0, f64::max);
    let lanes = if is_flat { (((widest - radius) / (LANES * radius)).ceil() as usize).min(MOST_LANES) } else { 0 };
    let sides = (0..=2 * lanes).map(|k| k as f64 / lanes.max(1) as f64 - if lanes > 0 { 1.0 } else { 0.0 });
    sides.filter_map(|side| tube(phantom, at, &sections, side, radius)).collect()
}

/// A tube through sections in the order from belly to bone, at a share of their half width.
fn tube(phantom: &Phantom, at: &Attachment, sections: &[Section], side: f64, radius: f64) -> Option<String> {
    let place = |k: usize| {
        let section = &sections[k];
        let ahead = sections[(k + 1).min(sections.len() - 1)].center - sections[k.saturating_sub(1)].center;
        let across = section.thickness.cross(ahead).normalized();
        section.center + across * (side * (section.half[0] - radius).max(0.0))
    };
    let line: Vec<Vec3> = (0..sections.len()).map(place).collect();
    let is_belly = |p: &Vec3| phantom.tissue_at(*p) == Some(at.belly);
    let last = line.iter().rposition(is_belly)?;
    // From within the belly of this head, so that it is this head that the tendon holds.
    let is_deep = |k: &usize| is_belly(&line[*k]) && line[*k].distance(line[last]) >= 2.0 * radius;
    let inner = (0..=last).rev().find(is_deep).unwrap_or(last);
    let end = line[line.len() - 1];
    let mut via = vec![line[inner]];
    for p in &line[last..] {
        // The last points are the end itself.
        if p.distance(via[via.len() - 1]) >= VIA && p.distance(end) > (2.0 * radius).max(0.5 * VIA) {
            via.push(*p);
        }
    }
    let bone = &phantom.tissues[at.bone].name;
    Some(format!("{{ to = \"{bone}\", at = {}, via = {}, radius = \"{}\" }}", point(end), points(&via), length(radius)))
}
