//! Interpolation of test vectors over ranks.

use std::sync::Arc;

use super::choice::{Choice, Chosen, NextNumbers};
use super::energy::lowered;
use super::groups::radius;
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Halo, Overlap};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::interpolate::{self, Interpolation, InterpolationMethod};
use crate::multigrid::stages::BAMG_SMOOTHING;
use crate::multigrid::systems::{Unknowns, View, spread_over};

/// A level whose test vectors are interpolated.
pub(super) struct FittedLevel<'a> {
    pub a: &'a Distributed<f64>,
    pub near: &'a Overlap<f64>,
    pub view: &'a View<'a>,
    pub amg: &'a Amg,
}

/// Own rows of a prolongation, and the numbers of its columns.
struct Fit {
    p: Csr<f64>,
    next: NextNumbers,
}

impl FittedLevel<'_> {
    /// [`Coarsened::fitted`] of own rows; what the vectors are at own coarse unknowns becomes what is known of these. All
    /// ranks call it together.
    pub fn fitted(
        &self,
        choice: Choice,
        interpolation: Interpolation,
        unknowns: &mut Unknowns,
    ) -> Result<Choice> {
        let vectors = unknowns.test_vectors(self.near.halo.len());
        let splitting = match choice.coarsened {
            Coarsened::Chosen(splitting) => splitting,
            Coarsened::Twice(ref both) => {
                unknowns.modes = self.own_of(&both.second, &vectors);
                return Ok(choice);
            }
            other => {
                return Ok(Choice {
                    coarsened: other,
                    ..choice
                });
            }
        };
        let (halo, team) = (&self.near.halo, self.a.team());
        let (strength, bamg) = (self.view.strength(), &self.amg.bamg);
        let rows = interpolate::bamg_rows(strength, &splitting, &vectors, bamg, halo.own());
        let rows = team.agree(rows)?;
        let is_coarse = |row: usize| splitting.coarse_index[row] != NONE || rows.is_promoted(row);
        let chosen = Chosen::new(halo, is_coarse)?;
        unknowns.modes = self.own_of(&chosen.splitting, &vectors);
        let mut fit = Fit {
            p: team.agree(rows.prolongation(&chosen.splitting))?,
            next: chosen.next,
        };
        let mut radius = None;
        if let Some(InterpolationMethod::Vectors { smoothed, filtered }) = interpolation.method() {
            if smoothed {
                radius = Some(self.smooth(&mut fit)?);
            }
            if filtered {
                self.filter(&mut fit, &unknowns.modes)?;
            }
        }
        if self.amg.energy_steps > 0 {
            self.lower(&mut fit, &chosen.splitting, &unknowns.modes)?;
        }
        Ok(Choice {
            coarsened: Coarsened::Fitted(chosen.splitting, fit.p, radius),
            next: fit.next,
            first: None,
        })
    }

    /// What vectors are at own coarse unknowns.
    fn own_of(&self, splitting: &Splitting, vectors: &[Vec<f64>]) -> Arc<[Vec<f64>]> {
        splitting.of_rows(self.near.halo.own()).of_coarse(vectors)
    }

    /// Smooths a prolongation; the spectral radius that took.
    fn smooth(&self, fit: &mut Fit) -> Result<f64> {
        let (a, halo, executor) = (self.view.matrix(), &self.near.halo, self.a.executor());
        let (rows, next) = (self.a.rows(), &fit.next);
        let own = a.row_range(halo.own())?;
        let whole = Distributed::of_numbered(executor, rows, rows, halo, own)?;
        let radius = radius(&whole)?;
        let p = fit.p.clone();
        let p = Distributed::of_numbered(executor, rows, &next.partition, &next.numbers, p)?;
        let (p, numbers) = p.rows_of(whole.columns().others(), halo)?;
        let largest = |bound| self.a.team().largest(bound);
        let (damping, one) = ((BAMG_SMOOTHING, radius), Size::square(1));
        let own = (a, halo.own());
        fit.p = interpolate::smoothed_near(own, &p, damping, None, one, largest)?;
        fit.next.numbers = numbers;
        Ok(radius)
    }

    /// Drops small entries of a prolongation, which maps the vectors of own coarse unknowns as before.
    fn filter(&self, fit: &mut Fit, modes: &[Vec<f64>]) -> Result<()> {
        let NextNumbers { numbers, partition } = &fit.next;
        let halo = Halo::new(self.a.team(), partition, numbers.others().to_vec())?;
        let modes = modes.iter().map(|own| spread_over(&halo, own));
        let modes: Vec<Vec<f64>> = modes.collect::<Result<_>>()?;
        let filtered = interpolate::filtered(&fit.p, &modes, self.amg.bamg.kept);
        fit.p = self.a.team().agree(filtered)?;
        Ok(())
    }

    /// Lowers the energy of a prolongation; rows of coarse unknowns stay.
    fn lower(&self, fit: &mut Fit, chosen: &Splitting, modes: &[Vec<f64>]) -> Result<()> {
        let fixed = |row: usize| chosen.coarse_index[row] != NONE;
        let (fine, steps) = (
            (self.view.matrix(), self.near.halo.as_ref()),
            self.amg.energy_steps,
        );
        let next = (fit.p.clone(), &fit.next);
        fit.p = lowered(fine, next, modes, fixed, steps, self.a)?;
        Ok(())
    }
}
