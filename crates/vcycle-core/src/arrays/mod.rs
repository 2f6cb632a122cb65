//! What vectors and matrices hold: arrays in the memory of an executor, and their sizes.
//!
//! Operations stand above, in [`vector`](crate::vector) and [`matrix`](crate::matrix); launches of kernels on GPUs
//! are between the two and take what is here.

mod csr;
mod islands;
mod packed;
mod pass;
mod pattern;
mod scalars;
mod sweep;
mod tiles;
mod vector;

pub(crate) use csr::Copies;
pub use csr::Csr;
pub use islands::{IslandBox, IslandBoxes, IslandFunctions, Ranges};
pub(crate) use packed::{Codes, Segment, filled, segment_of, stores, with_codes};
pub use packed::{Packed, Storage};
pub(crate) use pass::CoefficientParts;
pub(crate) use pattern::Derived;
pub use pattern::Pattern;
pub use scalars::{Coefficient, Scalars};
pub use sweep::Sweep;
pub(crate) use tiles::{SLOTS, TILE, TileArrays};
pub use vector::Vector;
