//! One combination of solver, preconditioner and preprocessing, with the reason for it.

use std::sync::Arc;

use super::facts::Findings;
use crate::configuration::{
    Config, ConfigError, MatchingKind, PreconditionerConfig, Preprocessing, SolverConfig, Sort,
    Unit,
};
use crate::linop::Factory;
use crate::multigrid::LevelPrecisions;
use crate::registration::{Need, Symmetry};
use crate::scalar::Mixes;

/// One combination to try.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The iteration.
    pub solver: SolverConfig,
    /// Its preconditioner.
    pub preconditioner: PreconditionerConfig,
    /// What is done to the matrix before the preconditioner is made.
    pub preprocessing: Preprocessing,
    /// The preset that the parameters of the preconditioner are from, if they are.
    pub preset: Option<&'static str>,
    /// Why, for a message; empty where the user chose both.
    pub reason: String,
    /// Seconds that it is predicted to take on two threads, where that was compared with others.
    pub seconds: Option<f64>,
    /// Iterations after which it is given up for a factorisation that is predicted to take as long.
    pub(super) most_iterations: Option<usize>,
}

impl Attempt {
    /// Fails where the preconditioner varies and the solver takes it for a fixed operator.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_preprocessing()?;
        let varies = self.preconditioner.symmetry() == Symmetry::Varying;
        if !varies || !self.solver.has_need(Need::FixedPreconditioner) {
            return Ok(());
        }
        Err(ConfigError::Conflict(format!(
            "solver `{}` needs a preconditioner that does not vary, and `{}` is an iteration; use fcg, \
             fgmres or gcr",
            self.solver.name(),
            self.preconditioner.name()
        )))
    }

    /// Fails where there is nothing that a changed matrix would be for, or something that needs it as it is.
    fn check_preprocessing(&self) -> Result<(), ConfigError> {
        if self.preprocessing.is_none() {
            return Ok(());
        }
        let why = match self.preconditioner.sort() {
            Sort::None if self.is_direct() => "`direct` orders and pivots by itself",
            Sort::None => "there is no preconditioner to make of the matrix",
            Sort::StructMg(_) => "`struct-mg` needs the order of the grid",
            Sort::Iterations => "a solver needs the matrix as it is",
            Sort::Auto | Sort::Amg(_) | Sort::OfEntries => return Ok(()),
        };
        Err(ConfigError::Conflict(format!(
            "equilibrate, match and reorder ({}) are for preconditioners: {why}",
            self.preprocessing
        )))
    }

    /// The same with large entries moved to the diagonal; none where they are already, or may not be.
    pub(super) fn matched(&self) -> Option<Self> {
        let mut matched = self.clone();
        matched.preprocessing.matching = MatchingKind::Mc64;
        matched.reason = format!("{} again, after matching", self.name());
        let is_symmetric = self.solver.has_need(Need::SymmetricPreconditioner)
            || self.preconditioner.has_need(Need::DefiniteMatrix);
        let may_help = self.preprocessing.keeps_symmetry() && !is_symmetric;
        (may_help && matched.check().is_ok()).then_some(matched)
    }

    /// The same with cycles of multigrid in double precision.
    pub(super) fn in_double(&self) -> Self {
        let mut doubled = self.clone();
        if let PreconditionerConfig::Amg(amg) = &mut doubled.preconditioner {
            amg.precision = LevelPrecisions::uniform(Unit::Double);
        }
        doubled.reason = format!("{} again, in double precision", self.name());
        doubled
    }

    /// Whether it is a factorisation.
    pub(super) fn is_direct(&self) -> bool {
        matches!(self.solver, SolverConfig::Direct(_))
    }

    /// Makes it the choice of a configuration.
    pub(super) fn configure(&self, config: &mut Config) {
        config.solver = self.solver.clone();
        config.preconditioner = self.preconditioner.clone();
        config.equilibrate = Some(self.preprocessing.equilibrate);
        config.matching = Some(self.preprocessing.matching);
        config.reorder = Some(self.preprocessing.reorder);
    }

    /// How much of a factorisation it is: nothing, incomplete with much fill, or complete.
    pub(super) fn strength(&self) -> u8 {
        match self.is_direct() {
            true => 2,
            false => u8::from(matches!(self.preconditioner, PreconditionerConfig::Ilut(_))),
        }
    }

    /// With the reason, where a rule or the kind of the matrix has chosen.
    pub(super) fn explained(
        mut self,
        found: &Findings,
        because: &str,
        preset: Option<&'static str>,
    ) -> Self {
        self.preset = preset;
        let facts = &found.facts;
        let symmetry = match (facts.hermitian, facts.complex, facts.symmetric) {
            (true, true, _) => "Hermitian",
            (true, false, _) => "symmetric",
            (false, true, true) => "complex symmetric",
            _ => "not symmetric",
        };
        let diagonal = if facts.positive_diagonal() {
            "positive diagonal"
        } else if !facts.full_diagonal() {
            "zeros on the diagonal"
        } else {
            "negative entries on the diagonal"
        };
        let with = match self.preconditioner.sort() {
            Sort::None => String::new(),
            Sort::Amg(amg) => format!(
                " with amg: {} coarsening, {} smoother, cycles in {}",
                amg.coarsening, amg.smoother, amg.precision
            ),
            Sort::Auto | Sort::StructMg(_) | Sort::Iterations | Sort::OfEntries => {
                format!(" with {}", self.preconditioner.name())
            }
        };
        let with = with + &after(self.preprocessing);
        let preset = self.of_preset();
        let because = match because {
            "" => String::new(),
            because => format!(", {because}"),
        };
        let shared = if found.ranks { " over ranks" } else { "" };
        self.reason = format!(
            "auto: {} rows{shared}, {symmetry}, {diagonal}{because} → {}{with}{preset}",
            facts.rows,
            self.solver.name()
        );
        self
    }

    /// What is chosen, without the reason.
    pub(super) fn what(&self) -> (&SolverConfig, &PreconditionerConfig, Preprocessing) {
        (&self.solver, &self.preconditioner, self.preprocessing)
    }

    /// Its solver and preconditioner, in words.
    pub(super) fn name(&self) -> String {
        match self.preconditioner.name() {
            "none" => self.solver.name().to_owned(),
            preconditioner => format!(
                "{} with {preconditioner}{}{}",
                self.solver.name(),
                after(self.preprocessing),
                self.of_preset()
            ),
        }
    }

    /// The preset in words that follow the name.
    fn of_preset(&self) -> String {
        let preset = self.preset.iter();
        preset.map(|name| format!(" (preset {name})")).collect()
    }

    /// Why it is made, as the first of some tries or a later one; empty where the user chose both.
    pub(super) fn announcement(&self, count: usize) -> String {
        match count {
            1 => self.reason.clone(),
            _ => self.reason.replacen("auto:", &format!("try {count}:"), 1),
        }
    }

    /// What makes the preconditioner; for the direct solver that is the factorisation.
    pub(super) fn preconditioner_factory<T: Mixes<T, T>>(
        &self,
    ) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        match (self.solver.factorisation()?, self.preconditioner.name()) {
            (None, _) => self.preconditioner.factory(),
            (Some(factors), "none") => Ok(Some(factors)),
            (Some(_), other) => Err(ConfigError::Conflict(format!(
                "solver `direct` takes no preconditioner, but `{other}` is given"
            ))),
        }
    }
}

/// What comes before a preconditioner, in words that follow its name.
fn after(preprocessing: Preprocessing) -> String {
    match preprocessing.is_none() {
        true => String::new(),
        false => format!(" after {preprocessing}"),
    }
}
