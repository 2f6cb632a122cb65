//! From a configuration and a system to a solution: [`solve()`].
//!
//! Where the configuration says `auto`, [`attempts`] lists what to try, the best first. Each is set up and
//! iterated until one converges; [`Solution::messages`] has what happened. These names are also in
//! [`config`](crate::config).

// A component or kind that is added has to be thought of wherever they are told apart.
#![warn(clippy::wildcard_enum_match_arm)]

mod analysis;
mod attempt;
mod auto;
mod case;
mod chain;
mod costs;
#[cfg(test)]
mod declared;
mod entries;
mod factors;
mod facts;
mod inconsistent;
mod kept;
mod local_setup;
mod matrix;
mod memory;
mod modes;
mod prepared;
mod projection;
#[cfg(test)]
mod rank_tests;
mod ready;
mod reduction;
mod refine;
mod right_hand_side;
mod root;
mod rules;
mod set_up;
mod solve;
mod system;
#[cfg(test)]
mod testing;
mod tries;

pub use analysis::Analysis;
pub use attempt::Attempt;
pub use auto::{attempts, attempts_of};
pub use facts::{Factorisation, Findings};
pub use matrix::SystemMatrix;
pub use memory::MemoryNeed;
pub use prepared::{Prepared, Sequence};
pub use projection::Projection;
pub use right_hand_side::RightHandSide;
pub use set_up::Wide;
pub use solve::{solve, solve_system};
pub use system::{AnySystem, Solution, System};
