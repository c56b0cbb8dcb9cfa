//! Normals of an animated character, smooth where its file is smooth.
//!
//! Files split a vertex along seams of texture coordinates, between materials, and along hard edges. Only hard edges
//! have different normals on both sides. Copies of a vertex whose normals agree in the file therefore share one normal:
//! the mean over the triangles of all copies in the current frame.

use std::collections::HashMap;

use sinew_geometry::mesh::vertex_normals;
use sinew_math::Vec3;
use sinew_rig::{Flesh, Part, Piece, Rig, Source};

use crate::record::shapes::f32s;

/// Cosine of 2 degrees: normals rounded to 8 bits agree within that, and no hard edge is that flat.
const SAME_NORMAL: f64 = 0.9994;

/// Groups of vertices of a character that share a normal.
pub(super) struct Shading {
    /// For each piece the group of each vertex.
    group_of: Vec<Vec<u32>>,
    /// A piece and vertex of each group.
    members: Vec<(u32, u32)>,
    /// Triangles of all pieces, by group.
    triangles: Vec<[u32; 3]>,
}

/// Copies of one point have the same key: the vertex for flesh, and the exact rest position for other parts.
#[derive(PartialEq, Eq, Hash)]
enum Point {
    Flesh(u32),
    Follower([u64; 3]),
}

impl Shading {
    /// `triangles_of` returns the triangles of a piece as written.
    pub fn of(rig: &Rig, flesh: &Flesh, triangles_of: impl Fn(&Piece) -> Vec<[u32; 3]>) -> Self {
        let mut shading = Self { group_of: Vec::new(), members: Vec::new(), triangles: Vec::new() };
        let mut groups_at: HashMap<Point, Vec<(u32, Option<usize>, Vec3)>> = HashMap::new();
        for (k, piece) in flesh.pieces.iter().enumerate() {
            let part: &Part = &rig.surfaces[piece.surface].parts[piece.part];
            let skin = rig.nodes[piece.node].skin;
            let group = |(vertex, source): (usize, &Source)| {
                let point = match source {
                    Source::Flesh(of_flesh) => Point::Flesh(*of_flesh),
                    follower => Point::Follower(follower.rest(&flesh.surface).to_array().map(f64::to_bits)),
                };
                let normal = part.normals.get(vertex).map_or(Vec3::zero(), |n| Vec3::from(n.map(f64::from)));
                let groups = groups_at.entry(point).or_default();
                let is_same = |(_, other, known): &&(u32, Option<usize>, Vec3)| {
                    // Without normals in the file everything is smooth; other skins may be stored with other
                    // directions.
                    let length = normal.norm() * known.norm();
                    *other != skin || length == 0.0 || normal.dot(*known) > SAME_NORMAL * length
                };
                if let Some(&(group, ..)) = groups.iter().find(is_same) {
                    return group;
                }
                let group = shading.members.len() as u32;
                groups.push((group, skin, normal));
                shading.members.push((k as u32, vertex as u32));
                group
            };
            let of_piece: Vec<u32> = piece.vertices.iter().enumerate().map(group).collect();
            let by_group = |triangle: [u32; 3]| triangle.map(|vertex| of_piece[vertex as usize]);
            shading.triangles.extend(triangles_of(piece).into_iter().map(by_group));
            shading.group_of.push(of_piece);
        }
        shading
    }

    /// Unit normals of all vertices, piece by piece, for their current positions.
    pub fn normals(&self, placed: &[Vec<Vec3>]) -> Vec<Vec<[f32; 3]>> {
        let place = |&(piece, vertex): &(u32, u32)| placed[piece as usize][vertex as usize];
        let positions: Vec<Vec3> = self.members.iter().map(place).collect();
        let normals: Vec<[f32; 3]> = vertex_normals(&positions, &self.triangles).into_iter().map(f32s).collect();
        let of_piece = |groups: &Vec<u32>| groups.iter().map(|&group| normals[group as usize]).collect();
        self.group_of.iter().map(of_piece).collect()
    }
}
