//! Preconditioners, one a file: parameters that become an approximate inverse of a matrix.

mod identity;
mod jacobi;

pub use identity::Identity;
pub use jacobi::Jacobi;
