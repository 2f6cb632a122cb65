//! Plain serial loops: the oracle.

pub(crate) mod csr;
pub(crate) mod vector;
