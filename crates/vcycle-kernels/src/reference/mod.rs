//! Plain serial loops: the oracle.

pub mod blocks;
pub mod columns;
pub mod csr;
pub mod packed;
pub mod rows;
pub mod stencil;
pub mod triangular;
pub mod vector;
