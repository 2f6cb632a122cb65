//! Matrices in another order of their rows, or with other rows on every rank.

use super::Distributed;
use super::partition::Partition;
use super::rows::{Fetched, numbers, send_rows};
use crate::cut::work_before_pieces;
use crate::matrix::Duplicates;
use crate::prelude::*;
use crate::scalar::bytes;

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
        let mut sent = Fetched::for_ranks(team.size());
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
                let values: Vec<T> = rows.iter().map(|&row| vector[row]).collect();
                bytes(&values).to_vec()
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
        let a = Self::of_pieces(&self.executor, partition, &received, Duplicates::Refuse)?;
        Ok((a, moved))
    }
}

impl<T: Scalar> Distributed<T> {
    /// The same matrix with rows in pieces of equal work, as [`Pattern::pieces`](crate::matrix::Pattern) of the whole matrix
    /// has them: every rank has those that begin in its rows. With their bounds. All ranks call it together.
    pub fn in_pieces(&self) -> Result<(Self, Vec<u64>)> {
        let bounds = self.bounds_of_pieces()?;
        let own = self.rows.range(self.team().rank());
        let next = |row: u64| bounds[bounds.partition_point(|&bound| bound < row)];
        let count = next(own.end) - next(own.start);
        let rows = Partition::of_counts(self.team().as_ref(), count as usize)?;
        let (a, _) = self.moved_to(&Arc::new(rows), |row| row, &[])?;
        Ok((a, bounds))
    }

    /// The bounds of pieces of equal work of the whole matrix.
    fn bounds_of_pieces(&self) -> Result<Vec<u64>> {
        let (team, offsets) = (self.team(), self.local.offsets());
        let rows = offsets.len() - 1;
        let all = team.all_numbers((offsets[rows] + rows) as u64)?;
        let before = all[..team.rank()].iter().sum::<u64>() as usize;
        let targets = work_before_pieces(all.iter().sum::<u64>() as usize);
        // Own rows before a piece; their sum are those of all ranks.
        let begins = |target: usize| {
            let (mut low, mut high) = (0, rows);
            while low < high {
                let row = usize::midpoint(low, high);
                match before + offsets[row] + row < target {
                    true => low = row + 1,
                    false => high = row,
                }
            }
            low as f64
        };
        let mut bounds: Vec<f64> = targets.into_iter().map(begins).collect();
        team.sum(&mut bounds)?;
        let mut bounds: Vec<u64> = bounds.into_iter().map(|bound| bound as u64).collect();
        bounds.push(self.rows.total());
        bounds.dedup();
        Ok(bounds)
    }
}

#[cfg(test)]
mod tests {
    use crate::matrix::on_parts;
    use crate::prelude::*;

    #[test]
    fn pieces_are_those_of_the_whole_matrix() {
        let n = 50_000;
        let whole = Csr::diagonal_matrix(&Executor::cpu(), vec![2.0; n]);
        let pieces = whole.pattern().pieces().iter();
        let expected: Vec<u64> = pieces.map(|&row| row as u64).collect();
        assert!(expected.len() > 3);
        for ranks in [1, 2, 7] {
            on_parts(None, ranks, &whole, |_, a| {
                let (same, bounds) = a.in_pieces()?;
                assert_eq!(bounds, expected);
                let own = same.rows().range(a.team().rank());
                assert!(expected.contains(&own.start) && expected.contains(&own.end));
                assert_eq!(same.total_nonzeros()?, n as u64);
                Ok(())
            });
        }
    }
}
