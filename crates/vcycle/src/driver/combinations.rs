//! What the rules choose for a case, with its parameters.

use super::rules::{Case, LAST, RULES, Rule, Use, direct};
use crate::configuration::{
    Config, MatchingKind, NoParameters, PreconditionerConfig, Preprocessing, Reorder, Schwarz,
    SolverConfig, Sort,
};
use crate::multigrid::Amg;
use crate::precond::Ilut;
use crate::registration::Need;

/// A combination that a rule chose.
pub(super) struct Chosen {
    pub solver: SolverConfig,
    pub preconditioner: PreconditionerConfig,
    pub preprocessing: Preprocessing,
    pub because: &'static str,
    pub preset: Option<&'static str>,
}

/// The combinations of a case, the best first.
pub(super) fn combinations(case: &Case<'_>) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    let rules = RULES.iter().filter(|rule| (rule.when)(case));
    for chosen in rules.filter_map(|rule| rule.choose(case)) {
        if chosen.bears_preprocessing(case) && !all.iter().any(|other| other.is_same(&chosen)) {
            all.push(chosen);
        }
    }
    all
}

/// The preconditioners of a case for a solver that was given, the best first.
pub(super) fn preconditioners(case: &Case<'_>, solver: &SolverConfig) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    let family = Family::of(solver);
    if family == Family::Direct {
        return vec![RULES[0].with(direct(), no_preconditioner(), case)];
    }
    for mut chosen in combinations(case) {
        let fits = Family::of(&chosen.solver) == family;
        chosen.solver = solver.clone();
        if fits && !all.iter().any(|other| other.is_same(&chosen)) {
            all.push(chosen);
        }
    }
    if all.is_empty() {
        let rules = LAST.iter().filter(|rule| (rule.when)(case));
        all.extend(rules.filter_map(|rule| rule.choose(case)));
        all.iter_mut()
            .for_each(|chosen| chosen.solver = solver.clone());
    }
    all
}

/// Solvers that can use the same preconditioners.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Direct,
    Minres,
    Chebyshev,
    ShortRecurrence,
    General,
}

impl Family {
    fn of(solver: &SolverConfig) -> Self {
        use SolverConfig as S;
        match solver {
            S::Direct(_) => Self::Direct,
            S::Minres(_) => Self::Minres,
            S::Chebyshev(_) => Self::Chebyshev,
            S::Fcg(_) => Self::ShortRecurrence,
            S::Auto(_)
            | S::Cg(_)
            | S::PipeCg(_)
            | S::Bicg(_)
            | S::Bicgstab(_)
            | S::Cgs(_)
            | S::Gmres(_)
            | S::Fgmres(_)
            | S::PipeGmres(_)
            | S::Idr(_)
            | S::Gcr(_)
            | S::BlockCg(_)
            | S::BlockGmres(_)
            | S::GcroDr(_)
            | S::Ir(_) => match solver.has_need(Need::SymmetricPreconditioner) {
                true => Self::ShortRecurrence,
                false => Self::General,
            },
        }
    }
}

impl Chosen {
    fn is_same(&self, other: &Self) -> bool {
        self.solver == other.solver
            && self.preconditioner == other.preconditioner
            && self.preprocessing == other.preprocessing
    }

    /// Whether solver and preconditioner allow the preprocessing that the user asks for.
    fn bears_preprocessing(&self, case: &Case<'_>) -> bool {
        let asked = case.config.preprocessing(Preprocessing::default());
        let takes_it = Family::of(&self.solver) != Family::Direct
            && !matches!(self.preconditioner.sort(), Sort::None | Sort::StructMg(_));
        let needs_symmetry = self.solver.has_need(Need::SymmetricPreconditioner);
        (asked.is_none() || takes_it) && (asked.keeps_symmetry() || !needs_symmetry)
    }
}

impl Rule {
    /// What it chooses; nothing where that is not for rows that ranks share.
    fn choose(&self, case: &Case<'_>) -> Option<Chosen> {
        let preconditioner = self.preconditioner.config(case)?;
        Some(self.with((self.solver)(), preconditioner, case))
    }

    fn with(
        &self,
        solver: SolverConfig,
        preconditioner: PreconditionerConfig,
        case: &Case<'_>,
    ) -> Chosen {
        let preset = match self.preconditioner {
            Use::Preset(name) => Some(name),
            // The default multigrid is that of the preset where modes are known: it decides by them.
            Use::Amg if case.has_rigid_bodies() => Some("mechanics"),
            Use::Amg | Use::StructMg | Use::MatchedIlut | Use::None | Use::Jacobi => None,
            Use::L1Jacobi | Use::Ssor | Use::Ic0 | Use::Ilu0 => None,
        };
        let preprocessing = match Family::of(&solver) == Family::Direct {
            true => Preprocessing::default(),
            false => case
                .config
                .preprocessing(self.preconditioner.preprocessing()),
        };
        Chosen {
            solver,
            preconditioner,
            preprocessing,
            because: self.because,
            preset,
        }
    }
}

impl Use {
    /// Its parameters. Over ranks sweeps and incomplete factors are those of the rows of each rank, and nothing is matched.
    fn config(self, case: &Case<'_>) -> Option<PreconditionerConfig> {
        use PreconditionerConfig as P;
        let of_each_rank = |inner: PreconditionerConfig| match case.found.ranks {
            false => inner,
            true => P::Schwarz(Schwarz {
                inner: Box::new(inner),
                ..Schwarz::default()
            }),
        };
        Some(match self {
            Self::None => no_preconditioner(),
            Self::Jacobi => P::Jacobi(Default::default()),
            Self::L1Jacobi => P::L1Jacobi(Default::default()),
            Self::Ssor => of_each_rank(P::Ssor(Default::default())),
            Self::Ic0 => of_each_rank(P::Ic0(Default::default())),
            Self::Ilu0 => of_each_rank(P::Ilu0(Default::default())),
            Self::MatchedIlut if case.found.ranks => return None,
            Self::MatchedIlut => {
                let mut ilut = Ilut::default();
                (ilut.fill, ilut.threshold) = (5.0, 1e-4);
                P::Ilut(ilut)
            }
            Self::Amg => multigrid(case),
            Self::StructMg => P::StructMg(Default::default()),
            Self::Preset(name) => of_preset(case.config, name),
        })
    }

    /// What is done to the matrix before. Without the direct solver there is no `amd`.
    fn preprocessing(self) -> Preprocessing {
        let mut asked = Preprocessing::default();
        if self == Self::MatchedIlut {
            asked.matching = MatchingKind::Mc64;
            asked.reorder = match cfg!(feature = "direct") {
                true => Reorder::Amd,
                false => Reorder::Nd,
            };
        }
        asked
    }
}

fn no_preconditioner() -> PreconditionerConfig {
    PreconditionerConfig::None(NoParameters {})
}

fn multigrid(case: &Case<'_>) -> PreconditionerConfig {
    let mut amg = Amg::default();
    let precision = case.config.precision;
    amg.precision = precision.map_or_else(Default::default, Into::into);
    PreconditionerConfig::Amg(amg.decided(|| case.facts().clone()))
}

fn of_preset(config: &Config, name: &str) -> PreconditionerConfig {
    let preset = Config::preset(name).expect("the preset can be read");
    let mut preconditioner = preset.preconditioner;
    if let (PreconditionerConfig::Amg(amg), Some(precision)) =
        (&mut preconditioner, config.precision)
    {
        amg.precision = precision.into();
    }
    preconditioner
}
