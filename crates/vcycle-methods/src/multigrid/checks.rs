//! What parameters, stages and matrices go together.

use super::amg::Amg;
use super::coarsen::Coarsening;
use super::interpolate::Interpolation;
use super::matrices::LevelMatrix;
use super::near_nullspace::NearNullspace;
use super::restriction::Restriction;
use super::scaling::LevelScaling;
use super::strength::Strength;
use super::systems::Systems;
use super::wide::Wide;
use crate::precision::Unit;
use crate::prelude::*;

impl Amg {
    /// Whether the parameters go with each other and with the near-nullspace.
    pub(super) fn check(&self, near_nullspace: &NearNullspace) -> Result<()> {
        self.scaling.check_algebraic()?;
        let (scaling, filter) = (self.restriction_scaling, self.coarse_filter);
        let sweeps = self.pre_sweeps + self.post_sweeps;
        for (holds, parameter, reason) in [
            (self.max_levels > 0, "max-levels", "must be at least 1"),
            (
                sweeps > 0,
                "pre-sweeps",
                "one sweep is needed, before or after",
            ),
            (
                scaling.is_normal() && scaling > 0.0,
                "restriction-scaling",
                "must be a positive number",
            ),
            (
                filter > 0.0 && filter <= 1.0,
                "coarse-filter",
                "must be above 0 and at most 1",
            ),
        ] {
            Error::check_parameter(holds, parameter, reason)?;
        }
        let is_split = self.systems == Systems::Node && self.interpolation.fits_vectors();
        let reason = format!("`{}` interpolates unknowns, not nodes", self.interpolation);
        Error::check_parameter(!is_split, "systems", reason)?;
        let (own, size) = (self.block_size, near_nullspace.block_size());
        let reason = format!("{own} is not that of the near-nullspace, {size}");
        Error::check_parameter(own == 1 || own == size, "block-size", reason)
    }

    /// Fails where levels are chosen from and others grouped, and nodes have several unknowns: the
    /// one leaves no nodes to the other.
    pub(super) fn check_levels(&self, near_nullspace: &NearNullspace) -> Result<()> {
        let (all, grouped) = (self.coarsening, self.coarsening.aggregates());
        let mut given = self.levels.iter().map(|one| one.coarsening);
        match given.find(|one| *one != Coarsening::Auto && one.aggregates() != grouped) {
            Some(other) if !near_nullspace.is_plain() => Err(Error::bad_parameter(
                "levels",
                format!(
                    "the coarsenings `{all}` and `{other}` go together for one unknown a node \
                     without near-nullspace only"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Fails for stages that do not declare to be for matrices like that of a level.
    pub(super) fn check_stages<V: Wide>(
        &self,
        interpolation: Interpolation,
        a: &LevelMatrix<V>,
    ) -> Result<()> {
        if a.is_of_ranks() {
            self.coarsening.check_ranks()?;
            interpolation.check_ranks()?;
            self.smoother.check_ranks()?;
            self.post_smoother.check_ranks()?;
        }
        if V::KIND.is_complex() {
            if !self.coarsening.takes_complex() {
                return Err(real_only(&format!("the coarsening `{}`", self.coarsening)));
            }
            interpolation.check_complex()?;
        }
        Ok(())
    }

    pub(super) fn check_complex(&self, near_nullspace: &NearNullspace) -> Result<()> {
        let is_half = |unit| matches!(unit, Unit::Half | Unit::Bfloat);
        let affinity = |strength: Strength| !strength.is_by_entries();
        let refused = [
            (
                !near_nullspace.is_plain(),
                "several unknowns a node, or a near-nullspace,",
            ),
            (self.test_space.is_some(), "a test space"),
            (self.energy_steps > 0, "energy minimisation"),
            (self.coarse_filter < 1.0, "filtered coarse matrices"),
            (self.restriction == Restriction::Own, "restriction `own`"),
            (
                self.scaling == LevelScaling::Equilibrate,
                "scaling `equilibrate`",
            ),
            (
                affinity(self.strength) || self.levels.iter().any(|one| affinity(one.strength)),
                "strength by affinity",
            ),
            (
                self.precisions_asked()
                    .any(|of| is_half(of.working) || is_half(of.matrix)),
                "half precision",
            ),
        ];
        match refused.into_iter().find(|(is_asked, _)| *is_asked) {
            None => Ok(()),
            Some((_, stage)) => Err(real_only(stage)),
        }
    }
}

fn real_only(stage: &str) -> Error {
    Error::unsupported("amg", format!("{stage} for complex matrices"))
}
