//! Shared parts of all writers: one buffer, its views and accessors, and the container.

use serde_json::{Value, json};

use crate::base64;
use crate::error::WriteError;

/// Purpose of a part of the buffer.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    /// Attributes of vertices.
    Vertices,
    /// Indices of primitives.
    Indices,
    /// Animation keys and skin matrices, which viewers do not upload to vertex buffers.
    Keys,
}

/// Builds the buffer of a file.
#[derive(Default)]
pub(super) struct Encoder {
    buffer: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Encoder {
    pub(super) fn with_capacity(bytes: usize) -> Encoder {
        // The size of a GLB's JSON is not known yet; the buffer is copied after it once.
        Encoder { buffer: Vec::with_capacity(bytes), ..Encoder::default() }
    }

    /// Adds an accessor for everything that `fill` appends to the buffer.
    fn accessor(&mut self, mut description: Value, purpose: Use, fill: impl FnOnce(&mut Vec<u8>)) -> usize {
        // All elements are multiples of four bytes, so every part ends aligned for the next.
        let start = self.buffer.len();
        fill(&mut self.buffer);
        let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": self.buffer.len() - start});
        match purpose {
            Use::Vertices => view["target"] = 34962.into(),
            Use::Indices => view["target"] = 34963.into(),
            Use::Keys => {}
        }
        description["bufferView"] = self.views.len().into();
        self.views.push(view);
        self.accessors.push(description);
        self.accessors.len() - 1
    }

    /// Adds vectors of `N` numbers, with their bounds.
    pub(super) fn vectors<const N: usize>(&mut self, vectors: &[[f32; N]], purpose: Use) -> usize {
        let (mut low, mut high) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
        for vector in vectors {
            for k in 0..N {
                low[k] = low[k].min(vector[k]);
                high[k] = high[k].max(vector[k]);
            }
        }
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        let mut description = json!({"componentType": 5126, "count": vectors.len(), "type": kind});
        // JSON has no infinity, so an empty list gets no bounds.
        if !vectors.is_empty() {
            (description["min"], description["max"]) = (json!(low.as_slice()), json!(high.as_slice()));
        }
        self.accessor(description, purpose, |buffer| extend(buffer, vectors.as_flattened(), |x| x.to_le_bytes()))
    }

    /// Adds matrices, column by column.
    pub(super) fn matrices(&mut self, matrices: &[[f32; 16]]) -> usize {
        let description = json!({"componentType": 5126, "count": matrices.len(), "type": "MAT4"});
        self.accessor(description, Use::Keys, |buffer| extend(buffer, matrices.as_flattened(), |x| x.to_le_bytes()))
    }

    /// Adds the joints of vertices.
    pub(super) fn joints(&mut self, joints: &[[u16; 4]]) -> usize {
        let description = json!({"componentType": 5123, "count": joints.len(), "type": "VEC4"});
        self.accessor(description, Use::Vertices, |buffer| extend(buffer, joints.as_flattened(), |x| x.to_le_bytes()))
    }

    /// Adds displacements of vertices: only those that are not zero where that takes fewer bytes.
    pub(super) fn displacements(&mut self, vectors: &[[f32; 3]]) -> usize {
        let moved: Vec<u32> = (0..vectors.len() as u32).filter(|&k| vectors[k as usize] != [0.0; 3]).collect();
        // With its index each takes 16 bytes instead of 12.
        if 16 * moved.len() >= 12 * vectors.len() {
            return self.vectors(vectors, Use::Vertices);
        }
        let accessor = self.zeros(vectors.len());
        if moved.is_empty() {
            return accessor;
        }
        let values: Vec<[f32; 3]> = moved.iter().map(|&k| vectors[k as usize]).collect();
        let bound = |least: fn(f32, f32) -> f32| [0, 1, 2].map(|c| values.iter().fold(0.0, |a, x| least(a, x[c])));
        let mut view = |fill: &dyn Fn(&mut Vec<u8>)| {
            let start = self.buffer.len();
            fill(&mut self.buffer);
            self.views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": self.buffer.len() - start}));
            self.views.len() - 1
        };
        let indices = view(&|buffer| extend(buffer, &moved, |x| x.to_le_bytes()));
        let stored = view(&|buffer| extend(buffer, values.as_flattened(), |x| x.to_le_bytes()));
        let description = &mut self.accessors[accessor];
        (description["min"], description["max"]) = (json!(bound(f32::min)), json!(bound(f32::max)));
        description["sparse"] = json!({
            "count": moved.len(),
            "indices": {"bufferView": indices, "componentType": 5125},
            "values": {"bufferView": stored},
        });
        accessor
    }

    /// Adds vectors that are all zero, which need no bytes.
    pub(super) fn zeros(&mut self, count: usize) -> usize {
        let zero = [0.0; 3];
        let description = json!({"componentType": 5126, "count": count, "type": "VEC3", "min": zero, "max": zero});
        self.accessors.push(description);
        self.accessors.len() - 1
    }

    /// Adds the bytes of a file; returns the index of the view.
    pub(super) fn file(&mut self, bytes: &[u8]) -> usize {
        self.views.push(json!({"buffer": 0, "byteOffset": self.buffer.len(), "byteLength": bytes.len()}));
        self.buffer.extend_from_slice(bytes);
        self.buffer.resize(self.buffer.len().next_multiple_of(4), 0);
        self.views.len() - 1
    }

    /// Adds indices.
    pub(super) fn indices(&mut self, indices: &[u32]) -> usize {
        let description = json!({"componentType": 5125, "count": indices.len(), "type": "SCALAR"});
        self.accessor(description, Use::Indices, |buffer| extend(buffer, indices, |x| x.to_le_bytes()))
    }

    /// Finishes the file with the members of `root` besides asset, buffers, views and accessors.
    pub(super) fn finish(self, mut root: Value, glb: bool) -> Result<Vec<u8>, WriteError> {
        let Encoder { mut buffer, views, accessors } = self;
        root["asset"] = json!({"version": "2.0", "generator": "Sinew"});
        // glTF forbids empty lists and empty buffers.
        if !views.is_empty() {
            root["bufferViews"] = views.into();
            root["buffers"] = json!([{"byteLength": buffer.len()}]);
        }
        if !accessors.is_empty() {
            root["accessors"] = accessors.into();
        }
        if !glb && !buffer.is_empty() {
            let uri = format!("data:application/octet-stream;base64,{}", base64::encode(&buffer));
            root["buffers"][0]["uri"] = uri.into();
        }
        if !glb {
            return Ok(root.to_string().into_bytes());
        }
        let mut json = root.to_string().into_bytes();
        // Chunks are padded to multiples of four: JSON with spaces, the buffer with zeros.
        json.resize(json.len().next_multiple_of(4), b' ');
        buffer.resize(buffer.len().next_multiple_of(4), 0);
        let chunks = [(b"JSON", &json), (b"BIN\0", &buffer)];
        let chunks = chunks.into_iter().filter(|(_, chunk)| !chunk.is_empty());
        let length = 12 + chunks.clone().map(|(_, chunk)| 8 + chunk.len()).sum::<usize>();
        let Ok(total) = u32::try_from(length) else {
            let (what, hint) =
                (format!("{length} bytes"), "GLB files are limited to 4 GiB: write fewer vertices, or another format");
            return Err(WriteError::Unsupported { format: "glTF", what, hint });
        };
        let mut file = Vec::with_capacity(length);
        file.extend_from_slice(b"glTF");
        file.extend_from_slice(&2u32.to_le_bytes());
        file.extend_from_slice(&total.to_le_bytes());
        for (kind, chunk) in chunks {
            file.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
            file.extend_from_slice(kind);
            file.extend_from_slice(chunk);
        }
        Ok(file)
    }
}

fn extend<T: Copy, const N: usize>(buffer: &mut Vec<u8>, numbers: &[T], bytes: impl Fn(T) -> [u8; N]) {
    let start = buffer.len();
    buffer.resize(start + N * numbers.len(), 0);
    for (slot, &number) in buffer[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
        *slot = bytes(number);
    }
}
