//! Bones of the right upper limb and of half a thorax \[mm\].

use std::f64::consts::PI;

use super::super::form::Form;
use super::super::row::{Bone, chain, cone, ellipsoid, plate, quad};

/// All bones.
pub(super) fn all() -> Vec<Bone> {
    let mut bones = vec![clavicle(), scapula(), humerus(), ulna(), radius(), carpus()];
    bones.extend(fingers());
    bones.extend([sternum(), spine(), ilium()]);
    bones.extend((1..=9).map(rib));
    bones.push(chest());
    bones
}

/// S-shaped from acromion to sternum.
fn clavicle() -> Bone {
    let line = [
        [-6.0, 2.0, 41.0, 6.0],
        [-26.0, 4.0, 43.0, 6.0],
        [-48.0, 15.0, 42.0, 5.5],
        [-75.0, 33.0, 38.0, 5.5],
        [-105.0, 47.0, 32.0, 6.0],
        [-130.0, 51.0, 27.0, 7.0],
        [-148.0, 50.0, 24.0, 9.0],
    ];
    Bone::new("clavicle", 3.0, chain(&line))
}

/// A plate at 41° to the frontal plane, with spine, acromion, coracoid process and glenoid.
fn scapula() -> Bone {
    let (root, upper, lower) = ([-112.0, -76.0, 8.0], [-98.0, -60.0, 46.0], [-102.0, -72.0, -118.0]);
    let neck = [-40.0, -11.0, -6.0];
    let mut forms = vec![
        plate([neck, upper, root], 2.2),
        plate([neck, root, lower], 2.2),
        plate([neck, upper, [-42.0, -10.0, 18.0]], 2.2),
        // The lateral border is the bone's beam.
        cone([-36.0, -10.0, -20.0], lower, 5.0, 4.5),
        cone(root, lower, 3.0, 4.0),
        cone(root, upper, 3.0, 3.0),
        cone(upper, [-44.0, -10.0, 20.0], 3.0, 3.0),
        // Glenoid.
        ellipsoid([-33.0, -4.0, -2.0], [7.0, 11.0, 17.0]),
        ellipsoid([-38.0, -9.0, 4.0], [9.0, 8.0, 15.0]),
    ];
    forms.extend(spine_of_scapula(root));
    forms.extend(chain(&[
        [-38.0, -3.0, 16.0, 7.0],
        [-33.0, 14.0, 26.0, 6.0],
        [-22.0, 30.0, 20.0, 5.5],
        [-13.0, 37.0, 11.0, 5.0],
    ]));
    Bone::new("scapula", 4.0, forms)
}

fn spine_of_scapula(root: [f64; 3]) -> Vec<Form> {
    // Over the joint lies the acromion; the spine carries it from the back of the plate.
    let ridge =
        [[-105.0, -82.0, 14.0, 3.5], [-72.0, -70.0, 24.0, 3.5], [-34.0, -50.0, 32.0, 4.0], [-6.0, -30.0, 38.0, 4.5]];
    let mut forms = chain(&ridge);
    let middle = [-72.0, -70.0, 24.0];
    let outer = [-36.0, -50.0, 31.0];
    forms.extend(quad([root, middle, outer, [-58.0, -28.0, 12.0]], 2.2));
    forms.extend(quad([[-8.0, -32.0, 38.0], [16.0, -20.0, 39.0], [20.0, 4.0, 38.0], [2.0, 10.0, 40.0]], 4.0));
    forms
}

/// Head, tubercles, shaft, epicondyles, trochlea and capitulum: 324 mm long.
fn humerus() -> Bone {
    let mut forms = vec![
        ellipsoid([0.0, 0.0, 0.0], [23.0, 22.0, 23.0]),
        ellipsoid([15.0, -2.0, 2.0], [12.0, 14.0, 15.0]),
        ellipsoid([6.0, 16.0, -4.0], [8.0, 8.0, 11.0]),
        cone([6.0, 1.0, -14.0], [9.0, 1.0, -60.0], 18.0, 12.0),
    ];
    let shaft = [
        [9.0, 1.0, -60.0, 12.0],
        [10.0, 1.0, -120.0, 11.5],
        [9.0, 1.0, -180.0, 10.5],
        [5.0, 0.0, -235.0, 10.5],
        [3.0, 1.0, -262.0, 11.0],
    ];
    forms.extend(chain(&shaft));
    forms.extend([
        cone([3.0, 1.0, -256.0], [-25.0, -1.0, -286.0], 7.0, 6.0),
        cone([4.0, 1.0, -258.0], [27.0, -1.0, -284.0], 7.0, 6.0),
        cone([-22.0, -1.0, -285.0], [24.0, 0.0, -283.0], 8.0, 8.0),
        cone([-14.0, 3.0, -291.0], [2.0, 3.0, -290.0], 12.0, 11.0),
        ellipsoid([17.0, 6.0, -290.0], [10.0, 11.0, 11.0]),
    ]);
    // Fossae: the olecranon behind, the coronoid process in front.
    let fossae =
        vec![ellipsoid([-3.0, -13.0, -276.0], [11.0, 10.0, 12.0]), ellipsoid([-3.0, 15.0, -277.0], [9.0, 8.0, 9.0])];
    Bone::cut("humerus", 5.0, forms, fossae)
}

/// Olecranon, coronoid process and a shaft that thins to the wrist: 265 mm long.
fn ulna() -> Bone {
    let mut forms = vec![
        cone([-4.0, -15.0, -276.0], [-4.0, -13.0, -305.0], 9.0, 10.0),
        cone([-4.0, -11.0, -306.0], [-4.0, 10.0, -311.0], 9.5, 6.0),
    ];
    let shaft = [
        [-4.0, -10.0, -306.0, 10.0],
        [-3.0, -7.0, -345.0, 8.5],
        [-1.0, -6.0, -400.0, 7.5],
        [2.0, -5.0, -460.0, 6.5],
        [4.0, -3.0, -515.0, 6.0],
        [5.0, -2.0, -534.0, 8.0],
    ];
    forms.extend(chain(&shaft));
    forms.push(cone([4.0, -6.0, -534.0], [3.0, -7.0, -544.0], 4.0, 3.0));
    // The notch turns on the trochlea with a joint's gap.
    let notch = vec![cone([-18.0, 3.0, -291.0], [6.0, 3.0, -290.0], 13.0, 12.5)];
    Bone::cut("ulna", 4.0, forms, notch)
}

/// Head, neck, tuberosity, a shaft bowed to the side, a broad end: 240 mm long.
fn radius() -> Bone {
    let mut forms = vec![
        cone([18.0, 5.0, -306.0], [18.0, 5.0, -311.0], 10.5, 10.0),
        ellipsoid([15.0, 8.0, -333.0], [7.0, 7.0, 11.0]),
    ];
    let shaft = [
        [18.0, 5.0, -310.0, 8.0],
        [19.0, 4.0, -325.0, 7.5],
        [22.0, 3.0, -345.0, 7.5],
        [30.0, 2.0, -390.0, 8.0],
        [35.0, 2.0, -430.0, 8.0],
        [35.0, 2.0, -480.0, 8.0],
        [33.0, 1.0, -520.0, 10.0],
    ];
    forms.extend(chain(&shaft));
    forms.extend([
        cone([24.0, 1.0, -534.0], [40.0, 1.0, -535.0], 9.0, 9.0),
        cone([42.0, 1.0, -532.0], [45.0, 1.0, -544.0], 6.0, 4.0),
    ]);
    Bone::new("radius", 4.0, forms)
}

/// Two rows of four bones, hollow to the palm, as one.
fn carpus() -> Bone {
    let row = |z: f64, x: [f64; 4], y: [f64; 4], r: f64| -> Vec<Form> {
        (0..4).map(|i| ellipsoid([x[i], y[i], z], [r, r * 1.05, r * 1.1])).collect()
    };
    let mut forms = row(-557.0, [40.0, 30.0, 19.0, 10.0], [3.0, -2.0, -2.0, 2.0], 7.5);
    forms.extend(row(-571.0, [44.0, 35.0, 25.0, 12.0], [4.0, -2.0, -3.0, 0.0], 7.5));
    // Pisiform, hook, and the tubercles across: walls of the carpal tunnel.
    forms.extend([ellipsoid([5.0, 8.0, -558.0], [5.0, 5.0, 5.5]), ellipsoid([8.0, 8.0, -571.0], [4.0, 6.0, 5.0])]);
    forms.push(ellipsoid([45.0, 10.0, -565.0], [4.5, 5.0, 8.0]));
    Bone::new("carpus", 5.0, forms)
}

/// Bases of metacarpals, heads of metacarpals, joints between phalanges and tips, thumb first.
const FINGERS: [&[[f64; 3]]; 5] = [
    &[[50.0, 6.0, -580.0], [68.0, 16.0, -618.0], [81.0, 21.0, -649.0], [92.0, 24.0, -674.0]],
    &[[37.0, 0.0, -587.0], [43.0, 0.0, -648.0], [47.0, 2.0, -690.0], [49.0, 3.0, -714.0], [50.0, 3.0, -733.0]],
    &[[26.0, -1.0, -588.0], [26.0, -2.0, -650.0], [27.0, 0.0, -696.0], [27.0, 1.0, -724.0], [27.0, 1.0, -744.0]],
    &[[16.0, 0.0, -587.0], [10.0, -1.0, -645.0], [8.0, 1.0, -687.0], [7.0, 2.0, -713.0], [7.0, 2.0, -733.0]],
    &[[8.0, 1.0, -585.0], [-5.0, 1.0, -637.0], [-10.0, 3.0, -671.0], [-12.0, 4.0, -690.0], [-13.0, 4.0, -707.0]],
];

/// Words for the links of a finger.
fn links(finger: usize) -> &'static [&'static str] {
    if finger == 0 {
        &["metacarpal", "proximal_phalanx", "distal_phalanx"]
    } else {
        &["metacarpal", "proximal_phalanx", "middle_phalanx", "distal_phalanx"]
    }
}

fn fingers() -> Vec<Bone> {
    let mut bones = Vec::new();
    for (finger, joints) in FINGERS.iter().enumerate() {
        for (link, (ends, word)) in joints.windows(2).zip(links(finger)).enumerate() {
            let thick = [6.8, 6.2, 5.2, 4.4][link + usize::from(finger == 0 && link == 2)]
                * if finger == 4 { 0.9 } else { 1.0 };
            bones.push(Bone::new(format!("{word}_{}", finger + 1), 2.0, dumbbell(ends[0], ends[1], thick)));
        }
    }
    bones
}

/// A long bone of the hand: thicker at its ends, which stay apart from the next by 3 mm.
fn dumbbell(from: [f64; 3], to: [f64; 3], thick: f64) -> Vec<Form> {
    let length = (0..3).map(|i| (to[i] - from[i]).powi(2)).sum::<f64>().sqrt();
    let at = |from_end: f64| {
        let t = from_end / length;
        [0, 1, 2].map(|i| from[i] + (to[i] - from[i]) * t)
    };
    let (first, last) = (at(thick + 1.0), at(length - thick - 1.0));
    vec![cone(first, at(length / 2.0), thick, 0.7 * thick), cone(at(length / 2.0), last, 0.7 * thick, 0.95 * thick)]
}

fn sternum() -> Bone {
    let manubrium = [
        [-175.0, 60.0, 14.0, 9.0],
        [-175.0, 76.0, -30.0, 8.0],
        [-175.0, 92.0, -120.0, 8.0],
        [-175.0, 92.0, -165.0, 5.0],
    ];
    let mut forms = chain(&manubrium);
    forms.push(cone([-160.0, 59.0, 10.0], [-163.0, 76.0, -30.0], 7.0, 6.0));
    forms.push(cone([-163.0, 76.0, -30.0], [-161.0, 91.0, -115.0], 6.0, 6.0));
    Bone::new("sternum", 6.0, forms)
}

/// Bodies from the neck to the loins, and the row of spinous processes behind.
fn spine() -> Bone {
    let bodies = [
        [-175.0, -22.0, 150.0, 10.0],
        [-175.0, -34.0, 80.0, 12.0],
        [-175.0, -56.0, 0.0, 15.0],
        [-175.0, -62.0, -90.0, 17.0],
        [-175.0, -50.0, -200.0, 20.0],
        [-175.0, -40.0, -300.0, 22.0],
        [-175.0, -48.0, -345.0, 22.0],
    ];
    let mut forms = chain(&bodies);
    let processes: Vec<[f64; 4]> = bodies.iter().map(|&[x, y, z, r]| [x, y - r - 26.0, z - 6.0, 5.0]).collect();
    forms.extend(chain(&processes));
    let arches = bodies.windows(2).map(|pair| {
        let [a, b] = [pair[0], pair[1]];
        plate(
            [[a[0], a[1] - a[3], a[2]], [a[0], a[1] - a[3] - 26.0, a[2] - 6.0], [b[0], b[1] - b[3] - 13.0, b[2] - 3.0]],
            4.0,
        )
    });
    forms.extend(arches);
    Bone::new("spine", 6.0, forms)
}

/// The crest, and the wing below it.
fn ilium() -> Bone {
    let crest = [
        [-150.0, -78.0, -352.0, 6.0],
        [-112.0, -66.0, -338.0, 6.0],
        [-76.0, -32.0, -332.0, 6.0],
        [-58.0, 8.0, -342.0, 6.0],
        [-60.0, 34.0, -362.0, 7.0],
    ];
    let mut forms = chain(&crest);
    let foot = [-112.0, -22.0, -392.0];
    forms.extend(crest.windows(2).map(|pair| {
        let [a, b] = [0, 1].map(|i: usize| [pair[i][0], pair[i][1], pair[i][2]]);
        plate([a, b, foot], 4.0)
    }));
    Bone::new("ilium", 4.0, forms)
}

/// What the ribs hold, so that muscles lie on them.
fn chest() -> Bone {
    Bone::new("chest", 0.0, vec![ellipsoid([-175.0, 15.0, -105.0], [114.0, 70.0, 180.0])]).hidden()
}

/// Half a ring from the spine to the sternum or, for the lower ones, to the costal margin. It slopes down to the front.
fn rib(k: usize) -> Bone {
    let n = k as f64 - 1.0;
    let (back, front) = (64.0 - 27.0 * n, 8.0 - 21.0 * n);
    let across = [62.0, 86.0, 98.0, 106.0, 112.0, 117.0, 120.0, 122.0, 122.0][k - 1];
    let [rear, fore] =
        [-52.0 - 8.0 * (n / 3.0).min(1.0), [56.0, 68.0, 77.0, 84.0, 89.0, 91.0, 90.0, 86.0, 80.0][k - 1]];
    let (middle, deep) = ((rear + fore) / 2.0, (fore - rear) / 2.0 + 8.0);
    let stop = if k > 7 { 0.80 } else { 0.93 };
    let points: Vec<[f64; 4]> = (0..=14)
        .map(|i| {
            let t = 0.10 + (stop - 0.10) * f64::from(i) / 14.0;
            let angle = PI * t;
            let slope = back + (front - back) * (0.5 - 0.5 * angle.cos());
            [-175.0 + across * angle.sin().powf(0.85), middle - deep * angle.cos(), slope, 5.0]
        })
        .collect();
    Bone::new(format!("rib_{k}"), 0.0, chain(&points))
}
