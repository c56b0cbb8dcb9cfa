//! Cross-sections of muscles and tendons: quadrilaterals that fill a disc.

/// Size of the square in the middle of a disc: its corners lie at six tenths of the radius, which makes the cells
/// around it as large as those within.
const CORE: f64 = 0.58;

/// Points and quadrilaterals of a section, counterclockwise.
pub(super) struct Section {
    pub points: Vec<[f64; 2]>,
    pub quads: Vec<[u32; 4]>,
    /// Points on the rim at angles from 135° to 225°, sorted by angle: the side that faces the other head of a
    /// two-headed muscle.
    pub left_side: Vec<usize>,
}

impl Section {
    /// A unit disc with `across` cells along its two diameters: a core of squares and rings of cells around it.
    ///
    /// A square alone mapped to the disc would have four corner cells with angles near 180°. Here four edges run from
    /// the corners of the core to the rim instead, and no angle exceeds about 135°.
    pub fn disc(across: [usize; 2]) -> Self {
        let [nu, nv] = across.map(|n| ((0.62 * n as f64).round() as usize).max(2));
        let rings = ((0.19 * across[0].min(across[1]) as f64).round() as usize).max(1);
        let mut points = Vec::with_capacity((nu + 1) * (nv + 1) + 2 * rings * (nu + nv));
        let mut quads = Vec::with_capacity(nu * nv + 2 * rings * (nu + nv));
        // An odd function to the last bit, so that the section is exactly symmetric.
        let local = |i: usize, n: usize| (2.0 * i as f64 - n as f64) / n as f64;
        let core = |i: usize, j: usize| (j * (nu + 1) + i) as u32;
        for j in 0..=nv {
            for i in 0..=nu {
                let (u, v) = (local(i, nu), local(j, nv));
                let disc = square_to_disc([u, v]);
                points.push([CORE * (0.375 * u + 0.5 * disc[0]), CORE * (0.375 * v + 0.5 * disc[1])]);
            }
        }
        for j in 0..nv {
            for i in 0..nu {
                quads.push([core(i, j), core(i + 1, j), core(i + 1, j + 1), core(i, j + 1)]);
            }
        }
        // Counterclockwise around the core, from the corner at −45°.
        let mut border: Vec<([usize; 2], [f64; 2])> = Vec::with_capacity(2 * (nu + nv));
        let mut left_corner = 0;
        for side in 0..4 {
            let n = if side % 2 == 0 { nv } else { nu };
            if side == 2 {
                left_corner = border.len();
            }
            for step in 0..n {
                let (sin, cos) = (std::f64::consts::FRAC_PI_4 * local(step, n)).sin_cos();
                border.push(match side {
                    0 => ([nu, step], [cos, sin]),
                    1 => ([nu - step, nv], [-sin, cos]),
                    2 => ([0, nv - step], [-cos, -sin]),
                    _ => ([step, 0], [sin, -cos]),
                });
            }
        }
        let start = points.len();
        let node = |ring: usize, i: usize| {
            let i = i % border.len();
            if ring == 0 {
                core(border[i].0[0], border[i].0[1])
            } else {
                (start + (ring - 1) * border.len() + i) as u32
            }
        };
        for ring in 1..=rings {
            let t = ring as f64 / rings as f64;
            for (inner, outer) in &border {
                let inner = points[core(inner[0], inner[1]) as usize];
                // The rim is exact, not the end of a rounded interpolation.
                points.push(if ring == rings {
                    *outer
                } else {
                    [inner[0] + t * (outer[0] - inner[0]), inner[1] + t * (outer[1] - inner[1])]
                });
            }
            for i in 0..border.len() {
                quads.push([node(ring - 1, i), node(ring, i), node(ring, i + 1), node(ring - 1, i + 1)]);
            }
        }
        let left_side = (0..=nv).map(|step| node(rings, left_corner + step) as usize).collect();
        Self { points, quads, left_side }
    }
}

/// Maps the square \[−1, 1\]² to the unit disc: (u √(1 − v²/2), v √(1 − u²/2)).
pub(super) fn square_to_disc([u, v]: [f64; 2]) -> [f64; 2] {
    [u * (1.0 - 0.5 * v * v).sqrt(), v * (1.0 - 0.5 * u * u).sqrt()]
}

/// Maps the square \[−1, 1\]² to nearly a disc, with radii from 0.95 to 1.03, that keeps its corners away from 180°.
pub(super) fn square_to_rounded([u, v]: [f64; 2]) -> [f64; 2] {
    let disc = square_to_disc([u, v]);
    [0.75 * disc[0] + 0.2 * u, 0.75 * disc[1] + 0.2 * v]
}
