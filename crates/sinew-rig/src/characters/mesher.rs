//! Surface nets: quadrilaterals around the edges of a cubic grid that cross the zero set of a field.
//!
//! Each cube that the surface crosses gets a vertex for each piece of it; vertices then move along the surface to even
//! spacing and onto it by Newton steps $`p \leftarrow p - f\,\nabla f/|\nabla f|^2`$. A grid face with alternating
//! signs would be ambiguous. One of its inside corners is set to outside, so pieces in a cube are always simple rings,
//! and the net is a manifold.

use std::collections::HashMap;

use sinew_geometry::Aabb;
use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::field::{Field, STEEPEST, mirrored};

/// Grid nodes along an edge of a block.
const BLOCK: i32 = 8;

/// Grid nodes of a block.
const BLOCK_NODES: usize = 512;

/// Mean edge of the triangles, in grid spacings (measured; test `mean_edge_is_as_asked`).
const EDGE_PER_SPACING: f64 = 0.94;

/// Smoothing iterations.
const ROUNDS: usize = 8;

/// Vertices that evaluate the same lumps.
pub(super) const PIECE: usize = 64;

/// A surface.
#[derive(Clone, Debug, Default)]
pub(super) struct Net {
    /// Vertices \[m\].
    pub positions: Vec<Vec3>,
    /// Triangles, counterclockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// Whether a body is mirror symmetric at x = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    /// Not symmetric.
    None,
    /// Symmetric, and so is the net, vertex by vertex.
    Mirror,
}

/// The surface of a body, with triangles of a given mean edge \[m\].
pub(super) fn surface_net(field: &Field, edge: f64, symmetry: Symmetry) -> Net {
    let grid = Grid::new(field, edge / EDGE_PER_SPACING, symmetry);
    let mut quads = grid.quads();
    quads.even_out(field);
    quads.into_net()
}

/// Values of a field at grid nodes near its zero set.
struct Grid {
    origin: Vec3,
    spacing: f64,
    symmetry: Symmetry,
    /// Corners of blocks, in blocks.
    blocks: Vec<[i32; 3]>,
    block_at: HashMap<[i32; 3], u32>,
    /// Values at nodes, block by block.
    values: Vec<f32>,
}

impl Grid {
    fn new(field: &Field, spacing: f64, symmetry: Symmetry) -> Self {
        let [low, high] = field.bounds();
        let mut origin = low - Vec3::splat(2.0 * spacing);
        if symmetry == Symmetry::Mirror {
            // The mirror plane bisects the cubes of the first layer.
            origin.x = -0.5 * spacing;
        }
        let mut grid =
            Self { origin, spacing, symmetry, blocks: Vec::new(), block_at: HashMap::new(), values: Vec::new() };
        let node_count = ((high - origin).max_component() / spacing).ceil() as i32 + 3;
        let mut side = BLOCK;
        while side < node_count {
            side *= 2;
        }
        grid.add_blocks(field, [0; 3], side);
        grid.block_at = grid.blocks.iter().enumerate().map(|(block, corner)| (*corner, block as u32)).collect();
        let values: Vec<Vec<f32>> = grid
            .blocks
            .par_iter()
            .map(|corner| {
                let place = |slot| fold_back(grid.place(node_of(*corner, slot)), symmetry);
                let center = (place(0) + place(BLOCK_NODES - 1)) * 0.5;
                let near = field.near(center, center.distance(place(0)));
                (0..BLOCK_NODES).map(|slot| near.value(place(slot)) as f32).collect()
            })
            .collect();
        grid.values = values.concat();
        grid.part_chess_boards();
        grid
    }

    fn place(&self, node: [i32; 3]) -> Vec3 {
        self.origin + Vec3::from(node.map(f64::from)) * self.spacing
    }

    /// Adds the blocks in a cube of `side` nodes that the surface may cross.
    fn add_blocks(&mut self, field: &Field, corner: [i32; 3], side: i32) {
        let half = 0.5 * f64::from(side - 1);
        let center = self.place(corner) + Vec3::splat(half * self.spacing);
        // Two more nodes: cubes extend into the next block, and resolving ambiguous faces moves signs by a node.
        let reach = (half + 2.0) * self.spacing * 3f64.sqrt() * STEEPEST;
        if field.value(fold_back(center, self.symmetry)).abs() > reach {
            return;
        }
        if side == BLOCK {
            self.blocks.push(corner.map(|c| c / BLOCK));
            return;
        }
        let step = side / 2;
        for octant in 0..8 {
            let part = [0, 1, 2].map(|axis| corner[axis] + if octant >> axis & 1 == 1 { step } else { 0 });
            self.add_blocks(field, part, step);
        }
    }

    /// Storage index of a node's value; `None` far from the surface.
    fn slot(&self, node: [i32; 3]) -> Option<usize> {
        let block = self.block_at.get(&node.map(|c| c.div_euclid(BLOCK)))?;
        let [x, y, z] = node.map(|c| c.rem_euclid(BLOCK) as usize);
        Some(*block as usize * BLOCK_NODES + (z * 8 + y) * 8 + x)
    }

    /// Values of the nodes of a block and of its upper neighbors, as a cube of 9 nodes; `NaN` far from the surface.
    fn gather(&self, block: usize) -> Vec<f32> {
        let corner = self.blocks[block].map(|c| c * BLOCK);
        let mut values = vec![f32::NAN; 729];
        for (k, value) in values.iter_mut().enumerate() {
            let local = [k % 9, k / 9 % 9, k / 81];
            let slot = if local.iter().all(|c| *c < 8) {
                Some(block * BLOCK_NODES + (local[2] * 8 + local[1]) * 8 + local[0])
            } else {
                self.slot([0, 1, 2].map(|axis| corner[axis] + local[axis] as i32))
            };
            if let Some(slot) = slot {
                *value = self.values[slot];
            }
        }
        values
    }

    /// Sets nodes to outside until no grid face has inside corners on one diagonal and outside corners on the other.
    fn part_chess_boards(&mut self) {
        let just_outside = (1e-3 * self.spacing) as f32;
        loop {
            let found: Vec<Vec<usize>> =
                (0..self.blocks.len()).into_par_iter().map(|block| self.chess_boards(block)).collect();
            let nodes: Vec<usize> = found.concat();
            if nodes.is_empty() {
                return;
            }
            for slot in nodes {
                self.values[slot] = just_outside;
                let [x, y, z] = node_of(self.blocks[slot / BLOCK_NODES], slot % BLOCK_NODES);
                if self.symmetry == Symmetry::Mirror
                    && x <= 1
                    && let Some(image) = self.slot([1 - x, y, z])
                {
                    self.values[image] = just_outside;
                }
            }
        }
    }

    fn chess_boards(&self, block: usize) -> Vec<usize> {
        let corner = self.blocks[block].map(|c| c * BLOCK);
        let values = self.gather(block);
        let mut nodes = Vec::new();
        for slot in 0..BLOCK_NODES {
            let local = [slot % 8, slot / 8 % 8, slot / 64];
            let at = |offset: [usize; 3]| {
                values[(local[2] + offset[2]) * 81 + (local[1] + offset[1]) * 9 + local[0] + offset[0]]
            };
            for axis in 0..3 {
                let (mut u, mut v) = ([0; 3], [0; 3]);
                u[(axis + 1) % 3] = 1;
                v[(axis + 2) % 3] = 1;
                let corners = [[0; 3], u, [u[0] + v[0], u[1] + v[1], u[2] + v[2]], v];
                let levels = corners.map(at);
                if levels.iter().any(|level| level.is_nan()) {
                    continue;
                }
                let inside = levels.map(|level| level < 0.0);
                if inside[0] == inside[2] && inside[1] == inside[3] && inside[0] != inside[1] {
                    let pair = if inside[0] { [0, 2] } else { [1, 3] };
                    let shallow = if levels[pair[0]] >= levels[pair[1]] { pair[0] } else { pair[1] };
                    let offset = corners[shallow];
                    let node = [0, 1, 2].map(|axis| corner[axis] + (local[axis] + offset[axis]) as i32);
                    nodes.extend(self.slot(node));
                }
            }
        }
        nodes
    }

    /// Quadrilaterals with vertices at the center of the crossings of their cubes.
    fn quads(&self) -> Quads {
        let rings = rings();
        let cubes: Vec<Vec<Cube>> =
            (0..self.blocks.len()).into_par_iter().map(|block| self.cubes(block, &rings)).collect();
        // First vertex of each cube, by the slot of its lowest node.
        let mut first_vertex = vec![u32::MAX; self.values.len()];
        let mut masks = vec![0u8; self.values.len()];
        let mut quads = Quads::default();
        for cube in cubes.iter().flatten() {
            first_vertex[cube.slot] = quads.positions.len() as u32;
            masks[cube.slot] = cube.mask;
            for (position, is_on_mirror) in &cube.vertices {
                quads.image.push(if *is_on_mirror { quads.positions.len() as u32 } else { u32::MAX });
                quads.positions.push(*position);
            }
        }
        for cube in cubes.iter().flatten() {
            let node = node_of(self.blocks[cube.slot / BLOCK_NODES], cube.slot % BLOCK_NODES);
            // The other side is copied later.
            if self.symmetry == Symmetry::Mirror && node[0] == 0 {
                continue;
            }
            for axis in 0..3 {
                let start = cube.mask & 1 == 1;
                if start == (cube.mask >> (1 << axis) & 1 == 1) {
                    continue;
                }
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let around = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[along_u, along_v]| {
                    let mut base = node;
                    base[u] -= along_u;
                    base[v] -= along_v;
                    let slot = self.slot(base)?;
                    let ring = rings[masks[slot] as usize][edge_of(axis, along_u as usize, along_v as usize)];
                    (first_vertex[slot] != u32::MAX).then(|| first_vertex[slot] + u32::from(ring))
                });
                if let [Some(a), Some(b), Some(c), Some(d)] = around {
                    quads.quads.push(if start { [a, b, c, d] } else { [d, c, b, a] });
                }
            }
        }
        quads.keep_used();
        if self.symmetry == Symmetry::Mirror {
            quads.mirror();
        } else {
            quads.image.clear();
        }
        quads
    }

    fn cubes(&self, block: usize, rings: &[[u8; 12]]) -> Vec<Cube> {
        let corner = self.blocks[block].map(|c| c * BLOCK);
        let values = self.gather(block);
        let mut cubes = Vec::new();
        for slot in 0..BLOCK_NODES {
            let local = [slot % 8, slot / 8 % 8, slot / 64];
            let levels: [f32; 8] = std::array::from_fn(|c| {
                values[(local[2] + (c >> 2)) * 81 + (local[1] + (c >> 1 & 1)) * 9 + local[0] + (c & 1)]
            });
            if levels.iter().any(|level| level.is_nan()) {
                continue;
            }
            let mask = (0..8).fold(0u8, |mask, c| mask | (u8::from(levels[c] < 0.0) << c));
            if mask == 0 || mask == 255 {
                continue;
            }
            let base = self.place([0, 1, 2].map(|axis| corner[axis] + local[axis] as i32));
            let mut sums = [(Vec3::zero(), 0.0, 0u16); 4];
            for (edge, [a, b]) in EDGES.iter().enumerate() {
                let (from, to) = (f64::from(levels[*a]), f64::from(levels[*b]));
                if (from < 0.0) == (to < 0.0) {
                    continue;
                }
                let sum = &mut sums[rings[mask as usize][edge] as usize];
                sum.0 += corner_of(*a).lerp(corner_of(*b), from / (from - to));
                sum.1 += 1.0;
                sum.2 |= 1 << edge;
            }
            let is_at_mirror = self.symmetry == Symmetry::Mirror && corner[0] + local[0] as i32 == 0;
            let vertices = sums.iter().filter(|sum| sum.1 > 0.0).map(|(sum, count, edges)| {
                let mut position = base + *sum * (self.spacing / count);
                let is_on_mirror = is_at_mirror && mirrored_edges(*edges) == *edges;
                if is_on_mirror {
                    position.x = 0.0;
                }
                (position, is_on_mirror)
            });
            cubes.push(Cube { slot: block * BLOCK_NODES + slot, mask, vertices: vertices.collect() });
        }
        cubes
    }
}

/// A cube that the surface crosses.
struct Cube {
    /// Storage index of its lowest node.
    slot: usize,
    /// Inside corners as bits; bit 0 of a corner's number is x, then y, then z.
    mask: u8,
    /// A vertex for each ring of crossings, and whether it lies on the mirror plane.
    vertices: Vec<(Vec3, bool)>,
}

fn node_of(block: [i32; 3], slot: usize) -> [i32; 3] {
    let local = [slot % 8, slot / 8 % 8, slot / 64];
    [0, 1, 2].map(|axis| block[axis] * BLOCK + local[axis] as i32)
}

/// The point mirrored to x ≥ 0, so that both sides have exactly the same values.
fn fold_back(p: Vec3, symmetry: Symmetry) -> Vec3 {
    if symmetry == Symmetry::Mirror && p.x < 0.0 { mirrored(p) } else { p }
}

/// Corners of the edges of a cube: along x, y and z, four each.
const EDGES: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [4, 6], [1, 3], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

/// The edge along an axis at offsets along the next two axes.
fn edge_of(axis: usize, along_u: usize, along_v: usize) -> usize {
    4 * axis + along_u + 2 * along_v
}

fn corner_of(corner: usize) -> Vec3 {
    Vec3::new((corner & 1) as f64, (corner >> 1 & 1) as f64, (corner >> 2) as f64)
}

/// The mirrored edges at x = ½.
fn mirrored_edges(edges: u16) -> u16 {
    (0..12).filter(|edge| edges >> edge & 1 == 1).fold(0, |image, edge| {
        let [a, b] = EDGES[edge].map(|corner| corner ^ 1);
        let other = EDGES.iter().position(|pair| *pair == [a.min(b), a.max(b)]).unwrap_or(edge);
        image | 1 << other
    })
}

/// For each set of inside corners, the ring of crossings that each edge belongs to: two crossings of a face are
/// consecutive.
fn rings() -> Vec<[u8; 12]> {
    let faces: Vec<Vec<usize>> = (0..6)
        .map(|face| {
            let (axis, side) = (face / 2, face % 2);
            (0..12).filter(|edge| EDGES[*edge].iter().all(|corner| corner >> axis & 1 == side)).collect()
        })
        .collect();
    let of_mask = |mask: usize| {
        let crosses = |edge: usize| (mask >> EDGES[edge][0] & 1) != (mask >> EDGES[edge][1] & 1);
        let mut root: [usize; 12] = std::array::from_fn(|edge| edge);
        for face in &faces {
            let crossings: Vec<usize> = face.iter().copied().filter(|edge| crosses(*edge)).collect();
            for pair in crossings.windows(2) {
                let (from, to) = (root[pair[1]], root[pair[0]]);
                root.iter_mut().filter(|r| **r == from).for_each(|r| *r = to);
            }
        }
        let mut names = Vec::new();
        let mut ring = [0; 12];
        for edge in (0..12).filter(|edge| crosses(*edge)) {
            let name = names.iter().position(|name| *name == root[edge]).unwrap_or_else(|| {
                names.push(root[edge]);
                names.len() - 1
            });
            ring[edge] = name as u8;
        }
        ring
    };
    (0..256).map(of_mask).collect()
}

/// A mesh of quadrilaterals.
#[derive(Default)]
struct Quads {
    positions: Vec<Vec3>,
    quads: Vec<[u32; 4]>,
    /// Mirror images of vertices; empty without a mirror.
    image: Vec<u32>,
}

impl Quads {
    /// Removes vertices without quadrilaterals.
    fn keep_used(&mut self) {
        let mut number = vec![u32::MAX; self.positions.len()];
        self.quads.iter().flatten().for_each(|vertex| number[*vertex as usize] = 0);
        let mut kept = 0;
        for vertex in 0..number.len() {
            if number[vertex] == 0 {
                number[vertex] = kept;
                self.positions[kept as usize] = self.positions[vertex];
                self.image[kept as usize] = if self.image[vertex] == u32::MAX { u32::MAX } else { kept };
                kept += 1;
            }
        }
        self.positions.truncate(kept as usize);
        self.image.truncate(kept as usize);
        self.quads.iter_mut().flatten().for_each(|vertex| *vertex = number[*vertex as usize]);
    }

    /// Adds the mirrored half.
    fn mirror(&mut self) {
        for vertex in 0..self.positions.len() {
            if self.image[vertex] == u32::MAX {
                self.image[vertex] = self.positions.len() as u32;
                self.image.push(vertex as u32);
                self.positions.push(mirrored(self.positions[vertex]));
            }
        }
        let others: Vec<[u32; 4]> =
            self.quads.iter().map(|[a, b, c, d]| [*d, *c, *b, *a].map(|vertex| self.image[vertex as usize])).collect();
        self.quads.extend(others);
    }

    /// Moves vertices along the surface toward the mean of their neighbors, and onto the surface.
    fn even_out(&mut self, field: &Field) {
        for _ in 0..ROUNDS {
            let mut sums = vec![(Vec3::zero(), 0.0); self.positions.len()];
            for quad in &self.quads {
                for k in 0..4 {
                    let (a, b) = (quad[k] as usize, quad[(k + 1) % 4] as usize);
                    sums[a].0 += self.positions[b];
                    sums[b].0 += self.positions[a];
                    sums[a].1 += 1.0;
                    sums[b].1 += 1.0;
                }
            }
            // Vertices of a piece are close to each other, because they are created block by block.
            self.positions.par_chunks_mut(PIECE).zip(sums.par_chunks(PIECE)).for_each(|(positions, sums)| {
                let near = near_points(field, positions);
                for (position, (sum, count)) in positions.iter_mut().zip(sums) {
                    let normal = near.slope(*position).gradient.normalized();
                    let way = (*sum / *count - *position) * 0.5;
                    *position = onto_surface(&near, *position + way - normal * normal.dot(way));
                }
            });
            self.restore_mirror();
        }
    }

    fn restore_mirror(&mut self) {
        for vertex in 0..self.image.len() {
            let image = self.image[vertex] as usize;
            if image == vertex {
                self.positions[vertex].x = 0.0;
            } else if vertex < image {
                self.positions[image] = mirrored(self.positions[vertex]);
            }
        }
    }

    /// Splits quadrilaterals along the diagonal with the larger smallest angle.
    fn into_net(self) -> Net {
        let own_count = if self.image.is_empty() { self.quads.len() } else { self.quads.len() / 2 };
        let mut triangles: Vec<[u32; 3]> = Vec::with_capacity(2 * self.quads.len());
        for [a, b, c, d] in &self.quads[..own_count] {
            let ways = [[[*a, *b, *c], [*a, *c, *d]], [[*b, *c, *d], [*b, *d, *a]]];
            let quality = ways.map(|way| way.iter().map(|t| self.smallest_sine(*t)).fold(f64::INFINITY, f64::min));
            triangles.extend(if quality[0] >= quality[1] { ways[0] } else { ways[1] });
        }
        if !self.image.is_empty() {
            let others: Vec<[u32; 3]> =
                triangles.iter().map(|[a, b, c]| [*c, *b, *a].map(|vertex| self.image[vertex as usize])).collect();
            triangles.extend(others);
        }
        Net { positions: self.positions, triangles }
    }

    fn smallest_sine(&self, triangle: [u32; 3]) -> f64 {
        let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize]);
        let sides = [b - a, c - b, a - c];
        let double_area = sides[0].cross(sides[1]).norm();
        let lengths = sides.map(|side| side.norm());
        // The smallest angle lies between the two longest sides.
        let product = (lengths[0] * lengths[1]).max(lengths[1] * lengths[2]).max(lengths[2] * lengths[0]);
        double_area / product.max(1e-300)
    }
}

/// The field near points of the surface that are close to each other.
pub(super) fn near_points(field: &Field, points: &[Vec3]) -> Field {
    let bounds = Aabb::from_points(points);
    // A quarter more, because points move.
    field.near(bounds.center(), 0.625 * bounds.diagonal())
}

/// Two Newton steps along the gradient.
fn onto_surface(field: &Field, mut p: Vec3) -> Vec3 {
    for _ in 0..2 {
        let slope = field.slope(p);
        p -= slope.gradient * (slope.value / slope.gradient.norm_squared().max(1e-12));
    }
    p
}
