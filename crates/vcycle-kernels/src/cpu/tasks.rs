//! Tasks that leave results.

use std::mem::ManuallyDrop;

use super::{Shared, Threads};

/// `work(task)` for every task, by the threads where there are some and `bytes` of work are worth it; results come
/// in the order of the tasks.
///
/// The work is behind a pointer: all but itself is compiled for the types of tasks and results only.
pub fn map<I: Send, R: Send>(
    threads: Option<&Threads>,
    bytes: usize,
    tasks: Vec<I>,
    work: &(dyn Fn(I) -> R + Sync),
) -> Vec<R> {
    let count = tasks.len();
    let mut results: Vec<R> = Vec::with_capacity(count);
    // If a task panics, those that were not begun and the results of the others are not dropped.
    let mut tasks = ManuallyDrop::new(tasks);
    let (from, to) = (Shared(tasks.as_mut_ptr()), Shared(results.as_mut_ptr()));
    let step = |index: usize| {
        // SAFETY: every index below the number of tasks is given to one call, and there is room for as many results.
        unsafe {
            let task = from.pointer().add(index).read();
            to.pointer().add(index).write(work(task));
        }
    };
    match threads {
        Some(threads) => threads.for_each(count, bytes, &step),
        None => (0..count).for_each(step),
    }
    // SAFETY: every task was taken out, and every result was written.
    unsafe {
        results.set_len(count);
        tasks.set_len(0);
    }
    drop(ManuallyDrop::into_inner(tasks));
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_tasks_and_nothing_is_dropped_twice() {
        let threads = Threads::new(3).unwrap();
        for threads in [None, Some(&threads)] {
            let tasks: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
            let results = map(threads, 1 << 30, tasks.clone(), &|task| task + "!");
            assert!(
                results
                    .iter()
                    .zip(&tasks)
                    .all(|(r, t)| *r == format!("{t}!"))
            );
        }
        assert!(map(None, 0, Vec::<String>::new(), &|task| task).is_empty());
    }
}
