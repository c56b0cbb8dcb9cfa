//! The right upper limb with what it hangs on.

mod bones;
mod forearm;
mod shoulder;
mod swelling;
mod upper;

use super::Phantom;
use super::layout::{Plan, build};

/// The right upper limb in anatomical position, palm to the front: clavicle, scapula, humerus, radius, ulna, hand, with
/// one half of a simple thorax for the muscles that come from it; 33 muscles with 54 heads, their tendons, origins and
/// insertions \[Holzbaur05, Holzbaur07\].
///
/// Origin in the center of the humeral head. Forces, fiber lengths and pennation are those of the table, and bellies have
/// the volumes that follow from it; where bones and lines are was drawn for this phantom, after textbooks \[Standring16\].
/// Forces and lengths of biceps and brachialis are those of OpenSim's model `arm26`, which was made from \[Holzbaur05\],
/// rounded, and the deltoid has the share of the whole (15.2 %) of the abstract of \[Holzbaur07\] if that is 2.5 l. The other
/// rows were compared with no copy of the tables: take them as approximate.
pub fn arm() -> Phantom {
    let rows = [shoulder::rows(), upper::rows(), forearm::rows()].concat();
    let gaps = [1.5e-3, 1e-3];
    build(Plan { name: "arm", firm: bones::all(), rows, swelling: swelling::ARM, soft: vec![], gaps, hinges: vec![] })
}
