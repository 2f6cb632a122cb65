//! Whether a matrix that ranks share is symmetric, and whether its rows refer to each other.

use std::ops::Range;

use vcycle_kernels::compiled;

use super::Distributed;
use super::halo::Halo;
use super::rows::Fetched;
use crate::matrix::csr::{RowSizes, Seen, entry_of, largest, modulus, rounding_of};
use crate::prelude::*;
use crate::reference::csr::CsrArrays;

impl<T: Scalar> Distributed<T> {
    /// Whether it is symmetric, Hermitian where it is complex, and whether its diagonal is positive: on all ranks. All ranks call it together.
    pub fn symmetric_and_positive(&self) -> Result<[bool; 2]> {
        let find = compiled!(any T: fn(&Distributed<T>) -> Result<[bool; 2]> = Distributed::find_symmetric_and_positive);
        kept(&self.definite, || find(self)).copied()
    }

    fn find_symmetric_and_positive(&self) -> Result<[bool; 2]> {
        let own = OwnRows {
            a: self.local.at_hand(),
            sizes: RowSizes::of(self.local.at_hand()),
            halo: &self.columns,
            near: &self.fetch(self.columns.others())?,
        };
        let above = |rows| own.seen(rows, |row, column| column > row);
        let parts = self.local.map_pieces(above).into_iter();
        let seen = parts.fold(Seen::default(), Seen::join);
        let not_positive = seen.missing_diagonal + seen.zero_diagonal + seen.negative_diagonal;
        let counts = [seen.matched, seen.below, seen.not_hermitian, not_positive];
        let mut counts = counts.map(|count| count as f64);
        self.team().sum(&mut counts)?;
        let [matched, below, differing, not_positive] = counts;
        let mut symmetric = differing == 0.0;
        if symmetric && matched != below {
            // Some entries below the diagonal have none opposite to them.
            let below = |rows| own.seen(rows, |row, column| column < row);
            let mut parts = self.local.map_pieces(below).into_iter();
            symmetric = !self.team().any(parts.any(|seen| seen.not_hermitian > 0))?;
        }
        Ok([symmetric, not_positive == 0.0])
    }
}

/// Own rows and those that they refer to.
struct OwnRows<'a, T> {
    a: CsrArrays<'a, T>,
    sizes: RowSizes<'a, T>,
    halo: &'a Halo,
    near: &'a Fetched<T>,
}

impl<T: Scalar> OwnRows<'_, T> {
    /// Looks at the entries of some own rows at places that `is_seen`, by the local numbers of row and column.
    fn seen(&self, rows: Range<usize>, is_seen: impl Fn(usize, usize) -> bool) -> Seen {
        let mut seen = Seen::default();
        let first = self.halo.own().start;
        for row in rows {
            let (columns, values) = self.a.row(row);
            let diagonal = entry_of((columns, values), (first + row) as u32, row);
            seen.diagonal(diagonal.map(|value| (value.to_c64().re, modulus(value))));
            if let Some(own) = diagonal {
                seen.opposite(own, Some(own), || 0.0);
            }
            for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
                let column = column as usize;
                seen.below += usize::from(column <= first + row);
                if is_seen(first + row, column) {
                    let opposite = self.entry(column, first + row, place);
                    let rounding = || rounding_of(self.sizes.get(row), self.size(column));
                    seen.opposite(value, opposite, rounding);
                }
            }
        }
        seen
    }

    /// The largest absolute value of a row by its local number.
    fn size(&self, row: usize) -> f64 {
        match self.halo.own_or_other(row) {
            Ok(own) => self.sizes.get(own),
            Err(other) => largest(self.near.row(other).1),
        }
    }

    /// The entry at the local numbers of a row and a column; `place` is that of the opposite one.
    #[inline]
    fn entry(&self, row: usize, column: usize, place: usize) -> Option<T> {
        match self.halo.own_or_other(row) {
            Ok(own) => entry_of(self.a.row(own), column as u32, place),
            Err(other) => entry_of(self.near.row(other), self.halo.global(column), place),
        }
    }
}

impl<T: Scalar> Distributed<T> {
    /// Whether the rows of other ranks that own ones refer to refer to these in turn, on every rank. Two ranks compare a sum
    /// of hashes of the entries between them. All ranks call it together.
    pub fn is_mutual(&self) -> Result<bool> {
        let (team, halo) = (self.team(), &self.columns);
        let first = self.rows.range(team.rank()).start;
        let mut sums = vec![0_u64; team.size()];
        let others = halo.others().iter();
        let ranks: Vec<usize> = others.map(|&row| halo.partition().rank_of(row)).collect();
        self.for_others(|row, place| {
            let sum = &mut sums[ranks[place]];
            *sum = sum.wrapping_add(hash(first + row as u64, halo.others()[place]));
        })?;
        let sent = sums.iter().map(|&sum| vec![sum]).collect();
        let is_mutual = team.all_to_all_numbers(sent)?.concat() == sums;
        Ok(!team.any(!is_mutual)?)
    }

    /// Shows the row of every entry in a column of another rank, and which of these it is. Of a device no other entries come
    /// to the host.
    fn for_others(&self, mut show: impl FnMut(usize, usize)) -> Result<()> {
        if self.local.executor().is_device() {
            let (rows, offsets, columns) = self.device_shape()?.others()?;
            for (&row, ends) in rows.iter().zip(offsets.windows(2)) {
                let places = columns[ends[0]..ends[1]].iter();
                places.for_each(|&place| show(row as usize, place as usize));
            }
            return Ok(());
        }
        for row in 0..self.local.size().rows {
            for &column in self.local.row(row).0 {
                if let Err(place) = self.columns.own_or_other(column as usize) {
                    show(row, place);
                }
            }
        }
        Ok(())
    }
}

/// A number of a pair of rows, the same for both orders.
fn hash(row: u64, other: u64) -> u64 {
    let pair = row.min(other).rotate_left(32) ^ row.max(other);
    let mut x = pair.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Duplicates;
    use crate::testing::on_ranks;

    /// Rows of one entry a rank beside the diagonal.
    fn with_column(column: impl Fn(u64) -> u64 + Sync) -> Vec<(bool, Vec<u64>)> {
        on_ranks(4, |rank, team| {
            let row = team.rank() as u64;
            let mut columns = vec![row, column(row)];
            columns.sort_unstable();
            let values = vec![1.0; 2];
            let duplicates = Duplicates::Sum;
            let a = Distributed::from_rows(rank, vec![0, 2], columns, values, duplicates)?;
            let near = a.surrounded(1, 1)?;
            Ok((a.is_mutual()?, near.halo.others().to_vec()))
        })
    }

    #[test]
    fn rows_that_refer_to_own_ones_are_nearby() {
        let pairs = with_column(|row| row ^ 1);
        assert!(pairs.iter().all(|(is_mutual, _)| *is_mutual));
        assert_eq!(pairs[2].1, [3]);
        let ring = with_column(|row| (row + 1) % 4);
        assert!(ring.iter().all(|(is_mutual, _)| !is_mutual));
        // The next, the one before, and what these refer to.
        assert_eq!(ring[1].1, [0, 2, 3]);
    }
}
