//! Vectors that are gathered on rank 0 and spread from there while work is recorded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vcycle_gpu::Address;

use super::partition::Partition;
use crate::communicator::{Communicator, Messages};
use crate::error::Result;
use crate::gpu::{Courier, Gpu, Letter};
use crate::operations::halo;

/// Own rows that are sent, where those that come back go, and how many bytes they are.
pub(super) type Own = (Address, Address, usize);

/// What is sent, by the bytes of a row: on rank 0 a letter that gathers and one that spreads, on others one for both ways.
#[derive(Debug, Default)]
pub(super) struct GatheringLetters(Mutex<HashMap<usize, Vec<Arc<Letter>>>>);

impl GatheringLetters {
    fn known(
        &self,
        width: usize,
        make: impl FnOnce() -> Result<Vec<Letter>>,
    ) -> Result<Vec<Arc<Letter>>> {
        let mut letters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = letters.get(&width) {
            return Ok(known.clone());
        }
        let made: Vec<_> = make()?.into_iter().map(Arc::new).collect();
        letters.insert(width, made.clone());
        Ok(made)
    }

    /// That of a rank which sends its rows to rank 0 and gets them back; none without rows.
    pub fn of_others(
        &self,
        courier: &Courier,
        team: &Arc<dyn Communicator>,
        width: usize,
        rows: usize,
    ) -> Result<Option<Arc<Letter>>> {
        if rows == 0 {
            return Ok(None);
        }
        let made = self.known(width, || {
            let team = Arc::clone(team);
            let both = move |bytes: &mut [u8]| {
                let mut there = Messages {
                    sent: vec![(0, &*bytes)],
                    received: Vec::new(),
                };
                team.exchange(&mut there, &mut || Ok(()))?;
                let mut back = Messages {
                    sent: Vec::new(),
                    received: vec![(0, bytes)],
                };
                team.exchange(&mut back, &mut || Ok(()))
            };
            Ok(vec![courier.letter(rows * width, both)?])
        })?;
        Ok(made.into_iter().next())
    }

    /// Those of rank 0.
    pub fn of_first(
        &self,
        courier: &Courier,
        team: &Arc<dyn Communicator>,
        width: usize,
        rows: &Partition,
    ) -> Result<[Arc<Letter>; 2]> {
        let of_rank = |rank: usize| (rows.range(rank).end - rows.range(rank).start) as usize;
        let others = (1..team.size()).map(|rank| (rank, of_rank(rank) * width));
        let others: Vec<_> = others.filter(|(_, bytes)| *bytes > 0).collect();
        let all = others.iter().map(|(_, bytes)| bytes).sum();
        let made = self.known(width, || {
            let (from, to) = (others.clone(), others.clone());
            let (taking, giving) = (Arc::clone(team), Arc::clone(team));
            let gather = courier.letter(all, move |mut rest| {
                let mut messages = Messages::default();
                for &(rank, bytes) in &from {
                    let (part, more) = rest.split_at_mut(bytes);
                    messages.received.push((rank, part));
                    rest = more;
                }
                taking.exchange(&mut messages, &mut || Ok(()))
            })?;
            let spread = courier.letter(all, move |bytes| {
                let (mut rest, mut messages) = (&*bytes, Messages::default());
                for &(rank, bytes) in &to {
                    let (part, more) = rest.split_at(bytes);
                    messages.sent.push((rank, part));
                    rest = more;
                }
                giving.exchange(&mut messages, &mut || Ok(()))
            })?;
            Ok(vec![gather, spread])
        })?;
        Ok([Arc::clone(&made[0]), Arc::clone(&made[1])])
    }
}

/// What sends messages of work that is recorded.
pub(super) fn courier(gpu: &Gpu) -> &Courier {
    gpu.courier().expect("a rank that records has one")
}

/// Queues that own rows are sent to rank 0 and come back.
pub(super) fn sent_and_answered(gpu: &Gpu, letter: &Letter, (b, x, bytes): Own) -> Result<()> {
    halo::write(gpu, letter, 0, &[(b, bytes)])?;
    letter.begin()?;
    letter.end()?;
    halo::read(gpu, letter, 0, &[(x, bytes)])
}

/// Queues that rank 0 has own rows and those of others one after the other.
pub(super) fn gathered(
    gpu: &Gpu,
    letter: &Letter,
    (b, _, bytes): Own,
    (all, of_all): (Address, usize),
) -> Result<()> {
    halo::copy(gpu, b, all, bytes)?;
    letter.begin()?;
    letter.end()?;
    halo::read(gpu, letter, 0, &[(all + bytes as Address, of_all - bytes)])
}

/// Queues that all ranks have their rows of what rank 0 has.
pub(super) fn spread(
    gpu: &Gpu,
    letter: &Letter,
    (_, x, bytes): Own,
    (all, of_all): (Address, usize),
) -> Result<()> {
    halo::write(gpu, letter, 0, &[(all + bytes as Address, of_all - bytes)])?;
    letter.begin()?;
    halo::copy(gpu, all, x, bytes)?;
    letter.end()
}
