//! Motion as a few morph targets: x(t) ≈ b + Σₖ wₖ(t) Tₖ.
//!
//! The best shapes in the least-squares sense are the principal components of D, whose row f holds the displacements of
//! frame f from the mean shape b. They follow from the small matrix G = D Dᵀ of products between frames (method of
//! snapshots \[Sirovich87\]): an eigenvector v of G gives the shape Dᵀv and its weights v.

use sinew_math::eigen::symmetric_eigen;
use sinew_math::parallel::prelude::*;

/// Largest number of frames to fit. Longer shots are sampled evenly: adjacent frames are similar, and the work grows
/// quadratically with the number. The error is measured over all frames.
const SNAPSHOTS: usize = 512;

/// Invisible error, relative to the size of the body.
const ENOUGH: f64 = 1e-6;

/// Vertices per chunk: the displacements of all snapshots then fit in the cache.
const BLOCK: usize = 128;

/// Extra vectors, which speed up the convergence of the last wanted ones.
const GUARDS: usize = 16;

/// A motion as a base shape and weighted morph targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphFit {
    /// The shape at zero weights. It may differ from every frame: see `weights`.
    pub base: Vec<[f32; 3]>,
    /// Displacements of all vertices for a weight of one, largest target first.
    pub targets: Vec<Vec<[f32; 3]>>,
    /// The weights of all targets at the first frame, then at the second, and so on. Those of each target span \[0,
    /// 1\]: sliders of other programs end there, and Blender clamps values outside.
    pub weights: Vec<f32>,
    /// Largest distance of a vertex from its position in any frame, as a viewer computes it in single precision.
    pub largest_error: f32,
    /// Root mean square of these distances.
    pub rms_error: f32,
}

/// Fits at most `most` morph targets to the vertex positions of each frame. Uses fewer if they keep every vertex within
/// a millionth of the size of the body.
///
/// The result does not depend on the number of threads. Non-finite positions give no targets and an infinite error.
///
/// # Panics
/// If two frames have different numbers of vertices.
pub fn fit_morph_targets(frames: &[Vec<[f32; 3]>], most: usize) -> MorphFit {
    let Some(first) = frames.first() else { return MorphFit::default() };
    assert!(frames.iter().all(|frame| frame.len() == first.len()), "frames of one body have the same vertices");
    let count = frames.len().min(SNAPSHOTS);
    let sample = |i: usize| if count == frames.len() { i } else { i * (frames.len() - 1) / (count - 1) };
    let snapshots: Vec<&[[f32; 3]]> = (0..count).map(|i| frames[sample(i)].as_slice()).collect();

    let base = mean(&snapshots);
    let gram = gram_matrix(&snapshots, &base);
    let trace: f64 = (0..count).map(|i| gram[i * count + i]).sum();
    if !trace.is_finite() {
        let (largest_error, rms_error) = (f32::INFINITY, f32::INFINITY);
        return MorphFit { base: first.clone(), largest_error, rms_error, ..MorphFit::default() };
    }
    let (values, vectors) = largest_eigenpairs(&gram, count, most);
    let modes = modes(&snapshots, &base, &vectors);
    let coefficients = if count == frames.len() {
        (0..count).flat_map(|f| vectors.iter().map(move |v| v[f])).collect()
    } else {
        project(frames, &base, &modes, &values)
    };
    // The root mean square error never exceeds the largest error, so fewer targets than this cannot be enough.
    let enough = ENOUGH * extent(first);
    let entries = (count * first.len()).max(1) as f64;
    let (mut rest, mut kept) = (trace, 0);
    while kept < values.len() && (rest.max(0.0) / entries).sqrt() > enough {
        rest -= values[kept];
        kept += 1;
    }
    let motion = Motion { mean: &base, modes: &modes, coefficients: &coefficients };
    if kept < modes.len() {
        let errors = errors(frames, &motion.fit(modes.len(), Span::Centered), kept);
        kept += errors.iter().position(|error| error.0 <= enough).unwrap_or(errors.len() - 1);
    }
    let mut fit = motion.fit(kept, Span::Unit);
    let (largest, rms) = errors(frames, &fit, kept)[0];
    (fit.largest_error, fit.rms_error) = (largest as f32, rms as f32);
    fit
}

/// Diagonal of the bounding box.
fn extent(positions: &[[f32; 3]]) -> f64 {
    let side = |k: usize| {
        let (low, high) = positions
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x[k].into()), high.max(x[k].into())));
        (high - low).max(0.0)
    };
    (0..3).map(|k| side(k).powi(2)).sum::<f64>().sqrt()
}

fn mean(snapshots: &[&[[f32; 3]]]) -> Vec<[f32; 3]> {
    let vertex_count = snapshots.first().map_or(0, |snapshot| snapshot.len());
    let mean_of = |vertex: usize| {
        let mut sum = [0.0f64; 3];
        for snapshot in snapshots {
            for k in 0..3 {
                sum[k] += f64::from(snapshot[vertex][k]);
            }
        }
        sum.map(|sum| (sum / snapshots.len() as f64) as f32)
    };
    (0..vertex_count).into_par_iter().with_min_len(BLOCK).map(mean_of).collect()
}

/// Displacements of a block of vertices in four snapshots, side by side.
type Panel = Vec<[f64; 4]>;

fn panel(snapshots: &[&[[f32; 3]]], base: &[[f32; 3]], start: usize, end: usize) -> Panel {
    let mut panel = vec![[0.0; 4]; 3 * (end - start)];
    let base = base[start..end].as_flattened();
    for (lane, snapshot) in snapshots.iter().enumerate() {
        for ((slot, x), b) in panel.iter_mut().zip(snapshot[start..end].as_flattened()).zip(base) {
            slot[lane] = f64::from(*x) - f64::from(*b);
        }
    }
    panel
}

/// G = D Dᵀ, row by row. Every entry is summed over the vertices in order.
fn gram_matrix(snapshots: &[&[[f32; 3]]], base: &[[f32; 3]]) -> Vec<f64> {
    let quads: Vec<&[&[[f32; 3]]]> = snapshots.chunks(4).collect();
    // Row i holds the 4 × 4 blocks (i, 0..=i).
    let mut rows: Vec<Vec<[[f64; 4]; 4]>> = (0..quads.len()).map(|i| vec![[[0.0; 4]; 4]; i + 1]).collect();
    for start in (0..base.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(base.len());
        let panels: Vec<Panel> = quads.par_iter().map(|quad| panel(quad, base, start, end)).collect();
        // The last rows are the longest, so they go first.
        rows.par_iter_mut().enumerate().rev().for_each(|(i, row)| {
            for (block, other) in row.iter_mut().zip(&panels) {
                add_products(block, &panels[i], other);
            }
        });
    }
    let size = snapshots.len();
    let mut gram = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let entry = rows[i / 4][j / 4][i % 4][j % 4];
            (gram[i * size + j], gram[j * size + i]) = (entry, entry);
        }
    }
    gram
}

/// Sixteen dot products at once, kept in registers.
fn add_products(block: &mut [[f64; 4]; 4], a: &Panel, b: &Panel) {
    let mut sums = *block;
    for (x, y) in a.iter().zip(b) {
        for i in 0..4 {
            for j in 0..4 {
                sums[i][j] += x[i] * y[j];
            }
        }
    }
    *block = sums;
}

/// The eigenpairs of the largest eigenvalues, descending, by subspace iteration; drops those at rounding level.
///
/// Jacobi rotations on the whole matrix would dominate the time of a fit, for 500 eigenvectors of which 32 are used.
fn largest_eigenpairs(matrix: &[f64], size: usize, most: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    let product = |v: &[f64]| {
        let mut image = vec![0.0; size];
        for (row, &factor) in matrix.chunks_exact(size).zip(v) {
            image.iter_mut().zip(row).for_each(|(y, x)| *y += factor * x);
        }
        image
    };
    let most = most.min(size);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut basis: Vec<Vec<f64>> = (0..size.min(most + GUARDS)).map(|_| (0..size).map(|_| noise()).collect()).collect();
    orthonormalize(&mut basis);
    let (mut values, mut before) = (Vec::new(), f64::NEG_INFINITY);
    // Slow convergence does no harm: it means that the eigenvalues are close.
    for _ in 0..100 {
        let mut images: Vec<Vec<f64>> = basis.iter().map(|v| product(v)).collect();
        let width = basis.len();
        let projected: Vec<f64> = (0..width * width).map(|p| dot(&basis[p / width], &images[p % width])).collect();
        let eigen = symmetric_eigen(&projected, width);
        let rotated = |vectors: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let rotate = |k: usize| {
                let mut sum = vec![0.0; size];
                for (vector, factor) in vectors.iter().zip(&eigen.vectors[k * width..]) {
                    sum.iter_mut().zip(vector).for_each(|(s, x)| *s += factor * x);
                }
                sum
            };
            // Descending.
            (0..width).rev().map(rotate).collect()
        };
        values = eigen.values.iter().rev().copied().collect();
        let kept: f64 = values.iter().take(most).sum();
        let is_settled = (kept - before).abs() <= 1e-14 * kept.abs();
        before = kept;
        basis = rotated(&basis);
        if is_settled || width == size {
            break;
        }
        images = rotated(&images);
        orthonormalize(&mut images);
        basis = images;
    }
    let floor = 1e-15 * values.first().copied().unwrap_or(0.0);
    let count = values.iter().take(most).take_while(|value| **value > floor && **value > 0.0).count();
    values.truncate(count);
    basis.truncate(count);
    (values, basis)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Orthonormalizes vectors in order; drops those that are only rounding error relative to the longest.
fn orthonormalize(vectors: &mut Vec<Vec<f64>>) {
    let longest = vectors.iter().map(|v| dot(v, v).sqrt()).fold(0.0, f64::max);
    let mut done: Vec<Vec<f64>> = Vec::with_capacity(vectors.len());
    for mut vector in vectors.drain(..) {
        // Twice is enough: the second pass removes the rounding errors of the first.
        for _ in 0..2 {
            for other in &done {
                let overlap = dot(other, &vector);
                vector.iter_mut().zip(other).for_each(|(x, y)| *x -= overlap * y);
            }
        }
        let norm = dot(&vector, &vector).sqrt();
        if norm > 1e-16 * longest && norm > f64::MIN_POSITIVE {
            vector.iter_mut().for_each(|x| *x /= norm);
            done.push(vector);
        }
    }
    *vectors = done;
}

/// The shapes Dᵀv, flat.
fn modes(snapshots: &[&[[f32; 3]]], base: &[[f32; 3]], vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let blocks: Vec<Vec<Vec<f64>>> = base
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, base)| {
            let start = block * BLOCK;
            let mut shapes = vec![vec![0.0; 3 * base.len()]; vectors.len()];
            for (f, snapshot) in snapshots.iter().enumerate() {
                let moved = snapshot[start..start + base.len()].as_flattened();
                let moved: Vec<f64> =
                    moved.iter().zip(base.as_flattened()).map(|(x, b)| f64::from(*x) - f64::from(*b)).collect();
                for (shape, vector) in shapes.iter_mut().zip(vectors) {
                    shape.iter_mut().zip(&moved).for_each(|(s, x)| *s += vector[f] * x);
                }
            }
            shapes
        })
        .collect();
    let mut modes = vec![Vec::with_capacity(3 * base.len()); vectors.len()];
    for block in blocks {
        modes.iter_mut().zip(block).for_each(|(mode, part)| mode.extend(part));
    }
    modes
}

/// Weights of the shapes M = Dᵀv, whose squared length is the eigenvalue, at frames outside the snapshots.
fn project(frames: &[Vec<[f32; 3]>], base: &[[f32; 3]], modes: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let base = base.as_flattened();
    let weights = |frame: &Vec<[f32; 3]>| -> Vec<f64> {
        let moved: Vec<f64> =
            frame.as_flattened().iter().zip(base).map(|(x, b)| f64::from(*x) - f64::from(*b)).collect();
        modes.iter().zip(values).map(|(mode, value)| dot(mode, &moved) / value).collect()
    };
    frames.par_iter().map(weights).collect::<Vec<_>>().concat()
}

/// A fit in double precision, before scaling its weights.
struct Motion<'a> {
    mean: &'a [[f32; 3]],
    /// Shapes, flat.
    modes: &'a [Vec<f64>],
    /// Coefficients of all shapes, frame by frame.
    coefficients: &'a [f64],
}

/// Range of a target's weights.
#[derive(Clone, Copy, PartialEq)]
enum Span {
    /// Around the mean: the base is the same for any number of targets.
    Centered,
    /// From 0 to 1.
    Unit,
}

impl Motion<'_> {
    /// The first `count` shapes, scaled so that their weights fill a span.
    fn fit(&self, count: usize, span: Span) -> MorphFit {
        let frames = || self.coefficients.chunks_exact(self.modes.len().max(1));
        let range = |k: usize| {
            let (low, high) = frames().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), factors| {
                (low.min(factors[k]), high.max(factors[k]))
            });
            let start = if span == Span::Unit { low } else { 0.0 };
            (start, (high - low).max(f64::MIN_POSITIVE))
        };
        let ranges: Vec<(f64, f64)> = (0..count).map(range).collect();
        let weights = frames().flat_map(|factors| factors.iter().zip(&ranges));
        let weights = weights.map(|(factor, (start, length))| ((factor - start) / length) as f32).collect();
        let targets = self.modes[..count].par_iter().zip(&ranges).map(|(mode, (_, length))| {
            mode.as_chunks::<3>().0.iter().map(|x| x.map(|x| (x * length) as f32)).collect()
        });
        let mut base: Vec<f64> = self.mean.as_flattened().iter().map(|x| f64::from(*x)).collect();
        for (mode, (start, _)) in self.modes.iter().zip(&ranges) {
            base.iter_mut().zip(mode).for_each(|(x, m)| *x += start * m);
        }
        let base = base.as_chunks::<3>().0.iter().map(|x| x.map(|x| x as f32)).collect();
        MorphFit { base, targets: targets.collect(), weights, ..MorphFit::default() }
    }
}

/// Largest and root mean square error over all frames with the first `fewest`, `fewest + 1`, … all targets.
fn errors(frames: &[Vec<[f32; 3]>], fit: &MorphFit, fewest: usize) -> Vec<(f64, f64)> {
    let count = fit.targets.len();
    let choices = count + 1 - fewest;
    let measure = |(block, base): (usize, &[[f32; 3]])| {
        let (start, end) = (block * BLOCK, block * BLOCK + base.len());
        let mut errors = vec![(0.0f64, 0.0f64); choices];
        let mut shape = vec![[0.0f32; 3]; base.len()];
        for (f, frame) in frames.iter().enumerate() {
            shape.copy_from_slice(base);
            for used in 0..=count {
                if used > 0 {
                    let weight = fit.weights[f * count + used - 1];
                    let target = fit.targets[used - 1][start..end].as_flattened();
                    shape.as_flattened_mut().iter_mut().zip(target).for_each(|(x, t)| *x += weight * t);
                }
                let Some(error) = used.checked_sub(fewest).map(|choice| &mut errors[choice]) else { continue };
                for (x, y) in shape.iter().zip(&frame[start..end]) {
                    let squared: f64 = (0..3).map(|k| (f64::from(x[k]) - f64::from(y[k])).powi(2)).sum();
                    *error = (error.0.max(squared), error.1 + squared);
                }
            }
        }
        errors
    };
    let blocks: Vec<_> = fit.base.par_chunks(BLOCK).enumerate().map(measure).collect();
    let mut errors = vec![(0.0f64, 0.0f64); choices];
    for block in blocks {
        errors.iter_mut().zip(block).for_each(|(all, one)| *all = (all.0.max(one.0), all.1 + one.1));
    }
    let entries = (frames.len() * fit.base.len()).max(1) as f64;
    errors.into_iter().map(|(largest, sum)| (largest.sqrt(), (sum / entries).sqrt())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Vertices on a tube of length 2 and radius ¼.
    fn tube(count: usize) -> Vec<[f64; 3]> {
        let place = |i: usize| {
            let (along, around) = (2.0 * i as f64 / count as f64, 0.7 * i as f64);
            [along, 0.25 * around.cos(), 0.25 * around.sin()]
        };
        (0..count).map(place).collect()
    }

    /// Frames of a motion given by time in [0, 1) and rest position.
    fn film(count: usize, rest: &[[f64; 3]], motion: impl Fn(f64, [f64; 3]) -> [f64; 3]) -> Vec<Vec<[f32; 3]>> {
        let frame = |f: usize| {
            let time = f as f64 / count as f64;
            rest.iter().map(|x| motion(time, *x).map(|x| x as f32)).collect()
        };
        (0..count).map(frame).collect()
    }

    /// Largest distance of base + Σ w t from the frames.
    fn measured(frames: &[Vec<[f32; 3]>], fit: &MorphFit) -> f32 {
        let mut largest = 0.0f32;
        for (f, frame) in frames.iter().enumerate() {
            for (vertex, wanted) in frame.iter().enumerate() {
                let mut x = fit.base[vertex];
                for (k, target) in fit.targets.iter().enumerate() {
                    let weight = fit.weights[f * fit.targets.len() + k];
                    (0..3).for_each(|i| x[i] += weight * target[vertex][i]);
                }
                let distance = (0..3).map(|i| (x[i] - wanted[i]).powi(2)).sum::<f32>().sqrt();
                largest = largest.max(distance);
            }
        }
        largest
    }

    /// x + sin(τt) a(x) + cos(2τt) b(x) + t² c(x): three shapes, for any number of frames.
    #[test]
    fn a_motion_of_three_shapes_needs_three_targets() {
        let motion = |t: f64, [x, y, z]: [f64; 3]| {
            let (a, b, c) = ((TAU * t).sin(), (2.0 * TAU * t).cos(), t * t);
            [x + 0.1 * b * y, y + a * x * x * 0.3, z + 0.2 * c * x + 0.05 * a]
        };
        for (frame_count, vertex_count) in [(40, 300), (5, 1000), (600, 40)] {
            let frames = film(frame_count, &tube(vertex_count), motion);
            let fit = fit_morph_targets(&frames, 32);
            assert_eq!((fit.targets.len(), fit.weights.len()), (3, 3 * frame_count));
            // A millionth of a body of length two.
            assert!(fit.largest_error < 2.2e-6 && fit.rms_error <= fit.largest_error, "{}", fit.largest_error);
            assert!((measured(&frames, &fit) - fit.largest_error).abs() < 1e-7);
            for k in 0..3 {
                let weights = || fit.weights.iter().copied().skip(k).step_by(3);
                assert_eq!((weights().fold(1.0, f32::min), weights().fold(0.0, f32::max)), (0.0, 1.0));
            }
        }
    }

    /// A traveling wave needs all available targets; the error falls with their number, and the reported error is the
    /// actual one.
    #[test]
    fn the_error_falls_with_the_number_of_targets_and_is_the_true_one() {
        let wave = |t: f64, [x, y, z]: [f64; 3]| [x, y + 0.2 * (-30.0 * (x - 2.0 * t).powi(2)).exp(), z];
        let frames = film(60, &tube(400), wave);
        let mut before = f32::INFINITY;
        for most in [0, 1, 2, 4, 8, 16, 32] {
            let fit = fit_morph_targets(&frames, most);
            assert!(fit.targets.len() <= most && (measured(&frames, &fit) - fit.largest_error).abs() < 1e-6);
            assert!(fit.rms_error < before, "{most}: {}", fit.rms_error);
            before = fit.rms_error;
        }
        assert!(before < 1e-4, "{before}");
    }

    /// Eckart and Young: no basis of k shapes has a smaller sum of squares than the discarded eigenvalues of G.
    #[test]
    fn the_root_mean_square_is_the_smallest_possible() {
        let wave =
            |t: f64, [x, y, z]: [f64; 3]| [x, y + 0.2 * (9.0 * (x - t)).sin(), z * (1.0 + 0.3 * (7.0 * t * x).cos())];
        let frames = film(50, &tube(200), wave);
        let snapshots: Vec<&[[f32; 3]]> = frames.iter().map(Vec::as_slice).collect();
        let gram = gram_matrix(&snapshots, &mean(&snapshots));
        let values = symmetric_eigen(&gram, 50).values;
        for most in [1, 3, 6] {
            let rest: f64 = values[..50 - most].iter().sum();
            let best = (rest / (50.0 * 200.0)).sqrt();
            let rms = f64::from(fit_morph_targets(&frames, most).rms_error);
            assert!((rms - best).abs() < 1e-6 * best + 1e-7, "{most}: {rms} {best}");
        }
    }

    #[test]
    fn shots_without_motion_have_no_targets() {
        let still = film(30, &tube(100), |_, x| x);
        let fit = fit_morph_targets(&still, 32);
        assert_eq!((fit.base, fit.targets.len(), fit.largest_error), (still[0].clone(), 0, 0.0));
        let fit = fit_morph_targets(&still[..1], 32);
        assert_eq!((fit.targets.len(), fit.weights.len(), fit.largest_error), (0, 0, 0.0));
        assert_eq!(fit_morph_targets(&[], 32), MorphFit::default());
        assert_eq!(fit_morph_targets(&[Vec::new(), Vec::new()], 32).targets.len(), 0);
        let trembling = film(30, &tube(100), |t, [x, y, z]| [x, y, z + 1e-7 * (TAU * t).sin()]);
        assert_eq!(fit_morph_targets(&trembling, 32).targets.len(), 0);
    }

    #[test]
    fn positions_that_are_not_finite_give_an_infinite_error() {
        let mut frames = film(4, &tube(10), |t, [x, y, z]| [x + t, y, z]);
        frames[2][3][1] = f32::NAN;
        let fit = fit_morph_targets(&frames, 8);
        assert!(fit.targets.is_empty() && fit.largest_error == f32::INFINITY);
    }

    #[test]
    fn the_number_of_threads_does_not_change_a_bit() {
        let wave = |t: f64, [x, y, z]: [f64; 3]| [x, y + 0.2 * (9.0 * (x - t)).sin(), z];
        let frames = film(30, &tube(700), wave);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit_morph_targets(&frames, 6))
        };
        assert_eq!(with(1), with(3));
    }
}
