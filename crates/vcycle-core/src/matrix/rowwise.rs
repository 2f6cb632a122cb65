//! The operator around the kernels of all formats that multiply row by row.

use vcycle_kernels::compiled;

use num_traits::Zero;

use super::balance;
use super::csr::{Rows, build};
use super::finished::check;
use crate::linop::{Transpose, check_apply};
use crate::operations::rows::{Add, ByRows, Part};
use crate::operations::{Finish, csr};
use crate::prelude::*;
use crate::reference::rows::{self as host, Column, Sum};

/// What is said of a matrix without its entries and the types of vectors.
pub(crate) struct Shape<'a> {
    /// The name of its product in messages.
    pub name: &'static str,
    pub size: Size,
    pub executor: &'a Executor,
    pub nonzeros: usize,
    pub bytes: usize,
    /// Bounds of row ranges of about equal work.
    pub pieces: &'a [usize],
    /// Rows that are worked on together: what [`RowKernel::add`] is asked for is made of whole such groups.
    pub rows_together: usize,
    /// Whether a stored zero is an entry.
    pub keeps_zeros: bool,
}

/// A format that knows its rows.
pub(crate) trait Rowwise<T: Scalar>: Sync {
    fn shape(&self) -> Shape<'_>;
    /// Appends the columns and values of a row, in the order of CSR.
    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>);
    /// The arrays of the matrix, for devices; where there are several parts, their products are
    /// added up.
    fn parts(&self) -> Result<Vec<Part<'_, T>>>;
    /// The entries as CSR where a device has kernels for that.
    fn rows_of_device(&self) -> Result<Option<Csr<T>>> {
        Ok(None)
    }
}

/// The kernel of a format; [`rowwise_operator`] makes an operator of it.
pub(crate) trait RowKernel<T: Scalar>: Rowwise<T> {
    /// Adds one column of `A x` to the sums of the rows from `first` on.
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>;
}

/// The product, and what becomes of it, by a kernel; the reference adds row by row instead.
pub(crate) fn multiply<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &dyn Rowwise<M>,
    kernel: &Add<'_, M, X, Y>,
    x: &Vector<X>,
    finish: &Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let shape = a.shape();
    check(shape.name, (shape.size, shape.executor), x, finish, y)?;
    let by_rows = |first: usize, sums: &mut [Sum<M, X, Y>], x: Column<'_, X>| {
        each_row(a, first..first + sums.len(), &mut |row, entries| {
            sums[row - first] += host::row_sum::<M, X, Y>(entries, x);
        });
    };
    let rows = ByRows::<M, X, Y> {
        executor: shape.executor,
        pieces: shape.pieces,
        bytes: shape.bytes,
        rows_together: shape.rows_together,
        add: match shape.executor {
            Executor::Reference => &by_rows,
            Executor::Cpu(_) | Executor::Gpu(_) => kernel,
        },
        parts: &|| a.parts(),
    };
    rows.multiply(x, *finish, y, ws)
}

/// Gets a row: its number, columns and values.
type Visit<'a, T> = &'a mut dyn FnMut(usize, (&[u32], &[T]));

/// Shows some rows.
fn each_row<T: Scalar>(a: &dyn Rowwise<T>, rows: std::ops::Range<usize>, visit: Visit<'_, T>) {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        columns.clear();
        values.clear();
        a.take_row(row, &mut columns, &mut values);
        visit(row, (&columns, &values));
    }
}

pub(crate) fn apply_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &dyn Rowwise<M>,
    mode: Transpose,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    let (shape, executor) = (a.shape(), a.shape().executor);
    let size = shape.size.transposed();
    check_apply(shape.name, size, executor, x, y)?;
    if executor.is_device() {
        // CSR keeps its transpose.
        if let [Part::Rows(rows)] = a.parts()?[..] {
            return csr::multiply_transposed(rows, mode, x, y, ws);
        }
        // This one is made anew each time.
        let rows = to_csr(a)?;
        let transposed = match mode {
            Transpose::Plain => rows.transpose()?,
            Transpose::Conjugate => rows.adjoint()?,
        };
        return csr::multiply(&transposed, x, &Finish::Apply, y);
    }
    let cols = x.cols();
    let mut sums = ws.vector::<Sum<M, X, Y>>(executor, size.rows, cols)?;
    let (x, y, sums) = (x.host()?, y.host_mut()?, sums.host_mut()?);
    sums.fill(Zero::zero());
    each_row(a, 0..size.cols, &mut |row, entries| {
        let x = &x[row * cols..(row + 1) * cols];
        host::add_transposed::<M, X, Y>(mode == Transpose::Conjugate, entries, x, 0, sums);
    });
    for (y, sum) in y.iter_mut().zip(sums) {
        *y = M::result(*sum);
    }
    Ok(())
}

/// The entries as CSR, made by all threads.
pub(crate) fn to_csr<T: Scalar>(a: &dyn Rowwise<T>) -> Result<Csr<T>> {
    compiled!(any T: fn(&dyn Rowwise<T>) -> Result<Csr<T>> = rows_of)(a)
}

fn rows_of<T: Scalar>(a: &dyn Rowwise<T>) -> Result<Csr<T>> {
    if let Some(rows) = a.rows_of_device()? {
        return Ok(rows);
    }
    let Shape {
        size,
        executor,
        bytes,
        pieces,
        keeps_zeros,
        ..
    } = a.shape();
    let bounds = match pieces {
        [] => balance(size.rows, |row| row),
        pieces => pieces.to_vec(),
    };
    let fill = |(columns, values): &mut (Vec<u32>, Vec<T>), row: usize, out: &mut Rows<T>| {
        columns.clear();
        values.clear();
        a.take_row(row, columns, values);
        out.append_kept(executor, columns.len(), |at| {
            let keep = keeps_zeros || !values[at].load().is_zero();
            (keep, columns[at], values[at])
        })
    };
    let scratch = || (Vec::new(), Vec::new());
    let arrays = build(executor, &bounds, bytes, scratch, fill)?;
    Ok(arrays.into_csr(executor, size))
}

/// Padding never wastes more than this many slots for an entry ...
const SLOTS_PER_ENTRY: usize = 8;
/// ... unless the matrix is so small that it does not matter.
const SMALL_SLOTS: usize = 1 << 20;

/// Fails where padding would need far more memory than the entries.
pub(crate) fn check_padding(format: &'static str, slots: usize, entries: usize) -> Result<()> {
    if slots > SMALL_SLOTS && slots / SLOTS_PER_ENTRY > entries {
        return Err(Error::TooMuchPadding {
            format,
            slots,
            entries,
        });
    }
    Ok(())
}

/// The common methods of a format and its [`LinOp`](crate::linop::LinOp). Its rows are those of a field, if one is named.
macro_rules! rowwise_operator {
    ($matrix:ident $(.$rows:ident)?) => {
        impl<T: $crate::scalar::Scalar> $matrix<T> {
            /// Rows and columns.
            pub fn size(&self) -> $crate::size::Size {
                $crate::matrix::rowwise::Rowwise::<T>::shape(&(*self)$(.$rows)?).size
            }

            /// Where the matrix lives.
            pub fn executor(&self) -> &$crate::executor::Executor {
                $crate::matrix::rowwise::Rowwise::<T>::shape(&(*self)$(.$rows)?).executor
            }

            /// Stored entries, zeros among them included, padding not.
            pub fn nonzeros(&self) -> usize {
                $crate::matrix::rowwise::Rowwise::<T>::shape(&(*self)$(.$rows)?).nonzeros
            }

            /// Bytes held, padding included.
            pub fn bytes(&self) -> usize {
                $crate::matrix::rowwise::Rowwise::<T>::shape(&(*self)$(.$rows)?).bytes
            }

            /// The same matrix in compressed sparse rows.
            ///
            /// # Panics
            /// When memory is short, or a device fails.
            pub fn to_csr(&self) -> $crate::matrix::Csr<T> {
                $crate::matrix::rowwise::to_csr(&(*self)$(.$rows)?).expect("memory for the entries")
            }

            fn finished<X: $crate::scalar::Scalar, Y: $crate::scalar::Scalar>(
                &self,
                x: &$crate::vector::Vector<X>,
                finish: &$crate::operations::Finish<'_, Y>,
                y: &mut $crate::vector::Vector<Y>,
                ws: &$crate::workspace::Workspace,
            ) -> $crate::error::Result<()>
            where
                T: $crate::scalar::Mixes<X, Y>,
            {
                use $crate::matrix::rowwise::RowKernel;
                let a = &(*self)$(.$rows)?;
                let add: &$crate::operations::rows::Add<'_, T, X, Y> =
                    &|first, sums, x| a.add::<X, Y>(first, sums, x);
                $crate::matrix::rowwise::multiply::<T, X, Y>(a, add, x, finish, y, ws)
            }
        }

        impl<M, X, Y> $crate::linop::LinOp<X, Y> for $matrix<M>
        where
            M: $crate::scalar::Mixes<X, Y> + $crate::scalar::Mixes<Y, X>,
            X: $crate::scalar::Scalar,
            Y: $crate::scalar::Scalar,
        {
            $crate::matrix::finished::finished_products!(X, Y);

            fn apply_transposed(
                &self,
                mode: $crate::linop::Transpose,
                x: &$crate::vector::Vector<Y>,
                y: &mut $crate::vector::Vector<X>,
                ws: &$crate::workspace::Workspace,
            ) -> $crate::error::Result<()> {
                $crate::matrix::rowwise::apply_transposed(&(*self)$(.$rows)?, mode, x, y, ws)
            }

            fn csr(&self) -> Option<std::borrow::Cow<'_, $crate::matrix::Csr<X>>> {
                let rows = $crate::matrix::rowwise::to_csr(&(*self)$(.$rows)?).ok()?;
                rows.convert().ok().map(std::borrow::Cow::Owned)
            }

            fn footprint(&self) -> $crate::linop::Footprint {
                $crate::linop::Footprint::of_bytes(self.bytes())
            }
        }
    };
}
pub(crate) use rowwise_operator;
