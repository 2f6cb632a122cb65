//! Stages that make prolongations, and numbers to start the power method from. Each says nothing on the host.

mod bamg;
mod chained;
mod near_kernel;
mod smoothed;
mod tentative;
mod weights;

pub use bamg::{FitLimits, Fitted, fitted};
pub use chained::chained;
pub use near_kernel::{EnergySpace, energy_space, shortened};
pub(crate) use smoothed::constants;
pub use smoothed::{Filtered, filtered, filtered_near, scattered};
pub use tentative::{Grouping, Prolonged, tentative};
pub use weights::{Coarse, WeightMethod, prolongation, truncated};
