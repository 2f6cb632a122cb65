//! The operator around the kernels of all formats that multiply row by row.

use num_traits::Zero;

use super::Csr;
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::linop::{Size, Transpose, check_apply};
pub(crate) use crate::operations::Finish;
use crate::operations::csr;
use crate::operations::rows::{ByRows, Part};
use crate::reference;
use crate::reference::rows::{self as host, Column, Sum};
use crate::scalar::{Mixes, Scalar, convert};
use crate::vector::Vector;
use crate::workspace::Workspace;

/// A format that knows its entries and one kernel; [`rowwise_operator`] makes it an operator.
pub(crate) trait Rowwise: Sync {
    /// The type of the entries.
    type Value: Scalar;
    /// The name in messages.
    const NAME: &'static str;
    /// Whether a stored zero is an entry.
    const KEEPS_ZEROS: bool = true;

    fn size(&self) -> Size;
    fn executor(&self) -> &Executor;
    fn nonzeros(&self) -> usize;
    fn bytes(&self) -> usize;

    /// Row, column and value of every entry, in the order of CSR.
    fn entries(&self) -> impl Iterator<Item = (usize, usize, Self::Value)>;

    /// Bounds of row ranges of about equal work.
    fn pieces(&self) -> &[usize];

    /// Rows that are worked on together: what [`add`](Self::add) is asked for is made of whole
    /// such groups.
    fn rows_together(&self) -> usize {
        1
    }

    /// The arrays of the matrix, for devices; where there are several parts, their products are
    /// added up.
    fn parts(&self) -> Result<Vec<Part<'_, Self::Value>>>;

    /// The entries as CSR where a device has kernels for that.
    fn rows_of_device(&self) -> Result<Option<Csr<Self::Value>>> {
        Ok(None)
    }

    /// Adds one column of `A x` to the sums of the rows from `first` on.
    fn add<X: Scalar, Y: Scalar>(
        &self,
        first: usize,
        sums: &mut [Sum<Self::Value, X, Y>],
        x: Column<'_, X>,
    ) where
        Self::Value: Mixes<X, Y>;
}

/// The product, and what becomes of it.
pub(crate) fn multiply<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    x: &Vector<X>,
    finish: Finish<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    check_apply(F::NAME, a.size(), a.executor(), x, y)?;
    if let Finish::Combine { z: Some(b), .. } = finish {
        check_apply(F::NAME, a.size(), a.executor(), x, b)?;
    }
    let rows = ByRows::<F::Value, X, Y> {
        executor: a.executor(),
        pieces: a.pieces(),
        bytes: a.bytes(),
        rows_together: a.rows_together(),
        add: &|first, sums, x| a.add::<X, Y>(first, sums, x),
        parts: &|| a.parts(),
    };
    rows.multiply(x, finish, y, ws)
}

pub(crate) fn apply_transposed<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    mode: Transpose,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    let size = a.size().transposed();
    check_apply(F::NAME, size, a.executor(), x, y)?;
    if a.executor().is_device() {
        // CSR keeps its transpose.
        if let [Part::Rows(rows)] = a.parts()?[..] {
            return csr::multiply_transposed(rows, mode, x, y, ws);
        }
        // This one is made anew each time.
        let rows = to_csr::<F, F::Value>(a)?;
        let transposed = match mode {
            Transpose::Plain => rows.transpose()?,
            Transpose::Conjugate => rows.adjoint()?,
        };
        return csr::multiply(&transposed, x, &Finish::Apply, y);
    }
    let cols = x.cols();
    let mut sums = ws.vector::<Sum<F::Value, X, Y>>(a.executor(), size.rows, cols)?;
    let (x, y, sums) = (x.host()?, y.host_mut()?, sums.host_mut()?);
    let conjugate = mode == Transpose::Conjugate;
    host::apply_transposed(conjugate, a.entries(), x, y, cols, sums);
    Ok(())
}

/// The entries as CSR, with values of any type that can hold them.
pub(crate) fn to_csr<F: Rowwise, S: Scalar>(a: &F) -> Result<Csr<S>> {
    if F::Value::KIND.is_complex() && !S::KIND.is_complex() {
        return Err(Error::Conversion {
            from: F::Value::KIND,
            to: S::KIND,
        });
    }
    if let Some(rows) = a.rows_of_device()? {
        return rows.convert();
    }
    let mut offsets = vec![0; a.size().rows + 1];
    let mut columns = Vec::with_capacity(a.nonzeros());
    let mut values = Vec::with_capacity(a.nonzeros());
    for (row, column, value) in a.entries() {
        if F::KEEPS_ZEROS || !value.load().is_zero() {
            columns.push(column as u32);
            values.push(convert(value));
            offsets[row + 1] = columns.len();
        }
    }
    for row in 0..a.size().rows {
        offsets[row + 1] = offsets[row + 1].max(offsets[row]);
    }
    Ok(Csr::from_canonical(
        a.executor(),
        a.size(),
        offsets,
        columns,
        values,
    ))
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
        Buffer::filled(executor, slots, reference::ell::PADDING)?,
        Buffer::filled(executor, slots, T::default())?,
    ))
}

/// The common methods of a [`Rowwise`] format and its [`LinOp`](crate::linop::LinOp).
macro_rules! rowwise_operator {
    ($matrix:ident) => {
        impl<T: Scalar> $matrix<T> {
            /// Rows and columns.
            pub fn size(&self) -> Size {
                Rowwise::size(self)
            }

            /// Where the matrix lives.
            pub fn executor(&self) -> &Executor {
                Rowwise::executor(self)
            }

            /// Stored entries, zeros among them included, padding not.
            pub fn nonzeros(&self) -> usize {
                Rowwise::nonzeros(self)
            }

            /// Bytes held, padding included.
            pub fn bytes(&self) -> usize {
                Rowwise::bytes(self)
            }

            /// The same matrix in compressed sparse rows.
            pub fn to_csr(&self) -> Csr<T> {
                rowwise::to_csr(self).expect("a type holds its own values")
            }
        }

        impl<M, X, Y> LinOp<X, Y> for $matrix<M>
        where
            M: Mixes<X, Y> + Mixes<Y, X>,
            X: Scalar,
            Y: Scalar,
        {
            fn size(&self) -> Size {
                Rowwise::size(self)
            }

            fn executor(&self) -> &Executor {
                Rowwise::executor(self)
            }

            fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, ws: &Workspace) -> Result<()> {
                rowwise::multiply(self, x, rowwise::Finish::Apply, y, ws)
            }

            fn apply_advanced(
                &self,
                alpha: Coefficient<'_, Y>,
                x: &Vector<X>,
                beta: Coefficient<'_, Y>,
                y: &mut Vector<Y>,
                ws: &Workspace,
            ) -> Result<()> {
                let z = None;
                rowwise::multiply(self, x, rowwise::Finish::Combine { alpha, beta, z }, y, ws)
            }

            fn residual(
                &self,
                b: &Vector<Y>,
                x: &Vector<X>,
                r: &mut Vector<Y>,
                ws: &Workspace,
            ) -> Result<()> {
                rowwise::multiply(self, x, rowwise::Finish::residual(b), r, ws)
            }

            fn apply_transposed(
                &self,
                mode: Transpose,
                x: &Vector<Y>,
                y: &mut Vector<X>,
                ws: &Workspace,
            ) -> Result<()> {
                rowwise::apply_transposed(self, mode, x, y, ws)
            }

            fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
                rowwise::to_csr(self).ok().map(Cow::Owned)
            }

            fn footprint(&self) -> Footprint {
                Footprint {
                    held: Rowwise::bytes(self),
                    moved: Rowwise::bytes(self),
                }
            }
        }
    };
}

pub(crate) use rowwise_operator;
