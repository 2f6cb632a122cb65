//! Incomplete factors with a threshold: their pattern and their values are found together.

use crate::gpu::kernels::threshold as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::factor::sweeps::{Factorisation, Sweeping, Sweeps};
use crate::operations::on_real_device;

/// Digits that are counted at once, as in the kernels.
const BINS: usize = 2048;
/// The digits of a word, the first ones first: how far they are from the end, and which bits they have then.
const DIGITS: [(u32, u32); 3] = [(21, 2047), (10, 2047), (0, 1023)];

/// How factors are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Which factors; for those of Cholesky the lower triangle of the matrix is given.
    pub factorisation: Factorisation,
    /// Entries that may stand below and above the diagonal.
    pub rooms: [usize; 2],
    /// How often entries are added and removed.
    pub steps: usize,
    /// Sweeps on the last pattern.
    pub last: usize,
    /// The part of the norm of a start that counts as rounding: residuals below may grow.
    pub exact: f64,
}

/// The factors on the pattern that the steps find: `L` with a unit diagonal and `U`, side by side, or `L` alone. The inner one is none where a
/// sweep enlarges the residual or a pivot has no root.
pub fn with_threshold<A: Field>(a: &Csr<A>, how: Threshold) -> Result<Option<Option<Csr<A>>>> {
    on_real_device::<A, _>(a.executor(), |queue| {
        let search = Search {
            queue,
            a,
            factorisation: how.factorisation,
            exact: how.exact,
        };
        let mut f = a.clone();
        for _ in 0..how.steps {
            let Some(wider) = search.swept(&search.with_candidates(&f)?, 1)? else {
                return Ok(None);
            };
            let Some(next) = search.swept(&search.largest(&wider, how.rooms)?, 1)? else {
                return Ok(None);
            };
            f = next;
        }
        let sweeps = search.sweeps(f.pattern())?;
        let swept = sweeps.guarded(f.values_buffer().clone(), search.sweeping(how.last))?;
        let values = swept.map_or(Ok(None), |values| sweeps.divided(values))?;
        Ok(values.map(|values| Csr::of_buffers(f.pattern(), values)))
    })
}

/// The last key that is kept of a triangle.
type Key = (u32, u32, u32);

struct Search<'a, A> {
    queue: Queue<'a>,
    a: &'a Csr<A>,
    factorisation: Factorisation,
    exact: f64,
}

impl<A: Scalar> Search<'_, A> {
    /// `f` and, where it has no entry, `A - L U`, or the lower triangle of `A - L L^T`.
    fn with_candidates(&self, f: &Csr<A>) -> Result<Csr<A>> {
        let (unit, upper) = self.triangles(f)?;
        let product = match self.factorisation {
            Factorisation::Lu => self.queue.multiply(&unit, &upper)?,
            Factorisation::Cholesky => {
                let upper = self.queue.transpose(&unit)?;
                self.lower(&self.queue.multiply(f, &upper)?)?
            }
        };
        let wider = Arc::new(self.queue.union(self.a.pattern(), product.pattern())?);
        let mut values = self.queue.uninit(wider.nonzeros())?;
        kernels::candidates(wider.size().rows, &*wider, self.a, f, &product, &mut values)?
            .rows(&self.queue, shape(&wider))?;
        Ok(Csr::of_buffers(&wider, values))
    }

    /// `L` with a unit diagonal and `U`.
    fn triangles(&self, f: &Csr<A>) -> Result<(Csr<A>, Csr<A>)> {
        let (queue, size) = (self.queue, f.size());
        let diagonal = self.diagonal(f.pattern())?;
        let [lower, upper] = self.lengths(f.pattern(), &diagonal)?;
        let (mut l, mut u) = (queue.new_rows(&lower)?, queue.new_rows(&upper)?);
        let factors = (f.size().rows, f, &diagonal);
        kernels::fill_triangles(factors, &mut l, &mut u)?.rows(&queue, shape(f.pattern()))?;
        Ok((l.matrix(size), u.matrix(size)))
    }

    /// What stands up to the diagonal.
    fn lower(&self, a: &Csr<A>) -> Result<Csr<A>> {
        let queue = self.queue;
        let diagonal = self.diagonal(a.pattern())?;
        let [lower, _] = self.lengths(a.pattern(), &diagonal)?;
        let mut out = queue.new_rows(&lower)?;
        let factors = (a.size().rows, a, &diagonal);
        kernels::fill_lower(factors, &mut out)?.rows(&queue, shape(a.pattern()))?;
        Ok(out.matrix(a.size()))
    }

    /// Entries of every row up to the diagonal, and from there on.
    fn lengths(&self, pattern: &Pattern, diagonal: &Buffer<usize>) -> Result<[Buffer<u32>; 2]> {
        let (queue, rows) = (self.queue, pattern.size().rows);
        let (mut lower, mut upper) = (queue.uninit(rows)?, queue.uninit(rows)?);
        kernels::count_triangles(rows, pattern.buffers().0, diagonal, &mut lower, &mut upper)?
            .with(&[("ACC", A::NAME)])
            .rows(&queue, (rows, 1))?;
        Ok([lower, upper])
    }

    /// The places of the diagonal, which every row has.
    fn diagonal(&self, pattern: &Pattern) -> Result<Buffer<usize>> {
        let rows = pattern.size().rows;
        let mut diagonal = self.queue.uninit(rows)?;
        kernels::places_of_diagonal(rows, pattern, &mut diagonal)?
            .with(&[("ACC", A::NAME)])
            .rows(&self.queue, (rows, 1))?;
        Ok(diagonal)
    }

    fn sweeping(&self, sweeps: usize) -> Sweeping {
        Sweeping {
            factorisation: self.factorisation,
            sweeps,
            exact: self.exact,
        }
    }

    /// The matrix on a larger pattern, to be swept there.
    fn sweeps<'p>(&self, pattern: &'p Pattern) -> Result<Sweeps<'p, A>>
    where
        Self: 'p,
    {
        let mut values = self.queue.uninit(pattern.nonzeros())?;
        kernels::spread(pattern.size().rows, pattern, self.a, &mut values)?
            .rows(&self.queue, shape(pattern))?;
        let diagonal = self.diagonal(pattern)?;
        Sweeps::new(self.queue, pattern, values, diagonal, self.factorisation)
    }

    /// What sweeps make of `f`; none where one of them enlarges the residual.
    fn swept(&self, f: &Csr<A>, sweeps: usize) -> Result<Option<Csr<A>>> {
        let start = f.values_buffer().clone();
        let found = self
            .sweeps(f.pattern())?
            .guarded(start, self.sweeping(sweeps))?;
        Ok(found.map(|values| Csr::of_buffers(f.pattern(), values)))
    }

    /// The diagonal and so many of the largest entries below and above it, as `precond/select.rs` has them.
    fn largest(&self, f: &Csr<A>, rooms: [usize; 2]) -> Result<Csr<A>> {
        let (queue, rows) = (self.queue, f.size().rows);
        let diagonal = self.diagonal(f.pattern())?;
        let mut sizes = queue.uninit::<u32>(f.nonzeros())?;
        let factors = (rows, f, &diagonal);
        kernels::sizes(factors, &mut sizes)?.rows(&queue, shape(f.pattern()))?;
        let lower = self.last_key(f.pattern(), (&diagonal, &sizes), false, rooms[0])?;
        let upper = self.last_key(f.pattern(), (&diagonal, &sizes), true, rooms[1])?;
        let mut counts = queue.uninit::<u32>(rows)?;
        kernels::count_kept(factors, &sizes, lower, upper, &mut counts)?.rows(&queue, (rows, 1))?;
        let mut out = queue.new_rows(&counts)?;
        kernels::fill_kept(factors, &sizes, lower, upper, &mut out)?.rows(&queue, (rows, 1))?;
        Ok(out.matrix(f.size()))
    }

    /// The key of the last entry of a triangle that has room, digit by digit. Keys are different, so that there is one.
    fn last_key(
        &self,
        pattern: &Pattern,
        (diagonal, sizes): (&Buffer<usize>, &Buffer<u32>),
        upper: bool,
        room: usize,
    ) -> Result<Key> {
        // The larger index of no entry is zero: nothing has a key as small.
        let (mut key, mut left) = ([0_u32; 3], room);
        if room == 0 {
            return Ok(key.into());
        }
        for at in 0..key.len() {
            for (place, (shift, digits)) in DIGITS.into_iter().enumerate() {
                let known = if place == 0 {
                    0
                } else {
                    u32::MAX << DIGITS[place - 1].0
                };
                let mut bins = self.queue.zeros::<u32>(BINS)?;
                kernels::count_digits(
                    pattern.size().rows,
                    pattern,
                    diagonal,
                    sizes,
                    upper,
                    Key::from(key),
                    at,
                    known,
                    shift,
                    digits,
                    &mut bins,
                )?
                .with(&[("ACC", A::NAME)])
                .rows(&self.queue, shape(pattern))?;
                let Some((digit, before, here)) = bin_of(bins.host()?, left) else {
                    return Ok([u32::MAX; 3].into());
                };
                key[at] |= digit << shift;
                left -= before;
                if here == left {
                    // All with this digit have room.
                    key[at] |= !(u32::MAX << shift);
                    key[at + 1..].fill(u32::MAX);
                    return Ok(key.into());
                }
            }
        }
        Ok(key.into())
    }
}

/// The bin that has the `rank`-th entry, how many come before it and how many are in it; none where there are fewer.
fn bin_of(bins: &[u32], rank: usize) -> Option<(u32, usize, usize)> {
    let mut before = 0;
    for (bin, &count) in bins.iter().enumerate() {
        let count = count as usize;
        if before + count >= rank {
            return Some((bin as u32, before, count));
        }
        before += count;
    }
    None
}
