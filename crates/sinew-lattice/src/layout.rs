//! Storage order of the cells and nodes of a lattice, chosen so that a sweep is one stream through memory.
//!
//! Sixteen cells in a row along x form a *block*, sixteen nodes a *tile*. Empty blocks are not stored. The node rows of
//! a plane are stored one after the other, each with its three components, from its first tile to its last:
//!
//! ```text
//! plane k: row j: x of tiles first..last, y of them, z of them | row j+1: …
//! ```
//!
//! Several cells may share one place (two fingers in one cube), and cells next to each other in space need not be
//! connected. A *sheet* holds cells that fit into one grid: any two that touch there share their nodes. Sheets are
//! stacked along z. A node whose cells lie in several sheets has a slot in each; these slots form a *seam*.

use std::ops::Range;

use sinew_geometry::lattice::{HexLattice, LatticeCell};
use sinew_math::parallel::for_each_block_mut;

use crate::layers::split_planes;

/// Cells per block, and nodes per tile, along x.
pub const LANES: usize = 16;

/// Nodes per parallel piece.
const NODES: usize = 4096;

/// Marks a missing node or cell.
const NONE: u32 = u32::MAX;

/// Grid position of a cell's corner.
fn corner(cell: &LatticeCell, k: usize) -> [u32; 3] {
    std::array::from_fn(|axis| cell.place[axis] + (k >> axis & 1) as u32)
}

/// A row of nodes in its plane: component c of tile v begins at `base + c · stride + 16 (v − first)`, counted from the
/// start of the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub base: u32,
    pub stride: u32,
    pub first: u32,
}

impl Row {
    /// Start of a tile, component 0.
    #[inline(always)]
    pub fn tile(&self, tile: usize) -> usize {
        self.base as usize + LANES * (tile - self.first as usize)
    }
}

/// Which cells a sweep visits in a run of tiles: in this row, and in the row before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Cells in both rows.
    Continue,
    /// Cells in this row only.
    Start,
    /// Cells in the row before only.
    Flush,
    /// None: nodes of other layers, or of the block to the left.
    Idle,
}

/// Consecutive tiles of one row that a sweep treats alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub row: u32,
    pub first: u32,
    pub last: u32,
    /// First block, if there are cells.
    pub block: u32,
    pub kind: Kind,
    /// Whether the sweep skips the tile to the left.
    pub is_head: bool,
}

impl Segment {
    /// Number of tiles with cells: all of them, or none.
    #[inline(always)]
    pub fn cell_tiles(&self) -> Range<usize> {
        let is_empty = matches!(self.kind, Kind::Flush | Kind::Idle);
        let last = if is_empty { self.first } else { self.last };
        self.first as usize..last as usize
    }

    /// Block of one of these tiles.
    #[inline(always)]
    pub fn block_of(&self, tile: usize) -> usize {
        self.block as usize + tile - self.first as usize
    }
}

/// Segments that a sweep visits, plane by plane.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// First segment of each plane, and one past the last.
    starts: Vec<usize>,
}

impl Default for Segments {
    fn default() -> Self {
        Self { segments: Vec::new(), starts: vec![0] }
    }
}

impl Segments {
    /// Segments of a plane, in sweep order.
    #[inline(always)]
    pub fn of_plane(&self, plane: usize) -> &[Segment] {
        &self.segments[self.starts[plane]..self.starts[plane + 1]]
    }

    /// Number of blocks with cells in a plane.
    pub fn block_count(&self, plane: usize) -> usize {
        self.of_plane(plane).iter().map(|segment| segment.cell_tiles().len()).sum()
    }

    /// Appends the tiles of a row. `has(planes, rows, tiles, tile)` says whether the cells that many planes below, rows
    /// before and tiles to the left touch the tile's nodes. A tile is visited if one of these eight blocks does.
    fn extend_row(
        &mut self,
        row: usize,
        tiles: Range<usize>,
        has: impl Fn(usize, usize, usize, usize) -> bool,
        block_at: impl Fn(usize) -> u32,
    ) {
        let mut open: Option<Segment> = None;
        for tile in tiles.start..tiles.end + 1 {
            let is_met = tile < tiles.end && (0..8).any(|k| has(k >> 2, k >> 1 & 1, k & 1, tile));
            let kind = match (is_met, has(0, 0, 0, tile), has(0, 1, 0, tile)) {
                (false, ..) => None,
                (_, true, true) => Some(Kind::Continue),
                (_, true, false) => Some(Kind::Start),
                (_, false, true) => Some(Kind::Flush),
                (_, false, false) => Some(Kind::Idle),
            };
            if let Some(segment) = &mut open {
                if kind == Some(segment.kind) {
                    segment.last = tile as u32 + 1;
                    continue;
                }
                self.segments.push(*segment);
            }
            let is_head = open.is_none();
            open = kind.map(|kind| Segment {
                row: row as u32,
                first: tile as u32,
                last: tile as u32 + 1,
                block: block_at(tile),
                kind,
                is_head,
            });
        }
    }

    fn end_plane(&mut self) {
        self.starts.push(self.segments.len());
    }
}

/// Slots of one level.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Rows per plane, and tiles per row, in total.
    row_count: usize,
    tile_count: usize,
    rows: Vec<Row>,
    /// First value of each plane, and one past the last.
    plane_starts: Vec<usize>,
    segments: Segments,
    /// First block of the cells above each plane, and one past the last.
    block_starts: Vec<usize>,
    /// Whether the last lane of each block has a cell; its right nodes are in the next tile.
    reaches_on: Vec<bool>,
    /// Block and lane of each cell: block · 16 + lane.
    cell_slots: Vec<u32>,
    /// First entry of each node in `node_slots`, and one past the last.
    node_offsets: Vec<u32>,
    /// Slots (of component x) and component strides.
    node_slots: Vec<NodeSlot>,
    /// Node of each slot, row by row; [`NONE`] where there is none.
    slot_nodes: Vec<u32>,
    /// Nodes with more than one slot.
    seams: Vec<u32>,
    sheet_count: usize,
    /// First layer of the first sheet.
    lowest: usize,
}

/// Position of a node: component c at `at + c · stride`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSlot {
    /// Position of component x.
    pub at: u32,
    /// Distance between components.
    pub stride: u32,
}

impl NodeSlot {
    /// Position of a component.
    #[inline(always)]
    pub fn component(&self, c: usize) -> usize {
        self.at as usize + c * self.stride as usize
    }
}

impl Layout {
    /// Lays out the cells of a lattice.
    pub fn new(lattice: &HexLattice) -> Self {
        let (cubes, cells, node_count) = (lattice.cubes, &lattice.cells[..], lattice.node_places.len());
        let sheets = Sheets::of(cubes, cells, node_count);
        let row_count = cubes[1] + 1;
        let tile_count = cubes[0].div_ceil(LANES) + 1;
        // A sheet has one more plane than layers of cells. Two sheets need no gap: the last plane of the first has no
        // cells above it.
        let starts = sheets.first_planes();
        let plane_count = *starts.last().unwrap_or(&0);
        let block_tiles = tile_count - 1;
        let mut block_of = vec![NONE; plane_count * row_count * block_tiles];
        let block_key = |plane: usize, row: usize, tile: usize| (plane * row_count + row) * block_tiles + tile;
        let plane_of =
            |cell: usize| starts[sheets.of_cell[cell] as usize] + cells[cell].place[2] as usize - sheets.lowest(cell);
        for (index, cell) in cells.iter().enumerate() {
            let [x, y, _] = cell.place.map(|p| p as usize);
            block_of[block_key(plane_of(index), y, x / LANES)] = 0;
        }
        let mut block_starts = vec![0];
        let mut blocks = 0;
        for plane in block_of.chunks_mut((row_count * block_tiles).max(1)).take(plane_count) {
            for block in plane.iter_mut().filter(|block| **block == 0) {
                *block = blocks;
                blocks += 1;
            }
            block_starts.push(blocks as usize);
        }
        let cell_slots = cells.iter().enumerate().map(|(index, cell)| {
            let [x, y, _] = cell.place.map(|p| p as usize);
            block_of[block_key(plane_of(index), y, x / LANES)] * LANES as u32 + (x % LANES) as u32
        });
        let cell_slots: Vec<u32> = cell_slots.collect();
        let mut reaches_on = vec![false; blocks as usize];
        for &slot in cell_slots.iter().filter(|&&slot| slot as usize % LANES == LANES - 1) {
            reaches_on[slot as usize / LANES] = true;
        }
        let mut layout = Self {
            row_count,
            tile_count,
            rows: vec![Row::default(); plane_count * row_count],
            plane_starts: vec![0],
            segments: Segments::default(),
            block_starts,
            reaches_on,
            cell_slots,
            node_offsets: Vec::new(),
            node_slots: Vec::new(),
            slot_nodes: Vec::new(),
            seams: Vec::new(),
            sheet_count: sheets.layers.len(),
            lowest: sheets.layers.first().map_or(0, |layers| layers.start),
        };
        let block_at = |plane: Option<usize>, row: Option<usize>, tile: Option<usize>| -> u32 {
            let (Some(plane), Some(row), Some(tile)) = (plane, row, tile) else { return NONE };
            if plane < plane_count && row < row_count && tile < block_tiles {
                block_of[block_key(plane, row, tile)]
            } else {
                NONE
            }
        };
        for plane in 0..plane_count {
            layout.add_plane(plane, &block_at);
        }
        layout.place_nodes(&sheets, &starts, cells, node_count);
        layout
    }

    /// Adds the rows and segments of a plane. A tile is visited if cells of one of the eight blocks around it touch its
    /// nodes.
    fn add_plane(&mut self, plane: usize, block_at: &impl Fn(Option<usize>, Option<usize>, Option<usize>) -> u32) {
        let mut base = 0;
        let reaches_on = std::mem::take(&mut self.reaches_on);
        for row in 0..self.row_count {
            let has = |down: usize, back: usize, left: usize, tile: usize| {
                let block = block_at(plane.checked_sub(down), row.checked_sub(back), tile.checked_sub(left));
                block != NONE && (left == 0 || reaches_on[block as usize])
            };
            let is_met = |tile: usize| (0..8).any(|k| has(k >> 2, k >> 1 & 1, k & 1, tile));
            let mut met = (0..self.tile_count).filter(|&tile| is_met(tile));
            let Some(first) = met.next() else { continue };
            let last = met.next_back().unwrap_or(first);
            let stride = (LANES * (last + 1 - first)) as u32;
            self.rows[plane * self.row_count + row] = Row { base, stride, first: first as u32 };
            base += 3 * stride;
            self.segments.extend_row(row, first..last + 1, has, |tile| block_at(Some(plane), Some(row), Some(tile)));
        }
        self.reaches_on = reaches_on;
        // One extra tile, since the last row is read one node past its end.
        self.plane_starts.push(self.plane_starts[plane] + base as usize + LANES);
        self.segments.end_plane();
    }

    fn place_nodes(&mut self, sheets: &Sheets, starts: &[usize], cells: &[LatticeCell], node_count: usize) {
        let mut slots: Vec<(u32, NodeSlot)> = Vec::with_capacity(node_count);
        self.slot_nodes = vec![NONE; (self.value_count() - LANES * self.plane_count()) / 3];
        for (sheet, claims) in sheets.claims.iter().enumerate() {
            claims.for_each(|[x, y, z], node| {
                let plane = starts[sheet] + z - sheets.layers[sheet].start;
                let row = self.rows[plane * self.row_count + y];
                let at = self.plane_starts[plane] + row.tile(x / LANES) + x % LANES;
                slots.push((node, NodeSlot { at: at as u32, stride: row.stride }));
                let first = self.first_slot(plane, row);
                self.slot_nodes[first + x - row.first as usize * LANES] = node;
            });
        }
        debug_assert!(cells.is_empty() || !slots.is_empty(), "cells have nodes");
        slots.sort_by_key(|&(node, slot)| (node, slot.at));
        self.node_offsets = vec![0; node_count + 1];
        for &(node, _) in &slots {
            self.node_offsets[node as usize + 1] += 1;
        }
        for node in 0..node_count {
            if self.node_offsets[node + 1] > 1 {
                self.seams.push(node as u32);
            }
            self.node_offsets[node + 1] += self.node_offsets[node];
        }
        self.node_slots = slots.into_iter().map(|(_, slot)| slot).collect();
    }

    /// Length of an array with one value per component and node slot.
    pub fn value_count(&self) -> usize {
        self.plane_starts.last().copied().unwrap_or(0)
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.block_starts.last().copied().unwrap_or(0)
    }

    /// Number of cells.
    pub fn cell_count(&self) -> usize {
        self.cell_slots.len()
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.node_offsets.len().saturating_sub(1)
    }

    /// Block and lane of a cell.
    pub fn cell_slot(&self, cell: usize) -> (usize, usize) {
        let slot = self.cell_slots[cell] as usize;
        (slot / LANES, slot % LANES)
    }

    /// Slots of a node, which all hold the same values.
    pub fn slots(&self, node: usize) -> &[NodeSlot] {
        &self.node_slots[self.node_offsets[node] as usize..self.node_offsets[node + 1] as usize]
    }

    /// Slots of the nodes that have several.
    pub fn seams(&self) -> impl Iterator<Item = &[NodeSlot]> {
        self.seams.iter().map(|&node| self.slots(node as usize))
    }

    /// Index of the first slot of a row. Rows have three values per slot, and planes end with one tile of padding.
    fn first_slot(&self, plane: usize, row: Row) -> usize {
        (self.plane_starts[plane] - LANES * plane + row.base as usize) / 3
    }

    /// Writes node values to all of their slots.
    pub(crate) fn spread<T: Send>(&self, out: &mut [T], value: impl Fn(usize) -> [T; 3] + Sync) {
        split_planes(self, 0..self.plane_count(), out, &|plane, out: &mut [T]| {
            self.for_each_node(plane, |node, at| {
                for (at, value) in at.into_iter().zip(value(node)) {
                    out[at] = value;
                }
            });
        });
    }

    /// Calls `visit` with the node of every occupied slot of a plane, and the positions of its three components from
    /// the start of the plane.
    #[inline(always)]
    pub(crate) fn for_each_node(&self, plane: usize, mut visit: impl FnMut(usize, [usize; 3])) {
        for row_index in 0..self.row_count {
            let row = self.row(plane, row_index);
            let (base, stride, first) = (row.base as usize, row.stride as usize, self.first_slot(plane, row));
            for (k, &node) in self.slot_nodes[first..first + stride].iter().enumerate() {
                if node != NONE {
                    visit(node as usize, [base + k, base + stride + k, base + 2 * stride + k]);
                }
            }
        }
    }

    /// Calls `visit` with the positions of the three components of every slot of a plane, from its start.
    #[inline(always)]
    pub(crate) fn for_each_slot(&self, plane: usize, mut visit: impl FnMut([usize; 3])) {
        for row_index in 0..self.row_count {
            let row = self.row(plane, row_index);
            let (base, stride) = (row.base as usize, row.stride as usize);
            for at in base..base + stride {
                visit([at, at + stride, at + 2 * stride]);
            }
        }
    }

    /// Calls `take` with each node's place in `out`, and its values.
    pub(crate) fn collect<T: Copy + Sync, U: Send>(
        &self,
        values: &[T],
        out: &mut [U],
        take: impl Fn(&mut U, [T; 3]) + Sync,
    ) {
        for_each_block_mut(out, NODES, |begin, out| {
            for (k, out) in out.iter_mut().enumerate() {
                let slot = self.slots(begin + k)[0];
                take(out, [values[slot.component(0)], values[slot.component(1)], values[slot.component(2)]]);
            }
        });
    }

    /// Sums the slots of each seam, which hold parts of one sum, and writes the sum to all of them.
    pub(crate) fn sum_seams<T: Copy + std::ops::Add<Output = T>>(&self, values: &mut [T]) {
        for slots in self.seams() {
            for c in 0..3 {
                let at = |slot: &NodeSlot| slot.component(c);
                let sum = slots[1..].iter().fold(values[at(&slots[0])], |sum, slot| sum + values[at(slot)]);
                slots.iter().for_each(|slot| values[at(slot)] = sum);
            }
        }
    }

    /// The first layer, if the lattice has a single sheet, so that positions alone identify nodes.
    pub(crate) fn single_sheet(&self) -> Option<usize> {
        (self.sheet_count == 1).then_some(self.lowest)
    }

    pub(crate) fn plane_count(&self) -> usize {
        self.plane_starts.len() - 1
    }

    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    pub(crate) fn tile_count(&self) -> usize {
        self.tile_count
    }

    /// Values of a plane.
    pub(crate) fn plane(&self, plane: usize) -> Range<usize> {
        self.plane_starts[plane]..self.plane_starts[plane + 1]
    }

    /// Blocks of the cells above a plane.
    pub(crate) fn blocks(&self, plane: usize) -> Range<usize> {
        self.block_starts[plane]..self.block_starts[plane + 1]
    }

    pub(crate) fn row(&self, plane: usize, row: usize) -> Row {
        self.rows[plane * self.row_count + row]
    }

    /// Segments of a sweep over all blocks of a plane.
    pub(crate) fn segments(&self, plane: usize) -> &[Segment] {
        self.segments.of_plane(plane)
    }

    /// Segments of a sweep over these blocks only.
    pub(crate) fn segments_of(&self, blocks: &[bool]) -> Segments {
        let block_tiles = self.tile_count - 1;
        let key = |plane: usize, row: usize, tile: usize| (plane * self.row_count + row) * block_tiles + tile;
        let mut block_of = vec![NONE; self.plane_count() * self.row_count * block_tiles];
        for plane in 0..self.plane_count() {
            for segment in self.segments.of_plane(plane) {
                for tile in segment.cell_tiles() {
                    let block = segment.block_of(tile);
                    if blocks[block] {
                        block_of[key(plane, segment.row as usize, tile)] = block as u32;
                    }
                }
            }
        }
        let mut segments = Segments::default();
        for plane in 0..self.plane_count() {
            for row in 0..self.row_count {
                let block_at = |down: usize, back: usize, left: usize, tile: usize| {
                    let place = (plane.checked_sub(down), row.checked_sub(back), tile.checked_sub(left));
                    let (Some(plane), Some(row), Some(tile)) = place else { return NONE };
                    if tile < block_tiles { block_of[key(plane, row, tile)] } else { NONE }
                };
                let Row { first, stride, .. } = self.row(plane, row);
                let tiles = first as usize..first as usize + stride as usize / LANES;
                let has = |down: usize, back: usize, left: usize, tile: usize| {
                    let block = block_at(down, back, left, tile);
                    block != NONE && (left == 0 || self.reaches_on[block as usize])
                };
                segments.extend_row(row, tiles, has, |tile| block_at(0, 0, 0, tile));
            }
            segments.end_plane();
        }
        segments
    }
}

/// Node at each grid position, over the box of a lattice.
#[derive(Clone, Debug)]
struct Claims {
    size: [usize; 3],
    nodes: Vec<u32>,
}

impl Claims {
    fn new(cubes: [usize; 3]) -> Self {
        let size = cubes.map(|count| count + 1);
        Self { size, nodes: vec![NONE; size[0] * size[1] * size[2]] }
    }

    fn key(&self, place: [u32; 3]) -> usize {
        let [x, y, z] = place.map(|p| p as usize);
        (z * self.size[1] + y) * self.size[0] + x
    }

    /// Whether a cell fits with the cells already here: each of its nodes is at its position, or not here yet.
    fn admits(&self, cell: &LatticeCell) -> bool {
        (0..8).all(|k| {
            let claimed = self.nodes[self.key(corner(cell, k))];
            claimed == NONE || claimed == cell.nodes[k]
        })
    }

    fn add(&mut self, cell: &LatticeCell) {
        for k in 0..8 {
            let key = self.key(corner(cell, k));
            self.nodes[key] = cell.nodes[k];
        }
    }

    fn for_each(&self, mut visit: impl FnMut([usize; 3], u32)) {
        for (key, &node) in self.nodes.iter().enumerate().filter(|&(_, &node)| node != NONE) {
            let (x, rest) = (key % self.size[0], key / self.size[0]);
            visit([x, rest % self.size[1], rest / self.size[1]], node);
        }
    }
}

/// Sheet of each cell.
struct Sheets {
    of_cell: Vec<u32>,
    claims: Vec<Claims>,
    /// Layers of cells of each sheet.
    layers: Vec<Range<usize>>,
    lowest: Vec<usize>,
}

impl Sheets {
    /// Grows each sheet from a seed through connected cells as far as they fit. A leftover cell starts a new seed in
    /// the first sheet with room.
    fn of(cubes: [usize; 3], cells: &[LatticeCell], node_count: usize) -> Self {
        let mut of_cell = vec![NONE; cells.len()];
        let mut claims: Vec<Claims> = Vec::new();
        let mut layers: Vec<Range<usize>> = Vec::new();
        // Cells around each node, for the growth.
        let mut offsets = vec![0u32; node_count + 1];
        for &node in cells.iter().flat_map(|cell| &cell.nodes) {
            offsets[node as usize + 1] += 1;
        }
        for node in 0..node_count {
            offsets[node + 1] += offsets[node];
        }
        let mut around = vec![0u32; 8 * cells.len()];
        let mut cursor = offsets.clone();
        for (index, cell) in cells.iter().enumerate() {
            for &node in &cell.nodes {
                around[cursor[node as usize] as usize] = index as u32;
                cursor[node as usize] += 1;
            }
        }
        let mut queue = Vec::new();
        // Seed that queued each cell: a seed queues a cell only once.
        let mut queued_by = vec![NONE; cells.len()];
        for seed in 0..cells.len() {
            if of_cell[seed] != NONE {
                continue;
            }
            let sheet = claims.iter().position(|claims| claims.admits(&cells[seed])).unwrap_or(claims.len());
            if sheet == claims.len() {
                claims.push(Claims::new(cubes));
                let layer = cells[seed].place[2] as usize;
                layers.push(layer..layer + 1);
            }
            queue.push(seed);
            while let Some(index) = queue.pop() {
                let cell = &cells[index];
                if of_cell[index] != NONE || !claims[sheet].admits(cell) {
                    continue;
                }
                of_cell[index] = sheet as u32;
                claims[sheet].add(cell);
                let layer = cell.place[2] as usize;
                layers[sheet] = layers[sheet].start.min(layer)..layers[sheet].end.max(layer + 1);
                for &node in &cell.nodes {
                    let range = offsets[node as usize] as usize..offsets[node as usize + 1] as usize;
                    for &neighbor in &around[range] {
                        let neighbor = neighbor as usize;
                        if of_cell[neighbor] == NONE && queued_by[neighbor] != seed as u32 {
                            queued_by[neighbor] = seed as u32;
                            queue.push(neighbor);
                        }
                    }
                }
            }
        }
        let lowest = layers.iter().map(|layers| layers.start).collect();
        Self { of_cell, claims, layers, lowest }
    }

    fn lowest(&self, cell: usize) -> usize {
        self.lowest[self.of_cell[cell] as usize]
    }

    /// First plane of each sheet, and one past the last plane of the last.
    fn first_planes(&self) -> Vec<usize> {
        let mut planes = vec![0];
        for (k, layers) in self.layers.iter().enumerate() {
            planes.push(planes[k] + layers.len() + 1);
        }
        planes
    }
}
