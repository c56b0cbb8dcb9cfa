//! Decides whether kernels are compiled for x86-64 processors without AVX2 too (`cfg(fallback)`): a third of the machine
//! code, which only processors run that are as old. So they are, if this machine is one, if the program is for another
//! kind of machine than this one, or if `SINEW_FALLBACK=1` asks for it (`cargo xtask dist` does).

use std::env::var;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(fallback)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SINEW_FALLBACK");
    let is_for_this_kind = var("HOST") == var("TARGET");
    let is_asked_for = var("SINEW_FALLBACK").is_ok_and(|value| value != "0");
    if is_asked_for || !is_for_this_kind || !has_avx2() {
        println!("cargo::rustc-cfg=fallback");
    }
}

/// Whether the processor that compiles has what the level above the fallback needs.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}
