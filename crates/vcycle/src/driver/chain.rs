//! Which attempt follows one that did not succeed.

use std::cmp::Ordering;

use super::attempt::Attempt;
use crate::configuration::{SolverConfig, Sort};
use crate::error::Error;
use crate::stop::{Outcome, Part, Status, Stop};

/// Iterations after which multigrid that has not converged is given up, if there is a choice.
const MULTIGRID_TRIAL: usize = 200;
/// Refinements after which a factorisation is given up: those of a regular matrix need two or three.
const REFINEMENTS: usize = 20;
/// Iterations after which anything else is given up if a factorisation, or one with much fill, can be tried.
const TRIAL: usize = 1000;
/// The same for methods whose residuals go up and down and foretell nothing. c-62 of the collection converges in
/// 1,062, a sixth of the time that its factors take.
const ERRATIC_TRIAL: usize = 2000;

/// So many times a trial is looked at: whether it has a chance to end in time.
const LOOKS: usize = 4;
/// From this condition number on a residual tells little: rows may be wrong that it does not show.
pub(super) const ILL_CONDITIONED: f64 = 1e7;
/// Up to this many rows an ill-conditioned matrix is factorised as well, for an answer that is accurate in every row.
pub(super) const FACTORISED_FOR_ACCURACY: usize = 20_000;

/// A relative residual from which the next attempt starts, in place of the first guess.
const WORTH_GOING_ON: f64 = 0.1;

/// All attempts, the best first, for a matrix of so many rows.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub attempts: Vec<Attempt>,
    rows: usize,
}

impl Chain {
    pub fn new(attempts: Vec<Attempt>, rows: usize) -> Self {
        Self { attempts, rows }
    }

    /// When an attempt ends, if it is not to be longer than `stop` says.
    pub fn stop(&self, place: usize, stop: &Stop) -> Stop {
        let mut stop = stop.clone();
        let most = self.attempts[place].most_iterations.unwrap_or(usize::MAX);
        if let Some(trial) = self.trial(place).map(|trial| trial.min(most)) {
            stop.iterations = stop.iterations.min(trial);
            stop.forecast = (!self.is_erratic(place)).then_some(trial / LOOKS);
        }
        stop
    }

    /// How many iterations an attempt has before the next one is tried instead.
    fn trial(&self, place: usize) -> Option<usize> {
        let (tried, later) = (&self.attempts[place], self.attempts.get(place + 1..)?);
        if tried.is_direct() {
            return Some(REFINEMENTS);
        }
        let is_multigrid = matches!(
            tried.preconditioner.sort(),
            Sort::Amg(_) | Sort::StructMg(_)
        );
        if is_multigrid && !later.is_empty() {
            return Some(MULTIGRID_TRIAL);
        }
        let is_stronger = |next: &Attempt| next.strength() > tried.strength();
        later
            .iter()
            .any(is_stronger)
            .then(|| match self.is_erratic(place) {
                true => ERRATIC_TRIAL,
                false => TRIAL,
            })
    }

    fn is_erratic(&self, place: usize) -> bool {
        matches!(self.attempts[place].solver, SolverConfig::Bicgstab(_))
    }

    /// The attempt to go on with after one that ended so; `None` if that was the end.
    pub fn next(&self, place: usize, outcome: &Outcome) -> Option<usize> {
        let tried = &self.attempts[place];
        let mut later = place + 1..self.attempts.len();
        let another_solver = match outcome.status {
            Status::Converged | Status::AccuracyLimit => {
                let is_doubtful = outcome.condition > ILL_CONDITIONED
                    && self.rows <= FACTORISED_FOR_ACCURACY
                    && !tried.is_direct();
                return later.find(|&next| is_doubtful && self.attempts[next].is_direct());
            }
            Status::TimeLimit | Status::Interrupted => return None,
            Status::IterationLimit if self.trial(place).is_none() => return None,
            Status::Indefinite(Part::Operator) => true,
            Status::Indefinite(Part::Preconditioner) => false,
            Status::IterationLimit
            | Status::Inconsistent
            | Status::Stagnated
            | Status::Diverged
            | Status::NonFinite
            | Status::Breakdown
            | _ => self.trial(place).is_none(),
        };
        later.find(|&next| !another_solver || self.attempts[next].solver != tried.solver)
    }
}

/// Converged is best, then the limit of accuracy, then the smallest residual.
fn rank(outcome: &Outcome) -> u8 {
    let best = [Status::Converged, Status::AccuracyLimit];
    let place = best.iter().position(|status| *status == outcome.status);
    place.map_or(2, |place| place as u8)
}

/// Whether an answer, that of a factorisation perhaps, is better than another one.
pub(super) fn is_better(mine: &Outcome, is_direct: bool, others: &Outcome) -> bool {
    if is_direct && rank(mine) < 2 && others.condition > ILL_CONDITIONED {
        return true;
    }
    match rank(mine).cmp(&rank(others)) {
        Ordering::Less => true,
        Ordering::Greater => false,
        // NaN is larger than any number.
        Ordering::Equal => {
            let (mine, others) = (mine.relative_residual.abs(), others.relative_residual.abs());
            mine.total_cmp(&others) == Ordering::Less
        }
    }
}

/// Whether the next attempt starts from what one has found. A factorisation that is to be more accurate starts anew: it
/// would find nothing to do.
pub(super) fn is_worth_going_on(outcome: &Outcome) -> bool {
    rank(outcome) == 2 && outcome.relative_residual < WORTH_GOING_ON
}

/// Whether a set-up has failed for what the matrix is, not for want of memory or of a rank: another one may succeed.
pub(super) fn is_of_matrix(error: &Error) -> bool {
    matches!(
        error,
        Error::BadPivot { .. }
            | Error::InvalidStructure { .. }
            | Error::LevelOverflow { .. }
            | Error::NotAStencil { .. }
            | Error::NotHermitian { .. }
            | Error::Singular { .. }
            | Error::Unsupported { .. }
            | Error::ZeroDiagonal { .. }
    )
}

/// Whether a solve ended as it was to, or could do no better: other levels would not help.
pub(super) fn has_ended_well(status: Status) -> bool {
    matches!(
        status,
        Status::Converged | Status::AccuracyLimit | Status::TimeLimit | Status::Interrupted
    )
}

/// Whether a set-up that failed so may succeed in a wider precision.
pub(super) fn wants_digits(error: &Error) -> bool {
    matches!(
        error,
        Error::BadPivot { .. } | Error::LostPivot { .. } | Error::LevelOverflow { .. }
    )
}

/// Whether a set-up failed for want of an entry on the diagonal, or of a pivot.
pub(super) fn wants_matching(error: &Error) -> bool {
    matches!(error, Error::ZeroDiagonal { .. } | Error::BadPivot { .. })
}

/// The failure to report: where matching does not help the first one, whose rows are those of the matrix.
pub(super) fn worth_reporting(before: Option<Error>, error: Error) -> Error {
    match before {
        Some(first) if wants_matching(&first) && wants_matching(&error) => first,
        _ => error,
    }
}

/// Whether an attempt was given up before the iterations that the caller allows.
pub(super) fn is_given_up(outcome: &Outcome, stop: &Stop) -> bool {
    outcome.status == Status::IterationLimit && outcome.iterations < stop.iterations
}

/// The outcome of an attempt that was given up is not that of the limit of the caller.
pub(super) fn set_given_up(outcome: &mut Outcome) {
    for column in &mut outcome.columns {
        if column.status == Status::IterationLimit {
            column.status = Status::Stagnated;
        }
    }
    outcome.summarise();
}

/// How an attempt ended that is not the last, in a sentence.
pub(super) fn ending(attempt: &Attempt, outcome: &Outcome, stop: &Stop) -> String {
    let (count, residual) = (outcome.iterations, outcome.relative_residual);
    let doubt = match rank(outcome) < 2 {
        true => format!(
            ", but the condition number is at least {:.0e}: rows may be wrong that the residual does not show",
            outcome.condition
        ),
        false => String::new(),
    };
    let status = match is_given_up(outcome, stop) {
        true => "too slow, given up",
        false => outcome.status.name(),
    };
    format!(
        "{}: {status} after {count} iterations, residual {residual:.1e}{doubt}",
        attempt.name()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{assert_has, config};
    use super::*;
    use crate::config::attempts;
    use crate::executor::Executor;
    use crate::matrix::Csr;
    use crate::stop::ColumnOutcome;

    /// The outcome of so many iterations that end at a limit.
    fn limited(iterations: usize) -> Outcome {
        let column = ColumnOutcome {
            status: Status::IterationLimit,
            iterations,
            relative_residual: 0.5,
            recurrence_residual: 0.5,
            backward_error: 0.5,
            condition: 1.0,
            outside_range: 0.0,
        };
        Outcome::from_columns(vec![column], vec![1.0, 0.5], Duration::ZERO)
    }

    #[test]
    fn what_is_given_up_has_not_reached_the_limit_of_the_caller() {
        let facts = || {
            let mut facts = Csr::diagonal_matrix(&Executor::reference(), vec![1.0]).facts();
            (facts.rows, facts.strongly_dominant_rows) = (100_000, 0.0);
            facts
        };
        let tries = attempts(&config(""), None, facts);
        let stop = Stop::default().max_iterations(50);
        let mut outcome = limited(50);
        let ended = |outcome: &Outcome, attempt| ending(attempt, outcome, &stop);
        assert_has(
            ended(&outcome, &tries[0]),
            "cg with amg: iteration-limit after 50 iterations",
        );
        outcome.columns[0].iterations = 20;
        outcome.summarise();
        let message = ended(&outcome, &tries[1]);
        assert_has(
            message,
            "cg with amg (preset flow): too slow, given up after 20 iterations, residual 5.0e-1",
        );
        set_given_up(&mut outcome);
        assert_eq!(outcome.status, Status::Stagnated);
        assert_has(tries[1].announcement(2), "try 2: 100000 rows");
    }
}
