//! Couplings between the cells of one line: both colours of a line are solved for in registers.

use super::line::prefetch;
use super::{LineKernel, Vectors, dispatch, splat};
use crate::reference::stencil::StencilArrays;
use crate::scalar::{Field, Scalar};
use crate::simd::Simd;

/// A one for every lane behind a place.
const BEHIND: [f32; 32] = {
    let mut lanes = [0.0; 32];
    let mut lane = 16;
    while lane < 32 {
        lanes[lane] = 1.0;
        lane += 1;
    }
    lanes
};

/// Of a stencil the points before a cell, at it and behind it on its line.
#[derive(Clone, Copy)]
pub(super) struct Sides([Option<usize>; 3]);

impl Sides {
    pub(super) fn of<M>(matrix: &StencilArrays<'_, M>) -> Self {
        Self([-1, 0, 1].map(|dx| {
            matrix
                .offsets
                .iter()
                .position(|&offset| offset == [dx, 0, 0])
        }))
    }
}

/// The entries of a line with itself.
struct OwnEntries<M, const R: usize> {
    /// The first one of the first unknown, with the cell before, with the cell itself, with the cell behind.
    sides: [Option<*const M>; 3],
    /// What diagonal entries are beside what is stored of them.
    base: f64,
    /// Entries from an unknown to the next.
    unknown: usize,
    length: usize,
}

/// What is done with a line.
#[derive(Clone, Copy)]
pub(super) enum OwnTask {
    /// Its cells change; whether they count as zeros before.
    Relax { from_zero: bool },
    /// What the cells on either side contribute is taken off the rests of those that change first.
    LessSides,
}

/// A line of cells of any number of unknowns.
pub(super) struct OwnLine<'a, M, V> {
    pub(super) matrix: StencilArrays<'a, M>,
    pub(super) sides: Sides,
    pub(super) line: usize,
    /// The parity that changes first.
    pub(super) first: usize,
    pub(super) task: OwnTask,
    /// What other lines leave to the cells, unknown by unknown, `stride` apart.
    pub(super) rests: *mut V,
    pub(super) stride: usize,
    /// All numbers.
    pub(super) x: *mut V,
}

impl<M: Scalar, V: Vectors> OwnLine<'_, M, V> {
    /// # Safety
    /// `x` points to a number for every row of the grid. `rests` points to a line of numbers for every unknown, `stride`
    /// apart. Nobody else has the numbers of the line in either; a task that changes no cell only reads `x`.
    pub(super) unsafe fn run(&self) {
        match self.matrix.unknowns {
            1 => dispatch::<M, V>(Together::<1, _>(self)),
            2 => dispatch::<M, V>(Together::<2, _>(self)),
            3 => dispatch::<M, V>(Together::<3, _>(self)),
            _ => dispatch::<M, V>(Together::<4, _>(self)),
        }
    }
}

/// Work on cells of `R` unknowns.
struct Together<'l, const R: usize, W>(&'l W);

impl<const R: usize, M: Scalar, V: Vectors> LineKernel<V> for Together<'_, R, OwnLine<'_, M, V>> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(&mut self) {
        let Self(line) = self;
        let grid = line.matrix.grid;
        let own = OwnEntries::<M, R>::new(&line.matrix, line.sides, line.line);
        let mut numbers = Numbered {
            rests: [line.rests; R],
            x: [line.x; R],
            from_zero: matches!(line.task, OwnTask::Relax { from_zero: true }),
        };
        for unknown in 0..R {
            let place = unknown * grid.cells() + line.line * grid.length();
            numbers.rests[unknown] = line.rests.add(unknown * line.stride);
            numbers.x[unknown] = line.x.add(place);
        }
        match line.task {
            OwnTask::Relax { .. } => own.relax::<S>(line.first, &numbers),
            OwnTask::LessSides => own.less_sides::<S>(line.first, &numbers),
        }
    }
}

/// For every unknown of a line what other lines leave to it, and its numbers.
struct Numbered<V, const R: usize> {
    rests: [*mut V; R],
    x: [*mut V; R],
    /// Whether the numbers count as zeros.
    from_zero: bool,
}

impl<M: Scalar, const R: usize> OwnEntries<M, R> {
    #[inline(always)]
    fn new(matrix: &StencilArrays<'_, M>, Sides(points): Sides, line: usize) -> Self {
        let (length, count) = (matrix.grid.length(), matrix.offsets.len());
        let unknown = count * R * length;
        let values = &matrix.values[line * R * unknown..][..R * unknown];
        let first = |point: Option<usize>| point.map(|point| values[point * R * length..].as_ptr());
        Self {
            sides: [first(points[0]), first(points[1]), first(points[2])],
            base: matrix.base,
            unknown,
            length,
        }
    }

    /// Solves for the cells of one parity, then for the others. The numbers of a register are kept until
    /// the next one is there: nothing is read again that was just written.
    ///
    /// # Safety
    /// The host has the instructions of `S`, and every pointer is to the `length` numbers of an unknown of the line.
    #[inline(always)]
    unsafe fn relax<S: Simd>(&self, first: usize, line: &Numbered<S::Real, R>) {
        let zeros = [S::zero(); R];
        let (mut before, mut here) = (zeros, self.numbers::<S>(line, 0));
        let (mut half_before, mut half) = (zeros, zeros);
        let mut kept: Option<Cells<S, R>> = None;
        for at in (0..self.length).step_by(S::LANES) {
            let next = self.numbers::<S>(line, at + S::LANES);
            let cells = self.cells::<S>(line, at);
            let solved = cells.solved(before, here, next);
            let changed = mixed::<S, R>(first, solved, here);
            if let Some(cells) = &kept {
                let solved = cells.solved(half_before, half, changed);
                let done = mixed::<S, R>(first, half, solved);
                write::<S, R>(line, at - S::LANES, S::LANES, done);
            }
            (before, here) = (here, next);
            (half_before, half) = (half, changed);
            kept = Some(cells);
        }
        let at = (self.length - 1) / S::LANES * S::LANES;
        if let Some(cells) = &kept {
            let solved = cells.solved(half_before, half, zeros);
            let done = mixed::<S, R>(first, half, solved);
            write::<S, R>(line, at, self.length - at, done);
        }
    }

    /// Takes what the cells on either side contribute off the rests of one parity.
    #[inline(always)]
    unsafe fn less_sides<S: Simd>(&self, parity: usize, line: &Numbered<S::Real, R>) {
        let (zeros, mut before) = ([S::zero(); R], [S::zero(); R]);
        let mut here = self.numbers::<S>(line, 0);
        for at in (0..self.length).step_by(S::LANES) {
            let next = self.numbers::<S>(line, at + S::LANES);
            let sides = [self.block::<S>(0, at), self.block::<S>(2, at)];
            let sums = mixed::<S, R>(parity, sums::<S, R>(&sides, [before, here, next]), zeros);
            let count = S::LANES.min(self.length - at);
            for (out, sum) in line.rests.into_iter().zip(sums) {
                let old = load::<S, _>(out.add(at).cast_const(), count);
                super::store::<S>(S::subtract(old, sum), out.add(at), count);
            }
            (before, here) = (here, next);
        }
    }

    #[inline(always)]
    unsafe fn numbers<S: Simd>(&self, line: &Numbered<S::Real, R>, at: usize) -> Numbers<S, R> {
        if line.from_zero || at >= self.length {
            return [S::zero(); R];
        }
        let mut numbers = [S::zero(); R];
        for (number, x) in numbers.iter_mut().zip(line.x) {
            *number = load::<S, _>(x.add(at).cast_const(), self.length - at);
        }
        numbers
    }

    /// # Safety
    /// As for [`relax`](Self::relax); `at` is on the line.
    #[inline(always)]
    unsafe fn cells<S: Simd>(&self, line: &Numbered<S::Real, R>, at: usize) -> Cells<S, R> {
        // `BEHIND` has `count + 16` numbers from `16 - count` on.
        let (before, after) = (self.block::<S>(0, at), self.block::<S>(2, at));
        let (mut own, mut rests) = (self.block::<S>(1, at), [S::zero(); R]);
        let count = S::LANES.min(self.length - at);
        let base = splat::<S>(S::Real::from_f64(self.base));
        for unknown in 0..R {
            own[unknown][unknown] = S::add(own[unknown][unknown], base);
            rests[unknown] = load::<S, _>(line.rests[unknown].add(at).cast_const(), count);
            if count < S::LANES {
                // Lanes behind the line are divided by one.
                let ones = S::load(BEHIND[16 - count..].as_ptr(), S::LANES);
                own[unknown][unknown] = S::add(own[unknown][unknown], ones);
            }
        }
        Cells {
            sides: [before, after],
            factors: factorised::<S, R>(own),
            rests,
        }
    }

    /// # Safety
    /// As for [`relax`](Self::relax); `at` is on the line.
    #[inline(always)]
    unsafe fn block<S: Simd>(&self, side: usize, at: usize) -> Block<S, R> {
        let mut block = [[S::zero(); R]; R];
        let Some(first) = self.sides[side] else {
            return block;
        };
        for (row, entries) in block.iter_mut().enumerate() {
            for (column, entry) in entries.iter_mut().enumerate() {
                let from = first.add(row * self.unknown + column * self.length + at);
                // Every second line is left out.
                prefetch(from.wrapping_add(2 * R * self.unknown), S::LANES);
                *entry = load::<S, _>(from, self.length - at);
            }
        }
        block
    }
}

/// A register of cells: their entries with the cells on either side, the factors of their own blocks, and
/// what other lines leave to them.
struct Cells<S: Simd, const R: usize> {
    sides: [Block<S, R>; 2],
    factors: Block<S, R>,
    rests: Numbers<S, R>,
}

impl<S: Simd, const R: usize> Cells<S, R> {
    /// The numbers that solve the rows of every cell, from those of the registers before, here and behind.
    #[inline(always)]
    unsafe fn solved(
        &self,
        before: Numbers<S, R>,
        here: Numbers<S, R>,
        after: Numbers<S, R>,
    ) -> Numbers<S, R> {
        let mut sums = sums::<S, R>(&self.sides, [before, here, after]);
        for (sum, rest) in sums.iter_mut().zip(self.rests) {
            *sum = S::subtract(rest, *sum);
        }
        substituted::<S, R>(&self.factors, sums)
    }
}

/// What the cells on either side contribute, from the numbers of the registers before, here and behind.
#[inline(always)]
unsafe fn sums<S: Simd, const R: usize>(
    [first, second]: &[Block<S, R>; 2],
    [before, here, after]: [Numbers<S, R>; 3],
) -> Numbers<S, R> {
    let mut sums = [S::zero(); R];
    for column in 0..R {
        let up = S::shift_up(before[column], here[column]);
        let down = S::shift_down(here[column], after[column]);
        for (row, sum) in sums.iter_mut().enumerate() {
            *sum = S::multiply_add(first[row][column], up, *sum);
            *sum = S::multiply_add(second[row][column], down, *sum);
        }
    }
    sums
}

/// The first numbers for the cells of a parity, the second ones for the others.
#[inline(always)]
unsafe fn mixed<S: Simd, const R: usize>(
    parity: usize,
    these: Numbers<S, R>,
    others: Numbers<S, R>,
) -> Numbers<S, R> {
    let (mut even, odd) = match parity {
        0 => (these, others),
        _ => (others, these),
    };
    for (even, odd) in even.iter_mut().zip(odd) {
        *even = S::alternate(*even, odd);
    }
    even
}

/// The first of `count` numbers that there are, then zeros.
///
/// # Safety
/// The host has the instructions of `S`, and `count` numbers are readable from `from` on.
#[inline(always)]
unsafe fn load<S: Simd, M: Scalar>(from: *const M, count: usize) -> S::Register {
    // A constant count needs no mask.
    match count < S::LANES {
        false => S::load(from, S::LANES),
        true => S::load(from, count),
    }
}

/// # Safety
/// The host has the instructions of `S`, and from `at` on the line has `count` numbers, at most a register.
#[inline(always)]
unsafe fn write<S: Simd, const R: usize>(
    line: &Numbered<S::Real, R>,
    at: usize,
    count: usize,
    numbers: Numbers<S, R>,
) {
    for (x, number) in line.x.into_iter().zip(numbers) {
        super::store::<S>(number, x.add(at), count);
    }
}

/// A matrix a lane.
type Block<S, const R: usize> = [[<S as Simd>::Register; R]; R];
/// A vector a lane.
type Numbers<S, const R: usize> = [<S as Simd>::Register; R];

/// The factors of small matrices, one a lane, without exchanges of rows; pivots are inverted.
#[inline(always)]
unsafe fn factorised<S: Simd, const R: usize>(mut a: Block<S, R>) -> Block<S, R> {
    for pivot in 0..R {
        a[pivot][pivot] = S::inverse(a[pivot][pivot]);
        for row in pivot + 1..R {
            a[row][pivot] = times::<S>(a[row][pivot], a[pivot][pivot]);
            for column in pivot + 1..R {
                a[row][column] = less::<S>(a[row][column], a[row][pivot], a[pivot][column]);
            }
        }
    }
    a
}

/// The solutions with such factors.
#[inline(always)]
unsafe fn substituted<S: Simd, const R: usize>(
    a: &Block<S, R>,
    mut b: Numbers<S, R>,
) -> Numbers<S, R> {
    for row in 1..R {
        for column in 0..row {
            b[row] = less::<S>(b[row], a[row][column], b[column]);
        }
    }
    for row in (0..R).rev() {
        for column in row + 1..R {
            b[row] = less::<S>(b[row], a[row][column], b[column]);
        }
        b[row] = times::<S>(b[row], a[row][row]);
    }
    b
}

#[inline(always)]
unsafe fn times<S: Simd>(a: S::Register, b: S::Register) -> S::Register {
    S::multiply_add(a, b, S::zero())
}

/// `a - b c`.
#[inline(always)]
unsafe fn less<S: Simd>(a: S::Register, b: S::Register, c: S::Register) -> S::Register {
    S::subtract(a, times::<S>(b, c))
}
