//! Prolongations from groups whose members several ranks have.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::choice::NextNumbers;
use super::energy::lowered;
use super::matching::{Groups, LEFT_OUT};

use crate::eigen::{row_sum_bound_of, spectral_radius};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Distributed, Halo, LocalNumbers, Overlap, Pattern};
use crate::multigrid::coarsen::{Aggregates, Aggressive, NONE};
use crate::multigrid::interpolate::{self, Truncation, Weighing};
use crate::multigrid::stages::InterpolatedRows;
use crate::multigrid::systems::{Unknowns, spread_over};
use crate::precond::Jacobi;
use crate::scalar::Mixes;

/// Groups of the rows nearby.
pub(super) struct SharedGroups<'a> {
    pub a: &'a Distributed<f64>,
    pub near: &'a Overlap<f64>,
    /// The unknowns of the next level.
    pub next: &'a NextNumbers,
    /// Those of the first choice, where unknowns are chosen twice.
    pub first: Option<&'a NextNumbers>,
    /// The unknowns of the next level, where a prolongation has led to more than the rows nearby do.
    pub wider: OnceCell<LocalNumbers>,
}

impl InterpolatedRows for SharedGroups<'_> {
    fn rows(&self, _all: usize) -> Range<usize> {
        self.near.halo.own()
    }

    fn are_some_weak(&self, a: &Csr<f64>, strength: &Pattern) -> Result<bool> {
        are_some_weak(&self.near.halo, a.pattern(), strength)
    }

    /// Where there are vectors, the rank of a group gets their rows in it, factorises them, and sends the factor to the
    /// ranks of its members.
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
        let own = vectors.iter().map(|all| &all[self.near.halo.own()]);
        let members = Members::new(self, groups, node, vectors.len())?;
        let vectors: Vec<Vec<f64>> = own
            .map(|own| spread_over(&members.rows, own))
            .collect::<Result<_>>()?;
        let made = interpolate::tentative(&members.groups, &vectors, node, executor);
        let (factor, coarse) = self.a.team().agree(made)?;
        let flipped = Distributed::of_numbered(
            self.a.executor(),
            &self.next.partition,
            self.a.rows(),
            &members.rows,
            factor.transpose()?,
        )?;
        let all = flipped.transpose()?;
        let near = all.rows_near(&self.near.halo, &self.next.numbers)?;
        Ok((near, coarse))
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

    fn two_stage(
        &self,
        a: &Csr<f64>,
        strength: &Arc<Pattern>,
        both: &Aggressive,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        let (own, team) = (self.near.halo.own(), self.a.team());
        let (executor, fine) = (self.a.executor(), self.a.rows());
        let NextNumbers { numbers, partition } = self.first.expect("chosen twice");
        let given = Weighing::new(a, strength, &both.first, truncation).of_rows(own.clone());
        let near = team.agree(interpolate::extended_i_weights(&given))?;
        let near = Distributed::of_numbered(executor, fine, partition, numbers, near)?;
        let points = (&both.first.of_rows(own), &both.second);
        let far = team.agree(interpolate::second_stage(a, strength, points, truncation))?;
        let next = self.next;
        let far =
            Distributed::of_numbered(executor, partition, &next.partition, &next.numbers, far)?;
        let (product, numbers) = near.multiplied(&far)?;
        self.wider.get_or_init(|| numbers);
        interpolate::truncate(&product, truncation)
    }

    fn lowered(
        &self,
        a: &Csr<f64>,
        p: Csr<f64>,
        unknowns: &Unknowns,
        steps: usize,
    ) -> Result<Csr<f64>> {
        let vectors = unknowns.test_vectors(self.next.numbers.own_count());
        let (fine, next) = ((a, self.near.halo.as_ref()), (p, self.next));
        lowered(fine, next, &vectors, |_| false, steps, self.a)
    }
}

/// The members of own groups, wherever their rows are.
struct Members {
    /// Own rows, and those of members that other ranks have.
    rows: Halo,
    /// The own group of every node that is here, counted from the first.
    groups: Aggregates,
}

impl Members {
    /// Of nodes of so many rows, where a group has so many unknowns of the next level. All ranks call it together.
    fn new(by: &SharedGroups<'_>, near: &Aggregates, node: usize, width: usize) -> Result<Self> {
        let (halo, next) = (&by.near.halo, by.next);
        let group = |&group: &u32| match group {
            NONE => LEFT_OUT,
            group => next.numbers.global(group as usize * width) / width as u64,
        };
        let own = halo.own().start / node..halo.own().end / node;
        let groups = Groups {
            of_own: near.aggregate[own].iter().map(group).collect(),
            partition: Arc::new(next.partition.divided(width)),
        };
        let nodes = Arc::new(by.a.rows().divided(node));
        let members = groups.constants(by.a.executor(), &nodes)?.transpose()?;
        let here = members.columns();
        let mut aggregate = vec![NONE; here.len()];
        for group in 0..members.local().size().rows {
            for &member in members.local().row(group).0 {
                aggregate[member as usize] = group as u32;
            }
        }
        let others = here.multiplied(node).others().to_vec();
        Ok(Self {
            rows: Halo::new(by.a.team(), by.a.rows(), others)?,
            groups: Aggregates {
                aggregate: aggregate.into(),
                count: members.local().size().rows,
            },
        })
    }
}

/// Whether some couplings of own rows of any rank are not strong. All ranks call it together.
pub(super) fn are_some_weak(rows: &Halo, a: &Pattern, strength: &Pattern) -> Result<bool> {
    let own = rows.own();
    let entries = |of: &Pattern| {
        let offsets = of.buffers().0;
        Ok::<_, Error>(offsets.get(own.end)? - offsets.get(own.start)?)
    };
    let mut counts = [entries(strength)? + own.len(), entries(a)?].map(|n| n as f64);
    rows.team().sum(&mut counts)?;
    Ok(counts[0] < counts[1])
}

/// The spectral radius of `D^-1 A`. All ranks call it together.
pub(super) fn radius<V: Mixes<V, V>>(a: &Distributed<V>) -> Result<f64> {
    let whole: &dyn LinOp<V> = a;
    let inverse = a.team().agree(Jacobi::default().inverse(whole))?;
    let bound = row_sum_bound_of(whole, "smoothed prolongation")?;
    spectral_radius(whole, inverse.values(), bound, &Workspace::new())
}
