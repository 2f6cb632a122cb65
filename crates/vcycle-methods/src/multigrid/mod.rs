//! Algebraic multigrid, in stages that combine freely.
//!
//! A level is made of the one above in four steps, each a folder of this module with one method a
//! file: [`strength`] tells which couplings matter, [`coarsen`] chooses the unknowns of the next
//! level or groups them, [`interpolate`] makes the prolongation `P`, and the Galerkin product
//! `R A P` gives the next matrix. The set-up is done in double precision.
//!
//! [`Amg`] holds the parameters of all stages and makes a [`Hierarchy`], an operator whose
//! application is one cycle: a preconditioner. Within it every [`Level`] is an operator too, the
//! cycle from there down, in the [precisions](LevelPrecisions) chosen for it.
//!
//! There is one cycle: [`Level`] drives it over the [`Operations`] of a level. Those of algebraic levels are
//! [composed](Composed) of operators; [structured](crate::structured) levels fuse them.

mod amg;
mod checks;
mod clock;
mod coarsest;
mod cycle;
mod finest;
mod fitted;
mod for_level;
mod format;
mod hierarchy;
mod inner;
mod level;
mod level_options;
mod maps;
mod matrices;
mod near_nullspace;
mod number;
#[cfg(test)]
mod on_devices;
mod operations;
mod outermost;
mod own;
mod placement;
mod precision;
mod report;
mod restriction;
mod reuse;
mod scaling;
mod setup;
mod smooth;
#[cfg(test)]
mod stage_tests;
mod stored;
mod systems;
mod test_space;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transfer;
mod unknowns;
mod wide;
mod working;

pub mod coarsen;
pub mod interpolate;
pub mod strength;

pub use crate::eigen::radius_with;
pub use crate::precond::{ChebyshevBase, ChebyshevPolynomial};
pub use amg::Amg;
pub use coarsen::{Coarsen, Coarsening};
pub use coarsest::{Coarsest, CoarsestRegistration, DenseLu, SolveCoarsest};
pub use cycle::Cycle;
pub(crate) use cycle::{Cycles, krylov, seen_as};
pub use format::LevelFormat;
pub use hierarchy::Hierarchy;
pub use inner::Inner;
pub use interpolate::{Interpolate, Interpolation};
pub use level::Level;
pub use level_options::LevelOptions;
pub(crate) use level_options::covers;
pub use maps::CoarseMaps;
pub use near_nullspace::NearNullspace;
pub use operations::{Composed, Guess, Operations};
pub use own::Own;
pub use precision::LevelPrecisions;
pub use report::{LevelFacts, LevelPart, Report, StageTime};
pub use restriction::Restriction;
pub use reuse::{LevelMatrices, Setup};
pub use scaling::LevelScaling;
pub use smooth::{Relaxation, Smooth, Smoother, SmootherEntry, Smoothing};
pub use systems::Systems;
pub use test_space::{TestSpaceMethod, TestSpaceSearch};
