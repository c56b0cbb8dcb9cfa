//! What an image holds, whatever file it came from.

use std::collections::BTreeMap;

use sinew_geometry::VoxelGrid;
use sinew_math::{Mat3, Vec3};

use crate::error::{Place, ReadError};

/// A volume: where its voxels are, what they hold, and what is to be known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageData {
    /// Where the voxels are, in meters and in the RAS world of NIfTI.
    pub grid: VoxelGrid,
    /// What they hold, x fastest.
    pub voxels: Voxels,
    /// Names and colors of labels, from the file or a table beside it.
    pub table: LabelTable,
    /// What a person should know: units that were guessed, axes that are sheared or mirrored, parts left out.
    pub notes: Vec<String>,
}

/// What the voxels of an image hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Voxels {
    /// Numbers of tissues; 0 is background.
    Labels(Vec<u16>),
    /// Brightness, density or a probability.
    Grey(Vec<f32>),
}

impl Voxels {
    /// Number of voxels.
    pub fn len(&self) -> usize {
        match self {
            Voxels::Labels(labels) => labels.len(),
            Voxels::Grey(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is known of a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelInfo {
    /// Its name, as in the file.
    pub name: String,
    /// Red, green, blue, each from 0 to 1.
    pub color: Option<[f32; 3]>,
}

/// Names and colors of labels, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelTable(pub BTreeMap<u16, LabelInfo>);

impl LabelTable {
    /// What is known of a label.
    pub fn get(&self, label: u16) -> Option<&LabelInfo> {
        self.0.get(&label)
    }

    /// The name of a label, or `label 7` where the table has none.
    pub fn name(&self, label: u16) -> String {
        match self.get(label) {
            Some(info) if !info.name.is_empty() => info.name.clone(),
            _ => format!("label {label}"),
        }
    }

    /// The first label with a name, ignoring case.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.0.iter().find(|(_, info)| info.name.eq_ignore_ascii_case(name)).map(|(label, _)| *label)
    }

    /// Adds a label, or replaces what was known of it.
    pub fn insert(&mut self, label: u16, name: impl Into<String>, color: Option<[f32; 3]>) {
        self.0.insert(label, LabelInfo { name: name.into(), color });
    }

    /// Labels with their names and colors, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &LabelInfo)> {
        self.0.iter().map(|(label, info)| (*label, info))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl ImageData {
    /// An image of labels without names.
    pub fn of_labels(grid: VoxelGrid, labels: Vec<u16>) -> ImageData {
        ImageData { grid, voxels: Voxels::Labels(labels), table: LabelTable::default(), notes: Vec::new() }
    }

    /// An image of gray values.
    pub fn of_grey(grid: VoxelGrid, values: Vec<f32>) -> ImageData {
        ImageData { grid, voxels: Voxels::Grey(values), table: LabelTable::default(), notes: Vec::new() }
    }

    /// The labels; an error that names the first value that is none where the image holds gray values.
    pub fn labels(&self) -> Result<&[u16], ReadError> {
        match &self.voxels {
            Voxels::Labels(labels) => Ok(labels),
            Voxels::Grey(values) => Err(self.not_labels(values)),
        }
    }

    /// The image with gray values taken as labels, where each is an integer from 0 to 65535.
    pub fn into_labels(mut self) -> Result<ImageData, ReadError> {
        if let Voxels::Grey(values) = &self.voxels {
            if !values.iter().all(|value| is_label(*value)) {
                return Err(self.not_labels(values));
            }
            self.voxels = Voxels::Labels(values.iter().map(|value| *value as u16).collect());
        }
        Ok(self)
    }

    /// How many voxels each label has, by number, without those that have none.
    pub fn label_counts(&self) -> BTreeMap<u16, usize> {
        let Voxels::Labels(labels) = &self.voxels else { return BTreeMap::new() };
        let mut counts = vec![0usize; 1 << 16];
        for label in labels {
            counts[usize::from(*label)] += 1;
        }
        (0..=u16::MAX).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Way from a voxel to the next along each axis of the image \[m\].
    pub fn spacing(&self) -> Vec3 {
        Vec3::from(std::array::from_fn(|axis| self.grid.axes.column(axis).norm()))
    }

    /// Whether the axes of the image are left-handed, so that triangles made in voxels are inside out in the world.
    pub fn is_mirrored(&self) -> bool {
        self.grid.axes.determinant() < 0.0
    }

    /// The same image with right-handed axes: where they are left-handed the rows of voxels are turned around. Every
    /// voxel stays where it is in the world.
    pub fn right_handed(mut self) -> ImageData {
        if !self.is_mirrored() || self.grid.is_empty() {
            return self;
        }
        let row = self.grid.size[0];
        let x = self.grid.axes.column(0);
        self.grid.origin += x * (row - 1) as f64;
        self.grid.axes.set_column(0, -x);
        match &mut self.voxels {
            Voxels::Labels(labels) => labels.chunks_mut(row).for_each(<[u16]>::reverse),
            Voxels::Grey(values) => values.chunks_mut(row).for_each(<[f32]>::reverse),
        }
        self
    }

    /// The voxel of an index into the array.
    pub fn voxel_of(&self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.grid.size.map(|size| size.max(1));
        [index % nx, index / nx % ny, index / nx / ny]
    }

    fn not_labels(&self, values: &[f32]) -> ReadError {
        let found = values.iter().position(|value| !is_label(*value));
        let what = match found {
            Some(index) => {
                let [i, j, k] = self.voxel_of(index);
                format!("gray values as labels: voxel ({i}, {j}, {k}) holds {}, and they", values[index])
            }
            None => "gray values as labels: neighbors differ nearly everywhere, and they".into(),
        };
        let slice = found.map_or(0, |index| self.voxel_of(index)[2]);
        let hint =
            "labels are integers from 0 to 65535, one for each tissue; segment the image first, or give its labels";
        ReadError::Unsupported { place: Place::Slice(slice), what, hint }
    }
}

/// Whether a gray value may be a label.
fn is_label(value: f32) -> bool {
    (0.0..=65535.0).contains(&value) && value.fract() == 0.0
}

/// Half a turn about z, which leads from the LPS world of DICOM to the RAS world of NIfTI and back.
pub(crate) fn turned(axes: &Mat3) -> Mat3 {
    Mat3::diagonal(Vec3::new(-1.0, -1.0, 1.0)) * *axes
}
