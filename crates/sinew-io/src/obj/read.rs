//! OBJ text to mesh.

use std::collections::HashMap;

use sinew_math::Vec3;

use super::{MATERIAL, MEMBERS_PER_BYTE};
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellShape, Field, MeshData};
use crate::text::{find_byte, not_a, parse_f64, parse_i64, shown};

/// Reads the bytes of an OBJ file. Keeps unused vertices; faces may refer to later vertices.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut scanner = Scanner { bytes, position: 0, line: 1 };
    let mut mesh = MeshData::default();
    let mut colors = Colors::default();
    let mut sets = Sets { budget: bytes.len().saturating_mul(MEMBERS_PER_BYTE), ..Sets::default() };
    let mut references = References::default();
    let mut corners: Vec<u32> = Vec::new();
    let mut cell_count = 0usize;
    while !scanner.is_done() {
        match scanner.word(Hash::EndsWord) {
            Some(b"v") => {
                let (point, color) = vertex(&mut scanner)?;
                colors.push(mesh.points.len(), color);
                mesh.points.push(point);
            }
            Some(kind @ (b"f" | b"l" | b"p")) => {
                let line = scanner.line;
                corners.clear();
                while let Some(word) = scanner.word(Hash::EndsWord) {
                    corners.push(corner(word, mesh.points.len(), scanner.line)?);
                }
                references.note(&corners, mesh.points.len(), line);
                cell_count += add_cells(&mut mesh, kind[0], &corners, line)?;
            }
            Some(b"g") => {
                sets.close(cell_count, scanner.line)?;
                sets.groups.clear();
                while let Some(word) = scanner.word(Hash::BeginsComment) {
                    let set = sets.number(String::from_utf8_lossy(word).into_owned());
                    sets.groups.push(set);
                }
            }
            Some(b"o") => {
                sets.close(cell_count, scanner.line)?;
                sets.object = scanner.name().map(|name| sets.number(name));
            }
            Some(b"usemtl") => {
                sets.close(cell_count, scanner.line)?;
                sets.material = scanner.name().map(|name| sets.number(format!("{MATERIAL}{name}")));
            }
            _ => {}
        }
        scanner.end_line();
    }
    sets.close(cell_count, scanner.line)?;
    references.check(mesh.points.len())?;
    if cell_count == 0 {
        return Err(ReadError::Missing { what: "faces" });
    }
    colors.attach(&mut mesh);
    mesh.cell_sets.extend(sets.names.into_iter().zip(sets.members).filter(|(_, cells)| !cells.is_empty()));
    Ok(mesh)
}

/// `x y z`, then nothing, a weight, a color, or a color with alpha; skips weight and alpha.
fn vertex(scanner: &mut Scanner<'_>) -> Result<(Vec3, Option<[f64; 3]>), ReadError> {
    let mut values = [0.0; 7];
    let mut count = 0;
    while let Some(word) = scanner.word(Hash::EndsWord) {
        let line = scanner.line;
        let slot = values.get_mut(count).ok_or_else(|| ReadError::line(line, "a vertex with more than 7 numbers"))?;
        *slot = parse_f64(word).ok_or_else(|| not_a(line, word, "a number", "vertex"))?;
        if count < 3 && !slot.is_finite() {
            let what = format!("coordinate `{}`", shown(word));
            return Err(ReadError::NotFinite { place: Place::Line(line), what });
        }
        count += 1;
    }
    let [x, y, z, r, g, b, _] = values;
    match count {
        0..3 => Err(ReadError::line(scanner.line, format!("a vertex with {count} coordinates"))),
        3 | 4 => Ok((Vec3::new(x, y, z), None)),
        6 | 7 => Ok((Vec3::new(x, y, z), Some([r, g, b]))),
        _ => Err(ReadError::line(scanner.line, format!("a vertex with {count} numbers"))),
    }
}

/// Index from `7`, `7/1`, `7/1/3`, `7//3` or, counted from the latest vertex backward, `-1`.
fn corner(word: &[u8], known: usize, line: usize) -> Result<u32, ReadError> {
    let first = &word[..find_byte(word, b'/').unwrap_or(word.len())];
    let rest = &word[first.len()..];
    let is_corner = rest.iter().all(|b| b.is_ascii_digit() || matches!(b, b'/' | b'-'));
    let place = Place::Line(line);
    let Some(index) = parse_i64(first).filter(|_| is_corner) else {
        // An integer beyond 64 bits is a missing vertex, not an invalid number.
        if is_corner && !first.is_empty() && first.iter().all(u8::is_ascii_digit) {
            return Err(ReadError::Index { place, what: "vertex", index: i64::MAX });
        }
        return Err(not_a(line, word, "a corner", "face"));
    };
    let vertex = match index {
        0 => return Err(ReadError::line(line, "vertices are numbered from 1")),
        1.. => index - 1,
        _ => (known as i64).saturating_add(index),
    };
    u32::try_from(vertex).map_err(|_| ReadError::Index { place, what: "vertex", index })
}

/// Adds a face, the segments of a polyline or points; returns the number of cells.
fn add_cells(mesh: &mut MeshData, kind: u8, corners: &[u32], line: usize) -> Result<usize, ReadError> {
    let too_few = |what: &str| ReadError::line(line, format!("a {what} with {} corners", corners.len()));
    match (kind, corners.len()) {
        (b'f', 0..3) => return Err(too_few("face")),
        (b'f', 3) => mesh.push_cell(CellShape::Tri3, corners),
        (b'f', 4) => mesh.push_cell(CellShape::Quad4, corners),
        (b'f', _) => mesh.push_cell(CellShape::Polygon, corners),
        (b'l', 0..2) => return Err(too_few("line")),
        (b'l', count) => {
            corners.windows(2).for_each(|segment| mesh.push_cell(CellShape::Line2, segment));
            return Ok(count - 1);
        }
        (_, 0) => return Err(too_few("point")),
        (_, count) => {
            corners.iter().for_each(|&node| mesh.push_cell(CellShape::Vertex, &[node]));
            return Ok(count);
        }
    }
    Ok(1)
}

/// Meaning of `#` inside a word.
#[derive(Clone, Copy, PartialEq)]
enum Hash {
    /// Ends a number.
    EndsWord,
    /// Part of a name; begins a comment only at its start.
    BeginsComment,
}

/// Words of a line; a trailing backslash joins the next line.
struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
    line: usize,
}

impl<'a> Scanner<'a> {
    fn is_done(&self) -> bool {
        self.position >= self.bytes.len()
    }

    /// Length of a line continuation at the position.
    fn joint(&self) -> Option<usize> {
        match self.bytes.get(self.position..)? {
            [b'\\', b'\n', ..] => Some(2),
            [b'\\', b'\r', b'\n', ..] => Some(3),
            _ => None,
        }
    }

    /// The next word of the line; does not consume the line's end.
    #[inline]
    fn word(&mut self, hash: Hash) -> Option<&'a [u8]> {
        loop {
            match self.bytes.get(self.position)? {
                b'\n' | b'#' => return None,
                b'\\' => match self.joint() {
                    Some(length) => {
                        self.position += length;
                        self.line += 1;
                    }
                    None => break,
                },
                b if b.is_ascii_whitespace() => self.position += 1,
                _ => break,
            }
        }
        let start = self.position;
        while let Some(&b) = self.bytes.get(self.position) {
            if b.is_ascii_whitespace()
                || (b == b'#' && hash == Hash::EndsWord)
                || (b == b'\\' && self.joint().is_some())
            {
                break;
            }
            self.position += 1;
        }
        Some(&self.bytes[start..self.position])
    }

    /// The rest of the line as one name, which may contain spaces.
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        while let Some(word) = self.word(Hash::BeginsComment) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&String::from_utf8_lossy(word));
        }
        Some(name).filter(|name| !name.is_empty())
    }

    /// Consumes the end of the line. A backslash continues skipped statements, but not comments.
    fn end_line(&mut self) {
        let mut is_comment = false;
        while let Some(&b) = self.bytes.get(self.position) {
            match b {
                b'\n' => {
                    self.position += 1;
                    self.line += 1;
                    return;
                }
                b'#' => is_comment = true,
                b'\\' if !is_comment => {
                    if let Some(length) = self.joint() {
                        self.position += length;
                        self.line += 1;
                        continue;
                    }
                }
                _ => {}
            }
            self.position += 1;
        }
    }
}

/// Vertex colors, given for all, no, or some vertices.
#[derive(Default)]
struct Colors {
    values: Vec<f64>,
    without: usize,
}

impl Colors {
    fn push(&mut self, vertex: usize, color: Option<[f64; 3]>) {
        if let Some(color) = color {
            self.without += vertex - self.values.len() / 3;
            self.values.resize(vertex * 3, 1.0);
            self.values.extend(color);
        }
    }

    fn attach(mut self, mesh: &mut MeshData) {
        if self.values.is_empty() {
            return;
        }
        self.without += mesh.points.len() - self.values.len() / 3;
        self.values.resize(mesh.points.len() * 3, 1.0);
        if self.without > 0 {
            mesh.notes.push(format!("{} vertices have no color and became white", self.without));
        }
        mesh.point_fields.push(Field { name: "color".into(), components: 3, values: self.values });
    }
}

/// Named sets of cells, some of them open.
#[derive(Default)]
struct Sets {
    names: Vec<String>,
    members: Vec<Vec<u32>>,
    numbers: HashMap<String, usize>,
    groups: Vec<usize>,
    object: Option<usize>,
    material: Option<usize>,
    /// First cell since the open sets changed.
    first: usize,
    /// Number of members that may still be added.
    budget: usize,
}

impl Sets {
    fn number(&mut self, name: String) -> usize {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.members.push(Vec::new());
            self.names.len() - 1
        })
    }

    /// Adds the cells since the last change to the open sets.
    fn close(&mut self, cell_count: usize, line: usize) -> Result<(), ReadError> {
        let cells = self.first as u32..cell_count as u32;
        self.first = cell_count;
        if cells.is_empty() {
            return Ok(());
        }
        let mut open: Vec<usize> = self.groups.iter().copied().chain(self.object).chain(self.material).collect();
        open.sort_unstable();
        open.dedup();
        let wanted = cells.len().saturating_mul(open.len());
        self.budget = self.budget.checked_sub(wanted).ok_or_else(|| ReadError::Unsupported {
            place: Place::Line(line),
            what: format!("a group with {} names around {} cells", open.len(), cells.len()),
            hint: "give each face a few groups only",
        })?;
        for set in open {
            self.members[set].extend(cells.clone());
        }
        Ok(())
    }
}

/// Faces with forward references, each beyond all before: enough to find the first invalid one.
#[derive(Default)]
struct References {
    beyond: Vec<(u32, usize)>,
}

impl References {
    #[inline]
    fn note(&mut self, corners: &[u32], known: usize, line: usize) {
        for &vertex in corners {
            if vertex as usize >= known && self.beyond.last().is_none_or(|(largest, _)| vertex > *largest) {
                self.beyond.push((vertex, line));
            }
        }
    }

    fn check(&self, known: usize) -> Result<(), ReadError> {
        match self.beyond.iter().find(|(vertex, _)| *vertex as usize >= known) {
            Some(&(vertex, line)) => {
                let index = i64::from(vertex) + 1;
                Err(ReadError::Index { place: Place::Line(line), what: "vertex", index })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TETRAHEDRON: &str = "# a tetrahedron\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1 1.0\nvn 0 0 1\n\
        usemtl skin\nf 1 3 2\nf 1/1 2/2 4/3\nf 2//1 3//1 4//1\nf -4/1/1 -1/1/1 -2/1/1\n";

    #[test]
    fn all_ways_to_write_a_corner_are_read() {
        let data = read(TETRAHEDRON.as_bytes()).unwrap();
        assert_eq!(data.cell_sets["thing"], [0, 1, 2, 3]);
        assert_eq!(data.cell_sets["material:skin"], [0, 1, 2, 3]);
        let mesh = data.into_surface(&BTreeSet::new()).unwrap().mesh;
        assert_eq!((mesh.vertex_count(), mesh.triangle_count()), (4, 4));
        assert!(mesh.is_closed());
        assert!((mesh.volume() - 1.0 / 6.0).abs() < 1e-15);
    }

    /// The six quads of a cube give 12 triangles and volume 1.
    #[test]
    fn quads_become_two_triangles() {
        let cube = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
            f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\r\n";
        let data = read(cube.as_bytes()).unwrap();
        assert_eq!((data.groups.len(), data.groups[0].shape), (1, CellShape::Quad4));
        let mesh = data.into_surface(&BTreeSet::new()).unwrap().mesh;
        assert_eq!(mesh.triangle_count(), 12);
        assert!(mesh.is_closed() && (mesh.volume() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn lines_points_joints_and_comments_in_any_encoding_are_read() {
        let text = b"# caf\xe9 \\\nv 0 0 0 # \xff\nv 1 0\\\n 0\nv 0 1 0\nl 1 2 \\\r\n 3\np 1 3\nf 1 2 3 1 2# five\n\
            curv 0 \\\n 1\ng a#b c # no\nusemtl my paint\nf 1 2 3\n";
        let data = read(text).unwrap();
        let shapes: Vec<_> = data.cells().map(|(shape, nodes)| (shape, nodes.to_vec())).collect();
        assert_eq!(
            shapes,
            [
                (CellShape::Line2, vec![0, 1]),
                (CellShape::Line2, vec![1, 2]),
                (CellShape::Vertex, vec![0]),
                (CellShape::Vertex, vec![2]),
                (CellShape::Polygon, vec![0, 1, 2, 0, 1]),
                (CellShape::Tri3, vec![0, 1, 2]),
            ]
        );
        let names: Vec<&str> = data.cell_sets.keys().map(String::as_str).collect();
        assert_eq!(names, ["a#b", "c", "material:my paint"]);
        assert_eq!(data.cell_sets["c"], [5]);
    }

    #[test]
    fn colors_are_kept_and_missing_ones_noted() {
        let data = read(b"v 0 0 0\nv 1 0 0 1 0.5 0\nv 0 1 0 0 0 1 0.3\nv 1 1 0\nf 1 2 3\n").unwrap();
        let color = data.point_field("color").unwrap();
        assert_eq!(color.values, [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(data.notes[0].starts_with("2 vertices"), "{:?}", data.notes);
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("v 0 0\nf 1 1 1", "line 1: a vertex with 2 coordinates"),
            ("v 0 0 x", "line 1: vertex: `x`"),
            ("v 0 0 nan", "line 1: coordinate `nan` is not finite"),
            ("v 0 0 0 1 1", "line 1: a vertex with 5 numbers"),
            ("v 0 0 0\nf 1 2 3", "line 2: vertex 2 does not exist"),
            ("f 1 2 3\nf 1 2 4\nf 1 2 9\nv 0 0 0\nv 0 0 0\nv 0 0 0\n", "line 2: vertex 4 does not exist"),
            ("v 0 0 0\nf 1 2", "line 2: a face with 2 corners"),
            ("v 0 0 0\nl 1", "line 2: a line with 1 corners"),
            ("v 0 0 0\nf 0 1 2", "line 2: vertices are numbered from 1"),
            ("v 0 0 0\nf -2 1 1", "line 2: vertex -2 does not exist"),
            ("v 0 0 0\n\nf 1 a 2", "line 3: face: `a`"),
            ("v 0 0 0\nf 99999999999 1 1", "line 2: vertex 99999999999 does not exist"),
            ("v 0 0 0\nf 99999999999999999999999 1 1", "does not exist"),
            ("v 0 0 0\nf 1/x 1 1", "line 2: face: `1/x`"),
            ("", "the file has no faces"),
            ("v 0 0 0", "the file has no faces"),
        ];
        for (text, part) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
        assert!(read(b"v 0 0 0 \xff").is_err());
    }

    #[test]
    fn groups_cannot_make_memory_grow_with_the_square_of_the_file() {
        let names: String = (0..1000).map(|i| format!(" {i}")).collect();
        let text = format!("v 0 0 0\ng{names}\n{}", "f 1 1 1\n".repeat(1000));
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("1000 names around 1000 cells"), "{error}");
    }
}
