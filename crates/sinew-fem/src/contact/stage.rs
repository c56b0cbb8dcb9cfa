//! The collision stage of a step: candidates, distances, and contact energy, gradient and tangent.
//!
//! Each contact is a gap g(y) of up to four vertices with derivative wᵢ n: the weights of the closest points and the
//! unit vector between them (the motion of the closest points themselves does not change a closest-point distance to
//! first order). Energy φ(g), gradient φ' wᵢ n, tangent φ'' wᵢ wⱼ n nᵀ. Omitting the term φ' ∇²g keeps the tangent
//! positive semi-definite (SIF-034) and changes no equilibrium; bends are what is omitted. A place that several pairs
//! share counts once (`features`).
//!
//! In barrier mode, one broad phase over the whole motion of an iteration serves its continuous collision detection and
//! all evaluations along the way. In penalty mode, the first iterates of a step find exits, which are then fixed so
//! that the iteration ends.

mod curvature;
mod features;
mod lagged;
mod merge;
mod obstacles;
mod parting;
mod speculative;
mod sweep;
mod touch;

use features::{Shares, shares_of};
use lagged::Lagged;
pub(crate) use merge::Bend;
use merge::{Fading, Merged};
use obstacles::{WorldPlane, world_planes};
use sinew_geometry::proximity::{Candidates, SurfaceTree};
use sinew_geometry::shape::Pose;
use sinew_math::parallel::for_each_block_mut;
use sinew_math::{Mat3, Vec3};
use speculative::SpeculativeContacts;

use super::material_space::{Exit, MaterialSpace, NOWHERE};
use super::restitution::Meeting;
use super::rule::{ContactMode, FADE_TIME, ORDINARY_DEPTH};
use super::surface::{ContactModel, PlaneGroup};
use crate::collider::{Collider, collider_poses};
use crate::control::Control;
use crate::revision::Revision;
use crate::state::{ContactMemory, History, State};

/// Pairs per parallel block.
const BLOCK: usize = 512;
/// Minimum share of a distance that must remain after one step.
const KEEP: f64 = 0.1;
/// Room of the boxes for motion, relative to the gap: candidates of one motion then serve all iterations that hardly
/// move on.
const SLACK: f64 = 0.1;
/// Motion since the last search for exits that needs no other, as a share of the depth over which penalties set in.
const UNNOTICED: f64 = 0.01;
/// Marks the missing vertices of a contact with a half-space.
const NO_VERTEX: u32 = u32::MAX;

/// A contact that acts at the last evaluated positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    /// From the second towards the first.
    pub normal: Vec3,
    /// Distance, or negative depth \[m\].
    pub gap: f64,
    /// ∂E/∂(Σ wᵢ yᵢ) \[N\].
    force: Vec3,
    /// φ' \[N\]: positive only where a place is counted back.
    pub slope: f64,
    /// φ'' \[N/m\], and stiffness across the normal.
    curvature: f64,
    across: f64,
    /// Coefficient of friction.
    friction: f64,
    /// Whether it has restitution.
    bounces: bool,
    /// Groups of the first and the second.
    pub groups: [u32; 2],
}

impl Active {
    /// Identity of the contact in the history.
    fn key(&self) -> [u32; 4] {
        let [first, second, ..] = self.vertices;
        if second == NO_VERTEX { [first, NO_VERTEX, self.groups[1], NO_VERTEX] } else { self.vertices }
    }

    /// Whether it has friction or restitution.
    fn is_lagged(&self) -> bool {
        self.friction > 0.0 || self.bounces
    }

    /// Whether the second is this half-space.
    fn is_at(&self, plane: &PlaneGroup) -> bool {
        self.vertices[1] == NO_VERTEX && plane.group == self.groups[1] as usize
    }
}

/// The part Wᵀ B W of the tangent of one contact, where W holds the weights of its vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactTerm {
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    pub block: Mat3,
}

impl ContactTerm {
    /// Missing vertices get no weight.
    fn new(vertices: [u32; 4], weights: [f64; 4], block: Mat3) -> Self {
        Self { vertices: vertices.map(|v| if v == NO_VERTEX { 0 } else { v }), weights, block }
    }
}

#[derive(Clone, Default)]
struct Chunk {
    /// Features of pairs, which several pairs may share.
    features: Vec<Active>,
    /// Contacts that are nobody else's.
    active: Vec<Active>,
    fading: Vec<Fading>,
    /// Number of pairs nearer than their gap.
    pairs: usize,
    energy: f64,
}

impl Chunk {
    fn clear(&mut self) {
        self.features.clear();
        self.active.clear();
        self.fading.clear();
        self.pairs = 0;
        self.energy = 0.0;
    }
}

/// What the stage looks at when a step begins.
#[derive(Clone, Copy)]
pub(crate) struct StepStart<'a> {
    /// Shapes moved by the scene.
    pub colliders: &'a [Collider],
    /// Mass of each point \[kg\].
    pub masses: &'a [f64],
    /// The state at the start.
    pub state: &'a State,
    /// The commands at the end.
    pub control: &'a Control,
    /// Length of the step \[s\].
    pub dt: f64,
}

/// The stage with its memory; everything it knows of the past comes with the state.
#[derive(Default)]
pub(crate) struct ContactStage {
    /// The model that everything was laid out for.
    revision: Option<Revision>,
    tree: Option<SurfaceTree>,
    margins: Vec<f64>,
    /// Motion of the vertices that margins have room for, beside half the gap \[m\].
    slack: f64,
    /// The motion whose candidates are known, if any are.
    known: bool,
    pub(super) known_ends: [Vec<Vec3>; 2],
    edge_areas: Vec<f64>,
    /// What triangles share with their neighbors.
    shares: Vec<Shares>,
    candidates: Candidates,
    /// The same of the motion searched before: a step looks at one start, at another, and goes on from the first.
    spare_known: bool,
    spare_ends: [Vec<Vec3>; 2],
    spare_candidates: Candidates,
    /// Vertices that half-spaces act on, each with the index of its half-space.
    plane_vertices: Vec<[u32; 2]>,
    flesh: Option<MaterialSpace>,
    exits: Vec<Exit>,
    /// Last exit triangle of each vertex.
    memory: Vec<u32>,
    /// Vertices at the last search for exits in this step, if there was one.
    searched: Vec<Vec3>,
    is_searched: bool,
    chunks: Vec<Chunk>,
    merged: Merged,
    lagged: Vec<Lagged>,
    /// Vertices at the start of the step, with colliders at its start and at its end.
    start: Vec<Vec3>,
    end: Vec<Vec3>,
    planes: [Vec<WorldPlane>; 2],
    poses: Vec<Pose>,
    /// Share of their motion that colliders have completed.
    progress: f64,
    y: Vec<Vec3>,
    swept: Vec<Vec3>,
    placed: Vec<Vec3>,
    /// Whether contacts are up to date at `y`.
    is_current: bool,
    /// Whether candidates belong to an earlier step.
    is_stale: bool,
    /// Whether contacts have friction or restitution, so that those at the start of a step matter.
    has_lagged: bool,
    /// Slip at which friction reaches its maximum \[m\].
    epsilon: f64,
    /// Pairs with restitution, and their impact speeds.
    meetings: Vec<Meeting>,
    meeting_speeds: Vec<f64>,
    /// Allowed depth of each vertex in this step \[m\]. A vertex that suddenly is deeper than before is pushed out
    /// slowly, or it would fly off.
    allowed: Vec<f64>,
    /// Depth of each vertex at the end of the last step \[m\].
    depths: Vec<f64>,
    /// Share of the allowed depth that remains at the end of the step.
    fading: f64,
    speculative: SpeculativeContacts,
    /// Which tangles have not parted, then which vertices at half-spaces; empty without any.
    tangled: Vec<bool>,
    /// Whether some tangle of surfaces has not parted.
    has_tangles: bool,
    /// For each of `plane_vertices` whether its half-space leaves it alone; empty if none does.
    is_plane_free: Vec<bool>,
    /// Tangles that hold together, while that is found out.
    together: Vec<bool>,
}

impl ContactStage {
    /// Whether there is anything to do.
    pub fn is_idle(contact: &ContactModel) -> bool {
        contact.is_empty()
    }

    fn prepare(&mut self, contact: &ContactModel) {
        let count = contact.vertex_count();
        if self.revision == Some(contact.revision) {
            return;
        }
        *self = Self { revision: Some(contact.revision), ..Self::default() };
        self.chunks.resize_with(1, Chunk::default);
        let [known_start, known_end] = &mut self.known_ends;
        let [spare_start, spare_end] = &mut self.spare_ends;
        let lists = [
            known_start,
            known_end,
            spare_start,
            spare_end,
            &mut self.start,
            &mut self.end,
            &mut self.y,
            &mut self.swept,
            &mut self.placed,
            &mut self.searched,
        ];
        for list in lists {
            list.clear();
            list.resize(count, Vec3::zero());
        }
        self.memory = vec![NOWHERE; count];
        self.allowed = vec![0.0; count];
        self.depths = vec![0.0; count];
        self.has_lagged = contact.pairs().any(|(_, _, rule)| rule.friction > 0.0 || rule.bounce > 0.0);
        self.slack = if contact.has(ContactMode::Barrier) { SLACK * contact.least_gap() } else { 0.0 };
        self.margins = contact.groups.iter().map(|group| group.margin + self.slack).collect();
        if contact.has(ContactMode::Barrier) {
            let groups = contact.groups.iter().enumerate();
            let groups = groups.flat_map(|(g, group)| group.triangles.clone().map(move |_| g as u32)).collect();
            let tree = SurfaceTree::new(count, contact.triangles.clone(), groups, contact.paired(ContactMode::Barrier));
            self.edge_areas = tree
                .edge_triangles()
                .iter()
                .map(|sides| {
                    sides.iter().filter(|&&t| t != u32::MAX).map(|&t| contact.triangle_areas[t as usize] / 3.0).sum()
                })
                .collect();
            self.tree = Some(tree);
            self.shares = shares_of(count, &contact.triangles);
        }
        self.plane_vertices.clear();
        for (index, plane) in contact.planes.iter().enumerate() {
            for group in (0..contact.groups.len()).filter(|&g| contact.rule(plane.group, g).is_some()) {
                self.plane_vertices.extend(contact.groups[group].vertices.clone().map(|v| [v as u32, index as u32]));
            }
        }
        if contact.has(ContactMode::Penalty) {
            self.flesh = Some(MaterialSpace::new(contact, contact.point_rest.clone()));
        }
    }

    /// Looks at the start of a step: where everything is, where colliders go, and what friction there will be.
    pub fn begin_step(&mut self, contact: &ContactModel, start: &StepStart<'_>) {
        if Self::is_idle(contact) {
            return;
        }
        self.prepare(contact);
        self.begin(contact, start, self.has_lagged);
    }

    /// Finds the contacts at the start of a step.
    pub fn find_contacts(&mut self, contact: &ContactModel, start: &StepStart<'_>) {
        if Self::is_idle(contact) {
            return;
        }
        self.prepare(contact);
        self.begin(contact, start, true);
    }

    fn begin(&mut self, contact: &ContactModel, start: &StepStart<'_>, needs_contacts: bool) {
        let StepStart { colliders, state, control, dt, .. } = *start;
        self.epsilon = contact.creep * dt;
        self.fading = 1.0;
        self.progress = 0.0;
        contact.place(&state.positions, &mut self.start);
        self.poses.clone_from(&state.history.collider_poses);
        contact.place_obstacles(&self.poses, &mut self.start);
        world_planes(contact, &self.poses, &mut self.planes[0]);
        self.end.copy_from_slice(&self.start);
        collider_poses(colliders, control, &mut self.poses);
        contact.place_obstacles(&self.poses, &mut self.end);
        world_planes(contact, &self.poses, &mut self.planes[1]);
        if state.history.contact_exits.len() == self.memory.len() {
            self.memory.copy_from_slice(&state.history.contact_exits);
            self.depths.copy_from_slice(&state.history.contact_depths);
        } else {
            self.memory.fill(NOWHERE);
            self.depths.fill(0.0);
        }
        self.recall_tangles(contact, &state.history);
        self.exits.clear();
        self.is_searched = false;
        (self.known, self.spare_known) = (false, false);
        if let Some(tree) = &mut self.tree {
            tree.rebuild(&self.start);
        }
        if let Some(flesh) = &mut self.flesh {
            flesh.begin_step(&state.positions);
        }
        self.lagged.clear();
        self.allowed.fill(0.0);
        // Most steps find candidates of their first motion next.
        self.is_stale = true;
        if needs_contacts || self.flesh.is_some() {
            self.refresh(contact, &state.positions);
        }
        // Contact still pushes out the depth of the last step; only the excess is allowed.
        for exit in &self.exits {
            self.allowed[exit.vertex as usize] = self.excess(contact, exit);
            self.memory[exit.vertex as usize] = exit.triangle;
        }
        if needs_contacts {
            self.evaluate(contact, &state.positions);
        } else {
            self.chunks.iter_mut().for_each(Chunk::clear);
            self.merged.gather(&self.chunks);
        }
        self.meet(contact, start);
        self.lag(contact, state);
        self.is_current = false;
        self.fading = (-dt / FADE_TIME).exp();
        self.allowed.iter_mut().for_each(|depth| *depth *= self.fading);
        if !self.has_moving_obstacles() {
            self.progress = 1.0;
        }
    }

    /// Finds candidates and exits at `x`.
    pub fn refresh(&mut self, contact: &ContactModel, x: &[Vec3]) {
        if Self::is_idle(contact) {
            return;
        }
        self.sweep(contact, x, x, self.progress);
        self.find_exits(contact, x);
    }

    /// Finds the exits of penalty contact at `x`, if there is any such contact and vertices have moved since the last
    /// search; returns whether it did.
    pub fn find_exits(&mut self, contact: &ContactModel, x: &[Vec3]) -> bool {
        let Some(mut flesh) = self.flesh.take() else { return false };
        let mut y = std::mem::take(&mut self.placed);
        self.place(contact, x, self.progress, &mut y);
        let moved = y.iter().zip(&self.searched).map(|(y, s)| (*y - *s).norm_squared()).fold(0.0, f64::max);
        // Vertices that enter by so little are hardly pushed.
        let has_moved = !self.is_searched || !(moved <= (UNNOTICED * contact.least_onset()).powi(2));
        if has_moved {
            self.is_current = false;
            flesh.find(contact, x, &y, &self.memory, &mut self.exits);
            self.searched.copy_from_slice(&y);
            self.is_searched = true;
            std::mem::swap(&mut self.y, &mut y);
        }
        (self.placed, self.flesh) = (y, Some(flesh));
        if has_moved {
            self.allow(contact);
        }
        has_moved
    }

    /// Allows the extra depth of new exits, because the energy of contact must not jump.
    fn allow(&mut self, contact: &ContactModel) {
        for exit in &self.exits {
            let v = exit.vertex as usize;
            if self.memory[v] != exit.triangle {
                self.allowed[v] = self.fading * self.excess(contact, exit);
            }
        }
    }

    /// Depth of an exit beyond the last depth of its vertex, and beyond what pressure may cause.
    fn excess(&self, contact: &ContactModel, exit: &Exit) -> f64 {
        let v = exit.vertex as usize;
        let ordinary = ORDINARY_DEPTH * contact.groups[contact.vertex_groups[v] as usize].cell;
        (self.depth(contact, exit) - self.depths[v].max(ordinary)).max(0.0)
    }

    /// Depth of a vertex below its exit at the last positions.
    fn depth(&self, contact: &ContactModel, exit: &Exit) -> f64 {
        let (vertices, weights) = exit.stencil(contact);
        -combine(vertices, weights, &self.y).dot(exit.normal)
    }

    /// Whether the model has barriers.
    pub fn has_barriers(&self) -> bool {
        self.tree.is_some()
    }

    /// Whether any contact acts at the last evaluated positions.
    pub fn is_acting(&self) -> bool {
        !self.merged.active.is_empty()
    }

    /// Whether surfaces repel each other at the last evaluated positions.
    pub fn is_repelling(&self) -> bool {
        self.tree.is_some() && self.is_acting()
    }

    /// Whether the model needs exits.
    pub fn has_exits(&self) -> bool {
        self.flesh.is_some()
    }

    /// Writes the history for the next step: contacts at the last evaluated positions, and exit and depth of each
    /// vertex.
    pub fn remember(&mut self, contact: &ContactModel, history: &mut History) {
        history.contact_memory.extend(self.lagged.iter().map(|lagged| ContactMemory {
            key: lagged.key,
            slip: lagged.response.remembered_slip(self.moved(lagged), self.epsilon),
        }));
        history.meeting_speeds.extend(&self.meeting_speeds);
        self.part(contact, history);
        if self.flesh.is_none() {
            return;
        }
        let (memory, depths) = (&mut history.contact_exits, &mut history.contact_depths);
        memory.clear();
        memory.resize(self.memory.len(), NOWHERE);
        depths.clear();
        depths.resize(self.memory.len(), 0.0);
        for exit in &self.exits {
            let v = exit.vertex as usize;
            memory[v] = exit.triangle;
            depths[v] = (self.depth(contact, exit) - self.allowed[v]).max(0.0);
        }
    }

    /// Contacts at points `x`; returns their energy with that of friction \[J\].
    pub fn evaluate(&mut self, contact: &ContactModel, x: &[Vec3]) -> f64 {
        if Self::is_idle(contact) {
            return 0.0;
        }
        if self.is_stale {
            self.sweep(contact, x, x, self.progress);
        }
        let mut placed = std::mem::take(&mut self.placed);
        self.place(contact, x, self.progress, &mut placed);
        if self.is_current && placed == self.y {
            self.placed = placed;
            return self.stored_energy() + self.lagged_energy();
        }
        (self.y, self.placed) = (placed, std::mem::take(&mut self.y));
        self.is_current = true;
        let lists = [&self.candidates.point_triangle, &self.candidates.edge_edge, &self.plane_vertices];
        let count = lists.iter().map(|list| list.len()).sum::<usize>() + self.exits.len();
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.resize_with(count.div_ceil(BLOCK).max(1), Chunk::default);
        for_each_block_mut(&mut chunks[..], 1, |first, block| {
            for (k, chunk) in block.iter_mut().enumerate() {
                chunk.clear();
                for item in (first + k) * BLOCK..((first + k + 1) * BLOCK).min(count) {
                    self.evaluate_item(contact, item, chunk);
                }
            }
        });
        self.chunks = chunks;
        self.merged.gather(&self.chunks);
        self.stored_energy() + self.lagged_energy()
    }

    fn evaluate_item(&self, contact: &ContactModel, item: usize, chunk: &mut Chunk) {
        let Candidates { point_triangle: points, edge_edge: edges } = &self.candidates;
        let (p, e, v) = (points.len(), edges.len(), self.plane_vertices.len());
        match item {
            item if item < p => self.touch_triangle(contact, points[item], chunk),
            item if item < p + e => self.touch_edge(contact, edges[item - p], chunk),
            item if item < p + e + v => {
                if !self.is_left_to_plane(item - p - e) {
                    self.touch_plane(contact, self.plane_vertices[item - p - e], chunk);
                }
            }
            item => self.touch_inside(contact, &self.exits[item - p - e - v], chunk),
        }
    }

    /// Whether its half-space leaves the k-th of `plane_vertices` alone.
    fn is_left_to_plane(&self, k: usize) -> bool {
        self.is_plane_free.get(k).copied().unwrap_or(false)
    }

    /// Contacts at the last evaluated positions.
    pub fn active(&self) -> impl Iterator<Item = &Active> {
        self.merged.active.iter()
    }

    /// Number of pairs that touch: of features nearer than their gap, and of points in or at something else.
    pub fn pair_count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.pairs + chunk.active.len()).sum()
    }

    /// Position of a contact on its first body: the closest point.
    pub fn place_of(&self, active: &Active) -> Vec3 {
        let parts = active.vertices.iter().zip(&active.weights).filter(|(v, w)| **v != NO_VERTEX && **w > 0.0);
        parts.fold(Vec3::zero(), |sum, (&v, &w)| sum + self.y[v as usize] * w)
    }

    /// Energy of the contacts at the last evaluated positions, without friction \[J\].
    pub fn stored_energy(&self) -> f64 {
        self.chunks.iter().map(|chunk| chunk.energy).sum()
    }

    /// gradient += ∂E/∂x at the place last evaluated.
    pub fn add_gradient(&self, contact: &ContactModel, gradient: &mut [Vec3]) {
        let mut add = |vertex: u32, force: Vec3| {
            for &(point, weight) in contact.carriers(vertex as usize) {
                gradient[point as usize] += force * weight;
            }
        };
        for active in self.active() {
            let weighted = active.vertices.iter().zip(&active.weights);
            for (&vertex, &w) in weighted.filter(|(v, w)| **v != NO_VERTEX && **w != 0.0) {
                add(vertex, active.force * w);
            }
        }
        for fading in self.chunks.iter().flat_map(|chunk| &chunk.fading) {
            let slopes = fading.sides(&self.y).slopes_of_vertices();
            for (&vertex, slope) in fading.vertices.iter().zip(slopes) {
                add(vertex, slope * (fading.rate * fading.energy));
            }
        }
        for lagged in &self.lagged {
            let force = lagged.response.gradient(self.moved(lagged), self.epsilon);
            for (&vertex, &w) in lagged.vertices.iter().zip(&lagged.weights).filter(|(v, _)| **v != NO_VERTEX) {
                add(vertex, force * w);
            }
        }
    }

    /// Writes ∂²E/∂y² at points `x`, the terms that are positive semi-definite.
    pub fn linearize(&mut self, contact: &ContactModel, x: &[Vec3], terms: &mut Vec<ContactTerm>) {
        terms.clear();
        if Self::is_idle(contact) {
            return;
        }
        self.evaluate(contact, x);
        terms.extend(self.active().filter(|active| active.is_stiff()).map(|active| {
            let along = Mat3::outer(active.normal, active.normal);
            let block = along * (active.curvature - active.across) + Mat3::identity() * active.across;
            ContactTerm::new(active.vertices, active.weights, block)
        }));
        terms.extend(self.lagged.iter().filter(|lagged| lagged.response.normal_force > 0.0).map(|lagged| {
            let block = lagged.response.stiffened_block(self.moved(lagged), self.epsilon);
            ContactTerm::new(lagged.vertices, lagged.weights, block)
        }));
        terms.extend(self.speculative.terms());
    }
}

fn combine(vertices: [u32; 4], weights: [f64; 4], y: &[Vec3]) -> Vec3 {
    let parts = vertices.iter().zip(&weights).filter(|(v, _)| **v != NO_VERTEX);
    parts.fold(Vec3::zero(), |sum, (&v, &w)| sum + y[v as usize] * w)
}
