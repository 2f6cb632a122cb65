//! What one solve took, ours or a peer's.

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// vcycle as it chooses by itself.
pub(super) const OURS: &str = "vcycle";
/// What all solve to, relative to the right-hand side.
pub(super) const TOLERANCE: f64 = 1e-8;

/// One solve: also what `vcycle solve --json` and the programs of the peers print.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Seconds until the matrix is in memory, which do not count.
    #[serde(default, rename = "read_seconds", alias = "read")]
    pub(crate) read: f64,
    /// Seconds until the first iteration can begin; 0 where only the total was kept.
    #[serde(default, rename = "setup_seconds", alias = "setup")]
    pub(crate) setup: f64,
    /// Seconds of the iterations.
    #[serde(rename = "solve_seconds", alias = "solve", alias = "total_seconds")]
    pub(crate) solve: f64,
    #[serde(default)]
    pub(crate) iterations: usize,
    /// True relative residual in double precision, computed from the solution; a file without residuals has converged solves.
    #[serde(default = "converged", rename = "relative_residual")]
    pub(crate) residual: f64,
    /// Entries of all levels over those of the finest, where it is known.
    #[serde(default, rename = "operator_complexity", alias = "complexity")]
    pub(crate) complexity: Option<f64>,
    /// Messages of an iteration, on the process that sends most; 0 where they are not counted.
    #[serde(skip)]
    pub(crate) messages: f64,
}

fn converged() -> f64 {
    TOLERANCE
}

impl Measurement {
    /// Reads the last line a program printed; libraries may print lines before.
    pub(crate) fn parse(printed: &str) -> Result<Self> {
        let line = printed.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| format!("{error} in `{line}`").into())
    }

    pub(crate) fn total(&self) -> f64 {
        self.setup + self.solve
    }

    /// Recurrences may miss the true residual a little.
    pub(crate) fn converged(&self) -> bool {
        self.residual <= 1.05 * TOLERANCE
    }

    pub(crate) fn note(&self) -> &'static str {
        match self.converged() {
            true => "",
            false => "not converged",
        }
    }
}

/// A measurement, or the reason why there is none.
pub(super) type Attempt = std::result::Result<Measurement, String>;

/// The better of two rounds: one that succeeded, and of two such the one with the smaller total, whole.
pub(super) fn fastest(old: Option<Attempt>, new: Attempt) -> Attempt {
    match (old, new) {
        (Some(Ok(old)), Ok(new)) if old.converged() == new.converged() => {
            Ok(if new.total() < old.total() { new } else { old })
        }
        (Some(Ok(old)), new) if old.converged() || new.is_err() => Ok(old),
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_answer_and_anything_else_is_quoted() {
        let printed = "a warning\n{\"setup\": 1.5, \"solve\": 2e0, \"iterations\": 9}\n";
        let measured = Measurement::parse(printed).unwrap();
        assert_eq!((measured.total(), measured.iterations), (3.5, 9));
        for printed in ["", "killed", "{\"setup\": 1}", "{\"setup\": nan}"] {
            let error = Measurement::parse(printed).unwrap_err().to_string();
            assert!(error.ends_with(&format!("`{printed}`")), "{error}");
        }
    }

    #[test]
    fn of_two_rounds_the_better_counts_as_a_whole() {
        let taking = |setup, solve, residual| {
            let iterations = 1;
            Ok(Measurement {
                setup,
                solve,
                iterations,
                residual,
                ..Measurement::default()
            })
        };
        let failed: Attempt = Err("failed".to_owned());
        assert_eq!(fastest(None, failed.clone()), failed);
        let (one, other) = (taking(2.0, 1.0, 1e-9), taking(1.0, 1.5, 1e-9));
        for wrong in [taking(0.1, 0.1, 1.0), taking(0.1, 0.1, f64::NAN)] {
            let cases = [
                (&failed, &one, &one),
                (&other, &failed, &other),
                (&other, &wrong, &other),
                (&wrong, &other, &other),
                (&one, &other, &other),
            ];
            for (old, new, expected) in cases {
                assert_eq!(&fastest(Some(old.clone()), new.clone()), expected);
            }
        }
    }
}
