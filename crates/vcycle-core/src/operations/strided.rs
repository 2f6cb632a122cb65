//! Copies of numbers at equal distances: columns of vectors, and the two orders of several unknowns a cell.

use vcycle_kernels::compiled_fn;

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Executor;
use crate::fields::{interleave, separate};
use crate::launch::strided::{Places, copy};
use crate::scalar::Scalar;

compiled_fn! {
    /// A column of a vector.
    pub fn take_column[any V: Scalar](x: &Vector<V>, column: usize, out: &mut Vector<V>) -> Result<()> {
        if let Executor::Gpu(gpu) = x.executor() {
            let from = Places::column(column, x.cols());
            return copy(gpu, x.rows(), (x, from), (out, Places::from(0)));
        }
        let from = x.host()?.iter().skip(column).step_by(x.cols());
        let to = out.host_mut()?.iter_mut();
        to.zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

compiled_fn! {
    /// Replaces a column of a vector.
    pub fn put_column[any V: Scalar](x: &Vector<V>, column: usize, out: &mut Vector<V>) -> Result<()> {
        let cols = out.cols();
        if let Executor::Gpu(gpu) = x.executor() {
            let to = Places::column(column, cols);
            return copy(gpu, x.rows(), (x, Places::from(0)), (out, to));
        }
        let to = out.host_mut()?.iter_mut().skip(column).step_by(cols);
        to.zip(x.host()?).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

compiled_fn! {
    /// From the numbers of one cell side by side to those of one unknown.
    pub fn to_fields[any V: Scalar](
        unknowns: usize,
        rows: &Vector<V>,
        fields: &mut Vector<V>,
    ) -> Result<()> {
        let Executor::Gpu(gpu) = rows.executor() else {
            separate(unknowns, rows.host()?, fields.host_mut()?);
            return Ok(());
        };
        let cells = rows.rows() / unknowns;
        (0..unknowns).try_for_each(|unknown| {
            let from = Places::column(unknown, unknowns);
            let to = Places::from(unknown * cells);
            copy(gpu, cells, (rows, from), (fields, to))
        })
    }
}

compiled_fn! {
    /// From the numbers of one unknown side by side to those of one cell.
    pub fn to_rows[any V: Scalar](unknowns: usize, fields: &Vector<V>, rows: &mut Vector<V>) -> Result<()> {
        let Executor::Gpu(gpu) = fields.executor() else {
            interleave(unknowns, fields.host()?, rows.host_mut()?);
            return Ok(());
        };
        let cells = rows.rows() / unknowns;
        (0..unknowns).try_for_each(|unknown| {
            let from = Places::from(unknown * cells);
            let to = Places::column(unknown, unknowns);
            copy(gpu, cells, (fields, from), (rows, to))
        })
    }
}
