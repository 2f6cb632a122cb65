//! Transposes of matrices that ranks share.

use vcycle_kernels::compiled;

use super::Distributed;
use super::halo::Halo;
use super::local_numbers::{LocalNumbers, renumbered};
use super::rows::{Fetched, assembled, send_rows};
use crate::matrix::fill_rows;
use crate::operations::parts::{self, Renumbering};
use crate::prelude::*;
use crate::scalar::Element;

impl<T: Scalar> Distributed<T> {
    /// The transpose; every rank has the rows that are its columns here. All ranks call it together.
    pub fn transpose(&self) -> Result<Self> {
        self.turned(self.local.transpose()?)
    }

    /// The conjugate transpose, as [`transpose`](Self::transpose).
    pub fn adjoint(&self) -> Result<Self> {
        self.turned(self.local.adjoint()?)
    }

    fn turned(&self, flipped: Csr<T>) -> Result<Self> {
        compiled!(any T: fn(&Distributed<T>, Csr<T>) -> Result<Distributed<T>> = Distributed::turned_rows)(
            self, flipped,
        )
    }

    /// The transpose of which a rank has this for its own rows.
    fn turned_rows(&self, flipped: Csr<T>) -> Result<Self> {
        let (team, halo) = (self.team(), &self.columns);
        let first = self.rows.range(team.rank()).start;
        let mut sent = Fetched::for_ranks(team.size());
        // Of a device no other rows come to the host.
        let outside = [0..halo.before(), halo.own().end..halo.len()];
        let [before, after] = outside.map(|rows| flipped.row_range(rows));
        let (before, after) = (before?, after?);
        for (place, &column) in halo.others().iter().enumerate() {
            let (rows, values) = match place.checked_sub(halo.before()) {
                None => before.row(place),
                Some(place) => after.row(place),
            };
            let rows = rows.iter().map(|&row| first + u64::from(row));
            sent[halo.partition().rank_of(column)].push(column, rows, values);
        }
        let received = send_rows(team.as_ref(), &sent)?;
        let others = received.iter().flat_map(|of| &of.rows.columns);
        let others = others.copied().collect();
        let columns = Arc::new(Halo::new(team, &self.rows, others)?);
        let is_own = halo.others().is_empty() && columns.others().is_empty();
        let local = Arc::new(match is_own {
            true => flipped,
            false => completed(&flipped, halo, &columns, &received)?,
        });
        let of_rows = halo.partition();
        Ok(Self::of_local(&self.executor, of_rows, &columns, local))
    }
}

/// Own rows of a transpose: what a rank has itself between what came from ranks before and behind it. In the order of the
/// ranks, the columns of a row increase.
fn completed<T: Scalar>(
    flipped: &Csr<T>,
    rows: &LocalNumbers,
    columns: &Halo,
    received: &[Fetched<T>],
) -> Result<Csr<T>> {
    let (executor, rank) = (flipped.executor(), columns.team().rank());
    let of_ranks = |received: &[Fetched<T>]| of_pieces(executor, rows, columns, received);
    let (before, after) = (of_ranks(&received[..rank]), of_ranks(&received[rank + 1..]));
    let own = flipped.row_range(rows.own())?;
    let by = Renumbering {
        own: 0..columns.own_count(),
        to: columns.before(),
        others: Vec::new(),
    };
    let pattern = renumbered(own.pattern(), &by, columns.len())?;
    let own = Csr::of_buffers(&pattern, own.values);
    match parts::beside(&before, &own, &after)? {
        Some(made) => Ok(made),
        None => Ok(beside([&before, &own, &after])),
    }
}

/// Rows that are those of three matrices of a size beside each other, on the host.
fn beside<T: Scalar>(parts: [&Csr<T>; 3]) -> Csr<T> {
    let (executor, size) = (parts[1].executor(), parts[1].size());
    let mut offsets = vec![0; size.rows + 1];
    for row in 0..size.rows {
        let lengths = parts.map(|part| part.pattern().range(row).len());
        offsets[row + 1] = offsets[row] + lengths.iter().sum::<usize>();
    }
    let columns = joined_rows(&offsets, parts, parts.map(Csr::columns));
    let values = joined_rows(&offsets, parts, parts.map(Csr::values));
    Csr::from_canonical(executor, size, offsets, columns, values)
}

/// Columns or values of three matrices, those of a row one after the other.
fn joined_rows<T: Scalar, E: Element>(
    offsets: &[usize],
    parts: [&Csr<T>; 3],
    arrays: [&[E]; 3],
) -> Vec<E> {
    let mut all = vec![E::default(); offsets[offsets.len() - 1]];
    fill_rows(parts[1].executor(), offsets, &mut all, |row, mut rest| {
        for (part, array) in parts.into_iter().zip(arrays) {
            let from = &array[part.pattern().range(row)];
            let (now, later) = rest.split_at_mut(from.len());
            now.copy_from_slice(from);
            rest = later;
        }
    });
    all
}

/// Rows of what some ranks have sent, in the order of the ranks.
fn of_pieces<T: Scalar>(
    executor: &Executor,
    rows: &LocalNumbers,
    columns: &LocalNumbers,
    received: &[Fetched<T>],
) -> Csr<T> {
    let rows = assembled(received, &rows.own_rows());
    let mut finder = columns.finder();
    let numbers = rows.columns.iter().map(|&column| finder.find(0, column));
    let size = Size::new(rows.offsets.len() - 1, columns.len());
    Csr::from_canonical(executor, size, rows.offsets, numbers.collect(), rows.values)
}
