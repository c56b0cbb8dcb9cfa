//! Characters from files, as a scene uses them.

use std::path::Path;

use sinew_rig::{Flesh, FleshParams, Performance, Rig};

use crate::spec::rig as spec;

/// A character with its flesh.
#[derive(Clone, Debug)]
pub(crate) struct Character {
    pub rig: Rig,
    pub flesh: Flesh,
}

impl Character {
    /// Reads a character and puts its flesh together; else the key of the body that is wrong, and why.
    pub fn load(path: &Path, settings: &spec::Rig) -> Result<Self, (&'static str, String)> {
        let rig = sinew_io::load_rig(path).map_err(|error| ("mesh.surface", error.to_string()))?;
        if rig.animations.is_empty() {
            let message =
                "the file has no animation, so there is nothing to follow; hint: export it with its animation";
            return Err(("mesh.surface", message.into()));
        }
        rig.animation(settings.animation.as_deref()).map_err(|error| ("rig.animation", error.to_string()))?;
        let key = if settings.surfaces.is_empty() { "mesh.surface" } else { "rig.surfaces" };
        let flesh = Flesh::new(&rig, &FleshParams { surfaces: settings.surfaces.clone() })
            .map_err(|error| (key, error.to_string()))?;
        Ok(Self { rig, flesh })
    }

    /// What it does over the run.
    pub fn performance(&self, settings: &spec::Rig) -> Performance<'_> {
        let animation = self.rig.animation(settings.animation.as_deref()).ok().flatten();
        Performance { rig: &self.rig, flesh: &self.flesh, animation, start: settings.start, preroll: settings.preroll }
    }
}
