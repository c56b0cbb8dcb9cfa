//! Facts about a mesh file for a new scene.

use std::collections::BTreeSet;

use sinew_geometry::{Aabb, TriMesh};
use sinew_io::{MeshData, ReadError, VolumeOptions};
use sinew_math::Vec3;

use super::{FLOOR, TemplateParams, length, material, quoted, rounded};
use crate::inspect::{diagnose, has_volume};
use crate::value::{format_number, format_size};

/// Facts about a mesh file.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFacts {
    /// Name of the body.
    pub name: String,
    /// Path of the file, as written in the scene.
    pub path: String,
    /// Whether its cells are simulated; otherwise its surface is filled.
    pub is_volume: bool,
    /// Whether the surface needs repair before it can be filled.
    pub needs_repair: bool,
    /// Factor on its coordinates.
    pub scale: f64,
    /// Bounds before scaling.
    pub bounds: Aabb,
    /// Edge of the cells that fill it, before scaling, rounded once it is scaled.
    pub cell: f64,
    /// Number of cells or faces.
    pub cell_count: usize,
    /// Named regions: name, and number of nodes, cells or faces.
    pub regions: Vec<(String, String)>,
    /// Labels of cells, with the number of cells of each.
    pub labels: Vec<(u32, usize)>,
}

/// The factor that makes the size of a body plausible, and the unit of the file that it implies.
///
/// Bodies and organs are between a few millimeters and three meters long. Larger numbers are millimeters, as in
/// scanners and most mesh programs, or micrometers.
pub fn plausible_scale(largest: f64) -> (f64, &'static str) {
    match largest {
        l if l <= 3.0 => (1.0, "meters"),
        l if l <= 3000.0 => (1e-3, "millimeters"),
        _ => (1e-6, "micrometers"),
    }
}

impl MeshFacts {
    /// Examines a mesh. `None` guesses `scale`.
    pub fn look(data: MeshData, name: &str, path: &str, scale: Option<f64>) -> Result<MeshFacts, ReadError> {
        let (point_count, cell_count) = (data.points.len(), data.cell_count());
        let is_volume = has_volume(&data);
        let diagnosis = (!is_volume).then(|| diagnose(&data));
        let mut facts = MeshFacts {
            name: body_name(name),
            path: path.into(),
            is_volume,
            needs_repair: diagnosis.is_some_and(|found| !found.is_usable()),
            scale: 1.0,
            bounds: Aabb::EMPTY,
            cell: 0.0,
            cell_count,
            regions: Vec::new(),
            labels: Vec::new(),
        };
        debug_assert!(point_count <= u32::MAX as usize);
        if is_volume {
            let mesh = data.into_volume(&VolumeOptions::default())?.mesh;
            facts.bounds = mesh.bounds();
            facts.cell_count = mesh.cell_count();
            let nodes = mesh.node_sets().iter().map(|(name, nodes)| (name.clone(), format!("{} nodes", nodes.len())));
            let cells = mesh.cell_sets().iter().map(|(name, cells)| (name.clone(), format!("{} cells", cells.len())));
            facts.regions = nodes.chain(cells).collect();
            let mut labels = mesh.cell_labels().to_vec();
            labels.sort_unstable();
            facts.labels = labels.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect();
        } else {
            let parts = data.into_surface(&BTreeSet::new())?;
            facts.bounds = parts.mesh.bounds();
            facts.cell = cell_edge(&parts.mesh, !facts.needs_repair);
            facts.cell_count = parts.mesh.triangle_count();
            facts.regions =
                parts.groups.iter().map(|(name, faces)| (name.clone(), format!("{} faces", faces.len()))).collect();
        }
        facts.labels.retain(|(label, count)| *label != 0 || *count < facts.cell_count);
        facts.scale = scale.unwrap_or_else(|| plausible_scale(facts.bounds.size().max_component()).0);
        Ok(facts)
    }

    /// Edge lengths of the scaled bounds \[m\].
    pub fn size(&self) -> Vec3 {
        self.bounds.size() * self.scale
    }
}

/// A name for a body: letters, digits, `_` and `-`.
fn body_name(text: &str) -> String {
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let name = name.trim_matches(['_', '-']);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name.into() } else { "body".into() }
}

/// Number of cells along the longest side of a filled surface: coarse enough to be quick, fine enough to look right.
const CELLS_ALONG: f64 = 10.0;

/// Maximum number of cubes of cells that a thin surface gets: some 12,000 tetrahedra, and what thin cells stick out.
const MAX_CUBES: f64 = 1000.0;

/// Edge of the cells that suit a surface.
///
/// A tenth of the longest side, but at most the volume over the area of a closed one: half of the thickness of a plate, a
/// quarter of that of a rod, so that thin bodies are not filled by cells thicker than they are.
fn cell_edge(surface: &TriMesh, is_closed: bool) -> f64 {
    let (volume, area) = (surface.volume(), surface.area());
    let even = surface.bounds().size().max_component() / CELLS_ALONG;
    let has_thickness = is_closed && volume > 0.0 && area > 0.0;
    if has_thickness { even.min((volume / area).max((volume / MAX_CUBES).cbrt())) } else { even }
}

/// Maximum number of regions that the comments list.
const LISTED: usize = 24;

/// The body of a mesh and the floor it falls on.
pub(super) fn body(facts: &MeshFacts, params: &TemplateParams) -> String {
    let size = facts.size();
    let largest = size.max_component();
    let mut text =
        String::from("[solver]\nsubsteps = 2                     # impacts need shorter steps\n\n[[body]]\n");
    text += &format!("name = \"{}\"\n", facts.name);
    if facts.is_volume {
        text +=
            &format!("mesh = {{ from = \"file\", file = {} }}   # {} cells\n", quoted(&facts.path), facts.cell_count);
    } else {
        let cell = length(rounded(facts.cell * facts.scale, 2));
        let repair = if facts.needs_repair { ", repair = \"winding\"" } else { "" };
        text += &format!(
            "mesh = {{ from = \"fill\", surface = {}, cell = \"{cell}\"{repair} }}   # smaller cells: finer and slower\n",
            quoted(&facts.path)
        );
        if facts.needs_repair {
            text += "# The surface is open or intersects itself (`sinew mesh check` shows where); \"winding\" fills it nevertheless.\n";
        }
    }
    if facts.scale != 1.0 {
        text += &format!(
            "scale = {}                   # the file is {}\n",
            format_number(facts.scale),
            unit_words(facts.scale)
        );
    }
    text += &format!("# Its size is {}.\n", format_size(size.to_array(), 3));
    // A fifth of its height above the floor, so that it falls for a short time.
    let lift = 0.2 * size.z.max(0.2 * largest) - facts.bounds.min.z * facts.scale;
    text += &format!("position = [0, 0, \"{}\"]\n{}", length(lift), material(params));
    text += &regions(facts);
    text + FLOOR
}

fn unit_words(scale: f64) -> String {
    match scale {
        1e-3 => "in millimeters".into(),
        1e-6 => "in micrometers".into(),
        1e-2 => "in centimeters".into(),
        other => format!("in units of {} m", format_number(other)),
    }
}

/// Comments on the regions of the file.
fn regions(facts: &MeshFacts) -> String {
    let example = facts.regions.first().map_or("z-min", |(name, _)| name.as_str());
    let mut text = String::from("#\n");
    if facts.regions.is_empty() && facts.labels.is_empty() {
        text += "# The file has no named regions. Every body has x-min, x-max, y-min, y-max, z-min, z-max, surface and all.\n";
    } else {
        text += "# Regions of the file, for `pin`, `probe`, `material_regions` …:\n";
        for (name, count) in facts.regions.iter().take(LISTED) {
            text += &format!("#   {}  {count}\n", quoted(name));
        }
        if facts.regions.len() > LISTED {
            text += &format!("#   … and {} more (`sinew mesh info`)\n", facts.regions.len() - LISTED);
        }
        for (label, count) in facts.labels.iter().take(LISTED) {
            text += &format!(
                "#   cells with label {label}: regions = {{ part-{label} = {{ label = {label} }} }}  {count} cells\n"
            );
        }
    }
    text + &format!("# pin = [{{ region = {} }}]     # holds a region in place\n", quoted(example))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_bodies_are_plain() {
        assert_eq!(body_name("my mesh (2)"), "my_mesh__2");
        assert_eq!(body_name("007"), "body");
    }

    /// A box by its eight corners, or without its bottom.
    fn cuboid(size: [f64; 3], is_closed: bool) -> TriMesh {
        let corner =
            |k: usize| Vec3::new(size[0] * (k & 1) as f64, size[1] * (k >> 1 & 1) as f64, size[2] * (k >> 2) as f64);
        let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [1, 3, 7, 5], [0, 4, 6, 2]];
        let sides = sides.into_iter().skip(usize::from(!is_closed));
        let triangles = sides.flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        TriMesh::new((0..8).map(corner).collect(), triangles).expect("a surface")
    }

    #[test]
    fn thin_bodies_get_cells_that_fit_into_them() {
        let even = |edge: f64, expected: f64| assert!((edge / expected - 1.0).abs() < 1e-12, "{edge}, not {expected}");
        even(cell_edge(&cuboid([0.1; 3], true), true), 0.01);
        // V/A of a rod of 1 × 1 × 10: 10 / 42.
        even(cell_edge(&cuboid([0.01, 0.01, 0.1], true), true), 0.01 * 10.0 / 42.0);
        // A plate would get too many.
        even(cell_edge(&cuboid([0.2, 0.2, 0.005], true), true), (0.2 * 0.2 * 0.005 / MAX_CUBES).cbrt());
        even(cell_edge(&cuboid([0.01, 0.01, 0.1], false), false), 0.01);
    }
}
