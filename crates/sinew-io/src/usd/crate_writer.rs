//! The writer of crate files.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io::{Result, Seek, SeekFrom, Write};

use super::integers::{compressed, compressed_integers};
use super::layer::{Content, Layer, Prim, Property, Specifier};
use super::paths::Paths;
use super::value::Value;

/// 0.8.0, which every reader since 2018 knows; `docs/design/usd.md` tells why no other.
const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];

/// Bytes before the first value: mark, version, place of the table of contents, and room for later.
const HEADER: u64 = 88;

/// Arrays of fewer integers are not compressed.
const FEWEST_TO_COMPRESS: usize = 16;

/// Where a value is.
///
/// Bit 63 marks arrays, bit 62 values within the lower 48 bits, and bit 61 compressed arrays; bits 48 to 55 are the
/// type; and the lower 48 bits are the value, or its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueRep(u64);

const ARRAY: u64 = 1 << 63;
const INLINE: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;

/// Numbers of types.
#[derive(Clone, Copy)]
enum Kind {
    Bool = 1,
    Int = 3,
    Float = 8,
    Double = 9,
    String = 10,
    Token = 11,
    Asset = 12,
    Matrix4d = 15,
    Float2 = 20,
    Double2 = 19,
    Float3 = 24,
    Float4 = 28,
    Dictionary = 31,
    TokenListOp = 32,
    PathListOp = 34,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    TimeSamples = 46,
    DoubleVector = 48,
}

/// Numbers of kinds of specs.
#[derive(Clone, Copy)]
enum SpecKind {
    Attribute = 1,
    Prim = 6,
    Root = 7,
    Relationship = 8,
}

/// A list operation that replaces the list.
const EXPLICIT: u8 = 1 | 2;
/// A list operation that puts items in front.
const PREPENDED: u8 = 32;

impl ValueRep {
    fn inline(kind: Kind, payload: u32) -> Self {
        Self(INLINE | (kind as u64) << 48 | u64::from(payload))
    }

    fn at(kind: Kind, flags: u64, place: u64) -> Self {
        Self(flags | (kind as u64) << 48 | place)
    }
}

/// Words by number, each once.
#[derive(Debug, Default)]
struct Words {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Words {
    fn number(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(word.into());
        self.numbers.insert(word.into(), number);
        number
    }
}

/// Writes a crate file: values at once, tables at the end.
///
/// Equal values are written once: a body that rests costs one array, whatever the number of frames. They are known by
/// 128 bits of a hash of their bytes, so no array stays in memory.
pub struct CrateWriter<W> {
    out: W,
    /// Bytes written so far.
    length: u64,
    tokens: Words,
    /// Tokens that are strings, by their number as a string.
    strings: Vec<u32>,
    string_of: HashMap<u32, u32>,
    fields: Vec<(u32, ValueRep)>,
    field_of: HashMap<(u32, ValueRep), u32>,
    /// Lists of fields, each ended by −1, and where they begin.
    field_sets: Vec<i32>,
    set_of: HashMap<Vec<u32>, u32>,
    paths: Paths,
    /// Path, set of fields, and kind.
    specs: Vec<[i32; 3]>,
    /// Where equal bytes are.
    places: HashMap<[u64; 2], ValueRep>,
}

impl<W: Write + Seek> CrateWriter<W> {
    /// Writes to the beginning of `out`.
    pub fn new(mut out: W) -> Result<Self> {
        out.write_all(&[0; HEADER as usize])?;
        let mut tokens = Words::default();
        // Tokens of properties are stored as negative numbers, so none of them may be 0.
        tokens.number("");
        Ok(Self {
            out,
            length: HEADER,
            tokens,
            strings: Vec::new(),
            string_of: HashMap::new(),
            fields: Vec::new(),
            field_of: HashMap::new(),
            field_sets: Vec::new(),
            set_of: HashMap::new(),
            paths: Paths::new(),
            specs: Vec::new(),
            places: HashMap::new(),
        })
    }

    /// Bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Continues at a multiple of eight bytes, where readers can use numbers as they are.
    fn align(&mut self) -> Result<()> {
        let excess = (self.length % 8) as usize;
        if excess > 0 { self.put(&[0; 8][excess..]) } else { Ok(()) }
    }

    /// Writes the bytes of a value, unless they are in the file already.
    fn place(&mut self, kind: Kind, flags: u64, bytes: &[u8]) -> Result<ValueRep> {
        let of_type = flags | (kind as u64) << 48;
        let hash = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(salt);
            hasher.write_u64(of_type);
            hasher.write(bytes);
            hasher.finish()
        };
        let key = [hash(0), hash(1)];
        if let Some(&known) = self.places.get(&key) {
            return Ok(known);
        }
        self.align()?;
        let rep = ValueRep::at(kind, flags, self.length);
        self.put(bytes)?;
        self.places.insert(key, rep);
        Ok(rep)
    }

    /// An array of numbers: their count, then they.
    fn array<const N: usize>(&mut self, kind: Kind, items: impl ExactSizeIterator<Item = [u8; N]>) -> Result<ValueRep> {
        if items.len() == 0 {
            return Ok(ValueRep::at(kind, ARRAY, 0));
        }
        let mut bytes = Vec::with_capacity(8 + N * items.len());
        bytes.extend((items.len() as u64).to_le_bytes());
        items.for_each(|item| bytes.extend(item));
        self.place(kind, ARRAY, &bytes)
    }

    fn integers(&mut self, values: &[i32]) -> Result<ValueRep> {
        if values.len() < FEWEST_TO_COMPRESS {
            return self.array(Kind::Int, values.iter().map(|value| value.to_le_bytes()));
        }
        let packed = compressed_integers(values);
        let mut bytes = (values.len() as u64).to_le_bytes().to_vec();
        bytes.extend((packed.len() as u64).to_le_bytes());
        bytes.extend(packed);
        self.place(Kind::Int, ARRAY | COMPRESSED, &bytes)
    }

    fn token(&mut self, word: &str) -> u32 {
        self.tokens.number(word)
    }

    fn string(&mut self, text: &str) -> u32 {
        let token = self.token(text);
        *self.string_of.entry(token).or_insert_with(|| {
            self.strings.push(token);
            self.strings.len() as u32 - 1
        })
    }

    fn path(&mut self, path: &str) -> u32 {
        let tokens = &mut self.tokens;
        self.paths.number(path, &mut |word| tokens.number(word))
    }

    /// Numbers with their count in front, as lists of tokens and paths are stored.
    fn numbered(numbers: impl ExactSizeIterator<Item = u32>) -> Vec<u8> {
        let mut bytes = (numbers.len() as u64).to_le_bytes().to_vec();
        numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    fn token_vector(&mut self, words: &[&str]) -> Result<ValueRep> {
        let numbers: Vec<u32> = words.iter().map(|word| self.token(word)).collect();
        self.place(Kind::TokenVector, 0, &Self::numbered(numbers.into_iter()))
    }

    fn path_list(&mut self, path: &str) -> Result<ValueRep> {
        let mut bytes = vec![EXPLICIT];
        bytes.extend(Self::numbered([self.path(path)].into_iter()));
        self.place(Kind::PathListOp, 0, &bytes)
    }

    /// Writes a value.
    pub fn value(&mut self, value: &Value) -> Result<ValueRep> {
        Ok(match value {
            Value::Flag(flag) => ValueRep::inline(Kind::Bool, u32::from(*flag)),
            Value::Float(number) => ValueRep::inline(Kind::Float, number.to_bits()),
            Value::Double(number) => self.double(*number)?,
            Value::Token(word) => ValueRep::inline(Kind::Token, self.token(word)),
            Value::Asset(path) => ValueRep::inline(Kind::Asset, self.token(path)),
            Value::Text(text) => ValueRep::inline(Kind::String, self.string(text)),
            Value::Float3(numbers) => self.place(Kind::Float3, 0, &floats(numbers))?,
            Value::Float4(numbers) => self.place(Kind::Float4, 0, &floats(numbers))?,
            Value::Matrix(rows) => {
                let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
                self.place(Kind::Matrix4d, 0, &bytes)?
            }
            Value::Ints(values) => self.integers(values)?,
            Value::Float2s(pairs) => self.array(Kind::Float2, pairs.iter().map(|[x, y]| joined::<2, 8>([*x, *y])))?,
            Value::Float3s(vectors) => self.array(Kind::Float3, vectors.iter().map(|x| joined::<3, 12>(*x)))?,
            Value::Double2s(pairs) => {
                let bytes = |[x, y]: &[f64; 2]| {
                    let [x, y] = [x, y].map(|x| x.to_le_bytes());
                    std::array::from_fn::<u8, 16, _>(|k| if k < 8 { x[k] } else { y[k - 8] })
                };
                self.array(Kind::Double2, pairs.iter().map(bytes))?
            }
            Value::Tokens(words) => {
                let numbers: Vec<u32> = words.iter().map(|word| self.token(word)).collect();
                self.array(Kind::Token, numbers.iter().map(|number| number.to_le_bytes()))?
            }
            Value::Assets(paths) => {
                let numbers: Vec<u32> = paths.iter().map(|path| self.string(path)).collect();
                self.array(Kind::Asset, numbers.iter().map(|number| number.to_le_bytes()))?
            }
            Value::Prepended(words) => {
                let mut bytes = vec![PREPENDED];
                let numbers: Vec<u32> = words.iter().map(|word| self.token(word)).collect();
                bytes.extend(Self::numbered(numbers.into_iter()));
                self.place(Kind::TokenListOp, 0, &bytes)?
            }
            Value::Dictionary(entries) => {
                let mut bytes = (entries.len() as u64).to_le_bytes().to_vec();
                for (name, value) in entries {
                    bytes.extend(self.string(name).to_le_bytes());
                    // How far it is to where the value is told: it follows at once.
                    bytes.extend(8u64.to_le_bytes());
                    bytes.extend(self.value(value)?.0.to_le_bytes());
                }
                self.place(Kind::Dictionary, 0, &bytes)?
            }
        })
    }

    /// A number, in place if single precision holds it.
    fn double(&mut self, number: f64) -> Result<ValueRep> {
        let single = number as f32;
        if f64::from(single).to_bits() == number.to_bits() {
            return Ok(ValueRep::inline(Kind::Double, single.to_bits()));
        }
        self.place(Kind::Double, 0, &number.to_le_bytes())
    }

    /// Writes values over time that have been written; times ascend.
    fn samples(&mut self, samples: &[(f64, ValueRep)]) -> Result<ValueRep> {
        let mut times = (samples.len() as u64).to_le_bytes().to_vec();
        samples.iter().for_each(|(time, _)| times.extend(time.to_le_bytes()));
        let times = self.place(Kind::DoubleVector, 0, &times)?;
        // Each part begins with the way to it, which is none.
        let mut bytes = 8u64.to_le_bytes().to_vec();
        bytes.extend(times.0.to_le_bytes());
        bytes.extend(8u64.to_le_bytes());
        bytes.extend((samples.len() as u64).to_le_bytes());
        samples.iter().for_each(|(_, value)| bytes.extend(value.0.to_le_bytes()));
        self.place(Kind::TimeSamples, 0, &bytes)
    }

    fn spec(&mut self, path: &str, kind: SpecKind, fields: &[(&str, ValueRep)]) {
        let mut set = Vec::with_capacity(fields.len());
        for &(name, rep) in fields {
            let field = (self.token(name), rep);
            let next = self.fields.len() as u32;
            let number = *self.field_of.entry(field).or_insert(next);
            if number == next {
                self.fields.push(field);
            }
            set.push(number);
        }
        let next = self.field_sets.len() as u32;
        let sets = &mut self.field_sets;
        let set = *self.set_of.entry(set).or_insert_with_key(|set| {
            sets.extend(set.iter().map(|&field| field as i32));
            sets.push(-1);
            next
        });
        let path = self.path(path);
        self.specs.push([path as i32, set as i32, kind as i32]);
    }

    fn root(&mut self, layer: &Layer, recorded: &[Vec<(f64, ValueRep)>]) -> Result<()> {
        let mut fields = Vec::new();
        for (name, value) in &layer.metadata {
            fields.push((*name, self.value(value)?));
        }
        let names: Vec<&str> = layer.prims.iter().map(|prim| prim.name.as_str()).collect();
        if !names.is_empty() {
            fields.push(("primChildren", self.token_vector(&names)?));
        }
        self.spec("/", SpecKind::Root, &fields);
        layer.prims.iter().try_for_each(|prim| self.prim("", prim, recorded))
    }

    fn prim(&mut self, parent: &str, prim: &Prim, recorded: &[Vec<(f64, ValueRep)>]) -> Result<()> {
        let path = format!("{parent}/{}", prim.name);
        let specifier = match prim.specifier {
            Specifier::Def => 0,
            Specifier::Over => 1,
        };
        let mut fields = vec![("specifier", ValueRep::inline(Kind::Specifier, specifier))];
        if !prim.type_name.is_empty() {
            fields.push(("typeName", ValueRep::inline(Kind::Token, self.token(prim.type_name))));
        }
        for (name, value) in &prim.metadata {
            fields.push((*name, self.value(value)?));
        }
        let names: Vec<&str> = prim.properties.iter().map(|property| property.name.as_str()).collect();
        let children: Vec<&str> = prim.children.iter().map(|child| child.name.as_str()).collect();
        for (name, list) in [("properties", names), ("primChildren", children)] {
            if !list.is_empty() {
                fields.push((name, self.token_vector(&list)?));
            }
        }
        self.spec(&path, SpecKind::Prim, &fields);
        for property in &prim.properties {
            self.property(&path, property, recorded)?;
        }
        prim.children.iter().try_for_each(|child| self.prim(&path, child, recorded))
    }

    fn property(&mut self, prim: &str, property: &Property, recorded: &[Vec<(f64, ValueRep)>]) -> Result<()> {
        let mut fields = vec![("custom", self.value(&Value::Flag(false))?)];
        if !property.type_name.is_empty() {
            fields.push(("typeName", ValueRep::inline(Kind::Token, self.token(property.type_name))));
        }
        fields.push(("variability", ValueRep::inline(Kind::Variability, u32::from(property.is_uniform))));
        if let Some(interpolation) = property.interpolation {
            fields.push(("interpolation", ValueRep::inline(Kind::Token, self.token(interpolation))));
        }
        let mut kind = SpecKind::Attribute;
        match &property.content {
            Content::Declared => {}
            Content::Default(value) => fields.push(("default", self.value(value)?)),
            Content::Samples(samples) => {
                let mut written = Vec::with_capacity(samples.len());
                for (time, value) in samples {
                    written.push((*time, self.value(value)?));
                }
                fields.push(("timeSamples", self.samples(&written)?));
            }
            Content::Recorded(array) => fields.push(("timeSamples", self.samples(&recorded[*array])?)),
            Content::Connection(source) => fields.push(("connectionPaths", self.path_list(source)?)),
            Content::Target(target) => {
                kind = SpecKind::Relationship;
                fields.push(("targetPaths", self.path_list(target)?));
            }
        }
        self.spec(&format!("{prim}.{}", property.name), kind, &fields);
        Ok(())
    }

    /// Writes the layer and the tables. `recorded` are the samples of [`Content::Recorded`].
    pub fn finish(mut self, layer: &Layer, recorded: &[Vec<(f64, ValueRep)>]) -> Result<W> {
        self.root(layer, recorded)?;
        let sections: [(&str, Vec<u8>); 6] = [
            ("TOKENS", self.token_table()),
            ("STRINGS", Self::numbered(self.strings.iter().copied())),
            ("FIELDS", self.field_table()),
            ("FIELDSETS", table(self.field_sets.len(), &[&self.field_sets])),
            ("PATHS", self.path_table()),
            ("SPECS", self.spec_table()),
        ];
        let mut contents = (sections.len() as u64).to_le_bytes().to_vec();
        for (name, bytes) in &sections {
            self.align()?;
            let mut title = [0; 16];
            title[..name.len()].copy_from_slice(name.as_bytes());
            contents.extend(title);
            contents.extend(self.length.to_le_bytes());
            contents.extend((bytes.len() as u64).to_le_bytes());
            self.put(bytes)?;
        }
        self.align()?;
        let place = self.length;
        self.put(&contents)?;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(b"PXR-USDC")?;
        self.out.write_all(&VERSION)?;
        self.out.write_all(&place.to_le_bytes())?;
        self.out.seek(SeekFrom::End(0))?;
        Ok(self.out)
    }

    fn token_table(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for token in &self.tokens.list {
            text.extend(token.as_bytes());
            text.push(0);
        }
        let packed = compressed(&text);
        let mut bytes = Vec::new();
        for number in [self.tokens.list.len(), text.len(), packed.len()] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes.extend(packed);
        bytes
    }

    fn field_table(&self) -> Vec<u8> {
        let names: Vec<i32> = self.fields.iter().map(|(name, _)| *name as i32).collect();
        let values: Vec<u8> = self.fields.iter().flat_map(|(_, rep)| rep.0.to_le_bytes()).collect();
        let mut bytes = table(names.len(), &[&names]);
        let packed = compressed(&values);
        bytes.extend((packed.len() as u64).to_le_bytes());
        bytes.extend(packed);
        bytes
    }

    fn path_table(&self) -> Vec<u8> {
        let columns = self.paths.columns();
        let mut bytes = (self.paths.len() as u64).to_le_bytes().to_vec();
        bytes.extend(table(columns.numbers.len(), &[&columns.numbers, &columns.tokens, &columns.jumps]));
        bytes
    }

    fn spec_table(&self) -> Vec<u8> {
        let column = |k: usize| self.specs.iter().map(|spec| spec[k]).collect::<Vec<i32>>();
        table(self.specs.len(), &[&column(0), &column(1), &column(2)])
    }
}

/// A number of rows and compressed columns with their lengths.
fn table(rows: usize, columns: &[&[i32]]) -> Vec<u8> {
    let mut bytes = (rows as u64).to_le_bytes().to_vec();
    for column in columns {
        let packed = compressed_integers(column);
        bytes.extend((packed.len() as u64).to_le_bytes());
        bytes.extend(packed);
    }
    bytes
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The bytes of N numbers; B is 4 N.
fn joined<const N: usize, const B: usize>(numbers: [f32; N]) -> [u8; B] {
    let bytes = numbers.map(f32::to_le_bytes);
    std::array::from_fn(|k| bytes[k / 4][k % 4])
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn written(frames: usize, points: impl Fn(usize) -> Vec<[f32; 3]>) -> Vec<u8> {
        let mut writer = CrateWriter::new(Cursor::new(Vec::new())).unwrap();
        let samples: Vec<(f64, ValueRep)> =
            (0..frames).map(|frame| (frame as f64, writer.value(&Value::Float3s(points(frame))).unwrap())).collect();
        let mut mesh = Prim::def("Mesh", "flesh");
        mesh.properties.push(Property::new("point3f[]", "points", Content::Recorded(0)));
        let layer = Layer { metadata: vec![("upAxis", Value::Token("Z".into()))], prims: vec![mesh] };
        writer.finish(&layer, &[samples]).unwrap().into_inner()
    }

    fn number(bytes: &[u8], at: usize) -> usize {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    }

    /// Each section lies within the file, at a multiple of eight bytes, and all six are there.
    #[test]
    fn the_table_of_contents_covers_the_end_of_the_file() {
        let bytes = written(3, |frame| vec![[frame as f32, 0.5, -1.0]; 40]);
        assert_eq!(&bytes[..16], b"PXR-USDC\0\x08\0\0\0\0\0\0");
        let contents = number(&bytes, 16);
        assert_eq!((number(&bytes, contents), bytes.len()), (6, contents + 8 + 6 * 32));
        let mut before = HEADER as usize;
        for (section, name) in ["TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS"].iter().enumerate() {
            let row = contents + 8 + 32 * section;
            let (start, size) = (number(&bytes, row + 16), number(&bytes, row + 24));
            assert!(bytes[row..].starts_with(name.as_bytes()) && start % 8 == 0 && start >= before, "{name}");
            before = start + size;
        }
        assert!(before <= contents);
    }

    /// Points are in the file as they are, on a boundary of eight bytes, so that readers can map them.
    #[test]
    fn arrays_are_raw_and_aligned() {
        let bytes = written(1, |_| vec![[1.5, -2.25, 1e-9]; 5]);
        let raw: Vec<u8> = floats(&[1.5, -2.25, 1e-9].repeat(5));
        let place = bytes.windows(raw.len()).position(|window| window == raw).unwrap();
        assert_eq!((place % 8, number(&bytes, place - 8)), (0, 5));
    }

    /// A thousand equal frames cost a row each; frames that differ cost their points.
    #[test]
    fn what_rests_is_written_once() {
        let still = written(1000, |_| vec![[0.1, 0.2, 0.3]; 300]);
        let moving = written(1000, |frame| vec![[frame as f32, 0.2, 0.3]; 300]);
        assert!(still.len() < 3600 + 1000 * 16 + 1500, "{} bytes", still.len());
        assert!(moving.len() > 1000 * 3600);
    }
}
