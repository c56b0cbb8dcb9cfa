//! Commands from outside: named scalar channels.
//!
//! Pin motions, collider poses, pressures, loads and gravity read their values from channels, never from mutable
//! forces. So one [`crate::Model`] serves many states, and the channels alone suffice to replay a run.

use std::sync::Arc;

use thiserror::Error;

/// Index of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// Names and defaults of all channels of a model.
#[derive(Clone, Debug, Default)]
pub struct ChannelTable {
    names: Vec<String>,
    defaults: Vec<f64>,
}

impl ChannelTable {
    /// Adds a channel; the caller ensures unique names.
    pub fn add(&mut self, name: impl Into<String>, default: f64) -> ChannelId {
        self.names.push(name.into());
        self.defaults.push(default);
        ChannelId((self.names.len() - 1) as u32)
    }

    /// Adds three channels `name.x`, `name.y`, `name.z`.
    pub fn add_vector(&mut self, name: &str, default: [f64; 3]) -> [ChannelId; 3] {
        let [x, y, z] = default;
        [("x", x), ("y", y), ("z", z)].map(|(axis, value)| self.add(format!("{name}.{axis}"), value))
    }

    /// Adds nine channels `name.xx`, `name.xy` … `name.zz` with the identity as default.
    pub fn add_matrix(&mut self, name: &str) -> [[ChannelId; 3]; 3] {
        ["x", "y", "z"].map(|row| {
            ["x", "y", "z"].map(|column| self.add(format!("{name}.{row}{column}"), f64::from(row == column)))
        })
    }

    /// Channel by name.
    pub fn find(&self, name: &str) -> Option<ChannelId> {
        self.names.iter().position(|n| n == name).map(|i| ChannelId(i as u32))
    }

    /// All names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Current values of all channels.
#[derive(Clone, Debug)]
pub struct Control {
    table: Arc<ChannelTable>,
    values: Vec<f64>,
}

/// A channel that does not exist, or a value that is not a number.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ControlError {
    /// No channel has this name.
    #[error("there is no control channel \"{name}\"")]
    UnknownChannel {
        /// The unknown name.
        name: String,
    },
    /// Channels hold finite numbers only.
    #[error("control channel \"{name}\" cannot be set to {value}")]
    NotFinite {
        /// The channel.
        name: String,
        /// The rejected value.
        value: f64,
    },
}

impl Control {
    /// All channels at their defaults.
    pub fn new(table: Arc<ChannelTable>) -> Self {
        let values = table.defaults.clone();
        Self { table, values }
    }

    /// Value of a channel.
    #[inline]
    pub fn get(&self, channel: ChannelId) -> f64 {
        self.values[channel.0 as usize]
    }

    /// Values of three channels.
    #[inline]
    pub fn vector(&self, channels: [ChannelId; 3]) -> sinew_math::Vec3 {
        sinew_math::Vec3::new(self.get(channels[0]), self.get(channels[1]), self.get(channels[2]))
    }

    /// Values of nine channels.
    pub fn matrix(&self, channels: [[ChannelId; 3]; 3]) -> sinew_math::Mat3 {
        sinew_math::Mat3::new(channels.map(|row| row.map(|channel| self.get(channel))))
    }

    /// Sets a channel.
    pub fn set(&mut self, channel: ChannelId, value: f64) {
        self.values[channel.0 as usize] = value;
    }

    /// Puts a channel back to its default.
    pub fn reset(&mut self, channel: ChannelId) {
        self.set(channel, self.table.defaults[channel.0 as usize]);
    }

    /// Sets a channel by name.
    pub fn set_by_name(&mut self, name: &str, value: f64) -> Result<(), ControlError> {
        if !value.is_finite() {
            return Err(ControlError::NotFinite { name: name.into(), value });
        }
        let channel = self.table.find(name).ok_or_else(|| ControlError::UnknownChannel { name: name.into() })?;
        self.set(channel, value);
        Ok(())
    }

    /// Values of all channels.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Takes the values of other commands of the same model.
    ///
    /// # Panics
    /// When those have another number of channels.
    pub fn copy_from(&mut self, other: &Self) {
        self.values.copy_from_slice(&other.values);
    }

    /// Sets every channel to the value at `fraction` between two commands of the same model.
    ///
    /// # Panics
    /// When those have another number of channels.
    pub fn blend(&mut self, from: &Self, to: &Self, fraction: f64) {
        let (from, to) = (&from.values, &to.values);
        assert_eq!((from.len(), to.len()), (self.values.len(), self.values.len()), "one value per channel");
        for (value, (&from, &to)) in self.values.iter_mut().zip(from.iter().zip(to)) {
            // Exact at the end.
            *value = if fraction == 1.0 { to } else { from + (to - from) * fraction };
        }
    }

    /// The first channel that is not finite, with its value; a step fails on it.
    pub fn first_not_finite(&self) -> Option<(&str, f64)> {
        let index = self.values.iter().position(|value| !value.is_finite())?;
        Some((&self.table.names[index], self.values[index]))
    }

    /// Names and defaults.
    pub fn table(&self) -> &ChannelTable {
        &self.table
    }
}
