//! What an attempt has reached, or why it has failed.

use super::auto::Attempt;
use super::chain::{is_better, rank};
use crate::configuration::Config;
use crate::error::Error;
use crate::multigrid::Report;
use crate::stop::{Outcome, Status};
use crate::vector::Vector;

/// A relative residual from which the next attempt starts, in place of the first guess.
const WORTH_GOING_ON: f64 = 0.1;

/// What an attempt has reached.
pub(super) struct Tried<T> {
    pub place: usize,
    pub is_direct: bool,
    pub x: Vector<T>,
    pub outcome: Outcome,
    pub bytes: usize,
    pub multigrid: Option<Report>,
    /// Every `auto` decided.
    pub config: Config,
}

impl<T> Tried<T> {
    pub fn is_better(&self, other: &Self) -> bool {
        is_better(&self.outcome, self.is_direct, &other.outcome)
    }

    /// Whether the next attempt starts from it. A factorisation that is to be more accurate starts anew: it would
    /// find nothing to do.
    pub fn is_worth_going_on(&self) -> bool {
        rank(&self.outcome) == 2 && self.outcome.relative_residual < WORTH_GOING_ON
    }
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

/// How an attempt ended that is not the last, in a sentence.
pub(super) fn ending(attempt: &Attempt, outcome: &Outcome) -> String {
    let (count, residual) = (outcome.iterations, outcome.relative_residual);
    let doubt = match rank(outcome) < 2 {
        true => format!(
            ", but the condition number is at least {:.0e}: rows may be wrong that the residual does not show",
            outcome.condition
        ),
        false => String::new(),
    };
    format!(
        "{}: {} after {count} iterations, residual {residual:.1e}{doubt}",
        attempt.name(),
        outcome.status
    )
}
