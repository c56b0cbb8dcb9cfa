//! Which probes tables and plots of a conversion show.

use sinew_fem::Frame;
use sinew_scene::nearest;

use super::ConvertError;

/// Positions of the probes whose names contain one of the wanted texts. Every text must be in some name.
pub fn matching_probes(names: &[String], wanted: &[String]) -> Result<Vec<usize>, ConvertError> {
    let is_in = |text: &String, name: &String| name.contains(text.as_str());
    if let Some(unknown) = wanted.iter().find(|text| !names.iter().any(|name| is_in(text, name))) {
        let hint = match nearest(unknown, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("among its {} probes are {}", names.len(), names[..names.len().min(6)].join(", ")),
        };
        return Err(ConvertError::NoProbe { name: unknown.clone(), hint });
    }
    Ok((0..names.len()).filter(|&at| wanted.iter().any(|text| is_in(text, &names[at]))).collect())
}

/// Some probes of a recording.
pub(super) struct Choice {
    positions: Vec<usize>,
    names: Vec<String>,
    values: Vec<f64>,
}

impl Choice {
    /// The probes whose names contain one of the wanted texts.
    pub fn new(names: &[String], wanted: &[String]) -> Result<Choice, ConvertError> {
        let positions = matching_probes(names, wanted)?;
        let names = positions.iter().map(|&at| names[at].clone()).collect();
        Ok(Choice { positions, names, values: Vec::new() })
    }

    /// A frame with the chosen probes only, without bodies.
    pub fn of<'a>(&'a mut self, frame: &Frame<'a>) -> Frame<'a> {
        self.values.clear();
        self.values.extend(self.positions.iter().map(|&at| frame.probe_values[at]));
        Frame {
            bodies: Vec::new(),
            shapes: Vec::new(),
            contacts: &[],
            probe_names: &self.names,
            probe_values: &self.values,
            ..*frame
        }
    }
}
