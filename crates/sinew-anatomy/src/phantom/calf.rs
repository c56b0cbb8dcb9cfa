//! The right calf: ten muscles and a group, as in the reconstruction of \[Chen92\].

use super::Phantom;
use super::form::Form;
use super::layout::{Plan, build};
use super::row::{Bone, Row, chain, cone, ellipsoid};

/// Maximum isometric stress \[N/cm²\], for the thickness of tendons only \[Ward09\].
const STRESS: f64 = 22.5;

/// The right calf with the foot at a right angle: ten muscles and the peroneal group between femur, tibia, fibula and a
/// simple foot. The Achilles tendon has the strands of both heads of the gastrocnemius and of the soleus.
///
/// Origin in the knee. Fiber lengths, pennation and cross sections are means of cadavers \[Ward09\], which are smaller
/// than living adults; that of the popliteus follows from its volume. Rows of the gastrocnemius, the soleus and the anterior
/// tibial were compared with a transcription of the table, rounded; the others with none: take them as approximate.
pub fn calf() -> Phantom {
    let gaps = [1.5e-3, 1e-3];
    build(Plan { name: "calf", firm: bones(), rows: rows(), swelling: SWELLING, soft: vec![], gaps, hinges: vec![] })
}

/// For each head in the order of the table.
const SWELLING: &[f64] = &[1.001, 1.002, 1.053, 1.087, 1.007, 0.998, 1.289, 1.059, 1.112, 1.181, 1.088];

fn bones() -> Vec<Bone> {
    let femur = vec![
        cone([0.0, 0.0, 95.0], [0.0, 1.0, 40.0], 14.0, 17.0),
        cone([0.0, 1.0, 40.0], [-20.0, -4.0, 4.0], 16.0, 20.0),
        cone([0.0, 1.0, 40.0], [21.0, -3.0, 5.0], 16.0, 20.0),
        ellipsoid([-22.0, -9.0, 4.0], [13.0, 25.0, 20.0]),
        ellipsoid([22.0, -7.0, 4.0], [13.0, 25.0, 20.0]),
    ];
    let notch = vec![ellipsoid([0.0, -26.0, -6.0], [9.0, 22.0, 20.0])];
    vec![
        Bone::cut("femur", 5.0, femur, notch),
        Bone::new("tibia", 6.0, tibia()),
        Bone::new("fibula", 3.0, fibula()),
        Bone::new(
            "talus",
            4.0,
            vec![
                cone([-14.0, -8.0, -404.0], [12.0, -8.0, -404.0], 11.0, 11.0),
                cone([0.0, -5.0, -408.0], [-8.0, 34.0, -416.0], 12.0, 10.0),
            ],
        ),
        Bone::new(
            "calcaneus",
            5.0,
            vec![
                cone([4.0, -48.0, -440.0], [8.0, -5.0, -432.0], 15.0, 12.0),
                cone([8.0, -5.0, -432.0], [14.0, 26.0, -432.0], 12.0, 11.0),
            ],
        ),
        Bone::new("forefoot", 5.0, forefoot()),
    ]
}

fn tibia() -> Vec<Form> {
    let mut forms = vec![
        ellipsoid([-20.0, -6.0, -32.0], [19.0, 22.0, 13.0]),
        ellipsoid([20.0, -4.0, -32.0], [18.0, 21.0, 13.0]),
        cone([0.0, -2.0, -34.0], [-2.0, 6.0, -80.0], 24.0, 15.0),
        cone([-1.0, 17.0, -62.0], [-2.0, 12.0, -85.0], 8.0, 8.0),
        cone([-24.0, -6.0, -388.0], [-26.0, -4.0, -404.0], 8.0, 6.0),
    ];
    forms.extend(chain(&[
        [-2.0, 6.0, -80.0, 15.0],
        [-6.0, 8.0, -150.0, 13.0],
        [-10.0, 6.0, -250.0, 11.5],
        [-11.0, 0.0, -330.0, 12.0],
        [-8.0, -6.0, -382.0, 16.0],
    ]));
    forms
}

fn fibula() -> Vec<Form> {
    chain(&[
        [41.0, -20.0, -48.0, 9.5],
        [39.0, -19.0, -70.0, 6.0],
        [36.0, -18.0, -160.0, 6.5],
        [30.0, -18.0, -270.0, 6.5],
        [22.0, -15.0, -350.0, 6.5],
        [21.0, -12.0, -395.0, 8.5],
        [21.0, -12.0, -416.0, 6.5],
    ])
}

/// Tarsus beyond the talus, metatarsals and toes, as one.
fn forefoot() -> Vec<Form> {
    let mut forms = vec![
        cone([-14.0, 50.0, -422.0], [14.0, 46.0, -432.0], 12.0, 11.0),
        cone([-14.0, 50.0, -422.0], [-16.0, 68.0, -428.0], 13.0, 12.0),
    ];
    for (k, toe) in [-22.0, -8.0, 5.0, 17.0, 28.0].into_iter().enumerate() {
        let n = k as f64;
        let thick = if k == 0 { 8.0 } else { 5.5 };
        let (base, head, tip) = (66.0 - 5.0 * n, 132.0 - 7.0 * n, 186.0 - 13.0 * n);
        forms.extend(chain(&[
            [0.6 * toe - 2.0, base, -428.0 - 2.0 * n, thick + 2.0],
            [toe, head, -448.0, thick],
            [1.02 * toe, tip, -452.0, 0.75 * thick],
        ]));
    }
    forms
}

fn rows() -> Vec<Row> {
    [triceps_surae(), deep(), front()].concat()
}

fn row(
    muscle: &'static str,
    head: &'static str,
    bones: [&'static str; 2],
    [length, pennation, pcsa]: [f64; 3],
    path: &[[f64; 3]],
) -> Row {
    Row::new(muscle, head, bones, [STRESS * pcsa, length, pennation, pcsa], path)
}

const BACK: [[f64; 3]; 2] = [[0.0, -1.0, 0.0]; 2];
const FRONT: [[f64; 3]; 2] = [[0.0, 1.0, 0.0]; 2];

fn triceps_surae() -> Vec<Row> {
    let medial = [
        [-23.0, -30.0, 18.0],
        [-25.0, -44.0, -20.0],
        [-24.0, -56.0, -90.0],
        [-18.0, -56.0, -160.0],
        [-7.0, -49.0, -240.0],
        [-2.0, -48.0, -340.0],
        [0.0, -54.0, -405.0],
        [1.0, -62.0, -436.0],
    ];
    let lateral = [
        [23.0, -28.0, 18.0],
        [25.0, -42.0, -20.0],
        [26.0, -54.0, -85.0],
        [20.0, -55.0, -150.0],
        [9.0, -50.0, -230.0],
        [5.0, -49.0, -340.0],
        [6.0, -54.0, -405.0],
        [6.0, -62.0, -436.0],
    ];
    let soleus = [
        [26.0, -26.0, -66.0],
        [15.0, -32.0, -110.0],
        [6.0, -36.0, -180.0],
        [3.0, -38.0, -260.0],
        [3.0, -42.0, -340.0],
        [3.0, -52.0, -405.0],
        [4.0, -61.0, -444.0],
    ];
    vec![
        row("gastrocnemius", "medial", ["femur", "calcaneus"], [5.1, 9.9, 21.1], &medial)
            .belly(0.04, 0.5)
            .flat([1.5, 1.9, 3.0], BACK)
            .reach(10.0, 10.0),
        row("gastrocnemius", "lateral", ["femur", "calcaneus"], [5.9, 12.0, 9.7], &lateral)
            .belly(0.04, 0.46)
            .flat([1.5, 1.9, 3.0], BACK)
            .reach(10.0, 10.0),
        row("soleus", "", ["fibula", "calcaneus"], [4.4, 28.3, 51.8], &soleus)
            .belly(0.0, 0.72)
            .flat([2.0, 2.8, 2.0], BACK)
            .ends(0.25, 0.2)
            .reach(40.0, 12.0),
    ]
}

fn deep() -> Vec<Row> {
    let popliteus = [[28.0, -14.0, 0.0], [18.0, -26.0, -24.0], [2.0, -24.0, -52.0], [-9.0, -8.0, -88.0]];
    let tp = [
        [16.0, -11.0, -90.0],
        [14.0, -14.0, -140.0],
        [8.0, -16.0, -220.0],
        [-4.0, -17.0, -310.0],
        [-22.0, -20.0, -370.0],
        [-30.0, -15.0, -402.0],
        [-29.0, 12.0, -420.0],
        [-22.0, 44.0, -424.0],
    ];
    let fdl = [
        [-8.0, -8.0, -130.0],
        [-10.0, -16.0, -180.0],
        [-13.0, -18.0, -260.0],
        [-20.0, -22.0, -350.0],
        [-27.0, -25.0, -400.0],
        [-20.0, 0.0, -438.0],
        [-4.0, 45.0, -450.0],
        [14.0, 115.0, -460.0],
        [18.0, 150.0, -460.0],
    ];
    let fhl = [
        [30.0, -25.0, -170.0],
        [25.0, -28.0, -220.0],
        [16.0, -28.0, -300.0],
        [4.0, -28.0, -365.0],
        [-10.0, -25.0, -412.0],
        [-12.0, 2.0, -440.0],
        [-16.0, 50.0, -448.0],
        [-22.0, 120.0, -464.0],
        [-22.0, 176.0, -460.0],
    ];
    vec![
        row("popliteus", "", ["femur", "tibia"], [2.5, 0.0, 9.2], &popliteus)
            .belly(0.15, 1.0)
            .flat([1.5, 2.4, 2.4], [[0.3, -1.0, 0.3], [0.0, -1.0, 0.0]])
            .ends(0.3, 0.5)
            .reach(8.0, 40.0),
        row("tibialis_posterior", "", ["tibia", "forefoot"], [3.8, 13.7, 14.4], &tp)
            .belly(0.0, 0.66)
            .flat([1.3, 1.4, 1.3], BACK)
            .ends(0.3, 0.2)
            .reach(60.0, 8.0),
        row("flexor_digitorum", "", ["tibia", "forefoot"], [4.5, 13.6, 4.4], &fdl)
            .belly(0.0, 0.5)
            .flat([1.2, 1.3, 1.2], BACK)
            .reach(40.0, 8.0),
        row("flexor_hallucis", "", ["fibula", "forefoot"], [5.3, 16.9, 6.9], &fhl)
            .belly(0.0, 0.44)
            .flat([1.2, 1.3, 1.2], BACK)
            .reach(50.0, 8.0),
    ]
}

fn front() -> Vec<Row> {
    let ta = [
        [12.0, 14.0, -70.0],
        [10.0, 22.0, -110.0],
        [7.0, 24.0, -180.0],
        [2.0, 22.0, -260.0],
        [-6.0, 20.0, -350.0],
        [-16.0, 24.0, -395.0],
        [-26.0, 46.0, -420.0],
        [-26.0, 62.0, -430.0],
    ];
    let edl = [
        [37.0, -10.0, -72.0],
        [30.0, 4.0, -120.0],
        [26.0, 7.0, -190.0],
        [20.0, 9.0, -270.0],
        [9.0, 12.0, -360.0],
        [8.0, 24.0, -398.0],
        [8.0, 60.0, -415.0],
        [10.0, 110.0, -436.0],
        [12.0, 150.0, -444.0],
    ];
    let ehl = [
        [29.0, -11.0, -165.0],
        [20.0, 3.0, -210.0],
        [13.0, 8.0, -280.0],
        [2.0, 14.0, -360.0],
        [-3.0, 26.0, -398.0],
        [-12.0, 62.0, -408.0],
        [-20.0, 120.0, -436.0],
        [-22.0, 172.0, -444.0],
    ];
    let peroneal = [
        [46.0, -14.0, -64.0],
        [47.0, -14.0, -110.0],
        [45.0, -16.0, -180.0],
        [40.0, -20.0, -270.0],
        [31.0, -25.0, -360.0],
        [30.0, -25.0, -412.0],
        [32.0, -2.0, -432.0],
        [26.0, 34.0, -440.0],
    ];
    vec![
        row("tibialis_anterior", "", ["tibia", "forefoot"], [6.8, 9.6, 10.9], &ta)
            .belly(0.0, 0.6)
            .flat([1.4, 1.5, 1.3], [[0.5, 0.8, 0.0], [-0.3, 0.9, 0.4]])
            .ends(0.3, 0.2)
            .reach(60.0, 8.0),
        row("extensor_digitorum", "", ["fibula", "forefoot"], [6.9, 10.8, 5.6], &edl)
            .belly(0.0, 0.58)
            .flat([1.2, 1.4, 1.3], FRONT)
            .reach(60.0, 8.0),
        row("extensor_hallucis", "", ["fibula", "forefoot"], [7.5, 9.4, 2.7], &ehl)
            .belly(0.0, 0.52)
            .flat([1.2, 1.3, 1.2], FRONT)
            .reach(40.0, 8.0),
        row("peroneal_group", "", ["fibula", "forefoot"], [4.9, 13.3, 15.3], &peroneal)
            .belly(0.0, 0.64)
            .flat([1.2, 1.4, 1.2], [[1.0, 0.0, 0.0], [1.0, -0.3, 0.0]])
            .ends(0.3, 0.2)
            .reach(90.0, 8.0),
    ]
}
