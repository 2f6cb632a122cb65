//! The dense kernel, several rows at a time.

use crate::reference;
use crate::reference::dense::DenseArrays;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// Rows that share an input entry, so that additions do not wait for each other.
const LANES: usize = 4;

/// [`reference::dense::add`] with the lanes of a group side by side.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: DenseArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    let (groups, tail) = sums.as_chunks_mut::<LANES>();
    let tail_first = first + groups.len() * LANES;
    for (group, sums) in groups.iter_mut().enumerate() {
        let start = (first + group * LANES) * a.width;
        let rows: [&[M]; LANES] =
            std::array::from_fn(|lane| &a.values[start + lane * a.width..][..a.width]);
        for place in 0..a.width {
            let x = M::input(x[place]);
            for lane in 0..LANES {
                sums[lane] += rows[lane][place].matrix() * x;
            }
        }
    }
    reference::dense::add::<M, X, Y>(a, tail_first, tail, x);
}
