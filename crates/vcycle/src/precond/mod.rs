//! Preconditioners, one a file: parameters that become an approximate inverse of a matrix.

mod jacobi;

pub use jacobi::Jacobi;

pub use crate::linop::Identity;
