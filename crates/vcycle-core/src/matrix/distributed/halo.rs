//! The rows of other ranks that a rank refers to.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::exchange::{Exchange, nothing};
use super::local_numbers::LocalNumbers;
use super::partition::Partition;
use crate::communicator::Communicator;
use crate::prelude::*;
use crate::scalar::{Element, bytes, bytes_mut};

/// The [`LocalNumbers`] of own rows and of those of other ranks that a rank refers to, and the messages for the latter.
#[derive(Debug)]
pub struct Halo {
    partition: Arc<Partition>,
    numbering: LocalNumbers,
    exchange: Exchange,
    /// Own rows that other ranks refer to, rank by rank, counted from the first.
    sent: Vec<u32>,
    /// Memory of messages that were sent.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Deref for Halo {
    type Target = LocalNumbers;
    fn deref(&self) -> &LocalNumbers {
        &self.numbering
    }
}

impl Halo {
    /// Own rows and others, in any order. All ranks call it together.
    ///
    /// # Errors
    /// For a number that is too large, and when another rank has failed.
    pub fn new(
        team: &Arc<dyn Communicator>,
        partition: &Arc<Partition>,
        others: Vec<u64>,
    ) -> Result<Self> {
        let rank = team.rank();
        let numbering = LocalNumbers::new(partition.range(rank), others);
        team.agree(check(&numbering, partition))?;
        let wanted = partition.by_rank(numbering.others());
        let received = wanted.iter().map(Vec::len).enumerate().collect();
        let requested = team.all_to_all_numbers(wanted)?;
        let sent = requested.iter().map(Vec::len).enumerate().collect();
        let first = numbering.own_rows().start;
        let rows = requested.concat().into_iter();
        Ok(Self {
            sent: rows.map(|row| (row - first) as u32).collect(),
            exchange: Exchange::new(team, sent, received),
            partition: Arc::clone(partition),
            numbering,
            spare: Mutex::default(),
        })
    }

    /// Which rank has which of the rows.
    pub fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// All ranks.
    pub fn team(&self) -> &Arc<dyn Communicator> {
        self.exchange.team()
    }

    /// Ranks this one sends to.
    pub fn neighbours(&self) -> usize {
        self.exchange.sent().len()
    }

    /// Numbers this one sends in an exchange.
    pub fn sent_count(&self) -> usize {
        self.sent.len()
    }

    /// Takes the values of other rows from the ranks that have them, `cols` for each; `meanwhile` is called while they
    /// travel.
    pub fn exchange<T: Element>(
        &self,
        cols: usize,
        own: &[T],
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let pack = |row: usize, packed: &mut Vec<u8>| {
            packed.extend_from_slice(bytes(&own[row * cols..(row + 1) * cols]));
        };
        self.exchange_by(cols, pack, others, meanwhile)
    }

    /// The messages of an exchange.
    pub(super) fn messages(&self) -> &Exchange {
        &self.exchange
    }

    /// Own rows that are sent, in the order of an exchange, counted from the first.
    pub(super) fn sent_rows(&self) -> &[u32] {
        &self.sent
    }

    fn exchange_by<T: Element>(
        &self,
        cols: usize,
        pack: impl Fn(usize, &mut Vec<u8>),
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut packed = spare().pop().unwrap_or_default();
        packed.clear();
        let rows = self.sent.iter();
        rows.for_each(|&row| pack(row as usize, &mut packed));
        let width = cols * size_of::<T>();
        let done = self
            .exchange
            .run(width, &packed, bytes_mut(others), meanwhile);
        spare().push(packed);
        done
    }

    /// Adds what other ranks have for own rows: the [exchange](Self::exchange) the other way round. Sums are formed in
    /// the order of the ranks.
    pub fn collect<T: Element>(
        &self,
        cols: usize,
        others: &[T],
        add: &mut dyn FnMut(usize, &[T]),
    ) -> Result<()> {
        let mut taken = vec![T::default(); self.sent.len() * cols];
        let (width, back) = (cols * size_of::<T>(), self.exchange.reversed());
        back.run(width, bytes(others), bytes_mut(&mut taken), &mut nothing)?;
        let rows = self.sent.iter().zip(taken.chunks_exact(cols));
        rows.for_each(|(&row, values)| add(row as usize, values));
        Ok(())
    }

    /// Replaces the values of other rows by those that their ranks have; `values` has one for every local number.
    pub fn refresh<T: Element>(&self, values: &mut [T]) -> Result<()> {
        let mut others = vec![T::default(); self.others().len()];
        self.exchange(1, &values[self.own()], &mut others, &mut nothing)?;
        let (before, after) = others.split_at(self.before());
        values[..self.before()].copy_from_slice(before);
        values[self.own().end..].copy_from_slice(after);
        Ok(())
    }

    /// The same for values that are read and written one by one, by local numbers.
    pub fn refresh_by<T: Element>(
        &self,
        value: impl Fn(usize) -> T,
        mut write: impl FnMut(usize, T),
    ) -> Result<()> {
        let mut others = vec![T::default(); self.others().len()];
        let first = self.own().start;
        let pack = |row: usize, packed: &mut Vec<u8>| {
            packed.extend_from_slice(bytes(&[value(first + row)]));
        };
        self.exchange_by(1, pack, &mut others, &mut nothing)?;
        for (place, value) in others.into_iter().enumerate() {
            write(self.of_other(place), value);
        }
        Ok(())
    }

    /// The nodes of these rows, `block` rows each, which are here as a whole. All ranks call it together.
    pub fn nodes(&self, block: usize) -> Result<Self> {
        let nodes = self.others().iter().map(|row| row / block as u64);
        let partition = Arc::new(self.partition.divided(block));
        Self::new(self.team(), &partition, nodes.collect())
    }
}

/// Whether local numbers can be those of the rows, and all of them exist.
fn check(numbering: &LocalNumbers, partition: &Partition) -> Result<()> {
    let last = numbering.others().last();
    if let Some(&row) = last.filter(|&&last| last >= partition.total()) {
        let reason = format!("column {row} is outside 0..{}", partition.total());
        return Err(Error::structure("distributed", reason));
    }
    if u32::try_from(numbering.len()).is_err() {
        let reason = "a rank has and refers to more than 4294967295 rows: use more ranks";
        return Err(Error::Team(reason.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;

    #[test]
    fn values_come_from_the_ranks_that_have_them_and_go_back_there() {
        threads::run(3, |team| {
            let partition = Arc::new(Partition::even(12, 1, 3));
            let others = match team.rank() {
                0 => vec![4, 9],
                1 => vec![0, 3, 8],
                _ => vec![],
            };
            let halo = Halo::new(&team, &partition, others)?;
            let own = partition.range(team.rank());
            let mut values = vec![0; halo.len()];
            for (value, row) in values[halo.own()].iter_mut().zip(own.clone()) {
                *value = 100 + row;
            }
            halo.refresh(&mut values)?;
            for (local, &value) in values.iter().enumerate() {
                assert_eq!(value, 100 + halo.global(local));
                assert_eq!(halo.local(value - 100), Some(local as u32));
            }
            assert_eq!(halo.local(11).is_some(), team.rank() == 2);
            let ones = vec![1.0; halo.others().len()];
            let mut sums = vec![0.0; halo.own_count()];
            halo.collect(1, &ones, &mut |row, values| sums[row] += values[0])?;
            let expected = [
                [1.0, 0.0, 0.0, 1.0],
                [1.0, 0.0, 0.0, 0.0],
                [1.0, 1.0, 0.0, 0.0],
            ];
            assert_eq!(sums, expected[team.rank()]);
            Ok(())
        })
        .unwrap();
    }
}
