//! Matrices on structured grids: a stencil of numbers a cell, no indices.
//!
//! Where cells form a box and each is coupled with the cells around it only, the position of an entry follows from its
//! place in memory, and no indices are stored. In half precision that is a quarter of the bytes of double precision
//! and a sixth of those of a CSR matrix, and the solve phase is bound by memory bandwidth.
//!
//! [`StencilMatrix`] holds such a matrix in any precision; [`StencilMatrix::from_csr`] finds the
//! grid of a CSR matrix by itself. It is a [`LinOp`](crate::linop::LinOp) on vectors of doubles or
//! singles, and knows Gauss-Seidel in colours, all in one pass over the matrix.
//!
//! ```
//! use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, scalar::f16,
//!              structured::StencilMatrix, vector::Vector};
//! let cpu = Executor::cpu();
//! let csr = gallery::build("poisson27:16", &cpu)?.matrix;
//! let half = StencilMatrix::from_csr(&csr)?.convert::<f16>()?;
//! let x = Vector::<f32>::filled(&cpu, 4096, 1, 1.0)?;
//! let mut y = Vector::zeros_like(&x)?;
//! half.apply(&x, &mut y, &Workspace::new())?;
//! assert_eq!(y.to_vec()[0], 19.0); // a corner has 7 of 26 neighbours
//! # Ok::<(), vcycle::Error>(())
//! ```

mod apply;
mod coarse_stencil;
mod coarsen;
mod columns;
mod convert;
mod cycles;
mod decode;
mod detect;
#[cfg(test)]
mod device_tests;
mod entrance;
mod exchange;
mod factor;
mod features;
mod fields;
mod galerkin;
mod halving;
mod island_basis;
mod island_correction;
mod island_ranks;
mod island_search;
mod level;
mod level_parts;
mod lines;
mod matrix;
mod mg;
#[cfg(test)]
mod mg_tests;
mod of_ranks;
mod parameters;
#[cfg(test)]
mod rank_tests;
mod scaling;
mod setup;
mod smoothing;
mod stencil;
mod survey;
mod sweep;
#[cfg(test)]
mod tests;
mod transfer;

pub use crate::cpu::stencil::Vectors;
pub use crate::grid::Grid;
pub use crate::reference::stencil::Direction;
pub use coarse_stencil::CoarseStencil;
pub use detect::find_stencil;
pub use island_correction::IslandCorrections;
pub use matrix::{StencilMatrix, Storage};
pub use mg::{Generated, GridSetup};
pub use parameters::{GridLevelOptions, StructMg};
pub use smoothing::StencilSmoother;
pub use stencil::{Offset, Stencil, Structure};
pub use transfer::Transfer;
