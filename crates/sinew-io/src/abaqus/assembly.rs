//! Assigns blocks to parts, and places the parts.

use sinew_math::Vec3;

use super::blocks::Block;
use crate::error::ReadError;

/// Blocks by part.
#[derive(Default)]
pub(super) struct Outline<'a> {
    /// Outside of parts: a model without parts, or additions of the assembly.
    pub(super) global: Vec<&'a Block<'a>>,
    pub(super) parts: Vec<Named<'a>>,
    pub(super) instances: Vec<Instance<'a>>,
}

/// A part's name and blocks.
pub(super) struct Named<'a> {
    pub(super) name: String,
    pub(super) blocks: Vec<&'a Block<'a>>,
}

/// A part placed in the assembly.
pub(super) struct Instance<'a> {
    pub(super) name: String,
    pub(super) part: usize,
    /// Blocks between `*INSTANCE` and `*END INSTANCE`.
    pub(super) blocks: Vec<&'a Block<'a>>,
    pub(super) motion: Motion,
    pub(super) line: usize,
}

enum Scope {
    Global,
    Part,
    Instance,
}

impl<'a> Outline<'a> {
    /// Sorts the blocks.
    pub(super) fn new(blocks: &'a [Block<'a>]) -> Result<Outline<'a>, ReadError> {
        let mut outline = Outline::default();
        let mut scope = Scope::Global;
        for block in blocks {
            match block.keyword.as_str() {
                "PART" => {
                    outline.parts.push(Named { name: block.required("NAME")?.into(), blocks: Vec::new() });
                    scope = Scope::Part;
                }
                "INSTANCE" => {
                    let wanted = block.required("PART")?;
                    let part = outline.parts.iter().position(|part| part.name.eq_ignore_ascii_case(wanted));
                    let missing = || ReadError::line(block.line, format!("there is no part {wanted} before this line"));
                    outline.instances.push(Instance {
                        name: block.required("NAME")?.into(),
                        part: part.ok_or_else(missing)?,
                        blocks: Vec::new(),
                        motion: Motion::read(block)?,
                        line: block.line,
                    });
                    scope = Scope::Instance;
                }
                "END PART" | "END INSTANCE" | "ASSEMBLY" | "END ASSEMBLY" => scope = Scope::Global,
                _ => {
                    let target = match scope {
                        Scope::Global => None,
                        Scope::Part => outline.parts.last_mut().map(|part| &mut part.blocks),
                        Scope::Instance => outline.instances.last_mut().map(|instance| &mut instance.blocks),
                    };
                    target.unwrap_or(&mut outline.global).push(block);
                }
            }
        }
        // Parts without an instance stay in place.
        if outline.instances.is_empty() {
            for (part, named) in outline.parts.iter().enumerate() {
                let name = named.name.clone();
                outline.instances.push(Instance { name, part, blocks: vec![], motion: Motion::default(), line: 1 });
            }
        }
        Ok(outline)
    }
}

/// A translation, then a rotation about an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Motion {
    translation: Option<Vec3>,
    /// A point of the axis, its direction of length 1, the angle \[rad\].
    rotation: Option<(Vec3, Vec3, f64)>,
}

impl Motion {
    /// Parses the data lines of `*INSTANCE`: `x, y, z`, then two points of the axis and an angle in degrees.
    fn read(block: &Block<'_>) -> Result<Motion, ReadError> {
        let mut motion = Motion::default();
        for (index, row) in block.rows().take(2).enumerate() {
            let mut values = [0.0; 7];
            for (slot, field) in values.iter_mut().zip(row.fields()) {
                *slot = row.number(field, "instance")?;
            }
            let [ax, ay, az, bx, by, bz, degrees] = values;
            let from = Vec3::new(ax, ay, az);
            if index == 0 {
                motion.translation = Some(from);
                continue;
            }
            let axis = Vec3::new(bx, by, bz) - from;
            let length = axis.norm();
            if !(length > 0.0 && length.is_finite()) {
                return Err(ReadError::line(row.line, "the axis of the rotation has no direction"));
            }
            motion.rotation = Some((from, axis / length, degrees.to_radians()));
        }
        Ok(motion)
    }

    /// Maps a point: $`p' = a + \cos\theta\,d + \sin\theta\,k\times d + (1-\cos\theta)(k\cdot d)\,k`$ with
    /// $`d = p - a`$ \[Rodrigues 1840\].
    pub(super) fn apply(&self, point: Vec3) -> Vec3 {
        let p = self.translation.map_or(point, |translation| point + translation);
        let Some((a, k, angle)) = self.rotation else { return p };
        let (sin, cos) = angle.sin_cos();
        let d = p - a;
        a + d * cos + k.cross(d) * sin + k * (k.dot(d) * (1.0 - cos))
    }
}
