//! Phantoms: anatomy by formulas, with the truth beside.
//!
//! A phantom knows for every point to which tissue it belongs, so it can be made into a labeled image of any voxel and be
//! compared with what a pipeline makes of that image. There are a right upper limb ([`arm`]), a [`head`] and a right
//! [`calf`]. They are made to be judged by, not to be diagnosed from: bones are blends of simple forms, muscles are bent
//! spindles and fans along splines, with volumes from the literature.
//!
//! The world is RAS: x to the right of the patient, y to the front, z up \[m\]. The arm has its origin in the center of
//! the humeral head, the head between the ears, the calf in the knee.
//!
//! # How tissues share space
//!
//! Every head of a muscle is one *sweep*: an elliptic section along a spline from bone to bone, cut across into tendon,
//! belly and tendon. With q = 0 on the spline and q = 1 on the surface, a point belongs to the sweep with the least q, so
//! muscles press against each other and none loses its spline, whatever covers it; tendons count with a smaller q.
//! Bones come first, soft tissues last. So tissues are disjoint by construction.
//!
//! ```
//! use sinew_anatomy::phantom::{self, Flaws, TissueKind};
//!
//! let calf = phantom::calf();
//! let image = calf.labels(4e-3, &Flaws::default());
//! assert_eq!(image.voxels.len(), image.grid.len());
//! assert!(calf.tissues.iter().any(|tissue| tissue.kind == TissueKind::Tendon));
//! ```

mod arm;
mod calf;
mod form;
mod head;
mod layout;
mod model;
mod patch;
mod raster;
mod row;
mod sweep;
#[cfg(test)]
mod tests;
mod truth;

use std::sync::Arc;

pub use arm::arm;
pub use calf::calf;
pub use head::head;
use model::Model;
pub use model::TissueSolid;
pub use raster::{Flaws, LabelVolume};
use sinew_math::Vec3;
pub use truth::{Attachment, AttachmentKind, Hinge, Section};

/// What a tissue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TissueKind {
    /// Bone.
    Bone,
    /// Tooth.
    Tooth,
    /// Belly of a muscle, or of one of its heads.
    Muscle,
    /// Tendon or aponeurosis.
    Tendon,
    /// Eye.
    Eye,
    /// Anything soft that does not contract.
    Flesh,
}

/// One tissue of a phantom: what gets a label.
#[derive(Clone, Debug)]
pub struct Tissue {
    /// Name, unique in the phantom, in words of letters and digits joined by `_`.
    pub name: String,
    /// What it is.
    pub kind: TissueKind,
    /// A belly names its muscle (`biceps`, whose heads are `biceps_long` and `biceps_short`); a tendon names its belly; a
    /// tooth names its bone.
    pub belongs_to: Option<String>,
    /// Volume \[m³\] that the literature gives for the belly.
    pub literature_volume: Option<f64>,
    /// Pennation \[rad\]: angle of the fibers to the line of action. 0 for anything but bellies.
    pub pennation: f64,
    /// Where it is.
    pub solid: TissueSolid,
}

/// Anatomy by formulas.
#[derive(Clone, Debug)]
pub struct Phantom {
    /// `arm`, `head` or `calf`.
    pub name: &'static str,
    /// All tissues; tissue i has label i + 1 in images.
    pub tissues: Vec<Tissue>,
    /// Where muscles and tendons meet bones.
    pub attachments: Vec<Attachment>,
    /// Joints that the phantom names: the jaw of the head.
    pub hinges: Vec<Hinge>,
    model: Arc<Model>,
}

impl Phantom {
    /// Index of a tissue by name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.tissues.iter().position(|tissue| tissue.name == name)
    }

    /// Index of the tissue at a point \[m\], if there is any.
    pub fn tissue_at(&self, p: Vec3) -> Option<usize> {
        self.model.tissue_at(p, &self.model.near(p, 0.0))
    }

    /// Names of muscles, each once, in order of their first belly.
    pub fn muscles(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for tissue in self.tissues.iter().filter(|tissue| tissue.kind == TissueKind::Muscle) {
            let name = tissue.belongs_to.as_deref().unwrap_or(&tissue.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
