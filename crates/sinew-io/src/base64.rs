//! Base64 (RFC 4648), for binary arrays in XML and pictures in pages.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes, with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    let (whole, rest) = bytes.as_chunks::<3>();
    for &[a, b, c] in whole {
        let word = u32::from_be_bytes([0, a, b, c]);
        text.extend([18, 12, 6, 0].map(|shift| char::from(ALPHABET[(word >> shift & 63) as usize])));
    }
    for chunk in rest.chunks(3) {
        let word = chunk.iter().enumerate().fold(0u32, |word, (i, &b)| word | u32::from(b) << (16 - 8 * i));
        for k in 0..4 {
            let digit = (word >> (18 - 6 * k)) & 63;
            text.push(if k <= chunk.len() { char::from(ALPHABET[digit as usize]) } else { '=' });
        }
    }
    text
}

/// Decodes the first padded run of base64 in `text`; also returns its length in the text. Skips whitespace. The run
/// ends at padding, at `<` or at the end of the text. Errors carry the offset of the invalid character.
pub fn decode(text: &[u8]) -> Result<(Vec<u8>, usize), (usize, String)> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut digits, mut padding) = (0u32, 0, 0);
    let mut used = text.len();
    for (at, &c) in text.iter().enumerate() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                0
            }
            c if c.is_ascii_whitespace() => continue,
            b'<' => {
                used = at;
                break;
            }
            c => return Err((at, format!("`{}` is not base64", char::from(c).escape_default()))),
        };
        if padding > 0 && c != b'=' {
            return Err((at, "base64 continues inside its padding".into()));
        }
        word = word << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            let four = word.to_be_bytes();
            bytes.extend_from_slice(&four[1..4 - padding.min(2)]);
            (word, digits) = (0, 0);
            if padding > 0 {
                used = at + 1;
                break;
            }
        }
    }
    if digits != 0 {
        return Err((used, "base64 ends in the middle of a group of four".into()));
    }
    Ok((bytes, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn standard_examples_hold() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in examples {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).unwrap(), (bytes.as_bytes().to_vec(), text.len()));
        }
    }

    #[test]
    fn a_padded_run_ends_where_it_ends() {
        assert_eq!(decode(b" Zg==\nZm8=").unwrap(), (b"f".to_vec(), 5));
        assert_eq!(decode(b"Zm9v\n </A>").unwrap().0, b"foo");
        assert!(decode(b"Zm9v!").is_err() && decode(b"Zm9").is_err() && decode(b"Z=9v").is_err());
    }
}
