//! Stages that choose the unknowns of the next level: strong couplings, independent sets, matchings. Each says nothing on the
//! host.

mod affinity;
pub(crate) mod aggressive;
mod mis2;
mod pgm;
mod pmis;
mod rounds;
mod strength;

pub use affinity::closeness;
pub use aggressive::aggressive;
pub use mis2::{FOREIGN, OwnGroups, mis2, mis2_near, renumbered};
pub use pgm::{Found as Matched, Pairs, pgm};
pub use pmis::{Numbered, pmis, pmis_near};
pub use rounds::Sharing;
pub use strength::{DeviceMeasure, strong_couplings, threshold_for};
