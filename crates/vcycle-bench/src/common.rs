//! What all benchmarks use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use vcycle::stop::Outcome;

/// Errors as text: a benchmark has no caller that could act on them.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) fn cores() -> Result<usize> {
    Ok(std::thread::available_parallelism()?.into())
}

/// The last part of a path, or a problem.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Iterations, and the status of a solve that did not converge.
pub(crate) fn iterations(outcome: &Outcome) -> String {
    match outcome.converged() {
        true => outcome.iterations.to_string(),
        false => format!("{}: {}", outcome.iterations, outcome.status),
    }
}

/// A temporary folder that is removed with everything in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("vcycle-bench-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure leaves files in the temporary folder, nothing else.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
