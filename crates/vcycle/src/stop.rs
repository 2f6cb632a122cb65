//! When a solver stops ([`Stop`]), and what it says then ([`Outcome`]).

#[doc(inline)]
pub use vcycle_core::stop::{ColumnOutcome, Monitor, Outcome, Part, Status, Stop};
