//! Generic functions that are compiled once.
//!
//! A generic function is compiled again by every crate that calls it, whatever its own crate has compiled already.
//! For a solver that is most of the program, several times over. [`compiled!`](macro@crate::compiled) has it compiled where
//! it is written, for the types it is called with, and gives callers a pointer.

use std::any::Any;

use crate::scalar::{Kind, Scalar};

/// A function of a table: it knows its own types.
pub type TableEntry = &'static (dyn Any + Send + Sync);

/// The types of the lists below, by one word each.
#[doc(hidden)]
#[allow(non_camel_case_types, missing_docs)]
pub mod types {
    pub use crate::scalar::{bf16, c32, c64, f16};
    pub type f32 = ::core::primitive::f32;
    pub type f64 = ::core::primitive::f64;
}

/// Calls a macro with a list of types behind what it is given: those of [`ANY`], [`WORKING`], [`PRODUCTS`] and [`STENCILS`].
#[doc(hidden)]
#[macro_export]
macro_rules! with_types {
    (any, $call:ident! { $($given:tt)* }) => {
        $crate::$call! { $($given)* [f64] [f32] [f16] [bf16] [c64] [c32] }
    };
    (working, $call:ident! { $($given:tt)* }) => {
        $crate::$call! { $($given)* [f64] [f32] [c64] [c32] }
    };
    (products, $call:ident! { $($given:tt)* }) => {
        $crate::$call! {
            $($given)*
            [f64 f64 f64] [f32 f64 f64] [f16 f64 f64] [bf16 f64 f64]
            [f64 f32 f32] [f32 f32 f32] [f16 f32 f32] [bf16 f32 f32]
            [f32 f64 f32] [f16 f64 f32] [bf16 f64 f32]
            [f32 f32 f64] [f16 f32 f64] [bf16 f32 f64]
            [f16 f64 f16] [f16 f16 f64] [bf16 f64 bf16] [bf16 bf16 f64]
            [f16 f32 f16] [f16 f16 f32] [bf16 f32 bf16] [bf16 bf16 f32]
            [f16 f16 f16] [bf16 bf16 bf16]
            [c64 c64 c64] [c32 c64 c64] [c64 c32 c32] [c32 c32 c32]
        }
    };
    (stencils, $call:ident! { $($given:tt)* }) => {
        $crate::$call! {
            $($given)* [f64 f64] [f32 f64] [f16 f64] [bf16 f64] [f32 f32] [f16 f32] [bf16 f32]
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! kinds_of {
    ($([$($type:ident)*])*) => {
        &[$([$(<$crate::compiled::types::$type as Scalar>::KIND),*]),*]
    };
}

/// The types that functions are compiled for, and where they stand in a table of one type.
pub const ANY: &[[Kind; 1]] = with_types!(any, kinds_of! {});
/// Those that whole solvers work in. Levels of multigrid work in the others, too, inside the crates that have the
/// functions.
pub const WORKING: &[[Kind; 1]] = with_types!(working, kinds_of! {});
/// The types of a matrix and of the vectors it maps from and to that products are compiled for: what systems are
/// stored in, and what levels of multigrid and the transfer operators between them are.
pub const PRODUCTS: &[[Kind; 3]] = with_types!(products, kinds_of! {});
/// The types of a stencil matrix and of the vectors it works on that kernels are compiled for.
pub const STENCILS: &[[Kind; 2]] = with_types!(stencils, kinds_of! {});

/// The place of types in a list; its length, if they are not there.
pub const fn place_of<const TYPES: usize>(list: &[[Kind; TYPES]], kinds: [Kind; TYPES]) -> usize {
    let mut place = 0;
    while place < list.len() && !are_same(list[place], kinds) {
        place += 1;
    }
    place
}

const fn are_same<const TYPES: usize>(a: [Kind; TYPES], b: [Kind; TYPES]) -> bool {
    let mut place = 0;
    while place < TYPES && a[place] as usize == b[place] as usize {
        place += 1;
    }
    place == TYPES
}

/// The entry of a table that is a function of type `F`.
///
/// # Panics
/// When it is another one: the table is wrong.
pub fn entry<F: Copy + 'static>(table: &[TableEntry], place: usize) -> F {
    let found = table[place].downcast_ref();
    *found.expect("a table has the functions of all its types in their order")
}

/// The function for the types of the caller, compiled by the crate that writes this.
///
/// `compiled!(any T: fn(&Csr<T>) -> Facts = Csr::facts)` stands for `Csr::<T>::facts`. What follows `=` is written out
/// for every type, with `T` being that.
///
/// - `any T` are the six of [`ANY`](crate::compiled::ANY),
/// - `working T` those of [`WORKING`](crate::compiled::WORKING); for others the function is generic as ever,
/// - `any S, T` are all pairs,
/// - `products M, X, Y` those of [`PRODUCTS`](crate::compiled::PRODUCTS), others are generic,
/// - `stencils M, V` those of [`STENCILS`](crate::compiled::STENCILS), others are generic.
///
/// ```
/// use vcycle_kernels::{compiled, scalar::Scalar};
/// fn bytes<T: Scalar>(values: &[T]) -> usize {
///     compiled!(any T: fn(&[T]) -> usize = |values| size_of::<T>() * values.len())(values)
/// }
/// assert_eq!(bytes(&[1.0_f64, 2.0]), 16);
/// ```
#[macro_export]
macro_rules! compiled {
    (any $t:ident: $signature:ty = $function:expr) => {
        $crate::compiled!(@list any ANY, $signature, $function, $t)
    };
    (working $t:ident: $signature:ty = $function:expr) => {
        $crate::compiled!(@list working WORKING, $signature, $function, $t)
    };
    (products $m:ident, $x:ident, $y:ident: $signature:ty = $function:expr) => {
        $crate::compiled!(@list products PRODUCTS, $signature, $function, $m, $x, $y)
    };
    (stencils $m:ident, $v:ident: $signature:ty = $function:expr) => {
        $crate::compiled!(@list stencils STENCILS, $signature, $function, $m, $v)
    };
    (any $s:ident, $t:ident: $signature:ty = $function:expr) => {{
        type Signature<$s, $t> = $signature;
        static TABLES: &[&[$crate::compiled::TableEntry]] =
            $crate::with_types!(any, compiled! { @rows $function, $s, $t; });
        let [row, place] = const {
            [$crate::compiled!(@place ANY, $s), $crate::compiled!(@place ANY, $t)]
        };
        $crate::compiled::entry::<Signature<$s, $t>>(TABLES[row], place)
    }};
    // The function of a table; that of the caller where there is none.
    (@list $which:ident $list:ident, $signature:ty, $function:expr, $($t:ident),*) => {{
        type Signature<$($t),*> = $signature;
        static TABLE: &[$crate::compiled::TableEntry] =
            $crate::with_types!($which, compiled! { @table $function, $($t),*; });
        if const { $crate::compiled!(@place $list, $($t),*) < $crate::compiled::$list.len() } {
            let place = const { $crate::compiled!(@place $list, $($t),*) };
            $crate::compiled::entry::<Signature<$($t),*>>(TABLE, place)
        } else {
            let own: Signature<$($t),*> = $function;
            own
        }
    }};
    (@rows $function:expr, $s:ident, $t:ident; $([$first:ident])*) => {
        &[$($crate::with_types!(any, compiled! { @row $function, $s = $first, $t; })),*]
    };
    (@row $function:expr, $s:ident = $first:ident, $t:ident; $([$second:ident])*) => {
        &[$($crate::compiled!(@entry $function, $s = $first, $t = $second)),*]
    };
    (@table $function:expr, $t:ident; $([$one:ident])*) => {
        &[$($crate::compiled!(@entry $function, $t = $one)),*]
    };
    (@table $function:expr, $m:ident, $v:ident; $([$one:ident $other:ident])*) => {
        &[$($crate::compiled!(@entry $function, $m = $one, $v = $other)),*]
    };
    (@table $function:expr, $m:ident, $x:ident, $y:ident; $([$a:ident $b:ident $c:ident])*) => {
        &[$($crate::compiled!(@entry $function, $m = $a, $x = $b, $y = $c)),*]
    };
    (@entry $function:expr, $($t:ident = $type:ident),*) => {{
        // Being no generic item it is compiled here, and not with the function around it.
        const COMPILED: Signature<$($crate::compiled::types::$type),*> = {
            $(#[allow(dead_code)] type $t = $crate::compiled::types::$type;)*
            $function
        };
        &COMPILED
    }};
    (@place $list:ident, $($t:ident),*) => {
        $crate::compiled::place_of(
            $crate::compiled::$list,
            [$(<$t as $crate::scalar::Scalar>::KIND),*],
        )
    };
}

/// A generic function that is compiled by the crate that writes it, for the types of [`compiled!`](macro@crate::compiled).
///
/// ```
/// use vcycle_kernels::{compiled_fn, scalar::Scalar};
/// compiled_fn! {
///     /// The bytes of numbers.
///     pub fn bytes[any T: Scalar](values: &[T]) -> usize {
///         size_of::<T>() * values.len()
///     }
/// }
/// assert_eq!(bytes(&[1.0_f64, 2.0]), 16);
/// ```
#[macro_export]
macro_rules! compiled_fn {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident[$which:ident $($t:ident: $bound:path),+](
            $($argument:ident: $type:ty),* $(,)?
        ) $(-> $result:ty)? $body:block
    ) => {
        $(#[$attribute])*
        $visibility fn $name<$($t: $bound),+>($($argument: $type),*) $(-> $result)? {
            fn generic<$($t: $bound),+>($($argument: $type),*) $(-> $result)? $body
            $crate::compiled!($which $($t),+: fn($($type),*) $(-> $result)? = generic::<$($t),+>)(
                $($argument),*
            )
        }
    };
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::*;
    use crate::scalar::{Scalar, bf16, c32, c64, f16};

    fn one<T: Scalar>() -> [Kind; 1] {
        compiled!(working T: fn(PhantomData<T>) -> [Kind; 1] = |_| [T::KIND])(PhantomData)
    }

    fn pair<S: Scalar, T: Scalar>() -> [Kind; 2] {
        compiled!(any S, T: fn(PhantomData<(S, T)>) -> [Kind; 2] = |_| [S::KIND, T::KIND])(
            PhantomData,
        )
    }

    fn product<M: Scalar, X: Scalar, Y: Scalar>() -> [Kind; 3] {
        compiled!(products M, X, Y: fn(PhantomData<(M, X, Y)>) -> [Kind; 3] =
            |_| [M::KIND, X::KIND, Y::KIND])(PhantomData)
    }

    fn stencil<M: Scalar, V: Scalar>() -> [Kind; 2] {
        compiled!(stencils M, V: fn(PhantomData<(M, V)>) -> [Kind; 2] = |_| [M::KIND, V::KIND])(
            PhantomData,
        )
    }

    #[test]
    fn every_type_gets_its_own_function_whether_it_is_in_a_table_or_not() {
        fn check<S: Scalar>() {
            assert_eq!(one::<S>(), [S::KIND]);
            assert_eq!(pair::<S, f64>(), [S::KIND, Kind::F64]);
            assert_eq!(pair::<c32, S>(), [Kind::C32, S::KIND]);
            assert_eq!(stencil::<S, f64>(), [S::KIND, Kind::F64]);
            assert_eq!(stencil::<S, f32>(), [S::KIND, Kind::F32]);
            assert_eq!(product::<S, S, S>(), [S::KIND; 3]);
            assert_eq!(product::<S, f64, f32>(), [S::KIND, Kind::F64, Kind::F32]);
            assert_eq!(product::<bf16, S, f64>(), [Kind::Bf16, S::KIND, Kind::F64]);
            assert_eq!(product::<c64, c32, S>(), [Kind::C64, Kind::C32, S::KIND]);
            assert_eq!(product::<f16, f32, S>(), [Kind::F16, Kind::F32, S::KIND]);
        }
        check::<f64>();
        check::<f32>();
        check::<f16>();
        check::<bf16>();
        check::<c64>();
        check::<c32>();
    }
}
