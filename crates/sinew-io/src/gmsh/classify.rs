//! Which entities and groups a mesh is written with.
//!
//! A label is a physical id. A named set becomes a named physical group for each dimension that it has cells of: the one of
//! a label where it holds exactly the cells of that label, one with a new id otherwise. Cells with the same groups lie on
//! one entity, so sets may overlap in version 4.1, where an entity is in any number of groups.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::read::{GEOMETRICAL, PHYSICAL};
use crate::mesh_data::{Field, LABEL, MeshData};

/// An entity of the geometry, which here is nothing but cells with the same groups.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entity {
    pub dimension: usize,
    pub tag: i32,
    /// Its groups; the first is the label.
    pub physicals: Vec<i32>,
    /// Box around its nodes.
    pub low: [f64; 3],
    pub high: [f64; 3],
}

/// Entities and groups of a mesh.
pub(super) struct Layout {
    /// Entities by dimension and tag.
    pub entities: Vec<Entity>,
    /// Consecutive cells on one entity: their number and the entity.
    pub runs: Vec<(usize, usize)>,
    /// Names of groups, with dimension, id, and whether in version 2, where a cell has one group, the name still means
    /// the same cells.
    pub names: Vec<(usize, i32, String, bool)>,
    /// Nodes that are written as points so that their sets survive, after all cells.
    pub points: Vec<u32>,
    /// The cell field that became groups.
    pub label_field: Option<String>,
}

/// Cells with the same groups: those of another class and one more.
#[derive(Clone, Copy)]
struct Class {
    dimension: usize,
    parent: Option<usize>,
    /// 0: none.
    physical: i32,
}

/// Whole numbers in `range`, if all are.
fn integers(field: &Field, smallest: i32) -> Option<Vec<i32>> {
    let whole = |&value: &f64| {
        let number = value as i32;
        (number >= smallest && f64::from(number) == value).then_some(number)
    };
    (field.components == 1).then(|| field.values.iter().map(whole).collect())?
}

/// The label field that physical groups can hold.
fn label_field(mesh: &MeshData) -> Option<(&Field, Vec<i32>)> {
    let cells = mesh.cell_count();
    mesh.labels().filter(|field| field.values.len() == cells).and_then(|field| Some((field, integers(field, 0)?)))
}

impl Layout {
    /// Entities and groups of a mesh.
    pub fn new(mesh: &MeshData) -> Layout {
        let cells = mesh.cell_count();
        let labels = label_field(mesh);
        let dimensions: Vec<u8> = mesh
            .groups
            .iter()
            .flat_map(|group| std::iter::repeat_n(group.shape.dimension() as u8, group.len()))
            .collect();
        let mut classes: Vec<Class> = Vec::new();
        let mut class_of = vec![0u32; cells];
        let mut by_label: HashMap<(u8, i32), usize> = HashMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut last = ((u8::MAX, 0), 0);
        for cell in 0..cells {
            let key = (dimensions[cell], labels.as_ref().map_or(0, |(_, labels)| labels[cell]));
            if key != last.0 {
                let class = *by_label.entry(key).or_insert_with(|| {
                    classes.push(Class { dimension: usize::from(key.0), parent: None, physical: key.1 });
                    counts.push(0);
                    classes.len() - 1
                });
                last = (key, class);
            }
            class_of[cell] = last.1 as u32;
            counts[last.1] += 1;
        }
        let mut groups = Groups { used: classes.iter().map(|class| class.physical).collect(), ..Groups::default() };
        groups.used.insert(0);
        for (name, members) in &mesh.cell_sets {
            let mut members = members.clone();
            members.sort_unstable();
            members.dedup();
            members.retain(|&cell| (cell as usize) < cells);
            for dimension in 0..=3usize {
                let here =
                    || members.iter().copied().filter(|&cell| usize::from(dimensions[cell as usize]) == dimension);
                let Some(first) = here().next() else { continue };
                let label = labels.as_ref().map_or(0, |(_, labels)| labels[first as usize]);
                let same = by_label.get(&(dimension as u8, label)).map_or(0, |&class| counts[class]);
                let is_label = label != 0
                    && !groups.names.contains_key(&(dimension, label))
                    && here().count() == same
                    && labels.as_ref().is_some_and(|(_, labels)| here().all(|cell| labels[cell as usize] == label));
                if is_label {
                    groups.names.insert((dimension, label), name.clone());
                    continue;
                }
                let id = groups.new_id(dimension, name);
                let mut refined: HashMap<u32, u32> = HashMap::new();
                for cell in here() {
                    let class = &mut class_of[cell as usize];
                    let parent = *class;
                    *class = *refined.entry(parent).or_insert_with(|| {
                        classes.push(Class { dimension, parent: Some(parent as usize), physical: id });
                        (classes.len() - 1) as u32
                    });
                }
            }
        }
        let mut layout = Layout {
            entities: Vec::new(),
            runs: Vec::new(),
            names: Vec::new(),
            points: Vec::new(),
            label_field: labels.map(|(field, _)| field.name.clone()),
        };
        layout.place(mesh, &classes, &class_of);
        layout.add_node_sets(mesh, &mut groups);
        layout.finish(mesh, groups);
        layout
    }

    /// Whether a cell field is written as groups or entities instead of data.
    pub fn is_structure(&self, field: &Field) -> bool {
        field.name == GEOMETRICAL
            || (self.label_field.as_ref() == Some(&field.name) && (field.name == LABEL || field.name == PHYSICAL))
    }

    /// Puts cells on entities: those the mesh was read with if they still fit, otherwise one for each class.
    fn place(&mut self, mesh: &MeshData, classes: &[Class], class_of: &[u32]) {
        let tags = mesh.cell_field(GEOMETRICAL).and_then(|field| integers(field, 1));
        let tags = tags.filter(|tags| tags.len() == class_of.len()).filter(|tags| {
            let mut class_of_entity: HashMap<(usize, i32), u32> = HashMap::new();
            tags.iter().zip(class_of).all(|(&tag, &class)| {
                *class_of_entity.entry((classes[class as usize].dimension, tag)).or_insert(class) == class
            })
        });
        let mut numbers = [0i32; 4];
        let mut known: HashMap<(u32, i32), usize> = HashMap::new();
        let mut last = None;
        for (cell, &class) in class_of.iter().enumerate() {
            let tag = tags.as_ref().map_or(0, |tags| tags[cell]);
            if last != Some((class, tag)) {
                last = Some((class, tag));
                let entity = *known.entry((class, tag)).or_insert_with(|| {
                    let Class { dimension, .. } = classes[class as usize];
                    numbers[dimension] += 1;
                    let tag = if tag > 0 { tag } else { numbers[dimension] };
                    self.entities.push(Entity::new(dimension, tag, physicals(classes, class as usize)));
                    self.entities.len() - 1
                });
                self.runs.push((0, entity));
            }
            if let Some(run) = self.runs.last_mut() {
                run.0 += 1;
            }
        }
    }

    /// Node sets become points in groups of dimension 0, each set on an entity of its own.
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
            self.entities.push(Entity::new(0, tag, vec![id]));
            self.runs.push((nodes.len(), self.entities.len() - 1));
            self.points.extend(nodes);
        }
    }

    /// Boxes and names; entities in the order in which the format lists them.
    fn finish(&mut self, mesh: &MeshData, groups: Groups) {
        let mut runs = self.runs.iter();
        let mut run = (0, 0);
        let extra = self.points.iter().map(std::slice::from_ref);
        for nodes in mesh.cells().map(|(_, nodes)| nodes).chain(extra) {
            if run.0 == 0 {
                run = runs.next().copied().unwrap_or((usize::MAX, 0));
            }
            run.0 -= 1;
            let Some(entity) = self.entities.get_mut(run.1) else { break };
            for point in nodes.iter().filter_map(|&node| mesh.points.get(node as usize)) {
                for axis in 0..3 {
                    entity.low[axis] = entity.low[axis].min(point[axis]);
                    entity.high[axis] = entity.high[axis].max(point[axis]);
                }
            }
        }
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
        // Readers that expect every cell or none to have a group are content with the group 0, which means none.
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

impl Entity {
    fn new(dimension: usize, tag: i32, physicals: Vec<i32>) -> Entity {
        Entity { dimension, tag, physicals, low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] }
    }
}

/// Groups with names, and ids in use.
#[derive(Default)]
struct Groups {
    names: BTreeMap<(usize, i32), String>,
    used: BTreeSet<i32>,
    next: i32,
}

impl Groups {
    /// A group with an id that no other has.
    fn new_id(&mut self, dimension: usize, name: &str) -> i32 {
        while !self.used.insert(self.next) {
            self.next += 1;
        }
        self.names.insert((dimension, self.next), name.into());
        self.next
    }
}

/// Groups of a class, the oldest first.
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
