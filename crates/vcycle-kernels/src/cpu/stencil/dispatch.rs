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
pub(super) trait LineKernel<V: Vectors> {
    /// Pointers that a kernel holds are valid for all it does, which the code that makes it guarantees.
    ///
    /// # Safety
    /// The host has the instructions of `S`; to be inlined into functions that enable them.
    unsafe fn run<S: Simd<Real = V>>(&mut self);
}

/// Whether there are kernels for values of `M` and numbers of `V` on this host. On x86-64 without AVX2, which nearly no
/// host is, the reference does their work: a third copy of all kernels takes long to compile.
pub fn has_kernels<M: Scalar, V: Vectors>() -> bool {
    #[cfg(target_arch = "x86_64")]
    if const { fits::<M, V>() } {
        return level() != Level::Portable;
    }
    true
}

/// Registers hold nothing wider than their lanes.
#[cfg(target_arch = "x86_64")]
const fn fits<M: Scalar, V: Vectors>() -> bool {
    size_of::<M>() <= size_of::<V>()
}

/// Runs a kernel that loads values of `M` with the widest registers of the host, which [has](has_kernels) some. A kernel is
/// not moved: a copy of what was just written waits until all that was written before has left for memory.
#[inline(always)]
pub(super) fn dispatch<M: Scalar, V: Vectors>(mut kernel: impl LineKernel<V>) {
    #[cfg(target_arch = "x86_64")]
    if const { fits::<M, V>() } {
        return match level() {
            // SAFETY: the host has these instructions.
            Level::Avx512 => unsafe { with_avx512(&mut kernel) },
            // SAFETY: the host has these instructions.
            Level::Avx2 => unsafe { with_avx2(&mut kernel) },
            Level::Portable => unreachable!("the reference does what has no kernels"),
        };
    }
    portable(&mut kernel);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn with_avx512<V: Vectors>(kernel: &mut impl LineKernel<V>) {
    kernel.run::<V::Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_avx2<V: Vectors>(kernel: &mut impl LineKernel<V>) {
    kernel.run::<V::Avx2>()
}

/// Runs a kernel on any host.
#[inline(never)]
pub(super) fn portable<V: Vectors>(kernel: &mut impl LineKernel<V>) {
    // SAFETY: every processor has these.
    unsafe { kernel.run::<portable::Lanes<V>>() }
}
