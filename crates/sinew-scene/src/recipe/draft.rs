//! A recipe from the names of labels, as `sinew new recipe.toml --image FILE` writes it.

use std::fmt::Write as _;

use super::tissue::Kind;
use crate::value::{Dimension, format_number, format_quantity};

/// A label of an image, and which others it touches.
#[derive(Clone, Debug, Default)]
pub struct DraftLabel {
    /// Its name.
    pub name: String,
    /// Volume of its voxels \[m³\].
    pub volume: f64,
    /// Number of its connected parts, without specks.
    pub parts: usize,
    /// Labels that it touches: their name, and the center of the contact \[m\]; the largest contact first.
    pub touches: Vec<(String, [f64; 3])>,
}

/// What the recipe is about.
#[derive(Clone, Debug, Default)]
pub struct DraftParams {
    /// The image, as the recipe refers to it.
    pub image: String,
    /// Smallest spacing of its voxels \[m\].
    pub voxel: f64,
    /// Its labels.
    pub labels: Vec<DraftLabel>,
}

/// Parts of names of bones in English and Latin.
const BONES: [&str; 44] = [
    "bone",
    "femur",
    "tibia",
    "fibula",
    "patella",
    "humerus",
    "radius",
    "ulna",
    "scapula",
    "clavicle",
    "clavicula",
    "rib",
    "costa",
    "sternum",
    "vertebra",
    "spine",
    "sacrum",
    "pelvis",
    "hip_",
    "ilium",
    "skull",
    "cranium",
    "calvaria",
    "jaw",
    "mandible",
    "mandibula",
    "maxilla",
    "tooth",
    "teeth",
    "hand",
    "carpal",
    "phalanx",
    "phalang",
    "tarsal",
    "talus",
    "calcaneus",
    "thorax",
    "os_",
    "hyoid",
    "coccyx",
    "cortical",
    "vertebrae",
    "skeleton",
    "foot",
];
/// Parts of names of muscles that hold the name of a bone, or whose names may go on with one.
const MUSCLES: [&str; 28] = [
    "musc",
    "flexor",
    "extensor",
    "abductor",
    "adductor",
    "levator",
    "depressor",
    "pronator",
    "supinator",
    "tensor",
    "ceps",
    "teres",
    "rectus",
    "vastus",
    "oblique",
    "transversus",
    "quadratus",
    "serratus",
    "tibialis",
    "ulnaris",
    "radialis",
    "scapularis",
    "intercostal",
    "costalis",
    "spinalis",
    "thoracis",
    "coccygeus",
    "peroneus",
];
/// Parts of names of what lies between bones and is named after them, but is softer.
const GRISTLE: [&str; 4] = ["cartilage", "disc", "disk", "meniscus"];
/// Parts of names of tissue without fibers.
const FLESH: [&str; 55] = [
    "adipose",
    "adrenal",
    "airway",
    "aorta",
    "artery",
    "atrial",
    "atrium",
    "bladder",
    "blood",
    "body",
    "bowel",
    "brain",
    "breast",
    "bronch",
    "carotid",
    "cava",
    "cerebell",
    "cerebr",
    "colon",
    "cord",
    "cyst",
    "duoden",
    "esophag",
    "eye",
    "face",
    "fat",
    "flesh",
    "gland",
    "gut",
    "heart",
    "intestin",
    "kidney",
    "lens",
    "lesion",
    "liver",
    "lung",
    "lymph",
    "myocard",
    "nerve",
    "organ",
    "ovar",
    "pancrea",
    "prostate",
    "skin",
    "spleen",
    "stomach",
    "subcutaneous",
    "thyroid",
    "trachea",
    "trunk",
    "tumor",
    "uter",
    "vein",
    "ventric",
    "vessel",
];
const TENDONS: [&str; 4] = ["tendon", "ligament", "aponeurosis", "fascia"];
/// Names that are not made.
const BACKGROUND: [&str; 5] = ["background", "air", "clear", "exterior", "outside"];

/// What a label is, by its name.
pub fn kind_of(name: &str) -> Option<Kind> {
    let name = name.to_lowercase().replace([' ', '-', '.'], "_");
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match () {
        () if BACKGROUND.contains(&name.as_str()) => None,
        () if has(&TENDONS) => Some(Kind::Tendon),
        () if has(&GRISTLE) => Some(Kind::Flesh),
        () if has(&MUSCLES) => Some(Kind::Muscle),
        () if has(&BONES) => Some(Kind::Bone),
        () if has(&FLESH) => Some(Kind::Flesh),
        () => Some(Kind::Muscle),
    }
}

/// A name that can stand in a recipe.
fn plain(name: &str) -> String {
    let plain: String =
        name.trim().chars().map(|c| if c.is_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect();
    if plain.is_empty() || plain == "world" { format!("tissue_{plain}") } else { plain }
}

/// The muscle that a label with the name of a tendon belongs to: the longest name of a muscle with which it begins.
fn owner_of<'a>(tendon: &str, labels: &'a [DraftLabel]) -> Option<&'a str> {
    let muscles = labels.iter().filter(|label| kind_of(&label.name) == Some(Kind::Muscle));
    let fits = muscles.map(|label| label.name.as_str()).filter(|name| tendon.starts_with(*name));
    fits.max_by_key(|name| name.len())
}

/// Two contacts with bones that are farthest apart: origin above, insertion below.
fn ends(labels: &[&DraftLabel]) -> Option<[(String, [f64; 3]); 2]> {
    let bones: Vec<&(String, [f64; 3])> = (labels.iter().flat_map(|label| &label.touches))
        .filter(|touched| kind_of(&touched.0) == Some(Kind::Bone))
        .collect();
    let distance = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
    let pairs = (0..bones.len()).flat_map(|i| (i + 1..bones.len()).map(move |j| (i, j)));
    let apart = pairs.filter(|&(i, j)| bones[i].0 != bones[j].0);
    let (i, j) =
        apart.max_by(|a, b| distance(bones[a.0].1, bones[a.1].1).total_cmp(&distance(bones[b.0].1, bones[b.1].1)))?;
    let (mut upper, mut lower) = (bones[i].clone(), bones[j].clone());
    if upper.1[2] < lower.1[2] {
        std::mem::swap(&mut upper, &mut lower);
    }
    Some([upper, lower])
}

/// A length with three digits and a unit.
fn length_text(value: f64) -> String {
    format_quantity(format!("{value:.2e}").parse().unwrap_or(value), Dimension::LENGTH)
}

/// Labels with fewer voxels hold no cell of two voxels.
const LEAST: f64 = 8.0;

/// The recipe as text, with comments.
pub fn recipe_text(params: &DraftParams) -> String {
    let mut text = format!(
        "#:schema ./sinew-recipe.schema.json\n\
         # `sinew anatomy build` makes bones, muscles and meshes of this. Drafted from the names of the labels:\n\
         # check each `kind` and `attach`, and delete what you do not need.\n\n\
         [image]\nfile = {:?}\n\n\
         [smooth]\ntime = 0.5                       # all tissues together; 0 keeps the steps of voxels\n\n\
         [mesh]\ncell = {:?}                   # two voxels: smaller cells show steps of voxels\n",
        params.image,
        length_text(2.0 * params.voxel),
    );
    for label in &params.labels {
        let Some(kind) = kind_of(&label.name) else { continue };
        if kind == Kind::Tendon && owner_of(&label.name, &params.labels).is_some() {
            continue;
        }
        if label.volume < LEAST * params.voxel.powi(3) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n# {:?} is left out: it has too few voxels for a cell.", label.name);
            continue;
        }
        write_tissue(&mut text, label, kind, params);
    }
    text
}

fn write_tissue(text: &mut String, label: &DraftLabel, kind: Kind, params: &DraftParams) {
    let tendons: Vec<&DraftLabel> = match kind {
        Kind::Muscle => (params.labels.iter())
            .filter(|other| kind_of(&other.name) == Some(Kind::Tendon))
            .filter(|other| owner_of(&other.name, &params.labels) == Some(label.name.as_str()))
            .collect(),
        _ => Vec::new(),
    };
    let parts: Vec<&DraftLabel> = std::iter::once(label).chain(tendons.iter().copied()).collect();
    let names: Vec<String> = parts.iter().map(|part| format!("{:?}", part.name)).collect();
    let volume = parts.iter().map(|part| part.volume).sum::<f64>() * 1e6;
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\n[[tissue]]                       # {} mL\nname = {:?}\nkind = {:?}\nlabels = [{}]\n",
        format_number((volume * 10.0).round() / 10.0),
        plain(&label.name),
        kind.word(),
        names.join(", "),
    );
    if !tendons.is_empty() {
        let _ = writeln!(text, "tendon_labels = [{}]", names[1..].join(", "));
    }
    let ends = if kind == Kind::Muscle { ends(&parts) } else { None };
    // Fibers run from end to end of one part.
    let kept = if ends.is_some() { 1 } else { label.parts.max(1) };
    let _ = write!(text, "repair = [{{ keep_parts = {kept} }}]");
    let lost = if label.parts > kept { format!("   # of {} in the image", label.parts) } else { String::new() };
    let _ = writeln!(text, "{lost}");
    if kind == Kind::Muscle {
        // Tissues that are voxels apart touch in the image; closer ones would be told as far from the bone.
        let within = 2.0 * params.voxel;
        let within = if within > 2e-3 { format!(", within = {:?}", length_text(within)) } else { String::new() };
        match ends {
            Some([origin, insertion]) => {
                let _ = writeln!(
                    text,
                    "attach = [{{ name = \"origin\", bone = {:?}{within} }}, {{ name = \"insertion\", bone = {:?}{within} }}]",
                    plain(&origin.0),
                    plain(&insertion.0)
                );
            }
            None => text.push_str(
                "# attach = [{ name = \"origin\", bone = \"…\" }, { name = \"insertion\", bone = \"…\" }]   # touches fewer than two bones\n",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    fn label(name: &str, touches: &[(&str, f64)]) -> DraftLabel {
        let touches = touches.iter().map(|(name, z)| (name.to_string(), [0.0, 0.0, *z])).collect();
        DraftLabel { name: name.into(), volume: 1e-4, parts: 1, touches }
    }

    #[test]
    fn organs_are_no_muscles_and_what_is_named_after_bones_may_be_soft() {
        for (name, kind) in [
            ("pancreas", Kind::Flesh),
            ("inferior_vena_cava", Kind::Flesh),
            ("spinal_cord", Kind::Flesh),
            ("costal_cartilages", Kind::Flesh),
            ("intervertebral_disc_L4", Kind::Flesh),
            ("vertebrae_L4", Kind::Bone),
            ("rib_left_7", Kind::Bone),
            ("iliopsoas_left", Kind::Muscle),
            ("gluteus_maximus_right", Kind::Muscle),
            ("flexor_carpi_radialis", Kind::Muscle),
            ("Achilles tendon", Kind::Tendon),
        ] {
            assert_eq!(kind_of(name), Some(kind), "{name}");
        }
    }

    /// A label in two parts keeps both, but for a muscle with fibers; voxels decide how near a bone must be.
    #[test]
    fn parts_of_labels_and_the_size_of_voxels_reach_the_draft() {
        let two = |name: &str, touches: &[(&str, f64)]| DraftLabel { parts: 2, ..label(name, touches) };
        let labels = vec![
            label("humerus", &[]),
            label("radius", &[]),
            two("lung", &[]),
            two("biceps", &[("humerus", 0.3), ("radius", 0.0)]),
        ];
        let labels = [labels, vec![DraftLabel { volume: 2.7e-8, ..label("speck", &[]) }]].concat();
        let text = recipe_text(&DraftParams { image: "Cargo.toml".into(), voxel: 3e-3, labels });
        assert!(text.contains("# \"speck\" is left out") && !text.contains("name = \"speck\""), "{text}");
        assert_eq!(text.matches("keep_parts = 2").count(), 1, "{text}");
        assert!(text.contains("# of 2 in the image") && text.contains("within = \"6 mm\""), "{text}");
        assert!(Recipe::from_text(&text, "a.toml", env!("CARGO_MANIFEST_DIR")).is_ok(), "{text}");
    }

    #[test]
    fn a_draft_is_a_valid_recipe_with_guessed_kinds_tendons_and_attachments() {
        let labels = vec![
            label("background", &[]),
            label("humerus", &[]),
            label("radius", &[]),
            label("biceps", &[("humerus", 0.3)]),
            label("biceps_tendon", &[("radius", 0.0)]),
            label("fat", &[("humerus", 0.1)]),
        ];
        let params = DraftParams { image: "Cargo.toml".into(), voxel: 1e-3, labels };
        let folder = env!("CARGO_MANIFEST_DIR");
        let recipe =
            Recipe::from_text(&recipe_text(&params), "a.toml", folder).unwrap_or_else(|error| panic!("{error}"));
        let kinds: Vec<_> = recipe.tissue.iter().map(|tissue| (tissue.name.as_str(), tissue.kind)).collect();
        let expected =
            [("humerus", Kind::Bone), ("radius", Kind::Bone), ("biceps", Kind::Muscle), ("fat", Kind::Flesh)];
        assert_eq!(kinds, expected);
        let biceps = recipe.tissue("biceps").unwrap();
        assert!(biceps.has_tendon() && biceps.has_fibers());
        let bones: Vec<_> = biceps.attach.iter().map(|attach| attach.bone.as_str()).collect();
        assert_eq!(bones, ["humerus", "radius"], "the origin is the upper one");
    }
}
