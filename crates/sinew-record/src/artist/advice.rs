//! Advice from the facts of a run. Each rule looks at one fact and names keys of the scene and options of `sinew skin`.

use sinew_fem::report::StepTiming;
use sinew_scene::spec::contact::ContactMode;
use sinew_scene::spec::material::material_spec;
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::spec::rig::Hold;
use sinew_scene::spec::solver::Substeps;
use sinew_scene::spec::{Scene, SolverSettings};
use sinew_scene::{Dimension, format_quantity};

use super::facts::{ArtistFacts, BodyFacts};

/// A visible change of volume.
const VOLUME: f64 = 0.02;
/// Maximum depth to which blend skinning may press flesh into itself, in cells: a cell cannot push out more.
const BLEND_DEPTH: f64 = 0.5;
/// Fraction of the time of the steps from which on contact dominates.
const CONTACT_SHARE: f64 = 0.5;
/// A frame is hard from this many Newton iterations on, if it also exceeds the usual number by this factor.
const MANY_NEWTON: usize = 20;
const TIMES_USUAL: usize = 4;
/// Stretch of skin that is visible in textures.
const STRETCH: f64 = 1.6;
/// Factor of finer cells: more than twice as many per volume.
const FINER: f64 = 0.7;
/// Poisson's ratio beyond which flesh on lattices becomes too stiff without preserving volume better.
const MAX_POISSON: f64 = 0.49;

/// A finding and its remedies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// The finding, with its location.
    pub finding: String,
    /// The remedies, the most likely first.
    pub remedies: Vec<Remedy>,
}

/// One change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remedy {
    /// The reason, or what to do if no key does it.
    pub change: String,
    /// A key of the scene and its value, in the form of `--set` of `sinew run`.
    pub set: Option<String>,
    /// The option of `sinew skin` that does the same, if there is one.
    pub option: Option<String>,
}

impl Remedy {
    fn new(change: &str, set: String, option: Option<String>) -> Self {
        Self { change: change.into(), set: Some(set), option }
    }

    fn by_hand(change: &str) -> Self {
        Self { change: change.into(), ..Self::default() }
    }
}

/// Current settings of a character in the scene.
#[derive(Clone, Debug)]
pub(super) struct BodySettings {
    pub poisson: Option<f64>,
    pub hold: Hold,
}

/// Current settings of the scene.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Settings of the characters, in the order of the facts.
    pub bodies: Vec<BodySettings>,
    /// Contact mode, and gap \[m\]; `None` without contact.
    pub contact: Option<(ContactMode, Option<f64>)>,
    /// Steps per frame; `None` if adaptive.
    pub substeps: Option<usize>,
    /// Sums of the run.
    pub timing: StepTiming,
}

impl Settings {
    pub fn of(scene: &Scene, timing: StepTiming) -> Self {
        let bodies = scene.body.iter().filter_map(|body| {
            let (Some(rig), Mesh::Fill(_)) = (&body.rig, &body.mesh) else { return None };
            let poisson = material_spec(&body.material).value("poisson");
            Some(BodySettings { poisson, hold: rig.hold })
        });
        let contact = scene.contact.as_ref().filter(|contact| contact.mode != ContactMode::None);
        let SolverSettings { substeps, .. } = &scene.solver;
        Self {
            bodies: bodies.collect(),
            contact: contact.map(|contact| (contact.mode, contact.gap)),
            substeps: match substeps {
                None => Some(1),
                Some(Substeps::Fixed(count)) => Some(*count),
                Some(Substeps::Adaptive) => None,
            },
            timing,
        }
    }
}

/// All advice; empty if all is well.
pub(super) fn advise(facts: &ArtistFacts, settings: &Settings) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(crossing(facts, settings));
    for (body, own) in facts.bodies.iter().zip(&settings.bodies) {
        advice.extend(folded(body, own));
        advice.extend(volume(body, own));
        advice.extend(blend(body, own));
        advice.extend(stretch(body, own));
    }
    advice.extend(newton(facts, settings));
    advice.extend(contact_time(facts, settings));
    advice
}

fn crossing(facts: &ArtistFacts, settings: &Settings) -> Option<Advice> {
    let crossing = &facts.crossing;
    let depth = crossing.depth.filter(|depth| depth.value > 0.0);
    if crossing.crossings.value == 0 && depth.is_none() {
        return None;
    }
    let mut finding = match crossing.crossings.value {
        0 => "surfaces penetrate each other".into(),
        1 => format!("one pair of triangles intersects in frame {}", crossing.crossings.frame),
        count => format!("{count} pairs of triangles intersect in frame {}", crossing.crossings.frame),
    };
    if let Some(depth) = depth {
        finding += &format!(", {} deep in frame {}", length(depth.value), depth.frame);
    }
    let barrier = |change| {
        let option = Some("--contact barrier".to_string());
        Remedy::new(change, "contact.mode = \"barrier\"".into(), option)
    };
    let remedies = match settings.contact {
        None => vec![barrier(
            "without contact, flesh passes through itself; a barrier prevents that, and `--preview` leaves it out",
        )],
        Some((ContactMode::Penalty, _)) => vec![
            barrier(
                "springs let surfaces penetrate a little; a barrier does not, if flesh does not start out intersecting",
            ),
            Remedy::by_hand("stiffer springs: a larger `contact.stiffness`"),
        ],
        Some(_) => vec![Remedy::by_hand(
            "a barrier lets nothing pass through: look for pairs in `contact.pair` that pass through each other, and for `contact.self = false`",
        )],
    };
    Some(Advice { finding, remedies })
}

fn folded(body: &BodyFacts, own: &BodySettings) -> Option<Advice> {
    let worst =
        body.regions.iter().max_by_key(|region| (region.folded.value, std::cmp::Reverse(region.folded.frame)))?;
    let count = worst.folded.value;
    if count == 0 {
        return None;
    }
    let cells = if count == 1 { "one cell of".to_string() } else { format!("{count} cells of") };
    let whole = match worst.inverted.value {
        0 => "at a corner".to_string(),
        count => format!("at a corner, {count} of them entirely"),
    };
    let verb = if count == 1 { "is" } else { "are" };
    let finding =
        format!("{}: {cells} \"{}\" {verb} inverted in frame {} ({whole})", body.name, worst.name, worst.folded.frame);
    let mut remedies = vec![finer(body, "smaller cells fold less in a crease")];
    if own.hold != Hold::Soft {
        remedies.push(soft(body, "bones that hold by springs leave room for flesh at the joint"));
    }
    remedies.push(Remedy::by_hand(&format!("or rotate \"{}\" by a smaller angle in the animation", worst.name)));
    Some(Advice { finding, remedies })
}

fn volume(body: &BodyFacts, own: &BodySettings) -> Option<Advice> {
    let size = |change: f64| change.abs();
    let worst =
        body.regions.iter().max_by(|a, b| size(a.volume_change.value).total_cmp(&size(b.volume_change.value)))?;
    let change = worst.volume_change.value;
    if change.abs() <= VOLUME {
        return None;
    }
    let verb = if change < 0.0 { "loses" } else { "gains" };
    let finding = format!(
        "{}: \"{}\" {verb} {:.1} % of its volume in frame {}",
        body.name,
        worst.name,
        100.0 * change.abs(),
        worst.volume_change.frame
    );
    let mut remedies = Vec::new();
    if let Some(poisson) = own.poisson.filter(|poisson| *poisson < MAX_POISSON - 0.005) {
        // Halves the distance to incompressible flesh, and with it the change.
        let better = (100.0 * (0.5 * (poisson + 0.5)).min(MAX_POISSON)).round() / 100.0;
        let set = format!("body.{}.material.poisson = {better}", body.name);
        let why = format!("a higher Poisson's ratio preserves volume better than {poisson}");
        remedies.push(Remedy::new(&why, set, Some(format!("--poisson {better}"))));
    }
    if own.hold != Hold::Soft {
        remedies.push(soft(body, "hard bones trap the flesh between them; soft ones let it escape"));
    }
    if remedies.is_empty() {
        remedies.push(finer(body, "smaller cells leave more room around bones"));
    }
    Some(Advice { finding, remedies })
}

fn blend(body: &BodyFacts, own: &BodySettings) -> Option<Advice> {
    let blend = body.blend.filter(|blend| blend.depth > BLEND_DEPTH * body.cell)?;
    let finding = format!(
        "{}: the animation presses skin {} into itself in frame {} ({:.1} cells), even before flesh is simulated",
        body.name,
        length(blend.depth),
        blend.crossings.frame,
        blend.depth / body.cell
    );
    let mut remedies = vec![Remedy::by_hand("flesh needs room: a smaller angle of the joint there helps most")];
    if own.hold != Hold::Soft {
        remedies.push(soft(body, "bones that hold by springs let flesh move out of the way"));
    }
    Some(Advice { finding, remedies })
}

fn stretch(body: &BodyFacts, own: &BodySettings) -> Option<Advice> {
    let stretch = Some(&body.stretch).filter(|stretch| stretch.most > STRETCH)?;
    let finding = format!(
        "{}: skin is stretched by {:.2} or more in frame {}, which is visible in textures",
        body.name, stretch.most, stretch.frame
    );
    let mut remedies = Vec::new();
    if own.hold != Hold::Soft {
        remedies.push(soft(body, "soft bones spread the stretch over more of the skin"));
    }
    remedies.push(finer(body, "smaller cells spread it too"));
    Some(Advice { finding, remedies })
}

fn newton(facts: &ArtistFacts, settings: &Settings) -> Option<Advice> {
    let (most, usual) = (facts.time.most_newton, facts.time.usual_newton);
    if most.value < MANY_NEWTON || most.value < TIMES_USUAL * usual {
        return None;
    }
    let finding = format!(
        "frame {} took {} Newton iterations, while half of the frames took {usual} or fewer",
        most.frame, most.value
    );
    let remedy = match settings.substeps {
        Some(count) => {
            let set = format!("solver.substeps = {}", 2 * count);
            Remedy::new("shorter steps converge faster; worth it if there are many such frames", set, None)
        }
        None => Remedy::by_hand("a slower motion there converges faster"),
    };
    Some(Advice { finding, remedies: vec![remedy] })
}

fn contact_time(facts: &ArtistFacts, settings: &Settings) -> Option<Advice> {
    let (contact, total) = (settings.timing.contact.as_secs_f64(), settings.timing.total.as_secs_f64());
    let (mode, gap) = settings.contact?;
    if !(total > 0.0 && contact > CONTACT_SHARE * total) {
        return None;
    }
    let finding = format!("{:.0} % of the time of the steps went into contact detection", 100.0 * contact / total);
    let mut remedies = Vec::new();
    if let (ContactMode::Barrier, Some(gap)) = (mode, gap) {
        let gap = length(2.0 * gap);
        let why = "flesh that repels itself from a larger distance needs fewer and longer steps";
        remedies.push(Remedy::new(why, format!("contact.gap = \"{gap}\""), Some(format!("--gap \"{gap}\""))));
    }
    let coarsest = facts.bodies.iter().max_by(|a, b| a.cells.cmp(&b.cells));
    remedies.extend(coarsest.map(|body| cells(body, "larger cells have fewer contacts", 1.0 / FINER)));
    Some(Advice { finding, remedies })
}

fn finer(body: &BodyFacts, why: &str) -> Remedy {
    cells(body, why, FINER)
}

fn cells(body: &BodyFacts, why: &str, factor: f64) -> Remedy {
    let cell = length(factor * body.cell);
    Remedy::new(why, format!("body.{}.mesh.cell = \"{cell}\"", body.name), Some(format!("--cell \"{cell}\"")))
}

fn soft(body: &BodyFacts, why: &str) -> Remedy {
    Remedy::new(why, format!("body.{}.rig.hold = \"soft\"", body.name), Some("--soft".into()))
}

/// A length with two digits.
pub(crate) fn length(value: f64) -> String {
    if !(value > 0.0 && value.is_finite()) {
        return "0 m".into();
    }
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    format_quantity((value / unit).round() * unit, Dimension::LENGTH)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::facts::{BlendFacts, RegionFacts, Worst};
    use super::*;

    /// An arm without findings.
    fn sound() -> (ArtistFacts, Settings) {
        let region = |name: &str| RegionFacts { name: name.into(), cells: 100, ..RegionFacts::default() };
        let mut facts = ArtistFacts {
            bodies: vec![BodyFacts {
                name: "arm".into(),
                cells: 200,
                cell: 0.01,
                regions: vec![region("elbow"), region("wrist")],
                blend: Some(BlendFacts::default()),
                ..BodyFacts::default()
            }],
            ..ArtistFacts::default()
        };
        facts.crossing.depth = Some(Worst::default());
        facts.bodies[0].stretch.most = 1.3;
        (facts.time.usual_newton, facts.time.most_newton) = (6, Worst { value: 23, frame: 4 });
        let timing =
            StepTiming { contact: Duration::from_secs(1), total: Duration::from_secs(10), ..StepTiming::default() };
        let settings = Settings {
            bodies: vec![BodySettings { poisson: Some(0.45), hold: Hold::Hard }],
            contact: Some((ContactMode::Barrier, Some(0.002))),
            substeps: Some(1),
            timing,
        };
        (facts, settings)
    }

    /// The only advice: finding, keys and options.
    fn only(facts: &ArtistFacts, settings: &Settings) -> (String, Vec<String>, Vec<String>) {
        let all = advise(facts, settings);
        assert_eq!(all.len(), 1, "{all:?}");
        let remedies = &all[0].remedies;
        let sets = remedies.iter().filter_map(|remedy| remedy.set.clone()).collect();
        (all[0].finding.clone(), sets, remedies.iter().filter_map(|remedy| remedy.option.clone()).collect())
    }

    #[test]
    fn nothing_is_said_when_all_is_well() {
        let (facts, settings) = sound();
        assert_eq!(advise(&facts, &settings), []);
        assert_eq!(advise(&ArtistFacts::default(), &settings), []);
    }

    #[test]
    fn folded_cells_want_smaller_ones_or_softer_bones() {
        let (mut facts, mut settings) = sound();
        facts.bodies[0].regions[1].folded = Worst { value: 3, frame: 12 };
        let (finding, sets, options) = only(&facts, &settings);
        assert_eq!(finding, "arm: 3 cells of \"wrist\" are inverted in frame 12 (at a corner)");
        assert_eq!(sets, ["body.arm.mesh.cell = \"7 mm\"", "body.arm.rig.hold = \"soft\""]);
        assert_eq!(options, ["--cell \"7 mm\"", "--soft"]);
        settings.bodies[0].hold = Hold::Soft;
        assert_eq!(only(&facts, &settings).1.len(), 1, "soft bones cannot become softer");
    }

    #[test]
    fn lost_volume_wants_a_higher_ratio_while_there_is_one() {
        let (mut facts, mut settings) = sound();
        facts.bodies[0].regions[0].volume_change = Worst { value: -0.019, frame: 3 };
        assert!(advise(&facts, &settings).is_empty(), "less than two percent is not visible");
        facts.bodies[0].regions[0].volume_change = Worst { value: -0.031, frame: 3 };
        let (finding, sets, options) = only(&facts, &settings);
        assert_eq!(finding, "arm: \"elbow\" loses 3.1 % of its volume in frame 3");
        assert_eq!((sets[0].as_str(), options[0].as_str()), ("body.arm.material.poisson = 0.48", "--poisson 0.48"));
        settings.bodies[0] = BodySettings { poisson: Some(0.49), hold: Hold::Soft };
        assert_eq!(only(&facts, &settings).1, ["body.arm.mesh.cell = \"7 mm\""]);
    }

    #[test]
    fn crossings_are_answered_by_how_contact_works_now() {
        let (mut facts, mut settings) = sound();
        facts.crossing.crossings = Worst { value: 14, frame: 9 };
        facts.crossing.depth = Some(Worst { value: 0.00123, frame: 8 });
        let (finding, sets, _) = only(&facts, &settings);
        assert_eq!(finding, "14 pairs of triangles intersect in frame 9, 1.2 mm deep in frame 8");
        assert!(sets.is_empty(), "a barrier is there already");
        for contact in [None, Some((ContactMode::Penalty, None))] {
            settings.contact = contact;
            assert_eq!(only(&facts, &settings).1, ["contact.mode = \"barrier\""]);
        }
    }

    #[test]
    fn animations_that_ask_too_much_are_told() {
        let (mut facts, settings) = sound();
        let crossings = Worst { value: 40, frame: 20 };
        facts.bodies[0].blend = Some(BlendFacts { crossings, depth: 0.004 });
        assert!(advise(&facts, &settings).is_empty(), "less than half a cell can give way");
        facts.bodies[0].blend = Some(BlendFacts { crossings, depth: 0.012 });
        let (finding, sets, _) = only(&facts, &settings);
        assert!(finding.contains("12 mm into itself in frame 20 (1.2 cells)"), "{finding}");
        assert_eq!(sets, ["body.arm.rig.hold = \"soft\""]);
        facts.bodies[0].blend = None;
        facts.bodies[0].stretch.most = 1.9;
        assert!(only(&facts, &settings).0.contains("stretched by 1.90"));
    }

    #[test]
    fn time_is_saved_where_it_went() {
        let (mut facts, mut settings) = sound();
        facts.time.most_newton = Worst { value: 24, frame: 11 };
        let (finding, sets, _) = only(&facts, &settings);
        assert!(finding.starts_with("frame 11 took 24 Newton iterations"), "{finding}");
        assert_eq!(sets, ["solver.substeps = 2"]);
        facts.time.most_newton = Worst::default();
        settings.timing.contact = Duration::from_secs(6);
        let (finding, sets, options) = only(&facts, &settings);
        assert!(finding.starts_with("60 % of the time"), "{finding}");
        assert_eq!(sets, ["contact.gap = \"4 mm\"", "body.arm.mesh.cell = \"14 mm\""]);
        assert_eq!(options, ["--gap \"4 mm\"", "--cell \"14 mm\""]);
        settings.timing = StepTiming::default();
        assert!(advise(&facts, &settings).is_empty(), "no time, no share of it");
    }

    #[test]
    fn lengths_have_two_digits() {
        assert_eq!([0.00123, 0.0, f64::NAN, 0.0149].map(length), ["1.2 mm", "0 m", "0 m", "15 mm"]);
    }
}
