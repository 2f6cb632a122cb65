//! Set-ups of preconditioners: colours, incomplete factors, approximate and dense inverses.

use std::sync::Arc;

use vcycle_kernels::compiled_fn;

use super::{on_device, on_real_device};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::launch::setup::{Queue, fronts, fsai, invert, isai, sweeps, threshold};
use crate::scalar::{Field, Scalar};

pub use crate::launch::setup::fsai::{Growth, Obstacle, Rows as FsaiRows};
pub use crate::launch::setup::invert::Pivoting;
pub use crate::launch::setup::sweeps::{Factorisation, Sweeping};
pub use crate::launch::setup::threshold::Threshold;

/// A colour for every row of a pattern, so that rows `coupled` in either direction have different ones. None, too,
/// where rows wait for each other too often.
pub fn colours(
    pattern: &Pattern,
    coupled: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<Vec<u32>>> {
    match Queue::of(pattern.executor()) {
        Some(queue) => Ok(fronts::colours(queue, &*coupled()?)?.map(Buffer::into_vec)),
        None => Ok(None),
    }
}

compiled_fn! {
    /// The values of the incomplete factors, with the places of the diagonal. None, too, where rows wait for each other
    /// too often.
    pub fn ilu0[any T: Scalar](a: &Csr<T>, diagonal: &[usize]) -> Result<Option<Vec<<T as Scalar>::Arith>>> {
        match Queue::real::<T>(a.executor()) {
            Some(queue) => Ok(fronts::ilu0(queue, a, diagonal)?.map(Buffer::into_vec)),
            None => Ok(None),
        }
    }
}

compiled_fn! {
    /// The values of an approximate inverse on a pattern of row offsets and columns, each row solved for alone. None, too, where
    /// rows are long.
    pub fn isai[any T: Scalar](a: &Csr<T>, offsets: &[usize], columns: &[u32]) -> Result<Option<Vec<T>>> {
        match Queue::of(a.executor()) {
            Some(queue) => Ok(isai::inverse(queue, a, offsets, columns)?.map(Buffer::into_vec)),
            None => Ok(None),
        }
    }
}

compiled_fn! {
    /// The values of incomplete factors after fixed-point sweeps from `start`, or from `a` itself, with the places of the
    /// diagonal. The inner one is none where a sweep enlarges the residual or a pivot has no root.
    pub fn swept[any T: Scalar](
        a: &Csr<T>,
        diagonal: &[usize],
        start: &mut Option<Vec<<T as Scalar>::Arith>>,
        sweeping: Sweeping,
    ) -> Result<Option<Option<Vec<<T as Scalar>::Arith>>>> {
        on_real_device::<T, _>(a.executor(), |queue| {
            let factors = sweeps::swept(queue, a, diagonal, start.take(), sweeping)?;
            Ok(factors.map(Buffer::into_vec))
        })
    }
}

/// Incomplete factors whose pattern is found with their values: side by side, or the lower one. The inner one is none where a sweep
/// enlarges the residual or a pivot has no root.
pub fn with_threshold<A: Field>(a: &Csr<A>, how: Threshold) -> Result<Option<Option<Csr<A>>>> {
    on_real_device::<A, _>(a.executor(), |queue| threshold::factors(queue, a, how))
}

/// The rows of a factorised sparse approximate inverse, to be made.
pub fn fsai_rows<A: Field>(a: &Csr<A>, growth: Growth) -> Result<Option<FsaiRows<'_, A>>> {
    on_real_device::<A, _>(a.executor(), |queue| fsai::Rows::new(queue, a, growth))
}

/// The dense inverse of a small matrix on an executor, wherever that is. None where that is of the host, which has
/// factors instead.
pub fn inverse<T: Scalar>(
    executor: &Executor,
    a: &Csr<f64>,
    pivoting: Pivoting,
) -> Result<Option<Buffer<T>>> {
    on_device(executor, |queue| match a.executor().is_device() {
        true => invert::inverse(queue, a, pivoting),
        false => invert::inverse(queue, &a.copy_to(executor)?, pivoting),
    })
}
