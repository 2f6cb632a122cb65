//! The lowest layer of vcycle: the types numbers are stored in ([`scalar`]), the kernels on slices of the host
//! ([`reference`](mod@reference) says what they mean, [`cpu`] does the same fast), and the threads they run on
//! ([`cpu::Threads`]).
//!
//! Nothing here knows of matrices, executors or methods: kernels take slices. The library `vcycle` is the
//! interface for users; this crate may change with every version.

/// Functions of one expression each that are always inlined, safe or unsafe.
macro_rules! inlined {
    ($(fn $name:ident$(<$generic:ident: $bound:path>)?($($argument:tt)*) $(-> $result:ty)? = $value:expr;)*) => {$(
        #[inline(always)]
        fn $name$(<$generic: $bound>)?($($argument)*) $(-> $result)? {
            $value
        }
    )*};
    ($(unsafe fn $name:ident($($argument:tt)*) $(-> $result:ty)? = $value:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($argument)*) $(-> $result)? {
            $value
        }
    )*};
}

pub mod compiled;
pub mod convert;
pub mod cpu;
pub mod cut;
mod error;
pub mod factor;
pub mod fields;
pub mod grid;
pub mod reference;
pub mod runs;
pub mod scalar;
pub mod simd;
pub mod text;
mod transpose;

pub use error::Refusal;
pub use transpose::Transpose;
