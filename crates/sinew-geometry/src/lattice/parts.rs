//! The parts of the body in one cut cube.
//!
//! Every part is bounded by at least one surface patch in the cube, so the question is which patches bound the same
//! flesh. Two patches do if something inside the body connects them without crossing the surface: a line of
//! [`Columns`], lines that meet in a sample, or a segment from a patch to a sample or to another patch. Each of these
//! is a proof, so separate parts never stick, however thin the gap. Flesh that is crooked and narrower than the line
//! spacing in two directions may be missed; its cube then has one copy too many, and these copies still connect to
//! their neighbors.

use sinew_math::Vec3;

use super::columns::{Columns, LINES, Spans};
use super::cuts::{Cuts, middle_in_box, patches};
use crate::fill::CubeGrid;
use crate::mesh::{Aabb, TriMesh, find_root, segment_meets_triangle, triangle_normal};

/// Marks a missing part.
pub(super) const NONE: u32 = u32::MAX;

/// Fraction of a cell for parts that no line meets: less than one line through a tenth of the cell, but not zero.
const MIN_FRACTION: f32 = 1e-3;

/// Triangles of a patch from which to search: enough for curved patches, few enough to stay cheap.
const PROBES: usize = 8;

/// Sine of the smallest angle at which a segment leaves a surface. With smaller angles, rounding would decide whether a
/// segment passes above or below other geometry in the plane of the surface, such as the edges of a stack of sheets.
const GRAZING: f64 = 1e-6;

/// Lines of one direction through a cube, hence through each of its faces.
pub(super) const FACE_LINES: usize = LINES * LINES;

/// The parts of the body in one cut cube.
pub(super) struct CubeParts {
    /// For each triangle of the cube, the part that it bounds.
    pub part_of_triangle: Vec<u32>,
    /// For each part, the fraction of the cube that it fills.
    pub fractions: Vec<f32>,
    /// For each face (2 · axis, plus one for the upper side) and each line through it, the part that contains the
    /// crossing, or [`NONE`].
    pub face_parts: [[u32; FACE_LINES]; 6],
    /// Whether any line was inside.
    pub has_inside: bool,
}

/// A segment of a line, and its index among all joined items.
struct Piece {
    from: f64,
    to: f64,
    element: u32,
    /// Number of surface crossings.
    crossings: usize,
}

/// Finds the parts of cubes; holds only scratch memory.
pub(super) struct PartFinder<'a> {
    grid: &'a CubeGrid,
    surface: &'a TriMesh,
    columns: &'a Columns<'a>,
    cuts: &'a Cuts,
    spans: Spans,
    pieces: Vec<Piece>,
    /// First segment of each line, line by line and axis by axis, and the end.
    first_piece: Vec<usize>,
    /// Forest over the triangles of the cube, then the segments.
    parent: Vec<u32>,
}

impl<'a> PartFinder<'a> {
    pub fn new(grid: &'a CubeGrid, surface: &'a TriMesh, columns: &'a Columns<'a>, cuts: &'a Cuts) -> Self {
        let (spans, pieces, first_piece, parent) = (Spans::default(), Vec::new(), Vec::new(), Vec::new());
        Self { grid, surface, columns, cuts, spans, pieces, first_piece, parent }
    }

    /// The parts in the n-th cut cube.
    pub fn find(&mut self, cut: usize) -> CubeParts {
        let bounds = self.grid.bounds(self.grid.cube(self.cuts.cubes[cut] as usize));
        let patch_of = patches(self.surface, self.cuts.triangles(cut), &bounds, self.grid.touch());
        self.find_from(cut, &patch_of)
    }

    /// The whole interior of the n-th cut cube as one part.
    pub fn find_as_one(&mut self, cut: usize) -> CubeParts {
        self.find_from(cut, &vec![0; self.cuts.triangles(cut).len()])
    }

    fn find_from(&mut self, cut: usize, patch_of: &[u32]) -> CubeParts {
        let triangles = self.cuts.triangles(cut);
        let cube = self.grid.cube(self.cuts.cubes[cut] as usize);
        let bounds = self.grid.bounds(cube);
        self.parent.clear();
        self.parent.extend_from_slice(patch_of);
        let is_single = self.parent.iter().all(|patch| *patch == 0);

        let mut face_parts = [[NONE; FACE_LINES]; 6];
        self.add_lines(cube, &bounds, triangles, &mut face_parts);
        if is_single {
            // Every part is bounded by a patch, so one patch means one part.
            self.parent.fill(0);
        } else {
            let samples = self.join_samples(cube);
            if self.set_count() > 1 {
                self.join_patches(&bounds, triangles, patch_of, &samples);
            }
        }
        self.collect(triangles.len(), face_parts)
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (find_root(&mut self.parent, a), find_root(&mut self.parent, b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    fn set_count(&self) -> usize {
        self.parent.iter().enumerate().filter(|(element, parent)| *element == **parent as usize).count()
    }

    /// Adds the inner segments of all lines, each joined with the triangles that it meets.
    fn add_lines(&mut self, cube: [usize; 3], bounds: &Aabb, triangles: &[u32], faces: &mut [[u32; FACE_LINES]; 6]) {
        let touch = self.grid.touch();
        self.pieces.clear();
        self.first_piece.clear();
        for axis in 0..3 {
            for line in 0..FACE_LINES {
                self.first_piece.push(self.pieces.len());
                let mut spans = std::mem::take(&mut self.spans);
                self.columns.inside(cube, axis, line, &mut spans);
                for span in &spans.spans {
                    let element = self.parent.len() as u32;
                    self.parent.push(element);
                    for triangle in &spans.triangles[span.triangles.0..span.triangles.1] {
                        if let Ok(local) = triangles.binary_search(triangle) {
                            self.join(element, local as u32);
                        }
                    }
                    if span.from <= bounds.min[axis] + touch {
                        faces[2 * axis][line] = element;
                    }
                    if span.to >= bounds.max[axis] - touch {
                        faces[2 * axis + 1][line] = element;
                    }
                    let crossings = span.triangles.1 - span.triangles.0;
                    self.pieces.push(Piece { from: span.from, to: span.to, element, crossings });
                }
                self.spans = spans;
            }
        }
        self.first_piece.push(self.pieces.len());
    }

    /// Joins the lines that meet inside the body; returns the inside samples, each with one of its segments.
    fn join_samples(&mut self, cube: [usize; 3]) -> Vec<(Vec3, u32)> {
        let mut samples = Vec::new();
        for index in 0..LINES.pow(3) {
            let sample = [index / LINES / LINES, index / LINES % LINES, index % LINES];
            let x = self.columns.sample(cube, sample);
            let mut first = NONE;
            for axis in 0..3 {
                let line = axis * FACE_LINES + Columns::line_through(axis, sample);
                let pieces = &self.pieces[self.first_piece[line]..self.first_piece[line + 1]];
                let Some(piece) = pieces.iter().find(|p| p.from < x[axis] && x[axis] < p.to) else { continue };
                let element = piece.element;
                if first == NONE {
                    first = element;
                    samples.push((x, element));
                } else {
                    self.join(first, element);
                }
            }
        }
        samples
    }

    /// Connects points of each patch with visible inner samples, or with other patches if no sample is visible.
    fn join_patches(&mut self, bounds: &Aabb, triangles: &[u32], patch_of: &[u32], samples: &[(Vec3, u32)]) {
        let corners: Vec<[Vec3; 3]> = triangles.iter().map(|t| self.surface.corners(*t as usize)).collect();
        let is_visible = |p: Vec3, q: Vec3, skipped: [usize; 2]| {
            let meets = |(t, x): (usize, &[Vec3; 3])| !skipped.contains(&t) && segment_meets_triangle(p, q, *x);
            skipped.iter().all(|t| rises(q - p, corners[*t])) && !corners.iter().enumerate().any(meets)
        };
        // Starting points: some triangles of each patch, spread evenly over their list.
        let mut sizes = vec![0_usize; triangles.len()];
        for patch in patch_of {
            sizes[*patch as usize] += 1;
        }
        let mut seen = vec![0_usize; triangles.len()];
        let mut probes: Vec<(Vec3, usize)> = Vec::new();
        for (local, patch) in patch_of.iter().enumerate() {
            let (size, nth) = (sizes[*patch as usize], seen[*patch as usize]);
            seen[*patch as usize] += 1;
            if size <= PROBES || nth * PROBES / size != (nth + 1) * PROBES / size {
                probes.extend(middle_in_box(corners[local], bounds).map(|p| (p, local)));
            }
        }

        let mut is_lonely = vec![true; triangles.len()];
        let mut order: Vec<usize> = (0..samples.len()).collect();
        for (p, local) in &probes {
            order.sort_unstable_by(|a, b| {
                samples[*a].0.distance(*p).total_cmp(&samples[*b].0.distance(*p)).then(a.cmp(b))
            });
            // The segment to an inner sample crosses nothing, so it is inside as well.
            if let Some(sample) = order.iter().find(|s| is_visible(*p, samples[**s].0, [*local; 2])) {
                self.join(*local as u32, samples[*sample].1);
                is_lonely[patch_of[*local] as usize] = false;
            }
        }
        for (p, a) in probes.iter().filter(|(_, local)| is_lonely[patch_of[*local] as usize]) {
            for (q, b) in &probes {
                let roots = (find_root(&mut self.parent, *a as u32), find_root(&mut self.parent, *b as u32));
                if roots.0 != roots.1 && is_visible(*p, *q, [*a, *b]) && self.columns.is_inside(p.lerp(*q, 0.5)) {
                    self.join(roots.0, roots.1);
                }
            }
        }
    }

    /// Numbers the remaining sets.
    fn collect(&mut self, triangle_count: usize, mut face_parts: [[u32; FACE_LINES]; 6]) -> CubeParts {
        let mut number = vec![NONE; self.parent.len()];
        let mut part_of = Vec::with_capacity(self.parent.len());
        let mut count = 0;
        for element in 0..self.parent.len() as u32 {
            let root = find_root(&mut self.parent, element) as usize;
            if number[root] == NONE {
                number[root] = count;
                count += 1;
            }
            part_of.push(number[root]);
        }
        // For each part and direction, the length inside and the number of crossings.
        let mut lengths = vec![[(0.0, 0); 3]; count as usize];
        for axis in 0..3 {
            let (begin, end) = (axis * FACE_LINES, (axis + 1) * FACE_LINES);
            for piece in &self.pieces[self.first_piece[begin]..self.first_piece[end]] {
                let (length, crossings) = &mut lengths[part_of[piece.element as usize] as usize][axis];
                *length += piece.to - piece.from;
                *crossings += piece.crossings;
            }
        }
        let whole = FACE_LINES as f64 * self.grid.cell;
        let fractions = lengths.iter().map(|directions| (mean_length(directions) / whole) as f32);
        let fractions = fractions.map(|fraction| fraction.clamp(MIN_FRACTION, 1.0)).collect();
        for part in face_parts.as_flattened_mut().iter_mut().filter(|part| **part != NONE) {
            *part = part_of[*part as usize];
        }
        part_of.truncate(triangle_count);
        CubeParts { part_of_triangle: part_of, fractions, face_parts, has_inside: !self.pieces.is_empty() }
    }
}

/// Whether a segment clearly leaves the plane of a triangle.
fn rises(segment: Vec3, triangle: [Vec3; 3]) -> bool {
    let normal = triangle_normal(triangle);
    normal.dot(segment).abs() > GRAZING * normal.norm() * segment.norm()
}

/// Mean of the lengths along three directions, weighted by the squares of their crossings.
///
/// Lines across a thin sheet measure its thickness; lines along it either hit or miss and carry little information.
fn mean_length(directions: &[(f64, usize); 3]) -> f64 {
    let is_crossed = directions.iter().any(|(_, crossings)| *crossings > 0);
    let weight = |crossings: usize| if is_crossed { (crossings as f64).powi(2) } else { 1.0 };
    let weights: f64 = directions.iter().map(|(_, crossings)| weight(*crossings)).sum();
    directions.iter().map(|(length, crossings)| length * weight(*crossings)).sum::<f64>() / weights
}
