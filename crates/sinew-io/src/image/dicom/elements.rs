//! The elements of a file: tags with values, sequences of items, fragments of packed pixels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::inflate::{self, Packed};
use super::syntax::{PLAIN, Syntax};
use crate::binary::{Cursor, Endian, NumberKind};
use crate::error::{Place, ReadError};
use crate::text::parse_f64;

/// Tags that we look at: group and element.
pub(super) mod tag {
    pub const SYNTAX: u32 = 0x0002_0010;
    pub const CLASS: u32 = 0x0008_0016;
    pub const SERIES_TITLE: u32 = 0x0008_103e;
    pub const THICKNESS: u32 = 0x0018_0050;
    pub const DETECTOR_SPACING: u32 = 0x0018_1164;
    pub const SCANNED_SPACING: u32 = 0x0018_2010;
    pub const BETWEEN_SLICES: u32 = 0x0018_0088;
    pub const SERIES: u32 = 0x0020_000e;
    pub const POSITION: u32 = 0x0020_0032;
    pub const ORIENTATION: u32 = 0x0020_0037;
    pub const PLANE_POSITION: u32 = 0x0020_9113;
    pub const PLANE_ORIENTATION: u32 = 0x0020_9116;
    pub const SAMPLES: u32 = 0x0028_0002;
    pub const PHOTOMETRIC: u32 = 0x0028_0004;
    pub const FRAMES: u32 = 0x0028_0008;
    pub const ROWS: u32 = 0x0028_0010;
    pub const COLUMNS: u32 = 0x0028_0011;
    pub const SPACING: u32 = 0x0028_0030;
    pub const BITS_ALLOCATED: u32 = 0x0028_0100;
    pub const BITS_STORED: u32 = 0x0028_0101;
    pub const HIGH_BIT: u32 = 0x0028_0102;
    pub const IS_SIGNED: u32 = 0x0028_0103;
    pub const INTERCEPT: u32 = 0x0028_1052;
    pub const SLOPE: u32 = 0x0028_1053;
    pub const MEASURES: u32 = 0x0028_9110;
    pub const TRANSFORMATION: u32 = 0x0028_9145;
    pub const SEGMENTATION_TYPE: u32 = 0x0062_0001;
    pub const SEGMENTS: u32 = 0x0062_0002;
    pub const SEGMENT_NUMBER: u32 = 0x0062_0004;
    pub const SEGMENT_LABEL: u32 = 0x0062_0005;
    pub const SEGMENT_OF_FRAME: u32 = 0x0062_000a;
    pub const REFERENCED_SEGMENT: u32 = 0x0062_000b;
    pub const SEGMENT_COLOR: u32 = 0x0062_000d;
    pub const LARGEST_FRACTION: u32 = 0x0062_000e;
    pub const SHARED: u32 = 0x5200_9229;
    pub const PER_FRAME: u32 = 0x5200_9230;
    pub const PIXELS: u32 = 0x7fe0_0010;
}

/// Sequences whose items we look at; others of known length are passed over.
const SEQUENCES: [u32; 8] = [
    tag::PLANE_POSITION,
    tag::PLANE_ORIENTATION,
    tag::MEASURES,
    tag::TRANSFORMATION,
    tag::SEGMENTS,
    tag::SEGMENT_OF_FRAME,
    tag::SHARED,
    tag::PER_FRAME,
];

const ITEM: u32 = 0xfffe_e000;
const ITEM_END: u32 = 0xfffe_e00d;
const SEQUENCE_END: u32 = 0xfffe_e0dd;

/// A length that is not known in advance.
const UNDEFINED: u32 = u32::MAX;

/// Deeper nesting is an attack.
const DEEPEST: usize = 16;

/// Enough of a deflated file to learn how large its image is.
const FRONT: usize = 4 << 20;

/// What a deflated file may hold besides its pixels.
const BESIDES: usize = 64 << 20;

/// A value of a tag, pointing into the bytes of the file (or into what was unpacked of it).
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// First byte and length.
    Bytes(usize, usize),
    Items(Vec<Elements>),
    /// First byte and length of each, without the table of offsets.
    Fragments(Vec<(usize, usize)>),
}

/// An element: its value, and whether its bytes are words that the byte order turns around.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub value: Value,
    pub is_words: bool,
}

/// The elements of a file or an item by tag.
pub(super) type Elements = BTreeMap<u32, Element>;

/// Elements with the bytes they point into.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub elements: &'a Elements,
    pub bytes: &'a [u8],
    pub endian: Endian,
}

/// The elements of a file.
pub(super) struct DataSet<'a> {
    elements: Elements,
    pub bytes: Cow<'a, [u8]>,
    pub endian: Endian,
}

/// A file.
pub(super) struct DicomFile<'a> {
    pub syntax: Syntax,
    pub data: DataSet<'a>,
}

impl<'a> DicomFile<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<DicomFile<'a>, ReadError> {
        let start = if super::is_dicom(bytes) { 132 } else { 0 };
        let (syntax, start) = Self::meta(bytes, start)?;
        let bytes = if syntax.is_deflated { Cow::Owned(inflated(bytes, start)?) } else { Cow::Borrowed(bytes) };
        let start = if syntax.is_deflated { 0 } else { start };
        let mut parser =
            Parser { cursor: Cursor::new(&bytes, start, syntax.endian), is_explicit: syntax.is_explicit, depth: 0 };
        let elements = parser.elements(bytes.len(), false)?;
        Ok(DicomFile { syntax, data: DataSet { elements, bytes, endian: syntax.endian } })
    }

    /// The syntax, from the group of elements in front, and the byte behind them. Files without that group are implicit
    /// or explicit by the look of their first element.
    fn meta(bytes: &[u8], start: usize) -> Result<(Syntax, usize), ReadError> {
        let group = bytes.get(start..start + 2);
        if group != Some(&[2, 0]) {
            if start == 0 && group != Some(&[8, 0]) {
                let reason = "DICM does not stand at byte 128".into();
                return Err(ReadError::Magic { format: "DICOM", reason });
            }
            let is_explicit = bytes.get(start + 4..start + 6).is_some_and(|vr| vr.iter().all(u8::is_ascii_uppercase));
            return Ok((Syntax { is_explicit, ..PLAIN }, start));
        }
        let mut parser = Parser { cursor: Cursor::new(bytes, start, Endian::Little), is_explicit: true, depth: 0 };
        let elements = parser.elements(bytes.len(), true)?;
        let view = View { elements: &elements, bytes, endian: Endian::Little };
        let place = match elements.get(&tag::SYNTAX) {
            Some(Element { value: Value::Bytes(at, _), .. }) => *at,
            _ => return Err(ReadError::Missing { what: "transfer syntax (0002,0010)" }),
        };
        Ok((Syntax::of(&view.text(tag::SYNTAX), Place::Byte(place))?, parser.cursor.position()))
    }
}

/// Unpacks a deflated file: as much as the size of its image promises.
fn inflated(bytes: &[u8], start: usize) -> Result<Vec<u8>, ReadError> {
    let packed = &bytes[start.min(bytes.len())..];
    let front = inflate::front(packed, Packed::Deflate, FRONT);
    let mut parser = Parser { cursor: Cursor::new(&front, 0, Endian::Little), is_explicit: true, depth: 0 };
    let elements = parser.some_elements();
    let view = View { elements: &elements, bytes: &front, endian: Endian::Little };
    let number = |tag: u32| view.number(tag).unwrap_or(1.0).clamp(1.0, 1e9) as u64;
    let pixels = [tag::ROWS, tag::COLUMNS, tag::FRAMES, tag::BITS_ALLOCATED].map(number);
    let bits = pixels.into_iter().fold(1u64, u64::saturating_mul);
    let most = usize::try_from(bits / 8 + 1).unwrap_or(usize::MAX).saturating_add(BESIDES);
    crate::memory::require(most as u64).map_err(|short| ReadError::Memory {
        place: Place::Byte(start),
        what: "the deflated image".into(),
        short,
    })?;
    Ok(inflate::inflate(packed, Packed::Deflate, most, Place::Byte(start))?.bytes)
}

/// Reads elements one after the other.
struct Parser<'a> {
    cursor: Cursor<'a>,
    is_explicit: bool,
    depth: usize,
}

/// Tag, type and length.
struct Head {
    tag: u32,
    vr: [u8; 2],
    length: u32,
    at: usize,
}

impl Parser<'_> {
    /// Elements up to byte `end`, or up to the end of an item; only those of group 2 if `only_meta`.
    fn elements(&mut self, end: usize, only_meta: bool) -> Result<Elements, ReadError> {
        let mut elements = Elements::new();
        while self.cursor.position() < end {
            // Behind the group in front, elements may be written otherwise.
            if only_meta && self.cursor.remaining().get(..2) != Some(&[2, 0]) {
                break;
            }
            // Some programs fill the end of a file with zeros.
            if self.cursor.remaining().iter().take(8).all(|byte| *byte == 0) {
                break;
            }
            let head = self.head()?;
            if head.tag == ITEM_END {
                break;
            }
            let element = self.element(&head, end)?;
            elements.insert(head.tag, element);
        }
        Ok(elements)
    }

    /// Elements up to the first that is not whole.
    fn some_elements(&mut self) -> Elements {
        let mut elements = Elements::new();
        while let Ok(head) = self.head() {
            let Ok(element) = self.element(&head, usize::MAX) else { break };
            elements.insert(head.tag, element);
        }
        elements
    }

    fn u16(&mut self) -> Result<u16, ReadError> {
        let bytes = self.cursor.take(2, "an element")?;
        Ok(NumberKind::U16.decode_i64(bytes, self.cursor.endian)[0] as u16)
    }

    fn head(&mut self) -> Result<Head, ReadError> {
        let at = self.cursor.position();
        let tag = u32::from(self.u16()?) << 16 | u32::from(self.u16()?);
        if matches!(tag, ITEM | ITEM_END | SEQUENCE_END) || !self.is_explicit {
            return Ok(Head { tag, vr: *b"  ", length: self.cursor.u32("an element")?, at });
        }
        let vr = self.cursor.take(2, "an element")?;
        let vr = [vr[0], vr[1]];
        let is_long = matches!(
            &vr,
            b"OB" | b"OW" | b"OF" | b"OD" | b"OL" | b"OV" | b"SQ" | b"UT" | b"UN" | b"UC" | b"UR" | b"SV" | b"UV"
        );
        if !vr.iter().all(u8::is_ascii_uppercase) {
            return Err(ReadError::byte(at, format!("element ({:04x},{:04x}) has no type", tag >> 16, tag & 0xffff)));
        }
        let length = if is_long {
            self.cursor.take(2, "an element")?;
            self.cursor.u32("an element")?
        } else {
            self.u16()?.into()
        };
        Ok(Head { tag, vr, length, at })
    }

    fn element(&mut self, head: &Head, end: usize) -> Result<Element, ReadError> {
        let is_words = matches!(&head.vr, b"OW" | b"  ");
        let is_sequence = &head.vr == b"SQ" || (SEQUENCES.contains(&head.tag) && matches!(&head.vr, b"  " | b"UN"));
        let value = match head.length {
            UNDEFINED if head.tag == tag::PIXELS => Value::Fragments(self.fragments()?),
            UNDEFINED => {
                // Of unknown type: items inside are implicit.
                let was = self.is_explicit;
                self.is_explicit &= &head.vr != b"UN";
                let items = self.items(head, end);
                self.is_explicit = was;
                Value::Items(items?)
            }
            length if is_sequence && SEQUENCES.contains(&head.tag) => {
                let end = self.cursor.position().saturating_add(length as usize).min(end);
                Value::Items(self.items(head, end)?)
            }
            length => {
                let at = self.cursor.position();
                let name = format!("element ({:04x},{:04x})", head.tag >> 16, head.tag & 0xffff);
                self.cursor.take(length as usize, &name)?;
                Value::Bytes(at, length as usize)
            }
        };
        Ok(Element { value, is_words })
    }

    fn items(&mut self, sequence: &Head, end: usize) -> Result<Vec<Elements>, ReadError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ReadError::byte(sequence.at, format!("more than {DEEPEST} sequences inside each other")));
        }
        let mut items = Vec::new();
        while self.cursor.position() < end {
            let head = self.head()?;
            match head.tag {
                SEQUENCE_END => break,
                ITEM => {
                    let inner = match head.length {
                        UNDEFINED => end,
                        length => self.cursor.position().saturating_add(length as usize).min(end),
                    };
                    items.push(self.elements(inner, false)?);
                }
                _ => return Err(ReadError::byte(head.at, "an item of a sequence is expected here")),
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn fragments(&mut self) -> Result<Vec<(usize, usize)>, ReadError> {
        let mut fragments = Vec::new();
        let mut is_first = true;
        loop {
            let head = self.head()?;
            match head.tag {
                SEQUENCE_END => return Ok(fragments),
                ITEM => {
                    let at = self.cursor.position();
                    self.cursor.take(head.length as usize, "a fragment of the pixels")?;
                    if !std::mem::take(&mut is_first) {
                        fragments.push((at, head.length as usize));
                    }
                }
                _ => return Err(ReadError::byte(head.at, "a fragment of the pixels is expected here")),
            }
        }
    }
}

impl DataSet<'_> {
    pub(super) fn view(&self) -> View<'_> {
        View { elements: &self.elements, bytes: &self.bytes, endian: self.endian }
    }

    pub(super) fn find(&self, tag: u32) -> Option<&Element> {
        self.elements.get(&tag)
    }

    pub(super) fn text(&self, tag: u32) -> String {
        self.view().text(tag)
    }

    pub(super) fn number(&self, tag: u32) -> Option<f64> {
        self.view().number(tag)
    }
}

impl<'a> View<'a> {
    fn bytes_of(&self, tag: u32) -> Option<&'a [u8]> {
        match self.elements.get(&tag)?.value {
            Value::Bytes(at, length) => self.bytes.get(at..at.checked_add(length)?),
            _ => None,
        }
    }

    /// A text without the blanks and zeros at its end; empty where there is none.
    pub(super) fn text(&self, tag: u32) -> String {
        let bytes = self.bytes_of(tag).unwrap_or_default();
        // Without a look at character sets: what is not UTF-8 is Latin 1 in nearly all files.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_string(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        };
        text.trim_matches(['\0', ' ']).to_string()
    }

    /// Numbers written as text between backslashes.
    pub(super) fn decimals<const N: usize>(&self, tag: u32) -> Option<[f64; N]> {
        let text = self.text(tag);
        let numbers: Vec<f64> =
            text.split('\\').map(|part| parse_f64(part.trim().as_bytes())).collect::<Option<_>>()?;
        (numbers.len() >= N && numbers.iter().all(|number| number.is_finite()))
            .then(|| std::array::from_fn(|i| numbers[i]))
    }

    /// Unsigned 16-bit numbers.
    pub(super) fn shorts(&self, tag: u32) -> Option<Vec<u16>> {
        let bytes = self.bytes_of(tag)?;
        Some(NumberKind::U16.decode_i64(bytes, self.endian).into_iter().map(|number| number as u16).collect())
    }

    /// A number, as text or as a short.
    pub(super) fn number(&self, tag: u32) -> Option<f64> {
        let is_text = matches!(tag, tag::FRAMES) || !matches!(tag >> 16, 0x0028 | 0x0062);
        let is_decimal = is_text || matches!(tag, tag::SLOPE | tag::INTERCEPT);
        if is_decimal {
            self.decimals::<1>(tag).map(|[number]| number)
        } else {
            self.shorts(tag)?.first().map(|n| f64::from(*n))
        }
    }

    /// Items of a sequence.
    pub(super) fn items(&self, tag: u32) -> impl Iterator<Item = View<'a>> + use<'a> {
        let items = match self.elements.get(&tag).map(|element| &element.value) {
            Some(Value::Items(items)) => &items[..],
            _ => &[],
        };
        let (bytes, endian) = (self.bytes, self.endian);
        items.iter().map(move |elements| View { elements, bytes, endian })
    }

    /// The first item of a sequence.
    pub(super) fn item(&self, tag: u32) -> Option<View<'a>> {
        self.items(tag).next()
    }
}
