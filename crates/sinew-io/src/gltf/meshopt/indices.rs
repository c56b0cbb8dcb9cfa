//! Indices: triangles that share edges and vertices with those before them, and plain sequences.

use super::stream::Stream;

/// Entries that are remembered.
const MEMORY: usize = 16;

/// The last sixteen entries, the newest first.
struct Recent<T> {
    entries: [Option<T>; MEMORY],
    next: usize,
}

impl<T: Copy> Recent<T> {
    fn new() -> Self {
        Self { entries: [None; MEMORY], next: 0 }
    }

    fn push(&mut self, entry: T) {
        self.entries[self.next] = Some(entry);
        self.next = (self.next + 1) % MEMORY;
    }

    fn get(&self, age: u8) -> Result<T, &'static str> {
        let place = (self.next + 2 * MEMORY - 1 - usize::from(age)) % MEMORY;
        self.entries[place].ok_or("refers to an edge or vertex that has not been there")
    }
}

/// A signed number from its code: 0, −1, 1, −2 … for 0, 1, 2, 3 …, with wraparound.
fn signed(code: u32) -> u32 {
    if code & 1 == 1 { !(code >> 1) } else { code >> 1 }
}

/// Indices as bytes; those of two bytes wrap around.
struct Output {
    bytes: Vec<u8>,
    stride: usize,
}

impl Output {
    fn new(count: usize, stride: usize) -> Self {
        Self { bytes: Vec::with_capacity(count * stride), stride }
    }

    fn push(&mut self, index: u32) {
        self.bytes.extend_from_slice(&index.to_le_bytes()[..self.stride]);
    }
}

/// What unpacking triangles remembers.
struct Corners<'a> {
    data: Stream<'a>,
    /// The next vertex that has not been used.
    next: u32,
    /// The last vertex that was given as a number.
    last: u32,
    edges: Recent<[u32; 2]>,
    vertices: Recent<u32>,
}

impl Corners<'_> {
    fn fresh(&mut self) -> u32 {
        let vertex = self.next;
        self.next = self.next.wrapping_add(1);
        vertex
    }

    fn given(&mut self) -> Result<u32, &'static str> {
        self.last = self.last.wrapping_add(signed(self.data.whole()?));
        Ok(self.last)
    }

    /// A vertex by four bits: the next new one, one used recently, or one that is given.
    fn by_code(&mut self, code: u8) -> Result<u32, &'static str> {
        match code {
            0 => Ok(self.fresh()),
            15 => self.given(),
            age => self.vertices.get(age - 1),
        }
    }

    /// A triangle on an edge used recently; the low four bits of the code tell its third corner.
    fn on_edge(&mut self, code: u8) -> Result<[u32; 3], &'static str> {
        let [a, b] = self.edges.get(code >> 4)?;
        let (c, is_remembered) = match code & 15 {
            0 => (self.fresh(), true),
            13 => (self.last.wrapping_sub(1), true),
            14 => (self.last.wrapping_add(1), true),
            15 => (self.given()?, true),
            age => (self.vertices.get(age)?, false),
        };
        if matches!(code & 15, 13 | 14) {
            self.last = c;
        }
        self.edges.push([c, b]);
        self.edges.push([a, c]);
        if is_remembered {
            self.vertices.push(c);
        }
        Ok([a, b, c])
    }

    /// A triangle without such an edge; `first` is its first corner, and four bits each tell the others.
    fn alone(&mut self, first: u32, codes: u8) -> Result<[u32; 3], &'static str> {
        let (of_b, of_c) = (codes >> 4, codes & 15);
        let (b, c) = (self.by_code(of_b)?, self.by_code(of_c)?);
        [[b, first], [c, b], [first, c]].into_iter().for_each(|edge| self.edges.push(edge));
        self.vertices.push(first);
        for (vertex, code) in [(b, of_b), (c, of_c)] {
            if code == 0 || code == 15 {
                self.vertices.push(vertex);
            }
        }
        Ok([first, b, c])
    }
}

pub(super) fn unpack_triangles(bytes: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, &'static str> {
    let Some((0xe1, rest)) = bytes.split_first() else { return Err("does not begin with the mark of triangles") };
    let body = rest.len().checked_sub(MEMORY).ok_or("ends too early")?;
    let (body, table) = rest.split_at(body);
    let (codes, data) = body.split_at_checked(count).ok_or("ends too early")?;
    let mut corners = Corners { data: Stream(data), next: 0, last: 0, edges: Recent::new(), vertices: Recent::new() };
    let mut out = Output::new(3 * count, stride);
    for &code in codes {
        let triangle = match code {
            0..0xf0 => corners.on_edge(code)?,
            0xf0..0xfe => {
                let first = corners.fresh();
                let codes = table[usize::from(code & 15)];
                if codes >> 4 == 15 || codes & 15 == 15 {
                    return Err("has an invalid table of triangle codes");
                }
                corners.alone(first, codes)?
            }
            0xfe.. => {
                let codes = corners.data.byte()?;
                if codes == 0 {
                    // Streams of several meshes begin anew.
                    corners.next = 0;
                }
                let first = if code == 0xfe { corners.fresh() } else { corners.given()? };
                corners.alone(first, codes)?
            }
        };
        triangle.into_iter().for_each(|vertex| out.push(vertex));
    }
    corners.data.finish()?;
    Ok(out.bytes)
}

pub(super) fn unpack_sequence(bytes: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, &'static str> {
    /// Zeros at the end.
    const TAIL: usize = 4;
    let Some((0xd1, rest)) = bytes.split_first() else { return Err("does not begin with the mark of indices") };
    let mut data = Stream(rest.len().checked_sub(TAIL).map(|end| &rest[..end]).ok_or("ends too early")?);
    if count > data.0.len() {
        return Err("ends too early");
    }
    let mut out = Output::new(count, stride);
    // Two sequences that alternate.
    let mut last = [0u32; 2];
    for _ in 0..count {
        let code = data.whole()?;
        let base = &mut last[(code & 1) as usize];
        *base = base.wrapping_add(signed(code >> 1));
        out.push(*base);
    }
    data.finish()?;
    Ok(out.bytes)
}
