//! The parameters of structured multigrid.

use super::{CoarseStencil, Grid, IslandCorrections, StencilSmoother};
use crate::error::ConfigError;
pub(super) use crate::host_stages::STENCILS as ON_HOST;
use crate::multigrid::{Cycle, LevelPrecisions, LevelScaling, covers};
use crate::precision::{Precision, Unit};
use crate::prelude::*;
use crate::registration::{
    Component, Memory, MemoryOf, Need, Ranks, Registration, Support, Symmetry, parameters,
    preconditioner,
};

parameters! {
    computed
    /// Multigrid for matrices that are stencils on a box of cells: matrices stored in half precision,
    /// computed in single, inside a solver in double precision, unless said otherwise.
    ///
    /// All levels are made in double precision: cells are halved along the axes they are strongly coupled
    /// along, interpolation follows the matrix, products are formed in stencil form. Then every level is
    /// scaled where its numbers leave the range of half precision, and rounded (set-up-then-scale, Zong et
    /// al. 2024). Cycles are those of all multigrid, with Gauss-Seidel in eight colours.
    ///
    /// **Choose it** wherever it can be: no index is stored, and memory is what a solve waits for.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, gallery, solver::{Cg, Solver}, structured::StructMg,
    ///              vector::Vector};
    /// let cpu = Executor::cpu();
    /// let problem = gallery::build("poisson27:16", &cpu)?;
    /// let solver = Solver::new(Cg::default(), Arc::new(problem.matrix))?
    ///     .preconditioned_by(&StructMg::default())?;
    /// let b = Vector::from_column(&cpu, problem.rhs);
    /// let mut x = Vector::zeros_like(&b)?;
    /// assert!(solver.solve(&b, &mut x)?.iterations < 12);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct StructMg {
        /// Of vectors and matrices, level by level, `sp/hp` say; chosen from the matrix unless given. Never wider than
        /// the solver's own.
        pub precision: Option<LevelPrecisions> = None,
        /// What keeps levels in the range of half precision.
        pub scaling: LevelScaling = LevelScaling::default(),
        /// Matrices from this level on are stored in the precision of vectors; unless given, from the
        /// first level where too many numbers are too small.
        pub shift_level: Option<usize> = None,
        /// What smooths.
        pub smoother: StencilSmoother = StencilSmoother::default(),
        /// Sweeps before the correction.
        pub pre_sweeps: usize = 2,
        /// Sweeps after the correction.
        pub post_sweeps: usize = 2,
        /// Levels that have other options.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub levels: Vec<GridLevelOptions> = Vec::new(),
        /// How often a level visits the next one.
        pub cycle: Cycle = Cycle::default(),
        /// Axes along which cells are coupled less than this part of the strongest are not halved.
        pub semicoarsening: f64 = 0.5,
        /// Corrections of what is constant on islands of a coefficient that jumps, of a symmetric matrix.
        pub islands: IslandCorrections = IslandCorrections::default(),
        /// Which neighbours the cells of coarse grids have.
        pub coarse_stencil: CoarseStencil = CoarseStencil::default(),
        /// Up to this many cells a level is solved by a dense factorisation.
        pub coarsest_cells: usize = 200,
        /// Over ranks: the first level of at most this many cells, and all below it, are those of one rank. Ranks with a device
        /// gather levels of 20 times as many. Where they use the same device, one of them does everything, unless this is 0.
        pub gather_cells: usize = 4096,
        /// Cells along x, y and z; found out from the matrix unless given.
        pub grid: Option<Grid> = None,
    }
}

impl StructMg {
    /// What holds for a level of so many rows, where the precision is chosen.
    pub(super) fn on_level(&self, level: usize, rows: usize) -> Result<OnLevel> {
        let chosen = self.precision.as_ref().map(|all| all.at(level));
        let mut on = OnLevel {
            precision: chosen.unwrap_or_default(),
            smoother: self.smoother,
            sweeps: [self.pre_sweeps, self.post_sweeps],
        };
        let levels = self.levels.iter();
        for one in levels.filter(|one| covers((one.from, one.to, one.below_rows), level, rows)) {
            let precision = one.precision.as_ref();
            on.precision = precision.map_or(on.precision, |all| all.at(level - one.from));
            on.smoother = one.smoother.unwrap_or(on.smoother);
            on.sweeps[0] = one.pre_sweeps.unwrap_or(on.sweeps[0]);
            on.sweeps[1] = one.post_sweeps.unwrap_or(on.sweeps[1]);
        }
        match on.precision.working {
            Unit::Double | Unit::Single => Ok(on),
            _ => Err(ConfigError::BadValue {
                place: "struct-mg".to_owned(),
                key: "precision".to_owned(),
                value: on.precision.to_string(),
                reason: format!(
                    "vectors are in `dp` or `sp`, on level {level} too; matrices may be narrower, \
                     as in `sp/hp`"
                ),
            }
            .into()),
        }
    }

    /// The same with nothing wider than `widest`.
    pub(super) fn capped(mut self, widest: Unit) -> Self {
        let levels = self.levels.iter_mut().map(|one| &mut one.precision);
        for precision in levels.chain([&mut self.precision]).flatten() {
            *precision = precision.capped(widest);
        }
        self
    }

    /// Whether the vectors of some level may be in single precision.
    pub(super) fn has_single_vectors(&self) -> bool {
        let levels = self.levels.iter().map(|one| &one.precision);
        let mut all = levels.chain([&self.precision]).flatten();
        all.any(|precision| precision.listed().any(|one| one.working != Unit::Double))
    }

    /// Whether a device has kernels for all of the set-up.
    pub(super) fn sets_up_on(&self, executor: &Executor) -> bool {
        let on_levels = self.levels.iter().filter_map(|one| one.smoother);
        let mut smoothers = on_levels.chain([self.smoother]);
        executor.is_device()
            && self.scaling != LevelScaling::ScaleThenSetup
            && self.coarse_stencil == CoarseStencil::Galerkin
            && smoothers.all(|smoother| smoother == StencilSmoother::GaussSeidel)
    }
}

impl Component for StructMg {
    const REGISTRATION: Registration = Registration {
        name: "struct-mg",
        summary: "Multigrid on structured grids, in half precision.",
        after_colon: &["precision"],
        needs: &[Need::Entries, Need::Grid],
        support: Support {
            complex: false,
            ranks: Ranks::Shared,
            transposed: false,
            ..Support::own_rows(&[ON_HOST])
        },
        symmetry: Symmetry::Symmetric,
        memory: Memory::per(0, 0),
    };

    fn symmetry(&self) -> Symmetry {
        let sweeps = |one: &GridLevelOptions| {
            one.pre_sweeps.unwrap_or(self.pre_sweeps) == one.post_sweeps.unwrap_or(self.post_sweeps)
        };
        let mirrored = self.pre_sweeps == self.post_sweeps && self.levels.iter().all(sweeps);
        match self.cycle.symmetry() {
            Symmetry::Symmetric if !mirrored => Symmetry::OneSided,
            of_cycle => of_cycle,
        }
    }

    fn memory(&self, of: MemoryOf) -> Memory {
        let memory = match of.on_device {
            false => Memory::per(11, 30),
            true => Memory::per(13, 55),
        };
        Memory {
            made_on_host: true,
            replaces_matrix: true,
            ..memory
        }
    }
}

preconditioner!(StructMg);

/// Other options for some of the levels of structured multigrid, chosen by their number or size: the keys of
/// [`multigrid::LevelOptions`](crate::multigrid::LevelOptions) that make sense on a grid.
///
/// What is not given stays as it is on the other levels. Where several are for the same level, the later ones change
/// what the earlier ones say.
///
/// ```
/// use vcycle::config::{Config, PreconditionerConfig};
/// let config = Config::from_toml(r#"
///     [preconditioner]
///     name = "struct-mg"
///     precision = "sp/hp"
///     [[preconditioner.levels]]
///     from = 1
///     precision = "sp"
///     smoother = "ilu0"
///     pre-sweeps = 1
/// "#)?;
/// let PreconditionerConfig::StructMg(parameters) = config.preconditioner else { panic!("it is named") };
/// assert_eq!(parameters.levels[0].pre_sweeps, Some(1));
/// # Ok::<(), vcycle::config::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct GridLevelOptions {
    /// The first level it is for; 0 is the finest.
    pub from: usize,
    /// The last level it is for; all below unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
    /// It is for levels of fewer rows than this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_rows: Option<usize>,
    /// What smooths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoother: Option<StencilSmoother>,
    /// Sweeps before the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_sweeps: Option<usize>,
    /// Sweeps after the correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_sweeps: Option<usize>,
    /// Of vectors and matrix; a list counts from level `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<LevelPrecisions>,
}

/// What holds for one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnLevel {
    pub(super) precision: Precision,
    pub(super) smoother: StencilSmoother,
    /// Before and after the correction.
    pub(super) sweeps: [usize; 2],
}
