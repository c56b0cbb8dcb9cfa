//! The contents of a picture, and their preparation: one flat triangle list with corner normals.

use super::camera::Bounds;
use super::color::{ColorMap, Rgb};
use super::texture::Coat;
use super::vector::{V3, add, cross, dot, is_finite, norm, scale, smoothstep, sub, unit_or};

/// Reflection properties of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// Strength of the highlight, 0 (chalk) to 1 (wet).
    pub gloss: f32,
    /// How far light spreads past the terminator, 0 (stone) to 1 (skin); it reddens as in living tissue.
    pub translucency: f32,
}

impl Finish {
    /// Living tissue: a soft sheen and light below the skin.
    pub const FLESH: Finish = Finish { gloss: 0.45, translucency: 0.8 };
    /// Obstacles and props.
    pub const MATTE: Finish = Finish { gloss: 0.08, translucency: 0.0 };
    /// Color-mapped fields: little sheen, so that colors keep their meaning.
    pub const CHART: Finish = Finish { gloss: 0.10, translucency: 0.0 };
}

/// Where the color of a surface comes from.
#[derive(Clone, Copy, Debug)]
pub enum Paint<'a> {
    /// One color.
    Solid(Rgb),
    /// Numbers at the vertices.
    VertexField {
        /// One value per vertex.
        values: &'a [f32],
        /// Value of the lower end of the map.
        min: f32,
        /// Value of the upper end of the map.
        max: f32,
        /// The map.
        map: ColorMap,
    },
    /// Numbers on the triangles: constant in each, as for cell fields.
    TriangleField {
        /// One value per triangle.
        values: &'a [f32],
        /// Value of the lower end of the map.
        min: f32,
        /// Value of the upper end of the map.
        max: f32,
        /// The map.
        map: ColorMap,
    },
    /// Materials with images, triangle by triangle.
    Coat(&'a Coat),
}

/// Triangle edges drawn over a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wireframe {
    /// Color of the lines.
    pub color: Rgb,
    /// Width of the lines \[pixels\].
    pub width: f32,
    /// 0 invisible, 1 opaque.
    pub opacity: f32,
}

impl Default for Wireframe {
    fn default() -> Wireframe {
        Wireframe { color: Rgb([0.1, 0.1, 0.12]), width: 0.9, opacity: 0.35 }
    }
}

/// One triangulated surface.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// Vertices \[m\]. Triangles with vertices that are not finite are ignored.
    pub positions: &'a [[f32; 3]],
    /// Corners, counterclockwise when seen from outside. Triangles that refer to missing vertices are ignored.
    pub triangles: &'a [[u32; 3]],
    /// Color.
    pub paint: Paint<'a>,
    /// Sheen.
    pub finish: Finish,
    /// Mesh lines, if any.
    pub wireframe: Option<Wireframe>,
}

impl<'a> Surface<'a> {
    /// A surface of one color.
    pub fn solid(positions: &'a [[f32; 3]], triangles: &'a [[u32; 3]], color: Rgb, finish: Finish) -> Surface<'a> {
        Surface { positions, triangles, paint: Paint::Solid(color), finish, wireframe: None }
    }
}

/// A triangle of the flat list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    /// Indices into [`Prepared::positions`].
    pub corners: [u32; 3],
    /// Index into the surfaces of the view.
    pub surface: u32,
    /// Index of the triangle within its surface.
    pub local: u32,
}

/// All surfaces of a view in flat arrays.
#[derive(Default)]
pub(crate) struct Prepared {
    pub positions: Vec<V3>,
    pub triangles: Vec<Triangle>,
    /// Unit normals of the faces.
    pub face_normals: Vec<V3>,
    /// Unit normals of the corners, averaged over neighbors except across creases.
    pub corner_normals: Vec<[V3; 3]>,
    /// Unit normals of the vertices, averaged over all neighbors; zero at vertices without a drawn triangle.
    pub vertex_normals: Vec<V3>,
    /// For each surface whether it bounds a volume.
    pub is_closed: Vec<bool>,
    /// First vertex of each surface in `positions`.
    pub first_vertex: Vec<u32>,
    pub bounds: Bounds,
}

/// Neighboring faces blend fully below 30° and not at all above 60°; the smooth transition keeps a bending crease from
/// popping.
const CREASE_BLEND: (f32, f32) = (0.5, 0.866);

/// Faces within 15° of the normal of a vertex are within 30° of each other, and rounding.
const SURELY_SMOOTH: f32 = 0.966;

impl Prepared {
    pub fn new(surfaces: &[Surface<'_>]) -> Prepared {
        let mut prepared = Prepared::default();
        let mut weighted = Vec::new();
        for (number, surface) in surfaces.iter().enumerate() {
            let first = prepared.positions.len() as u32;
            prepared.first_vertex.push(first);
            prepared.positions.extend_from_slice(surface.positions);
            let (mut vector_area, mut total_area) = ([0.0f32; 3], 0.0f32);
            for (local, t) in surface.triangles.iter().enumerate() {
                if t.iter().any(|&v| v as usize >= surface.positions.len()) {
                    continue;
                }
                let [a, b, c] = t.map(|v| surface.positions[v as usize]);
                // Twice the area along the normal: larger faces have more weight in the averages below.
                let n = cross(sub(b, a), sub(c, a));
                let length = norm(n);
                if !(is_finite(a) && is_finite(b) && is_finite(c) && length > 0.0 && length.is_finite()) {
                    continue;
                }
                [a, b, c].into_iter().for_each(|p| prepared.bounds.add(p));
                prepared.triangles.push(Triangle {
                    corners: t.map(|v| v + first),
                    surface: number as u32,
                    local: local as u32,
                });
                prepared.face_normals.push(scale(n, 1.0 / length));
                weighted.push(n);
                vector_area = add(vector_area, n);
                total_area += length;
            }
            // Gauss: the area vectors of a closed surface sum to zero. Those of an open tube do too; it only loses the
            // shadow of its inner side.
            prepared.is_closed.push(norm(vector_area) <= 1e-3 * total_area);
        }
        prepared.smooth(&weighted);
        prepared
    }

    fn smooth(&mut self, weighted: &[V3]) {
        // Faces around each vertex, by counting sort.
        let mut start = vec![0u32; self.positions.len() + 1];
        for t in &self.triangles {
            t.corners.iter().for_each(|&v| start[v as usize + 1] += 1);
        }
        for v in 0..self.positions.len() {
            start[v + 1] += start[v];
        }
        let mut cursor = start.clone();
        let mut faces = vec![0u32; 3 * self.triangles.len()];
        for (face, t) in self.triangles.iter().enumerate() {
            for &v in &t.corners {
                faces[cursor[v as usize] as usize] = face as u32;
                cursor[v as usize] += 1;
            }
        }
        let around = |v: u32| &faces[start[v as usize] as usize..start[v as usize + 1] as usize];
        // Around most vertices all faces are so near to the mean that none of their corners has a crease.
        let mut is_smooth = vec![false; self.positions.len()];
        self.vertex_normals = (0..self.positions.len() as u32)
            .map(|v| {
                let sum = around(v).iter().fold([0.0; 3], |sum, &face| add(sum, weighted[face as usize]));
                // Opposite faces cancel at a fold; any of them is a better normal than none.
                let fallback = around(v).first().map_or([0.0; 3], |&face| self.face_normals[face as usize]);
                let normal = unit_or(sum, fallback);
                is_smooth[v as usize] =
                    around(v).iter().all(|&face| dot(self.face_normals[face as usize], normal) > SURELY_SMOOTH);
                normal
            })
            .collect();
        let corner = |v: u32, own: V3| {
            if is_smooth[v as usize] {
                return self.vertex_normals[v as usize];
            }
            let mut sum = [0.0; 3];
            for &face in around(v) {
                let alignment = dot(own, self.face_normals[face as usize]);
                let weight = smoothstep(CREASE_BLEND.0, CREASE_BLEND.1, alignment);
                if weight > 0.0 {
                    sum = add(sum, scale(weighted[face as usize], weight));
                }
            }
            unit_or(sum, own)
        };
        let corners = self.triangles.iter().zip(&self.face_normals);
        self.corner_normals = corners
            .map(|(t, &own)| [corner(t.corners[0], own), corner(t.corners[1], own), corner(t.corners[2], own)])
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::ShapeMesh;

    fn prepare(mesh: &ShapeMesh) -> Prepared {
        Prepared::new(&[Surface::solid(&mesh.positions, &mesh.triangles, Rgb([1.0; 3]), Finish::MATTE)])
    }

    /// On a sphere around the origin the normal at x is x/|x|. One percent: the mesh is a polyhedron.
    #[test]
    fn smooth_normals_follow_the_sphere() {
        let prepared = prepare(&ShapeMesh::sphere([0.0; 3], 2.0, 24));
        for (t, normals) in prepared.triangles.iter().zip(&prepared.corner_normals) {
            for (&v, &n) in t.corners.iter().zip(normals) {
                let exact = unit_or(prepared.positions[v as usize], [0.0; 3]);
                assert!(dot(n, exact) > 0.99);
            }
        }
    }

    #[test]
    fn corners_of_a_box_keep_face_normals() {
        let prepared = prepare(&ShapeMesh::cuboid([1.0, 2.0, 3.0], 2));
        for (normals, &face) in prepared.corner_normals.iter().zip(&prepared.face_normals) {
            assert!(normals.iter().all(|&n| dot(n, face) > 0.9999));
        }
    }

    #[test]
    fn broken_triangles_are_left_out() {
        let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::NAN; 3], [f32::MAX, f32::MAX, 0.0]];
        let triangles = [[0, 1, 2], [0, 1, 3], [0, 0, 1], [0, 1, 9], [0, 1, 4]];
        let prepared = Prepared::new(&[Surface::solid(&positions, &triangles, Rgb([1.0; 3]), Finish::MATTE)]);
        assert_eq!(prepared.triangles.len(), 1);
        assert!(prepared.corner_normals[0].iter().all(|&n| is_finite(n)));
    }
}
