//! An image in a few lines: what `sinew mesh info` prints.

use std::fmt;

use super::data::{ImageData, Voxels};

/// What an image holds, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Number of voxels along each axis of the image.
    pub size: [usize; 3],
    /// Way from a voxel to the next along each axis of the image \[m\].
    pub spacing: [f64; 3],
    /// Where each axis of the image leads, nearest: `R`, `L`, `A`, `P`, `S` or `I`.
    pub axes: String,
    /// Center of the first voxel \[m\], RAS.
    pub origin: [f64; 3],
    /// Labels with their names and numbers of voxels, background included; none for gray values.
    pub labels: Vec<(u16, String, usize)>,
    /// Least and largest gray value.
    pub range: Option<[f32; 2]>,
    /// Labels of the table that no voxel has.
    pub unused: Vec<(u16, String)>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Looks at an image.
pub fn describe(image: &ImageData) -> Description {
    let counts = image.label_counts();
    let name = |label: u16| {
        if label == 0 && image.table.get(0).is_none() { "background".to_string() } else { image.table.name(label) }
    };
    let range = match &image.voxels {
        Voxels::Labels(_) => None,
        Voxels::Grey(values) => {
            Some(values.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], &v| [low.min(v), high.max(v)]))
        }
    };
    let unused = image.table.iter().filter(|(label, _)| *label != 0 && !counts.contains_key(label));
    Description {
        size: image.grid.size,
        spacing: image.spacing().to_array(),
        axes: (0..3).map(|axis| direction(image, axis)).collect(),
        origin: image.grid.origin.to_array(),
        labels: counts.iter().map(|(&label, &count)| (label, name(label), count)).collect(),
        range: range.filter(|[low, high]| low <= high),
        unused: unused.map(|(label, info)| (label, info.name.clone())).collect(),
        notes: image.notes.clone(),
    }
}

/// The side of the body to which an axis of the image leads.
fn direction(image: &ImageData, axis: usize) -> char {
    let way = image.grid.axes.column(axis).to_array();
    let strongest = (0..3).fold(0, |best, i| if way[i].abs() > way[best].abs() { i } else { best });
    let sides = [['R', 'L'], ['A', 'P'], ['S', 'I']][strongest];
    sides[usize::from(way[strongest] < 0.0)]
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.size;
        let [a, b, c] = self.spacing.map(|length| length * 1e3);
        let sides = [a * x as f64, b * y as f64, c * z as f64];
        writeln!(f, "  voxels   {x} × {y} × {z}")?;
        writeln!(f, "  spacing  {a:.4} × {b:.4} × {c:.4} mm")?;
        writeln!(f, "  size     {:.1} × {:.1} × {:.1} mm", sides[0], sides[1], sides[2])?;
        writeln!(f, "  axes     {} (the image's x, y, z lead there)", self.axes)?;
        if let Some([low, high]) = self.range {
            writeln!(f, "  values   gray, {low} … {high}")?;
        }
        let voxel = self.spacing.iter().product::<f64>() * 1e6;
        for (number, (label, name, count)) in self.labels.iter().enumerate() {
            let title = if number == 0 { "labels" } else { "" };
            let volume = *count as f64 * voxel;
            writeln!(f, "  {title:8} {label:5}  {name}: {count} voxels, {volume:.2} cm³")?;
        }
        for (number, (label, name)) in self.unused.iter().enumerate() {
            writeln!(f, "  {:8} {label:5}  {name}", if number == 0 { "unused" } else { "" })?;
        }
        for (number, note) in self.notes.iter().enumerate() {
            writeln!(f, "  {:8} {note}", if number == 0 { "notes" } else { "" })?;
        }
        Ok(())
    }
}
