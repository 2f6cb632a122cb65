//! Matrices in another order of their rows.

use std::sync::Arc;

use super::Distributed;
use super::partition::Partition;
use super::rows::{Fetched, assembled, send_rows};
use super::wire::{Writer, numbers};
use crate::error::Result;
use crate::matrix::Duplicates;
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// A square matrix whose row and column `i` become row and column `place(i)`, about as many rows for every rank, and own
    /// rows of vectors alike. All ranks call it together, with the same order.
    pub fn renumbered(
        &self,
        place: impl Fn(u64) -> u64,
        vectors: &[Vec<T>],
    ) -> Result<(Self, Vec<Vec<T>>)> {
        let even = Partition::even(self.rows.total(), 1, self.team().size());
        self.moved_to(&Arc::new(even), place, vectors)
    }

    /// The same with some partition of the rows and columns.
    pub(super) fn moved_to(
        &self,
        partition: &Arc<Partition>,
        place: impl Fn(u64) -> u64,
        vectors: &[Vec<T>],
    ) -> Result<(Self, Vec<Vec<T>>)> {
        let team = self.team();
        let own = partition.range(team.rank());
        let columns = (0..self.columns.len()).map(|column| place(self.columns.global(column)));
        let columns: Vec<u64> = columns.collect();
        let mut sent: Vec<Fetched<T>> = (0..team.size()).map(|_| Fetched::new()).collect();
        let mut rows = vec![Vec::new(); team.size()];
        for (row, number) in self.rows.range(team.rank()).enumerate() {
            let place = place(number);
            let rank = partition.rank_of(place);
            let (of_row, values) = self.local.row(row);
            let of_row = of_row.iter().map(|&column| columns[column as usize]);
            sent[rank].push(place, of_row, values);
            rows[rank].push(row);
        }
        let received = send_rows(team.as_ref(), &sent)?;
        let mut moved = Vec::with_capacity(vectors.len());
        for vector in vectors {
            let values = |rows: &Vec<usize>| {
                let mut writer = Writer::default();
                writer.put_all(rows.iter().map(|&row| vector[row]));
                writer.bytes
            };
            let sent = rows.iter().map(values).collect();
            let mut to = vec![T::default(); (own.end - own.start) as usize];
            for (bytes, rows) in team.all_to_all(sent)?.iter().zip(&received) {
                for (value, place) in numbers::<T>(bytes).zip(&rows.numbers) {
                    to[(place - own.start) as usize] = value;
                }
            }
            moved.push(to);
        }
        let rows = assembled(&received, &own);
        let arrays = (rows.offsets, rows.columns, rows.values);
        let refuse = Duplicates::Refuse;
        let a = Self::of_columns(&self.executor, partition, partition, arrays, refuse)?;
        Ok((a, moved))
    }
}
