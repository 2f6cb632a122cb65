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
use crate::error::{Error, Result};
use crate::precision::Unit;

impl Amg {
    /// Whether the parameters go with each other and with the near-nullspace.
    pub(super) fn check(&self, near_nullspace: &NearNullspace) -> Result<()> {
        self.scaling.check_algebraic()?;
        if self.max_levels == 0 {
            return Err(Error::bad_parameter("max-levels", "must be at least 1"));
        }
        if self.pre_sweeps + self.post_sweeps == 0 {
            return Err(Error::bad_parameter(
                "pre-sweeps",
                "one sweep is needed, before or after",
            ));
        }
        if !(self.restriction_scaling.is_normal() && self.restriction_scaling > 0.0) {
            return Err(Error::bad_parameter(
                "restriction-scaling",
                "must be a positive number",
            ));
        }
        if !(self.coarse_filter > 0.0 && self.coarse_filter <= 1.0) {
            return Err(Error::bad_parameter(
                "coarse-filter",
                "must be above 0 and at most 1",
            ));
        }
        if self.systems == Systems::Node && self.interpolation.fits_vectors() {
            let reason = format!("`{}` interpolates unknowns, not nodes", self.interpolation);
            return Err(Error::bad_parameter("systems", reason));
        }
        let size = near_nullspace.block_size();
        if self.block_size != 1 && self.block_size != size {
            let reason = format!(
                "{} is not that of the near-nullspace, {size}",
                self.block_size
            );
            return Err(Error::bad_parameter("block-size", reason));
        }
        Ok(())
    }

    /// Fails where levels are chosen from and others grouped, and nodes have several unknowns: the
    /// one leaves no nodes to the other.
    pub(super) fn check_levels(&self, near_nullspace: &NearNullspace) -> Result<()> {
        let plain = near_nullspace.block_size() == 1 && near_nullspace.vectors().is_empty();
        let grouped = self.coarsening.aggregates();
        let mut given = self.levels.iter().map(|one| one.coarsening);
        let other = given.find(|one| *one != Coarsening::Auto && one.aggregates() != grouped);
        match other {
            Some(other) if !plain => {
                let all = self.coarsening;
                let reason = format!(
                    "the coarsenings `{all}` and `{other}` go together for one unknown a node \
                     without near-nullspace only"
                );
                Err(Error::bad_parameter("levels", reason))
            }
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

    /// Fails for whatever is for real matrices only.
    pub(super) fn check_complex(&self, near_nullspace: &NearNullspace) -> Result<()> {
        let plain = near_nullspace.block_size() == 1 && near_nullspace.vectors().is_empty();
        let is_half = |unit| matches!(unit, Unit::Half | Unit::Bfloat);
        let affinity = |strength: Strength| !strength.is_by_entries();
        let refused = [
            (!plain, "several unknowns a node, or a near-nullspace,"),
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

/// Refuses what is for real matrices only.
fn real_only(stage: &str) -> Error {
    Error::Unsupported {
        component: "amg".to_owned(),
        operation: format!("{stage} for complex matrices"),
    }
}
