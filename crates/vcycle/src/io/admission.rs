//! Whether a matrix may be read, asked when its size is known.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use crate::error::{Problem, Result};
use crate::executor::Executor;
use crate::matrix::Extent;

/// The function that is asked, if there is one.
#[derive(Clone, Default)]
pub(super) struct Admission(pub(super) Option<Arc<Admit>>);

type Admit = dyn Fn(Extent) -> Result<()> + Send + Sync;

impl Admission {
    /// Fails where reading takes more memory than there is, `beside` being what it takes beside the matrix, or where
    /// that function fails.
    pub(super) fn check(
        &self,
        extent: Extent,
        beside: usize,
        executor: &Executor,
    ) -> Result<(), Problem> {
        let needed = extent.bytes().saturating_add(beside);
        let asked = self.0.as_ref().map_or(Ok(()), |admit| admit(extent));
        let host = executor.on_host();
        Ok(asked.and_then(|()| host.check_need(|| "reading it".to_owned(), needed))?)
    }
}

impl Debug for Admission {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() {
            "asks"
        } else {
            "asks nobody"
        })
    }
}
