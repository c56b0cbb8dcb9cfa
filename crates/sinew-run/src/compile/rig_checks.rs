//! Checks whether skeleton, skin and cells of a character fit each other; mismatches are errors or notes with names.

use sinew_geometry::TriMesh;
use sinew_geometry::lattice::{HexLattice, LatticeOptions};
use sinew_rig::{Flesh, Glue, Stray};
use sinew_scene::spec::Up;
use sinew_scene::spec::body::Body;
use sinew_scene::spec::rig::{Hold, Rig};
use sinew_scene::{Character, Diagnostic, Dimension, format_quantity};

use super::bones::{RigBone, are_guessed};
use super::mesh::{rounded_down, rounded_up};
use super::rig::RiggedBody;
use super::{Compiler, list_some};

/// Joints that are scaled by more than this get a note.
const MAX_SCALE: f64 = 1.01;
/// Joints that scale volume by less than this are flat.
const FLAT: f64 = 1e-6;
/// Size ratio of successive finer lattices, and the number of trials.
const FINER: f64 = std::f64::consts::FRAC_1_SQRT_2;
const TRIES: usize = 8;
/// Maximum number of cells of a trial lattice.
const MAX_CELLS: f64 = 1e6;
/// Maximum fraction of the skin of a joint that bones may hold.
const MAX_STIFF: f64 = 0.5;

/// Bones of a character, and which joints and bones hold flesh.
pub(super) struct Held<'a> {
    pub bones: &'a [RigBone],
    /// By bone.
    pub bone_holds: Vec<bool>,
    /// By joint.
    pub joint_holds: Vec<bool>,
}

impl Held<'_> {
    /// Whether a joint moves a bone, with attached or with sliding flesh.
    fn moves_bone(&self, joint: usize) -> bool {
        self.joint_holds[joint] || self.bones.iter().any(|bone| bone.joint == joint && bone.hold == Hold::Slide)
    }

    /// Bones that hold flesh.
    fn holding(&self) -> impl Iterator<Item = &RigBone> {
        self.bones.iter().filter(|bone| bone.hold != Hold::Slide)
    }
}

/// The joints that own vertices.
fn owning(own: &[Vec<u32>]) -> Vec<usize> {
    (0..own.len()).filter(|&joint| !own[joint].is_empty()).collect()
}

impl Compiler<'_> {
    /// Checks that joints are near their skin. Guessed bones lie between joints, so most joints must be; bones given by
    /// the scene may lie anywhere.
    pub(super) fn check_strays(&mut self, index: usize, body: &Body, rig: &Rig, flesh: &Flesh) -> Option<Diagnostic> {
        let strays = flesh.strays();
        let &Stray { joint, distance } = strays.iter().max_by(|a, b| a.distance.total_cmp(&b.distance))?;
        let length = |value: f64| format_quantity(rounded_up(value), Dimension::LENGTH);
        let of = flesh.own_vertices().iter().filter(|own| !own.is_empty()).count();
        let size = length(flesh.surface.bounds().size().max_component());
        let names: Vec<String> = strays.iter().map(|stray| flesh.joints[stray.joint].name.clone()).collect();
        let far = format!(
            "{} of {of} joints are far from the skin that they move ({}): \"{}\" by {}, where the whole surface is {size} long",
            strays.len(),
            list_some(&names),
            flesh.joints[joint].name,
            length(distance)
        );
        if 2 * strays.len() > of && are_guessed(rig) {
            let problem = self
                .scene
                .problem(&format!("body[{index}].rig"), format!("the skeleton does not fit the surface: {far}"));
            let hint = "apply scale and position of both before the export, and bind again; or set the positions of bones (`bones`)";
            return Some(problem.hint(hint));
        }
        self.notes.push(format!("{}: {far}; do they belong there?", body.name));
        None
    }

    /// Notes a character that is probably not in meters, or lies on its side.
    pub(super) fn note_posture(&mut self, index: usize, character: &Character) {
        let body = &self.scene.body[index];
        let posture = character.flesh.posture(&character.rig, body.scale);
        if let Some(units) = posture.scales() {
            let length = |value: f64| format_quantity(rounded_up(value), Dimension::LENGTH);
            let ways = units.iter().map(|(unit, scale)| {
                format!(
                    "; `scale = {}` if its file is in {unit} ({} then)",
                    scale * body.scale,
                    length(posture.size * scale)
                )
            });
            let ways: String = ways.collect();
            self.notes.push(format!("{}: the character is {} large{ways}", body.name, length(posture.size)));
        }
        let up = [Up::X, Up::Y, Up::Z].iter().position(|up| *up == self.scene.up);
        if let Some(axis) = posture.up.filter(|axis| Some(*axis) != up) {
            let axis = ["x", "y", "z"][axis];
            self.notes.push(format!(
                "{}: the character lies on its side: {axis} runs from its feet to its hips; `up = \"{axis}\"` (`--up {axis}` of `sinew skin`) if it stands",
                body.name
            ));
        }
    }

    /// Bones cannot follow a joint that mirrors or collapses, and those over which flesh slides do not stretch with one.
    pub(super) fn check_scales(
        &mut self,
        index: usize,
        body: &Body,
        rig: &Rig,
        character: &Character,
        held: &Held<'_>,
    ) -> Vec<Diagnostic> {
        let performance = character.performance(rig);
        let (flesh, frames) = (performance.flesh, self.scene.duration * self.scene.frame_rate);
        let mut largest = 1.0f64;
        // The faults of joints that move bones: since when, and which joints.
        let mut faults = [("mirrored", None, Vec::new()), ("scaled to nothing", None, Vec::new())];
        for frame in 0..=frames as usize {
            let time = rig.start + (frame as f64 / self.scene.frame_rate - rig.preroll).max(0.0);
            let pose = performance.rig.pose(performance.animation, time);
            for (joint, factor) in flesh.volume_factors(&pose).into_iter().enumerate() {
                let (_, since, names) = &mut faults[usize::from(factor > -FLAT)];
                let name = &flesh.joints[joint].name;
                if factor < FLAT && held.moves_bone(joint) && !names.contains(name) {
                    since.get_or_insert(time);
                    names.push(name.clone());
                }
            }
            largest = largest.max(flesh.largest_scale(&pose));
        }
        let mut problems = Vec::new();
        for (how, since, names) in &faults {
            let Some(since) = since else { continue };
            let message = format!(
                "joints are {how} from {} of the animation on, against the pose in which the skin was bound: {}",
                format_quantity(*since, Dimension::TIME),
                list_some(names)
            );
            let problem = self.scene.problem(&format!("body[{index}].rig"), message);
            problems.push(problem.hint("bones cannot follow that: remove this scale, or bind with it"));
        }
        if problems.is_empty() && largest > MAX_SCALE {
            let slides = held.bones.iter().any(|bone| bone.hold == Hold::Slide);
            let limit = if slides { "; those over which flesh slides do not" } else { "" };
            self.notes.push(format!(
                "{}: joints are scaled by up to {largest:.2}: bones stretch with them{limit}",
                body.name
            ));
        }
        problems
    }

    /// Notes which joints hold flesh, and which should but do not.
    pub(super) fn note_holds(&mut self, body: &Body, rig: &Rig, flesh: &Flesh, held: &Held<'_>) {
        let count = held.joint_holds.iter().filter(|holds| **holds).count();
        let holding = held.holding().count();
        let slides = match held.bones.len() - holding {
            0 => String::new(),
            count => format!("; it slides over {count} more"),
        };
        self.notes.push(format!(
            "{}: {count} of {} joints hold flesh, by {holding} bones{slides}",
            body.name,
            flesh.joints.len()
        ));
        let own = flesh.own_vertices();
        if let (&[only], true) = (&owning(&own)[..], flesh.joints.len() > 1) {
            self.notes.push(format!(
                "{}: all of the skin moves with the joint \"{}\", so that nothing bends; is it bound to its skeleton?",
                body.name, flesh.joints[only].name
            ));
        }
        if !are_guessed(rig) {
            let bones = held.bones.iter().zip(&held.bone_holds);
            let idle: Vec<String> = bones
                .filter(|(bone, holds)| bone.hold != Hold::Slide && !**holds)
                .map(|(bone, _)| flesh.joints[bone.joint].name.clone())
                .collect();
            if !idle.is_empty() {
                let some = list_some(&idle);
                self.notes.push(format!(
                    "{}: bones of these joints lie outside their flesh and hold none: {some}",
                    body.name
                ));
            }
            return;
        }
        let loose: Vec<String> = (0..flesh.joints.len())
            .filter(|&joint| !own[joint].is_empty() && !held.joint_holds[joint])
            .map(|joint| flesh.joints[joint].name.clone())
            .collect();
        if !loose.is_empty() {
            let some = list_some(&loose);
            self.notes.push(format!(
                "{}: these joints move skin, but hold no flesh, which follows its neighbors: {some}; `bones` can set the positions of their bones",
                body.name
            ));
        }
    }

    /// Notes limbs so thin that bones hold all nodes of their cells, which leaves no flesh to deform, and suggests
    /// finer cells.
    pub(super) fn note_stiff(
        &mut self,
        body: &Body,
        rigged: &RiggedBody,
        held: &Held<'_>,
        cell: f64,
        is_held: impl Fn(u32) -> bool,
    ) {
        let flesh = &rigged.character.flesh;
        let is_stiff = |vertex: &&u32| rigged.carriers.entries(**vertex as usize).0.iter().all(|&node| is_held(node));
        let mut names = Vec::new();
        let mut thinnest = f64::INFINITY;
        for (joint, own) in flesh.own_vertices().iter().enumerate() {
            if own.iter().filter(is_stiff).count() as f64 <= MAX_STIFF * own.len() as f64 {
                continue;
            }
            let distance = |&vertex: &u32| {
                let x = flesh.surface.positions()[vertex as usize] * body.scale;
                let bones = held.holding().filter(|bone| bone.joint == joint);
                bones.map(|bone| bone.axis_distance(x)).fold(f64::INFINITY, f64::min)
            };
            let mut distances: Vec<f64> = own.iter().map(distance).collect();
            distances.sort_by(f64::total_cmp);
            thinnest = thinnest.min(distances[distances.len() / 2]);
            names.push(flesh.joints[joint].name.clone());
        }
        // A cell far from the axis has a corner that is still farther: two cells away, some nodes are free.
        if !names.is_empty() && thinnest.is_finite() {
            self.notes.push(format!(
                "{}: cells of {} are as wide as limbs, so that bones hold most of the skin of {} and nothing deforms there; cells of {} leave free flesh",
                body.name,
                format_quantity(cell, Dimension::LENGTH),
                list_some(&names),
                format_quantity(rounded_down(0.5 * thinnest), Dimension::LENGTH)
            ));
        }
    }

    /// Notes gaps that cells close, such as that between two fingers, and suggests cells that do not.
    pub(super) fn note_glue(
        &mut self,
        body: &Body,
        flesh: &Flesh,
        surface: &TriMesh,
        cell: f64,
        options: &LatticeOptions,
        cells_of_vertices: &[u32],
    ) {
        let glued = flesh.glued(cells_of_vertices);
        let Some(worst) = glued.iter().max_by(|a, b| a.share.total_cmp(&b.share)) else { return };
        let Glue { joints, share } = *worst;
        let [a, b] = joints.map(|joint| &flesh.joints[joint].name);
        let more = match glued.iter().filter(|glue| glue.joints[0] < glue.joints[1]).count() {
            0 | 1 => String::new(),
            count => format!(" (and {} pairs more)", count - 1),
        };
        let length = |value: f64| format_quantity(value, Dimension::LENGTH);
        let advice = match self.separating_cell(flesh, surface, cell, options) {
            Some(cell) => format!("cells of {} keep them apart", length(cell)),
            None => "finer cells do not keep them apart either: move them apart in the bind pose".into(),
        };
        self.notes.push(format!(
            "{}: cells of {} are too coarse between \"{a}\" and \"{b}\"{more}: {:.0} % of the skin of the first shares cells with the skin across the gap, which cannot open there; {advice}",
            body.name,
            length(cell),
            100.0 * share
        ));
    }

    /// The next finer cell size that separates the two, found by trial.
    fn separating_cell(&self, flesh: &Flesh, surface: &TriMesh, cell: f64, options: &LatticeOptions) -> Option<f64> {
        let sizes = (1..=TRIES).map(|k| rounded_down(cell * FINER.powi(k as i32)));
        sizes.take_while(|size| surface.volume().abs() / size.powi(3) < MAX_CELLS).find(|&size| {
            HexLattice::from_surface(surface, size, options)
                .is_ok_and(|filling| flesh.glued(filling.bind().cells()).is_empty())
        })
    }
}
