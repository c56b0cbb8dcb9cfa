//! Forces of sixteen cells from the sums of the nodes around them.

use sinew_math::{LaneScalar, Scalar};

use super::rows::{Triple, load_rows};
use super::{Case, Cells, STATE, has};

/// Channels of sums (S) and differences (D) along x and along z.
pub(super) const SS: usize = 0;
pub(super) const SD: usize = 1;
pub(super) const DS: usize = 2;
pub(super) const DD: usize = 3;

/// Columns of the rotation given by a quaternion of length √2.
#[inline(always)]
pub(crate) fn columns<F: LaneScalar<Element = f32>>([w, x, y, z]: [F; 4]) -> [Triple<F>; 3] {
    let one = F::one();
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    let (wx, wy, wz) = (w * x, w * y, w * z);
    [[one - (yy + zz), xy + wz, xz - wy], [xy - wz, one - (xx + zz), yz + wx], [xz + wy, yz - wx, one - (xx + yy)]]
}

#[inline(always)]
fn cross<F: LaneScalar<Element = f32>>(a: Triple<F>, b: Triple<F>) -> Triple<F> {
    [a[1].mul_add(b[2], -(a[2] * b[1])), a[2].mul_add(b[0], -(a[0] * b[2])), a[0].mul_add(b[1], -(a[1] * b[0]))]
}

/// Forces of sixteen cells, from the sums of the node rows before and after them, as sums for the same rows.
///
/// # Safety
/// The state of a block from `at` on is within `state`.
#[inline(always)]
pub(super) unsafe fn cell_forces<F: LaneScalar<Element = f32>, K: Case>(
    cells: Cells,
    state: &[f32],
    at: usize,
    bulk: &[F; 10],
    before: &[Triple<F>; 4],
    after: &[Triple<F>; 4],
    [bilinear, trilinear]: [F; 2],
) -> [[Triple<F>; 4]; 2] {
    // SAFETY: as the caller promises.
    let s = unsafe { load_rows::<F, STATE>(state, at) };
    let mu = s[4];
    let mut m = [[F::zero(); 3]; 3];
    for c in 0..3 {
        m[0][c] = before[DS][c] + after[DS][c];
        m[1][c] = after[SS][c] - before[SS][c];
        m[2][c] = before[SD][c] + after[SD][c];
    }
    let stress = stress::<F, K>(cells, &s, bulk, &m);
    let (mu2, mu3) = (mu * bilinear, mu * trilinear);
    let mut low = [[F::zero(); 3]; 4];
    let mut high = low;
    for c in 0..3 {
        // Each channel has an even and an odd part along y: lower rows get the difference, upper rows the sum.
        let (xy, yz) = (after[DS][c] - before[DS][c], after[SD][c] - before[SD][c]);
        let (xz, xyz) = (mu2 * (before[DD][c] + after[DD][c]), after[DD][c] - before[DD][c]);
        low[SS][c] = -stress[1][c];
        high[SS][c] = stress[1][c];
        low[SD][c] = (-mu2).mul_add(yz, stress[2][c]);
        high[SD][c] = mu2.mul_add(yz, stress[2][c]);
        low[DS][c] = (-mu2).mul_add(xy, stress[0][c]);
        high[DS][c] = mu2.mul_add(xy, stress[0][c]);
        low[DD][c] = (-mu3).mul_add(xyz, xz);
        high[DD][c] = mu3.mul_add(xyz, xz);
    }
    [low, high]
}

/// [`cell_forces`] for cells whose center of mass is off center; see [`crate::moments`].
///
/// # Safety
/// The state of a block from `at` on is within `state`.
#[inline(always)]
pub(super) unsafe fn cell_forces_off_center<F: LaneScalar<Element = f32>, K: Case>(
    cells: Cells,
    state: &[f32],
    at: usize,
    bulk: &[F; 10],
    before: &[Triple<F>; 4],
    after: &[Triple<F>; 4],
    [x, y, z]: [F; 3],
    factors: [F; 4],
    pull: &[F; 9],
) -> [[Triple<F>; 4]; 2] {
    // SAFETY: as the caller promises.
    let s = unsafe { load_rows::<F, STATE>(state, at) };
    let mu = s[4];
    let products = [y * z, x * z, x * y];
    let mut m = [[F::zero(); 3]; 3];
    // Modes xy, xz, yz and xyz.
    let mut beyond = [[F::zero(); 3]; 4];
    for c in 0..3 {
        beyond[0][c] = after[DS][c] - before[DS][c];
        beyond[1][c] = before[DD][c] + after[DD][c];
        beyond[2][c] = after[SD][c] - before[SD][c];
        beyond[3][c] = after[DD][c] - before[DD][c];
        let [xy, xz, yz, xyz] = [beyond[0][c], beyond[1][c], beyond[2][c], beyond[3][c]];
        m[0][c] = before[DS][c] + after[DS][c] + y.mul_add(xy, z.mul_add(xz, products[0] * xyz));
        m[1][c] = after[SS][c] - before[SS][c] + x.mul_add(xy, z.mul_add(yz, products[1] * xyz));
        m[2][c] = before[SD][c] + after[SD][c] + x.mul_add(xz, y.mul_add(yz, products[2] * xyz));
    }
    let mut stress = stress::<F, K>(cells, &s, bulk, &m);
    if has!(K, cells, fibers) {
        add_pull(pull, &m, &mut stress);
    }
    let mut low = [[F::zero(); 3]; 4];
    let mut high = low;
    for c in 0..3 {
        let [p, q, r] = [stress[0][c], stress[1][c], stress[2][c]];
        let xy = (mu * factors[0]).mul_add(beyond[0][c], y.mul_add(p, x * q));
        let xz = (mu * factors[1]).mul_add(beyond[1][c], z.mul_add(p, x * r));
        let yz = (mu * factors[2]).mul_add(beyond[2][c], z.mul_add(q, y * r));
        let pulls = products[0].mul_add(p, products[1].mul_add(q, products[2] * r));
        let xyz = (mu * factors[3]).mul_add(beyond[3][c], pulls);
        low[SS][c] = -q;
        high[SS][c] = q;
        low[SD][c] = r - yz;
        high[SD][c] = r + yz;
        low[DS][c] = p - xy;
        high[DS][c] = p + xy;
        low[DD][c] = xz - xyz;
        high[DD][c] = xz + xyz;
    }
    [low, high]
}

/// Adds the fiber term aⱼ S (Σ aₖ mₖ) for direction a, with rows of a and of the symmetric S (xx, yy, zz, xy, xz, yz).
#[inline(always)]
pub(crate) fn add_pull<F: Scalar>(pull: &[F; 9], m: &[Triple<F>; 3], stress: &mut [Triple<F>; 3]) {
    let [x, y, z, xx, yy, zz, xy, xz, yz] = *pull;
    let mut along = [F::zero(); 3];
    for c in 0..3 {
        along[c] = x.mul_add(m[0][c], y.mul_add(m[1][c], z * m[2][c]));
    }
    let force = [
        xx.mul_add(along[0], xy.mul_add(along[1], xz * along[2])),
        xy.mul_add(along[0], yy.mul_add(along[1], yz * along[2])),
        xz.mul_add(along[0], yz.mul_add(along[1], zz * along[2])),
    ];
    for (j, share) in [x, y, z].into_iter().enumerate() {
        for c in 0..3 {
            stress[j][c] = share.mul_add(force[c], stress[j][c]);
        }
    }
}

/// P of the linear modes. Uses loops and functions: closures are not always inlined.
#[inline(always)]
fn stress<F: LaneScalar<Element = f32>, K: Case>(
    cells: Cells,
    s: &[F; STATE],
    bulk: &[F; 10],
    m: &[Triple<F>; 3],
) -> [Triple<F>; 3] {
    let r = columns([s[0], s[1], s[2], s[3]]);
    let mu = if has!(K, cells, determinant) { bulk[9] } else { s[4] };
    // Derivative of the volume measure.
    let g = if has!(K, cells, determinant) {
        [[bulk[0], bulk[1], bulk[2]], [bulk[3], bulk[4], bulk[5]], [bulk[6], bulk[7], bulk[8]]]
    } else {
        r
    };
    // Short dependency chains, which overlap.
    let mut traces = [F::zero(); 3];
    let (mut plus, mut minus) = ([F::zero(); 3], [F::zero(); 3]);
    for c in 0..3 {
        let (p, q) = ((c + 1) % 3, (c + 2) % 3);
        traces[c] = g[2][c].mul_add(m[2][c], g[1][c].mul_add(m[1][c], g[0][c] * m[0][c]));
        plus[c] = r[2][p].mul_add(m[2][q], r[1][p].mul_add(m[1][q], r[0][p] * m[0][q]));
        minus[c] = r[2][q].mul_add(m[2][p], r[1][q].mul_add(m[1][p], r[0][q] * m[0][p]));
    }
    let t = traces[0] + traces[1] + traces[2];
    let b = [plus[0] - minus[0], plus[1] - minus[1], plus[2] - minus[2]];
    let [xx, yy, zz, xy, xz, yz] = [s[6], s[7], s[8], s[9], s[10], s[11]];
    let w = [
        xx.mul_add(b[0], xy.mul_add(b[1], xz * b[2])),
        xy.mul_add(b[0], yy.mul_add(b[1], yz * b[2])),
        xz.mul_add(b[0], yz.mul_add(b[1], zz * b[2])),
    ];
    let push = if has!(K, cells, determinant) { t } else { s[5] * t };
    let mut stress = [[F::zero(); 3]; 3];
    for j in 0..3 {
        let turned = cross(w, r[j]);
        for c in 0..3 {
            stress[j][c] = push.mul_add(g[j][c], mu.mul_add(m[j][c], turned[c]));
        }
    }
    stress
}
