//! The rules of the automatic choice: one table, the best combination first.
//!
//! Every rule says when it holds, what it chooses and why. The comment above it is the measurement it rests on:
//! two threads, fresh processes, set-up and solve together, from `vcycle solve PROBLEM` with the options named.

use std::str::FromStr;

use Use::{Amg, MatchedIlut, Named, Preset};

use super::attempt::Attempt;
use super::case::{Case, DOUBTFUL, MEDIUM, SMALL};
use super::costs::arrange;
use crate::configuration::{
    Config, ConfigError, MatchingKind, PreconditionerConfig, Preprocessing, Reorder, SolverConfig,
    Sort,
};
use crate::registration::{Need, Ranks};

/// FGMRES where a cycle of its preconditioner takes less time than orthogonalising against fifty vectors.
pub(super) const SHORT_FGMRES: &str = "fgmres:20";

/// One line of the table: when it holds, a solver and a preconditioner, and why.
struct Rule {
    when: fn(&Case<'_>) -> bool,
    solver: &'static str,
    preconditioner: Use,
    because: &'static str,
}

/// The preconditioner of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Named(&'static str),
    /// Where incomplete factors on the pattern of the matrix are too weak: large entries on the diagonal, an order of little
    /// fill, and factors of five times the entries.
    MatchedIlut,
    /// Multigrid as the facts of the matrix decide it.
    Amg,
    Preset(&'static str),
}

/// A component by its name and parameters.
pub(super) fn named<C: FromStr<Err = ConfigError>>(name: &str) -> C {
    name.parse().expect("the table names what there is")
}

macro_rules! rules {
    ($table:ident, $case:ident: $($when:expr => $solver:literal + $preconditioner:expr, $because:literal;)*) => {
        const $table: &[Rule] = &[$(Rule {
            when: |$case| $when,
            solver: $solver,
            preconditioner: $preconditioner,
            because: $because,
        }),*];
    };
}

rules! { RULES, case:
    // poisson5:20 5 ms, poisson7:12 16 ms; of 54 matrices of the collection the 21 so small take 0.1 s at most.
    case.can_factorise(SMALL) => "direct" + Named("none"), "small system";
    // Residuals tell little of such matrices: D A D with 10,000 rows and a diagonal D of 1e-2.5 to 1e2.5 ends with a residual of
    // 1e-8 and rows that are wrong by 1e-4 of their terms, factorised by 2e-16. elasticity:30x10x10 takes 0.6 s, with amg 0.4.
    case.can_factorise(DOUBTFUL) && case.looks_ill_conditioned() =>
        "direct" + Named("none"), "perhaps ill-conditioned, and small enough to be factorised";
    // Trefethen_20000 0.04 s, with amg 0.2: nearly all eigenvalues of D^-1 A are between 0.2 and 1.8 (Gershgorin), which
    // takes some thirty iterations. So are those of mass matrices and of short time steps.
    case.is_strongly_dominant() && case.is_definite() =>
        "cg" + Named("jacobi"), "strongly diagonally dominant rows";
    case.is_strongly_dominant() && case.is_general() =>
        "gmres" + Named("jacobi"), "strongly diagonally dominant rows";
    // poisson7:128 0.48 s, cg with amg 2.9; poisson27:40 0.10 and 0.24; aniso5:300,0.001 0.06 and 0.18;
    // jump7:40,1e6 0.09 and 0.15; elasticity:20x10x10 0.05 and 0.10; solid-3D:20 0.15 and 0.39; rhd-3T:24 0.19 and 0.15.
    case.has_stencil() && case.is_definite() => "cg" + Named("struct-mg"), "a stencil on a grid";
    // convdiff7:40,10 0.08 s, gmres with amg 0.32; oil:40 0.17 and 0.37; weather:40 0.12 and 0.13; oil-4C:24 0.23 and 0.19.
    // Twenty vectors: a cycle takes less time than making one of fifty orthogonal.
    case.has_stencil() && case.is_general() => "fgmres:20" + Named("struct-mg"), "a stencil on a grid";
    // elasticity:24x10x10 17 iterations with all motions of a rigid body, 36 with the unknowns of a node, 92 with neither.
    case.has_rigid_bodies() && case.is_real_definite() => "cg" + Amg, "rigid-body modes are known";
    // poisson7:128 1.6 + 1.4 s, hypre 6.1 + 2.5, AMGCL 2.3 + 4.2.
    case.is_definite() => "cg" + Amg, "multigrid takes time in proportion to the size";
    // xenon1 of the collection, 48,600 rows.
    case.is_definite() && case.is_expensive_to_factorise() =>
        "cg" + Named("ic0"), "incomplete factors take less time than complete ones";
    case.is_definite() && case.can_factorise(MEDIUM) =>
        "direct" + Named("none"), "small enough for complete factors";
    // What multigrid fails on without knowing more; bcsstk24 and bcsstk26 of the collection.
    case.has_nodes() && case.is_real_definite() =>
        "cg" + Preset("mechanics"), "several unknowns per node";
    case.known.is_none() && case.is_dominant() && case.is_real_definite() =>
        "cg" + Preset("flow"), "diagonally dominant rows";
    !case.has_nodes() && case.is_real_definite() =>
        "cg" + Preset("bamg-fsai"), "a test space finds the near-nullspace";
    case.is_definite() => "cg" + Named("ic0"), "needs a positive definite matrix only";
    case.is_definite() => "cg" + Named("ssor"), "cannot fail with a positive diagonal";
    case.is_definite() => "cg" + Named("jacobi"), "cannot fail with a positive diagonal";
    case.facts().hermitian => "minres" + Named("l1-jacobi"), "perhaps indefinite";
    // c-62 of the collection, 41,731 rows: 1.9 s, factorised 11.9.
    !case.is_definite() && case.facts().hermitian && case.is_expensive_to_factorise() =>
        "bicgstab" + Named("ilu0"), "incomplete factors take less time than complete ones";
    // pyamg_helmholtz_2D of the collection.
    !case.is_definite() && case.facts().hermitian && case.can_factorise(MEDIUM) =>
        "direct" + Named("none"), "small enough for complete factors";
    case.facts().hermitian => "minres" + Named("none"), "perhaps indefinite";
    // convdiff7:40,10 19 iterations, with gmres 24: cycles are rounded to single precision and so no fixed operator.
    case.is_dominant() && case.has_full_diagonal() => "fgmres" + Amg, "diagonally dominant rows";
    // Over ranks incomplete factors are those of each rank's rows.
    case.found.ranks && case.is_general() => "fgmres" + Amg, "rows shared by ranks";
    // With --solver gmres: west0479 41 iterations, e05r0500 9, cavity14 94. Without matching none of them has factors; with
    // ilu0 of the matched matrix 77, and more than 2000 for the other two.
    !case.facts().hermitian && !case.has_full_diagonal() =>
        "gmres" + MatchedIlut, "matching removes zeros from the diagonal";
    // oil-4C:24 0.19 s, with amg 0.21; weather:40 0.13 and 0.26.
    case.has_full_diagonal() => "gmres" + Named("ilu0"), "a full diagonal";
    // xenon1 of the collection, 48,600 rows: factorised in 3.0 s.
    !case.facts().hermitian && case.is_expensive_to_factorise() =>
        "bicgstab" + Named("ilu0"), "incomplete factors take less time than complete ones";
    !case.facts().hermitian && case.can_factorise(MEDIUM) =>
        "direct" + Named("none"), "small enough for complete factors";
    // With --solver gmres: xenon1 39 iterations, young1c 31, with ilu0 none after 2000 and 365.
    !case.is_definite() => "gmres" + MatchedIlut, "incomplete factors with fill";
    case.has_full_diagonal() => "gmres" + Named("jacobi"), "a full diagonal";
    case.is_any() => "gmres" + Named("none"), "applies to any matrix";
    case.has_full_diagonal() => "bicgstab" + Named("ilu0"), "no restarts";
    case.is_any() => "bicgstab" + Named("none"), "applies to any matrix";
}

// For solvers that no rule names for the matrix.
rules! { LAST, case:
    case.has_full_diagonal() => "chebyshev" + Named("jacobi"), "a full diagonal";
    case.is_any() => "chebyshev" + Named("none"), "applies to any matrix";
}

/// The combinations of a case, the best first; for a solver that was given, with the preconditioners of its family.
pub(super) fn combinations(case: &Case<'_>, given: Option<&SolverConfig>) -> Vec<Attempt> {
    let family = given.map(Family::of);
    if family == Some(Family::Direct) {
        return RULES[0].choose(case, given).into_iter().collect();
    }
    let mut all: Vec<Attempt> = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.when)(case)) {
        let is_of_family = |family| Family::of(&named(rule.solver)) == family;
        let fits = family.is_none_or(is_of_family);
        let chosen = rule.choose(case, given).filter(|_| fits);
        let is_new = |chosen: &Attempt| !all.iter().any(|other| other.what() == chosen.what());
        let may_be = |chosen: &Attempt| bears_preprocessing(chosen, case) && is_new(chosen);
        all.extend(chosen.filter(may_be));
    }
    if all.is_empty() && given.is_some() {
        let rules = LAST.iter().filter(|rule| (rule.when)(case));
        all.extend(rules.filter_map(|rule| rule.choose(case, given)));
    }
    if given.is_none() {
        include_factorisation(&mut all, case);
    }
    all
}

/// Puts a factorisation where it belongs by what it takes, if that is known.
pub(super) fn include_factorisation(attempts: &mut Vec<Attempt>, case: &Case<'_>) {
    let Some(factorisation) = &case.found.factorisation else {
        return;
    };
    let direct = FACTORISED.choose_because(case, None, &factorisation.to_string());
    if let Some(direct) = direct.filter(|direct| bears_preprocessing(direct, case)) {
        arrange(attempts, case, direct);
    }
}

/// Where the order and fill of factors are known.
const FACTORISED: Rule = Rule {
    when: |_| true,
    solver: "direct",
    preconditioner: Named("none"),
    because: "",
};

/// Whether solver and preconditioner allow the preprocessing that the user asks for.
fn bears_preprocessing(chosen: &Attempt, case: &Case<'_>) -> bool {
    let asked = case.config.preprocessing(Preprocessing::default());
    let takes_it = !chosen.is_direct()
        && !matches!(chosen.preconditioner.sort(), Sort::None | Sort::StructMg(_));
    let needs_symmetry = chosen.solver.has_need(Need::SymmetricPreconditioner);
    (asked.is_none() || takes_it) && (asked.keeps_symmetry() || !needs_symmetry)
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

impl Rule {
    /// What it chooses, for a solver that was given or its own; nothing where that is not for rows that ranks share.
    fn choose(&self, case: &Case<'_>, given: Option<&SolverConfig>) -> Option<Attempt> {
        self.choose_because(case, given, self.because)
    }

    fn choose_because(
        &self,
        case: &Case<'_>,
        given: Option<&SolverConfig>,
        because: &str,
    ) -> Option<Attempt> {
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
        let own = self.preconditioner.preprocessing();
        let attempt = Attempt {
            solver: given.cloned().unwrap_or_else(|| named(self.solver)),
            preconditioner,
            preprocessing: match self.solver {
                "direct" => Preprocessing::default(),
                _ => case.config.preprocessing(own),
            },
            preset: None,
            reason: String::new(),
            seconds: None,
            most_iterations: None,
        };
        Some(attempt.explained(case.found, because, preset))
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
    let mut amg = crate::multigrid::Amg::default();
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
