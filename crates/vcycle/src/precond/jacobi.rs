//! The diagonal of the matrix, inverted.

use std::sync::Arc;

use num_traits::One;

use super::{bad_pivot, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Factory, Footprint, LinOp, Size, Transpose};
use crate::scalar::{Field, Mixes, Scalar};
use crate::vector::{Coefficient, Vector};

/// `M = omega D^-1` with the diagonal `D` of the matrix.
///
/// **Choose it** when nothing better is affordable: it costs one vector and repairs bad scaling.
/// As a smoother it needs damping (`omega` near 2/3 for Poisson problems).
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, linop::{Factory, LinOp}, matrix::Csr,
///              precond::Jacobi, vector::Vector};
/// let (cpu, ws) = (Executor::cpu(), Workspace::new());
/// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&cpu, vec![2.0, 4.0]));
/// let m = Jacobi::default().generate(&a, &ws)?;
/// let mut y = Vector::zeros(&cpu, 2, 1)?;
/// m.apply(&Vector::filled(&cpu, 2, 1, 1.0)?, &mut y, &ws)?;
/// assert_eq!(y.to_vec(), [0.5, 0.25]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Jacobi {
    /// The damping `omega`.
    pub weight: f64,
}

impl Default for Jacobi {
    fn default() -> Self {
        Self { weight: 1.0 }
    }
}

impl<T: Mixes<T, T>> Factory<T> for Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("jacobi set-up", 0);
        let entries = square_entries(a.as_ref(), "jacobi")?;
        let diagonal = nonzero_diagonal(&entries, "jacobi")?;
        let inverse = Diagonal::<T>::inverse("jacobi", a.executor(), &diagonal, self.weight)?;
        Ok(Arc::new(inverse))
    }
}

/// A diagonal matrix as an operator.
#[derive(Clone, Debug)]
pub struct Diagonal<T> {
    values: Vector<T>,
}

impl<T: Scalar> Diagonal<T> {
    /// `weight` over the entries of `diagonal`, none of which is zero.
    pub(super) fn inverse(
        component: &'static str,
        executor: &Executor,
        diagonal: &[T::Arith],
        weight: f64,
    ) -> Result<Self> {
        let weight = T::Arith::from_f64(weight);
        let invert = |value: &T::Arith| T::store(weight * (T::Arith::one() / *value));
        let values: Vec<T> = diagonal.iter().map(invert).collect();
        match values.iter().position(|value| !value.load().is_finite()) {
            Some(row) => Err(bad_pivot(component, row, "not finite once inverted")),
            None => Ok(Self {
                values: Vector::from_column(executor, values),
            }),
        }
    }
}

impl<D: Mixes<T, T>, T: Scalar> LinOp<T> for Diagonal<D> {
    fn size(&self) -> Size {
        Size::square(self.values.rows())
    }

    fn executor(&self) -> &Executor {
        self.values.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        y.scale_rows(&self.values, false, x)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        y.combine_rows(alpha, (&self.values, false), x, beta)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        _ws: &Workspace,
    ) -> Result<()> {
        y.scale_rows(&self.values, mode == Transpose::Conjugate, x)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.values.bytes(),
            moved: self.values.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::matrix::Csr;
    use crate::scalar::f16;

    #[test]
    fn a_zero_diagonal_is_named() {
        let host = Executor::reference();
        let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0]));
        let result = Jacobi::default().generate(&a, &Workspace::new());
        assert!(matches!(result, Err(Error::ZeroDiagonal { row: 1, .. })));
    }

    #[test]
    fn an_inverse_too_large_to_store_is_named() {
        let values = [1.0, 1e-6].map(f16::from_f64).to_vec();
        let a = Csr::diagonal_matrix(&Executor::reference(), values);
        let a: Arc<dyn LinOp<f16>> = Arc::new(a);
        let result = Jacobi::default().generate(&a, &Workspace::new());
        assert!(matches!(result, Err(Error::BadPivot { row: 1, .. })));
    }
}
