//! The collision stage of a step: candidates, distances, and what follows from them for energy, gradient and tangent.
//!
//! Each contact is a gap g(y) of up to four vertices whose derivative is wᵢ n: the weights of the closest points and the unit vector between them (for a
//! closest-point distance the motion of the closest points themselves adds nothing). Energy φ(g), gradient φ' wᵢ n, tangent φ'' wᵢ wⱼ n nᵀ; the term
//! φ' ∇²g is left out, which leaves the tangent positive semi-definite (SIF-034) and moves no equilibrium.
//!
//! In barrier mode one broad phase over the whole motion of an iteration serves its continuous collision detection and every evaluation on the way. In
//! penalty mode exits are found at the first iterates of a step and then kept, so that the iteration ends.

mod speculative;
mod touch;

use sinew_geometry::proximity::{Candidates, PairKind, SurfaceTree, free_fraction};
use sinew_geometry::shape::{Pose, Shape};
use sinew_math::parallel::{for_each_block_mut, reduce_blocks};
use sinew_math::{Mat3, Vec3};
use speculative::SpeculativeContacts;

use super::lagged::{ContactMemory, Response, recall};
use super::material_space::{Exit, MaterialSpace, NOWHERE};
use super::restitution::Meeting;
use super::rule::{ContactMode, FADE_TIME, ORDINARY_DEPTH, Party};
use super::surface::{ContactModel, PlaneGroup};
use crate::contacts::collider_poses;
use crate::control::Control;
use crate::model::{Model, Revision};
use crate::state::{History, State};

/// Pairs per parallel block.
const BLOCK: usize = 512;
/// Share of a distance that one step must leave.
const KEEP: f64 = 0.1;
/// Stands for the missing vertices of a contact with a half-space.
const NO_VERTEX: u32 = u32::MAX;

/// A contact that acts at the place last evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    /// From the second towards the first.
    pub normal: Vec3,
    /// Distance, or depth below zero [m].
    pub gap: f64,
    /// ∂E/∂y of each vertex [N].
    gradient: [Vec3; 4],
    /// φ', not positive [N].
    pub slope: f64,
    /// φ'' [N/m], and stiffness across the normal.
    curvature: f64,
    across: f64,
    /// Coefficient of friction.
    friction: f64,
    /// Whether it has a restitution.
    bounces: bool,
    /// Groups of the first and of the second.
    pub groups: [u32; 2],
}

impl Active {
    /// Who touches, as the memory knows them.
    fn key(&self) -> [u32; 4] {
        let [first, second, ..] = self.vertices;
        if second == NO_VERTEX { [first, NO_VERTEX, self.groups[1], NO_VERTEX] } else { self.vertices }
    }

    /// Index of its pair among those that bounce, and whether the pair names the two in this order (1) or the other (−1).
    fn pair(&self, contact: &ContactModel) -> Option<(usize, f64)> {
        let [g, h] = self.groups.map(|group| group as usize);
        let key = (g.min(h), g.max(h));
        let pair = contact.bouncing.binary_search_by_key(&key, |&(g, h, _)| (g, h)).ok()?;
        Some((pair, if g <= h { 1.0 } else { -1.0 }))
    }

    /// Whether it does more than push.
    fn is_lagged(&self) -> bool {
        self.friction > 0.0 || self.bounces
    }

    /// Whether the second is this half-space.
    fn is_at(&self, plane: &PlaneGroup) -> bool {
        self.vertices[1] == NO_VERTEX && plane.group == self.groups[1] as usize
    }
}

/// The part Wᵀ B W of the tangent that belongs to one contact, W being the weights of its vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactTerm {
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    pub block: Mat3,
}

impl ContactTerm {
    /// Vertices that are missing get no weight.
    fn new(vertices: [u32; 4], weights: [f64; 4], block: Mat3) -> Self {
        Self { vertices: vertices.map(|v| if v == NO_VERTEX { 0 } else { v }), weights, block }
    }
}

/// A contact that acted at the start of the step.
#[derive(Clone, Copy, Debug)]
struct Lagged {
    key: [u32; 4],
    vertices: [u32; 4],
    weights: [f64; 4],
    response: Response,
    /// Σ wᵢ yᵢ at the start of the step, moved along with a half-space [m].
    anchor: Vec3,
}

#[derive(Clone, Default)]
struct Chunk {
    active: Vec<Active>,
    energy: f64,
}

impl Chunk {
    fn clear(&mut self) {
        self.active.clear();
        self.energy = 0.0;
    }
}

/// A half-space in the world.
#[derive(Clone, Copy, Debug)]
struct WorldPlane {
    normal: Vec3,
    offset: f64,
}

impl WorldPlane {
    fn blend(&self, other: &Self, share: f64) -> Self {
        let normal = self.normal * (1.0 - share) + other.normal * share;
        let size = normal.norm();
        Self { normal: normal / size, offset: (self.offset * (1.0 - share) + other.offset * share) / size }
    }
}

/// The stage with its memory; everything it knows of the past comes with the state.
#[derive(Default)]
pub(crate) struct ContactStage {
    /// The model that everything was laid out for.
    revision: Option<Revision>,
    tree: Option<SurfaceTree>,
    margins: Vec<f64>,
    edge_areas: Vec<f64>,
    candidates: Candidates,
    /// Vertices that half-spaces act on, each with the index of its half-space.
    plane_vertices: Vec<[u32; 2]>,
    flesh: Option<MaterialSpace>,
    exits: Vec<Exit>,
    /// Triangle that each vertex came out of last.
    memory: Vec<u32>,
    chunks: Vec<Chunk>,
    lagged: Vec<Lagged>,
    /// Vertices at the start of the step, with colliders there and at its end.
    start: Vec<Vec3>,
    end: Vec<Vec3>,
    planes: [Vec<WorldPlane>; 2],
    poses: Vec<Pose>,
    /// Share of their way that colliders have gone.
    progress: f64,
    y: Vec<Vec3>,
    swept: Vec<Vec3>,
    placed: Vec<Vec3>,
    /// Whether contacts are those at `y`, and nothing that they depend on has changed since.
    is_current: bool,
    /// Whether candidates are those of an earlier step.
    is_stale: bool,
    /// Whether contacts do more than push: then those at the start of a step matter.
    has_lagged: bool,
    /// Slip over which friction grows to its largest [m].
    epsilon: f64,
    /// Pairs that have a restitution, with the speeds at which they met.
    meetings: Vec<Meeting>,
    meeting_speeds: Vec<f64>,
    /// Depth that is allowed each vertex in this step [m]: whatever was found deeper than a moment before is pushed out slowly, or it would fly.
    allowed: Vec<f64>,
    /// Depth each was pushed from at the end of the last step [m].
    depths: Vec<f64>,
    /// Share of the allowed depth that is left at the end of the step.
    fading: f64,
    speculative: SpeculativeContacts,
}

impl ContactStage {
    /// Whether there is anything to do.
    pub fn is_idle(model: &Model) -> bool {
        model.contact.is_empty()
    }

    fn prepare(&mut self, model: &Model) {
        let contact = &model.contact;
        let count = contact.vertex_count();
        if self.revision == Some(model.revision()) {
            return;
        }
        *self = Self { revision: Some(model.revision()), ..Self::default() };
        self.chunks.resize_with(1, Chunk::default);
        for list in [&mut self.start, &mut self.end, &mut self.y, &mut self.swept, &mut self.placed] {
            list.clear();
            list.resize(count, Vec3::zero());
        }
        self.memory = vec![NOWHERE; count];
        self.allowed = vec![0.0; count];
        self.depths = vec![0.0; count];
        self.has_lagged = contact.pairs().any(|(_, _, rule)| rule.friction > 0.0 || rule.bounce > 0.0);
        self.margins = contact.groups.iter().map(|group| group.margin).collect();
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
        }
        self.plane_vertices.clear();
        for (index, plane) in contact.planes.iter().enumerate() {
            for group in (0..contact.groups.len()).filter(|&g| contact.rule(plane.group, g).is_some()) {
                self.plane_vertices.extend(contact.groups[group].vertices.clone().map(|v| [v as u32, index as u32]));
            }
        }
        if contact.has(ContactMode::Penalty) {
            let mut rest = vec![Vec3::zero(); model.kinematics.point_count()];
            for body in &model.bodies {
                rest[body.points.clone()].copy_from_slice(body.mesh.positions());
            }
            self.flesh = Some(MaterialSpace::new(contact, rest));
        }
    }

    /// Looks at the start of a step: where everything is, where colliders go, and what friction there will be.
    pub fn begin_step(&mut self, model: &Model, state: &State, control: &Control, dt: f64) {
        if Self::is_idle(model) {
            return;
        }
        self.prepare(model);
        self.begin(model, state, control, dt, self.has_lagged);
    }

    /// Finds the contacts at the start of a step.
    pub fn find_contacts(&mut self, model: &Model, state: &State, control: &Control, dt: f64) {
        if Self::is_idle(model) {
            return;
        }
        self.prepare(model);
        self.begin(model, state, control, dt, true);
    }

    fn begin(&mut self, model: &Model, state: &State, control: &Control, dt: f64, needs_contacts: bool) {
        let contact = &model.contact;
        self.epsilon = contact.creep * dt;
        self.fading = 1.0;
        self.progress = 0.0;
        contact.place(&state.positions, &mut self.start);
        self.poses.clone_from(&state.history.collider_poses);
        contact.place_obstacles(&self.poses, &mut self.start);
        world_planes(contact, &self.poses, &mut self.planes[0]);
        self.end.copy_from_slice(&self.start);
        collider_poses(model, control, &mut self.poses);
        contact.place_obstacles(&self.poses, &mut self.end);
        world_planes(contact, &self.poses, &mut self.planes[1]);
        if state.history.contact_exits.len() == self.memory.len() {
            self.memory.copy_from_slice(&state.history.contact_exits);
            self.depths.copy_from_slice(&state.history.contact_depths);
        } else {
            self.memory.fill(NOWHERE);
            self.depths.fill(0.0);
        }
        self.exits.clear();
        if let Some(tree) = &mut self.tree {
            tree.rebuild(&self.start);
        }
        if let Some(flesh) = &mut self.flesh {
            flesh.begin_step(&state.positions);
        }
        self.lagged.clear();
        self.allowed.fill(0.0);
        // Most steps look for candidates of their first motion at once.
        self.is_stale = true;
        if needs_contacts || self.flesh.is_some() {
            self.refresh(model, &state.positions);
        }
        // Exits that were there before keep what they were pushed from.
        for exit in &self.exits {
            self.allowed[exit.vertex as usize] = self.excess(contact, exit);
            self.memory[exit.vertex as usize] = exit.triangle;
        }
        if needs_contacts {
            self.evaluate(model, &state.positions);
        } else {
            self.chunks.iter_mut().for_each(Chunk::clear);
        }
        self.meet(model, state, dt);
        self.lag(contact, state);
        self.is_current = false;
        self.fading = (-dt / FADE_TIME).exp();
        self.allowed.iter_mut().for_each(|depth| *depth *= self.fading);
        if !self.has_moving_obstacles() {
            self.progress = 1.0;
        }
    }

    /// What the contacts of the start do while the step lasts.
    fn lag(&mut self, contact: &ContactModel, state: &State) {
        let mut lagged = std::mem::take(&mut self.lagged);
        for active in self.active().filter(|active| active.is_lagged()) {
            let place = combine(active.vertices, active.weights, &self.start);
            let anchor = match contact.planes.iter().find(|plane| active.is_at(plane)) {
                Some(&PlaneGroup { collider, .. }) => {
                    self.poses[collider].to_world(state.history.collider_poses[collider].to_local(place))
                }
                None => place,
            };
            lagged.push(Lagged {
                key: active.key(),
                vertices: active.vertices,
                weights: active.weights,
                response: Response {
                    normal: active.normal,
                    normal_force: -active.slope,
                    friction: active.friction,
                    held: recall(&state.history.contact_memory, active.key()) * self.epsilon,
                    push: self.push(contact, active),
                },
                anchor,
            });
        }
        self.lagged = lagged;
    }

    /// Looks at the pairs that have a restitution: who meets whom, and how fast.
    fn meet(&mut self, model: &Model, state: &State, dt: f64) {
        let contact = &model.contact;
        let mut meetings = std::mem::take(&mut self.meetings);
        meetings.clear();
        meetings.resize(contact.bouncing.len(), Meeting::default());
        for active in self.active().filter(|active| active.bounces) {
            if let Some((pair, sign)) = active.pair(contact) {
                meetings[pair].add(active.normal * sign, -active.slope);
            }
        }
        self.meeting_speeds.clear();
        for (k, (meeting, &(g, h, beta))) in meetings.iter_mut().zip(&contact.bouncing).enumerate() {
            let [(v, m), (w, n)] = [g, h].map(|group| self.travel(model, state, group, dt));
            let before = state.history.meeting_speeds.get(k).copied().unwrap_or(0.0);
            self.meeting_speeds.push(meeting.complete(v - w, before, beta, 1.0 / (1.0 / m + 1.0 / n), dt));
        }
        self.meetings = meetings;
    }

    /// Velocity of the center of a group [m/s], and its mass [kg], which is infinite where the scene moves it.
    fn travel(&self, model: &Model, state: &State, group: usize, dt: f64) -> (Vec3, f64) {
        let contact = &model.contact;
        match contact.groups[group].party {
            Party::Body(body) => model.travel(model.bodies[body].points.clone(), &state.velocities),
            Party::Rigid(_) => {
                let vertices = contact.groups[group].vertices.clone();
                let points = vertices.flat_map(|v| contact.carriers(v)).map(|&(point, _)| point as usize);
                let (sum, count) = points.fold((Vec3::zero(), 0), |(sum, n), p| (sum + state.velocities[p], n + 1));
                (sum / f64::from(count.max(1)), f64::INFINITY)
            }
            Party::Collider(collider) => {
                let motion = self.poses[collider].translation - state.history.collider_poses[collider].translation;
                (motion / dt, f64::INFINITY)
            }
        }
    }

    /// What the restitution of a contact adds to its force [N].
    fn push(&self, contact: &ContactModel, active: &Active) -> f64 {
        let pair = if active.bounces { active.pair(contact) } else { None };
        pair.map_or(0.0, |(pair, sign)| self.meetings[pair].push(active.normal * sign, -active.slope))
    }

    /// Contacts at the start of a step, with the forces on the first of each [N].
    pub fn forces(&self) -> impl Iterator<Item = (&Active, Vec3)> {
        let mut lagged = self.lagged.iter();
        self.active().map(move |active| match active.is_lagged().then(|| lagged.next()).flatten() {
            Some(lagged) => (active, lagged.response.force_at_rest(self.epsilon)),
            None => (active, active.normal * -active.slope),
        })
    }

    /// Whether colliders or half-spaces move during the step.
    fn has_moving_obstacles(&self) -> bool {
        let planes = self.planes[0].iter().zip(&self.planes[1]);
        self.start != self.end || planes.into_iter().any(|(a, b)| a.normal != b.normal || a.offset != b.offset)
    }

    /// Share of their way that colliders have gone.
    pub fn progress(&self) -> f64 {
        self.progress
    }

    /// Puts colliders at a share of their way; candidates must be found anew.
    pub fn set_progress(&mut self, progress: f64) {
        self.is_current = false;
        self.progress = progress;
    }

    /// Vertices at points `x`, with colliders at `progress`.
    fn place(&self, contact: &ContactModel, x: &[Vec3], progress: f64, y: &mut [Vec3]) {
        contact.place(x, y);
        for obstacle in &contact.obstacles {
            for v in obstacle.vertices.clone() {
                y[v] = if progress == 1.0 {
                    self.end[v]
                } else {
                    self.start[v] + (self.end[v] - self.start[v]) * progress
                };
            }
        }
    }

    fn plane(&self, index: usize, progress: f64) -> WorldPlane {
        if progress == 1.0 {
            self.planes[1][index]
        } else {
            self.planes[0][index].blend(&self.planes[1][index], progress)
        }
    }

    /// Finds candidates and exits at `x`.
    pub fn refresh(&mut self, model: &Model, x: &[Vec3]) {
        if Self::is_idle(model) {
            return;
        }
        self.sweep(model, x, x, self.progress);
        self.find_exits(model, x);
    }

    /// Finds the exits of penalty contact at `x`, if there is any such contact.
    pub fn find_exits(&mut self, model: &Model, x: &[Vec3]) {
        let Some(mut flesh) = self.flesh.take() else { return };
        self.is_current = false;
        let mut y = std::mem::take(&mut self.y);
        self.place(&model.contact, x, self.progress, &mut y);
        flesh.find(&model.contact, x, &y, &self.memory, &mut self.exits);
        (self.y, self.flesh) = (y, Some(flesh));
        self.allow(&model.contact);
    }

    /// Allows the depth of exits that are not those of before, beyond what they were pushed from: the energy of contact must not jump.
    fn allow(&mut self, contact: &ContactModel) {
        for exit in &self.exits {
            let v = exit.vertex as usize;
            if self.memory[v] != exit.triangle {
                self.allowed[v] = self.fading * self.excess(contact, exit);
            }
        }
    }

    /// Depth of an exit beyond what its vertex was pushed from, and beyond what pressure may cause.
    fn excess(&self, contact: &ContactModel, exit: &Exit) -> f64 {
        let v = exit.vertex as usize;
        let ordinary = ORDINARY_DEPTH * contact.groups[contact.vertex_groups[v] as usize].cell;
        (self.depth(contact, exit) - self.depths[v].max(ordinary)).max(0.0)
    }

    /// How deep a vertex is below its exit at the place last looked at.
    fn depth(&self, contact: &ContactModel, exit: &Exit) -> f64 {
        let (vertices, weights) = exit.stencil(contact);
        -combine(vertices, weights, &self.y).dot(exit.normal)
    }

    /// Whether some surfaces must never cross.
    pub fn has_barriers(&self) -> bool {
        self.tree.is_some()
    }

    /// Whether surfaces repel each other at the place last evaluated.
    pub fn is_repelling(&self) -> bool {
        self.tree.is_some() && self.chunks.iter().any(|chunk| !chunk.active.is_empty())
    }

    /// Whether exits are looked for.
    pub fn has_exits(&self) -> bool {
        self.flesh.is_some()
    }

    /// Writes what the next step begins with: what contacts remember at the place last evaluated, where each vertex came out, and how deep it is.
    pub fn remember(&mut self, contact: &ContactModel, history: &mut History) {
        history.contact_memory.extend(self.lagged.iter().map(|lagged| ContactMemory {
            key: lagged.key,
            slip: lagged.response.remembered_slip(self.moved(lagged), self.epsilon),
        }));
        history.meeting_speeds.extend(&self.meeting_speeds);
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

    /// Finds all candidates of the straight way of the points from `from` to `to` while colliders go on to `progress`, and the share of it that is free.
    pub fn sweep(&mut self, model: &Model, from: &[Vec3], to: &[Vec3], progress: f64) -> f64 {
        self.is_stale = false;
        if self.tree.is_none() {
            return 1.0;
        }
        self.is_current = false;
        let contact = &model.contact;
        let (mut y, mut swept) = (std::mem::take(&mut self.y), std::mem::take(&mut self.swept));
        self.place(contact, from, self.progress, &mut y);
        self.place(contact, to, progress, &mut swept);
        (self.y, self.swept) = (y, swept);
        let mut free = 1.0f64;
        if let Some(tree) = &mut self.tree {
            tree.refit(&self.y, &self.swept, &self.margins);
            tree.find(&mut self.candidates);
            if from != to || progress != self.progress {
                free = self.free_way(contact);
            }
        }
        for &[v, index] in &self.plane_vertices {
            let (now, then) = (self.plane(index as usize, self.progress), self.plane(index as usize, progress));
            let before = now.normal.dot(self.y[v as usize]) - now.offset;
            let after = then.normal.dot(self.swept[v as usize]) - then.offset;
            if after < KEEP * before {
                free = free.min((1.0 - KEEP) * before / (before - after));
            }
        }
        free
    }

    /// The share of the way from `y` to `swept` that no candidate ends.
    fn free_way(&self, contact: &ContactModel) -> f64 {
        let Self { candidates, tree, y, swept, .. } = self;
        let edges = tree.as_ref().map_or(&[][..], |tree| tree.edges());
        let (points, count) =
            (candidates.point_triangle.len(), candidates.point_triangle.len() + candidates.edge_edge.len());
        let share = |pair: usize| {
            let (kind, vertices) = if pair < points {
                let [v, t] = candidates.point_triangle[pair];
                let [a, b, c] = contact.triangles[t as usize];
                (PairKind::PointTriangle, [v, a, b, c])
            } else {
                let [e, f] = candidates.edge_edge[pair - points];
                let ([a, b], [c, d]) = (edges[e as usize], edges[f as usize]);
                (PairKind::EdgeEdge, [a, b, c, d])
            };
            free_fraction(kind, vertices.map(|v| y[v as usize]), vertices.map(|v| swept[v as usize]), KEEP)
        };
        let block = |range: std::ops::Range<usize>| range.map(share).fold(1.0, f64::min);
        reduce_blocks(count, BLOCK, block, f64::min).unwrap_or(1.0)
    }

    /// Contacts at points `x`; returns their energy with that of friction [J].
    pub fn evaluate(&mut self, model: &Model, x: &[Vec3]) -> f64 {
        if Self::is_idle(model) {
            return 0.0;
        }
        if self.is_stale {
            self.sweep(model, x, x, self.progress);
        }
        let contact = &model.contact;
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
        self.stored_energy() + self.lagged_energy()
    }

    fn evaluate_item(&self, contact: &ContactModel, item: usize, chunk: &mut Chunk) {
        let Candidates { point_triangle: points, edge_edge: edges } = &self.candidates;
        let (p, e, v) = (points.len(), edges.len(), self.plane_vertices.len());
        match item {
            item if item < p => self.touch_triangle(contact, points[item], chunk),
            item if item < p + e => self.touch_edge(contact, edges[item - p], chunk),
            item if item < p + e + v => self.touch_plane(contact, self.plane_vertices[item - p - e], chunk),
            item => self.touch_inside(contact, &self.exits[item - p - e - v], chunk),
        }
    }

    /// Contacts at the place last evaluated.
    pub fn active(&self) -> impl Iterator<Item = &Active> {
        self.chunks.iter().flat_map(|chunk| &chunk.active)
    }

    /// Where the first of a contact is touched: the closest point on it.
    pub fn place_of(&self, active: &Active) -> Vec3 {
        let parts = active.vertices.iter().zip(&active.weights).filter(|(v, w)| **v != NO_VERTEX && **w > 0.0);
        parts.fold(Vec3::zero(), |sum, (&v, &w)| sum + self.y[v as usize] * w)
    }

    /// Energy of the contacts at the place last evaluated, friction left out [J].
    pub fn stored_energy(&self) -> f64 {
        self.chunks.iter().map(|chunk| chunk.energy).sum()
    }

    /// How the first of a lagged contact has moved against the second since the start of the step.
    fn moved(&self, lagged: &Lagged) -> Vec3 {
        combine(lagged.vertices, lagged.weights, &self.y) - lagged.anchor
    }

    fn lagged_energy(&self) -> f64 {
        self.lagged.iter().map(|lagged| lagged.response.energy(self.moved(lagged), self.epsilon)).sum()
    }

    /// gradient += ∂E/∂x at the place last evaluated.
    pub fn add_gradient(&self, model: &Model, gradient: &mut [Vec3]) {
        let contact = &model.contact;
        let mut add = |vertex: u32, force: Vec3| {
            for &(point, weight) in contact.carriers(vertex as usize) {
                gradient[point as usize] += force * weight;
            }
        };
        for active in self.active() {
            for (&vertex, &force) in active.vertices.iter().zip(&active.gradient).filter(|(v, _)| **v != NO_VERTEX) {
                add(vertex, force);
            }
        }
        for lagged in &self.lagged {
            let force = lagged.response.gradient(self.moved(lagged), self.epsilon);
            for (&vertex, &w) in lagged.vertices.iter().zip(&lagged.weights).filter(|(v, _)| **v != NO_VERTEX) {
                add(vertex, force * w);
            }
        }
    }

    /// Writes ∂²E/∂y², positive semi-definite, at points `x`.
    pub fn linearize(&mut self, model: &Model, x: &[Vec3], terms: &mut Vec<ContactTerm>) {
        terms.clear();
        if Self::is_idle(model) {
            return;
        }
        self.evaluate(model, x);
        terms.extend(self.active().map(|active| {
            let along = Mat3::outer(active.normal, active.normal);
            let block = along * (active.curvature - active.across) + Mat3::identity() * active.across;
            ContactTerm::new(active.vertices, active.weights, block)
        }));
        terms.extend(self.lagged.iter().map(|lagged| {
            let block = lagged.response.stiffened_block(self.moved(lagged), self.epsilon);
            ContactTerm::new(lagged.vertices, lagged.weights, block)
        }));
        terms.extend(self.speculative.terms());
    }

    /// gradient += what the contacts last evaluated would gain if colliders went on by `share` of their way: their tangent times that motion.
    pub fn add_obstacle_pull(&self, model: &Model, share: f64, gradient: &mut [Vec3]) {
        let contact = &model.contact;
        for active in self.active() {
            let mut motion = Vec3::zero();
            if active.vertices[1] == NO_VERTEX {
                let plane = contact.planes.iter().position(|plane| plane.group == active.groups[1] as usize);
                if let Some(index) = plane {
                    let from = self.plane(index, self.progress);
                    let to = self.plane(index, (self.progress + share).min(1.0));
                    let place = self.y[active.vertices[0] as usize];
                    // How much nearer it comes.
                    let nearer = (from.normal.dot(place) - from.offset) - (to.normal.dot(place) - to.offset);
                    motion = active.normal * -nearer;
                }
            } else {
                for (&v, &w) in active.vertices.iter().zip(&active.weights) {
                    if contact.carriers(v as usize).is_empty() {
                        motion += (self.end[v as usize] - self.start[v as usize]) * (w * share);
                    }
                }
            }
            let force = active.normal * (active.curvature * active.normal.dot(motion));
            for (&v, &w) in active.vertices.iter().zip(&active.weights).filter(|(v, _)| **v != NO_VERTEX) {
                for &(point, weight) in contact.carriers(v as usize) {
                    gradient[point as usize] += force * (w * weight);
                }
            }
        }
    }
}

fn combine(vertices: [u32; 4], weights: [f64; 4], y: &[Vec3]) -> Vec3 {
    let parts = vertices.iter().zip(&weights).filter(|(v, _)| **v != NO_VERTEX);
    parts.fold(Vec3::zero(), |sum, (&v, &w)| sum + y[v as usize] * w)
}

fn world_planes(contact: &ContactModel, poses: &[Pose], out: &mut Vec<WorldPlane>) {
    out.clear();
    out.extend(contact.planes.iter().map(|group| {
        let pose = &poses[group.collider];
        let normal = pose.rotation.rotate(group.plane.normal(group.plane.point));
        WorldPlane { normal, offset: normal.dot(pose.to_world(group.plane.point)) }
    }));
}
