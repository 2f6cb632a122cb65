//! The threads of an executor, for work that is not a kernel.

use rayon::prelude::*;

use crate::backend::cpu::Threads;
use crate::executor::Executor;

/// The threads, where there is more than one.
fn threads(executor: &Executor) -> Option<&Threads> {
    match executor {
        Executor::Cpu(threads) if threads.count() > 1 => Some(threads),
        _ => None,
    }
}

/// `work` of every item, in their order.
pub(super) fn map<I: Send, O: Send>(
    executor: &Executor,
    items: Vec<I>,
    work: impl Fn(I) -> O + Sync + Send,
) -> Vec<O> {
    match threads(executor).filter(|_| items.len() > 1) {
        Some(threads) => threads.install(|| items.into_par_iter().map(work).collect()),
        None => items.into_iter().map(work).collect(),
    }
}

/// Both results, formed side by side.
pub(super) fn join<A: Send, B: Send>(
    executor: &Executor,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    match threads(executor) {
        Some(threads) => threads.install(|| rayon::join(a, b)),
        None => (a(), b()),
    }
}
