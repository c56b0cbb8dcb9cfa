//! The collision surface: everything that can touch, as vertices and triangles.

use std::collections::BTreeMap;
use std::ops::Range;

use sinew_geometry::shape::{AnyShape, Plane, Pose};
use sinew_geometry::{CellKind, CellMesh};
use sinew_math::Vec3;
use sinew_math::parallel::for_each_block_mut;

use super::patches::Patches;
use super::restitution::bounce_damping;
use super::rule::{ContactMode, ContactRule, Party, RestContact};
use super::tangles::Tangles;
use crate::collider::Collider;
use crate::revision::Revision;

/// Default distance at which barriers start, in mean edges of the finer surface.
const GAP_IN_EDGES: f64 = 0.1;

/// Depth over which the stiffness of penalties grows, in cells of the finer body.
const ONSET_IN_CELLS: f64 = 0.02;

/// Vertices per parallel block of the interpolation; each vertex is a sum over the nodes of its cell.
const PLACED: usize = 1024;

/// A participant of contact, with its part of the surface.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name from the scene.
    pub name: String,
    /// Body or collider.
    pub party: Party,
    /// Points that have its mass; none where the scene moves it.
    pub points: Range<usize>,
    /// Its vertices.
    pub vertices: Range<usize>,
    /// Its triangles.
    pub triangles: Range<usize>,
    /// Mean edge of its triangles at rest \[m\].
    pub edge: f64,
    /// Stiffness λ + 2μ of its flesh \[Pa\]; infinite for rigid bodies.
    pub modulus: f64,
    /// Cell size at rest \[m\]; half the thickness of rigid bodies, infinite for colliders.
    pub cell: f64,
    /// Half the maximum distance at which it interacts \[m\].
    pub margin: f64,
}

/// A rule with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub struct PairRule {
    /// How contact keeps the two apart.
    pub mode: ContactMode,
    /// Coefficient of friction μ.
    pub friction: f64,
    /// β of the restitution: damping times the speed of the impact.
    pub bounce: f64,
    /// Penalty: pressure per depth k \[Pa/m\].
    pub stiffness: f64,
    /// Penalty: ratio of the stiffness across the normal to that along it.
    pub tangential: f64,
    /// Penalty: depth over which the stiffness grows to k \[m\].
    pub onset: f64,
    /// Barrier: distance d̂ \[m\].
    pub gap: f64,
    /// Barrier: modulus κ \[Pa\].
    pub modulus: f64,
    /// Barrier: what becomes of places that cross at rest.
    pub rest: RestContact,
}

/// The index of pairs that pass through each other.
const NO_RULE: u32 = u32::MAX;

impl PairRule {
    /// Equal for equal rules.
    fn bits(&self) -> [u64; 8] {
        let Self { mode, friction, bounce, stiffness, tangential, onset, gap, modulus, rest } = *self;
        let numbers = [friction, bounce, stiffness, tangential, onset, gap, modulus].map(f64::to_bits);
        let kind = u64::from(mode == ContactMode::Barrier) + 2 * u64::from(rest == RestContact::LeftAlone);
        std::array::from_fn(|i| if i < 7 { numbers[i] } else { kind })
    }
}

/// A collider that is a half-space. Its barrier needs only vertices.
#[derive(Clone, Debug)]
pub struct PlaneGroup {
    /// Index of its group.
    pub group: usize,
    /// Index of the collider.
    pub collider: usize,
    /// Its shape.
    pub plane: Plane,
}

/// Vertices of a collider in its own frame.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// Index of the collider.
    pub collider: usize,
    /// Its vertices.
    pub vertices: Range<usize>,
    /// Their positions in its frame \[m\].
    pub local: Vec<Vec3>,
}

/// Everything that can touch, and the rules; constant in time.
#[derive(Clone, Debug, Default)]
pub struct ContactModel {
    /// Key of everything that is computed from these surfaces and kept.
    pub(crate) revision: Revision,
    /// Participants.
    pub groups: Vec<Group>,
    /// Slip at which friction reaches its maximum, per step length \[m/s\].
    pub creep: f64,
    /// Pairs of groups, g ≤ h, with a restitution below 1, and its β.
    pub bouncing: Vec<(usize, usize, f64)>,
    /// All different rules.
    rules: Vec<PairRule>,
    /// Index of the rule of groups g and h at g · count + h, or [`NO_RULE`]. Thousands of bodies have millions of pairs.
    pair_rules: Vec<u32>,
    /// First entry of each vertex in `entries`, and one past the last; vertices of colliders have none.
    offsets: Vec<u32>,
    /// Points and weights that carry vertices.
    entries: Vec<(u32, f64)>,
    /// Group of each vertex.
    pub vertex_groups: Vec<u32>,
    /// Rest area of each vertex \[m²\].
    pub areas: Vec<f64>,
    /// Vertices at rest \[m\].
    pub rest: Vec<Vec3>,
    /// All triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Rest area of each triangle \[m²\].
    pub triangle_areas: Vec<f64>,
    /// Half-spaces.
    pub planes: Vec<PlaneGroup>,
    /// Colliders that are surfaces.
    pub obstacles: Vec<Obstacle>,
    /// Flesh that others may enter, as tetrahedra over points.
    pub tets: Vec<[u32; 4]>,
    /// Group of each tetrahedron.
    pub tet_groups: Vec<u32>,
    /// The hexahedra of that flesh.
    pub hexes: Vec<[u32; 8]>,
    /// Places of all points at rest \[m\], where flesh may be found inside of other flesh; those of nodes alone matter.
    pub(crate) point_rest: Vec<Vec3>,
    /// The surface of each group in patches.
    pub(crate) patches: Patches,
    /// Places that cross at rest.
    pub(crate) tangles: Tangles,
}

/// All that may take part while the surface is put together.
pub(crate) struct Parts<'a> {
    /// Number of points of the model.
    pub point_count: usize,
    /// Surfaces of flesh.
    pub bodies: &'a [FleshSurface<'a>],
    pub colliders: &'a [Collider],
    /// Surfaces of rigid bodies, with the points that carry their vertices.
    pub rigid: &'a [RigidSurface],
}

/// The surface of flesh over points of the model.
pub(crate) struct FleshSurface<'a> {
    pub name: &'a str,
    /// Cells at rest.
    pub mesh: &'a CellMesh,
    /// Points of their nodes.
    pub points: Range<usize>,
    /// Points and weights that carry each vertex.
    pub carriers: Vec<Vec<(u32, f64)>>,
    /// Vertices at rest \[m\].
    pub rest: Vec<Vec3>,
    /// Rest area of each vertex \[m²\].
    pub areas: &'a [f64],
    pub triangles: &'a [[u32; 3]],
    /// Stiffness λ + 2μ \[Pa\].
    pub modulus: f64,
    /// Cell size at rest \[m\].
    pub cell: f64,
}

/// The surface of a rigid body over points of the model.
pub(crate) struct RigidSurface {
    pub name: String,
    /// Points that have its mass; none where the scene moves it.
    pub masses: Range<usize>,
    /// Points of its vertices.
    pub points: Range<usize>,
    /// The point at its center, from which it is seen as tetrahedra.
    pub center: u32,
    /// Vertices at rest, and the center \[m\].
    pub rest: Vec<Vec3>,
    pub rest_center: Vec3,
    /// Area of each vertex \[m²\]: [`facing_areas`].
    pub areas: Vec<f64>,
    pub triangles: Vec<[u32; 3]>,
    /// Smallest extent \[m\].
    pub thickness: f64,
}

/// Area of each vertex of a surface \[m²\]: the most that one plane sees of its shares of triangles, which go by the
/// angle θ at the vertex. A corner of a block counts with one of its sides, so that a block on a floor stands on exactly
/// the area of its base, however its sides are cut.
/// ```math
/// A = \max_s \sum_t \tfrac{\theta_t}{\pi} A_t \langle n_t \cdot n_s \rangle
/// ```
pub(crate) fn facing_areas(rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut around: Vec<Vec<Vec3>> = vec![Vec::new(); rest.len()];
    for triangle in triangles {
        let corners = triangle.map(|v| rest[v as usize]);
        for k in 0..3 {
            let [u, v] = [corners[(k + 1) % 3] - corners[k], corners[(k + 2) % 3] - corners[k]];
            let across = u.cross(v);
            let share = across.norm().atan2(u.dot(v)) / std::f64::consts::PI;
            around[triangle[k] as usize].push(across * (0.5 * share));
        }
    }
    let seen = |sides: &Vec<Vec3>| {
        let from = |side: &Vec3| sides.iter().map(|other| other.dot(side.normalized()).max(0.0)).sum();
        sides.iter().filter(|side| side.norm() > 0.0).map(from).fold(0.0, f64::max)
    };
    around.iter().map(seen).collect()
}

impl ContactModel {
    pub(crate) fn new(
        parts: &Parts<'_>,
        rules: impl DoubleEndedIterator<Item = (Party, Party, ContactRule)> + Clone,
        creep: f64,
    ) -> Self {
        let mut model = Self { offsets: vec![0], creep, ..Self::default() };
        let mut parties: Vec<Party> = rules.clone().flat_map(|(a, b, _)| [a, b]).collect();
        parties.sort_unstable();
        parties.dedup();
        for &party in &parties {
            model.add_group(parts, party);
        }
        let count = model.groups.len();
        model.pair_rules = vec![NO_RULE; count * count];
        let mut known: BTreeMap<[u64; 8], u32> = BTreeMap::new();
        // Most rules have the restitution of the one before.
        let mut bounce = (f64::NAN, 0.0);
        // The last word on a pair counts.
        for (a, b, rule) in rules.rev() {
            let find = |party| parties.binary_search(&party).expect("listed above");
            let (g, h) = (find(a), find(b));
            if model.pair_rules[g * count + h] != NO_RULE {
                continue;
            }
            if bounce.0 != rule.restitution {
                bounce = (rule.restitution, bounce_damping(rule.restitution));
            }
            let rule = model.complete(g, h, rule, bounce.1);
            let index = *known.entry(rule.bits()).or_insert_with(|| {
                model.rules.push(rule);
                (model.rules.len() - 1) as u32
            });
            model.pair_rules[g * count + h] = index;
            model.pair_rules[h * count + g] = index;
        }
        let bouncing = model.pairs().filter(|(g, h, rule)| g != h && rule.bounce > 0.0);
        model.bouncing = bouncing.map(|(g, h, rule)| (g, h, rule.bounce)).collect();
        for g in 0..count {
            let gaps = (0..count).filter_map(|h| model.rule(g, h)).filter(|rule| rule.mode == ContactMode::Barrier);
            model.groups[g].margin = 0.5 * gaps.map(|rule| rule.gap).fold(0.0, f64::max);
        }
        for group in &model.groups {
            model.patches.add_surface(&model.rest, &model.triangles[group.triangles.clone()]);
        }
        if model.has(ContactMode::Penalty) {
            model.point_rest = vec![Vec3::zero(); parts.point_count];
            for body in parts.bodies {
                model.point_rest[body.points.clone()].copy_from_slice(body.mesh.positions());
            }
            for rigid in parts.rigid.iter().filter(|rigid| !rigid.points.is_empty()) {
                model.point_rest[rigid.points.clone()].copy_from_slice(&rigid.rest);
                model.point_rest[rigid.center as usize] = rigid.rest_center;
            }
        }
        for (g, party) in parties.into_iter().enumerate() {
            match party {
                _ if !model.has_mode(g, ContactMode::Penalty) => {}
                Party::Body(body) => model.add_tets(g, &parts.bodies[body]),
                Party::Rigid(rigid) => model.add_fan(g, &parts.rigid[rigid]),
                Party::Collider(_) => {}
            }
        }
        model.tangles = Tangles::new(&model, parts.colliders);
        model
    }

    fn add_group(&mut self, parts: &Parts<'_>, party: Party) {
        let (first, first_triangle) = (self.rest.len(), self.triangles.len());
        let group = self.groups.len();
        let (mut points, mut modulus, mut cell) = (0..0, f64::INFINITY, f64::INFINITY);
        let name = match party {
            Party::Body(index) => {
                let body = &parts.bodies[index];
                self.rest.extend(&body.rest);
                for carriers in &body.carriers {
                    self.entries.extend(carriers);
                    self.offsets.push(self.entries.len() as u32);
                }
                self.areas.extend(body.areas);
                self.add_triangles(first, body.triangles);
                (points, modulus, cell) = (body.points.clone(), body.modulus, body.cell);
                body.name
            }
            Party::Rigid(index) => {
                let surface = &parts.rigid[index];
                self.rest.extend(&surface.rest);
                for point in surface.points.clone() {
                    self.entries.push((point as u32, 1.0));
                    self.offsets.push(self.entries.len() as u32);
                }
                self.areas.extend(&surface.areas);
                self.add_triangles(first, &surface.triangles);
                (points, cell) = (surface.masses.clone(), 0.5 * surface.thickness);
                &surface.name
            }
            Party::Collider(index) => {
                let collider = &parts.colliders[index];
                if let AnyShape::Plane(plane) = &collider.shape {
                    self.planes.push(PlaneGroup { group, collider: index, plane: *plane });
                } else if let Some(surface) = collider.shape.surface() {
                    let local = surface.positions().to_vec();
                    self.rest.extend(local.iter().map(|&p| collider.initial.to_world(p)));
                    self.add_triangles(first, surface.triangles());
                    self.add_areas(first_triangle);
                    let vertices = first..self.rest.len();
                    self.offsets.extend(vertices.clone().map(|_| self.entries.len() as u32));
                    self.obstacles.push(Obstacle { collider: index, vertices, local });
                }
                &collider.name
            }
        };
        self.vertex_groups.resize(self.rest.len(), group as u32);
        let triangles = first_triangle..self.triangles.len();
        // Edges of a block are as long as the block, which says nothing of how near others may come.
        let coarsest = if let Party::Rigid(_) = party { RIGID_EDGE * cell } else { f64::INFINITY };
        self.groups.push(Group {
            name: name.to_string(),
            party,
            points,
            vertices: first..self.rest.len(),
            edge: self.mean_edge(triangles.clone()).min(coarsest),
            triangles,
            modulus,
            cell,
            margin: 0.0,
        });
    }

    /// Adds triangles over the vertices from `first` on, which already exist.
    fn add_triangles(&mut self, first: usize, triangles: &[[u32; 3]]) {
        for triangle in triangles {
            let triangle = triangle.map(|v| v + first as u32);
            let [a, b, c] = triangle.map(|v| self.rest[v as usize]);
            self.triangles.push(triangle);
            self.triangle_areas.push(0.5 * (b - a).cross(c - a).norm());
        }
    }

    /// Adds a third of the area of each triangle from `first_triangle` on to each of its vertices.
    fn add_areas(&mut self, first_triangle: usize) {
        self.areas.resize(self.rest.len(), 0.0);
        for triangle in first_triangle..self.triangles.len() {
            for v in self.triangles[triangle] {
                self.areas[v as usize] += self.triangle_areas[triangle] / 3.0;
            }
        }
    }

    fn mean_edge(&self, triangles: Range<usize>) -> f64 {
        let count = 3 * triangles.len();
        let edges = self.triangles[triangles].iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let total: f64 = edges.map(|[a, b]| (self.rest[a as usize] - self.rest[b as usize]).norm()).sum();
        if count > 0 { total / count as f64 } else { f64::INFINITY }
    }

    /// Flesh as tetrahedra over points: hexahedra in six parts, quadratic cells by their corners.
    fn add_tets(&mut self, group: usize, body: &FleshSurface<'_>) {
        let first = body.points.start as u32;
        for (kind, nodes) in body.mesh.cells() {
            let tet = |corners: [usize; 4]| corners.map(|corner| first + nodes[corner]);
            match kind {
                CellKind::Tet4 | CellKind::Tet10 => self.tets.push(tet([0, 1, 2, 3])),
                CellKind::Hex8 => {
                    self.tets.extend(HEX_PARTS.map(tet));
                    self.hexes.push(std::array::from_fn(|corner| first + nodes[corner]));
                }
            }
        }
        self.tet_groups.resize(self.tets.len(), group as u32);
    }

    /// A rigid body, whose shapes are all seen whole from their center, as tetrahedra over points.
    fn add_fan(&mut self, group: usize, rigid: &RigidSurface) {
        let first = rigid.points.start as u32;
        let tet = |&[a, b, c]: &[u32; 3]| [first + a, first + c, first + b, rigid.center];
        self.tets.extend(rigid.triangles.iter().map(tet));
        self.tet_groups.resize(self.tets.len(), group as u32);
    }

    fn complete(&self, g: usize, h: usize, rule: ContactRule, bounce: f64) -> PairRule {
        let (a, b) = (&self.groups[g], &self.groups[h]);
        let softer = if a.modulus <= b.modulus { a } else { b };
        let modulus = if softer.modulus.is_finite() { softer.modulus } else { RIGID_MODULUS };
        PairRule {
            mode: rule.mode,
            friction: rule.friction,
            bounce,
            stiffness: rule.stiffness.unwrap_or_else(|| usual_stiffness(modulus, softer.cell)),
            tangential: rule.tangential,
            onset: ONSET_IN_CELLS * a.cell.min(b.cell),
            gap: rule.gap.unwrap_or(GAP_IN_EDGES * a.edge.min(b.edge)),
            modulus,
            rest: if rule.mode == ContactMode::Barrier { rule.rest } else { RestContact::Guarded },
        }
    }

    /// Places that cross at rest, which contact leaves alone until they part.
    pub fn tangles(&self) -> &Tangles {
        &self.tangles
    }

    /// Vertices of a participant at rest \[m\].
    pub fn rest_of(&self, party: Party) -> &[Vec3] {
        let group = self.groups.iter().find(|group| group.party == party);
        group.map_or(&[], |group| &self.rest[group.vertices.clone()])
    }

    /// Whether nothing can touch.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Rule of two groups.
    #[inline]
    pub fn rule(&self, g: usize, h: usize) -> Option<&PairRule> {
        // `NO_RULE` is beyond the end.
        self.rules.get(self.pair_rules[g * self.groups.len() + h] as usize)
    }

    /// Pairs of groups that have a rule, g ≤ h.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, &PairRule)> {
        let count = self.groups.len();
        (0..count).flat_map(move |g| (g..count).filter_map(move |h| self.rule(g, h).map(|rule| (g, h, rule))))
    }

    /// Whether a group has a rule of this mode.
    pub fn has_mode(&self, group: usize, mode: ContactMode) -> bool {
        (0..self.groups.len()).any(|other| self.rule(group, other).is_some_and(|rule| rule.mode == mode))
    }

    /// Smallest gap of a barrier \[m\]; infinite without any.
    pub fn least_gap(&self) -> f64 {
        let barriers = self.rules.iter().filter(|rule| rule.mode == ContactMode::Barrier);
        barriers.map(|rule| rule.gap).fold(f64::INFINITY, f64::min)
    }

    /// Smallest depth over which a penalty sets in \[m\].
    pub fn least_onset(&self) -> f64 {
        let penalties = self.rules.iter().filter(|rule| rule.mode == ContactMode::Penalty);
        penalties.map(|rule| rule.onset).fold(f64::INFINITY, f64::min)
    }

    /// Whether some rule is of this mode.
    pub fn has(&self, mode: ContactMode) -> bool {
        self.rules.iter().any(|rule| rule.mode == mode)
    }

    /// Whether a pair of groups has friction.
    pub fn has_friction(&self) -> bool {
        self.rules.iter().any(|rule| rule.friction > 0.0)
    }

    /// For each pair of groups whether places that cross at rest are left alone.
    pub(crate) fn left_alone(&self) -> Vec<bool> {
        let is_left = |&index: &u32| self.rules.get(index as usize).is_some_and(|r| r.rest == RestContact::LeftAlone);
        self.pair_rules.iter().map(is_left).collect()
    }

    /// For each pair of groups whether it has a rule of this mode.
    pub fn paired(&self, mode: ContactMode) -> Vec<bool> {
        let has_mode = |&index: &u32| self.rules.get(index as usize).is_some_and(|rule| rule.mode == mode);
        self.pair_rules.iter().map(has_mode).collect()
    }

    /// Group of a triangle.
    pub fn triangle_group(&self, triangle: u32) -> usize {
        self.vertex_groups[self.triangles[triangle as usize][0] as usize] as usize
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.rest.len()
    }

    /// Points and weights that carry a vertex; empty for vertices of colliders.
    #[inline]
    pub fn carriers(&self, vertex: usize) -> &[(u32, f64)] {
        &self.entries[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    /// Writes the positions of vertices carried by points into `y`.
    pub fn place(&self, x: &[Vec3], y: &mut [Vec3]) {
        for_each_block_mut(y, PLACED, |first, y: &mut [Vec3]| {
            for (k, y) in y.iter_mut().enumerate() {
                match self.carriers(first + k) {
                    [] => {}
                    &[(point, 1.0)] => *y = x[point as usize],
                    carriers => *y = carriers.iter().fold(Vec3::zero(), |sum, &(p, w)| sum + x[p as usize] * w),
                }
            }
        });
    }

    /// Writes the positions of vertices of colliders into `y`.
    pub fn place_obstacles(&self, poses: &[Pose], y: &mut [Vec3]) {
        for obstacle in &self.obstacles {
            let pose = &poses[obstacle.collider];
            for (y, &local) in y[obstacle.vertices.clone()].iter_mut().zip(&obstacle.local) {
                *y = pose.to_world(local);
            }
        }
    }
}

/// Penalty stiffness of a modulus M = λ + 2μ in cells of size h \[Pa/m\]: twenty times that of a layer of cells, 20 M /
/// h.
///
/// A pressure of M/10, which compresses flesh itself by about a tenth, then penetrates by h/200.
pub(crate) fn usual_stiffness(modulus: f64, cell: f64) -> f64 {
    20.0 * modulus / cell
}

/// Modulus of contact between rigid bodies \[Pa\]: about that of soft rubber.
pub(crate) const RIGID_MODULUS: f64 = 1e6;
/// Longest mean edge of a rigid body that sets a gap, in halves of its thickness: barriers then start at a hundredth of
/// the thickness at most.
const RIGID_EDGE: f64 = 0.2;

/// A hexahedron as six tetrahedra around the diagonal from corner 0 to corner 6, all of positive volume. Neighbors
/// agree on their common face.
const HEX_PARTS: [[usize; 4]; 6] = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]];
