//! What smoothers need of a matrix.

use super::tiles::{graph, shape, tile_file};
use super::{Queue, number, read, write};
use crate::backend::gpu::{File, scalars};
use crate::error::Result;
use crate::executor::Buffer;
use crate::matrix::Csr;
use crate::scalar::{Field, Scalar};

const FILE: File = tile_file!("smoother.c");

/// What the rows of a matrix are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divisor {
    Diagonal,
    /// The sum of all absolute values.
    RowSum,
}

/// Inverses, and rows that have none.
pub(crate) struct Inverses<T> {
    pub(crate) values: Buffer<T>,
    /// The first row whose divisor is zero.
    pub(crate) zero: Option<usize>,
    /// The first row whose inverse cannot be stored.
    pub(crate) not_finite: Option<usize>,
}

/// `weight` over what every row is divided by.
pub(crate) fn inverses<T: Scalar>(
    queue: Queue<'_>,
    a: &Csr<T>,
    divisor: Divisor,
    weight: f64,
) -> Result<Inverses<T>> {
    let shape = shape(a.pattern());
    let (name, shape) = match divisor {
        Divisor::Diagonal => ("smoother_diagonal", (shape.0, 1)),
        Divisor::RowSum => ("smoother_row_sums", shape),
    };
    let (mut values, mut first) = (queue.room(shape.0)?, queue.filled(2, u32::MAX)?);
    let weight = scalars::number(T::Arith::from_f64(weight));
    let [offsets, columns] = graph(a.pattern())?;
    let operands = [number(shape.0), offsets, columns, read(a.values_buffer())?];
    let results = [weight, write(&mut values)?, write(&mut first)?];
    let arguments = [operands.as_slice(), &results].concat();
    let defines = [("T", queue.gpu.real(T::KIND)?)];
    queue.rows(FILE, name, &defines, shape, &arguments)?;
    let row = |place: usize| {
        let row = first.host()?[place];
        Ok::<_, crate::Error>((row != u32::MAX).then_some(row as usize))
    };
    Ok(Inverses {
        zero: row(0)?,
        not_finite: row(1)?,
        values,
    })
}

/// The largest absolute row sum over the diagonal.
pub(crate) fn row_sum_bound<T: Scalar>(queue: Queue<'_>, a: &Csr<T>) -> Result<f64> {
    let shape = shape(a.pattern());
    let mut bounds = queue.zeros::<f64>(queue.most_blocks())?;
    let [offsets, columns] = graph(a.pattern())?;
    let arguments = [
        number(shape.0),
        offsets,
        columns,
        read(a.values_buffer())?,
        write(&mut bounds)?,
    ];
    let defines = [("T", queue.gpu.real(T::KIND)?)];
    queue.rows(FILE, "smoother_bound", &defines, shape, &arguments)?;
    Ok(bounds.host()?.iter().copied().fold(0.0, f64::max))
}

/// Numbers in -1..1 that look random.
pub(crate) fn scattered<T: Scalar>(queue: Queue<'_>, rows: usize) -> Result<Buffer<T>> {
    let mut values = queue.room(rows)?;
    let arguments = [number(rows), write(&mut values)?];
    let defines = [("T", queue.gpu.real(T::KIND)?)];
    queue.rows(FILE, "smoother_scatter", &defines, (rows, 1), &arguments)?;
    Ok(values)
}
