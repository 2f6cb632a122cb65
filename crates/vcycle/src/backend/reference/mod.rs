//! Plain serial loops: the oracle.

pub(crate) mod blocks;
pub(crate) mod csr;
pub(crate) mod triangular;
pub(crate) mod vector;
