//! Buffer views compressed by meshopt: `EXT_meshopt_compression` and `KHR_meshopt_compression` \[Meshopt\].
//!
//! A compressed view holds `count` elements of `stride` bytes, packed in one of three modes, and is passed through a
//! filter after unpacking. Elements of attributes are differences from those before them, byte by byte; triangles refer
//! to edges and vertices used recently. The size of the packed bytes bounds that of the unpacked ones.

mod attributes;
mod filters;
mod indices;
mod stream;

#[cfg(test)]
mod tests;

/// The extensions that compress buffer views in this way.
pub(super) const EXTENSIONS: [&str; 2] = ["KHR_meshopt_compression", "EXT_meshopt_compression"];

/// What is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Elements of any kind, as differences of their bytes.
    Attributes,
    /// Corners of triangles.
    Triangles,
    /// Indices in any order.
    Indices,
}

/// What unpacked elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// The elements themselves.
    None,
    /// Unit vectors on an octahedron.
    Octahedral,
    /// Unit quaternions without their largest component.
    Quaternion,
    /// Numbers as mantissa and exponent.
    Exponential,
    /// Colors as luma and two differences.
    Color,
}

/// Layout of the unpacked elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub mode: Mode,
    pub filter: Filter,
    pub count: usize,
    /// Bytes of an element.
    pub stride: usize,
}

impl Mode {
    pub(super) fn from_name(name: &str) -> Option<Mode> {
        match name {
            "ATTRIBUTES" => Some(Mode::Attributes),
            "TRIANGLES" => Some(Mode::Triangles),
            "INDICES" => Some(Mode::Indices),
            _ => None,
        }
    }
}

impl Filter {
    pub(super) fn from_name(name: &str) -> Option<Filter> {
        match name {
            "NONE" => Some(Filter::None),
            "OCTAHEDRAL" => Some(Filter::Octahedral),
            "QUATERNION" => Some(Filter::Quaternion),
            "EXPONENTIAL" => Some(Filter::Exponential),
            "COLOR" => Some(Filter::Color),
            _ => None,
        }
    }
}

impl Layout {
    /// Bytes of all elements.
    pub(super) fn byte_length(&self) -> usize {
        self.count.saturating_mul(self.stride)
    }

    /// Which rule of the extension the layout breaks.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let Layout { mode, filter, count, stride } = *self;
        match (mode, filter) {
            _ if count == 0 => Some("has a `count` of 0"),
            (Mode::Attributes, _) if stride % 4 != 0 || !(4..=256).contains(&stride) => {
                Some("has a `byteStride` that is not a multiple of 4 from 4 to 256")
            }
            (Mode::Attributes, Filter::Octahedral | Filter::Color) if stride != 4 && stride != 8 => {
                Some("has a filter for elements of 4 or 8 bytes, but another `byteStride`")
            }
            (Mode::Attributes, Filter::Quaternion) if stride != 8 => {
                Some("has a filter for elements of 8 bytes, but another `byteStride`")
            }
            (Mode::Attributes, _) => None,
            _ if stride != 2 && stride != 4 => Some("holds indices with a `byteStride` other than 2 and 4"),
            (_, Filter::Octahedral | Filter::Quaternion | Filter::Exponential | Filter::Color) => {
                Some("filters indices, which only attributes may be")
            }
            (Mode::Triangles, _) if count % 3 != 0 => Some("holds triangles, but its `count` is no multiple of 3"),
            _ => None,
        }
    }

    /// The elements packed in `bytes`; an error says what is wrong with them. The layout must have no
    /// [`Layout::fault`].
    pub(super) fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        let mut elements = match self.mode {
            Mode::Attributes => attributes::unpack(bytes, self.count, self.stride)?,
            Mode::Triangles => indices::unpack_triangles(bytes, self.count / 3, self.stride)?,
            Mode::Indices => indices::unpack_sequence(bytes, self.count, self.stride)?,
        };
        match (self.filter, self.stride) {
            (Filter::None, _) => {}
            (Filter::Octahedral, 4) => filters::each::<i8, 4>(&mut elements, filters::octahedral),
            (Filter::Octahedral, _) => filters::each::<i16, 8>(&mut elements, filters::octahedral),
            (Filter::Quaternion, _) => filters::each::<i16, 8>(&mut elements, filters::quaternion),
            (Filter::Exponential, _) => filters::exponential(&mut elements),
            (Filter::Color, 4) => filters::each::<i8, 4>(&mut elements, filters::color),
            (Filter::Color, _) => filters::each::<i16, 8>(&mut elements, filters::color),
        }
        Ok(elements)
    }
}
