//! Commands from a user or a page to a running simulation.

use serde::{Deserialize, Serialize};

/// A command, applied at the next frame boundary; serializable, so that a session can be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Command {
    /// Holds a control channel at a value, overriding its track.
    SetChannel {
        /// Name of the channel.
        channel: String,
        /// Value in SI units.
        value: f64,
    },
    /// Returns a channel to its track.
    ReleaseChannel {
        /// Name of the channel.
        channel: String,
    },
}
