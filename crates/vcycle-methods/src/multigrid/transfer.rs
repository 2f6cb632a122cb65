//! The transfer operators of a level: how coarsenings and interpolations combine.

use std::ops::Range;

use super::amg::Amg;
use super::coarsen::{Aggregates, CoarseUnknowns, NextNumbers, NextOfRanks};
use super::interpolate::{
    CoarseLevel, Interpolate, Interpolation, InterpolationMethod, RankLevel, Weighing,
    energy_minimised, energy_minimised_over_ranks, smoothed_by_radius, smoothed_near, tentative,
    tentative_over_ranks, two_stage, two_stage_over_ranks, weighted,
};
use super::matrices::{LevelMatrix, Near};
use super::number::{as_real, as_same, magnitudes, of_real};
use super::own::Own;
use super::restriction::Restriction;
use super::strength::Strength;
use super::unknowns::{Unknowns, View};
use crate::error::ConfigError;
use crate::linop::check_size;
use crate::matrix::LocalNumbers;
use crate::prelude::*;

/// Damping of the smoothing of a tentative prolongation.
const SMOOTHING: f64 = 4.0 / 3.0;

/// A level, its rows nearby, and what its transfer operators are made by.
pub(super) struct LevelStages<'l, V: Field> {
    /// For this level.
    pub amg: &'l Amg,
    /// None where all couplings are strong.
    pub strength: Option<Strength>,
    pub interpolation: Interpolation,
    pub a: &'l LevelMatrix<V>,
    pub near: &'l Near<'l, V>,
    /// The numbers of the unknowns of the next level, where ranks share it.
    pub next: Option<&'l NextOfRanks>,
}

pub(super) struct Prolongation<V: Field> {
    pub matrix: LevelMatrix<V>,
    /// The own unknowns of the next level, among all that it knows.
    pub own: Range<usize>,
    /// Its blocks.
    pub block: Size,
    /// The spectral radius that was found on the way.
    pub radius: Option<f64>,
}

/// Own rows of a prolongation that fits test vectors, and the spectral radius it needed.
pub(super) struct Fit {
    pub p: Csr<f64>,
    pub radius: Option<f64>,
}

struct OwnRows<V: Field> {
    rows: Csr<V>,
    block: Size,
    radius: Option<f64>,
    /// The numbers of its columns, where it leads to more unknowns than the rows nearby do.
    wider: Option<LocalNumbers>,
}

impl<V: Field + Mixes<V, V>> LevelStages<'_, V> {
    /// The rows that ranks share, where they do.
    pub fn ranks(&self) -> Option<RankLevel<'_>> {
        match (self.a, self.near.rows.halo()) {
            (LevelMatrix::OfRanks(a), Some(near)) => Some(RankLevel {
                executor: a.executor(),
                near,
                columns: a.columns(),
            }),
            _ => None,
        }
    }

    fn next(&self) -> &NextOfRanks {
        self.next.expect("ranks number what they share")
    }

    /// The prolongation; what is known of the unknowns nearby becomes what is known of the next level's.
    pub fn prolongation(
        &self,
        coarse: &CoarseUnknowns,
        fit: Option<Fit>,
        view: View<'_>,
        unknowns: &mut Unknowns,
    ) -> Result<Prolongation<V>> {
        let made = self.own_rows(coarse, fit, view, unknowns);
        let OwnRows {
            rows,
            block,
            radius,
            wider,
        } = self.a.agree(made)?;
        let next: Option<&NextNumbers> = self.next.map(|ranks| &ranks.next);
        let numbered = next.map(|next| (wider.as_ref().unwrap_or(&next.numbers), next));
        let columns = rows.size().cols;
        Ok(Prolongation {
            own: numbered.map_or(0..columns, |(numbers, _)| numbers.own()),
            matrix: self.a.of_rows(rows, numbered)?,
            block,
            radius,
        })
    }

    /// The restriction of a level if that has its own: the adjoint of the prolongation of the adjoint.
    pub fn own_restriction(
        &self,
        coarse: &CoarseUnknowns,
        unknowns: &Unknowns,
    ) -> Result<Option<LevelMatrix<V>>> {
        let is_transposed = self.amg.restriction == Restriction::Transposed;
        if is_transposed || self.interpolation.fits_vectors() {
            return Ok(None);
        }
        let adjoint = self.a.adjoint()?;
        let near = adjoint.near_as(&self.near.rows)?;
        let seen = self.a.agree(magnitudes(&near.matrix))?;
        let rows = (seen.as_ref(), &near.rows);
        let view = self
            .a
            .agree(View::new(self.amg, self.strength, rows, unknowns))?;
        let stages = LevelStages {
            a: &adjoint,
            near: &near,
            ..*self
        };
        let made = stages.prolongation(coarse, None, view, &mut unknowns.clone())?;
        made.matrix.adjoint().map(Some)
    }

    fn own_rows(
        &self,
        coarse: &CoarseUnknowns,
        fit: Option<Fit>,
        view: View<'_>,
        unknowns: &mut Unknowns,
    ) -> Result<OwnRows<V>> {
        let (view, coarse, node) = view.for_interpolation(coarse, unknowns)?;
        let (seen, strength) = (view.matrix(), view.strength());
        let a = as_same(seen).unwrap_or(self.near.matrix.as_ref());
        let (grouped, first) = (coarse.is_grouped(), self.near.own().start);
        let block = match unknowns.modes.len() {
            _ if !grouped => Size::square(1),
            0 => Size::square(node),
            modes => Size::new(node, modes),
        };
        let truncation = &self.amg.truncation;
        let for_weights = || self.amg.strength.for_weights(seen, strength);
        let (mut radius, mut wider) = (None, None);
        let rows = match (coarse.as_ref(), self.interpolation) {
            _ if let Some(fit) = fit => {
                radius = fit.radius;
                of_real(fit.p)?
            }
            (found, Interpolation::Own(own)) => {
                if grouped && (node > 1 || !unknowns.modes.is_empty()) {
                    return Err(plain_only(own));
                }
                of_real(by_own(own, seen, strength, (found, truncation))?)?
            }
            (CoarseUnknowns::Grouped(groups), _) => {
                let (p, found) = self.aggregated((a, strength), groups, block, unknowns)?;
                radius = found;
                p
            }
            (CoarseUnknowns::Twice(both), _) => {
                let strength = for_weights()?;
                of_real(match self.ranks() {
                    None => two_stage(seen, &strength, &both.first, &both.second, truncation)?,
                    Some(ranks) => {
                        let matrices = (seen, strength.as_ref());
                        let (p, numbers) =
                            two_stage_over_ranks(ranks, self.next(), matrices, both, truncation)?;
                        wider = Some(numbers);
                        p
                    }
                })?
            }
            (CoarseUnknowns::Chosen(splitting), _) => {
                let strength = for_weights()?;
                let given = Weighing::new(a, &strength, splitting, truncation);
                let given = given.of_rows(self.near.own());
                weighted(
                    self.interpolation.formula().expect("checked before"),
                    &given,
                )?
            }
        };
        view.coarse_unknowns((&rows, first), unknowns, grouped);
        Ok(OwnRows {
            rows,
            block,
            radius: radius.filter(|_| view.shows_all()),
            wider,
        })
    }

    /// The prolongation from groups of nodes and the spectral radius it needed; modes become those of the next level.
    fn aggregated(
        &self,
        (a, strength): (&Csr<V>, &Arc<Pattern>),
        groups: &Aggregates,
        block: Size,
        unknowns: &mut Unknowns,
    ) -> Result<(Csr<V>, Option<f64>)> {
        let (node, ranks, own) = (block.rows, self.ranks(), self.near.own());
        // What is weak by affinity may be large: the diagonal cannot take it.
        let by_entries = self.amg.strength.is_by_entries();
        let is_filtered =
            node == 1 && by_entries && self.near.are_some_weak(a.pattern(), strength)?;
        let filter = is_filtered.then_some(strength);
        let (modes, executor) = (&unknowns.modes, a.executor());
        let (constant, modes) = match ranks {
            None => tentative(groups, modes, node, executor)?,
            Some(ranks) => {
                let next = &self.next().next;
                tentative_over_ranks(ranks, next, groups, (modes, node), executor)?
            }
        };
        unknowns.modes = modes.into();
        let constant: Csr<V> = of_real(constant)?;
        let is_smoothed = matches!(
            self.interpolation.method(),
            Some(InterpolationMethod::Groups { smoothed: true })
        );
        let (p, radius) = match ranks {
            None if !is_smoothed => (constant, None),
            Some(_) if !is_smoothed => (constant.row_range(own)?, None),
            None => {
                let (p, radius) = smoothed_by_radius(a, &constant, SMOOTHING, filter, block)?;
                (p, Some(radius))
            }
            Some(ranks) => {
                let radius = self.a.radius()?;
                let largest = |bound| ranks.near.team().largest(bound);
                let (rows, damping) = ((a, own), (SMOOTHING, radius));
                let p = smoothed_near(rows, &constant, damping, filter, block, largest)?;
                (p, Some(radius))
            }
        };
        Ok((self.lowered(a, p, unknowns)?, radius))
    }

    /// A prolongation from groups after some steps that lower its energy; what is known is of the next level.
    fn lowered(&self, a: &Csr<V>, p: Csr<V>, unknowns: &Unknowns) -> Result<Csr<V>> {
        let steps = self.amg.energy_steps;
        let (Some(a), Some(real), 1..) = (as_real(a), as_real(&p), steps) else {
            return Ok(p);
        };
        of_real(match self.ranks() {
            None => {
                let vectors = unknowns.test_vectors(p.size().cols);
                energy_minimised(a, real, &vectors, |_| false, steps)?
            }
            Some(ranks) => {
                let next = &self.next().next;
                let vectors = unknowns.test_vectors(next.numbers.own_count());
                energy_minimised_over_ranks(ranks, a, (real, next), &vectors, |_| false, steps)?
            }
        })
    }
}

fn by_own(
    own: Own<dyn Interpolate>,
    a: &Csr<f64>,
    strength: &Arc<Pattern>,
    (coarse, truncation): (&CoarseUnknowns, &super::interpolate::Truncation),
) -> Result<Csr<f64>> {
    let made = own.interpolate(&CoarseLevel {
        a,
        strength,
        coarse,
        truncation,
    })?;
    let expected = Size::new(a.size().rows, coarse.count());
    check_size("prolongation", expected, made.size())?;
    Ok(made)
}

fn plain_only(own: Own<dyn Interpolate>) -> Error {
    let reason = format!(
        "interpolation: `{}` goes with one unknown a node and no near-nullspace only",
        own.name()
    );
    ConfigError::Conflict(reason).into()
}
