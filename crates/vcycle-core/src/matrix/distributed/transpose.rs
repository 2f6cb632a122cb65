//! Transposes of matrices that ranks share.

use super::Distributed;
use super::wire::{Reader, Writer};
use crate::error::Result;
use crate::matrix::Duplicates;
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
        for column in 0..halo.len() {
            let (rows, values) = flipped.row(column);
            if rows.is_empty() {
                continue;
            }
            let column = halo.global(column);
            let writer = &mut sent[halo.partition().rank_of(column)];
            writer.put(&[column, rows.len() as u64]);
            for &row in rows {
                writer.put(&[first + u64::from(row)]);
            }
            writer.put(values);
        }
        let sent = sent.into_iter().map(|writer| writer.bytes).collect();
        let received = team.all_to_all(sent)?;
        let arrays = assembled(&received, halo.own_rows().start, halo.own_count());
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

/// The rows from `first` on of pieces that came from the ranks: in the order of the ranks, the columns of a row increase.
fn assembled<T: Scalar>(
    received: &[Vec<u8>],
    first: u64,
    count: usize,
) -> (Vec<usize>, Vec<u64>, Vec<T>) {
    let mut offsets = vec![0; count + 1];
    for_pieces::<T>(received, |row, columns, _| {
        offsets[(row - first) as usize + 1] += columns.len();
    });
    for row in 0..count {
        offsets[row + 1] += offsets[row];
    }
    let (mut columns, mut values) = (vec![0; offsets[count]], vec![T::default(); offsets[count]]);
    let mut next = offsets.clone();
    for_pieces::<T>(received, |row, piece, numbers| {
        let place = next[(row - first) as usize];
        let end = place + piece.len();
        columns[place..end].copy_from_slice(piece);
        values[place..end].copy_from_slice(numbers);
        next[(row - first) as usize] = end;
    });
    (offsets, columns, values)
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
