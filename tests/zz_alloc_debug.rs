//! A step takes no memory after the first: real-time use and long runs depend on it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew::prelude::*;

/// Counts calls that take memory, on all threads.
struct Counting;

static ARMED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system allocator, which fulfils the contract; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ARMED.swap(false, Ordering::SeqCst) { eprintln!("{} bytes {}", layout.size(), std::backtrace::Backtrace::force_capture()); ARMED.store(true, Ordering::SeqCst); }
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if ARMED.swap(false, Ordering::SeqCst) { eprintln!("re {} bytes {}", size, std::backtrace::Backtrace::force_capture()); ARMED.store(true, Ordering::SeqCst); }
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`; `memory` came from `System`.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; `memory` came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A block that swings, or lies on the floor so that contacts exist and stay the same.
fn scene(linear: &str, element: &str, body: &str) -> Scene {
    let text = format!(
        r#"
        duration = "1 s"
        frame_rate = 60
        [solver]
        linear = "{linear}"
        [[body]]
        name = "block"
        mesh = {{ from = "box", size = ["8 cm", "4 cm", "4 cm"], cell = "1 cm", element = "{element}" }}
        material = {{ type = "stable_neo_hookean", young = "30 kPa", poisson = 0.4 }}
        damping = {{ mass = "1 1/s", stiffness = "1 ms" }}
        {body}
        "#
    );
    Scene::from_str(&text, "block.toml", ".").expect("the scene is sound")
}

/// Allocations in frames after the first ones.
fn allocations(scene: &Scene, warm_up: usize) -> usize {
    let mut simulation = compile(scene).expect("the scene compiles");
    for _ in 0..warm_up {
        simulation.step_frame().expect("the first steps succeed");
    }
    let before = TAKEN.load(Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        simulation.step_frame().expect("a step succeeds");
    }
    ARMED.store(false, Ordering::SeqCst);
    TAKEN.load(Ordering::SeqCst) - before
}

/// One test, because the counter belongs to the whole process.
#[test]
fn a_step_after_the_first_takes_no_memory() {
    let swing = "pin = [{ region = \"x-min\" }]";
    let rest = "position = [0, 0, 0]\n[[collider]]\nname = \"floor\"\nshape = { type = \"plane\" }\nfriction = 0.5";
    // Inside one pool, so that handing work to threads is not counted as part of a step.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    for linear in ["cg", "cholesky"] {
        for element in ["tet4", "hex8"] {
            for (kind, body, warm_up) in [("swinging", swing, 1), ("lying", rest, 30)] {
                let scene = scene(linear, element, body);
                let count = pool.install(|| allocations(&scene, warm_up));
                if count > 0 { eprintln!("COUNT {count} a {kind} block of {element} solved by {linear} takes memory in five steps"); }
            }
        }
    }
}
