//! What becomes of the loose parts of a character: flesh, or something that rides on flesh or on its bones.
//!
//! A part is flesh if it encloses a volume that is not flesh already, and is either a good share of the largest or
//! deforms. A part encloses a volume if the winding number just behind its triangles is nearly one: so a body may be open
//! at neck and eyes, and a cape is none. Sheets that only together enclose a volume count as one part. Whatever else
//! there is rides: on the flesh under it where it is near, otherwise on its joints.

use std::fmt;

use sinew_geometry::Aabb;
use sinew_math::Vec3;

use crate::loose_parts::LoosePart;

/// Parts whose mean winding number behind their triangles is at least this enclose a volume: halfway between a plane
/// sheet and a closed surface.
const ENCLOSES: f64 = 0.75;
/// A part of at least this share of the volume of the largest is flesh, even if it moves as one.
const LARGE: f64 = 0.2;
/// A part below this share of the volume of the largest never is: about twenty cells of the usual 20 000.
const SMALL: f64 = 1e-3;
/// Volume over area of flesh, at least this share of that of the largest part: shells of clothes are thinner.
const THIN: f64 = 0.1;
/// Sheets below this share of the area of all parts enclose nothing together with others.
const SCRAP: f64 = 0.01;
/// Distances from the flesh, in diagonals of its box: up to the first a part follows its surface, from the second on its
/// joints alone.
pub(crate) const NEAR: [f64; 2] = [0.02, 0.08];

/// What a part of a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Flesh: simulated.
    Flesh,
    /// Rides on the flesh under it: follows its joints, and the surface of the flesh where it differs from blend
    /// skinning.
    OnFlesh,
    /// Rides on its bones: follows its joints.
    OnBone,
}

impl Role {
    /// Its name in scenes and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flesh => "flesh",
            Self::OnFlesh => "on_flesh",
            Self::OnBone => "on_bone",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flesh => "flesh",
            Self::OnFlesh => "rides on flesh",
            Self::OnBone => "rides on its bones",
        })
    }
}

/// What was decided about a loose part.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Name of its surface or node, with a number if that has several parts: `"eyes:2"`.
    pub name: String,
    /// Number of triangles.
    pub triangles: usize,
    /// Edges with one triangle.
    pub open_edges: usize,
    /// Volume inside, with closed borders \[m³\].
    pub volume: f64,
    /// What it is.
    pub role: Role,
    /// The reason.
    pub why: &'static str,
}

/// What is known of a part besides its shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traits {
    /// Whether one joint moves all of it.
    pub is_rigid: bool,
    /// The role that the user gave it.
    pub wish: Option<Role>,
    /// Whether the user named other surfaces as flesh.
    pub is_left_out: bool,
}

/// Decides about all parts, each with its reason.
pub(crate) fn roles(parts: &[LoosePart], traits: &[Traits], positions: &[Vec3]) -> Vec<(Role, &'static str)> {
    let mut roles: Vec<Option<(Role, &'static str)>> =
        traits.iter().map(|known| known.wish.map(|role| (role, "as the scene says"))).collect();
    choose_flesh(parts, traits, positions, &mut roles);
    let flesh: Vec<usize> =
        (0..parts.len()).filter(|&k| roles[k].is_some_and(|(role, _)| role == Role::Flesh)).collect();
    let near = Near::new(parts, &flesh, positions);
    let ride =
        |(k, role): (usize, Option<(Role, &'static str)>)| role.unwrap_or_else(|| near.ride(&parts[k], &traits[k]));
    roles.into_iter().enumerate().map(ride).collect()
}

fn choose_flesh(
    parts: &[LoosePart],
    traits: &[Traits],
    positions: &[Vec3],
    roles: &mut [Option<(Role, &'static str)>],
) {
    let free: Vec<usize> = (0..parts.len()).filter(|&k| traits[k].wish.is_none() && !traits[k].is_left_out).collect();
    // Sheets that close together.
    let total: f64 = parts.iter().map(|part| part.area).sum();
    let is_sheet = |k: &usize| parts[*k].closure < ENCLOSES && parts[*k].area > SCRAP * total;
    let sheets: Vec<usize> = free.iter().copied().filter(is_sheet).collect();
    let joined = LoosePart::joined(&sheets.iter().map(|&k| &parts[k]).collect::<Vec<_>>(), positions);
    let joined = joined.filter(|joined| sheets.len() > 1 && joined.closure >= ENCLOSES);
    let mut candidates: Vec<(&LoosePart, Vec<usize>)> = free
        .iter()
        .filter(|&&k| parts[k].closure >= ENCLOSES && parts[k].volume > 0.0)
        .map(|&k| (&parts[k], vec![k]))
        .collect();
    candidates.extend(joined.as_ref().map(|joined| (joined, sheets)));
    // Closed parts first, so that clothes find the body that they cover; then the largest.
    candidates
        .sort_by(|(a, _), (b, _)| (a.open_edges > 0).cmp(&(b.open_edges > 0)).then(b.volume.total_cmp(&a.volume)));
    let wished = |k: &usize| traits[*k].wish == Some(Role::Flesh);
    let mut flesh: Vec<&LoosePart> = (0..parts.len()).filter(wished).map(|k| &parts[k]).collect();
    let largest = candidates.iter().map(|(part, _)| *part).chain(flesh.iter().copied());
    let Some(largest) = largest.max_by(|a, b| a.volume.total_cmp(&b.volume)) else { return };
    for is_large in [true, false] {
        for (part, members) in &candidates {
            let is_rigid = members.iter().all(|&k| traits[k].is_rigid);
            let share = part.volume / largest.volume;
            if (share >= LARGE) != is_large || roles[members[0]].is_some() {
                continue;
            }
            let why = match (part.open_edges, members.len()) {
                _ if share < SMALL => continue,
                _ if !is_large && is_rigid => continue,
                _ if part.thickness() < THIN * largest.thickness() => continue,
                _ if lies_in(part, &flesh, positions, 0.0) => continue,
                (0, 1) => "a closed volume",
                _ if lies_in(part, &flesh, positions, part.thickness()) => continue,
                (_, 1) => "open, and encloses a volume by its winding number",
                _ => "sheets that enclose a volume together",
            };
            members.iter().for_each(|&k| roles[k] = Some((Role::Flesh, why)));
            flesh.push(part);
        }
    }
}

/// Whether most of what lies at a depth below the triangles of a part is within flesh.
fn lies_in(part: &LoosePart, flesh: &[&LoosePart], positions: &[Vec3], depth: f64) -> bool {
    let is_inside = |(x, normal): &(Vec3, Vec3)| {
        flesh.iter().map(|other| other.winding.at(*x - *normal * depth)).fold(0.0, f64::max) > 0.5
    };
    let (inside, count) = part
        .samples(positions)
        .fold((0, 0), |(inside, count), sample| (inside + usize::from(is_inside(&sample)), count + 1));
    !flesh.is_empty() && 2 * inside > count
}

/// What lies on flesh.
struct Near<'a> {
    flesh: Vec<&'a LoosePart>,
    surface: sinew_geometry::proximity::RestSurface,
    /// Diagonal of the box of the flesh \[m\].
    size: f64,
    positions: &'a [Vec3],
}

impl<'a> Near<'a> {
    fn new(parts: &'a [LoosePart], flesh: &[usize], positions: &'a [Vec3]) -> Self {
        let flesh: Vec<&LoosePart> = flesh.iter().map(|&k| &parts[k]).collect();
        let triangles: Vec<[u32; 3]> = flesh.iter().flat_map(|part| part.triangles.iter().copied()).collect();
        let corners: Vec<Vec3> = triangles.iter().flatten().map(|&v| positions[v as usize]).collect();
        let size = if corners.is_empty() { 0.0 } else { Aabb::from_points(&corners).diagonal() };
        let surface = sinew_geometry::proximity::RestSurface::new(positions.to_vec(), triangles);
        Self { flesh, surface, size, positions }
    }

    fn ride(&self, part: &LoosePart, known: &Traits) -> (Role, &'static str) {
        let (mut near, mut far, mut count) = (0, 0, 0);
        for (x, _) in part.samples(self.positions) {
            let distance = self.surface.nearest(x).map_or(f64::INFINITY, |(_, _, distance)| distance);
            near += usize::from(distance < NEAR[0] * self.size);
            far += usize::from(distance > NEAR[0] * self.size);
            count += 1;
        }
        let is_within = lies_in(part, &self.flesh, self.positions, 0.0);
        match known.is_rigid {
            true if is_within => (Role::OnBone, "lies in the flesh, and one joint moves it"),
            true if far > 0 => (Role::OnBone, "one joint moves it"),
            true => (Role::OnFlesh, "lies on the flesh as a whole"),
            false if 10 * near < count => (Role::OnBone, "far from the flesh"),
            false if is_within => (Role::OnFlesh, "lies in the flesh"),
            false => (Role::OnFlesh, "lies on the flesh"),
        }
    }
}
