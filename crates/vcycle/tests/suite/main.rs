//! The library as its users see it: one suite for every executor, random matrices, real matrices, examples.

mod conformance;
mod examples;
mod gallery_fingerprints;
mod multigrid;
mod no_allocation;
mod properties;
mod shared_matrices;
