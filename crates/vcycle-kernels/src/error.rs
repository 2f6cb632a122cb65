//! Errors of the lowest layer.

/// A request that kernels and threads cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A parameter outside its range.
    #[error("{parameter}: {reason}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// What would be right.
        reason: String,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}
