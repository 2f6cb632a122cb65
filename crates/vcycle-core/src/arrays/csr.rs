//! Compressed sparse rows.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::Pattern;
use crate::executor::Buffer;

/// A matrix stored row after row: the columns and values of its entries.
///
/// Within a row the columns increase and none stands twice; every constructor makes it so or
/// fails. The [`Pattern`] is shared between matrices that differ in values or precision only.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
/// let a = Csr::from_arrays(
///     &Executor::cpu(), Size::square(2),
///     vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 2.0], Duplicates::Refuse,
/// )?;
/// assert_eq!(a.entry(0, 1), Some(-1.0));
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Csr<T> {
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) values: Buffer<T>,
    pub(crate) copies: Copies<T>,
}

/// Copies that devices multiply with, made when they are first needed, and what is known of the values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies<T> {
    /// The values in the layout of the pattern.
    pub(crate) placed: OnceLock<Buffer<T>>,
    /// The same for vectors of many columns, where these have another layout.
    pub(crate) placed_wide: OnceLock<Box<Buffer<T>>>,
    pub(crate) transposed: OnceLock<Arc<Csr<T>>>,
    /// The matrix in another type, for whoever asks for it again.
    pub(crate) narrow: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// Whether the matrix is symmetric and whether its diagonal is positive, once somebody has asked.
    pub(crate) symmetric_and_positive: OnceLock<[bool; 2]>,
    /// Whether products take the arrays as they are: a layout is not worth making.
    pub(crate) plain: bool,
    /// Whether all values are known to be ones.
    pub(crate) ones: bool,
}
