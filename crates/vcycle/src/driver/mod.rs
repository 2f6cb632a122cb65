//! From a configuration and a system to a solution: [`solve()`].
//!
//! Where the configuration says `auto`, [`attempts`] lists what to try, the best first. Each is set up and
//! iterated until one converges; what happened is told in [`Solution::messages`]. These names are also in
//! [`config`](crate::config).

mod analysis;
mod auto;
mod chain;
#[cfg(test)]
mod declared;
mod fitting;
mod implied;
mod memory;
mod modes;
mod prepared;
mod projection;
mod ready;
mod refine;
mod rules;
mod sequence;
mod shared;
mod solve;
mod storage;
mod system;
mod tries;
mod wear;

pub use analysis::Analysis;
pub use auto::{Attempt, Findings, attempts};
pub use memory::MemoryNeed;
pub use prepared::Prepared;
pub use projection::Projection;
pub use sequence::Sequence;
pub use shared::{SharedPrepared, SharedSystem, solve_shared};
pub use solve::{Solution, solve, solve_system};
pub use storage::Wide;
pub use system::{AnySystem, System};
