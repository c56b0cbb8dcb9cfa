//! The tree of paths of a crate file.

use std::collections::HashMap;

/// Paths by number. Their elements are tokens.
#[derive(Debug)]
pub(super) struct Paths {
    nodes: Vec<Node>,
    /// Number of each path by its text.
    numbers: HashMap<String, u32>,
}

#[derive(Debug)]
struct Node {
    token: i32,
    is_property: bool,
    children: Vec<u32>,
}

/// The tree in depth-first order, as the file stores it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Columns {
    /// Number of each path.
    pub numbers: Vec<i32>,
    /// Token of its last element; negative for properties.
    pub tokens: Vec<i32>,
    /// How to go on: −2 after a leaf without a sibling that follows, −1 to the only child, 0 to the sibling that
    /// follows; otherwise first to the child, and then by as many rows to the sibling.
    pub jumps: Vec<i32>,
}

impl Paths {
    /// The path `/`.
    pub fn new() -> Self {
        let root = Node { token: 0, is_property: false, children: Vec::new() };
        Self { nodes: vec![root], numbers: HashMap::from([("/".to_string(), 0)]) }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of an absolute path, such as `/World/flesh.points`; `token` gives the numbers of new elements.
    pub fn number(&mut self, path: &str, token: &mut impl FnMut(&str) -> u32) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let (parent, element, is_property) = match path.rsplit_once('.') {
            Some((prim, property)) => (prim, property, true),
            None => match path.rsplit_once('/') {
                Some(("", name)) => ("/", name, false),
                Some((parent, name)) => (parent, name, false),
                None => ("/", path, false),
            },
        };
        let parent = self.number(parent, token);
        let number = self.nodes.len() as u32;
        self.nodes.push(Node { token: token(element) as i32, is_property, children: Vec::new() });
        self.nodes[parent as usize].children.push(number);
        self.numbers.insert(path.into(), number);
        number
    }

    /// All paths.
    pub fn columns(&self) -> Columns {
        let mut columns = Columns::default();
        // Each with whether a sibling follows, and the row that waits for the place of this one.
        let mut open: Vec<(u32, bool, Option<usize>)> = vec![(0, false, None)];
        while let Some((number, has_next, waiting)) = open.pop() {
            let node = &self.nodes[number as usize];
            let row = columns.numbers.len();
            if let Some(before) = waiting {
                columns.jumps[before] = (row - before) as i32;
            }
            columns.numbers.push(number as i32);
            columns.tokens.push(if node.is_property { -node.token } else { node.token });
            let has_child = !node.children.is_empty();
            columns.jumps.push(match (has_child, has_next) {
                (false, false) => -2,
                (true, false) => -1,
                // With children, the row of the sibling is filled in when it comes.
                (_, true) => 0,
            });
            if let (true, true, Some(next)) = (has_child, has_next, open.last_mut()) {
                next.2 = Some(row);
            }
            for (k, &child) in node.children.iter().enumerate().rev() {
                open.push((child, k + 1 < node.children.len(), None));
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_stored_depth_first() {
        let mut paths = Paths::new();
        let mut words: Vec<String> = vec![String::new()];
        let mut token = |word: &str| {
            words.push(word.into());
            words.len() as u32 - 1
        };
        for path in ["/a/b.x", "/a/b.y", "/a/c", "/a/b.x", "/d"] {
            paths.number(path, &mut token);
        }
        let Columns { numbers, tokens, jumps } = paths.columns();
        let names: Vec<&str> = tokens.iter().map(|token| words[token.unsigned_abs() as usize].as_str()).collect();
        assert_eq!(names, ["", "a", "b", "x", "y", "c", "d"]);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(
            tokens.iter().map(|token| *token < 0).collect::<Vec<_>>(),
            [false, false, false, true, true, false, false]
        );
        // `/` has a child; `a` a child, and `d` five rows on; `b` a child, and `c` three rows on.
        assert_eq!(jumps, [-1, 5, 3, 0, -2, -2, -2]);
    }
}
