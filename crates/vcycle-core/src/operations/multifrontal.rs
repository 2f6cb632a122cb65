//! Sparse LU factorisations by fronts, on devices.

use crate::executor::Executor;
pub use crate::launch::multifrontal::{FrontTree, Fronts};

/// The tree of a factorisation where the values are to be; none on the host, which has factors of another kind.
pub fn fronts(executor: &Executor, tree: FrontTree) -> Option<Fronts> {
    executor.is_device().then(|| Fronts::new(executor, tree))
}
