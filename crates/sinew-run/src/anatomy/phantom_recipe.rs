//! The recipe of a phantom: every muscle with its heads and tendons, attached where the phantom says.

use std::fmt::Write as _;

use sinew_anatomy::Solid as _;
use sinew_anatomy::phantom::{Attachment, AttachmentKind, Phantom, Tissue, TissueKind};
use sinew_math::Vec3;
use sinew_scene::recipe::image::PhantomImage;
use sinew_scene::{Dimension, format_number, format_quantity};

use super::image::phantom_of;

/// Points of a line of action that a missing tendon passes through.
const VIA: usize = 4;

/// Radius of missing tendons, unless voxels are larger \[m\].
const TENDON_RADIUS: f64 = 3e-3;

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
    for (i, tissue) in phantom.tissues.iter().enumerate() {
        let kind = match tissue.kind {
            TissueKind::Bone | TissueKind::Tooth => "bone",
            TissueKind::Eye | TissueKind::Flesh => "flesh",
            TissueKind::Muscle | TissueKind::Tendon => continue,
        };
        let _ = write!(text, "\n[[tissue]]\nname = \"{0}\"\nkind = \"{kind}\"\nlabels = [{1}]\n", tissue.name, i + 1);
    }
    for muscle in phantom.muscles() {
        write_muscle(&mut text, &phantom, muscle, image);
    }
    text
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

fn write_muscle(text: &mut String, phantom: &Phantom, muscle: &str, image: &PhantomImage) {
    let without_tendons = image.without_tendons;
    let bellies = bellies(phantom, muscle);
    let tendons = tendons(phantom, &bellies);
    let numbers = |tissues: &[usize]| tissues.iter().map(|i| (i + 1).to_string()).collect::<Vec<_>>().join(", ");
    let labels = if without_tendons { bellies.clone() } else { [bellies.clone(), tendons.clone()].concat() };
    let _ = write!(text, "\n[[tissue]]\nname = \"{muscle}\"\nkind = \"muscle\"\nlabels = [{}]\n", numbers(&labels));
    if !without_tendons && !tendons.is_empty() {
        let _ = writeln!(text, "tendon_labels = [{}]", numbers(&tendons));
    }
    if image.noise > 0.0 || image.wrong_labels > 0 {
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
    let _ = writeln!(text, "fibers = {{ by = \"laplace\", from = [{from}], to = [{to}] }}");
    if without_tendons {
        let missing = attachments.iter().filter(|at| tendons.contains(&at.tissue));
        let radius = TENDON_RADIUS.max(image.voxel);
        let items: Vec<String> = missing.filter_map(|at| missing_tendon(phantom, at, radius)).collect();
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
    let within = length(voxel.max(2e-3));
    let radius = group.places.iter().map(|at| extent(phantom, at)).fold(0.0, f64::max) + voxel;
    let near: Vec<String> = group.places.iter().map(|at| point(at.point)).collect();
    format!(
        "{{ name = \"{}\", bone = \"{bone}\", within = \"{within}\", near = [{}], radius = \"{}\" }}",
        group.name,
        near.join(", "),
        length(radius)
    )
}

/// How far from its middle the attachment reaches \[m\], found by trying points around it.
fn extent(phantom: &Phantom, at: &Attachment) -> f64 {
    const STEP: f64 = 6e-3;
    const STEPS: i32 = 20;
    let bone = &phantom.tissues[at.bone].solid;
    let mut largest = at.reach.max(0.01);
    for i in -STEPS..=STEPS {
        for j in -STEPS..=STEPS {
            for k in -STEPS..=STEPS {
                let way = Vec3::new(f64::from(i), f64::from(j), f64::from(k)) * STEP;
                let far = way.norm();
                let p = at.point + way;
                if far > largest && bone.distance(p).abs() <= STEP && phantom.is_attached(at, p, STEP) {
                    largest = far;
                }
            }
        }
    }
    largest
}

/// A tube along the line of the muscle from the end of the belly to the bone.
fn missing_tendon(phantom: &Phantom, at: &Attachment, radius: f64) -> Option<String> {
    let mut line = phantom.line(at.tissue)?;
    if at.kind == AttachmentKind::Origin {
        line.reverse();
    }
    let is_belly = |p: &Vec3| phantom.tissue_at(*p) == Some(at.belly);
    let last = line.iter().rposition(is_belly)?;
    // From within the belly of this head, so that it is this head that the tendon holds.
    let inner = (0..=last).rev().find(|&k| is_belly(&line[k]) && (line[k] - line[last]).norm() >= 2.0 * radius);
    let inner = inner.unwrap_or(last);
    let free = &line[last..];
    let step = free.len().div_ceil(VIA).max(1);
    // The last points are the end itself.
    let between = free.iter().step_by(step).skip(1).filter(|p| (**p - at.point).norm() > 2.0 * radius);
    let via: Vec<String> = std::iter::once(&line[inner]).chain(between).map(|p| point(*p)).collect();
    let bone = &phantom.tissues[at.bone].name;
    Some(format!(
        "{{ to = \"{bone}\", at = {}, via = [{}], radius = \"{}\" }}",
        point(at.point),
        via.join(", "),
        length(radius)
    ))
}
