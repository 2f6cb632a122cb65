//! Rounds in which rows of a graph are decided on, by one device or by those of several ranks: lists of the rows that are left, and what ranks tell each other.

use std::ops::Range;

use crate::launch::prelude::*;

/// Rounds between two looks at what is left.
const ROUNDS: usize = 6;

/// Rows of a graph on a device that are decided on here, where others may be those of other ranks.
pub trait Sharing {
    /// Which they are, among so many.
    fn own(&self, rows: usize) -> Range<usize>;

    /// The number of the first in the whole graph.
    fn first(&self) -> u64;

    /// Gets the values of other rows from their ranks; nothing where there are none.
    fn refresh_words(&self, _values: &mut Buffer<u64>) -> Result<()> {
        Ok(())
    }

    /// The same for short numbers.
    fn refresh_counts(&self, _values: &mut Buffer<u32>) -> Result<()> {
        Ok(())
    }

    /// The same for bytes.
    fn refresh_bytes(&self, _values: &mut Buffer<u8>) -> Result<()> {
        Ok(())
    }

    /// The same for numbers of rows of this rank; those of others become `NONE`.
    fn refresh_rows(&self, _rows: &mut Buffer<u32>) -> Result<()> {
        Ok(())
    }

    /// Whether it holds on any rank.
    fn any(&self, holds: bool) -> Result<bool> {
        Ok(holds)
    }

    /// Rounds after which it is worth asking whether there are more.
    fn rounds(&self) -> usize {
        ROUNDS
    }
}

/// All rows are here.
pub struct Alone;

impl Sharing for Alone {
    fn own(&self, rows: usize) -> Range<usize> {
        0..rows
    }

    fn first(&self) -> u64 {
        0
    }
}

/// Where own rows begin and end.
pub(crate) fn decided(own: &Range<usize>) -> (usize, usize) {
    (own.start, own.end)
}

/// Sizes that are kept before they are set to zero again.
const SIZES: usize = 64;

/// Two lists that take turns: kernels read one and write the next. Before the first turn the list
/// is that of all rows, for which kernels get null pointers.
pub(crate) struct Lists<'q> {
    queue: Queue<'q>,
    lists: [Buffer<u32>; 2],
    /// The sizes of the lists, turn after turn, and at the end a note.
    sizes: Buffer<u32>,
    turn: usize,
    /// The turn at which all other sizes were set to zero.
    cleared: usize,
}

impl<'q> Lists<'q> {
    pub(crate) fn new(queue: Queue<'q>, rows: usize) -> Result<Self> {
        Ok(Self {
            lists: [queue.uninit(rows)?, queue.uninit(rows)?],
            sizes: queue.zeros(SIZES + 1)?,
            turn: 0,
            cleared: 0,
            queue,
        })
    }

    /// The list that is read, and its size.
    pub(crate) fn current(&self) -> Result<(Read<u32>, Read<u32>)> {
        if self.turn == 0 {
            return Ok(Default::default());
        }
        let size = self.sizes.pointer()?.at(self.turn % SIZES);
        Ok((self.lists[self.turn % 2].pointer()?, size))
    }

    /// The list that is written, and its size, which is zero.
    pub(crate) fn next(&mut self) -> Result<(Write<u32>, Write<u32>)> {
        let next = self.turn + 1;
        let list = self.lists[next % 2].pointer_mut()?;
        Ok((list, self.sizes.pointer_mut()?.at(next % SIZES)))
    }

    /// What was written is read from now on.
    pub(crate) fn advance(&mut self) {
        self.turn += 1;
    }

    /// Where a kernel may leave a note: a number that is zero before.
    pub(crate) fn note(&mut self) -> Result<Write<u32>> {
        Ok(self.sizes.pointer_mut()?.at(SIZES))
    }

    /// How many rows are left; the host waits.
    pub(crate) fn count(&mut self) -> Result<usize> {
        Ok(self.look()?.0)
    }

    /// How many rows are left, and whether a note was left; the host waits.
    pub(crate) fn look(&mut self) -> Result<(usize, bool)> {
        let sizes = self.sizes.host()?.to_vec();
        let found = (sizes[self.turn % SIZES] as usize, sizes[SIZES] != 0);
        self.recycle(&sizes);
        Ok(found)
    }

    /// Makes room for further sizes where that is short; needed at least every 32 turns.
    fn recycle(&mut self, sizes: &[u32]) {
        if self.turn - self.cleared > SIZES / 2 {
            let keeps = |place: usize| place == self.turn % SIZES || place == SIZES;
            let kept = |(place, &size)| if keeps(place) { size } else { 0 };
            let sizes = sizes.iter().enumerate().map(kept).collect();
            self.sizes = Buffer::from_vec(self.queue.executor, sizes);
            self.cleared = self.turn;
        }
    }
}
