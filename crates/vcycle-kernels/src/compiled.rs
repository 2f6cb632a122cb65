//! Generic functions that are compiled once.
//!
//! A generic function is compiled again by every crate that calls it, whatever its own crate has compiled already.
//! For a solver that is most of the program, several times over. [`compiled!`](crate::compiled) has it compiled where
//! it is written, for the types it is called with, and gives callers a pointer.

use crate::scalar::Kind;

/// Whether functions that take working types are compiled for a type: those that whole solvers work in. Levels of
/// multigrid work in the others, too, inside the crates that have the functions.
pub const fn is_working(kind: Kind) -> bool {
    matches!(kind, Kind::F64 | Kind::F32 | Kind::C64 | Kind::C32)
}

/// The function for the type `T` of the caller, compiled by the crate that writes this.
///
/// `compiled!(working: fn(&Csr<T>) -> Facts = Csr::facts)` stands for `Csr::<T>::facts`. What follows `=` is written out
/// for every type, with `T` being that. `working` are the types of [`is_working`](crate::compiled::is_working), for
/// others the function is generic as ever; `any` are all six.
///
/// ```
/// use vcycle_kernels::{compiled, scalar::Scalar};
/// fn bytes<T: Scalar>(values: &[T]) -> usize {
///     compiled!(any: fn(&[T]) -> usize = |values| size_of::<T>() * values.len())(values)
/// }
/// assert_eq!(bytes(&[1.0_f64, 2.0]), 16);
/// ```
#[macro_export]
macro_rules! compiled {
    (any: $(for<$life:lifetime>)? fn($($argument:ty),* $(,)?) $(-> $result:ty)? = $function:expr) => {{
        type Signature<T> = $(for<$life>)? fn($($argument),*) $(-> $result)?;
        let found: Option<Signature<T>> = None;
        $crate::compiled!(@find found, $function, f64);
        $crate::compiled!(@find found, $function, f32);
        $crate::compiled!(@find found, $function, $crate::scalar::f16);
        $crate::compiled!(@find found, $function, $crate::scalar::bf16);
        $crate::compiled!(@find found, $function, $crate::scalar::c64);
        $crate::compiled!(@find found, $function, $crate::scalar::c32);
        found.expect("every type has been compiled")
    }};
    (working: $(for<$life:lifetime>)? fn($($argument:ty),* $(,)?) $(-> $result:ty)? = $function:expr) => {{
        type Signature<T> = $(for<$life>)? fn($($argument),*) $(-> $result)?;
        if const { $crate::compiled::is_working(<T as $crate::scalar::Scalar>::KIND) } {
            let found: Option<Signature<T>> = None;
            $crate::compiled!(@find found, $function, f64);
            $crate::compiled!(@find found, $function, f32);
            $crate::compiled!(@find found, $function, $crate::scalar::c64);
            $crate::compiled!(@find found, $function, $crate::scalar::c32);
            found.expect("every working type has been compiled")
        } else {
            let own: Signature<T> = $function;
            own
        }
    }};
    (@find $found:ident, $function:expr, $type:ty) => {
        let $found = $found.or_else(|| {
            // Being no generic item it is compiled here, and not with the function around it.
            static COMPILED: Signature<$type> = {
                #[allow(dead_code)]
                type T = $type;
                $function
            };
            let compiled: &dyn std::any::Any = &COMPILED;
            compiled.downcast_ref::<Signature<T>>().copied()
        });
    };
}
