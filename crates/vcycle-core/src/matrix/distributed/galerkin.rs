//! The triple product of multigrid over ranks.

use super::Distributed;
use super::fetch::Fetched;
use super::local_numbers::LocalNumbers;
use super::overlap::whole_nodes;
use crate::error::Result;
use crate::matrix::{Csr, galerkin};
use crate::scalar::Scalar;
use crate::size::Size;

/// `R A P`. Sums are formed in the order of the whole matrices, so the result has the bits it has without ranks. All ranks
/// call it together.
///
/// # Errors
/// When memory is short, or another rank has failed.
pub fn galerkin_shared<T: Scalar>(
    r: &Distributed<T>,
    a: &Distributed<T>,
    p: &Distributed<T>,
) -> Result<Distributed<T>> {
    galerkin_in_blocks(r, a, p, Size::square(1), galerkin)
}

/// [`galerkin_shared`] by a `product` of the rows of each that the own rows of the result take, in the order of the whole
/// matrices. Blocks of rows and columns of `P` stay together.
///
/// # Errors
/// Those of the product, and when another rank has failed.
pub fn galerkin_in_blocks<T: Scalar>(
    r: &Distributed<T>,
    a: &Distributed<T>,
    p: &Distributed<T>,
    block: Size,
    product: impl FnOnce(&Csr<T>, &Csr<T>, &Csr<T>) -> Result<Csr<T>>,
) -> Result<Distributed<T>> {
    let team = a.team();
    let rank = team.rank();
    let fine = LocalNumbers::new(
        a.rows.range(rank),
        whole_nodes(r.columns.others(), block.rows),
    );
    let rows_of_a = a.fetch(fine.others())?;
    let near = [a.columns.others(), &rows_of_a.rows.columns].concat();
    let near = LocalNumbers::new(a.rows.range(rank), whole_nodes(&near, block.rows));
    let rows_of_p = p.fetch(near.others())?;
    let coarse = [p.columns.others(), &rows_of_p.rows.columns].concat();
    let own = p.columns.own_rows();
    let coarse = LocalNumbers::new(own, whole_nodes(&coarse, block.cols));
    let made = {
        let of_r = LocalNumbers::new(r.rows.range(rank), Vec::new());
        let expanded = match fine.len() > r.columns.len() {
            true => Some(r.between(&Fetched::new(), &of_r, &fine)?),
            false => None,
        };
        let r = expanded.as_ref().unwrap_or(r.local());
        let a = a.between(&rows_of_a, &fine, &near)?;
        let p = p.between(&rows_of_p, &near, &coarse)?;
        product(r, &a, &p)
    };
    let made = team.agree(made)?;
    let of_columns = p.columns.partition();
    Distributed::of_numbered(&r.executor, &r.rows, of_columns, &coarse, made)
}
