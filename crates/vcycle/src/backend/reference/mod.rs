//! Plain serial loops: the oracle.

pub(crate) mod blocks;
pub(crate) mod bsr;
pub(crate) mod coo;
pub(crate) mod csr;
pub(crate) mod dense;
pub(crate) mod ell;
pub(crate) mod rows;
pub(crate) mod sellp;
pub(crate) mod stencil;
pub(crate) mod triangular;
pub(crate) mod vector;
