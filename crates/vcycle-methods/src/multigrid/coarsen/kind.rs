//! The table of coarsenings.

use super::choice::Choice;
use super::pgm::LARGEST;
use super::pmis::PMIS;
use super::registration::{Coarsen, CoarseningRegistration, Graph};
use crate::multigrid::own::{check_over_ranks, stages};
use crate::prelude::*;

stages! {
    /// How the unknowns of the next level are found.
    enum Coarsening("coarsening"): CoarseningRegistration, own Coarsen {
        /// What suits the matrix: for symmetric ones `sa`, or `mis2` on a device, else `pmis`.
        Auto = AUTO,
        Pmis = pmis::PMIS,
        Hmis = hmis::HMIS,
        PmisAggressive = aggressive::PMIS_AGGRESSIVE,
        RugeStueben = ruge_stueben::RUGE_STUEBEN,
        Pgm = pgm::PGM,
        Mis2 = mis2::MIS2,
        Greedy = greedy::GREEDY,
        Uniform = uniform::UNIFORM,
    }
}

const AUTO: CoarseningRegistration = CoarseningRegistration {
    name: "auto",
    summary: "What suits the matrix: for symmetric ones `sa`, or `mis2` on a device, else `pmis`.",
    ..PMIS
};

impl Coarsening {
    /// Whether it goes by the matrix alone, not by strong couplings.
    pub(in crate::multigrid) fn weighs(self) -> bool {
        self.registration()
            .is_some_and(|known| !known.reads.contains(&"strength"))
    }

    /// Whether it groups unknowns, and does not choose among them.
    pub fn aggregates(self) -> bool {
        match self {
            Self::Own(own) => own.groups(),
            known => known.registration().is_some_and(|known| known.groups),
        }
    }

    /// Whether it passes over the diagonal of the graph, which may be there then.
    pub(in crate::multigrid) fn skips_diagonal(self) -> bool {
        self == Self::Greedy
    }

    /// Members of groups by the numbering that take its place where it leaves too many unknowns.
    pub(in crate::multigrid) fn or_uniform(self) -> Option<usize> {
        (self == Self::Pgm).then_some(LARGEST)
    }

    /// Whether interpolation of complex matrices can go by it.
    pub(in crate::multigrid) fn takes_complex(self) -> bool {
        self.registration().is_none_or(|known| known.complex)
    }

    /// Fails, with those that do it, unless it is for matrices that ranks share.
    pub(in crate::multigrid) fn check_ranks(self) -> Result<()> {
        let over_ranks = |one: Self| one.registration().is_some_and(|known| known.over_ranks);
        let alike = |one: &Self| over_ranks(*one) && one.aggregates() == self.aggregates();
        let others = Self::ALL.into_iter().skip(1).filter(alike);
        check_over_ranks(over_ranks(self), "coarsening", &self, others)
    }

    /// Chooses or groups the unknowns of a level, of own rows where ranks share it.
    pub(in crate::multigrid) fn coarsen(self, graph: &Graph<'_>) -> Result<Choice> {
        if let Self::Own(own) = self {
            let found = own.coarsen(graph)?;
            found.check(own.name(), graph.a.size().rows)?;
            return Ok(Choice::here(found));
        }
        (self.registration().unwrap_or(&AUTO).coarsen)(graph)
    }
}
