//! Set-ups of preconditioners: colours, incomplete factors, approximate and dense inverses. Each says nothing on the host.

mod fronts;
mod fsai;
mod invert;
mod isai;
mod sweeps;
mod threshold;

pub use fronts::{colours, ilu0};
pub use fsai::{Growth, Obstacle, Rows as FsaiRows, fsai_rows};
pub use invert::{Pivoting, inverse};
pub use isai::isai;
pub use sweeps::{Factorisation, Sweeping, swept};
pub use threshold::{Threshold, with_threshold};
