//! A simulation at one time as bytes: to store, to send to another process, or to return to.

use sinew_fem::{Command, ControlError, Simulation, State};
use sinew_store::StoreError;

use crate::checkpoint::Checkpoint;

/// The changing data of a simulation: its state, and the control channels that commands hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// Channels that commands hold, with their values.
    pub held: Vec<(String, f64)>,
}

impl Snapshot {
    /// The current state of a simulation.
    pub fn of(simulation: &Simulation) -> Self {
        let held = simulation.held().map(|(name, value)| (name.to_string(), value)).collect();
        Self { state: simulation.state().clone(), held }
    }

    /// Restores the state of a simulation of the same scene. On error it is unchanged.
    pub fn restore(&self, simulation: &mut Simulation) -> Result<(), SnapshotError> {
        if !simulation.accepts(&self.state) {
            return Err(SnapshotError::OtherModel);
        }
        let known = simulation.control().table();
        if let Some((name, _)) = self.held.iter().find(|(name, _)| known.find(name).is_none()) {
            return Err(SnapshotError::Channel(ControlError::UnknownChannel { name: name.clone() }));
        }
        let held: Vec<String> = simulation.held().map(|(name, _)| name.to_string()).collect();
        for channel in held {
            simulation.command(&Command::ReleaseChannel { channel })?;
        }
        for (channel, value) in &self.held {
            simulation.command(&Command::SetChannel { channel: channel.clone(), value: *value })?;
        }
        simulation.set_state(&self.state);
        Ok(())
    }

    /// As bytes, the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        Checkpoint { state: self.state.clone(), held: self.held.clone(), ..Checkpoint::default() }.encode()
    }

    /// From the bytes of [`Snapshot::to_bytes`], or of the checkpoint of a run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let Checkpoint { state, held, .. } = Checkpoint::decode(bytes)?;
        Ok(Self { state, held })
    }
}

/// Why a simulation cannot be restored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SnapshotError {
    /// The mesh or the forces differ.
    #[error("the state belongs to another scene: it has other numbers of nodes, rigid bodies or contacts")]
    OtherModel,
    /// A channel is missing.
    #[error(transparent)]
    Channel(#[from] ControlError),
}
