//! The triple product of multigrid over ranks.

use std::sync::Arc;

use super::Distributed;
use super::fetch::Rows;
use super::halo::Halo;
use super::local_numbers::LocalNumbers;
use super::overlap::whole_nodes;
use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::Scalar;
use crate::size::Size;

/// `R A P`, formed by `product` of the rows of each that the own rows of the result take. They have the order of the
/// whole matrices, so the result has the bits it has without ranks. Blocks of rows and columns of `P` stay together.
/// All ranks call it together.
///
/// # Errors
/// Those of the product, and when another rank has failed.
pub fn galerkin_shared<T: Scalar>(
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
    let near = [a.columns.others(), &rows_of_a.columns].concat();
    let near = LocalNumbers::new(a.rows.range(rank), whole_nodes(&near, block.rows));
    let rows_of_p = p.fetch(near.others())?;
    let coarse = [p.columns.others(), &rows_of_p.columns].concat();
    let own = p.columns.own_rows();
    let coarse = LocalNumbers::new(own, whole_nodes(&coarse, block.cols));
    let made = {
        let r = r.between(&Rows::new(), 0, &fine);
        let a = a.between(&rows_of_a, fine.before(), &near);
        let p = p.between(&rows_of_p, near.before(), &coarse);
        product(&r, &a, &p)
    };
    let made = team.agree(made)?;
    with_columns_used(r, p, &coarse, &made)
}

/// The rows of a product whose columns have some numbering; only columns with entries are kept.
fn with_columns_used<T: Scalar>(
    r: &Distributed<T>,
    p: &Distributed<T>,
    coarse: &LocalNumbers,
    made: &Csr<T>,
) -> Result<Distributed<T>> {
    let mut used = vec![false; coarse.len()];
    made.columns()
        .iter()
        .for_each(|&column| used[column as usize] = true);
    let others =
        (0..coarse.len()).filter(|&column| used[column] && !coarse.own().contains(&column));
    let others = others.map(|column| coarse.global(column)).collect();
    let halo = Arc::new(Halo::new(r.team(), p.columns.partition(), others)?);
    let local = halo.of_all(coarse);
    let columns = made
        .columns()
        .iter()
        .map(|&column| local[column as usize].expect("columns with entries are numbered"));
    let size = Size::new(made.size().rows, halo.len());
    let (offsets, values) = (made.offsets().to_vec(), made.values().to_vec());
    let made = Csr::from_canonical(made.executor(), size, offsets, columns.collect(), values);
    Ok(Distributed::of_local(
        &r.executor,
        &r.rows,
        &halo,
        Arc::new(made),
    ))
}
