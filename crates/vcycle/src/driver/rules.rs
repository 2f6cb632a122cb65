//! The rules of the automatic choice: one table, the best combination first.
//!
//! Every rule says when it holds, what it chooses and why. The comment above it is the measurement it rests on:
//! two threads, fresh processes, set-up and solve together, from `vcycle solve PROBLEM` with the options named.

use super::auto::Findings;
use crate::configuration::{
    Config, MatchingKind, NoParameters, PreconditionerConfig, Preprocessing, SolverConfig,
};
use crate::matrix::Facts;
use crate::multigrid::{Amg, NearNullspace};
use crate::registration::Need;

/// This part of the rows has to be diagonally dominant for multigrid without symmetry.
const DOMINANT: f64 = 0.9;
/// This part of the rows has to be strongly dominant for its diagonal to be preconditioner enough.
const NEARLY_ALL: f64 = 0.99;
/// Up to this many rows a factorisation is quicker than thinking about it.
const SMALL: usize = 2_000;
/// Up to this many rows a matrix that looks ill-conditioned is factorised.
const DOUBTFUL: usize = 10_000;
/// Entries so many times others make a matrix look ill-conditioned.
const RANGE: f64 = 1e6;
/// Up to this many rows a factorisation is worth its memory when the first choice has failed.
const MEDIUM: usize = 50_000;

/// What a rule looks at.
pub(super) struct Case<'c> {
    pub config: &'c Config,
    pub known: Option<&'c NearNullspace>,
    pub found: &'c Findings,
}

/// One line of the table.
struct Rule {
    when: fn(&Case<'_>) -> bool,
    solver: &'static str,
    /// The name of a preconditioner, or `preset` and that of a preset. Before it may stand what is done to the matrix:
    /// `mc64+rcm ilu0`.
    preconditioner: &'static str,
    because: &'static str,
}

/// A combination that a rule chose.
pub(super) struct Chosen {
    pub solver: SolverConfig,
    pub preconditioner: PreconditionerConfig,
    pub preprocessing: Preprocessing,
    pub because: &'static str,
    pub preset: Option<&'static str>,
}

/// What is left where incomplete factors on the pattern of the matrix are too weak: large entries on the diagonal, an order of
/// little fill, and factors of five times the entries. Without the direct solver there is no `amd`.
#[cfg(feature = "direct")]
const STRONG: &str = "mc64+amd ilut:5,1e-4";
#[cfg(not(feature = "direct"))]
const STRONG: &str = "mc64+nd ilut:5,1e-4";

const RULES: &[Rule] = &[
    // poisson5:20 5 ms, poisson7:12 16 ms; of 54 matrices of the collection the 21 so small take 0.1 s at most.
    Rule {
        when: |case| case.can_factorise(SMALL),
        solver: "direct",
        preconditioner: "none",
        because: "so few rows are factorised at once",
    },
    // Residuals tell little of such matrices: D A D with 10,000 rows and a diagonal D of 1e-2.5 to 1e2.5 ends with a residual of
    // 1e-8 and rows that are wrong by 1e-4 of their terms, factorised by 2e-16. elasticity:30x10x10 takes 0.6 s, with amg 0.4.
    Rule {
        when: |case| case.can_factorise(DOUBTFUL) && case.looks_ill_conditioned(),
        solver: "direct",
        preconditioner: "none",
        because: "perhaps ill-conditioned, and few enough rows to be factorised",
    },
    // Trefethen_20000 0.04 s, with amg 0.2: nearly all eigenvalues of D^-1 A are between 0.2 and 1.8 (Gershgorin), which
    // takes some thirty iterations. So are those of mass matrices and of short time steps.
    Rule {
        when: |case| case.is_strongly_dominant() && case.is_definite(),
        solver: "cg",
        preconditioner: "jacobi",
        because: "rows that their diagonal dominates strongly",
    },
    Rule {
        when: |case| case.is_strongly_dominant() && case.is_general(),
        solver: "gmres",
        preconditioner: "jacobi",
        because: "rows that their diagonal dominates strongly",
    },
    // poisson7:128 0.48 s, cg with amg 2.9; poisson27:40 0.10 and 0.24; aniso5:300,0.001 0.06 and 0.18;
    // jump7:40,1e6 0.09 and 0.15; elasticity:20x10x10 0.05 and 0.10; solid-3D:20 0.15 and 0.39; rhd-3T:24 0.19 and 0.15.
    Rule {
        when: |case| case.has_stencil() && case.is_definite(),
        solver: "cg",
        preconditioner: "struct-mg",
        because: "a stencil on a grid",
    },
    // convdiff7:40,10 0.08 s, gmres with amg 0.32; oil:40 0.17 and 0.37; weather:40 0.12 and 0.13; oil-4C:24 0.23 and 0.19.
    // Twenty vectors: a cycle takes less time than making one of fifty orthogonal.
    Rule {
        when: |case| case.has_stencil() && case.is_general(),
        solver: "fgmres:20",
        preconditioner: "struct-mg",
        because: "a stencil on a grid, and cycles that are rounded",
    },
    // elasticity:24x10x10 17 iterations with all motions of a rigid body, 36 with the unknowns of a node, 92 with neither.
    Rule {
        when: |case| case.has_rigid_bodies() && case.is_real_definite(),
        solver: "cg",
        preconditioner: "amg",
        because: "the motions of a rigid body are known",
    },
    // poisson7:128 1.6 + 1.4 s, hypre 6.1 + 2.5, AMGCL 2.3 + 4.2.
    Rule {
        when: |case| case.is_definite(),
        solver: "cg",
        preconditioner: "amg",
        because: "multigrid takes time in proportion to the size",
    },
    // xenon1 of the collection, 48,600 rows.
    Rule {
        when: |case| case.is_definite() && case.is_dear_to_factorise(),
        solver: "cg",
        preconditioner: "ic0",
        because: "a full diagonal, and many rows to be factorised",
    },
    Rule {
        when: |case| case.is_definite() && case.can_factorise(MEDIUM),
        solver: "direct",
        preconditioner: "none",
        because: "few enough rows to be factorised",
    },
    // What multigrid fails on without knowing more; bcsstk24 and bcsstk26 of the collection.
    Rule {
        when: |case| case.has_nodes() && case.is_real_definite(),
        solver: "cg",
        preconditioner: "preset mechanics",
        because: "several unknowns a node",
    },
    Rule {
        when: |case| case.known.is_none() && case.is_dominant() && case.is_real_definite(),
        solver: "cg",
        preconditioner: "preset flow",
        because: "rows are diagonally dominant",
    },
    Rule {
        when: |case| !case.has_nodes() && case.is_real_definite(),
        solver: "cg",
        preconditioner: "preset bamg-fsai",
        because: "a test space finds what the matrix nearly annihilates",
    },
    Rule {
        when: |case| case.is_definite(),
        solver: "cg",
        preconditioner: "ic0",
        because: "needs nothing but a positive definite matrix",
    },
    Rule {
        when: |case| case.is_definite(),
        solver: "cg",
        preconditioner: "ssor",
        because: "cannot fail where the diagonal is positive",
    },
    Rule {
        when: |case| case.is_definite(),
        solver: "cg",
        preconditioner: "jacobi",
        because: "cannot fail where the diagonal is positive",
    },
    Rule {
        when: |case| case.facts().hermitian,
        solver: "minres",
        preconditioner: "l1-jacobi",
        because: "eigenvalues of both signs",
    },
    // c-62 of the collection, 41,731 rows: 1.9 s, factorised 11.9.
    Rule {
        when: |case| !case.is_definite() && case.facts().hermitian && case.is_dear_to_factorise(),
        solver: "bicgstab",
        preconditioner: "ilu0",
        because: "a full diagonal, and many rows to be factorised",
    },
    // pyamg_helmholtz_2D of the collection.
    Rule {
        when: |case| !case.is_definite() && case.facts().hermitian && case.can_factorise(MEDIUM),
        solver: "direct",
        preconditioner: "none",
        because: "few enough rows to be factorised",
    },
    Rule {
        when: |case| case.facts().hermitian,
        solver: "minres",
        preconditioner: "none",
        because: "eigenvalues of both signs",
    },
    // convdiff7:40,10 19 iterations, with gmres 24: cycles are rounded to single precision and so no fixed operator.
    Rule {
        when: |case| case.is_dominant() && case.has_full_diagonal(),
        solver: "fgmres",
        preconditioner: "amg",
        because: "rows are diagonally dominant",
    },
    // With --solver gmres: west0479 41 iterations, e05r0500 9, cavity14 94. Without matching none of them has factors; with
    // ilu0 of the matched matrix 77, and more than 2000 for the other two.
    Rule {
        when: |case| !case.facts().hermitian && !case.has_full_diagonal(),
        solver: "gmres",
        preconditioner: STRONG,
        because: "zeros on the diagonal, which matching removes",
    },
    // oil-4C:24 0.19 s, with amg 0.21; weather:40 0.13 and 0.26.
    Rule {
        when: |case| case.has_full_diagonal(),
        solver: "gmres",
        preconditioner: "ilu0",
        because: "a full diagonal",
    },
    // xenon1 of the collection, 48,600 rows: factorised in 3.0 s.
    Rule {
        when: |case| !case.facts().hermitian && case.is_dear_to_factorise(),
        solver: "bicgstab",
        preconditioner: "ilu0",
        because: "a full diagonal, and many rows to be factorised",
    },
    Rule {
        when: |case| !case.facts().hermitian && case.can_factorise(MEDIUM),
        solver: "direct",
        preconditioner: "none",
        because: "few enough rows to be factorised",
    },
    // With --solver gmres: xenon1 39 iterations, young1c 31, with ilu0 none after 2000 and 365.
    Rule {
        when: |case| !case.is_definite(),
        solver: "gmres",
        preconditioner: STRONG,
        because: "where incomplete factors without fill are too weak",
    },
    Rule {
        when: |case| case.has_full_diagonal(),
        solver: "gmres",
        preconditioner: "jacobi",
        because: "a full diagonal",
    },
    Rule {
        when: |_| true,
        solver: "gmres",
        preconditioner: "none",
        because: "needs nothing",
    },
    Rule {
        when: |case| case.has_full_diagonal(),
        solver: "bicgstab",
        preconditioner: "ilu0",
        because: "never forgets what it has seen",
    },
    Rule {
        when: |_| true,
        solver: "bicgstab",
        preconditioner: "none",
        because: "needs nothing",
    },
];

impl Case<'_> {
    fn facts(&self) -> &Facts {
        &self.found.facts
    }

    fn can_factorise(&self, rows: usize) -> bool {
        cfg!(feature = "direct") && self.facts().rows <= rows
    }

    /// Whether an incomplete factorisation is worth a try before the matrix is factorised.
    fn is_dear_to_factorise(&self) -> bool {
        self.can_factorise(MEDIUM) && self.facts().rows > DOUBTFUL && self.has_full_diagonal()
    }

    /// Whether structured multigrid is to be had: in double precision, for a matrix that is regular.
    fn has_stencil(&self) -> bool {
        let config = self.config;
        let in_double = config
            .precision
            .is_none_or(|precision| precision.is_double());
        let found = self.found;
        found.stencil && !found.singular && in_double
    }

    /// Whether the matrix may be positive definite.
    fn is_definite(&self) -> bool {
        self.facts().hermitian && self.facts().positive_diagonal()
    }

    fn is_real_definite(&self) -> bool {
        self.is_definite() && !self.facts().complex
    }

    fn is_general(&self) -> bool {
        !self.facts().hermitian && self.has_full_diagonal()
    }

    /// Whether no preconditioner divides by zero.
    fn has_full_diagonal(&self) -> bool {
        let asked = self.config.matching.unwrap_or_default();
        self.facts().full_diagonal() || asked != MatchingKind::None
    }

    fn is_dominant(&self) -> bool {
        let facts = self.facts();
        facts.symmetric_pattern && facts.dominant_rows >= DOMINANT
    }

    /// Whether entries are of very different size, or rows are not dominated by their diagonal, as those of plates, shells and
    /// high order; of elasticity that is known to be harmless.
    fn looks_ill_conditioned(&self) -> bool {
        let facts = self.facts();
        facts.dominant_rows < DOMINANT && !self.has_rigid_bodies()
            || facts.largest > RANGE * facts.smallest
    }

    /// Whether that holds but for a few rows, which cost a few iterations more.
    fn is_strongly_dominant(&self) -> bool {
        self.facts().strongly_dominant_rows >= NEARLY_ALL
    }

    fn has_rigid_bodies(&self) -> bool {
        self.known.is_some_and(NearNullspace::has_rigid_bodies)
    }

    /// Whether several unknowns a node are all that is known.
    fn has_nodes(&self) -> bool {
        self.known.is_some_and(|known| known.block_size() > 1) && !self.has_rigid_bodies()
    }
}

/// The combinations of a case, the best first.
pub(super) fn combinations(case: &Case<'_>) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.when)(case)) {
        let chosen = rule.choose(case);
        if chosen.bears_preprocessing(case) && !all.iter().any(|other| other.is_same(&chosen)) {
            all.push(chosen);
        }
    }
    all
}

/// The preconditioners of a case for a solver that was given, the best first.
pub(super) fn preconditioners(case: &Case<'_>, solver: &SolverConfig) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    let kind = kind_of(solver);
    if kind == "direct" {
        return vec![RULES[0].choose(case)];
    }
    for mut chosen in combinations(case) {
        let fits = kind_of(&chosen.solver) == kind;
        let is_known = |other: &Chosen| {
            other.preconditioner == chosen.preconditioner
                && other.preprocessing == chosen.preprocessing
        };
        if fits && !all.iter().any(is_known) {
            chosen.solver = solver.clone();
            all.push(chosen);
        }
    }
    if all.is_empty() {
        let rules = LAST.iter().filter(|rule| (rule.when)(case));
        all.extend(rules.map(|rule| Chosen {
            solver: solver.clone(),
            ..rule.choose(case)
        }));
    }
    all
}

/// For solvers that no rule names for the matrix.
const LAST: &[Rule] = &[
    Rule {
        when: |case| case.has_full_diagonal(),
        solver: "chebyshev",
        preconditioner: "jacobi",
        because: "a full diagonal",
    },
    Rule {
        when: |_| true,
        solver: "chebyshev",
        preconditioner: "none",
        because: "needs nothing",
    },
];

/// What solvers have in common that bear the same preconditioners.
fn kind_of(solver: &SolverConfig) -> &'static str {
    match solver.name() {
        name @ ("direct" | "minres" | "chebyshev") => name,
        _ if solver.has_need(Need::SymmetricPreconditioner) => "short recurrence",
        "fcg" => "short recurrence",
        _ => "general",
    }
}

impl Chosen {
    fn is_same(&self, other: &Self) -> bool {
        self.solver == other.solver
            && self.preconditioner == other.preconditioner
            && self.preprocessing == other.preprocessing
    }

    /// Whether solver and preconditioner bear what is done to the matrix, where the user asks for it.
    fn bears_preprocessing(&self, case: &Case<'_>) -> bool {
        let asked = case.config.preprocessing(Preprocessing::default());
        let takes_it = !matches!(self.solver.name(), "direct")
            && !matches!(self.preconditioner.name(), "none" | "struct-mg");
        let needs_symmetry = self.solver.has_need(Need::SymmetricPreconditioner);
        (asked.is_none() || takes_it) && (asked.keeps_symmetry() || !needs_symmetry)
    }
}

impl Rule {
    fn choose(&self, case: &Case<'_>) -> Chosen {
        let (preprocessing, name) = prepared(self.preconditioner);
        let preset = name.strip_prefix("preset ");
        // The default multigrid is that of the preset where modes are known: it decides by them.
        let is_mechanics = name == "amg" && case.has_rigid_bodies();
        Chosen {
            solver: self.solver.parse().expect("rules name solvers that exist"),
            preprocessing: match self.solver {
                "direct" => Preprocessing::default(),
                _ => case.config.preprocessing(preprocessing),
            },
            preconditioner: match (preset, name) {
                (Some(name), _) => of_preset(case.config, name),
                (None, "amg") => multigrid(case),
                (None, "none") => PreconditionerConfig::None(NoParameters {}),
                (None, name) => name.parse().expect("rules name preconditioners that exist"),
            },
            because: self.because,
            preset: preset.or(is_mechanics.then_some("mechanics")),
        }
    }
}

/// What is done to the matrix, and what follows it.
fn prepared(text: &'static str) -> (Preprocessing, &'static str) {
    let mut asked = Preprocessing::default();
    let Some((before, name)) = text
        .split_once(' ')
        .filter(|(before, _)| *before != "preset")
    else {
        return (asked, text);
    };
    for word in before.split('+') {
        match (word.parse(), word.parse(), word.parse()) {
            (Ok(equilibrate), _, _) => asked.equilibrate = equilibrate,
            (_, Ok(matching), _) => asked.matching = matching,
            (_, _, Ok(reorder)) => asked.reorder = reorder,
            _ => panic!("rules name preprocessing that exists, not {word}"),
        }
    }
    (asked, name)
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
