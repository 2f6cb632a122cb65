//! The triple product of multigrid over ranks.

use vcycle_kernels::compiled_fn;

use super::Distributed;
use super::local_numbers::LocalNumbers;
use super::overlap::whole_nodes;
use super::rows::Fetched;
use crate::matrix::csr::{Stacked, galerkin_stacked};
use crate::matrix::galerkin;
use crate::prelude::*;

compiled_fn! {
    /// `R A P`. Sums are formed in the order of the whole matrices, so the result has the bits it has without ranks. All ranks
    /// call it together.
    pub fn galerkin_shared[working T: Scalar](
        r: &Distributed<T>,
        a: &Distributed<T>,
        p: &Distributed<T>,
    ) -> Result<Distributed<T>> {
        if a.local.executor().is_device() {
            return galerkin_in_blocks(r, a, p, Size::square(1), galerkin);
        }
        let factors = Factors::fetch(r, a, p, Size::square(1))?;
        let made = factors.multiply(r, a, p);
        factors.distributed(r, p, made)
    }
}

/// [`galerkin_shared`] by a `product` of the rows of each that the own rows of the result take, in the order of the whole
/// matrices. Blocks of rows and columns of `P` stay together.
pub fn galerkin_in_blocks<T: Scalar>(
    r: &Distributed<T>,
    a: &Distributed<T>,
    p: &Distributed<T>,
    block: Size,
    product: impl FnOnce(&Csr<T>, &Csr<T>, &Csr<T>) -> Result<Csr<T>>,
) -> Result<Distributed<T>> {
    let factors = Factors::fetch(r, a, p, block)?;
    let Factors {
        fine, near, coarse, ..
    } = &factors;
    let made = {
        let of_r = LocalNumbers::new(r.rows.range(r.team().rank()), Vec::new());
        let expanded = match fine.len() > r.columns.len() {
            true => Some(r.between(&Fetched::new(), &of_r, fine)?),
            false => None,
        };
        let r = expanded.as_ref().unwrap_or(r.local());
        let a = a.between(&factors.rows_of_a, fine, near)?;
        let p = p.between(&factors.rows_of_p, near, coarse)?;
        product(r, &a, &p)
    };
    factors.distributed(r, p, made)
}

/// The rows of other ranks that the own rows of a product take, and the numbers of rows of `A`, of rows of `P` and of columns
/// of `P`.
struct Factors<T> {
    rows_of_a: Fetched<T>,
    rows_of_p: Fetched<T>,
    fine: LocalNumbers,
    near: LocalNumbers,
    coarse: LocalNumbers,
}

impl<T: Scalar> Factors<T> {
    fn fetch(
        r: &Distributed<T>,
        a: &Distributed<T>,
        p: &Distributed<T>,
        block: Size,
    ) -> Result<Self> {
        let own = || a.rows.range(a.team().rank());
        let fine = LocalNumbers::new(own(), whole_nodes(r.columns.others(), block.rows));
        let rows_of_a = a.fetch(fine.others())?;
        let near = [a.columns.others(), &rows_of_a.rows.columns].concat();
        let near = LocalNumbers::new(own(), whole_nodes(&near, block.rows));
        let rows_of_p = p.fetch(near.others())?;
        let coarse = [p.columns.others(), &rows_of_p.rows.columns].concat();
        let coarse = whole_nodes(&coarse, block.cols);
        Ok(Self {
            coarse: LocalNumbers::new(p.columns.own_rows(), coarse),
            rows_of_a,
            rows_of_p,
            fine,
            near,
        })
    }

    /// The product of rows of the host. Own rows of `A` are taken as they are, with their own numbers of columns; columns that
    /// only rows of other ranks refer to have numbers behind these.
    fn multiply(
        &self,
        r: &Distributed<T>,
        a: &Distributed<T>,
        p: &Distributed<T>,
    ) -> Result<Csr<T>> {
        let (executor, columns) = (a.local.executor(), self.near.len());
        let by = self.near.renumbering(&a.columns);
        let own = 0..a.columns.len() as u32;
        let mut order: Vec<u32> = own.map(|column| by.number(column)).collect();
        let mut inner = vec![u32::MAX; columns];
        for (number, &row) in (0..).zip(&order) {
            inner[row as usize] = number;
        }
        for row in 0..columns {
            if inner[row] == u32::MAX {
                inner[row] = order.len() as u32;
                order.push(row as u32);
            }
        }
        let [before, after] = self
            .rows_of_a
            .around_own(&self.fine, &self.near)
            .map(|mut rows| {
                let columns_of_rows = rows.columns.iter_mut();
                columns_of_rows.for_each(|column| *column = inner[*column as usize]);
                rows.csr(executor, columns)
            });
        let a = Stacked {
            parts: [&before, &a.local, &after],
            order: &[],
        };
        let [before, after] = self
            .rows_of_p
            .around_own(&self.near, &self.coarse)
            .map(|rows| rows.csr(executor, self.coarse.len()));
        let p = Stacked {
            parts: [&before, &p.with_columns(&self.coarse)?, &after],
            order: &order,
        };
        galerkin_stacked(r.local(), &a, &p)
    }

    /// The own rows that were made, as those of a matrix of all ranks.
    fn distributed(
        &self,
        r: &Distributed<T>,
        p: &Distributed<T>,
        made: Result<Csr<T>>,
    ) -> Result<Distributed<T>> {
        let made = r.team().agree(made)?;
        let of_columns = p.columns.partition();
        Distributed::of_numbered(&r.executor, &r.rows, of_columns, &self.coarse, made)
    }
}
