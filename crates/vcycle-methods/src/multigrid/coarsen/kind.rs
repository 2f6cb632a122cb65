//! The table of coarsenings.

use super::choice::{Choice, RankRows};
use super::pmis::PMIS;
use super::registration::{Coarsen, CoarseningRegistration, Graph, OverRanks};
use crate::error::Result;
use crate::multigrid::own::{not_over_ranks, stages};

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
        self.registration()
            .is_some_and(|known| known.skips_diagonal)
    }

    /// Members of groups by the numbering that take its place where it leaves too many unknowns.
    pub(in crate::multigrid) fn or_uniform(self) -> Option<usize> {
        self.registration().and_then(|known| known.or_uniform)
    }

    /// Whether interpolation of complex matrices can go by it.
    pub(in crate::multigrid) fn takes_complex(self) -> bool {
        self.registration().is_none_or(|known| known.complex)
    }

    /// How it is done over ranks.
    ///
    /// # Errors
    /// Where it is not, with those that are.
    pub(in crate::multigrid) fn over_ranks(self) -> Result<OverRanks> {
        let of = |one: Self| one.registration().and_then(|known| known.over_ranks);
        of(self).ok_or_else(|| {
            let alike = |one: &Self| of(*one).is_some() && one.aggregates() == self.aggregates();
            let others = Self::ALL.into_iter().skip(1).filter(alike);
            not_over_ranks(&format_args!("the coarsening `{self}`"), others)
        })
    }

    /// Chooses or groups the unknowns of a level, of own rows where ranks share it.
    pub(in crate::multigrid) fn coarsen(
        self,
        graph: &Graph<'_>,
        ranks: Option<RankRows<'_>>,
    ) -> Result<Choice> {
        if let Some(ranks) = ranks {
            return self.over_ranks()?(graph, ranks);
        }
        let found = match self {
            Self::Own(own) => {
                let found = own.coarsen(graph)?;
                found.check(own.name(), graph.a.size().rows)?;
                found
            }
            known => {
                let known = known.registration().unwrap_or(&AUTO);
                (known.coarsen)(graph)?
            }
        };
        Ok(Choice::here(found))
    }
}
