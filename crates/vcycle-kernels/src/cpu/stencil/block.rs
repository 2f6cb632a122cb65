//! Small dense systems, one in each lane of a register.

use crate::simd::Simd;

/// A matrix a lane.
pub(super) type Block<S, const R: usize> = [[<S as Simd>::Register; R]; R];
/// A vector a lane.
pub(super) type Numbers<S, const R: usize> = [<S as Simd>::Register; R];

/// The factors of small matrices, one a lane, without exchanges of rows; pivots are inverted.
#[inline(always)]
pub(super) unsafe fn factorised<S: Simd, const R: usize>(mut a: Block<S, R>) -> Block<S, R> {
    for pivot in 0..R {
        a[pivot][pivot] = S::inverse(a[pivot][pivot]);
        for row in pivot + 1..R {
            a[row][pivot] = times::<S>(a[row][pivot], a[pivot][pivot]);
            for column in pivot + 1..R {
                a[row][column] = less::<S>(a[row][column], a[row][pivot], a[pivot][column]);
            }
        }
    }
    a
}

/// The solutions with such factors.
#[inline(always)]
pub(super) unsafe fn substituted<S: Simd, const R: usize>(
    a: &Block<S, R>,
    mut b: Numbers<S, R>,
) -> Numbers<S, R> {
    for row in 1..R {
        for column in 0..row {
            b[row] = less::<S>(b[row], a[row][column], b[column]);
        }
    }
    for row in (0..R).rev() {
        for column in row + 1..R {
            b[row] = less::<S>(b[row], a[row][column], b[column]);
        }
        b[row] = times::<S>(b[row], a[row][row]);
    }
    b
}

#[inline(always)]
unsafe fn times<S: Simd>(a: S::Register, b: S::Register) -> S::Register {
    S::multiply_add(a, b, S::zero())
}

/// `a - b c`.
#[inline(always)]
unsafe fn less<S: Simd>(a: S::Register, b: S::Register, c: S::Register) -> S::Register {
    S::subtract(a, times::<S>(b, c))
}
