//! Whether a matrix that ranks share is symmetric.

use std::ops::Range;

use super::Distributed;
use super::halo::Halo;
use super::rows::Fetched;
use crate::error::Result;
use crate::matrix::csr::{entry_of, is_mirrored, rounding_of};
use crate::reference::csr::CsrArrays;
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// Whether it is symmetric, Hermitian where it is complex, and whether its diagonal is positive: on all ranks. All ranks call it together.
    pub fn symmetric_and_positive(&self) -> Result<[bool; 2]> {
        if let Some(known) = self.definite.get() {
            return Ok(*known);
        }
        let own = OwnRows {
            a: self.local.at_hand(),
            halo: &self.columns,
            near: &self.fetch(self.columns.others())?,
        };
        let above = |rows| own.seen(rows, |row, column| column > row);
        let parts = self.local.map_pieces(above).into_iter();
        let mut counts = parts.fold(Seen::default(), Seen::join).counts();
        self.team().sum(&mut counts)?;
        let [opposite, below, differing, not_positive] = counts;
        let mut symmetric = differing == 0.0;
        if symmetric && opposite != below {
            // Some entries below the diagonal have none opposite to them.
            let below = |rows| own.seen(rows, |row, column| column < row);
            let mut parts = self.local.map_pieces(below).into_iter();
            symmetric = !self.team().any(parts.any(|seen| seen.differing > 0))?;
        }
        let found = [symmetric, not_positive == 0.0];
        Ok(*self.definite.get_or_init(|| found))
    }
}

/// What is counted in rows.
#[derive(Default)]
struct Seen {
    /// Entries that were looked at and have one opposite to them, and those below the diagonal.
    opposite: usize,
    below: usize,
    /// Those that differ from the entry opposite to them.
    differing: usize,
    not_positive: usize,
}

impl Seen {
    fn join(self, other: Self) -> Self {
        Self {
            opposite: self.opposite + other.opposite,
            below: self.below + other.below,
            differing: self.differing + other.differing,
            not_positive: self.not_positive + other.not_positive,
        }
    }

    fn counts(&self) -> [f64; 4] {
        let counts = [self.opposite, self.below, self.differing, self.not_positive];
        counts.map(|count| count as f64)
    }
}

/// Own rows and those that they refer to.
struct OwnRows<'a, T> {
    a: CsrArrays<'a, T>,
    halo: &'a Halo,
    near: &'a Fetched<T>,
}

impl<T: Scalar> OwnRows<'_, T> {
    /// Looks at the entries of some own rows at places that `is_seen`, told the local numbers of row and column.
    fn seen(&self, rows: Range<usize>, is_seen: impl Fn(usize, usize) -> bool) -> Seen {
        let mut seen = Seen::default();
        let first = self.halo.own().start;
        for row in rows {
            let (columns, values) = self.a.row(row);
            let diagonal = entry_of((columns, values), (first + row) as u32, row);
            let is_positive = |value: T| {
                let real = value.to_c64().re;
                value.to_c64().norm_sqr() != 0.0 && !real.lt(&0.0)
            };
            seen.not_positive += usize::from(!diagonal.is_some_and(is_positive));
            let is_real = |own: T| is_mirrored(own, own, || 0.0);
            seen.differing += usize::from(!diagonal.is_none_or(is_real));
            for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
                let column = column as usize;
                seen.below += usize::from(column < first + row);
                if is_seen(first + row, column) {
                    let opposite = self.opposite(row, place, column);
                    seen.opposite += usize::from(opposite.is_some());
                    let rounding = || rounding_of(diagonal, self.diagonal(column));
                    let is_same = is_mirrored(value, opposite.unwrap_or_default(), rounding);
                    seen.differing += usize::from(!is_same);
                }
            }
        }
        seen
    }

    /// The entry opposite to the one at a place of an own row.
    #[inline]
    fn opposite(&self, row: usize, place: usize, column: usize) -> Option<T> {
        let (own, global) = (self.halo.own(), self.halo.own_rows().start + row as u64);
        match own.contains(&column) {
            true => entry_of(
                self.a.row(column - own.start),
                (own.start + row) as u32,
                place,
            ),
            false => entry_of(self.near.row(self.place(column)), global, place),
        }
    }

    /// The diagonal entry of the row with a local number.
    fn diagonal(&self, row: usize) -> Option<T> {
        let own = self.halo.own();
        match own.contains(&row) {
            true => entry_of(self.a.row(row - own.start), row as u32, 0),
            false => entry_of(self.near.row(self.place(row)), self.halo.global(row), 0),
        }
    }

    /// Which of the rows of other ranks has a local number.
    fn place(&self, row: usize) -> usize {
        match row < self.halo.before() {
            true => row,
            false => row - self.halo.own_count(),
        }
    }
}
