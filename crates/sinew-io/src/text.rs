//! Numbers and words in text files, with line numbers.

use std::io::Write;

use sinew_math::Vec3;

use crate::error::{Place, ReadError};

/// Splits a text file into words separated by whitespace, or into lines, and counts lines.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    bytes: &'a [u8],
    position: usize,
    line: usize,
    /// A byte that begins a comment to the end of the line.
    comment: Option<u8>,
}

impl<'a> Words<'a> {
    /// Words from `position` of `bytes`, on line `line`.
    pub fn new(bytes: &'a [u8], position: usize, line: usize, comment: Option<u8>) -> Words<'a> {
        Words { bytes, position: position.min(bytes.len()), line, comment }
    }

    /// Line of the last word, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Position of the last word, for errors.
    pub fn place(&self) -> Place {
        Place::Line(self.line)
    }

    /// Offset of the next read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The rest of the file.
    pub fn remaining(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// Moves forward over bytes that were read by other means, counting lines.
    pub fn skip_to(&mut self, position: usize) {
        let position = position.clamp(self.position, self.bytes.len());
        self.line += self.bytes[self.position..position].iter().filter(|&&b| b == b'\n').count();
        self.position = position;
    }

    /// The next word in any line; `None` at the end of the file.
    pub fn next_word(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.bytes.get(self.position) {
                None => return None,
                Some(b'\n') => {
                    self.line += 1;
                    self.position += 1;
                }
                Some(b) if b.is_ascii_whitespace() => self.position += 1,
                Some(b) if Some(*b) == self.comment => self.skip_comment(),
                Some(_) => return Some(self.word_here()),
            }
        }
    }

    /// The next word of the current line; `None` at its end, which is not consumed.
    pub fn next_word_in_line(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.bytes.get(self.position) {
                None | Some(b'\n') => return None,
                Some(b) if b.is_ascii_whitespace() => self.position += 1,
                Some(b) if Some(*b) == self.comment => self.skip_comment(),
                Some(_) => return Some(self.word_here()),
            }
        }
    }

    /// The rest of the current line, trimmed, without its end; moves to the next line. `None` at the end of the file.
    /// Keeps comments.
    pub fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.position >= self.bytes.len() {
            return None;
        }
        let rest = self.remaining();
        let length = find_byte(rest, b'\n').unwrap_or(rest.len());
        self.position = (self.position + length + 1).min(self.bytes.len());
        self.line += 1;
        Some(rest[..length].trim_ascii())
    }

    fn skip_comment(&mut self) {
        let rest = self.remaining();
        self.position += find_byte(rest, b'\n').unwrap_or(rest.len());
    }

    fn word_here(&mut self) -> &'a [u8] {
        let rest = self.remaining();
        let length = rest.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    fn truncated(&self, what: &str) -> ReadError {
        ReadError::Truncated { place: self.place(), what: what.into() }
    }

    /// The next word, which belongs to `what`.
    pub fn word(&mut self, what: &str) -> Result<&'a [u8], ReadError> {
        self.next_word().ok_or_else(|| self.truncated(what))
    }

    /// The next word as an integer.
    pub fn integer(&mut self, what: &str) -> Result<i64, ReadError> {
        let word = self.word(what)?;
        parse_i64(word).ok_or_else(|| not_a(self.line, word, "an integer", what))
    }

    /// The next word as a count. The file must have room for that many entries of at least two bytes each.
    pub fn count(&mut self, what: &str) -> Result<usize, ReadError> {
        let value = self.integer(what)?;
        let found = self.remaining().len() as u64;
        match u64::try_from(value) {
            Ok(promised) if promised <= found => Ok(promised as usize),
            Ok(promised) => Err(ReadError::Count { place: self.place(), what: what.into(), promised, found }),
            Err(_) => Err(ReadError::line(self.line, format!("{what}: a count of {value}"))),
        }
    }

    /// The next word as a number.
    pub fn number(&mut self, what: &str) -> Result<f64, ReadError> {
        let word = self.word(what)?;
        parse_f64(word).ok_or_else(|| not_a(self.line, word, "a number", what))
    }

    /// The next word as a finite number.
    pub fn finite(&mut self, what: &str) -> Result<f64, ReadError> {
        let value = self.number(what)?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(ReadError::NotFinite { place: self.place(), what: what.into() })
    }

    /// The next three words as a point.
    pub fn point(&mut self, what: &str) -> Result<Vec3, ReadError> {
        Ok(Vec3::new(self.finite(what)?, self.finite(what)?, self.finite(what)?))
    }
}

/// The error for an unexpected word.
pub fn not_a(line: usize, word: &[u8], expected: &str, what: &str) -> ReadError {
    ReadError::line(line, format!("{what}: `{}` is not {expected}", shown(word)))
}

/// A word of a file for a message: short and printable.
pub fn shown(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text: String = String::from_utf8_lossy(&word[..word.len().min(LONGEST)]).escape_debug().collect();
    if word.len() > LONGEST { format!("{text}…") } else { text }
}

/// Position of a byte.
pub fn find_byte(bytes: &[u8], wanted: u8) -> Option<usize> {
    bytes.iter().position(|&b| b == wanted)
}

/// A decimal integer with an optional sign.
pub fn parse_i64(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    Some(if negative { -value } else { value })
}

/// Powers of ten that doubles represent exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A decimal number, correctly rounded; also `nan`, `inf` and Fortran's `1.0D+3`.
///
/// A mantissa below 2⁵³ times or divided by a power of ten up to 10²² needs only one rounding, so one operation gives
/// the correctly rounded value \[Clinger 1990\]. Everything else takes the slow path through the standard library.
pub fn parse_f64(word: &[u8]) -> Option<f64> {
    let (negative, rest) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    };
    let mut mantissa = 0u64;
    let mut digits = 0usize;
    let mut scale = 0i32;
    let mut at = 0;
    while let Some(digit) = rest.get(at).filter(|b| b.is_ascii_digit()) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        digits += 1;
        at += 1;
    }
    if rest.get(at) == Some(&b'.') {
        at += 1;
        while let Some(digit) = rest.get(at).filter(|b| b.is_ascii_digit()) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            digits += 1;
            scale -= 1;
            at += 1;
        }
    }
    if digits == 0 || digits > 19 {
        return parse_slowly(word);
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        let exponent = parse_i64(&rest[at + 1..]).filter(|e| e.abs() < 1000)?;
        scale += exponent as i32;
        at = rest.len();
    }
    if at != rest.len() || mantissa >= 1 << 53 || scale.unsigned_abs() > 22 {
        return parse_slowly(word);
    }
    let value = if scale < 0 {
        mantissa as f64 / POWERS[scale.unsigned_abs() as usize]
    } else {
        mantissa as f64 * POWERS[scale as usize]
    };
    Some(if negative { -value } else { value })
}

fn parse_slowly(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    text.parse().ok().or_else(|| {
        let fortran = text.contains(['d', 'D']).then(|| text.replace(['d', 'D'], "e"))?;
        fortran.parse().ok()
    })
}

/// Appends the shortest text that reads back as the same number.
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    let magnitude = value.abs();
    // Writing to a Vec cannot fail.
    let _ = if value == 0.0 || (1e-5..1e16).contains(&magnitude) || !value.is_finite() {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}

/// Appends an integer.
pub fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library is the reference for every number syntax.
    #[test]
    fn numbers_are_rounded_as_the_standard_library_does() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed
        };
        for _ in 0..100_000 {
            let value = f64::from_bits(random());
            if !value.is_finite() {
                continue;
            }
            for text in [format!("{value:e}"), format!("{:.6}", value % 1e6), format!("{}", value % 1e3)] {
                let expected: f64 = text.parse().unwrap();
                assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), Some(expected.to_bits()), "{text}");
            }
        }
        for text in ["1.", ".5", "+3", "-0", "1e5", "1E-3", "12345678901234567890123", "1e300", "5e-324"] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        assert_eq!(parse_f64(b"1.5D+2"), Some(150.0));
        assert!(parse_f64(b"nan").unwrap().is_nan());
        for wrong in ["", "-", ".", "1e", "1.2.3", "x", "1,5", "0x10", "1e+-3"] {
            assert_eq!(parse_f64(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn written_numbers_read_back_with_the_same_bits() {
        for value in [0.0, -0.0, 1.0, -1.5, 1e-300, 1e300, 0.1, 123456.789, 5e-324, f64::MAX, 1e16, 9.999e-6] {
            let mut text = Vec::new();
            push_f64(&mut text, value);
            assert_eq!(parse_f64(&text).map(f64::to_bits), Some(value.to_bits()), "{value}");
        }
        let mut text = Vec::new();
        push_u64(&mut text, u64::MAX);
        assert_eq!(text, u64::MAX.to_string().as_bytes());
    }

    #[test]
    fn words_know_their_line() {
        let mut words = Words::new(b"a b # c\n\n d\ne f", 0, 1, Some(b'#'));
        let mut seen = Vec::new();
        while let Some(word) = words.next_word() {
            seen.push((String::from_utf8_lossy(word).into_owned(), words.line()));
        }
        let expected = [("a", 1), ("b", 1), ("d", 3), ("e", 4), ("f", 4)];
        assert_eq!(seen, expected.map(|(word, line)| (word.to_string(), line)));
    }
}
