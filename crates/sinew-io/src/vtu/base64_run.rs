//! Base64 of a known number of bytes, decoded on all cores.

use sinew_math::parallel::prelude::*;

/// Groups of four digits decoded by one task.
const SPAN: usize = 64 << 10;
/// Marks a character that is not a digit.
const NONE: u8 = 0xff;

const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < 26 {
        values[b'A' as usize + i] = i as u8;
        values[b'a' as usize + i] = 26 + i as u8;
        i += 1;
    }
    let mut i = 0;
    while i < 10 {
        values[b'0' as usize + i] = 52 + i as u8;
        i += 1;
    }
    values[b'+' as usize] = 62;
    values[b'/' as usize] = 63;
    values
};

/// Decoded bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// At least the requested number.
    pub bytes: Vec<u8>,
    /// Length of the consumed text.
    pub used: usize,
    /// Whether padding ends the run: the rest is encoded separately.
    pub is_padded: bool,
}

/// Why some text is not the base64 of enough bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunFault {
    /// An invalid character.
    Digit {
        /// Offset in the text.
        at: usize,
        /// What is wrong.
        reason: String,
    },
    /// It ends too early.
    Short {
        /// How many bytes there are.
        found: usize,
    },
}

/// Decodes the next `need` bytes, in whole groups of four digits; skips whitespace.
pub(super) fn decode_run(text: &[u8], need: usize) -> Result<Run, RunFault> {
    let start = text.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(text.len());
    let groups = need.div_ceil(3);
    // Nearly always one run of digits without whitespace, whose last group may be padded.
    let body = groups.saturating_sub(1);
    if body > 0
        && let Some(digits) = body.checked_mul(4).and_then(|length| text[start..].get(..length))
        && let Some(mut bytes) = decode_digits(digits)
    {
        let tail = decode_slowly(&text[start + digits.len()..], need - body * 3, start + digits.len(), bytes.len())?;
        bytes.extend_from_slice(&tail.bytes);
        return Ok(Run { bytes, used: start + digits.len() + tail.used, is_padded: tail.is_padded });
    }
    decode_slowly(text, need, 0, 0)
}

/// Decodes digits only; `None` for anything else.
fn decode_digits(digits: &[u8]) -> Option<Vec<u8>> {
    let (groups, _) = digits.as_chunks::<4>();
    let mut bytes = vec![0; groups.len() * 3];
    let (triples, _) = bytes.as_chunks_mut::<3>();
    let decode = |(triples, groups): (&mut [[u8; 3]], &[[u8; 4]])| {
        let mut all = 0;
        for (triple, group) in triples.iter_mut().zip(groups) {
            let [a, b, c, d] = group.map(|digit| VALUES[usize::from(digit)]);
            all |= a | b | c | d;
            *triple = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
        }
        all < 64
    };
    if groups.len() <= SPAN {
        return decode((triples, groups)).then_some(bytes);
    }
    let is_good = triples.par_chunks_mut(SPAN).zip(groups.par_chunks(SPAN)).map(decode).reduce(|| true, |a, b| a & b);
    is_good.then_some(bytes)
}

fn decode_slowly(text: &[u8], need: usize, offset: usize, before: usize) -> Result<Run, RunFault> {
    let mut run = Run { bytes: Vec::with_capacity(need.min(text.len())), used: 0, is_padded: false };
    let wrong = |at: usize, reason: String| RunFault::Digit { at: offset + at, reason };
    let (mut word, mut digits, mut padding) = (0u32, 0, 0);
    for (at, &c) in text.iter().enumerate() {
        if run.is_padded || run.bytes.len() >= need || c == b'<' {
            break;
        }
        run.used = at + 1;
        if c.is_ascii_whitespace() {
            continue;
        }
        let value = VALUES[usize::from(c)];
        if c == b'=' && digits >= 2 {
            padding += 1;
        } else if value == NONE || padding > 0 {
            return Err(wrong(at, format!("`{}` is not base64", char::from(c).escape_default())));
        }
        word = (word << 6) | if c == b'=' { 0 } else { u32::from(value) };
        digits += 1;
        if digits == 4 {
            let [_, bytes @ ..] = word.to_be_bytes();
            run.bytes.extend_from_slice(&bytes[..3 - padding]);
            run.is_padded = padding > 0;
            (word, digits) = (0, 0);
        }
    }
    if run.bytes.len() < need {
        return Err(RunFault::Short { found: before + run.bytes.len() });
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base64;

    #[test]
    fn runs_equal_the_plain_decoder() {
        for length in [0usize, 1, 2, 3, 4, 5, 6, 7, 100, 3 * SPAN * 3 + 1] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 256) as u8).collect();
            let text = format!(" \n{}", base64::encode(&bytes));
            let run = decode_run(text.as_bytes(), length).unwrap();
            assert_eq!((&run.bytes, run.is_padded), (&bytes, length % 3 != 0), "{length}");
            let broken: Vec<u8> = text.bytes().flat_map(|b| [b, b'\n']).collect();
            assert_eq!(decode_run(&broken, length).unwrap().bytes, bytes);
            let short = decode_run(text.as_bytes(), length + 1);
            assert!(matches!(short, Err(RunFault::Short { found }) if found == length), "{short:?}");
        }
    }

    #[test]
    fn a_run_ends_at_its_padding() {
        let run = decode_run(b"Zg==Zm8=", 1).unwrap();
        assert_eq!((run.bytes.as_slice(), run.used, run.is_padded), (&b"f"[..], 4, true));
        assert_eq!(decode_run(b"Zm9vZg==", 3).unwrap().used, 4);
        assert!(matches!(decode_run(b"Zm9!", 3), Err(RunFault::Digit { at: 3, .. })));
        assert!(matches!(decode_run(b"Zm9vZm9vZ=9v", 9), Err(RunFault::Digit { at: 9, .. })));
        assert!(matches!(decode_run(b"Zm9v</A>", 4), Err(RunFault::Short { found: 3 })));
    }
}
