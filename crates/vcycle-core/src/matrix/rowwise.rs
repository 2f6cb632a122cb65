//! The operator around the kernels of all formats that multiply row by row.

use vcycle_kernels::compiled;

use num_traits::Zero;

use super::csr::{Rows, build};
use super::{Csr, balance};
use crate::cpu::formats::PADDING;
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::linop::{Size, Transpose, check_apply};
pub(crate) use crate::operations::Finish;
use crate::operations::csr;
use crate::operations::rows::{Add, ByRows, Part};
use crate::reference::rows::{self as host, Column, Sum};
use crate::scalar::{Mixes, Scalar};
use crate::vector::Vector;
use crate::workspace::Workspace;

/// A format that knows its rows: all that is said of it without the types of vectors.
pub(crate) trait Rowwise<T: Scalar>: Sync {
    /// The name of its product in messages.
    fn name(&self) -> &'static str;
    /// Whether a stored zero is an entry.
    fn keeps_zeros(&self) -> bool {
        true
    }
    fn size(&self) -> Size;
    fn executor(&self) -> &Executor;
    fn nonzeros(&self) -> usize;
    fn bytes(&self) -> usize;
    /// Appends the columns and values of a row, in the order of CSR.
    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>);
    /// Bounds of row ranges of about equal work.
    fn pieces(&self) -> &[usize];
    /// Rows that are worked on together: what [`RowKernel::add`] is asked for is made of whole
    /// such groups.
    fn rows_together(&self) -> usize {
        1
    }
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

/// The product, and what becomes of it.
pub(crate) fn multiply<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &impl RowKernel<M>,
    x: &Vector<X>,
    finish: Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    multiply_by(
        a,
        &|first, sums, x| a.add::<X, Y>(first, sums, x),
        x,
        finish,
        y,
        ws,
    )
}

/// The same by a kernel; the reference adds row by row instead.
fn multiply_by<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: &dyn Rowwise<M>,
    kernel: &Add<'_, M, X, Y>,
    x: &Vector<X>,
    finish: Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()> {
    check_apply(a.name(), a.size(), a.executor(), x, y)?;
    if let Finish::Combine { z: Some(b), .. } = finish {
        check_apply(a.name(), a.size(), a.executor(), x, b)?;
    }
    let by_rows = |first: usize, sums: &mut [Sum<M, X, Y>], x: Column<'_, X>| {
        each_row(a, first..first + sums.len(), &mut |row, entries| {
            sums[row - first] += host::row_sum::<M, X, Y>(entries, x);
        });
    };
    let rows = ByRows::<M, X, Y> {
        executor: a.executor(),
        pieces: a.pieces(),
        bytes: a.bytes(),
        rows_together: a.rows_together(),
        add: match a.executor() {
            Executor::Reference => &by_rows,
            Executor::Cpu(_) | Executor::Gpu(_) => kernel,
        },
        parts: &|| a.parts(),
    };
    rows.multiply(x, finish, y, ws)
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
    let size = a.size().transposed();
    check_apply(a.name(), size, a.executor(), x, y)?;
    if a.executor().is_device() {
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
    let mut sums = ws.vector::<Sum<M, X, Y>>(a.executor(), size.rows, cols)?;
    let (x, y, sums) = (x.host()?, y.host_mut()?, sums.host_mut()?);
    sums.fill(Zero::zero());
    each_row(a, 0..size.cols, &mut |row, entries| {
        let x = &x[row * cols..(row + 1) * cols];
        host::add_transposed::<M, X, Y>(mode == Transpose::Conjugate, entries, x, sums);
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
    let (executor, keeps_zeros) = (a.executor(), a.keeps_zeros());
    let bounds = match a.pieces() {
        [] => balance(a.size().rows, |row| row),
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
    let arrays = build(executor, &bounds, a.bytes(), scratch, fill)?;
    Ok(arrays.into_csr(executor, a.size()))
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

/// Arrays of padded columns and values, or an error before anything is allocated.
pub(crate) fn padded<T: Scalar>(
    format: &'static str,
    executor: &Executor,
    slots: usize,
    entries: usize,
) -> Result<(Buffer<u32>, Buffer<T>)> {
    check_padding(format, slots, entries)?;
    Ok((
        Buffer::filled(executor, slots, PADDING)?,
        Buffer::filled(executor, slots, T::default())?,
    ))
}

/// The common methods of a format and its [`LinOp`](crate::linop::LinOp). Its rows are those of a field, if one is named.
macro_rules! rowwise_operator {
    ($matrix:ident $(.$rows:ident)?) => {
        impl<T: Scalar> $matrix<T> {
            /// Rows and columns.
            pub fn size(&self) -> Size {
                Rowwise::<T>::size(&(*self)$(.$rows)?)
            }

            /// Where the matrix lives.
            pub fn executor(&self) -> &Executor {
                Rowwise::<T>::executor(&(*self)$(.$rows)?)
            }

            /// Stored entries, zeros among them included, padding not.
            pub fn nonzeros(&self) -> usize {
                Rowwise::<T>::nonzeros(&(*self)$(.$rows)?)
            }

            /// Bytes held, padding included.
            pub fn bytes(&self) -> usize {
                Rowwise::<T>::bytes(&(*self)$(.$rows)?)
            }

            /// The same matrix in compressed sparse rows.
            ///
            /// # Panics
            /// When memory is short, or a device fails.
            pub fn to_csr(&self) -> Csr<T> {
                rowwise::to_csr(&(*self)$(.$rows)?).expect("memory for the entries")
            }
        }

        impl<M, X, Y> LinOp<X, Y> for $matrix<M>
        where
            M: Mixes<X, Y> + Mixes<Y, X>,
            X: Scalar,
            Y: Scalar,
        {
            fn size(&self) -> Size {
                self.size()
            }

            fn executor(&self) -> &Executor {
                self.executor()
            }

            fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, ws: &Workspace) -> Result<()> {
                rowwise::multiply(&(*self)$(.$rows)?, x, rowwise::Finish::Apply, y, ws)
            }

            fn apply_advanced(
                &self,
                alpha: Coefficient<'_, Y>,
                x: &Vector<X>,
                beta: Coefficient<'_, Y>,
                y: &mut Vector<Y>,
                ws: &Workspace,
            ) -> Result<()> {
                let finish = rowwise::Finish::Combine { alpha, beta, z: None };
                rowwise::multiply(&(*self)$(.$rows)?, x, finish, y, ws)
            }

            fn residual(
                &self,
                b: &Vector<Y>,
                x: &Vector<X>,
                r: &mut Vector<Y>,
                ws: &Workspace,
            ) -> Result<()> {
                rowwise::multiply(&(*self)$(.$rows)?, x, rowwise::Finish::residual(b), r, ws)
            }

            fn apply_transposed(
                &self,
                mode: Transpose,
                x: &Vector<Y>,
                y: &mut Vector<X>,
                ws: &Workspace,
            ) -> Result<()> {
                rowwise::apply_transposed(&(*self)$(.$rows)?, mode, x, y, ws)
            }

            fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
                let rows = rowwise::to_csr(&(*self)$(.$rows)?).ok()?;
                rows.convert().ok().map(Cow::Owned)
            }

            fn footprint(&self) -> Footprint {
                Footprint {
                    held: self.bytes(),
                    moved: self.bytes(),
                }
            }
        }
    };
}
pub(crate) use rowwise_operator;
