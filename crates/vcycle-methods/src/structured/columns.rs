//! Work on blocks of vectors, one column at a time.

use crate::operations::strided::copy_columns;
use crate::prelude::*;

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
        copy_columns((x, &[column]), (&mut input, &[0]))?;
        work(&input, &mut output)?;
        copy_columns((&output, &[0]), (y, &[column]))?;
    }
    Ok(())
}
