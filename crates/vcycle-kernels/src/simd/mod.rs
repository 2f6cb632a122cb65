//! What the vector units of the host can do, found out at run time.
//!
//! Loops that compilers vectorise well are written once, in plain Rust, inside [`multiversion!`](crate::multiversion!).
//! Only gathers, which they do not, are written with intrinsics, behind [`Simd`].
//!
//! Functions on registers are unsafe: the host has to have the instructions.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "these functions are unsafe as a whole: what they ask for is what the functions they call ask for"
)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod level;
pub(crate) mod portable;

use crate::scalar::{Real, Scalar};
#[cfg(any(test, feature = "testing"))]
pub use level::testing;
pub use level::{Level, asked, level};

/// Compiles a function for AVX2 besides the architecture's minimum and calls the one the host
/// can run. Wider registers gain nothing where memory is the limit.
///
/// Generic parameters stand in square brackets; they must follow from the arguments. What stands behind `else` is
/// what x86-64 without AVX2 does instead: nearly no host needs it, and a second copy takes long to compile.
#[macro_export]
macro_rules! multiversion {
    ($(#[$attribute:meta])* $access:vis fn $name:ident[$($generics:tt)*](
        $($argument:ident: $type:ty),* $(,)?
    ) $(-> $result:ty)? $body:block $(else $plain:block)?) => {
        $(#[$attribute])*
        $access fn $name<$($generics)*>($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body<$($generics)*>($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                use $crate::simd::{Level, level};

                #[target_feature(enable = "avx2,fma,f16c")]
                fn avx2<$($generics)*>($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                if level() != Level::Portable {
                    // SAFETY: the other levels have these features.
                    return unsafe { avx2($($argument),*) };
                }
                $(return $plain;)?
            }
            #[allow(unreachable_code)]
            body($($argument),*)
        }
    };
}

/// A register of real numbers, computed in `f64` or in `f32`.
///
/// # Safety
/// The host must have the instructions of the implementor's [`Level`]; methods are to be inlined into
/// functions that enable them. `count` is at most [`Simd::LANES`], and that many elements must be
/// readable from every pointer on. For [`Simd::gather`] the columns must be below `2^31` and name
/// elements of `x`, whose type is `f32` or `f64` and no wider than the lanes. All types are real.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[expect(
    clippy::missing_safety_doc,
    reason = "the conditions of all methods are those of the trait"
)]
pub trait Simd {
    /// The register.
    type Register: Copy;
    /// One number of it.
    type Real: Real;
    /// Numbers in a register.
    const LANES: usize;

    /// Zero in every lane.
    unsafe fn zero() -> Self::Register;
    /// A number in every lane.
    unsafe fn splat(value: Self::Real) -> Self::Register;
    /// The first `count` values, then zeros.
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> Self::Register;
    /// The `x` of the first `count` columns, then zeros.
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> Self::Register;
    /// `a b + c`, rounded once.
    unsafe fn multiply_add(
        a: Self::Register,
        b: Self::Register,
        c: Self::Register,
    ) -> Self::Register;
    /// The product of `a` and `b`.
    unsafe fn multiply(a: Self::Register, b: Self::Register) -> Self::Register;
    /// The sum of `a` and `b`.
    unsafe fn add(a: Self::Register, b: Self::Register) -> Self::Register;
    /// `a - b`.
    unsafe fn subtract(a: Self::Register, b: Self::Register) -> Self::Register;
    /// One over each lane, up to a few units in the last place.
    unsafe fn inverse(a: Self::Register) -> Self::Register;
    /// Every lane gets what the one before it holds in `here`, the first one the last of `before`.
    unsafe fn shift_up(before: Self::Register, here: Self::Register) -> Self::Register;
    /// Every lane gets what the one behind it holds in `here`, the last one the first of `after`.
    unsafe fn shift_down(here: Self::Register, after: Self::Register) -> Self::Register;
    /// The even lanes of one register, the odd lanes of the other.
    unsafe fn alternate(even: Self::Register, odd: Self::Register) -> Self::Register;
    /// Exchanges lanes with registers: a square of [`Simd::LANES`] registers is transposed.
    unsafe fn transpose(square: &mut [Self::Register]);
    /// The sums over the lanes of [`Simd::LANES`] registers, one a lane.
    #[inline(always)]
    unsafe fn sums(rows: &mut [Self::Register]) -> Self::Register {
        Self::transpose(rows);
        let mut half = rows.len() / 2;
        while half > 0 {
            for lane in 0..half {
                rows[lane] = Self::add(rows[lane], rows[lane + half]);
            }
            half /= 2;
        }
        rows[0]
    }
    /// The sums of as many rows as there are lanes, each of as many numbers as `counts` say, at most
    /// [`SHORT`](crate::runs::SHORT) and at most as many as lanes.
    ///
    /// From each of `starts` on [`SHORT`](crate::runs::SHORT) numbers must be readable, whatever the count:
    /// implementors may load whole registers.
    #[inline(always)]
    unsafe fn short_sums<const ROWS: usize>(
        starts: [*const Self::Real; ROWS],
        counts: [usize; ROWS],
    ) -> Self::Register {
        let mut rows = [Self::zero(); ROWS];
        for row in 0..ROWS {
            rows[row] = Self::load(starts[row], counts[row]);
        }
        Self::sums(&mut rows)
    }
    /// Writes the lanes to as many numbers.
    unsafe fn store(a: Self::Register, to: &mut [Self::Real]);
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::runs::SHORT;
    use crate::scalar::{Field, bf16, convert, f16};

    /// A register's lanes.
    unsafe fn lanes<S: Simd>(register: S::Register) -> Vec<f64> {
        let mut lanes = vec![S::Real::from_f64(0.0); S::LANES];
        S::store(register, &mut lanes);
        lanes.into_iter().map(Real::to_f64).collect()
    }

    unsafe fn check_load<S: Simd, M: Scalar>() {
        let values: Vec<f64> = (0..16).map(|i| f64::from(i) - 2.5).collect();
        let stored: Vec<M> = values.iter().map(|&value| convert(value)).collect();
        for count in 0..=S::LANES {
            // `stored` has 16 values, and no register has more lanes.
            let loaded = lanes::<S>(S::load(stored.as_ptr(), count));
            assert_eq!(loaded[..count], values[..count]);
            assert!(loaded[count..].iter().all(|&lane| lane == 0.0));
        }
    }

    unsafe fn check_gather<S: Simd, X: Scalar>() {
        let x: Vec<X> = (0..40).map(|i| convert(f64::from(i))).collect();
        let columns: Vec<u32> = (0..16).map(|i| (i * 11 + 3) % 40).collect();
        for count in 0..=S::LANES {
            // There are 16 columns, all below the 40 numbers of `x`.
            let found = lanes::<S>(S::gather(x.as_ptr(), columns.as_ptr(), count));
            for (lane, value) in found.into_iter().enumerate() {
                let expected = if lane < count {
                    f64::from(columns[lane])
                } else {
                    0.0
                };
                assert_eq!(value, expected);
            }
        }
    }

    unsafe fn check_arithmetic<S: Simd>() {
        let numbers: Vec<f32> = (0..256).map(|i| i as f32).collect();
        // `numbers` fills a square of 16 by 16 lanes, the largest there is.
        let row = |row: usize| S::load(numbers[row * S::LANES..].as_ptr(), S::LANES);
        let mut square: Vec<S::Register> = (0..S::LANES).map(row).collect();
        S::transpose(&mut square);
        for (column, register) in square.into_iter().enumerate() {
            let expected = (0..S::LANES).map(|row| (row * S::LANES + column) as f64);
            assert_eq!(lanes::<S>(register), expected.collect::<Vec<_>>());
        }
        let mut square: Vec<S::Register> = (0..S::LANES).map(row).collect();
        let sum = |row: usize, count: usize| (0..count).map(|c| (row * S::LANES + c) as f64).sum();
        let expected: Vec<f64> = (0..S::LANES).map(|row| sum(row, S::LANES)).collect();
        assert_eq!(lanes::<S>(S::sums(&mut square)), expected);
        let sum = S::multiply_add(row(0), row(0), S::add(row(0), S::zero()));
        let expected = (0..S::LANES).map(|lane| (lane * lane + lane) as f64);
        assert_eq!(lanes::<S>(sum), expected.collect::<Vec<_>>());
        let inverse = lanes::<S>(S::inverse(S::subtract(S::zero(), row(1))));
        for (lane, found) in inverse.into_iter().enumerate() {
            assert!((1.0 + found * (S::LANES + lane) as f64).abs() < 3e-7);
        }
        let expected = |first: usize| (0..S::LANES).map(move |lane| (first + lane) as f64);
        let shifted = lanes::<S>(S::shift_up(row(0), row(1)));
        assert_eq!(shifted, expected(S::LANES - 1).collect::<Vec<_>>());
        let shifted = lanes::<S>(S::shift_down(row(0), row(1)));
        assert_eq!(shifted, expected(1).collect::<Vec<_>>());
        let mixed = lanes::<S>(S::alternate(row(0), row(1)));
        let expected = (0..S::LANES).map(|lane| (lane + lane % 2 * S::LANES) as f64);
        assert_eq!(mixed, expected.collect::<Vec<_>>());
    }

    unsafe fn check_short_sums<S: Simd, const LANES: usize>() {
        let numbers: Vec<S::Real> = (0..200).map(|i| S::Real::from_f64(f64::from(i))).collect();
        let starts = std::array::from_fn(|row| 3 * row);
        let counts = std::array::from_fn(|row| row * 5 % (SHORT.min(LANES) + 1));
        // SAFETY: the host has the instructions of `S`, a condition of this function. The last row starts at 45 of
        // 200 numbers, so that eight can be read from each.
        let found = unsafe {
            lanes::<S>(S::short_sums::<LANES>(
                starts.map(|start: usize| numbers[start..].as_ptr()),
                counts,
            ))
        };
        let sum = |row: usize| (starts[row]..starts[row] + counts[row]).sum::<usize>() as f64;
        assert_eq!(found, (0..LANES).map(sum).collect::<Vec<_>>());
    }

    unsafe fn check<S: Simd>() {
        check_load::<S, f32>();
        check_load::<S, f16>();
        check_load::<S, bf16>();
        check_gather::<S, f32>();
        check_arithmetic::<S>();
    }

    #[test]
    fn registers_of_every_level_do_what_they_say() {
        // SAFETY: only what the host has is called.
        unsafe {
            check::<portable::Lanes<f32>>();
            check::<portable::Lanes<f64>>();
            check_load::<portable::Lanes<f64>, f64>();
            if level() != Level::Portable {
                check::<avx2::Singles>();
                check::<avx2::Doubles>();
                check_load::<avx2::Doubles, f64>();
                check_gather::<avx2::Doubles, f64>();
                check_short_sums::<avx2::Singles, 8>();
            }
            if level() == Level::Avx512 {
                check::<avx512::Singles>();
                check::<avx512::Doubles>();
                check_load::<avx512::Doubles, f64>();
                check_gather::<avx512::Doubles, f64>();
                check_short_sums::<avx512::Doubles, 8>();
                check_short_sums::<avx512::Singles, 16>();
            }
        }
    }
}
