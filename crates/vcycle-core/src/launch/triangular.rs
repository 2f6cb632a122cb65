//! Launches of triangular solves.

use super::rows::{power, threads_for};
use crate::arrays::{Csr, Vector};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{BLOCK, Gpu, Passes, kernels::triangular as kernels};
use crate::scalar::Scalar;

/// Turns of one block that a level may need and still be narrow: a launch costs as much.
const TURNS: usize = 4;

/// The steps of a triangular solve, level after level, for the device.
#[derive(Clone, Debug)]
pub struct DeviceLevels {
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
    pub fn new(
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
    pub(crate) fn solve<T: Scalar>(
        &self,
        gpu: &Gpu,
        (a, inverse, conjugate): (&Csr<T>, Option<&Buffer<T::Arith>>, bool),
        b: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let mut defines = vec![("THREADS", power(self.threads))];
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
