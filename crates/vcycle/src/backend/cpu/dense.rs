//! The dense kernel, several rows at a time.

use super::Threads;
use super::rows::{self, Work};
use crate::backend::reference;
use crate::backend::reference::dense::DenseArrays;
use crate::backend::reference::rows::{Finish, Sum};
use crate::scalar::{Mixes, Scalar};

/// Rows that share an input entry, so that additions do not wait for each other.
const LANES: usize = 4;

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    a: DenseArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(threads, work, y, cols, finish, |first, sums, column| {
        add::<M, X, Y>(a, first, sums, x, column, cols);
    });
}

fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: DenseArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: &[X],
    column: usize,
    cols: usize,
) {
    let (groups, tail) = sums.as_chunks_mut::<LANES>();
    let tail_first = first + groups.len() * LANES;
    for (group, sums) in groups.iter_mut().enumerate() {
        let start = (first + group * LANES) * a.width;
        let rows: [&[M]; LANES] =
            std::array::from_fn(|lane| &a.values[start + lane * a.width..][..a.width]);
        for place in 0..a.width {
            let x = M::input(x[place * cols + column]);
            for lane in 0..LANES {
                sums[lane] += rows[lane][place].matrix() * x;
            }
        }
    }
    reference::dense::add::<M, X, Y>(a, tail_first, tail, x, column, cols);
}
