//! BVH, Biovision's motion capture: a tree of joints with offsets, then one line of numbers per frame.
//!
//! At rest no joint is turned, and each stands at its offset from its parent. Rotation channels are angles in degrees
//! about the axes of the joint in the order in which they are listed: `Zrotation Xrotation Yrotation` is
//! $`R_z R_x R_y`$. Position channels replace the offset. Lengths have no unit; [`crate::load_motion`] leaves them as
//! they are, because a motion is scaled to the legs of its character.

mod read;
mod write;

use sinew_rig::Rig;

use crate::error::{ReadError, WriteError};

/// Reads a motion: its joints, ends of bones as nodes named `…_end`, and one animation.
pub fn read(bytes: &[u8]) -> Result<Rig, ReadError> {
    read::read(bytes)
}

/// Writes the joints of a rig with an animation of it, at a rate \[1/s\], in centimeters.
///
/// # Errors
/// When the rig has no joint, or the animation no keys.
pub fn write(rig: &Rig, animation: &sinew_rig::Animation, rate: f64) -> Result<Vec<u8>, WriteError> {
    write::write(rig, animation, rate)
}

/// What can be read can be written, and is the same motion when it is read again.
#[doc(hidden)]
pub fn fuzz_one(bytes: &[u8]) {
    const RATE: f64 = 30.0;
    let Ok(rig) = read(bytes) else { return };
    let Some(animation) = rig.animations.first() else { return };
    let Some([first, last]) = animation.span() else { return };
    // Frames of a mutated time may be years.
    if (last - first) * RATE > 1000.0 {
        return;
    }
    if let Ok(text) = write(&rig, animation, RATE) {
        let again = read(&text).expect("what was written can be read");
        let joints = |rig: &Rig| rig.nodes.iter().filter(|node| !node.name.ends_with("_end")).count();
        assert!(joints(&again) >= 1 && again.animations.len() == 1);
    }
}

#[cfg(test)]
mod tests;
