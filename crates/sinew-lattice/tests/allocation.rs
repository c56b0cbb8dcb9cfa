//! Nothing allocates after its first call, by a counting allocator. This test is alone in its program, because the
//! allocator counts everything.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_geometry::lattice::HexLattice;
use sinew_lattice::{Fibers, LatticeElastic, ModeStiffness, Multigrid, MultigridParams, TangentKind, VolumeLaw};
use sinew_math::{Mat3, Vec3};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator with unchanged arguments; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_allocates_after_the_first_step() {
    for fibers in [false, true] {
        for volume in [VolumeLaw::Trace, VolumeLaw::Determinant] {
            check(fibers, volume);
        }
    }
}

fn check(has_fibers: bool, volume: VolumeLaw) {
    let cells = HexLattice::dense(Vec3::zero(), 0.1, [24, 20, 18]).unwrap();
    let count = cells.node_places.len();
    let fixed: Vec<[bool; 3]> = cells.node_places.iter().map(|place| [place[0] == 0; 3]).collect();
    let lame = vec![[1.0, 2.0]; cells.cells.len()];
    let mut system =
        Multigrid::new(&cells, &lame, &fixed, MultigridParams { volume, ..MultigridParams::default() }).unwrap();
    let fibers = has_fibers.then(|| Fibers {
        directions: vec![Vec3::unit(1); lame.len()],
        stress: vec![3.0; lame.len()],
        groups: vec![0; lame.len()],
    });
    if let Some(fibers) = &fibers {
        system = system.with_fibers(fibers).unwrap();
    }
    let elastic = LatticeElastic::with_fibers(&cells, &lame, ModeStiffness::EXACT, volume, fibers.as_ref());
    let diagonal = vec![Mat3::<f32>::identity(); count];
    let full = vec![Mat3::<f32>::new([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]); count];
    // Squeezed to half, so that the exact tangent differs from the definite one.
    let u: Vec<Vec3> = (0..count).map(|node| cells.node_position(node) * -0.5).collect();
    let x: Vec<Vec3> = (0..count).map(|node| cells.node_position(node) * 0.5).collect();
    let r = vec![Vec3::new(1.0f32, 0.5, 0.0); count];
    let (mut z, mut wide, mut means) = (r.clone(), u.clone(), vec![0.0; count]);
    let mut activation = 0.0;
    let mut step = |anchors: Option<&[Mat3<f32>]>| {
        system.begin_step(&[]);
        system.set_anchors(anchors);
        activation += 0.1;
        system.set_activations(&[activation]);
        for tangent in [TangentKind::Exact, TangentKind::Definite] {
            system.linearize(&u, tangent, 2.0).unwrap();
            system.precondition(&r, &mut z);
            system.apply(&r, &mut z);
            system.apply_wide(&u, &mut wide);
            system.mean_diagonal(&mut means);
            system.correct(&r, &mut z).unwrap();
        }
        elastic.energy(&x, &[activation]) + elastic.add_gradient(&x, &[activation], 0.5, &mut wide)
    };
    // The threads of a pool allocate now and then for their queues; a single thread does not.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        step(Some(&diagonal));
        let before = COUNT.load(Ordering::Relaxed);
        for anchors in [Some(&full), None, Some(&diagonal)] {
            step(anchors.map(Vec::as_slice));
        }
        assert_eq!(COUNT.load(Ordering::Relaxed) - before, 0);
    });
}
