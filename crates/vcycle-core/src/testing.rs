//! What tests of this layer and of those above share.

pub use vcycle_gpu::testing::{devices, names_compiler, shared, skip};

use crate::executor::Executor;

/// The first device that tests run on, if there is one.
///
/// # Panics
/// When the device cannot be used.
pub fn device() -> Option<Executor> {
    let names = devices();
    Some(Executor::gpu(names.first()?).unwrap())
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
