//! The JSON as typed lists with valid indices. Byte ranges are checked on use.

use std::borrow::Cow;

use crate::binary::NumberKind;
use crate::error::{Place, ReadError};
use crate::gltf::container::Container;
use crate::gltf::json::{Json, Value};
use crate::gltf::meshopt;

/// Vertex attributes to read, in the order of [`Primitive::attributes`].
pub(super) const ATTRIBUTES: [&str; 4] = ["POSITION", "NORMAL", "TEXCOORD_0", "COLOR_0"];

/// Prefixes of required extensions that do not affect vertex positions. [`QUANTIZATION`] and [`meshopt::EXTENSIONS`] are
/// supported too.
const HARMLESS: [&str; 10] = [
    "KHR_materials_",
    "KHR_texture_",
    "EXT_texture_",
    "KHR_lights_",
    "EXT_lights_",
    "KHR_animation_",
    "KHR_xmp",
    "KHR_node_visibility",
    "VRM",
    "VRMC_",
];
const QUANTIZATION: &str = "KHR_mesh_quantization";
pub(super) const DRACO: &str = "KHR_draco_mesh_compression";

/// The lists of a file.
pub(super) struct Document<'t, 'a> {
    pub container: &'t Container<'a>,
    pub root: Value<'t, 'a>,
    /// Nodes, parsed during the tree traversal, once each.
    pub nodes: Vec<Value<'t, 'a>>,
    pub scenes: Vec<Value<'t, 'a>>,
    pub meshes: Vec<Mesh<'a>>,
    /// Primitives of all meshes.
    pub primitives: Vec<Primitive>,
    /// Names of the materials.
    pub materials: Vec<Option<Cow<'a, str>>>,
    pub accessors: Vec<Accessor>,
    pub views: Vec<View>,
    pub buffers: Vec<Buffer<'a>>,
}

pub(super) struct Mesh<'a> {
    pub name: Option<Cow<'a, str>>,
    /// Its primitives in [`Document::primitives`].
    pub primitives: std::ops::Range<usize>,
}

pub(super) struct Primitive {
    /// Byte in the JSON.
    pub offset: usize,
    pub mode: usize,
    /// Accessors of [`ATTRIBUTES`].
    pub attributes: [Option<u32>; 4],
    pub indices: Option<usize>,
    pub material: Option<usize>,
    pub has_targets: bool,
}

pub(super) struct Accessor {
    /// Byte in the JSON.
    pub offset: usize,
    pub numbers: Numbers,
    pub count: usize,
    /// Numbers per element; 0 for unused matrix types, whose columns may be padded.
    pub width: usize,
    pub normalized: bool,
    pub sparse: Option<Box<Sparse>>,
}

/// Location of numbers in buffers.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    /// All zeros without a view.
    pub view: Option<usize>,
    pub byte_offset: usize,
    pub kind: NumberKind,
}

pub(super) struct Sparse {
    pub count: usize,
    pub indices: Numbers,
    pub values: Numbers,
}

pub(super) struct View {
    /// Byte in the JSON.
    pub offset: usize,
    pub buffer: usize,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub stride: Option<usize>,
    /// Where its bytes are, if compressed.
    pub packed: Option<Packed>,
}

/// Compressed bytes of a view.
pub(super) struct Packed {
    pub buffer: usize,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub layout: meshopt::Layout,
}

pub(super) struct Buffer<'a> {
    /// Byte in the JSON; of the URI, if present.
    pub offset: usize,
    pub uri: Option<Cow<'a, str>>,
    pub byte_length: usize,
}

/// A JSON object and its path.
pub(super) struct Object<'t, 'a> {
    container: &'t Container<'a>,
    pub value: Value<'t, 'a>,
    path: String,
}

impl<'t, 'a> Object<'t, 'a> {
    pub(super) fn new(
        container: &'t Container<'a>,
        value: Value<'t, 'a>,
        path: String,
    ) -> Result<Object<'t, 'a>, ReadError> {
        let object = Object { container, value, path };
        if value.is_object() { Ok(object) } else { Err(object.wrong("must be an object")) }
    }

    /// An error about the object.
    pub(super) fn wrong(&self, reason: &str) -> ReadError {
        ReadError::Syntax { place: self.place(), reason: format!("{} {reason}", self.path) }
    }

    /// An error about a member.
    pub(super) fn wrong_at(&self, value: Value, key: &str, reason: &str) -> ReadError {
        let place = self.container.place(value.offset());
        ReadError::Syntax { place, reason: format!("{} {reason}", self.path_of(key)) }
    }

    pub(super) fn whole(&self, key: &str) -> Result<Option<usize>, ReadError> {
        let wrong = |value| self.wrong_at(value, key, "must be a whole number");
        self.value.get(key).map(|value| value.whole().ok_or_else(|| wrong(value))).transpose()
    }

    pub(super) fn needed(&self, key: &str) -> Result<usize, ReadError> {
        self.whole(key)?.ok_or_else(|| self.wrong(&format!("has no `{key}`")))
    }

    /// An index into a list of `count` things.
    pub(super) fn index(&self, key: &str, what: &str, count: usize) -> Result<Option<usize>, ReadError> {
        match (self.whole(key)?, self.value.get(key)) {
            (Some(index), Some(value)) if index >= count => {
                Err(self.wrong_at(value, key, &format!("is {what} {index}, which does not exist: there are {count}")))
            }
            (index, _) => Ok(index),
        }
    }

    pub(super) fn name(&self) -> Option<Cow<'a, str>> {
        self.value.get("name").and_then(Value::text).filter(|name| !name.is_empty())
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<Object<'t, 'a>>, ReadError> {
        self.value.get(key).map(|value| Object::new(self.container, value, self.path_of(key))).transpose()
    }

    /// Position of the object.
    pub(super) fn place(&self) -> Place {
        self.container.place(self.value.offset())
    }

    /// The path of a member.
    pub(super) fn path_of(&self, key: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{key}", self.path)
    }

    /// The name, or an empty string.
    pub(super) fn name_or_empty(&self) -> String {
        self.name().map(Cow::into_owned).unwrap_or_default()
    }

    /// A required index.
    pub(super) fn needed_index(&self, key: &str, what: &str, count: usize) -> Result<usize, ReadError> {
        self.index(key, what, count)?.ok_or_else(|| self.wrong(&format!("has no `{key}`")))
    }

    /// The values of a list; none if it is missing.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Value<'t, 'a>>, ReadError> {
        match self.value.get(key) {
            Some(value) if !value.is_array() => Err(self.wrong_at(value, key, "must be a list")),
            value => Ok(value.map_or(Vec::new(), |value| value.items().collect())),
        }
    }

    /// The objects of a list; none if it is missing.
    pub(super) fn objects(&self, key: &str) -> Result<Vec<Object<'t, 'a>>, ReadError> {
        let values = self.list(key)?.into_iter().enumerate();
        values.map(|(i, value)| Object::new(self.container, value, self.path_of(&format!("{key}[{i}]")))).collect()
    }

    /// A finite number.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, ReadError> {
        let wrong = |value| self.wrong_at(value, key, "must be a finite number");
        let finite = |value: Value| value.number().filter(|number| number.is_finite());
        self.value.get(key).map(|value| finite(value).ok_or_else(|| wrong(value))).transpose()
    }

    /// A list of finite numbers of any length.
    pub(super) fn number_list(&self, key: &str) -> Result<Option<Vec<f64>>, ReadError> {
        if self.value.get(key).is_none() {
            return Ok(None);
        }
        let wrong = |value| self.wrong_at(value, key, "must be finite numbers");
        let finite = |value: Value| value.number().filter(|number| number.is_finite());
        self.list(key)?
            .into_iter()
            .map(|value| finite(value).ok_or_else(|| wrong(value)))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// `count` finite numbers.
    pub(super) fn numbers<const N: usize>(&self, key: &str) -> Result<Option<[f64; N]>, ReadError> {
        let Some(value) = self.value.get(key) else { return Ok(None) };
        let mut numbers = [0.0; N];
        let mut found = 0;
        for item in value.items() {
            match (numbers.get_mut(found), item.number().filter(|number| number.is_finite())) {
                (Some(slot), Some(number)) => *slot = number,
                _ => return Err(self.wrong_at(item, key, &format!("must be {N} finite numbers"))),
            }
            found += 1;
        }
        if found == N {
            Ok(Some(numbers))
        } else {
            Err(self.wrong_at(value, key, &format!("must be {N} finite numbers")))
        }
    }
}

impl<'t, 'a> Document<'t, 'a> {
    pub(super) fn new(container: &'t Container<'a>, json: &'t Json<'a>) -> Result<Document<'t, 'a>, ReadError> {
        let root = Object::new(container, json.root(), String::new())?;
        check_version(&root)?;
        check_extensions(&root)?;
        let mut document = Document {
            container,
            root: root.value,
            nodes: root.list("nodes")?,
            scenes: root.list("scenes")?,
            meshes: Vec::new(),
            primitives: Vec::new(),
            materials: root
                .list("materials")?
                .into_iter()
                .map(|value| value.get("name").and_then(Value::text).filter(|name| !name.is_empty()))
                .collect(),
            accessors: Vec::new(),
            views: Vec::new(),
            buffers: Vec::new(),
        };
        for (i, value) in root.list("buffers")?.into_iter().enumerate() {
            let buffer = Object::new(container, value, format!("buffers[{i}]"))?;
            let byte_length = buffer.needed("byteLength")?;
            let uri = value.get("uri");
            let offset = uri.unwrap_or(value).offset();
            document.buffers.push(Buffer { offset, uri: uri.and_then(Value::text), byte_length });
        }
        for (i, value) in root.list("bufferViews")?.into_iter().enumerate() {
            let view = Object::new(container, value, format!("bufferViews[{i}]"))?;
            let buffer = view.index("buffer", "buffer", document.buffers.len())?;
            document.views.push(View {
                offset: value.offset(),
                buffer: buffer.ok_or_else(|| view.wrong("has no `buffer`"))?,
                byte_offset: view.whole("byteOffset")?.unwrap_or(0),
                byte_length: view.needed("byteLength")?,
                stride: view.whole("byteStride")?,
                packed: parse_packed(&view, document.buffers.len())?,
            });
        }
        for (i, value) in root.list("accessors")?.into_iter().enumerate() {
            let accessor = Object::new(container, value, format!("accessors[{i}]"))?;
            document.accessors.push(parse_accessor(&accessor, document.views.len())?);
        }
        for (i, value) in root.list("meshes")?.into_iter().enumerate() {
            let mesh = Object::new(container, value, format!("meshes[{i}]"))?;
            let first = document.primitives.len();
            let primitives = value.get("primitives").filter(|list| list.is_array());
            for (k, value) in primitives.ok_or_else(|| mesh.wrong("has no `primitives`"))?.items().enumerate() {
                let primitive = Object::new(container, value, format!("meshes[{i}].primitives[{k}]"))?;
                let primitive = document.parse_primitive(&primitive)?;
                document.primitives.push(primitive);
            }
            document.meshes.push(Mesh { name: mesh.name(), primitives: first..document.primitives.len() });
        }
        Ok(document)
    }

    fn parse_primitive(&self, primitive: &Object) -> Result<Primitive, ReadError> {
        let attributes = primitive.object("attributes")?.ok_or_else(|| primitive.wrong("has no `attributes`"))?;
        let mut accessors = [None; 4];
        for (slot, name) in accessors.iter_mut().zip(ATTRIBUTES) {
            *slot = attributes.index(name, "accessor", self.accessors.len())?.map(|index| index as u32);
        }
        if let Some(packed) = primitive.value.get("extensions").and_then(|extensions| extensions.get(DRACO)) {
            // Without a view this accessor would be read as zeros, although its numbers exist in compressed form.
            let has_plain_copy =
                accessors[0].is_some_and(|position| self.accessors[position as usize].numbers.view.is_some());
            if !has_plain_copy {
                return Err(compressed(primitive.container.place(packed.offset()), DRACO));
            }
        }
        Ok(Primitive {
            offset: primitive.value.offset(),
            mode: primitive.whole("mode")?.unwrap_or(4),
            attributes: accessors,
            indices: primitive.index("indices", "accessor", self.accessors.len())?,
            material: primitive.index("material", "material", self.materials.len())?,
            has_targets: primitive.value.get("targets").is_some(),
        })
    }
}

fn check_version(root: &Object) -> Result<(), ReadError> {
    let asset = root
        .object("asset")?
        .ok_or(ReadError::Magic { format: "glTF", reason: "its JSON has no `asset`, which says the version".into() })?;
    let version = |key| asset.value.get(key).and_then(|value| Some((value, value.text()?)));
    let (value, number) = version("version").ok_or_else(|| asset.wrong("has no `version`"))?;
    let newest = version("minVersion").filter(|minimum| minimum.1 != "2.0");
    let unreadable = if number.starts_with("2.") { newest } else { Some((value, number)) };
    match unreadable {
        Some((value, number)) => Err(ReadError::Unsupported {
            place: root.container.place(value.offset()),
            what: format!("glTF version {number}"),
            hint: "export it again as glTF 2.0",
        }),
        None => Ok(()),
    }
}

fn check_extensions(root: &Object) -> Result<(), ReadError> {
    for value in root.value.get("extensionsRequired").into_iter().flat_map(Value::items) {
        let name = value.text().unwrap_or_default();
        let place = root.container.place(value.offset());
        if name == DRACO {
            return Err(compressed(place, &name));
        }
        let is_read = name == QUANTIZATION || meshopt::EXTENSIONS.contains(&&*name);
        if !is_read && !HARMLESS.iter().any(|known| name.starts_with(known)) {
            let what = format!("the required extension {name}");
            return Err(ReadError::Unsupported { place, what, hint: "export the file without this extension" });
        }
    }
    Ok(())
}

pub(super) fn compressed(place: Place, name: &str) -> ReadError {
    let what = format!("compressed geometry ({name})");
    let hint = "unpack it with `npx @gltf-transform/cli copy in.glb out.glb`, or export without mesh compression";
    ReadError::Unsupported { place, what, hint }
}

/// The compressed bytes of a view, if it has some.
fn parse_packed(view: &Object, buffer_count: usize) -> Result<Option<Packed>, ReadError> {
    let Some(extensions) = view.object("extensions")? else { return Ok(None) };
    let Some(name) = meshopt::EXTENSIONS.into_iter().find(|name| extensions.value.get(name).is_some()) else {
        return Ok(None);
    };
    let Some(packed) = extensions.object(name)? else { return Ok(None) };
    let word = |key: &str| packed.value.get(key).and_then(Value::text);
    let mode = word("mode").and_then(|name| meshopt::Mode::from_name(&name));
    let filter = word("filter").map_or(Some(meshopt::Filter::None), |name| meshopt::Filter::from_name(&name));
    let layout = meshopt::Layout {
        mode: mode.ok_or_else(|| packed.wrong("has no known `mode`"))?,
        filter: filter.ok_or_else(|| packed.wrong("has an unknown `filter`"))?,
        count: packed.needed("count")?,
        stride: packed.needed("byteStride")?,
    };
    if let Some(fault) = layout.fault() {
        return Err(packed.wrong(fault));
    }
    if layout.byte_length() != view.needed("byteLength")? {
        return Err(packed.wrong("unpacks to another number of bytes than the view has"));
    }
    Ok(Some(Packed {
        buffer: packed.needed_index("buffer", "buffer", buffer_count)?,
        byte_offset: packed.whole("byteOffset")?.unwrap_or(0),
        byte_length: packed.needed("byteLength")?,
        layout,
    }))
}

fn parse_accessor(accessor: &Object, view_count: usize) -> Result<Accessor, ReadError> {
    let numbers = |object: &Object, kind| -> Result<Numbers, ReadError> {
        let view = object.index("bufferView", "buffer view", view_count)?;
        Ok(Numbers { view, byte_offset: object.whole("byteOffset")?.unwrap_or(0), kind })
    };
    let count = accessor.needed("count")?;
    if count == 0 {
        return Err(accessor.wrong("has a `count` of 0"));
    }
    let sparse = match accessor.object("sparse")? {
        Some(sparse) => {
            let indices = sparse.object("indices")?.ok_or_else(|| sparse.wrong("has no `indices`"))?;
            let values = sparse.object("values")?.ok_or_else(|| sparse.wrong("has no `values`"))?;
            let sparse = Sparse {
                count: sparse.needed("count")?,
                indices: numbers(&indices, component(&indices)?)?,
                values: numbers(&values, component(accessor)?)?,
            };
            if sparse.indices.view.is_none() || sparse.values.view.is_none() {
                return Err(accessor.wrong("has sparse data without `bufferView`"));
            }
            Some(Box::new(sparse))
        }
        None => None,
    };
    let kind = accessor.value.get("type").and_then(Value::text);
    let width = match kind.as_deref() {
        Some("SCALAR") => 1,
        Some("VEC2") => 2,
        Some("VEC3") => 3,
        Some("VEC4") => 4,
        // Four numbers of any type fill whole words, so the columns are contiguous.
        Some("MAT4") => 16,
        Some("MAT2" | "MAT3") => 0,
        _ => return Err(accessor.wrong("has no known `type`")),
    };
    Ok(Accessor {
        offset: accessor.value.offset(),
        numbers: numbers(accessor, component(accessor)?)?,
        count,
        width,
        normalized: accessor.value.get("normalized").and_then(Value::boolean).unwrap_or(false),
        sparse,
    })
}

fn component(object: &Object) -> Result<NumberKind, ReadError> {
    match object.needed("componentType")? {
        5120 => Ok(NumberKind::I8),
        5121 => Ok(NumberKind::U8),
        5122 => Ok(NumberKind::I16),
        5123 => Ok(NumberKind::U16),
        5125 => Ok(NumberKind::U32),
        5126 => Ok(NumberKind::F32),
        other => Err(object.wrong(&format!("has the unknown `componentType` {other}"))),
    }
}
