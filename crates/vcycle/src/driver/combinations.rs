//! What the rules choose for a case, with its parameters.

use super::rules::{Case, LAST, RULES, Rule, Use, named};
use crate::configuration::{
    Config, MatchingKind, PreconditionerConfig, Preprocessing, Reorder, SolverConfig, Sort,
};
use crate::multigrid::Amg;
use crate::registration::{Need, Ranks};

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
        return RULES[0].choose(case).into_iter().collect();
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
        self.what() == other.what()
    }

    fn what(&self) -> (&SolverConfig, &PreconditionerConfig, Preprocessing) {
        (&self.solver, &self.preconditioner, self.preprocessing)
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
        let is_direct = self.solver == "direct";
        let (preset, preconditioner) = match self.preconditioner {
            Use::MatchedIlut if case.found.ranks => return None,
            Use::MatchedIlut => (None, named("ilut:fill=5,threshold=1e-4")),
            Use::Preset(name) => (Some(name), of_preset(case.config, name)),
            // The default multigrid is that of the preset where modes are known: it decides by them.
            Use::Amg => (
                case.has_rigid_bodies().then_some("mechanics"),
                multigrid(case),
            ),
            Use::Named(name) => (None, of_rows(name, case)),
        };
        Some(Chosen {
            solver: named(self.solver),
            preconditioner,
            preprocessing: match is_direct {
                true => Preprocessing::default(),
                false => case
                    .config
                    .preprocessing(self.preconditioner.preprocessing()),
            },
            because: self.because,
            preset,
        })
    }
}

impl Use {
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

/// A preconditioner by its name. Over ranks, what knows the rows of one rank alone is that of the rows of each.
fn of_rows(name: &str, case: &Case<'_>) -> PreconditionerConfig {
    let inner: PreconditionerConfig = named(name);
    match case.found.ranks && inner.registration().support.ranks == Ranks::Own {
        true => named(&format!("schwarz:{name}")),
        false => inner,
    }
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
