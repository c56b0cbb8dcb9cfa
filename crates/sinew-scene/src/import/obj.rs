//! Wavefront OBJ surfaces: `v` and `f`; everything else (normals, texture, groups, materials) is skipped.

use sinew_geometry::{MeshError, TriMesh};
use sinew_math::Vec3;
use thiserror::Error;

/// Why an OBJ file could not be read.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ObjError {
    /// A line is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file has no face.
    #[error("the file has no faces")]
    Empty,
    /// The faces do not make a surface.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Reads the bytes of an OBJ file. Polygons are split into fans from their first corner; vertices that no face uses stay.
pub fn read_obj(bytes: &[u8]) -> Result<TriMesh, ObjError> {
    let mut positions = Vec::new();
    // Corners as written, with their line: they may name vertices that come later in the file.
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    let mut lines: Vec<usize> = Vec::new();
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let fail = |reason: String| ObjError::Line { line: number + 1, reason };
        let text = std::str::from_utf8(line).or_else(|error| {
            // A comment in another encoding is no reason to refuse a file.
            if line.trim_ascii_start().starts_with(b"#") { Ok("") } else { Err(fail(format!("not UTF-8: {error}"))) }
        })?;
        let mut words = text.split('#').next().unwrap_or("").split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let mut p = [0.0f64; 3];
                for (axis, c) in p.iter_mut().enumerate() {
                    let word = words.next().ok_or_else(|| fail(format!("a vertex with {axis} coordinates")))?;
                    *c = word.parse().map_err(|_| fail(format!("`{word}` is not a number")))?;
                    if !c.is_finite() {
                        return Err(fail(format!("coordinate `{word}` is not finite")));
                    }
                }
                positions.push(Vec3::new(p[0], p[1], p[2]));
            }
            Some("f") => {
                let corners: Vec<u32> =
                    words.map(|word| corner(word, positions.len())).collect::<Result<_, String>>().map_err(fail)?;
                if corners.len() < 3 {
                    return Err(fail(format!("a face with {} corners", corners.len())));
                }
                for i in 2..corners.len() {
                    triangles.push([corners[0], corners[i - 1], corners[i]]);
                    lines.push(number + 1);
                }
            }
            _ => {}
        }
    }
    if triangles.is_empty() {
        return Err(ObjError::Empty);
    }
    for (t, &line) in triangles.iter().zip(&lines) {
        if let Some(v) = t.iter().find(|&&v| v as usize >= positions.len()) {
            return Err(ObjError::Line {
                line,
                reason: format!("vertex {} of {}", u64::from(*v) + 1, positions.len()),
            });
        }
    }
    Ok(TriMesh::new(positions, triangles)?)
}

/// Index from `7`, `7/1`, `7/1/3`, `7//3` or, counted from the end, `-1`.
fn corner(word: &str, known: usize) -> Result<u32, String> {
    let first = word.split('/').next().unwrap_or("");
    let index: i64 = first.parse().map_err(|_| format!("`{word}` is not a corner"))?;
    let vertex = if index < 0 { known as i64 + index } else { index - 1 };
    if index == 0 {
        return Err("vertices are numbered from 1".into());
    }
    u32::try_from(vertex).map_err(|_| format!("vertex {index} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str = "# a tetrahedron\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1 1.0\nvn 0 0 1\n\
        usemtl skin\nf 1 3 2\nf 1/1 2/2 4/3\nf 2//1 3//1 4//1\nf -4/1/1 -1/1/1 -2/1/1\n";

    #[test]
    fn all_ways_to_write_a_corner_are_read() {
        let mesh = read_obj(TETRAHEDRON.as_bytes()).unwrap();
        assert_eq!((mesh.vertex_count(), mesh.triangle_count()), (4, 4));
        assert!(mesh.is_closed());
        assert!((mesh.volume() - 1.0 / 6.0).abs() < 1e-15);
    }

    /// The six quads of a cube make 12 triangles and the volume 1.
    #[test]
    fn polygons_become_fans() {
        let cube = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
            f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\r\n";
        let mesh = read_obj(cube.as_bytes()).unwrap();
        assert_eq!(mesh.triangle_count(), 12);
        assert!(mesh.is_closed() && (mesh.volume() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("v 0 0\nf 1 1 1", 1, "2 coordinates"),
            ("v 0 0 x", 1, "`x`"),
            ("v 0 0 nan", 1, "not finite"),
            ("v 0 0 0\nf 1 2 3", 2, "vertex 2 of 1"),
            ("v 0 0 0\nf 1 2", 2, "2 corners"),
            ("v 0 0 0\nf 0 1 2", 2, "from 1"),
            ("v 0 0 0\nf -2 1 1", 2, "vertex -2"),
            ("v 0 0 0\n\nf 1 a 2", 3, "`a`"),
            ("v 0 0 0\nf 99999999999 1 1", 2, "does not exist"),
        ];
        for (text, line, part) in cases {
            match read_obj(text.as_bytes()) {
                Err(ObjError::Line { line: got, reason }) => {
                    assert!(got == line && reason.contains(part), "{text:?}: line {got}: {reason}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert_eq!(read_obj(b""), Err(ObjError::Empty));
        assert!(read_obj(b"v 0 0 0 \xff").is_err());
    }
}
