//! Files that only a benchmark needs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::Result;

/// A folder that is removed with everything in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one, in the system's temporary folder.
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
        // Nothing depends on it: what stays behind lies in the temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
