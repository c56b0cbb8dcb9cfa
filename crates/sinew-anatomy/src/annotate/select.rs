//! Cells, faces and nodes inside of something.

use sinew_geometry::CellMesh;
use sinew_geometry::mesh::WindingNumber;
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};

use crate::{Labels, Solid};

/// Something with an inside, by which parts of a mesh are chosen.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// A solid: primitives, distance fields and what is made of them.
    Solid(&'a dyn Solid),
    /// A closed surface, by its winding number.
    Surface(&'a WindingNumber),
    /// Voxels with one of these labels.
    Labels {
        /// The image.
        labels: &'a Labels<'a>,
        /// The labels that count as inside.
        values: &'a [u16],
    },
}

/// Where voxels are, from points of the world.
struct VoxelsOfWorld {
    inverse: Mat3,
    origin: Vec3,
}

impl Part<'_> {
    /// Whether each point is inside.
    fn contains_all(&self, points: &[Vec3]) -> Vec<bool> {
        match self {
            Self::Solid(solid) => points.par_iter().map(|p| solid.distance(*p) <= 0.0).collect(),
            Self::Surface(winding) => points.par_iter().map(|p| winding.is_inside(*p)).collect(),
            Self::Labels { labels, values } => {
                let grid = &labels.grid;
                let place = VoxelsOfWorld { inverse: grid.axes.inverse(), origin: grid.origin };
                let is_inside = |p: &Vec3| label_at(labels, &place, *p).is_some_and(|label| values.contains(&label));
                points.par_iter().map(is_inside).collect()
            }
        }
    }
}

/// Label of the voxel around a point; `None` outside of the image.
fn label_at(labels: &Labels<'_>, place: &VoxelsOfWorld, p: Vec3) -> Option<u16> {
    let at = (place.inverse * (p - place.origin)).map(f64::round).to_array();
    let size = labels.grid.size;
    let is_inside = (0..3).all(|k| at[k] >= 0.0 && at[k] < size[k] as f64);
    is_inside.then(|| labels.voxels.get(labels.grid.index(at.map(|i| i as usize))).copied()).flatten()
}

/// Middle of the corners of each cell \[m\].
pub(super) fn centers(mesh: &CellMesh) -> Vec<Vec3> {
    let center = |nodes: &[u32]| nodes.iter().map(|n| mesh.positions()[*n as usize]).sum::<Vec3>() / nodes.len() as f64;
    mesh.cells().map(|(kind, nodes)| center(&nodes[..kind.corners_per_cell()])).collect()
}

fn chosen(inside: &[bool]) -> Vec<u32> {
    (0..inside.len() as u32).filter(|i| inside[*i as usize]).collect()
}

/// Cells whose middle is inside, ascending.
pub fn cells_in(mesh: &CellMesh, part: &Part<'_>) -> Vec<u32> {
    chosen(&part.contains_all(&centers(mesh)))
}

/// Nodes that are inside, ascending.
pub fn nodes_in(mesh: &CellMesh, part: &Part<'_>) -> Vec<u32> {
    chosen(&part.contains_all(mesh.positions()))
}

/// Boundary triangles whose middle is inside.
pub fn boundary_faces_in(mesh: &CellMesh, part: &Part<'_>) -> Vec<[u32; 3]> {
    let triangles = mesh.boundary_triangles();
    let middle = |t: &[u32; 3]| t.iter().map(|n| mesh.positions()[*n as usize]).sum::<Vec3>() / 3.0;
    let inside = part.contains_all(&triangles.iter().map(middle).collect::<Vec<_>>());
    triangles.into_iter().zip(inside).filter(|(_, inside)| *inside).map(|(t, _)| t).collect()
}

/// What a part of a muscle is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tissue {
    /// Fibers that contract.
    #[default]
    Muscle,
    /// Passive and stiff along its fibers, from muscle to bone.
    Tendon,
    /// A sheet of tendon on or in a muscle.
    Aponeurosis,
}

impl Tissue {
    /// All tissues.
    pub const ALL: [Self; 3] = [Self::Muscle, Self::Tendon, Self::Aponeurosis];

    /// Name of the set of cells.
    pub fn set_name(self) -> &'static str {
        match self {
            Self::Muscle => "muscle",
            Self::Tendon => "tendon",
            Self::Aponeurosis => "aponeurosis",
        }
    }
}

/// Tissue of each cell: that of the last part which holds its middle, muscle where none does.
pub fn tissue_of_cells(mesh: &CellMesh, parts: &[(Tissue, Part<'_>)]) -> Vec<Tissue> {
    let centers = centers(mesh);
    let mut tissues = vec![Tissue::Muscle; mesh.cell_count()];
    for (tissue, part) in parts {
        let inside = part.contains_all(&centers);
        tissues.iter_mut().zip(inside).filter(|(_, inside)| *inside).for_each(|(slot, _)| *slot = *tissue);
    }
    tissues
}

/// The same mesh with a set of cells for each tissue that it has, named by [`Tissue::set_name`].
pub fn with_tissues(mesh: CellMesh, tissues: &[Tissue]) -> Result<CellMesh, super::AnnotateError> {
    if tissues.len() != mesh.cell_count() {
        let (what, expected, found) = ("tissues of cells", mesh.cell_count(), tissues.len());
        return Err(super::AnnotateError::WrongCount { what, expected, found });
    }
    let mut mesh = mesh;
    for tissue in Tissue::ALL {
        let cells: Vec<u32> = (0..tissues.len() as u32).filter(|cell| tissues[*cell as usize] == tissue).collect();
        if !cells.is_empty() {
            mesh = mesh.with_cell_set(tissue.set_name(), cells)?;
        }
    }
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use sinew_geometry::procedural::{TetPattern, box_surface, box_tets};
    use sinew_geometry::shape::Sphere;
    use sinew_geometry::{Aabb, VoxelGrid};

    use super::*;
    use crate::solid::Bounded;

    fn brick() -> CellMesh {
        box_tets(Vec3::new(0.4, 0.2, 0.2), [8, 4, 4], TetPattern::Kuhn).unwrap()
    }

    /// The half x < 0.2, as a surface and as labels of a mirrored image: both choose the same cells.
    #[test]
    fn surfaces_and_labels_choose_the_cells_inside() {
        let mesh = brick();
        let half = box_surface(Vec3::new(0.2, 0.2, 0.2), [1; 3]).unwrap();
        let winding = half.winding_numbers();
        let by_surface = cells_in(&mesh, &Part::Surface(&winding));
        let middles = centers(&mesh);
        let expected: Vec<u32> = (0..mesh.cell_count() as u32).filter(|c| middles[*c as usize].x < 0.2).collect();
        assert_eq!(by_surface, expected);

        // Voxels of 0.1, the first axis pointing to −x: labels 7 are at x < 0.2.
        let axes = Mat3::diagonal(Vec3::new(-0.1, 0.1, 0.1));
        let grid = VoxelGrid { size: [4, 2, 2], origin: Vec3::new(0.35, 0.05, 0.05), axes };
        let voxels: Vec<u16> = (0..16).map(|i| if i % 4 >= 2 { 7 } else { 3 }).collect();
        let labels = Labels { grid, voxels: &voxels };
        assert_eq!(cells_in(&mesh, &Part::Labels { labels: &labels, values: &[7] }), expected);
        assert_eq!(cells_in(&mesh, &Part::Labels { labels: &labels, values: &[3, 7] }).len(), mesh.cell_count());
    }

    #[test]
    fn the_last_part_decides_and_each_tissue_is_a_set() {
        let mesh = brick();
        let bounds = Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        let large = Bounded { shape: Sphere::new(0.3).unwrap(), bounds };
        let small = Bounded { shape: Sphere::new(0.15).unwrap(), bounds };
        let parts = [(Tissue::Tendon, Part::Solid(&large)), (Tissue::Aponeurosis, Part::Solid(&small))];
        let tissues = tissue_of_cells(&mesh, &parts);
        for (x, tissue) in centers(&mesh).iter().zip(&tissues) {
            let expected = match x.norm() {
                r if r <= 0.15 => Tissue::Aponeurosis,
                r if r <= 0.3 => Tissue::Tendon,
                _ => Tissue::Muscle,
            };
            assert_eq!(*tissue, expected);
        }
        let cells = mesh.cell_count();
        let mesh = with_tissues(mesh, &tissues).unwrap();
        assert_eq!(mesh.cell_sets().values().map(Vec::len).sum::<usize>(), cells);
        assert!(nodes_in(&mesh, &Part::Solid(&small)).iter().all(|n| mesh.positions()[*n as usize].norm() <= 0.15));
        let faces = boundary_faces_in(&mesh, &Part::Solid(&small));
        assert!(!faces.is_empty() && faces.len() < mesh.boundary_triangles().len());
        assert!(with_tissues(mesh, &tissues[1..]).is_err());
    }
}
