//! What a user or a page asks of a running simulation.

use serde::{Deserialize, Serialize};

/// A wish, applied at the next frame boundary; serializable, so that a session can be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Command {
    /// Holds a control channel at a value, whatever its track says.
    SetChannel {
        /// Name of the channel.
        channel: String,
        /// Value in SI units.
        value: f64,
    },
    /// Gives a channel back to its track.
    ReleaseChannel {
        /// Name of the channel.
        channel: String,
    },
}
