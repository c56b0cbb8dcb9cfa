//! Binary arrays of numbers: decoded to the required type, and encoded, on all cores.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use crate::binary::{Endian, NumberKind};

/// Numbers per task: 1 MiB of doubles, far more work than starting one.
const SPAN: usize = 128 << 10;

/// A negative index or one beyond 32 bits: larger than any count, so that the range check finds it.
pub(crate) const NO_INDEX: u32 = u32::MAX;

/// All numbers in `bytes` as doubles.
pub(crate) fn decode_f64(bytes: &[u8], kind: NumberKind, endian: Endian) -> Vec<f64> {
    match (kind, endian) {
        (NumberKind::F64, Endian::Little) => convert(bytes, f64::from_le_bytes),
        (NumberKind::F64, Endian::Big) => convert(bytes, f64::from_be_bytes),
        (NumberKind::F32, Endian::Little) => convert(bytes, |b| f64::from(f32::from_le_bytes(b))),
        (NumberKind::F32, Endian::Big) => convert(bytes, |b| f64::from(f32::from_be_bytes(b))),
        _ => kind.decode_f64(bytes, endian),
    }
}

/// All numbers in `bytes` as indices; invalid ones become [`NO_INDEX`].
pub(crate) fn decode_u32(bytes: &[u8], kind: NumberKind, endian: Endian) -> Vec<u32> {
    match (kind, endian) {
        (NumberKind::I64 | NumberKind::U64, Endian::Little) => convert(bytes, |b| narrow(u64::from_le_bytes(b))),
        (NumberKind::I64 | NumberKind::U64, Endian::Big) => convert(bytes, |b| narrow(u64::from_be_bytes(b))),
        // A negative number has the highest bit set, which exceeds any count that fits in signed 32 bits, but not every
        // unsigned one.
        (NumberKind::I32, Endian::Little) => convert(bytes, |b| signed(i32::from_le_bytes(b))),
        (NumberKind::I32, Endian::Big) => convert(bytes, |b| signed(i32::from_be_bytes(b))),
        (NumberKind::U32, Endian::Little) => convert(bytes, u32::from_le_bytes),
        (NumberKind::U32, Endian::Big) => convert(bytes, u32::from_be_bytes),
        (NumberKind::U8, _) => bytes.iter().map(|&b| u32::from(b)).collect(),
        _ => kind.decode_i64(bytes, endian).into_iter().map(|v| u32::try_from(v).unwrap_or(NO_INDEX)).collect(),
    }
}

/// All triples in `bytes` as points.
pub(crate) fn decode_points(bytes: &[u8], kind: NumberKind, endian: Endian) -> Vec<Vec3> {
    match (kind, endian) {
        (NumberKind::F64, Endian::Little) => triples(bytes, f64::from_le_bytes),
        (NumberKind::F64, Endian::Big) => triples(bytes, f64::from_be_bytes),
        (NumberKind::F32, Endian::Little) => triples(bytes, |b| f64::from(f32::from_le_bytes(b))),
        (NumberKind::F32, Endian::Big) => triples(bytes, |b| f64::from(f32::from_be_bytes(b))),
        _ => points_of(&kind.decode_f64(bytes, endian)),
    }
}

/// Points of flat coordinates.
pub(crate) fn points_of(coordinates: &[f64]) -> Vec<Vec3> {
    coordinates.as_chunks::<3>().0.iter().map(|&[x, y, z]| Vec3::new(x, y, z)).collect()
}

fn narrow(value: u64) -> u32 {
    if value < u64::from(NO_INDEX) { value as u32 } else { NO_INDEX }
}

fn signed(value: i32) -> u32 {
    if value < 0 { NO_INDEX } else { value as u32 }
}

fn triples<const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> f64) -> Vec<Vec3> {
    let (numbers, _) = bytes.as_chunks::<N>();
    let (triples, _) = numbers.as_chunks::<3>();
    triples.iter().map(|&[x, y, z]| Vec3::new(decode(x), decode(y), decode(z))).collect()
}

fn convert<T: Copy + Default + Send, const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> T + Sync) -> Vec<T> {
    let (numbers, _) = bytes.as_chunks::<N>();
    if numbers.len() <= SPAN {
        return numbers.iter().map(|&number| decode(number)).collect();
    }
    let mut values = vec![T::default(); numbers.len()];
    values.par_chunks_mut(SPAN).zip(numbers.par_chunks(SPAN)).for_each(|(values, numbers)| {
        for (value, number) in values.iter_mut().zip(numbers) {
            *value = decode(*number);
        }
    });
    values
}

/// Writes the bytes of all values to `out`, which has exactly their size.
pub(crate) fn encode<T: Copy + Sync, const N: usize>(
    out: &mut [u8],
    values: &[T],
    bytes_of: impl Fn(T) -> [u8; N] + Sync,
) {
    let (numbers, _) = out.as_chunks_mut::<N>();
    debug_assert_eq!(numbers.len(), values.len(), "room for the values");
    if values.len() <= SPAN {
        numbers.iter_mut().zip(values).for_each(|(number, &value)| *number = bytes_of(value));
        return;
    }
    numbers.par_chunks_mut(SPAN).zip(values.par_chunks(SPAN)).for_each(|(numbers, values)| {
        for (number, &value) in numbers.iter_mut().zip(values) {
            *number = bytes_of(value);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number type, in both orders, against the slow general decoder.
    #[test]
    fn fast_paths_equal_the_general_decoder() {
        let bytes: Vec<u8> = (0..240u32).map(|i| (i * 37 % 251) as u8).collect();
        let kinds = [
            NumberKind::I8,
            NumberKind::U8,
            NumberKind::I16,
            NumberKind::U16,
            NumberKind::I32,
            NumberKind::U32,
            NumberKind::I64,
            NumberKind::U64,
            NumberKind::F32,
            NumberKind::F64,
        ];
        for kind in kinds {
            for endian in [Endian::Little, Endian::Big] {
                let expected = kind.decode_f64(&bytes, endian);
                let same = |a: &[f64]| a.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same(&decode_f64(&bytes, kind, endian)), "{kind:?}");
                let flat: Vec<f64> =
                    decode_points(&bytes, kind, endian).into_iter().flat_map(<[f64; 3]>::from).collect();
                assert!(same(&flat), "{kind:?}");
                if !kind.is_float() {
                    let wide = kind.decode_i64(&bytes, endian);
                    let narrow: Vec<u32> = wide.iter().map(|&v| u32::try_from(v).unwrap_or(NO_INDEX)).collect();
                    assert_eq!(decode_u32(&bytes, kind, endian), narrow, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn long_arrays_survive_both_ways() {
        let values: Vec<f64> = (0..3 * SPAN + 5).map(|i| i as f64 * 0.1).collect();
        let mut bytes = vec![0; values.len() * 8];
        encode(&mut bytes, &values, f64::to_be_bytes);
        assert_eq!(decode_f64(&bytes, NumberKind::F64, Endian::Big), values);
    }
}
