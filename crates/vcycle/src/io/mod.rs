//! Matrices and vectors in files.
//!
//! The extension decides the format, or the first bytes of a stream ([`MatrixReader::read_stream`]):
//!
//! | extension | contents | read | written |
//! |---|---|---|---|
//! | `.mtx`, `.mtx.gz`, `.mtx.xz`, `.mtx.zst` | Matrix Market, all fields and symmetries | matrices, vectors | matrices, vectors |
//! | `.npz` | SciPy's `save_npz`: csr, csc, coo, bsr, dia | matrices | matrices (csr) |
//! | `.npy` | NumPy array, dense | matrices, vectors | vectors |
//!
//! The features `gzip`, `xz` and `zstd`, all of them on by default, bring the compressed formats.
//!
//! What is written reads back as the same bits. Files come from anywhere, so a reader trusts
//! nothing: every fault is a [`FileError`] with file, line and column, and no memory is taken
//! because a header says so.
//!
//! ```
//! use vcycle::{executor::Executor, io, matrix::Csr};
//! let cpu = Executor::cpu();
//! # let folder = std::env::temp_dir();
//! let path = folder.join(format!("vcycle-io-{}.mtx.gz", std::process::id()));
//! io::write_matrix(&path, &Csr::diagonal_matrix(&cpu, vec![0.1, 0.2, 0.3]))?;
//! let io::AnyMatrix::Real(a) = io::load_matrix(&path, &cpu)? else { unreachable!() };
//! assert_eq!(a.values(), [0.1, 0.2, 0.3]);
//! # std::fs::remove_file(path).unwrap();
//! # Ok::<(), vcycle::Error>(())
//! ```

mod compression;
mod matrix_market;
mod memory;
mod new_file;
mod npy;
mod npz;
mod stream;
mod triplets;
mod zip;

use std::path::Path;
use std::sync::Arc;

use crate::error::{Fault, in_file};
pub use crate::error::{FileError, Place, Problem};
use compression::Compression;
use memory::Admission;
pub use new_file::NewFile;

use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Duplicates, Extent};
use crate::scalar::{Field, Scalar, c64};
use crate::vector::Vector;

/// A matrix whose type the file decided.
#[derive(Clone, Debug)]
pub enum AnyMatrix {
    /// Real numbers, integers or a pattern of ones.
    Real(Csr<f64>),
    /// Complex numbers.
    Complex(Csr<c64>),
}

impl AnyMatrix {
    /// Rows and columns.
    pub fn size(&self) -> Size {
        match self {
            AnyMatrix::Real(matrix) => matrix.size(),
            AnyMatrix::Complex(matrix) => matrix.size(),
        }
    }

    /// Stored entries.
    pub fn nonzeros(&self) -> usize {
        match self {
            AnyMatrix::Real(matrix) => matrix.nonzeros(),
            AnyMatrix::Complex(matrix) => matrix.nonzeros(),
        }
    }
}

/// A dense block of columns whose type the file decided.
#[derive(Clone, Debug)]
pub enum AnyVector {
    /// Real numbers or integers.
    Real(Vector<f64>),
    /// Complex numbers.
    Complex(Vector<c64>),
}

impl AnyVector {
    /// Rows and columns.
    pub fn size(&self) -> Size {
        match self {
            AnyVector::Real(vector) => vector.size(),
            AnyVector::Complex(vector) => vector.size(),
        }
    }
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of the file that have been read.
    pub bytes: u64,
    /// Bytes of the file; 0 where the system does not know.
    pub total_bytes: u64,
}

/// Reads matrices; see the [module](self) for the formats.
///
/// ```
/// use vcycle::{executor::Executor, io::MatrixReader, matrix::Duplicates};
/// # let path = std::env::temp_dir().join(format!("vcycle-reader-{}.mtx", std::process::id()));
/// # let text = "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2.0\n1 1 3.0\n";
/// # std::fs::write(&path, text).unwrap();
/// let mut reader = MatrixReader::default();
/// reader.duplicates = Duplicates::Sum;
/// let a = reader.read(&path, &Executor::cpu(), &mut |_| {})?;
/// assert_eq!(a.nonzeros(), 1);
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MatrixReader {
    /// What to do with an entry that is given more than once; the default is to refuse.
    pub duplicates: Duplicates,
    admission: Admission,
}

impl MatrixReader {
    /// Asks, once the size of a matrix is known and before its entries are read, whether that is not too much: an
    /// error ends the reading.
    ///
    /// ```
    /// use vcycle::{Error, executor::Executor, io::MatrixReader};
    /// let reader = MatrixReader::default().asking(|extent| match extent.rows {
    ///     0..1000 => Ok(()),
    ///     rows => Err(Error::bad_parameter("rows", format!("{rows} are too many"))),
    /// });
    /// let text = "%%MatrixMarket matrix coordinate real general\n5000 5000 1\n1 1 1.0\n";
    /// let stream = Box::new(text.as_bytes());
    /// let refused = reader.read_stream("text", stream, &Executor::cpu(), &mut |_| {});
    /// assert_eq!(refused.unwrap_err().to_string(), "text: rows: 5000 are too many");
    /// ```
    #[must_use]
    pub fn asking(mut self, admit: impl Fn(Extent) -> Result<()> + Send + Sync + 'static) -> Self {
        self.admission = Admission(Some(Arc::new(admit)));
        self
    }

    /// Reads a matrix into the memory of an executor, whose threads do the parsing.
    ///
    /// # Errors
    /// [`Error::File`] names the file, the place in it and the [`Problem`].
    pub fn read(
        &self,
        path: &Path,
        executor: &Executor,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AnyMatrix> {
        in_file(path, self.read_unnamed(path, executor, progress))
    }

    /// Reads own rows of a matrix, about as many for every rank of a team: each rank parses its part of the file. All ranks call it
    /// together, for a file that [can be read so](is_read_in_parts).
    ///
    /// # Errors
    /// As [`read`](Self::read); for an executor without a team; when another rank has failed.
    pub fn read_in_parts(&self, path: &Path, rank: &Executor) -> Result<Distributed<f64>> {
        let team = rank.team().ok_or_else(|| {
            let reason = "reading in parts needs an executor with a team, `Executor::with_team`";
            Error::Team(reason.to_owned())
        })?;
        matrix_market::part::read(path, rank, team.as_ref(), self)
    }

    fn read_unnamed(
        &self,
        path: &Path,
        executor: &Executor,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AnyMatrix, Fault> {
        match FileFormat::of(path)? {
            FileFormat::MatrixMarket(compression) => {
                let opened = compression::open(path, compression)?;
                matrix_market::read_matrix(opened, executor, self, progress)
            }
            FileFormat::Npz => {
                let archive = zip::Archive::open(path)?;
                npz::read_matrix(&archive, executor, self, progress)
            }
            FileFormat::Npy => npy::read_matrix(&npy::read_file(path)?, executor, progress),
        }
    }
}

/// Whether ranks can read a file [in parts](MatrixReader::read_in_parts): a Matrix Market file that is not compressed, of a sparse,
/// real and square matrix. What is no file on a disk, as a pipe, can be read only once.
pub fn is_read_in_parts(path: &Path) -> bool {
    let is_plain = || {
        FileFormat::of(path)
            .is_ok_and(|format| format == FileFormat::MatrixMarket(Compression::None))
    };
    path.is_file() && is_plain() && matrix_market::part::is_read_in_parts(path)
}

/// Reads a matrix and reports progress; an entry given twice is an error.
///
/// # Errors
/// As [`MatrixReader::read`].
pub fn read_matrix(
    path: &Path,
    executor: &Executor,
    progress: &mut dyn FnMut(Progress),
) -> Result<AnyMatrix> {
    MatrixReader::default().read(path, executor, progress)
}

/// Reads a matrix; an entry given twice is an error.
///
/// # Errors
/// As [`MatrixReader::read`].
pub fn load_matrix(path: impl AsRef<Path>, executor: &Executor) -> Result<AnyMatrix> {
    read_matrix(path.as_ref(), executor, &mut |_| {})
}

/// Reads one or many dense columns, such as right-hand sides.
///
/// # Errors
/// [`Error::File`] names the file, the place in it and the [`Problem`].
pub fn read_vector(path: impl AsRef<Path>, executor: &Executor) -> Result<AnyVector> {
    let path = path.as_ref();
    let read = || match FileFormat::of(path)? {
        FileFormat::MatrixMarket(compression) => {
            matrix_market::read_vector(compression::open(path, compression)?, executor)
        }
        FileFormat::Npy => npy::read_vector(path, executor),
        FileFormat::Npz => Err(unsuited(".npz", "a dense vector").into()),
    };
    in_file(path, read())
}

/// Writes a matrix so that it reads back as the same bits. In a Matrix Market file only one
/// triangle is written if the matrix is exactly symmetric or Hermitian.
///
/// # Errors
/// An entry that is not finite; [`Error::File`] where the file cannot be written.
pub fn write_matrix<T: Scalar>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<()> {
    let path = path.as_ref();
    matrix.check_finite()?;
    let write = || match FileFormat::of(path)? {
        FileFormat::MatrixMarket(compression) => compression::create(path, compression, |out| {
            matrix_market::write_matrix(out, matrix)
        }),
        FileFormat::Npz => compression::create(path, Compression::None, |out| {
            npz::write_matrix(out, matrix)
        }),
        FileFormat::Npy => Err(unsuited(".npy", "a sparse matrix")),
    };
    in_file(path, write().map_err(Fault::from))
}

/// Writes one or many dense columns so that they read back as the same bits.
///
/// # Errors
/// A value that is not finite; [`Error::File`] where the file cannot be written.
pub fn write_vector<T: Scalar>(path: impl AsRef<Path>, vector: &Vector<T>) -> Result<()> {
    let path = path.as_ref();
    check_finite(vector)?;
    let write = || match FileFormat::of(path)? {
        FileFormat::MatrixMarket(compression) => compression::create(path, compression, |out| {
            matrix_market::write_vector(out, vector)
        }),
        FileFormat::Npy => compression::create(path, Compression::None, |out| {
            npy::write_vector(out, vector)
        }),
        FileFormat::Npz => Err(unsuited(".npz", "a dense vector")),
    };
    in_file(path, write().map_err(Fault::from))
}

fn check_finite<T: Scalar>(vector: &Vector<T>) -> Result<()> {
    let values = &vector.to_vec()[..];
    match values.iter().position(|value| !value.load().is_finite()) {
        None => Ok(()),
        Some(place) => Err(Error::NonFiniteVector {
            what: "vector to be written",
            row: place / vector.cols(),
            column: place % vector.cols(),
        }),
    }
}

fn unsuited(format: &'static str, what: &'static str) -> Problem {
    Problem::Unsuited { format, what }
}

/// A file format, recognised by the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    MatrixMarket(Compression),
    Npz,
    Npy,
}

impl FileFormat {
    fn of(path: &Path) -> Result<Self, Problem> {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        let (compression, inner) = Compression::of(&name);
        match inner.rsplit_once('.').map(|(_, extension)| extension) {
            Some("mtx") => Ok(FileFormat::MatrixMarket(compression)),
            Some("npz") if inner == name => Ok(FileFormat::Npz),
            Some("npy") if inner == name => Ok(FileFormat::Npy),
            _ => Err(Problem::UnknownExtension),
        }
    }
}

#[cfg(test)]
mod tests;
