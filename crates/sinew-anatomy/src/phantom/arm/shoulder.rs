//! Muscles from the trunk to the shoulder, and from the shoulder to the humerus.

use super::super::row::Row;

/// Outward from the plate of the scapula, to the back.
const BACK: [f64; 3] = [0.66, -0.75, 0.0];

/// A point of the plate of the scapula and the side behind it.
const BEHIND_PLATE: [[f64; 3]; 2] = [[-40.0, -11.0, -6.0], [0.673, -0.739, 0.03]];

/// The side before it.
const BEFORE_PLATE: [[f64; 3]; 2] = [[-40.0, -11.0, -6.0], [-0.673, 0.739, -0.03]];

/// A point of the root of the scapular spine and the side above it.
const ABOVE_SPINE: [[f64; 3]; 2] = [[-72.0, -70.0, 24.0], [-0.39, 0.37, 0.84]];

/// The side below it.
const BELOW_SPINE: [[f64; 3]; 2] = [[-72.0, -70.0, 24.0], [0.39, -0.37, -0.84]];

/// Heads in the order of the table.
pub(super) fn rows() -> Vec<Row> {
    [deltoid(), trapezius(), pectoralis(), latissimus(), cuff()].concat()
}

fn deltoid() -> Vec<Row> {
    let anterior =
        [[-30.0, 8.0, 44.0], [-4.0, 36.0, 24.0], [22.0, 37.0, -18.0], [31.0, 22.0, -80.0], [19.0, 3.0, -137.0]];
    let middle = [[14.0, -4.0, 42.0], [36.0, -3.0, 22.0], [45.0, -2.0, -28.0], [38.0, 0.0, -90.0], [21.0, 1.0, -140.0]];
    let posterior =
        [[-40.0, -53.0, 33.0], [-6.0, -50.0, 16.0], [22.0, -37.0, -30.0], [29.0, -17.0, -90.0], [20.0, -3.0, -138.0]];
    vec![
        Row::new("deltoid", "anterior", ["clavicle", "humerus"], [1143.0, 9.8, 22.0, 14.9], &anterior)
            .flat([3.5, 2.4, 1.6], [[0.1, 0.7, 0.7], [0.8, 0.6, 0.0]]),
        Row::new("deltoid", "middle", ["scapula", "humerus"], [1143.0, 10.8, 15.0, 15.5], &middle)
            .flat([3.0, 2.2, 1.6], [[0.6, 0.0, 0.8], [1.0, 0.0, 0.0]]),
        Row::new("deltoid", "posterior", ["scapula", "humerus"], [260.0, 13.7, 18.0, 3.5], &posterior)
            .flat([4.0, 3.0, 1.6], [[0.1, -0.7, 0.7], [0.8, -0.6, 0.0]]),
    ]
    .into_iter()
    .map(|row| row.belly(0.0, 0.88).ends(0.45, 0.2).reach(14.0, 22.0))
    .collect()
}

fn trapezius() -> Vec<Row> {
    let neck = [[-172.0, -58.0, 140.0], [-150.0, -58.0, 100.0], [-95.0, -34.0, 66.0], [-40.0, 6.0, 49.0]];
    let upper = [[-173.0, -72.0, 92.0], [-130.0, -72.0, 72.0], [-60.0, -46.0, 54.0], [0.0, -22.0, 42.0]];
    let middle = [[-173.0, -92.0, 40.0], [-130.0, -92.0, 38.0], [-85.0, -84.0, 32.0], [-58.0, -64.0, 27.0]];
    let lower = [[-173.0, -106.0, -100.0], [-150.0, -104.0, -60.0], [-115.0, -92.0, -10.0], [-92.0, -79.0, 17.0]];
    let normal = [[0.2, -1.0, 0.2], [0.2, -0.9, 0.5]];
    vec![
        Row::new("trapezius", "neck", ["spine", "clavicle"], [202.0, 11.3, 0.0, 1.4], &neck)
            .flat([4.0, 3.5, 3.0], normal),
        Row::new("trapezius", "upper", ["spine", "scapula"], [1043.0, 11.3, 0.0, 7.5], &upper)
            .flat([8.0, 5.0, 5.0], normal),
        Row::new("trapezius", "middle", ["spine", "scapula"], [470.0, 8.3, 0.0, 3.4], &middle)
            .flat([14.0, 9.0, 8.0], normal),
        Row::new("trapezius", "lower", ["spine", "scapula"], [414.0, 12.6, 0.0, 3.0], &lower)
            .flat([7.0, 10.0, 4.0], normal),
    ]
    .into_iter()
    .map(|row| row.belly(0.0, 0.95).ends(0.75, 0.3).reach(10.0, 8.0))
    .collect()
}

fn pectoralis() -> Vec<Row> {
    let clavicular = [[-95.0, 44.0, 34.0], [-60.0, 62.0, 8.0], [-12.0, 50.0, -26.0], [11.0, 14.0, -62.0]];
    let sternal =
        [[-168.0, 84.0, -40.0], [-110.0, 96.0, -38.0], [-45.0, 74.0, -46.0], [2.0, 42.0, -62.0], [12.0, 14.0, -72.0]];
    let ribs =
        [[-140.0, 91.0, -100.0], [-95.0, 96.0, -88.0], [-44.0, 68.0, -74.0], [0.0, 38.0, -76.0], [13.0, 13.0, -82.0]];
    let normal = [[0.2, 1.0, 0.1], [0.7, 0.7, 0.0]];
    let name = "pectoralis_major";
    vec![
        Row::new(name, "clavicular", ["clavicle", "humerus"], [364.0, 14.4, 17.0, 5.7], &clavicular)
            .flat([4.0, 3.0, 2.0], normal),
        Row::new(name, "sternal", ["sternum", "humerus"], [515.0, 13.9, 25.0, 7.6], &sternal)
            .flat([5.0, 3.2, 2.0], normal),
        Row::new(name, "ribs", ["rib_5", "humerus"], [391.0, 13.9, 25.0, 5.8], &ribs).flat([4.0, 3.2, 2.0], normal),
    ]
    .into_iter()
    .map(|row| row.belly(0.0, 0.85).ends(0.35, 0.2).reach(14.0, 10.0))
    .collect()
}

fn latissimus() -> Vec<Row> {
    let thoracic = [
        [-173.0, -110.0, -120.0],
        [-120.0, -100.0, -125.0],
        [-62.0, -62.0, -122.0],
        [-22.0, -16.0, -94.0],
        [-6.0, 9.0, -70.0],
        [7.0, 13.0, -58.0],
    ];
    let lumbar = [
        [-172.0, -98.0, -230.0],
        [-120.0, -90.0, -205.0],
        [-62.0, -54.0, -150.0],
        [-24.0, -12.0, -104.0],
        [-8.0, 10.0, -76.0],
        [7.0, 13.0, -65.0],
    ];
    let crest = [
        [-112.0, -70.0, -336.0],
        [-84.0, -66.0, -260.0],
        [-50.0, -44.0, -170.0],
        [-22.0, -8.0, -112.0],
        [-8.0, 11.0, -84.0],
        [7.0, 13.0, -72.0],
    ];
    let turn = [[0.6, -0.8, 0.1], [0.9, -0.4, 0.1]];
    vec![
        Row::new("latissimus", "thoracic", ["spine", "humerus"], [389.0, 25.4, 25.0, 3.5], &thoracic)
            .flat([15.0, 8.0, 2.0], turn),
        Row::new("latissimus", "lumbar", ["spine", "humerus"], [389.0, 23.2, 19.0, 3.6], &lumbar)
            .flat([12.0, 6.0, 2.0], turn),
        Row::new("latissimus", "crest", ["ilium", "humerus"], [282.0, 27.9, 21.0, 2.6], &crest)
            .flat([12.0, 6.0, 2.0], turn),
    ]
    .into_iter()
    .map(|row| row.belly(0.12, 0.85).reach(12.0, 10.0))
    .collect()
}

/// Rotator cuff, teres major and coracobrachialis.
fn cuff() -> Vec<Row> {
    let above =
        [[-92.0, -70.0, 26.0], [-58.0, -43.0, 28.0], [-26.0, -17.0, 27.0], [-2.0, -5.0, 27.0], [17.0, 0.0, 16.0]];
    let below =
        [[-98.0, -72.0, -36.0], [-62.0, -54.0, -30.0], [-30.0, -36.0, -12.0], [-2.0, -29.0, 2.0], [17.0, -15.0, 6.0]];
    let costal =
        [[-103.0, -62.0, -34.0], [-78.0, -28.0, -36.0], [-48.0, 2.0, -22.0], [-20.0, 25.0, -10.0], [4.0, 23.0, -4.0]];
    let minor = [[-66.0, -42.0, -66.0], [-38.0, -40.0, -44.0], [-8.0, -31.0, -20.0], [14.0, -15.0, -7.0]];
    let major =
        [[-98.0, -76.0, -108.0], [-64.0, -52.0, -104.0], [-24.0, -14.0, -82.0], [-7.0, 4.0, -66.0], [5.0, 11.0, -64.0]];
    let coraco = [[-12.0, 38.0, 9.0], [-9.0, 30.0, -40.0], [-6.0, 14.0, -100.0], [0.0, 3.0, -152.0]];
    let front = BACK.map(|x| -x);
    vec![
        Row::new("supraspinatus", "", ["scapula", "humerus"], [488.0, 6.8, 7.0, 7.3], &above)
            .belly(0.0, 0.72)
            .flat([1.4, 1.3, 2.5], [[0.3, -0.3, 0.9], [0.8, 0.0, 0.6]])
            .reach(50.0, 10.0)
            .sides(&[BEHIND_PLATE, ABOVE_SPINE]),
        Row::new("infraspinatus", "", ["scapula", "humerus"], [1211.0, 7.6, 18.0, 14.9], &below)
            .belly(0.0, 0.76)
            .flat([3.0, 2.4, 2.5], [BACK, [0.4, -0.9, 0.2]])
            .reach(55.0, 10.0)
            .sides(&[BEHIND_PLATE, BELOW_SPINE]),
        Row::new("subscapularis", "", ["scapula", "humerus"], [1378.0, 8.7, 20.0, 17.7], &costal)
            .belly(0.0, 0.8)
            .flat([4.0, 3.0, 2.5], [front, [0.2, 1.0, 0.0]])
            .reach(78.0, 10.0)
            .sides(&[BEFORE_PLATE]),
        Row::new("teres_minor", "", ["scapula", "humerus"], [354.0, 7.4, 24.0, 3.5], &minor)
            .belly(0.0, 0.75)
            .flat([1.6, 1.5, 2.0], [BACK, [0.6, -0.8, 0.0]])
            .reach(25.0, 8.0)
            .sides(&[BEHIND_PLATE]),
        Row::new("teres_major", "", ["scapula", "humerus"], [425.0, 16.2, 16.0, 1.9], &major)
            .belly(0.0, 0.85)
            .flat([1.6, 1.6, 2.5], [BACK, [0.9, -0.5, 0.0]])
            .reach(18.0, 8.0),
        Row::new("coracobrachialis", "", ["scapula", "humerus"], [242.0, 9.3, 0.0, 2.7], &coraco)
            .belly(0.12, 0.92)
            .flat([1.0, 1.3, 1.5], [[-0.3, 1.0, 0.0], [-1.0, 0.3, 0.0]])
            .reach(8.0, 20.0),
    ]
}
