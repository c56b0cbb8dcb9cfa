//! Plain values as bytes: little-endian, with lengths in front. Reading validates everything.

use sinew_math::{Quaternion, Vec3};

use super::StoreError;

/// Appends values.
#[derive(Clone, Debug, Default)]
pub struct ByteWriter(
    /// The bytes so far.
    pub Vec<u8>,
);

#[expect(missing_docs, reason = "methods are named after what they append")]
impl ByteWriter {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn f64(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn u32s(&mut self, values: &[u32]) {
        self.u64(values.len() as u64);
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    pub fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    pub fn vector(&mut self, value: Vec3) {
        value.to_array().into_iter().for_each(|c| self.f64(c));
    }

    pub fn vectors(&mut self, values: &[Vec3]) {
        self.u64(values.len() as u64);
        self.0.extend(values.iter().flat_map(|v| v.to_array()).flat_map(f64::to_le_bytes));
    }

    pub fn quaternion(&mut self, q: Quaternion) {
        [q.w, q.x, q.y, q.z].into_iter().for_each(|c| self.f64(c));
    }

    /// A list, preceded by its length.
    pub fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut put: impl FnMut(&mut Self, T)) {
        self.u64(items.len() as u64);
        for item in items {
            put(self, item);
        }
    }
}

/// Reads values; every length is checked against the remaining bytes before memory is reserved.
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[expect(missing_docs, reason = "methods are named after what they take")]
impl<'a> ByteReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn broken(&self, what: &'static str) -> StoreError {
        StoreError::Broken { what, offset: self.at as u64 }
    }

    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], StoreError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| self.broken(what))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], StoreError> {
        let bytes = self.take(N, what)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, StoreError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, StoreError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub fn u64(&mut self, what: &'static str) -> Result<u64, StoreError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    pub fn f64(&mut self, what: &'static str) -> Result<f64, StoreError> {
        Ok(f64::from_le_bytes(self.array(what)?))
    }

    /// A count of items of at least `size` bytes each, checked against the remaining bytes.
    pub fn count(&mut self, size: usize, what: &'static str) -> Result<usize, StoreError> {
        let count = self.u64(what)?;
        let most = (self.bytes.len() - self.at) / size.max(1);
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or_else(|| self.broken(what))
    }

    pub fn text(&mut self, what: &'static str) -> Result<String, StoreError> {
        let bytes = self.bytes(what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.broken(what))
    }

    pub fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], StoreError> {
        let count = self.count(1, what)?;
        self.take(count, what)
    }

    pub fn u32s(&mut self, what: &'static str) -> Result<Vec<u32>, StoreError> {
        let count = self.count(4, what)?;
        let (chunks, _) = self.take(4 * count, what)?.as_chunks();
        Ok(chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
    }

    pub fn f64s(&mut self, what: &'static str) -> Result<Vec<f64>, StoreError> {
        let count = self.count(8, what)?;
        let (chunks, _) = self.take(8 * count, what)?.as_chunks();
        Ok(chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
    }

    pub fn vector(&mut self, what: &'static str) -> Result<Vec3, StoreError> {
        Ok(Vec3::new(self.f64(what)?, self.f64(what)?, self.f64(what)?))
    }

    pub fn vectors(&mut self, what: &'static str) -> Result<Vec<Vec3>, StoreError> {
        let count = self.count(24, what)?;
        (0..count).map(|_| self.vector(what)).collect()
    }

    pub fn quaternion(&mut self, what: &'static str) -> Result<Quaternion, StoreError> {
        let [w, x, y, z] = [self.f64(what)?, self.f64(what)?, self.f64(what)?, self.f64(what)?];
        Ok(Quaternion { w, x, y, z })
    }

    /// A list whose items take at least `size` bytes each.
    pub fn list<T>(
        &mut self,
        size: usize,
        what: &'static str,
        mut get: impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let count = self.count(size, what)?;
        (0..count).map(|_| get(self)).collect()
    }
}
