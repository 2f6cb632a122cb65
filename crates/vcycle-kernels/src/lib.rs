//! The lowest layer of vcycle: the types numbers are stored in ([`scalar`]), the kernels on slices of the host
//! ([`reference`](mod@reference) says what they mean, [`cpu`] does the same fast), and the threads they run on
//! ([`cpu::Threads`]).
//!
//! Nothing here knows of matrices, executors or methods: kernels take slices. The library `vcycle` is the
//! interface for users; this crate may change with every version.

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
