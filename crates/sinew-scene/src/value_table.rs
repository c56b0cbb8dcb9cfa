//! What the values of a run are: name, unit and meaning of everything that can stand in `[expect]`.
//!
//! Values come from probes, which know only their names; the meanings stand here once, for `sinew check --values` and
//! for the reference page. A test compares the table with the values of all scenes.

use std::fmt::Write as _;

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueKind {
    /// Its name: words in capitals stand for names of the scene, `AXIS` for `x`, `y` or `z`, `AXES` for two of them.
    pub pattern: &'static str,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

/// Rows as `pattern, unit, meaning`.
macro_rules! kinds {
    ($($pattern:literal, $unit:literal, $meaning:literal;)*) => {
        &[$(ValueKind { pattern: $pattern, unit: $unit, meaning: $meaning }),*]
    };
}

/// All kinds; where several fit a name, the first counts.
pub const VALUE_KINDS: &[ValueKind] = kinds! {
    "energy.total", "J", "sum of all energies";
    "energy.elastic", "J", "strain energy of all cells";
    "energy.kinetic", "J", "kinetic energy";
    "energy.gravity", "J", "potential energy in the gravity field";
    "energy.contact", "J", "energy stored in contacts";
    "energy.other", "J", "energy of springs, loads, tendons, fascia and passive strands";
    "inverted_cells", "", "cells with a point of no positive volume";
    "residual", "", "remaining force of the last step, relative to that at its start";
    "newton_iterations", "", "Newton iterations of the frame";
    "nonlinear_cycles", "", "nonlinear multigrid cycles of the frame";
    "linear_iterations", "", "iterations of the linear solver in the frame";
    "substeps", "", "steps of the frame";
    "step", "s", "length of the last step";
    "contacts", "", "points in contact";
    "unconverged_steps", "", "steps of the frame that ended at the iteration budget";
    "time_error", "m", "estimated error of positions due to the length of a step";
    "work.pins", "J", "work of pins since the start";
    "work.damping", "J", "energy taken by damping since the start";
    "work.muscles", "J", "work of active fibers and strands since the start";
    "work.lost", "J", "energy that went neither into a body nor into damping";
    "momentum.AXIS", "kg m/s", "momentum of everything";
    "angular_momentum.AXIS", "kg m²/s", "angular momentum of everything about the origin";
    "frequency.NUMBER", "Hz", "natural frequency of the initial state, lowest first (`modes`)";
    "check.crossings", "", "pairs of triangles that intersect though contact guards them (`check` of `[contact]`)";
    "check.rest_crossings", "", "pairs of triangles that intersect since rest, and that contact leaves alone until they part";
    "check.penetration", "m", "greatest depth of a surface in another or in itself (`check` of `[contact]`)";
    "BODY.error.l2", "m", "error of displacements against the manufactured solution";
    "BODY.error.h1", "", "error of their gradient against the manufactured solution";
    "BODY.volume", "", "volume over rest volume";
    "BODY.inverted_cells", "", "cells with a point of no positive volume";
    "BODY.flattened_cells", "", "cells with a point of at most a tenth of its rest volume";
    "BODY.volume_ratio.min", "", "smallest volume over rest volume of a point";
    "BODY.volume_ratio.max", "", "largest volume over rest volume of a point";
    "BODY.stress.von_mises.max", "Pa", "largest von Mises stress";
    "BODY.stress.AXES", "Pa", "mean Cauchy stress";
    "BODY.piola.AXES", "Pa", "mean first Piola–Kirchhoff stress";
    "BODY.deformation.AXES", "", "mean deformation gradient";
    "BODY.energy.elastic", "J", "strain energy";
    "BODY.energy.kinetic", "J", "kinetic energy";
    "BODY.shape_error", "m", "root mean square distance from the rest shape, apart from a rigid motion";
    "BODY.displacement.max", "m", "largest displacement of a node from rest";
    "BODY.center.AXIS", "m", "center of mass";
    "BODY.momentum.AXIS", "kg m/s", "momentum, of rigids too";
    "BODY.angular_momentum.AXIS", "kg m²/s", "angular momentum about the origin";
    "BODY.min.AXIS", "m", "lower corner of the bounding box";
    "BODY.max.AXIS", "m", "upper corner of the bounding box";
    "BODY.projection_excess", "", "how much stiffer than the exact tangent the one of the solver is";
    "BODY.contact.OTHER.force.AXIS", "N", "force of the other on it, friction included";
    "BODY.contact.OTHER.depth", "m", "greatest penetration";
    "BODY.contact.OTHER.area", "m²", "rest area in contact";
    "BODY.contact.OTHER.load", "N", "sum of the normal forces";
    "BODY.contact.OTHER.distance", "m", "smallest distance, at most the `gap`";
    "BODY.force.PIN.AXIS", "N", "force of a pin on it";
    "BODY.force.PIN", "N", "size of the force of a pin on it";
    "BODY.torque.PIN.AXIS", "N m", "torque of a pin about its mean position";
    "BODY.activation.MUSCLE", "", "activation of a muscle or strand, 0 to 1";
    "BODY.fiber_stretch.min.MUSCLE", "", "smallest stretch of its fibers";
    "BODY.fiber_stretch.max.MUSCLE", "", "largest stretch of its fibers";
    "BODY.fiber_stretch.MUSCLE", "", "mean stretch of its fibers";
    "BODY.fiber_tension.active.MUSCLE", "Pa", "active part of that tension";
    "BODY.fiber_tension.MUSCLE", "Pa", "mean tension of its fibers per rest area";
    "BODY.fiber_direction.AXIS.MUSCLE", "", "mean direction of its fibers, a unit vector for parallel fibers";
    "BODY.strand.NAME.stretch", "", "mean stretch of the generators of a strand";
    "BODY.strand.NAME.stretch.min", "", "smallest stretch of a generator";
    "BODY.strand.NAME.stretch.max", "", "largest stretch of a generator";
    "BODY.strand.NAME.force", "N", "mean tension of a generator";
    "BODY.tendon.NAME.force", "N", "size of the force of a group of tendons";
    "BODY.tendon.NAME.force.AXIS", "N", "force of a group of tendons on its body";
    "BODY.tendon.NAME.strain", "", "mean strain of the tendons";
    "BODY.sheath.NAME.tension", "N/m", "mean tension of fascia";
    "BODY.sheath.NAME.stretch.max", "", "largest stretch of fascia";
    "BODY.cover.BONE.depth", "m", "depth of flesh or skin in a bone";
    "BODY.cover.BONE.min", "m", "smallest thickness of flesh over a bone, negative where it comes out";
    "BODY.cover.BONE.growth", "m", "largest increase of that thickness from rest";
    "NAME.position.AXIS", "m", "position of a probe or rigid";
    "NAME.displacement.AXIS", "m", "displacement of a probe from rest";
    "NAME.velocity.AXIS", "m/s", "velocity of a probe or rigid";
    "NAME.rotation.AXIS", "rad", "rotation vector of a rigid";
    "PROBE.area", "m²", "area of a section";
    "PROBE.torque", "N m", "torque of a muscle about the axis of a lever";
    "PROBE.moment_arm", "m", "torque over force of a muscle";
};

impl ValueKind {
    /// The kind of a value, by its name.
    pub fn of(name: &str) -> Option<&'static Self> {
        VALUE_KINDS.iter().find(|kind| fits(kind.pattern, name))
    }
}

/// Whether a name has the form of a pattern. Names of the scene may contain dots.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((part, rest)) = pattern.split_once('.') else { return part_fits(pattern, name) };
    let ends = name.match_indices('.').map(|(at, _)| at);
    ends.into_iter().any(|end| part_fits(part, &name[..end]) && fits(rest, &name[end + 1..]))
}

/// Whether text may stand for one part of a pattern.
fn part_fits(part: &str, text: &str) -> bool {
    let is_axis = |c: char| matches!(c, 'x' | 'y' | 'z');
    match part {
        "AXIS" => text.len() == 1 && text.chars().all(is_axis),
        "AXES" => text.len() == 2 && text.chars().all(is_axis),
        "NUMBER" => !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()),
        _ if part.chars().all(|c| c.is_ascii_uppercase()) => !text.is_empty(),
        _ => part == text,
    }
}

/// The table as Markdown, for the reference page.
pub(crate) fn markdown() -> String {
    let mut page = "\n## Values\n\nWhat can stand in `[expect]` and in `[study]`, and what recordings and plots hold. Words in capitals stand for names of \
         the scene, `AXIS` for `x`, `y` or `z`, `AXES` for two of them. `sinew check --values SCENE` lists those of a scene.\n\n\
         | value | unit | meaning |\n|---|---|---|\n"
        .to_string();
    for ValueKind { pattern, unit, meaning } in VALUE_KINDS {
        let _ = writeln!(page, "| `{pattern}` | {unit} | {meaning} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_kind_that_they_spell() {
        for (name, unit, pattern) in [
            ("energy.elastic", "J", "energy.elastic"),
            ("flesh.energy.elastic", "J", "BODY.energy.elastic"),
            ("brick.contact.floor.force.z", "N", "BODY.contact.OTHER.force.AXIS"),
            ("arm.force.shoulder", "N", "BODY.force.PIN"),
            ("arm.force.shoulder.x", "N", "BODY.force.PIN.AXIS"),
            ("flesh.stress.xy", "Pa", "BODY.stress.AXES"),
            ("tip.displacement.z", "m", "NAME.displacement.AXIS"),
            ("frequency.3", "Hz", "frequency.NUMBER"),
        ] {
            let kind = ValueKind::of(name).unwrap_or_else(|| panic!("{name} has no kind"));
            assert_eq!((kind.unit, kind.pattern), (unit, pattern), "{name}");
        }
        for name in ["flesh.stress.xw", "nothing", "flesh.volumes", ".volume"] {
            assert_eq!(ValueKind::of(name), None, "{name}");
        }
    }
}
