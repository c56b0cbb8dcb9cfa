//! Bytes taken one after the other.

/// The bytes that are left.
pub(super) struct Stream<'a>(pub &'a [u8]);

impl<'a> Stream<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, &'static str> {
        Ok(self.take(1)?[0])
    }

    /// A whole number in one to five bytes, seven bits each from the lowest on; the highest bit of a byte says whether
    /// another follows.
    pub(super) fn whole(&mut self) -> Result<u32, &'static str> {
        let mut value = 0u32;
        for shift in (0..).step_by(7).take(5) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("has a number of more than five bytes")
    }

    /// Refuses bytes that are left.
    pub(super) fn finish(self) -> Result<(), &'static str> {
        if self.0.is_empty() { Ok(()) } else { Err("goes on after its last element") }
    }
}
