//! The transfer operators of a level that ranks share.

use std::cell::OnceCell;
use std::sync::Arc;

use super::choice::NextNumbers;
use super::groups::SharedGroups;
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::{Distributed, LocalNumbers, Overlap};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::Nearby;
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::interpolate::Interpolation;
use crate::multigrid::restriction::Restriction;
use crate::multigrid::strength::Strength;
use crate::multigrid::systems::{Unknowns, View};

/// What transfer operators of a level are made by.
pub(super) struct Stages<'s> {
    pub amg: &'s Amg,
    pub stages: (Option<Strength>, Interpolation),
    /// The unknowns of the next level.
    pub next: &'s NextNumbers,
    /// Those of the first choice, where unknowns are chosen twice.
    pub first: Option<&'s NextNumbers>,
}

/// A prolongation.
pub(super) struct Prolongation {
    pub matrix: Distributed<f64>,
    /// The unknowns of the next level that it knows.
    pub numbers: LocalNumbers,
    /// Its blocks.
    pub block: Size,
    /// The spectral radius that was found on the way.
    pub radius: Option<f64>,
}

/// A matrix, and its rows nearby.
type Level<'l> = (&'l Distributed<f64>, &'l Overlap<f64>);

impl Stages<'_> {
    /// The prolongation of a matrix; what is known of its unknowns nearby becomes that of the next level's. All ranks call it
    /// together.
    pub fn prolongation(
        &self,
        (a, near): Level<'_>,
        coarsened: Coarsened,
        view: View<'_>,
        here: &mut Unknowns,
    ) -> Result<Prolongation> {
        let by = SharedGroups {
            a,
            near,
            next: self.next,
            first: self.first,
            wider: OnceCell::new(),
        };
        let made = coarsened.prolongation_by(&by, self.stages.1, view, self.amg, here);
        let (own, block, radius) = a.team().agree(made)?;
        let NextNumbers { numbers, partition } = self.next;
        let numbers = by.wider.into_inner().unwrap_or_else(|| numbers.clone());
        let (executor, rows) = (a.executor(), a.rows());
        let matrix = Distributed::of_numbered(executor, rows, partition, &numbers, own)?;
        Ok(Prolongation {
            matrix,
            numbers,
            block,
            radius,
        })
    }

    /// The restriction of a level if that has its own: the transposed prolongation of the transpose. All ranks call it
    /// together.
    pub fn own_restriction(
        &self,
        (a, near): Level<'_>,
        coarsened: &Coarsened,
        here: &Unknowns,
    ) -> Result<Option<Distributed<f64>>> {
        let (strength, interpolation) = self.stages;
        if self.amg.restriction == Restriction::Transposed || interpolation.fits_vectors() {
            return Ok(None);
        }
        let (adjoint, halo) = (a.transpose()?, &near.halo);
        let near = Overlap {
            halo: Arc::clone(halo),
            matrix: adjoint.rows_near(halo, halo)?,
        };
        let rows = (&near.matrix, &Nearby::of(halo));
        let (systems, coarsening) = (self.amg.systems, self.amg.coarsening);
        let view = View::of_ranks(systems, coarsening, strength, rows, here);
        let view = a.team().agree(view)?;
        let (level, here) = ((&adjoint, &near), &mut here.clone());
        let made = self.prolongation(level, coarsened.clone(), view, here)?;
        made.matrix.transpose().map(Some)
    }
}
