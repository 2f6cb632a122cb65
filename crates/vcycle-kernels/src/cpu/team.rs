//! A team of threads that share short pieces of work.
//!
//! A solve is thousands of short pieces of work, one after the other. The calling thread starts on each at
//! once, and helpers join it; they stay awake for a while between two pieces. Handing work over to a pool and
//! sleeping until it is done took longer than the work itself on small levels of multigrid.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

#[cfg(shuttle)]
use shuttle::{sync, thread};
#[cfg(not(shuttle))]
use std::{sync, thread};
use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use sync::{Arc, Condvar, Mutex, MutexGuard};
use thread::JoinHandle;

/// How long a thread that waits stays awake. It does not yield in that time: where others want the core, it
/// would be back much later than after a short sleep.
const AWAKE: Duration = Duration::from_micros(if cfg!(shuttle) { 0 } else { 60 });
/// Looks before the clock is asked.
const LOOKS: usize = 100;
/// Set in the number of helpers at work when none may begin any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// What is to be done for every index.
type Work<'w> = dyn Fn(usize) + Sync + 'w;

/// A caller and its helpers.
pub(super) struct Team {
    shared: Arc<TeamState>,
    helpers: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `count` threads, the calling thread included.
    pub(super) fn new(count: usize) -> std::io::Result<Self> {
        let shared = Arc::new(TeamState {
            taken: AtomicBool::new(false),
            work: UnsafeCell::new(None),
            shares: (0..count).map(|_| Share::default()).collect(),
            jobs: AtomicUsize::new(0),
            at_work: AtomicUsize::new(CLOSED),
            ended: AtomicBool::new(false),
            panic: Mutex::new(None),
            begin: Gate::default(),
            end: Gate::default(),
        });
        let mut team = Self {
            shared,
            helpers: Vec::new(),
        };
        for number in 1..count {
            let shared = Arc::clone(&team.shared);
            let builder = thread::Builder::new().name(format!("vcycle-{number}"));
            team.helpers
                .push(builder.spawn(move || shared.help(number))?);
        }
        Ok(team)
    }

    /// `work(index)` for all indices below `count`: by the whole team, or by the caller alone where
    /// the team is at work already, for another caller or for the work that this is part of.
    pub(super) fn for_each(&self, count: usize, work: &Work<'_>) {
        let shared = &*self.shared;
        if count >= u32::MAX as usize || shared.taken.swap(true, SeqCst) {
            return (0..count).for_each(work);
        }
        shared.hand_out(count, work);
        // Waits for the helpers also if the caller's part panics: they use what it has borrowed.
        let end = End(shared);
        shared.work_as(0, work);
        drop(end);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.ended.store(true, SeqCst);
        self.shared.begin.ring();
        for helper in self.helpers.drain(..) {
            // Helpers catch what their work throws.
            _ = helper.join();
        }
    }
}

/// What the members of a team know.
struct TeamState {
    /// Whether somebody's work is being done.
    taken: AtomicBool,
    /// That work; read by those alone that are counted in `at_work`.
    work: UnsafeCell<Option<&'static Work<'static>>>,
    /// The indices of every member that nobody has taken.
    shares: Vec<Share>,
    /// Jobs there have been.
    jobs: AtomicUsize,
    /// Helpers at work, and whether more of them may begin.
    at_work: AtomicUsize,
    ended: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    begin: Gate,
    end: Gate,
}

// SAFETY: `work` is written by whoever has set `taken` while `at_work` is closed and nobody is counted,
// and read while the reader is counted.
unsafe impl Sync for TeamState {}
// SAFETY: the work may be called from every thread.
unsafe impl Send for TeamState {}

impl TeamState {
    /// Lets helpers begin.
    fn hand_out(&self, count: usize, work: &Work<'_>) {
        let members = self.shares.len();
        for (member, share) in self.shares.iter().enumerate() {
            share.set(member * count / members..(member + 1) * count / members);
        }
        // SAFETY: nobody else is in charge, and the last job was closed. The borrow ends after `End`
        // was dropped, and that waits until no helper has it.
        unsafe {
            *self.work.get() = Some(std::mem::transmute::<&Work<'_>, &'static Work<'static>>(
                work,
            ));
        }
        self.at_work.store(0, SeqCst);
        self.jobs.fetch_add(1, SeqCst);
        self.begin.ring();
    }

    /// The life of a helper.
    fn help(&self, member: usize) {
        let mut seen = 0;
        loop {
            self.begin
                .wait(|| self.jobs.load(SeqCst) != seen || self.ended.load(SeqCst));
            if self.ended.load(SeqCst) {
                return;
            }
            seen = self.jobs.load(SeqCst);
            if self.enter() {
                // SAFETY: counted in `at_work`.
                let work = unsafe { *self.work.get() }.expect("an open job has work");
                let done = catch_unwind(AssertUnwindSafe(|| self.work_as(member, work)));
                if let Err(panic) = done {
                    *lock(&self.panic) = Some(panic);
                }
                self.at_work.fetch_sub(1, SeqCst);
                self.end.ring();
            }
        }
    }

    /// Counts one more helper, unless the job is closed.
    fn enter(&self) -> bool {
        let more = |count: usize| (count & CLOSED == 0).then_some(count + 1);
        self.at_work.fetch_update(SeqCst, SeqCst, more).is_ok()
    }

    /// One's own share from the front, then what others have left, from the back.
    fn work_as(&self, member: usize, work: &Work<'_>) {
        while let Some(index) = self.shares[member].first() {
            work(index);
        }
        let members = self.shares.len();
        for other in (1..members).map(|step| (member + step) % members) {
            while let Some(index) = self.shares[other].last() {
                work(index);
            }
        }
    }
}

/// Ends a job when it is dropped.
struct End<'s>(&'s TeamState);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let shared = self.0;
        if std::thread::panicking() {
            shared.shares.iter().for_each(|share| share.set(0..0));
        }
        shared.at_work.fetch_or(CLOSED, SeqCst);
        shared.end.wait(|| shared.at_work.load(SeqCst) == CLOSED);
        let panic = lock(&shared.panic).take();
        shared.taken.store(false, SeqCst);
        if let Some(panic) = panic.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

/// A range of indices in one word, in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Share(AtomicU64);

impl Share {
    fn set(&self, indices: Range<usize>) {
        self.0
            .store((indices.end as u64) << 32 | indices.start as u64, SeqCst);
    }

    fn first(&self) -> Option<usize> {
        let taken = self.take(|first, end| (first + 1, end))?;
        Some(taken.start)
    }

    fn last(&self) -> Option<usize> {
        let taken = self.take(|first, end| (first, end - 1))?;
        Some(taken.end - 1)
    }

    /// Changes a range that is not empty; what it was.
    fn take(&self, change: impl Fn(u64, u64) -> (u64, u64)) -> Option<Range<usize>> {
        let parts = |word: u64| (word & u64::from(u32::MAX), word >> 32);
        let change = |word| {
            let (first, end) = parts(word);
            let (first, end) = (first < end).then(|| change(first, end))?;
            Some(end << 32 | first)
        };
        let (first, end) = parts(self.0.fetch_update(SeqCst, SeqCst, change).ok()?);
        Some(first as usize..end as usize)
    }
}

/// Where threads wait for something to hold, first awake and then asleep.
#[derive(Default)]
struct Gate {
    asleep: AtomicUsize,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Gate {
    fn wait(&self, holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while begin.elapsed() < AWAKE {
            for _ in 0..LOOKS {
                if holds() {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let mut guard = lock(&self.lock);
        self.asleep.fetch_add(1, SeqCst);
        while !holds() {
            guard = self
                .bell
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, SeqCst);
    }

    /// To be called after a change that somebody may wait for. Who goes to sleep counts itself and then
    /// looks, who rings has made the change and then looks for sleepers: one of both sees the other.
    fn ring(&self) {
        if self.asleep.load(SeqCst) > 0 {
            let _guard = lock(&self.lock);
            self.bell.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often `for_each` calls for every index.
#[cfg(test)]
fn calls(team: &Team, count: usize) -> Vec<usize> {
    let calls: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    team.for_each(count, &|index| _ = calls[index].fetch_add(1, SeqCst));
    calls.iter().map(|calls| calls.load(SeqCst)).collect()
}

/// In orders of threads that shuttle draws: `scripts/sanitize orders`.
#[cfg(all(test, shuttle))]
mod orders {
    use super::*;

    #[test]
    fn every_index_is_worked_on_once_and_nobody_waits_for_ever() {
        let job = || {
            let team = Arc::new(Team::new(3).unwrap());
            let shared = Arc::clone(&team);
            let other = thread::spawn(move || calls(&shared, 4));
            for count in [1, 5, 2] {
                assert_eq!(calls(&team, count), vec![1; count]);
            }
            assert_eq!(other.join().unwrap(), [1; 4]);
        };
        shuttle::check_random(job, 20_000);
        shuttle::check_pct(job, 20_000, 3);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_worked_on_once() {
        let team = Team::new(3).unwrap();
        for count in [0, 1, 2, 7, 1000] {
            for _ in 0..50 {
                assert_eq!(calls(&team, count), vec![1; count]);
            }
        }
    }

    #[test]
    fn helpers_wake_up_again() {
        let team = Team::new(2).unwrap();
        for _ in 0..3 {
            std::thread::sleep(4 * AWAKE);
            let together = std::sync::Barrier::new(2);
            team.for_each(2, &|_| _ = together.wait());
        }
    }

    #[test]
    fn work_within_work_and_of_other_callers_is_done() {
        let team = Team::new(2).unwrap();
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    team.for_each(20, &|_| {
                        team.for_each(10, &|_| _ = done.fetch_add(1, SeqCst));
                    });
                });
            }
        });
        assert_eq!(done.into_inner(), 4 * 20 * 10);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_works_on() {
        let team = Team::new(2).unwrap();
        for guilty in [0, 99] {
            let work = |index: usize| assert_ne!(index, guilty);
            let attempt = catch_unwind(AssertUnwindSafe(|| team.for_each(100, &work)));
            assert!(attempt.is_err());
            assert_eq!(calls(&team, 10), vec![1; 10]);
        }
    }
}
