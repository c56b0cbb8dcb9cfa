//! Pictures outside a run: a mesh at rest ([`mesh_picture`]) and any frame of a recording ([`Player`]).

mod arrows;
mod lines;
mod marks;
mod player;

use std::collections::BTreeSet;

use sinew_fem::BodyFrame;
use sinew_io::MeshData;
use sinew_math::Vec3;
use sinew_raster::{Background, Bounds, Camera, Finish, FitParams, Image, Renderer, Rgb, Surface, UpAxis, View};
use sinew_scene::inspect::Skin;

pub use player::{Player, Portrait};
pub(crate) use player::{camera_of, placed_mesh};

pub(crate) use arrows::{ArrowScale, ForceAt, LONGEST_ARROW, draw_forces, largest_force};

pub(crate) use lines::{Lines, Pen};
pub(crate) use marks::Marks;

/// Additions to the picture of a mesh.
#[derive(Clone, Debug, Default)]
pub struct MeshPicture<'a> {
    /// Text in the upper left corner.
    pub title: &'a str,
    /// Text in the upper right corner.
    pub caption: &'a str,
    /// Cells with red faces, whose edges are visible through the body.
    pub marked_cells: &'a [u32],
    /// Edges in red, visible through the body.
    pub marked_edges: &'a [[Vec3; 2]],
    /// Points with a red ring.
    pub rings: &'a [Vec3],
    /// Width and height \[pixels\]; 960 × 720 if zero.
    pub size: [usize; 2],
}

/// Maximum number of surface edges; more would paint the body black, so none are drawn.
const MAX_EDGES: usize = 60_000;

/// Maximum number of marked edges that are drawn.
const MAX_MARKS: usize = 20_000;

const INK: [u8; 3] = [44, 34, 36];
const RED: [u8; 3] = [214, 24, 42];

/// Draws a mesh at rest, with the edges of its cells, colored by label; `None` if it has no faces.
pub fn mesh_picture(data: &MeshData, picture: &MeshPicture<'_>) -> Option<Image> {
    let skin = Skin::of(data);
    if skin.triangles.is_empty() {
        return None;
    }
    // Relative to the center: single precision would distort a mesh far from the origin.
    let middle = sinew_geometry::Aabb::from_points(&data.points).center();
    let f32s = |p: Vec3| {
        let p = p - middle;
        [p.x as f32, p.y as f32, p.z as f32]
    };
    let points: Vec<[f32; 3]> = data.points.iter().map(|&p| f32s(p)).collect();
    let used: Vec<[f32; 3]> = skin.triangles.as_flattened().iter().map(|&v| points[v as usize]).collect();
    let bounds = Bounds::of(&used);
    let [width, height] = picture.size.map(|side| if side == 0 { None } else { Some(side) });
    let renderer = Renderer::new(width.unwrap_or(960), height.unwrap_or(720));
    let camera = Camera::fit(&bounds, UpAxis::Z, renderer.aspect(), &FitParams::default());
    // Red marks are most visible on the color of bone.
    let has_marks = !(picture.marked_cells.is_empty() && picture.marked_edges.is_empty() && picture.rings.is_empty());
    let painted = if has_marks { marked(data, &skin, picture.marked_cells) } else { labeled(data, &skin) };
    let surfaces = painted.iter().map(|(color, triangles)| {
        let finish = Finish { gloss: 0.25, translucency: 0.4 };
        Surface::solid(&points, triangles, *color, finish)
    });
    let view = View {
        camera,
        up: UpAxis::Z,
        ground: Some(bounds.min[2]),
        stage: bounds,
        surfaces: surfaces.collect(),
        title: Some(picture.title),
        caption: Some(picture.caption),
        background: Background::Studio,
        legend: None,
    };
    let mut image = renderer.render(&view);
    let mut lines = Lines::new(&camera, image.width, image.height);
    lines.cover(&points, &skin.triangles);
    draw_edges(&mut image, &lines, &points, &skin.edges);
    let pen = Pen { color: RED, width: 1.5, opacity: 0.8 };
    let edges = cell_edges(data, picture.marked_cells);
    let marked =
        edges.iter().map(|edge| edge.map(|v| data.points[v as usize])).chain(picture.marked_edges.iter().copied());
    for [a, b] in marked.take(MAX_MARKS) {
        lines.draw_through(&mut image, [f32s(a), f32s(b)], &pen);
    }
    let radius = 0.018 * image.height as f32;
    let places: Vec<[f32; 3]> = picture.rings.iter().map(|&place| f32s(place)).collect();
    lines.rings(&mut image, &places, radius, &Pen { color: RED, width: 2.2, opacity: 0.95 });
    Some(image)
}

/// Draws the visible edges of cells, fainter where they are dense, so that the shading stays visible.
pub(crate) fn draw_edges(image: &mut Image, lines: &Lines, points: &[[f32; 3]], edges: &[[u32; 2]]) {
    if edges.len() > MAX_EDGES {
        return;
    }
    let typical = lines.typical_length(points, edges);
    let pen = Pen { color: INK, width: 1.0, opacity: (typical / 26.0).clamp(0.10, 0.55) };
    for &[a, b] in edges {
        lines.draw_visible(image, [points[a as usize], points[b as usize]], &pen);
    }
}

/// Edges of a visible surface: those of the cells, without the diagonals of their faces, or those of the triangles of an
/// embedded surface.
pub(crate) fn surface_edges(body: &BodyFrame<'_>) -> Vec<[u32; 2]> {
    let pair = |a: u32, b: u32| [a.min(b), a.max(b)];
    let mut edges: Vec<[u32; 2]> =
        body.surface_triangles.iter().flat_map(|&[a, b, c]| [pair(a, b), pair(b, c), pair(c, a)]).collect();
    edges.sort_unstable();
    edges.dedup();
    if body.surface_embedding.is_some() {
        return edges;
    }
    let of_cells: BTreeSet<[u32; 2]> =
        sinew_scene::inspect::edges_of(&MeshData::from(body.mesh)).into_iter().map(|[a, b]| pair(a, b)).collect();
    let node = |vertex: u32| body.surface_nodes[vertex as usize];
    let is_edge = |&[a, b]: &[u32; 2]| of_cells.contains(&pair(node(a), node(b)));
    let kept: Vec<[u32; 2]> = edges.iter().copied().filter(is_edge).collect();
    // Faces of quadratic cells are divided at nodes in between.
    if 4 * kept.len() < edges.len() { edges } else { kept }
}

/// Triangles by color, one per label.
fn labeled(data: &MeshData, skin: &Skin) -> Vec<(Rgb, Vec<[u32; 3]>)> {
    let labels = data.labels();
    let label = |cell: u32| labels.map_or(0.0, |field| field.values[cell as usize]);
    let mut known: Vec<f64> = skin.cells.iter().map(|&cell| label(cell)).filter(|label| !label.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let mut groups: Vec<(Rgb, Vec<[u32; 3]>)> =
        (0..known.len().max(1)).map(|i| (Rgb::of_body(i), Vec::new())).collect();
    let last = groups.len() - 1;
    for (&triangle, &cell) in skin.triangles.iter().zip(&skin.cells) {
        let at = known.partition_point(|other| *other < label(cell));
        groups[at.min(last)].1.push(triangle);
    }
    groups
}

/// Triangles by color: red for marked cells, the color of bone for the others.
fn marked(data: &MeshData, skin: &Skin, cells: &[u32]) -> Vec<(Rgb, Vec<[u32; 3]>)> {
    let mut is_marked = vec![false; data.cell_count()];
    for &cell in cells {
        if let Some(flag) = is_marked.get_mut(cell as usize) {
            *flag = true;
        }
    }
    let both = skin.triangles.iter().zip(&skin.cells);
    let (red, bone): (Vec<_>, Vec<_>) = both.partition(|(_, cell)| is_marked[**cell as usize]);
    let triangles = |list: Vec<(&[u32; 3], &u32)>| list.into_iter().map(|(triangle, _)| *triangle).collect();
    vec![(Rgb([0.80, 0.78, 0.73]), triangles(bone)), (Rgb([0.86, 0.10, 0.14]), triangles(red))]
}

/// Edges of some cells, each once.
fn cell_edges(data: &MeshData, cells: &[u32]) -> Vec<[u32; 2]> {
    let mut wanted: Vec<u32> = cells.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.truncate(MAX_MARKS);
    let mut wanted = wanted.into_iter().peekable();
    let mut chosen = MeshData { points: Vec::new(), ..MeshData::default() };
    for (number, (shape, nodes)) in data.cells().enumerate() {
        if wanted.next_if_eq(&(number as u32)).is_some() {
            chosen.push_cell(shape, nodes);
        }
    }
    sinew_scene::inspect::edges_of(&chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_geometry::procedural::box_hexes;

    fn redness(image: &Image) -> usize {
        image.pixels.chunks_exact(3).filter(|p| p[0] > 150 && p[1] < 70 && p[2] < 80).count()
    }

    #[test]
    fn marks_show_and_nothing_can_stop_a_picture() {
        let data = MeshData::from(&box_hexes(Vec3::splat(0.1), [3, 3, 3]).unwrap());
        let size = [160, 120];
        let plain = mesh_picture(&data, &MeshPicture { size, ..MeshPicture::default() }).unwrap();
        let inner = MeshPicture { size, marked_cells: &[13], rings: &[Vec3::splat(0.05)], ..MeshPicture::default() };
        let marked = mesh_picture(&data, &inner).unwrap();
        assert!(redness(&plain) == 0 && redness(&marked) > 50, "{} {}", redness(&plain), redness(&marked));
        assert!(mesh_picture(&MeshData::default(), &inner).is_none());
        let mut flat = data.clone();
        flat.points.iter_mut().for_each(|p| *p = Vec3::zero());
        let beyond = MeshPicture { marked_cells: &[99], marked_edges: &[[Vec3::splat(f64::NAN); 2]], ..inner };
        assert!(mesh_picture(&flat, &beyond).is_some());
    }

    /// The picture does not depend on the position and the unit of the mesh.
    #[test]
    fn far_away_meshes_are_not_torn() {
        let near = MeshData::from(&box_hexes(Vec3::splat(0.125), [2, 2, 2]).unwrap());
        let mut far = near.clone();
        far.points.iter_mut().for_each(|p| *p += Vec3::splat(4096.0));
        let picture = MeshPicture { size: [80, 60], ..MeshPicture::default() };
        assert_eq!(mesh_picture(&near, &picture), mesh_picture(&far, &picture));
    }
}
