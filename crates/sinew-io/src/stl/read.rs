//! STL to mesh.

use std::collections::BTreeMap;

use sinew_math::Vec3;

use super::weld::{Weld, unsigned_zeros};
use super::{ATTRIBUTE, RECORD};
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape, Field, MeshData};
use crate::text::{Words, not_a, shown};

/// Bytes before the number of triangles of a binary file.
const HEADER: usize = 80;

/// Reads the bytes of an STL file. Skips triangles with two equal corners, with a note.
pub fn read(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let promised = bytes.get(HEADER..HEADER + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    // Binary files may begin with "solid" too: only their size decides.
    let size = promised.map(|count| HEADER as u64 + 4 + RECORD as u64 * u64::from(count));
    if size == Some(bytes.len() as u64) || !is_text(bytes) { read_binary(bytes, promised) } else { read_text(bytes) }
}

/// Whether this begins like a text file.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let is_solid = start.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    // The name of a solid is short; an 80-byte header followed by binary data soon contains zeros.
    is_solid && !bytes.iter().take(HEADER + 4 + RECORD).any(|&b| b == 0)
}

/// Triangles under construction.
struct Triangles {
    weld: Weld,
    nodes: Vec<u32>,
    degenerate: usize,
}

impl Triangles {
    fn new() -> Triangles {
        Triangles { weld: Weld::new(), nodes: Vec::new(), degenerate: 0 }
    }

    /// Adds a triangle; returns whether it was kept.
    #[inline]
    fn add(&mut self, corners: [Vec3; 3]) -> bool {
        let [a, b, c] = corners.map(unsigned_zeros);
        // Before welding, so that no unused vertex stays.
        if a == b || b == c || c == a {
            self.degenerate += 1;
            return false;
        }
        self.nodes.extend([self.weld.vertex(a), self.weld.vertex(b), self.weld.vertex(c)]);
        true
    }

    fn into_mesh(self) -> Result<MeshData, ReadError> {
        if self.nodes.is_empty() {
            return Err(ReadError::Missing { what: "triangles" });
        }
        let groups = vec![CellGroup::with_nodes(CellShape::Tri3, self.nodes)];
        let mut mesh = MeshData { points: self.weld.points, groups, ..MeshData::default() };
        if self.degenerate > 0 {
            mesh.notes.push(format!("{} triangles with two equal corners were left out", self.degenerate));
        }
        Ok(mesh)
    }
}

fn read_binary(bytes: &[u8], promised: Option<u32>) -> Result<MeshData, ReadError> {
    let Some(promised) = promised else {
        let reason = format!("{} bytes that do not begin with `solid`", bytes.len());
        return Err(ReadError::Magic { format: "STL", reason });
    };
    let (records, rest) = bytes[HEADER + 4..].as_chunks::<RECORD>();
    if promised as usize > records.len() {
        return Err(ReadError::Count {
            place: Place::Byte(HEADER),
            what: "triangles".into(),
            promised: promised.into(),
            found: records.len() as u64,
        });
    }
    let surplus = (records.len() - promised as usize) * RECORD + rest.len();
    let records = &records[..promised as usize];
    let mut triangles = Triangles::new();
    triangles.nodes.reserve(3 * records.len());
    let mut attributes: Vec<u16> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let coordinate = |at: usize| {
            let start = 12 + 4 * at;
            f32::from_le_bytes([record[start], record[start + 1], record[start + 2], record[start + 3]])
        };
        let values: [f32; 9] = std::array::from_fn(coordinate);
        // A sum of finite values times zero is zero; one bad value makes it NaN.
        if values.iter().map(|value| value * 0.0).sum::<f32>() != 0.0 {
            let bad = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
            let byte = HEADER + 4 + index * RECORD + 12 + 4 * bad;
            return Err(ReadError::NotFinite { place: Place::Byte(byte), what: "a coordinate".into() });
        }
        let corner = |i: usize| Vec3::new(values[3 * i].into(), values[3 * i + 1].into(), values[3 * i + 2].into());
        let attribute = u16::from_le_bytes([record[48], record[49]]);
        let kept = triangles.nodes.len() / 3;
        if triangles.add([corner(0), corner(1), corner(2)]) && (attribute != 0 || !attributes.is_empty()) {
            attributes.resize(kept, 0);
            attributes.push(attribute);
        }
    }
    let mut mesh = triangles.into_mesh()?;
    if !attributes.is_empty() {
        mesh.cell_fields.push(Field::scalars(ATTRIBUTE, attributes.into_iter().map(f64::from).collect()));
    }
    if surplus > 0 {
        mesh.notes.push(format!("{surplus} bytes after the last triangle were not read"));
    }
    Ok(mesh)
}

fn read_text(bytes: &[u8]) -> Result<MeshData, ReadError> {
    let mut words = Words::new(bytes, 0, 1, None);
    let mut triangles = Triangles::new();
    // Name and first triangle of each solid.
    let mut solids: Vec<(String, usize)> = Vec::new();
    let mut is_open = false;
    while let Some(word) = words.next_word() {
        if is_open && word.eq_ignore_ascii_case(b"facet") {
            facet(&mut words, &mut triangles)?;
        } else if is_open && is_one_of(word, &["endsolid", "end"]) {
            // The rest repeats the name; some write `end solid`.
            words.next_line();
            is_open = false;
        } else if !is_open && word.eq_ignore_ascii_case(b"solid") {
            let mut name = Vec::new();
            while let Some(part) = words.next_word_in_line() {
                if !name.is_empty() {
                    name.push(b' ');
                }
                name.extend_from_slice(part);
            }
            solids.push((String::from_utf8_lossy(&name).into_owned(), triangles.nodes.len() / 3));
            is_open = true;
        } else {
            let expected = if is_open { "`facet` or `endsolid`" } else { "`solid`" };
            return Err(not_a(words.line(), word, expected, "solid"));
        }
    }
    if is_open {
        return Err(ReadError::Truncated { place: words.place(), what: "a solid".into() });
    }
    let mut mesh = triangles.into_mesh()?;
    // A single solid is the whole file and needs no name.
    if solids.len() > 1 {
        mesh.cell_sets = sets_of(solids, mesh.cell_count());
    }
    Ok(mesh)
}

/// `normal … outer loop … endloop endfacet`; ignores the normal, which follows from the corners.
fn facet(words: &mut Words<'_>, triangles: &mut Triangles) -> Result<(), ReadError> {
    const WHAT: &str = "a facet";
    expect(words, &["normal"])?;
    for _ in 0..3 {
        let word = words.word(WHAT)?;
        if word.eq_ignore_ascii_case(b"outer") {
            return Err(ReadError::line(words.line(), "a normal has three numbers"));
        }
    }
    expect(words, &["outer"])?;
    expect(words, &["loop"])?;
    let mut corners = [Vec3::zero(); 3];
    for corner in &mut corners {
        expect(words, &["vertex"])?;
        *corner = words.point("vertex")?;
    }
    expect(words, &["endloop"])?;
    expect(words, &["endfacet"])?;
    triangles.add(corners);
    Ok(())
}

fn is_one_of(word: &[u8], wanted: &[&str]) -> bool {
    wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted.as_bytes()))
}

fn expect(words: &mut Words<'_>, wanted: &[&str]) -> Result<(), ReadError> {
    let word = words.word("a facet")?;
    if is_one_of(word, wanted) {
        return Ok(());
    }
    Err(ReadError::line(words.line(), format!("`{}` instead of `{}`", shown(word), wanted[0])))
}

/// Cell sets of solids; numbers those without a name, merges those with the same name.
fn sets_of(solids: Vec<(String, usize)>, cell_count: usize) -> BTreeMap<String, Vec<u32>> {
    let ends: Vec<usize> = solids.iter().skip(1).map(|(_, first)| *first).chain([cell_count]).collect();
    let mut sets: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (index, ((name, first), end)) in solids.into_iter().zip(ends).enumerate() {
        if first < end {
            let name = if name.is_empty() { format!("solid-{}", index + 1) } else { name };
            sets.entry(name).or_default().extend(first as u32..end as u32);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tetrahedron() -> String {
        let facet = |corners: [[i32; 3]; 3]| {
            let vertices: String = corners.iter().map(|[x, y, z]| format!("  vertex {x} {y} {z}\n")).collect();
            format!("facet normal 0 0 0\n outer loop\n{vertices} endloop\nendfacet\n")
        };
        let [o, x, y, z] = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
        let faces = [[o, y, x], [o, x, z], [x, y, z], [o, z, y]];
        let [a, b, c, d] = faces.map(facet);
        format!("solid lower part\n{a}{b}endsolid lower part\nSOLID\n{c}{d}ENDSOLID\n")
    }

    fn binary(header: &[u8], facets: &[([f32; 9], u16)]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(HEADER, 0);
        bytes.extend((facets.len() as u32).to_le_bytes());
        for (values, attribute) in facets {
            bytes.extend([0u8; 12]);
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend(attribute.to_le_bytes());
        }
        bytes
    }

    const FACET: [f32; 9] = [0.0, -0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

    #[test]
    fn solids_become_sets_and_corners_vertices() {
        let data = read(tetrahedron().as_bytes()).unwrap();
        assert_eq!(data.points.len(), 4);
        assert_eq!(data.cell_sets["lower part"], [0, 1]);
        assert_eq!(data.cell_sets["solid-2"], [2, 3]);
        let mesh = data.into_surface(&BTreeSet::new()).unwrap().mesh;
        assert!(mesh.is_closed() && (mesh.volume() - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn binary_files_may_begin_with_solid_and_have_attributes() {
        let flat = [0.0, 0.0, 0.0, -0.0, 0.0, -0.0, 0.0, 1.0, 0.0];
        let bytes = binary(b"solid of a kind", &[(FACET, 0), (flat, 7), (FACET, 513)]);
        let data = read(&bytes).unwrap();
        assert_eq!((data.points.len(), data.cell_count()), (3, 2));
        assert_eq!(data.cell_field("attribute").unwrap().values, [0.0, 513.0]);
        assert!(data.notes[0].starts_with("1 triangles"), "{:?}", data.notes);
        let mut longer = bytes;
        longer[..5].fill(b'x');
        longer.extend([0; 60]);
        let data = read(&longer).unwrap();
        assert!(data.notes[1].starts_with("60 bytes"), "{:?}", data.notes);
    }

    #[test]
    fn mistakes_name_their_line_or_byte() {
        let text = tetrahedron();
        let cases = [
            (text.replacen("outer", "inner", 1), "line 3: `inner` instead of `outer`"),
            (text.replacen("vertex 0 1 0", "vertex 0 1", 1), "line 6: vertex: `vertex` is not a number"),
            (text.replacen("vertex 0 1 0", "vertex 0 inf 0", 1), "line 5: vertex is not finite"),
            (text.replacen("endloop", "vertex 0 0 0", 1), "line 7: `vertex` instead of `endloop`"),
            (text.replacen("normal 0 0 0", "normal 0 0", 1), "line 3: a normal"),
            (text.replacen("endsolid lower part", "", 1), "line 17: solid: `SOLID`"),
            (text.replacen("ENDSOLID\n", "", 1), "the file ends inside a solid"),
            ("solid a\nendsolid\n".into(), "no triangles"),
            ("cube".into(), "4 bytes"),
        ];
        for (text, part) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}, not {part}");
        }
        let mut lying = binary(b"", &[(FACET, 0)]);
        lying[80] = 3;
        let error = read(&lying).unwrap_err().to_string();
        assert_eq!(error, "byte 80: triangles: 3 promised, 1 found");
        let mut wrong = FACET;
        wrong[4] = f32::NAN;
        let error = read(&binary(b"", &[(FACET, 0), (wrong, 0)])).unwrap_err().to_string();
        assert_eq!(error, "byte 162: a coordinate is not finite");
    }
}
