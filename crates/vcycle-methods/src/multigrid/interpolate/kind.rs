//! The table of interpolations, and which coarsenings they go with.

use super::classical::EXTENDED_I;
use super::prolongation::{Weighing, weighted};
use super::registration::{Interpolate, InterpolationMethod, InterpolationRegistration};
use super::row::Formula;
use super::truncation::Truncation;
use crate::error::ConfigError;
use crate::multigrid::coarsen::{Coarsening, Splitting};
use crate::multigrid::own::{check_over_ranks, stages};
use crate::prelude::*;

stages! {
    /// How the prolongation is made.
    enum Interpolation("interpolation"): InterpolationRegistration, own Interpolate {
        /// What suits the coarsening: `extended+i`, but `tentative` after `pgm` and `uniform`, and
        /// `smoothed` after `sa` and `mis2`. After aggressive coarsening it is
        /// [`interpolate::two_stage`](super::two_stage), whatever is chosen.
        Auto = AUTO,
        Direct = classical::DIRECT,
        Classical = classical::CLASSICAL,
        Extended = classical::EXTENDED,
        ExtendedI = classical::EXTENDED_I,
        Hybrid = classical::HYBRID,
        Bamg = bamg::BAMG,
        SmoothedBamg = bamg::SMOOTHED_BAMG,
        FilteredBamg = bamg::FILTERED_BAMG,
        Tentative = tentative::TENTATIVE,
        Smoothed = smoothed::SMOOTHED,
    }
}

const AUTO: InterpolationRegistration = InterpolationRegistration {
    name: "auto",
    summary: "What suits the coarsening: `extended+i`, but `tentative` after `pgm` and `uniform`, and \
              `smoothed` after `sa` and `mis2`. After aggressive coarsening `extended+i` in two stages, \
              whatever is chosen.",
    ..EXTENDED_I
};

impl Interpolation {
    /// How it is done; none for a user's own.
    pub(in crate::multigrid) fn method(self) -> Option<InterpolationMethod> {
        self.registration().map(|known| known.method)
    }

    /// The prolongation from chosen unknowns by the couplings of a matrix: every coarse unknown keeps its value, every fine
    /// one gets a weighted mean of coarse ones.
    ///
    /// ```
    /// use vcycle::{executor::Executor, gallery};
    /// use vcycle::multigrid::{Interpolation, coarsen::{NONE, Splitting}, interpolate::Truncation};
    /// let a = gallery::build("poisson5:3x1", &Executor::cpu())?.matrix;
    /// let splitting = Splitting { coarse_index: vec![0, NONE, 1].into(), coarse_count: 2 };
    /// for method in ["direct", "classical", "extended", "extended+i", "hybrid"] {
    ///     let method: Interpolation = method.parse()?;
    ///     let p = method.prolongation(&a, a.pattern(), &splitting, &Truncation::default())?;
    ///     assert_eq!(p.row(1), (&[0, 1][..], &[0.25, 0.25][..]));
    /// }
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For an interpolation from groups or of test vectors, or a user's own; unless the arguments fit together; when memory
    /// is short.
    pub fn prolongation(
        self,
        a: &Csr<f64>,
        strength: &Pattern,
        splitting: &Splitting,
        truncation: &Truncation,
    ) -> Result<Csr<f64>> {
        let formula = self.formula().ok_or_else(|| Error::Unsupported {
            component: format!("interpolation `{self}`"),
            operation: "weights by couplings alone".to_owned(),
        })?;
        let given = Weighing::new(a, strength, splitting, truncation);
        weighted(formula, &given)
    }

    /// What weights by couplings are made by, where it goes by these.
    pub(in crate::multigrid) fn formula(self) -> Option<Formula> {
        match self.method() {
            Some(InterpolationMethod::Weights { formula, .. }) => Some(formula),
            Some(InterpolationMethod::Groups { .. } | InterpolationMethod::Vectors { .. }) => None,
            None => None,
        }
    }

    /// Whether it goes by test vectors, with a say in which unknowns are coarse.
    pub fn fits_vectors(self) -> bool {
        matches!(self.method(), Some(InterpolationMethod::Vectors { .. }))
    }

    /// Fails, with those that do it, unless it is for matrices that ranks share.
    pub(in crate::multigrid) fn check_ranks(self) -> Result<()> {
        let over_ranks = |one: Self| one.registration().is_some_and(|known| known.over_ranks);
        let alike = |one: &Self| over_ranks(*one) && one.takes_groups() == self.takes_groups();
        let others = Self::ALL.into_iter().skip(1).filter(alike);
        check_over_ranks(over_ranks(self), "interpolation", &self, others)
    }

    pub(in crate::multigrid) fn check_complex(self) -> Result<()> {
        match self
            .method()
            .is_some_and(InterpolationMethod::takes_complex)
        {
            true => Ok(()),
            false => Err(Error::unsupported(
                format!("interpolation `{self}`"),
                "complex matrices",
            )),
        }
    }

    fn takes_groups(self) -> bool {
        match self {
            Self::Own(own) => own.takes_groups(),
            known => matches!(known.method(), Some(InterpolationMethod::Groups { .. })),
        }
    }

    /// What `auto` means after `coarsening`.
    pub(in crate::multigrid) fn after(self, coarsening: Coarsening) -> Result<Self> {
        let grouped = coarsening.aggregates();
        if self != Self::Auto && self.takes_groups() != grouped {
            let reason = format!("`{self}` does not go with the coarsening `{coarsening}`");
            return Err(ConfigError::Conflict(format!("interpolation: {reason}")).into());
        }
        Ok(match self {
            Self::Auto if grouped && coarsening.weighs() => Self::Tentative,
            Self::Auto if grouped => Self::Smoothed,
            Self::Auto => Self::ExtendedI,
            given => given,
        })
    }
}
