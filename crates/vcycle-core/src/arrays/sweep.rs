//! What a sweep of a relaxation is made of.

use super::Vector;

/// A sweep of a relaxation with a diagonal matrix `d`, which makes a new guess from the last ones:
///
/// `y = alpha d (b - A x) + beta x + gamma y`
///
/// Jacobi's iteration from `x` to `y` has `alpha = beta = 1`; methods of two steps, as Chebyshev's,
/// find the guess before `x` in `y`.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a, T> {
    /// The right-hand side.
    pub b: &'a Vector<T>,
    /// One number a row.
    pub d: &'a Vector<T>,
    /// The weight of the residual.
    pub alpha: f64,
    /// The weight of the guess.
    pub beta: f64,
    /// The weight of the guess before it; where zero, the old contents of `y` are not read.
    pub gamma: f64,
}
