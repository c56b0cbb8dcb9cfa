//! What becomes of difficult characters, one difficulty at a time.

use std::sync::LazyLock;

use sinew_math::Vec3;

use crate::characters::{Character, CharacterParams, Difficulty, generate, with_difficulty};
use crate::*;

/// Edge of the skin \[m\].
const EDGE: f64 = 0.012;

static ARM: LazyLock<Rig> =
    LazyLock::new(|| generate(&CharacterParams { edge: EDGE, ..CharacterParams::of(Character::Arm) }).unwrap());

fn flesh(rig: &Rig) -> Flesh {
    Flesh::new(rig, &FleshParams::default()).unwrap()
}

/// Roles of the parts of the surface with this name.
fn roles(flesh: &Flesh, name: &str) -> Vec<Role> {
    let is_of = |part: &&Decision| part.name == name || part.name.starts_with(&format!("{name}:"));
    flesh.decisions.iter().filter(is_of).map(|part| part.role).collect()
}

/// Doubled, turned and unwelded triangles, fins, two skins and missing names change nothing in the flesh but its order;
/// shells, eyes, clothes, hair and buttons add nothing to it.
#[test]
fn what_adds_no_volume_leaves_the_flesh_as_it_is() {
    let plain = flesh(&ARM);
    use Difficulty::*;
    for difficulty in [
        Doubled,
        Turned,
        Unwelded,
        Fins,
        TwoSkins,
        Unnamed,
        Shell,
        InnerParts,
        Cloth,
        Hair,
        Buttons,
        ScaledArmature,
        Centimeters,
    ] {
        for seed in 0..3 {
            let worse = flesh(&with_difficulty(&ARM, EDGE, difficulty, seed));
            // Vertices are stored in single precision after they were moved, and flips of thin triangles differ.
            let change = (worse.volume / plain.volume - 1.0).abs();
            assert!(change < 1e-4, "{difficulty:?} {seed}: {change:.1e}, {:#?}", worse.decisions);
            assert!(worse.surface.is_closed(), "{difficulty:?} {seed}");
        }
    }
}

#[test]
fn parts_ride_on_what_they_lie_on() {
    for seed in 0..4 {
        let with = |difficulty| flesh(&with_difficulty(&ARM, EDGE, difficulty, seed));
        let all = |roles: &[Role], role: Role| !roles.is_empty() && roles.iter().all(|known| *known == role);
        let inner = with(Difficulty::InnerParts);
        assert!(all(&roles(&inner, "eyes"), Role::OnBone), "{:#?}", inner.decisions);
        // Teeth that stand out of the skin ride on it.
        let teeth = roles(&inner, "teeth");
        let on_bone = teeth.iter().filter(|role| **role == Role::OnBone).count();
        assert!(!teeth.contains(&Role::Flesh) && 2 * on_bone > teeth.len(), "{:#?}", inner.decisions);
        let cloth = with(Difficulty::Cloth);
        assert!(all(&roles(&cloth, "cloth"), Role::OnFlesh), "{:#?}", cloth.decisions);
        let shell = with(Difficulty::Shell);
        assert!(all(&roles(&shell, "shell"), Role::OnFlesh), "{:#?}", shell.decisions);
        let hair = with(Difficulty::Hair);
        // A strip that stands far out and that one joint moves rides on its bone.
        let strips = roles(&hair, "hair");
        let on_flesh = strips.iter().filter(|role| **role == Role::OnFlesh).count();
        assert!(!strips.contains(&Role::Flesh) && 2 * on_flesh > strips.len(), "{:#?}", hair.decisions);
    }
}

/// Lumps that cross the skin are flesh with it, or small ones ride; a body that is cut open keeps most of its volume.
#[test]
fn crossing_and_open_skin_is_flesh() {
    let plain = flesh(&ARM);
    for seed in 0..4 {
        for difficulty in [Difficulty::Lumps, Difficulty::Fold] {
            let worse = flesh(&with_difficulty(&ARM, EDGE, difficulty, seed));
            assert!(worse.volume > 0.9 * plain.volume, "{difficulty:?} {seed}: {:#?}", worse.decisions);
        }
        let open = flesh(&with_difficulty(&ARM, EDGE, Difficulty::Open, seed));
        assert!((0.85..1.0).contains(&(open.volume / plain.volume)), "{seed}: {:#?}", open.decisions);
        assert!(open.decisions.iter().any(|part| part.role == Role::Flesh && part.open_edges > 0));
    }
}

/// A part that the user gives a role has it; a part that does not exist is an error with the names of those that do.
#[test]
fn roles_of_the_user_count() {
    let rig = with_difficulty(&ARM, EDGE, Difficulty::Cloth, 1);
    let given = |name: &str, role| FleshParams { roles: vec![(name.into(), role)], ..FleshParams::default() };
    assert_eq!(roles(&Flesh::new(&rig, &given("cloth", Role::OnBone)).unwrap(), "cloth"), [Role::OnBone]);
    assert_eq!(roles(&Flesh::new(&rig, &given("cloth", Role::Flesh)).unwrap(), "cloth"), [Role::Flesh]);
    let unknown = Flesh::new(&rig, &given("clothes", Role::OnBone)).unwrap_err();
    let FleshError::NoPart { name, known } = &unknown else { panic!("{unknown:?}") };
    assert!(name == "clothes" && known.contains("\"cloth\"") && known.contains("\"arm\""), "{unknown}");
    let none = Flesh::new(&ARM, &given("arm", Role::OnBone)).unwrap_err();
    assert_eq!(none, FleshError::NoVolume);
}

/// A sleeve goes where blend skinning takes it, and along with flesh that is somewhere else: all flesh moved by d moves
/// it by d.
#[test]
fn what_rides_on_flesh_goes_along_with_it() {
    let rig = with_difficulty(&ARM, EDGE, Difficulty::Cloth, 1);
    let flesh = flesh(&rig);
    let motions = flesh.motions(&rig.pose(rig.animation(None).unwrap(), 1.0));
    let blended = flesh.blend(&motions);
    let by = Vec3::new(0.01, -0.02, 0.03);
    let moved: Vec<Vec3> = blended.iter().map(|x| *x + by).collect();
    let cloth = flesh.pieces.iter().find(|piece| piece.has_name(&rig, "cloth")).unwrap();
    let [before, after] = [&blended, &moved].map(|skin| flesh.place_piece(cloth, skin, &motions, |x| x));
    let ride = |k: usize| match &cloth.vertices[k] {
        Source::Ride(ride) => ride.anchor.share,
        _ => 0.0,
    };
    let used: Vec<usize> =
        rig.surfaces[cloth.surface].parts[0].triangles.iter().flatten().map(|&v| v as usize).collect();
    assert!(used.iter().all(|&k| ride(k) > 0.99), "the sleeve lies near the skin");
    for k in used {
        assert!((after[k] - before[k]).distance(by * ride(k)) < 1e-12);
    }
}
