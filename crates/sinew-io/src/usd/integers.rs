//! Compression of crate files: bytes by LZ4, and integers by their differences first.
//!
//! Of a list of integers the differences of neighbors are stored: the most common one once, then two bits for each that
//! tell whether it is that one or how many bytes it takes, then these bytes.

use std::collections::BTreeMap;

/// Largest input of one LZ4 block.
const LARGEST_BLOCK: usize = 0x7e00_0000;

/// Bytes by LZ4: 0 and one block, or the number of blocks and each with its length.
pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() <= LARGEST_BLOCK {
        let mut out = vec![0];
        out.extend(lz4_flex::block::compress(bytes));
        return out;
    }
    // 127 blocks are 250 GiB, more than any table.
    let mut out = vec![bytes.len().div_ceil(LARGEST_BLOCK) as u8];
    for block in bytes.chunks(LARGEST_BLOCK) {
        let block = lz4_flex::block::compress(block);
        out.extend((block.len() as i32).to_le_bytes());
        out.extend(block);
    }
    out
}

/// Integers by their differences and LZ4.
pub(super) fn compressed_integers(values: &[i32]) -> Vec<u8> {
    compressed(&encoded(values))
}

/// The most common difference, codes and differences.
fn encoded(values: &[i32]) -> Vec<u8> {
    let before = std::iter::once(0).chain(values.iter().copied());
    // Differences wrap around, and so do the sums of readers.
    let differences: Vec<i32> = values.iter().zip(before).map(|(value, before)| value.wrapping_sub(before)).collect();
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for difference in &differences {
        *counts.entry(*difference).or_default() += 1;
    }
    let common = counts.iter().max_by_key(|(_, count)| **count).map_or(0, |(difference, _)| *difference);
    let mut out = common.to_le_bytes().to_vec();
    let mut rest = Vec::new();
    for four in differences.chunks(4) {
        let mut codes = 0u8;
        for (k, &difference) in four.iter().enumerate() {
            let code = if difference == common {
                0
            } else if let Ok(byte) = i8::try_from(difference) {
                rest.extend(byte.to_le_bytes());
                1
            } else if let Ok(short) = i16::try_from(difference) {
                rest.extend(short.to_le_bytes());
                2
            } else {
                rest.extend(difference.to_le_bytes());
                3
            };
            codes |= code << (2 * k);
        }
        out.push(codes);
    }
    out.append(&mut rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of the differences, as a reader forms them.
    fn decoded(bytes: &[u8], count: usize) -> Vec<i32> {
        let common = i32::from_le_bytes(bytes[..4].try_into().unwrap());
        let (codes, mut rest) = bytes[4..].split_at(count.div_ceil(4));
        let mut take = |size: usize| {
            let (head, tail) = rest.split_at(size);
            rest = tail;
            // The sign of the highest byte is that of the number.
            let sign = if head[size - 1] >= 0x80 { 0xff } else { 0 };
            i32::from_le_bytes(std::array::from_fn(|k| head.get(k).copied().unwrap_or(sign)))
        };
        let mut value = 0i32;
        let number = |k: usize| {
            let difference = match codes[k / 4] >> (2 * (k % 4)) & 3 {
                0 => common,
                code => take(1 << (code - 1)),
            };
            value = value.wrapping_add(difference);
            value
        };
        (0..count).map(number).collect()
    }

    #[test]
    fn integers_come_back() {
        let lists: [&[i32]; 5] = [
            &[],
            &[3; 17],
            &[0, 1, 2, 3, 200, -200, 70_000, -70_000, i32::MAX, i32::MIN, -1],
            &[-1],
            &[i32::MIN, 0, i32::MAX],
        ];
        for list in lists {
            let bytes = compressed_integers(list);
            assert_eq!(bytes[0], 0);
            let plain = lz4_flex::block::decompress(&bytes[1..], 8 + 5 * list.len()).unwrap();
            assert_eq!(decoded(&plain, list.len()), list);
        }
        // All the same: two bits each before LZ4.
        assert_eq!(encoded(&[0; 400]).len(), 4 + 100);
    }
}
