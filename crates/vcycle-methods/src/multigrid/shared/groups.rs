//! Prolongations from groups whose members several ranks have.

use std::ops::Range;
use std::sync::Arc;

use crate::eigen::{row_sum_bound_of, spectral_radius};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Distributed, LocalNumbers, Overlap, Partition, Pattern};
use crate::multigrid::coarsen::{Aggregates, NONE};
use crate::multigrid::interpolate;
use crate::multigrid::stages::InterpolatedRows;
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

impl InterpolatedRows for SharedGroups<'_> {
    fn rows(&self, _all: usize) -> Range<usize> {
        self.near.halo.own()
    }

    fn are_some_weak(&self, a: &Csr<f64>, strength: &Pattern) -> Result<bool> {
        let own = self.near.halo.own();
        let entries = |of: &Pattern| of.offsets()[own.end] - of.offsets()[own.start];
        let mut counts = [entries(strength) + own.len(), entries(a.pattern())].map(|n| n as f64);
        self.a.team().sum(&mut counts)?;
        Ok(counts[0] < counts[1])
    }

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
        let own = (a, self.near.halo.own());
        let p = interpolate::smoothed_near(own, tentative, damping, filter, block, largest)?;
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
