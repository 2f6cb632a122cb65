//! Problems that are made while a device is opened and made ready.

use vcycle::config::Config;
use vcycle::executor::Executor;
use vcycle::gallery::{self, Problem};
use vcycle::programs::Again;

use crate::error::Result;

/// Bytes of the largest matrix that is made before it is known whether the device has room for it.
const LARGEST: usize = 1 << 30;

/// Where to run, and what is made ready there.
pub struct Opened {
    pub executor: Executor,
    pub again: Option<Again>,
}

/// Where to run, and the problem that `source` names where it was made meanwhile: the driver of a device takes longer to start than
/// most matrices take to be made.
pub fn opened(config: &Config, source: &str) -> Result<(Opened, Option<Problem>)> {
    let on_host = matches!(config.run.device.as_str(), "cpu" | "reference");
    if on_host || !is_small_problem(source) {
        return Ok((open(config, source)?, None));
    }
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| open(config, source));
        let made = gallery::build(source, &Executor::cpu());
        let opened = opening.join().expect("opening a device does not panic")?;
        let mut problem = made?;
        problem.matrix = problem.matrix.into_executor(&opened.executor)?;
        Ok((opened, Some(problem)))
    })
}

/// What the last solve of the same kind needed is made ready while the matrix is on its way.
fn open(config: &Config, source: &str) -> Result<Opened> {
    let executor = config.run.executor()?;
    let config = serde_json::to_string(config).expect("configurations are plain data");
    let version = env!("CARGO_PKG_VERSION");
    let again = Again::begin(&executor, format!("{version} solve {source} {config}"));
    Ok(Opened { executor, again })
}

fn is_small_problem(source: &str) -> bool {
    let extent = || gallery::extent(source).ok();
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
