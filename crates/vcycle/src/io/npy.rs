//! NumPy arrays.
//!
//! The format: NumPy enhancement proposal 1, "A simple file format for NumPy arrays". Written here because crates take
//! the memory that a file claims before they read it: `npyz` (0.9.1, `header.rs`, `read_header`) and `ndarray-npy`
//! (0.10.0, `npy/header.rs`) up to 4 GiB for the header, the latter also any length that the shape has
//! (`npy/elements/num.rs`). `tests/read_fuzz.rs` has such files (`arrays_that_claim_more_than_there_is`).

use std::io::{Read, Write};
use std::path::Path;

use super::memory::reserve;
use super::triplets::{self, EntrySymmetry};
use super::{AnyMatrix, AnyVector, Progress, compression};
use crate::error::{Fault, Problem};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates};
use crate::scalar::{Field, Kind, Scalar, c64, f16};
use crate::vector::Vector;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy pads headers to a multiple of this.
const ALIGNMENT: usize = 64;

pub(super) fn wrong(reason: impl Into<String>) -> Problem {
    Problem::Array(reason.into())
}

/// An array in the bytes of a file.
pub(super) struct Array<'a> {
    kind: u8,
    item: usize,
    big_endian: bool,
    fortran_order: bool,
    pub(super) shape: Vec<usize>,
    data: &'a [u8],
}

/// A type that arrays are read into.
pub(super) trait NpyElement: Field {
    /// The values in the order of the file.
    fn of(array: &Array<'_>) -> Result<Vec<Self>, Problem>;
}

impl NpyElement for f64 {
    fn of(array: &Array<'_>) -> Result<Vec<f64>, Problem> {
        array.reals(array.kind, array.item)
    }
}

impl NpyElement for c64 {
    fn of(array: &Array<'_>) -> Result<Vec<c64>, Problem> {
        let parts = array.reals(b'f', array.item / 2)?;
        let mut values = reserve(parts.len() / 2)?;
        values.extend(parts.chunks_exact(2).map(|part| c64::new(part[0], part[1])));
        Ok(values)
    }
}

impl<'a> Array<'a> {
    /// Reads the header and finds the data.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| wrong("not a NumPy array"))?;
        let (length, rest) = match *rest {
            [1, _, a, b, ref rest @ ..] => (u32::from_le_bytes([a, b, 0, 0]), rest),
            [2..=3, _, a, b, c, d, ref rest @ ..] => (u32::from_le_bytes([a, b, c, d]), rest),
            [] | [1..=3, ..] => return Err(Problem::Truncated),
            [version, ..] => return Err(wrong(format!("array format {version} is unknown"))),
        };
        let (header, data) = rest
            .split_at_checked(length as usize)
            .ok_or(Problem::Truncated)?;
        let header = std::str::from_utf8(header).map_err(|_| wrong("header is not UTF-8"))?;
        let (kind, item, big_endian) = element_type(value_of(header, "descr")?)?;
        let shape = shape(value_of(header, "shape")?)?;
        let fortran_order = match value_of(header, "fortran_order")? {
            order if order.starts_with("True") => true,
            order if order.starts_with("False") => false,
            _ => return Err(wrong("fortran_order is neither True nor False")),
        };
        let array = Self {
            kind,
            item,
            big_endian,
            fortran_order,
            shape,
            data,
        };
        array.check_length()
    }

    fn check_length(mut self) -> Result<Self, Problem> {
        let bytes = self
            .shape
            .iter()
            .try_fold(self.item, |bytes, &extent| bytes.checked_mul(extent));
        let found = bytes.and_then(|bytes| self.data.get(..bytes));
        self.data = found.ok_or(Problem::Truncated)?;
        Ok(self)
    }

    pub(super) fn is_complex(&self) -> bool {
        self.kind == b'c'
    }

    /// The values as whole numbers.
    pub(super) fn integers(&self) -> Result<Vec<i64>, Problem> {
        match (self.kind, self.item) {
            (b'i', 1) => self.decode(|bytes| i8::from_le_bytes(bytes).into()),
            (b'i', 2) => self.decode(|bytes| i16::from_le_bytes(bytes).into()),
            (b'i', 4) => self.decode(|bytes| i32::from_le_bytes(bytes).into()),
            (b'i', 8) => self.decode(i64::from_le_bytes),
            (b'u' | b'b', 1) => self.decode(|bytes| u8::from_le_bytes(bytes).into()),
            (b'u', 2) => self.decode(|bytes| u16::from_le_bytes(bytes).into()),
            (b'u', 4) => self.decode(|bytes| u32::from_le_bytes(bytes).into()),
            (b'u', 8) => {
                self.decode(|bytes| u64::from_le_bytes(bytes).try_into().unwrap_or(i64::MAX))
            }
            _ => Err(self.unsuited("whole numbers")),
        }
    }

    /// The values as text: Python's `bytes` or `str`.
    pub(super) fn text(&self) -> Result<String, Problem> {
        match self.kind {
            // Letters of names in four bytes each.
            b'S' | b'U' => {
                let bytes = self.data.iter().copied().filter(|&byte| byte != 0);
                Ok(String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned())
            }
            _ => Err(self.unsuited("text")),
        }
    }

    fn reals(&self, kind: u8, item: usize) -> Result<Vec<f64>, Problem> {
        match (kind, item) {
            (b'f', 8) => self.decode(f64::from_le_bytes),
            (b'f', 4) => self.decode(|bytes| f32::from_le_bytes(bytes).into()),
            (b'f', 2) => self.decode(|bytes| f16::from_le_bytes(bytes).into()),
            (b'i' | b'u' | b'b', _) => {
                let integers = self.integers()?;
                Ok(integers.into_iter().map(|value| value as f64).collect())
            }
            _ => Err(self.unsuited("numbers")),
        }
    }

    fn decode<const N: usize, T>(&self, convert: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Problem> {
        let (items, _) = self.data.as_chunks::<N>();
        let mut values = reserve(items.len())?;
        values.extend(items.iter().map(|&(mut bytes)| {
            if self.big_endian {
                bytes.reverse();
            }
            convert(bytes)
        }));
        Ok(values)
    }

    fn unsuited(&self, wanted: &str) -> Problem {
        let kind = self.kind.escape_ascii();
        wrong(format!(
            "elements of type {kind}{} are not {wanted}",
            self.item
        ))
    }

    /// Rows and columns; one dimension is a column.
    fn size(&self) -> Result<Size, Problem> {
        match *self.shape {
            [rows] => Ok(Size::new(rows, 1)),
            [rows, cols] => Ok(Size::new(rows, cols)),
            _ => Err(wrong(format!(
                "an array of {} dimensions is no matrix",
                self.shape.len()
            ))),
        }
    }

    /// Row and column of the values, in the order of the file.
    fn positions(&self, size: Size) -> impl Iterator<Item = (usize, usize)> + use<> {
        let fortran_order = self.fortran_order;
        let count = size.rows * size.cols;
        (0..count).map(move |place| match fortran_order {
            true => (place % size.rows, place / size.rows),
            false => (place / size.cols, place % size.cols),
        })
    }
}

/// What follows a key in the Python dictionary of the header.
fn value_of<'a>(header: &'a str, key: &str) -> Result<&'a str, Problem> {
    ['\'', '"']
        .iter()
        .find_map(|quote| header.split_once(&format!("{quote}{key}{quote}:")))
        .map(|(_, value)| value.trim_start())
        .ok_or_else(|| wrong(format!("header lacks `{key}`")))
}

/// Kind, bytes and order of the elements, from a description such as `'<f8'`.
fn element_type(text: &str) -> Result<(u8, usize, bool), Problem> {
    let unknown = || wrong("elements of unknown type");
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (description, _) = text[1.min(text.len())..]
        .split_once(quote.ok_or_else(unknown)?)
        .ok_or_else(unknown)?;
    let (&[order, kind], size) = description
        .as_bytes()
        .split_first_chunk()
        .ok_or_else(unknown)?;
    let count = std::str::from_utf8(size)
        .ok()
        .and_then(|size| size.parse::<usize>().ok());
    let item = count
        .filter(|&count| count > 0 && count <= 1 << 16)
        .ok_or_else(unknown)?;
    match order {
        b'<' | b'|' | b'=' | b'>' => {
            let bytes = if kind == b'U' { 4 * item } else { item };
            Ok((kind, bytes, order == b'>'))
        }
        _ => Err(unknown()),
    }
}

/// The extents, from a Python tuple.
fn shape(text: &str) -> Result<Vec<usize>, Problem> {
    let inside = text
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(|| wrong("shape is not a tuple"))?;
    let words = inside
        .0
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse()
                .map_err(|_| wrong(format!("extent `{word}` is not a number")))
        })
        .collect()
}

/// The bytes of a file.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, Problem> {
    let (mut stream, meter) = compression::open(path, compression::Compression::None)?;
    let mut bytes = reserve(usize::try_from(meter.length).unwrap_or(usize::MAX))?;
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a dense matrix; its zeros are dropped.
pub(super) fn read_matrix(
    bytes: &[u8],
    executor: &Executor,
    progress: &mut dyn FnMut(Progress),
) -> Result<AnyMatrix, Fault> {
    let total_bytes = bytes.len() as u64;
    progress(Progress {
        bytes: total_bytes,
        total_bytes,
    });
    let array = Array::parse(bytes)?;
    Ok(match array.is_complex() {
        true => AnyMatrix::Complex(matrix(executor, &array)?),
        false => AnyMatrix::Real(matrix(executor, &array)?),
    })
}

fn matrix<T: NpyElement>(executor: &Executor, array: &Array<'_>) -> Result<Csr<T>, Problem> {
    let size = array.size()?;
    // Before positions become 32-bit indices.
    triplets::check_plausible(size, array.data.len())?;
    let values = T::of(array)?;
    let general = EntrySymmetry::General;
    let entries = triplets::from_dense(array.positions(size), &values, general)?;
    let matrix = triplets::assemble(executor, size, vec![entries], general, Duplicates::Refuse)?;
    matrix.check_finite()?;
    Ok(matrix)
}

/// Reads a dense block of columns.
pub(super) fn read_vector(path: &Path, executor: &Executor) -> Result<AnyVector, Fault> {
    let bytes = read_file(path)?;
    let array = Array::parse(&bytes)?;
    Ok(match array.is_complex() {
        true => AnyVector::Complex(vector(executor, &array)?),
        false => AnyVector::Real(vector(executor, &array)?),
    })
}

fn vector<T: NpyElement>(executor: &Executor, array: &Array<'_>) -> Result<Vector<T>, Problem> {
    let size = array.size()?;
    let values = T::of(array)?;
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        let (row, column) = array.positions(size).nth(place).unwrap_or_default();
        return Err(Problem::NonFinite {
            row: row + 1,
            column: column + 1,
        });
    }
    let mut rows = values;
    if array.fortran_order && size.cols > 1 {
        let columns = std::mem::replace(&mut rows, reserve(size.rows * size.cols)?);
        for row in 0..size.rows {
            rows.extend((0..size.cols).map(|col| columns[col * size.rows + row]));
        }
    }
    Ok(Vector::from_rows(executor, size.cols, rows)?)
}

/// Writes a dense block; one column has one dimension.
pub(super) fn write_vector<T: Scalar>(
    out: &mut dyn Write,
    vector: &Vector<T>,
) -> Result<(), Problem> {
    let shape = match vector.cols() {
        1 => vec![vector.rows()],
        cols => vec![vector.rows(), cols],
    };
    let values = &vector.to_vec()[..];
    write_header(out, description(T::KIND), &shape)?;
    Ok(write_values(out, values)?)
}

/// Writes what precedes the values of an array in row order.
pub(super) fn write_header(
    out: &mut dyn Write,
    description: &str,
    shape: &[usize],
) -> std::io::Result<()> {
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let header =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({extents}), }}");
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&(padded as u16).to_le_bytes())?;
    writeln!(out, "{header:width$}", width = padded - 1)
}

/// The elements a kind is written as. NumPy lacks `bf16`; `f32` holds it exactly.
pub(super) fn description(kind: Kind) -> &'static str {
    match kind {
        Kind::F64 => "<f8",
        Kind::F32 | Kind::Bf16 => "<f4",
        Kind::F16 => "<f2",
        Kind::C64 => "<c16",
        Kind::C32 => "<c8",
    }
}

/// Writes values as [`description`] says.
pub(super) fn write_values<T: Scalar>(out: &mut dyn Write, values: &[T]) -> std::io::Result<()> {
    for &value in values {
        let c64 { re, im } = value.to_c64();
        for part in [re, im]
            .into_iter()
            .take(1 + usize::from(T::KIND.is_complex()))
        {
            match T::KIND {
                Kind::F64 | Kind::C64 => out.write_all(&part.to_le_bytes())?,
                Kind::F32 | Kind::C32 | Kind::Bf16 => {
                    out.write_all(&(part as f32).to_le_bytes())?
                }
                Kind::F16 => out.write_all(&f16::from_f64(part).to_le_bytes())?,
            }
        }
    }
    Ok(())
}
