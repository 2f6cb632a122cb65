//! What tests of this layer and of those above share.

pub use vcycle_gpu::testing::{devices, names_compiler, shared, skip};

use std::sync::Arc;

use crate::communicator::{Communicator, threads};
use crate::error::Result;
use crate::executor::Executor;

/// The first device that tests run on, if there is one.
///
/// # Panics
/// When the device cannot be used.
pub fn device() -> Option<Executor> {
    let names = devices();
    Some(Executor::gpu(names.first()?).unwrap())
}

/// What each of so many ranks of one thread has as the result of some work.
///
/// # Panics
/// When the work of a rank fails.
pub fn on_ranks<R: Send>(
    ranks: usize,
    work: impl Fn(&Executor, &Arc<dyn Communicator>) -> Result<R> + Sync,
) -> Vec<R> {
    let rank = |team| work(&Executor::cpu_with_threads(1)?.with_team(&team)?, &team);
    threads::run(ranks, rank).unwrap()
}

/// Asserts that a result is an error of a kind, or says what it is.
#[macro_export]
macro_rules! assert_refused {
    ($result:expr, $kind:ident $({ $($field:tt)* })? $(, $($context:tt)+)?) => {
        let result = &$result;
        let error = result.as_ref().err();
        let is_refused = matches!(error, Some($crate::error::Error::$kind $({ $($field)* })?));
        assert!(is_refused, "{}", [format!("{error:?}") $(, format!($($context)+))?].join(", "));
    };
}
