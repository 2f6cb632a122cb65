//! Ranks that solve one system together: processes under MPI, or threads of one process.
//!
//! A [`Communicator`] connects a rank with its team. All ranks call its operations in the same order. There are two kinds: [`threads`], for tests and for one machine, and [`mpi`], whose library is loaded when the program runs,
//! so that a build needs none.
//!
//! ```
//! use vcycle::communicator::{Communicator, threads};
//! let sums = threads::run(3, |team| {
//!     let mut sum = [team.rank() as f64];
//!     team.sum(&mut sum)?;
//!     Ok(sum[0])
//! })?;
//! assert_eq!(sums, [3.0; 3]);
//! # Ok::<(), vcycle::Error>(())
//! ```

mod calls;
mod clock;
pub mod mpi;
mod patience;
pub mod threads;
mod traffic;

use std::fmt::Debug;
use std::sync::Arc;

pub use calls::Call;
pub(crate) use clock::{PAUSE, SharedClock};
pub use traffic::{Counters, Traffic};

use crate::error::{Error, Result};
use crate::scalar::bytes;

/// One rank of a team. What connects it with the others are the methods of `dyn Communicator`, which count messages, and
/// compare what ranks call where that is asked for. The methods of the trait are what a kind of ranks implements.
pub trait Communicator: Debug + Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The counters of this rank.
    fn counters(&self) -> &Counters;

    /// Records what this rank is about to call. True where ranks compare their calls before they begin.
    fn begins(&self, _call: Call) -> bool {
        false
    }

    /// Ends all ranks, as they do not call the same operations or wait in vain.
    fn give_up(&self, reason: String) -> Error {
        Error::Team(reason)
    }

    /// What `sum_while` does, uncounted and without a comparison of calls, as all that follow.
    fn add(&self, values: &mut [f64], meanwhile: Option<Meanwhile<'_>>) -> Result<()>;

    /// What `exchange_spans` does.
    ///
    /// # Safety
    /// Every span is valid memory of its length, of the host or of a device that [`check_driver`](Self::check_driver) allows.
    /// Nobody else writes to it during the call. Spans for received messages do not overlap others, and nobody reads them during the call.
    unsafe fn transfer(
        &self,
        sent: &[Span],
        received: &[Span],
        meanwhile: Meanwhile<'_>,
    ) -> Result<()>;

    /// What `all_to_all` does.
    fn swap(&self, bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>>;

    /// What `split` does.
    fn part(&self, colour: usize) -> Result<Arc<dyn Communicator>>;

    /// Fails if messages may not be in device memory of a driver (`cuda`, `hip`), as far as is known without a trial
    /// message.
    fn check_driver(&self, driver: &str) -> Result<()> {
        let reason = format!("ranks of this kind send no memory of {driver} devices");
        Err(Error::Team(reason))
    }

    /// Whether threads other than the one that made it may use it, one at a time.
    fn serves_threads(&self) -> bool {
        true
    }
}

/// What a rank does while messages are in transit.
pub type Meanwhile<'w> = &'w mut dyn FnMut() -> Result<()>;

/// A message by the address of its memory.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The rank it goes to or comes from.
    pub rank: usize,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: usize,
}

/// The messages of one exchange, each with the rank it goes to or comes from.
#[derive(Debug, Default)]
pub struct Messages<'m> {
    /// What is sent.
    pub sent: Vec<(usize, &'m [u8])>,
    /// Where what is received goes.
    pub received: Vec<(usize, &'m mut [u8])>,
}

impl Messages<'_> {
    /// What is sent and received, by addresses.
    fn spans(&mut self) -> (Vec<Span>, Vec<Span>) {
        let sent = self.sent.iter().map(|(rank, bytes)| Span {
            rank: *rank,
            address: bytes.as_ptr() as u64,
            bytes: bytes.len(),
        });
        let received = self.received.iter_mut().map(|(rank, out)| Span {
            rank: *rank,
            address: out.as_mut_ptr() as u64,
            bytes: out.len(),
        });
        (sent.collect(), received.collect())
    }
}

/// Two splittings of a team such that sums over the parts of one and then of the other are sums over all: a sum in the order of the
/// ranks gathers a number of each, which is expensive for large teams. None for fewer than `many` ranks or a prime number.
fn stages(team: &dyn Communicator, many: usize) -> Result<Option<[Arc<dyn Communicator>; 2]>> {
    let (rank, size) = (team.rank(), team.size());
    let is_side = |side: &usize| side * side <= size && size.is_multiple_of(*side);
    let side = (2..size)
        .take_while(|side| side * side <= size)
        .filter(is_side)
        .last();
    match side {
        Some(side) if size >= many => {
            Ok(Some([team.split(rank / side)?, team.split(rank % side)?]))
        }
        _ => Ok(None),
    }
}

/// Fails while this thread records work of a device: the messages would not be part of the record.
fn check_recording() -> Result<()> {
    match vcycle_gpu::is_recording() {
        false => Ok(()),
        true => Err(Error::Team("messages are not recorded".to_owned())),
    }
}

/// The name of this machine.
pub(crate) fn machine() -> Vec<u8> {
    std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default()
}

impl dyn Communicator + '_ {
    /// Replaces every value by its sum over all ranks. Every rank gets the same bits: the values are added in an order that depends
    /// on the number of ranks alone, which for small teams is that of the ranks.
    #[track_caller]
    pub fn sum(&self, values: &mut [f64]) -> Result<()> {
        self.counters().summed();
        self.together(Call::sum(values.len()))?;
        self.add(values, None)
    }

    /// `sum` that calls `meanwhile` while the values are in transit if it can, else before. It counts as
    /// one sum.
    #[track_caller]
    pub fn sum_while(&self, values: &mut [f64], meanwhile: Meanwhile<'_>) -> Result<()> {
        self.counters().summed();
        self.together(Call::sum(values.len()))?;
        self.add(values, Some(meanwhile))
    }

    /// Sends and receives messages, and calls `meanwhile` while they are in transit. The receiving rank has to expect each message in its
    /// own call, with the same length.
    #[track_caller]
    pub fn exchange(&self, messages: &mut Messages<'_>, meanwhile: Meanwhile<'_>) -> Result<()> {
        let (sent, received) = messages.spans();
        // SAFETY: the slices are borrowed until it returns, those that are received mutably.
        unsafe { self.exchange_spans(&sent, &received, meanwhile) }
    }

    /// `exchange` of messages by their addresses.
    ///
    /// # Safety
    /// The conditions of [`Communicator::transfer`].
    #[track_caller]
    pub unsafe fn exchange_spans(
        &self,
        sent: &[Span],
        received: &[Span],
        meanwhile: Meanwhile<'_>,
    ) -> Result<()> {
        sent.iter()
            .for_each(|span| self.counters().sent(span.bytes));
        self.beside(Call::exchange(), sent, received)?;
        // SAFETY: the conditions of this function.
        unsafe { self.transfer(sent, received, meanwhile) }
    }

    /// Sends bytes to every rank, of any length, and returns what each has sent.
    #[track_caller]
    pub fn all_to_all(&self, bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        self.together(Call::all_to_all())?;
        self.swap(bytes)
    }

    /// Splits the team: ranks of the same colour form a team, in their order.
    #[track_caller]
    pub fn split(&self, colour: usize) -> Result<Arc<dyn Communicator>> {
        self.together(Call::split())?;
        self.part(colour)
    }

    /// The messages and the waiting time of this rank so far.
    pub fn traffic(&self) -> Traffic {
        self.counters().read()
    }

    /// Sends the same bytes to every rank, and returns those of all ranks.
    #[track_caller]
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.all_to_all(vec![bytes.to_vec(); self.size()])
    }

    /// Sends numbers to every rank, any count of them, and returns what each has sent.
    #[track_caller]
    pub fn all_to_all_numbers(&self, numbers: Vec<Vec<u64>>) -> Result<Vec<Vec<u64>>> {
        let sent = numbers.iter().map(|numbers| bytes(numbers).to_vec());
        let number = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
        let of_rank = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(number).collect();
        let received = self.all_to_all(sent.collect())?.into_iter();
        Ok(received.map(of_rank).collect())
    }

    /// Gathers one number of every rank.
    #[track_caller]
    pub fn all_numbers(&self, number: u64) -> Result<Vec<u64>> {
        let all = self.all_gather(&number.to_ne_bytes())?;
        let number = |bytes: Vec<u8>| bytes.try_into().map(u64::from_ne_bytes);
        let numbers: std::result::Result<Vec<u64>, Vec<u8>> = all.into_iter().map(number).collect();
        numbers.map_err(|_| Error::Team("ranks do not call the same operations".to_owned()))
    }

    /// The total of whole numbers, exact.
    #[track_caller]
    pub fn total(&self, number: u64) -> Result<u64> {
        Ok(self.all_numbers(number)?.iter().sum())
    }

    /// The largest number of all ranks.
    #[track_caller]
    pub fn largest(&self, number: f64) -> Result<f64> {
        let all = self.all_numbers(number.to_bits())?;
        let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        Ok(all.into_iter().map(f64::from_bits).fold(number, larger))
    }

    /// Whether it holds on any rank; every rank gets the same answer.
    #[track_caller]
    pub fn any(&self, holds: bool) -> Result<bool> {
        let mut count = [f64::from(u8::from(holds))];
        self.sum(&mut count)?;
        Ok(count[0] > 0.0)
    }

    /// Ends a stage that may have failed on some ranks: then it fails on all of them. The first rank that failed returns its
    /// error, all others refer to that rank, so that one error is printed.
    ///
    /// # Errors
    /// The error of this rank, or [`Error::OtherRank`].
    #[track_caller]
    pub fn agree<T>(&self, result: Result<T>) -> Result<T> {
        self.check_others(result.as_ref().err())?;
        result
    }

    /// Fails where another rank was the first to fail, given the error of this one.
    #[track_caller]
    fn check_others(&self, error: Option<&Error>) -> Result<()> {
        if !self.any(error.is_some())? {
            return Ok(());
        }
        // A rank that failed because of another one does not report its own error.
        let message = match error {
            None | Some(Error::OtherRank { .. }) => Vec::new(),
            Some(error) => error.to_string().into_bytes(),
        };
        let all = self.all_gather(&message)?;
        let first = all.iter().position(|message| !message.is_empty());
        // That is no rank's fault, and what comes next depends on it.
        let is_late = matches!(error, Some(Error::OutOfTime));
        let are_late = is_late && all.iter().all(|other| *other == all[self.rank()]);
        match first.filter(|_| !are_late) {
            Some(rank) if rank != self.rank() => Err(Error::OtherRank {
                rank,
                reason: String::from_utf8_lossy(&all[rank]).into_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The number of this rank among those of its machine, and their count; machines are distinguished by their names.
    #[track_caller]
    pub fn on_this_machine(&self) -> Result<(usize, usize)> {
        self.alike(&machine())
    }

    /// The number of this rank among those that send the same bytes, and their count.
    #[track_caller]
    pub fn alike(&self, bytes: &[u8]) -> Result<(usize, usize)> {
        let all = self.all_gather(bytes)?;
        let count = |ranks: &[Vec<u8>]| ranks.iter().filter(|other| *other == bytes).count();
        Ok((count(&all[..self.rank()]), count(&all)))
    }

    /// Fails on all ranks where they have different numbers of something.
    ///
    /// # Errors
    /// What they have different numbers of.
    #[track_caller]
    pub fn check_same(&self, what: &str, numbers: &[usize]) -> Result<()> {
        let own: Vec<f64> = numbers.iter().map(|&number| number as f64).collect();
        let mut sums = own.clone();
        self.sum(&mut sums)?;
        let ranks = self.size() as f64;
        match self.any(own.iter().zip(&sums).any(|(own, sum)| own * ranks != *sum))? {
            false => Ok(()),
            true => Err(Error::Team(format!(
                "ranks have different numbers of {what}"
            ))),
        }
    }

    /// The cores of this rank alone, at least one: launchers bind processes to cores, and processes that are bound to the same
    /// cores share them.
    #[track_caller]
    pub fn own_cores(&self) -> Result<usize> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut place = machine();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed:"));
        place.extend_from_slice(allowed.unwrap_or_default().as_bytes());
        let (_, sharing) = self.alike(&place)?;
        Ok((cores / sharing).max(1))
    }

    /// Waits until all ranks call it.
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.sum(&mut [0.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_one_rank_is_known_to_all() {
        let reported = threads::run(3, |team| {
            let result = match team.rank() {
                1 => Err(Error::Team("no more paper".to_owned())),
                _ => Ok(()),
            };
            // The rank that failed has its error for the end of an enclosing stage.
            let stage = team.agree(result);
            Ok(team.agree(stage).unwrap_err().to_string())
        });
        let reported = reported.unwrap();
        assert_eq!(reported[0], "rank 1: no more paper");
        assert_eq!(reported[1], "no more paper");
        assert_eq!(reported[2], reported[0]);
    }

    #[test]
    fn sums_in_two_stages_have_the_same_bits_on_every_rank() {
        for ranks in [12, 16, 35] {
            let sums = threads::run(ranks, |team| {
                let [row, column] = stages(team.as_ref(), 12)?.unwrap();
                assert!(row.size() * column.size() == ranks && row.size() > 2);
                let mut sum = [1.0, 0.1 * (1.0 + team.rank() as f64)];
                row.sum(&mut sum)?;
                column.sum(&mut sum)?;
                Ok(sum)
            });
            let sums = sums.unwrap();
            assert_eq!(sums, vec![sums[0]; ranks]);
            assert_eq!(sums[0][0], ranks as f64);
            let expected = 0.05 * (ranks * (ranks + 1)) as f64;
            assert!((sums[0][1] - expected).abs() < 1e-12);
        }
        for (ranks, many) in [(7, 2), (12, 13), (1, 1)] {
            let none = threads::run(ranks, |team| Ok(stages(team.as_ref(), many)?.is_none()));
            assert_eq!(none.unwrap(), vec![true; ranks]);
        }
    }

    #[test]
    fn work_goes_on_while_values_are_added() {
        let sums = threads::run(3, |team| {
            let (mut sum, mut inner) = ([1.0, team.rank() as f64], [1.0]);
            team.sum_while(&mut sum, &mut || team.sum(&mut inner))?;
            Ok((sum, inner, team.traffic().sums))
        });
        assert_eq!(sums.unwrap(), [([3.0, 3.0], [3.0], 2); 3]);
    }

    #[test]
    fn threads_are_on_one_machine() {
        let places = threads::run(3, |team| team.on_this_machine());
        assert_eq!(places.unwrap(), [(0, 3), (1, 3), (2, 3)]);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let own = threads::run(2, |team| team.own_cores());
        assert_eq!(own.unwrap(), [(cores / 2).max(1); 2]);
    }

    #[test]
    fn numbers_of_all_ranks_are_the_same_everywhere() {
        let all = threads::run(4, |team| {
            let rank = team.rank();
            let largest = team.largest(-(rank as f64))?;
            let reported =
                team.all_to_all_numbers((0..4).map(|to| vec![rank as u64; to]).collect())?;
            assert!((0..4).all(|from| reported[from] == vec![from as u64; rank]));
            Ok((
                team.total(rank as u64)?,
                largest,
                team.any(rank == 3)?,
                team.any(false)?,
            ))
        });
        assert_eq!(all.unwrap(), [(6, 0.0, true, false); 4]);
    }
}
