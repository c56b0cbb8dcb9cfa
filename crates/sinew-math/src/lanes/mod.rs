//! Loops over many elements at once, with the instruction set chosen at run time.
//!
//! A hot loop is a [`LaneKernel`]: written once, generic over an [`Isa`], working on blocks of [`F32_LANES`] f32 or
//! [`F64_LANES`] f64. [`dispatch`] compiles it for each instruction-set level and runs the best one the processor
//! supports. Block sizes are the same at every level, so the order of sums never depends on the processor. The
//! arithmetic is the same too (see [`scalar`](crate::scalar)), so **every level gives the same bits**.
//!
//! ```
//! use sinew_math::lanes::{Isa, LaneKernel, dispatch, F64_LANES};
//! use sinew_math::{LaneScalar, Scalar};
//!
//! /// The formula, generic: works for plain f64, for lanes, and for complex step.
//! #[inline(always)]
//! fn damped<S: Scalar>(x: S) -> S {
//!     (-x).exp() * x
//! }
//!
//! struct Damp<'a>(&'a mut [f64]);
//!
//! impl LaneKernel for Damp<'_> {
//!     type Output = ();
//!     #[inline(always)]
//!     fn run<I: Isa>(self) {
//!         for block in self.0.chunks_exact_mut(F64_LANES) {
//!             damped(I::F64::load(block)).store(block);
//!         }
//!     }
//! }
//!
//! let mut values = [0.5; 16];
//! dispatch(Damp(&mut values));
//! assert_eq!(values[3], damped(0.5));
//! ```
//!
//! `run` and all functions that it calls on lanes must be `#[inline(always)]`: a function that is not inlined is
//! compiled without the instruction set and is a hundred times slower. Closures are not always inlined; write
//! functions.
//!
//! The environment variable `SINEW_ISA` (`scalar`, `neon`, `avx2`, `avx512`) forces a level. A level that the processor
//! or the build lacks is ignored ([`HAS_FALLBACK`]); [`active_isa`] returns the level in use.
//!
//! Implementation note: raw `std::arch` intrinsics rather than a portable layer, because bit equality needs control of
//! every operation (exact square root and division, integer reciprocal square root, no implicit fused operations).

mod pair;
mod portable;
#[cfg(target_arch = "x86_64")]
mod register;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

pub use pair::Pair;
pub use portable::{Portable, PortableMask};

use crate::scalar::{LaneScalar, Work};

/// Lanes of f32 at every level: one AVX-512 register.
pub const F32_LANES: usize = 16;

/// Lanes of f64 at every level: one AVX-512 register.
pub const F64_LANES: usize = 8;

/// The lane types of one instruction-set level. Implementations are private: a kernel gets one only from [`dispatch`],
/// which checks the processor first.
pub trait Isa: Copy + Send + Sync + 'static + sealed::Sealed {
    /// [`F32_LANES`] lanes of f32.
    type F32: LaneScalar<Element = f32>;
    /// [`F64_LANES`] lanes of f64.
    type F64: LaneScalar<Element = f64>;
    /// The f64 lanes of one register, a divisor of [`F64_LANES`]: for long kernels, where a second register would only
    /// double the code and spill.
    type F64Register: LaneScalar<Element = f64>;
    /// The level.
    const LEVEL: IsaLevel;
}

mod sealed {
    use super::LaneKernel;

    pub trait Sealed {
        /// Runs a kernel at this level as a function of `Home`. A method, not a `match` on the level: that would
        /// compile the kernel for every level within every level.
        fn call<Home: ?Sized, K: LaneKernel>(kernel: K) -> K::Output;
    }
}

/// Work that is compiled once per instruction-set level.
pub trait LaneKernel {
    /// Return type of the kernel.
    type Output;

    /// Does the work with the lane types of `I`. Put `#[inline(always)]` on it and on everything generic that it calls.
    fn run<I: Isa>(self) -> Self::Output;
}

/// Instruction-set levels, from narrow to wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IsaLevel {
    /// Arrays in plain Rust; fused multiply-add may be a library call.
    Scalar,
    /// 64-bit ARM: arrays in plain Rust, which the compiler turns into NEON instructions since every such processor has
    /// them.
    Neon,
    /// x86-64 with AVX2 and fused multiply-add.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl IsaLevel {
    /// All levels, whether this machine has them or not.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];

    /// Whether this processor can run the level.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => HAS_FALLBACK,
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The widest level that this processor can run.
    pub fn best_available() -> Self {
        Self::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Self::Scalar)
    }

    /// The word used in `SINEW_ISA`, checkpoints and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for IsaLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no instruction-set level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsaLevel {
    /// The word.
    pub name: String,
}

impl fmt::Display for UnknownIsaLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown instruction-set level `{}`; hint: scalar, neon, avx2 or avx512", self.name)
    }
}

impl std::error::Error for UnknownIsaLevel {}

impl FromStr for IsaLevel {
    type Err = UnknownIsaLevel;

    fn from_str(name: &str) -> Result<Self, UnknownIsaLevel> {
        let wanted = name.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|level| level.name() == wanted)
            .ok_or_else(|| UnknownIsaLevel { name: name.to_owned() })
    }
}

/// Whether the portable level is compiled in: everywhere but on x86-64, where it is for processors that lack AVX2, and
/// in the tests of this crate. `build.rs` of this crate decides it.
pub const HAS_FALLBACK: bool = cfg!(any(not(target_arch = "x86_64"), fallback, test));

/// A processor that has none of the levels that were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIsaLevel;

impl fmt::Display for NoIsaLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this processor has no AVX2, and this build of Sinew is for processors that do; hint: build it on this \
             machine, or with SINEW_FALLBACK=1"
        )
    }
}

impl std::error::Error for NoIsaLevel {}

/// Whether any level of this build runs here. Programs ask at their start; [`dispatch`] panics where none does.
pub fn check_processor() -> Result<(), NoIsaLevel> {
    if IsaLevel::best_available().is_available() { Ok(()) } else { Err(NoIsaLevel) }
}

/// The requested level if it exists and the processor supports it, else the best one.
fn resolve(wanted: Option<&str>) -> IsaLevel {
    wanted
        .and_then(|name| name.parse::<IsaLevel>().ok())
        .filter(|level| level.is_available())
        .unwrap_or_else(IsaLevel::best_available)
}

/// The level that [`dispatch`] uses. Decided once per process, from `SINEW_ISA` and the processor.
pub fn active_isa() -> IsaLevel {
    static ACTIVE: OnceLock<IsaLevel> = OnceLock::new();
    *ACTIVE.get_or_init(|| resolve(std::env::var("SINEW_ISA").ok().as_deref()))
}

/// Runs the kernel at the active level.
#[inline]
pub fn dispatch<K: LaneKernel>(kernel: K) -> K::Output {
    run_at(active_isa(), kernel)
}

/// [`dispatch`] for a kernel that is one of many cases: at the fallback of x86-64 (see [`LaneScalar::IS_FALLBACK`]) what
/// `general` makes of it runs instead, one kernel that does the same work for all cases, with conditions.
#[inline]
pub fn dispatch_or<K: LaneKernel, G: LaneKernel<Output = K::Output>>(
    kernel: K,
    general: impl FnOnce(K) -> G,
) -> K::Output {
    match active_isa() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `active_isa` is a level that the processor has, so it has AVX2 and FMA.
        IsaLevel::Avx2 => unsafe { <K as Levels>::avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, for the AVX-512 subsets named at the function.
        IsaLevel::Avx512 => unsafe { <K as Levels>::avx512(kernel) },
        #[cfg(all(target_arch = "x86_64", any(fallback, test)))]
        _ => <G as Levels>::portable(general(kernel)),
        #[cfg(all(target_arch = "x86_64", not(any(fallback, test))))]
        _ => {
            let _ = general;
            no_level()
        }
        #[cfg(not(target_arch = "x86_64"))]
        _ => {
            let _ = general;
            <K as Levels>::portable(kernel)
        }
    }
}

/// Runs the kernel at the given level; `None` if the processor lacks it. For tests and benchmarks.
pub fn dispatch_at<K: LaneKernel>(level: IsaLevel, kernel: K) -> Option<K::Output> {
    level.is_available().then(|| run_at(level, kernel))
}

/// Runs the kernel with plain numbers: [`Isa::F64Register`] is f64. For single elements.
pub fn without_lanes<K: LaneKernel>(kernel: K) -> K::Output {
    <K as Levels>::portable(kernel)
}

/// Runs a kernel within another one at the level `I` of that one, as a function of its own: it is compiled once for all
/// that call it. It should do some hundred operations, and take and return no lanes but behind references. It is
/// compiled with what belongs to the type `Home`.
#[inline(always)]
pub fn call<I: Isa, Home: ?Sized, K: LaneKernel>(kernel: K) -> K::Output {
    I::call::<Home, K>(kernel)
}

/// Work of [`Scalar::apart`](crate::Scalar::apart) as a kernel.
#[cfg(target_arch = "x86_64")]
struct Apart<W>(W);

#[cfg(target_arch = "x86_64")]
impl<W: Work> LaneKernel for Apart<W> {
    type Output = W::Output;
    #[inline(always)]
    fn run<I: Isa>(self) -> W::Output {
        self.0.run()
    }
}

/// The caller has checked that `level` is available.
#[inline(always)]
pub(crate) fn run_at<K: LaneKernel>(level: IsaLevel, kernel: K) -> K::Output {
    debug_assert!(level.is_available(), "level {level} must be checked before use");
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: all callers pass only levels whose `is_available` was true, so the processor has AVX2 and FMA.
        IsaLevel::Avx2 => unsafe { <K as Levels>::avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, for the AVX-512 subsets named at the function.
        IsaLevel::Avx512 => unsafe { <K as Levels>::avx512(kernel) },
        #[cfg(any(not(target_arch = "x86_64"), fallback, test))]
        _ => <K as Levels>::portable(kernel),
        #[cfg(not(any(not(target_arch = "x86_64"), fallback, test)))]
        _ => no_level(),
    }
}

/// What a kernel does at a level that was not compiled.
#[cfg(not(any(not(target_arch = "x86_64"), fallback, test)))]
#[cold]
fn no_level() -> ! {
    panic!("{NoIsaLevel}")
}

/// A kernel at each level, as functions of a type. The compiler collects functions of types by the file of the type,
/// works on one collection per core, and keeps what has not changed; free functions would all be in one, whatever the
/// kernel.
trait Levels {
    /// # Safety
    /// The processor has AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx2<K: LaneKernel>(kernel: K) -> K::Output;

    /// # Safety
    /// The processor has the subsets named below.
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx512<K: LaneKernel>(kernel: K) -> K::Output;

    fn portable<K: LaneKernel>(kernel: K) -> K::Output;
}

impl<Home: ?Sized> Levels for Home {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    unsafe fn avx2<K: LaneKernel>(kernel: K) -> K::Output {
        align_stack();
        kernel.run::<x86::Avx2>()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline(never)]
    unsafe fn avx512<K: LaneKernel>(kernel: K) -> K::Output {
        align_stack();
        kernel.run::<x86::Avx512>()
    }

    #[inline(never)]
    fn portable<K: LaneKernel>(kernel: K) -> K::Output {
        kernel.run::<PortableIsa>()
    }
}

/// Makes the function that this is inlined into align its stack to cache lines. Kernels have more values than
/// registers, and spilled vectors on an unaligned stack straddle two cache lines, at twice the cost.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn align_stack() {
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] [u8; 64]);
    // Not a constant, which would not live on the stack.
    let mut line = Line([0; 64]);
    std::hint::black_box(&mut line);
}

/// Prefetches a value for a loop that needs it soon. An index beyond the end is ignored.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction; it is a hint and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// Arrays in plain Rust: the fallback on x86-64 and the NEON level on 64-bit ARM.
#[derive(Clone, Copy)]
struct PortableIsa;

impl sealed::Sealed for PortableIsa {
    #[inline(always)]
    fn call<Home: ?Sized, K: LaneKernel>(kernel: K) -> K::Output {
        <Home as Levels>::portable(kernel)
    }
}

impl Isa for PortableIsa {
    type F32 = Portable<f32, F32_LANES>;
    type F64 = Portable<f64, F64_LANES>;
    type F64Register = f64;
    const LEVEL: IsaLevel = if cfg!(target_arch = "aarch64") { IsaLevel::Neon } else { IsaLevel::Scalar };
}

#[cfg(test)]
mod tests;
