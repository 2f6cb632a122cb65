//! How threads wait for each other, and how long.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

#[cfg(shuttle)]
pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(shuttle))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

use super::calls::Call;
use crate::error::{Error, Result};

/// The environment variable for the seconds that a rank waits for others.
const LIMIT: &str = "VCYCLE_RANK_TIMEOUT";
/// Waking a thread takes longer than most messages.
const LOOKS: usize = 1000;
/// Pauses of a processor between two checks.
const PAUSES: usize = 20;
/// How long a rank sleeps at a time. Times are counted in these: a program that is stopped for a while does not wait.
const SLEEP: Duration = Duration::from_millis(250);
const SLEEPS_OF_A_SECOND: u64 = 4;
/// After so many sleeps of all ranks, none of which has done anything, they wait in vain.
const STALLED: u64 = 12;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The seconds that a rank waits for others, if there is a limit: they may work for long.
pub(super) fn limit() -> Option<u64> {
    static SECONDS: OnceLock<Option<u64>> = OnceLock::new();
    let read = || std::env::var(LIMIT).ok()?.parse().ok();
    SECONDS.get_or_init(read).filter(|&seconds| seconds > 0)
}

/// What the ranks of a team, and of its parts, are doing.
#[derive(Debug)]
pub(super) struct Watch {
    ranks: Vec<Mutex<Doing>>,
    /// Operations that were begun, and waits that have ended.
    steps: AtomicU64,
    /// How often a rank checks for what it waits for before it sleeps.
    looks: usize,
}

#[derive(Debug, Default)]
struct Doing {
    call: Option<Call>,
    waits: usize,
    has_ended: bool,
}

impl Watch {
    /// Ranks check several times before they sleep if there are cores for all of them and for a second thread of each.
    pub fn new(ranks: usize) -> Self {
        let looks = match std::thread::available_parallelism() {
            Ok(cores) if 2 * ranks <= cores.get() && !cfg!(shuttle) => LOOKS,
            _ => 0,
        };
        Self {
            ranks: (0..ranks).map(|_| Mutex::default()).collect(),
            steps: AtomicU64::new(0),
            looks,
        }
    }

    pub fn begins(&self, rank: usize, call: Call) {
        self.steps.fetch_add(1, Relaxed);
        lock(&self.ranks[rank]).call = Some(call);
    }

    pub fn ends(&self, rank: usize) {
        lock(&self.ranks[rank]).has_ended = true;
    }

    pub fn wait(&self, rank: usize) -> Wait<'_> {
        Wait {
            watch: self,
            rank,
            looks: self.looks,
            sleeps: 0,
            stalled: 0,
            steps: 0,
        }
    }

    /// Whether no rank works.
    fn is_still(&self) -> bool {
        self.ranks.iter().all(|rank| {
            let doing = lock(rank);
            doing.waits > 0 || doing.has_ended
        })
    }

    fn report(&self) -> String {
        let one = |(rank, doing): (usize, &Mutex<Doing>)| {
            let doing = lock(doing);
            let call = doing
                .call
                .map_or("nothing yet".to_owned(), |call| call.to_string());
            match (doing.has_ended, doing.waits) {
                (true, _) => format!("rank {rank} has ended"),
                (false, 0) => format!("rank {rank} works; the last it called: {call}"),
                (false, _) => format!("rank {rank} {call}"),
            }
        };
        let ranks: Vec<String> = self.ranks.iter().enumerate().map(one).collect();
        ranks.join("; ")
    }
}

/// A rank that waits for others.
pub(super) struct Wait<'w> {
    watch: &'w Watch,
    rank: usize,
    looks: usize,
    sleeps: u64,
    stalled: u64,
    steps: u64,
}

impl Wait<'_> {
    /// Releases the lock for a moment, several times, and after that until this thread is woken.
    ///
    /// # Errors
    /// When the others do not come: what all of them do.
    pub fn pause<'m, T>(
        &mut self,
        mutex: &'m Mutex<T>,
        guard: MutexGuard<'m, T>,
        woken: &Condvar,
    ) -> Result<MutexGuard<'m, T>> {
        if self.looks > 0 {
            self.looks -= 1;
            drop(guard);
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            return Ok(lock(mutex));
        }
        if self.sleeps == 0 {
            lock(&self.watch.ranks[self.rank]).waits += 1;
            self.sleeps = 1;
        }
        let woken = woken.wait_timeout(guard, SLEEP);
        let (guard, slept) = woken.unwrap_or_else(PoisonError::into_inner);
        match slept.timed_out() && self.is_in_vain() {
            true => {
                let reason = format!("ranks wait in vain: {}", self.watch.report());
                Err(Error::Team(reason))
            }
            false => Ok(guard),
        }
    }

    /// Counts a sleep that nobody has ended.
    fn is_in_vain(&mut self) -> bool {
        let steps = self.watch.steps.load(Relaxed);
        let is_stalled = steps == self.steps && self.watch.is_still();
        self.stalled = if is_stalled { self.stalled + 1 } else { 0 };
        (self.steps, self.sleeps) = (steps, self.sleeps + 1);
        self.stalled >= STALLED
            || limit().is_some_and(|limit| self.sleeps > SLEEPS_OF_A_SECOND * limit)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.sleeps > 0 {
            self.watch.steps.fetch_add(1, Relaxed);
            lock(&self.watch.ranks[self.rank]).waits -= 1;
        }
    }
}
