//! What interpolations go by, and say of themselves.

use std::fmt::Debug;

use super::row::Formula;
use super::truncation::Truncation;
use crate::multigrid::coarsen::CoarseUnknowns;
use crate::multigrid::own::limits;
use crate::operations::HostStage;
use crate::prelude::*;

/// What an interpolation goes by.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarseLevel<'l> {
    /// The matrix of the level.
    pub a: &'l Csr<f64>,
    /// Its strong couplings.
    pub strength: &'l Arc<Pattern>,
    /// The unknowns of the next level.
    pub coarse: &'l CoarseUnknowns,
    /// How many entries a row of the prolongation is to keep.
    pub truncation: &'l Truncation,
}

/// An interpolation of one's own: [`Interpolation::own`](super::Interpolation::own) and
/// [`Interpolation::register`](super::Interpolation::register) take it.
pub trait Interpolate: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// Whether it interpolates from groups of unknowns, and not from chosen ones. Groups of nodes with
    /// several unknowns, and a near-nullspace, are not for interpolations of one's own.
    fn takes_groups(&self) -> bool;

    /// The prolongation: a row for every unknown of the level, a column for every one of the next.
    ///
    /// # Errors
    /// When that fails; the set-up ends with it.
    fn interpolate(&self, level: &CoarseLevel<'_>) -> Result<Csr<f64>>;
}

/// What an interpolation says of itself, in its own file. Every field is asked for: options, help, refusals and messages
/// are made of them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InterpolationRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The options of multigrid that it reads.
    pub reads: &'static [&'static str],
    /// What of it the host does for matrices of a device.
    pub on_host: &'static [HostStage],
    /// Whether own rows can be made of those nearby, where ranks share a matrix.
    pub over_ranks: bool,
    pub(in crate::multigrid) method: InterpolationMethod,
}

impl InterpolationRegistration {
    /// What it does not declare to be for, in words for help.
    pub fn limits(&self) -> String {
        limits(self.over_ranks, self.method.takes_complex(), self.on_host)
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::multigrid) enum InterpolationMethod {
    /// From chosen unknowns, some of complex matrices, too.
    Weights { formula: Formula, complex: bool },
    /// From groups.
    Groups { smoothed: bool },
    /// From chosen unknowns, so that test vectors fit; with a say in which are chosen.
    Vectors { smoothed: bool, filtered: bool },
}

impl InterpolationMethod {
    /// Whether it is for complex matrices, too.
    pub fn takes_complex(self) -> bool {
        match self {
            Self::Weights { complex, .. } => complex,
            Self::Groups { .. } => true,
            Self::Vectors { .. } => false,
        }
    }
}
