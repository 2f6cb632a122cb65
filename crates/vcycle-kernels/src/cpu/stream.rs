//! Copies that bypass the cache, to memory that is not read again soon.

#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, level};

/// Bytes from which on arrays do not stay in the cache until they are read again.
#[cfg(any(test, target_arch = "x86_64"))]
const LARGE: usize = 32 << 20;
/// Bytes of the register that copies go through.
const REGISTER: usize = 64;

/// Copies into a part of an array of so many bytes. Where that is large, what was there is not brought into the cache
/// first, as it is by plain copies: memory moves two thirds of their bytes. Other threads see it after [`finish`].
pub fn copy<T: Copy>(from: &[T], to: &mut [T], bytes: usize) {
    const { assert!(REGISTER.is_multiple_of(size_of::<T>())) };
    assert!(from.len() == to.len());
    #[cfg(target_arch = "x86_64")]
    if bytes >= LARGE && level() >= Level::Avx512 {
        // SAFETY: `level` found AVX-512; both slices have `from.len()` values, whose size divides a register's.
        unsafe { past_the_cache(from.as_ptr(), to.as_mut_ptr(), from.len()) };
        return;
    }
    let _ = bytes;
    to.copy_from_slice(from);
}

/// # Safety
/// The host has AVX-512, there are `count` numbers in both arrays, which do not overlap, and the size of a number
/// divides that of a register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn past_the_cache<T: Copy>(from: *const T, to: *mut T, count: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    let step = REGISTER / size_of::<T>();
    let head = to.align_offset(REGISTER).min(count);
    // SAFETY: the host has AVX-512, and both arrays have `count` values, conditions of this function. The head
    // ends where `to` is aligned to a register, and a register holds whole values because their size divides its
    // own.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let mut at = head;
        while at + step <= count {
            let values = _mm512_loadu_si512(from.add(at).cast());
            _mm512_stream_si512(to.add(at).cast(), values);
            at += step;
        }
        std::ptr::copy_nonoverlapping(from.add(at), to.add(at), count - at);
    }
}

/// Waits for copies, which takes as long as some of them: once a task is enough.
pub fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_any_alignment_are_copies() {
        let from: Vec<u16> = (0..300).collect();
        for first in 0..40 {
            for bytes in [0, LARGE] {
                let mut to = vec![7; 300];
                copy(&from[first..299], &mut to[first..299], bytes);
                finish();
                assert!(
                    to[..first]
                        .iter()
                        .chain(&to[299..])
                        .all(|value| *value == 7)
                );
                assert_eq!(to[first..299], from[first..299]);
            }
        }
    }
}
