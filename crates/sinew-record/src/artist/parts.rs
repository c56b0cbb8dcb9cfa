//! The loose parts of a character at rest, colored by what was decided about them.

use sinew_math::Vec3;
use sinew_raster::{Bounds, Finish, Renderer, Rgb, Surface};
use sinew_rig::{Role, Source};
use sinew_scene::Character;
use sinew_scene::spec::Scene;

use super::facts::NamedPicture;
use super::pictures::{MAP_SIZE, named, near_camera, view};
use crate::record::shapes::points_f32;
use crate::record::{encode_indexed_pngs, up_axis};

/// The colors of flesh, of what rides on flesh, and of what rides on bones.
pub(crate) fn color(role: Role) -> Rgb {
    match role {
        Role::Flesh => Rgb([0.80, 0.52, 0.44]),
        Role::OnFlesh => Rgb([0.24, 0.47, 0.72]),
        Role::OnBone => Rgb([0.87, 0.70, 0.22]),
    }
}

/// Triangles of one role.
struct Group {
    role: Role,
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

/// All parts, and those that ride, from the camera of the scene.
pub(super) fn parts(scene: &Scene, character: &Character, to_scene: impl Fn(Vec3) -> Vec3) -> Vec<NamedPicture> {
    if !scene.record.pictures {
        return Vec::new();
    }
    let groups = groups(character, to_scene);
    let up = up_axis(scene.up);
    let mut stage = Bounds::default();
    groups.iter().for_each(|group| stage.union(&Bounds::of(&group.positions)));
    let [width, height] = MAP_SIZE;
    let renderer = Renderer::draft(width, height);
    let points = groups.iter().flat_map(|group| group.positions.iter().copied());
    let camera = near_camera(scene, &stage, renderer.aspect(), points);
    let ground = scene.record.ground.then(|| stage.min[up.index()]);
    let draw = |shown: &dyn Fn(Role) -> bool| {
        let shown = groups.iter().filter(|group| shown(group.role));
        let surfaces =
            shown.map(|group| Surface::solid(&group.positions, &group.triangles, color(group.role), Finish::MATTE));
        renderer.render(&view(camera, up, ground, stage, surfaces.collect()))
    };
    let pictures = [draw(&|_| true), draw(&|role| role != Role::Flesh)];
    named(["all parts", "parts that ride"], encode_indexed_pngs(&pictures))
}

fn groups(character: &Character, to_scene: impl Fn(Vec3) -> Vec3) -> Vec<Group> {
    let roles = [Role::Flesh, Role::OnFlesh, Role::OnBone];
    let mut groups = roles.map(|role| Group { role, positions: Vec::new(), triangles: Vec::new() });
    let flesh = &character.flesh;
    for piece in &flesh.pieces {
        let rest: Vec<Vec3> = piece.vertices.iter().map(|source| to_scene(source.rest(&flesh.surface))).collect();
        let rest = points_f32(&rest);
        let firsts = groups.each_ref().map(|group| group.positions.len() as u32);
        groups.iter_mut().for_each(|group| group.positions.extend(&rest));
        for &[a, b, c] in &character.rig.surfaces[piece.surface].parts[piece.part].triangles {
            let corners = if piece.is_mirrored { [a, c, b] } else { [a, b, c] };
            let role_of = |v: u32| match piece.vertices[v as usize] {
                Source::Flesh(_) => Role::Flesh,
                Source::Ride(_) => Role::OnFlesh,
                Source::Joints(..) => Role::OnBone,
            };
            // A fin on the flesh shares vertices with it.
            let role = corners.map(role_of).into_iter().max().unwrap_or(Role::Flesh);
            let index = role as usize;
            groups[index].triangles.push(corners.map(|v| firsts[index] + v));
        }
    }
    groups.into_iter().filter(|group| !group.triangles.is_empty()).collect()
}
