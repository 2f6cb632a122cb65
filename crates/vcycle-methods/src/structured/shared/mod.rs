//! Structured multigrid on grids that several ranks share.
//!
//! A rank has a box of cells and knows the cells around it: its *near* cells are a grid of their own, on which everything
//! runs as it does without ranks, on the host of the rank or on its device. After each sweep, and after restriction, ranks tell each other
//! the values of own cells that are near to others, in the precision of the level. Own cells get the same bits as without
//! ranks. What depends on all cells (largest values, couplings along axes) is asked of all ranks.
//!
//! The first level of at most [`gather_cells`](super::StructMg::gather_cells) cells, or of which a rank would have none on
//! the next grid, is that of rank 0, with all below it.

mod coarsen;
mod convert;
mod gathered;
mod island_functions;
mod islands;
mod islands_there;
mod krylov;
mod outer;
mod product;
mod radius;
#[cfg(test)]
mod tests;
mod way;

pub(super) use coarsen::coarsened_by_ranks;
pub(super) use convert::{stencil_of_rows, stencil_on};
pub(super) use gathered::{GatheredGrid, gathered};
pub(super) use island_functions::SharedIslandFunctions;
pub(super) use islands_there::IslandsThere;
pub(super) use krylov::shared_krylov;
pub(super) use outer::SharedOuter;
pub(super) use product::SharedProduct;
pub(super) use radius::radius_of_ranks;
pub(super) use way::{GridWay, InNear};
