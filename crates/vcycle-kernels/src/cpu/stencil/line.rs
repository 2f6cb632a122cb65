//! Sums `A x` over the rows of one line of cells.

use std::ops::Range;

use super::Vectors;
use crate::grid::Grid;
use crate::reference::stencil::{Direction, StencilArrays};
use crate::scalar::Scalar;
use crate::simd::Simd;

/// Unknowns of a cell, at most.
const MOST_UNKNOWNS: usize = 4;
/// Entries of a row of the largest stencil with as many.
const POINTS: usize = MOST_UNKNOWNS * 27;
/// Registers that are summed up side by side, so that additions need not wait for each other.
const MANY: usize = 8;
const SOME: usize = 4;
const FEW: usize = 2;
/// Bytes that memory moves at a time.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Which neighbours of a line take part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All.
    All,
    /// Those on other lines.
    Others,
    /// Those on other lines that change earlier.
    Earlier(Direction),
    /// Those on other lines that change later.
    Later(Direction),
}

impl Part {
    /// Whether the neighbours `offset` away from a line take part; `second` says whether its plane, and
    /// it in its plane, have the parity that comes second.
    #[inline]
    fn includes(self, offset: [i8; 3], flat: bool, second: [bool; 2]) -> bool {
        // In two dimensions every line is a plane.
        let [_, y, z] = offset;
        let (plane, line) = if flat { (y, 0) } else { (z, y) };
        let earlier = if plane != 0 { second[0] } else { second[1] };
        let other = plane != 0 || line != 0;
        match self {
            Self::All => true,
            Self::Others => other,
            Self::Earlier(_) => other && earlier,
            Self::Later(_) => other && !earlier,
        }
    }

    /// Lines to one that is done soon and has the same neighbours taking part.
    fn lines_ahead(self) -> usize {
        match self {
            Self::All => 1,
            // Colours leave out every second line.
            _ => 2,
        }
    }

    /// The parity that changes first, where it matters.
    fn first(self) -> Option<usize> {
        match self {
            Self::All | Self::Others => None,
            Self::Earlier(order) | Self::Later(order) => Some(order.parities()[0]),
        }
    }
}

/// What is done with sums. No closure: those are not always inlined, and then have no instructions.
pub(super) trait FinishSums<V: Vectors> {
    /// Takes the sums of `count` rows of a line from `at` on.
    ///
    /// # Safety
    /// The host has the instructions of `S`; rows `at..at + count` are on the line, at most a register of them.
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sums: S::Register);
}

/// One stream of entries: how far they are from the first of the rows of a line, and the numbers that they
/// multiply from the rows' own.
#[derive(Clone, Copy, Default)]
struct Stream {
    a: usize,
    x: isize,
    dx: i8,
}

/// The entries that take part on a line; most lines have those of the one before.
pub(super) struct Streams<'a, M> {
    matrix: StencilArrays<'a, M>,
    part: Part,
    /// At which ends of the grid the line lies along y and z, and which of its parities are second.
    place: Option<[bool; 6]>,
    streams: [Stream; POINTS],
    count: usize,
    /// The smallest and the largest way to a neighbour.
    reach: [isize; 2],
    /// The cells that may be read although they are no neighbours.
    readable: Range<usize>,
}

impl<'a, M: Scalar> Streams<'a, M> {
    pub(super) fn new(matrix: StencilArrays<'a, M>, part: Part) -> Self {
        let (cells, r) = (matrix.grid.cells(), matrix.unknowns);
        // Kernels look beside a line by one cell, and there is one for each number of unknowns.
        let is_beside = |step: &i8| step.unsigned_abs() <= 1;
        assert!((1..=MOST_UNKNOWNS).contains(&r));
        assert!(matrix.offsets.as_flattened().iter().all(is_beside));
        assert!(Some(matrix.values.len()) == cells.checked_mul(matrix.offsets.len() * r * r));
        Self {
            matrix,
            part,
            place: None,
            streams: [Stream::default(); POINTS],
            count: 0,
            reach: [0; 2],
            readable: 0..matrix.grid.cells(),
        }
    }

    /// The same where other cells than these may be read as neighbours only.
    pub(super) fn reading(self, readable: Range<usize>) -> Self {
        Self { readable, ..self }
    }

    pub(super) fn grid(&self) -> Grid {
        self.matrix.grid
    }

    /// What is to be added to the entries of cells with themselves.
    pub(super) fn base(&self) -> f64 {
        match self.part {
            Part::All => self.matrix.base,
            _ => 0.0,
        }
    }

    /// Rows to those whose entries are asked for already.
    pub(super) fn rows_ahead(&self) -> usize {
        self.part.lines_ahead() * self.matrix.grid.length()
    }

    /// The rows of an unknown on a line; `x` has a number for every row.
    #[inline(always)]
    pub(super) fn line<V>(&mut self, line: usize, unknown: usize, x: *const V) -> Sums<'_, M, V> {
        let (grid, r) = (self.matrix.grid, self.matrix.unknowns);
        let [_, ny, nz] = grid.size();
        let [y, z] = grid.place(line);
        let second = self.part.first().map_or([false; 2], |first| match nz {
            1 => [y % 2 != first, false],
            _ => [z % 2 != first, y % 2 != first],
        });
        let place = [
            y == 0,
            y + 1 == ny,
            z == 0,
            z + 1 == nz,
            second[0],
            second[1],
        ];
        if self.place != Some(place) {
            self.find([y, z], second);
            self.place = Some(place);
        }
        let length = grid.length();
        let first = (line * r + unknown) * self.matrix.offsets.len() * r * length;
        let row = (line * length).cast_signed();
        let (low, high) = (row + self.reach[0], row + self.reach[1]);
        let first_readable = self.readable.start.cast_signed();
        let last_readable = self.readable.end.cast_signed() - length.cast_signed();
        Sums {
            a: self.matrix.values[first..].as_ptr(),
            x: x.wrapping_add(line * length),
            inside: low >= first_readable && high <= last_readable,
            ahead: self.matrix.offsets.len() * r * r * length * self.part.lines_ahead(),
            streams: &self.streams[..self.count],
            length,
        }
    }

    #[cold]
    fn find(&mut self, place: [usize; 2], second: [bool; 2]) {
        let (grid, r, length) = (
            self.matrix.grid,
            self.matrix.unknowns,
            self.matrix.grid.length(),
        );
        let flat = grid.size()[2] == 1;
        (self.count, self.reach) = (0, [0; 2]);
        for (point, &offset) in self.matrix.offsets.iter().enumerate() {
            let here = self.part.includes(offset, flat, second);
            if !here || grid.beside(place, offset).is_none() {
                continue;
            }
            let way = grid.distance(offset);
            self.reach = [self.reach[0].min(way), self.reach[1].max(way)];
            for column in 0..r {
                let x = (column * grid.cells()).cast_signed() + way;
                let (a, dx) = ((point * r + column) * length, offset[0]);
                self.streams[self.count] = Stream { a, x, dx };
                self.count += 1;
            }
        }
    }
}

/// What makes the sums of the rows of an unknown on a line.
pub(super) struct Sums<'s, M, V> {
    /// The first entry of the line, taking part or not.
    a: *const M,
    /// The number of the first row.
    x: *const V,
    /// Whether the cells before and behind all lines that take part may be read.
    inside: bool,
    /// Entries to those that are asked for already.
    ahead: usize,
    streams: &'s [Stream],
    length: usize,
}

impl<M: Scalar, V> Sums<'_, M, V> {
    /// The sums of `BLOCKS` registers of rows from `at` on, `count` lanes of each.
    ///
    /// # Safety
    /// The host has the instructions of `S`. The rows are on the line, and `x` reaches to all places beside them that a
    /// stream looks at, be they of neighbours or not.
    #[inline(always)]
    unsafe fn sums<S: Simd, const BLOCKS: usize>(
        &self,
        at: usize,
        count: usize,
    ) -> [S::Register; BLOCKS]
    where
        V: Scalar,
    {
        let mut sums = [S::zero(); BLOCKS];
        for stream in self.streams {
            let a = self.a.add(stream.a + at);
            prefetch(a.wrapping_add(self.ahead), BLOCKS * S::LANES);
            let x = self.x.wrapping_offset(stream.x).wrapping_add(at);
            for (block, sum) in sums.iter_mut().enumerate() {
                let a = S::load(a.add(block * S::LANES), count);
                let x = S::load(x.wrapping_add(block * S::LANES), count);
                *sum = S::multiply_add(a, x, *sum);
            }
        }
        sums
    }

    /// The sum of the first or last row, in the first lane.
    ///
    /// # Safety
    /// The host has the instructions of `S`; `at` is on the line.
    #[inline(always)]
    unsafe fn edge_sum<S: Simd>(&self, at: usize) -> S::Register
    where
        V: Scalar,
    {
        let mut sum = S::zero();
        for stream in self.streams {
            let there = at.checked_add_signed(stream.dx.into());
            if there.is_some_and(|x| x < self.length) {
                let a = S::load(self.a.add(stream.a + at), 1);
                let x = S::load(self.x.wrapping_offset(stream.x).wrapping_add(at), 1);
                sum = S::multiply_add(a, x, sum);
            }
        }
        sum
    }

    /// Hands the sums of all rows over.
    ///
    /// # Safety
    /// The host has the instructions of `S`; the `x` that [`Streams::line`] was given has a number for every row.
    #[inline(always)]
    pub(super) unsafe fn each_sum<S: Simd<Real = V>>(&self, mut to: impl FinishSums<V>)
    where
        V: Vectors,
    {
        let (mut at, mut end) = (0, self.length);
        // The entries of the line are there: `Streams::line` has sliced them. Where `inside` is false the first
        // and the last row are summed without what lies before or behind a line, which may not be readable.
        if !self.inside {
            to.finish::<S>(0, 1, self.edge_sum::<S>(0));
            (at, end) = (1, self.length.max(2) - 1);
        }
        at = self.blocks::<S, MANY>(at, end, &mut to);
        at = self.blocks::<S, SOME>(at, end, &mut to);
        at = self.blocks::<S, FEW>(at, end, &mut to);
        at = self.blocks::<S, 1>(at, end, &mut to);
        if at < end {
            to.finish::<S>(at, end - at, self.sums::<S, 1>(at, end - at)[0]);
        }
        if end < self.length {
            to.finish::<S>(end, 1, self.edge_sum::<S>(end));
        }
    }

    /// As many blocks of registers as there are; how far they reach.
    ///
    /// # Safety
    /// As for [`sums`](Self::sums), of the rows `at..end`.
    #[inline(always)]
    unsafe fn blocks<S: Simd<Real = V>, const BLOCKS: usize>(
        &self,
        mut at: usize,
        end: usize,
        to: &mut impl FinishSums<V>,
    ) -> usize
    where
        V: Vectors,
    {
        while at + BLOCKS * S::LANES <= end {
            let sums = self.sums::<S, BLOCKS>(at, S::LANES);
            for (block, sum) in sums.into_iter().enumerate() {
                to.finish::<S>(at + block * S::LANES, S::LANES, sum);
            }
            at += BLOCKS * S::LANES;
        }
        at
    }
}

/// Asks for values that are needed soon: those of an offset are too few for the processor to see a stream. They come as
/// far as the second cache: on the way to the first one is room for few.
#[inline(always)]
pub(super) fn prefetch<M>(values: *const M, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..count * size_of::<M>()).step_by(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint; the address need not exist.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(values.cast::<i8>().wrapping_add(byte)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, count);
}
