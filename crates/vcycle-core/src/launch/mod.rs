//! Launches of the kernels of GPUs, on arrays.
//!
//! The sources are in `gpu/kernels`, compiled at run time for the types they are used with. The functions here
//! take vectors and matrices as the arrays they hold, choose kernel and shape, and queue it. They name no method.

pub mod batch;
pub mod blocks;
pub mod bsr;
pub(crate) mod cells;
pub mod columns;
pub mod coo;
pub mod csr;
pub mod dense;
pub mod ell;
pub mod halo;
pub mod islands;
pub(crate) mod layout;
pub mod monitor;
pub mod multifrontal;
pub mod packed;
mod pattern;
pub mod rows;
pub mod scalars;
pub mod setup;
pub mod stencil;
pub mod strided;
mod strips;
pub mod transfer;
pub mod triangular;
pub mod vector;

use crate::gpu::File;

/// The files of kernels that vectors and products launch.
const FILES: &[File] = &[
    batch::DIRECT,
    batch::FILE,
    batch::NARROW,
    batch::PAD,
    blocks::FILE,
    bsr::FILE,
    cells::FILE,
    columns::FILE,
    coo::FILE,
    csr::FILE,
    dense::FILE,
    ell::FILE,
    halo::FILE,
    islands::FILE,
    monitor::FILE,
    multifrontal::FILE,
    packed::FILE,
    scalars::FILE,
    stencil::PRODUCT,
    stencil::SWEEP,
    stencil::SYSTEMS,
    strided::FILE,
    strips::FILE,
    transfer::FILE,
    triangular::FILE,
    vector::FILE,
    vector::MIXED,
];

/// A file of kernels by its name.
pub(crate) fn file(name: &str) -> Option<File> {
    let mut files = FILES.iter().chain(setup::FILES);
    files.find(|file| file.name == name).copied()
}
