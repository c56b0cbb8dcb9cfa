//! Animations of characters.

use std::collections::BTreeSet;

use sinew_math::Vec3;
use sinew_rig::{Animation, Channel, Interpolation, Keys, Rig, Transform};

use crate::error::ReadError;
use crate::gltf::document::Object;
use crate::gltf::rig_read::{RigReader, target_count};

/// Quaternion lengths that can be normalized, as for those of nodes.
const QUATERNION_LENGTHS: std::ops::RangeInclusive<f64> = 0.1..=10.0;

impl RigReader<'_, '_, '_> {
    pub(super) fn animations(&mut self, rig: &Rig) -> Result<Vec<Animation>, ReadError> {
        let mut animations = Vec::new();
        let mut fixed = BTreeSet::new();
        for animation in self.root.objects("animations")? {
            let samplers = animation.objects("samplers")?;
            let mut read = Animation { name: animation.name_or_empty(), channels: Vec::new() };
            for channel in animation.objects("channels")? {
                let channel = self.channel(&channel, &samplers, rig);
                let Some(channel) = self.or_problem(channel).flatten() else { continue };
                if let (Transform::Matrix(_), false) =
                    (rig.nodes[channel.node].transform, matches!(channel.keys, Keys::Morph(..)))
                {
                    fixed.insert(channel.node);
                }
                read.channels.push(channel);
            }
            animations.push(read);
        }
        for node in fixed {
            self.notes.push(format!(
                "nodes[{node}] has a matrix and is animated, which glTF forbids: keys replace the matrix"
            ));
        }
        Ok(animations)
    }

    /// A channel, or `None` with a note if it moves nothing here.
    fn channel(&mut self, channel: &Object, samplers: &[Object], rig: &Rig) -> Result<Option<Channel>, ReadError> {
        let sampler = &samplers[channel.needed_index("sampler", "sampler", samplers.len())?];
        let target = channel.object("target")?.ok_or_else(|| channel.wrong("has no `target`"))?;
        let Some(node) = target.index("node", "node", rig.nodes.len())? else {
            self.left_out.insert("animation channels without a node".into());
            return Ok(None);
        };
        let path = target.value.get("path").and_then(|path| path.text()).unwrap_or_default();
        let targets = rig.nodes[node].surface.map_or(0, |surface| target_count(&rig.surfaces[surface]));
        // Numbers per element, and elements per key.
        let (width, per_key) = match &*path {
            "translation" | "scale" => (3, 1),
            "rotation" => (4, 1),
            "weights" if targets > 0 => (1, targets),
            "weights" => {
                self.left_out.insert("animation channels of weights without morph targets".into());
                return Ok(None);
            }
            _ => {
                self.left_out.insert(format!("animation channels of `{path}`"));
                return Ok(None);
            }
        };
        let interpolation = interpolation(sampler)?;
        let times = self.times(sampler)?;
        let accessor_count = self.document.accessors.len();
        let output = sampler.needed_index("output", "accessor", accessor_count)?;
        let values_per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let expected = (times.len() as u64).saturating_mul(per_key as u64 * values_per_key);
        let found = self.document.accessors[output].count as u64;
        if found != expected {
            let (place, what) =
                (sampler.place(), format!("{}: values in accessors[{output}]", sampler.path_of("output")));
            return Err(ReadError::Count { place, what, promised: expected, found });
        }
        let numbers = self.floats(output, &sampler.path_of("output"), &[width])?;
        let vectors = || numbers.as_chunks::<3>().0.iter().map(|&vector| Vec3::from(vector)).collect();
        let keys = match &*path {
            "translation" => Keys::Translation(vectors()),
            "scale" => Keys::Scale(vectors()),
            "rotation" => Keys::Rotation(self.rotations(&numbers, interpolation, sampler, output)?),
            _ => Keys::Morph(targets, numbers),
        };
        Ok(Some(Channel { node, times, interpolation, keys }))
    }

    /// Times of the keys, which increase.
    fn times(&mut self, sampler: &Object) -> Result<Vec<f64>, ReadError> {
        let input = sampler.needed_index("input", "accessor", self.document.accessors.len())?;
        let path = sampler.path_of("input");
        let times = self.floats(input, &path, &[1])?;
        if let Some(before) = times.windows(2).position(|pair| pair[0] >= pair[1]) {
            let reason = format!("{path}: the time of key {} is not after that of the key before", before + 1);
            return Err(ReadError::Syntax { place: self.buffers.place(input, before + 1), reason });
        }
        Ok(times)
    }

    /// Quaternions with the real part first; glTF has it last.
    fn rotations(
        &self,
        numbers: &[f64],
        interpolation: Interpolation,
        sampler: &Object,
        output: usize,
    ) -> Result<Vec<[f64; 4]>, ReadError> {
        let mut rotations = Vec::with_capacity(numbers.len() / 4);
        for (k, &[x, y, z, w]) in numbers.as_chunks::<4>().0.iter().enumerate() {
            // Slopes of splines are not rotations.
            let is_rotation = interpolation != Interpolation::CubicSpline || k % 3 == 1;
            let length = (x * x + y * y + z * z + w * w).sqrt();
            if is_rotation && !QUATERNION_LENGTHS.contains(&length) {
                let reason = format!("{}: element {k} must be a quaternion of length 1", sampler.path_of("output"));
                return Err(ReadError::Syntax { place: self.buffers.place(output, k), reason });
            }
            rotations.push([w, x, y, z]);
        }
        Ok(rotations)
    }
}

fn interpolation(sampler: &Object) -> Result<Interpolation, ReadError> {
    let Some(value) = sampler.value.get("interpolation") else { return Ok(Interpolation::Linear) };
    match value.text().as_deref() {
        Some("LINEAR") => Ok(Interpolation::Linear),
        Some("STEP") => Ok(Interpolation::Step),
        Some("CUBICSPLINE") => Ok(Interpolation::CubicSpline),
        _ => Err(sampler.wrong_at(value, "interpolation", "must be LINEAR, STEP or CUBICSPLINE")),
    }
}
