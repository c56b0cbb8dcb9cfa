//! Throw-away: ours against faer.
use std::sync::Arc;
use std::time::Instant;
use sinew_math::sparse::{BlockCsr, BlockPattern};
use sinew_math::{Mat3, Vec3, cholesky, cholesky_faer};

fn noise(i: usize) -> f64 {
    let mut h = (i as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^= h >> 29;
    h = h.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (h >> 11) as f64 / (1u64 << 53) as f64
}
fn hexes(n: [usize; 3]) -> (usize, Vec<[u32; 8]>) {
    let index = |x: usize, y: usize, z: usize| (x + n[0] * (y + n[1] * z)) as u32;
    let mut cells = Vec::new();
    for z in 0..n[2] - 1 { for y in 0..n[1] - 1 { for x in 0..n[0] - 1 {
        cells.push(std::array::from_fn(|k| index(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))));
    }}}
    (n[0] * n[1] * n[2], cells)
}
fn tets(n: [usize; 3]) -> (usize, Vec<[u32; 4]>) {
    let index = |p: [usize; 3]| (p[0] + n[0] * (p[1] + n[1] * p[2])) as u32;
    let mut tets = Vec::new();
    for z in 0..n[2]-1 { for y in 0..n[1]-1 { for x in 0..n[0]-1 {
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut corner = [x, y, z];
            let mut tet = [index(corner); 4];
            for (k, axis) in axes.into_iter().enumerate() { corner[axis] += 1; tet[k + 1] = index(corner); }
            tets.push(tet);
        }
    }}}
    (n[0] * n[1] * n[2], tets)
}
fn matrix(pattern: &Arc<BlockPattern>) -> BlockCsr<f64> {
    let mut m = BlockCsr::zeros(pattern.clone());
    for i in 0..pattern.node_count() {
        let mut sum = Mat3::identity() * 0.01;
        for slot in pattern.row(i) {
            let j = pattern.columns()[slot] as usize;
            if i == j { continue; }
            let (lo, hi) = (i.min(j), i.max(j));
            let b = Mat3::new(std::array::from_fn(|a| std::array::from_fn(|c| noise(lo * 1_000_003 + hi * 31 + a * 3 + c) - 0.5)));
            let b = (b + b.transpose()) * 0.15 + Mat3::identity();
            m.values_mut()[slot] = -b;
            sum = sum + b;
        }
        m.values_mut()[pattern.diagonal_slot(i)] = sum;
    }
    m
}
fn residual(m: &BlockCsr<f64>, x: &[Vec3], b: &[Vec3]) -> f64 {
    let mut p = vec![Vec3::zero(); x.len()];
    m.multiply(x, &mut p);
    let (mut s, mut t) = (0.0, 0.0);
    for i in 0..x.len() { s += (p[i] - b[i]).norm().powi(2); t += b[i].norm().powi(2); }
    (s / t).sqrt()
}
macro_rules! compare { ($name:expr, $pattern:expr, $m:expr, $s:ident, $repeat:expr) => {{
    let pattern = &$pattern;
    let t = Instant::now();
    let old_symbolic = cholesky_faer::SymbolicCholesky::new(pattern).unwrap();
    let t_old_sym = t.elapsed().as_secs_f64();
    let t = Instant::now();
    let new_symbolic = cholesky::SymbolicCholesky::new(pattern).unwrap();
    let t_new_sym = t.elapsed().as_secs_f64();
    let mut single = BlockCsr::<$s>::zeros(pattern.clone());
    single.copy_from(&$m);
    let mut old = old_symbolic.factor(&single).unwrap();
    let mut new = new_symbolic.factor(&single).unwrap();
    let b: Vec<Vec3> = (0..pattern.node_count()).map(|i| Vec3::new(noise(i) - 0.5, noise(i + 7) - 0.5, noise(i + 13) - 0.5)).collect();
    let bs: Vec<Vec3<$s>> = b.iter().map(|v| v.map(|c| c as $s)).collect();
    let mut best = [f64::MAX; 6];
    let mut res = [0.0; 2];
    let many: Vec<Vec<Vec3<$s>>> = vec![bs.clone(); 8];
    for _ in 0..$repeat {
        let t = Instant::now(); old.refactor(&single).unwrap(); best[0] = best[0].min(t.elapsed().as_secs_f64());
        let t = Instant::now(); new.refactor(&single).unwrap(); best[1] = best[1].min(t.elapsed().as_secs_f64());
        for _ in 0..3 {
        let mut x = bs.clone();
        let t = Instant::now(); old.solve_in_place(&mut x).unwrap(); best[2] = best[2].min(t.elapsed().as_secs_f64());
        res[0] = residual(&$m, &x.iter().map(|v| v.to_f64()).collect::<Vec<_>>(), &b);
        let mut x = bs.clone();
        let t = Instant::now(); new.solve_in_place(&mut x).unwrap(); best[3] = best[3].min(t.elapsed().as_secs_f64());
        res[1] = residual(&$m, &x.iter().map(|v| v.to_f64()).collect::<Vec<_>>(), &b);
        }
        let mut x = many.clone();
        let t = Instant::now(); old.solve_columns_in_place(&mut x).unwrap(); best[4] = best[4].min(t.elapsed().as_secs_f64());
        let mut x = many.clone();
        let t = Instant::now(); new.solve_columns_in_place(&mut x).unwrap(); best[5] = best[5].min(t.elapsed().as_secs_f64());
    }
    println!("{:<22} {} t{} | factor {:9.1} vs {:9.1} us  x{:.2} | solve {:8.1} vs {:8.1} x{:.2} | solve8 {:8.1} vs {:8.1} x{:.2} | sym {:6.1}+? vs {:6.1} ms | entries {} vs {} | res {:.1e} {:.1e}",
        $name, stringify!($s), rayon::current_num_threads(), best[0]*1e6, best[1]*1e6, best[0]/best[1], best[2]*1e6, best[3]*1e6, best[2]/best[3], best[4]*1e6, best[5]*1e6, best[4]/best[5],
        t_old_sym*1e3, t_new_sym*1e3, old_symbolic.factor_entry_count(), new_symbolic.factor_entry_count(), res[0], res[1]);
}}}
fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let threads: Vec<usize> = std::env::args().nth(2).map_or(vec![1, 2], |t| vec![t.parse().unwrap()]);
    let cases: Vec<(&str, Arc<BlockPattern>, usize)> = vec![
        ("hex 3x3x3", hexes([3, 3, 3]), 400), ("hex 6x6x6", hexes([6, 6, 6]), 200), ("hex 12x12x12", hexes([12, 12, 12]), 40),
        ("hex 24x24x24", hexes([24, 24, 24]), 3), ("beam 160x6x6", hexes([160, 6, 6]), 40), ("beam 300x3x3", hexes([300, 3, 3]), 60), ("shell 60x60x2", hexes([60, 60, 2]), 20),
    ].into_iter().map(|(n, (c, e), r)| (n, Arc::new(BlockPattern::from_elements(c, &e).unwrap()), r)).chain([
        ("tet 12x12x12", tets([12, 12, 12]), 40), ("tet 20x20x20", tets([20, 20, 20]), 6), ("tet beam 80x5x5", tets([80, 5, 5]), 60),
    ].into_iter().map(|(n, (c, e), r)| (n, Arc::new(BlockPattern::from_elements(c, &e).unwrap()), r))).collect();
    for t in threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(t).build().unwrap();
        pool.install(|| for (name, pattern, repeat) in &cases {
            if !name.contains(&filter) { continue; }
            let m = matrix(pattern);
            compare!(name, *pattern, m, f64, *repeat);
            compare!(name, *pattern, m, f32, *repeat);
        });
    }
}
