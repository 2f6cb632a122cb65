//! The operator around the kernels of all formats that multiply row by row.

use num_traits::Zero;

use super::Csr;
use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::gpu::Gpu;
use crate::launch::rows::{self, Operand};
use crate::linop::{Size, Transpose, check_apply};
use crate::reference;
use crate::reference::rows::{Column, Finish, Sum};
use crate::scalar::{Mixes, Scalar, convert};
use crate::vector::{Coefficient, Scalars, Vector};
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

    /// The matrix as kernels of its device take it, for vectors of so many columns; where there
    /// are several parts, their products are added up.
    fn operands(&self, gpu: &Gpu, cols: usize) -> Result<Vec<Operand>>;

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
fn product<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    x: &Vector<X>,
    y: &mut Vector<Y>,
    finish: Finish<'_, Sum<F::Value, X, Y>, Y>,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    let (values, y, cols) = (x.host()?, y.host_mut()?, x.cols());
    let group = a.rows_together();
    let rows_from = |first: usize, y: &mut [Y]| {
        reference::rows::product(first, y, (group, cols), finish, |first, sums, column| {
            let x = Column {
                values,
                column,
                cols,
            };
            a.add::<X, Y>(first, sums, x);
        });
    };
    match a.executor() {
        Executor::Gpu(_) => unreachable!("products on devices have kernels of their own"),
        Executor::Reference => rows_from(0, y),
        Executor::Cpu(threads) => {
            threads.for_row_ranges(a.pieces(), y, cols, a.bytes(), rows_from);
        }
    }
    Ok(())
}

/// The product, and what becomes of it, on a device.
fn product_on<F: Rowwise, X: Scalar, Y: Scalar>(
    gpu: &Gpu,
    a: &F,
    x: &Vector<X>,
    mut finish: rows::Finish<'_, Y>,
    y: &mut Vector<Y>,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    gpu.real(F::Value::KIND)?;
    for part in a.operands(gpu, x.cols())? {
        rows::multiply::<F::Value, X, Y>(gpu, part, x, &finish, y)?;
        finish = finish.more();
    }
    Ok(())
}

pub(crate) fn apply<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    x: &Vector<X>,
    y: &mut Vector<Y>,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    check_apply(F::NAME, a.size(), a.executor(), x, y)?;
    if let Executor::Gpu(gpu) = a.executor() {
        return product_on(gpu, a, x, rows::Finish::Apply, y);
    }
    product(a, x, y, Finish::Store)
}

pub(crate) fn apply_advanced<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    alpha: Coefficient<'_, Y>,
    x: &Vector<X>,
    beta: Coefficient<'_, Y>,
    y: &mut Vector<Y>,
    ws: &Workspace,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    check_apply(F::NAME, a.size(), a.executor(), x, y)?;
    if let Executor::Gpu(gpu) = a.executor() {
        let z = None;
        return product_on(gpu, a, x, rows::Finish::Combine { alpha, beta, z }, y);
    }
    let cols = x.cols();
    let mut numbers = [
        ws.take::<Scalars<Sum<F::Value, X, Y>>>(a.executor(), 1, cols)?,
        ws.take::<Scalars<Sum<F::Value, X, Y>>>(a.executor(), 1, cols)?,
    ];
    for (numbers, coefficient) in numbers.iter_mut().zip([alpha, beta]) {
        for (column, number) in numbers.host_mut()?.iter_mut().enumerate() {
            *number = F::Value::coefficient(coefficient.evaluate(column)?);
        }
    }
    let finish = Finish::Combine {
        alpha: numbers[0].host()?,
        beta: numbers[1].host()?,
    };
    product(a, x, y, finish)
}

pub(crate) fn residual<F: Rowwise, X: Scalar, Y: Scalar>(
    a: &F,
    b: &Vector<Y>,
    x: &Vector<X>,
    r: &mut Vector<Y>,
) -> Result<()>
where
    F::Value: Mixes<X, Y>,
{
    check_apply(F::NAME, a.size(), a.executor(), x, r)?;
    check_apply(F::NAME, a.size(), a.executor(), x, b)?;
    if let Executor::Gpu(gpu) = a.executor() {
        return product_on(gpu, a, x, rows::Finish::residual(b), r);
    }
    let finish = Finish::Residual { b: b.host()? };
    product(a, x, r, finish)
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
    if let Executor::Gpu(gpu) = a.executor() {
        // Made anew each time; CSR keeps its transpose.
        let transposed = to_csr::<F, F::Value>(a)?.transpose()?;
        return transposed.multiply_on(gpu, x, &rows::Finish::Apply, y);
    }
    let cols = x.cols();
    let mut sums = ws.vector::<Sum<F::Value, X, Y>>(a.executor(), size.rows, cols)?;
    let (x, y, sums) = (x.host()?, y.host_mut()?, sums.host_mut()?);
    let conjugate = mode == Transpose::Conjugate;
    reference::rows::apply_transposed(conjugate, a.entries(), x, y, cols, sums);
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

            fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, _ws: &Workspace) -> Result<()> {
                rowwise::apply(self, x, y)
            }

            fn apply_advanced(
                &self,
                alpha: Coefficient<'_, Y>,
                x: &Vector<X>,
                beta: Coefficient<'_, Y>,
                y: &mut Vector<Y>,
                ws: &Workspace,
            ) -> Result<()> {
                rowwise::apply_advanced(self, alpha, x, beta, y, ws)
            }

            fn residual(
                &self,
                b: &Vector<Y>,
                x: &Vector<X>,
                r: &mut Vector<Y>,
                _ws: &Workspace,
            ) -> Result<()> {
                rowwise::residual(self, b, x, r)
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
