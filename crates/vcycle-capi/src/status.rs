//! How solves end.

use std::ffi::c_char;

use vcycle::stop::Status;

/// Status: the true residual is below the tolerance.
pub const VCYCLE_CONVERGED: i32 = 0;
/// Status: the iterations allowed were used up.
pub const VCYCLE_ITERATION_LIMIT: i32 = 1;
/// Status: the time allowed was used up.
pub const VCYCLE_TIME_LIMIT: i32 = 2;
/// Status: the callback stopped the solve.
pub const VCYCLE_INTERRUPTED: i32 = 3;
/// Status: the residual consists of rounding errors and the tolerance is smaller; no method gets further in this precision.
pub const VCYCLE_ACCURACY_LIMIT: i32 = 4;
/// Status: the residual no longer falls.
pub const VCYCLE_STAGNATED: i32 = 5;
/// Status: the residual grew beyond bounds.
pub const VCYCLE_DIVERGED: i32 = 6;
/// Status: an infinity or NaN appeared.
pub const VCYCLE_NON_FINITE: i32 = 7;
/// Status: the method needs a positive definite matrix or preconditioner, and one of them is not.
pub const VCYCLE_INDEFINITE: i32 = 8;
/// Status: the method divided by zero.
pub const VCYCLE_BREAKDOWN: i32 = 9;

/// Status: no x solves the system, as a component of b is outside the range of the matrix; x is a least-squares solution.
pub const VCYCLE_INCONSISTENT: i32 = 10;

/// Names by number, for C.
const NAMES: [&str; 11] = [
    "converged\0",
    "iteration-limit\0",
    "time-limit\0",
    "interrupted\0",
    "accuracy-limit\0",
    "stagnated\0",
    "diverged\0",
    "non-finite\0",
    "indefinite\0",
    "breakdown\0",
    "inconsistent\0",
];

/// The number of a status; those that later versions of the library know end as stagnated.
pub(crate) fn number(status: Status) -> i32 {
    let found = NAMES
        .iter()
        .position(|name| name.trim_end_matches('\0') == status.name());
    found.map_or(VCYCLE_STAGNATED, |place| place as i32)
}

/// The name of a status: "converged", "iteration-limit" and so on; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn vcycle_status_name(status: i32) -> *const c_char {
    let place = usize::try_from(status).unwrap_or(usize::MAX);
    NAMES.get(place).unwrap_or(&"unknown\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use vcycle::stop::Part;

    use super::*;

    #[test]
    fn every_status_has_its_own_number() {
        let all = [
            (Status::Converged, VCYCLE_CONVERGED),
            (Status::IterationLimit, VCYCLE_ITERATION_LIMIT),
            (Status::TimeLimit, VCYCLE_TIME_LIMIT),
            (Status::Interrupted, VCYCLE_INTERRUPTED),
            (Status::AccuracyLimit, VCYCLE_ACCURACY_LIMIT),
            (Status::Stagnated, VCYCLE_STAGNATED),
            (Status::Diverged, VCYCLE_DIVERGED),
            (Status::NonFinite, VCYCLE_NON_FINITE),
            (Status::Indefinite(Part::Operator), VCYCLE_INDEFINITE),
            (Status::Breakdown, VCYCLE_BREAKDOWN),
            (Status::Inconsistent, VCYCLE_INCONSISTENT),
        ];
        for (status, expected) in all {
            assert_eq!(number(status), expected, "{status}");
        }
    }
}
