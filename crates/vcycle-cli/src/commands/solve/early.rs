//! Problems that are made while a device is opened.

use vcycle::config::RunConfig;
use vcycle::executor::Executor;
use vcycle::gallery::{self, Problem};

use crate::error::Result;

/// Bytes of the largest matrix that is made before it is known whether the device has room for it.
const LARGEST: usize = 1 << 30;

/// Where to run, and the problem that `source` names where it was made meanwhile: the driver of a device takes longer to start than
/// most matrices take to be made.
pub fn opened(run: &RunConfig, source: &str) -> Result<(Executor, Option<Problem>)> {
    if matches!(run.device.as_str(), "cpu" | "reference") || !is_small_problem(source) {
        return Ok((run.executor()?, None));
    }
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| run.executor());
        let made = gallery::build(source, &Executor::cpu());
        let executor = opening.join().expect("opening a device does not panic")?;
        let mut problem = made?;
        problem.matrix = problem.matrix.into_executor(&executor)?;
        Ok((executor, Some(problem)))
    })
}

fn is_small_problem(source: &str) -> bool {
    let extent = || gallery::extent(source).ok().flatten();
    gallery::is_problem(source)
        && !gallery::is_complex_problem(source)
        && extent().is_some_and(|extent| extent.bytes() <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_large_and_complex_problems_wait_for_the_device() {
        assert!(is_small_problem("poisson7:128"));
        for other in [
            "poisson7:400",
            "magnetic:20,0.05",
            "matrix.mtx",
            "poisson7:x",
        ] {
            assert!(!is_small_problem(other), "{other}");
        }
    }
}
