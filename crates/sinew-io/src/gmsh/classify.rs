//! Chooses the entities and physical groups to write a mesh with.
//!
//! A label is a physical id. A named set becomes a named physical group for each dimension of its cells: the group of a
//! label if it holds exactly the cells of that label, otherwise one with a new id. Cells with the same groups share an
//! entity. So sets may overlap in version 4.1, where an entity can be in any number of groups.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::read::{GEOMETRICAL, PHYSICAL};
use crate::mesh_data::{Field, LABEL, MeshData};

/// A geometric entity, here just the cells with the same groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entity {
    pub dimension: usize,
    pub tag: i32,
    /// Its groups; the first is the label.
    pub physicals: Vec<i32>,
}

/// Entities and groups of a mesh.
#[derive(Default)]
pub(super) struct Layout {
    /// Entities by dimension and tag.
    pub entities: Vec<Entity>,
    /// Consecutive cells on one entity: their number and the entity.
    pub runs: Vec<(usize, usize)>,
    /// Names of groups, with dimension and id. The flag says whether the name still means the same cells in version 2,
    /// where a cell has only one group.
    pub names: Vec<(usize, i32, String, bool)>,
    /// Nodes written as points after all cells, so that their sets survive.
    pub points: Vec<u32>,
    /// The cell field that became groups.
    pub label_field: Option<String>,
}

/// Consecutive cells with the same label, entity, sets and dimension.
struct Piece {
    first: u32,
    count: usize,
    dimension: usize,
    label: i32,
    /// The entity in the input file; 0 for none.
    entity: i32,
    class: usize,
}

/// Cells with the same groups: the groups of another class, and one more.
struct Class {
    parent: Option<usize>,
    /// 0: none.
    physical: i32,
}

impl Layout {
    /// Entities and groups of a mesh.
    pub fn new(mesh: &MeshData) -> Layout {
        let count = mesh.cell_count();
        let is_whole = |field: &&Field| field.components == 1 && field.values.len() == count;
        let sets: BTreeMap<&String, Vec<(u32, u32)>> =
            mesh.cell_sets.iter().map(|(name, members)| (name, intervals(members, count))).collect();
        let mut cuts: Vec<u32> = sets.values().flatten().flat_map(|&(first, end)| [first, end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        // Skips labels and entities that the format cannot number; they do not distinguish cells.
        let mut labels = mesh.labels().filter(is_whole);
        let mut entities = mesh.cell_field(GEOMETRICAL).filter(is_whole);
        let mut pieces = pieces(mesh, labels, entities, &cuts);
        if labels.is_some_and(|field| !pieces.iter().all(|p| whole_at(field, p.first, 0))) {
            labels = None;
        }
        if entities.is_some_and(|field| !pieces.iter().all(|p| whole_at(field, p.first, 1))) {
            entities = None;
        }
        if pieces.iter().any(|p| labels.is_none() && p.label != 0 || entities.is_none() && p.entity != 0) {
            pieces = self::pieces(mesh, labels, entities, &cuts);
        }
        let mut layout = Layout { label_field: labels.map(|field| field.name.clone()), ..Layout::default() };
        let mut groups = Groups::default();
        let classes = classify(&mut pieces, &sets, &mut groups);
        layout.place(&pieces, &classes);
        layout.add_node_sets(mesh, &mut groups);
        layout.finish(groups);
        layout
    }

    /// Whether a cell field is written as groups or entities instead of data.
    pub fn is_structure(&self, field: &Field) -> bool {
        field.name == GEOMETRICAL
            || (self.label_field.as_ref() == Some(&field.name) && (field.name == LABEL || field.name == PHYSICAL))
    }

    /// Assigns cells to entities: those of the input file if they still fit, otherwise one per class.
    fn place(&mut self, pieces: &[Piece], classes: &[Class]) {
        let mut class_of_entity: HashMap<(usize, i32), usize> = HashMap::new();
        let is_kept = pieces.iter().all(|piece| {
            let class = *class_of_entity.entry((piece.dimension, piece.entity)).or_insert(piece.class);
            piece.entity > 0 && class == piece.class
        });
        let mut numbers = [0i32; 4];
        let mut known: HashMap<(usize, i32, usize), usize> = HashMap::new();
        for piece in pieces {
            let tag = if is_kept { piece.entity } else { 0 };
            let entity = *known.entry((piece.dimension, tag, piece.class)).or_insert_with(|| {
                numbers[piece.dimension] += 1;
                let tag = if is_kept { tag } else { numbers[piece.dimension] };
                let physicals = physicals(classes, piece.class);
                self.entities.push(Entity { dimension: piece.dimension, tag, physicals });
                self.entities.len() - 1
            });
            match self.runs.last_mut() {
                Some(run) if run.1 == entity => run.0 += piece.count,
                _ => self.runs.push((piece.count, entity)),
            }
        }
    }

    /// Node sets become points in groups of dimension 0, with one entity per set.
    fn add_node_sets(&mut self, mesh: &MeshData, groups: &mut Groups) {
        let mut taken: BTreeSet<i32> =
            self.entities.iter().filter(|entity| entity.dimension == 0).map(|entity| entity.tag).collect();
        let mut tag = 1;
        for (name, nodes) in mesh.node_sets.iter().filter(|(_, nodes)| !nodes.is_empty()) {
            let same = groups.names.iter().find(|((dimension, _), known)| *dimension == 0 && *known == name);
            let id = match same.map(|(&(_, id), _)| id) {
                Some(id) => id,
                None => groups.new_id(0, name),
            };
            while !taken.insert(tag) {
                tag += 1;
            }
            self.entities.push(Entity { dimension: 0, tag, physicals: vec![id] });
            self.runs.push((nodes.len(), self.entities.len() - 1));
            self.points.extend(nodes);
        }
    }

    /// Sets the names, and sorts the entities in the format's order.
    fn finish(&mut self, groups: Groups) {
        let mut order: Vec<usize> = (0..self.entities.len()).collect();
        order.sort_by_key(|&at| (self.entities[at].dimension, self.entities[at].tag));
        let mut new_from_old = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_from_old[old] = new;
        }
        self.entities = order.iter().map(|&old| self.entities[old].clone()).collect();
        for run in &mut self.runs {
            run.1 = new_from_old[run.1];
        }
        // Some readers expect a group for every cell or for none; group 0, which means none, satisfies them.
        if self.entities.iter().any(|entity| !entity.physicals.is_empty()) {
            for entity in &mut self.entities {
                if entity.physicals.is_empty() {
                    entity.physicals.push(0);
                }
            }
        }
        let mut behind_others: BTreeSet<(usize, i32)> = BTreeSet::new();
        for entity in &self.entities {
            behind_others.extend(entity.physicals.iter().skip(1).map(|&id| (entity.dimension, id)));
        }
        let named = groups.names.into_iter();
        self.names = named.map(|(key, name)| (key.0, key.1, name, !behind_others.contains(&key))).collect();
    }
}

/// Whether a value is an integer in range.
fn whole_at(field: &Field, cell: u32, smallest: i32) -> bool {
    let value = field.values[cell as usize];
    value as i32 >= smallest && f64::from(value as i32) == value
}

/// Members of a set as intervals of valid cells.
fn intervals(members: &[u32], count: usize) -> Vec<(u32, u32)> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut intervals: Vec<(u32, u32)> = Vec::new();
    for cell in sorted.into_iter().filter(|&cell| (cell as usize) < count) {
        match intervals.last_mut() {
            Some(last) if last.1 == cell => last.1 += 1,
            _ => intervals.push((cell, cell + 1)),
        }
    }
    intervals
}

/// Splits the cells where shapes, labels or entities change, and at `cuts`.
fn pieces(mesh: &MeshData, labels: Option<&Field>, entities: Option<&Field>, cuts: &[u32]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut cuts = cuts.iter().map(|&cut| cut as usize).peekable();
    let mut first = 0usize;
    for group in &mesh.groups {
        let group_end = first + group.len();
        while first < group_end {
            while cuts.next_if(|&cut| cut <= first).is_some() {}
            let mut end = cuts.peek().copied().unwrap_or(group_end).min(group_end);
            let mut value_of = |field: Option<&Field>| {
                let Some(field) = field else { return 0 };
                let value = field.values[first];
                let same = field.values[first..end].iter().position(|&other| other != value);
                // NaN differs from itself.
                end = same.map_or(end, |same| first + same.max(1));
                value as i32
            };
            let (label, entity) = (value_of(labels), value_of(entities));
            let dimension = group.shape.dimension();
            pieces.push(Piece { first: first as u32, count: end - first, dimension, label, entity, class: 0 });
            first = end;
        }
    }
    pieces
}

/// Groups of every piece: its label, and the sets that are not labels.
fn classify(pieces: &mut [Piece], sets: &BTreeMap<&String, Vec<(u32, u32)>>, groups: &mut Groups) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let mut by_label: HashMap<(usize, i32), (usize, usize)> = HashMap::new();
    groups.used.insert(0);
    for piece in &mut *pieces {
        let (class, count) = by_label.entry((piece.dimension, piece.label)).or_insert_with(|| {
            classes.push(Class { parent: None, physical: piece.label });
            groups.used.insert(piece.label);
            (classes.len() - 1, 0)
        });
        *count += piece.count;
        piece.class = *class;
    }
    for (name, intervals) in sets {
        // Pieces end at every end of an interval.
        let range = |&(first, end): &(u32, u32)| {
            let at = |cell: u32| pieces.partition_point(|piece| piece.first < cell);
            at(first)..at(end)
        };
        let members: Vec<usize> = intervals.iter().flat_map(range).collect();
        for dimension in 0..=3 {
            let here: Vec<usize> = members.iter().copied().filter(|&at| pieces[at].dimension == dimension).collect();
            let Some(&first) = here.first() else { continue };
            let label = pieces[first].label;
            let count: usize = here.iter().map(|&at| pieces[at].count).sum();
            let is_label = label != 0
                && here.iter().all(|&at| pieces[at].label == label)
                && by_label.get(&(dimension, label)).is_some_and(|known| known.1 == count);
            if is_label && !groups.names.contains_key(&(dimension, label)) {
                groups.names.insert((dimension, label), name.to_string());
                continue;
            }
            let id = groups.new_id(dimension, name);
            let mut refined: HashMap<usize, usize> = HashMap::new();
            for at in here {
                let parent = pieces[at].class;
                pieces[at].class = *refined.entry(parent).or_insert_with(|| {
                    classes.push(Class { parent: Some(parent), physical: id });
                    classes.len() - 1
                });
            }
        }
    }
    classes
}

/// Named groups, and ids in use.
#[derive(Default)]
struct Groups {
    names: BTreeMap<(usize, i32), String>,
    used: BTreeSet<i32>,
    next: i32,
}

impl Groups {
    /// Creates a group with an unused id.
    fn new_id(&mut self, dimension: usize, name: &str) -> i32 {
        while !self.used.insert(self.next) {
            self.next += 1;
        }
        self.names.insert((dimension, self.next), name.into());
        self.next
    }
}

/// Groups of a class, oldest first.
fn physicals(classes: &[Class], class: usize) -> Vec<i32> {
    let mut list = Vec::new();
    let mut at = Some(class);
    while let Some(class) = at {
        if classes[class].physical != 0 {
            list.push(classes[class].physical);
        }
        at = classes[class].parent;
    }
    list.reverse();
    list
}
