//! Prolongations from groups whose members several ranks have.

use std::sync::Arc;

use crate::eigen::{row_sum_bound_of, spectral_radius};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Distributed, LocalNumbers, Overlap, Partition, Pattern};
use crate::multigrid::coarsen::{Aggregates, NONE};
use crate::multigrid::interpolate;
use crate::multigrid::stages::GroupInterpolation;
use crate::precond::Jacobi;

/// Groups of the rows nearby.
pub(super) struct SharedGroups<'a> {
    pub a: &'a Distributed<f64>,
    pub near: &'a Overlap<f64>,
    /// Those of the next level's unknowns.
    pub numbers: &'a LocalNumbers,
    /// Which rank has which of them.
    pub partition: &'a Arc<Partition>,
}

impl GroupInterpolation for SharedGroups<'_> {
    /// Where there are vectors, the rank of a group factorises their rows in it, and sends the factor to the ranks of
    /// its members.
    fn tentative(
        &self,
        groups: &Aggregates,
        vectors: &[Vec<f64>],
        node: usize,
        executor: &Executor,
    ) -> Result<(Csr<f64>, Vec<Vec<f64>>)> {
        if vectors.is_empty() {
            return interpolate::tentative(groups, vectors, node, executor);
        }
        let own = self.numbers.own();
        let own = (own.start / vectors.len()) as u32..(own.end / vectors.len()) as u32;
        let of_own = |&group: &u32| match own.contains(&group) {
            true => group - own.start,
            false => NONE,
        };
        let aggregates = Aggregates {
            aggregate: groups.aggregate.iter().map(of_own).collect(),
            count: own.len(),
        };
        let made = interpolate::tentative(&aggregates, vectors, node, executor);
        let (factor, coarse) = self.a.team().agree(made)?;
        let flipped = Distributed::of_numbered(
            self.a.executor(),
            self.partition,
            self.a.rows(),
            &self.near.halo,
            factor.transpose()?,
        )?;
        let all = flipped.transpose()?;
        Ok((all.rows_near(&self.near.halo, self.numbers)?, coarse))
    }

    fn smoothed(
        &self,
        a: &Csr<f64>,
        tentative: &Csr<f64>,
        omega: f64,
        filter: Option<&Arc<Pattern>>,
        block: Size,
    ) -> Result<(Csr<f64>, f64)> {
        let radius = radius(self.a)?;
        let largest = |bound| self.a.team().largest(bound);
        let damping = (omega, radius);
        let p = interpolate::smoothed_near(a, tentative, damping, filter, block, largest)?;
        Ok((p, radius))
    }
}

/// The spectral radius of `D^-1 A`. All ranks call it together.
pub(super) fn radius(a: &Distributed<f64>) -> Result<f64> {
    let whole: &dyn LinOp<f64> = a;
    let inverse = a.team().agree(Jacobi::default().inverse(whole))?;
    let bound = row_sum_bound_of(whole, "smoothed prolongation")?;
    spectral_radius(whole, inverse.values(), bound, &Workspace::new())
}
