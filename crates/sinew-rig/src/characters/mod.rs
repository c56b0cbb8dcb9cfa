//! Parametric characters: rigged, animated, at any resolution.
//!
//! - `field`: bodies as smooth unions of lumps along bones
//! - `mesher`: their surfaces, closed and manifold
//! - `body`: joints, lumps and motions of a character, and the resulting [`Rig`](crate::Rig)
//! - `weights`: skin weights
//! - `motion`: timing and rotations of animations
//! - `poses`: random poses within the limits of joints
//! - `arm`, `hand`, `leg`, `torso`: the characters
//! - `difficult`, `messy`: the same with what makes production characters hard

mod arm;
mod body;
mod difficult;
mod field;
mod hand;
mod leg;
mod mesher;
mod messy;
mod motion;
mod poses;
mod torso;
mod weights;

#[cfg(test)]
mod tests;

pub use body::{BoneHint, CharacterError, bone_hints, generate, motion_names, plain_skin};
#[cfg(test)]
pub(crate) use difficult::with_difficulty;
pub use difficult::{DifficultCharacter, Difficulty, difficult};

/// The built-in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Character {
    /// A left arm from the shoulder to the fist, stretched out to the side with the palm up.
    Arm,
    /// A right hand with five fingers and a piece of forearm, fingers up and palm to the front.
    #[default]
    Hand,
    /// A body from the hips to the head with both arms, half lowered.
    Torso,
    /// A left leg from the hip to the toes, stretched downward.
    Leg,
}

impl Character {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Arm, Self::Hand, Self::Torso, Self::Leg];

    /// Its name in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arm => "arm",
            Self::Hand => "hand",
            Self::Torso => "torso",
            Self::Leg => "leg",
        }
    }

    /// The character with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|character| character.name() == name)
    }

    /// An edge that resolves the shape with about ten thousand vertices \[m\].
    pub fn usual_edge(self) -> f64 {
        match self {
            Self::Arm => 0.006,
            Self::Hand => 0.003,
            Self::Torso => 0.010,
            Self::Leg => 0.008,
        }
    }
}

/// Character, resolution and duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharacterParams {
    /// The character.
    pub character: Character,
    /// Mean edge of the triangles of the skin \[m\]. The default is [`Character::usual_edge`].
    pub edge: f64,
    /// Animation keys per second; 24 as in film.
    pub frame_rate: f64,
    /// Duration of animations \[s\]; 2.5 s leave time to close, hold and open.
    pub seconds: f64,
    /// The only animation; `None` for the usual ones. Stress tests are generated only by name: [`motion_names`] lists
    /// them all.
    pub motion: Option<&'static str>,
}

impl CharacterParams {
    /// A character with its default parameters.
    pub fn of(character: Character) -> Self {
        Self { character, edge: character.usual_edge(), frame_rate: 24.0, seconds: 2.5, motion: None }
    }
}

impl Default for CharacterParams {
    fn default() -> Self {
        Self::of(Character::default())
    }
}
