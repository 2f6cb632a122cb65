//! When a solver stops ([`Stop`]), and what it says then ([`Outcome`]).

#[doc(inline)]
pub use vcycle_core::stop::{
    ColumnOutcome, Criterion, Monitor, Outcome, Part, Progress, Status, Stop,
};
