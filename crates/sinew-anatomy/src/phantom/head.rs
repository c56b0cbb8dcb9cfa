//! A head: skull, jaw on its hinge, teeth, eyes, brain, muscles of mastication and the flesh around them.

use super::form::Form;
use super::layout::{Plan, build};
use super::row::{Bone, Row, chain, cone, ellipsoid, plate, quad};
use super::{Phantom, TissueKind};

/// A head of an adult, mouth closed: origin between the ears. The landmarks of the skin are means of adults; the hinge of
/// the jaw runs through both condyles, from left to right, so that a positive angle closes and a negative one opens.
///
/// Masseter, temporalis and medial pterygoid have volumes of drawings, not of a table: `literature_volume` is `None`.
pub fn head() -> Phantom {
    let [left, right] = [[-50.0, -12.0, 0.0], [50.0, -12.0, 0.0]];
    build(Plan {
        name: "head",
        firm: bones(),
        rows: rows(),
        swelling: SWELLING,
        soft: soft(),
        // Flesh fills what would be gaps.
        gaps: [0.8e-3, 0.0],
        hinges: vec![("jaw", ["skull", "jaw"], [left, right])],
    })
}

/// For each muscle in the order of the table.
const SWELLING: &[f64] = &[];

/// A form and its mirror image.
fn both(make: impl Fn(f64) -> Form) -> [Form; 2] {
    [make(1.0), make(-1.0)]
}

fn bones() -> Vec<Bone> {
    let eye = |side: f64, name: &str| {
        Bone::new(name, 0.0, vec![ellipsoid([31.0 * side, 24.0, 26.0], [12.0; 3])]).kind(TissueKind::Eye)
    };
    let tooth = TissueKind::Tooth;
    vec![
        Bone::cut("skull", 6.0, skull(), cavities()),
        Bone::new("jaw", 5.0, jaw()),
        Bone::new("upper_teeth", 0.0, teeth(50.0, -26.0, -36.6)).kind(tooth).of("skull"),
        Bone::new("lower_teeth", 0.0, teeth(48.0, -56.0, -43.6)).kind(tooth).of("jaw"),
        eye(-1.0, "left_eye"),
        eye(1.0, "right_eye"),
    ]
}

fn skull() -> Vec<Form> {
    let mut forms = vec![
        ellipsoid([0.0, -32.0, 48.0], [70.0, 88.0, 62.0]),
        // Base, nasal bones, the two halves of the upper jaw.
        ellipsoid([0.0, -26.0, 0.0], [38.0, 46.0, 14.0]),
        cone([0.0, 48.0, 32.0], [0.0, 57.0, 12.0], 5.0, 4.0),
        ellipsoid([0.0, 28.0, -12.0], [29.0, 24.0, 19.0]),
    ];
    forms.extend(arch(46.0, -25.0, 6.5));
    forms.extend(both(|x| cone([8.0 * x, 50.0, 44.0], [46.0 * x, 34.0, 42.0], 7.0, 6.0)));
    forms.extend(both(|x| cone([46.0 * x, 34.0, 42.0], [50.0 * x, 30.0, 14.0], 6.0, 6.0)));
    forms.extend(both(|x| cone([22.0 * x, 44.0, 0.0], [50.0 * x, 30.0, 8.0], 9.0, 7.0)));
    for points in [[52.0, 28.0, 7.0, 5.5, 62.0, 8.0, 5.0, 4.0], [62.0, 8.0, 5.0, 4.0, 58.0, -14.0, 9.0, 5.0]] {
        let [x0, y0, z0, r0, x1, y1, z1, r1] = points;
        forms.extend(both(|x| cone([x0 * x, y0, z0], [x1 * x, y1, z1], r0, r1)));
    }
    // Pterygoid plates and mastoids.
    forms.extend(both(|x| cone([19.0 * x, 4.0, 0.0], [19.0 * x, 2.0, -22.0], 6.0, 4.0)));
    forms.extend(both(|x| ellipsoid([54.0 * x, -34.0, -6.0], [9.0, 13.0, 15.0])));
    forms
}

fn cavities() -> Vec<Form> {
    let mut forms =
        vec![ellipsoid([0.0, -32.0, 50.0], [63.5, 81.0, 55.0]), ellipsoid([0.0, 58.0, -1.0], [11.0, 22.0, 13.0])];
    forms.extend(both(|x| ellipsoid([31.0 * x, 30.0, 26.0], [17.0, 28.0, 15.5])));
    // The canal of the spine.
    forms.push(cone([0.0, -45.0, 10.0], [0.0, -45.0, -20.0], 15.0, 14.0));
    forms
}

fn jaw() -> Vec<Form> {
    let body = [
        [-47.0, -12.0, -46.0, 6.0],
        [-41.0, 10.0, -58.0, 7.5],
        [-28.0, 32.0, -70.0, 8.0],
        [-11.0, 45.0, -76.0, 8.5],
        [0.0, 47.0, -77.0, 9.0],
    ];
    let mut forms = chain(&body);
    forms.extend(chain(&body.map(|[x, y, z, r]| [-x, y, z, r])));
    forms.extend(arch(44.0, -58.0, 6.0));
    for x in [-1.0, 1.0] {
        let [condyle, front] = [[50.0 * x, -12.0, -6.0], [46.0 * x, 13.0, -6.0]];
        forms.extend(quad([condyle, front, [43.0 * x, 12.0, -52.0], [48.0 * x, -14.0, -46.0]], 3.2));
        forms.push(plate([front, [45.0 * x, 6.0, -16.0], [46.0 * x, 13.0, -20.0]], 3.4));
        forms.push(cone([47.0 * x, -12.0, -1.0], [53.0 * x, -12.0, -1.0], 5.5, 5.5));
    }
    forms
}

/// Points of a dental arch at equal angles, `front` \[mm\] before the ears.
fn arch_points(front: f64, count: usize) -> Vec<[f64; 2]> {
    (0..count)
        .map(|i| {
            let angle = (-78.0 + 156.0 * i as f64 / (count - 1) as f64).to_radians();
            [26.0 * angle.sin(), front - 34.0 + 34.0 * angle.cos()]
        })
        .collect()
}

fn arch(front: f64, z: f64, r: f64) -> Vec<Form> {
    let points: Vec<[f64; 4]> = arch_points(front, 11).into_iter().map(|[x, y]| [x, y, z, r]).collect();
    chain(&points)
}

/// Fourteen teeth, in one piece like a brace: each touches the next.
fn teeth(front: f64, root: f64, tip: f64) -> Vec<Form> {
    arch_points(front, 14).into_iter().map(|[x, y]| cone([x, y, root], [x, y, tip], 3.6, 3.3)).collect()
}

fn soft() -> Vec<Bone> {
    let flesh = TissueKind::Flesh;
    vec![
        Bone::new("brain", 0.0, vec![ellipsoid([0.0, -32.0, 50.0], [63.5, 81.0, 55.0])]).kind(flesh),
        Bone::cut("flesh", 18.0, face(), slits()).kind(flesh),
    ]
}

/// Skull, cheeks, nose, lips, chin and neck under the skin.
fn face() -> Vec<Form> {
    let mut forms = vec![
        ellipsoid([0.0, -32.0, 48.0], [75.0, 93.0, 67.0]),
        ellipsoid([0.0, 10.0, -22.0], [62.0, 46.0, 66.0]),
        cone([0.0, 47.0, 30.0], [0.0, 64.0, -9.0], 7.0, 9.0),
        ellipsoid([0.0, 46.0, -40.0], [26.0, 15.0, 22.0]),
        ellipsoid([0.0, 40.0, -78.0], [22.0, 15.0, 16.0]),
        cone([0.0, -38.0, -10.0], [0.0, -42.0, -135.0], 50.0, 54.0),
    ];
    forms.extend(both(|x| ellipsoid([54.0 * x, -2.0, -24.0], [19.0, 32.0, 42.0])));
    // Over the jaw, the cheekbones and the temples.
    for x in [-1.0, 1.0] {
        forms.extend(chain(&[
            [45.0 * x, -14.0, -46.0, 17.0],
            [39.0 * x, 10.0, -58.0, 16.0],
            [26.0 * x, 31.0, -71.0, 16.0],
            [0.0, 40.0, -76.0, 18.0],
        ]));
        forms.push(cone([50.0 * x, 27.0, 8.0], [58.0 * x, 6.0, 5.0], 12.0, 13.0));
        forms.push(cone([20.0 * x, 43.0, 0.0], [46.0 * x, 29.0, 10.0], 15.0, 12.0));
        forms.push(cone([46.0 * x, 29.0, 42.0], [8.0 * x, 45.0, 46.0], 11.0, 13.0));
    }
    forms.extend(both(|x| ellipsoid([58.0 * x, -8.0, 36.0], [22.0, 40.0, 42.0])));
    forms.extend(both(|x| ellipsoid([9.0 * x, 55.0, -14.0], [6.5, 8.0, 6.5])));
    forms.extend(both(|x| ellipsoid([78.0 * x, -30.0, 8.0], [5.0, 13.0, 26.0])));
    forms
}

/// The mouth between the lips, and the openings before the eyes.
fn slits() -> Vec<Form> {
    let mut forms = vec![ellipsoid([0.0, 34.0, -41.0], [25.0, 34.0, 2.2])];
    forms.extend(both(|x| ellipsoid([31.0 * x, 42.0, 26.0], [14.0, 12.0, 5.0])));
    forms
}

fn rows() -> Vec<Row> {
    [("right", 1.0), ("left", -1.0)].into_iter().flat_map(|(side, x)| chewing(side, x)).collect()
}

fn chewing(side: &'static str, x: f64) -> [Row; 3] {
    let mirrored = |path: &[[f64; 3]]| path.iter().map(|&[a, y, z]| [a * x, y, z]).collect::<Vec<_>>();
    let masseter = mirrored(&[[60.0, 14.0, 3.0], [61.0, 5.0, -18.0], [52.0, -9.0, -46.0]]);
    let temporalis = mirrored(&[[67.0, -28.0, 66.0], [66.0, -10.0, 40.0], [53.0, 10.0, 14.0], [47.0, 13.0, -8.0]]);
    let pterygoid = mirrored(&[[20.0, 3.0, -12.0], [30.0, -3.0, -26.0], [44.0, -10.0, -44.0]]);
    let bones = ["skull", "jaw"];
    let name = |right, left| if side == "right" { right } else { left };
    [
        Row::drawn(name("right_masseter", "left_masseter"), bones, [300.0, 26.0, 10.0], &masseter)
            .belly(0.0, 1.0)
            .flat([2.6, 2.4, 2.4], [[x, 0.2, 0.0]; 2])
            .ends(0.6, 0.6)
            .reach(12.0, 22.0)
            .sides(&[[[47.0 * x, 0.0, -30.0], [x, 0.0, 0.1]]]),
        Row::drawn(name("right_temporalis", "left_temporalis"), bones, [250.0, 32.0, 0.0], &temporalis)
            .belly(0.0, 0.85)
            .flat([7.0, 4.5, 1.6], [[x, 0.0, 0.2], [x, 0.3, 0.2]])
            .ends(0.5, 0.2)
            .reach(50.0, 10.0),
        Row::drawn(name("right_medial_pterygoid", "left_medial_pterygoid"), bones, [150.0, 9.0, 10.0], &pterygoid)
            .belly(0.0, 1.0)
            .flat([2.0, 1.8, 2.2], [[x, 0.2, 0.3]; 2])
            .ends(0.5, 0.5)
            .reach(10.0, 15.0),
    ]
}
