//! Independent tasks on the threads of an executor, used to build and analyse matrices.

use std::sync::{Mutex, PoisonError};

use super::Executor;
use crate::cpu::{self, Threads};

impl Executor {
    /// Threads for code that divides work itself; none if one is enough.
    #[doc(hidden)]
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.host_threads()?.pool()
    }

    /// Calls `work(scratch, task)` for every task, in parallel if `bytes` of work are enough; results are in the
    /// order of the tasks.
    ///
    /// There is at most one scratch per thread, which is used for one task after the other. A result that
    /// depends on its task alone is the same for any number of threads.
    #[doc(hidden)]
    pub fn run_with<I: Send, S: Send, R: Send>(
        &self,
        bytes: usize,
        tasks: Vec<I>,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, I) -> R + Sync + Send,
    ) -> Vec<R> {
        self.run_with_any(bytes, tasks, &scratch, &work)
    }

    /// [`run_with`](Self::run_with) without the types of its closures, so that it is compiled once for all of them.
    pub(crate) fn run_with_any<I: Send, S: Send, R: Send>(
        &self,
        bytes: usize,
        tasks: Vec<I>,
        scratch: &(dyn Fn() -> S + Sync),
        work: &(dyn Fn(&mut S, I) -> R + Sync),
    ) -> Vec<R> {
        let idle = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        self.run(bytes, tasks, |task| {
            let known = lock().pop();
            let mut mine = known.unwrap_or_else(scratch);
            let result = work(&mut mine, task);
            lock().push(mine);
            result
        })
    }

    /// Calls `work(index)` for every index below `count`, in parallel if `bytes` of work are enough.
    ///
    /// Not generic, and the same call for one thread and many: the code of the work is compiled once.
    pub fn for_each(&self, count: usize, bytes: usize, work: &(dyn Fn(usize) + Sync)) {
        match self.host_threads() {
            None => (0..count).for_each(work),
            Some(threads) => threads.for_each(count, bytes, work),
        }
    }

    /// [`run_with`](Self::run_with) for work that needs no scratch.
    #[doc(hidden)]
    pub fn run<I: Send, R: Send>(
        &self,
        bytes: usize,
        tasks: Vec<I>,
        work: impl Fn(I) -> R + Sync + Send,
    ) -> Vec<R> {
        cpu::tasks::map(self.host_threads(), bytes, tasks, &work)
    }

    /// The threads of the host that work for it; none of the reference.
    fn host_threads(&self) -> Option<&Threads> {
        match self {
            Executor::Reference => None,
            Executor::Cpu(threads) => Some(&***threads),
            Executor::Gpu(_) => Some(&***Self::all_cores()),
        }
    }

    /// Both results, computed in parallel if there are threads.
    #[doc(hidden)]
    pub fn join<A: Send, B: Send>(
        &self,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        match self.pool() {
            Some(pool) => pool.join(a, b),
            None => (a(), b()),
        }
    }
}

/// Splits a slice into consecutive parts of the given lengths; the rest is ignored.
pub fn cut<T>(mut slice: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut parts = Vec::new();
    for length in lengths {
        let (part, rest) = slice.split_at_mut(length);
        parts.push(part);
        slice = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_tasks() {
        for threads in [1, 3] {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let squares = cpu.run(1 << 30, (0..1000).collect(), |i: u64| i * i);
            assert!(
                squares
                    .iter()
                    .enumerate()
                    .all(|(i, &s)| s == (i * i) as u64)
            );
        }
    }

    #[test]
    fn scratch_is_made_once_per_thread_at_most() {
        let cpu = Executor::cpu_with_threads(2).unwrap();
        let made = Mutex::new(0);
        let scratch = || *made.lock().unwrap() += 1;
        cpu.run_with(1 << 30, vec![(); 100], scratch, |(), ()| ());
        assert!(*made.lock().unwrap() <= 2);
    }

    #[test]
    fn parts_follow_each_other() {
        let mut values = [1, 2, 3, 4];
        let parts = cut(&mut values, [1, 0, 2]);
        assert_eq!(parts, [&[1][..], &[], &[2, 3]]);
    }
}
