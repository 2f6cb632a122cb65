//! A GPU, its problems, and the times of what is set up there.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Executor;
use vcycle_gpu::Device;

use crate::common::Result;
use crate::gpu::problems::Problems;

/// Rounds that are timed at least, after one that is not.
pub(super) const ROUNDS: usize = 3;
/// Set-ups go on for so long, in milliseconds, and their median counts.
const LONG_ENOUGH: f64 = 250.0;

/// What all parts need.
pub(super) struct SetupBench {
    pub device: Arc<Device>,
    pub executor: Executor,
    pub problems: Problems,
    pub host_rows: Option<usize>,
    pub small: bool,
    /// Problems that were asked for.
    pub asked: Vec<String>,
    /// Coarsenings beside the usual ones.
    pub coarsenings: Vec<String>,
    /// Options of multigrid beside the usual ones.
    pub options: Vec<String>,
    /// Whether launches, waits and allocations are counted.
    pub counts: bool,
}

impl SetupBench {
    /// The problems that were asked for, or the usual ones, of full size or `small`.
    pub fn names<'n>(&'n self, full: &[&'n str], small: &[&'n str]) -> Vec<&'n str> {
        match (self.asked.is_empty(), self.small) {
            (false, _) => self.asked.iter().map(String::as_str).collect(),
            (true, true) => small.to_vec(),
            (true, false) => full.to_vec(),
        }
    }

    /// The best time of so many, and what the last one made.
    pub fn best<M>(&self, rounds: usize, make: &mut dyn FnMut() -> Result<M>) -> Result<(f64, M)> {
        let (times, last) = self.times(&|times| times.len() == rounds, make)?;
        Ok((times.into_iter().fold(f64::INFINITY, f64::min), last))
    }

    /// The times of at least [`ROUNDS`] and as many as it takes, and what the last one made.
    pub fn repeated<M>(&self, make: &mut dyn FnMut() -> Result<M>) -> Result<(Vec<f64>, M)> {
        let is_enough =
            |times: &[f64]| times.len() >= ROUNDS && times.iter().sum::<f64>() >= LONG_ENOUGH;
        self.times(&is_enough, make)
    }

    fn times<M>(
        &self,
        is_enough: &dyn Fn(&[f64]) -> bool,
        make: &mut dyn FnMut() -> Result<M>,
    ) -> Result<(Vec<f64>, M)> {
        let mut times = Vec::new();
        loop {
            self.device.synchronize()?;
            self.device.forget_peak();
            let begin = Instant::now();
            let made = make()?;
            self.device.synchronize()?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            if is_enough(&times) {
                return Ok((times, made));
            }
        }
    }
}
