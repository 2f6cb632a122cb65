//! The triple product of multigrid over ranks.

use std::sync::Arc;

use super::Distributed;
use super::columns::mapped;
use super::fetch::{Fetched, Rows};
use super::local_numbers::{LocalNumbers, NOT_HERE, distinct};
use super::overlap::whole_nodes;
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::matrix::csr::{Interleaved, galerkin_interleaved};
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
    if a.local.executor().is_device() {
        return galerkin_in_blocks(r, a, p, Size::square(1), galerkin);
    }
    let team = a.team();
    let rows_of_a = a.fetch(r.columns.others())?;
    let inner = Inner::new(&a.columns, &rows_of_a.rows.columns);
    let others_of_a = inner.renumbered(&a.executor, &rows_of_a.rows);
    let rows_of_p = p.fetch(&inner.wanted())?;
    let (coarse, [own_of_p, others_of_p]) = inner.numbered(p, &rows_of_p);
    let made = galerkin_interleaved(
        r.local(),
        &Interleaved {
            own: a.local(),
            first: r.columns.own().start,
            others: &others_of_a,
        },
        &Interleaved {
            own: &own_of_p,
            first: a.columns.own().start,
            others: &others_of_p,
        },
    );
    let made = team.agree(made)?;
    let of_columns = p.columns.partition();
    Distributed::of_numbered(&r.executor, &r.rows, of_columns, &coarse, made)
}

/// Numbers of the columns of `A`: those of its own rows, then those that only rows of other ranks refer to. The order does
/// not matter to the product, so the own rows are used as they are.
struct Inner<'a> {
    own: &'a LocalNumbers,
    /// The others by increasing number.
    more: Vec<u64>,
}

impl<'a> Inner<'a> {
    fn new(own: &'a LocalNumbers, columns: &[u64]) -> Self {
        let mut finder = own.finder();
        let is_new = |column: &&u64| finder.find(0, **column) == NOT_HERE;
        let more = distinct(columns.iter().filter(is_new).copied().collect());
        Self { own, more }
    }

    /// Rows of other ranks with these columns.
    fn renumbered<T: Scalar>(&self, executor: &Executor, rows: &Rows<T>) -> Csr<T> {
        let mut finder = self.own.finder();
        let mut number = |(place, &column): (usize, &u64)| match finder.find(place, column) {
            NOT_HERE => (self.own.len() + self.more.partition_point(|&more| more < column)) as u32,
            known => known,
        };
        let mut columns = Vec::with_capacity(rows.columns.len());
        for ends in rows.offsets.windows(2) {
            let row = &rows.columns[ends[0]..ends[1]];
            columns.extend(row.iter().enumerate().map(&mut number));
        }
        let size = Size::new(rows.offsets.len() - 1, self.own.len() + self.more.len());
        let (offsets, values) = (rows.offsets.clone(), rows.values.clone());
        csr_of(&executor.alone(), size, offsets, columns, values)
    }

    /// The rows of `P` that other ranks have of these, by increasing number.
    fn wanted(&self) -> Vec<u64> {
        distinct([self.own.others(), &self.more].concat())
    }

    /// The own rows of `P` and those of others, in the order of these numbers, with columns numbered in the order of all.
    fn numbered<T: Scalar>(
        &self,
        p: &Distributed<T>,
        fetched: &Fetched<T>,
    ) -> (LocalNumbers, [Csr<T>; 2]) {
        let all = [p.columns.others(), &fetched.rows.columns].concat();
        let coarse = LocalNumbers::new(p.columns.own_rows(), all);
        let mut finder = coarse.finder();
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self.own.others().iter().chain(&self.more) {
            let place = fetched.numbers.binary_search(row);
            let (found, numbers) = fetched.row(place.expect("all of them were fetched"));
            let found = found.iter().enumerate();
            columns.extend(found.map(|(place, &column)| finder.find(place, column)));
            values.extend_from_slice(numbers);
            offsets.push(columns.len());
        }
        let alone = p.executor.alone();
        let size = Size::new(offsets.len() - 1, coarse.len());
        let others = csr_of(&alone, size, offsets, columns, values);
        let own = p.with_columns(&coarse);
        (coarse, [own, others])
    }
}

/// A matrix whose columns need not increase in a row: nothing but a product looks at it.
fn csr_of<T: Scalar>(
    executor: &Executor,
    size: Size,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
) -> Csr<T> {
    let of = |offsets, columns| Pattern::of_buffers(size, offsets, columns);
    let offsets = Buffer::from_vec(executor, offsets);
    let pattern = Arc::new(of(offsets, Buffer::from_vec(executor, columns)));
    Csr::of_buffers(&pattern, Buffer::from_vec(executor, values))
}

impl<T: Scalar> Distributed<T> {
    /// Own rows with the numbers that their columns have among others; the values are not copied.
    fn with_columns(&self, numbers: &LocalNumbers) -> Csr<T> {
        if numbers.others().len() == self.columns.others().len() {
            return self.lent();
        }
        let (local, executor) = (&self.local, self.local.executor());
        let here = numbers.of_all(&self.columns);
        let columns = mapped(executor, local.columns(), |column| here[column as usize]);
        let columns = Buffer::from_vec(executor, columns);
        let offsets = Buffer::lent(executor, local.pattern(), |pattern| pattern.offsets());
        let size = Size::new(local.size().rows, numbers.len());
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        let values = Buffer::lent(executor, local, |local| local.values());
        Csr::of_buffers(&pattern, values)
    }
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
