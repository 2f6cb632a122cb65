//! Ranks that are threads of one process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::thread::ScopedJoinHandle;

use super::calls::{Call, are_compared};
use super::patience::{Condvar, Mutex, Wait, Watch, lock};
use super::{Communicator, Counters, Meanwhile, Span, check_recording};
use crate::cpu::MOST_THREADS;
use crate::error::{Error, Result};

/// Runs `work` on a number of ranks, each a thread, and returns their results in order. If ranks fail, the others stop
/// at their next operation.
///
/// # Errors
/// That of the first rank that failed, other than because of another rank.
pub fn run<R: Send>(
    ranks: usize,
    work: impl Fn(Arc<dyn Communicator>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if matches!(ranks, 0 | MOST_THREADS..) {
        let reason = format!("must be at least 1 and below {MOST_THREADS}, not {ranks}");
        return Err(Error::bad_parameter("ranks", reason));
    }
    let watch = Arc::new(Watch::new(ranks));
    let shared = Arc::new(Shared::new(ranks, &watch));
    let one = |rank: usize| {
        let end = End(rank, &shared);
        let result = work(Rank::of(rank, &shared, rank, &shared));
        if let Err(error) = &result {
            shared.fail(rank, &error.to_string());
        }
        watch.ends(rank);
        std::mem::forget(end);
        result
    };
    let results: Vec<Result<R>> = std::thread::scope(|scope| {
        let one = &one;
        let begin = |rank: usize| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || one(rank));
            thread.map_err(|error| {
                let reason = format!("no thread for rank {rank}: {error}");
                shared.fail(rank, &reason);
                Error::Team(reason)
            })
        };
        let threads: Vec<_> = (0..ranks).map(begin).collect();
        let panicked = |_| Err(Error::Team("a rank has panicked".to_owned()));
        let end = |thread: Result<ScopedJoinHandle<'_, Result<R>>>| {
            thread?.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(end).collect()
    });
    first_cause(results)
}

/// All results, or the first error, if possible one that does not refer to another rank.
fn first_cause<R>(mut results: Vec<Result<R>>) -> Result<Vec<R>> {
    let is_cause = |result: &Result<R>| {
        let error = result.as_ref().err();
        error.is_some_and(|error| !matches!(error, Error::OtherRank { .. }))
    };
    match results.iter().position(is_cause) {
        Some(rank) => results.swap_remove(rank).map(|_| Vec::new()),
        None => results.into_iter().collect(),
    }
}

/// Notifies the others when a rank panics.
struct End<'s>(usize, &'s Arc<Shared>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.1.fail(self.0, "panicked");
    }
}

/// What the ranks of a team share.
#[derive(Debug)]
struct Shared {
    /// Messages in transit to each rank.
    boxes: Vec<Mailbox>,
    meeting: Mutex<Meeting>,
    met: Condvar,
    /// Teams split from this one, by the number of the split and the colour.
    parts: Mutex<HashMap<(u64, usize), Weak<Shared>>>,
    /// Of all ranks of the whole team.
    watch: Arc<Watch>,
}

#[derive(Debug, Default)]
struct Mailbox {
    mail: Mutex<Mail>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Mail {
    /// From each rank, in the order of sending.
    from: HashMap<usize, VecDeque<Vec<u8>>>,
    /// Buffers of received messages, for use again.
    spare: Vec<Vec<u8>>,
    failed: Option<Failure>,
}

/// The rank that failed, and why.
type Failure = (usize, String);

#[derive(Debug, Default)]
struct Meeting {
    /// The contribution of each rank to a sum.
    brought: Vec<Vec<f64>>,
    present: usize,
    /// Ranks that have not read the contributions yet.
    leaving: usize,
    number: u64,
    failed: Option<Failure>,
}

fn check(failed: &Option<Failure>) -> Result<()> {
    match failed {
        None => Ok(()),
        Some((rank, reason)) => Err(Error::OtherRank {
            rank: *rank,
            reason: reason.clone(),
        }),
    }
}

impl Shared {
    fn new(ranks: usize, watch: &Arc<Watch>) -> Self {
        Self {
            boxes: (0..ranks).map(|_| Mailbox::default()).collect(),
            meeting: Mutex::new(Meeting {
                brought: vec![Vec::new(); ranks],
                ..Meeting::default()
            }),
            met: Condvar::new(),
            parts: Mutex::default(),
            watch: Arc::clone(watch),
        }
    }

    /// Wakes all ranks of the team and of its parts with an error.
    fn fail(&self, rank: usize, reason: &str) {
        let failure = || (rank, reason.to_owned());
        for one in &self.boxes {
            lock(&one.mail).failed.get_or_insert_with(failure);
            one.arrived.notify_all();
        }
        lock(&self.meeting).failed = Some(failure());
        self.met.notify_all();
        let parts: Vec<_> = lock(&self.parts)
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        parts.iter().for_each(|part| part.fail(rank, reason));
    }

    /// Every rank contributes numbers, and adds those of all when they are complete, in the order of the ranks.
    fn sum(&self, rank: usize, values: &mut [f64], mut wait: Wait<'_>) -> Result<()> {
        let mut meeting = lock(&self.meeting);
        // The previous exchange is complete when all ranks have read it.
        while meeting.leaving > 0 && meeting.failed.is_none() {
            meeting = wait.pause(&self.meeting, meeting, &self.met)?;
        }
        check(&meeting.failed)?;
        let place = &mut meeting.brought[rank];
        place.clear();
        place.extend_from_slice(values);
        meeting.present += 1;
        let number = meeting.number;
        if meeting.present == self.boxes.len() {
            meeting.number += 1;
            (meeting.leaving, meeting.present) = (self.boxes.len(), 0);
            self.met.notify_all();
        }
        while meeting.number == number && meeting.failed.is_none() {
            meeting = wait.pause(&self.meeting, meeting, &self.met)?;
        }
        if meeting.number == number {
            check(&meeting.failed)?;
        }
        values.fill(0.0);
        for brought in &meeting.brought {
            let pairs = values.iter_mut().zip(brought);
            pairs.for_each(|(sum, value)| *sum += value);
        }
        meeting.leaving -= 1;
        if meeting.leaving == 0 {
            self.met.notify_all();
        }
        Ok(())
    }
}

impl Mailbox {
    fn put(&self, from: usize, bytes: &[u8]) {
        let mut mail = lock(&self.mail);
        let mut message = mail.spare.pop().unwrap_or_default();
        message.clear();
        message.extend_from_slice(bytes);
        mail.from.entry(from).or_default().push_back(message);
        self.arrived.notify_one();
    }

    fn take(&self, from: usize, mut wait: Wait<'_>) -> Result<Vec<u8>> {
        let mut mail = lock(&self.mail);
        loop {
            if let Some(message) = mail.from.get_mut(&from).and_then(VecDeque::pop_front) {
                return Ok(message);
            }
            check(&mail.failed)?;
            mail = wait.pause(&self.mail, mail, &self.arrived)?;
        }
    }

    fn read(&self, from: usize, out: &mut [u8], wait: Wait<'_>) -> Result<()> {
        let message = self.take(from, wait)?;
        if message.len() != out.len() {
            let (sent, wanted) = (message.len(), out.len());
            let reason = format!("rank {from} sent {sent} bytes, {wanted} are expected");
            return Err(Error::Team(reason));
        }
        out.copy_from_slice(&message);
        lock(&self.mail).spare.push(message);
        Ok(())
    }
}

/// One thread of a team.
#[derive(Debug)]
struct Rank {
    rank: usize,
    shared: Arc<Shared>,
    /// The number of this rank in the whole team, and that team.
    number: usize,
    whole: Arc<Shared>,
    counters: Counters,
    /// How often the team was split.
    cuts: Mutex<u64>,
}

impl Rank {
    fn of(
        rank: usize,
        shared: &Arc<Shared>,
        number: usize,
        whole: &Arc<Shared>,
    ) -> Arc<dyn Communicator> {
        Arc::new(Self {
            rank,
            shared: Arc::clone(shared),
            number,
            whole: Arc::clone(whole),
            counters: Counters::default(),
            cuts: Mutex::default(),
        })
    }

    /// Does what waits for other ranks. What fails here ends all of them: they are out of step.
    fn waits<R>(&self, work: impl FnOnce(Wait<'_>) -> Result<R>) -> Result<R> {
        let wait = || work(self.shared.watch.wait(self.number));
        self.counters.waits(wait).map_err(|error| match error {
            Error::Team(reason) => self.give_up(reason),
            other => other,
        })
    }
}

impl Communicator for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.boxes.len()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn begins(&self, call: Call) -> bool {
        self.shared.watch.begins(self.number, call);
        are_compared(self.size())
    }

    fn give_up(&self, reason: String) -> Error {
        self.whole.fail(self.number, &reason);
        Error::Team(reason)
    }

    fn add(&self, values: &mut [f64], meanwhile: Option<Meanwhile<'_>>) -> Result<()> {
        check_recording()?;
        meanwhile.map_or(Ok(()), |work| work())?;
        match self.size() {
            1 => Ok(()),
            _ => self.waits(|wait| self.shared.sum(self.rank, values, wait)),
        }
    }

    unsafe fn transfer(
        &self,
        sent: &[Span],
        received: &[Span],
        meanwhile: Meanwhile<'_>,
    ) -> Result<()> {
        check_recording()?;
        for span in sent {
            let from = span.address as *const u8;
            // SAFETY: memory of the host, as no driver is allowed, that nobody writes to meanwhile.
            let bytes = unsafe { std::slice::from_raw_parts(from, span.bytes) };
            self.shared.boxes[span.rank].put(self.rank, bytes);
        }
        meanwhile()?;
        let mine = &self.shared.boxes[self.rank];
        received.iter().try_for_each(|span| {
            let to = span.address as *mut u8;
            // SAFETY: memory of the host that nobody else touches meanwhile.
            let out = unsafe { std::slice::from_raw_parts_mut(to, span.bytes) };
            self.waits(|wait| mine.read(span.rank, out, wait))
        })
    }

    fn swap(&self, bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        check_recording()?;
        for (mailbox, message) in self.shared.boxes.iter().zip(&bytes) {
            mailbox.put(self.rank, message);
        }
        let mine = &self.shared.boxes[self.rank];
        let from = |from| self.waits(|wait| mine.take(from, wait));
        (0..self.size()).map(from).collect()
    }

    fn part(&self, colour: usize) -> Result<Arc<dyn Communicator>> {
        let team: &dyn Communicator = self;
        let colours = team.all_numbers(colour as u64)?;
        let is_same = |other: &&u64| **other == colour as u64;
        let ranks = colours.iter().filter(is_same).count();
        let rank = colours[..self.rank].iter().filter(is_same).count();
        let number = {
            let mut cuts = lock(&self.cuts);
            *cuts += 1;
            *cuts
        };
        let part = {
            let mut parts = lock(&self.shared.parts);
            let known = parts.get(&(number, colour)).and_then(Weak::upgrade);
            let part = known.unwrap_or_else(|| Arc::new(Shared::new(ranks, &self.shared.watch)));
            parts.insert((number, colour), Arc::downgrade(&part));
            part
        };
        // Every rank has its part before the first one may be dropped.
        team.barrier()?;
        Ok(Rank::of(rank, &part, self.number, &self.whole))
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests;

#[cfg(all(test, shuttle))]
mod order_tests;
