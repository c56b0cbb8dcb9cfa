//! Numbers in binary files. Readers check that the promised bytes exist before they allocate.

use crate::error::{Place, ReadError};

/// Byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endian {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

/// Number type in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl NumberKind {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            NumberKind::I8 | NumberKind::U8 => 1,
            NumberKind::I16 | NumberKind::U16 => 2,
            NumberKind::I32 | NumberKind::U32 | NumberKind::F32 => 4,
            NumberKind::I64 | NumberKind::U64 | NumberKind::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, NumberKind::F32 | NumberKind::F64)
    }

    /// Decodes all numbers in `bytes` as floating point; ignores an incomplete last number.
    pub fn decode_f64(self, bytes: &[u8], endian: Endian) -> Vec<f64> {
        match self {
            NumberKind::I8 => bytes.iter().map(|b| f64::from(*b as i8)).collect(),
            NumberKind::U8 => bytes.iter().map(|b| f64::from(*b)).collect(),
            NumberKind::I16 => numbers(bytes, endian, i16::from_le_bytes, i16::from_be_bytes, f64::from),
            NumberKind::U16 => numbers(bytes, endian, u16::from_le_bytes, u16::from_be_bytes, f64::from),
            NumberKind::I32 => numbers(bytes, endian, i32::from_le_bytes, i32::from_be_bytes, f64::from),
            NumberKind::U32 => numbers(bytes, endian, u32::from_le_bytes, u32::from_be_bytes, f64::from),
            NumberKind::I64 => numbers(bytes, endian, i64::from_le_bytes, i64::from_be_bytes, |v| v as f64),
            NumberKind::U64 => numbers(bytes, endian, u64::from_le_bytes, u64::from_be_bytes, |v| v as f64),
            NumberKind::F32 => numbers(bytes, endian, f32::from_le_bytes, f32::from_be_bytes, f64::from),
            NumberKind::F64 => numbers(bytes, endian, f64::from_le_bytes, f64::from_be_bytes, |v| v),
        }
    }

    /// Decodes all numbers in `bytes` as integers; truncates floating-point numbers.
    pub fn decode_i64(self, bytes: &[u8], endian: Endian) -> Vec<i64> {
        match self {
            NumberKind::I8 => bytes.iter().map(|b| i64::from(*b as i8)).collect(),
            NumberKind::U8 => bytes.iter().map(|b| i64::from(*b)).collect(),
            NumberKind::I16 => numbers(bytes, endian, i16::from_le_bytes, i16::from_be_bytes, i64::from),
            NumberKind::U16 => numbers(bytes, endian, u16::from_le_bytes, u16::from_be_bytes, i64::from),
            NumberKind::I32 => numbers(bytes, endian, i32::from_le_bytes, i32::from_be_bytes, i64::from),
            NumberKind::U32 => numbers(bytes, endian, u32::from_le_bytes, u32::from_be_bytes, i64::from),
            NumberKind::I64 => numbers(bytes, endian, i64::from_le_bytes, i64::from_be_bytes, |v| v),
            // Out of range in either case: saturation keeps it invalid rather than plausible.
            NumberKind::U64 => {
                numbers(bytes, endian, u64::from_le_bytes, u64::from_be_bytes, |v| i64::try_from(v).unwrap_or(i64::MAX))
            }
            NumberKind::F32 => numbers(bytes, endian, f32::from_le_bytes, f32::from_be_bytes, |v| v as i64),
            NumberKind::F64 => numbers(bytes, endian, f64::from_le_bytes, f64::from_be_bytes, |v| v as i64),
        }
    }
}

/// Decodes an array of `N`-byte numbers.
pub fn numbers<T, U, const N: usize>(
    bytes: &[u8],
    endian: Endian,
    little: impl Fn([u8; N]) -> T,
    big: impl Fn([u8; N]) -> T,
    convert: impl Fn(T) -> U,
) -> Vec<U> {
    let (chunks, _) = bytes.as_chunks::<N>();
    match endian {
        Endian::Little => chunks.iter().map(|chunk| convert(little(*chunk))).collect(),
        Endian::Big => chunks.iter().map(|chunk| convert(big(*chunk))).collect(),
    }
}

/// Reads a binary file sequentially.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Byte order of the numbers.
    pub endian: Endian,
}

impl<'a> Cursor<'a> {
    /// A cursor at `position` of the file `bytes`.
    pub fn new(bytes: &'a [u8], position: usize, endian: Endian) -> Cursor<'a> {
        Cursor { bytes, position: position.min(bytes.len()), endian }
    }

    /// Offset of the next read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes after the position.
    pub fn remaining(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// The next `count` bytes, which belong to `what`.
    pub fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], ReadError> {
        match self.remaining().get(..count) {
            Some(bytes) => {
                self.position += count;
                Ok(bytes)
            }
            None => Err(ReadError::Truncated { place: Place::Byte(self.bytes.len()), what: what.into() }),
        }
    }

    /// The bytes of `count` numbers of a kind. Rejects a count that exceeds the file, and reports the largest possible
    /// one.
    pub fn take_array(&mut self, count: u64, kind: NumberKind, what: &str) -> Result<&'a [u8], ReadError> {
        let found = (self.remaining().len() / kind.size()) as u64;
        if count > found {
            let place = Place::Byte(self.position);
            return Err(ReadError::Count { place, what: what.into(), promised: count, found });
        }
        self.take(count as usize * kind.size(), what)
    }

    /// The next `N` bytes as an array.
    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ReadError> {
        let bytes = self.take(N, what)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    /// The next byte.
    pub fn u8(&mut self, what: &str) -> Result<u8, ReadError> {
        Ok(self.array::<1>(what)?[0])
    }

    /// The next unsigned 32-bit integer.
    pub fn u32(&mut self, what: &str) -> Result<u32, ReadError> {
        let bytes = self.array(what)?;
        Ok(if self.endian == Endian::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// The next signed 32-bit integer.
    pub fn i32(&mut self, what: &str) -> Result<i32, ReadError> {
        Ok(self.u32(what)? as i32)
    }

    /// The next unsigned 64-bit integer.
    pub fn u64(&mut self, what: &str) -> Result<u64, ReadError> {
        let bytes = self.array(what)?;
        Ok(if self.endian == Endian::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// The next double.
    pub fn f64(&mut self, what: &str) -> Result<f64, ReadError> {
        Ok(f64::from_bits(self.u64(what)?))
    }

    /// The next float.
    pub fn f32(&mut self, what: &str) -> Result<f32, ReadError> {
        Ok(f32::from_bits(self.u32(what)?))
    }
}
