//! From a configuration and a system to a solution: [`solve()`].
//!
//! Where the configuration says `auto`, [`attempts`] lists what to try, the best first. Each is set up and
//! iterated until one converges; [`Solution::messages`] has what happened. These names are also in
//! [`config`](crate::config).

mod analysis;
mod auto;
mod chain;
mod combinations;
#[cfg(test)]
mod declared;
mod facts;
mod fitting;
mod here;
mod implied;
mod matrix;
mod memory;
mod modes;
mod prepared;
mod projection;
#[cfg(test)]
mod rank_tests;
mod ready;
mod refine;
mod root;
mod rules;
mod sequence;
mod set_up;
mod solve;
mod staleness;
mod storage;
mod system;
mod tried;
mod tries;

pub use analysis::Analysis;
pub use auto::{Attempt, Findings, attempts};
pub use matrix::SystemMatrix;
pub use memory::MemoryNeed;
pub use prepared::Prepared;
pub use projection::Projection;
pub use sequence::Sequence;
pub use solve::{Solution, solve, solve_system};
pub use storage::Wide;
pub use system::{AnySystem, System};
