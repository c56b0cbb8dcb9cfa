//! Control channels driven by the tracks of the scene.

use std::collections::BTreeMap;

use sinew_fem::control::{ChannelId, Control};
use sinew_fem::model::Model;
use sinew_fem::simulation::Driver;
use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_scene::Track;
use sinew_scene::spec::motion::Motion;

/// A motion on the channels `PREFIX.translation.x`, `PREFIX.rotation.x`, `PREFIX.deformation.xx` and so on.
pub(super) struct ChannelMotion {
    pub prefix: String,
    pub motion: Motion,
}

/// All tracks of a scene; it gets their channels once the model is built.
#[derive(Default)]
pub(super) struct TrackDriver {
    pub motions: Vec<ChannelMotion>,
    /// Scalar and vector tracks by channel name (vectors on `NAME.x` …).
    pub scalars: Vec<(String, Track<f64>)>,
    pub vectors: Vec<(String, Track<[f64; 3]>)>,
    resolved: Vec<(ChannelId, Box<dyn Fn(f64) -> f64 + Send>)>,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl TrackDriver {
    /// Finds the channels; calls `unknown(name, all names)` for each `[control]` entry without one.
    pub fn resolve(
        &mut self,
        model: &Model,
        control: &BTreeMap<String, Track<f64>>,
        mut unknown: impl FnMut(&str, &[String]),
    ) {
        let channels = model.channels.clone();
        let mut add = |name: String, value: Box<dyn Fn(f64) -> f64 + Send>| match channels.find(&name) {
            Some(channel) => {
                self.resolved.push((channel, value));
                true
            }
            None => false,
        };
        for ChannelMotion { prefix, motion } in &self.motions {
            for (k, axis) in AXES.iter().enumerate() {
                let moved = motion.clone();
                add(format!("{prefix}.translation.{axis}"), Box::new(move |t| translation(&moved, t)[k]));
                if let Some(turn) = &motion.rotation {
                    let (angle, axis_vector) = (turn.angle.clone(), Vec3::from(turn.axis).normalized());
                    add(format!("{prefix}.rotation.{axis}"), Box::new(move |t| axis_vector[k] * angle.at(t)));
                }
                if let Some(deformation) = &motion.deformation {
                    for (j, column) in AXES.iter().enumerate() {
                        let track = deformation.clone();
                        add(format!("{prefix}.deformation.{axis}{column}"), Box::new(move |t| track.at(t)[k][j]));
                    }
                }
            }
        }
        for (name, track) in std::mem::take(&mut self.scalars) {
            add(name, Box::new(move |t| track.at(t)));
        }
        for (name, track) in std::mem::take(&mut self.vectors) {
            for (k, axis) in AXES.iter().enumerate() {
                let track = track.clone();
                add(format!("{name}.{axis}"), Box::new(move |t| track.at(t)[k]));
            }
        }
        // Last, so that `[control]` overrides the tracks of bodies.
        for (name, track) in control {
            let values = track.clone();
            if !add(name.clone(), Box::new(move |t| values.at(t))) {
                unknown(name, channels.names());
            }
        }
    }
}

/// Translation of the motion x ↦ c + R F (x − c) + t about the one pivot c of a pin, which is `through` if there is a
/// rotation. A deformation about another point `about` then adds R (I − F)(about − through) to it.
fn translation(motion: &Motion, time: f64) -> Vec3 {
    let given = Vec3::from(motion.translation.at(time));
    let (Some(turn), Some(deformation)) = (&motion.rotation, &motion.deformation) else { return given };
    let arm = Vec3::from(motion.about) - Vec3::from(turn.through);
    if arm == Vec3::zero() {
        return given;
    }
    let rotation = Quaternion::exp_map(Vec3::from(turn.axis).normalized() * turn.angle.at(time)).to_matrix();
    given + rotation * (arm - Mat3::new(deformation.at(time)) * arm)
}

impl Driver for TrackDriver {
    fn apply(&self, time: f64, control: &mut Control) {
        for (channel, value) in &self.resolved {
            control.set(*channel, value(time));
        }
    }
}
