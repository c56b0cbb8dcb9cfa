//! VTU and PVD: unstructured grids with fields for ParaView, VisIt and PyVista.
//!
//! One VTU file per body and frame; a PVD file lists them all with their times.

use std::fmt::Write;
use std::path::PathBuf;

use sinew_fem::{BodyFrame, Frame, RecordError, Recorder};
use sinew_io::{Field, MeshData, WriteOptions};
use sinew_math::{Mat3, Vec3};
use sinew_scene::output::file_stem;

use super::FileRecorder;
use super::names::escaped;
use super::sequence::Sequence;

/// A field of vectors.
fn vectors(name: &str, values: &[Vec3]) -> Field {
    Field { name: name.into(), components: 3, values: values.iter().flat_map(|v| v.to_array()).collect() }
}

/// A field of 3 × 3 tensors, row by row.
fn tensors(name: &str, values: &[Mat3]) -> Field {
    Field {
        name: name.into(),
        components: 9,
        values: values.iter().flat_map(|m| m.rows.into_iter().flatten()).collect(),
    }
}

/// Names of the cell fields that [`VtuRecorder`] can write, as `[record] fields` selects them.
pub const CELL_FIELDS: [&str; 6] = ["F", "J", "cauchy_stress", "von_mises", "principal_stretches", "label"];

/// Writes one VTU file per body and frame, and a PVD file over all of them.
pub struct VtuRecorder {
    path: PathBuf,
    /// Folder of the VTU files, relative to the folder of the PVD file.
    folder: String,
    fields: Option<Vec<String>>,
    entries: Vec<Entry>,
    files: Sequence,
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
                reason: format!("there is no cell field `{unknown}`; fields are {}", CELL_FIELDS.join(", ")),
            });
        }
        let path = path.into();
        let folder = path.file_stem().map_or_else(|| "vtu".into(), |stem| stem.to_string_lossy().into_owned());
        Ok(VtuRecorder { path, folder, fields, entries: Vec::new(), files: Sequence::default(), is_finished: false })
    }

    fn has(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
    }

    fn grid(&self, body: &BodyFrame<'_>) -> Result<MeshData, RecordError> {
        let displacement: Vec<Vec3> =
            body.positions.iter().zip(body.mesh.positions()).map(|(&x, &rest)| x - rest).collect();
        let mut grid = MeshData { points: body.positions.to_vec(), ..MeshData::from(body.mesh) };
        grid.point_fields.extend([vectors("displacement", &displacement), vectors("velocity", body.velocities)]);
        // Fields of the mesh stay; the label is one of the fields to choose from.
        grid.cell_fields.retain(|field| field.name != "label");
        if self.has("label") {
            let labels = body.mesh.cell_labels().iter().map(|&label| f64::from(label)).collect();
            grid.cell_fields.push(Field::scalars("label", labels));
        }
        // Everything except the label needs a pass over the mesh.
        if CELL_FIELDS.iter().any(|&name| name != "label" && self.has(name)) {
            let all = body.cell_fields();
            let is_asked = |name: &str| self.fields.is_some() && self.has(name);
            if all.cauchy_stress.is_empty() && (is_asked("cauchy_stress") || is_asked("von_mises")) {
                let reason = "the recording has no stress; record it with `stress = true` in [record]".into();
                return Err(RecordError::Unsupported { format: "VTU", reason });
            }
            let fields = [
                tensors("F", &all.deformation_gradient),
                Field::scalars("J", all.volume_ratio),
                tensors("cauchy_stress", &all.cauchy_stress),
                Field::scalars("von_mises", all.von_mises),
                vectors("principal_stretches", &all.principal_stretches),
            ];
            grid.cell_fields.extend(fields.into_iter().filter(|field| self.has(&field.name) && !field.is_empty()));
        }
        Ok(grid)
    }
}

impl VtuRecorder {
    /// Bytes of the file of a body.
    pub(super) fn encode(&self, body: &BodyFrame<'_>) -> Result<Vec<u8>, RecordError> {
        let unfit = |error: sinew_io::WriteError| RecordError::Unsupported { format: "VTU", reason: error.to_string() };
        sinew_io::vtu::write(&self.grid(body)?, &WriteOptions::default()).map_err(unfit)
    }
}

impl Recorder for VtuRecorder {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        for (part, body) in frame.bodies.iter().enumerate() {
            let file = format!("{}/{}_{:05}.vtu", self.folder, file_stem(body.name, part), frame.index);
            let bytes = self.encode(body)?;
            self.files.put(self.path.with_file_name("").join(&file), &bytes)?;
            self.entries.push(Entry { time: frame.time, part, name: body.name.into(), file });
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if !self.is_finished {
            self.is_finished = true;
            self.files.put(self.path.clone(), encode_pvd(&self.entries).as_bytes())?;
            self.files.keep();
        }
        Ok(())
    }
}

impl FileRecorder for VtuRecorder {
    fn files(&self) -> Vec<PathBuf> {
        self.files.files().to_vec()
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

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_io::xml;

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
