//! Fair comparisons on a shared machine.

use std::time::Instant;

use vcycle_gpu::{Device, Graph};

use crate::prelude::*;

/// Something that can be timed: repeats its work for about the given seconds, at least once, and
/// returns the best time of one repetition.
pub(crate) trait Candidate {
    fn best_within(&mut self, seconds: f64) -> Result<f64>;
}

impl<F: FnMut() -> Result<()>> Candidate for F {
    fn best_within(&mut self, seconds: f64) -> Result<f64> {
        let begin = Instant::now();
        let mut best = f64::INFINITY;
        loop {
            let start = Instant::now();
            self()?;
            best = best.min(start.elapsed().as_secs_f64());
            if begin.elapsed().as_secs_f64() >= seconds {
                return Ok(best);
            }
        }
    }
}

/// One of several things that are timed in turns.
pub(crate) type Work<'w> = Box<dyn FnMut() -> Result<()> + 'w>;

/// Lets the candidates take turns for some rounds; the best time of each.
pub(crate) fn race(
    candidates: &mut [&mut dyn Candidate],
    (rounds, seconds): (usize, f64),
) -> Result<Vec<f64>> {
    let mut best = vec![f64::INFINITY; candidates.len()];
    for _ in 0..rounds {
        for (best, candidate) in best.iter_mut().zip(&mut *candidates) {
            *best = best.min(candidate.best_within(seconds)?);
        }
    }
    Ok(best)
}

/// Seconds of each: on a device by its clock, else by turns.
pub(crate) fn turns(
    executor: &Executor,
    all: &mut [Work<'_>],
    measuring: (usize, f64),
) -> Result<Vec<f64>> {
    if let Some(device) = executor.device() {
        let one = |work: &mut Work<'_>| Ok(microseconds(device, 1, work)? * 1e-6);
        return all.iter_mut().map(one).collect();
    }
    let candidates = all.iter_mut().map(|work| work as &mut dyn Candidate);
    race(&mut candidates.collect::<Vec<_>>(), measuring)
}

/// Seconds of some work: on a device those of its clock, else the best within some.
pub(crate) fn work(
    executor: &Executor,
    seconds: f64,
    one: impl FnMut() -> Result<()>,
) -> Result<f64> {
    Ok(turns(executor, &mut [Box::new(one)], (1, seconds))?[0])
}

/// Milliseconds of every repetition until all queued work is done, as many as `goes_on` wants, and the last result.
pub(crate) fn repeated<M>(
    executor: &Executor,
    goes_on: impl Fn(&[f64]) -> bool,
    make: &mut dyn FnMut() -> Result<M>,
) -> Result<(Vec<f64>, M)> {
    let mut times = Vec::new();
    loop {
        executor.synchronize()?;
        let begin = Instant::now();
        let made = make()?;
        executor.synchronize()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        // The last result goes before the next is made: two of them need not fit into memory.
        if !goes_on(&times) {
            return Ok((times, made));
        }
    }
}

/// Milliseconds of the best of some rounds, and the last result.
pub(crate) fn shortest<M>(
    executor: &Executor,
    rounds: usize,
    make: &mut dyn FnMut() -> Result<M>,
) -> Result<(f64, M)> {
    let (times, last) = repeated(executor, |times| times.len() < rounds, make)?;
    Ok((times.into_iter().fold(f64::INFINITY, f64::min), last))
}

/// The same after a repetition that is not timed because it compiles kernels.
pub(crate) fn warm<M>(
    executor: &Executor,
    rounds: usize,
    make: &mut dyn FnMut() -> Result<M>,
) -> Result<(f64, M)> {
    drop(make()?);
    shortest(executor, rounds, make)
}

/// Milliseconds of one sample: the clock of the device is read to about a microsecond.
const SAMPLE: f64 = 4.0;
const SAMPLES: usize = 15;
/// The most repetitions of a round within a sample.
const MOST: f64 = 2000.0;

/// The median time of one of the `pieces` that `round` queues, in microseconds.
///
/// The round is recorded where that is possible, so that queuing on the host is not measured.
pub(crate) fn microseconds(
    device: &Arc<Device>,
    pieces: usize,
    round: &mut dyn FnMut() -> Result<()>,
) -> Result<f64> {
    round()?;
    let graph = device
        .capture::<Box<dyn std::error::Error>>(&mut *round)
        .ok();
    let first = sample(device, 1, &graph, round)?;
    let repeats = (SAMPLE / first).clamp(1.0, MOST) as usize;
    let samples = (0..SAMPLES).map(|_| sample(device, repeats, &graph, round));
    let samples = samples.collect::<Result<Vec<f64>>>()?;
    Ok(median(&samples) * 1e3 / (repeats * pieces) as f64)
}

fn sample(
    device: &Arc<Device>,
    repeats: usize,
    graph: &Option<Graph>,
    round: &mut dyn FnMut() -> Result<()>,
) -> Result<f64> {
    device.time(|| {
        (0..repeats).try_for_each(|_| match graph {
            Some(graph) => Ok(device.replay(graph)?),
            None => round(),
        })
    })
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The geometric mean; of nothing it is one.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_do_not_count() {
        assert_eq!(median(&[9e9, 2.0, 3.0, 1.0, 2.5]), 2.5);
        assert!((mean(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
    }
}
