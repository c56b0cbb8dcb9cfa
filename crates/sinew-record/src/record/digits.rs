//! Single-precision numbers as text, with only as many digits as needed.

use std::io::Write;

use sinew_math::parallel::prelude::*;

/// Number of items that one task writes: enough that starting it costs nothing.
const CHUNK: usize = 4096;

/// Powers of ten that double precision holds exactly.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Appends the shortest text that reads back as the same number.
pub(crate) fn push_f32(out: &mut Vec<u8>, value: f32) {
    let magnitude = value.abs();
    let is_plain = (1e-5..1e9).contains(&magnitude);
    let is_usual = (1e-5..1e6).contains(&magnitude);
    if let Some((digits, decimals)) = is_usual.then(|| decimal(magnitude)).flatten() {
        if value < 0.0 {
            out.push(b'-');
        }
        return push_decimal(out, digits, decimals);
    }
    // Writing to a Vec cannot fail.
    let _ =
        if value == 0.0 || is_plain || !value.is_finite() { write!(out, "{value}") } else { write!(out, "{value:e}") };
}

/// Digits n and decimals k of the shortest n / 10ᵏ that rounds to a number between 1e-5 and 1e6; `None` in the rare cases
/// that take more than double precision to decide.
///
/// With d digits the nearest n is a rounded product. Six digits are always told apart by single precision, so shorter
/// numbers are found with zeros at their end; nine always suffice. n and 10ᵏ are exact in double precision, so their
/// quotient is the nearest double; it rounds to the same single as n / 10ᵏ itself unless it lies at the middle of two.
fn decimal(value: f32) -> Option<(u64, usize)> {
    let wide = f64::from(value);
    let whole_digits = POWERS.iter().position(|power| wide < *power).unwrap_or(0);
    // Zeros after the decimal point, which are no digits.
    let zeros = if whole_digits > 0 { 0 } else { (1..5).find(|&k| wide * POWERS[k] >= 1.0).map_or(4, |k| k - 1) };
    for digits in 6..=9 {
        let decimals = digits - whole_digits + zeros;
        let rounded = (wide * POWERS[decimals]).round();
        let back = rounded / POWERS[decimals];
        // The bits that single precision cuts off.
        let cut = back.to_bits() & 0x1fff_ffff;
        if cut.abs_diff(0x1000_0000) <= 1 {
            return None;
        }
        if back as f32 == value {
            return Some((rounded as u64, decimals));
        }
    }
    None
}

/// Appends n / 10ᵏ without zeros at its end.
fn push_decimal(out: &mut Vec<u8>, mut number: u64, mut decimals: usize) {
    while decimals > 0 && number.is_multiple_of(10) {
        (number, decimals) = (number / 10, decimals - 1);
    }
    let mut text = [b'0'; 24];
    let mut at = text.len();
    let mut written = 0;
    while number > 0 || written <= decimals {
        if written == decimals && decimals > 0 {
            at -= 1;
            text[at] = b'.';
        }
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        (number, written) = (number / 10, written + 1);
    }
    out.extend_from_slice(&text[at..]);
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

    /// The same text as that of the standard library, but for the rare numbers next to a power of two whose nearest short
    /// decimal is beyond the narrower side.
    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let text = |value: f32| {
            let mut out = Vec::new();
            push_f32(&mut out, value);
            String::from_utf8(out).unwrap()
        };
        for value in
            [0.5, 12.0, -3.25, 0.1, 1e-5, 0.00123, 123_456.0, 16_777_216.0, 999_999_900.0, 0.3, 1.0, 100.0, 0.0625]
        {
            assert_eq!(text(value), value.to_string());
        }
        let mut seed = 7u32;
        let mut longer = 0;
        for _ in 0..200_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // From 1e-5 to 1e5, as positions are.
            let value = (f64::from(seed) / f64::from(u32::MAX) * 23.0 - 11.5).exp() as f32;
            longer += usize::from(text(value) != value.to_string());
        }
        assert!(longer <= 2, "{longer} of 200000");
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
