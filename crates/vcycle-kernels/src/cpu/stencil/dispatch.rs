//! Kernels written once for any registers, compiled for each kind.

use crate::scalar::{Real, Scalar};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, avx2, avx512, level};
use crate::simd::{Simd, portable};

/// Real numbers with registers.
pub trait Vectors: Real {
    /// Its register of AVX2.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Simd<Real = Self>;
    /// Its register of AVX-512.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Simd<Real = Self>;
}

impl Vectors for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx2 = avx2::Doubles;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = avx512::Doubles;
}

impl Vectors for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx2 = avx2::Singles;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = avx512::Singles;
}

/// Work on registers of `V`.
pub(super) trait Kernel<V: Vectors> {
    /// Pointers that a kernel holds are valid for all it does: whoever makes one sees to that.
    ///
    /// # Safety
    /// The host has the instructions of `S`; to be inlined into functions that enable them.
    unsafe fn run<S: Simd<Real = V>>(&mut self);
}

/// Runs a kernel that loads values of `M` with the widest registers of the host. A kernel is not moved: a copy of what was
/// just written waits until all that was written before has left for memory.
#[inline(always)]
pub(super) fn dispatch<M: Scalar, V: Vectors>(mut kernel: impl Kernel<V>) {
    // Registers hold nothing wider than their lanes.
    #[cfg(target_arch = "x86_64")]
    if size_of::<M>() <= size_of::<V>() {
        match level() {
            // SAFETY: this level is that of a host with AVX-512.
            Level::Avx512 => return unsafe { with_avx512(&mut kernel) },
            // SAFETY: this level is that of a host with AVX2, FMA and F16C.
            Level::Avx2 => return unsafe { with_avx2(&mut kernel) },
            Level::Portable => {}
        }
    }
    portable(&mut kernel);
}

/// # Safety
/// The host has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn with_avx512<V: Vectors>(kernel: &mut impl Kernel<V>) {
    // SAFETY: the host has AVX-512, a condition of this function, and its instructions are enabled here; the rest is
    // guaranteed by whoever made the kernel.
    unsafe { kernel.run::<V::Avx512>() }
}

/// # Safety
/// The host has AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_avx2<V: Vectors>(kernel: &mut impl Kernel<V>) {
    // SAFETY: the host has AVX2, a condition of this function, and its instructions are enabled here; the rest is
    // guaranteed by whoever made the kernel.
    unsafe { kernel.run::<V::Avx2>() }
}

#[inline(never)]
fn portable<V: Vectors>(kernel: &mut impl Kernel<V>) {
    // SAFETY: portable registers need no instructions but those every processor has.
    unsafe { kernel.run::<portable::Lanes<V>>() }
}
