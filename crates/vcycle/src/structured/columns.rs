//! Several columns, one at a time.

use crate::error::Result;
use crate::executor::Workspace;
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
        let from = x.host()?.iter().skip(column).step_by(cols);
        let to = input.host_mut()?.iter_mut();
        to.zip(from).for_each(|(to, from)| *to = *from);
        work(&input, &mut output)?;
        let to = y.host_mut()?.iter_mut().skip(column).step_by(cols);
        to.zip(output.host()?).for_each(|(to, from)| *to = *from);
    }
    Ok(())
}
