//! Threads and SIMD on the host.
//!
//! Work is cut into pieces whose bounds depend on the operands alone, never on the number of
//! threads or on timing, so results are the same bits on any number of threads.

pub mod blocks;
pub mod columns;
pub mod csr;
pub mod formats;
pub mod packed;
pub mod stencil;
pub mod stream;
pub mod tasks;
mod team;
pub mod triangular;
pub mod vector;

use std::ops::Range;
use std::sync::OnceLock;

use self::team::Team;
use crate::error::Refusal;

/// Work smaller than this many bytes is done by the calling thread: waking others costs more.
const SERIAL_BYTES: usize = 64 * 1024;

/// What is done with a part of some values, given the place or the row of the first. Behind a pointer, so that what calls it
/// is compiled once for all kernels.
pub type Work<'w, T> = &'w (dyn Fn(usize, &mut [T]) + Sync);

/// The threads of one CPU executor.
pub struct Threads {
    team: Option<Team>,
    count: usize,
    /// For libraries that want one, started by the first of them.
    pool: OnceLock<Option<rayon::ThreadPool>>,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cpu with {} threads", self.count)
    }
}

/// Threads of a team are fewer. No machine has as many cores, and a system runs out of memory for their stacks in ways that end a process.
pub const MOST_THREADS: usize = 4096;

impl Threads {
    /// So many threads, the calling one among them.
    ///
    /// # Errors
    /// For no thread at all, for [`MOST_THREADS`] and more, and when threads cannot be started.
    pub fn new(count: usize) -> Result<Self, Refusal> {
        match count {
            0 | MOST_THREADS.. => Err(Refusal::Parameter {
                parameter: "threads",
                reason: format!("must be at least 1 and below {MOST_THREADS}"),
            }),
            1 => Ok(Self::alone()),
            _ => Self::start(count),
        }
    }

    /// As many threads as `RAYON_NUM_THREADS` says, else as there are cores; one where more cannot be started.
    pub fn all_cores() -> Self {
        let count = std::env::var("RAYON_NUM_THREADS")
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|&count| count > 0)
            .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
            .unwrap_or(1);
        Self::new(count).unwrap_or(Self::alone())
    }

    fn alone() -> Self {
        Self {
            team: None,
            count: 1,
            pool: OnceLock::new(),
        }
    }

    fn start(count: usize) -> Result<Self, Refusal> {
        let team = Team::new(count).map_err(|error| Refusal::Threads {
            threads: count,
            reason: error.to_string(),
        })?;
        Ok(Self {
            team: Some(team),
            count,
            pool: OnceLock::new(),
        })
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether this much work is worth more than one thread.
    pub fn worth(&self, bytes: usize) -> bool {
        self.team.is_some() && bytes >= SERIAL_BYTES
    }

    /// As many threads for those who have their own way of sharing work; none where one is enough, or
    /// the system has no more.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        let start = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.count);
            (self.count > 1).then(|| pool.build().ok()).flatten()
        };
        self.pool.get_or_init(start).as_ref()
    }

    /// `work(start, piece)` for consecutive pieces of `y` of `length` values, the last shorter.
    pub fn for_pieces<T: Send>(&self, y: &mut [T], length: usize, work: Work<'_, T>) {
        let (length, total, bytes) = (length.max(1), y.len(), size_of_val(y));
        let y = Shared(y.as_mut_ptr());
        self.for_each(total.div_ceil(length), bytes, &|piece| {
            let range = piece * length..((piece + 1) * length).min(total);
            // SAFETY: pieces do not overlap, and each is given to one call.
            work(range.start, unsafe { y.slice(range) });
        });
    }

    /// `work(first_row, rows_of_y)` for the row ranges between consecutive `bounds`; `y` has
    /// `cols` values a row and `bytes` says how much is moved in all.
    pub fn for_row_ranges<T: Send>(
        &self,
        bounds: &[usize],
        y: &mut [T],
        cols: usize,
        bytes: usize,
        work: Work<'_, T>,
    ) {
        let end = bounds.last().and_then(|end| end.checked_mul(cols));
        assert!(bounds.is_sorted() && end.is_some_and(|end| end <= y.len()));
        let y = Shared(y.as_mut_ptr());
        self.for_each(bounds.len() - 1, bytes, &|index| {
            let range = bounds[index] * cols..bounds[index + 1] * cols;
            // SAFETY: bounds increase, so ranges do not overlap; each is given to one call.
            work(bounds[index], unsafe { y.slice(range) });
        });
    }

    /// `work(index)` for every index below `count`; `bytes` says how much is moved in all.
    ///
    /// Not generic, so that the machinery is compiled once and not for every kernel.
    pub fn for_each(&self, count: usize, bytes: usize, work: &(dyn Fn(usize) + Sync)) {
        match &self.team {
            Some(team) if count > 1 && bytes >= SERIAL_BYTES => team.for_each(count, work),
            _ => (0..count).for_each(work),
        }
    }
}

/// Values that several threads write to, each in places of its own.
pub struct Shared<T>(pub *mut T);

// SAFETY: the values are reached through `slice` and `pointer` alone; code that uses these writes to places that no
// other thread reads or writes.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Where the values begin.
    pub fn pointer(&self) -> *mut T {
        self.0
    }

    /// # Safety
    /// The range lies inside the values, which outlive the result, and no other slice of them
    /// that is alive overlaps it.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice(&self, range: Range<usize>) -> &mut [T] {
        // SAFETY: the range lies inside the values, and no other slice of them that is alive overlaps it,
        // conditions of this function.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn row_ranges_beyond_the_values_are_refused() {
        let threads = Threads::alone();
        for (bounds, cols) in [
            (vec![0, 3], 1),
            (vec![0, 1 << 63], 2),
            (vec![2, 1], 1),
            (vec![], 1),
        ] {
            let work = || threads.for_row_ranges(&bounds, &mut [0; 2], cols, 0, &|_, _| ());
            let attempt = catch_unwind(AssertUnwindSafe(work));
            assert!(attempt.is_err(), "{bounds:?}");
        }
    }
}
