//! The lattice over a closed surface.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::columns::Columns;
use super::cuts::{Cuts, edges_in_face, passes_face};
use super::hex_lattice::HexLattice;
use super::nodes::{NodeMerger, Seed};
use super::options::Demand;
use super::parts::{CubeParts, FACE_LINES, NONE, PartFinder};
use super::{LatticeError, LatticeOptions, LatticeReport, MAX_CUBES};
use crate::fill::{CubeGrid, Enclosure, inspect};
use crate::mesh::{Aabb, Components, NodeCells, TriMesh};

/// A closed surface with a volume below this fraction of area × diameter is flat, up to rounding.
const FLAT: f64 = 1e-14;

/// A surface covered by cubes.
#[derive(Clone, Debug, PartialEq)]
pub struct LatticeFilling {
    /// The lattice.
    pub lattice: HexLattice,
    /// The vertices of the surface, bound to the copies that contain their flesh.
    pub embedding: Vec<LatticePoint>,
    /// Defects of the surface, and statistics of the lattice.
    pub report: LatticeReport,
}

/// A point bound to a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatticePoint {
    /// The cell.
    pub cell: u32,
    /// Trilinear coordinates in the cell, in 0..1 up to 10⁻⁸; outside that range only for vertices that no triangle
    /// uses.
    pub local: [f64; 3],
}

impl LatticePoint {
    /// Weights of the eight corners of the cell.
    pub fn weights(&self) -> [f64; 8] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(|corner: usize| {
            (0..3).map(|axis| if corner >> axis & 1 == 1 { self.local[axis] } else { 1.0 - self.local[axis] }).product()
        })
    }
}

/// Intermediate data between the surface and the numbering of its cells.
struct Body<'a> {
    grid: &'a CubeGrid,
    surface: &'a TriMesh,
    cuts: &'a Cuts,
    parts: &'a [CubeParts],
    /// First cell of each cube, or [`NONE`].
    first_cell: Vec<u32>,
}

impl HexLattice {
    /// Covers a closed surface with cubes of size `cell` \[m\]: all that overlap the body, in a lattice centered on it.
    ///
    /// ```
    /// use sinew_geometry::lattice::{HexLattice, LatticeOptions};
    /// use sinew_geometry::procedural::sphere_surface;
    ///
    /// let sphere = sphere_surface(0.05, 0.01)?;
    /// let filling = HexLattice::from_surface(&sphere, 0.01, &LatticeOptions::default())?;
    /// assert_eq!(filling.report.split_cubes, 0);
    /// assert!((filling.lattice.volume() / sphere.volume() - 1.0).abs() < 0.01);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_surface(
        surface: &TriMesh,
        cell: f64,
        options: &LatticeOptions,
    ) -> Result<LatticeFilling, LatticeError> {
        if !(cell > 0.0 && cell.is_finite()) {
            return Err(LatticeError::CellSize { cell });
        }
        let bounds = surface.bounds();
        // Of open surfaces any volume may come out.
        let (area, volume) = (surface.area(), surface.volume().abs().min(bounds.size().to_array().iter().product()));
        Demand { size: bounds.size(), area, volume }.check(cell, options)?;
        let counts = CubeGrid::counts(bounds.size(), cell, 0.0);
        let grid = CubeGrid::centered(&bounds, cell, counts).ok_or(LatticeError::CellSize { cell })?;

        let (welded, welded_vertices) = surface.welded()?;
        let mut report = inspect(surface, &welded, options.repair)?;
        report.welded_vertices = welded_vertices;
        let enclosure = report.enclosure();
        let winding = welded.winding_numbers();
        let cuts = Cuts::new(&grid, &welded);
        let mut is_whole = grid.inside(|index| cuts.is_wall[index], &winding, enclosure);
        for cube in &cuts.cubes {
            is_whole[*cube as usize] = false;
        }
        // A cube that the surface only touches is entirely inside or outside.
        is_whole.par_iter_mut().enumerate().filter(|(index, _)| cuts.is_wall[*index]).for_each(|(index, is_whole)| {
            if cuts.cut_of(index).is_none() {
                *is_whole = winding.is_inside(grid.position(grid.cube(index).map(|i| 2 * i + 1)));
            }
        });

        let columns = Columns::new(&grid, &welded, &winding, enclosure);
        let parts: Vec<CubeParts> = (0..cuts.cubes.len())
            .into_par_iter()
            .map_init(
                || PartFinder::new(&grid, &welded, &columns, &cuts),
                |finder, cut| if options.separate { finder.find(cut) } else { finder.find_as_one(cut) },
            )
            .collect();
        drop(columns);
        let has_inside = parts.iter().any(|parts| parts.has_inside) || is_whole.contains(&true);
        let is_solid = enclosure == Enclosure::Watertight && volume > FLAT * area * bounds.diagonal();
        if !(has_inside || is_solid) {
            return Err(LatticeError::NothingInside);
        }

        let (seeds, first_cell) = number_cells(&grid, &cuts, &parts, &is_whole)?;
        let body = Body { grid: &grid, surface: &welded, cuts: &cuts, parts: &parts, first_cell };
        let mut merger = NodeMerger::new(seeds);
        if options.separate {
            body.join(&mut merger, &is_whole);
        } else {
            merger.join_places(grid.cubes);
        }
        let (lattice, cell_of) = merger.into_lattice(grid.origin, cell, grid.cubes);

        let inwards = if report.is_inside_out { 1.0 } else { -1.0 };
        let (embedding, unused_vertices) = body.bind(surface, inwards, &cell_of);
        report.lattice_volume = lattice.cells.chunk_by(|a, b| a.place == b.place).count() as f64 * cell.powi(3);
        report.component_count =
            Components::new(lattice.node_places.len(), lattice.cells.iter().map(|cell| cell.nodes.as_slice())).count;
        let split_cubes = lattice.cells.chunk_by(|a, b| a.place == b.place).filter(|copies| copies.len() > 1).count();
        let report = LatticeReport { surface: report, cut_cubes: cuts.cubes.len(), split_cubes, unused_vertices };
        Ok(LatticeFilling { lattice, embedding, report })
    }
}

/// The cells in the order of their cubes, and the first cell of each cube.
fn number_cells(
    grid: &CubeGrid,
    cuts: &Cuts,
    parts: &[CubeParts],
    is_whole: &[bool],
) -> Result<(Vec<Seed>, Vec<u32>), LatticeError> {
    let count = parts.iter().map(|parts| parts.fractions.len()).sum::<usize>();
    let count = count + is_whole.iter().filter(|is_whole| **is_whole).count();
    if count > MAX_CUBES {
        let fitting = 2.0 * grid.cell;
        return Err(LatticeError::TooManyCells { cells: count as f64, limit: MAX_CUBES, fitting });
    }
    let mut seeds = Vec::with_capacity(count);
    let mut first_cell = vec![NONE; is_whole.len()];
    let mut cut = 0;
    for (index, is_whole) in is_whole.iter().enumerate() {
        let place = grid.cube(index).map(|i| i as u32);
        if cuts.cubes.get(cut) == Some(&(index as u32)) {
            first_cell[index] = seeds.len() as u32;
            seeds.extend(parts[cut].fractions.iter().map(|fraction| Seed { place, fraction: *fraction }));
            cut += 1;
        } else if *is_whole {
            first_cell[index] = seeds.len() as u32;
            seeds.push(Seed { place, fraction: 1.0 });
        }
    }
    Ok((seeds, first_cell))
}

impl Body<'_> {
    /// Joins the nodes of all cells whose flesh is connected across a face.
    fn join(&self, merger: &mut NodeMerger, is_whole: &[bool]) {
        for index in (0..is_whole.len()).filter(|index| is_whole[*index]) {
            for axis in 0..3 {
                let next = self.grid.next(self.grid.cube(index), axis).map(|cube| self.grid.index(cube));
                if let Some(next) = next.filter(|next| is_whole[*next]) {
                    merger.join_faces(axis, self.first_cell[index], self.first_cell[next]);
                }
            }
        }
        let links: Vec<(usize, u32, u32)> = (0..self.cuts.cubes.len())
            .into_par_iter()
            .flat_map_iter(|cut| {
                let mut links = Vec::new();
                for axis in 0..3 {
                    self.link_whole(cut, axis, is_whole, &mut links);
                    self.link_cut(cut, axis, &mut links);
                }
                links.sort_unstable();
                links.dedup();
                links
            })
            .collect();
        for (axis, a, b) in links {
            merger.join_faces(axis, a, b);
        }
    }

    /// Links the parts of a cut cube with the uncut cubes beside it wherever a line passes their common face.
    fn link_whole(&self, cut: usize, axis: usize, is_whole: &[bool], links: &mut Vec<(usize, u32, u32)>) {
        let cube = self.grid.cube(self.cuts.cubes[cut] as usize);
        let own = self.first_cell[self.cuts.cubes[cut] as usize];
        let mut below = cube;
        below[axis] = below[axis].wrapping_sub(1);
        let neighbors = [(0, (cube[axis] > 0).then_some(below)), (1, self.grid.next(cube, axis))];
        for (side, neighbor) in neighbors {
            let Some(neighbor) = neighbor.map(|cube| self.grid.index(cube)).filter(|index| is_whole[*index]) else {
                continue;
            };
            let other = self.first_cell[neighbor];
            for part in self.parts[cut].face_parts[2 * axis + side].iter().filter(|part| **part != NONE) {
                links.push(if side == 0 { (axis, other, own + part) } else { (axis, own + part, other) });
            }
        }
    }

    /// Links the parts of a cut cube with those of the next cut cube wherever a line or a triangle passes their common
    /// face.
    ///
    /// Flesh on a face either covers it, so that all lines pass, or ends at a triangle that passes the face as well, or
    /// at an edge in it.
    fn link_cut(&self, cut: usize, axis: usize, links: &mut Vec<(usize, u32, u32)>) {
        let cube = self.grid.cube(self.cuts.cubes[cut] as usize);
        let Some(next) = self.grid.next(cube, axis).map(|cube| self.grid.index(cube)) else { return };
        let Some(next_cut) = self.cuts.cut_of(next) else { return };
        let (own, other) = (self.first_cell[self.cuts.cubes[cut] as usize], self.first_cell[next]);
        let (parts, next_parts) = (&self.parts[cut], &self.parts[next_cut]);
        for line in 0..FACE_LINES {
            let (a, b) = (parts.face_parts[2 * axis + 1][line], next_parts.face_parts[2 * axis][line]);
            if a != NONE && b != NONE {
                links.push((axis, own + a, other + b));
            }
        }
        let bounds = self.grid.bounds(cube);
        let (triangles, next_triangles) = (self.cuts.triangles(cut), self.cuts.triangles(next_cut));
        let touch = self.grid.touch();
        let mut last = None;
        for (local, triangle) in triangles.iter().enumerate() {
            let link_to = |next_local: usize| {
                (axis, own + parts.part_of_triangle[local], other + next_parts.part_of_triangle[next_local])
            };
            if let Ok(next_local) = next_triangles.binary_search(triangle) {
                // Most triangles give the same link as the previous one.
                let link = link_to(next_local);
                if last != Some(link) && passes_face(self.surface.corners(*triangle as usize), &bounds, axis, touch) {
                    links.push(link);
                    last = Some(link);
                }
            }
            for edge in edges_in_face(self.surface, *triangle, &bounds, axis, touch) {
                let has_edge = |t: &u32| edge.iter().all(|v| self.surface.triangles()[*t as usize].contains(v));
                links.extend(next_triangles.iter().position(has_edge).map(link_to));
            }
        }
    }

    /// Binds the vertices of the input surface, and counts those that no triangle uses.
    fn bind(&self, given: &TriMesh, inwards: f64, cell_of: &[u32]) -> (Vec<LatticePoint>, usize) {
        let (_, welded_of) = given.weld();
        let normals = self.surface.normals(self.surface.positions());
        let triangles =
            NodeCells::new(self.surface.vertex_count(), self.surface.triangles().iter().map(<[u32; 3]>::as_slice));
        let bind = |vertex: usize| {
            let welded = welded_of[vertex] as usize;
            let p = given.positions()[vertex];
            let cell = self.cell_at(p, normals[welded] * inwards, triangles.cells(welded));
            let cube = cell.map_or_else(|| self.lone_cube(), |(cube, _)| cube);
            let cell = cell.map_or(0, |(_, cell)| cell_of[cell as usize]);
            let place = (p - self.grid.origin) / self.grid.cell;
            LatticePoint { cell, local: [0, 1, 2].map(|axis| place[axis] - cube[axis] as f64) }
        };
        let points = (0..given.vertex_count()).into_par_iter().map(bind).collect();
        let is_unused = |vertex: &u32| triangles.cells(*vertex as usize).is_empty();
        (points, welded_of.iter().filter(|vertex| is_unused(vertex)).count())
    }

    /// The first cube that has a cell.
    fn lone_cube(&self) -> [usize; 3] {
        self.grid.cube(self.first_cell.iter().position(|cell| *cell != NONE).unwrap_or(0))
    }

    /// Cube and cell of a vertex: the part bounded by one of its triangles, otherwise any cell there.
    fn cell_at(&self, p: Vec3, inwards: Vec3, triangles: &[u32]) -> Option<([usize; 3], u32)> {
        let touch = self.grid.touch();
        let (low, high) = self.grid.range(&Aabb::from_points(&[p]).grown(2.0 * touch));
        // A vertex between cubes belongs to the one on the inner side.
        let inner = self.grid.cube_of(p + inwards * touch);
        let around =
            (0..8_usize).map(|k| [0, 1, 2].map(|axis| if k >> axis & 1 == 1 { high[axis] } else { low[axis] }));
        let cubes = std::iter::once(inner).chain(around);
        let bounded = |cube: [usize; 3]| {
            let cut = self.cuts.cut_of(self.grid.index(cube))?;
            let local = triangles.iter().find_map(|t| self.cuts.triangles(cut).binary_search(t).ok())?;
            Some((cube, self.first_cell[self.grid.index(cube)] + self.parts[cut].part_of_triangle[local]))
        };
        let any = |cube: [usize; 3]| {
            let cell = self.first_cell[self.grid.index(cube)];
            (cell != NONE).then_some((cube, cell))
        };
        // Distant vertices that no triangle uses would be pulled to the boundary of the lattice.
        let is_near = self.grid.bounds(inner).grown(2.0 * touch).contains(p);
        cubes.clone().find_map(bounded).or_else(|| cubes.clone().find_map(any)).filter(|_| is_near)
    }
}
