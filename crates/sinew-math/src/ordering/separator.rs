//! Small balanced vertex separators by multilevel refinement \[Karypis98\].
//!
//! Vertices are matched along heavy edges and merged until about a hundred remain. That small graph is cut along the
//! levels of a breadth-first search. Then the merges are undone level by level, and on each level the separator is
//! improved by moves in the manner of Fiduccia and Mattheyses \[Fiduccia82, Ashcraft98\]: a separator vertex v goes to
//! side A, its neighbors in B enter the separator, and the separator shrinks by w(v) − Σ w(pulled).

use std::collections::BinaryHeap;

use crate::ordering::Graph;

/// Stop merging at this many vertices: few enough to try several cuts, enough to still resemble the mesh.
const COARSEST_SIZE: usize = 120;
/// Largest share of the weight on one side. Uneven halves cost little when they allow a smaller separator.
const MAX_SHARE: f64 = 0.58;
/// Moves without improvement before a refinement pass stops.
const PATIENCE: usize = 150;
/// Refinement passes per level; most levels stop earlier because nothing improves.
const MAX_PASSES: usize = 8;
/// Starting points for cuts of the smallest graph.
const START_COUNT: usize = 6;

/// Label of the separator; the sides are 0 and 1.
const SEPARATOR: usize = 2;

/// A graph whose vertices represent sets of vertices, and whose edges represent sets of edges.
#[derive(Clone, Debug)]
pub(super) struct WeightedGraph {
    offsets: Vec<u32>,
    neighbors: Vec<u32>,
    edge_weights: Vec<u32>,
    vertex_weights: Vec<u32>,
}

impl WeightedGraph {
    /// The subgraph of `graph` induced by `vertices`, with unit weights. `local` is all `u32::MAX` before and after.
    pub(super) fn induced(graph: &Graph, vertices: &[u32], local: &mut [u32]) -> Self {
        for (k, &v) in vertices.iter().enumerate() {
            local[v as usize] = k as u32;
        }
        let mut offsets = Vec::with_capacity(vertices.len() + 1);
        offsets.push(0);
        let mut neighbors = Vec::new();
        for &v in vertices {
            let inside = graph.neighbors(v as usize).iter().map(|&u| local[u as usize]).filter(|&u| u != u32::MAX);
            neighbors.extend(inside);
            offsets.push(neighbors.len() as u32);
        }
        for &v in vertices {
            local[v as usize] = u32::MAX;
        }
        let edge_weights = vec![1; neighbors.len()];
        Self { offsets, neighbors, edge_weights, vertex_weights: vec![1; vertices.len()] }
    }

    fn vertex_count(&self) -> usize {
        self.vertex_weights.len()
    }

    fn neighbors(&self, vertex: usize) -> &[u32] {
        &self.neighbors[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    fn edges(&self, vertex: usize) -> impl Iterator<Item = (usize, u32)> {
        let range = self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize;
        self.neighbors[range.clone()].iter().map(|&u| u as usize).zip(self.edge_weights[range].iter().copied())
    }

    fn weight(&self, vertex: usize) -> i64 {
        i64::from(self.vertex_weights[vertex])
    }

    /// Connected component of each vertex, and the number of components.
    pub(super) fn components(&self) -> (Vec<u32>, usize) {
        let mut component = vec![u32::MAX; self.vertex_count()];
        let mut count = 0;
        let mut queue = Vec::new();
        for start in 0..self.vertex_count() {
            if component[start] != u32::MAX {
                continue;
            }
            component[start] = count;
            queue.push(start as u32);
            while let Some(v) = queue.pop() {
                for &u in self.neighbors(v as usize) {
                    if component[u as usize] == u32::MAX {
                        component[u as usize] = count;
                        queue.push(u);
                    }
                }
            }
            count += 1;
        }
        (component, count as usize)
    }

    /// Vertices in breadth-first order from `start`.
    fn breadth_first(&self, start: usize) -> Vec<u32> {
        let mut seen = vec![false; self.vertex_count()];
        seen[start] = true;
        let mut order = vec![start as u32];
        let mut next = 0;
        while next < order.len() {
            for &u in self.neighbors(order[next] as usize) {
                if !std::mem::replace(&mut seen[u as usize], true) {
                    order.push(u);
                }
            }
            next += 1;
        }
        order
    }

    /// Merges pairs of vertices along heavy edges; `None` when too few pairs are found. Also returns the coarse vertex
    /// of each vertex.
    fn coarsened(&self) -> Option<(Self, Vec<u32>)> {
        let count = self.vertex_count();
        let total: u64 = self.vertex_weights.iter().map(|&w| u64::from(w)).sum();
        // No vertex may become too heavy for balanced halves.
        let max_weight = (total * 3 / (2 * COARSEST_SIZE as u64)).max(2);
        let mut by_degree: Vec<u32> = (0..count as u32).collect();
        by_degree.sort_by_key(|&v| self.neighbors(v as usize).len());
        let mut mate: Vec<u32> = vec![u32::MAX; count];
        for &v in &by_degree {
            let v = v as usize;
            if mate[v] != u32::MAX {
                continue;
            }
            let mut best: Option<(u32, u32, usize)> = None;
            for (u, edge) in self.edges(v) {
                let weight = self.vertex_weights[u];
                let fits = u64::from(weight) + u64::from(self.vertex_weights[v]) <= max_weight;
                if mate[u] != u32::MAX || u == v || !fits {
                    continue;
                }
                if best.is_none_or(|(e, w, _)| edge > e || (edge == e && weight < w)) {
                    best = Some((edge, weight, u));
                }
            }
            let partner = best.map_or(v, |(_, _, u)| u);
            mate[v] = partner as u32;
            mate[partner] = v as u32;
        }
        let mut coarse_of = vec![u32::MAX; count];
        let mut members = Vec::with_capacity(count);
        for v in 0..count {
            if coarse_of[v] == u32::MAX {
                let coarse = members.len() as u32;
                coarse_of[v] = coarse;
                coarse_of[mate[v] as usize] = coarse;
                members.push((v, mate[v] as usize));
            }
        }
        if members.len() as f64 > 0.95 * count as f64 {
            return None;
        }
        let mut coarse = Self {
            offsets: Vec::with_capacity(members.len() + 1),
            neighbors: Vec::with_capacity(self.neighbors.len()),
            edge_weights: Vec::with_capacity(self.neighbors.len()),
            vertex_weights: Vec::with_capacity(members.len()),
        };
        coarse.offsets.push(0);
        let mut place = vec![u32::MAX; members.len()];
        for (c, &(a, b)) in members.iter().enumerate() {
            let begin = coarse.neighbors.len();
            let pair = [a, b];
            let distinct = if a == b { &pair[..1] } else { &pair[..] };
            for &v in distinct {
                for (u, weight) in self.edges(v) {
                    let target = coarse_of[u] as usize;
                    if target == c {
                        continue;
                    }
                    // Positions below `begin` are left over from earlier rows.
                    if place[target] == u32::MAX || (place[target] as usize) < begin {
                        place[target] = coarse.neighbors.len() as u32;
                        coarse.neighbors.push(target as u32);
                        coarse.edge_weights.push(weight);
                    } else {
                        coarse.edge_weights[place[target] as usize] += weight;
                    }
                }
            }
            coarse.offsets.push(coarse.neighbors.len() as u32);
            coarse.vertex_weights.push(distinct.iter().map(|&v| self.vertex_weights[v]).sum());
        }
        Some((coarse, coarse_of))
    }
}

/// Labels of a connected graph: sides 0 and 1, which no edge joins, and separator 2.
pub(super) fn find_separator(graph: WeightedGraph) -> Vec<u32> {
    let mut finer: Vec<(WeightedGraph, Vec<u32>)> = Vec::new();
    let mut graph = graph;
    while graph.vertex_count() > COARSEST_SIZE {
        let Some((coarse, coarse_of)) = graph.coarsened() else { break };
        finer.push((std::mem::replace(&mut graph, coarse), coarse_of));
    }
    let mut labels = cut_by_levels(&graph);
    while let Some((fine, coarse_of)) = finer.pop() {
        labels = coarse_of.iter().map(|&coarse| labels[coarse as usize]).collect();
        let mut refinement = Refinement::new(&fine, labels);
        refinement.run();
        labels = refinement.labels;
    }
    labels.iter().map(|&label| u32::from(label)).collect()
}

/// Grows side 0 by breadth-first search from several starting points until it holds half the weight, improves each cut
/// and keeps the best.
fn cut_by_levels(graph: &WeightedGraph) -> Vec<u8> {
    let count = graph.vertex_count();
    let total: i64 = (0..count).map(|v| graph.weight(v)).sum();
    let mut best: Option<(Score, Vec<u8>)> = None;
    for k in 0..START_COUNT.min(count) {
        // The last vertex of a search lies on the boundary; two searches give a nearly pseudo-peripheral vertex.
        let mut order = graph.breadth_first(k * count / START_COUNT.min(count));
        for _ in 0..2 {
            order = graph.breadth_first(order[order.len() - 1] as usize);
        }
        let mut labels = vec![1u8; count];
        let mut grown = 0;
        for &v in &order {
            if 2 * grown >= total {
                break;
            }
            labels[v as usize] = 0;
            grown += graph.weight(v as usize);
        }
        for v in 0..count {
            if labels[v] == 1 && graph.neighbors(v).iter().any(|&u| labels[u as usize] == 0) {
                labels[v] = SEPARATOR as u8;
            }
        }
        let mut refinement = Refinement::new(graph, labels);
        refinement.run();
        let score = refinement.score();
        if best.as_ref().is_none_or(|(best_score, _)| score < *best_score) {
            best = Some((score, refinement.labels));
        }
    }
    best.map_or_else(Vec::new, |(_, labels)| labels)
}

/// Score of a separator, smaller is better: weight beyond the allowed share, separator weight, difference of the sides.
type Score = (i64, i64, i64);

/// The state of a separator while it is improved.
struct Refinement<'a> {
    graph: &'a WeightedGraph,
    labels: Vec<u8>,
    /// Weight of side 0, side 1 and the separator.
    weights: [i64; 3],
    /// Largest allowed weight of a side.
    limit: i64,
    /// Reduction of the separator when a vertex moves to side 0 or 1; kept for separator vertices only.
    gains: Vec<[i64; 2]>,
    locked: Vec<bool>,
    /// Move in which a vertex last entered the separator.
    pulled_in: Vec<u32>,
    move_count: u32,
    /// Candidates (gain, tie-break to the lower index, vertex); outdated entries are skipped when popped.
    heaps: [BinaryHeap<(i64, std::cmp::Reverse<u32>)>; 2],
    /// Changed labels with their old values, to return to the best state.
    log: Vec<(u32, u8)>,
}

impl<'a> Refinement<'a> {
    fn new(graph: &'a WeightedGraph, labels: Vec<u8>) -> Self {
        let count = graph.vertex_count();
        let mut weights = [0; 3];
        let mut heaviest = 0;
        for v in 0..count {
            weights[labels[v] as usize] += graph.weight(v);
            heaviest = heaviest.max(graph.weight(v));
        }
        let total: i64 = weights.iter().sum();
        let limit = ((total as f64 * MAX_SHARE) as i64).max(total / 2 + heaviest.min(total / 8));
        Self {
            graph,
            labels,
            weights,
            limit,
            gains: vec![[0; 2]; count],
            locked: vec![false; count],
            pulled_in: vec![u32::MAX; count],
            move_count: 0,
            heaps: [BinaryHeap::new(), BinaryHeap::new()],
            log: Vec::new(),
        }
    }

    fn score(&self) -> Score {
        let [a, b, separator] = self.weights;
        // An empty side separates nothing: worse than any imbalance.
        let empty = if a == 0 || b == 0 { a + b + separator } else { 0 };
        ((a.max(b) - self.limit).max(0) + empty, separator, (a - b).abs())
    }

    fn run(&mut self) {
        for _ in 0..MAX_PASSES {
            let before = self.score();
            self.pass();
            if self.score() >= before {
                break;
            }
        }
    }

    /// Gains of moving separator vertex `v` to either side, from its neighbors.
    fn compute_gains(&mut self, v: usize) {
        let mut gains = [self.graph.weight(v); 2];
        for &u in self.graph.neighbors(v) {
            match self.labels[u as usize] {
                0 => gains[1] -= self.graph.weight(u as usize),
                1 => gains[0] -= self.graph.weight(u as usize),
                _ => {}
            }
        }
        self.gains[v] = gains;
    }

    fn enqueue(&mut self, v: usize, side: usize) {
        if !self.locked[v] {
            self.heaps[side].push((self.gains[v][side], std::cmp::Reverse(v as u32)));
        }
    }

    /// One sequence of moves, each vertex at most once; ends in the best state found.
    fn pass(&mut self) {
        self.locked.fill(false);
        self.log.clear();
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
        for v in 0..self.graph.vertex_count() {
            if usize::from(self.labels[v]) == SEPARATOR {
                self.compute_gains(v);
                self.enqueue(v, 0);
                self.enqueue(v, 1);
            }
        }
        let mut best = (self.score(), 0, self.weights);
        let mut since_best = 0;
        while since_best < PATIENCE {
            let Some((v, side)) = self.best_move() else { break };
            self.make_move(v, side);
            since_best += 1;
            let score = self.score();
            if score < best.0 {
                best = (score, self.log.len(), self.weights);
                since_best = 0;
            }
        }
        for (v, label) in self.log.drain(best.1..).rev() {
            self.labels[v as usize] = label;
        }
        self.weights = best.2;
    }

    /// The candidate with the largest gain whose side can take it; ties go to the lighter side.
    fn best_move(&mut self) -> Option<(usize, usize)> {
        let mut found: Option<(i64, usize, usize)> = None;
        let lighter = usize::from(self.weights[1] < self.weights[0]);
        for side in [lighter, 1 - lighter] {
            while let Some(&(gain, std::cmp::Reverse(v))) = self.heaps[side].peek() {
                let v = v as usize;
                let is_current = usize::from(self.labels[v]) == SEPARATOR && self.gains[v][side] == gain;
                if self.locked[v] || !is_current {
                    self.heaps[side].pop();
                    continue;
                }
                let grown = self.weights[side] + self.graph.weight(v);
                let admissible = grown <= self.limit || self.weights[side] < self.weights[1 - side];
                if admissible && found.is_none_or(|(best, ..)| gain > best) {
                    found = Some((gain, v, side));
                }
                break;
            }
        }
        found.map(|(_, v, side)| {
            self.heaps[side].pop();
            (v, side)
        })
    }

    /// Moves separator vertex `v` to `side` and pulls its neighbors on the other side into the separator.
    fn make_move(&mut self, v: usize, side: usize) {
        let graph = self.graph;
        let other = 1 - side;
        self.locked[v] = true;
        self.log.push((v as u32, SEPARATOR as u8));
        self.labels[v] = side as u8;
        self.weights[SEPARATOR] -= graph.weight(v);
        self.weights[side] += graph.weight(v);
        let this_move = self.move_count;
        self.move_count += 1;
        for &u in graph.neighbors(v) {
            let u = u as usize;
            if usize::from(self.labels[u]) == SEPARATOR {
                if self.pulled_in[u] != this_move {
                    self.gains[u][other] -= graph.weight(v);
                    self.enqueue(u, other);
                }
            } else if usize::from(self.labels[u]) == other {
                self.log.push((u as u32, other as u8));
                self.labels[u] = SEPARATOR as u8;
                self.weights[other] -= graph.weight(u);
                self.weights[SEPARATOR] += graph.weight(u);
                self.pulled_in[u] = this_move;
            }
        }
        // Gains of the new separator vertices need all new labels, so they follow in a second loop.
        for &u in graph.neighbors(v) {
            let u = u as usize;
            if self.pulled_in[u] != this_move {
                continue;
            }
            self.compute_gains(u);
            self.enqueue(u, 0);
            self.enqueue(u, 1);
            for &x in graph.neighbors(u) {
                let x = x as usize;
                if usize::from(self.labels[x]) == SEPARATOR && self.pulled_in[x] != this_move {
                    self.gains[x][side] += graph.weight(u);
                    self.enqueue(x, side);
                }
            }
        }
    }
}
