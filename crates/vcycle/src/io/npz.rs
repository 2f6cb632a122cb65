//! Sparse matrices as SciPy's `save_npz` writes them.

use std::io::Write;

use super::memory::reserve;
use super::npy::{self, Array, NpyElement, wrong};
use super::triplets::{self, EntrySymmetry, Triplets};
use super::zip::{Archive, Writer};
use super::{AnyMatrix, MatrixReader, Progress};
use crate::error::{Fault, Problem};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates, Extent};
use crate::scalar::Scalar;

/// Reads a matrix of SciPy's formats csr, csc, coo, bsr or dia.
pub(super) fn read_matrix(
    archive: &Archive,
    executor: &Executor,
    reader: &MatrixReader,
    progress: &mut dyn FnMut(Progress),
) -> Result<AnyMatrix, Fault> {
    let (extent, unpacked) = extent(archive)?;
    reader.admission.check(extent, unpacked, executor)?;
    let duplicates = reader.duplicates;
    let data = member(archive, "data")?;
    let data = Array::parse(&data)?;
    let matrix = match data.is_complex() {
        true => AnyMatrix::Complex(matrix(archive, &data, executor, duplicates)?),
        false => AnyMatrix::Real(matrix(archive, &data, executor, duplicates)?),
    };
    let total_bytes = archive.length();
    progress(Progress {
        bytes: total_bytes,
        total_bytes,
    });
    Ok(matrix)
}

/// How large the matrix will be, as far as the sizes of the arrays tell, and their bytes in memory.
fn extent(archive: &Archive) -> Result<(Extent, usize), Problem> {
    let size = shape(archive)?;
    let value_bytes = size_of::<f64>();
    let values = archive.size_of("data.npy").unwrap_or(0);
    let extent = Extent {
        rows: size.rows,
        entries: values / value_bytes,
        value_bytes,
    };
    // As bytes and as numbers, while indices are as wide as the system's.
    Ok((extent, values.saturating_mul(2)))
}

fn shape(archive: &Archive) -> Result<Size, Problem> {
    match *integers(archive, "shape")?.as_slice() {
        [rows, cols] if rows >= 0 && cols >= 0 => Ok(Size::new(rows as usize, cols as usize)),
        ref other => Err(wrong(format!("a shape of {other:?} is no matrix"))),
    }
}

fn member(archive: &Archive, name: &str) -> Result<Vec<u8>, Problem> {
    let missing = || wrong(format!("the archive has no array `{name}`"));
    archive.member(&format!("{name}.npy"))?.ok_or_else(missing)
}

fn integers(archive: &Archive, name: &str) -> Result<Vec<i64>, Problem> {
    Array::parse(&member(archive, name)?)?.integers()
}

fn matrix<T: NpyElement>(
    archive: &Archive,
    data: &Array<'_>,
    executor: &Executor,
    duplicates: Duplicates,
) -> Result<Csr<T>, Problem> {
    let format = Array::parse(&member(archive, "format")?)?.text()?;
    let size = shape(archive)?;
    let values = T::of(data)?;
    let entries = match format.as_str() {
        "csr" => {
            let bounds = bounds(archive, "rows", size.rows)?;
            let columns = indices(&integers(archive, "indices")?, "column", size.cols)?;
            let matrix = Csr::from_arrays(executor, size, bounds, columns, values, duplicates)?;
            matrix.check_finite()?;
            return Ok(matrix);
        }
        "csc" => {
            let (columns, rows) = expanded(archive, "columns", size.cols)?;
            triplets(size, rows, columns, values)?
        }
        "coo" => {
            let (rows, columns) = (integers(archive, "row")?, integers(archive, "col")?);
            triplets(size, rows, columns, values)?
        }
        "bsr" => blocks(archive, size, &data.shape, values)?,
        "dia" => diagonals(archive, size, &data.shape, &values)?,
        other => return Err(wrong(format!("unknown sparse format `{other}`"))),
    };
    let (pieces, general) = (vec![entries], EntrySymmetry::General);
    let matrix = triplets::assemble(executor, size, pieces, general, duplicates)?;
    matrix.check_finite()?;
    Ok(matrix)
}

/// The array `indptr`, checked: it has one more value than there are `count` `things`.
fn bounds(archive: &Archive, things: &str, count: usize) -> Result<Vec<usize>, Problem> {
    let bounds = integers(archive, "indptr")?;
    if bounds.len().checked_sub(1) != Some(count) {
        let found = bounds.len();
        return Err(wrong(format!(
            "indptr has {found} values for {count} {things}"
        )));
    }
    if bounds[0] != 0 || !bounds.is_sorted() {
        return Err(wrong("indptr does not increase from 0"));
    }
    Ok(bounds.into_iter().map(|bound| bound as usize).collect())
}

/// For compressed storage, the compressed index of each entry beside the stored one.
fn expanded(
    archive: &Archive,
    things: &str,
    count: usize,
) -> Result<(Vec<i64>, Vec<i64>), Problem> {
    let bounds = bounds(archive, things, count)?;
    let stored = integers(archive, "indices")?;
    if bounds[count] != stored.len() {
        let found = stored.len();
        return Err(wrong(format!(
            "indptr ends with {}, indices has {found} values",
            bounds[count]
        )));
    }
    let mut outer = reserve(stored.len())?;
    for (index, bound) in bounds.windows(2).enumerate() {
        outer.extend(std::iter::repeat_n(index as i64, bound[1] - bound[0]));
    }
    Ok((outer, stored))
}

/// Indices from 0, checked.
fn indices(found: &[i64], axis: &'static str, limit: usize) -> Result<Vec<u32>, Problem> {
    let inside = |&index: &i64| {
        let narrow = u32::try_from(index).ok();
        let inside = narrow.filter(|&index| (index as usize) < limit);
        inside.ok_or_else(|| wrong(format!("{axis} index {index} is outside 0..{limit}")))
    };
    let mut indices = reserve(found.len())?;
    for index in found {
        indices.push(inside(index)?);
    }
    Ok(indices)
}

fn triplets<T: NpyElement>(
    size: Size,
    rows: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<T>,
) -> Result<Triplets<T>, Problem> {
    let [high, wide, long] = [rows.len(), columns.len(), values.len()];
    if high != long || wide != long {
        let found = format!("{high} row indices, {wide} column indices, {long} values");
        return Err(wrong(found));
    }
    let rows = indices(&rows, "row", size.rows)?;
    let columns = indices(&columns, "column", size.cols)?;
    Ok(Triplets::new(rows, columns, values, EntrySymmetry::General))
}

/// Block rows: `data` has the shape blocks x rows x columns.
fn blocks<T: NpyElement>(
    archive: &Archive,
    size: Size,
    shape: &[usize],
    values: Vec<T>,
) -> Result<Triplets<T>, Problem> {
    let &[count, high, wide] = shape else {
        return Err(wrong("data of a bsr matrix must have three dimensions"));
    };
    let divides = |block: usize, length: usize| block > 0 && length.is_multiple_of(block);
    if !divides(high, size.rows) || !divides(wide, size.cols) {
        let reason = format!("blocks of {high} x {wide} do not tile {size}");
        return Err(wrong(reason));
    }
    let (block_rows, block_columns) = expanded(archive, "block rows", size.rows / high)?;
    let found = block_rows.len();
    if found != count {
        return Err(wrong(format!("{found} block indices, {count} blocks")));
    }
    let mut rows = reserve(values.len())?;
    let mut columns = reserve(values.len())?;
    for (&block_row, &block_column) in block_rows.iter().zip(&block_columns) {
        for row in 0..high as i64 {
            for column in 0..wide as i64 {
                let first = block_column.saturating_mul(wide as i64);
                rows.push(block_row * high as i64 + row);
                columns.push(first.saturating_add(column));
            }
        }
    }
    triplets(size, rows, columns, values)
}

/// Diagonals: `data[d, j]` stands in column `j` of diagonal `offsets[d]`; zeros are dropped.
fn diagonals<T: NpyElement>(
    archive: &Archive,
    size: Size,
    shape: &[usize],
    values: &[T],
) -> Result<Triplets<T>, Problem> {
    let offsets = integers(archive, "offsets")?;
    let &[count, length] = shape else {
        return Err(wrong("data of a dia matrix must have two dimensions"));
    };
    let found = offsets.len();
    if found != count {
        return Err(wrong(format!("{found} offsets, {count} diagonals")));
    }
    triplets::check_plausible(size, values.len())?;
    let (mut rows, mut columns, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (diagonal, &offset) in values.chunks_exact(length.max(1)).zip(&offsets) {
        for (column, &value) in diagonal.iter().take(size.cols).enumerate() {
            let row = (column as i64).saturating_sub(offset);
            if row >= 0 && (row as u64) < size.rows as u64 && !value.is_zero() {
                rows.push(row as u32);
                columns.push(column as u32);
                kept.push(value);
            }
        }
    }
    Ok(Triplets::new(rows, columns, kept, EntrySymmetry::General))
}

/// Writes a matrix that SciPy's `load_npz` reads as csr.
pub(super) fn write_matrix<T: Scalar>(out: &mut dyn Write, matrix: &Csr<T>) -> Result<(), Problem> {
    let Size { rows, cols } = matrix.size();
    let entries = matrix.nonzeros();
    let mut archive = Writer::new(out);
    archive.member("indices.npy", |out| {
        let columns = matrix.columns().iter().map(|&column| column as usize);
        write_indices(out, matrix, entries, columns)
    })?;
    archive.member("indptr.npy", |out| {
        write_indices(out, matrix, rows + 1, matrix.offsets().iter().copied())
    })?;
    archive.member("format.npy", |out| {
        npy::write_header(out, "|S3", &[])?;
        out.write_all(b"csr")
    })?;
    archive.member("shape.npy", |out| {
        npy::write_header(out, "<i8", &[2])?;
        out.write_all(&(rows as i64).to_le_bytes())?;
        out.write_all(&(cols as i64).to_le_bytes())
    })?;
    archive.member("data.npy", |out| {
        npy::write_header(out, npy::description(T::KIND), &[entries])?;
        npy::write_values(out, matrix.values())
    })?;
    archive.finish()
}

/// SciPy wants both index arrays in one type: 32 bits where all fit.
fn write_indices<T: Scalar>(
    out: &mut dyn Write,
    matrix: &Csr<T>,
    count: usize,
    indices: impl Iterator<Item = usize>,
) -> std::io::Result<()> {
    let Size { rows, cols } = matrix.size();
    let narrow = i32::try_from(rows.max(cols).max(matrix.nonzeros())).is_ok();
    npy::write_header(out, if narrow { "<i4" } else { "<i8" }, &[count])?;
    for index in indices {
        match narrow {
            true => out.write_all(&(index as i32).to_le_bytes())?,
            false => out.write_all(&(index as i64).to_le_bytes())?,
        }
    }
    Ok(())
}
