//! A GPU, what was asked for, and the times of what is set up there.

use std::time::Instant;

use super::args::GpuSetupArgs;
use crate::common::Result;
use crate::gpu::bench::GpuBench;

/// Rounds that are timed at least, after one that is not.
pub(super) const ROUNDS: usize = 3;
/// Set-ups go on for so long, in milliseconds, and their median counts.
const LONG_ENOUGH: f64 = 250.0;

/// What all parts need.
pub(super) struct SetupBench {
    pub gpu: GpuBench,
    pub asked: GpuSetupArgs,
}

impl SetupBench {
    /// The problems that were asked for, or the usual ones, of full size or `small`.
    pub fn names<'n>(&'n self, full: &'n [&'n str], small: &'n [&'n str]) -> Vec<&'n str> {
        match self.asked.problems.is_empty() {
            true => self.gpu.of_size(full, small).to_vec(),
            false => self.asked.problems.iter().map(String::as_str).collect(),
        }
    }

    /// The milliseconds of at least [`ROUNDS`] and as many as it takes, and what the last one made.
    pub fn repeated<M>(&self, make: &mut dyn FnMut() -> Result<M>) -> Result<(Vec<f64>, M)> {
        let mut times: Vec<f64> = Vec::new();
        let device = &self.gpu.device;
        loop {
            device.synchronize()?;
            device.forget_peak();
            let begin = Instant::now();
            let made = make()?;
            device.synchronize()?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            if times.len() >= ROUNDS && times.iter().sum::<f64>() >= LONG_ENOUGH {
                return Ok((times, made));
            }
        }
    }
}
