//! Fields that color a surface: from cells and nodes to surface vertices.

use sinew_fem::{BodyFrame, RecordError};
use sinew_raster::{ColorMap, rounded_range};
use sinew_scene::spec::material::FIBER_FIELD;

/// A field that pictures can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorField {
    /// Von Mises stress \[Pa\].
    VonMises,
    /// Volume ratio J.
    VolumeRatio,
    /// Largest principal stretch.
    Stretch,
    /// Stretch of muscle fibers; 1 where there are none.
    FiberStretch,
    /// Length of the displacement \[m\].
    Displacement,
    /// Speed \[m/s\].
    Speed,
    /// Cell label.
    Label,
}

impl ColorField {
    /// Names in scenes.
    pub const NAMES: [(&'static str, ColorField); 7] = [
        ("von_mises", ColorField::VonMises),
        ("J", ColorField::VolumeRatio),
        ("stretch", ColorField::Stretch),
        ("fiber_stretch", ColorField::FiberStretch),
        ("displacement", ColorField::Displacement),
        ("speed", ColorField::Speed),
        ("label", ColorField::Label),
    ];

    /// The field with a name.
    pub fn from_name(name: &str) -> Result<ColorField, RecordError> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, field)| field).ok_or_else(|| {
            let known: Vec<&str> = Self::NAMES.iter().map(|(known, _)| *known).collect();
            RecordError::Unsupported {
                format: "picture",
                reason: format!("there is no field `{name}` to color by; fields are {}", known.join(", ")),
            }
        })
    }

    pub(crate) fn map(self) -> ColorMap {
        match self {
            ColorField::VolumeRatio | ColorField::FiberStretch => ColorMap::Diverging,
            _ => ColorMap::Sequential,
        }
    }

    /// Name, unit and factor for a legend whose largest magnitude is `largest` in SI units.
    pub(crate) fn legend(self, largest: f64) -> (String, f64) {
        let (name, units): (&str, &[(&str, f64)]) = match self {
            ColorField::VonMises => ("von Mises stress", &[("MPa", 1e-6), ("kPa", 1e-3), ("Pa", 1.0)]),
            ColorField::VolumeRatio => ("volume ratio J", &[]),
            ColorField::Stretch => ("largest stretch", &[]),
            ColorField::FiberStretch => ("fiber stretch", &[]),
            ColorField::Displacement => ("displacement", &[("m", 1.0), ("cm", 1e2), ("mm", 1e3)]),
            ColorField::Speed => ("speed", &[("m/s", 1.0), ("mm/s", 1e3)]),
            ColorField::Label => ("label", &[]),
        };
        // The first unit without a leading zero; the last for the smallest values.
        match units.iter().find(|(_, factor)| largest * factor >= 1.0).or(units.last()) {
            Some((unit, factor)) => (format!("{name} [{unit}]"), *factor),
            None => (name.into(), 1.0),
        }
    }

    /// The range of the color map from the smallest and largest value seen.
    pub(crate) fn range(self, min: f64, max: f64) -> [f64; 2] {
        match self {
            // One is the center of the map: no change of volume or length.
            ColorField::VolumeRatio | ColorField::FiberStretch => {
                let reach = (max - 1.0).max(1.0 - min).max(1e-3);
                [1.0 - reach, 1.0 + reach]
            }
            ColorField::VonMises | ColorField::Displacement | ColorField::Speed => [0.0, max.max(1e-12)],
            ColorField::Stretch | ColorField::Label => [min, max],
        }
    }

    /// [`ColorField::range`] with round ends in the unit of the legend.
    pub(crate) fn round_range(self, [min, max]: [f64; 2]) -> [f64; 2] {
        let [min, max] = self.range(min, max);
        let (_, factor) = self.legend(min.abs().max(max.abs()));
        match self {
            ColorField::Label => [min, max],
            // Both ends at once, around one.
            ColorField::VolumeRatio | ColorField::FiberStretch => {
                let [_, reach] = rounded_range(0.0, max - 1.0);
                [1.0 - reach, 1.0 + reach]
            }
            _ => rounded_range(min * factor, max * factor).map(|end| end / factor),
        }
    }

    /// Values at the surface vertices of a body.
    pub(crate) fn surface_values(self, body: &BodyFrame<'_>) -> Vec<f32> {
        let nodal: Vec<f64> = match self {
            ColorField::Displacement => {
                body.positions.iter().zip(body.mesh.positions()).map(|(&x, &rest)| (x - rest).norm()).collect()
            }
            ColorField::Speed => body.velocities.iter().map(|v| v.norm()).collect(),
            ColorField::VonMises => averaged(body, &body.cell_fields().von_mises),
            ColorField::VolumeRatio => averaged(body, &body.cell_fields().volume_ratio),
            ColorField::Stretch => {
                averaged(body, &body.cell_fields().principal_stretches.iter().map(|s| s.x).collect::<Vec<f64>>())
            }
            ColorField::FiberStretch => averaged(body, &fiber_stretches(body)),
            ColorField::Label => {
                averaged(body, &body.mesh.cell_labels().iter().map(|&l| f64::from(l)).collect::<Vec<f64>>())
            }
        };
        body.surface_nodes.iter().map(|&node| nodal.get(node as usize).map_or(f32::NAN, |&v| v as f32)).collect()
    }
}

/// |F a| of each cell; 1 without fibers.
fn fiber_stretches(body: &BodyFrame<'_>) -> Vec<f64> {
    let deformations = body.cell_fields().deformation_gradient;
    let Some(field) = body.mesh.cell_fields().get(FIBER_FIELD).filter(|field| field.components == 3) else {
        return vec![1.0; deformations.len()];
    };
    let stretch = |(cell, deformation): (usize, &sinew_math::Mat3)| {
        let a = &field.values[3 * cell..3 * cell + 3];
        let moved = *deformation * sinew_math::Vec3::new(a[0], a[1], a[2]);
        if a == [0.0; 3] { 1.0 } else { moved.norm() }
    };
    deformations.iter().enumerate().map(stretch).collect()
}

/// Mean over the cells around each node: a smooth picture of a field that is constant in each cell.
fn averaged(body: &BodyFrame<'_>, cells: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); body.mesh.node_count()];
    for (cell, &value) in cells.iter().enumerate() {
        for &node in body.mesh.cell_nodes(cell) {
            sums[node as usize].0 += value;
            sums[node as usize].1 += 1.0;
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_choose_readable_units() {
        assert_eq!(ColorField::VonMises.legend(25_000.0), ("von Mises stress [kPa]".into(), 1e-3));
        assert_eq!(ColorField::VonMises.legend(2.5e6), ("von Mises stress [MPa]".into(), 1e-6));
        assert_eq!(ColorField::Displacement.legend(1e-4), ("displacement [mm]".into(), 1e3));
        assert_eq!(ColorField::VolumeRatio.legend(1.2).1, 1.0);
    }

    #[test]
    fn volume_ratio_is_centered_on_one() {
        assert_eq!(ColorField::VolumeRatio.range(0.75, 1.125), [0.75, 1.25]);
    }

    #[test]
    fn color_bars_end_at_round_numbers() {
        assert_eq!(ColorField::VonMises.round_range([120.0, 14_700.0]), [0.0, 15_000.0]);
        let [low, high] = ColorField::VolumeRatio.round_range([0.934, 1.01]);
        assert!((low - 0.93).abs() < 1e-9 && (high - 1.07).abs() < 1e-9, "{low} {high}");
        assert_eq!(ColorField::Label.round_range([0.0, 7.0]), [0.0, 7.0]);
        assert_eq!(ColorField::Speed.round_range([0.0, 0.0])[0], 0.0);
    }

    #[test]
    fn unknown_field_lists_the_known() {
        let error = ColorField::from_name("vonmises").unwrap_err().to_string();
        assert!(error.contains("vonmises") && error.contains("von_mises"), "{error}");
    }
}
