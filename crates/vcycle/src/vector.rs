//! Vectors: one or many columns, and the operations solvers are made of.
//!
//! Solvers never index a vector. They copy, add and reduce with the methods here, which run where
//! the vector lives; so the same solver serves threads, a GPU or a distributed vector, whose
//! executor adds its communication to the reductions.

#[doc(inline)]
pub use vcycle_core::vector::{Coefficient, Packed, Scalars, Storage, Vector};
