//! The header of both versions as one.

use super::super::layout;
use crate::binary::{Cursor, Endian, NumberKind};
use crate::error::{Place, ReadError};

/// What the header says, with the numbers of version 1 widened.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub endian: Endian,
    /// 1 or 2; 0 for Analyze 7.5, which has no magic word.
    pub version: u8,
    /// Whether the voxels are in a file beside.
    pub is_pair: bool,
    pub dim: [i64; 8],
    pub datatype: i64,
    pub pixdim: [f64; 8],
    pub vox_offset: f64,
    pub slope: f64,
    pub intercept: f64,
    pub units: i64,
    pub intent: i64,
    pub qform: i64,
    pub sform: i64,
    pub quaternion: [f64; 3],
    pub shift: [f64; 3],
    pub rows: [[f64; 4]; 3],
}

/// Numbers at places of the header.
struct Fields<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl Fields<'_> {
    fn cursor(&self, at: usize) -> Cursor<'_> {
        Cursor::new(self.bytes, at, self.endian)
    }

    fn i16(&self, at: usize) -> Result<i64, ReadError> {
        let bytes = self.cursor(at).take(2, "the header")?;
        Ok(NumberKind::I16.decode_i64(bytes, self.endian)[0])
    }

    fn i32(&self, at: usize) -> Result<i64, ReadError> {
        Ok(self.cursor(at).i32("the header")?.into())
    }

    fn i64(&self, at: usize) -> Result<i64, ReadError> {
        Ok(self.cursor(at).u64("the header")? as i64)
    }

    fn f32s<const N: usize>(&self, at: usize) -> Result<[f64; N], ReadError> {
        let bytes = self.cursor(at).take(4 * N, "the header")?;
        let numbers = NumberKind::F32.decode_f64(bytes, self.endian);
        Ok(std::array::from_fn(|i| numbers[i]))
    }

    fn f64s<const N: usize>(&self, at: usize) -> Result<[f64; N], ReadError> {
        let bytes = self.cursor(at).take(8 * N, "the header")?;
        let numbers = NumberKind::F64.decode_f64(bytes, self.endian);
        Ok(std::array::from_fn(|i| numbers[i]))
    }
}

impl Header {
    pub(super) fn read(bytes: &[u8]) -> Result<Header, ReadError> {
        let length: [u8; 4] = match bytes.get(..4) {
            Some(length) => std::array::from_fn(|i| length[i]),
            None => return Err(ReadError::Truncated { place: Place::Byte(bytes.len()), what: "the header".into() }),
        };
        for endian in [Endian::Little, Endian::Big] {
            let fields = Fields { bytes, endian };
            let length = if endian == Endian::Little { u32::from_le_bytes(length) } else { u32::from_be_bytes(length) };
            match length {
                348 => return Header::first(&fields),
                540 => return Header::second(&fields),
                _ => {}
            }
        }
        Err(ReadError::Magic { format: "NIfTI", reason: "its header has neither 348 nor 540 bytes".into() })
    }

    fn first(fields: &Fields<'_>) -> Result<Header, ReadError> {
        let magic = fields.cursor(344).take(4, "the header")?;
        let (version, is_pair) = match magic {
            b"n+1\0" => (1, false),
            b"ni1\0" => (1, true),
            _ => (0, true),
        };
        let mut dim = [0; 8];
        for (i, number) in dim.iter_mut().enumerate() {
            *number = fields.i16(40 + 2 * i)?;
        }
        let [vox_offset, slope, intercept] = fields.f32s(108)?;
        let mut header = Header {
            endian: fields.endian,
            version,
            is_pair,
            dim,
            datatype: fields.i16(70)?,
            pixdim: fields.f32s(76)?,
            vox_offset,
            slope,
            intercept,
            units: i64::from(fields.cursor(123).u8("the header")?),
            intent: fields.i16(68)?,
            qform: fields.i16(252)?,
            sform: fields.i16(254)?,
            quaternion: fields.f32s(256)?,
            shift: fields.f32s(268)?,
            rows: [fields.f32s(280)?, fields.f32s(296)?, fields.f32s(312)?],
        };
        if version == 0 {
            // Analyze has other things in these places.
            (header.qform, header.sform, header.slope, header.intent, header.units) = (0, 0, 0.0, 0, 2);
        }
        Ok(header)
    }

    fn second(fields: &Fields<'_>) -> Result<Header, ReadError> {
        let is_pair = match fields.cursor(4).take(8, "the header")? {
            [b'n', b'+', b'2', ..] => false,
            [b'n', b'i', b'2', ..] => true,
            _ => {
                let reason = "the word behind the length of its header is not known".into();
                return Err(ReadError::Magic { format: "NIfTI", reason });
            }
        };
        let mut dim = [0; 8];
        for (i, number) in dim.iter_mut().enumerate() {
            *number = fields.i64(16 + 8 * i)?;
        }
        let [slope, intercept] = fields.f64s(176)?;
        Ok(Header {
            endian: fields.endian,
            version: 2,
            is_pair,
            dim,
            datatype: fields.i16(12)?,
            pixdim: fields.f64s(104)?,
            vox_offset: fields.i64(168)? as f64,
            slope,
            intercept,
            units: fields.i32(500)?,
            intent: fields.i32(504)?,
            qform: fields.i32(344)?,
            sform: fields.i32(348)?,
            quaternion: fields.f64s(352)?,
            shift: fields.f64s(376)?,
            rows: [fields.f64s(400)?, fields.f64s(432)?, fields.f64s(464)?],
        })
    }

    /// Byte of the sizes.
    pub(super) fn dim_place(&self) -> usize {
        if self.version == 2 { 16 } else { 40 }
    }

    /// Number of voxels along each axis.
    pub(super) fn image_size(&self) -> Result<[usize; 3], ReadError> {
        let place = Place::Byte(self.dim_place());
        let axes = self.dim[0];
        if !(1..=7).contains(&axes) {
            return Err(ReadError::Syntax { place, reason: format!("{axes} axes; an image has 1 to 7") });
        }
        let along = |axis: usize| if (axis as i64) <= axes { self.dim[axis] } else { 1 };
        if let Some(axis) = (1..=7).find(|&axis| along(axis) < 1) {
            return Err(ReadError::Syntax { place, reason: format!("axis {axis} has {} voxels", along(axis)) });
        }
        if let Some(axis) = (4..=7).find(|&axis| along(axis) > 1) {
            let what = format!("an image of {axis} dimensions with {} volumes", along(axis));
            let hint = "keep one volume, as in nibabel: `img.slicer[..., 0]`";
            return Err(ReadError::Unsupported { place, what, hint });
        }
        Ok([1, 2, 3].map(|axis| usize::try_from(along(axis)).unwrap_or(usize::MAX)))
    }

    /// Type of the numbers.
    pub(super) fn kind(&self) -> Result<NumberKind, ReadError> {
        let place = Place::Byte(if self.version == 2 { 12 } else { 70 });
        let refuse = |what: &str, hint| Err(ReadError::Unsupported { place, what: what.into(), hint });
        match self.datatype {
            2 => Ok(NumberKind::U8),
            4 => Ok(NumberKind::I16),
            8 => Ok(NumberKind::I32),
            16 => Ok(NumberKind::F32),
            64 => Ok(NumberKind::F64),
            256 => Ok(NumberKind::I8),
            512 => Ok(NumberKind::U16),
            768 => Ok(NumberKind::U32),
            1024 => Ok(NumberKind::I64),
            1280 => Ok(NumberKind::U64),
            128 | 2304 => refuse("a color image", "an image with one number in each voxel, labels or gray values"),
            32 | 1792 | 2048 => refuse("an image of complex numbers", "its magnitude, as an image of floats"),
            1 => refuse("an image of single bits", "nibabel and most other programs write it as 8-bit integers"),
            1536 => refuse("an image of 128-bit floats", "floats of 32 or 64 bits"),
            other => Err(ReadError::Syntax { place, reason: format!("type {other} of voxels is not known") }),
        }
    }

    /// Byte at which the voxels begin.
    pub(super) fn data_start(&self) -> usize {
        let least = match (self.is_pair, self.version) {
            (true, _) => 0.0,
            (false, 2) => 540.0,
            (false, _) => 348.0,
        };
        // A float that is no number becomes the least.
        self.vox_offset.max(least) as usize
    }

    /// Slope and intercept; 1 and 0 where the file has none.
    pub(super) fn scaling(&self) -> (f64, f64) {
        if self.slope == 0.0 || !self.slope.is_finite() || !self.intercept.is_finite() {
            return (1.0, 0.0);
        }
        (self.slope, self.intercept)
    }

    /// Whether its intent is labels (1002).
    pub(super) fn says_labels(&self) -> bool {
        self.intent == 1002
    }

    /// Meters of its unit of length, if it names one.
    pub(super) fn unit(&self) -> Option<f64> {
        match self.units & 7 {
            1 => Some(1.0),
            2 => Some(layout::MILLIMETER),
            3 => Some(1e-6),
            _ => None,
        }
    }

    /// What stands between the header and the voxels.
    pub(super) fn extensions<'a>(&self, front: &'a [u8]) -> &'a [u8] {
        let start = if self.version == 2 { 540 } else { 348 };
        match front.get(start..) {
            Some([flag, _, _, _, rest @ ..]) if *flag != 0 => &rest[..rest.len().min(super::LONGEST_EXTENSION)],
            _ => &[],
        }
    }
}
