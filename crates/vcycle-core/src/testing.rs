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
