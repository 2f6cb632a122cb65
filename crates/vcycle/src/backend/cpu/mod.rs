//! Threads and SIMD on the host.
//!
//! Work is cut into pieces whose bounds depend on the operands alone, never on the number of
//! threads or on timing, so results are the same bits on any number of threads.

pub(crate) mod blocks;
pub(crate) mod coo;
pub(crate) mod csr;
pub(crate) mod dense;
pub(crate) mod ell;
pub(crate) mod hybrid;
pub(crate) mod rows;
pub(crate) mod sellp;
pub(crate) mod triangular;
pub(crate) mod vector;

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Work smaller than this many bytes is done by the calling thread: waking others costs more.
const SERIAL_BYTES: usize = 64 * 1024;

/// The threads of one CPU executor.
pub struct Threads {
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cpu with {} threads", self.count)
    }
}

impl Threads {
    pub(crate) fn new(count: usize) -> Result<Self> {
        match count {
            0 => Err(Error::BadParameter {
                parameter: "threads",
                reason: "must be at least 1".to_owned(),
            }),
            1 => Ok(Self { pool: None, count }),
            _ => Self::start(count),
        }
    }

    pub(crate) fn all_cores() -> Self {
        let count = std::env::var("RAYON_NUM_THREADS")
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|&count| count > 0)
            .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
            .unwrap_or(1);
        Self::new(count).unwrap_or(Self {
            pool: None,
            count: 1,
        })
    }

    fn start(count: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|index| format!("vcycle-{index}"))
            .build()
            .map_err(|error| Error::Threads {
                threads: count,
                reason: error.to_string(),
            })?;
        Ok(Self {
            pool: Some(pool),
            count,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs `work` inside the pool, so that rayon's operations in it use these threads.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// The pool, where this much work is worth more than one thread.
    fn worth(&self, bytes: usize) -> Option<&rayon::ThreadPool> {
        self.pool.as_ref().filter(|_| bytes >= SERIAL_BYTES)
    }

    /// `work(start, piece)` for consecutive pieces of `y` of `length` values, the last shorter.
    pub(crate) fn for_pieces<T: Send>(
        &self,
        y: &mut [T],
        length: usize,
        work: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        let length = length.max(1);
        let each = |(piece, y): (usize, &mut [T])| work(piece * length, y);
        match self.worth(size_of_val(y)) {
            Some(pool) => pool.install(|| y.par_chunks_mut(length).enumerate().for_each(each)),
            None => y.chunks_mut(length).enumerate().for_each(each),
        }
    }

    /// `work(first_row, rows_of_y)` for the row ranges between consecutive `bounds`; `y` has
    /// `cols` values a row and `bytes` says how much is moved in all.
    pub(crate) fn for_row_ranges<T: Send>(
        &self,
        bounds: &[usize],
        y: &mut [T],
        cols: usize,
        bytes: usize,
        work: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        match self.worth(bytes) {
            Some(pool) => pool.install(|| split_rows(bounds, y, cols, &work)),
            None => work(bounds[0], y),
        }
    }
}

/// Halves the ranges until one is left, and works on the halves side by side.
fn split_rows<T: Send>(
    bounds: &[usize],
    y: &mut [T],
    cols: usize,
    work: &(impl Fn(usize, &mut [T]) + Sync),
) {
    if bounds.len() <= 2 {
        return work(bounds[0], y);
    }
    let middle = bounds.len() / 2;
    let (left, right) = y.split_at_mut((bounds[middle] - bounds[0]) * cols);
    rayon::join(
        || split_rows(&bounds[..=middle], left, cols, work),
        || split_rows(&bounds[middle..], right, cols, work),
    );
}
