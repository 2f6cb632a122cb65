//! Plain serial loops: the oracle.

pub mod blocks;
pub mod bsr;
pub mod columns;
pub mod coo;
pub mod csr;
pub mod dense;
pub mod ell;
pub mod packed;
pub mod rows;
pub mod sellp;
pub mod stencil;
pub mod triangular;
pub mod vector;
