//! What can be wrong with a file.

use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::size::Size;

/// A file that cannot be read or written: which one, where in it, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", .path.display(), position(.place))]
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Where in the file, if the problem has a place in a text.
    pub place: Option<Place>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// A position in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Byte in the line, from 1.
    pub column: usize,
}

/// What is wrong with a file. Rows and columns are counted from 1, as Matrix Market does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Problem {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// There is nothing to read.
    #[error("it is empty")]
    Empty,
    /// The extension is that of no known format.
    #[error(
        "unknown file name extension; \
         known are .mtx, .mtx.gz, .mtx.xz, .mtx.zst, .npz and .npy"
    )]
    UnknownExtension,
    /// The library was built without a format.
    #[error("this build has no {format} files: build it with the feature `{feature}`")]
    LeftOut {
        format: &'static str,
        feature: &'static str,
    },
    /// The format cannot hold what is to be written or read.
    #[error("a {format} file cannot hold {what}")]
    Unsuited {
        format: &'static str,
        what: &'static str,
    },
    /// The system does not let the file be made.
    #[error("cannot be written: {0}")]
    Unwritable(std::io::Error),
    /// The system refused, or a compressed stream is corrupt.
    #[error("{0}")]
    Io(std::io::Error),
    /// The file ends in the middle of its data.
    #[error("the file is cut short")]
    Truncated,
    /// The first line is not that of a Matrix Market file.
    #[error("not a Matrix Market banner: {0}")]
    Banner(String),
    /// The size line is missing or contradicts the banner.
    #[error("bad size line: {0}")]
    SizeLine(String),
    /// A word that should be something else.
    #[error("expected {expected}, found `{found}`")]
    Token {
        expected: &'static str,
        found: String,
    },
    /// A line that does not end.
    #[error("a line is longer than {limit} bytes")]
    LineTooLong { limit: usize },
    /// An index that is zero or beyond the size.
    #[error("{axis} {index} is outside 1..={limit}")]
    IndexOutOfRange {
        axis: &'static str,
        index: u64,
        limit: usize,
    },
    /// An entry that is infinite or not a number.
    #[error("the entry at row {row}, column {column} is not finite")]
    NonFinite { row: usize, column: usize },
    /// An entry that the symmetry of the file does not allow.
    #[error("the entry at row {row}, column {column} of a {symmetry} matrix {reason}")]
    Symmetry {
        row: usize,
        column: usize,
        symmetry: &'static str,
        reason: &'static str,
    },
    /// Fewer entries than announced.
    #[error("{expected} entries are announced, but there are only {found}")]
    TooFewEntries { expected: usize, found: usize },
    /// More entries announced than fit in the file.
    #[error("{expected} entries are announced, but a file of this length holds {most} at most")]
    TooShort { expected: usize, most: usize },
    /// More entries than announced; the place is that of the first one too many.
    #[error("only {expected} entries are announced, but there are more: {found} so far")]
    TooManyEntries { expected: usize, found: usize },
    /// The same position twice.
    #[error(
        "the entry at row {row}, column {column} is given more than once; \
         ask for duplicates to be summed"
    )]
    Duplicate { row: usize, column: usize },
    /// More rows than indices can number, or nearly all of them empty.
    #[error("a size of {size} with {entries} entries is not plausible")]
    Implausible { size: Size, entries: usize },
    /// The machine has not enough memory for the contents.
    #[error("out of memory: {bytes} bytes are needed for the contents")]
    OutOfMemory { bytes: usize },
    /// A NumPy array or archive that is not what it should be.
    #[error("{0}")]
    Array(String),
    /// The contents do not make a matrix.
    #[error("{0}")]
    Matrix(Box<Error>),
}

impl Problem {
    /// With a place in the text.
    pub fn at(self, place: Place) -> Fault {
        Fault {
            place: Some(place),
            problem: self,
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Problem::NotFound,
            std::io::ErrorKind::UnexpectedEof => Problem::Truncated,
            _ => Problem::Io(error),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::DuplicateEntry { row, column } => Problem::Duplicate {
                row: row + 1,
                column: column + 1,
            },
            Error::NonFiniteEntry { row, column } => Problem::NonFinite {
                row: row + 1,
                column: column + 1,
            },
            other => Problem::Matrix(Box::new(other)),
        }
    }
}

/// A problem whose file is not named yet.
#[derive(Debug)]
pub struct Fault {
    /// Where in the file, if the problem has a place in a text.
    pub place: Option<Place>,
    /// What is wrong.
    pub problem: Problem,
}

impl<P: Into<Problem>> From<P> for Fault {
    fn from(problem: P) -> Self {
        Fault {
            place: None,
            problem: problem.into(),
        }
    }
}

/// Names the file of a fault.
pub fn in_file<T>(path: &Path, result: Result<T, Fault>) -> Result<T> {
    result.map_err(|Fault { place, problem }| {
        Error::File(Box::new(FileError {
            path: path.to_owned(),
            place,
            problem,
        }))
    })
}

fn position(place: &Option<Place>) -> String {
    place.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column))
}
