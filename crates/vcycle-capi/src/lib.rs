//! The C interface of vcycle; `include/vcycle.h` is made of these items.
//!
//! A solver is a number that looks like a pointer: calls look it up, and one that was freed is told from one that
//! lives. No panic crosses the border.

// The names are those of C.
#![allow(non_camel_case_types)]

mod apply;
mod codes;
mod describe;
mod distributed;
mod failure;
mod guard;
mod handle;
mod known;
mod matrix;
mod numbers;
mod places;
mod scratch;
mod setters;
mod setup;
mod solve;
mod status;
mod vectors;
mod version;
mod watch;

pub use apply::vcycle_apply;
pub use codes::*;
pub use describe::{vcycle_get_level, vcycle_level, vcycle_messages, vcycle_summary};
pub use distributed::vcycle_setup_distributed;
pub use failure::vcycle_last_error;
pub use handle::{vcycle_create, vcycle_free, vcycle_solver};
pub use matrix::vcycle_csr;
pub use setters::{
    vcycle_set_block_size, vcycle_set_callback, vcycle_set_coordinates, vcycle_set_near_nullspace,
};
pub use setup::{vcycle_setup, vcycle_update_values};
pub use solve::{vcycle_limits, vcycle_report, vcycle_solve};
pub use status::*;
pub use version::vcycle_version;
pub use watch::vcycle_callback;
