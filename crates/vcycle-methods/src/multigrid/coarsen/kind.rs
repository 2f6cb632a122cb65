//! The table of coarsenings.

use super::pmis;
use super::registration::{CoarseUnknowns, Coarsen, CoarseningRegistration, Graph};
use crate::error::Result;
use crate::multigrid::own::stages;

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
    groups: false,
    weighs: false,
    coarsen: |graph| Ok(CoarseUnknowns::Chosen(pmis(graph.strength, graph.seed)?)),
};

impl Coarsening {
    /// Whether it goes by the matrix alone, not by strong couplings.
    pub(in crate::multigrid) fn weighs(self) -> bool {
        self.registration().is_some_and(|known| known.weighs)
    }

    /// Whether it groups unknowns, and does not choose among them.
    pub fn aggregates(self) -> bool {
        match self {
            Self::Own(own) => own.groups(),
            known => known.registration().is_some_and(|known| known.groups),
        }
    }

    /// Chooses or groups the unknowns of a level.
    pub(in crate::multigrid) fn coarsen(self, graph: &Graph<'_>) -> Result<CoarseUnknowns> {
        match (self, self.registration()) {
            (Self::Own(own), _) => {
                let found = own.coarsen(graph)?;
                found.check(own.name(), graph.a.size().rows)?;
                Ok(found)
            }
            (_, Some(known)) => (known.coarsen)(graph),
            (_, None) => (AUTO.coarsen)(graph),
        }
    }
}
