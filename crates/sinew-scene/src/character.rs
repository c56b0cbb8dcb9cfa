//! Characters from files, as a scene uses them.

use std::path::Path;

use sinew_rig::{Flesh, FleshParams, Performance, Rig};

use crate::spec::rig as spec;
use crate::value::{Dimension, format_quantity};

/// A character with its flesh.
#[derive(Clone, Debug)]
pub(crate) struct Character {
    pub rig: Rig,
    pub flesh: Flesh,
}

impl Character {
    /// Reads a character and puts its flesh together; else the keys of the body that are wrong, and why.
    pub fn load(path: &Path, settings: &spec::Rig) -> Result<Self, Vec<(&'static str, String)>> {
        let rig = sinew_io::load_rig(path).map_err(|error| vec![("mesh.surface", error.to_string())])?;
        let mut problems = Vec::new();
        let animation = rig.animation(settings.animation.as_deref());
        match animation.as_ref().map(|animation| animation.and_then(|animation| animation.span())) {
            _ if rig.animations.is_empty() => {
                let message =
                    "the file has no animation, so there is nothing to follow; hint: export it with its animation";
                problems.push(("mesh.surface", message.into()));
            }
            Err(error) => problems.push(("rig.animation", error.to_string())),
            Ok(None) => problems.push(("rig.animation", "the animation has no keys".into())),
            // Before its first key it stands still, which is a way to begin.
            Ok(Some([_, last])) if settings.start > last => {
                let last = format_quantity(last, Dimension::TIME);
                problems.push(("rig.start", format!("the animation is over at {last}")));
            }
            Ok(Some(_)) => {}
        }
        let key = if settings.surfaces.is_empty() { "mesh.surface" } else { "rig.surfaces" };
        let bones = settings.bones.iter().filter_map(|bone| bone.surface.clone()).collect();
        match Flesh::new(&rig, &FleshParams { surfaces: settings.surfaces.clone(), bones }) {
            Ok(flesh) if problems.is_empty() => Ok(Self { rig, flesh }),
            Ok(_) => Err(problems),
            Err(error) => {
                problems.push((key, error.to_string()));
                Err(problems)
            }
        }
    }

    /// What it does over the run.
    pub fn performance(&self, settings: &spec::Rig) -> Performance<'_> {
        let animation = self.rig.animation(settings.animation.as_deref()).ok().flatten();
        Performance { rig: &self.rig, flesh: &self.flesh, animation, start: settings.start, preroll: settings.preroll }
    }
}
