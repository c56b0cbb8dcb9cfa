//! A character with its skeleton, as in its file, and shapes that make blend skinning look like the simulated flesh.
//!
//! The file keeps nodes, skins, weights, materials and animations. Each skinned surface gets morph targets before its own,
//! and every animation their weights, which follow from the pose alone: so all animations of the file show the flesh,
//! not only the simulated one. How to find the weights for other motions stands in `extras` of the document
//! (`docs/guide/correctives.md`).

use serde_json::{Map, Value, json};
use sinew_fem::{OutputFigures, RecordError};
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Quaternion, Vec3};
use sinew_rig::correctives::{Correctives, Observation, Place, fit};
use sinew_rig::{Affine, Animation, Channel, Interpolation, Keys, MorphTarget, Piece, Rig, Source, skin_matrices};
use sinew_scene::format_number;

use super::SkinRecorder;
use crate::record::atomic::write_file;

/// Most poses to fit to; longer runs are sampled evenly. The error is measured in all.
const OBSERVATIONS: usize = 512;

/// Damping of the way back to rest, relative to the size of the blended matrix, which is singular where a joint is
/// turned by half a turn.
const DAMPING: f64 = 1e-4;

/// Worst poses that are told.
const TOLD: usize = 3;

/// Distances of one pose from the flesh \[m\]: mean and largest, with correctives and without.
struct PoseError {
    time: f64,
    corrected: [f64; 2],
    blended: [f64; 2],
}

/// Names of the numbers of [`PoseError::row`].
const POSE_COLUMNS: [&str; 5] = ["time", "mean", "largest", "blended_mean", "blended_largest"];

impl PoseError {
    fn row(&self) -> [f64; 5] {
        let ([mean, largest], [blended_mean, blended_largest]) = (self.corrected, self.blended);
        [self.time, mean, largest, blended_mean, blended_largest]
    }
}

/// A piece with a skin, and its first vertex among those of all such pieces.
struct Skinned<'a> {
    number: usize,
    piece: &'a Piece,
    first: usize,
}

impl SkinRecorder {
    pub(super) fn write_correctives(&mut self, count: usize) -> Result<(), RecordError> {
        let character = self.character.clone();
        let (rig, flesh) = (&character.rig, &character.flesh);
        let animation = character.performance(&self.settings).animation;
        let skinned = self.skinned(&flesh.pieces);
        let weights: Vec<Vec<(usize, f64)>> = skinned.iter().flat_map(|one| self.shares(one.piece)).collect();
        let observe = |frame: usize| {
            let pose = rig.pose(animation, self.times[frame]);
            let offsets = skinned.iter().flat_map(|one| self.offsets(one, frame, &pose)).collect();
            Observation { pose, offsets }
        };
        let step = self.frames.len().div_ceil(OBSERVATIONS).max(1);
        let seen: Vec<Observation> =
            (0..self.frames.len()).into_par_iter().filter(|frame| frame % step == 0).map(observe).collect();
        let found = fit(rig, flesh, &weights, &seen, count);
        drop(seen);
        let measure = |frame: usize| self.measure(&skinned, &found, &observe(frame), self.times[frame]);
        let errors: Vec<PoseError> = (0..self.frames.len()).into_par_iter().map(measure).collect();
        let out = self.corrected(rig, &skinned, &found);
        let extras = json!({"correctives": description(rig, &found, &errors)});
        let bytes = sinew_io::gltf::write_rig_with_extras(&out, true, &extras)
            .map_err(|error| RecordError::Unsupported { format: "glTF", reason: error.to_string() })?;
        write_file(&self.path, &bytes)?;
        self.tell(&found, &errors);
        self.files.push(self.path.clone());
        Ok(())
    }

    /// Pieces that joints move, with vertices counted through.
    fn skinned<'a>(&self, pieces: &'a [Piece]) -> Vec<Skinned<'a>> {
        let has_skin =
            |piece: &Piece| self.character.rig.nodes[piece.node].skin.is_some() && self.part(piece).weights.width > 0;
        let mut first = 0;
        let mut skinned = Vec::new();
        for (number, piece) in pieces.iter().enumerate().filter(|(_, piece)| has_skin(piece)) {
            skinned.push(Skinned { number, piece, first });
            first += piece.vertices.len();
        }
        skinned
    }

    /// Joints of the vertices of a piece, as nodes; none for vertices that follow their joints alone.
    fn shares(&self, piece: &Piece) -> Vec<Vec<(usize, f64)>> {
        let skin = &self.character.rig.skins[self.character.rig.nodes[piece.node].skin.unwrap_or_default()];
        let part = self.part(piece);
        let of = |(vertex, source): (usize, &Source)| match source {
            Source::Flesh(_) | Source::Ride(_) => {
                part.weights.of(vertex).map(|(joint, share)| (skin.joints[joint], share)).collect()
            }
            Source::Joints(..) => Vec::new(),
        };
        piece.vertices.iter().enumerate().map(of).collect()
    }

    /// Vertices of a piece as stored, with the morph targets of the file at rest, as the flesh was made of.
    fn stored(&self, piece: &Piece) -> Vec<Vec3> {
        self.part(piece).morphed(&self.character.rig.morph_weights(piece.node, None, 0.0))
    }

    /// Blended matrices of the vertices of a piece in a pose.
    fn matrices(&self, piece: &Piece, pose: &[Affine]) -> Vec<Affine> {
        let rig = &self.character.rig;
        let matrices = skin_matrices(&rig.skins[rig.nodes[piece.node].skin.unwrap_or_default()], pose);
        let weights = &self.part(piece).weights;
        let blended = |vertex: usize| {
            let (mut sum, mut total) = (Affine { linear: Mat3::zero(), translation: Vec3::zero() }, 0.0);
            for (joint, share) in weights.of(vertex) {
                sum.linear += matrices[joint].linear * share;
                sum.translation += matrices[joint].translation * share;
                total += share;
            }
            match total > 0.0 {
                true => Affine { linear: sum.linear * (1.0 / total), translation: sum.translation * (1.0 / total) },
                false => pose[piece.node],
            }
        };
        (0..piece.vertices.len()).map(blended).collect()
    }

    /// What the vertices of a piece lack after blend skinning, pulled back to where they are stored: d with A d = x − A p.
    fn offsets(&self, one: &Skinned<'_>, frame: usize, pose: &[Affine]) -> Vec<[f32; 3]> {
        let placed = &self.frames[frame][one.number];
        let offset = |((map, stored), (place, source)): ((&Affine, &Vec3), (&[f32; 3], &Source))| {
            if matches!(source, Source::Joints(..)) {
                return [0.0; 3];
            }
            // The scene may place and scale the character.
            let place = self.stand.place.to_local(Vec3::from(place.map(f64::from))) * (1.0 / self.stand.scale);
            let lacking = place - map.apply(*stored);
            let (linear, turned) = (map.linear, map.linear.transpose());
            let size = linear.norm() * linear.norm() / 3.0;
            let normal = turned * linear + Mat3::identity() * (DAMPING * size);
            let inverse = normal.cofactor().transpose() * (1.0 / normal.determinant());
            let back = inverse * (turned * lacking);
            if back.to_array().iter().all(|x| x.is_finite()) { back.to_array().map(|x| x as f32) } else { [0.0; 3] }
        };
        let maps = self.matrices(one.piece, pose);
        maps.iter().zip(&self.stored(one.piece)).zip(placed.iter().zip(&one.piece.vertices)).map(offset).collect()
    }

    fn measure(&self, skinned: &[Skinned<'_>], found: &Correctives, seen: &Observation, time: f64) -> PoseError {
        let weights = found.weights(&self.character.rig, &seen.pose);
        let (mut corrected, mut blended, mut count) = ([0.0f64; 2], [0.0f64; 2], 0usize);
        for one in skinned {
            for (vertex, map) in self.matrices(one.piece, &seen.pose).iter().enumerate() {
                if matches!(one.piece.vertices[vertex], Source::Joints(..)) {
                    continue;
                }
                let wanted = Vec3::from(seen.offsets[one.first + vertex].map(f64::from));
                let left = wanted - found.offset(one.first + vertex, &weights);
                for (sums, offset) in [(&mut corrected, left), (&mut blended, wanted)] {
                    let distance = (map.linear * offset).norm() * self.stand.scale;
                    *sums = [sums[0] + distance, sums[1].max(distance)];
                }
                count += 1;
            }
        }
        let mean = |[sum, largest]: [f64; 2]| [sum / count.max(1) as f64, largest];
        PoseError { time, corrected: mean(corrected), blended: mean(blended) }
    }

    /// The character with targets, and their weights in all of its animations.
    fn corrected(&self, rig: &Rig, skinned: &[Skinned<'_>], found: &Correctives) -> Rig {
        let mut out = rig.clone();
        out.notes.clear();
        let count = found.targets.len();
        let turned = self.turned_normals(rig, skinned, found);
        let mut nodes: Vec<usize> = Vec::new();
        for (k, one) in skinned.iter().enumerate() {
            let Piece { node, surface, part, .. } = *one.piece;
            if !nodes.contains(&node) {
                // A surface that two nodes show is one for each from here on.
                if nodes.iter().any(|&other| out.nodes[other].surface == Some(surface)) {
                    out.surfaces.push(rig.surfaces[surface].clone());
                    out.nodes[node].surface = Some(out.surfaces.len() - 1);
                }
                nodes.push(node);
            }
            let surface = &mut out.surfaces[out.nodes[node].surface.unwrap_or(surface)];
            // Those of the file come after ours, with their weights at rest.
            surface.morph_weights = [vec![0.0; count], own_weights(rig, node, None, 0.0)].concat();
            let target = |target: usize| MorphTarget {
                name: target_name(rig, found, target),
                positions: {
                    let moved = &found.targets[target][one.first..one.first + one.piece.vertices.len()];
                    moved.iter().map(|x| Vec3::from(x.map(f64::from))).collect()
                },
                normals: turned.get(k).map_or_else(Vec::new, |targets| targets[target].clone()),
            };
            let part = &mut surface.parts[part];
            part.positions = self.stored(one.piece);
            self.add_peaks(one.number, part);
            part.morph_targets = (0..count).map(target).chain(std::mem::take(&mut part.morph_targets)).collect();
            out.nodes[node].morph_weights = None;
        }
        // Parts without weights keep the order of the others.
        for &node in &nodes {
            let (Some(given), Some(new)) = (rig.nodes[node].surface, out.nodes[node].surface) else { continue };
            for (part, given) in out.surfaces[new].parts.iter_mut().zip(&rig.surfaces[given].parts) {
                if !given.morph_targets.is_empty() && part.morph_targets.len() == given.morph_targets.len() {
                    part.morph_targets.splice(..0, vec![MorphTarget::default(); count]);
                }
            }
        }
        for (animation, given) in out.animations.iter_mut().zip(&rig.animations) {
            let (times, keys) = self.animated(rig, given, found);
            if count == 0 || times.is_empty() {
                continue;
            }
            let is_ours = |channel: &Channel| matches!(channel.keys, Keys::Morph(..)) && nodes.contains(&channel.node);
            animation.channels.retain(|channel| !is_ours(channel));
            animation.channels.extend(nodes.iter().map(|&node| {
                let own = |&time: &f64| own_weights(rig, node, Some(given), time);
                let width = count + own(&times[0]).len();
                let all = keys.chunks_exact(count).zip(&times).flat_map(|(keys, time)| [keys, &own(time)].concat());
                Channel {
                    node,
                    times: times.clone(),
                    interpolation: Interpolation::Linear,
                    keys: Keys::Morph(width, all.collect()),
                }
            }));
        }
        out
    }

    /// Times and weights of an animation, frame by frame.
    fn animated(&self, rig: &Rig, animation: &Animation, found: &Correctives) -> (Vec<f64>, Vec<f64>) {
        let Some([first, last]) = animation.span() else { return Default::default() };
        let frames = ((last - first) * self.shutter.rate()).ceil().max(0.0) as usize;
        let mut times: Vec<f64> =
            (0..=frames).map(|frame| (first + frame as f64 / self.shutter.rate()).min(last)).collect();
        // Files have single precision, in which the last two may be one.
        times.dedup_by(|next, kept| *next as f32 <= *kept as f32);
        let keys = times.par_iter().map(|&time| found.weights(rig, &rig.pose(Some(animation), time)));
        let keys = keys.collect::<Vec<_>>().concat();
        (times, keys)
    }

    /// How much each target alone turns the normals of each piece, in the space of its file.
    fn turned_normals(&self, rig: &Rig, skinned: &[Skinned<'_>], found: &Correctives) -> Vec<Vec<Vec<[f32; 3]>>> {
        let pose = rig.pose(None, 0.0);
        let pieces = &self.character.flesh.pieces;
        let at_rest = |piece: &Piece| -> Vec<Vec3> {
            let rest = self.character.flesh.surface.positions();
            let place = |source: &Source| match source {
                Source::Flesh(vertex) => rest[*vertex as usize],
                Source::Joints(rest, _) => *rest,
                Source::Ride(ride) => ride.rest,
            };
            piece.vertices.iter().map(place).collect()
        };
        let mut placed: Vec<Vec<Vec3>> = pieces.iter().map(at_rest).collect();
        let maps: Vec<Vec<Affine>> = skinned.iter().map(|one| self.matrices(one.piece, &pose)).collect();
        for (one, maps) in skinned.iter().zip(&maps) {
            placed[one.number] = maps.iter().zip(self.stored(one.piece)).map(|(map, x)| map.apply(x)).collect();
        }
        // Normals go back with the transpose, as gradients do.
        let normals = |placed: &[Vec<Vec3>]| -> Vec<Vec<Vec3>> {
            let all = self.shading.normals(placed);
            let back = |(one, maps): (&Skinned<'_>, &Vec<Affine>)| {
                let turn = |(normal, map): (&[f32; 3], &Affine)| {
                    let back = map.linear.transpose() * Vec3::from(normal.map(f64::from));
                    if back.norm() > 0.0 { back.normalized() } else { back }
                };
                all[one.number].iter().zip(maps).map(turn).collect()
            };
            skinned.iter().zip(&maps).map(back).collect()
        };
        let straight = normals(&placed);
        let of_target = |target: &Vec<[f32; 3]>| -> Vec<Vec<[f32; 3]>> {
            let mut moved = placed.clone();
            for (one, maps) in skinned.iter().zip(&maps) {
                for (vertex, map) in maps.iter().enumerate() {
                    moved[one.number][vertex] += map.linear * Vec3::from(target[one.first + vertex].map(f64::from));
                }
            }
            let change = |(turned, straight): (Vec<Vec3>, &Vec<Vec3>)| {
                turned.iter().zip(straight).map(|(a, b)| (*a - *b).to_array().map(|x| x as f32)).collect()
            };
            normals(&moved).into_iter().zip(&straight).map(change).collect()
        };
        let by_target: Vec<Vec<Vec<[f32; 3]>>> = found.targets.par_iter().map(of_target).collect();
        // By piece, then by target.
        (0..skinned.len()).map(|piece| by_target.iter().map(|target| target[piece].clone()).collect()).collect()
    }

    fn tell(&mut self, found: &Correctives, errors: &[PoseError]) {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let millimeters = |meters: f64| format_number((1e5 * meters).round() / 100.0);
        let mean = |of: fn(&PoseError) -> f64| errors.iter().map(of).sum::<f64>() / errors.len().max(1) as f64;
        let largest = |of: fn(&PoseError) -> f64| errors.iter().map(of).fold(0.0, f64::max);
        self.notes.push(format!(
            "{file}: {} corrective shapes; skin is {} mm from the flesh in the mean, {} mm at most (blend skinning alone: {} and {} mm)",
            found.targets.len(),
            millimeters(mean(|pose| pose.corrected[0])),
            millimeters(largest(|pose| pose.corrected[1])),
            millimeters(mean(|pose| pose.blended[0])),
            millimeters(largest(|pose| pose.blended[1])),
        ));
        let mut worst: Vec<&PoseError> = errors.iter().collect();
        worst.sort_by(|a, b| b.corrected[0].total_cmp(&a.corrected[0]));
        self.figures.push(OutputFigures {
            file: file.clone(),
            title: "Corrective shapes: distances from the flesh in each pose [m]".into(),
            columns: POSE_COLUMNS.map(String::from).to_vec(),
            rows: errors.iter().map(|pose| pose.row().to_vec()).collect(),
        });
        let told = worst.iter().take(TOLD).map(|pose| {
            let [mean, blended] = [pose.corrected[0], pose.blended[0]].map(millimeters);
            format!("{mean} mm at {} s (blend skinning {blended})", format_number((1e3 * pose.time).round() / 1e3))
        });
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            let all = "all poses are in `report.json` and in `extras.correctives.poses` of the file";
            self.notes.push(format!("{file}: worst poses, in the mean: {}; {all}", told.join(", ")));
        }
    }
}

/// Weights of the morph targets that a node has in its file.
fn own_weights(rig: &Rig, node: usize, animation: Option<&Animation>, time: f64) -> Vec<f64> {
    let parts = rig.nodes[node].surface.into_iter().flat_map(|surface| &rig.surfaces[surface].parts);
    let mut weights = rig.morph_weights(node, animation, time);
    weights.resize(parts.map(|part| part.morph_targets.len()).max().unwrap_or(0), 0.0);
    weights
}

/// A target is named by the joint whose flesh it moves, and its number there.
fn target_name(rig: &Rig, found: &Correctives, target: usize) -> String {
    for driver in &found.drivers {
        if let Some(number) = driver.weights.iter().position(|weight| weight.target == target) {
            return format!("{} {}", joint_names(rig, &[driver.flesh]).concat(), number + 1);
        }
    }
    format!("corrective {target}")
}

fn joint_names(rig: &Rig, nodes: &[usize]) -> Vec<String> {
    let name = |&node: &usize| match rig.nodes[node].name.as_str() {
        "" => format!("joint {node}"),
        name => name.to_string(),
    };
    nodes.iter().map(name).collect()
}

/// What other programs need to find the weights, and how far the skin is from the flesh.
fn description(rig: &Rig, found: &Correctives, errors: &[PoseError]) -> Value {
    let quaternion = |q: &Quaternion| {
        let [x, y, z] = q.vector().to_array();
        json!([x, y, z, q.w])
    };
    let place = |place: &Place| {
        json!({
            "of": place.of,
            "from": place.from,
            "point": place.point.to_array(),
            "rest": place.rest.to_array(),
            "scale": place.scale,
        })
    };
    let drivers = found.drivers.iter().map(|driver| {
        json!({
            "flesh": joint_names(rig, &[driver.flesh]).concat(),
            "joints": driver.joints,
            "names": joint_names(rig, &driver.joints),
            "rest": driver.rest.iter().map(quaternion).collect::<Vec<_>>(),
            "places": driver.places.iter().map(place).collect::<Vec<_>>(),
            "width": driver.width,
            "centers": driver.centers,
            "weights": driver.weights.iter().map(|weight| json!({"target": weight.target, "coefficients": weight.coefficients})).collect::<Vec<_>>(),
        })
    });
    let poses = errors.iter().map(|pose| {
        POSE_COLUMNS.iter().zip(pose.row()).map(|(name, value)| (name.to_string(), json!(value))).collect::<Map<_, _>>()
    });
    json!({
        "version": 2,
        "kernel": "gaussian",
        "target_count": found.targets.len(),
        "drivers": drivers.collect::<Vec<_>>(),
        "poses": poses.collect::<Vec<_>>(),
    })
}
