//! Chooses the flesh of a character, and what the rest of it rides on.

use std::collections::BTreeMap;

use sinew_math::Vec3;

use crate::flesh::{FleshChoice, FleshError, FleshParams, Piece};
use crate::loose_parts::{LoosePart, loose_parts};
use crate::ride::{Anchor, Anchors};
use crate::rig::Rig;
use crate::roles::{Decision, Role, Traits, roles};
use crate::soup::{Kept, Welded};

/// Weight of a joint that moves a vertex alone.
const ALONE: f64 = 0.999;
/// Names that a note lists before it counts.
const NAMED: usize = 6;

/// The flesh, and what rides on it.
pub(crate) struct Chosen {
    pub kept: Kept,
    /// Volume of the flesh, with closed borders \[m³\].
    pub volume: f64,
    /// For each piece with vertices that ride on flesh, their anchors.
    pub anchors: BTreeMap<usize, Vec<Option<Anchor>>>,
    pub decisions: Vec<Decision>,
    pub notes: Vec<String>,
}

/// Chooses among the welded triangles of `pieces`.
pub(crate) fn choose(
    rig: &Rig,
    params: &FleshParams,
    pieces: &[Piece],
    mut welded: Welded,
) -> Result<Chosen, FleshError> {
    if params.choice == FleshChoice::Closed {
        let kept = welded.keep(&welded.closed_pieces(params.surfaces.is_empty()))?;
        let volume = kept.surface.volume();
        // As thin as the merge tolerance.
        if volume <= welded.tolerance * kept.surface.area() {
            return Err(FleshError::NoVolume);
        }
        let (anchors, decisions, notes) = (BTreeMap::new(), Vec::new(), Vec::new());
        return Ok(Chosen { kept, volume, anchors, decisions, notes });
    }
    let is_asked = |piece: u32| params.surfaces.iter().any(|name| pieces[piece as usize].has_name(rig, name));
    let class = |triangle: usize| u32::from(is_asked(welded.pieces[triangle]));
    let (parts, doubled) = loose_parts(&welded.positions, &welded.triangles, class);
    let mut notes = Vec::new();
    if doubled > 0 {
        notes.push(format!("{doubled} triangles lie on others and count once"));
    }
    let homes: Vec<&Piece> = parts.iter().map(|part| &pieces[home(part, &welded) as usize]).collect();
    let names = names(rig, &parts, &homes);
    check_names(params, rig, &homes, &names)?;
    let traits: Vec<Traits> = (0..parts.len())
        .map(|k| {
            let is_named = |name: &str| name == names[k] || homes[k].has_name(rig, name);
            let wish = params.roles.iter().rev().find(|(name, _)| is_named(name)).map(|(_, role)| *role);
            let is_flesh = is_asked(welded.pieces[parts[k].numbers[0] as usize]);
            Traits {
                is_rigid: is_rigid(&parts[k], &welded.weights),
                wish: wish.or(is_flesh.then_some(Role::Flesh)),
                is_left_out: !params.surfaces.is_empty() && !is_flesh,
            }
        })
        .collect();
    let decided = roles(&parts, &traits, &welded.positions);
    let mut is_kept = vec![false; welded.triangles.len()];
    let (mut volume, mut area) = (0.0, 0.0);
    for (part, _) in parts.iter().zip(&decided).filter(|(_, (role, _))| *role == Role::Flesh) {
        for (&number, &triangle) in part.numbers.iter().zip(&part.triangles) {
            is_kept[number as usize] = true;
            welded.triangles[number as usize] = triangle;
        }
        (volume, area) = (volume + part.volume, area + part.area);
    }
    if volume <= welded.tolerance * area {
        return Err(FleshError::NoVolume);
    }
    let kept = welded.keep(&is_kept)?;
    let anchors = anchors(&kept, &parts, &decided, &traits, &welded);
    let decisions: Vec<Decision> = parts
        .iter()
        .zip(names)
        .zip(&decided)
        .map(|((part, name), &(role, why))| Decision {
            name,
            triangles: part.triangles.len(),
            open_edges: part.open_edges,
            volume: part.volume,
            role,
            why,
        })
        .collect();
    Ok(Chosen { kept, volume, anchors, decisions, notes })
}

/// The piece of most triangles of a part.
fn home(part: &LoosePart, welded: &Welded) -> u32 {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    part.numbers.iter().for_each(|&number| *counts.entry(welded.pieces[number as usize]).or_default() += 1);
    let most = counts.into_iter().max_by_key(|&(piece, count)| (count, std::cmp::Reverse(piece)));
    most.map_or(0, |(piece, _)| piece)
}

/// Names of the parts: that of their surface or node, numbered from the largest where it has several.
fn names(rig: &Rig, parts: &[LoosePart], homes: &[&Piece]) -> Vec<String> {
    let mut of_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (k, home) in homes.iter().enumerate() {
        of_name.entry(home.name(rig)).or_default().push(k);
    }
    let mut names = vec![String::new(); parts.len()];
    for (name, mut members) in of_name {
        members.sort_by_key(|&k| (std::cmp::Reverse(parts[k].triangles.len()), k));
        for (number, &k) in members.iter().enumerate() {
            names[k] = if members.len() > 1 { format!("{name}:{}", number + 1) } else { name.to_string() };
        }
    }
    names
}

/// Every role must be that of something.
fn check_names(params: &FleshParams, rig: &Rig, homes: &[&Piece], names: &[String]) -> Result<(), FleshError> {
    let is_known = |name: &String| names.contains(name) || homes.iter().any(|home| home.has_name(rig, name));
    let Some((name, _)) = params.roles.iter().find(|(name, _)| !is_known(name)) else { return Ok(()) };
    let known = names.iter().take(4 * NAMED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    Err(FleshError::NoPart { name: name.clone(), known })
}

/// Whether one joint moves all of a part.
fn is_rigid(part: &LoosePart, weights: &[Vec<(u32, f64)>]) -> bool {
    let alone = |v: &u32| weights[*v as usize].iter().find(|(_, weight)| *weight >= ALONE).map(|(joint, _)| *joint);
    let mut owners = part.triangles.iter().flatten().map(alone);
    let first = owners.next().flatten();
    first.is_some() && owners.all(|owner| owner == first)
}

/// The anchors of all vertices that ride on flesh, by piece. A part that moves as one has one anchor.
fn anchors(
    kept: &Kept,
    parts: &[LoosePart],
    decided: &[(Role, &'static str)],
    traits: &[Traits],
    welded: &Welded,
) -> BTreeMap<usize, Vec<Option<Anchor>>> {
    let finder = Anchors::new(&kept.surface);
    let mut of_vertex: Vec<Option<Anchor>> = vec![None; welded.positions.len()];
    for ((part, (role, _)), known) in parts.iter().zip(decided).zip(traits) {
        if *role != Role::OnFlesh {
            continue;
        }
        let mut vertices: Vec<u32> = part.triangles.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let place = |&v: &u32| welded.positions[v as usize];
        let middle = vertices.iter().map(place).sum::<Vec3>() / vertices.len().max(1) as f64;
        let shared = finder.at(middle);
        for v in vertices {
            let anchor = if known.is_rigid { shared } else { finder.at(place(&v)) };
            of_vertex[v as usize] = of_vertex[v as usize].or(anchor);
        }
    }
    let of_piece = |(piece, vertices): &(usize, Vec<u32>)| {
        let anchors: Vec<Option<Anchor>> = vertices.iter().map(|&v| of_vertex[v as usize]).collect();
        anchors.iter().any(Option::is_some).then_some((*piece, anchors))
    };
    welded.vertices_of.iter().filter_map(of_piece).collect()
}

/// What was decided, in a few lines; nothing where one closed part is the flesh.
pub(crate) fn told(decisions: &[Decision]) -> Vec<String> {
    let mut groups: BTreeMap<(Role, &str), Vec<&Decision>> = BTreeMap::new();
    for decision in decisions {
        groups.entry((decision.role, decision.why)).or_default().push(decision);
    }
    if decisions.len() == 1 && decisions[0].open_edges == 0 {
        return Vec::new();
    }
    let line = |((role, why), members): ((Role, &str), Vec<&Decision>)| {
        let mut names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        names.truncate(NAMED);
        let triangles: usize = members.iter().map(|member| member.triangles).sum();
        let more = match members.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{role}: {}{more}, {triangles} triangles ({why})", names.join(", "))
    };
    groups.into_iter().map(line).collect()
}
