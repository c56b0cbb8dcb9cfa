//! What tissues are: names, disjoint, connected, with volumes.

use std::collections::BTreeSet;

use super::*;
use crate::Solid;

#[test]
fn names_are_unique_words_and_what_tissues_belong_to_exists() {
    for phantom in all() {
        let names: BTreeSet<&str> = phantom.tissues.iter().map(|tissue| tissue.name.as_str()).collect();
        assert_eq!(names.len(), phantom.tissues.len(), "{}", phantom.name);
        for tissue in &phantom.tissues {
            assert!(tissue.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{}", tissue.name);
            if tissue.kind == TissueKind::Tendon {
                let belly = phantom.find(tissue.belongs_to.as_ref().unwrap()).unwrap();
                assert_eq!(phantom.tissues[belly].kind, TissueKind::Muscle);
            }
        }
    }
}

#[test]
fn arm_has_the_muscles_and_heads_of_the_table() {
    let muscles = ARM.muscles();
    assert_eq!(muscles.len(), 33);
    assert_eq!(bellies(&ARM).count(), 54);
    let heads = |muscle: &str| {
        ARM.tissues.iter().filter(|t| t.kind == TissueKind::Muscle && t.belongs_to.as_deref() == Some(muscle)).count()
    };
    assert_eq!(["biceps", "triceps", "deltoid", "fds", "fdp", "edc"].map(heads), [2, 3, 3, 4, 4, 4]);
    for bone in ["clavicle", "scapula", "humerus", "radius", "ulna", "carpus", "metacarpal_1", "distal_phalanx_5"] {
        assert_eq!(ARM.tissues[ARM.find(bone).unwrap()].kind, TissueKind::Bone, "{bone}");
    }
    // Ten muscles and one group, two of them heads of the gastrocnemius.
    assert_eq!((CALF.muscles().len(), bellies(&CALF).count()), (10, 11));
}

/// Where two distances are negative the tissues overlap. Points: near voxels at a boundary between tissues, where overlaps
/// would be, off the lattice.
#[test]
fn at_most_one_tissue_has_a_point_inside_and_it_is_the_one_that_owns_it() {
    for (phantom, image, members) in images() {
        let differs = |i: usize, j: usize| image.voxels[j] > 0 && image.voxels[j] != image.voxels[i];
        let is_boundary = |i: usize| neighbors(image, i).any(|j| differs(i, j));
        // A prime: no plane of voxels is hit more often than others.
        for &i in members.iter().flatten().filter(|i| **i % 401 == 0 && is_boundary(**i)) {
            let p = center(image, i) + Vec3::new(0.62e-3, -0.44e-3, 0.34e-3);
            let is_inside = |tissue: &usize| {
                let solid = &phantom.tissues[*tissue].solid;
                solid.bounds().contains(p) && solid.distance(p) < 0.0
            };
            let inside: Vec<usize> = (0..phantom.tissues.len()).filter(is_inside).collect();
            assert_eq!(inside, phantom.tissue_at(p).into_iter().collect::<Vec<_>>(), "{} at {p:?}", phantom.name);
        }
    }
}

/// A disc of the least tendon holds a voxel of 2 mm, so nothing breaks. Where a belly leaves the edge of a bone single
/// voxels can be beyond it: 2 in 1000 are allowed.
#[test]
fn every_head_is_one_piece_with_its_tendons_and_touches_its_bones() {
    for (phantom, image, members) in images() {
        for pair in phantom.attachments.chunks(2) {
            let belly = pair[0].belly;
            let name = &phantom.tissues[belly].name;
            let is_own = |tissue: &usize| {
                let about = &phantom.tissues[*tissue];
                *tissue == belly || (about.kind == TissueKind::Tendon && about.belongs_to.as_ref() == Some(name))
            };
            let own = (0..phantom.tissues.len()).filter(is_own);
            let sizes = pieces(image, own.flat_map(|tissue| members[tissue].iter().copied()));
            assert!(sizes[1..].iter().sum::<usize>() * 500 <= sizes[0], "{name}: {sizes:?}");
            for end in pair {
                let is_bone = |i: usize| usize::from(image.voxels[i]) == end.bone + 1;
                let touches = members[end.tissue].iter().any(|&i| neighbors(image, i).any(is_bone));
                assert!(touches, "{name} and {}", phantom.tissues[end.bone].name);
            }
        }
    }
}

/// The sections were grown until volumes fit those of the table at 2 mm: to 6 % for the smallest, whose 3 cm³ are 400
/// voxels, to 2 % for most.
#[test]
fn bellies_have_the_volumes_of_the_literature() {
    for (phantom, _, members) in images() {
        for belly in bellies(phantom) {
            let volume = members[belly].len() as f64 * 8e-9;
            let expected = phantom.tissues[belly].literature_volume.unwrap();
            let name = &phantom.tissues[belly].name;
            assert!((volume / expected - 1.0).abs() < 0.10, "{name}: {:.1} of {:.1} cm³", volume * 1e6, expected * 1e6);
        }
    }
}

#[test]
fn jaw_turns_about_its_condyles_and_parts_of_the_head_are_whole() {
    let [hinge] = HEAD.hinges.as_slice() else { panic!("one hinge") };
    let names = [hinge.fixed, hinge.moving].map(|tissue| HEAD.tissues[tissue].name.as_str());
    assert_eq!(names, ["skull", "jaw"]);
    // The axis runs through both condyles.
    for end in hinge.axis {
        assert!(HEAD.tissues[hinge.moving].solid.distance(end) < 0.0);
    }
    // From left to right, a positive turn about +x lifts the chin, which is in front.
    let axis = hinge.axis[1] - hinge.axis[0];
    assert!(axis.x > 0.0 && axis.cross(Vec3::new(0.0, 1.0, 0.0)).z > 0.0);
    let image = HEAD.labels(3e-3, &Flaws::default());
    let members = members(&image, HEAD.tissues.len());
    for name in ["skull", "jaw", "brain", "flesh", "upper_teeth", "lower_teeth", "left_eye", "right_masseter"] {
        let tissue = HEAD.find(name).unwrap();
        let sizes = pieces(&image, members[tissue].iter().copied());
        let rest: usize = sizes[1..].iter().sum();
        assert!(rest * 50 <= sizes[0], "{name}: {sizes:?}");
    }
}
