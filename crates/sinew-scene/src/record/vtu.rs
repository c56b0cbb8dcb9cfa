//! VTU and PVD: unstructured grids with fields for ParaView, VisIt and PyVista.
//!
//! A VTU file is XML that describes arrays, followed by their bytes ("appended raw"): each array is its length in bytes as
//! little-endian `u64` and the little-endian numbers. A PVD file lists the VTU files of all times.
//! Reference: Kitware, "VTK File Formats".

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sinew_fem::{BodyFrame, Frame, RecordError, Recorder};
use sinew_geometry::{CellKind, CellMesh};
use sinew_math::{Mat3, Vec3};

use super::atomic::write_file;
use super::names::{escaped, file_stem};

/// Values at every point or cell of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name in the file.
    pub name: &'static str,
    /// Numbers per point or cell: 1, 3 or 9.
    pub components: usize,
    /// All numbers, flat.
    pub values: Vec<f64>,
}

impl Field {
    /// One number each.
    pub fn scalars(name: &'static str, values: Vec<f64>) -> Field {
        Field { name, components: 1, values }
    }

    /// A vector each.
    pub fn vectors(name: &'static str, values: &[Vec3]) -> Field {
        Field { name, components: 3, values: values.iter().flat_map(|v| [v.x, v.y, v.z]).collect() }
    }

    /// A 3 × 3 tensor each, row by row.
    pub fn tensors(name: &'static str, values: &[Mat3]) -> Field {
        Field { name, components: 9, values: values.iter().flat_map(|m| m.rows.into_iter().flatten()).collect() }
    }
}

/// Names of the cell fields that [`VtuRecorder`] can write, as `[record] fields` selects them.
pub const CELL_FIELDS: [&str; 6] = ["F", "J", "cauchy_stress", "von_mises", "principal_stretches", "label"];

/// VTK's number of a cell type.
pub(crate) fn vtk_cell_type(kind: CellKind) -> u8 {
    match kind {
        CellKind::Tet4 => 10,
        CellKind::Hex8 => 12,
    }
}

/// Bytes of a VTU file: the cells of `mesh` at `positions`, with fields.
pub fn encode_vtu(mesh: &CellMesh, positions: &[Vec3], point_fields: &[Field], cell_fields: &[Field]) -> Vec<u8> {
    let (mut connectivity, mut offsets, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for block in mesh.blocks() {
        for cell in block.cells() {
            connectivity.extend(cell.iter().flat_map(|&node| i64::from(node).to_le_bytes()));
            offsets.extend(((connectivity.len() / 8) as i64).to_le_bytes());
            types.push(vtk_cell_type(block.kind));
        }
    }
    let mut body = Body::default();
    let mut xml = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  <UnstructuredGrid>\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(xml, "    <Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">", positions.len(), mesh.cell_count());
    xml.push_str("      <PointData>\n");
    point_fields.iter().for_each(|field| body.field(&mut xml, field));
    xml.push_str("      </PointData>\n      <CellData>\n");
    cell_fields.iter().for_each(|field| body.field(&mut xml, field));
    xml.push_str("      </CellData>\n      <Points>\n");
    body.field(&mut xml, &Field::vectors("Points", positions));
    xml.push_str("      </Points>\n      <Cells>\n");
    body.array(&mut xml, "Int64", "connectivity", 1, &connectivity);
    body.array(&mut xml, "Int64", "offsets", 1, &offsets);
    body.array(&mut xml, "UInt8", "types", 1, &types);
    xml.push_str("      </Cells>\n    </Piece>\n  </UnstructuredGrid>\n  <AppendedData encoding=\"raw\">\n   _");
    let mut bytes = xml.into_bytes();
    bytes.extend(body.0);
    bytes.extend(b"\n  </AppendedData>\n</VTKFile>\n");
    bytes
}

/// The appended arrays.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn field(&mut self, xml: &mut String, field: &Field) {
        let bytes: Vec<u8> = field.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.array(xml, "Float64", field.name, field.components, &bytes);
    }

    fn array(&mut self, xml: &mut String, kind: &str, name: &str, components: usize, bytes: &[u8]) {
        let _ = writeln!(
            xml,
            "        <DataArray type=\"{kind}\" Name=\"{}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{}\"/>",
            escaped(name),
            self.0.len()
        );
        self.0.extend((bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}

/// Writes one VTU file per body and frame, and a PVD file over all of them.
pub struct VtuRecorder {
    path: PathBuf,
    /// Folder of the VTU files, relative to the folder of the PVD file.
    folder: String,
    fields: Option<Vec<String>>,
    entries: Vec<Entry>,
    is_finished: bool,
}

struct Entry {
    time: f64,
    part: usize,
    name: String,
    file: String,
}

impl VtuRecorder {
    /// `path` is the PVD file; the VTU files go into a folder beside it. `fields` selects from [`CELL_FIELDS`].
    pub fn create(path: impl Into<PathBuf>, fields: Option<Vec<String>>) -> Result<VtuRecorder, RecordError> {
        if let Some(unknown) = fields.iter().flatten().find(|name| !CELL_FIELDS.contains(&name.as_str())) {
            return Err(RecordError::Unsupported {
                format: "VTU",
                reason: format!("there is no cell field `{unknown}`; there are {}", CELL_FIELDS.join(", ")),
            });
        }
        let path = path.into();
        let folder = path.file_stem().map_or_else(|| "vtu".into(), |stem| stem.to_string_lossy().into_owned());
        Ok(VtuRecorder { path, folder, fields, entries: Vec::new(), is_finished: false })
    }

    fn has(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
    }

    fn body_fields(&self, body: &BodyFrame<'_>) -> (Vec<Field>, Vec<Field>) {
        let displacement: Vec<Vec3> =
            body.positions.iter().zip(body.mesh.positions()).map(|(&x, &rest)| x - rest).collect();
        let points = vec![Field::vectors("displacement", &displacement), Field::vectors("velocity", body.velocities)];
        let mut cells = Vec::new();
        // Everything but the label needs a pass over the mesh.
        if CELL_FIELDS.iter().any(|&name| name != "label" && self.has(name)) {
            let all = body.cell_fields();
            let mut push = |field: Field| {
                if self.has(field.name) {
                    cells.push(field);
                }
            };
            push(Field::tensors("F", &all.deformation_gradient));
            push(Field::scalars("J", all.volume_ratio));
            push(Field::tensors("cauchy_stress", &all.cauchy_stress));
            push(Field::scalars("von_mises", all.von_mises));
            push(Field::vectors("principal_stretches", &all.principal_stretches));
        }
        if self.has("label") {
            cells.push(Field::scalars("label", body.mesh.cell_labels().iter().map(|&l| f64::from(l)).collect()));
        }
        (points, cells)
    }
}

impl Recorder for VtuRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        for (part, body) in frame.bodies.iter().enumerate() {
            let (points, cells) = self.body_fields(body);
            let file = format!("{}/{}_{:05}.vtu", self.folder, file_stem(body.name, part), frame.index);
            let bytes = encode_vtu(body.mesh, body.positions, &points, &cells);
            write_file(self.path.with_file_name("").join(&file), &bytes)?;
            self.entries.push(Entry { time: frame.time, part, name: body.name.into(), file });
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if !self.is_finished {
            self.is_finished = true;
            write_file(&self.path, encode_pvd(&self.entries).as_bytes())?;
        }
        Ok(())
    }
}

fn encode_pvd(entries: &[Entry]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n  <Collection>\n",
    );
    for entry in entries {
        let _ = writeln!(
            xml,
            "    <DataSet timestep=\"{}\" group=\"\" part=\"{}\" name=\"{}\" file=\"{}\"/>",
            entry.time,
            entry.part,
            escaped(&entry.name),
            escaped(&entry.file)
        );
    }
    xml.push_str("  </Collection>\n</VTKFile>\n");
    xml
}

/// Writes a single grid, for tools that have a mesh and no simulation.
pub fn write_vtu(
    path: &Path,
    mesh: &CellMesh,
    point_fields: &[Field],
    cell_fields: &[Field],
) -> Result<(), RecordError> {
    write_file(path, &encode_vtu(mesh, mesh.positions(), point_fields, cell_fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::vtu::read_vtu;
    use crate::import::xml;
    use sinew_geometry::CellBlock;

    /// A unit hexahedron with a tetrahedron on its top.
    pub(crate) fn mixed_mesh() -> CellMesh {
        let mut positions: Vec<Vec3> = [[0., 0.], [1., 0.], [1., 1.], [0., 1.]]
            .iter()
            .flat_map(|&[x, y]| [Vec3::new(x, y, 0.0), Vec3::new(x, y, 1.0)])
            .collect();
        positions.push(Vec3::new(0.3, 0.3, 2.0));
        let hex = CellBlock { kind: CellKind::Hex8, nodes: vec![0, 2, 4, 6, 1, 3, 5, 7] };
        let tet = CellBlock { kind: CellKind::Tet4, nodes: vec![1, 3, 5, 8] };
        CellMesh::new(positions, vec![hex, tet]).unwrap().0
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let mesh = mixed_mesh();
        let velocity: Vec<Vec3> = mesh.positions().iter().map(|&p| p * 0.1).collect();
        let fields = [Field::scalars("von_mises", vec![1e300, -0.1])];
        let bytes = encode_vtu(&mesh, mesh.positions(), &[Field::vectors("velocity", &velocity)], &fields);
        let grid = read_vtu(&bytes).unwrap();
        assert_eq!(grid.positions, mesh.positions());
        assert_eq!(grid.point_field("velocity").unwrap().components, 3);
        assert_eq!(grid.cell_field("von_mises").unwrap().values, [1e300, -0.1]);
        let (back, report) = grid.into_mesh().unwrap();
        assert!(report.is_clean(), "{report}");
        assert_eq!((back.node_count(), back.cell_count()), (9, 2));
        assert!((back.volume() - mesh.volume()).abs() < 1e-15);
    }

    #[test]
    fn index_is_well_formed_whatever_the_names() {
        let entry = Entry { time: 0.1, part: 0, name: "a<\"&>b".into(), file: "x/y_00001.vtu".into() };
        let text = encode_pvd(&[entry]);
        let mut reader = xml::Reader::new(text.as_bytes());
        let mut sets = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            if let xml::Event::Start(element) = event
                && element.name == "DataSet"
            {
                sets.push((
                    element.attribute("name").unwrap().to_string(),
                    element.attribute("timestep").unwrap().to_string(),
                ));
            }
        }
        assert_eq!(sets, [("a<\"&>b".to_string(), "0.1".to_string())]);
    }

    #[test]
    fn unknown_field_is_named() {
        let error = VtuRecorder::create("x.pvd", Some(vec!["vonmises".into()])).err().unwrap().to_string();
        assert!(error.contains("vonmises") && error.contains("von_mises"), "{error}");
    }
}
