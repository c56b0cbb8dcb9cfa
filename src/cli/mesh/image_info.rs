//! `sinew mesh info` of a volume: size, spacing, axes, labels.

use std::path::Path;

use serde_json::{Value, json};
use sinew_io::image::{self, Description, ImageFormat};

use super::super::Failure;

/// Content of a volume.
pub(super) struct ImageFacts {
    file: String,
    format: &'static str,
    facts: Description,
}

impl ImageFacts {
    /// Whether a path names a volume: a file by its extension, or a folder of slices.
    pub fn are_of(path: &Path) -> bool {
        image::is_image(path)
    }

    pub fn read(path: &Path) -> Result<Self, Failure> {
        let volume = image::load(path).map_err(|error| Failure::Other(error.to_string()))?;
        let format = ImageFormat::from_name(&path.to_string_lossy()).map_or("slices", ImageFormat::name);
        Ok(Self { file: path.display().to_string(), format, facts: image::describe(&volume) })
    }

    pub fn to_text(&self) -> String {
        format!("{}: volume ({})\n{}", self.file, self.format, self.facts)
    }

    pub fn to_json(&self) -> Value {
        let facts = &self.facts;
        let labels: Vec<Value> = facts
            .labels
            .iter()
            .map(|(label, name, count)| json!({ "label": label, "name": name, "voxels": count }))
            .collect();
        json!({
            "file": self.file,
            "format": self.format,
            "size": facts.size,
            "spacing": facts.spacing,
            "axes": facts.axes,
            "origin": facts.origin,
            "labels": labels,
            "range": facts.range,
            "notes": facts.notes,
        })
    }
}
