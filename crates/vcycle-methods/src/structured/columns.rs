//! Operations on vectors of several columns, done column by column.

use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::launch::strided::{self, Places};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// `work(x, y)` for every column; one column alone is not copied.
pub(super) fn by_column<V: Scalar>(
    x: &Vector<V>,
    y: &mut Vector<V>,
    ws: &Workspace,
    work: impl Fn(&Vector<V>, &mut Vector<V>) -> Result<()>,
) -> Result<()> {
    let cols = x.cols();
    if cols == 1 {
        return work(x, y);
    }
    let mut input = ws.vector::<V>(x.executor(), x.rows(), 1)?;
    let mut output = ws.vector::<V>(x.executor(), y.rows(), 1)?;
    for column in 0..cols {
        take(x, column, &mut input)?;
        work(&input, &mut output)?;
        put(&output, column, y)?;
    }
    Ok(())
}

fn take<V: Scalar>(x: &Vector<V>, column: usize, out: &mut Vector<V>) -> Result<()> {
    let from = Places::column(column, x.cols());
    if let Executor::Gpu(gpu) = x.executor() {
        return strided::copy(gpu, x.rows(), (x, from), (out, Places::from(0)));
    }
    let from = x.host()?.iter().skip(column).step_by(x.cols());
    let to = out.host_mut()?.iter_mut();
    to.zip(from).for_each(|(to, from)| *to = *from);
    Ok(())
}

fn put<V: Scalar>(x: &Vector<V>, column: usize, out: &mut Vector<V>) -> Result<()> {
    let (cols, to) = (out.cols(), Places::column(column, out.cols()));
    if let Executor::Gpu(gpu) = x.executor() {
        return strided::copy(gpu, x.rows(), (x, Places::from(0)), (out, to));
    }
    let to = out.host_mut()?.iter_mut().skip(column).step_by(cols);
    to.zip(x.host()?).for_each(|(to, from)| *to = *from);
    Ok(())
}
