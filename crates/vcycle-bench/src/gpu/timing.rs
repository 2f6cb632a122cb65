//! How long queued work takes.

use std::sync::Arc;

use vcycle_gpu::{Device, Graph};

use crate::common::Result;

/// Milliseconds of one sample: the clock of the device is read to about a microsecond.
const SAMPLE: f64 = 4.0;
const SAMPLES: usize = 15;
/// A round is repeated at most so often within a sample.
const MOST: f64 = 2000.0;

/// The median time of one of the `pieces` that `round` queues, in microseconds.
///
/// The round is recorded where that is possible: what the host needs to queue a kernel is not what
/// is asked for.
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
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        samples.push(sample(device, repeats, &graph, round)?);
    }
    Ok(median(samples) * 1e3 / (repeats * pieces) as f64)
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

pub(super) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[cfg(test)]
mod tests {
    #[test]
    fn outliers_do_not_count() {
        assert_eq!(super::median(vec![9e9, 2.0, 3.0, 1.0, 2.5]), 2.5);
    }
}
