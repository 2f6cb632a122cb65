//! What can go wrong, as values.

mod config;
mod file;

pub use config::{ConfigError, nearest};
pub use file::{Fault, FileError, Place, Problem, in_file};

use crate::scalar::Kind;
use crate::size::Size;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything a caller can cause or a machine can refuse. Rows, columns, vectors and levels are counted from 0.
///
/// A solve that ends without converging is *not* an error but an
/// [`Outcome`](crate::stop::Outcome).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// Two operands whose sizes do not fit together.
    #[error("{operation}: expected {expected}, found {found}")]
    SizeMismatch {
        operation: &'static str,
        expected: Size,
        found: Size,
    },
    /// A component that solves or factorises was given a matrix that is not square.
    #[error("{component} needs a square matrix, this one is {size}")]
    NotSquare { component: &'static str, size: Size },
    /// Two operands on different executors.
    #[error("{operation}: one operand lives on `{left}`, the other on `{right}`")]
    ExecutorMismatch {
        operation: &'static str,
        left: String,
        right: String,
    },
    /// Memory that the host cannot address was asked for as a slice.
    #[error("memory of executor `{executor}` cannot be read as a slice; copy it to the host first")]
    NotAddressable { executor: String },
    /// The machine has not enough memory.
    #[error("out of memory: {bytes} bytes asked for on executor `{executor}`")]
    OutOfMemory { bytes: usize, executor: String },
    /// What is about to begin needs more memory than there is.
    #[error(
        "{what} needs about {} of memory, and {} are available on `{executor}`",
        bytes(*.needed),
        bytes(*.available)
    )]
    NotEnoughMemory {
        what: String,
        needed: usize,
        available: usize,
        executor: String,
    },
    /// A GPU, its driver or its compiler refuses.
    #[error(transparent)]
    Device(vcycle_gpu::Error),
    /// Another rank of the team has failed.
    #[error("rank {rank}: {reason}")]
    OtherRank { rank: usize, reason: String },
    /// Ranks do not get together, or MPI refuses.
    #[error("{0}")]
    Team(String),
    /// The time allowed was used up before there was anything to return.
    #[error("the time allowed was used up before there was a solution")]
    OutOfTime,
    /// An operator that has no entries was given to a component that needs them.
    #[error("{component} needs the entries of a matrix, but this operator is matrix-free")]
    NeedsEntries { component: &'static str },
    /// An operation that an operator or a backend does not offer.
    #[error("{component} does not support {operation}")]
    Unsupported {
        component: String,
        operation: String,
    },
    /// Values of one type cannot become values of another.
    #[error("{from} values cannot be stored as {to}")]
    Conversion { from: Kind, to: Kind },
    /// An index outside the matrix.
    #[error("entry {position}: {axis} index {index} is outside 0..{limit}")]
    IndexOutOfRange {
        position: usize,
        axis: &'static str,
        index: usize,
        limit: usize,
    },
    /// Arrays that do not describe a matrix.
    #[error("{format}: {reason}")]
    InvalidStructure {
        format: &'static str,
        reason: String,
    },
    /// A matrix that is no stencil of neighbouring cells on a grid.
    #[error(
        "not a stencil matrix: on a grid of {grid} cells entry ({row}, {column}) couples cells that are no neighbours"
    )]
    NotAStencil {
        row: usize,
        column: usize,
        grid: String,
    },
    /// A padded format would hold far more padding than entries.
    #[error("{format}: {slots} slots for {entries} entries; most of them would be padding")]
    TooMuchPadding {
        format: &'static str,
        slots: usize,
        entries: usize,
    },
    /// The same position twice where it may stand once.
    #[error("entry ({row}, {column}) is given more than once; ask for duplicates to be summed")]
    DuplicateEntry { row: usize, column: usize },
    /// An entry that is infinite or not a number.
    #[error("entry ({row}, {column}) is not finite")]
    NonFiniteEntry { row: usize, column: usize },
    /// An entry of a multigrid level exceeds the range of the precision chosen for it.
    #[error(
        "multigrid level {level}: entry ({row}, {column}) overflows in {kind}; scaling brings it into range"
    )]
    LevelOverflow {
        level: usize,
        row: usize,
        column: usize,
        kind: Kind,
    },
    /// A stage of a multigrid cycle made an infinity or NaN of numbers.
    #[error("multigrid level {level}: an infinity or NaN appeared in the {stage}")]
    NonFiniteStage { level: usize, stage: &'static str },
    /// A right-hand side or starting vector holds an infinity or a NaN.
    #[error("{what}: value at row {row}, column {column} is not finite")]
    NonFiniteVector {
        what: &'static str,
        row: usize,
        column: usize,
    },
    /// Vectors that should span a space depend on each other.
    #[error("{what}: vector {vector} depends on those before it")]
    DependentVectors { what: &'static str, vector: usize },
    /// A diagonal entry is zero or absent where it is divided by.
    #[error("{component}: the diagonal entry of row {row} is zero or missing")]
    ZeroDiagonal { component: &'static str, row: usize },
    /// A factorisation met a pivot it cannot use.
    #[error("{component}: pivot of row {row} is {problem}")]
    BadPivot {
        component: &'static str,
        row: usize,
        problem: &'static str,
    },
    /// An incomplete factorisation of a multigrid level met a pivot it cannot use.
    #[error(
        "multigrid level {level}: the pivot of row {row} vanishes in the incomplete factorisation; choose another smoother"
    )]
    LostPivot { level: usize, row: usize },
    /// A matrix that is not Hermitian was given to a component that reads one half of it.
    #[error(
        "{component} needs a symmetric (Hermitian) matrix, and entries of this one differ from those opposite by \
         up to {asymmetry:.1e}; use {instead} instead"
    )]
    NotHermitian {
        component: &'static str,
        asymmetry: f64,
        instead: &'static str,
    },
    /// A matrix without an inverse was given to a component that needs one.
    #[error("{component}: the matrix is singular: {reason}")]
    Singular {
        component: &'static str,
        reason: String,
    },
    /// A parameter outside its range.
    #[error("{parameter}: {reason}")]
    BadParameter {
        parameter: &'static str,
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
        name: String,
        suggestion: Option<&'static str>,
        known: Vec<&'static str>,
    },
    /// A problem of the gallery whose size or parameters cannot be.
    #[error("problem `{problem}`: {part}: {reason} (usage: {usage})")]
    BadProblem {
        problem: String,
        part: &'static str,
        reason: String,
        usage: &'static str,
    },
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(Box<FileError>),
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
}

impl Error {
    /// Whether there was no memory, on the host or on a device.
    pub fn is_out_of_memory(&self) -> bool {
        let on_device = matches!(self, Self::Device(vcycle_gpu::Error::OutOfMemory { .. }));
        on_device || matches!(self, Self::OutOfMemory { .. })
    }

    /// A [`BadParameter`](Self::BadParameter): its name and what would be right.
    pub fn bad_parameter(parameter: &'static str, reason: impl Into<String>) -> Self {
        Self::BadParameter {
            parameter,
            reason: reason.into(),
        }
    }

    /// An [`InvalidStructure`](Self::InvalidStructure): what is not described, and why.
    pub fn structure(format: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidStructure {
            format,
            reason: reason.into(),
        }
    }

    /// An [`Unsupported`](Self::Unsupported) operation of a component.
    pub fn unsupported(component: impl Into<String>, operation: impl Into<String>) -> Self {
        Self::Unsupported {
            component: component.into(),
            operation: operation.into(),
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

/// Fails, naming `component`, unless a matrix of this size is square.
pub fn check_square(component: &'static str, size: Size) -> Result<()> {
    match size.rows == size.cols {
        true => Ok(()),
        false => Err(Error::NotSquare { component, size }),
    }
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
