//! The building block of parallel selections: rounds over the unknowns that are still undecided.

use std::ops::Range;

use crate::matrix::ranges;
use crate::prelude::*;

/// Unknowns that still take part, in ranges on which threads work side by side.
///
/// In every call an unknown may write what is its own. What it reads of others must not depend on
/// whether they have been visited: then the result is the same for any number of threads.
#[derive(Clone)]
pub(super) struct Active {
    executor: Executor,
    parts: Vec<Vec<u32>>,
    bytes_per_row: usize,
}

impl Active {
    /// The rows of a graph for which `open` holds.
    pub(super) fn new(graph: &Pattern, open: impl Fn(usize) -> bool + Sync + Send) -> Self {
        let executor = graph.executor().clone();
        let rows = |rows: Range<usize>| {
            rows.filter(|&row| open(row))
                .map(|row| row as u32)
                .collect()
        };
        Self {
            parts: executor.run(graph.bytes(), ranges(graph.pieces()), rows),
            bytes_per_row: graph.bytes() / graph.size().rows.max(1),
            executor,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().flatten().map(|&row| row as usize)
    }

    fn bytes(&self) -> usize {
        self.bytes_per_row * self.parts.iter().map(Vec::len).sum::<usize>()
    }

    pub(super) fn for_each(&self, work: impl Fn(usize) + Sync + Send) {
        let one = |part: &Vec<u32>| part.iter().for_each(|&row| work(row as usize));
        self.executor
            .run(self.bytes(), self.parts.iter().collect(), one);
    }

    /// Visits all and leaves out those for which `keep` does not hold.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool + Sync + Send) {
        let one = |part: &mut Vec<u32>| part.retain(|&row| keep(row as usize));
        let bytes = self.bytes();
        self.executor
            .run(bytes, self.parts.iter_mut().collect(), one);
        self.parts.retain(|part| !part.is_empty());
    }
}

pub(super) fn map_rows<V: Send>(
    graph: &Pattern,
    value: impl Fn(usize) -> V + Sync + Send,
) -> Vec<V> {
    let part = |rows: Range<usize>| rows.map(&value).collect::<Vec<V>>();
    let pieces = ranges(graph.pieces());
    let parts = graph.executor().run(graph.bytes(), pieces, part);
    let mut all = Vec::with_capacity(graph.size().rows);
    parts.into_iter().for_each(|part| all.extend(part));
    all
}

#[inline]
pub(super) fn neighbours(graph: &Pattern, row: usize) -> impl Iterator<Item = usize> {
    let columns = &graph.columns()[graph.range(row)];
    columns.iter().map(|&column| column as usize)
}

/// A number without any relation to the index, another one for every index below 2^32 of a seed.
#[inline]
pub(super) fn scramble(index: u64, seed: u64) -> u32 {
    let seed = mix64(seed);
    let low = mix32(index as u32 ^ seed as u32);
    mix32(low ^ (seed >> 32) as u32 ^ (index >> 32) as u32)
}

/// The last step of MurmurHash3, a permutation of the 32-bit numbers.
fn mix32(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// The step of splitmix64 (Steele, Lea and Flood 2014).
pub(super) fn mix64(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
