//! The rows of other ranks that a rank refers to.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::local_numbers::LocalNumbers;
use super::partition::Partition;
use super::wire::{bytes_of, bytes_of_mut, numbers};
use crate::communicator::{Communicator, Messages, Span};
use crate::error::{Error, Result};
use crate::scalar::Element;

/// The [`LocalNumbers`] of own rows and of those of other ranks that a rank refers to, and who sends what for the others.
#[derive(Debug)]
pub struct Halo {
    team: Arc<dyn Communicator>,
    partition: Arc<Partition>,
    numbering: LocalNumbers,
    /// Own rows that other ranks refer to, counted from the first.
    sent: Vec<(usize, Vec<u32>)>,
    /// How many of the others come from which rank, in their order.
    received: Vec<(usize, usize)>,
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
        let mut others = numbering.others();
        let mut wanted = vec![Vec::new(); team.size()];
        let mut received = Vec::new();
        while let Some(&first) = others.first() {
            let from = partition.rank_of(first);
            let end = partition.range(from).end;
            let (rows, rest) = others.split_at(others.partition_point(|&row| row < end));
            wanted[from] = bytes_of(rows).to_vec();
            received.push((from, rows.len()));
            others = rest;
        }
        let first = numbering.own_rows().start;
        let of_rank = |(rank, bytes): (usize, Vec<u8>)| {
            let rows = numbers(&bytes).map(|row: u64| (row - first) as u32);
            (rank, rows.collect::<Vec<u32>>())
        };
        let asked = team.all_to_all(wanted)?.into_iter().enumerate();
        let sent = asked.map(of_rank).filter(|(_, rows)| !rows.is_empty());
        Ok(Self {
            sent: sent.collect(),
            team: Arc::clone(team),
            partition: Arc::clone(partition),
            numbering,
            received,
            spare: Mutex::default(),
        })
    }

    /// Which rank has which of the rows.
    pub fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// All ranks.
    pub fn team(&self) -> &Arc<dyn Communicator> {
        &self.team
    }

    /// Ranks this one sends to.
    pub fn neighbours(&self) -> usize {
        self.sent.len()
    }

    /// Numbers this one sends in an exchange.
    pub fn sent_count(&self) -> usize {
        self.sent.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// Takes the values of other rows from the ranks that have them, `cols` for each; `meanwhile` is called while they
    /// travel.
    ///
    /// # Errors
    /// When another rank has failed, and what `meanwhile` returns.
    pub fn exchange<T: Element>(
        &self,
        cols: usize,
        own: &[T],
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let pack = |row: usize, packed: &mut Vec<u8>| {
            packed.extend_from_slice(bytes_of(&own[row * cols..(row + 1) * cols]));
        };
        self.exchange_by(cols, pack, others, meanwhile)
    }

    /// Own rows that every rank is sent, counted from the first.
    pub(super) fn sent(&self) -> &[(usize, Vec<u32>)] {
        &self.sent
    }

    /// How many of the others come from which rank, in their order.
    pub(super) fn received(&self) -> &[(usize, usize)] {
        &self.received
    }

    /// Own rows that are sent, in the order of an exchange, counted from the first.
    pub(super) fn sent_rows(&self) -> impl Iterator<Item = u32> {
        self.sent.iter().flat_map(|(_, rows)| rows).copied()
    }

    fn exchange_by<T: Element>(
        &self,
        cols: usize,
        pack: impl Fn(usize, &mut Vec<u8>),
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut packed = self.memory();
        packed.clear();
        self.sent_rows()
            .for_each(|row| pack(row as usize, &mut packed));
        let done = self.exchange_bytes(cols, &packed, others, meanwhile);
        self.give_back(packed);
        done
    }

    /// The same for values of own rows that are [sent](Self::sent_rows), one after the other.
    pub(super) fn exchange_packed<T: Element>(
        &self,
        cols: usize,
        sent: &[T],
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.exchange_bytes(cols, bytes_of(sent), others, meanwhile)
    }

    fn exchange_bytes<T: Element>(
        &self,
        cols: usize,
        packed: &[u8],
        others: &mut [T],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let width = cols * size_of::<T>();
        let (mut rest, mut messages) = (packed, Messages::default());
        for (to, rows) in &self.sent {
            let (bytes, more) = rest.split_at(rows.len() * width);
            messages.sent.push((*to, bytes));
            rest = more;
        }
        let mut rest = bytes_of_mut(others);
        for (from, rows) in &self.received {
            let (bytes, more) = rest.split_at_mut(rows * width);
            messages.received.push((*from, bytes));
            rest = more;
        }
        self.team.exchange(&mut messages, meanwhile)
    }

    /// The same for memory of a device, `width` bytes for every row.
    ///
    /// # Safety
    /// At `from` are the rows that are [sent](Self::sent_rows), at `to` is room for the others. Nobody writes to the first or
    /// touches the second before this returns.
    pub(super) unsafe fn exchange_there(
        &self,
        width: usize,
        (from, to): (u64, u64),
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let spans = |first: u64, counts: &mut dyn Iterator<Item = (usize, usize)>| {
            let mut address = first;
            let span = |(rank, rows): (usize, usize)| {
                let (bytes, at) = (rows * width, address);
                address += bytes as u64;
                Span {
                    rank,
                    address: at,
                    bytes,
                }
            };
            counts.map(span).collect::<Vec<_>>()
        };
        let mut sent = self.sent.iter().map(|(to, rows)| (*to, rows.len()));
        let sent = spans(from, &mut sent);
        let received = spans(to, &mut self.received.iter().copied());
        // SAFETY: the conditions of this function; rows lie one behind the other.
        unsafe { self.team.exchange_spans(&sent, &received, meanwhile) }
    }

    /// Adds what other ranks have for own rows: the [exchange](Self::exchange) the other way round. Sums are formed in
    /// the order of the ranks.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn collect<T: Element>(
        &self,
        cols: usize,
        others: &[T],
        add: &mut dyn FnMut(usize, &[T]),
    ) -> Result<()> {
        let mut taken: Vec<Vec<T>> = Vec::with_capacity(self.sent.len());
        for (_, rows) in &self.sent {
            taken.push(vec![T::default(); rows.len() * cols]);
        }
        let mut messages = Messages::default();
        let mut rest = others;
        for (from, rows) in &self.received {
            let (values, more) = rest.split_at(rows * cols);
            messages.sent.push((*from, bytes_of(values)));
            rest = more;
        }
        for ((to, _), values) in self.sent.iter().zip(&mut taken) {
            messages.received.push((*to, bytes_of_mut(values)));
        }
        self.team.exchange(&mut messages, &mut || Ok(()))?;
        for ((_, rows), values) in self.sent.iter().zip(&taken) {
            for (&row, values) in rows.iter().zip(values.chunks_exact(cols)) {
                add(row as usize, values);
            }
        }
        Ok(())
    }

    /// Replaces the values of other rows by those that their ranks have; `values` has one for every local number.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn refresh<T: Element>(&self, values: &mut [T]) -> Result<()> {
        let mut others = vec![T::default(); self.others().len()];
        self.exchange(1, &values[self.own()], &mut others, &mut || Ok(()))?;
        let (before, after) = others.split_at(self.before());
        values[..self.before()].copy_from_slice(before);
        values[self.own().end..].copy_from_slice(after);
        Ok(())
    }

    /// The same for values that are read and written one by one, by local numbers.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn refresh_by<T: Element>(
        &self,
        value: impl Fn(usize) -> T,
        mut write: impl FnMut(usize, T),
    ) -> Result<()> {
        let mut others = vec![T::default(); self.others().len()];
        let first = self.own().start;
        let pack = |row: usize, packed: &mut Vec<u8>| {
            packed.extend_from_slice(bytes_of(&[value(first + row)]));
        };
        self.exchange_by(1, pack, &mut others, &mut || Ok(()))?;
        for (place, value) in others.into_iter().enumerate() {
            write(self.of_other(place), value);
        }
        Ok(())
    }

    /// The nodes of these rows, `block` rows each, which are here as a whole. All ranks call it together.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn nodes(&self, block: usize) -> Result<Self> {
        let nodes = self.others().iter().map(|row| row / block as u64);
        let partition = Arc::new(self.partition.divided(block));
        Self::new(&self.team, &partition, nodes.collect())
    }

    fn memory(&self) -> Vec<u8> {
        let spare = self.spare.lock();
        spare
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    fn give_back(&self, memory: Vec<u8>) {
        let spare = self.spare.lock();
        spare.unwrap_or_else(PoisonError::into_inner).push(memory);
    }
}

/// Whether local numbers can be those of the rows, and all of them exist.
fn check(numbering: &LocalNumbers, partition: &Partition) -> Result<()> {
    let last = numbering.others().last();
    if let Some(&row) = last.filter(|&&last| last >= partition.total()) {
        return Err(Error::InvalidStructure {
            format: "distributed",
            reason: format!("column {row} is outside 0..{}", partition.total()),
        });
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
