//! K x in f64, for residuals that f32 cannot resolve: the same tangent, with sums in a different order.

use sinew_math::lanes::{F64_LANES, Isa, LaneKernel, dispatch};
use sinew_math::parallel::{SUM_BLOCK, for_each_block_mut};
use sinew_math::{LaneScalar, Scalar};

use crate::fibers::PULL;
use crate::kernel::{BLOCK, BULK, ModeStiffness, STATE, add_pull};
use crate::layers::for_each_layer;
use crate::layout::{LANES, Layout};
use crate::tangent::{Corner, corners_of};

/// out = K x of a level whose cells are full.
pub(crate) fn apply(
    layout: &Layout,
    (state, fibers, bulk): (&[f32], &[f32], &[f32]),
    modes: ModeStiffness,
    x: &[f64],
    out: &mut [f64],
) {
    for_each_block_mut(&mut *out, SUM_BLOCK, |_, out: &mut [f64]| out.fill(0.0));
    for_each_layer(layout, out, &|layer, out, offset| {
        dispatch(Layer { layout, layer, state, fibers, bulk, modes, x, out, offset });
    });
    layout.sum_seams(out);
}

struct Layer<'a> {
    layout: &'a Layout,
    layer: usize,
    state: &'a [f32],
    fibers: &'a [f32],
    bulk: &'a [f32],
    modes: ModeStiffness,
    x: &'a [f64],
    out: &'a mut [f64],
    offset: usize,
}

impl LaneKernel for Layer<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut state = [[0.0; LANES]; STATE];
        let mut pull = [[0.0; LANES]; PULL / LANES];
        let mut bulk = [[0.0; LANES]; BULK / LANES];
        for segment in self.layout.segments(self.layer) {
            for tile in segment.cell_tiles() {
                let corners = corners_of(self.layout, self.layer, segment, tile);
                let block = segment.block_of(tile);
                widen(&self.state[block * BLOCK..], &mut state);
                if !self.fibers.is_empty() {
                    widen(&self.fibers[block * PULL..], &mut pull);
                }
                if !self.bulk.is_empty() {
                    widen(&self.bulk[block * BULK..], &mut bulk);
                }
                for half in (0..LANES).step_by(F64_LANES) {
                    let nodes = load_corners::<I::F64>(self.x, &corners, half);
                    let mut rows = [I::F64::zero(); STATE];
                    for (row, values) in rows.iter_mut().zip(&state) {
                        *row = I::F64::load(&values[half..]);
                    }
                    let mut bent = Bent::full(self.modes);
                    if !self.fibers.is_empty() {
                        let mut rows = [I::F64::zero(); PULL / LANES];
                        for (row, values) in rows.iter_mut().zip(&pull) {
                            *row = I::F64::load(&values[half..]);
                        }
                        bent.pull = Some(rows);
                    }
                    if !self.bulk.is_empty() {
                        let mut rows = [I::F64::zero(); BULK / LANES];
                        for (row, values) in rows.iter_mut().zip(&bulk) {
                            *row = I::F64::load(&values[half..]);
                        }
                        bent.bulk = Some(rows);
                    }
                    add_corners(&forces(&rows, &nodes, &bent), self.out, self.offset, &corners, half);
                }
            }
        }
    }
}

/// Rows of sixteen numbers of a block, in f64.
#[inline(always)]
pub(crate) fn widen(narrow: &[f32], wide: &mut [[f64; LANES]]) {
    for (wide, narrow) in wide.iter_mut().zip(narrow.chunks_exact(LANES)) {
        for (wide, &narrow) in wide.iter_mut().zip(narrow) {
            *wide = f64::from(narrow);
        }
    }
}

/// Values at the corners of the cells of a block from lane `half` on.
#[inline(always)]
pub(crate) fn load_corners<F: LaneScalar<Element = f64>>(x: &[f64], corners: &[Corner; 8], half: usize) -> [[F; 3]; 8] {
    let mut nodes = [[F::zero(); 3]; 8];
    for (corner, node) in corners.iter().zip(&mut nodes) {
        for (c, value) in node.iter_mut().enumerate() {
            let at = corner.at + c * corner.stride + half;
            *value = F::load(&x[at..at + F64_LANES]);
        }
    }
    nodes
}

/// Adds values at the corners to `out`, which begins at `offset`.
#[inline(always)]
pub(crate) fn add_corners<F: LaneScalar<Element = f64>>(
    nodes: &[[F; 3]; 8],
    out: &mut [f64],
    offset: usize,
    corners: &[Corner; 8],
    half: usize,
) {
    for (corner, node) in corners.iter().zip(nodes) {
        for (c, &value) in node.iter().enumerate() {
            let at = corner.at + c * corner.stride + half - offset;
            let sum = &mut out[at..at + F64_LANES];
            (F::load(sum) + value).store(sum);
        }
    }
}

/// Cell properties besides the state: the center of the material if off center, the factors of the modes xy, xz, yz and
/// xyz (see [`crate::moments`]), the fiber tangent, and the bulk.
pub(crate) struct Bent<F> {
    pub center: Option<[F; 3]>,
    pub factors: [F; 4],
    pub pull: Option<[F; 9]>,
    pub bulk: Option<[F; 10]>,
}

impl<F: Scalar> Bent<F> {
    /// Full cells.
    #[inline(always)]
    pub fn full(modes: ModeStiffness) -> Self {
        let (bilinear, trilinear) = (F::splat(modes.bilinear), F::splat(modes.trilinear));
        Self { center: None, factors: [bilinear, bilinear, bilinear, trilinear], pull: None, bulk: None }
    }
}

/// Forces of cells on their eight nodes, from all eight modes; see [`crate::kernel`].
#[inline(always)]
pub(crate) fn forces<F: Scalar>(s: &[F; STATE], nodes: &[[F; 3]; 8], bent: &Bent<F>) -> [[F; 3]; 8] {
    // Bit k of a mode index means that the mode has the sign of axis k.
    let mut mode = *nodes;
    transform(&mut mode);
    let [w, x, y, z] = [s[0], s[1], s[2], s[3]];
    let one = F::one();
    let r = [
        [one - (y * y + z * z), x * y + w * z, x * z - w * y],
        [x * y - w * z, one - (x * x + z * z), y * z + w * x],
        [x * z + w * y, y * z - w * x, one - (x * x + y * y)],
    ];
    let mu = s[4];
    // Derivative of the volume measure, its stiffness, and the modulus of the linear modes.
    let (g, lambda, shear) = match &bent.bulk {
        Some(b) => ([[b[0], b[1], b[2]], [b[3], b[4], b[5]], [b[6], b[7], b[8]]], one, b[9]),
        None => (r, s[5], mu),
    };
    let mut m = [mode[1], mode[2], mode[4]];
    if let Some([x, y, z]) = bent.center {
        for c in 0..3 {
            m[0][c] += y * mode[3][c] + z * mode[5][c] + y * z * mode[7][c];
            m[1][c] += x * mode[3][c] + z * mode[6][c] + x * z * mode[7][c];
            m[2][c] += x * mode[5][c] + y * mode[6][c] + x * y * mode[7][c];
        }
    }
    let (mut t, mut b) = (F::zero(), [F::zero(); 3]);
    for j in 0..3 {
        for c in 0..3 {
            let (p, q) = ((c + 1) % 3, (c + 2) % 3);
            t += g[j][c] * m[j][c];
            b[c] += r[j][p] * m[j][q] - r[j][q] * m[j][p];
        }
    }
    let turn = [
        s[6] * b[0] + s[9] * b[1] + s[10] * b[2],
        s[9] * b[0] + s[7] * b[1] + s[11] * b[2],
        s[10] * b[0] + s[11] * b[1] + s[8] * b[2],
    ];
    for (j, k) in [1, 2, 4].into_iter().enumerate() {
        for c in 0..3 {
            let (p, q) = ((c + 1) % 3, (c + 2) % 3);
            mode[k][c] = shear * m[j][c] + lambda * t * g[j][c] + (turn[p] * r[j][q] - turn[q] * r[j][p]);
        }
    }
    if let Some(pull) = &bent.pull {
        let mut stress = [mode[1], mode[2], mode[4]];
        add_pull(pull, &m, &mut stress);
        [mode[1], mode[2], mode[4]] = stress;
    }
    let [xy, xz, yz, xyz] = bent.factors;
    for (k, factor) in [(0, F::zero()), (3, xy), (5, xz), (6, yz), (7, xyz)] {
        for value in &mut mode[k] {
            *value *= mu * factor;
        }
    }
    if let Some([x, y, z]) = bent.center {
        for c in 0..3 {
            let [p, q, r] = [mode[1][c], mode[2][c], mode[4][c]];
            mode[3][c] += y * p + x * q;
            mode[5][c] += z * p + x * r;
            mode[6][c] += z * q + y * r;
            mode[7][c] += y * z * p + x * z * q + x * y * r;
        }
    }
    transform_back(&mut mode);
    mode
}

/// Sums and differences along each axis.
#[inline(always)]
pub(crate) fn transform<F: Scalar>(values: &mut [[F; 3]; 8]) {
    for axis in 0..3 {
        for k in 0..8 {
            if k >> axis & 1 == 0 {
                for c in 0..3 {
                    let (low, high) = (values[k][c], values[k | 1 << axis][c]);
                    values[k][c] = low + high;
                    values[k | 1 << axis][c] = high - low;
                }
            }
        }
    }
}

/// The transpose of [`transform`]: corner forces from mode forces.
#[inline(always)]
pub(crate) fn transform_back<F: Scalar>(values: &mut [[F; 3]; 8]) {
    for axis in 0..3 {
        for k in 0..8 {
            if k >> axis & 1 == 0 {
                for c in 0..3 {
                    let (even, odd) = (values[k][c], values[k | 1 << axis][c]);
                    values[k][c] = even - odd;
                    values[k | 1 << axis][c] = even + odd;
                }
            }
        }
    }
}
