//! Launches of triangular solves.

use vcycle_gpu::{Address, Argument};

use super::rows::{power, threads_for};
use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("triangular.c");

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

/// The matrix of a triangular solve, stored step by step.
pub struct Triangle {
    /// The place of the first entry of every step, and at the end the number of entries.
    pub offsets: Address,
    /// The column of every entry.
    pub columns: Address,
    /// The value of every entry.
    pub values: Address,
    /// The inverted diagonal; null without.
    pub inverse: Address,
    /// Whether it is the conjugate matrix that is solved with.
    pub conjugate: bool,
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

    /// `A y = b`.
    pub fn solve<T: Scalar>(
        &self,
        gpu: &Gpu,
        a: &Triangle,
        b: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let addresses = [
            self.order.device()?,
            a.offsets,
            a.columns,
            a.values,
            a.inverse,
            b.device()?,
            y.device_mut()?,
        ];
        let mut triangle = vec![Argument::U32(b.cols() as u32)];
        triangle.extend(addresses.map(Argument::Address));
        for &launch in &self.launches {
            self.launch::<T>(gpu, launch, a.conjugate, &triangle)?;
        }
        Ok(())
    }

    fn launch<T: Scalar>(
        &self,
        gpu: &Gpu,
        launch: Launch,
        conjugate: bool,
        triangle: &[Argument],
    ) -> Result<()> {
        let mut defines = vec![
            ("T", T::KIND.name()),
            ("ACC", T::Arith::KIND.name()),
            ("THREADS", power(self.threads)),
        ];
        defines.extend(conjugate.then_some(("CONJUGATED", "1")));
        match launch {
            Launch::Wide(first, last) => {
                let kernel = gpu.kernel(FILE, "triangle_level", &defines)?;
                let blocks = ((last - first) * self.threads).div_ceil(BLOCK as usize);
                let steps = [first, last].map(|step| Argument::U64(step as u64));
                gpu.launch(&kernel, blocks as u32, &[&steps, triangle].concat())
            }
            Launch::Narrow(from, to) => {
                let kernel = gpu.kernel(FILE, "triangle_levels", &defines)?;
                let levels = [
                    Argument::U32(from as u32),
                    Argument::U32(to as u32),
                    Argument::Address(self.bounds.device()?),
                ];
                gpu.launch(&kernel, 1, &[&levels, triangle].concat())
            }
        }
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
