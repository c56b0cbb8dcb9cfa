//! Parameters of forces after nodes were taken away: what is gone is left out, the rest acts as before.

use std::sync::Arc;

use sinew_fem::force::{
    AttachTarget, Attachment, AttachmentParams, FleshPlace, ForceParams, Load, LoadParams, NodalForceParams, NodeMap,
    Pressure, PressureParams, Sheath, SheathParams, Strand, TendonStrand,
};
use sinew_fem::material::Law;
use sinew_fem::{Model, ModelBuilder};
use sinew_math::Vec3;

use crate::models::{body, hexes, spec};
use crate::strands::{strand, tendon};

/// One node less, and no flesh beyond a place along x; the other nodes keep their numbers.
struct Without {
    node: u32,
    end: f64,
}

impl NodeMap for Without {
    fn node(&self, _body: usize, node: u32) -> Option<u32> {
        (node != self.node).then_some(node)
    }

    fn rest_position(&self, _body: usize, node: u32) -> Vec3 {
        hexes([2.0, 1.0, 1.0], [2, 1, 1]).positions()[node as usize]
    }

    fn places_left(&self, _body: usize, places: &[Vec3]) -> Vec<bool> {
        places.iter().map(|place| place.x < self.end).collect()
    }

    fn is_boundary(&self, _body: usize, _triangle: [u32; 3]) -> bool {
        true
    }
}

/// Nothing is left.
struct Nothing;

impl NodeMap for Nothing {
    fn node(&self, _body: usize, _node: u32) -> Option<u32> {
        None
    }

    fn rest_position(&self, _body: usize, _node: u32) -> Vec3 {
        Vec3::zero()
    }

    fn places_left(&self, _body: usize, places: &[Vec3]) -> Vec<bool> {
        vec![false; places.len()]
    }

    fn is_boundary(&self, _body: usize, _triangle: [u32; 3]) -> bool {
        false
    }
}

const NODE: fn(u32) -> FleshPlace = |node| FleshPlace::Node { body: 0, node };

/// One force of each kind on a block of two cells; node 3 is the one that will be missing.
fn forces() -> Vec<Arc<dyn ForceParams>> {
    let triangles = hexes([2.0, 1.0, 1.0], [2, 1, 1]).boundary_triangles();
    let place = |x: f64| Vec3::new(x, 0.5, 0.5);
    let far = Vec3::new(4.0, 0.0, 0.0);
    vec![
        Arc::new(AttachmentParams::nodes(0, "nodes", vec![1, 3, 5], AttachTarget::World, 30.0)),
        Arc::new(AttachmentParams::places(
            0,
            "places",
            vec![(place(0.5), 1.0), (place(1.5), 2.0)],
            AttachTarget::World,
        )),
        Arc::new(PressureParams { body: 0, name: "skin".into(), triangles: triangles.clone() }),
        Arc::new(LoadParams { body: 0, name: "pull".into(), weights: vec![(3, 0.25), (4, 0.75)] }),
        Arc::new(NodalForceParams {
            body: 0,
            name: "push".into(),
            forces: vec![(3, Vec3::unit(0)), (4, Vec3::unit(1))],
        }),
        Arc::new(strand(0, vec![vec![NODE(0), NODE(1)], vec![NODE(3), NODE(4)]])),
        Arc::new(tendon(0, "end", vec![(NODE(3), far), (NODE(5), far)])),
        Arc::new(SheathParams { body: 0, name: "fascia".into(), triangles, stiffness: 1.0 }),
    ]
}

fn model(forces: Vec<Arc<dyn ForceParams>>) -> Model {
    let mut builder = ModelBuilder::new();
    builder.add_body(body("block", hexes([2.0, 1.0, 1.0], [2, 1, 1]), spec(Law::NeoHookean)));
    for params in forces {
        builder.force(params);
    }
    builder.build().unwrap()
}

#[test]
fn what_is_gone_is_left_out_and_the_rest_acts_as_before() {
    let map = Without { node: 3, end: 1.0 };
    let whole = model(forces());
    let left = model(forces().iter().filter_map(|params| Some(params.renumbered(&map)?.params)).collect());
    let springs = |model: &Model| {
        let springs = model.forces_of::<Attachment>().flat_map(|force| &force.springs);
        springs.map(|spring| (spring.point, spring.stiffness)).collect::<Vec<_>>()
    };
    let points = whole.bodies[0].mesh.node_count() as u32;
    assert_eq!(springs(&whole), [(1, 10.0), (3, 10.0), (5, 10.0), (points, 1.0), (points + 1, 2.0)]);
    assert_eq!(springs(&left), [(1, 10.0), (5, 10.0), (points, 1.0)]);
    let [before, after] = [&whole, &left].map(|model| model.forces_of::<Pressure>().next().unwrap());
    let boundary = whole.bodies[0].mesh.boundary_triangles();
    let kept = boundary.iter().filter(|triangle| !triangle.contains(&3)).count();
    assert!(before.is_closed && !after.is_closed && 0 < kept && kept < boundary.len());
    assert!(after.triangles.iter().all(|triangle| !triangle.contains(&3)));
    // Overlapping triangles of a face share its load.
    let loads = [before, after].map(|pressure| pressure.shares.iter().sum::<f64>());
    assert_eq!(loads, [boundary.len() as f64, kept as f64]);
    let loads: Vec<&Load> = left.forces_of().collect();
    assert_eq!(loads[0].points, [(4, Vec3::splat(0.75))]);
    assert_eq!(loads[1].points, [(4, Vec3::unit(1))]);
    let [before, after] = [&whole, &left].map(|model| model.forces_of::<Strand>().next().unwrap());
    assert_eq!((before.generators.len(), after.generators.len()), (2, 1));
    assert_eq!(after.generators[0], before.generators[0]);
    assert_eq!([after.active_force, after.passive_force], [before.active_force, before.passive_force]);
    let [before, after] = [&whole, &left].map(|model| model.forces_of::<TendonStrand>().next().unwrap());
    assert_eq!((before.force, &before.tendons[1..]), (after.force, &after.tendons[..]));
    let [before, after] = [&whole, &left].map(|model| model.forces_of::<Sheath>().next().unwrap().area());
    assert!(after < before && after > 0.0);
}

#[test]
fn of_a_body_without_flesh_no_force_is_left() {
    for params in forces() {
        let left = params.renumbered(&Nothing).unwrap();
        assert!(left.lost == left.count && left.count > 0, "{} {}", left.kind, left.name);
    }
}
