//! Cells that are taken away: the rest has its own mass and momentum, and feels the forces it felt before.

use sinew_fem::force::strand::{Slack, StrandParams, StrandScaling, TendonParams};
use sinew_fem::force::{
    AttachTarget, AttachmentParams, FleshPlace, LoadParams, NodalForceParams, PressureParams, SheathParams,
};
use sinew_fem::material::Law;
use sinew_fem::model::{ColliderParams, MuscleParams, Remaining, RemovalError};
use sinew_fem::{Contacts, Model, ModelBuilder, Regime, SolverParams, State, StepContext};
use sinew_geometry::embedding::Embedding;
use sinew_geometry::procedural::box_surface;
use sinew_geometry::shape::{Plane, Pose};
use sinew_geometry::{CellKind, CellMesh};
use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};

use crate::models::{Noise, Run, at, body, hexes, nodes_where, pin, spec, tets};

/// Cells of a mesh by the x of their center.
fn cells_where(mesh: &CellMesh, is_in: impl Fn(f64) -> bool) -> Vec<u32> {
    let center =
        |nodes: &[u32]| nodes.iter().map(|&n| mesh.positions()[n as usize].x).sum::<f64>() / nodes.len() as f64;
    let cells = mesh.cells().enumerate();
    cells.filter(|(_, (_, nodes))| is_in(center(nodes))).map(|(cell, _)| cell as u32).collect()
}

/// Mass and momentum of some cells, each node of a cell with its share of the cell.
fn of_cells(mesh: &CellMesh, velocities: &[Vec3], is_kept: impl Fn(u32) -> bool) -> (f64, Vec3) {
    let (mut mass, mut momentum) = (0.0, Vec3::zero());
    for (cell, ((kind, nodes), volume)) in mesh.cells().zip(mesh.cell_volumes()).enumerate() {
        assert!(matches!(kind, CellKind::Tet4 | CellKind::Hex8), "shares are equal in these");
        if is_kept(cell as u32) {
            let share = 1000.0 * volume / nodes.len() as f64;
            mass += 1000.0 * volume;
            momentum += nodes.iter().map(|&node| velocities[node as usize] * share).sum::<Vec3>();
        }
    }
    (mass, momentum)
}

/// Nodes on the cut lose the share of the cells that go and keep their velocity.
#[test]
fn mass_and_momentum_of_the_rest_are_those_of_its_cells() {
    let regimes = [Regime::ImplicitEuler, Regime::Bdf2, Regime::Newmark(Default::default())];
    let meshes = [tets([2.0, 1.0, 1.0], [4, 2, 2]), hexes([2.0, 1.0, 1.0], [4, 2, 2])];
    for (mesh, regime) in meshes.iter().flat_map(|mesh| regimes.map(|regime| (mesh, regime))) {
        let gone = cells_where(mesh, |x| x > 1.1);
        let mut bar = body("bar", mesh.clone(), spec(Law::StableNeoHookean));
        bar.velocities = Noise(7).vectors(mesh.node_count());
        let mut builder = ModelBuilder::new();
        builder.add_body(bar);
        let Remaining { parts, map, notes } = builder.without_cells(0, &gone).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        let params = SolverParams { regime, tolerance: 1e-10, ..SolverParams::default() };
        let mut run = Run::new(builder.build().unwrap(), params);
        for _ in 0..3 {
            run.step(1e-3).unwrap();
        }
        let (mass, momentum) = of_cells(mesh, &run.state.velocities, |cell| !gone.contains(&cell));
        let rest = parts.build().unwrap();
        assert_ne!(rest.revision(), run.model.revision());
        let state = run.state.carried(&map, &run.model, &rest);
        assert_eq!(state.time, run.state.time);
        assert!((rest.masses.iter().sum::<f64>() - mass).abs() < 1e-12 * mass);
        let left = sinew_fem::diagnostics::momentum(&rest, &state, 0..rest.kinematics.point_count());
        assert!((left - momentum).norm() < 1e-12 * momentum.norm(), "{left:?} {momentum:?}");
        // And it goes on from there: no force from outside acts, and nothing is left of those from what is gone.
        let mut on = Run { state, control: rest.initial_control(), model: rest, solver: run.solver };
        for _ in 0..2 {
            on.step(1e-3).unwrap();
            assert!((on.momentum() - momentum).norm() < 1e-6 * momentum.norm(), "{regime:?}");
        }
    }
}

/// A bar with everything that can hold or pull it along its whole length, and a patch that is bound to it at both ends.
fn bar(scaling: StrandScaling) -> ModelBuilder {
    let mesh = tets([8.0, 1.0, 1.0], [8, 1, 1]);
    let along = |y: f64| (0..8).map(|k| Vec3::new(f64::from(k) + 0.5, y, 0.4)).collect::<Vec<_>>();
    let places = |y| along(y).into_iter().map(|place| FleshPlace::Place { body: 0, place }).collect::<Vec<_>>();
    let mut builder = ModelBuilder::new();
    builder.gravity(Vec3::new(0.5, -9.81, 1.0));
    builder.add_body(body("bar", mesh.clone(), spec(Law::StableNeoHookean)));
    let patch = at(&tets([8.0, 0.2, 1.0], [8, 1, 1]), Vec3::new(0.0, 1.0, 0.0));
    let touching = nodes_where(&patch, |x| x.y < 1.01);
    builder.add_body(body("patch", patch, spec(Law::StableNeoHookean)));
    builder.bind(1, touching, AttachTarget::Body(0));
    builder.pin(pin(0, "ends", nodes_where(&mesh, |x| x.x < 0.1 || x.x > 7.9), Vec3::zero()));
    let low = nodes_where(&mesh, |x| x.z < 0.1);
    builder.force(AttachmentParams::nodes(0, "nodes", low, AttachTarget::World, 700.0));
    let springs = along(0.3).into_iter().map(|x| (x, 50.0)).collect();
    builder.force(AttachmentParams::places(0, "places", springs, AttachTarget::World));
    let cells = mesh.cell_count();
    builder.muscle(MuscleParams {
        body: 0,
        name: "muscle".into(),
        cells: (0..cells as u32).collect(),
        directions: vec![Vec3::unit(0); cells],
        stress: vec![3e3; cells],
        group: Default::default(),
    });
    builder.force(StrandParams {
        body: 0,
        name: "strand".into(),
        columns: vec![places(0.2), places(0.6), places(0.7)],
        force: 40.0,
        passive_force: 20.0,
        scaling,
        factors: (0..21).map(|k| 1.0 + 0.1 * f64::from(k)).collect(),
        curves: FiberCurves { velocity: None, ..FiberCurves::chen() },
        max_velocity: 10.0,
    });
    builder.force(TendonParams {
        body: 0,
        name: "tendon".into(),
        ends: places(0.5).into_iter().map(|place| (place, Vec3::new(2.0, -3.0, 0.5))).collect(),
        target: AttachTarget::World,
        force: 30.0,
        curve: Curve::tendon_zajac(),
        slack: Slack::Factor(0.9),
    });
    let triangles = mesh.boundary_triangles();
    builder.force(SheathParams { body: 0, name: "sheath".into(), triangles: triangles.clone(), stiffness: 90.0 });
    builder.force(PressureParams { body: 0, name: "pressure".into(), triangles });
    let weights = (0..mesh.node_count() as u32).map(|node| (node, 0.25)).collect();
    builder.force(LoadParams { body: 0, name: "load".into(), weights });
    let given = vec![(0, Vec3::unit(0)), (mesh.node_count() as u32 - 1, Vec3::unit(1))];
    builder.force(NodalForceParams { body: 0, name: "given".into(), forces: given });
    builder.add_collider(ColliderParams {
        name: "floor".into(),
        shape: Plane::new(Vec3::new(0.0, 0.15, 0.0), Vec3::unit(1)).unwrap().into(),
        pose: Pose::identity(),
        pivot: Vec3::zero(),
        stiffness: Some(300.0),
        friction: 0.4,
        restitution: 1.0,
        side: Default::default(),
    });
    builder
}

/// Everything that acts on the points, at commands that leave nothing out.
fn forces(model: &Model, state: &State) -> Vec<Vec3> {
    let mut control = model.initial_control();
    for (channel, value) in [
        ("bar.activation.muscle", 0.6),
        ("bar.activation.strand", 0.8),
        ("bar.pressure.pressure", 40.0),
        ("bar.load.load.x", 3.0),
        ("bar.attach.nodes.rotation.x", 0.2),
        ("bar.tendon.tendon.y", -0.3),
    ] {
        control.set_by_name(channel, value).unwrap();
    }
    let mut contacts = Contacts::default();
    contacts.find(model, state, &control, 1e-2);
    let ctx = StepContext { time: state.time, dt: 1e-2, previous: state, control: &control, contacts: &contacts };
    let mut out = vec![Vec3::zero(); state.positions.len()];
    for force in model.forces() {
        let mut own = vec![Vec3::zero(); state.positions.len()];
        force.add_gradient(&state.positions, &ctx, &mut own);
        let is_far = force.name().starts_with("patch");
        assert!(is_far || own.iter().any(|g| g.norm() > 0.0), "{} does nothing", force.name());
        out.iter_mut().zip(own).for_each(|(out, own)| *out -= own);
    }
    model.add_elastic_forces(state, &control, &mut out);
    out
}

/// Pins, springs, muscles, strands, tendons, sheaths, pressure, loads and contact lose what stood on lost flesh, and
/// nothing else changes: the forces at nodes two cells away are the same to rounding.
#[test]
fn what_stays_feels_the_same_forces() {
    for scaling in [StrandScaling::Physical, StrandScaling::Author] {
        let builder = bar(scaling);
        let mesh = tets([8.0, 1.0, 1.0], [8, 1, 1]);
        let gone = cells_where(&mesh, |x| (5.0..6.0).contains(&x));
        let Remaining { parts, map, notes } = builder.without_cells(0, &gone).unwrap();
        for what in ["attachment \"places\"", "muscle", "strand", "tendon", "sheath", "pressure"] {
            assert!(notes.iter().any(|note| note.starts_with(what)), "{what}: {notes:?}");
        }
        assert!(notes.contains(&"tendon \"tendon\" of body \"bar\" loses 1 of 8 strings".to_string()), "{notes:?}");
        let mut run = Run::new(builder.build().unwrap(), SolverParams::default());
        let mut noise = Noise(3);
        run.disturb(|_, x| x + noise.vector() * 0.03);
        let rest = parts.build().unwrap();
        let points = map.points(&run.model, &rest);
        let state = run.state.carried(&map, &run.model, &rest);
        let (before, after) = (forces(&run.model, &run.state), forces(&rest, &state));
        let scale = before.iter().map(|f| f.norm()).fold(0.0, f64::max);
        let mut compared = 0;
        for (node, x) in mesh.positions().iter().enumerate().filter(|(_, x)| x.x < 3.5 || x.x > 7.5) {
            let (p, q) = (node, points[node].unwrap() as usize);
            assert_eq!(run.state.positions[p], state.positions[q]);
            let masses = [run.model.masses[p], rest.masses[q]];
            assert!((masses[0] - masses[1]).abs() < 1e-12 * masses[0]);
            assert!((before[p] - after[q]).norm() < 1e-12 * scale, "{x:?}: {:?} {:?}", before[p], after[q]);
            compared += 1;
        }
        assert!(compared >= 16 && points[..mesh.node_count()].iter().all(Option::is_some), "a gap, no lost node");
    }
}

/// What was bound to lost flesh is free, where it was.
#[test]
fn bound_nodes_come_free() {
    let builder = bar(StrandScaling::Physical);
    let mesh = tets([8.0, 1.0, 1.0], [8, 1, 1]);
    let Remaining { parts, map, notes } = builder.without_cells(0, &cells_where(&mesh, |x| x > 6.0)).unwrap();
    assert!(notes.iter().any(|note| note.contains("4 nodes of body \"patch\" come free of \"bar\"")), "{notes:?}");
    let old = builder.build().unwrap();
    let new = parts.build().unwrap();
    let state = old.initial_state().carried(&map, &old, &new);
    let (before, after) = (&old.bodies[1], &new.bodies[1]);
    let start = old.initial_state();
    for (p, q) in before.points.clone().zip(after.points.clone()) {
        assert!(start.positions[p].distance(state.positions[q]) < 1e-12);
    }
    // Eight nodes of the bar less, and four of the patch more.
    assert_eq!(new.kinematics.unknown_count() + 8, old.kinematics.unknown_count() + 4);
}

#[test]
fn removals_that_leave_nothing_are_refused() {
    let builder = bar(StrandScaling::Physical);
    let mesh = tets([8.0, 1.0, 1.0], [8, 1, 1]);
    let refused = |is_in: &dyn Fn(f64) -> bool| builder.without_cells(0, &cells_where(&mesh, is_in)).err().unwrap();
    assert!(matches!(refused(&|_| false), RemovalError::NoCells { .. }));
    assert!(matches!(refused(&|_| true), RemovalError::AllCells { count: 48, .. }));
    let text = refused(&|x| !(3.0..4.0).contains(&x)).to_string();
    assert_eq!(text, "pin \"ends\" of body \"bar\" would lose all 8 of its nodes");
    let (mut one_end, nodes) = (bar(StrandScaling::Physical), nodes_where(&mesh, |x| x.x > 7.9));
    one_end.pin(pin(0, "tip", nodes, Vec3::zero()));
    let error = one_end.without_cells(0, &cells_where(&mesh, |x| x > 7.0)).err().unwrap();
    assert!(error.to_string().contains("\"tip\""), "{error}");
}

/// A finer surface loses what lay in lost cells, and the cut is closed by the faces of the cells behind it.
#[test]
fn finer_surfaces_show_the_cut() {
    let (size, mesh) = (Vec3::new(2.0, 1.0, 1.0), tets([2.0, 1.0, 1.0], [4, 2, 2]));
    let skin = box_surface(size, [12, 6, 6]).unwrap();
    let mut bar = body("bar", mesh.clone(), spec(Law::StableNeoHookean));
    bar.surface = Some((skin.triangles().to_vec(), Embedding::bind(&mesh, skin.positions()).unwrap()));
    let mut builder = ModelBuilder::new();
    builder.add_body(bar);
    let rest = builder.without_cells(0, &cells_where(&mesh, |x| x > 1.1)).unwrap().parts.build().unwrap();
    let (mesh, surface) = (&rest.bodies[0].mesh, &rest.bodies[0].surface);
    let places = surface.positions(mesh.positions());
    assert!(places.iter().all(|x| x.x < 1.0 + 1e-9));
    let mut cut = Vec3::zero();
    for &triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|vertex| places[vertex as usize]);
        if [a, b, c].iter().all(|x| x.x > 1.0 - 1e-9) {
            cut += (b - a).cross(c - a) * 0.5;
        }
    }
    assert!((cut - Vec3::unit(0)).norm() < 1e-12, "one square meter, seen from outside: {cut:?}");
    assert!(surface.areas.iter().sum::<f64>() > 5.0, "four sides of one square meter and both ends, but for a seam");
}
