//! What can go wrong, as values.

mod config;
mod file;

pub use config::{ConfigError, nearest};
pub use file::{Fault, FileError, Place, Problem, in_file};

use crate::scalar::Kind;
use crate::size::Size;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything a caller can cause or a machine can refuse.
///
/// A solve that ends without converging is *not* an error but an
/// [`Outcome`](crate::stop::Outcome).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands whose sizes do not fit together.
    #[error("{operation}: expected {expected}, found {found}")]
    SizeMismatch {
        /// What was asked for.
        operation: &'static str,
        /// The size that fits.
        expected: Size,
        /// The size that came.
        found: Size,
    },
    /// A component that solves or factorises was given a matrix that is not square.
    #[error("{component} needs a square matrix, this one is {size}")]
    NotSquare {
        /// The component that reports the error.
        component: &'static str,
        /// The size of the matrix.
        size: Size,
    },
    /// Two operands on different executors.
    #[error("{operation}: one operand lives on `{left}`, the other on `{right}`")]
    ExecutorMismatch {
        /// What was asked for.
        operation: &'static str,
        /// Executor of the first operand.
        left: String,
        /// Executor of the second operand.
        right: String,
    },
    /// Memory that the host cannot address was asked for as a slice.
    #[error("memory of executor `{executor}` cannot be read as a slice; copy it to the host first")]
    NotAddressable {
        /// The executor that owns the memory.
        executor: String,
    },
    /// The machine has not enough memory.
    #[error("out of memory: {bytes} bytes asked for on executor `{executor}`")]
    OutOfMemory {
        /// Bytes of the request.
        bytes: usize,
        /// Where.
        executor: String,
    },
    /// What is about to begin needs more memory than there is.
    #[error(
        "{what} needs about {} of memory, and {} are available on `{executor}`",
        bytes(*.needed),
        bytes(*.available)
    )]
    NotEnoughMemory {
        /// What was about to begin.
        what: String,
        /// Bytes it is estimated to need.
        needed: usize,
        /// Bytes there are.
        available: usize,
        /// Where.
        executor: String,
    },
    /// A GPU, its driver or its compiler refuses.
    #[error(transparent)]
    Device(vcycle_gpu::Error),
    /// Another rank of the team has failed.
    #[error("rank {rank}: {reason}")]
    OtherRank {
        /// Which one.
        rank: usize,
        /// Why.
        reason: String,
    },
    /// Ranks do not get together, or MPI refuses.
    #[error("{0}")]
    Team(String),
    /// An operator that has no entries was given to a component that needs them.
    #[error("{component} needs the entries of a matrix, but this operator is matrix-free")]
    NeedsEntries {
        /// The component that needs them.
        component: &'static str,
    },
    /// An operation that an operator or a backend does not offer.
    #[error("{component} does not support {operation}")]
    Unsupported {
        /// The component that reports the error.
        component: String,
        /// What was asked.
        operation: String,
    },
    /// Values of one type cannot become values of another.
    #[error("{from} values cannot be stored as {to}")]
    Conversion {
        /// Type of the values.
        from: Kind,
        /// Type asked for.
        to: Kind,
    },
    /// An index outside the matrix.
    #[error("entry {position}: {axis} index {index} is outside 0..{limit}")]
    IndexOutOfRange {
        /// Place of the entry in the arrays given.
        position: usize,
        /// `row` or `column`.
        axis: &'static str,
        /// The index found.
        index: usize,
        /// First index that is too large.
        limit: usize,
    },
    /// Arrays that do not describe a matrix.
    #[error("{format}: {reason}")]
    InvalidStructure {
        /// The matrix format.
        format: &'static str,
        /// What is wrong, with the place.
        reason: String,
    },
    /// A matrix that is no stencil of neighbouring cells on a grid.
    #[error(
        "not a stencil matrix: on a grid of {grid} cells entry ({row}, {column}) couples cells that are no neighbours"
    )]
    NotAStencil {
        /// Row of the entry, from 0.
        row: usize,
        /// Column of the entry, from 0.
        column: usize,
        /// The grid on which most rows were those of a stencil.
        grid: String,
    },
    /// A padded format would hold far more padding than entries.
    #[error("{format}: {slots} slots for {entries} entries; most of them would be padding")]
    TooMuchPadding {
        /// The matrix format.
        format: &'static str,
        /// Slots it would need, padding included.
        slots: usize,
        /// Entries to be stored in them.
        entries: usize,
    },
    /// The same position twice where it may stand once.
    #[error("entry ({row}, {column}) is given more than once; ask for duplicates to be summed")]
    DuplicateEntry {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
    /// An entry that is infinite or not a number.
    #[error("entry ({row}, {column}) is not finite")]
    NonFiniteEntry {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
    /// An entry of a multigrid level exceeds the range of the precision chosen for it.
    #[error(
        "multigrid level {level}: entry ({row}, {column}) overflows in {kind}; scaling brings it into range"
    )]
    LevelOverflow {
        /// The level; 0 is the finest.
        level: usize,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The storage type.
        kind: Kind,
    },
    /// A stage of a multigrid cycle made an infinity or NaN of numbers.
    #[error("multigrid level {level}: an infinity or NaN appeared in the {stage}")]
    NonFiniteStage {
        /// The level; 0 is the finest.
        level: usize,
        /// What was being done.
        stage: &'static str,
    },
    /// A right-hand side or starting vector holds an infinity or a NaN.
    #[error("{what}: value at row {row}, column {column} is not finite")]
    NonFiniteVector {
        /// Which vector.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
    /// Vectors that should span a space depend on each other.
    #[error("{what}: vector {vector} depends on those before it")]
    DependentVectors {
        /// Which vectors.
        what: &'static str,
        /// The number of the first that does, from 0.
        vector: usize,
    },
    /// A diagonal entry is zero or absent where it is divided by.
    #[error("{component}: the diagonal entry of row {row} is zero or missing")]
    ZeroDiagonal {
        /// The component that divides.
        component: &'static str,
        /// Row, from 0.
        row: usize,
    },
    /// A factorisation met a pivot it cannot use.
    #[error("{component}: pivot of row {row} is {problem}")]
    BadPivot {
        /// The factorisation.
        component: &'static str,
        /// Row, from 0.
        row: usize,
        /// `zero`, `not positive`, `not finite`.
        problem: &'static str,
    },
    /// An incomplete factorisation of a multigrid level met a pivot it cannot use.
    #[error(
        "multigrid level {level}: the pivot of row {row} vanishes in the incomplete factorisation; choose another smoother"
    )]
    LostPivot {
        /// The level; 0 is the finest.
        level: usize,
        /// Row, from 0.
        row: usize,
    },
    /// A matrix that is not Hermitian was given to a component that reads one half of it.
    #[error(
        "{component} needs a symmetric (Hermitian) matrix, and entries of this one differ from those opposite by \
         up to {asymmetry:.1e}; use {instead} instead"
    )]
    NotHermitian {
        /// The component that reports the error.
        component: &'static str,
        /// The largest absolute value of an entry of `A - A^H`.
        asymmetry: f64,
        /// What does not need it.
        instead: &'static str,
    },
    /// A matrix without an inverse was given to a component that needs one.
    #[error("{component}: the matrix is singular: {reason}")]
    Singular {
        /// The component that needs the inverse.
        component: &'static str,
        /// What shows it, with the place.
        reason: String,
    },
    /// A parameter outside its range.
    #[error("{parameter}: {reason}")]
    BadParameter {
        /// Its name.
        parameter: &'static str,
        /// What would be right.
        reason: String,
    },
    /// A configuration that names what does not exist or does not fit together.
    #[error(transparent)]
    Config(Box<ConfigError>),
    /// A name that is no problem of the gallery.
    #[error(
        "unknown problem `{name}`{}; the problems are: {}",
        .suggestion.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default(),
        .known.join(", ")
    )]
    UnknownProblem {
        /// The name given.
        name: String,
        /// The name it resembles most, if any.
        suggestion: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// A problem of the gallery whose size or parameters cannot be.
    #[error("problem `{problem}`: {part}: {reason} (usage: {usage})")]
    BadProblem {
        /// What was given.
        problem: String,
        /// The part of it that is wrong.
        part: &'static str,
        /// What would be right.
        reason: String,
        /// The form of a right one.
        usage: &'static str,
    },
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(Box<FileError>),
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// A [`BadParameter`](Self::BadParameter): its name and what would be right.
    pub fn bad_parameter(parameter: &'static str, reason: impl Into<String>) -> Self {
        Self::BadParameter {
            parameter,
            reason: reason.into(),
        }
    }

    /// Fails unless a parameter is as it has to be.
    ///
    /// # Errors
    /// [`BadParameter`](Self::BadParameter).
    pub fn check_parameter(
        holds: bool,
        parameter: &'static str,
        reason: impl Into<String>,
    ) -> Result<()> {
        match holds {
            true => Ok(()),
            false => Err(Self::bad_parameter(parameter, reason)),
        }
    }
}

impl From<vcycle_gpu::Error> for Error {
    fn from(error: vcycle_gpu::Error) -> Self {
        Error::Device(error)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Error::Config(Box::new(error))
    }
}

impl From<vcycle_kernels::Refusal> for Error {
    fn from(refusal: vcycle_kernels::Refusal) -> Self {
        use vcycle_kernels::Refusal;
        match refusal {
            Refusal::Parameter { parameter, reason } => Error::BadParameter { parameter, reason },
            Refusal::Threads { threads, reason } => Error::Threads { threads, reason },
        }
    }
}

/// Bytes in the unit that leaves one to three digits before the point.
pub fn bytes(value: usize) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut scaled, mut unit) = (value as f64 / 1e3, 0);
    while scaled >= 1e3 && unit + 1 < UNITS.len() {
        (scaled, unit) = (scaled / 1e3, unit + 1);
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// Fails unless `found` is the size `expected`.
pub fn check_size(operation: &'static str, expected: Size, found: Size) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::SizeMismatch {
        operation,
        expected,
        found,
    })
}
