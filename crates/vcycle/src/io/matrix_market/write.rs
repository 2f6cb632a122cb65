//! Writing Matrix Market files that read back as the same bits.

use std::io::Write;

use super::super::triplets::EntrySymmetry;
use crate::error::Problem;
use crate::executor::Executor;
use crate::matrix::Csr;
use crate::scalar::{Scalar, c64};
use crate::vector::Vector;

/// About so many entries are formatted by one thread at a time.
const ENTRIES: usize = 1 << 16;

/// Writes a matrix; one triangle only if the other is its mirror image, bit for bit.
pub(in crate::io) fn write_matrix<T: Scalar>(
    out: &mut dyn Write,
    matrix: &Csr<T>,
) -> Result<(), Problem> {
    let symmetry = symmetry_of(matrix);
    let kept =
        |row: usize, column: u32| symmetry == EntrySymmetry::General || column as usize <= row;
    let count_row = |row: usize| {
        let (columns, _) = matrix.row(row);
        columns.iter().filter(|&&column| kept(row, column)).count()
    };
    let size = matrix.size();
    let entries: usize = (0..size.rows).map(count_row).sum();
    banner::<T>(out, "coordinate", symmetry)?;
    writeln!(out, "{} {} {entries}", size.rows, size.cols)?;
    in_order(
        out,
        matrix.executor(),
        row_ranges(matrix.offsets()),
        |rows, text| {
            for row in rows {
                let (columns, values) = matrix.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    if kept(row, column) {
                        write!(text, "{} {} ", row + 1, column + 1)?;
                        write_value(text, value)?;
                    }
                }
            }
            Ok(())
        },
    )
}

/// Writes a dense block column by column.
pub(in crate::io) fn write_vector<T: Scalar>(
    out: &mut dyn Write,
    vector: &Vector<T>,
) -> Result<(), Problem> {
    let values = &vector.to_vec()[..];
    banner::<T>(out, "array", EntrySymmetry::General)?;
    writeln!(out, "{} {}", vector.rows(), vector.cols())?;
    let positions = 0..values.len();
    let parts = positions.clone().step_by(ENTRIES);
    let ranges = parts.map(|start| start..positions.end.min(start + ENTRIES));
    in_order(out, vector.executor(), ranges.collect(), |range, text| {
        for position in range {
            let (col, row) = (position / vector.rows(), position % vector.rows());
            write_value(text, values[row * vector.cols() + col])?;
        }
        Ok(())
    })
}

type Range = std::ops::Range<usize>;

/// Formats all ranges, some at a time by all threads, and writes them in order.
fn in_order(
    out: &mut dyn Write,
    executor: &Executor,
    ranges: Vec<Range>,
    format: impl Fn(Range, &mut Vec<u8>) -> std::io::Result<()> + Sync + Send,
) -> Result<(), Problem> {
    for some in ranges.chunks(4 * executor.threads()) {
        let bytes = some.len() * ENTRIES;
        let texts = executor.run(bytes, some.to_vec(), |range| {
            let mut text = Vec::new();
            format(range, &mut text).map(|()| text)
        });
        for text in texts {
            out.write_all(&text?)?;
        }
    }
    Ok(())
}

fn banner<T: Scalar>(
    out: &mut dyn Write,
    layout: &str,
    symmetry: EntrySymmetry,
) -> Result<(), Problem> {
    let field = match T::KIND.is_complex() {
        true => "complex",
        false => "real",
    };
    let symmetry = symmetry.name();
    Ok(writeln!(
        out,
        "%%MatrixMarket matrix {layout} {field} {symmetry}"
    )?)
}

/// The shortest digits that give the same double; narrower types are written as the double that
/// equals them.
fn write_value<T: Scalar>(text: &mut Vec<u8>, value: T) -> std::io::Result<()> {
    let c64 { re, im } = value.to_c64();
    match T::KIND.is_complex() {
        true => writeln!(text, "{re:?} {im:?}"),
        false => writeln!(text, "{re:?}"),
    }
}

/// Row ranges of about [`ENTRIES`] entries.
fn row_ranges(offsets: &[usize]) -> Vec<Range> {
    let rows = offsets.len() - 1;
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < rows {
        let end = offsets.partition_point(|&offset| offset < offsets[start] + ENTRIES);
        // Empty rows cost little, but not nothing.
        let end = end.clamp(start + 1, rows.min(start + ENTRIES));
        ranges.push(start..end);
        start = end;
    }
    ranges
}

fn symmetry_of<T: Scalar>(matrix: &Csr<T>) -> EntrySymmetry {
    let candidates: &[EntrySymmetry] = match T::KIND.is_complex() {
        true => &[EntrySymmetry::Hermitian, EntrySymmetry::Symmetric],
        false => &[EntrySymmetry::Symmetric],
    };
    let found = candidates.iter().find(|&&symmetry| has(matrix, symmetry));
    found.copied().unwrap_or(EntrySymmetry::General)
}

/// Whether every entry has its mirror image, bit for bit.
fn has<T: Scalar>(matrix: &Csr<T>, symmetry: EntrySymmetry) -> bool {
    let size = matrix.size();
    let bits = |value: c64| (value.re.to_bits(), value.im.to_bits());
    let mirrored = |row: usize, column: u32, value: T| {
        let own = value.to_c64();
        if column as usize == row {
            return symmetry != EntrySymmetry::Hermitian || own.im == 0.0;
        }
        let other = matrix.entry(column as usize, row);
        other.is_some_and(|other| bits(symmetry.mirror(other.to_c64())) == bits(own))
    };
    size.rows == size.cols
        && (0..size.rows).all(|row| {
            let (columns, values) = matrix.row(row);
            let mut entries = columns.iter().zip(values);
            entries.all(|(&column, &value)| mirrored(row, column, value))
        })
}
