//! The recipe of a phantom: every muscle with its heads and tendons, attached where the phantom says.

use std::fmt::Write as _;

use sinew_anatomy::Solid as _;
use sinew_anatomy::phantom::{Attachment, AttachmentKind, Phantom, Section, Tissue, TissueKind};
use sinew_math::Vec3;
use sinew_scene::recipe::image::PhantomImage;
use sinew_scene::{Dimension, format_number, format_quantity};

use super::image::phantom_of;

/// Distance of points on the way of a missing tendon \[m\].
const VIA: f64 = 14e-3;
/// Distance of the points that describe an attachment \[m\].
const CENTERS: f64 = 8e-3;
/// Half the distance between the last point where a muscle is attached and the first where it is not \[m\].
const EDGE: f64 = 2e-3;
/// Points where a muscle is no longer attached.
const AWAY: usize = 3;
/// Places of a belly that tell how fibers lean.
const LEANINGS: usize = 5;
/// Thinnest tendon that stays in one piece, in cells and in voxels.
const THINNEST: [f64; 2] = [0.75, 1.0];

/// The recipe for an image of a phantom, with cells of a size \[m\] and a cover, if one is wanted \[m\].
pub fn phantom_recipe(image: &PhantomImage, cell: f64, cover: Option<f64>) -> String {
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
        write_muscle(&mut text, &phantom, muscle, image, cell);
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

fn write_muscle(text: &mut String, phantom: &Phantom, muscle: &str, image: &PhantomImage, cell: f64) {
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
    let attachments: Vec<&Attachment> =
        phantom.attachments.iter().filter(|attachment| bellies.contains(&attachment.belly)).collect();
    let groups = groups(&attachments);
    let items: Vec<String> = groups.iter().map(|group| attachment(phantom, group, image.voxel)).collect();
    let _ = writeln!(text, "attach = [\n    {},\n]", items.join(",\n    "));
    let [from, to] = [AttachmentKind::Origin, AttachmentKind::Insertion].map(|kind| {
        let names = groups.iter().filter(|group| group.places[0].kind == kind);
        names.map(|group| format!("\"{}\"", group.name)).collect::<Vec<_>>().join(", ")
    });
    let leaning: Vec<String> = bellies.iter().flat_map(|belly| leanings(phantom, *belly)).collect();
    let leaning = match leaning.as_slice() {
        [] => String::new(),
        places => format!(", leaning = [\n    {},\n]", places.join(",\n    ")),
    };
    let _ = writeln!(text, "fibers = {{ by = \"laplace\", from = [{from}], to = [{to}], lengthwise = true{leaning} }}");
    if without_tendons {
        let missing = attachments.iter().filter(|at| tendons.contains(&at.tissue));
        let least = (THINNEST[0] * cell).max(THINNEST[1] * image.voxel);
        let items: Vec<String> = missing.filter_map(|at| missing_tendon(phantom, at, least)).collect();
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

fn attachment(phantom: &Phantom, group: &Group<'_>, voxel: f64) -> String {
    let bone = &phantom.tissues[group.places[0].bone].name;
    let places = group.places.iter().map(|at| places(phantom, at, voxel));
    let (near, away): (Vec<Vec<Vec3>>, Vec<Vec<Vec3>>) = places.unzip();
    let (near, away) = (near.concat(), away.concat());
    // Surfaces of images are a voxel off, and tubes of missing tendons are wider than the tendons.
    let radius = group.places.iter().map(|at| width(phantom, at, &near)).fold(5e-3, f64::max) + 1.5 * voxel;
    let list = |points: &[Vec3]| points.iter().map(|p| point(*p)).collect::<Vec<_>>().join(", ");
    format!(
        "{{ name = \"{}\", bone = \"{bone}\", within = \"{}\", near = [{}], radius = \"{}\", away = [{}] }}",
        group.name,
        length(voxel),
        list(&near),
        length(radius),
        list(&away)
    )
}

/// Points of the line of a muscle along which it is grown to the bone, and some beyond.
fn places(phantom: &Phantom, at: &Attachment, voxel: f64) -> (Vec<Vec3>, Vec<Vec3>) {
    let line = from_end(phantom, at);
    let total = line.last().map_or(0.0, |last| last.1);
    let last = (at.reach - EDGE).max(0.0);
    let count = (last / CENTERS).ceil() as usize;
    let near = (0..=count).map(|k| along(&line, last * k as f64 / count.max(1) as f64)).collect();
    // Ends of missing tendons are at most about as far from where they should be.
    let slack = if at.tissue == at.belly { 0.0 } else { voxel };
    let away = (0..AWAY).map(|k| at.reach + EDGE + slack + CENTERS * k as f64).filter(|s| *s < total);
    (near, away.map(|s| along(&line, s)).collect())
}

/// The line of a muscle from its end at an attachment on: points, and the length to each \[m\].
fn from_end(phantom: &Phantom, at: &Attachment) -> Vec<(Vec3, f64)> {
    let sections = phantom.sections(at.tissue).unwrap_or_default();
    let total = sections.last().map_or(0.0, |section| section.along);
    match at.kind {
        AttachmentKind::Origin => sections.iter().map(|section| (section.center, section.along)).collect(),
        AttachmentKind::Insertion => {
            sections.iter().rev().map(|section| (section.center, total - section.along)).collect()
        }
    }
}

/// The point of a line at a length \[m\].
fn along(line: &[(Vec3, f64)], s: f64) -> Vec3 {
    let next = line.partition_point(|(_, length)| *length < s).clamp(1, line.len() - 1);
    let [(a, from), (b, to)] = [line[next - 1], line[next]];
    a.lerp(b, ((s - from) / (to - from)).clamp(0.0, 1.0))
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

/// How far from these points the attachment reaches \[m\], found by trying points around it.
fn width(phantom: &Phantom, at: &Attachment, centers: &[Vec3]) -> f64 {
    const STEP: f64 = 4e-3;
    const STEPS: i32 = 28;
    let bone = &phantom.tissues[at.bone].solid;
    let distance = |p: Vec3| centers.iter().map(|center| (p - *center).norm()).fold(f64::INFINITY, f64::min);
    let mut largest = 0.0;
    for i in -STEPS..=STEPS {
        for j in -STEPS..=STEPS {
            for k in -STEPS..=STEPS {
                let p = at.point + Vec3::new(f64::from(i), f64::from(j), f64::from(k)) * STEP;
                let far = distance(p);
                if far > largest && bone.distance(p).abs() <= 0.5 * STEP && phantom.is_attached(at, p, 0.5 * STEP) {
                    largest = far;
                }
            }
        }
    }
    largest
}

/// A tube along the line of the muscle from the end of the belly to the bone, with the area of the tendon, but at least
/// of some radius \[m\].
fn missing_tendon(phantom: &Phantom, at: &Attachment, least: f64) -> Option<String> {
    let mut sections = phantom.sections(at.tissue)?;
    if at.kind == AttachmentKind::Origin {
        sections.reverse();
    }
    let is_belly = |p: Vec3| phantom.tissue_at(p) == Some(at.belly);
    let last = sections.iter().rposition(|section| is_belly(section.center))?;
    let free = &sections[last..];
    let [a, b] = free[free.len() / 2].half;
    let radius = (a * b).sqrt().max(least);
    // From within the belly of this head, so that it is this head that the tendon holds.
    let end = sections[last].center;
    let is_deep = |k: &usize| is_belly(sections[*k].center) && sections[*k].center.distance(end) >= 2.0 * radius;
    let inner = (0..=last).rev().find(is_deep).unwrap_or(last);
    let mut via = vec![sections[inner].center];
    for section in free {
        // The last points are the end itself.
        let is_far = section.center.distance(via[via.len() - 1]) >= VIA;
        if is_far && section.center.distance(at.point) > (2.0 * radius).max(0.5 * VIA) {
            via.push(section.center);
        }
    }
    let bone = &phantom.tissues[at.bone].name;
    Some(format!(
        "{{ to = \"{bone}\", at = {}, via = [{}], radius = \"{}\" }}",
        point(at.point),
        via.iter().map(|p| point(*p)).collect::<Vec<_>>().join(", "),
        length(radius)
    ))
}
