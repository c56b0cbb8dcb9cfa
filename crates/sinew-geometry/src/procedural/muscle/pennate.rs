//! Pennate muscles: straight fibers at one angle between flat, parallel sheets of tendon.
//!
//! With w between the sheets, fibers at the angle α are w / sin α long and extend w / tan α along the line of action.
//! All of them reach from sheet to sheet, so the belly is a parallelogram seen along z, and seen along y both ends of
//! every fiber have the same outline. Then force = stress × cross-section × cos α holds for every cut \[Chen92\].
//!
//! The outer sheets of a bipennate muscle diverge from their common tendon and leave a notch before the belly, filled
//! with soft flesh.

use sinew_math::Vec3;

use super::assembly::{Assembly, Tissue, Traits};
use super::profile::{smooth_step, stations, swelling};
use super::section::square_to_rounded;
use super::{MuscleError, MuscleParams};

/// Thickness of an aponeurosis at its tendon, as a fraction of the tendon's width. A sheet four tendons wide then has
/// about the area of the tendon.
const SHEET_THICKNESS: f64 = 0.25;
/// Fraction of its thickness that an outer sheet loses toward its free end: fewer fibers pull there.
const SHEET_TAPER: f64 = 0.5;
/// Width of belly and sheets at their ends as a fraction of that in the middle.
const END_WIDTH: f64 = 0.55;
/// Longest extent of a fiber along the line of action as a fraction of the belly; the rest is the length of the sheets.
const LONGEST_RUN: f64 = 0.75;
/// Fraction of the origin tendon of a bipennate muscle in which both sheets are merged.
const JOINED: f64 = 0.3;
/// Largest depth of the wedge at the start of the central sheet, as a fraction of its length.
const DEEPEST_EDGE: f64 = 0.5;
/// Angle \[rad\] between the halves of the origin tendon of a bipennate muscle in the first cell after the joint, about
/// three degrees: the filling between them becomes equally flat.
const SHARPEST_PARTING: f64 = 0.05;
/// Largest slope dy/dx of an outer sheet toward the line of action.
const STEEPEST: f64 = 2.5;

/// Cells in layers from one side of the muscle to the other; fibers of the belly run along y and x, those of the sheets
/// along x.
struct Plates<'a> {
    params: &'a MuscleParams,
    /// Cells along the sheets, and along z.
    along: usize,
    through: usize,
    /// For each line of nodes from side to side, its height y and its position x at both ends of the sheets \[m\].
    rows: Vec<Row>,
    /// Tissue between each row and the next.
    tissues: Vec<Tissue>,
    /// First row of the upper half of a bipennate muscle, whose fibers run downward; the number of rows in a unipennate
    /// one.
    first_upper: usize,
}

/// One line of nodes along the sheets.
#[derive(Clone, Copy)]
struct Row {
    /// y \[m\] of its inner edge, and its offset outward from it at the tendon end.
    height: f64,
    offset: f64,
    /// Start \[m\].
    start: f64,
    /// Shift of its first node along x \[m\]; it decreases in even steps to zero at the last node.
    lag: f64,
    /// Whether the sheet it belongs to has its tendon at the origin (s = 0) or at the insertion (s = 1).
    tendon_at: f64,
}

impl Row {
    /// x \[m\] at the fraction s of sheets of this length \[m\].
    fn x(&self, s: f64, sheet_length: f64) -> f64 {
        // The end is exact, so that tendons begin exactly where they should.
        self.start + if s == 1.0 { sheet_length } else { self.lag * (1.0 - s) + sheet_length * s }
    }

    fn y(&self, s: f64) -> f64 {
        self.height + self.offset * (1.0 - SHEET_TAPER * (s - self.tendon_at).abs())
    }
}

/// Sizes that both shapes share.
struct Measures {
    /// Thickness of an outer sheet at its tendon \[m\].
    sheet: f64,
    /// Distance between the sheets \[m\].
    between: f64,
    /// Length of the sheets \[m\].
    sheet_length: f64,
    /// Cells across the sheet, along fibers, along sheets and along z.
    over_sheet: usize,
    along_fiber: usize,
    along_sheet: usize,
    through: usize,
}

impl Measures {
    /// `parts` is the number of rows of fibers side by side: one or two, each with a sheet on either side.
    fn new(params: &MuscleParams, parts: f64) -> Result<Self, MuscleError> {
        let sheet = SHEET_THICKNESS * params.tendon_width;
        let sheets = 2.0 * parts * sheet;
        if sheets > 0.5 * params.width {
            return Err(MuscleError::BellyTooThin { sheets, width: params.width });
        }
        let between = (params.width - sheets) / parts;
        let (sin, cos) = params.pennation.sin_cos();
        let (run, belly) = (between * cos / sin, params.belly());
        // This also catches the division by zero of parallel fibers, which never reach the other sheet.
        if !(run <= LONGEST_RUN * belly) {
            return Err(MuscleError::FibersDoNotFit { degrees: params.pennation.to_degrees(), run, belly });
        }
        let sheet_length = belly - run;
        // Edges along fibers and sheets enclose the angle α: longer by √sin α, cells have the volume of cubes.
        let edge = params.cell / sin.sqrt();
        let count = |length: f64, edge: f64, least: usize| ((length / edge).round() as usize).max(least);
        Ok(Self {
            sheet,
            between,
            sheet_length,
            over_sheet: count(sheet, params.cell, 2),
            along_fiber: count(between / sin, edge, 2),
            along_sheet: count(sheet_length, edge, 2),
            through: count(params.thickness, params.cell, 2),
        })
    }
}

impl Plates<'_> {
    fn node(&self, first: &[u32], i: usize, row: usize, k: usize) -> u32 {
        first[(i * self.rows.len() + row) * (self.through + 1) + k]
    }

    /// Half width of belly and sheets along z \[m\] at the fraction s of the sheets.
    fn half_width(&self, s: f64) -> f64 {
        let end = END_WIDTH.max(self.params.tendon_width / self.params.thickness);
        0.5 * self.params.thickness * (end + (1.0 - end) * swelling(s))
    }

    /// Local coordinate of a line of nodes along z.
    fn across(&self, k: usize) -> f64 {
        (2.0 * k as f64 - self.through as f64) / self.through as f64
    }

    /// Adds nodes and cells of belly and sheets; returns the nodes by index along the sheet, row and index along z.
    ///
    /// Nodes are numbered from the distal end, and from the outer rows to the inner ones. Cells are split from their
    /// smallest node, which then lies at an obtuse corner and halves the obtuse angle.
    fn add_body(&self, assembly: &mut Assembly, sheet_length: f64) -> Vec<u32> {
        let row_count = self.rows.len();
        let mut nodes = vec![u32::MAX; (self.along + 1) * row_count * (self.through + 1)];
        for i in (0..=self.along).rev() {
            let s = i as f64 / self.along as f64;
            for index in (0..self.first_upper).chain((self.first_upper..row_count).rev()) {
                let row = &self.rows[index];
                let x = row.x(s, sheet_length);
                for k in 0..=self.through {
                    let node = assembly.node(Vec3::new(x, row.y(s), self.half_width(s) * self.across(k)));
                    nodes[(i * row_count + index) * (self.through + 1) + k] = node;
                }
            }
        }
        for i in 0..self.along {
            for (row, &tissue) in self.tissues.iter().enumerate() {
                for k in 0..self.through {
                    // The rows of the two halves meet in the middle, so cells from the row before the first upper one
                    // belong to it.
                    let half = u32::from(row + 1 >= self.first_upper);
                    let line = (i * self.through + k) as u32 * 2 + half;
                    let fiber_axis = usize::from(tissue == Tissue::Belly);
                    let traits = Traits { tissue, fiber_axis, line, head: 0 };
                    assembly.hex(|a, b, c| self.node(&nodes, i + a, row + b, k + c), traits);
                }
            }
        }
        nodes
    }

    /// Adds a tendon from the given rows at one end of a sheet, nearly round at its far end.
    fn add_tendon(&self, assembly: &mut Assembly, face: &Face, from: f64, to: f64) {
        let stations = self.tendon_stations([from, to]);
        let rounding = |x: f64| smooth_step((x - from) / (JOINED * from + (1.0 - JOINED) * to - from));
        let center = 0.5 * (face.heights[0] + face.heights[face.heights.len() - 1]);
        let radius = 0.5 * self.params.tendon_width;
        let mut last = face.nodes.clone();
        for &x in &stations[1..] {
            let m = rounding(x);
            let mut next = Vec::with_capacity(last.len());
            for (row, height) in face.heights.iter().enumerate() {
                let v = (2.0 * row as f64) / (face.heights.len() - 1) as f64 - 1.0;
                for k in 0..=self.through {
                    let u = self.across(k);
                    let [z, y] = square_to_rounded([u, v]);
                    let y = (1.0 - m) * height + m * (center + radius * y);
                    let z = (1.0 - m) * face.half_width * u + m * radius * z;
                    next.push(assembly.node(Vec3::new(x, y, z)));
                }
            }
            self.add_slab(assembly, &last, &next, face.heights.len() - 1);
            last = next;
        }
    }

    /// Layers of a tendon: thinner than those of the belly, because its cells are smaller.
    fn tendon_stations(&self, ends: [f64; 2]) -> Vec<f64> {
        let direction = (ends[1] - ends[0]).signum();
        let spacing = direction * self.params.cell * (self.params.tendon_width / self.params.thickness).sqrt();
        stations(ends, |_| spacing, 2)
    }

    fn add_slab(&self, assembly: &mut Assembly, from: &[u32], to: &[u32], row_cells: usize) {
        for row in 0..row_cells {
            for k in 0..self.through {
                let traits = Traits { tissue: Tissue::Tendon, fiber_axis: 0, line: 0, head: 0 };
                let node = |a: usize, b: usize, c: usize| {
                    let at = (row + b) * (self.through + 1) + k + c;
                    if a == 0 { from[at] } else { to[at] }
                };
                assembly.hex(node, traits);
            }
        }
    }

    /// The end of the sheet between two rows, where a tendon begins.
    fn face(&self, nodes: &[u32], i: usize, rows: std::ops::RangeInclusive<usize>) -> Face {
        let s = i as f64 / self.along as f64;
        let ids = rows.clone().flat_map(|row| (0..=self.through).map(move |k| (row, k)));
        Face {
            nodes: ids.map(|(row, k)| self.node(nodes, i, row, k)).collect(),
            heights: rows.map(|row| self.rows[row].y(s)).collect(),
            half_width: self.half_width(s),
        }
    }
}

/// The flat end of a sheet.
struct Face {
    /// Nodes, row by row.
    nodes: Vec<u32>,
    /// y of each row \[m\].
    heights: Vec<f64>,
    /// Half width along z \[m\].
    half_width: f64,
}

pub(super) fn assemble_unipennate(params: &MuscleParams) -> Result<Assembly, MuscleError> {
    let m = Measures::new(params, 1.0)?;
    let (low, start) = (-0.5 * m.between, params.tendon[0]);
    // The insertion tendon begins at length − tendon, independent of rounding in the sum.
    let end = params.length - params.tendon[1] - m.sheet_length;
    let mut rows = Vec::new();
    for i in 0..m.over_sheet {
        let offset = -m.sheet * (1.0 - part(i, m.over_sheet));
        rows.push(Row { height: low, offset, start, lag: 0.0, tendon_at: 0.0 });
    }
    for j in 0..=m.along_fiber {
        let t = part(j, m.along_fiber);
        rows.push(Row {
            height: low + m.between * t,
            offset: 0.0,
            start: start + (end - start) * t,
            lag: 0.0,
            tendon_at: 1.0,
        });
    }
    for i in 1..=m.over_sheet {
        let offset = m.sheet * part(i, m.over_sheet);
        rows.push(Row { height: -low, offset, start: end, lag: 0.0, tendon_at: 1.0 });
    }
    let mut tissues = vec![Tissue::Aponeurosis; m.over_sheet];
    tissues.resize(m.over_sheet + m.along_fiber, Tissue::Belly);
    tissues.resize(2 * m.over_sheet + m.along_fiber, Tissue::Aponeurosis);
    let last_row = rows.len() - 1;
    let first_upper = rows.len();
    let plates = Plates { params, along: m.along_sheet, through: m.through, rows, tissues, first_upper };
    let mut assembly = Assembly::default();
    let nodes = plates.add_body(&mut assembly, m.sheet_length);
    let origin = plates.face(&nodes, 0, 0..=m.over_sheet);
    plates.add_tendon(&mut assembly, &origin, start, 0.0);
    let insertion = plates.face(&nodes, plates.along, last_row - m.over_sheet..=last_row);
    plates.add_tendon(&mut assembly, &insertion, params.length - params.tendon[1], params.length);
    Ok(assembly)
}

pub(super) fn assemble_bipennate(params: &MuscleParams) -> Result<Assembly, MuscleError> {
    let m = Measures::new(params, 2.0)?;
    let start = params.tendon[0];
    let end = params.length - params.tendon[1] - m.sheet_length;
    let outer = 0.5 * params.width - m.sheet;
    // A smooth step is 1.5 times as steep in its middle as on average.
    let least = 1.5 * outer / (STEEPEST * (1.0 - JOINED));
    if start < least {
        return Err(MuscleError::OriginTendonTooShort { length: start, least });
    }
    // The lower half from outside to middle; the upper half is its mirror image.
    let mut rows = Vec::new();
    for i in 0..m.over_sheet {
        let offset = -m.sheet * (1.0 - part(i, m.over_sheet));
        rows.push(Row { height: -outer, offset, start, lag: 0.0, tendon_at: 0.0 });
    }
    for j in 0..=m.along_fiber {
        let t = part(j, m.along_fiber);
        rows.push(Row {
            height: -outer + m.between * t,
            offset: 0.0,
            start: start + (end - start) * t,
            lag: 0.0,
            tendon_at: 0.0,
        });
    }
    // The central sheet begins with a right-angled edge, not with a flat face: it is a corner of the notch.
    let edge_depth = m.sheet.min(DEEPEST_EDGE * m.sheet_length);
    for i in 1..=m.over_sheet {
        let t = part(i, m.over_sheet);
        rows.push(Row { height: -m.sheet * (1.0 - t), offset: 0.0, start: end, lag: edge_depth * t, tendon_at: 0.0 });
    }
    let middle = rows.len() - 1;
    rows[middle].height = 0.0;
    for row in (0..middle).rev() {
        let mirrored = rows[row];
        rows.push(Row { height: -mirrored.height, offset: -mirrored.offset, ..mirrored });
    }
    let half =
        [(m.over_sheet, Tissue::Aponeurosis), (m.along_fiber, Tissue::Belly), (m.over_sheet, Tissue::Aponeurosis)];
    let half = half.into_iter().flat_map(|(count, tissue)| vec![tissue; count]);
    let tissues: Vec<Tissue> = half.clone().chain(half.collect::<Vec<_>>().into_iter().rev()).collect();
    let last_row = rows.len() - 1;
    let first_upper = middle + 1;
    let plates = Plates { params, along: m.along_sheet, through: m.through, rows, tissues, first_upper };
    let mut assembly = Assembly::default();
    let nodes = plates.add_body(&mut assembly, m.sheet_length);
    let insertion = plates.face(&nodes, plates.along, middle - m.over_sheet..=middle + m.over_sheet);
    plates.add_tendon(&mut assembly, &insertion, params.length - params.tendon[1], params.length);
    let sheets = [plates.face(&nodes, 0, 0..=m.over_sheet), plates.face(&nodes, 0, last_row - m.over_sheet..=last_row)];
    // A smooth step begins as 3t²: with more layers the halves would diverge at a sharper angle.
    let most = (6.0 * outer / ((1.0 - JOINED) * start * SHARPEST_PARTING)) as usize;
    let wanted = plates.tendon_stations([start, JOINED * start]).len() - 1;
    let cells_apart = wanted.min(most).max(m.along_fiber + m.over_sheet);
    let inner_sides = plates.add_joined_tendon(&mut assembly, &sheets, start, cells_apart);
    let row_pairs: Vec<_> = (m.over_sheet..=middle).map(|row| [row, last_row - row]).collect();
    let fronts = [0, 1].map(|side| {
        let nodes_of =
            |pair: &[usize; 2]| (0..=plates.through).map(|k| plates.node(&nodes, 0, pair[side], k)).collect();
        row_pairs.iter().map(nodes_of).collect()
    });
    plates.add_filling(&mut assembly, &inner_sides, fronts, start);
    Ok(assembly)
}

impl Plates<'_> {
    /// Adds the origin tendon of a bipennate muscle: both outer sheets bend toward the line of action and become the
    /// halves of one tendon, after `cells_apart` layers of cells. Returns the inner sides of both halves, facing the
    /// notch, from the sheets to the joint.
    fn add_joined_tendon(
        &self,
        assembly: &mut Assembly,
        sheets: &[Face; 2],
        from: f64,
        cells_apart: usize,
    ) -> [Lines; 2] {
        let joint = JOINED * from;
        let apart = (0..=cells_apart).map(|i| part(cells_apart - i, cells_apart) * from + part(i, cells_apart) * joint);
        let stations = apart.chain(self.tendon_stations([joint, 0.0]).into_iter().skip(1));
        let radius = 0.5 * self.params.tendon_width;
        let row_cells = sheets[0].heights.len() - 1;
        // The last row of the lower half and the first of the upper one.
        let inner = |side: usize, nodes: &[u32]| {
            let first = if side == 0 { row_cells * (self.through + 1) } else { 0 };
            nodes[first..=first + self.through].to_vec()
        };
        let mut last = sheets.each_ref().map(|face| face.nodes.clone());
        let mut inner_sides = [0, 1].map(|side| vec![inner(side, &last[side])]);
        for (station, x) in stations.enumerate().skip(1) {
            let m = if station >= cells_apart { 1.0 } else { smooth_step((x - from) / (joint - from)) };
            let place = |face: &Face, side: f64, row: usize, k: usize| {
                // The lower sheet is the half v < 0 of the tendon, its inner row the middle; the upper sheet begins
                // there.
                let v = 0.5 * (side - 1.0) + part(row, row_cells);
                let u = self.across(k);
                let [z, y] = square_to_rounded([u, v]);
                let y = (1.0 - m) * face.heights[row] + m * radius * y;
                Vec3::new(x, y, (1.0 - m) * face.half_width * u + m * radius * z)
            };
            let mut next: [Vec<u32>; 2] = Default::default();
            for (side, face) in sheets.iter().enumerate() {
                for row in 0..=row_cells {
                    for k in 0..=self.through {
                        let shared = side == 1 && row == 0 && station >= cells_apart;
                        let node = if shared {
                            next[0][row_cells * (self.through + 1) + k]
                        } else {
                            assembly.node(place(face, 2.0 * side as f64 - 1.0, row, k))
                        };
                        next[side].push(node);
                    }
                }
            }
            for (from, to) in last.iter().zip(&next) {
                self.add_slab(assembly, from, to, row_cells);
            }
            if station <= cells_apart {
                for side in 0..2 {
                    inner_sides[side].push(inner(side, &next[side]));
                }
            }
            last = next;
        }
        inner_sides
    }

    /// Fills the notch between the halves of the origin tendon and the front of belly and central sheet.
    ///
    /// Seen along z it is a kite: from A, where the halves join, their inner sides run to B and D, where belly and
    /// outer sheets meet, and the front runs from there to C, the edge of the central sheet. `inner_sides` run from B
    /// and D to A, `fronts` from B and D to C. If the sides have more cells than the front, layers along the front come
    /// first, which leaves a smaller kite.
    fn add_filling(&self, assembly: &mut Assembly, inner_sides: &[Lines; 2], fronts: [Lines; 2], from: f64) {
        let layers = inner_sides[0].len() - fronts[0].len();
        let front = self.add_filling_layers(assembly, inner_sides, fronts, layers, from);
        self.add_kite(assembly, &inner_sides.each_ref().map(|side| &side[layers..]), &front, from);
    }

    /// Half width along z \[m\] of the filling at x: blends from that of the adjacent tendons to that of the belly.
    fn filling_half_width(&self, x: f64, from: f64) -> f64 {
        let m = smooth_step((x - from) / (JOINED * from - from));
        let [tendon, _] = square_to_rounded([1.0, 0.0]);
        (1.0 - m) * self.half_width(0.0) + m * 0.5 * self.params.tendon_width * tendon
    }

    fn add_filling_cell(&self, assembly: &mut Assembly, node: impl Fn(usize, usize, usize) -> u32) {
        assembly.hex(node, Traits { tissue: Tissue::Filling, fiber_axis: 0, line: 0, head: 0 });
    }

    /// Layers of the filling along the front, from the front toward the origin. Each is a copy of the front that
    /// shrinks as the tendons converge; returns the last one.
    fn add_filling_layers(
        &self,
        assembly: &mut Assembly,
        inner_sides: &[Lines; 2],
        mut fronts: [Lines; 2],
        layers: usize,
        from: f64,
    ) -> [Lines; 2] {
        let n = fronts[0].len() - 1;
        let shape = fronts
            .each_ref()
            .map(|front| -> Vec<Vec3> { front.iter().map(|line| assembly.positions[line[0] as usize]).collect() });
        for layer in 1..=layers {
            let mut next: [Lines; 2] = Default::default();
            for side in 0..2 {
                let first = assembly.positions[inner_sides[side][layer][0] as usize];
                let corner = shape[side][0];
                let scale = first.y / corner.y;
                // Numbered like `add_body`, from the front and from the outside.
                for (j, place) in shape[side].iter().enumerate() {
                    next[side].push(if j == 0 {
                        inner_sides[side][layer].clone()
                    } else if j == n && side == 1 {
                        next[0][n].clone()
                    } else {
                        let (x, y) = (first.x + (place.x - corner.x) * scale, place.y * scale);
                        let half_width = self.filling_half_width(x, from);
                        (0..=self.through)
                            .map(|k| assembly.node(Vec3::new(x, y, half_width * self.across(k))))
                            .collect()
                    });
                }
                for j in 0..n {
                    for k in 0..self.through {
                        let node = |a: usize, b: usize, c: usize| [&fronts, &next][a][side][j + b][k + c];
                        self.add_filling_cell(assembly, node);
                    }
                }
            }
            fronts = next;
        }
        fronts
    }

    /// The rest of the filling: as many cells along the inner sides as along the front. Its nodes follow by transfinite
    /// interpolation between the four sides,
    ///
    /// ```math
    /// x(u, v) = (1-v)\,AB(u) + v\,DC(u) + (1-u)\,AD(v) + u\,BC(v) - \text{bilinear interpolation of } A, B, C, D.
    /// ```
    ///
    /// All sides run toward the insertion, AB away from the line of action and DC back to it. Therefore no cell folds,
    /// although the halves of the tendon touch at A.
    fn add_kite(&self, assembly: &mut Assembly, inner_sides: &[&[Vec<u32>]; 2], fronts: &[Lines; 2], from: f64) {
        let n = fronts[0].len() - 1;
        let at = |i: usize, j: usize, k: usize| (i * (n + 1) + j) * (self.through + 1) + k;
        let mut nodes = vec![u32::MAX; at(n, n, self.through) + 1];
        for step in 0..=n {
            for k in 0..=self.through {
                nodes[at(step, 0, k)] = inner_sides[0][n - step][k];
                nodes[at(0, step, k)] = inner_sides[1][n - step][k];
                nodes[at(n, step, k)] = fronts[0][step][k];
                nodes[at(step, n, k)] = fronts[1][step][k];
            }
        }
        // Cells are long from A to C: numbered from B to D, they are split from an obtuse corner (see `add_body`).
        // Nodes of the sides have smaller numbers, in the same order.
        let mut inside: Vec<_> = (1..n).flat_map(|i| (1..n).map(move |j| (i, j))).collect();
        inside.sort_by_key(|&(i, j)| (n + j - i, i));
        for (i, j) in inside {
            let (u, v) = (part(i, n), part(j, n));
            let x = |i: usize, j: usize| assembly.positions[nodes[at(i, j, 0)] as usize];
            let between_sides = x(i, 0) * (1.0 - v) + x(i, n) * v + x(0, j) * (1.0 - u) + x(n, j) * u;
            let bilinear = (x(0, 0) * (1.0 - u) + x(n, 0) * u) * (1.0 - v) + (x(0, n) * (1.0 - u) + x(n, n) * u) * v;
            let place = between_sides - bilinear;
            let half_width = self.filling_half_width(place.x, from);
            for k in 0..=self.through {
                nodes[at(i, j, k)] = assembly.node(Vec3::new(place.x, place.y, half_width * self.across(k)));
            }
        }
        for i in 0..n {
            for j in 0..n {
                for k in 0..self.through {
                    self.add_filling_cell(assembly, |a, b, c| nodes[at(i + a, j + b, k + c)]);
                }
            }
        }
    }
}

/// Lines of nodes along z, one after the other.
type Lines = Vec<Vec<u32>>;

/// The fraction i / n.
fn part(i: usize, n: usize) -> f64 {
    i as f64 / n as f64
}
