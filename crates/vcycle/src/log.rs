//! Logging: observers are called when a stage or an iteration of a run begins or ends.
//!
//! Algorithms carry no printing and no clocks. They open a named stage
//! ([`Workspace::stage`](crate::executor::Workspace::stage)) and announce iterations; observers
//! make a profile ([`Profile`]) or a trace ([`ChromeTrace`]) of that; the residuals of a solve are in its outcome.

#[doc(inline)]
pub use vcycle_core::log::{
    ChromeTrace, Count, Counts, IterationEvent, Log, Observer, Profile, Stage, StageGuard,
};
