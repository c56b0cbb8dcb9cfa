//! Fibers, attachments and distances to surfaces.

use super::super::AttachmentKind;
use super::*;
use crate::Solid;
use crate::annotate::Outline;

/// Unit, to rounding; at the angle of the table to the line of action; and by more than a right angle never against the
/// way from origin to insertion: lines spread by at most 45°, and pennation adds at most 29°.
#[test]
fn fibers_are_unit_at_the_pennation_and_run_from_origin_to_insertion() {
    for (phantom, image, members) in images() {
        for belly in bellies(phantom) {
            let about = &phantom.tissues[belly];
            for p in members[belly].iter().step_by(401).map(|&i| center(image, i)) {
                let (fiber, line) = (phantom.fiber(belly, p).unwrap(), phantom.line_of_action(belly, p).unwrap());
                assert!((fiber.norm() - 1.0).abs() < 1e-12 && (line.norm() - 1.0).abs() < 1e-12);
                assert!((fiber.dot(line) - about.pennation.cos()).abs() < 1e-9, "{}", about.name);
                let (here, there) = (phantom.along(belly, p).unwrap(), phantom.along(belly, p + fiber * 1e-3).unwrap());
                assert!(there >= here, "{} at {p:?}: {here} to {there}", about.name);
            }
        }
    }
}

/// Lines of action, followed by steps of a millimeter from the middle, end in the first and the last tenth.
#[test]
fn lines_of_action_run_from_end_to_end() {
    for (phantom, image, members) in images() {
        for belly in bellies(phantom).step_by(5) {
            let middle = members[belly].iter().step_by(7).map(|&i| center(image, i)).min_by(|a, b| {
                let off = |p: Vec3| (phantom.along(belly, p).unwrap() - 0.4).abs();
                off(*a).total_cmp(&off(*b))
            });
            let length = phantom.line_length(belly).unwrap();
            for (sign, range) in [(1.0, 0.9..=1.0), (-1.0, 0.0..=0.1)] {
                let mut p = middle.unwrap();
                for _ in 0..(length / 1e-3) as usize {
                    p += phantom.line_of_action(belly, p).unwrap() * (sign * 1e-3);
                }
                let end = phantom.along(belly, p).unwrap();
                assert!(range.contains(&end), "{}: {end}", phantom.tissues[belly].name);
            }
        }
    }
}

/// Every attachment has points, all on tissue and bone; within the gap of 1 mm elsewhere nothing touches its bone.
#[test]
fn attachments_are_where_muscles_touch_their_bones() {
    for phantom in [&*ARM, &*CALF] {
        for attachment in phantom.attachments.iter().step_by(7) {
            let points = phantom.attached_points(attachment, 1e-3);
            let name = &phantom.tissues[attachment.tissue].name;
            assert!(points.len() > 4, "{name}: {}", points.len());
            let bone = &phantom.tissues[attachment.bone].solid;
            for p in &points {
                assert!((0.0..=1.5e-3).contains(&bone.distance(*p)), "{name}");
                let from_start =
                    phantom.along(attachment.tissue, *p).unwrap() * phantom.line_length(attachment.tissue).unwrap();
                let length = phantom.line_length(attachment.tissue).unwrap();
                let from_end = if attachment.kind == AttachmentKind::Origin { from_start } else { length - from_start };
                assert!(from_end <= attachment.reach + 1e-12, "{name}");
            }
        }
        let pairs = phantom.attachments.chunks(2);
        assert!(pairs.into_iter().all(|pair| pair[0].kind == AttachmentKind::Origin && pair[0].belly == pair[1].belly));
    }
}

/// Points at a known offset from the surface of a ball: the eye.
#[test]
fn surface_distance_of_a_ball_is_exact_on_both_sides() {
    let eye = HEAD.find("left_eye").unwrap();
    let solid = &HEAD.tissues[eye].solid;
    let center = solid.bounds().center();
    for (direction, offset) in [([0.0, 1.0, 0.0], 3e-3), ([0.6, 0.0, 0.8], -4e-3), ([-0.6, 0.8, 0.0], 0.5e-3)] {
        let p = center + Vec3::from(direction) * (12e-3 + offset);
        // Central differences over 0.01 mm, Newton to 1 µm.
        let found = HEAD.surface_distance(eye, p).unwrap();
        assert!((found - f64::abs(offset)).abs() < 5e-6, "{found} for {offset}");
    }
    assert!(HEAD.surface_distance(usize::MAX, center).is_none());
}

/// A distance to a point of the surface is never less than the solid's own, which is a lower bound inside. A fifth is for
/// bent lines and for the flat ends of sections, where it is right to first order only.
#[test]
fn surface_distance_is_no_less_than_the_bound() {
    let mut found = 0;
    for belly in bellies(&CALF) {
        for p in CALF_MEMBERS[belly].iter().step_by(499).map(|&i| center(&CALF_IMAGE, i)) {
            let bound = -CALF.tissues[belly].solid.distance(p);
            if let Some(distance) = CALF.surface_distance(belly, p) {
                assert!(distance > 0.8 * bound - 1e-5, "{}: {distance} and {bound}", CALF.tissues[belly].name);
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found}");
}

/// Curves around what touches a bone, read as attachments are, enclose it: also around a clavicle and on small bones of the
/// hand. They leave out patches below two square millimeters, and between the sides of a bone there are chords.
#[test]
fn outlines_enclose_what_touches() {
    for at in ARM.attachments.iter().step_by(19) {
        let (tissue, bone) = (&ARM.tissues[at.tissue].name, &ARM.tissues[at.bone].solid);
        let curves = ARM.touched_outlines(at, 1e-3);
        assert!(!curves.is_empty(), "{tissue}");
        let outline = Outline::new(bone, &curves, 1e-3, 2e-3);
        let surface = ARM.bone_surface(at.bone, ARM.end_bounds(at), 1e-3).expect("a bone");
        let (mut both, mut either) = (0.0, 0.0);
        for i in 0..surface.triangle_count() {
            let [a, b, c] = surface.corners(i);
            let (q, normal) = outline.settled(bone, (a + b + c) / 3.0).expect("a place on the bone");
            let area = (b - a).cross(c - a).norm();
            let (is_true, is_drawn) = (ARM.touches(at, q), outline.level(q, normal) <= 0.0);
            both += if is_true && is_drawn { area } else { 0.0 };
            either += if is_true || is_drawn { area } else { 0.0 };
        }
        assert!(both > 0.9 * either, "{tissue}: {}", both / either);
    }
}
