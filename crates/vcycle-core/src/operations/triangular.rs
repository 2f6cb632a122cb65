//! Triangular solves, step after step or many steps at once.

use std::sync::OnceLock;

use vcycle_kernels::compiled_fn;

use super::on_real_device;
use crate::cpu;
use crate::cpu::triangular::Levels;
use crate::gpu::{BLOCK, kernels::triangular as kernels};
use crate::launch::prelude::*;
use crate::launch::rows::threads_for;
use crate::operations::triangles::{self, Sides};
use crate::reference;
use crate::reference::triangular::TriangleArrays;

pub use crate::operations::triangles::{Flaw, LevelTriangle};

/// What threads may do side by side.
#[derive(Clone, Debug)]
pub enum Groups {
    /// Nothing.
    Serial,
    /// The steps between consecutive bounds, group after group.
    Levels(Vec<usize>),
    /// The groups of steps between consecutive bounds, step after step in each.
    Blocks(Vec<usize>),
}

/// What a device keeps of the steps of a solve, made at the first one.
#[derive(Clone, Debug, Default)]
pub struct Kept(OnceLock<DeviceLevels>);

/// A triangular matrix with rows in the order of their steps.
pub struct Triangle<'a, T: Scalar> {
    order: &'a [u32],
    groups: &'a Groups,
    off_diagonal: &'a Csr<T>,
    inverse_diagonal: Option<&'a Buffer<T::Arith>>,
    conjugate: bool,
    kept: &'a Kept,
}

impl<'a, T: Scalar> Triangle<'a, T> {
    /// The triangle with these entries off the diagonal, step by step, and ones on it where no inverse of it is given, or
    /// its conjugate. `order` has the row of every step; on a device groups are levels.
    ///
    /// # Safety
    /// Every row has one step. It depends on rows of earlier levels alone, where groups are levels, and on rows of earlier
    /// steps of its block, where they are blocks.
    pub unsafe fn new(
        (order, groups): (&'a [u32], &'a Groups),
        off_diagonal: &'a Csr<T>,
        inverse_diagonal: Option<&'a Buffer<T::Arith>>,
        conjugate: bool,
        kept: &'a Kept,
    ) -> Self {
        Self {
            order,
            groups,
            off_diagonal,
            inverse_diagonal,
            conjugate,
            kept,
        }
    }
}

/// Which triangles stand on a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The upper one with its pivots, the lower one with ones on its diagonal.
    SideBySide,
    /// The lower one with its pivots; the upper one is its transpose.
    Lower,
}

compiled_fn! {
    /// Both triangles of factors, level after level. None where the host makes them: it is where they are, or rows wait for each
    /// other too often.
    pub fn split[any T: Scalar](
        standing: Standing,
        pattern: &Pattern,
        diagonal: &[usize],
        values: &[<T as Scalar>::Arith],
    ) -> Result<Option<Split<T>>> {
        let made = on_real_device::<T, _>(pattern.executor(), |queue| {
            let values = Buffer::from_vec(queue.executor, values.to_vec());
            let diagonal = Buffer::from_vec(queue.executor, diagonal.to_vec());
            let transposed = match standing {
                Standing::SideBySide => None,
                Standing::Lower => {
                    let lower = Csr::of_buffers(&Arc::new(pattern.clone()), values.clone());
                    Some(queue.transpose(&lower)?)
                }
            };
            let pivots = (&diagonal, &values);
            let sides = Sides { pattern, values: &values, pivots };
            let above = match &transposed {
                None => Sides { ..sides },
                Some(upper) => Sides { pattern: upper.pattern(), values: upper.values_buffer(), pivots },
            };
            // The upper triangle first: its pivots name the row where trouble began.
            let upper = match triangles::triangle::<T>(queue, &above, false, false)? {
                Some(Ok(upper)) => upper,
                Some(Err(flaw)) => return Ok(Some(Err(flaw))),
                None => return Ok(None),
            };
            let unit = standing == Standing::SideBySide;
            let lower = triangles::triangle::<T>(queue, &sides, true, unit)?;
            Ok(lower.map(|lower| Ok([lower?, upper])))
        })?;
        Ok(made.flatten())
    }
}

/// The lower and the upper triangle, or what is wrong with them.
pub type Split<T> = std::result::Result<[LevelTriangle<T>; 2], Flaw>;

/// The steps sorted by the level they can be done at, where the executor makes use of that.
pub fn levels<T: Scalar>(
    rows: &Csr<T>,
    steps: impl Iterator<Item = u32> + Clone,
) -> Option<Levels> {
    match rows.executor() {
        Executor::Reference => None,
        Executor::Cpu(threads) => Levels::wide(threads, steps, rows.offsets(), rows.columns()),
        Executor::Gpu(_) => Some(Levels::new(steps, rows.offsets(), rows.columns())),
    }
}

compiled_fn! {
    /// `A y = b`.
    ///
    /// # Panics
    /// On a device with steps that are not grouped by levels.
    pub fn solve[any T: Scalar](a: &Triangle<'_, T>, b: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let executor = a.off_diagonal.executor();
        if let Executor::Gpu(gpu) = executor {
            let levels = a.kept.0.get_or_init(|| {
                let Groups::Levels(bounds) = a.groups else {
                    panic!("schedules of devices are made of levels");
                };
                DeviceLevels::new(gpu, executor, a.order, bounds, a.off_diagonal.nonzeros())
            });
            let conjugate = a.conjugate && T::KIND.is_complex();
            return levels.solve(gpu, (a.off_diagonal, a.inverse_diagonal, conjugate), b, y);
        }
        let arrays = TriangleArrays {
            order: a.order,
            off_diagonal: a.off_diagonal.arrays()?,
            inverse_diagonal: a.inverse_diagonal.map(Buffer::host).transpose()?,
            conjugate: a.conjugate,
        };
        let cols = b.cols();
        let (b, y) = (b.host()?, y.host_mut()?);
        match (executor, a.groups) {
            (Executor::Cpu(threads), Groups::Levels(bounds)) => {
                // SAFETY: the levels are those of the triangle, as whoever made it has promised.
                unsafe { cpu::triangular::solve(threads, bounds, arrays, b, y, cols) };
            }
            (Executor::Cpu(threads), Groups::Blocks(bounds)) => {
                // SAFETY: the blocks are those of the triangle, as whoever made it has promised.
                unsafe { cpu::triangular::solve_blocks(threads, bounds, arrays, b, y, cols) };
            }
            _ => reference::triangular::solve(arrays, b, y, cols),
        }
        Ok(())
    }
}

/// Turns of one block that a level may need and still be narrow: a launch costs as much.
const TURNS: usize = 4;

/// The steps of a triangular solve, level after level, for the device.
#[derive(Clone, Debug)]
struct DeviceLevels {
    order: Buffer<u32>,
    bounds: Buffer<usize>,
    /// Threads that share a step.
    threads: usize,
    launches: Vec<Launch>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Launch {
    /// The steps of one level.
    Wide(usize, usize),
    /// Levels, one after the other.
    Narrow(usize, usize),
}

impl DeviceLevels {
    /// Levels between `bounds`; their rows have `entries` entries in all.
    fn new(
        gpu: &Gpu,
        executor: &Executor,
        order: &[u32],
        bounds: &[usize],
        entries: usize,
    ) -> Self {
        let threads = threads_for(gpu, entries / order.len().max(1));
        let most = TURNS * BLOCK as usize / threads;
        Self {
            order: Buffer::from_vec(executor, order.to_vec()),
            bounds: Buffer::from_vec(executor, bounds.to_vec()),
            threads,
            launches: launches(bounds, most),
        }
    }

    /// `A y = b` for a matrix stored step by step, with its inverted diagonal unless that is ones, or for the conjugate matrix.
    fn solve<T: Scalar>(
        &self,
        gpu: &Gpu,
        (a, inverse, conjugate): (&Csr<T>, Option<&Buffer<T::Arith>>, bool),
        b: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let mut defines = vec![("THREADS", literal(self.threads))];
        defines.extend(conjugate.then_some(("CONJUGATED", "1")));
        let (offsets, columns) = (a.pattern()).pass()?;
        let triangle = (
            b.cols() as u32,
            self.order.pointer()?,
            offsets,
            columns,
            a.values_buffer().pointer()?,
            inverse.pass()?,
            b.pass()?,
            y.pass()?,
        );
        for &launch in &self.launches {
            match launch {
                Launch::Wide(first, last) => {
                    let blocks = ((last - first) * self.threads).div_ceil(BLOCK as usize);
                    kernels::triangle_level::<T, T::Arith>(first, last, triangle)?
                        .with(&defines)
                        .run(gpu, blocks)?;
                }
                Launch::Narrow(from, to) => {
                    kernels::triangle_levels::<T, T::Arith>(from, to, &self.bounds, triangle)?
                        .with(&defines)
                        .run(gpu, 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Levels of at most `most` steps that follow each other share a launch.
fn launches(bounds: &[usize], most: usize) -> Vec<Launch> {
    let mut launches = Vec::new();
    for (level, ends) in bounds.windows(2).enumerate() {
        match launches.last_mut() {
            _ if ends[1] - ends[0] > most => launches.push(Launch::Wide(ends[0], ends[1])),
            Some(Launch::Narrow(_, to)) => *to = level + 1,
            _ => launches.push(Launch::Narrow(level, level + 1)),
        }
    }
    launches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_levels_share_a_launch() {
        assert_eq!(
            launches(&[0, 1, 3, 10, 11, 12], 4),
            [
                Launch::Narrow(0, 2),
                Launch::Wide(3, 10),
                Launch::Narrow(3, 5)
            ]
        );
        assert_eq!(launches(&[0], 4), []);
    }
}
