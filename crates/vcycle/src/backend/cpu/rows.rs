//! Blocks of row sums, over row ranges of equal work.

use super::Threads;
use crate::backend::reference;
use crate::backend::reference::rows::Finish;
use crate::scalar::{Field, Scalar};

/// Row ranges of about equal work, and how much is moved in all.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    bounds: &'a [usize],
    bytes: usize,
}

impl<'a> Work<'a> {
    pub(crate) fn new(bounds: &'a [usize], bytes: usize) -> Self {
        Self { bounds, bytes }
    }
}

/// [`reference::rows::product`] with the ranges side by side.
pub(crate) fn product<S: Field, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, S, Y>,
    add: impl Fn(usize, &mut [S], usize) + Sync + Send,
) {
    threads.for_row_ranges(work.bounds, y, cols, work.bytes, |first, y| {
        reference::rows::product(first, y, cols, finish, &add);
    });
}
