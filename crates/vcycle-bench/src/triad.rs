//! The bandwidth of the machine's memory: the STREAM triad `a = b + s c`.

use rayon::prelude::*;

use crate::prelude::*;
use crate::timing::Candidate;

/// Values in each of the three arrays: 512 MiB, more than any last-level cache in use.
const LENGTH: usize = 64 * 1024 * 1024;
/// Values in one task.
const PIECE: usize = 256 * 1024;

/// The arrays of a triad.
pub(crate) struct Triad {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Triad {
    pub(crate) fn new() -> Self {
        Self::of_length(LENGTH)
    }

    /// With arrays that may fit into caches.
    pub(crate) fn of_length(length: usize) -> Self {
        Self {
            a: vec![0.5; length],
            b: vec![1.0; length],
            c: vec![2.0; length],
        }
    }

    /// Bytes of one pass as STREAM counts them: two reads and one write a value.
    pub(crate) fn bytes(&self) -> f64 {
        (3 * self.a.len() * size_of::<f64>()) as f64
    }

    /// The triad on some threads.
    pub(crate) fn on<'a>(&'a mut self, pool: &'a rayon::ThreadPool) -> impl Candidate + 'a {
        || {
            pool.install(|| {
                self.a
                    .par_chunks_mut(PIECE)
                    .zip(self.b.par_chunks(PIECE).zip(self.c.par_chunks(PIECE)))
                    .for_each(|(a, (b, c))| triad(a, b, c));
            });
            Ok(())
        }
    }
}

fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(c)) {
        *a = b + 3.0 * c;
    }
}

/// A pool of some threads.
pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?)
}
