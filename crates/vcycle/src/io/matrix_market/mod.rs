//! The Matrix Market exchange format: coordinate and array, all fields and symmetries.
//!
//! R. F. Boisvert, R. Pozo, K. A. Remington: "The Matrix Market exchange formats: initial
//! design", NISTIR 5935, 1996.

mod header;
mod number;
mod parse;
pub(super) mod part;
mod text;
mod write;

use header::{FileLayout, Header, ValueKind};
use parse::{ParsedPiece, ParsedValue};
use text::Text;
pub(super) use write::{write_matrix, write_vector};

use super::compression::{Meter, Reader};
use super::memory::{filled, reserve};
use super::triplets::{self, EntrySymmetry, Triplets, check_plausible};
use super::{AnyMatrix, AnyVector, MatrixReader, Progress};
use crate::error::{Fault, Problem};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates};
use crate::vector::Vector;

/// Reads a sparse matrix; of an array the zeros are dropped.
pub(super) fn read_matrix(
    opened: (Reader, Meter),
    executor: &Executor,
    reader: &MatrixReader,
    progress: &mut dyn FnMut(Progress),
) -> Result<AnyMatrix, Fault> {
    let mut file = MatrixFile::begin(opened, executor, progress)?;
    check_plausible(file.header.size, file.header.entries)?;
    let (extent, triplets) = file.header.extent();
    reader.admission.check(extent, triplets, executor)?;
    let duplicates = reader.duplicates;
    Ok(match file.header.field {
        ValueKind::Complex => AnyMatrix::Complex(file.matrix(duplicates)?),
        _ => AnyMatrix::Real(file.matrix(duplicates)?),
    })
}

/// Reads a dense block of columns.
pub(super) fn read_vector(
    opened: (Reader, Meter),
    executor: &Executor,
) -> Result<AnyVector, Fault> {
    let mut unseen = |_: Progress| {};
    let mut file = MatrixFile::begin(opened, executor, &mut unseen)?;
    Ok(match file.header.field {
        ValueKind::Complex => AnyVector::Complex(file.vector()?),
        _ => AnyVector::Real(file.vector()?),
    })
}

/// A file whose header has been read.
struct MatrixFile<'a> {
    header: Header,
    text: Text,
    meter: Meter,
    executor: &'a Executor,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> MatrixFile<'a> {
    fn begin(
        (stream, meter): (Reader, Meter),
        executor: &'a Executor,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Result<Self, Fault> {
        let mut text = Text::new(stream);
        let header = Header::read(&mut text)?;
        if let Some(length) = meter.text_length {
            header.check_length(length)?;
        }
        Ok(Self {
            header,
            text,
            meter,
            executor,
            progress,
        })
    }

    fn matrix<T: ParsedValue>(&mut self, duplicates: Duplicates) -> Result<Csr<T>, Fault> {
        let Header { size, symmetry, .. } = self.header;
        let pieces = match self.header.layout {
            FileLayout::Coordinate => self.pieces()?,
            FileLayout::Array => vec![self.array_entries()?],
        };
        let matrix = triplets::assemble(self.executor, size, pieces, symmetry, duplicates)?;
        Ok(matrix)
    }

    fn vector<T: ParsedValue>(&mut self) -> Result<Vector<T>, Fault> {
        let Header { size, symmetry, .. } = self.header;
        if self.header.layout == FileLayout::Coordinate || symmetry != EntrySymmetry::General {
            let matrix = self.matrix::<T>(Duplicates::Refuse)?;
            return Ok(dense(self.executor, &matrix)?);
        }
        let columns = self.pieces::<Vec<T>>()?.concat();
        let mut rows = reserve(columns.len())?;
        for row in 0..size.rows {
            rows.extend((0..size.cols).map(|col| columns[col * size.rows + row]));
        }
        Vector::from_rows(self.executor, size.cols, rows).map_err(Fault::from)
    }

    /// The values of an array as entries.
    fn array_entries<T: ParsedValue>(&mut self) -> Result<Triplets<T>, Fault> {
        let Header { size, symmetry, .. } = self.header;
        let values = self.pieces::<Vec<T>>()?.concat();
        let positions = || array_positions(size, symmetry);
        for ((row, col), &value) in positions().zip(&values) {
            let (row, col) = (row as u32 + 1, col as u32 + 1);
            if let Some(problem) = parse::symmetry_problem(symmetry, row, col, value) {
                return Err(problem.into());
            }
        }
        Ok(triplets::from_dense(positions(), &values, symmetry)?)
    }

    /// Parses the rest of the file, reading one block ahead.
    fn pieces<P: ParsedPiece>(&mut self) -> Result<Vec<P>, Fault> {
        let expected = self.header.entries;
        let (mut all, mut found, mut lines) = (Vec::new(), 0, self.text.lines);
        let mut each = |pieces: Vec<P>, block: &[u8], lines: usize| {
            let missing = expected - found;
            found += pieces.iter().map(ParsedPiece::len).sum::<usize>();
            if found > expected {
                let place = parse::line_of_entry(block, lines, missing);
                return Err(Problem::TooManyEntries { expected, found }.at(place));
            }
            all.extend(pieces);
            (self.progress)(Progress {
                bytes: self.meter.taken(),
                total_bytes: self.meter.length,
            });
            Ok(())
        };
        let (text, header) = (&mut self.text, &self.header);
        parse::blocks(text, self.executor, header, &mut lines, &mut each)?;
        match found < expected {
            true => Err(Problem::TooFewEntries { expected, found }.into()),
            false => Ok(all),
        }
    }
}

/// Row and column of the values of an array, column by column.
fn array_positions(size: Size, symmetry: EntrySymmetry) -> impl Iterator<Item = (usize, usize)> {
    (0..size.cols).flat_map(move |col| {
        let first = match symmetry {
            EntrySymmetry::General => 0,
            EntrySymmetry::Skew => col + 1,
            EntrySymmetry::Symmetric | EntrySymmetry::Hermitian => col,
        };
        (first..size.rows).map(move |row| (row, col))
    })
}

/// A sparse matrix as a dense block.
fn dense<T: ParsedValue>(executor: &Executor, matrix: &Csr<T>) -> Result<Vector<T>, Problem> {
    let Size { rows, cols } = matrix.size();
    let length = rows.saturating_mul(cols);
    check_plausible(
        Size::new(length.min(u32::MAX as usize), 1),
        matrix.nonzeros(),
    )?;
    let mut values = filled(length, T::zero())?;
    for row in 0..rows {
        let (columns, entries) = matrix.row(row);
        for (&column, &entry) in columns.iter().zip(entries) {
            values[row * cols + column as usize] = entry;
        }
    }
    Ok(Vector::from_rows(executor, cols, values)?)
}
