//! Transposes of matrices that ranks share.

use super::Distributed;
use super::wire::{Reader, Writer};
use crate::error::Result;
use crate::matrix::{Csr, Duplicates};
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// The transpose; every rank has the rows that are its columns here. All ranks call it together.
    ///
    /// # Errors
    /// When memory is short, or another rank has failed.
    pub fn transpose(&self) -> Result<Self> {
        let (team, halo) = (self.team(), &self.columns);
        let first = self.rows.range(team.rank()).start;
        let flipped = self.local.transpose()?;
        let mut sent: Vec<Writer> = (0..team.size()).map(|_| Writer::default()).collect();
        for place in 0..halo.others().len() {
            let (rows, values) = flipped.row(halo.of_other(place));
            let column = halo.others()[place];
            let writer = &mut sent[halo.partition().rank_of(column)];
            writer.put(&[column, rows.len() as u64]);
            for &row in rows {
                writer.put(&[first + u64::from(row)]);
            }
            writer.put(values);
        }
        let sent = sent.into_iter().map(|writer| writer.bytes).collect();
        let received = team.all_to_all(sent)?;
        let own = Own {
            rows: flipped.row_range(halo.own())?,
            first_row: halo.own_rows().start,
            first_column: first,
            rank: team.rank(),
        };
        let arrays = own.assembled(&received);
        let of_rows = halo.partition();
        Self::of_columns(
            &self.executor,
            of_rows,
            &self.rows,
            arrays,
            Duplicates::Refuse,
        )
    }
}

/// The part of a transpose that a rank has itself.
struct Own<T> {
    rows: Csr<T>,
    first_row: u64,
    first_column: u64,
    rank: usize,
}

impl<T: Scalar> Own<T> {
    /// With what came from other ranks: in the order of the ranks, the columns of a row increase.
    fn assembled(&self, received: &[Vec<u8>]) -> (Vec<usize>, Vec<u64>, Vec<T>) {
        let count = self.rows.size().rows;
        let place = |row: u64| (row - self.first_row) as usize;
        let mut offsets: Vec<usize> = vec![0; count + 1];
        for row in 0..count {
            offsets[row + 1] = self.rows.pattern().range(row).len();
        }
        for_pieces::<T>(received, |row, columns, _| {
            offsets[place(row) + 1] += columns.len();
        });
        for row in 0..count {
            offsets[row + 1] += offsets[row];
        }
        let entries = offsets[count];
        let (mut columns, mut values) = (vec![0; entries], vec![T::default(); entries]);
        let mut next = offsets.clone();
        let mut put = |row: usize, piece: &[u64], numbers: &[T]| {
            let end = next[row] + piece.len();
            columns[next[row]..end].copy_from_slice(piece);
            values[next[row]..end].copy_from_slice(numbers);
            next[row] = end;
        };
        for_pieces::<T>(&received[..self.rank], |row, c, v| put(place(row), c, v));
        let mut global = Vec::new();
        for row in 0..count {
            let (numbers, values) = self.rows.row(row);
            global.clear();
            global.extend(
                numbers
                    .iter()
                    .map(|&column| self.first_column + u64::from(column)),
            );
            put(row, &global, values);
        }
        for_pieces::<T>(&received[self.rank..], |row, c, v| put(place(row), c, v));
        (offsets, columns, values)
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
