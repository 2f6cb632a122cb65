//! Matrices from a stream without a name, such as standard input: the first bytes decide the format.

use std::io::{Cursor, Read};
use std::path::Path;

use super::compression::{self, Compression, Reader};
use super::zip::{self, Archive};
use super::{AnyMatrix, MatrixReader, Progress, matrix_market, npy, npz};
use crate::error::{Fault, Problem, Result, in_file};
use crate::executor::Executor;

/// As many bytes as are needed to recognise any format.
const HEAD: u64 = 6;

impl MatrixReader {
    /// Reads a matrix from a stream: Matrix Market text, also compressed, or the bytes of an `.npz` or `.npy` file.
    /// Errors call it `name`.
    ///
    /// ```
    /// use vcycle::{executor::Executor, io::MatrixReader};
    /// let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2.0\n2 2 3.0\n";
    /// let stream = Box::new(text.as_bytes());
    /// let a = MatrixReader::default().read_stream("text", stream, &Executor::cpu(), &mut |_| {})?;
    /// assert_eq!(a.nonzeros(), 2);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) has the name, the place in the text and the
    /// [`Problem`]; an empty stream is one.
    pub fn read_stream(
        &self,
        name: &str,
        stream: Box<dyn Read + Send>,
        executor: &Executor,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AnyMatrix> {
        let read = self.read_unnamed_stream(stream, executor, progress);
        in_file(Path::new(name), read)
    }

    fn read_unnamed_stream(
        &self,
        mut stream: Reader,
        executor: &Executor,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<AnyMatrix, Fault> {
        let mut head = Vec::new();
        (&mut stream).take(HEAD).read_to_end(&mut head)?;
        if head.is_empty() {
            return Err(Problem::Empty.into());
        }
        let compression = Compression::of_bytes(&head);
        let is_archive = head.starts_with(zip::SIGNATURE);
        let is_array = head.starts_with(npy::MAGIC);
        let mut stream = Cursor::new(head).chain(stream);
        if !is_archive && !is_array {
            let opened = compression::decode(Box::new(stream), compression)?;
            return matrix_market::read_matrix(opened, executor, self, progress);
        }
        // The directory of an archive is at its end.
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        match is_archive {
            true => {
                let archive = Archive::of_bytes(bytes)?;
                npz::read_matrix(&archive, executor, self, progress)
            }
            false => npy::read_matrix(&bytes, executor, progress),
        }
    }
}
