//! Memory that a file asks for, and whether a matrix may be read, asked when its size is known.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use vcycle_core::executor::fits;

use crate::error::{Problem, Result as LibraryResult};
use crate::executor::Executor;
use crate::matrix::Extent;

/// An empty vector with room for `length` values.
pub(super) fn reserve<T>(length: usize) -> Result<Vec<T>, Problem> {
    let bytes = length.saturating_mul(size_of::<T>());
    match fits(bytes) {
        true => Ok(Vec::with_capacity(length)),
        false => Err(Problem::OutOfMemory { bytes }),
    }
}

/// `length` copies of `value`.
pub(super) fn filled<T: Clone>(length: usize, value: T) -> Result<Vec<T>, Problem> {
    // Asked for again, because `vec!` gets zeros from the system without touching them.
    drop(reserve::<T>(length)?);
    Ok(vec![value; length])
}

/// The function that is asked, if there is one.
#[derive(Clone, Default)]
pub(super) struct Admission(pub(super) Option<Arc<Admit>>);

type Admit = dyn Fn(Extent) -> LibraryResult<()> + Send + Sync;

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
        f.debug_tuple("Admission").field(&self.0.is_some()).finish()
    }
}
