//! The parameters of algebraic multigrid.

use super::coarsen::Coarsening;
use super::coarsest::Coarsest;
use super::cycle::Cycle;
use super::format::LevelFormat;
use super::interpolate::{Bamg, Interpolation, Truncation};
use super::level_options::LevelOptions;
use super::near_nullspace::NearNullspace;
use super::precision::LevelPrecisions;
use super::restriction::Restriction;
use super::scaling::LevelScaling;
use super::smooth::{Smoother, Smoothing};
use super::strength::{Classical, Mutual, Strength, Symmetric};
use super::systems::Systems;
use super::test_space::TestSpaceSearch;
use crate::host_stages;
use crate::matrix::Facts;
use crate::precision::Unit;
use crate::prelude::*;
use crate::registration::{
    Component, Memory, MemoryOf, Need, Ranks, Registration, Support, Symmetry, parameters,
    preconditioner,
};

/// The weakest of strong couplings, and the steps of FSAI with the entries of each, where the near-nullspace has to
/// be found: nearly all couplings count, and few unknowns are coarse.
const SEARCHED_THRESHOLD: f64 = 0.01;
const SEARCHED_FSAI: [usize; 2] = [4, 5];

parameters! { computed
    /// Algebraic multigrid: every stage, by name and parameters.
    ///
    /// By default the matrix decides. A symmetric one gets smoothed aggregation (Vaněk, Mandel and
    /// Brezina 1996) with Chebyshev polynomials of degree two as smoothers. Any other gets PMIS
    /// coarsening (De Sterck, Yang and Heys 2006), extended+i interpolation with at most four entries
    /// a row (De Sterck, Falgout, Nolting and Yang 2008) and l1-Jacobi. One sweep before and one after,
    /// V-cycles; the cycle is computed in single precision, whatever the solver around it has.
    ///
    /// **Choose it** for matrices of elliptic problems: the number of iterations hardly grows with
    /// the size. With conjugate gradients the cycle has to be symmetric: as many sweeps after as
    /// before, and no K-cycle.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, gallery, multigrid::Amg, solver::{Cg, Solver}, vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = Arc::new(gallery::build("poisson5:64", &cpu)?.matrix);
    /// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&Amg::default())?;
    /// let b = Vector::filled(&cpu, 64 * 64, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// let outcome = solver.solve(&b, &mut x)?;
    /// assert!(outcome.converged() && outcome.iterations <= 16);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct Amg {
        /// Which couplings matter.
        pub strength: Strength = Strength::default(),
        /// Which unknowns the next level has.
        pub coarsening: Coarsening = Coarsening::default(),
        /// Members of a group of the coarsenings `pgm`, 2, 4 or 8, and `uniform`.
        pub aggregate_size: usize = 8,
        /// Whether the coarsening `pgm` pairs unknowns with couplings far weaker than their strongest, too, as the papers
        /// do. Otherwise what finds no strong partner joins a group.
        pub weak_pairs: bool = false,
        /// How the prolongation is made.
        pub interpolation: Interpolation = Interpolation::default(),
        /// How many entries a row of the prolongation keeps.
        pub truncation: Truncation = Truncation::default(),
        /// How test vectors are interpolated by `bamg`, `sbamg` and `fbamg`.
        pub bamg: Bamg = Bamg::default(),
        /// Steps that [minimise the energy](super::interpolate::energy_minimised) of the prolongation
        /// that interpolates test vectors or is made of groups.
        pub energy_steps: usize = 0,
        /// The share of the absolute sum of a row that coarse matrices keep at least, what they do to
        /// the near-nullspace staying the same; 1 for all of it. Less costs them their symmetry.
        pub coarse_filter: f64 = 1.0,
        /// How several unknowns a node are treated.
        pub systems: Systems = Systems::default(),
        /// Unknowns of a node, neighbours in the numbering: row `block_size * node + component`.
        pub block_size: usize = 1,
        /// How the near-nullspace is found or improved; none to take it as given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub test_space: Option<TestSpaceSearch> = None,
        /// What smooths.
        pub smoother: Smoother = Smoother::default(),
        /// What smooths after the coarse correction; `auto` for the same as before it.
        pub post_smoother: Smoother = Smoother::default(),
        /// Sweeps before the coarse correction.
        pub pre_sweeps: usize = 1,
        /// Sweeps after the coarse correction.
        pub post_sweeps: usize = 1,
        /// Levels that have other options.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub levels: Vec<LevelOptions> = Vec::new(),
        /// How often a level visits the next one.
        pub cycle: Cycle = Cycle::default(),
        /// Whether a solve starts from one pass of [full multigrid](super::Hierarchy::full_multigrid) and not
        /// from zero; for `config::solve`, with any cycle and solver.
        pub fmg_start: bool = false,
        /// Of vectors and matrices, level by level; never wider than the solver's own.
        pub precision: LevelPrecisions = LevelPrecisions::default(),
        /// What keeps narrow precisions within their range.
        pub scaling: LevelScaling = LevelScaling::default(),
        /// How a device stores the matrices of levels: `auto`, `csr`, or in tiles, `mbsr`, in which it forms
        /// Galerkin products, too.
        pub format: LevelFormat = LevelFormat::default(),
        /// What residuals are brought to the next level with.
        pub restriction: Restriction = Restriction::default(),
        /// The restriction is multiplied by this. Less than one, a half for
        /// groups of two, keeps the entries of coarse matrices from growing; corrections stay the same.
        pub restriction_scaling: f64 = 1.0,
        /// What solves the coarsest level.
        pub coarsest: Coarsest = Coarsest::default(),
        /// Sweeps on the coarsest level, where the smoother is what solves it.
        pub coarsest_sweeps: usize = 2,
        /// At most this many levels.
        pub max_levels: usize = 25,
        /// A matrix of at most this many rows is not coarsened.
        pub coarsest_rows: usize = 200,
        /// Levels of fewer rows than this are set up by the host where cycles run on a device: there is
        /// too little to do for it.
        pub host_rows: usize = 512,
        /// Levels of at most this many rows are gathered on one rank where several share a matrix: their messages would
        /// take longer than their work. Ranks with a device gather levels of 20 times as many. Where they use the same device, one
        /// of them does everything, unless this is 0.
        pub gather_rows: usize = 2000,
        /// Of the random numbers that coarsenings break ties with.
        pub seed: u64 = 1,
    }
}

/// What `auto` goes by.
pub(super) struct Known {
    /// Whether the matrix is symmetric with a positive diagonal.
    pub definite: bool,
    /// Whether it is on a device or shared by ranks: groups are made by rounds there.
    pub in_rounds: bool,
    /// Whether its coefficients jump; asked on devices alone.
    pub jumps: bool,
}

impl Amg {
    /// The same with every `auto` decided for a matrix; the facts are asked for only if needed.
    #[must_use]
    pub fn decided(&self, facts: impl FnOnce() -> Facts) -> Self {
        let known = |facts: Facts| Known {
            definite: facts.hermitian && facts.positive_diagonal(),
            in_rounds: facts.on_device,
            jumps: facts.jumps,
        };
        let decided = self.decided_by(|| Ok(known(facts())));
        decided.expect("facts are there")
    }

    pub(super) fn decided_by(&self, known: impl FnOnce() -> Result<Known>) -> Result<Self> {
        let mut amg = self.clone();
        if self.coarsening == Coarsening::Auto || self.smoother == Smoother::Auto {
            amg.decide(&known()?);
        }
        if self.systems == Systems::Auto && self.interpolation.fits_vectors() {
            amg.systems = Systems::Scalar;
        }
        if self.strength == Strength::Auto {
            amg.strength = strength_for(amg.coarsening);
            for level in amg.levels.iter_mut() {
                if level.coarsening != Coarsening::Auto && level.strength == Strength::Auto {
                    level.strength = strength_for(level.coarsening);
                }
            }
        }
        Ok(amg)
    }

    /// The same where the near-nullspace still has to be found: what is open becomes what serves
    /// vectors that fit no nodes, matrices that single precision may not hold, and whatever left too
    /// little for simpler smoothers. Where enough vectors are given, nothing changes.
    #[must_use]
    pub(super) fn searching(&self, near_nullspace: &NearNullspace) -> Self {
        let mut amg = self.clone();
        let search = self.test_space.as_ref();
        let open = self.coarsening == Coarsening::Auto && self.interpolation == Interpolation::Auto;
        if !open || !search.is_some_and(|search| search.is_needed(near_nullspace)) {
            return amg;
        }
        amg.coarsening = Coarsening::Pmis;
        amg.interpolation = Interpolation::Bamg;
        if self.strength == Strength::Auto {
            let threshold = SEARCHED_THRESHOLD;
            amg.strength = Strength::Symmetric(Symmetric {
                threshold,
                ..Symmetric::default()
            });
        }
        if self.smoother == Smoother::Auto {
            amg.smoother = Smoother::fsai(SEARCHED_FSAI[0], SEARCHED_FSAI[1]);
        }
        if self.precision == LevelPrecisions::default() {
            amg.precision = LevelPrecisions::uniform(Unit::Double);
        }
        amg
    }

    pub(super) fn strength_at(&self, level: usize) -> Strength {
        match self.strength.at_level(level) {
            Strength::Auto => strength_for(self.coarsening),
            known => known,
        }
    }

    /// Groups by MIS-2 lose more to jumps than the greedy ones of the host: `jump7:128,1e6` takes 16.3 + 13.0 ms with them on an
    /// H200, with PMIS 24.5 + 8.5, and twice on the finest level 19.9 + 8.2 (set-up and solve). Over ranks, which coarsen no level
    /// twice, the set-up of PMIS takes more than its iterations save.
    fn decide(&mut self, known: &Known) {
        let &Known {
            definite,
            in_rounds,
            jumps,
        } = known;
        if self.coarsening == Coarsening::Auto {
            let grouped = matches!(
                self.interpolation,
                Interpolation::Auto | Interpolation::Tentative | Interpolation::Smoothed
            );
            self.coarsening = match definite && grouped {
                true if jumps && self.interpolation == Interpolation::Auto => {
                    Coarsening::PmisAggressive
                }
                true if in_rounds => Coarsening::Mis2,
                true => Coarsening::Greedy,
                false => Coarsening::Pmis,
            };
        }
        if self.smoother == Smoother::Auto {
            let far = self.coarsening.aggregates() || self.coarsening == Coarsening::PmisAggressive;
            self.smoother = match definite && far {
                true => Smoother::Chebyshev { degree: 2 },
                false => Smoother::l1_jacobi(),
            };
        }
    }

    /// The same with another smoother, perhaps one of the caller's [own](Smoother::own).
    #[must_use]
    pub fn with_smoother(mut self, smoother: impl Into<Smoother>) -> Self {
        self.smoother = smoother.into();
        self
    }

    /// The same with another coarsening, perhaps one of the caller's [own](Coarsening::own).
    #[must_use]
    pub fn with_coarsening(mut self, coarsening: impl Into<Coarsening>) -> Self {
        self.coarsening = coarsening.into();
        self
    }

    /// The same with another interpolation, perhaps one of the caller's [own](Interpolation::own).
    #[must_use]
    pub fn with_interpolation(mut self, interpolation: impl Into<Interpolation>) -> Self {
        self.interpolation = interpolation.into();
        self
    }

    /// The same with another coarsest solver, perhaps one of the caller's [own](Coarsest::own).
    #[must_use]
    pub fn with_coarsest(mut self, coarsest: impl Into<Coarsest>) -> Self {
        self.coarsest = coarsest.into();
        self
    }

    /// Whether a sweep of any level is not symmetric where the matrix is.
    pub(super) fn has_one_way_sweeps(&self) -> bool {
        self.smoothers().any(|smoother| smoother.is_one_sided())
    }

    /// Whether a cycle is another operator for every vector.
    pub(super) fn varies(&self) -> bool {
        let mut coarsest = self.levels.iter().map(|one| one.coarsest);
        let varies = |symmetry| symmetry == Symmetry::Varying;
        varies(self.cycle.symmetry())
            || varies(self.coarsest.symmetry())
            || coarsest.any(|coarsest| varies(coarsest.symmetry()))
            || self.smoothers().any(|smoother| varies(smoother.symmetry()))
    }

    /// Whether the same sweeps are made before and after the correction, on levels with options of their own, too.
    fn is_mirrored(&self) -> bool {
        let of_levels = self.levels.iter().map(|one| (one.from, 0));
        let mut levels = of_levels.chain([(0, usize::MAX)]);
        levels.all(|(level, rows)| {
            let Smoothing { pre, post, sweeps } = self.smoothing(level, rows);
            pre == post && sweeps[0] == sweeps[1]
        })
    }

    fn smoothers(&self) -> impl Iterator<Item = Smoother> + '_ {
        let of_levels = self
            .levels
            .iter()
            .flat_map(|one| [one.smoother, one.post_smoother]);
        of_levels.chain([self.smoother, self.post_smoother])
    }
}

fn strength_for(coarsening: Coarsening) -> Strength {
    match coarsening.aggregates() {
        true => Strength::Mutual(Mutual::default()),
        false => Strength::Classical(Classical::default()),
    }
}

impl Component for Amg {
    const REGISTRATION: Registration = Registration {
        name: "amg",
        summary: "Algebraic multigrid.",
        after_colon: &["coarsening", "interpolation", "smoother", "cycle"],
        needs: &[Need::Entries],
        support: Support {
            ranks: Ranks::Shared,
            transposed: false,
            ..Support::own_rows(host_stages::MULTIGRID)
        },
        symmetry: Symmetry::Symmetric,
        memory: Memory::per(0, 0),
    };

    fn symmetry(&self) -> Symmetry {
        match self.coarse_filter < 1.0 || !self.is_mirrored() {
            _ if self.varies() => Symmetry::Varying,
            true => Symmetry::OneSided,
            false => self.cycle.symmetry(),
        }
    }

    fn memory(&self, of: MemoryOf) -> Memory {
        let aggregates = match self.coarsening {
            Coarsening::Auto => of.symmetric,
            given => given.aggregates(),
        };
        let of_nodes = of.nodes && (of.on_device || aggregates);
        let memory = match (of.on_device, of_nodes, aggregates) {
            (false, true, _) => Memory::per(34, 112),
            (false, false, true) => Memory::per(8, 112),
            (false, false, false) => Memory::per(2, 340),
            (true, true, _) => Memory::per(14, 395),
            (true, false, true) => Memory::per(4, 250),
            (true, false, false) if of.symmetric => Memory::per(8, 480),
            (true, false, false) => Memory::per(11, 780),
        };
        Memory {
            made_on_host: of.nodes,
            ..memory
        }
    }
}

preconditioner!(Amg);
