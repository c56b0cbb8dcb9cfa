//! Characters from a few numbers: rigged, animated, at any resolution.
//!
//! - `field`: bodies as smooth unions of lumps along bones
//! - `mesher`: their surfaces, closed and without branches
//! - `body`: joints, lumps and motions of a character, and the [`Rig`] they become
//! - `weights`: who moves which vertex
//! - `motion`: timing and turns of animations
//! - `poses`: random poses within the limits of joints
//! - `arm`, `hand`, `torso`: the characters

mod arm;
mod body;
mod field;
mod hand;
mod mesher;
mod motion;
mod poses;
mod torso;
mod weights;

#[cfg(test)]
mod tests;

pub use body::{BoneHint, CharacterError, bone_hints, generate, motion_names};

/// Who there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Character {
    /// A left arm from the shoulder to the fist, stretched out to the side with the palm up.
    Arm,
    /// A right hand with five fingers and a piece of forearm, fingers up and palm to the front.
    #[default]
    Hand,
    /// A body from the hips to the head with both arms, half lowered.
    Torso,
}

impl Character {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Arm, Self::Hand, Self::Torso];

    /// Its name in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm => "arm",
            Self::Hand => "hand",
            Self::Torso => "torso",
        }
    }

    /// The character of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|character| character.name() == name)
    }

    /// An edge that shows its shape with about ten thousand vertices [m].
    pub fn usual_edge(self) -> f64 {
        match self {
            Self::Arm => 0.006,
            Self::Hand => 0.003,
            Self::Torso => 0.010,
        }
    }
}

/// Which character, how fine and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharacterParams {
    /// Who.
    pub character: Character,
    /// Mean edge of the triangles of the skin [m]. The default is [`Character::usual_edge`].
    pub edge: f64,
    /// Keys of animations per second; 24 as in films.
    pub frame_rate: f64,
    /// Length of animations [s]; 2.5 leave time to close, to hold and to open.
    pub seconds: f64,
    /// The only animation; the usual ones when `None`. Those that try what flesh can stand are made only when they are asked for: [`motion_names`] has them all.
    pub motion: Option<&'static str>,
}

impl CharacterParams {
    /// A character with what suits it.
    pub fn of(character: Character) -> Self {
        Self { character, edge: character.usual_edge(), frame_rate: 24.0, seconds: 2.5, motion: None }
    }
}

impl Default for CharacterParams {
    fn default() -> Self {
        Self::of(Character::default())
    }
}
