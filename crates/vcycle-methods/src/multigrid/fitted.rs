//! Interpolation of test vectors, which has a say in which unknowns are coarse.

use super::coarsen::{Choice, Chosen, CoarseUnknowns, NONE, NextNumbers, Splitting, spread_over};
use super::interpolate::{
    self, InterpolationMethod, RankLevel, bamg, bamg_rows, energy_minimised,
    energy_minimised_over_ranks, filtered, shared_radius, smoothed, smoothed_near, spectral_radius,
};
use super::transfer::{Fit, LevelStages};
use super::unknowns::{Unknowns, View};
use crate::matrix::Halo;
use crate::prelude::*;

/// Damping of the smoothing: rows of this interpolation are not as long as those of groups.
const SMOOTHING: f64 = 2.0 / 3.0;

/// Interpolates the test vectors of a level, where unknowns were chosen; they become those of the next level.
pub(super) fn fitted<V: Field + Mixes<V, V>>(
    level: &LevelStages<'_, V>,
    choice: Choice,
    view: &View<'_>,
    unknowns: &mut Unknowns,
) -> Result<(Choice, Option<Fit>)> {
    let (amg, ranks, a) = (level.amg, level.ranks(), view.matrix());
    let vectors = unknowns.test_vectors(a.size().rows);
    let own_of = |splitting: &Splitting| match ranks {
        None => splitting.of_coarse(&vectors),
        Some(ranks) => splitting.of_rows(ranks.near.own()).of_coarse(&vectors),
    };
    let splitting = match &choice.coarse {
        CoarseUnknowns::Chosen(splitting) => splitting,
        CoarseUnknowns::Twice(both) => {
            unknowns.modes = own_of(&both.second);
            return Ok((choice, None));
        }
        CoarseUnknowns::Grouped(_) => return Ok((choice, None)),
    };
    let strength = view.strength();
    let (p, chosen, mut next) = match ranks {
        None => {
            let (p, chosen) = bamg(strength, splitting, &vectors, &amg.bamg)?;
            (p, chosen, None)
        }
        Some(RankLevel { near, .. }) => {
            let rows = bamg_rows(strength, splitting, &vectors, &amg.bamg, near.own());
            let rows = near.team().agree(rows)?;
            let is_coarse =
                |row: usize| splitting.coarse_index[row] != NONE || rows.is_promoted(row);
            let Chosen { splitting, next } = Chosen::new(near, is_coarse)?;
            let p = near.team().agree(rows.prolongation(&splitting))?;
            (p, splitting, Some(next))
        }
    };
    unknowns.modes = own_of(&chosen);
    let (is_smoothed, is_filtered) = match level.interpolation.method() {
        Some(InterpolationMethod::Vectors { smoothed, filtered }) => (smoothed, filtered),
        Some(InterpolationMethod::Weights { .. } | InterpolationMethod::Groups { .. }) | None => {
            (false, false)
        }
    };
    let mut fit = Fit { p, radius: None };
    if is_smoothed {
        fit.smooth(a, ranks.zip(next.as_mut()))?;
    }
    if is_filtered {
        fit.filter(&unknowns.modes, amg.bamg.kept, ranks.zip(next.as_ref()))?;
    }
    if amg.energy_steps > 0 {
        let (modes, steps) = (&unknowns.modes, amg.energy_steps);
        let fixed = |row: usize| chosen.coarse_index[row] != NONE;
        fit.p = match ranks.zip(next.as_ref()) {
            None => energy_minimised(a, &fit.p, modes, fixed, steps)?,
            Some((ranks, next)) => {
                energy_minimised_over_ranks(ranks, a, (&fit.p, next), modes, fixed, steps)?
            }
        };
    }
    let choice = match next {
        None => Choice::here(CoarseUnknowns::Chosen(chosen)),
        Some(next) => Choice::from(Chosen {
            splitting: chosen,
            next,
        }),
    };
    Ok((choice, Some(fit)))
}

/// The rows that ranks share, and the numbers of the next level that the prolongation leads from.
type Numbered<'r, N> = Option<(RankLevel<'r>, N)>;

impl Fit {
    /// Smooths the prolongation; over ranks it leads to more unknowns then.
    fn smooth(&mut self, a: &Csr<f64>, ranks: Numbered<'_, &mut NextNumbers>) -> Result<()> {
        let one = Size::square(1);
        let Some((level, next)) = ranks else {
            let radius = spectral_radius(a)?;
            self.p = smoothed(a, &self.p, (SMOOTHING, radius), None, one)?;
            self.radius = Some(radius);
            return Ok(());
        };
        let (halo, executor) = (level.near, level.executor);
        let rows = halo.partition();
        let own = a.row_range(halo.own())?;
        let whole = Distributed::of_numbered(executor, rows, rows, halo, own)?;
        let radius = shared_radius(&whole)?;
        let p = level.prolongation((self.p.clone(), &next.numbers), next)?;
        let (p, numbers) = p.rows_of(whole.columns().others(), halo)?;
        let largest = |bound| halo.team().largest(bound);
        let own = (a, halo.own());
        self.p = smoothed_near(own, &p, (SMOOTHING, radius), None, one, largest)?;
        self.radius = Some(radius);
        next.numbers = numbers;
        Ok(())
    }

    /// Drops small entries of the prolongation, which maps the vectors of own coarse unknowns as before.
    fn filter(
        &mut self,
        modes: &Arc<[Vec<f64>]>,
        kept: f64,
        ranks: Numbered<'_, &NextNumbers>,
    ) -> Result<()> {
        let Some((level, next)) = ranks else {
            self.p = filtered(&self.p, modes, kept)?;
            return Ok(());
        };
        let (team, others) = (level.near.team(), next.numbers.others().to_vec());
        let halo = Halo::new(team, &next.partition, others)?;
        let modes = modes.iter().map(|own| spread_over(&halo, own));
        let modes: Vec<Vec<f64>> = modes.collect::<Result<_>>()?;
        self.p = team.agree(interpolate::filtered(&self.p, &modes, kept))?;
        Ok(())
    }
}
