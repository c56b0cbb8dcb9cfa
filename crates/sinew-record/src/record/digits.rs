//! Single-precision numbers as text, with only as many digits as needed.

use std::io::Write;

use rayon::prelude::*;

/// Number of items that one task writes: enough that starting it costs nothing.
const CHUNK: usize = 4096;

/// Appends the shortest text that reads back as the same number.
pub(crate) fn push_f32(out: &mut Vec<u8>, value: f32) {
    let magnitude = value.abs();
    // Writing to a Vec cannot fail.
    let _ = if value == 0.0 || (1e-5..1e9).contains(&magnitude) || !value.is_finite() {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}

/// All items one after the other, written in parallel.
pub(crate) fn write_all<T: Sync>(items: &[T], write: impl Fn(&mut Vec<u8>, &T) + Sync) -> Vec<u8> {
    let chunk = |items: &[T]| {
        let mut out = Vec::with_capacity(40 * items.len());
        items.iter().for_each(|item| write(&mut out, item));
        out
    };
    if items.len() <= CHUNK { chunk(items) } else { items.par_chunks(CHUNK).map(chunk).collect::<Vec<_>>().concat() }
}

/// `[(x, y, z), …]` as USD writes vectors.
pub(crate) fn tuples(vectors: &[[f32; 3]]) -> Vec<u8> {
    let mut text = vec![b'['];
    text.append(&mut write_all(vectors, |out, [x, y, z]| {
        out.push(b'(');
        push_f32(out, *x);
        out.extend_from_slice(b", ");
        push_f32(out, *y);
        out.extend_from_slice(b", ");
        push_f32(out, *z);
        out.extend_from_slice(b"), ");
    }));
    text.truncate(text.len().saturating_sub(if vectors.is_empty() { 0 } else { 2 }));
    text.push(b']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_the_same_bits() {
        let mut seed = 1u32;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(seed);
            let mut text = Vec::new();
            push_f32(&mut text, value);
            let back: f32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
            assert!(back.to_bits() == value.to_bits() || (back.is_nan() && value.is_nan()));
            // Most readers go through double precision.
            let through: f64 = std::str::from_utf8(&text).unwrap().parse().unwrap();
            assert!(through as f32 == value || value.is_nan());
            assert!(text.len() <= 16, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn order_does_not_depend_on_the_number_of_tasks() {
        let vectors: Vec<[f32; 3]> = (0..3 * CHUNK).map(|i| [i as f32; 3]).collect();
        let text = String::from_utf8(tuples(&vectors)).unwrap();
        let expected: Vec<String> = vectors.iter().map(|[x, y, z]| format!("({x}, {y}, {z})")).collect();
        assert_eq!(text, format!("[{}]", expected.join(", ")));
        assert_eq!(tuples(&[]), b"[]");
    }
}
