//! Numbers from buffers: strides, sparse values, quantized components.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use crate::base64;
use crate::binary::NumberKind;
use crate::error::{Place, ReadError};
use crate::format::Companions;
use crate::gltf::document::{Accessor, Document, Numbers, View};

/// Limit on the memory for all-zero accessors, which need no bytes in the file: this many bytes per byte of the file.
const ZEROS_PER_BYTE: usize = 16;

/// Limit on the memory for compressed views: this many bytes per byte of the file and its companions, or
/// [`UNPACKED_ALWAYS`] if that is more. Compressed characters take a fifth of their bytes or more.
const UNPACKED_PER_BYTE: usize = 32;
const UNPACKED_ALWAYS: usize = 1 << 20;

/// The buffers of a file, opened on first use: a missing picture or animation does not matter here.
pub(super) struct Buffers<'d, 't, 'a> {
    document: &'d Document<'t, 'a>,
    companions: &'d dyn Companions,
    opened: Vec<OnceCell<Cow<'a, [u8]>>>,
    /// The first buffer with each URI, so that a file named a thousand times is held only once.
    first_of: BTreeMap<&'d str, usize>,
    /// Bytes of buffers outside the file itself.
    opened_bytes: Cell<usize>,
    /// Bytes of compressed views, unpacked on first use, and their sum.
    unpacked: Vec<OnceCell<Vec<u8>>>,
    unpacked_bytes: Cell<usize>,
}

impl<'d, 't, 'a> Buffers<'d, 't, 'a> {
    pub(super) fn new(document: &'d Document<'t, 'a>, companions: &'d dyn Companions) -> Self {
        let mut first_of = BTreeMap::new();
        for (i, buffer) in document.buffers.iter().enumerate() {
            if let Some(uri) = buffer.uri.as_deref() {
                first_of.entry(uri).or_insert(i);
            }
        }
        let opened = document.buffers.iter().map(|_| OnceCell::new()).collect();
        let unpacked = document.views.iter().map(|_| OnceCell::new()).collect();
        let (opened_bytes, unpacked_bytes) = (Cell::new(0), Cell::new(0));
        Buffers { document, companions, opened, first_of, opened_bytes, unpacked, unpacked_bytes }
    }

    /// Bytes of the file and of the buffers opened so far.
    pub(super) fn known_bytes(&self) -> usize {
        self.document.container.file_bytes.saturating_add(self.opened_bytes.get())
    }

    /// All bytes of a buffer.
    fn bytes(&self, index: usize) -> Result<&[u8], ReadError> {
        let buffer = &self.document.buffers[index];
        let first = buffer.uri.as_deref().and_then(|uri| self.first_of.get(uri)).map_or(index, |first| *first);
        let cell = &self.opened[first];
        let bytes = match cell.get() {
            Some(bytes) => bytes,
            None => {
                let bytes = self.open(first)?;
                if let Cow::Owned(bytes) = &bytes {
                    self.opened_bytes.set(self.opened_bytes.get().saturating_add(bytes.len()));
                }
                cell.get_or_init(|| bytes)
            }
        };
        match bytes.get(..buffer.byte_length) {
            Some(bytes) => Ok(bytes),
            None => Err(ReadError::Count {
                place: self.document.container.place(buffer.offset),
                what: format!("buffers[{index}].byteLength"),
                promised: buffer.byte_length as u64,
                found: bytes.len() as u64,
            }),
        }
    }

    fn open(&self, index: usize) -> Result<Cow<'a, [u8]>, ReadError> {
        let buffer = &self.document.buffers[index];
        let place = self.document.container.place(buffer.offset);
        let wrong = |reason: String| ReadError::Syntax { place, reason: format!("buffers[{index}].uri {reason}") };
        match (buffer.uri.as_deref(), self.document.container.bin) {
            (Some(uri), _) if uri.starts_with("data:") => decode_data_uri(uri).map(Cow::Owned).map_err(wrong),
            (Some(uri), _) => self.companions.open(&percent_decoded(uri), place).map(Cow::Owned),
            (None, Some((bin, _))) if index == 0 => Ok(Cow::Borrowed(bin)),
            (None, _) => Err(wrong("is missing, and the file carries no binary chunk for it".into())),
        }
    }

    /// All bytes of a buffer view.
    pub(super) fn view_bytes(&self, index: usize) -> Result<&[u8], ReadError> {
        let view: &View = &self.document.views[index];
        let Some(packed) = &view.packed else {
            return self.range(index, view.buffer, view.byte_offset, view.byte_length);
        };
        let cell = &self.unpacked[index];
        if let Some(bytes) = cell.get() {
            return Ok(bytes);
        }
        let bytes = self.range(index, packed.buffer, packed.byte_offset, packed.byte_length)?;
        let place = self.document.container.place(view.offset);
        let total = self.unpacked_bytes.get().saturating_add(packed.layout.byte_length());
        let limit = self.known_bytes().saturating_mul(UNPACKED_PER_BYTE).max(UNPACKED_ALWAYS);
        if total > limit {
            let what = format!("compressed geometry of more than {limit} bytes");
            let hint = "unpack it with `npx @gltf-transform/cli copy in.glb out.glb`";
            return Err(ReadError::Unsupported { place, what, hint });
        }
        let unpacked = packed.layout.unpack(bytes).map_err(|reason| ReadError::Syntax {
            place,
            reason: format!("the compressed data of bufferViews[{index}] {reason}"),
        })?;
        self.unpacked_bytes.set(total);
        Ok(cell.get_or_init(|| unpacked))
    }

    /// Bytes of a buffer, for a view.
    fn range(&self, view: usize, buffer: usize, byte_offset: usize, byte_length: usize) -> Result<&[u8], ReadError> {
        let buffer = self.bytes(buffer)?;
        let bytes = buffer.get(byte_offset..).and_then(|rest| rest.get(..byte_length));
        bytes.ok_or_else(|| ReadError::Count {
            place: self.document.container.place(self.document.views[view].offset),
            what: format!("bytes of bufferViews[{view}]"),
            promised: (byte_offset as u64).saturating_add(byte_length as u64),
            found: buffer.len() as u64,
        })
    }

    /// Opens a companion file. Its bytes count like those of buffers.
    pub(super) fn open_companion(&self, uri: &str, place: Place) -> Result<Vec<u8>, ReadError> {
        let bytes = self.companions.open(&percent_decoded(uri), place)?;
        self.opened_bytes.set(self.opened_bytes.get().saturating_add(bytes.len()));
        Ok(bytes)
    }

    /// The bytes from the first to the last element, and the stride.
    fn elements(
        &self,
        numbers: Numbers,
        count: usize,
        size: usize,
        path: &dyn Fn() -> String,
        offset: usize,
    ) -> Result<(&[u8], usize), ReadError> {
        let Some(index) = numbers.view else { return Ok((&[], size)) };
        let view: &View = &self.document.views[index];
        let container = self.document.container;
        let stride = view.stride.unwrap_or(size);
        if stride < size {
            let reason =
                format!("bufferViews[{index}].byteStride is {stride}, less than the {size} bytes of an element");
            return Err(ReadError::Syntax { place: container.place(view.offset), reason });
        }
        let bytes = self.view_bytes(index)?;
        let used = count.checked_sub(1).and_then(|n| n.checked_mul(stride)).and_then(|n| n.checked_add(size));
        match (bytes.get(numbers.byte_offset..), used) {
            (Some(rest), Some(used)) if used <= rest.len() => Ok((&rest[..used], stride)),
            (rest, _) => {
                let room = rest.map_or(0, <[u8]>::len);
                let found = if room < size { 0 } else { (room - size) / stride.max(1) + 1 };
                let (place, what) = (container.place(offset), format!("{}: elements", path()));
                Err(ReadError::Count { place, what, promised: count as u64, found: found as u64 })
            }
        }
    }

    /// All numbers of an accessor, flat.
    pub(super) fn floats(&self, index: usize) -> Result<Vec<f64>, ReadError> {
        let accessor = &self.document.accessors[index];
        self.values(index, |kind, bytes, stride| match (kind, accessor.normalized) {
            // The scale factors of the specification; the lowest two signed integers both mean −1.
            (NumberKind::I8, true) => {
                spread(bytes, stride, accessor, |b| (f64::from(i8::from_le_bytes(b)) / 127.0).max(-1.0))
            }
            (NumberKind::U8, true) => spread(bytes, stride, accessor, |b: [u8; 1]| f64::from(b[0]) / 255.0),
            (NumberKind::I16, true) => {
                spread(bytes, stride, accessor, |b| (f64::from(i16::from_le_bytes(b)) / 32767.0).max(-1.0))
            }
            (NumberKind::U16, true) => spread(bytes, stride, accessor, |b| f64::from(u16::from_le_bytes(b)) / 65535.0),
            (NumberKind::I8, false) => spread(bytes, stride, accessor, |b| f64::from(i8::from_le_bytes(b))),
            (NumberKind::U8, false) => spread(bytes, stride, accessor, |b: [u8; 1]| f64::from(b[0])),
            (NumberKind::I16, false) => spread(bytes, stride, accessor, |b| f64::from(i16::from_le_bytes(b))),
            (NumberKind::U16, false) => spread(bytes, stride, accessor, |b| f64::from(u16::from_le_bytes(b))),
            (NumberKind::U32, _) => spread(bytes, stride, accessor, |b| f64::from(u32::from_le_bytes(b))),
            _ => spread(bytes, stride, accessor, |b| f64::from(f32::from_le_bytes(b))),
        })
    }

    /// The indices of a primitive.
    pub(super) fn indices(&self, index: usize) -> Result<Vec<u32>, ReadError> {
        let accessor = &self.document.accessors[index];
        let kind = accessor.numbers.kind;
        if accessor.width != 1 || !matches!(kind, NumberKind::U8 | NumberKind::U16 | NumberKind::U32) {
            return Err(self.wrong(index, "holds indices, which must be unsigned whole numbers, one each"));
        }
        self.whole_numbers(index)
    }

    /// The joint indices of vertices in a skin's list, four per vertex.
    pub(super) fn joints(&self, index: usize) -> Result<Vec<u32>, ReadError> {
        let accessor = &self.document.accessors[index];
        if accessor.width != 4 || !matches!(accessor.numbers.kind, NumberKind::U8 | NumberKind::U16) {
            return Err(self.wrong(index, "holds joints, which must be unsigned bytes or shorts, four each"));
        }
        self.whole_numbers(index)
    }

    /// All numbers of an accessor of unsigned whole numbers, flat.
    fn whole_numbers(&self, index: usize) -> Result<Vec<u32>, ReadError> {
        let accessor = &self.document.accessors[index];
        self.values(index, |kind, bytes, stride| match kind {
            NumberKind::U8 => spread(bytes, stride, accessor, |b: [u8; 1]| u32::from(b[0])),
            NumberKind::U16 => spread(bytes, stride, accessor, |b| u32::from(u16::from_le_bytes(b))),
            _ => spread(bytes, stride, accessor, u32::from_le_bytes),
        })
    }

    /// Rejects an accessor that promises more than its bytes hold.
    pub(super) fn check(&self, index: usize) -> Result<(), ReadError> {
        self.found(index).map(|_| ())
    }

    /// The bytes of an accessor from its first to its last element, and the stride; none for all-zero accessors.
    fn found(&self, index: usize) -> Result<(&[u8], usize), ReadError> {
        let accessor = &self.document.accessors[index];
        let size = accessor.width * accessor.numbers.kind.size();
        let found = self.known_bytes().saturating_mul(ZEROS_PER_BYTE) / size.max(1);
        if accessor.numbers.view.is_none() && accessor.count > found {
            let place = self.document.container.place(accessor.offset);
            let what = format!("accessors[{index}], which has no buffer view: elements");
            return Err(ReadError::Count { place, what, promised: accessor.count as u64, found: found as u64 });
        }
        self.elements(accessor.numbers, accessor.count, size, &|| format!("accessors[{index}]"), accessor.offset)
    }

    /// The values of an accessor, decoded by `decode`, with its sparse values.
    fn values<T: Copy + Default>(
        &self,
        index: usize,
        decode: impl Fn(NumberKind, &[u8], usize) -> Vec<T>,
    ) -> Result<Vec<T>, ReadError> {
        let accessor = &self.document.accessors[index];
        let width = accessor.width;
        let size = width * accessor.numbers.kind.size();
        let mut values = match accessor.numbers.view {
            Some(_) => {
                let (bytes, stride) = self.found(index)?;
                decode(accessor.numbers.kind, bytes, stride)
            }
            None => vec![T::default(); accessor.count * width],
        };
        if let Some(sparse) = &accessor.sparse {
            if sparse.count > accessor.count {
                return Err(self.wrong(index, "corrects more elements than it has"));
            }
            let index_size = sparse.indices.kind.size();
            let index_path = || format!("accessors[{index}].sparse.indices");
            let (bytes, stride) =
                self.elements(sparse.indices, sparse.count, index_size, &index_path, accessor.offset)?;
            let targets: Vec<u32> = match sparse.indices.kind {
                NumberKind::U8 => bytes.chunks(stride).map(|b| u32::from(b[0])).collect(),
                NumberKind::U16 => strided(bytes, stride, 1, |b| u32::from(u16::from_le_bytes(b))),
                NumberKind::U32 => strided(bytes, stride, 1, u32::from_le_bytes),
                _ => return Err(self.wrong(index, "has sparse indices that are not unsigned whole numbers")),
            };
            let value_path = || format!("accessors[{index}].sparse.values");
            let (bytes, stride) = self.elements(sparse.values, sparse.count, size, &value_path, accessor.offset)?;
            let corrections = decode(sparse.values.kind, bytes, stride);
            if !targets.is_sorted_by(|a, b| a < b) {
                return Err(self.wrong(index, "has sparse indices that do not ascend"));
            }
            for (&target, correction) in targets.iter().zip(corrections.chunks_exact(width.max(1))) {
                match values.get_mut(target as usize * width..).and_then(|rest| rest.get_mut(..width)) {
                    Some(element) => element.copy_from_slice(correction),
                    None => return Err(self.wrong(index, &format!("corrects element {target}, which does not exist"))),
                }
            }
        }
        Ok(values)
    }

    /// An accessor is wrong.
    pub(super) fn wrong(&self, index: usize, reason: &str) -> ReadError {
        let place = self.document.container.place(self.document.accessors[index].offset);
        ReadError::Syntax { place, reason: format!("accessors[{index}] {reason}") }
    }

    /// Position of an element of an accessor: its byte in a GLB, or the accessor if the bytes are encoded or in another
    /// file.
    pub(super) fn place(&self, index: usize, element: usize) -> Place {
        let Document { container, accessors, views, buffers, .. } = self.document;
        let accessor = &accessors[index];
        let view = accessor.numbers.view.map(|view| &views[view]);
        match (view, container.bin) {
            (Some(view), Some((_, bin_at)))
                if view.buffer == 0
                    && view.packed.is_none()
                    && buffers[0].uri.is_none()
                    && accessor.sparse.is_none() =>
            {
                let stride = view.stride.unwrap_or(accessor.width * accessor.numbers.kind.size());
                Place::Byte(bin_at + view.byte_offset + accessor.numbers.byte_offset + element * stride)
            }
            _ => container.place(accessor.offset),
        }
    }
}

/// The numbers of the elements of an accessor.
fn spread<T, const N: usize>(
    bytes: &[u8],
    stride: usize,
    accessor: &Accessor,
    convert: impl Fn([u8; N]) -> T,
) -> Vec<T> {
    strided(bytes, stride, accessor.width, convert)
}

fn strided<T, const N: usize>(bytes: &[u8], stride: usize, width: usize, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    if stride == width * N {
        return bytes.as_chunks::<N>().0.iter().map(|number| convert(*number)).collect();
    }
    let mut values = Vec::with_capacity(bytes.len().div_ceil(stride.max(1)) * width);
    for element in bytes.chunks(stride.max(1)) {
        values.extend(element.as_chunks::<N>().0.iter().take(width).map(|number| convert(*number)));
    }
    values
}

/// The bytes of a `data:` URI; errors describe the problem.
pub(super) fn decode_data_uri(uri: &str) -> Result<Vec<u8>, String> {
    let (kind, text) = uri.split_once(',').ok_or("is data without a comma")?;
    if !kind.ends_with(";base64") {
        return Err("is data in another encoding than base64".into());
    }
    let at_character = |at: usize| kind.len() + 1 + at;
    let (bytes, used) = base64::decode(text.as_bytes())
        .map_err(|(at, reason)| format!("is wrong at character {}: {reason}", at_character(at)))?;
    if used < text.len() {
        return Err(format!("goes on after its end at character {}", at_character(used)));
    }
    Ok(bytes)
}

/// Decodes a URI to a file name: `my%20mesh.bin` is `my mesh.bin`.
fn percent_decoded(uri: &str) -> Cow<'_, str> {
    if !uri.contains('%') {
        return Cow::Borrowed(uri);
    }
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
