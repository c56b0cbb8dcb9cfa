//! Random bodies: the shapes of scenes, and mesh files with bad cells.

use std::fmt::Write as _;

use sinew_geometry::CellMesh;
use sinew_geometry::procedural::{ProceduralError, TetPattern, box_tets};
use sinew_math::Vec3;

use super::random::{Random, rounded};

/// Smallest dihedral angle of bad meshes \[rad\]: one degree.
const SMALLEST_ANGLE: f64 = std::f64::consts::PI / 180.0;

/// A body in the syntax of a scene.
pub struct Shape {
    /// Value of `mesh`.
    pub table: String,
    /// Name in lists of failures.
    pub tag: &'static str,
    /// Corners of the bounding box \[m\].
    pub low: [f64; 3],
    /// The opposite corner.
    pub high: [f64; 3],
    /// The axis along which it is pinned and pulled.
    pub axis: usize,
    /// Whether whole faces lie on the sides of the bounding box across that axis.
    pub is_flat: bool,
    /// Disconnected parts.
    pub pieces: usize,
    /// Shortest edge or height, for the stable explicit step \[m\].
    pub finest: f64,
    /// Text of the mesh file, if any.
    pub file: Option<String>,
}

impl Shape {
    /// Extent of the bounding box along an axis \[m\].
    pub fn extent(&self, axis: usize) -> f64 {
        self.high[axis] - self.low[axis]
    }

    /// The largest extent \[m\].
    pub fn size(&self) -> f64 {
        (0..3).map(|axis| self.extent(axis)).fold(0.0, f64::max)
    }

    /// Center of the bounding box.
    pub fn center(&self) -> [f64; 3] {
        [0, 1, 2].map(|axis| rounded(0.5 * (self.low[axis] + self.high[axis])))
    }
}

/// A body of about `cells` cells and `size` meters; `file` is the name of its mesh file, if any.
pub fn shape(random: &mut Random, cells: f64, size: f64, file: &str) -> Result<Shape, ProceduralError> {
    let size = rounded(size);
    match random.pick(&[
        (18.0, "kuhn"),
        (9.0, "bcc"),
        (9.0, "hex8"),
        (8.0, "order2"),
        (8.0, "sphere"),
        (8.0, "cylinder"),
        (7.0, "torus"),
        (7.0, "fusiform"),
        (3.0, "figure"),
        (9.0, "graded"),
        (9.0, "slivers"),
        (4.0, "pancakes"),
        (9.0, "pieces"),
    ]) {
        "sphere" => Ok(sphere(cells, size)),
        "cylinder" => Ok(cylinder(random, cells, size)),
        "torus" => Ok(torus(random, cells, size)),
        "fusiform" => Ok(fusiform(random, cells, size)),
        "figure" => Ok(figure(size)),
        tag @ ("graded" | "slivers" | "pancakes" | "pieces") => written(random, tag, cells, size, file),
        tag => Ok(block(random, tag, cells, size)),
    }
}

/// Edge lengths of a block, longest along x, and its number of cubes along each axis, about `cubes` in total.
fn block_of(random: &mut Random, cubes: f64, size: f64) -> ([f64; 3], [usize; 3]) {
    let edges = [size, rounded(size * random.between(0.2, 1.0)), rounded(size * random.between(0.2, 1.0))];
    let cube = (edges.iter().product::<f64>() / cubes).cbrt();
    // At least three cubes along x: no cell may touch both ends, whose pins move apart.
    let counts = [0, 1, 2].map(|axis| ((edges[axis] / cube).round() as usize).max(if axis == 0 { 3 } else { 1 }));
    (edges, counts)
}

fn block(random: &mut Random, tag: &'static str, cells: f64, size: f64) -> Shape {
    let cells_per_cube = match tag {
        "hex8" => 2.0,
        "order2" => 24.0,
        "bcc" => 12.0,
        _ => 6.0,
    };
    let (edges, counts) = block_of(random, cells / cells_per_cube, size);
    let extra = match tag {
        "hex8" => ", element = \"hex8\"",
        "order2" => ", order = 2",
        "bcc" => ", pattern = \"bcc\"",
        _ => "",
    };
    Shape {
        table: format!("{{ from = \"box\", size = {edges:?}, cells = {counts:?}{extra} }}"),
        tag,
        low: [0.0; 3],
        high: edges,
        axis: 0,
        is_flat: true,
        pieces: 1,
        finest: 0.3 * edges.iter().zip(counts).map(|(edge, count)| edge / count as f64).fold(f64::INFINITY, f64::min),
        file: None,
    }
}

/// Edge length of `cells` tetrahedra that fill `volume`: a regular one of edge h has the volume h³/8.5.
fn edge_for(volume: f64, cells: f64) -> f64 {
    rounded((8.5 * volume / cells).cbrt())
}

fn round_shape(table: String, tag: &'static str, low: [f64; 3], high: [f64; 3], cell: f64) -> Shape {
    Shape { table, tag, low, high, axis: 0, is_flat: false, pieces: 1, finest: 0.15 * cell, file: None }
}

fn sphere(cells: f64, size: f64) -> Shape {
    let radius = rounded(0.5 * size);
    let cell = edge_for(4.19 * radius.powi(3), cells);
    let table = format!("{{ from = \"sphere\", radius = {radius:?}, cell = {cell:?} }}");
    round_shape(table, "sphere", [-radius; 3], [radius; 3], cell)
}

fn cylinder(random: &mut Random, cells: f64, size: f64) -> Shape {
    let radius = rounded(size * random.between(0.1, 0.4));
    let cell = edge_for(std::f64::consts::PI * radius * radius * size, cells);
    let table = format!("{{ from = \"cylinder\", radius = {radius:?}, length = {size:?}, cell = {cell:?} }}");
    Shape { is_flat: true, ..round_shape(table, "cylinder", [0.0, -radius, -radius], [size, radius, radius], cell) }
}

fn torus(random: &mut Random, cells: f64, size: f64) -> Shape {
    let tube = rounded(size * random.between(0.06, 0.15));
    let radius = rounded(0.5 * size - tube);
    let cell = edge_for(19.7 * radius * tube * tube, cells);
    let table = format!("{{ from = \"torus\", radius = {radius:?}, tube = {tube:?}, cell = {cell:?} }}");
    let reach = radius + tube;
    round_shape(table, "torus", [-reach, -reach, -tube], [reach, reach, tube], cell)
}

fn fusiform(random: &mut Random, cells: f64, size: f64) -> Shape {
    let radius = rounded(size * random.between(0.1, 0.3));
    let end = rounded(radius * random.between(0.2, 0.9));
    let cell = edge_for(2.0 * radius * radius * size, cells);
    let table = format!(
        "{{ from = \"fusiform\", length = {size:?}, radius = {radius:?}, end_radius = {end:?}, cell = {cell:?} }}"
    );
    Shape {
        is_flat: true,
        ..round_shape(table, "fusiform", [0.0, -radius, -radius], [size, radius, radius], 0.3 * cell)
    }
}

fn figure(size: f64) -> Shape {
    let table = format!("{{ from = \"figure\", height = {size:?}, cells = 24 }}");
    // Its arm span equals its height.
    let (low, high) = ([-0.5 * size, -0.2 * size, 0.0], [0.5 * size, 0.2 * size, size]);
    Shape { axis: 2, ..round_shape(table, "figure", low, high, size / 24.0) }
}

/// A block with bad cells, as a mesh file.
fn written(
    random: &mut Random,
    tag: &'static str,
    cells: f64,
    size: f64,
    file: &str,
) -> Result<Shape, ProceduralError> {
    let (edges, counts) = block_of(random, cells / 6.0, size);
    let pieces = if tag == "pieces" { random.whole(2, 3) } else { 1 };
    let counts = [(counts[0] / pieces).max(3), counts[1], counts[2]];
    let mesh = box_tets(Vec3::new(edges[0], edges[1], edges[2]), counts, TetPattern::Kuhn)?;
    let mut positions = mesh.positions().to_vec();
    let (mut high, mut finest) = (edges, 0.0);
    match tag {
        // Cells grow along x by a factor of up to a hundred.
        "graded" => {
            let growth = random.magnitude(5.0, 100.0).ln();
            let map = |s: f64| (growth * s).exp_m1() / growth.exp_m1();
            positions.iter_mut().for_each(|x| x.x = edges[0] * map(x.x / edges[0]));
        }
        // All angles across z fall to about one degree.
        "pancakes" => {
            let cube = edges[0] / counts[0] as f64;
            let height = edges[2] / counts[2] as f64;
            let factor = rounded(SMALLEST_ANGLE * cube / height);
            positions.iter_mut().for_each(|x| x.z *= factor);
            high[2] = edges[2] * factor;
        }
        "slivers" => distort(random, &mesh, &mut positions),
        _ => {}
    }
    let mut all = positions.clone();
    let mut tets: Vec<[u32; 4]> = (0..mesh.cell_count()).map(|cell| corners(&mesh, cell)).collect();
    for piece in 1..pieces {
        let gap = rounded(1.5 * edges[0]) * piece as f64;
        let offset = (positions.len() * piece) as u32;
        all.extend(positions.iter().map(|&x| x + Vec3::new(gap, 0.0, 0.0)));
        tets.extend((0..mesh.cell_count()).map(|cell| corners(&mesh, cell).map(|node| node + offset)));
        high[0] = gap + edges[0];
    }
    if tag == "graded" || tag == "pieces" {
        let height = |tet: &[u32; 4]| {
            let x = tet.map(|node| all[node as usize]);
            (1..4).map(|k| x[0].distance(x[k])).fold(f64::INFINITY, f64::min)
        };
        finest = 0.3 * tets.iter().map(height).fold(f64::INFINITY, f64::min);
    }
    Ok(Shape {
        table: format!("{{ from = \"file\", file = \"{file}\" }}"),
        tag,
        low: [0.0; 3],
        high: high.map(rounded),
        axis: 0,
        is_flat: true,
        pieces,
        finest,
        file: Some(medit(&all, &tets)),
    })
}

fn corners(mesh: &CellMesh, cell: usize) -> [u32; 4] {
    let nodes = mesh.cell_nodes(cell);
    [nodes[0], nodes[1], nodes[2], nodes[3]]
}

/// Moves one inner node in five toward a face of an adjacent cell, until a dihedral angle is one degree.
fn distort(random: &mut Random, mesh: &CellMesh, positions: &mut [Vec3]) {
    let mut cells_of: Vec<Vec<usize>> = vec![Vec::new(); positions.len()];
    for cell in 0..mesh.cell_count() {
        corners(mesh, cell).iter().for_each(|&node| cells_of[node as usize].push(cell));
    }
    let mut is_inner = vec![true; positions.len()];
    mesh.boundary_nodes().iter().for_each(|&node| is_inner[node as usize] = false);
    for node in 0..positions.len() {
        if !is_inner[node] || !random.chance(0.2) {
            continue;
        }
        let around = &cells_of[node];
        let victim = around[random.whole(0, around.len() - 1)];
        let face: Vec<u32> = corners(mesh, victim).into_iter().filter(|&other| other as usize != node).collect();
        let target = face.iter().fold(Vec3::zero(), |sum, &other| sum + positions[other as usize] / 3.0);
        let start = positions[node];
        let smallest = |positions: &[Vec3]| {
            around.iter().map(|&cell| smallest_angle(corners(mesh, cell), positions)).fold(f64::INFINITY, f64::min)
        };
        // The angle falls from its present value to zero or less on the face.
        let (mut sound, mut flat) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = 0.5 * (sound + flat);
            positions[node] = start + (target - start) * middle;
            if smallest(positions) > SMALLEST_ANGLE { sound = middle } else { flat = middle }
        }
        positions[node] = start + (target - start) * sound;
    }
}

/// Smallest dihedral angle of a tetrahedron \[rad\]; zero for an inverted cell.
fn smallest_angle(nodes: [u32; 4], positions: &[Vec3]) -> f64 {
    let x = nodes.map(|node| positions[node as usize]);
    if (x[1] - x[0]).cross(x[2] - x[0]).dot(x[3] - x[0]) <= 0.0 {
        return 0.0;
    }
    // Outward normals of the faces opposite each corner.
    let normal = |a: usize, b: usize, c: usize| (x[b] - x[a]).cross(x[c] - x[a]).normalized();
    let normals = [normal(1, 2, 3), normal(0, 3, 2), normal(0, 1, 3), normal(0, 2, 1)];
    let mut least = f64::INFINITY;
    for i in 0..4 {
        for j in 0..i {
            least = least.min((-normals[i].dot(normals[j])).clamp(-1.0, 1.0).acos());
        }
    }
    least
}

/// A tetrahedral mesh in Medit format.
pub fn medit(positions: &[Vec3], tets: &[[u32; 4]]) -> String {
    let mut text = format!("MeshVersionFormatted 2\nDimension 3\nVertices\n{}\n", positions.len());
    for x in positions {
        let _ = writeln!(text, "{:e} {:e} {:e} 0", x.x, x.y, x.z);
    }
    let _ = writeln!(text, "Tetrahedra\n{}", tets.len());
    for tet in tets {
        let [a, b, c, d] = tet.map(|node| node + 1);
        let _ = writeln!(text, "{a} {b} {c} {d} 0");
    }
    text.push_str("End\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_angle_of_a_regular_and_a_right_tetrahedron() {
        let regular = [(1, 1, 1), (1, -1, -1), (-1, -1, 1), (-1, 1, -1)];
        let right = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)];
        let angle = |corners: [(i32, i32, i32); 4]| {
            let x = corners.map(|(x, y, z)| Vec3::new(f64::from(x), f64::from(y), f64::from(z)));
            smallest_angle([0, 1, 2, 3], &x).max(smallest_angle([0, 2, 1, 3], &x))
        };
        assert!((angle(regular) - (1.0f64 / 3.0).acos()).abs() < 1e-12);
        assert!((angle(right) - (1.0f64 / 3.0f64.sqrt()).acos()).abs() < 1e-12);
    }

    #[test]
    fn spoiled_meshes_have_angles_of_one_degree_and_no_inverted_cell() {
        let mesh = box_tets(Vec3::new(1.0, 1.0, 1.0), [4, 4, 4], TetPattern::Kuhn).unwrap();
        let mut positions = mesh.positions().to_vec();
        distort(&mut Random::new(1), &mesh, &mut positions);
        let angles: Vec<f64> = (0..mesh.cell_count()).map(|c| smallest_angle(corners(&mesh, c), &positions)).collect();
        let least = angles.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least > 0.9 * SMALLEST_ANGLE && least < 1.1 * SMALLEST_ANGLE, "{least}");
    }
}
