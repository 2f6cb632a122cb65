//! Fair comparisons on a machine that is not ours alone.

use std::time::Instant;

use crate::common::Result;

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

/// Lets the candidates take turns for some rounds; the best time of each.
pub(crate) fn race<const N: usize>(
    candidates: [&mut dyn Candidate; N],
    rounds: usize,
    seconds: f64,
) -> Result<[f64; N]> {
    let mut best = [f64::INFINITY; N];
    for _ in 0..rounds {
        for index in 0..N {
            best[index] = best[index].min(candidates[index].best_within(seconds)?);
        }
    }
    Ok(best)
}
