//! Transposes of matrices that ranks share.

use std::sync::Arc;

use super::Distributed;
use super::halo::Halo;
use super::local_numbers::LocalNumbers;
use super::wire::{Reader, Writer};
use crate::error::Result;
use crate::matrix::{Csr, fill_rows};
use crate::operations::parts::{self, Renumbering};
use crate::scalar::Scalar;
use crate::size::Size;

impl<T: Scalar> Distributed<T> {
    /// The transpose; every rank has the rows that are its columns here. All ranks call it together.
    ///
    /// # Errors
    /// When memory is short, or another rank has failed.
    pub fn transpose(&self) -> Result<Self> {
        self.turned(self.local.transpose()?)
    }

    /// The conjugate transpose, as [`transpose`](Self::transpose).
    ///
    /// # Errors
    /// When memory is short, or another rank has failed.
    pub fn adjoint(&self) -> Result<Self> {
        self.turned(self.local.adjoint()?)
    }

    /// The transpose of which a rank has this for its own rows.
    fn turned(&self, flipped: Csr<T>) -> Result<Self> {
        let (team, halo) = (self.team(), &self.columns);
        let first = self.rows.range(team.rank()).start;
        let mut sent: Vec<Writer> = (0..team.size()).map(|_| Writer::default()).collect();
        // Of a device no other rows come to the host.
        let outside = [0..halo.before(), halo.own().end..halo.len()];
        let [before, after] = outside.map(|rows| flipped.row_range(rows));
        let (before, after) = (before?, after?);
        for (place, &column) in halo.others().iter().enumerate() {
            let (rows, values) = match place.checked_sub(halo.before()) {
                None => before.row(place),
                Some(place) => after.row(place),
            };
            let writer = &mut sent[halo.partition().rank_of(column)];
            writer.put(&[column, rows.len() as u64]);
            for &row in rows {
                writer.put(&[first + u64::from(row)]);
            }
            writer.put(values);
        }
        let sent = sent.into_iter().map(|writer| writer.bytes).collect();
        let received = team.all_to_all(sent)?;
        let mut others = Vec::new();
        for_pieces::<T>(&received, |_, columns, _| others.extend_from_slice(columns));
        let columns = Arc::new(Halo::new(team, &self.rows, others)?);
        let is_own = halo.others().is_empty() && columns.others().is_empty();
        let local = Arc::new(match is_own {
            true => flipped,
            false if flipped.executor().is_device() => {
                assembled_there(&flipped, halo, &columns, &received)?
            }
            false => assembled(&flipped, halo, &columns, &received),
        });
        let of_rows = halo.partition();
        Ok(Self::of_local(&self.executor, of_rows, &columns, local))
    }
}

/// Own rows of a transpose: what a rank has itself and what came from others. In the order of the ranks, the columns of
/// a row increase.
fn assembled<T: Scalar>(
    flipped: &Csr<T>,
    rows: &LocalNumbers,
    columns: &Halo,
    received: &[Vec<u8>],
) -> Csr<T> {
    let (own, count, rank) = (rows.own(), rows.own_count(), columns.team().rank());
    let place = |row: u64| (row - rows.own_rows().start) as usize;
    // What comes before the entries of this rank in every row, and how many there are in all.
    let (mut before, mut offsets) = (vec![0_u32; count], vec![0; count + 1]);
    for row in 0..count {
        offsets[row + 1] = flipped.pattern().range(own.start + row).len();
    }
    for_pieces::<T>(&received[..rank], |row, columns, _| {
        before[place(row)] += columns.len() as u32;
    });
    for_pieces::<T>(received, |row, columns, _| {
        offsets[place(row) + 1] += columns.len();
    });
    for row in 0..count {
        offsets[row + 1] += offsets[row];
    }
    let mut made = Assembly::new(flipped, own.start, (&before, columns.before()), &offsets);
    let (mut finder, mut next) = (columns.finder(), offsets.clone());
    for (from, pieces) in received.iter().enumerate() {
        if from == rank {
            // What comes of later ranks is behind the own entries.
            for (row, next) in next[..count].iter_mut().enumerate() {
                *next += flipped.pattern().range(own.start + row).len();
            }
            continue;
        }
        for_pieces::<T>(std::slice::from_ref(pieces), |row, piece, values| {
            let piece = piece.iter().map(|&column| finder.find(0, column));
            made.put(&mut next[place(row)], piece, values);
        });
    }
    let size = Size::new(count, columns.len());
    Csr::from_canonical(flipped.executor(), size, offsets, made.columns, made.values)
}

/// The same on a device: to own rows are added those of what came from ranks before and behind this one.
fn assembled_there<T: Scalar>(
    flipped: &Csr<T>,
    rows: &LocalNumbers,
    columns: &Halo,
    received: &[Vec<u8>],
) -> Result<Csr<T>> {
    let (own, rank) = (flipped.row_range(rows.own())?, columns.team().rank());
    let by = Renumbering {
        own: 0..columns.own_count(),
        to: columns.before(),
        others: Vec::new(),
    };
    let pattern = parts::renumbered(own.pattern(), &by, columns.len())?;
    let pattern = pattern.expect("the rows are on a device");
    let own = Csr::of_buffers(&pattern, own.values_buffer().clone());
    let before = of_pieces(&own, rows, columns, &received[..rank]);
    let after = of_pieces(&own, rows, columns, &received[rank + 1..]);
    let made = parts::beside(&before, &own, &after)?;
    Ok(made.expect("the rows are on a device"))
}

/// Rows of what some ranks have sent, in the order of the ranks, for an executor and of the size that others have.
fn of_pieces<T: Scalar>(
    like: &Csr<T>,
    rows: &LocalNumbers,
    columns: &LocalNumbers,
    received: &[Vec<u8>],
) -> Csr<T> {
    let place = |row: u64| (row - rows.own_rows().start) as usize;
    let mut offsets = vec![0; rows.own_count() + 1];
    for_pieces::<T>(received, |row, columns, _| {
        offsets[place(row) + 1] += columns.len();
    });
    for row in 1..offsets.len() {
        offsets[row] += offsets[row - 1];
    }
    let entries = offsets[offsets.len() - 1];
    let mut made = Assembly {
        columns: vec![0; entries],
        values: vec![T::default(); entries],
    };
    let (mut finder, mut next) = (columns.finder(), offsets.clone());
    for_pieces::<T>(received, |row, piece, values| {
        let piece = piece.iter().map(|&column| finder.find(0, column));
        made.put(&mut next[place(row)], piece, values);
    });
    let (executor, size) = (like.executor(), like.size());
    Csr::from_canonical(executor, size, offsets, made.columns, made.values)
}

/// Rows that are made of pieces.
struct Assembly<T> {
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Assembly<T> {
    /// Rows of a matrix from one on, each behind so many entries of other ranks; columns have numbers behind others.
    fn new(
        own: &Csr<T>,
        first: usize,
        (before, shift): (&[u32], usize),
        offsets: &[usize],
    ) -> Self {
        let entries = offsets.last().copied().unwrap_or_default();
        let (mut columns, mut values) = (vec![0; entries], vec![T::default(); entries]);
        let executor = own.executor();
        fill_rows(executor, offsets, &mut columns, |row, out: &mut [u32]| {
            let here = own.row(first + row).0;
            let out = out[before[row] as usize..].iter_mut().zip(here);
            out.for_each(|(out, column)| *out = shift as u32 + column);
        });
        fill_rows(executor, offsets, &mut values, |row, out: &mut [T]| {
            let here = own.row(first + row).1;
            out[before[row] as usize..][..here.len()].copy_from_slice(here);
        });
        Self { columns, values }
    }

    fn put(&mut self, next: &mut usize, columns: impl Iterator<Item = u32>, values: &[T]) {
        let places = *next..*next + values.len();
        *next = places.end;
        let to = self.columns[places.clone()].iter_mut();
        to.zip(columns).for_each(|(to, column)| *to = column);
        self.values[places].copy_from_slice(values);
    }
}

/// Shows the row, the columns and the values of every piece.
fn for_pieces<T: Scalar>(received: &[Vec<u8>], mut show: impl FnMut(u64, &[u64], &[T])) {
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for bytes in received {
        let mut reader = Reader { bytes };
        while !reader.is_empty() {
            let (row, count) = (reader.number(), reader.number() as usize);
            columns.clear();
            values.clear();
            reader.take(count, &mut columns);
            reader.take(count, &mut values);
            show(row, &columns, &values);
        }
    }
}
