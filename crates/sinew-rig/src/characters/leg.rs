//! A left leg: hip, thigh, knee, calf and foot; y is up and z to the front.

use sinew_math::Vec3;

use super::body::{Body, BoneHint, Chart, Joint};
use super::field::{Field, Lump};
use super::mesher::Symmetry;
use super::motion::{Motion, Turns, pulses, quick, turn};
use super::weights::{Chain, Link};

/// Landmarks \[m\].
const PELVIS: Vec3 = Vec3::new(0.0, 0.080, 0.0);
const HIP: Vec3 = Vec3::new(0.0, 0.0, 0.0);
const KNEE: Vec3 = Vec3::new(0.0, -0.420, 0.005);
const ANKLE: Vec3 = Vec3::new(0.0, -0.830, -0.012);
const TOES: Vec3 = Vec3::new(0.0, -0.885, 0.140);

fn field() -> Field {
    let v = Vec3::new;
    let (x, y) = (Vec3::unit(0), Vec3::unit(1));
    let shin = (ANKLE - KNEE).normalized();
    let trunk = vec![
        // The cut end: a rounded cap of the hip with a bit of buttock.
        Lump::upright(v(0.0, 0.050, -0.015), [0.078, 0.085, 0.078]),
        Lump::upright(v(0.0, -0.010, -0.048), [0.066, 0.080, 0.056]).blend(0.030),
        // Thigh: its core, the muscles in front and those behind.
        Lump::cone(HIP, KNEE, [0.078, 0.046]).blend(0.030),
        Lump::ellipsoid(v(0.004, -0.190, 0.026), y, x, [0.170, 0.058, 0.046]).blend(0.020),
        Lump::ellipsoid(v(0.0, -0.200, -0.028), y, x, [0.165, 0.056, 0.044]).blend(0.020),
        // Kneecap, and both ends of the femur.
        Lump::upright(v(0.0, -0.415, 0.036), [0.024, 0.030, 0.018]).blend(0.018),
        Lump::cone(v(-0.022, -0.412, -0.004), v(0.022, -0.412, -0.004), [0.036, 0.036]).blend(0.020),
        // Lower leg, with the calf behind.
        Lump::cone(KNEE, KNEE.lerp(ANKLE, 0.70), [0.046, 0.034]).blend(0.022),
        Lump::ellipsoid(KNEE.lerp(ANKLE, 0.34) - v(0.0, 0.0, 0.020), shin, x, [0.135, 0.048, 0.042]).blend(0.020),
        Lump::cone(KNEE.lerp(ANKLE, 0.60), ANKLE, [0.036, 0.029]).blend(0.020),
        // Ankles, heel, the back of the foot and the toes.
        Lump::cone(v(-0.022, -0.828, -0.012), v(0.022, -0.828, -0.012), [0.018, 0.018]).blend(0.018),
        Lump::upright(v(0.0, -0.872, -0.042), [0.030, 0.030, 0.032]).blend(0.020),
        Lump::cone(v(0.0, -0.848, 0.000), v(0.0, -0.884, 0.100), [0.036, 0.026])
            .flattened(x, [1.10, 0.95])
            .blend(0.024),
        Lump::ellipsoid(v(0.0, -0.888, 0.118), Vec3::unit(2), x, [0.056, 0.042, 0.017]).blend(0.014),
    ];
    Field { trunk, web: [0.0, 0.01], chain_count: 1, ..Field::default() }
}

pub(super) fn body() -> Body {
    let joint = |name: &str, parent, position| Joint { name: name.into(), parent, position };
    let bone = |joint, from, to, radius| BoneHint { joint, from, to, radius, sliding: None };
    let link = |joint, at, direction: Vec3, reach| Link { joint, at, direction: direction.normalized(), reach };
    let v = Vec3::new;
    let down = -Vec3::unit(1);
    let links = vec![
        link(0, PELVIS, down, 1.0),
        link(1, HIP + v(0.0, 0.015, 0.0), v(0.0, -1.0, 0.25), 0.070),
        link(2, KNEE, down, 0.055),
        link(3, ANKLE, v(0.0, -1.0, 0.8), 0.032),
    ];
    Body {
        joints: vec![
            joint("pelvis", None, PELVIS),
            joint("hip", Some(0), HIP),
            joint("knee", Some(1), KNEE),
            joint("ankle", Some(2), ANKLE),
        ],
        chains: vec![Chain { links, limb: None }],
        field: field(),
        symmetry: Symmetry::None,
        chart: Chart::FrontAndBack,
        bones: vec![
            bone(0, v(-0.030, 0.070, -0.010), v(0.030, 0.070, -0.010), 0.024),
            // Femur with its lower end, tibia and fibula.
            bone(1, HIP, KNEE, 0.015),
            bone(1, KNEE - v(0.022, 0.0, 0.0), KNEE + v(0.022, 0.0, 0.0), 0.016),
            bone(2, KNEE + v(-0.010, -0.030, 0.006), ANKLE + v(-0.008, 0.010, 0.004), 0.012),
            bone(2, KNEE + v(0.028, -0.050, -0.006), ANKLE + v(0.018, 0.010, -0.002), 0.007),
            bone(3, v(0.0, -0.862, -0.040), v(0.0, -0.858, 0.010), 0.014),
            bone(3, v(0.0, -0.858, 0.010), TOES, 0.010),
        ],
        motions: vec![Motion { name: "squat", turns: |time, seconds| squat(pulses(time, seconds, 1, quick(146.0))) }],
        trials: Vec::new(),
        melt: 0.012,
        skin_area: 0.411,
    }
}

/// A deep squat of which only the leg moves: the thigh comes up to the front, the calf presses on the thigh, and the foot
/// bends up.
fn squat(part: f64) -> Turns {
    let x = Vec3::unit(0);
    vec![(1, turn(x, -80.0 * part)), (2, turn(x, 146.0 * part)), (3, turn(x, -18.0 * part))]
}
