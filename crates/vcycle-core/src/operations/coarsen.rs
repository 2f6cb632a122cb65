//! Stages that choose the unknowns of the next level: strong couplings, independent sets, matchings. Each says nothing on the
//! host.

pub use crate::launch::setup::affinity::closeness;
pub use crate::launch::setup::aggressive::aggressive;
pub use crate::launch::setup::mis2::{FOREIGN, OwnGroups, mis2, mis2_near, renumbered};
pub use crate::launch::setup::pgm::{Found as Matched, Pairs, pgm};
pub use crate::launch::setup::pmis::{Numbered, pmis, pmis_near};
pub use crate::launch::setup::sharing::Sharing;
pub use crate::launch::setup::strength::{DeviceMeasure, strong_couplings, threshold_for};
