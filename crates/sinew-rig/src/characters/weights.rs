//! Skin weights, as a careful rigger would paint them.
//!
//! At each joint of a chain the weight passes to the next joint, over about one radius of the limb:
//! $`w_i = S_i\,(1 - S_{i+1})`$ with $`S_i`$ the product of smooth steps up to joint i. The share of a chain at a
//! vertex is the share of its lumps in the field there.

use sinew_geometry::TriMesh;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::field::Field;
use super::mesher::{PIECE, near_points};
use crate::rig::Weights;

/// Joints per vertex.
pub(super) const WIDTH: usize = 4;

/// Weights are multiples of this, so that they sum to 1 exactly in `f32` as well.
const GRAIN: f64 = 1.0 / 65536.0;

/// Upper bound on smoothing iterations for very fine skins, where the shares are already smooth.
const ROUND_LIMIT: usize = 100;

/// Transition from one joint to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub joint: usize,
    /// The plane of equal weights.
    pub at: Vec3,
    /// Unit vector toward the joint's own side.
    pub direction: Vec3,
    /// Distance from the plane to full weight of one joint \[m\].
    pub reach: f64,
}

/// Consecutive joints.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub links: Vec<Link>,
    /// Chains of different limbs never share a vertex; `None` for the trunk.
    pub limb: Option<usize>,
}

impl Chain {
    fn add_weights(&self, p: Vec3, share: f64, weights: &mut Vec<(usize, f64)>) {
        let mut rest = share;
        for (k, link) in self.links.iter().enumerate() {
            let handed_over = self.links.get(k + 1).map_or(0.0, |next| {
                let t = (0.5 + 0.5 * (p - next.at).dot(next.direction) / next.reach).clamp(0.0, 1.0);
                t * t * (3.0 - 2.0 * t)
            });
            let own = rest * (1.0 - handed_over);
            rest *= handed_over;
            match weights.iter_mut().find(|(joint, _)| *joint == link.joint) {
                Some((_, weight)) => *weight += own,
                None => weights.push((link.joint, own)),
            }
        }
    }
}

/// Weights of vertices.
pub(super) struct SkinWeights {
    of_vertices: Vec<[(u32, f32); WIDTH]>,
}

impl SkinWeights {
    /// Weights of the given vertices, in the format of a rig.
    pub fn picked(&self, vertices: &[u32]) -> Weights {
        let pairs = vertices.iter().flat_map(|vertex| self.of_vertices[*vertex as usize]);
        let (joints, weights) = pairs.unzip();
        Weights { width: WIDTH, joints, weights }
    }
}

/// Weights of the vertices of a skin. Shares of chains are first smoothed over about `melt` \[m\]: the field blends
/// only where lumps overlap, and weights must not jump.
pub(super) fn skin_weights(field: &Field, chains: &[Chain], surface: &TriMesh, melt: f64) -> SkinWeights {
    let of_pieces = surface.positions().par_chunks(PIECE).flat_map_iter(|points| {
        let near = near_points(field, points);
        points.iter().flat_map(|p| near.shares(*p).of_chains).collect::<Vec<f64>>()
    });
    let shares = evened_out(surface, of_pieces.collect(), chains.len(), melt);
    let of_vertices = surface.positions().par_iter().zip(shares.par_chunks(chains.len())).map(|(p, shares)| {
        let mut weights = Vec::new();
        for (chain, share) in chains.iter().zip(one_limb_only(chains, shares.to_vec())) {
            if share > 0.0 {
                chain.add_weights(*p, share, &mut weights);
            }
        }
        rounded(weights)
    });
    SkinWeights { of_vertices: of_vertices.collect() }
}

/// `width` values per vertex, repeatedly averaged with those of neighbors.
fn evened_out(surface: &TriMesh, mut values: Vec<f64>, width: usize, melt: f64) -> Vec<f64> {
    // The half edges that start at a vertex lead to all of its neighbors, because the surface is closed.
    let mut starts = vec![0usize; surface.vertex_count() + 1];
    surface.triangles().as_flattened().iter().for_each(|vertex| starts[*vertex as usize + 1] += 1);
    (0..surface.vertex_count()).for_each(|vertex| starts[vertex + 1] += starts[vertex]);
    let mut next = starts.clone();
    let mut neighbors = vec![0u32; 3 * surface.triangle_count()];
    let mut length = 0.0;
    for triangle in surface.triangles() {
        for k in 0..3 {
            let (from, to) = (triangle[k] as usize, triangle[(k + 1) % 3]);
            neighbors[next[from]] = to;
            next[from] += 1;
            length += surface.positions()[from].distance(surface.positions()[to as usize]);
        }
    }
    // An iteration moves a value by about half an edge, as in the heat equation, whose reach grows with the square
    // root.
    let rounds = (2.0 * melt * neighbors.len() as f64 / length).powi(2).ceil() as usize;
    let mut mixed = values.clone();
    for _ in 0..rounds.min(ROUND_LIMIT) {
        mixed.par_chunks_mut(width * PIECE).enumerate().for_each(|(piece, mixed)| {
            for (k, own) in mixed.chunks_mut(width).enumerate() {
                let vertex = piece * PIECE + k;
                let around = &neighbors[starts[vertex]..starts[vertex + 1]];
                let share = 0.5 / around.len() as f64;
                own.iter_mut().zip(&values[vertex * width..]).for_each(|(mixed, value)| *mixed = 0.5 * value);
                for neighbor in around {
                    let values = &values[*neighbor as usize * width..];
                    own.iter_mut().zip(values).for_each(|(mixed, value)| *mixed += share * value);
                }
            }
        });
        std::mem::swap(&mut values, &mut mixed);
    }
    values
}

/// Shares claimed by a limb and its neighbors go to the trunk: where two fingers meet, neither moves the skin.
fn one_limb_only(chains: &[Chain], mut shares: Vec<f64>) -> Vec<f64> {
    let limb_count = chains.iter().filter_map(|chain| chain.limb).max().map_or(0, |limb| limb + 1);
    let mut of_limbs = vec![0.0; limb_count];
    for (chain, share) in chains.iter().zip(&shares) {
        if let Some(limb) = chain.limb {
            of_limbs[limb] += share;
        }
    }
    for limb in 0..limb_count {
        let own: f64 = of_limbs[limb];
        let others: f64 = of_limbs.iter().sum::<f64>() - own;
        if own > 0.0 && others > 0.0 {
            let kept = (own - others).max(0.0) / own;
            let claims = chains.iter().zip(&mut shares).filter(|(chain, _)| chain.limb == Some(limb));
            claims.for_each(|(_, share)| *share *= kept);
        }
    }
    let lost = 1.0 - shares.iter().sum::<f64>();
    if let Some(trunk) = chains.iter().position(|chain| chain.limb.is_none()) {
        shares[trunk] += lost;
    }
    shares
}

/// The largest weights as multiples of the grain that sum to 1.
fn rounded(mut weights: Vec<(usize, f64)>) -> [(u32, f32); WIDTH] {
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    weights.truncate(WIDTH);
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut out = [(0, 0.0); WIDTH];
    let mut rest = 1.0;
    for (k, (joint, weight)) in weights.iter().enumerate().skip(1) {
        let grains = (weight / sum / GRAIN).round() * GRAIN;
        if grains > 0.0 {
            out[k] = (*joint as u32, grains as f32);
        }
        rest -= grains;
    }
    if let Some((joint, _)) = weights.first() {
        out[0] = (*joint as u32, rest as f32);
    }
    out
}
