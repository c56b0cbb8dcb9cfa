//! Who moves which vertex, as a careful rigger paints it.
//!
//! A chain of joints hands over from one to the next at each joint, over about one radius of the limb:
//! $w_i = S_i\,(1 - S_{i+1})$ with $S_i$ the product of smooth steps up to joint i. Which chain a vertex belongs to is how much the chain's
//! lumps share in the field there.

use rayon::prelude::*;
use sinew_math::Vec3;

use super::field::Field;
use super::mesher::{PIECE, near_points};
use crate::rig::Weights;

/// Joints per vertex.
pub(super) const WIDTH: usize = 4;

/// Weights are multiples of this, so that they sum to 1 exactly in `f32` as well.
const GRAIN: f64 = 1.0 / 65536.0;

/// Where a joint takes over from the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub joint: usize,
    /// The plane of equal weights.
    pub at: Vec3,
    /// Towards the joint's own side; a unit vector.
    pub direction: Vec3,
    /// From the plane to where one of both has all weight [m].
    pub reach: f64,
}

/// Joints one after the other.
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
    /// Those of some vertices, as a rig has them.
    pub fn picked(&self, vertices: &[u32]) -> Weights {
        let pairs = vertices.iter().flat_map(|vertex| self.of_vertices[*vertex as usize]);
        let (joints, weights) = pairs.unzip();
        Weights { width: WIDTH, joints, weights }
    }
}

/// Weights of places on the skin.
pub(super) fn skin_weights(field: &Field, chains: &[Chain], positions: &[Vec3]) -> SkinWeights {
    let of_pieces = positions.par_chunks(PIECE).map(|points| {
        let near = near_points(field, points);
        points.iter().map(|p| weights_at(&near, chains, *p)).collect::<Vec<_>>()
    });
    SkinWeights { of_vertices: of_pieces.flatten().collect() }
}

fn weights_at(field: &Field, chains: &[Chain], p: Vec3) -> [(u32, f32); WIDTH] {
    let shares = one_limb_only(chains, field.shares(p).of_chains);
    let mut weights = Vec::new();
    for (chain, share) in chains.iter().zip(&shares) {
        if *share > 0.0 {
            chain.add_weights(p, *share, &mut weights);
        }
    }
    rounded(weights)
}

/// What a limb and its neighbours both claim goes to the trunk: where two fingers meet, neither moves the skin.
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
