//! Text arrays of numbers: parsed and written on all cores.

use sinew_math::parallel::prelude::*;

/// Text parsed at a time. Numbers parsed beyond the end of an array are discarded, so this must not be the whole file.
const WINDOW: usize = 8 << 20;
/// Text per task: long enough to hide the cost of starting one.
const PART: usize = 64 << 10;
/// Rows written per task.
const ROWS: usize = 4096;

/// Why an array of numbers cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFault {
    /// A word is not a number.
    Word {
        /// Start of the word.
        at: usize,
    },
    /// The text ends.
    End {
        /// Numbers before the end.
        found: usize,
    },
}

/// Parses `count` words from `start` of `bytes`; also returns where the last of them ends.
pub(crate) fn parse_array<T: Copy + Send>(
    bytes: &[u8],
    start: usize,
    count: usize,
    parse: impl Fn(&[u8]) -> Option<T> + Sync,
) -> Result<(Vec<T>, usize), TextFault> {
    let mut position = start.min(bytes.len());
    // A number and a space take two bytes, so this is the most.
    let mut values = Vec::with_capacity(count.min((bytes.len() - position) / 2 + 1));
    while values.len() < count {
        let window = (count - values.len()).saturating_mul(16).clamp(64, WINDOW);
        let end = blank_from(bytes, position.saturating_add(window));
        let parts = parts_of(bytes, position, end);
        let parsed: Vec<(Vec<T>, Option<usize>)> = if parts.len() > 1 {
            parts.par_iter().map(|&(from, to)| parse_words(bytes, from, to, &parse)).collect()
        } else {
            parts.iter().map(|&(from, to)| parse_words(bytes, from, to, &parse)).collect()
        };
        for (&(from, _), (found, wrong)) in parts.iter().zip(&parsed) {
            let missing = count - values.len();
            if found.len() >= missing {
                values.extend_from_slice(&found[..missing]);
                return Ok((values, word_span(bytes, from, missing.saturating_sub(1)).1));
            }
            values.extend_from_slice(found);
            if let Some(at) = *wrong {
                return Err(TextFault::Word { at });
            }
        }
        if end >= bytes.len() && values.len() < count {
            return Err(TextFault::End { found: values.len() });
        }
        position = end;
    }
    Ok((values, position))
}

/// Start and end of the `index`-th word after `from`; the end of the bytes if there are fewer.
pub(crate) fn word_span(bytes: &[u8], from: usize, index: usize) -> (usize, usize) {
    let mut at = from;
    for _ in 0..index {
        at = blank_from(bytes, word_from(bytes, at));
    }
    let start = word_from(bytes, at);
    (start, blank_from(bytes, start))
}

fn word_from(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    at + bytes[at..].iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(bytes.len() - at)
}

fn blank_from(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    at + bytes[at..].iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len() - at)
}

/// Splits a range of the text at whitespace.
fn parts_of(bytes: &[u8], start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut parts = Vec::with_capacity((end - start) / PART + 1);
    let mut from = start;
    while from < end {
        let to = if end - from < 2 * PART { end } else { blank_from(bytes, from + PART).min(end) };
        parts.push((from, to));
        from = to;
    }
    parts
}

/// Parses the words of a range, up to the first invalid one.
fn parse_words<T>(
    bytes: &[u8],
    from: usize,
    to: usize,
    parse: &impl Fn(&[u8]) -> Option<T>,
) -> (Vec<T>, Option<usize>) {
    let text = &bytes[from..to];
    let mut values = Vec::with_capacity(text.len() / 8 + 1);
    let mut at = 0;
    loop {
        while text.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let start = at;
        while text.get(at).is_some_and(|b| !b.is_ascii_whitespace()) {
            at += 1;
        }
        if start == at {
            return (values, None);
        }
        match parse(&text[start..at]) {
            Some(value) => values.push(value),
            None => return (values, Some(from + start)),
        }
    }
}

/// Appends rows of text, in order.
pub(crate) fn push_rows(out: &mut Vec<u8>, rows: usize, push_row: impl Fn(&mut Vec<u8>, usize) + Sync) {
    if rows <= ROWS {
        (0..rows).for_each(|row| push_row(out, row));
        return;
    }
    let write_part = |part: usize| {
        let (from, to) = (part * ROWS, ((part + 1) * ROWS).min(rows));
        let mut text = Vec::with_capacity((to - from) * 32);
        (from..to).for_each(|row| push_row(&mut text, row));
        text
    };
    // A few parts at a time, so that only a little text exists twice.
    const AT_ONCE: usize = 256;
    let part_count = rows.div_ceil(ROWS);
    for first in (0..part_count).step_by(AT_ONCE) {
        let texts: Vec<Vec<u8>> = (first..(first + AT_ONCE).min(part_count)).into_par_iter().map(write_part).collect();
        out.reserve(texts.iter().map(Vec::len).sum());
        texts.iter().for_each(|text| out.extend_from_slice(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_i64, push_u64};

    #[test]
    fn long_arrays_are_the_same_in_parts() {
        let mut text = Vec::new();
        push_rows(&mut text, 300_000, |out, row| {
            push_u64(out, row as u64 * 7);
            out.push(b"\n \t"[row % 3]);
        });
        text.extend_from_slice(b"end");
        let (values, end) = parse_array(&text, 0, 300_000, parse_i64).unwrap();
        assert!(values.iter().enumerate().all(|(row, &value)| value == row as i64 * 7));
        assert_eq!(text[end..].trim_ascii(), b"end");
        let at = text.len() - 3;
        assert_eq!(parse_array(&text, 0, 300_001, parse_i64), Err(TextFault::Word { at }));
        assert_eq!(parse_array(&text[..at], 0, 300_001, parse_i64), Err(TextFault::End { found: 300_000 }));
    }

    #[test]
    fn a_short_array_ends_after_its_last_word() {
        assert_eq!(parse_array(b" 1 2  3 x", 0, 2, parse_i64), Ok((vec![1, 2], 4)));
        assert_eq!(parse_array(b"x", 0, 0, parse_i64), Ok((vec![], 0)));
        assert_eq!(parse_array(b"", 5, 1, parse_i64), Err(TextFault::End { found: 0 }));
        assert_eq!(word_span(b" 10 200 ", 0, 1), (4, 7));
    }
}
