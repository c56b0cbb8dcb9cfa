//! The constant part of a recording, and the bodies whose cells change.

use sinew_fem::Frame;
use sinew_geometry::embedding::Embedding;
use sinew_geometry::shape::{AnyShape, Capsule, Cuboid, LevelSet, Plane, Sphere};
use sinew_geometry::{CellBlock, CellKind, CellMesh, MeshField, TriMesh};
use sinew_math::Vec3;

use super::StoreError;
use super::bytes::{ByteReader, ByteWriter};

/// A deformable body at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedBody {
    /// Name from the scene.
    pub name: String,
    /// Mesh at rest.
    pub mesh: CellMesh,
    /// Triangles of the visible surface.
    pub triangles: Vec<[u32; 3]>,
    /// For each surface vertex the nearest node at rest.
    pub nearest_nodes: Vec<u32>,
    /// Embedding of the surface vertices; `None` if they coincide with the nearest nodes.
    pub embedding: Option<Embedding>,
}

impl RecordedBody {
    /// Positions of the surface for some positions of the nodes \[m\].
    pub fn surface_positions(&self, nodes: &[Vec3]) -> Vec<Vec3> {
        match &self.embedding {
            None => self.nearest_nodes.iter().map(|&node| nodes[node as usize]).collect(),
            Some(embedding) => {
                let mut positions = vec![Vec3::zero(); embedding.len()];
                embedding.positions(nodes, &mut positions);
                positions
            }
        }
    }
}

/// A rigid body or collider.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedShape {
    /// Name from the scene.
    pub name: String,
    /// Its geometry.
    pub shape: AnyShape,
    /// Whether forces move it.
    pub is_dynamic: bool,
}

/// The bodies after a change of their cells.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyChange {
    /// From the first frame of this revision on.
    pub revision: u64,
    /// All deformable bodies.
    pub bodies: Vec<RecordedBody>,
}

impl TopologyChange {
    pub(super) fn of(frame: &Frame<'_>) -> Self {
        Self { revision: frame.topology_revision, bodies: recorded_bodies(frame) }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.u64(self.revision);
        out.list(self.bodies.iter(), write_body);
        out.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let mut input = ByteReader::new(bytes);
        Ok(Self { revision: input.u64("a revision")?, bodies: input.list(8, "the bodies", read_body)? })
    }
}

/// The constant data of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Version of the program that wrote the file.
    pub program: String,
    /// Name of the scene file.
    pub scene_name: String,
    /// Text of the scene file.
    pub scene_text: String,
    /// Overrides from the command line.
    pub overrides: Vec<String>,
    /// Frames per second \[1/s\].
    pub frame_rate: f64,
    /// Largest error of a coordinate, as a fraction of the size of its body; 0: exact.
    pub error: f64,
    /// Whether the stress of the cells is recorded.
    pub has_stress: bool,
    /// Whether contact points are recorded.
    pub has_contacts: bool,
    /// Deformable bodies in the first frame.
    pub bodies: Vec<RecordedBody>,
    /// What becomes of them when cells are taken away, in order of revisions; stored before the frames that they
    /// concern.
    pub changes: Vec<TopologyChange>,
    /// Rigid bodies and colliders.
    pub shapes: Vec<RecordedShape>,
    /// Names of the probes.
    pub probe_names: Vec<String>,
}

impl Header {
    /// Copies the constant data of a frame.
    pub(super) fn set_content(&mut self, frame: &Frame<'_>) {
        self.bodies = recorded_bodies(frame);
        let shapes = frame.shapes.iter();
        self.shapes = shapes
            .map(|s| RecordedShape { name: s.name.into(), shape: s.shape.clone(), is_dynamic: s.is_dynamic })
            .collect();
        self.probe_names = frame.probe_names.to_vec();
    }

    /// The bodies of frames of a revision.
    pub fn bodies_at(&self, revision: u64) -> &[RecordedBody] {
        let change = self.changes.iter().rev().find(|change| change.revision <= revision);
        change.map_or(&self.bodies, |change| &change.bodies)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::default();
        for text in [&self.program, &self.scene_name, &self.scene_text] {
            out.text(text);
        }
        out.list(self.overrides.iter(), |out, text| out.text(text));
        out.f64(self.frame_rate);
        out.f64(self.error);
        out.u8(u8::from(self.has_stress));
        out.u8(u8::from(self.has_contacts));
        out.list(self.bodies.iter(), write_body);
        out.list(self.shapes.iter(), |out, shape| {
            out.text(&shape.name);
            write_shape(out, &shape.shape);
            out.u8(u8::from(shape.is_dynamic));
        });
        out.list(self.probe_names.iter(), |out, name| out.text(name));
        out.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Header, StoreError> {
        let mut input = ByteReader::new(bytes);
        let header = Header {
            program: input.text("a version")?,
            scene_name: input.text("the name of the scene")?,
            scene_text: input.text("the scene")?,
            overrides: input.list(8, "the overrides", |input| input.text("an override"))?,
            frame_rate: input.f64("the frame rate")?,
            error: input.f64("the error")?,
            has_stress: input.u8("a flag")? != 0,
            has_contacts: input.u8("a flag")? != 0,
            bodies: input.list(8, "the bodies", read_body)?,
            changes: Vec::new(),
            shapes: input.list(8, "the shapes", |input| {
                let name = input.text("a name")?;
                let shape = read_shape(input)?;
                Ok(RecordedShape { name, shape, is_dynamic: input.u8("a flag")? != 0 })
            })?,
            probe_names: input.list(8, "the probes", |input| input.text("a name"))?,
        };
        if header.frame_rate > 0.0 && header.frame_rate.is_finite() && header.error >= 0.0 {
            Ok(header)
        } else {
            Err(input.broken("the frame rate or the error"))
        }
    }
}

fn recorded_bodies(frame: &Frame<'_>) -> Vec<RecordedBody> {
    let recorded = |body: &sinew_fem::BodyFrame<'_>| RecordedBody {
        name: body.name.into(),
        mesh: body.mesh.clone(),
        triangles: body.surface_triangles.to_vec(),
        nearest_nodes: body.surface_nodes.to_vec(),
        embedding: body.surface_embedding.cloned(),
    };
    frame.bodies.iter().map(recorded).collect()
}

fn write_body(out: &mut ByteWriter, body: &RecordedBody) {
    out.text(&body.name);
    write_mesh(out, &body.mesh);
    out.u32s(body.triangles.as_flattened());
    out.u32s(&body.nearest_nodes);
    out.list(body.embedding.iter(), |out, embedding| {
        out.u32s(embedding.ends());
        out.u32s(embedding.nodes());
        out.f64s(embedding.weights());
        out.u32s(embedding.cells());
    });
}

fn read_body(input: &mut ByteReader<'_>) -> Result<RecordedBody, StoreError> {
    let name = input.text("a name")?;
    let mesh = read_mesh(input)?;
    let corners = input.u32s("triangles")?;
    let nearest_nodes = input.u32s("nearest nodes")?;
    let mut embeddings = input.list(8, "an embedding", |input| {
        let (ends, nodes) = (input.u32s("carriers")?, input.u32s("carriers")?);
        let (weights, cells) = (input.f64s("weights")?, input.u32s("cells")?);
        Embedding::from_rows(&ends, nodes, weights, cells).ok_or_else(|| input.broken("an embedding"))
    })?;
    let embedding = embeddings.pop();
    let (nodes, vertices) = (mesh.node_count() as u32, nearest_nodes.len() as u32);
    let is_sound = nearest_nodes.iter().chain(embedding.iter().flat_map(|e| e.nodes())).all(|&node| node < nodes)
        && corners.iter().all(|&vertex| vertex < vertices)
        && embedding.iter().all(|embedding| embedding.len() == vertices as usize);
    if !is_sound {
        return Err(input.broken("the surface of a body"));
    }
    Ok(RecordedBody { name, mesh, triangles: corners.as_chunks().0.to_vec(), nearest_nodes, embedding })
}

fn write_mesh(out: &mut ByteWriter, mesh: &CellMesh) {
    out.vectors(mesh.positions());
    out.list(mesh.blocks().iter(), |out, block| {
        out.u8(match block.kind {
            CellKind::Tet4 => 4,
            CellKind::Hex8 => 8,
            CellKind::Tet10 => 10,
        });
        out.u32s(&block.nodes);
    });
    out.u32s(mesh.cell_labels());
    for sets in [mesh.node_sets(), mesh.cell_sets()] {
        out.list(sets.iter(), |out, (name, members)| {
            out.text(name);
            out.u32s(members);
        });
    }
    for fields in [mesh.node_fields(), mesh.cell_fields()] {
        out.list(fields.iter(), |out, (name, field)| {
            out.text(name);
            out.u64(field.components as u64);
            out.f64s(&field.values);
        });
    }
}

fn read_mesh(input: &mut ByteReader<'_>) -> Result<CellMesh, StoreError> {
    let positions = input.vectors("positions")?;
    let blocks = input.list(9, "blocks of cells", |input| {
        let kind = match input.u8("a kind of cells")? {
            4 => CellKind::Tet4,
            8 => CellKind::Hex8,
            10 => CellKind::Tet10,
            _ => return Err(input.broken("a kind of cells")),
        };
        Ok(CellBlock { kind, nodes: input.u32s("cells")? })
    })?;
    let broken = input.broken("a mesh");
    let Ok((mut mesh, report)) = CellMesh::branching(positions, blocks) else { return Err(broken) };
    // The recorded mesh was valid, so there is nothing to repair.
    if !report.is_clean() {
        return Err(broken);
    }
    let labels = input.u32s("labels")?;
    mesh = mesh.with_cell_labels(labels).map_err(|_| input.broken("labels"))?;
    for is_cells in [false, true] {
        for (name, members) in input.list(8, "sets", |input| Ok((input.text("a name")?, input.u32s("a set")?)))? {
            let added = if is_cells { mesh.with_cell_set(name, members) } else { mesh.with_node_set(name, members) };
            mesh = added.map_err(|_| input.broken("a set"))?;
        }
    }
    for is_cells in [false, true] {
        let fields = input.list(8, "fields", |input| {
            let name = input.text("a name")?;
            let components = input.u64("components")? as usize;
            Ok((name, MeshField { components, values: input.f64s("a field")? }))
        })?;
        for (name, field) in fields {
            if field.components > field.values.len().max(1) {
                return Err(input.broken("components"));
            }
            let added = if is_cells { mesh.with_cell_field(name, field) } else { mesh.with_node_field(name, field) };
            mesh = added.map_err(|_| input.broken("a field"))?;
        }
    }
    Ok(mesh)
}

fn write_surface(out: &mut ByteWriter, surface: &TriMesh) {
    out.vectors(surface.positions());
    out.u32s(surface.triangles().as_flattened());
}

fn read_surface(input: &mut ByteReader<'_>) -> Result<TriMesh, StoreError> {
    let what = "a surface";
    let positions = input.vectors(what)?;
    let corners = input.u32s(what)?;
    let (triangles, rest) = corners.as_chunks();
    if !rest.is_empty() {
        return Err(input.broken(what));
    }
    TriMesh::new(positions, triangles.to_vec()).map_err(|_| input.broken(what))
}

fn write_shape(out: &mut ByteWriter, shape: &AnyShape) {
    match shape {
        AnyShape::Plane(plane) => {
            out.u8(0);
            out.vector(plane.point);
            out.vector(plane.normal);
        }
        AnyShape::Sphere(sphere) => {
            out.u8(1);
            out.f64(sphere.radius);
        }
        AnyShape::Capsule(capsule) => {
            out.u8(2);
            out.f64(capsule.half_length);
            out.f64(capsule.radius);
        }
        AnyShape::Cuboid(cuboid) => {
            out.u8(3);
            out.vector(cuboid.half_size);
        }
        AnyShape::LevelSet(set) => {
            out.u8(4);
            out.f64(set.cell());
            write_surface(out, set.surface());
        }
    }
}

fn read_shape(input: &mut ByteReader<'_>) -> Result<AnyShape, StoreError> {
    let what = "a shape";
    let shape = match input.u8(what)? {
        // Fields as recorded: constructors would normalize a normal once more and change its last bit.
        0 => AnyShape::Plane(Plane { point: input.vector(what)?, normal: input.vector(what)? }),
        1 => AnyShape::Sphere(Sphere { radius: input.f64(what)? }),
        2 => AnyShape::Capsule(Capsule { half_length: input.f64(what)?, radius: input.f64(what)? }),
        3 => AnyShape::Cuboid(Cuboid { half_size: input.vector(what)? }),
        4 => {
            let cell = input.f64(what)?;
            let set = LevelSet::new(read_surface(input)?, Some(cell)).map_err(|_| input.broken(what))?;
            set.into()
        }
        _ => return Err(input.broken(what)),
    };
    Ok(shape)
}
